#include "tuner/trials_rows.h"

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
};

#define SHAPE(...)                                                                       \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

/* ---- products: m, n, k ----------------------------------------------------------- */

#define TILES  SHAPE(256, 256, 64, 0, 1, false)
#define ODD    SHAPE(261, 133, 70, 3, 1, false)
#define PAIRS  SHAPE(260, 132, 72, 2, 1, false)
#define FOURS  SHAPE(264, 136, 72, 4, 1, false)
#define ROW    SHAPE(1, 131, 65, 0, 1, false)
#define COLUMN SHAPE(131, 1, 65, 0, 1, false)
#define WIDE   SHAPE(13, 261, 300, 3, 1, false)
#define HIGH   SHAPE(261, 13, 300, 3, 1, false)
#define K3     SHAPE(67, 45, 3, 8, 1, false)
#define K1     SHAPE(35, 52, 1, 8, 1, false)
#define K0     SHAPE(19, 23, 0, 8, 1, false)
#define THREE  SHAPE(40, 36, 20, 8, 3, false)
#define SHARED SHAPE(40, 36, 20, 8, 3, true)

static const struct mmt_trial_row gemm[] = {
    { "integers", TILES, 1, 0, 0 },
    { "poison", TILES, 1, 0, POISON },
    { "beta", TILES, 1, -1, 0 },
    { "alpha", TILES, 2, 0, 0 },
    { "scalars", TILES, 2, -1, SCALARS },
    { "alpha zero", TILES, 0, 2, NO_INPUT },
    { "alpha zero", TILES, 0, 2, NO_INPUT | SCALARS },
    { "offset", TILES, 1, 1, OFFSET },
    { "edges", ODD, 2, -1, ZERO_GAPS },
    { "gaps", ODD, 1, 1, 0 },
    { "vectors", PAIRS, 2, -1, 0 },
    { "vectors", FOURS, 1, 1, 0 },
    { "random", ODD, 3, -5, RANDOM },
    { "thin", ROW, 1, 0, POISON },
    { "thin", COLUMN, 1, 1, 0 },
    { "thin", WIDE, 2, -1, SCALARS },
    { "thin", WIDE, 0, 2, NO_INPUT | SCALARS },
    { "thin", WIDE, 1, 0, POISON | OFFSET },
    { "thin", HIGH, 2, -1, SCALARS },
    { "thin", HIGH, 0, 2, NO_INPUT },
    { "thin", HIGH, 3, -5, RANDOM | OFFSET },
    { "short k", K3, 2, 1, 0 },
    { "short k", K1, 1, 0, POISON },
    { "short k", K0, 1, 2, 0 },
    { "short k", K0, 1, 0, POISON },
    { "batch", THREE, 1, 1, 0 },
    { "batch", SHARED, 1, 0, POISON },
};

/* ---- arrays: m rows of n --------------------------------------------------------- */

#define ARRAY SHAPE(1, 131072, 1, 0, 1, false)
#define ROWS  SHAPE(37, 1237, 1, 3, 1, false)

static const struct mmt_trial_row axpby[] = {
    { "integers", ARRAY, 1, 1, 0 },
    { "poison", ARRAY, 2, -1, POISON },
    { "beta zero", ARRAY, 2, 0, POISON | NO_B },
    { "beta zero", ARRAY, 2, 0, POISON | NO_B | SCALARS },
    { "alpha zero", ARRAY, 0, 2, POISON | NO_A },
    { "alpha zero", ARRAY, 0, 2, POISON | NO_A | SCALARS },
    { "scalars", ARRAY, 2, -1, SCALARS },
    { "in place", ARRAY, 3, -1, IN_PLACE },
    { "offset", ARRAY, 1, 1, OFFSET },
    { "edges", ROWS, 2, -1, ZERO_GAPS },
    { "beta zero", ROWS, 1, 0, POISON | NO_B },
    { "alpha zero", ROWS, 0, 1, POISON | NO_A },
    { "gaps", ROWS, 1, 1, POISON },
    { "in place", ROWS, 2, 1, IN_PLACE },
    { "random", ROWS, 3, -5, RANDOM },
    { "thin", SHAPE(1, 100003, 1, 0, 1, false), 1, 1, POISON },
    { "thin", SHAPE(131, 1, 1, 0, 1, false), 1, 1, POISON },
    { "thin", SHAPE(1, 1, 1, 0, 1, false), 1, 1, POISON },
    { "batch", SHAPE(5, 300, 1, 8, 3, false), 1, 1, POISON },
    { "batch", SHAPE(5, 300, 1, 8, 3, true), 1, 1, POISON },
};

