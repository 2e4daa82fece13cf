/* A program that was linked to libclblast.so.1 and finds ours under that name: what ours
 * serves, what the real library gets with all its arguments, and what nobody has. The
 * real library is the stand-in that MMTUNE_CLBLAST names; without one: "alone". */
#include "dropin/clblast/clblast.h"
#include "tests/support/test.h"

int CLBlastSasum(size_t n, cl_mem out, size_t out_offset, cl_mem x, size_t x_offset,
                 size_t x_inc, cl_command_queue *queue, cl_event *event);
int CLBlastSsyr2k(int layout, int triangle, int transpose, size_t n, size_t k,
                  float alpha, cl_mem a, size_t a_offset, size_t lda, cl_mem b,
                  size_t b_offset, size_t ldb, float beta, cl_mem c, size_t c_offset,
                  size_t ldc, cl_command_queue *queue, cl_event *event);
int CLBlastSdot(size_t n, cl_mem out, size_t out_offset, cl_mem x, size_t x_offset,
                size_t x_inc, cl_mem y, size_t y_offset, size_t y_inc,
                cl_command_queue *queue, cl_event *event);
int cpp_scal(size_t n, float alpha, cl_mem x, size_t offset, size_t inc,
             cl_command_queue *queue,
             cl_event *event) __asm__("_ZN7clblast4ScalIfEENS_10StatusCodeEmT_P7_cl_"
                                      "memmmPP17_cl_command_queuePP9_"
                                      "cl_event");

static int syrk(int triangle, cl_mem a, cl_mem c, cl_command_queue *queue)
{
    return CLBlastSsyrk(CLBLAST_ROW_MAJOR, triangle, CLBLAST_NO, 2, 2, 1, a, 0, 2, 0, c,
                        0, 2, queue, NULL);
}

/* Three products of n x n, at offsets that are apart by strides, or not. */
static int multiply_list(size_t n, bool strided, cl_mem x, cl_command_queue *queue)
{
    const size_t offsets[3] = { n * n, 2 * n * n, (strided ? 3 : 4) * n * n };
    const float ones[3] = { 1, 1, 1 }, zeros[3] = { 0, 0, 0 };
    const size_t read[3] = { 0, 0, 0 };
    return CLBlastSgemmBatched(CLBLAST_ROW_MAJOR, CLBLAST_NO, CLBLAST_NO, n, n, n, ones,
                               x, read, n, x, read, n, zeros, x, offsets, n, 3, queue,
                               NULL);
}

/* The real library has one launch for a list of small products, ours one for each. */
static void test_lists(cl_context context, cl_device_id device, bool alone)
{
    enum { SMALL = 4, LARGE = 25 };
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE,
                              5 * LARGE * LARGE * sizeof(float), NULL, NULL);

    CHECK_EQ_INT(multiply_list(SMALL, true, x, &queue), 0);
    CHECK_EQ_INT(multiply_list(LARGE, false, x, &queue), 0);
    CHECK_EQ_INT(multiply_list(SMALL, false, x, &queue), alone ? 0 : 2000);
    CHECK(!clFinish(queue));
    clReleaseMemObject(x);
    clReleaseCommandQueue(queue);
}

/* 2 x 2 ones: 2 in each place. */
static void test_served(cl_context context, cl_device_id device, bool alone)
{
    float ones[4] = { 1, 1, 1, 1 }, got[4] = { 0 };
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem a = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof ones, ones, NULL);
    cl_mem c = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof ones, ones, NULL);

    CHECK_EQ_INT(CLBlastSgemm(CLBLAST_ROW_MAJOR, CLBLAST_NO, CLBLAST_NO, 2, 2, 2, 1, a, 0,
                              2, a, 0, 2, 0, c, 0, 2, &queue, NULL),
                 0);
    CHECK(!clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof got, got, 0, NULL, NULL));
    for (int i = 0; i < 4; i++)
        CHECK(got[i] == 2);
    CHECK_EQ_INT(syrk(CLBLAST_LOWER, a, c, &queue), 0);
    CHECK_EQ_INT(syrk(CLBLAST_UPPER, a, c, &queue),
                 alone ? CLBLAST_NOT_SERVED : 1000 + CLBLAST_UPPER);
    CHECK(!clFinish(queue));
    clReleaseMemObject(a);
    clReleaseMemObject(c);
    clReleaseCommandQueue(queue);
}

static void test_forwarded(bool alone)
{
    CHECK_EQ_INT(CLBlastSasum(1, NULL, 10, NULL, 100, 1000, NULL, NULL),
                 alone ? CLBLAST_NOT_SERVED : 1 + 20 + 300 + 5000);
    CHECK_EQ_INT(CLBlastSsyr2k(101, 121, 111, 3, 5, 0.25f, NULL, 7, 11, NULL, 13, 17,
                               0.5f, NULL, 19, 23, NULL, NULL),
                 alone
                     ? CLBLAST_NOT_SERVED
                     : 101 + 121 + 111 + 15 + 25 + 500 + 7 + 11 + 13 + 17 + 19 + 23 + 1);
    CHECK_EQ_INT(cpp_scal(3, 2.5f, NULL, 4, 5, NULL, NULL),
                 alone ? CLBLAST_NOT_SERVED : 15 + 4 + 25);
    CHECK_EQ_INT(CLBlastSdot(1, NULL, 0, NULL, 0, 1, NULL, 0, 1, NULL, NULL),
                 CLBLAST_NOT_SERVED);
    CHECK_EQ_INT(CLBlastClearCache(), alone ? 0 : 17);
}

int main(int argc, char **argv)
{
    const bool alone = argc > 1 && !strcmp(argv[1], "alone");
    cl_platform_id platforms[8];
    cl_device_id device = NULL;
    cl_uint count = 0;
    cl_int code;

    clGetPlatformIDs(8, platforms, &count);
    for (cl_uint i = 0; i < count && i < 8 && !device; i++)
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    if (!device)
        SKIP("there is no OpenCL device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    test_served(context, device, alone);
    test_lists(context, device, alone);
    test_forwarded(alone);
    return test_end("ours under CLBlast's name");
}
