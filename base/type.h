/* Number types: their names, sizes, and what may be done with them. */
#ifndef MMT_BASE_TYPE_H
#define MMT_BASE_TYPE_H

#include <stdbool.h>

#include "base/text.h"

#include <mmtune/mmtune.h>

enum { MMT_NUM_TYPES = MMT_I8 + 1 };

/* Sets of types have a bit for each. */
#define MMT_TYPE_BIT(type) (1u << (type))
enum {
    MMT_PLAIN_TYPES = MMT_TYPE_BIT(MMT_F32) | MMT_TYPE_BIT(MMT_F64) |
                      MMT_TYPE_BIT(MMT_I32), /* one type for all that they do */
    MMT_F8_TYPES = MMT_TYPE_BIT(MMT_F8E4M3) | MMT_TYPE_BIT(MMT_F8E5M2),
    MMT_WHOLE_TYPES = MMT_TYPE_BIT(MMT_I32) | MMT_TYPE_BIT(MMT_I8),
    MMT_ALL_TYPES = MMT_TYPE_BIT(MMT_NUM_TYPES) - 1,
    MMT_CONVERTED_TYPES = MMT_ALL_TYPES & ~MMT_PLAIN_TYPES, /* 16 and 8 bits, and tf32 */
};

static inline bool mmt_type_in(mmt_type type, unsigned set)
{
    return set >> type & 1;
}

/* The type of that name, or -1. */
int mmt_type_parse(const char *name);

/* Adds "f32, f64 and i32". */
void mmt_type_list(unsigned set, struct mmt_text *text);

/* Slices that a number is taken apart into for tensor cores that do not take it whole,
 * and what each of them is: three of bf16, which add up to a number of f32, or the four
 * bytes of i32, of which only the size is told. Of other types one, the number itself. */
int mmt_type_slices(mmt_type type);
mmt_type mmt_type_slice(mmt_type type);

/* Types of one family are computed by the same kernels in nearly the same time: bf16 and
 * f16, the types of 8 bits, and each other one alone. The first of the family. */
mmt_type mmt_type_family(mmt_type type);

/* Bits of a floating-point number, from the highest: sign, exponent, fraction; tf32 is
 * followed by 13 that do not count. The last exponent is infinity and NaN; where a type
 * has no infinity, its last code alone is NaN. Whole types have no exponent, 0. */
struct mmt_type_format {
    int exponent, fraction;
    bool infinite;
};
struct mmt_type_format mmt_type_format(mmt_type type);

/* What it adds up in, and what alpha and beta are: f32, f64 or i32. */
mmt_type mmt_type_scalar(mmt_type type);

/* The types that C may have, and the one that it has unless told otherwise. */
unsigned mmt_type_outputs(mmt_type type);
mmt_type mmt_type_own_output(mmt_type type);
bool mmt_type_has_choice(mmt_type type);

/* "row", "gelu_tanh"; "none" for none; and back, or -1. */
enum { MMT_NUM_BIASES = MMT_BIAS_N + 1, MMT_NUM_ACTIVATIONS = MMT_SILU + 1 };
const char *mmt_bias_name(mmt_bias bias);
const char *mmt_activation_name(mmt_activation activation);
int mmt_bias_parse(const char *name);
int mmt_activation_parse(const char *name);

/* "stride", "pointers"; and back, or -1. */
enum { MMT_NUM_BATCH_BYS = MMT_BY_POINTERS + 1 };
const char *mmt_batch_by_name(mmt_batch_by batch_by);
int mmt_batch_by_parse(const char *name);

#endif
