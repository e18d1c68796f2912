/* morph.c - a row's pixels as the largest or the smallest of those around them, as far as an ellipse reaches: albumentations' Morphological, by cv2.dilate and
 * cv2.erode.
 *
 * The ellipse is cv2.getStructuringElement's, whose lines are rounded half to even. What lies beyond the row does not count, for which the outermost pixel stands
 * in: wherever an ellipse has a pixel there, it has that one, too.
 *
 * Draws, in the words of philox.c: the block says whether. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_morph(const media_op *op, const media_draw *d, media_retouches *to) {
    if (!media_chance(d, OP_LATER, LATER_MORPH, op->morph_p)) return;
    to->all[to->n++] = (media_retouch){.kind = op->morph_erodes ? MEDIA_ERODE : MEDIA_DILATE,
                                       .size = (int32_t)op->morph_size[0],
                                       .first = op->morph_size[1]};
}

/* From where to where line y of an ellipse of w x h goes. */
static void line_of(int32_t w, int32_t h, int32_t y, int32_t *first, int32_t *end) {
    int32_t r = h / 2, c = w / 2, dy = y - r;
    double by = r > 0 ? 1 / ((double)r * r) : 0;
    int32_t dx = (int32_t)rint(c * sqrt((r * r - dy * dy) * by));
    *first = c - dx;
    *end = c + dx + 1 < w ? c + dx + 1 : w;
}

/* Vectors run past the end of a line, into slack. */
static void most(uint8_t *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i += (int32_t)sizeof(media_bytes)) {
        media_bytes a = *(const media_bytes *)(to + i), b = *(const media_bytes *)(from + i),
                    is = (media_bytes)(a > b);
        *(media_bytes *)(to + i) = (a & is) | (b & ~is);
    }
}

static void least(uint8_t *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i += (int32_t)sizeof(media_bytes)) {
        media_bytes a = *(const media_bytes *)(to + i), b = *(const media_bytes *)(from + i),
                    is = (media_bytes)(a < b);
        *(media_bytes *)(to + i) = (a & is) | (b & ~is);
    }
}

int media_morph(const media_pixels *px, const media_retouch *r, media_buf *room) {
    media_pixels from;
    int32_t w = r->size, h = (int32_t)r->first, half = (w > h ? w : h) / 2, step = px->step;
    void (*const take)(uint8_t *, const uint8_t *, int32_t) = r->kind == MEDIA_DILATE ? most : least;
    if (!media_bordered(px, half, MEDIA_PAD_EDGE, room, 0, &from)) return MEDIA_NO_MEMORY;
    for (int32_t k = 0; k < h; k++) {
        int32_t first, end;
        line_of(w, h, k, &first, &end);
        for (int32_t y = 0; y < px->h; y++) {
            const uint8_t *line = media_line(&from, y + half - h / 2 + k) + (half - w / 2) * step;
            for (int32_t x = first; x < end; x++) take(media_line(px, y), line + x * step, px->w * step);
        }
    }
    return MEDIA_OK;
}
