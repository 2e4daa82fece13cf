/* NVRTC compiles what a GPU would run, on a machine that need not have one: for sm_75 and
 * sm_90 each, at least MIN_JOBS configurations of all templates, types, transposes and
 * alignments, so that every value of every knob appears; for the other generations each
 * type of each template, transposes and alignments in turn. Every kernel is then looked
 * up as a launch would, with its block and its shared memory.
 *
 *     test_compile [--sample]
 *
 * --sample compiles each type of each template once, for some generations in turn.
 *
 * Compiling takes seconds, so it is spread over processes, made before NVRTC is opened.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "generator/generator.h"
#include "tests/support/test.h"

enum {
    MIN_JOBS = 200,
    MAX_JOBS = 600,
    MAX_PROCESSES = 8,
    TRIES = 2000000, /* of drawing a legal configuration */
    DRAWS = 8,       /* legal ones, of which the one with most that is new is taken */
};

static const struct target {
    const char *name;
    bool whole;  /* every value of every knob, and at least MIN_JOBS */
    bool sample; /* is part of one */
} targets[] = {
    { "null:sm_75", true, true },   { "null:sm_90", true, true },
    { "null:sm_80", false, false }, { "null:sm_86", false, false },
    { "null:sm_89", false, false }, { "null:sm_100", false, false },
    { "null:sm_120", false, true },
};
enum { NUM_TARGETS = sizeof(targets) / sizeof(targets[0]) };

struct job {
    struct mmt_config config;
    struct mmt_variant variant;
};

struct plan {
    const struct mmt_caps *caps;
    uint64_t random;
    int count;
    struct job jobs[MAX_JOBS];
};

/* Of one template: how often each value of each knob appears in the jobs. */
struct cover {
    int times[MMT_MAX_KNOBS][MMT_MAX_VALUES];
};

/* ---- choosing what to compile ---------------------------------------------------- */

static uint64_t draw(struct plan *plan, uint64_t below)
{
    plan->random = plan->random * 6364136223846793005u + 1442695040888963407u;
    return (plan->random >> 33) % below;
}

static void draw_config(struct plan *plan, const struct mmt_template *template,
                        struct mmt_config *out)
{
    *out = (struct mmt_config){ .template = template };
    for (int i = 0; i < template->num_knobs; i++) {
        const struct mmt_knob *knob = &template->knobs[i];
        out->values[i] = knob->values[draw(plan, (uint64_t) knob->num_values)];
    }
}

/* Outputs, biases and activations take turns, outputs whatever the alignment. */
static void vary_end(const struct mmt_template *template, int index,
                     struct mmt_variant *variant)
{
    bool whole = mmt_type_in(variant->type, MMT_WHOLE_TYPES);

    for (int i = 0; i < index / 2 % 4; i++)
        do
            variant->out = (mmt_type) ((variant->out + 1) % MMT_NUM_TYPES);
        while (!mmt_type_in(variant->out, mmt_type_outputs(variant->type)));
    if (!template->fused)
        return;
    variant->bias = (mmt_bias) (index % MMT_NUM_BIASES);
    variant->activation = (mmt_activation) (index % (whole ? 2 : MMT_NUM_ACTIVATIONS));
}

/* Variants are numbered: type, then transposes, then alignment fastest. */
enum { NUM_VARIANTS = MMT_NUM_TYPES * 2 * 2 * 2 };

static struct mmt_variant variant_at(const struct mmt_template *template, int index)
{
    bool transposes = mmt_op_row(template->op)->transposes;
    struct mmt_variant variant = {
        .op = template->op,
        .type = (mmt_type) (index / 8),
        .out = mmt_type_own_output((mmt_type) (index / 8)),
        .trans_a = transposes && index / 4 % 2,
        .trans_b = transposes && index / 2 % 2,
        .aligned = index % 2,
    };
    vary_end(template, index, &variant);
    return variant;
}

