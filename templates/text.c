/* Gives the text of a kernel file: the one that is built in, or that of
 * MMTUNE_TEMPLATE_DIR. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "templates/embedded.h"
#include "templates/template.h"

enum { LIMIT = 1 << 20 }; /* bytes of one kernel file */

static mmt_status read_from_folder(const char *folder, const char *file,
                                   struct mmt_text *text, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_text_addf(&path, "%s/%s", folder, file);
    mmt_status status =
        path.failed ? mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", file)
                    : mmt_file_read(mmt_text_string(&path), LIMIT, text, err);
    mmt_text_finish(&path);
    return status;
}

static const char *given_folder(void)
{
    const char *folder = secure_getenv("MMTUNE_TEMPLATE_DIR");
    return folder && *folder ? folder : NULL;
}

bool mmt_template_is_built_in(void)
{
    return !given_folder();
}

mmt_status mmt_template_text(const char *file, struct mmt_text *text, mmt_error *err)
{
    const char *folder = given_folder();
    if (folder)
        return read_from_folder(folder, file, text, err);

    const struct mmt_embedded *found = mmt_embedded;
    while (found->name && strcmp(found->name, file))
        found++;
    if (!found->name)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "there is no kernel file '%s' in this build; it must be named in "
                        "templates/meson.build",
                        file);

    mmt_text_finish(text);
    mmt_text_add(text, found->text);
    return text->failed
               ? mmt_fail(err, MMT_ERROR_MEMORY, "out of memory reading '%s'", file)
               : MMT_OK;
}
