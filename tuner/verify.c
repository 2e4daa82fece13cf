#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tuner/session_internal.h"
#include "tuner/verify.h"

__attribute__((format(printf, 3, 4))) static void reject(struct mmt_verdict *verdict,
                                                         const char *check,
                                                         const char *format, ...)
{
    va_list list;

    verdict->right = false;
    snprintf(verdict->check, sizeof verdict->check, "%s", check);
    va_start(list, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, list);
    va_end(list);
}

/* Where the first of `size` bytes stands that is not as it was; `size` where all are. */
static size_t first_change(const unsigned char *now, const unsigned char *was,
                           size_t size)
{
    size_t i = 0;
    if (!memcmp(now, was, size))
        return size;
    while (now[i] == was[i])
        i++;
    return i;
}

/* ---- small problems -------------------------------------------------------------- */

/* What a trial was, for people: "; gemm f32 nn 261x133x70 lda=73, alpha 2, beta -1". */
static void describe(const struct mmt_trial *trial, struct mmt_text *text)
{
    mmt_text_add(text, "; ");
    mmt_problem_print(&trial->problem, text);
    mmt_text_addf(text, ", alpha %g, beta %g%s%s", trial->alpha, trial->beta,
                  trial->scalars ? " in device memory" : "",
                  trial->offset ? ", matrices one element off alignment" : "");
}

/* Looks at all entries of C, and puts those back that were there before, so that whatever
 * differs after that was written outside C. */
static void check_entries(const struct mmt_trial *trial, unsigned char *back,
                          struct mmt_verdict *verdict)
{
    const mmt_problem *p = &trial->problem;
    const struct mmt_answer *answer = trial->answers, *wrong = NULL;
    struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    size_t element = mmt_type_size(p->out), place = 0;
    int64_t count = 0, row = 0, column = 0, matrix = 0;
    long double got = 0;

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++, answer++) {
                place = (size_t) (z * p->stride_c + i * p->ldc + j) * element +
                        trial->c.start;
                if (!mmt_oracle_agrees(p->out, back + place, *answer) && count++ == 0) {
                    got = mmt_number_read(p->out, back + place);
                    wrong = answer;
                    row = i, column = j, matrix = z;
                }
                memcpy(back + place, trial->c.bytes + place, element);
            }
    if (wrong)
        reject(verdict, trial->check,
               "C(%" PRId64 ", %" PRId64 ")%s is %.9Lg, should be %.9Lg%s; %" PRId64
               " of %" PRId64 " entries are wrong",
               row, column, matrix ? " of a later matrix" : "", got, wrong->value,
               wrong->bound > 0 ? " within rounding" : "", count,
               p->batch * c.rows * c.cols);
}

static void check_guards(const struct mmt_trial *trial, const unsigned char *back,
                         struct mmt_verdict *verdict)
{
    const struct mmt_image *c = &trial->c;
    size_t change = first_change(back, c->bytes, c->size);

    if (change == c->size)
        return;
    if (change < c->start)
        reject(verdict, "guard", "%zu bytes before C were written", c->start - change);
    else if (change >= c->end)
        reject(verdict, "guard", "C was written past its end, at byte %zu of %zu",
               change - c->start, c->end - c->start);
    else
        reject(verdict, "guard", "the gap between rows of C was written, at byte %zu",
               change - c->start);
}

static mmt_status check_input(struct mmt_session *session, const char *name,
                              mmt_operand from, const struct mmt_image *image,
                              struct mmt_verdict *verdict, mmt_error *err)
{
    mmt_status status =
        mmt_buffer_read(session->device, session->small_back, from, image->size, err);
    if (status == MMT_OK &&
        first_change(session->small_back, image->bytes, image->size) < image->size)
        reject(verdict, "guard", "%s or what is round it was written", name);
    return status;
}

