/* Serves one call of cuBLAS: looks up its plan, finds a workspace, launches or passes. It
 * must not compile, load or allocate. */
#include "dropin/cublas/serve.h"

#include "base/type.h"
#include "dropin/cublas/gate.h"
#include "dropin/cublas/real.h"

/* The library's calls to itself pass. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));

bool mmt_serve_is_nested(void)
{
    return depth > 0;
}

uint64_t mmt_serve_enter(void *handle, const char *why)
{
    bool foreign;
    if (depth++)
        return 0;
    struct mmt_served *served = mmt_served_current(&foreign);
    const uint64_t workspace = mmt_handle_know(handle).workspace.address;
    if (served)
        mmt_calls_pass(served->calls, why);
    mmt_gate_enter(workspace);
    return workspace;
}

void mmt_serve_leave(uint64_t workspace)
{
    mmt_gate_leave(workspace);
    depth--;
}

static int pass(const struct mmt_request *request)
{
    depth++;
    mmt_gate_enter(request->workspace.address);
    const int status = request->pass(request, (void *) request->gemm.c.data);
    mmt_gate_leave(request->workspace.address);
    depth--;
    return status;
}

static int pass_timed(const struct mmt_served *served, struct mmt_slot *slot,
                      const struct mmt_request *request)
{
    struct mmt_timings *timings = (struct mmt_timings *) &served->timings;
    struct mmt_timing_pair *pair =
        mmt_timing_start(timings, served->driver, slot, request->stream);
    const int status = pass(request);
    if (pair)
        mmt_timing_end(pair, served->driver, request->stream);
    return status;
}

/* ---- what ours needs ------------------------------------------------------------- */

/* The program's workspace for the call, rounded up to 256; where the handle has none, a
 * part of ours, but for graphs: they may run where the part is another stream's. */
static bool find_workspace(struct mmt_served *served, const struct mmt_request *request,
                           size_t needed, mmt_operand *out)
{
    const struct mmt_workspace *given = &request->workspace;
    const uint64_t start = (given->address + 255) / 256 * 256;

    *out = (mmt_operand){ 0, 0 };
    if (!needed)
        return true;
    if (given->address) {
        out->handle = start;
        return start - given->address + needed <= given->bytes;
    }
    if (!request->handle || mmt_driver_captures(served->driver, request->stream))
        return false;
    out->handle = mmt_pool_take(&served->pool, request->handle, request->stream, needed);
    return out->handle;
}

/* Row-major: what cuBLAS calls A is our B. */
static mmt_args make_args(const struct mmt_request *request)
{
    mmt_args args = mmt_args_defaults();
    args.a.handle = (uintptr_t) request->gemm.b.data;
    args.b.handle = (uintptr_t) request->gemm.a.data;
    args.c.handle = (uintptr_t) request->gemm.c.data;
    args.bias.handle = (uintptr_t) request->bias;
    if (request->pointers == CUBLAS_ON_HOST) {
        args.alpha = mmt_map_scalar(request->scale, request->alpha);
        args.beta = mmt_map_scalar(request->scale, request->beta);
    } else {
        args.scalars.handle = (uintptr_t) request->alpha;
    }
    return args;
}

/* ---- scalars in device memory ---------------------------------------------------- */

static size_t scalar_size(const struct mmt_request *request)
{
    return request->scale == CUDA_64F ? 8 : 4;
}

/* Kernels find beta behind alpha. */
static bool is_apart(const struct mmt_request *request)
{
    return request->pointers != CUBLAS_ON_HOST &&
           (const char *) request->beta !=
               (const char *) request->alpha + scalar_size(request);
}

/* Bytes of workspace, with room for scalars that are apart. */
static size_t room_for(const struct mmt_request *request, size_t needed)
{
    return is_apart(request) ? (needed + 255) / 256 * 256 + MMT_SCALARS_ROOM : needed;
}

/* Has the stream copy scalars that are apart to the end of the workspace. */
static bool gather_scalars(const struct mmt_served *served,
                           const struct mmt_request *request, size_t room, mmt_args *args)
{
    const size_t size = scalar_size(request);
    const uint64_t to = args->workspace.handle + room - MMT_SCALARS_ROOM;

    if (!is_apart(request))
        return true;
    args->scalars.handle = to;
    return !served->driver->cuMemcpyAsync(to, (uintptr_t) request->alpha, size,
                                          request->stream) &&
           !served->driver->cuMemcpyAsync(to + size, (uintptr_t) request->beta, size,
                                          request->stream);
}

/* ---- taking over ----------------------------------------------------------------- */

