/* load.c - spdl_load: one sample decoded by the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>
#include <string.h>

spdl_status spdl_load(const char *description, const void *bytes, size_t n_bytes, const char *path,
                      spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || !out)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: load: %s is NULL", description ? "out" : "description");
    if (!bytes && (!path || !*path))
        return sp_fail(SPDL_E_ARGUMENT, "spdl: load: neither bytes nor a path is given, want one of them");
    spdl_status s = sp_engine(&engine);
    if (s != SPDL_OK) return s;
    s = engine->load(description, bytes, n_bytes, path, out, &e);
    return s < 0 ? sp_fail(s, "%s", e.text) : s;
}

uint32_t spdl_loaded_n_tensors(const spdl_loaded *l) { return l ? l->n : 0; }

spdl_status spdl_loaded_tensor(const spdl_loaded *l, uint32_t i, spdl_tensor *out) {
    if (!l || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: loaded_tensor: %s is NULL", l ? "out" : "loaded");
    if (out->struct_size < sizeof *out)
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: loaded_tensor: out->struct_size is %u, want %zu; make it with SPDL_TENSOR_INIT",
                       out->struct_size, sizeof *out);
    if (i >= l->n)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: loaded_tensor: tensor %u of %u", i, l->n);
    uint32_t size = out->struct_size;
    *out = l->tensors[i];
    out->struct_size = size;
    return SPDL_OK;
}

const char *spdl_loaded_info(const spdl_loaded *l) { return l ? l->info : ""; }

void spdl_loaded_free(spdl_loaded *l) {
    if (!l) return;
    for (uint32_t i = 0; i < l->n; i++) {
        free(l->owned[i]);
        free((void *)(uintptr_t)l->tensors[i].name);
    }
    free(l->owned);
    free(l->tensors);
    free(l->info);
    free(l);
}
