//go:build !noffmpeg

/* ffmpeg.c - see ffmpeg.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

#include "ffmpeg.h"

enum { KEEP_FLOATS = 1 << 23 }; /* a larger plane is given back after its sample */

audio_ff *audio_ff_new(void) {
    audio_ff *f = calloc(1, sizeof *f);
    if (f && (f->av = media_av_new()) && (f->part = av_frame_alloc())) return f;
    audio_ff_free(f);
    return NULL;
}

void audio_ff_free(audio_ff *f) {
    if (!f) return;
    media_av_free(f->av);
    media_av_filter_free(f->filter);
    av_frame_free(&f->part);
    for (int i = 0; i < AUDIO_FF_CHANNELS; i++) free(f->plane[i]);
    free(f);
}

const char *audio_ff_detail(const audio_ff *f) { return media_av_detail(f->av); }

void audio_ff_close(audio_ff *f) {
    media_av_close(f->av);
    if (f->filter) media_av_filter_close(f->filter);
    av_frame_unref(f->part);
    f->pending = NULL;
    for (int i = 0; i < AUDIO_FF_CHANNELS; i++)
        if (f->cap[i] > KEEP_FLOATS) {
            free(f->plane[i]);
            f->plane[i] = NULL;
            f->cap[i] = 0;
        }
}

/* The length that the container claims. */
static double claimed_seconds(const media_av *a) {
    if (a->stream->duration != AV_NOPTS_VALUE && a->stream->duration > 0)
        return (double)a->stream->duration * av_q2d(a->stream->time_base);
    if (a->format->duration != AV_NOPTS_VALUE && a->format->duration > 0)
        return (double)a->format->duration / AV_TIME_BASE;
    return -1;
}

/* The next frame. What a piece begins with may refer to packets that are not in it. */
static int next_frame(audio_ff *f, int64_t wanted, AVFrame **frame) {
    int rc = media_av_next(f->av, frame);
    while (rc == MEDIA_AV_CORRUPT && f->placed && f->frames < wanted) rc = media_av_next(f->av, frame);
    return rc;
}

/* The number that the frame's first sample has in the whole stream. */
static int64_t place_of(const audio_ff *f, const AVFrame *frame) {
    int64_t origin = f->av->source.packets->origin;
    if (frame->pts == AV_NOPTS_VALUE || origin == AV_NOPTS_VALUE) return f->frames;
    return av_rescale_q(frame->pts - origin, f->av->stream->time_base, (AVRational){1, f->rate});
}

/* Headers need not know the rate and the channels (HE-AAC says half its rate); frames do. */
static int know(audio_ff *f, const AVFrame *frame) {
    f->rate = frame->sample_rate;
    f->channels = frame->ch_layout.nb_channels;
    if (f->rate >= 1 && f->channels >= 1 && f->channels <= AUDIO_FF_CHANNELS) return MEDIA_AV_OK;
    return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "more than 64 channels, or no rate");
}

/* The second at which frame 0 is heard. MP3's clock counts what its encoder put before the sound, of which no other file knows. */
static double origin_of(const audio_ff *f) {
    if (f->pending->pts == AV_NOPTS_VALUE || strcmp(f->format, "mp3") == 0) return 0;
    return (double)f->pending->pts * av_q2d(f->av->stream->time_base) - (double)f->frames / f->rate;
}

int audio_ff_open(audio_ff *f, const media_av_source *source, int placed, int64_t least, int64_t budget_ns) {
    media_av_options options = {.type = AVMEDIA_TYPE_AUDIO, .budget_ns = budget_ns, .lean = 1};
    int rc = media_av_open(f->av, source, &options);
    if (rc != MEDIA_AV_OK) return rc;
    f->placed = placed && source->packets && !source->packets->from_start;
    f->least = least;
    f->frames = 0;
    f->ended = 0;
    f->seconds = claimed_seconds(f->av);
    f->format = f->av->format->iformat->name;
    f->codec = avcodec_get_name(f->av->stream->codecpar->codec_id);
    rc = next_frame(f, 1, &f->pending);
    if (rc == MEDIA_AV_END) return media_av_fail(f->av, MEDIA_AV_END, "its audio stream has none");
    if (rc != MEDIA_AV_OK) return rc;
    rc = know(f, f->pending);
    if (rc != MEDIA_AV_OK) return rc;
    f->frames = f->placed ? place_of(f, f->pending) : -media_av_delay_left(f->av, f->pending->pts, f->rate);
    f->origin = f->clock = origin_of(f);
    f->timed = 0;
    return MEDIA_AV_OK;
}

