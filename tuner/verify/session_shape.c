/* Fills a session's operands on host and device, and computes the entries and sums that
 * answers are checked against. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/verify/session_internal.h"

enum { CHUNK = 8 << 20 }; /* bytes that are made and copied at a time */

static const size_t unknown_cache = (size_t) 64 << 20;
static const size_t most_on_cpu = (size_t) 1 << 30;

/* The streams of noise that a session draws on. */
enum {
    SEED_A = 101,
    SEED_B,
    SEED_WHOLE_A,
    SEED_WHOLE_B,
    SEED_WEIGHTS,
    SEED_SAMPLES,
    SEED_BIAS,
    SEED_WHOLE_BIAS,
};

static uint64_t seed_of(const struct mmt_session *session, int which)
{
    return mmt_data_noise(session->seed, (uint64_t) which);
}

static struct mmt_data random_of(const struct mmt_session *session, int which)
{
    return (struct mmt_data){ session->problem.type, seed_of(session, which), 0, 0 };
}

static struct mmt_data whole_of(const struct mmt_session *session, int which)
{
    return (struct mmt_data){ session->problem.type, seed_of(session, which),
                              session->whole, session->zeros };
}

static struct mmt_data bias_of(const struct mmt_session *session, int which, int whole)
{
    return (struct mmt_data){ session->problem.out, seed_of(session, which), whole, 0 };
}

static int64_t length_of_bias(const mmt_problem *p)
{
    return p->bias == MMT_BIAS_M ? p->m : p->bias == MMT_BIAS_N ? p->n : 0;
}

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static mmt_status no_memory(size_t bytes, mmt_error *err)
{
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu bytes of test data",
                    bytes);
}

/* ---- filling --------------------------------------------------------------------- */

/* Device memory from the beginning of a stream, a whole number of its periods at a time:
 * one is like the other. */
static mmt_status fill_operand(mmt_device *device, mmt_operand to,
                               const struct mmt_data *data, size_t bytes, mmt_error *err)
{
    size_t element = mmt_type_size(data->type), period = MMT_DATA_PERIOD * element;
    size_t chunk = CHUNK > period ? CHUNK / period * period : period;
    size_t step = bytes < chunk ? bytes : chunk;
    mmt_status status = MMT_OK;
    void *elements = malloc(step);

    if (!elements)
        return no_memory(step, err);
    mmt_data_fill(data, 0, elements, step / element);
    for (size_t done = 0; done < bytes && status == MMT_OK; done += step) {
        size_t now = bytes - done < step ? bytes - done : step;
        mmt_operand place = { to.handle, to.offset + done };
        status = mmt_buffer_write(device, place, elements, now, err);
    }
    free(elements);
    return status;
}

/* How often a set of operands fits twice into the last-level cache, but once at least,
 * and within a quarter of the memory. */
static int count_copies(const struct mmt_session *session, size_t set)
{
    const struct mmt_caps *caps = mmt_device_caps(session->device);
    size_t cache = caps->cache ? caps->cache : unknown_cache;
    size_t most = caps->memory / 4;

    if (caps->kind == MMT_CPU && most > most_on_cpu)
        most = most_on_cpu;
    size_t copies = (2 * cache + set - 1) / set;
    if (most && copies > most / set)
        copies = most / set;
    return copies ? (int) copies : 1;
}

static void free_copies(mmt_device *device, struct mmt_copies *copies)
{
    if (copies->memory.handle)
        mmt_buffer_free(device, copies->memory);
    *copies = (struct mmt_copies){ 0 };
}

/* Makes and fills the copies of one operand, with room to move it by less than 16 bytes;
 * memory that is there already has the same in it, from the beginning. */
