/* One computation in the phases that the papers time: allocate, host to device, kernel,
 * device to host.
 *
 * Allocating ends when each buffer has been written to, a few bytes that are waited for:
 * CUDA has a buffer's memory when it is allocated, but some OpenCL devices only when it
 * is used first, and would have that in the time of the copy or, for C, of the kernel. A
 * CPU gives memory page by page all the same, as it is touched. */
#ifndef MMT_STUDIES_PHASES_H
#define MMT_STUDIES_PHASES_H

#include <mmtune/mmtune.h>

/* Seconds, means over the repetitions. The host's clock for all; the kernel by the
 * device's own marks too. */
struct mmt_phases {
    double allocate, write, kernel, read;
    double total; /* from the first copy until C has been read: write, kernel and read */
    double marks; /* of the kernel, by the device */
    double spread, marks_spread; /* standard deviations of the total and of the marks over
                                  * their means; NAN for one run */
    int repetitions;
};

/* What is computed: inputs and output on the host. An input of 0 bytes is not there. */
struct mmt_phases_data {
    const void *a, *b;
    void *c;
    size_t bytes_a, bytes_b, bytes_c;
    double beta; /* 0 for a product; 1 for a sum of two arrays */
};

/* Runs the plan `repetitions` times with all phases, after one run that is not counted,
 * or at least once and until `seconds` have passed (0: no limit). C is that of the last.
 */
mmt_status mmt_phases_run(mmt_device *device, const mmt_plan *plan,
                          const struct mmt_phases_data *data, int repetitions,
                          double seconds, struct mmt_phases *out, mmt_error *err);

/* Two standard errors of the mean of runs with this spread, over the mean; NAN for one.
 */
double mmt_phases_noise(double spread, int repetitions);

/* Why the kernel's time cannot be right on any device; "" where nothing is wrong. */
const char *mmt_phases_doubt(const struct mmt_phases *phases);

#endif
