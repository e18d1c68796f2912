//go:build !noffmpeg

/* graph.c - see graph.h. */
#include "graph.h"

#include <inttypes.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterchecks.h"
#include "filternames.h"

enum { CHUNK_SAMPLES = 1024 }; /* that go in at once: about what decoders give */

typedef struct input {
    media_av_end end;
    AVFilterContext *node;
    int part;                /* inputs and outputs that are linked with one another are of one part */
    int has;                 /* something was added */
    double first, last;      /* seconds from when to when frames were added */
    uint64_t bytes, waiting; /* added at all; and since something came out of the part */
} input;

typedef struct output {
    media_av_end end;
    AVFilterContext *node;
    int part, ended;
    AVFrame **frame; /* waiting, frame[first] first */
    size_t first, n, room;
    uint64_t bytes; /* of these */
} output;

struct media_av_graph {
    media_av_graph_options options;
    AVFilterGraph *graph;
    input in[MEDIA_AV_ENDS];
    output out[MEDIA_AV_ENDS];
    int n_in, n_out;
    uint64_t picture; /* bytes of the largest one between two filters */
    int flushed;
    int64_t deadline_ns;
    char detail[400];
};

media_av_graph *media_av_graph_new(void) { return calloc(1, sizeof(media_av_graph)); }

void media_av_graph_free(media_av_graph *g) {
    if (!g) return;
    for (int i = 0; i < g->n_out; i++) {
        output *o = &g->out[i];
        for (size_t k = 0; k < o->n; k++) av_frame_free(&o->frame[o->first + k]);
        free(o->frame);
    }
    avfilter_graph_free(&g->graph);
    free(g);
}

const char *media_av_graph_detail(const media_av_graph *g) { return g->detail; }

static int fail(media_av_graph *g, int status, const char *format, const char *what) {
    snprintf(g->detail, sizeof g->detail, format, what);
    g->detail[strcspn(g->detail, "\r\n")] = 0;
    return status;
}

static int refused(media_av_graph *g, int rc) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    return fail(g, rc == AVERROR(ENOMEM) ? MEDIA_AV_NO_MEMORY : MEDIA_AV_FILTER, "%s",
                media_av_reason(rc, reason));
}

static void begin_call(media_av_graph *g) {
    media_av_forget();
    g->deadline_ns = g->options.budget_ns > 0 ? media_av_now_ns() + g->options.budget_ns : 0;
}

/* --- shapes --- */

int media_av_graph_shape(media_av_end *e, char *detail, size_t detail_bytes) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)e->format);
    int w = e->width, h = e->height, planes = d ? av_pix_fmt_count_planes((enum AVPixelFormat)e->format) : 0;
    const char *why = NULL;
    if (!d || d->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM) ||
        planes < 1) {
        why = "it has no array";
    } else {
        int size = av_image_get_buffer_size((enum AVPixelFormat)e->format, w, h, 1), depth = d->comp[0].depth;
        int whole = d->log2_chroma_w == 0 && d->log2_chroma_h == 0, step = d->comp[0].step;
        e->item = depth <= 8 ? 1 : depth <= 16 ? 2 : 4;
        e->is_float = (d->flags & AV_PIX_FMT_FLAG_FLOAT) != 0;
        if (e->item > 1 && d->flags & AV_PIX_FMT_FLAG_BE)
            why = "its numbers are in another order than this machine's";
        else if (size <= 0 || step % e->item != 0 || (int64_t)size % ((int64_t)w * e->item) != 0 ||
                 (!whole && (planes == 1 || w % 2 != 0 || h % 2 != 0)))
            why = "its planes do not make an array at this size";
        else if (planes == 1)
            memcpy(e->shape, (int32_t[]){h, w, step / e->item}, sizeof e->shape);
        else if (whole && size == planes * w * h * e->item)
            memcpy(e->shape, (int32_t[]){planes, h, w}, sizeof e->shape);
        else
            memcpy(e->shape, (int32_t[]){1, size / (w * e->item), w}, sizeof e->shape);
        if (!why && planes == 1 && size != h * w * step) why = "its pixels do not lie one by one";
    }
    if (!why) return MEDIA_AV_OK;
    snprintf(detail, detail_bytes, "%s: pictures of %s, %dx%d: %s; put format=pix_fmts=rgb24 there", e->name,
             d ? d->name : "an unknown format", w, h, why);
    return MEDIA_AV_UNSUPPORTED;
}

