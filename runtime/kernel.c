/* Builds the kernels of a configuration: from a bundle, the cache or the compiler, shared
 * by all plans of a device. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "runtime/kernel_internal.h"

/* ---- building -------------------------------------------------------------------- */

static mmt_status emit_source(const mmt_device *device, const struct mmt_config *config,
                              const struct mmt_variant *variant, struct mmt_text *source,
                              struct mmt_text *key, mmt_error *err)
{
    mmt_status status =
        mmt_emit(config, variant, device->caps.dialect, device->caps.kind, source, err);
    if (status != MMT_OK)
        return status;
    mmt_device_compiler_key(device, key);
    mmt_text_add(key, "\n");
    mmt_text_add(key, mmt_text_string(source));
    if (key->failed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a kernel's source");
    return MMT_OK;
}

/* The key of a text for an architecture, whichever compiler made what it leads to. */
static void print_any_key(const mmt_device *device, const char *source,
                          struct mmt_text *key)
{
    mmt_text_addf(key, "by any compiler for %s\n", device->caps.architecture);
    mmt_text_add(key, source);
}

/* Has the text's key for any compiler lead to what this one has made of it, by what
 * stands before the text in that one's key; where it is not fresh, unless it leads
 * somewhere. */
static void lead_there(const mmt_device *device, const char *source, const char *key,
                       bool fresh)
{
    const struct mmt_binary leads = { (void *) key, strlen(key) - strlen(source), NULL };
    struct mmt_text any = { 0 };
    print_any_key(device, source, &any);
    if (device->caps.dialect == MMT_CUDA_CXX && !any.failed &&
        (fresh || !mmt_cache_touch(mmt_text_string(&any))))
        mmt_cache_put(mmt_text_string(&any), &leads);
    mmt_text_finish(&any);
}

/* With what the compiler warned of: whoever builds it again is warned again. */
static void store_binary(const mmt_device *device, const struct mmt_binary *binary,
                         const char *source, const char *key)
{
    struct mmt_binary stored = *binary;
    char why[256];

    if (!mmt_log_warns(binary->log, why))
        stored.log = NULL;
    mmt_cache_put(key, &stored);
    lead_there(device, source, key, true);
}

/* What a compiler has made of the text last, of whatever version. */
static bool get_any(const mmt_device *device, const char *source,
                    struct mmt_binary *binary)
{
    struct mmt_text any = { 0 };
    struct mmt_binary leads;
    print_any_key(device, source, &any);
    bool found = !any.failed && mmt_cache_get(mmt_text_string(&any), &leads);
    mmt_text_finish(&any);
    if (!found)
        return false;
    struct mmt_text key = { 0 };
    mmt_text_add_bytes(&key, leads.data, leads.size);
    mmt_text_add(&key, source);
    found = !key.failed && mmt_cache_get(key.data, binary);
    mmt_text_finish(&key);
    mmt_binary_finish(&leads);
    return found;
}

/* The title that a text begins with, as a comment of one line, and its length. */
static const char *title_of(const char *source, int *length)
{
    const char *title = source + strspn(source, "/ ");
    *length = (int) strcspn(title, "\n");
    return title;
}

static bool find_binary(const mmt_device *device, const char *source, const char *key,
                        struct mmt_binary *binary)
{
    return mmt_cache_get(key, binary) ||
           (device->any_compiler && get_any(device, source, binary));
}

/* Finds the binary of a text in the cache or makes it and puts it there. */
static mmt_status build_binary(mmt_device *device, const char *source, const char *key,
                               bool fresh, struct mmt_binary *binary, bool *cached,
                               mmt_error *err)
{
    *cached = !fresh && find_binary(device, source, key, binary);
    if (*cached)
        return MMT_OK;
    if (device->compiles_nothing)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND, "the kernel is not compiled yet");
    const double before = mmt_now();
    const char *title;
    int length;
    mmt_status status = mmt_device_compile(device, source, binary, err);
    if (status)
        return status;
    title = title_of(source, &length);
    mmt_device_say(device, "compiled in %.3f s: %.*s", mmt_now() - before, length, title);
    store_binary(device, binary, source, key);
    return MMT_OK;
}

