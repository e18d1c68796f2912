/* opus_bits_isa.h - the bits of a frame of Opus: numbers by a range coder from the front, plain ones from the back (RFC 6716, 4.1); part of
 * kernels_isa.h. */
#include <stdint.h>

typedef struct opus_bits {
    const uint8_t *p;
    uint32_t n, front, back; /* bytes, and those that were read from either side */
    uint32_t range, value, half;
    int32_t used; /* bits, with those that the range holds */
    uint64_t window;
    int32_t windowed; /* bits of it */
} opus_bits;

ISA static inline int opus_log2(uint32_t x) { return 32 - __builtin_clz(x); } /* of x > 0, and one more */

ISA static inline void opus_refill(opus_bits *b) {
    while (b->range <= 1U << 23) {
        uint32_t next = b->front < b->n ? b->p[b->front] : 0, byte = (b->half << 8 | next) >> 1 & 255;
        b->front++;
        b->half = next;
        b->value = (b->value << 8 | (byte ^ 255)) & 0x7fffffff;
        b->range <<= 8;
        b->used += 8;
    }
}

ISA static void opus_begin(opus_bits *b, const uint8_t *p, size_t n) {
    *b = (opus_bits){.p = p, .n = (uint32_t)n, .front = 1, .range = 128, .half = p[0], .used = 9};
    b->value = 127 - (b->half >> 1);
    opus_refill(b);
}

ISA static inline int32_t opus_tell(const opus_bits *b) { return b->used - opus_log2(b->range); }

/* The same in eighths. */
ISA static inline int32_t opus_tell8(const opus_bits *b) {
    static const uint16_t step[8] = {35733, 38967, 42495, 46340, 50535, 55109, 60097, 65535};
    int log = opus_log2(b->range);
    uint32_t r = b->range >> (log - 16), eighth = (r >> 12) - 8;
    eighth += r > step[eighth];
    return b->used * 8 - (log * 8 + (int32_t)eighth);
}

/* Of what [from, to) of `all` is taken. */
ISA static inline void opus_took(opus_bits *b, uint32_t unit, uint32_t from, uint32_t to, uint32_t all) {
    uint32_t above = unit * (all - to);
    b->value -= above;
    b->range = from > 0 ? unit * (to - from) : b->range - above;
    opus_refill(b);
}

/* Which of `all` it is. */
ISA static inline uint32_t opus_which(const opus_bits *b, uint32_t unit, uint32_t all) {
    uint32_t s = b->value / unit + 1;
    return s < all ? all - s : 0;
}

/* One that has a chance of 2^-log. */
ISA static inline int opus_flag(opus_bits *b, int log) {
    uint32_t part = b->range >> log;
    int set = b->value < part;
    if (!set) b->value -= part;
    b->range = set ? part : b->range - part;
    opus_refill(b);
    return set;
}

ISA static inline int opus_of(opus_bits *b, const uint8_t *above, int log) {
    uint32_t unit = b->range >> log, low, high = b->range;
    int i = 0;
    for (low = unit * above[0]; b->value < low; low = unit * above[i]) high = low, i++;
    b->value -= low;
    b->range = high - low;
    opus_refill(b);
    return i;
}

/* k plain bits, at most 25. */
ISA static inline uint32_t opus_plain(opus_bits *b, int k) {
    while (b->windowed < k) {
        uint64_t next = b->back < b->n ? b->p[b->n - 1 - b->back] : 0;
        b->back++;
        b->window |= next << b->windowed;
        b->windowed += 8;
    }
    uint32_t x = (uint32_t)b->window & ((1U << k) - 1);
    b->window >>= k;
    b->windowed -= k;
    b->used += k;
    return x;
}

/* One of n > 1, all alike. */
ISA static inline uint32_t opus_one_of(opus_bits *b, uint32_t n) {
    int plain = opus_log2(n - 1) - 8;
    if (plain <= 0) {
        uint32_t unit = b->range / n, x = opus_which(b, unit, n);
        opus_took(b, unit, x, x + 1, n);
        return x;
    }
    uint32_t high = ((n - 1) >> plain) + 1, unit = b->range / high, x = opus_which(b, unit, high);
    opus_took(b, unit, x, x + 1, high);
    x = x << plain | opus_plain(b, plain);
    return x < n ? x : n - 1; /* as the reference decoder takes what no encoder writes */
}

/* A number around 0 of which this chance (of 2^15) is 0's, and that of others falls off by `decay` (of 2^15 again) (4.3.2.1). */
ISA static int opus_laplace(opus_bits *b, uint32_t chance, uint32_t decay) {
    uint32_t unit = b->range >> 15, at = opus_which(b, unit, 1 << 15), from = 0;
    int x = 0;
    if (at >= chance) {
        x = 1;
        from = chance;
        chance = ((32768 - 32 - chance) * (16384 - decay) >> 15) + 1;
        for (; chance > 1 && at >= from + 2 * chance; x++) {
            from += 2 * chance;
            chance = ((2 * chance - 2) * decay >> 15) + 1;
        }
        if (chance <= 1) {
            uint32_t more = (at - from) >> 1;
            x += (int)more;
            from += 2 * more;
        }
        if (at < from + chance)
            x = -x;
        else
            from += chance;
    }
    uint32_t to = from + chance;
    opus_took(b, unit, from, to < 32768 ? to : 32768, 32768);
    return x;
}
