/* From a configuration to a launch. The header of the module `runtime`; the public half
 * of it (plans) is mmtune/mmtune.h. The tuner uses both, so that what is timed is what
 * ships.
 */
#ifndef MMT_RUNTIME_RUNTIME_H
#define MMT_RUNTIME_RUNTIME_H

#include <sys/types.h>

#include "device/device.h"
#include "generator/generator.h"
#include "profiles/profile.h"

/* ---- cache: compiled kernels on disk --------------------------------------------- */

/* A folder of files, one a binary with its log, each named by the hash of its key and
 * holding the key itself before them, so that a collision is a miss, and a hash of all,
 * so that a damaged file is one too. Files are written whole or not at all, so any number
 * of processes may share the folder. It has mode 0700, its files 0600; where it belongs
 * to another user, or others may write it, nothing is read from it or written to it. */

/* Looks a binary up. False on a miss; a file that cannot be read is a miss. */
bool mmt_cache_get(const char *key, struct mmt_binary *binary);

/* Has a file count as used now; false where there is none of that key. */
bool mmt_cache_touch(const char *key);

/* Stores a binary, with its log if it has one, and removes the least recently used files
 * over the limit. A failure costs a recompilation, so it is no error of the caller's;
 * mmt_cache_trouble says what it was. */
void mmt_cache_put(const char *key, const struct mmt_binary *binary);

/* Adds why the last binary of this process could not be stored, or that
 * MMTUNE_CACHE_LIMIT is no size; false and nothing where all was well. */
bool mmt_cache_trouble(struct mmt_text *text);

/* How many bytes the folder may take: 256 MiB, or MMTUNE_CACHE_LIMIT, which a tuner sets
 * to 2 GiB. MMT_ERROR_ARGUMENT, and the default, where that is no size. */
mmt_status mmt_cache_limit(off_t *bytes, mmt_error *err);

/* Tries the folder by writing into it: MMT_ERROR_IO where no kernel can be stored, with
 * errno in `native`; MMT_ERROR_ARGUMENT where its limit is no size. The other asks just
 * whether there is no room left. */
mmt_status mmt_cache_check(mmt_error *err);
bool mmt_cache_is_full(mmt_error *err);

/* ---- kernel: one configuration, built -------------------------------------------- */

struct mmt_kernel;

/* Emits and compiles without loading: fills the cache. `log` (may be NULL) gets the
 * compiler's whole log, also on failure. *cached says that nothing had to be compiled;
 * then `log` gets a log that warned (mmt_log_warns), and no other. */
mmt_status mmt_kernel_compile(mmt_device *device, const struct mmt_config *config,
                              const struct mmt_variant *variant, struct mmt_text *log,
                              bool *cached, mmt_error *err);

/* The same, and gives what was compiled, which the caller finishes. */
mmt_status mmt_kernel_build(mmt_device *device, const struct mmt_config *config,
                            const struct mmt_variant *variant, struct mmt_binary *out,
                            bool *cached, mmt_error *err);

/* Emits, compiles (or finds in the cache) and loads what one problem needs: the text for
 * aligned operands, or for any. With a bundle, it is loaded from there; else
 * MMT_ERROR_UNSUPPORTED. */
mmt_status mmt_kernel_create(mmt_device *device, const struct mmt_bound *bound,
                             bool aligned, const struct mmt_bundled *in,
                             struct mmt_kernel **out, mmt_error *err);
void mmt_kernel_free(struct mmt_kernel *kernel);

/* Whether mmt_kernel_create, without a bundle, would compile nothing. Some 0.5 ms, where
 * it is not loaded. */
bool mmt_kernel_is_built(mmt_device *device, const struct mmt_bound *bound, bool aligned);

/* The bytes of shared memory to launch with. Blocks that begin early (launch->pdl_waits)
 * find some multiprocessors free and others not, and would gather on the free ones: two
 * on one and none on the next take twice as long. Memory that nobody uses keeps more than
 * their share from fitting there. `resident`: how many run at once on all; 0: unknown. */
size_t mmt_launch_spread(const struct mmt_launch *launch, const struct mmt_caps *caps,
                         unsigned resident);

/* What its most expensive launch spends. */
mmt_status mmt_kernel_usage(struct mmt_kernel *kernel, struct mmt_usage *out,
                            mmt_error *err);

/* Bytes of workspace an execution needs. */
size_t mmt_kernel_workspace(const struct mmt_kernel *kernel);

/* Where an execution is queued, and after what. */
struct mmt_turn {
    mmt_queue queue;
    bool follows; /* what this thread queued before uses the same workspace */
    struct mmt_events *events; /* OpenCL's, or NULL */
};

/* Queues all launches of one execution. args are checked. */
mmt_status mmt_kernel_run(const struct mmt_kernel *kernel, const mmt_args *args,
                          const struct mmt_turn *turn, mmt_error *err);

/* Calls `visit` with each file that a profile may be in, of all places where they are
 * looked for, in their order. */
