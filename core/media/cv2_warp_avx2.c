/* cv2_warp_avx2.c - cv2_warp.c's pixels of four in AVX2, eight at a time, equal bit for bit: they are whole numbers.
 *
 * Along x a pixel and the next come to less than 2^13, which 16 bits hold, with signs, too; along y the sums have 32. */
#include "cv2.h"

#if defined(__x86_64__)
#include "pixels_avx2.h"

enum { PIXELS = 8, SHARES = 1 << MEDIA_CV2_SUBPLACES };

/* Of eight pixels: where the first of four lies, and the shares of those to the right and below. */
typedef struct corners {
    __m256i left, top, right, below;
} corners;

AVX2 static inline __m256i whole(__m256i v) {
    v = _mm256_srai_epi32(v, MEDIA_CV2_PLACES);
    return _mm256_min_epi32(_mm256_max_epi32(v, _mm256_set1_epi32(INT16_MIN)), _mm256_set1_epi32(INT16_MAX));
}

AVX2 static inline __m256i share(__m256i v) {
    v = _mm256_srai_epi32(v, MEDIA_CV2_PLACES - MEDIA_CV2_SUBPLACES);
    return _mm256_and_si256(v, _mm256_set1_epi32(SHARES - 1));
}

AVX2 static inline corners corners_of(const media_places *at, int32_t i) {
    __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(at->across + i)),
            y = _mm256_loadu_si256((const __m256i *)(const void *)(at->down + i));
    x = _mm256_add_epi32(x, _mm256_set1_epi32(at->x));
    y = _mm256_add_epi32(y, _mm256_set1_epi32(at->y));
    return (corners){whole(x), whole(y), share(x), share(y)};
}

/* Whether it and the one after it are among n. */
AVX2 static inline __m256i within(__m256i v, int32_t n) {
    return _mm256_and_si256(_mm256_cmpgt_epi32(v, _mm256_set1_epi32(-1)),
                            _mm256_cmpgt_epi32(_mm256_set1_epi32(n - 1), v));
}

/* The two bytes of each channel side by side, of two pixels that are step bytes wide. */
AVX2 static inline __m256i beside(int step) {
    const __m128i three = _mm_setr_epi8(0, 3, 1, 4, 2, 5, -1, -1, 8, 11, 9, 12, 10, 13, -1, -1);
    const __m128i four = _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    return _mm256_broadcastsi128_si256(step == 3 ? three : four);
}

/* Along x, and then two of the four results of each half along y. */
AVX2 static inline __m256i mixed4(__m256i upper, __m256i lower, __m256i pick, __m256i across, __m256i first,
                                  __m256i second) {
    const __m256i half = _mm256_set1_epi32(SHARES * SHARES / 2);
    upper = _mm256_maddubs_epi16(_mm256_shuffle_epi8(upper, pick), across);
    lower = _mm256_maddubs_epi16(_mm256_shuffle_epi8(lower, pick), across);
    __m256i a = _mm256_madd_epi16(_mm256_unpacklo_epi16(upper, lower), first),
            b = _mm256_madd_epi16(_mm256_unpackhi_epi16(upper, lower), second);
    a = _mm256_srli_epi32(_mm256_add_epi32(a, half), 2 * MEDIA_CV2_SUBPLACES);
    b = _mm256_srli_epi32(_mm256_add_epi32(b, half), 2 * MEDIA_CV2_SUBPLACES);
    return _mm256_packs_epi32(a, b);
}

/* Lines of pixels 0, 1, 4, 5 and of 2, 3, 6, 7. */
typedef struct squares {
    __m256i upper[2], lower[2];
} squares;

AVX2 static inline __m256i mixed(const squares *s, const corners *c, __m256i pick) {
    const __m256i all = _mm256_set1_epi32(SHARES);
    __m256i across = _mm256_or_si256(_mm256_sub_epi32(all, c->right), _mm256_slli_epi32(c->right, 8));
    __m256i down = _mm256_or_si256(_mm256_sub_epi32(all, c->below), _mm256_slli_epi32(c->below, 16));
    across = _mm256_or_si256(across, _mm256_slli_epi32(across, 16));
    __m256i a = mixed4(s->upper[0], s->lower[0], pick, _mm256_unpacklo_epi32(across, across),
                       _mm256_shuffle_epi32(down, 0x00), _mm256_shuffle_epi32(down, 0x55));
    __m256i b = mixed4(s->upper[1], s->lower[1], pick, _mm256_unpackhi_epi32(across, across),
                       _mm256_shuffle_epi32(down, 0xaa), _mm256_shuffle_epi32(down, 0xff));
    return _mm256_packus_epi16(a, b);
}

AVX2 static inline void offsets(int32_t to[PIXELS], __m256i x, __m256i y, const media_pixels *from) {
    __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(y, _mm256_set1_epi32((int32_t)from->stride)),
                                  _mm256_mullo_epi32(x, _mm256_set1_epi32(from->step)));
    _mm256_storeu_si256((__m256i *)(void *)to, at);
}

