/* Other libraries to be compared with. They are opened at run time where they are
 * installed; nothing links them.
 *
 * A reference computes the plain product C = A B of a session's problem on the session's
 * operands, row-major, and says how long that took. Not thread-safe; one problem at a
 * time. */
#ifndef MMT_TUNER_BENCH_REFERENCE_H
#define MMT_TUNER_BENCH_REFERENCE_H

#include "tuner/verify/session.h"

enum { MMT_MAX_WAYS = 2 };

struct mmt_reference {
    const char *name;  /* as --against spells it */
    const char *title; /* as sentences have it, "cuBLAS" */

    /* The ways in which one library is measured, such as its first algorithm and its
     * best; as tables show them, with NULL behind the last. */
    const char *ways[MMT_MAX_WAYS + 1];

    /* Opens the library for a device. An error tells people what is missing. */
    mmt_status (*open)(mmt_device *device, void **out, mmt_error *err);

    /* Optional. From now on uses the parameters that the library's own tuners wrote into
     * files of this folder. */
    mmt_status (*read_tuned)(void *self, const char *folder, mmt_error *err);

    /* NULL if the library computes this (normalised) problem, else why not. Optional. */
    const char *(*refuse)(void *self, const mmt_problem *problem);

    /* Gets ready for the session's problem; may try out and choose, for so many seconds
     * about; INFINITY: as long as it takes. */
    mmt_status (*prepare)(void *self, struct mmt_session *session, double seconds,
                          mmt_error *err);

    /* Frees what the last prepare made, also where it failed; the session ends next. */
    void (*forget)(void *self);

    /* Puts one product on the session's queue. */
    mmt_status (*queue)(void *self, int way, const mmt_args *args, mmt_queue queue,
                        mmt_error *err);

    /* In place of `queue`, for a library that works elsewhere: mmt_reference_run and
     * mmt_reference_result. */
    mmt_status (*run)(void *self, int way, int64_t first, int64_t count, double *seconds,
                      mmt_error *err);
    mmt_status (*result)(void *self, void *c, mmt_error *err);

    /* Adds, for people: after a prepare, which of its kernels is measured; else which
     * version this is. */
    void (*describe)(void *self, int way, struct mmt_text *text);

    /* Adds title and version, "cuBLAS 12.8.4": the same text for the same library. */
    void (*version)(void *self, struct mmt_text *text);

    void (*close)(void *self);
};

extern const struct mmt_reference mmt_reference_cublas, mmt_reference_clblast,
    mmt_reference_openblas;

/* OpenBLAS as a program gets it, with the core type that it takes by itself: it opens at
 * once. Not among those of --against. */
extern const struct mmt_reference mmt_reference_openblas_plain;

/* All of them; ends with NULL. */
extern const struct mmt_reference *const mmt_references[];

/* NULL where there is none of that name; the error lists those there are. */
const struct mmt_reference *mmt_reference_find(const char *name, mmt_error *err);

/* The names of them all. Ends with NULL. */
const char *const *mmt_reference_words(void);

/* Computes `count` products of a session, the first on copy `first` of the operands, the
 * next on the next; *seconds is for all of them. */
mmt_status mmt_reference_run(const struct mmt_reference *reference, void *self,
                             struct mmt_session *session, int way, int64_t first,
                             int64_t count, double *seconds, mmt_error *err);

/* Reads the C of copy 0 as it is after a run; mmt_problem_extent_c elements. */
mmt_status mmt_reference_result(const struct mmt_reference *reference, void *self,
                                struct mmt_session *session, void *c, mmt_error *err);

/* The first by the device's own marks, with a function in the place of `queue`. */
typedef mmt_status mmt_reference_queue(void *self, int way, const mmt_args *args,
                                       mmt_queue queue, mmt_error *err);
mmt_status mmt_reference_time(struct mmt_session *session, mmt_reference_queue *queue_one,
                              void *self, int way, int64_t first, int64_t count,
                              double *seconds, mmt_error *err);

/* The file that a function comes from, links followed, without folders:
 * "libclblast.so.1.5.3". */
void mmt_reference_file(void *function, char out[128]);

#endif
