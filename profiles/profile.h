/* Profiles: what was learned about one device, in memory and as JSON. The public header
 * of the module `profiles`. The format is described in schema.json. */
#ifndef MMT_PROFILES_PROFILE_H
#define MMT_PROFILES_PROFILE_H

#include "base/call.h"
#include "bundle/bundle.h"
#include "generator/generator.h"

enum { MMT_PROFILE_FORMAT = 1 };

/* Seconds of one configuration on one problem. */
struct mmt_timing {
    double median, spread; /* seconds; spread: half of the interquartile range */
    int samples;
};

/* Of what a time depends on, what a tree may ask (costmodel/predict.c names them). */
enum { MMT_NUM_FEATURES = 26 };

/* A tree that asks the same at each level: the answers' bits are the leaf's number. */
enum { MMT_TREE_DEPTH = 5, MMT_TREE_LEAVES = 1 << MMT_TREE_DEPTH };
struct mmt_tree {
    int feature[MMT_TREE_DEPTH];
    float above[MMT_TREE_DEPTH];
    float leaf[MMT_TREE_LEAVES]; /* natural logarithm of a factor */
};

/* Grows with each change of what the law of time expects or of the features: a model
 * corrects the law of its own edition alone. */
enum { MMT_LAW_EDITION = 2 };

/* What corrects the law of time for a family (docs/lab/law.md). */
enum { MMT_MOST_TREES = 160, MMT_MOST_TEMPLATES = 64 };
struct mmt_model {
    mmt_type family;
    int law;         /* MMT_LAW_EDITION; others are left out on reading */
    int shapes;      /* problems that it was fitted to */
    double residual; /* root mean square of ln(expected / measured) on problems that were
                      * left out of a fit */
    double heeded;   /* the part of the correction that counts, 0 to 1: by which the first
                      * on such problems was the least behind their best */
    /* What its trees ask, by name, and the types and templates in the order in which they
     * count them; a space between two names. */
    char features[192], types[96], templates[512];
    int num_trees;
    struct mmt_tree trees[MMT_MOST_TREES];
    /* Not in a file: the profile's layer; and for each type and template of this program
     * its place among the names, UINT8_MAX for one that is not there. */
    int layer;
    uint8_t type_at[MMT_NUM_TYPES], template_at[MMT_MOST_TEMPLATES];
};

/* Names what the trees of a model that is fitted now ask and count. */
void mmt_model_name(struct mmt_model *model);

/* Finds the places of names that were read; MMT_ERROR_FORMAT where other features are
 * asked than there are. */
mmt_status mmt_model_check(void *model, mmt_error *err);

/* A file that a profile was read from. */
struct mmt_layer {
    char path[1024];      /* its end, where it is longer; "" where it is no file */
    char date[32];        /* of what was measured */
    struct mmt_caps caps; /* of what it was measured on */
    bool own; /* measured on this very device; only mmt_profile_add_layer tells */
};

/* What the vendor's library takes on an entry's problem, timed in turn with the entry's
 * configuration. It holds for that driver and that version of the library alone. */
struct mmt_yardstick {
    char library[48]; /* "cuBLAS 12.8.4"; "": there is no record */
    char driver[64];  /* as mmt_caps has it */
    char date[32];    /* ISO 8601, UTC */
    double ours;      /* seconds, as are the next two */
    double first; /* the library's first algorithm: what a program gets that calls it */
    double best;  /* its best of several algorithms; 0: it has one, or none was timed */
};

/* The best that was found for one problem. */
struct mmt_entry {
    mmt_problem problem; /* normalised */
    struct mmt_config config;
    char template_hash[33]; /* of the template as it was measured */
    struct mmt_timing time;
    double gflops;
    double roofline; /* fraction of the device's measured roofline; 0 where unknown */
    double naive; /* seconds of the naive template on the same problem; 0: not measured */
    char source[64]; /* "" for what was tuned here; else which profile it was tried from
                      * (`--with`). Only entries with "" are selected for execution */
    struct mmt_yardstick yardstick;
    int layer; /* of the profile's layers; not in a file */
};

