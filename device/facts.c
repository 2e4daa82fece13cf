/* What callers are told of a device. */
#include "base/grow.h"
#include "base/peak.h"
#include "device/device.h"

void mmt_device_facts_init(mmt_device_facts *out, size_t size, const mmt_device *device)
{
    mmt_device_facts facts = { .id = "", .name = "", .api = "" };
    if (device)
        facts = (mmt_device_facts){
            .id = device->id,
            .name = device->caps.name,
            .api = device->caps.backend,
            .kind = device->caps.kind == MMT_CPU ? MMT_DEVICE_CPU : MMT_DEVICE_GPU,
            .f64 = device->caps.f64,
            .max_threads = device->caps.max_threads,
            .clock_khz = device->caps.clock_khz,
            .memory = device->caps.memory,
            .cache = device->caps.cache,
        };
    mmt_struct_fill(out, size, &facts, sizeof facts);
}

double mmt_device_peak(const mmt_device *device, mmt_type type)
{
    return device && (unsigned) type < MMT_NUM_TYPES
               ? mmt_derived_peak(&device->caps, type)
               : 0;
}
