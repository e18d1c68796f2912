//go:build !noffmpeg

/* needed.c - which frames of AV1 the wanted ones are made of, group by group. */
#include "ctx.h"

#include <libavcodec/avcodec.h>
#include <string.h>

/* Have the packets of a run in memory; 0: they would be too many bytes, or cannot be read, which decoding will say. */
static int hold(video_ctx *v, const video_run *r) {
    if (v->kept && r->key >= v->kept_from && r->last < v->kept_from + v->n_kept) return 1;
    int64_t bytes = 0;
    for (int32_t i = r->key; i <= r->last; i++) bytes += v->packets[i].size;
    if (bytes > VIDEO_HELD_BYTES) return 0;
    video_drop_kept(v);
    AVPacket *p;
    int32_t cap = 0;
    int rc = MEDIA_AV_OK;
    for (int32_t i = r->key; i <= r->last && rc == MEDIA_AV_OK; i++) {
        rc = video_read_again(v, i, i == r->key, &p);
        if (rc == MEDIA_AV_OK) rc = video_keep(v, p, &cap);
    }
    v->kept_from = r->key;
    if (rc != MEDIA_AV_OK) video_drop_kept(v);
    return rc == MEDIA_AV_OK;
}

static int all_wanted(const video_ctx *v, const video_run *r) {
    for (int32_t i = r->key; i <= r->last; i++)
        if (v->want[i] != 1) return 0;
    return 1;
}

/* The frames of a run's packets, by their headers; 0: there is something that is not understood. */
static int list(video_ctx *v, const video_run *r) {
    enum { MOST = 64 }; /* frames in a packet */
    for (int32_t i = r->key; i <= r->last; i++) {
        video_av1_frame *frames = video_grown(v->frames, &v->frames_cap, v->n_frames + MOST, sizeof *frames);
        if (!frames) return 0;
        v->frames = frames;
        const AVPacket *p = v->kept[i - v->kept_from];
        int n = video_av1_frames(&v->av1, p->data, p->size, frames + v->n_frames, MOST);
        if (n < 0) return 0;
        for (; n > 0; n--) frames[v->n_frames++].packet = i;
    }
    return 1;
}

/* Devices get all, as a run does that was tried in vain. */
void video_choose_needed(video_ctx *v) {
    const video_run *r = &v->runs[v->run];
    v->n_frames = v->frame = 0;
    if (v->a->stream->codecpar->codec_id != AV_CODEC_ID_AV1 || v->a->device_format != AV_PIX_FMT_NONE) return;
    if (v->lenient || v->mistrusts || v->retries > 0 || all_wanted(v, r)) return;
    if (!hold(v, r) || !list(v, r) || !video_av1_mark(v->frames, v->n_frames, v->want)) v->n_frames = 0;
}

/* A packet without the frames [from, to) that are not needed. */
static int without(video_ctx *v, const AVPacket *p, int32_t from, int32_t to, AVPacket **out) {
    av_packet_unref(v->thin);
    int rc = av_new_packet(v->thin, p->size);
    if (rc >= 0) rc = av_packet_copy_props(v->thin, p);
    if (rc < 0) return media_av_fail(v->a, MEDIA_AV_NO_MEMORY, "a packet");
    int at = 0, size = 0;
    for (int32_t i = from; i <= to; i++) {
        const int end = i < to ? v->frames[i].at : p->size;
        memcpy(v->thin->data + size, p->data + at, (size_t)(end - at));
        size += end - at;
        at = end;
        if (i < to && !v->frames[i].needed) at = v->frames[i].end;
    }
    av_shrink_packet(v->thin, size);
    *out = v->thin;
    return MEDIA_AV_OK;
}

int video_only_needed(video_ctx *v, int32_t number, AVPacket **p) {
    if (v->n_frames == 0) return MEDIA_AV_OK;
    while (v->frame < v->n_frames && v->frames[v->frame].packet < number) v->frame++;
    int32_t from = v->frame, to = from, needed = 0, heads = 0;
    for (; to < v->n_frames && v->frames[to].packet == number; to++) {
        needed += v->frames[to].needed;
        heads |= v->frames[to].heads;
    }
    if (needed == to - from) return MEDIA_AV_OK;
    if (needed > 0 || heads) return without(v, *p, from, to, p);
    *p = NULL;
    return MEDIA_AV_OK;
}
