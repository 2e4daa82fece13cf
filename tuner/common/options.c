/* What all verbs read from the command line, and the words in which they answer. */
#include "tuner/common/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------
 */

static void add_letters(const struct option *options, char *letters)
{
    *letters++ = ':';
    for (; options->name; options++) {
        if (options->val < 'A' || options->val > 'z')
            continue;
        *letters++ = (char) options->val;
        if (options->has_arg == required_argument)
            *letters++ = ':';
    }
    *letters = '\0';
}

static const struct option *find_option(const struct option *options, int value)
{
    for (; options->name; options++)
        if (options->val == value)
            return options;
    return NULL;
}

/* Adds the options that an unknown word begins, "--type, --template"; how many. */
static int add_meant(const char *word, const struct option *options,
                     struct mmt_text *names)
{
    size_t length = strcspn(word, "=");
    int count = 0;
    for (; options->name && length > 2; options++)
        if (!strncmp(options->name, word + 2, length - 2))
            mmt_text_addf(names, "%s--%s", count++ ? ", " : "", options->name);
    return count;
}

/* getopt leaves the letter in optopt, 0 for an unknown word, or a known word's value. */
static void say_wrong_option(const char *verb, const char *word,
                             const struct option *options)
{
    const struct option *known = optopt ? find_option(options, optopt) : NULL;
    struct mmt_text meant = { 0 };
    if (known)
        mmt_wrong_usage(verb, "option --%s takes no value, but '%s' gives one",
                        known->name, word);
    else if (optopt)
        mmt_wrong_usage(verb, "there is no option -%c", optopt);
    else if (add_meant(word, options, &meant) > 1)
        mmt_wrong_usage(verb, "option %s stands for several: %s", word,
                        mmt_text_string(&meant));
    else
        mmt_wrong_usage(verb, "there is no option %s", word);
    mmt_text_finish(&meant);
}

int mmt_option_next(int argc, char **argv, const struct option *options)
{
    char letters[128];
    add_letters(options, letters);
    opterr = 0;
    int value = getopt_long(argc, argv, letters, options, NULL);
    const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    if (value == ':')
        mmt_wrong_usage(argv[0], "option %s needs a value", word);
    else if (value == '?')
        say_wrong_option(argv[0], word, options);
    return value == ':' ? '?' : value;
}

int mmt_wrong_usage(const char *verb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "mmtune %s: ", verb);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n`mmtune %s --help` tells the options\n", verb);
    va_end(args);
    return MMT_EXIT_USAGE;
}

int mmt_failed(const char *verb, const mmt_error *err)
{
    fprintf(stderr, "mmtune %s: %s\n", verb, err->text);
    return MMT_EXIT_FAILED;
}

int mmt_failed_or_usage(const char *verb, const mmt_error *err)
{
    if (err->status == MMT_ERROR_ARGUMENT)
        return mmt_wrong_usage(verb, "%s", err->text);
    return mmt_failed(verb, err);
}

/* ---- lists --------------------------------------------------------------------------
 */

/* Copies the next piece of a list into `piece`; false at the end. */
static bool next_piece(const char **list, char piece[32])
{
    if (!**list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(piece, 32, "%.*s", (int) length, *list);
    *list += length;
    if (**list == ',' && (*list)[1])
        ++*list;
    return true;
}

/* The word in small letters, cut to 31. */
static void lower_case(const char *word, char out[32])
{
    snprintf(out, 32, "%s", word);
    for (char *at = out; *at; at++)
        *at = (char) tolower((unsigned char) *at);
}

/* Types as other programs spell them, in small letters. */
static const struct {
    const char *word;
    mmt_type type;
} spellings[] = {
    { "fp32", MMT_F32 },
    { "float32", MMT_F32 },
    { "float", MMT_F32 },
    { "single", MMT_F32 },
    { "fp64", MMT_F64 },
    { "float64", MMT_F64 },
    { "double", MMT_F64 },
    { "int32", MMT_I32 },
    { "int", MMT_I32 },
    { "bfloat16", MMT_BF16 },
    { "fp16", MMT_F16 },
    { "float16", MMT_F16 },
    { "half", MMT_F16 },
    { "tfloat32", MMT_TF32 },
    { "fp8e4m3", MMT_F8E4M3 },
    { "fp8_e4m3", MMT_F8E4M3 },
    { "float8_e4m3fn", MMT_F8E4M3 },
    { "e4m3", MMT_F8E4M3 },
    { "fp8e5m2", MMT_F8E5M2 },
    { "fp8_e5m2", MMT_F8E5M2 },
    { "float8_e5m2", MMT_F8E5M2 },
    { "e5m2", MMT_F8E5M2 },
    { "int8", MMT_I8 },
    { "s8", MMT_I8 },
    { "s32", MMT_I32 },
};

/* A type's own name or a spelling of others, in any case; -1 where it is neither. */
static int find_type(const char *word)
{
    int type = mmt_type_parse(word);
    for (size_t i = 0; type < 0 && i < sizeof spellings / sizeof *spellings; i++)
        if (!strcmp(spellings[i].word, word))
            type = (int) spellings[i].type;
    return type;
}

mmt_status mmt_option_type(const char *name, mmt_type *out, mmt_error *err)
{
    struct mmt_text right = { 0 };
    char word[32];
    lower_case(name, word);
    int type = find_type(word);

    if (type >= 0) {
        *out = (mmt_type) type;
        return MMT_OK;
    }
    if (!strcmp(word, "fp8") || !strcmp(word, "f8") || !strcmp(word, "float8"))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' is two types: f8e4m3 and f8e5m2; say which", name);
    mmt_type_list(MMT_ALL_TYPES, &right);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "there is no type '%s'; there are %s", name,
             mmt_text_string(&right));
    mmt_text_finish(&right);
    return MMT_ERROR_ARGUMENT;
}

