//go:build !noffmpeg

/* encode.c - pictures and samples to packets. */
#include "mux.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>

#include "../av/av.h"

extern char **environ;

enum { ANY_FRAME_SIZE = 4096 }; /* samples a frame, for encoders that take any number */

static int fail(media_enc *e, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(media_enc *e, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(e->detail, sizeof e->detail, format, args);
    va_end(args);
    e->detail[strcspn(e->detail, "\r\n")] = 0;
    return status;
}

/* A failing FFmpeg call, in its words. */
static int failed(media_enc *e, int rc, int status) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    if (rc == AVERROR(ENOMEM)) return fail(e, MEDIA_MUX_NO_MEMORY, "the encoder");
    return fail(e, status, "%s", media_av_reason(rc, reason));
}

const char *media_enc_of_name(const char *name) {
    const AVOutputFormat *images = av_guess_format("image2", NULL, NULL);
    enum AVCodecID id =
        images ? av_guess_codec(images, NULL, name, NULL, AVMEDIA_TYPE_VIDEO) : AV_CODEC_ID_NONE;
    if (id == AV_CODEC_ID_MJPEG && !av_match_ext(name, "jpg,jpeg,mjpg,jfif"))
        id = AV_CODEC_ID_NONE; /* what any name gets */
    return id == AV_CODEC_ID_NONE ? NULL : avcodec_get_name(id);
}

media_enc *media_enc_new(void) {
    media_enc *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->given = av_frame_alloc();
    e->frame = av_frame_alloc();
    e->packet = av_packet_alloc();
    if (e->given && e->frame && e->packet) return e;
    media_enc_free(e);
    return NULL;
}

static int new_frame(media_enc *e, int samples);

/* SVT-AV1 waits for its own threads for ever where it was opened and not told of the end, or given nothing before it. */
static void give_up(media_enc *e) {
    AVCodecContext *x = e->codec;
    if (!x || !avcodec_is_open(x) || strcmp(x->codec->name, "libsvtav1") != 0) return;
    if (e->next == INT64_MIN && new_frame(e, 0) == MEDIA_MUX_OK) {
        e->frame->pts = 0;
        avcodec_send_frame(x, e->frame);
    }
    if (e->ending != 2) avcodec_send_frame(x, NULL);
    while (avcodec_receive_packet(x, e->packet) >= 0) av_packet_unref(e->packet);
}

void media_enc_free(media_enc *e) {
    if (!e) return;
    give_up(e);
    avcodec_free_context(&e->codec);
    sws_freeContext(e->sws);
    swr_free(&e->swr);
    av_vorbis_parse_free(&e->vorbis);
    if (e->fifo) av_audio_fifo_free(e->fifo);
    av_frame_free(&e->given);
    av_frame_free(&e->frame);
    av_packet_free(&e->packet);
    free(e);
}

/* --- opening --- */

static const AVCodec *find(media_enc *e, const char *name, enum AVMediaType type) {
    const AVCodec *c = avcodec_find_encoder_by_name(name);
    const AVCodecDescriptor *d = c ? NULL : avcodec_descriptor_get_by_name(name);
    if (d) c = avcodec_find_encoder(d->id);
    if (c && c->capabilities & AV_CODEC_CAP_EXPERIMENTAL)
        c = avcodec_find_encoder(c->id); /* a better one, if any */
    if (!c)
        fail(e, MEDIA_MUX_UNSUPPORTED,
             d ? "this FFmpeg has no encoder for %s" : "this FFmpeg knows no encoder %s", name);
    else if (c->type != type)
        fail(e, MEDIA_MUX_INVALID, "%s is no %s codec", name, av_get_media_type_string(type));
    return c && c->type == type ? c : NULL;
}

