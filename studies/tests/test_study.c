/* What the studies compute without a device: bank conflicts, the papers' own figures by
 * their own formulas, a model of time learnt from a known one, claims. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "examples/dense/sizes.h"
#include "examples/pyramids.h"
#include "studies/banks.h"
#include "studies/claims.h"
#include "studies/cpu.h"
#include "studies/longvector.h"
#include "studies/papers.h"
#include "studies/phases.h"
#include "studies/study.h"

/* Tiles of 32 x 32 take 32 turns, or one; a pad that keeps 16 bytes aligned, and reads of
 * one element, a few. */
static void check_banks(void)
{
    static const struct {
        const char *layout;
        int tile;
        size_t element;
        int turns;
    } all[] = {
        { "plain", 32, 4, 32 },      { "pad", 32, 4, 1 },
        { "swap", 32, 4, 1 },        { "pad_both", 32, 4, 1 },
        { "pad_aligned", 32, 4, 4 }, { "swizzle", 32, 4, 1 },
        { "plain", 32, 8, 16 }, /* half a warp at a time */
        { "pad", 32, 8, 1 },         { "swap", 32, 8, 1 },
        { "pad_aligned", 32, 8, 2 }, { "swizzle", 32, 8, 1 },
        { "plain", 16, 4, 8 },       { "pad", 16, 4, 1 },
        { "swizzle", 16, 4, 1 },     { "plain", 8, 4, 2 },
        { "swizzle", 8, 4, 1 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK_EQ_INT(mmt_bank_turns(all[i].layout, all[i].tile, all[i].element),
                     all[i].turns);
}

/* The last decimal that is printed of a number: 0.01 of 1.53. */
static double last_decimal(double printed)
{
    char text[32];
    snprintf(text, sizeof text, "%.12g", printed);
    const char *point = strchr(text, '.');
    return pow(10, point ? -(double) strlen(point + 1) : 0);
}

/* The printed R and P lie between what the printed time gives and what it gives with one
 * more in its last decimal, as times that were cut do. What does not is known as in
 * doubt.
 */
static void check_rates(void)
{
    int count, tried = 0, outside = 0;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);

    for (int i = 0; i < count; i++) {
        const struct mmt_paper_row *row = &rows[i];
        if (row->seconds <= 0 || row->gflops <= 0)
            continue;
        double n = (double) row->n, half = last_decimal(row->gflops) / 2;
        double longest = row->seconds + last_decimal(row->seconds);
        bool fits = row->gflops > (2 * n * n * n - n * n) / longest * 1e-9 - half &&
                    row->gflops < 2 * n * n * n / row->seconds * 1e-9 + half;
        CHECK(fits || row->doubt);
        outside += !fits;
        tried++;
    }
    CHECK_EQ_INT(tried, 48);
    CHECK_EQ_INT(outside, 9);
}

static int count_doubts(enum mmt_grade grade)
{
    int count, found = 0;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);
    for (int i = 0; i < count; i++)
        found += rows[i].doubt && rows[i].doubt->grade == grade;
    return found;
}

static const struct mmt_paper_row *padded_row(const char *device, int64_t n)
{
    return mmt_paper_find(&(struct mmt_paper_row){
        .device = device, .type = MMT_F32, .algorithm = "shared_padded", .n = n });
}

/* What is impossible or doubtful is compared with nothing, what is surprising is: that
 * padding is slow on one card and fast on the other is what the paper found. */
static void check_doubts(void)
{
    const struct mmt_paper_row *lost =
        mmt_paper_find(&(struct mmt_paper_row){ .where = "Table 2",
                                                .api = "opencl",
                                                .type = MMT_F32,
                                                .algorithm = "col_cached",
                                                .n = 512 });

    CHECK_EQ_INT(count_doubts(MMT_IMPOSSIBLE), 13);
    CHECK_EQ_INT(count_doubts(MMT_DOUBTFUL), 15);
    CHECK_EQ_INT(count_doubts(MMT_SURPRISING), 17);
    CHECK(mmt_paper_time_doubt(lost) && lost->doubt->reading);
    CHECK(!mmt_paper_rate_doubt(lost)); /* 7.5 GFLOP/s stays right */
    CHECK(!mmt_paper_time_doubt(padded_row("NVIDIA GeForce GTX 1060 6 GB", 2048)));
    CHECK(mmt_paper_time_doubt(padded_row("NVIDIA Quadro K5000 4 GB", 512)));
    CHECK(!mmt_paper_find(&(struct mmt_paper_row){ .paper = "gts250", .n = 777 }));
}

