/* jitter_avx2.c - jitter.c's grey in AVX2, eight pixels at a time. */
#include "internal.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

/* Pillow's weights have 16 bits, and that of green is twice a number that fits into 15. */
AVX2 static inline __m256i luma(__m256i v) {
    __m256i once = _mm256_madd_epi16(channel(v, 1), _mm256_set1_epi32(19235)),
            sum = _mm256_add_epi32(weighed(v, 19595, 19235, 7471, 0), once);
    return _mm256_srli_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(1 << 15)), 16);
}

AVX2 void media_to_gray_avx2(const media_pixels *px) { to_light(px, luma); }
#endif
