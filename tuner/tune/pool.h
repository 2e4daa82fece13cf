/* The worker processes of a run, and Ctrl-C. */
#ifndef MMT_TUNER_TUNE_POOL_H
#define MMT_TUNER_TUNE_POOL_H

#include "tuner/journal/own_folder.h"
#include "tuner/worker/worker.h"

struct mmt_run;

/* One worker for measuring, and the others for compiling. */
struct mmt_pool {
    struct mmt_worker *workers; /* the first one measures */
    int count;
    bool shared; /* compiling and measuring share the cores: never both at once */
    int cores;
    bool at_once;                 /* set before the start: one signal counts as two */
    mmt_error broken;             /* a worker cannot be kept alive */
    int killed;                   /* workers that were killed from outside */
    struct mmt_own_folder folder; /* PoCL's cache while tuning, where it is ours */
    char cache[MMT_REASON_SIZE];  /* why kernels cannot be stored; "": they can */
    bool cache_told;              /* that was said */
};

struct mmt_event {
    struct mmt_job job; /* what the worker was at */
    struct mmt_reply reply;
};

/* One worker that measures on run->device.id and, unless `without_compilers`, those that
 * compile for it. */
mmt_status mmt_pool_start(struct mmt_run *run, bool without_compilers, mmt_error *err);
void mmt_pool_stop(struct mmt_pool *pool);

/* Why no worker can be kept alive, if that is so. */
mmt_status mmt_pool_check(const struct mmt_pool *pool, mmt_error *err);

/* How often the run was interrupted: once, it ends soon; twice, at once. */
int mmt_pool_interrupts(void);

/* An idle worker of a role, or NULL. */
struct mmt_worker *mmt_pool_idle(struct mmt_pool *pool, enum mmt_role role);
int mmt_pool_busy(const struct mmt_pool *pool, enum mmt_role role);

/* Waits for the next end of a job, until a time of mmt_now() or an interruption. Workers
 * that die or hang are replaced; the job's end says what became of it. */
bool mmt_pool_next(struct mmt_pool *pool, double until, struct mmt_event *event);

/* Does one job on the measuring worker and waits for it, and notes what compilers report
 * meanwhile: false where that broke the pool, or the run was interrupted twice. A job
 * whose worker is killed from outside is done again, twice at most. */
bool mmt_pool_do(struct mmt_run *run, const struct mmt_job *job, double limit,
                 struct mmt_event *event);

/* Has the plainest kernel built and run as if for the first time: by a new process, whose
 * caches are an empty folder beside the usual ones. The worker that measures is idle; it
 * is another process afterwards. */
void mmt_pool_try_naive(struct mmt_run *run, struct mmt_result *out);

/* Puts a new process in the place of the worker that measures, which is idle. False where
 * that broke the pool. */
bool mmt_pool_renew(struct mmt_pool *pool);

#endif
