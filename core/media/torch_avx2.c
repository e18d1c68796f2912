/* torch_avx2.c - torch_isa.h for processors with AVX2 and FMA. */
#include "torch.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

#define ISA AVX2

ISA static inline v8 fused(v8 sum, v8 a, v8 b) {
    return (v8)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}

ISA static inline v4 fused4(v4 sum, v4 a, v4 b) {
    return (v4)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)sum);
}

ISA static inline v4 four(const uint8_t *c) {
    return (v4)_mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_loadu_si32(c)));
}

/* What comes behind three bytes is written before the next pixel is. */
ISA static inline void whole4(uint8_t *to, int step, v4 v) {
    __m128i whole = _mm_cvtps_epi32((__m128)v);
    whole = _mm_packs_epi32(whole, whole);
    whole = _mm_packus_epi16(whole, whole);
    if (step == 1)
        *to = (uint8_t)_mm_cvtsi128_si32(whole);
    else
        _mm_storeu_si32(to, whole);
}

ISA static inline void apart(const uint8_t *c, int step, v8i of[3]) {
    __m256i v = load_pixels(c, step);
    for (int ch = 0; ch < 3; ch++) of[ch] = (v8i)channel(v, ch);
}

ISA static inline void put(uint8_t *c, int step, const v8i of[3]) {
    store_pixels(c, step, pixels_of((__m256i)of[0], (__m256i)of[1], (__m256i)of[2]));
}

#include "torch_isa.h"
#include "torch_warp_isa.h"

const media_torch media_torch_avx2 = {to_gray, sum_gray, saturate, turn, warp};
#endif
