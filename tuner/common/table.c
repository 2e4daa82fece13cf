/* The options of all verbs: the one table of them, how a command line is read by it, and
 * the help that it gives. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "tuner/common/readers.h"

/* ---- closed sets ----------------------------------------------------------------- */

static const char *op_name(int op)
{
    return mmt_op_row((mmt_op) op)->name;
}

static const char *bias_name(int bias)
{
    return mmt_bias_name((mmt_bias) bias);
}

static const char *activation_name(int activation)
{
    return mmt_activation_name((mmt_activation) activation);
}

static const char *const *fill(const char *names[], int count, const char *(*name)(int) )
{
    for (int i = 0; i < count; i++)
        names[i] = name(i);
    return names;
}

static const char *const *op_words(void)
{
    static const char *names[MMT_NUM_OPS + 1];
    return fill(names, MMT_NUM_OPS, op_name);
}

static const char *const *bias_words(void)
{
    static const char *names[MMT_NUM_BIASES + 1];
    return fill(names, MMT_NUM_BIASES, bias_name);
}

static const char *const *activation_words(void)
{
    static const char *names[MMT_NUM_ACTIVATIONS + 1];
    return fill(names, MMT_NUM_ACTIVATIONS, activation_name);
}

static const char *batch_by_name(int batch_by)
{
    return mmt_batch_by_name((mmt_batch_by) batch_by);
}

static const char *const *batch_by_words(void)
{
    static const char *names[MMT_NUM_BATCH_BYS + 1];
    return fill(names, MMT_NUM_BATCH_BYS, batch_by_name);
}

static const char *const *ld_words(void)
{
    static const char *const names[] = { "packed", "odd", NULL };
    return names;
}

static const char *const *f32_words(void)
{
    static const char *const names[] = { "strict", "emulated", NULL };
    return names;
}

/* ---- the table ------------------------------------------------------------------- */