typedef void mmt_profile_visitor(void *self, const char *path);
mmt_status mmt_profile_visit(mmt_profile_visitor *visit, void *self, mmt_error *err);

/* mmt_profile_find, without opening the device: `id` names it for people. */
struct mmt_profile *mmt_profile_find_for(const struct mmt_caps *caps, const char *id,
                                         mmt_error *err);

/* ---- select: which configuration for a problem ----------------------------------- */

struct mmt_selection {
    struct mmt_config config;
    enum {
        MMT_SELECTION_EXACT,    /* this very problem was tuned */
        MMT_SELECTION_MEASURED, /* this very problem was measured at planning */
        MMT_SELECTION_RANGE,    /* a range of m was tuned that holds it */
        MMT_SELECTION_LAW,      /* least by arithmetic of all that a template can be */
        MMT_SELECTION_NEAREST,  /* best for the nearest problem that was tuned */
        MMT_SELECTION_DEFAULT,  /* nothing was tuned that could tell */
        MMT_SELECTION_GIVEN,    /* the caller named it */
    } why;
    double seconds;      /* expected; 0 where unknown */
    mmt_problem nearest; /* for MMT_SELECTION_NEAREST */
    struct {
        int64_t from, to, segment_to; /* m */
        int segment, count;           /* segment: from 0 */
    } range;                          /* for MMT_SELECTION_RANGE */
    int compared;                     /* how many kernels were compared; 0: unknown */
    int layer;     /* of the profile's, from which the kernel is; -1: of none */
    bool compiled; /* taken as it is compiled, where the first is not */
};

/* What a program asks of a kernel besides the right answer. */
struct mmt_terms {
    size_t max_workspace;             /* bytes; SIZE_MAX: any */
    bool strict_f32;                  /* f32 by FFMA alone */
    const struct mmt_config *refused; /* by the driver: resolved, passed over */
    int num_refused;
    const struct mmt_bundled *in; /* the only kernels that there are; NULL: any */
};

/* Selects for a normalised problem: by its entry, by a range that holds it, by the first
 * of mmt_select_rank, in this order; profile and terms may be NULL. A ranking takes 0.1
 * to 0.4 ms, the others some 20 us.
 * Configurations that the device or the terms rule out are passed over, and of workspaces
 * those that beside the operands exceed the device's memory, too. MMT_ERROR_UNSUPPORTED
 * where nothing serves. */
mmt_status mmt_select(const struct mmt_profile *profile, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      struct mmt_selection *out, mmt_error *err);

/* mmt_select, which caches the last few hundred selections of the process: the next plan
 * of a problem costs no ranking. What a profile learns is heeded. Thread-safe. */
mmt_status mmt_select_cached(const struct mmt_profile *profile,
                             const mmt_problem *problem, const struct mmt_caps *caps,
                             const struct mmt_terms *terms, struct mmt_selection *out,
                             mmt_error *err);

/* The same for a plan that is to begin soon: where the law chose a kernel that has to be
 * compiled, takes the first that is compiled already, of those that it expects within
 * 3 % of that. `aligned_only`: operands of any alignment need no kernel. Thread-safe. */
mmt_status mmt_select_built(mmt_device *device, const struct mmt_profile *profile,
                            const mmt_problem *problem, const struct mmt_caps *caps,
                            const struct mmt_terms *terms, bool aligned_only,
                            struct mmt_selection *out, mmt_error *err);

/* The profile's layer that it rests on, or NULL. */
const struct mmt_layer *mmt_selection_layer(const struct mmt_profile *profile,
                                            const struct mmt_selection *selection);

/* Why what it rests on was measured on another kind of device, one sentence, written into
 * `buffer`; NULL where it was not. The profile may be NULL. */
const char *mmt_selection_foreign(const struct mmt_profile *profile,
                                  const struct mmt_selection *selection,
                                  const struct mmt_caps *caps, char buffer[512]);

/* Whether the very problem was timed, or those round it. */
bool mmt_selection_is_known(const struct mmt_selection *selection);

/* Adds why it was selected, as "tuned for this very problem, 5.2 us" or "tuned for gemm
 * f32 nn 1-8192x14336x4096, kernel 3 of 5, m up to 300". `foreign`: on another device. */
void mmt_selection_print(const struct mmt_selection *selection,
                         const mmt_problem *problem, bool foreign, struct mmt_text *text);

/* Adds, behind `lead`, which kernel of the profile the device cannot run although it was
 * tuned for the very problem, and why; nothing where there is none. */
void mmt_passed_over_print(const struct mmt_profile *profile, const mmt_problem *problem,
                           const struct mmt_caps *caps, const char *lead,
                           struct mmt_text *text);

/* A kernel and what it is expected to take. */
struct mmt_ranked {
    struct mmt_config config;
    double seconds;
    const struct mmt_model *model; /* the profile's; NULL: by the law alone */
    const struct mmt_entry *near;  /* whose kernel it is, and whose time tells; or NULL */
};

