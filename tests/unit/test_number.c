/* Numbers of 16 and 8 bits, code by code: the host's against arithmetic that knows
 * nothing of codes, then the kernels' against the host's, on every device that opens.
 *
 *     test_number [DEVICE]
 */
#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "tests/support/test.h"
#include "tuner/verify/number.h"

enum { MOST = 1 << 16 };

static const struct format {
    mmt_type type;
    int exponent, fraction; /* bits */
    double largest, smallest;
} formats[] = {
    { MMT_BF16, 8, 7, 0x1.fep127, 0x1p-133 },
    { MMT_F16, 5, 10, 65504, 0x1p-24 },
    { MMT_F8E4M3, 4, 3, 448, 0x1p-9 },
    { MMT_F8E5M2, 5, 2, 57344, 0x1p-16 },
};
enum { NUM_FORMATS = sizeof(formats) / sizeof(*formats) };

static uint32_t count_of(const struct format *f)
{
    return 2u << (f->exponent + f->fraction);
}

static double read_code(mmt_type type, uint32_t code)
{
    return (double) mmt_number_read(type, &code); /* the lowest bytes come first */
}

static uint32_t write_code(mmt_type type, double value)
{
    uint32_t code = 0;
    mmt_number_write(type, value, &code);
    return code;
}

/* ---- the host -------------------------------------------------------------------- */

/* By powers of two, without looking at a table. */
static double by_definition(const struct format *f, uint32_t code)
{
    uint32_t exponent = code >> f->fraction & ((1u << f->exponent) - 1);
    uint32_t fraction = code & ((1u << f->fraction) - 1);
    int bias = (1 << (f->exponent - 1)) - 1;
    double part = fraction / (double) (1u << f->fraction);
    double size =
        exponent ? (1 + part) * pow(2, (int) exponent - bias) : part * pow(2, 1 - bias);

    if (size > f->largest)
        size = fraction || f->type == MMT_F8E4M3 ? NAN : INFINITY;
    return code & count_of(f) / 2 ? -size : size;
}

static void test_reading(const struct format *f)
{
    double largest = 0, smallest = INFINITY;

    for (uint32_t code = 0; code < count_of(f); code++) {
        double value = read_code(f->type, code), right = by_definition(f, code);
        CHECK(isnan(right) ? isnan(value) : value == right);
        CHECK(isnan(value) || signbit(value) == (code >= count_of(f) / 2));
        if (isfinite(value))
            largest = fmax(largest, value);
        if (value > 0)
            smallest = fmin(smallest, value);
    }
    CHECK(largest == f->largest);
    CHECK(smallest == f->smallest);
}

/* What a code stands for becomes that code; what lies between two goes to the nearer, or
 * to the even one; beyond the largest, half a step still goes back. */
static void test_rounding(const struct format *f)
{
    uint32_t negative = count_of(f) / 2, code = 0;

    for (; read_code(f->type, code + 1) <= f->largest; code++) {
        double low = read_code(f->type, code), high = read_code(f->type, code + 1);
        double middle = (low + high) / 2;
        uint32_t even = code + code % 2;
        CHECK_EQ_INT(write_code(f->type, low), code);
        CHECK_EQ_INT(write_code(f->type, -low), code | negative);
        CHECK_EQ_INT(write_code(f->type, middle), even);
        CHECK_EQ_INT(write_code(f->type, -middle), even | negative);
        CHECK_EQ_INT(write_code(f->type, nextafter(middle, low)), code);
        CHECK_EQ_INT(write_code(f->type, nextafter(middle, high)), code + 1);
    }
    double step = f->largest - read_code(f->type, code - 1);
    CHECK_EQ_INT(write_code(f->type, f->largest), code);
    CHECK_EQ_INT(write_code(f->type, nextafter(f->largest + step / 2, 0)), code);
    CHECK(!isfinite(mmt_number_round(f->type, f->largest + step)));
    CHECK(!isfinite(mmt_number_round(f->type, INFINITY)));
    CHECK(isnan(mmt_number_round(f->type, NAN)));
}

