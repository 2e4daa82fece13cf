// CUDA's words for a host compiler: what templates/kernels/prelude_cuda.h says, for a
// block whose threads are coroutines (machine.h).
#define KERNEL extern "C"
#define GLOBAL
#define SHARED static // blocks that share no cluster run one after another
#define SHARED_PTR
#define DEVICE_FN static inline
#define RESTRICT
#define UNROLL
#define NO_UNROLL
#define PDL_WAIT()
#define PDL_TRIGGER()
#define BARRIER()              __syncthreads()
#define WARP_BARRIER()         __syncwarp()
#define THREAD_X               (machine.coroutine->thread % machine.width)
#define THREAD_Y               (machine.coroutine->thread / machine.width)
#define BLOCK_X                (machine.coroutine->block->index[0])
#define BLOCK_Y                (machine.coroutine->block->index[1])
#define BLOCK_Z                (machine.coroutine->block->index[2])
#define FIND_MATRIX(x, number) ((void) 0) // TMA takes no batch by pointers
#define GRID_X                 (machine.grid.x)
#define GRID_Y                 (machine.grid.y)
#define BLOCK_SIZE(x, y)
#define BLOCK_SIZE_RESIDENT(x, y, blocks)

#define __shared__       SHARED
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shfl_sync(mask, value, lane)    same_of_warp(value)
#define __any_sync(mask, word)            any_of_warp(word)
#define __syncthreads()                   numbered_sync(0, machine.coroutine->block->threads)
#define __syncwarp()                      warp_sync()
#define gridDim                           machine.grid
#define __cvta_generic_to_shared(pointer) address_of(machine.coroutine->block, pointer)

#if defined(TYPE_I8) || defined(TYPE_I32)
typedef unsigned int real;
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#elif defined(TYPE_F64)
typedef double real;
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
typedef float real;
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#endif
struct real2 {
    real x, y;
};
typedef long long wide;

// Whole vectors: MAX_VECTOR elements are 16 bytes.
#define COPY_VECTOR(type, to, from, count) memcpy(to, from, (count) * sizeof(type))
#define LOAD2(space, type, to, from)       COPY_VECTOR(type, to, from, 2)
#define LOAD4(space, type, to, from)       COPY_VECTOR(type, to, from, 4)
#define STORE2(space, type, to, from)      COPY_VECTOR(type, to, from, 2)
#define STORE4(space, type, to, from)      COPY_VECTOR(type, to, from, 4)

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
