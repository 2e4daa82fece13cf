/* Profiles: what was learned about one device, in memory and as JSON. The door of the
 * room `profiles`. The format is described in schema.json. */
#ifndef MMT_PROFILES_PROFILE_H
#define MMT_PROFILES_PROFILE_H

#include "generator/generator.h"

enum { MMT_PROFILE_FORMAT = 1 };

/* Seconds of one configuration on one problem. */
struct mmt_timing {
    double median, spread; /* seconds; spread: half of the interquartile range */
    int samples;
};

/* Where what the law of a cost leaves over is known: at 1, 4, 16, … 4096. */
enum { MMT_BENDS = 7, MMT_BEND_OCTAVES = 2 };
enum { MMT_ALONG_M, MMT_ALONG_N, MMT_ALONG_K, MMT_NUM_AXES };

/* The fitted cost of a kernel (docs/cost-model.md), in seconds:
 *   t = exp(bends) * (launches * launch + either(busy, bytes / bandwidth)
 *       + root(bytes) * ramp + workspace * reduction + others * beside
 *       + others_cut * cut_beside + a * read_a + b * read_b)
 *   busy = the sum over the waves of either(wave + steps * wave_step, blocks of the wave
 *       * (block + work * step + cells * (cell + work * cell_step)
 *       + work * (whole * whole_step + cut * cut_step)))
 * for the busiest multiprocessor, which runs its blocks `resident` at a time; each makes
 * `steps` steps along k, of `depth`, which are less `work` where k does not fill them;
 * `cells` are the elements of C that it computes, on average. either(a, b) is the third
 * root of a^3 + b^3: the larger, but where they are alike. `whole` are the elements of
 * tiles that are computed whole, also where C ends in them, and `cut` those of tiles that
 * C's last column cuts. `others` are the blocks of the launches beside the one that
 * multiplies, for a multiprocessor, and `others_cut` those of them that pack an operand's
 * edge. a and b are the elements of A and B that a core of a CPU reads. Where the
 * kernel's aligned text cannot serve, a block's step takes `unaligned` more, and a cell
 * takes `unaligned_cell` more. The bends are what the samples still lie beside this law,
 * along each of m, n and k. Where the template counts a problem's cycles itself, a cost
 * has a `cycle`, and the law is t = launch + cycles * cycle. `fitted` is false where
 * there were too few shapes; then the nearest shape decides. */
struct mmt_cost {
    bool fitted;
    double launch, block, step, bandwidth,
        reduction;          /* bandwidth: bytes/s, 0: no bound;
                             * reduction: per byte of workspace */
    double wave, wave_step; /* what a wave takes however few its blocks are */
    double cell, cell_step; /* what an edge, where blocks are filled in part, saves */
    double unaligned, unaligned_cell;
    double whole_step, cut_step;
    double read_a, read_b;
    double cycle;
    double ramp; /* per root of a byte */
    double beside, cut_beside;
    double bend[MMT_NUM_AXES][MMT_BENDS]; /* natural logarithms, straight in between */
    int resident, depth;                  /* at least 1 where fitted */
    double residual; /* root mean square of ln(model / measured) over the fitted shapes */
};

/* A file that a profile was read from. */
struct mmt_layer {
    char path[256]; /* its end, where it is longer; "" where it is no file */
    char date[32];  /* of what was measured */
    char driver[64];
    bool own; /* measured on this very device; only mmt_profile_add_layer tells */
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
                      * (`--with`). Only entries with "" are chosen for execution */
    int layer;       /* of the profile's layers; not in a file */
};

/* How warm and how fast the device was while it was tuned. All 0: it does not tell. */
struct mmt_made_health {
    double hottest;          /* degrees Celsius */
    double slowest, fastest; /* clock, MHz */
    int throttled;           /* results that were taken while it was slowed down */
    char by[92];             /* what slowed it down, "thermal, power cap" */
};

/* What the estimate of times that need no measuring (tuner/guide.h) is worth: the rank
 * correlation of a template's estimates with the times that were measured, 0 to 1 (0 also
 * stands for less). Candidates are ruled out by an estimate only where that is high. */
struct mmt_guide {
    mmt_type type;
    char template[64];
    double correlation;
    int samples;
};