/* OpenCL drivers compile through files of their own, in the same home: what they say of a
 * full disk reads like an error in the source. */
static mmt_status blame_disk(const mmt_device *device, mmt_status status, mmt_error *err)
{
    mmt_error disk = { 0 };

    if (status == MMT_OK || device->caps.dialect != MMT_OPENCL_C ||
        !mmt_cache_is_full(&disk))
        return status;
    return mmt_fail_native(err, MMT_ERROR_IO, disk.native,
                           "the driver could not build a kernel, and %s", disk.text);
}

mmt_status mmt_kernel_build(mmt_device *device, const struct mmt_config *config,
                            const struct mmt_variant *variant, struct mmt_binary *out,
                            bool *cached, mmt_error *err)
{
    struct mmt_text source = { 0 }, key = { 0 };
    mmt_status status = emit_source(device, config, variant, &source, &key, err);

    *out = (struct mmt_binary){ 0 };
    *cached = false;
    if (status == MMT_OK)
        status = build_binary(device, source.data, key.data, false, out, cached, err);
    if (status == MMT_OK && *cached)
        lead_there(device, source.data, key.data, false);
    mmt_text_finish(&source);
    mmt_text_finish(&key);
    return blame_disk(device, status, err);
}

mmt_status mmt_kernel_compile(mmt_device *device, const struct mmt_config *config,
                              const struct mmt_variant *variant, struct mmt_text *log,
                              bool *cached, mmt_error *err)
{
    struct mmt_binary binary;
    bool found;
    mmt_status status = mmt_kernel_build(device, config, variant, &binary, &found, err);

    if (log && binary.log)
        mmt_text_add(log, binary.log);
    if (cached)
        *cached = found;
    mmt_binary_finish(&binary);
    return status;
}

/* From the bundle alone: nothing is compiled, read or written elsewhere. The platform
 * copies what it loads. */
static mmt_status load_bundled(mmt_device *device, const struct mmt_bundled *in,
                               const struct mmt_config *config,
                               const struct mmt_variant *variant,
                               struct mmt_module **module, mmt_error *err)
{
    const int kernel = mmt_bundle_find(in, mmt_config_hash(config, variant));
    struct mmt_binary binary = { 0 };

    if (kernel < 0)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "the bundle has no binary of this kernel %s for %s",
                        variant->aligned ? "for aligned operands"
                                         : "for operands of any alignment",
                        device->caps.architecture);
    mmt_status status = mmt_bundle_binary(in, kernel, &binary.data, &binary.size, err);
    if (status == MMT_OK)
        status = mmt_module_load(device, &binary, module, err);
    free(binary.data);
    return status;
}

/* A driver may refuse what an older one cached: then it is made anew, once. */
static mmt_status load_binary(mmt_device *device, const char *source, const char *key,
                              struct mmt_module **module, mmt_error *err)
{
    mmt_status status = MMT_OK;
    bool cached = true;
    int length;
    const char *title = title_of(source, &length);

    for (int tries = 0; tries < 2 && cached; tries++) {
        struct mmt_binary binary = { 0 };
        status = build_binary(device, source, key, tries > 0, &binary, &cached, err);
        if (status == MMT_OK) {
            status = mmt_module_load(device, &binary, module, err);
            if (status == MMT_OK)
                cached = false;
            else if (cached)
                mmt_device_say(device,
                               "the driver refuses a kernel of the cache, which is "
                               "compiled again: %.*s",
                               length, title);
        }
        mmt_binary_finish(&binary);
    }
    return status;
}

/* What a source of the library's own follows from: to emit and hash it takes far longer.
 */
static struct mmt_hash identify_kernel(const mmt_device *device,
                                       const struct mmt_config *config,
                                       const struct mmt_variant *variant)
{
    struct mmt_text compiler = { 0 };
    struct mmt_hash hash = mmt_config_hash(config, variant);

    mmt_device_compiler_key(device, &compiler);
    hash = mmt_hash_add(hash, mmt_text_string(&compiler), compiler.length);
    mmt_text_finish(&compiler);
    return hash;
}

