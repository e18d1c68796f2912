//go:build !noffmpeg

/* convert.c - a frame's pixels to RGB. */
#include "video.h"

#include "colour.h"

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_PIXELS = 32 }; /* as many as swscale writes at once, at most */

/* What a swscale context was made for; compared as bytes. */
typedef struct scaler_key {
    int32_t src_w, src_h, src_format, matrix, full_range, dst_w, dst_h, dst_format, flags;
} scaler_key;

struct video_scaler {
    struct SwsContext *sws;
    scaler_key key;
    uint8_t *rows; /* a frame in RGB, its rows as long as swscale may write */
    unsigned rows_bytes;
};

void video_scaler_free(video_scaler **s) {
    if (!*s) return;
    sws_freeContext((*s)->sws);
    av_free((*s)->rows);
    free(*s);
    *s = NULL;
}

/* The deprecated full-range formats are the plain ones with a flag. Grey alone is of full range, whatever it says, as swscale has
 * it. */
static int plain_format(int format, int *full_range) {
    static const struct {
        int j, plain;
    } table[] = {{AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P},
                 {AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P},
                 {AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P},
                 {AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P},
                 {AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUV411P}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].j != format) continue;
        *full_range = 1;
        return table[i].plain;
    }
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)format);
    if (d && d->nb_components <= 2 && !(d->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_RGB)))
        *full_range = 1;
    return format;
}

/* swscale's number for the frame's matrix: what the frame says; where it says nothing BT.601, as FFmpeg has it. */
static int matrix(const AVFrame *f) {
    switch (f->colorspace) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
    default: return SWS_CS_ITU601;
    }
}

static int flags_of(int arithmetic, int filter) {
    static const int filters[] = {SWS_BILINEAR, SWS_BILINEAR, SWS_BICUBIC, SWS_AREA};
    if (arithmetic == VIDEO_TORCHCODEC) return filter == VIDEO_SCALE_NONE ? SWS_BICUBIC : filters[filter];
    return filters[filter] | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
}

static int make(video_scaler *s, const scaler_key *k) {
    sws_freeContext(s->sws);
    s->sws = sws_getContext(k->src_w, k->src_h, k->src_format, k->dst_w, k->dst_h, k->dst_format, k->flags,
                            NULL, NULL, NULL);
    if (!s->sws) return MEDIA_AV_UNSUPPORTED;
    s->key = *k;
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)k->src_format);
    if (d && (d->flags & AV_PIX_FMT_FLAG_RGB)) return MEDIA_AV_OK; /* no matrix applies */
    sws_setColorspaceDetails(s->sws, sws_getCoefficients(k->matrix), k->full_range,
                             sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16);
    return MEDIA_AV_OK;
}

static int scale(const video_scaler *s, const AVFrame *f, int32_t height, uint8_t *dst, int stride_bytes) {
    uint8_t *planes[4] = {dst};
    int strides[4] = {stride_bytes};
    int rows = sws_scale(s->sws, (const uint8_t *const *)f->data, f->linesize, 0, f->height, planes, strides);
    return rows == height ? MEDIA_AV_OK : MEDIA_AV_UNSUPPORTED;
}

static void with_x(const uint8_t *restrict from, int n, uint8_t *restrict to) {
    for (int x = 0; x < n; x++) {
        const uint32_t v = from[3 * x] | (uint32_t)from[3 * x + 1] << 8 | (uint32_t)from[3 * x + 2] << 16;
        ((uint32_t *)(void *)to)[x] = v | 0xff000000u;
    }
}

/* Through rows of our own, which are longer than the frame's: swscale writes whole vectors of pixels, and so past the end of a row
 * that has no room for them, or leaves out the last ones. */
static int scale_apart(video_scaler *s, const AVFrame *f, int format, int32_t width, int32_t height,
                       uint8_t *dst, size_t stride_bytes) {
    const size_t long_row = ((size_t)width + VECTOR_PIXELS) / VECTOR_PIXELS * VECTOR_PIXELS * 3;
    if (long_row * (size_t)height > INT32_MAX) return MEDIA_AV_TOO_MANY_PIXELS;
    av_fast_malloc(&s->rows, &s->rows_bytes, long_row * (size_t)height);
    if (!s->rows) return MEDIA_AV_NO_MEMORY;
    int rc = scale(s, f, height, s->rows, (int)long_row);
    for (size_t y = 0; y < (size_t)height && rc == MEDIA_AV_OK; y++) {
        if (format == VIDEO_RGBX)
            with_x(s->rows + y * long_row, width, dst + y * stride_bytes);
        else
            memcpy(dst + y * stride_bytes, s->rows + y * long_row, (size_t)width * 3);
    }
    return rc;
}

/* Whether swscale makes RGBX of the bytes that it makes RGB of: it has one routine for both. */
static int same_in_rgbx(const scaler_key *k) {
    return !(k->flags & SWS_ACCURATE_RND) && k->src_h % 2 == 0 &&
           (k->src_format == AV_PIX_FMT_YUV420P || k->src_format == AV_PIX_FMT_YUV422P);
}

int video_convert(video_scaler **scaler, const AVFrame *f, int arithmetic, int filter, int format,
                  int32_t width, int32_t height, uint8_t *dst, size_t stride_bytes) {
    int full = f->color_range == AVCOL_RANGE_JPEG;
    int src = plain_format(f->format, &full);
    if (arithmetic != VIDEO_TORCHCODEC && width == f->width && height == f->height) {
        int rc = video_colour(f, full, format == VIDEO_RGBX, arithmetic == VIDEO_PORTABLE, dst, stride_bytes);
        if (rc != MEDIA_AV_UNSUPPORTED) return rc;
    }
    video_scaler *s = *scaler;
    if (!s) s = *scaler = calloc(1, sizeof *s);
    if (!s) return MEDIA_AV_NO_MEMORY;
    scaler_key key = {f->width,
                      f->height,
                      src,
                      matrix(f),
                      full,
                      width,
                      height,
                      AV_PIX_FMT_RGB24,
                      flags_of(arithmetic, filter)};
    const int scaled = width != f->width || height != f->height;
    const int rgbx = format == VIDEO_RGBX && (scaled || same_in_rgbx(&key)); /* whose rows are long enough */
    if (rgbx) key.dst_format = AV_PIX_FMT_RGB0;
    if (!s->sws || memcmp(&s->key, &key, sizeof key) != 0) {
        int rc = make(s, &key);
        if (rc != MEDIA_AV_OK) return rc;
    }
    if (rgbx || (format == VIDEO_RGB24 && width % VECTOR_PIXELS == 0))
        return scale(s, f, height, dst, (int)stride_bytes);
    return scale_apart(s, f, format, width, height, dst, stride_bytes);
}