static int sound_shape(media_av_graph *g, media_av_end *e) {
    e->item = av_get_bytes_per_sample((enum AVSampleFormat)e->format);
    e->is_planar = av_sample_fmt_is_planar((enum AVSampleFormat)e->format);
    enum AVSampleFormat packed = av_get_packed_sample_fmt((enum AVSampleFormat)e->format);
    e->is_float = packed == AV_SAMPLE_FMT_FLT || packed == AV_SAMPLE_FMT_DBL;
    e->is_signed = packed != AV_SAMPLE_FMT_U8;
    e->format_name = av_get_sample_fmt_name((enum AVSampleFormat)e->format);
    if (e->item > 0 && e->channels > 0 && e->rate > 0) return MEDIA_AV_OK;
    return fail(g, MEDIA_AV_UNSUPPORTED, "%s: sound of no known format", e->name);
}

/* What goes through a link, at one end of the graph. */
static int describe(media_av_graph *g, media_av_end *e, const AVFilterContext *node, const AVFilterLink *l) {
    e->name = node->name;
    e->type = l->type;
    e->format = l->format;
    e->width = l->w;
    e->height = l->h;
    e->rate = l->sample_rate;
    e->channels = l->ch_layout.nb_channels;
    e->time_base = l->time_base;
    if (e->type == AVMEDIA_TYPE_AUDIO) return sound_shape(g, e);
    e->format_name = av_get_pix_fmt_name((enum AVPixelFormat)e->format);
    return media_av_graph_shape(e, g->detail, sizeof g->detail);
}

/* --- making --- */

static int is_named(const AVFilterContext *c, const char *name) { return strcmp(c->filter->name, name) == 0; }

static int find_ends(media_av_graph *g) {
    for (unsigned i = 0; i < g->graph->nb_filters; i++) {
        AVFilterContext *c = g->graph->filters[i];
        int in = is_named(c, "buffer") || is_named(c, "abuffer");
        int out = is_named(c, "buffersink") || is_named(c, "abuffersink");
        if ((in && g->n_in == MEDIA_AV_ENDS) || (out && g->n_out == MEDIA_AV_ENDS))
            return fail(g, MEDIA_AV_FILTER, "more than 32 inputs or outputs at %s, want fewer", c->name);
        for (int k = 0; in && k < g->n_in; k++)
            if (strcmp(g->in[k].node->name, c->name) == 0)
                return fail(g, MEDIA_AV_FILTER, "two inputs are called %s, want a name for each", c->name);
        for (int k = 0; out && k < g->n_out; k++)
            if (strcmp(g->out[k].node->name, c->name) == 0)
                return fail(g, MEDIA_AV_FILTER, "two outputs are called %s, want a name for each", c->name);
        if (in) g->in[g->n_in++].node = c;
        if (out) g->out[g->n_out++].node = c;
    }
    if (g->n_in == 0)
        return fail(g, MEDIA_AV_FILTER, "%s", "no input; want buffer=... or abuffer=... in the text");
    if (g->n_out == 0)
        return fail(g, MEDIA_AV_FILTER, "%s", "no output; want buffersink or abuffersink in the text");
    return MEDIA_AV_OK;
}

static int parse(media_av_graph *g) {
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    int rc = avfilter_graph_parse2(g->graph, g->options.text, &inputs, &outputs);
    rc = rc < 0 ? refused(g, rc) : MEDIA_AV_OK;
    if (rc == MEDIA_AV_OK && inputs)
        rc = fail(g, MEDIA_AV_FILTER, "an input of %s is open; want buffer=... or abuffer=... before it",
                  inputs->filter_ctx->name);
    if (rc == MEDIA_AV_OK && outputs)
        rc = fail(g, MEDIA_AV_FILTER, "an output of %s is open; want buffersink or abuffersink behind it",
                  outputs->filter_ctx->name);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    return rc;
}

