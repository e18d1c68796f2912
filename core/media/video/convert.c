//go:build !noffmpeg

/* convert.c - a frame's pixels to RGB. */
#include "video.h"

#include "colour.h"

#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

/* What a swscale context was made for; compared as bytes. */
typedef struct scaler_key {
    int32_t src_w, src_h, src_format, matrix, full_range, dst_w, dst_h, dst_format, flags;
} scaler_key;

struct video_scaler {
    struct SwsContext *sws;
    scaler_key key;
};

void video_scaler_free(video_scaler **s) {
    if (!*s) return;
    sws_freeContext((*s)->sws);
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
                      format == VIDEO_RGBX ? AV_PIX_FMT_RGB0 : AV_PIX_FMT_RGB24,
                      flags_of(arithmetic, filter)};
    if (!s->sws || memcmp(&s->key, &key, sizeof key) != 0) {
        int rc = make(s, &key);
        if (rc != MEDIA_AV_OK) return rc;
    }
    uint8_t *planes[4] = {dst};
    int strides[4] = {(int)stride_bytes};
    int rows = sws_scale(s->sws, (const uint8_t *const *)f->data, f->linesize, 0, f->height, planes, strides);
    return rows == height ? MEDIA_AV_OK : MEDIA_AV_UNSUPPORTED;
}
