/* normal_isa.h - normal numbers by their address, the same on every instruction set; included once per instruction set, with ISA (an attribute).
 *
 * Block b of a channel is Philox4x32-10 (philox.c) of the counter (b, 0, channel, 0) under a key: four words, two pairs, and of each pair
 * (v, w) two numbers of Box and Muller's: r cos t and r sin t, with r = sqrt(-2 ln u), u = (v / 2^8 + 1) / 2^24 and
 * t = 2 pi (w / 2^8) / 2^24, quotients of whole numbers rounded down. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Vectors of floats lie where Go slices do, those of integers anywhere in a file. */
typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t v8i __attribute__((vector_size(32), aligned(1), may_alias));

enum { LANES = 8 };

#define ALL(x) ((v8){(x), (x), (x), (x), (x), (x), (x), (x)})
#define PICK(mask, a, b) ((v8)(((v8i)(a) & (mask)) | ((v8i)(b) & ~(mask))))

/* ln of eight positive, normal floats: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and with s = (m - 1) / (m + 1)
 * ln m = 2 (s + s^3/3 + s^5/5 + ...). |s| < 0.172, so the first term left out is below 1e-8 of the sum. */
ISA static void ln8(v8 *x) {
    v8i bits = (v8i)*x;
    v8i e = (bits - 0x3f3504f3) >> 23; /* 0x3f3504f3 is sqrt(1/2) */
    v8 m = (v8)(bits - (v8i)(e << 23));
    v8 s = (m - ALL(1.0f)) / (m + ALL(1.0f)), q = s * s;
    v8 tail = q * (ALL(1.0f / 3) +
                   q * (ALL(1.0f / 5) + q * (ALL(1.0f / 7) + q * (ALL(1.0f / 9) + q * ALL(1.0f / 11)))));
    v8 k = __builtin_convertvector(e, v8);
    /* ln 2 in two parts, the first with room for the product with e */
    *x = k * ALL(0x1.62e4p-1f) + (ALL(2.0f) * s + (ALL(2.0f) * s * tail + k * ALL(0x1.7f7d1cp-20f)));
}

ISA static void noise_block(const uint32_t key[2], uint32_t block, uint32_t channel, uint32_t c[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    c[0] = block, c[1] = 0, c[2] = channel, c[3] = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = n0, c[1] = (uint32_t)p1, c[2] = n2, c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The cosine and the sine of 2 pi turn / 2^24: of the angle's distance to the nearest quarter by their series, at most pi / 4 long, whose first
 * terms left out are below 3e-8. */
ISA static void circle8(v8i turn, v8 *cosine, v8 *sine) {
    v8i quarter = (turn + (1 << 21)) >> 22;
    v8 x = __builtin_convertvector((v8i)(turn - (v8i)(quarter << 22)), v8) * ALL(0x1.921fb6p-22f), q = x * x;
    v8 s = x * (ALL(1.0f) + q * (ALL(-1.0f / 6) +
                                 q * (ALL(1.0f / 120) + q * (ALL(-1.0f / 5040) + q * ALL(1.0f / 362880)))));
    v8 c =
        ALL(1.0f) + q * (ALL(-0.5f) + q * (ALL(1.0f / 24) + q * (ALL(-1.0f / 720) + q * ALL(1.0f / 40320))));
    v8i odd = (quarter & 1) != 0, minus_c = ((quarter + 1) & 2) != 0, minus_s = (quarter & 2) != 0;
    v8 a = PICK(odd, s, c), b = PICK(odd, c, s);
    *cosine = PICK(minus_c, -a, a);
    *sine = PICK(minus_s, -b, b);
}

/* n numbers from the first of a block on. */
ISA static void normals(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst) {
    for (size_t at = 0; at < n; at += 4 * LANES) {
        v8i word[4];
        for (int l = 0; l < LANES; l++) {
            uint32_t c[4];
            noise_block(key, block + (uint32_t)(at / 4) + (uint32_t)l, channel, c);
            for (int k = 0; k < 4; k++) word[k][l] = (int32_t)(c[k] >> 8);
        }
        float made[4 * LANES];
        for (int pair = 0; pair < 2; pair++) {
            v8 r = __builtin_convertvector((v8i)(word[2 * pair] + 1), v8) * ALL(0x1p-24f), c, s;
            ln8(&r);
            for (int l = 0; l < LANES; l++) r[l] = sqrtf(-2.0f * r[l]);
            circle8(word[2 * pair + 1], &c, &s);
            c *= r;
            s *= r;
            for (int l = 0; l < LANES; l++) made[4 * l + 2 * pair] = c[l], made[4 * l + 2 * pair + 1] = s[l];
        }
        memcpy(dst + at, made, (n - at < 4 * LANES ? n - at : 4 * LANES) * sizeof *dst);
    }
}
