/* C = A B for column-major matrices in host memory, by one call in the manner of BLAS.
 *
 *     cc 04_blas.c $(pkg-config --cflags --libs mmtune) && ./a.out [DEVICE] */
#include <mmtune/blas.h>
#include <stdio.h>

static mmt_status multiply(mmt_blas *blas, const float *a, int lda, const float *b,
                           float *c, mmt_error *err)
{
    return mmt_gemm_host(blas, MMT_F32, MMT_COLUMN_MAJOR, MMT_NO_TRANSPOSE,
                         MMT_NO_TRANSPOSE, 2, 2, 3, 1, a, lda, b, 3, 0, c, 2, err);
}

int main(int argc, char **argv)
{
    const float a[] = { 1, 4, 2, 5, 3, 6 }; /* the columns of 2 x 3 */
    const float b[] = { 1, 0, 2, 0, 1, 3 }; /* of 3 x 2 */
    float c[4];
    mmt_error err;

    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err);
    mmt_blas *blas = device ? mmt_blas_create(device, NULL, &err) : NULL;
    mmt_status status = blas ? multiply(blas, a, 2, b, c, &err) : err.status;

    if (status) {
        printf("%s: %s\n", mmt_status_name(status), err.text);
        return status == MMT_ERROR_NOT_FOUND ? 77 : 1;
    }
    printf("%g %g\n%g %g\n", c[0], c[2], c[1], c[3]);
    if (multiply(blas, a, 1, b, c, &err) == MMT_ERROR_ARGUMENT)
        printf("wrong: %s\n", err.text);
    mmt_blas_free(blas);
    mmt_device_close(device);
    return c[0] != 7 || c[1] != 16 || c[2] != 11 || c[3] != 23;
}
