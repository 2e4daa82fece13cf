/* What messages are made of. Inside tuner/tune. */
#ifndef MMT_TUNER_TUNE_MESSAGES_H
#define MMT_TUNER_TUNE_MESSAGES_H

#include <jansson.h>

#include "tuner/tune/tune.h"

/* Prints an event on a line of its own, and frees it. */
void mmt_message_emit(json_t *event);

/* In words; malloc'ed. */
char *mmt_message_problem(const mmt_problem *problem);
char *mmt_message_config(const struct mmt_config *config);

/* Takes the changing line away. */
void mmt_message_clear_line(const struct mmt_run *run);

#endif
