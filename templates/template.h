/* A template: one kernel file and its knobs. The public header of the module `templates`.
 */
#ifndef MMT_TEMPLATES_TEMPLATE_H
#define MMT_TEMPLATES_TEMPLATE_H

#include <stdbool.h>

#include "base/caps.h"
#include "base/launch.h"
#include "base/problem.h"
#include "base/text.h"

enum { MMT_MAX_KNOBS = 24, MMT_MAX_VALUES = 32, MMT_MAX_HELPERS = 8 };

/* One knob: a macro of the kernel file and the values it may have. A knob whose values
 * are words (SHARED_LAYOUT plain | pad | swap | xor) has `names`, one for each value;
 * people and files see the words, the kernel file sees the numbers. */
struct mmt_knob {
    const char *name;
    const char *what; /* what it means, in a few words, for people */
    int num_values;
    int values[MMT_MAX_VALUES];
    const char *const *names;
    bool automatic;  /* its first value leaves it to the template's `resolve` */
    int launch_time; /* above 0: sources see no more than that, as a kernel argument has
                      * the value, so that one source serves all of these values */
    bool younger;    /* than some profiles: an entry that lacks it has its first value */
};

#define MMT_COUNT_VALUES(...) (int) (sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))
#define MMT_KNOB(name, what, ...)                                                        \
    {                                                                                    \
        name, what, MMT_COUNT_VALUES(__VA_ARGS__), { __VA_ARGS__ }, NULL, false, 0       \
    }

/* The launch has it; texts see `seen`, the least of its values. */
#define MMT_KNOB_OF_LAUNCH(name, what, seen, ...)                                        \
    {                                                                                    \
        name, what, MMT_COUNT_VALUES(seen, __VA_ARGS__), { seen, __VA_ARGS__ }, NULL,    \
            false, seen                                                                  \
    }

/* Values that are a range: so many from `first` on, `step` apart. */
#define MMT_RANGE_8(first, step)                                                         \
    (first), (first) + (step), (first) + 2 * (step), (first) + 3 * (step),               \
        (first) + 4 * (step), (first) + 5 * (step), (first) + 6 * (step),                \
        (first) + 7 * (step)
#define MMT_RANGE_32(first, step)                                                        \
    MMT_RANGE_8(first, step), MMT_RANGE_8((first) + 8 * (step), step),                   \
        MMT_RANGE_8((first) + 16 * (step), step),                                        \
        MMT_RANGE_8((first) + 24 * (step), step)

/* The first of the values, a 0, is auto: resolved for each problem. */
#define MMT_KNOB_AUTO(name, what, ...)                                                   \
    {                                                                                    \
        name, what, MMT_COUNT_VALUES(__VA_ARGS__), { __VA_ARGS__ }, NULL, true, 0        \
    }

/* What a text is specialised for besides its knobs. Texts see it as
 *   TYPE_F32 | TYPE_BF16 …      1 for the one in question, else undefined
 *   OUT_F32 | OUT_BF16 …        1 for C's type, else undefined
 *   BIAS                        0 none, 1 a value a row, 2 a value a column
 *   ACTIVATION                  0 none, 1 relu, 2 gelu, 3 gelu_tanh, 4 silu
 *   TRANS_A, TRANS_B, ALIGNED   0 or 1
 *   BATCH_BY_POINTERS           1 where a, b and c are arrays of pointers, else undefined
 *   element, real, result       A's and B's elements as they are stored; what they add up
 *                               in; C's elements as they are stored
 *   to_real, to_result, from_result, activate    functions between them (numbers.h) */
struct mmt_variant {
    mmt_op op;
    mmt_type type, out;
    mmt_bias bias;
    mmt_activation activation;
    bool trans_a, trans_b;
    mmt_batch_by batch_by;
    bool aligned; /* every operand starts, and every row and batch stride steps, at a
                   * multiple of the template's `alignment`; else only at an element */
};

