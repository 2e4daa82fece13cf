// Dialect words for OpenCL C. Shared templates (.cl) are written in these words only.
#define KERNEL      __kernel
#define GLOBAL      __global
#define SHARED      __local
#define SHARED_PTR  __local
#define SHARED_ADDRESS(p) ((uint) (size_t) (p)) // NVIDIA: as PTX takes it
#define DEVICE_FN   static inline __attribute__((always_inline))
#define CONSTANT_FN DEVICE_FN
#define IN(type)    const type
#define RESTRICT    restrict
#define BARRIER()   barrier(CLK_LOCAL_MEM_FENCE)
#define WARP_BARRIER() BARRIER() // a warp's size is not known
#define THREAD_X    ((int) get_local_id(0))
#define THREAD_Y    ((int) get_local_id(1))
#define BLOCK_X     ((int) get_group_id(0))
#define BLOCK_Y     ((int) get_group_id(1))
#define BLOCK_Z     ((int) get_group_id(2))
#define GRID_X      ((int) get_num_groups(0))
#define GRID_Y      ((int) get_num_groups(1))
#define asm         __asm__  // NVIDIA takes PTX: __CUDA_ARCH__ is defined there
#define UNROLL      _Pragma("unroll")
#define NO_UNROLL   _Pragma("unroll 1")

// Launches of an execution begin one after the other.
#define PDL_WAIT()   ((void) 0)
#define PDL_TRIGGER() ((void) 0)

// Block shape; how many blocks a multiprocessor should hold cannot be said in OpenCL.
#define BLOCK_SIZE(x, y)                  __attribute__((reqd_work_group_size(x, y, 1)))
#define BLOCK_SIZE_RESIDENT(x, y, blocks) BLOCK_SIZE(x, y)

// A block's shared memory as one array; the size stands in the source.
#define SHARED_POOL(type, name, count) \
    __local type name[count] __attribute__((aligned(16)))

#if defined(TYPE_F64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double2 real2;
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#elif defined(TYPE_I32) || defined(TYPE_I8)
typedef uint real;           // wraps, as mod 2^32 must
typedef uint2 real2;
typedef uint4 real4;
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#else
typedef float real;
typedef float2 real2;
typedef float4 real4;
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) mad(a, b, c)
#endif
#endif
#if defined(TYPE_I8) && defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
#define DOT4(a, b, c) ((c) + (real) dot_4x8packed_ss_int(a, b)) // products of four bytes each
#elif defined(TYPE_I8) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
DEVICE_FN uint dot4(uint a, uint b, uint c)
{
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
}
#define DOT4(a, b, c) dot4(a, b, c)
#endif
typedef long wide;           // offsets in elements: a matrix may have more than 2^31
#define FIND_MATRIX(x, number) ((void) 0) // buffers have no pointers
#define FLOAT_OF_BITS(x) as_float((uint) (x))
#define BITS_OF_FLOAT(x) as_uint((float) (x))

// What a GPU rounds and widens by itself, without cl_khr_fp16; numbers.h spells the others
// out. A CPU's compiler makes vectors of that text, and none of this.
#if !DEVICE_IS_CPU
DEVICE_FN float widen_f16(ushort x)
{
    return vload_half(0, (const half *) &x);
}

DEVICE_FN ushort round_to_f16(float x)
{
    ushort y;
    vstore_half_rte(x, 0, (half *) &y);
    return y;
}
#define WIDEN_F16(x)    widen_f16(x)
#define ROUND_TO_F16(x) round_to_f16(x)
#endif

// SUBGROUP_SIZE(threads) stands before a kernel that calls SHUFFLE_XOR(x, lanes): x of the
// thread of its subgroup whose number differs in those bits. All of the subgroup call it.
#if defined(cl_intel_required_subgroup_size)
#define SUBGROUP_SIZE(threads) __attribute__((intel_reqd_sub_group_size(threads)))
#else
#define SUBGROUP_SIZE(threads) // there is but one
#endif
#if defined(cl_khr_subgroup_shuffle)
#define SHUFFLE_XOR(x, lanes) sub_group_shuffle_xor(x, (uint) (lanes))
#elif defined(cl_intel_subgroups)
#define SHUFFLE_XOR(x, lanes) intel_sub_group_shuffle_xor(x, (uint) (lanes))
#elif defined(__CUDA_ARCH__)
DEVICE_FN real shuffle_xor(real x, uint lanes)
{
    uint *words = (uint *) &x;
    UNROLL
    for (int i = 0; i < (int) (sizeof(real) / sizeof(uint)); i++)
        asm volatile("shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;"
                     : "+r"(words[i]) : "r"(lanes));
    return x;
}
#define SHUFFLE_XOR(x, lanes) shuffle_xor(x, lanes)
#endif

// A product that is rounded by itself: no addition is fused to it.
DEVICE_FN real product(real a, real b)
{
#pragma OPENCL FP_CONTRACT OFF
    return a * b;
}

// Whole vectors between memory and a private array: LOAD4(GLOBAL, real, to, from). They stand
// at multiples of 16 bytes or, where they are smaller, of their size; but on a CPU a buffer
// in the caller's memory begins where it begins.
#if DEVICE_IS_CPU
#define LOAD2(space, type, to, from)  vstore2(vload2(0, from), 0, to)
#define LOAD4(space, type, to, from)  vstore4(vload4(0, from), 0, to)
#define STORE2(space, type, to, from) vstore2(vload2(0, from), 0, to)
#define STORE4(space, type, to, from) vstore4(vload4(0, from), 0, to)
#else
#define LOAD2(space, type, to, from)                                \
    do {                                                            \
        const type##2 vector_ = *(const space type##2 *) (from);    \
        (to)[0] = vector_.x, (to)[1] = vector_.y;                   \
    } while (0)
#define STORE2(space, type, to, from) \
    (*(space type##2 *) (to) = (type##2) ((from)[0], (from)[1]))
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
#define STORE4(space, type, to, from) \
    (*(space type##4 *) (to) = (type##4) ((from)[0], (from)[1], (from)[2], (from)[3]))
#endif
#endif
