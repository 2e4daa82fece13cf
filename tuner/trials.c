#include <stdlib.h>
#include <string.h>

#include "tuner/data.h"
#include "tuner/trials.h"
#include "tuner/trials_rows.h"

enum { OUTSIDE = 0xff, GUARD = 0xa5 }; /* bytes; the first are a NaN in every float */

/* Where the elements of an operand are. */
struct layout {
    int64_t batch, rows, columns, ld, stride, extent;
};

static void widen(struct mmt_stored x, int64_t gap, int64_t *ld, int64_t *stride)
{
    bool exists = x.rows || x.cols;
    *ld = exists ? x.cols + gap : 0;
    *stride = exists ? x.rows * *ld + gap : 0;
}

static mmt_problem problem_of(const struct mmt_trial_shape *s, const mmt_problem *like)
{
    mmt_problem p = *like;

    p.m = s->m, p.n = s->n, p.k = s->k;
    p.batch = s->batch;
    widen(mmt_op_stored(&p, MMT_OPERAND_A), s->gap, &p.lda, &p.stride_a);
    widen(mmt_op_stored(&p, MMT_OPERAND_B), s->gap, &p.ldb, &p.stride_b);
    widen(mmt_op_stored(&p, MMT_OPERAND_C), s->gap, &p.ldc, &p.stride_c);
    if (s->shared_b)
        p.stride_b = 0;
    return p;
}

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
    int filler = flags & MMT_TRIAL_ZERO_GAPS ? 0 : OUTSIDE;
    struct mmt_stored stored_a = mmt_op_stored(p, MMT_OPERAND_A);
    struct mmt_stored stored_b = mmt_op_stored(p, MMT_OPERAND_B);
    bool random = flags & MMT_TRIAL_RANDOM;
    struct mmt_data data = { p->type, mmt_data_noise(seed, 1), random ? 0 : 3, 0 };
    if (random && p->type == MMT_TF32)
        data.type = MMT_F32; /* with bits that tf32 does not keep */
    struct layout a = { p->batch, stored_a.rows, stored_a.cols,
                        p->lda,   p->stride_a,   mmt_problem_extent_a(p) };
    struct layout b = {
        p->stride_b ? p->batch : 1, stored_b.rows, stored_b.cols, p->ldb, p->stride_b,
        mmt_problem_extent_b(p)
    };

    mmt_status status = make_image(&trial->a, &a, element, trial->offset, filler, err);
    if (status == MMT_OK)
        status = make_image(&trial->b, &b, element, trial->offset, filler, err);
    if (status == MMT_OK && !(flags & MMT_TRIAL_NO_A))
        fill_image(&trial->a, &a, &data);
    data.seed = mmt_data_noise(seed, 2);
    if (status == MMT_OK && !(flags & MMT_TRIAL_NO_B))
        fill_image(&trial->b, &b, &data);
    return status;
}

static mmt_status make_output(struct mmt_trial *trial, int flags, uint64_t seed,
                              mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_data data = { p->out, mmt_data_noise(seed, 3),
                             flags & MMT_TRIAL_RANDOM ? 0 : 3, 0 };
    struct mmt_stored stored = mmt_op_stored(p, MMT_OPERAND_C);
    struct layout c = { p->batch, stored.rows, stored.cols,
                        p->ldc,   p->stride_c, mmt_problem_extent_c(p) };

    mmt_status status =
        make_image(&trial->c, &c, mmt_type_size(p->out), trial->offset, GUARD, err);
    if (status != MMT_OK)
        return status;
    if (flags & MMT_TRIAL_POISON)
        fill_bytes(&trial->c, &c, mmt_type_size(p->out), OUTSIDE);
    else
        fill_image(&trial->c, &c, &data);
    if (flags & MMT_TRIAL_IN_PLACE)
        memcpy(trial->b.bytes, trial->c.bytes, trial->c.size);
    return MMT_OK;
}

/* NaN stands before and behind it. */
static mmt_status make_bias(struct mmt_trial *trial, int flags, uint64_t seed,
                            mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_data data = { p->out, mmt_data_noise(seed, 4),
                             flags & MMT_TRIAL_RANDOM ? 0 : 3, 0 };
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
    struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    struct mmt_answer *answer =
        malloc((size_t) (p->batch * c.rows * c.cols) * sizeof *answer);

    trial->answers = answer;
    if (!answer)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the answers of a test");
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++) {
                *answer = mmt_oracle_entry(&oracle, z, i, j);
                if (whole)
                    *answer = mmt_oracle_exact(p, *answer);
                answer++;
            }
    return MMT_OK;
}

/* What random data of a float are scaled by; whole numbers have none of that. */
static double scale(const struct mmt_trial_row *row, mmt_type type, double value)
{
    bool fraction = row->flags & MMT_TRIAL_RANDOM && !mmt_type_in(type, MMT_WHOLE_TYPES);
    return fraction ? value / 4 : value;
}

static mmt_status make_trial(const struct mmt_trial_row *row, const mmt_problem *like,
                             uint64_t seed, struct mmt_trial *trial, mmt_error *err)
{
    mmt_problem plain = problem_of(&row->shape, like);

    trial->check = row->check;
    trial->alpha = scale(row, like->type, row->alpha);
    trial->beta = scale(row, like->type, row->beta);
    trial->scalars = row->flags & MMT_TRIAL_SCALARS;
    trial->offset = row->flags & MMT_TRIAL_OFFSET;
    trial->in_place = row->flags & MMT_TRIAL_IN_PLACE;
    mmt_status status = mmt_problem_normalise(&plain, &trial->problem, err);
    if (status == MMT_OK)
        status = make_inputs(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_output(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_bias(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_answers(trial, !(row->flags & MMT_TRIAL_RANDOM), err);
    return status;
}

mmt_status mmt_trials_create(const mmt_problem *like, uint64_t seed,
                             struct mmt_trial **out, int *count, mmt_error *err)
{
    int num_rows;
    const struct mmt_trial_row *rows = mmt_trial_rows(like->op, &num_rows);
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
