/* The BLAS that a program has: its functions, and how it is named.
 *
 * A name holds the version and the number of threads, as far as the library tells them:
 * verdicts are for that library with that many threads. */
#ifndef MMT_DROPIN_BLAS_LIBRARY_H
#define MMT_DROPIN_BLAS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* sgemm_ and dgemm_ of Fortran with 32-bit integers, all by reference; the lengths of the
 * two letters come last. */
typedef void mmt_fortran_gemm(const char *trans_a, const char *trans_b, const int *m,
                              const int *n, const int *k, const void *alpha,
                              const void *a, const int *lda, const void *b,
                              const int *ldb, const void *beta, void *c, const int *ldc,
                              size_t length_a, size_t length_b);

/* What a function's name leads to beyond the object that `own` is in: the next definition
 * in the loader's order, else one in any object that is loaded, global or not. NULL where
 * there is none. The object that has it stays loaded. Thread-safe; may lock the loader.
 */
void *mmt_blas_find(const char *name, const void *own);

/* The file of the object that a function is in, links resolved; "" where the loader does
 * not tell. */
void mmt_blas_path(const void *function, char path[256]);

/* How the library in that loaded file is called: "OpenBLAS 0.3.21, 2 threads",
 * "FlexiBLAS NETLIB, 1 thread", "BLIS 0.9.0, 2 threads"; else the file's name with its
 * build id, "libblas.so.3.11.0 1a2b3c4d". */
void mmt_blas_name(const char *path, char name[48]);

#endif
