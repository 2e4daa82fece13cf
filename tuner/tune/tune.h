/* One run of the tuner, for the verb `tune`; `regret` and `verify` use pieces of it.
 *
 *   run.c      the run from beginning to end
 *   goals.c    which problems, and how the budget is shared among them
 *   pool.c     the worker processes, and Ctrl-C
 *   machine_fault.c  whether the machine is at fault, not the kernels
 *   template_search.c     a problem's templates, each a space of its own to search
 *   compiled.c    what is compiled already, for other problems too
 *   goal.c     one goal, from its search to its entry
 *   problem.c  the loop: propose, compile, verify and time, journal
 *   roofline.c  what a device reaches, and times that cannot be
 *   finals.c   the best against each other, twice
 *   law_times.c    what corrects the law of time, on many shapes
 *   ranges.c   the best on many m of a range, and which of them serve it
 *   yardstick.c  the vendor's library beside winners
 *   recorded.c   problems that programs computed, as goals and ranges
 *   verdicts.c   whether ours or a program's library is faster on its calls
 *   whole_verify.c   whole verification, before a kernel enters the profile
 *   profile.c  what is written
 *   messages.c   what is said */
#ifndef MMT_TUNER_TUNE_TUNE_H
#define MMT_TUNER_TUNE_TUNE_H

#include "tuner/model/fit.h"
#include "tuner/journal/journal.h"
#include "tuner/journal/lock.h"
#include "tuner/measure/roofline.h"
#include "tuner/common/suites.h"
#include "tuner/tune/recorded.h"
#include "tuner/worker/worker.h"

/* ---- the run --------------------------------------------------------------------- */

/* Lists and strings are the caller's, and outlive the run. */
struct mmt_tune_options {
    const char *device; /* NULL: "0" */
    bool types[MMT_NUM_TYPES], some_types;
    struct mmt_epilogue epilogue;
    mmt_op op;
    struct mmt_shape *shapes; /* of the op, each a shape or a range of m */
    int num_shapes;
    struct mmt_words suites;             /* known ones */
    unsigned transposes;                 /* 0: none were named */
    bool ld_padding[2];                  /* leading dimensions: packed, odd */
    const struct mmt_template *template; /* NULL: all */
    const char *search;
    struct mmt_budget budget;
    int64_t seed;
    double limit; /* seconds for a candidate, before what its size and the best add */
    const char *output; /* NULL: the usual place */
    const char *with;
    bool fresh, json, quiet;
    bool recorded;         /* the goals are what programs computed */
    const char *recording; /* its file; NULL: the device's own */
    bool emulated;         /* their f32 may be emulated, too */
};

struct mmt_counts {
    int tried, skipped, wrong, failed, killed; /* tried counts them all */
};

void mmt_counts_add(struct mmt_counts *counts, enum mmt_outcome outcome);

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

/* What failed in a row: the journal holds it until somebody is found to be at fault. */
struct mmt_suspects {
    int in_a_row, alike;          /* alike: the last ones, for the same reason */
    char reason[MMT_REASON_SIZE]; /* of the last one */
    bool naive;                   /* it is among them */
    bool naive_is_odd;            /* others went well behind it: it says nothing here */
    int well;                     /* results of this run that nothing failed for */
};

/* The vendor's library in this run. */
struct mmt_tune_library {
    char name[48];             /* with its version; "": not asked for, or not there */
    char why[MMT_REASON_SIZE]; /* it is not asked any more: it is not there, crashes or
                                * hangs; "": it may be */
    bool missing;              /* it is not there */
    int taken;                 /* records that this run made */
};

enum { MMT_MAX_TEMPLATES = 64 };

/* A configuration that was compiled in this run, for a problem. */
struct mmt_built {
    mmt_problem problem;
    struct mmt_config config, seen; /* as it is auto; as its sources see it */
};

/* A range of m that is tuned: a few of its m are goals. */
struct mmt_tune_range {
    mmt_problem problem; /* with the least m; normalised */
    int64_t m_to;
};

