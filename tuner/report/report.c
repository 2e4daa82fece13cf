/* mmtune report */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tuner/common/options.h"
#include "tuner/report/report.h"

static const char about[] =
    "usage: mmtune report [PROFILE...] [OPTION...]\n\n"
    "Writes one page for browsers, which needs no network: what was tuned, how fast it\n"
    "is beside the roofline and the vendor's library, where a recorded program's time\n"
    "goes, how the searches went, what each knob does, and what to do next. Without a\n"
    "PROFILE it is of what was learned on a device and recorded there. The journal\n"
    "beside a profile (PROFILE.journal) tells of searches and knobs. Of several\n"
    "profiles the page also compares each two.\n\n"
    "  mmtune report -o report.html\n"
    "  mmtune report a.json b.json c.json -o cards.html --data tables\n";

/* ---- tables as files
 * ------------------------------------------------------------------- */

mmt_status mmt_report_save(const struct mmt_report *report, const char *folder,
                           mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (const struct mmt_report_section *it = mmt_report_sections; it->name && !status;
         it++) {
        struct mmt_text sentence = { 0 }, name = { 0 };
        struct mmt_table table = it->make(report, &sentence);
        mmt_text_addf(&name, "%s%s", report->name, it->name);
        if (table.num_rows)
            status = mmt_table_save(&table, folder, mmt_text_string(&name), err);
        mmt_table_free(&table);
        mmt_text_finish(&name);
        mmt_text_finish(&sentence);
    }
    return status;
}

/* ---- the verb
 * --------------------------------------------------------------------------- */

struct request {
    const char *device, *file, *out, *folder;
};

/* What a report is read from, which it points into. */
struct sources {
    struct mmt_profile *profile;
    struct mmt_journal *journal;
    struct mmt_recorded_view view;
    bool has_view;
};

/* A journal or recording that cannot be used leaves its sections out. */
static void read_journal(const char *path, struct sources *sources)
{
    mmt_error why = { 0 };
    if (mmt_journal_read(path, &sources->profile->caps, &sources->journal, &why))
        fprintf(stderr, "left out, as it cannot be used: %s\n", why.text);
    else if (sources->journal)
        fputs(mmt_journal_notes(sources->journal), stderr);
}

static mmt_status read_recording(const struct request *request, struct sources *sources,
                                 mmt_error *err)
{
    sources->view.f32_mode = MMT_F32_STRICT;
    sources->view.caps = sources->profile->caps;
    const mmt_status status =
        mmt_recorded_open_for(request->file, NULL, &sources->view, err);
    sources->has_view = !status;
    if (status == MMT_ERROR_NOT_FOUND && !request->file)
        return MMT_OK;
    sources->view.profile = sources->profile;
    return status;
}

static mmt_status read_sources(const struct request *request, const char *path,
                               struct sources *sources, mmt_error *err)
{
    sources->profile = mmt_profile_of(path, request->device, err);
    if (!sources->profile)
        return err->status;
    const struct mmt_profile *profile = sources->profile;
    if (path)
        read_journal(path, sources);
    else if (profile->num_layers && profile->layers[0].path[0])
        read_journal(profile->layers[0].path, sources);
    return path && !request->file ? MMT_OK : read_recording(request, sources, err);
}

static void free_sources(struct sources *sources)
{
    sources->view.profile = NULL;
    mmt_recorded_close(&sources->view);
    mmt_journal_close(sources->journal);
    mmt_profile_free(sources->profile);
}

static mmt_status put_page(const struct request *request,
                           const struct mmt_report *reports, size_t count, mmt_error *err)
{
    struct mmt_text page = { 0 };
    mmt_status status = mmt_report_add_page(reports, count, &page, err);
    if (!status && request->out)
        status = mmt_file_replace(request->out, page.data, page.length, err);
    else if (!status)
        fputs(mmt_text_string(&page), stdout);
    for (size_t i = 0; i < count && request->folder && !status; i++)
        status = mmt_report_save(&reports[i], request->folder, err);
    mmt_text_finish(&page);
    return status;
}

static mmt_status run_report(const struct request *request, char **paths, size_t count,
                             mmt_error *err)
{
    struct sources *sources = calloc(count, sizeof *sources);
    struct mmt_report *reports = calloc(count, sizeof *reports);
    mmt_status status =
        sources && reports ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "no memory");
    for (size_t i = 0; i < count && !status; i++) {
        struct sources *from = &sources[i];
        status = read_sources(request, paths[i], from, err);
        if (!status)
            status = mmt_rows_collect(from->profile, &reports[i].rows, err);
        reports[i].path = paths[i];
        reports[i].profile = from->profile;
        reports[i].journal = from->journal;
        reports[i].recording = from->has_view ? &from->view : NULL;
        if (count > 1)
            snprintf(reports[i].name, sizeof reports[i].name, "%zu-", i + 1);
    }
    if (!status)
        status = put_page(request, reports, count, err);
    for (size_t i = 0; i < count && sources && reports; i++) {
        mmt_rows_finish(&reports[i].rows);
        free_sources(&sources[i]);
    }
    free(reports);
    free(sources);
    return status;
}

int mmt_verb_report(int argc, char **argv)
{
    struct request request = { 0 };
    mmt_error err = { 0 };
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_DEVICE,
          .out = &request.device,
          .what = "whose profile is told of, a number or id of `mmtune devices`; "
                  "default: 0" },
        { .option = MMT_OPTION_FILE,
          .out = &request.file,
          .what = "a recording; default: the device's own, and none of a PROFILE" },
        { .option = MMT_OPTION_OUTPUT, .out = &request.out },
        { .option = MMT_OPTION_DATA, .out = &request.folder },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), INT_MAX };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    const int count = argc - optind;
    char *own[] = { NULL };
    if (count && request.device)
        return mmt_wrong_usage(argv[0],
                               "there is a file, '%s', and --device %s; it must be one "
                               "of them",
                               argv[optind], request.device);
    if (count > 1 && request.file)
        return mmt_wrong_usage(argv[0],
                               "--file %s is of one device, but %d profiles are named",
                               request.file, count);
    return run_report(&request, count ? argv + optind : own, count ? (size_t) count : 1,
                      &err)
               ? mmt_failed(argv[0], &err)
               : MMT_EXIT_DONE;
}
