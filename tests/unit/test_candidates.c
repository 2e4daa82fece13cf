/* The configurations that wgmma names by arithmetic: they can run, cover C with little
 * waste, and their order is that of times taken on a card. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tests/support/caps.h"
#include "tests/support/test.h"

enum { ALL = 8192, SHOWN = 16 };

static struct mmt_caps h200;

static struct mmt_candidate named[ALL];

static int candidates_of(const char *spelled, mmt_problem *p, int most)
{
    CHECK_OK(mmt_problem_parse(spelled, p, &err), err);
    CHECK_OK(mmt_problem_normalise(p, p, &err), err);
    return mmt_template_find("wgmma")->candidates(p, &h200, named, most);
}

static struct mmt_config config_of(const struct mmt_candidate *candidate)
{
    struct mmt_config config = { .template = mmt_template_find("wgmma") };
    memcpy(config.values, candidate->values, sizeof config.values);
    return config;
}

/* ---- what is named --------------------------------------------------------------- */

static bool has_knob(const struct mmt_config *config, const char *word)
{
    SCOPED_TEXT text = { 0 };
    mmt_config_print(config, &text);
    const bool has = strstr(mmt_text_string(&text), word) != NULL;
    return has;
}

/* Each can run, no two are the same, and they stand in order. */
static void test_legal(void)
{
    static const char *const problems[] = { "gemm bf16 nt 300x14336x4096",
                                            "gemm bf16 nn 8x4608x3584",
                                            "gemm f16 tn 8192x8192x8192",
                                            "gemm f16 tt 1000x512x64 out=f32",
                                            "gemm bf16 nt 77x4096x4096",
                                            "gemm bf16 nt 64x4096x14336 bias=column",
                                            "gemm bf16 nt 128x128x64 batch=96",
                                            "gemm bf16 nt 300x300x4097",
                                            "gemm bf16 nn 1999x2000x1998",
                                            "gemm f16 tn 1115x8x791 bias=row",
                                            "gemm tf32 nn 1024x2048x512",
                                            "gemm tf32 tn 153x380x41232",
                                            "gemm f8e4m3 nt 200x4096x4096",
                                            "gemm f8e4m3 nn 2240x2240x2240",
                                            "gemm f8e5m2 tt 1312x944x144 out=f16",
                                            "gemm i8 nn 2160x2160x2160",
                                            "gemm i8 tn 16x768x3072",
                                            "gemm f32 nn 1232x1232x1232",
                                            "gemm f32 tt 455x145x13326",
                                            "gemm i32 nn 430x430x430",
                                            "gemm i32 nt 3304x6128x48" };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        mmt_problem p;
        const int count = candidates_of(problems[i], &p, SHOWN);
        CHECK_EQ_INT(count, SHOWN);
        for (int c = 0; c < count; c++) {
            const struct mmt_config config = config_of(&named[c]);
            const char *why = mmt_config_check_problem(&config, &p, &h200);
            CHECK_EQ_STR(why ? why : "", "");
            CHECK(c == 0 || named[c - 1].cycles <= named[c].cycles);
            for (int other = 0; other < c; other++)
                CHECK(
                    memcmp(named[other].values, named[c].values, sizeof named[c].values));
        }
    }
}

/* Tiles that cover 300 by two of 152, as a list of sixteenths cannot, are among the
 * first.
 */
static void test_little_waste(void)
{
    mmt_problem p;
    bool covers = false;
    candidates_of("gemm bf16 nt 300x14336x4096", &p, SHOWN);
    for (int i = 0; i < 5; i++) {
        const struct mmt_config config = config_of(&named[i]);
        covers |= has_knob(&config, "TILE_N=152 ");
    }
    CHECK(covers);
}

/* None where the instruction cannot: it says so, rather than name what fails. */
static void test_none(void)
{
    struct mmt_caps ampere = h200;
    mmt_problem p;
    CHECK_EQ_INT(candidates_of("gemm f64 nt 304x304x4096", &p, SHOWN), 0);
    CHECK_EQ_INT(candidates_of("gemm f32 nt 304x304x0", &p, SHOWN), 0);
    CHECK_EQ_INT(candidates_of("gemm bf16 nt 304x304x4096", &p, 0), 0);
    snprintf(ampere.architecture, sizeof ampere.architecture, "sm_80");
    CHECK_EQ_INT(mmt_template_find("wgmma")->candidates(&p, &ampere, named, SHOWN), 0);
}

