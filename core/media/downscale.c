/* downscale.c - a row made smaller and as large as it was again, by the nearest pixel: albumentations' Downscale, by cv2.resize.
 *
 * The smaller one's sides are rounded half to even. On the way there a pixel's place is multiplied by one over the scale, on the way back by one over
 * what the sides are of each other, and cut.
 *
 * Draws, in the words of philox.c: the block says whether, and how small. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_downscale(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_DOWNSCALE)) return;
    media_uniforms(d, OP_LATER, LATER_DOWNSCALE, u);
    to->all[to->n++] =
        (media_retouch){.kind = MEDIA_DOWNSCALE, .value = media_between(s->of.downscale.scale, u[1])};
}

static int32_t smaller(int32_t side, double scale) {
    int32_t n = (int32_t)rint(side * scale);
    return n > 1 ? n : 1;
}

static int32_t nearest(int32_t i, double by, int32_t n) {
    int32_t at = (int32_t)floor(i * by);
    return at < n - 1 ? at : n - 1;
}

/* Where element i of a side comes from, which has so few in between. */
static int32_t origin(int32_t i, int32_t side, int32_t few, double scale) {
    return nearest(nearest(i, 1 / ((double)side / few), few), 1 / scale, side);
}

static inline __attribute__((always_inline)) void pick(uint8_t *to, const uint8_t *line, int32_t n,
                                                       size_t step, const int32_t *columns) {
    for (int32_t x = 0; x < n; x++, to += step) memcpy(to, line + (size_t)columns[x] * step, step);
}

void media_downscale(const media_pixels *px, const media_pixels *from, double scale, int32_t *columns) {
    int32_t w = smaller(px->w, scale), h = smaller(px->h, scale);
    if (w == px->w && h == px->h) return;
    for (int32_t x = 0; x < px->w; x++) columns[x] = origin(x, px->w, w, scale);
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *line = media_line(from, origin(y, px->h, h, scale));
        switch (px->step) {
        case 1: pick(media_line(px, y), line, px->w, 1, columns); break;
        case 3: pick(media_line(px, y), line, px->w, 3, columns); break;
        default: pick(media_line(px, y), line, px->w, 4, columns); break;
        }
    }
}
