// Numbers: as they are stored, as they are computed with, and the ways between. It stands
// behind the prelude and is written in its words.
//
//   element   of A and B   --to_real-->   real   --activate, to_result-->   result   of C
//                                                <------- from_result ----
//
// C has one of the types f32, f64, i32, bf16 and f16. Floating-point numbers of 16 and 8
// bits are stored as whole numbers. Vectors of two and of four have a digit behind: element4.

#if defined(TYPE_F64)
#define REAL(x) x            // a constant
#else
#define REAL(x) x##f
#endif

// ---- 16 and 8 bits ----------------------------------------------------------------------

DEVICE_FN float bf16_to_float(unsigned short x)
{
    return FLOAT_OF_BITS((unsigned int) x << 16);
}

#if (defined(__CUDACC__) || defined(__OPENCL_VERSION__)) && __CUDA_ARCH__ >= 800
DEVICE_FN unsigned short round_to_bf16(float x)
{
    unsigned short y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
#define ROUND_TO_BF16(x) round_to_bf16(x)
#endif

// To the nearest, ties to even.
DEVICE_FN unsigned short float_to_bf16(float x)
{
#ifdef ROUND_TO_BF16
    return ROUND_TO_BF16(x);
#else
    const unsigned int bits = BITS_OF_FLOAT(x);
    if (x != x)
        return (unsigned short) (bits >> 16 | 0x40);
    return (unsigned short) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
}

// An exponent of 5 bits has bias 15 and that of f32 127; the last one is infinity and NaN.
// Numbers without the leading 1 are multiples of 2^-24.
DEVICE_FN float f16_to_float(unsigned short x)
{
#ifdef WIDEN_F16
    return WIDEN_F16(x);
#else
    const unsigned int sign = (x & 0x8000u) << 16, rest = x & 0x7fffu;
    if (rest < 0x0400u)
        return FLOAT_OF_BITS(BITS_OF_FLOAT((float) (int) rest * 0x1p-24f) | sign);
    if (rest >= 0x7c00u)
        return FLOAT_OF_BITS(sign | 0x7f800000u | rest << 13);
    return FLOAT_OF_BITS(sign | ((rest << 13) + (112u << 23)));
#endif
}

// Adding 0.5 to a number below 2^-14 rounds it to a multiple of 2^-24.
DEVICE_FN unsigned short float_to_f16(float x)
{
#ifdef ROUND_TO_F16
    return ROUND_TO_F16(x);
#else
    const unsigned int bits = BITS_OF_FLOAT(x), rest = bits & 0x7fffffffu;
    unsigned int bits16;
    if (rest > 0x7f800000u)
        bits16 = 0x7e00u;
    else if (rest >= 0x47800000u)
        bits16 = 0x7c00u;
    else if (rest < 0x38800000u)
        bits16 = BITS_OF_FLOAT(FLOAT_OF_BITS(rest) + 0.5f) - 0x3f000000u;
    else
        bits16 = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
    return (unsigned short) (bits16 | (bits >> 16 & 0x8000u));
#endif
}

// The upper half of an f16.
DEVICE_FN float f8e5m2_to_float(unsigned char x)
{
    return f16_to_float((unsigned short) (x << 8));
}

// Bias 7, no infinity, one NaN of either sign; below the leading 1 multiples of 2^-9.
DEVICE_FN float f8e4m3_to_float(unsigned char x)
{
    const unsigned int sign = (x & 0x80u) << 24, rest = x & 0x7fu;
    if (rest < 0x08u)
        return FLOAT_OF_BITS(BITS_OF_FLOAT((float) (int) rest * 0x1p-9f) | sign);
    if (rest == 0x7fu)
        return FLOAT_OF_BITS(sign | 0x7fc00000u);
    return FLOAT_OF_BITS(sign | ((rest << 20) + (120u << 23)));
}

// To the nearest tf32, ties away from zero, for matrix units that drop the last 13 bits. A NaN
// stays as it is; they take it for infinite where its first 10 bits of fraction are 0.
DEVICE_FN unsigned int round_to_tf32(unsigned int bits)
{
    const float x = FLOAT_OF_BITS(bits);
    return x == x ? bits + 0x1000u : bits;
}

DEVICE_FN float nearest_tf32(float x)
{
    return x == x ? FLOAT_OF_BITS(round_to_tf32(BITS_OF_FLOAT(x)) & 0xffffe000u) : x;
}

// ---- A and B ----------------------------------------------------------------------------

#if defined(TYPE_BF16) || defined(TYPE_F16)
typedef unsigned short element;
#define element2 ushort2
#define element4 ushort4
#elif defined(TYPE_F8E4M3) || defined(TYPE_F8E5M2)
typedef unsigned char element;
#define element2 uchar2
#define element4 uchar4
#elif defined(TYPE_I8)
#ifdef __OPENCL_VERSION__
typedef char element;         // signed there, and what a char4 is made of
#else
typedef signed char element;
#endif
#define element2 char2
#define element4 char4
#else
typedef real element;
#define element2 real2
#define element4 real4
#endif

#if defined(TYPE_F32) || defined(TYPE_F64) || defined(TYPE_I32)
#define IS_CONVERTED 0
#else
#define IS_CONVERTED 1       // elements are no real numbers as they are stored
#endif

#if defined(TYPE_BF16)
#define TO_REAL(x) bf16_to_float(x)
#elif defined(TYPE_F16)
#define TO_REAL(x) f16_to_float(x)
#elif defined(TYPE_F8E4M3)
#define TO_REAL(x) f8e4m3_to_float(x)
#elif defined(TYPE_F8E5M2)
#define TO_REAL(x) f8e5m2_to_float(x)
#elif defined(TYPE_I8)
#define TO_REAL(x) ((real) (int) (x))
#elif defined(TYPE_TF32)
#define TO_REAL(x) nearest_tf32(x)
#else
#define TO_REAL(x) (x)
#endif

DEVICE_FN real to_real(element x)
{
    return TO_REAL(x);
}

// ---- C ----------------------------------------------------------------------------------

#if defined(OUT_BF16) || defined(OUT_F16)
typedef unsigned short result;
#define result2 ushort2
#define result4 ushort4
#else
typedef real result;
#define result2 real2
#define result4 real4
#endif

#if defined(OUT_BF16)
#define TO_RESULT(x)   float_to_bf16(x)
#define FROM_RESULT(x) bf16_to_float(x)
#elif defined(OUT_F16)
#define TO_RESULT(x)   float_to_f16(x)
#define FROM_RESULT(x) f16_to_float(x)
#else
#define TO_RESULT(x)   (x)
#define FROM_RESULT(x) (x)
#endif

DEVICE_FN result to_result(real x)
{
    return TO_RESULT(x);
}

DEVICE_FN real from_result(result x)
{
    return FROM_RESULT(x);
}

// Where the bias of an element of C stands; `bias` is that of the element from which rows
// and columns are counted.
DEVICE_FN const GLOBAL result *bias_of(const GLOBAL result *bias, int row, int column)
{
#if BIAS == 0
    return bias;
#elif BIAS == 1
    return bias + row;
#elif BIAS == 2
    return bias + column;
#else
#error "BIAS must be 0 (none), 1 (a value a row) or 2 (a value a column)"
#endif
}

// What ACTIVATION makes of a number. The forms lose nothing where x is far below 0.
DEVICE_FN real activate(real x)
{
#if ACTIVATION == 0
    return x;
#elif ACTIVATION == 1 && (defined(TYPE_I32) || defined(TYPE_I8))
    return (int) x < 0 ? 0 : x;
#elif ACTIVATION == 1
    return x < 0 ? 0 : x;
#elif ACTIVATION == 2
    return REAL(0.5) * x * erfc(REAL(-0.70710678118654752) * x);
#elif ACTIVATION == 3
    return x / (1 + exp(REAL(-1.5957691216057308) * (x + REAL(0.044715) * x * x * x)));
#elif ACTIVATION == 4
    return x / (1 + exp(-x));
#else
#error "ACTIVATION must be 0 (none), 1 (relu), 2 (gelu), 3 (gelu_tanh) or 4 (silu)"
#endif
}

// The bias itself, 0 where there is none.
DEVICE_FN real bias_at(const GLOBAL result *bias, int row, int column)
{
    return BIAS ? from_result(*bias_of(bias, row, column)) : 0;
}

// The last of an element of C before it is rounded: `x` is alpha A B + beta C there.
DEVICE_FN real finish(real x, const GLOBAL result *bias)
{
    return activate(BIAS ? x + bias_at(bias, 0, 0) : x);
}
