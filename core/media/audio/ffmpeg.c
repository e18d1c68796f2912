//go:build !noffmpeg

/* ffmpeg.c - see ffmpeg.h. */
#include <stdlib.h>
#include <string.h>

#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

#include "ffmpeg.h"

enum { KEEP_FLOATS = 1 << 23 }; /* a larger plane is given back after its sample */

/* Frames behind the sound that an MP3's header counts, at most; encoders fill up their last packet, and LAME one more. */
enum { MP3_BEHIND = 3 * 1152 };

audio_ff *audio_ff_new(void) {
    audio_ff *f = calloc(1, sizeof *f);
    if (f && (f->av = media_av_new())) return f;
    free(f);
    return NULL;
}

void audio_ff_free(audio_ff *f) {
    if (!f) return;
    media_av_free(f->av);
    for (int i = 0; i < AUDIO_FF_CHANNELS; i++) free(f->plane[i]);
    free(f);
}

const char *audio_ff_detail(const audio_ff *f) { return media_av_detail(f->av); }

void audio_ff_close(audio_ff *f) {
    media_av_close(f->av);
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

int audio_ff_open(audio_ff *f, const media_av_source *source, int placed, int64_t budget_ns) {
    media_av_options options = {.type = AVMEDIA_TYPE_AUDIO, .budget_ns = budget_ns, .lean = 1};
    int rc = media_av_open(f->av, source, &options);
    if (rc != MEDIA_AV_OK) return rc;
    f->placed = placed && source->packets && !source->packets->from_start;
    f->frames = 0;
    f->ended = 0;
    f->seconds = claimed_seconds(f->av);
    f->format = f->av->format->iformat->name;
    f->codec = avcodec_get_name(f->av->stream->codecpar->codec_id);
    /* Headers need not know the rate and the channels (HE-AAC says half its rate); frames do. */
    rc = next_frame(f, 1, &f->pending);
    if (rc == MEDIA_AV_END) return media_av_fail(f->av, MEDIA_AV_END, "its audio stream has none");
    if (rc != MEDIA_AV_OK) return rc;
    f->rate = f->pending->sample_rate;
    f->channels = f->pending->ch_layout.nb_channels;
    if (f->rate < 1 || f->channels < 1 || f->channels > AUDIO_FF_CHANNELS)
        return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "more than 64 channels, or no rate");
    f->frames = f->placed ? place_of(f, f->pending) : -media_av_delay_left(f->av, f->pending->pts, f->rate);
    return MEDIA_AV_OK;
}

/* The least frames that the header's count allows, -1 if it has none: MP3's (Xing's) counts what the encoder put around the
 * sound, too, FLAC's is exact. What is estimated from a bit rate is no count. */
static int64_t counted_frames(const audio_ff *f) {
    int flac = strcmp(f->format, "flac") == 0, mp3 = strcmp(f->format, "mp3") == 0;
    if (!(flac || mp3) || f->seconds < 0 ||
        f->av->format->duration_estimation_method == AVFMT_DURATION_FROM_BITRATE)
        return -1;
    int64_t frames = (int64_t)(f->seconds * f->rate + 0.5);
    if (mp3 && f->av->stream->start_time > 0) /* what the encoder put before it */
        frames -= av_rescale_q(f->av->stream->start_time, f->av->stream->time_base, (AVRational){1, f->rate});
    if (mp3) frames -= MP3_BEHIND;
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

/* Frames [skip, skip + n) of the decoded frame behind the kept ones. */
static int keep(audio_ff *f, const audio_kernels *k, const int32_t *take, const AVFrame *frame, int64_t at,
                int64_t skip, int64_t n) {
    int encoding = encoding_of(frame->format);
    if (encoding < 0) return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "64-bit integer samples");
    if (grow(f, (size_t)(at + n)) != MEDIA_AV_OK) return MEDIA_AV_NO_MEMORY;
    int planar = av_sample_fmt_is_planar(frame->format), bytes = av_get_bytes_per_sample(frame->format);
    size_t step = (size_t)bytes * (size_t)(planar ? 1 : f->channels);
    for (int i = 0; i < f->n_planes; i++) {
        const uint8_t *src =
            planar ? frame->extended_data[take[i]] : frame->extended_data[0] + take[i] * bytes;
        k->from_pcm(src + (size_t)skip * step, encoding, step, (size_t)n, f->plane[i] + at);
    }
    return MEDIA_AV_OK;
}

int audio_ff_decode(audio_ff *f, const audio_kernels *k, const int32_t *take, int n_take, int64_t begin,
                    int64_t end, int64_t max_frames) {
    AVFrame *frame = f->pending;
    f->pending = NULL;
    f->begin = begin;
    f->n_planes = n_take;
    int rc = MEDIA_AV_OK;
    while (rc == MEDIA_AV_OK && (end < 0 || f->frames < end)) {
        if (!frame) rc = next_frame(f, begin, &frame);
        if (rc != MEDIA_AV_OK) break;
        if (f->placed && f->frames < begin) f->frames = place_of(f, frame);
        if (frame->sample_rate != f->rate || frame->ch_layout.nb_channels != f->channels)
            return media_av_fail(f->av, MEDIA_AV_UNSUPPORTED, "its rate or its channels change midway");
        int64_t n = frame->nb_samples, from = f->frames, skip = begin > from ? begin - from : 0;
        int64_t stop = end >= 0 && end < from + n ? end - from : n;
        if (from + stop - begin > max_frames) return AUDIO_FF_TOO_LARGE;
        if (skip < stop) rc = keep(f, k, take, frame, from + skip - begin, skip, stop - skip);
        f->frames += n;
        frame = NULL;
    }
    return rc == MEDIA_AV_OK ? rc : finish(f, rc);
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
