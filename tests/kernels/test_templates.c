/* Every template of the table, through the public API, on every device that opens:
 * sampled configurations in which each value of each knob appears, all types and
 * transposes, and the shapes at which kernels go wrong. Data are whole numbers, so
 * results must be exact.
 *
 *     test_templates [--sample | --few] [DEVICE [TEMPLATE]]
 *
 * --sample takes each type once, with transposes in turn, and goes through no values.
 * --few is for simulators, which are slow and watch bounds: it takes one configuration of
 * each template, and leaves no room round the matrices in which a stray read could hide.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "generator/generator.h"
#include "tests/support/exact.h"

enum { TRIES = 20000, DRAWS = 200, MAX_FAILURES = 20, GUARD = 8192 };

/* How much is tried of each template. */
enum extent { ALL, SAMPLE, FEW };
static const char *const extent_options[] = { NULL, "--sample", "--few" };

struct run {
    mmt_device *device;
    const char *device_id;
    const struct mmt_caps *caps;
    uint64_t random;
    int guard; /* enough for a kernel that forgets the edge of a tile */
    int configurations, executions, failures;
};

/* Sides of C in tiles of the configuration plus something, or outright. */
struct shape {
    int tiles_m, m, tiles_n, n, k;
    int gap_a, gap_b, gap_c; /* elements between the rows of each matrix */
    int batch, gap_batch;
    bool share_b;
};

static const struct shape shapes[] = {
    { 0, 17, 0, 31, 33, 0, 0, 0, 1, 0, false },
    { 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, false },
    { 0, 1, 0, 7, 1, 0, 0, 0, 1, 0, false },
    { 0, 64, 0, 64, 64, 0, 0, 0, 1, 0, false },
    { 1, -1, 1, 1, 33, 0, 0, 0, 1, 0, false },
    { 1, 1, 1, -1, 65, 5, 3, 1, 1, 0, false },
    { 2, 0, 1, 0, 32, 0, 0, 0, 1, 0, false },
    { 0, 9, 0, 5, 0, 0, 0, 3, 1, 0, false },
    { 0, 0, 0, 5, 3, 0, 0, 0, 1, 0, false },
    { 0, 33, 0, 18, 20, 4, 8, 12, 3, 16, false },
    { 0, 19, 0, 34, 7, 0, 1, 2, 3, 5, true },
    { 0, 13, 1, 3, 300, 3, 5, 2, 1, 0, false },
    { 1, 3, 0, 11, 300, 4, 0, 4, 2, 8, false },
    { 0, 11, 0, 21, 1537, 0, 0, 1, 2, 0, false },
};

static const struct exact_call calls[] = {
    { 1, 0, false, 0, 0 }, { -2, 3, false, 1, 0 }, { 1, 1, true, 0, 0 },
    { 0, 2, false, 0, 0 }, { 3, -1, true, 1, 0 },  { 1, 0, false, 1, 0 },
    { 0, 0, false, 0, 0 }, { 0, 1, true, 0, 0 },   { -1, 0, true, 0, 0 },
};

#define COUNT(array) (int) (sizeof(array) / sizeof(*(array)))

static unsigned draw(struct run *run, unsigned below)
{
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (run->random >> 33) % below;
}

/* ---- one execution --------------------------------------------------------------- */

static void complain(struct run *run, const struct mmt_config *config,
                     const mmt_problem *problem, const struct exact_call *call,
                     const char *why)
{
    struct mmt_text text = { 0 };

    run->failures++;
    mmt_config_print(config, &text);
    mmt_text_add(&text, ", ");
    mmt_problem_print(problem, &text);
    if (call)
        mmt_text_addf(&text, ", alpha %d beta %d%s offset %d", call->alpha, call->beta,
                      call->scalars ? " on the device" : "", call->offset);
    printf("WRONG on %s: %s: %s\n", run->device_id, mmt_text_string(&text), why);
    mmt_text_finish(&text);
}