static int prepare(media_enc *e, const media_enc_config *c, enum AVMediaType type) {
    const AVCodec *codec = find(e, c->codec, type);
    if (!codec) return strstr(e->detail, "this FFmpeg") ? MEDIA_MUX_UNSUPPORTED : MEDIA_MUX_INVALID;
    AVCodecContext *x = e->codec = avcodec_alloc_context3(codec);
    if (!x) return fail(e, MEDIA_MUX_NO_MEMORY, "the encoder");
    x->thread_count = c->threads > 0 ? c->threads : 1;
    x->flags |= AV_CODEC_FLAG_BITEXACT; /* no version of FFmpeg in the bytes */
    if (c->global_header) x->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (c->bit_rate > 0) x->bit_rate = c->bit_rate;
    /* MJPEG's own default is a rate that no picture looks well at. */
    int quality = !c->quality && !c->bit_rate && codec->id == AV_CODEC_ID_MJPEG ? 2 : c->quality;
    if (quality > 0) {
        x->flags |= AV_CODEC_FLAG_QSCALE;
        x->global_quality = FF_QP2LAMBDA * quality;
    }
    return MEDIA_MUX_OK;
}

/* x265 writes to standard error by itself, whatever FFmpeg's level is. Here it writes nothing, unless its own parameters say how loud it is. */
static int hush(const AVCodec *codec, AVDictionary **options) {
    const char *name = "x265-params", *quiet = "log-level=none";
    const AVDictionaryEntry *given = av_dict_get(*options, name, NULL, 0);
    if (strcmp(codec->name, "libx265") != 0 || (given && strstr(given->value, "log"))) return 0;
    if (!given) return av_dict_set(options, name, quiet, 0);
    size_t room = strlen(quiet) + strlen(given->value) + 2;
    char *both = malloc(room);
    if (!both) return AVERROR(ENOMEM);
    snprintf(both, room, "%s:%s", quiet, given->value);
    int rc = av_dict_set(options, name, both, 0);
    free(both);
    return rc;
}

/* So does SVT-AV1, which looks into the environment alone for how loud it is. Where that says nothing it says 0 from now on. It is a new one with
 * an entry more, and the one before stays as it is: other threads may be looking into it. */
static int hush_environment(void) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static char quiet[] = "SVT_LOG=0";
    size_t n = 0;
    char **more = NULL;
    pthread_mutex_lock(&one);
    const int said = getenv("SVT_LOG") != NULL;
    while (!said && environ && environ[n]) n++;
    if (!said && (more = malloc((n + 2) * sizeof *more)) != NULL) {
        if (n > 0) memcpy(more, environ, n * sizeof *more);
        more[n] = quiet;
        more[n + 1] = NULL;
        __atomic_store_n(&environ, more, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&one);
    return said || more ? 0 : AVERROR(ENOMEM);
}

/* The threads of the process; none where there are more than most. */
static int threads(pid_t *all, int most) {
    DIR *dir = opendir("/proc/self/task");
    if (!dir) return 0;
    int n = 0;
    for (struct dirent *one; (one = readdir(dir)) != NULL;) {
        if (one->d_name[0] == '.') continue;
        if (n == most) {
            n = 0;
            break;
        }
        all[n++] = (pid_t)strtol(one->d_name, NULL, 10);
    }
    closedir(dir);
    return n;
}

static int is_among(pid_t one, const pid_t *all, int n) {
    for (int i = 0; i < n; i++)
        if (all[i] == one) return 1;
    return 0;
}

enum { MOST_THREADS = 4096 };

/* SVT-AV1 opens. Where it may, as root, it has the thread that opens it and its own run ahead of all others of the machine (SCHED_FIFO, and so have
 * what that thread starts from then on); they are put back to how the thread ran before. */
static int open_svt(media_enc *e, AVDictionary **options) {
    struct sched_param was;
    const int policy = sched_getscheduler(0);
    int rc = hush_environment();
    if (rc < 0) return rc;
    pid_t *before = malloc(2 * MOST_THREADS * sizeof *before), *after = before + MOST_THREADS;
    if (!before) return AVERROR(ENOMEM);
    const int known = policy >= 0 && sched_getparam(0, &was) == 0 ? threads(before, MOST_THREADS) : 0;
    rc = avcodec_open2(e->codec, e->codec->codec, options);
    const int n = known > 0 ? threads(after, MOST_THREADS) : 0;
    for (int i = 0; i < n; i++)
        if (!is_among(after[i], before, known) && sched_getscheduler(after[i]) == SCHED_FIFO)
            (void)sched_setscheduler(after[i], policy, &was);
    if (known > 0) (void)sched_setscheduler(0, policy, &was);
    free(before);
    return rc;
}

