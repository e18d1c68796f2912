/* cv2_rows.c - the passes of cv2.c's filters in plain C.
 *
 * Between the passes LINEAR keeps 16-bit sums, four bits of 11 dropped; CUBIC, LANCZOS4 and MEAN 32-bit ones; AREA floats. Along y
 * LINEAR drops 16 bits of either product and rounds the last two; CUBIC is floats that are added from the last tap on, but for the
 * last elements of a line; MEAN and AREA round to the nearest, half to even, HALVES half up. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "resample.h"

enum { BITS = 22 }; /* of both passes' coefficients */

static uint8_t byte(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v; }

/* Line t's elements, as the mid buffer has them. */
static const int16_t *shorts(const uint8_t *src) { return (const int16_t *)(const void *)src; }
static const int32_t *ints(const uint8_t *src) { return (const int32_t *)(const void *)src; }
static const float *floats(const uint8_t *src) { return (const float *)(const void *)src; }

/* Where tap t of output i reads. */
static const uint8_t *tap(const media_axis *a, int32_t i, int32_t t, const uint8_t *src, size_t stride) {
    return src + a->taps.at[(size_t)i * (size_t)a->taps.n + (size_t)t] * stride;
}

/* One row through LINEAR's or HALVES' axis: elements step apart in dst, pixels `pixel` apart in src. */
static inline void pairs(const media_axis *a, const uint8_t *src, int16_t *dst, int pixel, int step,
                         int channels) {
    for (int32_t i = 0; i < a->n; i++, dst += step) {
        const uint8_t *s = src + (size_t)a->start[i] * (size_t)pixel;
        const int16_t *k = a->taps.across + 2 * (size_t)i;
        for (int ch = 0; ch < channels; ch++) dst[ch] = (int16_t)((s[ch] * k[0] + s[ch + pixel] * k[1]) >> 4);
    }
}

static void pairs4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    for (int r = 0; r < 4; r++) pairs(a, src[r], (int16_t *)(void *)dst[r], 4, step, 3);
}

static void pairs1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    pairs(a, src, (int16_t *)(void *)dst, 1, 1, 1);
}

static void linear_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                        int32_t len) {
    const int16_t *k = a->taps.down + 2 * (size_t)i;
    const int16_t *s = shorts(tap(a, i, 0, src, stride)), *t = shorts(tap(a, i, 1, src, stride));
    for (int32_t x = 0; x < len; x++) dst[x] = byte((((k[0] * s[x]) >> 16) + ((k[1] * t[x]) >> 16) + 2) >> 2);
}

static void halves_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                        int32_t len) {
    const int16_t *s = shorts(src), *t = shorts(src + stride);
    (void)a;
    (void)i;
    for (int32_t x = 0; x < len; x++) dst[x] = (uint8_t)((s[x] + t[x] + 2) >> 2);
}

static inline void sums(const media_axis *a, const uint8_t *src, int32_t *dst, int pixel, int step,
                        int channels) {
    const int32_t n = a->taps.n;
    for (int32_t i = 0; i < a->n; i++, dst += step) {
        const uint8_t *s = src + (size_t)a->start[i] * (size_t)pixel;
        const int16_t *k = a->taps.across + (size_t)i * (size_t)n;
        for (int ch = 0; ch < channels; ch++) {
            dst[ch] = 0;
            for (int32_t t = 0; t < a->count[i]; t++) dst[ch] += s[ch + t * pixel] * k[t];
        }
    }
}

static void sums4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    for (int r = 0; r < 4; r++) sums(a, src[r], (int32_t *)(void *)dst[r], 4, step, 3);
}

static void sums1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    sums(a, src, (int32_t *)(void *)dst, 1, 1, 1);
}

/* Element x of output i, in whole numbers. */
static uint8_t fixed(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, int32_t x) {
    const int16_t *k = a->taps.down + (size_t)i * (size_t)a->taps.n;
    uint32_t sum = 1u << (BITS - 1); /* of numbers with a sign; the largest are near the end of the range */
    for (int32_t t = 0; t < a->taps.n; t++)
        sum += (uint32_t)ints(tap(a, i, t, src, stride))[x] * (uint32_t)k[t];
    return byte((int32_t)sum >> BITS);
}

static void lanczos4_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                          int32_t len) {
    for (int32_t x = 0; x < len; x++) dst[x] = fixed(a, i, src, stride, x);
}

static void cubic_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                       int32_t len) {
    const int32_t *s[4];
    float k[4];
    for (int32_t t = 0; t < 4; t++) {
        s[t] = ints(tap(a, i, t, src, stride));
        k[t] = (float)a->taps.down[4 * (size_t)i + (size_t)t] * (1.0f / (1 << BITS));
    }
    for (int32_t x = 0; x < len; x++) {
        float sum = (float)s[2][x] * k[2] + (float)s[3][x] * k[3];
        sum = (float)s[0][x] * k[0] + ((float)s[1][x] * k[1] + sum);
        dst[x] = byte((int32_t)lrintf(sum));
    }
}

