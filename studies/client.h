/* What a client of the library has of its own: a clock, errors, growable text. */
#ifndef MMT_STUDIES_CLIENT_H
#define MMT_STUDIES_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <mmtune/mmtune.h>

/* Seconds of a clock that only runs forward. */
double mmt_study_now(void);

/* Fills err, which may be NULL, and returns status. */
__attribute__((format(printf, 3, 4))) mmt_status mmt_study_fail(mmt_error *err,
                                                                mmt_status status,
                                                                const char *format, ...);

/* Starts as {0}; `data` is NULL or terminated. Once memory runs out, `failed` is set and
 * nothing more is added. */
struct mmt_study_text {
    char *data;
    size_t length;
    bool failed;
};

void mmt_study_text_add(struct mmt_study_text *text, const char *string);
__attribute__((format(printf, 2, 3))) void mmt_study_text_addf(
    struct mmt_study_text *text, const char *format, ...);

/* "" where nothing was added. */
const char *mmt_study_text_string(const struct mmt_study_text *text);

/* Frees the characters and makes the text {0} again. */
void mmt_study_text_finish(struct mmt_study_text *text);

#endif
