/* cv2_smooth.c - bytes blurred as cv2.GaussianBlur does it, and what comes of it: albumentations' GlassBlur.
 *
 * A kernel is of 256ths, each of which takes along what the one before lost by rounding; sums along lines are whole numbers of 16 bits, and those across lines are rounded.
 *
 * Draws, in the words of philox.c: GLASS's first block says whether; the next is the key of how far pixels go: down by the words of channel 2 t of turn t, to
 * the right by those of channel 2 t + 1, each a whole number from -delta to delta - 1. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

enum { WHOLE = 256, HALF = 1 << 15, BITS = 16 };

/* Small kernels without a sigma are whole numbers of 256ths. */
static void shares_of(double *k, int32_t n, double sigma) {
    enum { FIXED = 9 };
    static const double parts[5][5] = {{256}, {128, 64}, {96, 64, 16}, {72, 56, 28, 8}, {60, 51, 30, 13, 4}};
    double sum = 1, s = sigma > 0 ? sigma : fma(n, 0.15, 0.35), by = -0.125 / (s * s);
    int32_t half = n / 2;
    for (int32_t i = 0; i < half; i++) {
        double x = 1 - n + 2 * i; /* twice as far as from the middle */
        k[i] = sigma <= 0 && n <= FIXED ? parts[half][half - i] / WHOLE : exp(x * x * by);
        sum += 2 * k[i];
    }
    if (sigma > 0 || n > FIXED)
        for (int32_t i = 0; i < half; i++) k[i] /= sum;
}

static void weights_of(uint16_t *to, int32_t n, double sigma) {
    double k[MEDIA_MAX_KERNEL], lost = 0;
    int32_t sum = 0;
    shares_of(k, n, sigma);
    for (int32_t i = 0; i < n / 2; i++) {
        double v = k[i] * WHOLE + lost, whole = rint(v);
        lost = v - whole;
        to[i] = to[n - 1 - i] = (uint16_t)whole;
        sum += 2 * (int32_t)whole;
    }
    to[n / 2] = (uint16_t)(WHOLE - sum);
}

void media_smooth_across(uint16_t *to, const uint8_t *from, const uint16_t *k, int32_t taps, int32_t step,
                         int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (int32_t t = 0; t < taps; t++) sum += (uint32_t)k[t] * from[t * step + i];
        to[i] = (uint16_t)sum;
    }
}

void media_smooth_down(uint8_t *to, const uint16_t *const *lines, const uint16_t *k, int32_t taps,
                       int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        uint32_t sum = HALF;
        for (int32_t t = 0; t < taps; t++) sum += (uint32_t)k[t] * lines[t][i];
        to[i] = (uint8_t)(sum >> BITS);
    }
}

int media_smooth(const media_pixels *px, const media_kernels *by, int32_t n, double sigma, media_buf *room) {
    uint16_t k[MEDIA_MAX_KERNEL];
    const uint16_t *lines[MEDIA_MAX_KERNEL];
    media_pixels from;
    const int32_t values = px->w * px->step;
    const size_t stride = ((size_t)values + 31) & ~(size_t)15;
    uint16_t *kept = (uint16_t *)(void *)media_bordered(px, n / 2, MEDIA_PAD_REFLECT, room,
                                                        (size_t)n * stride * sizeof *kept, &from);
    if (!kept) return MEDIA_NO_MEMORY;
    weights_of(k, n, sigma);
    for (int32_t y = 0; y < from.h; y++) {
        by->cv2->smooth_across(kept + (size_t)(y % n) * stride, media_line(&from, y), k, n, px->step, values);
        int32_t first = y - (n - 1);
        if (first < 0) continue;
        for (int32_t t = 0; t < n; t++) lines[t] = kept + (size_t)((first + t) % n) * stride;
        by->cv2->smooth_down(media_line(px, first), lines, k, n, values);
    }
    return MEDIA_OK;
}

void media_draw_glass(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_glass_step *of = &s->of.glass;
    if (!media_happens(s, d, LATER_GLASS)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_GLASS,
                         .size = (int32_t)of->delta,
                         .value = of->sigma,
                         .matrix = {(double)of->times, (double)of->exact}};
    media_words(d, OP_LATER, LATER_GLASS + 1, r->key);
}

/* The numbers of one turn. */
typedef struct far {
    media_each down, right;
    uint32_t delta;
} far;

static far far_of(const media_kernels *by, const media_retouch *r, uint32_t turn) {
    return (far){.down = {.by = by, .key = r->key, .channel = 2 * turn},
                 .right = {.by = by, .key = r->key, .channel = 2 * turn + 1},
                 .delta = (uint32_t)r->size};
}

static int32_t next_of(media_each *e, uint32_t delta) {
    return (int32_t)(((uint64_t)media_next_word(e) * (2 * delta)) >> 32) - (int32_t)delta;
}

/* Where the next pixel's other one is. */
static uint8_t *other(far *f, const media_pixels *px, int32_t x, int32_t y) {
    int32_t down = next_of(&f->down, f->delta), right = next_of(&f->right, f->delta);
    return media_line(px, y + down) + (size_t)(x + right) * (size_t)px->step;
}

/* One after the other, from the bottom right on, line by line. Of colours the other pixel stays, as numpy's assignment there is from a view of what has changed; grey changes places. */
static void swap_exactly(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                         uint32_t turn) {
    const int32_t d = r->size;
    const size_t step = (size_t)px->step;
    far f = far_of(by, r, turn);
    for (int32_t y = px->h - d; y > d; y--)
        for (int32_t x = px->w - d; x > d; x--) {
            uint8_t was[4], *a = media_line(px, y) + (size_t)x * step, *b = other(&f, px, x, y);
            memcpy(was, a, step);
            memcpy(a, b, step);
            if (step == 1) memcpy(b, was, step);
        }
}

/* All at once, column by column from the bottom right on: each pixel becomes its other one, and then each of the others what the last pixel was whose other one it is. */
static int swap_fast(const media_pixels *px, const media_kernels *by, const media_retouch *r, uint32_t turn,
                     media_buf *room) {
    const int32_t d = r->size;
    const size_t step = (size_t)px->step;
    media_pixels was;
    if (!media_copy_pixels(px, room, 0, &was)) return MEDIA_NO_MEMORY;
    far f = far_of(by, r, turn);
    for (int32_t x = px->w - d; x > d; x--)
        for (int32_t y = px->h - d; y > d; y--)
            memcpy(media_line(px, y) + (size_t)x * step, other(&f, &was, x, y), step);
    f = far_of(by, r, turn);
    for (int32_t x = px->w - d; x > d; x--)
        for (int32_t y = px->h - d; y > d; y--)
            memcpy(other(&f, px, x, y), media_line(&was, y) + (size_t)x * step, step);
    return MEDIA_OK;
}

int media_glass(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    int32_t n = (int32_t)rint(r->value * 6 + 1) | 1;
    int rc = media_smooth(px, by, n, r->value, room);
    for (uint32_t turn = 0; rc == MEDIA_OK && turn < (uint32_t)r->matrix[0]; turn++) {
        if (r->matrix[1] != 0)
            swap_exactly(px, by, r, turn);
        else
            rc = swap_fast(px, by, r, turn, room);
    }
    return rc == MEDIA_OK ? media_smooth(px, by, n, r->value, room) : rc;
}
