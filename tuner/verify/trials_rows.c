/* The tables of small problems that each operation's kernels are tried on. Data alone. */
#include <math.h>

#include "base/type.h"
#include "tuner/verify/trials_rows.h"

/* The flags of the rows below. */
enum {
    RANDOM = MMT_TRIAL_RANDOM,
    POISON = MMT_TRIAL_POISON,
    NO_A = MMT_TRIAL_NO_A,
    NO_B = MMT_TRIAL_NO_B,
    NO_INPUT = NO_A | NO_B,
    ZERO_GAPS = MMT_TRIAL_ZERO_GAPS,
    OFFSET = MMT_TRIAL_OFFSET,
    SCALARS = MMT_TRIAL_SCALARS,
    IN_PLACE = MMT_TRIAL_IN_PLACE,
    RANGE = MMT_TRIAL_RANGE,
    SPECIAL = MMT_TRIAL_SPECIAL,
    ABSENT = NO_INPUT | MMT_TRIAL_NULL,
    TIES = MMT_TRIAL_TIES,
    LIMIT = MMT_TRIAL_LIMIT,
    PAGE_END = MMT_TRIAL_PAGE_END,
    PAGE_BEGIN = MMT_TRIAL_PAGE_BEGIN,
    QUICK = MMT_TRIAL_QUICK,
    FIRST = MMT_TRIAL_FIRST | QUICK,
    EPILOGUE = MMT_TRIAL_EPILOGUE,
};

// clang-format off

/* A dimension outright; so many tiles and something; beyond the longest stretch of k. */
#define SIZE(size)        { 0, false, size }
#define TILE(count, plus) { count, false, plus }
#define DEEP(plus)        { 0, true, plus }

#define SHAPE(m, n, k, ...)       { SIZE(m), SIZE(n), SIZE(k), __VA_ARGS__ }
#define ALIGNED                   MMT_GAP_ALIGNED
#define SHARE_A                   MMT_SHARED_A
#define SHARE_B                   MMT_SHARED_B
#define SHARE_BOTH                MMT_SHARED_BOTH

/* Scalars of neither sign nor size that a shortcut serves; whole types get others beyond
 * 2^16. */
#define ODD_ALPHA -1.3
#define ODD_BETA  0.7

/* ---- products: m, n, k ----------------------------------------------------------- */

#define TILES  SHAPE(256, 256, 64, 0, 1)
#define ODD    SHAPE(261, 133, 70, 3, 1)
#define PAIRS  SHAPE(260, 132, 72, 2, 1)
#define FOURS  SHAPE(264, 136, 72, 4, 1)
#define ROW    SHAPE(1, 131, 65, 0, 1)
#define COLUMN SHAPE(131, 1, 65, 0, 1)
#define WIDE   SHAPE(13, 261, 300, 3, 1)
#define HIGH   SHAPE(261, 13, 300, 3, 1)
#define K3     SHAPE(67, 45, 3, 8, 1)
#define K1     SHAPE(35, 52, 1, 8, 1)
#define K0     SHAPE(19, 23, 0, 8, 1)
#define THREE  SHAPE(40, 36, 20, 8, 3)
#define SHARED SHAPE(40, 36, 20, 8, 3, SHARE_B)

/* One tile less one, one more, and whole. */
#define LESS  { TILE(1, -1), TILE(1, -1), TILE(1, -1), ALIGNED, 1 }
#define MORE  { TILE(1, 1), TILE(1, 1), TILE(1, 1), ALIGNED, 1 }
#define WHOLE { TILE(1, 0), TILE(1, 0), TILE(3, 0), ALIGNED, 1 }
#define LESS_PACKED { TILE(1, -1), TILE(1, -1), TILE(1, -1), 0, 1 }
#define MORE_PACKED { TILE(1, 1), TILE(1, 1), TILE(1, 1), 0, 1 }

