/* What NVIDIA's cards are like where nobody can ask them: there is none, or OpenCL does
 * not tell. */
#ifndef MMT_DEVICE_CARDS_H
#define MMT_DEVICE_CARDS_H

/* A usual card of a compute capability. Shared memory in KiB: what a block may ask for,
 * what a multiprocessor has; the same for all cards of it, as are threads and blocks.
 * Cache in KiB, memory in GiB, clock in MHz. */
struct mmt_card {
    int sm;
    unsigned shared, shared_per_sm, threads_per_sm, blocks_per_sm, sms;
    unsigned cache, memory, clock;
};

/* The card of that capability, or the nearest older one. */
const struct mmt_card *mmt_find_card(int sm);

/* 32-bit registers that a thread of that capability may use. */
unsigned mmt_registers_per_thread(int sm);

#endif