/* The device that is tuned, and how it fared in this run. */
struct mmt_run_device {
    char id[32]; /* "cuda:0" and the like */
    double load; /* of the host when the run began: threads beside its own */
    bool busy;   /* that is so much that times of a CPU are doubtful */
    struct mmt_caps caps;
    struct mmt_made_health health;
};

/* What the run reads and writes; it owns all of them. */
struct mmt_run_files {
    struct mmt_journal *journal;
    size_t known; /* the journal's records when the run began */
    size_t told;  /* bytes of the journal's notes that were said */
    struct mmt_profile *profile;
    bool refuted;                 /* it had entries that were found wrong */
    struct mmt_profile *other;    /* of --with; NULL: none */
    struct mmt_profile *layers;   /* what is known of such a device; NULL: nothing */
    char *path;                   /* of the profile; malloc'ed */
    struct mmt_own_folder folder; /* where a search leaves nothing, of its journal */
    struct mmt_forget forget;     /* of options.fresh */
};

/* Times of mmt_now(), in seconds; INFINITY: no limit. In their order. */
struct mmt_run_clock {
    double started;
    double goals_end;
    double ends;       /* of the law's times, and so of all that no range needs */
    double ranges_end; /* from `ends` to this ranges are timed */
    double finish;     /* from there to this kernels are verified wholly */
    double first_verdicts_end, verdicts_end; /* before goals; from `finish` on */
    int64_t candidates_left;                 /* of a budget of candidates */
    double last_status;                      /* when progress was last said */
};

/* How long pieces of work take in this run, in seconds. */
struct mmt_run_pace {
    double whole_seconds;   /* verifying wholly, about; 0: none was */
    double compile_seconds; /* a candidate's compiling, about */
    double default_seconds; /* until the default was timed */
    double fitted_at;       /* mmt_now() when models were fitted last */
    double fit_seconds;     /* what that took */
};

/* What no kernel exceeds. */
struct mmt_run_limits {
    struct mmt_roofline measured;
    struct mmt_roofline roofline;     /* the same, with what clock and lanes tell */
    double ceiling[MMT_NUM_TYPES];    /* FLOP/s that nothing exceeds; 0: unknown */
    double naive_rate[MMT_NUM_TYPES]; /* FLOP/s of the naive template; 0: unknown */
    int probes;                       /* how often this run has measured the roofline */
    bool doubtful;                    /* the last time on a machine that was busy */
};

/* Problems in the order in which they are tuned; malloc'ed, owned by the run. */
struct mmt_run_problems {
    mmt_problem *list;
    double *weights; /* parts of the time, one each; NULL: the usual ones */
    int count, at;   /* how many there are, and which one is being tuned */
};

/* What a run does, in this order; each is passed over where it does not apply. */
enum mmt_run_phase {
    MMT_PHASE_FIRST_VERDICTS,
    MMT_PHASE_GOALS,
    MMT_PHASE_LAW,
    MMT_PHASE_RANGES,
    MMT_PHASE_VERIFY_WINNERS,
    MMT_PHASE_VERIFY_RANGES,
    MMT_PHASE_VERDICTS,
    MMT_NUM_PHASES,
};

/* One run. Zero but for its options before it begins. */
struct mmt_run {
    struct mmt_tune_options options; /* the caller's */
    struct mmt_run_device device;
    struct mmt_run_files files;
    struct mmt_pool pool; /* mmt_pool_stop() */
    struct mmt_suspects suspects;
    struct mmt_run_clock clock;
    struct mmt_run_pace pace;
    struct mmt_run_limits limits;
    struct mmt_tune_library library;
    struct mmt_counts counts; /* candidates of this run */
    enum mmt_run_phase phase;
    struct mmt_run_problems goals;
    struct {
        struct mmt_tune_range *list; /* malloc'ed, owned by the run */
        int count;
    } ranges;
    struct {
        struct mmt_built *list; /* malloc'ed, owned by the run */
        int count;
    } built;
    struct mmt_run_recorded recorded;
    bool strict; /* the f32 of the goal at hand is computed by FMAs alone */
    bool found;  /* something served a goal */
};

/* Tunes by run->options, all else being zero, and writes the profile; tells on the way
 * what happens. What was learned before an error or an interruption is written, too: see
 * mmt_pool_interrupts(). One run a process at a time: it hears the process's signals. */
