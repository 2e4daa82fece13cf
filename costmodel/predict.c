/* How a model corrects what the law of time expects (costmodel.h). */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"

/* The features, which profiles/trees.c names. Sizes and counts by their binary
 * logarithms, where 0 stands for 0 and 1. */
enum {
    M,
    N,
    K,
    BATCH,
    ESTIMATE,
    BLOCKS,   /* of the busiest multiprocessor */
    FULLNESS, /* blocks of the average one, by those of the busiest */
    GRID,     /* blocks by multiprocessors */
    STEPS,
    BYTES,
    WORKSPACE,
    LAUNCHES,
    TILE_M,
    TILE_N,
    FILLING, /* of C's tiles, by C */
    THREADS,
    SHARED,
    FIT,
    ALIGNMENT, /* 0 of all, 1 of all but C, 2 of none */
    TRANS_A,
    TRANS_B,
    TYPE,
    TEMPLATE, /* its place in the list */
    STAGES,
    SPLITS, /* of k, that run concurrently */
    CLUSTER,
    NUM_FEATURES,
};
_Static_assert((int) NUM_FEATURES == (int) MMT_NUM_FEATURES, "profile.h counts them");

static float log_of(double size)
{
    return size > 1 ? (float) log2(size) : 0;
}

static int place_of(const struct mmt_template *template)
{
    int place = 0;
    while (mmt_templates[place] != template)
        place++;
    return place;
}

static double tiles_along(int64_t size, int tile)
{
    return (double) ((size + tile - 1) / tile);
}

static void set_features(const struct mmt_bound *bound, const struct mmt_load *load,
                         double estimate, float features[MMT_NUM_FEATURES])
{
    const struct mmt_config *resolved = &bound->config;
    const mmt_problem *problem = bound->problem;
    const struct mmt_caps *caps = bound->caps;
    const struct mmt_tile tile = resolved->template->tile(resolved->values, problem);
    const struct mmt_work work = mmt_config_work(resolved, problem->type);
    const double sms = caps->sms ? caps->sms : 1, grid = load->grid / sms;
    const double area = tiles_along(problem->m, tile.m) * tile.m *
                        (tiles_along(problem->n, tile.n) * tile.n);

    features[M] = log_of((double) problem->m);
    features[N] = log_of((double) problem->n);
    features[K] = log_of((double) problem->k);
    features[BATCH] = log_of((double) problem->batch);
    features[ESTIMATE] = log_of(estimate);
    features[BLOCKS] = log_of(load->blocks);
    features[FULLNESS] = (float) (grid / fmax(ceil(grid), 1));
    features[GRID] = (float) log2(fmax(grid, 1e-3));
    features[STEPS] = log_of(load->steps);
    features[BYTES] = log_of(load->bytes);
    features[WORKSPACE] = log_of(load->workspace);
    features[LAUNCHES] = (float) load->launches;
    features[TILE_M] = (float) tile.m;
    features[TILE_N] = (float) tile.n;
    features[FILLING] = (float) ((double) problem->m * (double) problem->n / area);
    features[THREADS] = (float) load->threads;
    features[SHARED] = (float) load->shared;
    features[FIT] = (float) load->fit;
    features[ALIGNMENT] = load->unaligned ? 2 : load->c_unaligned ? 1 : 0;
    features[TRANS_A] = problem->trans_a != 0;
    features[TRANS_B] = problem->trans_b != 0;
    features[TYPE] = (float) problem->type;
    features[TEMPLATE] = (float) place_of(resolved->template);
    features[STAGES] = (float) work.stages;
    features[SPLITS] = log_of(work.splits);
    features[CLUSTER] = (float) work.cluster;
}

struct mmt_view mmt_cost_view(const struct mmt_bound *bound)
{
    const struct mmt_load load = mmt_cost_load(bound);
    const double estimate = mmt_cost_estimate_load(bound, &load);
    struct mmt_view view = { .estimate = estimate };
    set_features(bound, &load, estimate, view.features);
    return view;
}

static int leaf_of(const struct mmt_tree *tree, const float features[MMT_NUM_FEATURES])
{
    int leaf = 0;
    for (int i = 0; i < MMT_TREE_DEPTH; i++)
        leaf |= (features[tree->feature[i]] > tree->above[i]) << i;
    return leaf;
}

double mmt_cost_correction(const struct mmt_model *model, const struct mmt_view *view)
{
    float features[MMT_NUM_FEATURES];
    double sum = 0;
    memcpy(features, view->features, sizeof features);
    features[TYPE] = model->type_at[(int) view->features[TYPE]];
    features[TEMPLATE] = model->template_at[(int) view->features[TEMPLATE]];
    for (int i = 0; i < model->num_trees; i++)
        sum += (double) model->trees[i].leaf[leaf_of(&model->trees[i], features)];
    return sum;
}
