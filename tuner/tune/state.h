/* A run: what it is asked for, what it knows, and questions about that. Every file of
 * tuner/tune stands on this one. */
#ifndef MMT_TUNER_TUNE_STATE_H
#define MMT_TUNER_TUNE_STATE_H

#include "recording/recording.h"
#include "tuner/common/suites.h"
#include "tuner/journal/journal.h"
#include "tuner/journal/own_folder.h"
#include "tuner/measure/roofline.h"
#include "tuner/tune/pool.h"

/* The cards of one kind that share a run's problems, a tuner each. Strings are the
 * caller's. */
struct mmt_tune_cards {
    int number, count;  /* of this one, from 0; of all. 0: it has no others */
    const char *folder; /* where they take problems (deal.h); NULL: it has all */
    const char *key;    /* this card's */
};

/* Lists and strings are the caller's, and outlive the run. */
struct mmt_tune_options {
    const char *device; /* NULL: "0" */
    bool types[MMT_NUM_TYPES], some_types;
    struct mmt_epilogue epilogue;
    mmt_op op;
    struct mmt_shape *shapes; /* of the op, each a shape or a range of m */
    int num_shapes;
    struct mmt_words suites; /* known ones */
    unsigned transposes;     /* 0: none were named */
    bool ld_padding[2];      /* leading dimensions: packed, odd */
    const char *template;    /* a name; NULL: all */
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
    struct mmt_shard shard;
    struct mmt_tune_cards cards;
};

struct mmt_counts {
    int tried, skipped, wrong, failed, killed; /* tried counts them all */
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
    int all;         /* with those behind, which other cards of the kind have */
};

/* A file of a library that programs were recorded with. */
struct mmt_tune_called {
    enum mmt_client client;
    char path[256];            /* as recorded; "" */
    char name[48];             /* with its version; "": it cannot be called */
    char why[MMT_REASON_SIZE]; /* why not */
};

/* What programs computed. */
struct mmt_run_recorded {
    struct mmt_recording recording; /* owned by the run */
    struct mmt_tune_called *called; /* malloc'ed, owned by the run */
    int num_called;
    size_t hopeful; /* kinds that may gain by the law: the first of the recording */
    int taken;      /* verdicts that this run made */
    int left;       /* kinds without a verdict for which there was no time */
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

/* ---- the goals ------------------------------------------------------------------- */

/* The goal that is tuned now. */
const mmt_problem *mmt_tune_current(const struct mmt_run *run);

/* The one that comes next; NULL: none. */
const mmt_problem *mmt_tune_next(const struct mmt_run *run);

bool mmt_tune_is_goal(const struct mmt_run *run, const mmt_problem *problem);

/* Appends a problem. */
mmt_status mmt_problems_add(struct mmt_run_problems *problems, const mmt_problem *problem,
                            mmt_error *err);

/* Appends a range unless it is there. The problem has the least m, and is normalised. */
mmt_status mmt_ranges_add(struct mmt_run *run, const mmt_problem *problem, int64_t m_to,
                          mmt_error *err);

/* Whether a goal is of the range. */
bool mmt_tune_range_has(const struct mmt_tune_range *range, const mmt_problem *goal);

/* Whether the device has memory for tuning a problem: its inputs are there twice, random
 * ones and whole numbers. */
mmt_status mmt_tune_check_fits(const struct mmt_run *run, const mmt_problem *p,
                               mmt_error *err);

/* How many problems the budget has room for, on all cards of the kind. */
double mmt_tune_room(const struct mmt_run *run);

/* Seconds that a problem's data, and their sums for verifying, take the host. */
double mmt_tune_setting_up(const mmt_problem *problem);

/* ---- configurations and times ---------------------------------------------------- */

/* Whether the run tries a template on such problems at all. One that is named is tried on
 * all that it serves; of several spaces of that name, those that prefer them. */
bool mmt_tune_is_meant(const struct mmt_run *run, const struct mmt_template *template,
                       const mmt_problem *problem);

/* Whether a configuration may be tried for the goal at hand: not one that emulates f32
 * where that is computed by FMAs alone. */
bool mmt_tune_allows(const struct mmt_run *run, const mmt_problem *problem,
                     const struct mmt_config *config);

/* What a program gets for a problem before this run, of what was tuned or by default;
 * false where that is no candidate here. */
bool mmt_tune_known(const struct mmt_run *run, const mmt_problem *problem,
                    struct mmt_config *out);

/* Seconds that a phase of measuring may take. */
double mmt_tune_limit(const struct mmt_run *run, const mmt_problem *problem, double best);

/* Seconds of a problem at the roofline; 0: unknown. */
double mmt_tune_roofline(const struct mmt_run *run, const mmt_problem *problem);

/* ---- the profile ----------------------------------------------------------------- */

/* The profile's entry of a problem, measured here; NULL: there is none. */
const struct mmt_entry *mmt_tune_winner(const struct mmt_run *run,
                                        const mmt_problem *problem);

/* Whether an entry has a record of the driver and the library of this run. */
bool mmt_tune_has_yardstick(const struct mmt_run *run, const struct mmt_entry *entry);

/* ---- counts ---------------------------------------------------------------------- */

void mmt_counts_add(struct mmt_counts *counts, enum mmt_outcome outcome);

/* Adds how the device fared while a result was taken. */
void mmt_tune_note_health(struct mmt_made_health *health,
                          const struct mmt_result *result);

/* ---- what programs computed ------------------------------------------------------ */

/* The file of the library that was called; NULL: it was not asked yet. */
struct mmt_tune_called *mmt_tune_find_called(const struct mmt_run *run,
                                             const struct mmt_recorded *it);

/* What they add up to. */
struct mmt_verdicts_sum {
    int kinds, ours, theirs;     /* kinds of calls: all, and by whose verdict */
    double calls, our_calls;     /* calls: all, and those that ours takes */
    double seconds, our_seconds; /* that the library took for them */
    double saved;                /* of these, where ours takes them */
};
struct mmt_verdicts_sum mmt_tune_sum_verdicts(const struct mmt_run *run);

#endif
