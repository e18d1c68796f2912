/* tones_vbmi.c - tones.c's bytes by tables for processors with AVX-512's VBMI, which looks up 64 bytes in 128 at once. */
#include "internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

enum { VECTOR = 64, PERIOD = 3 }; /* vectors after which pixels of 3 bytes lie as in the first */

typedef struct table {
    __m512i part[4];
} table;

VBMI static table taken(const uint8_t of[256]) {
    table t;
    for (int i = 0; i < 4; i++) t.part[i] = _mm512_loadu_si512(of + VECTOR * i);
    return t;
}

VBMI static inline __m512i looked_up(const table *t, __m512i v) {
    __m512i low = _mm512_permutex2var_epi8(t->part[0], v, t->part[1]),
            high = _mm512_permutex2var_epi8(t->part[2], v, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

VBMI void media_by_table_vbmi(const media_pixels *px, const uint8_t of[256]) {
    const table t = taken(of);
    int32_t n = px->w * px->step;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (int32_t i = 0; i < n; i += VECTOR)
            _mm512_storeu_si512(line + i, looked_up(&t, _mm512_loadu_si512(line + i)));
    }
}

/* Which bytes of a vector, the first of which is byte `from` of a line, are of a channel. */
static __mmask64 of_channel(int32_t from, int step, int channel) {
    __mmask64 is = 0;
    for (int i = 0; i < VECTOR; i++) is |= (__mmask64)((from + i) % step == channel) << i;
    return is;
}

VBMI void media_by_tables_vbmi(const media_pixels *px, const uint8_t of[3][256]) {
    const table r = taken(of[0]), g = taken(of[1]), b = taken(of[2]);
    __mmask64 is_g[PERIOD], is_b[PERIOD];
    int32_t n = px->w * px->step;
    for (int k = 0; k < PERIOD; k++) {
        is_g[k] = of_channel(VECTOR * k, px->step, 1);
        is_b[k] = of_channel(VECTOR * k, px->step, 2);
    }
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (int32_t i = 0, k = 0; i < n; i += VECTOR, k = k + 1 < PERIOD ? k + 1 : 0) {
            __m512i v = _mm512_loadu_si512(line + i);
            __m512i to = _mm512_mask_blend_epi8(is_g[k], looked_up(&r, v), looked_up(&g, v));
            _mm512_storeu_si512(line + i, _mm512_mask_blend_epi8(is_b[k], to, looked_up(&b, v)));
        }
    }
}
#endif
