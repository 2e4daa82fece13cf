/* What the papers of the ladder conclude, beside what was climbed here. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ladder_judge.h"

/* ---- zatolokin -------------------------------------------------------------------- */

#define ZATOLOKIN "zatolokin"
#define F32(name)                                                                        \
    {                                                                                    \
        name, NULL, MMT_F32, false                                                       \
    }

static const struct mmt_versus zatolokin[] = {
    { { ZATOLOKIN, "text before Table 4", "the largest block is best: over tiles of 16",
        "" },
      F32("tiled 16"),
      F32("tiled"),
      0,
      1,
      INFINITY },
    { { ZATOLOKIN, "text before Table 4", "the largest block is best: over tiles of 8",
        "" },
      F32("tiled 8"),
      F32("tiled"),
      0,
      1,
      INFINITY },
    { { ZATOLOKIN, "text before Table 5",
        "tiles with 4 results a thread, 21 times as fast as naive",
        "20.6 times, n = 2048 (OpenCL)" },
      F32("naive"),
      F32("tiled_ilp"),
      0,
      20.6,
      INFINITY },
    { { ZATOLOKIN, "text after Table 2",
        "a column in shared memory gives no visible gain (10 %)",
        "0.99 times, n = 1024" },
      F32("naive"),
      F32("col_cached"),
      0,
      0,
      1.1 },
    { { ZATOLOKIN, "text after Table 3", "a row in shared memory gains over naive",
        "5.5 to 8.2 times, n = 1024" },
      F32("naive"),
      F32("row_cached"),
      0,
      1,
      INFINITY },
};

/* The same card through OpenCL; -1: it is not there. */
static int opencl_of(const struct mmt_judge *j)
{
    const struct mmt_study_device *devices = j->ladder->devices;

    for (int d = 0; d < j->ladder->options->devices.count; d++)
        if (!strcmp(devices[d].facts.api, "opencl") &&
            !strcmp(devices[j->device].facts.api, "cuda") &&
            !strcmp(devices[d].facts.name, devices[j->device].facts.name))
            return d;
    return -1;
}

static void judge_apis(const struct mmt_judge *j)
{
    static const struct {
        struct mmt_claim claim;
        const char *algorithm;
        double least, most;
    } all[] = {
        { { ZATOLOKIN, "text after Table 1",
            "naive: OpenCL takes as long as CUDA (within 10 %)", "1 time, n = 2048" },
          "naive",
          0.9,
          1.1 },
        { { ZATOLOKIN, "text after Table 4", "tiles: CUDA 2.3 to 2.8 times OpenCL",
            "2.5 times, n = 2048" },
          "tiled",
          2.3,
          2.8 },
        { { ZATOLOKIN, "abstract", "OpenCL 10 to 20 % slower: CUDA 1.11 to 1.25 times",
            "1.2 times, n = 2048" },
          "tiled_ilp",
          1.11,
          1.25 },
    };

    const struct mmt_judge opencl = { j->ladder, j->claims, opencl_of(j) };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (opencl.device < 0)
            mmt_claims_leave(j->claims, &all[i].claim, mmt_judge_id(j),
                             "needs one card through both: --device cuda:0,opencl:0");
        for (int kernel = 0; kernel < 2 && opencl.device >= 0; kernel++) {
            const struct mmt_subject subject = { all[i].algorithm, NULL, MMT_F32,
                                                 kernel };
            int64_t n = mmt_judge_largest(j, &subject, &subject);
            double ratio = mmt_judge_seconds(&opencl, &subject, n) /
                           mmt_judge_seconds(j, &subject, n);
            double noise =
                isnan(ratio) ? NAN : mmt_judge_noise(&opencl, &subject, &subject, n);
            char told[16];
            if (isnan(ratio))
                mmt_claims_leave(j->claims, &all[i].claim, mmt_judge_id(j),
                                 "f32 was not climbed through both");
            else
                mmt_claims_add(j->claims, &all[i].claim, mmt_judge_id(j),
                               mmt_claims_judge(ratio, noise, all[i].least, all[i].most),
                               "%.3g times%s, n = %" PRId64 ", %s", ratio,
                               mmt_judge_print_noise(noise, told), n,
                               kernel ? "computing" : "with copying");
        }
    }
}

