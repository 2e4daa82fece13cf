/* mmtune - matrix multiplication by kernels that were tuned on the device at hand.
 *
 *     open a device  ->  load a profile  ->  plan a shape  ->  execute
 *
 * A device is a GPU or CPU reached through CUDA or OpenCL. A profile is what `mmtune
 * --device 0` learned about it; without one, sound defaults serve. A plan binds one
 * problem to one built kernel. Executing a plan puts its launches on the caller's own
 * queue, with the caller's own buffers, and returns.
 *
 * What may be slow: opening a device (tenths of a second), and a plan whose kernel is not
 * in the cache on disk (generated and compiled: up to seconds). A kernel that was loaded
 * for one plan of a device is there for the next. mmt_execute never compiles, never
 * allocates, never waits for the device and adds well under a microsecond.
 *
 * Matrices are row-major: element (i, j) of A stands at a[i * lda + j].
 *
 * Errors: every function that can fail takes, last, an mmt_error that the caller owns (or
 * NULL). Functions that return mmt_status return what they put there; functions that
 * return an object return NULL then. Nothing is printed (but see mmt_device_set_log),
 * nothing aborts; NULL where an object is needed is MMT_ERROR_ARGUMENT. What cannot fail
 * answers NULL with 0 or an empty text, and frees nothing.
 *
 * Structs that begin with `size` grow at their ends. A library takes those of older
 * headers, whose missing members have their defaults, and of newer ones, as long as the
 * members that it does not know are 0; else it answers MMT_ERROR_UNSUPPORTED.
 *
 * There is no global state. Each object says how far threads may share it.
 *
 * fork: neither CUDA nor an OpenCL driver survives it. A child that goes on without exec
 * may use problems and profiles, and free nothing that came from a device. It may open
 * devices of its own where the parent has opened none before.
 *
 * Neither this header nor mmtune/cuda.h nor mmtune/opencl.h needs a vendor's header.
 */
#ifndef MMTUNE_MMTUNE_H
#define MMTUNE_MMTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Versions before 1.0 may change the API from minor to minor; the soname says which. */
#define MMT_VERSION_MAJOR 0
#define MMT_VERSION_MINOR 2
#define MMT_VERSION_PATCH 0

#if defined(__GNUC__)
#define MMT_API __attribute__((visibility("default")))
#else
#define MMT_API
#endif

/* ---- errors ---------------------------------------------------------------------- */

typedef enum mmt_status {
    MMT_OK = 0,
    MMT_ERROR_ARGUMENT, /* a value that can never be right; the text says what would be */
    MMT_ERROR_UNSUPPORTED, /* right in itself, but not on this device or in this build */
    MMT_ERROR_NOT_FOUND,   /* no such device, file, template, profile */
    MMT_ERROR_FORMAT,      /* a file that is not what it should be */
    MMT_ERROR_MEMORY,      /* host or device memory is exhausted */
    MMT_ERROR_COMPILE,     /* a kernel does not compile; the text begins its log */
    MMT_ERROR_DEVICE, /* the driver refused or the device failed; `native` has its code */
    MMT_ERROR_IO,     /* reading or writing a file failed; `native` has errno */
} mmt_status;

/* clang-format off */

/* Which argument, or member of a struct, a failure is about. Numbers are never given to
 * another one; later ones come at the end. */