mmt_status mmt_tune_run(struct mmt_run *run, mmt_error *err);

/* Stops the workers and frees all but the options, after a run that failed as well. */
void mmt_tune_finish(struct mmt_run *run);

/* Fills run->device.id and run->device.caps by run->options.device without opening the
 * device: a context in this process would be one more beside the worker's. */
mmt_status mmt_tune_find_device(struct mmt_run *run, mmt_error *err);

/* ---- times that cannot be (roofline.c) --------------------------------------- */

/* Takes in what was measured, now or by an earlier run: the best of old and new counts.
 * Fills run->limits.ceiling, too. */
void mmt_tune_set_roofline(struct mmt_run *run, const struct mmt_roofline *measured);

/* Seconds of a problem at the roofline; 0: unknown. */
double mmt_tune_roofline(const struct mmt_run *run, const mmt_problem *problem);

/* Measures the roofline: the worker that measures is idle. */
void mmt_tune_probe(struct mmt_run *run);

/* What a probe found, if it did. */
void mmt_tune_take_probe(struct mmt_run *run, const struct mmt_reply *reply);

/* Whether a result beats the roofline by more than its spread, and it may be measured
 * again for that: a few times a run. */
bool mmt_tune_is_exceeded(const struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_result *result);

/* Every time that counts for anything passes here, measured now or read from a journal.
 * What no device can be so fast for is MMT_FAILED, with the reason. */
void mmt_tune_judge(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_result *result);

/* The same, and before it measures the roofline again where the result asks for it. */
void mmt_tune_judge_anew(struct mmt_run *run, const mmt_problem *problem,
                         struct mmt_result *result);

/* Takes out of the journal what an earlier run cannot have measured, and notes that. */
void mmt_tune_judge_journal(struct mmt_run *run);

/* ---- goals ----------------------------------------------------------------------- */

/* Those that are asked for, or those that the device computes well: run->options.types.
 */
mmt_status mmt_tune_choose_types(struct mmt_run *run, mmt_error *err);

/* Fills run->goals.list. */
mmt_status mmt_tune_set_goals(struct mmt_run *run, mmt_error *err);

bool mmt_tune_is_goal(const struct mmt_run *run, const mmt_problem *problem);

/* How many types and transposes of products the goals have. */
int mmt_tune_count_kinds(const struct mmt_run *run);

/* Seconds that a problem's data, and their sums for verifying, take the host. */
double mmt_tune_setting_up(const mmt_problem *problem);

/* The goal that is tuned now. */
const mmt_problem *mmt_tune_current(const struct mmt_run *run);

/* The one that comes next; NULL: none. */
const mmt_problem *mmt_tune_next(const struct mmt_run *run);

/* Appends a problem. */
mmt_status mmt_problems_add(struct mmt_run_problems *problems, const mmt_problem *problem,
                            mmt_error *err);

/* The share of the goal run->goals.at in what is left: a time when it ends, and a number
 * of candidates. */
double mmt_tune_share_time(const struct mmt_run *run);
int64_t mmt_tune_share_candidates(const struct mmt_run *run);

/* ---- the pool -------------------------------------------------------------------- */

/* One worker that measures on run->device.id and, unless `without_compilers`, those that
 * compile for it. */
mmt_status mmt_pool_start(struct mmt_run *run, bool without_compilers, mmt_error *err);
void mmt_pool_stop(struct mmt_pool *pool);

/* How often the run was interrupted: once, it ends soon; twice, at once. */
int mmt_pool_interrupts(void);

/* An idle worker of a role, or NULL. */
struct mmt_worker *mmt_pool_idle(struct mmt_pool *pool, enum mmt_role role);
int mmt_pool_busy(const struct mmt_pool *pool, enum mmt_role role);

struct mmt_event {
    struct mmt_job job; /* what the worker was at */
    struct mmt_reply reply;
};

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

/* ---- is the machine at fault? (machine_fault.c) --------------------------------- */

/* Journals a candidate's or a calibration's result. One that may be a bad moment's is
 * held until another one goes well. */
