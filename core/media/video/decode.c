//go:build !noffmpeg

/* decode.c - packets in, chosen frames out. */
#include "ctx.h"
#include "fields.h"

#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- life --- */

video_ctx *video_new(void) {
    video_ctx *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->a = media_av_new();
    v->show = av_frame_alloc();
    v->coming = av_frame_alloc();
    v->thin = av_packet_alloc();
    if (v->a && v->show && v->coming && v->thin) return v;
    video_free(v);
    return NULL;
}

void video_close(video_ctx *v) {
    video_drop_kept(v);
    v->n = v->n_runs = v->run = v->n_frames = 0;
    av_packet_unref(v->thin);
    av_frame_unref(v->show);
    av_frame_unref(v->coming);
    media_av_close(v->a);
}

void video_free(video_ctx *v) {
    if (!v) return;
    if (v->a) video_close(v);
    media_av_free(v->a);
    av_frame_free(&v->show);
    av_frame_free(&v->coming);
    av_packet_free(&v->thin);
    free(v->packets);
    free(v->want);
    free(v->runs);
    free(v->frames);
    free(v);
}

const char *video_detail(const video_ctx *v) { return media_av_detail(v->a); }

int video_check(video_ctx *v) { return media_av_check(v->a); }

void video_allow(video_ctx *v, int64_t budget_ns) { media_av_allow(v->a, budget_ns); }

void video_refused(const video_ctx *v, int32_t *width, int32_t *height) {
    *width = v->a->refused_width;
    *height = v->a->refused_height;
}

/* --- open --- */

/* The turn of a display matrix as EXIF numbers it. Other angles than quarters are left alone, as they are elsewhere. */
static int32_t orientation(const AVStream *s) {
    size_t size = 0;
    const int32_t *m =
        (const int32_t *)(const void *)av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &size);
    if (!m || size < 9 * sizeof *m) return 1;
    int32_t a = m[0], b = m[1], c = m[3], d = m[4];
    if (b == 0 && c == 0 && a != 0 && d != 0) return a > 0 ? (d > 0 ? 1 : 4) : (d > 0 ? 2 : 3);
    if (a == 0 && d == 0 && b != 0 && c != 0) return b > 0 ? (c > 0 ? 5 : 6) : (c > 0 ? 8 : 7);
    return 1;
}

static void describe(const media_av *a, video_stream *out) {
    const AVStream *s = a->stream;
    AVRational rate = s->avg_frame_rate.num > 0 ? s->avg_frame_rate : s->r_frame_rate;
    memset(out, 0, sizeof *out);
    out->number = s->index;
    out->width = s->codecpar->width;
    out->height = s->codecpar->height;
    out->time_base_num = s->time_base.num;
    out->time_base_den = s->time_base.den;
    out->rate_num = rate.num;
    out->rate_den = rate.den;
    out->orientation = orientation(s);
    out->start = s->start_time;
    out->duration = s->duration;
    if (s->duration == AV_NOPTS_VALUE && a->format->duration != AV_NOPTS_VALUE)
        out->duration = av_rescale_q(a->format->duration, AV_TIME_BASE_Q, s->time_base);
    out->n_frames = s->nb_frames > 0 ? s->nb_frames : 0;
    snprintf(out->codec, sizeof out->codec, "%s", avcodec_get_name(s->codecpar->codec_id));
    snprintf(out->container, sizeof out->container, "%s", a->format->iformat->name);
}

int video_open(video_ctx *v, const media_av_source *source, const media_av_options *options,
               video_stream *out) {
    video_close(v);
    v->next = v->read = -1;
    v->at_end = v->mistrusts = v->sought = v->no_seeking = 0;
    v->decoded = 0;
    v->lenient = v->holes = 0;
    int rc = media_av_open(v->a, source, options);
    if (rc != MEDIA_AV_OK) return rc;
    describe(v->a, out);
    const AVCodecParameters *codec = v->a->stream->codecpar;
    video_av1_open(&v->av1, codec->extradata, codec->extradata_size);
    return rc;
}

const char *video_pixels(const AVFrame *frame) {
    const char *name = av_get_pix_fmt_name((enum AVPixelFormat)frame->format);
    return name ? name : "";
}

