/* A profile with everything in it that a profile may have. */
#ifndef MMT_TESTS_FULL_PROFILE_H
#define MMT_TESTS_FULL_PROFILE_H

#include "profiles/profile.h"
#include "tests/support/test.h"

static TEST_UNUSED const struct mmt_caps full_caps = {
    .backend = "cuda",
    .name = "Testing \"Card\" \xc2\xb5 9000",
    .vendor = "Vendor",
    .architecture = "sm_90a",
    .driver = "580.65.06",
    .uuid = "01234567-89ab-cdef-0123-456789abcdef",
    .compiler = "nvrtc 13.0",
    .dialect = MMT_CUDA_CXX,
    .kind = MMT_GPU,
    .sm = 90,
    .f64 = true,
    .max_threads = 1024,
    .max_block = { 1024, 1023, 64 },
    .max_grid = { 2147483647, 65535, 65534 },
    .shared = 232448,
    .shared_per_sm = 233472,
    .registers = 65536,
    .registers_per_thread = 255,
    .registers_per_sm = 65537,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .sms = 132,
    .warp = 33,
    .subgroups = 24,
    .dpas = 8,
    .vector_bytes = 64,
    .cache = 62914560,
    .memory = (size_t) 150 << 30,
    .clock_khz = 1980000,
    .memory_rate = 4916736000001,
    .buffer_align = 256,
};

static const __typeof__(((struct mmt_profile *) 0)->made) all_made = {
    "0.1.0",
    "2026-01-02T03:04:05Z",
    UINT64_MAX,
    300,
    1,
    2,
    3,
    4,
    { 61, 1830, 1980, 3, "power cap" },
};

static TEST_UNUSED struct mmt_entry full_entry(const struct mmt_template *template,
                                               int which)
{
    mmt_problem asked = mmt_gemm_problem(MMT_F32, 100 + which, 200, 300);
    asked.trans_a = which & 1;
    asked.trans_b = which >> 1 & 1;
    asked.lda = 512;
    asked.batch = 1 + which;
    struct mmt_entry entry = {
        .config.template = template,
        .template_hash = "00112233445566778899aabbccddeeff",
        .time = { 123.456e-6 / (which + 1), 1.5e-6 / 3, 21 },
        .gflops = 1e5 / 3,
        .roofline = 2.0 / 3,
        .naive = 1e-3 / 7,
    };
    CHECK_OK(mmt_problem_normalise(&asked, &entry.problem, &err), err);
    memcpy(entry.config.values, template->seeds[0], sizeof(int) * template->num_knobs);
    if (which & 1)
        strcpy(entry.source, "another.json");
    struct mmt_hash hash;
    CHECK_OK(mmt_template_hash(template, &hash, &err), err);
    mmt_hash_print(hash, entry.template_hash);
    return entry;
}

/* Each template serves a part of m; the last up to 900. */
static TEST_UNUSED struct mmt_range full_range(int parts)
{
    mmt_problem asked = mmt_gemm_problem(MMT_BF16, 3, 200, 300);
    asked.trans_a = 1;
    asked.batch = 2;
    asked.stride_a = 3 * 300;
    asked.stride_b = 200 * 300;
    asked.out = MMT_F32;
    struct mmt_range range = { .num_segments = parts, .num_times = parts };
    CHECK_OK(mmt_problem_normalise(&asked, &range.problem, &err), err);
    for (int i = 0; i < parts; i++) {
        const struct mmt_entry entry = full_entry(mmt_templates[i], i);
        struct mmt_segment *segment = &range.segments[i];
        segment->config = entry.config;
        memcpy(segment->template_hash, entry.template_hash, sizeof entry.template_hash);
        segment->m_to = i + 1 < parts ? 10 * (i + 1) : 900;
        range.times[i] = (struct mmt_range_time){ 3 + i, 1e-6 * (i + 7) / 3, 1e-6 };
    }
    return range;
}