/* The same of a bundle's binary: of that bundle alone. */
static struct mmt_hash identify_bundled(const struct mmt_bundled *in,
                                        const struct mmt_config *config,
                                        const struct mmt_variant *variant)
{
    const struct mmt_hash whole = mmt_bundle_header(in->bundle)->hash;
    struct mmt_hash hash = mmt_config_hash(config, variant);

    hash = mmt_hash_add(hash, &in->target, sizeof in->target);
    return mmt_hash_add(hash, &whole, sizeof whole);
}

static mmt_status find_bundled(mmt_device *device, const struct mmt_bundled *in,
                               const struct mmt_config *config,
                               const struct mmt_variant *variant,
                               struct mmt_module **module, mmt_error *err)
{
    const struct mmt_hash id = identify_bundled(in, config, variant);

    *module = mmt_module_find(device, id);
    if (*module)
        return MMT_OK;
    mmt_status status = load_bundled(device, in, config, variant, module, err);
    if (status == MMT_OK)
        mmt_module_share(*module, id);
    return status;
}

/* What is loaded already, for another plan, is shared with it. Sources that are read from
 * a folder may change: they are known by themselves alone. */
static mmt_status load_module(mmt_device *device, const struct mmt_config *config,
                              const struct mmt_variant *variant,
                              struct mmt_module **module, mmt_error *err)
{
    const bool built_in = mmt_template_is_built_in();
    struct mmt_hash id = identify_kernel(device, config, variant);
    struct mmt_text source = { 0 }, key = { 0 };

    *module = built_in ? mmt_module_find(device, id) : NULL;
    if (*module)
        return MMT_OK;
    mmt_status status = emit_source(device, config, variant, &source, &key, err);
    if (status == MMT_OK && !built_in) {
        id = mmt_hash_add(mmt_hash_start(), key.data, key.length);
        *module = mmt_module_find(device, id);
    }
    if (status == MMT_OK && !*module) {
        status = load_binary(device, source.data, key.data, module, err);
        if (status == MMT_OK)
            mmt_module_share(*module, id);
    }
    mmt_text_finish(&source);
    mmt_text_finish(&key);
    return status;
}

bool mmt_kernel_is_built(mmt_device *device, const struct mmt_bound *bound, bool aligned)
{
    const struct mmt_variant variant = mmt_variant_of(bound->problem, aligned);
    struct mmt_module *loaded =
        mmt_template_is_built_in()
            ? mmt_module_find(device, identify_kernel(device, &bound->config, &variant))
            : NULL;
    struct mmt_text source = { 0 }, key = { 0 };
    struct mmt_binary binary = { 0 };
    if (loaded) {
        mmt_module_free(loaded);
        return true;
    }
    const bool built =
        !emit_source(device, &bound->config, &variant, &source, &key, NULL) &&
        find_binary(device, source.data, key.data, &binary);
    mmt_binary_finish(&binary);
    mmt_text_finish(&source);
    mmt_text_finish(&key);
    return built;
}

static void set_part(struct mmt_kernel_part *part, const struct mmt_config *config,
                     const mmt_problem *problem, const struct mmt_caps *caps,
                     int64_t batch)
{
    mmt_problem piece = *problem;
    piece.batch = part->batch = batch;
    if (batch > 0)
        config->template->launch(config->values, &piece, caps, &part->launches);
}

static void set_parts(struct mmt_kernel *kernel, const struct mmt_config *config)
{
    const struct mmt_caps *caps = &kernel->device->caps;
    int64_t batch = kernel->problem.batch,
            most = caps->max_grid[2] ? caps->max_grid[2] : batch;

    if (most > batch)
        most = batch;
    set_part(&kernel->whole, config, &kernel->problem, caps, most);
    set_part(&kernel->rest, config, &kernel->problem, caps, batch % most);
    kernel->num_whole = batch / most;
}

/* Blocks that stay are no more than run at once: more would wait for all of them. */
static void cut_grid(struct mmt_launch *launch, unsigned resident)
{
    if (launch->persistent && resident && launch->grid[0] > resident)
        launch->grid[0] = resident;
    if (launch->grid_of_previous)
        launch->grid[0] = launch[-1].grid[0];
}