/* P of the tiles at 2048 over that at 1024. */
static void judge_fall(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = { ZATOLOKIN, "Fig. 3 (Radeon R7 200)",
                                            "P of tiles falls from n = 1024 to 2048",
                                            "" };
    for (int kernel = 0; kernel < 2; kernel++) {
        const struct mmt_subject tiles = { "tiled", NULL, MMT_F32, kernel };
        double ratio =
            8 * mmt_judge_seconds(j, &tiles, 1024) / mmt_judge_seconds(j, &tiles, 2048);
        if (!isnan(ratio))
            mmt_claims_add(j->claims, &claim, mmt_judge_id(j), ratio < 1,
                           "to %.3g times, %s", ratio,
                           kernel ? "computing" : "with copying");
        else if (!kernel)
            mmt_claims_leave(j->claims, &claim, mmt_judge_id(j),
                             "it needs --sizes 1024,2048");
    }
}

/* Whether the smaller tiles are as large as the device's largest block: then there is
 * nothing to compare. */
static bool is_largest(const struct mmt_judge *j, const struct mmt_versus *v)
{
    int64_t n = mmt_judge_largest(j, &v->slow, &v->fast);
    const struct mmt_climb *small =
        mmt_judge_climb(j, v->slow.algorithm, NULL, MMT_F32, n);
    const struct mmt_climb *large =
        mmt_judge_climb(j, v->fast.algorithm, NULL, MMT_F32, n);

    return small && large && small->rung->block == small->rung->least &&
           small->block == large->block;
}

static void judge_zatolokin(const struct mmt_judge *j)
{
    static const struct mmt_claim core = { ZATOLOKIN, "Table 1",
                                           "naive is faster than one core at all sizes",
                                           "7.9 to 56 times" };
    static const struct mmt_claim best = { ZATOLOKIN, "Table 5 and conclusions",
                                           "tiles with 4 results a thread are best",
                                           "3.47 times, n = 2048 (OpenCL)" };
    const struct mmt_subject naive = F32("naive"), ilp = F32("tiled_ilp");

    mmt_judge_core(j, &core, &naive, 1, INFINITY);
    for (size_t i = 0; i < sizeof zatolokin / sizeof *zatolokin; i++)
        if (is_largest(j, &zatolokin[i]))
            mmt_claims_leave(j->claims, &zatolokin[i].claim, mmt_judge_id(j),
                             "they are the largest block of this device");
        else
            mmt_judge_versus(j, &zatolokin[i]);
    mmt_judge_best(j, &best, &ilp);
    judge_apis(j);
    judge_fall(j);
}

/* ---- semenenko -------------------------------------------------------------------- */

#define SEMENENKO "semenenko"
#define F64(name)                                                                        \
    {                                                                                    \
        name, NULL, MMT_F64, false                                                       \
    }

static const struct mmt_versus semenenko[] = {
    { { SEMENENKO, "list before Table 1.2",
        "shared memory with bank conflicts takes longer than global memory",
        "1.11 times, n = 2048" },
      F64("shared_conflict"),
      F64("naive"),
      0,
      1,
      INFINITY },
    { { SEMENENKO, "list before Table 1.2", "exchanged indices save time",
        "1.03 times, n = 2048" },
      F64("shared_conflict"),
      F64("shared_index_swap"),
      0,
      1,
      INFINITY },
    { { SEMENENKO, "Table 1.4 (GTX 1060)",
        "exchanged indices are a better cure than an extra column",
        "1.94 times, n = 2048" },
      F32("shared_padded"),
      F32("shared_index_swap"),
      0,
      1,
      INFINITY },
    { { SEMENENKO, "Table 1.4 (Quadro K5000)",
        "an extra column is a better cure than exchanged indices",
        "2.28 times, n = 2048" },
      F32("shared_index_swap"),
      F32("shared_padded"),
      0,
      1,
      INFINITY },
};

static const mmt_type paper_types[] = { MMT_F32, MMT_F64, MMT_I32 };
enum { NUM_TYPES = sizeof paper_types / sizeof *paper_types };