typedef enum mmt_argument {
    MMT_ARGUMENT_NONE = 0, /* none, or several that are wrong together */
    MMT_ARGUMENT_DEVICE, MMT_ARGUMENT_PROFILE, MMT_ARGUMENT_PROBLEM, MMT_ARGUMENT_PLAN,
    MMT_ARGUMENT_ARGS, MMT_ARGUMENT_QUEUE,
    MMT_ARGUMENT_SIZE, /* `size` of a struct */
    MMT_ARGUMENT_OP, MMT_ARGUMENT_TYPE, MMT_ARGUMENT_OUT,
    MMT_ARGUMENT_TRANS_A, MMT_ARGUMENT_TRANS_B,
    MMT_ARGUMENT_M, MMT_ARGUMENT_N, MMT_ARGUMENT_K,
    MMT_ARGUMENT_LDA, MMT_ARGUMENT_LDB, MMT_ARGUMENT_LDC, MMT_ARGUMENT_BATCH,
    MMT_ARGUMENT_STRIDE_A, MMT_ARGUMENT_STRIDE_B, MMT_ARGUMENT_STRIDE_C,
    MMT_ARGUMENT_BIAS, /* of a problem, or of an execution */
    MMT_ARGUMENT_ACTIVATION,
    MMT_ARGUMENT_A, MMT_ARGUMENT_B, MMT_ARGUMENT_C,
    MMT_ARGUMENT_ALPHA, MMT_ARGUMENT_BETA, MMT_ARGUMENT_SCALARS, MMT_ARGUMENT_WORKSPACE,
    MMT_ARGUMENT_CONFIGURATION, MMT_ARGUMENT_EFFORT, MMT_ARGUMENT_F32_MODE,
    MMT_ARGUMENT_EVENTS, MMT_ARGUMENT_COUNT,
    MMT_ARGUMENT_OFFSETS_A, MMT_ARGUMENT_OFFSETS_B, MMT_ARGUMENT_OFFSETS_C,
    MMT_ARGUMENT_ROWS, MMT_ARGUMENT_COLUMNS, MMT_ARGUMENT_LD_HOST,
    MMT_ARGUMENT_LD_DEVICE, MMT_ARGUMENT_HOST, MMT_ARGUMENT_MATRIX,
    MMT_ARGUMENT_LAYOUT, MMT_ARGUMENT_HANDLE, /* of mmtune/blas.h */
    MMT_ARGUMENT_MEASURE_SECONDS, MMT_ARGUMENT_BATCH_BY
} mmt_argument;

/* clang-format on */

/* What went wrong: filled by the function that failed, untouched by one that succeeds.
 * The caller owns it, so that its size and the places of its members never change:
 * `argument` takes the last bytes of what was `text` in version 0.1, whose programs find
 * their text as ever. */
typedef struct mmt_error {
    mmt_status status;
    int native;      /* the driver's or the system's own code, 0 where there is none */
    char text[1020]; /* one or more sentences for people, always terminated */
    mmt_argument argument; /* where the failure is about one; else MMT_ARGUMENT_NONE */
} mmt_error;

/* A short constant name, such as "out of memory". */
MMT_API const char *mmt_status_name(mmt_status status);

/* An argument as the sentences name it, such as "lda"; "" for none. */
MMT_API const char *mmt_argument_name(mmt_argument argument);

/* "0.2.0": the version of the library that is loaded. */
MMT_API const char *mmt_version(void);

/* ---- problems -------------------------------------------------------------------- */

/* What is computed. GEMM has all types; the others have f32, f64 and i32, no transposes,
 * no bias and no activation. A dimension or operand that an op does not have is absent
 * from its line; such a dimension is 1, such a leading dimension or stride 0.
 *
 *   GEMM      C = activation(alpha op(A) op(B) + beta C + bias)      op(A) m x k, op(B)
 *                                                                    k x n, C m x n
 *   AXPBY     C = alpha A + beta B                                   A, B, C m x n
 *   DOT       C(i) = alpha sum_p A(i, p) B(i, p) + beta C(i)         A, B m x k, C m x 1
 *   HEAT2D    C = A + alpha ((N + S) + (W + E) - 4 A)                A, C m x n
 *   JACOBI3D  C = alpha (((D + U) + (N + S)) + (W + E)) + beta B     A, B, C m x n x k
 *   SYRK      C(i, j) = alpha sum_p A(i, p) A(j, p) + beta C(i, j)   A n x k, C n x n
 *             where j <= i
 *
 * AXPBY adds arrays: a plain one is a matrix of one row. C may be A or B itself, with the
 * same start, leading dimension and stride. Where a scalar is 0 its array is not read and
 * may be null.
 *
 * DOT computes m dot products in one launch, of row i of A and row i of B. ldc is what
 * C's elements are apart (0: 1). A batch computes them for other rows; as everywhere, a
 * stride of 0 shares rows among the batch. So for vectors x0, x1, x2, x3 that stand `p`
 * elements apart, A = B = x0, m = 2, lda = ldb = p, batch = 3, stride_a = p, stride_b = 0
 * gives (x0, x0), (x1, x1); (x1, x0), (x2, x1); (x2, x0), (x3, x1). A plan adds up in the
 * same order every time: the same numbers give the same bits.
 *
 * HEAT2D is one explicit step of the heat equation on a grid, JACOBI3D one Jacobi sweep
 * of Poisson's equation. An element of A has the neighbours W and E in the columns before
 * and after its own, N and S in the rows, and D and U in the planes. The outermost
 * elements are the border: there C = A. Every operation is rounded by itself, in the
 * order of the formula. So C has the same bits on every device that keeps to IEEE 754,
 * and a grid that is computed in pieces has those of the whole. beta = 0 leaves the term
 * with B out, and B may be null. A grid has at least 3 elements in each direction. One of
 * m x n x k is m planes of n rows: element (i, j, l) stands at row i * n + j, column l.
 *
 * SYRK multiplies A by A transposed, a symmetric product, of which it computes and stores
 * the lower triangle with the diagonal. The entries of C above the diagonal are neither
 * read nor written; C has room for them. Where alpha or k is 0, A is not read.
 */
