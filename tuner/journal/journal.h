/* The journal: every result, appended as it comes, so that a crash loses nothing. It
 * stands beside the profile, as lines of JSON: a header, then a line a result.
 *
 * It is locked while it is open: two tuners never write into one. */
#ifndef MMT_TUNER_JOURNAL_JOURNAL_H
#define MMT_TUNER_JOURNAL_JOURNAL_H

#include "tuner/journal/forget.h"
#include "tuner/worker/worker.h"

struct mmt_record {
    mmt_problem problem; /* normalised */
    struct mmt_config config;
    struct mmt_result result;
    bool final;       /* timed again among the finalists; what it disproves of a candidate
                       * is so from then on */
    bool calibration; /* timed at a shape that is no goal, to learn what kernels cost */
    bool whole;       /* verified wholly; timed means right. These are no part of the
                       * records, but of mmt_journal_wholes */
    bool earlier;     /* by an earlier run, not by this one */
    bool held;        /* in memory, not in the file */
    int attempt;      /* 1, or more where earlier ones were tried again */
    double at;        /* when it was written, in seconds since 1970; 0: not known */
    double limit;     /* of MMT_HUNG: the run's --limit, in seconds; 0: not known */
};

/* Whether a search proposed it: the other records are of configurations known before. */
static inline bool mmt_record_is_candidate(const struct mmt_record *record)
{
    return !record->final && !record->calibration;
}

struct mmt_journal;

/* Opens or makes the journal of a profile's path, reads it up to its last whole line and
 * cuts off what is behind that. A journal of another device or format is
 * refused; `fresh` forgets whatever is there. Results of another compiler are left out,
 * of templates whose source has changed since, and of configurations that leave knobs to
 * the problem and would be resolved otherwise today. NULL on failure. */
struct mmt_journal *mmt_journal_open(const char *profile_path,
                                     const struct mmt_caps *caps, bool fresh,
                                     mmt_error *err);

/* Reads the journal of a profile's path as it is now, also while another process writes
 * into it: the file is not locked and not changed, and nothing can be added. *out is NULL
 * where there is no such file. Refuses and leaves out what opening it does. */
mmt_status mmt_journal_read(const char *profile_path, const struct mmt_caps *caps,
                            struct mmt_journal **out, mmt_error *err);

/* Closes after everything is on the disk; NULL is allowed. */
void mmt_journal_close(struct mmt_journal *journal);

const char *mmt_journal_path(const struct mmt_journal *journal);

/* Whether nothing stood at its path when it was opened. */
bool mmt_journal_is_new(const struct mmt_journal *journal);

/* Seconds that a candidate has in this run, for what hung under another limit. */
void mmt_journal_set_limit(struct mmt_journal *journal, double seconds);

/* What was left out on reading, and what became of the file since, one sentence a line;
 * "" where there is nothing to say. */
const char *mmt_journal_notes(const struct mmt_journal *journal);

/* Takes records out of memory that, as `cannot_be` finds, nothing can have measured, and
 * notes how many there are and why of the first. The file keeps their lines. */
void mmt_journal_pass_over(struct mmt_journal *journal,
                           bool (*cannot_be)(const void *self,
                                             const struct mmt_record *record, char *why,
                                             size_t size),
                           const void *self);

/* All records in the order in which they came. */
const struct mmt_record *mmt_journal_records(const struct mmt_journal *journal,
                                             size_t *count);

/* Those of one problem: the first, and the one that came after another; NULL: there is
 * none. */
const struct mmt_record *mmt_journal_first(const struct mmt_journal *journal,
                                           const mmt_problem *problem);
const struct mmt_record *mmt_journal_next(const struct mmt_journal *journal,
                                          const struct mmt_record *record);

/* How many records and whole verifications there are. */
size_t mmt_journal_count(const struct mmt_journal *journal);

/* How many of them were written since it was opened. */
size_t mmt_journal_written(const struct mmt_journal *journal);

/* What was verified wholly, with the same sources and driver. */
const struct mmt_record *mmt_journal_wholes(const struct mmt_journal *journal,
                                            size_t *count);

enum mmt_whole { MMT_WHOLE_UNKNOWN, MMT_WHOLE_RIGHT, MMT_WHOLE_WRONG };

/* What that found of a configuration on a problem. One that was found wrong is so, in all
 * records of the same op, type and transposes. */
enum mmt_whole mmt_journal_whole(const struct mmt_journal *journal,
                                 const mmt_problem *problem,
                                 const struct mmt_config *config);

/* The least time of a problem's candidates, in seconds; INFINITY where none was timed. */
double mmt_journal_best(const struct mmt_journal *journal, const mmt_problem *problem);

/* Whether a result is one for good. A bad moment of the machine is no property of a
 * kernel: what failed, hung or crashed in an earlier run is tried once more; what hung,
 * again where the limit has grown; and what was killed from outside, always. */
bool mmt_journal_stands(const struct mmt_journal *journal,
                        const struct mmt_record *record);

/* How many candidates are to be tried again. */
size_t mmt_journal_count_again(const struct mmt_journal *journal);

/* The result of a candidate; NULL where it was not tried, or is to be tried again. */
const struct mmt_record *mmt_journal_find(const struct mmt_journal *journal,
                                          const mmt_problem *problem,
                                          const struct mmt_config *config);

/* The first record that stands of a configuration on a problem, a candidate's or another;
 * NULL: there is none. Valid like the one above. */
const struct mmt_record *mmt_journal_find_any(const struct mmt_journal *journal,
                                              const mmt_problem *problem,
                                              const struct mmt_config *config);

/* Appends: one write, one line. The earlier pointers into the records end to be valid. */
mmt_status mmt_journal_add(struct mmt_journal *journal, const struct mmt_record *record,
                           mmt_error *err);

/* Keeps a record in memory alone, until it is known whether the kernel or the machine is
 * at fault. What finals disprove counts once it is written. */
mmt_status mmt_journal_hold(struct mmt_journal *journal, const struct mmt_record *record,
                            mmt_error *err);
mmt_status mmt_journal_write_held(struct mmt_journal *journal, mmt_error *err);

/* Forgets what is held; returns how many there were. */
size_t mmt_journal_drop_held(struct mmt_journal *journal);

/* Takes out of memory what is forgotten, and appends that it is: later runs do the same.
 */
mmt_status mmt_journal_forget(struct mmt_journal *journal,
                              const struct mmt_forget *forget, mmt_error *err);

/* Writes the file anew where it was deleted or replaced since the last line. */
mmt_status mmt_journal_look(struct mmt_journal *journal, mmt_error *err);

#endif
