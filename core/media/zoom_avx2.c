/* zoom_avx2.c - zoom.c's sums in AVX2, eight at a time; without fused ones, which the target lacks. */
#include "cv2.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 8 };

__attribute__((target("avx2"))) void media_add_mix_avx2(float *sums, const float *a, const float *b,
                                                        float share, int32_t n) {
    const __m256 more = _mm256_set1_ps(share), rest = _mm256_set1_ps(1 - share);
    for (int32_t i = 0; i < n; i += LANES) {
        __m256 mixed = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(a + i), rest),
                                     _mm256_mul_ps(_mm256_loadu_ps(b + i), more));
        _mm256_storeu_ps(sums + i, _mm256_add_ps(_mm256_loadu_ps(sums + i), mixed));
    }
}
#endif
