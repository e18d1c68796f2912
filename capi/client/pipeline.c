/* pipeline.c - spdl_pipeline_* and spdl_stage_*: check what the caller gave, hand on to libspdl_engine, and
 * keep its error text. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>
#include <string.h>

struct spdl_pipeline {
    const spdl_engine_table *engine;
    int64_t handle;
};

static spdl_status no_pipeline(const char *call) {
    return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: pipeline is NULL", call);
}

static spdl_status check_size(const char *call, const char *what, uint32_t got, size_t want,
                              const char *init) {
    return got < want ? sp_small(call, what, got, want, init) : SPDL_OK;
}

spdl_status spdl_pipeline_create(const char *description, spdl_pipeline **out) {
    if (out) *out = NULL;
    if (!description || !out)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: pipeline_create: %s is NULL", out ? "description" : "out");
    const spdl_engine_table *engine;
    spdl_status s = sp_engine(&engine);
    if (s != SPDL_OK) return s;
    spdl_pipeline *p = malloc(sizeof *p);
    if (!p) return sp_fail(SPDL_E_NOMEM, "spdl: pipeline_create: no memory for a handle");
    spdl_engine_error e;
    p->engine = engine;
    s = sp_told(engine->create(description, &p->handle, &e), &e);
    if (s == SPDL_OK)
        *out = p;
    else
        free(p);
    return s;
}

spdl_status spdl_pipeline_start(spdl_pipeline *p) {
    spdl_engine_error e;
    return p ? sp_told(p->engine->start(p->handle, &e), &e) : no_pipeline("pipeline_start");
}

int32_t spdl_pipeline_stage(spdl_pipeline *p, const char *name) {
    spdl_engine_error e;
    if (!p) return no_pipeline("pipeline_stage");
    if (!name) return sp_fail(SPDL_E_ARGUMENT, "spdl: pipeline_stage: name is NULL");
    int32_t stage = p->engine->stage(p->handle, name, &e);
    return stage < 0 ? sp_told((spdl_status)stage, &e) : stage;
}

spdl_status spdl_stage_take(spdl_pipeline *p, int32_t stage, int64_t timeout_ns, spdl_work *out) {
    spdl_engine_error e;
    if (!p) return no_pipeline("stage_take");
    if (!out) return sp_fail(SPDL_E_ARGUMENT, "spdl: stage_take: out is NULL");
    spdl_status s = check_size("stage_take", "out", out->struct_size, sizeof *out, "SPDL_WORK_INIT");
    return s == SPDL_OK ? sp_told(p->engine->take(p->handle, stage, sp_timeout(timeout_ns), out, &e), &e) : s;
}

static spdl_status check_give(const spdl_give *g) {
    const uint32_t flags = SPDL_GIVE_MORE | SPDL_GIVE_END | SPDL_GIVE_LIST | SPDL_GIVE_SKIP;
    const uint32_t error_flags = SPDL_ERROR_FATAL | SPDL_ERROR_FINAL;
    spdl_status s = check_size("stage_give", "give", g->struct_size, sizeof *g, "SPDL_GIVE_INIT");
    if (s != SPDL_OK) return s;
    if (g->flags & ~flags)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: stage_give: flags is 0x%x, this library knows 0x%x", g->flags,
                       flags);
    if (g->error_flags & ~error_flags)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: stage_give: error_flags is 0x%x, this library knows 0x%x",
                       g->error_flags, error_flags);
    if (g->n_items > 0 && !g->items)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: stage_give: items is NULL, n_items %u", g->n_items);
    return SPDL_OK;
}

spdl_status spdl_stage_give(spdl_pipeline *p, int32_t stage, const spdl_work *work, const spdl_give *give) {
    spdl_engine_error e;
    if (!p) return no_pipeline("stage_give");
    if (!work || !give)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: stage_give: %s is NULL", work ? "give" : "work");
    spdl_status s = check_size("stage_give", "work", work->struct_size, sizeof *work, "SPDL_WORK_INIT");
    if (s == SPDL_OK) s = check_give(give);
    return s == SPDL_OK ? sp_told(p->engine->give(p->handle, stage, work, give, &e), &e) : s;
}

spdl_status spdl_pipeline_get(spdl_pipeline *p, int64_t timeout_ns, spdl_work *out) {
    spdl_engine_error e;
    if (!p) return no_pipeline("pipeline_get");
    if (!out) return sp_fail(SPDL_E_ARGUMENT, "spdl: pipeline_get: out is NULL");
    spdl_status s = check_size("pipeline_get", "out", out->struct_size, sizeof *out, "SPDL_WORK_INIT");
    return s == SPDL_OK ? sp_told(p->engine->get(p->handle, sp_timeout(timeout_ns), out, &e), &e) : s;
}

spdl_status spdl_pipeline_drain(spdl_pipeline *p) {
    spdl_engine_error e;
    return p ? sp_told(p->engine->drain(p->handle, &e), &e) : no_pipeline("pipeline_drain");
}

spdl_status spdl_pipeline_stop(spdl_pipeline *p) {
    spdl_engine_error e;
    return p ? sp_told(p->engine->stop(p->handle, &e), &e) : no_pipeline("pipeline_stop");
}

spdl_status spdl_pipeline_wait(spdl_pipeline *p, int64_t timeout_ns) {
    spdl_engine_error e;
    if (!p) return no_pipeline("pipeline_wait");
    spdl_status s = p->engine->wait(p->handle, sp_timeout(timeout_ns), &e);
    /* A wait in vain says what it waits for, though it is no failure. */
    return s == SPDL_OK ? s : sp_fail(s, "%s", e.text);
}

