// sample - the kernel of the goldens.
#ifndef ROWS
#define ROWS 4     // rows per thread
#endif

KERNEL void mmt_sample(real *c)
{
    c[ROWS] = ALIGNED;
}