const char *video_matrix(const AVFrame *frame) {
    const char *name = av_color_space_name(frame->colorspace);
    return name ? name : "";
}

int video_is_full(const AVFrame *frame) { return frame->color_range == AVCOL_RANGE_JPEG; }

int video_progressive(const video_ctx *v, const AVFrame *frame) {
    const AVCodecParameters *codec = v->a->stream->codecpar;
    return codec->codec_id == AV_CODEC_ID_H264 ? media_packets_frames_alone(codec) : !frame->interlaced_frame;
}

/* --- wanted frames --- */

int video_plan(video_ctx *v, int32_t n_runs, int32_t reorder, uint8_t **want, video_run **runs) {
    uint8_t *w = video_grown(v->want, &v->want_cap, v->n, 1);
    if (w) v->want = w;
    video_run *r = video_grown(v->runs, &v->runs_cap, n_runs, sizeof *r);
    if (r) v->runs = r;
    if (!w || !r) return media_av_fail(v->a, MEDIA_AV_NO_MEMORY, "the plan");
    memset(w, 0, (size_t)v->n);
    v->n_runs = n_runs;
    v->run = 0;
    v->next = -1;
    v->low = 0;
    v->retries = v->damage = v->mistrusts = v->gaps = 0;
    v->reorder = reorder;
    v->a->options.reorder = reorder + 1;
    *want = w;
    *runs = r;
    return MEDIA_AV_OK;
}

/* Times of decoding that FFmpeg works out, as those of Matroska, hang on where it begins to read. */
static int same(const video_packet *x, const AVPacket *p) {
    return x->size == p->size && x->pos == p->pos &&
           (x->dts == p->dts || (p->pos >= 0 && p->pts != AV_NOPTS_VALUE && x->pts == p->pts));
}

/* Bring the demuxer to packet number `to`. Where a seek ends is found by looking, never believed. */
static int approach(video_ctx *v, int32_t to) {
    if (v->read >= 0 && v->read <= to) return MEDIA_AV_OK;
    int rc = media_av_rewind(v->a);
    v->read = rc == MEDIA_AV_OK ? 0 : -1;
    v->sought = 0;
    return rc;
}

static int32_t number_of(const video_ctx *v, const AVPacket *p, int32_t at_most) {
    for (int32_t i = at_most; i >= 0; i--)
        if (same(&v->packets[i], p)) return i;
    return -1;
}

/* Whether the demuxer, asked for a time, goes to the last key frame that is shown by then. Asked for the time at which a key frame is decoded, which is
 * earlier where there are B-frames, it would go to the one before, and all from there would be read. */
static int seeks_by_pts(const video_ctx *v) {
    const char *name = v->a->format->iformat->name;
    return strstr(name, "mp4") || strstr(name, "matroska");
}

/* Seek to a time and read a packet, *p: v->read is the number behind it, -1 where it is none up to packet `to`. */
static int land(video_ctx *v, int32_t to, int64_t time, AVPacket **p) {
    int rc = media_av_seek(v->a, time);
    if (rc == MEDIA_AV_OK) rc = media_av_read(v->a, p);
    if (rc < 0) return rc;
    int32_t at = rc == MEDIA_AV_OK ? number_of(v, *p, to) : -1;
    v->read = at < 0 ? -1 : at + 1;
    return MEDIA_AV_OK;
}

int video_read_again(video_ctx *v, int32_t number, int entering, AVPacket **out) {
    AVPacket *p = NULL;
    int rc = MEDIA_AV_OK;
    const int64_t dts = v->packets[number].dts, pts = v->packets[number].pts;
    const int by_pts = pts != AV_NOPTS_VALUE && (dts == AV_NOPTS_VALUE || pts > dts) && seeks_by_pts(v);
    if (entering && number > 0 && !v->no_seeking && (by_pts || dts != AV_NOPTS_VALUE) && v->read != number) {
        v->sought = 1;
        v->read = -1;
        if (by_pts && (rc = land(v, number, pts, &p)) != MEDIA_AV_OK) return rc;
        if (v->read < 0 && dts != AV_NOPTS_VALUE && (rc = land(v, number, dts, &p)) != MEDIA_AV_OK) return rc;
        if (v->read > number) {
            *out = p;
            return MEDIA_AV_OK;
        }
    }
    rc = approach(v, number);
    while (rc == MEDIA_AV_OK && v->read <= number) {
        rc = media_av_read(v->a, &p);
        v->read++;
    }
    if (rc == MEDIA_AV_END || (rc == MEDIA_AV_OK && !same(&v->packets[number], p))) {
        if (!v->sought)
            return media_av_fail(v->a, MEDIA_AV_CORRUPT, "the file is not the one that was indexed");
        v->no_seeking = 1; /* times that FFmpeg works out hang on where it begins to read */
        v->read = -1;
        return MEDIA_AV_AGAIN;
    }
    *out = p;
    return rc;
}

