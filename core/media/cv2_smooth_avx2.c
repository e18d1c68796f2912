/* cv2_smooth_avx2.c - cv2_smooth.c's sums in AVX2, sixteen values at a time. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { LANES = 16 };

AVX2 static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }

AVX2 void media_smooth_across_avx2(uint16_t *to, const uint8_t *from, const uint16_t *k, int32_t taps,
                                   int32_t step, int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i sum = _mm256_setzero_si256();
        const uint8_t *at = from + i;
        for (int32_t t = 0; t < taps; t++, at += step) {
            __m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)at));
            sum = _mm256_add_epi16(sum, _mm256_mullo_epi16(v, _mm256_set1_epi16((int16_t)k[t])));
        }
        _mm256_storeu_si256((__m256i *)(void *)(to + i), sum);
    }
}

AVX2 void media_smooth_down_avx2(uint8_t *to, const uint16_t *const *lines, const uint16_t *k, int32_t taps,
                                 int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i low = _mm256_set1_epi32(1 << 15), high = low;
        for (int32_t t = 0; t < taps; t++) {
            __m256i v = load(lines[t] + i), by = _mm256_set1_epi16((int16_t)k[t]);
            __m256i a = _mm256_mullo_epi16(v, by), b = _mm256_mulhi_epu16(v, by);
            low = _mm256_add_epi32(low, _mm256_unpacklo_epi16(a, b));
            high = _mm256_add_epi32(high, _mm256_unpackhi_epi16(a, b));
        }
        __m256i both = _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
        __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        _mm_storeu_si128((__m128i *)(void *)(to + i), bytes);
    }
}
#endif
