/* packets.c - spdl_demuxing_* and spdl_packets_*: encoded media as it is, by the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>

struct spdl_demuxing {
    engine_object o;
};

spdl_status spdl_demuxing_open(const char *description, const void *bytes, size_t n_bytes, const char *path,
                               spdl_demuxing **out) {
    engine_object *o;
    spdl_engine_error e;
    spdl_status s = sp_check_load("demuxing_open", description, bytes, n_bytes, path, out);
    if (s == SPDL_OK) s = sp_object_new("demuxing_open", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->demuxing_open(description, bytes, n_bytes, path, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_demuxing *)o;
    return s;
}

static spdl_status next(spdl_demuxing *d, int stream_alone, const char *call, spdl_packets **out) {
    spdl_engine_error e;
    if (!d || !out) return sp_null(call, d ? "out" : "demuxing");
    return sp_told(d->o.engine->demuxing_next(d->o.number, stream_alone, out, &e), &e);
}

spdl_status spdl_demuxing_next(spdl_demuxing *d, spdl_packets **out) {
    return next(d, 0, "demuxing_next", out);
}

spdl_status spdl_demuxing_stream(spdl_demuxing *d, spdl_packets **out) {
    return next(d, 1, "demuxing_stream", out);
}

void spdl_demuxing_close(spdl_demuxing *d) {
    if (!d) return;
    d->o.engine->demuxing_close(d->o.number);
    free(d);
}

uint64_t spdl_packets_count(const spdl_packets *p) { return p ? p->n : 0; }

const char *spdl_packets_info(const spdl_packets *p) { return p ? p->info : ""; }

spdl_status spdl_packets_get(const spdl_packets *p, uint64_t i, spdl_packet *out) {
    if (!p || !out) return sp_null("packets_get", p ? "out" : "packets");
    if (out->struct_size < sizeof *out)
        return sp_small("packets_get", "out", out->struct_size, sizeof *out, "SPDL_PACKET_INIT");
    if (i >= p->n)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: packets_get: packet %llu, there are %llu",
                       (unsigned long long)i, (unsigned long long)p->n);
    uint32_t size = out->struct_size;
    *out = p->list[i];
    out->struct_size = size;
    return SPDL_OK;
}

spdl_status spdl_packets_slice(const spdl_packets *p, uint64_t first, uint64_t end, spdl_packets **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!p || !out) return sp_null("packets_slice", p ? "out" : "packets");
    if (first > end || end > p->n)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: packets_slice: packets [%llu, %llu), there are %llu",
                       (unsigned long long)first, (unsigned long long)end, (unsigned long long)p->n);
    spdl_status s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->packets_slice(p->handle, first, end, out, &e), &e) : s;
}

spdl_status spdl_packets_filter(const spdl_packets *p, const char *filters, spdl_packets **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!p || !filters || !out)
        return sp_null("packets_filter", !p ? "packets" : !filters ? "filters" : "out");
    spdl_status s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->packets_filter(p->handle, filters, out, &e), &e) : s;
}

spdl_status spdl_packets_bytes(const spdl_packets *p, spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!p || !out) return sp_null("packets_bytes", p ? "out" : "packets");
    spdl_status s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->packets_bytes(p->handle, out, &e), &e) : s;
}

spdl_status spdl_packets_of(const void *bytes, size_t n_bytes, spdl_packets **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!bytes || !out) return sp_null("packets_of", bytes ? "out" : "bytes");
    spdl_status s = sp_check_count("packets_of", "n_bytes", n_bytes, 1);
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->packets_of(bytes, n_bytes, out, &e), &e) : s;
}

void spdl_packets_free(spdl_packets *p) {
    const spdl_engine_table *engine;
    if (!p) return;
    if (sp_engine(&engine) == SPDL_OK) engine->packets_free(p->handle);
    free(p->list);
    free(p->info);
    free(p);
}
