/* A model's trees in JSON: each an array of MMT_TREE_DEPTH pairs of feature and bound,
 * one after the other, and then its leaves, in thousandths. */
#include "profiles/fields.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { NUMBERS = 2 * MMT_TREE_DEPTH + MMT_TREE_LEAVES };

static const double leaf_unit = 1e-3;

/* Numbers of a tree, which the caller has checked. */
static void take_tree(const double numbers[NUMBERS], struct mmt_tree *tree)
{
    for (int i = 0; i < MMT_TREE_DEPTH; i++) {
        tree->feature[i] = (int) numbers[2 * i];
        tree->above[i] = (float) numbers[2 * i + 1];
    }
    for (int i = 0; i < MMT_TREE_LEAVES; i++)
        tree->leaf[i] = (float) (numbers[2 * MMT_TREE_DEPTH + i] * leaf_unit);
}

static bool is_feature(double number)
{
    return number >= 0 && number < MMT_NUM_FEATURES && number == floor(number);
}

/* A factor of e^10 is no correction. */
static bool is_leaf(double number)
{
    return fabs(number * leaf_unit) <= 10;
}

static mmt_status read_tree(const struct mmt_place *at, struct mmt_tree *tree)
{
    double numbers[NUMBERS];
    if (!json_is_array(at->value) || json_array_size(at->value) != NUMBERS)
        return mmt_place_wrong(at, "an array of 42 numbers");
    for (size_t i = 0; i < NUMBERS; i++) {
        struct mmt_place item = *at;
        const bool bounds = i < 2 * MMT_TREE_DEPTH, names = bounds && i % 2 == 0;
        item.value = json_array_get(at->value, i);
        numbers[i] = json_number_value(item.value);
        if (!json_is_number(item.value) || !(fabs(numbers[i]) <= FLT_MAX))
            return mmt_place_wrong(&item, "a number");
        if (names && !is_feature(numbers[i]))
            return mmt_place_wrong(&item, "the number of a feature, 0 to 25");
        if (!bounds && !is_leaf(numbers[i]))
            return mmt_place_wrong(&item, "from -10000 to 10000");
    }
    take_tree(numbers, tree);
    return MMT_OK;
}
_Static_assert(NUMBERS == 42 && MMT_NUM_FEATURES == 26, "as the messages say");

mmt_status mmt_read_trees(const struct mmt_place *at, void *to)
{
    struct mmt_model *model = to;
    const size_t count = json_array_size(at->value);
    mmt_status status = MMT_OK;
    if (!json_is_array(at->value) || count > MMT_MOST_TREES)
        return mmt_place_wrong(at, "an array of at most 160 trees");
    for (size_t i = 0; i < count && !status; i++) {
        struct mmt_place item = *at;
        item.value = json_array_get(at->value, i);
        status = read_tree(&item, &model->trees[i]);
    }
    model->num_trees = (int) count;
    return status;
}
_Static_assert(MMT_MOST_TREES == 160, "as the message says");

static json_t *write_tree(const struct mmt_tree *tree)
{
    json_t *array = json_array();
    for (int i = 0; i < MMT_TREE_DEPTH; i++) {
        json_array_append_new(array, json_integer(tree->feature[i]));
        json_array_append_new(array, json_real(tree->above[i]));
    }
    for (int i = 0; i < MMT_TREE_LEAVES; i++)
        json_array_append_new(array, json_integer(lround(tree->leaf[i] / leaf_unit)));
    return array;
}

json_t *mmt_write_trees(const struct mmt_place *at, const void *from)
{
    const struct mmt_model *model = from;
    json_t *array = json_array();
    (void) at;
    for (int i = 0; i < model->num_trees; i++)
        json_array_append_new(array, write_tree(&model->trees[i]));
    return array;
}
