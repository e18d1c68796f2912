/* erase.c - a part of a finished row becomes zeros: torchvision's RandomErasing with its defaults.
 *
 * Draws, in the words of philox.c: operation 7. The first uniform of block 0 says whether, erased if below p. Try t (0-9)
 * takes area from the first and aspect ratio from the second uniform of block 2t + 1; an accepted try takes y, then x
 * from block 2t + 2. After ten tries nothing is erased. */
#include <math.h>
#include <string.h>

#include "internal.h"

enum { OP_ERASE = 7, ERASE_TRIES = 10 };

void media_draw_erased(const media_op *op, const media_draw *d, media_region *to) {
    const double scale_min = 0.02, scale_max = 0.33, log_min = log(0.3), log_max = log(3.3);
    int32_t h = (int32_t)op->out_h, w = (int32_t)op->out_w;
    double u[2];
    *to = (media_region){0};
    if (!media_chance(d, OP_ERASE, 0, op->erase_p)) return;
    for (uint32_t t = 0; t < ERASE_TRIES; t++) {
        media_uniforms(d, OP_ERASE, 2 * t + 1, u);
        double area = (double)h * (double)w * (scale_min + u[0] * (scale_max - scale_min));
        double aspect = exp(log_min + u[1] * (log_max - log_min));
        double eh = rint(sqrt(area * aspect)), ew = rint(sqrt(area / aspect));
        if (!(eh < h && ew < w)) continue;
        media_uniforms(d, OP_ERASE, 2 * t + 2, u);
        to->h = (int32_t)eh;
        to->w = (int32_t)ew;
        to->y = (int32_t)(u[0] * (h - to->h + 1));
        to->x = (int32_t)(u[1] * (w - to->w + 1));
        return;
    }
}

void media_erase(const media_op *op, const media_region *r, void *dst) {
    size_t planes = media_planar(op) ? 3 : 1, line = media_op_row_bytes(op) / planes / op->out_h;
    size_t pixel = line / op->out_w;
    for (size_t plane = 0; plane < planes; plane++) {
        uint8_t *first = (uint8_t *)dst + plane * line * op->out_h + (size_t)r->x * pixel;
        for (int32_t y = r->y; y < r->y + r->h; y++)
            memset(first + (size_t)y * line, 0, (size_t)r->w * pixel);
    }
}
