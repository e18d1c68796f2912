/* decoder.c - spdl_bsf_* and spdl_decoder_*: what is kept open from one piece of a stream to the next, by the engine in
 * this process. */
#include "internal.h"

#include "../engine/table.h"

#include <stdlib.h>

struct spdl_bsf {
    engine_object o;
};

struct spdl_decoder {
    engine_object o;
};

enum { NO_MORE = 0 }; /* in place of the number of packets */

spdl_status spdl_bsf_open(const spdl_packets *stream, const char *filters, spdl_bsf **out) {
    engine_object *o;
    spdl_engine_error e;
    if (!stream || !filters || !out)
        return sp_null("bsf_open", !stream ? "stream" : !filters ? "filters" : "out");
    spdl_status s = sp_object_new("bsf_open", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->bsf_open(stream->handle, filters, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_bsf *)o;
    return s;
}

spdl_status spdl_bsf_filter(spdl_bsf *f, const spdl_packets *packets, int last, spdl_packets **out) {
    spdl_engine_error e;
    if (!f || !packets || !out) return sp_null("bsf_filter", !f ? "bsf" : !packets ? "packets" : "out");
    return sp_told(f->o.engine->bsf_filter(f->o.number, packets->handle, last, out, &e), &e);
}

spdl_status spdl_bsf_flush(spdl_bsf *f, spdl_packets **out) {
    spdl_engine_error e;
    if (!f || !out) return sp_null("bsf_flush", f ? "out" : "bsf");
    return sp_told(f->o.engine->bsf_filter(f->o.number, NO_MORE, 1, out, &e), &e);
}

void spdl_bsf_close(spdl_bsf *f) {
    if (!f) return;
    f->o.engine->bsf_close(f->o.number);
    free(f);
}

spdl_status spdl_decoder_open(const spdl_packets *stream, const char *description, spdl_decoder **out) {
    engine_object *o;
    spdl_engine_error e;
    if (!stream || !description || !out)
        return sp_null("decoder_open", !stream ? "stream" : !description ? "description" : "out");
    spdl_status s = sp_object_new("decoder_open", &o);
    if (s != SPDL_OK) return s;
    s = sp_object_opened(o, o->engine->decoder_open(stream->handle, description, &o->number, &e), &e);
    if (s == SPDL_OK) *out = (spdl_decoder *)o;
    return s;
}

spdl_status spdl_decoder_give(spdl_decoder *d, const spdl_packets *packets) {
    spdl_engine_error e;
    if (!d || !packets) return sp_null("decoder_give", d ? "packets" : "decoder");
    return sp_told(d->o.engine->decoder_give(d->o.number, packets->handle, &e), &e);
}

spdl_status spdl_decoder_flush(spdl_decoder *d) {
    spdl_engine_error e;
    if (!d) return sp_null("decoder_flush", "decoder");
    return sp_told(d->o.engine->decoder_give(d->o.number, NO_MORE, &e), &e);
}

spdl_status spdl_decoder_next(spdl_decoder *d, spdl_loaded **out) {
    spdl_engine_error e;
    if (!d || !out) return sp_null("decoder_next", d ? "out" : "decoder");
    return sp_told(d->o.engine->decoder_next(d->o.number, out, &e), &e);
}

void spdl_decoder_close(spdl_decoder *d) {
    if (!d) return;
    d->o.engine->decoder_close(d->o.number);
    free(d);
}