/* The least frames that the header's count allows, -1 if it has none: FLAC's is exact, MP3's (Xing's) counts what the encoder put around the
 * sound, too: up to two packets. What is estimated from a bit rate is no count. */
static int64_t counted_frames(const audio_ff *f) {
    int flac = strcmp(f->format, "flac") == 0, mp3 = strcmp(f->format, "mp3") == 0;
    if (f->least >= 0) return f->least;
    if (!(flac || mp3) || f->seconds < 0 ||
        f->av->format->duration_estimation_method == AVFMT_DURATION_FROM_BITRATE)
        return -1;
    int64_t frames = (int64_t)(f->seconds * f->rate + 0.5);
    if (mp3 && f->av->stream->start_time > 0) /* what the encoder put before it */
        frames -= av_rescale_q(f->av->stream->start_time, f->av->stream->time_base, (AVRational){1, f->rate});
    if (mp3) frames -= 2 * (f->rate < 32000 ? 576 : 1152);
    return frames > 0 ? frames : 0;
}

/* The end, or a failure, that decoding met. A file that was cut between two packets shows it in its count alone; and what
 * does not decode behind the last counted frame is no sound (padding, tags, another file). */
static int finish(audio_ff *f, int rc) {
    int64_t counted = counted_frames(f);
    if (rc == MEDIA_AV_CORRUPT && counted > 0 && f->frames >= counted) rc = MEDIA_AV_END;
    if (rc != MEDIA_AV_END) return rc;
    f->ended = 1;
    if (f->frames < counted)
        return media_av_fail(f->av, MEDIA_AV_TRUNCATED, "fewer frames than its header counts");
    return MEDIA_AV_OK;
}

static int encoding_of(enum AVSampleFormat format) {
    switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8: return AUDIO_U8;
    case AV_SAMPLE_FMT_S16: return AUDIO_S16;
    case AV_SAMPLE_FMT_S32: return AUDIO_S32;
    case AV_SAMPLE_FMT_FLT: return AUDIO_F32;
    case AV_SAMPLE_FMT_DBL: return AUDIO_F64;
    default: return -1;
    }
}

static int grow(audio_ff *f, size_t n) {
    for (int i = 0; i < f->n_planes; i++) {
        if (n <= f->cap[i]) continue;
        size_t cap = n + n / 2 + 4096;
        float *p = realloc(f->plane[i], cap * sizeof *p);
        if (!p) return media_av_fail(f->av, MEDIA_AV_NO_MEMORY, "the decoded frames");
        f->plane[i] = p;
        f->cap[i] = cap;
    }
    return MEDIA_AV_OK;
}

/* Kept frames [from, to), where that is any, become zero. */
static int be_silent(audio_ff *f, int64_t from, int64_t to) {
    if (from >= to) return MEDIA_AV_OK;
    if (grow(f, (size_t)to) != MEDIA_AV_OK) return MEDIA_AV_NO_MEMORY;
    for (int i = 0; i < f->n_planes; i++) memset(f->plane[i] + from, 0, (size_t)(to - from) * sizeof(float));
    return MEDIA_AV_OK;
}

/* Frames [skip, skip + n) of the decoded frame, at that place of the kept ones. */
static int keep(audio_ff *f, const audio_kernels *k, const int32_t *take, const AVFrame *frame, int64_t at,
                int64_t skip, int64_t n) {
    int encoding = encoding_of(frame->format);
    if (encoding < 0) return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "64-bit integer samples");
    if (grow(f, (size_t)(at + n)) != MEDIA_AV_OK) return MEDIA_AV_NO_MEMORY;
    int planar = av_sample_fmt_is_planar(frame->format), bytes = av_get_bytes_per_sample(frame->format);
    size_t step = (size_t)bytes * (size_t)(planar ? 1 : frame->ch_layout.nb_channels);
    for (int i = 0; i < f->n_planes; i++) {
        const uint8_t *src =
            planar ? frame->extended_data[take[i]] : frame->extended_data[0] + take[i] * bytes;
        k->from_pcm(src + (size_t)skip * step, encoding, step, (size_t)n, f->plane[i] + at);
    }
    return MEDIA_AV_OK;
}

static int same_kind(audio_ff *f, const AVFrame *frame, int rate, int channels) {
    if (frame->sample_rate == rate && frame->ch_layout.nb_channels == channels) return MEDIA_AV_OK;
    return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "its rate or its channels change midway");
}

