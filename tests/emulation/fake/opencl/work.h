/* What launches compute: operations on the host's memory, of which the last waits until
 * somebody looks. One that the next overwrites is never done, as nobody can tell: that of
 * a kernel that is timed, say. */
#ifndef MMT_TESTS_OPENCL_WORK_H
#define MMT_TESTS_OPENCL_WORK_H

#include "base/problem.h"

struct work {
    mmt_problem problem; /* with all strides */
    double alpha, beta;
    const char *a, *b, *bias; /* may be NULL where they are not read */
    char *c;
};

/* Puts it off; does what was put off before, unless it overwrites that. */
void work_do(const struct work *work);

/* Does what was put off; before anybody reads, writes or frees any memory. */
void work_settle(void);

#endif
