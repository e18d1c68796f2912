/* muxer.c - spdl_save and spdl_muxer_*: media files written by the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>

struct spdl_muxer {
    engine_object o;
};

spdl_status spdl_save(const char *description, const void *data, size_t n_bytes, const char *path,
                      spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || (!data && n_bytes > 0)) return sp_null("save", description ? "data" : "description");
    if ((path && *path) == (out != NULL))
        return sp_fail(SPDL_E_ARGUMENT, "spdl: save: %s, want one of them",
                       out ? "both a path and out are given" : "neither a path nor out is given");
    spdl_status s = sp_check_count("save", "n_bytes", n_bytes, 1);
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->save(description, data, n_bytes, path, out, &e), &e) : s;
}

spdl_status spdl_muxer_open(const char *description, const char *path, spdl_muxer **out) {
    engine_object *o;
    spdl_engine_error e;
    if (!description || !out) return sp_null("muxer_open", description ? "out" : "description");
    spdl_status s = sp_object_new("muxer_open", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->muxer_open(description, path, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_muxer *)o;
    return s;
}

static int32_t add(spdl_muxer *m, const char *description, const spdl_packets *p, const char *filters) {
    spdl_engine_error e;
    int32_t track = 0;
    spdl_status s =
        sp_told(m->o.engine->muxer_add(m->o.number, description, p ? p->handle : 0, filters, &track, &e), &e);
    return s == SPDL_OK ? track : s;
}

int32_t spdl_muxer_add(spdl_muxer *m, const char *description) {
    if (!m || !description) return sp_null("muxer_add", m ? "description" : "muxer");
    return add(m, description, NULL, NULL);
}

int32_t spdl_muxer_add_packets(spdl_muxer *m, const spdl_packets *p, const char *filters) {
    if (!m || !p) return sp_null("muxer_add_packets", m ? "packets" : "muxer");
    return add(m, NULL, p, filters);
}

spdl_status spdl_muxer_write(spdl_muxer *m, int32_t track, const void *data, size_t n_bytes,
                             const double *seconds, size_t n_seconds) {
    spdl_engine_error e;
    if (!m || (!data && n_bytes > 0) || (!seconds && n_seconds > 0))
        return sp_null("muxer_write", !m ? "muxer" : !data && n_bytes > 0 ? "data" : "seconds");
    spdl_status s = sp_check_count("muxer_write", "n_bytes", n_bytes, 1);
    if (s == SPDL_OK) s = sp_check_count("muxer_write", "n_seconds", n_seconds, sizeof *seconds);
    if (s != SPDL_OK) return s;
    return sp_told(m->o.engine->muxer_write(m->o.number, track, data, n_bytes, seconds, n_seconds, &e), &e);
}

spdl_status spdl_muxer_write_packets(spdl_muxer *m, int32_t track, const spdl_packets *p) {
    spdl_engine_error e;
    if (!m || !p) return sp_null("muxer_write_packets", m ? "packets" : "muxer");
    return sp_told(m->o.engine->muxer_write_packets(m->o.number, track, p->handle, &e), &e);
}

spdl_status spdl_muxer_close(spdl_muxer *m, spdl_loaded **out) {
    spdl_engine_error e;
    if (!m) return sp_null("muxer_close", "muxer");
    spdl_status s = sp_told(m->o.engine->muxer_close(m->o.number, out, &e), &e);
    free(m);
    return s;
}

void spdl_muxer_abort(spdl_muxer *m) {
    if (!m) return;
    m->o.engine->muxer_abort(m->o.number);
    free(m);
}
