/* The names that programs call: CLBlast's C interface, and what its C++ templates are
 * called in object files, for float, double and half. */
#include "dropin/clblast/call.h"

/* ---- each routine's arguments, as a call and as they are ------------------------- */

/* clang-format off */
#define GEMM_CALL(TYPE)                                                                  \
    { .routine = MMT_CLBLAST_GEMM, .type = TYPE, .layout = layout, .trans_a = trans_a,   \
      .trans_b = trans_b, .triangle = CLBLAST_LOWER, .m = m, .n = n, .k = k, .batch = 1, \
      .alphas = &alpha, .betas = &beta, .a = { a, &a_offset, lda, 0 },                   \
      .b = { b, &b_offset, ldb, 0 }, .c = { c, &c_offset, ldc, 0 }, .queue = queue,      \
      .event = event }
#define STRIDED_CALL(TYPE)                                                               \
    { .routine = MMT_CLBLAST_STRIDED, .type = TYPE, .layout = layout,                    \
      .trans_a = trans_a, .trans_b = trans_b, .triangle = CLBLAST_LOWER, .m = m, .n = n, \
      .k = k, .batch = batch, .alphas = &alpha, .betas = &beta,                          \
      .a = { a, &a_offset, lda, stride_a }, .b = { b, &b_offset, ldb, stride_b },        \
      .c = { c, &c_offset, ldc, stride_c }, .queue = queue, .event = event }
#define BATCHED_CALL(TYPE)                                                               \
    { .routine = MMT_CLBLAST_BATCHED, .type = TYPE, .layout = layout,                    \
      .trans_a = trans_a, .trans_b = trans_b, .triangle = CLBLAST_LOWER, .m = m, .n = n, \
      .k = k, .batch = batch, .alphas = alphas, .betas = betas,                          \
      .a = { a, a_offsets, lda, 0 }, .b = { b, b_offsets, ldb, 0 },                      \
      .c = { c, c_offsets, ldc, 0 }, .queue = queue, .event = event }
#define SYRK_CALL(TYPE)                                                                  \
    { .routine = MMT_CLBLAST_SYRK, .type = TYPE, .layout = layout, .trans_a = trans_a,   \
      .trans_b = trans_a == CLBLAST_NO ? CLBLAST_YES : CLBLAST_NO, .triangle = triangle, \
      .m = n, .n = n, .k = k, .batch = 1, .alphas = &alpha, .betas = &beta,              \
      .a = { a, &a_offset, lda, 0 }, .b = { a, &a_offset, lda, 0 },                      \
      .c = { c, &c_offset, ldc, 0 }, .queue = queue, .event = event }

#define GEMM_NAMES                                                                       \
    (layout, trans_a, trans_b, m, n, k, alpha, a, a_offset, lda, b, b_offset, ldb, beta, \
     c, c_offset, ldc, queue, event)
#define STRIDED_NAMES                                                                    \
    (layout, trans_a, trans_b, m, n, k, alpha, a, a_offset, lda, stride_a, b, b_offset,  \
     ldb, stride_b, beta, c, c_offset, ldc, stride_c, batch, queue, event)
#define BATCHED_NAMES                                                                    \
    (layout, trans_a, trans_b, m, n, k, alphas, a, a_offsets, lda, b, b_offsets, ldb,    \
     betas, c, c_offsets, ldc, batch, queue, event)
#define SYRK_NAMES                                                                       \
    (layout, triangle, trans_a, n, k, alpha, a, a_offset, lda, beta, c, c_offset, ldc,   \
     queue, event)

/* A function of CLBlast's: ours, or the real one of that symbol where ours passes. */
#define ROUTINE(function, symbol, CALL, TYPE, PARAMETERS, NAMES)                         \
    int function PARAMETERS                                                              \
    {                                                                                    \
        const struct mmt_clblast_call call = CALL(TYPE);                                 \
        int code;                                                                        \
        if (mmt_clblast_serve(&call, &code))                                             \
            return code;                                                                 \
        __typeof__(&function) next = mmt_clblast_real(symbol);                           \
        return next ? next NAMES : code;                                                 \
    }

/* ---- C ------------------------------------------------------------------------------ */

