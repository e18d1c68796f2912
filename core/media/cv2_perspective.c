/* cv2_perspective.c - a row, or a picture ahead of its crop, seen from aside, as albumentations' Perspective has it: by cv2.getPerspectiveTransform and
 * warpPerspective, to the bit.
 *
 * Four points, each some way in from its corner, become the corners; the picture then grows by what its sides are longer than the longest of theirs. The map is
 * solved for and inverted in doubles, in OpenCV's order, and a place is found from where its block of 32 x 32 pixels, or as many, begins. Places are whole 32nds
 * of a pixel, and the pixels cv2_warp.c's.
 *
 * Draws, in the words of philox.c: the first block says whether, and how far in; the eight behind it have a normal number each, timm.c's, along x and along y of
 * the points. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

enum { CORNERS = 4, UNKNOWNS = 8, LEAST = 2 /* pixels of a side */ };

typedef struct point {
    float x, y;
} point;

/* Shares of a side: from 0 to less than 0.32. */
static double inwards(const media_draw *d, uint32_t block, double scale) {
    double u[2];
    media_uniforms(d, OP_LATER, block, u);
    return fmod(fabs(scale * media_normal(u)), 0.32);
}

/* From the top left one on, clockwise. */
static void draw_points(const media_draw *d, double scale, int32_t w, int32_t h, point to[CORNERS]) {
    for (uint32_t i = 0; i < CORNERS; i++) {
        double x = inwards(d, LATER_CV2_PERSPECTIVE + 1 + 2 * i, scale),
               y = inwards(d, LATER_CV2_PERSPECTIVE + 2 + 2 * i, scale);
        to[i].x = (float)((i == 1 || i == 2 ? 1 - x : x) * w);
        to[i].y = (float)((i >= 2 ? 1 - y : y) * h);
    }
}

static float between(point a, point b) {
    float x = a.x - b.x, y = a.y - b.y;
    return sqrtf(x * x + y * y);
}

