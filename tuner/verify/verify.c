/* Runs all checks on a candidate: the small problems, what else may be planned, and the
 * session's own shape. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tuner/verify/verify_internal.h"

/* ---- small problems -------------------------------------------------------------- */

/* A candidate on trial. */
struct trials_of {
    struct mmt_session *session;
    const struct mmt_config *config;
    mmt_problem like; /* what a problem says but its shape */

    /* The plan of the last trial, which often serves the next one. */
    mmt_plan *plan;
    mmt_problem planned;
    bool any; /* it serves operands off any alignment */
};

static const mmt_plan *plan_for(struct trials_of *of, const mmt_problem *problem,
                                bool any, mmt_error *err)
{
    if (of->plan && mmt_problem_equal(&of->planned, problem) && (of->any || !any))
        return of->plan;
    mmt_plan_free(of->plan);
    of->plan = mmt_session_plan(of->session, of->config, problem, any, err);
    of->planned = *problem;
    of->any = any;
    return of->plan;
}

/* A plan knows no strides of a batch by pointers: the trial's may align less than rows
 * do. */
static bool is_pointed_unaligned(const struct mmt_config *config,
                                 const mmt_problem *problem)
{
    struct mmt_alignment alignment;
    return problem->batch_by == MMT_BY_POINTERS &&
           !mmt_config_may_align(config, problem, &alignment);
}

static mmt_status run_at(struct trials_of *of, const struct mmt_trial_row *row,
                         const mmt_problem *problem, struct mmt_judgement *verdict,
                         mmt_error *err)
{
    struct mmt_session *session = of->session;
    const bool is_far = row->flags & MMT_TRIAL_FAR;
    const mmt_problem near = is_far ? mmt_trial_near(problem) : *problem;

    const struct mmt_trial *trial =
        mmt_trials_get(&session->trials, row, &near, session->seed, err);
    if (!trial)
        return MMT_ERROR_MEMORY;
    const bool any = (row->flags & (MMT_TRIAL_OFFSET | MMT_TRIAL_PAGES) ||
                      is_pointed_unaligned(of->config, problem)) &&
                     mmt_config_has_any(of->config, problem);
    const mmt_plan *plan = plan_for(of, problem, any, err);
    if (!plan)
        return err->status;
    if (is_far)
        return mmt_far_run(session, plan, problem, trial, verdict, err);
    verdict->checks++;
    return mmt_trial_run(session, plan, trial, any ? 1 : 64, verdict, err);
}

static mmt_status run_row(struct trials_of *of, const struct mmt_trial_row *row,
                          struct mmt_judgement *verdict, mmt_error *err)
{
    mmt_problem problem;
    const bool in_place =
        row->flags & MMT_TRIAL_PAGES && mmt_session_in_place(of->session);

    if (!mmt_trial_concerns(row, &of->like, in_place))
        return MMT_OK;
    switch (mmt_trial_fit(row, of->config, &of->like,
                          mmt_device_caps(of->session->device), &problem)) {
    case MMT_FIT:
        return run_at(of, row, &problem, verdict, err);
    case MMT_FIT_NONE:
        if (row->draw)
            return MMT_OK;
        mmt_judgement_reject(
            verdict, row->check,
            "this check cannot be run: of all shapes that were tried the "
            "configuration serves none");
        return MMT_OK;
    case MMT_FIT_IDLE:
        break;
    }
    return MMT_OK;
}

static const struct mmt_trial_row *drawn_row(struct mmt_session *session, int i)
{
    if (!session->drawn[i].draw)
        session->drawn[i] = mmt_trial_draw(session->problem.op, session->seed, i + 1);
    return &session->drawn[i];
}

/* Which of the session's draws. */
struct draws {
    int first, count;
};

/* All rows with these flags, and those that are drawn besides. */
static mmt_status run_rows(struct mmt_session *session, const struct mmt_config *config,
                           const mmt_problem *like, int flags, struct draws draws,
                           struct mmt_judgement *verdict, mmt_error *err)
{
    struct trials_of of = { .session = session, .config = config, .like = *like };
    mmt_status status = MMT_OK;
    int count;
    const struct mmt_trial_row *rows = mmt_trial_rows(like->op, &count);

    for (int i = 0; i < count && status == MMT_OK && verdict->right; i++)
        if ((rows[i].flags & flags) == flags)
            status = run_row(&of, &rows[i], verdict, err);
    for (int i = 0; i < draws.count && status == MMT_OK && verdict->right; i++)
        status = run_row(&of, drawn_row(session, draws.first + i), verdict, err);
    mmt_plan_free(of.plan);
    return status;
}

/* ---- what else a program may plan ------------------------------------------------ */

/* The types that C may have; returns how many. */
static int list_outputs(mmt_type type, mmt_type out[MMT_NUM_TYPES])
{
    int count = 0;
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        if (mmt_type_in((mmt_type) i, mmt_type_outputs(type)))
            out[count++] = (mmt_type) i;
    return count;
}