static mmt_status make_copies(struct mmt_session *session, struct mmt_copies *copies,
                              size_t bytes, size_t guard, const struct mmt_data *data,
                              mmt_error *err)
{
    const size_t pitch = round_up(bytes + 16, 256);
    const size_t size = pitch * (size_t) session->copies + 2 * guard;
    mmt_status status = MMT_OK;

    if (size > copies->size) {
        free_copies(session->device, copies);
        status = mmt_buffer_create(session->device, size, &copies->memory, err);
        if (status == MMT_OK)
            status = fill_operand(session->device, copies->memory, data, size, err);
        copies->size = size;
    }
    copies->first = guard;
    copies->pitch = pitch;
    return status;
}

static mmt_status make_sets(struct mmt_session *session, const size_t bytes[3],
                            mmt_error *err)
{
    struct mmt_data data_a = random_of(session, SEED_A);
    struct mmt_data data_b = random_of(session, SEED_B);

    mmt_status status = make_copies(session, &session->a, bytes[0], 0, &data_a, err);
    if (status == MMT_OK)
        status = make_copies(session, &session->b, bytes[1], 0, &data_b, err);
    if (status == MMT_OK)
        status =
            make_copies(session, &session->c, bytes[2], MMT_SHAPE_GUARD, &data_a, err);
    return status;
}

/* Others may use the device, too: where its memory does not suffice, what was taken over
 * makes room, and then fewer sets do. */
static mmt_status make_operands(struct mmt_session *session, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    size_t set = 0;
    size_t elements[3] = { mmt_type_size(p->type), mmt_type_size(p->type),
                           mmt_type_size(p->out) };
    int64_t extents[3] = { mmt_problem_extent_a(p), mmt_problem_extent_b(p),
                           mmt_problem_extent_c(p) };
    size_t bytes[3];

    for (int i = 0; i < 3; i++) {
        bytes[i] = (size_t) (extents[i] ? extents[i] : 1) * elements[i]; /* k may be 0 */
        set += round_up(bytes[i], 256);
    }
    bool taken_over = session->a.memory.handle != 0;
    session->copies = count_copies(session, set);
    mmt_status status = make_sets(session, bytes, err);
    while (status == MMT_ERROR_MEMORY && (taken_over || session->copies > 1)) {
        free_copies(session->device, &session->a);
        free_copies(session->device, &session->b);
        free_copies(session->device, &session->c);
        session->copies = taken_over ? session->copies : session->copies / 2;
        taken_over = false;
        status = make_sets(session, bytes, err);
    }
    if (status != MMT_OK)
        return status;
    session->back_size = bytes[2] + 2 * MMT_SHAPE_GUARD;
    session->back = malloc(session->back_size);
    return session->back ? MMT_OK : no_memory(session->back_size, err);
}

/* ---- entries whose answer is known ----------------------------------------------- */

static int64_t at_random(uint64_t seed, uint64_t index, int64_t below)
{
    return (int64_t) (mmt_data_noise(seed, index) % (uint64_t) below);
}

/* Above the diagonal stands nothing that is computed where only a triangle is. */
static void mirror_sample(const mmt_problem *p, struct mmt_sample *sample)
{
    if (sample->j < mmt_op_computed(p, sample->i))
        return;
    const int64_t i = sample->i;
    sample->i = sample->j;
    sample->j = i;
}

static void choose_samples(struct mmt_session *session)
{
    const mmt_problem *p = &session->problem;
    const struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    uint64_t seed = seed_of(session, SEED_SAMPLES);
    int count = 0;

    for (int64_t corner = 0; corner < 8; corner++)
        session->samples[count++] = (struct mmt_sample){
            .batch = corner & 4 ? p->batch - 1 : 0,
            .i = corner & 2 ? c.rows - 1 : 0,
            .j = corner & 1 ? c.cols - 1 : 0,
        };
    for (uint64_t i = 0; i < MMT_RANDOM_SAMPLES; i++)
        session->samples[count++] = (struct mmt_sample){
            .batch = at_random(seed, 3 * i, p->batch),
            .i = at_random(seed, 3 * i + 1, c.rows),
            .j = at_random(seed, 3 * i + 2, c.cols),
        };
    session->num_samples = count;
    for (int i = 0; i < count; i++)
        mirror_sample(p, &session->samples[i]);
}

