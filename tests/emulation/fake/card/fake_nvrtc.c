/* NVRTC for cards whose driver takes sources: what it makes of one is the text. */
#include <stdlib.h>
#include <string.h>

#include "device/cuda_api.h"
#include "tests/emulation/fake/card/card.h"

struct _nvrtcProgram {
    char *text;
};

EXPORT(nvrtcResult) nvrtcVersion(int *major, int *minor)
{
    *major = 12, *minor = 0;
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

EXPORT(nvrtcResult)
nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
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
