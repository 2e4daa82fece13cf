/* What mmt_execute costs the host over the bare launch, side by side.
 *
 *     bench_execute cuda:0 | opencl:0
 *
 * The same kernel is queued through a plan and directly through the driver, with
 * arguments that change from call to call as in a program (three pointers), in turns of a
 * hundred. Prints nanoseconds a call: median of the turns. */
#define CL_TARGET_OPENCL_VERSION 120
#include <dlfcn.h>
#include <time.h>

#ifdef MMT_HAVE_OPENCL
#include <CL/cl.h>
#include <mmtune/opencl.h>
#endif

#include "runtime/runtime.h"
#include "tests/support/test.h"
#include "tuner/measure/stats.h"

enum { SIZE = 64, CALLS = 100, TURNS = 301 };

struct bench {
    mmt_device *device;
    mmt_plan *plan;
    mmt_args args;
    mmt_queue queue;
    struct mmt_launch launch;
    struct mmt_text source;
    void (*bare)(struct bench *bench);
    int (*launch_cuda)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, void *stream, void **values, void **extra);
    void *function; /* CUfunction or cl_kernel */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void must(bool held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* The kernel's parameters in their order; pointers to them are what CUDA wants. */
struct values {
    int m, n, k;
    float alpha, beta;
    uint64_t scalars, a, b, c;
    int64_t zero;
    int ld;
    int64_t stride;
};

static struct values values_of(const struct bench *bench)
{
    return (struct values){ SIZE,
                            SIZE,
                            SIZE,
                            1,
                            0,
                            0,
                            bench->args.a.handle,
                            bench->args.b.handle,
                            bench->args.c.handle,
                            0,
                            SIZE,
                            (int64_t) SIZE * SIZE };
}

/* ---- CUDA ------------------------------------------------------------------------ */

static void bare_cuda(struct bench *bench)
{
    struct values v = values_of(bench);
    void *pointers[] = { &v.m,       &v.n,    &v.k,    &v.alpha, &v.beta,
                         &v.scalars, &v.zero, &v.a,    &v.zero,  &v.ld,
                         &v.stride,  &v.b,    &v.zero, &v.ld,    &v.stride,
                         &v.c,       &v.zero, &v.ld,   &v.stride };
    const struct mmt_launch *l = &bench->launch;
    must(!bench->launch_cuda(bench->function, l->grid[0], l->grid[1], l->grid[2],
                             l->block[0], l->block[1], l->block[2], (unsigned) l->shared,
                             bench->queue, pointers, NULL),
         "cuLaunchKernel");
}

static void prepare_cuda(struct bench *bench)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *module;
    must(library != NULL, "dlopen libcuda.so.1");
    int (*load)(void **, const void *) =
        (int (*)(void **, const void *)) dlsym(library, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *)) dlsym(library, "cuModuleGetFunction");
    int (*retain)(void **, int) =
        (int (*)(void **, int)) dlsym(library, "cuDevicePrimaryCtxRetain");
    int (*set)(void *) = (int (*)(void *)) dlsym(library, "cuCtxSetCurrent");
    *(void **) &bench->launch_cuda = dlsym(library, "cuLaunchKernel");

    struct mmt_binary binary = { 0 };
    void *context;
    must(!retain(&context, 0) && !set(context), "the primary context");
    must(mmt_device_compile(bench->device, bench->source.data, &binary, &err) == MMT_OK,
         err.text);
    must(!load(&module, binary.data), "cuModuleLoadData");
    must(!get(&bench->function, module, bench->launch.entry), "cuModuleGetFunction");
    mmt_binary_finish(&binary);
    bench->bare = bare_cuda;
}

/* ---- OpenCL ---------------------------------------------------------------------- */

#ifdef MMT_HAVE_OPENCL
static void bare_opencl(struct bench *bench)
{
    const struct mmt_launch *l = &bench->launch;
    size_t global[3], local[3];
    cl_mem a = (cl_mem) (uintptr_t) bench->args.a.handle;
    cl_mem b = (cl_mem) (uintptr_t) bench->args.b.handle;
    cl_mem c = (cl_mem) (uintptr_t) bench->args.c.handle;
    for (int i = 0; i < 3; i++) {
        local[i] = l->block[i];
        global[i] = (size_t) l->grid[i] * l->block[i];
    }
    clSetKernelArg(bench->function, 7, sizeof a, &a);
    clSetKernelArg(bench->function, 11, sizeof b, &b);
    clSetKernelArg(bench->function, 15, sizeof c, &c);
    must(clEnqueueNDRangeKernel((cl_command_queue) bench->queue, bench->function, 3, NULL,
                                global, local, 0, NULL, NULL) == CL_SUCCESS,
         "clEnqueueNDRangeKernel");
}