/* How warm and how fast the device was while it was tuned. All 0: it does not tell. */
struct mmt_made_health {
    double hottest;          /* degrees Celsius */
    double slowest, fastest; /* clock, MHz */
    int throttled;           /* results that were taken while it was throttled */
    char by[92];             /* the reasons, "thermal, power cap" */
};

/* What pruning by estimate (tuner/model/pruning.h) rests on: the rank correlation of a
 * template's estimates with the times that were measured, 0 to 1 (0 also stands for
 * less). Candidates are ruled out by an estimate only where that is high.
 */
struct mmt_pruning {
    mmt_type type;
    char template[64];
    double correlation;
    int samples;
};

/* A kernel that a bundle has for shapes that it does not list, of some types and
 * transposes. */
struct mmt_unlisted_kernel {
    mmt_type family;
    struct mmt_config config;
    uint64_t right; /* the types and transposes, mmt_kind_bit of each */
};

/* The bit of a problem's type and transposes. */
static inline uint64_t mmt_kind_bit(const mmt_problem *problem)
{
    const int transposes = (problem->trans_a ? 2 : 0) + (problem->trans_b ? 1 : 0);
    return UINT64_C(1) << (4 * (int) problem->type + transposes);
}
_Static_assert(4 * MMT_NUM_TYPES <= 64, "a bit for each");

/* A kernel of a range: for every m behind the segment before, up to m_to. */
struct mmt_segment {
    int64_t m_to;
    struct mmt_config config;
    char template_hash[33]; /* of the template as it was measured */
};

/* An m at which the kernels of a range were timed. */
struct mmt_range_time {
    int64_t m;
    double seconds; /* of the range's kernel */
    double best;    /* of the fastest kernel that was timed there, in seconds */
};

/* Products that differ in m alone: kernels for m from problem.m up to the last segment's
 * m_to. */
enum { MMT_MOST_SEGMENTS = 8, MMT_MOST_RANGE_TIMES = 32 };
struct mmt_range {
    mmt_problem problem; /* with the least m; normalised; A and C are packed */
    int num_segments;    /* 1 at least */
    struct mmt_segment segments[MMT_MOST_SEGMENTS]; /* m_to ascends */
    int num_times;
    struct mmt_range_time times[MMT_MOST_RANGE_TIMES]; /* m ascends */
    int layer; /* of the profile's layers; not in a file */
};

/* A published figure: `diff` and `show` read it, nothing executes it. */
struct mmt_published {
    mmt_problem problem;
    char kernel[64]; /* the paper's own name for the variant, "index swap" */
    char knobs[128]; /* the nearest configuration of ours, as text: "tiled …" */
    double seconds;
    bool suspect;
    bool copying;   /* the time includes copying; else the paper does not say */
    char where[64]; /* the paper's table, "Table 1.4" */
    char note[512]; /* why it is suspect, and what else a reader must know, or "" */
};

/* What a device reaches, and how sure that is. */
struct mmt_roofline {
    double peak_flops[MMT_NUM_TYPES]; /* FLOP/s: the best of several rounds, or derived
                                       * from caps; 0: unknown */
    double bandwidth; /* bytes/s, the best of several rounds; 0: unknown */
    /* How far the median of the rounds is below the best, as a part of the best; 0 where
     * nothing was measured, and in profiles of older versions. */
    double peak_spread[MMT_NUM_TYPES], bandwidth_spread;
};

struct mmt_verdict; /* below */