/* A stream's elements in host memory; the caller frees them. */
static void *take_numbers(const struct mmt_data *data, int64_t count, mmt_error *err)
{
    size_t bytes = (size_t) (count ? count : 1) * mmt_type_size(data->type);
    void *elements = malloc(bytes);

    if (!elements)
        no_memory(bytes, err);
    else
        mmt_data_fill(data, 0, elements, (size_t) count);
    return elements;
}

/* After how many elements the operands begin anew in host memory; 0: they do not. */
static int64_t period_of(const struct mmt_session *session)
{
    return mmt_op_row(session->problem.op)->sums ? MMT_DATA_PERIOD : 0;
}

/* The same of an operand, up to its period and a part of a matrix: large ones would take
 * the host longer than the device. */
static void *take_operand(const struct mmt_session *session, const struct mmt_data *data,
                          int64_t count, mmt_error *err)
{
    int64_t most = period_of(session) + MMT_MATRIX_PART;
    return take_numbers(data, period_of(session) && count > most ? most : count, err);
}

/* A stream's elements in device memory. */
static mmt_status upload_data(mmt_device *device, const struct mmt_data *data,
                              int64_t count, mmt_operand *out, mmt_error *err)
{
    size_t bytes = (size_t) (count ? count : 1) * mmt_type_size(data->type);
    mmt_status status = mmt_buffer_create(device, bytes, out, err);
    if (status == MMT_OK)
        status = fill_operand(device, *out, data, bytes, err);
    return status;
}

static mmt_status make_bias(struct mmt_session *session, int which, int whole,
                            mmt_operand *out, mmt_error *err)
{
    struct mmt_data data = bias_of(session, which, whole);
    int64_t length = length_of_bias(&session->problem);

    return length ? upload_data(session->device, &data, length, out, err) : MMT_OK;
}

static mmt_status make_samples(struct mmt_session *session, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    struct mmt_data data_a = random_of(session, SEED_A),
                    data_b = random_of(session, SEED_B),
                    data_bias = bias_of(session, SEED_BIAS, 0);
    void *a = take_operand(session, &data_a, mmt_problem_extent_a(p), err);
    void *b = a ? take_operand(session, &data_b, mmt_problem_extent_b(p), err) : NULL;
    void *bias = b ? take_numbers(&data_bias, length_of_bias(p), err) : NULL;
    struct mmt_oracle oracle = {
        .problem = p,
        .alpha = 1,
        .beta = mmt_op_row(p->op)->beta,
        .a = a,
        .b = b,
        .bias = bias,
        .period = period_of(session),
    };

    if (bias) {
        choose_samples(session);
        for (int i = 0; i < session->num_samples; i++) {
            struct mmt_sample *s = &session->samples[i];
            s->answer = mmt_oracle_entry(&oracle, s->batch, s->i, s->j);
        }
    }
    free(a);
    free(b);
    free(bias);
    return bias ? MMT_OK : MMT_ERROR_MEMORY;
}

/* ---- Freivalds ------------------------------------------------------------------- */

/* Numbers, up to 3 in size, whose k products still sum up exactly, and C can hold. Where
 * even those of size 1 do not for certain, so many of them are made 0 that a sum beyond
 * what is exact is eight standard deviations away: 1 in 10^15. An activation that is no
 * straight line leaves no sums to look at. */
static void choose_whole(struct mmt_session *session)
{
    static const double rare = 8, part_of_ones = 2.0 / 3;
    const mmt_problem *p = &session->problem;
    bool sums = mmt_op_row(p->op)->sums && p->k;
    double k = sums ? (double) p->k : 1, bias = p->bias ? 3 : 0;
    double most = fmin(mmt_oracle_exact_below(p->type), mmt_number_whole(p->out)) - bias;
    double size = fmin(floor(sqrt(most / k)), 3);

    session->whole = size < 1 ? 1 : (int) size;
    session->zeros = 0;
    if (size < 1)
        session->zeros = fmax(1 - most / (rare * part_of_ones * sqrt(k)), 0);
    if (p->activation)
        session->whole = 0;
}

