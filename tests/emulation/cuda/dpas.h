/* templates/kernels/dpas.h for the host, written after Intel's description of the
 * functions and apart from the kernel that uses them. A warp of 32 has several subgroups.
 */

enum { WORD = 4 / sizeof(element), DEPTH = 8 * WORD, PART = DEPTH / SUBGROUP };

#if SUBGROUP == 16
typedef uint16_t part;
#else
typedef uint32_t part;
#endif

/* Of a device that ends a kernel which reads elsewhere. */
static part read_parts(const element *from)
{
    part mine;
    if ((uintptr_t) from % 4)
        __builtin_trap();
    memcpy(&mine, (const char *) from + threadIdx.x % SUBGROUP * sizeof(part),
           sizeof(part));
    return mine;
}

struct emulated_dpas {
    real *c;
    const part *a;
    const unsigned *b;
};

static real taken(const void *bits, int e)
{
    element x;
    memcpy(&x, (const char *) bits + e * sizeof(x), sizeof(x));
    return to_real(x);
}

/* Depth d of A's row i is with lane d / PART, that of column j of B with lane j. */
static void all_dpas(void *const given[32])
{
    const emulated_dpas *const *lane = (const emulated_dpas *const *) given;

    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 8; i++) {
            real sum = 0;
            for (int d = 0; d < DEPTH; d++)
                sum += taken(&lane[l / SUBGROUP * SUBGROUP + d / PART]->a[i], d % PART) *
                       taken(&lane[l]->b[d / WORD], d % WORD);
            lane[l]->c[i] += sum;
        }
}

static void multiply_matrices(real c[8], const part a[8], const unsigned b[8])
{
    emulated_dpas mine = { c, a, b };
    emulate_warp(all_dpas, &mine);
}
