/* source.c - spdl_source_*: samples that the host brings to the engine in its process. */
#include "internal.h"

#include "../engine/table.h"

int64_t spdl_source_id(spdl_reader *r) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: source_id: reader is NULL");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    if (r->source == 0)
        return sp_fail(
            SPDL_E_NOT_FOUND,
            "spdl: source_id: this reader's engine is another process, and only one in this process takes "
            "samples from it; open it with SPDL_FORM_IN_PROCESS");
    const spdl_engine_table *engine;
    spdl_engine_error e;
    s = sp_engine(&engine);
    if (s == SPDL_OK) s = sp_told(engine->source_check(r->source, &e), &e);
    return s < 0 ? s : r->source; /* also of an engine that is over: a take will say so */
}

spdl_status spdl_source_take(int64_t source, int64_t timeout_ns, spdl_want *out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!out) return sp_fail(SPDL_E_ARGUMENT, "spdl: source_take: out is NULL");
    if (out->struct_size < sizeof *out)
        return sp_small("source_take", "out", out->struct_size, sizeof *out, "SPDL_WANT_INIT");
    spdl_status s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->source_take(source, sp_timeout(timeout_ns), out, &e), &e) : s;
}

static spdl_status check_sample(const spdl_sample *g) {
    if (g->struct_size < sizeof *g)
        return sp_small("source_give", "sample", g->struct_size, sizeof *g, "SPDL_SAMPLE_INIT");
    int said =
        (g->bytes != NULL) + (g->path != NULL) + (g->error != NULL) + ((g->flags & SPDL_SAMPLE_END) != 0);
    if (g->flags & ~(SPDL_SAMPLE_END | SPDL_SAMPLE_FATAL))
        return sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: source_give: flags 0x%x, want 0, SPDL_SAMPLE_END or SPDL_SAMPLE_FATAL; use header "
            "and library of one release",
            g->flags);
    if (g->flags & SPDL_SAMPLE_FATAL && !g->error)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: source_give: SPDL_SAMPLE_FATAL without error, which says why");
    /* Of none the engine knows whether a number is enough, and of bytes and path whether there are columns. */
    if (said > 1 + (g->bytes && g->path))
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: source_give: %d of bytes, path, error and end are given, want one", said);
    if (g->path && !*g->path) return sp_fail(SPDL_E_ARGUMENT, "spdl: source_give: path is empty");
    return sp_check_count("source_give", "sample.n_bytes", g->bytes ? g->n_bytes : 0, 1);
}

spdl_status spdl_source_give(int64_t source, const spdl_want *want, const spdl_sample *sample) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!want || !sample)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: source_give: %s is NULL", want ? "sample" : "want");
    if (want->struct_size < sizeof *want)
        return sp_small("source_give", "want", want->struct_size, sizeof *want, "SPDL_WANT_INIT");
    spdl_status s = check_sample(sample);
    if (s == SPDL_OK) s = sp_engine(&engine);
    return s == SPDL_OK ? sp_told(engine->source_give(source, want, sample, &e), &e) : s;
}

void sp_source_end(const spdl_reader *r) {
    const spdl_engine_table *engine;
    if (r->source != 0 && sp_engine(&engine) == SPDL_OK) engine->source_end(r->source);
}
