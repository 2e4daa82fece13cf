/* The records of a journal in memory: what was tried, what stands, what is found wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/journal/journal_internal.h"

const char *mmt_journal_path(const struct mmt_journal *journal)
{
    return journal->path;
}

size_t mmt_journal_written(const struct mmt_journal *journal)
{
    return journal->written;
}

bool mmt_journal_is_new(const struct mmt_journal *journal)
{
    return journal->is_new;
}

const char *mmt_journal_notes(const struct mmt_journal *journal)
{
    return mmt_text_string(&journal->notes);
}

const struct mmt_record *mmt_journal_records(const struct mmt_journal *journal,
                                             size_t *count)
{
    *count = journal->count;
    return journal->records;
}

static bool is_of(const struct mmt_record *record, const mmt_problem *problem,
                  const struct mmt_config *config)
{
    return mmt_config_equal(&record->config, config) &&
           mmt_problem_equal(&record->problem, problem);
}

/* ---- by problem -------------------------------------------------------------------- */

static struct bucket *bucket_of(struct mmt_journal *journal, const mmt_problem *problem)
{
    enum { BUCKETS = sizeof journal->buckets / sizeof *journal->buckets };
    const int64_t sides[] = { problem->type,  problem->trans_a, problem->trans_b,
                              problem->m,     problem->n,       problem->k,
                              problem->batch, problem->op };
    const struct mmt_hash hash = mmt_hash_add(mmt_hash_start(), sides, sizeof sides);
    return &journal->buckets[hash.low % BUCKETS];
}

static void add_to_bucket(struct mmt_journal *journal, int at)
{
    struct bucket *bucket = bucket_of(journal, &journal->records[at].problem);
    journal->next[at] = -1;
    if (bucket->first < 0)
        bucket->first = at;
    else
        journal->next[bucket->last] = at;
    bucket->last = at;
}

void mmt_journal_index(struct mmt_journal *journal)
{
    memset(journal->buckets, -1, sizeof journal->buckets);
    for (size_t i = 0; i < journal->count; i++)
        add_to_bucket(journal, (int) i);
}

static const struct mmt_record *find_from(const struct mmt_journal *journal, int at,
                                          const mmt_problem *problem)
{
    while (at >= 0 && !mmt_problem_equal(&journal->records[at].problem, problem))
        at = journal->next[at];
    return at < 0 ? NULL : &journal->records[at];
}

const struct mmt_record *mmt_journal_first(const struct mmt_journal *journal,
                                           const mmt_problem *problem)
{
    const int first = bucket_of((struct mmt_journal *) journal, problem)->first;
    return find_from(journal, first, problem);
}

const struct mmt_record *mmt_journal_next(const struct mmt_journal *journal,
                                          const struct mmt_record *record)
{
    return find_from(journal, journal->next[record - journal->records], &record->problem);
}

/* ---- what may be tried again ----------------------------------------------------- */

static bool is_tried_again(const struct mmt_journal *journal,
                           const struct mmt_record *record)
{
    if (!record->earlier)
        return false;
    switch (record->result.outcome) {
    case MMT_KILLED:
        return true;
    case MMT_HUNG:
        return record->attempt < 2 ||
               (record->limit > 0 && journal->limit > record->limit);
    case MMT_FAILED:
    case MMT_CRASHED:
        return record->attempt < 2;
    default:
        return false;
    }
}

/* Whether two records are of the same, tried alike. */
static bool is_same_try(const struct mmt_record *a, const struct mmt_record *b)
{
    return a->final == b->final && a->calibration == b->calibration &&
           is_of(a, &b->problem, &b->config);
}

/* The newest record of the same try; NULL: there is none. */
static const struct mmt_record *last_try(const struct mmt_journal *journal,
                                         const struct mmt_record *record)
{
    const struct mmt_record *last = NULL,
                            *r = mmt_journal_first(journal, &record->problem);
    for (size_t i = 0; record->whole && i < journal->num_wholes; i++)
        if (is_same_try(&journal->wholes[i], record))
            last = &journal->wholes[i];
    for (; !record->whole && r; r = mmt_journal_next(journal, r))
        if (is_same_try(r, record))
            last = r;
    return last;
}

bool mmt_journal_stands(const struct mmt_journal *journal,
                        const struct mmt_record *record)
{
    return !is_tried_again(journal, record);
}

void mmt_journal_set_limit(struct mmt_journal *journal, double seconds)
{
    journal->limit = seconds;
}

struct mmt_record mmt_journal_number(const struct mmt_journal *journal,
                                     const struct mmt_record *record)
{
    const struct mmt_record *last = last_try(journal, record);
    struct mmt_record numbered = *record;
    numbered.attempt =
        last && last->earlier && is_tried_again(journal, last) ? last->attempt + 1 : 1;
    numbered.limit = record->result.outcome == MMT_HUNG ? journal->limit : 0;
    return numbered;
}

