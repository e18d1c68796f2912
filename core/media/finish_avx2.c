/* finish_avx2.c - lines into floats with AVX2, equal to the tables of finish.c.
 *
 * A division by a constant d is a multiplication by 1/d and one Newton step
 * with fused multiply-adds: q = x * r, q + (x - q * d) * r. That is the
 * correctly rounded quotient for nearly every d; media_op_init() tries all 256
 * values of each channel, and an op that fails keeps to the tables. */
#include "internal.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "finish_avx2.h"

#define AVX2 __attribute__((target("avx2,fma,f16c")))

typedef struct constants {
    __m256 mean, std, inverse;
} constants;

AVX2 static inline __m256 divide(__m256 x, __m256 d, __m256 r) {
    __m256 q = _mm256_mul_ps(x, r);
    return _mm256_fmadd_ps(_mm256_fnmadd_ps(q, d, x), r, q);
}

AVX2 static inline __m256 normalise(__m256i x, const constants *c) {
    const __m256 top = _mm256_set1_ps(255.0f), inverse = _mm256_set1_ps(1.0f / 255.0f);
    __m256 unit = divide(_mm256_cvtepi32_ps(x), top, inverse);
    return divide(_mm256_sub_ps(unit, c->mean), c->std, c->inverse);
}

/* Eight values to element `at` of dst. */
AVX2 static inline void store8(uint32_t dtype, void *dst, size_t at, __m256 v) {
    if (dtype == MEDIA_F32) {
        _mm256_storeu_ps((float *)(void *)((uint8_t *)dst + at * 4), v);
    } else if (dtype == MEDIA_F16) {
        _mm_storeu_si128((__m128i *)(void *)((uint8_t *)dst + at * 2),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    } else {
        __m256i b = _mm256_castps_si256(v);
        __m256i odd = _mm256_and_si256(_mm256_srli_epi32(b, 16), _mm256_set1_epi32(1));
        b = _mm256_add_epi32(b, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        b = _mm256_srli_epi32(b, 16);
        b = _mm256_permute4x64_epi64(_mm256_packus_epi32(b, b), 0x08);
        _mm_storeu_si128((__m128i *)(void *)((uint8_t *)dst + at * 2), _mm256_castsi256_si128(b));
    }
}

AVX2 static inline void channel_constants(const media_op *op, int ch, constants *c) {
    c->mean = _mm256_set1_ps(op->mean[ch]);
    c->std = _mm256_set1_ps(op->std[ch]);
    c->inverse = _mm256_set1_ps(op->inv_std[ch]);
}

/* n RGBX pixels to three planes; whole eights, the last one overlapping. */
AVX2 static inline void planar(const media_op *op, uint32_t dtype, const uint8_t *line, size_t at,
                               void *dst) {
    size_t n = op->out_w, plane = media_plane_pixels(op);
    const __m256i byte = _mm256_set1_epi32(255);
    constants c[3];
    for (int ch = 0; ch < 3; ch++) channel_constants(op, ch, &c[ch]);
    for (size_t x = 0; x < n; x += 8) {
        if (x + 8 > n) x = n - 8;
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(line + x * 4));
        store8(dtype, dst, at + x, normalise(_mm256_and_si256(v, byte), &c[0]));
        v = _mm256_srli_epi32(v, 8);
        store8(dtype, dst, at + plane + x, normalise(_mm256_and_si256(v, byte), &c[1]));
        v = _mm256_srli_epi32(v, 8);
        store8(dtype, dst, at + 2 * plane + x, normalise(_mm256_and_si256(v, byte), &c[2]));
    }
}

/* n flat values whose channels repeat every 24 elements. */
AVX2 static inline void flat(const media_op *op, uint32_t dtype, const uint8_t *line, size_t at, size_t n,
                             void *dst) {
    float k[3][24];
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t ch = i % op->channels;
        k[0][i] = op->mean[ch];
        k[1][i] = op->std[ch];
        k[2][i] = op->inv_std[ch];
    }
    size_t x = 0;
    for (uint32_t phase = 0; x + 8 <= n; x += 8, phase = phase == 16 ? 0 : phase + 8) {
        constants c = {_mm256_loadu_ps(k[0] + phase), _mm256_loadu_ps(k[1] + phase),
                       _mm256_loadu_ps(k[2] + phase)};
        __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)(line + x));
        store8(dtype, dst, at + x, normalise(_mm256_cvtepu8_epi32(v), &c));
    }
    for (; x < n; x++) {
        uint32_t ch = (uint32_t)(x % op->channels);
        if (dtype == MEDIA_F32)
            memcpy((uint8_t *)dst + (at + x) * 4, &op->lut[ch][line[x]], 4);
        else
            memcpy((uint8_t *)dst + (at + x) * 2, &op->lut16[ch][line[x]], 2);
    }
}

