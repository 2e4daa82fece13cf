/* Verifies one candidate in this process, whatever may come of it, on a device that may
 * be emulated. The kernel files are those of MMTUNE_TEMPLATE_DIR.
 *
 *     verify_mutant DEVICE PROBLEM CONFIGURATION [FOLDER]
 *
 * DEVICE is one of `mmtune devices`, or emulated:SM, or emulated:SM:MULTIPROCESSORS. With
 * a FOLDER every text that is compiled is written there. Prints one line; exit status: 0
 * right, 1 wrong, 3 it does not build, 4 it could not be judged, 2 wrong usage. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "device/device.h"
#include "generator/generator.h"
#include "tests/emulation/cuda/emulate.h"
#include "tuner/verify/session.h"
#include "tuner/verify/verify.h"

enum { RIGHT, WRONG, USAGE, NOT_BUILT, NOT_JUDGED };

/* ---- sources ----------------------------------------------------------------------- */

static const char *folder;
static const struct mmt_backend *plain;
static struct mmt_backend writing;

static mmt_status write_and_compile(mmt_device *device, const char *source,
                                    struct mmt_binary *binary, mmt_error *err)
{
    static int count;
    char path[512];

    snprintf(path, sizeof path, "%s/text%d", folder, count++);
    FILE *file = fopen(path, "w");
    bool good = file && fputs(source, file) >= 0;
    if (file && fclose(file))
        good = false;
    return good ? plain->compile(device, source, binary, err)
                : mmt_fail(err, MMT_ERROR_IO, "%s cannot be written", path);
}

static void write_texts(mmt_device *device, const char *to)
{
    folder = to;
    plain = device->backend;
    writing = *plain;
    writing.compile = write_and_compile;
    device->backend = &writing;
}

/* ---- one candidate --------------------------------------------------------------- */

static mmt_device *open_device(const char *name, mmt_error *err)
{
    int sm, sms;
    const int numbers = sscanf(name, "emulated:%d:%d", &sm, &sms);
    mmt_device *device = numbers > 0 ? emulate_open(sm, err) : mmt_device_open(name, err);
    if (device && numbers == 2)
        emulate_widen(device, (unsigned) sms);
    return device;
}

static int tell(mmt_status status, const struct mmt_judgement *verdict,
                const mmt_error *err)
{
    if (status == MMT_ERROR_COMPILE) {
        printf("not built: %s\n", err->text);
        return NOT_BUILT;
    }
    if (status) {
        printf("not judged: %s\n", err->text);
        return NOT_JUDGED;
    }
    if (!verdict->right) {
        printf("%s: %s\n", verdict->check, verdict->reason);
        return WRONG;
    }
    printf("right\n");
    return RIGHT;
}

static int verify(mmt_device *device, const mmt_problem *problem, const char *words)
{
    struct mmt_config config;
    struct mmt_judgement verdict = { 0 };
    mmt_error err = { 0 };
    mmt_status status = mmt_config_parse(words, &config, &err);

    if (status)
        return tell(status, NULL, &err);
    config = mmt_config_resolve(&config, problem, mmt_device_caps(device));
    const char *refusal =
        mmt_config_check_problem(&config, problem, mmt_device_caps(device));
    if (refusal)
        return tell(mmt_fail(&err, MMT_ERROR_UNSUPPORTED, "it is refused: %s", refusal),
                    NULL, &err);
    struct mmt_session *session = mmt_session_create(device, problem, 1, &err);
    status = session ? mmt_verify(session, &config, MMT_PASS_WHOLE, &verdict, &err)
                     : err.status;
    return tell(status, &verdict, &err);
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = { 0, 0 };
    mmt_problem problem;
    mmt_error err = { 0 };

    if (argc < 4 || argc > 5 || mmt_problem_parse(argv[2], &problem, &err) ||
        mmt_problem_normalise(&problem, &problem, &err)) {
        fprintf(stderr,
                "usage: verify_mutant DEVICE PROBLEM CONFIGURATION [FOLDER]%s%s\n",
                *err.text ? "; " : "", err.text);
        return USAGE;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    mmt_device *device = open_device(argv[1], &err);
    if (!device)
        return tell(err.status, NULL, &err);
    if (argc == 5)
        write_texts(device, argv[4]);
    int result = verify(device, &problem, argv[3]);
    fflush(stdout);
    _Exit(result); /* memory may be in any state: nothing of it is freed */
}
