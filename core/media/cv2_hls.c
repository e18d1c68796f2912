/* cv2_hls.c - colours as hue, lightness and saturation, and back, as cv2.cvtColor's loops of floats have them: RGB2HLS and HLS2RGB.
 *
 * The loop over whole vectors of pixels and the one over the rest of a line round otherwise, there and back; products and sums are fused where its build for AVX2
 * does it. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <float.h>
#include <math.h>

#include "cv2.h"

media_hls media_to_hls(const float c[3], int vector) {
    float r = c[0], g = c[1], b = c[2];
    float max = r > g ? (r > b ? r : b) : (g > b ? g : b), min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    float range = max - min, sum = max + min;
    media_hls to = {.l = sum * 0.5f};
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

static void by_vector(media_hls from, float sixth, float to[3]) {
    float product = from.l * from.s, e = from.l <= 0.5f ? product : from.s - product;
    float at = from.h * sixth, whole = truncf(at), rest = at - whole;
    float twice = rest + rest, high = from.l + e, low = from.l - e;
    const float part[4] = {high, low, media_fused(high, -e, twice), media_fused(low, e, twice)};
    int sector = (int)(whole - 6 * truncf(at * (1.0f / 6)));
    const uint8_t *of = parts[sector < 0 ? 0 : sector > 5 ? 5 : sector];
    for (int i = 0; i < 3; i++) to[i] = part[of[i]];
}

static void by_pixel(media_hls from, float sixth, float to[3]) {
    float high = from.l <= 0.5f ? from.l * (1 + from.s) : media_fused(from.l + from.s, -from.l, from.s);
    float low = 2 * from.l - high, at = from.h * sixth;
    while (at < 0) at += 6;
    while (at >= 6) at -= 6;
    int sector = (int)at;
    at -= (float)sector;
    const float part[4] = {high, low, media_fused(low, high - low, 1 - at), media_fused(low, high - low, at)};
    for (int i = 0; i < 3; i++) to[i] = from.s == 0 ? from.l : part[parts[sector][i]];
}

void media_from_hls(media_hls from, float sixth, int vector, float to[3]) {
    (vector ? by_vector : by_pixel)(from, sixth, to);
}
