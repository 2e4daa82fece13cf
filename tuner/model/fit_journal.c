/* Takes the samples that a model is fitted to from a journal: its timed records. */
#include <stdlib.h>

#include "tuner/model/fit.h"
#include "tuner/journal/journal.h"

mmt_status mmt_fit_add_journal(struct mmt_fit_samples *samples,
                               const struct mmt_journal *journal, mmt_error *err)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(journal, &count);
    struct mmt_fit_sample *grown =
        realloc(samples->list, (samples->count + count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu times", count);
    samples->list = grown;
    for (size_t i = 0; i < count; i++)
        if (records[i].result.outcome == MMT_TIMED)
            grown[samples->count++] = (struct mmt_fit_sample){
                .problem = records[i].problem,
                .config = records[i].config,
                .seconds = records[i].result.time.median,
            };
    return MMT_OK;
}
