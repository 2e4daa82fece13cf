/* What all verbs read from the command line, and the words in which they answer. */
#include "tuner/common/readers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"

/* ---- errors ---------------------------------------------------------------------- */

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

int mmt_exit_status(int status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    fprintf(stderr, "mmtune: standard output cannot be written\n");
    return status ? status : MMT_EXIT_FAILED;
}

/* ---- lists ----------------------------------------------------------------------- */

/* Cuts the list up in place. */
static mmt_status take_pieces(char *list, void *self, mmt_piece_taker *take,
                              mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (char *piece; !status && (piece = strsep(&list, ","));)
        status = take(self, piece, err);
    return status;
}

/* Cuts off what stands behind '#', and blanks; returns where the rest begins. */
static char *strip(char *line)
{
    line += strspn(line, " \t");
    size_t length = strcspn(line, "#\r\n");
    while (length && isspace((unsigned char) line[length - 1]))
        length--;
    line[length] = '\0';
    return line;
}

static mmt_status take_lines(FILE *file, const char *path, void *self,
                             mmt_piece_taker *take, mmt_error *err)
{
    char *line = NULL;
    size_t size = 0;
    bool any = false;
    mmt_status status = MMT_OK;
    while (!status && getline(&line, &size, file) >= 0) {
        char *list = strip(line);
        any |= *list != '\0';
        if (*list)
            status = take_pieces(list, self, take, err);
    }
    free(line);
    if (!status && ferror(file))
        return mmt_fail(err, MMT_ERROR_IO, "cannot read the list '%s': %s", path,
                        strerror(errno));
    if (!status && !any)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "the list '%s' names nothing; it must name one a line", path);
    return status;
}

static mmt_status take_file(const char *path, void *self, mmt_piece_taker *take,
                            mmt_error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "cannot open the list '%s': %s", path,
                        strerror(errno));
    mmt_status status = take_lines(file, path, self, take, err);
    fclose(file);
    return status;
}

mmt_status mmt_option_each(const char *list, void *self, mmt_piece_taker *take,
                           mmt_error *err)
{
    char *copy = strdup(list), *rest = copy;
    mmt_status status = MMT_OK;
    if (!copy)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a list");
    for (char *piece; !status && (piece = strsep(&rest, ","));)
        status = piece[0] == '@' ? take_file(piece + 1, self, take, err)
                                 : take(self, piece, err);
    free(copy);
    return status;
}

mmt_status mmt_words_take(void *self, const char *piece, mmt_error *err)
{
    struct mmt_words *words = self;
    char **grown = realloc(words->each, ((size_t) words->count + 1) * sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a list");
    words->each = grown;
    grown[words->count] = strdup(piece);
    if (!grown[words->count])
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a list");
    words->count++;
    return MMT_OK;
}

void mmt_words_finish(struct mmt_words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->each[i]);
    free(words->each);
    *words = (struct mmt_words){ 0 };
}

mmt_status mmt_option_read_words(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    return mmt_option_each(value, take->out, mmt_words_take, err);
}

/* ---- closed sets ----------------------------------------------------------------- */

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

const char *const *mmt_type_words(void)
{
    static const char *names[MMT_NUM_TYPES + 1];
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        names[i] = mmt_type_name((mmt_type) i);
    return names;
}

mmt_status mmt_option_type(const char *name, mmt_type *out, mmt_error *err)
{
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
    return mmt_near_fail(err, word, mmt_type_words(), "there are",
                         "there is no type '%s'", name);
}

mmt_status mmt_option_find(const char *kind, const char *const words[], const char *word,
                           int *out, mmt_error *err)
{
    *out = mmt_near_place(word, words, INT_MAX);
    return *out >= 0 ? MMT_OK
                     : mmt_near_fail(err, word, words, "there are", "there is no %s '%s'",
                                     kind, word);
}

mmt_status mmt_option_choice(const struct mmt_take *take, const char *value, int *out,
                             mmt_error *err)
{
    *out = mmt_near_place(value, take->words, INT_MAX);
    return *out >= 0 ? MMT_OK
                     : mmt_near_fail(err, value, take->words, "there are",
                                     "%s does not know '%s'", take->name, value);
}

