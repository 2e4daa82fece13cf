/* The table of number types: names, sizes, families, outputs and the format of their
 * bits. */
#include "base/type.h"

#include <string.h>

#include "base/near.h"

#define BIT MMT_TYPE_BIT

/* All that is known of a type; what other libraries call it stands where they are used.
 */
static const struct {
    const char *name;
    size_t size;
    mmt_type family, scalar, own_output;
    unsigned outputs;
    int slices;
    mmt_type slice;
    struct mmt_type_format format;
} types[MMT_NUM_TYPES] = {
    // clang-format off
    [MMT_F32] = { "f32", 4, MMT_F32, MMT_F32, MMT_F32, BIT(MMT_F32), 3, MMT_BF16, { 8, 23, true } },
    [MMT_F64] = { "f64", 8, MMT_F64, MMT_F64, MMT_F64, BIT(MMT_F64), 1, MMT_F64, { 11, 52, true } },
    [MMT_I32] = { "i32", 4, MMT_I32, MMT_I32, MMT_I32, BIT(MMT_I32), 4, MMT_I8, { 0 } },
    [MMT_BF16] = { "bf16", 2, MMT_BF16, MMT_F32, MMT_BF16, BIT(MMT_F32) | BIT(MMT_BF16),
                   1, MMT_BF16, { 8, 7, true } },
    [MMT_F16] = { "f16", 2, MMT_BF16, MMT_F32, MMT_F16, BIT(MMT_F32) | BIT(MMT_F16),
                  1, MMT_F16, { 5, 10, true } },
    [MMT_TF32] = { "tf32", 4, MMT_TF32, MMT_F32, MMT_F32, BIT(MMT_F32), 1, MMT_TF32, { 8, 10, true } },
    [MMT_F8E4M3] = { "f8e4m3", 1, MMT_F8E4M3, MMT_F32, MMT_BF16, BIT(MMT_F32) | BIT(MMT_BF16) | BIT(MMT_F16),
                     1, MMT_F8E4M3, { 4, 3, false } },
    [MMT_F8E5M2] = { "f8e5m2", 1, MMT_F8E4M3, MMT_F32, MMT_BF16, BIT(MMT_F32) | BIT(MMT_BF16) | BIT(MMT_F16),
                     1, MMT_F8E5M2, { 5, 2, true } },
    [MMT_I8] = { "i8", 1, MMT_F8E4M3, MMT_I32, MMT_I32, BIT(MMT_I32), 1, MMT_I8, { 0 } },
    // clang-format on
};

const char *mmt_type_name(mmt_type type)
{
    return (unsigned) type < MMT_NUM_TYPES ? types[type].name : "";
}

int mmt_type_parse(const char *name)
{
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        if (!strcmp(types[i].name, name))
            return i;
    return -1;
}

void mmt_type_list(unsigned set, struct mmt_text *text)
{
    const char *before = "";
    for (int i = 0; i < MMT_NUM_TYPES; i++) {
        if (!mmt_type_in((mmt_type) i, set))
            continue;
        set &= ~BIT(i);
        mmt_text_addf(text, "%s%s", before, types[i].name);
        before = set & (set - 1) ? ", " : " and ";
    }
}

size_t mmt_type_size(mmt_type type)
{
    return (unsigned) type < MMT_NUM_TYPES ? types[type].size : 0;
}

int mmt_type_slices(mmt_type type)
{
    return types[type].slices;
}

mmt_type mmt_type_slice(mmt_type type)
{
    return types[type].slice;
}

mmt_type mmt_type_family(mmt_type type)
{
    return types[type].family;
}

struct mmt_type_format mmt_type_format(mmt_type type)
{
    return types[type].format;
}

mmt_type mmt_type_scalar(mmt_type type)
{
    return types[type].scalar;
}

unsigned mmt_type_outputs(mmt_type type)
{
    return types[type].outputs;
}

mmt_type mmt_type_own_output(mmt_type type)
{
    return types[type].own_output;
}

bool mmt_type_has_choice(mmt_type type)
{
    return types[type].outputs & (types[type].outputs - 1);
}

/* ---- words of a problem ------------------------------------------------------------ */

static const char *const biases[MMT_NUM_BIASES] = { "none", "row", "column" };
static const char *const activations[MMT_NUM_ACTIVATIONS] = { "none", "relu", "gelu",
                                                              "gelu_tanh", "silu" };
static const char *const batch_bys[MMT_NUM_BATCH_BYS] = { "stride", "pointers" };

const char *mmt_bias_name(mmt_bias bias)
{
    return biases[bias];
}

const char *mmt_activation_name(mmt_activation activation)
{
    return activations[activation];
}

int mmt_bias_parse(const char *name)
{
    return mmt_near_place(name, biases, MMT_NUM_BIASES);
}

int mmt_activation_parse(const char *name)
{
    return mmt_near_place(name, activations, MMT_NUM_ACTIVATIONS);
}

const char *mmt_batch_by_name(mmt_batch_by batch_by)
{
    return batch_bys[batch_by];
}

int mmt_batch_by_parse(const char *name)
{
    return mmt_near_place(name, batch_bys, MMT_NUM_BATCH_BYS);
}
