/* driver.c - see driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find(void *library, const char *symbol, void *call, char *why, size_t bytes) {
    void *found = dlsym(library, symbol);
    if (!found) {
        snprintf(why, bytes, "it has no %s", symbol);
        return CUDA_TOO_OLD;
    }
    memcpy(call, &found, sizeof found); /* ISO C has no conversion from an object's pointer to a function's */
    return CUDA_LOADED;
}

int sp_cuda_load(cuda_driver *d, char *why, size_t bytes) {
    const char *wanted = getenv("SPDL_CUDA_LIBRARY");
    int got;
    memset(d, 0, sizeof *d);
    d->library = dlopen(wanted && *wanted ? wanted : CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!d->library) {
        const char *text = dlerror();
        snprintf(why, bytes, "%s", text ? text : CUDA_LIBRARY " cannot be opened");
        return CUDA_NO_LIBRARY;
    }
#define X(name, symbol, parameters) \
    if ((got = find(d->library, #symbol, (void *)&d->name, why, bytes)) != CUDA_LOADED) goto bad;
    CUDA_CALLS(X)
#undef X
    /* Drivers from 11.4 on tell parts of one device (MIG) apart by another call. */
    void *of_part = dlsym(d->library, "cuDeviceGetUuid_v2");
    if (of_part) memcpy(&d->DeviceGetUuid, &of_part, sizeof of_part);
    return CUDA_LOADED;
bad:
    dlclose(d->library);
    d->library = NULL;
    return got;
}

const char *sp_cuda_error(const cuda_driver *d, cu_result error, char *text, size_t bytes) {
    const char *name = NULL, *words = NULL;
    if (d->GetErrorName(error, &name) != CU_OK || !name) name = "CUDA error";
    if (d->GetErrorString(error, &words) != CU_OK || !words) words = "unknown";
    snprintf(text, bytes, "%s (%d: %s)", name, error, words);
    return text;
}
