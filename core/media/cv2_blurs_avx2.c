/* cv2_blurs_avx2.c - cv2_blurs.c's sums, means and medians in AVX2, equal bit for bit. Vectors run past the end of what they are of, into slack.
 *
 * Sums of floats are added one product after the other, each by one fused instruction; only elements, not products, go side by side. Means and
 * medians are of whole numbers, in any order. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

/* Up to the first size the sum of a square has 16 bits, up to the second a float's share of it is sure. */
enum { LANES = 8, BLOCK = 32, WIDE_MEAN = 15, FLOAT_MEAN = 127 };

AVX2 static inline __m256i load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
AVX2 static inline void store(void *p, __m256i v) { _mm256_storeu_si256((__m256i *)p, v); }
AVX2 static inline __m128i load16(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

AVX2 static void widen(float *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)));
    }
}

AVX2 static void narrow(uint8_t *to, const float *from, int32_t n) {
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i v = _mm256_cvtps_epi32(_mm256_loadu_ps(from + i));
        __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64((__m128i *)(void *)(to + i), _mm_packus_epi16(both, both));
    }
}

/* Four vectors of sums at a time, whose instructions need not wait for each other. */
AVX2 static void fuse(float *sums, const float *const *at, const float *k, int32_t taps, int32_t n) {
    int32_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
        for (int32_t t = 0; t < taps; t++) {
            const float *v = at[t] + i;
            const __m256 by = _mm256_broadcast_ss(k + t);
            a = _mm256_fmadd_ps(_mm256_loadu_ps(v), by, a);
            b = _mm256_fmadd_ps(_mm256_loadu_ps(v + LANES), by, b);
            c = _mm256_fmadd_ps(_mm256_loadu_ps(v + 2 * LANES), by, c);
            d = _mm256_fmadd_ps(_mm256_loadu_ps(v + 3 * LANES), by, d);
        }
        _mm256_storeu_ps(sums + i, a);
        _mm256_storeu_ps(sums + i + LANES, b);
        _mm256_storeu_ps(sums + i + 2 * LANES, c);
        _mm256_storeu_ps(sums + i + 3 * LANES, d);
    }
    for (; i < n; i += LANES) {
        __m256 a = _mm256_setzero_ps();
        for (int32_t t = 0; t < taps; t++)
            a = _mm256_fmadd_ps(_mm256_loadu_ps(at[t] + i), _mm256_broadcast_ss(k + t), a);
        _mm256_storeu_ps(sums + i, a);
    }
}

AVX2 static inline __m256 both(const float *a, const float *b) {
    return _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b));
}

AVX2 static void fuse_pairs(float *sums, const float *const *at, const float *k, int32_t half, int32_t n) {
    const float *const *middle = at + half;
    int32_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        __m256 by = _mm256_broadcast_ss(k + half);
        __m256 a = _mm256_mul_ps(_mm256_loadu_ps(*middle + i), by),
               b = _mm256_mul_ps(_mm256_loadu_ps(*middle + i + LANES), by);
        for (int32_t t = 1; t <= half; t++) {
            const float *over = middle[-t] + i, *under = middle[t] + i;
            by = _mm256_broadcast_ss(k + half + t);
            a = _mm256_fmadd_ps(both(over, under), by, a);
            b = _mm256_fmadd_ps(both(over + LANES, under + LANES), by, b);
        }
        _mm256_storeu_ps(sums + i, a);
        _mm256_storeu_ps(sums + i + LANES, b);
    }
    for (; i < n; i += LANES) {
        __m256 a = _mm256_mul_ps(_mm256_loadu_ps(*middle + i), _mm256_broadcast_ss(k + half));
        for (int32_t t = 1; t <= half; t++)
            a = _mm256_fmadd_ps(both(middle[-t] + i, middle[t] + i), _mm256_broadcast_ss(k + half + t), a);
        _mm256_storeu_ps(sums + i, a);
    }
}

/* A line of means, 16 at a time. A sum and half the area, n, is below 256 areas, and divided by multiplying with 2^(16 + shift) / area, rounded up, and
 * 2^shift is the power below the area: e, by which that is too much for a whole area, is less than it, and as e * n < 2^(16 + shift) for each odd
 * size up to 15, the quotient is the one below. */