mmt_status mmt_tune_note_result(struct mmt_run *run, const struct mmt_record *record,
                                mmt_error *err);

/* Whether so many failed alike, the naive kernel or ten in a row, that the machine may be
 * at fault. */
bool mmt_tune_suspects(const struct mmt_run *run);

/* Tries the naive kernel. Where it works the kernels are at fault: they are journalled.
 * Else none is, and the reason ends the run. The worker that measures is idle. */
mmt_status mmt_tune_ask_naive(struct mmt_run *run, mmt_error *err);

/* What is known of the machine that explains why kernels, or a device, fail: a folder
 * that compilers write into has no room. False: nothing is known. */
bool mmt_tune_explain(const struct mmt_run *run, struct mmt_text *why);

/* At the end of a search: asks where one is suspected, or nothing has gone well in this
 * run; else journals what is held. */
mmt_status mmt_tune_end_suspicion(struct mmt_run *run, mmt_error *err);

/* ---- template searches: one for each template of a problem ----------------------- */

struct mmt_template_search;

struct mmt_template_searches {
    struct mmt_run *run;
    const mmt_problem *problem;
    struct mmt_template_search *list;
    int count;
    double best;     /* INFINITY: none was timed */
    double best_mhz; /* the device's clock then; 0: unknown */
    struct mmt_config best_config;
};

/* Starts a search for each template; tells them what the journal knows of the problem. */
mmt_status mmt_searches_create(struct mmt_run *run, const mmt_problem *problem,
                               struct mmt_template_searches *out, mmt_error *err);
void mmt_searches_free(struct mmt_template_searches *searches);

/* Whether no template but that one is tried. */
bool mmt_searches_only(const struct mmt_template_searches *searches,
                       const char *template);

/* The next candidate of the template that promises most. False where all are exhausted
 * or must hear of what is under way. */
bool mmt_searches_ask(struct mmt_template_searches *searches, struct mmt_config *out);

/* Whether a configuration's template was far behind so far, or is new to this problem
 * while another one is not. */
bool mmt_searches_is_low_priority(const struct mmt_template_searches *searches,
                                  const struct mmt_config *config);

/* What became of a configuration, whoever proposed it. */
void mmt_searches_tell(struct mmt_template_searches *searches,
                       const struct mmt_config *config, const struct mmt_result *result);

/* How unlike two problems are, in octaves or so, for one's winner to be tried on the
 * other. */
double mmt_tune_distance(const mmt_problem *a, const mmt_problem *b);

/* Whether the run tries a template on such problems at all. */
bool mmt_tune_is_meant(const struct mmt_run *run, const struct mmt_template *template,
                       const mmt_problem *problem);

/* ---- what is compiled already --------------------------------------------------- */

/* Notes that a configuration is compiled, with what the problem specialises. */
void mmt_tune_add_built(struct mmt_run *run, const mmt_problem *problem,
                        const struct mmt_config *config);

/* The same of what a compiler reports, unless that failed. Other reports say nothing. */
void mmt_tune_note_built(struct mmt_run *run, const struct mmt_event *event);

/* Whether it is; the problem may be another one that needs the same sources. */
bool mmt_tune_is_built(const struct mmt_run *run, const mmt_problem *problem,
                       const struct mmt_config *config);

/* Whether a compiler is at it, maybe for another problem. */
bool mmt_tune_is_being_built(const struct mmt_run *run, const mmt_problem *problem,
                             const struct mmt_config *config);

/* Has an idle worker compile a configuration, with what the problem specialises. */
void mmt_tune_compile(struct mmt_run *run, struct mmt_worker *worker,
                      const mmt_problem *problem, const struct mmt_config *config);

/* Has idle workers compile what is neither built of these nor being built; the first
 * waits for none, and is false where not all were handed out; the second waits for all,
 * until a time of mmt_now(). */
bool mmt_tune_build_ahead(struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_config *configs, int count);
void mmt_tune_build(struct mmt_run *run, const mmt_problem *problem,
                    const struct mmt_config *configs, int count, double ends);

/* What is compiled, serves the problem and was not tried on it, the most promising first
 * and none that is predicted to take twice its time; returns how many. */
