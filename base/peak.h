/* What a device computes at most, as its limits tell. */
#ifndef MMT_BASE_PEAK_H
#define MMT_BASE_PEAK_H

#include "base/caps.h"
#include "base/type.h"

/* A device's peak in FLOP/s of a type as its limits tell it (lanes x clock x 2); 0 where
 * they do not. On a CPU, what one vector unit for each core would reach twice over. */
double mmt_derived_peak(const struct mmt_caps *caps, mmt_type type);

/* The same of all that templates do: where wgmma multiplies f32 as six products of bf16
 * and i32 as ten of bytes (its head), those bound it. */
double mmt_derived_roof(const struct mmt_caps *caps, mmt_type type);

#endif
