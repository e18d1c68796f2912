/* unsharp.c - a row sharpened where it differs from its blur: albumentations' UnsharpMask.
 *
 * It is of floats of 32 bits from 0 to 1, each operation rounded but those of the blur, which is cv2.GaussianBlur's of floats: fused, in its order. What differs by more than the threshold is 1 of
 * a mask, and 0 elsewhere; blurred, too, it says how much of the sharper row there is in place of the row.
 *
 * Draws, in the words of philox.c: the first block says whether, and the kernel's size; the next sigma and alpha. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_unsharp(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], more[2];
    if (!media_happens(s, d, LATER_UNSHARP)) return;
    media_uniforms(d, OP_LATER, LATER_UNSHARP, u);
    media_uniforms(d, OP_LATER, LATER_UNSHARP + 1, more);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_UNSHARP,
                                       .size = media_odd(s->of.unsharp.size, u[1]),
                                       .value = media_between(s->of.unsharp.sigma, more[0]),
                                       .mean = media_between(s->of.unsharp.alpha, more[1]),
                                       .first = s->of.unsharp.threshold};
}

/* Without sigma up to 9 taps are whole parts, and more have one by their number. */
void media_gaussian_taps(float *k, int32_t n, double sigma) {
    enum { FIXED = 9 };
    static const float parts[4][5] = {{2, 1}, {6, 4, 1}, {36, 28, 14, 4}, {60, 51, 30, 13, 4}},
                       whole[4] = {4, 16, 128, 256};
    int32_t half = n / 2;
    if (sigma <= 0 && n > 1 && n <= FIXED) {
        for (int32_t i = 0; i <= half; i++) k[half - i] = k[half + i] = parts[half - 1][i] / whole[half - 1];
        return;
    }
    double w[MEDIA_MAX_TAPS / 2 + 1], sum = 0, s = sigma > 0 ? sigma : fma(n, 0.15, 0.35);
    double scale = -0.125 / (s * s);
    for (int32_t i = 0; i < half; i++) {
        double x = 1 - n + 2 * i; /* twice as far as from the middle */
        sum += w[i] = exp(x * x * scale);
    }
    double by = 1 / (sum * 2 + 1);
    for (int32_t i = 0; i < half; i++) k[i] = k[n - 1 - i] = (float)(w[i] * by);
    k[half] = (float)by;
}

void media_shares(float *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i++) to[i] = (float)from[i] / 255;
}

void media_sharper(float *to, uint8_t *mask, const uint8_t *own, const float *blur, int32_t n, float alpha,
                   float threshold) {
    for (int32_t i = 0; i < n; i++) {
        float value = (float)own[i] / 255, residual = value - blur[i], more = alpha * residual;
        to[i] = media_clip(value + more);
        mask[i] = fabsf(residual) * 255 > threshold;
    }
}

void media_soften(uint8_t *to, const uint8_t *own, const float *sharp, const float *soft, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float a = sharp[i] * soft[i], rest = 1 - soft[i], b = (float)own[i] / 255 * rest;
        to[i] = media_nearest_byte(media_clip(media_clip(a) + media_clip(b)) * 255);
    }
}

/* The row, which is a copy with half a kernel more on all sides, as it is being sharpened. */
typedef struct sharpening {
    media_pixels from;
    int32_t half;
    float *sharp; /* a line of floats after the other, sharp_stride apart, of which more may be written */
    size_t sharp_stride;
} sharpening;

static const uint8_t *own_line(const sharpening *s, int32_t y) {
    return media_line(&s->from, y + s->half) + s->half * s->from.step;
}

static float *sharp_line(const sharpening *s, int32_t y) { return s->sharp + (size_t)y * s->sharp_stride; }

/* Sharper than it is; px becomes 1 where it differs from its blur. */
static void sharpen(const sharpening *s, media_gauss *g, const media_retouch *r, const media_pixels *px) {
    float alpha = (float)r->mean, threshold = (float)r->first;
    for (int32_t y = 0; y < s->from.h; y++) {
        const uint8_t *line = media_line(&s->from, y);
        g->by->shares(g->wide, line, s->from.w * s->from.step);
        const float *blur = media_gauss_line(g, y);
        if (!blur) continue;
        int32_t made = y - (g->taps - 1);
        g->by->sharper(sharp_line(s, made), media_line(px, made), own_line(s, made), blur, g->n, alpha,
                       threshold);
    }
}

/* The sharper row and the row by the blurred mask. */
static void mix(const sharpening *s, media_gauss *g, const media_pixels *mask, const media_pixels *px) {
    for (int32_t y = 0; y < mask->h; y++) {
        g->by->widen(g->wide, media_line(mask, y), mask->w * mask->step);
        const float *soft = media_gauss_line(g, y);
        if (!soft) continue;
        int32_t made = y - (g->taps - 1);
        g->by->soften(media_line(px, made), own_line(s, made), sharp_line(s, made), soft, g->n);
    }
}

int media_unsharp(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    sharpening s = {.half = r->size / 2};
    s.from = media_wider(px, s.half);
    media_pixels mask = s.from;
    size_t bytes = media_pixels_bytes(&s.from), blurs = media_gauss_bytes(&s.from, r->size);
    s.sharp_stride = (size_t)px->w * (size_t)px->step;
    size_t floats = (s.sharp_stride * (size_t)px->h + MEDIA_MORE_FLOATS) * sizeof(float);
    s.from.p = media_buf_get(room, 2 * bytes + blurs + floats);
    if (!s.from.p) return MEDIA_NO_MEMORY;
    mask.p = s.from.p + bytes;
    s.sharp = (float *)(void *)(mask.p + bytes + blurs);
    media_gauss g = {.small = r->size == 3 || r->size == 5};
    media_gauss_begin(&g, by->cv2, &s.from, r->size, (float *)(void *)(mask.p + bytes));
    media_gaussian_taps(g.k, r->size, r->value);
    media_copy_bordered(px, s.half, MEDIA_PAD_REFLECT, &s.from);
    sharpen(&s, &g, r, px);
    media_copy_bordered(px, s.half, MEDIA_PAD_REFLECT, &mask);
    mix(&s, &g, &mask, px);
    return MEDIA_OK;
}
