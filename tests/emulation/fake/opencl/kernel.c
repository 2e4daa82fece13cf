#include "tests/emulation/fake/opencl/kernel.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulation/fake/opencl/work.h"
#include "tuner/verify/number.h"

/* ---- texts ----------------------------------------------------------------------- */

/* Of "#define TILE 8": the first is the generator's, those of the kernel come after. */
static bool find_macro(const char *text, const char *name, int *value)
{
    char line[64];
    snprintf(line, sizeof line, "\n#define %s ", name);
    const char *at = strstr(text, line);
    return at && sscanf(at + strlen(line), "%d", value) == 1;
}

static int macro_of(const char *text, const char *name)
{
    int value = 0;
    find_macro(text, name, &value);
    return value;
}

/* The type whose macro is set: "OUT_" of f32 is OUT_F32. */
static mmt_type type_of(const char *text, const char *prefix)
{
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        char name[32];
        int length =
            snprintf(name, sizeof name, "%s%s", prefix, mmt_type_name((mmt_type) type));
        for (int i = 0; i < length; i++)
            name[i] = (char) toupper((unsigned char) name[i]);
        if (macro_of(text, name))
            return (mmt_type) type;
    }
    return MMT_F32;
}

/* Of a line behind its mark; what follows the condition is *rest. */
static bool holds(const char *text, const char *line, const char **rest)
{
    char name[32], sign;
    int wanted, value, length = 0;
    *rest = line;
    if (sscanf(line, "%31[A-Z_]%c%d %n", name, &sign, &wanted, &length) != 3 || !length)
        return true;
    *rest = line + length;
    return find_macro(text, name, &value) &&
           (sign == '<' ? value < wanted : value == wanted);
}

struct fate fate_of(const char *text)
{
    static const char mark[] = "// stand-in: ";
    struct fate fate = { "", "" };
    for (const char *at = text, *rest; (at = strstr(at, mark)); at++)
        if (holds(text, at + sizeof mark - 1, &rest)) {
            sscanf(rest, "%15[a-z]%*1[ ]%199[^\n]", fate.word, fate.words);
            break;
        }
    return fate;
}

/* ---- parameters ------------------------------------------------------------------ */