/* Hand a text of the engine's, which is freed, to the caller. */
static spdl_status hand_out(const char *call, char *text, char *buffer, size_t bytes, size_t *need) {
    size_t want = strlen(text) + 1;
    spdl_status s = SPDL_OK;
    if (need) *need = want;
    if (!buffer || bytes < want)
        s = sp_fail(SPDL_E_ARGUMENT, "spdl: %s: the buffer has %zu bytes, the text needs %zu", call,
                    buffer ? bytes : 0, want);
    else
        memcpy(buffer, text, want);
    free(text);
    return s;
}

/* Ask the engine for a text, and hand it out. */
static spdl_status ask_text(const char *call, spdl_pipeline *p, char *buffer, size_t bytes, size_t *need,
                            spdl_status (*ask)(int64_t, char **, spdl_engine_error *)) {
    spdl_engine_error e;
    char *text = NULL;
    spdl_status s = sp_told(ask(p->handle, &text, &e), &e);
    return s == SPDL_OK ? hand_out(call, text, buffer, bytes, need) : s;
}

spdl_status spdl_pipeline_error(spdl_pipeline *p, char *buffer, size_t bytes, size_t *need) {
    const char *call = "pipeline_error";
    return p ? ask_text(call, p, buffer, bytes, need, p->engine->failure) : no_pipeline(call);
}

spdl_status spdl_pipeline_stats(spdl_pipeline *p, char *buffer, size_t bytes, size_t *need) {
    const char *call = "pipeline_stats";
    return p ? ask_text(call, p, buffer, bytes, need, p->engine->stats) : no_pipeline(call);
}

spdl_status spdl_pipeline_reclaim(spdl_pipeline *p, uint64_t *items, uint32_t room, uint32_t *got) {
    spdl_engine_error e;
    if (!p) return no_pipeline("pipeline_reclaim");
    if ((!items && room > 0) || !got)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: pipeline_reclaim: %s is NULL", got ? "items" : "got");
    *got = 0;
    return sp_told(p->engine->reclaim(p->handle, items, room, got, &e), &e);
}

spdl_status spdl_pipeline_free(spdl_pipeline *p) {
    spdl_engine_error e;
    if (!p) return SPDL_OK;
    spdl_status s = sp_told(p->engine->free(p->handle, &e), &e);
    if (s == SPDL_OK) free(p);
    return s;
}
