/* resample_avx2.c - the passes of resample.c in AVX2, equal bit for bit.
 *
 * A coefficient is high * 2^11 + low; pairs of samples are multiplied by pairs
 * of halves and added (vpmaddwd), and the exact sum is
 * (sum of high products << 11) + sum of low products. torch's have no low
 * halves, and their passes leave these out: `halves` is 1, not 2. */
#include "cv2.h"
#include "torch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#include "finish_avx2.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define ALWAYS AVX2 static inline __attribute__((always_inline))

/* Four taps of one output over one row: 16 source bytes, RGBX each. Lane 0
 * holds taps 0 and 1, lane 1 holds taps 2 and 3, channel by channel. */
AVX2 static inline __m256i taps4(const uint8_t *s) {
    const __m256i pick = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, 8, -1, 12,
                                          -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
    __m128i v = _mm_loadu_si128((const __m128i *)s);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(v), pick);
}

/* Sum the lanes of two rows' totals: row a in lane 0, row b in lane 1. */
AVX2 static inline __m256i join(__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

/* How the sum of a pass becomes a whole number: what is added, and the bits behind its point. */
typedef struct rounding {
    __m256i half;
    __m128i bits;
} rounding;

ALWAYS rounding rounding_of(const media_axis *a, int halves) {
    int bits = MEDIA_PRECISION_BITS - (halves == 1 ? a->low : 0);
    return (rounding){_mm256_set1_epi32(1 << (bits - 1)), _mm_cvtsi32_si128(bits)};
}

ALWAYS __m256i whole(__m256i high, __m256i low, int halves) {
    return halves == 1 ? high : _mm256_add_epi32(_mm256_slli_epi32(high, MEDIA_SPLIT_BITS), low);
}

/* Round, clip and store one pixel of each of four rows. Four bytes are written
 * where a pixel may be three: the next pixel overwrites the last one. */
AVX2 static inline void store_pixels(const __m256i s[4], rounding by, uint8_t *const dst[4], size_t at) {
    __m256i a = _mm256_sra_epi32(_mm256_add_epi32(join(s[0], s[1]), by.half), by.bits);
    __m256i b = _mm256_sra_epi32(_mm256_add_epi32(join(s[2], s[3]), by.half), by.bits);
    __m256i w = _mm256_packs_epi32(a, b); /* rows 0 2 | 1 3, 16 bits a channel */
    w = _mm256_packus_epi16(w, w);
    __m128i even = _mm256_castsi256_si128(w), odd = _mm256_extracti128_si256(w, 1);
    _mm_storeu_si32(dst[0] + at, even);
    _mm_storeu_si32(dst[1] + at, odd);
    _mm_storeu_si32(dst[2] + at, _mm_srli_si128(even, 4));
    _mm_storeu_si32(dst[3] + at, _mm_srli_si128(odd, 4));
}

AVX2 static inline void split_taps(const int16_t *k, __m256i *high, __m256i *low) {
    const __m256i pick_high = _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4,
                                               5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    const __m256i pick_low = _mm256_add_epi8(pick_high, _mm256_set1_epi8(8));
    __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)k));
    *high = _mm256_shuffle_epi8(v, pick_high);
    *low = _mm256_shuffle_epi8(v, pick_low);
}

ALWAYS void add_taps(__m256i *h, __m256i *l, __m256i v, __m256i high, __m256i low, int halves) {
    *h = _mm256_add_epi32(*h, _mm256_madd_epi16(v, high));
    if (halves == 2) *l = _mm256_add_epi32(*l, _mm256_madd_epi16(v, low));
}

/* The rows are written out so that no compiler keeps their sums in memory.
 * is_short: at most four taps an output, the common case. */
ALWAYS void across(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step,
                   int halves, int is_short) {
    const uint8_t *r0 = src[0], *r1 = src[1], *r2 = src[2], *r3 = src[3];
    uint8_t *const out[4] = {dst[0], dst[1], dst[2], dst[3]};
    const rounding by = rounding_of(a, halves);
    const int16_t *next = a->split;
    size_t at = 0;
    for (int32_t i = 0, n = a->n; i < n; i++, next += (size_t)a->groups * 8, at += (size_t)step) {
        const int16_t *k = next;
        size_t from = (size_t)a->start[i] * 4;
        int32_t groups = is_short ? 1 : (a->count[i] + 3) / 4;
        __m256i zero = _mm256_setzero_si256();
        __m256i h0 = zero, h1 = zero, h2 = zero, h3 = zero, l0 = zero, l1 = zero, l2 = zero, l3 = zero;
        for (int32_t g = 0; g < groups; g++, k += 8, from += 16) {
            __m256i high, low;
            split_taps(k, &high, &low);
            add_taps(&h0, &l0, taps4(r0 + from), high, low, halves);
            add_taps(&h1, &l1, taps4(r1 + from), high, low, halves);
            add_taps(&h2, &l2, taps4(r2 + from), high, low, halves);
            add_taps(&h3, &l3, taps4(r3 + from), high, low, halves);
        }
        const __m256i sums[4] = {whole(h0, l0, halves), whole(h1, l1, halves), whole(h2, l2, halves),
                                 whole(h3, l3, halves)};
        store_pixels(sums, by, out, at);
    }
}

#define ACROSS(name, halves)                                                                       \
    AVX2 static void name(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], \
                          int step) {                                                              \
        if (a->groups == 1)                                                                        \
            across(a, src, dst, step, halves, 1);                                                  \
        else                                                                                       \
            across(a, src, dst, step, halves, 0);                                                  \
    }
ACROSS(across_pillow, 2)
ACROSS(across_torch, 1)