mmt_status mmt_option_read_choice(const struct mmt_take *take, const char *value,
                                  mmt_error *err)
{
    int which = 0;
    mmt_status status = mmt_option_choice(take, value, &which, err);
    if (!status)
        *(const char **) take->out = take->words[which];
    return status;
}

/* A list and where its words go. */
struct picks {
    const struct mmt_take *take;
    bool *picked; /* by a word's place among those of the option */
};

static mmt_status pick(void *self, const char *piece, mmt_error *err)
{
    const struct picks *picks = self;
    int which = 0;
    mmt_status status = mmt_option_choice(picks->take, piece, &which, err);
    if (!status)
        picks->picked[which] = true;
    return status;
}

mmt_status mmt_option_read_picks(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    struct picks picks = { take, take->out };
    return mmt_option_each(value, &picks, pick, err);
}

static mmt_status take_type(void *self, const char *piece, mmt_error *err)
{
    bool *types = self;
    mmt_type type;
    mmt_status status = mmt_option_type(piece, &type, err);
    if (!status)
        types[type] = true;
    return status;
}

/* The last list counts, as with a value that is no list. */
mmt_status mmt_option_read_types(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    memset(take->out, 0, MMT_NUM_TYPES * sizeof(bool));
    if (!*value)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "--type is empty; say f32, or more");
    return mmt_option_each(value, take->out, take_type, err);
}

/* To an enum. */
static mmt_status read_place(const struct mmt_take *take, const char *value, void *out,
                             mmt_error *err)
{
    int found = 0;
    mmt_status status = mmt_option_choice(take, value, &found, err);
    if (!status)
        *(unsigned *) out = (unsigned) found;
    return status;
}

mmt_status mmt_option_read_op(const struct mmt_take *take, const char *value,
                              mmt_error *err)
{
    return read_place(take, value, take->out, err);
}

mmt_status mmt_option_read_out(const struct mmt_take *take, const char *value,
                               mmt_error *err)
{
    struct mmt_epilogue *epilogue = take->out;
    mmt_type type;
    mmt_status status = mmt_option_type(value, &type, err);
    if (!status)
        epilogue->out = (int) type;
    return status;
}

mmt_status mmt_option_read_bias(const struct mmt_take *take, const char *value,
                                mmt_error *err)
{
    return read_place(take, value, &((struct mmt_epilogue *) take->out)->bias, err);
}

mmt_status mmt_option_read_activation(const struct mmt_take *take, const char *value,
                                      mmt_error *err)
{
    return read_place(take, value, &((struct mmt_epilogue *) take->out)->activation, err);
}

mmt_status mmt_option_read_batch_by(const struct mmt_take *take, const char *value,
                                    mmt_error *err)
{
    struct mmt_epilogue *epilogue = take->out;
    int found = 0;
    mmt_status status = mmt_option_choice(take, value, &found, err);
    if (!status)
        epilogue->batch_by = (mmt_batch_by) found;
    return status;
}

void mmt_epilogue_apply(const struct mmt_epilogue *epilogue, mmt_problem *problem)
{
    if (epilogue->out >= 0)
        problem->out = (mmt_type) epilogue->out;
    problem->bias = epilogue->bias;
    problem->activation = epilogue->activation;
    problem->batch_by = epilogue->batch_by;
}

const char *const *mmt_transposes_words(void)
{
    static const char *const names[] = { "nn", "nt", "tn", "tt", NULL };
    return names;
}

static mmt_status take_transposes(void *self, const char *piece, mmt_error *err)
{
    unsigned *transposes = self;
    const char *const *names = mmt_transposes_words();
    char word[32];
    lower_case(piece, word);
    const int found = mmt_near_place(word, names, 4);
    if (found < 0)
        return mmt_near_fail(err, piece, names, "there are",
                             "there are no transposes '%s'", piece);
    *transposes |= 1u << found;
    return MMT_OK;
}

mmt_status mmt_option_transposes(const char *list, unsigned *transposes, mmt_error *err)
{
    *transposes = 0;
    return mmt_option_each(list, transposes, take_transposes, err);
}

mmt_status mmt_option_read_transposes(const struct mmt_take *take, const char *value,
                                      mmt_error *err)
{
    return mmt_option_transposes(value, take->out, err);
}

/* ---- numbers --------------------------------------------------------------------- */

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

