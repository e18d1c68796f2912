/* blur.c - a row's pixels beside their neighbours: sharpness and the Gaussian blur.
 *
 * Sharpness is Pillow's to the bit: ImageFilter.SMOOTH, which leaves the outermost pixels as they are and pictures of less than
 * 3 x 3 whole, and a blend with it. Its sums, divided by 13, are never half way between two numbers, so whole numbers give
 * what its floats do, and torch's, of which the blend alone is another on a tensor of bytes.
 *
 * The blur is torchvision's of PIL images, within 1: weights exp(-x^2 / 2 sigma^2) whose sum is 1, pixels mirrored at the
 * borders without the outermost one, rounded half to even at the end. torch sums k x k products in an order of its own; here
 * rows are blurred and then columns, in floats. Weights below 2^-60, nine sigmas from the middle, change no byte and are left
 * out, so that no product, of two of the others neither, is a denormal number, which processors are slow with. Floats are blurred
 * likewise, without the rounding. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <string.h>

#include "internal.h"

/* What is made of a value and of what it is smoothed to. */
typedef uint8_t blend(int smooth, int value, float factor);

static inline void sharpen(const media_pixels *px, const media_pixels *from, float factor, blend *with) {
    int32_t step = px->step, len = px->w * step;
    if (px->w < 3 || px->h < 3) return;
    for (int32_t y = 1; y < px->h - 1; y++) {
        const uint8_t *a = media_line(from, y - 1), *b = media_line(from, y), *c = media_line(from, y + 1);
        uint8_t *to = media_line(px, y);
        for (int32_t i = step; i < len - step; i++) {
            int l = i - step, r = i + step;
            int sum = a[l] + a[i] + a[r] + b[l] + 5 * b[i] + b[r] + c[l] + c[i] + c[r];
            to[i] = with((2 * sum + 13) / 26, b[i], factor);
        }
    }
}

void media_sharpness(const media_pixels *px, const media_pixels *from, float factor) {
    sharpen(px, from, factor, media_blend);
}

static inline uint8_t blend_tensor(int smooth, int value, float of_smooth) {
    float v = media_fused((float)value, (float)(smooth - value), of_smooth);
    return media_cut(v);
}

void media_torch_sharpness(const media_pixels *px, const media_pixels *from, double factor) {
    sharpen(px, from, (float)(1.0 - factor), blend_tensor);
}

/* Four floats, or whatever the processor makes of them; each is what a float alone would be. */
typedef float lanes __attribute__((vector_size(16)));
typedef int32_t whole __attribute__((vector_size(16)));

enum { LANES = 4 };

/* The weights that count, in the middle of n; returns how many those are. */
static int32_t weigh(float *k, int32_t n, double sigma) {
    double sum = 0, w[MEDIA_MAX_KERNEL];
    for (int32_t i = 0; i < n; i++) {
        double x = (i - n / 2) / sigma;
        sum += w[i] = exp(-0.5 * x * x);
    }
    int32_t out = 0; /* on each side */
    while (w[out] / sum < 0x1p-60) out++;
    for (int32_t i = out; i < n - out; i++) k[i - out] = (float)(w[i] / sum);
    return n - 2 * out;
}

/* Where element i of a line of n is that goes on to both sides as in a mirror. */
static int32_t mirrored(int32_t i, int32_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; }

/* n sums of k[t] * at[t][i], symmetric in t, to `to`; both may be written and read up to the next multiple of LANES. */
static void sums(const float *k, int32_t taps, const float *const *at, int32_t n, float *to) {
    for (int32_t i = 0; i < n; i += LANES) {
        lanes v, w, sum;
        memcpy(&v, at[taps / 2] + i, sizeof v);
        sum = v * k[taps / 2];
        for (int32_t t = 0; t < taps / 2; t++) {
            memcpy(&v, at[t] + i, sizeof v);
            memcpy(&w, at[taps - 1 - t] + i, sizeof w);
            sum += (v + w) * k[t];
        }
        memcpy(to + i, &sum, sizeof sum);
    }
}