/* Which ends are linked: the part of a filter is the least number of any filter that it is linked with. */
static int find_parts(media_av_graph *g) {
    unsigned n = g->graph->nb_filters;
    int *part = malloc(n * sizeof *part);
    if (!part) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "the graph");
    for (unsigned i = 0; i < n; i++) part[i] = (int)i;
    for (int changed = 1; changed;) {
        changed = 0;
        for (unsigned i = 0; i < n; i++) {
            const AVFilterContext *c = g->graph->filters[i];
            for (unsigned k = 0; k < c->nb_outputs; k++)
                for (unsigned j = 0; j < n; j++) {
                    if (g->graph->filters[j] != c->outputs[k]->dst || part[i] == part[j]) continue;
                    part[i] = part[j] = part[i] < part[j] ? part[i] : part[j];
                    changed = 1;
                }
        }
    }
    for (unsigned i = 0; i < n; i++) {
        for (int k = 0; k < g->n_in; k++)
            if (g->in[k].node == g->graph->filters[i]) g->in[k].part = part[i];
        for (int k = 0; k < g->n_out; k++)
            if (g->out[k].node == g->graph->filters[i]) g->out[k].part = part[i];
    }
    free(part);
    return MEDIA_AV_OK;
}

/* The largest picture between two filters. */
static void measure(media_av_graph *g) {
    for (unsigned i = 0; i < g->graph->nb_filters; i++) {
        const AVFilterContext *c = g->graph->filters[i];
        for (unsigned k = 0; k < c->nb_outputs; k++) {
            const AVFilterLink *l = c->outputs[k];
            if (l->type != AVMEDIA_TYPE_VIDEO) continue;
            int size = av_image_get_buffer_size((enum AVPixelFormat)l->format, l->w, l->h, 1);
            if (size > 0 && (uint64_t)size > g->picture) g->picture = (uint64_t)size;
        }
    }
}

static int describe_ends(media_av_graph *g) {
    int rc = MEDIA_AV_OK;
    for (int i = 0; rc == MEDIA_AV_OK && i < g->n_in; i++) {
        input *in = &g->in[i];
        rc = describe(g, &in->end, in->node, in->node->outputs[0]);
        if (in->end.type == AVMEDIA_TYPE_VIDEO)
            av_opt_get_q(in->node->priv, "frame_rate", 0, &in->end.frame_rate);
    }
    for (int i = 0; rc == MEDIA_AV_OK && i < g->n_out; i++) {
        output *out = &g->out[i];
        rc = describe(g, &out->end, out->node, out->node->inputs[0]);
        if (out->end.type == AVMEDIA_TYPE_VIDEO)
            out->end.frame_rate = av_buffersink_get_frame_rate(out->node);
    }
    return rc;
}

int media_av_graph_open(media_av_graph *g, const media_av_graph_options *options) {
    begin_call(g);
    g->options = *options;
    int rc = media_av_filter_names(options->text, 1, g->detail, sizeof g->detail);
    if (rc != MEDIA_AV_OK) return rc;
    g->graph = avfilter_graph_alloc();
    if (!g->graph) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "the graph");
    g->graph->nb_threads = options->threads > 0 ? options->threads : 1;
    rc = parse(g);
    if (rc == MEDIA_AV_OK) rc = find_ends(g);
    if (rc == MEDIA_AV_OK) rc = media_av_filter_ends(g->graph, g->detail, sizeof g->detail);
    if (rc != MEDIA_AV_OK) return rc;
    int made = avfilter_graph_config(g->graph, NULL);
    if (made < 0) return refused(g, made);
    rc = media_av_filter_sizes(g->graph, options->max_pixels, g->detail, sizeof g->detail);
    if (rc == MEDIA_AV_OK) rc = describe_ends(g);
    if (rc == MEDIA_AV_OK) rc = find_parts(g);
    measure(g);
    g->options.text = NULL; /* the caller's */
    return rc;
}

int media_av_graph_n_inputs(const media_av_graph *g) { return g->n_in; }
int media_av_graph_n_outputs(const media_av_graph *g) { return g->n_out; }
const media_av_end *media_av_graph_input(const media_av_graph *g, int i) { return &g->in[i].end; }
const media_av_end *media_av_graph_output(const media_av_graph *g, int i) { return &g->out[i].end; }
char *media_av_graph_dump(const media_av_graph *g) { return avfilter_graph_dump(g->graph, NULL); }

