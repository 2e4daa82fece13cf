/* The figures that the papers printed, unchanged, and why some are in
 * doubt. Data alone. */
#include "papers.h"

#include <string.h>

/* ---- why a figure is in doubt ----------------------------------------------------- */

static const struct mmt_doubt digit_lost = {
    MMT_IMPOSSIBLE,
    .time = true,
    .why = "0.36 s would be 0.746 GFLOP/s, where 7.5 is printed",
    .reading = "0.036 s, which fits the rate and the printed ratio 1.2",
};
static const struct mmt_doubt unit_lost = {
    MMT_IMPOSSIBLE,
    .time = true,
    .why = "'0,2' has no unit, and 0.2 s would be 86 GFLOP/s",
    .reading = "0.26 s, cut, which is the printed 66 GFLOP/s and the ratio 2.5",
};
static const struct mmt_doubt rounded = {
    MMT_SURPRISING,
    .why = "t is rounded up here, and cut in most of the paper's rows",
    .reading = "P is the finer of both",
};
static const struct mmt_doubt head_lost = {
    MMT_IMPOSSIBLE,

    .why = "the head of the column is 2560000, a digit short",
    .reading = "25600000, as in Table 1.3: half of the last column's times",
};
static const struct mmt_doubt above_memory = {
    MMT_IMPOSSIBLE,
    .time = true,
    .why = "332 GB/s, where the card's memory has 192; and the head is a digit short",
    .reading = "25600000 elements, and a kernel that was not waited for",
};
static const struct mmt_doubt not_waited = {
    MMT_IMPOSSIBLE,
    .time = true,
    .why = "12288 GB/s, and less time than for 256000 elements",
    .reading = "a kernel that failed, or was not waited for",
};
static const struct mmt_doubt one_tick_read = {
    MMT_DOUBTFUL,
    .time = true,
    .why = "20.5 GB/s, above PCIe 3.0 x16; two ticks of 50 us, a 1 ms clock over 20 runs",
    .reading = "0.10 to 0.15 ms",
};
static const struct mmt_doubt near_noise = {
    MMT_DOUBTFUL,
    .time = true,
    .why = "its sign changes from size to size, and no spread is printed; no multiple of "
           "50 us, so a finer clock than Table 1.1's",
};
static const struct mmt_doubt slow_float = {
    MMT_SURPRISING,
    .why =
        "17 to 36 GFLOP/s in float, under 1 % of the card's peak, and little more than "
        "in double",
    .reading = "a build without optimisation, or reads that do not coalesce",
};
static const struct mmt_doubt one_tick = {
    MMT_DOUBTFUL,
    .time = true,
    .why = "268 GFLOP/s, where larger n have 153 to 155; one tick of a clock of 1 ms",
    .reading = "1 to 2 ms",
};
static const struct mmt_doubt outlier = {
    MMT_DOUBTFUL,
    .time = true,
    .rate = true,
    .why = "56 GFLOP/s of computing, where 4096, 5120 and 7168 have 64 to 65",
    .reading = "8.78 s, although Table 3 was computed from 9.78",
};
static const struct mmt_doubt no_source = {
    MMT_IMPOSSIBLE,
    .rate = true,
    .why = "a second rate for 7168, 4.5 times the other, and no time in Table 2",
    .reading = "2 n^3 / 3.00 s of another program",
};
static const struct mmt_doubt other_kernel = {
    MMT_IMPOSSIBLE,
    .time = true,
    .why = "called a speed-up over the sequential program, but t of the classical kernel "
           "over t of the tiled one, to all digits",
    .reading = "the gain of one kernel over the other; E is that over 128",
};

static const struct mmt_paper_row rows[] = {
#include "papers.inc"
};

enum { NUM_ROWS = sizeof rows / sizeof *rows };

const struct mmt_paper_row *mmt_paper_rows(int *count)
{
    *count = NUM_ROWS;
    return rows;
}

const char *mmt_grade_name(enum mmt_grade grade)
{
    static const char *const names[] = { "surprising", "doubtful", "impossible" };
    return names[grade];
}

const struct mmt_doubt *mmt_paper_time_doubt(const struct mmt_paper_row *row)
{
    return row && row->doubt && row->doubt->time ? row->doubt : NULL;
}

const struct mmt_doubt *mmt_paper_rate_doubt(const struct mmt_paper_row *row)
{
    if (row && row->gflops <= 0)
        return mmt_paper_time_doubt(row);
    return row && row->doubt && row->doubt->rate ? row->doubt : NULL;
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