struct mmt_profile {
    /* The device that it speaks of. */
    struct mmt_caps caps;
    /* How it was made. */
    struct {
        char version[32]; /* of mmtune */
        char date[32];    /* ISO 8601, UTC */
        uint64_t seed;
        double budget; /* seconds, 0: not limited by time */
        int tried, skipped, wrong, failed;
        struct mmt_made_health health;
    } made;
    struct mmt_roofline roofline;
    struct mmt_entry *entries;
    size_t num_entries;
    struct mmt_range *ranges;
    size_t num_ranges;
    struct mmt_verdict *verdicts;
    size_t num_verdicts;
    struct mmt_unlisted_kernel *unlisted; /* of a bundle's targets alone */
    size_t num_unlisted;
    struct mmt_model *models; /* one for each family of a layer */
    size_t num_models;
    struct mmt_pruning *pruning;
    size_t num_pruning;
    /* A profile made from a paper. */
    char citation[512]; /* "" where it is our own */
    struct mmt_published *published;
    size_t num_published;
    struct mmt_text warnings; /* what was left out on reading, one sentence a line */
    /* The files that it stands in: one, or those of mmt_profile_find, the one that counts
     * most first. None for a profile that was not read from a file. */
    struct mmt_layer *layers;
    size_t num_layers;
    struct mmt_learned *learned; /* what plans measured, with a lock of its own;
                                  * NULL: nothing can be learned */
    /* Of a bundle (bundled.c): its profiles, one for each target, and the bundle, which
     * is closed with this one. They alone know anything; each of them has the kernels
     * that it selects among. */
    struct mmt_profile **targets;
    size_t num_targets;
    struct mmt_bundle *bundle;
    struct mmt_bundled kernels; /* of one of these */
};

/* An empty profile; freed with mmt_profile_free. NULL where memory is exhausted. */
struct mmt_profile *mmt_profile_create(void);

/* Append a copy. */
mmt_status mmt_profile_add_entry(struct mmt_profile *profile,
                                 const struct mmt_entry *entry, mmt_error *err);
mmt_status mmt_profile_add_range(struct mmt_profile *profile,
                                 const struct mmt_range *range, mmt_error *err);
mmt_status mmt_profile_add_unlisted(struct mmt_profile *profile,
                                    const struct mmt_unlisted_kernel *kernel,
                                    mmt_error *err);

mmt_status mmt_profile_add_model(struct mmt_profile *profile,
                                 const struct mmt_model *model, mmt_error *err);
mmt_status mmt_profile_add_pruning(struct mmt_profile *profile,
                                   const struct mmt_pruning *pruning, mmt_error *err);

/* Puts an entry in the place of the problem's that were made here. */
mmt_status mmt_profile_replace_entry(struct mmt_profile *profile,
                                     const struct mmt_entry *entry, mmt_error *err);

/* Removes the problem's entries of a source. */
void mmt_profile_remove_entries(struct mmt_profile *profile, const mmt_problem *problem,
                                const char *source);

/* ---- what plans measured ----------------------------------------------------------- */

/* Adds an entry to what the profile has learned since it was read, in the place of the
 * problem's; looks one up, normalised; and puts all of them into another profile. All are
 * thread-safe; the profile itself stays as it is. */
mmt_status mmt_profile_learn(const struct mmt_profile *profile,
                             const struct mmt_entry *entry, mmt_error *err);
size_t mmt_profile_count_learned(const struct mmt_profile *profile);
bool mmt_profile_learned(const struct mmt_profile *profile, const mmt_problem *problem,
                         struct mmt_entry *out);
mmt_status mmt_profile_take_learned(struct mmt_profile *into,
                                    const struct mmt_profile *from, mmt_error *err);

/* Says that a profile is whole: from here on it only learns. */
void mmt_profile_finish(struct mmt_profile *profile);

/* Another number for each finished profile, and for each state of what it has learned:
 * what was selected by one edition holds as long as that is the profile's. 0: not
 * finished. Thread-safe. */
uint64_t mmt_profile_edition(const struct mmt_profile *profile);

/* ---- ranges of m (range.c) --------------------------------------------------------- */

/* The greatest m. */
int64_t mmt_range_end(const struct mmt_range *range);

/* The number of the segment that serves a normalised problem; -1: none, as it differs in
 * more than m, or m is outside. */
int mmt_range_find(const struct mmt_range *range, const mmt_problem *problem);

/* Whether two are of the same problems. */
bool mmt_range_same(const struct mmt_range *a, const struct mmt_range *b);

