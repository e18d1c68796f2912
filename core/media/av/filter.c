//go:build !noffmpeg

/* filter.c - a graph of filters for as long as frames stay alike. */
#include "filter.h"

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filterchecks.h"
#include "filternames.h"

struct media_av_filter {
    media_av_filter_options options;
    AVFilterGraph *graph; /* NULL: not made yet */
    AVFilterContext *source, *sink;
    AVFrame *like;    /* what the graph was made for; no pixels */
    AVFrame *in;      /* on its way in */
    AVFrame *waiting; /* until the graph before is drained */
    AVFrame *out;
    int is_waiting;
    int finished; /* no more frames come */
    int64_t end;  /* when the last one is over */
    char detail[400];
};

media_av_filter *media_av_filter_new(void) {
    media_av_filter *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->like = av_frame_alloc();
    f->in = av_frame_alloc();
    f->waiting = av_frame_alloc();
    f->out = av_frame_alloc();
    if (f->like && f->in && f->waiting && f->out) return f;
    media_av_filter_free(f);
    return NULL;
}

void media_av_filter_close(media_av_filter *f) {
    avfilter_graph_free(&f->graph);
    AVFrame *all[] = {f->like, f->in, f->waiting, f->out};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]) av_frame_unref(all[i]);
    f->source = f->sink = NULL;
    f->is_waiting = f->finished = 0;
}

void media_av_filter_free(media_av_filter *f) {
    if (!f) return;
    media_av_filter_close(f);
    av_frame_free(&f->like);
    av_frame_free(&f->in);
    av_frame_free(&f->waiting);
    av_frame_free(&f->out);
    free(f);
}

const char *media_av_filter_detail(const media_av_filter *f) { return f->detail; }

void media_av_filter_begin(media_av_filter *f, const media_av_filter_options *options) {
    media_av_filter_close(f);
    f->options = *options;
    f->detail[0] = 0;
}

static int fail(media_av_filter *f, int status, const char *format, const char *what) {
    snprintf(f->detail, sizeof f->detail, format, what);
    f->detail[strcspn(f->detail, "\r\n")] = 0;
    return status;
}

/* A failing call of libavfilter's, in FFmpeg's words. */
static int refused(media_av_filter *f, int rc) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    return fail(f, rc == AVERROR(ENOMEM) ? MEDIA_AV_NO_MEMORY : MEDIA_AV_FILTER, "%s",
                media_av_reason(rc, reason));
}

/* --- making --- */

static const char *media_type(int type) { return type == AVMEDIA_TYPE_AUDIO ? "sound" : "pictures"; }

static int make_source(media_av_filter *f) {
    const AVFrame *l = f->like;
    const media_av_filter_options *o = &f->options;
    char args[400], layout[100] = "";
    if (o->type == AVMEDIA_TYPE_VIDEO) {
        int n = snprintf(args, sizeof args, "video_size=%dx%d:pix_fmt=%d:time_base=%d/%d:pixel_aspect=%d/%d",
                         l->width, l->height, l->format, o->time_base.num, o->time_base.den,
                         l->sample_aspect_ratio.num,
                         l->sample_aspect_ratio.den > 0 ? l->sample_aspect_ratio.den : 1);
        if (o->rate.num > 0 && o->rate.den > 0)
            snprintf(args + n, sizeof args - (size_t)n, ":frame_rate=%d/%d", o->rate.num, o->rate.den);
    } else {
        av_channel_layout_describe(&l->ch_layout, layout, sizeof layout);
        snprintf(args, sizeof args, "time_base=%d/%d:sample_rate=%d:sample_fmt=%d:channel_layout=%s",
                 o->time_base.num, o->time_base.den, l->sample_rate, l->format, layout);
    }
    const char *name = o->type == AVMEDIA_TYPE_VIDEO ? "buffer" : "abuffer";
    int rc = avfilter_graph_create_filter(&f->source, avfilter_get_by_name(name), "in", args, NULL, f->graph);
    return rc < 0 ? refused(f, rc) : MEDIA_AV_OK;
}