#define IN_C(name, CALL, TYPE, PARAMETERS, NAMES)                                        \
    MMT_API ROUTINE(name, #name, CALL, TYPE, PARAMETERS, NAMES)

IN_C(CLBlastSgemm, GEMM_CALL, MMT_F32, (CLBLAST_GEMM(float)), GEMM_NAMES)
IN_C(CLBlastDgemm, GEMM_CALL, MMT_F64, (CLBLAST_GEMM(double)), GEMM_NAMES)
IN_C(CLBlastHgemm, GEMM_CALL, MMT_F16, (CLBLAST_GEMM(cl_half)), GEMM_NAMES)

/* Memory for CLBlast's own copies: ours does without, and where it passes the real one makes
 * its own, as it was not asked how much that must be. */
#define ROOMY_GEMM(T) CLBLAST_GEMM(T), cl_mem room
#define ROOMY_GEMM_NAMES                                                                 \
    (layout, trans_a, trans_b, m, n, k, alpha, a, a_offset, lda, b, b_offset, ldb, beta, \
     c, c_offset, ldc, queue, event, NULL)

IN_C(CLBlastSgemmWithTempBuffer, GEMM_CALL, MMT_F32, (ROOMY_GEMM(float)),
     ROOMY_GEMM_NAMES)
IN_C(CLBlastDgemmWithTempBuffer, GEMM_CALL, MMT_F64, (ROOMY_GEMM(double)),
     ROOMY_GEMM_NAMES)
IN_C(CLBlastHgemmWithTempBuffer, GEMM_CALL, MMT_F16, (ROOMY_GEMM(cl_half)),
     ROOMY_GEMM_NAMES)

IN_C(CLBlastSgemmStridedBatched, STRIDED_CALL, MMT_F32,
     (CLBLAST_GEMM_STRIDED_BATCHED(float)), STRIDED_NAMES)
IN_C(CLBlastDgemmStridedBatched, STRIDED_CALL, MMT_F64,
     (CLBLAST_GEMM_STRIDED_BATCHED(double)), STRIDED_NAMES)
IN_C(CLBlastHgemmStridedBatched, STRIDED_CALL, MMT_F16,
     (CLBLAST_GEMM_STRIDED_BATCHED(cl_half)), STRIDED_NAMES)

IN_C(CLBlastSgemmBatched, BATCHED_CALL, MMT_F32, (CLBLAST_GEMM_BATCHED(float)),
     BATCHED_NAMES)
IN_C(CLBlastDgemmBatched, BATCHED_CALL, MMT_F64, (CLBLAST_GEMM_BATCHED(double)),
     BATCHED_NAMES)
IN_C(CLBlastHgemmBatched, BATCHED_CALL, MMT_F16, (CLBLAST_GEMM_BATCHED(cl_half)),
     BATCHED_NAMES)

IN_C(CLBlastSsyrk, SYRK_CALL, MMT_F32, (CLBLAST_SYRK(float)), SYRK_NAMES)
IN_C(CLBlastDsyrk, SYRK_CALL, MMT_F64, (CLBLAST_SYRK(double)), SYRK_NAMES)

/* ---- C++: clblast::Gemm<float> and so on, by the names of the Itanium ABI ------------ */

/* X is f, d or t, as the ABI spells float, double and unsigned short, which half is. */
#define GEMM_SYMBOL(X)                                                                   \
    "_ZN7clblast4GemmI" X "EENS_10StatusCodeENS_6LayoutENS_9TransposeES3_mmmT_P7_cl_"    \
    "memmmS6_mmS4_S6_mmPP17_cl_command_queuePP9_cl_eventS6_"
#define STRIDED_SYMBOL(X)                                                                \
    "_ZN7clblast18GemmStridedBatchedI" X "EENS_10StatusCodeENS_6LayoutENS_9TransposeES3" \
    "_mmmT_P7_cl_memmmmS6_mmmS4_S6_mmmmPP17_cl_command_queuePP9_cl_event"
#define BATCHED_SYMBOL(X)                                                                \
    "_ZN7clblast11GemmBatchedI" X "EENS_10StatusCodeENS_6LayoutENS_9TransposeES3_mmmPKT" \
    "_P7_cl_memPKmmS8_SA_mS6_S8_SA_mmPP17_cl_command_queuePP9_cl_event"
#define SYRK_SYMBOL(X)                                                                   \
    "_ZN7clblast4SyrkI" X "EENS_10StatusCodeENS_6LayoutENS_8TriangleENS_9TransposeEmmT_" \
    "P7_cl_memmmS5_S7_mmPP17_cl_command_queuePP9_cl_event"
#define ROOM_SYMBOL(X)                                                                   \
    "_ZN7clblast18GemmTempBufferSizeI" X "EENS_10StatusCodeENS_6LayoutENS_9TransposeES3" \
    "_mmmmmmmmmPP17_cl_command_queueRm"

#define IN_CPP(function, symbol, CALL, TYPE, PARAMETERS, NAMES)                          \
    MMT_API int function PARAMETERS __asm__(symbol);                                     \
    ROUTINE(function, symbol, CALL, TYPE, PARAMETERS, NAMES)

IN_CPP(gemm_f, GEMM_SYMBOL("f"), GEMM_CALL, MMT_F32, (ROOMY_GEMM(float)), ROOMY_GEMM_NAMES)
IN_CPP(gemm_d, GEMM_SYMBOL("d"), GEMM_CALL, MMT_F64, (ROOMY_GEMM(double)), ROOMY_GEMM_NAMES)
IN_CPP(gemm_t, GEMM_SYMBOL("t"), GEMM_CALL, MMT_F16, (ROOMY_GEMM(cl_half)), ROOMY_GEMM_NAMES)

IN_CPP(strided_f, STRIDED_SYMBOL("f"), STRIDED_CALL, MMT_F32,
       (CLBLAST_GEMM_STRIDED_BATCHED(float)), STRIDED_NAMES)
IN_CPP(strided_d, STRIDED_SYMBOL("d"), STRIDED_CALL, MMT_F64,
       (CLBLAST_GEMM_STRIDED_BATCHED(double)), STRIDED_NAMES)
IN_CPP(strided_t, STRIDED_SYMBOL("t"), STRIDED_CALL, MMT_F16,
       (CLBLAST_GEMM_STRIDED_BATCHED(cl_half)), STRIDED_NAMES)

IN_CPP(batched_f, BATCHED_SYMBOL("f"), BATCHED_CALL, MMT_F32,
       (CLBLAST_GEMM_BATCHED(float)), BATCHED_NAMES)
IN_CPP(batched_d, BATCHED_SYMBOL("d"), BATCHED_CALL, MMT_F64,
       (CLBLAST_GEMM_BATCHED(double)), BATCHED_NAMES)
IN_CPP(batched_t, BATCHED_SYMBOL("t"), BATCHED_CALL, MMT_F16,
       (CLBLAST_GEMM_BATCHED(cl_half)), BATCHED_NAMES)

IN_CPP(syrk_f, SYRK_SYMBOL("f"), SYRK_CALL, MMT_F32, (CLBLAST_SYRK(float)), SYRK_NAMES)
IN_CPP(syrk_d, SYRK_SYMBOL("d"), SYRK_CALL, MMT_F64, (CLBLAST_SYRK(double)), SYRK_NAMES)

/* ---- memory for CLBlast's copies ----------------------------------------------------- */

/* No buffer has less than one element. */
#define ROOM(function, T)                                                                \
    int function(CLBLAST_SIZES)                                                          \
    {                                                                                    \
        *bytes = sizeof(T);                                                              \
        return CL_SUCCESS;                                                               \
    }
#define CPP_ROOM(function, symbol, T)                                                    \
    MMT_API int function(CLBLAST_SIZES) __asm__(symbol);                                 \
    ROOM(function, T)

MMT_API ROOM(CLBlastSGemmTempBufferSize, float)
MMT_API ROOM(CLBlastDGemmTempBufferSize, double)
MMT_API ROOM(CLBlastHGemmTempBufferSize, cl_half)

CPP_ROOM(room_f, ROOM_SYMBOL("f"), float)
CPP_ROOM(room_d, ROOM_SYMBOL("d"), double)
CPP_ROOM(room_t, ROOM_SYMBOL("t"), cl_half)

    /* clang-format on */

    /* ---- caches
     * ---------------------------------------------------------------------------
     */

    static int clear_cache(const char *symbol)
{
    int (*next)(void) = mmt_clblast_real(symbol);

    mmt_clblast_clear();
    return next ? next() : CL_SUCCESS;
}

static int fill_cache(const char *symbol, cl_device_id device)
{
    int (*next)(cl_device_id) = mmt_clblast_real(symbol);
    return next ? next(device) : CL_SUCCESS;
}

#define CLEAR_SYMBOL "_ZN7clblast10ClearCacheEv"
#define FILL_SYMBOL  "_ZN7clblast9FillCacheEP13_cl_device_id"

MMT_API int cpp_clear_cache(void) __asm__(CLEAR_SYMBOL);
MMT_API int cpp_fill_cache(cl_device_id device) __asm__(FILL_SYMBOL);

MMT_API int CLBlastClearCache(void)
{
    return clear_cache("CLBlastClearCache");
}

MMT_API int CLBlastFillCache(cl_device_id device)
{
    return fill_cache("CLBlastFillCache", device);
}

int cpp_clear_cache(void)
{
    return clear_cache(CLEAR_SYMBOL);
}

int cpp_fill_cache(cl_device_id device)
{
    return fill_cache(FILL_SYMBOL, device);
}
