/* Devices: text in, launches out. The public header of the module `device`, which knows
 * no template and no profile.
 *
 * Arguments are checked once, in device.c; backends assume that they are valid. */
#ifndef MMT_DEVICE_DEVICE_H
#define MMT_DEVICE_DEVICE_H

#include "base/caps.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/launch.h"
#include "base/text.h"

struct mmt_backend;

/* The first member of every backend's own device. */
struct mmt_device {
    const struct mmt_backend *backend;
    struct mmt_caps caps;
    char id[32];                /* "cuda:0", "opencl:pocl-3f2a", "null:sm_90": opens it
                                 * again, whatever other platforms are installed */
    char title[192];            /* "NVIDIA H200 (cuda:0)" */
    struct mmt_module *modules; /* that are shared, the one used last first */
    bool any_compiler;          /* kernels that another version of the compiler has made
                                 * serve: what was timed, in another process */
    bool compiles_nothing;      /* MMT_ERROR_NOT_FOUND for what is in no cache yet */
    mmt_log log;                /* NULL: nobody listens */
    void *log_context;
};

/* One line of `mmtune devices`. */
struct mmt_device_info {
    int number; /* CUDA first, then OpenCL GPUs, then OpenCL CPUs; behind
                 * them cards of CUDA that nothing can be compiled for */
    char id[32];
    struct mmt_caps caps;
};

/* All devices of this machine in the order of their numbers. *list is malloc'ed and the
 * caller's; a machine with none gives *count = 0 and MMT_OK. `notes` (may be NULL) gets a
 * sentence for each platform that is there but could not be asked, one a line. */
mmt_status mmt_device_list(struct mmt_device_info **list, size_t *count,
                           struct mmt_text *notes, mmt_error *err);

/* Tells the device's log, if it has one, a sentence of less than 1 KiB. */
__attribute__((format(printf, 2, 3))) void mmt_device_say(const mmt_device *device,
                                                          const char *format, ...);

const struct mmt_caps *mmt_device_caps(const mmt_device *device);

/* Host memory as an operand, where the device is the host's own processor and uses memory
 * in place: what either writes the other sees at once. `host` begins a page, outlives the
 * buffer, and is freed by its owner after mmt_buffer_free. MMT_ERROR_UNSUPPORTED
 * elsewhere. */
mmt_status mmt_buffer_wrap(mmt_device *device, void *host, size_t bytes,
                           mmt_operand *buffer, mmt_error *err);

/* Whether a buffer is one of the device's context and has that many bytes from the
 * operand's offset on; `which` is for the error. MMT_OK where the platform cannot tell:
 * asking costs some nanoseconds with OpenCL, and far more with CUDA. */
mmt_status mmt_buffer_check(mmt_device *device, mmt_operand operand, mmt_argument which,
                            uint64_t bytes, mmt_error *err);

/* Rows of a matrix as they are copied: how many, the bytes of one, and those from row to
 * row on the device and on the host. */
struct mmt_pitched {
    size_t count, bytes, device_step, host_step;
};

/* ---- building -------------------------------------------------------------------- */

/* What a compiler made: a cubin, PTX or an OpenCL binary. `data` is malloc'ed. */
struct mmt_binary {
    void *data;
    size_t size;
    char *log; /* the compiler's words, malloc'ed, or NULL; not part of the binary */
};

void mmt_binary_finish(struct mmt_binary *binary);

/* Adds what, beside the text, decides the binary: dialect, target, compiler and its
 * version, options. The key of a cache. */
void mmt_device_compiler_key(const mmt_device *device, struct mmt_text *key);

/* Compiles. On failure err has the beginning of the log and binary->log all of it. */
mmt_status mmt_device_compile(mmt_device *device, const char *source,
                              struct mmt_binary *binary, mmt_error *err);

/* Whether a compiler's log tells of a kernel that is right but slow: registers that spill
 * to memory, or NVIDIA's warnings C75xx, by which instructions of the tensor cores are
 * serialised or register limits ignored. `why` gets a sentence. NULL warns of nothing. */
bool mmt_log_warns(const char *log, char why[256]);

/* A loaded binary: all of its kernels. Immutable and thread-safe once made. */
struct mmt_module;
mmt_status mmt_module_load(mmt_device *device, const struct mmt_binary *binary,
                           struct mmt_module **out, mmt_error *err);
void mmt_module_free(struct mmt_module *module);