/* Pictures are turned as FFmpeg's command turns them before its filters. */
static int turn(media_av_filter *f, AVFilterContext **last) {
    static const struct {
        const char *name, *args;
    } turns[9][2] = {[2] = {{"hflip", NULL}},        [3] = {{"hflip", NULL}, {"vflip", NULL}},
                     [4] = {{"vflip", NULL}},        [5] = {{"transpose", "cclock_flip"}},
                     [6] = {{"transpose", "clock"}}, [7] = {{"transpose", "clock_flip"}},
                     [8] = {{"transpose", "cclock"}}};
    int orientation = f->options.orientation;
    for (int i = 0; i < 2 && orientation >= 2 && orientation <= 8 && turns[orientation][i].name; i++) {
        AVFilterContext *next = NULL;
        int rc = avfilter_graph_create_filter(&next, avfilter_get_by_name(turns[orientation][i].name), "turn",
                                              turns[orientation][i].args, NULL, f->graph);
        if (rc >= 0) rc = avfilter_link(*last, 0, next, 0);
        if (rc < 0) return refused(f, rc);
        *last = next;
    }
    return MEDIA_AV_OK;
}

/* One end of the text, of the right kind. */
static int check_end(media_av_filter *f, const AVFilterInOut *end, int is_input) {
    const char *side = is_input ? "input" : "output";
    if (!end || end->next)
        return fail(f, MEDIA_AV_FILTER,
                    end ? "got more than one open %s, want one" : "got no open %s, want one", side);
    const AVFilterContext *c = end->filter_ctx;
    enum AVMediaType type = is_input ? avfilter_pad_get_type(c->input_pads, end->pad_idx)
                                     : avfilter_pad_get_type(c->output_pads, end->pad_idx);
    if (type == (enum AVMediaType)f->options.type) return MEDIA_AV_OK;
    char text[100];
    snprintf(text, sizeof text, "its %s is of another kind, want %s", side, media_type(f->options.type));
    return fail(f, MEDIA_AV_FILTER, "%s", text);
}

static int parse(media_av_filter *f) {
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    AVFilterContext *last = f->source;
    int rc = avfilter_graph_parse2(f->graph, f->options.text, &inputs, &outputs);
    rc = rc < 0 ? refused(f, rc) : MEDIA_AV_OK;
    if (rc == MEDIA_AV_OK) rc = media_av_filter_ends(f->graph, f->detail, sizeof f->detail);
    if (rc == MEDIA_AV_OK) rc = check_end(f, inputs, 1);
    if (rc == MEDIA_AV_OK) rc = check_end(f, outputs, 0);
    if (rc == MEDIA_AV_OK) rc = turn(f, &last);
    if (rc == MEDIA_AV_OK) {
        int linked = avfilter_link(last, 0, inputs->filter_ctx, (unsigned)inputs->pad_idx);
        if (linked >= 0) linked = avfilter_link(outputs->filter_ctx, (unsigned)outputs->pad_idx, f->sink, 0);
        if (linked < 0) rc = refused(f, linked);
    }
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    return rc;
}

/* The graph for frames that are like f->like. */
static int make(media_av_filter *f) {
    media_av_forget();
    int rc = media_av_filter_names(f->options.text, 0, f->detail, sizeof f->detail);
    if (rc != MEDIA_AV_OK) return rc;
    f->graph = avfilter_graph_alloc();
    if (!f->graph) return fail(f, MEDIA_AV_NO_MEMORY, "%s", "the graph");
    f->graph->nb_threads = f->options.threads > 0 ? f->options.threads : 1;
    rc = make_source(f);
    if (rc != MEDIA_AV_OK) return rc;
    const char *sink = f->options.type == AVMEDIA_TYPE_VIDEO ? "buffersink" : "abuffersink";
    int made =
        avfilter_graph_create_filter(&f->sink, avfilter_get_by_name(sink), "out", NULL, NULL, f->graph);
    if (made < 0) return refused(f, made);
    rc = parse(f);
    if (rc != MEDIA_AV_OK) return rc;
    made = avfilter_graph_config(f->graph, NULL);
    return made < 0 ? refused(f, made)
                    : media_av_filter_sizes(f->graph, f->options.max_pixels, f->detail, sizeof f->detail);
}

/* --- frames --- */

static int is_like(const media_av_filter *f, const AVFrame *a) {
    const AVFrame *l = f->like;
    if (f->options.type == AVMEDIA_TYPE_VIDEO)
        return a->width == l->width && a->height == l->height && a->format == l->format;
    return a->sample_rate == l->sample_rate && a->format == l->format &&
           av_channel_layout_compare(&a->ch_layout, &l->ch_layout) == 0;
}

