/* Copies of matrices between host and device, each with rows of its own step. */
#include <inttypes.h>

#include "base/type.h"
#include "device/device.h"

static mmt_status check_shape(mmt_type type, int64_t rows, int64_t columns,
                              mmt_error *err)
{
    if ((unsigned) type >= MMT_NUM_TYPES)
        return mmt_fail_argument(err, MMT_ARGUMENT_TYPE,
                                 "type is %d; it must be from %d (f32) to %d (i8)",
                                 (int) type, MMT_F32, MMT_I8);
    if (rows < 0)
        return mmt_fail_argument(err, MMT_ARGUMENT_ROWS,
                                 "rows is %" PRId64 "; it must not be negative", rows);
    if (columns < 0)
        return mmt_fail_argument(err, MMT_ARGUMENT_COLUMNS,
                                 "columns is %" PRId64 "; it must not be negative",
                                 columns);
    return MMT_OK;
}

/* The bytes from row to row, and in *extent those from the first element to the end of
 * the last one. */
static mmt_status find_step(mmt_argument which, int64_t ld, int64_t rows, int64_t columns,
                            size_t size, size_t *step, size_t *extent, mmt_error *err)
{
    if (ld == 0)
        ld = columns;
    if (ld < columns)
        return mmt_fail_argument(err, which,
                                 "%s is %" PRId64 "; a row has %" PRId64
                                 " elements, so it must be from there on, or 0 for no "
                                 "gap",
                                 mmt_argument_name(which), ld, columns);
    if (__builtin_mul_overflow((size_t) ld, size, step) ||
        __builtin_mul_overflow(*step, (size_t) rows, extent))
        return mmt_fail_argument(err, which,
                                 "%" PRId64 " rows, %" PRId64
                                 " elements apart, do not end below 2^64 bytes",
                                 rows, ld);
    *extent = rows && columns ? *extent - *step + (size_t) columns * size : 0;
    return MMT_OK;
}

static mmt_status find_rows(int64_t ld_device, int64_t ld_host, mmt_type type,
                            int64_t rows, int64_t columns, struct mmt_pitched *out,
                            size_t *bytes, mmt_error *err)
{
    size_t unused;
    mmt_status status = check_shape(type, rows, columns, err);
    if (status)
        return status;
    const size_t size = mmt_type_size(type);
    out->count = (size_t) rows;
    status = find_step(MMT_ARGUMENT_LD_HOST, ld_host, rows, columns, size,
                       &out->host_step, &unused, err);
    if (!status)
        status = find_step(MMT_ARGUMENT_LD_DEVICE, ld_device, rows, columns, size,
                           &out->device_step, bytes, err);
    out->bytes = (size_t) columns * size;
    return status;
}

/* Rows without gaps, or of which there is one, are one run of bytes. */
static bool is_run(const struct mmt_pitched *rows)
{
    return rows->count < 2 ||
           (rows->host_step == rows->bytes && rows->device_step == rows->bytes);
}

static mmt_status check_memory(mmt_device *device, mmt_operand matrix, const void *host,
                               size_t bytes, mmt_error *err)
{
    if (!matrix.handle)
        return mmt_fail_argument(err, MMT_ARGUMENT_MATRIX,
                                 "the matrix in device memory is null");
    if (!host)
        return mmt_fail_argument(err, MMT_ARGUMENT_HOST,
                                 "the host memory of the copy is null");
    return mmt_buffer_check(device, matrix, MMT_ARGUMENT_MATRIX, bytes, err);
}

mmt_status mmt_matrix_write(mmt_device *device, mmt_operand to, int64_t ld_device,
                            const void *from, int64_t ld_host, mmt_type type,
                            int64_t rows, int64_t columns, mmt_error *err)
{
    struct mmt_pitched shape;
    size_t bytes;
    if (!device)
        return mmt_fail_argument(err, MMT_ARGUMENT_DEVICE, "the device is null");
    mmt_status status =
        find_rows(ld_device, ld_host, type, rows, columns, &shape, &bytes, err);
    if (status || !bytes)
        return status;
    status = check_memory(device, to, from, bytes, err);
    if (status)
        return status;
    return is_run(&shape) ? device->backend->buffer_write(device, to, from, bytes, err)
                          : device->backend->matrix_write(device, to, from, &shape, err);
}

mmt_status mmt_matrix_read(mmt_device *device, void *to, int64_t ld_host,
                           mmt_operand from, int64_t ld_device, mmt_type type,
                           int64_t rows, int64_t columns, mmt_error *err)
{
    struct mmt_pitched shape;
    size_t bytes;
    if (!device)
        return mmt_fail_argument(err, MMT_ARGUMENT_DEVICE, "the device is null");
    mmt_status status =
        find_rows(ld_device, ld_host, type, rows, columns, &shape, &bytes, err);
    if (status || !bytes)
        return status;
    status = check_memory(device, from, to, bytes, err);
    if (status)
        return status;
    return is_run(&shape) ? device->backend->buffer_read(device, to, from, bytes, err)
                          : device->backend->matrix_read(device, to, from, &shape, err);
}
