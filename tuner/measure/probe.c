/* What a device reaches: chains of FFMA for each type, a copy, and a sum over memory.
 * They take turns for some rounds: what slows a machine down for a moment meets all
 * alike, and how far the rounds differ tells how sure the best of them is. */
#include "tuner/measure/roofline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { BLOCK = 256, CHAINS = 12, STEPS = 2048, LOADS = 8 };
enum { ROUNDS = 15, LEAST_ROUNDS = 4 };

/* Seconds after which there are no more rounds than the least. */
static const double enough = 1.5;

/* ---- sources --------------------------------------------------------------------- */

static const char copy_text[] = "KERNEL BLOCK_SIZE(256, 1)\n"
                                "void probe(GLOBAL real4 *to, const GLOBAL real4 *from)\n"
                                "{\n"
                                "    int i = BLOCK_X * 256 + THREAD_X;\n"
                                "    to[i] = from[i];\n"
                                "}\n";

/* Memory may be read faster than it is copied. Each thread reads LOADS places that are as
 * far from each other as there are threads. */
static const char sum_text[] =
    "KERNEL BLOCK_SIZE(256, 1)\n"
    "void probe(GLOBAL real4 *to, const GLOBAL real4 *from)\n"
    "{\n"
    "    int i = BLOCK_X * 256 + THREAD_X;\n"
    "    real4 sum = from[i];\n"
    "    UNROLL for (int j = 1; j < LOADS; j++) {\n"
    "        real4 next = from[i + j * STRIDE];\n"
    "        sum.x += next.x, sum.y += next.y, sum.z += next.z, sum.w += next.w;\n"
    "    }\n"
    "    to[i] = sum;\n"
    "}\n";

/* Each thread carries CHAINS sums that do not wait for each other. The factor is read
 * from memory, so that no compiler knows it. */
static const char chain_text[] =
    "KERNEL BLOCK_SIZE(256, 1)\n"
    "void probe(GLOBAL unit *to, const GLOBAL unit *from)\n"
    "{\n"
    "    int i = BLOCK_X * 256 + THREAD_X;\n"
    "    unit x = from[i], sum[CHAINS];\n"
    "    UNROLL for (int j = 0; j < CHAINS; j++) sum[j] = from[i + j * 256];\n"
    "    NO_UNROLL for (int step = 0; step < STEPS; step++) {\n"
    "        UNROLL for (int j = 0; j < CHAINS; j++)\n"
    "            sum[j] = MULTIPLY_ADD(sum[j], x, x);\n"
    "    }\n"
    "    unit all = sum[0];\n"
    "    UNROLL for (int j = 1; j < CHAINS; j++) all += sum[j];\n"
    "    to[i] = all;\n"
    "}\n";

/* Elements in the vectors of a CPU; GPUs compute a number at a time. */
static int width_of(const struct mmt_caps *caps, mmt_type type)
{
    int width = 1, most = (int) (caps->vector_bytes / mmt_type_size(type));
    while (caps->kind == MMT_CPU && 2 * width <= most && width < 16)
        width *= 2;
    return width;
}

static mmt_status write_text(const struct mmt_caps *caps, mmt_type type, const char *body,
                             unsigned blocks, struct mmt_text *out, mmt_error *err)
{
    static const char *const macros[] = { "TYPE_F32", "TYPE_F64", "TYPE_I32" };
    static const char *const names[] = { "float", "double", "uint" };
    struct mmt_text prelude = { 0 };
    int width = width_of(caps, type);
    mmt_status status = mmt_template_text(
        caps->dialect == MMT_CUDA_CXX ? "prelude_cuda.h" : "prelude_opencl.h", &prelude,
        err);
    if (status)
        return status;
    mmt_text_addf(out, "#define %s 1\n#define DEVICE_IS_CPU %d\n", macros[type],
                  caps->kind == MMT_CPU);
    mmt_text_addf(out, "#define CHAINS %d\n#define STEPS %d\n", CHAINS, STEPS);
    mmt_text_addf(out, "#define LOADS %d\n#define STRIDE %u\n", LOADS, blocks * BLOCK);
    mmt_text_add(out, mmt_text_string(&prelude));
    mmt_text_addf(out, "\ntypedef %s", width > 1 ? names[type] : "real");
    if (width > 1)
        mmt_text_addf(out, "%d", width);
    mmt_text_addf(out, " unit;\n%s", body);
    mmt_text_finish(&prelude);
    return out->failed ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a source")
                       : MMT_OK;
}