mmt_status mmt_option_each(const char *list, void *self,
                           mmt_status (*take)(void *self, const char *piece,
                                              mmt_error *err),
                           mmt_error *err)
{
    mmt_status status = MMT_OK;
    char *copy = strdup(list), *rest = copy;

    if (!copy)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a list");
    for (char *piece; status == MMT_OK && (piece = strsep(&rest, ","));)
        status = take(self, piece, err);
    free(copy);
    return status;
}

static mmt_status take_ld_padding(void *self, const char *piece, mmt_error *err)
{
    bool *ld_padding = self, odd = !strcmp(piece, "odd");
    if (!odd && strcmp(piece, "packed") && strcmp(piece, "tight"))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--ld does not know '%s'; there are packed and odd", piece);
    ld_padding[odd] = true;
    return MMT_OK;
}

mmt_status mmt_option_ld_padding(const char *list, bool ld_padding[2], mmt_error *err)
{
    return mmt_option_each(list, ld_padding, take_ld_padding, err);
}

mmt_status mmt_option_types(const char *list, bool types[MMT_NUM_TYPES], mmt_error *err)
{
    char piece[32];
    memset(types, 0, MMT_NUM_TYPES * sizeof *types);
    if (!*list)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "--type is empty; say f32, or more");
    while (next_piece(&list, piece)) {
        mmt_type type;
        mmt_status status = mmt_option_type(piece, &type, err);
        if (status)
            return status;
        types[type] = true;
    }
    return MMT_OK;
}

static mmt_status read_word(const char *value, int (*parse)(const char *),
                            const char *right, int *out, mmt_error *err)
{
    int found = parse(value);
    if (found < 0)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "there is no '%s'; there are %s", value,
                        right);
    *out = found;
    return MMT_OK;
}

mmt_status mmt_option_epilogue(const char *option, const char *value,
                               struct mmt_epilogue *out, mmt_error *err)
{
    int found = 0;
    mmt_type type;
    mmt_status status;
    if (!strcmp(option, "out")) {
        status = mmt_option_type(value, &type, err);
        if (!status)
            out->out = (int) type;
    } else if (!strcmp(option, "bias")) {
        status = read_word(value, mmt_bias_parse, "none, row and column", &found, err);
        if (!status)
            out->bias = (mmt_bias) found;
    } else {
        status = read_word(value, mmt_activation_parse,
                           "none, relu, gelu, gelu_tanh and silu", &found, err);
        if (!status)
            out->activation = (mmt_activation) found;
    }
    return status;
}

void mmt_epilogue_apply(const struct mmt_epilogue *epilogue, mmt_problem *problem)
{
    if (epilogue->out >= 0)
        problem->out = (mmt_type) epilogue->out;
    problem->bias = epilogue->bias;
    problem->activation = epilogue->activation;
}

mmt_status mmt_option_transposes(const char *list, unsigned *transposes, mmt_error *err)
{
    static const char *const names[] = { "nn", "nt", "tn", "tt" };
    char piece[32];
    *transposes = 0;
    while (next_piece(&list, piece)) {
        unsigned bit = 0;
        char word[32];
        lower_case(piece, word);
        for (int i = 0; i < 4; i++)
            if (!strcmp(word, names[i]))
                bit = 1u << i;
        if (!bit)
            return mmt_fail(err, MMT_ERROR_ARGUMENT,
                            "there are no transposes '%s'; there are nn, nt, tn and tt",
                            piece);
        *transposes |= bit;
    }
    if (!*transposes)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--transposes is empty; there are nn, nt, tn and tt");
    return MMT_OK;
}

/* ---- numbers ------------------------------------------------------------------------
 */

