/* pixels_avx2.h - eight pixels of 3 or 4 bytes, each in 32 bits of a vector, for files of AVX2 alone. */
#ifndef SPDL_MEDIA_PIXELS_AVX2_H
#define SPDL_MEDIA_PIXELS_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define AVX2 __attribute__((target("avx2,fma")))

/* Of 3 bytes each, four more are read. */
AVX2 static inline __m256i load_pixels(const uint8_t *c, int step) {
    if (step == 4) return _mm256_loadu_si256((const __m256i *)(const void *)c);
    const __m128i apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)c),
            high = _mm_loadu_si128((const __m128i *)(const void *)(c + 12));
    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1),
                               _mm256_broadcastsi128_si256(apart));
}

/* No byte behind them is written. */
AVX2 static inline void store_pixels(uint8_t *c, int step, __m256i v) {
    if (step == 4) {
        _mm256_storeu_si256((__m256i *)(void *)c, v);
        return;
    }
    const __m128i close = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    v = _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(close));
    __m128i high = _mm256_extracti128_si256(v, 1);
    _mm_storeu_si128((__m128i *)(void *)c, _mm256_castsi256_si128(v));
    _mm_storel_epi64((__m128i *)(void *)(c + 12), high);
    _mm_storeu_si32(c + 20, _mm_srli_si128(high, 8));
}

AVX2 static inline __m256i channel(__m256i v, int i) {
    return _mm256_and_si256(_mm256_srli_epi32(v, 8 * i), _mm256_set1_epi32(255));
}

AVX2 static inline __m256i pixels_of(__m256i r, __m256i g, __m256i b) {
    return _mm256_or_si256(r, _mm256_or_si256(_mm256_slli_epi32(g, 8), _mm256_slli_epi32(b, 16)));
}

/* The sum of r times red, g times green and b times blue and one number more, all of them below 2^15. */
AVX2 static inline __m256i weighed(__m256i v, int r, int g, int b, int more) {
    __m256i red_blue = _mm256_and_si256(v, _mm256_set1_epi32(0xff00ff)),
            green_one = _mm256_or_si256(channel(v, 1), _mm256_set1_epi32(1 << 16));
    return _mm256_add_epi32(_mm256_madd_epi16(red_blue, _mm256_set1_epi32(b << 16 | r)),
                            _mm256_madd_epi16(green_one, _mm256_set1_epi32(more << 16 | g)));
}

/* Each pixel becomes its light, eight at a time, into slack. */
AVX2 static inline __attribute__((always_inline)) void to_light(const media_pixels *px,
                                                                __m256i (*light)(__m256i)) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += 8, c += 8 * px->step) {
            __m256i v = light(load_pixels(c, px->step));
            store_pixels(c, px->step, pixels_of(v, v, v));
        }
    }
}

#endif
