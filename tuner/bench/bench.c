/* mmtune bench */
#include "tuner/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/peak.h"
#include "tuner/bench/options.h"

/* ---- contestants ----------------------------------------------------------------- */

static mmt_status find_profile(struct mmt_bench *bench, mmt_error *err)
{
    if (bench->configuration || bench->no_profile)
        return MMT_OK;
    if (bench->profile_name) {
        bench->profile = mmt_profile_load(bench->profile_name, err);
        if (!bench->profile)
            return MMT_ERROR_ARGUMENT;
    } else {
        bench->profile = mmt_profile_find(bench->device, NULL);
    }
    if (bench->profile)
        fputs(mmt_profile_warnings(bench->profile), stderr);
    return MMT_OK;
}

/* A library that does not open is told of, and the others go on. */
static void enter_reference(struct mmt_bench *bench, struct mmt_bench_reference *slot)
{
    const struct mmt_reference *reference = slot->reference;
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };

    mmt_status status = reference->open(bench->device, &slot->self, &err);
    if (status == MMT_OK && bench->parameters && reference->read_tuned) {
        status = reference->read_tuned(slot->self, bench->parameters, &err);
        if (status != MMT_OK)
            reference->close(slot->self);
    }
    if (status != MMT_OK) {
        slot->self = NULL;
        snprintf(slot->what, sizeof slot->what, "%s", err.text);
        return;
    }
    reference->describe(slot->self, 0, &text);
    snprintf(slot->what, sizeof slot->what, "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
    mmt_bench_enter(bench, reference, slot->self);
}

static mmt_status enter_all(struct mmt_bench *bench, mmt_error *err)
{
    mmt_status status = find_profile(bench, err);
    if (status == MMT_OK)
        status = mmt_bench_enter_ours(bench, err);
    for (int i = 0; i < bench->num_references && status == MMT_OK; i++)
        enter_reference(bench, &bench->references[i]);
    return status;
}

static void leave_all(struct mmt_bench *bench)
{
    if (bench->num_contestants)
        bench->contestants[0].reference->close(bench->contestants[0].self);
    for (int i = 0; i < bench->num_references; i++)
        if (bench->references[i].self)
            bench->references[i].reference->close(bench->references[i].self);
    mmt_profile_free(bench->profile);
    mmt_device_close(bench->device);
    mmt_text_finish(&bench->json[0]);
    mmt_text_finish(&bench->json[1]);
    free(bench->rows);
}

/* ---- problems -------------------------------------------------------------------- */

/* Every product of a batch has an A and a B of its own. */
static void separate_matrices(mmt_problem *p)
{
    int64_t width_a = p->trans_a ? p->m : p->k, width_b = p->trans_b ? p->k : p->n;

    p->stride_a = (p->lda ? p->lda : width_a) * (p->trans_a ? p->k : p->m);
    p->stride_b = (p->ldb ? p->ldb : width_b) * (p->trans_b ? p->n : p->k);
}

static mmt_problem make_problem(const struct mmt_shape *shape, mmt_type type,
                                const struct mmt_epilogue *epilogue, int transposes,
                                bool odd)
{
    mmt_problem p = mmt_shape_problem(MMT_GEMM, type, shape);

    mmt_epilogue_apply(epilogue, &p);
    p.trans_a = transposes & (MMT_TN | MMT_TT) ? 1 : 0;
    p.trans_b = transposes & (MMT_NT | MMT_TT) ? 1 : 0;
    if (odd)
        mmt_ld_padding_apply(&p);
    if (p.batch > 1)
        separate_matrices(&p);
    return p;
}

static mmt_status add_row(struct mmt_bench *bench, const mmt_problem *problem,
                          mmt_error *err)
{
    size_t size = (size_t) (bench->num_rows + 1) * sizeof *bench->rows;
    struct mmt_bench_row *rows = realloc(bench->rows, size);

    if (!rows)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %d problems",
                        bench->num_rows + 1);
    bench->rows = rows;
    memset(&rows[bench->num_rows], 0, sizeof *rows);
    return mmt_problem_normalise(problem, &rows[bench->num_rows++].problem, err);
}

static mmt_status add_problems(struct mmt_bench *bench,
                               const struct mmt_bench_options *options,
                               const struct mmt_shape *shapes, int count, mmt_type type,
                               mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int bit = MMT_NN; bit <= MMT_TT; bit <<= 1)
        for (int odd = 0; odd < 2; odd++)
            for (int i = 0; i < count && status == MMT_OK; i++) {
                if (!(options->transposes & (unsigned) bit) || !options->ld_padding[odd])
                    continue;
                mmt_problem problem =
                    make_problem(&shapes[i], type, &options->epilogue, bit, odd);
                status = add_row(bench, &problem, err);
            }
    return status;
}