/* A kernel that is kept for all shapes of a type and transposes. */
struct mmt_kept {
    mmt_type type;
    bool trans_a, trans_b;
    struct mmt_config config;
    struct mmt_cost cost;
    int shapes; /* problems of the type and transposes that were timed when it was chosen;
                 * 0: an older profile, which does not tell */
    int layer;  /* of the profile's layers; not in a file */
};

/* A published figure: `diff` and `show` read it, nothing executes it. */
struct mmt_published {
    mmt_problem problem;
    char kernel[64]; /* the paper's own name for the variant, "index swap" */
    char knobs[128]; /* the nearest configuration of ours, as text: "tiled …" */
    double seconds;
    bool suspect;
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
    struct mmt_kept *kept;
    size_t num_kept;
    struct mmt_guide *guides;
    size_t num_guides;
    /* A profile made from a paper. */
    char citation[512]; /* "" where it is our own */
    struct mmt_published *published;
    size_t num_published;
    struct mmt_text warnings; /* what was left out on reading, one sentence a line */
    /* The files that it stands in: one, or those of mmt_profile_find, the one that counts
     * most first. None for a profile that was not read from a file. */
    struct mmt_layer *layers;
    size_t num_layers;
};

/* An empty profile; freed with mmt_profile_free. NULL where memory is exhausted. */
struct mmt_profile *mmt_profile_create(void);

/* Append a copy. */
mmt_status mmt_profile_add_entry(struct mmt_profile *profile,
                                 const struct mmt_entry *entry, mmt_error *err);
mmt_status mmt_profile_add_kept(struct mmt_profile *profile, const struct mmt_kept *kept,
                                mmt_error *err);

mmt_status mmt_profile_add_guide(struct mmt_profile *profile,
                                 const struct mmt_guide *guide, mmt_error *err);

/* ---- layers: several profiles as one --------------------------------------------- */

/* In the place of a UUID: what was measured is not of one card alone. */
#define MMT_SEVERAL_CARDS "several cards"

/* Whether one and the same device is spoken of: by their UUIDs where both have one, else
 * by the driver, the memory and the clock besides what makes a profile foreign. */
bool mmt_caps_are_one(const struct mmt_caps *a, const struct mmt_caps *b);

/* Whether the profile has kernels for all shapes of that one's type and transposes. */
bool mmt_profile_keeps(const struct mmt_profile *profile, const struct mmt_kept *kind);

/* Puts the kernels that are kept for one type and transposes, `from`'s, in the place of
 * `into`'s: a set was chosen together, by costs of one run, so it is taken whole. */
mmt_status mmt_profile_take_kept(struct mmt_profile *into, const struct mmt_profile *from,
                                 const struct mmt_kept *kind, mmt_error *err);

/* Adds what `from` knows and `into`, whose caps are the device's, does not: entries of
 * other problems, or of those whose entry the device refuses; the portfolio of a type
 * and transposes where more problems were timed for them; guides; the roofline where
 * there is none. So the profile that counts most is added first. */
mmt_status mmt_profile_add_layer(struct mmt_profile *into, const struct mmt_profile *from,
                                 mmt_error *err);

/* Writes the file so that a power cut leaves the old or the new one. */
mmt_status mmt_profile_save(const struct mmt_profile *profile, const char *path,
                            mmt_error *err);

/* Adds to *text what mmt_profile_save writes to a file. */
mmt_status mmt_profile_print(const struct mmt_profile *profile, struct mmt_text *text,
                             mmt_error *err);

/* Reads from memory; mmt_profile_load of the public API reads a file. */
struct mmt_profile *mmt_profile_read(const char *json, size_t length, mmt_error *err);

/* Adds the usual path: $XDG_DATA_HOME/mmtune/<backend>-<device>.json, with what a file's
 * name cannot hold replaced by '-' and letters made small. */
void mmt_profile_path(const struct mmt_caps *caps, struct mmt_text *path);

/* The same without folder and ".json": what the names of a device's profiles begin with.
 */
void mmt_profile_stem(const struct mmt_caps *caps, struct mmt_text *stem);

/* NULL if the profile was made on such a device (backend, name, architecture, number of
 * multiprocessors, and of a GPU the memory within an eighth), else one sentence why not,
 * written into `buffer`. Another driver is no reason. */
const char *mmt_profile_foreign(const struct mmt_profile *profile,
                                const struct mmt_caps *caps, char buffer[512]);

#endif