/* Where a template has but one text, it is the aligned one. */
static bool has_variant(const struct mmt_template *template,
                        const struct mmt_variant *variant)
{
    return (template->types & 1u << variant->type) &&
           (variant->aligned || (template->alignment && !template->aligned_only));
}

static int value_index(const struct mmt_knob *knob, int value)
{
    int i = 0;
    while (i < knob->num_values && knob->values[i] != value)
        i++;
    return i;
}

static int count_new(const struct cover *cover, const struct mmt_config *config)
{
    int count = 0;
    for (int i = 0; i < config->template->num_knobs; i++) {
        int at = value_index(&config->template->knobs[i], config->values[i]);
        count += cover->times[i][at] == 0;
    }
    return count;
}

static void add_job(struct plan *plan, struct cover *cover,
                    const struct mmt_config *config, const struct mmt_variant *variant)
{
    if (!CHECK(plan->count < MAX_JOBS))
        return;
    plan->jobs[plan->count++] = (struct job){ *config, *variant };
    for (int i = 0; i < config->template->num_knobs; i++)
        cover->times[i][value_index(&config->template->knobs[i], config->values[i])]++;
}

/* Adds a legal configuration of that variant with as much that is new as a few draws
 * find. */
static bool add_any(struct plan *plan, struct cover *cover,
                    const struct mmt_template *template,
                    const struct mmt_variant *variant)
{
    struct mmt_config config, best;
    int most = -1;
    for (int tries = 0, found = 0; tries < TRIES && found < DRAWS; tries++) {
        draw_config(plan, template, &config);
        if (mmt_config_check_device(&config, variant, plan->caps))
            continue;
        found++;
        int news = count_new(cover, &config);
        if (news > most) {
            most = news;
            best = config;
        }
    }
    if (most >= 0)
        add_job(plan, cover, &best, variant);
    return most >= 0;
}

static void draw_seed(struct plan *plan, const struct mmt_template *template,
                      struct mmt_config *config)
{
    config->template = template;
    memcpy(config->values, template->seeds[draw(plan, (unsigned) template->num_seeds)],
           sizeof config->values);
}

/* Adds a legal configuration with one knob at one value, of any variant: the others
 * drawn, or a starting point's, as some values go with few of the others. */
static bool add_value(struct plan *plan, struct cover *cover,
                      const struct mmt_template *template, int knob, int value)
{
    struct mmt_config config;
    for (int tries = 0; tries < TRIES; tries++) {
        struct mmt_variant variant = variant_at(template, (int) draw(plan, NUM_VARIANTS));
        if (tries % 2 && template->num_seeds > 0)
            draw_seed(plan, template, &config);
        else
            draw_config(plan, template, &config);
        config.values[knob] = value;
        if (!has_variant(template, &variant) ||
            mmt_config_check_device(&config, &variant, plan->caps))
            continue;
        add_job(plan, cover, &config, &variant);
        return true;
    }
    return false;
}

/* Whether such a device takes the value. */
static bool is_for(struct plan *plan, const struct mmt_template *template, int knob,
                   int value, const struct mmt_caps *caps)
{
    struct mmt_config config;
    for (int tries = 0; tries < TRIES; tries++) {
        struct mmt_variant variant = variant_at(template, (int) draw(plan, NUM_VARIANTS));
        draw_config(plan, template, &config);
        config.values[knob] = value;
        if (!mmt_config_check_device(&config, &variant, caps))
            return true;
    }
    return false;
}

/* A value that CPUs alone take has no text here, nor has one for types that only younger
 * cards multiply so. */
static bool is_for_others(struct plan *plan, const struct mmt_template *template,
                          int knob, int value)
{
    struct mmt_caps cpu = *plan->caps, younger = *plan->caps;
    cpu.kind = MMT_CPU;
    cpu.dialect = MMT_OPENCL_C;
    younger.sm = 89;
    return (template->preferred_on & MMT_CPU &&
            is_for(plan, template, knob, value, &cpu)) ||
           (plan->caps->sm < younger.sm && is_for(plan, template, knob, value, &younger));
}

