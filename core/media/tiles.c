/* tiles.c - a picture as several of one size: the grid of them that it is brought to, and where each lies in it.
 *
 * The rules are InternVL's (dynamic_preprocess), LLaVA-NeXT's (select_best_resolution, resize_and_pad_image), Llama 3.2's
 * (get_optimal_tiled_canvas, get_image_size_fit_to_canvas) and Idefics3's (resize, resize_for_vision_encoder, split_image), in the doubles that
 * Python has for them, and in its order of operations. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

/* What a grid measures in pixels. */
typedef struct canvas {
    int32_t rows, columns, high, wide;
} canvas;

static canvas canvas_of(const media_op *op, uint32_t i) {
    const int32_t rows = op->grids[i][0], columns = op->grids[i][1];
    return (canvas){rows, columns, rows * (int32_t)op->out_h, columns * (int32_t)op->out_w};
}

/* InternVL: the grid whose shape is nearest, by the difference of width / height. Of those that are as near, in the order of their tiles, the
 * last one of which the picture has more than half the pixels. */
static canvas nearest_shape(const media_op *op, int32_t w, int32_t h) {
    const double shape = (double)w / h, area = (double)w * h;
    double least = INFINITY;
    canvas best = {0};
    for (uint32_t i = 0; i < op->n_grids; i++) {
        const canvas c = canvas_of(op, i);
        const double off = fabs(shape - (double)c.columns / c.rows);
        if (off < least || (off == least && area > 0.5 * ((double)c.wide * c.high))) best = c;
        if (off < least) least = off;
    }
    return best;
}

/* LLaVA-NeXT: the grid that keeps most of the picture's pixels; of those that keep as many the one that leaves least empty, and the first. */
static canvas most_kept(const media_op *op, int32_t w, int32_t h) {
    int64_t most = 0, least = INT64_MAX;
    canvas best = {0};
    for (uint32_t i = 0; i < op->n_grids; i++) {
        const canvas c = canvas_of(op, i);
        const double by = fmin((double)c.wide / w, (double)c.high / h);
        const int64_t all = (int64_t)w * h, resized = (int64_t)(w * by) * (int64_t)(h * by);
        const int64_t kept = resized < all ? resized : all, empty = (int64_t)c.wide * c.high - kept;
        if (kept < most || (kept == most && empty >= least)) continue;
        most = kept;
        least = empty;
        best = c;
    }
    return best;
}

static double scale_to(const canvas *c, int32_t w, int32_t h) {
    return fmin((double)c->high / h, (double)c->wide / w);
}

/* Llama 3.2: the grid to which the picture is enlarged least, or, where each makes it smaller, is reduced least; of those that come to the same
 * the smallest, and the first. */
static canvas least_scaled(const media_op *op, int32_t w, int32_t h) {
    double up = INFINITY, down = 0;
    for (uint32_t i = 0; i < op->n_grids; i++) {
        const canvas c = canvas_of(op, i);
        const double by = scale_to(&c, w, h);
        if (by >= 1 && by < up) up = by;
        if (by < 1 && by > down) down = by;
    }
    const double by = up < INFINITY ? up : down;
    canvas best = {0};
    for (uint32_t i = 0; i < op->n_grids; i++) {
        const canvas c = canvas_of(op, i);
        if (scale_to(&c, w, h) == by && (best.rows == 0 || c.rows * c.columns < best.rows * best.columns))
            best = c;
    }
    return best;
}

/* Both sides times one scale, by which one of them becomes high or wide, and the other no more. */
static void keep_shape(int32_t high, int32_t wide, int32_t w, int32_t h, double to(double), media_plan *p) {
    const double by_h = (double)high / h, by_w = (double)wide / w;
    p->res_h = high;
    p->res_w = wide;
    if (by_w < by_h)
        p->res_h = (int32_t)fmin(fmax(to(h * by_w), 1), high);
    else
        p->res_w = (int32_t)fmin(fmax(to(w * by_h), 1), wide);
}

static int32_t between(int32_t side, int32_t least, int32_t most) {
    return side < least ? least : side > most ? most : side;
}

