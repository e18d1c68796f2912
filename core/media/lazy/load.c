/* load.c - from a trampoline's slot to the function behind it. */
#include "load.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libraries.inc" /* generated: static const char *const sonames[] */

enum { N_LIBRARIES = sizeof sonames / sizeof sonames[0] };

/* What trampolines.S lays down for each function. address is written by whoever resolves it first; several threads may,
 * with the same value. */
typedef struct slot {
    _Atomic(void *) address; /* NULL: not resolved yet */
    int32_t name;            /* where the function's name lies, relative to this field */
    int32_t library;         /* index into sonames */
} slot;

static _Atomic(void *) handles[N_LIBRARIES];

/* dlopen has a lock of its own, and counts: opening a library twice does no harm. */
static void *open_library(int32_t i) {
    void *handle = atomic_load_explicit(&handles[i], memory_order_acquire);
    if (!handle) {
        handle = dlopen(sonames[i], RTLD_LAZY | RTLD_LOCAL);
        atomic_store_explicit(&handles[i], handle, memory_order_release);
    }
    return handle;
}

const char *media_lazy_load(const char *library) {
    size_t n = strlen(library);
    for (int32_t i = 0; i < N_LIBRARIES; i++)
        if (strncmp(sonames[i] + strlen("lib"), library, n) == 0 && sonames[i][strlen("lib") + n] == '.')
            return open_library(i) ? NULL : dlerror();
    return "this build knows no such library";
}

/* Called by trampolines.S alone, on the way into the function: there is nobody to return an error to. */
void *media_lazy_resolve(slot *s) {
    const char *name = (const char *)&s->name + s->name;
    void *library = open_library(s->library);
    void *address = library ? dlsym(library, name) : NULL;
    if (!address) {
        fprintf(stderr, "spdl: %s in %s: %s\n", name, sonames[s->library], dlerror());
        abort();
    }
    atomic_store_explicit(&s->address, address, memory_order_release);
    return address;
}
