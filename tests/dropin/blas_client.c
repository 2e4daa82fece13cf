/* A program of BLAS: blas_client CALL..., where a call is words of NAME=VALUE with commas
 * between them: m, n, k, ta=T, tb=T, gap (elements behind each column), shift (elements
 * by which operands start behind a page), alpha, beta, f64=1, cblas=101 or 102, count,
 * threads, fork=1 or 2 (in a child of the process), hook=FILE (as FlexiBLAS calls it,
 * which stands in flexiblas=FILE).
 *
 * All numbers are whole, so that answers are exact. Exits 1 where one is wrong, or where
 * anything but C was written. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void gemm(const char *ta, const char *tb, const int *m, const int *n,
                  const int *k, const void *alpha, const void *a, const int *lda,
                  const void *b, const int *ldb, const void *beta, void *c,
                  const int *ldc, size_t length_a, size_t length_b);
extern gemm sgemm_, dgemm_;
void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c,
                 int ldc);
void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta,
                 double *c, int ldc);

enum { GUARD = 77, PAGE = 4096, ROW_MAJOR = 101 };

struct call {
    int m, n, k, gap, shift, f64, cblas, count, threads, fork;
    double alpha, beta;
    char ta[2], tb[2], hook[512], flexiblas[512];
    gemm *function;
};

/* ---- reading
 * ---------------------------------------------------------------------------- */

static void read_word(struct call *call, const char *name, const char *value)
{
    const struct {
        const char *name;
        int *at;
    } numbers[] = { { "m", &call->m },
                    { "n", &call->n },
                    { "k", &call->k },
                    { "gap", &call->gap },
                    { "shift", &call->shift },
                    { "f64", &call->f64 },
                    { "cblas", &call->cblas },
                    { "count", &call->count },
                    { "threads", &call->threads },
                    { "fork", &call->fork } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(numbers[i].name, name))
            *numbers[i].at = atoi(value);
    if (!strcmp(name, "alpha"))
        call->alpha = atof(value);
    if (!strcmp(name, "beta"))
        call->beta = atof(value);
    if (!strcmp(name, "ta"))
        call->ta[0] = *value;
    if (!strcmp(name, "tb"))
        call->tb[0] = *value;
    if (!strcmp(name, "hook"))
        snprintf(call->hook, sizeof call->hook, "%s", value);
    if (!strcmp(name, "flexiblas"))
        snprintf(call->flexiblas, sizeof call->flexiblas, "%s", value);
}

static struct call read_call(char *words)
{
    struct call call = { .m = 16,
                         .n = 12,
                         .k = 20,
                         .count = 1,
                         .threads = 1,
                         .alpha = 1,
                         .ta = "N",
                         .tb = "N" };
    for (char *word; (word = strsep(&words, ","));) {
        char *value = strchr(word, '=');
        if (value) {
            *value = '\0';
            read_word(&call, word, value + 1);
        }
    }
    return call;
}

/* ---- numbers
 * ---------------------------------------------------------------------------- */

static double get(const struct call *call, const void *at, int i)
{
    return call->f64 ? ((const double *) at)[i] : ((const float *) at)[i];
}

static void set(const struct call *call, void *at, int i, double value)
{
    if (call->f64)
        ((double *) at)[i] = value;
    else
        ((float *) at)[i] = (float) value;
}

static double number(int which, int i)
{
    return (i * 7 + which * 3) % 11 - 5;
}

struct matrix {
    void *block;
    char *at;
    int lines, length, ld; /* a line is a column, or of row-major ones a row */
};

static struct matrix make(const struct call *call, int which, int rows, int columns)
{
    const int by_rows = call->cblas == ROW_MAJOR;
    struct matrix x = { .lines = by_rows ? rows : columns,
                        .length = by_rows ? columns : rows };
    x.ld = x.length + call->gap;
    const size_t size = call->f64 ? 8 : 4;
    const size_t bytes = (size_t) (x.ld * x.lines + call->shift) * size;
    x.block = aligned_alloc(PAGE, (bytes + 2 * PAGE) / PAGE * PAGE);
    x.at = (char *) x.block + (size_t) call->shift * size;
    for (int i = 0; i < x.ld * x.lines; i++)
        set(call, x.at, i, i % x.ld < x.length ? number(which, i) : GUARD);
    return x;
}

static double element(const struct call *call, const struct matrix *x, int row,
                      int column)
{
    const int by_rows = call->cblas == ROW_MAJOR;
    return get(call, x->at, by_rows ? row * x->ld + column : row + column * x->ld);
}

/* ---- calling
 * ---------------------------------------------------------------------------- */

