//go:build !noffmpeg

/* hardware.c - decoders on devices: opened once, their frames copied to the processor's memory. */
#include "av.h"

#include <libavutil/hwcontext.h>
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

/* FFmpeg offers the device's format first, and asks again without it where the device refuses the stream. */
static enum AVPixelFormat choose_format(AVCodecContext *c, const enum AVPixelFormat *offered) {
    media_av *a = c->opaque;
    for (const enum AVPixelFormat *p = offered; *p != AV_PIX_FMT_NONE; p++)
        if (*p == a->device_format) return *p;
    if (a->options.device_alone) {
        const char *why = media_av_message();
        char text[sizeof a->detail];
        snprintf(text, sizeof text, "the device does not decode this stream%s%s", *why ? ": " : "", why);
        a->refused = media_av_fail(a, MEDIA_AV_UNSUPPORTED, text);
        return AV_PIX_FMT_NONE;
    }
    if (c->codec == avcodec_find_decoder(c->codec_id)) return avcodec_default_get_format(c, offered);
    a->off_device = 1; /* a decoder for devices alone, as FFmpeg's own of AV1 is; see media_av_send */
    return AV_PIX_FMT_NONE;
}

int media_av_use_device(media_av *a, AVCodecContext *c) {
    if (a->device_format == AV_PIX_FMT_NONE) return 0;
    c->get_format = choose_format;
    c->hw_device_ctx = av_buffer_ref(a->options.device);
    return c->hw_device_ctx ? 0 : AVERROR(ENOMEM);
}

int media_av_from_device(media_av *a, AVFrame **frame) {
    a->on_device = a->device_format != AV_PIX_FMT_NONE && (*frame)->format == a->device_format;
    if (!a->on_device) return MEDIA_AV_OK;
    av_frame_unref(a->copied);
    int rc = av_hwframe_transfer_data(a->copied, *frame, 0);
    if (rc >= 0) rc = av_frame_copy_props(a->copied, *frame);
    if (rc < 0) return media_av_status(a, rc, "copying a frame from the device");
    av_frame_unref(*frame);
    *frame = a->copied;
    return MEDIA_AV_OK;
}