typedef enum mmt_op {
    MMT_GEMM = 0,
    MMT_AXPBY,
    MMT_DOT,
    MMT_HEAT2D,
    MMT_JACOBI3D,
    MMT_SYRK,
} mmt_op;

/* How numbers are stored, multiplied and added. A device without units for a type has a
 * plain kernel for it, so that every type but f64 serves on every device.
 *
 *             A and B                           adds up in   C
 *   f32 f64   themselves                        themselves   themselves
 *   i32       32 bits                           mod 2^32     i32
 *   bf16 f16  16 bits: 8 or 5 of exponent       f32          f32 or the type itself
 *   tf32      f32; each fraction is rounded to  f32          f32
 *             its nearest 10 bits, ties either
 *             way
 *   f8e4m3    8 bits: 4 or 5 of exponent, as    f32          f32, f16 or bf16
 *   f8e5m2    the Open Compute Project has it
 *   i8        8 bits, signed                    mod 2^32     i32
 *
 * Matrix units may add up f8 with fewer bits than f32 has. How far C may be from the
 * exact product, type by type: docs/lab/accuracy.md. How f32 is multiplied, mmt_f32_mode
 * says; by default tensor cores may emulate it. */
typedef enum mmt_type {
    MMT_F32 = 0,
    MMT_F64,
    MMT_I32,
    MMT_BF16,
    MMT_F16,
    MMT_TF32,
    MMT_F8E4M3,
    MMT_F8E5M2,
    MMT_I8,
} mmt_type;

/* "f32"; "" for what is no type. */
MMT_API const char *mmt_type_name(mmt_type type);

/* Bytes of one element; 0 for what is no type. */
MMT_API size_t mmt_type_size(mmt_type type);

/* How products of f32 are computed. */
typedef enum mmt_f32_mode {
    MMT_F32_EMULATED = 0, /* the default: from sm_80 on tensor cores may take each number
                           * as three of bf16, six products for one. C is then nearer to
                           * the exact product, and infinities and NaN are where they
                           * would be */
    MMT_F32_STRICT,       /* by FMAs of f32 alone */
} mmt_f32_mode;

/* Whether A or B is stored as the formula has it, or with rows and columns exchanged. 2
 * is kept for the conjugate of complex types, and is refused. */
typedef enum mmt_transpose {
    MMT_N = 0,
    MMT_T = 1,
} mmt_transpose;

/* A vector that is added to C, in C's type, named by the axis along which it runs; a
 * batch shares it. */
typedef enum mmt_bias {
    MMT_BIAS_NONE = 0,
    MMT_BIAS_M, /* m values, one for each row */
    MMT_BIAS_N, /* n values, one for each column */
} mmt_bias;

/* What is done to each element last. */
typedef enum mmt_activation {
    MMT_ACTIVATION_NONE = 0,
    MMT_RELU,      /* max(x, 0) */
    MMT_GELU,      /* x / 2 (1 + erf(x / sqrt(2))) */
    MMT_GELU_TANH, /* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
    MMT_SILU,      /* x / (1 + exp(-x)) */
} mmt_activation;

/* How the matrices of a batch are found. */
typedef enum mmt_batch_by {
    MMT_BY_STRIDE = 0,
    MMT_BY_POINTERS, /* CUDA and MMT_GEMM alone: an execution's A, B and C are arrays in
                      * device memory, of a pointer to each matrix of the batch. They are
                      * read when the launch runs, not when it is queued, so that the
                      * host need not know them; an array may name a matrix of A or B
                      * more than once */
} mmt_batch_by;

