/* The few kernels that together serve many shapes: mmt_bundle_select of make.h. */
#include <math.h>

#include "tuner/bundle/make.h"

/* No regret counts for more: whatever else is bad is as bad as that. A problem that is
 * not served is worse. */
static const double most_regret = 3, unserved = 30;

struct selection {
    const double *times, *best;
    int rows, cols;
    int *selected, count;
};

static double regret_of(const struct selection *selection, int row, int col)
{
    const double time =
        selection->times[(size_t) row * (size_t) selection->cols + (size_t) col];
    return isinf(time) ? unserved : fmin(time / selection->best[col] - 1, most_regret);
}

/* Of the selected with `extra` (-1: none) in the place of `instead` (-1: besides them).
 */
static double mean_regret(const struct selection *selection, int extra, int instead)
{
    double sum = 0;
    for (int col = 0; col < selection->cols; col++) {
        double least = extra < 0 ? unserved : regret_of(selection, extra, col);
        for (int i = 0; i < selection->count; i++)
            if (i != instead)
                least = fmin(least, regret_of(selection, selection->selected[i], col));
        sum += least;
    }
    return sum / selection->cols;
}

static bool is_selected(const struct selection *selection, int row)
{
    int i = 0;
    while (i < selection->count && selection->selected[i] != row)
        i++;
    return i < selection->count;
}

/* The row that helps most in the place of `instead`; -1 where none helps. */
static int find_best(const struct selection *selection, int instead, double *mean)
{
    int best = -1;
    for (int row = 0; row < selection->rows; row++) {
        const double with =
            is_selected(selection, row) ? INFINITY : mean_regret(selection, row, instead);
        if (with < *mean)
            best = row, *mean = with;
    }
    return best;
}

static void grow(struct selection *selection, int most, double *mean)
{
    while (selection->count < most) {
        const int row = find_best(selection, -1, mean);
        if (row < 0)
            return;
        selection->selected[selection->count++] = row;
    }
}

/* Puts others in the places of some; false where no exchange helps. */
static bool exchange_kernels(struct selection *selection, double *mean)
{
    bool any = false;
    for (int i = 0; i < selection->count; i++) {
        const int row = find_best(selection, i, mean);
        if (row >= 0)
            selection->selected[i] = row, any = true;
    }
    return any;
}

int mmt_bundle_select(const double *times, const double *best, int rows, int cols,
                      int most, int *selected)
{
    enum { ROUNDS = 4 };
    struct selection selection = { times, best, rows, cols, selected, 0 };
    double mean = INFINITY;
    grow(&selection, most, &mean);
    for (int i = 0; i < ROUNDS && exchange_kernels(&selection, &mean); i++)
        ;
    return selection.count;
}
