/* morph_isa.h - what is largest or smallest around the bytes of a line; included once per instruction set, with ISA (an attribute), `bytes` (a vector of them, which
 * lies anywhere), and largest() and smallest() of two such.
 *
 * What lies within some pixels of a byte, more and more of them, is put into each line that the ellipse reaches so far. */
#include "cv2.h"

/* Two vectors, as what goes round them costs as much as one. */
typedef struct pair {
    bytes of[2];
} pair;

typedef bytes (*taker)(bytes, bytes);

#define INLINE ISA static inline __attribute__((always_inline))

INLINE void take_more(pair *all, const uint8_t *from, taker take) {
    all->of[0] = take(all->of[0], *(const bytes *)from);
    all->of[1] = take(all->of[1], *(const bytes *)(from + sizeof(bytes)));
}

INLINE void spread_some(const media_spread *s, const uint8_t *from, int32_t at, taker take) {
    pair all = {{*(const bytes *)from, *(const bytes *)(from + sizeof(bytes))}};
    for (int32_t i = 0, d = 0; i < s->n; i++) {
        for (; d < s->reach[i]; take_more(&all, from - d * s->step, take))
            if (++d <= s->right) take_more(&all, from + d * s->step, take);
        uint8_t *to = s->to[i] + at;
        pair own = all;
        take_more(&own, to, take);
        *(bytes *)to = own.of[0];
        *(bytes *)(to + sizeof(bytes)) = own.of[1];
    }
}

ISA static void spread(const media_spread *s, const uint8_t *line, int32_t n) {
    for (int32_t i = 0; i < n; i += (int32_t)sizeof(pair)) {
        if (s->smallest)
            spread_some(s, line + i, i, smallest);
        else
            spread_some(s, line + i, i, largest);
    }
}
