/* Reads, writes and rounds elements of every type on the host; must share no code with
 * the kernels. */
#include "tuner/verify/number.h"

#include <math.h>
#include <string.h>

/* ---- floating point by its fields ------------------------------------------------ */

static int bias_of(const struct mmt_type_format *f)
{
    return (1 << (f->exponent - 1)) - 1;
}

/* The code of infinity, or of NaN where there is none, without its sign. */
static uint32_t end_of(const struct mmt_type_format *f)
{
    uint32_t last = ((1u << f->exponent) - 1) << f->fraction;
    return f->infinite ? last : last | ((1u << f->fraction) - 1);
}

static float decode_number(const struct mmt_type_format *f, uint32_t code)
{
    int bits = f->exponent + f->fraction;
    uint32_t rest = code & ((1u << bits) - 1), end = end_of(f);
    int exponent = (int) (rest >> f->fraction);
    uint32_t fraction = rest & ((1u << f->fraction) - 1);
    double size = exponent ? fraction + ldexp(1, f->fraction) : fraction;

    if (rest >= end)
        return rest == end && f->infinite ? (code >> bits ? -INFINITY : INFINITY) : NAN;
    size = ldexp(size, (exponent ? exponent : 1) - bias_of(f) - f->fraction);
    return (float) (code >> bits ? -size : size);
}

/* The exponent of a number, at least that of the smallest with a leading 1. */
static int exponent_of(const struct mmt_type_format *f, double size)
{
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    int exponent = (int) (bits >> 52) - 1023, least = 1 - bias_of(f);
    return exponent > least ? exponent : least;
}

static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t) (exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* Multiples of the last place are counted; a carry runs into the exponent by itself. */
static uint32_t encode_number(const struct mmt_type_format *f, double value)
{
    int bits = f->exponent + f->fraction;
    uint32_t sign = signbit(value) ? 1u << bits : 0, end = end_of(f), code;
    double size = fabs(value);

    if (isnan(value))
        return sign | end | 1u << (f->fraction - 1);
    if (size >= power_of_two(bias_of(f) + 2))
        return sign | end;
    int exponent = exponent_of(f, size);
    long places = lrint(size * power_of_two(f->fraction - exponent));
    code = ((uint32_t) (exponent + bias_of(f) - 1) << f->fraction) + (uint32_t) places;
    return sign | (code < end ? code : end);
}

/* ---- elements -------------------------------------------------------------------- */

const float *mmt_number_table(mmt_type type)
{
    static float tables[MMT_NUM_TYPES][1 << 16];
    static bool made[MMT_NUM_TYPES];
    const struct mmt_type_format format = mmt_type_format(type);
    size_t size = mmt_type_size(type);

    if (size > 2)
        return NULL;
    for (uint32_t code = 0; !made[type] && code < 1u << (8 * size); code++)
        tables[type][code] =
            type == MMT_I8 ? (float) (int8_t) code : decode_number(&format, code);
    made[type] = true;
    return tables[type];
}

void mmt_number_read_all(mmt_type type, const void *elements, int64_t count, double *out)
{
    const float *table = mmt_number_table(type);

    if (table && mmt_type_size(type) == 1)
        for (int64_t i = 0; i < count; i++)
            out[i] = table[((const uint8_t *) elements)[i]];
    else if (table)
        for (int64_t i = 0; i < count; i++)
            out[i] = table[((const uint16_t *) elements)[i]];
    else if (type == MMT_F64)
        memcpy(out, elements, (size_t) count * sizeof *out);
    else if (type == MMT_I32)
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const int32_t *) elements)[i];
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = ((const float *) elements)[i];
}

long double mmt_number_read(mmt_type type, const void *element)
{
    double aligned, number;
    memcpy(&aligned, element, mmt_type_size(type));
    mmt_number_read_all(type, &aligned, 1, &number);
    return number;
}

void mmt_number_write(mmt_type type, double value, void *element)
{
    const struct mmt_type_format format = mmt_type_format(type);
    uint32_t code;
    float f32 = (float) value;
    int32_t i32;

    if (mmt_type_in(type, MMT_WHOLE_TYPES)) {
        i32 = (int32_t) value; /* the lowest bytes come first */
        memcpy(element, &i32, mmt_type_size(type));
    } else if (type == MMT_F64) {
        memcpy(element, &value, sizeof value);
    } else if (type == MMT_F32) {
        memcpy(element, &f32, sizeof f32);
    } else {
        code = encode_number(&format, value);
        if (type == MMT_TF32)
            code <<= 13;
        memcpy(element, &code, mmt_type_size(type));
    }
}

double mmt_number_round(mmt_type type, double value)
{
    unsigned char element[8];
    mmt_number_write(type, value, element);
    return (double) mmt_number_read(type, element);
}

/* ---- what a type can tell apart -------------------------------------------------- */

double mmt_number_roundoff(mmt_type type)
{
    return mmt_type_in(type, MMT_WHOLE_TYPES)
               ? 0
               : ldexp(1, -mmt_type_format(type).fraction - 1);
}

long double mmt_number_tiny(mmt_type type)
{
    const struct mmt_type_format f = mmt_type_format(type);
    return mmt_type_in(type, MMT_WHOLE_TYPES) ? 0 : ldexpl(1, -bias_of(&f) - f.fraction);
}

double mmt_number_whole(mmt_type type)
{
    return mmt_type_in(type, MMT_WHOLE_TYPES)
               ? 0x1p53
               : ldexp(1, mmt_type_format(type).fraction + 1);
}
