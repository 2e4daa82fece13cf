// Runs a kernel of wgmma.cu or simt.cl on the host and compares C with the exact
// product of small whole numbers. KERNEL is its text; standard input has what launches.c
// prints; arguments are alpha and beta, or `near` and a kind of f32 operands (near.h):
// then C must be near the exact product.
#include "machine.h"

#include KERNEL
#include "near.h"

enum { MOST_LAUNCHES = 4, SPARE = 64 };
enum { MMT_PACKED_FLAT = 2, MMT_PACKED_DIGITS = 3 }; // base/launch.h

struct launch {
    char entry[32];
    int grid[3], block[2], parts;
    size_t shared, workspace_at, second_at;
    struct {
        int inner, outer, swizzle, packed, serves_batch;
        size_t at;
    } box[3];
};

static struct {
    long long m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    int trans_a, trans_b, bias, count;
    size_t workspace;
    struct launch launch[MOST_LAUNCHES];
} plan;

static int alpha, beta, kind = -1;
static std::vector<int> small_a, small_b, small_c, small_bias;
static std::vector<element> a, b;
static std::vector<result> c, bias;
static std::vector<real> workspace;
static struct matrix matrices[3];
static const struct launch *running;

static void read_plan(void)
{
    bool read =
        scanf("%lld %lld %lld %d %d %lld %lld %lld %lld %lld %lld %lld %d %zu %d",
              &plan.m, &plan.n, &plan.k, &plan.trans_a, &plan.trans_b, &plan.lda,
              &plan.ldb, &plan.ldc, &plan.stride_a, &plan.stride_b, &plan.stride_c,
              &plan.batch, &plan.bias, &plan.workspace, &plan.count) == 15;
    for (int i = 0; i < plan.count; i++) {
        struct launch *l = &plan.launch[i];
        read &= scanf("%31s %d %d %d %d %d %zu %zu %zu %d", l->entry, &l->grid[0],
                      &l->grid[1], &l->grid[2], &l->block[0], &l->block[1], &l->shared,
                      &l->workspace_at, &l->second_at, &l->parts) == 10;
        for (auto &box : l->box)
            read &= scanf("%d %d %d %d %zu %d", &box.inner, &box.outer, &box.swizzle,
                          &box.packed, &box.at, &box.serves_batch) == 6;
    }
    if (!read)
        give_up("the plan on standard input cannot be read; launches", plan.count);
}

// ---- data ---------------------------------------------------------------------------

static int draw(void)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (int) (state >> 16) % 5 - 2;
}

// Where numbers are taken apart, all of A and B have this factor, of which each digit has
// a part: so a product has another one, but for what is below the slices of f32 that are
// multiplied, and of i32 what 2^32 divides.
#if defined(TYPE_F32) && !defined(THREAD_TILE_M)
static const double fine = 1 + 0x1p-9 + 0x1p-18, of_product = 1 + 0x1p-8 + 3 * 0x1p-18;
static const bool rounds = true;
#elif defined(TYPE_I32) && !defined(THREAD_TILE_M)
static const double fine = 0x4f3b92ad, of_product = 0x4f3b92adu * 0x4f3b92adu;
static const bool rounds = false;
#else
static const double fine = 1, of_product = 1;
static const bool rounds = false;
#endif

static element to_element(int value)
{
#if defined(TYPE_F8E4M3) || defined(TYPE_F8E5M2)
    for (int code = 0; code < 128; code++)
        if (to_real((element) code) == (real) abs(value))
            return (element) (value < 0 ? code | 128 : code);
    give_up("no 8-bit number is", value);
#elif defined(TYPE_BF16)
    return float_to_bf16((float) value);
#elif defined(TYPE_F16)
    return float_to_f16((float) value);
#elif defined(TYPE_TF32) // rounded it is the value, and cut off the next smaller number
    return value ? FLOAT_OF_BITS(BITS_OF_FLOAT((float) value) - 1) : 0;
#else
    return (element) (value * fine);
#endif
}

static result to_c(int value)
{
    return to_result((real) value);
}

template <class stored>
static void fill(std::vector<int> &small, std::vector<stored> &large, size_t size,
                 stored (*convert)(int))
{
    for (size_t i = 0; i < size; i++) {
        small.push_back(draw());
        large.push_back(convert(small.back()));
    }
}