/* The elements of a stream from `first` on as a matrix. */
static struct mmt_matrix matrix_of(const struct mmt_session *session,
                                   const void *elements, int64_t first, int64_t rows,
                                   int64_t columns, int64_t ld)
{
    int64_t period = period_of(session);
    return (struct mmt_matrix){
        session->problem.type, elements, rows, columns, ld, first, period
    };
}

/* sums = A (B weights), for each matrix of the batch. `middle` has room for k numbers. */
static void multiply_weights(struct mmt_session *session, const void *a, const void *b,
                             uint64_t *middle)
{
    const mmt_problem *p = &session->problem;
    int64_t row, column;

    for (int64_t z = 0; z < p->batch; z++) {
        struct mmt_stored in_a = mmt_op_stored(p, MMT_OPERAND_A),
                          in_b = mmt_op_stored(p, MMT_OPERAND_B);
        struct mmt_matrix stored_a =
            matrix_of(session, a, z * p->stride_a, in_a.rows, in_a.cols, p->lda);
        struct mmt_matrix stored_b =
            matrix_of(session, b, z * p->stride_b, in_b.rows, in_b.cols, p->ldb);
        if (z == 0 || p->stride_b)
            mmt_oracle_multiply(&stored_b, p->trans_b, session->weights, 3, middle, &row,
                                &column);
        mmt_oracle_multiply(&stored_a, p->trans_a, middle, 3, session->sums + z * p->m,
                            &row, &column);
    }
}

/* The same of a symmetric product's lower triangle: A, and of B, which is A transposed,
 * as many columns as the row of C has. `middle` has room for 2 k numbers. */
static void multiply_triangle(struct mmt_session *session, const void *a,
                              uint64_t *middle)
{
    const mmt_problem *p = &session->problem;
    uint64_t *row_of_b = middle + p->k;
    int64_t row, column;

    for (int64_t z = 0; z < p->batch; z++) {
        memset(middle, 0, (size_t) p->k * sizeof *middle);
        for (int64_t i = 0; i < p->n; i++) {
            struct mmt_matrix line =
                matrix_of(session, a, z * p->stride_a + i * p->lda, 1, p->k, p->lda);
            mmt_oracle_multiply(&line, true, session->weights + i, 3, row_of_b, &row,
                                &column);
            for (int64_t l = 0; l < p->k; l++)
                middle[l] += row_of_b[l];
            mmt_oracle_multiply(&line, false, middle, 3, session->sums + z * p->n + i,
                                &row, &column);
        }
    }
}

/* What the bias adds to each row's sum. */
static void add_bias(struct mmt_session *session, const void *bias)
{
    const mmt_problem *p = &session->problem;
    int64_t length = length_of_bias(p);
    size_t element = mmt_type_size(p->out);
    uint64_t all = 0, of_columns = 0;

    for (int64_t j = 0; j < p->n; j++)
        all += session->weights[j];
    for (int64_t i = 0; i < length; i++) {
        const char *at = (const char *) bias + (size_t) i * element;
        uint64_t value = (uint64_t) (int64_t) mmt_number_read(p->out, at);
        if (p->bias == MMT_BIAS_N)
            of_columns += value * session->weights[i];
        for (int64_t z = 0; p->bias == MMT_BIAS_M && z < p->batch; z++)
            session->sums[z * p->m + i] += value * all;
    }
    for (int64_t i = 0; i < p->batch * p->m; i++)
        session->sums[i] += of_columns;
}

