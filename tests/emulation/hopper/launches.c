/* Prints what a template launches for a problem, for emulate.cpp to read. */
#include <stdio.h>

#include "generator/generator.h"
#include "tests/support/caps.h"

static struct mmt_caps caps;

/* Few blocks stay, in whole clusters, so that each has several tiles. */
static unsigned width(const struct mmt_launch *launch, unsigned cluster)
{
    const unsigned most = cluster > caps.sms ? cluster : caps.sms;
    if (launch->grid_of_previous)
        return width(launch - 1, cluster);
    return launch->persistent && launch->grid[0] > most ? most : launch->grid[0];
}

static void print_launch(const struct mmt_launch *launch, unsigned cluster)
{
    printf("%s %u %u %u %u %u %zu %zu %zu %d", launch->entry, width(launch, cluster),
           launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
           launch->shared, launch->workspace_at, launch->second_workspace_at,
           launch->splits);
    for (int i = 0; i < 3; i++) {
        const struct mmt_box *box = &launch->box[i];
        printf(" %u %u %u %d %zu %d", box->inner, box->outer, box->swizzle,
               (int) box->packed, box->at, box->serves_batch);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct mmt_config config;
    struct mmt_launches launches;
    mmt_problem p;
    mmt_error err = { 0 };
    caps = hopper_caps(4);
    if (argc != 3 || mmt_config_parse(argv[1], &config, &err) ||
        mmt_problem_parse(argv[2], &p, &err) || mmt_problem_normalise(&p, &p, &err)) {
        fprintf(stderr, "usage: launches CONFIGURATION PROBLEM; %s\n", err.text);
        return 2;
    }
    const char *why = mmt_config_check_problem(&config, &p, &caps);
    if (why) {
        fprintf(stderr, "%s: %s\n", argv[1], why);
        return 1;
    }
    mmt_config_launch(&config, &p, &caps, &launches);
    const int shape = mmt_config_work(&config, p.type).cluster; /* 24: 2 x 4 */
    const unsigned cluster = (unsigned) (shape / 10 * (shape % 10));
    printf("%lld %lld %lld %d %d %lld %lld %lld %lld %lld %lld %lld %d %zu %d\n",
           (long long) p.m, (long long) p.n, (long long) p.k, p.trans_a, p.trans_b,
           (long long) p.lda, (long long) p.ldb, (long long) p.ldc,
           (long long) p.stride_a, (long long) p.stride_b, (long long) p.stride_c,
           (long long) p.batch, (int) p.bias, launches.workspace, launches.count);
    for (int i = 0; i < launches.count; i++)
        print_launch(&launches.launch[i], cluster);
    return 0;
}
