//go:build !noffmpeg

/* colour.c - planar YUV of 8 to 12 bits to RGB: chroma interpolated to where the stream says that it lies, the frame's
 * matrix in 14-bit fixed point, one rounding at the end. swscale under any flags repeats or averages lines of chroma in
 * equal heights, and takes ten times as long.
 *
 * Each loop is plain C that the compiler turns into vectors; the whole is compiled once for any processor and once for
 * AVX2, so that both give the same bytes. */
#include "colour.h"

#include <libavutil/pixdesc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A chroma value is a sum with weights that add up to 16: four bits more than a sample has, of which pictures of more than ten bits
 * keep two. */
enum { COEFFICIENT_BITS = 14, WEIGHT_BITS = 4, DEEP_WEIGHT_BITS = 2, MAX_DEPTH = 12 };

/* What a line needs. */
typedef struct plan {
    int32_t width, chroma_width;
    int32_t half_w, half_h; /* 1: chroma is subsampled along that axis */
    int32_t cosited_x, cosited_y;
    int32_t wide; /* samples are 16-bit words */
    int32_t weight_bits;
    int32_t shift, luma_zero, chroma_zero;
    int32_t cy, rv, gu, gv, bu;
} plan;

/* Kr and Kb of the frame's matrix; BT.601 where it names none. */
static void primaries(const AVFrame *f, double *kr, double *kb) {
    switch (f->colorspace) {
    case AVCOL_SPC_BT709: *kr = 0.2126, *kb = 0.0722; break;
    case AVCOL_SPC_FCC: *kr = 0.30, *kb = 0.11; break;
    case AVCOL_SPC_SMPTE240M: *kr = 0.212, *kb = 0.087; break;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: *kr = 0.2627, *kb = 0.0593; break;
    default: *kr = 0.299, *kb = 0.114; break;
    }
}

static void coefficients(plan *p, const AVFrame *f, int full, int depth) {
    double kr, kb, unit = 1 << (depth - 8), one = 1 << COEFFICIENT_BITS;
    double luma = full ? 255 / (256 * unit - 1) : 255 / (219 * unit);
    double chroma = full ? 255 / (256 * unit - 1) : 255 / (224 * unit);
    /* scaled so that the shift is the same for every depth */
    double y = luma * unit * one, c = chroma * unit * one;
    primaries(f, &kr, &kb);
    p->cy = (int32_t)lrint(y);
    p->rv = (int32_t)lrint(2 * (1 - kr) * c);
    p->bu = (int32_t)lrint(2 * (1 - kb) * c);
    p->gu = (int32_t)lrint(-2 * (1 - kb) * kb / (1 - kr - kb) * c);
    p->gv = (int32_t)lrint(-2 * (1 - kr) * kr / (1 - kr - kb) * c);
    p->weight_bits = depth <= 10 ? WEIGHT_BITS : DEEP_WEIGHT_BITS;
    p->shift = COEFFICIENT_BITS + p->weight_bits + depth - 8;
    p->luma_zero = full ? 0 : 16 << (depth - 8 + p->weight_bits);
    p->chroma_zero = 128 << (depth - 8 + p->weight_bits);
}

/* Beside the left luma sample unless told otherwise, as H.264 and HEVC have it; decoders of JPEG and MPEG-1 tell. */
static void siting(plan *p, const AVFrame *f) {
    enum AVChromaLocation l = f->chroma_location;
    if (l == AVCHROMA_LOC_UNSPECIFIED) l = AVCHROMA_LOC_LEFT;
    p->cosited_x = l == AVCHROMA_LOC_LEFT || l == AVCHROMA_LOC_TOPLEFT || l == AVCHROMA_LOC_BOTTOMLEFT;
    p->cosited_y = l == AVCHROMA_LOC_TOPLEFT || l == AVCHROMA_LOC_TOP;
}

