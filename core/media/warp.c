/* warp.c - a row sheared, moved, turned, or seen from another side: an affine map or a perspective of its pixels, fill where there are none.
 *
 * The matrices are torchvision's (functional.affine) and, of a rotation, Pillow's (Image.rotate); the pixels are those of
 * Pillow's Image.transform: nearest in 16.16 fixed point, or by sums of doubles where nothing is sheared or turned and where a
 * place is beyond fixed point, and bilinear and bicubic in doubles, cut and not rounded. Pillow's shortcuts for quarters of a turn give the same pixels. Products and sums must not be
 * contracted, which GCC's -std=c11 and the pragma below see to. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warp.h"

static const double PI = 3.141592653589793;

static double radians(double degrees) { return degrees * (PI / 180.0); }

void media_affine_matrix(const media_affine *a, double m[6]) {
    double rot = radians(a->angle), sx = radians(a->shear_x), sy = radians(a->shear_y);
    double x = -a->center_x - a->translate_x, y = -a->center_y - a->translate_y;
    m[0] = (-sin(rot - sy) * tan(sx) / cos(sy) + cos(rot)) / a->scale;
    m[1] = -(-cos(rot - sy) * tan(sx) / cos(sy) - sin(rot)) / a->scale;
    m[3] = -(sin(rot - sy) / cos(sy)) / a->scale;
    m[4] = cos(rot - sy) / cos(sy) / a->scale;
    m[2] = m[0] * x + m[1] * y + a->center_x;
    m[5] = m[3] * x + m[4] * y + a->center_y;
}

/* x with 15 places after the point, as Python's round gives it. */
static double round15(double x) {
    char text[32];
    snprintf(text, sizeof text, "%.15f", x);
    return strtod(text, NULL);
}

double media_once_around(double degrees) {
    double turn = fmod(degrees, 360.0);
    return turn < 0 ? turn + 360.0 : turn;
}

void media_rotation_matrix(double degrees, double x, double y, double m[6]) {
    double turn = -radians(media_once_around(degrees));
    m[0] = m[4] = round15(cos(turn));
    m[1] = round15(sin(turn));
    m[3] = round15(-sin(turn));
    m[2] = m[0] * -x + m[1] * -y + x;
    m[5] = m[3] * -x + m[4] * -y + y;
}

/* How far the four corners of w x h reach by one line of a matrix, in whole pixels. */
static int32_t extent(const double m[3], double w, double h) {
    const double at[4] = {m[2], m[0] * w + m[2], m[0] * w + m[1] * h + m[2], m[1] * h + m[2]};
    double low = at[0], high = at[0];
    for (int i = 1; i < 4; i++) {
        low = fmin(low, at[i]);
        high = fmax(high, at[i]);
    }
    return (int32_t)(ceil(high) - floor(low));
}

void media_expand(double degrees, int centered, double m[6], int32_t *w, int32_t *h) {
    double turn = media_once_around(degrees);
    int32_t wide = extent(m, *w, *h), high = extent(m + 3, *w, *h);
    if (!centered && (turn == 90 || turn == 270)) { /* no rounding of halves: the sides change places */
        wide = *h;
        high = *w;
    }
    double x = -(wide - *w) / 2.0, y = -(high - *h) / 2.0;
    m[2] = m[0] * x + m[1] * y + m[2];
    m[5] = m[3] * x + m[4] * y + m[5];
    *w = wide;
    *h = high;
}

/* Leave of the columns [*first, *end) those where 0 <= at + by * x < limit. */
static void bound(int64_t at, int64_t by, int64_t limit, int32_t *first, int32_t *end) {
    if (by < 0) {
        at = limit - 1 - at;
        by = -by;
    }
    if (by == 0) {
        if (at < 0 || at >= limit) *end = 0;
        return;
    }
    int64_t from = at < 0 ? (by - 1 - at) / by : 0, to = at < limit ? (limit - at + by - 1) / by : 0;
    if (from > *first) *first = (int32_t)(from < *end ? from : *end);
    if (to < *end) *end = (int32_t)to;
}

