/* OpenBLAS with all cores and, of the core types that it knows and this machine runs, the
 * fastest for the type: each is loaded once in a child and timed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/bench/openblas_child.h"
#include "tuner/bench/reference.h"
#include "tuner/common/child.h"
#include "tuner/common/processor.h"
#include "tuner/verify/session_internal.h"

extern char **environ;

/* What it may be told to take this machine for; "" leaves the choice to it. */
static const char *const cores[] = {
    "",
#if defined(__x86_64__)
    "Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids",
#elif defined(__aarch64__)
    "NEOVERSEN1", "NEOVERSEV1", "NEOVERSEN2", "ARMV8SVE", "CORTEXA76",
#endif
};
enum { NUM_CORES = sizeof cores / sizeof *cores, PROBES = 7 };

/* Idle threads spin for 2^22 cycles, a few milliseconds, so that they are awake through
 * one sample, and asleep soon after it. */
#define SPIN_FOR "22"

/* A process that holds OpenBLAS as one core type. */
struct child {
    struct mmt_child process;
    char name[32];                 /* of the core type, as it calls itself */
    char text[200];                /* how it introduced itself */
    double seconds[MMT_NUM_TYPES]; /* of the probe; INFINITY: it failed */
};

struct openblas {
    struct child children[NUM_CORES]; /* each name once */
    int num_children;
    struct child *current; /* that of the problem at hand; NULL: none */
    struct mmt_session *session;
    struct mmt_openblas_request problem;
};

/* ---- a child --------------------------------------------------------------------- */

static bool is_ours(const char *entry)
{
    static const char *const names[] = { "OPENBLAS_", "GOTO_NUM_THREADS=", "OMP_" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(entry, names[i], strlen(names[i])))
            return true;
    return false;
}

/* The environment without settings of OpenBLAS, and then ours. The caller frees the
 * list alone. */
static char **make_environment(const char *core, char settings[4][64])
{
    int count = 0, used = 0;

    while (environ[count])
        count++;
    char **list = calloc((size_t) count + 5, sizeof *list);
    if (!list)
        return NULL;
    for (int i = 0; i < count; i++)
        if (!is_ours(environ[i]))
            list[used++] = environ[i];
    snprintf(settings[0], 64, "OPENBLAS_THREAD_TIMEOUT=" SPIN_FOR);
    snprintf(settings[1], 64, "OPENBLAS_NUM_THREADS=%d", mmt_processor_count());
    snprintf(settings[2], 64, "OMP_WAIT_POLICY=passive");
    snprintf(settings[3], 64, "OPENBLAS_CORETYPE=%s", core);
    for (int i = 0; i < (core[0] ? 4 : 3); i++)
        list[used++] = settings[i];
    return list;
}

static mmt_status child_died(struct child *child, mmt_error *err)
{
    mmt_child_stop(&child->process);
    return mmt_fail(err, MMT_ERROR_DEVICE, "the process that runs OpenBLAS died");
}

static mmt_status receive_reply(struct child *child, struct mmt_openblas_reply *reply,
                                mmt_error *err)
{
    if (!mmt_child_receive(child->process.fd, reply, sizeof *reply))
        return child_died(child, err);
    return reply->status ? mmt_fail(err, reply->status, "%s", reply->text) : MMT_OK;
}

static mmt_status ask_child(struct child *child,
                            const struct mmt_openblas_request *request,
                            struct mmt_openblas_reply *reply, mmt_error *err)
{
    if (!mmt_child_send(child->process.fd, request, sizeof *request))
        return child_died(child, err);
    return receive_reply(child, reply, err);
}

/* It complains about core types that it does not know, which is no news. */
static mmt_status start_child(struct child *child, const char *core, mmt_error *err)
{
    char *const argv[] = { "mmtune", "--openblas", NULL };
    char settings[4][64], **environment = make_environment(core, settings);
    struct mmt_openblas_reply hello = { MMT_OK };

    *child = (struct child){ .process.fd = -1 };
    const int code = environment
                         ? mmt_child_start(&child->process, argv, environment, -1, -1)
                         : ENOMEM;
    free(environment);
    if (code)
        return mmt_fail_native(err, MMT_ERROR_IO, code,
                               "cannot start a process for OpenBLAS: %s", strerror(code));
    mmt_status status = receive_reply(child, &hello, err);
    memcpy(child->name, hello.core, sizeof child->name);
    memcpy(child->text, hello.text, sizeof child->text);
    return status;
}