/* Bytes to which a template's aligned source assumes A, B and C (their first elements,
 * and through leading dimensions and strides every row) to be aligned. */
struct mmt_alignment {
    unsigned a, b, c;
};

/* What a text computes at once: the sides of a block's tile along m, n and k, and the
 * longest stretch of k after which it begins anew. 1 where it goes element by element.
 * Remainders of them take ways of their own through a text, so verification asks for
 * sizes round their multiples. */
struct mmt_tile {
    int m, n, k, deep;
};

/* How a text cuts its work, as the model of time counts it (costmodel/costmodel.h). */
struct mmt_work {
    int m, n;  /* of a block's tile of C; 0 where the model has to share C out evenly */
    bool swap; /* m runs along the columns of C */
    bool batches;  /* a block computes a tile of several products */
    int depth;     /* elements of k that a block's threads take at once */
    int step;      /* elements of k between two waits */
    int stages;    /* pipeline stages; 0 where it has no pipeline */
    int splits;    /* of k, that run concurrently; at least 1, as the two above */
    int cluster;   /* its shape, as the template numbers it; 0 where it knows none */
    double slowed; /* how much slower than the template's other ones it multiplies; 0: not
                    * at all */
};

/* How a template's kernels use a multiprocessor of a GPU, for the law of time
 * (costmodel/costmodel.h). All 0: as most do. */
struct mmt_rates {
    double slowed;       /* how much slower than its instruction's peak */
    double feeding;      /* more, over the root of a thread's elements of C */
    double few_warps;    /* more, over resident warps */
    double l2;           /* bytes of operands in a cycle */
    double latency;      /* cycles in which a step's operands come */
    double around;       /* cycles before and after a block's steps */
    double stored;       /* cycles of four bytes of C */
    double launch;       /* cycles of the first launch */
    double launch_again; /* and of each other one */
    double unaligned;    /* how much longer operands of any alignment take */
};

/* Values of all knobs, and the cycles that they should take, rates.launch apart. */
struct mmt_candidate {
    double cycles;
    int values[MMT_MAX_KNOBS];
};

/* A template whose other knobs depend on the first is a space for each value of that
 * knob: one after the other in the list, with the same name and file. People and files
 * see one template; a search, and what is learned, keeps the spaces apart, by their keys.
 *
 * `v` below is always the values of this template's knobs, in the knobs' order; but for
 * `resolve` and `alignment`, none of them is auto. */
struct mmt_template {
    const char *name; /* "tiled" */
    const char *key;  /* of one space of several; NULL: the name */
    const char *what; /* one sentence for people */
    mmt_op op;
    unsigned types;    /* bits 1 << MMT_F32 … */
    unsigned yields;   /* those of them that it is not meant for where a template that is
                        * made for them serves: a matrix unit's, or a CPU's */
    bool fused;        /* serves bias and activation */
    bool aligned_only; /* values of which `alignment` asks more than elements have no text
                        * for any alignment: a plan takes another configuration's for
                        * operands that are not aligned */
    unsigned dialects; /* enum mmt_dialect bits */
    const char *other_dialect; /* optional: the sentence that refuses others */
    unsigned preferred_on;     /* enum mmt_kind bits: where it is worth trying; 0: only
                                * where somebody names it. It must be right everywhere its
                                * dialects reach */
    bool (*prefers)(
        const mmt_problem *problem,
        const struct mmt_caps *caps); /* optional: whether it is worth trying for such a
                                       * problem on such a device where nobody names it */
    bool last_resort; /* chosen only where none of the others serves: a lesson, not a fast
                       * kernel */
    int fma_per_cycle_per_sm; /* of four-byte elements, by this template's instruction,
                               * about; 0: 128 */
    struct mmt_rates rates;
    const char *file; /* "tiled.cl": the text, embedded under that name */
    const char *helpers[MMT_MAX_HELPERS]; /* optional: sources that kernels share, put
                                             before it */
    const struct mmt_knob *knobs;
    int num_knobs;

