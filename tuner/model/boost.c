/* Fits the boosted trees that correct the law of time; knows features and targets, no
 * kernels. */
#include "tuner/model/boost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BINS = 32, LEAVES = MMT_TREE_LEAVES };

/* A tree is believed by that much; a leaf of so many samples by half. */
static const double rate = 0.3, doubt = 4;

/* A gain below that part of what is left is none. */
static const double least_gain = 1e-7;

/* Profiles hold thousandths. */
static const double leaf_unit = 1e-3;

/* What is left of a leaf's samples: weights, and weights times what is left of each. */
struct sums {
    double weight, left;
};

struct boost {
    const struct mmt_boost_sample *samples;
    int count;
    float bounds[MMT_NUM_FEATURES][MOST_BINS - 1]; /* rising */
    int num_bounds[MMT_NUM_FEATURES];
    unsigned char *bins; /* [feature * count + sample]: bounds that it is above */
    double *left;        /* of each sample: what no tree explains yet */
    unsigned char *leaf; /* of each sample, in the tree that grows */
};

static int by_size(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Bounds between values, so that each bin has about as many samples. */
static void find_bounds(struct boost *b, int feature, float *values)
{
    for (int i = 0; i < b->count; i++)
        values[i] = b->samples[i].view.features[feature];
    qsort(values, (size_t) b->count, sizeof *values, by_size);
    b->num_bounds[feature] = 0;
    for (int bin = 1; bin < MOST_BINS; bin++) {
        int at = (int) ((int64_t) b->count * bin / MOST_BINS);
        while (at < b->count && at > 0 && values[at] == values[at - 1])
            at++;
        if (at <= 0 || at >= b->count)
            continue;
        const float bound = (values[at - 1] + values[at]) / 2;
        const int known = b->num_bounds[feature];
        if (bound >= values[at] || (known && bound <= b->bounds[feature][known - 1]))
            continue;
        b->bounds[feature][b->num_bounds[feature]++] = bound;
    }
}

static void fill_bins(struct boost *b, int feature)
{
    unsigned char *bins = b->bins + (size_t) feature * (size_t) b->count;
    for (int i = 0; i < b->count; i++) {
        const float value = b->samples[i].view.features[feature];
        int bin = 0;
        while (bin < b->num_bounds[feature] && value > b->bounds[feature][bin])
            bin++;
        bins[i] = (unsigned char) bin;
    }
}

static void finish_boost(struct boost *b)
{
    free(b->bins);
    free(b->left);
    free(b->leaf);
}

static bool prepare_boost(struct boost *b, const struct mmt_boost_sample *samples,
                          int count)
{
    const size_t all = (size_t) count;
    float *values = malloc(all * sizeof *values);
    *b = (struct boost){ .samples = samples, .count = count };
    b->bins = malloc(all * MMT_NUM_FEATURES);
    b->left = malloc(all * sizeof *b->left);
    b->leaf = malloc(all);
    const bool good = values && b->bins && b->left && b->leaf;
    for (int f = 0; good && f < MMT_NUM_FEATURES; f++) {
        find_bounds(b, f, values);
        fill_bins(b, f);
    }
    for (int i = 0; good && i < count; i++)
        b->left[i] = samples[i].target;
    free(values);
    return good;
}

/* What is explained where a leaf's samples get one value. */
static double score_of_sums(const struct sums *sums)
{
    return sums->left * sums->left / (sums->weight + doubt);
}

static void collect_sums(const struct boost *b, int feature, int leaves,
                         struct sums sums[LEAVES][MOST_BINS])
{
    const unsigned char *bins = b->bins + (size_t) feature * (size_t) b->count;
    memset(sums, 0, (size_t) leaves * sizeof *sums);
    for (int i = 0; i < b->count; i++) {
        struct sums *to = &sums[b->leaf[i]][bins[i]];
        to->weight += b->samples[i].weight;
        to->left += b->samples[i].weight * b->left[i];
    }
}

/* What asking for each bound would explain, all leaves asked alike. */
static double best_bound(struct sums sums[LEAVES][MOST_BINS], int leaves, int bounds,
                         int *best)
{
    double explained[MOST_BINS] = { 0 }, most = -1;
    for (int leaf = 0; leaf < leaves; leaf++) {
        struct sums all = { 0 }, below = { 0 };
        for (int bin = 0; bin <= bounds; bin++)
            all.weight += sums[leaf][bin].weight, all.left += sums[leaf][bin].left;
        for (int bin = 0; bin < bounds; bin++) {
            below.weight += sums[leaf][bin].weight, below.left += sums[leaf][bin].left;
            const struct sums above = { all.weight - below.weight,
                                        all.left - below.left };
            explained[bin] += score_of_sums(&below) + score_of_sums(&above);
        }
    }
    for (int bin = 0; bin < bounds; bin++)
        if (explained[bin] > most)
            most = explained[bin], *best = bin;
    return most;
}

/* One more level: what explains most. */
static double deepen_tree(struct boost *b, int level, struct mmt_tree *tree)
{
    struct sums sums[LEAVES][MOST_BINS];
    const int leaves = 1 << level;
    double most = -1;
    int bound = 0, feature = 0;
    for (int f = 0; f < MMT_NUM_FEATURES; f++) {
        int at = 0;
        collect_sums(b, f, leaves, sums);
        const double explained = best_bound(sums, leaves, b->num_bounds[f], &at);
        if (explained > most)
            most = explained, feature = f, bound = at;
    }
    if (most < 0)
        return 0; /* all samples are alike */
    const unsigned char *bins = b->bins + (size_t) feature * (size_t) b->count;
    tree->feature[level] = feature;
    tree->above[level] = b->bounds[feature][bound];
    for (int i = 0; i < b->count; i++)
        b->leaf[i] = (unsigned char) (b->leaf[i] | (bins[i] > bound) << level);
    return most;
}

static void set_leaves(struct boost *b, struct mmt_tree *tree)
{
    struct sums sums[LEAVES] = { 0 };
    for (int i = 0; i < b->count; i++) {
        sums[b->leaf[i]].weight += b->samples[i].weight;
        sums[b->leaf[i]].left += b->samples[i].weight * b->left[i];
    }
    for (int i = 0; i < LEAVES; i++) {
        const double value = rate * sums[i].left / (sums[i].weight + doubt);
        tree->leaf[i] = (float) (round(value / leaf_unit) * leaf_unit);
    }
    for (int i = 0; i < b->count; i++)
        b->left[i] -= (double) tree->leaf[b->leaf[i]];
}

static double loss_of(const struct boost *b)
{
    double sum = 0;
    for (int i = 0; i < b->count; i++)
        sum += b->samples[i].weight * b->left[i] * b->left[i];
    return sum;
}

mmt_status mmt_boost(const struct mmt_boost_sample *samples, int count,
                     struct mmt_model *model, mmt_error *err)
{
    struct boost b;
    model->num_trees = 0;
    if (count <= 0)
        return MMT_OK;
    if (!prepare_boost(&b, samples, count)) {
        finish_boost(&b);
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit a model");
    }
    for (int i = 0; i < MMT_MOST_TREES; i++) {
        struct mmt_tree *tree = &model->trees[i];
        double explained = 0;
        *tree = (struct mmt_tree){ 0 };
        memset(b.leaf, 0, (size_t) count);
        for (int level = 0; level < MMT_TREE_DEPTH; level++)
            explained = deepen_tree(&b, level, tree);
        if (explained <= least_gain * loss_of(&b))
            break;
        set_leaves(&b, tree);
        model->num_trees++;
    }
    finish_boost(&b);
    return MMT_OK;
}
