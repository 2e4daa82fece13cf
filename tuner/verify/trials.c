/* Makes the small problems of the trials: their elements, guard bands
 * and known answers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/verify/data.h"
#include "tuner/verify/trials.h"

enum { OUTSIDE = 0xff, GUARD = 0xa5 }; /* bytes; the first are a NaN in every float */

/* Where the elements of an operand are. */
struct layout {
    int64_t batch, rows, columns, ld, stride, extent;
};

static mmt_status make_image(struct mmt_image *image, const struct layout *layout,
                             size_t element, int flags, int filler, mmt_error *err)
{
    image->start = MMT_TRIAL_GUARD + (flags & MMT_TRIAL_OFFSET ? element : 0);
    image->end = image->start + (size_t) layout->extent * element;
    image->size = image->end + MMT_TRIAL_GUARD;
    image->bytes = malloc(image->size);
    if (!image->bytes)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for %zu bytes of test data", image->size);
    memset(image->bytes, filler, image->size);
    return MMT_OK;
}

/* ---- elements ---------------------------------------------------------------------- */

/* Exponents that a floating-point type's elements have in a trial of its whole range:
 * from its least subnormal number to so large a one that no product overflows. Rounding
 * to tf32 leaves subnormal numbers to nobody. */
struct range {
    int least, most;
};

static struct range range_of(mmt_type type, bool of_b)
{
    const int exponent = mmt_type_format(type).exponent;
    const int least = type == MMT_TF32 ? -126 : ilogbl(mmt_number_tiny(type)) + 1;
    return (struct range){ least, exponent > 8    ? (of_b ? 100 : 900)
                                  : exponent == 8 ? (of_b ? 20 : 100)
                                                  : (of_b ? 5 : 7) };
}

/* Element `index` of a stream over that range; this part of them is not 0. */
static double ranged_number(struct range range, double density, uint64_t seed,
                            uint64_t index)
{
    const uint64_t place = mmt_data_noise(seed, 2 * index);
    const uint64_t bits = mmt_data_noise(seed, 2 * index + 1);
    const int span = range.most - range.least + 1;
    if ((double) (uint32_t) place >= density * 0x1p32)
        return 0;
    const double fraction = 1 + (double) (bits >> 12) * 0x1p-52;
    const double sign = place >> 63 ? -1 : 1;
    return sign * ldexp(fraction, range.least + (int) ((place >> 32) % (uint64_t) span));
}

/* Of a whole type the least number mostly, else the largest: sums pass all bounds. */
static int32_t extreme_number(mmt_type type, uint64_t seed, uint64_t index)
{
    const int32_t half = type == MMT_I8 ? INT8_MIN : INT32_MIN;
    return mmt_data_noise(seed, index) >> 61 ? half : -(half + 1);
}

/* The elements of one operand: of a stream, or over the type's range. */
struct filling {
    struct mmt_data data;
    struct range range;
    double density; /* 0: of the stream */
};

static void fill_row(const struct filling *filling, uint64_t first, unsigned char *to,
                     int64_t count)
{
    const size_t element = mmt_type_size(filling->data.type);
    if (filling->density == 0) {
        mmt_data_fill(&filling->data, first, to, (size_t) count);
        return;
    }
    for (int64_t j = 0; j < count; j++) {
        const uint64_t seed = filling->data.seed, index = first + (uint64_t) j;
        mmt_number_write(
            filling->data.type,
            mmt_type_in(filling->data.type, MMT_WHOLE_TYPES)
                ? extreme_number(filling->data.type, seed, index)
                : ranged_number(filling->range, filling->density, seed, index),
            to + (size_t) j * element);
    }
}

/* Writes the elements and leaves what is between them. */
static void fill_image(struct mmt_image *image, const struct layout *layout,
                       const struct filling *filling)
{
    size_t element = mmt_type_size(filling->data.type);
    uint64_t index = 0;

    for (int64_t z = 0; z < layout->batch; z++)
        for (int64_t i = 0; i < layout->rows; i++) {
            int64_t place = z * layout->stride + i * layout->ld;
            fill_row(filling, index,
                     image->bytes + image->start + (size_t) place * element,
                     layout->columns);
            index += (uint64_t) layout->columns;
        }
}

/* So that few products of an entry of C are not 0, and each error shows. */
static double density_of(const mmt_problem *p)
{
    const bool sums = mmt_op_row(p->op)->sums && p->k > 2;
    return sums ? sqrt(2 / (double) p->k) : 1;
}