/* The longer side becomes op->longest, the other an even number. */
static void longer_side(const media_op *op, media_plan *p) {
    const double shape = (double)p->box_w / p->box_h;
    const int lies = p->box_w >= p->box_h;
    int32_t other = (int32_t)(lies ? op->longest / shape : op->longest * shape);
    other += other % 2;
    if (other < 1) other = 1;
    p->res_w = lies ? (int32_t)op->longest : other;
    p->res_h = lies ? other : (int32_t)op->longest;
}

static int32_t multiple_of(int32_t n, int32_t of) { return (n + of - 1) / of * of; }

/* Whole tiles along the longer side, and along the other as many as it has then, rounded up. */
static void whole_tiles(const media_op *op, media_plan *p) {
    const int32_t high = (int32_t)op->out_h, wide = (int32_t)op->out_w;
    const double shape = (double)p->box_w / p->box_h;
    if (p->box_w >= p->box_h) {
        p->res_w = multiple_of(p->box_w, wide);
        p->res_h = multiple_of((int32_t)(p->res_w / shape), high);
    } else {
        p->res_h = multiple_of(p->box_h, high);
        p->res_w = multiple_of((int32_t)(p->res_h * shape), wide);
    }
}

/* Idefics3: it is resized twice, and the grid is what comes out. */
static int twice(media_ctx *c, const media_op *op, media_plan *p, canvas *grid) {
    longer_side(op, p);
    int rc = media_resize_ahead(c, op, p);
    if (rc != MEDIA_OK) return rc;
    whole_tiles(op, p);
    rc = media_resize_ahead(c, op, p);
    *grid = (canvas){.rows = p->res_h / (int32_t)op->out_h, .columns = p->res_w / (int32_t)op->out_w};
    return rc;
}

int media_plan_tiles(media_ctx *c, const media_op *op, int32_t w, int32_t h) {
    media_tiling *t = &c->tiling;
    media_plan *p = &t->plan;
    canvas grid = {0};
    int rc = MEDIA_OK;
    c->n_stages = 0;
    media_whole(p, w, h);
    p->win_x = p->win_y = p->flip = p->vflip = 0;
    switch (op->tiling) {
    case MEDIA_TILES_LLAVA_NEXT:
        grid = most_kept(op, w, h);
        keep_shape(grid.high, grid.wide, w, h, ceil, p);
        p->win_x = -((grid.wide - p->res_w) / 2);
        p->win_y = -((grid.high - p->res_h) / 2);
        break;
    case MEDIA_TILES_MLLAMA:
        grid = least_scaled(op, w, h);
        keep_shape(between(h, (int32_t)op->out_h, grid.high), between(w, (int32_t)op->out_w, grid.wide), w, h,
                   floor, p);
        break;
    case MEDIA_TILES_IDEFICS3: rc = twice(c, op, p, &grid); break;
    default:
        grid = nearest_shape(op, w, h);
        p->res_w = grid.wide;
        p->res_h = grid.high;
        break;
    }
    if (rc != MEDIA_OK) return rc;
    t->rows = grid.rows;
    t->columns = grid.columns;
    t->first = op->whole == MEDIA_WHOLE_FIRST;
    t->n = grid.rows * grid.columns + media_with_whole(op, grid.rows * grid.columns);
    return MEDIA_OK;
}

int32_t media_with_whole(const media_op *op, int32_t tiles) {
    return op->whole == MEDIA_WHOLE_FIRST || (op->whole == MEDIA_WHOLE_LAST && tiles > 1);
}

void media_plan_tile(const media_op *op, const media_tiling *t, int32_t k, media_plan *p) {
    const int32_t i = k - t->first;
    *p = t->plan;
    if (i < 0 || i >= t->rows * t->columns) { /* the whole picture */
        p->res_h = (int32_t)op->out_h;
        p->res_w = (int32_t)op->out_w;
        p->win_x = p->win_y = 0;
        return;
    }
    p->win_x += i % t->columns * (int32_t)op->out_w;
    p->win_y += i / t->columns * (int32_t)op->out_h;
}
