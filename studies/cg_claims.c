/* What the paper says beside what was found, and its greatest orders beside today's. */
#include <inttypes.h>
#include <math.h>

#include "../examples/dense/sizes.h"
#include "cg.h"
#include "claims.h"

enum {
    SUMS,
    ALLOCATING,
    MEMORY,
    GRID,
    SPLIT,
    OBJECTS,
    PRODUCTS,
    STEPS,
    ORDER,
    EXACT,
    CLAIMS
};

static const struct mmt_claim claims[CLAIMS] = {
    [SUMS] = { "ustyuzhanin", "conclusion; Fig. 2",
               "sums on the device are several orders of magnitude faster than on a core",
               "several powers of 10" },
    [ALLOCATING] = { "ustyuzhanin", "after Fig. 2",
                     "a sum takes longer with the order because memory is allocated, not "
                     "because it is computed",
                     "" },
    [MEMORY] = { "ustyuzhanin", "after Fig. 2; conclusion",
                 "memory limits the order of matrices, not the grid",
                 "12 GiB, 3 matrices" },
    [GRID] = { "ustyuzhanin", "before (4)",
               "the greatest order by a grid in two dimensions", "1482880 rows" },
    [SPLIT] = { "ustyuzhanin", "after Fig. 4, alternative 1",
                "the greatest order where k is split along z", "40960 rows" },
    [OBJECTS] = { "ustyuzhanin", "after (3)",
                  "with moving, two matrices live at once, three without", "13.98 GiB" },
    [PRODUCTS] = { "ustyuzhanin", "conclusion; Fig. 4",
                   "products on the device gain more than sums, several orders of "
                   "magnitude",
                   "several powers of 10" },
    [STEPS] = { "ustyuzhanin", "after (9)",
                "conjugate gradients converge in at most n steps", "n steps" },
    [ORDER] = { "ustyuzhanin", "conclusion; Fig. 7",
                "conjugate gradients on the device are fastest, then on a core, then "
                "Cramer's rule",
                "" },
    [EXACT] = { "ustyuzhanin", "introduction",
                "elimination and Cramer's rule suit orders up to 20", "n = 20" },
};

/* ---- limits ------------------------------------------------------------------------ */

mmt_status mmt_cg_limits(const struct mmt_study_options *options,
                         const struct mmt_study_device *device, mmt_error *err)
{
    static const struct mmt_column columns[] = { { "greatest order", "", 0 },
                                                 { "in the paper", "rows", 0 },
                                                 { "by its rule", "rows", 0 },
                                                 { "today", "rows", 0 } };
    double memory = (double) device->facts.memory;
    const struct mmt_cell rows[][4] = {
        { MMT_WORD("grid of 32 x 32 threads a block"), MMT_NUMBER(1482880),
          MMT_NUMBER((double) dense_paper_order(2)),
          MMT_NUMBER((double) dense_grid_order()) },
        { MMT_WORD("the same, k split along z"), MMT_NUMBER(40960),
          MMT_NUMBER((double) dense_paper_order(3)),
          MMT_NUMBER((double) dense_grid_order()) },
        { MMT_WORD("memory, three matrices of f64"), MMT_NUMBER(NAN),
          MMT_NUMBER((double) dense_largest(3, 12.0 * 1024 * 1024 * 1024)),
          MMT_NUMBER(memory > 0 ? (double) dense_largest(3, memory) : NAN) },
    };
    struct mmt_table table = mmt_table_start(
        "how large matrices may be: its card has 12 GiB; a grid of today's cards has at "
        "most 65535 blocks in y",
        columns, 4);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        mmt_table_add(&table, rows[i]);
    mmt_status status = mmt_study_show(options, &table, "cg-limits", err);
    mmt_table_free(&table);
    return status;
}

/* ---- claims ------------------------------------------------------------------------ */

static void judge_sums(struct mmt_table *table, const char *device,
                       const struct mmt_cg_sum *sum)
{
    if (!sum->n || sum->computing <= 0) {
        mmt_claims_leave(table, &claims[SUMS], device, "no sum was timed");
        mmt_claims_leave(table, &claims[ALLOCATING], device, "no sum was timed");
        return;
    }
    mmt_claims_add(table, &claims[SUMS], device, sum->core / sum->computing >= 100,
                   "%.4g times at n = %" PRId64 ", computing alone; %.4g with allocating",
                   sum->core / sum->computing, sum->n,
                   sum->core / (sum->computing + sum->allocating));
    mmt_claims_add(table, &claims[ALLOCATING], device, sum->allocating > sum->computing,
                   "allocating %.3g ms, computing %.3g ms at n = %" PRId64,
                   sum->allocating * 1e3, sum->computing * 1e3, sum->n);
}

