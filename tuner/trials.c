#include <stdlib.h>
#include <string.h>

#include "tuner/data.h"
#include "tuner/trials.h"

enum { OUTSIDE = 0xff, GUARD = 0xa5 }; /* bytes; the first are a NaN in every float */

/* How a trial differs from a plain one: whole numbers; NaN wherever A and B end; in C,
 * what beta needs, or numbers that must vanish. */
enum {
    RANDOM = 1 << 0,    /* of any size, held to the error bound */
    POISON = 1 << 1,    /* C is NaN */
    NO_INPUT = 1 << 2,  /* A and B are NaN */
    ZERO_GAPS = 1 << 3, /* 0, not NaN, wherever A and B end */
    OFFSET = 1 << 4,
    SCALARS = 1 << 5,
};

struct shape {
    int64_t m, n, k, gap, batch;
    bool shared_b;
};

static const struct shape tiles = { 256, 256, 64, 0, 1, false };
static const struct shape odd = { 261, 133, 70, 3, 1, false };
static const struct shape row = { 1, 131, 65, 0, 1, false };
static const struct shape column = { 131, 1, 65, 0, 1, false };
static const struct shape k3 = { 67, 45, 3, 8, 1, false };
static const struct shape k1 = { 35, 52, 1, 8, 1, false };
static const struct shape k0 = { 19, 23, 0, 8, 1, false };
static const struct shape three = { 40, 36, 20, 8, 3, false };
static const struct shape shared = { 40, 36, 20, 8, 3, true };

static const struct row {
    const char *check;
    const struct shape *shape;
    double alpha, beta;
    int flags;
} rows[] = {
    { "integers", &tiles, 1, 0, 0 },
    { "poison", &tiles, 1, 0, POISON },
    { "beta", &tiles, 1, -1, 0 },
    { "alpha", &tiles, 2, 0, 0 },
    { "scalars", &tiles, 2, -1, SCALARS },
    { "alpha zero", &tiles, 0, 2, NO_INPUT },
    { "alpha zero", &tiles, 0, 2, NO_INPUT | SCALARS },
    { "offset", &tiles, 1, 1, OFFSET },
    { "edges", &odd, 2, -1, ZERO_GAPS },
    { "gaps", &odd, 1, 1, 0 },
    { "random", &odd, 3, -5, RANDOM },
    { "thin", &row, 1, 0, POISON },
    { "thin", &column, 1, 1, 0 },
    { "short k", &k3, 2, 1, 0 },
    { "short k", &k1, 1, 0, POISON },
    { "short k", &k0, 1, 2, 0 },
    { "short k", &k0, 1, 0, POISON },
    { "batch", &three, 1, 1, 0 },
    { "batch", &shared, 1, 0, POISON },
};

static mmt_problem problem_of(const struct shape *s, const mmt_problem *like)
{
    mmt_problem p = *like;

    p.m = s->m, p.n = s->n, p.k = s->k;
    p.lda = (p.trans_a ? s->m : s->k) + s->gap;
    p.ldb = (p.trans_b ? s->k : s->n) + s->gap;
    p.ldc = s->n + s->gap;
    p.batch = s->batch;
    p.stride_a = (p.trans_a ? s->k : s->m) * p.lda + s->gap;
    p.stride_b = s->shared_b ? 0 : (p.trans_b ? s->n : s->k) * p.ldb + s->gap;
    p.stride_c = s->m * p.ldc + s->gap;
    return p;
}

/* Where the elements of an operand are. */
struct layout {
    int64_t batch, rows, columns, ld, stride, extent;
};

static mmt_status make_image(struct mmt_image *image, const struct layout *layout,
                             size_t element, bool offset, int filler, mmt_error *err)
{
    image->start = MMT_TRIAL_GUARD + (offset ? element : 0);
    image->end = image->start + (size_t) layout->extent * element;
    image->size = image->end + MMT_TRIAL_GUARD;
    image->bytes = malloc(image->size);
    if (!image->bytes)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for %zu bytes of test data", image->size);
    memset(image->bytes, filler, image->size);
    return MMT_OK;
}

/* Writes the elements and leaves what is between them. */
static void fill_image(struct mmt_image *image, const struct layout *layout,
                       const struct mmt_data *data)
{
    size_t element = mmt_type_size(data->type);
    uint64_t index = 0;

    for (int64_t z = 0; z < layout->batch; z++)
        for (int64_t i = 0; i < layout->rows; i++) {
            int64_t place = z * layout->stride + i * layout->ld;
            mmt_data_fill(data, index,
                          image->bytes + image->start + (size_t) place * element,
                          (size_t) layout->columns);
            index += (uint64_t) layout->columns;
        }
}

static void fill_bytes(struct mmt_image *image, const struct layout *layout,
                       size_t element, int byte)
{
    for (int64_t z = 0; z < layout->batch; z++)
        for (int64_t i = 0; i < layout->rows; i++) {
            int64_t place = z * layout->stride + i * layout->ld;
            memset(image->bytes + image->start + (size_t) place * element, byte,
                   (size_t) layout->columns * element);
        }
}