enum { OFF_CLOCK_MS = 30, ANEW_MS = 1000, MOST_OFF_S = 1000000000 };

/* The number of the frame's first sample by the clock, where sound is missing before it, or there twice. What clocks round, and how they tremble,
 * is neither; and one that goes back by a second or more begins anew. */
static int64_t on_clock(audio_ff *f, const AVFrame *frame) {
    if (frame->pts == AV_NOPTS_VALUE || strcmp(f->format, "mp3") == 0) return f->frames;
    double tick = av_q2d(f->av->stream->time_base), slack = OFF_CLOCK_MS / 1e3 + 2 * tick;
    double off = (double)frame->pts * tick - f->clock - (double)f->frames / f->rate;
    if (off <= -ANEW_MS / 1e3) f->clock += off;
    if (off > MOST_OFF_S) return f->frames; /* no clock of a file */
    if (off <= -ANEW_MS / 1e3 || (off >= -slack && off <= slack)) return f->frames;
    return f->frames + (int64_t)(off * f->rate + (off < 0 ? -0.5 : 0.5));
}

/* Frames [skip, stop) of a decoded frame whose first is number `from` of the sound; none where stop is not above skip. */
typedef struct part {
    AVFrame *frame;
    int64_t from, skip, stop;
} part;

/* The next frame, and what of it lies in [begin, end). MEDIA_AV_END: there is none before end. */
static int next_part(audio_ff *f, int64_t begin, int64_t end, part *p) {
    if (f->ended || (end >= 0 && f->frames >= end)) return MEDIA_AV_END;
    p->frame = f->pending;
    f->pending = NULL;
    int rc = p->frame ? MEDIA_AV_OK : next_frame(f, begin, &p->frame);
    if (rc == MEDIA_AV_OK) rc = same_kind(f, p->frame, f->rate, f->channels);
    if (rc != MEDIA_AV_OK) {
        rc = finish(f, rc);
        return rc == MEDIA_AV_OK ? MEDIA_AV_END : rc;
    }
    if (f->placed && f->frames < begin) f->frames = place_of(f, p->frame);
    int64_t n = p->frame->nb_samples, heard = f->frames > begin ? f->frames : begin;
    p->from = f->timed ? on_clock(f, p->frame) : f->frames;
    p->skip = heard > p->from ? heard - p->from : 0; /* what is there twice is heard once */
    p->stop = end >= 0 && end < p->from + n ? end - p->from : n;
    if (p->from + n > f->frames) f->frames = p->from + n;
    return MEDIA_AV_OK;
}

int audio_ff_decode(audio_ff *f, const audio_kernels *k, const int32_t *take, int n_take, int64_t begin,
                    int64_t end, int64_t max_frames) {
    part p;
    f->begin = begin;
    f->n_planes = n_take;
    int rc;
    int64_t kept = 0;
    while ((rc = next_part(f, begin, end, &p)) == MEDIA_AV_OK) {
        int64_t at = p.from + p.skip - begin, behind = p.from + p.stop - begin;
        if (behind > max_frames) return AUDIO_FF_TOO_LARGE;
        if (at >= behind) continue;
        rc = be_silent(f, kept, at);
        if (rc == MEDIA_AV_OK) rc = keep(f, k, take, p.frame, at, p.skip, p.stop - p.skip);
        if (rc != MEDIA_AV_OK) return rc;
        if (behind > kept) kept = behind;
    }
    if (rc != MEDIA_AV_END) return rc;
    int64_t last =
        (end >= 0 && end < f->frames ? end : f->frames) - begin; /* behind a gap, where that is at the end */
    return last > max_frames ? AUDIO_FF_TOO_LARGE : be_silent(f, kept, last);
}

/* --- filters --- */

static int filter_failed(audio_ff *f, int status) {
    char text[sizeof f->av->detail];
    snprintf(text, sizeof text, "audio.filter: %s", media_av_filter_detail(f->filter));
    return media_av_fail(f->av, status, text);
}

/* A part as a frame. */
static int part_of(audio_ff *f, const part *whole, AVFrame **out) {
    AVFrame *frame = *out = whole->frame;
    int skip = (int)whole->skip, n = (int)(whole->stop - whole->skip);
    if (skip == 0) {
        frame->nb_samples = n;
        return MEDIA_AV_OK;
    }
    AVFrame *p = *out = f->part;
    av_frame_unref(p);
    p->format = frame->format;
    p->sample_rate = frame->sample_rate;
    p->nb_samples = n;
    if (av_channel_layout_copy(&p->ch_layout, &frame->ch_layout) < 0 || av_frame_get_buffer(p, 0) < 0)
        return media_av_fail(f->av, MEDIA_AV_NO_MEMORY, "a part of a frame");
    av_samples_copy(p->extended_data, frame->extended_data, 0, skip, n, frame->ch_layout.nb_channels,
                    (enum AVSampleFormat)frame->format);
    return MEDIA_AV_OK;
}

