/* iso.c - a camera's noise: albumentations' ISONoise, by cv2.cvtColor's HLS of floats.
 *
 * The hue, in degrees, gets a normal number times both of what is drawn. The lightness gets a whole number of Poisson's, times the intensity and what it lacks of
 * white; the mean of these numbers is the standard deviation of all lightness times the intensity. cvtColor's loop over whole vectors of eight pixels and the one
 * over the rest of a line round otherwise, there and back; products and sums are fused where its build for AVX2 does it.
 *
 * Draws, in the words of philox.c: the first block says whether; the next has the shift of colours and the intensity; the one behind it is the key of what is drawn
 * pixel by pixel: normal numbers are those of channel 2 f (normal_isa.h), where f is the video's frame, the uniforms of Poisson's words of channel 2 f + 1. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_iso(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_ISO)) return;
    media_uniforms(d, OP_LATER, LATER_ISO + 1, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_ISO,
                         .value = media_between(s->of.iso.intensity, u[1]),
                         .mean = media_between(s->of.iso.shift, u[0]),
                         .first = 2 * d->frame};
    media_words(d, OP_LATER, LATER_ISO + 2, r->key);
}

/* The standard deviation of the lightness. */
static double deviation(const media_pixels *px, const float share[256]) {
    double sum = 0, squares = 0, n = (double)px->w * px->h;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            uint8_t max = c[0] > c[1] ? c[0] : c[1], min = c[0] < c[1] ? c[0] : c[1];
            max = max > c[2] ? max : c[2];
            min = min < c[2] ? min : c[2];
            double l = (share[max] + share[min]) * 0.5f;
            sum += l;
            squares += l * l;
        }
    }
    return sqrt(fmax(squares / n - sum / n * (sum / n), 0));
}

/* A whole number of Poisson's, from a number from 0 to 1: the first up to which there is more than that. */
static int poisson(double none, double mean, double u) {
    enum { MOST = 1000 };
    double p = none, upto = p;
    int k = 0;
    while (u >= upto && k < MOST) {
        p *= mean / ++k;
        upto += p;
    }
    return k;
}

void media_iso(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    float share[256];
    for (int x = 0; x < 256; x++) share[x] = (float)x / 255;
    double intensity = r->value, degrees = r->mean * intensity, mean = deviation(px, share) * intensity;
    double none = exp(-mean);
    int32_t whole = px->w / MEDIA_HLS_VECTOR * MEDIA_HLS_VECTOR;
    media_noise normal = {.by = by, .key = r->key, .channel = r->first};
    media_each each = {.by = by, .key = r->key, .channel = r->first + 1};
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            const float was[3] = {share[c[0]], share[c[1]], share[c[2]]};
            float is[3];
            media_hls at = media_to_hls(was, x < whole);
            int more = poisson(none, mean, media_next_word(&each) * 0x1p-32);
            at.h = (float)(at.h + degrees * media_next_normal(&normal));
            float brighter = (float)(more * intensity * (1 - at.l));
            at.l = media_clip(at.l + brighter);
            media_from_hls(at, 6.0f / 360, x < whole, is);
            for (int i = 0; i < 3; i++) c[i] = media_nearest_byte(media_clip(is[i]) * 255);
        }
    }
}
