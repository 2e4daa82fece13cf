/* The profile's reader against texts that nobody meant. What it accepts must be written,
 * read and written again the same.
 *
 *   clang: a libFuzzer target (MMT_LIBFUZZER), fuzz_profile CORPUS...
 *   else:  fuzz_profile [--seconds S] [--seed N] FILE..., which mutates the files */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiles/profile.h"

static unsigned long accepted;

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, text);
    abort();
}

static struct mmt_text print(const struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };
    if (mmt_profile_print(profile, &text, &err))
        fail("what was read cannot be written", err.text);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mmt_error err = { 0 };
    struct mmt_profile *profile = mmt_profile_read((const char *) data, size, &err);
    if (!profile) {
        if (err.status == MMT_OK || !err.text[0])
            fail("refused", "without a reason");
        return 0;
    }
    struct mmt_text first = print(profile);
    struct mmt_profile *again = mmt_profile_read(first.data, first.length, &err);
    if (!again)
        fail("what was written is refused", err.text);
    struct mmt_text second = print(again);
    if (strcmp(first.data, second.data) != 0)
        fail("what was read twice differs", second.data);
    accepted++;
    mmt_text_finish(&second);
    mmt_text_finish(&first);
    mmt_profile_free(again);
    mmt_profile_free(profile);
    return 0;
}

#ifndef MMT_LIBFUZZER

enum { MAX_INPUT = 1 << 16 };

struct input {
    size_t size;
    char *bytes; /* MAX_INPUT of them */
};

static uint64_t state;

/* A number below n (xorshift). */
static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? state % n : 0;
}

static void replace(struct input *input, size_t at, size_t cut, const char *put,
                    size_t size)
{
    if (at + cut > input->size || input->size - cut + size > MAX_INPUT)
        return;
    char *copy = malloc(size + 1); /* `put` may be a part of the input */
    memcpy(copy, put, size);
    memmove(input->bytes + at + size, input->bytes + at + cut, input->size - at - cut);
    memcpy(input->bytes + at, copy, size);
    input->size += size - cut;
    free(copy);
}

static void flip_byte(struct input *input)
{
    if (input->size)
        input->bytes[below(input->size)] = (char) below(256);
}

static void cut_piece(struct input *input)
{
    size_t at = below(input->size);
    replace(input, at, below(input->size - at), "", 0);
}

static void repeat_piece(struct input *input)
{
    size_t from = below(input->size), size = below(input->size - from);
    replace(input, below(input->size), 0, input->bytes + from, size % 4096);
}

/* A value, from a colon or comma to the next, becomes something else. */
static void swap_value(struct input *input)
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
static void swap_digit(struct input *input)
{
    size_t at = below(input->size);
    while (at < input->size && (input->bytes[at] < '0' || input->bytes[at] > '9'))
        at++;
    if (at < input->size)
        input->bytes[at] = (char) ('0' + below(10));
}

static void mutate(struct input *input)
{
    static void (*const ways[])(struct input *) = { flip_byte,  cut_piece,  repeat_piece,
                                                    swap_value, swap_value, swap_digit,
                                                    swap_digit };
    for (size_t left = 1 + below(4); left; left--)
        ways[below(sizeof ways / sizeof *ways)](input);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static struct input load(const char *path)
{
    struct input input = { 0, malloc(MAX_INPUT) };
    FILE *file = fopen(path, "rb");
    if (!file || !input.bytes)
        fail("cannot read", path);
    input.size = fread(input.bytes, 1, MAX_INPUT, file);
    fclose(file);
    return input;
}

/* Returns how many texts were tried; *longest gets the time of the slowest. */
static unsigned long run(const struct input *corpus, size_t count, double seconds,
                         double *longest)
{
    struct input input = { 0, malloc(MAX_INPUT) };
    unsigned long tried = 0;
    for (double end = now() + seconds, at; (at = now()) < end; tried++) {
        const struct input *from = &corpus[below(count)];
        memcpy(input.bytes, from->bytes, from->size);
        input.size = from->size;
        mutate(&input);
        LLVMFuzzerTestOneInput((const uint8_t *) input.bytes, input.size);
        double took = now() - at;
        *longest = took > *longest ? took : *longest;
    }
    free(input.bytes);
    return tried;
}

int main(int argc, char **argv)
{
    const char *asked = getenv("MMTUNE_FUZZ_SECONDS");
    double seconds = asked ? atof(asked) : 3, longest = 0;
    uint64_t seed = 1;
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (!strcmp(argv[first], "--seconds"))
            seconds = atof(argv[first + 1]);
        else
            seed = strtoull(argv[first + 1], NULL, 10);

    size_t count = (size_t) (argc - first);
    struct input *corpus = calloc(count + 1, sizeof *corpus);
    for (size_t i = 0; i < count; i++)
        corpus[i] = load(argv[first + (int) i]);
    for (size_t i = 0; i < count; i++)
        LLVMFuzzerTestOneInput((const uint8_t *) corpus[i].bytes, corpus[i].size);

    state = seed * 0x9e3779b97f4a7c15u + 1;
    unsigned long tried = run(corpus, count, seconds, &longest);
    printf("fuzz: seed %llu, %lu texts in %.0f s, %lu accepted, the slowest in %.1f ms\n",
           (unsigned long long) seed, tried, seconds, accepted, longest * 1e3);
    for (size_t i = 0; i < count; i++)
        free(corpus[i].bytes);
    free(corpus);
    return !(tried > 100 && accepted > 10 && longest < 5);
}

#endif
