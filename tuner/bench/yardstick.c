/* Times the vendor's library beside a winner, in a worker, and sums up what a profile's
 * records say of it. */
#include "tuner/bench/yardstick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bench/bench.h"
#include "tuner/verify/session_internal.h"

const struct mmt_reference *mmt_yardstick_of(const struct mmt_caps *caps)
{
    if (!strcmp(caps->backend, "cuda"))
        return &mmt_reference_cublas;
    if (strcmp(caps->backend, "opencl"))
        return NULL;
    return caps->kind == MMT_CPU ? &mmt_reference_openblas_plain : &mmt_reference_clblast;
}

/* ---- measuring -------------------------------------------------------------------- */

enum { LEAST_SAMPLES = 3, USUAL_SAMPLES = 7 };
_Static_assert(MMT_YARDSTICK_LEAST == LEAST_SAMPLES + 3, "checked, calibrated twice");

static struct mmt_bench_pace pace_for(double seconds, int contestants,
                                      struct mmt_session *session)
{
    struct mmt_bench_pace pace = MMT_BENCH_PACE;
    pace.seconds = seconds / contestants;
    pace.sample_seconds = fmin(pace.sample_seconds, pace.seconds / USUAL_SAMPLES);
    pace.least_samples = LEAST_SAMPLES;
    pace.trying = seconds / 3;
    pace.session = session;
    return pace;
}

static mmt_status take_times(const struct mmt_bench *bench,
                             const struct mmt_bench_row *row,
                             struct mmt_yardstick_times *out, mmt_error *err)
{
    for (int i = 0; i < bench->num_contestants; i++) {
        const struct mmt_bench_time *time = &row->times[i];
        if (time->reason[0] && i < 2)
            return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s: %s",
                            bench->contestants[i].name, time->reason);
        *(i ? &out->ways[bench->contestants[i].way] : &out->ours) =
            time->reason[0] ? 0 : time->time.median;
    }
    return row->reason[0] ? mmt_fail(err, MMT_ERROR_MEMORY, "%s", row->reason) : MMT_OK;
}

mmt_status mmt_yardstick_measure(const struct mmt_reference *reference, void *self,
                                 struct mmt_session *session,
                                 const struct mmt_config *config, double seconds,
                                 struct mmt_yardstick_times *out, mmt_error *err)
{
    struct mmt_bench bench = { .device = session->device, .config = config };
    struct mmt_bench_row *row = calloc(1, sizeof *row);
    mmt_status status =
        row ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a yardstick");

    *out = (struct mmt_yardstick_times){ 0 };
    if (!status)
        status = mmt_bench_enter_ours(&bench, err);
    if (!status) {
        mmt_bench_enter(&bench, reference, self);
        bench.pace = pace_for(seconds, bench.num_contestants, session);
        row->problem = session->problem;
        mmt_bench_measure(&bench, row);
        status = take_times(&bench, row, out, err);
        bench.contestants[0].reference->close(bench.contestants[0].self);
    }
    free(row);
    return status;
}

/* ---- what records add up to ------------------------------------------------------ */

void mmt_standing_add(struct mmt_standing *standing, const struct mmt_entry *entry)
{
    const struct mmt_yardstick *it = &entry->yardstick;
    const double speedup = it->first / it->ours;

    if (!it->library[0] || entry->source[0])
        return;
    standing->several |= standing->any && strcmp(standing->any->library, it->library);
    standing->any = it;
    standing->sum += log(speedup);
    standing->slower += speedup < 1;
    if (!standing->count++ || speedup < standing->worst) {
        standing->worst = speedup;
        standing->worst_problem = &entry->problem;
    }
}

double mmt_standing_mean(const struct mmt_standing *standing)
{
    return exp(standing->sum / standing->count);
}

void mmt_standing_library(const struct mmt_standing *standing, struct mmt_text *text)
{
    const char *library = standing->any->library;
    mmt_text_addf(text, "%.*s",
                  (int) (standing->several ? strcspn(library, " ") : strlen(library)),
                  library);
}

void mmt_standing_print(const struct mmt_standing *standing, struct mmt_text *text)
{
    mmt_text_add(text, "speed-up over ");
    mmt_standing_library(standing, text);
    mmt_text_addf(text, ": geometric mean %.3f, worst %.3f (",
                  mmt_standing_mean(standing), standing->worst);
    mmt_problem_print(standing->worst_problem, text);
    mmt_text_addf(text, "), slower on %d of %d problem%s", standing->slower,
                  standing->count, standing->count == 1 ? "" : "s");
}