/* Of a family of several types, for the first or the second. */
static struct mmt_unlisted_kernel unlisted_kernel(const struct mmt_template *template,
                                                  int which)
{
    mmt_problem kind = mmt_gemm_problem(which % 2 ? MMT_F16 : MMT_BF16, 1, 1, 1);
    kind.trans_b = 1;
    struct mmt_unlisted_kernel kernel = { .family = MMT_BF16,
                                          .config.template = template,
                                          .right = mmt_kind_bit(&kind) };
    kind.trans_a = 1;
    kernel.right |= mmt_kind_bit(&kind);
    memcpy(kernel.config.values, template->seeds[0], sizeof(int) * template->num_knobs);
    return kernel;
}

/* Trees whose numbers all differ, and the last of each is the largest that may be. */
static struct mmt_model *a_model(mmt_type family, int trees)
{
    struct mmt_model *model = calloc(1, sizeof *model);
    *model = (struct mmt_model){ .family = family,
                                 .law = MMT_LAW_EDITION,
                                 .shapes = 300,
                                 .residual = 0.05,
                                 .heeded = 0.7,
                                 .num_trees = trees };
    mmt_model_name(model);
    for (int t = 0; t < trees; t++) {
        struct mmt_tree *tree = &model->trees[t];
        for (int i = 0; i < MMT_TREE_DEPTH; i++) {
            tree->feature[i] = (t + 5 * i) % MMT_NUM_FEATURES;
            tree->above[i] = (float) (i + 1) / (float) (t + 3);
        }
        for (int i = 0; i < MMT_TREE_LEAVES; i++)
            tree->leaf[i] = (float) (1e-3 * (i % 2 ? i + t : -i - 2 * t));
        tree->leaf[MMT_TREE_LEAVES - 1] = t % 2 ? 10 : -10;
    }
    return model;
}

static void add_model(struct mmt_profile *profile, mmt_type family, int trees)
{
    struct mmt_model *model = a_model(family, trees);
    CHECK_OK(mmt_profile_add_model(profile, model, &err), err);
    free(model);
}

static TEST_UNUSED struct mmt_profile *full_profile(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    profile->caps = full_caps;
    memcpy(&profile->made, &all_made, sizeof profile->made);
    profile->roofline.peak_flops[MMT_F32] = 60e12;
    profile->roofline.peak_flops[MMT_F64] = 30e12 / 7;
    profile->roofline.bandwidth = 4.1e12;
    profile->roofline.peak_spread[MMT_F64] = 0.03;
    profile->roofline.bandwidth_spread = 0.125;
    for (int t = 0; mmt_templates[t]; t++) {
        struct mmt_entry entry = full_entry(mmt_templates[t], t);
        struct mmt_unlisted_kernel kernel = unlisted_kernel(mmt_templates[t], t);
        CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
        CHECK_OK(mmt_profile_add_unlisted(profile, &kernel, &err), err);
    }
    for (int parts = 1; parts <= MMT_MOST_SEGMENTS; parts += MMT_MOST_SEGMENTS - 1) {
        const struct mmt_range range = full_range(parts);
        CHECK_OK(mmt_profile_add_range(profile, &range, &err), err);
    }
    add_model(profile, MMT_BF16, MMT_MOST_TREES);
    add_model(profile, MMT_F32, 0);
    profile->entries[0].yardstick =
        (struct mmt_yardstick){ "cuBLAS 12.8.4", "580.65.06", "2026-11-30T12:00:00Z",
                                3e-3 / 7,        2e-3 / 7,    0 };
    profile->entries[1].yardstick =
        (struct mmt_yardstick){ "OpenBLAS 0.3.26", "3.1", "", 1e-6, 2e-6 / 3, 1e-6 / 3 };
    struct mmt_pruning pruning = { MMT_F64, "simt", 0.75, 123 };
    CHECK_OK(mmt_profile_add_pruning(profile, &pruning, &err), err);
    return profile;
}

static TEST_UNUSED char *print_profile(const struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    CHECK_OK(mmt_profile_print(profile, &text, &err), err);
    return text.data;
}

#endif
