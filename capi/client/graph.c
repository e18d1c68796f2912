/* graph.c - spdl_graph_*: filter graphs, which work in the engine in this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>

struct spdl_graph {
    engine_object o;
    char *info;
};

spdl_status spdl_graph_open(const char *description, spdl_graph **out) {
    const spdl_engine_table *engine;
    spdl_engine_error e;
    if (!description || !out) return sp_null("graph_open", description ? "out" : "description");
    spdl_status s = sp_engine(&engine);
    if (s != SPDL_OK) return s;
    spdl_graph *g = malloc(sizeof *g);
    if (!g) return sp_fail(SPDL_E_NOMEM, "spdl: graph_open: no memory");
    g->o.engine = engine;
    s = engine->graph_open(description, &g->o.number, &g->info, &e);
    if (s != SPDL_OK) free(g);
    if (s == SPDL_OK) *out = g;
    return sp_told(s, &e);
}

const char *spdl_graph_info(const spdl_graph *g) { return g ? g->info : ""; }

spdl_status spdl_graph_add(spdl_graph *g, const char *input, const void *data, size_t n_bytes,
                           const double *seconds, size_t n_seconds) {
    spdl_engine_error e;
    if (!g || (!data && n_bytes) || (!seconds && n_seconds))
        return sp_null("graph_add", !g ? "graph" : !data && n_bytes ? "data" : "seconds");
    spdl_status s = sp_check_count("graph_add", "n_bytes", n_bytes, 1);
    if (s == SPDL_OK) s = sp_check_count("graph_add", "n_seconds", n_seconds, sizeof *seconds);
    if (s != SPDL_OK) return s;
    return sp_told(g->o.engine->graph_add(g->o.number, input, data, n_bytes, seconds, n_seconds, &e), &e);
}

spdl_status spdl_graph_flush(spdl_graph *g) {
    spdl_engine_error e;
    if (!g) return sp_null("graph_flush", "graph");
    return sp_told(g->o.engine->graph_flush(g->o.number, &e), &e);
}

spdl_status spdl_graph_next(spdl_graph *g, const char *output, spdl_loaded **out) {
    spdl_engine_error e;
    if (!g || !out) return sp_null("graph_next", g ? "out" : "graph");
    return sp_told(g->o.engine->graph_next(g->o.number, output, out, &e), &e);
}

void spdl_graph_close(spdl_graph *g) {
    if (!g) return;
    g->o.engine->graph_close(g->o.number);
    free(g->info);
    free(g);
}
