/* clahe_avx2.c - clahe.c's way to L*a*b* and back in AVX2, some pixels at a time, and its mix of tiles, equal bit for bit: what is looked up in tables is
 * looked up one by one, and what is reckoned is reckoned eight at a time. Vectors run past the end of a line, into slack. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { SOME = 64, PIXELS = 8, BASE = 1 << MEDIA_LAB_BASE_BITS };

AVX2 static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
AVX2 static inline void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }

AVX2 static inline __m256i rounded(__m256i v, int bits) {
    return _mm256_srai_epi32(_mm256_add_epi32(v, _mm256_set1_epi32(1 << (bits - 1))), bits);
}

AVX2 static inline __m256i within(__m256i v, int32_t most) {
    return _mm256_min_epi32(_mm256_max_epi32(v, _mm256_setzero_si256()), _mm256_set1_epi32(most));
}

AVX2 static inline __m256i times(__m256i v, int32_t by) {
    return _mm256_mullo_epi32(v, _mm256_set1_epi32(by));
}

/* Light of red and green, two numbers of 16 bits, and of blue, into a line of the matrix, whose numbers have 12. */
AVX2 static inline __m256i line_of(const int32_t m[3], __m256i red_green, __m256i blue) {
    __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(red_green, _mm256_set1_epi32(m[1] << 16 | m[0])),
                                   _mm256_madd_epi16(blue, _mm256_set1_epi32(m[2])));
    return rounded(sum, MEDIA_LAB_XYZ_BITS);
}

AVX2 static void some_to_lab(uint8_t *c, int32_t n, int step, const media_lab *l) {
    const int32_t scale = (116 * 255 + 50) / 100, offset = (16 * 255 * (1 << MEDIA_LAB_ROOT_BITS) + 50) / 100;
    const __m256i half = _mm256_set1_epi32(128 << MEDIA_LAB_ROOT_BITS);
    uint32_t red_green[SOME], blue[SOME], f[3][SOME];
    const uint8_t *from = c;
    for (int32_t i = 0; i < n; i++, from += step) {
        red_green[i] = (uint32_t)l->light[from[1]] << 16 | l->light[from[0]];
        blue[i] = l->light[from[2]];
    }
    for (int32_t i = 0; i < n; i += PIXELS)
        for (int k = 0; k < 3; k++)
            store(f[k] + i, line_of(l->there + 3 * k, load(red_green + i), load(blue + i)));
    for (int k = 0; k < 3; k++)
        for (int32_t i = 0; i < n; i++) f[k][i] = l->root[f[k][i]];
    for (int32_t i = 0; i < n; i += PIXELS, c += PIXELS * step) {
        __m256i x = load(f[0] + i), y = load(f[1] + i), z = load(f[2] + i);
        __m256i light = _mm256_sub_epi32(times(y, scale), _mm256_set1_epi32(offset));
        __m256i a = _mm256_add_epi32(times(_mm256_sub_epi32(x, y), 500), half),
                b = _mm256_add_epi32(times(_mm256_sub_epi32(y, z), 200), half);
        light = within(rounded(light, MEDIA_LAB_ROOT_BITS), 255);
        a = within(rounded(a, MEDIA_LAB_ROOT_BITS), 255);
        b = within(rounded(b, MEDIA_LAB_ROOT_BITS), 255);
        a = _mm256_or_si256(_mm256_slli_epi32(a, 8), _mm256_slli_epi32(b, 16));
        store_pixels(c, step, _mm256_or_si256(light, a));
    }
}

/* The light that has this function. A quotient of floats is cut off to the whole number that division gives: a part of 841 is more than they round. */
AVX2 static inline __m256i light_of(__m256i f) {
    __m256 part = _mm256_div_ps(_mm256_cvtepi32_ps(times(f, 108)), _mm256_set1_ps(841));
    __m256i low = _mm256_sub_epi32(_mm256_cvttps_epi32(part), _mm256_set1_epi32(BASE * 16 / 116 * 108 / 841));
    __m256i high = _mm256_srli_epi32(_mm256_mullo_epi32(f, f), MEDIA_LAB_BASE_BITS);
    high = _mm256_srli_epi32(_mm256_mullo_epi32(high, f), MEDIA_LAB_BASE_BITS);
    return _mm256_blendv_epi8(low, high, _mm256_cmpgt_epi32(f, _mm256_set1_epi32(3390)));
}

