/* Filling the caller's mmt_error. */
#ifndef MMT_BASE_ERROR_H
#define MMT_BASE_ERROR_H

#include <mmtune/mmtune.h>

/* Fills err (which may be NULL) and returns status, so that a failure is one line:
 *     return mmt_fail(err, MMT_ERROR_ARGUMENT, "TILE_M is %d; it must be positive", v);
 */
__attribute__((format(printf, 3, 4))) mmt_status mmt_fail(mmt_error *err,
                                                          mmt_status status,
                                                          const char *format, ...);

/* The same with a driver's or the system's own code. */
__attribute__((format(printf, 4, 5))) mmt_status mmt_fail_native(mmt_error *err,
                                                                 mmt_status status,
                                                                 int native,
                                                                 const char *format, ...);

/* MMT_ERROR_ARGUMENT for this one. */
__attribute__((format(printf, 3, 4))) mmt_status mmt_fail_argument(mmt_error *err,
                                                                   mmt_argument argument,
                                                                   const char *format,
                                                                   ...);

/* Adds to a failure that was filled in which argument it is about; returns status. */
mmt_status mmt_blame(mmt_error *err, mmt_status status, mmt_argument argument);

#endif
