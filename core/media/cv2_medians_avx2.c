/* cv2_medians_avx2.c - cv2_columns_isa.h's medians of large squares in AVX2. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

#define ISA AVX2
#include "cv2_columns_isa.h"

/* By sums of the numbers up to each, of which those that are not above half come first. */
AVX2 static inline int32_t passed(const counts *n, int32_t half, int32_t *below) {
    const __m256i last = _mm256_set1_epi16(0x0f0e);
    uint16_t before[COARSE + 1] = {0};
    __m256i sums = _mm256_loadu_si256((const __m256i *)(const void *)n);
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 2));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi16(sums, _mm256_slli_si256(sums, 8));
    __m256i low = _mm256_shuffle_epi8(_mm256_permute2x128_si256(sums, sums, 0x08), last);
    sums = _mm256_add_epi16(sums, low);
    _mm256_storeu_si256((__m256i *)(void *)(before + 1), sums);
    __m256i above = _mm256_subs_epu16(sums, _mm256_set1_epi16((int16_t)(half - *below)));
    uint32_t not_above = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi16(above, _mm256_setzero_si256()));
    int32_t i = __builtin_popcount(not_above) / 2;
    *below += before[i];
    return i;
}

void media_large_medians_avx2(const media_pixels *px, const media_pixels *from, int32_t size, void *room) {
    medians_by_columns(px, from, size, room);
}
#endif