AVX2 static void some_from_lab(uint8_t *c, int32_t n, int step, const media_lab *l) {
    int32_t f[SOME], y[SOME], level[3][SOME];
    const uint8_t *from = c;
    for (int32_t i = 0; i < n; i++, from += step) {
        f[i] = l->f[*from];
        y[i] = l->y[*from];
    }
    from = c;
    for (int32_t i = 0; i < n; i += PIXELS, from += PIXELS * step) {
        __m256i v = load_pixels(from, step);
        __m256i a = _mm256_srai_epi32(
            _mm256_add_epi32(times(channel(v, 1), 5 * 53687), _mm256_set1_epi32(1 << 7)), 13);
        __m256i b =
            _mm256_srai_epi32(_mm256_add_epi32(times(channel(v, 2), 41943), _mm256_set1_epi32(1 << 4)), 9);
        a = _mm256_sub_epi32(a, _mm256_set1_epi32(128 * BASE / 500));
        b = _mm256_sub_epi32(b, _mm256_set1_epi32(128 * BASE / 200 - 1));
        __m256i x = light_of(_mm256_add_epi32(load(f + i), a)),
                z = light_of(_mm256_sub_epi32(load(f + i), b));
        for (int k = 0; k < 3; k++) {
            const int32_t *m = l->back + 3 * k;
            __m256i sum =
                _mm256_add_epi32(times(x, m[0]), _mm256_add_epi32(times(load(y + i), m[1]), times(z, m[2])));
            store(level[k] + i, within(rounded(sum, MEDIA_LAB_BASE_BITS), MEDIA_LAB_LEVELS - 1));
        }
    }
    for (int32_t i = 0; i < n; i++, c += step)
        for (int k = 0; k < 3; k++) c[k] = l->srgb[level[k][i]];
}

/* n: whole eights. */
typedef void some_pixels(uint8_t *c, int32_t n, int step, const media_lab *l);

static inline __attribute__((always_inline)) void each(const media_pixels *px, const media_lab *l,
                                                       some_pixels *change, int step) {
    for (int32_t y = 0; y < px->h; y++)
        for (int32_t x = 0; x < px->w; x += SOME) {
            int32_t n = px->w - x < SOME ? (px->w - x + PIXELS - 1) / PIXELS * PIXELS : SOME;
            change(media_line(px, y) + (size_t)x * (size_t)step, n, step, l);
        }
}

void media_to_lab_avx2(const media_pixels *px, const media_lab *l) {
    px->step == 3 ? each(px, l, some_to_lab, 3) : each(px, l, some_to_lab, 4);
}

void media_from_lab_avx2(const media_pixels *px, const media_lab *l) {
    px->step == 3 ? each(px, l, some_from_lab, 3) : each(px, l, some_from_lab, 4);
}

AVX2 static inline __m256 float_of(__m256i v, int i) { return _mm256_cvtepi32_ps(channel(v, i)); }

AVX2 static inline __m256 mixed(__m256 a, __m256 near_a, __m256 b, __m256 near_b) {
    return _mm256_add_ps(_mm256_mul_ps(a, near_a), _mm256_mul_ps(b, near_b));
}

AVX2 void media_mix_tiles_avx2(uint8_t *c, int32_t n, int step, const uint32_t *fours, const media_near *near,
                               float above, float below) {
    const __m256 up = _mm256_set1_ps(above), down = _mm256_set1_ps(below);
    for (int32_t x = 0; x < n; x += PIXELS, c += PIXELS * step) {
        __m256i v = load(fours + x);
        __m256 before = _mm256_loadu_ps(near->before + x), behind = _mm256_loadu_ps(near->behind + x);
        __m256 upper = mixed(float_of(v, 0), before, float_of(v, 1), behind),
               lower = mixed(float_of(v, 2), before, float_of(v, 3), behind);
        __m256i light = within(_mm256_cvtps_epi32(mixed(upper, up, lower, down)), 255);
        if (step == 1) {
            __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(light), _mm256_extracti128_si256(light, 1));
            _mm_storel_epi64((__m128i *)(void *)c, _mm_packus_epi16(both, both));
            continue;
        }
        __m256i rest = _mm256_andnot_si256(_mm256_set1_epi32(255), load_pixels(c, step));
        store_pixels(c, step, _mm256_or_si256(rest, light));
    }
}
#endif