/* Computing alone, naive over 4 results a thread, for each type. */
static void judge_types(const struct mmt_judge *j)
{
    static const struct mmt_claim most = { SEMENENKO, "text at Fig. 1.2",
                                           "4 results a thread gain most in int",
                                           "up to 4 times" };
    static const struct mmt_claim half = { SEMENENKO, "text at Fig. 1.2",
                                           "they only halve double (1.5 to 2.5 times)",
                                           "2 times" };
    double ratios[NUM_TYPES], noises[NUM_TYPES];
    int64_t n = 0;

    for (int t = 0; t < NUM_TYPES; t++) {
        const struct mmt_subject naive = { "naive", NULL, paper_types[t], true };
        const struct mmt_subject ilp = { "tiled_ilp", "4", paper_types[t], true };
        n = n ? n : mmt_judge_largest(j, &naive, &ilp);
        ratios[t] = mmt_judge_gain(j, &naive, &ilp, n);
        noises[t] = isnan(ratios[t]) ? NAN : mmt_judge_noise(j, &naive, &ilp, n);
    }
    const int next = ratios[1] > ratios[0]; /* of f32 and f64 what gains more */
    if (isnan(ratios[0] + ratios[1] + ratios[2]))
        mmt_claims_leave(j->claims, &most, mmt_judge_id(j),
                         "not all of f32, f64 and i32 were climbed");
    else
        mmt_claims_add(j->claims, &most, mmt_judge_id(j),
                       mmt_claims_judge(ratios[2] / ratios[next],
                                        hypot(noises[2], noises[next]), 1, INFINITY),
                       "f32 %.3g, f64 %.3g, i32 %.3g times, n = %" PRId64 ", computing",
                       ratios[0], ratios[1], ratios[2], n);
    if (isnan(ratios[1]))
        mmt_claims_leave(j->claims, &half, mmt_judge_id(j), "f64 was not climbed");
    else
        mmt_claims_add(j->claims, &half, mmt_judge_id(j),
                       mmt_claims_judge(ratios[1], noises[1], 1.5, 2.5),
                       "%.3g times, n = %" PRId64 ", computing", ratios[1], n);
}

/* The least gain over one core is that of 512 in int, the greatest that of 2048 in
 * double.
 */
static void judge_extremes(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = {
        SEMENENKO, "conclusions", "over one core, from int at 512 to double at 2048",
        "40 to 160 times"
    };
    const struct mmt_subject whole = { NULL, NULL, MMT_I32, false },
                             real = { NULL, NULL, MMT_F64, false },
                             whole_ilp = { "tiled_ilp", "4", MMT_I32, false },
                             real_ilp = { "tiled_ilp", "4", MMT_F64, false };
    double least = mmt_judge_gain(j, &whole, &whole_ilp, 512),
           most = mmt_judge_gain(j, &real, &real_ilp, 2048);

    if (isnan(least + most))
        mmt_claims_leave(j->claims, &claim, mmt_judge_id(j),
                         "it needs --type i32,f64 --sizes 512,2048");
    else
        mmt_claims_add(j->claims, &claim, mmt_judge_id(j), least >= 40 && most >= 160,
                       "%.4g to %.4g times", least, most);
}

/* 4096 x 4096 in double, which the paper's card did "in 0 s". */
static void judge_zero(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = { SEMENENKO, "Experiments",
                                            "4096 x 4096 cannot be processed", "0 s" };
    const struct mmt_climb *climb = mmt_judge_climb(j, "naive", NULL, MMT_F64, 4096);

    if (!climb)
        mmt_claims_leave(j->claims, &claim, mmt_judge_id(j),
                         "it needs --type f64 --sizes 4096");
    else if (climb->why[0])
        mmt_claims_add(j->claims, &claim, mmt_judge_id(j), true, "%.200s", climb->why);
    else
        mmt_claims_add(j->claims, &claim, mmt_judge_id(j), false, "%.3g s, naive in f64",
                       climb->phases.total);
}

static void judge_semenenko(const struct mmt_judge *j)
{
    static const struct mmt_claim core = {
        SEMENENKO, "text at Fig. 1.2", "one core takes 40 to 130 times as long as ILP 4",
        "40 to 130 times"
    };
    static const struct mmt_claim best = { SEMENENKO, "Conclusions",
                                           "4 results a thread are the best optimisation",
                                           "1.06 times, n = 2048" };
    static const struct mmt_claim cards[] = {
        { SEMENENKO, "text at Fig. 1.3", "int at 2048 saves time on the other card",
          "0.5 s, 2.4 times" },
        { SEMENENKO, "text after Table 1.4", "copies of double at 2048 are shorter there",
          "0.002 s" },
    };
    static const struct mmt_claim cured = {
        SEMENENKO, "Conclusions",
        "4 results a thread are the best optimisation: with a cure of bank conflicts",
        "none"
    };
    const struct mmt_subject ilp = { "tiled_ilp", "4", MMT_F64, false },
                             swapped = { "swapped_ilp", "4", MMT_F64, false };

    for (size_t i = 0; i < sizeof semenenko / sizeof *semenenko; i++)
        mmt_judge_versus(j, &semenenko[i]);
    mmt_judge_best(j, &best, &ilp);
    mmt_judge_best(j, &cured, &swapped);
    judge_types(j);
    for (int t = 0; t < NUM_TYPES; t++) {
        const struct mmt_subject fast = { "tiled_ilp", "4", paper_types[t], false };
        mmt_judge_core(j, &core, &fast, 40, 130);
    }
    judge_extremes(j);
    judge_zero(j);
    for (size_t i = 0; i < sizeof cards / sizeof *cards && !j->device; i++)
        mmt_claims_leave(j->claims, &cards[i], "",
                         "two cards are compared by `mmtune study cards FOLDER FOLDER`");
}

