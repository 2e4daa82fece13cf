// What neither CUDA C++ nor OpenCL C has words for, in PTX, which NVIDIA takes in both: what
// a warp does together, and copies to shared memory that go on by themselves. Addresses in
// shared memory are 32 bits wide.
//
// A warp's product is 16 x 8, and all types stand alike in it when counted in bytes. Lane
// 4 * g + q holds of A (16 lines, 32 bytes along k), of B (8 lines) and of the accumulators:
//
//              bytes 4q ..      16 + 4q ..
//     line g      a[0]             a[2]          b[0]  b[1]        columns 2q, 2q + 1 of
//     line g + 8  a[1]             a[3]                            row g: c[0], c[1], of
//                                                                  row g + 8: c[2], c[3]

#ifdef __OPENCL_VERSION__
DEVICE_FN unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(x), "r"(y), "r"(selector));
    return bytes;
}
#endif

// From sm_80 on instructions are 32 bytes deep, and copies go by themselves.
#if __CUDA_ARCH__ >= 800
#define ASYNC 1
#else
#define ASYNC 0
#endif

// Until all but the last `behind` groups of this thread's copies are done.
#define AWAIT_COPIES(behind) \
    asm volatile("cp.async.wait_group %0;" :: "n"(behind) : "memory")

DEVICE_FN void end_group(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Start copying so many bytes, 16 or 4, of which all behind the first `count` are 0.
DEVICE_FN void copy_16(unsigned to, const GLOBAL void *from, int count)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(count) : "memory");
}

DEVICE_FN void copy_4(unsigned to, const GLOBAL void *from, int count)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(to), "l"(from), "r"(count) : "memory");
}

DEVICE_FN void copy_8(unsigned to, const GLOBAL void *from, int count)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"(to), "l"(from), "r"(count) : "memory");
}

// All of them where they are wanted, and else nothing. Without a branch.
DEVICE_FN void copy_16_if(bool wanted, unsigned to, const GLOBAL void *from)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0;\n"
                 "@p cp.async.cg.shared.global.L2::128B [%0], [%1], 16; }"
                 :: "r"(to), "l"(from), "r"((unsigned) wanted) : "memory");
}

DEVICE_FN void copy_8_if(bool wanted, unsigned to, const GLOBAL void *from)
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0;\n"
                 "@p cp.async.ca.shared.global [%0], [%1], 8; }"
                 :: "r"(to), "l"(from), "r"((unsigned) wanted) : "memory");
}

// Arrive at a barrier in shared memory once all copies that this thread has started are
// done.
DEVICE_FN void arrive_when_copied(unsigned barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];"
                 :: "r"(barrier) : "memory");
}

// The 1, 2 or 4 bytes there, which is a multiple of as many, or 0. Without a branch, so that
// many such loads are under way together.
DEVICE_FN unsigned load_if(bool there, const GLOBAL void *from, int size)
{
    unsigned x;
#define LOAD_IF(bits)                                                                        \
    asm("{ .reg .pred there; setp.ne.s32 there, %2, 0; mov.b32 %0, 0;"                       \
        "  @there ld.global.u" #bits " %0, [%1]; }" : "=r"(x) : "l"(from), "r"((int) there))
    if (size == 1)
        LOAD_IF(8);
    else if (size == 2)
        LOAD_IF(16);
    else
        LOAD_IF(32);
#undef LOAD_IF
    return x;
}

// Four matrices of 8 lines of 16 bytes. Lane 8 * i + r says where line r of the i-th is;
// lane 4 * g + q gets bytes 4q .. of line g of each.
DEVICE_FN void load_matrices(unsigned to[4], unsigned from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from) : "memory");
}

// The same, but of 16-bit elements that stand transposed: lane 4 * g + q gets the g-th of
// lines 2q and 2q + 1.
DEVICE_FN void load_transposed(unsigned to[4], unsigned from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from) : "memory");
}

#if defined(TYPE_F64)
// One instruction: c += A * B, of 8 or 16 lines of A. Each thread holds of every 4 depths
// one element of line g, a[], of line g + 8, lower[], and of column g, b[]; and the accumulators of
// columns 2q, 2q + 1 of these lines.
DEVICE_FN void mma_8x8x4(real c[2], const real a[1], const real b[1])
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1]) : "d"(a[0]), "d"(b[0]));
}

DEVICE_FN void mma_16x8x4(real c[2], real c_lower[2], const real a[1],
                          const real lower[1], const real b[1])
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, "
        "{%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c_lower[0]), "+d"(c_lower[1])
        : "d"(a[0]), "d"(lower[0]), "d"(b[0]));
}

DEVICE_FN void mma_16x8x8(real c[2], real c_lower[2], const real a[2],
                          const real lower[2], const real b[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c_lower[0]), "+d"(c_lower[1])
        : "d"(a[0]), "d"(lower[0]), "d"(a[1]), "d"(lower[1]), "d"(b[0]), "d"(b[1]));
}

DEVICE_FN void mma_16x8x16(real c[2], real c_lower[2], const real a[4],
                           const real lower[4], const real b[4])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c_lower[0]), "+d"(c_lower[1])
        : "d"(a[0]), "d"(lower[0]), "d"(a[1]), "d"(lower[1]), "d"(a[2]), "d"(lower[2]),
          "d"(a[3]), "d"(lower[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
}
#elif !defined(TYPE_I32)
// One instruction: c += A * B, before sm_80 of half the depth, and of i8 with 8 lines of A.
// That of f32 takes bf16 slices.
#if ASYNC
#if defined(TYPE_F16)
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#elif defined(TYPE_BF16) || defined(TYPE_F32)
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#elif defined(TYPE_TF32)
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif defined(TYPE_F8E4M3)
#define MMA "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#elif defined(TYPE_F8E5M2)
#define MMA "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"
#else
#define MMA "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#endif
#if defined(TYPE_I8)
#define ACC(x) "+r"(x)
#else
#define ACC(x) "+f"(x)
#endif

DEVICE_FN void mma(real c[4], const unsigned a[4], const unsigned b[2])
{
    asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : ACC(c[0]), ACC(c[1]), ACC(c[2]), ACC(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#elif defined(TYPE_F16)
DEVICE_FN void mma(real c[4], const unsigned a[2], const unsigned b[1])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
#elif defined(TYPE_I8)
DEVICE_FN void mma(real c[2], const unsigned a[1], const unsigned b[1])
{
    asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(b[0]));
}
#else
#error "bf16, tf32, f32, f8e4m3 and f8e5m2 have no instruction before sm_80"
#endif
#endif

#if defined(TYPE_F32)
// Two f32 as bf16 in one word, rounded to the nearest.
DEVICE_FN unsigned pair_of_bf16(float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
#endif