/* One problem. For products: C = activation(alpha op(A) op(B) + beta C + bias). op(A) is
 * m x k, op(B) is k x n, C is m x n. All of it is computed in the type's scalar type,
 * which is also that of alpha and beta: f64 for f64, i32 for i32 and i8 (whole alpha and
 * beta, bias and RELU alone), f32 for the others. Then C is rounded once, to the nearest
 * number of its type.
 *
 * A is stored m x k, or k x m when trans_a is MMT_T; B is stored k x n, or n x k when
 * trans_b is; C is stored m x n. A leading dimension is what the first elements of
 * two rows are apart, in elements; 0 means "no gap". ldc is at least n. lda and ldb may
 * be less than a row has elements, down to 1: rows overlap, as sliding windows over one
 * array do. A batch of 0 means 1; strides are in elements from one matrix of the batch to
 * the next (0 for A or B: all share one matrix; 0 for C with a batch over 1: no gap
 * between the matrices; none is read with MMT_BY_POINTERS). Where m or n is 0 there is
 * nothing to do; where k is 0, C = beta C. Each of m, n and k is at most 2^31 - 65536, a
 * leading dimension at most 2^31 - 1; a matrix may have more elements than that. */
typedef struct mmt_problem {
    size_t size; /* sizeof(mmt_problem): lets the struct grow */
    mmt_op op;
    mmt_type type;
    mmt_transpose trans_a, trans_b;
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    int64_t batch;
    int64_t stride_a, stride_b, stride_c;
    mmt_type out; /* C's; read only where the type has a choice, see there */
    mmt_bias bias;
    mmt_activation activation;
    mmt_batch_by batch_by;
} mmt_problem;

/* What the functions below fill in: the `size` bytes that the caller's header knows. */
MMT_API void mmt_problem_init(mmt_problem *out, size_t size, mmt_op op, mmt_type type,
                              int64_t m, int64_t n, int64_t k);

/* A plain product, C = A B, to be changed further by the caller. C is of the type itself
 * where that can be, of bf16 for f8. */
static inline mmt_problem mmt_gemm_problem(mmt_type type, int64_t m, int64_t n, int64_t k)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_GEMM, type, m, n, k);
    return problem;
}

/* Arrays of n elements; m dot products of k elements each; grids; A n x k times A
 * transposed. */
static inline mmt_problem mmt_axpby_problem(mmt_type type, int64_t n)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_AXPBY, type, 1, n, 1);
    return problem;
}

static inline mmt_problem mmt_dot_problem(mmt_type type, int64_t m, int64_t k)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_DOT, type, m, 1, k);
    return problem;
}

static inline mmt_problem mmt_heat2d_problem(mmt_type type, int64_t m, int64_t n)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_HEAT2D, type, m, n, 1);
    return problem;
}

static inline mmt_problem mmt_jacobi3d_problem(mmt_type type, int64_t m, int64_t n,
                                               int64_t k)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_JACOBI3D, type, m, n, k);
    return problem;
}

static inline mmt_problem mmt_syrk_problem(mmt_type type, int64_t n, int64_t k)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, MMT_SYRK, type, 1, n, k);
    return problem;
}

/* ---- devices --------------------------------------------------------------------- */

/* A device that was opened. Thread-safe: any number of threads may use the same device at
 * the same time. Closing it comes last, once everything made from it has been freed. */
typedef struct mmt_device mmt_device;

typedef enum mmt_device_kind {
    MMT_DEVICE_NONE = 0,
    MMT_DEVICE_GPU,
    MMT_DEVICE_CPU,
} mmt_device_kind;

/* The devices of this machine, as they were when it was made; opens none of them. Any
 * number of threads may share a list. */
typedef struct mmt_devices mmt_devices;

/* All devices, in the order of their numbers in `mmtune devices`. A machine with none has
 * an empty list. The caller frees it by mmt_devices_free. */
MMT_API mmt_devices *mmt_devices_find(mmt_error *err);

/* How many devices a list has. */
MMT_API size_t mmt_devices_count(const mmt_devices *devices);

/* Of the device with that number, from 0 on: the id that opens it, "cuda:0"; its name,
 * "NVIDIA H200"; what it is. "" and MMT_DEVICE_NONE beyond the end. The texts belong to
 * the list. */
