/* NVRTC, NVIDIA's compiler as a library, opened at run time. */
#ifndef MMT_DEVICE_NVRTC_H
#define MMT_DEVICE_NVRTC_H

#include "device/device.h"

struct mmt_nvrtc_functions;

enum { MMT_NVRTC_OPTIONS = 4 };

/* A compiler for one architecture. Immutable and thread-safe once open. */
struct mmt_nvrtc {
    struct mmt_nvrtc_functions *functions;
    int version;           /* 1000 * major + 10 * minor, as CUDA counts */
    bool cubin;            /* makes a cubin; else PTX, which the driver finishes */
    char name[32];         /* "nvrtc 13.0" */
    char architecture[16]; /* "sm_90a", or "compute_90" for PTX */
    char options[MMT_NVRTC_OPTIONS][40];
    int num_options;
};

/* Opens the newest NVRTC of this machine that compiles for devices of compute capability
 * sm / 10 and is not newer than the driver. MMTUNE_NVRTC names one outright. A device
 * that is newer than the compiler gets PTX, and any with `ptx`. MMT_ERROR_UNSUPPORTED,
 * with a sentence, where there is none, or where all are too new for the device. */
mmt_status mmt_nvrtc_open(int sm, bool ptx, struct mmt_nvrtc **out, mmt_error *err);
void mmt_nvrtc_close(struct mmt_nvrtc *nvrtc);

/* See mmt_device_compiler_key and mmt_device_compile. */
void mmt_nvrtc_key(const struct mmt_nvrtc *nvrtc, struct mmt_text *key);
mmt_status mmt_nvrtc_compile(const struct mmt_nvrtc *nvrtc, const char *source,
                             struct mmt_binary *binary, mmt_error *err);

#endif
