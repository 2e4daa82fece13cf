/* What is asked of CUDA's driver beside what a plan does. It is opened where the program
 * has loaded it already; nothing here initialises CUDA. */
#ifndef MMT_DROPIN_CUBLAS_DRIVER_H
#define MMT_DROPIN_CUBLAS_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mmt_driver {
    int (*cuCtxGetCurrent)(void **context);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuCtxGetDevice)(int *device);
    int (*cuCtxGetId)(void *context, unsigned long long *id); /* NULL before CUDA 12 */
    int (*cuDeviceGetName)(char *name, int size, int device);
    int (*cuDevicePrimaryCtxGetState)(int device, unsigned *flags, int *active);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuMemcpyAsync)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    int (*cuStreamIsCapturing)(void *stream, int *status);
    int (*cuStreamSynchronize)(void *stream);
    int (*cuEventCreate)(void **event, unsigned flags);
    int (*cuEventRecord)(void *event, void *stream);
    int (*cuEventQuery)(void *event);
    int (*cuEventElapsedTime)(float *milliseconds, void *from, void *to);
};

/* NULL where the process has no driver, yet. Any thread. */
const struct mmt_driver *mmt_driver_open(void);

/* Whether what is put on the stream is captured into a graph, or would spoil a capture.
 */
bool mmt_driver_captures(const struct mmt_driver *driver, void *stream);

#endif
