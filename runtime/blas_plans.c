/* The handle of BLAS-like calls: plans by problem, and workspaces by queue. */
#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/problem.h"
#include "runtime/blas.h"

enum { USUAL_PLANS = 256 };

struct mmt_blas_plan {
    mmt_problem problem; /* as it was asked for */
    mmt_plan *plan;
    int users;     /* calls that found it and have not queued it yet: atomic */
    uint64_t used; /* the handle's clock when it was found last */
    struct mmt_blas_plan
        *next; /* in its place of the table, or of those that are to be freed */
};

/* A queue that calls came with. */
struct lane {
    mmt_queue queue;
    pthread_mutex_t turn; /* held while launches that share the workspace are queued */
    mmt_operand workspace;
    size_t bytes; /* of the workspace */
    struct lane *next;
};

struct mmt_blas {
    mmt_device *device;
    mmt_profile *found; /* the handle's own */
    const mmt_profile *profile;
    mmt_plan_options options;
    size_t most, count, places; /* plans, and places of the table: a power of two */
    pthread_mutex_t planning;   /* held by who makes, frees or waits; taken first */
    pthread_mutex_t lock; /* of all that follows, and of mmt_blas_plan.used and .next */
    uint64_t clock;
    struct mmt_blas_plan **table;
    struct lane *lanes; /* where one leaves, both locks are held */
};

/* ---- making and freeing handles -------------------------------------------------- */

void mmt_blas_options_init(mmt_blas_options *out, size_t size)
{
    const mmt_blas_options options = { .max_plans = USUAL_PLANS };
    mmt_struct_fill(out, size, &options, sizeof options);
}

static mmt_status read_options(mmt_blas *blas, const mmt_blas_options *given,
                               mmt_error *err)
{
    mmt_blas_options options = mmt_blas_defaults();
    mmt_status status = MMT_OK;

    blas->options = mmt_plan_defaults();
    if (given)
        status = mmt_struct_read(&options, sizeof options,
                                 offsetof(mmt_blas_options, plan) + sizeof options.plan,
                                 given, "mmt_blas_options", "mmt_blas_defaults", err);
    if (!status && options.max_plans < 1)
        status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                          "mmt_blas_options.max_plans is 0; it must be at least 1");
    if (!status && options.plan)
        status = mmt_struct_read(&blas->options, sizeof blas->options,
                                 offsetof(mmt_plan_options, configuration), options.plan,
                                 "mmt_plan_options", "mmt_plan_defaults", err);
    blas->most = options.max_plans;
    blas->profile = options.profile;
    return status;
}

static mmt_status find_profile(mmt_blas *blas, mmt_error *err)
{
    mmt_error why = { 0 };

    if (blas->profile)
        return MMT_OK;
    blas->profile = blas->found = mmt_profile_find(blas->device, &why);
    if (blas->found || why.status == MMT_ERROR_NOT_FOUND)
        return MMT_OK;
    return mmt_fail_native(err, why.status, why.native, "%s", why.text);
}

static mmt_status make_table(mmt_blas *blas, mmt_error *err)
{
    blas->places = 1;
    while (blas->places < blas->most && blas->places < SIZE_MAX / 2)
        blas->places *= 2;
    blas->table = calloc(blas->places, sizeof *blas->table);
    if (blas->table)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a table of %zu plans",
                    blas->most);
}

mmt_blas *mmt_blas_create(mmt_device *device, const mmt_blas_options *options,
                          mmt_error *err)
{
    if (!device) {
        mmt_fail(err, MMT_ERROR_ARGUMENT, "mmt_blas_create needs a device");
        return NULL;
    }
    mmt_blas *blas = calloc(1, sizeof *blas);
    if (!blas) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a handle");
        return NULL;
    }
    blas->device = device;
    pthread_mutex_init(&blas->planning, NULL);
    pthread_mutex_init(&blas->lock, NULL);
    if (read_options(blas, options, err) || find_profile(blas, err) ||
        make_table(blas, err)) {
        mmt_blas_free(blas);
        return NULL;
    }
    return blas;
}