int mmt_tune_list_ready(const struct mmt_run *run, const mmt_problem *problem,
                        struct mmt_config *out, int most);

/* ---- the loop, and the finals ---------------------------------------------------- */

/* Searches until a time of mmt_now(). */
mmt_status mmt_tune_search(struct mmt_run *run, const mmt_problem *problem, double ends,
                           mmt_error *err);

/* Searches and holds the finals, until a time of mmt_now(). *found is false where nothing
 * serves the problem. */
mmt_status mmt_tune_find(struct mmt_run *run, const mmt_problem *problem, double ends,
                         struct mmt_record *winner, bool *found, mmt_error *err);

/* Tunes run->goals.list[run->goals.at] and puts what it found into the profile. */
mmt_status mmt_tune_problem(struct mmt_run *run, mmt_error *err);

/* Seconds that a phase of measuring may take. */
double mmt_tune_limit(const struct mmt_run *run, const mmt_problem *problem, double best);

/* Times the best of the journal against each other, within the time. Where an earlier run
 * has timed the same ones, what it entered stands. *found is false where nothing serves
 * the problem. */
mmt_status mmt_tune_finals(struct mmt_run *run, const mmt_problem *problem, double ends,
                           struct mmt_record *winner, bool *found, mmt_error *err);

/* Who takes part, of records of one problem, the fastest first: they come to the front,
 * and their number is returned. Those that are not far behind, five at most; but a device
 * that is power-limited ranks kernels in another order than one that is not, and there
 * eight take part, of more than two tiles where the fast ones have them. What programs
 * get without this run is one more, unless it is far behind for sure. */
int mmt_tune_select_finalists(const struct mmt_run *run, struct mmt_record *timed,
                              int count);

/* Whether all finalists, of one problem, took part in finals of earlier runs, whose
 * winner the profile has: then *winner is that one, as it was timed last. */
bool mmt_tune_is_decided(const struct mmt_run *run, const struct mmt_record *finalists,
                         int count, struct mmt_record *winner);

/* The favourite among finalists, the fastest first: of those that tie with the fastest,
 * within half a percent, the one that needs the fewest registers, then the least shared
 * memory. */
const struct mmt_record *mmt_tune_favourite(const struct mmt_record *sorted, int count);

/* Times what a program gets for the first goal before this run, unless that is known: so
 * that whatever ends a run, there is a time to hold others against. */
mmt_status mmt_tune_time_default(struct mmt_run *run, mmt_error *err);

/* What a program gets for a problem before this run, of what was tuned or by default;
 * false where that is no candidate here. */
bool mmt_tune_known(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_config *out);

/* Times what the law of time expects to be the fastest for many shapes of each type and
 * transposes of the run; shapes that are known take no time. */
mmt_status mmt_tune_time_law(struct mmt_run *run, mmt_error *err);

/* ---- ranges of m (ranges.c) --------------------------------------------------- */

/* Seconds that are kept for timing kernels on the ranges and verifying them. */
double mmt_tune_ranges_seconds(const struct mmt_run *run);

/* Times the winners of a range's goals, the next best, and what the law ranks first, on
 * many of its m; selects from them and puts the range into the profile. */
mmt_status mmt_tune_time_ranges(struct mmt_run *run, mmt_error *err);

/* Verifies each kernel wholly at both ends of its segment, as long as there is time; one
 * that is wrong is selected no more. */
mmt_status mmt_tune_verify_ranges(struct mmt_run *run, mmt_error *err);

/* ---- the vendor's library beside ours (yardstick.c) ----------------------------- */

/* Seconds of the goal at hand that its yardstick may take at most, of those until `ends`;
 * 0: there is none for it. */
double mmt_tune_yardstick_most(const struct mmt_run *run, double ends);

/* Times the library beside a goal's winner, unless the profile's entry of it has that of
 * this driver and version, and puts the record into the entry. */
void mmt_tune_yardstick(struct mmt_run *run, const mmt_problem *problem, double most);

/* Whether an entry has a record of the driver and the library of this run. */
bool mmt_tune_has_yardstick(const struct mmt_run *run, const struct mmt_entry *entry);

