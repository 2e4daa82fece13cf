/* Of templates/kernels/hopper.h what a block needs that is alone, for the host: its
 * barriers. */

static unsigned keep(unsigned value)
{
    return value;
}

static void barrier_init(unsigned barrier, int arrivals)
{
    emulate_counter(barrier, arrivals);
}

static void barrier_end(unsigned barrier)
{
    emulate_counter_end(barrier);
}

static void barrier_arrive(unsigned barrier)
{
    emulate_count(barrier);
}

static void barrier_wait(unsigned barrier, unsigned parity)
{
    emulate_counter_wait(barrier, parity);
}

/* Clusters are not emulated, so these are never called. */
void cluster_sync(int blocks);
void load_pair_of(double to[2], unsigned from, int block);