static void free_plans(struct mmt_blas_plan *kept)
{
    for (struct mmt_blas_plan *next; kept; kept = next) {
        next = kept->next;
        mmt_plan_free(kept->plan);
        free(kept);
    }
}

static void free_lane(mmt_blas *blas, struct lane *lane)
{
    mmt_buffer_free(blas->device, lane->workspace);
    pthread_mutex_destroy(&lane->turn);
    free(lane);
}

void mmt_blas_free(mmt_blas *blas)
{
    if (!blas)
        return;
    for (size_t i = 0; blas->table && i < blas->places; i++)
        free_plans(blas->table[i]);
    for (struct lane *next; blas->lanes; blas->lanes = next) {
        next = blas->lanes->next;
        free_lane(blas, blas->lanes);
    }
    free(blas->table);
    mmt_profile_free(blas->found);
    pthread_mutex_destroy(&blas->planning);
    pthread_mutex_destroy(&blas->lock);
    free(blas);
}

mmt_device *mmt_blas_device(const mmt_blas *blas)
{
    return blas->device;
}

size_t mmt_blas_count_plans(mmt_blas *blas)
{
    pthread_mutex_lock(&blas->lock);
    const size_t count = blas->count;
    pthread_mutex_unlock(&blas->lock);
    return count;
}

/* ---- queues ---------------------------------------------------------------------- */

/* The queue's lane, made where there is none; NULL: no memory. The lock is held. */
static struct lane *find_lane(mmt_blas *blas, mmt_queue queue)
{
    struct lane *lane = blas->lanes;
    while (lane && lane->queue != queue)
        lane = lane->next;
    if (lane || !(lane = calloc(1, sizeof *lane)))
        return lane;
    pthread_mutex_init(&lane->turn, NULL);
    lane->queue = queue;
    lane->next = blas->lanes;
    return blas->lanes = lane;
}

static struct lane *take_lane(mmt_blas *blas, mmt_queue queue)
{
    pthread_mutex_lock(&blas->lock);
    struct lane **place = &blas->lanes;
    while (*place && (*place)->queue != queue)
        place = &(*place)->next;
    struct lane *lane = *place;
    if (lane)
        *place = lane->next;
    pthread_mutex_unlock(&blas->lock);
    return lane;
}

mmt_status mmt_blas_forget(mmt_blas *blas, mmt_queue queue, mmt_error *err)
{
    if (!blas)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "mmt_blas_forget needs a handle");
    pthread_mutex_lock(&blas->planning);
    struct lane *lane = take_lane(blas, queue);
    pthread_mutex_unlock(&blas->planning);
    const mmt_status status = mmt_finish(blas->device, queue, err);
    if (lane)
        free_lane(blas, lane);
    return status;
}

/* ---- plans ----------------------------------------------------------------------- */

/* A column-major matrix is its transpose's row-major one: C' = op(B)' op(A)'. */
static mmt_problem problem_of(const struct mmt_blas_call *call)
{
    const bool a = call->trans_a != MMT_NO_TRANSPOSE;
    const bool b = call->trans_b != MMT_NO_TRANSPOSE;
    const bool many = call->batch > 1;
    const int64_t stride_a = many ? call->stride_a : 0;
    const int64_t stride_b = many ? call->stride_b : 0;
    mmt_problem p = { .size = sizeof p,
                      .op = MMT_GEMM,
                      .type = call->type,
                      .k = call->k,
                      .ldc = call->ldc,
                      .batch = call->batch,
                      .stride_c = many ? call->stride_c : 0,
                      .out = mmt_type_own_output(call->type) };

    if (call->layout == MMT_ROW_MAJOR) {
        p.m = call->m, p.n = call->n;
        p.trans_a = a, p.lda = call->lda, p.stride_a = stride_a;
        p.trans_b = b, p.ldb = call->ldb, p.stride_b = stride_b;
    } else {
        p.m = call->n, p.n = call->m;
        p.trans_a = b, p.lda = call->ldb, p.stride_a = stride_b;
        p.trans_b = a, p.ldb = call->lda, p.stride_b = stride_a;
    }
    return p;
}

