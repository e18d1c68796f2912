/* normal_isa.h - normal numbers by their address, the same on every instruction set; included once per instruction set, with ISA (an attribute) and, where
 * there is AVX2, NORMAL_AVX2.
 *
 * Block b of a channel is Philox4x32-10 (philox.c) of the counter (b, 0, channel, 0) under a key: four words, two pairs, and of each pair
 * (v, w) two numbers of Box and Muller's: r cos t and r sin t, with r = sqrt(-2 ln u), u = (v / 2^8 + 1) / 2^24 and
 * t = 2 pi (w / 2^8) / 2^24, quotients of whole numbers rounded down. */
#ifdef NORMAL_AVX2
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Vectors of floats lie where Go slices do, those of integers anywhere in a file. */
typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t v8i __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t v4q __attribute__((vector_size(32)));

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

/* --- the words of eight blocks, word k of block i in word[k][i], whose counters have two words more, and square roots --- */

#ifdef NORMAL_AVX2
/* Each word is the lower half of a number; what its upper half holds does not matter. Blocks 0, 1, 4 and 5, and the others. */
ISA static void noise_words(const uint32_t key[2], const uint32_t of[2], uint32_t block, v8i word[4]) {
    v4q c[2][4];
    const v4q m0 = {0xD2511F53u, 0xD2511F53u, 0xD2511F53u, 0xD2511F53u};
    const v4q m1 = {0xCD9E8D57u, 0xCD9E8D57u, 0xCD9E8D57u, 0xCD9E8D57u};
    const v4q none = {0};
    uint32_t k0 = key[0], k1 = key[1];
    c[0][0] = none + block + (v4q){0, 1, 4, 5};
    c[1][0] = none + block + (v4q){2, 3, 6, 7};
    for (int h = 0; h < 2; h++) c[h][1] = none + of[0], c[h][2] = none + of[1], c[h][3] = none;
    for (int round = 0; round < 10; round++) {
        v4q x0 = none + k0, x1 = none + k1;
        for (int h = 0; h < 2; h++) {
            v4q p0 = (v4q)_mm256_mul_epu32((__m256i)c[h][0], (__m256i)m0),
                p1 = (v4q)_mm256_mul_epu32((__m256i)c[h][2], (__m256i)m1);
            c[h][0] = (p1 >> 32) ^ c[h][1] ^ x0;
            c[h][1] = p1;
            c[h][2] = (p0 >> 32) ^ c[h][3] ^ x1;
            c[h][3] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int k = 0; k < 4; k++)
        word[k] = __builtin_shufflevector((v8i)c[0][k], (v8i)c[1][k], 0, 2, 8, 10, 4, 6, 12, 14);
}

ISA static v8 roots(v8 x) { return (v8)_mm256_sqrt_ps((__m256)x); }
#else
ISA static void noise_block(const uint32_t key[2], uint32_t block, const uint32_t of[2], uint32_t c[4]) {
    uint32_t k0 = key[0], k1 = key[1];
    c[0] = block, c[1] = of[0], c[2] = of[1], c[3] = 0;
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = n0, c[1] = (uint32_t)p1, c[2] = n2, c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

ISA static void noise_words(const uint32_t key[2], const uint32_t of[2], uint32_t block, v8i word[4]) {
    for (int l = 0; l < LANES; l++) {
        uint32_t c[4];
        noise_block(key, block + (uint32_t)l, of, c);
        for (int k = 0; k < 4; k++) word[k][l] = (int32_t)c[k];
    }
}

ISA static v8 roots(v8 x) {
    for (int l = 0; l < LANES; l++) x[l] = sqrtf(x[l]);
    return x;
}
#endif

/* Words as they lie, number 4 b + k being word k of block b: n of them from the first of a block on. */
ISA static void words(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst) {
    const uint32_t of[2] = {channel, 0};
    for (size_t at = 0; at < n; at += 4 * LANES) {
        v8i word[4];
        uint32_t made[4 * LANES];
        noise_words(key, of, block + (uint32_t)(at / 4), word);
        v8i low[2] = {__builtin_shufflevector(word[0], word[1], 0, 8, 1, 9, 4, 12, 5, 13),
                      __builtin_shufflevector(word[2], word[3], 0, 8, 1, 9, 4, 12, 5, 13)},
            high[2] = {__builtin_shufflevector(word[0], word[1], 2, 10, 3, 11, 6, 14, 7, 15),
                       __builtin_shufflevector(word[2], word[3], 2, 10, 3, 11, 6, 14, 7, 15)};
        v8i a = __builtin_shufflevector(low[0], low[1], 0, 1, 8, 9, 2, 3, 10, 11);     /* blocks 0, 1 */
        v8i b = __builtin_shufflevector(high[0], high[1], 0, 1, 8, 9, 2, 3, 10, 11);   /* 2, 3 */
        v8i c = __builtin_shufflevector(low[0], low[1], 4, 5, 12, 13, 6, 7, 14, 15);   /* 4, 5 */
        v8i d = __builtin_shufflevector(high[0], high[1], 4, 5, 12, 13, 6, 7, 14, 15); /* 6, 7 */
        memcpy(made, &a, sizeof a);
        memcpy(made + 8, &b, sizeof b);
        memcpy(made + 16, &c, sizeof c);
        memcpy(made + 24, &d, sizeof d);
        memcpy(dst + at, made, (n - at < 4 * LANES ? n - at : 4 * LANES) * sizeof *dst);
    }
}

/* --- normal numbers --- */

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
    const uint32_t of[2] = {0, channel};
    for (size_t at = 0; at < n; at += 4 * LANES) {
        v8i word[4];
        v8 c[2], s[2], low[2], high[2], made[4];
        noise_words(key, of, block + (uint32_t)(at / 4), word);
        for (int k = 0; k < 4; k++) word[k] = word[k] >> 8 & 0xffffff;
        for (int pair = 0; pair < 2; pair++) {
            v8 u = __builtin_convertvector((v8i)(word[2 * pair] + 1), v8) * ALL(0x1p-24f);
            ln8(&u);
            v8 r = roots(ALL(-2.0f) * u);
            circle8(word[2 * pair + 1], &c[pair], &s[pair]);
            c[pair] *= r;
            s[pair] *= r;
            low[pair] = __builtin_shufflevector(c[pair], s[pair], 0, 8, 1, 9, 4, 12, 5, 13);
            high[pair] = __builtin_shufflevector(c[pair], s[pair], 2, 10, 3, 11, 6, 14, 7, 15);
        }
        v8 a = __builtin_shufflevector(low[0], low[1], 0, 1, 8, 9, 4, 5, 12, 13);     /* blocks 0, 4 */
        v8 b = __builtin_shufflevector(low[0], low[1], 2, 3, 10, 11, 6, 7, 14, 15);   /* 1, 5 */
        v8 d = __builtin_shufflevector(high[0], high[1], 0, 1, 8, 9, 4, 5, 12, 13);   /* 2, 6 */
        v8 e = __builtin_shufflevector(high[0], high[1], 2, 3, 10, 11, 6, 7, 14, 15); /* 3, 7 */
        made[0] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        made[1] = __builtin_shufflevector(d, e, 0, 1, 2, 3, 8, 9, 10, 11);
        made[2] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
        made[3] = __builtin_shufflevector(d, e, 4, 5, 6, 7, 12, 13, 14, 15);
        memcpy(dst + at, made, (n - at < 4 * LANES ? n - at : 4 * LANES) * sizeof *dst);
    }
}