static void multiply(const struct call *call, const struct matrix *a,
                     const struct matrix *b, const struct matrix *c)
{
    const float alpha = (float) call->alpha, beta = (float) call->beta;
    const int ta = *call->ta == 'N' ? 111 : 112, tb = *call->tb == 'N' ? 111 : 112;

    if (call->cblas && call->f64)
        cblas_dgemm(call->cblas, ta, tb, call->m, call->n, call->k, call->alpha,
                    (double *) a->at, a->ld, (double *) b->at, b->ld, call->beta,
                    (double *) c->at, c->ld);
    else if (call->cblas)
        cblas_sgemm(call->cblas, ta, tb, call->m, call->n, call->k, alpha,
                    (float *) a->at, a->ld, (float *) b->at, b->ld, beta, (float *) c->at,
                    c->ld);
    else
        call->function(call->ta, call->tb, &call->m, &call->n, &call->k,
                       call->f64 ? (const void *) &call->alpha : &alpha, a->at, &a->ld,
                       b->at, &b->ld, call->f64 ? (const void *) &call->beta : &beta,
                       c->at, &c->ld, 1, 1);
}

static double answer(const struct call *call, const struct matrix *a,
                     const struct matrix *b, const struct matrix *before, int i, int j)
{
    double sum = 0;
    for (int p = 0; p < call->k; p++)
        sum += (*call->ta == 'N' ? element(call, a, i, p) : element(call, a, p, i)) *
               (*call->tb == 'N' ? element(call, b, p, j) : element(call, b, j, p));
    return call->alpha * sum + call->beta * element(call, before, i, j);
}

static int count_wrong(const struct call *call, const struct matrix *a,
                       const struct matrix *b, const struct matrix *before,
                       const struct matrix *c)
{
    int wrong = 0;
    for (int i = 0; i < call->m; i++)
        for (int j = 0; j < call->n; j++)
            wrong += element(call, c, i, j) != answer(call, a, b, before, i, j);
    for (int i = 0; i < c->ld * c->lines; i++)
        wrong += i % c->ld >= c->length && get(call, c->at, i) != GUARD;
    return wrong;
}

static void *run(void *argument)
{
    const struct call *call = argument;
    struct matrix a = *call->ta == 'N' ? make(call, 0, call->m, call->k)
                                       : make(call, 0, call->k, call->m);
    struct matrix b = *call->tb == 'N' ? make(call, 1, call->k, call->n)
                                       : make(call, 1, call->n, call->k);
    struct matrix before = make(call, 2, call->m, call->n);
    intptr_t wrong = 0;

    for (int i = 0; i < call->count; i++) {
        struct matrix c = make(call, 2, call->m, call->n);
        multiply(call, &a, &b, &c);
        wrong += count_wrong(call, &a, &b, &before, &c);
        free(c.block);
    }
    free(a.block);
    free(b.block);
    free(before.block);
    return (void *) wrong;
}

static int run_threads(struct call *call)
{
    pthread_t threads[16];
    intptr_t wrong = 0;
    for (int i = 0; i < call->threads; i++)
        pthread_create(&threads[i], NULL, run, call);
    for (int i = 0; i < call->threads; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (intptr_t) result;
    }
    return wrong != 0;
}

/* A child says whether it was right: by _exit, as what its parent began is not its own,
 * or where the parent had begun nothing (2) by its usual end. */
static int run_child(struct call *call)
{
    int status = 1;
    const pid_t child = fork();
    if (!child && call->fork > 1)
        exit(run(call) != NULL);
    if (!child)
        _exit(run(call) != NULL);
    waitpid(child, &status, 0);
    return status;
}

/* ---- as FlexiBLAS loads a hook
 * ---------------------------------------------------------- */

static void *need(void *handle, const char *name)
{
    void *symbol = handle ? dlsym(handle, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return symbol;
}

static int run_hook(struct call *call)
{
    void *flexiblas = dlopen(call->flexiblas, RTLD_NOW | RTLD_LOCAL);
    need(flexiblas, "flexiblas_chain_sgemm_");
    void *hook = dlopen(call->hook, RTLD_LAZY | RTLD_LOCAL);
    const char *const *names = need(hook, "flexiblas_register");
    need(hook, "flexiblas_options");
    void (*initialize)(void) =
        (void (*)(void))(uintptr_t) need(hook, "__flexiblas_hook_initialize");
    void (*finalize)(void) =
        (void (*)(void))(uintptr_t) need(hook, "__flexiblas_hook_finalize");
    call->function =
        (gemm *) (uintptr_t) need(hook, call->f64 ? "hook_dgemm" : "hook_sgemm");
    initialize();
    const int wrong = run(call) != NULL || strcmp(names[1], "MMTUNE");
    finalize();
    dlclose(hook);
    free((void *) names[1]); /* so does FlexiBLAS 3.4 */
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    for (int i = 1; i < argc; i++) {
        struct call call = read_call(argv[i]);
        call.function = call.f64 ? dgemm_ : sgemm_;
        const int failed = *call.hook  ? run_hook(&call)
                           : call.fork ? run_child(&call)
                                       : run_threads(&call);
        if (failed)
            fprintf(stderr, "call %d is wrong\n", i);
        wrong |= failed;
    }
    return wrong;
}