static void test_limits(const struct format *f)
{
    double u = mmt_number_roundoff(f->type), whole = mmt_number_whole(f->type);

    CHECK(mmt_number_round(f->type, 1 + 2 * u) == 1 + 2 * u);
    CHECK(mmt_number_round(f->type, 1 + u) == 1);
    CHECK(2 * mmt_number_tiny(f->type) == f->smallest);
    CHECK(mmt_number_round(f->type, whole) == whole);
    CHECK(mmt_number_round(f->type, whole + 1) != whole + 1);
}

static void test_tf32(void)
{
    const float kept = 0x1.ffcp5f, tie = 0x1.002p0f, odd = 0x1.006p0f;

    CHECK(mmt_number_round(MMT_TF32, kept) == kept);
    CHECK(mmt_number_round(MMT_TF32, tie) == 1);
    CHECK(mmt_number_round(MMT_TF32, odd) == 0x1.008p0);
    CHECK(mmt_number_round(MMT_TF32, -0x1.0021p0) == -0x1.004p0);
    CHECK(mmt_number_roundoff(MMT_TF32) == 0x1p-11);
}

/* ---- kernels --------------------------------------------------------------------- */

struct bench {
    mmt_device *device;
    mmt_operand a, b, c;
};

/* C = alpha A b + beta C, of m rows and one column, k = 1. */
static bool multiply(const struct bench *bench, mmt_type type, mmt_type out, int m,
                     double alpha, double beta)
{
    mmt_error err = { 0 };
    mmt_problem p = mmt_gemm_problem(type, m, 1, 1);
    mmt_args args = mmt_args_defaults();
    mmt_plan_options options = mmt_plan_defaults();

    p.out = out;
    options.configuration = "naive";
    SCOPED_PLAN *plan = mmt_plan_create(bench->device, NULL, &p, &options, &err);
    if (!CHECK_MADE(plan))
        return false;
    args.a = bench->a, args.b = bench->b, args.c = bench->c;
    args.alpha = alpha, args.beta = beta;
    bool good = CHECK_OK(mmt_execute(plan, &args, NULL, &err), err) &&
                CHECK_OK(mmt_finish(bench->device, NULL, &err), err);
    return good;
}

static void put(const struct bench *bench, mmt_operand to, const void *bytes, size_t size)
{
    CHECK_OK(mmt_buffer_write(bench->device, to, bytes, size, &err), err);
}

static void get(const struct bench *bench, void *bytes, mmt_operand from, size_t size)
{
    CHECK_OK(mmt_buffer_read(bench->device, bytes, from, size, &err), err);
}

/* Every code of a type, as its elements; returns how many there are. */
static int put_codes(const struct bench *bench, mmt_operand to, mmt_type type)
{
    int count = 1 << (8 * mmt_type_size(type));
    unsigned char *codes = malloc(MOST * sizeof(uint16_t));

    for (int i = 0; i < count; i++)
        memcpy(codes + (size_t) i * mmt_type_size(type), &i, mmt_type_size(type));
    put(bench, to, codes, (size_t) count * mmt_type_size(type));
    free(codes);
    return count;
}

static void put_one(const struct bench *bench, mmt_type type, double value)
{
    double element = 0;
    mmt_number_write(type, value, &element);
    put(bench, bench->b, &element, mmt_type_size(type));
}

/* Whether C(i) is what `right` of code i says, rounded to f32 and then to C's type; a NaN
 * is as good as another, and 0 as -0. */
static void compare(const struct bench *bench, mmt_type type, mmt_type out, int count,
                    double factor)
{
    size_t size = mmt_type_size(out);
    unsigned char *c = malloc((size_t) count * size);
    int wrong = 0;

    get(bench, c, bench->c, (size_t) count * size);
    for (int i = 0; i < count; i++) {
        double value = (double) (float) (factor * read_code(type, (uint32_t) i));
        double right = mmt_number_round(out, value);
        double found = (double) mmt_number_read(out, c + (size_t) i * size);
        bool same = isnan(right) ? isnan(found) : found == right;
        if (!same && !wrong++)
            fprintf(stderr, "    %s code %d times %a is %a as %s, should be %a\n",
                    mmt_type_name(type), i, factor, found, mmt_type_name(out), right);
    }
    CHECK_EQ_INT(wrong, 0);
    free(c);
}

