/* templates/kernels/ptx.h for the host, written after NVIDIA's description of the
 * instructions and apart from the kernels that use them. */

#if __CUDA_ARCH__ >= 800
#define ASYNC 1
#else
#define ASYNC 0
#endif

#if ASYNC
#define AWAIT_COPIES(behind) emulate_await(behind)

static void end_group(void)
{
    emulate_end_group();
}

static void copy_16(unsigned to, const void *from, int count)
{
    emulate_copy(to, from, count, 16);
}

static void copy_4(unsigned to, const void *from, int count)
{
    emulate_copy(to, from, count, 4);
}

static void copy_8(unsigned to, const void *from, int count)
{
    emulate_copy(to, from, count, 8);
}

static void copy_16_if(bool wanted, unsigned to, const void *from)
{
    if (wanted)
        emulate_copy(to, from, 16, 16);
}

static void copy_8_if(bool wanted, unsigned to, const void *from)
{
    if (wanted)
        emulate_copy(to, from, 8, 8);
}

static void arrive_when_copied(unsigned barrier)
{
    emulate_count_copied(barrier);
}
#else /* these are never called there */
void end_group(void);
void copy_16(unsigned to, const void *from, int count);
void copy_4(unsigned to, const void *from, int count);
#endif

static unsigned load_if(bool there, const void *from, int size)
{
    unsigned x = 0;
    if (there)
        memcpy(&x, from, size);
    return x;
}

/* ---- ldmatrix: four matrices of 8 x 8 elements of 16 bits -------------------------- */

struct emulated_load {
    unsigned *to, from;
};

/* Row r of matrix i, in shared memory. */
static const unsigned char *matrix_row(void *const loads[32], int i, int r)
{
    const unsigned from = ((const emulated_load *) loads[8 * i + r])->from;
    emulate_check(from, 16);
    return mmt_shared + from;
}

/* Lane l gets elements (l / 4, 2 * (l % 4)) and the next in the row. */
static void all_load(void *const loads[32])
{
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++)
            memcpy(((emulated_load *) loads[l])->to + i,
                   matrix_row(loads, i, l / 4) + 4 * (l % 4), 4);
}

/* .trans: lane l gets elements (2 * (l % 4), l / 4) and the next in the column. */
static void all_load_transposed(void *const loads[32])
{
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++) {
            uint16_t two[2];
            for (int e = 0; e < 2; e++)
                memcpy(two + e, matrix_row(loads, i, 2 * (l % 4) + e) + l / 4 * 2, 2);
            memcpy(((emulated_load *) loads[l])->to + i, two, 4);
        }
}

static void load_matrices(unsigned to[4], unsigned from)
{
    emulated_load mine = { to, from };
    emulate_warp(all_load, &mine);
}

static void load_transposed(unsigned to[4], unsigned from)
{
    emulated_load mine = { to, from };
    emulate_warp(all_load_transposed, &mine);
}

/* ---- mma --------------------------------------------------------------------------- */

#if defined(TYPE_F64)
struct emulated_mma {
    real *c[2]; /* of the upper 8 lines and of the lower ones */
    const real *a[2], *b;
    int blocks, quads; /* of 8 lines, of 4 depths */
};

/* Element (r, k) of A is with lane 4 * (r % 8) + k % 4, of B (k, j) with 4 * j + k % 4,
 * and (r, j) of C with 4 * (r % 8) + j / 2. */
static void all_mma(void *const mmas[32])
{
    const emulated_mma *const *lane = (const emulated_mma *const *) mmas;

    for (int r = 0; r < 8 * lane[0]->blocks; r++)
        for (int j = 0; j < 8; j++) {
            real sum = 0;
            for (int k = 0; k < 4 * lane[0]->quads; k++)
                sum += lane[r % 8 * 4 + k % 4]->a[r / 8][k / 4] *
                       lane[j * 4 + k % 4]->b[k / 4];
            lane[r % 8 * 4 + j / 2]->c[r / 8][j % 2] += sum;
        }
}

