/* What devices can that need not be there. */
#ifndef MMT_TESTS_CAPS_H
#define MMT_TESTS_CAPS_H

#include <stdint.h>
#include <string.h>

#include "base/caps.h"

/* A large GPU of no particular kind. */
static inline struct mmt_caps gpu_caps(void)
{
    return (struct mmt_caps){
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .f64 = true,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .max_grid = { INT32_MAX, 65535, 65535 },
        .shared = 232448,
        .shared_per_sm = 233472,
        .registers = 65536,
        .registers_per_thread = 255,
        .registers_per_sm = 65536,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .sms = 132,
        .warp = 32,
    };
}

/* An H200 with so many multiprocessors. */
static inline struct mmt_caps hopper_caps(unsigned sms)
{
    struct mmt_caps caps = gpu_caps();
    strcpy(caps.backend, "cuda");
    strcpy(caps.architecture, "sm_90a");
    caps.sm = 90;
    caps.sms = sms;
    caps.cache = 50 << 20;
    caps.memory = 141000000000;
    caps.clock_khz = 1980000;
    caps.memory_rate = 4916736000000;
    return caps;
}

/* Two cores with such vectors, by OpenCL. */
static inline struct mmt_caps cpu_caps(unsigned vector_bytes)
{
    return (struct mmt_caps){
        .dialect = MMT_OPENCL_C,
        .kind = MMT_CPU,
        .f64 = true,
        .max_threads = 4096,
        .max_block = { 4096, 4096, 4096 },
        .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX },
        .shared = 1 << 20,
        .sms = 2,
        .warp = 1,
        .vector_bytes = vector_bytes,
        .cache = 32 << 20,
    };
}

#endif
