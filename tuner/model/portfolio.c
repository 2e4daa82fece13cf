/* The few kernels that are worth keeping: mmt_fit_choose of fit.h. */
#include <math.h>
#include <string.h>

#include "tuner/model/fit.h"

/* A kernel that gains less than that part of the mean time is not worth keeping. */
static const double slack = 0;

/* No loss counts for more: whatever else is bad is as bad as that. A problem that is not
 * served is worse. */
static const double most_loss = 3, unserved = 30;

struct choice {
    const double *times, *best;
    int rows, cols;
    int *chosen, count;
};

static double loss(const struct choice *choice, int row, int col)
{
    const double time =
        choice->times[(size_t) row * (size_t) choice->cols + (size_t) col];
    return isinf(time) ? unserved : fmin(time / choice->best[col] - 1, most_loss);
}

/* Of the chosen with `extra` (-1: none) in the place of `instead` (-1: besides them). */
static double mean_loss(const struct choice *choice, int extra, int instead)
{
    double sum = 0;
    for (int col = 0; col < choice->cols; col++) {
        double least = extra < 0 ? unserved : loss(choice, extra, col);
        for (int i = 0; i < choice->count; i++)
            if (i != instead)
                least = fmin(least, loss(choice, choice->chosen[i], col));
        sum += least;
    }
    return sum / choice->cols;
}

static bool is_chosen(const struct choice *choice, int row)
{
    int i = 0;
    while (i < choice->count && choice->chosen[i] != row)
        i++;
    return i < choice->count;
}

/* The row that helps most in the place of `instead`; -1 where none helps. */
static int find_best(const struct choice *choice, int instead, double *mean)
{
    int best = -1;
    for (int row = 0; row < choice->rows; row++) {
        const double with =
            is_chosen(choice, row) ? INFINITY : mean_loss(choice, row, instead);
        if (with < *mean - slack || (best >= 0 && with < *mean))
            best = row, *mean = with;
    }
    return best;
}

static void grow(struct choice *choice, int most, double *mean)
{
    while (choice->count < most) {
        const int row = find_best(choice, -1, mean);
        if (row < 0)
            return;
        choice->chosen[choice->count++] = row;
    }
}

/* Puts others in the places of some; false where no exchange helps. */
static bool exchange(struct choice *choice, double *mean)
{
    bool any = false;
    for (int i = 0; i < choice->count; i++) {
        const int row = find_best(choice, i, mean);
        if (row >= 0)
            choice->chosen[i] = row, any = true;
    }
    return any;
}

int mmt_fit_choose(const double *times, const double *best, int rows, int cols, int most,
                   int *chosen)
{
    enum { ROUNDS = 4 };
    struct choice choice = { times, best, rows, cols, chosen, 0 };
    double mean = INFINITY;
    grow(&choice, most, &mean);
    for (int i = 0; i < ROUNDS && exchange(&choice, &mean); i++)
        ;
    return choice.count;
}

/* ---- what it serves ---------------------------------------------------------------- */

static void drop_partial(struct mmt_profile *profile, const mmt_problem *kind)
{
    const mmt_type family = mmt_type_family(kind->type);
    const uint64_t bit = mmt_kind_bit(kind);
    int right = 0, possible = 0;
    for (size_t i = 0; i < profile->num_kept; i++) {
        const struct mmt_kept *kept = &profile->kept[i];
        if (kept->family != family ||
            !mmt_config_suits(&kept->config, kind, &profile->caps))
            continue;
        right += (kept->right & bit) != 0;
        possible++;
    }
    for (size_t i = 0; i < profile->num_kept && 4 * right < 3 * possible; i++)
        if (profile->kept[i].family == family)
            profile->kept[i].right &= ~bit;
}

void mmt_fit_drop_partial(struct mmt_profile *profile)
{
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        for (int transposes = 0; transposes < 4; transposes++) {
            mmt_problem kind = mmt_gemm_problem((mmt_type) type, 64, 64, 64);
            kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
            if (!mmt_problem_normalise(&kind, &kind, NULL))
                drop_partial(profile, &kind);
        }
}
