/* A model's names, and its trees in JSON: each an array of MMT_TREE_DEPTH pairs of
 * feature and bound, one after the other, and then its leaves, in thousandths. */
#include "profiles/fields.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* In the order in which costmodel/predict.c has them. */
static const char feature_names[] =
    "m n k batch law blocks fullness grid steps bytes workspace launches tile_m tile_n "
    "filling threads shared fit alignment trans_a trans_b type template stages splits "
    "cluster";

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

/* ---- names ---------------------------------------------------------------------------
 */

static void add_name(const char *name, char *names, size_t size)
{
    const size_t length = strlen(names);
    snprintf(names + length, size - length, "%s%s", length ? " " : "", name);
}

/* The place of a name among those with a space between, UINT8_MAX where it is none. */
static uint8_t place_of(const char *name, const char *names)
{
    const size_t length = strlen(name);
    for (uint8_t place = 0; *names && place < UINT8_MAX; place++) {
        const size_t next = strcspn(names, " ");
        if (next == length && !strncmp(names, name, length))
            return place;
        names += next + (names[next] == ' ');
    }
    return UINT8_MAX;
}

static void find_places(struct mmt_model *model)
{
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        model->type_at[i] = place_of(mmt_type_name((mmt_type) i), model->types);
    for (int i = 0; mmt_templates[i] && i < MMT_MOST_TEMPLATES; i++) {
        const uint8_t place =
            place_of(mmt_template_key(mmt_templates[i]), model->templates);
        model->template_at[i] = place < UINT8_MAX
                                    ? place
                                    : place_of(mmt_templates[i]->name, model->templates);
    }
}

void mmt_model_name(struct mmt_model *model)
{
    snprintf(model->features, sizeof model->features, "%s", feature_names);
    model->types[0] = model->templates[0] = '\0';
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        add_name(mmt_type_name((mmt_type) i), model->types, sizeof model->types);
    for (int i = 0; mmt_templates[i]; i++)
        add_name(mmt_template_key(mmt_templates[i]), model->templates,
                 sizeof model->templates);
    find_places(model);
}

mmt_status mmt_model_check(void *item, mmt_error *err)
{
    struct mmt_model *model = item;
    if (model->law == MMT_LAW_EDITION && strcmp(model->features, feature_names))
        return mmt_fail(
            err, MMT_ERROR_FORMAT,
            "its trees ask for other features than this mmtune has; a run, or "
            "`mmtune merge --fit` beside its journal, fits it anew");
    find_places(model);
    return MMT_OK;
}
