/* What studies share, and a command line: reads its options, opens the device and the
 * output folder, and runs the named experiment. */
#include "study.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"

static const struct mmt_study *const studies[] = {
    &mmt_study_ladder,  &mmt_study_addition, &mmt_study_cards,     &mmt_study_longvector,
    &mmt_study_pyramid, &mmt_study_cg,       &mmt_study_crossover,
};

enum { NUM_STUDIES = sizeof studies / sizeof *studies };

/* ---- what studies share ----------------------------------------------------------- */

bool mmt_study_interrupted(void)
{
    return mmt_interrupted != 0;
}

static mmt_status print_json(const char *folder, const char *name, mmt_error *err)
{
    char path[4096];
    json_error_t where;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    json_t *root = json_load_file(path, 0, &where);
    if (!root)
        return mmt_study_fail(err, MMT_ERROR_IO, "%s cannot be read again: %s", path,
                              where.text);
    json_dumpf(root, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(root);
    return MMT_OK;
}

mmt_status mmt_study_show(const struct mmt_study_options *options,
                          const struct mmt_table *table, const char *name, mmt_error *err)
{
    mmt_status status = mmt_table_save(table, options->folder, name, err);
    if (status != MMT_OK || options->json)
        return status ? status : print_json(options->folder, name, err);
    mmt_table_print(table, stdout);
    printf("-> %s/%s.csv and .json\n", options->folder, name);
    return fflush(stdout) ? mmt_study_fail(err, MMT_ERROR_IO, "stdout cannot be written")
                          : MMT_OK;
}

mmt_status mmt_study_draw(const struct mmt_study_options *options,
                          const struct mmt_table *table, const struct mmt_plot *plot,
                          const char *name, mmt_error *err)
{
    mmt_status status = mmt_plot_save(table, plot, options->folder, name, err);
    if (status == MMT_OK && mmt_plot_any(table, plot))
        mmt_study_say(options, "-> %s/%s.svg", options->folder, name);
    return status;
}

void mmt_study_say(const struct mmt_study_options *options, const char *format, ...)
{
    va_list list;
    if (options->json)
        return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

static bool same_place(const struct mmt_paper_row *a, const struct mmt_paper_row *b)
{
    return a && !strcmp(a->where, b->where) && !strcmp(a->device, b->device) &&
           a->type == b->type && !strcmp(a->algorithm, b->algorithm) &&
           !strcmp(a->variant, b->variant);
}

/* Adds a line for each place with the doubt, and all sizes to it. */
static void add_places(const struct mmt_doubt *doubt, mmt_paper_concern *concerns,
                       const void *self, struct mmt_study_text *text)
{
    int count;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count), *last = NULL;

    for (int i = 0; i < count; i++) {
        const struct mmt_paper_row *row = &rows[i];
        if (row->doubt != doubt || !concerns(row, self))
            continue;
        if (!same_place(last, row))
            mmt_study_text_addf(text, "\n    %s, %s%s%s, %s on %s: n =", row->where,
                                row->algorithm, row->variant[0] ? " " : "", row->variant,
                                mmt_type_name(row->type), row->device);
        mmt_study_text_addf(text, "%s %lld", same_place(last, row) ? "," : "",
                            (long long) row->n);
        last = row;
    }
}

void mmt_study_say_doubts(const struct mmt_study_options *options,
                          mmt_paper_concern *concerns, const void *self)
{
    int count;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);

    for (int i = 0; i < count; i++) {
        const struct mmt_doubt *doubt = rows[i].doubt;
        bool told = !doubt || !concerns(&rows[i], self);
        struct mmt_study_text places = { 0 };
        for (int before = 0; before < i && !told; before++)
            told = rows[before].doubt == doubt && concerns(&rows[before], self);
        if (told)
            continue;
        add_places(doubt, concerns, self, &places);
        mmt_study_say(
            options, "%s in the paper, and %s: %s%s%s%s", mmt_grade_name(doubt->grade),
            doubt->time || doubt->rate ? "compared with nothing" : "compared", doubt->why,
            doubt->reading ? "; read it as: " : "", doubt->reading ? doubt->reading : "",
            mmt_study_text_string(&places));
        mmt_study_text_finish(&places);
    }
}

