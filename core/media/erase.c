/* erase.c - a part of a finished row becomes one value, or noise: torchvision's RandomErasing.
 *
 * Draws, in the words of philox.c: operation 7. The first uniform of block 0 says whether, erased if below p. Try t (0-9)
 * takes area from the first and aspect ratio from the second uniform of block 2t + 1; an accepted try takes y, then x
 * from block 2t + 2. After ten tries nothing is erased. Noise is keyed by the first two words of block 21: value i of a
 * channel of the part, line by line, is that of normal_isa.h. */
#include <math.h>
#include <string.h>

#include "internal.h"

enum { OP_ERASE = 7, ERASE_TRIES = 10, ERASE_NOISE = 2 * ERASE_TRIES + 1 };

void media_draw_erased(const media_op *op, const media_draw *d, media_erased *to) {
    const double scale_min = op->erase_scale_min, scale_max = op->erase_scale_max;
    const double log_min = log(op->erase_ratio_min), log_max = log(op->erase_ratio_max);
    int32_t h = (int32_t)op->out_h, w = (int32_t)op->out_w;
    double u[2];
    *to = (media_erased){0};
    if (!media_chance(d, OP_ERASE, 0, op->erase_p)) return;
    for (uint32_t t = 0; t < ERASE_TRIES; t++) {
        media_uniforms(d, OP_ERASE, 2 * t + 1, u);
        double area = (double)h * (double)w * (scale_min + u[0] * (scale_max - scale_min));
        double aspect = exp(log_min + u[1] * (log_max - log_min));
        double eh = rint(sqrt(area * aspect)), ew = rint(sqrt(area / aspect));
        if (!(eh < h && ew < w)) continue;
        media_uniforms(d, OP_ERASE, 2 * t + 2, u);
        to->part.h = (int32_t)eh;
        to->part.w = (int32_t)ew;
        to->part.y = (int32_t)(u[0] * (h - to->part.h + 1));
        to->part.x = (int32_t)(u[1] * (w - to->part.w + 1));
        if (op->erase_noise) media_words(d, OP_ERASE, ERASE_NOISE, to->key);
        return;
    }
}

/* An element of the row's type. */
static inline void put(const media_op *op, uint8_t *to, float v) {
    uint16_t half;
    switch (op->dtype) {
    case MEDIA_U8: *to = (uint8_t)v; break;
    case MEDIA_F32: memcpy(to, &v, sizeof v); break;
    default: half = op->dtype == MEDIA_BF16 ? media_bf16(v) : media_f16(v); memcpy(to, &half, sizeof half);
    }
}

/* A channel's elements of the part: the first at `first`, step from pixel to pixel, line from line to line. */
static void erase_channel(const media_op *op, const media_kernels *by, const media_erased *e, int ch,
                          uint8_t *first, size_t step, size_t line) {
    media_noise noise = {.by = by, .key = e->key, .channel = (uint32_t)ch};
    for (int32_t y = 0; y < e->part.h; y++, first += line) {
        uint8_t *to = first;
        for (int32_t x = 0, n = e->part.w; x < e->part.w; x += n) {
            const float *normal = op->erase_noise ? media_next_normals(&noise, e->part.w - x, &n) : NULL;
            for (int32_t i = 0; i < n; i++, to += step) put(op, to, normal ? normal[i] : op->erase_value[ch]);
        }
    }
}

void media_erase(const media_op *op, const media_kernels *by, const media_erased *e, void *dst) {
    if (e->part.h == 0) return;
    size_t channels = op->channels, item = media_pixel_bytes(op) / channels;
    size_t planes = media_planar(op) ? channels : 1, step = item * channels / planes;
    size_t line = step * op->line, plane = step * media_plane_pixels(op);
    for (size_t ch = 0; ch < channels; ch++) {
        uint8_t *first = (uint8_t *)dst + (planes > 1 ? ch * plane : ch * item);
        first += (size_t)e->part.y * line + (size_t)e->part.x * step;
        erase_channel(op, by, e, (int)ch, first, step, line);
    }
}
