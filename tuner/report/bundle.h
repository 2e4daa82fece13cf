/* What a bundle is said to be. */
#ifndef MMT_TUNER_REPORT_BUNDLE_H
#define MMT_TUNER_REPORT_BUNDLE_H

#include "bundle/bundle.h"

/* Prints on stdout the manifest, for people or as it is: devices, architectures,
 * problems, kernels with sizes and hashes. MMT_ERROR_FORMAT where a part is damaged. */
mmt_status mmt_bundle_show(const struct mmt_bundle *bundle, bool json, mmt_error *err);

#endif