static struct mmt_blas_plan **place_of(const mmt_blas *blas, const mmt_problem *p)
{
    const int64_t told[] = { p->m,        p->n,        p->k,
                             p->lda,      p->ldb,      p->ldc,
                             p->stride_a, p->stride_b, p->stride_c,
                             p->batch,    p->type,     p->trans_a * 2 + p->trans_b };
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        hash = (hash ^ (uint64_t) told[i]) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return &blas->table[hash & (blas->places - 1)];
}

/* The problem's plan, which the caller then uses, or NULL. The lock is held. */
static struct mmt_blas_plan *find_plan(mmt_blas *blas, const mmt_problem *problem)
{
    struct mmt_blas_plan *kept = *place_of(blas, problem);
    while (kept && !mmt_problem_equal(&kept->problem, problem))
        kept = kept->next;
    if (kept) {
        __atomic_fetch_add(&kept->users, 1, __ATOMIC_RELAXED);
        kept->used = ++blas->clock;
    }
    return kept;
}

/* Takes the plan that was used longest ago, and by no call now, out of the table. */
static struct mmt_blas_plan *take_oldest(mmt_blas *blas)
{
    struct mmt_blas_plan **oldest = NULL;

    for (size_t i = 0; i < blas->places; i++)
        for (struct mmt_blas_plan **at = &blas->table[i]; *at; at = &(*at)->next)
            if (!__atomic_load_n(&(*at)->users, __ATOMIC_ACQUIRE) &&
                (!oldest || (*at)->used < (*oldest)->used))
                oldest = at;
    if (!oldest)
        return NULL;
    struct mmt_blas_plan *kept = *oldest;
    *oldest = kept->next;
    kept->next = NULL;
    blas->count--;
    return kept;
}

/* A quarter of the plans, where they are too many. */
static struct mmt_blas_plan *take_surplus(mmt_blas *blas)
{
    struct mmt_blas_plan *surplus = NULL, *kept;
    const size_t stay = blas->most - blas->most / 4;

    if (blas->count <= blas->most)
        return NULL;
    while (blas->count > stay && (kept = take_oldest(blas))) {
        kept->next = surplus;
        surplus = kept;
    }
    return surplus;
}

/* All lanes that there are now; those that come later use no plan that was taken out. */
static mmt_status finish_lanes(mmt_blas *blas, mmt_error *err)
{
    mmt_status status = MMT_OK;

    pthread_mutex_lock(&blas->lock);
    struct lane *lane = blas->lanes;
    pthread_mutex_unlock(&blas->lock);
    for (; lane && !status; lane = lane->next)
        status = mmt_finish(blas->device, lane->queue, err);
    return status;
}

static mmt_status insert(mmt_blas *blas, struct mmt_blas_plan *kept, mmt_error *err)
{
    mmt_status status = MMT_OK;

    pthread_mutex_lock(&blas->lock);
    struct mmt_blas_plan **place = place_of(blas, &kept->problem);
    kept->next = *place;
    kept->used = ++blas->clock;
    *place = kept;
    blas->count++;
    struct mmt_blas_plan *surplus = take_surplus(blas);
    pthread_mutex_unlock(&blas->lock);
    if (surplus)
        status = finish_lanes(blas, err);
    free_plans(surplus);
    return status;
}

/* What is left to be wrong is where C's matrices lie. */
static mmt_status check_problem(const mmt_problem *problem, mmt_error *err)
{
    mmt_problem normalised;
    mmt_error why = { 0 };
    const mmt_status status = mmt_problem_normalise(problem, &normalised, &why);

    if (!status)
        return MMT_OK;
    return mmt_blame(
        err, mmt_fail(err, status, "argument %d: %s", MMT_BLAS_STRIDE_C, why.text),
        MMT_ARGUMENT_STRIDE_C);
}

/* Makes the problem's plan, which the caller then uses. */
static mmt_status make_plan(mmt_blas *blas, const mmt_problem *problem,
                            struct mmt_blas_plan **out, mmt_error *err)
{
    mmt_status status = check_problem(problem, err);
    if (status)
        return status;
    mmt_error why = { 0 };
    struct mmt_blas_plan *kept = calloc(1, sizeof *kept);
    if (!kept)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a plan");
    *kept = (struct mmt_blas_plan){ .problem = *problem, .users = 1 };
    kept->plan =
        mmt_plan_create(blas->device, blas->profile, problem, &blas->options, &why);
    if (!kept->plan) {
        free(kept);
        return mmt_fail_native(err, why.status, why.native, "%s", why.text);
    }
    *out = kept;
    return insert(blas, kept, err);
}