static int make_plan(plan *p, const AVFrame *f, int full) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    uint64_t other =
        AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT;
    if (!d || d->nb_components < 3 || !(d->flags & AV_PIX_FMT_FLAG_PLANAR) || (d->flags & other)) return 0;
    int depth = d->comp[0].depth; /* what is left out below is a plane of alpha */
    if (depth < 8 || depth > MAX_DEPTH || d->comp[0].shift || d->comp[1].plane != 1 || d->comp[2].plane != 2)
        return 0;
    if (d->log2_chroma_w > 1 || d->log2_chroma_h > 1 || d->comp[0].step != (depth + 7) / 8) return 0;
    p->width = f->width;
    p->half_w = d->log2_chroma_w;
    p->half_h = d->log2_chroma_h;
    p->chroma_width = (f->width + p->half_w) >> p->half_w;
    p->wide = depth > 8;
    siting(p, f);
    coefficients(p, f, full, depth);
    return 1;
}

#define INLINE static inline __attribute__((always_inline))

/* Two lines of a plane, weighed; a sample before the first and one after the last repeat those. */
INLINE void vertical(const plan *p, const uint8_t *near, const uint8_t *far, int wn, int wf,
                     int16_t *restrict to) {
    int n = p->chroma_width;
    if (p->wide)
        for (int x = 0; x < n; x++)
            to[x] = (int16_t)(wn * ((const uint16_t *)(const void *)near)[x] +
                              wf * ((const uint16_t *)(const void *)far)[x]);
    else
        for (int x = 0; x < n; x++) to[x] = (int16_t)(wn * near[x] + wf * far[x]);
    to[-1] = to[0];
    to[n] = to[n - 1];
}

/* As below, for what four weighed bits more would be too large. */
INLINE void horizontal_deep(const plan *p, const int16_t *restrict from, int16_t *restrict to) {
    int n = p->chroma_width;
    if (!p->half_w)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (p->cosited_x)
        for (int x = 0; x < n; x++) {
            to[2 * x] = from[x];
            to[2 * x + 1] = (int16_t)((from[x] + from[x + 1] + 1) >> 1);
        }
    else
        for (int x = 0; x < n; x++) {
            to[2 * x] = (int16_t)((3 * from[x] + from[x - 1] + 2) >> 2);
            to[2 * x + 1] = (int16_t)((3 * from[x] + from[x + 1] + 2) >> 2);
        }
}

INLINE void horizontal(const plan *p, const int16_t *restrict from, int16_t *restrict to) {
    int n = p->chroma_width;
    if (p->weight_bits == DEEP_WEIGHT_BITS)
        horizontal_deep(p, from, to);
    else if (!p->half_w)
        for (int x = 0; x < n; x++) to[x] = (int16_t)(4 * from[x]);
    else if (p->cosited_x)
        for (int x = 0; x < n; x++) {
            to[2 * x] = (int16_t)(4 * from[x]);
            to[2 * x + 1] = (int16_t)(2 * (from[x] + from[x + 1]));
        }
    else
        for (int x = 0; x < n; x++) {
            to[2 * x] = (int16_t)(3 * from[x] + from[x - 1]);
            to[2 * x + 1] = (int16_t)(3 * from[x] + from[x + 1]);
        }
}

