/* Judges kernel selection by times that were recorded: no device is needed.
 *
 *     replay_selection [--splits N] [--fitted SHAPES] [--regrets] TIMES.txt...
 *
 * A file has the times of kernels on shapes (tools/record_times.py makes one from
 * journals). Time and again some of the shapes are drawn to be fitted on; for the others
 * the file's kernels are ranked by the law of time and that model. Prints the regret
 * against the best that was timed, of the first of the ranking and of the best of its
 * first five, as a plan that measures has it: mean and 95th percentile; and fails where
 * the file's marks are missed. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/model/fit.h"
#include "tuner/measure/stats.h"

enum { MOST_KERNELS = 128, MOST_SHAPES = 256, MOST_SPLITS = 100 };

/* Whose regret is told: of the first, and of the best of the first few. */
enum { FIRST, FEW, NUM_CHOICES };
static const int looked_at[NUM_CHOICES] = { 1, 5 };

struct recorded {
    struct mmt_config kernels[MOST_KERNELS];
    mmt_problem shapes[MOST_SHAPES];
    double seconds[MOST_SHAPES][MOST_KERNELS]; /* INFINITY: not known */
    int num_kernels, num_shapes;
    struct mmt_caps caps;
    int fitted;                   /* shapes, in each split */
    double marks[NUM_CHOICES][2]; /* percent: mean and 95th percentile; 0: none */
};

struct options {
    int splits, fitted;
    bool regrets;
};

/* What the splits of a file come to. */
struct tally {
    double regrets[NUM_CHOICES][MOST_SPLITS * MOST_SHAPES];
    int count;
    double residual; /* a sum */
};

/* ---- reading --------------------------------------------------------------------- */

static struct mmt_caps h200(void)
{
    struct mmt_caps caps = gpu_caps();
    caps.sm = 90;
    snprintf(caps.architecture, sizeof caps.architecture, "sm_90a");
    snprintf(caps.backend, sizeof caps.backend, "cuda");
    caps.cache = 50 << 20;
    caps.clock_khz = 1980000;
    return caps;
}

static void add_kernel(struct recorded *r, const char *text)
{
    if (CHECK_OK(mmt_config_parse(text, &r->kernels[r->num_kernels], &err), err))
        r->num_kernels++;
}

static void add_times(struct recorded *r, char *line)
{
    char problem[128];
    const char *kind = strtok(line, " "), *transposes = strtok(NULL, " ");
    snprintf(problem, sizeof problem, "gemm %s %s %s", kind, transposes,
             strtok(NULL, " "));
    if (!CHECK_OK(mmt_problem_parse(problem, &r->shapes[r->num_shapes], &err), err))
        return;
    for (int i = 0; i < r->num_kernels; i++) {
        const char *word = strtok(NULL, " ");
        double us = word ? atof(word) : 0;
        r->seconds[r->num_shapes][i] = us > 0 ? us * 1e-6 : INFINITY;
    }
    r->num_shapes++;
}

static bool read_times(const char *path, struct recorded *r)
{
    static char line[4096];
    FILE *file = fopen(path, "r");
    *r = (struct recorded){ .caps = h200() };
    if (!file) {
        perror(path);
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "kernel ", 7) && r->num_kernels < MOST_KERNELS)
            add_kernel(r, line + 7);
        else if (!strncmp(line, "times ", 6) && r->num_shapes < MOST_SHAPES)
            add_times(r, line + 6);
        else if (!strcmp(line, "device pocl"))
            r->caps = cpu_caps(64);
        else if (!strncmp(line, "fitted ", 7))
            r->fitted = atoi(line + 7);
        else if (!strncmp(line, "marks ", 6))
            sscanf(line + 6, "%lf %lf %lf %lf", &r->marks[FIRST][0], &r->marks[FIRST][1],
                   &r->marks[FEW][0], &r->marks[FEW][1]);
    }
    fclose(file);
    return CHECK(r->num_kernels > 1 && r->fitted >= MMT_FEWEST_SHAPES &&
                 r->num_shapes > r->fitted);
}

/* ---- one split ------------------------------------------------------------------- */

static uint64_t state = 1;

static int below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int) ((state >> 33) % (unsigned) limit);
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = below(i + 1), t = order[i];
        order[i] = order[j], order[j] = t;
    }
}

static int best_kernel(const struct recorded *r, int shape)
{
    int best = 0;
    for (int i = 1; i < r->num_kernels; i++)
        if (r->seconds[shape][i] < r->seconds[shape][best])
            best = i;
    return best;
}

/* A profile with the model of the first shapes in that order. */
static struct mmt_profile *fit(const struct recorded *r, const int *order)
{
    static struct mmt_fit_sample samples[MOST_SHAPES * MOST_KERNELS];
    struct mmt_profile *profile = mmt_profile_create();
    size_t count = 0;

    profile->caps = r->caps;
    for (int at = 0; at < r->fitted; at++) {
        const int shape = order[at];
        for (int i = 0; i < r->num_kernels; i++)
            if (!isinf(r->seconds[shape][i]))
                samples[count++] =
                    (struct mmt_fit_sample){ r->shapes[shape], r->kernels[i],
                                             r->seconds[shape][i] };
    }
    CHECK_OK(mmt_fit_models(profile, samples, count, &err), err);
    return profile;
}

