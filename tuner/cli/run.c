/* mmtune run */
#include "tuner/cli/run.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recording/counts.h"
#include "tuner/common/options.h"
#include "own_paths.h"

static const char about[] =
    "usage: mmtune run [OPTION...] [--] PROGRAM [ARGUMENT...]\n\n"
    "Runs a program that multiplies by cuBLAS, unchanged. Each product goes to the\n"
    "faster one, by verdicts of the device's profile; where there is none it passes.\n"
    "At the end it tells on stderr what became of the calls.\n\n"
    "`mmtune run --record -- python serve.py` takes nothing over and records what is\n"
    "multiplied, `mmtune --device 0 --recorded` tunes that, and from then on\n"
    "`mmtune run -- python serve.py` uses ours where it was measured to be faster.\n\n"
    "Exit status: the program's, or 128 and the signal that killed it; 126 where it\n"
    "cannot be started, 127 where there is none; 1 failed, 2 wrong usage.\n";

struct request {
    bool record, check, verbose, nvtx, no_audit, blas;
    bool has_workspace, has_wait;
    const char *f32;
    int64_t workspace;
    double wait;
};

/* ---- where the libraries are ------------------------------------------------------- */

struct library {
    const char *name;
    const char *built; /* its folder in a build */
    const char *is;
};
static const struct library cublas = { "libmmtune-cublas.so", "dropin/cublas",
                                       "the library that takes calls of cuBLAS over" };
static const struct library audit = { "libmmtune-audit.so", "dropin/audit",
                                      "the auditor for programs that use dlsym" };
static const struct library blas = { "libmmtune-blas.so", "dropin/blas",
                                     "the library that takes calls of BLAS over" };

/* The folder above that of this program; "" where it cannot be told. */
static void find_root(char root[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", root, PATH_MAX - 1);
    root[length > 0 ? length : 0] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(root, '/');
        if (slash)
            *slash = '\0';
    }
}

/* In a build, beside this program where that is installed, and where it was to be. */
static mmt_status find_library(const struct library *library, struct mmt_text *path,
                               mmt_error *err)
{
    char root[PATH_MAX];
    struct mmt_text looked = { 0 };
    find_root(root);
    for (int i = 0; i < 3; i++) {
        struct mmt_text at = { 0 };
        if (i == 0)
            mmt_text_addf(&at, "%s/%s/", root, library->built);
        else if (i == 1)
            mmt_text_addf(&at, "%s/" MMT_LIBDIR "/mmtune/", root);
        else
            mmt_text_add(&at, MMT_PREFIX "/" MMT_LIBDIR "/mmtune/");
        mmt_text_addf(&looked, "%s%s", i ? ", " : "", mmt_text_string(&at));
        mmt_text_add(&at, library->name);
        const bool found = !access(mmt_text_string(&at), R_OK);
        if (found)
            mmt_text_add(path, mmt_text_string(&at));
        mmt_text_finish(&at);
        if (found)
            break;
    }
    mmt_status status = MMT_OK;
    if (!path->length)
        status = mmt_fail(err, MMT_ERROR_NOT_FOUND,
                          "%s, %s, is in none of %s: install mmtune whole, or build it",
                          library->is, library->name, mmt_text_string(&looked));
    else if (strchr(mmt_text_string(path), ':'))
        status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                          "'%s' cannot be preloaded: a colon parts the paths of "
                          "LD_PRELOAD; install mmtune elsewhere",
                          mmt_text_string(path));
    mmt_text_finish(&looked);
    return status;
}

/* Puts a word before those of a list that the dynamic linker reads. */
static mmt_status prepend(const char *variable, const char *others, const char *word,
                          mmt_error *err)
{
    struct mmt_text list = { 0 };
    mmt_status status = MMT_OK;
    mmt_text_add(&list, word);
    if (others && *others)
        mmt_text_addf(&list, ":%s", others);
    if (list.failed || setenv(variable, mmt_text_string(&list), 1))
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    mmt_text_finish(&list);
    return status;
}

/* A space parts the paths of LD_PRELOAD, but not those of LD_LIBRARY_PATH. */
static mmt_status preload(const struct library *library, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_status status = find_library(library, &path, err);
    char *slash = status ? NULL : strrchr(path.data, '/');
    if (status || !strchr(path.data, ' ')) {
        status = status
                     ? status
                     : prepend("LD_PRELOAD", secure_getenv("LD_PRELOAD"), path.data, err);
    } else {
        *slash = '\0';
        status =
            prepend("LD_LIBRARY_PATH", secure_getenv("LD_LIBRARY_PATH"), path.data, err);
        if (!status)
            status = prepend("LD_PRELOAD", secure_getenv("LD_PRELOAD"), slash + 1, err);
    }
    mmt_text_finish(&path);
    return status;
}

