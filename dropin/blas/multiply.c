/* Computes one product of a BLAS program by our plan or by the program's library; nested
 * and late calls go to the library. */
#include "dropin/blas/multiply.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "dropin/blas/library.h"
#include "dropin/calls.h"
#include "runtime/runtime.h"

/* Below it a launch costs more than it can save. */
#define USUAL_THRESHOLD (64.0 * 64 * 64)

/* Bytes that pointers must be multiples of: verdicts are measured with such ones. */
enum { ALIGNMENT = 16 };

static double threshold = USUAL_THRESHOLD;
static bool all; /* for testers: every product is ours, without a verdict */
static _Atomic(struct mmt_calls *) begun;
static atomic_int running; /* products of ours */
static atomic_bool ended;  /* the process ends: its driver may be gone */

/* In a library's own product, or ours; in ours alone. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));
static _Thread_local int inside __attribute__((tls_model("initial-exec")));

/* ---- beginning ------------------------------------------------------------------- */

__attribute__((constructor)) static void read_variables(void)
{
    const char *text = secure_getenv("MMTUNE_BLAS_THRESHOLD");
    const char *which = secure_getenv("MMTUNE_BLAS");
    char *end = NULL;
    const double value = text ? mmt_text_read_number(text, &end) : -1;

    if ((all = which && !strcmp(which, "all")))
        threshold = 0;
    else if (which && *which)
        fprintf(stderr,
                "mmtune: MMTUNE_BLAS is \"%s\"; the only value is all, for every product "
                "without a verdict; verdicts decide\n",
                which);
    if (text && end != text && !*end && value >= 0)
        threshold = value;
    else if (text)
        fprintf(stderr,
                "mmtune: MMTUNE_BLAS_THRESHOLD is \"%s\"; it must be a number of "
                "multiplications, such as 262144, which is taken instead\n",
                text);
}

/* A product that a handler of a signal has interrupted, to end the process, is not waited
 * for. */
static void stop_serving(void *context)
{
    const struct timespec pause = { 0, 1000000 };

    atomic_store(&ended, true);
    while (atomic_load(&running) > inside)
        nanosleep(&pause, NULL);
}

static struct mmt_calls *start(const void *function)
{
    const char *device = secure_getenv("MMTUNE_BLAS_DEVICE");
    struct mmt_calls_options options;
    char path[256], name[48];

    mmt_calls_read_options(&options);
    options.work.end = stop_serving;
    options.all = all && !options.record;
    mmt_blas_path(function, path);
    mmt_blas_name(path, name);
    struct mmt_calls *calls = mmt_calls_start(
        &(struct mmt_calls_of){ device && *device ? device : MMT_CALLS_CPU, NULL, name,
                                path },
        &options);
    if (calls && options.wait > 0)
        mmt_calls_wait(calls, options.wait);
    return calls;
}

static struct mmt_calls *begin(const void *function)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    struct mmt_calls *calls = atomic_load_explicit(&begun, memory_order_relaxed);
    if (!calls) {
        calls = start(function);
        atomic_store_explicit(&begun, calls, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return calls;
}

static struct mmt_calls *calls_of(const struct mmt_original *original)
{
    struct mmt_calls *calls = atomic_load_explicit(&begun, memory_order_acquire);
    return calls ? calls : begin(original->function);
}

/* ---- by the library -------------------------------------------------------------- */

bool mmt_blas_passes(int64_t m, int64_t n, int64_t k)
{
    return depth > 0 || (double) m * (double) n * (double) k < threshold;
}

void mmt_blas_pass(const struct mmt_original *original, void *c)
{
    depth++;
    original->compute(original, c);
    depth--;
}

static void pass_timed(const struct mmt_original *original, void *c,
                       struct mmt_slot *slot)
{
    const double start = mmt_now();
    mmt_blas_pass(original, c);
    mmt_slot_time(slot, mmt_now() - start);
}

/* ---- by ours --------------------------------------------------------------------- */

static bool is_aligned(const struct mmt_product *product)
{
    return ((uintptr_t) product->a | (uintptr_t) product->b | (uintptr_t) product->c) %
               ALIGNMENT ==
           0;
}

static const mmt_plan *find_plan(struct mmt_slot *slot, const struct mmt_product *product,
                                 enum mmt_fate *fate)
{
    const mmt_plan *plan =
        all ? mmt_slot_await_plan(slot, fate) : mmt_slot_plan(slot, fate);

    if (plan && (all || is_aligned(product)))
        return plan;
    *fate = plan ? MMT_FATE_ALIGNMENT : *fate;
    return NULL;
}

/* BLAS reports no errors, and what is half added up cannot be computed again. */
static void give_up(const mmt_error *err)
{
    fprintf(stderr, "mmtune: a product failed on its way: %s\n", err->text);
    abort();
}

/* False where the library can and must compute it. */
static bool run_plan(void *plan, const struct mmt_product *product)
{
    const struct mmt_host_args args = { product->a, product->b, product->c,
                                        product->alpha, product->beta };
    bool started;
    mmt_error err;
    mmt_status status = mmt_execute_host(plan, &args, &started, &err);

    if (status && started && product->beta != 0)
        give_up(&err);
    return !status;
}

static bool take(const struct mmt_calls_options *options, const mmt_plan *plan,
                 struct mmt_slot *slot, const struct mmt_product *product,
                 const struct mmt_original *original)
{
    const struct mmt_checking checking = { product, mmt_slot_call(slot), original,
                                           run_plan, (void *) plan };
    bool done = false;

    depth++;
    inside++;
    atomic_fetch_add(&running, 1);
    if (!atomic_load(&ended))
        done = options->check && mmt_slot_take_check(slot)
                   ? mmt_blas_check_product(&checking)
                   : run_plan((void *) plan, product);
    atomic_fetch_sub(&running, 1);
    inside--;
    depth--;
    return done;
}

static void serve(struct mmt_calls *calls, struct mmt_slot *slot,
                  const struct mmt_product *product, const struct mmt_original *original)
{
    const struct mmt_calls_options *options = mmt_calls_options(calls);
    enum mmt_fate fate;
    const mmt_plan *plan = find_plan(slot, product, &fate);

    if (plan && !take(options, plan, slot, product, original)) {
        plan = NULL;
        fate = MMT_FATE_FAILED;
    }
    if (!plan && options->record)
        pass_timed(original, product->c, slot);
    else if (!plan)
        mmt_blas_pass(original, product->c);
    mmt_slot_count(slot, fate);
}

void mmt_blas_multiply(const struct mmt_product *product,
                       const struct mmt_original *original)
{
    struct mmt_calls *calls = calls_of(original);
    struct mmt_call call;
    struct mmt_slot *slot =
        mmt_product_call(product, &call) ? mmt_calls_slot(calls, &call) : NULL;

    if (slot)
        serve(calls, slot, product, original);
    else
        mmt_blas_pass(original, product->c);
}