/* ---- asking ---------------------------------------------------------------------- */

const struct mmt_record *mmt_journal_find(const struct mmt_journal *journal,
                                          const mmt_problem *problem,
                                          const struct mmt_config *config)
{
    const struct mmt_record asked = { .problem = *problem, .config = *config };
    const struct mmt_record *last = last_try(journal, &asked);
    return last && !is_tried_again(journal, last) ? last : NULL;
}

size_t mmt_journal_count_again(const struct mmt_journal *journal)
{
    size_t count = 0;
    for (size_t i = 0; i < journal->count; i++) {
        const struct mmt_record *r = &journal->records[i];
        count += mmt_record_is_candidate(r) && is_tried_again(journal, r) &&
                 last_try(journal, r) == r;
    }
    return count;
}

double mmt_journal_best(const struct mmt_journal *journal, const mmt_problem *problem)
{
    double best = INFINITY;
    const struct mmt_record *r = mmt_journal_first(journal, problem);
    for (; r; r = mmt_journal_next(journal, r))
        if (mmt_record_is_candidate(r) && r->result.outcome == MMT_TIMED)
            best = fmin(best, r->result.time.median);
    return best;
}

const struct mmt_record *mmt_journal_find_any(const struct mmt_journal *journal,
                                              const mmt_problem *problem,
                                              const struct mmt_config *config)
{
    const struct mmt_record *r = mmt_journal_first(journal, problem);
    while (r && (!mmt_config_equal(&r->config, config) || is_tried_again(journal, r)))
        r = mmt_journal_next(journal, r);
    return r;
}

const char *mmt_journal_hash_of(struct mmt_journal *journal,
                                const struct mmt_template *template)
{
    for (int i = 0; i < journal->num_hashes; i++)
        if (journal->hashes[i].template == template)
            return journal->hashes[i].text;
    if (journal->num_hashes == (int) (sizeof journal->hashes / sizeof *journal->hashes))
        return "";
    struct known_hash *known = &journal->hashes[journal->num_hashes++];
    struct mmt_hash hash;
    known->template = template;
    if (!mmt_template_hash(template, &hash, NULL))
        mmt_hash_print(hash, known->text);
    return known->text;
}

/* What ran where the configuration leaves knobs to the problem: "SHORT=rows SPLIT_K=4";
 * nothing where it leaves none. Templates come to resolve them otherwise, and their
 * sources stay the same. */
void mmt_journal_print_resolved(const struct mmt_journal *journal,
                                const struct mmt_record *record, struct mmt_text *out)
{
    const struct mmt_config *left = &record->config;
    char value[16];
    const struct mmt_config resolved =
        mmt_config_resolve(left, &record->problem, &journal->caps);
    for (int i = 0; i < left->template->num_knobs; i++)
        if (resolved.values[i] != left->values[i])
            mmt_text_addf(out, "%s%s=%s", out->length ? " " : "",
                          left->template->knobs[i].name,
                          mmt_config_value(&resolved, i, value));
}

/* ---- keeping --------------------------------------------------------------------- */

/* Finals that find a candidate wrong, failed or much slower are right about it, whoever
 * asks the journal from now on. What a hot device makes slower, or one that is
 * throttled, disproves nothing. */
void mmt_journal_correct(struct mmt_journal *journal, const struct mmt_record *final)
{
    static const double disproved = 1.2;
    const struct mmt_record *found = mmt_journal_first(journal, &final->problem);
    for (; found; found = mmt_journal_next(journal, found)) {
        struct mmt_record *r = &journal->records[found - journal->records];
        if (!mmt_record_is_candidate(r) || r->result.outcome != MMT_TIMED ||
            !mmt_config_equal(&r->config, &final->config))
            continue;
        if (final->result.outcome != MMT_TIMED)
            r->result = final->result, r->limit = final->limit;
        else if (!*final->result.throttled &&
                 final->result.time.median > disproved * r->result.time.median)
            r->result.time = final->result.time;
    }
}

/* Whether a record is of a kernel that was verified wholly and not found right. */
static bool is_refuted_by(const struct mmt_journal *journal,
                          const struct mmt_record *record, const struct mmt_record *whole)
{
    const mmt_problem *p = &record->problem, *q = &whole->problem;
    if (whole->result.outcome == MMT_TIMED || whole->result.outcome == MMT_SKIPPED ||
        is_tried_again(journal, whole) ||
        record->config.template != whole->config.template || p->op != q->op ||
        p->type != q->type || p->trans_a != q->trans_a || p->trans_b != q->trans_b)
        return false;
    const struct mmt_config a = mmt_config_resolve(&record->config, p, &journal->caps);
    const struct mmt_config b = mmt_config_resolve(&whole->config, q, &journal->caps);
    return mmt_config_equal(&record->config, &whole->config) ||
           mmt_config_same_text(&a, &b);
}