/* ---- the program's environment ----------------------------------------------------- */

/* What was not asked for is not taken from a run around this one. */
static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void set_flag(const char *name, bool on)
{
    set(name, on ? "1" : NULL);
}

/* Another for each run of this machine: its time in nanoseconds and this process. */
static void make_id(char id[48])
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id, 48, "%llx-%lx", now.tv_sec * 1000000000ull + (unsigned long) now.tv_nsec,
             (unsigned long) getpid());
}

static void set_kibibytes(const char *name, const char *before, int64_t bytes,
                          const char *behind)
{
    char value[48];
    snprintf(value, sizeof value, "%s%lld%s", before, (long long) (bytes >> 10), behind);
    setenv(name, value, 0);
}

/* A graph's workspace must be the program's, which PyTorch allocates by these variables.
 * It gives cuBLASLt 1 MiB: factors whose rows are not aligned have no room there to be
 * packed. More than cuBLAS's own, 8 MiB on most cards, must lie apart from that. */
static void widen_workspace(void)
{
    if (secure_getenv("CUBLASLT_WORKSPACE_SIZE"))
        return;
    set_kibibytes("CUBLASLT_WORKSPACE_SIZE", "", INT64_C(32) << 20, "");
    setenv("TORCH_CUBLASLT_UNIFIED_WORKSPACE", "0", 0);
}

/* Kernels that emulate f32 keep the slices of both factors there. */
static void make_room_for_slices(const struct request *request)
{
    const int64_t usual = INT64_C(512) << 20, least = INT64_C(32) << 20,
                  asked = request->has_workspace ? request->workspace : usual,
                  bytes = asked > least ? asked : least;
    set_kibibytes("CUBLAS_WORKSPACE_CONFIG", ":", bytes, ":1");
    set_kibibytes("CUBLASLT_WORKSPACE_SIZE", "", bytes, "");
}

/* A run inside another is recorded where that is. */
static bool is_recorded_already(void)
{
    const char *outer = secure_getenv("MMTUNE_RUN_ID");
    const char *record = secure_getenv("MMTUNE_RUN_RECORD");
    return outer && *outer && record && !strcmp(record, "1");
}

static void set_options(const struct request *request, const char *id, bool record)
{
    char bytes[32], seconds[32];
    if (request->f32 && !strcmp(request->f32, "emulated"))
        make_room_for_slices(request);
    else
        widen_workspace();
    snprintf(bytes, sizeof bytes, "%lld", (long long) request->workspace);
    snprintf(seconds, sizeof seconds, "%.17g", request->wait);
    set("MMTUNE_RUN_ID", id);
    set_flag("MMTUNE_RUN_RECORD", record);
    set_flag("MMTUNE_RUN_CHECK", request->check);
    set_flag("MMTUNE_RUN_VERBOSE", request->verbose);
    set_flag("MMTUNE_RUN_NVTX", request->nvtx);
    set("MMTUNE_RUN_F32", request->f32);
    set("MMTUNE_RUN_WORKSPACE", request->has_workspace ? bytes : NULL);
    set("MMTUNE_RUN_WAIT", request->has_wait ? seconds : NULL);
    if (record)
        set("MMTUNE_RECORD", "1");
}

/* With an auditor, libraries that a program begins with have their static thread-local
 * storage in what is left for those loaded later, less than 2 KiB: jemalloc takes more.
 */
static void widen_static_tls(void)
{
    const char *others = secure_getenv("GLIBC_TUNABLES");
    struct mmt_text list = { 0 };
    if (others && strstr(others, "optional_static_tls"))
        return;
    mmt_text_add(&list, "glibc.rtld.optional_static_tls=4096");
    if (others && *others)
        mmt_text_addf(&list, ":%s", others);
    set("GLIBC_TUNABLES", mmt_text_string(&list));
    mmt_text_finish(&list);
}

/* What stands before cuBLAS may be left out of an installation: --blas does without it,
 * and without the auditor, which leads there. */
static mmt_status set_libraries(const struct request *request, mmt_error *err)
{
    mmt_status status = preload(&cublas, err);
    const bool blas_alone = request->blas && status == MMT_ERROR_NOT_FOUND;
    if (blas_alone)
        *err = (mmt_error){ .status = MMT_OK };
    if (request->blas && (!status || blas_alone))
        status = preload(&blas, err);
    if (status || blas_alone || request->no_audit)
        return status;
    widen_static_tls();
    struct mmt_text path = { 0 };
    status = find_library(&audit, &path, err);
    if (!status)
        status = prepend("LD_AUDIT", secure_getenv("LD_AUDIT"), path.data, err);
    mmt_text_finish(&path);
    return status;
}

/* ---- where calls are counted ------------------------------------------------------- */