static const struct row {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* the word for its value, or its unit; NULL: it takes none */
    mmt_reader *read;  /* NULL: each verb has its own way */
    const char *verbs; /* that take it */
    const char *what;  /* {} stands for the words */
    const char *const *(*words)(void); /* NULL: no closed set, or the verb's */
    int64_t least, most;               /* of a number */
} rows[MMT_NUM_OPTIONS] = {
    [MMT_OPTION_DEVICE] = { "--device", 'd', "DEVICE", mmt_option_read_word,
                            "tune, templates, verify, regret, show, bundle, bench, "
                            "study, recorded, report",
                            "a number or id of `mmtune devices`; default: 0" },
    [MMT_OPTION_FOR] = { "--for", 0, "CARD", mmt_option_read_word, "compile",
                         "null:sm_90 and the like, or a profile (FILE) of the very "
                         "card, whose multiprocessors are known" },
    [MMT_OPTION_ARCH] = { "--arch", 0, "LIST", mmt_option_read_words, "bundle",
                          "of CUDA's architectures, such as sm_80,sm_90" },
    [MMT_OPTION_PROFILE] = { "--profile", 0, "FILE", mmt_option_read_word,
                             "regret, bundle, bench",
                             "whose kernels are compared; default: the device's own" },
    [MMT_OPTION_FILE] = { "--file", 0, "FILE", mmt_option_read_word, "recorded, report",
                          "a recording; default: the device's own" },
    [MMT_OPTION_RUN] = { "--run", 0, "ID", mmt_option_read_word, "recorded",
                         "what one run of a program computed: its MMTUNE_RUN_ID, or its "
                         "process's number; default: all" },
    [MMT_OPTION_SHARD] = { "--shard", 0, "PART", mmt_option_read_shard, "tune",
                           "I/N: of the problems, in their order, each N-th from the "
                           "I-th on; a range of m counts as one" },
    [MMT_OPTION_RECORDED] = { "--recorded", 0, NULL, mmt_option_read_flag, "tune, bundle",
                              "tune what programs computed here, what may save most "
                              "time first, and find whether ours or their library is "
                              "faster; FILE: a recording in place of the device's own" },
    [MMT_OPTION_F32] = { "--f32", 0, "NAME", mmt_option_read_choice, "tune, run",
                         "{}; of programs' f32: emulated may also use tensor cores, "
                         "within a bound of its own; default: strict",
                         f32_words },
    [MMT_OPTION_OP] = { "--op", 'p', "NAME", mmt_option_read_op,
                        "tune, compile, verify, show, diff, bundle",
                        "what is computed: {}; default: gemm", op_words },
    [MMT_OPTION_TYPE] = { "--type", 't', "LIST", mmt_option_read_types,
                          "tune, compile, templates, emit, verify, regret, show, diff, "
                          "bundle, "
                          "bench, study",
                          "of {}; default: f32", mmt_type_words },
    [MMT_OPTION_OUT] = { "--out", 0, "TYPE", mmt_option_read_out,
                         "tune, compile, emit, verify, bundle, bench",
                         "C's, where a type has a choice; default: its own" },
    [MMT_OPTION_BIAS] = { "--bias", 0, "NAME", mmt_option_read_bias,
                          "emit, verify, bundle", "what is added to C: {}; default: none",
                          bias_words },
    [MMT_OPTION_ACTIVATION] = { "--activation", 0, "NAME", mmt_option_read_activation,
                                "emit, verify, bundle", "of C: {}; default: none",
                                activation_words },
    [MMT_OPTION_BATCH_BY] = { "--batch-by", 0, "NAME", mmt_option_read_batch_by,
                              "emit, verify",
                              "how a batch's matrices are found: {}; default: stride",
                              batch_by_words },
    [MMT_OPTION_SHAPE] = { "--shape", 's', "LIST", mmt_option_read_words,
                           "tune, compile, verify, bundle, bench",
                           "of MxNxK, or MxNxKxBATCH for a batch" },
    [MMT_OPTION_EXPLAIN] = { "--explain", 'e', "LIST", mmt_option_read_words, "show",
                             "of shapes, MxNxK: which kernel the library chooses for "
                             "each, why, and what is expected of each kernel that is "
                             "kept" },
    [MMT_OPTION_SUITE] = { "--suite", 0, "LIST", NULL, "tune, compile, bundle, bench",
                           "of those that `mmtune suites` lists: {}; default: default, "
                           "where no "
                           "--shape is named" },
    [MMT_OPTION_SHAPES] = { "--shapes", 0, "COUNT", mmt_option_read_count, "regret",
                            "how many shapes are drawn at random; default: 30", NULL, 1,
                            100000 },
    [MMT_OPTION_SIZES] = { "--sizes", 0, "LIST", NULL, "study",
                           "see above; default: as the paper has them" },
    [MMT_OPTION_TRANSPOSES] = { "--transposes", 'x', "LIST", mmt_option_read_transposes,
                                "tune, compile, emit, verify, show, bundle, bench",
                                "of {}: A first, t is transposed; default: nn",
                                mmt_transposes_words },
    [MMT_OPTION_LD] = { "--ld", 0, "LIST", mmt_option_read_picks,
                        "tune, compile, bundle, bench",
                        "of {}: leading dimensions without gap, or odd ones that leave "
                        "no row of a product aligned; default: packed",
                        ld_words },
    [MMT_OPTION_TEMPLATE] = { "--template", 0, "NAME", NULL, "tune, compile, verify",
                              "this template alone; see `mmtune templates`; default: "
                              "all" },
    [MMT_OPTION_CONFIGURATION] = { "--configuration", 'c', "TEXT", mmt_option_read_word,
                                   "bench",
                                   "such as 'tiled TILE=16', instead of what the profile "
                                   "chooses" },
    [MMT_OPTION_SAMPLE] = { "--sample", 0, "COUNT", mmt_option_read_count, "verify",
                            "configurations at random a template; default: 2", NULL, 0,
                            1000000 },
    [MMT_OPTION_DIALECT] = { "--dialect", 0, "NAME", NULL, "emit",
                             "{}; default: what the template is written for" },
    [MMT_OPTION_KIND] = { "--kind", 'k', "NAME", NULL, "emit",
                          "what it is to run on: {}; default: the template's first" },
    [MMT_OPTION_UNALIGNED] = { "--unaligned", 0, NULL, mmt_option_read_flag, "emit",
                               "the text for operands of any alignment" },
    [MMT_OPTION_AGAINST] = { "--against", 0, "LIST", NULL, "bench",
                             "of {}, which must be there, or none; default: those that "
                             "are there" },
    [MMT_OPTION_CLBLAST_TUNED] = { "--clblast-tuned", 0, "FOLDER", mmt_option_read_word,
                                   "bench",
                                   "CLBlast with what its own tuners wrote there "
                                   "(clblast_xgemm*.json)" },
    [MMT_OPTION_EFFORT] = { "--effort", 0, "NAME", NULL, "bench",
                            "{}; with measure, plans time the kernels that promise most; "
                            "default: estimate" },
    [MMT_OPTION_SEARCH] = { "--search", 0, "NAME", mmt_option_read_choice,
                            "tune, compile",
                            "how candidates are found: {}; default: auto" },
    [MMT_OPTION_BUDGET] = { "--budget", 'b', "BUDGET", mmt_option_read_budget,
                            "tune, compile, regret",
                            "a time, 90s, 5m or 1h, or candidates, 200c; default: 5m" },
    [MMT_OPTION_REPETITIONS] = { "--repetitions", 0, "COUNT", mmt_option_read_count,
                                 "study",
                                 "of each measurement; default: as the paper has them",
                                 NULL, 1, 100000 },
    [MMT_OPTION_SECONDS] = { "--seconds", 0, "SECONDS", mmt_option_read_seconds,
                             "bench, study", "for each library and problem; default: 1 s",
                             NULL, 0, 1000000 },
    [MMT_OPTION_CPU_SECONDS] = { "--cpu-seconds", 0, "SECONDS", mmt_option_read_seconds,
                                 "study",
                                 "leave out what would take one core longer; default: "
                                 "10 s",
                                 NULL, 0, 1000000 },
    [MMT_OPTION_LIMIT] = { "--limit", 0, "SECONDS", mmt_option_read_seconds,
                           "tune, verify, regret",
                           "after which a candidate is killed; default: 5 s, and what "
                           "the problem's size and the best so far add",
                           NULL, 1, 86400 },
    [MMT_OPTION_MEMORY] = { "--memory", 0, "BYTES", mmt_option_read_bytes, "study",
                            "of the device that may be used; default: what the study "
                            "takes",
                            NULL, 1, 1000000000000000 },
    [MMT_OPTION_PAPER] = { "--paper", 0, "NAME", mmt_option_read_choice, "study",
                           "{}; default: all" },
    [MMT_OPTION_SEED] = { "--seed", 0, "NUMBER", mmt_option_read_count,
                          "tune, compile, verify, regret, bench, study",
                          "of the data; default: 1", NULL, 0, INT64_MAX },
    [MMT_OPTION_CONDITION] = { "--condition", 0, "NUMBER", mmt_option_read_count, "study",
                               "of the systems' matrices, the largest eigenvalue over "
                               "the smallest; default: 10",
                               NULL, 1, 1000000000000 },
    [MMT_OPTION_ALL_STEPS] = { "--all-steps", 0, NULL, mmt_option_read_flag, "study",
                               "n - 1 steps of an iteration, as the paper has them, "
                               "instead of a tolerance" },
    [MMT_OPTION_WITH] = { "--with", 0, "FILE", mmt_option_read_word, "tune",
                          "also measure another profile's winners here" },
    [MMT_OPTION_FIT] = { "--fit", 'f', NULL, mmt_option_read_flag, "merge",
                         "fit the models anew, to all times in the journals "
                         "beside the files" },
    [MMT_OPTION_PRUNE] = { "--prune", 0, NULL, mmt_option_read_flag, "recorded",
                           "first drop the calls that took less than 0.1 % of the time, "
                           "or of calls whose time is unknown, and add the runs up" },
    [MMT_OPTION_WHY] = { "--why", 'w', NULL, mmt_option_read_flag, "templates",
                         "also why the others are not legal, and how many each" },
    [MMT_OPTION_COMMON] = { "--common", 0, NULL, mmt_option_read_flag, "diff",
                            "only problems that both profiles have" },
    [MMT_OPTION_ALL] = { "--all", 'a', NULL, mmt_option_read_flag, "diff",
                         "every problem, and every kernel of either profile" },
    [MMT_OPTION_RECORD] = { "--record", 0, NULL, mmt_option_read_flag, "run",
                            "take nothing over, write down what is multiplied" },
    [MMT_OPTION_CHECK] = { "--check", 0, NULL, mmt_option_read_flag, "run",
                           "also compute the first calls of each kind by the library, "
                           "and compare" },
    [MMT_OPTION_VERBOSE] = { "--verbose", 'v', NULL, mmt_option_read_flag, "run",
                             "name the kernel of each kind of call once" },
    [MMT_OPTION_NVTX] = { "--nvtx", 0, NULL, mmt_option_read_flag, "run",
                          "an NVTX range around each call that is taken over" },
    [MMT_OPTION_WORKSPACE] = { "--workspace", 0, "BYTES", mmt_option_read_bytes, "run",
                               "of a device that our kernels may take in all; default: "
                               "256M. With --f32 emulated also of the program's own "
                               "workspace; default: 512M",
                               NULL, 0, 1000000000000000 },
    [MMT_OPTION_WAIT] = { "--wait", 0, "SECONDS", mmt_option_read_seconds, "run",
                          "that the program's first call may wait until kernels are "
                          "ready; default: 0.2 s for those that are compiled",
                          NULL, 0, 86400 },
    [MMT_OPTION_NO_AUDIT] = { "--no-audit", 0, NULL, mmt_option_read_flag, "run",
                              "leave out the auditor, by which programs that find cuBLAS "
                              "by dlsym are reached, too" },
    [MMT_OPTION_BLAS] = { "--blas", 0, NULL, mmt_option_read_flag, "run",
                          "also sgemm and dgemm of BLAS, with matrices in host memory" },
    [MMT_OPTION_OUTPUT] = { "--output", 'o', "FILE", mmt_option_read_word,
                            "tune, emit, merge, share, bundle, study, report",
                            "default: standard output" },
    [MMT_OPTION_ARRAY] = { "--c", 0, "FILE", mmt_option_read_word, "bundle",
                           "the bundle as a C file, to compile in and to give to "
                           "mmt_profile_parse" },
    [MMT_OPTION_CSV] = { "--csv", 0, "FILE", mmt_option_read_word, "bench",
                         "also write a line for each library and problem" },
    [MMT_OPTION_DATA] = { "--data", 0, "FOLDER", mmt_option_read_word, "report",
                          "also write each table there, as CSV and JSON" },
    [MMT_OPTION_HTML] = { "--html", 0, "FILE", mmt_option_read_word, "diff",
                          "also write a page for browsers, with pictures" },
    [MMT_OPTION_RESUME] = { "--resume", 0, NULL, NULL, "tune",
                            "go on from the journal; the default" },
    [MMT_OPTION_RACES] = { "--races", 0, NULL, mmt_option_read_flag, "verify",
                           "look for data races in every kernel, however long it takes, "
                           "--limit at most; default: in the first of each template, for "
                           "a "
                           "tenth of the other checks' time" },
    [MMT_OPTION_FRESH] = { "--fresh", 0, NULL, mmt_option_read_flag, "tune",
                           "forget what was learned of these types, this op and "
                           "--template; FILE.before has the profile as it was until the "
                           "run ends" },
    [MMT_OPTION_JSON] = { "--json", 'j', NULL, mmt_option_read_flag,
                          "devices, suites, templates, tune, regret, show, profiles, "
                          "diff, bench, "
                          "study, recorded",
                          "one JSON document instead of text" },
    [MMT_OPTION_HELP] = { "--help", 'h', NULL, NULL,
                          "tune, compile, devices, suites, templates, emit, verify, "
                          "regret, show, "
                          "profiles, diff, merge, share, bundle, bench, study, recorded, "
                          "report, run",
                          "this text" },
};