static inline void span(uint8_t *to, int32_t n, const media_pixels *from, size_t step, int64_t x, int64_t y,
                        int64_t by_x, int64_t by_y) {
    for (; n > 0; n--, to += step, x += by_x, y += by_y)
        memcpy(to, media_line(from, (int32_t)(y >> 16)) + (size_t)(x >> 16) * step, step);
}

static int64_t fixed(double v) { return (int64_t)floor(v * 65536.0 + 0.5); }

/* The nearest pixels, in 16.16 fixed point. */
static void nearest_fixed(const media_pixels *px, const media_pixels *from, const double m[6],
                          const uint8_t fill[4]) {
    int64_t dx = fixed(m[0]), dy = fixed(m[3]), down_x = fixed(m[1]), down_y = fixed(m[4]);
    int64_t x0 = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5), y0 = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5);
    for (int32_t y = 0; y < px->h; y++, x0 += down_x, y0 += down_y) {
        int32_t first = 0, end = px->w;
        bound(x0, dx, (int64_t)from->w << 16, &first, &end);
        bound(y0, dy, (int64_t)from->h << 16, &first, &end);
        uint8_t *to = media_line(px, y);
        media_fill(to, px->w, px->step, fill);
        if (first >= end) continue;
        to += (size_t)first * (size_t)px->step;
        int64_t sx = x0 + first * dx, sy = y0 + first * dy;
        switch (px->step) {
        case 1: span(to, end - first, from, 1, sx, sy, dx, dy); break;
        case 3: span(to, end - first, from, 3, sx, sy, dx, dy); break;
        default: span(to, end - first, from, 4, sx, sy, dx, dy); break;
        }
    }
}

static inline void scaled_line(uint8_t *to, int32_t n, const uint8_t *line, int32_t many, size_t step,
                               double x, double by) {
    for (int32_t i = 0; i < n; i++, to += step, x += by)
        if (x >= 0 && x < many) memcpy(to, line + (size_t)(int32_t)x * step, step);
}

/* The nearest pixels where lines stay lines and columns stay columns: places are sums of doubles. */
static void nearest_scaled(const media_pixels *px, const media_pixels *from, const double m[6],
                           const uint8_t fill[4]) {
    double x = m[2] + m[0] * 0.5, y = m[5] + m[4] * 0.5;
    for (int32_t i = 0; i < px->h; i++, y += m[4]) {
        uint8_t *to = media_line(px, i);
        media_fill(to, px->w, px->step, fill);
        if (!(y >= 0 && y < from->h)) continue;
        const uint8_t *line = media_line(from, (int32_t)y);
        switch (px->step) {
        case 1: scaled_line(to, px->w, line, from->w, 1, x, m[0]); break;
        case 3: scaled_line(to, px->w, line, from->w, 3, x, m[0]); break;
        default: scaled_line(to, px->w, line, from->w, 4, x, m[0]); break;
        }
    }
}

static int is_whole(double v) { return fabs(v) < 0x1p31 && v == trunc(v); }

/* The picture moved by whole pixels: `left` and `top` are where its first pixel's place comes from. */
static void moved(const media_pixels *px, const media_pixels *from, int64_t left, int64_t top,
                  const uint8_t fill[4]) {
    const size_t step = (size_t)px->step;
    int64_t first = left < 0 ? -left : 0, end = from->w - left;
    first = first < px->w ? first : px->w;
    end = end < first ? first : end < px->w ? end : px->w;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        if (first == end || y + top < 0 || y + top >= from->h) {
            media_fill(to, px->w, px->step, fill);
            continue;
        }
        media_fill(to, (int32_t)first, px->step, fill);
        memcpy(to + (size_t)first * step,
               media_line(from, (int32_t)(y + top)) + (size_t)(left + first) * step,
               (size_t)(end - first) * step);
        media_fill(to + (size_t)end * step, px->w - (int32_t)end, px->step, fill);
    }
}

/* Whether the place where the pixel at (x, y) comes from is one of fixed point's. */
static int is_near(const double m[6], double x, double y) {
    return fabs(x * m[0] + y * m[1] + m[2]) < 32768.0 && fabs(x * m[3] + y * m[4] + m[5]) < 32768.0;
}

