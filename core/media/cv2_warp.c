/* cv2_warp.c - a row, or a picture ahead of its crop, turned, moved, scaled and sheared as albumentations' Affine does it: by cv2.warpAffine, to the bit.
 *
 * The matrix leads from a pixel's middle to where it comes to lie, both counted from the middle of the first pixel; its product and its sums are doubles.
 * warpAffine inverts it and takes places in whole 1024ths of a pixel: the nearest pixel, or the four around one of 32 x 32 places between them, whose shares
 * are whole numbers. Places beyond 32767 are there.
 *
 * Draws, in the words of philox.c: the first block says whether, and has the angle; the next ones have the shifts, the scales and the shears, along x and y. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

enum { PLACES = MEDIA_CV2_PLACES, SUBPLACES = MEDIA_CV2_SUBPLACES, SHARES = 1 << SUBPLACES };

static const double PI = 3.141592653589793;

static double radians(double degrees) { return degrees * (PI / 180); }

/* to comes behind what m does. */
static void then(double m[9], const double to[9]) {
    double made[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            made[3 * i + k] = m[3 * i] * to[k] + m[3 * i + 1] * to[3 + k] + m[3 * i + 2] * to[6 + k];
    memcpy(m, made, sizeof made);
}

static int is_identity(const double m[9]) {
    for (int i = 0; i < 9; i++) {
        int one = i % 4 == 0;
        if (!(fabs(m[i] - one) <= 1e-8 + 1e-5 * one)) return 0;
    }
    return 1;
}

/* How far, in whole pixels. */
static double shifted(const media_cv2_affine_step *of, int axis, int32_t side, double u) {
    const double *range = of->shift[axis];
    if (of->pixels) return range[0] + floor(u * (range[1] - range[0] + 1));
    return trunc(media_between(range, u) * side);
}

/* Turned around (x, y) of a picture of w x h, and shrunk along both sides until all of it is there, as SafeRotate has it. */
static void fit(double m[9], double degrees, double x, double y, int32_t w, int32_t h) {
    double a = radians(degrees), c = cos(a), s = sin(a);
    double wide = trunc(h * fabs(s) + w * fabs(c)), high = trunc(h * fabs(c) + w * fabs(s));
    const double turn[9] = {
        c, s, (1 - c) * x - s * y + (wide / 2 - x), -s, c, s * x + (1 - c) * y + (high / 2 - y), 0, 0, 1};
    const double shrink[9] = {w / wide, 0, 0, 0, h / high, 0, 0, 0, 1};
    memcpy(m, shrink, sizeof shrink);
    then(m, turn);
}

void media_draw_cv2_affine(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cv2_affine_step *of = &s->of.cv2_affine;
    double turn[2], shift[2], scale[2], shear[2];
    if (!media_happens(s, d, LATER_CV2_AFFINE)) return;
    media_uniforms(d, OP_LATER, LATER_CV2_AFFINE, turn);
    media_uniforms(d, OP_LATER, LATER_CV2_AFFINE + 1, shift);
    media_uniforms(d, OP_LATER, LATER_CV2_AFFINE + 2, scale);
    media_uniforms(d, OP_LATER, LATER_CV2_AFFINE + 3, shear);
    double angle = fmod(media_between(of->degrees, turn[1]), 360);
    double a = radians(angle < 0 ? angle + 360 : angle);
    double x = to->w / 2.0 - 0.5, y = to->h / 2.0 - 0.5;
    double move_x = shifted(of, 0, to->w, shift[0]), move_y = shifted(of, 1, to->h, shift[1]);
    double size_x = media_between(of->scale[0], scale[0]),
           size_y = of->keeps ? size_x : media_between(of->scale[1], scale[1]);
    double shear_x = tan(radians(-media_between(of->shear[0], shear[0]))),
           shear_y = tan(radians(-media_between(of->shear[1], shear[1])));
    double m[9] = {1, 0, x, 0, 1, y, 0, 0, 1};
    then(m, (const double[9]){1, 0, move_x, 0, 1, move_y, 0, 0, 1});
    then(m, (const double[9]){1, shear_x, 0, shear_y, 1, 0, 0, 0, 1});
    then(m, (const double[9]){cos(a), sin(a), 0, -sin(a), cos(a), 0, 0, 0, 1});
    then(m, (const double[9]){size_x, 0, 0, 0, size_y, 0, 0, 0, 1});
    then(m, (const double[9]){1, 0, -x, 0, 1, -y, 0, 0, 1});
    if (of->fits) fit(m, media_between(of->degrees, turn[1]), x, y, to->w, to->h);
    if (is_identity(m)) return;
    memcpy(media_add_taken(to, MEDIA_CV2_AFFINE, &of->by)->matrix, m, 6 * sizeof *m);
}

static void inverse(const double m[6], double back[6]) {
    double by = m[0] * m[4] - m[1] * m[3];
    by = by != 0 ? 1 / by : 0;
    back[0] = m[4] * by;
    back[1] = m[1] * -by;
    back[3] = m[3] * -by;
    back[4] = m[0] * by;
    back[2] = -back[0] * m[2] - back[1] * m[5];
    back[5] = -back[3] * m[2] - back[4] * m[5];
}

void media_cv2_back(const media_retouch *r, double m[6]) {
    inverse(r->matrix, m);
    for (int i = 0; i < 6; i += 3) m[i + 2] += 0.5 - 0.5 * (m[i] + m[i + 1]);
}

/* In 1024ths of a pixel, half to even; what has no such number is far away. */
static int32_t places(double v) {
    v = v * (1 << PLACES) + 0x1.8p52 - 0x1.8p52;
    return fabs(v) < 0x1p31 ? (int32_t)v : INT32_MIN;
}

static int32_t sum(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

static int32_t short_of(int32_t v) { return v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v; }

/* The pixel at (x, y), beyond the picture the border's. */
static const uint8_t *pixel_at(const media_pixels *from, const media_retouch *r, int32_t x, int32_t y) {
    if (x < 0 || y < 0 || x >= from->w || y >= from->h) {
        if (r->first == MEDIA_PAD_CONSTANT) return r->fill;
        x = media_border_at(r->first, x, from->w);
        y = media_border_at(r->first, y, from->h);
    }
    return media_line(from, y) + (size_t)x * (size_t)from->step;
}

static inline void pick(uint8_t *to, size_t step, const media_places *at, int32_t i) {
    int32_t x = sum(at->x, at->across[i]), y = sum(at->y, at->down[i]);
    memcpy(to, pixel_at(at->from, at->r, short_of(x >> PLACES), short_of(y >> PLACES)), step);
}

/* Of four pixels. */
static inline void mix(uint8_t *to, size_t step, const media_places *at, int32_t i) {
    const media_pixels *from = at->from;
    int32_t x = sum(at->x, at->across[i]) >> (PLACES - SUBPLACES),
            y = sum(at->y, at->down[i]) >> (PLACES - SUBPLACES);
    int32_t left = short_of(x >> SUBPLACES), top = short_of(y >> SUBPLACES);
    uint32_t right = x & (SHARES - 1), below = y & (SHARES - 1);
    const uint8_t *a, *b, *c, *d;
    if (left >= 0 && top >= 0 && left < from->w - 1 && top < from->h - 1) {
        a = media_line(from, top) + (size_t)left * step;
        b = a + step;
        c = a + from->stride;
        d = c + step;
    } else {
        a = pixel_at(from, at->r, left, top);
        b = pixel_at(from, at->r, left + 1, top);
        c = pixel_at(from, at->r, left, top + 1);
        d = pixel_at(from, at->r, left + 1, top + 1);
    }
    uint32_t upper = SHARES - below, lefter = SHARES - right;
    for (size_t k = 0; k < step && k < 3; k++)
        to[k] = (uint8_t)((upper * (lefter * a[k] + right * b[k]) + below * (lefter * c[k] + right * d[k]) +
                           SHARES * SHARES / 2) >>
                          (2 * SUBPLACES));
}

static inline __attribute__((always_inline)) void picked(uint8_t *to, int32_t first, int32_t n, size_t step,
                                                         const media_places *at) {
    for (int32_t i = first; i < first + n; i++, to += step) pick(to, step, at, i);
}

void media_pick_row(uint8_t *to, int32_t first, int32_t n, const media_places *at) {
    switch (at->from->step) {
    case 1: picked(to, first, n, 1, at); break;
    case 3: picked(to, first, n, 3, at); break;
    default: picked(to, first, n, 4, at); break;
    }
}

static inline __attribute__((always_inline)) void mixed(uint8_t *to, int32_t first, int32_t n, size_t step,
                                                        const media_places *at) {
    for (int32_t i = first; i < first + n; i++, to += step) mix(to, step, at, i);
}

void media_mix_row(uint8_t *to, int32_t first, int32_t n, const media_places *at) {
    switch (at->from->step) {
    case 1: mixed(to, first, n, 1, at); break;
    case 3: mixed(to, first, n, 3, at); break;
    default: mixed(to, first, n, 4, at); break;
    }
}

/* Whether the way back is by whole pixels, which are so few that places count them. */
static int is_moved(const double m[6]) {
    const double most = 1 << 14;
    return m[0] == 1 && m[1] == 0 && m[3] == 0 && m[4] == 1 && fabs(m[2]) < most && fabs(m[5]) < most &&
           m[2] == trunc(m[2]) && m[5] == trunc(m[5]);
}

/* A line's pixels from number x to end, which lie at (x + left, y) of a picture or beyond it. */
static void pick_beside(uint8_t *line, const media_pixels *from, const media_retouch *r, int32_t x,
                        int32_t end, int32_t left, int32_t y) {
    const size_t step = (size_t)from->step;
    for (; x < end; x++) memcpy(line + (size_t)x * step, pixel_at(from, r, x + left, y), step);
}

/* The nearest pixels of a picture that is moved, its own ones at once. */
static void moved(const media_pixels *px, const media_pixels *from, const media_retouch *r, int32_t left,
                  int32_t top) {
    const size_t step = (size_t)px->step;
    int32_t first = left < 0 ? -left : 0, end = from->w - left;
    first = first < px->w ? first : px->w;
    end = end < first ? first : end < px->w ? end : px->w;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        int own = y + top >= 0 && y + top < from->h && first < end;
        if (own)
            memcpy(to + (size_t)first * step, media_line(from, y + top) + (size_t)(first + left) * step,
                   (size_t)(end - first) * step);
        pick_beside(to, from, r, 0, own ? first : px->w, left, y + top);
        if (own) pick_beside(to, from, r, end, px->w, left, y + top);
    }
}

void media_warp_cv2(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                    const media_retouch *r) {
    double m[6];
    int linear = r->size == MEDIA_CV2_LINEAR;
    int32_t half = linear ? 1 << (PLACES - SUBPLACES - 1) : 1 << (PLACES - 1);
    inverse(r->matrix, m);
    if (!linear && is_moved(m)) {
        moved(px, from, r, (int32_t)m[2], (int32_t)m[5]);
        return;
    }
    media_places at = {.from = from, .r = r};
    for (int32_t first = 0; first < px->w; first += MEDIA_CV2_COLUMNS) {
        int32_t n = px->w - first < MEDIA_CV2_COLUMNS ? px->w - first : MEDIA_CV2_COLUMNS;
        for (int32_t i = 0; i < MEDIA_CV2_COLUMNS; i++) {
            at.across[i] = places(m[0] * (first + i));
            at.down[i] = places(m[3] * (first + i));
        }
        for (int32_t y = 0; y < px->h; y++) {
            uint8_t *to = media_line(px, y) + (size_t)first * (size_t)px->step;
            at.x = sum(places(m[1] * y + m[2]), half);
            at.y = sum(places(m[4] * y + m[5]), half);
            (linear ? by->cv2->mix_row : media_pick_row)(to, 0, n, &at);
        }
    }
}