static mmt_status run_epilogue(struct mmt_session *session,
                               const struct mmt_config *config, mmt_type out,
                               mmt_bias bias, mmt_activation activation,
                               struct draws draws, struct mmt_judgement *verdict,
                               mmt_error *err)
{
    mmt_problem like = session->problem;
    like.out = out, like.bias = bias, like.activation = activation;
    const struct mmt_variant variant = mmt_variant_of(&like, true);
    const bool smooth = activation > MMT_RELU;

    if ((smooth && mmt_type_in(like.type, MMT_WHOLE_TYPES)) ||
        mmt_config_check_device(config, &variant, mmt_device_caps(session->device)))
        return MMT_OK;
    return run_rows(session, config, &like, MMT_TRIAL_EPILOGUE, draws, verdict, err);
}

/* Each output, each bias and each activation at least once; of a kernel with neither bias
 * nor activation, the outputs. */
static mmt_status run_epilogues(struct mmt_session *session,
                                const struct mmt_config *config,
                                struct mmt_judgement *verdict, mmt_error *err)
{
    static const struct {
        mmt_bias bias;
        mmt_activation activation;
    } fused[] = { { MMT_BIAS_M, MMT_RELU },
                  { MMT_BIAS_N, MMT_GELU },
                  { MMT_BIAS_M, MMT_GELU_TANH },
                  { MMT_BIAS_N, MMT_SILU },
                  { MMT_BIAS_N, MMT_ACTIVATION_NONE } };
    enum { EPILOGUES = sizeof fused / sizeof *fused };
    mmt_type outputs[MMT_NUM_TYPES];
    const int count = list_outputs(session->problem.type, outputs);
    const int most = config->template->fused ? EPILOGUES : count;
    mmt_status status = MMT_OK;

    for (int i = 0; i < most && status == MMT_OK && verdict->right; i++) {
        const struct draws draws = { MMT_DRAWN + i * MMT_DRAWN_EPILOGUE,
                                     MMT_DRAWN_EPILOGUE };
        status = config->template->fused
                     ? run_epilogue(session, config, outputs[i % count], fused[i].bias,
                                    fused[i].activation, draws, verdict, err)
                     : run_epilogue(session, config, outputs[i], MMT_BIAS_NONE,
                                    MMT_ACTIVATION_NONE, draws, verdict, err);
    }
    return status;
}

/* ---- the session's own shape ----------------------------------------------------- */

static mmt_operand guarded_c(const struct mmt_session *session)
{
    return session->c.memory; /* the first copy stands MMT_SHAPE_GUARD bytes behind it */
}

static mmt_status read_poisoned(struct mmt_session *session, const mmt_plan *plan,
                                struct mmt_judgement *verdict, mmt_error *err)
{
    mmt_args args = mmt_session_args(session, 0);

    args.a = session->whole_a;
    args.b = session->whole_b;
    args.bias = session->whole_bias;
    memset(session->back, 0xff, session->back_size);
    mmt_status status = mmt_buffer_write(session->device, guarded_c(session),
                                         session->back, session->back_size, err);
    if (status == MMT_OK)
        status = mmt_verify_run(session, plan, &session->problem, &args, verdict, err);
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

static void check_sum(struct mmt_session *session, int64_t batch, int64_t row,
                      uint64_t right, struct mmt_judgement *verdict)
{
    const mmt_problem *p = &session->problem;
    const size_t place = (size_t) (batch * p->stride_c + row * p->ldc);
    const struct mmt_matrix c = { p->out,
                                  session->back + MMT_SHAPE_GUARD +
                                      place * mmt_type_size(p->out),
                                  1, mmt_op_computed(p, row), p->ldc };
    int64_t first, column;
    uint64_t sum;

    if (!mmt_oracle_multiply(&c, false, session->weights, mmt_number_whole(p->out), &sum,
                             &first, &column)) {
        const char *entry =
            (const char *) c.data + (size_t) column * mmt_type_size(p->out);
        mmt_judgement_reject(verdict, "shape",
                             "C(%" PRId64 ", %" PRId64 ") of matrix %" PRId64
                             " is %.9Lg, should be a whole number",
                             row, column, batch, mmt_number_read(p->out, entry));
    } else if (!same_sum(p->type, sum, right)) {
        mmt_judgement_reject(verdict, "shape",
                             "row %" PRId64 " of C, matrix %" PRId64
                             ": a random sum over it is not what the row of A and B give",
                             row, batch);
    }
}

static void check_sums(struct mmt_session *session, int64_t batch,
                       struct mmt_judgement *verdict)
{
    const int64_t rows = mmt_op_stored(&session->problem, MMT_OPERAND_C).rows;
    for (int64_t i = 0; i < rows && verdict->right; i++)
        check_sum(session, batch, i, session->sums[batch * rows + i], verdict);
}

/* Nothing but what is computed of C may have been written: takes that away and looks at
 * the rest. */
static void check_outside(struct mmt_session *session, struct mmt_judgement *verdict)
{
    const mmt_problem *p = &session->problem;
    size_t element = mmt_type_size(p->out), size = session->back_size;
    unsigned char *back = session->back, *c = back + MMT_SHAPE_GUARD;

    struct mmt_stored stored = mmt_op_stored(p, MMT_OPERAND_C);
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < stored.rows; i++)
            memset(c + (size_t) (z * p->stride_c + i * p->ldc) * element, 0xff,
                   (size_t) mmt_op_computed(p, i) * element);
    if (back[0] == 0xff && !memcmp(back, back + 1, size - 1))
        return;
    size_t place = 0;
    while (back[place] == 0xff)
        place++;
    mmt_judgement_reject(
        verdict, "guard",
        "byte %td from the first of C was written, which is not computed",
        (ptrdiff_t) place - MMT_SHAPE_GUARD);
}