/* ---- gts250 ----------------------------------------------------------------------- */

#define GTS250 "gts250"

static const struct mmt_versus gts250[] = {
    { { GTS250, "Conclusions", "the tiled kernel, 5.23 times the classical one at 512",
        "5.23 times" },
      F32("naive"),
      F32("tiled"),
      512,
      5.23,
      INFINITY },
    { { GTS250, "Conclusions", "and 28.03 times at 3072", "28.03 times" },
      F32("naive"),
      F32("tiled"),
      3072,
      28.03,
      INFINITY },
    { { GTS250, "text after Table 5", "float about twice as fast as int (1.6 to 2.4)",
        "1.83 times, n = 7168" },
      { "tiled", NULL, MMT_I32, false },
      F32("tiled"),
      0,
      1.6,
      2.4 },
    { { GTS250, "text after Table 5", "double is sharply slower than float (2 times)",
        "" },
      F64("tiled"),
      F32("tiled"),
      0,
      2,
      INFINITY },
};

/* What of the tiled kernel's time is computing. */
static void judge_computing(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = {
        GTS250, "text after Fig. 3", "about 80 % of the time is computing (75 to 85)",
        "20 to 84 %, n = 512 to 7168"
    };
    const struct mmt_ladder *ladder = j->ladder;
    double last = NAN, least = NAN, most = NAN;

    for (int i = 0; i < ladder->num_sizes; i++) {
        const struct mmt_climb *climb =
            mmt_judge_climb(j, "tiled", NULL, MMT_F32, ladder->sizes[i]);
        double t = mmt_climb_seconds(ladder, climb);
        if (isnan(t))
            continue;
        last = 100 * climb->phases.kernel / t;
        least = fmin(least, last);
        most = fmax(most, last);
    }
    if (isnan(last))
        mmt_claims_leave(j->claims, &claim, mmt_judge_id(j), "f32 was not climbed");
    else
        mmt_claims_add(j->claims, &claim, mmt_judge_id(j), last >= 75 && last <= 85,
                       "%.2g %% at the largest size, %.2g to %.2g %% at all", last, least,
                       most);
}

/* The loops of naive.cl read an element of A and one of B in each of n steps; those of
 * tiled.cl one of each for an element of C in each of ceil(n / tile) steps. */
static void judge_reads(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = {
        GTS250, "text before Table 2",
        "an element of C takes 2N reads of global memory, by tiles 2N/16",
        "16 times fewer"
    };
    const struct mmt_climb *climb = NULL;

    for (int i = 0; i < j->ladder->num_sizes; i++) {
        const struct mmt_climb *found =
            mmt_judge_climb(j, "tiled", NULL, MMT_F32, j->ladder->sizes[i]);
        climb = found && !found->why[0] ? found : climb;
    }
    if (!climb) {
        mmt_claims_leave(j->claims, &claim, mmt_judge_id(j), "f32 was not climbed");
        return;
    }
    int64_t classical = 2 * climb->n,
            tiled = 2 * ((climb->n + climb->block - 1) / climb->block);
    mmt_claims_add(j->claims, &claim, mmt_judge_id(j),
                   climb->block == 16 && (tiled - 1) * 16 < classical,
                   "%" PRId64 " and %" PRId64 " reads, n = %" PRId64
                   ", tiles of %d, counted "
                   "by the loops of the kernels",
                   classical, tiled, climb->n, climb->block);
}

/* ---- gts250: one core ------------------------------------------------------------- */

