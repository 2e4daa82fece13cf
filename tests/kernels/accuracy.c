/* How far C is from the exact product, by configuration: in units of the rounding error
 * of the type that is added up in (of f32 2^-24), relative to the product of the
 * operands' magnitudes. By hand, for instance
 *
 *     accuracy cuda:0 4096x4096x4096 "wgmma TILE_M=128 ..."
 *     accuracy cuda:0 "tf32 nt 4096x4096x4096" "wgmma ..." "mma ..."
 *
 * What is exact comes from the device's own kernel for f64, that of f64 from the host's
 * long double. Of f32 the operands are of all kinds of tests/support/near.h; each
 * configuration must be near as that says, beside what FFMA gives, or the program exits
 * with 1. */
#include <mmtune/mmtune.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/problem.h"
#include "tests/support/near.h"
#include "tests/support/scoped.h"
#include "tuner/verify/number.h"

/* FFMA in the order of k. */
static const char ffma_name[] = "naive";

/* What C is compared with. */
struct right {
    const double *exact, *sizes; /* the product, and that of magnitudes */
    const double *ffma;          /* of f32; else NULL */
};

static void check(mmt_status status, const mmt_error *err)
{
    if (status == MMT_OK)
        return;
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    exit(EXIT_FAILURE);
}

static void *allocate(int64_t count, size_t size)
{
    void *memory = calloc((size_t) count, size);
    if (memory)
        return memory;
    fprintf(stderr, "no memory for %zu bytes\n", (size_t) count * size);
    exit(EXIT_FAILURE);
}

/* ---- operands -------------------------------------------------------------------- */

/* Which element of A, or with `of_b` of B, as it is stored without gaps. */
static int64_t place(const mmt_problem *p, bool of_b, int64_t line, int64_t depth)
{
    const bool lines = of_b ? p->trans_b : !p->trans_a; /* are its rows */
    return lines ? line * p->k + depth : depth * (of_b ? p->n : p->m) + line;
}

static int64_t elements(const mmt_problem *p, bool of_b)
{
    return p->k * (of_b ? p->n : p->m);
}

/* As stored, and what they are as numbers. */
static void *draw(const mmt_problem *p, bool of_b, int kind, double *numbers)
{
    const size_t size = mmt_type_size(p->type);
    const mmt_type type = p->type == MMT_TF32 ? MMT_F32 : p->type; /* all bits */
    const int64_t lines = of_b ? p->n : p->m;
    char *stored = allocate(elements(p, of_b), size);

    for (int64_t i = 0; i < lines; i++)
        for (int64_t q = 0; q < p->k; q++) {
            const int64_t at = place(p, of_b, i, q);
            const double x = type == MMT_F64 ? 2 * near_draw() - 1
                                             : near_element(kind, of_b, i, lines, q);
            mmt_number_write(type, x, stored + (size_t) at * size);
            numbers[at] = (double) mmt_number_read(type, stored + (size_t) at * size);
        }
    return stored;
}

/* ---- products -------------------------------------------------------------------- */

static mmt_operand upload(mmt_device *device, const void *data, size_t bytes)
{
    mmt_operand to;
    mmt_error err;
    check(mmt_buffer_create(device, bytes, &to, &err), &err);
    if (data)
        check(mmt_buffer_write(device, to, data, bytes, &err), &err);
    return to;
}

/* C as numbers, which the caller frees. */
static double *multiply(mmt_device *device, const mmt_problem *p, const void *a,
                        const void *b, const char *configuration)
{
    const size_t size = mmt_type_size(p->type), bytes = mmt_type_size(p->out);
    const int64_t count = p->m * p->n;
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = mmt_args_defaults();
    mmt_error err = { 0 };

    options.configuration = configuration;
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, p, &options, &err);
    check(err.status, &err);
    args.a = upload(device, a, (size_t) elements(p, false) * size);
    args.b = upload(device, b, (size_t) elements(p, true) * size);
    args.c = upload(device, NULL, (size_t) count * bytes);
    if (mmt_plan_workspace(plan))
        args.workspace = upload(device, NULL, mmt_plan_workspace(plan));
    check(mmt_execute(plan, &args, NULL, &err), &err);
    void *c = allocate(count, bytes);
    double *numbers = allocate(count, sizeof *numbers);
    check(mmt_buffer_read(device, c, args.c, (size_t) count * bytes, &err), &err);
    mmt_number_read_all(p->out, c, count, numbers);
    free(c);
    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.b);
    mmt_buffer_free(device, args.c);
    mmt_buffer_free(device, args.workspace);
    return numbers;
}

static double *multiply_on_host(const mmt_problem *p, const double *a, const double *b,
                                bool magnitudes)
{
    double *c = allocate(p->m * p->n, sizeof *c);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            long double sum = 0;
            for (int64_t q = 0; q < p->k; q++) {
                const long double x = a[place(p, false, i, q)];
                const long double product = x * b[place(p, true, j, q)];
                sum += magnitudes ? fabsl(product) : product;
            }
            c[i * p->n + j] = (double) sum;
        }
    return c;
}

/* The product of these numbers, or of their magnitudes. */
static double *multiply_exactly(mmt_device *device, const mmt_problem *p, double *a,
                                double *b, bool magnitudes)
{
    mmt_problem wide = *p;

    if (p->type == MMT_F64)
        return multiply_on_host(p, a, b, magnitudes);
    for (int64_t i = 0; i < elements(p, false) && magnitudes; i++)
        a[i] = fabs(a[i]);
    for (int64_t i = 0; i < elements(p, true) && magnitudes; i++)
        b[i] = fabs(b[i]);
    wide.type = wide.out = MMT_F64;
    return multiply(device, &wide, a, b, NULL);
}