static int all_near(const media_pixels *px, const double m[6]) {
    return is_near(m, 0, 0) && is_near(m, px->w, px->h) && is_near(m, 0, px->h) && is_near(m, px->w, 0);
}

/* The nearest pixels, places of which are sums of doubles. */
static void nearest_summed(const media_pixels *px, const media_pixels *from, const double m[6],
                           const uint8_t fill[4]) {
    size_t step = (size_t)px->step;
    double x0 = m[2] + m[0] * 0.5 + m[1] * 0.5, y0 = m[5] + m[3] * 0.5 + m[4] * 0.5;
    for (int32_t line = 0; line < px->h; line++, x0 += m[1], y0 += m[4]) {
        uint8_t *to = media_line(px, line);
        double x = x0, y = y0;
        media_fill(to, px->w, px->step, fill);
        for (int32_t i = 0; i < px->w; i++, to += step, x += m[0], y += m[3])
            if (x >= 0 && x < from->w && y >= 0 && y < from->h)
                memcpy(to, media_line(from, (int32_t)y) + (size_t)(int32_t)x * step, step);
    }
}

static double between(double a, double b, double share) { return a + (b - a) * share; }

/* One pixel from the four around (x, y), which lies in the picture. */
static inline void mix_linear(uint8_t *to, const media_pixels *from, size_t step, double x, double y) {
    int32_t left = below(x - 0.5), top = below(y - 0.5), w = from->w, h = from->h;
    double right_share = x - 0.5 - left, lower_share = y - 0.5 - top;
    const uint8_t *a = media_line(from, inside(top, h)), *b = top + 1 < h ? media_line(from, top + 1) : a;
    size_t l = (size_t)inside(left, w) * step, r = (size_t)inside(left + 1, w) * step;
    for (size_t ch = 0; ch < step; ch++) {
        double upper = between(a[l + ch], a[r + ch], right_share),
               lower = between(b[l + ch], b[r + ch], right_share);
        to[ch] = (uint8_t)between(upper, lower, lower_share);
    }
}

/* Between b and c. The differences of bytes are whole numbers. */
static inline double cubic_of_bytes(int a, int b, int c, int d, double share) {
    int one = c - a, two = 2 * (a - b) + c - d, three = b - a - c + d;
    return b + share * (one + share * (two + share * three));
}

static inline double cubic(double a, double b, double c, double d, double share) {
    double one = c - a, two = 2 * (a - b) + c - d, three = b - a - c + d;
    return b + share * (one + share * (two + share * three));
}

/* One pixel from the sixteen around (x, y), which lies in the picture. A line below the first that is not there is the one before it. */
static inline void mix_cubic(uint8_t *to, const media_pixels *from, size_t step, double x, double y) {
    int32_t left = below(x - 0.5), top = below(y - 0.5), w = from->w, h = from->h;
    double right_share = x - 0.5 - left, lower_share = y - 0.5 - top;
    size_t a = (size_t)inside(left - 1, w) * step, b = (size_t)inside(left, w) * step,
           c = (size_t)inside(left + 1, w) * step, d = (size_t)inside(left + 2, w) * step;
    const uint8_t *lines[4] = {media_line(from, inside(top - 1, h))};
    for (int32_t i = 1; i < 4; i++) {
        int32_t line = top - 1 + i;
        lines[i] = line >= 0 && line < h ? media_line(from, line) : lines[i - 1];
    }
    for (size_t ch = 0; ch < step && ch < 3; ch++) {
        double v[4];
        for (int i = 0; i < 4; i++) {
            const uint8_t *p = lines[i] + ch;
            v[i] = cubic_of_bytes(p[a], p[b], p[c], p[d], right_share);
        }
        double mixed = cubic(v[0], v[1], v[2], v[3], lower_share);
        to[ch] = mixed <= 0 ? 0 : mixed >= 255 ? 255 : (uint8_t)mixed;
    }
}

typedef void mixer(uint8_t *to, const media_pixels *from, size_t step, double x, double y);

