/* The library that stands under CLBlast's own file name: what libmmtune-clblast.so serves
 * is found there; every other name jumps to the real CLBlast, or answers that nobody has
 * it. Forwarding functions and their table are made by tools/make_forwards.py. */
#include <string.h>

#include "dropin/clblast/call.h"

/* One place for each name, in the order of the names. */
extern void *mmt_forward_slots[] __attribute__((visibility("hidden")));
extern const char mmt_forward_names[] __attribute__((visibility("hidden")));

/* Of any arguments: the caller takes its own from the stack. */
static int answer_not_served(void)
{
    return CLBLAST_NOT_SERVED;
}

/* Before any code of who needs this library. */
__attribute__((constructor)) static void fill_slots(void)
{
    void **slot = mmt_forward_slots;

    for (const char *name = mmt_forward_names; *name; name += strlen(name) + 1) {
        void *function = mmt_clblast_real(name);
        *slot++ = function ? function : (void *) answer_not_served;
    }
}