INLINE uint32_t clipped(int32_t v) { return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

INLINE uint32_t pixel(const plan *p, int32_t y, int32_t u, int32_t v) {
    int32_t l = p->cy * (y - p->luma_zero) + (1 << (p->shift - 1));
    u -= p->chroma_zero;
    v -= p->chroma_zero;
    return clipped((l + p->rv * v) >> p->shift) | clipped((l + p->gu * u + p->gv * v) >> p->shift) << 8 |
           clipped((l + p->bu * u) >> p->shift) << 16 | 0xff000000u;
}

INLINE void matrix(const plan *p, const uint8_t *luma, const int16_t *restrict u, const int16_t *restrict v,
                   uint32_t *restrict to) {
    if (p->wide)
        for (int x = 0; x < p->width; x++)
            to[x] = pixel(p, ((const uint16_t *)(const void *)luma)[x] << p->weight_bits, u[x], v[x]);
    else
        for (int x = 0; x < p->width; x++) to[x] = pixel(p, luma[x] << WEIGHT_BITS, u[x], v[x]);
}

INLINE void without_x(const uint32_t *restrict from, int n, uint8_t *restrict to) {
    for (int x = 0; x < n; x++) {
        to[3 * x] = (uint8_t)from[x];
        to[3 * x + 1] = (uint8_t)(from[x] >> 8);
        to[3 * x + 2] = (uint8_t)(from[x] >> 16);
    }
}

/* Which line of chroma is near line y, which far, and the far one's weight of 4. */
INLINE void lines(const plan *p, int y, int chroma_height, int *near, int *far, int *weight) {
    *near = *far = y;
    *weight = 0;
    if (!p->half_h) return;
    int odd = y & 1;
    *near = y >> 1;
    *weight = p->cosited_y ? 2 * odd : 1;
    *far = p->cosited_y || odd ? *near + 1 : *near - 1;
    if (*far < 0) *far = 0;
    if (*far >= chroma_height) *far = chroma_height - 1;
}

INLINE void all_lines(const plan *p, const AVFrame *f, int rgbx, int16_t *scratch, uint8_t *dst,
                      size_t stride) {
    size_t n = (size_t)p->width + 64;
    int16_t *line = scratch + 32, *u = line + n, *v = u + n;
    uint32_t *pixels = (uint32_t *)(void *)(v + n);
    int height = (f->height + p->half_h) >> p->half_h, near, far, weight;
    for (int y = 0; y < f->height; y++, dst += stride) {
        lines(p, y, height, &near, &far, &weight);
        for (int plane = 1; plane < 3; plane++) {
            const uint8_t *base = f->data[plane];
            ptrdiff_t step = f->linesize[plane];
            vertical(p, base + near * step, base + far * step, 4 - weight, weight, line);
            horizontal(p, line, plane == 1 ? u : v);
        }
        matrix(p, f->data[0] + (ptrdiff_t)y * f->linesize[0], u, v, rgbx ? (uint32_t *)(void *)dst : pixels);
        if (!rgbx) without_x(pixels, p->width, dst);
    }
}

typedef void (*lines_function)(const plan *, const AVFrame *, int, int16_t *, uint8_t *, size_t);

__attribute__((optimize("O3"))) static void portable(const plan *p, const AVFrame *f, int rgbx,
                                                     int16_t *scratch, uint8_t *dst, size_t stride) {
    all_lines(p, f, rgbx, scratch, dst, stride);
}

#if defined(__x86_64__)
__attribute__((optimize("O3"), target("avx2"))) static void
with_avx2(const plan *p, const AVFrame *f, int rgbx, int16_t *scratch, uint8_t *dst, size_t stride) {
    all_lines(p, f, rgbx, scratch, dst, stride);
}

static lines_function best(void) { return __builtin_cpu_supports("avx2") ? with_avx2 : portable; }
#else
static lines_function best(void) { return portable; }
#endif

int video_colour(const AVFrame *f, int full_range, int rgbx, int plain, uint8_t *dst, size_t stride_bytes) {
    plan p;
    if (!make_plan(&p, f, full_range)) return MEDIA_AV_UNSUPPORTED;
    /* three lines of 16-bit values and one of pixels, each with room for the sample past an odd end */
    int16_t *scratch = aligned_alloc(64, (((size_t)p.width + 64) * 10 + 64 + 63) & ~(size_t)63);
    if (!scratch) return MEDIA_AV_NO_MEMORY;
    (plain ? portable : best())(&p, f, rgbx, scratch, dst, stride_bytes);
    free(scratch);
    return MEDIA_AV_OK;
}