double mmt_study_until(const struct mmt_study_options *options)
{
    return options->seconds > 0 ? mmt_study_now() + options->seconds : INFINITY;
}

double mmt_study_crossing(const double *at, const double *first, const double *second,
                          int count)
{
    double above = -1;
    for (int i = count - 1; i >= 0; i--) {
        double gap = log(first[i] / second[i]);
        if (isnan(gap) || (gap > 0 && i == count - 1))
            return NAN;
        if (gap > 0)
            return at[i] * pow(at[i + 1] / at[i], gap / (gap - above));
        above = gap;
    }
    return 0;
}

void mmt_study_spread(int count, int *order)
{
    int done = 0, step = 1;
    while (step < count)
        step *= 2;
    for (order[done++] = count - 1; step > 1; step /= 2)
        for (int i = step / 2; i < count; i += step)
            order[done++] = count - 1 - i;
}

/* The least time above zero that two marks with nothing between them are apart; 0 where
 * they are not told apart. */
static mmt_status mark_step(mmt_device *device, double *step, mmt_error *err)
{
    mmt_timer *timer = mmt_timer_create(device, err);
    mmt_status status = timer ? MMT_OK : MMT_ERROR_DEVICE;

    *step = 0;
    for (int i = 0; i < 20 && status == MMT_OK; i++) {
        double seconds;
        status = mmt_timer_start(timer, err);
        if (status == MMT_OK)
            status = mmt_timer_stop(timer, &seconds, err);
        if (status == MMT_OK && seconds > 0 && (*step == 0 || seconds < *step))
            *step = seconds;
    }
    mmt_timer_free(timer);
    return status;
}

static double clock_step(void)
{
    struct timespec step;
    clock_getres(CLOCK_MONOTONIC, &step);
    return (double) step.tv_sec + 1e-9 * (double) step.tv_nsec;
}

/* Adds "with a profile for gemm f32, without one for gemm f64, gemm i32: defaults", of
 * what the study runs and the types that may be asked for. */
static void tell_profile(const struct mmt_study_options *options,
                         const struct mmt_study_device *device,
                         struct mmt_study_text *text)
{
    const unsigned types = mmt_study_types(options, options->study->types);
    struct mmt_study_text lists[2] = { { 0 }, { 0 } };

    for (int op = 0; op < MMT_STUDY_OPS; op++)
        for (int type = 0; type < MMT_STUDY_TYPES; type++) {
            struct mmt_study_text *list = &lists[device->known.tuned[op] >> type & 1];
            if (options->study->ops >> op & 1 && types >> type & 1)
                mmt_study_text_addf(list, "%s%s %s", list->length ? ", " : "",
                                    mmt_study_op_name((mmt_op) op),
                                    mmt_type_name((mmt_type) type));
        }
    if (!device->profile)
        mmt_study_text_add(text, "without a profile: defaults");
    else if (!lists[1].length)
        mmt_study_text_addf(text, "with a profile, but not for %s: defaults",
                            mmt_study_text_string(&lists[0]));
    else
        mmt_study_text_addf(
            text, "with a profile for %s%s%s%s", mmt_study_text_string(&lists[1]),
            lists[0].length ? ", without one for " : "", mmt_study_text_string(&lists[0]),
            lists[0].length ? ": defaults" : "");
    mmt_study_text_finish(&lists[0]);
    mmt_study_text_finish(&lists[1]);
}

