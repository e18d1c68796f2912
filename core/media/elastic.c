/* elastic.c - a row as if of rubber: torchvision's ElasticTransform, which of PIL images, too, takes grid_sample's pixels.
 *
 * Each pixel is taken from a place beside its own: by numbers of -1 to 1, one along x and one along y, blurred, times alpha over
 * the width (along x) and the height (along y), of a grid on which a side is from -1 to 1. Their blur is a Gaussian of 4 sigma to
 * either side, mirrored at the borders. torch sums its k x k products in an order of its own; here rows are blurred and then
 * columns, which moves a place by some 1e-5 of a pixel at most. From there on each step is torch's, rounded to float.
 *
 * Draws, in the words of philox.c: the first uniform of block 16 of operation 15 says whether. The words of block 17 are a key;
 * number i of axis a (0: x), line by line, is word i % 4 of Philox4x32-10 under the key's first two at counter (i / 4, 0, a, 0):
 * its upper 24 bits, of 2^24. A video's frames have one map. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

void media_draw_elastic(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_ELASTIC)) return;
    media_retouch *r = media_add_taken(to, MEDIA_ELASTIC, &s->of.elastic.by);
    r->value = s->of.elastic.sigma;
    memcpy(r->matrix, s->of.elastic.alpha, sizeof s->of.elastic.alpha);
    media_words(d, OP_LATER, LATER_ELASTIC_KEY, r->key);
}

/* Of the blur, whose middle is a number: 4 sigma to either side. 0: none. */
static int32_t taps_of(double sigma) { return sigma > 0 ? (int32_t)(8 * sigma + 1) | 1 : 0; }

void media_draw_even(const uint32_t key[2], uint32_t axis, float *to, size_t n) {
    for (size_t i = 0; i < n; i += 4) {
        uint32_t c[4] = {(uint32_t)(i / 4), 0, axis, 0};
        media_philox(key, c);
        for (size_t k = 0; k < 4 && i + k < n; k++) to[i + k] = (float)(c[k] >> 8) * 0x1p-24f * 2 - 1;
    }
}

/* How far pixels go along an axis. Older releases of torchvision divide by the other side. */
static void draw_ways(const media_retouch *r, uint32_t axis, int32_t w, int32_t h, float *to, float *room) {
    size_t n = (size_t)w * (size_t)h;
    int32_t taps = taps_of(r->value);
    float alpha = (float)r->matrix[axis], side = (float)(axis == 0 ? w : h);
    media_draw_even(r->key, axis, to, n);
    if (taps > 1) media_blur_plane(to, w, h, room, taps, r->value);
    for (size_t i = 0; i < n; i++) to[i] = to[i] * alpha / side;
}

/* A pixel's middle on the grid, and a place of the grid in pixels' middles. */
static float on_grid(int32_t i, int32_t n) {
    return (float)media_linspace((double)(1 - n) / n, (double)(n - 1) / n, n, i);
}

static float in_pixels(float at, int32_t n) { return (at + 1) * ((float)n / 2) - 0.5f; }

/* Rounded half to even, of 0 to 255. */
static uint8_t to_byte(float v) { return (uint8_t)lrintf(v); }

/* One pixel from the four around a place; those that are not there are black, and as much of fill comes to them. */
static void mix(uint8_t *to, const media_pixels *from, int channels, float x, float y, const uint8_t *fill) {
    float left = floorf(x), top = floorf(y), east = x - left, south = y - top, west = 1 - east,
          north = 1 - south;
    const float share[4] = {north * west, north * east, south * west, south * east};
    const uint8_t *at[4];
    float there = 0;
    for (int i = 0; i < 4; i++) {
        float px = left + (float)(i & 1), py = top + (float)(i >> 1);
        int is = px >= 0 && px < (float)from->w && py >= 0 && py < (float)from->h;
        at[i] = is ? media_line(from, (int32_t)py) + (size_t)(int32_t)px * (size_t)from->step : NULL;
        if (is) there += share[i];
    }
    for (int ch = 0; ch < channels; ch++) {
        float v = 0;
        for (int i = 0; i < 4; i++)
            if (at[i]) v += (float)at[i][ch] * share[i];
        to[ch] = to_byte(v * there + (1 - there) * fill[ch]);
    }
}

/* The nearest pixel, or fill. */
static void pick(uint8_t *to, const media_pixels *from, int channels, float x, float y, const uint8_t *fill) {
    x = rintf(x);
    y = rintf(y);
    int is = x >= 0 && x < (float)from->w && y >= 0 && y < (float)from->h;
    const uint8_t *at = is ? media_line(from, (int32_t)y) + (size_t)(int32_t)x * (size_t)from->step : fill;
    for (int ch = 0; ch < channels; ch++) to[ch] = at[ch];
}

static size_t numbers(const media_pixels *px) { return (size_t)px->w * (size_t)px->h; }

size_t media_elastic_bytes(const media_pixels *px, const media_retouch *r) {
    const media_pixels plane = {.w = px->w, .h = px->h, .step = 1};
    return (2 * numbers(px) + (size_t)px->w) * sizeof(float) + media_blur_bytes(&plane, taps_of(r->value));
}

void media_warp_elastic(const media_pixels *px, const media_pixels *from, const media_retouch *r,
                        float *room) {
    float *along_x = room, *along_y = along_x + numbers(px), *columns = along_y + numbers(px);
    int channels = px->step == 1 ? 1 : 3;
    draw_ways(r, 0, px->w, px->h, along_x, columns + px->w);
    draw_ways(r, 1, px->w, px->h, along_y, columns + px->w);
    for (int32_t x = 0; x < px->w; x++) columns[x] = on_grid(x, px->w);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        float line = on_grid(y, px->h);
        for (int32_t x = 0; x < px->w; x++, to += px->step) {
            float sx = in_pixels(columns[x] + *along_x++, px->w), sy = in_pixels(line + *along_y++, px->h);
            (r->size == MEDIA_BILINEAR ? mix : pick)(to, from, channels, sx, sy, r->fill);
        }
    }
}
