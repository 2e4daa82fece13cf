/* A process of this program's own, `mmtune --WORD …`, that is asked over a socket. It has
 * a process group: Ctrl-C is the parent's to hear, and what it starts is killed with it.
 */
#ifndef MMT_TUNER_COMMON_CHILD_H
#define MMT_TUNER_COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mmt_child {
    pid_t pid; /* 0: there is none */
    int fd;    /* of the socket; -1: there is none */
};

/* Of the child: its end of the socket, and memory that both map. */
enum { MMT_CHILD_FD = 3, MMT_CHILD_MEMORY_FD = 4 };

/* `environment`: NULL for this process's. What it prints goes to the file `words`; -1:
 * nowhere. `memory` may be -1. Returns 0, or errno's code; there is none then. */
int mmt_child_start(struct mmt_child *child, char *const argv[],
                    char *const environment[], int words, int memory);

/* Kills what there is of it, and closes the socket. Returns as waitpid has it how it
 * ended; 0 where there was none. */
int mmt_child_stop(struct mmt_child *child);

/* Whole messages; false where the other end is gone. */
bool mmt_child_send(int fd, const void *bytes, size_t size);
bool mmt_child_receive(int fd, void *bytes, size_t size);

/* For a child that has computed by a library: waits until the library's idle threads no
 * longer spin, seen from the time that the process uses; a tenth of a second at most. */
void mmt_child_rest(void);

#endif
