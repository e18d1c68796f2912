/* cv2_avx2.c - the passes of cv2_rows.c in AVX2, equal bit for bit. Products and sums of floats are not contracted: the target has no
 * fused ones. */
#include "resample.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2")))

AVX2 static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

AVX2 static inline __m256i two(__m128i a, __m128i b) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* Eight bytes of either row. */
AVX2 static inline __m256i eights(const uint8_t *a, const uint8_t *b) {
    return two(_mm_loadl_epi64((const __m128i *)(const void *)a),
               _mm_loadl_epi64((const __m128i *)(const void *)b));
}

AVX2 static inline void store8(uint8_t *to, __m128i v) { _mm_storel_epi64((__m128i *)(void *)to, v); }

/* A pixel of either row, as 32-bit numbers. */
AVX2 static inline __m256i pixels(const uint8_t *a, const uint8_t *b) {
    return _mm256_cvtepu8_epi32(_mm_unpacklo_epi32(_mm_loadu_si32(a), _mm_loadu_si32(b)));
}

AVX2 static inline void store_halves(uint8_t *a, uint8_t *b, __m256i v) {
    _mm_storeu_si128((__m128i *)(void *)a, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(void *)b, _mm256_extracti128_si256(v, 1));
}

/* Two taps of an output meet their coefficients channel by channel, two rows at a time. Four elements are written where a pixel may
 * be three: the next pixel overwrites the last one. So it is below. */
AVX2 static void pairs4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    const __m256i pick =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
    const uint8_t *r0 = src[0], *r1 = src[1], *r2 = src[2], *r3 = src[3];
    uint8_t *d0 = dst[0], *d1 = dst[1], *d2 = dst[2], *d3 = dst[3];
    for (int32_t i = 0, n = a->n, bytes = 2 * step; i < n; i++) {
        size_t from = (size_t)a->start[i] * 4;
        int32_t both;
        memcpy(&both, a->taps.across + 2 * (size_t)i, 4);
        __m256i k = _mm256_set1_epi32(both);
        __m256i s = _mm256_shuffle_epi8(eights(r0 + from, r1 + from), pick);
        __m256i t = _mm256_shuffle_epi8(eights(r2 + from, r3 + from), pick);
        s = _mm256_srai_epi32(_mm256_madd_epi16(s, k), 4);
        t = _mm256_srai_epi32(_mm256_madd_epi16(t, k), 4);
        __m256i all = _mm256_packs_epi32(s, t); /* rows 0 2 | 1 3 */
        __m128i even = _mm256_castsi256_si128(all), odd = _mm256_extracti128_si256(all, 1);
        store8(d0, even);
        store8(d1, odd);
        store8(d2, _mm_unpackhi_epi64(even, even));
        store8(d3, _mm_unpackhi_epi64(odd, odd));
        d0 += bytes;
        d1 += bytes;
        d2 += bytes;
        d3 += bytes;
    }
}

AVX2 static inline __m128i gather4(const uint8_t *src, const int32_t *start) {
    __m128i a = _mm_unpacklo_epi32(_mm_loadu_si32(src + start[0]), _mm_loadu_si32(src + start[1]));
    __m128i b = _mm_unpacklo_epi32(_mm_loadu_si32(src + start[2]), _mm_loadu_si32(src + start[3]));
    return _mm_unpacklo_epi64(a, b);
}

/* Four bytes of eight outputs, at their first taps. The instruction that gathers is slower on processors whose leak is mended. */
AVX2 static inline __m256i gather8(const uint8_t *src, const int32_t *start) {
    return two(gather4(src, start), gather4(src, start + 4));
}

AVX2 static void pairs1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    const __m256i pick =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1));
    const int32_t n = a->n;
    if (n < 8) {
        media_cv2_linear.across1(a, src, dst);
        return;
    }
    for (int32_t i = 0; i < n; i += 8) {
        if (i + 8 > n) i = n - 8;
        __m256i v = _mm256_shuffle_epi8(gather8(src, a->start + i), pick);
        v = _mm256_srai_epi32(_mm256_madd_epi16(v, load(a->taps.across + 2 * i)), 4);
        __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
        _mm_storeu_si128((__m128i *)(void *)(dst + 2 * i), _mm_packs_epi32(low, high));
    }
}

/* The outputs of a picture that is halved and not mirrored, *first to end, lie in a row. */
static int32_t in_a_row(const media_axis *a, int32_t *first) {
    int32_t i = 0, end = a->n;
    if (a->key.mirror) return 0;
    while (i < end && a->count[i] == 0) i++;
    while (end > i && a->count[end - 1] == 0) end--;
    *first = i;
    return end;
}

