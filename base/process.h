/* Which process something belongs to, told so that others find out whether it is gone. */
#ifndef MMT_BASE_PROCESS_H
#define MMT_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Words are "?" and numbers 0 where the system does not tell. */
struct mmt_process {
    char host[64], boot[40]; /* the machine, and its start */
    uint64_t pid_space;      /* there the name space of process numbers */
    uint64_t started;        /* clock ticks since the machine was */
    int64_t pid;
};

struct mmt_process mmt_process_self(void);

/* Whether it has ended, as far as `self` can know: of another machine or container
 * nothing is known. */
bool mmt_process_is_gone(const struct mmt_process *process,
                         const struct mmt_process *self);

#endif
