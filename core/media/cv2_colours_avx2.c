/* cv2_colours_avx2.c - cv2_colours.c in AVX2, eight pixels at a time, equal bit for bit. Vectors run past the end of a line, into slack.
 *
 * What the tables have of fixed point is here rounded from a quotient of floats, which comes to the same for each of the 255 numbers it is divided by. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { PIXELS = 8, BITS = 12, HALF = 1 << (BITS - 1) };

AVX2 static inline __m256i byte(__m256i v) {
    return _mm256_min_epi32(_mm256_max_epi32(v, _mm256_setzero_si256()), _mm256_set1_epi32(255));
}

/* v times top / by, that quotient of BITS bits; of nothing by nothing it is nothing. */
AVX2 static inline __m256i times(__m256i v, float top, __m256i by) {
    __m256i k = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_set1_ps(top * (1 << BITS)), _mm256_cvtepi32_ps(by)));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_mullo_epi32(v, k), _mm256_set1_epi32(HALF)), BITS);
}

/* Hue, saturation and value. */
typedef struct hsv {
    __m256i h, s, v;
} hsv;

AVX2 static inline hsv to_hsv(__m256i pixels) {
    const __m256i r = channel(pixels, 0), g = channel(pixels, 1), b = channel(pixels, 2);
    const __m256i max = _mm256_max_epi32(r, _mm256_max_epi32(g, b)),
                  min = _mm256_min_epi32(r, _mm256_min_epi32(g, b));
    const __m256i range = _mm256_sub_epi32(max, min);
    __m256i of_r = _mm256_sub_epi32(g, b);
    __m256i of_g = _mm256_add_epi32(_mm256_sub_epi32(b, r), _mm256_slli_epi32(range, 1));
    __m256i hue = _mm256_add_epi32(_mm256_sub_epi32(r, g), _mm256_slli_epi32(range, 2));
    hue = _mm256_blendv_epi8(hue, of_g, _mm256_cmpeq_epi32(max, g));
    hue = _mm256_blendv_epi8(hue, of_r, _mm256_cmpeq_epi32(max, r));
    hue = times(hue, MEDIA_HUES / 6.0f, range);
    hue = _mm256_add_epi32(hue, _mm256_and_si256(_mm256_srai_epi32(hue, 31), _mm256_set1_epi32(MEDIA_HUES)));
    return (hsv){hue, times(range, 255, max), max};
}

/* Which two of a pixel's four numbers lie between its highest and its lowest, by the sixth in which its hue is: as bytes to be picked, 128 none. */
AVX2 static inline __m256i sixths(void) {
    return _mm256_setr_epi32((int)0x80010300, (int)0x80010002, (int)0x80030001, (int)0x80000201,
                             (int)0x80000103, (int)0x80020100, 0, 0);
}

/* Rounded: a number, not a vector. */
AVX2 static inline __m256i from_hsv(hsv c, int rounded) {
    const __m256 one = _mm256_set1_ps(1), top = _mm256_set1_ps(255), share = _mm256_set1_ps(1.0f / 255);
    __m256 s = _mm256_mul_ps(_mm256_cvtepi32_ps(c.s), share),
           v = _mm256_mul_ps(_mm256_cvtepi32_ps(c.v), share);
    __m256 at = _mm256_mul_ps(_mm256_cvtepi32_ps(c.h), _mm256_set1_ps(6.0f / MEDIA_HUES));
    __m256i sixth = _mm256_cvttps_epi32(at);
    __m256 x = _mm256_sub_ps(at, _mm256_cvtepi32_ps(sixth));
    const __m256 part[4] = {v, _mm256_mul_ps(v, _mm256_sub_ps(one, s)),
                            _mm256_mul_ps(v, _mm256_fnmadd_ps(s, x, one)),
                            _mm256_mul_ps(v, _mm256_fnmadd_ps(s, _mm256_sub_ps(one, x), one))};
    __m256i all = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) {
        __m256 p = _mm256_mul_ps(part[i], top);
        __m256i whole = rounded ? _mm256_cvtps_epi32(p) : _mm256_cvttps_epi32(p);
        all = _mm256_or_si256(all, _mm256_slli_epi32(whole, 8 * i));
    }
    const __m256i places = _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x040404, 0x080808, 0x0c0c0c));
    return _mm256_shuffle_epi8(all, _mm256_add_epi32(_mm256_permutevar8x32_epi32(sixths(), sixth), places));
}

AVX2 static inline hsv turned(hsv c, const media_turned *t) {
    const __m256i last = _mm256_set1_epi32(MEDIA_HUES - 1), all = _mm256_set1_epi32(MEDIA_HUES);
    __m256i is_colour = _mm256_cmpgt_epi32(c.s, _mm256_setzero_si256());
    c.h = _mm256_add_epi32(c.h, _mm256_set1_epi32(t->hue[0]));
    c.h = _mm256_sub_epi32(c.h, _mm256_and_si256(_mm256_cmpgt_epi32(c.h, last), all));
    c.s = _mm256_and_si256(byte(_mm256_add_epi32(c.s, _mm256_set1_epi32(t->saturation))), is_colour);
    c.v = byte(_mm256_add_epi32(c.v, _mm256_set1_epi32(t->value)));
    return c;
}