/* No verb's name is a part of another's. */
static bool has_verb(const struct row *row, const char *verb)
{
    const size_t length = strcspn(verb, " ");
    for (const char *at = row->verbs; *at; at++)
        if (!strncmp(at, verb, length))
            return true;
    return false;
}

/* With all that the table says where the command says nothing. */
static struct mmt_take complete(const struct mmt_take *take)
{
    const struct row *row = &rows[take->option];
    struct mmt_take whole = *take;
    whole.name = row->name;
    if (!whole.value)
        whole.value = row->value;
    if (!whole.what)
        whole.what = row->what;
    if (!whole.words && row->words)
        whole.words = row->words();
    if (!whole.read && !whole.each)
        whole.read = row->read;
    if (!whole.least && !whole.most)
        whole.least = row->least, whole.most = row->most;
    return whole;
}

/* ---- help ------------------------------------------------------------------------ */

enum { WIDTH = 90 };

static int add_names(const struct mmt_take *take, struct mmt_text *text)
{
    const struct row *row = &rows[take->option];
    const size_t before = text->length;
    if (row->letter)
        mmt_text_addf(text, "  -%c, %s", row->letter, row->name);
    else
        mmt_text_addf(text, "      %s", row->name);
    if (take->value)
        mmt_text_addf(text, " %s", take->value);
    return (int) (text->length - before);
}