static void check_call(struct run *run, const struct mmt_config *config,
                       const mmt_plan *plan, const mmt_problem *problem,
                       const struct exact_call *call)
{
    struct exact_call guarded = *call;
    char why[200];

    guarded.guard = run->guard;
    if (!exact_run(run->device, plan, problem, &guarded, why, sizeof why))
        complain(run, config, problem, call, why);
    run->executions++;
}

/* ---- one configuration ----------------------------------------------------------- */

static unsigned count_blocks(const struct run *run, const struct mmt_config *config,
                             mmt_type type, int m, int n)
{
    mmt_problem problem, wanted = mmt_op_problem(config->template->op, type, m, n, 1);
    struct mmt_launches out = { 0 };

    mmt_problem_normalise(&wanted, &problem, NULL);
    mmt_config_launch(config, &problem, run->caps, &out);
    return out.launch[0].grid[0] * out.launch[0].grid[1];
}

/* The most rows or columns of C that need no more blocks than one element, up to as many
 * as it does no harm to compute for it. */
static int block_side(const struct run *run, const struct mmt_config *config,
                      mmt_type type, bool rows)
{
    const unsigned least = count_blocks(run, config, type, 1, 1);
    const int most = config->template->op == MMT_GEMM ? 1024 : 160;
    int side = 1;

    while (side < most && count_blocks(run, config, type, rows ? side + 1 : 1,
                                       rows ? 1 : side + 1) == least)
        side++;
    return side;
}

/* An operand that the op does not have stays without a layout. */
static void widen(struct mmt_stored x, int gap, int gap_batch, int64_t *ld,
                  int64_t *stride)
{
    if (!x.rows && !x.cols)
        return;
    *ld = x.cols + gap;
    *stride = x.rows * *ld + gap_batch;
}

static mmt_problem make_problem(const struct shape *s, const struct mmt_variant *variant,
                                int side_m, int side_n)
{
    const int m = s->tiles_m * side_m + s->m, n = s->tiles_n * side_n + s->n;
    mmt_problem wanted = mmt_op_problem(variant->op, variant->type, m, n, s->k);
    mmt_problem problem = wanted;

    wanted.out = variant->out;
    wanted.bias = variant->bias;
    wanted.activation = variant->activation;
    wanted.trans_a = variant->trans_a;
    wanted.trans_b = variant->trans_b;
    wanted.batch = s->batch;
    widen(mmt_op_stored(&wanted, MMT_OPERAND_A), s->gap_a, s->gap_batch, &wanted.lda,
          &wanted.stride_a);
    widen(mmt_op_stored(&wanted, MMT_OPERAND_B), s->gap_b, s->gap_batch, &wanted.ldb,
          &wanted.stride_b);
    widen(mmt_op_stored(&wanted, MMT_OPERAND_C), s->gap_c, s->gap_batch, &wanted.ldc,
          &wanted.stride_c);
    if (s->share_b)
        wanted.stride_b = 0;
    mmt_problem_normalise(&wanted, &problem, NULL);
    return problem;
}

static void check_shape(struct run *run, const struct mmt_config *config,
                        const mmt_problem *problem, const char *words, int first_call,
                        int num_calls)
{
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err = { 0 };

    options.configuration = words;
    mmt_plan *plan = mmt_plan_create(run->device, NULL, problem, &options, &err);
    if (!plan)
        complain(run, config, problem, NULL, err.text);
    for (int i = 0; plan && i < num_calls; i++)
        check_call(run, config, plan, problem, &calls[(first_call + i) % COUNT(calls)]);
    mmt_plan_free(plan);
}

/* The first shape meets every call, the others one each, in turn. */
static void check_config(struct run *run, const struct mmt_config *config,
                         const struct mmt_variant *variant)
{
    const int side_m = block_side(run, config, variant->type, true);
    const int side_n = block_side(run, config, variant->type, false);
    struct mmt_text words = { 0 };

    mmt_config_print(config, &words);
    for (int s = 0; s < COUNT(shapes) && run->failures < MAX_FAILURES; s++) {
        const mmt_problem problem = make_problem(&shapes[s], variant, side_m, side_n);
        if (!mmt_config_check_problem(config, &problem, run->caps))
            check_shape(run, config, &problem, mmt_text_string(&words),
                        run->configurations + s, s ? 1 : COUNT(calls));
    }
    printf("tried %s, %s\n", mmt_text_string(&words), mmt_type_name(variant->type));
    mmt_text_finish(&words);
    run->configurations++;
}

