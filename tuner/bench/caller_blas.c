/* sgemm and dgemm of a program's BLAS, on matrices in host memory, beside ours on the
 * same ones: what the program would wait for, by the host's clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "tuner/bench/blas_child.h"
#include "tuner/bench/caller.h"
#include "tuner/common/child.h"
#include "tuner/verify/session_internal.h"

enum { OURS = -1 };

struct blas {
    struct mmt_child child;
    int file; /* of the memory that both map */
    char name[48];
    struct mmt_session *session;
    struct mmt_blas_request request;
    struct mmt_blas_memory layout;
    char *memory; /* NULL: nothing is prepared */
};

/* ---- the process ----------------------------------------------------------------- */

static mmt_status receive(struct blas *self, struct mmt_blas_reply *reply, mmt_error *err)
{
    if (!mmt_child_receive(self->child.fd, reply, sizeof *reply)) {
        mmt_child_stop(&self->child);
        return mmt_fail(err, MMT_ERROR_DEVICE, "the process that runs the BLAS died");
    }
    return reply->status ? mmt_fail(err, reply->status, "%s", reply->text) : MMT_OK;
}

static mmt_status start_child(struct blas *self, const char *path, char note[256],
                              mmt_error *err)
{
    char *const argv[] = { "mmtune", "--blas-child", (char *) path, NULL };
    struct mmt_blas_reply hello = { MMT_OK };

    self->file = memfd_create("mmtune-operands", MFD_CLOEXEC);
    const int code = self->file < 0
                         ? errno
                         : mmt_child_start(&self->child, argv, NULL, -1, self->file);
    if (code)
        return mmt_fail_native(err, MMT_ERROR_IO, code,
                               "cannot start a process for the program's BLAS: %s",
                               strerror(code));
    const mmt_status status = receive(self, &hello, err);
    memcpy(self->name, hello.name, sizeof self->name);
    if (!status && *hello.text)
        snprintf(note, 256, "%.48s is timed in the place of the program's %.70s: %.70s",
                 hello.name, path, hello.text);
    return status;
}

/* ---- the caller ------------------------------------------------------------------ */

static void close_blas(void *given)
{
    struct blas *self = given;
    mmt_child_stop(&self->child);
    if (self->file >= 0)
        close(self->file);
    free(self);
}

static mmt_status open_blas(mmt_device *device, const char *path, void **out,
                            char note[256], mmt_error *err)
{
    struct blas *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the program's BLAS");
    self->child.fd = -1;
    note[0] = '\0';
    const mmt_status status = start_child(self, path, note, err);
    if (status)
        close_blas(self);
    else
        *out = self;
    return status;
}

static void print_version(void *given, char out[48])
{
    memcpy(out, ((const struct blas *) given)->name, 48);
}

/* Ours makes one for each execution, of at most so many bytes. */
static size_t own_workspace(const struct mmt_call *call)
{
    return 256 << 20;
}

static mmt_status fill(struct blas *self, int which, const struct mmt_copies *copies,
                       mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int64_t i = 0; i < self->request.copies && !status; i++) {
        mmt_operand from = copies->memory;
        from.offset += copies->first + (size_t) i * copies->pitch;
        status = mmt_buffer_read(self->session->device,
                                 mmt_blas_operand(self->memory, &self->layout, which, i),
                                 from, self->layout.bytes[which], err);
    }
    return status;
}

static mmt_status map_memory(struct blas *self, mmt_error *err)
{
    const size_t size = self->layout.size;
    void *memory = ftruncate(self->file, (off_t) size)
                       ? MAP_FAILED
                       : mmap(NULL, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_POPULATE, self->file, 0);
    self->memory = memory == MAP_FAILED ? NULL : memory;
    return self->memory ? MMT_OK
                        : mmt_fail_native(err, MMT_ERROR_MEMORY, errno,
                                          "no memory left for %zu bytes of operands: %s",
                                          size, strerror(errno));
}

static mmt_status prepare_blas(void *given, struct mmt_session *session,
                               const struct mmt_call *call, int *ways, mmt_error *err)
{
    struct blas *self = given;
    const mmt_problem *p = &session->problem;

    if (p->op != MMT_GEMM || (p->type != MMT_F32 && p->type != MMT_F64) || p->batch != 1)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "sgemm and dgemm multiply f32 and f64 alone, and no batches");
    *ways = 1;
    self->session = session;
    self->request = (struct mmt_blas_request){ .problem = *p,
                                               .copies = session->copies,
                                               .beta = call->adds };
    self->layout = mmt_blas_memory_of(p, session->copies);
    mmt_status status = map_memory(self, err);
    if (!status)
        status = fill(self, 0, &session->a, err);
    return status ? status : fill(self, 1, &session->b, err);
}

static void forget_blas(void *given)
{
    struct blas *self = given;
    if (self->memory)
        munmap(self->memory, self->layout.size);
    self->memory = NULL;
    self->session = NULL;
}

static mmt_status run_ours(struct blas *self, const mmt_plan *plan, mmt_error *err)
{
    const int64_t copy = self->session->next++ % self->request.copies;
    const struct mmt_host_args args = {
        .a = mmt_blas_operand(self->memory, &self->layout, 0, copy),
        .b = mmt_blas_operand(self->memory, &self->layout, 1, copy),
        .c = mmt_blas_operand(self->memory, &self->layout, 2, copy),
        .alpha = 1,
        .beta = self->request.beta,
    };
    bool started;
    return mmt_execute_host(plan, &args, &started, err);
}

static mmt_status time_ours(struct blas *self, const mmt_plan *plan, int64_t count,
                            double *seconds, mmt_error *err)
{
    mmt_status status = count > 1 ? run_ours(self, plan, err) : MMT_OK;
    const double start = mmt_now();
    for (int64_t i = 0; i < count && !status; i++)
        status = run_ours(self, plan, err);
    *seconds = mmt_now() - start;
    return status;
}

static mmt_status time_theirs(struct blas *self, int64_t count, double *seconds,
                              mmt_error *err)
{
    struct mmt_blas_reply reply = { MMT_OK };

    self->request.copy = self->session->next;
    self->request.count = count;
    self->session->next += count;
    mmt_child_send(self->child.fd, &self->request, sizeof self->request);
    const mmt_status status = receive(self, &reply, err);
    *seconds = reply.seconds;
    return status;
}

static mmt_status run_blas(void *given, int way, const mmt_plan *plan, int64_t count,
                           double *seconds, mmt_error *err)
{
    return way == OURS ? time_ours(given, plan, count, seconds, err)
                       : time_theirs(given, count, seconds, err);
}

const struct mmt_caller mmt_caller_blas = {
    .client = MMT_CLIENT_BLAS,
    .title = "the program's BLAS",
    .open = open_blas,
    .version = print_version,
    .workspace = own_workspace,
    .prepare = prepare_blas,
    .forget = forget_blas,
    .run = run_blas,
    .close = close_blas,
};
