/* Replays recorded spaces: how many tries a search needs.
 *
 *     replay_search [--repeats N] [--search NAME] [--quick] SPACE.txt…
 *
 * Each space was measured exhaustively once (tools/convert_spaces.py says from where), so
 * a search is judged by looking times up. Each is also replayed in disguise: its knobs'
 * order and values permuted, its times perturbed, so that nothing that is known of the
 * space can help. Prints the percentage of the optimum after 50, 100 and 220 tries,
 * median and 10th percentile, and fails where the default search misses its marks. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"
#include "tuner/search/search.h"

enum { MAX_VALUES = 10, NUM_MARKS = 3, MAX_REPEATS = 101 };
static const int marks[NUM_MARKS] = { 50, 100, 220 };

struct space {
    char name[96];
    int num_knobs, num_values[MMT_SEARCH_MAX_KNOBS];
    char names[MMT_SEARCH_MAX_KNOBS][32];
    double values[MMT_SEARCH_MAX_KNOBS][MAX_VALUES];
    float *times; /* by rank; 0 where there is no such configuration */
    size_t size;
    double best;
};

static size_t rank(const struct space *space, const int *index)
{
    size_t r = 0;
    for (int i = 0; i < space->num_knobs; i++)
        r = r * (size_t) space->num_values[i] + (size_t) index[i];
    return r;
}

static bool legal(void *ctx, const int *index)
{
    const struct space *space = ctx;
    return space->times[rank(space, index)] > 0;
}

/* ---- reading --------------------------------------------------------------------- */

static void add_knob(struct space *space, char *line)
{
    int knob = space->num_knobs++;
    char *word = strtok(line, " \n");
    snprintf(space->names[knob], sizeof space->names[knob], "%s", word);
    while ((word = strtok(NULL, " \n")) && space->num_values[knob] < MAX_VALUES)
        space->values[knob][space->num_values[knob]++] = atof(word);
}

static void make_room(struct space *space)
{
    space->size = 1;
    for (int i = 0; i < space->num_knobs; i++)
        space->size *= (size_t) space->num_values[i];
    space->times = calloc(space->size, sizeof *space->times);
    if (!space->times)
        exit(1);
}

/* The first digits of a configuration, then the times of all that begin so, by rank; -N
 * where there are no N configurations. */
static void add_times(struct space *space, char *line)
{
    int index[MMT_SEARCH_MAX_KNOBS] = { 0 };
    char *word = strtok(line, " \n");
    if (!space->times)
        make_room(space);
    for (int i = 0; word[i]; i++)
        index[i] = word[i] - '0';
    size_t at = rank(space, index);
    while ((word = strtok(NULL, " \n"))) {
        const float time = strtof(word, NULL);
        if (time > 0)
            space->times[at] = time;
        at += time > 0 ? 1 : (size_t) -time;
    }
}

static void find_best(struct space *space)
{
    space->best = INFINITY;
    for (size_t i = 0; i < space->size; i++)
        if (space->times[i] > 0)
            space->best = fmin(space->best, space->times[i]);
}

static bool read_space(const char *path, struct space *space)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    *space = (struct space){ 0 };
    if (!file) {
        perror(path);
        return false;
    }
    while (getline(&line, &room, file) > 0) {
        if (!strncmp(line, "space ", 6))
            sscanf(line + 6, "%95s", space->name);
        else if (!strncmp(line, "knob ", 5))
            add_knob(space, line + 5);
        else
            add_times(space, line);
    }
    free(line);
    fclose(file);
    find_best(space);
    return space->times != NULL;
}

/* ---- disguise -------------------------------------------------------------------- */

static unsigned long long random_state = 1;

static double uniform(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (random_state >> 11) * 0x1p-53;
}