/* ---- the sample ------------------------------------------------------------------ */

typedef bool seen_values[MMT_MAX_KNOBS][MMT_MAX_VALUES];

static void note_values(const struct mmt_config *config, seen_values seen)
{
    for (int i = 0; i < config->template->num_knobs; i++)
        for (int j = 0; j < config->template->knobs[i].num_values; j++)
            if (config->template->knobs[i].values[j] == config->values[i])
                seen[i][j] = true;
}

static int count_unseen(const struct mmt_config *config, seen_values seen)
{
    int unseen = 0;

    for (int i = 0; i < config->template->num_knobs; i++)
        for (int j = 0; j < config->template->knobs[i].num_values; j++)
            unseen +=
                config->template->knobs[i].values[j] == config->values[i] && !seen[i][j];
    return unseen;
}

/* A random legal configuration, with one knob held at one of its values unless it is -1.
 */
static bool draw_config(struct run *run, const struct mmt_template *template,
                        const struct mmt_variant *variant, int knob, int value,
                        struct mmt_config *out)
{
    out->template = template;
    for (int i = 0; i < TRIES; i++) {
        for (int j = 0; j < template->num_knobs; j++) {
            const struct mmt_knob *k = &template->knobs[j];
            const int at = j == knob ? value : (int) draw(run, (unsigned) k->num_values);
            out->values[j] = k->values[at];
        }
        if (!mmt_config_check_device(out, variant, run->caps))
            return true;
    }
    return false;
}

/* Of several such, the one with the most values that have not been seen. */
static bool draw_unseen(struct run *run, const struct mmt_template *template,
                        const struct mmt_variant *variant, int knob, int value,
                        seen_values seen, struct mmt_config *out)
{
    struct mmt_config other;

    if (!draw_config(run, template, variant, knob, value, out))
        return false;
    for (int i = 0; i < DRAWS; i++)
        if (draw_config(run, template, variant, knob, value, &other) &&
            count_unseen(&other, seen) > count_unseen(out, seen))
            *out = other;
    return true;
}

/* A configuration with a value that has not been seen; false where none is legal. */
static bool next_unseen(struct run *run, const struct mmt_template *template,
                        const struct mmt_variant *variant, seen_values seen,
                        struct mmt_config *out)
{
    for (int i = 0; i < template->num_knobs; i++)
        for (int j = 0; j < template->knobs[i].num_values; j++)
            if (!seen[i][j] && draw_unseen(run, template, variant, i, j, seen, out))
                return true;
    return false;
}

/* The next legal seed, in turn. */
static bool next_seed(const struct run *run, const struct mmt_template *template,
                      const struct mmt_variant *variant, int *turn,
                      struct mmt_config *out)
{
    out->template = template;
    for (int i = 0; i < template->num_seeds; i++) {
        memcpy(out->values, template->seeds[(*turn)++ % template->num_seeds],
               sizeof(out->values));
        if (!mmt_config_check_device(out, variant, run->caps))
            return true;
    }
    return false;
}

/* ---- one template ---------------------------------------------------------------- */

enum { VARIANTS = 4 * MMT_NUM_TYPES };

/* Outputs, biases and activations take turns; of the activations, only RELU is exact. */
static struct mmt_variant variant_at(const struct mmt_template *template, int index)
{
    const mmt_type type = (mmt_type) (index / 4);
    const bool transposes = mmt_op_row(template->op)->transposes;
    struct mmt_variant variant = { .op = template->op,
                                   .type = type,
                                   .out = mmt_type_own_output(type),
                                   .trans_a = transposes && index & 2,
                                   .trans_b = transposes && index & 1 };

