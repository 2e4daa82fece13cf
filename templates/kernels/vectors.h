// Helpers of kernels whose threads carry a tile's vectors to shared memory: which of them a
// thread carries.
//
// Vectors stand in runs of `run` of them. A thread carries its first, which has that number,
// and then every `step`-th: so many threads carry beside each other.

// The run in which a thread's j-th vector stands, and its place there: where it can be, that
// of its first and a constant.
DEVICE_FN int of_run(unsigned first, int j, int step, int run)
{
    if (run % step == 0)
        return j * step / run;
    return step % run == 0 ? first / run + j * (step / run) : (first + j * step) / run;
}

DEVICE_FN int in_run(unsigned first, int j, int step, int run)
{
    if (run % step == 0)
        return first + j * step % run;
    return step % run == 0 ? first % run : (first + j * step) % run;
}

// Whether a tile of so many vectors has the j-th of a thread.
DEVICE_FN bool carries(unsigned thread, int j, int threads, int vectors)
{
    return (j + 1) * threads <= vectors || thread + j * threads < vectors;
}
