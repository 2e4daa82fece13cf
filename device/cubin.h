/* A cubin, NVIDIA's ELF file of compiled kernels: what it says about one of them, and
 * what ptxas leaves undone in its machine code. */
#ifndef MMT_DEVICE_CUBIN_H
#define MMT_DEVICE_CUBIN_H

#include "device/device.h"

/* Whether these bytes are an ELF file at all; PTX is text. */
bool mmt_cubin_is(const void *data, size_t size);

/* False where the file has no kernel of that name or is damaged. */
bool mmt_cubin_usage(const void *data, size_t size, const char *entry,
                     struct mmt_usage *out);

/* Double-precision FMAs read three pairs of registers, and the register file of
 * compute capability 9.0 gives two in the time. The third can be kept from the
 * instruction before, if that is marked so; but in a run of them ptxas lets another warp
 * go first every 12 cycles, and an instruction that does keeps nothing. Where one
 * multiply-add follows another, at most a load from shared memory between them, this
 * keeps the warp on and marks the operands that both read. Results are the same, bit for
 * bit (docs/lab/fp32-on-hopper.md, "f64 without tensor cores").
 *
 * NVIDIA documents neither mark. Where they are: Jia, Maggioni, Staiger and Scarpazza,
 * "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, on control
 * information; nvdisasm prints the one, and both were seen to work on an H200. A file
 * that is damaged is left as it is from there on. */
void mmt_cubin_keep_operands(void *data, size_t size);

#endif