    for (int i = 0; i < index % 4; i++)
        do
            variant.out = (mmt_type) ((variant.out + 1) % MMT_NUM_TYPES);
        while (!mmt_type_in(variant.out, mmt_type_outputs(type)));
    if (template->fused) {
        variant.bias = (mmt_bias) (index % MMT_NUM_BIASES);
        variant.activation = index / 2 % 2 ? MMT_RELU : MMT_ACTIVATION_NONE;
    }
    return variant;
}

/* Each type and transpose once, or of each type one: a seed, or values that have not been
 * seen, in turn. */
static void check_variants(struct run *run, const struct mmt_template *template,
                           enum extent extent, seen_values seen)
{
    for (int i = 0, turn = 0; i < VARIANTS && run->failures < MAX_FAILURES; i++) {
        if (extent == SAMPLE && i % 4 != i / 4 % 4)
            continue;
        const struct mmt_variant variant = variant_at(template, i);
        const bool seed = (i + i / 2 + i / 4) % 2 == 0;
        struct mmt_config config = { .template = template };

        if ((!seed && next_unseen(run, template, &variant, seen, &config)) ||
            next_seed(run, template, &variant, &turn, &config)) {
            note_values(&config, seen);
            check_config(run, &config, &variant);
        } else if (i % 4 == 0) {
            printf("%s %s skipped on %s: %s\n", template->name,
                   mmt_type_name(variant.type), run->device_id,
                   mmt_config_check_device(&config, &variant, run->caps));
        }
    }
}

static void tell_unseen(const struct run *run, const struct mmt_template *template,
                        seen_values seen)
{
    for (int i = 0; i < template->num_knobs; i++)
        for (int j = 0; j < template->knobs[i].num_values; j++)
            if (!seen[i][j])
                printf("%s on %s: no legal configuration has %s=%d\n", template->name,
                       run->device_id, template->knobs[i].name,
                       template->knobs[i].values[j]);
}

/* Goes on through the types and transposes until no legal value is left unseen. */
static void check_values(struct run *run, const struct mmt_template *template,
                         seen_values seen)
{
    for (int i = 0, idle = 0; idle < VARIANTS; i++) {
        const struct mmt_variant variant = variant_at(template, i % VARIANTS);
        struct mmt_config config;

        if (run->failures >= MAX_FAILURES)
            return;
        idle++;
        if (next_unseen(run, template, &variant, seen, &config)) {
            note_values(&config, seen);
            check_config(run, &config, &variant);
            idle = 0;
        }
    }
    if (run->configurations)
        tell_unseen(run, template, seen);
}

static void check_seed(struct run *run, const struct mmt_template *template)
{
    const struct mmt_variant variant = variant_at(template, 0);
    struct mmt_config config;
    int turn = 0;

    if (next_seed(run, template, &variant, &turn, &config))
        check_config(run, &config, &variant);
}

/* What was once wrong: stores behind a barrier, on PoCL. */
static const struct {
    const char *config;
    mmt_type type;
} once_wrong[] = {
    { "heat2d THREADS_M=2 THREADS_N=8 THREAD_TILE_M=4 VECTOR=8 SIDES=shared", MMT_F64 },
};

static void check_once_wrong(struct run *run, const struct mmt_template *template)
{
    for (int i = 0; i < COUNT(once_wrong); i++) {
        const struct mmt_variant variant =
            variant_at(template, 4 * (int) once_wrong[i].type);
        struct mmt_config config;
        mmt_error err = { 0 };

        if (mmt_config_parse(once_wrong[i].config, &config, &err)) {
            printf("WRONG: %s\n", err.text);
            run->failures++;
        } else if (config.template == template &&
                   !mmt_config_check_device(&config, &variant, run->caps)) {
            check_config(run, &config, &variant);
        }
    }
}

/* ---- devices --------------------------------------------------------------------- */

