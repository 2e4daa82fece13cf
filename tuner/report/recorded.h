/* What programs computed on a device, beside what is known of it: for `mmtune recorded`,
 * and for the report of `mmtune run`. */
#ifndef MMT_TUNER_REPORT_RECORDED_H
#define MMT_TUNER_REPORT_RECORDED_H

#include <jansson.h>

#include "profiles/profile.h"
#include "recording/recording.h"

/* A device's recording and what its calls are judged by. */
struct mmt_recorded_view {
    struct mmt_text path; /* of the recording */
    struct mmt_recording recording;
    struct mmt_caps caps;
    struct mmt_profile *profile; /* NULL: nothing is known of the device */
    mmt_f32_mode f32_mode;       /* whose verdicts count */
};

/* Opens a device's recording, or `file` in its place where that is not NULL; of one run
 * alone where `run` is not NULL. MMT_ERROR_NOT_FOUND where nothing was recorded. To be
 * closed. */
mmt_status mmt_recorded_open(const char *device, const char *file, const char *run,
                             struct mmt_recorded_view *out, mmt_error *err);
/* The same of a device whose caps and f32_mode *view has; its profile is left to the
 * caller. */
mmt_status mmt_recorded_open_for(const char *file, const char *run,
                                 struct mmt_recorded_view *view, mmt_error *err);
void mmt_recorded_close(struct mmt_recorded_view *view);

/* One call as it is judged. Pointers are the view's. */
struct mmt_recorded_row {
    const struct mmt_recorded *it;
    const struct mmt_verdict *verdict; /* a current one; NULL: none */
    enum mmt_fate fate;                /* by its verdict: taken, slower, stale, unknown */
    bool tuned; /* an entry or a range serves it: all that this library's own callers have
                 */
    double each;     /* seconds that the library takes; 0: unknown */
    double expected; /* seconds that ours should take where it has no verdict; 0: unknown
                      */
};
struct mmt_recorded_row mmt_recorded_judge(const struct mmt_recorded_view *view,
                                           const struct mmt_recorded *it);

/* What all calls add up to; times in seconds by the library's times. */
struct mmt_recorded_sum {
    int64_t calls, taken, untimed; /* untimed: nobody knows how long they take */
    double seconds;                /* of the timed ones */
    double taken_seconds;          /* that the library would have taken for those taken */
    double saved;                  /* by those that were taken */
    double given;                  /* that verdicts for ours would save of the others */
    double
        promised; /* that tuning should save of those without a verdict, by the model */
    double best;  /* of the timed ones, by whoever is faster by its verdict */
    double bytes; /* that reading and writing their matrices takes at the copy rate */
    double limit; /* at the roofline; 0 as is `bytes`: unknown */
    double gaps;  /* between products, at least: of those where it is known */
};
struct mmt_recorded_sum mmt_recorded_add_up(const struct mmt_recorded_view *view);

/* Adds a table of at most `most` calls, the greatest share of time first (0: all), and a
 * line of what they add up to. */
void mmt_recorded_print_table(const struct mmt_recorded_view *view, size_t most,
                              struct mmt_text *text);

/* The same for programs. */
json_t *mmt_recorded_json(const struct mmt_recorded_view *view);

/* Adds, for every device of this machine, what the run named `run` had computed there: a
 * line that names the device, then its table of at most `most` calls. Returns how many
 * calls it were; 0: none arrived, and nothing is added. */
int64_t mmt_recorded_print_run(const char *run, size_t most, struct mmt_text *text);

#endif