static void cover_values(struct plan *plan, struct cover *cover,
                         const struct mmt_template *template)
{
    for (int i = 0; i < template->num_knobs; i++) {
        const struct mmt_knob *knob = &template->knobs[i];
        for (int j = 0; j < knob->num_values; j++) {
            if (cover->times[i][j] > 0 ||
                add_value(plan, cover, template, i, knob->values[j]) ||
                is_for_others(plan, template, i, knob->values[j]))
                continue;
            CHECK(!"every value of every knob is legal somewhere");
            fprintf(stderr, "    %s: no legal configuration with %s = %d\n",
                    template->name, knob->name, knob->values[j]);
        }
    }
}

/* A type for which a target has no instructions has no legal seed there. */
static bool is_in_plan(const struct mmt_template *template, int type,
                       const struct mmt_caps *caps)
{
    struct mmt_config config = { .template = template };
    for (int i = 0; i < template->num_seeds * 8; i++) {
        struct mmt_variant variant = variant_at(template, type * 8 + i % 8);
        memcpy(config.values, template->seeds[i / 8], sizeof(config.values));
        if (!mmt_config_check_device(&config, &variant, caps))
            return true;
    }
    return false;
}

/* Nor has a template whose instructions are all younger. */
static bool has_any_in_plan(const struct mmt_template *template,
                            const struct mmt_caps *caps)
{
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (is_in_plan(template, type, caps))
            return true;
    return false;
}

/* Cards of the sample that could be opened. */
static struct mmt_caps sampled[NUM_TARGETS];
static int num_sampled;

/* Whether it is this plan's turn among those that take the type. */
static bool has_turn(const struct plan *plan, int template, int type)
{
    int takers = 0, mine = -1;
    for (int i = 0; i < num_sampled; i++)
        if (is_in_plan(mmt_templates[template], type, &sampled[i])) {
            mine = sampled[i].sm == plan->caps->sm ? takers : mine;
            takers++;
        }
    return mine >= 0 && (template + type) % takers == mine;
}

/* One configuration of each type. */
static void sample_template(struct plan *plan, int number)
{
    const struct mmt_template *template = mmt_templates[number];
    struct cover cover = { 0 };
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        bool done = !has_turn(plan, number, type);
        for (int i = 0, first = plan->count; i < 8 && !done; i++) {
            struct mmt_variant variant = variant_at(template, type * 8 + (first + i) % 8);
            done = has_variant(template, &variant) &&
                   add_any(plan, &cover, template, &variant);
        }
        CHECK(done);
    }
}

static void plan_template(struct plan *plan, const struct mmt_template *template)
{
    struct cover cover = { 0 };
    for (int i = 0; i < NUM_VARIANTS; i++) {
        struct mmt_variant variant = variant_at(template, i);
        if (!has_variant(template, &variant) || !is_in_plan(template, i / 8, plan->caps))
            continue;
        if (!CHECK(add_any(plan, &cover, template, &variant)))
            fprintf(stderr, "    %s has no legal configuration for %s%s%s%s\n",
                    template->name, mmt_type_name(variant.type),
                    variant.trans_a ? ", A transposed" : "",
                    variant.trans_b ? ", B transposed" : "",
                    variant.aligned ? ", aligned" : "");
    }
    cover_values(plan, &cover, template);
}

/* The templates in turn, until there are enough. */
static void fill_up(struct plan *plan)
{
    struct cover none = { 0 };
    int before = -1;
    while (plan->count < MIN_JOBS && plan->count > before) {
        before = plan->count;
        for (int i = 0; mmt_templates[i] && plan->count < MIN_JOBS; i++) {
            const struct mmt_template *template = mmt_templates[i];
            struct mmt_variant variant =
                variant_at(template, (int) draw(plan, NUM_VARIANTS));
            if (is_in_plan(template, variant.type, plan->caps) &&
                has_variant(template, &variant))
                add_any(plan, &none, template, &variant);
        }
    }
}

