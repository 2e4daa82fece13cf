/* A tiny harness. A test program is checks, and ends with `return test_end("what");`
 *
 *     CHECK(size == 4);
 *     CHECK_EQ_STR(text, "expected");
 *     CHECK_OK(mmt_f(..., &err), err);               fails with err's text
 *     CHECK_FAILS(mmt_f(..., &err), err, MMT_ERROR_ARGUMENT, "TILE_M");
 *     CHECK_MADE(plan);                              is not NULL; fails with err's text
 *     CHECK_REFUSED(mmt_f(..., &err), MMT_ERROR_ARGUMENT, "TILE_M");   is NULL
 *     SKIP("there is no GPU");                       ends the program: skipped
 *
 * Checks may be made from several threads. They return whether they held. `err` is there
 * for the calls of a test, one for each thread; a test that reads it itself has one of
 * its own. */
#ifndef MMT_TESTS_TEST_H
#define MMT_TESTS_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mmtune/mmtune.h>

#ifndef __cplusplus
#include "tests/support/scoped.h"
#endif

#define TEST_UNUSED __attribute__((unused))

/* Whether a sanitizer slows this program: then it tells nothing about time. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED true
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED false
#endif

/* The folder of the sources, by which tests find their data. */
static TEST_UNUSED const char *test_source_root(void)
{
    const char *root = getenv("MMT_SOURCE_ROOT");
    return root ? root : ".";
}

static int test_checks, test_failures;
static TEST_UNUSED __thread mmt_error err;

#define CHECK(cond)        test_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_EQ_STR(a, b) test_check_eq_str((a), (b), __FILE__, __LINE__, #a)
#define CHECK_EQ_INT(a, b) test_check_eq_int((a), (b), __FILE__, __LINE__, #a)
#define CHECK_OK(call, err)                                                              \
    (memset(&(err), 0, sizeof(err)),                                                     \
     test_check_ok((call), &(err), __FILE__, __LINE__, #call))
#define CHECK_FAILS(call, err, status, words)                                            \
    (memset(&(err), 0, sizeof(err)),                                                     \
     test_check_fails((call), &(err), (status), (words), __FILE__, __LINE__, #call))
#define CHECK_MADE(thing) test_check_made(!!(thing), &err, __FILE__, __LINE__, #thing)
#define CHECK_REFUSED(thing, wanted, words)                                              \
    (memset(&err, 0, sizeof(err)),                                                       \
     test_check_fails((thing) ? MMT_OK : err.status, &err, (wanted), (words), __FILE__,  \
                      __LINE__, #thing))
#define SKIP(...) (printf("skipped: " __VA_ARGS__), printf("\n"), exit(77))

static TEST_UNUSED bool test_check(bool held, const char *file, int line,
                                   const char *what)
{
    __atomic_fetch_add(&test_checks, 1, __ATOMIC_RELAXED);
    if (!held) {
        __atomic_fetch_add(&test_failures, 1, __ATOMIC_RELAXED);
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    }
    return held;
}

static TEST_UNUSED bool test_check_eq_str(const char *got, const char *wanted,
                                          const char *file, int line, const char *what)
{
    if (test_check(got && !strcmp(got, wanted), file, line, what))
        return true;
    fprintf(stderr, "    is:        \"%s\"\n    should be: \"%s\"\n",
            got ? got : "(null)", wanted);
    return false;
}

static TEST_UNUSED bool test_check_eq_int(long long got, long long wanted,
                                          const char *file, int line, const char *what)
{
    if (test_check(got == wanted, file, line, what))
        return true;
    fprintf(stderr, "    is: %lld, should be: %lld\n", got, wanted);
    return false;
}

static TEST_UNUSED bool test_check_ok(mmt_status status, const mmt_error *err,
                                      const char *file, int line, const char *what)
{
    if (test_check(status == MMT_OK, file, line, what))
        return true;
    fprintf(stderr, "    %s: %s\n", mmt_status_name(status), err->text);
    return false;
}

static TEST_UNUSED bool test_check_made(bool made, const mmt_error *err, const char *file,
                                        int line, const char *what)
{
    if (!test_check(made, file, line, what))
        fprintf(stderr, "    %s\n", err->text);
    return made;
}

/* It fails with that status, says so in err too, and the text has the words. */
static TEST_UNUSED bool test_check_fails(mmt_status got, const mmt_error *err,
                                         mmt_status wanted, const char *words,
                                         const char *file, int line, const char *what)
{
    if (test_check(got == wanted && err->status == wanted && strstr(err->text, words),
                   file, line, what))
        return true;
    fprintf(stderr, "    is:        %s: %s\n    should be: %s, with \"%s\"\n",
            mmt_status_name(got), err->text, mmt_status_name(wanted), words);
    return false;
}

/* What main returns: a program that checked nothing has failed. */
static TEST_UNUSED int test_end(const char *what)
{
    printf("%s: %d checks, %d failed\n", what, test_checks, test_failures);
    return test_failures || !test_checks;
}

#endif