static inline int64_t eight_bytes(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

AVX2 static inline __m256i lines4(const uint8_t *p, const int32_t *at) {
    return _mm256_setr_epi64x(eight_bytes(p + at[0]), eight_bytes(p + at[1]), eight_bytes(p + at[4]),
                              eight_bytes(p + at[5]));
}

/* All of whose pixels are there. */
AVX2 static inline __m256i mixed_within(const media_pixels *from, const corners *c, int step) {
    int32_t at[PIXELS];
    offsets(at, c->left, c->top, from);
    const uint8_t *below = from->p + from->stride;
    const squares s = {{lines4(from->p, at), lines4(from->p, at + 2)},
                       {lines4(below, at), lines4(below, at + 2)}};
    return mixed(&s, c, beside(step));
}

/* Where a place beyond n lies in it, that is not farther away than n; a negative number where it is. */
AVX2 static inline __m256i bordered(uint32_t mode, __m256i p, int32_t n) {
    const __m256i last = _mm256_set1_epi32(n - 1);
    if (mode == MEDIA_PAD_EDGE || n == 1)
        return _mm256_min_epi32(_mm256_max_epi32(p, _mm256_setzero_si256()), last);
    if (mode == MEDIA_PAD_REFLECT) {
        p = _mm256_abs_epi32(p);
        return _mm256_min_epi32(p, _mm256_sub_epi32(_mm256_set1_epi32(2 * n - 2), p));
    }
    p = _mm256_xor_si256(p, _mm256_srai_epi32(p, 31)); /* -1 - p */
    return _mm256_min_epi32(p, _mm256_sub_epi32(_mm256_set1_epi32(2 * n - 1), p));
}

static inline int64_t two_pixels(const uint8_t *p, int32_t a, int32_t b) {
    uint32_t first, second;
    memcpy(&first, p + a, sizeof first);
    memcpy(&second, p + b, sizeof second);
    return (int64_t)((uint64_t)second << 32 | first);
}

AVX2 static inline __m256i pairs4(const uint8_t *p, const int32_t *a, const int32_t *b) {
    return _mm256_setr_epi64x(two_pixels(p, a[0], b[0]), two_pixels(p, a[1], b[1]), two_pixels(p, a[4], b[4]),
                              two_pixels(p, a[5], b[5]));
}

/* Some of whose pixels are the border's, which goes on with the picture's; 0: too far away. */
AVX2 static inline int mixed_beyond(const media_places *at, const corners *c, __m256i *to) {
    const media_pixels *from = at->from;
    const __m256i one = _mm256_set1_epi32(1);
    const uint32_t mode = at->r->first;
    __m256i x0 = bordered(mode, c->left, from->w),
            x1 = bordered(mode, _mm256_add_epi32(c->left, one), from->w),
            y0 = bordered(mode, c->top, from->h), y1 = bordered(mode, _mm256_add_epi32(c->top, one), from->h);
    __m256i any = _mm256_or_si256(_mm256_or_si256(x0, x1), _mm256_or_si256(y0, y1));
    if (_mm256_movemask_ps(_mm256_castsi256_ps(any))) return 0;
    int32_t a[PIXELS], b[PIXELS], d[PIXELS], e[PIXELS];
    offsets(a, x0, y0, from);
    offsets(b, x1, y0, from);
    offsets(d, x0, y1, from);
    offsets(e, x1, y1, from);
    const squares s = {{pairs4(from->p, a, b), pairs4(from->p, a + 2, b + 2)},
                       {pairs4(from->p, d, e), pairs4(from->p, d + 2, e + 2)}};
    *to = mixed(&s, c, beside(4));
    return 1;
}

/* Whether none of their pixels is the picture's. */
AVX2 static inline int all_outside(const media_pixels *from, const corners *c) {
    const __m256i behind = _mm256_set1_epi32(-1);
    __m256i outside =
        _mm256_or_si256(_mm256_cmpgt_epi32(behind, c->left), _mm256_cmpgt_epi32(behind, c->top));
    outside = _mm256_or_si256(outside, _mm256_cmpgt_epi32(c->left, _mm256_set1_epi32(from->w - 1)));
    outside = _mm256_or_si256(outside, _mm256_cmpgt_epi32(c->top, _mm256_set1_epi32(from->h - 1)));
    return _mm256_movemask_epi8(outside) == -1;
}

AVX2 static inline __attribute__((always_inline)) void mix_row(uint8_t *to, int32_t first, int32_t n,
                                                               const media_places *at, int step) {
    const media_pixels *from = at->from;
    int32_t fill;
    memcpy(&fill, at->r->fill, sizeof fill);
    for (int32_t i = first; i < first + n; i += PIXELS, to += PIXELS * step) {
        corners c = corners_of(at, i);
        __m256i there = _mm256_and_si256(within(c.left, from->w), within(c.top, from->h)), v;
        if (_mm256_movemask_epi8(there) == -1)
            v = mixed_within(from, &c, step);
        else if (at->r->first == MEDIA_PAD_CONSTANT && all_outside(from, &c))
            v = _mm256_set1_epi32(fill);
        else if (at->r->first == MEDIA_PAD_CONSTANT || !mixed_beyond(at, &c, &v)) {
            media_mix_row(to, i, PIXELS, at);
            continue;
        }
        store_pixels(to, step, v);
    }
}

/* Offsets have 32 bits. */
AVX2 void media_mix_row_avx2(uint8_t *to, int32_t first, int32_t n, const media_places *at) {
    if (at->from->step == 1 || at->from->stride * (uint64_t)at->from->h > INT32_MAX)
        media_mix_row(to, first, n, at);
    else if (at->from->step == 3)
        mix_row(to, first, n, at, 3);
    else
        mix_row(to, first, n, at, 4);
}
#endif
