/* A program that knows no cuBLAS, and loads an extension that does into a scope of its
 * own, as Python does: host EXTENSION [ROUNDS]. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *extension = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = extension ? dlsym(extension, "run_products") : NULL;
    int (*run)(int, char **);
    memcpy(&run, &symbol, sizeof run);
    if (!run) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no extension is named");
        return 3;
    }
    return run(argc - 1, argv + 1);
}