static int fetch(video_ctx *v, int32_t number, int entering, AVPacket **out) {
    if (number < v->kept_from || number >= v->kept_from + v->n_kept)
        return video_read_again(v, number, entering, out);
    *out = v->kept[number - v->kept_from];
    return MEDIA_AV_OK;
}

/* Damage counts only from the run's key frame on, and from the file's first: pictures shown before it may lack what they refer
 * to. Nor does it count behind the run. */
static int counts(const video_ctx *v, int32_t number) {
    const video_run *r = &v->runs[v->run];
    int64_t pts = v->packets[number].pts;
    return pts >= v->packets[r->key].pts && pts >= v->head && number <= r->last;
}

/* Whether all that the decoder has got is shown before the file's first key frame. */
static int before_head(const video_ctx *v) {
    return v->next > 0 && v->packets[v->runs[v->run].key].pts < v->head &&
           v->packets[v->next - 1].pts < v->head;
}

/* Whether the run after this one is so near that decoding on is no more work than starting anew, or not to be entered. Where frames were
 * left out it is entered: they were chosen for this run. */
static int next_is_near(const video_ctx *v) {
    return v->run + 1 < v->n_runs && v->n_frames == 0 &&
           (v->mistrusts || v->runs[v->run + 1].key - v->runs[v->run].last - 1 <= v->reorder);
}

static int all_delivered(const video_ctx *v) {
    const video_run *r = &v->runs[v->run];
    for (int32_t i = r->key; i <= r->last; i++)
        if (v->want[i] == 1) return 0;
    return 1;
}

static int may_start_earlier(const video_ctx *v) {
    return v->runs[v->run].key > 0 && (v->all_keys || v->retries <= (v->damage ? 0 : 1));
}

/* A key frame need not be one: after a recovery point pictures stay damaged for a while. Then the run starts earlier, and where no
 * packet can be trusted to begin a group, at the first. */
static int start_earlier(video_ctx *v) {
    video_run *r = &v->runs[v->run];
    int32_t key = r->key - 1;
    if (r->key > 0 && (v->mistrusts || v->all_keys)) {
        v->mistrusts = 1;
        r->key = v->low = 0;
        return MEDIA_AV_OK;
    }
    while (key > 0 && (!(v->packets[key].flags & VIDEO_KEY) || v->retries > 0)) key--;
    if (!may_start_earlier(v)) {
        if (v->damage) return v->damage;
        v->holes = 1;
        return media_av_fail(v->a, MEDIA_AV_CORRUPT,
                             "a frame that the container names does not come out of the decoder");
    }
    v->retries++;
    r->key = v->low = key;
    return MEDIA_AV_OK;
}

/* The decoder has given all of the run. */
static int finish_run(video_ctx *v) {
    int rc = MEDIA_AV_OK;
    media_av_flush(v->a);
    v->next = -1;
    if (v->lenient) {
        rc = v->damage;
        v->run++;
    } else if (!all_delivered(v)) {
        rc = start_earlier(v);
    } else {
        v->run++;
        v->retries = 0;
    }
    v->damage = MEDIA_AV_OK;
    return rc;
}