/* The speed-ups of the GTS 250 paper are over its other kernel, not over the CPU. */
static void check_speed_ups(void)
{
    int count, speed_ups = 0;
    const struct mmt_paper_row *rows = mmt_paper_rows(&count);

    CHECK(count == 166);
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i].where, "Table 4 and Table 5"))
            continue;
        struct mmt_paper_row wanted = { .paper = "gts250",
                                        .api = "cuda",
                                        .type = MMT_F32,
                                        .algorithm = "naive",
                                        .n = rows[i].n };
        double classical = mmt_paper_find(&wanted)->seconds;
        wanted.algorithm = "tiled";
        CHECK(fabs(classical / mmt_paper_find(&wanted)->seconds / rows[i].other - 1) <
              1e-8);
        CHECK(mmt_paper_time_doubt(&rows[i]));
        speed_ups++;
    }
    CHECK_EQ_INT(speed_ups, 4);
}

/* All layouts give the same product, whole numbers wrapping as they must. */
static void check_cpu(void)
{
    enum { N = 7 };
    uint32_t a[N * N], b[N * N], at[N * N], bt[N * N], c[N * N], first[N * N], room[N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            at[j * N + i] = a[i * N + j] = (uint32_t) i * 715827883u + (uint32_t) j;
            bt[j * N + i] = b[i * N + j] = (uint32_t) i - (uint32_t) j * 1431655765u;
        }
    mmt_cpu_gemm(MMT_I32, MMT_CPU_AB, N, a, b, first, room);
    CHECK(first[1] == a[0] * b[1] + a[1] * b[N + 1] + a[2] * b[2 * N + 1] +
                          a[3] * b[3 * N + 1] + a[4] * b[4 * N + 1] +
                          a[5] * b[5 * N + 1] + a[6] * b[6 * N + 1]);
    mmt_cpu_gemm(MMT_I32, MMT_CPU_ATB, N, at, b, c, room);
    CHECK(!memcmp(c, first, sizeof c));
    mmt_cpu_gemm(MMT_I32, MMT_CPU_ABT, N, a, bt, c, room);
    CHECK(!memcmp(c, first, sizeof c));
    mmt_cpu_gemm(MMT_I32, MMT_CPU_BUFFERED, N, a, b, c, room);
    CHECK(!memcmp(c, first, sizeof c));
}

/* semenenko's data, a_ij = i + j and b_ij = i - j from 1 on, have a closed form, which
 * tells A B from B A. */
static void check_closed_form(void)
{
    enum { N = 37 };
    double a[N * N], b[N * N], c[N * N], room[N];
    for (int i = 0; i < N * N; i++) {
        a[i] = i / N + i % N + 2;
        b[i] = i / N - i % N;
    }
    for (int layout = 0; layout < 2; layout++) {
        mmt_cpu_gemm(MMT_F64, layout ? MMT_CPU_BUFFERED : MMT_CPU_AB, N, a, b, c, room);
        for (int at = 0; at < N * N; at++) {
            int i = at / N + 1, j = at % N + 1;
            CHECK(c[at] ==
                  N * (N + 1) * (2 * N + 1) / 6 + (i - j) * N * (N + 1) / 2 - N * i * j);
        }
    }
}

/* A launch that failed unseen takes no time; none takes longer than the host waits. */
static void check_doubt(void)
{
    struct mmt_phases phases = { .kernel = 1e-3, .marks = 0.9e-3 };
    CHECK(!*mmt_phases_doubt(&phases));
    phases.marks = 0;
    CHECK(!strcmp(mmt_phases_doubt(&phases), "no time passed"));
    phases.marks = 1.2e-3;
    CHECK(strstr(mmt_phases_doubt(&phases), "exceeds"));
}