static mmt_status introduce_device(const struct mmt_study_options *options,
                                   const struct mmt_study_device *slot, mmt_error *err)
{
    double step;
    struct mmt_study_text tuned = { 0 };
    mmt_status status = mark_step(slot->device, &step, err);
    if (status != MMT_OK)
        return status;
    tell_profile(options, slot, &tuned);
    mmt_study_say(options,
                  "%s, %s; the host's clock steps by %.0f ns, two marks of the device's "
                  "are %.2f us apart at the least",
                  mmt_device_name(slot->device), mmt_study_text_string(&tuned),
                  clock_step() * 1e9, step * 1e6);
    mmt_study_text_finish(&tuned);
    if (slot->facts.kind == MMT_DEVICE_CPU)
        mmt_study_say(options,
                      "%s is a CPU: its memory is the host's, and what is called copying "
                      "below is a copy within it",
                      slot->facts.id);
    return MMT_OK;
}

mmt_status mmt_study_open(const struct mmt_study_options *options,
                          struct mmt_study_device devices[MMT_STUDY_DEVICES],
                          mmt_error *err)
{
    for (int i = 0; i < options->devices.count; i++) {
        struct mmt_study_device *slot = &devices[i];
        slot->device = mmt_device_open(options->devices.each[i], err);
        if (!slot->device)
            return MMT_ERROR_ARGUMENT;
        slot->facts = mmt_device_facts_of(slot->device);
        if (!strcmp(slot->facts.api, "null"))
            return mmt_study_fail(
                err, MMT_ERROR_ARGUMENT,
                "--device %s executes nothing; a study needs one that does",
                slot->facts.id);
        slot->profile = mmt_profile_find(slot->device, NULL);
        slot->known = mmt_study_known(slot->profile);
        mmt_status status = introduce_device(options, slot, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

void mmt_study_close(struct mmt_study_device devices[MMT_STUDY_DEVICES])
{
    for (int i = 0; i < MMT_STUDY_DEVICES; i++) {
        mmt_profile_free(devices[i].profile);
        mmt_device_close(devices[i].device);
    }
}

/* Bytes that programs may still take; infinite where the system does not tell. */
static double free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    double kib = INFINITY;
    char line[128];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

mmt_status mmt_study_fits(const struct mmt_study_device *device, const char *what,
                          double host_bytes, double device_bytes, mmt_error *err)
{
    const double memory = (double) device->facts.memory;
    const double gib = 1024.0 * 1024 * 1024;
    double host = host_bytes + (device->facts.kind == MMT_DEVICE_CPU ? device_bytes : 0);

    if (memory > 0 && device_bytes > 0.95 * memory)
        return mmt_study_fail(err, MMT_ERROR_MEMORY,
                              "%s would take %.3g GiB on %s, which has %.3g GiB", what,
                              device_bytes / gib, device->facts.id, memory / gib);
    if (host > 0.9 * free_memory())
        return mmt_study_fail(
            err, MMT_ERROR_MEMORY,
            "%s would take %.3g GiB of the host's memory, of which %.3g GiB "
            "are free",
            what, host / gib, free_memory() / gib);
    return MMT_OK;
}

unsigned mmt_study_types(const struct mmt_study_options *options, unsigned usual)
{
    return options->types ? options->types : usual;
}

/* ---- help ------------------------------------------------------------------------- */

static int list_studies(void)
{
    printf(
        "usage: mmtune study NAME [OPTION...]\n\n"
        "Does the experiments of the papers behind mmtune again, on a device of today.\n"
        "`mmtune study NAME --help` explains one.\n\n");
    for (int i = 0; i < NUM_STUDIES; i++)
        printf("  %-12s%s\n", studies[i]->name, studies[i]->what);
    return MMT_EXIT_DONE;
}

static void describe(const struct mmt_study *study, struct mmt_study_text *about)
{
    mmt_study_text_addf(about, "usage: mmtune study %s %s[OPTION...]\n\n%s.\n%s",
                        study->name, study->heeds & MMT_HEEDS_WORDS ? "FILE FILE " : "",
                        study->what, study->notes);
}

/* ---- the command line ------------------------------------------------------------- */

static mmt_status take_device(void *self, const char *piece, mmt_error *err)
{
    struct mmt_words *devices = self;
    if (devices->count == MMT_STUDY_DEVICES)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--device '%s' is one too many; there may be %d", piece,
                              MMT_STUDY_DEVICES);
    return mmt_words_take(devices, piece, err);
}

static mmt_status take_size(void *self, const char *piece, mmt_error *err)
{
    struct mmt_study_options *options = self;
    if (options->num_sizes == MMT_STUDY_SIZES)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--sizes '%s' is one too many; there may be %d", piece,
                              MMT_STUDY_SIZES);
    /* what the library takes of m, n and k */
    return mmt_option_number("--sizes", piece, 1, INT32_MAX - 65535,
                             &options->sizes[options->num_sizes++], err);
}

static mmt_status take_type(void *self, const char *piece, mmt_error *err)
{
    unsigned *types = self;
    mmt_type type = MMT_F32;
    mmt_status status = mmt_option_type(piece, &type, err);
    if (status == MMT_OK && (int) type >= MMT_STUDY_TYPES)
        status = mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                                "--type has %s; the papers have f32, f64 and i32",
                                mmt_type_name(type));
    if (status == MMT_OK)
        *types |= 1u << type;
    return status;
}

