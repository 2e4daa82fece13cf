/* The journal from within: records.c keeps it, read.c reads it, journal.c writes it. */
#ifndef MMT_TUNER_JOURNAL_JOURNAL_INTERNAL_H
#define MMT_TUNER_JOURNAL_JOURNAL_INTERNAL_H

#include "base/log.h"
#include "tuner/journal/journal.h"

static const char mmt_journal_format[] = "mmtune journal 1";

/* A template's hash, once a template. */
struct known_hash {
    const struct mmt_template *template;
    char text[33];
};

struct mmt_journal {
    char *path;
    struct mmt_log log; /* not open where it is only read */
    double synced;      /* mmt_now() of the last fdatasync */
    bool is_new;        /* nothing stood at the path */
    double limit;       /* seconds that a candidate has in this run; 0: not told */
    struct mmt_record *records;
    size_t count, room;
    size_t written; /* lines of results since it was opened */
    /* Records by problem: those of a bucket in the order in which they came, each with
     * the next one's place; -1: there is none. */
    int *next; /* as many as there is room for records */
    struct bucket {
        int first, last;
    } buckets[1024];
    struct mmt_record *wholes;
    size_t num_wholes;
    struct mmt_caps caps;
    struct known_hash hashes[64];
    int num_hashes;
    struct mmt_text notes;
};

enum { MMT_JOURNAL_MOST_BYTES = 1 << 30 };

/* Opens or makes the file, and the folders above it, and locks it. */
mmt_status mmt_journal_open_file(struct mmt_journal *journal, mmt_error *err);

/* Appends one line, wholly or not at all. Where the file was deleted or replaced since
 * the last one, all that it had is first written anew at its path, and that is noted; a
 * file that took its place is kept as "PATH.replaced". */
mmt_status mmt_journal_append(struct mmt_journal *journal, const char *line,
                              size_t length, mmt_error *err);

/* Adds a record in memory; false where memory is exhausted. */
bool mmt_journal_keep(struct mmt_journal *journal, const struct mmt_record *record);

/* Once records have other places, or there are none. */
void mmt_journal_index(struct mmt_journal *journal);

/* Finals that find a candidate wrong, failed or much slower are right about it. */
void mmt_journal_correct(struct mmt_journal *journal, const struct mmt_record *final);

/* The record as it is stored: which attempt it is, and what limit ended it. */
struct mmt_record mmt_journal_number(const struct mmt_journal *journal,
                                     const struct mmt_record *record);

void mmt_journal_drop_forgotten(struct mmt_journal *journal,
                                const struct mmt_forget *forget);

/* Of the template's source as it is now; belongs to the journal. */
const char *mmt_journal_hash_of(struct mmt_journal *journal,
                                const struct mmt_template *template);

/* Adds the configuration as its problem resolves it, where it leaves a knob to it. */
void mmt_journal_print_resolved(const struct mmt_journal *journal,
                                const struct mmt_record *record, struct mmt_text *text);

/* Reads whole lines; *whole gets the bytes that they take, *ours whether what follows
 * them is by this device's compiler. */
mmt_status mmt_journal_read_lines(struct mmt_journal *journal,
                                  const struct mmt_text *text, size_t *whole, bool *ours,
                                  mmt_error *err);

#endif
