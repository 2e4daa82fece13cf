/* What a device reaches: a chain of multiply-adds for each type, and a copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tuner/worker.h"

enum { BLOCK = 256, CHAINS = 12, STEPS = 2048, RUNS = 5 };

/* ---- texts ----------------------------------------------------------------------- */

static const char copy_text[] = "KERNEL BLOCK_SIZE(256, 1)\n"
                                "void probe(GLOBAL real4 *to, const GLOBAL real4 *from)\n"
                                "{\n"
                                "    int i = BLOCK_X * 256 + THREAD_X;\n"
                                "    to[i] = from[i];\n"
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
                             struct mmt_text *out, mmt_error *err)
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
    mmt_text_add(out, mmt_text_string(&prelude));
    mmt_text_addf(out, "\ntypedef %s", width > 1 ? names[type] : "real");
    if (width > 1)
        mmt_text_addf(out, "%d", width);
    mmt_text_addf(out, " unit;\n%s", body);
    mmt_text_finish(&prelude);
    return out->failed ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a text") : MMT_OK;
}

/* ---- running --------------------------------------------------------------------- */

struct probe {
    mmt_device *device;
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

static mmt_status load(struct probe *p, const char *text, mmt_error *err)
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

static mmt_status fill(struct probe *p, size_t bytes, mmt_error *err)
{
    void *zeros = calloc(1, bytes);
    mmt_status status = zeros ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory");
    for (int i = 0; !status && i < 2; i++) {
        status = mmt_buffer_create(p->device, bytes, &p->buffers[i], err);
        if (!status)
            status = mmt_buffer_write(p->device, p->buffers[i], zeros, bytes, err);
    }
    free(zeros);
    return status;
}

static mmt_status open_probe(struct probe *p, const char *text, size_t bytes,
                             mmt_error *err)
{
    mmt_status status = load(p, text, err);
    if (!status)
        status = mmt_queue_create(p->device, &p->queue, err);
    if (!status)
        status = mmt_mark_create(p->device, &p->from, err);
    if (!status)
        status = mmt_mark_create(p->device, &p->to, err);
    return status ? status : fill(p, bytes, err);
}

static mmt_status run_once(struct probe *p, unsigned blocks, double *seconds,
                           mmt_error *err)
{
    const unsigned grid[3] = { blocks, 1, 1 };
    const struct mmt_value values[2] = {
        { .kind = MMT_VALUE_BUFFER, .buffer = p->buffers[0].handle },
        { .kind = MMT_VALUE_BUFFER, .buffer = p->buffers[1].handle },
    };
    mmt_status status = mmt_mark_record(p->from, p->queue, err);
    if (!status)
        status = mmt_function_launch(p->function, grid, values, 2, MMT_ORDER_OF_QUEUE,
                                     p->queue, err);
    if (!status)
        status = mmt_mark_record(p->to, p->queue, err);
    return status ? status : mmt_mark_seconds(p->from, p->to, seconds, err);
}

/* The least seconds of some runs; 0 where it cannot be had. */
static double time_text(mmt_device *device, const struct mmt_text *text, unsigned blocks,
                        size_t bytes)
{
    struct probe p = { .device = device };
    mmt_error err = { 0 };
    double least = 0, seconds;
    mmt_status status = open_probe(&p, mmt_text_string(text), bytes, &err);
    for (int i = 0; !status && i < RUNS; i++) {
        status = run_once(&p, blocks, &seconds, &err);
        if (!status && i && (least == 0 || seconds < least)) /* the first one warms up */
            least = seconds;
    }
    if (status)
        fprintf(stderr, "probe: %s\n", err.text);
    close_probe(&p);
    return status ? 0 : least;
}

static double measure_peak(mmt_device *device, mmt_type type)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    struct mmt_text text = { 0 };
    unsigned blocks = caps->kind == MMT_CPU ? caps->sms * 4 : caps->sms * 64;
    int width = width_of(caps, type);
    double seconds = 0;
    size_t units = (size_t) (blocks + CHAINS) * BLOCK;
    if (!write_text(caps, type, chain_text, &text, NULL))
        seconds = time_text(device, &text, blocks,
                            units * (size_t) width * mmt_type_size(type));
    mmt_text_finish(&text);
    return seconds > 0 ? 2.0 * blocks * BLOCK * CHAINS * STEPS * width / seconds : 0;
}

/* From one buffer to another; together they are at least twice the last-level cache,
 * where that is no more than half a gigabyte. */
static double measure_bandwidth(mmt_device *device)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    struct mmt_text text = { 0 };
    size_t bytes = (size_t) 32 << 20;
    while (bytes < caps->cache && bytes < (size_t) 256 << 20)
        bytes *= 2;
    if (caps->kind == MMT_GPU && caps->memory > (size_t) 4 << 30)
        bytes = (size_t) 512 << 20;
    double seconds = 0;
    if (!write_text(caps, MMT_F32, copy_text, &text, NULL))
        seconds = time_text(device, &text, (unsigned) (bytes / 16 / BLOCK), bytes);
    mmt_text_finish(&text);
    return seconds > 0 ? 2.0 * (double) bytes / seconds : 0;
}

void mmt_probe(mmt_device *device, double peak_flops[MMT_NUM_TYPES], double *bandwidth)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    double scalar[MMT_NUM_TYPES] = { 0 };
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (caps->dialect == MMT_OPENCL_C && (int) mmt_type_scalar(type) == type &&
            (type != MMT_F64 || caps->f64))
            scalar[type] = measure_peak(device, type);
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        peak_flops[type] = scalar[mmt_type_scalar(type)];
    *bandwidth = measure_bandwidth(device);
}