static const struct mmt_trial_row gemm[] = {
    { "integers", TILES, 1, 0, QUICK },
    { "poison", TILES, 1, 0, POISON | FIRST },
    { "beta", TILES, 1, -1, QUICK },
    { "alpha", TILES, 2, 0, QUICK },
    { "scalars", TILES, 2, -1, SCALARS | QUICK | EPILOGUE },
    { "alpha zero", TILES, 0, 2, NO_INPUT | QUICK },
    { "alpha zero", TILES, 0, 2, NO_INPUT | SCALARS | QUICK },
    { "alpha zero", TILES, 0, 0, ABSENT | POISON | QUICK | EPILOGUE },
    { "alpha zero", TILES, 0, 0, NO_INPUT | POISON | SCALARS },
    { "offset", TILES, 1, 1, OFFSET | QUICK },
    { "edges", ODD, 2, -1, ZERO_GAPS | FIRST | EPILOGUE },
    { "gaps", ODD, 1, 1, QUICK },
    { "vectors", PAIRS, 2, -1, QUICK },
    { "vectors", FOURS, 1, 1, QUICK | EPILOGUE },
    { "random", ODD, 3, -5, RANDOM | QUICK | EPILOGUE },
    { "small_k", ROW, 1, 0, POISON | QUICK },
    { "small_k", COLUMN, 1, 1, QUICK },
    { "small_k", WIDE, 2, -1, SCALARS | QUICK },
    { "small_k", WIDE, 0, 2, NO_INPUT | SCALARS | QUICK },
    { "small_k", WIDE, 1, 0, POISON | OFFSET | QUICK },
    { "small_k", HIGH, 2, -1, SCALARS | QUICK },
    { "small_k", HIGH, 0, 2, NO_INPUT | QUICK },
    { "small_k", HIGH, 3, -5, RANDOM | OFFSET | QUICK },
    { "short k", K3, 2, 1, QUICK },
    { "short k", K1, 1, 0, POISON | QUICK },
    { "short k", K0, 1, 2, QUICK },
    { "short k", K0, 1, 0, MMT_TRIAL_NULL | POISON | QUICK | EPILOGUE },
    { "batch", THREE, 1, 1, QUICK | EPILOGUE },
    { "batch", SHARED, 1, 0, POISON | QUICK },
    { "remainders", LESS, 2, -1, QUICK },
    { "remainders", LESS, 0, 2, NO_INPUT | SCALARS },
    { "remainders", MORE, 1, 0, POISON | FIRST | EPILOGUE },
    { "remainders", WHOLE, 1, 1, 0 },
    { "remainders", LESS_PACKED, 1, 1, 0 },
    { "remainders", LESS_PACKED, 1, 0, POISON | OFFSET },
    { "remainders", MORE_PACKED, 2, -1, OFFSET },
    { "remainders", { TILE(1, 0), TILE(1, -1), TILE(2, 1), 41, 1 }, -1, 0, POISON },
    { "remainders", { TILE(1, -1), TILE(1, 0), TILE(1, 1), ALIGNED, 1 }, 2, -1, SCALARS },
    { "remainders", { TILE(2, 0), TILE(2, 0), TILE(2, 0), ALIGNED, 1 }, 1, 1, 0 },
    { "many tiles", { TILE(2, 1), TILE(33, 1), SIZE(9), ALIGNED, 1 }, 2, -1, 0 },
    { "many tiles", { TILE(33, 1), TILE(2, 0), SIZE(9), ALIGNED, 1 }, 1, 0, POISON },
    { "deep k", { SIZE(37), SIZE(29), DEEP(3), 5, 1 }, 1, 1, QUICK },
    { "deep k", { SIZE(13), SIZE(45), DEEP(-1), ALIGNED, 1 }, 1, 0, POISON },
    { "deep k", { SIZE(45), SIZE(13), DEEP(1), 0, 1 }, 3, -5, RANDOM },
    { "thin", SHAPE(65599, 3, 5, ALIGNED, 1), 2, -1, 0 },
    { "thin", SHAPE(3, 65599, 5, 0, 1), 1, 0, POISON },
    { "thin", SHAPE(2, 3, 65599, ALIGNED, 1), 1, 1, 0 },
    { "odd scalars", ODD, ODD_ALPHA, ODD_BETA, EPILOGUE },
    { "odd scalars", ODD, ODD_ALPHA, ODD_BETA, SCALARS },
    { "odd scalars", PAIRS, -1, 1, 0 },
    { "odd scalars", ODD, 1e-7, 1e-7, 0 },
    { "odd scalars", PAIRS, 0x1p-120, 1, SCALARS },
    { "odd scalars", ODD, NAN, 1, 0 },
    { "odd scalars", FOURS, INFINITY, NAN, SCALARS },
    { "odd scalars", K3, NAN, 0, POISON },
    { "rounding", K3, 1, 0, TIES | EPILOGUE },
    { "rounding", K1, 1, 1, LIMIT | EPILOGUE },
    { "batch", SHAPE(21, 37, 33, ALIGNED, 7, SHARE_A), ODD_ALPHA, ODD_BETA, SCALARS },
    { "batch", SHAPE(21, 37, 33, ALIGNED, 5, SHARE_BOTH), 2, -1, 0 },
    { "batch", SHAPE(9, 11, 17, ALIGNED, 37), 2, -1, 0 },
    { "batch", SHAPE(3, 5, 9, 0, 257), 1, 1, SCALARS },
    { "batch", { TILE(1, 1), TILE(1, -1), TILE(1, 1), ALIGNED, 4 }, 1, 0, POISON },
    { "exponents", ODD, 1, 0, RANGE | POISON },
    { "exponents", { SIZE(13), SIZE(29), DEEP(5), 0, 1 }, 1, 1, RANGE },
    { "special values", ODD, 1, 1, SPECIAL | EPILOGUE },
    { "special values", FOURS, 2, 0, SPECIAL | POISON },
    { "special values", HIGH, ODD_ALPHA, ODD_BETA, SPECIAL },
    { "special values", SHAPE(9, 11, 17, 3, 37, SHARE_B), 1, 1, SPECIAL },
    { "page edge", LESS_PACKED, 2, -1, PAGE_END | SCALARS | EPILOGUE },
    { "page edge", LESS_PACKED, 2, -1, PAGE_BEGIN },
    { "page edge", { TILE(1, -1), TILE(1, 0), TILE(1, 0), 0, 1 }, 1, 1, PAGE_END },
    { "page edge", { TILE(1, 0), TILE(1, -1), TILE(1, 0), 0, 1 }, 1, 0, PAGE_END },
    { "page edge", MORE_PACKED, 1, 0, PAGE_END },
    { "page edge", LESS, 1, 1, PAGE_END },
    { "page edge", WHOLE, 1, 0, PAGE_END },
    { "page edge", WHOLE, 1, 1, PAGE_BEGIN },
    { "page edge", K1, 1, 1, PAGE_END },
    { "page edge", SHAPE(20, 24, 28, 0, 3), 1, 1, PAGE_END },
    { "page edge", ROW, 1, 0, PAGE_END },
    { "page edge", COLUMN, 1, 1, PAGE_BEGIN },
    { "far", SHAPE(24, 20, 28, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_A },
    { "far", SHAPE(24, 20, 28, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_B },
    { "far", SHAPE(24, 20, 28, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_C },
    { "far", SHAPE(24, 20, 28, ALIGNED, 3), 1, 1, MMT_TRIAL_FAR_BATCH },
    { "far", { TILE(2, 0), TILE(2, 0), TILE(2, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_A },
    { "far", { TILE(2, 0), TILE(2, 0), TILE(2, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_B },
    { "far", { TILE(2, 0), TILE(2, 0), TILE(2, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_C },
    { "far", { TILE(1, 0), TILE(1, 0), TILE(1, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_A },
    { "far", { TILE(1, 0), TILE(1, 0), TILE(1, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_B },
    { "far", { TILE(1, 0), TILE(1, 0), TILE(1, 0), ALIGNED, 1 }, 1, 1, MMT_TRIAL_FAR_C },
};

/* ---- arrays: m rows of n --------------------------------------------------------- */

#define ARRAY SHAPE(1, 131072, 1, 0, 1)
#define ROWS  SHAPE(37, 1237, 1, 3, 1)
#define ARRAY_LESS { SIZE(1), TILE(1, -1), SIZE(1), 0, 1 }
#define ROWS_LESS  { SIZE(3), TILE(1, -1), SIZE(1), ALIGNED, 1 }

static const struct mmt_trial_row axpby[] = {
    { "integers", ARRAY, 1, 1, QUICK },
    { "poison", ARRAY, 2, -1, POISON | FIRST },
    { "beta zero", ARRAY, 2, 0, POISON | NO_B | QUICK },
    { "beta zero", ARRAY, 2, 0, POISON | NO_B | SCALARS | QUICK },
    { "alpha zero", ARRAY, 0, 2, POISON | NO_A | QUICK },
    { "alpha zero", ARRAY, 0, 2, POISON | NO_A | SCALARS | QUICK },
    { "scalars", ARRAY, 2, -1, SCALARS | QUICK },
    { "in place", ARRAY, 3, -1, IN_PLACE | QUICK },
    { "offset", ARRAY, 1, 1, OFFSET | QUICK },
    { "edges", ROWS, 2, -1, ZERO_GAPS | FIRST },
    { "beta zero", ROWS, 1, 0, POISON | NO_B | QUICK },
    { "alpha zero", ROWS, 0, 1, POISON | NO_A | QUICK },
    { "gaps", ROWS, 1, 1, POISON | QUICK },
    { "in place", ROWS, 2, 1, IN_PLACE | QUICK },
    { "random", ROWS, 3, -5, RANDOM | QUICK },
    { "small_k", SHAPE(1, 100003, 1, 0, 1), 1, 1, POISON | QUICK },
    { "small_k", SHAPE(131, 1, 1, 0, 1), 1, 1, POISON | QUICK },
    { "small_k", SHAPE(1, 1, 1, 0, 1), 1, 1, POISON | QUICK },
    { "batch", SHAPE(5, 300, 1, 8, 3), 1, 1, POISON | QUICK },
    { "batch", SHAPE(5, 300, 1, 8, 3, SHARE_B), 1, 1, POISON | QUICK },
    { "remainders", ARRAY_LESS, 2, -1, POISON | FIRST },
    { "remainders", ROWS_LESS, 2, -1, POISON | QUICK },
    { "remainders", ROWS_LESS, 1, 0, POISON | NO_B },
    { "remainders", ROWS_LESS, 0, 1, POISON | NO_A },
    { "remainders", ROWS_LESS, 1, 1, POISON | OFFSET },
    { "remainders", { SIZE(1), TILE(1, 1), SIZE(1), 0, 1 }, 1, 1, POISON },
    { "remainders", { SIZE(1), TILE(2, 0), SIZE(1), 0, 1 }, 2, -1, POISON },
    { "remainders", { SIZE(4), TILE(1, 0), SIZE(1), ALIGNED, 1 }, 2, -1, POISON },
    { "remainders", { SIZE(4), TILE(1, 1), SIZE(1), ALIGNED, 1 }, 1, 1, POISON },
    { "remainders", { SIZE(3), TILE(1, 1), SIZE(1), 41, 1 }, 1, 1, POISON },
    { "gaps", { SIZE(5), SIZE(300), SIZE(1), 8, 1, MMT_SHARED_NONE, MMT_GAP_A }, 2, -1, POISON },
    { "gaps", { SIZE(5), SIZE(300), SIZE(1), 8, 1, MMT_SHARED_NONE, MMT_GAP_B }, 2, -1, POISON },
    { "gaps", { SIZE(5), SIZE(300), SIZE(1), 8, 1, MMT_SHARED_NONE, MMT_GAP_C }, 2, -1, POISON },
    { "odd scalars", ROWS, ODD_ALPHA, ODD_BETA, POISON },
    { "odd scalars", ROWS, ODD_ALPHA, ODD_BETA, POISON | SCALARS },
    { "batch", SHAPE(5, 301, 1, 41, 5, SHARE_A), 2, -1, POISON },
    { "batch", SHAPE(3, 300, 1, ALIGNED, 6), ODD_ALPHA, ODD_BETA, POISON | SCALARS },
    { "batch", SHAPE(2, 9, 1, 1, 257), 2, -1, POISON },
    { "exponents", ROWS, 1, 1, RANGE | POISON },
    { "special values", ROWS, 1, 1, SPECIAL | POISON },
    { "special values", ARRAY, 2, -1, SPECIAL | POISON },
    { "page edge", ARRAY_LESS, 2, -1, PAGE_END },
    { "page edge", ROWS_LESS, 2, -1, PAGE_END },
    { "page edge", ROWS_LESS, 2, -1, PAGE_BEGIN },
    { "page edge", { SIZE(1), TILE(1, 1), SIZE(1), 0, 1 }, 2, -1, PAGE_END },
    { "far", SHAPE(5, 70, 1, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_A },
    { "far", SHAPE(5, 70, 1, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_B },
    { "far", SHAPE(5, 70, 1, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_C },
    { "far", SHAPE(5, 70, 1, ALIGNED, 3), 1, 1, MMT_TRIAL_FAR_BATCH },
};

/* ---- dot products: m of k -------------------------------------------------------- */

#define LONG SHAPE(3, 1, 65536, 0, 1)
#define MANY SHAPE(71, 1, 1237, 3, 1)
#define DOT_LESS { TILE(1, -1), SIZE(1), TILE(1, -1), ALIGNED, 1 }

static const struct mmt_trial_row dot[] = {
    { "integers", LONG, 1, 0, QUICK },
    { "poison", LONG, 1, 0, POISON | FIRST },
    { "beta", LONG, 1, -1, QUICK },
    { "alpha", LONG, 2, 0, QUICK },
    { "scalars", LONG, 2, -1, SCALARS | QUICK },
    { "alpha zero", LONG, 0, 2, NO_INPUT | QUICK },
    { "alpha zero", LONG, 0, 2, NO_INPUT | SCALARS | QUICK },
    { "offset", LONG, 1, 1, OFFSET | QUICK },
    { "edges", MANY, 2, -1, ZERO_GAPS | FIRST },
    { "gaps", MANY, 1, 1, QUICK },
    { "random", MANY, 3, -5, RANDOM | QUICK },
    { "small_k", SHAPE(1, 1, 100003, 0, 1), 1, 0, POISON | QUICK },
    { "small_k", SHAPE(1, 1, 31, 0, 1), 1, 0, POISON | QUICK },
    { "short k", SHAPE(67, 1, 3, 8, 1), 2, 1, QUICK },
    { "short k", SHAPE(35, 1, 1, 8, 1), 1, 0, POISON | QUICK },
    { "short k", SHAPE(19, 1, 0, 8, 1), 1, 2, QUICK },
    { "short k", SHAPE(19, 1, 0, 8, 1), 1, 0, POISON | QUICK },
    { "batch", SHAPE(4, 1, 9000, 8, 3), 1, 1, QUICK },
    { "batch", SHAPE(4, 1, 9000, 8, 3, SHARE_B), 1, 0, POISON | QUICK },
    { "remainders", DOT_LESS, 2, -1, FIRST },
    { "remainders", DOT_LESS, 1, 0, POISON | OFFSET },
    { "remainders", { TILE(1, 1), SIZE(1), TILE(1, 1), ALIGNED, 1 }, -1, 0, POISON },
    { "remainders", { TILE(1, 0), SIZE(1), TILE(2, 0), ALIGNED, 1 }, 1, 1, 0 },
    { "remainders", { TILE(1, 1), SIZE(1), TILE(2, -1), 41, 1 }, -1, 1, 0 },
    { "remainders", { TILE(1, 0), SIZE(1), TILE(2, 1), ALIGNED, 1 }, 1, 0, POISON },
    { "odd scalars", MANY, ODD_ALPHA, ODD_BETA, 0 },
    { "odd scalars", MANY, ODD_ALPHA, ODD_BETA, SCALARS },
    { "odd scalars", SHAPE(19, 1, 3, 8, 1), NAN, 0, POISON },
    { "odd scalars", SHAPE(19, 1, 3, 8, 1), NAN, 1, 0 },
    { "batch", SHAPE(5, 1, 777, 41, 5, SHARE_A), 2, -1, 0 },
    { "batch", SHAPE(3, 1, 1024, ALIGNED, 6), ODD_ALPHA, ODD_BETA, SCALARS },
    { "batch", SHAPE(2, 1, 9, 1, 257), 2, -1, 0 },
    { "exponents", MANY, 1, 0, RANGE | POISON },
    { "special values", MANY, 1, 1, SPECIAL },
    { "page edge", DOT_LESS, 2, -1, PAGE_END },
    { "page edge", DOT_LESS, 2, -1, PAGE_BEGIN },
    { "page edge", SHAPE(1, 1, 100003, 0, 1), 1, 0, PAGE_END },
    { "far", SHAPE(5, 1, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_A },
    { "far", SHAPE(5, 1, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_B },
    { "far", SHAPE(5, 1, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_C },
    { "far", SHAPE(5, 1, 70, ALIGNED, 3), 1, 1, MMT_TRIAL_FAR_BATCH },
};

/* ---- grids: m x n, m x n x k ----------------------------------------------------- */

#define PLANE     SHAPE(192, 640, 1, 0, 1)
#define ODD_PLANE SHAPE(131, 261, 1, 3, 1)
#define PLANE_WHOLE { TILE(1, 0), TILE(1, 0), SIZE(1), ALIGNED, 1 }
#define PLANE_LESS  { TILE(1, -1), TILE(1, -1), SIZE(1), ALIGNED, 1 }

static const struct mmt_trial_row heat2d[] = {
    { "integers", PLANE, 1, 0, QUICK },
    { "poison", PLANE, 2, 0, POISON | FIRST },
    { "scalars", PLANE, -1, 0, SCALARS | QUICK },
    { "offset", PLANE, 1, 0, OFFSET | QUICK },
    { "edges", ODD_PLANE, 2, 0, ZERO_GAPS | FIRST },
    { "gaps", ODD_PLANE, 1, 0, POISON | QUICK },
    { "random", ODD_PLANE, 3, 0, RANDOM | QUICK },
    { "small_k", SHAPE(3, 3, 1, 0, 1), 1, 0, POISON | QUICK },
    { "small_k", SHAPE(3, 300, 1, 0, 1), 1, 0, POISON | QUICK },
    { "small_k", SHAPE(300, 3, 1, 8, 1), 1, 0, POISON | QUICK },
    { "batch", SHAPE(33, 70, 1, 8, 3), 1, 0, POISON | QUICK },
    { "remainders", PLANE_WHOLE, 1, 0, POISON | QUICK },
    { "remainders", PLANE_LESS, 2, 0, POISON | QUICK },
    { "remainders", PLANE_LESS, 1, 0, POISON | OFFSET },
    { "remainders", { TILE(1, 1), TILE(1, 1), SIZE(1), ALIGNED, 1 }, 1, 0, POISON },
    { "remainders", { TILE(1, 2), TILE(1, 2), SIZE(1), ALIGNED, 1 }, 1, 0, POISON },
    { "remainders", { TILE(1, 1), TILE(2, 0), SIZE(1), 0, 1 }, 1, 0, POISON },
    { "remainders", { TILE(2, 0), TILE(1, -1), SIZE(1), 41, 1 }, 1, 0, POISON },
    { "remainders", { TILE(2, 1), TILE(2, 0), SIZE(1), ALIGNED, 1 }, 1, 0, POISON },
    { "remainders", { TILE(2, 0), TILE(2, 1), SIZE(1), ALIGNED, 1 }, 1, 0, POISON },
    { "odd scalars", ODD_PLANE, ODD_ALPHA, 0, POISON | RANDOM },
    { "odd scalars", ODD_PLANE, ODD_BETA, 0, POISON | RANDOM | SCALARS },
    { "batch", SHAPE(33, 70, 1, 41, 5, SHARE_A), 1, 0, POISON },
    { "batch", SHAPE(4, 5, 1, 1, 257), 2, 0, POISON },
    { "exponents", ODD_PLANE, 1, 0, RANGE | POISON },
    { "special values", ODD_PLANE, 1, 0, SPECIAL | POISON },
    { "page edge", PLANE_WHOLE, 1, 0, PAGE_END },
    { "page edge", PLANE_WHOLE, 1, 0, PAGE_BEGIN },
    { "page edge", PLANE_LESS, 1, 0, PAGE_END },
    { "page edge", SHAPE(3, 3, 1, 0, 1), 1, 0, PAGE_END },
    { "far", SHAPE(5, 70, 1, ALIGNED, 1), 1, 0, MMT_TRIAL_FAR_A },
    { "far", SHAPE(5, 70, 1, ALIGNED, 1), 1, 0, MMT_TRIAL_FAR_C },
    { "far", SHAPE(5, 70, 1, ALIGNED, 3), 1, 0, MMT_TRIAL_FAR_BATCH },
};

#define SPACE     SHAPE(18, 40, 160, 0, 1)
#define ODD_SPACE SHAPE(21, 19, 133, 3, 1)
#define SPACE_WHOLE { TILE(1, 0), TILE(1, 0), TILE(1, 0), ALIGNED, 1 }
#define SPACE_LESS  { TILE(1, -1), TILE(1, -1), TILE(1, -1), ALIGNED, 1 }

static const struct mmt_trial_row jacobi3d[] = {
    { "integers", SPACE, 1, 1, QUICK },
    { "poison", SPACE, 2, -1, POISON | FIRST },
    { "beta zero", SPACE, 2, 0, POISON | NO_B | QUICK },
    { "beta zero", SPACE, 2, 0, POISON | NO_B | SCALARS | QUICK },
    { "scalars", SPACE, 2, -1, SCALARS | QUICK },
    { "offset", SPACE, 1, 1, OFFSET | QUICK },
    { "edges", ODD_SPACE, 2, -1, ZERO_GAPS | FIRST },
    { "gaps", ODD_SPACE, 1, 1, POISON | QUICK },
    { "random", ODD_SPACE, 3, -5, RANDOM | QUICK },
    { "small_k", SHAPE(3, 3, 3, 0, 1), 1, 1, POISON | QUICK },
    { "small_k", SHAPE(3, 40, 3, 0, 1), 1, 1, POISON | QUICK },
    { "small_k", SHAPE(40, 3, 5, 8, 1), 1, 1, POISON | QUICK },
    { "small_k", SHAPE(3, 3, 200, 0, 1), 1, 1, POISON | QUICK },
    { "batch", SHAPE(5, 9, 70, 8, 3), 1, 1, POISON | QUICK },
    { "batch", SHAPE(5, 9, 70, 8, 3, SHARE_B), 1, 1, POISON | QUICK },
    { "remainders", SPACE_WHOLE, 1, 1, POISON | QUICK },
    { "remainders", SPACE_LESS, 2, -1, POISON | QUICK },
    { "remainders", SPACE_LESS, 2, 0, POISON | NO_B | OFFSET },
    { "remainders", { TILE(1, 1), TILE(1, 1), TILE(1, 1), ALIGNED, 1 }, 1, 1, POISON },
    { "remainders", { TILE(1, 2), TILE(1, 2), TILE(1, 2), ALIGNED, 1 }, 1, 1, POISON },
    { "remainders", { TILE(1, 1), TILE(1, 0), TILE(1, -1), 41, 1 }, 1, 0, POISON | NO_B },
    { "remainders", { TILE(2, 1), TILE(2, 1), TILE(2, 0), ALIGNED, 1 }, 1, 1, POISON },
    { "remainders", { TILE(2, 0), TILE(2, 1), TILE(2, 1), ALIGNED, 1 }, 1, 1, POISON },
    { "remainders", { TILE(2, 1), TILE(2, 0), TILE(2, 1), ALIGNED, 1 }, 1, 1, POISON },
    { "odd scalars", ODD_SPACE, ODD_ALPHA, ODD_BETA, POISON | RANDOM },
    { "odd scalars", ODD_SPACE, ODD_ALPHA, ODD_BETA, POISON | RANDOM | SCALARS },
    { "batch", SHAPE(5, 9, 70, 41, 5, SHARE_A), 1, 1, POISON },
    { "batch", SHAPE(4, 3, 5, 1, 257), 2, -1, POISON },
    { "exponents", ODD_SPACE, 1, 1, RANGE | POISON },
    { "special values", ODD_SPACE, 1, 1, SPECIAL | POISON },
    { "page edge", SPACE_WHOLE, 1, 1, PAGE_END },
    { "page edge", SPACE_WHOLE, 1, 1, PAGE_BEGIN },
    { "page edge", SPACE_LESS, 1, 1, PAGE_END },
    { "page edge", SHAPE(3, 3, 3, 0, 1), 1, 1, PAGE_END },
    { "far", SHAPE(3, 3, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_A },
    { "far", SHAPE(3, 3, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_B },
    { "far", SHAPE(3, 3, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_C },
    { "far", SHAPE(3, 3, 70, ALIGNED, 3), 1, 1, MMT_TRIAL_FAR_BATCH },
};

/* ---- symmetric products: n x n of k ---------------------------------------------- */

#define TRIANGLE     SHAPE(1, 192, 64, 0, 1)
#define ODD_TRIANGLE SHAPE(1, 133, 77, 3, 1)
#define TRIANGLE_WHOLE { SIZE(1), TILE(2, 0), TILE(1, 0), ALIGNED, 1 }
#define TRIANGLE_LESS  { SIZE(1), TILE(3, -1), TILE(1, -1), ALIGNED, 1 }

static const struct mmt_trial_row syrk[] = {
    { "integers", TRIANGLE, 1, 0, QUICK },
    { "poison", TRIANGLE, 1, 0, POISON | FIRST },
    { "beta", TRIANGLE, 1, -1, QUICK },
    { "alpha", TRIANGLE, 2, 0, QUICK },
    { "scalars", TRIANGLE, 2, -1, SCALARS | QUICK },
    { "alpha zero", TRIANGLE, 0, 2, NO_A | QUICK },
    { "alpha zero", TRIANGLE, 0, 2, NO_A | SCALARS | QUICK },
    { "offset", TRIANGLE, 1, 1, OFFSET | QUICK },
    { "edges", ODD_TRIANGLE, 2, -1, ZERO_GAPS | FIRST },
    { "gaps", ODD_TRIANGLE, 1, 1, QUICK },
    { "random", ODD_TRIANGLE, 3, -5, RANDOM | QUICK },
    { "small_k", SHAPE(1, 1, 1, 0, 1), 1, 0, POISON | QUICK },
    { "small_k", SHAPE(1, 3, 200, 8, 1), 1, 1, QUICK },
    { "short k", SHAPE(1, 67, 3, 8, 1), 2, 1, QUICK },
    { "short k", SHAPE(1, 35, 1, 8, 1), 1, 0, POISON | QUICK },
    { "short k", SHAPE(1, 35, 0, 8, 1), 1, 2, QUICK },
    { "short k", SHAPE(1, 35, 0, 8, 1), 1, 0, POISON | QUICK },
    { "batch", SHAPE(1, 40, 19, 8, 3), 1, 1, QUICK },
    { "batch", SHAPE(1, 40, 19, 8, 3, SHARE_A), 1, 0, POISON | QUICK },
    { "remainders", TRIANGLE_WHOLE, 1, 0, POISON | QUICK },
    { "remainders", TRIANGLE_LESS, 2, -1, FIRST },
    { "remainders", TRIANGLE_LESS, 1, 0, POISON | OFFSET },
    { "remainders", { SIZE(1), TILE(1, 1), TILE(1, 1), ALIGNED, 1 }, -1, 0, POISON },
    { "remainders", { SIZE(1), TILE(2, 1), TILE(2, 0), 41, 1 }, -1, 1, 0 },
    { "remainders", { SIZE(1), TILE(3, 0), TILE(2, 1), ALIGNED, 1 }, 1, 1, 0 },
    { "remainders", { SIZE(1), TILE(4, 1), DEEP(1), ALIGNED, 1 }, 1, 0, POISON },
    { "odd scalars", ODD_TRIANGLE, ODD_ALPHA, ODD_BETA, 0 },
    { "odd scalars", ODD_TRIANGLE, ODD_ALPHA, ODD_BETA, SCALARS },
    { "odd scalars", SHAPE(1, 19, 3, 8, 1), NAN, 0, POISON },
    { "odd scalars", SHAPE(1, 19, 3, 8, 1), NAN, 1, 0 },
    { "batch", SHAPE(1, 33, 40, 41, 5), ODD_ALPHA, ODD_BETA, SCALARS },
    { "batch", SHAPE(1, 5, 3, 1, 257), 2, -1, 0 },
    { "exponents", ODD_TRIANGLE, 1, 0, RANGE | POISON },
    { "special values", ODD_TRIANGLE, 1, 1, SPECIAL },
    { "page edge", TRIANGLE_LESS, 2, -1, PAGE_END },
    { "page edge", TRIANGLE_LESS, 2, -1, PAGE_BEGIN },
    { "page edge", SHAPE(1, 1, 100, 0, 1), 1, 0, PAGE_END },
    { "far", SHAPE(1, 5, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_A },
    { "far", SHAPE(1, 5, 70, ALIGNED, 1), 1, 1, MMT_TRIAL_FAR_C },
    { "far", SHAPE(1, 5, 70, ALIGNED, 3), 1, 1, MMT_TRIAL_FAR_BATCH },
};

// clang-format on

/* ---- all of them ----------------------------------------------------------------- */

#define TABLE(rows)                                                                      \
    {                                                                                    \
        rows, sizeof rows / sizeof *rows                                                 \
    }

static const struct {
    const struct mmt_trial_row *rows;
    int count;
} tables[MMT_NUM_OPS] = {
    [MMT_GEMM] = TABLE(gemm),         [MMT_AXPBY] = TABLE(axpby),
    [MMT_DOT] = TABLE(dot),           [MMT_HEAT2D] = TABLE(heat2d),
    [MMT_JACOBI3D] = TABLE(jacobi3d), [MMT_SYRK] = TABLE(syrk),
};

const struct mmt_trial_row *mmt_trial_rows(mmt_op op, int *count)
{
    *count = tables[op].count;
    return tables[op].rows;
}