/* --- coming out --- */

static uint64_t bytes_of(const AVFrame *f) {
    uint64_t n = 0;
    for (int i = 0; i < AV_NUM_DATA_POINTERS && f->buf[i]; i++) n += (uint64_t)f->buf[i]->size;
    for (int i = 0; i < f->nb_extended_buf; i++) n += (uint64_t)f->extended_buf[i]->size;
    return n;
}

static int queue(media_av_graph *g, output *o, AVFrame *frame) {
    if (o->first + o->n == o->room) {
        memmove(o->frame, o->frame + o->first, o->n * sizeof *o->frame);
        o->first = 0;
    }
    if (o->n == o->room) {
        size_t room = o->room ? 2 * o->room : 16;
        AVFrame **more = realloc(o->frame, room * sizeof *more);
        if (!more) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "the frames that wait");
        o->frame = more;
        o->room = room;
    }
    o->frame[o->first + o->n++] = frame;
    o->bytes += bytes_of(frame);
    for (int i = 0; i < g->n_in; i++)
        if (g->in[i].part == o->part) g->in[i].waiting = 0;
    return MEDIA_AV_OK;
}

static int too_full(media_av_graph *g, const output *o) {
    if (!g->options.max_bytes || o->bytes <= g->options.max_bytes) return 0;
    snprintf(g->detail, sizeof g->detail,
             "output %s: %" PRIu64 " bytes wait and nobody takes them, want at most %" PRIu64
             "; take its frames, or raise max_bytes",
             o->end.name, o->bytes, g->options.max_bytes);
    return 1;
}

/* Let the filters work until they want more. Frames of an output that is full stay inside. */
static int run(media_av_graph *g) {
    for (int i = 0; i < g->n_out; i++) {
        output *o = &g->out[i];
        while (!o->ended && !too_full(g, o)) {
            if (g->deadline_ns && media_av_now_ns() > g->deadline_ns)
                return fail(g, MEDIA_AV_TOO_SLOW, "%s", "the filters; the next call goes on; raise timeout");
            AVFrame *frame = av_frame_alloc();
            if (!frame) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "a frame");
            int got = av_buffersink_get_frame(o->node, frame);
            int kept = got >= 0 ? queue(g, o, frame) : MEDIA_AV_NO_MEMORY;
            if (kept != MEDIA_AV_OK) av_frame_free(&frame);
            if (got >= 0 && kept != MEDIA_AV_OK) return kept;
            if (got == AVERROR(EAGAIN)) break;
            o->ended = got == AVERROR_EOF;
            if (got < 0 && !o->ended) return refused(g, got);
        }
    }
    return MEDIA_AV_OK;
}

/* --- going in --- */

/* How much an input has ahead of the slowest of those that it meets, at its own pace. */
static uint64_t ahead(const media_av_graph *g, const input *in, const input **behind) {
    double slowest = in->last;
    for (int i = 0; i < g->n_in; i++) {
        const input *other = &g->in[i];
        if (other == in || other->part != in->part) continue;
        double at = other->has ? other->last : in->first;
        if (at < slowest) slowest = at, *behind = other;
    }
    double all = in->last - in->first;
    if (!*behind) return 0;
    if (slowest <= in->first || all <= 0) return in->bytes;
    return (uint64_t)((double)in->bytes * (in->last - slowest) / all);
}

/* Whether a frame of so many bytes may wait in the graph, in which it may become the largest picture of all. */
static int make_room(media_av_graph *g, const input *in, uint64_t bytes) {
    const input *behind = NULL;
    uint64_t most = g->options.max_bytes;
    if (g->flushed)
        return fail(g, MEDIA_AV_FILTER, "%s: it was flushed; open another graph for more", in->end.name);
    for (int i = 0; i < g->n_out; i++)
        if (too_full(g, &g->out[i])) return MEDIA_AV_TOO_MUCH;
    if (!most || !in->has) return MEDIA_AV_OK;
    uint64_t lead = ahead(g, in, &behind);
    if (behind && lead + bytes > most) {
        snprintf(g->detail, sizeof g->detail,
                 "input %s is ahead of %s by more than the %" PRIu64
                 " bytes that may wait; add frames there first, or raise max_bytes",
                 in->end.name, behind->end.name, most);
        return MEDIA_AV_TOO_MUCH;
    }
    if (in->waiting && in->waiting + bytes > most) {
        snprintf(g->detail, sizeof g->detail,
                 "input %s: %" PRIu64 " bytes went in since a frame came out, want at most %" PRIu64
                 "; filters that keep everything need max_bytes raised",
                 in->end.name, in->waiting, most);
        return MEDIA_AV_TOO_MUCH;
    }
    return MEDIA_AV_OK;
}