static bool is_of_name(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

/* The last word before `end` is the parameter's name. */
static void add_parameter(struct meaning *out, const char *end)
{
    while (!is_of_name(end[-1]))
        end--;
    const char *start = end;
    while (is_of_name(start[-1]))
        start--;
    snprintf(out->names[out->count++], sizeof out->names[0], "%.*s", (int) (end - start),
             start);
}

bool meaning_read(const char *text, const char *entry, struct meaning *out)
{
    char head[64];
    snprintf(head, sizeof head, "\nvoid %s(", entry);
    const char *at = strstr(text, head);
    *out = (struct meaning){ .fate = fate_of(text) };
    snprintf(out->entry, sizeof out->entry, "%s", entry);
    if (!at)
        return false;
    at += strlen(head);
    if (!strncmp(at, "\n#if BY_TMA", 11)) /* which no OpenCL has */
        at = strstr(at, "#endif");
    for (; *at && at[-1] != ')' && out->count < MOST_PARAMETERS; at++)
        if (*at == ',' || *at == ')')
            add_parameter(out, at);
    out->text = strdup(text);
    return out->text;
}

/* ---- arguments ------------------------------------------------------------------- */

struct call {
    const struct meaning *meaning;
    const struct argument *arguments;
    mmt_problem problem;
    double alpha, beta;
};

/* NULL where the entry has no such parameter. */
static const struct argument *find(const struct call *call, const char *name)
{
    for (int i = 0; i < call->meaning->count; i++)
        if (!strcmp(call->meaning->names[i], name))
            return &call->arguments[i];
    return NULL;
}

static int64_t number(const struct call *call, const char *name, int64_t otherwise)
{
    const struct argument *found = find(call, name);
    int32_t narrow;
    int64_t wide;
    if (!found)
        return otherwise;
    memcpy(&narrow, found->bytes, sizeof narrow);
    memcpy(&wide, found->bytes, sizeof wide);
    return found->size == sizeof narrow ? narrow : wide;
}

/* Of "lda" and the like. */
static int64_t number_of(const struct call *call, const char *what, const char *operand)
{
    char name[32];
    snprintf(name, sizeof name, what, operand);
    return number(call, name, 0);
}

static char *address(const struct call *call, const char *name, mmt_type type)
{
    const struct argument *found = find(call, name);
    const int64_t start = number_of(call, "%s_start", name);
    return found && found->memory
               ? found->memory->bytes + start * (int64_t) mmt_type_size(type)
               : NULL;
}

/* In memory where there is such memory. */
static double scalar(const struct call *call, const char *name, int place)
{
    const mmt_type type = mmt_type_scalar(call->problem.type);
    const struct argument *given = find(call, name);
    const char *there = address(call, "scalars", type);
    const void *from = there   ? there + place * (int) mmt_type_size(type)
                       : given ? (const void *) given->bytes
                               : NULL;
    return from ? (double) mmt_number_read(type, from) : 0;
}

static int op_of(const char *entry)
{
    return strncmp(entry, "mmt_", 4) ? -1 : mmt_op_parse(entry + 4);
}

static void read_call(struct call *call, size_t groups_z)
{
    const char *text = call->meaning->text;
    call->problem = (mmt_problem){
        .size = sizeof call->problem,
        .op = (mmt_op) op_of(call->meaning->entry),
        .type = type_of(text, "TYPE_"),
        .out = type_of(text, "OUT_"),
        .trans_a = (mmt_transpose) macro_of(text, "TRANS_A"),
        .trans_b = (mmt_transpose) macro_of(text, "TRANS_B"),
        .bias = (mmt_bias) macro_of(text, "BIAS"),
        .activation = (mmt_activation) macro_of(text, "ACTIVATION"),
        .m = number(call, "m", 1),
        .n = number(call, "n", 1),
        .k = number(call, "k", 1),
        .lda = number_of(call, "ld%s", "a"),
        .ldb = number_of(call, "ld%s", "b"),
        .ldc = number_of(call, "ld%s", "c"),
        .batch = number(call, "batch", (int64_t) groups_z),
        .stride_a = number_of(call, "%s_stride", "a"),
        .stride_b = number_of(call, "%s_stride", "b"),
        .stride_c = number_of(call, "%s_stride", "c"),
    };
    call->alpha = scalar(call, "alpha", 0);
    call->beta = scalar(call, "beta", 1);
}

/* ---- bounds ---------------------------------------------------------------------- */

/* The host's own memory may go on behind what it says of it. */
static bool fits(const struct call *call, const char *name, enum mmt_which which,
                 mmt_type type, int64_t ld, int64_t stride)
{
    const struct argument *found = find(call, name);
    const struct mmt_stored stored = mmt_op_stored(&call->problem, which);
    const int64_t last = number_of(call, "%s_start", name) +
                         (call->problem.batch - 1) * stride + (stored.rows - 1) * ld +
                         stored.cols;
    const bool is_empty = !call->problem.batch || !stored.rows || !stored.cols;
    const struct memory *memory = found ? found->memory : NULL;
    return is_empty || (memory && (!memory->is_ours ||
                                   (size_t) last * mmt_type_size(type) <= memory->size));
}

static bool all_fit(const struct call *call)
{
    const mmt_problem *p = &call->problem;
    const bool reads_a = mmt_op_needs(p, MMT_OPERAND_A, call->alpha, call->beta, false);
    const bool reads_b = mmt_op_needs(p, MMT_OPERAND_B, call->alpha, call->beta, false);
    return (!reads_a || fits(call, "a", MMT_OPERAND_A, p->type, p->lda, p->stride_a)) &&
           (!reads_b || fits(call, "b", MMT_OPERAND_B, p->type, p->ldb, p->stride_b)) &&
           fits(call, "c", MMT_OPERAND_C, p->out, p->ldc, p->stride_c);
}

/* ---- computing ------------------------------------------------------------------- */

/* A number, a macro's value, or `otherwise`. */
static double limit(const char *text, const char *word, double otherwise)
{
    char *end;
    const double value = strtod(word, &end);
    int macro;
    if (!*word)
        return otherwise;
    return end > word ? value : find_macro(text, word, &macro) ? macro : otherwise;
}

static bool is_wrong(const struct call *call)
{
    const struct meaning *meaning = call->meaning;
    char name[16] = "", above[32] = "", below[32] = "";
    if (strcmp(meaning->fate.word, "wrong"))
        return false;
    sscanf(meaning->fate.words, "%15s %31s %31s", name, above, below);
    const double is =
        !strcmp(name, "alpha") ? call->alpha : (double) number(call, name, 0);
    return !*name || (is > limit(meaning->text, above, 0) &&
                      is < limit(meaning->text, below, 1e300));
}

/* Work is not put off whose operands are in the host's hands, or in C's memory. */
static bool may_wait(const struct call *call)
{
    const struct memory *c = find(call, "c")->memory;
    const char *const operands[] = { "a", "b", "bias" };
    bool may = c->is_ours;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        const struct argument *operand = find(call, operands[i]);
        const struct memory *memory = operand ? operand->memory : NULL;
        may = may && (!memory || (memory->is_ours && memory != c));
    }
    return may;
}