/* Of the largest size that was run in all layouts. */
static const struct mmt_climb_cpu *largest_core(const struct mmt_ladder *ladder,
                                                mmt_type type)
{
    const struct mmt_climb_cpu *found = NULL;
    for (int i = 0; i < ladder->num_sizes; i++) {
        const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, type, ladder->sizes[i]);
        if (cpu && cpu->runs[MMT_CPU_AB] && cpu->runs[MMT_CPU_ATB] &&
            cpu->runs[MMT_CPU_ABT])
            found = cpu;
    }
    return found;
}

static void judge_layouts(const struct mmt_judge *j, mmt_type type)
{
    static const struct mmt_claim claim = {
        GTS250, "text after Table 1", "one core: A*B^T is the fastest, A^T*B the slowest",
        "7.70, 60.5 and 85.5 s (int, 2048)"
    };
    const struct mmt_climb_cpu *cpu = largest_core(j->ladder, type);

    if (!cpu) {
        mmt_claims_leave(j->claims, &claim, "", "no size was run on one core, in %s",
                         mmt_type_name(type));
        return;
    }
    const double *t = cpu->seconds;
    mmt_claims_add(j->claims, &claim, "",
                   t[MMT_CPU_ABT] <= t[MMT_CPU_AB] && t[MMT_CPU_AB] <= t[MMT_CPU_ATB],
                   "A*B^T %.3g, A*B %.3g, A^T*B %.3g s (%s, %" PRId64 ")", t[MMT_CPU_ABT],
                   t[MMT_CPU_AB], t[MMT_CPU_ATB], mmt_type_name(type), cpu->n);
}

static void judge_floats(const struct mmt_judge *j)
{
    static const struct mmt_claim claim = { GTS250, "text after Table 1",
                                            "one core: float takes longer than int",
                                            "1.46 times, A*B, 2048" };
    const struct mmt_climb_cpu *real = largest_core(j->ladder, MMT_F32),
                               *whole = largest_core(j->ladder, MMT_I32);

    if (!real || !whole || real->n != whole->n)
        mmt_claims_leave(j->claims, &claim, "",
                         "no size was run on one core in both types");
    else
        mmt_claims_add(j->claims, &claim, "",
                       real->seconds[MMT_CPU_AB] >= whole->seconds[MMT_CPU_AB],
                       "%.3g times, A*B, %" PRId64,
                       real->seconds[MMT_CPU_AB] / whole->seconds[MMT_CPU_AB], real->n);
}

static void judge_gts250(const struct mmt_judge *j)
{
    static const struct mmt_claim classical = {
        GTS250, "text after Fig. 3", "the classical kernel, 5 times as fast as one core",
        "5.6 to 9.3 times, by Tables 1 and 2"
    };
    static const struct mmt_claim tiled = {
        GTS250, "text after Fig. 3", "the tiled one, by an order of magnitude (10 times)",
        "29 to 187 times, by Tables 1 and 2"
    };
    const struct mmt_subject naive = F32("naive"), tiles = F32("tiled");

    if (!j->device) {
        judge_layouts(j, MMT_I32);
        judge_layouts(j, MMT_F32);
        judge_floats(j);
    }
    mmt_judge_core(j, &classical, &naive, 5, INFINITY);
    mmt_judge_core(j, &tiled, &tiles, 10, INFINITY);
    for (size_t i = 0; i < sizeof gts250 / sizeof *gts250; i++)
        mmt_judge_versus(j, &gts250[i]);
    judge_computing(j);
    judge_reads(j);
}

/* ---- all -------------------------------------------------------------------------- */

mmt_status mmt_ladder_claims(const struct mmt_ladder *ladder, mmt_error *err)
{
    static const struct {
        const char *paper;
        void (*judge)(const struct mmt_judge *j);
    } all[] = { { ZATOLOKIN, judge_zatolokin },
                { SEMENENKO, judge_semenenko },
                { GTS250, judge_gts250 } };
    struct mmt_table claims = mmt_claims_start();
    mmt_status status = MMT_OK;
    char name[64];

    for (int d = 0; d < ladder->options->devices.count; d++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (!strcmp(all[i].paper, ladder->paper->name))
                all[i].judge(&(struct mmt_judge){ ladder, &claims, d });
    if (!strcmp(ladder->paper->name, "ustyuzhanin"))
        status = mmt_ladder_limit(ladder, &claims, err);
    snprintf(name, sizeof name, "ladder-%s-claims", ladder->paper->name);
    if (status == MMT_OK)
        status = mmt_study_show(ladder->options, &claims, name, err);
    mmt_table_free(&claims);
    return status;
}