/* From now on the module is found by that key, which says what it was made from. When all
 * have freed it, it stays loaded for a while: until a number of others were used later,
 * or the device is closed. A key is given once; where two threads load the same at a time
 * both may share theirs, and one of them is found. */
void mmt_module_share(struct mmt_module *module, struct mmt_hash key);

/* A module that is shared under that key, to be freed like one that was loaded; NULL
 * where there is none. */
struct mmt_module *mmt_module_find(mmt_device *device, struct mmt_hash key);

/* One kernel of a module, ready to launch: loaded, its attributes set for launches of
 * that block and that many bytes of dynamic shared memory. Thread-safe. Freed before its
 * module. */
struct mmt_function;
mmt_status mmt_function_create(struct mmt_module *module, const char *entry,
                               const unsigned block[3], size_t shared,
                               struct mmt_function **out, mmt_error *err);
void mmt_function_free(struct mmt_function *function);

/* What the compiler spent on a kernel; figures that a platform does not tell are -1. */
struct mmt_usage {
    int registers;    /* a thread */
    int spill_bytes;  /* a thread: local memory, which is spills for our kernels */
    long long shared; /* bytes a block, static */
    int max_threads;  /* a block of this kernel may have */
};
mmt_status mmt_function_usage(struct mmt_function *function, struct mmt_usage *out,
                              mmt_error *err);

/* Blocks of this kernel that run at once, whole clusters of them; 0 where a platform does
 * not tell. */
unsigned mmt_function_resident(struct mmt_function *function);

/* Divides a multiprocessor's memory between shared memory and first-level cache, alike
 * for kernels that are launched one after the other: as much is shared as their blocks
 * use when as many run as can, and the cache is the rest. It holds for launches of these
 * functions alone, whatever others of the same kernel want. Left to the platform where no
 * kernel has shared memory, or it has no say in it. */
void mmt_functions_set_carveout(struct mmt_function *const *functions, int count);

/* ---- launching ------------------------------------------------------------------- */

/* A batch of matrices in memory, for TMA. Rows and matrices step by multiples
 * of 16 bytes, and the first begins at one. */
struct mmt_tensor {
    mmt_type type;
    uint64_t address;            /* 0: there is none, and nobody will ask */
    int64_t inner, outer, batch; /* elements of a row, rows, matrices */
    int64_t ld, stride;          /* bytes from row to row, from matrix to matrix */
    struct mmt_box box;
};

struct mmt_tensor_map {
    _Alignas(64) uint64_t opaque[16];
};

/* Writes what a kernel passes to TMA. Never allocates, never locks.
 * MMT_ERROR_UNSUPPORTED where the platform has no such engine. */
mmt_status mmt_tensor_map_encode(mmt_device *device, const struct mmt_tensor *tensor,
                                 struct mmt_tensor_map *out, mmt_error *err);

/* One kernel parameter. */
struct mmt_value {
    enum {
        MMT_VALUE_BUFFER,
        MMT_VALUE_I32,
        MMT_VALUE_I64,
        MMT_VALUE_F32,
        MMT_VALUE_F64,
        MMT_VALUE_MAP
    } kind;
    union {
        uint64_t
            buffer; /* a CUdeviceptr (any offset added already), or a cl_mem; 0: null */
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        const struct mmt_tensor_map *map; /* lives until the launch returns */
    };
};

enum { MMT_MAX_KERNEL_VALUES = 32 };

/* When a launch may begin: as the queue has it, and what else is true of it. */
enum mmt_order {
    MMT_ORDER_OF_QUEUE = 0,
    MMT_ORDER_AFTER = 1, /* after what this thread queued last, also on an out-of-order
                          * queue */
    MMT_ORDER_WAITS = 2  /* the kernel waits for what comes before it by itself,
                          * PDL_WAIT, so that a device that can may begin it early */
};

/* Events of OpenCL round an execution. Its first launch waits for those that are given,
 * each later one for the launch ahead of it. */
struct mmt_events {
    unsigned count;
    void *const *wait; /* cl_event, of the caller */
    void *last;        /* of the launch that was queued last; NULL before the first */
};

/* Gives the event of all that was queued, a new one where that is nothing, to *out, which
 * the caller releases; lets it go where `out` is NULL. */
mmt_status mmt_events_end(mmt_device *device, struct mmt_events *events, mmt_queue queue,
                          void **out, mmt_error *err);

/* Queues one launch. `grid` counts blocks, `order` is of MMT_ORDER_…; `events` are NULL,
 * or of OpenCL. Never allocates, never locks. */
