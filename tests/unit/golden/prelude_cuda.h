// The goldens' own prelude for CUDA: the real one may grow without moving them.
#define KERNEL extern "C" __global__
typedef float real;