AVX2 static void narrow_means(uint8_t *to, int32_t n, int32_t size, int32_t step, const uint16_t *sums) {
    const int32_t area = size * size, shift = 31 - __builtin_clz((unsigned)area);
    const __m256i by =
        _mm256_set1_epi16((int16_t)(((1u << (16 + shift)) + (unsigned)area - 1) / (unsigned)area));
    const __m256i half = _mm256_set1_epi16((int16_t)(area / 2));
    for (int32_t i = 0; i < n; i += 16) {
        __m256i sum = half;
        for (int32_t t = 0; t < size; t++) sum = _mm256_add_epi16(sum, load(sums + i + t * step));
        sum = _mm256_srl_epi16(_mm256_mulhi_epu16(sum, by), _mm_cvtsi32_si128(shift));
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm_packus_epi16(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
    }
}

AVX2 static inline __m128i four_sums(const uint16_t *p) {
    return _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* Sums of squares of a line of pixels of 3 or 4 bytes, one pixel after the other: the fourth sum of three is nothing, and is written over. */
AVX2 static void sum_squares(uint32_t *to, int32_t w, int32_t size, int32_t step, const uint16_t *sums) {
    const uint16_t *in = sums, *end = sums + (size_t)(size - 1) * (size_t)step;
    __m128i sum = _mm_setzero_si128();
    for (; in < end; in += step) sum = _mm_add_epi32(sum, four_sums(in));
    for (int32_t x = 0; x < w; x++, in += step, sums += step, to += step) {
        sum = _mm_add_epi32(sum, four_sums(in));
        _mm_storeu_si128((__m128i *)(void *)to, sum);
        sum = _mm_sub_epi32(sum, four_sums(sums));
    }
}

/* A line of them as means, by floats: the product is off by less than half a part of the area, and so is rounded as the quotient is. */
AVX2 static void divide_squares(uint8_t *to, int32_t n, int32_t size, const uint32_t *sums) {
    const __m256 by = _mm256_set1_ps(1.0f / (float)(size * size));
    for (int32_t i = 0; i < n; i += LANES) {
        __m256i v = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(load(sums + i)), by));
        __m128i both = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64((__m128i *)(void *)(to + i), _mm_packus_epi16(both, both));
    }
}

/* A line of means by whichever way is sure of every bit. */
AVX2 static void line_of_means(const media_pixels *px, int32_t y, int32_t size, const uint16_t *sums,
                               uint32_t *squares) {
    int32_t n = px->w * px->step;
    if (size <= WIDE_MEAN) {
        narrow_means(media_line(px, y), n, size, px->step, sums);
    } else if (size <= FLOAT_MEAN && px->step > 1) {
        sum_squares(squares, px->w, size, px->step, sums);
        divide_squares(media_line(px, y), n, size, squares);
    } else {
        media_means_line(px, y, size, sums);
    }
}

AVX2 static void means(const media_pixels *px, const media_pixels *from, int32_t size, void *room) {
    int32_t n = from->w * from->step;
    uint16_t *sums = room;
    if (size == 1) return;
    memset(sums, 0, (size_t)(n + 16) * sizeof *sums);
    for (int32_t y = 0; y < from->h; y++) {
        const uint8_t *in = media_line(from, y), *out = media_line(from, y < size ? 0 : y - size);
        const __m256i leaves = y < size ? _mm256_setzero_si256() : _mm256_set1_epi16(-1);
        for (int32_t i = 0; i < n; i += 16) {
            __m256i comes = _mm256_cvtepu8_epi16(load16(in + i)),
                    goes = _mm256_cvtepu8_epi16(load16(out + i));
            goes = _mm256_and_si256(goes, leaves);
            store(sums + i, _mm256_sub_epi16(_mm256_add_epi16(load(sums + i), comes), goes));
        }
        int32_t made = y - (size - 1);
        if (made < 0) continue;
        line_of_means(px, made, size, sums, (uint32_t *)(void *)(sums + (n + 63) / 32 * 32));
    }
}

AVX2 static inline void order(__m256i *a, __m256i *b) {
    __m256i low = _mm256_min_epu8(*a, *b);
    *b = _mm256_max_epu8(*a, *b);
    *a = low;
}

AVX2 static inline __m256i low3(__m256i a, __m256i b, __m256i c) {
    return _mm256_min_epu8(_mm256_min_epu8(a, b), c);
}

AVX2 static inline __m256i high3(__m256i a, __m256i b, __m256i c) {
    return _mm256_max_epu8(_mm256_max_epu8(a, b), c);
}

AVX2 static inline __m256i middle3(__m256i a, __m256i b, __m256i c) {
    order(&a, &b);
    return _mm256_max_epu8(a, _mm256_min_epu8(b, c));
}