/* Let the next frame in that lies in [begin, end), or say that there is none. */
static int feed(audio_ff *f, int64_t begin, int64_t end) {
    part p;
    AVFrame *in = NULL;
    int rc;
    do rc = next_part(f, begin, end, &p);
    while (rc == MEDIA_AV_OK && p.skip >= p.stop);
    if (rc == MEDIA_AV_OK) rc = part_of(f, &p, &in);
    if (rc != MEDIA_AV_OK && rc != MEDIA_AV_END) return rc;
    int64_t at = in ? p.from + p.skip : end >= 0 && end < f->frames ? end : f->frames;
    rc = media_av_filter_send(f->filter, in, at);
    return rc == MEDIA_AV_OK ? rc : filter_failed(f, rc);
}

/* What came out behind the made frames that are kept. */
static int keep_made(audio_ff *f, const audio_kernels *k, const AVFrame *out, int64_t made,
                     int64_t max_frames) {
    int32_t all[AUDIO_FF_CHANNELS];
    int channels = out->ch_layout.nb_channels;
    if (channels < 1 || channels > AUDIO_FF_CHANNELS)
        return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "audio.filter gives more than 64 channels");
    if (made + out->nb_samples > max_frames * 2 / (channels > 2 ? channels : 2)) return AUDIO_FF_TOO_LARGE;
    for (int i = 0; i < channels; i++) all[i] = i;
    f->n_planes = channels;
    return keep(f, k, all, out, made, 0, out->nb_samples);
}

int audio_ff_filter(audio_ff *f, const audio_kernels *k, const char *text, int64_t begin, int64_t end,
                    int64_t max_frames, int64_t *read) {
    media_av_filter_options o = {.text = text, .type = AVMEDIA_TYPE_AUDIO, .time_base = {1, f->rate}};
    int32_t rate = 0, channels = 0;
    int64_t made = 0;
    AVFrame *out;
    if (!f->filter) f->filter = media_av_filter_new();
    if (!f->filter) return media_av_fail(f->av, MEDIA_AV_NO_MEMORY, "the filters");
    media_av_filter_begin(f->filter, &o);
    f->begin = 0;
    int rc = MEDIA_AV_OK;
    while (rc == MEDIA_AV_OK && (rc = media_av_check(f->av)) == MEDIA_AV_OK) {
        rc = media_av_filter_receive(f->filter, &out);
        if (rc == MEDIA_AV_AGAIN) {
            rc = feed(f, begin, end);
            continue;
        }
        if (rc < 0) return filter_failed(f, rc);
        if (rc == MEDIA_AV_END) break;
        if (made == 0) rate = out->sample_rate, channels = out->ch_layout.nb_channels;
        rc = same_kind(f, out, rate, channels);
        if (rc == MEDIA_AV_OK) rc = keep_made(f, k, out, made, max_frames);
        made += out->nb_samples;
    }
    if (rc != MEDIA_AV_END) return rc;
    *read = f->frames;
    f->frames = made;
    f->rate = rate;
    f->channels = channels;
    return MEDIA_AV_OK;
}

/* --- packets as they come --- */

int audio_ff_open_fed(audio_ff *f, const media_packets *stream, const char *text) {
    media_av_source source = {.fd = -1, .packets = stream};
    media_av_options options = {.type = AVMEDIA_TYPE_AUDIO, .fed = 1};
    f->frames = f->begin = 0;
    f->begun = 0;
    f->made_rate = f->made_channels = 0;
    f->text = text;
    if (text && !f->filter && !(f->filter = media_av_filter_new()))
        return media_av_fail(f->av, MEDIA_AV_NO_MEMORY, "the filters");
    return media_av_open(f->av, &source, &options);
}

static int first_fed(audio_ff *f, const AVFrame *frame) {
    int rc = know(f, frame);
    if (rc != MEDIA_AV_OK) return rc;
    f->frames = -media_av_delay_left(f->av, frame->pts, f->rate);
    f->begun = 1;
    if (f->text) {
        media_av_filter_options o = {.text = f->text, .type = AVMEDIA_TYPE_AUDIO, .time_base = {1, f->rate}};
        media_av_filter_begin(f->filter, &o);
    }
    return MEDIA_AV_OK;
}

