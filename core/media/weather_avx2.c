/* weather_avx2.c - weather.c's pixels that get another lightness in AVX2, eight at a time, as cv2_hls.c has them. */
#include "cv2.h"

#if defined(__x86_64__)
#include <float.h>

#include "pixels_avx2.h"

enum { LANES = 8 };

typedef __m256 floats;

AVX2 static inline floats all_of(float v) { return _mm256_set1_ps(v); }

AVX2 static inline floats pick(floats is, floats a, floats b) { return _mm256_blendv_ps(b, a, is); }

AVX2 static inline floats less(floats a, floats b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }

AVX2 static inline floats upto(floats a, floats b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }

AVX2 static inline floats cut(floats v) { return _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

/* Numbers that are whole when they are times `by`, half to even, over it again. */
AVX2 static inline __m256i nearest(floats v, float by) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(v, all_of(by)));
}

typedef struct hls {
    floats h, l, s;
} hls;

AVX2 static inline hls to_hls(floats r, floats g, floats b) {
    floats max = _mm256_max_ps(_mm256_max_ps(r, g), b), min = _mm256_min_ps(_mm256_min_ps(r, g), b);
    floats range = _mm256_sub_ps(max, min), sum = _mm256_add_ps(max, min);
    floats some = _mm256_cmp_ps(range, all_of(FLT_EPSILON), _CMP_GT_OQ);
    floats by = _mm256_div_ps(all_of(60), range), l = _mm256_mul_ps(sum, all_of(0.5f));
    floats red = _mm256_cmp_ps(max, r, _CMP_EQ_OQ), green = _mm256_cmp_ps(max, g, _CMP_EQ_OQ);
    floats off = pick(red, _mm256_sub_ps(g, b), pick(green, _mm256_sub_ps(b, r), _mm256_sub_ps(r, g)));
    floats from = pick(red, _mm256_and_ps(less(g, b), all_of(360)), pick(green, all_of(120), all_of(240)));
    floats s = _mm256_div_ps(range, pick(less(l, all_of(0.5f)), sum, _mm256_sub_ps(all_of(2), sum)));
    return (hls){_mm256_and_ps(some, _mm256_fmadd_ps(off, by, from)), l, _mm256_and_ps(some, s)};
}

AVX2 void media_lighten_avx2(uint8_t *c, int32_t n, int step, const int32_t lighter[256]) {
    const floats share = all_of(1.0f / 255), sixth = all_of(6.0f / 180);
    for (int32_t x = 0; x < n; x += LANES, c += LANES * step) {
        __m256i v = load_pixels(c, step);
        floats of[3];
        for (int i = 0; i < 3; i++) of[i] = _mm256_mul_ps(_mm256_cvtepi32_ps(channel(v, i)), share);
        hls at = to_hls(of[0], of[1], of[2]);
        floats h = _mm256_cvtepi32_ps(nearest(at.h, 0.5f));
        floats s = _mm256_mul_ps(_mm256_cvtepi32_ps(nearest(at.s, 255)), share);
        __m256i light = _mm256_i32gather_epi32(lighter, nearest(at.l, 255), 4);
        floats l = _mm256_mul_ps(_mm256_cvtepi32_ps(light), share), product = _mm256_mul_ps(l, s);
        floats e = pick(upto(l, all_of(0.5f)), product, _mm256_sub_ps(s, product));
        floats place = _mm256_mul_ps(h, sixth), whole = cut(place), rest = _mm256_sub_ps(place, whole);
        floats round = cut(_mm256_mul_ps(place, all_of(1.0f / 6)));
        floats sector = _mm256_sub_ps(whole, _mm256_mul_ps(all_of(6), round));
        floats twice = _mm256_add_ps(rest, rest), high = _mm256_add_ps(l, e), low = _mm256_sub_ps(l, e);
        floats falls = _mm256_fnmadd_ps(e, twice, high), rises = _mm256_fmadd_ps(e, twice, low);
        floats one = less(sector, all_of(1)), two = less(sector, all_of(2)), three = less(sector, all_of(3)),
               four = less(sector, all_of(4)), five = less(sector, all_of(5));
        floats r = pick(one, high, pick(two, falls, pick(four, low, pick(five, rises, high))));
        floats g = pick(one, rises, pick(three, high, pick(four, falls, low)));
        floats b = pick(two, low, pick(three, rises, pick(five, high, falls)));
        store_pixels(c, step, pixels_of(nearest(r, 255), nearest(g, 255), nearest(b, 255)));
    }
}
#endif