/* With no shapes given, the default suite is scaled to each type's speed. */
static mmt_status list_problems(struct mmt_bench *bench,
                                const struct mmt_bench_options *options, mmt_error *err)
{
    const struct mmt_caps *caps = mmt_device_caps(bench->device);
    mmt_status status = MMT_OK;

    for (int type = 0; type < MMT_NUM_TYPES && status == MMT_OK; type++) {
        struct mmt_shape usual[MMT_DEFAULT_SHAPES];
        if (!options->types[type])
            continue;
        if (options->usual) {
            mmt_suite_default(mmt_derived_peak(caps, type), usual);
            status = add_problems(bench, options, usual, MMT_DEFAULT_SHAPES, type, err);
        }
        if (status == MMT_OK)
            status = add_problems(bench, options, options->shapes, options->num_shapes,
                                  type, err);
    }
    return status;
}

/* ---- the run --------------------------------------------------------------------- */

static struct mmt_text *json_of(struct mmt_bench *bench)
{
    return &bench->json[bench->num_rows % 2];
}

/* Files and what is printed at an end at once are whole after each problem, and a CSV
 * that cannot be written is told of before the first. What a handler may be printing
 * stays meanwhile. */
static mmt_status keep_rows(struct mmt_bench *bench,
                            const struct mmt_bench_options *options, mmt_error *err)
{
    mmt_status status =
        options->csv ? mmt_bench_write_csv(bench, options->csv, err) : MMT_OK;
    if (status == MMT_OK && options->json)
        status = mmt_bench_print_json(bench, json_of(bench), err);
    if (status == MMT_OK && options->json)
        mmt_interrupt_prints(mmt_text_string(json_of(bench)));
    return status;
}

static mmt_status walk_problems(struct mmt_bench *bench,
                                const struct mmt_bench_options *options, mmt_error *err)
{
    const int all = bench->num_rows;

    bench->num_rows = 0;
    mmt_status status = keep_rows(bench, options, err);
    if (!options->json && status == MMT_OK)
        mmt_bench_print_head(bench);
    while (status == MMT_OK && bench->num_rows < all && !mmt_interrupted) {
        struct mmt_bench_row *row = &bench->rows[bench->num_rows++];
        mmt_bench_measure(bench, row);
        if (!options->json)
            mmt_bench_print_row(bench, row);
        status = keep_rows(bench, options, err);
    }
    if (!options->json && status == MMT_OK)
        mmt_bench_print_means(bench);
    return status;
}

/* Something was measured, all answers were right, and all libraries that were asked for
 * by name were there. */
static bool went_well(const struct mmt_bench *bench, bool named)
{
    bool timed = false;

    for (int i = 0; i < bench->num_references; i++)
        if (named && !bench->references[i].self)
            return false;
    for (int i = 0; i < bench->num_rows; i++)
        for (int j = 0; j < bench->num_contestants; j++) {
            timed |= bench->rows[i].times[j].samples > 0;
            if (bench->rows[i].times[j].wrong)
                return false;
        }
    return timed;
}

static mmt_status prepare_bench(struct mmt_bench *bench,
                                const struct mmt_bench_options *options, mmt_error *err)
{
    bench->device = mmt_device_open(options->device, err);
    if (!bench->device)
        return err->status;
    mmt_status status = list_problems(bench, options, err);
    if (status == MMT_OK)
        status = enter_all(bench, err);
    return status;
}

/* The last row may have been cut short. */
static int say_interrupted(const char *verb, const struct mmt_bench *bench)
{
    char saved[80];
    snprintf(saved, sizeof saved, "%d rows are told, the last one perhaps in part",
             bench->num_rows);
    return mmt_say_interrupted(verb, saved);
}

int mmt_verb_bench(int argc, char **argv)
{
    struct mmt_bench_options options;
    mmt_error err = { 0 };
    int code = mmt_bench_read_options(argc, argv, &options);

    if (code >= 0)
        return code;
    struct mmt_bench bench = { .profile_name = options.profile,
                               .no_profile = options.no_profile,
                               .configuration = options.configuration,
                               .effort = options.effort,
                               .parameters = options.parameters,
                               .pace = MMT_BENCH_PACE,
                               .seed = (uint64_t) options.seed,
                               .num_references = options.num_references };
    bench.pace.seconds = options.seconds;
    for (int i = 0; i < bench.num_references; i++)
        bench.references[i].reference = options.references[i];
    mmt_hear_interrupts(argv[0],
                        "rows that were told are whole, what is not yet told is lost");
    mmt_status status = prepare_bench(&bench, &options, &err);
    if (status == MMT_OK)
        status = walk_problems(&bench, &options, &err);
    mmt_interrupt_prints("");
    if (status == MMT_OK && options.json)
        fputs(mmt_text_string(json_of(&bench)), stdout);
    code = status                             ? mmt_failed_or_usage(argv[0], &err)
           : mmt_interrupted                  ? say_interrupted(argv[0], &bench)
           : went_well(&bench, options.named) ? MMT_EXIT_DONE
                                              : MMT_EXIT_FAILED;
    leave_all(&bench);
    mmt_bench_free_options(&options);
    return code;
}