static int open_codec(media_enc *e, AVDictionary **options) {
    media_av_forget();
    int rc = hush(e->codec->codec, options);
    if (rc >= 0)
        rc = strcmp(e->codec->codec->name, "libsvtav1") == 0
                 ? open_svt(e, options)
                 : avcodec_open2(e->codec, e->codec->codec, options);
    if (rc < 0) return failed(e, rc, MEDIA_MUX_UNSUPPORTED);
    const AVDictionaryEntry *unknown = av_dict_get(*options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (unknown)
        return fail(e, MEDIA_MUX_INVALID, "%s has no option \"%s\"", e->codec->codec->name, unknown->key);
    return MEDIA_MUX_OK;
}

/* The nearest to what is given; of the YUV ones, 4:2:0, which is what players show. */
static enum AVPixelFormat nearest(const enum AVPixelFormat *list, enum AVPixelFormat from) {
    if (!list) return from;
    enum AVPixelFormat best = avcodec_find_best_pix_fmt_of_list(
        list, from, av_pix_fmt_desc_get(from)->flags & AV_PIX_FMT_FLAG_ALPHA, NULL);
    if (best == AV_PIX_FMT_NONE) return list[0];
    if (best == from || av_pix_fmt_desc_get(best)->flags & AV_PIX_FMT_FLAG_RGB) return best;
    if (av_pix_fmt_desc_get(from)->nb_components < 3) return best;
    for (const enum AVPixelFormat *p = list; *p != AV_PIX_FMT_NONE; p++)
        if (*p == AV_PIX_FMT_YUV420P || *p == AV_PIX_FMT_YUVJ420P) return *p;
    return best;
}

static int choose_pixels(media_enc *e, const media_enc_config *c) {
    AVCodecContext *x = e->codec;
    const enum AVPixelFormat *list = c->held ? c->held : x->codec->pix_fmts;
    e->from = av_get_pix_fmt(c->from);
    if (e->from == AV_PIX_FMT_NONE || av_image_get_buffer_size(e->from, 16, 16, 1) <= 0)
        return fail(e, MEDIA_MUX_INVALID, "this FFmpeg knows no pixel format %s that has bytes", c->from);
    x->pix_fmt = c->stored ? av_get_pix_fmt(c->stored) : nearest(list, e->from);
    if (x->pix_fmt == AV_PIX_FMT_NONE)
        return fail(e, MEDIA_MUX_INVALID, "this FFmpeg knows no pixel format %s", c->stored);
    int known = !list;
    for (const enum AVPixelFormat *p = list; p && *p != AV_PIX_FMT_NONE; p++) known |= *p == x->pix_fmt;
    if (!known)
        return fail(e, MEDIA_MUX_UNSUPPORTED, "%s does not store %s%s; its nearest is %s", x->codec->name,
                    c->stored, c->held ? " in this container" : "",
                    av_get_pix_fmt_name(nearest(list, e->from)));
    return MEDIA_MUX_OK;
}

static int is_yuv(enum AVPixelFormat f) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(f);
    return d->nb_components >= 3 && !(d->flags & AV_PIX_FMT_FLAG_RGB);
}

/* Formats that are full range by their name. */
static int is_full(enum AVPixelFormat f) {
    return !is_yuv(f) || strncmp(av_get_pix_fmt_name(f), "yuvj", 4) == 0;
}

/* Chroma that is halved along a row lies beside the left one of its two pixels, where every video codec here has it by default;
 * in MPEG-1 and JPEG, full range by its name, between them. swscale would always put it between them. */
static int is_left(const AVCodecContext *x) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(x->pix_fmt);
    return is_yuv(x->pix_fmt) && !is_full(x->pix_fmt) && d->log2_chroma_w == 1 &&
           x->codec_id != AV_CODEC_ID_MPEG1VIDEO;
}