static mmt_status upload_scalars(struct mmt_session *session,
                                 const struct mmt_trial *trial, mmt_error *err)
{
    mmt_type type = mmt_type_scalar(trial->problem.type);
    size_t size = mmt_type_size(type);
    char both[2 * sizeof(double)];

    mmt_number_write(type, trial->alpha, both);
    mmt_number_write(type, trial->beta, both + size);
    return mmt_buffer_write(session->device, session->scalars, both, 2 * size, err);
}

static mmt_status set_up(struct mmt_session *session, const struct mmt_trial *trial,
                         mmt_args *args, mmt_error *err)
{
    mmt_device *device = session->device;
    mmt_status status =
        mmt_buffer_write(device, session->small_a, trial->a.bytes, trial->a.size, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device, session->small_b, trial->b.bytes, trial->b.size,
                                  err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device, session->small_c, trial->c.bytes, trial->c.size,
                                  err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device, session->small_bias, trial->bias.bytes,
                                  trial->bias.size, err);
    if (status == MMT_OK && trial->scalars)
        status = upload_scalars(session, trial, err);

    *args = mmt_args_defaults();
    args->a = session->small_a;
    args->b = session->small_b;
    args->c = session->small_c;
    args->a.offset += trial->a.start;
    args->b.offset += trial->b.start;
    args->c.offset += trial->c.start;
    if (trial->problem.bias)
        args->bias = session->small_bias;
    args->bias.offset += trial->bias.start;
    args->alpha = trial->scalars ? 7 : trial->alpha; /* ignored with scalars */
    args->beta = trial->scalars ? 7 : trial->beta;
    if (trial->scalars)
        args->scalars = session->scalars;
    if (trial->in_place)
        args->b = args->c;
    return status;
}

static mmt_status run_trial(struct mmt_session *session, const mmt_plan *plan,
                            const struct mmt_trial *trial, struct mmt_verdict *verdict,
                            mmt_error *err)
{
    unsigned char *back = session->small_back;
    mmt_args args;

    mmt_status status = set_up(session, trial, &args, err);
    if (status == MMT_OK)
        status = mmt_session_run(session, plan, &args, err);
    if (status == MMT_OK)
        status =
            mmt_buffer_read(session->device, back, session->small_c, trial->c.size, err);
    if (status != MMT_OK)
        return status;
    check_entries(trial, back, verdict);
    check_guards(trial, back, verdict);
    status = check_input(session, "A", session->small_a, &trial->a, verdict, err);
    if (status == MMT_OK)
        status = check_input(session, "B", session->small_b, &trial->b, verdict, err);
    if (status == MMT_OK)
        status = check_input(session, "the bias", session->small_bias, &trial->bias,
                             verdict, err);
    if (!verdict->right) {
        struct mmt_text text = { 0 };
        size_t length = strlen(verdict->reason);
        describe(trial, &text);
        snprintf(verdict->reason + length, sizeof verdict->reason - length, "%s",
                 mmt_text_string(&text));
        mmt_text_finish(&text);
    }
    return status;
}

/* Operands off any alignment are for the configuration's own text. Where it has none, a
 * plan takes another configuration's, which is no candidate here. */
static bool is_asked(const struct mmt_config *config, const struct mmt_trial *trial)
{
    return !trial->offset || mmt_config_has_any(config, &trial->problem);
}

/* Trials of one problem share a plan. */
static mmt_status run_trials(struct mmt_session *session, const struct mmt_config *config,
                             struct mmt_verdict *verdict, mmt_error *err)
{
    const struct mmt_caps *caps = mmt_device_caps(session->device);
    mmt_status status = MMT_OK;
    int next;

