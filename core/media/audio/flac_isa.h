/* flac_isa.h - the bits of a FLAC frame, and the floats of its samples; part of kernels_isa.h.
 *
 * What a damaged frame asks for may be any number: sums are of unsigned numbers, which wrap. */
#ifdef FLAC_AVX2
#include <immintrin.h>
#define FLAC_ZEROS(x) _lzcnt_u64(x)
#else
#define FLAC_ZEROS(x) __builtin_clzll((x) | 1)
#endif

#include "flac.h"

typedef uint32_t v8w __attribute__((vector_size(32), aligned(1), may_alias));

/* The next n bits are the highest of cache; what lies below them is 0 or what comes next. n is at most 63. */
typedef struct flac_bits {
    const uint8_t *p, *end;
    uint64_t cache;
    uint32_t n;
    int over; /* there were too few */
} flac_bits;

/* A predictor: the sum of order samples, the last one first, times coef, shifted right. */
typedef struct flac_lpc {
    int order, shift;
    int32_t coef[32];
} flac_lpc;

ISA static inline uint64_t flac_eight(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return __builtin_bswap64(x);
}

ISA static void flac_fill(flac_bits *b) {
    if (b->end - b->p >= 8) {
        b->cache |= flac_eight(b->p) >> b->n;
        b->p += (63 - b->n) >> 3;
        b->n |= 56;
        return;
    }
    for (; b->n < 56 && b->p < b->end; b->n += 8) b->cache |= (uint64_t)*b->p++ << (56 - b->n);
}

/* At most 32 bits. */
ISA static uint32_t flac_get(flac_bits *b, uint32_t k) {
    if (k == 0) return 0;
    if (b->n < k) flac_fill(b);
    if (b->n < k) {
        b->over = 1;
        return 0;
    }
    uint32_t x = (uint32_t)(b->cache >> (64 - k));
    b->cache <<= k;
    b->n -= k;
    return x;
}

/* A number of 0 to 33 bits with a sign. */
ISA static int64_t flac_signed(flac_bits *b, uint32_t k) {
    if (k == 0) return 0;
    uint64_t high = k > 32 ? flac_get(b, k - 32) : 0, x = high << 32 | flac_get(b, k > 32 ? 32 : k);
    return (int64_t)(x << (64 - k)) >> (64 - k);
}

/* How many zeros stand before the next one. */
ISA static uint32_t flac_unary(flac_bits *b) {
    for (uint32_t zeros = 0;;) {
        flac_fill(b);
        uint32_t z = b->cache ? (uint32_t)__builtin_clzll(b->cache) : 64;
        if (z < b->n) {
            b->cache <<= z + 1;
            b->n -= z + 1;
            return zeros + z;
        }
        if (b->n == 0) {
            b->over = 1;
            return 0;
        }
        zeros += b->n;
        b->cache <<= b->n;
        b->n = 0;
    }
}

/* --- runs: residuals of one Rice parameter, and with each the sample that it makes of the ones before --- */

typedef int (*flac_run)(flac_bits *b, void *samples, int32_t n, uint32_t k, const flac_lpc *l);

/* A code that is longer than what is at hand. */
ISA static __attribute__((noinline)) uint32_t flac_long_code(flac_bits *b, uint32_t k) {
    uint32_t high = flac_unary(b) << k;
    return high + flac_get(b, k);
}