MMT_API const char *mmt_devices_id(const mmt_devices *devices, size_t number);
MMT_API const char *mmt_devices_name(const mmt_devices *devices, size_t number);
MMT_API mmt_device_kind mmt_devices_kind(const mmt_devices *devices, size_t number);

/* A sentence for each platform that is there but could not be asked, one a line; "" where
 * all could. Belongs to the list. */
MMT_API const char *mmt_devices_notes(const mmt_devices *devices);

/* Frees a list; NULL is allowed. */
MMT_API void mmt_devices_free(mmt_devices *devices);

/* A queue of the device's API (CUstream, cl_command_queue), made by the functions of
 * mmtune/cuda.h and mmtune/opencl.h. NULL is the device's own: CUDA's default stream, or
 * an in-order OpenCL queue that mmt_device_open made. */
typedef struct mmt_queue_of_api *mmt_queue;

/* Opens a device by its number in `mmtune devices` ("0"), or outright: "cuda:0",
 * "opencl:1", the id that is listed beside the number, which stays when another platform
 * is installed, or "null:sm_90", which compiles for a GPU that need not be there and
 * executes nothing. NULL opens "0". A caller with a CUDA context or an OpenCL context of
 * its own uses mmt_cuda_device or mmt_opencl_device instead. */
MMT_API mmt_device *mmt_device_open(const char *name, mmt_error *err);

/* Closes a device; NULL is allowed. */
MMT_API void mmt_device_close(mmt_device *device);

/* "NVIDIA H200 (cuda:0)". Belongs to the device. */
MMT_API const char *mmt_device_name(const mmt_device *device);

/* What a device is, as far as its platform tells: else 0 or "". Texts belong to it. */
typedef struct mmt_device_facts {
    size_t size;      /* sizeof(mmt_device_facts) */
    const char *id;   /* "cuda:0", which opens it */
    const char *name; /* "NVIDIA H200" */
    const char *api;  /* "cuda", "opencl" or "null" */
    mmt_device_kind kind;
    int f64;              /* nonzero: it has double precision */
    unsigned max_threads; /* in a block */
    unsigned clock_khz;   /* the highest */
    size_t memory, cache; /* bytes of its memory, and of its last-level cache */
} mmt_device_facts;

/* Fills in the `size` bytes that the caller's header knows. */
MMT_API void mmt_device_facts_init(mmt_device_facts *out, size_t size,
                                   const mmt_device *device);

static inline mmt_device_facts mmt_device_facts_of(const mmt_device *device)
{
    mmt_device_facts facts;
    mmt_device_facts_init(&facts, sizeof facts, device);
    return facts;
}

/* Operations a second that a device does of a type at most, an FMA counted as two: by its
 * fastest unit that is exact, at its highest clock. 0 where nobody tells. */
MMT_API double mmt_device_peak(const mmt_device *device, mmt_type type);

/* Takes a sentence of what the library does unasked; the text lives until it returns. It
 * is called by the thread whose call it is about, several at a time where several threads
 * make plans, and calls nothing of the library for this device. */
typedef void (*mmt_log)(void *context, const char *text);

/* From now on tells `log`, with that context, what is else said nowhere at the time: that
 * a kernel was compiled, and how long that took in seconds; that the driver refuses one
 * that was in the cache, or one that was chosen, so that another takes its place. NULL:
 * nobody. Set before other threads use the device; the context outlives it. */
MMT_API void mmt_device_set_log(mmt_device *device, mmt_log log, void *context);

/* ---- memory, for programs without CUDA or OpenCL of their own -------------------- */

/* Device memory as an operand: a CUdeviceptr, or a cl_mem, with an offset in bytes, which
 * is a multiple of the element's size. */
typedef struct mmt_operand {
    uint64_t handle;
    size_t offset;
} mmt_operand;

/* Device memory of that many bytes (at least 1), freed by mmt_buffer_free. */
MMT_API mmt_status mmt_buffer_create(mmt_device *device, size_t bytes,
                                     mmt_operand *buffer, mmt_error *err);
MMT_API void mmt_buffer_free(mmt_device *device, mmt_operand buffer);

/* Copy between host and device; both wait for the device's own queue and for the copy,
 * which every queue of the device sees. */
