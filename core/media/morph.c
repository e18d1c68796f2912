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

void media_draw_morph(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_MORPH)) return;
    to->all[to->n++] = (media_retouch){.kind = s->of.morph.erodes ? MEDIA_ERODE : MEDIA_DILATE,
                                       .size = (int32_t)s->of.morph.size[0],
                                       .first = s->of.morph.size[1]};
}

typedef media_bytes bytes;

static inline bytes largest(bytes a, bytes b) {
    bytes is = (bytes)(a > b);
    return (a & is) | (b & ~is);
}

static inline bytes smallest(bytes a, bytes b) {
    bytes is = (bytes)(a < b);
    return (a & is) | (b & ~is);
}

#define ISA
#include "morph_isa.h"

void media_spread_portable(const media_spread *s, const uint8_t *line, int32_t n) { spread(s, line, n); }

/* How far line dy above or below the middle of an ellipse of w x h goes. */
static int32_t reach_of(int32_t w, int32_t h, int32_t dy) {
    int32_t r = h / 2, c = w / 2;
    double by = r > 0 ? 1 / ((double)r * r) : 0;
    return (int32_t)rint(c * sqrt((r * r - dy * dy) * by));
}

/* Line y is one of the ellipse's around those from h - 1 - h / 2 above it to h / 2 below it, of which the furthest reach least. */
static void lines_around(media_spread *s, const media_pixels *px, const int32_t *reach, int32_t h,
                         int32_t y) {
    s->n = 0;
    for (int32_t dy = h / 2; dy >= 0; dy--) {
        const int32_t at[2] = {y + dy, y - dy};
        for (int k = 0; k < (dy > 0 ? 2 : 1); k++) {
            if (at[k] < 0 || at[k] >= px->h || y - at[k] > h - 1 - h / 2) continue;
            s->reach[s->n] = reach[dy];
            s->to[s->n++] = media_line(px, at[k]);
        }
    }
}

int media_morph(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    media_pixels from;
    int32_t w = r->size, h = (int32_t)r->first, half = (w > h ? w : h) / 2, reach[MEDIA_MAX_KERNEL / 2 + 1];
    media_spread s = {.smallest = r->kind == MEDIA_ERODE, .step = px->step, .right = w - 1 - w / 2};
    if (!media_bordered(px, half, MEDIA_PAD_EDGE, room, 0, &from)) return MEDIA_NO_MEMORY;
    for (int32_t dy = 0; dy <= h / 2; dy++) reach[dy] = reach_of(w, h, dy);
    for (int32_t y = -half; y < px->h + half; y++) {
        lines_around(&s, px, reach, h, y);
        by->cv2->spread(&s, media_line(&from, y + half) + half * px->step, px->w * px->step);
    }
    return MEDIA_OK;
}
