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

void media_draw_rotation(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_rotation_step *of = &s->of.rotation;
    double u[2];
    media_uniforms(d, OP_ROTATION, 0, u);
    media_retouch *r = media_add_taken(to, 0, &of->by);
    const media_rotation turn = {
        .degrees = media_between(of->degrees, u[0]),
        .x = of->center.given ? of->center.x : to->w / 2.0,
        .y = of->center.given ? of->center.y : to->h / 2.0,
        .by_torch = (int)s->by_torch,
        .centered = (int)of->center.given,
        .expand = (int)of->expand,
    };
    media_rotation_retouch(r, &turn, &to->w, &to->h);
}

/* Of a row they are the same. */
static void change_sides(media_retouches *to) {
    int32_t w = to->w;
    to->w = to->h;
    to->h = w;
}

void media_draw_quarters(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], w = to->w, h = to->h;
    const double turns[4][6] = {
        {1, 0, 0, 0, 1, 0}, {0, -1, w, 1, 0, 0}, {-1, 0, w, 0, -1, h}, {0, 1, 0, -1, 0, h}};
    if (!media_happens(s, d, LATER_QUARTERS)) return;
    media_uniforms(d, OP_LATER, LATER_QUARTERS, u);
    int quarters = (int)(u[1] * 4);
    if (quarters == 0) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST};
    memcpy(r->matrix, turns[quarters], sizeof turns[quarters]);
    if (quarters % 2) change_sides(to);
}

void media_draw_transpose(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_TRANSPOSE)) return;
    to->all[to->n++] =
        (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST, .matrix = {[1] = 1, [3] = 1}};
    change_sides(to);
}

/* A side that becomes n times as long, and where the old one lies in it. */
static int32_t longer(int32_t side, float n) { return (int32_t)((float)side * n); }

static int32_t place_in(int32_t side, int32_t old, double u) {
    return (int32_t)((float)(side - old) * (float)u);
}

void media_draw_zoom_out(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], at[2];
    if (!media_happens(s, d, LATER_ZOOM_OUT)) return;
    media_uniforms(d, OP_LATER, LATER_ZOOM_OUT, u);
    media_uniforms(d, OP_LATER, LATER_ZOOM_OUT_PLACE, at);
    const double *sides = s->of.zoom_out.sides;
    float n = (float)sides[0] + (float)u[1] * (float)(sides[1] - sides[0]);
    int32_t w = longer(to->w, n), h = longer(to->h, n);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST, .matrix = {[0] = 1, [4] = 1}};
    r->matrix[2] = -place_in(w, to->w, at[0]);
    r->matrix[5] = -place_in(h, to->h, at[1]);
    memcpy(r->fill, s->of.zoom_out.fill, sizeof r->fill);
    to->w = w;
    to->h = h;
}

/* Whole pixels, up to a share of n to either side. */
static double moved(double share, int32_t n, double u) {
    double most = share * n;
    return rint(-most + u * (most + most));
}

void media_draw_affine(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_affine_step *of = &s->of.affine;
    double turn[2], size[2], shear[2];
    media_uniforms(d, OP_AFFINE, 0, turn);
    media_uniforms(d, OP_AFFINE, 1, size);
    media_uniforms(d, OP_AFFINE, 2, shear);
    media_affine a = {
        .angle = media_between(of->degrees, turn[0]),
        .translate_x = moved(of->x, to->w, turn[1]),
        .translate_y = moved(of->y, to->h, size[0]),
        .scale = media_between(of->scale, size[1]),
        .shear_x = media_between(of->shear_x, shear[0]),
        .shear_y = media_between(of->shear_y, shear[1]),
        .center_x = of->center.given ? of->center.x : to->w * 0.5,
        .center_y = of->center.given ? of->center.y : to->h * 0.5,
    };
    media_affine_retouch(media_add_taken(to, 0, &of->by), (int)s->by_torch, &a, to->w, to->h);
}

void media_draw_mirror(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!s->late || !media_mirrors(s, d)) return;
    const double left_right[6] = {-1, 0, to->w, 0, 1, 0}, top_bottom[6] = {1, 0, 0, 0, -1, to->h};
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_WARP, .size = MEDIA_NEAREST};
    memcpy(r->matrix, s->kind == MEDIA_DO_FLIP ? left_right : top_bottom, sizeof left_right);
}