static void print_regret(const struct recorded *r, int shape, double expected, int kernel,
                         int best)
{
    const double took = r->seconds[shape][kernel], least = r->seconds[shape][best];
    SCOPED_TEXT text = { 0 };
    mmt_problem_print(&r->shapes[shape], &text);
    mmt_text_addf(&text, ": %.2f us, expected %.2f, %.2f of the best: ", took * 1e6,
                  expected * 1e6, took / least);
    mmt_config_print(&r->kernels[kernel], &text);
    mmt_text_add(&text, ", not ");
    mmt_config_print(&r->kernels[best], &text);
    printf("%s\n", mmt_text_string(&text));
}

/* A kernel that was timed, by what is expected of it. */
struct expected {
    double seconds;
    int kernel;
};

static int by_seconds(const void *left, const void *right)
{
    const struct expected *a = left, *b = right;
    return (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* Of those that were timed there, the first first; returns how many. */
static int rank(const struct recorded *r, const struct mmt_model *model, int shape,
                struct expected out[MOST_KERNELS])
{
    int count = 0;
    for (int i = 0; i < r->num_kernels; i++) {
        const struct mmt_ranked next = { .config = r->kernels[i], .model = model };
        struct mmt_bound bound;
        if (!isinf(r->seconds[shape][i]) &&
            mmt_config_meant(next.config.template, &r->shapes[shape], &r->caps) &&
            mmt_bind(&next.config, &r->shapes[shape], &r->caps, &bound))
            out[count++] = (struct expected){ mmt_expected_seconds(&next, &bound), i };
    }
    qsort(out, (size_t) count, sizeof *out, by_seconds);
    return count;
}

static void judge_shape(const struct recorded *r, const struct options *o,
                        const struct mmt_model *model, int shape, struct tally *tally)
{
    struct expected ranked[MOST_KERNELS];
    const int count = rank(r, model, shape, ranked), best = best_kernel(r, shape);
    if (!count)
        return;
    for (int choice = 0; choice < NUM_CHOICES; choice++) {
        double least = INFINITY;
        for (int i = 0; i < looked_at[choice] && i < count; i++)
            least = fmin(least, r->seconds[shape][ranked[i].kernel]);
        tally->regrets[choice][tally->count] = least / r->seconds[shape][best] - 1;
    }
    tally->count++;
    if (o->regrets)
        print_regret(r, shape, ranked->seconds, ranked->kernel, best);
}

static void split(const struct recorded *r, const struct options *o, struct tally *tally)
{
    int order[MOST_SHAPES];
    shuffle(order, r->num_shapes);
    SCOPED_PROFILE *profile = fit(r, order);
    const struct mmt_model *model = mmt_profile_model(profile, r->shapes->type);
    CHECK(model != NULL);
    tally->residual += model ? model->residual : 0;
    for (int at = r->fitted; at < r->num_shapes; at++)
        judge_shape(r, o, model, order[at], tally);
}

/* ---- all splits ------------------------------------------------------------------ */

static void report(const char *what, double *regrets, int count, const double marks[2])
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += regrets[i];
    double mean = 100 * sum / count,
           high = 100 * mmt_stats_quantile(regrets, count, 0.95);
    printf("  regret of %s: mean %.2f %%, 95th percentile %.1f %%, worst %.0f %%\n", what,
           mean, high, 100 * mmt_stats_quantile(regrets, count, 1));
    if (marks[0] > 0)
        CHECK(mean <= marks[0] && high <= marks[1]);
}

static void judge(const char *path, const struct options *o)
{
    static struct recorded recorded;
    static struct tally tally;
    memset(&tally, 0, sizeof tally);
    state = 1;
    if (!read_times(path, &recorded))
        return;
    if (o->fitted > 0) { /* the marks are for the file's own number */
        recorded.fitted = o->fitted;
        memset(recorded.marks, 0, sizeof recorded.marks);
    }
    for (int i = 0; i < o->splits; i++)
        split(&recorded, o, &tally);
    printf("%s: %d kernels, %d shapes, %d of them fitted, %d times\n", path,
           recorded.num_kernels, recorded.num_shapes, recorded.fitted, o->splits);
    printf("  residual %.3f, %d selections\n", tally.residual / o->splits, tally.count);
    CHECK(tally.count >= o->splits);
    report("the first", tally.regrets[FIRST], tally.count, recorded.marks[FIRST]);
    report("the best of five", tally.regrets[FEW], tally.count, recorded.marks[FEW]);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "splits", required_argument, NULL, 's' },
        { "fitted", required_argument, NULL, 'f' },
        { "regrets", no_argument, NULL, 'l' },
        { 0 },
    };
    struct options o = { .splits = 60 };
    for (int option; (option = getopt_long(argc, argv, "s:f:l", options, NULL)) != -1;) {
        o.splits = option == 's' ? atoi(optarg) : o.splits;
        o.fitted = option == 'f' ? atoi(optarg) : o.fitted;
        o.regrets |= option == 'l';
        if (option == '?')
            return 2;
    }
    if (optind == argc || o.splits < 1 || o.splits > MOST_SPLITS) {
        fprintf(stderr,
                "usage: replay_selection [--splits 1-%d] [--fitted SHAPES] [--regrets] "
                "TIMES.txt...\n",
                MOST_SPLITS);
        return 2;
    }
    for (; optind < argc; optind++)
        judge(argv[optind], &o);
    return test_end("replay_selection");
}
