//go:build !noffmpeg

/* hardware.c - decoders on devices: opened once, their frames copied to the processor's memory. */
#include "av.h"

#include <libavutil/hwcontext.h>
#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 32 }; /* more than FFmpeg has */

/* Guarded by opening. A kind that could not be opened stays so: every sample would wait for it again. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct {
    AVBufferRef *device;
    int tried;
    char why[200];
} kinds[KINDS];

AVBufferRef *media_av_hardware(const char *kind, char *detail, size_t detail_bytes) {
    enum AVHWDeviceType type = av_hwdevice_find_type_by_name(kind);
    if (type == AV_HWDEVICE_TYPE_NONE || (int)type >= KINDS) {
        snprintf(detail, detail_bytes, "this FFmpeg knows no such device");
        return NULL;
    }
    pthread_mutex_lock(&opening);
    if (!kinds[type].tried) {
        char reason[AV_ERROR_MAX_STRING_SIZE];
        kinds[type].tried = 1;
        media_av_forget();
        int rc = av_hwdevice_ctx_create(&kinds[type].device, type, NULL, NULL, 0);
        if (rc < 0) {
            const char *message = media_av_reason(rc, reason);
            snprintf(kinds[type].why, sizeof kinds[type].why, "%.*s", (int)strcspn(message, "\r\n"), message);
        }
    }
    AVBufferRef *device = kinds[type].device;
    if (!device) snprintf(detail, detail_bytes, "%s", kinds[type].why);
    pthread_mutex_unlock(&opening);
    return device;
}

static enum AVHWDeviceType type_of(const AVBufferRef *device) {
    return ((const AVHWDeviceContext *)device->data)->type;
}

/* The format of the device's frames that a decoder gives; AV_PIX_FMT_NONE: it does not use the device. */
static enum AVPixelFormat device_format(const AVCodec *decoder, enum AVHWDeviceType type) {
    const AVCodecHWConfig *c;
    for (int i = 0; (c = avcodec_get_hw_config(decoder, i)); i++)
        if (c->device_type == type && (c->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX))
            return c->pix_fmt;
    return AV_PIX_FMT_NONE;
}

const AVCodec *media_av_device_decoder(media_av *a, enum AVCodecID codec) {
    void *position = NULL;
    const AVCodec *decoder;
    a->device_format = AV_PIX_FMT_NONE;
    while (a->options.device && !a->off_device && (decoder = av_codec_iterate(&position))) {
        if (decoder->id != codec || !av_codec_is_decoder(decoder)) continue;
        a->device_format = device_format(decoder, type_of(a->options.device));
        if (a->device_format != AV_PIX_FMT_NONE) return decoder;
    }
    return NULL;
}

/* Whether a device that makes no decoder has failed, and not said what it can: only words tell. */
static int has_failed(const char *why) {
    return strstr(why, "Failed to create") ||
           (strstr(why, "CUDA_ERROR_") && !strstr(why, "CUDA_ERROR_NOT_SUPPORTED"));
}

/* The first sequence parameter set of H.264 in `extradata`, behind its header of one byte; NULL: there is none. */
static const uint8_t *first_sps(const AVCodecContext *c, int *size) {
    const uint8_t *p = c->extradata;
    int n = c->extradata_size, at = p && n > 8 && p[0] == 1 ? 8 : -1; /* avcC, or units behind start codes */
    for (int i = 0; at < 0 && i + 4 < n; i++)
        if (!p[i] && !p[i + 1] && p[i + 2] == 1 && (p[i + 3] & 31) == 7) at = i + 3;
    if (at < 0) return NULL;
    *size = n - at - 1;
    return p + at + 1;
}

/* Whether the pictures are H.264 without chroma (chroma_format_idc 0). FFmpeg hands them to devices as 4:2:0, and a device that
 * looks for chroma in them shows noise. */
static int lacks_chroma(const AVCodecContext *c) {
    int size = 0;
    const uint8_t *p = c->codec_id == AV_CODEC_ID_H264 ? first_sps(c, &size) : NULL;
    if (!p || size < 7 || !(p[0] >= 100 || p[0] == 44)) return 0; /* the profiles that name it */
    uint32_t bits = (uint32_t)p[3] << 24 | (uint32_t)p[4] << 16 | (uint32_t)p[5] << 8 | p[6];
    int zeros = bits ? __builtin_clz(bits) : 32; /* of the set's number, up to 31 */
    return zeros <= 5 && bits << (2 * zeros + 1) >> 31;
}

/* FFmpeg offers the device's format first and the processor's last, and asks again without the device's where that refuses the
 * stream. */
static enum AVPixelFormat choose_format(AVCodecContext *c, const enum AVPixelFormat *offered) {
    media_av *a = c->opaque;
    const int without_chroma = lacks_chroma(c);
    for (const enum AVPixelFormat *p = offered; *p != AV_PIX_FMT_NONE && !without_chroma; p++)
        if (*p == a->device_format) return *p;
    if (a->options.device_alone) {
        const char *why = without_chroma ? "pictures without chroma" : media_av_message();
        char text[sizeof a->detail];
        int failed = has_failed(why);
        snprintf(text, sizeof text, "the device %s this stream%s%s",
                 failed ? "makes no decoder for" : "does not decode", *why ? ": " : "", why);
        a->refused = media_av_fail(a, failed ? MEDIA_AV_DEVICE : MEDIA_AV_UNSUPPORTED, text);
        return AV_PIX_FMT_NONE;
    }
    if (c->codec == avcodec_find_decoder(c->codec_id)) {
        while (offered[1] != AV_PIX_FMT_NONE) offered++;
        return *offered;
    }
    a->off_device = 1; /* a decoder for devices alone, as FFmpeg's own of AV1 is; see media_av_send */
    return AV_PIX_FMT_NONE;
}

