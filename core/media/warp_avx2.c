/* warp_avx2.c - warp.c's mixes of four and of sixteen pixels in AVX2, equal bit for bit: the channels of a pixel go side by side, and each is reckoned as it is there, in
 * whole numbers, which are exact, and in doubles, in the same order. Products and sums must not be contracted, though the target has fused ones. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "warp.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

AVX2 static inline __m128i pixel(const uint8_t *p) { return _mm_cvtepu8_epi32(_mm_loadu_si32(p)); }

/* The whole numbers of a pixel as bytes, and whatever comes behind three of them. */
AVX2 static inline void put(uint8_t *to, __m256d v) {
    __m128i whole = _mm256_cvttpd_epi32(v);
    whole = _mm_packs_epi32(whole, whole);
    _mm_storeu_si32(to, _mm_packus_epi16(whole, whole));
}

AVX2 static inline __m256d between(__m256d a, __m256d b, __m256d share) {
    return _mm256_add_pd(a, _mm256_mul_pd(_mm256_sub_pd(b, a), share));
}

AVX2 static inline __m256d pair(const uint8_t *a, const uint8_t *b, __m256d share) {
    return between(_mm256_cvtepi32_pd(pixel(a)), _mm256_cvtepi32_pd(pixel(b)), share);
}

AVX2 static inline __attribute__((always_inline)) void mix_linear(uint8_t *to, const media_pixels *from,
                                                                  size_t step, double x, double y) {
    int32_t left = below(x - 0.5), top = below(y - 0.5), w = from->w, h = from->h;
    const __m256d right_share = _mm256_set1_pd(x - 0.5 - left), lower_share = _mm256_set1_pd(y - 0.5 - top);
    const uint8_t *a = media_line(from, inside(top, h)), *b = top + 1 < h ? media_line(from, top + 1) : a;
    size_t l = (size_t)inside(left, w) * step, r = (size_t)inside(left + 1, w) * step;
    put(to, between(pair(a + l, a + r, right_share), pair(b + l, b + r, right_share), lower_share));
}

/* b + share * (one + share * (two + share * three)) */
AVX2 static inline __m256d polynomial(__m256d b, __m256d one, __m256d two, __m256d three, __m256d share) {
    two = _mm256_add_pd(two, _mm256_mul_pd(share, three));
    one = _mm256_add_pd(one, _mm256_mul_pd(share, two));
    return _mm256_add_pd(b, _mm256_mul_pd(share, one));
}

/* Four pixels of bytes, each in 32 bits. */
AVX2 static inline __m256d cubic_of_bytes(__m128i pixels, __m256d share) {
    __m128i a = _mm_cvtepu8_epi32(pixels), b = _mm_cvtepu8_epi32(_mm_srli_si128(pixels, 4)),
            c = _mm_cvtepu8_epi32(_mm_srli_si128(pixels, 8)),
            d = _mm_cvtepu8_epi32(_mm_srli_si128(pixels, 12));
    __m128i one = _mm_sub_epi32(c, a), less = _mm_sub_epi32(a, b), rest = _mm_sub_epi32(c, d);
    __m128i two = _mm_add_epi32(_mm_add_epi32(less, less), rest),
            three = _mm_sub_epi32(_mm_setzero_si128(), _mm_add_epi32(less, rest));
    return polynomial(_mm256_cvtepi32_pd(b), _mm256_cvtepi32_pd(one), _mm256_cvtepi32_pd(two),
                      _mm256_cvtepi32_pd(three), share);
}

AVX2 static inline __m256d cubic(const __m256d v[4], __m256d share) {
    __m256d one = _mm256_sub_pd(v[2], v[0]), less = _mm256_sub_pd(v[0], v[1]);
    __m256d two = _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(less, less), v[2]), v[3]);
    __m256d three = _mm256_add_pd(_mm256_sub_pd(_mm256_sub_pd(v[1], v[0]), v[2]), v[3]);
    return polynomial(v[1], one, two, three, share);
}

AVX2 static inline __m128i four_in_a_row(const uint8_t *p, size_t step) {
    const __m128i apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return step == 3 ? _mm_shuffle_epi8(v, apart) : v;
}

AVX2 static inline __m128i four_pixels(const uint8_t *line, const int32_t at[4]) {
    __m128i a = _mm_unpacklo_epi32(_mm_loadu_si32(line + at[0]), _mm_loadu_si32(line + at[1])),
            b = _mm_unpacklo_epi32(_mm_loadu_si32(line + at[2]), _mm_loadu_si32(line + at[3]));
    return _mm_unpacklo_epi64(a, b);
}

AVX2 static inline __attribute__((always_inline)) void mix_cubic(uint8_t *to, const media_pixels *from,
                                                                 size_t step, double x, double y) {
    int32_t left = below(x - 0.5), top = below(y - 0.5), w = from->w, h = from->h;
    const __m256d right_share = _mm256_set1_pd(x - 0.5 - left), lower_share = _mm256_set1_pd(y - 0.5 - top);
    int32_t at[4];
    for (int i = 0; i < 4; i++) at[i] = inside(left - 1 + i, w) * (int32_t)step;
    const uint8_t *line = media_line(from, inside(top - 1, h));
    __m256d v[4];
    for (int32_t i = 0; i < 4; i++) {
        int32_t next = top - 1 + i;
        if (i > 0 && next >= 0 && next < h) line = media_line(from, next);
        __m128i pixels =
            left >= 1 && left + 2 < w ? four_in_a_row(line + at[0], step) : four_pixels(line, at);
        v[i] = cubic_of_bytes(pixels, right_share);
    }
    put(to, cubic(v, lower_share));
}

typedef void mixer(uint8_t *to, const media_pixels *from, size_t step, double x, double y);

/* Inlined where it is called, as in warp.c. Each pixel may write into the next, which comes after it. */
AVX2 static inline __attribute__((always_inline)) void mixed(const media_pixels *px, const media_pixels *from,
                                                             size_t step, mixer *mix, const double *m,
                                                             int perspective, const uint8_t fill[4]) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, to += step) {
            double sx, sy;
            led_back(m, perspective, x, y, &sx, &sy);
            if (sx >= 0 && sx < from->w && sy >= 0 && sy < from->h)
                mix(to, from, step, sx, sy);
            else
                memcpy(to, fill, 4);
        }
    }
}

AVX2 static inline __attribute__((always_inline)) void mixed_by(mixer *mix, const media_pixels *px,
                                                                const media_pixels *from, const double *m,
                                                                int perspective, const uint8_t fill[4]) {
    if (px->step == 3)
        mixed(px, from, 3, mix, m, perspective, fill);
    else
        mixed(px, from, 4, mix, m, perspective, fill);
}

AVX2 void media_mixed_avx2(const media_pixels *px, const media_pixels *from, const double *m, int perspective,
                           int filter, const uint8_t fill[4]) {
    if (px->step == 1)
        media_mixed(px, from, m, perspective, filter, fill);
    else if (filter == MEDIA_BICUBIC)
        perspective ? mixed_by(mix_cubic, px, from, m, 1, fill) : mixed_by(mix_cubic, px, from, m, 0, fill);
    else
        perspective ? mixed_by(mix_linear, px, from, m, 1, fill) : mixed_by(mix_linear, px, from, m, 0, fill);
}
#endif