static void add_what(const struct mmt_take *take, struct mmt_text *text)
{
    const char *mark = strstr(take->what, "{}");
    if (!mark) {
        mmt_text_add(text, take->what);
        return;
    }
    mmt_text_add_bytes(text, take->what, (size_t) (mark - take->what));
    mmt_near_list(take->words, strcmp(take->value, "LIST") ? "or" : "and", text);
    mmt_text_add(text, mark + 2);
}

static void add_option(const struct mmt_take *take, int column, struct mmt_text *text)
{
    struct mmt_text what = { 0 };
    const int at = add_names(take, text);
    add_what(take, &what);
    mmt_print_wrapped(mmt_text_string(&what), column, at, WIDTH, text);
    mmt_text_finish(&what);
}

static const struct mmt_take *find_take(const struct mmt_command *command,
                                        enum mmt_option option)
{
    static const struct mmt_take help = { .option = MMT_OPTION_HELP };
    for (size_t i = 0; i < command->num_takes; i++)
        if (command->takes[i].option == option)
            return &command->takes[i];
    return option == MMT_OPTION_HELP ? &help : NULL;
}

/* Where the help of options begins: behind the widest names. */
static int find_column(const struct mmt_command *command)
{
    int widest = 0;
    for (int i = 0; i < MMT_NUM_OPTIONS; i++) {
        const struct mmt_take *take = find_take(command, (enum mmt_option) i);
        struct mmt_text names = { 0 };
        if (!take)
            continue;
        const struct mmt_take whole = complete(take);
        const int width = add_names(&whole, &names);
        widest = width > widest ? width : widest;
        mmt_text_finish(&names);
    }
    return widest + 2;
}