/* Two outputs of a row of pixels at a time. */
AVX2 static void add_neighbours(const uint8_t *s, uint8_t *to, int32_t n, int step) {
    const __m128i three = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 8, 12, 9, 13, 10, 14, -1, -1, -1, -1);
    const __m128i four = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    const __m128i pick = step == 3 ? three : four, ones = _mm_set1_epi8(1);
    for (int32_t i = 0; i < n; i += 2, s += 16, to += 4 * step) {
        __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)s), pick);
        _mm_storeu_si128((__m128i *)(void *)to, _mm_maddubs_epi16(v, ones));
    }
}

AVX2 static void halves4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    int32_t first = 0, end = in_a_row(a, &first);
    if (end <= first) {
        pairs4(a, src, dst, step);
        return;
    }
    for (int r = 0; r < 4; r++)
        add_neighbours(src[r] + (size_t)a->start[first] * 4, dst[r] + 2 * (size_t)(first * step), end - first,
                       step);
}

AVX2 static void halves1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    int32_t first = 0, end = in_a_row(a, &first);
    if (end <= first) {
        pairs1(a, src, dst);
        return;
    }
    for (int32_t i = first; i < end; i += 16) {
        __m256i v = load(src + a->start[first] + 2 * (i - first));
        _mm256_storeu_si256((__m256i *)(void *)(dst + 2 * i), _mm256_maddubs_epi16(v, _mm256_set1_epi8(1)));
    }
}

static const uint8_t *tap(const media_axis *a, int32_t i, int32_t t, const uint8_t *src, size_t stride) {
    return src + a->taps.at[(size_t)i * (size_t)a->taps.n + (size_t)t] * stride;
}

/* 32 numbers of 16 bits as bytes, in their order. */
AVX2 static inline void store32(uint8_t *to, __m256i a, __m256i b) {
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8));
}

AVX2 static inline __m256i mixed(__m256i s, __m256i t, __m256i k0, __m256i k1) {
    __m256i sum = _mm256_add_epi16(_mm256_mulhi_epi16(s, k0), _mm256_mulhi_epi16(t, k1));
    return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
}

AVX2 static void linear_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                             int32_t len) {
    const int16_t *k = a->taps.down + 2 * (size_t)i;
    const uint8_t *s = tap(a, i, 0, src, stride), *t = tap(a, i, 1, src, stride);
    const __m256i k0 = _mm256_set1_epi16(k[0]), k1 = _mm256_set1_epi16(k[1]);
    for (int32_t x = 0; x < len; x += 32, s += 64, t += 64)
        store32(dst + x, mixed(load(s), load(t), k0, k1), mixed(load(s + 32), load(t + 32), k0, k1));
}

AVX2 static inline __m256i quarter(__m256i s, __m256i t) {
    return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(s, t), _mm256_set1_epi16(2)), 2);
}

AVX2 static void halves_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                             int32_t len) {
    const uint8_t *s = src, *t = src + stride;
    (void)a;
    (void)i;
    for (int32_t x = 0; x < len; x += 32, s += 64, t += 64)
        store32(dst + x, quarter(load(s), load(t)), quarter(load(s + 32), load(t + 32)));
}

/* Four taps of an output over one row, taps 0 and 1 in one lane, 2 and 3 in the other, added up. */
AVX2 static inline __m256i products(const uint8_t *s, __m256i k) {
    const __m256i pick = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, 8, -1, 12,
                                          -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
    __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)s));
    return _mm256_madd_epi16(_mm256_shuffle_epi8(v, pick), k);
}

AVX2 static inline __m256i join(__m256i a, __m256i b) {
    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
}

AVX2 static void sums4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    const int16_t *k = a->taps.across;
    size_t at = 0;
    for (int32_t i = 0, n = a->n, groups = a->groups; i < n; i++, at += 4 * (size_t)step) {
        size_t from = (size_t)a->start[i] * 4;
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (int32_t g = 0; g < groups; g++, k += 4, from += 16) {
            __m128i four = _mm_loadl_epi64((const __m128i *)(const void *)k);
            __m256i w = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), spread);
            s0 = _mm256_add_epi32(s0, products(src[0] + from, w));
            s1 = _mm256_add_epi32(s1, products(src[1] + from, w));
            s2 = _mm256_add_epi32(s2, products(src[2] + from, w));
            s3 = _mm256_add_epi32(s3, products(src[3] + from, w));
        }
        store_halves(dst[0] + at, dst[1] + at, join(s0, s1));
        store_halves(dst[2] + at, dst[3] + at, join(s2, s3));
    }
}

