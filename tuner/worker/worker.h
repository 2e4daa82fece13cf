/* Workers: processes that compile, verify and time, so that a candidate that faults,
 * hangs or dies ends alone. The program spawns itself (`mmtune --worker ROLE DEVICE`) and
 * talks with the worker over a socket, one JSON object a line. The parent sets the
 * limits.
 *
 * The parent sends a job; the worker answers with notes ("verify", "time": the clock for
 * the limit starts anew) and, last, with one reply. A worker whose parent dies is killed
 * by the kernel. */
#ifndef MMT_TUNER_WORKER_WORKER_H
#define MMT_TUNER_WORKER_WORKER_H

#include <jansson.h>

#include "profiles/profile.h"
#include "tuner/common/child.h"
#include "tuner/common/processor.h"

/* ---- what is said ---------------------------------------------------------------- */

enum mmt_role { MMT_COMPILER, MMT_MEASURER };

/* In one job; and of a problem's finals. */
enum { MMT_MAX_TOGETHER = 26, MMT_REASON_SIZE = 600 };

/* Seconds that a probe may take. */
enum { MMT_PROBE_LIMIT = 20 };

enum mmt_task {
    MMT_TASK_COMPILE, /* configs[0] for the problem: fill the caches */
    MMT_TASK_MEASURE, /* configs[0]: verify, then time */
    MMT_TASK_VERIFY,  /* configs[0]: every check, and no time */
    MMT_TASK_FINALS,  /* all of configs, timed in turns; verified before where asked */
    MMT_TASK_PROBE,   /* the device's roofline */
    /* The vendor's library: which one it is; and with configs[0] its times beside that
     * one's on the problem, where all of it is right. Results: ours, then the library's
     * ways in their order. A lone one that failed tells why there is no library, or no
     * worker any more. */
    MMT_TASK_YARDSTICK,
    /* A program's library: which one it is; and with configs[0] ours and its times on the
     * call, in turn. Results: ours, then the library's, or a lone one that tells why not.
     */
    MMT_TASK_VERDICT,
};

struct mmt_job {
    enum mmt_task task;
    mmt_problem problem; /* normalised */
    uint64_t seed;       /* of the data */
    int count;
    struct mmt_config configs[MMT_MAX_TOGETHER];
    bool verify[MMT_MAX_TOGETHER];
    double best_seconds;   /* of this problem so far; 0: none */
    double best_mhz;       /* the device's clock then; 0: unknown */
    double budget_seconds; /* for timing one configuration */
    /* Probably far behind: verified at a smaller shape and run once; only where that is
     * not far behind, it is verified and timed like any other. */
    bool low_priority;
    /* Found right before: timed with few samples on random data whose product nobody
     * knows; where it is to be verified nevertheless, then at a smaller shape. */
    bool is_short;
    /* Finals of what computes so hard that it may run at the device's power limit: held
     * there, with longer samples. */
    bool power_limited;
    bool epilogues;       /* MMT_TASK_VERIFY: also each output, bias and activation */
    struct mmt_call call; /* MMT_TASK_VERDICT: its problem is the job's */
    bool energy;          /* there: there is time to tell energy, too */
    char path[256];       /* there: of the program's library */
};

enum mmt_outcome {
    MMT_TIMED,   /* or built, verified, probed: it went well */
    MMT_WRONG,   /* it computes wrongly */
    MMT_FAILED,  /* it does not compile, does not load, or the driver refused */
    MMT_SKIPPED, /* the device or the problem rules it out */
    MMT_HUNG,    /* killed at its limit */
    MMT_CRASHED, /* the process died of it */
    MMT_KILLED,  /* another process ended it, or the kernel for want of memory */
};

/* Whether a result may be the machine's fault as well as the kernel's. */
static inline bool mmt_outcome_may_be_machine(enum mmt_outcome outcome)
{
    return outcome == MMT_FAILED || outcome == MMT_HUNG || outcome == MMT_CRASHED;
}

/* "timed"; and back, or -1. */
const char *mmt_outcome_name(enum mmt_outcome outcome);
int mmt_outcome_parse(const char *name);

