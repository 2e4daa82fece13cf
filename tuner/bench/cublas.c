/* Opens cuBLAS by the functions that take a handle. */
#include "tuner/bench/cublas.h"

#include "device/library.h"

#define FN(name) #name, offsetof(struct mmt_cublas_functions, name), false
static const struct mmt_symbol symbols[] = {
    { FN(cublasCreate_v2) },    { FN(cublasDestroy_v2) },
    { FN(cublasSetStream_v2) }, { FN(cublasSetWorkspace_v2) },
    { FN(cublasSetMathMode) },  { FN(cublasSgemm_v2) },
    { FN(cublasDgemm_v2) },     { FN(cublasHgemm) },
    { FN(cublasGemmEx) },       { FN(cublasGemmStridedBatchedEx) },
    { FN(cublasSgemmBatched) }, { FN(cublasDgemmBatched) },
    { FN(cublasHgemmBatched) }, { FN(cublasGemmBatchedEx) },
};
#undef FN

bool mmt_cublas_open_file(const char *file, struct mmt_cublas_functions *functions,
                          char why[256])
{
    return mmt_library_open(file, symbols, sizeof symbols / sizeof *symbols, functions,
                            why);
}