/* Another thread may have made it while this one waited for its turn. */
static mmt_status find_or_make_plan(mmt_blas *blas, const mmt_problem *problem,
                                    struct mmt_blas_plan **out, mmt_error *err)
{
    mmt_status status = MMT_OK;

    pthread_mutex_lock(&blas->planning);
    pthread_mutex_lock(&blas->lock);
    *out = find_plan(blas, problem);
    pthread_mutex_unlock(&blas->lock);
    if (!*out)
        status = make_plan(blas, problem, out, err);
    pthread_mutex_unlock(&blas->planning);
    return status;
}

mmt_status mmt_blas_borrow(mmt_blas *blas, const mmt_problem *problem,
                           struct mmt_blas_plan **out, mmt_error *err)
{
    pthread_mutex_lock(&blas->lock);
    *out = find_plan(blas, problem);
    pthread_mutex_unlock(&blas->lock);
    return *out ? MMT_OK : find_or_make_plan(blas, problem, out, err);
}

void mmt_blas_give_back(struct mmt_blas_plan *kept)
{
    __atomic_fetch_sub(&kept->users, 1, __ATOMIC_RELEASE);
}

const mmt_plan *mmt_blas_plan_of(const struct mmt_blas_plan *kept)
{
    return kept->plan;
}

/* ---- executing ------------------------------------------------------------------- */

/* The lane's turn is held. */
static mmt_status grow_workspace(mmt_blas *blas, struct lane *lane, size_t bytes,
                                 mmt_error *err)
{
    if (lane->bytes >= bytes)
        return MMT_OK;
    mmt_status status = mmt_finish(blas->device, lane->queue, err);
    if (status)
        return status;
    mmt_buffer_free(blas->device, lane->workspace);
    lane->workspace = (mmt_operand){ 0 };
    lane->bytes = 0;
    status = mmt_buffer_create(blas->device, bytes, &lane->workspace, err);
    if (!status)
        lane->bytes = bytes;
    return status;
}

/* Launches of two threads on one queue may come in any order: with a workspace that they
 * share they take turns. */
static mmt_status execute(mmt_blas *blas, const mmt_plan *plan, struct lane *lane,
                          mmt_args *args, mmt_error *err)
{
    const size_t bytes = mmt_plan_workspace(plan);

    if (!bytes)
        return mmt_execute_unbounded(plan, args, lane->queue, err);
    pthread_mutex_lock(&lane->turn);
    mmt_status status = grow_workspace(blas, lane, bytes, err);
    args->workspace = lane->workspace;
    if (!status)
        status = mmt_execute_unbounded(plan, args, lane->queue, err);
    pthread_mutex_unlock(&lane->turn);
    return status;
}

mmt_status mmt_blas_execute(mmt_blas *blas, const struct mmt_blas_call *call,
                            mmt_operand a, mmt_operand b, mmt_operand c, mmt_queue queue,
                            mmt_error *err)
{
    const bool swapped = call->layout == MMT_COLUMN_MAJOR;
    const mmt_problem problem = problem_of(call);
    mmt_args args = { .size = sizeof args,
                      .a = swapped ? b : a,
                      .b = swapped ? a : b,
                      .c = c,
                      .alpha = call->alpha,
                      .beta = call->beta };
    mmt_status status = MMT_OK;

    pthread_mutex_lock(&blas->lock);
    struct lane *lane = find_lane(blas, queue);
    struct mmt_blas_plan *kept = lane ? find_plan(blas, &problem) : NULL;
    pthread_mutex_unlock(&blas->lock);
    if (!lane)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a queue's workspace");
    if (!kept)
        status = find_or_make_plan(blas, &problem, &kept, err);
    if (!status)
        status = execute(blas, kept->plan, lane, &args, err);
    if (kept)
        mmt_blas_give_back(kept);
    return status;
}