/* Of times taken on a CPU that had much else to do. */
#define MMT_BUSY "busy machine"

struct mmt_result {
    enum mmt_outcome outcome;
    char reason[MMT_REASON_SIZE]; /* "" where it went well; of trials that did not run */
    int checks, unchecked; /* of a verification: trials that ran, and that did not */
    bool checked; /* right by all quick checks; else by the first, as it is behind */
    struct mmt_timing time;
    int registers, spill_bytes; /* -1: the platform does not tell */
    long long shared;
    double celsius, clock_mhz; /* the hottest and slowest meanwhile; 0: not told */
    double joules;             /* of a verdict: for a call; 0: not told */
    char throttled[64];        /* the reasons, "power cap"; "": it was not; MMT_BUSY */
};

/* In a journal's words: {"status": "timed", "seconds": 1e-3 …}; no seconds of what was
 * built or verified alone. */
json_t *mmt_result_json(const struct mmt_result *result);
bool mmt_result_read(const json_t *object, struct mmt_result *out);

struct mmt_reply {
    int count;
    struct mmt_result results[MMT_MAX_TOGETHER]; /* of the job's configurations */
    struct mmt_roofline roofline;                /* of a probe */
    char library[48]; /* of a yardstick or a verdict: "cuBLAS 12.8.4" */
    char note[256];   /* of a verdict: that another file than the program's was opened */
    char cache[MMT_REASON_SIZE]; /* why kernels cannot be stored; "": they can */
    bool spoilt; /* the worker ends itself: its device may be in any state now */
};

/* ---- the parent's side ----------------------------------------------------------- */

struct mmt_worker {
    enum mmt_role role;
    char device[40]; /* what it opens */
    struct mmt_child child;
    int words_fd;          /* what it printed, for its obituary */
    struct mmt_text heard; /* not yet a whole line */
    bool ready, busy;
    struct mmt_job job;
    double limit, run_limit; /* seconds a phase of the job may take; its first run */
    double deadline;         /* mmt_now() when it is killed; INFINITY while idle */
    char phase[16];
    double since,
        last_phase; /* mmt_now() when it began; seconds that the last one took */
    struct mmt_processor_time used; /* by its threads when it began */
    int deaths;                     /* in a row before it was ready */
};

/* Starts the process. role and device must be filled in. */
mmt_status mmt_worker_start(struct mmt_worker *worker, mmt_error *err);

/* Hands over a job. Each of its phases may take `limit` seconds, but the first run after
 * compiling `run_limit`; what the worker waits for a processor does not count. A worker
 * that cannot be written to is found dead by the next mmt_worker_hear. */
void mmt_worker_send(struct mmt_worker *worker, const struct mmt_job *job, double limit,
                     double run_limit);

enum mmt_heard {
    MMT_HEARD_NOTHING, /* no whole reply yet */
    MMT_HEARD_REPLY,
    MMT_HEARD_DEATH, /* the process is gone and collected; *reply says why as a result */
};

/* Reads what came, without waiting, and looks at the deadline: a worker over it is killed
 * and heard as a death, its outcome being MMT_HUNG. */
enum mmt_heard mmt_worker_hear(struct mmt_worker *worker, struct mmt_reply *reply);

/* Ends the process at once; harmless where there is none. */
void mmt_worker_stop(struct mmt_worker *worker);

/* ---- the wire, for both sides ---------------------------------------------------- */

/* Each writes one line with its end, and reads one without. False: memory is exhausted,
 * or the line is none of ours. */
bool mmt_wire_write_job(const struct mmt_job *job, struct mmt_text *line);
bool mmt_wire_read_job(const char *line, struct mmt_job *out, mmt_error *err);
bool mmt_wire_write_reply(const struct mmt_reply *reply, struct mmt_text *line);
bool mmt_wire_read_reply(const char *line, struct mmt_reply *out);
/* {"note": "verify"}: true and the word, where the line is one. */
bool mmt_wire_read_note(const char *line, char note[16]);

#endif