/* What words for values mean. */
static const struct {
    const char *value, *what;
} meanings[] = {
    { "LIST",
      "A LIST has commas between its pieces; @FILE stands for the lines of a file, "
      "of which # begins a comment." },
    { "SECONDS", "SECONDS may have another unit: 20ms, 5m, 1h." },
    { "BYTES", "BYTES may have a unit: 256M or 256MiB, 2G or 2GiB." },
};

static void add_meanings(const struct mmt_command *command, struct mmt_text *text)
{
    bool any = false;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        for (size_t j = 0; j < command->num_takes; j++) {
            const struct mmt_take take = complete(&command->takes[j]);
            if (!take.value || strcmp(take.value, meanings[i].value))
                continue;
            mmt_text_add(text, any ? "" : "\n");
            mmt_print_wrapped(meanings[i].what, 0, 0, WIDTH, text);
            any = true;
            break;
        }
}

static int help(const struct mmt_command *command)
{
    struct mmt_text text = { 0 };
    const int column = find_column(command);
    for (int i = 0; i < MMT_NUM_OPTIONS; i++) {
        const struct mmt_take *take = find_take(command, (enum mmt_option) i);
        if (!take)
            continue;
        const struct mmt_take whole = complete(take);
        add_option(&whole, column, &text);
    }
    add_meanings(command, &text);
    printf("%s\n%s", command->about, mmt_text_string(&text));
    mmt_text_finish(&text);
    return MMT_EXIT_DONE;
}

/* ---- reading --------------------------------------------------------------------- */

/* getopt's tables. A long option's value is its number beyond all letters. */
enum { FIRST_LONG = 256 };

struct getopt_tables {
    struct option words[MMT_NUM_OPTIONS + 1];
    char letters[2 * MMT_NUM_OPTIONS + 3];
};

static void fill_tables(const struct mmt_command *command, struct getopt_tables *tables)
{
    struct option *word = tables->words;
    char *letter = tables->letters;
    if (command->leads)
        *letter++ = '+';
    *letter++ = ':';
    for (int i = 0; i < MMT_NUM_OPTIONS; i++) {
        const struct row *row = &rows[i];
        if (!find_take(command, (enum mmt_option) i))
            continue;
        assert(has_verb(row, command->name));
        *word++ =
            (struct option){ row->name + 2, row->value ? required_argument : no_argument,
                             NULL, FIRST_LONG + i };
        if (row->letter)
            *letter++ = row->letter;
        if (row->letter && row->value)
            *letter++ = ':';
    }
}

