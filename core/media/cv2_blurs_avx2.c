/* cv2_blurs_avx2.c - the sums of cv2_blurs.c by fused instructions, equal bit for bit. */
#include "cv2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))

enum { LANES = 8 };

AVX2 void media_fuse_avx2(float *sums, const uint8_t *v, float k, int32_t n) {
    const __m256 by = _mm256_set1_ps(k);
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256 x =
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(v + i))));
        _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(x, by, _mm256_loadu_ps(sums + i)));
    }
    media_fuse(sums + i, v + i, k, n - i);
}

AVX2 void media_fuse_pairs_avx2(float *sums, const float *a, const float *b, float k, int32_t n) {
    const __m256 by = _mm256_set1_ps(k);
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256 x = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(x, by, _mm256_loadu_ps(sums + i)));
    }
    media_fuse_pairs(sums + i, a + i, b + i, k, n - i);
}
#endif
