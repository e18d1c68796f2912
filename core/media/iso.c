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

#include <float.h>
#include <math.h>

#include "cv2.h"

enum { VECTOR = 8 };

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

/* Hue in degrees, lightness and saturation. */
typedef struct hls {
    float h, l, s;
} hls;

static hls to_hls(const float c[3], int vector) {
    float r = c[0], g = c[1], b = c[2];
    float max = r > g ? (r > b ? r : b) : (g > b ? g : b), min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    float range = max - min, sum = max + min;
    hls to = {.l = sum * 0.5f};
    if (!(range > FLT_EPSILON)) return to;
    float from_white = vector ? 2 - sum : 2 - max - min, by = 60 / range;
    to.s = range / (to.l < 0.5f ? sum : from_white);
    if (max == r && vector) {
        to.h = media_fused(g < b ? 360 : 0, g - b, by);
    } else if (max == r) {
        to.h = (g - b) * by;
        if (to.h < 0) to.h += 360;
    } else {
        to.h = max == g ? media_fused(120, b - r, by) : media_fused(240, r - g, by);
    }
    return to;
}

/* Which of four values red, green and blue have, by the sixth of the circle that the hue lies in. */
static const uint8_t parts[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};

static void by_vector(hls from, float to[3]) {
    float product = from.l * from.s, e = from.l <= 0.5f ? product : from.s - product;
    float at = from.h * (6.0f / 360), whole = truncf(at), rest = at - whole;
    float twice = rest + rest, high = from.l + e, low = from.l - e;
    const float part[4] = {high, low, media_fused(high, -e, twice), media_fused(low, e, twice)};
    int sector = (int)(whole - 6 * truncf(at * (1.0f / 6)));
    const uint8_t *of = parts[sector < 0 ? 0 : sector > 5 ? 5 : sector];
    for (int i = 0; i < 3; i++) to[i] = part[of[i]];
}

static void by_pixel(hls from, float to[3]) {
    float high = from.l <= 0.5f ? from.l * (1 + from.s) : media_fused(from.l + from.s, -from.l, from.s);
    float low = 2 * from.l - high, at = from.h * (6.0f / 360);
    while (at < 0) at += 6;
    while (at >= 6) at -= 6;
    int sector = (int)at;
    at -= (float)sector;
    const float part[4] = {high, low, media_fused(low, high - low, 1 - at), media_fused(low, high - low, at)};
    for (int i = 0; i < 3; i++) to[i] = from.s == 0 ? from.l : part[parts[sector][i]];
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
    int32_t whole = px->w / VECTOR * VECTOR;
    media_noise normal = {.by = by, .key = r->key, .channel = r->first};
    media_each each = {.by = by, .key = r->key, .channel = r->first + 1};
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            const float was[3] = {share[c[0]], share[c[1]], share[c[2]]};
            float is[3];
            hls at = to_hls(was, x < whole);
            int more = poisson(none, mean, media_next_word(&each) * 0x1p-32);
            at.h = (float)(at.h + degrees * media_next_normal(&normal));
            float brighter = (float)(more * intensity * (1 - at.l));
            at.l = media_clip(at.l + brighter);
            (x < whole ? by_vector : by_pixel)(at, is);
            for (int i = 0; i < 3; i++) c[i] = media_nearest_byte(media_clip(is[i]) * 255);
        }
    }
}