static int add(media_av_graph *g, input *in, AVFrame *frame, uint64_t bytes, double from, double to) {
    if (!in->has) in->first = from;
    in->last = to;
    in->has = 1;
    in->bytes += bytes;
    in->waiting += bytes;
    int rc = av_buffersrc_add_frame(in->node, frame);
    return rc < 0 && rc != AVERROR_EOF ? refused(g, rc)
                                       : MEDIA_AV_OK; /* those that want no more say so at their end */
}

int media_av_graph_picture(media_av_graph *g, int number, const uint8_t *pixels, int64_t time) {
    input *in = &g->in[number];
    const media_av_end *e = &in->end;
    begin_call(g);
    int size = av_image_get_buffer_size((enum AVPixelFormat)e->format, e->width, e->height, 1);
    uint64_t bytes = g->picture > (uint64_t)size ? g->picture : (uint64_t)size;
    int rc = make_room(g, in, bytes);
    if (rc != MEDIA_AV_OK) return rc;
    AVFrame *frame = av_frame_alloc();
    if (!frame) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "a frame");
    frame->format = e->format;
    frame->width = e->width;
    frame->height = e->height;
    frame->sample_aspect_ratio = in->node->outputs[0]->sample_aspect_ratio;
    frame->pts = time;
    uint8_t *plane[4];
    int stride[4];
    rc = av_frame_get_buffer(frame, 0);
    if (rc >= 0)
        rc = av_image_fill_arrays(plane, stride, pixels, (enum AVPixelFormat)e->format, e->width, e->height,
                                  1);
    if (rc >= 0) {
        av_image_copy(frame->data, frame->linesize, (const uint8_t **)plane, stride,
                      (enum AVPixelFormat)e->format, e->width, e->height);
        double at = (double)time * av_q2d(e->time_base);
        rc = add(g, in, frame, bytes, at, at);
    } else {
        rc = fail(g, MEDIA_AV_NO_MEMORY, "%s", "a frame");
    }
    av_frame_free(&frame);
    return rc == MEDIA_AV_OK ? run(g) : rc;
}

/* Samples [first, first + n) of `all` of them, as one frame. */
static int add_samples(media_av_graph *g, input *in, const uint8_t *samples, int64_t all, int64_t first,
                       int n, int64_t time) {
    const media_av_end *e = &in->end;
    uint64_t bytes = (uint64_t)n * (uint64_t)e->item * (uint64_t)e->channels;
    int rc = make_room(g, in, bytes);
    if (rc != MEDIA_AV_OK) return rc;
    AVFrame *frame = av_frame_alloc();
    if (!frame) return fail(g, MEDIA_AV_NO_MEMORY, "%s", "a frame");
    frame->format = e->format;
    frame->sample_rate = e->rate;
    frame->nb_samples = n;
    frame->pts = time;
    rc = av_channel_layout_copy(&frame->ch_layout, &in->node->outputs[0]->ch_layout);
    if (rc >= 0) rc = av_frame_get_buffer(frame, 0);
    if (rc >= 0) {
        size_t step = (size_t)e->item * (size_t)(e->is_planar ? 1 : e->channels);
        for (int c = 0; c < (e->is_planar ? e->channels : 1); c++)
            memcpy(frame->extended_data[c], samples + ((size_t)c * (size_t)all + (size_t)first) * step,
                   (size_t)n * step);
        double from = (double)time * av_q2d(e->time_base);
        rc = add(g, in, frame, bytes, from, from + (double)n / e->rate);
    } else {
        rc = fail(g, MEDIA_AV_NO_MEMORY, "%s", "a frame");
    }
    av_frame_free(&frame);
    return rc == MEDIA_AV_OK ? run(g) : rc;
}