size_t mmt_launch_spread(const struct mmt_launch *launch, const struct mmt_caps *caps,
                         unsigned resident)
{
    enum { OF_A_BLOCK = 1024, MOST_EACH = 8 }; /* what a block has besides; blocks */
    const uint64_t blocks =
        (uint64_t) launch->grid[0] * launch->grid[1] * launch->grid[2];
    const uint64_t each = caps->sms ? (blocks + caps->sms - 1) / caps->sms : 0;

    if (!launch->pdl_waits || !launch->shared || caps->sm < 90 || each > MOST_EACH ||
        each * caps->sms >= resident)
        return launch->shared;
    size_t apart = caps->shared_per_sm / (size_t) (each + 1);
    apart = (apart + OF_A_BLOCK - 1) / OF_A_BLOCK * OF_A_BLOCK;
    return apart > launch->shared && apart <= caps->shared ? apart : launch->shared;
}

static mmt_status create_function(struct mmt_kernel *kernel, int i, size_t shared,
                                  mmt_error *err)
{
    const struct mmt_launch *launch = &kernel->whole.launches.launch[i];
    return mmt_function_create(kernel->module, launch->entry, launch->block, shared,
                               &kernel->functions[i], err);
}

static mmt_status create_functions(struct mmt_kernel *kernel, mmt_error *err)
{
    const struct mmt_launches *launches = &kernel->whole.launches;
    mmt_status status = MMT_OK;

    for (int i = 0; i < launches->count && status == MMT_OK; i++) {
        const struct mmt_launch *launch = &launches->launch[i];
        status = create_function(kernel, i, launch->shared, err);
        if (status)
            return status;
        unsigned resident = mmt_function_resident(kernel->functions[i]);
        cut_grid(&kernel->whole.launches.launch[i], resident);
        cut_grid(&kernel->rest.launches.launch[i], resident);
        size_t shared = mmt_launch_spread(launch, &kernel->device->caps, resident);
        if (shared != launch->shared) {
            mmt_function_free(kernel->functions[i]);
            kernel->functions[i] = NULL;
            status = create_function(kernel, i, shared, err);
        }
    }
    if (status == MMT_OK)
        mmt_functions_set_carveout(kernel->functions, launches->count);
    return status;
}

/* Memory that was never written has no numbers in it, which a checker is right to say. */
static mmt_status create_zeroed(mmt_device *device, size_t bytes, mmt_operand *out,
                                mmt_error *err)
{
    void *zeros = calloc(1, bytes);
    mmt_status status = zeros
                            ? mmt_buffer_create(device, bytes, out, err)
                            : mmt_fail(err, MMT_ERROR_MEMORY, "no memory to warm up in");
    if (status == MMT_OK) {
        status = mmt_buffer_write(device, *out, zeros, bytes, err);
        if (status != MMT_OK)
            mmt_buffer_free(device, *out);
    }
    free(zeros);
    return status;
}

/* A problem of no sum and as little else as these values serve; false where there is
 * none.
 */
static bool make_tiny(const struct mmt_config *config, const mmt_problem *problem,
                      mmt_problem *tiny)
{
    enum { WHOLE_VECTORS = 64 };
    const struct mmt_tile tile = config->template->tile(config->values, problem);
    const int sides[][2] = { { 1, 1 },           { 1, tile.n },     { tile.m, 1 },
                             { tile.m, tile.n }, { tile.m + 1, 1 }, { 1, tile.n + 1 } };

    *tiny = *problem;
    tiny->k = mmt_op_row(problem->op)->sums ? 0 : 1;
    tiny->batch = 1;
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        tiny->m = sides[i][0], tiny->n = sides[i][1];
        const int64_t longest = tiny->m > tiny->n ? tiny->m : tiny->n;
        tiny->lda = (longest + WHOLE_VECTORS - 1) / WHOLE_VECTORS * WHOLE_VECTORS;
        tiny->ldb = tiny->ldc = tiny->lda;
        if (!config->template->check_problem ||
            !config->template->check_problem(config->values, tiny))
            return true;
    }
    return false;
}