/* Whether each hue moves as far as the first. Where a number is all but whole, some may not. */
static int is_one_way(const media_turned *t) {
    for (int x = 0; x < MEDIA_HUES; x++)
        if (t->hue[x] != (t->hue[0] + x) % MEDIA_HUES) return 0;
    return t->hue[0] < MEDIA_HUES;
}

AVX2 static inline __attribute__((always_inline)) void turn(const media_pixels *px, const media_turned *t,
                                                            int step) {
    int32_t whole = px->w / MEDIA_HSV_VECTOR * MEDIA_HSV_VECTOR;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        int32_t x = 0;
        for (; x < whole; x += PIXELS, c += PIXELS * step)
            store_pixels(c, step, from_hsv(turned(to_hsv(load_pixels(c, step)), t), 0));
        for (; x < px->w; x += PIXELS, c += PIXELS * step)
            store_pixels(c, step, from_hsv(turned(to_hsv(load_pixels(c, step)), t), 1));
    }
}

AVX2 void media_turn_avx2(const media_pixels *px, const media_turned *t) {
    if (!is_one_way(t))
        media_turn(px, t);
    else if (px->step == 3)
        turn(px, t, 3);
    else
        turn(px, t, 4);
}

AVX2 static inline __m256i gray(__m256i v) {
    __m256i sum = weighed(v, 9798, 19235, 3735, 1 << 14);
    return _mm256_srli_epi32(sum, 15);
}

AVX2 static inline __m256i mixed(__m256i v, int i, __m256 own, __m256 gray) {
    return byte(_mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(channel(v, i)), own, gray)));
}

AVX2 void media_saturate_avx2(const media_pixels *px, float own, float of_gray) {
    const __m256 k = _mm256_set1_ps(own), rest = _mm256_set1_ps(of_gray);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += PIXELS, c += PIXELS * px->step) {
            __m256i v = load_pixels(c, px->step);
            __m256 plus = _mm256_mul_ps(_mm256_cvtepi32_ps(gray(v)), rest);
            store_pixels(c, px->step,
                         pixels_of(mixed(v, 0, k, plus), mixed(v, 1, k, plus), mixed(v, 2, k, plus)));
        }
    }
}

AVX2 void media_cv2_gray_avx2(const media_pixels *px) { to_light(px, gray); }

/* A weighted sum of 10 bits as a byte. */
AVX2 static inline __m256i tenth_bits(__m256i sum) {
    return _mm256_min_epi32(_mm256_srli_epi32(sum, 10), _mm256_set1_epi32(255));
}

AVX2 void media_sepia_avx2(const media_pixels *px) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += PIXELS, c += PIXELS * px->step) {
            __m256i v = load_pixels(c, px->step);
            store_pixels(c, px->step,
                         pixels_of(tenth_bits(weighed(v, 402, 787, 194, 512)),
                                   tenth_bits(weighed(v, 357, 702, 172, 512)),
                                   tenth_bits(weighed(v, 279, 547, 134, 512))));
        }
    }
}

AVX2 uint64_t media_sum_gray_avx2(const media_pixels *px) {
    uint64_t all = 0;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        __m256i sums = _mm256_setzero_si256();
        int32_t x = 0;
        for (; x + PIXELS <= px->w; x += PIXELS, c += PIXELS * px->step)
            sums = _mm256_add_epi32(sums, gray(load_pixels(c, px->step)));
        uint32_t each[PIXELS];
        _mm256_storeu_si256((__m256i *)(void *)each, sums);
        for (int i = 0; i < PIXELS; i++) all += each[i];
        for (; x < px->w; x++, c += px->step) all += media_cv2_gray(c);
    }
    return all;
}

/* One of what is added and what is taken away is 0 for each channel, so that a byte stops at its end. */
AVX2 void media_shift_avx2(const media_pixels *px, const int32_t by[3]) {
    uint8_t plus[96], minus[96];
    int32_t n = px->w * px->step, period = px->step == 3 ? 96 : 32;
    for (int32_t i = 0; i < period; i++) {
        int32_t v = i % px->step < 3 ? by[i % px->step] : 0;
        plus[i] = media_byte(v);
        minus[i] = media_byte(-v);
    }
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (int32_t i = 0, at = 0; i < n; i += 32, at = at + 32 < period ? at + 32 : 0) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(line + i));
            v = _mm256_adds_epu8(v, _mm256_loadu_si256((const __m256i *)(const void *)(plus + at)));
            v = _mm256_subs_epu8(v, _mm256_loadu_si256((const __m256i *)(const void *)(minus + at)));
            _mm256_storeu_si256((__m256i *)(void *)(line + i), v);
        }
    }
}
#endif
