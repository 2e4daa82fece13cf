/* What an H200 can, with so many multiprocessors, for programs that need no card. */
#ifndef MMT_TESTS_SUPPORT_HOPPER_CAPS_H
#define MMT_TESTS_SUPPORT_HOPPER_CAPS_H

#include "base/caps.h"

static inline struct mmt_caps hopper_caps(unsigned sms)
{
    return (struct mmt_caps){
        .architecture = "sm_90a",
        .sm = 90,
        .f64 = true,
        .sms = sms,
        .shared = 232448,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .registers = 65536,
        .registers_per_thread = 255,
        .clock_khz = 1980000,
        .memory_rate = 4916736000000,
    };
}

#endif
