/* torch_isa.h - colours of rows as torchvision's v2 computes them on a tensor of bytes; included once per instruction set, with ISA (an attribute),
 * fused(), which is sum + a * b of eight floats, rounded once, as torch's add with an alpha is, and the channels of eight pixels as they are read
 * (apart()) and written (put()), each a number.
 *
 * All else is rounded step by step, in floats of 32 bits, and what comes out is cut, not rounded. Grey is 0.2989 R + 0.587 G + 0.114 B. Eight pixels
 * are taken at a time, past the end of a line into its slack. */
#include "torch.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { LANES = 8 };

#define ALL(x) ((v8){(x), (x), (x), (x), (x), (x), (x), (x)})
#define PICK(mask, a, b) ((v8)(((v8i)(a) & (mask)) | ((v8i)(b) & ~(mask))))

/* Eight pixels, channel by channel. */
typedef struct eight {
    v8 of[3];
} eight;

ISA static inline eight taken(const uint8_t *c, int step) {
    v8i of[3];
    eight p;
    apart(c, step, of);
    for (int ch = 0; ch < 3; ch++) p.of[ch] = __builtin_convertvector(of[ch], v8);
    return p;
}

/* Numbers, cut to whole ones of 0 to 255. */
ISA static inline v8i cut(v8 v) {
    v = PICK(v > ALL(0), v, ALL(0));
    return __builtin_convertvector(PICK(v < ALL(255), v, ALL(255)), v8i);
}

ISA static inline v8i gray(const eight *p) {
    v8 sum = fused(fused(p->of[0] * ALL(0.2989f), p->of[1], ALL(0.587f)), p->of[2], ALL(0.114f));
    return __builtin_convertvector(sum, v8i);
}

ISA static void to_gray(const media_pixels *px) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += LANES, c += LANES * px->step) {
            const eight p = taken(c, px->step);
            const v8i all = gray(&p);
            put(c, px->step, (const v8i[3]){all, all, all});
        }
    }
}

ISA static uint64_t sum_gray(const media_pixels *px) {
    uint64_t sum = 0;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += LANES, c += LANES * px->step) {
            const eight p = taken(c, px->step);
            const v8i all = gray(&p);
            for (int i = 0; i < LANES && x + i < px->w; i++) sum += (uint64_t)all[i];
        }
    }
    return sum;
}

ISA static void saturate(const media_pixels *px, float own, float of_gray) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += LANES, c += LANES * px->step) {
            const eight p = taken(c, px->step);
            const v8 all = __builtin_convertvector(gray(&p), v8);
            v8i to[3];
            for (int ch = 0; ch < 3; ch++) to[ch] = cut(fused(p.of[ch] * ALL(own), all, ALL(of_gray)));
            put(c, px->step, to);
        }
    }
}

/* Numbers of 0 to 1, from what may lie beyond by the last bits. */
ISA static inline v8 within(v8 v) {
    v = PICK(v > ALL(0), v, ALL(0));
    return PICK(v < ALL(1), v, ALL(1));
}

/* To HSV, once around by a share, and back. */
ISA static void turned(const eight *from, v8 by, v8i to[3]) {
    const v8 one = ALL(1), share = ALL((float)(1.0 / 255));
    const v8 r = from->of[0] * share, g = from->of[1] * share, b = from->of[2] * share;
    v8 max = PICK(r > g, r, g), min = PICK(r < g, r, g);
    max = PICK(max > b, max, b);
    min = PICK(min < b, min, b);
    const v8i grey = max == min, is_r = max == r, is_g = max == g;
    const v8 range = max - min, by_range = PICK(grey, one, range);
    const v8 s = range / PICK(grey, one, max);
    const v8 rc = (max - r) / by_range, gc = (max - g) / by_range, bc = (max - b) / by_range;
    v8 h = PICK(is_r, bc - gc, PICK(is_g, rc + ALL(2) - bc, gc + ALL(4) - rc));
    h = h * ALL((float)(1.0 / 6)) + one;
    h = PICK(h >= one, h - one, h) + by;
    h = PICK(h >= one, h - one, h);
    h = PICK(h < ALL(0), h + one, h) * ALL(6);
    v8i sector = __builtin_convertvector(h, v8i);
    const v8 f = h - __builtin_convertvector(sector, v8), sf = s * f, rest = one - s;
    const v8 p = within(rest * max), q = within((one - sf) * max), t = within((sf + rest) * max);
    sector -= (sector >= 6) & 6;
    const v8i at[5] = {sector == 0, sector == 1, sector == 2, sector == 3, sector == 4};
    const v8 back[3] = {PICK(at[0], max, PICK(at[1], q, PICK(at[2] | at[3], p, PICK(at[4], t, max)))),
                        PICK(at[0], t, PICK(at[1] | at[2], max, PICK(at[3], q, p))),
                        PICK(at[0] | at[1], p, PICK(at[2], t, PICK(at[3] | at[4], max, q)))};
    for (int ch = 0; ch < 3; ch++) to[ch] = cut(back[ch] * ALL((float)(255 + 1.0 - 1e-3)));
}

ISA static void turn(const media_pixels *px, float by) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += LANES, c += LANES * px->step) {
            const eight p = taken(c, px->step);
            v8i to[3];
            turned(&p, ALL(by), to);
            put(c, px->step, to);
        }
    }
}
