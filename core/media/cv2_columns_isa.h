/* cv2_columns_isa.h - medians of large squares; included once per instruction set, with ISA (an attribute).
 *
 * Each column counts its pixels of as many lines as a square has, by value and by value / 16, one line into it and one out of it. A square that moves to the
 * right adds up the coarse counts, and the fine ones of the sixteen values alone among which the median is; sums of these that were made before, for
 * another square, are brought up to the one in hand. */
#include "cv2.h"

enum { COARSE = 16, FINE = 16 };

/* Sixteen counts, or whatever the processor makes of them. */
typedef uint16_t counts __attribute__((vector_size(32), may_alias));

/* Of n columns: coarse counts, one after the other, and then fine ones, of all columns for each coarse one. */
typedef struct columns {
    counts *coarse, *fine;
    int32_t n;
} columns;

/* One channel of a line into the columns or out of them. */
ISA static void count_line(const columns *c, const uint8_t *line, int32_t step, uint16_t by) {
    for (int32_t x = 0; x < c->n; x++, line += step) {
        int32_t high = *line / FINE, low = *line % FINE;
        uint16_t *coarse = (uint16_t *)&c->coarse[x] + high,
                 *fine = (uint16_t *)&c->fine[high * c->n + x] + low;
        *coarse = (uint16_t)(*coarse + by);
        *fine = (uint16_t)(*fine + by);
    }
}

/* A square that moves along a line of columns. */
typedef struct square {
    counts coarse, fine[COARSE];
    int32_t first[COARSE]; /* columns that the fine counts are of: from this one on; -1: none */
} square;

/* The fine counts of the columns from x on. */
ISA static const counts *fine_from(square *s, const columns *c, int32_t high, int32_t x, int32_t size) {
    const counts *of = c->fine + (size_t)high * (size_t)c->n;
    int32_t at = s->first[high];
    counts sum = s->fine[high];
    if (at < 0 || x - at > size / 2) {
        sum = of[x];
        for (int32_t i = 1; i < size; i++) sum += of[x + i];
    } else {
        for (; at < x; at++) sum += of[at + size] - of[at];
    }
    s->fine[high] = sum;
    s->first[high] = x;
    return &s->fine[high];
}

/* The first of sixteen numbers that more than half of all are not above; below: how many are below it. The includer has it. */
ISA static int32_t passed(const counts *n, int32_t half, int32_t *below);

ISA static void by_columns(uint8_t *to, const columns *c, int32_t w, int32_t step, int32_t size) {
    square s = {.coarse = {0}};
    int32_t half = size * size / 2;
    for (int k = 0; k < COARSE; k++) s.first[k] = -1;
    for (int32_t x = 0; x < size - 1; x++) s.coarse += c->coarse[x];
    for (int32_t x = 0; x < w; x++, to += step) {
        int32_t below = 0;
        s.coarse += c->coarse[x + size - 1];
        int32_t high = passed(&s.coarse, half, &below);
        *to = (uint8_t)(high * FINE + passed(fine_from(&s, c, high, x, size), half, &below));
        s.coarse -= c->coarse[x];
    }
}

static size_t columns_bytes(int32_t w) { return (COARSE + 1) * sizeof(counts) * (size_t)w; }

/* room: columns_bytes() of a line of from. */
ISA static void medians_by_columns(const media_pixels *px, const media_pixels *from, int32_t size,
                                   void *room) {
    const columns c = {room, (counts *)room + from->w, from->w};
    for (int32_t ch = 0; ch < (px->step == 1 ? 1 : 3); ch++) {
        memset(room, 0, columns_bytes(from->w));
        for (int32_t y = 0; y < from->h; y++) {
            int32_t first = y - (size - 1);
            count_line(&c, media_line(from, y) + ch, from->step, 1);
            if (first < 0) continue;
            by_columns(media_line(px, first) + ch, &c, px->w, px->step, size);
            count_line(&c, media_line(from, first) + ch, from->step, (uint16_t)-1);
        }
    }
}
