// Dialect words for CUDA C++. Shared templates (.cl) are written in these words only.
#define KERNEL      extern "C" __global__
#define GLOBAL
#define SHARED      __shared__
#define SHARED_PTR
#define SHARED_ADDRESS(p) ((unsigned) __cvta_generic_to_shared(p)) // as PTX takes it
#define DEVICE_FN   static __device__ __forceinline__
#define CONSTANT_FN DEVICE_FN constexpr // its value is known where its arguments are
#define IN(type)    const type &         // a parameter that is read
#define RESTRICT    __restrict__
#define BARRIER()   __syncthreads()
#define WARP_BARRIER() __syncwarp()
#define SUBGROUP_SIZE(threads)  // a warp's
#define SHUFFLE_XOR(x, lanes) __shfl_xor_sync(0xffffffffu, x, lanes)
#define THREAD_X    ((int) threadIdx.x)
#define THREAD_Y    ((int) threadIdx.y)
#define BLOCK_X     ((int) blockIdx.x)
#define BLOCK_Y     ((int) blockIdx.y)
#define BLOCK_Z     ((int) blockIdx.z)
#define GRID_X      ((int) gridDim.x)
#define GRID_Y      ((int) gridDim.y)
#define UNROLL      _Pragma("unroll")
#define NO_UNROLL   _Pragma("unroll 1")

// A launch may begin while the one before it in the stream, of another execution or not ours at
// all, is at work: once all blocks of that one have called PDL_TRIGGER or have ended. It calls
// PDL_WAIT before it touches memory that others write to or read: then that one is done, and
// what it wrote is seen. Every kernel calls it before it ends, so that all the ones before are
// done as well.
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
#define PDL_WAIT()   asm volatile("griddepcontrol.wait;" ::: "memory")
#define PDL_TRIGGER() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define PDL_WAIT()   ((void) 0)
#define PDL_TRIGGER() ((void) 0)
#endif

// Block shape, and how many blocks a multiprocessor should hold at least.
#define BLOCK_SIZE(x, y)                  __launch_bounds__((x) * (y))
#define BLOCK_SIZE_RESIDENT(x, y, blocks) __launch_bounds__((x) * (y), blocks)

// A block's shared memory as one array, sized by the launch: more than 48 KiB may be asked.
#define SHARED_POOL(type, name, count)                           \
    extern __shared__ __align__(16) unsigned char mmt_shared[];  \
    type *name = (type *) mmt_shared

#if defined(TYPE_F64)
typedef double real;
typedef double2 real2;
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#elif defined(TYPE_I32) || defined(TYPE_I8)
typedef unsigned int real;   // wraps, as mod 2^32 must
typedef uint2 real2;
typedef uint4 real4;
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else
typedef float real;
typedef float2 real2;
typedef float4 real4;
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#endif
#if defined(TYPE_I8) && __CUDA_ARCH__ >= 610 // c and the products of four bytes of a and of b
#define DOT4(a, b, c) ((real) __dp4a((int) (a), (int) (b), (int) (c)))
#endif
typedef long long wide;      // offsets in elements: a matrix may have more than 2^31

// Of a batch by pointers x is an array of them, null where nothing is read, and start and stride
// are 0: from here on x is the matrix of that number. Any other batch's x stays as it is.
#if defined(BATCH_BY_POINTERS)
template <class matrix> DEVICE_FN matrix *find_matrix(matrix *array, wide number)
{
    return array ? ((matrix *const *) array)[number] : array;
}
#define FIND_MATRIX(x, number) (x = find_matrix(x, number))
#else
#define FIND_MATRIX(x, number) ((void) 0)
#endif

#define FLOAT_OF_BITS(x) __uint_as_float(x)
#define BITS_OF_FLOAT(x) __float_as_uint(x)

// What the device rounds and widens by itself; numbers.h spells the others out.
#if defined(__CUDACC__)
DEVICE_FN unsigned short round_to_f16(float x)
{
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

DEVICE_FN float widen_f16(unsigned short x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
#define ROUND_TO_F16(x) round_to_f16(x)
#define WIDEN_F16(x)    widen_f16(x)
#endif

// A product that is rounded by itself: no addition is fused to it.
DEVICE_FN real product(real a, real b)
{
#if defined(TYPE_F64)
    return __dmul_rn(a, b);
#elif defined(TYPE_I32) || defined(TYPE_I8)
    return a * b;
#else
    return __fmul_rn(a, b);
#endif
}

// Whole vectors between memory and a private array: LOAD4(GLOBAL, real, to, from). They stand
// at multiples of 16 bytes or, where they are smaller, of their size.
#define LOAD2(space, type, to, from)                                \
    do {                                                            \
        const type##2 vector_ = *(const space type##2 *) (from);    \
        (to)[0] = vector_.x, (to)[1] = vector_.y;                   \
    } while (0)
#define STORE2(space, type, to, from)                               \
    do {                                                            \
        type##2 vector_;                                            \
        vector_.x = (from)[0], vector_.y = (from)[1];               \
        *(space type##2 *) (to) = vector_;                          \
    } while (0)
#if defined(TYPE_F64)
#define LOAD4(space, type, to, from)                                \
    do {                                                            \
        LOAD2(space, type, to, from);                               \
        LOAD2(space, type, (to) + 2, (from) + 2);                   \
    } while (0)
#define STORE4(space, type, to, from)                               \
    do {                                                            \
        STORE2(space, type, to, from);                              \
        STORE2(space, type, (to) + 2, (from) + 2);                  \
    } while (0)
#else
#define LOAD4(space, type, to, from)                                \
    do {                                                            \
        const type##4 vector_ = *(const space type##4 *) (from);    \
        (to)[0] = vector_.x, (to)[1] = vector_.y;                   \
        (to)[2] = vector_.z, (to)[3] = vector_.w;                   \
    } while (0)
#define STORE4(space, type, to, from)                               \
    do {                                                            \
        type##4 vector_;                                            \
        vector_.x = (from)[0], vector_.y = (from)[1];               \
        vector_.z = (from)[2], vector_.w = (from)[3];               \
        *(space type##4 *) (to) = vector_;                          \
    } while (0)
#endif
