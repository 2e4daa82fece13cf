// Helpers of kernels of which a block computes a tile of C, TILE_M x TILE_N: storing, and
// adding up the accumulators of blocks that share a tile. grid.h stands before it.

#ifdef TYPE_F64
#define MAX_VECTOR 2          // elements in 16 bytes
#else
#define MAX_VECTOR 4
#endif
#ifndef C_VECTOR
#define C_VECTOR MAX_VECTOR   // elements of C per store to global memory
#endif

// `vector` elements, results or sums, as they are stored; `aligned`: they stand at a multiple of
// their size.
#define READ_GLOBAL(type, to, from, vector, aligned)    \
    do {                                                \
        if ((aligned) && (vector) == 4) {               \
            LOAD4(GLOBAL, type, to, from);              \
        } else if ((aligned) && (vector) == 2) {        \
            LOAD2(GLOBAL, type, to, from);              \
        } else {                                        \
            UNROLL                                      \
            for (int e_ = 0; e_ < (vector); e_++)       \
                (to)[e_] = (from)[e_];                  \
        }                                               \
    } while (0)

// Store `vector` neighbouring elements of a row of C, of which `count` are in the matrix.
DEVICE_FN void store(GLOBAL result *c, const real *acc, int vector, int count, bool aligned,
                     real alpha, real beta, const GLOBAL result *bias)
{
    if (aligned && vector > 1 && count >= vector) {
        real out[MAX_VECTOR];
        result group[MAX_VECTOR];

        UNROLL
        for (int e = 0; e < vector; e++)
            out[e] = alpha * acc[e];
        if (beta != 0) {
            READ_GLOBAL(result, group, c, vector, aligned);
            UNROLL
            for (int e = 0; e < vector; e++)
                out[e] += beta * from_result(group[e]);
        }
        UNROLL
        for (int e = 0; e < vector; e++)
            group[e] = to_result(finish(out[e], bias_of(bias, 0, e)));
        if (vector == 4)
            STORE4(GLOBAL, result, c, group);
        else
            STORE2(GLOBAL, result, c, group);
        return;
    }
    UNROLL
    for (int e = 0; e < vector; e++)
        if (e < count) {
            const real x =
                beta == 0 ? alpha * acc[e] : alpha * acc[e] + beta * from_result(c[e]);
            c[e] = to_result(finish(x, bias_of(bias, 0, e)));
        }
}

// The same of a row of a part's sums, times `one`, which is 1.
DEVICE_FN void store_part(GLOBAL real *part, const real *acc, int vector, int count, real one)
{
    if (vector > 1 && count >= vector) {
        real out[MAX_VECTOR];

        UNROLL
        for (int e = 0; e < vector; e++)
            out[e] = one * acc[e];
        if (vector == 4)
            STORE4(GLOBAL, real, part, out);
        else
            STORE2(GLOBAL, real, part, out);
        return;
    }
    UNROLL
    for (int e = 0; e < vector; e++)
        if (e < count)
            part[e] = one * acc[e];
}

#if SPLIT_K > 1
// A thread adds PARTS_EACH parts of MAX_VECTOR neighbouring elements, all on their way to it at
// once; where there are more, neighbours of other vectors share them. Always in the same order.
//
// Launch: block (ADDERS), grid (ceil(vectors of C * sharers / ADDERS), 1, batch).
#define ADDERS       128
#define PARTS_EACH   8
#define MOST_SHARERS 16

// Add PARTS_EACH of `parts` parts of a vector of C, from the `first` on, which are `apart`.
DEVICE_FN void add_some(real acc[MAX_VECTOR], const GLOBAL real *from, int first, int parts,
                        wide apart)
{
    real more[PARTS_EACH][MAX_VECTOR] = { 0 };

    UNROLL
    for (int p = 0; p < PARTS_EACH; p++)
        if (first + p < parts)
            READ_GLOBAL(real, more[p], from + (first + p) * apart, MAX_VECTOR, true);
    UNROLL
    for (int p = 0; p < PARTS_EACH; p++)
        UNROLL
        for (int e = 0; e < MAX_VECTOR; e++)
            acc[e] += more[p][e];
}

KERNEL BLOCK_SIZE(ADDERS, 1)
void mmt_reduce_splits(int m, int n, int parts, real alpha, real beta,
                   const GLOBAL real *scalars, wide scalars_start,
                   GLOBAL result *c, wide c_start, int ldc, wide c_stride,
                   const GLOBAL real *workspace, wide workspace_start,
                   const GLOBAL result *bias, wide bias_start)
{
    SHARED real others[MAX_VECTOR][ADDERS];
    int sharers = 1;
    while (sharers < MOST_SHARERS && sharers * PARTS_EACH < parts)
        sharers *= 2;
    const int width = ADDERS / sharers, x = THREAD_X % width, y = THREAD_X / width;
    const int ld = partial_ld(n);
    const wide all = (wide) m * ld, mine = ((wide) BLOCK_X * width + x) * MAX_VECTOR;
    const wide at = mine < all ? mine : 0;
    real acc[MAX_VECTOR] = { 0 };

    PDL_TRIGGER();
    PDL_WAIT();
    workspace += workspace_start + (wide) BLOCK_Z * parts * all + at;
    NO_UNROLL
    for (int first = y * PARTS_EACH; first < parts; first += sharers * PARTS_EACH)
        add_some(acc, workspace, first, parts, all);
    if (sharers > 1) {
        UNROLL
        for (int e = 0; e < MAX_VECTOR; e++)
            others[e][THREAD_X] = acc[e];
        BARRIER();
    }
    if (y > 0 || mine >= all)
        return;
    for (int other = 1; other < sharers; other++)
        UNROLL
        for (int e = 0; e < MAX_VECTOR; e++)
            acc[e] += others[e][other * width + x];

    if (scalars) {
        alpha = scalars[scalars_start];
        beta = scalars[scalars_start + 1];
    }
    const int row = (int) (at / ld), column = (int) (at % ld);
    FIND_MATRIX(c, BLOCK_Z);
    c += c_start + BLOCK_Z * c_stride + (wide) row * ldc + column;
    UNROLL
    for (int e = 0; e < MAX_VECTOR; e += C_VECTOR)
        store(c + e, acc + e, C_VECTOR, n - column - e, ALIGNED, alpha, beta,
              bias_of(bias + bias_start, row, column + e));
}
#endif