/* ---- verifying wholly (whole_verify.c) ------------------------------------------ */

/* Verifies wholly, unless the journal knows. MMT_WHOLE_UNKNOWN: it came to nothing, as
 * the run was interrupted. */
mmt_status mmt_tune_verify_at(struct mmt_run *run, const mmt_problem *problem,
                              const struct mmt_config *config, enum mmt_whole *out,
                              mmt_error *err);

/* Verifies the winner of each problem; the next best takes the place of one that is
 * wrong. */
mmt_status mmt_tune_verify_winners(struct mmt_run *run, mmt_error *err);

/* What one takes, in seconds; and what of the budget is kept for the winners'. */
double mmt_tune_whole_seconds(const struct mmt_run *run);
double mmt_tune_reserve(const struct mmt_run *run);

/* ---- the profile ---------------------------------------------------------------- */

/* Reads what stands at the path, or starts an empty one; finds out whether the place can
 * be written to. */
mmt_status mmt_tune_open_profile(struct mmt_run *run, mmt_error *err);

/* Puts a winner, and what was tried --with another profile, in the place of the problem's
 * earlier entries. */
mmt_status mmt_tune_enter(struct mmt_run *run, const mmt_problem *problem,
                          const struct mmt_record *winner, mmt_error *err);

/* Removes what --fresh kept beside the profile: the run ended whole. */
void mmt_tune_drop_before(const struct mmt_run *run);

/* Writes the profile, with the counts of the journal. */
mmt_status mmt_tune_save(struct mmt_run *run, mmt_error *err);

/* Adds how the device fared while a result was taken. */
void mmt_tune_note_health(struct mmt_made_health *health,
                          const struct mmt_result *result);

/* ---- what the profile learns (fit.c) --------------------------------------------- */

/* Fits the models of run->files.profile to all that was timed. */
mmt_status mmt_tune_fit(struct mmt_run *run, mmt_error *err);

/* Takes out of the profile what was found wrong since it was entered. */
void mmt_tune_drop_refuted(struct mmt_run *run);

/* Does all that for all times so far and writes the profile, if this run has learned
 * anything. Models are fitted the `last` time, and before that as long as it takes little
 * of the run. */
mmt_status mmt_tune_update(struct mmt_run *run, bool last, mmt_error *err);

/* ---- reports -------------------------------------------------------------------- */

void mmt_report_prepare(struct mmt_run *run);
void mmt_report_start(struct mmt_run *run);
/* That the default of the first goal is timed. */
void mmt_report_default(const struct mmt_run *run);
/* What the journal has to say that was not said yet. */
void mmt_report_journal(struct mmt_run *run);
void mmt_report_problem(struct mmt_run *run);
void mmt_report_result(struct mmt_run *run, const struct mmt_record *record, double best);
/* What a whole verification found; what is wrong, always. */
void mmt_report_whole(struct mmt_run *run, const struct mmt_record *record);
void mmt_report_law_time(struct mmt_run *run, const struct mmt_record *record);
/* Notes how the device fared while a result was taken; says so when it is throttled for
 * the first time. */
void mmt_report_health(struct mmt_run *run, const struct mmt_result *result);
/* That kernels cannot be stored, once a run: on standard error, or as an event. */
void mmt_report_cache(struct mmt_run *run);
/* What is going on now; says it a few times a second at most. */
void mmt_report_status(struct mmt_run *run, const struct mmt_config *trying, double best);
/* What the vendor's library takes beside a winner, as an event alone. */
void mmt_report_yardstick(const struct mmt_run *run, const struct mmt_entry *entry);
void mmt_report_winner(struct mmt_run *run, const struct mmt_record *winner);

/* The profile's entry of a problem, measured here; NULL: there is none. */
const struct mmt_entry *mmt_tune_winner(const struct mmt_run *run,
                                        const mmt_problem *problem);
void mmt_report_end(struct mmt_run *run);
/* A sentence beside the figures. */
__attribute__((format(printf, 2, 3))) void mmt_report_note(struct mmt_run *run,
                                                           const char *format, ...);

#endif