static void make_plan(struct plan *plan, const struct mmt_caps *caps, bool whole)
{
    plan->caps = caps;
    plan->random = 2024;
    plan->count = 0;
    for (int i = 0; mmt_templates[i]; i++)
        if (!whole)
            sample_template(plan, i);
        else if (has_any_in_plan(mmt_templates[i], caps))
            plan_template(plan, mmt_templates[i]);
    if (whole)
        fill_up(plan);
}

/* ---- compiling ------------------------------------------------------------------- */

/* What a process found, summed up by its parent. */
struct report {
    int checks, failures, skipped;
    int wanted, compiled, spilling, most_registers;
};

static void describe(const struct job *job, const char *what, const char *words)
{
    SCOPED_TEXT text = { 0 };
    mmt_config_print(&job->config, &text);
    fprintf(stderr, "    %s: %s %s%s%s%s: %s\n", what, mmt_text_string(&text),
            mmt_type_name(job->variant.type), job->variant.trans_a ? " t" : " n",
            job->variant.trans_b ? "t" : "n", job->variant.aligned ? " aligned" : "",
            words);
}

static void note_usage(const struct mmt_usage *usage, struct report *report)
{
    report->spilling += usage->spill_bytes > 0;
    if (usage->registers > report->most_registers)
        report->most_registers = usage->registers;
}

static mmt_status look_up(const struct mmt_launch *launch, struct mmt_module *module,
                          struct report *report, mmt_error *err)
{
    struct mmt_function *function;
    struct mmt_usage usage;
    mmt_status status = mmt_function_create(module, launch->entry, launch->block,
                                            launch->shared, &function, err);
    if (status != MMT_OK)
        return status;
    status = mmt_function_usage(function, &usage, err);
    mmt_function_free(function);
    if (status == MMT_OK)
        note_usage(&usage, report);
    return status;
}

/* What the source is compiled for, and launched. */
static mmt_status make_problem(const struct job *job, mmt_problem *out, mmt_error *err)
{
    mmt_problem problem =
        mmt_op_problem(job->variant.op, job->variant.type, 1000, 1000, 1000);
    problem.trans_a = job->variant.trans_a;
    problem.trans_b = job->variant.trans_b;
    problem.out = job->variant.out;
    problem.bias = job->variant.bias;
    problem.activation = job->variant.activation;
    return mmt_problem_normalise(&problem, out, err);
}

static mmt_status look_up_all(mmt_device *device, const struct mmt_config *resolved,
                              const mmt_problem *problem, const struct mmt_binary *binary,
                              struct report *report, mmt_error *err)
{
    struct mmt_launches launches;
    struct mmt_module *module;
    mmt_status status = mmt_module_load(device, binary, &module, err);
    if (status != MMT_OK)
        return status;
    mmt_config_launch(resolved, problem, mmt_device_caps(device), &launches);
    for (int i = 0; i < launches.count && status == MMT_OK; i++)
        status = look_up(&launches.launch[i], module, report, err);
    mmt_module_free(module);
    return status;
}

static void run_job(mmt_device *device, const struct job *job, struct report *report)
{
    SCOPED_TEXT source = { 0 };
    struct mmt_binary binary = { 0 };
    const struct mmt_caps *caps = mmt_device_caps(device);
    mmt_problem problem;
    struct mmt_config resolved = job->config;
    mmt_status status = make_problem(job, &problem, &err);
    if (status == MMT_OK) {
        resolved = mmt_config_resolve(&job->config, &problem, caps);
        status = mmt_emit(&resolved, &job->variant, MMT_CUDA_CXX, MMT_GPU, &source, &err);
    }
    if (status == MMT_OK)
        status = mmt_device_compile(device, mmt_text_string(&source), &binary, &err);
    if (status == MMT_OK)
        status = look_up_all(device, &resolved, &problem, &binary, report, &err);
    if (!CHECK(status == MMT_OK))
        describe(job, caps->architecture,
                 status == MMT_ERROR_COMPILE && binary.log ? binary.log : err.text);
    report->compiled++;
    mmt_binary_finish(&binary);
}

