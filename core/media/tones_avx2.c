/* tones_avx2.c - tones.c's bytes by a table for processors with AVX2. */
#include "internal.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { HALF = 8, PARTS = 2 * HALF, VECTOR = 32 };

/* Sixteen bytes of a table are looked up by a byte's lower four bits, and nothing by one that is negative. A byte, less 16 from part to part, becomes that behind its own,
 * so that all parts up to it are put together: each but a half's first is what it differs by from the one before it. */
AVX2 static void parts_of(const uint8_t table[256], __m256i part[PARTS]) {
    __m256i last = _mm256_setzero_si256();
    for (int i = 0; i < PARTS; i++) {
        __m256i own =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
        part[i] = i % HALF ? _mm256_xor_si256(own, last) : own;
        last = own;
    }
}

AVX2 static inline __m256i looked_up(const __m256i part[PARTS], __m256i v) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i low = v, high = _mm256_xor_si256(v, _mm256_set1_epi8(-128)), sum = _mm256_setzero_si256();
    for (int i = 0; i < HALF; i++) {
        __m256i a = _mm256_shuffle_epi8(part[i], low), b = _mm256_shuffle_epi8(part[HALF + i], high);
        sum = _mm256_xor_si256(sum, _mm256_xor_si256(a, b));
        low = _mm256_subs_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);
    }
    return sum;
}

AVX2 void media_by_table_avx2(const media_pixels *px, const uint8_t table[256]) {
    __m256i part[PARTS];
    int32_t n = px->w * px->step;
    parts_of(table, part);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (int32_t i = 0; i < n; i += VECTOR) {
            __m256i *at = (__m256i *)(void *)(line + i);
            _mm256_storeu_si256(at, looked_up(part, _mm256_loadu_si256(at)));
        }
    }
}
#endif
