/* cuBLASLt: its first heuristic with a workspace of 64 MiB, and the best of all
 * that it proposes with that or less. It proposes few for one limit (8, where this was
 * written), so it is asked for several, and each is also tried with its blocks walked the
 * other way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/call.h"
#include "base/clock.h"
#include "tuner/bench/cublas_lt.h"
#include "device/primary.h"
#include "tuner/bench/reference.h"
#include "tuner/verify/session_internal.h"
#include "tuner/measure/stats.h"

enum { MOST_HEURISTICS = 32, TRIALS = 5 };
static const size_t workspace_bytes = (size_t) 64 << 20;
static const double trial_seconds =
    4e-3;                           /* one trial of a heuristic takes that at least */
static const double hopeless = 1.3; /* times slower than the best, twice: tried no more */

struct cublas {
    struct mmt_primary primary; /* cuBLASLt works in the thread's current context */
    struct mmt_lt_functions call;
    mmt_device *device;
    int ordinal;
    struct mmt_lt_handle *handle;
    mmt_operand workspace;

    /* The problem at hand. */
    struct mmt_session *session;
    struct mmt_lt_product product;
    struct mmt_lt_preference *preference;
    struct mmt_lt_heuristic heuristics[MOST_HEURISTICS];
    int num_heuristics, best; /* heuristics that serve, in cuBLASLt's own order */
};

/* Calls a function of cuBLASLt; leaves the caller with an error where it fails. */
#define TRY(name, ...)                                                                   \
    do {                                                                                 \
        int code_ = self->call.name(__VA_ARGS__);                                        \
        if (code_)                                                                       \
            return mmt_lt_fail(&self->call, code_, #name, err);                          \
    } while (0)

/* ---- opening --------------------------------------------------------------------- */

static mmt_status start_cublas(struct cublas *self, mmt_error *err)
{
    mmt_status status = mmt_lt_open(&self->call, err);
    if (status == MMT_OK)
        status = mmt_primary_enter(&self->primary, self->ordinal, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(self->device, workspace_bytes, &self->workspace, err);
    if (status != MMT_OK)
        return status;
    TRY(cublasLtCreate, &self->handle);
    return MMT_OK;
}

static void forget_cublas(void *given)
{
    struct cublas *self = given;

    if (self->preference)
        self->call.cublasLtMatmulPreferenceDestroy(self->preference);
    mmt_lt_product_free(&self->call, &self->product);
    self->preference = NULL;
    self->session = NULL;
    self->num_heuristics = self->best = 0;
}

static void close_cublas(void *given)
{
    struct cublas *self = given;

    forget_cublas(self);
    if (self->handle)
        self->call.cublasLtDestroy(self->handle);
    if (self->workspace.handle)
        mmt_buffer_free(self->device, self->workspace);
    mmt_primary_leave(&self->primary);
    free(self);
}

static mmt_status open_cublas(mmt_device *device, void **out, mmt_error *err)
{
    int ordinal;
    if (sscanf(device->id, "cuda:%d", &ordinal) != 1)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "cuBLAS runs on CUDA devices, and %s is none; `mmtune devices` "
                        "lists those there are",
                        mmt_device_name(device));
    struct cublas *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for cuBLAS");
    self->device = device;
    self->ordinal = ordinal;
    mmt_status status = start_cublas(self, err);
    if (status == MMT_OK)
        *out = self;
    else
        close_cublas(self);
    return status;
}

static const char *refuse_cublas(void *self, const mmt_problem *problem)
{
    if (problem->bias || problem->activation)
        return "products with a bias or an activation are not compared";
    return mmt_lt_refuse_type(problem);
}

/* ---- which heuristics ------------------------------------------------------------ */

static bool is_known(const struct cublas *self, const struct mmt_lt_heuristic *heuristic)
{
    for (int i = 0; i < self->num_heuristics; i++)
        if (!memcmp(self->heuristics[i].algorithm, heuristic->algorithm,
                    sizeof heuristic->algorithm))
            return true;
    return false;
}

static mmt_status ask_within(struct cublas *self, uint64_t workspace, uint32_t reductions,
                             mmt_error *err)
{
    struct mmt_lt_heuristic found[MOST_HEURISTICS];
    int count = 0;

    TRY(cublasLtMatmulPreferenceSetAttribute, self->preference, MMT_LT_PREF_WORKSPACE,
        &workspace, sizeof workspace);
    TRY(cublasLtMatmulPreferenceSetAttribute, self->preference, MMT_LT_PREF_REDUCTIONS,
        &reductions, sizeof reductions);
    TRY(cublasLtMatmulAlgoGetHeuristic, self->handle, self->product.descriptor,
        self->product.first, self->product.second, self->product.product,
        self->product.product, self->preference, MOST_HEURISTICS, found, &count);
    for (int i = 0; i < count && self->num_heuristics < MOST_HEURISTICS; i++)
        if (found[i].state == 0 && found[i].workspace <= workspace &&
            !is_known(self, &found[i]))
            self->heuristics[self->num_heuristics++] = found[i];
    return MMT_OK;
}

static void add_other_walks(struct cublas *self)
{
    int proposed = self->num_heuristics;

    for (int i = 0; i < 2 * proposed && self->num_heuristics < MOST_HEURISTICS; i++) {
        struct mmt_lt_heuristic other = self->heuristics[i / 2], checked;
        uint32_t swizzled = i % 2;
        if (!self->call.cublasLtMatmulAlgoConfigSetAttribute(
                other.algorithm, MMT_LT_CONFIG_SWIZZLING, &swizzled, sizeof swizzled) &&
            !is_known(self, &other) &&
            !self->call.cublasLtMatmulAlgoCheck(
                self->handle, self->product.descriptor, self->product.first,
                self->product.second, self->product.product, self->product.product,
                other.algorithm, &checked) &&
            checked.state == 0 && checked.workspace <= workspace_bytes) {
            other.workspace = checked.workspace;
            self->heuristics[self->num_heuristics++] = other;
        }
    }
}

/* Its first heuristic is that of the first limit; for the others it may have none. */
static mmt_status ask_choices(struct cublas *self, mmt_error *err)
{
    static const struct {
        unsigned part; /* of the workspace */
        uint32_t reductions;
    } limits[] = {
        { 1, MMT_LT_ALL_REDUCTIONS },   { 1, 0 },
        { 4, MMT_LT_ALL_REDUCTIONS },   { 16, MMT_LT_ALL_REDUCTIONS },
        { 64, MMT_LT_ALL_REDUCTIONS },  { 1, MMT_LT_REDUCTION_COMPUTE },
        { 1, MMT_LT_REDUCTION_OUTPUT },
    };
    mmt_error why = { 0 };

    TRY(cublasLtMatmulPreferenceCreate, &self->preference);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (ask_within(self, workspace_bytes / limits[i].part, limits[i].reductions,
                       &why) &&
            i == 0)
            return mmt_fail_native(err, why.status, why.native, "%s", why.text);
    add_other_walks(self);
    if (!self->num_heuristics)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "cuBLASLt proposes no algorithm for this problem");
    return MMT_OK;
}