/* One sample of a run: its residual, and what the ones before predict. The newest is what the next one waits for: it stays in a register. */
#define FLAC_STEP(sample, sum, wrap)                                                                        \
    do {                                                                                                    \
        uint32_t zeros = (uint32_t)FLAC_ZEROS(cache), used = zeros + 1 + k, v;                              \
        if (__builtin_expect(used <= have, 1)) {                                                            \
            v = ((zeros - 1) << k) + (uint32_t)(cache << zeros >> (63 - k));                                \
            cache <<= used;                                                                                 \
            have -= used;                                                                                   \
        } else {                                                                                            \
            b->p = p, b->cache = cache, b->n = have;                                                        \
            v = flac_long_code(b, k);                                                                       \
            if (b->over) return 0;                                                                          \
            p = b->p, cache = b->cache, have = b->n;                                                        \
        }                                                                                                   \
        sum x = 0;                                                                                          \
        _Pragma("GCC unroll 12") for (int j = order - 1; j > 0; j--) x += (sum)l->coef[j] * (sum)s[-1 - j]; \
        __asm__("" : "+r"(x)); /* these wait for nothing: they are summed before the newest is known */     \
        if (order > 0) x += (sum)l->coef[0] * (sum)newest;                                                  \
        newest = (sample)((wrap)(int32_t)(v >> 1 ^ -(v & 1)) +                                              \
                          (wrap)(order > 0 ? FLAC_SIGNED_##sum(x) >> shift : 0));                           \
        *s++ = newest;                                                                                      \
    } while (0)

/* sum is as wide as the prediction needs. Bits are filled up for every two samples, but near their end, where that is left to
 * flac_long_code(). */
#define FLAC_RUN(name, sample, sum, wrap, ORDER)                                                 \
    ISA static int name(flac_bits *b, void *samples, int32_t n, uint32_t k, const flac_lpc *l) { \
        const int order = ORDER, shift = l->shift;                                               \
        const uint8_t *p = b->p, *safe = b->end - p >= 8 ? b->end - 8 : NULL;                    \
        uint64_t cache = b->cache;                                                               \
        uint32_t have = b->n;                                                                    \
        sample *s = samples, *end = s + n, newest = order > 0 ? s[-1] : 0;                       \
        while (s < end) {                                                                        \
            if (p <= safe) {                                                                     \
                cache |= flac_eight(p) >> have;                                                  \
                p += (63 - have) >> 3;                                                           \
                have |= 56;                                                                      \
            }                                                                                    \
            FLAC_STEP(sample, sum, wrap);                                                        \
            if (s == end) break;                                                                 \
            FLAC_STEP(sample, sum, wrap);                                                        \
        }                                                                                        \
        b->p = p, b->cache = cache, b->n = have;                                                 \
        return 1;                                                                                \
    }
#define FLAC_SIGNED_uint32_t(x) (int32_t)(x)
#define FLAC_SIGNED_uint64_t(x) (int64_t)(x)

#define FLAC_ORDERS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define FLAC_NARROW(n) FLAC_RUN(flac_narrow_##n, int32_t, uint32_t, uint32_t, n)
#define FLAC_WIDE(n) FLAC_RUN(flac_wide_##n, int32_t, uint64_t, uint32_t, n)
FLAC_ORDERS(FLAC_NARROW)
FLAC_ORDERS(FLAC_WIDE)
FLAC_RUN(flac_narrow_any, int32_t, uint32_t, uint32_t, l->order)
FLAC_RUN(flac_wide_any, int32_t, uint64_t, uint32_t, l->order)
FLAC_RUN(flac_side_any, int64_t, uint64_t, uint64_t, l->order)

enum { FLAC_NAMED_ORDERS = 13 };
#define FLAC_NARROW_NAME(n) flac_narrow_##n,
#define FLAC_WIDE_NAME(n) flac_wide_##n,
static const flac_run flac_runs[2][FLAC_NAMED_ORDERS + 1] = {
    {FLAC_ORDERS(FLAC_NARROW_NAME) flac_narrow_any},
    {FLAC_ORDERS(FLAC_WIDE_NAME) flac_wide_any},
};

/* --- subframes --- */

/* One channel of a frame while it is read: side is in use where it has 33 bits. */
typedef struct flac_channel {
    int32_t *samples;
    int64_t *side;
    int32_t n;
    uint32_t bits;
} flac_channel;

ISA static void flac_set(flac_channel *c, int32_t i, int64_t v) {
    if (c->side)
        c->side[i] = v;
    else
        c->samples[i] = (int32_t)v;
}

/* Residuals that are stored as they are. */
ISA static void flac_escaped(flac_bits *b, flac_channel *c, int32_t from, int32_t to, const flac_lpc *l) {
    uint32_t k = flac_get(b, 5);
    for (int32_t i = from; i < to && !b->over; i++) {
        uint64_t x = 0;
        for (int j = 0; j < l->order; j++)
            x += (uint64_t)l->coef[j] * (uint64_t)(c->side ? c->side[i - 1 - j] : c->samples[i - 1 - j]);
        flac_set(c, i, (int64_t)((uint64_t)flac_signed(b, k) + (uint64_t)((int64_t)x >> l->shift)));
    }
}

ISA static int flac_residual(flac_bits *b, flac_channel *c, const flac_lpc *l, flac_run run) {
    uint32_t method = flac_get(b, 2), partitions = flac_get(b, 4), width = 4 + method,
             escape = (1U << width) - 1;
    int32_t each = c->n >> partitions, at = l->order;
    if (b->over || method > 1 || each << partitions != c->n || each < l->order) return 0;
    for (int32_t end = each; end <= c->n; at = end, end += each) {
        uint32_t k = flac_get(b, width);
        if (k == escape)
            flac_escaped(b, c, at, end, l);
        else if (!run(b, c->side ? (void *)(c->side + at) : (void *)(c->samples + at), end - at, k, l))
            return 0;
        if (b->over) return 0;
    }
    return 1;
}

static const int32_t flac_fixed[5][4] = {{0}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}};

/* What a prediction needs: 32 bits where no sum of samples can be more, or where all that is left of it are 32. */
ISA static flac_run flac_run_of(const flac_channel *c, const flac_lpc *l) {
    uint64_t most = 0;
    for (int j = 0; j < l->order; j++) most += (uint64_t)(l->coef[j] < 0 ? -l->coef[j] : l->coef[j]);
    if (c->side) return flac_side_any;
    int wide = l->shift > 0 && most << (c->bits - 1) > INT32_MAX;
    return flac_runs[wide][l->order < FLAC_NAMED_ORDERS ? l->order : FLAC_NAMED_ORDERS];
}

ISA static int flac_predicted(flac_bits *b, flac_channel *c, int order, int fixed) {
    flac_lpc l = {.order = order};
    if (order > c->n) return 0;
    for (int32_t i = 0; i < order; i++) flac_set(c, i, flac_signed(b, c->bits));
    if (fixed) {
        memcpy(l.coef, flac_fixed[order], sizeof flac_fixed[order]);
    } else {
        uint32_t precision = flac_get(b, 4) + 1;
        l.shift = (int)flac_signed(b, 5);
        if (precision > 15 || l.shift < 0) return 0;
        for (int j = 0; j < order; j++) l.coef[j] = (int32_t)flac_signed(b, precision);
    }
    return flac_residual(b, c, &l, flac_run_of(c, &l));
}

ISA static int flac_subframe(flac_bits *b, flac_channel *c) {
    uint32_t head = flac_get(b, 8), type = head >> 1 & 63, wasted = 0;
    if (head & 0x80) return 0;
    if (head & 1) wasted = flac_unary(b) + 1;
    if (b->over || wasted >= c->bits) return 0;
    c->bits -= wasted;
    if (type == 0) {
        int64_t v = flac_signed(b, c->bits);
        for (int32_t i = 0; i < c->n; i++) flac_set(c, i, v);
    } else if (type == 1) {
        for (int32_t i = 0; i < c->n && !b->over; i++) flac_set(c, i, flac_signed(b, c->bits));
    } else if (type >= 32 ? !flac_predicted(b, c, (int)type - 31, 0)
                          : type < 8 || type > 12 || !flac_predicted(b, c, (int)type - 8, 1)) {
        return 0;
    }
    for (int32_t i = 0; wasted && i < c->n; i++)
        flac_set(c, i, (int64_t)((uint64_t)(c->side ? c->side[i] : c->samples[i]) << wasted));
    return !b->over;
}

/* Channels of 32 bits, of which a side has 33, become channels by themselves. */
ISA static void flac_unmix_wide(audio_flac_frame *f) {
    int32_t *a = f->samples, *b = f->samples + f->n;
    for (int32_t i = 0; i < f->n; i++) {
        uint64_t side = (uint64_t)f->side[i], left = (uint64_t)a[i];
        if (f->mode == AUDIO_FLAC_SIDE_RIGHT) left = (uint64_t)b[i] + side;
        if (f->mode == AUDIO_FLAC_MID_SIDE)
            left = (uint64_t)((int64_t)(2 * (uint64_t)a[i] + (side & 1) + side) >> 1);
        a[i] = (int32_t)left;
        b[i] = (int32_t)(left - side);
    }
    f->mode = 1;
}

ISA static int flac_frame(const uint8_t *p, size_t size, audio_flac_frame *f) {
    flac_bits b = {.p = p + f->head, .end = p + size};
    int side = f->mode == AUDIO_FLAC_SIDE_RIGHT ? 0 : f->mode >= AUDIO_FLAC_LEFT_SIDE ? 1 : -1;
    for (int32_t i = 0; i < f->channels; i++) {
        flac_channel c = {f->samples + (size_t)i * (size_t)f->n, NULL, f->n, (uint32_t)f->bits + (i == side)};
        if (c.bits > 32) c.side = f->side;
        if (!flac_subframe(&b, &c)) return b.over ? AUDIO_FLAC_MORE : AUDIO_CORRUPT;
    }
    const uint8_t *end = b.p - (b.n >> 3); /* the rest of the last byte is nothing */
    if (b.end - end < 2) return AUDIO_FLAC_MORE;
    f->bytes = (size_t)(end - p) + 2;
    if (side >= 0 && f->bits == 32) flac_unmix_wide(f);
    return AUDIO_OK;
}

/* --- floats --- */

/* n samples of x and y, joined and shifted up to 32 bits, over 2^31. */
#define FLAC_FLOATS(name, joined)                                                            \
    ISA static void name(const int32_t *a, const int32_t *b, int up, size_t n, float *dst) { \
        size_t i = 0;                                                                        \
        for (; i + L <= n; i += L) {                                                         \
            v8w x = *(const v8w *)(a + i), y = *(const v8w *)(b + i);                        \
            V(dst + i) = __builtin_convertvector((v8i)((joined) << up), v8) * ALL(0x1p-31f); \
        }                                                                                    \
        for (; i < n; i++) {                                                                 \
            uint32_t x = (uint32_t)a[i], y = (uint32_t)b[i];                                 \
            dst[i] = (float)(int32_t)((joined) << up) * 0x1p-31f;                            \
        }                                                                                    \
    }
FLAC_FLOATS(flac_alone, x + (y & 0))
FLAC_FLOATS(flac_sum, x + y)
FLAC_FLOATS(flac_difference, x - y)
FLAC_FLOATS(flac_left_of_mid, 2 * x + (y & 1) + y)
FLAC_FLOATS(flac_right_of_mid, 2 * x + (y & 1) - y)

ISA static void flac_floats(const audio_flac_frame *f, int c, size_t skip, size_t n, float *dst) {
    const int32_t *a = f->samples + skip, *b = a + f->n, *own = a + (size_t)c * (size_t)f->n;
    int up = 32 - f->bits;
    if (f->mode == AUDIO_FLAC_LEFT_SIDE && c == 1)
        flac_difference(a, b, up, n, dst);
    else if (f->mode == AUDIO_FLAC_SIDE_RIGHT && c == 0)
        flac_sum(a, b, up, n, dst);
    else if (f->mode == AUDIO_FLAC_MID_SIDE) /* twice the value, and even */
        (c == 0 ? flac_left_of_mid : flac_right_of_mid)(a, b, up - 1, n, dst);
    else
        flac_alone(own, own, up, n, dst);
}

/* --- checksums: remainders by x^16 + x^15 + x^2 + 1, the first bit being of the highest power --- */

ISA static unsigned flac_checksum_by_tables(const uint16_t table[8][256], const uint8_t *p, size_t n) {
    unsigned sum = 0;
    for (; n >= 8; n -= 8, p += 8)
        sum = table[7][p[0] ^ sum >> 8] ^ table[6][p[1] ^ (sum & 0xff)] ^ table[5][p[2]] ^ table[4][p[3]] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    for (; n > 0; n--, p++) sum = (sum << 8 & 0xff00) ^ table[0][(sum >> 8 ^ *p) & 0xff];
    return sum;
}

#ifdef FLAC_AVX2
ISA static __m128i flac_reversed(__m128i x) {
    return _mm_shuffle_epi8(x, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

ISA static __m128i flac_sixteen(const uint8_t *p) {
    return flac_reversed(_mm_loadu_si128((const __m128i *)p));
}

/* x with as many zeros behind it as `by` stands for, joined with what takes their place: another number of 128 bits with the same remainder. */
ISA static __m128i flac_folded(__m128i x, __m128i by, __m128i next) {
    return _mm_xor_si128(next,
                         _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x11), _mm_clmulepi64_si128(x, by, 0x00)));
}

/* Four numbers at a time become the 64 bytes behind them, one after the other at last, and what is left goes by the tables. */
ISA static unsigned flac_checksum(const uint16_t table[8][256], const uint8_t *p, size_t n) {
    /* The remainders of x^192 and x^128, and of x^576 and x^512: of the upper and the lower half. */
    const __m128i by16 = _mm_set_epi64x(0x1666, 0x0106), by64 = _mm_set_epi64x(0x1446, 0x8107);
    uint8_t rest[16 + 15];
    if (n < 64) return flac_checksum_by_tables(table, p, n);
    __m128i x[4];
    for (int i = 0; i < 4; i++) x[i] = flac_sixteen(p + 16 * i);
    for (n -= 64, p += 64; n >= 64; n -= 64, p += 64)
        for (int i = 0; i < 4; i++) x[i] = flac_folded(x[i], by64, flac_sixteen(p + 16 * i));
    for (int i = 1; i < 4; i++) x[i] = flac_folded(x[i - 1], by16, x[i]);
    for (; n >= 16; n -= 16, p += 16) x[3] = flac_folded(x[3], by16, flac_sixteen(p));
    _mm_storeu_si128((__m128i *)rest, flac_reversed(x[3]));
    memcpy(rest + 16, p, n);
    return flac_checksum_by_tables(table, rest, 16 + n);
}
#else
ISA static unsigned flac_checksum(const uint16_t table[8][256], const uint8_t *p, size_t n) {
    return flac_checksum_by_tables(table, p, n);
}
#endif