MMT_API mmt_status mmt_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                    size_t bytes, mmt_error *err);
MMT_API mmt_status mmt_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                   size_t bytes, mmt_error *err);

/* Copy a matrix of `rows` rows of `columns` elements between host and device, as
 * mmt_buffer_write and mmt_buffer_read copy bytes. Leading dimensions, of the device's
 * memory and of the host's, are in elements of the type; 0 means "no gap". What stands
 * between the rows is left as it is. MMT_ERROR_ARGUMENT for a leading dimension below
 * `columns` and, with OpenCL, for a buffer shorter than the matrix. Threads: as the
 * device. */
MMT_API mmt_status mmt_matrix_write(mmt_device *device, mmt_operand to, int64_t ld_device,
                                    const void *from, int64_t ld_host, mmt_type type,
                                    int64_t rows, int64_t columns, mmt_error *err);
MMT_API mmt_status mmt_matrix_read(mmt_device *device, void *to, int64_t ld_host,
                                   mmt_operand from, int64_t ld_device, mmt_type type,
                                   int64_t rows, int64_t columns, mmt_error *err);

/* Waits until all that was put on the queue is done. */
MMT_API mmt_status mmt_finish(mmt_device *device, mmt_queue queue, mmt_error *err);

/* ---- time, for programs without CUDA or OpenCL of their own ---------------------- */

/* A queue of its own, in order, whose work the device times. One thread's at a time. */
typedef struct mmt_timer mmt_timer;

/* A timer with an idle queue; freed by mmt_timer_free before the device is closed. */
MMT_API mmt_timer *mmt_timer_create(mmt_device *device, mmt_error *err);

/* The queue, which belongs to the timer. */
MMT_API mmt_queue mmt_timer_queue(const mmt_timer *timer);

/* Bracket work on the timer's queue. Stopping waits for it; *seconds is the time between
 * the two by the device's own clock. */
MMT_API mmt_status mmt_timer_start(mmt_timer *timer, mmt_error *err);
MMT_API mmt_status mmt_timer_stop(mmt_timer *timer, double *seconds, mmt_error *err);

/* Frees a timer whose queue has nothing left to do; NULL is allowed. */
MMT_API void mmt_timer_free(mmt_timer *timer);

/* ---- profiles -------------------------------------------------------------------- */

/* What was learned about one device. Any number of threads may share it. Only what plans
 * measure is added to it. A plan keeps nothing of it. */
typedef struct mmt_profile mmt_profile;

/* Reads a profile. A file of another format is refused as a whole; an entry that names an
 * unknown template, knob or value is left out, and mmt_profile_warnings says which.
 *
 * Or reads a bundle of `mmtune bundle`: profiles with compiled kernels. Plans with it
 * take the kernels that are inside alone: nothing is compiled, written or read elsewhere.
 * Where none serves, a plan is MMT_ERROR_UNSUPPORTED; on another device
 * MMT_ERROR_ARGUMENT, unless foreign_profile allows one of the architecture.
 * MMT_ERROR_FORMAT where it is damaged or of another version. The file is read until
 * mmt_profile_free: replace it by renaming another to its name; a plan whose kernel was
 * written over or cut off is MMT_ERROR_FORMAT. It is code: load it from where you load
 * libraries from. */
MMT_API mmt_profile *mmt_profile_load(const char *path, mmt_error *err);

/* All profiles of this device as one: its user's, in $XDG_DATA_HOME/mmtune; a site's, in
 * the folders of MMTUNE_PROFILE_PATH, with ':' between them, and in mmtune/profiles below
 * each of XDG_DATA_DIRS; and those that were installed with the library. The files' names
 * begin with <backend>-<device> and end with .json. All entries count; for one problem
 * that of the profile that was measured on this very device, then of the newest, which
 * the device does not refuse; behind them ranges of m. The kernels for all other shapes
 * of a type and transposes are those of the profile that timed most shapes for them, or
 * where there is none, on a GPU, of the nearest one of this architecture. A file that
 * cannot be used is told in mmt_profile_warnings. MMT_ERROR_NOT_FOUND where there is
 * none. */
MMT_API mmt_profile *mmt_profile_find(const mmt_device *device, mmt_error *err);

/* Reads a profile from `length` bytes of memory, which the caller keeps: what is in a
 * file. Errors and warnings as mmt_profile_load. A bundle is read in place: its bytes
 * begin at a multiple of 8, and stay as they are until mmt_profile_free. */