/* All codes times 1 into f32, where nothing is rounded, then with factors that fill f32
 * into each output. */
static void test_products(const struct bench *bench, mmt_type type)
{
    const double factors[] = { 1, 0x1.0101p0, 0x1.55p-3, 0x1.fffffep2, 0x1p-9 };
    int count = put_codes(bench, bench->a, type);

    put_one(bench, type, 1);
    for (int out = 0; out < MMT_NUM_TYPES; out++)
        for (int i = 0; i < 5 && mmt_type_in(out, mmt_type_outputs(type)); i++)
            if (multiply(bench, type, (mmt_type) out, count, factors[i], 0))
                compare(bench, type, (mmt_type) out, count, factors[i]);
}

/* Codes of C that are read: C = 0 A b + 1 C. */
static void test_old_c(const struct bench *bench, mmt_type type)
{
    int count = put_codes(bench, bench->c, type);

    if (multiply(bench, type, type, count, 0, 1))
        compare(bench, type, type, count, 1);
}

static void test_i8(const struct bench *bench)
{
    int count = put_codes(bench, bench->a, MMT_I8);
    int32_t c[256];

    put_one(bench, MMT_I8, -128);
    if (!multiply(bench, MMT_I8, MMT_I32, count, 3, 0))
        return;
    get(bench, c, bench->c, sizeof c);
    for (int i = 0; i < 256; i++)
        CHECK_EQ_INT(c[i], 3 * -128 * (int8_t) i);
}

static bool open_bench(const char *id, struct bench *bench)
{
    bench->device = mmt_device_open(id, &err);
    if (!bench->device) {
        printf("%s skipped: %s\n", id, err.text);
        return false;
    }
    mmt_operand *buffers[] = { &bench->a, &bench->b, &bench->c };
    for (int i = 0; i < 3; i++)
        CHECK_OK(mmt_buffer_create(bench->device, MOST * sizeof(float), buffers[i], &err),
                 err);
    return true;
}

static void test_device(const char *id)
{
    struct bench bench;

    if (!open_bench(id, &bench))
        return;
    for (int i = 0; i < NUM_FORMATS; i++)
        test_products(&bench, formats[i].type);
    test_old_c(&bench, MMT_BF16);
    test_old_c(&bench, MMT_F16);
    test_i8(&bench);
    mmt_buffer_free(bench.device, bench.a);
    mmt_buffer_free(bench.device, bench.b);
    mmt_buffer_free(bench.device, bench.c);
    mmt_device_close(bench.device);
}

/* Many at once are what they are one by one: every pattern of 16 bits, in all places. */
static void test_reading_all(mmt_type type)
{
    enum { BYTES = 1 << 17 };
    static _Alignas(double) uint16_t patterns[BYTES / 2];
    static double all[BYTES];
    const int64_t size = (int64_t) mmt_type_size(type), count = BYTES / size;
    int64_t wrong = 0;

    for (int i = 0; i < BYTES / 2; i++)
        patterns[i] = (uint16_t) (i * 40503u);
    mmt_number_read_all(type, patterns, count, all);
    for (int64_t i = 0; i < count; i++) {
        double one = (double) mmt_number_read(type, (char *) patterns + i * size);
        wrong += isnan(one) ? !isnan(all[i]) : one != all[i];
    }
    CHECK_EQ_INT(wrong, 0);
}

int main(int argc, char **argv)
{
    struct mmt_device_info *list = NULL;
    SCOPED_TEXT notes = { 0 };
    size_t count = 0;

    for (int i = 0; i < NUM_FORMATS; i++) {
        test_reading(&formats[i]);
        test_rounding(&formats[i]);
        test_limits(&formats[i]);
    }
    test_tf32();
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        test_reading_all((mmt_type) type);
    CHECK_OK(mmt_device_list(&list, &count, &notes, &err), err);
    for (size_t i = 0; i < count; i++)
        if (argc < 2 || !strcmp(argv[1], list[i].id))
            test_device(list[i].id);
    free(list);
    return test_end("number");
}
