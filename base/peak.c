/* Peaks by type: a table of CUDA's cards, and what a CPU's vectors hold. */
#include "base/peak.h"

#include <math.h>

/* FMA lanes of a multiprocessor by compute capability, of the fastest unit that does the
 * type exactly: for f64 on 8.0 and 9.0 that is the tensor cores. Where a generation's
 * cards differ, the fastest counts. A type without units of its own has those of the type
 * that it is turned into: f8 becomes f16, bf16 becomes f32. The table's last row that is
 * not above the card's serves. */
static const struct lanes {
    int sm;
    double f32, f64, i32, bf16, f16, tf32, f8, i8;
} cards[] = {
    { 30, 192, 8, 32, 192, 192, 192, 192, 32 },
    { 35, 192, 64, 32, 192, 192, 192, 192, 32 },
    { 50, 128, 4, 42, 128, 128, 128, 128, 42 },
    { 60, 64, 32, 21, 64, 128, 64, 128, 21 },
    { 61, 128, 4, 42, 128, 128, 128, 128, 512 },
    { 70, 64, 32, 64, 64, 512, 64, 512, 256 },
    { 75, 64, 2, 64, 64, 512, 64, 512, 1024 },
    { 80, 64, 64, 64, 1024, 1024, 512, 1024, 2048 },
    { 86, 128, 2, 64, 512, 512, 256, 512, 1024 },
    { 89, 128, 2, 64, 512, 512, 256, 1024, 1024 },
    { 90, 128, 128, 64, 2048, 2048, 1024, 4096, 4096 },
    { 100, 128, 64, 128, 4096, 4096, 2048, 8192, 8192 },
    { 103, 128, 2, 128, 4096, 4096, 2048, 8192, 256 },
    { 120, 128, 2, 128, 512, 512, 256, 1024, 1024 },
};

_Static_assert(MMT_NUM_TYPES == 9, "every type has units in lanes_of");
static double lanes_of(const struct lanes *card, mmt_type type)
{
    const double lanes[MMT_NUM_TYPES] = {
        [MMT_F32] = card->f32,   [MMT_F64] = card->f64,   [MMT_I32] = card->i32,
        [MMT_BF16] = card->bf16, [MMT_F16] = card->f16,   [MMT_TF32] = card->tf32,
        [MMT_F8E4M3] = card->f8, [MMT_F8E5M2] = card->f8, [MMT_I8] = card->i8,
    };
    return lanes[type];
}

static double cuda_peak(const struct mmt_caps *caps, mmt_type type)
{
    const struct lanes *card = NULL;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (cards[i].sm <= caps->sm)
            card = &cards[i];
    if (!card)
        return 0;
    return lanes_of(card, type) * 2 * caps->sms * caps->clock_khz * 1e3;
}

double mmt_derived_peak(const struct mmt_caps *caps, mmt_type type)
{
    if (type == MMT_F64 && !caps->f64)
        return 0;
    if (caps->sm)
        return cuda_peak(caps, type);
    if (caps->kind == MMT_CPU)
        return 4.0 * caps->vector_bytes / (double) mmt_type_size(mmt_type_scalar(type)) *
               caps->sms * caps->clock_khz * 1e3;
    return 0;
}

double mmt_derived_roof(const struct mmt_caps *caps, mmt_type type)
{
    double peak = mmt_derived_peak(caps, type);
    if (type == MMT_F32 && caps->sm == 90)
        peak = fmax(peak, mmt_derived_peak(caps, MMT_BF16) / 6);
    if (type == MMT_I32 && caps->sm == 90)
        peak = fmax(peak, mmt_derived_peak(caps, MMT_I8) / 10);
    return peak;
}
