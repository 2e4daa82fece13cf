/* A program of its own, which is built against a header with other members than the
 * library's: run_headers.py. Multiplies on the device that it is given. */
#include <stdio.h>
#include <string.h>

#include <mmtune/mmtune.h>

#define CHECK(what)                                                                      \
    ((what) ? 0 : (printf("not so: %s; %s\n", #what, err.text), failed = 1))

static mmt_error err;
static int failed;

static mmt_operand buffer(mmt_device *device, const void *from, size_t size)
{
    mmt_operand made = { 0, 0 };
    CHECK(!mmt_buffer_create(device, size, &made, &err));
    CHECK(!mmt_buffer_write(device, made, from, size, &err));
    return made;
}

int main(int argc, char **argv)
{
    const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[6] = { 1, 0, 0, 1, 2, 3 };
    const float right[4] = { 7, 11, 16, 23 };
    float c[4] = { -1, -1, -1, -1 };
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 2, 2, 3);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = mmt_args_defaults();
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : "0", &err);

    if (!device)
        return printf("%s\n", err.text), 77;
    CHECK(problem.size == sizeof problem && problem.batch == 1);
    CHECK(options.size == sizeof options && options.max_workspace == (size_t) -1);
    CHECK(args.size == sizeof args && args.alpha == 1);
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    CHECK(plan != NULL);
    args.a = buffer(device, a, sizeof a);
    args.b = buffer(device, b, sizeof b);
    args.c = buffer(device, c, sizeof c);
    if (mmt_plan_workspace(plan))
        CHECK(
            !mmt_buffer_create(device, mmt_plan_workspace(plan), &args.workspace, &err));
    CHECK(!mmt_execute(plan, &args, NULL, &err));
    CHECK(!mmt_buffer_read(device, c, args.c, sizeof c, &err));
    CHECK(!memcmp(c, right, sizeof right));
#ifdef ADDED
    CHECK(problem.added == 0 && options.added == 0 && args.added == 0);
    args.added = 1;
    CHECK(mmt_execute(plan, &args, NULL, &err) == MMT_ERROR_UNSUPPORTED);
    options.added = 1;
    CHECK(!mmt_plan_create(device, NULL, &problem, &options, &err));
    CHECK(err.status == MMT_ERROR_UNSUPPORTED);
    problem.added = 1;
    CHECK(!mmt_plan_create(device, NULL, &problem, NULL, &err));
    CHECK(err.status == MMT_ERROR_UNSUPPORTED && strstr(err.text, "mmt_problem has"));
#endif
    problem = mmt_gemm_problem(MMT_F32, 2, 2, 3);
    problem.size = 8;
    CHECK(!mmt_plan_create(device, NULL, &problem, NULL, &err));
    CHECK(err.status == MMT_ERROR_ARGUMENT);
#ifndef OLDER
    CHECK(err.argument == MMT_ARGUMENT_SIZE);
#endif
    CHECK(sizeof err == 1032 && strlen(err.text) < 1020);
    problem.size = (size_t) -1;
    CHECK(!mmt_plan_create(device, NULL, &problem, NULL, &err));
    CHECK(err.status == MMT_ERROR_ARGUMENT);
    mmt_plan_free(plan);
    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.b);
    mmt_buffer_free(device, args.c);
    mmt_device_close(device);
    return failed;
}
