#include "studies/papers.h"

#include <stdbool.h>
#include <string.h>

static const struct mmt_paper_row rows[] = {
#include "studies/papers.inc"
};

enum { NUM_ROWS = sizeof rows / sizeof *rows };

const struct mmt_paper_row *mmt_paper_rows(int *count)
{
    *count = NUM_ROWS;
    return rows;
}

static bool fits_word(const char *word, const char *wanted)
{
    return !wanted || !strcmp(word, wanted);
}

const struct mmt_paper_row *mmt_paper_find(const struct mmt_paper_row *wanted)
{
    for (int i = 0; i < NUM_ROWS; i++)
        if (fits_word(rows[i].paper, wanted->paper) &&
            fits_word(rows[i].where, wanted->where) &&
            fits_word(rows[i].device, wanted->device) &&
            fits_word(rows[i].api, wanted->api) && rows[i].type == wanted->type &&
            fits_word(rows[i].algorithm, wanted->algorithm) &&
            fits_word(rows[i].variant, wanted->variant) &&
            (!wanted->n || rows[i].n == wanted->n))
            return &rows[i];
    return NULL;
}