/* From the pixels given to those stored, in the same size. NULL: swscale has no such way. */
static struct SwsContext *scaler(media_enc *e) {
    const AVCodecContext *x = e->codec;
    const struct {
        const char *name;
        int64_t value;
    } options[] = {
        {"srcw", x->width},
        {"srch", x->height},
        {"src_format", e->from},
        {"dstw", x->width},
        {"dsth", x->height},
        {"dst_format", x->pix_fmt},
        {"dst_h_chr_pos", is_left(x) ? 0 : -513}, /* in 1/256 of a pixel; -513: the middle */
        {"sws_flags", SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP},
    };
    struct SwsContext *s = sws_alloc_context();
    int rc = s ? 0 : AVERROR(ENOMEM);
    for (size_t i = 0; rc >= 0 && i < sizeof options / sizeof options[0]; i++)
        rc = av_opt_set_int(s, options[i].name, options[i].value, 0);
    if (rc >= 0) rc = sws_init_context(s, NULL, NULL);
    if (rc >= 0) return s;
    sws_freeContext(s);
    return NULL;
}

/* BT.601, limited but where the format says otherwise; named in the file. */
static int convert_pixels(media_enc *e) {
    AVCodecContext *x = e->codec;
    if (is_yuv(x->pix_fmt)) {
        x->color_range = is_full(x->pix_fmt) ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
        x->colorspace = AVCOL_SPC_SMPTE170M;
        x->chroma_sample_location = is_left(x) ? AVCHROMA_LOC_LEFT : AVCHROMA_LOC_CENTER;
    }
    if (e->from == x->pix_fmt) return MEDIA_MUX_OK;
    e->sws = scaler(e);
    if (!e->sws)
        return fail(e, MEDIA_MUX_UNSUPPORTED, "FFmpeg does not convert %s to %s",
                    av_get_pix_fmt_name(e->from), av_get_pix_fmt_name(x->pix_fmt));
    const int *matrix = sws_getCoefficients(SWS_CS_ITU601);
    sws_setColorspaceDetails(e->sws, matrix, is_full(e->from), matrix, is_full(x->pix_fmt), 0, 1 << 16,
                             1 << 16);
    return MEDIA_MUX_OK;
}

int media_enc_video(media_enc *e, const media_enc_config *c, AVDictionary **options) {
    int rc = prepare(e, c, AVMEDIA_TYPE_VIDEO);
    if (rc == MEDIA_MUX_OK) rc = choose_pixels(e, c);
    if (rc != MEDIA_MUX_OK) return rc;
    AVCodecContext *x = e->codec;
    if (av_image_check_size((unsigned)c->width, (unsigned)c->height, 0, NULL) < 0)
        return fail(e, MEDIA_MUX_INVALID, "frames of %dx%d", c->width, c->height);
    x->width = c->width;
    x->height = c->height;
    x->time_base = c->time_base;
    x->framerate = c->frame_rate;
    if (c->frame_rate.num > 0) e->ticks = av_rescale_q(1, av_inv_q(c->frame_rate), c->time_base);
    rc = convert_pixels(e);
    if (rc == MEDIA_MUX_OK) rc = open_codec(e, options);
    if (rc == MEDIA_MUX_UNSUPPORTED && (c->width | c->height) & 1 && is_yuv(x->pix_fmt)) {
        size_t n = strlen(e->detail);
        snprintf(e->detail + n, sizeof e->detail - n, "; choose even sizes or a 4:4:4 pixel format for %dx%d",
                 c->width, c->height);
    }
    e->next = INT64_MIN;
    return rc;
}

/* The encoder's own format for such samples, as it lies or in planes; AV_SAMPLE_FMT_NONE: it has none. */
static enum AVSampleFormat stores(const AVCodec *codec, enum AVSampleFormat format) {
    const enum AVSampleFormat *list = codec->sample_fmts;
    if (!list) return format;
    for (const enum AVSampleFormat *p = list; *p != AV_SAMPLE_FMT_NONE; p++)
        if (*p == format) return format;
    for (const enum AVSampleFormat *p = list; *p != AV_SAMPLE_FMT_NONE; p++)
        if (av_get_packed_sample_fmt(*p) == av_get_packed_sample_fmt(format)) return *p;
    return AV_SAMPLE_FMT_NONE;
}

