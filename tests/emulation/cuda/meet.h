/* What threads of an emulated block ask of the program that runs them. */
#ifndef MMT_TESTS_EMULATE_MEET_H
#define MMT_TESTS_EMULATE_MEET_H

#ifdef __cplusplus
extern "C" {
#endif

struct emulate_index {
    unsigned x, y, z;
};

/* Of the thread that runs now. */
extern struct emulate_index threadIdx, blockIdx, blockDim, gridDim;

/* Until all threads of the block are here that have not returned. */
void emulate_barrier(void);

/* Until all 32 lanes of the warp are here; the last of them calls `together` with what
 * each has brought, which stays where it is meanwhile. */
void emulate_warp(void (*together)(void *const brought[32]), void *mine);

/* cp.async: `count` bytes and zeros up to `size`. They arrive at once, or not before they
 * are awaited, as is drawn. `to` counts from the start of shared memory. */
void emulate_copy(unsigned to, const void *from, int count, int size);
void emulate_end_group(void);
void emulate_await(int behind);

/* Barriers in shared memory at `at`, which wait for that many arrivals: of a thread
 * itself, or as soon as its copies so far have arrived. Waiting ends when phases of that
 * parity have been completed more often than others begun. */
void emulate_counter(unsigned at, int arrivals);
void emulate_counter_end(unsigned at);
void emulate_count(unsigned at);
void emulate_count_copied(unsigned at);
void emulate_counter_wait(unsigned at, unsigned parity);

/* Complains unless so many bytes from there on are in the block's shared memory and begin
 * at a multiple of their number. */
void emulate_check(unsigned at, int bytes);

#ifdef __cplusplus
}
#endif
#endif