static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int) (uniform() * (i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* The same landscape under other names: knobs in another order, half of them with their
 * values listed backwards and inverted, times perturbed by 3 % and bent by a power. */
static void disguise(const struct space *from, struct space *to)
{
    int order[MMT_SEARCH_MAX_KNOBS], was[MMT_SEARCH_MAX_KNOBS];
    bool backwards[MMT_SEARCH_MAX_KNOBS];

    *to = *from;
    snprintf(to->name, sizeof to->name, "%.80s disguised", from->name);
    shuffle(order, from->num_knobs);
    for (int i = 0; i < to->num_knobs; i++) {
        int count = to->num_values[i] = from->num_values[order[i]];
        backwards[i] = uniform() < 0.5;
        snprintf(to->names[i], sizeof to->names[i], "K%d", i);
        for (int v = 0; v < count; v++)
            to->values[i][v] = backwards[i]
                                   ? 1000 / (1 + from->values[order[i]][count - 1 - v])
                                   : from->values[order[i]][v];
    }
    make_room(to);
    for (size_t r = 0; r < to->size; r++) {
        size_t rest = r;
        for (int i = to->num_knobs - 1; i >= 0; i--) {
            int count = to->num_values[i], v = (int) (rest % (size_t) count);
            was[order[i]] = backwards[i] ? count - 1 - v : v;
            rest /= (size_t) count;
        }
        float time = from->times[rank(from, was)];
        to->times[r] =
            time > 0 ? (float) (pow(time, 1.1) * (1 + 0.06 * (uniform() - 0.5))) : 0;
    }
    find_best(to);
}

/* ---- judging --------------------------------------------------------------------- */

/* Percentage of the optimum at each mark. */
static void replay(const struct space *space, const char *strategy, uint64_t seed,
                   double percent[NUM_MARKS])
{
    const char *names[MMT_SEARCH_MAX_KNOBS];
    const double *values[MMT_SEARCH_MAX_KNOBS];
    for (int i = 0; i < space->num_knobs; i++) {
        names[i] = space->names[i];
        values[i] = space->values[i];
    }
    struct mmt_search_space view = { .num_knobs = space->num_knobs,
                                     .num_values = space->num_values,
                                     .names = names,
                                     .values = values,
                                     .legal = legal,
                                     .ctx = (void *) (uintptr_t) space };
    struct mmt_search *search = mmt_search_create(strategy, &view, seed, NULL, 0, &err);
    double best = INFINITY;
    int index[MMT_SEARCH_MAX_KNOBS];

    if (!search) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    for (int tries = 1, mark = 0; mark < NUM_MARKS; tries++) {
        if (mmt_search_ask(search, index)) {
            double time = space->times[rank(space, index)];
            mmt_search_tell(search, index, time * 1e-6);
            best = fmin(best, time);
        }
        if (tries == marks[mark])
            percent[mark++] = 100 * space->best / best;
    }
    mmt_search_free(search);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* What the best public tuner reaches on these spaces: median % of the optimum after 50,
 * 100 and 220 tries. A space that is not named has the last line's. */
static const struct {
    const char *name;
    double wanted[NUM_MARKS];
} public_tuner[] = {
    { "RTX_2080_Ti", { 91, 99, 99.95 } },
    { "", { 90, 98, 99.95 } },
};

static const double *wanted_of(const struct space *space)
{
    int i = 0;
    while (!strstr(space->name, public_tuner[i].name))
        i++;
    return public_tuner[i].wanted;
}

/* Strictly: not under the public tuner, and a 10th percentile of 95 % after 220 tries. */
static void judge(const struct space *space, const char *strategy, int repeats,
                  bool strict)
{
    static double percent[NUM_MARKS][MAX_REPEATS];
    const double *wanted = wanted_of(space);

    for (int i = 0; i < repeats; i++) {
        double one[NUM_MARKS];
        replay(space, strategy, (uint64_t) i + 1, one);
        for (int mark = 0; mark < NUM_MARKS; mark++)
            percent[mark][i] = one[mark];
    }
    printf("%-40s %-10s", space->name, strategy);
    for (int mark = 0; mark < NUM_MARKS; mark++) {
        qsort(percent[mark], (size_t) repeats, sizeof **percent, ascending);
        double median = percent[mark][repeats / 2], low = percent[mark][repeats / 10];
        printf("  %5.1f (%5.1f)", median, low);
        if (strict)
            CHECK(median >= wanted[mark]);
        if (strict && mark == NUM_MARKS - 1)
            CHECK(low >= 95);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "repeats", required_argument, NULL, 'r' },
                                             { "search", required_argument, NULL, 's' },
                                             { 0 } };
    const char *strategy = mmt_search_names[0];
    int repeats = 31, option;

    while ((option = getopt_long(argc, argv, "r:s:", options, NULL)) != -1) {
        if (option == 'r')
            repeats = atoi(optarg);
        else if (option == 's')
            strategy = optarg;
        else
            return 2;
    }
    if (repeats < 1 || repeats > MAX_REPEATS || optind == argc) {
        fprintf(stderr,
                "usage: replay_search [--repeats 1-%d] [--search NAME] SPACE.txt...\n",
                MAX_REPEATS);
        return 2;
    }
    printf("%% of the optimum after 50, 100, 220 tries: median (10th percentile), %d "
           "seeds\n",
           repeats);
    bool strict = !strcmp(strategy, mmt_search_names[0]);
    for (; optind < argc; optind++) {
        struct space space, other;
        if (!read_space(argv[optind], &space))
            return 1;
        judge(&space, strategy, repeats, strict);
        disguise(&space, &other);
        judge(&other, strategy, repeats, strict);
        free(space.times);
        free(other.times);
    }
    return strict ? test_end("replay_search") : 0;
}