/* The last list counts. */
static mmt_status read_types(const struct mmt_take *take, const char *value,
                             mmt_error *err)
{
    *(unsigned *) take->out = 0;
    if (!*value)
        return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "--type is empty; say f32, or more");
    return mmt_option_each(value, take->out, take_type, err);
}

static const char *const papers[] = { "zatolokin", "semenenko", "gts250", "ustyuzhanin",
                                      NULL };

/* Sizes ascend, each once: times on one core are extended from the sizes below. */
static void sort_sizes(struct mmt_study_options *o)
{
    int kept = 0;
    for (int i = 1; i < o->num_sizes; i++)
        for (int j = i; j > 0 && o->sizes[j] < o->sizes[j - 1]; j--) {
            int64_t size = o->sizes[j];
            o->sizes[j] = o->sizes[j - 1];
            o->sizes[j - 1] = size;
        }
    for (int i = 0; i < o->num_sizes; i++)
        if (!kept || o->sizes[i] != o->sizes[kept - 1])
            o->sizes[kept++] = o->sizes[i];
    o->num_sizes = kept;
}

enum { MOST_TAKES = 13 };

/* The options that the study heeds; how many. */
static size_t list_takes(unsigned heeds, struct mmt_study_options *o,
                         struct mmt_take takes[MOST_TAKES])
{
    const struct {
        unsigned heeds; /* 0: every study does */
        struct mmt_take take;
    } all[MOST_TAKES] = {
        { MMT_HEEDS_DEVICES,
          { .option = MMT_OPTION_DEVICE,
            .out = &o->devices,
            .value = "LIST",
            .what = "one or more, such as cuda:0,opencl:0; default: 0",
            .each = take_device } },
        { MMT_HEEDS_TYPES,
          { .option = MMT_OPTION_TYPE,
            .out = &o->types,
            .what = "of f32, f64 and i32; default: as the paper has them",
            .read = read_types } },
        { MMT_HEEDS_SIZES, { .option = MMT_OPTION_SIZES, .out = o, .each = take_size } },
        { MMT_HEEDS_REPETITIONS,
          { .option = MMT_OPTION_REPETITIONS, .out = &o->repetitions } },
        { MMT_HEEDS_SECONDS,
          { .option = MMT_OPTION_SECONDS,
            .out = &o->seconds,
            .what = "repeat one row for no longer, or measure no longer in all "
                    "(longvector, pyramid); default: 0 s, no limit" } },
        { MMT_HEEDS_PAPER,
          { .option = MMT_OPTION_PAPER, .out = &o->paper, .words = papers } },
        { MMT_HEEDS_CPU, { .option = MMT_OPTION_CPU_SECONDS, .out = &o->cpu_seconds } },
        { MMT_HEEDS_MEMORY, { .option = MMT_OPTION_MEMORY, .out = &o->memory } },
        { MMT_HEEDS_SEED, { .option = MMT_OPTION_SEED, .out = &o->seed } },
        { MMT_HEEDS_CONDITION, { .option = MMT_OPTION_CONDITION, .out = &o->condition } },
        { MMT_HEEDS_ALL_STEPS, { .option = MMT_OPTION_ALL_STEPS, .out = &o->all_steps } },
        { 0,
          { .option = MMT_OPTION_OUTPUT,
            .out = &o->folder,
            .value = "FOLDER",
            .what = "for CSV, JSON and SVG; default: study-NAME" } },
        { 0,
          { .option = MMT_OPTION_JSON,
            .out = &o->json,
            .what = "JSON lines, one a table" } },
    };
    size_t count = 0;
    for (int i = 0; i < MOST_TAKES; i++)
        if (!all[i].heeds || all[i].heeds & heeds)
            takes[count++] = all[i].take;
    return count;
}