/* The one with the most of a float's bits. */
static enum AVSampleFormat most_precise(const AVCodec *codec) {
    static const enum AVSampleFormat best_first[] = {AV_SAMPLE_FMT_FLT, AV_SAMPLE_FMT_DBL, AV_SAMPLE_FMT_S64,
                                                     AV_SAMPLE_FMT_S32, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_U8};
    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        enum AVSampleFormat f = stores(codec, best_first[i]);
        if (f != AV_SAMPLE_FMT_NONE) return f;
    }
    return AV_SAMPLE_FMT_FLT;
}

/* stored is one format, or several with commas, of which the first counts that the encoder stores. */
static int choose_samples(media_enc *e, const media_enc_config *c) {
    AVCodecContext *x = e->codec;
    x->sample_fmt = AV_SAMPLE_FMT_NONE;
    for (const char *s = c->stored; s && x->sample_fmt == AV_SAMPLE_FMT_NONE;) {
        char name[16];
        size_t n = strcspn(s, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        enum AVSampleFormat f = av_get_sample_fmt(name);
        if (f == AV_SAMPLE_FMT_NONE)
            return fail(e, MEDIA_MUX_INVALID, "this FFmpeg knows no sample format %.*s", (int)n, s);
        x->sample_fmt = stores(x->codec, f);
        s = s[n] ? s + n + 1 : NULL;
    }
    if (x->sample_fmt == AV_SAMPLE_FMT_NONE && c->stored)
        return fail(e, MEDIA_MUX_UNSUPPORTED, "%s does not store %s; one that it does is %s", x->codec->name,
                    c->stored, av_get_sample_fmt_name(most_precise(x->codec)));
    if (!c->stored) x->sample_fmt = most_precise(x->codec);
    return MEDIA_MUX_OK;
}

/* Encoders say that they do not take a rate, and not which ones they do. */
static int check_rate(media_enc *e, int rate) {
    const int *list = e->codec->codec->supported_samplerates;
    char rates[120] = "";
    for (; list && *list; list++) {
        if (*list == rate) return MEDIA_MUX_OK;
        size_t n = strlen(rates);
        snprintf(rates + n, sizeof rates - n, "%s%d", n ? ", " : "", *list);
    }
    if (!rates[0]) return MEDIA_MUX_OK;
    return fail(e, MEDIA_MUX_UNSUPPORTED, "%s does not store sound of %d Hz; resample it to one of %s",
                e->codec->codec->name, rate, rates);
}

int media_enc_audio(media_enc *e, const media_enc_config *c, AVDictionary **options) {
    enum AVSampleFormat from = av_get_sample_fmt(c->from);
    int rc = prepare(e, c, AVMEDIA_TYPE_AUDIO);
    if (rc == MEDIA_MUX_OK) rc = check_rate(e, c->rate);
    if (rc == MEDIA_MUX_OK) rc = choose_samples(e, c);
    if (rc != MEDIA_MUX_OK) return rc;
    AVCodecContext *x = e->codec;
    x->sample_rate = c->rate;
    x->time_base = (AVRational){1, c->rate};
    av_channel_layout_default(&x->ch_layout, c->channels);
    rc = open_codec(e, options);
    if (rc != MEDIA_MUX_OK) return rc;
    rc = swr_alloc_set_opts2(&e->swr, &x->ch_layout, x->sample_fmt, c->rate, &x->ch_layout, from, c->rate, 0,
                             NULL);
    if (rc >= 0) rc = swr_init(e->swr);
    if (rc < 0) return failed(e, rc, MEDIA_MUX_UNSUPPORTED);
    e->heard = -1;
    if (x->codec_id == AV_CODEC_ID_VORBIS) e->vorbis = av_vorbis_parse_init(x->extradata, x->extradata_size);
    e->fifo = av_audio_fifo_alloc(x->sample_fmt, c->channels, ANY_FRAME_SIZE);
    return e->fifo ? MEDIA_MUX_OK : fail(e, MEDIA_MUX_NO_MEMORY, "the samples");
}

/* --- giving --- */

int64_t media_enc_picture_bytes(const media_enc *e) {
    return av_image_get_buffer_size(e->from, e->codec->width, e->codec->height, 1);
}

/* A frame of the encoder's with memory that it may keep. */
static int new_frame(media_enc *e, int samples) {
    AVFrame *f = e->frame;
    AVCodecContext *x = e->codec;
    av_frame_unref(f);
    f->width = x->width;
    f->height = x->height;
    f->format = samples ? (int)x->sample_fmt : (int)x->pix_fmt;
    f->nb_samples = samples;
    f->sample_rate = x->sample_rate;
    f->color_range = x->color_range;
    f->colorspace = x->colorspace;
    if (samples && av_channel_layout_copy(&f->ch_layout, &x->ch_layout) < 0)
        return fail(e, MEDIA_MUX_NO_MEMORY, "a frame");
    return av_frame_get_buffer(f, 0) < 0 ? fail(e, MEDIA_MUX_NO_MEMORY, "a frame") : MEDIA_MUX_OK;
}

static int send(media_enc *e, const AVFrame *f) {
    int rc = avcodec_send_frame(e->codec, f);
    return rc < 0 ? failed(e, rc, MEDIA_MUX_ENCODE) : MEDIA_MUX_OK;
}

/* A picture into the encoder's frame. swscale reads whole vectors of pixels, past the end of what it was given: it is given a copy
 * with room for them. */
static int store_picture(media_enc *e, const uint8_t *const planes[4], const int stride[4]) {
    AVFrame *f = e->given;
    const int width = e->codec->width, height = e->codec->height;
    if (!e->sws) {
        av_image_copy(e->frame->data, e->frame->linesize, (const uint8_t **)planes, stride, e->from, width,
                      height);
        return MEDIA_MUX_OK;
    }
    if (!f->buf[0]) {
        f->width = width;
        f->height = height;
        f->format = e->from;
        if (av_frame_get_buffer(f, 0) < 0) return fail(e, MEDIA_MUX_NO_MEMORY, "a frame");
    }
    av_image_copy(f->data, f->linesize, (const uint8_t **)planes, stride, e->from, width, height);
    sws_scale(e->sws, (const uint8_t *const *)f->data, f->linesize, 0, height, e->frame->data,
              e->frame->linesize);
    return MEDIA_MUX_OK;
}

int media_enc_picture(media_enc *e, const uint8_t *pixels, int64_t pts) {
    AVCodecContext *x = e->codec;
    uint8_t *from[4];
    int stride[4];
    media_av_forget();
    if (pts < e->next)
        return fail(e, MEDIA_MUX_INVALID, "a frame at %g s after one at %g s; give times that grow by 1/%g s",
                    (double)pts * av_q2d(x->time_base), (double)(e->next - 1) * av_q2d(x->time_base),
                    1 / av_q2d(x->time_base));
    int rc = new_frame(e, 0);
    if (rc != MEDIA_MUX_OK) return rc;
    av_image_fill_arrays(from, stride, pixels, e->from, x->width, x->height, 1);
    const uint8_t *planes[4] = {from[0], from[1], from[2], from[3]};
    rc = store_picture(e, planes, stride);
    if (rc != MEDIA_MUX_OK) return rc;
    e->frame->pts = pts;
    e->frame->quality = x->global_quality;
    e->step = e->next == INT64_MIN ? 1 : pts - (e->next - 1);
    e->next = pts + 1;
    return send(e, e->frame);
}

int media_enc_samples(media_enc *e, const uint8_t *samples, int n) {
    int rc = new_frame(e, n);
    if (rc != MEDIA_MUX_OK) return rc;
    rc = swr_convert(e->swr, e->frame->extended_data, n, &samples, n);
    if (rc < 0) return failed(e, rc, MEDIA_MUX_ENCODE);
    if (av_audio_fifo_write(e->fifo, (void **)e->frame->extended_data, rc) < rc)
        return fail(e, MEDIA_MUX_NO_MEMORY, "the samples");
    return MEDIA_MUX_OK;
}

/* Bit for bit, as PCM of floats and WavPack have them. */
static int keeps_floats(const AVCodecContext *x) {
    const AVCodecDescriptor *d = avcodec_descriptor_get(x->codec_id);
    enum AVSampleFormat packed = av_get_packed_sample_fmt(x->sample_fmt);
    return d && d->props & AV_CODEC_PROP_LOSSLESS &&
           (packed == AV_SAMPLE_FMT_FLT || packed == AV_SAMPLE_FMT_DBL);
}

/* Without its sign a float grows as its bits do, with infinity and what is no number above all others. */
int64_t media_enc_unstorable(const media_enc *e, const uint8_t *samples, int64_t n, float most) {
    uint32_t limit, bits;
    if (keeps_floats(e->codec)) return -1;
    memcpy(&limit, &most, sizeof limit);
    for (int64_t i = 0; i < n; i++) {
        memcpy(&bits, samples + i * (int64_t)sizeof bits, sizeof bits);
        if ((bits & INT32_MAX) > limit) return i;
    }
    return -1;
}

void media_enc_end(media_enc *e) {
    if (!e->ending) e->ending = 1;
}

/* --- taking --- */

/* Feed the encoder one more frame of samples, or its end. MEDIA_MUX_AGAIN: there is nothing to feed. */
static int feed(media_enc *e) {
    int size = e->codec->frame_size > 0 ? e->codec->frame_size : ANY_FRAME_SIZE;
    int there = e->fifo ? av_audio_fifo_size(e->fifo) : 0;
    if (there > 0 && (there >= size || e->ending)) {
        int n = there < size ? there : size;
        int rc = new_frame(e, n);
        if (rc != MEDIA_MUX_OK) return rc;
        av_audio_fifo_read(e->fifo, (void **)e->frame->extended_data, n);
        e->frame->pts = e->next;
        e->next += n;
        return send(e, e->frame);
    }
    if (e->ending != 1) return MEDIA_MUX_AGAIN;
    e->ending = 2;
    return send(e, NULL);
}

/* Where times vary nobody says how long the last frame is shown: as long as the one before. Containers with an edit list
 * would cut it off if it had no length. */
static int64_t last_shown(const media_enc *e) { return e->packet->pts == e->next - 1 ? e->step : 0; }

/* A packet of Vorbis at the time of its samples, and the last of them cut where the sound ends: FFmpeg counts the first packet, of which no
 * sample comes, and says nothing of the end. Ogg ends at the time of its last packet's end; Matroska has a place for what is left out. */
static int time_vorbis(media_enc *e) {
    AVPacket *p = e->packet;
    const int samples = av_vorbis_parse_frame(e->vorbis, p->data, p->size);
    if (samples < 0) return fail(e, MEDIA_MUX_ENCODE, "the encoder made a packet that cannot be read");
    const int64_t start = e->heard < 0 ? 0 : e->heard, end = e->heard < 0 ? 0 : start + samples;
    const int64_t left_out = end - e->next;
    e->heard = end;
    p->pts = p->dts = start;
    p->duration = left_out > 0 ? e->next - start : end - start;
    av_packet_free_side_data(p);
    if (left_out <= 0) return MEDIA_MUX_OK;
    uint8_t *skip = av_packet_new_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, 10);
    if (!skip) return fail(e, MEDIA_MUX_NO_MEMORY, "a packet");
    memset(skip, 0, 10);
    for (int i = 0; i < 4; i++) skip[4 + i] = (uint8_t)(left_out >> 8 * i);
    return MEDIA_MUX_OK;
}

int media_enc_packet(media_enc *e, AVPacket **packet) {
    media_av_forget();
    for (;;) {
        int rc = avcodec_receive_packet(e->codec, e->packet);
        if (rc == AVERROR_EOF) return MEDIA_MUX_END;
        if (rc < 0 && rc != AVERROR(EAGAIN)) return failed(e, rc, MEDIA_MUX_ENCODE);
        if (rc >= 0) {
            if (e->vorbis && (rc = time_vorbis(e)) != MEDIA_MUX_OK) return rc;
            if (!e->vorbis && !e->packet->duration) e->packet->duration = e->ticks ? e->ticks : last_shown(e);
            *packet = e->packet;
            return MEDIA_MUX_OK;
        }
        rc = feed(e);
        if (rc != MEDIA_MUX_OK) return rc;
    }
}
