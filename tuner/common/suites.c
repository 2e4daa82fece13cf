/* mmtune suites */
#include "tuner/common/suites.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"

#define BATCH(m_, n_, k_, batch_)                                                        \
    {                                                                                    \
        .m = m_, .n = n_, .k = k_, .batch = batch_                                       \
    }
#define SHAPE(m, n, k) BATCH(m, n, k, 1)
#define SQUARE(n)      SHAPE(n, n, n)

static const struct mmt_shape squares[] = {
    SQUARE(1024), SQUARE(4096), SQUARE(2048), SQUARE(512),
    SQUARE(256),  SQUARE(1000), SQUARE(3000), SQUARE(8192),
};

static const struct mmt_shape skinny[] = {
    SHAPE(1, 4096, 4096),   SHAPE(16, 4096, 4096), SHAPE(64, 4096, 4096),
    SHAPE(128, 8192, 8192), SHAPE(4096, 4096, 64), SHAPE(8192, 8192, 128),
    SHAPE(256, 256, 65536), SHAPE(64, 64, 100000), SHAPE(2560, 64, 2560),
    SHAPE(6144, 48, 2560),  SHAPE(35, 8457, 2560), SHAPE(5124, 700, 2048),
    SHAPE(512, 3000, 1536),
};

/* The sizes for which the papers print times. */
static const struct mmt_shape papers[] = {
    SQUARE(1024), SQUARE(512), SQUARE(2048), SQUARE(256), SQUARE(4096), SQUARE(3072),
};

/* Products of a language model: one token, 128 tokens and 4096, against its weights (C in
 * the type's own output, bf16 for bf16 and f8), then what training makes of 4096:
 * gradients of what came in, and, in f32, of the weights. */
#define GRADIENT(m_, n_, k_)                                                             \
    {                                                                                    \
        .m = m_, .n = n_, .k = k_, .batch = 1, .f32_out = true                           \
    }
static const struct mmt_shape llm[] = {
    SHAPE(1, 2112, 7168),      SHAPE(1, 576, 7168),        SHAPE(1, 24576, 1536),
    SHAPE(1, 32768, 512),      SHAPE(1, 7168, 16384),      SHAPE(1, 4096, 7168),
    SHAPE(1, 7168, 2048),      SHAPE(1, 256, 7168),        SHAPE(1, 129280, 7168),
    SHAPE(128, 2112, 7168),    SHAPE(128, 576, 7168),      SHAPE(128, 24576, 1536),
    SHAPE(128, 32768, 512),    SHAPE(128, 7168, 16384),    SHAPE(128, 4096, 7168),
    SHAPE(128, 7168, 2048),    SHAPE(128, 256, 7168),      SHAPE(128, 129280, 7168),
    SHAPE(4096, 2112, 7168),   SHAPE(4096, 576, 7168),     SHAPE(4096, 24576, 1536),
    SHAPE(4096, 32768, 512),   SHAPE(4096, 7168, 16384),   SHAPE(4096, 4096, 7168),
    SHAPE(4096, 7168, 2048),   SHAPE(4096, 256, 7168),     SHAPE(4096, 129280, 7168),
    SHAPE(4096, 7168, 2112),   GRADIENT(2112, 4096, 7168), SHAPE(4096, 7168, 576),
    GRADIENT(576, 4096, 7168), SHAPE(4096, 1536, 24576),   GRADIENT(24576, 4096, 1536),
};

static const struct mmt_shape batched[] = {
    BATCH(64, 64, 64, 1024), BATCH(128, 128, 128, 256), BATCH(256, 256, 256, 64),
    BATCH(32, 32, 32, 4096), BATCH(16, 16, 16, 4096),   BATCH(16, 16, 16, 64),
    BATCH(64, 64, 64, 64),   BATCH(128, 128, 128, 64),  BATCH(256, 256, 256, 1024),
};

#define SUITE(name, what)                                                                \
    {                                                                                    \
#name, what, name, sizeof name / sizeof *name                                    \
    }

static const struct mmt_suite suites[] = {
    SUITE(squares, "square matrices, among them sizes that no tile divides"),
    SUITE(skinny, "one extent far from the others"),
    SUITE(papers, "the sizes for which the papers print times"),
    SUITE(llm,
          "a language model's products: 1, 128 and 4096 tokens, and gradients; for bf16 "
          "and f8"),
    SUITE(batched, "many small matrices at once"),
};

enum { NUM_SUITES = sizeof suites / sizeof *suites };

const char *const *mmt_suite_words(void)
{
    static const char *names[NUM_SUITES + 2];
    for (int i = 0; i < NUM_SUITES; i++)
        names[i] = suites[i].name;
    names[NUM_SUITES] = "default";
    return names;
}

const struct mmt_suite *mmt_suite_find(const char *name, mmt_error *err)
{
    for (int i = 0; i < NUM_SUITES; i++)
        if (!strcmp(suites[i].name, name))
            return &suites[i];
    mmt_near_fail(err, name, mmt_suite_words(), "there are", "there is no suite '%s'",
                  name);
    return NULL;
}

/* ---- the suite that fits a device ------------------------------------------------ */