AVX2 static inline int32_t pair_of(const int16_t *k, int32_t t) {
    int32_t v;
    memcpy(&v, k + (t >> 2) * 8 + (t & 3), 4);
    return v;
}

/* 32 bytes of one output row. Two source rows are interleaved, so that a pair of
 * samples meets its pair of coefficients; packing undoes the order. */
ALWAYS __m256i column32(const int16_t *k, int32_t count, const uint8_t *s, size_t stride, rounding by,
                        int halves) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i h0 = zero, h1 = zero, h2 = zero, h3 = zero;
    __m256i l0 = zero, l1 = zero, l2 = zero, l3 = zero;
    if (halves == 2)
        l0 = l1 = l2 = l3 = by.half;
    else
        h0 = h1 = h2 = h3 = by.half;
    for (int32_t t = 0; t < count; t += 2, s += 2 * stride) {
        __m256i high = _mm256_set1_epi32(pair_of(k, t)), low = _mm256_set1_epi32(pair_of(k + 4, t));
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)s);
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(s + stride));
        __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpackhi_epi8(a, b);
        add_taps(&h0, &l0, _mm256_unpacklo_epi8(ab, zero), high, low, halves);
        add_taps(&h1, &l1, _mm256_unpackhi_epi8(ab, zero), high, low, halves);
        add_taps(&h2, &l2, _mm256_unpacklo_epi8(cd, zero), high, low, halves);
        add_taps(&h3, &l3, _mm256_unpackhi_epi8(cd, zero), high, low, halves);
    }
    h0 = _mm256_sra_epi32(whole(h0, l0, halves), by.bits);
    h1 = _mm256_sra_epi32(whole(h1, l1, halves), by.bits);
    h2 = _mm256_sra_epi32(whole(h2, l2, halves), by.bits);
    h3 = _mm256_sra_epi32(whole(h3, l3, halves), by.bits);
    return _mm256_packus_epi16(_mm256_packs_epi32(h0, h1), _mm256_packs_epi32(h2, h3));
}

#define DOWN(name, halves)                                                                                 \
    AVX2 static void name(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst, \
                          int32_t len) {                                                                   \
        const int16_t *k = a->split + (size_t)i * (size_t)a->groups * 8;                                   \
        const rounding by = rounding_of(a, halves);                                                        \
        for (int32_t x = 0; x < len; x += 32) {                                                            \
            __m256i v = column32(k, a->count[i], src + x, stride, by, halves);                             \
            _mm256_storeu_si256((__m256i *)(void *)(dst + x), v);                                          \
        }                                                                                                  \
    }
DOWN(down_pillow, 2)
DOWN(down_torch, 1)

/* RGBX to RGB, four pixels at a time: a store's last four bytes are the next one's to overwrite, so the last pixels go one by one. */
AVX2 static void pack(const uint8_t *s, uint8_t *d, int32_t n) {
    const __m128i three = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    int32_t i = 0;
    for (; i + 8 <= n; i += 4, s += 16, d += 12) {
        __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)s), three);
        _mm_storeu_si128((__m128i *)(void *)d, v);
    }
    for (; i < n; i++, s += 4, d += 3) memcpy(d, s, 4);
}

AVX2 static void pick4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    if (a->run && step == 3)
        for (int r = 0; r < 4; r++) pack(src[r], dst[r], a->n);
    else
        media_nearest.across4(a, src, dst, step);
}

static const media_resampler nearest = {
    .bytes = 1, .across4 = pick4, .across1 = media_pick1, .down = media_vertical};
static const media_resampler pillow = {
    .bytes = 1, .across4 = across_pillow, .across1 = media_horizontal1, .down = down_pillow};
static const media_resampler torch = {
    .bytes = 1, .across4 = across_torch, .across1 = media_horizontal1, .down = down_torch};

#define KERNELS(isa, by_table, by_tables)                                                                  \
    static const media_kernels isa = {                                                                     \
        #isa,                                                                                              \
        {&pillow, &torch, &nearest, &media_cv2_linear_avx2, &media_cv2_halves_avx2, &media_cv2_cubic_avx2, \
         &media_cv2_lanczos4_avx2, &media_cv2_area_avx2, &media_cv2_mean_avx2},                            \
        media_finish_avx2,                                                                                 \
        media_normals_avx2,                                                                                \
        media_words_avx2,                                                                                  \
        &media_cv2_avx2,                                                                                   \
        &media_torch_avx2,                                                                                 \
        media_mixed_avx2,                                                                                  \
        media_to_gray_avx2,                                                                                \
        by_table,                                                                                          \
        by_tables};

KERNELS(avx2, media_by_table_avx2, media_by_tables)
KERNELS(avx512vbmi, media_by_table_vbmi, media_by_tables_vbmi) /* AVX2's, but for these */

/* Found once: every op and context asks, and a hypervisor traps CPUID, some us each. Threads that ask at the same time find the same. */
static int has_f16c(void) {
    static _Atomic int known; /* 1 or 2: no or yes */
    if (!known) {
        unsigned a, b, c, d;
        known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) ? 2 : 1;
    }
    return known == 2;
}

const media_kernels *media_best_kernels(int without) {
    __builtin_cpu_init(); /* its answers know what the kernel saves; it has none for f16c */
    if (without & MEDIA_PORTABLE || !has_f16c() || !__builtin_cpu_supports("avx2") ||
        !__builtin_cpu_supports("fma"))
        return &media_portable;
    int wide = __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw");
    return wide && !(without & MEDIA_WIDE) ? &avx512vbmi : &avx2;
}
#endif