mmt_status mmt_option_read_count(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    return mmt_option_number(take->name, value, take->least, take->most, take->out, err);
}

struct unit {
    const char *name;
    double factor;
};

/* The factor of what stands behind a number; 0 where that is no unit. */
static double find_unit(const char *end, const struct unit *units)
{
    for (; units->name; units++)
        if (!strcmp(end, units->name))
            return units->factor;
    return 0;
}

static const struct unit times[] = { { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 },
                                     { "m", 60 },    { "min", 60 },  { "h", 3600 },
                                     { NULL, 0 } };

mmt_status mmt_option_read_seconds(const struct mmt_take *take, const char *value,
                                   mmt_error *err)
{
    char *end;
    double seconds = strtod(value, &end);
    const bool read = end != value;
    seconds *= *end ? find_unit(end, times) : 1;
    if (!read || (*end && find_unit(end, times) <= 0) ||
        !(seconds >= (double) take->least && seconds <= (double) take->most))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "%s is '%s'; it must be a time from %" PRId64 " s to %" PRId64
                        " s, such as 20ms, 5 for seconds, or 2m",
                        take->name, value, take->least, take->most);
    *(double *) take->out = seconds;
    return MMT_OK;
}

mmt_status mmt_option_read_bytes(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    static const struct unit sizes[] = {
        { "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "M", 0x1p20 },
        { "G", 0x1p30 },   { "T", 0x1p40 },   { "KiB", 0x1p10 }, { "MiB", 0x1p20 },
        { "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { NULL, 0 },
    };
    char *end;
    double bytes = strtod(value, &end);
    const bool read = end != value;
    bytes *= find_unit(end, sizes);
    if (!read || !(bytes >= (double) take->least && bytes <= (double) take->most))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "%s is '%s'; it must be a size such as 256M or 2GiB", take->name,
                        value);
    *(int64_t *) take->out = (int64_t) bytes;
    return MMT_OK;
}

mmt_status mmt_option_read_budget(const struct mmt_take *take, const char *value,
                                  mmt_error *err)
{
    struct mmt_budget *out = take->out;
    char *end;
    const double number = strtod(value, &end);
    const bool right = end != value && number > 0 && number <= 1e9;
    const bool counts = !strcmp(end, "c");
    *out = (struct mmt_budget){ 0 };
    if (right && !*end)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--budget is '%s'; %s of what? Seconds are %ss, candidates %sc",
                        value, value, value, value);
    if (!right || (counts ? number != floor(number) : find_unit(end, times) <= 0))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--budget is '%s'; it is a time, such as 90s, 5m or 1h, or a "
                        "whole number of candidates, such as 200c",
                        value);
    if (counts)
        out->candidates = (int64_t) number;
    else
        out->seconds = number * find_unit(end, times);
    return MMT_OK;
}

mmt_status mmt_option_read_shard(const struct mmt_take *take, const char *value,
                                 mmt_error *err)
{
    struct mmt_shard *out = take->out;
    int end = 0;
    if (sscanf(value, "%9d/%9d%n", &out->number, &out->count, &end) == 2 && !value[end] &&
        out->number >= 1 && out->number <= out->count)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "--shard is '%s'; it must be I/N with I from 1 to N, such as 2/8",
                    value);
}

mmt_status mmt_option_read_flag(const struct mmt_take *take, const char *value,
                                mmt_error *err)
{
    *(bool *) take->out = true;
    return MMT_OK;
}

mmt_status mmt_option_read_word(const struct mmt_take *take, const char *value,
                                mmt_error *err)
{
    *(const char **) take->out = value;
    return MMT_OK;
}

/* ---- words for people ------------------------------------------------------------ */

void mmt_print_wrapped(const char *words, int column, int at, int width,
                       struct mmt_text *text)
{
    while (*words) {
        const int length = (int) strcspn(words, " ");
        if (at > column && at + 1 + length > width) {
            mmt_text_add(text, "\n");
            at = 0;
        }
        const int gap = at < column ? column - at : at > column;
        mmt_text_addf(text, "%*s%.*s", gap, "", length, words);
        at += gap + length;
        words += length + strspn(words + length, " ");
    }
    mmt_text_add(text, "\n");
}

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
    if (mmt_op_row(problem->op)->product)
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