static void mma_8x8x4(real *c, const real *a, const real *b)
{
    emulated_mma mine = { { c, NULL }, { a, NULL }, b, 1, 1 };
    emulate_warp(all_mma, &mine);
}

static void mma_16x8(real *c, real *c_lower, const real *a, const real *lower,
                     const real *b, int quads)
{
    emulated_mma mine = { { c, c_lower }, { a, lower }, b, 2, quads };
    emulate_warp(all_mma, &mine);
}

#define mma_16x8x4(c, c_lower, a, lower, b)  mma_16x8(c, c_lower, a, lower, b, 1)
#define mma_16x8x8(c, c_lower, a, lower, b)  mma_16x8(c, c_lower, a, lower, b, 2)
#define mma_16x8x16(c, c_lower, a, lower, b) mma_16x8(c, c_lower, a, lower, b, 4)
#else
#if ASYNC
enum { MMA_ROWS = 16, MMA_BYTES = 32 };
#elif defined(TYPE_F16)
enum { MMA_ROWS = 16, MMA_BYTES = 16 };
#elif defined(TYPE_I8)
enum { MMA_ROWS = 8, MMA_BYTES = 16 };
#endif
/* What an instruction takes: of f32 slices of bf16. */
#if defined(TYPE_F32)
typedef uint16_t multiplied;
#else
typedef element multiplied;
#endif
enum { MMA_ELEMENTS = MMA_BYTES / (int) sizeof(multiplied) };

struct emulated_mma {
    real *c;
    const unsigned *a, *b;
};

/* Of tf32 the last 13 bits are dropped. */
static real as_multiplied(multiplied x)
{
#if defined(TYPE_TF32)
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
#elif defined(TYPE_F32)
    return bf16_to_float(x);
#else
    return to_real(x);
#endif
}

/* One line of A or column of B from the registers of the four lanes that have it: the
 * first 16 bytes in one register each, the next ones `step` registers further on. */
static void gather_line(real to[MMA_ELEMENTS], const unsigned *const lanes[4], int step)
{
    multiplied line[MMA_ELEMENTS];
    for (int byte = 0; byte < MMA_BYTES; byte += 4)
        memcpy((char *) line + byte, lanes[byte / 4 % 4] + byte / 16 * step, 4);
    for (int e = 0; e < MMA_ELEMENTS; e++)
        to[e] = as_multiplied(line[e]);
}

/* Row r of A is with lanes 4 * (r % 8) and the next three, column j of B with 4 * j and
 * the next three; element (r, j) of C with lane 4 * (r % 8) + j / 2. */
static void all_mma(void *const mmas[32])
{
    const emulated_mma *const *lane = (const emulated_mma *const *) mmas;
    real a[MMA_ROWS][MMA_ELEMENTS], b[8][MMA_ELEMENTS];

    for (int r = 0; r < MMA_ROWS; r++) {
        const unsigned *of[4];
        for (int q = 0; q < 4; q++)
            of[q] = lane[r % 8 * 4 + q]->a + r / 8;
        gather_line(a[r], of, MMA_ROWS / 8);
    }
    for (int j = 0; j < 8; j++) {
        const unsigned *of[4];
        for (int q = 0; q < 4; q++)
            of[q] = lane[j * 4 + q]->b;
        gather_line(b[j], of, 1);
    }
    for (int r = 0; r < MMA_ROWS; r++)
        for (int j = 0; j < 8; j++) {
            real sum = 0;
            for (int e = 0; e < MMA_ELEMENTS; e++)
                sum += a[r][e] * b[j][e];
            lane[r % 8 * 4 + j / 2]->c[r / 8 * 2 + j % 2] += sum;
        }
}

static void mma(real *c, const unsigned *a, const unsigned *b)
{
    emulated_mma mine = { c, a, b };
    emulate_warp(all_mma, &mine);
}
#endif

#if defined(TYPE_F32)
static unsigned pair_of_bf16(float low, float high)
{
    return float_to_bf16(low) | (unsigned) float_to_bf16(high) << 16;
}
#endif
