/* What the paper says of long vectors and model (1), beside what was found. */
#include <inttypes.h>
#include <math.h>

#include "claims.h"
#include "longvector.h"

enum { ERROR, STEPS, CAUTION, LENGTH, LIBRARY, MATLAB, CLAIMS };

static const struct mmt_claim claims[CLAIMS] = {
    [ERROR] = { "vorotnikova", "section 2, Fig. 1",
                "model (1) and measurement differ by this over all sizes", "5 %" },
    [STEPS] = { "vorotnikova", "section 2, after Fig. 1",
                "time grows in steps, the first at the number of streams",
                "n = 3600; 4000 threads" },
    [CAUTION] = { "vorotnikova", "section 2, after Fig. 1",
                  "model (1) is to be used with caution near multiples of the streams",
                  "" },
    [LENGTH] = { "vorotnikova", "conclusion",
                 "the model chooses the length at which a vector's element takes least",
                 "" },
    [LIBRARY] = { "vorotnikova", "section 2",
                  "the functions of CUBLAS are effective for long vectors", "" },
    [MATLAB] = { "vorotnikova", "section 2",
                 "the same algorithm takes longer in MATLAB's toolbox", "10 times" },
};

static void judge_steps(struct mmt_table *table, const char *device,
                        const struct mmt_vector_costs *costs)
{
    if (costs->streams <= 1)
        mmt_claims_add(table, &claims[STEPS], device, false,
                       "no steps: time goes with the length");
    else
        mmt_claims_add(table, &claims[STEPS], device,
                       costs->streams > 1800 && costs->streams < 7200,
                       "the first step at %.0f elements, each of %.3g us", costs->streams,
                       costs->add * 1e6);
}

static void judge_near(struct mmt_table *table, const char *device,
                       const struct mmt_vector_findings *f)
{
    if (!f->near_count || f->near_count == f->count)
        mmt_claims_leave(table, &claims[CAUTION], device,
                         "%d of %d sizes are within 1 %% of a step", f->near_count,
                         f->count);
    else
        mmt_claims_add(table, &claims[CAUTION], device, f->near > f->elsewhere,
                       "%.1f %% off at %d sizes within 1 %% of a step, %.1f %% at %d "
                       "others",
                       f->near * 100, f->near_count, f->elsewhere * 100,
                       f->count - f->near_count);
}

mmt_status mmt_vector_claims(const struct mmt_study_options *options, const char *device,
                             const struct mmt_vector_costs *costs,
                             const struct mmt_vector_findings *found, mmt_error *err)
{
    struct mmt_table table = mmt_claims_start();

    mmt_claims_add(&table, &claims[ERROR], device, found->delta <= 0.05,
                   "%.1f %% over %d sizes", found->delta * 100, found->count);
    judge_steps(&table, device, costs);
    judge_near(&table, device, found);
    mmt_claims_add(&table, &claims[LENGTH], device, costs->chosen_loss <= 0.05,
                   "%" PRId64 " elements, %.1f %% above the best that was measured",
                   costs->chosen_length, costs->chosen_loss * 100);
    if (isnan(costs->library_gain))
        mmt_claims_leave(&table, &claims[LIBRARY], device,
                         "cuBLAS is not there for this device");
    else
        mmt_claims_add(&table, &claims[LIBRARY], device, costs->library_gain <= 1.05,
                       "mmtune is %.2f times as fast as cuBLAS in the longest vector",
                       costs->library_gain);
    mmt_claims_leave(&table, &claims[MATLAB], device, "MATLAB is not opened here");
    mmt_status status = mmt_study_show(options, &table, "longvector-claims", err);
    mmt_table_free(&table);
    return status;
}
