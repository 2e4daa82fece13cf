/* Copies of matrices with leading dimensions, between host and device. */
#include "tests/support/test.h"

enum { ROWS = 5, COLUMNS = 7, HOST = 9, DEVICE = 11, OFFSET = 3 };

static int16_t in[ROWS * HOST], seen[OFFSET + ROWS * DEVICE];

/* What the buffer should hold at a place: the matrix, or -1 round it. */
static int16_t right_at(int place)
{
    const int row = (place - OFFSET) / DEVICE, column = (place - OFFSET) % DEVICE;
    return place < OFFSET || column >= COLUMNS || row >= ROWS ? -1
                                                              : in[row * HOST + column];
}

static void test_copies(mmt_device *device)
{
    int16_t back[ROWS * HOST];
    int wrong = 0;
    mmt_operand buffer, matrix;

    for (int i = 0; i < ROWS * HOST; i++)
        in[i] = (int16_t) (100 + i), back[i] = -2;
    memset(seen, -1, sizeof seen);
    CHECK_OK(mmt_buffer_create(device, sizeof seen, &buffer, &err), err);
    CHECK_OK(mmt_buffer_write(device, buffer, seen, sizeof seen, &err), err);
    matrix = buffer, matrix.offset += OFFSET * sizeof *in;
    CHECK_OK(
        mmt_matrix_write(device, matrix, DEVICE, in, HOST, MMT_BF16, ROWS, COLUMNS, &err),
        err);
    CHECK_OK(mmt_buffer_read(device, seen, buffer, sizeof seen, &err), err);
    for (int i = 0; i < OFFSET + ROWS * DEVICE; i++)
        wrong += seen[i] != right_at(i);
    CHECK_EQ_INT(wrong, 0);

    CHECK_OK(mmt_matrix_read(device, back, HOST, matrix, DEVICE, MMT_BF16, ROWS, COLUMNS,
                             &err),
             err);
    for (int i = 0; i < ROWS * HOST; i++)
        wrong += back[i] != (i % HOST < COLUMNS ? in[i] : -2);
    CHECK_EQ_INT(wrong, 0);

    /* No gaps on either side. */
    CHECK_OK(
        mmt_matrix_read(device, back, 0, matrix, DEVICE, MMT_BF16, ROWS, COLUMNS, &err),
        err);
    CHECK_OK(mmt_matrix_write(device, buffer, 0, back, 0, MMT_BF16, ROWS, COLUMNS, &err),
             err);
    CHECK_OK(mmt_buffer_read(device, seen, buffer, sizeof back, &err), err);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += seen[i] != in[i / COLUMNS * HOST + i % COLUMNS];
    CHECK_EQ_INT(wrong, 0);
    mmt_buffer_free(device, buffer);
}

static void refuse(mmt_device *device, mmt_operand to, int64_t ld_device,
                   const void *from, int64_t ld_host, int64_t rows, int64_t columns,
                   mmt_argument which, const char *words)
{
    CHECK_FAILS(mmt_matrix_write(device, to, ld_device, from, ld_host, MMT_F32, rows,
                                 columns, &err),
                err, MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_STR(mmt_argument_name(err.argument), mmt_argument_name(which));
}

static void test_refused(mmt_device *device, bool has_bounds)
{
    float data[64] = { 0 };
    mmt_operand to, none = { 0, 0 };

    CHECK_OK(mmt_buffer_create(device, sizeof data, &to, &err), err);
    refuse(NULL, to, 0, data, 0, 2, 2, MMT_ARGUMENT_DEVICE, "device is null");
    refuse(device, none, 0, data, 0, 2, 2, MMT_ARGUMENT_MATRIX, "is null");
    refuse(device, to, 0, NULL, 0, 2, 2, MMT_ARGUMENT_HOST, "is null");
    refuse(device, to, 1, data, 0, 2, 2, MMT_ARGUMENT_LD_DEVICE, "ld_device is 1");
    refuse(device, to, 0, data, 1, 2, 2, MMT_ARGUMENT_LD_HOST, "ld_host is 1");
    refuse(device, to, INT64_MAX, data, 0, 2, 2, MMT_ARGUMENT_LD_DEVICE, "2^64 bytes");
    refuse(device, to, 0, data, 0, -1, 2, MMT_ARGUMENT_ROWS, "rows is -1");
    refuse(device, to, 0, data, 0, 2, -1, MMT_ARGUMENT_COLUMNS, "columns is -1");
    if (has_bounds)
        refuse(device, to, 9, data, 8, 8, 8, MMT_ARGUMENT_MATRIX,
               "matrix needs 284 bytes from byte 0 on; its buffer has 256");
    CHECK_OK(mmt_matrix_write(device, none, 0, NULL, 0, MMT_F32, 0, 5, &err), err);
    CHECK_FAILS(mmt_matrix_read(device, data, 0, to, 0, (mmt_type) 99, 1, 1, &err), err,
                MMT_ERROR_ARGUMENT, "type is 99");
    mmt_buffer_free(device, to);
}

static int test_device(const char *name)
{
    SCOPED_DEVICE *device = mmt_device_open(name, &err);
    if (!device && err.status == MMT_ERROR_NOT_FOUND)
        return 0;
    if (CHECK(device)) {
        test_copies(device);
        test_refused(device, !strncmp(name, "opencl", 6));
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !test_device(argv[1]))
        SKIP("this machine has no %s", argv[1]);
    if (argc < 2) {
        test_device("null");
        test_device("opencl:0");
    }
    return test_end("matrix");
}