static mmt_status add_shape(void *self, const char *piece, mmt_error *err)
{
    struct mmt_words *words = self;
    char **grown = realloc(words->each, ((size_t) words->count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the shapes");
    words->each = grown;
    grown[words->count] = strdup(piece);
    if (!grown[words->count])
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the shapes");
    words->count++;
    return MMT_OK;
}

/* A file's lines without what stands behind '#'; empty ones are passed over. */
static mmt_status add_lines(FILE *file, const char *path, struct mmt_words *words,
                            mmt_error *err)
{
    char *line = NULL;
    size_t size = 0;
    int before = words->count;
    mmt_status status = MMT_OK;
    while (!status && getline(&line, &size, file) >= 0) {
        char *word = line + strspn(line, " \t");
        size_t length = strcspn(word, "#\r\n");
        while (length && isspace((unsigned char) word[length - 1]))
            length--;
        word[length] = '\0';
        if (length)
            status = mmt_option_each(word, words, add_shape, err);
    }
    free(line);
    if (!status && ferror(file))
        return mmt_fail(err, MMT_ERROR_IO, "cannot read %s: %s", path, strerror(errno));
    if (!status && words->count == before)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "%s names no shape; it has one a line, such as 512x3000x1536",
                        path);
    return status;
}

static mmt_status add_shapes(void *self, const char *piece, mmt_error *err)
{
    if (piece[0] != '@')
        return add_shape(self, piece, err);
    FILE *file = fopen(piece + 1, "re");
    if (!file)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "cannot open the list of shapes '%s': %s", piece + 1,
                        strerror(errno));
    mmt_status status = add_lines(file, piece + 1, self, err);
    fclose(file);
    return status;
}

mmt_status mmt_option_shapes(const char *list, struct mmt_words *shapes, mmt_error *err)
{
    return mmt_option_each(list, shapes, add_shapes, err);
}

void mmt_words_finish(struct mmt_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->each[i]);
    free(words->each);
    *words = (struct mmt_words){ 0 };
}

mmt_status mmt_option_op(const char *name, mmt_op *out, mmt_error *err)
{
    struct mmt_text names = { 0 };
    int op = mmt_op_parse(name);
    if (op >= 0) {
        *out = (mmt_op) op;
        return MMT_OK;
    }
    mmt_op_list(&names);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "there is no operation '%s'; there are %s", name,
             mmt_text_string(&names));
    mmt_text_finish(&names);
    return MMT_ERROR_ARGUMENT;
}

mmt_status mmt_option_number(const char *name, const char *string, int64_t least,
                             int64_t most, int64_t *out, mmt_error *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(string, &end, 10);
    if (errno || end == string || *end || value < least || value > most)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "%s is '%s'; it must be a whole number from %lld to %lld", name,
                        string, (long long) least, (long long) most);
    *out = value;
    return MMT_OK;
}

mmt_status mmt_option_budget(const char *string, struct mmt_budget *out, mmt_error *err)
{
    static const struct {
        const char *unit;
        double seconds; /* 0: candidates */
    } units[] = { { "c", 0 }, { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 } };
    char *end;
    double value = strtod(string, &end);
    bool right = end != string && value > 0 && value <= 1e9;
    *out = (struct mmt_budget){ 0 };
    if (right && !*end)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--budget is '%s'; %s of what? Seconds are %ss, candidates %sc",
                        string, string, string, string);
    for (size_t i = 0; right && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) || (!units[i].seconds && value != floor(value)))
            continue;
        out->seconds = value * units[i].seconds;
        out->candidates = units[i].seconds > 0 ? 0 : (int64_t) value;
        return MMT_OK;
    }
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "--budget is '%s'; it is a time, such as 90s, 5m or 1h, or a whole "
                    "number of candidates, such as 200c",
                    string);
}

/* ---- words for people ----------------------------------------------------------------
 */

const char *mmt_print_seconds(double seconds, char buffer[32])
{
    if (seconds < 1e-3)
        snprintf(buffer, 32, "%.2f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(buffer, 32, "%.3f ms", seconds * 1e3);
    else
        snprintf(buffer, 32, "%.3f s", seconds);
    return buffer;
}

const char *mmt_print_speed(const mmt_problem *problem, double seconds, char buffer[32])
{
    if (problem->op == MMT_GEMM)
        return mmt_print_rate(mmt_problem_flops(problem) / seconds, problem->type,
                              buffer);
    snprintf(buffer, 32, "%.1f GB/s", mmt_problem_bytes(problem) / seconds / 1e9);
    return buffer;
}

const char *mmt_print_rate(double per_second, mmt_type type, char buffer[32])
{
    const char *unit = mmt_type_in(type, MMT_WHOLE_TYPES) ? "OP/s" : "FLOP/s";
    if (per_second >= 1e12)
        snprintf(buffer, 32, "%.2f T%s", per_second / 1e12, unit);
    else
        snprintf(buffer, 32, "%.*f G%s", per_second < 1e10 ? 2 : 1, per_second / 1e9,
                 unit);
    return buffer;
}