MMT_API mmt_profile *mmt_profile_parse(const char *text, size_t length, mmt_error *err);

/* Several profiles of this device as one, as mmt_profile_find makes one of files: for one
 * problem the entry of the first in the list that has one counts. They may be freed
 * afterwards; what plans measured is not part of it. MMT_ERROR_ARGUMENT for none, one
 * that is NULL, a bundle or of another device. Any number of threads may share them. */
MMT_API mmt_profile *mmt_profile_combine(const mmt_device *device,
                                         const mmt_profile *const *profiles, size_t count,
                                         mmt_error *err);

/* Writes what plans of this profile measured (MMT_EFFORT_MEASURE) into the user's folder,
 * beside the device's profile: later mmt_profile_find has it. Problems that were tuned
 * into that profile meanwhile are left out. Any number of processes may do so at once. */
MMT_API mmt_status mmt_profile_store(const mmt_profile *profile, const mmt_device *device,
                                     mmt_error *err);

/* What was left out while reading, one sentence a line; "" where nothing was. Belongs to
 * the profile. */
MMT_API const char *mmt_profile_warnings(const mmt_profile *profile);

/* The files that a profile stands in, one a line, the one that counts most first. Writes
 * and returns as mmt_plan_describe. */
MMT_API size_t mmt_profile_files(const mmt_profile *profile, char *text, size_t size);

/* Frees a profile; NULL is allowed. */
MMT_API void mmt_profile_free(mmt_profile *profile);

/* ---- plans ----------------------------------------------------------------------- */

/* One problem bound to one built kernel. Immutable: any number of threads may execute one
 * plan at once, on as many queues; but see own_workspace. */
typedef struct mmt_plan mmt_plan;

/* How a kernel is selected where the profile does not have this very problem. */
typedef enum mmt_effort {
    MMT_EFFORT_ESTIMATE, /* by the profile's model of time: microseconds */
    MMT_EFFORT_MEASURE,  /* the few kernels that the model names are built, which may take
                          * seconds, and timed on the device, in memory of their own. The
                          * profile, if there is one, remembers the winner for as long as
                          * it lives. Plans that measure take turns. A batch by pointers
                          * is not measured */
} mmt_effort;

/* Start from mmt_plan_defaults(). */
typedef struct mmt_plan_options {
    size_t size;          /* sizeof(mmt_plan_options) */
    size_t max_workspace; /* bytes; 0 forbids kernels that need any; default: no cap */
    const char
        *configuration;    /* use this one, as `mmtune` prints it; default NULL: choose */
    int foreign_profile;   /* nonzero: use the profile although another device made it */
    int aligned_only;      /* nonzero: a promise that operands start at multiples of 16
                            * bytes; spares the building of a second kernel. With
                            * MMT_BY_POINTERS it is about the matrices: without it, the
                            * kernel is one for any alignment */
    mmt_f32_mode f32_mode; /* default: MMT_F32_EMULATED */
    mmt_effort effort;     /* default: MMT_EFFORT_ESTIMATE */
    double measure_seconds; /* most that timing takes, apart from building kernels and
                             * writing random numbers; at most a day; default 0: 0.05 */
    size_t measure_bytes;   /* most device memory for it; default 0: a quarter */
    mmt_queue queue;        /* nothing is measured while this one is being captured, or a
                             * stream that the default stream waits for; default NULL */
    int own_workspace; /* nonzero: the plan makes the workspace that it needs, once, and
                        * frees it. Its executions then follow each other: all on one
                        * queue, queued by one thread at a time. An execution with a
                        * workspace of its own is free of that. Default 0 */
} mmt_plan_options;

/* Fills in the defaults: the `size` bytes that the caller's header knows. */
MMT_API void mmt_plan_options_init(mmt_plan_options *out, size_t size);

static inline mmt_plan_options mmt_plan_defaults(void)
{
    mmt_plan_options options;
    mmt_plan_options_init(&options, sizeof options);
    return options;
}

/* Chooses, builds and loads a kernel for the problem. The profile and the options may be
 * NULL; they, and the problem, need only live until this returns. Slow where the kernel
 * is not in the cache on disk yet. Fails where the device cannot compute the type (f64
 * on one without double precision). */