/* What is left of the plan for one target: all processes make the same, and share how
 * many of its jobs are taken. */
static void run_target(const struct target *target, bool whole, int process,
                       atomic_int *taken, struct report *report)
{
    static struct plan plan;
    mmt_error err = { 0 };
    SCOPED_DEVICE *device = mmt_device_open(target->name, &err);
    if (!device) {
        CHECK_EQ_INT(err.status, MMT_ERROR_UNSUPPORTED);
        if (process == 0)
            printf("%s left out: %s\n", target->name, err.text);
        report->skipped++;
        return;
    }
    make_plan(&plan, mmt_device_caps(device), whole);
    const int least = whole ? MIN_JOBS : 1;
    CHECK(plan.count >= least);
    report->wanted += process == 0 ? least : 0;
    if (process == 0)
        printf("%s: %d kernels\n", target->name, plan.count);
    for (int i; (i = atomic_fetch_add(taken, 1)) < plan.count;)
        run_job(device, &plan.jobs[i], report);
}

/* ---- processes ------------------------------------------------------------------- */

static void open_sampled(void)
{
    for (int i = 0; i < NUM_TARGETS; i++) {
        SCOPED_DEVICE *device =
            targets[i].sample ? mmt_device_open(targets[i].name, &err) : NULL;
        if (device)
            sampled[num_sampled++] = *mmt_device_caps(device);
    }
}

static void run_process(int process, bool sample, atomic_int taken[NUM_TARGETS], int to)
{
    struct report report = { 0 };
    if (sample)
        open_sampled();
    for (int i = 0; i < NUM_TARGETS; i++)
        if (!sample || targets[i].sample)
            run_target(&targets[i], targets[i].whole && !sample, process, &taken[i],
                       &report);
    report.checks = test_checks;
    report.failures = test_failures;
    fflush(NULL);
    _exit(write(to, &report, sizeof(report)) != (ssize_t) sizeof(report));
}

static void add_report(struct report *sum, const struct report *one)
{
    test_checks += one->checks;
    test_failures += one->failures;
    sum->skipped += one->skipped;
    sum->wanted += one->wanted;
    sum->compiled += one->compiled;
    sum->spilling += one->spilling;
    if (one->most_registers > sum->most_registers)
        sum->most_registers = one->most_registers;
}

static int count_processes(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus > MAX_PROCESSES ? MAX_PROCESSES : (int) cpus;
}

static void run_all(int processes, bool sample, struct report *sum)
{
    int ends[2], status;
    struct report one;
    atomic_int *taken = mmap(NULL, NUM_TARGETS * sizeof(*taken), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (taken == MAP_FAILED || pipe(ends))
        exit(1);
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0)
            run_process(i, sample, taken, ends[1]);
        CHECK(child > 0);
    }
    close(ends[1]);
    while (read(ends[0], &one, sizeof(one)) == (ssize_t) sizeof(one))
        add_report(sum, &one);
    while (wait(&status) > 0)
        CHECK_EQ_INT(status, 0);
    close(ends[0]);
}

int main(int argc, char **argv)
{
    const bool sample = argc > 1 && !strcmp(argv[1], "--sample");
    struct report sum = { 0 };
    int processes = count_processes();
    setvbuf(stdout, NULL, _IOLBF, 0);
    run_all(processes, sample, &sum);
    if (sum.skipped && !sum.compiled && !test_failures)
        SKIP("there is no NVRTC that compiles for these targets");
    CHECK(sum.compiled >= sum.wanted);
    printf(
        "%d kernels compiled by %d processes; %d spill; at most %d registers a thread\n",
        sum.compiled, processes, sum.spilling, sum.most_registers);
    return test_end("compile");
}