/* ---- one product ----------------------------------------------------------------- */

static void *address_of(mmt_operand operand)
{
    return (void *) (uintptr_t) (operand.handle + operand.offset);
}

static mmt_status queue_heuristic(void *given, int heuristic, const mmt_args *args,
                                  mmt_queue stream, mmt_error *err)
{
    struct cublas *self = given;
    mmt_type scalar = mmt_type_scalar(self->session->problem.type);
    double one, zero; /* in the scalar type */

    mmt_number_write(scalar, 1, &one);
    mmt_number_write(scalar, 0, &zero);
    const struct mmt_lt_product *p = &self->product;
    TRY(cublasLtMatmul, self->handle, p->descriptor, &one, address_of(args->b), p->first,
        address_of(args->a), p->second, &zero, address_of(args->c), p->product,
        address_of(args->c), p->product, self->heuristics[heuristic].algorithm,
        address_of(self->workspace), workspace_bytes, stream);
    return MMT_OK;
}

/* ---- the best heuristic ---------------------------------------------------------- */

struct trial {
    int64_t count; /* products in one sample */
    double samples[TRIALS];
    int num_samples;
    double median, least; /* of one product, so far */
    bool failed;
};

/* Finds how many products make one sample. The very first loads the kernel, and its time
 * tells nothing. */
static void start_trial(struct cublas *self, int heuristic, struct trial *trial)
{
    mmt_error err = { 0 };
    double seconds;
    mmt_status status = mmt_reference_time(self->session, queue_heuristic, self,
                                           heuristic, 0, 1, &seconds, &err);

    seconds = 0;
    for (int64_t count = 1; !status && seconds < trial_seconds && count <= 4096;
         count *= 2) {
        status = mmt_reference_time(self->session, queue_heuristic, self, heuristic, 0,
                                    count, &seconds, &err);
        trial->count = count;
        trial->median = trial->least = seconds / (double) count;
    }
    trial->failed = status != MMT_OK;
}

