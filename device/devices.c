/* The public list of devices. */
#include <stdlib.h>

#include "device/device.h"

struct mmt_devices {
    struct mmt_device_info *list;
    size_t count;
    struct mmt_text notes;
};

mmt_devices *mmt_devices_find(mmt_error *err)
{
    mmt_devices *devices = calloc(1, sizeof *devices);
    if (!devices) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a list of devices");
        return NULL;
    }
    if (!mmt_device_list(&devices->list, &devices->count, &devices->notes, err))
        return devices;
    mmt_devices_free(devices);
    return NULL;
}

static const struct mmt_device_info *info_of(const mmt_devices *devices, size_t number)
{
    return devices && number < devices->count ? &devices->list[number] : NULL;
}

size_t mmt_devices_count(const mmt_devices *devices)
{
    return devices ? devices->count : 0;
}

const char *mmt_devices_id(const mmt_devices *devices, size_t number)
{
    const struct mmt_device_info *info = info_of(devices, number);
    return info ? info->id : "";
}

const char *mmt_devices_name(const mmt_devices *devices, size_t number)
{
    const struct mmt_device_info *info = info_of(devices, number);
    return info ? info->caps.name : "";
}

mmt_device_kind mmt_devices_kind(const mmt_devices *devices, size_t number)
{
    const struct mmt_device_info *info = info_of(devices, number);
    if (!info)
        return MMT_DEVICE_NONE;
    return info->caps.kind == MMT_CPU ? MMT_DEVICE_CPU : MMT_DEVICE_GPU;
}

const char *mmt_devices_notes(const mmt_devices *devices)
{
    return devices ? mmt_text_string(&devices->notes) : "";
}

void mmt_devices_free(mmt_devices *devices)
{
    if (!devices)
        return;
    free(devices->list);
    mmt_text_finish(&devices->notes);
    free(devices);
}