static mmt_status make_sums(struct mmt_session *session, const void *a, const void *b,
                            const void *bias, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    uint64_t seed = seed_of(session, SEED_WEIGHTS);
    const int64_t rows = mmt_op_stored(p, MMT_OPERAND_C).rows;
    size_t numbers = (size_t) (p->n + p->batch * rows + 2 * p->k);
    uint64_t *middle = malloc((2 * (size_t) p->k + 1) * sizeof *middle);

    session->weights = malloc((size_t) p->n * sizeof(uint64_t));
    session->sums = malloc((size_t) (p->batch * rows) * sizeof(uint64_t));
    if (!middle || !session->weights || !session->sums) {
        free(middle);
        return no_memory(numbers * sizeof(uint64_t), err);
    }
    /* Odd, so that one wrong entry in a row always shows. */
    for (int64_t j = 0; j < p->n; j++)
        session->weights[j] = mmt_data_noise(seed, (uint64_t) j) | 1;
    if (mmt_op_row(p->op)->lower)
        multiply_triangle(session, a, middle);
    else
        multiply_weights(session, a, b, middle);
    add_bias(session, bias);
    free(middle);
    return MMT_OK;
}

/* Every entry of C, where there are not so many sums to make. */
static mmt_status make_expected(struct mmt_session *session, const void *a, const void *b,
                                mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    const struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    const struct mmt_oracle oracle = {
        .problem = p,
        .alpha = 1,
        .beta = mmt_op_row(p->op)->beta,
        .a = a,
        .b = b,
        .period = period_of(session),
    };
    unsigned char *to = malloc(session->back_size);

    session->expected = to;
    if (!to)
        return no_memory(session->back_size, err);
    memset(to, 0xff, session->back_size);
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++) {
            size_t place = (size_t) (z * p->stride_c + i * p->ldc);
            unsigned char *row = to + MMT_SHAPE_GUARD + place * mmt_type_size(p->out);
            for (int64_t j = 0; j < c.cols; j++, row += mmt_type_size(p->out))
                mmt_number_write(p->out,
                                 (double) mmt_oracle_entry(&oracle, z, i, j).value, row);
        }
    return MMT_OK;
}

static mmt_status make_whole(struct mmt_session *session, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    int64_t size_a = mmt_problem_extent_a(p), size_b = mmt_problem_extent_b(p);

    choose_whole(session);
    if (!session->whole)
        return MMT_OK;
    struct mmt_data data_a = whole_of(session, SEED_WHOLE_A);
    struct mmt_data data_b = whole_of(session, SEED_WHOLE_B);
    struct mmt_data data_bias = bias_of(session, SEED_WHOLE_BIAS, 3);
    mmt_status status = MMT_ERROR_MEMORY;
    void *a = take_operand(session, &data_a, size_a, err);
    void *b = a ? take_operand(session, &data_b, size_b, err) : NULL;
    void *bias = b ? take_numbers(&data_bias, length_of_bias(p), err) : NULL;
    if (bias) {
        status = mmt_op_row(p->op)->product ? make_sums(session, a, b, bias, err)
                                            : make_expected(session, a, b, err);
        if (status == MMT_OK)
            status =
                upload_data(session->device, &data_a, size_a, &session->whole_a, err);
        if (status == MMT_OK)
            status =
                upload_data(session->device, &data_b, size_b, &session->whole_b, err);
        if (status == MMT_OK)
            status = make_bias(session, SEED_WHOLE_BIAS, 3, &session->whole_bias, err);
    }
    free(a);
    free(b);
    free(bias);
    return status;
}

mmt_status mmt_session_make_shape(struct mmt_session *session, mmt_error *err)
{
    mmt_status status = make_operands(session, err);
    if (status == MMT_OK)
        status = make_bias(session, SEED_BIAS, 0, &session->bias, err);
    if (status == MMT_OK && !session->bare)
        status = make_samples(session, err);
    if (status == MMT_OK && !session->bare)
        status = make_whole(session, err);
    return status;
}
