/* What a run says, and what messages are made of. */
#ifndef MMT_TUNER_TUNE_MESSAGES_H
#define MMT_TUNER_TUNE_MESSAGES_H

#include <jansson.h>

#include "tuner/tune/state.h"

void mmt_report_prepare(struct mmt_run *run);
void mmt_report_start(struct mmt_run *run);
/* That the default of the first goal is timed. */
void mmt_report_default(const struct mmt_run *run);
/* What the journal has to say that was not said yet. */
void mmt_report_journal(struct mmt_run *run);
void mmt_report_problem(struct mmt_run *run);
void mmt_report_result(struct mmt_run *run, const struct mmt_record *record, double best);
/* What a whole verification found; what is wrong, always. */
void mmt_report_whole(struct mmt_run *run, const struct mmt_record *record);
void mmt_report_law_time(struct mmt_run *run, const struct mmt_record *record);
/* Notes how the device fared while a result was taken; says so when it is throttled for
 * the first time. */
void mmt_report_health(struct mmt_run *run, const struct mmt_result *result);
/* That kernels cannot be stored, once a run: on standard error, or as an event. */
void mmt_report_cache(struct mmt_run *run);
/* What is going on now; says it a few times a second at most. */
void mmt_report_status(struct mmt_run *run, const struct mmt_config *trying, double best);
/* What the vendor's library takes beside a winner, as an event alone. */
void mmt_report_yardstick(const struct mmt_run *run, const struct mmt_entry *entry);
void mmt_report_winner(struct mmt_run *run, const struct mmt_record *winner);
/* A sentence beside the figures. */
__attribute__((format(printf, 2, 3))) void mmt_report_note(struct mmt_run *run,
                                                           const char *format, ...);

/* Prints an event on a line of its own, and frees it. */
void mmt_message_emit(json_t *event);

/* In words; malloc'ed. */
char *mmt_message_problem(const mmt_problem *problem);
char *mmt_message_config(const struct mmt_config *config);

/* Columns of standard output. */
int mmt_terminal_width(void);

/* Takes the changing line away. */
void mmt_message_clear_line(const struct mmt_run *run);

#endif
