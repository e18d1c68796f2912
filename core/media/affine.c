/* affine.c - a row, or a picture ahead of its crop, turned, or turned, moved, scaled and sheared, or mirrored: torchvision's RandomRotation, RandomAffine and flips on PIL
 * images; and a picture in a larger one, RandomZoomOut.
 *
 * Draws, in the words of philox.c: operation 11 is the rotation, its angle the first uniform of block 0. Operation 12 is the
 * affine map: block 0 has the angle and how far to the right, block 1 how far down and the scale, block 2 the shears along x
 * and y. Of quarters the first uniform says whether, the second how many. Of a zoom the uniforms of its block
 * say whether, and how large; those of its place how far to the right and down: floats, as torch's numbers are. */
#include <math.h>

#include "cv2.h"

enum { OP_ROTATION = 11, OP_AFFINE = 12 };

static double within(const media_factor *f, double u) { return f->low + u * (f->high - f->low); }

void media_draw_rotation(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!op->rotation.on) return;
    media_uniforms(d, OP_ROTATION, 0, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.size = (int32_t)op->rotation_filter};
    memcpy(r->fill, op->rotation_fill, sizeof r->fill);
    const media_rotation turn = {
        .degrees = within(&op->rotation, u[0]),
        .x = op->rotation_centered ? op->rotation_x : to->w / 2.0,
        .y = op->rotation_centered ? op->rotation_y : to->h / 2.0,
        .by_torch = media_by_torch(op, MEDIA_DO_ROTATION),
        .centered = (int)op->rotation_centered,
        .expand = (int)op->rotation_expand,
    };
    media_rotation_retouch(r, &turn, &to->w, &to->h);
}

/* Of a row they are the same. */
static void change_sides(media_retouches *to) {
    int32_t w = to->w;
    to->w = to->h;
    to->h = w;
}

void media_draw_quarters(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2], w = to->w, h = to->h;
    const double turns[4][6] = {
        {1, 0, 0, 0, 1, 0}, {0, -1, w, 1, 0, 0}, {-1, 0, w, 0, -1, h}, {0, 1, 0, -1, 0, h}};
    if (!media_chance(d, OP_LATER, LATER_QUARTERS, op->quarters_p)) return;
    media_uniforms(d, OP_LATER, LATER_QUARTERS, u);
    int quarters = (int)(u[1] * 4);
    if (quarters == 0) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST};
    memcpy(r->matrix, turns[quarters], sizeof turns[quarters]);
    if (quarters % 2) change_sides(to);
}

void media_draw_transpose(const media_op *op, const media_draw *d, media_retouches *to) {
    if (!media_chance(d, OP_LATER, LATER_TRANSPOSE, op->transpose_p)) return;
    to->all[to->n++] =
        (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST, .matrix = {[1] = 1, [3] = 1}};
    change_sides(to);
}

/* A side that becomes n times as long, and where the old one lies in it. */
static int32_t longer(int32_t side, float n) { return (int32_t)((float)side * n); }

static int32_t place_in(int32_t side, int32_t old, double u) {
    return (int32_t)((float)(side - old) * (float)u);
}

void media_draw_zoom_out(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2], at[2];
    if (!media_chance(d, OP_LATER, LATER_ZOOM_OUT, op->zoom_out_p)) return;
    media_uniforms(d, OP_LATER, LATER_ZOOM_OUT, u);
    media_uniforms(d, OP_LATER, LATER_ZOOM_OUT_PLACE, at);
    float n = (float)op->zoom_out_min + (float)u[1] * (float)(op->zoom_out_max - op->zoom_out_min);
    int32_t w = longer(to->w, n), h = longer(to->h, n);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST, .matrix = {[0] = 1, [4] = 1}};
    r->matrix[2] = -place_in(w, to->w, at[0]);
    r->matrix[5] = -place_in(h, to->h, at[1]);
    memcpy(r->fill, op->zoom_out_fill, sizeof r->fill);
    to->w = w;
    to->h = h;
}

/* Whole pixels, up to a share of n to either side. */
static double moved(double share, int32_t n, double u) {
    double most = share * n;
    return rint(-most + u * (most + most));
}

void media_draw_affine(const media_op *op, const media_draw *d, media_retouches *to) {
    double turn[2], size[2], shear[2];
    if (!op->affine) return;
    media_uniforms(d, OP_AFFINE, 0, turn);
    media_uniforms(d, OP_AFFINE, 1, size);
    media_uniforms(d, OP_AFFINE, 2, shear);
    media_affine a = {
        .angle = within(&op->affine_angle, turn[0]),
        .translate_x = moved(op->affine_x, to->w, turn[1]),
        .translate_y = moved(op->affine_y, to->h, size[0]),
        .scale = within(&op->affine_scale, size[1]),
        .shear_x = within(&op->affine_shear_x, shear[0]),
        .shear_y = within(&op->affine_shear_y, shear[1]),
        .center_x = op->affine_centered ? op->affine_center_x : to->w * 0.5,
        .center_y = op->affine_centered ? op->affine_center_y : to->h * 0.5,
    };
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.size = (int32_t)op->affine_filter};
    memcpy(r->fill, op->affine_fill, sizeof r->fill);
    media_affine_retouch(r, media_by_torch(op, MEDIA_DO_AFFINE), &a, to->w, to->h);
}

void media_draw_mirror(const media_op *op, const media_draw *d, int step, media_retouches *to) {
    if (!op->late[step] || !media_flipped(op, d, step)) return;
    const double left_right[6] = {-1, 0, to->w, 0, 1, 0}, top_bottom[6] = {1, 0, 0, 0, -1, to->h};
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST};
    memcpy(r->matrix, step == MEDIA_DO_FLIP ? left_right : top_bottom, sizeof left_right);
}