static void do_work(const struct call *call)
{
    const mmt_problem *p = &call->problem;
    const struct work work = {
        .problem = *p,
        .alpha = call->alpha + is_wrong(call),
        .beta = call->beta,
        .a = address(call, "a", p->type),
        .b = address(call, "b", p->type),
        .c = address(call, "c", p->out),
        .bias = address(call, "bias", p->out),
    };
    work_do(&work);
    if (!may_wait(call))
        work_settle();
}

/* A product whose C the next launch alone is told of. */
static struct work without_c;

static void keep_work(const struct call *call)
{
    without_c = (struct work){
        .problem = call->problem,
        .a = address(call, "a", call->problem.type),
        .b = address(call, "b", call->problem.type),
    };
}

static void end_work(const struct call *call)
{
    struct work work = without_c;
    if (!work.a || !find(call, "c"))
        return;
    work.problem.ldc = call->problem.ldc;
    work.problem.stride_c = call->problem.stride_c;
    work.c = address(call, "c", work.problem.out);
    work.alpha = call->alpha + is_wrong(call);
    work.beta = call->beta;
    work_do(&work);
    work_settle();
    without_c = (struct work){ .a = NULL };
}

static void befall(const struct fate *fate)
{
    if (!strcmp(fate->word, "crash"))
        abort();
    while (!strcmp(fate->word, "hang"))
        pause();
}

/* So slow a device that the tuner's usual shapes are small ones. */
static const double launch = 1e-5, probe = 0.5, operation = 1e-9; /* seconds */

/* From 1 to 2, by the kernel's name in "// mmtune VERSION: NAME". */
static double pace_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *at = text + strcspn(text, ":\n"); *at && *at != '\n'; at++)
        hash = (hash ^ (unsigned char) *at) * 16777619u;
    return 1 + (hash >> 16) / 65536.0;
}

static double seconds_of(const struct call *call)
{
    const mmt_problem *p = &call->problem;
    const double flops =
        mmt_op_row(p->op)->flops((double) p->m, (double) p->n, (double) p->k);
    return operation * pace_of(call->meaning->text) * (double) p->batch * flops;
}

bool meaning_launch(const struct meaning *meaning, const struct argument *arguments,
                    size_t groups_z, double *seconds)
{
    struct call call = { .meaning = meaning, .arguments = arguments };
    for (int i = 0; i < meaning->count; i++)
        if (!arguments[i].size)
            return false;
    befall(&meaning->fate);
    *seconds += strcmp(meaning->entry, "probe") ? launch : probe;
    read_call(&call, groups_z);
    if ((int) call.problem.op < 0) {
        end_work(&call);
        return true;
    }
    *seconds += seconds_of(&call);
    if (!find(&call, "c"))
        keep_work(&call);
    else if (all_fit(&call))
        do_work(&call);
    else
        return false;
    return true;
}
