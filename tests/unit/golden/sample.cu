// sample - what only CUDA can say; its last line has no end.
extern "C" __global__ void mmt_sample(real *c) { c[threadIdx.x] = ROWS; }