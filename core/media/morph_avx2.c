/* morph_avx2.c - morph_isa.h for processors with AVX2. */
#include "cv2.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define ISA __attribute__((target("avx2")))

typedef uint8_t bytes __attribute__((vector_size(32), aligned(1), may_alias));

ISA static inline bytes largest(bytes a, bytes b) { return (bytes)_mm256_max_epu8((__m256i)a, (__m256i)b); }
ISA static inline bytes smallest(bytes a, bytes b) { return (bytes)_mm256_min_epu8((__m256i)a, (__m256i)b); }

#include "morph_isa.h"

ISA void media_spread_avx2(const media_spread *s, const uint8_t *line, int32_t n) { spread(s, line, n); }
#endif
