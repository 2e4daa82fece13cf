/* Which clients' libraries are called. */
#include "tuner/bench/caller.h"

const struct mmt_caller *mmt_caller_of(enum mmt_client client)
{
    static const struct mmt_caller *const callers[] = { &mmt_caller_cublas,
                                                        &mmt_caller_cublaslt,
                                                        &mmt_caller_blas };
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++)
        if (callers[i]->client == client)
            return callers[i];
    return NULL;
}

size_t mmt_caller_room(const struct mmt_caller *caller, const struct mmt_call *call,
                       bool emulates)
{
    return emulates && call->most_workspace ? call->most_workspace
                                            : caller->workspace(call);
}