/* What a paper prints of a curve is drawn in the curve's colour, and has one label; a
 * curve without measured points has these alone. */
static void check_printed(void)
{
    static const struct mmt_column columns[] = {
        { "curve", "", 0 }, { "n", "", 0 }, { "t", "ms", 3 }, { "printed", "ms", 3 }
    };
    const struct mmt_plot plot = { "a plot", 1, 2, { 0, -1 }, true, true, 3, "n, order" };
    char folder[] = "/tmp/mmtune-study-XXXXXX", path[64], text[8192] = "";
    struct mmt_table table = mmt_table_start("", columns, 4);
    mmt_table_add(&table, (struct mmt_cell[]){ MMT_WORD("ours"), MMT_NUMBER(8),
                                               MMT_NUMBER(0.5), MMT_NUMBER(0.25) });
    mmt_table_add(&table, (struct mmt_cell[]){ MMT_WORD("theirs"), MMT_NUMBER(16),
                                               MMT_NUMBER(NAN), MMT_NUMBER(4) });

    CHECK(mkdtemp(folder));
    CHECK_OK(mmt_plot_save(&table, &plot, folder, "p", &err), err);
    snprintf(path, sizeof path, "%s/p.gp", folder);
    FILE *file = fopen(path, "rb");
    CHECK(file && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    CHECK(strstr(text, "$curve1 << end\n8 0.5\nend\n$printed1 << end\n8 0.25\nend\n"
                       "$printed2 << end\n16 4\nend\n"));
    CHECK(strstr(text, "set xlabel 'n, order'"));
    CHECK(strstr(text, "set yrange [0.208333:4.8]")); /* both are within */
    CHECK(strstr(text, "$printed1 with points pt 6 ps 1.4 lw 1.5 lc rgb '#0072b2' "
                       "notitle"));
    CHECK(strstr(text, "$printed2 with points pt 6 ps 1.4 lw 1.5 lc rgb '#d55e00' "
                       "title 'theirs'"));
    CHECK(!strstr(text, "$curve2"));
    CHECK(strstr(text, "title 'hollow marks: as printed in the paper'"));
    remove(path);
    snprintf(path, sizeof path, "%s/p.svg", folder);
    remove(path);
    rmdir(folder);
    mmt_table_free(&table);
}

/* A claim that was measured has a figure and a verdict; one that was not has a reason. */
static void check_claims(void)
{
    static const struct mmt_claim claim = { "knuth", "page 1", "twice as fast",
                                            "2 times" };
    struct mmt_table claims = mmt_claims_start();

    mmt_claims_add(&claims, &claim, "cuda:0", true, "%.1f times", 2.1);
    mmt_claims_add(&claims, &claim, "cuda:0", false, "%.1f times", 1.1);
    mmt_claims_leave(&claims, &claim, "", "no size is %d", 512);
    mmt_claims_add(&claims, &claim, "cuda:0", MMT_WITHIN_NOISE, "%.1f times", 1.9);
    CHECK_EQ_INT(claims.num_rows, 4);
    for (int row = 0; row < 4; row++) {
        static const char *const figures[] = { "2.1 times", "1.1 times", "",
                                               "1.9 times" };
        static const char *const verdicts[] = { "holds", "does not hold", "not measured",
                                                "within the noise" };
        CHECK(!strcmp(mmt_table_cell(&claims, row, 3)->word, "2 times"));
        CHECK(!strcmp(mmt_table_cell(&claims, row, 5)->word, figures[row]));
        CHECK(!strcmp(mmt_table_cell(&claims, row, 6)->word, verdicts[row]));
        CHECK(!strcmp(mmt_table_cell(&claims, row, 7)->word,
                      row == 2 ? "no size is 512" : ""));
    }
    mmt_table_free(&claims);
    CHECK_EQ_INT(mmt_claims_judge(1.1, 0.05, 1, INFINITY), MMT_HOLDS);
    CHECK_EQ_INT(mmt_claims_judge(1.1, 0.2, 1, INFINITY), MMT_WITHIN_NOISE);
    CHECK_EQ_INT(mmt_claims_judge(0.9, 0.2, 1, INFINITY), MMT_WITHIN_NOISE);
    CHECK_EQ_INT(mmt_claims_judge(0.9, 0.05, 1, INFINITY), MMT_FAILS);
    CHECK_EQ_INT(mmt_claims_judge(2.4, 0.1, 1.6, 2.4), MMT_WITHIN_NOISE);
    CHECK_EQ_INT(mmt_claims_judge(2, 0.1, 1.6, 2.4), MMT_HOLDS);
    CHECK_EQ_INT(mmt_claims_judge(2, NAN, 2, 2), MMT_HOLDS); /* no known noise */
}

/* ---- longvector: a made-up device, whose times are known --------------------------- */

/* 4 us for a launch and `each` for a round of 6000 elements. Beyond 1 MB of three arrays
 * an operation takes longer, up to three times. `noise`: in turn less, none and more. */
static double true_seconds(double each, int64_t length, double noise)
{
    static int turn;
    double past = fmax(0, fmin(2, 12e-6 * (double) length - 1));
    double seconds = 4e-6 + each * ceil((double) length / 6000) * (1 + past);
    return seconds * (1 + (turn++ % 3 - 1) * noise);
}

/* The border takes a launch and 0.5 us for each of its rows. */
static struct mmt_vector_knot knot_of_grid(int64_t inner, double noise)
{
    int64_t first = mmt_scheme_first(inner), second = mmt_scheme_second(inner);
    return (struct mmt_vector_knot){
        .inner = inner,
        .vectors = true_seconds(2e-6, first, noise) + true_seconds(2e-6, second, noise) +
                   true_seconds(1e-6, second, noise),
        .border = 4e-6 + 0.5e-6 * (double) (inner + 1),
        .copies = 1e-5 + 1e-10 * 4 * pow((double) inner + 2, 2),
    };
}

static void check_vector_fit(void)
{
    struct mmt_vector_point points[MMT_VECTOR_POINTS];
    struct mmt_vector_costs costs = { 0 };
    int count = 0;

    for (double length = 64; length < 3e6 && count < MMT_VECTOR_POINTS; length *= 1.1)
        points[count++].length = (int64_t) length;
    for (int i = 0; i < count; i++)
        points[i].seconds = true_seconds(2e-6, points[i].length, 0.02);
    int inside = mmt_vector_fit(points, count, 4, 1000000, &costs);
    CHECK(inside < count && points[inside - 1].length * 12 < 800000 &&
          points[inside].length * 12 >= 800000);
    CHECK(fabs(costs.streams / 6000 - 1) < 0.03);
    CHECK(fabs(costs.kernel / 4e-6 - 1) < 0.05 && fabs(costs.add / 2e-6 - 1) < 0.05);

    for (int i = 0; i < count; i++) /* no launch, no rounds */
        points[i].seconds = 1e-9 * (double) points[i].length;
    CHECK(mmt_vector_fit(points, count, 4, 0, &costs) == count);
    CHECK(costs.kernel < 1e-6);
    CHECK(fabs(costs.add / costs.streams / 1e-9 - 1) < 0.05);
}

/* A large GPU: 5 us at any length to a million elements, then as the length. What its
 * cache holds (50 MB, as it says) shows no cost of length, and seems to fall with it. */
static double seconds_of_large(int64_t length, int turn)
{
    double noise = 1 + (turn % 3 - 1) * 0.05 - 1e-8 * fmin(1e6, (double) length);
    return 5e-6 * noise * fmax(1, (double) length * 1e-6);
}

static void check_vector_launch_bound(void)
{
    struct mmt_vector_point points[MMT_VECTOR_POINTS];
    struct mmt_vector_knot knots[MMT_VECTOR_KNOTS];
    struct mmt_vector_costs costs = { 0 };
    int count = 0, grids = 0;

    for (double length = 64; length < 5e7 && count < MMT_VECTOR_POINTS; length *= 1.12)
        points[count++].length = (int64_t) length;
    for (int i = 0; i < count; i++)
        points[i].seconds = seconds_of_large(points[i].length, i);
    CHECK(mmt_vector_fit(points, count, 4, 15000000, &costs) == count);
    CHECK(costs.add > 0 && costs.kernel >= 0);
    CHECK(fabs(costs.add / costs.streams / 5e-12 - 1) < 0.2);

    costs.saxpy = costs.add;
    for (double inner = 9; inner < 7200; inner *= 1.2) {
        double one = seconds_of_large(mmt_scheme_first((int64_t) inner), 1);
        knots[grids++] =
            (struct mmt_vector_knot){ (int64_t) inner, 3 * one, 5e-6, 1e-5 + one };
    }
    knots[0].border = 0; /* a coarse clock */
    mmt_vector_learn(&costs, knots, grids, 4);
    for (int i = 0; i < grids; i++)
        CHECK(costs.level.value[i] > 0.3 && costs.level.value[i] < 3);
    for (int64_t inner = 2; inner <= 7000; inner += 57) {
        double true_seconds = seconds_of_large(mmt_scheme_first(inner), 1),
               seconds = 50 * 3 * true_seconds;
        for (int levels = 0; levels < 2; levels++)
            CHECK(mmt_vector_predict(&costs, inner, 4, 50, levels) > 0.3 * seconds);
    }

    for (int i = 0; i < count; i++) /* nothing but launches, at all lengths */
        points[i].seconds = 5e-6 * (1 - 1e-9 * (double) points[i].length);
    mmt_vector_fit(points, count, 4, 0, &costs);
    CHECK(costs.kernel > 4e-6 && costs.kernel < 6e-6 && costs.add >= 0);
    costs.saxpy = costs.add;
    mmt_vector_learn(&costs, knots, 1, 4);
    CHECK(mmt_vector_predict(&costs, 7000, 4, 50, false) > 0);
}

/* Any beginning of the order is spread over all. */
static void check_spread(void)
{
    int order[100], seen[100] = { 0 };
    for (int count = 1; count <= 100; count += 9) {
        mmt_study_spread(count, order);
        CHECK(order[0] == count - 1);
        for (int i = 0; i < count; i++)
            CHECK(order[i] >= 0 && order[i] < count && ++seen[order[i]]);
        for (int i = 0; i < count; i++)
            CHECK(seen[i]-- == 1);
    }
    mmt_study_spread(100, order);
    for (int part = 0; part < 4; part++) { /* the first 8 reach every quarter */
        bool reached = false;
        for (int i = 0; i < 8; i++)
            reached |= order[i] / 25 == part;
        CHECK(reached);
    }
}

/* Grids that were not learnt from are predicted where memory is slower too, which the
 * paper's constants cannot. */
static void check_vector_levels(void)
{
    struct mmt_vector_costs costs = {
        .kernel = 4e-6, .add = 2e-6, .saxpy = 1e-6, .streams = 6000
    };
    struct mmt_vector_knot knots[MMT_VECTOR_KNOTS];
    double worst[2] = { 0 };
    int count = 0;

    for (double inner = 9; inner < 1200; inner *= 1.2)
        knots[count++] = knot_of_grid((int64_t) inner, 0.01);
    mmt_vector_learn(&costs, knots, count, 4);
    CHECK(costs.level.count == count);
    CHECK(fabs(costs.tau_fixed / 1e-5 - 1) < 0.01);
    CHECK(fabs(costs.tau_byte / 1e-10 - 1) < 0.01);
    for (int64_t inner = 10; inner <= 1000; inner += 7) {
        struct mmt_vector_knot truth = knot_of_grid(inner, 0);
        double seconds = truth.copies + 50 * (truth.vectors + truth.border);
        for (int levels = 0; levels < 2; levels++) {
            double model = mmt_vector_predict(&costs, inner, 4, 50, levels);
            worst[levels] = fmax(worst[levels], fabs(model / seconds - 1));
        }
    }
    CHECK(worst[1] < 0.05);
    CHECK(worst[0] > 0.3);

    mmt_vector_learn(&costs, knots, 1, 4); /* one grid's, everywhere */
    CHECK(isfinite(mmt_vector_predict(&costs, 500, 4, 50, true)));
}

/* ---- what programs may copy: pyramids, and the sizes of matrices --------------------
 */

static void check_pyramid_model(void)
{
    const struct pyramid_costs costs = { 2e-5, 2e-5, 1e-6 };
    const int64_t n = 400, r = 100, h = 12;
    double paper = 5 * ((3 * 100 - 2 * 12) * 2e-5 + 12 * (100 - 12 - 1) * 1e-6);

    CHECK_EQ_INT(pyramid_width(3 * n * n * 4 * r, n, 4), r);
    CHECK_EQ_INT(pyramid_width(3 * n * n * 4 * r - 1, n, 4), r - 1);
    CHECK_EQ_INT(pyramid_width(INT64_MAX, n, 4), n);
    CHECK_EQ_INT(pyramid_blocks(n, r, h), 5); /* (400 - 24) / 76 is 4.95 */
    CHECK(fabs(pyramid_seconds(&costs, n, r, h) / paper - 1) < 1e-12); /* equation (2) */
    CHECK_EQ_INT(pyramid_blocks(n, n, 50), 1);
    CHECK(fabs(pyramid_seconds(&costs, n, n, 50) / (1200 * 2e-5 + 50 * 398 * 1e-6) - 1) <
          1e-12);
}

/* The least T / h of the heights that are tried, which are those of the paper. */
static void check_pyramid_choice(void)
{
    const struct pyramid_costs copies = { 2e-5, 1e-5, 1e-7 },
                               sweeps = { 1e-7, 1e-7, 1e-5 };
    const int64_t n = 400, memory = 3 * n * n * 8 * 100;
    int64_t heights[PYRAMID_HEIGHTS];
    struct pyramids high, low;
    int count = pyramid_heights(n, 100, heights);

    CHECK(count >= 10 && heights[0] == 1 && heights[1] == 3);
    CHECK(heights[count - 1] < 40 && heights[count - 1] > 35);
    CHECK(pyramid_heights(n, 9, heights) == 3 && heights[2] == 4); /* 2h < 9 */
    CHECK(pyramid_heights(n, 4, heights) == 1);
    CHECK(build_pyramids(memory, n, 8, &copies, &high));
    CHECK(build_pyramids(memory, n, 8, &sweeps, &low));
    CHECK(high.height > low.height && high.width == 100 && low.width == 100);
    CHECK_EQ_INT(high.blocks, pyramid_blocks(n, 100, high.height));
    count = pyramid_heights(n, 100, heights);
    for (int i = 0; i < count; i++)
        CHECK(high.seconds / (double) high.height <=
              pyramid_seconds(&copies, n, 100, heights[i]) / (double) heights[i]);
    CHECK(!build_pyramids(9 * n * n * 8 - 1, n, 8, &copies, &low));
    CHECK(build_pyramids(9 * n * n * 8, n, 8, &copies, &low) && low.height == 1);
}

static void check_dense_sizes(void)
{
    const double gib = 1024.0 * 1024 * 1024;
    CHECK_EQ_INT(dense_paper_order(2), 1482880);
    CHECK_EQ_INT(dense_paper_order(3), 40960);
    CHECK_EQ_INT(dense_grid_order(), 2097120);
    CHECK_EQ_INT(dense_largest(3, 12 * gib), 23170);
    CHECK(!dense_plan_size(25000, 3, 12 * gib).fits);
    CHECK(fabs(dense_plan_size(25000, 3, 12 * gib).bytes_each / gib - 4.66) < 0.005);
}

int main(void)
{
    check_vector_fit();
    check_vector_launch_bound();
    check_vector_levels();
    check_spread();
    check_banks();
    check_rates();
    check_doubts();
    check_speed_ups();
    check_cpu();
    check_closed_form();
    check_doubt();
    check_printed();
    check_claims();
    check_pyramid_model();
    check_pyramid_choice();
    check_dense_sizes();
    return test_end("study");
}