/* The decoder's next frame, without a delay that decoding leaves in before the sound. f->frames is where it ends. */
static int fed_frame(audio_ff *f, const media_packets *p, int64_t *next, AVFrame **frame) {
    for (;;) {
        int rc = media_packets_decode(f->av, p, next, frame);
        if (rc == MEDIA_AV_OK && !f->begun) rc = first_fed(f, *frame);
        if (rc == MEDIA_AV_OK) rc = same_kind(f, *frame, f->rate, f->channels);
        if (rc != MEDIA_AV_OK) return rc;
        int64_t n = (*frame)->nb_samples, from = f->frames;
        part sound = {*frame, from, from < 0 ? -from : 0, n};
        f->frames += n;
        if (sound.skip < n) return part_of(f, &sound, frame);
    }
}

static int fed_filtered(audio_ff *f, const media_packets *p, int64_t *next, AVFrame **out) {
    AVFrame *frame;
    for (;;) {
        int rc = f->begun ? media_av_filter_receive(f->filter, out) : MEDIA_AV_AGAIN;
        if (rc == MEDIA_AV_OK || rc == MEDIA_AV_END) return rc;
        if (rc != MEDIA_AV_AGAIN) return filter_failed(f, rc);
        rc = fed_frame(f, p, next, &frame);
        if (rc != MEDIA_AV_OK && (rc != MEDIA_AV_END || !f->begun)) return rc;
        if (rc == MEDIA_AV_END) frame = NULL;
        rc = media_av_filter_send(f->filter, frame, f->frames - (frame ? frame->nb_samples : 0));
        if (rc != MEDIA_AV_OK) return filter_failed(f, rc);
    }
}

int audio_ff_feed(audio_ff *f, const audio_kernels *k, const media_packets *p, int64_t *next, int64_t most,
                  int64_t *made) {
    AVFrame *out;
    int rc = MEDIA_AV_OK;
    for (*made = 0; rc == MEDIA_AV_OK && *made < most;) {
        rc = f->text ? fed_filtered(f, p, next, &out) : fed_frame(f, p, next, &out);
        if (rc != MEDIA_AV_OK) break;
        if (!f->made_rate) f->made_rate = out->sample_rate, f->made_channels = out->ch_layout.nb_channels;
        rc = same_kind(f, out, f->made_rate, f->made_channels);
        if (rc == MEDIA_AV_OK) rc = keep_made(f, k, out, *made, INT64_MAX / 2);
        if (rc == MEDIA_AV_OK) *made += out->nb_samples;
    }
    return rc;
}

const float *audio_ff_channel(const audio_ff *f, int i, int64_t first) {
    return f->plane[i] + (first - f->begin);
}

int audio_ff_swresample(const float *in, size_t in_stride, int64_t n, int from, float *out, size_t out_stride,
                        int64_t n_out, int to, int channels) {
    const uint8_t *src[AUDIO_FF_CHANNELS];
    uint8_t *dst[AUDIO_FF_CHANNELS];
    AVChannelLayout layout = {.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = channels};
    SwrContext *s = NULL;
    int rc =
        swr_alloc_set_opts2(&s, &layout, AV_SAMPLE_FMT_FLTP, to, &layout, AV_SAMPLE_FMT_FLTP, from, 0, NULL);
    if (rc >= 0) rc = swr_init(s);
    int64_t done = 0, read = 0;
    while (rc >= 0 && done < n_out) {
        int chunk = n - read < 1 << 20 ? (int)(n - read) : 1 << 20;
        int room = n_out - done < 1 << 20 ? (int)(n_out - done) : 1 << 20;
        for (int c = 0; c < channels; c++) {
            src[c] = (const uint8_t *)(in + (size_t)c * in_stride + read);
            dst[c] = (uint8_t *)(out + (size_t)c * out_stride + done);
        }
        rc = swr_convert(s, dst, room, chunk ? src : NULL, chunk); /* what has no room is kept inside */
        if (rc == 0 && chunk == 0) break;
        if (rc > 0) done += rc;
        read += chunk;
    }
    for (int c = 0; rc >= 0 && c < channels; c++)
        memset(out + (size_t)c * out_stride + done, 0, (size_t)(n_out - done) * sizeof *out);
    swr_free(&s);
    return rc < 0 ? rc : 0;
}
