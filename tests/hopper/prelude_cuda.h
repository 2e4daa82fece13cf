// CUDA's words for a host compiler: what templates/prelude_cuda.h says, for a block whose
// threads are fibers (machine.h).
#define KERNEL extern "C"
#define GLOBAL
#define DEVICE_FN static inline
#define RESTRICT
#define UNROLL
#define NO_UNROLL
#define AWAIT_LAUNCH()
#define NEXT_MAY_BEGIN()
#define BARRIER() __syncthreads()
#define THREAD_X  (machine.fiber->thread)
#define BLOCK_X   (machine.fiber->block->index[0])
#define BLOCK_Y   (machine.fiber->block->index[1])
#define BLOCK_Z   (machine.fiber->block->index[2])

#define __shared__       static // blocks that share no cluster run one after another
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shfl_sync(mask, value, lane) (value) // of values that are the same in a warp
#define __syncthreads()                numbered_sync(0, machine.fiber->block->threads)
#define gridDim                        machine.grid

#if defined(TYPE_I8)
typedef unsigned int real;
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else
typedef float real;
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#endif
struct real2 {
    real x, y;
};
typedef long long wide;

static inline float FLOAT_OF_BITS(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline unsigned BITS_OF_FLOAT(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}