static int send_next(video_ctx *v) {
    AVPacket *p = NULL;
    int32_t number = v->next;
    int rc = fetch(v, number, number == v->runs[v->run].key, &p);
    if (rc == MEDIA_AV_AGAIN) {
        v->next = v->runs[v->run].key; /* which empties the decoder */
        return MEDIA_AV_OK;
    }
    if (rc != MEDIA_AV_OK) return rc;
    const int32_t first = v->packets[number].flags & VIDEO_SECOND ? number - 1 : number;
    const int wanted = v->want[first] == 1;
    rc = video_only_needed(v, number, &p);
    if (rc != MEDIA_AV_OK) return rc;
    if (!p) {
        v->next++;
        return MEDIA_AV_OK;
    }
    const int64_t pts = p->pts, dts = p->dts;
    if (number == v->runs[v->run].key) {
        v->thinned = 0;
        v->recovering = media_packets_recovers(p, v->a->stream->codecpar);
        if (number > 0 && !v->lenient && !media_packets_recovers_from(v->a, p)) return finish_run(v);
    }
    p->pts = number; /* rides through the decoder */
    p->dts = AV_NOPTS_VALUE;
    const int thin = !wanted && !v->gaps && number <= v->runs[v->run].last;
    v->thinned |= thin;
    v->a->codec->skip_frame = thin ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
    rc = media_av_send(v->a, p);
    p->pts = pts;
    p->dts = dts;
    if (rc == MEDIA_AV_AGAIN) return media_av_fail(v->a, MEDIA_AV_CORRUPT, "the decoder takes no packet");
    v->next++;
    if (rc == MEDIA_AV_NO_MEMORY || rc == MEDIA_AV_DEVICE || v->a->refused != MEDIA_AV_OK) return rc;
    if (rc < 0 && counts(v, number) && !v->damage) v->damage = rc;
    return MEDIA_AV_OK;
}

/* Whether packets behind the run are to push its frames out. FFmpeg's decoder of H.264 gives nothing of what it holds back when told that
 * there is no more, until it has shown the recovery point that it entered at. */
static int pushes(const video_ctx *v) {
    const video_run *r = &v->runs[v->run];
    return v->recovering && v->next < v->n && v->next <= r->last + 2 * (v->reorder + 1) && !all_delivered(v);
}

static int feed(video_ctx *v) {
    video_run *r = &v->runs[v->run];
    int rc = media_av_check(v->a);
    if (rc != MEDIA_AV_OK) return rc;
    if (v->next < 0) {
        v->next = r->key;
        video_choose_needed(v);
    }
    if (v->next <= r->last) return send_next(v);
    if (!next_is_near(v)) return pushes(v) ? send_next(v) : media_av_send(v->a, NULL);
    r[1].key = r->key; /* one run from here on */
    v->run++;
    return MEDIA_AV_OK;
}

/* Whether the decoder missed pictures behind the run's key frame and has not had all that it would have, were the whole file decoded. What it then
 * shows in their place hangs on pictures, too, to which no other refers, and behind a recovery point on those in front of it. */
static int missed_some(video_ctx *v) {
    const int32_t key = v->runs[v->run].key;
    if (media_av_missed(v->a) <= key) return 0;
    v->gaps = 1;
    return v->thinned || (v->recovering && key > 0);
}

/* Decode the run anew, all of it, and where that says little from the file's first packet on. */
static void start_over(video_ctx *v) {
    media_av_flush(v->a);
    v->next = -1;
    v->damage = MEDIA_AV_OK;
    if (!v->recovering) return;
    v->mistrusts = 1;
    v->runs[v->run].key = v->low = 0;
}

static int damaged(const AVFrame *f) { return f->decode_error_flags || (f->flags & AV_FRAME_FLAG_CORRUPT); }

static int is_wanted(video_ctx *v, const AVFrame *f) {
    int32_t number = f->pts >= 0 && f->pts < v->n ? (int32_t)f->pts : -1;
    if (number < 0) return 0;
    if (damaged(f)) {
        if (counts(v, number) && !v->damage)
            v->damage = media_av_fail(v->a, MEDIA_AV_CORRUPT,
                                      media_av_message()[0] ? media_av_message() : "a damaged picture");
        return 0;
    }
    return v->want[number] == 1 && !v->damage;
}

/* Whether the key frame that the run was entered at is none: its picture refers to others, or its decoder does not say and all are
 * called so. */