static void judge_product(struct mmt_table *table, const char *device,
                          const struct mmt_cg_sum *sum,
                          const struct mmt_cg_product *product)
{
    double gain = product->core / product->computing;

    if (!product->n || product->computing <= 0 || !sum->n || sum->computing <= 0)
        mmt_claims_leave(table, &claims[PRODUCTS], device,
                         "one core would take longer than --cpu-seconds for any product");
    else
        mmt_claims_add(table, &claims[PRODUCTS], device,
                       gain >= 100 && gain > sum->core / sum->computing,
                       "%.4g times at n = %" PRId64 ", a thread for each element; a sum "
                       "%.4g at n = %" PRId64,
                       gain, product->n, sum->core / sum->computing, sum->n);
}

static void judge_limits(struct mmt_table *table, const struct mmt_study_device *device)
{
    double memory = (double) device->facts.memory;
    int64_t most = dense_largest(3, memory);

    mmt_claims_add(table, &claims[MEMORY], device->facts.id, most < dense_grid_order(),
                   "%" PRId64 " rows by memory, %" PRId64 " by the grid", most,
                   dense_grid_order());
    mmt_claims_add(table, &claims[GRID], "", dense_paper_order(2) == dense_grid_order(),
                   "%" PRId64 " rows, 65535 blocks in y", dense_grid_order());
    mmt_claims_add(table, &claims[SPLIT], "", dense_paper_order(3) == dense_grid_order(),
                   "%" PRId64 " rows, 65535 blocks in y and in z each",
                   dense_grid_order());
    mmt_claims_leave(table, &claims[OBJECTS], "",
                     "examples/dense counts it: three for C = A + B with moving, four "
                     "with a copy");
}

static void judge_methods(struct mmt_table *table, const char *device,
                          const struct mmt_cg_findings *f)
{
    if (!f->most_steps_at)
        mmt_claims_leave(table, &claims[STEPS], device, "no order ran to its end");
    else if (f->tolerance <= 0)
        mmt_claims_add(table, &claims[STEPS], device, f->residual <= 1e-10,
                       "a residual of %.1e at most after n - 1 steps", f->residual);
    else
        mmt_claims_add(table, &claims[STEPS], device, f->most_steps <= f->most_steps_at,
                       "%d steps at n = %" PRId64 " to a residual of %.0e", f->most_steps,
                       f->most_steps_at, f->tolerance);
    if (!f->all_at)
        mmt_claims_leave(table, &claims[ORDER], device,
                         "at no order were all three methods timed");
    else
        mmt_claims_add(table, &claims[ORDER], device,
                       f->device < f->core && f->core < f->cramer,
                       "%.3g, %.3g and %.3g ms at n = %" PRId64, f->device * 1e3,
                       f->core * 1e3, f->cramer * 1e3, f->all_at);
    if (f->eliminated <= 20)
        mmt_claims_leave(table, &claims[EXACT], "", "no order above 20 was eliminated");
    else
        mmt_claims_add(table, &claims[EXACT], "", f->elimination_error > 1e-6,
                       "elimination errs by %.1e of x at n = %" PRId64 ", in %.3g ms",
                       f->elimination_error, f->eliminated, f->elimination * 1e3);
}

mmt_status mmt_cg_claims(const struct mmt_study_options *options,
                         const struct mmt_study_device *device,
                         const struct mmt_cg_sum *sum,
                         const struct mmt_cg_product *product,
                         const struct mmt_cg_findings *found, mmt_error *err)
{
    struct mmt_table table = mmt_claims_start();

    judge_sums(&table, device->facts.id, sum);
    judge_product(&table, device->facts.id, sum, product);
    judge_limits(&table, device);
    judge_methods(&table, device->facts.id, found);
    mmt_status status = mmt_study_show(options, &table, "cg-claims", err);
    mmt_table_free(&table);
    return status;
}