/* Four outputs of CUBIC, whose bytes are 16-bit numbers. */
AVX2 static inline __m256i four_sums(__m128i bytes, const int16_t *k) {
    return _mm256_madd_epi16(_mm256_cvtepu8_epi16(bytes), load(k));
}

AVX2 static void cubic1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    const int32_t n = a->n;
    if (n < 8) {
        media_cv2_cubic.across1(a, src, dst);
        return;
    }
    for (int32_t i = 0; i < n; i += 8) {
        if (i + 8 > n) i = n - 8;
        const int16_t *k = a->taps.across + 4 * (size_t)i;
        __m256i v = gather8(src, a->start + i);
        __m256i low = four_sums(_mm256_castsi256_si128(v), k);
        __m256i high = four_sums(_mm256_extracti128_si256(v, 1), k + 16);
        v = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8); /* outputs 0 1 4 5 | 2 3 6 7 */
        _mm256_storeu_si256((__m256i *)(void *)(dst + 4 * (size_t)i), v);
    }
}

static void lanczos1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    media_cv2_lanczos4.across1(a, src, dst);
}

/* Sixteen 32-bit numbers as bytes, in their order. */
AVX2 static inline void store16(uint8_t *to, __m256i a, __m256i b) {
    __m256i v = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    __m128i low = _mm256_castsi256_si128(v), high = _mm256_extracti128_si256(v, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packus_epi16(low, high));
}

AVX2 static inline __m256 times(const uint8_t *s, __m256 k) {
    return _mm256_mul_ps(_mm256_cvtepi32_ps(load(s)), k);
}

AVX2 static inline __m256i cubic8(const uint8_t *const s[4], size_t x, const __m256 k[4]) {
    __m256 sum = _mm256_add_ps(times(s[2] + x, k[2]), times(s[3] + x, k[3]));
    sum = _mm256_add_ps(times(s[1] + x, k[1]), sum);
    return _mm256_cvtps_epi32(_mm256_add_ps(times(s[0] + x, k[0]), sum));
}

AVX2 static void cubic_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                            int32_t len) {
    const uint8_t *s[4];
    __m256 k[4];
    for (int32_t t = 0; t < 4; t++) {
        s[t] = tap(a, i, t, src, stride);
        k[t] = _mm256_set1_ps((float)a->taps.down[4 * (size_t)i + (size_t)t] * (1.0f / (1 << 22)));
    }
    for (int32_t x = 0; x < len; x += 16)
        store16(dst + x, cubic8(s, 4 * (size_t)x, k), cubic8(s, 4 * (size_t)x + 32, k));
}

AVX2 static inline __m256i lanczos8(const uint8_t *const s[8], size_t x, const int16_t *k) {
    __m256i sum = _mm256_set1_epi32(1 << 21);
    for (int t = 0; t < 8; t++)
        sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(load(s[t] + x), _mm256_set1_epi32(k[t])));
    return _mm256_srai_epi32(sum, 22);
}

AVX2 static void lanczos4_down(const media_axis *a, int32_t i, const uint8_t *src, size_t stride,
                               uint8_t *dst, int32_t len) {
    const int16_t *k = a->taps.down + 8 * (size_t)i;
    const uint8_t *s[8];
    for (int32_t t = 0; t < 8; t++) s[t] = tap(a, i, t, src, stride);
    for (int32_t x = 0; x < len; x += 16)
        store16(dst + x, lanczos8(s, 4 * (size_t)x, k), lanczos8(s, 4 * (size_t)x + 32, k));
}

AVX2 static inline void add_pixels(__m256 *to, const uint8_t *a, const uint8_t *b, __m256 k) {
    *to = _mm256_add_ps(*to, _mm256_mul_ps(_mm256_cvtepi32_ps(pixels(a, b)), k));
}