void mmt_suite_default(double flops, struct mmt_shape out[MMT_DEFAULT_SHAPES])
{
    double side = cbrt((flops > 0 ? flops : 1e12) * 5e-3 / 2);
    int64_t n = 256;
    while (n < 8192 && (double) n * M_SQRT2 < side)
        n *= 2;
    const struct mmt_shape shapes[MMT_DEFAULT_SHAPES] = {
        SQUARE(n),
        SHAPE(16, n, n),
        SQUARE(n / 4),
        SHAPE(n, n, 64),
        SQUARE(n / 32),
        SQUARE(n / 2),
        SHAPE(1, n, n),
        SHAPE(64, 64, 8 * n),
        SHAPE(n, 8, n),
        SHAPE(n, n, 4),
        SQUARE(n * 125 / 128 - 3),
    };
    memcpy(out, shapes, sizeof shapes);
}

/* Arrays as paper 003 has them; grids, and vectors, that memory bounds, then smaller
 * ones; products of a square matrix, then smaller and deeper ones. */
static const struct mmt_shape of_ops[MMT_NUM_OPS][MMT_DEFAULT_SHAPES] = {
    [MMT_AXPBY] = { SHAPE(1, 51200000, 1), SHAPE(1, 5120000, 1), SHAPE(1, 512000, 1),
                    SHAPE(1, 51200, 1) },
    [MMT_DOT] = { SHAPE(1, 1, 1 << 24), SHAPE(5, 1, 1 << 20), SHAPE(1024, 1, 4096),
                  SHAPE(1, 1, 1 << 16) },
    [MMT_HEAT2D] = { SHAPE(8192, 8192, 1), SHAPE(4096, 4096, 1), SHAPE(2048, 2048, 1),
                     SHAPE(1024, 1024, 1), SHAPE(256, 256, 1) },
    [MMT_JACOBI3D] = { SHAPE(512, 512, 512), SHAPE(256, 256, 256), SHAPE(128, 128, 128),
                       SHAPE(64, 64, 64) },
    [MMT_SYRK] = { SHAPE(1, 4096, 4096), SHAPE(1, 2048, 2048), SHAPE(1, 1024, 1024),
                   SHAPE(1, 256, 4096), SHAPE(1, 256, 256) },
};

int mmt_suite_of_op(mmt_op op, size_t memory, struct mmt_shape out[MMT_DEFAULT_SHAPES])
{
    int count = 0;
    for (int i = 0; i < MMT_DEFAULT_SHAPES && of_ops[op][i].m; i++) {
        mmt_problem problem = mmt_shape_problem(op, MMT_F64, &of_ops[op][i]);
        struct mmt_stored a = mmt_op_stored(&problem, MMT_OPERAND_A);
        if (!memory || (double) a.rows * (double) a.cols * 8 < (double) memory / 32)
            out[count++] = of_ops[op][i];
    }
    return count;
}

/* ---- the verb -------------------------------------------------------------------- */

static const char about[] =
    "usage: mmtune suites [--json]\n\n"
    "Lists the suites of shapes that `mmtune tune --suite LIST` takes, as MxNxK or\n"
    "MxNxKxBATCH; out=f32 where C is of f32 if the type leaves a choice.\n";

static void print_shape(const struct mmt_shape *shape, char out[96])
{
    int length = snprintf(out, 96, "%lldx%lldx%lld", (long long) shape->m,
                          (long long) shape->n, (long long) shape->k);
    if (shape->batch > 1)
        length += snprintf(out + length, 96 - (size_t) length, "x%lld",
                           (long long) shape->batch);
    if (shape->f32_out)
        snprintf(out + length, 96 - (size_t) length, " out=f32");
}

static void print_suite(const struct mmt_suite *suite)
{
    char shape[96];
    printf("%s: %s\n", suite->name, suite->what);
    for (int i = 0; i < suite->count; i++) {
        print_shape(&suite->shapes[i], shape);
        printf("%s%s", i % 4 ? "  " : i ? "\n  " : "  ", shape);
    }
    printf("\n");
}

/* What `--op NAME` tunes where no shape is given. */
static void print_op(mmt_op op)
{
    struct mmt_text text = { 0 };
    struct mmt_shape shapes[MMT_DEFAULT_SHAPES];
    int count = mmt_suite_of_op(op, 0, shapes);
    for (int i = 0; i < count; i++) {
        mmt_problem problem = mmt_shape_problem(op, MMT_F32, &shapes[i]);
        mmt_text_add(&text, i ? "  " : "");
        mmt_op_print_shape(&problem, &text);
    }
    printf("--op %s, as far as the device has the memory:\n  %s\n", mmt_op_row(op)->name,
           mmt_text_string(&text));
    mmt_text_finish(&text);
}

static void print_json(void)
{
    char shape[96];
    json_t *all = json_object();
    for (int i = 0; i < NUM_SUITES; i++) {
        json_t *list = json_array();
        for (int j = 0; j < suites[i].count; j++) {
            print_shape(&suites[i].shapes[j], shape);
            json_array_append_new(list, json_string(shape));
        }
        json_object_set_new(all, suites[i].name, list);
    }
    json_dumpf(all, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(all);
}

int mmt_verb_suites(int argc, char **argv)
{
    bool json = false;
    const struct mmt_take takes[] = { { .option = MMT_OPTION_JSON, .out = &json } };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    if (json) {
        print_json();
        return MMT_EXIT_DONE;
    }
    for (int i = 0; i < NUM_SUITES; i++)
        print_suite(&suites[i]);
    printf(
        "default: scaled to the device: a square of about 5 ms, then halves, quarters, "
        "small and thin ones\n");
    for (int op = MMT_GEMM + 1; op < MMT_NUM_OPS; op++)
        print_op((mmt_op) op);
    return MMT_EXIT_DONE;
}