/* ---- comparing ------------------------------------------------------------------- */

static struct near_bound bound_of(const mmt_problem *p, const char *configuration)
{
    const char *splits = strstr(configuration, "SPLIT_K=");
    return strncmp(configuration, "mma_bf16x3", 10)
               ? near_of_wgmma(p->k)
               : near_of_mma(p->k, splits ? atoi(splits + 8) : 1);
}

static struct near_sums compare(const mmt_problem *p, const double *c,
                                const struct right *right, struct near_bound bound)
{
    const double unit = mmt_number_roundoff(mmt_type_scalar(p->type)) * 0x1p24;
    struct near_sums sums = { 0 };

    for (int64_t i = 0; i < p->m * p->n; i++) {
        const struct near_element x = { c[i], right->ffma ? right->ffma[i] : 0,
                                        right->exact[i], right->sizes[i] * unit };
        near_add(&sums, &x, bound);
    }
    return sums;
}

/* The error's Frobenius norm relative to the product's; elements that are not finite left
 * out. */
static double norm(const double *c, const double *exact, int64_t count)
{
    double errors = 0, squares = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(c[i]) && isfinite(exact[i])) {
            errors += (c[i] - exact[i]) * (c[i] - exact[i]);
            squares += exact[i] * exact[i];
        }
    return sqrt(errors / squares);
}

static void print_line(const struct near_sums *sums, double norm, const char *name)
{
    const double count = (double) sums->count;
    printf("%10.3f %10.4f %10.4f %10.3f %10.3g %8lld   %s\n", sums->most,
           sqrt(sums->squares / count), sums->bias / count, sums->beyond, norm,
           (long long) sums->far, name);
}

/* Returns whether it is near; with `whole`, nearer than FFMA on the whole, too. */
static bool try_one(mmt_device *device, const mmt_problem *p, const void *a,
                    const void *b, const char *configuration, const struct right *right,
                    const struct near_sums *ffma, bool whole)
{
    double *c = multiply(device, p, a, b, configuration);
    const struct near_sums sums = compare(p, c, right, bound_of(p, configuration));
    const bool nearer = sums.most <= ffma->most && sums.squares <= ffma->squares;
    const bool near = !right->ffma || (sums.far == 0 && (nearer || !whole));

    print_line(&sums, norm(c, right->exact, p->m * p->n), configuration);
    if (!near)
        printf("%74s further from the exact product than FFMA\n", "");
    free(c);
    return near;
}

static bool try_all(mmt_device *device, const mmt_problem *p, int kind,
                    char **configurations, int count)
{
    double *numbers[] = { allocate(elements(p, false), sizeof(double)),
                          allocate(elements(p, true), sizeof(double)) };
    void *a = draw(p, false, kind, numbers[0]), *b = draw(p, true, kind, numbers[1]);
    double *exact = multiply_exactly(device, p, numbers[0], numbers[1], false);
    double *sizes = multiply_exactly(device, p, numbers[0], numbers[1], true);
    double *ffma = p->type == MMT_F32 ? multiply(device, p, a, b, ffma_name) : NULL;
    const struct right right = { exact, sizes, ffma };
    struct near_sums plain = { 0 };
    bool near = true;

    printf("operands %s\n%10s %10s %10s %10s %10s %8s\n",
           p->type == MMT_F64 ? near_kinds[0] : near_kinds[kind], "most", "rms", "bias",
           "beyond", "norm", "far");
    if (ffma) {
        plain = compare(p, ffma, &right, near_of_wgmma(p->k));
        print_line(&plain, norm(ffma, exact, p->m * p->n), "FFMA");
    }
    for (int i = 0; i < count; i++)
        near &=
            try_one(device, p, a, b, configurations[i], &right, &plain, kind < NEAR_LIKE);
    free(numbers[0]);
    free(numbers[1]);
    free(a);
    free(b);
    free(exact);
    free(sizes);
    free(ffma);
    return near;
}

static mmt_problem read_problem(const char *word)
{
    SCOPED_TEXT text = { 0 };
    mmt_problem p;
    mmt_error err = { 0 };

    mmt_text_addf(&text, strchr(word, ' ') ? "gemm %s" : "gemm f32 nn %s", word);
    check(mmt_problem_parse(mmt_text_string(&text), &p, &err), &err);
    check(mmt_problem_normalise(&p, &p, &err), &err);
    return p;
}

int main(int argc, char **argv)
{
    bool near = true;
    mmt_error err;

    if (argc < 4) {
        fprintf(stderr,
                "usage: accuracy DEVICE [\"TYPE TRANSPOSES \"]MxNxK CONFIGURATION...\n");
        return 2;
    }
    const mmt_problem p = read_problem(argv[2]);
    mmt_device *device = mmt_device_open(argv[1], &err);
    if (!device)
        check(err.status, &err);
    for (int kind = 0; kind < (p.type == MMT_F32 ? NEAR_KINDS : 1); kind++)
        near &= try_all(device, &p, kind, argv + 3, argc - 3);
    mmt_device_close(device);
    return near ? 0 : EXIT_FAILURE;
}