static void set(cl_kernel kernel, int which, size_t size, const void *value)
{
    must(clSetKernelArg(kernel, (cl_uint) which, size, value) == CL_SUCCESS,
         "clSetKernelArg");
}

static void prepare_opencl(struct bench *bench)
{
    cl_context context;
    cl_device_id id;
    cl_int code;
    const char *source = bench->source.data;
    cl_command_queue queue = (cl_command_queue) bench->queue;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    must(clBuildProgram(program, 1, &id, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
    cl_kernel kernel = bench->function =
        clCreateKernel(program, bench->launch.entry, &code);
    must(code == CL_SUCCESS, "clCreateKernel");

    struct values v = values_of(bench);
    set(kernel, 0, 4, &v.m);
    set(kernel, 1, 4, &v.n);
    set(kernel, 2, 4, &v.k);
    set(kernel, 3, 4, &v.alpha);
    set(kernel, 4, 4, &v.beta);
    set(kernel, 5, sizeof(cl_mem), NULL);
    set(kernel, 6, 8, &v.zero);
    for (int matrix = 7; matrix <= 15; matrix += 4) {
        set(kernel, matrix + 1, 8, &v.zero);
        set(kernel, matrix + 2, 4, &v.ld);
        set(kernel, matrix + 3, 8, &v.stride);
    }
    bench->bare = bare_opencl;
}
#endif

/* ---- side by side ---------------------------------------------------------------- */

static void execute(struct bench *bench)
{
    must(mmt_execute(bench->plan, &bench->args, bench->queue, &err) == MMT_OK, err.text);
}

/* Nanoseconds a call of the host's time; the device's own is waited for outside. */
static double turn(struct bench *bench, void (*call)(struct bench *))
{
    double start = now();
    for (int i = 0; i < CALLS; i++)
        call(bench);
    double seconds = now() - start;
    must(mmt_finish(bench->device, bench->queue, &err) == MMT_OK, err.text);
    return seconds / CALLS * 1e9;
}

static void prepare(struct bench *bench, const char *name)
{
    struct mmt_config config;
    mmt_problem asked = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE), problem;
    mmt_plan_options options = mmt_plan_defaults();
    struct mmt_launches launches;
    size_t bytes = sizeof(float) * SIZE * SIZE;

    options.configuration = "naive";
    bench->device = mmt_device_open(name, &err);
    if (!bench->device)
        SKIP("%s", err.text);
    const struct mmt_caps *caps = mmt_device_caps(bench->device);
    must(mmt_queue_create(bench->device, &bench->queue, &err) == MMT_OK, err.text);
    bench->plan = mmt_plan_create(bench->device, NULL, &asked, &options, &err);
    must(bench->plan != NULL, err.text);
    bench->args = mmt_args_defaults();
    must(mmt_buffer_create(bench->device, bytes, &bench->args.a, &err) == MMT_OK,
         err.text);
    must(mmt_buffer_create(bench->device, bytes, &bench->args.b, &err) == MMT_OK,
         err.text);
    must(mmt_buffer_create(bench->device, bytes, &bench->args.c, &err) == MMT_OK,
         err.text);

    must(mmt_config_parse("naive", &config, &err) == MMT_OK, err.text);
    must(mmt_problem_normalise(&asked, &problem, &err) == MMT_OK, err.text);
    mmt_config_launch(&config, &problem, caps, &launches);
    bench->launch = launches.launch[0];
    struct mmt_variant variant = mmt_variant_of(&problem, false);
    must(mmt_emit(&config, &variant, caps->dialect, caps->kind, &bench->source, &err) ==
             MMT_OK,
         err.text);
    if (!strcmp(caps->backend, "cuda"))
        prepare_cuda(bench);
#ifdef MMT_HAVE_OPENCL
    else if (!strcmp(caps->backend, "opencl"))
        prepare_opencl(bench);
#endif
    else
        SKIP("%s launches nothing", name);
}

int main(int argc, char **argv)
{
    static double bare[TURNS], planned[TURNS], excess[TURNS];
    struct bench bench = { 0 };

    prepare(&bench, argc > 1 ? argv[1] : "0");
    for (int i = -10; i < TURNS; i++) {
        double b = turn(&bench, bench.bare), p = turn(&bench, execute);
        if (i >= 0)
            bare[i] = b, planned[i] = p, excess[i] = p - b;
    }
    printf("%s: bare launch %.0f ns, mmt_execute %.0f ns, more by %.0f ns (medians of %d "
           "x %d "
           "calls)\n",
           mmt_device_name(bench.device), mmt_stats_quantile(bare, TURNS, 0.5),
           mmt_stats_quantile(planned, TURNS, 0.5),
           mmt_stats_quantile(excess, TURNS, 0.5), TURNS, CALLS);
    return 0;
}