/* Columns in order; the median is that of the highest of the low ones, the middle one of the middle ones and the lowest of the high ones. */
AVX2 static void medians3(const media_pixels *px, const media_pixels *from) {
    int32_t step = px->step, n = px->w * step;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *line[3] = {media_line(from, y), media_line(from, y + 1), media_line(from, y + 2)};
        uint8_t *to = media_line(px, y);
        for (int32_t i = 0; i < n; i += BLOCK) {
            __m256i a[3], b[3], c[3];
            for (int t = 0; t < 3; t++) {
                a[t] = load(line[0] + i + t * step);
                b[t] = load(line[1] + i + t * step);
                c[t] = load(line[2] + i + t * step);
                order(&a[t], &b[t]);
                order(&b[t], &c[t]);
                order(&a[t], &b[t]);
            }
            store(to + i,
                  middle3(high3(a[0], a[1], a[2]), middle3(b[0], b[1], b[2]), low3(c[0], c[1], c[2])));
        }
    }
}

/* The lowest of so many comes to lie first, the highest last: of more than half of all and one neither is the median, and both are forgotten. */
#define ENDS3(v) (order(v, v + 1), order(v + 1, v + 2), order(v, v + 1))
#define ENDS4(v) (order(v, v + 1), order(v + 2, v + 3), order(v, v + 2), order(v + 1, v + 3))
#define ENDS5(v)                                                                                  \
    (order(v, v + 1), order(v + 2, v + 3), order(v, v + 2), order(v + 1, v + 3), order(v, v + 4), \
     order(v + 3, v + 4))
#define ENDS6(v)                                                                                  \
    (order(v, v + 3), order(v + 1, v + 4), order(v + 2, v + 5), order(v, v + 1), order(v, v + 2), \
     order(v + 4, v + 5), order(v + 3, v + 5))
#define ENDS7(v) (ENDS6(v), order(v, v + 6), order(v + 5, v + 6))
#define ENDS8(v)                                                                                      \
    (order(v, v + 4), order(v + 1, v + 5), order(v + 2, v + 6), order(v + 3, v + 7), order(v, v + 1), \
     order(v + 2, v + 3), order(v, v + 2), order(v + 4, v + 5), order(v + 6, v + 7), order(v + 5, v + 7))

/* The highest of so many, or the lowest. */
#define LAST5(v) (order(v, v + 4), order(v + 1, v + 4), order(v + 2, v + 4), order(v + 3, v + 4))
#define LAST4(v) (order(v, v + 3), order(v + 1, v + 3), order(v + 2, v + 3))
#define LAST3(v) (order(v, v + 2), order(v + 1, v + 2))
#define FIRST5(v) (order(v, v + 1), order(v, v + 2), order(v, v + 3), order(v, v + 4))
#define FIRST4(v) (order(v, v + 1), order(v, v + 2), order(v, v + 3))
#define FIRST3(v) (order(v, v + 1), order(v, v + 2))

AVX2 static inline void sort5(__m256i *v) {
    ENDS5(v);
    ENDS3(v + 1);
}

/* Of five columns in order, rows 0 (the lowest) to 4: were the rows in order, too, number j of row i (both from 1) would have i j - 1 others before it
 * and (6 - i)(6 - j) - 1 behind, and where either is more than 12 it is not the median of all. 13 are left, whose median is that, too. */
AVX2 static inline __m256i median_of_rows(__m256i r[5][5]) {
    FIRST5(r[0]), FIRST4(r[0] + 1), FIRST3(r[0] + 2); /* 3 and 4 are left */
    FIRST5(r[1]), FIRST4(r[1] + 1);                   /* 2 to 4 */
    ENDS5(r[2]);                                      /* 1 to 3 */
    LAST5(r[3]), LAST4(r[3]);                         /* 0 to 2 */
    LAST5(r[4]), LAST4(r[4]), LAST3(r[4]);            /* 0 and 1 */
    __m256i v[8] = {r[0][3], r[0][4], r[1][2], r[1][3], r[1][4], r[2][1], r[2][2], r[2][3]};
    ENDS8(v);
    v[7] = r[3][0];
    ENDS7(v + 1);
    v[7] = r[3][1];
    ENDS6(v + 2);
    v[7] = r[3][2];
    ENDS5(v + 3);
    v[7] = r[4][0];
    ENDS4(v + 4);
    v[7] = r[4][1];
    return middle3(v[5], v[6], v[7]);
}

