/* What CLBlast's own tuners found: the files clblast_xgemm*.json that its programs
 * clblast_tuner_xgemm and clblast_tuner_xgemm_direct write into the folder where they
 * run. */
#ifndef MMT_TUNER_BENCH_CLBLAST_TUNED_H
#define MMT_TUNER_BENCH_CLBLAST_TUNED_H

#include <stddef.h>

#include "base/error.h"

enum { MMT_CLBLAST_MOST = 32 };

/* The best parameters of one kernel. */
struct mmt_clblast_tuned {
    const char *kernel; /* "Xgemm", "XgemmDirect" */
    int precision;      /* bits: 32, 64 */
    size_t count;
    const char *names[MMT_CLBLAST_MOST];
    size_t values[MMT_CLBLAST_MOST];
};

/* Calls `take` for each kernel and precision, once, with the fastest of all that the
 * folder's files say of it. Stops at the first error. A folder without such a file, and a
 * file of another form, are errors. What `take` is handed lives until it returns. */
mmt_status mmt_clblast_tuned_each(const char *folder,
                                  mmt_status (*take)(void *self,
                                                     const struct mmt_clblast_tuned *,
                                                     mmt_error *err),
                                  void *self, mmt_error *err);

#endif