static long place_in_a(long z, long i, long p)
{
    return z * plan.stride_a + (plan.trans_a ? p * plan.lda + i : i * plan.lda + p);
}

static long place_in_b(long z, long p, long j)
{
    return z * plan.stride_b + (plan.trans_b ? j * plan.ldb + p : p * plan.ldb + j);
}

// What A has in the place of a number: an infinity, of which the tensor cores would make
// a NaN where numbers are taken apart, and a NaN that adding to its bits would make a
// number; else 0.
#if (defined(TYPE_F32) && !defined(THREAD_TILE_M)) || defined(TYPE_TF32)
static float special(long i, long p)
{
    return p != plan.k / 2 ? 0
           : i == 1        ? INFINITY
           : i == 2        ? FLOAT_OF_BITS(0x7fffffffu)
                           : 0;
}
#else
static float special(long i, long p)
{
    return 0;
}
#endif

static void fill_all(void)
{
    const long long rows_a = plan.trans_a ? plan.k : plan.m;
    const long long rows_b = plan.trans_b ? plan.n : plan.k;
    fill(small_a, a, (plan.batch - 1) * plan.stride_a + rows_a * plan.lda + SPARE,
         to_element);
    fill(small_b, b, (plan.batch - 1) * plan.stride_b + rows_b * plan.ldb + SPARE,
         to_element);
    fill(small_c, c, (plan.batch - 1) * plan.stride_c + plan.m * plan.ldc + SPARE, to_c);
    fill(small_bias, bias, plan.m + plan.n, to_c);
    for (long z = 0; z < plan.batch && plan.k > 0; z++)
        for (long i = 1; i < plan.m && special(i, plan.k / 2) != 0; i++)
            a[place_in_a(z, i, plan.k / 2)] = (element) special(i, plan.k / 2);
    workspace.assign(plan.workspace / sizeof(real) + 1, (real) 77);
}

#if defined(TYPE_F32)
static void fill_near(void)
{
    for (long z = 0; z < plan.batch; z++)
        for (long p = 0; p < plan.k; p++) {
            for (long i = 0; i < plan.m; i++)
                a[place_in_a(z, i, p)] = near_element(kind, false, i, plan.m, p);
            for (long j = 0; j < plan.n; j++)
                b[place_in_b(z, p, j)] = near_element(kind, true, j, plan.n, p);
        }
}
#endif

// ---- launching ----------------------------------------------------------------------

static struct matrix describe_matrix(void *start, long rows, long columns, long ld,
                                     long stride, int size, long batch = plan.batch)
{
#if defined(TYPE_TF32)
    const bool tf32 = start != c.data();
#else
    const bool tf32 = false;
#endif
    return { (char *) start, columns, rows, batch, ld * size, stride * size, size, tf32 };
}

static void set_matrices(const struct launch &l)
{
    const long m = plan.m, n = plan.n, k = plan.k, size = sizeof(element);
    matrices[0] = describe_matrix(a.data(), plan.trans_a ? k : m, plan.trans_a ? m : k,
                                  plan.lda, plan.stride_a, size);
    matrices[1] = describe_matrix(b.data(), plan.trans_b ? n : k, plan.trans_b ? k : n,
                                  plan.ldb, plan.stride_b, size);
    matrices[2] =
        describe_matrix(c.data(), m, n, plan.ldc, plan.stride_c, sizeof(result));
    for (int i = 0; i < 3; i++) {
        const bool flat = l.box[i].packed == MMT_PACKED_FLAT;
        const long lines = i ? n : m, rows = flat ? k : lines, columns = flat ? lines : k;
        const bool digits = l.box[i].packed == MMT_PACKED_DIGITS;
        const long packed_size = digits ? SIZE : size, per_piece = 16 / packed_size;
        const long ld = (columns + per_piece - 1) / per_piece * per_piece;
        const long stride = l.box[i].serves_batch ? 0 : rows * ld;
        if (l.box[i].packed)
            matrices[i] = describe_matrix((char *) workspace.data() + l.box[i].at, rows,
                                          columns, ld, stride, packed_size,
                                          plan.batch * (digits ? SLICES : 1));
        matrices[i].inner = l.box[i].inner;
        matrices[i].outer = l.box[i].outer;
        matrices[i].swizzle = l.box[i].swizzle;
    }
}