/* Columns of five lines in order: five lines of a copy of them. */
AVX2 static void sort_columns(uint8_t *to, const uint8_t *from, size_t stride, int32_t n) {
    for (int32_t i = 0; i < n; i += BLOCK) {
        __m256i column[5];
        for (size_t k = 0; k < 5; k++) column[k] = load(from + k * stride + i);
        sort5(column);
        for (size_t k = 0; k < 5; k++) store(to + k * stride + i, column[k]);
    }
}

AVX2 static void medians5(const media_pixels *px, const media_pixels *from, uint8_t *columns) {
    int32_t step = px->step, n = px->w * step;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        sort_columns(columns, media_line(from, y), from->stride, from->w * step);
        for (int32_t i = 0; i < n; i += BLOCK) {
            __m256i r[5][5];
            for (int k = 0; k < 5; k++)
                for (int t = 0; t < 5; t++) r[k][t] = load(columns + (size_t)k * from->stride + i + t * step);
            store(to + i, median_of_rows(r));
        }
    }
}

/* Bit by bit from the highest: the largest number that no more than half of all are below. Numbers have a sign here, as comparisons do. */
AVX2 static void medians_by_bits(const media_pixels *px, const media_pixels *from, int32_t size) {
    const int32_t step = px->step, n = px->w * step;
    const __m256i sign = _mm256_set1_epi8(-128), half = _mm256_set1_epi8((char)(size * size / 2));
    for (size_t i = 0; i < from->stride * (size_t)from->h; i += BLOCK)
        store(from->p + i, _mm256_xor_si256(load(from->p + i), sign));
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *line = media_line(from, y);
        uint8_t *to = media_line(px, y);
        for (int32_t i = 0; i < n; i += 2 * BLOCK) {
            __m256i a = sign, b = sign; /* 0 */
            for (int bit = 7; bit >= 0; bit--) {
                const __m256i one = _mm256_set1_epi8((char)(1 << bit));
                const __m256i more_a = _mm256_add_epi8(a, one), more_b = _mm256_add_epi8(b, one);
                __m256i below_a = _mm256_setzero_si256(), below_b = below_a;
                const uint8_t *at = line + i;
                for (int32_t k = 0; k < size; k++, at += from->stride)
                    for (int32_t t = 0; t < size * step; t += step) {
                        below_a = _mm256_sub_epi8(below_a, _mm256_cmpgt_epi8(more_a, load(at + t)));
                        below_b = _mm256_sub_epi8(below_b, _mm256_cmpgt_epi8(more_b, load(at + t + BLOCK)));
                    }
                __m256i few_a = _mm256_cmpeq_epi8(_mm256_min_epu8(below_a, half), below_a),
                        few_b = _mm256_cmpeq_epi8(_mm256_min_epu8(below_b, half), below_b);
                a = _mm256_blendv_epi8(a, more_a, few_a);
                b = _mm256_blendv_epi8(b, more_b, few_b);
            }
            store(to + i, _mm256_xor_si256(a, sign));
            store(to + i + BLOCK, _mm256_xor_si256(b, sign));
        }
    }
}

/* Small squares have fewer pixels than a byte counts up to. */
AVX2 static void medians(const media_pixels *px, const media_pixels *from, int32_t size, void *room) {
    if (size == 1) return;
    if (size == 3)
        medians3(px, from);
    else if (size == 5)
        medians5(px, from, room);
    else if (size <= MEDIA_SMALL_MEDIAN)
        medians_by_bits(px, from, size);
    else
        media_large_medians_avx2(px, from, size, room);
}

const media_cv2 media_cv2_avx2 = {.widen = widen,
                                  .narrow = narrow,
                                  .fuse = fuse,
                                  .fuse_pairs = fuse_pairs,
                                  .means = means,
                                  .medians = medians,
                                  .smooth_across = media_smooth_across_avx2,
                                  .smooth_down = media_smooth_down_avx2,
                                  .lighten = media_lighten_avx2,
                                  .add_mix = media_add_mix_avx2,
                                  .spread = media_spread_avx2,
                                  .shares = media_shares_avx2,
                                  .sharper = media_sharper_avx2,
                                  .soften = media_soften_avx2,
                                  .turn = media_turn_avx2,
                                  .shift = media_shift_avx2,
                                  .saturate = media_saturate_avx2,
                                  .gray = media_cv2_gray_avx2,
                                  .sepia = media_sepia_avx2,
                                  .mix_row = media_mix_row_avx2,
                                  .sum_gray = media_sum_gray_avx2,
                                  .to_lab = media_to_lab_avx2,
                                  .from_lab = media_from_lab_avx2,
                                  .mix_tiles = media_mix_tiles_avx2};
#endif
