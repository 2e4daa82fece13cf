/* Data races of kernels for a CPU. Its OpenCL driver runs the threads of a block as one
 * loop after the other, and ends such a loop in more places than barriers stand in: what
 * a missing barrier does is never seen there. So oclgrind, a simulator, looks for it. */
#ifndef MMT_TUNER_CLI_RACES_H
#define MMT_TUNER_CLI_RACES_H

#include "generator/generator.h"

/* NULL where they are looked for on this device; where they cannot be, what to do; "" for
 * a device whose threads run side by side. */
const char *mmt_races_why_not(const struct mmt_caps *caps);

struct mmt_races {
    bool looked, found;
    char what[500]; /* the race, and where it is; or why nobody has looked */
};

/* Runs a configuration in oclgrind, on small problems of that kind, for so many seconds
 * at most, of the processor. */
struct mmt_races mmt_races_find(const struct mmt_config *config,
                                const mmt_problem *problem, const struct mmt_caps *caps,
                                double limit);

/* What runs in oclgrind: `mmtune --races CONFIGURATION PROBLEM CORES VECTOR_BYTES LIMIT`.
 */
int mmt_verb_races(int argc, char **argv);

#endif