    /* Where knobs may be auto: replaces such values by those that serve it
     * best, in no time. What is left alone, and done twice, stays as it is. */
    void (*resolve)(int *v, const mmt_problem *problem, const struct mmt_caps *caps);

    /* NULL if a device with these limits can run these values for this variant, else one
     * sentence for people that says why not, with a static lifetime. Everything that a
     * launch could be refused for is said here. */
    const char *(*check_device)(const int *v, const struct mmt_variant *variant,
                                const struct mmt_caps *caps);

    /* Optional. NULL if these values serve a problem of this shape, else one sentence why
     * not (a kernel for m <= 16, say). Where absent, every shape is served. */
    const char *(*check_problem)(const int *v, const mmt_problem *problem);

    /* The tile of these values for a problem of any shape. */
    struct mmt_tile (*tile)(const int *v, const mmt_problem *problem);

    /* Optional. The work of these values, in which a 1 stands for what is auto; where
     * absent, no tile, and k element by element. */
    struct mmt_work (*work)(const int *v, mmt_type type);

    /* The launches of one execution of a normalised, non-empty problem (k may be 0):
     * writes all of *out. */
    void (*launch)(const int *v, const mmt_problem *problem, const struct mmt_caps *caps,
                   struct mmt_launches *out);

    /* Optional. Cycles that these values should take for a problem, rates.launch apart,
     * where a template counts them itself. 0: nothing is known of such a device. */
    double (*cycles)(const int *v, const mmt_problem *problem,
                     const struct mmt_caps *caps);

    /* Optional. Where absent, elements: then the aligned source is the only one. The same
     * before and after `resolve`. */
    struct mmt_alignment (*alignment)(const int *v, const mmt_problem *problem);

    /* Optional. Adds definitions that the preprocessor cannot compute, such as the list
     * of an instruction's registers. `v` is what the text sees. */
    void (*define)(const int *v, const struct mmt_variant *variant,
                   struct mmt_text *text);

    /* Optional. The configurations that promise most for a problem, of all that the knobs
     * allow, found by arithmetic in some 100 us, the best first, at most `most`; returns
     * how many, 0 where it names none for such a problem. Some may not serve it. */
    int (*candidates)(const mmt_problem *problem, const struct mmt_caps *caps,
                      struct mmt_candidate *out, int most);

    /* Good starting points, the best first; each has num_knobs values. The first legal
     * one is what an untuned device gets, and a search begins with them. At least one. */
    const int (*seeds)[MMT_MAX_KNOBS];
    int num_seeds;
};

/* The one list of them all, best guess first: an untuned device gets the first template
 * that is meant for its kind and has a legal seed. Ends with NULL. */
extern const struct mmt_template *const mmt_templates[];

/* The names of them all, in the same order. Ends with NULL. */
extern const char *const mmt_template_names[];

/* The first of that name, or the one of that key; NULL where there is none. */
const struct mmt_template *mmt_template_find(const char *name);

/* The one of the same name whose first knob has that value, as people write it; NULL
 * where there is none. */
const struct mmt_template *mmt_template_space(const struct mmt_template *template,
                                              const char *value);

/* What tells it from all others. */
const char *mmt_template_key(const struct mmt_template *template);

/* Whether that is its name or its key. */
bool mmt_template_is(const struct mmt_template *template, const char *name);

/* The text of a kernel file or prelude by its name ("tiled.cl"): what was embedded when
 * the library was built, or, where MMTUNE_TEMPLATE_DIR is set, the file of that folder,
 * read anew. The caller frees *text with mmt_text_finish. */
mmt_status mmt_template_text(const char *file, struct mmt_text *text, mmt_error *err);

/* Whether it gives what was embedded: a text never changes then. */
bool mmt_template_is_built_in(void);

#endif