/* One that splits k asks for a workspace: where there may be none, none is selected. */
static void test_terms(void)
{
    const struct mmt_terms terms = { .max_workspace = 0 };
    struct mmt_selection selection;
    struct mmt_launches launches;
    mmt_problem p;

    candidates_of("gemm bf16 nt 64x64x100000", &p, SHOWN);
    const struct mmt_config first = config_of(&named[0]);
    mmt_config_launch(&first, &p, &h200, &launches);
    CHECK(launches.workspace > 0);
    CHECK_OK(mmt_select(NULL, &p, &h200, &terms, &selection, &err), err);
    mmt_config_launch(&selection.config, &p, &h200, &launches);
    CHECK_EQ_INT(launches.workspace, 0);
}

/* ---- their order, beside times of a card ------------------------------------------- */

/* What the best of the first so many takes, over the best of all that were timed. */
struct standing {
    double first, five, best;
    int seen;
};

static int rank_of(const struct mmt_config *config, int count)
{
    for (int i = 0; i < count; i++)
        if (!memcmp(named[i].values, config->values, sizeof config->values))
            return i;
    return ALL;
}

struct timed {
    int rank;
    double us;
};

static int by_rank(const void *a, const void *b)
{
    return ((const struct timed *) a)->rank - ((const struct timed *) b)->rank;
}

static void add_shape(struct timed *rows, int count, struct standing *all)
{
    double best = INFINITY, five = INFINITY;
    if (count < 10)
        return;
    qsort(rows, (size_t) count, sizeof *rows, by_rank);
    for (int i = 0; i < count; i++) {
        best = fmin(best, rows[i].us);
        five = i < 5 ? best : five;
    }
    all->first += rows[0].us / best - 1;
    all->five += five / best - 1;
    all->seen++;
}

static struct mmt_config read_row(const char *line, double *us)
{
    char words[512], schedule[16], cluster[8];
    int v[7];
    struct mmt_config config;

    CHECK_EQ_INT(sscanf(line, "%lf %d %d %d %d %d %15s %7s %d %d", us, &v[0], &v[1],
                        &v[2], &v[3], &v[4], schedule, cluster, &v[5], &v[6]),
                 10);
    snprintf(words, sizeof words,
             "wgmma SWAP=%d PACK_A=0 PACK_B=0 TILE_M=%d TILE_N=%d TILE_K_BYTES=128 "
             "STAGES=%d CONSUMERS=%d SCHEDULE=%s CLUSTER=%s CLUSTER_K=1 SPLIT_K=%d "
             "TILE_SCHEDULER=persistent RASTER_ORDER=rows RASTER_GROUP=8 WGMMA_PENDING=1 "
             "PROMOTE=0 EPILOGUE_STAGES=%d L2_PROMOTION=128 TRANSPOSE_IN_REGISTERS=0 "
             "OVERLAP_EPILOGUE=0",
             v[0], v[1], v[2], v[3], v[4], schedule, cluster, v[5], v[6]);
    CHECK_OK(mmt_config_parse(words, &config, &err), err);
    return config;
}

/* Half of the rows, about, are still named: the constants have changed since. */
static void test_order(const char *root)
{
    struct timed rows[64];
    struct standing all = { 0 };
    char path[4096], line[256];
    int count = 0, candidates = 0;

    snprintf(path, sizeof path, "%s/tests/data/times/h200_bf16_space.txt", root);
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL))
        return;
    while (fgets(line, sizeof line, file)) {
        int64_t m, n, k;
        if (sscanf(line, "shape %" SCNd64 " %" SCNd64 " %" SCNd64, &m, &n, &k) == 3) {
            char problem[128];
            mmt_problem p;
            add_shape(rows, count, &all);
            count = 0;
            snprintf(problem, sizeof problem,
                     "gemm bf16 nt %" PRId64 "x%" PRId64 "x%" PRId64, m, n, k);
            candidates = candidates_of(problem, &p, ALL);
        } else if (line[0] != '#') {
            const struct mmt_config config = read_row(line, &rows[count].us);
            rows[count].rank = rank_of(&config, candidates);
            count += rows[count].rank < ALL;
        }
    }
    add_shape(rows, count, &all);
    fclose(file);
    printf("%d shapes: the first is %.1f %% behind the best, the best of five %.1f %%\n",
           all.seen, 100 * all.first / all.seen, 100 * all.five / all.seen);
    CHECK(all.seen >= 60);
    CHECK(all.first / all.seen < 0.12);
    CHECK(all.five / all.seen < 0.04);
}

int main(void)
{
    const char *root = getenv("MMT_SOURCE_ROOT");
    h200 = hopper_caps(132);
    test_legal();
    test_little_waste();
    test_none();
    test_terms();
    test_order(root ? root : ".");
    return test_end("candidates");
}