/* Returns -1, or the exit status where that was all there is to do. */
static int read_options(const struct mmt_study *study, const char *name, int argc,
                        char **argv, struct mmt_study_options *options)
{
    struct mmt_take takes[MOST_TAKES];
    struct mmt_study_text about = { 0 };
    mmt_error err = { 0 };
    describe(study, &about);
    const struct mmt_command command = {
        .name = name,
        .about = mmt_study_text_string(&about),
        .takes = takes,
        .num_takes = list_takes(study->heeds, options, takes),
        .most_words = study->heeds & MMT_HEEDS_WORDS ? INT_MAX : 0,
    };
    int code = mmt_command_read(&command, argc, argv);
    mmt_study_text_finish(&about);
    options->words = argv + optind;
    options->num_words = argc - optind;
    sort_sizes(options);
    if (code < 0 && !options->devices.count && study->heeds & MMT_HEEDS_DEVICES &&
        mmt_words_take(&options->devices, "0", &err))
        code = mmt_failed(name, &err);
    return code;
}

static const struct mmt_study *find_study(const char *name)
{
    const char *names[NUM_STUDIES + 1] = { NULL };
    mmt_error err;
    int found;
    for (int i = 0; i < NUM_STUDIES; i++)
        names[i] = studies[i]->name;
    if (mmt_option_find("study", names, name, &found, &err) == MMT_OK)
        return studies[found];
    mmt_wrong_usage("study", "%s", err.text);
    return NULL;
}

static int run_study(const struct mmt_study_options *options, const char *name)
{
    mmt_error err = { 0 };
    mmt_hear_interrupts(
        "study", "tables that were saved are whole, what is not yet saved is lost");
    if (options->study->run(options, &err))
        return mmt_failed_or_usage(name, &err);
    if (mmt_interrupted)
        return mmt_say_interrupted("study", "tables have what was measured until then");
    return MMT_EXIT_DONE;
}

int mmt_study_start(int argc, char **argv)
{
    char folder[64], name[64];

    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return list_studies();
    const struct mmt_study *study = find_study(argv[1]);
    if (!study)
        return MMT_EXIT_USAGE;
    snprintf(folder, sizeof folder, "study-%s", study->name);
    snprintf(name, sizeof name, "study %s", study->name);
    struct mmt_study_options options = {
        .study = study,
        .folder = folder,
        .cpu_seconds = 10,
        .seed = 1,
        .condition = MMT_STUDY_CONDITION,
    };
    int code = read_options(study, name, argc - 1, argv + 1, &options);
    if (code < 0)
        code = run_study(&options, name);
    mmt_words_finish(&options.devices);
    return code;
}
