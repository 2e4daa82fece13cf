/* Modules that stay loaded, for the next kernel of the same text: device.h. */
#include <pthread.h>

#include "device/device.h"

/* Modules that nobody uses and that stay: as many as a calibration comes back to. A
 * platform on a CPU keeps a compiler's whole notes with each. */
enum { MOST_SPARE_GPU = 160, MOST_SPARE_CPU = 8 };

/* Of the lists of all devices. It is held while a list is walked, never while a platform
 * is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(struct mmt_hash a, struct mmt_hash b)
{
    return a.high == b.high && a.low == b.low;
}

static void take_out(struct mmt_module **place)
{
    struct mmt_module *module = *place;
    *place = module->next;
    module->next = NULL;
}

static void put_first(struct mmt_module *module)
{
    module->next = module->device->modules;
    module->device->modules = module;
}

struct mmt_module *mmt_module_find(mmt_device *device, struct mmt_hash key)
{
    pthread_mutex_lock(&lock);
    struct mmt_module **place = &device->modules;
    while (*place && !is_same((*place)->key, key))
        place = &(*place)->next;
    struct mmt_module *found = *place;
    if (found) {
        take_out(place);
        put_first(found);
        found->users++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void mmt_module_share(struct mmt_module *module, struct mmt_hash key)
{
    pthread_mutex_lock(&lock);
    module->key = key;
    module->shared = true;
    module->users = 1;
    put_first(module);
    pthread_mutex_unlock(&lock);
}

/* Takes the spare one that was used longest ago out of the list, where there are more of
 * them than stay; NULL: there are not. */
static struct mmt_module *take_oldest(mmt_device *device, int most)
{
    struct mmt_module **oldest = NULL, *module;
    int spare = 0;
    for (struct mmt_module **place = &device->modules; *place; place = &(*place)->next)
        if (!(*place)->users) {
            oldest = place;
            spare++;
        }
    if (spare <= most)
        return NULL;
    module = *oldest;
    take_out(oldest);
    return module;
}

static void unload(struct mmt_module *module)
{
    if (module)
        module->device->backend->module_free(module);
}

void mmt_module_free(struct mmt_module *module)
{
    if (!module)
        return;
    if (!module->shared) {
        unload(module);
        return;
    }
    const bool cpu = module->device->caps.kind == MMT_CPU;
    pthread_mutex_lock(&lock);
    module->users--;
    struct mmt_module *oldest =
        take_oldest(module->device, cpu ? MOST_SPARE_CPU : MOST_SPARE_GPU);
    pthread_mutex_unlock(&lock);
    unload(oldest);
}

void mmt_modules_unload(mmt_device *device)
{
    while (device->modules) {
        struct mmt_module *module = device->modules;
        take_out(&device->modules);
        unload(module);
    }
}
