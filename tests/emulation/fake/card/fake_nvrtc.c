/* NVRTC for cards whose driver takes sources: what it makes of one is the text. With
 * MMT_FAKE_NVRTC_MS it takes so many milliseconds, and as real ones do it registers
 * something for the end of the process while it compiles first: whoever is in it then, or
 * comes later, ends the process. Then the file MMT_FAKE_NVRTC_LOG is there. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda_api.h"
#include "tests/emulation/fake/card/card.h"

struct _nvrtcProgram {
    char *text;
};

EXPORT(nvrtcResult) nvrtcVersion(int *major, int *minor)
{
    const char *other = getenv("MMT_FAKE_NVRTC_MINOR");
    *major = 12, *minor = other ? atoi(other) : 0;
    return NVRTC_SUCCESS;
}

EXPORT(const char *) nvrtcGetErrorString(nvrtcResult result)
{
    return "an error of NVRTC";
}

EXPORT(nvrtcResult)
nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int headers,
                   const char *const *header_texts, const char *const *header_names)
{
    *out = malloc(sizeof **out);
    (*out)->text = strdup(text);
    return NVRTC_SUCCESS;
}

EXPORT(nvrtcResult) nvrtcDestroyProgram(nvrtcProgram *program)
{
    free((*program)->text);
    free(*program);
    return NVRTC_SUCCESS;
}

static atomic_bool gone;

static void go(void)
{
    atomic_store(&gone, true);
}

static void be_there(void)
{
    if (!atomic_load(&gone))
        return;
    fprintf(stderr, "NVRTC is used when the process has ended it\n");
    abort();
}

EXPORT(nvrtcResult)
nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    static atomic_bool begun;
    const char *slow = getenv("MMT_FAKE_NVRTC_MS");
    if (slow && !atomic_exchange(&begun, true)) {
        atexit(go);
        fclose(fopen(getenv("MMT_FAKE_NVRTC_LOG"), "w"));
    }
    be_there();
    if (slow)
        usleep(1000 * (useconds_t) atoi(slow));
    be_there();
    return NVRTC_SUCCESS;
}

EXPORT(nvrtcResult) nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size)
{
    *size = 1;
    return NVRTC_SUCCESS;
}

EXPORT(nvrtcResult) nvrtcGetProgramLog(nvrtcProgram program, char *log)
{
    log[0] = 0;
    return NVRTC_SUCCESS;
}

EXPORT(nvrtcResult) nvrtcGetPTXSize(nvrtcProgram program, size_t *size)
{
    *size = strlen(program->text) + 1;
    return NVRTC_SUCCESS;
}

EXPORT(nvrtcResult) nvrtcGetPTX(nvrtcProgram program, char *out)
{
    memcpy(out, program->text, strlen(program->text) + 1);
    return NVRTC_SUCCESS;
}