static void sample_trial(struct cublas *self, int heuristic, struct trial *trial)
{
    mmt_error err = { 0 };
    double seconds, copy[TRIALS];

    if (mmt_reference_time(self->session, queue_heuristic, self, heuristic,
                           trial->num_samples * trial->count, trial->count, &seconds,
                           &err)) {
        trial->failed = true;
        return;
    }
    trial->samples[trial->num_samples++] = seconds / (double) trial->count;
    trial->least = fmin(trial->least, seconds / (double) trial->count);
    memcpy(copy, trial->samples, sizeof copy);
    trial->median = mmt_stats_quantile(copy, trial->num_samples, 0.5);
}

static int fastest_trial(const struct trial *trials, int count)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (!trials[i].failed && (best < 0 || trials[i].median < trials[best].median))
            best = i;
    return best;
}

/* Every heuristic in turn, so that a change of the clock meets all alike. Where the time
 * is short the last ones are left out: cuBLASLt lists first what it expects to be
 * fastest.
 */
static mmt_status choose_best(struct cublas *self, double seconds, mmt_error *err)
{
    struct trial trials[MOST_HEURISTICS] = { { 0 } };
    const double ends = mmt_now() + seconds;

    for (int i = 0; i < self->num_heuristics; i++)
        if (i == 0 || mmt_now() < ends)
            start_trial(self, i, &trials[i]);
        else
            trials[i].failed = true;
    for (int round = 0; round < TRIALS && mmt_now() < ends; round++) {
        int best = fastest_trial(trials, self->num_heuristics);
        double limit = best < 0 ? 0 : hopeless * trials[best].median;
        for (int i = 0; i < self->num_heuristics; i++)
            if (!trials[i].failed && (round < 2 || trials[i].least <= limit))
                sample_trial(self, i, &trials[i]);
    }
    self->best = fastest_trial(trials, self->num_heuristics);
    if (self->best < 0)
        return mmt_fail(err, MMT_ERROR_DEVICE,
                        "none of the %d algorithms that cuBLASLt proposes runs",
                        self->num_heuristics);
    return MMT_OK;
}

static mmt_status prepare_cublas(void *given, struct mmt_session *session, double seconds,
                                 mmt_error *err)
{
    struct cublas *self = given;

    self->session = session;
    mmt_status status =
        mmt_lt_product_make(&self->call, &session->problem,
                            mmt_lt_compute(session->problem.type), &self->product, err);
    if (status == MMT_OK)
        status = ask_choices(self, err);
    if (status == MMT_OK)
        status = choose_best(self, seconds, err);
    return status;
}

/* ---- the table ------------------------------------------------------------------- */

enum { WAY_FIRST, WAY_BEST };

static mmt_status queue_cublas(void *given, int way, const mmt_args *args,
                               mmt_queue queue, mmt_error *err)
{
    const struct cublas *self = given;
    return queue_heuristic(given, way == WAY_FIRST ? 0 : self->best, args, queue, err);
}

static void print_cublas_version(void *self, struct mmt_text *text)
{
    char name[48];
    mmt_call_cublas_name(((struct cublas *) self)->call.cublasLtGetVersion(), name);
    mmt_text_add(text, name);
}

static void describe_cublas(void *given, int way, struct mmt_text *text)
{
    struct cublas *self = given;

    char name[48];

    mmt_call_cublas_name(self->call.cublasLtGetVersion(), name);
    if (!self->session)
        mmt_text_addf(text, "cuBLASLt%s", name + strlen(mmt_reference_cublas.title));
    else
        mmt_text_addf(text, "algorithm %d of %d", way == WAY_FIRST ? 1 : self->best + 1,
                      self->num_heuristics);
}

const struct mmt_reference mmt_reference_cublas = {
    .name = "cublas",
    .title = "cuBLAS",
    .ways = { "cublas first", "cublas best" },
    .open = open_cublas,
    .refuse = refuse_cublas,
    .prepare = prepare_cublas,
    .forget = forget_cublas,
    .queue = queue_cublas,
    .describe = describe_cublas,
    .version = print_cublas_version,
    .close = close_cublas,
};
