/* What `mmtune bench` is asked for. */
#ifndef MMT_TUNER_BENCH_OPTIONS_H
#define MMT_TUNER_BENCH_OPTIONS_H

#include "tuner/bench/bench.h"
#include "tuner/common/suites.h"

struct mmt_bench_options {
    const char *device, *profile, *configuration, *csv;
    bool no_profile;
    const char *parameters; /* a folder of what a library's own tuners wrote */
    const struct mmt_reference *references[MMT_MOST_REFERENCES];
    int num_references;
    bool named; /* the references were asked for by name */
    struct mmt_shape *shapes;
    int num_shapes;
    bool usual; /* the default suite, which depends on device and type */
    bool types[MMT_NUM_TYPES];
    struct mmt_epilogue epilogue;
    unsigned transposes;
    bool ld_padding[2]; /* leading dimensions: packed, odd */
    mmt_effort effort;
    double seconds;
    int64_t seed;
    bool json;
};

/* Returns -1, or the exit status where that was all there is to do. */
int mmt_bench_read_options(int argc, char **argv, struct mmt_bench_options *out);

void mmt_bench_free_options(struct mmt_bench_options *options);

#endif