/* Folders in memory, and for what lives no longer than the program. */
static bool make_other_folder(char path[PATH_MAX])
{
    const char *folders[] = { secure_getenv("XDG_RUNTIME_DIR"), "/dev/shm",
                              secure_getenv("TMPDIR"), "/tmp" };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i] || *folders[i] != '/')
            continue;
        snprintf(path, PATH_MAX, "%s/mmtune-XXXXXX", folders[i]);
        if (!mkdtemp(path))
            continue;
        setenv("MMTUNE_RUN_COUNTS", path, 1);
        if (!mmt_counts_check(NULL))
            return true;
        rmdir(path);
    }
    unsetenv("MMTUNE_RUN_COUNTS");
    return false;
}

static void try_recording(void *unused, const char *path, const char *stem)
{
    mmt_error err = { 0 };
    if (mmt_recording_check(path, &err))
        fprintf(stderr, "mmtune run: what is counted on %s cannot be recorded: %s\n",
                stem, err.text);
}

/* The folder that the program's processes count in, which is also this one's; *other is
 * to be removed in the end where it is not "". What will be lost is told now. */
static void find_counts_folder(char other[PATH_MAX])
{
    struct mmt_text usual = { 0 };
    mmt_error err = { 0 };
    *other = '\0';
    mmt_run_each_recording(try_recording, NULL);
    unsetenv("MMTUNE_RUN_COUNTS");
    mmt_counts_folder(&usual);
    setenv("MMTUNE_RUN_COUNTS", mmt_text_string(&usual), 1);
    mmt_text_finish(&usual);
    if (!mmt_counts_check(&err))
        return;
    const bool found = make_other_folder(other);
    fprintf(stderr, "mmtune run: %s; %s\n", err.text,
            found ? "the report will be right, but what cannot be recorded then is lost"
                  : "what becomes of the calls will not be known");
    if (!found)
        *other = '\0';
}

static void remove_folder(const char *path)
{
    DIR *files = *path ? opendir(path) : NULL;
    for (struct dirent *it; files && (it = readdir(files));)
        unlinkat(dirfd(files), it->d_name, 0);
    if (files)
        closedir(files);
    if (*path)
        rmdir(path);
}

/* ---- the verb ---------------------------------------------------------------------- */

static void say_none(const struct request *request, const char *why)
{
    if (why)
        fprintf(stderr, "mmtune run: no call of %s arrived: %s\n",
                request->blas ? "cuBLAS or BLAS" : "cuBLAS", why);
    else
        fprintf(stderr,
                "mmtune run: no call of %s arrived: the program multiplied nothing by "
                "it, has it linked in statically%s, or its processes live on or were "
                "killed\n",
                request->blas ? "cuBLAS or BLAS" : "cuBLAS",
                request->no_audit ? ", finds it by dlsym (leave out --no-audit)" : "");
}

static int run(const struct request *request, char *const argv[])
{
    char id[48], other[PATH_MAX];
    mmt_error err = { 0 };
    struct mmt_text path = { 0 };
    const bool record = request->record || is_recorded_already();
    mmt_run_find_program(argv[0], &path);
    const char *why = mmt_run_why_not(mmt_text_string(&path));
    mmt_text_finish(&path);
    if (set_libraries(request, &err))
        return mmt_failed("run", &err);
    make_id(id);
    set_options(request, id, record);
    find_counts_folder(other);
    const pid_t builder =
        record ? -1
               : mmt_run_build(request->has_workspace ? (size_t) request->workspace
                                                      : SIZE_MAX);
    const int status = mmt_run_program(argv, &err);
    mmt_run_stop_building(builder);
    if (err.status)
        fprintf(stderr, "mmtune run: %s\n", err.text);
    else if (!mmt_run_report(id, record))
        say_none(request, why);
    remove_folder(other);
    return status;
}

int mmt_verb_run(int argc, char **argv)
{
    struct request it = { 0 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_RECORD, .out = &it.record },
        { .option = MMT_OPTION_F32, .out = &it.f32 },
        { .option = MMT_OPTION_CHECK, .out = &it.check },
        { .option = MMT_OPTION_VERBOSE, .out = &it.verbose },
        { .option = MMT_OPTION_NVTX, .out = &it.nvtx },
        { .option = MMT_OPTION_WORKSPACE,
          .out = &it.workspace,
          .given = &it.has_workspace },
        { .option = MMT_OPTION_WAIT, .out = &it.wait, .given = &it.has_wait },
        { .option = MMT_OPTION_NO_AUDIT, .out = &it.no_audit },
        { .option = MMT_OPTION_BLAS, .out = &it.blas },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX,
                                         .leads = true };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    if (optind == argc)
        return mmt_wrong_usage(argv[0], "no program is named; name one behind --, such "
                                        "as 'mmtune run -- python serve.py'");
    return run(&it, argv + optind);
}
