/* flare.c - the sun in the picture: albumentations' RandomSunFlare (method overlay).
 *
 * Circles on a line through the sun are drawn on a copy of the row, one on the other, and after each of them the row gets a share of the copy; the same is then done by the sun, a disc that
 * grows, with shares that become less. As a disc lies in the next one, what becomes of a pixel goes by the first it lies in alone: its table does what that one's and all later ones' shares do.
 * Shares are floats, fused as simsimd's for AVX2 has them, and rounded half to even.
 *
 * Draws, in the words of philox.c: the first block says whether, and the angle; the next where the sun is, to the right and down; the third has how many circles; the fourth is their key: of
 * circle i the counters (i, 0, 0, 0) to (i, 2, 0, 0) have its share and place, its radius and red, green and blue. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

static const double PI = 3.141592653589793;

enum { TEN = 10 }; /* of the sun's radius are one disc */

void media_draw_flare(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_flare_step *of = &s->of.flare;
    double u[2], at[2], many[2];
    if (!media_happens(s, d, LATER_FLARE)) return;
    media_uniforms(d, OP_LATER, LATER_FLARE, u);
    media_uniforms(d, OP_LATER, LATER_FLARE + 1, at);
    media_uniforms(d, OP_LATER, LATER_FLARE + 2, many);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_FLARE,
                         .size = (int32_t)media_whole_between(of->n, many[0]),
                         .matrix = {2 * PI * media_between(of->angle, u[1]),
                                    trunc(to->w * (of->roi[0] + at[0] * (of->roi[2] - of->roi[0]))),
                                    trunc(to->h * (of->roi[1] + at[1] * (of->roi[3] - of->roi[1]))),
                                    (double)of->radius}};
    memcpy(r->fill, of->fill, sizeof r->fill);
    media_words(d, OP_LATER, LATER_FLARE + 3, r->key);
}

/* One of the circles on the line. */
typedef struct flare {
    double share;
    int32_t x, y, radius;
    uint8_t colour[3];
} flare;

static void drawn(const media_retouch *r, uint32_t i, uint32_t k, double u[2]) {
    uint32_t words[4] = {i, k};
    media_philox(r->key, words);
    media_uniforms_of(words, u);
}

static flare flare_of(const media_pixels *px, const media_retouch *r, uint32_t i) {
    const double w = px->w, h = px->h, *m = r->matrix;
    const int32_t step = (int32_t)fmax(1, trunc(sqrt(h * h + w * w) * 0.01)),
                  most = (int32_t)fmax(2, trunc(h * 0.01)), places = (px->w + step - 1) / step;
    double first[2], size[2], rest[2];
    int brightest = 0;
    drawn(r, i, 0, first);
    drawn(r, i, 1, size);
    drawn(r, i, 2, rest);
    double far = (int32_t)(first[1] * places) * step - m[1];
    int32_t side = 1 + (int32_t)(size[0] * most);
    flare f = {.share = 0.05 + first[0] * (0.2 - 0.05),
               .x = (int32_t)(m[1] + far * cos(m[0])),
               .y = (int32_t)(m[2] + far * sin(m[0])),
               .radius = side * side * side};
    for (int ch = 0; ch < 3; ch++) brightest = brightest > r->fill[ch] ? brightest : r->fill[ch];
    const double u[3] = {size[1], rest[0], rest[1]};
    for (int ch = 0; ch < 3; ch++) {
        int least = r->fill[ch] - (int)(brightest * 0.2);
        least = least > 0 ? least : 0;
        f.colour[ch] = (uint8_t)(least + (int)(u[ch] * (r->fill[ch] - least + 1)));
    }
    return f;
}

static void share_of(uint8_t table[3][256], const uint8_t colour[3], double share) {
    for (int ch = 0; ch < 3; ch++)
        for (int v = 0; v < 256; v++) table[ch][v] = media_weighted(colour[ch], share, v);
}

/* Pixels go by the table of their number; 0: they stay. */
static void by_mask(const media_pixels *px, const uint8_t *mask, uint8_t (*tables)[3][256]) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step, mask++)
            if (*mask)
                for (int ch = 0; ch < 3; ch++) c[ch] = tables[*mask - 1][ch][c[ch]];
    }
}

/* Number n of many from first to last, evenly. */
static double evenly(double first, double last, int32_t many, int32_t n) {
    if (n == many - 1 && n > 0) return last;
    return many > 1 ? n * ((last - first) / (many - 1)) + first : first;
}

int media_flare(const media_pixels *px, const media_retouch *r, media_buf *room) {
    const int32_t w = px->w, h = px->h, radius = (int32_t)r->matrix[3], discs = radius / TEN;
    const int32_t most = discs > r->size ? discs : r->size;
    flare all[MEDIA_MAX_FLARES];
    double sum = 0, wide = 0;
    uint8_t *mask = media_buf_get(room, (size_t)w * (size_t)h + (size_t)most * 3 * 256);
    if (!mask) return MEDIA_NO_MEMORY;
    uint8_t(*tables)[3][256] = (uint8_t(*)[3][256])(void *)(mask + (size_t)w * (size_t)h);
    memset(mask, 0, (size_t)w * (size_t)h);
    for (int32_t i = 0; i < r->size; i++) {
        all[i] = flare_of(px, r, (uint32_t)i);
        sum += all[i].share * all[i].radius;
        wide += all[i].radius;
        media_draw_disk(mask, w, h, all[i].x, all[i].y, all[i].radius, (uint8_t)(i + 1));
        for (int32_t k = 0; k <= i; k++) share_of(tables[k], all[k].colour, all[i].share);
        by_mask(px, mask, tables);
    }
    double last = fmin(sum / wide * 5, 1);
    memset(mask, 0, (size_t)w * (size_t)h);
    for (int32_t i = discs - 1; i >= 0; i--) {
        double share = evenly(0, last, discs, discs - 1 - i);
        share_of(tables[i], r->fill, share * share * share);
        for (int ch = 0; i + 1 < discs && ch < 3; ch++)
            for (int v = 0; v < 256; v++) tables[i][ch][v] = tables[i + 1][ch][tables[i][ch][v]];
        media_draw_disk(mask, w, h, (int32_t)r->matrix[1], (int32_t)r->matrix[2],
                        (int32_t)evenly(1, radius, discs, i), (uint8_t)(i + 1));
    }
    by_mask(px, mask, tables);
    return MEDIA_OK;
}
