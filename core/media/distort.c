/* distort.c - a row's colours distorted: torchvision's RandomPhotometricDistort and RandomChannelPermutation, and GaussianNoise.
 *
 * Draws, in the words of philox.c: operation 15. Blocks 0 to 3 are brightness, contrast, saturation and hue of the distortion: the first
 * uniform says whether, the second by which factor. The first uniform of block 4 says whether contrast comes before saturation. Blocks 5 and 6 are the channels'
 * places, of the distortion and alone: whether, and which of six. Block 7 is noise: whether, and its sigma; its numbers are those of normal_isa.h under the
 * first words of block 8, value i of a channel line by line; channel c of a video's frame f is number 3 f + c. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "internal.h"

enum { PERMUTATIONS = 6 };

static void draw_factor(const media_step *s, const media_draw *d, int kind, media_retouches *to) {
    double u[2];
    const media_factor *f = &s->of.jitter.by[kind];
    if (!f->on || !media_happens(s, d, LATER_DISTORT + (uint32_t)kind)) return;
    media_uniforms(d, OP_LATER, LATER_DISTORT + (uint32_t)kind, u);
    to->all[to->n++] = (media_retouch){.kind = kind, .value = f->low + u[1] * (f->high - f->low)};
}

static void draw_channels(const media_step *s, const media_draw *d, uint32_t block, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, block)) return;
    media_uniforms(d, OP_LATER, block, u);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_PERMUTE, .size = (int32_t)(u[1] * PERMUTATIONS)};
}

void media_draw_distort(const media_step *s, const media_draw *d, media_retouches *to) {
    int before = media_chance(d, OP_LATER, LATER_WHEN, 0.5);
    draw_factor(s, d, MEDIA_BRIGHTNESS, to);
    if (before) draw_factor(s, d, MEDIA_CONTRAST, to);
    draw_factor(s, d, MEDIA_SATURATION, to);
    draw_factor(s, d, MEDIA_HUE, to);
    if (!before) draw_factor(s, d, MEDIA_CONTRAST, to);
    draw_channels(s, d, LATER_DISTORT_CHANNELS, to);
}

void media_draw_permute(const media_step *s, const media_draw *d, media_retouches *to) {
    draw_channels(s, d, LATER_PERMUTE, to);
}

void media_permute(const media_pixels *px, int which) {
    static const uint8_t all[PERMUTATIONS][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const uint8_t *from = all[which];
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            const uint8_t was[3] = {c[0], c[1], c[2]};
            for (int ch = 0; ch < 3; ch++) c[ch] = was[from[ch]];
        }
    }
}

void media_draw_noise(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_NOISE)) return;
    media_uniforms(d, OP_LATER, LATER_NOISE, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_NOISE,
                         .mean = s->of.noise.mean,
                         .value = media_between(s->of.noise.sigma, u[1]),
                         .first = 3 * d->frame};
    media_words(d, OP_LATER, LATER_NOISE_KEY, r->key);
}

void media_add_noise(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    const float mean = (float)r->mean, sigma = (float)r->value;
    int channels = px->step == 1 ? 1 : 3;
    for (int ch = 0; ch < channels; ch++) {
        media_noise noise = {.by = by, .key = r->key, .channel = r->first + (uint32_t)ch};
        for (int32_t y = 0; y < px->h; y++) {
            uint8_t *c = media_line(px, y) + ch;
            for (int32_t x = 0, n; x < px->w; x += n) {
                const float *normal = media_next_normals(&noise, px->w - x, &n);
                for (int32_t i = 0; i < n; i++, c += px->step) {
                    int v = *c + (int)(mean + normal[i] * sigma); /* cut, as torch does */
                    *c = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
                }
            }
        }
    }
}