/* Seconds that a ranked kernel, bound, is expected to take by the law and its model. */
double mmt_expected_seconds(const struct mmt_ranked *ranked,
                            const struct mmt_bound *bound);

enum { MMT_MOST_RANKED = 32 };

/* Whether the law of time ranks kernels for the problem: those of products alone. */
bool mmt_has_law(const mmt_problem *problem);

/* The kernels that should be the fastest by the law of time, the first of them first: of
 * all that templates name; returns how many. This is what mmt_select selects from where
 * the very problem was not tuned. */
int mmt_select_rank(const struct mmt_profile *profile, const mmt_problem *problem,
                    const struct mmt_caps *caps, const struct mmt_terms *terms,
                    struct mmt_ranked ranked[MMT_MOST_RANKED]);

/* The first of a template's starting points that is not estimated at more than another
 * takes by far, for those terms. Returns the estimate in cycles, INFINITY where there is
 * none. */
double mmt_select_start(const struct mmt_template *template, const mmt_problem *problem,
                        const struct mmt_caps *caps, const struct mmt_terms *terms,
                        struct mmt_config *out);

/* The kernels that promise most: what mmt_select selects, then the others that are ranked
 * and not expected to be far behind; where none are, starting points. Returns how many.
 */
int mmt_select_candidates(const struct mmt_profile *profile, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms,
                          struct mmt_config *out, int most);

/* ---- measure: which of a few is the fastest -------------------------------------- */

/* Times the candidates for a normalised problem on the device, which counts as `caps`,
 * within options->measure_seconds and measure_bytes, and puts the winner into *selection
 * and, where the terms exclude nothing, into what the profile has learned. An error says
 * why nothing was measured; then *selection is as it was. Measurings of a process take
 * turns. */
mmt_status mmt_measure_selection(mmt_device *device, const struct mmt_caps *caps,
                                 const struct mmt_profile *profile,
                                 const mmt_problem *problem,
                                 const struct mmt_terms *terms,
                                 const mmt_plan_options *options,
                                 struct mmt_selection *selection, mmt_error *err);

/* Adds, for people: what mmt_select selects for a normalised problem and why, then the
 * ranking, a line each. */
mmt_status mmt_explain(const struct mmt_profile *profile, const mmt_problem *problem,
                       const struct mmt_caps *caps, struct mmt_text *text,
                       mmt_error *err);

/* Writes a problem that no entry or range serves down in the device's recording, once a
 * process, where MMTUNE_RECORD asks for it. What goes wrong is nobody's error.
 * Thread-safe. */
void mmt_record_unserved(const struct mmt_caps *caps, const mmt_problem *problem,
                         size_t max_workspace);

/* mmt_execute for operands that are more than their buffers say, as test data between
 * guard pages is. */
mmt_status mmt_execute_unbounded(const mmt_plan *plan, const mmt_args *args,
                                 mmt_queue queue, mmt_error *err);

/* ---- host memory ------------------------------------------------------------------ */

/* Host memory as an operand, from the beginning of its first page on; else as
 * mmt_buffer_wrap. What is written to an operand is written to that memory. */
mmt_status mmt_host_wrap(mmt_device *device, const void *host, size_t bytes,
                         mmt_operand *buffer, mmt_error *err);

/* A product's matrices in host memory, with the leading dimensions of its problem. */
struct mmt_host_args {
    const void *a, *b;
    void *c;
    double alpha, beta;
};

/* Executes the plan of a product, no batch, and returns when C is there. The host's own
 * processor uses the matrices in place; for other devices they are copied there and back,
 * in memory that is made for this call. Where the plan needs a workspace, it keeps one
 * that it made, for the next such call. Runs on the device's own queue. Where it fails
 * with *started, C may be half written. Threads: as mmt_execute. */
mmt_status mmt_execute_host(const mmt_plan *plan, const struct mmt_host_args *host,
                            bool *started, mmt_error *err);

/* Whether alpha or beta is a whole number that a double holds exactly, at most 2^53. */
bool mmt_scalar_is_whole(double value);

/* mmt_plan_create without a profile, of that configuration: what ships runs, and what is
 * timed. `options` name none. */
mmt_plan *mmt_plan_of(mmt_device *device, const struct mmt_config *config,
                      const mmt_problem *problem, const mmt_plan_options *options,
                      mmt_error *err);

/* The same for a call: with the one kernel that its operands' alignment asks for. */
mmt_plan *mmt_plan_of_call(mmt_device *device, const struct mmt_config *config,
                           const struct mmt_call *call, const mmt_plan_options *options,
                           mmt_error *err);

/* The configuration that a plan uses. */
const struct mmt_config *mmt_plan_config(const mmt_plan *plan);

/* The plan's kernel for aligned operands, or, where it has none, for any alignment. */
struct mmt_kernel *mmt_plan_kernel(const mmt_plan *plan);

#endif
