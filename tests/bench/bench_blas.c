/* What a call in the manner of BLAS costs the host over mmt_execute, side by side.
 *
 *     bench_blas [DEVICE]
 *
 * The same product is queued by mmt_execute and by mmt_gemm, in turns of a hundred. The
 * handle keeps two hundred other plans beside the product's. Prints nanoseconds a call:
 * medians of the turns. On the null device, which executes nothing, no driver's own time
 * is between them. */
#include <mmtune/blas.h>

#include "base/clock.h"
#include "tests/support/test.h"
#include "tuner/measure/stats.h"

enum { SIZE = 64, CALLS = 100, TURNS = 301, OTHERS = 200 };

struct bench {
    mmt_device *device;
    mmt_blas *blas;
    mmt_plan *plan;
    mmt_args args;
};

static void must(bool held, const mmt_error *err)
{
    if (held)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void execute(const struct bench *bench)
{
    must(!mmt_execute(bench->plan, &bench->args, NULL, &err), &err);
}

static void multiply_rows(const struct bench *bench, int64_t m)
{
    const mmt_args *args = &bench->args;
    must(!mmt_gemm(bench->blas, MMT_F32, MMT_ROW_MAJOR, MMT_NO_TRANSPOSE,
                   MMT_NO_TRANSPOSE, m, SIZE, SIZE, 1, args->a, SIZE, args->b, SIZE, 0,
                   args->c, SIZE, NULL, &err),
         &err);
}

static void multiply(const struct bench *bench)
{
    multiply_rows(bench, SIZE);
}

/* Nanoseconds a call of the host's time; the device's own is waited for outside. */
static double turn(const struct bench *bench, void (*call)(const struct bench *))
{
    const double begun = mmt_now();
    for (int i = 0; i < CALLS; i++)
        call(bench);
    const double seconds = mmt_now() - begun;
    must(!mmt_finish(bench->device, NULL, &err), &err);
    return seconds / CALLS * 1e9;
}

static void prepare(struct bench *bench, const char *name)
{
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    const size_t bytes = sizeof(float) * SIZE * (SIZE + OTHERS);
    mmt_blas_options options = mmt_blas_defaults();
    mmt_plan_options plan = mmt_plan_defaults();

    plan.configuration = "naive";
    options.plan = &plan;
    bench->device = mmt_device_open(name, &err);
    if (!bench->device)
        SKIP("%s", err.text);
    bench->blas = mmt_blas_create(bench->device, &options, &err);
    must(bench->blas, &err);
    bench->plan = mmt_plan_create(bench->device, NULL, &problem, &plan, &err);
    must(bench->plan, &err);
    bench->args = mmt_args_defaults();
    must(!mmt_buffer_create(bench->device, bytes, &bench->args.a, &err), &err);
    must(!mmt_buffer_create(bench->device, bytes, &bench->args.b, &err), &err);
    must(!mmt_buffer_create(bench->device, bytes, &bench->args.c, &err), &err);
    for (int other = 1; other <= OTHERS; other++)
        multiply_rows(bench, SIZE + other);
    must(!mmt_finish(bench->device, NULL, &err), &err);
}

int main(int argc, char **argv)
{
    static double planned[TURNS], called[TURNS], excess[TURNS];
    struct bench bench;

    prepare(&bench, argc > 1 ? argv[1] : "0");
    for (int i = 0; i < TURNS; i++) {
        planned[i] = turn(&bench, execute);
        called[i] = turn(&bench, multiply);
        excess[i] = called[i] - planned[i];
    }
    printf("%s: mmt_execute %.0f ns, mmt_gemm %.0f ns, more by %.0f ns (medians of %d x "
           "%d calls)\n",
           mmt_device_name(bench.device), mmt_stats_quantile(planned, TURNS, 0.5),
           mmt_stats_quantile(called, TURNS, 0.5), mmt_stats_quantile(excess, TURNS, 0.5),
           TURNS, CALLS);
    mmt_buffer_free(bench.device, bench.args.a);
    mmt_buffer_free(bench.device, bench.args.b);
    mmt_buffer_free(bench.device, bench.args.c);
    mmt_plan_free(bench.plan);
    mmt_blas_free(bench.blas);
    mmt_device_close(bench.device);
    return 0;
}