mmt_status mmt_function_launch(struct mmt_function *function, const unsigned grid[3],
                               const struct mmt_value *values, int num_values,
                               unsigned order, mmt_queue queue, struct mmt_events *events,
                               mmt_error *err);

/* ---- timing ---------------------------------------------------------------------- */

/* A point in a queue's life. Two of them bracket work; `mmt_mark_seconds` waits for the
 * later one and gives the device's own time between them. The queue must have been made
 * by mmt_queue_create. */
struct mmt_mark;
mmt_status mmt_mark_create(mmt_device *device, struct mmt_mark **out, mmt_error *err);
void mmt_mark_free(struct mmt_mark *mark);
mmt_status mmt_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err);
mmt_status mmt_mark_seconds(struct mmt_mark *from, struct mmt_mark *to, double *seconds,
                            mmt_error *err);

/* A queue of our own, in order, whose work can be timed. */
mmt_status mmt_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err);
void mmt_queue_free(mmt_device *device, mmt_queue queue);

/* Keeps the device from what is queued from now on until it is released: a device that is
 * done with a small kernel before the host has queued the next one would wait, and the
 * host would be timed. Between the two no call may wait for the queue, and no more than
 * some hundred launches may be queued. One queue of a device at a time. False where the
 * backend cannot; then there is nothing to release. */
bool mmt_queue_hold(mmt_device *device, mmt_queue queue);
void mmt_queue_release(mmt_device *device);

/* Whether what is put on the queue, or on the default one, would be captured into a graph
 * instead of executed. False where the platform has no graphs. */
bool mmt_queue_captures(mmt_device *device, mmt_queue queue);

/* What was captured from a queue, launched at once: a graph of CUDA. A launch runs
 * without the gaps that the host leaves between launches of its own. */
struct mmt_graph;

/* Captures what this thread puts on a queue of mmt_queue_create from now on: none of it
 * is executed. Other threads may do as they like. False where the platform or its driver
 * has no graphs; then there is nothing to end. */
bool mmt_capture_begin(mmt_device *device, mmt_queue queue);

/* Ends it. NULL where something that was called meanwhile cannot be captured; the queue
 * executes again, in either case. */
struct mmt_graph *mmt_capture_end(mmt_device *device, mmt_queue queue);

/* What the graph uses, such as buffers and functions, must still be there. */
mmt_status mmt_graph_launch(struct mmt_graph *graph, mmt_queue queue, mmt_error *err);
void mmt_graph_free(struct mmt_graph *graph); /* NULL is allowed */

/* Lets this thread make buffers and wait while others capture graphs, which such calls
 * would spoil else; returns what the other call takes back. */
int mmt_thread_relax(mmt_device *device);
void mmt_thread_restore(mmt_device *device, int mode);

/* The current temperature, clock and throttling, where the platform tells: NVML. False
 * where it tells nothing of them. It is asked while the device works: one that rests may
 * have lowered its clock. The first question may take long: it opens a library. */
struct mmt_health {
    double celsius, clock_mhz; /* 0: it does not tell */
    int throttled;             /* 0: nothing slows it down; else the more, the graver */
    char why[64];              /* "power cap", "thermal"; "" where not throttled */
};
bool mmt_device_health(mmt_device *device, struct mmt_health *out);

/* What the device has drawn since some moment, and when it was asked. The counter may
 * move in steps, of 20 to 100 ms. False where the platform does not tell. */
struct mmt_energy {
    double joules, at; /* `at` by mmt_now */
};
bool mmt_device_energy(mmt_device *device, struct mmt_energy *out);

/* Adds what another question told: the hottest, the slowest and the gravest are kept. */
void mmt_health_add(struct mmt_health *to, const struct mmt_health *other);

/* ---- the backends ---------------------------------------------------------------- */

/* One table a backend. Members marked optional may be NULL; device.c says beside each
 * call what stands in for it. */
struct mmt_backend {
    const char *name;

    /* Devices of this backend with their caps; appended to *list. A platform that is not
     * installed is no error. */
    mmt_status (*list)(struct mmt_device_info **list, size_t *count,
                       struct mmt_text *notes, mmt_error *err);
    /* `which` is what follows the colon of the id. */
    mmt_status (*open)(const char *which, mmt_device **out, mmt_error *err);
    void (*close)(mmt_device *device);

