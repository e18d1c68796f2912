/* cv2_pull.c - a row whose pixels go with the points of a grid, as albumentations' PiecewiseAffine does it: by cv2.remap of a map of floats, to the bit.
 *
 * The points lie evenly, from corner to corner, and each is moved by normal numbers along x and along y, no further than the row's edges. A pixel comes from the
 * mean of where all points are moved to, each weighed by one over the square of its distance: floats of 32 bits throughout, added up as numpy's sum does it.
 *
 * Draws, in the words of philox.c: the first block says whether, and how far; the next how many rows and columns; the next is the key of the numbers: those of
 * point i, row by row, are the counters (2 i, 0, 0, 0), along y, and (2 i + 1, 0, 0, 0), along x. A video's frames have one map. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_piecewise(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_piecewise_step *of = &s->of.piecewise;
    double u[2];
    if (!media_happens(s, d, LATER_PIECEWISE)) return;
    media_uniforms(d, OP_LATER, LATER_PIECEWISE, u);
    double scale = media_between(of->scale, u[1]);
    if (!(scale > 0)) return;
    media_retouch *r = media_add_taken(to, MEDIA_PIECEWISE, &of->by);
    media_uniforms(d, OP_LATER, LATER_PIECEWISE + 1, u);
    r->value = scale;
    r->matrix[0] = media_whole_between(of->rows, u[0]);
    r->matrix[1] = media_whole_between(of->columns, u[1]);
    r->matrix[2] = of->pixels;
    media_words(d, OP_LATER, LATER_PIECEWISE + 2, r->key);
}

/* Where points are, and where they are moved to. */
typedef struct points {
    int32_t n;
    float x[MEDIA_MAX_POINTS], y[MEDIA_MAX_POINTS], to_x[MEDIA_MAX_POINTS], to_y[MEDIA_MAX_POINTS];
} points;

/* numpy's linspace, of floats. */
static float evenly(int32_t i, int32_t n, int32_t side) {
    return i == n - 1 ? (float)(side - 1) : (float)(i * ((double)(side - 1) / (n - 1)));
}

static float within(float v, int32_t side) {
    return v < 0 ? 0 : v > (float)(side - 1) ? (float)(side - 1) : v;
}

static float moved(const media_retouch *r, uint32_t number, double scale) {
    uint32_t words[4] = {number};
    double u[2];
    media_philox(r->key, words);
    media_uniforms_of(words, u);
    return (float)(scale * media_normal(u));
}

static void make_points(points *p, const media_retouch *r, const media_pixels *px) {
    int32_t rows = (int32_t)r->matrix[0], columns = (int32_t)r->matrix[1];
    double scale = r->matrix[2] != 0 ? r->value / 3 : r->value * (px->w < px->h ? px->w : px->h) / 3;
    p->n = rows * columns;
    for (int32_t i = 0; i < p->n; i++) {
        p->x[i] = evenly(i % columns, columns, px->w);
        p->y[i] = evenly(i / columns, rows, px->h);
        p->to_y[i] = within(p->y[i] + moved(r, 2 * (uint32_t)i, scale), px->h);
        p->to_x[i] = within(p->x[i] + moved(r, 2 * (uint32_t)i + 1, scale), px->w);
    }
}

MEDIA_NUMPY_SUM(float)

void media_pull(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                const media_retouch *r) {
    media_places at = {.from = from, .r = r};
    int linear = r->size == MEDIA_CV2_LINEAR;
    points p;
    float down[MEDIA_MAX_POINTS], weights[MEDIA_MAX_POINTS], along[MEDIA_MAX_POINTS],
        across[MEDIA_MAX_POINTS];
    make_points(&p, r, px);
    for (int32_t y = 0; y < px->h; y++) {
        for (int32_t k = 0; k < p.n; k++) down[k] = ((float)y - p.y[k]) * ((float)y - p.y[k]);
        for (int32_t first = 0; first < px->w; first += MEDIA_CV2_COLUMNS) {
            int32_t n = px->w - first < MEDIA_CV2_COLUMNS ? px->w - first : MEDIA_CV2_COLUMNS;
            for (int32_t i = 0; i < n; i++) {
                float x = (float)(first + i);
                for (int32_t k = 0; k < p.n; k++)
                    weights[k] = 1 / ((x - p.x[k]) * (x - p.x[k]) + down[k] + 1e-8f);
                float all = sum_of(weights, p.n);
                for (int32_t k = 0; k < p.n; k++) {
                    float weight = weights[k] / all;
                    along[k] = weight * p.to_x[k];
                    across[k] = weight * p.to_y[k];
                }
                at.across[i] = media_cv2_place(within(sum_of(along, p.n), px->w), linear);
                at.down[i] = media_cv2_place(within(sum_of(across, p.n), px->h), linear);
            }
            media_take_row(px, by, &at, first, n, y);
        }
    }
}
