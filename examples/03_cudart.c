/* A program of the CUDA runtime: memory from cudaMalloc, a stream of its own, and a graph
 * captured around the multiplication. */
#include <cuda_runtime_api.h>
#include <mmtune/cuda.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 256, COUNT = SIZE * SIZE, SKIP = 77 };

static int fail(const mmt_error *err)
{
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    return EXIT_FAILURE;
}

static void must(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
        exit(EXIT_FAILURE);
    }
}

/* Whole numbers small enough that every sum is exact, so that the answer is, too. */
static void fill(float *x, int step)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float) ((i * step) % 7 - 3);
}

/* C = times * A B? */
static int count_wrong(const float *a, const float *b, const float *c, float times)
{
    int wrong = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            float sum = 0;
            for (int l = 0; l < SIZE; l++)
                sum += a[i * SIZE + l] * b[l * SIZE + j];
            wrong += c[i * SIZE + j] != times * sum;
        }
    return wrong;
}

static float *upload(const float *from)
{
    void *memory;
    must(cudaMalloc(&memory, COUNT * sizeof(float)), "cudaMalloc");
    must(cudaMemcpy(memory, from, COUNT * sizeof(float), cudaMemcpyHostToDevice),
         "cudaMemcpy");
    return memory;
}

/* Replays C = A B + C that many times. */
static int replay(const mmt_plan *plan, const mmt_args *args, cudaStream_t stream,
                  int times, mmt_error *err)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
         "begin capture");
    mmt_status status = mmt_execute(plan, args, mmt_cuda_queue(stream), err);
    must(cudaStreamEndCapture(stream, &graph), "end capture");
    if (status != MMT_OK)
        return -1;
    must(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    for (int i = 0; i < times; i++)
        must(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return 0;
}

int main(void)
{
    static float a[COUNT], b[COUNT], c[COUNT];
    int devices = 0;
    mmt_error err;

    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: there is no CUDA device\n");
        return SKIP;
    }
    fill(a, 5);
    fill(b, 3);
    float *a_dev = upload(a), *b_dev = upload(b), *c_dev = upload(c);
    cudaStream_t stream;
    must(cudaStreamCreate(&stream), "cudaStreamCreate");

    /* From here on it is mmtune, in the runtime's own context. */
    mmt_device *device = mmt_cuda_device(0, NULL, &err);
    if (!device)
        return fail(&err);
    mmt_problem problem = mmt_gemm_problem(MMT_F32, SIZE, SIZE, SIZE);
    mmt_plan_options options = mmt_plan_defaults();
    options.max_workspace = 0; /* kernels that need none */
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!plan)
        return fail(&err);

    mmt_args args = mmt_args_defaults();
    args.a = mmt_cuda_operand(a_dev);
    args.b = mmt_cuda_operand(b_dev);
    args.c = mmt_cuda_operand(c_dev);
    if (mmt_execute(plan, &args, mmt_cuda_queue(stream), &err) != MMT_OK)
        return fail(&err);
    args.beta = 1;
    if (replay(plan, &args, stream, 3, &err))
        return fail(&err);
    must(cudaMemcpy(c, c_dev, sizeof c, cudaMemcpyDeviceToHost), "cudaMemcpy");

    int wrong = count_wrong(a, b, c, 4);
    printf("%s: C = A B once and three graph replays, %d of %d elements wrong\n",
           mmt_device_name(device), wrong, COUNT);

    mmt_plan_free(plan);
    mmt_device_close(device);
    cudaFree(a_dev);
    cudaFree(b_dev);
    cudaFree(c_dev);
    cudaStreamDestroy(stream);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