/* By what getopt returned or refused. */
static enum mmt_option find_option(int value)
{
    int i = 0;
    while (i < MMT_NUM_OPTIONS && value != FIRST_LONG + i && value != rows[i].letter)
        i++;
    return (enum mmt_option) i;
}

/* Adds the options that an unknown word begins, "--type, --template"; how many. */
static int add_meant(const char *word, const struct option *options,
                     struct mmt_text *names)
{
    int count = 0;
    for (size_t length = strlen(word); options->name && length > 2; options++)
        if (!strncmp(options->name, word + 2, length - 2))
            mmt_text_addf(names, "%s--%s", count++ ? ", " : "", options->name);
    return count;
}

/* Of an option that the command has not: whose it is, or what is like it. */
static int say_unknown(const struct mmt_command *command, const char *word)
{
    const char *names[MMT_NUM_OPTIONS + 1];
    const struct row *known = NULL;
    mmt_error err;
    int count = 0;
    for (int i = 0; i < MMT_NUM_OPTIONS; i++) {
        if (find_take(command, (enum mmt_option) i))
            names[count++] = rows[i].name;
        else if (!strcmp(rows[i].name, word) ||
                 (word[1] == rows[i].letter && word[1] && !word[2]))
            known = &rows[i];
    }
    names[count] = NULL;
    if (known && has_verb(known, command->name))
        mmt_near_fail(&err, "", names, "there are", "option %s is not for %s", word,
                      command->name);
    else if (known)
        mmt_near_fail(&err, "", names, "there are", "option %s is for %s", word,
                      known->verbs);
    else
        mmt_near_fail(&err, word, names, "there are", "there is no option %s", word);
    return mmt_wrong_usage(command->name, "%s", err.text);
}

/* getopt leaves the letter in optopt, 0 for an unknown word, or a known word's value. */
static int say_wrong(const struct mmt_command *command, const char *given,
                     const struct option *options)
{
    struct mmt_text meant = { 0 };
    char word[64], letter[] = { '-', (char) optopt, '\0' };
    int code;
    snprintf(word, sizeof word, "%.*s", (int) strcspn(given, "="), given);
    if (optopt >= FIRST_LONG)
        code =
            mmt_wrong_usage(command->name, "option %s takes no value, but '%s' gives one",
                            rows[optopt - FIRST_LONG].name, given);
    else if (optopt)
        code = say_unknown(command, letter);
    else if (add_meant(word, options, &meant) > 1)
        code = mmt_wrong_usage(command->name, "option %s stands for several: %s", word,
                               mmt_text_string(&meant));
    else
        code = say_unknown(command, word);
    mmt_text_finish(&meant);
    return code;
}

/* Whether a word is the whole name of an option that the command has not: getopt takes it
 * for the beginning of a longer one, as --record of --recorded. */
static bool is_anothers(const struct mmt_command *command, const char *word)
{
    for (int i = 0; i < MMT_NUM_OPTIONS; i++)
        if (!strcmp(rows[i].name, word))
            return !find_take(command, (enum mmt_option) i);
    return false;
}

static int take_option(const struct mmt_command *command, enum mmt_option option)
{
    const struct mmt_take take = complete(find_take(command, option));
    mmt_error err = { 0 };
    if (option == MMT_OPTION_HELP)
        return help(command);
    if (take.given)
        *take.given = true;
    const mmt_status status = take.each
                                  ? mmt_option_each(optarg, take.out, take.each, &err)
                                  : take.read(&take, optarg, &err);
    return status ? mmt_failed_or_usage(command->name, &err) : -1;
}

int mmt_command_read(const struct mmt_command *command, int argc, char **argv)
{
    struct getopt_tables tables = { 0 };
    int code = -1;
    fill_tables(command, &tables);
    opterr = 0;
    while (code < 0) {
        const int value = getopt_long(argc, argv, tables.letters, tables.words, NULL);
        const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
        if (value == -1)
            break;
        if (value == ':')
            code = mmt_wrong_usage(command->name, "option %s needs a value", word);
        else if (value == '?')
            code = say_wrong(command, word, tables.words);
        else if (is_anothers(command, word))
            code = say_unknown(command, word);
        else
            code = take_option(command, find_option(value));
    }
    if (code < 0 && argc - optind > command->most_words)
        code = mmt_wrong_usage(command->name, "'%s' is one word too many",
                               argv[optind + command->most_words]);
    return code;
}
