// dot - C(i) = alpha * sum over p of A(i, p) * B(i, p) + beta * C(i): many dot products in
// one launch, row major.
//
// A dot product is cut into parts of some chunks, each summed up by THREADS threads of one
// block. A chunk has WORK*THREADS*VECTOR elements:
//
//            chunk 0   chunk 1   chunk 2   chunk 3
//   row 0  [      part 0       |      part 1       | ...
//   row 1  [      part 0       |      part 1       | ...
//
// Each thread keeps WORK*VECTOR sums; they are added up in halves, in shared memory. The
// order of all additions depends on k alone, so that the same numbers always give the same
// bits. Where there is more than one part, a second launch adds the parts up.
//
// Launch: mmt_dot, block (THREADS, ROWS), grid (parts * ceil(m/ROWS), 1, batch);
//         add_parts, block (THREADS, ROWS), grid (ceil(m/ROWS), 1, batch), where parts > 1.

#ifndef THREADS
#define THREADS 256   // threads of a dot product in a block
#endif
#ifndef ROWS
#define ROWS 1        // dot products of a block
#endif
#ifndef VECTOR
#define VECTOR 4      // neighbouring elements of a thread, per load
#endif
#ifndef WORK
#define WORK 2        // vectors of a thread in a chunk
#endif
#ifndef PARTS
#define PARTS 256     // parts of a dot product, at most
#endif
#ifndef ALIGNED
#define ALIGNED 0     // 1: every row starts at a whole vector
#endif

#if VECTOR < 1 || VECTOR > 16 || (VECTOR & (VECTOR - 1)) != 0
#error "VECTOR must be 1, 2, 4, 8 or 16"
#endif
#if (THREADS & (THREADS - 1)) != 0
#error "THREADS must be a power of two: acc are added up in halves"
#endif

#define STEP  (THREADS * VECTOR)
#define CHUNK (WORK * STEP)

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if ALIGNED && (VECTOR == 2 || VECTOR == 4)
#define LOAD_VECTOR(to, from) PASTE(LOAD, VECTOR)(GLOBAL, real, to, from)
#else
#define LOAD_VECTOR(to, from)                  \
    do {                                       \
        UNROLL                                 \
        for (int e_ = 0; e_ < VECTOR; e_++)    \
            (to)[e_] = (from)[e_];             \
    } while (0)
#endif

DEVICE_FN int chunks_of(int k)
{
    return k > 0 ? (k - 1) / CHUNK + 1 : 1;
}

DEVICE_FN int parts_of(int k)
{
    return min(chunks_of(k), PARTS);
}

// Where a part begins.
DEVICE_FN wide start_of(int part, int parts, int k)
{
    return (wide) chunks_of(k) * part / parts * CHUNK;
}

// Adds the products of one whole chunk to a thread's accumulators.
DEVICE_FN void add_chunk(real acc[WORK][VECTOR], const GLOBAL real *a,
                         const GLOBAL real *b)
{
    real x[WORK][VECTOR], y[WORK][VECTOR];
    UNROLL
    for (int w = 0; w < WORK; w++) {
        LOAD_VECTOR(x[w], a + w * STEP);
        LOAD_VECTOR(y[w], b + w * STEP);
    }
    UNROLL
    for (int w = 0; w < WORK; w++)
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            acc[w][e] = MULTIPLY_ADD(x[w][e], y[w][e], acc[w][e]);
}

// A thread's share of one part.
DEVICE_FN real sum_part(const GLOBAL real *a, const GLOBAL real *b, int k, int part,
                        int parts)
{
    real acc[WORK][VECTOR];
    UNROLL
    for (int w = 0; w < WORK; w++)
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            acc[w][e] = 0;

    const wide end = start_of(part + 1, parts, k) < k ? start_of(part + 1, parts, k) : k;
    wide first = start_of(part, parts, k);
    for (; first + CHUNK <= end; first += CHUNK) {
        const wide at = first + THREAD_X * VECTOR;
        add_chunk(acc, a + at, b + at);
    }
    real sum = 0;
    for (wide p = first + THREAD_X; p < end; p += THREADS)
        sum = MULTIPLY_ADD(a[p], b[p], sum);
    UNROLL
    for (int w = 0; w < WORK; w++)
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            sum += acc[w][e];
    return sum;
}

// The sum over the THREADS threads of a row of the block, for its first one.
DEVICE_FN real add_up(SHARED_PTR real *acc, real sum)
{
    acc[THREAD_X] = sum;
    BARRIER();
    for (int rest = THREADS / 2; rest > 0; rest /= 2) {
        if (THREAD_X < rest)
            acc[THREAD_X] += acc[THREAD_X + rest];
        BARRIER();
    }
    return acc[0];
}

// beta = 0 never reads C.
DEVICE_FN void store(GLOBAL real *c, real alpha, real sum, real beta)
{
    *c = beta == 0 ? alpha * sum : MULTIPLY_ADD(beta, *c, alpha * sum);
}

KERNEL BLOCK_SIZE(THREADS, ROWS)
void mmt_dot(int m, int k, real alpha, real beta,
             const GLOBAL real *scalars, wide scalars_start,
             const GLOBAL real *RESTRICT a, wide a_start, int lda, wide a_stride,
             const GLOBAL real *RESTRICT b, wide b_start, int ldb, wide b_stride,
             GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride,
             GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    SHARED real acc[ROWS][THREADS];
    const int parts = parts_of(k), part = BLOCK_X % parts;
    const wide row = (wide) (BLOCK_X / parts) * ROWS + THREAD_Y;

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    a += a_start + BLOCK_Z * a_stride + row * lda;
    b += b_start + BLOCK_Z * b_stride + row * ldb;
    c += c_start + BLOCK_Z * c_stride + row * ldc;
    workspace += workspace_start + (BLOCK_Z * (wide) m + row) * parts + part;

    const bool idle = row >= m || alpha == 0; // then A and B may be absent
    const real mine = idle ? 0 : sum_part(a, b, k, part, parts);
    const real sum = add_up(acc[THREAD_Y], mine);
    if (THREAD_X > 0 || row >= m)
        return;
    if (parts > 1)
        *workspace = sum;
    else
        store(c, alpha, sum, beta);
}

KERNEL BLOCK_SIZE(THREADS, ROWS)
void add_parts(int m, int k, real alpha, real beta,
               const GLOBAL real *scalars, wide scalars_start,
               GLOBAL real *RESTRICT c, wide c_start, int ldc, wide c_stride,
               const GLOBAL real *RESTRICT workspace, wide workspace_start)
{
    SHARED real acc[ROWS][THREADS];
    const int parts = parts_of(k);
    const wide row = (wide) BLOCK_X * ROWS + THREAD_Y;

    if (parts == 1)
        return; // all is done
    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    workspace += workspace_start + (BLOCK_Z * (wide) m + row) * parts;
    real mine = 0;
    for (int part = THREAD_X; row < m && part < parts; part += THREADS)
        mine += workspace[part];
    const real sum = add_up(acc[THREAD_Y], mine);
    if (THREAD_X == 0 && row < m)
        store(c + c_start + BLOCK_Z * c_stride + row * ldc, alpha, sum, beta);
}