void media_cv2_cubic_mend(const media_axis *x, const media_axis *y, int32_t i, const uint8_t *src,
                          size_t stride, uint8_t *dst, int32_t len) {
    const int32_t step = len / x->n, channels = step == 1 ? 1 : 3, all = x->key.out * channels;
    for (int32_t e = all & ~7; e < all; e++) {
        int32_t at = e / channels - x->key.win;
        if (x->key.mirror) at = x->n - 1 - at;
        if (at < 0 || at >= x->n) continue;
        at = at * step + e % channels;
        dst[at] = fixed(y, i, src, stride, at);
    }
}

static inline void shares(const media_axis *a, const uint8_t *src, float *dst, int pixel, int step,
                          int channels) {
    for (int32_t i = 0; i < a->n; i++, dst += step) {
        const uint8_t *s = src + (size_t)a->start[i] * (size_t)pixel;
        const float *k = a->taps.share + (size_t)i * (size_t)a->taps.n;
        for (int ch = 0; ch < channels; ch++) dst[ch] = 0;
        for (int32_t t = 0; t < a->count[i]; t++, s += pixel)
            for (int ch = 0; ch < channels; ch++) dst[ch] += s[ch] * k[t];
    }
}

static void shares4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    for (int r = 0; r < 4; r++) shares(a, src[r], (float *)(void *)dst[r], 4, step, 3);
}

static void shares1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    shares(a, src, (float *)(void *)dst, 1, 1, 1);
}

static void add_share(const media_axis *a, int32_t i, int32_t t, const uint8_t *line, void *sum,
                      int32_t len) {
    const float k = a->taps.share[(size_t)i * (size_t)a->taps.n + (size_t)t], *s = floats(line);
    float *to = sum;
    for (int32_t x = 0; x < len; x++) to[x] = t == 0 ? k * s[x] : to[x] + k * s[x];
}

static void round_shares(const media_axis *x, const media_axis *y, const void *sum, uint8_t *dst,
                         int32_t len) {
    const float *s = sum;
    (void)x;
    (void)y;
    for (int32_t e = 0; e < len; e++) dst[e] = byte((int32_t)lrintf(s[e]));
}

static inline void totals(const media_axis *a, const uint8_t *src, int32_t *dst, int pixel, int step,
                          int channels) {
    for (int32_t i = 0; i < a->n; i++, dst += step) {
        const uint8_t *s = src + (size_t)a->start[i] * (size_t)pixel;
        for (int ch = 0; ch < channels; ch++) dst[ch] = 0;
        for (int32_t t = 0; t < a->count[i]; t++, s += pixel)
            for (int ch = 0; ch < channels; ch++) dst[ch] += s[ch];
    }
}

static void totals4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    for (int r = 0; r < 4; r++) totals(a, src[r], (int32_t *)(void *)dst[r], 4, step, 3);
}

static void totals1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    totals(a, src, (int32_t *)(void *)dst, 1, 1, 1);
}

/* Unsigned, as the fourth of a pixel's elements is anything. */
static void add_total(const media_axis *a, int32_t i, int32_t t, const uint8_t *line, void *sum,
                      int32_t len) {
    const uint32_t *s = (const uint32_t *)(const void *)line;
    uint32_t *to = sum;
    (void)a;
    (void)i;
    for (int32_t x = 0; x < len; x++) to[x] = t == 0 ? s[x] : to[x] + s[x];
}

static void round_totals(const media_axis *x, const media_axis *y, const void *sum, uint8_t *dst,
                         int32_t len) {
    const int32_t *s = sum;
    const float share = 1.0f / (float)((x->key.in / x->key.out) * (y->key.in / y->key.out));
    for (int32_t e = 0; e < len; e++) dst[e] = byte((int32_t)lrintf((float)s[e] * share));
}

const media_resampler media_cv2_linear = {
    .bytes = 2, .across4 = pairs4, .across1 = pairs1, .down = linear_down};
const media_resampler media_cv2_halves = {
    .bytes = 2, .across4 = pairs4, .across1 = pairs1, .down = halves_down};
const media_resampler media_cv2_cubic = {
    .bytes = 4, .across4 = sums4, .across1 = sums1, .down = cubic_down, .mend = media_cv2_cubic_mend};
const media_resampler media_cv2_lanczos4 = {
    .bytes = 4, .across4 = sums4, .across1 = sums1, .down = lanczos4_down};
const media_resampler media_cv2_area = {
    .bytes = 4, .across4 = shares4, .across1 = shares1, .add = add_share, .round = round_shares};
const media_resampler media_cv2_mean = {
    .bytes = 4, .across4 = totals4, .across1 = totals1, .add = add_total, .round = round_totals};
