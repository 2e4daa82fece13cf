/* Cleans the names in a device's description of characters that a terminal would obey. */
#include "base/caps.h"

#include "base/text.h"

void mmt_caps_make_plain(struct mmt_caps *caps)
{
    char *const texts[] = { caps->backend, caps->name, caps->vendor,  caps->architecture,
                            caps->driver,  caps->uuid, caps->compiler };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        mmt_text_make_plain(texts[i]);
}