    for (int i = 0; i < session->num_trials && status == MMT_OK; i = next) {
        const struct mmt_trial *trials = session->trials;
        bool offset = false;
        for (next = i; next < session->num_trials; next++) {
            if (!mmt_problem_equal(&trials[next].problem, &trials[i].problem))
                break;
            offset |= trials[next].offset && is_asked(config, &trials[next]);
        }
        if (mmt_config_refuse(config, &trials[i].problem, caps))
            continue;
        mmt_plan *plan =
            mmt_session_plan(session, config, &trials[i].problem, offset, err);
        if (!plan)
            return err->status;
        for (int j = i; j < next && status == MMT_OK && verdict->right; j++)
            if (is_asked(config, &trials[j]))
                status = run_trial(session, plan, &trials[j], verdict, err);
        mmt_plan_free(plan);
        if (!verdict->right)
            break;
    }
    return status;
}

/* ---- the session's own shape ----------------------------------------------------- */

static mmt_operand guarded_c(const struct mmt_session *session)
{
    return session->c.memory; /* the first copy stands MMT_SHAPE_GUARD bytes behind it */
}

static mmt_status read_poisoned(struct mmt_session *session, const mmt_plan *plan,
                                mmt_error *err)
{
    mmt_args args = mmt_session_args(session, 0);

    args.a = session->whole_a;
    args.b = session->whole_b;
    args.bias = session->whole_bias;
    memset(session->back, 0xff, session->back_size);
    mmt_status status = mmt_buffer_write(session->device, guarded_c(session),
                                         session->back, session->back_size, err);
    if (status == MMT_OK)
        status = mmt_session_run(session, plan, &args, err);
    if (status == MMT_OK)
        status = mmt_buffer_read(session->device, session->back, guarded_c(session),
                                 session->back_size, err);
    return status;
}

/* Whether the sum over a row is what the row of A and B gave; whole numbers of 32 bits
 * say no more than their lower half. */
static bool same_sum(mmt_type type, uint64_t a, uint64_t b)
{
    return mmt_type_in(type, MMT_WHOLE_TYPES) ? (uint32_t) a == (uint32_t) b : a == b;
}

static void check_sums(struct mmt_session *session, int64_t batch,
                       struct mmt_verdict *verdict)
{
    const mmt_problem *p = &session->problem;
    size_t start =
        MMT_SHAPE_GUARD + (size_t) (batch * p->stride_c) * mmt_type_size(p->out);
    struct mmt_matrix c = { p->out, session->back + start, p->m, p->n, p->ldc };
    const uint64_t *sums = session->sums + batch * p->m;
    double limit = mmt_number_whole(p->out);
    int64_t row, column;

    if (!mmt_oracle_multiply(&c, false, session->weights, limit, session->rows, &row,
                             &column)) {
        const char *entry = (const char *) c.data +
                            (size_t) (row * p->ldc + column) * mmt_type_size(p->out);
        reject(verdict, "shape",
               "C(%" PRId64 ", %" PRId64 ") of matrix %" PRId64
               " is %.9Lg, should be a whole number",
               row, column, batch, mmt_number_read(p->out, entry));
        return;
    }
    for (row = 0; row < p->m; row++)
        if (!same_sum(p->type, session->rows[row], sums[row])) {
            reject(verdict, "shape",
                   "row %" PRId64 " of C, matrix %" PRId64
                   ": a random sum over it is not what the row of A and B give",
                   row, batch);
            return;
        }
}

/* Nothing but entries of C may have been written: takes those away and looks at the rest.
 */
static void check_outside(struct mmt_session *session, struct mmt_verdict *verdict)
{
    const mmt_problem *p = &session->problem;
    size_t element = mmt_type_size(p->out), size = session->back_size;
    unsigned char *back = session->back, *c = back + MMT_SHAPE_GUARD;

    struct mmt_stored stored = mmt_op_stored(p, MMT_OPERAND_C);
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < stored.rows; i++)
            memset(c + (size_t) (z * p->stride_c + i * p->ldc) * element, 0xff,
                   (size_t) stored.cols * element);
    if (back[0] == 0xff && !memcmp(back, back + 1, size - 1))
        return;
    size_t place = 0;
    while (back[place] == 0xff)
        place++;
    reject(verdict, "guard", "byte %td from the first of C was written, which is not C's",
           (ptrdiff_t) place - MMT_SHAPE_GUARD);
}