/* One template on one device: the exit status of this process. */
static int check_one(const char *id, const char *name, enum extent extent)
{
    const struct mmt_template *template = mmt_template_find(name);
    mmt_error err = { 0 };
    struct run run = { .device_id = id, .random = 1, .guard = extent == FEW ? 0 : GUARD };

    if (!template) {
        printf("there is no template '%s'\n", name);
        return 2;
    }
    run.device = mmt_device_open(id, &err);
    if (!run.device) {
        printf("%s skipped: %s\n", id, err.text);
        return 77;
    }
    run.caps = mmt_device_caps(run.device);
    if (extent == FEW) {
        check_seed(&run, template);
    } else {
        seen_values seen = { { false } };
        check_variants(&run, template, extent, seen);
        if (extent == ALL)
            check_values(&run, template, seen);
        check_once_wrong(&run, template);
    }
    printf("%s on %s: %d configurations, %d executions, %d wrong\n", name,
           mmt_device_name(run.device), run.configurations, run.executions, run.failures);
    mmt_device_close(run.device);
    return run.failures ? 1 : 0;
}

/* The same in a process of its own, which a compiler that crashes ends alone. */
static pid_t start_one(char *program, char *id, const char *name, enum extent extent)
{
    char *words[5] = { program };
    int count = 1;
    pid_t child;

    if (extent != ALL)
        words[count++] = (char *) extent_options[extent];
    words[count++] = id;
    words[count] = (char *) name;
    if (!posix_spawn(&child, program, NULL, NULL, words, environ))
        return child;
    printf("%s cannot be run again for %s on %s\n", program, name, id);
    return -1;
}

/* Its exit status, 1 where it has none. */
static int wait_for(pid_t child, const char *id, const char *name)
{
    int state;

    if (child < 0 || waitpid(child, &state, 0) != child)
        return 1;
    if (WIFEXITED(state))
        return WEXITSTATUS(state);
    printf("WRONG on %s: %s ended by signal %d\n", id, name, WTERMSIG(state));
    return 1;
}

struct tally {
    int done, wrong;
};

static void end_one(pid_t child, const char *id, int number, struct tally *tally)
{
    const int status = wait_for(child, id, mmt_templates[number]->name);
    tally->done += status != 77;
    tally->wrong += status != 77 && status != 0;
}

/* Some templates at once, since most of the time goes into compiling, for which PoCL
 * takes 300 MB each. */
static void check_device(char *program, char *id, enum extent extent, struct tally *tally)
{
    enum { AT_ONCE = 4 };
    pid_t children[AT_ONCE];
    int count = 0;

    for (; mmt_templates[count]; count++) {
        if (count >= AT_ONCE)
            end_one(children[count % AT_ONCE], id, count - AT_ONCE, tally);
        children[count % AT_ONCE] =
            start_one(program, id, mmt_templates[count]->name, extent);
    }
    for (int i = count > AT_ONCE ? count - AT_ONCE : 0; i < count; i++)
        end_one(children[i % AT_ONCE], id, i, tally);
}

static void check_all_devices(char *program, enum extent extent, struct tally *tally)
{
    struct mmt_device_info *list = NULL;
    struct mmt_text notes = { 0 };
    mmt_error err = { 0 };
    size_t count = 0;

    if (mmt_device_list(&list, &count, &notes, &err))
        printf("devices cannot be listed: %s\n", err.text);
    for (size_t i = 0; i < count; i++)
        check_device(program, list[i].id, extent, tally);
    printf("%s", mmt_text_string(&notes));
    mmt_text_finish(&notes);
    free(list);
}

static enum extent extent_of(const char *word)
{
    enum extent extent = FEW;
    while (extent != ALL && (!word || strcmp(word, extent_options[extent])))
        extent--;
    return extent;
}

int main(int argc, char **argv)
{
    const enum extent extent = extent_of(argv[1]);
    char **names = argv + (extent == ALL ? 1 : 2);
    struct tally tally = { 0 };

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (names[0] && names[1])
        return check_one(names[0], names[1], extent);
    if (names[0])
        check_device(argv[0], names[0], extent, &tally);
    else
        check_all_devices(argv[0], extent, &tally);
    if (!tally.done) {
        puts("skipped: no device opens on this machine");
        return 77;
    }
    return tally.wrong ? 1 : 0;
}
