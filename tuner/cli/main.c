/* Starts the verb that the first word names, and ends with its exit status; knows no
 * verb's options. */
#include "tuner/common/options.h"

#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tuner/cli/races.h"

static const char reads[] = "it writes no file",
                  untouched[] = "nothing was measured yet, and no file was changed",
                  whole[] = "its file is whole, the old one or the new";

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;  /* NULL: not for people */
    const char *saved; /* by one that is interrupted before it says so itself */
} verbs[] = {
    { "tune", mmt_verb_tune, "tune a device and write its profile (also with no verb)",
      untouched },
    { "compile", mmt_verb_compile,
      "compile for a card that is not here, before tuning it", whole },
    { "devices", mmt_verb_devices, "list and number the devices of this machine", reads },
    { "suites", mmt_verb_suites, "list the suites of shapes", reads },
    { "templates", mmt_verb_templates, "list the kernels, their knobs, and what is legal",
      reads },
    { "emit", mmt_verb_emit, "print the source of one configuration", whole },
    { "verify", mmt_verb_verify, "run every check on configurations", untouched },
    { "regret", mmt_verb_regret, "measure the regret on shapes never tuned", untouched },
    { "recorded", mmt_verb_recorded, "print what programs computed, and what ours gives",
      whole },
    { "show", mmt_verb_show, "print a profile for people", reads },
    { "profiles", mmt_verb_profiles,
      "list the profiles that are found, and which are used", reads },
    { "report", mmt_verb_report, "write a page for browsers: what was found, with plots",
      whole },
    { "diff", mmt_verb_diff, "compare two profiles, problem by problem", reads },
    { "merge", mmt_verb_merge, "make one profile of several of one device", whole },
    { "share", mmt_verb_share, "write a profile as a file to send to others", whole },
    { "bundle", mmt_verb_bundle, "write a profile with compiled kernels, to ship",
      whole },
    { "bench", mmt_verb_bench, "time our kernels beside other libraries'", untouched },
    { "study", mmt_verb_study, "do a paper's experiment again, on this device",
      untouched },
    { "run", mmt_verb_run, "run a program of cuBLAS with the faster kernels", NULL },
    { "--worker", mmt_verb_worker, NULL, NULL },
    { "--openblas", mmt_verb_openblas, NULL, NULL },
    { "--races", mmt_verb_races, NULL, NULL },
    { "--blas-child", mmt_verb_blas, NULL, NULL },
};

enum { NUM_VERBS = sizeof verbs / sizeof *verbs };

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < NUM_VERBS; i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static int print_help(void)
{
    printf(
        "usage: mmtune [VERB] [OPTION...]\n\n"
        "Finds the fastest matrix multiplication kernels of a device, and keeps them in\n"
        "a profile that libmmtune uses. `mmtune --device 0` tunes for five minutes.\n\n");
    for (int i = 0; i < NUM_VERBS; i++)
        if (verbs[i].what)
            printf("  %-10s %s\n", verbs[i].name, verbs[i].what);
    printf(
        "\n`mmtune VERB --help` explains a verb; `mmtune --version` tells the version.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.\n");
    return MMT_EXIT_DONE;
}

static int unknown_verb(const char *name)
{
    const char *names[NUM_VERBS + 1] = { NULL };
    mmt_error err;
    for (int i = 0, count = 0; i < NUM_VERBS; i++)
        if (verbs[i].what)
            names[count++] = verbs[i].name;
    mmt_option_find("verb", names, name, &(int){ 0 }, &err);
    fprintf(stderr, "mmtune: %s\n", err.text);
    return MMT_EXIT_USAGE;
}

/* A program that is called without a verb tunes. */
static int tune_without_verb(int argc, char **argv)
{
    static char name[] = "tune";
    argv[0] = name;
    mmt_answer_interrupts(name, untouched);
    return mmt_verb_tune(argc, argv);
}

static int run_verb(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "--help";
    mmt_error err = { 0 };
    off_t limit;
    if (!strcmp(first, "--help") || !strcmp(first, "-h") || !strcmp(first, "help"))
        return print_help();
    if (!strcmp(first, "--version")) {
        printf("mmtune %s\n", mmt_version());
        return MMT_EXIT_DONE;
    }
    if (mmt_cache_limit(&limit, &err)) {
        fprintf(stderr, "mmtune: %s\n", err.text);
        return MMT_EXIT_USAGE;
    }
    const struct verb *verb = find_verb(first);
    if (verb && verb->saved)
        mmt_answer_interrupts(verb->name, verb->saved);
    if (verb)
        return verb->run(argc - 1, argv + 1);
    return first[0] == '-' ? tune_without_verb(argc, argv) : unknown_verb(first);
}

int main(int argc, char **argv)
{
    return mmt_exit_status(run_verb(argc, argv));
}