static struct filling filling_of(const mmt_problem *p, mmt_type type, int flags,
                                 uint64_t seed, bool of_b)
{
    const bool random = flags & MMT_TRIAL_RANDOM;
    struct filling out = { .data = { type, seed, random ? 0 : 3, 0 } };
    if (random && type == MMT_TF32)
        out.data.type = MMT_F32; /* with bits that tf32 does not keep */
    if (flags & MMT_TRIAL_RANGE)
        out.range = range_of(type, of_b), out.density = density_of(p);
    return out;
}

/* A number that is far above all others of a trial, and whose products with those are
 * numbers of every output. */
static double large_number(mmt_type type)
{
    const int exponent = mmt_type_format(type).exponent;
    return exponent > 8 ? 1e300 : exponent == 8 ? 1e30 : exponent == 5 ? 0x1p12 : 240;
}

/* The k-th number that a trial of special values has in each operand. */
enum { SPECIALS = 6 };

static double special_number(mmt_type type, int which)
{
    if (mmt_type_in(type, MMT_WHOLE_TYPES)) {
        const double half = type == MMT_I8 ? 128 : 0x1p31;
        return which % 2 ? half - 1 : -half;
    }
    const double tiny = (double) mmt_number_tiny(type) * 2;
    const double values[SPECIALS] = { NAN,       INFINITY,
                                      -INFINITY, large_number(type),
                                      tiny,      -large_number(type) };
    return values[which];
}

/* In rows and columns of their own, as far as there are so many, at other places in each
 * operand, also the first and the last. */
