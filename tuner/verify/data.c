/* Fills memory with pseudo-random elements that their place alone decides. */
#include <string.h>

#include "tuner/verify/data.h"

/* SplitMix64: an odd step, then a mix in which every bit of the input moves all of the
 * output. */
uint64_t mmt_data_noise(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From -limit to limit: the upper half of the noise, scaled down to the range. The lower
 * half says whether it is made 0. */
static int whole_number(const struct mmt_data *data, uint64_t index)
{
    uint64_t noise = mmt_data_noise(data->seed, index);
    if ((double) (uint32_t) noise < data->zeros * 0x1p32)
        return 0;
    return (int) (((noise >> 32) * (uint64_t) (2 * data->whole + 1)) >> 32) - data->whole;
}

/* 32 bits of noise: enough for every type but f64. */
static int32_t bits_at(const struct mmt_data *data, uint64_t index)
{
    return (int32_t) (mmt_data_noise(data->seed, index) >> 32);
}

static void fill_whole(const struct mmt_data *data, uint64_t first, void *elements,
                       size_t count)
{
    size_t size = mmt_type_size(data->type);
    for (size_t i = 0; i < count; i++)
        mmt_number_write(data->type, whole_number(data, first + i),
                         (char *) elements + i * size);
}

static void fill_f32(const struct mmt_data *data, uint64_t first, float *out,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float) bits_at(data, first + i) * 0x1p-31f;
}

static void fill_f64(const struct mmt_data *data, uint64_t first, double *out,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (double) (int64_t) mmt_data_noise(data->seed, first + i) * 0x1p-63;
}

static void fill_i32(const struct mmt_data *data, uint64_t first, int32_t *out,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = bits_at(data, first + i);
}

static void fill_i8(const struct mmt_data *data, uint64_t first, int8_t *out,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (int8_t) (bits_at(data, first + i) >> 24);
}

static void fill_rounded(const struct mmt_data *data, uint64_t first, void *elements,
                         size_t count)
{
    size_t size = mmt_type_size(data->type);
    for (size_t i = 0; i < count; i++)
        mmt_number_write(data->type, bits_at(data, first + i) * 0x1p-31,
                         (char *) elements + i * size);
}

static void compute_elements(const struct mmt_data *data, uint64_t first, void *elements,
                             size_t count)
{
    if (data->whole)
        fill_whole(data, first, elements, count);
    else if (data->type == MMT_F32)
        fill_f32(data, first, elements, count);
    else if (data->type == MMT_F64)
        fill_f64(data, first, elements, count);
    else if (data->type == MMT_I32)
        fill_i32(data, first, elements, count);
    else if (data->type == MMT_I8)
        fill_i8(data, first, elements, count);
    else
        fill_rounded(data, first, elements, count);
}

void mmt_data_fill(const struct mmt_data *data, uint64_t first, void *elements,
                   size_t count)
{
    size_t size = mmt_type_size(data->type), start = first % MMT_DATA_PERIOD;
    size_t whole = count < MMT_DATA_PERIOD ? count : MMT_DATA_PERIOD;
    size_t head = whole < MMT_DATA_PERIOD - start ? whole : MMT_DATA_PERIOD - start;
    char *out = elements;

    compute_elements(data, start, out, head);
    compute_elements(data, 0, out + head * size, whole - head);
    for (size_t done = whole; done < count; done += whole) {
        size_t now = count - done < whole ? count - done : whole;
        memcpy(out + done * size, out, now * size);
    }
}
