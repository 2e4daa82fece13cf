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

/* 32 bits of noise are enough for every type but f64. */
static double number_at(const struct mmt_data *data, uint64_t index)
{
    const int64_t noise = (int64_t) mmt_data_noise(data->seed, index);
    const int32_t bits = (int32_t) (noise >> 32);
    if (data->whole)
        return whole_number(data, index);
    return data->type == MMT_F64   ? (double) noise * 0x1p-63
           : data->type == MMT_I32 ? bits
           : data->type == MMT_I8  ? bits >> 24
                                   : bits * 0x1p-31;
}

static void compute_elements(const struct mmt_data *data, uint64_t first, char *elements,
                             size_t count)
{
    const size_t size = mmt_type_size(data->type);
    for (size_t i = 0; i < count; i++)
        mmt_number_write(data->type, number_at(data, first + i), elements + i * size);
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
