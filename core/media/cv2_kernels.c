/* cv2_kernels.c - a row by a kernel that is drawn, by cv2.filter2D: albumentations' AdvancedBlur, Defocus and RingingOvershoot.
 *
 * Kernels are made of doubles, become floats of 32 bits, and are divided by the sum that they had before. DEFOCUS's disk is of floats, blurred by cv2.GaussianBlur, and is
 * at least 17 pixels wide; kernels of 13 x 13 and more go by Fourier's way there, whose bytes lie within 1.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens, in the second the size, or the radius. ADVANCED's next have both
 * sigmas; the angle, and to which side of 1 beta lies; beta; and the key of the noise, a word of the counter (i / 4, 0, 0, 0) for each number of the kernel, line by line. The
 * others' next has DEFOCUS's sigma or RINGING's cutoff. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define _XOPEN_SOURCE 700 /* j1() */
#include <math.h>

#include "cv2.h"

enum { WIDE = MEDIA_MAX_WIDE, AREA = WIDE * WIDE };

static const double PI = 3.141592653589793;

void media_draw_advanced(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_advanced_step *of = &s->of.advanced;
    double u[2], sigma[2], way[2], shape[2];
    if (!media_happens(s, d, LATER_ADVANCED)) return;
    media_uniforms(d, OP_LATER, LATER_ADVANCED, u);
    media_uniforms(d, OP_LATER, LATER_ADVANCED + 1, sigma);
    media_uniforms(d, OP_LATER, LATER_ADVANCED + 2, way);
    media_uniforms(d, OP_LATER, LATER_ADVANCED + 3, shape);
    const int pointed = way[1] < 0.5;
    const double beta[2] = {pointed ? of->beta[0] : 1, pointed ? 1 : of->beta[1]};
    media_retouch *r = &to->all[to->n++];
    *r =
        (media_retouch){.kind = MEDIA_ADVANCED,
                        .size = media_odd(of->size, u[1]),
                        .matrix = {media_between(of->sigma_x, sigma[0]), media_between(of->sigma_y, sigma[1]),
                                   media_between(of->angle, way[0]) * (PI / 180),
                                   media_between(beta, shape[0]), of->noise[0], of->noise[1]}};
    media_words(d, OP_LATER, LATER_ADVANCED + 4, r->key);
}

void media_draw_defocus(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], more[2];
    if (!media_happens(s, d, LATER_DEFOCUS)) return;
    media_uniforms(d, OP_LATER, LATER_DEFOCUS, u);
    media_uniforms(d, OP_LATER, LATER_DEFOCUS + 1, more);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_DEFOCUS,
                                       .size = (int32_t)media_whole_between(s->of.defocus.radius, u[1]),
                                       .value = media_between(s->of.defocus.alias, more[0])};
}

void media_draw_ringing(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], more[2];
    if (!media_happens(s, d, LATER_RINGING)) return;
    media_uniforms(d, OP_LATER, LATER_RINGING, u);
    media_uniforms(d, OP_LATER, LATER_RINGING + 1, more);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_RINGING,
                                       .size = media_odd(s->of.ringing.size, u[1]),
                                       .value = media_between(s->of.ringing.cutoff, more[0])};
}

/* A kernel of doubles as filter2D has it, each over what all come to; even: it is the same above and below. */
static void weigh(const double *k, int32_t size, double all, int even, media_filter2d *f) {
    enum { EXACT = 11 }; /* up to this size order counts */
    f->size = size;
    f->n = 0;
    f->mirrored = even && size > EXACT;
    for (int32_t i = 0; i < (f->mirrored ? size / 2 + 1 : size) * size; i++) {
        float v = (float)((double)(float)k[i] / all);
        if (v == 0) continue;
        f->x[f->n] = (uint8_t)(i % size);
        f->y[f->n] = (uint8_t)(i / size);
        f->k[f->n++] = v;
    }
}

static double sum_of(const double *k, int32_t n) {
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += k[i];
    return sum;
}

/* A Gaussian's exponent, to the power of beta. */
static void bell(const media_retouch *r, const media_kernels *by, double *k) {
    const double *m = r->matrix, a = m[0] * m[0], b = m[1] * m[1], c = cos(m[2]), s = sin(m[2]);
    const double xx = c * c * a + s * s * b, xy = c * s * (a - b), yy = s * s * a + c * c * b;
    const double det = xx * yy - xy * xy;
    media_each each = {.by = by, .key = r->key};
    for (int32_t i = 0; i < r->size * r->size; i++) {
        double x = i % r->size - r->size / 2, y = i / r->size - r->size / 2;
        double far = ((x * yy - y * xy) * x + (y * xx - x * xy) * y) / det;
        double noise = media_between(m + 4, media_next_word(&each) * 0x1p-32);
        k[i] = exp(-0.5 * pow(far > 0 ? far : 0, m[3])) * noise;
    }
}

/* Light goes in rings whose waves are no shorter than the cutoff says. */
static void rings(const media_retouch *r, double *k) {
    for (int32_t i = 0; i < r->size * r->size; i++) {
        double x = i % r->size - r->size / 2, y = i / r->size - r->size / 2, far = sqrt(x * x + y * y);
        k[i] = far > 0 ? r->value * j1(r->value * far) / (2 * PI * far) : r->value * r->value / (4 * PI);
    }
}

static int32_t disk_size(int32_t radius) { return 2 * (radius > 8 ? radius : 8) + 1; }

static void disk(const media_retouch *r, double *k) {
    const int32_t size = disk_size(r->size), half = size / 2, taps = r->size <= 8 ? 3 : 5;
    double lines[AREA], n = 0;
    float blur[5];
    for (int32_t i = 0; i < size * size; i++) {
        int32_t x = i % size - half, y = i / size - half;
        k[i] = x * x + y * y <= r->size * r->size;
        n += k[i];
    }
    media_gaussian_taps(blur, taps, r->value);
    for (int along = 1; along >= 0; along--) {
        const double *from = along ? k : lines;
        double *to = along ? lines : k;
        for (int32_t i = 0; i < size * size; i++) {
            to[i] = 0;
            for (int32_t t = 0; t < taps; t++) {
                int32_t x = i % size, y = i / size, off = t - taps / 2;
                x = along ? media_border_at(MEDIA_PAD_REFLECT, x + off, size) : x;
                y = along ? y : media_border_at(MEDIA_PAD_REFLECT, y + off, size);
                to[i] += blur[t] * from[y * size + x];
            }
        }
    }
    for (int32_t i = 0; i < size * size; i++) k[i] /= n;
}

int media_by_kernel(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                    media_buf *room) {
    double k[AREA];
    media_filter2d f;
    int32_t size = r->size;
    switch (r->kind) {
    case MEDIA_ADVANCED: bell(r, by, k); break;
    case MEDIA_RINGING: rings(r, k); break;
    default:
        disk(r, k);
        size = disk_size(size);
        break;
    }
    weigh(k, size, r->kind == MEDIA_DEFOCUS ? 1 : sum_of(k, size * size), r->kind != MEDIA_ADVANCED, &f);
    return media_filtered(px, by, &f, room);
}
