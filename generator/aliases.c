/* Names that templates, knobs and values had before 0.2. Profiles and journals that hold
 * them are read; nothing writes them. */
#include <string.h>

#include "generator/generator.h"

struct knob_alias {
    const char *template; /* NULL: any */
    const char *before, *now;
    int scale; /* of its values; 0: the same */
};

static const struct knob_alias knobs[] = {
    { "wgmma", "DEPTH", "TILE_K_BYTES", 128 },
    { "mma", "DEPTH", "TILE_K_BYTES", 32 },
    { "simt", "BUFFERS", "STAGES", 0 },
    { NULL, "DEAL", "TILE_SCHEDULER", 0 },
    { NULL, "WALK", "RASTER_ORDER", 0 },
    { NULL, "GROUP", "RASTER_GROUP", 0 },
    { NULL, "TURN", "TRANSPOSE_IN_REGISTERS", 0 },
    { NULL, "IN_FLIGHT", "WGMMA_PENDING", 0 },
    { NULL, "STORE_SLOTS", "EPILOGUE_STAGES", 0 },
    { NULL, "STORE_LATE", "OVERLAP_EPILOGUE", 0 },
    { NULL, "FRAGMENTS", "REGISTER_STAGES", 0 },
    { NULL, "WORK_M", "THREAD_TILE_M", 0 },
    { NULL, "WORK_N", "THREAD_TILE_N", 0 },
    { NULL, "WORK_K", "THREAD_TILE_K", 0 },
    { NULL, "WORK_SHORT", "THREAD_TILE_SHORT", 0 },
    { NULL, "WORK_LONG", "THREAD_TILE_LONG", 0 },
};

static const struct {
    const char *knob, *before, *now;
} values[] = {
    { "TILE_SCHEDULER", "tiles", "data_parallel" },
    { "TILE_SCHEDULER", "rounds", "persistent" },
    { "TILE_SCHEDULER", "even", "balanced" },
    { "TILE_SCHEDULER", "runs", "stream_k" },
    { "SHARED_LAYOUT", "xor", "swizzle" },
    { "SYNC", "slots", "stages" },
};

static const struct {
    const char *before, *now;
} templates[] = {
    { "thin", "small_k" },
};

enum {
    NUM_KNOBS = sizeof knobs / sizeof *knobs,
    NUM_VALUES = sizeof values / sizeof *values,
    NUM_TEMPLATES = sizeof templates / sizeof *templates,
};

const char *mmt_alias_template(const char *name)
{
    for (int i = 0; i < NUM_TEMPLATES; i++)
        if (!strcmp(templates[i].before, name))
            return templates[i].now;
    return name;
}

const char *mmt_alias_knob(const struct mmt_template *template, const char *name,
                           int *scale)
{
    *scale = 1;
    for (int i = 0; i < NUM_KNOBS; i++) {
        if (strcmp(knobs[i].before, name) ||
            (knobs[i].template && strcmp(knobs[i].template, template->name)))
            continue;
        *scale = knobs[i].scale ? knobs[i].scale : 1;
        return knobs[i].now;
    }
    return name;
}

const char *mmt_alias_value(const char *knob, const char *value)
{
    for (int i = 0; i < NUM_VALUES; i++)
        if (!strcmp(values[i].knob, knob) && !strcmp(values[i].before, value))
            return values[i].now;
    return value;
}
