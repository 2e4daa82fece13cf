/* Closed sets of words: what was meant by one that is not among them. */
#ifndef MMT_BASE_NEAR_H
#define MMT_BASE_NEAR_H

#include "base/error.h"
#include "base/text.h"

/* A word's place among at most `count` names, which may end with NULL before; -1: it is
 * none of them, or NULL. */
int mmt_near_place(const char *word, const char *const names[], int count);

/* The name that a word begins alone, or else the nearest of those that two letters more,
 * less or else would make of it; the first of several. NULL where none is near. Capitals
 * and hyphens in front do not count. The names end with NULL. */
const char *mmt_near_find(const char *word, const char *const names[]);

/* Adds "A, B and C", with the conjunction "and" or "or"; "none" where there are no names.
 */
void mmt_near_list(const char *const names[], const char *conjunction,
                   struct mmt_text *text);

/* Fills err, which may be NULL, and returns MMT_ERROR_ARGUMENT: what the format says of
 * the word, " (did you mean 'X'?)" where a name is near, then "; RIGHT A, B and C", such
 * as "; there are f32 and f64". */
__attribute__((format(printf, 5, 6))) mmt_status mmt_near_fail(mmt_error *err,
                                                               const char *word,
                                                               const char *const names[],
                                                               const char *right,
                                                               const char *format, ...);

#endif
