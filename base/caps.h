/* What a device can do: the one description of a device that every module may read. */
#ifndef MMT_BASE_CAPS_H
#define MMT_BASE_CAPS_H

#include <stdbool.h>
#include <stddef.h>

/* The languages in which a kernel can be handed to a device. */
enum mmt_dialect { MMT_CUDA_CXX = 1 << 0, MMT_OPENCL_C = 1 << 1 };

enum mmt_kind { MMT_GPU = 1 << 0, MMT_CPU = 1 << 1 };

/* Limits are what one block (work-group) may use unless another scope is named. Figures
 * that a platform does not tell are 0, and nothing is concluded from a 0. */
struct mmt_caps {
    char backend[16];      /* "cuda", "opencl", "null" */
    char name[128];        /* "NVIDIA H200" */
    char vendor[64];       /* "NVIDIA" */
    char architecture[64]; /* "sm_90a" as the compiler names it; OpenCL: device version */
    char driver[64];       /* the driver's version as it prints itself */
    char uuid[40];         /* "0123abcd-…", of this very card; "" where it has none */
    char compiler[64];     /* "nvrtc 13.0"; OpenCL: platform and driver version */
    enum mmt_dialect dialect;
    enum mmt_kind kind;
    int sm;                        /* CUDA: 10 * major + minor, 90 for sm_90; else 0 */
    bool f64;                      /* has double precision at all */
    unsigned max_threads;          /* threads in a block */
    unsigned max_block[3];         /* threads in each dimension of a block */
    unsigned max_grid[3];          /* blocks in each dimension of a grid */
    size_t shared;                 /* bytes of shared memory a block may ask for */
    size_t shared_per_sm;          /* bytes of shared memory a multiprocessor has */
    unsigned registers;            /* 32-bit registers a block may use */
    unsigned registers_per_thread; /* 255 on today's NVIDIA cards */
    unsigned registers_per_sm;
    unsigned threads_per_sm;
    unsigned blocks_per_sm;
    unsigned sms;          /* multiprocessors or compute units */
    unsigned warp;         /* threads that run in step; 1 on a CPU */
    unsigned subgroups;    /* sizes of subgroups that shuffle, powers of two, added up: a
                            * kernel may ask for any of them; 0: none */
    unsigned dpas;         /* the one of them that multiplies matrices; 0: none does */
    unsigned vector_bytes; /* native vector width of a CPU device, bytes */
    size_t cache;          /* last-level cache, bytes */
    size_t memory;         /* device memory, bytes */
    size_t max_buffer;     /* bytes of one buffer */
    unsigned clock_khz;    /* highest clock */
    size_t memory_rate;    /* bytes/s that memory hands out by its clock and the width of
                            * its bus; 0: unknown */
    size_t buffer_align;   /* alignment of every buffer's first byte, bytes */
};

/* Drivers may tell any bytes, or be cut off within a character: what fills in caps ends
 * with this, so that texts are UTF-8 wherever they go. */
void mmt_caps_make_plain(struct mmt_caps *caps);

#endif