static real *workspace_from(size_t at)
{
    return (real *) ((char *) workspace.data() + at);
}

static real *own_workspace(void)
{
    return workspace_from(running->workspace_at);
}

static bool runs(const char *entry)
{
    return !strcmp(running->entry, entry);
}

// Whether the launch copies an operand, and is done.
static bool call_pack(void)
{
#if PACKED_A && PACKED_B
    if (runs("mmt_pack"))
        mmt_pack(plan.m, plan.n, plan.k, a.data(), 0, plan.lda, plan.stride_a, b.data(),
                 0, plan.ldb, plan.stride_b, own_workspace(), 0,
                 workspace_from(running->second_at), 0);
#elif PACKED_A
    if (runs("mmt_pack_a"))
        mmt_pack_a(plan.m, plan.k, a.data(), 0, plan.lda, plan.stride_a, own_workspace(),
                   0);
#elif PACKED_B
    if (runs("mmt_pack_b"))
        mmt_pack_b(plan.n, plan.k, b.data(), 0, plan.ldb, plan.stride_b, own_workspace(),
                   0);
#endif
    return !strncmp(running->entry, "mmt_pack", strlen("mmt_pack"));
}

#ifdef THREAD_TILE_M // simt.cl
#define BLOCKS 1

static void call(void)
{
    const int m = (int) plan.m, n = (int) plan.n, k = (int) plan.k;
    const result *added = plan.bias ? bias.data() : NULL;
    const tensor_map maps[] = { { &matrices[0] }, { &matrices[1] } };
    real *parts = own_workspace();

    if (call_pack())
        return;
#if SPLIT_K > 1
    if (runs("mmt_reduce_splits"))
        return mmt_reduce_splits(m, n, running->parts, alpha, beta, NULL, 0, c.data(), 0,
                                 plan.ldc, plan.stride_c, parts, 0, added, 0);
#endif
#if TILE_SCHEDULER == STREAM_K
    if (runs("mmt_reduce_stream_k"))
        return mmt_reduce_stream_k(m, n, k, alpha, beta, NULL, 0, c.data(), 0, plan.ldc,
                                   plan.stride_c, parts, 0, added, 0);
#endif
    mmt_gemm(maps[0], maps[1], m, n, k, alpha, beta, NULL, 0, c.data(), 0, plan.ldc,
             plan.stride_c, parts, 0, added, 0);
}
#else
#if defined(TYPE_F32)
#define STORED                                                                           \
    a.data(), 0, (int) plan.lda, plan.stride_a, b.data(), 0, (int) plan.ldb,             \
        plan.stride_b,
#else
#define STORED
#endif

static void call(void)
{
    const int m = (int) plan.m, n = (int) plan.n, k = (int) plan.k;
    const result *added = plan.bias ? bias.data() : NULL;
    const tensor_map maps[] = { { &matrices[0] }, { &matrices[1] }, { &matrices[2] } };
    real *parts = own_workspace();

    if (call_pack())
        return;
#if LEAVES
    if (runs("mmt_reduce_splits"))
        return mmt_reduce_splits(m, n, k, running->parts, alpha, beta, NULL, 0,
                                 STORED c.data(), 0, plan.ldc, plan.stride_c, added, 0,
                                 parts, 0);
#endif
    mmt_gemm(maps[0], maps[1],
#if EPILOGUE_STAGES
             maps[2],
#endif
             m, n, k, alpha, beta, NULL, 0, STORED c.data(), 0, plan.ldc, plan.stride_c,
             added, 0, parts, 0);
}
#endif

static void run(const struct launch &l)
{
    const int together = strcmp(l.entry, "mmt_gemm") ? 1 : BLOCKS;
    const int threads = l.block[0] * l.block[1];
    running = &l;
    entry = call;
    machine.grid = { l.grid[0], l.grid[1], l.grid[2] };
    machine.width = l.block[0];
    set_matrices(l);
    for (int z = 0; z < l.grid[2]; z++)
        for (int y = 0; y < l.grid[1]; y++)
            for (int x = 0; x < l.grid[0]; x += together) {
                for (int rank = 0; rank < together; rank++)
                    start_block(x + rank, y, z, rank, threads, l.shared);
                run_cluster();
            }
}