static void plant_specials(struct mmt_image *image, const struct layout *layout,
                           mmt_type type, int operand)
{
    const size_t element = mmt_type_size(type);
    for (int i = 0; i < SPECIALS && layout->rows && layout->columns; i++) {
        const int turn = (i + 2 * operand) % SPECIALS;
        const int64_t z = i % layout->batch;
        const int64_t row = turn * (layout->rows - 1) / (SPECIALS - 1);
        const int64_t column =
            (SPECIALS - 1 - i) * (layout->columns - 1) / (SPECIALS - 1);
        const int64_t place = z * layout->stride + row * layout->ld + column;
        mmt_number_write(type, special_number(type, i),
                         image->bytes + image->start + (size_t) place * element);
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

static struct layout layout_of(const mmt_problem *p, enum mmt_which operand)
{
    const struct mmt_stored stored = mmt_op_stored(p, operand);
    const int64_t strides[] = { p->stride_a, p->stride_b, p->stride_c };
    const int64_t lds[] = { p->lda, p->ldb, p->ldc };
    const int64_t extents[] = { mmt_problem_extent_a(p), mmt_problem_extent_b(p),
                                mmt_problem_extent_c(p) };
    const bool is_one = !strides[operand] && operand != MMT_OPERAND_C;
    return (struct layout){ is_one ? 1 : p->batch, stored.rows,      stored.cols,
                            lds[operand],          strides[operand], extents[operand] };
}

static mmt_status make_input(struct mmt_trial *trial, struct mmt_image *image,
                             enum mmt_which operand, bool absent, uint64_t seed,
                             mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    const int flags = trial->row->flags;
    const struct layout layout = layout_of(p, operand);
    const int filler = flags & MMT_TRIAL_ZERO_GAPS ? 0 : OUTSIDE;
    /* A that is multiplied by itself has the lesser range */
    const bool of_b = operand == MMT_OPERAND_B || mmt_op_row(p->op)->lower;
    const struct filling filling = filling_of(p, p->type, flags, seed, of_b);

    mmt_status status =
        make_image(image, &layout, mmt_type_size(p->type), flags, filler, err);
    if (status != MMT_OK || absent)
        return status;
    fill_image(image, &layout, &filling);
    if (flags & MMT_TRIAL_SPECIAL)
        plant_specials(image, &layout, p->type, operand);
    return MMT_OK;
}

static mmt_status make_inputs(struct mmt_trial *trial, int flags, uint64_t seed,
                              mmt_error *err)
{
    mmt_status status = make_input(trial, &trial->a, MMT_OPERAND_A,
                                   flags & MMT_TRIAL_NO_A, mmt_data_noise(seed, 1), err);
    if (status == MMT_OK)
        status = make_input(trial, &trial->b, MMT_OPERAND_B, flags & MMT_TRIAL_NO_B,
                            mmt_data_noise(seed, 2), err);
    return status;
}

static mmt_status make_output(struct mmt_trial *trial, int flags, uint64_t seed,
                              mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    const struct layout c = layout_of(p, MMT_OPERAND_C);
    const struct filling filling =
        filling_of(p, p->out, flags, mmt_data_noise(seed, 3), true);

    mmt_status status =
        make_image(&trial->c, &c, mmt_type_size(p->out), flags, GUARD, err);
    if (status != MMT_OK)
        return status;
    if (flags & MMT_TRIAL_POISON)
        fill_bytes(&trial->c, &c, mmt_type_size(p->out), OUTSIDE);
    else
        fill_image(&trial->c, &c, &filling);
    if (flags & MMT_TRIAL_SPECIAL && !(flags & MMT_TRIAL_POISON))
        plant_specials(&trial->c, &c, p->out, MMT_OPERAND_C);
    if (flags & MMT_TRIAL_IN_PLACE)
        memcpy(trial->b.bytes, trial->c.bytes, trial->c.size);
    return MMT_OK;
}

/* NaN stands before and behind it. */
enum { BIAS = 3 };
static mmt_status make_bias(struct mmt_trial *trial, int flags, uint64_t seed,
                            mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    const struct filling filling = { .data = { p->out, mmt_data_noise(seed, 4),
                                               flags & MMT_TRIAL_RANDOM ? 0 : 3, 0 } };
    int64_t count = p->bias == MMT_BIAS_M ? p->m : p->bias ? p->n : 0;
    struct layout bias = { 1, 1, count, count, 0, count };

    mmt_status status =
        make_image(&trial->bias, &bias, mmt_type_size(p->out), flags, OUTSIDE, err);
    if (status == MMT_OK)
        fill_image(&trial->bias, &bias, &filling);
    if (status == MMT_OK && flags & MMT_TRIAL_SPECIAL)
        plant_specials(&trial->bias, &bias, p->out, BIAS);
    return status;
}

/* ---- answers ----------------------------------------------------------------------- */

/* Whether sums over k are exact: then they need not be added up in a wider type. */
static bool has_exact_sums(const struct mmt_trial *trial)
{
    const int inexact = MMT_TRIAL_RANDOM | MMT_TRIAL_RANGE | MMT_TRIAL_SPECIAL;
    return !(trial->row->flags & inexact) ||
           mmt_type_in(trial->problem.type, MMT_WHOLE_TYPES);
}

/* Whether it makes of a whole number one, or what no error changes. */
static bool is_whole(double x)
{
    return !isfinite(x) || (fabs(x) < 0x1p31 && x == trunc(x));
}

/* Whether every value before the last rounding is: small whole numbers, whole scalars, or
 * an alpha that was made for it. */
static bool is_exact(const struct mmt_trial *trial)
{
    return has_exact_sums(trial) && is_whole(trial->beta) &&
           (is_whole(trial->alpha) || trial->row->flags & MMT_TRIAL_EDGES);
}

static mmt_status make_answers(struct mmt_trial *trial, mmt_error *err)
{
    const mmt_problem *p = &trial->problem;
    struct mmt_oracle oracle = {
        .problem = p,
        .alpha = trial->alpha,
        .beta = trial->beta,
        .a = trial->a.bytes + trial->a.start,
        .b = trial->b.bytes + trial->b.start,
        .c = trial->c.bytes + trial->c.start,
        .bias = trial->bias.bytes + trial->bias.start,
        .exact = is_exact(trial),
    };
    struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    const size_t count = (size_t) (p->batch * c.rows * c.cols);
    struct mmt_answer *answer = malloc((count ? count : 1) * sizeof *answer);

    trial->answers = answer;
    if (!answer)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the answers of a test");
    if (p->op == MMT_GEMM && has_exact_sums(trial) && trial->alpha != 0)
        return mmt_oracle_whole(&oracle, answer, err);
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++)
                *answer++ = mmt_oracle_entry(&oracle, z, i, j);
    return MMT_OK;
}

/* ---- scalars ----------------------------------------------------------------------- */

/* As the kernel gets it. Random data of a float have theirs scaled, so that they are no
 * whole numbers; whole types get others for what is no whole number, beyond 2^16. */
static double scalar_of(const struct mmt_trial_row *row, mmt_type type, double value)
{
    const mmt_type scalar = mmt_type_scalar(type);
    if (mmt_type_in(type, MMT_WHOLE_TYPES))
        return isfinite(value) && value == trunc(value) ? value
               : value < 0                              ? -70003
                                                        : 81919;
    return mmt_number_round(scalar, row->flags & MMT_TRIAL_RANDOM ? value / 4 : value);
}

/* Alpha with which sums of 1 and 2 and powers of it lie in the middle between two numbers
 * of C's type, or sums of 1 just below where that ends; 1 where alpha has no such
 * number. */
static double edge_of(const mmt_problem *p, int flags)
{
    const struct mmt_type_format out = mmt_type_format(p->out);
    const bool widens = out.fraction < mmt_type_format(mmt_type_scalar(p->type)).fraction;
    const int most = (1 << (out.exponent - 1)) - 1;
    if (p->activation > MMT_RELU || mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return 1;
    if (flags & MMT_TRIAL_TIES)
        return widens ? 1 + ldexp(1, -out.fraction - 1) : 1;
    return ldexp(2 - ldexp(1, -out.fraction - widens) - (widens ? 0x1p-23 : 0), most);
}

static double alpha_of(const struct mmt_trial *trial)
{
    const int flags = trial->row->flags;
    const double alpha = scalar_of(trial->row, trial->problem.type, trial->row->alpha);
    return flags & MMT_TRIAL_EDGES && alpha != 0 && isfinite(alpha)
               ? copysign(edge_of(&trial->problem, flags), alpha)
               : alpha;
}

/* With such an alpha a whole number. */
static double beta_of(const struct mmt_trial *trial)
{
    const double beta = scalar_of(trial->row, trial->problem.type, trial->row->beta);
    return trial->row->flags & MMT_TRIAL_EDGES && isfinite(beta) ? trunc(beta) : beta;
}

/* ---- making and finding ---------------------------------------------------------- */

static mmt_status make_trial(struct mmt_trial *trial, uint64_t seed, mmt_error *err)
{
    const struct mmt_trial_row *row = trial->row;

    trial->alpha = alpha_of(trial);
    trial->beta = beta_of(trial);
    mmt_status status = make_inputs(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_output(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_bias(trial, row->flags, seed, err);
    if (status == MMT_OK)
        status = make_answers(trial, err);
    return status;
}

static void free_trial(struct mmt_trial *trial)
{
    if (!trial)
        return;
    free(trial->a.bytes);
    free(trial->b.bytes);
    free(trial->c.bytes);
    free(trial->bias.bytes);
    free(trial->answers);
    free(trial);
}

static size_t bytes_of(const struct mmt_trial *trial)
{
    const struct mmt_stored c = mmt_op_stored(&trial->problem, MMT_OPERAND_C);
    return trial->a.size + trial->b.size + trial->c.size + trial->bias.size +
           (size_t) (trial->problem.batch * c.rows * c.cols) * sizeof *trial->answers;
}

static const struct mmt_trial *find_trial(const struct mmt_trials *trials,
                                          const struct mmt_trial_row *row,
                                          const mmt_problem *problem)
{
    for (int i = 0; i < trials->count; i++)
        if (trials->each[i]->row == row &&
            mmt_problem_equal(&trials->each[i]->problem, problem))
            return trials->each[i];
    return NULL;
}

static mmt_status keep_trial(struct mmt_trials *trials, struct mmt_trial *trial,
                             mmt_error *err)
{
    static const size_t most_bytes = (size_t) 512 << 20;
    if (trials->bytes + bytes_of(trial) > most_bytes)
        mmt_trials_free(trials);
    struct mmt_trial **more =
        realloc(trials->each, (size_t) (trials->count + 1) * sizeof *more);
    if (!more)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the tests of a kernel");
    trials->each = more;
    trials->each[trials->count++] = trial;
    trials->bytes += bytes_of(trial);
    return MMT_OK;
}

const struct mmt_trial *mmt_trials_get(struct mmt_trials *trials,
                                       const struct mmt_trial_row *row,
                                       const mmt_problem *problem, uint64_t seed,
                                       mmt_error *err)
{
    const struct mmt_trial *known = find_trial(trials, row, problem);
    if (known)
        return known;
    enum { DRAWN = 1000 };
    int count;
    const uint64_t number = row->draw
                                ? (uint64_t) (DRAWN + row->draw)
                                : (uint64_t) (row - mmt_trial_rows(problem->op, &count));
    struct mmt_trial *trial = calloc(1, sizeof *trial);
    if (!trial) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for the tests of a kernel");
        return NULL;
    }
    trial->row = row;
    trial->problem = *problem;
    mmt_status status = make_trial(trial, mmt_data_noise(seed, number), err);
    if (status == MMT_OK)
        status = keep_trial(trials, trial, err);
    if (status == MMT_OK)
        return trial;
    free_trial(trial);
    return NULL;
}

void mmt_trials_free(struct mmt_trials *trials)
{
    for (int i = 0; i < trials->count; i++)
        free_trial(trials->each[i]);
    free(trials->each);
    *trials = (struct mmt_trials){ 0 };
}
