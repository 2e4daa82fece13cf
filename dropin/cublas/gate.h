/* Whose launches with one workspace may follow each other.
 *
 * What a stream is given runs in order, also where two threads share a handle or a
 * stream, and a launch that may begin before the one ahead is done (PDL) waits for it
 * inside. But a call may be several launches that hand partial results on in a workspace,
 * as those of split-K do: then nobody else's with the same workspace may come between. A
 * program's workspace is the library's, too; a part of the pool is ours alone.
 *
 * So a call of ours enters alone, or not at all, and passes then. Calls of the library
 * enter together, as they would without us; they wait while one of ours queues its
 * launches, some microseconds. Ours never waits. Any thread. */
#ifndef MMT_DROPIN_CUBLAS_GATE_H
#define MMT_DROPIN_CUBLAS_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Each takes the address of a workspace; 0 is none, which all have at once. */
bool mmt_gate_enter_alone(uint64_t workspace);
void mmt_gate_leave_alone(uint64_t workspace);
void mmt_gate_enter(uint64_t workspace);
void mmt_gate_leave(uint64_t workspace);

/* Has children of this process begin with nobody inside: threads that were are gone. */
void mmt_gate_watch_fork(void);

#endif
