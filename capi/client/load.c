/* load.c - spdl_load: one sample decoded by the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A video that is read in chunks. */
struct spdl_loading {
    engine_object o;
};

spdl_status sp_null(const char *call, const char *what) {
    return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s is NULL", call, what);
}

spdl_status sp_check_load(const char *call, const char *description, const void *bytes, size_t n_bytes,
                          const char *path, const void *out) {
    if (!description || !out) return sp_null(call, description ? "out" : "description");
    if (!bytes && (!path || !*path))
        return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: neither bytes nor a path is given, want one of them",
                       call);
    return sp_check_count(call, "n_bytes", bytes ? n_bytes : 0, 1);
}

spdl_status sp_check_count(const char *call, const char *what, size_t n, size_t size) {
    size_t most = PTRDIFF_MAX / size;
    if (n <= most) return SPDL_OK;
    return sp_fail(SPDL_E_ARGUMENT,
                   "spdl: %s: %s is %zu, want at most %zu; was it below zero before it became a size_t?",
                   call, what, n, most);
}

spdl_status sp_told(spdl_status s, const spdl_engine_error *e) {
    return s < 0 ? sp_fail(s, "%s", e->text) : s;
}

spdl_status sp_object_new(const char *call, engine_object **out) {
    const spdl_engine_table *engine;
    spdl_status s = sp_engine(&engine);
    if (s != SPDL_OK) return s;
    engine_object *o = *out = malloc(sizeof *o);
    if (!o) return sp_fail(SPDL_E_NOMEM, "spdl: %s: no memory", call);
    o->engine = engine;
    return SPDL_OK;
}

spdl_status sp_object_opened(engine_object *o, spdl_status s, const spdl_engine_error *e) {
    if (s != SPDL_OK) free(o);
    return sp_told(s, e);
}

spdl_status spdl_load(const char *description, const void *bytes, size_t n_bytes, const char *path,
                      spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || !out) return sp_null("load", description ? "out" : "description");
    spdl_status s = sp_check_count("load", "n_bytes", bytes ? n_bytes : 0, 1);
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->load(description, bytes, n_bytes, path, out, &e), &e) : s;
}

static spdl_status check_sample(const spdl_sample *s, size_t i) {
    char n_bytes[48];
    if (s->flags)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: load_batch: samples[%zu]: flags 0x%x, want 0", i, s->flags);
    if (s->error)
        return sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: load_batch: samples[%zu]: an error is given; leave out a sample that there is not", i);
    if (!s->bytes == !s->path)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: load_batch: samples[%zu]: want either bytes or a path", i);
    snprintf(n_bytes, sizeof n_bytes, "samples[%zu].n_bytes", i);
    return sp_check_count("load_batch", n_bytes, s->bytes ? s->n_bytes : 0, 1);
}

/* Samples lie one behind the other, each as long as the first says. */
static spdl_status check_samples(const spdl_sample *samples, size_t n) {
    uint32_t size = samples->struct_size;
    if (size < sizeof *samples)
        return sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: load_batch: samples->struct_size is %u, want %zu; make it with SPDL_SAMPLE_INIT", size,
            sizeof *samples);
    spdl_status status = sp_check_count("load_batch", "n_samples", n, size);
    for (size_t i = 0; status == SPDL_OK && i < n; i++) {
        const spdl_sample *s = (const spdl_sample *)((const char *)samples + i * size);
        if (s->struct_size != size)
            return sp_fail(SPDL_E_ARGUMENT,
                           "spdl: load_batch: samples[%zu].struct_size is %u, want %u as the first", i,
                           s->struct_size, size);
        status = check_sample(s, i);
    }
    return status;
}

spdl_status spdl_load_batch(const char *description, const spdl_sample *samples, size_t n_samples,
                            spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || !samples || !out)
        return sp_null("load_batch", !description ? "description" : !samples ? "samples" : "out");
    spdl_status s = n_samples
                        ? check_samples(samples, n_samples)
                        : sp_fail(SPDL_E_ARGUMENT, "spdl: load_batch: got no samples, want one or more");
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->load_batch(description, samples, n_samples, out, &e), &e) : s;
}

spdl_status spdl_loading_open(const char *description, const void *bytes, size_t n_bytes, const char *path,
                              spdl_loading **out) {
    engine_object *o;
    spdl_engine_error e;
    spdl_status s = sp_check_load("loading_open", description, bytes, n_bytes, path, out);
    if (s == SPDL_OK) s = sp_object_new("loading_open", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->loading_open(description, bytes, n_bytes, path, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_loading *)o;
    return s;
}

spdl_status spdl_packets_decode(const spdl_packets *p, const char *description, spdl_loaded **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!p) return sp_null("packets_decode", "packets");
    spdl_status s = sp_check_load("packets_decode", description, p, 0, NULL, out);
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->packets_decode(p->handle, description, out, &e), &e) : s;
}

spdl_status spdl_packets_decode_chunks(const spdl_packets *p, const char *description, spdl_loading **out) {
    engine_object *o;
    spdl_engine_error e;
    if (!p) return sp_null("packets_decode_chunks", "packets");
    spdl_status s = sp_check_load("packets_decode_chunks", description, p, 0, NULL, out);
    if (s == SPDL_OK) s = sp_object_new("packets_decode_chunks", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->packets_decode_chunks(p->handle, description, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_loading *)o;
    return s;
}

spdl_status spdl_loading_next(spdl_loading *l, spdl_loaded **out) {
    spdl_engine_error e;
    if (!l || !out) return sp_null("loading_next", l ? "out" : "loading");
    return sp_told(l->o.engine->loading_next(l->o.number, out, &e), &e);
}

void spdl_loading_close(spdl_loading *l) {
    if (!l) return;
    l->o.engine->loading_close(l->o.number);
    free(l);
}

uint32_t spdl_loaded_n_tensors(const spdl_loaded *l) { return l ? l->n : 0; }

spdl_status spdl_loaded_tensor(const spdl_loaded *l, uint32_t i, spdl_tensor *out) {
    if (!l || !out) return sp_null("loaded_tensor", l ? "out" : "loaded");
    if (out->struct_size < sizeof *out)
        return sp_small("loaded_tensor", "out", out->struct_size, sizeof *out, "SPDL_TENSOR_INIT");
    if (i >= l->n) return sp_fail(SPDL_E_ARGUMENT, "spdl: loaded_tensor: tensor %u, there are %u", i, l->n);
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