/* All of C, and what is round it, is known. */
static void check_expected(struct mmt_session *session, struct mmt_judgement *verdict)
{
    const mmt_problem *p = &session->problem;
    const struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    size_t element = mmt_type_size(p->out);

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++) {
            size_t row =
                MMT_SHAPE_GUARD + (size_t) (z * p->stride_c + i * p->ldc) * element;
            size_t place = mmt_first_change(session->back + row, session->expected + row,
                                            (size_t) c.cols * element) /
                           element;
            if (place == (size_t) c.cols)
                continue;
            row += place * element;
            mmt_judgement_reject(
                verdict, "shape",
                "C(%" PRId64 ", %zu) of matrix %" PRId64 " is %.9Lg, should be %.9Lg", i,
                place, z, mmt_number_read(p->out, session->back + row),
                mmt_number_read(p->out, session->expected + row));
            return;
        }
}

static mmt_status check_whole(struct mmt_session *session, const mmt_plan *plan,
                              struct mmt_judgement *verdict, mmt_error *err)
{
    if (!session->whole)
        return MMT_OK;
    mmt_status status = read_poisoned(session, plan, verdict, err);
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
                                struct mmt_judgement *verdict, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    size_t element = mmt_type_size(p->out);
    mmt_args args = mmt_session_args(session, 0);
    const mmt_operand c = args.c;
    mmt_status status =
        mmt_verify_run(session, plan, &session->problem, &args, verdict, err);

    for (int i = 0; i < session->num_samples && status == MMT_OK && verdict->right; i++) {
        const struct mmt_sample *s = &session->samples[i];
        unsigned char entry[8];
        mmt_operand from = c;
        from.offset += (size_t) (s->batch * p->stride_c + s->i * p->ldc + s->j) * element;
        status = mmt_buffer_read(session->device, entry, from, element, err);
        if (status == MMT_OK && !mmt_oracle_agrees(p->out, entry, s->answer))
            mmt_judgement_reject(verdict, "samples",
                                 "C(%" PRId64 ", %" PRId64 ") of matrix %" PRId64
                                 " is %.9Lg, should be %.9Lg within %.2Lg",
                                 s->i, s->j, s->batch, mmt_number_read(p->out, entry),
                                 s->answer.value, s->answer.bound);
    }
    return status;
}

static mmt_status check_shape(struct mmt_session *session,
                              const struct mmt_config *config,
                              struct mmt_judgement *verdict, mmt_error *err)
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

mmt_status mmt_verify(struct mmt_session *session, const struct mmt_config *config,
                      enum mmt_pass pass, struct mmt_judgement *out, mmt_error *err)
{
    static const int flags[] = { [MMT_PASS_FIRST] = MMT_TRIAL_FIRST,
                                 [MMT_PASS_QUICK] = MMT_TRIAL_QUICK,
                                 [MMT_PASS_WHOLE] = 0,
                                 [MMT_PASS_EPILOGUES] = 0 };
    const char *refusal = mmt_config_check_problem(config, &session->problem,
                                                   mmt_device_caps(session->device));

    *out = (struct mmt_judgement){ .right = true };
    if (refusal)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "this configuration cannot run: %s",
                        refusal);
    const struct draws draws = { 0, pass >= MMT_PASS_WHOLE ? MMT_DRAWN : 0 };
    mmt_status status =
        run_rows(session, config, &session->problem, flags[pass], draws, out, err);
    if (status == MMT_OK && out->right && pass != MMT_PASS_FIRST)
        status = check_shape(session, config, out, err);
    if (status == MMT_OK && out->right && pass == MMT_PASS_EPILOGUES)
        status = run_epilogues(session, config, out, err);
    return status;
}