/* ---- core types ------------------------------------------------------------------ */

static bool is_known(const struct openblas *self, const char *name)
{
    for (int i = 0; i < self->num_children; i++)
        if (!strcasecmp(self->children[i].name, name))
            return true;
    return false;
}

/* A core type that this machine cannot run kills its child; one that OpenBLAS does not
 * know gives the name of another, which is there already. The first, which is told
 * nothing, must start. */
static mmt_status start_all(struct openblas *self, int num_cores, mmt_error *err)
{
    for (int i = 0; i < num_cores; i++) {
        struct child child;
        mmt_status status = start_child(&child, cores[i], i ? NULL : err);
        if (status == MMT_OK && !is_known(self, child.name)) {
            self->children[self->num_children++] = child;
            continue;
        }
        mmt_child_stop(&child.process);
        if (i == 0)
            return status;
    }
    return MMT_OK;
}

static void probe_child(struct child *child, mmt_type type)
{
    struct mmt_openblas_request request = { .what = MMT_OPENBLAS_PROBE,
                                            .problem = mmt_gemm_problem(type, 1, 1, 1) };
    struct mmt_openblas_reply reply;

    if (ask_child(child, &request, &reply, NULL) != MMT_OK)
        child->seconds[type] = INFINITY;
    else if (!(child->seconds[type] > 0) || reply.seconds < child->seconds[type])
        child->seconds[type] = reply.seconds;
}

static struct child *best_for(struct openblas *self, mmt_type type)
{
    struct child *best = &self->children[0];
    for (int i = 1; i < self->num_children; i++)
        if (self->children[i].seconds[type] < best->seconds[type])
            best = &self->children[i];
    return best;
}

/* The least time of several, all in turn. Those that are best for nothing are stopped. */
static void probe_all(struct openblas *self)
{
    for (int round = 0; round < PROBES; round++)
        for (int i = 0; i < self->num_children; i++)
            for (mmt_type type = MMT_F32; type <= MMT_F64; type++)
                probe_child(&self->children[i], type);
    for (int i = 0; i < self->num_children; i++) {
        struct child *child = &self->children[i];
        if (child != best_for(self, MMT_F32) && child != best_for(self, MMT_F64))
            mmt_child_stop(&child->process);
    }
}

/* ---- opening --------------------------------------------------------------------- */

static void close_openblas(void *given)
{
    struct openblas *self = given;
    for (int i = 0; i < self->num_children; i++)
        mmt_child_stop(&self->children[i].process);
    free(self);
}

static mmt_status open_with(mmt_device *device, int num_cores, void **out, mmt_error *err)
{
    if (mmt_device_caps(device)->kind != MMT_CPU)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "OpenBLAS runs on CPUs, and %s is none; `mmtune devices` lists "
                        "those there are",
                        mmt_device_name(device));
    struct openblas *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for OpenBLAS");
    mmt_status status = start_all(self, num_cores, err);
    if (status == MMT_OK) {
        if (num_cores > 1)
            probe_all(self);
        *out = self;
    } else {
        close_openblas(self);
    }
    return status;
}

static mmt_status open_openblas(mmt_device *device, void **out, mmt_error *err)
{
    return open_with(device, NUM_CORES, out, err);
}

static mmt_status open_plain(mmt_device *device, void **out, mmt_error *err)
{
    return open_with(device, 1, out, err);
}

static const char *refuse_openblas(void *self, const mmt_problem *problem)
{
    return problem->type == MMT_F32 || problem->type == MMT_F64
               ? NULL
               : "OpenBLAS is compared in f32 and f64 alone";
}

/* ---- a problem ------------------------------------------------------------------- */

/* Hands all copies of an operand to the child, so that it computes on the same data. */
static mmt_status send_copies(struct openblas *self, const struct mmt_copies *copies,
                              mmt_error *err)
{
    mmt_device *device = self->session->device;
    char *bytes = malloc(copies->pitch);
    mmt_status status = MMT_OK;

    if (!bytes)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu bytes of operands",
                        copies->pitch);
    for (int i = 0; i < self->session->copies && status == MMT_OK; i++) {
        mmt_operand from = copies->memory;
        from.offset += copies->first + (size_t) i * copies->pitch;
        status = mmt_buffer_read(device, bytes, from, copies->pitch, err);
        if (status == MMT_OK &&
            !mmt_child_send(self->current->process.fd, bytes, copies->pitch))
            status = child_died(self->current, err);
    }
    free(bytes);
    return status;
}

