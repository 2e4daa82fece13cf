#include "tests/support/fuzz.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fuzz_fail(const char *what, const char *text)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, text);
    abort();
}

/* ---- corpus ---------------------------------------------------------------------- */

struct fuzz_input fuzz_text(const char *text)
{
    struct fuzz_input input = { strlen(text), malloc(FUZZ_MAX_INPUT) };
    if (!input.bytes || input.size > FUZZ_MAX_INPUT)
        fuzz_fail("too long", text);
    memcpy(input.bytes, text, input.size);
    return input;
}

struct fuzz_input fuzz_file(const char *path)
{
    struct fuzz_input input = { 0, malloc(FUZZ_MAX_INPUT) };
    FILE *file = fopen(path, "rb");
    if (!file || !input.bytes)
        fuzz_fail("cannot read", path);
    input.size = fread(input.bytes, 1, FUZZ_MAX_INPUT, file);
    fclose(file);
    return input;
}

/* ---- mutations ------------------------------------------------------------------- */

static uint64_t state;

/* A number below n (xorshift). */
static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? state % n : 0;
}

static void replace(struct fuzz_input *input, size_t at, size_t cut, const char *put,
                    size_t size)
{
    if (at + cut > input->size || input->size - cut + size > FUZZ_MAX_INPUT)
        return;
    char *copy = malloc(size + 1); /* `put` may be a part of the input */
    memcpy(copy, put, size);
    memmove(input->bytes + at + size, input->bytes + at + cut, input->size - at - cut);
    memcpy(input->bytes + at, copy, size);
    input->size += size - cut;
    free(copy);
}

static void flip_byte(struct fuzz_input *input)
{
    if (!input->size)
        return;
    size_t at = below(input->size); /* before the byte, whatever the compiler */
    input->bytes[at] = (char) below(256);
}

static void cut_piece(struct fuzz_input *input)
{
    size_t at = below(input->size);
    replace(input, at, below(input->size - at), "", 0);
}

static void repeat_piece(struct fuzz_input *input)
{
    size_t from = below(input->size), size = below(input->size - from);
    replace(input, below(input->size), 0, input->bytes + from, size % 4096);
}

/* A value, from a colon or comma to the next, becomes something else. */
static void swap_value(struct fuzz_input *input)
{
    static const char *const words[] = {
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "1e-320",
        "1e308",
        "0.5",
        "-0.0",
        "2147483648",
        "9223372036854775807",
        "18446744073709551616",
        "\"\"",
        "\"f64\"",
        "\"tiled\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]",
        "{\"op\": 1}",
        "NaN",
        "\"\xff\"",
        "16",
        "32",
    };
    const char *word = words[below(sizeof words / sizeof *words)];
    size_t at = below(input->size);
    while (at < input->size && input->bytes[at] != ':')
        at++;
    size_t end = ++at;
    while (end < input->size && !strchr(",}]\n", input->bytes[end]))
        end++;
    if (end <= input->size)
        replace(input, at, end - at, word, strlen(word));
}

/* A digit becomes another: the file mostly stays a profile. */
static void swap_digit(struct fuzz_input *input)
{
    size_t at = below(input->size);
    while (at < input->size && (input->bytes[at] < '0' || input->bytes[at] > '9'))
        at++;
    if (at < input->size)
        input->bytes[at] = (char) ('0' + below(10));
}

static void mutate(struct fuzz_input *input)
{
    static void (*const ways[])(struct fuzz_input *) = {
        flip_byte, cut_piece, repeat_piece, swap_value, swap_value, swap_digit, swap_digit
    };
    for (size_t left = 1 + below(4); left; left--)
        ways[below(sizeof ways / sizeof *ways)](input);
}

/* ---- running --------------------------------------------------------------------- */

enum { USUAL_ROUNDS = 2000 };

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

struct fuzz_options fuzz_options(int argc, char **argv)
{
    struct fuzz_options options = { USUAL_ROUNDS, 1, 1 };
    for (; options.first + 1 < argc && argv[options.first][0] == '-'; options.first += 2)
        if (!strcmp(argv[options.first], "--rounds"))
            options.rounds = strtoul(argv[options.first + 1], NULL, 10);
        else
            options.seed = strtoull(argv[options.first + 1], NULL, 10);
    return options;
}

bool fuzz(const char *what, const struct fuzz_input *corpus, size_t count,
          bool (*accepts)(const char *text, size_t size), unsigned long rounds,
          unsigned long long seed)
{
    struct fuzz_input input = { 0, malloc(FUZZ_MAX_INPUT) };
    unsigned long accepted = 0;
    double longest = 0;

    for (size_t i = 0; i < count; i++)
        accepted += accepts(corpus[i].bytes, corpus[i].size);
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (unsigned long round = 0; round < rounds; round++) {
        const double began = processor_seconds();
        const struct fuzz_input *from = &corpus[below(count)];
        memcpy(input.bytes, from->bytes, from->size);
        input.size = from->size;
        mutate(&input);
        accepted += accepts(input.bytes, input.size);
        const double took = processor_seconds() - began;
        longest = took > longest ? took : longest;
    }
    free(input.bytes);
    printf("fuzz: %s: seed %llu, %lu sources, %lu accepted, the slowest in %.1f ms\n",
           what, seed, rounds, accepted, longest * 1e3);
    return accepted > 10 && longest < 5;
}
