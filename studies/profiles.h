/* What profiles say of problems, from their JSON files (profiles/schema.json). */
#ifndef MMT_STUDIES_PROFILES_H
#define MMT_STUDIES_PROFILES_H

#include <stdbool.h>

#include <mmtune/mmtune.h>

enum { MMT_STUDY_OPS = 8 }; /* room for those that there are */

/* "axpby" */
const char *mmt_study_op_name(mmt_op op);

/* What a profile's files tell; those that cannot be read are left out. */
struct mmt_known {
    unsigned tuned[MMT_STUDY_OPS]; /* types that were timed, bits 1 << mmt_type */
    double bandwidth; /* bytes/s, of the file that counts most; 0: none was measured */
};

/* The profile may be NULL. */
struct mmt_known mmt_study_known(const mmt_profile *profile);

/* One time of one card for one problem, with how far it may be off. */
struct mmt_reading {
    char problem[256]; /* "gemm f32 nn 512x512x512": two are equal where these are */
    char kernel[160];  /* a configuration, or the paper's own name */
    double work;       /* m n k, of all of a batch */
    double seconds, spread;
    bool published, suspect; /* published figures carry no spread */
};

struct mmt_readings {
    char name[128]; /* of the card */
    struct mmt_reading *each;
    int count, published;
};

/* The times of a profile; refuses what the library does, and a bundle. The caller frees
 * `each`, also after an error. */
mmt_status mmt_study_read_profile(const char *path, struct mmt_readings *out,
                                  mmt_error *err);

#endif
