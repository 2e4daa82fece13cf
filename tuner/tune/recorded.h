/* Tuning what programs computed: their recording as goals, and verdicts on their calls. A
 * part of tune.h. */
#ifndef MMT_TUNER_TUNE_RECORDED_H
#define MMT_TUNER_TUNE_RECORDED_H

#include "recording/recording.h"
#include "tuner/worker/worker.h"

struct mmt_run;
struct mmt_record;

/* A file of a library that programs were recorded with. */
struct mmt_tune_called {
    enum mmt_client client;
    char path[256];            /* as recorded; "" */
    char name[48];             /* with its version; "": it cannot be called */
    char why[MMT_REASON_SIZE]; /* why not */
};

/* What programs computed. */
struct mmt_run_recorded {
    struct mmt_recording recording; /* owned by the run */
    struct mmt_tune_called *called; /* malloc'ed, owned by the run */
    int num_called;
    int taken; /* verdicts that this run made */
    int left;  /* kinds without a verdict for which there was no time */
};

/* ---- what programs computed (recorded.c) ------------------------------------------- */

/* Whether the device has memory for tuning a problem: its inputs are there twice, random
 * ones and whole numbers. */
mmt_status mmt_tune_check_fits(const struct mmt_run *run, const mmt_problem *p,
                               mmt_error *err);

/* How many problems the budget has room for. */
double mmt_tune_room(const struct mmt_run *run);

/* Reads the recording; fills run->goals with its problems, the greatest share of time
 * first, as many as the budget has room for, and run->ranges where many m meet the same
 * n and k. */
mmt_status mmt_tune_set_recorded_goals(struct mmt_run *run, mmt_error *err);

/* Seconds that all calls of one kind took, or should have taken where nobody timed them.
 */
double mmt_tune_recorded_seconds(const struct mmt_run *run,
                                 const struct mmt_recorded *it);

/* Whether a configuration may be tried for the goal at hand: not one that emulates f32
 * where that is computed by FMAs alone. */
bool mmt_tune_allows(const struct mmt_run *run, const mmt_problem *problem,
                     const struct mmt_config *config);

/* Whether other programs' f32 would become slower by an entry of that winner: what they
 * have now is emulated, and faster. */
bool mmt_tune_would_slow(const struct mmt_run *run, const struct mmt_record *winner);

/* ---- verdicts (verdicts.c) ----------------------------------------------------------
 */

/* The part of the goals' time that they may take first, since a call without a verdict
 * gains nothing; and seconds that are kept for those that the goals' winners change. */
extern const double mmt_tune_first_verdicts_part;
double mmt_tune_verdicts_seconds(const struct mmt_run *run);

/* Times ours and the library on each recorded call of a library, those first that took
 * most time, and puts the verdicts into the profile: before the goals by the kernels that
 * promise most, after them anew where there is a faster one. */
mmt_status mmt_tune_verdicts(struct mmt_run *run, mmt_error *err);

/* What they add up to. */
struct mmt_verdicts_sum {
    int kinds, ours, theirs;     /* kinds of calls: all, and by whose verdict */
    double calls, our_calls;     /* calls: all, and those that ours takes */
    double seconds, our_seconds; /* that the library took for them */
    double saved;                /* of these, where ours takes them */
};
struct mmt_verdicts_sum mmt_tune_sum_verdicts(const struct mmt_run *run);

/* Says whose kernel a call goes to from now on; and what becomes of all recorded calls.
 */
void mmt_report_verdict(struct mmt_run *run, const struct mmt_verdict *verdict);
void mmt_report_verdicts(const struct mmt_run *run);

#endif