static mmt_status make_inputs(struct mmt_trial *trial, int flags, uint64_t seed,
                              mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    size_t element = mmt_type_size(p->type);
    int filler = flags & ZERO_GAPS ? 0 : OUTSIDE;
    struct mmt_data data = { p->type, mmt_data_noise(seed, 1), flags & RANDOM ? 0 : 3,
                             0 };
    struct layout a = {
        p->batch,    p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, p->lda,
        p->stride_a, mmt_problem_extent_a(p)
    };
    struct layout b = { p->stride_b ? p->batch : 1,
                        p->trans_b ? p->n : p->k,
                        p->trans_b ? p->k : p->n,
                        p->ldb,
                        p->stride_b,
                        mmt_problem_extent_b(p) };

    mmt_status status = make_image(&trial->a, &a, element, trial->offset, filler, err);
    if (status == MMT_OK)
        status = make_image(&trial->b, &b, element, trial->offset, filler, err);
    if (status != MMT_OK || flags & NO_INPUT)
        return status;
    fill_image(&trial->a, &a, &data);
    data.seed = mmt_data_noise(seed, 2);
    fill_image(&trial->b, &b, &data);
    return MMT_OK;
}

static mmt_status make_output(struct mmt_trial *trial, int flags, uint64_t seed,
                              mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_data data = { p->out, mmt_data_noise(seed, 3), flags & RANDOM ? 0 : 3, 0 };
    struct layout c = {
        p->batch, p->m, p->n, p->ldc, p->stride_c, mmt_problem_extent_c(p)
    };

    mmt_status status =
        make_image(&trial->c, &c, mmt_type_size(p->out), trial->offset, GUARD, err);
    if (status != MMT_OK)
        return status;
    if (flags & POISON)
        fill_bytes(&trial->c, &c, mmt_type_size(p->out), OUTSIDE);
    else
        fill_image(&trial->c, &c, &data);
    return MMT_OK;
}

/* NaN stands before and behind it. */
static mmt_status make_bias(struct mmt_trial *trial, int flags, uint64_t seed,
                            mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_data data = { p->out, mmt_data_noise(seed, 4), flags & RANDOM ? 0 : 3, 0 };
    int64_t count = p->bias == MMT_BIAS_ROW ? p->m : p->bias ? p->n : 0;
    struct layout bias = { 1, 1, count, count, 0, count };

    mmt_status status = make_image(&trial->bias, &bias, mmt_type_size(p->out),
                                   trial->offset, OUTSIDE, err);
    if (status == MMT_OK)
        fill_image(&trial->bias, &bias, &data);
    return status;
}

static mmt_status make_answers(struct mmt_trial *trial, bool whole, mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_oracle oracle = { p,
                                 trial->alpha,
                                 trial->beta,
                                 trial->a.bytes + trial->a.start,
                                 trial->b.bytes + trial->b.start,
                                 trial->c.bytes + trial->c.start,
                                 trial->bias.bytes + trial->bias.start };
    struct mmt_answer *answer =
        malloc((size_t) (p->batch * p->m * p->n) * sizeof *answer);

    trial->answers = answer;
    if (!answer)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the answers of a test");
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                *answer = mmt_oracle_entry(&oracle, z, i, j);
                if (whole)
                    *answer = mmt_oracle_exact(p, *answer);
                answer++;
            }
    return MMT_OK;
}

/* What random data of a float are scaled by; whole numbers have none of that. */
static double scale(const struct row *row, mmt_type type, double value)
{
    bool fraction = row->flags & RANDOM && !mmt_type_in(type, MMT_WHOLE_TYPES);
    return fraction ? value / 4 : value;
}

static mmt_status make_trial(const struct row *row, const mmt_problem *like,
                             uint64_t seed, struct mmt_trial *trial, mmt_error *err)
{
    mmt_problem plain = problem_of(row->shape, like);

    trial->check = row->check;
    trial->alpha = scale(row, like->type, row->alpha);
    trial->beta = scale(row, like->type, row->beta);
    trial->scalars = row->flags & SCALARS;
    trial->offset = row->flags & OFFSET;
    mmt_status status = mmt_problem_normalise(&plain, &trial->problem, err);
    if (status == MMT_OK)
        status = make_inputs(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_output(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_bias(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_answers(trial, !(row->flags & RANDOM), err);
    return status;
}

mmt_status mmt_trials_create(const mmt_problem *like, uint64_t seed,
                             struct mmt_trial **out, int *count, mmt_error *err)
{
    int num_rows = sizeof rows / sizeof rows[0];
    struct mmt_trial *trials = calloc((size_t) num_rows, sizeof *trials);
    mmt_status status = MMT_OK;

    if (!trials)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the tests of a kernel");
    for (int i = 0; i < num_rows && status == MMT_OK; i++)
        status = make_trial(&rows[i], like, mmt_data_noise(seed, (uint64_t) i),
                            &trials[i], err);
    if (status != MMT_OK) {
        mmt_trials_free(trials, num_rows);
        return status;
    }
    *out = trials;
    *count = num_rows;
    return MMT_OK;
}

void mmt_trials_free(struct mmt_trial *trials, int count)
{
    for (int i = 0; i < count && trials; i++) {
        free(trials[i].a.bytes);
        free(trials[i].b.bytes);
        free(trials[i].c.bytes);
        free(trials[i].bias.bytes);
        free(trials[i].answers);
    }
    free(trials);
}
