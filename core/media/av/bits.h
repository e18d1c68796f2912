/* bits.h - bits of a header, the first of a byte being its highest. */
#ifndef SPDL_MEDIA_AV_BITS_H
#define SPDL_MEDIA_AV_BITS_H

#include <stdint.h>

typedef struct media_bits {
    const uint8_t *data; /* the caller's */
    int n, at;           /* bits; at may be behind n */
} media_bits;

/* The next n bits, up to 32; behind the end there are zeros. */
static inline uint32_t media_take(media_bits *b, int n) {
    uint32_t v = 0;
    for (; n > 0; n--, b->at++) v = v << 1 | (b->at < b->n ? b->data[b->at / 8] >> (7 - b->at % 8) & 1u : 0);
    return v;
}

#endif
