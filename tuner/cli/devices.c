/* mmtune devices */
#include "tuner/common/options.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char about[] =
    "usage: mmtune devices [--json]\n\n"
    "Lists the devices of this machine: CUDA first, then OpenCL GPUs, then OpenCL\n"
    "CPUs. --device takes a number or an id. Ends with 1 where there is no device.\n";

static void print_device(const struct mmt_device_info *info)
{
    const struct mmt_caps *caps = &info->caps;
    printf("%d  %-16s %s, %s\n", info->number, info->id, caps->name,
           caps->kind == MMT_CPU ? "CPU" : "GPU");
    printf("   %u %s, %.2f GHz, %.1f GiB, %zu KiB shared memory a block, "
           "%u threads a block%s\n",
           caps->sms, caps->kind == MMT_CPU ? "cores" : "multiprocessors",
           caps->clock_khz / 1e6, (double) caps->memory / (1 << 30), caps->shared >> 10,
           caps->max_threads, caps->f64 ? "" : ", no f64");
    printf("   %s, driver %s, compiler %s\n", caps->architecture, caps->driver,
           caps->compiler);
}

static json_t *device_json(const struct mmt_device_info *info)
{
    const struct mmt_caps *c = &info->caps;
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, "
        "s:I}",
        "number", info->number, "id", info->id, "backend", c->backend, "name", c->name,
        "vendor", c->vendor, "kind", c->kind == MMT_CPU ? "cpu" : "gpu", "architecture",
        c->architecture, "driver", c->driver, "compiler", c->compiler, "f64", c->f64,
        "multiprocessors", (json_int_t) c->sms, "clock_khz", (json_int_t) c->clock_khz,
        "memory", (json_int_t) c->memory, "shared", (json_int_t) c->shared, "max_threads",
        (json_int_t) c->max_threads, "cache", (json_int_t) c->cache);
}

static void print_json(const struct mmt_device_info *list, size_t count)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, device_json(&list[i]));
    json_dumpf(all, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(all);
}

static void print_list(const struct mmt_device_info *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_device(&list[i]);
}

/* What to install, by what the machine has; the names are Debian's. */
static void say_none(void)
{
    fputs(
        "mmtune devices: there is no CUDA and no OpenCL device here. What makes one:\n"
        "  an NVIDIA card  sudo apt-get install nvidia-driver nvidia-cuda-toolkit\n"
        "  another GPU     its maker's OpenCL driver: intel-opencl-icd, mesa-opencl-icd\n"
        "  the CPU         sudo apt-get install pocl-opencl-icd ocl-icd-libopencl1\n",
        stderr);
}

int mmt_verb_devices(int argc, char **argv)
{
    bool json = false;
    const struct mmt_take takes[] = { { .option = MMT_OPTION_JSON, .out = &json } };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;

    struct mmt_device_info *list = NULL;
    struct mmt_text notes = { 0 };
    mmt_error err = { 0 };
    size_t count = 0;
    if (mmt_device_list(&list, &count, &notes, &err))
        return mmt_failed(argv[0], &err);
    if (json)
        print_json(list, count);
    else
        print_list(list, count);
    if (!count)
        say_none();
    fputs(mmt_text_string(&notes), stderr);
    mmt_text_finish(&notes);
    free(list);
    return count ? MMT_EXIT_DONE : MMT_EXIT_FAILED;
}