static int is_no_key(const video_ctx *v, const AVFrame *f) {
    const int32_t key = v->runs[v->run].key;
    if (v->lenient || key == 0 || f->pts != key) return 0;
    int says = media_av_is_key(v->a, f);
    return says == 0 || (says < 0 && v->all_keys);
}

/* Whether a wanted frame that is shown before this one has not come out. Those below v->low all have. */
static int skipped_one(video_ctx *v, int32_t number) {
    const video_run *r = &v->runs[v->run];
    if (v->low < r->key) v->low = r->key;
    while (v->low < number && v->want[v->low] != 1) v->low++;
    for (int32_t i = v->low; i <= r->last && i <= number + v->reorder; i++)
        if (v->want[i] == 1 && v->packets[i].pts < v->packets[number].pts) return 1;
    return 0;
}

int video_on_device(const video_ctx *v) { return v->a->on_device; }

int64_t video_decoded(const video_ctx *v) { return v->decoded; }

int video_next(video_ctx *v, AVFrame **frame, int32_t *number) {
    media_av_forget();
    int rc = media_av_decoder(v->a);
    const int64_t until_ns = media_av_now_ns() + VIDEO_TURN_NS;
    while (rc == MEDIA_AV_OK) {
        if (v->run >= v->n_runs) return MEDIA_AV_END;
        rc = media_av_receive(v->a, frame);
        v->decoded += rc == MEDIA_AV_OK;
        if (rc >= 0 && missed_some(v)) {
            start_over(v);
            rc = MEDIA_AV_OK;
            continue;
        }
        if (rc == MEDIA_AV_OK && is_no_key(v, *frame)) {
            v->mistrusts = 1;
            rc = finish_run(v);
            continue;
        }
        if (rc == MEDIA_AV_OK && is_wanted(v, *frame)) {
            if (!v->lenient && skipped_one(v, (int32_t)(*frame)->pts) && may_start_earlier(v)) {
                rc = finish_run(v);
                continue;
            }
            *number = (int32_t)(*frame)->pts;
            v->want[*number] = 2;
            return MEDIA_AV_OK;
        }
        if (rc == MEDIA_AV_AGAIN) {
            if (media_av_now_ns() > until_ns) return MEDIA_AV_AGAIN;
            rc = feed(v);
        } else if (rc == MEDIA_AV_END)
            rc = finish_run(v);
        else if (rc == MEDIA_AV_CORRUPT) { /* of a frame that may not matter */
            if (!v->damage && !before_head(v)) v->damage = rc;
            rc = MEDIA_AV_OK;
        }
    }
    return rc;
}

/* --- without a scan --- */

static int decode_one(video_ctx *v, AVFrame *to) {
    AVFrame *f;
    int rc = media_av_decoder(v->a);
    while (rc == MEDIA_AV_OK) {
        rc = media_av_next(v->a, &f);
        if (rc != MEDIA_AV_OK) return rc;
        f->pts = f->best_effort_timestamp;
        if (f->pts == AV_NOPTS_VALUE) continue;
        av_frame_unref(to);
        av_frame_move_ref(to, f);
        return MEDIA_AV_OK;
    }
    return rc;
}

/* Whether a key frame lies between the frame that comes next and the one asked for. */
static int worth_seeking(const video_ctx *v, int64_t at) {
    if (!v->coming->buf[0]) return at > 0;
    int i = av_index_search_timestamp(v->a->stream, at, AVSEEK_FLAG_BACKWARD);
    const AVIndexEntry *e = i >= 0 ? avformat_index_get_entry(v->a->stream, i) : NULL;
    if (e) return e->timestamp > v->coming->pts + v->coming->pkt_duration;
    return av_compare_ts(at - v->coming->pts, v->a->stream->time_base, 5, (AVRational){1, 1}) > 0;
}