/* ---- running --------------------------------------------------------------------- */

struct probe {
    mmt_device *device;
    mmt_status status; /* what ended it */
    unsigned blocks;
    double amount; /* operations or bytes of a run */
    double rates[ROUNDS];
    int rounds;
    struct mmt_module *module;
    struct mmt_function *function;
    struct mmt_mark *from, *to;
    mmt_queue queue;
    mmt_operand buffers[2];
};

static void close_probe(struct probe *p)
{
    for (int i = 0; i < 2; i++)
        if (p->buffers[i].handle)
            mmt_buffer_free(p->device, p->buffers[i]);
    mmt_mark_free(p->from);
    mmt_mark_free(p->to);
    if (p->queue)
        mmt_queue_free(p->device, p->queue);
    mmt_function_free(p->function);
    mmt_module_free(p->module);
}

static mmt_status load_source(struct probe *p, const char *text, mmt_error *err)
{
    static const unsigned block[3] = { BLOCK, 1, 1 };
    struct mmt_binary binary = { 0 };
    mmt_status status = mmt_device_compile(p->device, text, &binary, err);
    if (!status)
        status = mmt_module_load(p->device, &binary, &p->module, err);
    mmt_binary_finish(&binary);
    return status ? status
                  : mmt_function_create(p->module, "probe", block, 0, &p->function, err);
}

static mmt_status fill_buffers(struct probe *p, const size_t bytes[2], mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < 2; i++) {
        void *zeros = calloc(1, bytes[i]);
        status = zeros ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory");
        if (!status)
            status = mmt_buffer_create(p->device, bytes[i], &p->buffers[i], err);
        if (!status)
            status = mmt_buffer_write(p->device, p->buffers[i], zeros, bytes[i], err);
        free(zeros);
    }
    return status;
}

static mmt_status run_once(struct probe *p, double *seconds, mmt_error *err)
{
    const unsigned grid[3] = { p->blocks, 1, 1 };
    const struct mmt_value values[2] = {
        { .kind = MMT_VALUE_BUFFER, .buffer = p->buffers[0].handle },
        { .kind = MMT_VALUE_BUFFER, .buffer = p->buffers[1].handle },
    };
    mmt_status status = mmt_mark_record(p->from, p->queue, err);
    if (!status)
        status = mmt_function_launch(p->function, grid, values, 2, MMT_ORDER_OF_QUEUE,
                                     p->queue, NULL, err);
    if (!status)
        status = mmt_mark_record(p->to, p->queue, err);
    return status ? status : mmt_mark_seconds(p->from, p->to, seconds, err);
}

/* Loads a source, with `bytes` of memory to write and to read, and runs it for the first
 * time, which counts for nothing. */
static void open_probe(struct probe *p, mmt_device *device, mmt_type type,
                       const char *body, unsigned blocks, const size_t bytes[2])
{
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };
    double seconds;
    *p = (struct probe){ .device = device, .blocks = blocks };
    p->status = write_text(mmt_device_caps(device), type, body, blocks, &text, &err);
    if (!p->status)
        p->status = load_source(p, mmt_text_string(&text), &err);
    if (!p->status)
        p->status = mmt_queue_create(device, &p->queue, &err);
    if (!p->status)
        p->status = mmt_mark_create(device, &p->from, &err);
    if (!p->status)
        p->status = mmt_mark_create(device, &p->to, &err);
    if (!p->status)
        p->status = fill_buffers(p, bytes, &err);
    if (!p->status)
        p->status = run_once(p, &seconds, &err);
    if (p->status)
        fprintf(stderr, "probe: %s\n", err.text);
    mmt_text_finish(&text);
}