static int remember(media_av_filter *f, const AVFrame *a) {
    AVFrame *l = f->like;
    l->format = a->format;
    l->width = a->width;
    l->height = a->height;
    l->sample_aspect_ratio = a->sample_aspect_ratio;
    l->sample_rate = a->sample_rate;
    return av_channel_layout_copy(&l->ch_layout, &a->ch_layout);
}

/* The frame goes in; what it held is the graph's then. */
static int push(media_av_filter *f, AVFrame *frame) {
    if (!f->graph) {
        if (remember(f, frame) < 0) return fail(f, MEDIA_AV_NO_MEMORY, "%s", "a frame");
        int rc = make(f);
        if (rc != MEDIA_AV_OK) return rc;
    }
    int rc = av_buffersrc_add_frame(f->source, frame);
    av_frame_unref(frame);
    return rc < 0 && rc != AVERROR_EOF ? refused(f, rc)
                                       : MEDIA_AV_OK; /* filters that want no more say so at their end */
}

static int tell_end(media_av_filter *f, int64_t time) {
    int rc = f->graph ? av_buffersrc_close(f->source, time, 0) : 0;
    return rc < 0 && rc != AVERROR_EOF ? refused(f, rc) : MEDIA_AV_OK;
}

int media_av_filter_send(media_av_filter *f, const AVFrame *frame, int64_t time) {
    media_av_forget();
    if (!frame) {
        f->finished = 1;
        f->end = time;
        return tell_end(f, time);
    }
    av_frame_unref(f->in);
    if (av_frame_ref(f->in, frame) < 0) return fail(f, MEDIA_AV_NO_MEMORY, "%s", "a frame");
    f->in->pts = time;
    if (f->options.type == AVMEDIA_TYPE_AUDIO && f->in->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&f->in->ch_layout, f->in->ch_layout.nb_channels);
    if (!f->graph || is_like(f, f->in)) return push(f, f->in);
    av_frame_move_ref(f->waiting, f->in);
    f->is_waiting = 1;
    return tell_end(f, time);
}

/* The graph is drained: the frame that waits for the next one goes in. */
static int go_on(media_av_filter *f) {
    avfilter_graph_free(&f->graph);
    f->is_waiting = 0;
    int rc = push(f, f->waiting);
    return rc == MEDIA_AV_OK && f->finished ? tell_end(f, f->end) : rc;
}

int media_av_filter_receive(media_av_filter *f, AVFrame **frame) {
    media_av_forget();
    while (f->graph) {
        av_frame_unref(f->out);
        int rc = av_buffersink_get_frame(f->sink, f->out);
        *frame = f->out;
        if (rc >= 0) return MEDIA_AV_OK;
        if (rc == AVERROR(EAGAIN)) return MEDIA_AV_AGAIN;
        if (rc != AVERROR_EOF) return refused(f, rc);
        if (!f->is_waiting) return MEDIA_AV_END;
        rc = go_on(f);
        if (rc != MEDIA_AV_OK) return rc;
    }
    return f->finished ? MEDIA_AV_END : MEDIA_AV_AGAIN;
}

void media_av_filter_times(const media_av_filter *f, AVRational *time_base, AVRational *rate) {
    *time_base = av_buffersink_get_time_base(f->sink);
    *rate =
        f->options.type == AVMEDIA_TYPE_VIDEO ? av_buffersink_get_frame_rate(f->sink) : (AVRational){0, 0};
}

/* --- trying --- */

/* Filters refuse pictures that are too small for them, so the second try is with large ones. */
static const struct { int width, height; } tries[] = {{1920, 1080}, {7680, 4320}};

int media_av_filter_try(media_av_filter *f, const char *text, int type) {
    int rc = MEDIA_AV_OK;
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        media_av_filter_options o = {.text = text, .type = type, .time_base = {1, 16000}, .rate = {25, 1}};
        media_av_filter_begin(f, &o);
        AVFrame *l = f->like;
        l->width = tries[i].width;
        l->height = tries[i].height;
        l->format = type == AVMEDIA_TYPE_VIDEO ? (int)AV_PIX_FMT_YUV420P : (int)AV_SAMPLE_FMT_FLTP;
        l->sample_rate = 16000;
        av_channel_layout_default(&l->ch_layout, 2);
        rc = make(f);
        media_av_filter_close(f);
        if (rc == MEDIA_AV_OK || type == AVMEDIA_TYPE_AUDIO) break;
    }
    return rc;
}