/* The first frame from a time on, or before it, of a packet at which decoding can start: not every container seeks to one. */
static int decode_from_key(video_ctx *v, int64_t at) {
    AVPacket *p;
    int rc = media_av_seek(v->a, at), enters = 0;
    if (rc == MEDIA_AV_OK) rc = media_av_decoder(v->a);
    while (rc == MEDIA_AV_OK && !enters) {
        rc = media_av_read(v->a, &p);
        if (rc == MEDIA_AV_OK) enters = video_fields_enters(p, v->a->stream);
        if (enters < 0) return media_av_fail(v->a, enters, "the parser");
        if (rc == MEDIA_AV_OK &&
            (media_packets_lacks_colours(v->a, p) || (enters && !media_packets_recovers_from(v->a, p))))
            enters = 0;
    }
    if (rc == MEDIA_AV_OK) v->recovering = media_packets_recovers(p, v->a->stream->codecpar);
    if (rc == MEDIA_AV_OK) rc = media_av_send(v->a, p);
    return rc == MEDIA_AV_OK ? decode_one(v, v->coming) : rc;
}

static int enter_first(video_ctx *v) {
    v->recovering = v->at_end = 0;
    int rc = media_av_rewind(v->a);
    return rc == MEDIA_AV_OK ? decode_one(v, v->coming) : rc;
}

static int enter_at(video_ctx *v, int64_t at) {
    av_frame_unref(v->show);
    av_frame_unref(v->coming);
    v->at_end = 0;
    int rc = decode_from_key(v, at);
    if (rc == MEDIA_AV_END ||
        (rc == MEDIA_AV_OK && v->coming->pts > at)) /* an open group, or a container that seeks badly */
        rc = enter_first(v);
    return rc == MEDIA_AV_END ? media_av_fail(v->a, MEDIA_AV_CORRUPT, "no frame decodes") : rc;
}

/* Go on to the frame that is on show. */
static int advance(video_ctx *v, int64_t at) {
    int rc = MEDIA_AV_OK;
    while (rc == MEDIA_AV_OK && !v->at_end && (!v->show->buf[0] || v->coming->pts <= at)) {
        av_frame_unref(v->show);
        av_frame_move_ref(v->show, v->coming);
        rc = decode_one(v, v->coming);
        if (rc == MEDIA_AV_END) v->at_end = 1, rc = MEDIA_AV_OK;
    }
    return rc;
}

/* Whether the last frame that came was off show by then, and more may be there: of those that FFmpeg's decoder of H.264 holds back it gives
 * none at the end before it has shown the recovery point that it entered at. */
static int lacks_last(const video_ctx *v, int64_t at) {
    const AVFrame *f = v->show;
    return v->at_end && v->recovering && f->pkt_duration > 0 && f->pts + f->pkt_duration <= at;
}

int video_at(video_ctx *v, int64_t at, AVFrame **frame, int64_t *pts, int64_t *duration) {
    int rc = MEDIA_AV_OK;
    if (!v->at_end && worth_seeking(v, at))
        rc = enter_at(v, at);
    else if (!v->at_end && !v->coming->buf[0] && !v->show->buf[0]) {
        v->recovering = 0;
        rc = decode_one(v, v->coming);
    }
    if (rc == MEDIA_AV_OK) rc = advance(v, at);
    if (rc == MEDIA_AV_OK && lacks_last(v, at)) {
        av_frame_unref(v->show);
        rc = enter_first(v);
        if (rc == MEDIA_AV_OK) rc = advance(v, at);
    }
    if (rc == MEDIA_AV_END) return media_av_fail(v->a, MEDIA_AV_CORRUPT, "no frame decodes");
    if (rc != MEDIA_AV_OK) return rc;
    if (damaged(v->show)) return media_av_fail(v->a, MEDIA_AV_CORRUPT, "a damaged picture");
    *frame = v->show;
    *pts = v->show->pts;
    *duration = v->at_end ? v->show->pkt_duration : v->coming->pts - v->show->pts;
    return MEDIA_AV_OK;
}

/* --- packets as they come --- */

int video_fed(video_ctx *v, const media_packets *p, int64_t *next, AVFrame **frame, int64_t *pts,
              int64_t *duration) {
    int rc = media_packets_decode(v->a, p, next, frame);
    if (rc != MEDIA_AV_OK) return rc;
    v->decoded++;
    *pts = (*frame)->best_effort_timestamp;
    *duration = (*frame)->pkt_duration;
    return damaged(*frame) ? media_av_fail(v->a, MEDIA_AV_CORRUPT, "a damaged picture") : MEDIA_AV_OK;
}
