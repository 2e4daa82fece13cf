/* Which checks a configuration meets: each row of an operation's table must find a shape
 * that the configuration serves, whatever the template refuses. Nothing is executed. */
#include <string.h>

#include "device/device.h"
#include "tests/support/device.h"
#include "tests/support/test.h"
#include "tuner/verify/data.h"
#include "tuner/verify/trials.h"

enum { SAMPLES = 5, MOST_DRAWS = 400 };

struct tally {
    int configurations, fit, idle, none;
};

/* Only batches of what serves one product alone, and operands off any alignment of what
 * has no specialisation for them, may be passed over. */
static void check_idle(const struct mmt_trial_row *row)
{
    const bool batch = row->shape.batch > 1, offset = row->flags & MMT_TRIAL_OFFSET;
    CHECK(batch || offset);
}

static void tell(const char *what, const struct mmt_trial_row *row,
                 const struct mmt_config *config, const mmt_problem *like)
{
    SCOPED_TEXT text = { 0 };
    mmt_config_print(config, &text);
    mmt_text_add(&text, ", like ");
    mmt_problem_print(like, &text);
    printf("%s: %s (row %d): %s\n", what, row->check,
           (int) (row - mmt_trial_rows(like->op, &(int){ 0 })), mmt_text_string(&text));
}

static void try_rows(const struct mmt_config *config, const mmt_problem *like,
                     const struct mmt_caps *caps, struct tally *tally)
{
    int count;
    const struct mmt_trial_row *rows = mmt_trial_rows(like->op, &count);

    tally->configurations++;
    for (int i = 0; i < count; i++) {
        mmt_problem problem;
        if (!mmt_trial_concerns(&rows[i], like, caps->kind == MMT_CPU))
            continue;
        switch (mmt_trial_fit(&rows[i], config, like, caps, &problem)) {
        case MMT_FIT:
            tally->fit++;
            CHECK(mmt_config_check_problem(config, &problem, caps) == NULL);
            break;
        case MMT_FIT_IDLE:
            tally->idle++;
            check_idle(&rows[i]);
            break;
        case MMT_FIT_NONE:
            tally->none++;
            tell("no shape", &rows[i], config, like);
        }
    }
}

/* Whether any problem of that kind could be planned with it. */
static bool is_legal(const struct mmt_config *config, const mmt_problem *like,
                     const struct mmt_caps *caps)
{
    struct mmt_variant variant = mmt_variant_of(like, true);
    const struct mmt_trial_row *first = mmt_trial_rows(like->op, &(int){ 0 });
    mmt_problem problem;
    return !mmt_config_check_device(config, &variant, caps) &&
           mmt_trial_fit(first, config, like, caps, &problem) != MMT_FIT_NONE;
}

static void try_template(const struct mmt_template *template, const mmt_problem *like,
                         const struct mmt_caps *caps, struct tally *tally)
{
    const uint64_t size = mmt_space_size(template);
    int found = 0;

    for (int i = 0; i < template->num_seeds; i++) {
        struct mmt_config config = { .template = template };
        memcpy(config.values, template->seeds[i], sizeof template->seeds[i]);
        if (is_legal(&config, like, caps))
            try_rows(&config, like, caps, tally);
    }
    for (int i = 0; i < MOST_DRAWS && found < SAMPLES; i++) {
        struct mmt_config config;
        mmt_space_at(template, mmt_data_noise(7, (uint64_t) i) % size, &config);
        if (!is_legal(&config, like, caps))
            continue;
        found++;
        try_rows(&config, like, caps, tally);
    }
}

/* All transposes of a type in turn, one for each template, so that every pair is met. */
static void try_device(const struct mmt_caps *caps)
{
    int turn = 0;
    for (int i = 0; mmt_templates[i]; i++) {
        const struct mmt_template *template = mmt_templates[i];
        struct tally tally = { 0 };
        for (int type = 0; type < MMT_NUM_TYPES; type++, turn++) {
            const bool transposes = mmt_op_row(template->op)->transposes;
            mmt_problem like = mmt_op_problem(template->op, (mmt_type) type, 40, 40, 40);
            if (!(template->types >> type & 1) || !(template->dialects & caps->dialect))
                continue;
            like.trans_a = transposes && turn & 1;
            like.trans_b = transposes && turn & 2;
            CHECK(mmt_problem_normalise(&like, &like, NULL) == MMT_OK);
            try_template(template, &like, caps, &tally);
        }
        if (!tally.configurations)
            continue;
        printf("%-12s %-10s %4d configurations, %5d checks, %3d idle, %d cannot be run\n",
               caps->name, template->name, tally.configurations, tally.fit, tally.idle,
               tally.none);
        CHECK(tally.fit > 0);
        CHECK_EQ_INT(tally.none, 0);
    }
}

static void try_card(const char *name)
{
    SCOPED_DEVICE *device = open_device(name);
    struct mmt_caps caps = *mmt_device_caps(device);
    snprintf(caps.name, sizeof caps.name, "%s", name);
    try_device(&caps);
}

/* A CPU through OpenCL, and a GPU whose work-groups have 256 threads. */
static void try_opencl(enum mmt_kind kind, unsigned most_threads)
{
    struct mmt_caps caps = {
        .backend = "opencl",
        .dialect = MMT_OPENCL_C,
        .kind = kind,
        .f64 = true,
        .max_threads = most_threads,
        .max_block = { most_threads, most_threads, most_threads },
        .shared = kind == MMT_CPU ? 2 << 20 : 32 << 10,
        .sms = kind == MMT_CPU ? 2 : 40,
        .warp = kind == MMT_CPU ? 1 : 64,
        .vector_bytes = kind == MMT_CPU ? 32 : 0,
        .memory = (size_t) 8 << 30,
    };
    snprintf(caps.name, sizeof caps.name, "%s",
             kind == MMT_CPU ? "opencl cpu" : "opencl 256");
    try_device(&caps);
}

int main(void)
{
    try_card("null:sm_80");
    try_card("null:sm_90");
    try_opencl(MMT_CPU, 4096);
    try_opencl(MMT_GPU, 256);
    return test_end("trials");
}
