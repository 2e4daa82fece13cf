/* What a kernel selection costs the host: bench_selection PROFILE...
 *
 * Any shapes of f32, all transposes in turn; of each the least of some tries, as what
 * else the machine does only adds to it. Nothing is remembered between them. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "runtime/runtime.h"
#include "tests/support/scoped.h"
#include "tests/support/synthetic_device.h"

enum { SHAPES = 800, TRIES = 20, CALLS = 4 };

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double) at.tv_sec + 1e-9 * (double) at.tv_nsec;
}

static double selection_seconds(const mmt_profile *profile, const mmt_problem *problem)
{
    struct mmt_selection selection;
    double least = INFINITY;
    mmt_error err;
    for (int i = 0; i < TRIES; i++) {
        const double begun = now();
        for (int call = 0; call < CALLS; call++)
            mmt_select(profile, problem, &profile->caps, NULL, &selection, &err);
        least = fmin(least, (now() - begun) / CALLS);
    }
    return least;
}

static mmt_problem any_problem(int transposes)
{
    mmt_problem problem = synthetic_any_shape();
    mmt_error err;
    problem.trans_a = transposes / 2;
    problem.trans_b = transposes % 2;
    problem.lda = problem.ldb = problem.ldc = 0;
    mmt_problem_normalise(&problem, &problem, &err);
    return problem;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        mmt_error err = { 0 };
        SCOPED_PROFILE *profile = mmt_profile_load(argv[i], &err);
        double mean = 0, worst = 0;
        if (!profile) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        for (int s = 0; s < SHAPES; s++) {
            const mmt_problem problem = any_problem(s % 4);
            const double seconds = selection_seconds(profile, &problem);
            mean += seconds / SHAPES;
            worst = fmax(worst, seconds);
        }
        printf("%s: a selection takes %.1f us in the mean of %d shapes, %.1f at worst\n",
               argv[i], 1e6 * mean, SHAPES, 1e6 * worst);
    }
    return 0;
}
