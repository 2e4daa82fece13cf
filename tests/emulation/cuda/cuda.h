/* What a CUDA text finds where it runs on the host: the words that NVIDIA's compiler
 * knows by itself. Stands before the text; the program that loads it runs a block's
 * threads in turns (emulate.c). C++17. */

#include <stdint.h>
#include <string.h>

#include "cuda/meet.h"
#include "cuda_host_shim.h"

/* What kernels take of <math.h>, which takes as long to read as a kernel. */
extern "C" {
double exp(double);
double erfc(double);
double fma(double, double, double);
float fmaf(float, float, float);
}

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __shared__   thread_local
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __syncthreads() emulate_barrier()
#define __syncwarp()    emulate_warp(emulate_nothing, NULL)

static void emulate_nothing(void *const brought[32]) {}

/* Lane l gets what lane l ^ lanes brought. */
template <class T> struct emulated_shuffle {
    T brought, got;
    int lanes;
};
template <class T> void emulate_all_shuffle(void *const shuffles[32])
{
    emulated_shuffle<T> *const *lane = (emulated_shuffle<T> *const *) shuffles;
    for (int l = 0; l < 32; l++)
        lane[l]->got = lane[l ^ lane[l]->lanes]->brought;
}
template <class T> T __shfl_xor_sync(unsigned mask, T x, int lanes)
{
    emulated_shuffle<T> mine = { x, x, lanes };
    emulate_warp(emulate_all_shuffle<T>, &mine);
    return mine.got;
}

static inline int __dp4a(int a, int b, int c)
{
    unsigned sum = c;
    for (int i = 0; i < 32; i += 8)
        sum += (unsigned) ((signed char) (a >> i) * (signed char) (b >> i));
    return (int) sum;
}

static inline int min(int a, int b)
{
    return a < b ? a : b;
}

/* Vectors stand at multiples of their size: a card ends a kernel that takes one
 * elsewhere. */
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};

template <class To, class From> To emulate_bits(From x)
{
    To bits;
    static_assert(sizeof(bits) == sizeof(x), "as many bits");
    memcpy(&bits, &x, sizeof(x));
    return bits;
}

#define __float_as_uint(x) emulate_bits<unsigned>((float) (x))
#define __uint_as_float(x) emulate_bits<float>((unsigned) (x))
#define __fmul_rn(a, b)    ((float) ((a) * (b)))
#define __dmul_rn(a, b)    ((double) ((a) * (b)))

/* Shared memory as large as any block may ask for; its addresses begin at 0. */
enum { EMULATED_SHARED = 227 * 1024 };
extern "C" {
alignas(1024) thread_local unsigned char mmt_shared[EMULATED_SHARED];
}

static inline unsigned __cvta_generic_to_shared(const void *at)
{
    return (unsigned) ((const unsigned char *) at - mmt_shared);
}

static inline void *__cvta_shared_to_generic(size_t at)
{
    return mmt_shared + at;
}

extern "C" void emulate_entry(void **args);
extern "C" void *emulate_shared(void)
{
    return mmt_shared;
}

/* Calls a kernel as a driver does: args[i] points to the i-th parameter. What stands in
 * braces is taken from left to right. */
template <class... P> struct emulated_call {
    emulated_call(void (*kernel)(P...), P... given)
    {
        kernel(given...);
    }
};
template <class... P> void emulate_call(void (*kernel)(P...), void **args)
{
    emulated_call<P...>{ kernel, *(P *) *args++... };
}