    mmt_status (*buffer_create)(mmt_device *, size_t bytes, mmt_operand *, mmt_error *);
    void (*buffer_free)(mmt_device *, mmt_operand);
    mmt_status (*buffer_write)(mmt_device *, mmt_operand, const void *, size_t,
                               mmt_error *);
    mmt_status (*buffer_read)(mmt_device *, void *, mmt_operand, size_t, mmt_error *);
    mmt_status (*matrix_write)(mmt_device *, mmt_operand, const void *,
                               const struct mmt_pitched *, mmt_error *);
    mmt_status (*matrix_read)(mmt_device *, void *, mmt_operand,
                              const struct mmt_pitched *, mmt_error *);
    mmt_status (*finish)(mmt_device *, mmt_queue, mmt_error *);

    void (*compiler_key)(const mmt_device *, struct mmt_text *);
    mmt_status (*compile)(mmt_device *, const char *, struct mmt_binary *, mmt_error *);
    mmt_status (*module_load)(mmt_device *, const struct mmt_binary *,
                              struct mmt_module **, mmt_error *);
    void (*module_free)(struct mmt_module *);
    mmt_status (*function_create)(struct mmt_module *, const char *, const unsigned[3],
                                  size_t, struct mmt_function **, mmt_error *);
    void (*function_free)(struct mmt_function *);
    mmt_status (*function_usage)(struct mmt_function *, struct mmt_usage *, mmt_error *);
    mmt_status (*launch)(struct mmt_function *, const unsigned grid[3],
                         const struct mmt_value *, int, enum mmt_order, mmt_queue,
                         struct mmt_events *, mmt_error *);

    mmt_status (*mark_create)(mmt_device *, struct mmt_mark **, mmt_error *);
    void (*mark_free)(struct mmt_mark *);
    mmt_status (*mark_record)(struct mmt_mark *, mmt_queue, mmt_error *);
    mmt_status (*mark_seconds)(struct mmt_mark *, struct mmt_mark *, double *,
                               mmt_error *);
    mmt_status (*queue_create)(mmt_device *, mmt_queue *, mmt_error *);
    void (*queue_free)(mmt_device *, mmt_queue);

    mmt_status (*buffer_wrap)(mmt_device *, void *, size_t, mmt_operand *,
                              mmt_error *); /* optional */
    mmt_status (*buffer_check)(mmt_device *, mmt_operand, mmt_argument, uint64_t,
                               mmt_error *);     /* optional */
    bool (*queue_hold)(mmt_device *, mmt_queue); /* optional, both or none */
    void (*queue_release)(mmt_device *);
    bool (*queue_captures)(mmt_device *, mmt_queue); /* optional */
    int (*thread_mode)(mmt_device *, int mode);      /* optional: exchanges it; -1: the
                                                      * one that disturbs nobody */
    bool (*capture_begin)(mmt_device *, mmt_queue);  /* optional, all four or none */
    struct mmt_graph *(*capture_end)(mmt_device *, mmt_queue);
    mmt_status (*graph_launch)(struct mmt_graph *, mmt_queue, mmt_error *);
    void (*graph_free)(struct mmt_graph *);
    bool (*health)(mmt_device *, struct mmt_health *);       /* optional */
    bool (*energy)(mmt_device *, struct mmt_energy *);       /* optional */
    unsigned (*resident)(struct mmt_function *);             /* optional */
    void (*set_carveout)(struct mmt_function *const *, int); /* optional */
    mmt_status (*tensor_map_encode)(mmt_device *, const struct mmt_tensor *,
                                    struct mmt_tensor_map *, mmt_error *); /* optional */
    mmt_status (*events_end)(mmt_device *, struct mmt_events *, mmt_queue, void **,
                             mmt_error *); /* optional */
};

extern const struct mmt_backend mmt_backend_cuda, mmt_backend_opencl, mmt_backend_null;

/* The first members of every backend's own objects. A backend sets `device`, and leaves
 * the rest 0. */
struct mmt_module {
    mmt_device *device;
    bool shared;
    struct mmt_hash key; /* of a shared one, like what follows: modules.c */
    int users;
    struct mmt_module *next;
};
struct mmt_function {
    mmt_device *device;
    unsigned block[3];
    size_t shared;
};
struct mmt_mark {
    mmt_device *device;
};
struct mmt_graph {
    mmt_device *device;
};

/* Unloads what is shared; all of it must have been freed. */
void mmt_modules_unload(mmt_device *device);

/* What the null device "executed": its launches are recorded here, for tests. Counts
 * atomically. */
unsigned long long mmt_null_launches(const mmt_device *device);

#endif
