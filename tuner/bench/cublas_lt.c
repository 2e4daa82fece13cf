#include "tuner/bench/cublas_lt.h"

#include "device/library.h"

#define FN(name) #name, offsetof(struct mmt_lt_functions, name), false
static const struct mmt_symbol symbols[] = {
    { FN(cublasLtGetVersion) },
    { FN(cublasLtGetStatusName) },
    { FN(cublasLtCreate) },
    { FN(cublasLtDestroy) },
    { FN(cublasLtMatmulDescCreate) },
    { FN(cublasLtMatmulDescDestroy) },
    { FN(cublasLtMatmulDescSetAttribute) },
    { FN(cublasLtMatrixLayoutCreate) },
    { FN(cublasLtMatrixLayoutDestroy) },
    { FN(cublasLtMatrixLayoutSetAttribute) },
    { FN(cublasLtMatmulPreferenceCreate) },
    { FN(cublasLtMatmulPreferenceDestroy) },
    { FN(cublasLtMatmulPreferenceSetAttribute) },
    { FN(cublasLtMatmulAlgoGetHeuristic) },
    { FN(cublasLtMatmulAlgoConfigSetAttribute) },
    { FN(cublasLtMatmulAlgoCheck) },
    { FN(cublasLtMatmul) },
};
#undef FN

mmt_status mmt_lt_open(struct mmt_lt_functions *functions, mmt_error *err)
{
    static const char *const files[] = {
        "libcublasLt.so.13",
        "libcublasLt.so.12",
        "libcublasLt.so.11",
        "/usr/local/cuda/lib64/libcublasLt.so.13",
        "/usr/local/cuda/lib64/libcublasLt.so.12",
    };
    char why[256];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (mmt_library_open(files[i], symbols, sizeof symbols / sizeof *symbols,
                             functions, why))
            return MMT_OK;
    return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                    "cuBLASLt is not installed (%s): install libcublas of CUDA 11 or "
                    "newer, or name its folder in LD_LIBRARY_PATH",
                    why);
}
