/* Reads the parameters that CLBlast's own tuners have written, and hands them out one by
 * one; tunes nothing. */
#include "tuner/bench/clblast_tuned.h"

#include <glob.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One file's best. */
struct finding {
    char kernel[32], parameters[1024]; /* "GEMMK=0 KREG=1 …" */
    int precision;
    double milliseconds;
};

static bool copy_word(const json_t *root, const char *key, char *out, size_t size)
{
    const char *word = json_string_value(json_object_get(root, key));
    return word && (size_t) snprintf(out, size, "%s", word) < size;
}

static mmt_status read_file(const char *path, struct finding *out, mmt_error *err)
{
    char precision[16] = "", time[32] = "";
    json_error_t where;
    json_t *root = json_load_file(path, 0, &where);

    if (!root)
        return mmt_fail(err, MMT_ERROR_FORMAT, "%s, line %d: %s", path, where.line,
                        where.text);
    bool whole =
        copy_word(root, "best_kernel", out->kernel, sizeof out->kernel) &&
        copy_word(root, "best_parameters", out->parameters, sizeof out->parameters) &&
        copy_word(root, "precision", precision, sizeof precision) &&
        copy_word(root, "best_time", time, sizeof time);
    json_decref(root);
    out->precision = atoi(precision);
    out->milliseconds = atof(time);
    if (whole && out->precision > 0 && out->milliseconds > 0)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_FORMAT,
                    "%s is not what a tuner of CLBlast writes: it must have best_kernel, "
                    "best_parameters, best_time and precision",
                    path);
}

/* Splits "NAME=VALUE NAME=VALUE" in place; PRECISION is no parameter of a kernel. */
static bool split_finding(struct finding *from, struct mmt_clblast_tuned *to)
{
    char *rest = from->parameters, *end;

    *to = (struct mmt_clblast_tuned){ .kernel = from->kernel,
                                      .precision = from->precision };
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value || to->count == MMT_CLBLAST_MOST)
            return false;
        *value++ = 0;
        to->names[to->count] = word;
        to->values[to->count] = strtoul(value, &end, 10);
        if (end == value || *end)
            return false;
        to->count += strcmp(word, "PRECISION") != 0;
    }
    return true;
}

static bool is_beaten(const struct finding *all, size_t count, size_t i)
{
    for (size_t j = 0; j < count; j++)
        if (j != i && !strcmp(all[j].kernel, all[i].kernel) &&
            all[j].precision == all[i].precision &&
            (all[j].milliseconds < all[i].milliseconds ||
             (all[j].milliseconds == all[i].milliseconds && j < i)))
            return true;
    return false;
}

static mmt_status hand_over(struct finding *all, size_t count, char **paths,
                            mmt_status (*take)(void *, const struct mmt_clblast_tuned *,
                                               mmt_error *),
                            void *self, mmt_error *err)
{
    mmt_status status = MMT_OK;
    struct mmt_clblast_tuned tuned;

    for (size_t i = 0; i < count && status == MMT_OK; i++)
        status = read_file(paths[i], &all[i], err);
    for (size_t i = 0; i < count && status == MMT_OK; i++) {
        if (is_beaten(all, count, i))
            continue;
        if (!split_finding(&all[i], &tuned))
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "%s: best_parameters must read NAME=NUMBER NAME=NUMBER …",
                            paths[i]);
        status = take(self, &tuned, err);
    }
    return status;
}

mmt_status mmt_clblast_tuned_each(const char *folder,
                                  mmt_status (*take)(void *,
                                                     const struct mmt_clblast_tuned *,
                                                     mmt_error *),
                                  void *self, mmt_error *err)
{
    char pattern[1024];
    glob_t found = { 0 };

    snprintf(pattern, sizeof pattern, "%s/clblast_xgemm*.json", folder);
    if (glob(pattern, 0, NULL, &found)) {
        globfree(&found);
        return mmt_fail(
            err, MMT_ERROR_NOT_FOUND,
            "there is no %s; clblast_tuner_xgemm, run in that folder, writes it",
            pattern);
    }
    struct finding *all = calloc(found.gl_pathc, sizeof *all);
    mmt_status status =
        all ? hand_over(all, found.gl_pathc, found.gl_pathv, take, self, err)
            : mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu files",
                       found.gl_pathc);
    free(all);
    globfree(&found);
    return status;
}
