// axpby - C = alpha*A + beta*B, element by element, row major.
//
// A block takes one stretch of a row, WORK*THREADS*VECTOR elements; each thread takes WORK
// vectors of it, THREADS vectors apart, so that neighbouring threads touch neighbours:
//
//   thread      0     1     2          0     1     2
//   elements  [....][....][....]...  [....][....][....]...      VECTOR = 4, WORK = 2
//
// Rows that stand one after the other without a gap are taken as one long row.
//
// C may be A or B: what a thread writes, it alone has read before.
//
// Launch: block (THREADS, 1), grid (stretches of a row * rows, 1, batch).

#ifndef THREADS
#define THREADS 256   // threads of a block
#endif
#ifndef VECTOR
#define VECTOR 4      // neighbouring elements of a thread, per load
#endif
#ifndef WORK
#define WORK 1        // vectors of a thread
#endif
#ifndef ALIGNED
#define ALIGNED 0     // 1: every row starts at a whole vector
#endif

#if VECTOR < 1 || VECTOR > 16 || (VECTOR & (VECTOR - 1)) != 0
#error "VECTOR must be 1, 2, 4, 8 or 16"
#endif

#define STRETCH (WORK * THREADS * VECTOR)

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#if ALIGNED && (VECTOR == 2 || VECTOR == 4)
#define LOAD_VECTOR(to, from)  PASTE(LOAD, VECTOR)(GLOBAL, real, to, from)
#define STORE_VECTOR(to, from) PASTE(STORE, VECTOR)(GLOBAL, real, to, from)
#else
#define COPY_VECTOR(to, from)                  \
    do {                                       \
        UNROLL                                 \
        for (int e_ = 0; e_ < VECTOR; e_++)    \
            (to)[e_] = (from)[e_];             \
    } while (0)
#define LOAD_VECTOR(to, from)  COPY_VECTOR(to, from)
#define STORE_VECTOR(to, from) COPY_VECTOR(to, from)
#endif

DEVICE_FN bool is_one_row(int n, int lda, int ldb, int ldc)
{
    return lda == n && ldb == n && ldc == n;
}

// A thread's first `vectors` vectors of a stretch; zeros where the factor is 0 and the array
// may be absent.
DEVICE_FN void load_vectors(real out[WORK][VECTOR], int vectors, real factor,
                            const GLOBAL real *from)
{
    UNROLL
    for (int w = 0; w < vectors; w++)
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            out[w][e] = 0;
    if (factor != 0)
        UNROLL
        for (int w = 0; w < vectors; w++)
            LOAD_VECTOR(out[w], from + w * THREADS * VECTOR);
}

DEVICE_FN void add_vectors(int vectors, real alpha, const GLOBAL real *a, real beta,
                           const GLOBAL real *b, GLOBAL real *c)
{
    real x[WORK][VECTOR], y[WORK][VECTOR];
    load_vectors(x, vectors, alpha, a);
    load_vectors(y, vectors, beta, b);
    UNROLL
    for (int w = 0; w < vectors; w++) {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            x[w][e] = MULTIPLY_ADD(alpha, x[w][e], beta * y[w][e]);
        STORE_VECTOR(c + w * THREADS * VECTOR, x[w]);
    }
}

DEVICE_FN void add_element(real alpha, const GLOBAL real *a, real beta,
                           const GLOBAL real *b, GLOBAL real *c, int i)
{
    const real x = alpha == 0 ? 0 : a[i], y = beta == 0 ? 0 : b[i];
    c[i] = MULTIPLY_ADD(alpha, x, beta * y);
}

// The last stretch of a row, `count` elements: one by one side by side, but on a CPU, where
// a thread's own neighbours make a vector, whole vectors as far as there are any.
DEVICE_FN void add_rest(real alpha, const GLOBAL real *a, real beta, const GLOBAL real *b,
                        GLOBAL real *c, int count)
{
    if (DEVICE_IS_CPU) {
        for (int at = THREAD_X * VECTOR; at < count; at += THREADS * VECTOR)
            if (at + VECTOR <= count)
                add_vectors(1, alpha, a + at, beta, b + at, c + at);
            else
                for (int i = at; i < count; i++)
                    add_element(alpha, a, beta, b, c, i);
    } else {
        for (int i = THREAD_X; i < count; i += THREADS)
            add_element(alpha, a, beta, b, c, i);
    }
}

KERNEL BLOCK_SIZE(THREADS, 1)
void mmt_axpby(int m, int n, real alpha, real beta,
               const GLOBAL real *scalars, wide scalars_start,
               const GLOBAL real *a, wide a_start, int lda, wide a_stride,
               const GLOBAL real *b, wide b_start, int ldb, wide b_stride,
               GLOBAL real *c, wide c_start, int ldc, wide c_stride)
{
    const wide length = is_one_row(n, lda, ldb, ldc) ? (wide) m * n : n;
    const int stretches = (int) ((length - 1) / STRETCH + 1); // of a row
    const wide row = BLOCK_X / stretches;
    const wide first = (wide) (BLOCK_X % stretches) * STRETCH;

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    a += a_start + BLOCK_Z * a_stride + row * lda + first;
    b += b_start + BLOCK_Z * b_stride + row * ldb + first;
    c += c_start + BLOCK_Z * c_stride + row * ldc + first;

    if (first + STRETCH <= length) {
        const int at = THREAD_X * VECTOR;
        add_vectors(WORK, alpha, a + at, beta, b + at, c + at);
    } else {
        add_rest(alpha, a, beta, b, c, (int) (length - first));
    }
}
