/* normal.c - normal numbers by their address, the same on every instruction set. They are those of audio/noise_isa.h.
 *
 * Block b of a channel is Philox4x32-10 (philox.c) of the counter (b, 0, channel, 0) under a key: four words, two pairs, and of each
 * pair (v, w) two numbers of Box and Muller's: r cos t and r sin t, with r = sqrt(-2 ln u), u = (v / 2^8 + 1) / 2^24 and
 * t = 2 pi (w / 2^8) / 2^24, quotients of whole numbers rounded down. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

/* ln of a positive, normal float m * 2^e with m in [sqrt(1/2), sqrt(2)): with s = (m - 1) / (m + 1),
 * ln m = 2 (s + s^3/3 + s^5/5 + ...). |s| < 0.172, so the first term left out is below 1e-8 of the sum. */
static float ln(float x) {
    int32_t bits, e;
    memcpy(&bits, &x, sizeof bits);
    e = (bits - 0x3f3504f3) >> 23; /* 0x3f3504f3 is sqrt(1/2) */
    bits -= e * (1 << 23);
    memcpy(&x, &bits, sizeof x);
    float s = (x - 1.0f) / (x + 1.0f), q = s * s, k = (float)e;
    float tail = q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7 + q * (1.0f / 9 + q * (1.0f / 11)))));
    /* ln 2 in two parts, the first with room for the product with e */
    return k * 0x1.62e4p-1f + (2.0f * s + (2.0f * s * tail + k * 0x1.7f7d1cp-20f));
}

/* The cosine and the sine of 2 pi turn / 2^24: of the angle's distance to the nearest quarter by their series, at most pi / 4 long, whose
 * first terms left out are below 3e-8. */
static void circle(int32_t turn, float *cosine, float *sine) {
    int32_t quarter = (turn + (1 << 21)) >> 22;
    float x = (float)(turn - quarter * (1 << 22)) * 0x1.921fb6p-22f, q = x * x;
    float s = x * (1.0f + q * (-1.0f / 6 + q * (1.0f / 120 + q * (-1.0f / 5040 + q * (1.0f / 362880)))));
    float c = 1.0f + q * (-0.5f + q * (1.0f / 24 + q * (-1.0f / 720 + q * (1.0f / 40320))));
    float a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    *cosine = (quarter + 1) & 2 ? -a : a;
    *sine = quarter & 2 ? -b : b;
}

void media_normals(const uint32_t key[4], uint32_t channel, uint32_t block, float to[MEDIA_NORMALS]) {
    const media_draw under = {.seed = (uint64_t)key[1] << 32 | key[0], .index = block, .epoch = channel};
    uint32_t word[4];
    media_words(&under, 0, 0, word);
    for (int pair = 0; pair < 2; pair++) {
        float r = sqrtf(-2.0f * ln((float)((word[2 * pair] >> 8) + 1) * 0x1p-24f)), c, s;
        circle((int32_t)(word[2 * pair + 1] >> 8), &c, &s);
        to[2 * pair] = c * r;
        to[2 * pair + 1] = s * r;
    }
}
