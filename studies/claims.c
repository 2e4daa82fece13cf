/* Collects a paper's conclusions with what was found here, as the rows of one table. */
#include "claims.h"

#include <math.h>
#include <stdarg.h>

enum { PAPER, PLACE, SAYS, THEIRS, DEVICE, OURS, VERDICT, REASON, NUM };

static const struct mmt_column columns[NUM] = {
    [PAPER] = { "paper", "" },     [PLACE] = { "place", "" },
    [SAYS] = { "claim", "" },      [THEIRS] = { "figure in the paper", "" },
    [DEVICE] = { "device", "" },   [OURS] = { "figure here", "" },
    [VERDICT] = { "verdict", "" }, [REASON] = { "reason", "" },
};

struct mmt_table mmt_claims_start(void)
{
    return mmt_table_start("claims: what the paper concludes, and whether it holds here",
                           columns, NUM);
}

static void add_judged(struct mmt_table *claims, const struct mmt_claim *claim,
                       const char *device, const char *ours, const char *verdict,
                       const char *reason)
{
    const struct mmt_cell row[NUM] = {
        [PAPER] = MMT_WORD(claim->paper), [PLACE] = MMT_WORD(claim->where),
        [SAYS] = MMT_WORD(claim->says),   [THEIRS] = MMT_WORD(claim->figure),
        [DEVICE] = MMT_WORD(device),      [OURS] = MMT_WORD(ours),
        [VERDICT] = MMT_WORD(verdict),    [REASON] = MMT_WORD(reason),
    };
    mmt_table_add(claims, row);
}

enum mmt_verdict mmt_claims_judge(double figure, double noise, double least, double most)
{
    double off = isnan(noise) ? 0 : noise * figure;
    if (figure - off >= least && figure + off <= most)
        return MMT_HOLDS;
    return figure + off < least || figure - off > most ? MMT_FAILS : MMT_WITHIN_NOISE;
}

void mmt_claims_add(struct mmt_table *claims, const struct mmt_claim *claim,
                    const char *device, enum mmt_verdict verdict, const char *format, ...)
{
    static const char *const verdicts[] = { "does not hold", "holds",
                                            "within the noise" };
    char ours[256];
    va_list list;

    va_start(list, format);
    vsnprintf(ours, sizeof ours, format, list);
    va_end(list);
    add_judged(claims, claim, device, ours, verdicts[verdict], "");
}

void mmt_claims_leave(struct mmt_table *claims, const struct mmt_claim *claim,
                      const char *device, const char *format, ...)
{
    char reason[256];
    va_list list;

    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    add_judged(claims, claim, device, "", "not measured", reason);
}
