#include "tuner/data.h"

/* SplitMix64: an odd step, then a mix in which every bit of the input moves all of the
 * output. */
uint64_t mmt_data_noise(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From -limit to limit: the upper half of the noise, scaled down to the range. */
static int whole_number(uint64_t noise, int limit)
{
    return (int) (((noise >> 32) * (uint64_t) (2 * limit + 1)) >> 32) - limit;
}

static void fill_f32(const struct mmt_data *data, uint64_t first, float *out,
                     size_t count)
{
    if (data->whole)
        for (size_t i = 0; i < count; i++)
            out[i] =
                (float) whole_number(mmt_data_noise(data->seed, first + i), data->whole);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (float) (int32_t) (mmt_data_noise(data->seed, first + i) >> 32) *
                     0x1p-31f;
}

static void fill_f64(const struct mmt_data *data, uint64_t first, double *out,
                     size_t count)
{
    if (data->whole)
        for (size_t i = 0; i < count; i++)
            out[i] = whole_number(mmt_data_noise(data->seed, first + i), data->whole);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (double) (int64_t) mmt_data_noise(data->seed, first + i) * 0x1p-63;
}

static void fill_i32(const struct mmt_data *data, uint64_t first, int32_t *out,
                     size_t count)
{
    if (data->whole)
        for (size_t i = 0; i < count; i++)
            out[i] = whole_number(mmt_data_noise(data->seed, first + i), data->whole);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (int32_t) (mmt_data_noise(data->seed, first + i) >> 32);
}

void mmt_data_fill(const struct mmt_data *data, uint64_t first, void *elements,
                   size_t count)
{
    switch (data->type) {
    case MMT_F32:
        fill_f32(data, first, elements, count);
        return;
    case MMT_F64:
        fill_f64(data, first, elements, count);
        return;
    case MMT_I32:
        fill_i32(data, first, elements, count);
        return;
    }
}
