/* What a paper concludes, beside what was found here: a study prints this table last. */
#ifndef MMT_STUDIES_CLAIMS_H
#define MMT_STUDIES_CLAIMS_H

#include "../tuner/common/table_data.h"

struct mmt_claim {
    const char *paper, *where; /* "semenenko", "Table 1.1" */
    const char *says;          /* "computing hardly takes time beside copying" */
    const char *figure;        /* in the paper, with its unit; "" where it has none */
};

/* Converts from bool: whether it holds. */
enum mmt_verdict { MMT_FAILS, MMT_HOLDS, MMT_WITHIN_NOISE };

/* Whether a figure with a relative noise (NAN: not known) lies between both bounds. */
enum mmt_verdict mmt_claims_judge(double figure, double noise, double least, double most);

/* A table without rows; the caller frees it with mmt_table_free. */
struct mmt_table mmt_claims_start(void);

/* Adds a claim that was measured, or counted, on `device` ("": the host alone). The
 * format gives the figure here, with its unit. */
__attribute__((format(printf, 5, 6))) void mmt_claims_add(struct mmt_table *claims,
                                                          const struct mmt_claim *claim,
                                                          const char *device,
                                                          enum mmt_verdict verdict,
                                                          const char *format, ...);

/* Adds one that was not measured. The format gives the reason. */
__attribute__((format(printf, 4, 5))) void mmt_claims_leave(struct mmt_table *claims,
                                                            const struct mmt_claim *claim,
                                                            const char *device,
                                                            const char *format, ...);

#endif