static mmt_status execute(struct mmt_served *served, struct mmt_slot *slot,
                          const struct mmt_request *request, const mmt_plan *plan,
                          const mmt_args *args)
{
    const struct mmt_calls_options *options = mmt_calls_options(served->calls);
    mmt_status status = MMT_ERROR_MEMORY;
    int number;

    if (options->ranges)
        mmt_range_push(mmt_slot_label(slot));
    if (options->check && !mmt_driver_captures(served->driver, request->stream) &&
        !mmt_driver_captures(served->driver, NULL) &&
        (number = mmt_slot_take_check(slot))) {
        depth++;
        status = mmt_check_call(served, slot, request, plan, args, number == 1);
        depth--;
    }
    if (status == MMT_ERROR_MEMORY)
        status = mmt_execute(plan, args, (mmt_queue) request->stream, NULL);
    if (options->ranges)
        mmt_range_pop();
    return status;
}

/* The library knows a program's workspace by its address as given. */
static uint64_t gate_of(const struct mmt_request *request, const mmt_operand *workspace)
{
    const uint64_t given = request->workspace.address;
    return workspace->handle && given ? given : workspace->handle;
}

/* Whether ours computed it; why not, to *fate. */
static bool take_over(struct mmt_served *served, struct mmt_slot *slot,
                      const struct mmt_request *request, const mmt_plan *plan,
                      enum mmt_fate *fate)
{
    const size_t room = room_for(request, mmt_plan_workspace(plan));
    mmt_args args;
    mmt_operand workspace = { 0, 0 };

    *fate = MMT_FATE_WORKSPACE;
    if (!find_workspace(served, request, room, &workspace))
        return false;
    const uint64_t gate = gate_of(request, &workspace);
    if (!mmt_gate_enter_alone(gate))
        return false;
    *fate = MMT_FATE_TAKEN;
    args = make_args(request);
    args.workspace = workspace;
    if (!gather_scalars(served, request, room, &args) ||
        execute(served, slot, request, plan, &args))
        *fate = MMT_FATE_FAILED;
    mmt_gate_leave_alone(gate);
    return *fate == MMT_FATE_TAKEN;
}

/* Whether ours knows the scalars: kernels read no halves, and no vectors of them. */
static bool has_scalars(const struct mmt_request *request)
{
    return request->pointers == CUBLAS_ON_HOST ||
           (request->pointers == CUBLAS_ON_DEVICE && request->scale != CUDA_16F);
}

static bool find_stream(struct mmt_request *request)
{
    __typeof__(&cublasGetStream_v2) ask = MMT_REAL(cublasGetStream_v2);
    return !request->handle || (ask && !ask(request->handle, &request->stream));
}

static int serve_slot(struct mmt_served *served, struct mmt_slot *slot, bool foreign,
                      struct mmt_request *request)
{
    enum mmt_fate fate;
    const mmt_plan *plan = mmt_slot_plan(slot, &fate);

    if (!has_scalars(request))
        fate = MMT_FATE_POINTERS;
    else if (foreign || (request->context && request->context != served->primary))
        fate = MMT_FATE_CONTEXT;
    else if (plan && !find_stream(request))
        fate = MMT_FATE_FAILED;
    else if (plan && take_over(served, slot, request, plan, &fate)) {
        mmt_slot_count(slot, fate);
        return CUBLAS_SUCCESS;
    }
    mmt_slot_count(slot, fate);
    if (fate == MMT_FATE_RECORDED && find_stream(request))
        return pass_timed(served, slot, request);
    return pass(request);
}

/* What elements are not aligned for is the library's to answer. */
static const char *check_elements(const struct mmt_gemm *gemm, const mmt_problem *problem)
{
    const uintptr_t factors = (uintptr_t) gemm->a.data | (uintptr_t) gemm->b.data;
    const bool arrays = gemm->batch_by == MMT_BY_POINTERS;
    return factors % (arrays ? sizeof(void *) : mmt_type_size(problem->type)) ||
                   (uintptr_t) gemm->c.data %
                       (arrays ? sizeof(void *) : mmt_type_size(problem->out))
               ? ""
               : NULL;
}

int mmt_serve(struct mmt_request *request)
{
    bool foreign = false;
    struct mmt_served *served = mmt_served_current(&foreign);
    struct mmt_slot *slot = NULL;
    struct mmt_call call;

    if (!served)
        return pass(request);
    if (!request->why && (!request->alpha || !request->beta || request->scale < 0))
        request->why = request->scale < 0 ? "compute type" : "";
    if (!request->why) {
        request->gemm.adds = request->pointers == CUBLAS_ON_HOST &&
                             mmt_map_scalar(request->scale, request->beta) != 0;
        request->why = mmt_map_gemm(&request->gemm, request->math, mmt_served_override(),
                                    mmt_calls_options(served->calls)->f32_mode, &call);
    }
    if (!request->why)
        request->why = check_elements(&request->gemm, &call.problem);
    if (!request->why) {
        call.client = request->client;
        call.alignment = mmt_map_alignment(&request->gemm, &call.problem);
        call.workspace = request->workspace.bytes;
        slot = mmt_calls_slot(served->calls, &call);
    } else if (*request->why)
        mmt_calls_pass(served->calls, request->why);
    return slot ? serve_slot(served, slot, foreign, request) : pass(request);
}
