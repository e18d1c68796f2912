/* unsharp_avx2.c - unsharp.c's lines in AVX2, eight values at a time. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { LANES = 8 };

AVX2 static inline __m256 share(const uint8_t *from) {
    __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight)), _mm256_set1_ps(255));
}

AVX2 static inline __m256 clip(__m256 v) {
    return _mm256_min_ps(_mm256_max_ps(v, _mm256_setzero_ps()), _mm256_set1_ps(1));
}

/* Whole numbers of 0 to 255 as bytes. */
AVX2 static inline void put_bytes(uint8_t *to, __m256i v) {
    __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(both, both));
}

AVX2 void media_shares_avx2(float *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) _mm256_storeu_ps(to + i, share(from + i));
}

AVX2 void media_sharper_avx2(float *to, uint8_t *mask, const uint8_t *own, const float *blur, int32_t n,
                             float alpha, float threshold) {
    const __m256 sign = _mm256_set1_ps(-0.0f), most = _mm256_set1_ps(threshold);
    for (int32_t i = 0; i < n; i += LANES) {
        __m256 value = share(own + i), residual = _mm256_sub_ps(value, _mm256_loadu_ps(blur + i));
        __m256 more = _mm256_mul_ps(_mm256_set1_ps(alpha), residual);
        __m256 far = _mm256_mul_ps(_mm256_andnot_ps(sign, residual), _mm256_set1_ps(255));
        _mm256_storeu_ps(to + i, clip(_mm256_add_ps(value, more)));
        put_bytes(mask + i, _mm256_srli_epi32(_mm256_castps_si256(_mm256_cmp_ps(far, most, _CMP_GT_OQ)), 31));
    }
}

AVX2 void media_soften_avx2(uint8_t *to, const uint8_t *own, const float *sharp, const float *soft,
                            int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) {
        __m256 much = _mm256_loadu_ps(soft + i), rest = _mm256_sub_ps(_mm256_set1_ps(1), much);
        __m256 a = _mm256_mul_ps(_mm256_loadu_ps(sharp + i), much), b = _mm256_mul_ps(share(own + i), rest);
        __m256 sum = clip(_mm256_add_ps(clip(a), clip(b)));
        put_bytes(to + i, _mm256_cvtps_epi32(_mm256_mul_ps(sum, _mm256_set1_ps(255))));
    }
}
#endif
