// The goldens' own prelude for OpenCL: the real one may grow without moving them.
#define KERNEL __kernel
typedef float real;