AVX2 static void shares4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    size_t at = 0;
    for (int32_t i = 0, n = a->n; i < n; i++, at += 4 * (size_t)step) {
        const float *k = a->taps.share + (size_t)i * (size_t)a->taps.n;
        size_t from = (size_t)a->start[i] * 4;
        __m256 s = _mm256_setzero_ps(), t = s;
        for (int32_t j = 0, count = a->count[i]; j < count; j++, from += 4) {
            __m256 w = _mm256_set1_ps(k[j]);
            add_pixels(&s, src[0] + from, src[1] + from, w);
            add_pixels(&t, src[2] + from, src[3] + from, w);
        }
        store_halves(dst[0] + at, dst[1] + at, _mm256_castps_si256(s));
        store_halves(dst[2] + at, dst[3] + at, _mm256_castps_si256(t));
    }
}

static void shares1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    media_cv2_area.across1(a, src, dst);
}

AVX2 static void add_share(const media_axis *a, int32_t i, int32_t t, const uint8_t *line, void *sum,
                           int32_t len) {
    const __m256 k = _mm256_set1_ps(a->taps.share[(size_t)i * (size_t)a->taps.n + (size_t)t]);
    const float *s = (const float *)(const void *)line;
    float *to = sum;
    for (int32_t x = 0; x < len; x += 8) {
        __m256 v = _mm256_mul_ps(k, _mm256_loadu_ps(s + x));
        if (t > 0) v = _mm256_add_ps(_mm256_loadu_ps(to + x), v);
        _mm256_storeu_ps(to + x, v);
    }
}

AVX2 static void round_shares(const media_axis *x, const media_axis *y, const void *sum, uint8_t *dst,
                              int32_t len) {
    const float *s = sum;
    (void)x;
    (void)y;
    for (int32_t e = 0; e < len; e += 16)
        store16(dst + e, _mm256_cvtps_epi32(_mm256_loadu_ps(s + e)),
                _mm256_cvtps_epi32(_mm256_loadu_ps(s + e + 8)));
}

AVX2 static void totals4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    size_t at = 0;
    for (int32_t i = 0, n = a->n; i < n; i++, at += 4 * (size_t)step) {
        size_t from = (size_t)a->start[i] * 4;
        __m256i s = _mm256_setzero_si256(), t = s;
        for (int32_t j = 0, count = a->count[i]; j < count; j++, from += 4) {
            s = _mm256_add_epi32(s, pixels(src[0] + from, src[1] + from));
            t = _mm256_add_epi32(t, pixels(src[2] + from, src[3] + from));
        }
        store_halves(dst[0] + at, dst[1] + at, s);
        store_halves(dst[2] + at, dst[3] + at, t);
    }
}

static void totals1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    media_cv2_mean.across1(a, src, dst);
}

AVX2 static void add_total(const media_axis *a, int32_t i, int32_t t, const uint8_t *line, void *sum,
                           int32_t len) {
    const int32_t *s = (const int32_t *)(const void *)line;
    int32_t *to = sum;
    (void)a;
    (void)i;
    for (int32_t x = 0; x < len; x += 8) {
        __m256i v = load(s + x);
        if (t > 0) v = _mm256_add_epi32(load(to + x), v);
        _mm256_storeu_si256((__m256i *)(void *)(to + x), v);
    }
}

AVX2 static void round_totals(const media_axis *x, const media_axis *y, const void *sum, uint8_t *dst,
                              int32_t len) {
    const float share = 1.0f / (float)((x->key.in / x->key.out) * (y->key.in / y->key.out));
    const __m256 k = _mm256_set1_ps(share);
    const uint8_t *s = sum;
    for (int32_t e = 0; e < len; e += 16, s += 64)
        store16(dst + e, _mm256_cvtps_epi32(times(s, k)), _mm256_cvtps_epi32(times(s + 32, k)));
}

const media_resampler media_cv2_linear_avx2 = {
    .bytes = 2, .across4 = pairs4, .across1 = pairs1, .down = linear_down};
const media_resampler media_cv2_halves_avx2 = {
    .bytes = 2, .across4 = halves4, .across1 = halves1, .down = halves_down};
const media_resampler media_cv2_cubic_avx2 = {
    .bytes = 4, .across4 = sums4, .across1 = cubic1, .down = cubic_down, .mend = media_cv2_cubic_mend};
const media_resampler media_cv2_lanczos4_avx2 = {
    .bytes = 4, .across4 = sums4, .across1 = lanczos1, .down = lanczos4_down};
const media_resampler media_cv2_area_avx2 = {
    .bytes = 4, .across4 = shares4, .across1 = shares1, .add = add_share, .round = round_shares};
const media_resampler media_cv2_mean_avx2 = {
    .bytes = 4, .across4 = totals4, .across1 = totals1, .add = add_total, .round = round_totals};
#endif