/* The geometric mean of a's times over b's where both have one; 0: they share no m. */
double mmt_range_ratio(const struct mmt_range *a, const struct mmt_range *b);

/* Adds "gemm f32 nn 1-512x256x256", and what a problem's spelling has behind it. */
void mmt_range_print(const struct mmt_range *range, struct mmt_text *text);

/* The same of the range from a normalised product's m to m_to. */
void mmt_range_print_to(const mmt_problem *first, int64_t m_to, struct mmt_text *text);

/* ---- the vendor's library beside ours --------------------------------------------- */

/* The record beside the entry that is executed for a normalised problem; NULL where there
 * is none. Where a layer that counts more has an entry without one, that is none. */
const struct mmt_yardstick *mmt_profile_yardstick(const struct mmt_profile *profile,
                                                  const mmt_problem *problem);

/* ---- verdicts: whether to take a program's call over ----------------------------- */

/* Ours counts as faster from that part on: below it, two runs may differ. */
#define MMT_FASTER_MARGIN 0.02

/* Below it, where ours is no slower, it counts as better from that part less energy
 * on. */
#define MMT_COOLER_MARGIN 0.02

/* Ours and the library's times on a call, in turn, on this device; the library called as
 * the program calls it. Where the verdict is for ours, `config` computes it. */
struct mmt_verdict {
    struct mmt_call call;  /* ours needs no more workspace than it gives at least; where
                            * it gives cuBLAS none (0), no more than cuBLAS takes by
                            * itself, 32 MiB; the library had what it gives at most */
    mmt_f32_mode f32_mode; /* under which ours was selected; strict but for f32 */
    struct mmt_config config;
    char template_hash[33]; /* of the template as it was measured: of another one the
                             * file's verdicts are left out on reading; "": unknown, stays
                             */
    char library[48];       /* "cuBLAS 13.1.0"; holds for that version alone */
    char driver[64];        /* as mmt_caps has it; holds for that driver alone */
    char date[32];          /* ISO 8601, UTC */
    double ours, theirs;    /* medians, seconds */
    double our_joules, their_joules; /* for a call; 0: not told */
    int layer;                       /* of the profile's layers; not in a file */
};

/* Puts a verdict in the place of the one of the same call, mode and library. */
mmt_status mmt_profile_replace_verdict(struct mmt_profile *profile,
                                       const struct mmt_verdict *verdict, mmt_error *err);

/* What becomes of a call by its verdict: MMT_FATE_TAKEN and *out where ours is faster by
 * the margin or cooler, else MMT_FATE_SLOWER, _STALE or _UNKNOWN. Under MMT_F32_EMULATED
 * the faster of both modes' counts. */
enum mmt_fate mmt_profile_verdict(const struct mmt_profile *profile,
                                  const struct mmt_call *call, mmt_f32_mode f32_mode,
                                  const char *driver, const char *library,
                                  const struct mmt_verdict **out);

/* Whether ours is faster by the margin, or as fast with less energy by the other. */
bool mmt_verdict_is_for_ours(const struct mmt_verdict *verdict);

/* Bytes of workspace that ours may take: what the call gives, or where that is none
 * `otherwise`. */
size_t mmt_verdict_workspace(const struct mmt_verdict *verdict, size_t otherwise);

/* Binds ours to the call, within so many bytes of workspace; false where the device
 * cannot run it. */
bool mmt_verdict_bind(const struct mmt_verdict *verdict, const struct mmt_caps *caps,
                      size_t workspace, struct mmt_bound *out);

/* ---- layers: several profiles as one --------------------------------------------- */

/* In the place of a UUID: what was measured is not of one card alone. */
#define MMT_SEVERAL_CARDS "several cards"

/* Whether one and the same device is spoken of: by their UUIDs where both have one, else
 * by the driver, the clock and, but for CPUs, the memory besides what makes a profile
 * foreign. */
bool mmt_caps_are_one(const struct mmt_caps *a, const struct mmt_caps *b);

/* NULL if both are of one kind (backend, name, architecture, number of multiprocessors,
 * and of a GPU the memory within an eighth), else one sentence why not, written into
 * `buffer`. */