static mmt_status prepare_openblas(void *given, struct mmt_session *session,
                                   double seconds, mmt_error *err)
{
    struct openblas *self = given;
    struct child *child = best_for(self, session->problem.type);
    struct mmt_openblas_reply reply;

    self->session = session;
    self->current = child;
    self->problem = (struct mmt_openblas_request){
        .what = MMT_OPENBLAS_PREPARE,
        .problem = session->problem,
        .copies = session->copies,
        .pitch_a = session->a.pitch,
        .pitch_b = session->b.pitch,
        .pitch_c = session->c.pitch,
    };
    if (!mmt_child_send(child->process.fd, &self->problem, sizeof self->problem))
        return child_died(child, err);
    mmt_status status = send_copies(self, &session->a, err);
    if (status == MMT_OK)
        status = send_copies(self, &session->b, err);
    return status ? status : receive_reply(child, &reply, err);
}

/* The child keeps its copies until the next problem brings others. */
static void forget_openblas(void *given)
{
    struct openblas *self = given;
    self->session = NULL;
    self->current = NULL;
}

static mmt_status run_openblas(void *given, int way, int64_t first, int64_t count,
                               double *seconds, mmt_error *err)
{
    struct openblas *self = given;
    struct mmt_openblas_request request = self->problem;
    struct mmt_openblas_reply reply = { MMT_OK };

    request.what = MMT_OPENBLAS_RUN;
    request.first = first;
    request.count = count;
    mmt_status status = ask_child(self->current, &request, &reply, err);
    *seconds = reply.seconds;
    return status;
}

static mmt_status read_openblas_result(void *given, void *c, mmt_error *err)
{
    struct openblas *self = given;
    const mmt_problem *p = &self->problem.problem;
    size_t bytes = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->type);
    struct mmt_openblas_request request = self->problem;
    struct mmt_openblas_reply reply;

    request.what = MMT_OPENBLAS_RESULT;
    mmt_status status = ask_child(self->current, &request, &reply, err);
    if (status == MMT_OK && !mmt_child_receive(self->current->process.fd, c, bytes))
        status = child_died(self->current, err);
    return status;
}

static void describe_probes(const struct openblas *self, mmt_type type,
                            struct mmt_text *text)
{
    const double side = MMT_OPENBLAS_PROBE_SIDE;

    mmt_text_addf(text, "; %s:", mmt_type_name(type));
    for (int i = 0; i < self->num_children; i++)
        mmt_text_addf(text, "%s %s %.0f", i ? "," : "", self->children[i].name,
                      2 * side * side * side / self->children[i].seconds[type] / 1e9);
    mmt_text_addf(text, " GFLOP/s");
}

static void describe_openblas(void *given, int way, struct mmt_text *text)
{
    struct openblas *self = given;

    if (self->current) {
        mmt_text_addf(text, "core type %s", self->current->name);
        return;
    }
    mmt_text_add(text, self->children[0].text);
    describe_probes(self, MMT_F32, text);
    describe_probes(self, MMT_F64, text);
}

/* Its introduction up to the number of threads. */
static void print_openblas_version(void *given, struct mmt_text *text)
{
    const char *hello = ((struct openblas *) given)->children[0].text;
    mmt_text_addf(text, "%.*s", (int) strcspn(hello, ","), hello);
}

#define AS_REFERENCE(how)                                                                \
    {                                                                                    \
        .name = "openblas", .title = "OpenBLAS", .ways = { "openblas" }, .open = how,    \
        .refuse = refuse_openblas, .prepare = prepare_openblas,                          \
        .forget = forget_openblas, .run = run_openblas, .result = read_openblas_result,  \
        .describe = describe_openblas, .version = print_openblas_version,                \
        .close = close_openblas,                                                         \
    }
const struct mmt_reference mmt_reference_openblas = AS_REFERENCE(open_openblas);
const struct mmt_reference mmt_reference_openblas_plain = AS_REFERENCE(open_plain);
