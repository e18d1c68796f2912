/* erase.c - parts of a finished row become one value, or noise: one, as torchvision's RandomErasing has it, or the holes of albumentations' CoarseDropout.
 *
 * Draws, in the words of philox.c: operation 7. The first uniform of block 0 says whether, erased if below p. Try t (0-9)
 * takes area from the first and aspect ratio from the second uniform of block 2t + 1; an accepted try takes y, then x
 * from block 2t + 2. After ten tries nothing is erased. Noise is keyed by the first two words of block 21: value i of a
 * channel of the part, line by line, is that of normal_isa.h. Of holes the second uniform of block 0 says how many; hole i has blocks 2i + 1 and 2i + 2, as
 * holes.c has them. */
#include <math.h>
#include <string.h>

#include "internal.h"

enum { OP_ERASE = 7, ERASE_TRIES = 10, ERASE_NOISE = 2 * ERASE_TRIES + 1 };

void media_draw_erased(const media_op *op, const media_draw *d, media_erased *to) {
    const double scale_min = op->erase_scale_min, scale_max = op->erase_scale_max;
    const double log_min = log(op->erase_ratio_min), log_max = log(op->erase_ratio_max);
    int32_t h = (int32_t)op->out_h, w = (int32_t)op->out_w;
    double u[2];
    to->n = 0;
    if (!media_chance(d, OP_ERASE, 0, op->erase_p)) return;
    if (op->erase_holes.n[1] > 0) {
        media_uniforms(d, OP_ERASE, 0, u);
        to->n = (int32_t)media_whole_between(op->erase_holes.n, u[1]);
        for (int32_t i = 0; i < to->n; i++)
            to->parts[i] = media_draw_hole(&op->erase_holes, d, OP_ERASE, 2 * (uint32_t)i + 1, h, w);
        return;
    }
    for (uint32_t t = 0; t < ERASE_TRIES; t++) {
        media_uniforms(d, OP_ERASE, 2 * t + 1, u);
        double area = (double)h * (double)w * (scale_min + u[0] * (scale_max - scale_min));
        double aspect = exp(log_min + u[1] * (log_max - log_min));
        double eh = rint(sqrt(area * aspect)), ew = rint(sqrt(area / aspect));
        if (!(eh < h && ew < w)) continue;
        media_uniforms(d, OP_ERASE, 2 * t + 2, u);
        media_region *part = &to->parts[to->n++];
        part->h = (int32_t)eh;
        part->w = (int32_t)ew;
        part->y = (int32_t)(u[0] * (h - part->h + 1));
        part->x = (int32_t)(u[1] * (w - part->w + 1));
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

/* A channel's elements of a part: the first at `first`, step from pixel to pixel, line from line to line. */
static void erase_channel(const media_op *op, const media_region *part, media_noise *noise, int ch,
                          uint8_t *first, size_t step, size_t line) {
    for (int32_t y = 0; y < part->h; y++, first += line) {
        uint8_t *to = first;
        for (int32_t x = 0, n = part->w; x < part->w; x += n) {
            const float *normal = op->erase_noise ? media_next_normals(noise, part->w - x, &n) : NULL;
            for (int32_t i = 0; i < n; i++, to += step) put(op, to, normal ? normal[i] : op->erase_value[ch]);
        }
    }
}

void media_erase(const media_op *op, const media_kernels *by, const media_erased *e, void *dst) {
    size_t channels = op->channels, item = media_pixel_bytes(op) / channels;
    size_t planes = media_planar(op) ? channels : 1, step = item * channels / planes;
    size_t line = step * op->line, plane = step * media_plane_pixels(op);
    for (size_t ch = 0; ch < channels; ch++) {
        media_noise noise = {.by = by, .key = e->key, .channel = (uint32_t)ch};
        uint8_t *of = (uint8_t *)dst + (planes > 1 ? ch * plane : ch * item);
        for (const media_region *part = e->parts; part < e->parts + e->n; part++)
            erase_channel(op, part, &noise, (int)ch, of + (size_t)part->y * line + (size_t)part->x * step,
                          step, line);
    }
}
