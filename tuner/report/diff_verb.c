/* mmtune diff */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/near.h"
#include "tuner/common/options.h"
#include "tuner/report/diff.h"

static const char about[] =
    "usage: mmtune diff A.json B.json [MORE.json...] [OPTION...]\n\n"
    "Compares two profiles. Five sentences say which card is faster, from where to\n"
    "where, what each prefers, what the other's choice costs, and what is in doubt.\n"
    "Then come the means by type, the problems that both have, the largest difference\n"
    "first, and the knobs. A journal beside a profile (A.json.journal) tells what else\n"
    "was timed there. What a card has not timed of the other's best comes last, with\n"
    "the command that does it. Times that differ by no more than their spreads are\n"
    "called a tie; what rests on published figures that cannot be right is marked *.\n"
    "Of three and more profiles there are a matrix of means, and how portable each\n"
    "configuration is that all cards timed.\n\n"
    "  mmtune diff a.json b.json --type f32 --html page.html\n";

struct request {
    const char *verb;
    char **paths;
    struct mmt_diff_filter filter;
    const char *page; /* NULL: none */
    bool json, all;
};

/* What was read of the two. */
struct sides {
    struct mmt_profile *profile[2];
    struct mmt_journal *journal[2];
    struct mmt_text left_out; /* journals that cannot be used, a sentence a line */
};