// ---- comparing ----------------------------------------------------------------------

// An element of the product, or of that of the operands' magnitudes.
static double product(long z, long i, long j, bool magnitudes)
{
    double sum = 0;
    for (long p = 0; p < plan.k; p++) {
        const double x =
            special(i, p) != 0 ? special(i, p) : small_a[place_in_a(z, i, p)];
        const double y = small_b[place_in_b(z, p, j)];
        sum += magnitudes ? fabs(x * y) : x * y;
    }
    return sum * of_product;
}

// Whether C is right at that place: between rows, what it held before. Sums of slices are
// rounded: by less than what the least product of them comes to.
static bool is_right(long at)
{
    const long z = plan.stride_c ? std::min<long>(at / plan.stride_c, plan.batch - 1) : 0;
    const long i = (at - z * plan.stride_c) / plan.ldc,
               j = (at - z * plan.stride_c) % plan.ldc;
    if (i >= plan.m || j >= plan.n)
        return from_result(c[at]) == from_result(to_c(small_c[at]));
    const int added = plan.bias == 1 ? small_bias[i] : plan.bias == 2 ? small_bias[j] : 0;
    const double sum = alpha ? alpha * product(z, i, j, false) : 0;
    const double x = sum + beta * small_c[at] + added;
    const double slack =
        !rounds || alpha == 0 ? 0 : product(z, i, j, true) * abs(alpha) * 0x1p-21;
    const double right = from_result(to_result(activate((real) x)));
    const double found = from_result(c[at]);
    if (isfinite(right) ? fabs(found - right) <= slack
                        : found == right || (isnan(found) && isnan(right)))
        return true;
    printf("C differs at element %ld: %g, right would be %g\n", at, found, right);
    return false;
}

#if defined(TYPE_F32)
static struct near_element near_at(long z, long i, long j)
{
    struct near_element x = { c[z * plan.stride_c + i * plan.ldc + j] };
    float ffma = 0;
    for (long p = 0; p < plan.k; p++) {
        const float left = a[place_in_a(z, i, p)], right = b[place_in_b(z, p, j)];
        ffma = fmaf(left, right, ffma);
        x.exact += (double) left * right;
        x.size += fabs((double) left * right);
    }
    x.ffma = ffma;
    return x;
}

// Whether all of C is near, and on the whole nearer than what FFMA gives.
static bool is_near(void)
{
    struct near_sums ours = {}, of_ffma = {};
    for (long at = 0; at < plan.batch * plan.m * plan.n; at++) {
        struct near_element x =
            near_at(at / plan.n / plan.m, at / plan.n % plan.m, at % plan.n);
        near_add(&ours, &x, near_of_wgmma(plan.k));
        if (ours.far && !near_is_near(&x, near_of_wgmma(plan.k))) {
            printf("%s: row %ld, column %ld is %.9g, FFMA gives %.9g, exact is %.9g\n",
                   near_kinds[kind], at / plan.n, at % plan.n, x.found, x.ffma, x.exact);
            return false;
        }
        x.found = x.ffma;
        near_add(&of_ffma, &x, near_of_wgmma(plan.k));
    }
    if (kind >= NEAR_LIKE ||
        (ours.most <= of_ffma.most && ours.squares <= of_ffma.squares))
        return true;
    printf("%s: off by at most %g and %g on the root mean square, FFMA by %g and %g\n",
           near_kinds[kind], ours.most, sqrt(ours.squares / ours.count), of_ffma.most,
           sqrt(of_ffma.squares / of_ffma.count));
    return false;
}
#endif

int main(int argc, char **argv)
{
    const bool near = argc > 2 && !strcmp(argv[1], "near");
    alpha = near || argc < 2 ? 1 : atoi(argv[1]);
    beta = near || argc < 3 ? 0 : atoi(argv[2]);
    read_plan();
    fill_all();
#if defined(TYPE_F32)
    if (near) {
        kind = atoi(argv[2]);
        fill_near();
    }
#endif
    for (int i = 0; i < plan.count; i++)
        run(plan.launch[i]);
#if defined(TYPE_F32)
    if (near)
        return !is_near();
#endif
    for (size_t i = 0; i < c.size(); i++)
        if (!is_right((long) i))
            return 1;
    return 0;
}