/* All of C, and what is round it, is known. */
static void check_expected(struct mmt_session *session, struct mmt_verdict *verdict)
{
    const mmt_problem *p = &session->problem;
    const struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    size_t element = mmt_type_size(p->out);

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++) {
            size_t row =
                MMT_SHAPE_GUARD + (size_t) (z * p->stride_c + i * p->ldc) * element;
            size_t place = first_change(session->back + row, session->expected + row,
                                        (size_t) c.cols * element) /
                           element;
            if (place == (size_t) c.cols)
                continue;
            row += place * element;
            reject(verdict, "shape",
                   "C(%" PRId64 ", %zu) of matrix %" PRId64 " is %.9Lg, should be %.9Lg",
                   i, place, z, mmt_number_read(p->out, session->back + row),
                   mmt_number_read(p->out, session->expected + row));
            return;
        }
}

static mmt_status check_whole(struct mmt_session *session, const mmt_plan *plan,
                              struct mmt_verdict *verdict, mmt_error *err)
{
    if (!session->whole)
        return MMT_OK;
    mmt_status status = read_poisoned(session, plan, err);
    if (status == MMT_OK && session->expected)
        check_expected(session, verdict);
    for (int64_t z = 0; z < session->problem.batch && status == MMT_OK; z++)
        if (verdict->right && session->sums)
            check_sums(session, z, verdict);
    if (status == MMT_OK)
        check_outside(session, verdict);
    return status;
}

static mmt_status check_samples(struct mmt_session *session, const mmt_plan *plan,
                                struct mmt_verdict *verdict, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    size_t element = mmt_type_size(p->out);
    mmt_args args = mmt_session_args(session, 0);
    mmt_status status = mmt_session_run(session, plan, &args, err);

    for (int i = 0; i < session->num_samples && status == MMT_OK && verdict->right; i++) {
        const struct mmt_sample *s = &session->samples[i];
        unsigned char entry[8];
        mmt_operand from = args.c;
        from.offset += (size_t) (s->batch * p->stride_c + s->i * p->ldc + s->j) * element;
        status = mmt_buffer_read(session->device, entry, from, element, err);
        if (status == MMT_OK && !mmt_oracle_agrees(p->out, entry, s->answer))
            reject(verdict, "samples",
                   "C(%" PRId64 ", %" PRId64 ") of matrix %" PRId64
                   " is %.9Lg, should be %.9Lg within %.2Lg",
                   s->i, s->j, s->batch, mmt_number_read(p->out, entry), s->answer.value,
                   s->answer.bound);
    }
    return status;
}

static mmt_status check_shape(struct mmt_session *session,
                              const struct mmt_config *config,
                              struct mmt_verdict *verdict, mmt_error *err)
{
    mmt_plan *plan = mmt_session_plan(session, config, &session->problem, false, err);
    if (!plan)
        return err->status;
    mmt_status status = check_whole(session, plan, verdict, err);
    if (status == MMT_OK && verdict->right)
        status = check_samples(session, plan, verdict, err);
    mmt_plan_free(plan);
    return status;
}

mmt_status mmt_verify_candidate(struct mmt_session *session,
                                const struct mmt_config *config, struct mmt_verdict *out,
                                mmt_error *err)
{
    mmt_error own;
    const char *refusal =
        mmt_config_refuse(config, &session->problem, mmt_device_caps(session->device));

    *out = (struct mmt_verdict){ .right = true };
    err = err ? err : &own;
    if (refusal)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "this configuration cannot run: %s",
                        refusal);
    mmt_status status = run_trials(session, config, out, err);
    if (status == MMT_OK && out->right)
        status = check_shape(session, config, out, err);
    return status;
}