/* The file cannot be read twice and compared with itself. */
static bool is_one_file(const char *x, const char *y)
{
    struct stat a, b;
    return !stat(x, &a) && !stat(y, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static mmt_status read_sides(const struct request *request, struct sides *sides,
                             mmt_error *err)
{
    for (int side = 0; side < 2; side++) {
        sides->profile[side] = mmt_profile_load_plain(request->paths[side], err);
        if (!sides->profile[side])
            return err->status;
        mmt_error why = { 0 };
        if (mmt_journal_read(request->paths[side], &sides->profile[side]->caps,
                             &sides->journal[side], &why))
            mmt_text_addf(&sides->left_out, "left out, as it cannot be used: %s\n",
                          why.text);
    }
    return MMT_OK;
}

static void free_sides(struct sides *sides)
{
    for (int side = 0; side < 2; side++) {
        mmt_journal_close(sides->journal[side]);
        mmt_profile_free(sides->profile[side]);
    }
    mmt_text_finish(&sides->left_out);
}

/* After what was found: it is more than a screen of large profiles. */
static void say_warnings(const struct sides *sides)
{
    fflush(stdout);
    fputs(mmt_text_string(&sides->left_out), stderr);
    for (int side = 0; side < 2; side++) {
        fputs(mmt_profile_warnings(sides->profile[side]), stderr);
        if (sides->journal[side])
            fputs(mmt_journal_notes(sides->journal[side]), stderr);
    }
}

static mmt_status write_page(const struct mmt_diff_view *view, const char *path,
                             mmt_error *err)
{
    struct mmt_text page = { 0 };
    mmt_diff_add_page(view, &page);
    mmt_status status = page.failed
                            ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the page")
                            : mmt_file_replace(path, page.data, page.length, err);
    mmt_text_finish(&page);
    return status;
}

/* "f32 and f64": the types that a profile has problems of. */
static void add_types(const struct mmt_profile *profile, struct mmt_text *text)
{
    const char *names[MMT_NUM_TYPES + 1];
    unsigned types = 0;
    int count = 0;
    for (size_t i = 0; i < profile->num_entries; i++)
        types |= 1u << profile->entries[i].problem.type;
    for (size_t i = 0; i < profile->num_published; i++)
        types |= 1u << profile->published[i].problem.type;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (types >> type & 1)
            names[count++] = mmt_type_name((mmt_type) type);
    names[count] = NULL;
    mmt_near_list(names, "and", text);
}

/* Refuses what the filters leave nothing of. */
static mmt_status check_left(const struct mmt_diff *diff, mmt_error *err)
{
    struct mmt_text a = { 0 }, b = { 0 };
    if (diff->num_both || diff->num_apart || diff->num_only[0] || diff->num_only[1])
        return MMT_OK;
    add_types(diff->rows[0].profile, &a);
    add_types(diff->rows[1].profile, &b);
    mmt_fail(err, MMT_ERROR_NOT_FOUND,
             "no problem is left by --type, --op and --common; A has problems of %s, B "
             "of %s",
             mmt_text_string(&a), mmt_text_string(&b));
    mmt_text_finish(&a);
    mmt_text_finish(&b);
    return MMT_ERROR_NOT_FOUND;
}

static mmt_status tell(const struct request *request, const struct mmt_diff *diff,
                       mmt_error *err)
{
    const struct mmt_diff_view view = { diff, request->paths, request->all };
    mmt_status status = check_left(diff, err);
    if (!status && request->page)
        status = write_page(&view, request->page, err);
    if (status)
        return status;
    if (request->json)
        mmt_diff_print_json(&view);
    else
        mmt_diff_print(&view);
    return MMT_OK;
}

static int run_diff(const struct request *request)
{
    struct sides sides = { 0 };
    struct mmt_diff diff;
    mmt_error err = { 0 };
    mmt_status status = read_sides(request, &sides, &err);
    if (!status)
        status = mmt_diff_make((const struct mmt_profile *const *) sides.profile,
                               (const struct mmt_journal *const *) sides.journal,
                               &request->filter, &diff, &err);
    if (!status) {
        status = tell(request, &diff, &err);
        say_warnings(&sides);
        mmt_diff_finish(&diff);
    }
    free_sides(&sides);
    return status ? mmt_failed(request->verb, &err) : MMT_EXIT_DONE;
}

static int run_many(const struct request *request, int count)
{
    struct mmt_many many = { .count = count, .filter = request->filter };
    mmt_error err = { 0 };
    mmt_status status = MMT_OK;
    for (int i = 0; i < count && !status; i++)
        if (!(many.profile[i] = mmt_profile_load_plain(request->paths[i], &err)))
            status = err.status;
    if (!status)
        status = mmt_diff_print_many(&many, &err);
    for (int i = 0; i < count; i++)
        mmt_profile_free(many.profile[i]);
    return status ? mmt_failed(request->verb, &err) : MMT_EXIT_DONE;
}

int mmt_verb_diff(int argc, char **argv)
{
    struct request request = { .verb = argv[0], .filter = MMT_DIFF_ALL };
    bool types[MMT_NUM_TYPES] = { false }, some_op = false;
    mmt_op op = MMT_GEMM;
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_OP,
          .out = &op,
          .given = &some_op,
          .what = "only problems of {}; default: all" },
        { .option = MMT_OPTION_TYPE,
          .out = types,
          .what = "only problems of {}; default: all" },
        { .option = MMT_OPTION_COMMON, .out = &request.filter.common },
        { .option = MMT_OPTION_ALL, .out = &request.all },
        { .option = MMT_OPTION_HTML, .out = &request.page },
        { .option = MMT_OPTION_JSON, .out = &request.json },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes),
                                         MMT_MANY_CARDS };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    const int count = argc - optind;
    request.paths = argv + optind;
    if (count < 2)
        return mmt_wrong_usage(argv[0],
                               "%d %s named; it must be two profiles, A.json B.json",
                               count, count == 1 ? "file is" : "files are");
    for (int i = 1; i < count; i++)
        for (int j = 0; j < i; j++)
            if (is_one_file(request.paths[j], request.paths[i]))
                return mmt_wrong_usage(
                    argv[0], "'%s' and '%s' are one file; it must be two profiles",
                    request.paths[j], request.paths[i]);
    if (count > 2 && (request.page || request.json || request.all))
        return mmt_wrong_usage(
            argv[0], "--html, --json and --all are for two profiles; %d are named",
            count);
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        request.filter.types |= (unsigned) types[type] << type;
    if (some_op)
        request.filter.op = (int) op;
    return count > 2 ? run_many(&request, count) : run_diff(&request);
}
