/* shadow.c - parts of a row that lie in shadow: albumentations' RandomShadow.
 *
 * A shadow is a polygon as cv2.fillPoly fills it: the lines from corner to corner, by Bresenham's way from left to right, and what lies between the first and the
 * second, the third and the fourth of its edges along a line of pixels, whose places are of 16 bits behind the point and move by whole numbers of these from line to line, from the upper
 * end on. Values in it are multiplied by a double and cut.
 *
 * Draws, in the words of philox.c: the first block says whether, and how many; each shadow has two blocks behind it: how dark it is, and the key of its corners, of which number
 * i lies where the counter (i, 0, 0, 0) says, to the right and down. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stdlib.h>

#include "cv2.h"

enum { POINT = 16, HALF = 1 << (POINT - 1) };

typedef struct corner {
    int32_t x, y;
} corner;

void media_draw_shadows(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_shadow_step *of = &s->of.shadow;
    double u[2], dark[2];
    if (!media_happens(s, d, LATER_SHADOW)) return;
    media_uniforms(d, OP_LATER, LATER_SHADOW, u);
    uint32_t n = media_whole_between(of->n, u[1]);
    for (uint32_t i = 0; i < n; i++) {
        media_retouch *r = &to->all[to->n++];
        media_uniforms(d, OP_LATER, LATER_SHADOW + 1 + 2 * i, dark);
        *r = (media_retouch){.kind = MEDIA_SHADOW,
                             .size = (int32_t)of->corners,
                             .value = 1 - media_between(of->intensity, dark[0])};
        for (int k = 0; k < 4; k++) r->matrix[k] = trunc(of->roi[k] * (k & 1 ? to->h : to->w));
        media_words(d, OP_LATER, LATER_SHADOW + 2 + 2 * i, r->key);
    }
}

/* Every pixel of a line is in. */
static void draw_line(uint8_t *mask, int32_t stride, corner a, corner b) {
    if (a.x > b.x) {
        corner c = a;
        a = b;
        b = c;
    }
    int32_t across = b.x - a.x, down = abs(b.y - a.y), turn = b.y < a.y ? -1 : 1;
    int32_t most = across > down ? across : down, least = across > down ? down : across;
    int32_t off = most - 2 * least;
    for (int32_t i = 0; i <= most; i++) {
        mask[(ptrdiff_t)a.y * stride + a.x] = 1;
        int aside = off < 0;
        off += aside ? 2 * most - 2 * least : -2 * least;
        a.x += across >= down || aside;
        a.y += across < down || aside ? turn : 0;
    }
}

/* Where the edges between corners cross line y of pixels, in order; how many. */
static int crossings(const corner *all, int n, int32_t y, int32_t *at) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        corner a = all[i ? i - 1 : n - 1], b = all[i], top = a.y < b.y ? a : b;
        int32_t bottom = a.y < b.y ? b.y : a.y;
        if (y < top.y || y >= bottom) continue;
        int32_t x = top.x * (1 << POINT) + (b.x - a.x) * (1 << POINT) / (b.y - a.y) * (y - top.y);
        int k = found++;
        for (; k > 0 && at[k - 1] > x; k--) at[k] = at[k - 1];
        at[k] = x;
    }
    return found;
}

/* 1 in the polygon. */
static void draw_polygon(uint8_t *mask, int32_t w, int32_t h, const corner *all, int n) {
    int32_t at[MEDIA_MAX_CORNERS];
    for (int i = 0; i < n; i++) draw_line(mask, w, all[i ? i - 1 : n - 1], all[i]);
    for (int32_t y = 0; y < h; y++) {
        int found = crossings(all, n, y, at);
        for (int i = 0; i + 1 < found; i += 2) {
            int32_t first = (at[i] + HALF) >> POINT, last = at[i + 1] >> POINT;
            if (last >= first) memset(mask + (size_t)y * (size_t)w + first, 1, (size_t)(last - first + 1));
        }
    }
}

int media_shadow(const media_pixels *px, const media_retouch *r, media_buf *room) {
    corner all[MEDIA_MAX_CORNERS];
    uint8_t table[256], *mask = media_buf_get(room, (size_t)px->w * (size_t)px->h);
    const int channels = px->step == 1 ? 1 : 3;
    if (!mask) return MEDIA_NO_MEMORY;
    memset(mask, 0, (size_t)px->w * (size_t)px->h);
    for (int32_t i = 0; i < r->size; i++) {
        uint32_t words[4] = {(uint32_t)i};
        double u[2];
        media_philox(r->key, words);
        media_uniforms_of(words, u);
        const double *m = r->matrix;
        all[i] = (corner){(int32_t)(m[0] + (int32_t)(u[0] * (m[2] - m[0]))),
                          (int32_t)(m[1] + (int32_t)(u[1] * (m[3] - m[1])))};
        all[i].x = all[i].x < px->w ? all[i].x : px->w - 1;
        all[i].y = all[i].y < px->h ? all[i].y : px->h - 1;
    }
    draw_polygon(mask, px->w, px->h, all, r->size);
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)fmin(fmax(v * r->value, 0), 255);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        const uint8_t *in = mask + (size_t)y * (size_t)px->w;
        for (int32_t x = 0; x < px->w; x++, c += px->step)
            if (in[x])
                for (int ch = 0; ch < channels; ch++) c[ch] = table[c[ch]];
    }
    return MEDIA_OK;
}