/* The pixel in which (x, y) lies. */
static inline void pick(uint8_t *to, const media_pixels *from, size_t step, double x, double y) {
    memcpy(to, media_line(from, (int32_t)y) + (size_t)(int32_t)x * step, step);
}

/* Inlined where it is called, so that a step, a mixer and whether m is a perspective's are constants. */
static inline __attribute__((always_inline)) void mixed(const media_pixels *px, const media_pixels *from,
                                                        size_t step, mixer *mix, const double *m,
                                                        int perspective, const uint8_t fill[4]) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        media_fill(to, px->w, px->step, fill);
        for (int32_t x = 0; x < px->w; x++, to += step) {
            double sx, sy;
            led_back(m, perspective, x, y, &sx, &sy);
            if (sx >= 0 && sx < from->w && sy >= 0 && sy < from->h) mix(to, from, step, sx, sy);
        }
    }
}

static inline __attribute__((always_inline)) void mixed_by(mixer *mix, const media_pixels *px,
                                                           const media_pixels *from, const double *m,
                                                           int perspective, const uint8_t fill[4]) {
    switch (px->step) {
    case 1: mixed(px, from, 1, mix, m, perspective, fill); break;
    case 3: mixed(px, from, 3, mix, m, perspective, fill); break;
    default: mixed(px, from, 4, mix, m, perspective, fill); break;
    }
}

void media_mixed(const media_pixels *px, const media_pixels *from, const double *m, int perspective,
                 int filter, const uint8_t fill[4]) {
    if (filter == MEDIA_BICUBIC)
        perspective ? mixed_by(mix_cubic, px, from, m, 1, fill) : mixed_by(mix_cubic, px, from, m, 0, fill);
    else
        perspective ? mixed_by(mix_linear, px, from, m, 1, fill) : mixed_by(mix_linear, px, from, m, 0, fill);
}

void media_warp(const media_pixels *px, const media_kernels *by, const media_pixels *from, const double m[6],
                int filter, const uint8_t fill[4]) {
    if (filter == MEDIA_BILINEAR || filter == MEDIA_BICUBIC) {
        by->mixed(px, from, m, 0, filter, fill);
    } else if (m[0] == 1 && m[1] == 0 && m[3] == 0 && m[4] == 1 && is_whole(m[2]) && is_whole(m[5])) {
        moved(px, from, (int64_t)m[2], (int64_t)m[5], fill);
    } else if (m[1] == 0 && m[3] == 0) {
        nearest_scaled(px, from, m, fill);
    } else if (all_near(px, m)) {
        nearest_fixed(px, from, m, fill);
    } else {
        nearest_summed(px, from, m, fill);
    }
}

void media_warp_perspective(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                            const double m[8], int filter, const uint8_t fill[4]) {
    if (filter == MEDIA_BILINEAR || filter == MEDIA_BICUBIC)
        by->mixed(px, from, m, 1, filter, fill);
    else
        mixed_by(pick, px, from, m, 1, fill);
}

/* Zeros are none. */
static int is_map(const double affine[6]) {
    return affine[0] != 0 || affine[1] != 0 || affine[3] != 0 || affine[4] != 0;
}

void media_warp_points(const double m[6], double affine[6]) {
    if (!is_map(affine)) return;
    double det = m[0] * m[4] - m[1] * m[3]; /* m leads back: its inverse comes behind the map */
    const double a = m[4] / det, b = -m[1] / det, d = -m[3] / det, e = m[0] / det;
    for (int i = 0; i < 3; i++) {
        double x = affine[i] - (i == 2 ? m[2] : 0), y = affine[3 + i] - (i == 2 ? m[5] : 0);
        affine[i] = a * x + b * y;
        affine[3 + i] = d * x + e * y;
    }
}

void media_follow_points(const double by[6], double affine[6]) {
    if (!is_map(affine)) return;
    for (int i = 0; i < 3; i++) {
        double x = affine[i], y = affine[3 + i];
        affine[i] = by[0] * x + by[1] * y + (i == 2 ? by[2] : 0);
        affine[3 + i] = by[3] * x + by[4] * y + (i == 2 ? by[5] : 0);
    }
}