/* ---- dot products: m of k -------------------------------------------------------- */

#define LONG SHAPE(3, 1, 65536, 0, 1, false)
#define MANY SHAPE(71, 1, 1237, 3, 1, false)

static const struct mmt_trial_row dot[] = {
    { "integers", LONG, 1, 0, 0 },
    { "poison", LONG, 1, 0, POISON },
    { "beta", LONG, 1, -1, 0 },
    { "alpha", LONG, 2, 0, 0 },
    { "scalars", LONG, 2, -1, SCALARS },
    { "alpha zero", LONG, 0, 2, NO_INPUT },
    { "alpha zero", LONG, 0, 2, NO_INPUT | SCALARS },
    { "offset", LONG, 1, 1, OFFSET },
    { "edges", MANY, 2, -1, ZERO_GAPS },
    { "gaps", MANY, 1, 1, 0 },
    { "random", MANY, 3, -5, RANDOM },
    { "thin", SHAPE(1, 1, 100003, 0, 1, false), 1, 0, POISON },
    { "thin", SHAPE(1, 1, 31, 0, 1, false), 1, 0, POISON },
    { "short k", SHAPE(67, 1, 3, 8, 1, false), 2, 1, 0 },
    { "short k", SHAPE(35, 1, 1, 8, 1, false), 1, 0, POISON },
    { "short k", SHAPE(19, 1, 0, 8, 1, false), 1, 2, 0 },
    { "short k", SHAPE(19, 1, 0, 8, 1, false), 1, 0, POISON },
    { "batch", SHAPE(4, 1, 9000, 8, 3, false), 1, 1, 0 },
    { "batch", SHAPE(4, 1, 9000, 8, 3, true), 1, 0, POISON },
};

/* ---- grids: m x n, m x n x k ----------------------------------------------------- */

#define PLANE     SHAPE(192, 640, 1, 0, 1, false)
#define ODD_PLANE SHAPE(131, 261, 1, 3, 1, false)

static const struct mmt_trial_row heat2d[] = {
    { "integers", PLANE, 1, 0, 0 },
    { "poison", PLANE, 2, 0, POISON },
    { "scalars", PLANE, -1, 0, SCALARS },
    { "offset", PLANE, 1, 0, OFFSET },
    { "edges", ODD_PLANE, 2, 0, ZERO_GAPS },
    { "gaps", ODD_PLANE, 1, 0, POISON },
    { "random", ODD_PLANE, 3, 0, RANDOM },
    { "thin", SHAPE(3, 3, 1, 0, 1, false), 1, 0, POISON },
    { "thin", SHAPE(3, 300, 1, 0, 1, false), 1, 0, POISON },
    { "thin", SHAPE(300, 3, 1, 8, 1, false), 1, 0, POISON },
    { "batch", SHAPE(33, 70, 1, 8, 3, false), 1, 0, POISON },
};

#define SPACE     SHAPE(18, 40, 160, 0, 1, false)
#define ODD_SPACE SHAPE(21, 19, 133, 3, 1, false)

static const struct mmt_trial_row jacobi3d[] = {
    { "integers", SPACE, 1, 1, 0 },
    { "poison", SPACE, 2, -1, POISON },
    { "beta zero", SPACE, 2, 0, POISON | NO_B },
    { "beta zero", SPACE, 2, 0, POISON | NO_B | SCALARS },
    { "scalars", SPACE, 2, -1, SCALARS },
    { "offset", SPACE, 1, 1, OFFSET },
    { "edges", ODD_SPACE, 2, -1, ZERO_GAPS },
    { "gaps", ODD_SPACE, 1, 1, POISON },
    { "random", ODD_SPACE, 3, -5, RANDOM },
    { "thin", SHAPE(3, 3, 3, 0, 1, false), 1, 1, POISON },
    { "thin", SHAPE(3, 40, 3, 0, 1, false), 1, 1, POISON },
    { "thin", SHAPE(40, 3, 5, 8, 1, false), 1, 1, POISON },
    { "thin", SHAPE(3, 3, 200, 0, 1, false), 1, 1, POISON },
    { "batch", SHAPE(5, 9, 70, 8, 3, false), 1, 1, POISON },
    { "batch", SHAPE(5, 9, 70, 8, 3, true), 1, 1, POISON },
};

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
    [MMT_JACOBI3D] = TABLE(jacobi3d),
};

const struct mmt_trial_row *mmt_trial_rows(mmt_op op, int *count)
{
    *count = tables[op].count;
    return tables[op].rows;
}