static void refute_record(struct mmt_record *record, const struct mmt_record *whole)
{
    if (record->result.outcome != MMT_TIMED)
        return;
    record->result.outcome = MMT_WRONG;
    memcpy(record->result.reason, whole->result.reason, sizeof record->result.reason);
}

static bool keep_whole(struct mmt_journal *journal, const struct mmt_record *whole)
{
    struct mmt_record *grown =
        realloc(journal->wholes, (journal->num_wholes + 1) * sizeof *grown);
    if (!grown)
        return false;
    journal->wholes = grown;
    journal->wholes[journal->num_wholes++] = *whole;
    for (size_t i = 0; i < journal->count; i++)
        if (is_refuted_by(journal, &journal->records[i], whole))
            refute_record(&journal->records[i], whole);
    return true;
}

size_t mmt_journal_count(const struct mmt_journal *journal)
{
    return journal->count + journal->num_wholes;
}

const struct mmt_record *mmt_journal_wholes(const struct mmt_journal *journal,
                                            size_t *count)
{
    *count = journal->num_wholes;
    return journal->wholes;
}

enum mmt_whole mmt_journal_whole(const struct mmt_journal *journal,
                                 const mmt_problem *problem,
                                 const struct mmt_config *config)
{
    const struct mmt_record record = { .problem = *problem, .config = *config };
    enum mmt_whole found = MMT_WHOLE_UNKNOWN;
    for (size_t i = 0; i < journal->num_wholes; i++) {
        if (is_refuted_by(journal, &record, &journal->wholes[i]))
            return MMT_WHOLE_WRONG;
        if (journal->wholes[i].result.outcome == MMT_TIMED &&
            is_of(&journal->wholes[i], problem, config))
            found = MMT_WHOLE_RIGHT;
    }
    return found;
}

static bool keep_record(struct mmt_journal *journal, const struct mmt_record *record)
{
    if (record->final && !record->held)
        mmt_journal_correct(journal, record);
    if (journal->count == journal->room) {
        size_t room = journal->room ? journal->room * 2 : 256;
        struct mmt_record *grown = realloc(journal->records, room * sizeof *grown);
        if (!grown)
            return false;
        journal->records = grown;
        int *next = realloc(journal->next, room * sizeof *next);
        if (!next)
            return false;
        journal->next = next;
        journal->room = room;
    }
    struct mmt_record *added = &journal->records[journal->count++];
    *added = *record;
    add_to_bucket(journal, (int) (added - journal->records));
    for (size_t i = 0; i < journal->num_wholes; i++)
        if (is_refuted_by(journal, added, &journal->wholes[i]))
            refute_record(added, &journal->wholes[i]);
    return true;
}

bool mmt_journal_keep(struct mmt_journal *journal, const struct mmt_record *record)
{
    return record->whole ? keep_whole(journal, record) : keep_record(journal, record);
}

mmt_status mmt_journal_hold(struct mmt_journal *journal, const struct mmt_record *record,
                            mmt_error *err)
{
    struct mmt_record held = mmt_journal_number(journal, record);
    held.held = true;
    if (!keep_record(journal, &held))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a result");
    return MMT_OK;
}

/* ---- what goes ------------------------------------------------------------------- */

size_t mmt_journal_drop_held(struct mmt_journal *journal)
{
    size_t left = 0;
    for (size_t i = 0; i < journal->count; i++)
        if (!journal->records[i].held)
            journal->records[left++] = journal->records[i];
    const size_t dropped = journal->count - left;
    journal->count = left;
    mmt_journal_index(journal);
    return dropped;
}

static size_t drop_forgotten(struct mmt_record *records, size_t count,
                             const struct mmt_forget *forget)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (!mmt_forgets(forget, &records[i].problem, &records[i].config))
            records[left++] = records[i];
    return left;
}

void mmt_journal_drop_forgotten(struct mmt_journal *journal,
                                const struct mmt_forget *forget)
{
    journal->count = drop_forgotten(journal->records, journal->count, forget);
    journal->num_wholes = drop_forgotten(journal->wholes, journal->num_wholes, forget);
    mmt_journal_index(journal);
}

void mmt_journal_pass_over(struct mmt_journal *journal,
                           bool (*cannot_be)(const void *self,
                                             const struct mmt_record *record, char *why,
                                             size_t size),
                           const void *self)
{
    char why[MMT_REASON_SIZE], first[MMT_REASON_SIZE];
    size_t left = 0;
    for (size_t i = 0; i < journal->count; i++) {
        if (!cannot_be(self, &journal->records[i], why, sizeof why))
            journal->records[left++] = journal->records[i];
        else if (left == i)
            memcpy(first, why, sizeof first);
    }
    if (left < journal->count)
        mmt_text_addf(
            &journal->notes,
            "%zu results in '%s' are passed over, the first of them because %s\n",
            journal->count - left, journal->path, first);
    journal->count = left;
    mmt_journal_index(journal);
}