static void go_round(struct probe *p)
{
    double seconds = 0;
    if (!p->status)
        p->status = run_once(p, &seconds, NULL);
    if (!p->status && seconds > 0)
        p->rates[p->rounds++] = p->amount / seconds;
}

/* ---- what is probed -------------------------------------------------------------- */

static void open_chain(struct probe *p, mmt_device *device, mmt_type type)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    const unsigned blocks = caps->kind == MMT_CPU ? caps->sms * 4 : caps->sms * 64;
    const int width = width_of(caps, type);
    const size_t units = (size_t) (blocks + CHAINS) * BLOCK;
    const size_t bytes = units * (size_t) width * mmt_type_size(type);

    open_probe(p, device, type, chain_text, blocks, (size_t[]){ bytes, bytes });
    p->amount = 2.0 * blocks * BLOCK * CHAINS * STEPS * width;
}

/* Both operands of a copy are at least twice the last-level cache together, where that is
 * no more than half a gigabyte. */
static size_t bytes_of_memory(const struct mmt_caps *caps)
{
    size_t bytes = (size_t) 32 << 20;
    while (bytes < caps->cache && bytes < (size_t) 256 << 20)
        bytes *= 2;
    if (caps->kind == MMT_GPU && caps->memory > (size_t) 4 << 30)
        bytes = (size_t) 512 << 20;
    return bytes;
}

static void open_copy(struct probe *p, mmt_device *device)
{
    const size_t bytes = bytes_of_memory(mmt_device_caps(device));
    open_probe(p, device, MMT_F32, copy_text, (unsigned) (bytes / 16 / BLOCK),
               (size_t[]){ bytes, bytes });
    p->amount = 2.0 * (double) bytes;
}

static void open_sum(struct probe *p, mmt_device *device)
{
    const size_t bytes = bytes_of_memory(mmt_device_caps(device));
    open_probe(p, device, MMT_F32, sum_text, (unsigned) (bytes / 16 / BLOCK / LOADS),
               (size_t[]){ bytes / LOADS, bytes });
    p->amount = (double) bytes + (double) (bytes / LOADS);
}

void mmt_probe(mmt_device *device, struct mmt_roofline *out)
{
    enum { COPY = 3, SUM, PROBES };
    const struct mmt_caps *caps = mmt_device_caps(device);
    struct probe *probes = calloc(PROBES, sizeof *probes);
    struct mmt_roofline read = { 0 };

    *out = (struct mmt_roofline){ 0 };
    if (!probes)
        return;
    for (int type = 0; type < COPY; type++) {
        probes[type].status = MMT_ERROR_UNSUPPORTED;
        if (caps->dialect == MMT_OPENCL_C && (type != MMT_F64 || caps->f64))
            open_chain(&probes[type], device, (mmt_type) type);
    }
    open_copy(&probes[COPY], device);
    open_sum(&probes[SUM], device);
    const double began = mmt_now();
    for (int round = 0;
         round < LEAST_ROUNDS || (round < ROUNDS && mmt_now() < began + enough); round++)
        for (int i = 0; i < PROBES; i++)
            go_round(&probes[i]);
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        struct probe *p = &probes[mmt_type_scalar((mmt_type) type)];
        mmt_roofline_of_rounds(p->rates, p->rounds, &out->peak_flops[type],
                               &out->peak_spread[type]);
    }
    mmt_roofline_of_rounds(probes[COPY].rates, probes[COPY].rounds, &out->bandwidth,
                           &out->bandwidth_spread);
    mmt_roofline_of_rounds(probes[SUM].rates, probes[SUM].rounds, &read.bandwidth,
                           &read.bandwidth_spread);
    mmt_roofline_add(out, &read);
    for (int i = 0; i < PROBES; i++)
        close_probe(&probes[i]);
    free(probes);
}
