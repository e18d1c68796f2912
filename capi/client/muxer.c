/* muxer.c - spdl_save and spdl_muxer_*: media files written by the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>

struct spdl_muxer {
    const spdl_engine_table *engine;
    int64_t handle;
};

static spdl_status null_in(const char *call, const char *what) {
    return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s is NULL", call, what);
}

spdl_status spdl_save(const char *description, const void *data, size_t n_bytes, const char *path,
                      spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || (!data && n_bytes > 0)) return null_in("save", description ? "data" : "description");
    if ((path && *path) == (out != NULL))
        return sp_fail(SPDL_E_ARGUMENT, "spdl: save: %s, want one of them",
                       out ? "both a path and out are given" : "neither a path nor out is given");
    spdl_status s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->save(description, data, n_bytes, path, out, &e), &e) : s;
}

spdl_status spdl_muxer_open(const char *description, const char *path, spdl_muxer **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || !out) return null_in("muxer_open", description ? "out" : "description");
    spdl_status s = sp_engine(&engine);
    if (s != SPDL_OK) return s;
    spdl_muxer *m = malloc(sizeof *m);
    if (!m) return sp_fail(SPDL_E_NOMEM, "spdl: muxer_open: no memory");
    m->engine = engine;
    s = sp_told(engine->muxer_open(description, path, &m->handle, &e), &e);
    if (s == SPDL_OK)
        *out = m;
    else
        free(m);
    return s;
}

static int32_t add(spdl_muxer *m, const char *description, const spdl_packets *p, const char *filters) {
    spdl_engine_error e;
    int32_t track = 0;
    spdl_status s =
        sp_told(m->engine->muxer_add(m->handle, description, p ? p->handle : 0, filters, &track, &e), &e);
    return s == SPDL_OK ? track : s;
}

int32_t spdl_muxer_add(spdl_muxer *m, const char *description) {
    if (!m || !description) return null_in("muxer_add", m ? "description" : "muxer");
    return add(m, description, NULL, NULL);
}

int32_t spdl_muxer_add_packets(spdl_muxer *m, const spdl_packets *p, const char *filters) {
    if (!m || !p) return null_in("muxer_add_packets", m ? "packets" : "muxer");
    return add(m, NULL, p, filters);
}

spdl_status spdl_muxer_write(spdl_muxer *m, int32_t track, const void *data, size_t n_bytes,
                             const double *seconds, size_t n_seconds) {
    spdl_engine_error e;
    if (!m || (!data && n_bytes > 0)) return null_in("muxer_write", m ? "data" : "muxer");
    return sp_told(m->engine->muxer_write(m->handle, track, data, n_bytes, seconds, n_seconds, &e), &e);
}

spdl_status spdl_muxer_write_packets(spdl_muxer *m, int32_t track, const spdl_packets *p) {
    spdl_engine_error e;
    if (!m || !p) return null_in("muxer_write_packets", m ? "packets" : "muxer");
    return sp_told(m->engine->muxer_write_packets(m->handle, track, p->handle, &e), &e);
}

spdl_status spdl_muxer_close(spdl_muxer *m, spdl_loaded **out) {
    spdl_engine_error e;
    if (!m) return null_in("muxer_close", "muxer");
    spdl_status s = sp_told(m->engine->muxer_close(m->handle, out, &e), &e);
    free(m);
    return s;
}

void spdl_muxer_abort(spdl_muxer *m) {
    if (!m) return;
    m->engine->muxer_abort(m->handle);
    free(m);
}
