/* cv2_maps.c - a row bent as albumentations' OpticalDistortion and GridDistortion do it: by cv2.remap of a map of floats, to the bit.
 *
 * The map of a lens is initUndistortRectifyMap's, in doubles: of a camera that sees the row from as far as it is wide and high, and whose middle is half a pixel
 * further on. That of a grid has cells of equal sides, but for what is left at the end, whose pixels are stretched or squeezed along x and along y. Places are
 * floats, taken in whole 32nds of a pixel, half to even, and the four pixels around them mixed as cv2_warp.c does it; or the nearest, half to even.
 *
 * Draws, in the words of philox.c: of each its block says whether, and, of a lens, how much; the grid's next is the key of its steps: number i along x and y
 * is that of the counter (i, 0, 0, 0). */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_optical(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_OPTICAL)) return;
    media_uniforms(d, OP_LATER, LATER_OPTICAL, u);
    media_add_taken(to, MEDIA_OPTICAL, &s->of.optical.by)->value = media_between(s->of.optical.limit, u[1]);
}

void media_draw_grid(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_GRID)) return;
    const media_grid_step *of = &s->of.grid;
    media_retouch *r = media_add_taken(to, MEDIA_GRID, &of->by);
    r->value = of->steps;
    r->matrix[0] = of->limit[0];
    r->matrix[1] = of->limit[1];
    r->matrix[2] = of->normalized;
    media_words(d, OP_LATER, LATER_GRID + 1, r->key);
}

static void optical_row(media_places *at, const media_pixels *px, double k, int32_t first, int32_t y,
                        int32_t n) {
    int linear = at->r->size == MEDIA_CV2_LINEAR;
    double w = px->w, h = px->h, down = (y - (h - 1) * 0.5) / h;
    k = (float)k;
    for (int32_t i = 0; i < n; i++) {
        double across = (first + i - (w - 1) * 0.5) / w, square = across * across + down * down;
        double by = 1 + (k * square + k) * square;
        at->across[i] = media_cv2_place((float)(across * by * w + w / 2), linear);
        at->down[i] = media_cv2_place((float)(down * by * h + h / 2), linear);
    }
}

/* A side of a grid: cells of so many pixels, and where each begins and ends in what it is made of. */
typedef struct cells {
    int32_t side, step, n;
    double from[MEDIA_MAX_STEPS + 1], to[MEDIA_MAX_STEPS + 1];
} cells;

MEDIA_NUMPY_SUM(double)

static void make_cells(cells *c, const media_retouch *r, int axis, int32_t side) {
    int32_t steps = (int32_t)r->value;
    double by[MEDIA_MAX_STEPS + 1], end = 0;
    c->side = side;
    c->step = side / steps;
    c->n = steps + 1;
    for (int32_t i = 0; i < c->n; i++) {
        uint32_t words[4] = {(uint32_t)i};
        double u[2];
        media_philox(r->key, words);
        media_uniforms_of(words, u);
        by[i] = 1 + media_between(r->matrix, u[axis]);
    }
    if (r->matrix[2] != 0) { /* so that all of the row is there, and nothing beyond it */
        int32_t last = side < c->n * c->step ? side : c->n * c->step;
        by[steps] *= (double)(last - steps * c->step) / c->step;
        double sum = sum_of(by, c->n), whole = sum > 0 ? (double)side / c->step / sum : 0;
        for (int32_t i = 0; i < c->n; i++) by[i] *= whole;
    }
    for (int32_t i = 0; i < c->n; i++) {
        c->from[i] = end;
        c->to[i] = end += c->step * by[i];
    }
}

/* Where pixel i comes from: numpy's linspace of its cell; what no cell has from 0. */
static float in_cells(const cells *c, int32_t i) {
    int32_t cell = i / c->step, first = cell * c->step;
    if (cell >= c->n) return 0;
    int32_t n = c->side - first < c->step ? c->side - first : c->step;
    double way = c->to[cell] - c->from[cell];
    if (n > 1 && i - first == n - 1) return (float)c->to[cell];
    return (float)(n > 1 ? (i - first) * (way / (n - 1)) + c->from[cell] : c->from[cell]);
}

void media_take_row(const media_pixels *px, const media_kernels *by, const media_places *at, int32_t first,
                    int32_t n, int32_t y) {
    uint8_t *to = media_line(px, y) + (size_t)first * (size_t)px->step;
    (at->r->size == MEDIA_CV2_LINEAR ? by->cv2->mix_row : media_pick_row)(to, 0, n, at);
}

void media_bend(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                const media_retouch *r) {
    media_places at = {.from = from, .r = r};
    int linear = r->size == MEDIA_CV2_LINEAR;
    cells across, down;
    if (r->kind == MEDIA_GRID) {
        make_cells(&across, r, 0, px->w);
        make_cells(&down, r, 1, px->h);
    }
    for (int32_t first = 0; first < px->w; first += MEDIA_CV2_COLUMNS) {
        int32_t n = px->w - first < MEDIA_CV2_COLUMNS ? px->w - first : MEDIA_CV2_COLUMNS;
        if (r->kind == MEDIA_GRID)
            for (int32_t i = 0; i < n; i++)
                at.across[i] = media_cv2_place(in_cells(&across, first + i), linear);
        for (int32_t y = 0; y < px->h; y++) {
            if (r->kind == MEDIA_GRID)
                at.y = media_cv2_place(in_cells(&down, y), linear);
            else
                optical_row(&at, px, r->value, first, y, n);
            media_take_row(px, by, &at, first, n, y);
        }
    }
}