int media_av_use_device(media_av *a, AVCodecContext *c) {
    if (a->device_format == AV_PIX_FMT_NONE) return 0;
    c->get_format = choose_format;
    c->hw_device_ctx = av_buffer_ref(a->options.device);
    return c->hw_device_ctx ? 0 : AVERROR(ENOMEM);
}

int media_av_device_status(media_av *a, int rc, const char *what) {
    int status = media_av_status(a, rc, what);
    return status == MEDIA_AV_CORRUPT || status == MEDIA_AV_TRUNCATED ? MEDIA_AV_DEVICE : status;
}

/* --- frames --- */

/* The format in which FFmpeg's own decoder gives what devices give with the two planes of chroma in one; NONE: it is another. */
static enum AVPixelFormat planar(int format, enum AVPixelFormat of_decoder) {
    switch (format) {
    case AV_PIX_FMT_NV12: return of_decoder == AV_PIX_FMT_YUVJ420P ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_P010: return AV_PIX_FMT_YUV420P10;
    case AV_PIX_FMT_P016: return AV_PIX_FMT_YUV420P12;
    default: return AV_PIX_FMT_NONE;
    }
}

static void split_8(uint8_t *u, uint8_t *v, const uint8_t *uv, int n) {
    for (int x = 0; x < n; x++) {
        u[x] = uv[2 * x];
        v[x] = uv[2 * x + 1];
    }
}

static void split_16(uint16_t *u, uint16_t *v, const uint16_t *uv, int n, int shift) {
    for (int x = 0; x < n; x++) {
        u[x] = uv[2 * x] >> shift;
        v[x] = uv[2 * x + 1] >> shift;
    }
}

/* The frame in the format of FFmpeg's own decoder, so that all that follows is the same whoever decodes: rows of one
 * codec's pictures are equal byte by byte. Luma stays where it is; what has more bits than 8 has them at the top. */
static int make_planar(AVFrame *f, enum AVPixelFormat to) {
    const int depth = av_pix_fmt_desc_get(to)->comp[0].depth, wide = depth > 8, shift = 16 - depth;
    const int width = (f->width + 1) / 2, height = (f->height + 1) / 2;
    const int pitch = FFALIGN(width << wide, 64);
    AVBufferRef *chroma = av_buffer_alloc(2 * (size_t)pitch * (size_t)height + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!chroma) return AVERROR(ENOMEM);
    uint8_t *u = chroma->data, *v = u + (ptrdiff_t)pitch * height;
    for (ptrdiff_t y = 0; y < height; y++) {
        const uint8_t *uv = f->data[1] + y * f->linesize[1];
        if (wide)
            split_16((void *)(u + y * pitch), (void *)(v + y * pitch), (const void *)uv, width, shift);
        else
            split_8(u + y * pitch, v + y * pitch, uv, width);
    }
    for (ptrdiff_t y = 0; wide && y < f->height; y++) {
        uint16_t *row = (void *)(f->data[0] + y * f->linesize[0]);
        for (int x = 0; x < f->width; x++) row[x] >>= shift;
    }
    av_buffer_unref(&f->buf[1]); /* where there is none, buf[0] has all planes */
    f->buf[1] = chroma;
    f->data[1] = u;
    f->data[2] = v;
    f->linesize[1] = f->linesize[2] = pitch;
    f->format = to;
    return 0;
}

/* The device's whole picture. FFmpeg's copy from CUDA leaves the last row of chroma behind where the height is odd, and
 * in 5.1 says that all is well when it failed: then there is a message. */
static int fetch(AVFrame *to, AVFrame *from) {
    const int height = from->height;
    av_frame_unref(to);
    media_av_forget();
    if (from->hw_frames_ctx) from->height = ((const AVHWFramesContext *)from->hw_frames_ctx->data)->height;
    int rc = av_hwframe_transfer_data(to, from, 0);
    from->height = to->height = height;
    if (rc >= 0 && from->format == AV_PIX_FMT_CUDA && media_av_message()[0]) rc = AVERROR_EXTERNAL;
    return rc < 0 ? rc : av_frame_copy_props(to, from);
}

int media_av_from_device(media_av *a, AVFrame **frame) {
    a->on_device = a->device_format != AV_PIX_FMT_NONE && (*frame)->format == a->device_format;
    if (!a->on_device) return MEDIA_AV_OK;
    int rc = fetch(a->copied, *frame);
    enum AVPixelFormat to = planar(a->copied->format, a->codec->sw_pix_fmt);
    if (rc >= 0 && to != AV_PIX_FMT_NONE) rc = make_planar(a->copied, to);
    if (rc >= 0) rc = av_frame_apply_cropping(a->copied, 0); /* FFmpeg has done it on the right and below */
    av_frame_unref(*frame);
    if (rc < 0) return media_av_device_status(a, rc, "copying a frame from the device");
    *frame = a->copied;
    return MEDIA_AV_OK;
}