/* Pixels of bytes, or floats in a plane that px has the sides of. */
typedef struct blurred {
    const media_pixels *px;
    float *plane;
} blurred;

static float *plane_line(const blurred *b, int32_t y) { return b->plane + (size_t)y * (size_t)b->px->w; }

/* A line as floats with r more pixels on each side. */
static void widen(const blurred *b, int32_t y, int32_t r, float *to) {
    int32_t w = b->px->w;
    int step = b->px->step;
    if (b->plane) {
        const float *line = plane_line(b, y);
        for (int32_t x = -r; x < w + r; x++) *to++ = line[mirrored(x, w)];
        return;
    }
    const uint8_t *line = media_line(b->px, y);
    for (int32_t x = -r; x < w + r; x++)
        for (int ch = 0; ch < step; ch++) *to++ = (float)line[mirrored(x, w) * step + ch];
}

/* n numbers of 0 to 255, rounded half to even: behind 2^23 floats have no fraction. */
static void round_line(const float *v, int32_t n, uint8_t *to) {
    for (int32_t i = 0; i < n; i += LANES) {
        lanes x;
        whole bits;
        memcpy(&x, v + i, sizeof x);
        x += 8388608.0f;
        memcpy(&bits, &x, sizeof bits);
        for (int32_t j = 0; j < LANES && i + j < n; j++) to[i + j] = (uint8_t)bits[j];
    }
}

/* Floats of a line and what is read and written behind it. */
static size_t line_floats(int32_t w, int step) { return (size_t)w * (size_t)step + LANES; }

/* Lines that are blurred along x and not yet down y. */
static int32_t lines_held(const media_pixels *px, int32_t taps) { return taps < px->h ? taps : px->h; }

size_t media_blur_bytes(const media_pixels *px, int32_t taps) {
    return (line_floats(px->w, px->step) * ((size_t)lines_held(px, taps) + 1) +
            line_floats(px->w + MEDIA_MAX_KERNEL, px->step)) *
           sizeof(float);
}

static void blur(const blurred *b, float *room, int32_t taps, double sigma) {
    const media_pixels *px = b->px;
    float k[MEDIA_MAX_KERNEL];
    const float *beside[MEDIA_MAX_KERNEL], *below[MEDIA_MAX_KERNEL];
    size_t stride = line_floats(px->w, px->step);
    taps = weigh(k, taps, sigma);
    int32_t len = px->w * px->step, r = taps / 2, held = lines_held(px, taps);
    float *sum = room + stride * (size_t)held, *wide = sum + stride;
    for (int32_t t = 0; t < taps; t++) beside[t] = wide + t * px->step;
    for (int32_t y = 0, next = 0; y < px->h; y++) {
        for (; next < px->h && next <= y + r; next++) {
            widen(b, next, r, wide);
            sums(k, taps, beside, len, room + stride * (size_t)(next % held));
        }
        int32_t first = (next - 1) / held * held; /* of those there are, the one whose place is the first */
        for (int32_t t = 0; t < taps; t++) {
            int32_t i = mirrored(y - r + t, px->h) - first;
            below[t] = room + stride * (size_t)(i < 0 ? i + held : i);
        }
        sums(k, taps, below, len, sum);
        if (b->plane)
            memcpy(plane_line(b, y), sum, (size_t)len * sizeof *sum);
        else
            round_line(sum, len, media_line(px, y));
    }
}

void media_gaussian_blur(const media_pixels *px, float *room, int32_t taps, double sigma) {
    blur(&(blurred){.px = px}, room, taps, sigma);
}

void media_blur_plane(float *plane, int32_t w, int32_t h, float *room, int32_t taps, double sigma) {
    const media_pixels sides = {.w = w, .h = h, .step = 1};
    blur(&(blurred){&sides, plane}, room, taps, sigma);
}