/* OpenCV's elimination: a row's largest pivot first. */
static void solve(double a[UNKNOWNS][UNKNOWNS], double b[UNKNOWNS]) {
    for (int i = 0; i < UNKNOWNS; i++) {
        int largest = i;
        for (int k = i + 1; k < UNKNOWNS; k++)
            if (fabs(a[k][i]) > fabs(a[largest][i])) largest = k;
        for (int k = i; k < UNKNOWNS && largest != i; k++) {
            double was = a[i][k];
            a[i][k] = a[largest][k];
            a[largest][k] = was;
        }
        double was = b[i];
        b[i] = b[largest];
        b[largest] = was;
        double by = -1 / a[i][i];
        for (int k = i + 1; k < UNKNOWNS; k++) {
            double alpha = a[k][i] * by;
            for (int j = i + 1; j < UNKNOWNS; j++) a[k][j] += alpha * a[i][j];
            b[k] += alpha * b[i];
        }
    }
    for (int i = UNKNOWNS - 1; i >= 0; i--) {
        for (int k = i + 1; k < UNKNOWNS; k++) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
}

/* The points come to these. */
static void lead(const point from[CORNERS], const point to[CORNERS], double m[UNKNOWNS]) {
    double a[UNKNOWNS][UNKNOWNS] = {{0}};
    for (int i = 0; i < CORNERS; i++) {
        a[i][0] = a[i + 4][3] = from[i].x;
        a[i][1] = a[i + 4][4] = from[i].y;
        a[i][2] = a[i + 4][5] = 1;
        a[i][6] = -from[i].x * to[i].x;
        a[i][7] = -from[i].y * to[i].x;
        a[i + 4][6] = -from[i].x * to[i].y;
        a[i + 4][7] = -from[i].y * to[i].y;
        m[i] = to[i].x;
        m[i + 4] = to[i].y;
    }
    solve(a, m);
}

void media_draw_cv2_perspective(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    point from[CORNERS];
    float w = (float)to->w, h = (float)to->h;
    const point corners[CORNERS] = {{0, 0}, {w, 0}, {w, h}, {0, h}};
    if (!media_happens(s, d, LATER_CV2_PERSPECTIVE)) return;
    media_uniforms(d, OP_LATER, LATER_CV2_PERSPECTIVE, u);
    draw_points(d, media_between(s->of.cv2_perspective.scale, u[1]), to->w, to->h, from);
    int32_t wide = (int32_t)fmaxf(fmaxf(between(from[1], from[0]), between(from[2], from[3])), LEAST),
            high = (int32_t)fmaxf(fmaxf(between(from[2], from[1]), between(from[3], from[0])), LEAST);
    media_retouch *r = media_add_taken(to, MEDIA_CV2_PERSPECTIVE, &s->of.cv2_perspective.by);
    lead(from, corners, r->matrix);
    for (int i = 0; i < 3; i++) {
        r->matrix[i] *= (double)to->w / wide;
        r->matrix[3 + i] *= (double)to->h / high;
    }
}

/* OpenCV's inverse of a 3 x 3 matrix. */
static void inverse(const double m[9], double to[9]) {
    double d = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
               m[2] * (m[3] * m[7] - m[4] * m[6]);
    d = d != 0 ? 1 / d : 0;
    to[0] = (m[4] * m[8] - m[5] * m[7]) * d;
    to[1] = (m[2] * m[7] - m[1] * m[8]) * d;
    to[2] = (m[1] * m[5] - m[2] * m[4]) * d;
    to[3] = (m[5] * m[6] - m[3] * m[8]) * d;
    to[4] = (m[0] * m[8] - m[2] * m[6]) * d;
    to[5] = (m[2] * m[3] - m[0] * m[5]) * d;
    to[6] = (m[3] * m[7] - m[4] * m[6]) * d;
    to[7] = (m[1] * m[6] - m[0] * m[7]) * d;
    to[8] = (m[0] * m[4] - m[1] * m[3]) * d;
}

static void back_of(const media_retouch *r, double back[9]) {
    double m[9] = {[8] = 1};
    memcpy(m, r->matrix, sizeof r->matrix);
    inverse(m, back);
}

void media_cv2_perspective_back(const media_retouch *r, double back[9]) {
    back_of(r, back);
    for (int i = 0; i < 9; i += 3) back[i + 2] -= 0.5 * (back[i] + back[i + 1]);
    for (int i = 0; i < 6; i++) back[i] += 0.5 * back[6 + i % 3];
}

/* Pixels from one block of a picture of w x h to the next. */
static int32_t block_of(int32_t w, int32_t h) {
    enum { SIDE = 32 };
    int32_t high = h < SIDE / 2 ? h : SIDE / 2;
    return SIDE * SIDE / high < w ? SIDE * SIDE / high : w;
}

/* As media_places has it: half to even. */
static inline int32_t place(double v, int bits) {
    enum { MOST = 1 << 20 }; /* pixels: beyond it all are as far */
    double most = (double)MOST * (1 << bits);
    if (!(fabs(v) < most)) v = copysign(most, v) + fmod(rint(fmin(fmax(v, INT32_MIN), INT32_MAX)), 1 << bits);
    return (int32_t)(v + 0x1.8p52 - 0x1.8p52) * (1 << (MEDIA_CV2_PLACES - bits));
}

/* Of pixel (x, y), the first of its block: both numerators and what they are divided by. */
static void begin_block(const double m[9], int32_t x, int32_t y, double from[3]) {
    for (int i = 0; i < 3; i++) from[i] = m[3 * i] * x + m[3 * i + 1] * y + m[3 * i + 2];
}

/* Where n pixels from (first, y) on come from. */
static void find(media_places *at, const double m[9], int32_t block, int32_t first, int32_t y, int32_t n,
                 int bits) {
    int32_t more = first % block;
    double from[3];
    begin_block(m, first - more, y, from);
    for (int32_t i = 0; i < n; i++, more++) {
        if (more == block) {
            more = 0;
            begin_block(m, first + i, y, from);
        }
        double z = from[2] + m[6] * more;
        z = z != 0 ? (1 << bits) / z : 0;
        at->across[i] = place((from[0] + m[0] * more) * z, bits);
        at->down[i] = place((from[1] + m[3] * more) * z, bits);
    }
}

void media_warp_cv2_perspective(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                                const media_retouch *r) {
    int linear = r->size == MEDIA_CV2_LINEAR;
    int32_t block = block_of(px->w, px->h);
    double m[9];
    media_places at = {.from = from, .r = r};
    back_of(r, m);
    for (int32_t y = 0; y < px->h; y++)
        for (int32_t first = 0; first < px->w; first += MEDIA_CV2_COLUMNS) {
            uint8_t *to = media_line(px, y) + (size_t)first * (size_t)px->step;
            int32_t n = px->w - first < MEDIA_CV2_COLUMNS ? px->w - first : MEDIA_CV2_COLUMNS;
            find(&at, m, block, first, y, n, linear ? MEDIA_CV2_SUBPLACES : 0);
            (linear ? by->cv2->mix_row : media_pick_row)(to, 0, n, &at);
        }
}