const char *mmt_caps_foreign(const struct mmt_caps *made_on, const struct mmt_caps *caps,
                             char buffer[512]);

/* Of devices of one kind: "another card of this kind" or "several cards of this kind" by
 * their UUIDs; NULL where it is the same one, or nobody can tell. */
const char *mmt_caps_other_card(const struct mmt_caps *made_on,
                                const struct mmt_caps *caps);

/* A model of fewer problems corrects nothing. */
enum { MMT_FEWEST_SHAPES = 16 };

/* The model of this edition of the law that corrects it for a type: the one that rests on
 * the most problems, MMT_FEWEST_SHAPES at least, the first of several; NULL where there
 * is none. */
const struct mmt_model *mmt_profile_model(const struct mmt_profile *profile,
                                          mmt_type type);

/* Puts a model in the place of its family's. */
mmt_status mmt_profile_replace_model(struct mmt_profile *profile,
                                     const struct mmt_model *model, mmt_error *err);

/* Adds what `from` knows and `into`, whose caps are the device's, does not: entries of
 * other problems, or of those whose entry the device refuses; ranges of other problems;
 * verdicts of this very device alone; models, each beside the others of its family;
 * pruning records; the roofline where there is none. So the profile that counts most is
 * added first. */
mmt_status mmt_profile_add_layer(struct mmt_profile *into, const struct mmt_profile *from,
                                 mmt_error *err);

/* Adds, as a layer, the models that another device of the architecture has of families
 * that `into` has none of; what else is known of it is its own. */
mmt_status mmt_profile_add_kin(struct mmt_profile *into, const struct mmt_profile *kin,
                               mmt_error *err);

/* Writes the file so that a power cut leaves the old or the new one. */
mmt_status mmt_profile_save(const struct mmt_profile *profile, const char *path,
                            mmt_error *err);

/* Adds to *text what mmt_profile_save writes to a file. */
mmt_status mmt_profile_print(const struct mmt_profile *profile, struct mmt_text *text,
                             mmt_error *err);

/* Reads from memory; mmt_profile_load of the public API reads a file. */
struct mmt_profile *mmt_profile_read(const char *json, size_t length, mmt_error *err);

/* As mmt_profile_load, but of no bundle: that is MMT_ERROR_ARGUMENT. */
struct mmt_profile *mmt_profile_load_plain(const char *path, mmt_error *err);

/* The time now as profiles have it: ISO 8601, UTC, to the second. */
void mmt_profile_now(char date[32]);

/* Adds the usual path: $XDG_DATA_HOME/mmtune/<backend>-<device>.json, with what a file's
 * name cannot hold replaced by '-' and letters made small. */
void mmt_profile_path(const struct mmt_caps *caps, struct mmt_text *path);

/* The same without folder and ".json": what the names of a device's profiles begin with.
 */
void mmt_profile_stem(const struct mmt_caps *caps, struct mmt_text *stem);

/* ---- bundles (bundled.c) ---------------------------------------------------------- */

/* The profile of a bundle, which it owns from then on, and closes also where this fails.
 * `path` names it. */
struct mmt_profile *mmt_profile_of_bundle(struct mmt_bundle *bundle, const char *path,
                                          mmt_error *err);

/* What a device selects by: the profile itself, or of a bundle the one of the target that
 * suits the device best: that was made on such a device, then for any of its
 * architecture, then, where `foreign`, for another device of it. NULL, and
 * MMT_ERROR_ARGUMENT with what it was made for, where there is none. */
const struct mmt_profile *mmt_profile_for(const struct mmt_profile *profile,
                                          const struct mmt_caps *caps, bool foreign,
                                          mmt_error *err);

/* NULL if the profile was made on such a device (mmt_caps_foreign), else one sentence why
 * not, written into `buffer`. Another driver is no reason. Of a bundle, whether one of
 * its targets is for it. */
const char *mmt_profile_foreign(const struct mmt_profile *profile,
                                const struct mmt_caps *caps, char buffer[512]);

#endif
