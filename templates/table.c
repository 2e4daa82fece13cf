/* The list of all templates, and finding one by its name. */
#include "templates/template.h"

#include <string.h>

/* One line a template, or a space of one, best guess first. */
#define TEMPLATES(T)                                                                     \
    T(panel)                                                                             \
    T(small)                                                                             \
    T(skinny)                                                                            \
    T(small_k)                                                                           \
    T(wgmma)                                                                             \
    T(mma)                                                                               \
    T(dmma)                                                                              \
    T(simt)                                                                              \
    T(simt_async)                                                                        \
    T(simt_tma)                                                                          \
    T(tiled)                                                                             \
    T(row_cached)                                                                        \
    T(col_cached)                                                                        \
    T(split_naive)                                                                       \
    T(block_dot)                                                                         \
    T(naive)                                                                             \
    T(axpby)                                                                             \
    T(dot)                                                                               \
    T(heat2d)                                                                            \
    T(jacobi3d)                                                                          \
    T(syrk)                                                                              \
    T(mma_bf16x3)                                                                        \
    T(dots)                                                                              \
    T(dpas)

#define DECLARE(name) extern const struct mmt_template mmt_template_##name;
#define ADDRESS(name) &mmt_template_##name,
#define NAME(name)    #name,

TEMPLATES(DECLARE)

const struct mmt_template *const mmt_templates[] = { TEMPLATES(ADDRESS) NULL };

const char *const mmt_template_names[] = { TEMPLATES(NAME) NULL };

const char *mmt_template_key(const struct mmt_template *template)
{
    return template->key ? template->key : template->name;
}

bool mmt_template_is(const struct mmt_template *template, const char *name)
{
    return !strcmp(template->name, name) || !strcmp(mmt_template_key(template), name);
}

const struct mmt_template *mmt_template_find(const char *name)
{
    for (int i = 0; mmt_templates[i]; i++)
        if (mmt_template_is(mmt_templates[i], name))
            return mmt_templates[i];
    return NULL;
}

const struct mmt_template *mmt_template_space(const struct mmt_template *template,
                                              const char *value)
{
    for (int i = 0; mmt_templates[i]; i++)
        if (!strcmp(mmt_templates[i]->name, template->name) &&
            mmt_templates[i]->knobs[0].names &&
            !strcmp(mmt_templates[i]->knobs[0].names[0], value))
            return mmt_templates[i];
    return NULL;
}
