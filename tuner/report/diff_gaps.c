/* What a side has not timed of what the other found best, and the options of `mmtune`
 * that make it do so. */
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"
#include "tuner/report/diff.h"

/* A list of shapes ends before it is longer than a line of a terminal. */
enum { LIST_WIDTH = 72 };

/* The problems that the same options are of, but for their shapes. */
struct kind {
    struct mmt_text options; /* empty: no options spell them */
    struct mmt_text shapes;
    size_t line;  /* columns of the last list of shapes */
    size_t count; /* of problems */
};

struct kinds {
    struct kind *list;
    size_t count;
    bool failed;
};

/* ---- how a problem is asked for ---------------------------------------------------- */

static void print_shape(const mmt_problem *problem, struct mmt_text *text)
{
    mmt_op_print_shape(problem, text);
    if (problem->batch > 1)
        mmt_text_addf(text, "x%lld", (long long) problem->batch);
}

/* Whether a shape, with leading dimensions that are odd or packed, is this problem. */
static bool is_asked_by(const mmt_problem *problem, const char *spelled, bool odd)
{
    struct mmt_shape shape;
    mmt_problem normal;
    if (mmt_option_shape(spelled, problem->op, &shape, NULL))
        return false;
    mmt_problem asked = mmt_shape_problem(problem->op, problem->type, &shape);
    asked.trans_a = problem->trans_a;
    asked.trans_b = problem->trans_b;
    if (mmt_type_has_choice(problem->type))
        asked.out = problem->out;
    if (odd)
        mmt_ld_padding_apply(&asked);
    return !mmt_problem_normalise(&asked, &normal, NULL) &&
           mmt_problem_equal(&normal, problem);
}

/* Adds "--type f32 -x nt --ld odd"; nothing where no options spell the problem. */
static void add_options(const mmt_problem *problem, const char *shape,
                        struct mmt_text *text)
{
    const bool packed = is_asked_by(problem, shape, false);
    mmt_problem plain = mmt_op_problem(problem->op, problem->type, 1, 1, 1);
    if (!packed && !is_asked_by(problem, shape, true))
        return;
    if (problem->op != MMT_GEMM)
        mmt_text_addf(text, "--op %s ", mmt_op_row(problem->op)->name);
    mmt_text_addf(text, "--type %s", mmt_type_name(problem->type));
    if (mmt_type_has_choice(problem->type) && problem->out != plain.out)
        mmt_text_addf(text, " --out %s", mmt_type_name(problem->out));
    if (problem->trans_a || problem->trans_b)
        mmt_text_addf(text, " -x %c%c", problem->trans_a ? 't' : 'n',
                      problem->trans_b ? 't' : 'n');
    if (!packed)
        mmt_text_add(text, " --ld odd");
}

/* ---- kinds ------------------------------------------------------------------------- */

static struct kind *find_kind(struct kinds *kinds, const struct mmt_text *options)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (!strcmp(mmt_text_string(&kinds->list[i].options), mmt_text_string(options)))
            return &kinds->list[i];
    struct kind *grown = realloc(kinds->list, (kinds->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    kinds->list = grown;
    grown[kinds->count] = (struct kind){ .line = LIST_WIDTH };
    mmt_text_add(&grown[kinds->count].options, mmt_text_string(options));
    return &grown[kinds->count++];
}

static void add_shape(struct kind *kind, const char *shape)
{
    const bool begins = kind->line + 1 + strlen(shape) > LIST_WIDTH;
    mmt_text_addf(&kind->shapes, begins ? " --shape=%s" : ",%s", shape);
    kind->line = (begins ? 0 : kind->line + 1) + strlen(shape);
}

static void add_problem(struct kinds *kinds, const mmt_problem *problem)
{
    struct mmt_text options = { 0 }, shape = { 0 };
    print_shape(problem, &shape);
    add_options(problem, mmt_text_string(&shape), &options);
    struct kind *kind = find_kind(kinds, &options);
    kinds->failed |= !kind || options.failed || shape.failed;
    if (kind) {
        add_shape(kind, mmt_text_string(&shape));
        kind->count++;
    }
    mmt_text_finish(&options);
    mmt_text_finish(&shape);
}

static void collect_problems(const struct mmt_diff *diff, int side, struct kinds *kinds)
{
    for (size_t i = 0; i < diff->num_only[!side]; i++)
        add_problem(kinds, diff->only[!side][i].row->problem);
    for (size_t i = 0; i < diff->num_both; i++)
        if (!diff->both[i].others_best[side] && diff->both[i].best[!side]->entry)
            add_problem(kinds, diff->both[i].best[side]->problem);
}

/* Takes what the kind has. */
static struct mmt_gap finish_kind(struct kind *kind)
{
    struct mmt_gap gap = { .problems = kind->count };
    if (kind->options.length) {
        mmt_text_add(&kind->options, mmt_text_string(&kind->shapes));
        gap.options = kind->options.data;
    } else {
        mmt_text_finish(&kind->options);
    }
    mmt_text_finish(&kind->shapes);
    return gap;
}

struct mmt_gap *mmt_diff_gaps(const struct mmt_diff *diff, int side, size_t *count)
{
    struct kinds kinds = { 0 };
    *count = 0;
    if (*diff->rows[side].profile->citation)
        return NULL;
    collect_problems(diff, side, &kinds);
    struct mmt_gap *gaps = calloc(kinds.count + 1, sizeof *gaps);
    for (size_t i = 0; i < kinds.count; i++) {
        struct mmt_gap gap = finish_kind(&kinds.list[i]);
        if (gaps)
            gaps[(*count)++] = gap;
        else
            free(gap.options);
    }
    free(kinds.list);
    return gaps;
}

void mmt_diff_free_gaps(struct mmt_gap *gaps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(gaps[i].options);
    free(gaps);
}

/* As a shell takes it for one word. */
static void add_word(const char *word, struct mmt_text *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./+=:@%,";
    if (*word && strspn(word, plain) == strlen(word)) {
        mmt_text_add(text, word);
        return;
    }
    mmt_text_add(text, "'");
    for (; *word; word++)
        mmt_text_addf(text, *word == '\'' ? "'\\''" : "%c", *word);
    mmt_text_add(text, "'");
}

void mmt_diff_add_command(const struct mmt_diff_view *view, int side,
                          const struct mmt_gap *gap, struct mmt_text *text)
{
    if (!gap->options)
        return;
    mmt_text_addf(text, "mmtune --device 0 %s", gap->options);
    if (!*view->diff->rows[!side].profile->citation) {
        mmt_text_add(text, " --with ");
        add_word(view->paths[!side], text);
    }
    mmt_text_add(text, " -o ");
    add_word(view->paths[side], text);
}