/* OpenCL drivers finish compiling at the first launch: do one, of a tiny problem, so that
 * nobody meets that later. There is room round its elements: a candidate that writes past
 * them is to be found out by the checks, not to bring the process down. */
static mmt_status warm_up(const struct mmt_kernel *kernel,
                          const struct mmt_config *config, mmt_error *err)
{
    enum { ROOM = 1 << 16 };
    struct mmt_kernel tiny = *kernel;
    mmt_operand memory;
    mmt_args args = mmt_args_defaults();

    if (!make_tiny(config, &kernel->problem, &tiny.problem))
        return MMT_OK;
    set_parts(&tiny, config);
    if (tiny.whole.launches.count > kernel->whole.launches.count)
        tiny.whole.launches.count = kernel->whole.launches.count;
    const size_t after_c = ROOM + (size_t) mmt_problem_extent_c(&tiny.problem) *
                                      mmt_type_size(tiny.problem.out);
    const size_t workspace_at = (after_c / ROOM + 1) * ROOM;
    mmt_status status = create_zeroed(
        tiny.device, workspace_at + mmt_kernel_workspace(&tiny), &memory, err);
    if (status != MMT_OK)
        return status;
    args.a = args.b = args.c = args.bias = args.workspace = memory;
    args.a.offset = args.b.offset = ROOM / 2;
    args.c.offset = ROOM;
    args.workspace.offset = workspace_at;
    status = mmt_kernel_run(&tiny, &args, &(struct mmt_turn){ 0 }, err);
    if (status == MMT_OK)
        status = mmt_finish(tiny.device, NULL, err);
    mmt_buffer_free(tiny.device, memory);
    return status;
}

mmt_status mmt_kernel_create(mmt_device *device, const struct mmt_bound *bound,
                             bool aligned, const struct mmt_bundled *in,
                             struct mmt_kernel **out, mmt_error *err)
{
    struct mmt_variant variant = mmt_variant_of(bound->problem, aligned);
    struct mmt_kernel *kernel = calloc(1, sizeof *kernel);
    mmt_status status;

    if (!kernel)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a kernel");
    kernel->device = device;
    kernel->problem = *bound->problem;
    set_parts(kernel, &bound->config);
    status = in ? find_bundled(device, in, &bound->config, &variant, &kernel->module, err)
                : load_module(device, &bound->config, &variant, &kernel->module, err);
    if (status == MMT_OK)
        status = create_functions(kernel, err);
    if (status == MMT_OK && device->caps.dialect == MMT_OPENCL_C)
        status = warm_up(kernel, &bound->config, err);
    if (status != MMT_OK) {
        mmt_kernel_free(kernel);
        return in ? status : blame_disk(device, status, err);
    }
    *out = kernel;
    return MMT_OK;
}

void mmt_kernel_free(struct mmt_kernel *kernel)
{
    if (!kernel)
        return;
    for (int i = 0; i < MMT_MAX_LAUNCHES; i++)
        mmt_function_free(kernel->functions[i]);
    mmt_module_free(kernel->module);
    free(kernel);
}

mmt_status mmt_kernel_usage(struct mmt_kernel *kernel, struct mmt_usage *out,
                            mmt_error *err)
{
    *out = (struct mmt_usage){ -1, -1, -1, -1 };
    for (int i = 0; i < kernel->whole.launches.count; i++) {
        struct mmt_usage usage;
        mmt_status status = mmt_function_usage(kernel->functions[i], &usage, err);
        if (status != MMT_OK)
            return status;
        if (usage.shared >= 0)
            usage.shared += kernel->whole.launches.launch[i].shared;
        if (i == 0 || usage.registers > out->registers)
            *out = usage;
    }
    return MMT_OK;
}

size_t mmt_kernel_workspace(const struct mmt_kernel *kernel)
{
    size_t whole = kernel->whole.launches.workspace,
           rest = kernel->rest.launches.workspace;
    return whole > rest ? whole : rest;
}