/* 32 RGBX pixels a step to three planes of bytes. */
AVX2 static void planar_u8(const media_op *op, const uint8_t *line, size_t at, uint8_t *dst) {
    const __m128i group = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    size_t n = op->out_w, plane = media_plane_pixels(op);
    for (size_t x = 0; x < n; x += 16) {
        if (x + 16 > n) x = n - 16;
        __m128i v[4];
        for (int i = 0; i < 4; i++) {
            const void *p = line + (x + 4 * i) * 4;
            v[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p), group);
        }
        __m128i rg0 = _mm_unpacklo_epi32(v[0], v[1]), rg1 = _mm_unpacklo_epi32(v[2], v[3]);
        __m128i bx0 = _mm_unpackhi_epi32(v[0], v[1]), bx1 = _mm_unpackhi_epi32(v[2], v[3]);
        uint8_t *d = dst + at + x;
        _mm_storeu_si128((__m128i *)(void *)d, _mm_unpacklo_epi64(rg0, rg1));
        _mm_storeu_si128((__m128i *)(void *)(d + plane), _mm_unpackhi_epi64(rg0, rg1));
        _mm_storeu_si128((__m128i *)(void *)(d + 2 * plane), _mm_unpacklo_epi64(bx0, bx1));
    }
}

AVX2 static void finish_planar(const media_op *op, const uint8_t *line, size_t at, void *dst) {
    if (op->dtype == MEDIA_U8)
        planar_u8(op, line, at, dst);
    else if (op->dtype == MEDIA_F32)
        planar(op, MEDIA_F32, line, at, dst);
    else if (op->dtype == MEDIA_F16)
        planar(op, MEDIA_F16, line, at, dst);
    else
        planar(op, MEDIA_BF16, line, at, dst);
}

AVX2 static void finish_flat(const media_op *op, const uint8_t *line, size_t at, size_t n, void *dst) {
    if (op->dtype == MEDIA_F32)
        flat(op, MEDIA_F32, line, at, n, dst);
    else if (op->dtype == MEDIA_F16)
        flat(op, MEDIA_F16, line, at, n, dst);
    else
        flat(op, MEDIA_BF16, line, at, n, dst);
}

void media_finish_avx2(const media_op *op, const uint8_t *line, int32_t y, void *dst) {
    size_t w = op->out_w, at = (size_t)y * op->line;
    int bytes = op->dtype == MEDIA_U8;
    if ((!bytes && !op->fma_exact) || w < 16 || (bytes && !media_planar(op)))
        media_finish_portable(op, line, y, dst);
    else if (media_planar(op))
        finish_planar(op, line, at, dst);
    else
        finish_flat(op, line, at * op->channels, w * op->channels, dst);
}

AVX2 int media_finish_avx2_exact(const media_op *op) {
    for (int ch = 0; ch < 3; ch++) {
        constants c;
        channel_constants(op, ch, &c);
        for (int x = 0; x < 256; x += 8) {
            __m256i v = _mm256_add_epi32(_mm256_set1_epi32(x), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            float got[8];
            _mm256_storeu_ps(got, normalise(v, &c));
            if (memcmp(got, op->lut[ch] + x, sizeof got) != 0) return 0;
        }
    }
    return 1;
}
#endif
