/* torch_warp_isa.h - pixels of a warped row by the numbers of torch's grid_sample, align_corners=False, on a grid of floats; included behind torch_isa.h, once per
 * instruction set, with four(), which makes floats of four bytes, fused4(), which is fused() of four, and whole4(), which writes four floats, rounded half to even, as bytes.
 *
 * The grid is rounded step by step. The way from it to pixels, and the sum of four of them, are fused, as torch's build for AVX2 has them. Beyond the picture
 * all is black, and as much of the fill comes to it; that is left out where a grid is bare. */

enum { BOTH = 2 };

/* Where eight pixels, whose places in the row are x and y, come from: pixels' middles are whole numbers. */
ISA static inline void sources(const media_grid *g, const media_pixels *from, v8 x, float y, v8 to[BOTH]) {
    const float *lines[BOTH] = {g->x, g->y};
    const float sides[BOTH] = {(float)from->w, (float)from->h};
    for (int axis = 0; axis < BOTH; axis++) {
        const float *m = lines[axis];
        v8 at = (x * ALL(m[0]) + ALL(y * m[1])) + ALL(m[2]);
        if (g->perspective) at = at / ((x * ALL(g->far[0]) + ALL(y * g->far[1])) + ALL(1.0f)) - ALL(1.0f);
        to[axis] = fused(ALL(-0.5f), at + ALL(1.0f), ALL(sides[axis] / 2));
    }
}

/* The pixel at a whole place, or those that are not there. */
ISA static inline const uint8_t *pixel_or(const media_pixels *from, int step, int32_t x, int32_t y,
                                          const uint8_t *none) {
    return x >= 0 && x < from->w && y >= 0 && y < from->h ? media_line(from, y) + (size_t)x * (size_t)step
                                                          : none;
}

/* Of four pixels around (x, y), which is less than one beyond the picture. */
ISA static inline void mix_four(uint8_t *to, const media_pixels *from, int step, float x, float y,
                                const media_grid *g, v4 fill) {
    static const uint8_t none[4];
    const int32_t left = x < 0 ? -1 : (int32_t)x, top = y < 0 ? -1 : (int32_t)y;
    const float east = x - (float)left, south = y - (float)top, west = 1 - east, north = 1 - south;
    const float share[4] = {north * west, north * east, south * west, south * east};
    v4 sum = {0}, black = {0};
    float there = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t *at = pixel_or(from, step, left + (i & 1), top + (i >> 1), none);
        const v4 v = at == none ? black : four(at), of = {share[i], share[i], share[i], share[i]};
        sum = i == 0 ? v * of : fused4(sum, v, of);
        if (at != none) there += share[i];
    }
    if (!g->bare) sum = (sum - fill) * (v4){there, there, there, there} + fill;
    whole4(to, step, sum);
}

ISA static inline __attribute__((always_inline)) void
warp_lines(const media_pixels *px, const media_pixels *from, const media_grid *g, int step, int mixes) {
    const v4 fill = {g->fill[0], g->fill[1], g->fill[2], 0};
    const v8 ramp = {0, 1, 2, 3, 4, 5, 6, 7}, even = ALL(0x1.8p23f);
    const float w = (float)from->w, h = (float)from->h;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        for (int32_t x = 0; x < px->w; x += LANES) {
            v8 at[BOTH];
            sources(g, from, ramp + ALL((float)x + g->first_x), (float)y + g->first_y, at);
            if (!mixes)
                for (int axis = 0; axis < BOTH; axis++)
                    at[axis] = at[axis] + even - even; /* rounded half to even */
            for (int i = 0; i < LANES && x + i < px->w; i++, to += step) {
                const float sx = at[0][i], sy = at[1][i];
                if (!(sx > -1 && sx < w && sy > -1 && sy < h))
                    memcpy(to, g->fill, (size_t)step);
                else if (mixes)
                    mix_four(to, from, step, sx, sy, g, fill);
                else
                    memcpy(to, media_line(from, (int32_t)sy) + (size_t)(int32_t)sx * (size_t)step,
                           (size_t)step);
            }
        }
    }
}

ISA static void warp(const media_pixels *px, const media_pixels *from, const media_grid *g) {
    const int mixes = g->filter == MEDIA_BILINEAR;
    switch (px->step) {
    case 1: mixes ? warp_lines(px, from, g, 1, 1) : warp_lines(px, from, g, 1, 0); break;
    case 3: mixes ? warp_lines(px, from, g, 3, 1) : warp_lines(px, from, g, 3, 0); break;
    default: mixes ? warp_lines(px, from, g, 4, 1) : warp_lines(px, from, g, 4, 0); break;
    }
}