int media_av_graph_samples(media_av_graph *g, int number, const uint8_t *samples, int64_t n, int64_t time,
                           int64_t *went) {
    input *in = &g->in[number];
    int64_t chunk = CHUNK_SAMPLES;
    begin_call(g);
    /* A filter of sound may make a picture of every sample, all of them in one go. */
    if (g->options.max_bytes && g->picture) {
        uint64_t pictures = g->options.max_bytes / g->picture;
        if (pictures < (uint64_t)chunk) chunk = pictures ? (int64_t)pictures : 1;
    }
    for (*went = 0; *went < n;) {
        int one = (int)(n - *went < chunk ? n - *went : chunk);
        int64_t at = time + av_rescale_q(*went, (AVRational){1, in->end.rate}, in->end.time_base);
        int rc = add_samples(g, in, samples, n, *went, one, at);
        if (rc != MEDIA_AV_OK) return rc;
        *went += one;
    }
    return MEDIA_AV_OK;
}

int media_av_graph_flush(media_av_graph *g) {
    begin_call(g);
    for (int i = 0; !g->flushed && i < g->n_in; i++) {
        int rc = av_buffersrc_add_frame(g->in[i].node, NULL);
        if (rc < 0 && rc != AVERROR_EOF) return refused(g, rc);
    }
    g->flushed = 1;
    return run(g);
}

/* --- taking --- */

int media_av_graph_ready(media_av_graph *g, int number, int most, int64_t *samples) {
    output *o = &g->out[number];
    begin_call(g);
    *samples = 0;
    if (o->n == 0) {
        int rc = run(g);
        if (rc != MEDIA_AV_OK && o->n == 0) return rc;
    }
    int n = 0;
    for (; n < most && (size_t)n < o->n; n++) {
        const AVFrame *a = o->frame[o->first], *b = o->frame[o->first + (size_t)n];
        if (a->width != b->width || a->height != b->height) break;
        *samples += b->nb_samples;
    }
    return n;
}

void media_av_graph_size(const media_av_graph *g, int number, int32_t *width, int32_t *height) {
    const output *o = &g->out[number];
    *width = o->n ? o->frame[o->first]->width : o->end.width;
    *height = o->n ? o->frame[o->first]->height : o->end.height;
}

/* A frame's samples behind the first `at` of `all`. */
static void copy_samples(const media_av_end *e, const AVFrame *f, uint8_t *to, int64_t at, int64_t all) {
    size_t step = (size_t)e->item * (size_t)(e->is_planar ? 1 : e->channels),
           n = (size_t)f->nb_samples * step;
    for (int c = 0; c < (e->is_planar ? e->channels : 1); c++)
        memcpy(to + ((size_t)c * (size_t)all + (size_t)at) * step, f->extended_data[c], n);
}

int media_av_graph_take(media_av_graph *g, int number, int n, uint8_t *to, int64_t *times) {
    output *o = &g->out[number];
    const media_av_end *e = &o->end;
    int64_t at = 0, all = 0;
    for (int i = 0; i < n; i++) all += o->frame[o->first + (size_t)i]->nb_samples;
    for (int i = 0; i < n; i++) {
        AVFrame **f = &o->frame[o->first];
        times[i] = (*f)->pts;
        if (e->type == AVMEDIA_TYPE_AUDIO) {
            copy_samples(e, *f, to, at, all);
            at += (*f)->nb_samples;
        } else {
            int size = av_image_get_buffer_size((enum AVPixelFormat)e->format, (*f)->width, (*f)->height, 1);
            int rc = av_image_copy_to_buffer(to, size, (const uint8_t *const *)(*f)->data, (*f)->linesize,
                                             (enum AVPixelFormat)e->format, (*f)->width, (*f)->height, 1);
            if (rc < 0) return refused(g, rc);
            to += size;
        }
        o->bytes -= bytes_of(*f);
        av_frame_free(f);
        o->first++;
        o->n--;
    }
    return MEDIA_AV_OK;
}