MMT_API mmt_plan *mmt_plan_create(mmt_device *device, const mmt_profile *profile,
                                  const mmt_problem *problem,
                                  const mmt_plan_options *options, mmt_error *err);

/* Bytes of workspace that each execution in flight needs from its caller; often 0, and
 * always 0 where the plan has its own. */
MMT_API size_t mmt_plan_workspace(const mmt_plan *plan);

/* The configuration, why it was chosen, and which the driver refused, for people; and,
 * where kernels that this process compiled could not be stored (a full disk, a folder
 * that others may write), why. Writes at most `size` bytes, always terminated; returns
 * the length that the whole text has. */
MMT_API size_t mmt_plan_describe(const mmt_plan *plan, char *text, size_t size);

/* Frees a plan; NULL is allowed. Executions that are in flight must be finished first. */
MMT_API void mmt_plan_free(mmt_plan *plan);

/* ---- executing ------------------------------------------------------------------- */

/* The arguments of one execution. With MMT_BY_POINTERS, a, b and c are arrays of pointers
 * in place of matrices, with their offsets in bytes, a multiple of 8. Start from
 * mmt_args_defaults(). */
typedef struct mmt_args {
    size_t size;         /* sizeof(mmt_args) */
    mmt_operand a, b, c; /* A and B may be 0 where k or the host's alpha is 0; what other
                          * ops do not read, see there */
    double alpha, beta;  /* 1 and 0; beta = 0 never reads C. Ignored with scalars */
    mmt_operand scalars; /* device memory with alpha, then beta, in the scalar type; 0:
                          * none. Read when the launch runs, not when it is queued */
    mmt_operand workspace; /* what the plan needs, 256-byte aligned, for this execution
                            * alone until it is done; 0: none, or the plan's own */
    mmt_operand bias;      /* where the problem has one */
} mmt_args;

/* Fills in the defaults: the `size` bytes that the caller's header knows. */
MMT_API void mmt_args_init(mmt_args *out, size_t size);

static inline mmt_args mmt_args_defaults(void)
{
    mmt_args args;
    mmt_args_init(&args, sizeof args);
    return args;
}

/* Puts one execution on the queue and returns. Operands may have any alignment that their
 * type has; C may overlap neither A nor B, but for AXPBY as said there. May be captured
 * in a CUDA graph. On cards from sm_90 on it may begin while the kernel that the stream
 * has before it ends, if that one lets others begin, but reads and writes nothing until
 * it has ended. The plan's launches order themselves among each other, also on an
 * out-of-order queue. With OpenCL, a plan serves 16 threads that execute it in the same
 * instant; one more waits until one of them has queued its launch.
 *
 * MMT_ERROR_ARGUMENT, before anything is queued: an operand that is null, not aligned to
 * its type, or, with OpenCL, of another context or shorter than the problem. CUDA's
 * pointers are taken as they are. */
MMT_API mmt_status mmt_execute(const mmt_plan *plan, const mmt_args *args,
                               mmt_queue queue, mmt_error *err);

/* Puts `count` executions of a plan on the queue, for problems whose matrices stand
 * anywhere in the same memory: a batch without a stride. Of execution i, A begins
 * offsets_a[i] elements behind args->a, B and C alike, none of them negative; a list that
 * is NULL leaves the operand where it is, which offsets_c may be for one execution alone.
 * Its scalars are alphas[i] and betas[i]; NULL: those of args. Each of them is as many
 * launches as one mmt_execute; bias, scalars in device memory and the workspace are
 * shared. No two executions may write the same element of C, and none may read what
 * another one writes. The lists are read before this returns. It allocates nothing and
 * waits for nothing. Threads: as mmt_execute.
 *
 * MMT_ERROR_UNSUPPORTED for a batch by pointers. MMT_ERROR_ARGUMENT, before any of them
 * is queued: what mmt_execute refuses of one, with its number; a list of scalars where
 * args has scalars; a negative count. Where the driver refuses a launch, those before it
 * are on their way. */
MMT_API mmt_status mmt_execute_batch(const mmt_plan *plan, const mmt_args *args,
                                     int64_t count, const int64_t *offsets_a,
                                     const int64_t *offsets_b, const int64_t *offsets_c,
                                     const double *alphas, const double *betas,
                                     mmt_queue queue, mmt_error *err);

#ifdef __cplusplus
}
#endif
#endif
