/* What a command line asks to be tuned, or compiled for tuning. */
#ifndef MMT_TUNER_CLI_REQUEST_H
#define MMT_TUNER_CLI_REQUEST_H

#include "tuner/tune/state.h"

struct mmt_tune_request {
    struct mmt_tune_options options; /* owns its shapes and suites */
    struct mmt_words shapes;         /* as they were given */
    bool some_op;                    /* --op was given */
    const char *f32;                 /* --f32; NULL: not given */
};

/* Reads shapes and suites, once the operation is known. */
mmt_status mmt_tune_read_problems(struct mmt_tune_request *request, mmt_error *err);

/* Takes the name of a suite into a struct mmt_words. */
mmt_piece_taker mmt_tune_take_suite;

void mmt_tune_request_finish(struct mmt_tune_request *request);

#endif
