/* part.c - a picture ahead of its crop becomes a part of itself, or one with a border, which may be resized: albumentations' Crop, RandomCropFromBorders,
 * CropAndPad, BBoxSafeRandomCrop, AtLeastOneBBoxRandomCrop, RandomSizedCrop, RandomResizedCrop and RandomScale. Where albumentations would stop, as a part has no
 * pixel or a picture is smaller than a part of it, the part has one, or is as large as the picture.
 *
 * Draws, in the words of philox.c: the first uniform of the first block says whether. CUT_BORDERS: left and right, then top and bottom from the next two.
 * CUT_SIDES: top and right, then bottom and left; of one for all the first. CUT_SAFELY: left and top, then right and bottom; without boxes the height from the
 * first block, down and to the right from the second. CUT_AROUND: which box from the first block's second uniform, then to the right and down. CUT_RESIZED's next
 * twenty are geometry.c's of a random crop. RESCALE: the scale from the second uniform. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

/* What goes on is this part of the picture. */
static void take(media_retouches *to, int32_t left, int32_t top, int32_t right, int32_t bottom) {
    left = left < to->w - 1 ? left : to->w - 1;
    top = top < to->h - 1 ? top : to->h - 1;
    right = right < left + 1 ? left + 1 : right > to->w ? to->w : right;
    bottom = bottom < top + 1 ? top + 1 : bottom > to->h ? to->h : bottom;
    to->part = (media_plan){.box_x = left,
                            .box_y = top,
                            .box_w = right - left,
                            .box_h = bottom - top,
                            .res_w = right - left,
                            .res_h = bottom - top};
    to->part_filter = MEDIA_NEAREST;
}

/* And it is resized. */
static void resized(media_retouches *to, const media_sized *by) {
    if (by->h == 0) return;
    to->part.res_w = (int32_t)by->w;
    to->part.res_h = (int32_t)by->h;
    to->part_filter = (int32_t)by->filter;
}

/* A whole number from low to high, or low where that is more. */
static int32_t whole(int32_t low, int32_t high, double u) {
    return high > low ? low + (int32_t)(u * (high - low + 1)) : low;
}

void media_draw_cut(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cut_step *of = &s->of.cut;
    if (media_happens(s, d, LATER_CUT))
        take(to, (int32_t)of->left, (int32_t)of->top, (int32_t)of->right, (int32_t)of->bottom);
}

/* Where a part of a side of n begins and ends. */
static void within_borders(double first, double last, int32_t n, const double u[2], int32_t *at,
                           int32_t *end) {
    *at = whole(0, (int32_t)(first * n), u[0]);
    int32_t least = (int32_t)((1 - last) * n);
    *end = whole(least > *at + 1 ? least : *at + 1, n, u[1]);
}

void media_draw_cut_borders(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cut_borders_step *of = &s->of.cut_borders;
    double x[2], y[2];
    int32_t left, right, top, bottom;
    if (!media_happens(s, d, LATER_CUT_BORDERS)) return;
    media_uniforms(d, OP_LATER, LATER_CUT_BORDERS + 1, x);
    media_uniforms(d, OP_LATER, LATER_CUT_BORDERS + 2, y);
    within_borders(of->left, of->right, to->w, x, &left, &right);
    within_borders(of->top, of->bottom, to->h, y, &top, &bottom);
    take(to, left, top, right, bottom);
}

/* What is cut off at both ends of a side of n leaves a pixel: as much less at both, or at one where the other has less. */
static void leave_one(int32_t *first, int32_t *last, int32_t n) {
    if (n - (*first + *last) >= 1) return;
    int32_t all = n + 1, less = all - all / 2, behind = all / 2;
    if (less > *first) {
        behind += less - *first;
        less = *first;
    } else if (behind > *last) {
        less += behind - *last;
        behind = *last;
    }
    *first = *first - less > 0 ? *first - less : 0;
    *last = *last - behind > 0 ? *last - behind : 0;
}

static int32_t above(int32_t v) { return v > 0 ? v : 0; }

void media_draw_cut_sides(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cut_sides_step *of = &s->of.cut_sides;
    double u[4];
    int32_t by[4], cut[4];
    if (!media_happens(s, d, LATER_CUT_SIDES)) return;
    media_uniforms(d, OP_LATER, LATER_CUT_SIDES + 1, u);
    media_uniforms(d, OP_LATER, LATER_CUT_SIDES + 2, u + 2);
    const int32_t w = to->w, h = to->h;
    for (int i = 0; i < 4; i++) {
        const double *range = of->by[of->same ? 0 : i];
        double at = u[of->same ? 0 : i];
        by[i] = of->pixels ? whole((int32_t)range[0], (int32_t)range[1], at)
                           : (int32_t)(media_between(range, at) * (i % 2 ? w : h));
        cut[i] = above(-by[i]);
    }
    leave_one(&cut[0], &cut[2], h);
    leave_one(&cut[3], &cut[1], w);
    const int32_t top = above(by[0]), right = above(by[1]), bottom = above(by[2]), left = above(by[3]);
    if (top + right + bottom + left > 0) {
        media_retouch *r = media_add_taken(to, MEDIA_WARP, &of->taken);
        int border = of->taken.border != MEDIA_PAD_CONSTANT;
        r->kind = border ? MEDIA_CV2_AFFINE : MEDIA_WARP;
        r->size = border ? MEDIA_CV2_NEAREST : MEDIA_NEAREST;
        r->matrix[0] = r->matrix[4] = 1;
        r->matrix[2] = border ? left : -left;
        r->matrix[5] = border ? top : -top;
        to->w += left + right;
        to->h += top + bottom;
    }
    take(to, cut[3], cut[0], to->w - cut[1], to->h - cut[2]);
    if (of->keeps) resized(to, &(media_sized){(uint32_t)h, (uint32_t)w, of->taken.filter});
}

/* A part of the picture's shape, anywhere in it. */
static void take_some(double erosion, const double size[2], const double at[2], media_retouches *to) {
    int32_t least = (int32_t)(to->h * (1 - erosion));
    int32_t h = least >= to->h ? to->h : whole(least, to->h, size[0]);
    h = h > 1 ? h : 1;
    int32_t w = (int32_t)((double)h * to->w / to->h);
    w = w > 1 ? w : 1;
    int32_t top = (int32_t)((to->h - h + 1) * at[0]), left = (int32_t)((to->w - w + 1) * at[1]);
    take(to, left, top, left + w, top + h);
}

/* What has all boxes, as shares of the picture's sides, of floats as albumentations has them, and smaller by an erosion; 0: there is nothing. */
static int around_all(const media_retouches *to, double erosion, float all[4]) {
    const media_ctx *c = to->of;
    media_moves by = {.n = 0};
    int n = 0;
    if (erosion >= 1 || media_moves_so_far(&by, c) != 0) return 0;
    for (int32_t i = 0; i < c->n_boxes; i++) {
        double box[4];
        media_box_so_far(c, &by, i, box);
        if (!(box[2] > box[0] && box[3] > box[1])) continue;
        for (int k = 0; k < 4; k++) {
            float share = (float)box[k] / (float)(k & 1 ? to->h : to->w);
            all[k] = n == 0 ? share : k < 2 ? fminf(all[k], share) : fmaxf(all[k], share);
        }
        n++;
    }
    if (n < 2) return n;
    for (int axis = 0; axis < 2; axis++) {
        float less = (all[axis + 2] - all[axis]) * (float)erosion;
        less *= 0.5f;
        all[axis] += less;
        all[axis + 2] -= less;
        if (fabsf(all[axis + 2] - all[axis]) < 1e-6f) return 0;
    }
    return n;
}

void media_draw_cut_safely(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cut_safely_step *of = &s->of.cut_safely;
    double first[2], last[2];
    float all[4];
    int32_t part[4];
    if (!media_happens(s, d, LATER_CUT_SAFELY)) return;
    media_uniforms(d, OP_LATER, LATER_CUT_SAFELY + 1, first);
    media_uniforms(d, OP_LATER, LATER_CUT_SAFELY + 2, last);
    if (around_all(to, of->erosion, all)) {
        for (int axis = 0; axis < 2; axis++) {
            float side = (float)(axis ? to->h : to->w), low = fminf(fmaxf(all[axis], 0), 1);
            float high = fminf(fmaxf(all[axis + 2], low), 1);
            float begin = low * (float)first[axis], end = (1 - high) * (float)last[axis];
            part[axis] = (int32_t)(begin * side);
            part[axis + 2] = (int32_t)((high + end) * side);
        }
        take(to, part[0], part[1], part[2], part[3]);
    } else {
        take_some(of->erosion, first, last, to);
    }
    resized(to, &of->to);
}

/* Where along a side of n a part of so many pixels begins that has what lies from low to high, or a share of it; in floats. */
static float reaching(float low, float high, double erosion, int32_t part, int32_t n, double u) {
    float least = 0, most = 0, room = (float)(n - part);
    if (erosion < 1) {
        float kept = (high - low) * (float)(1 - erosion);
        least = low + kept - (float)part;
        most = high - kept;
    } else {
        least = low - (float)part;
        most = high;
    }
    least = fminf(fmaxf(least, 0), room);
    most = fminf(fmaxf(most, 0), room);
    float by = (most - least) * (float)u;
    return least + by;
}

void media_draw_cut_around(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cut_around_step *of = &s->of.cut_around;
    const media_ctx *c = to->of;
    const int32_t w = (int32_t)of->w < to->w ? (int32_t)of->w : to->w,
                  h = (int32_t)of->h < to->h ? (int32_t)of->h : to->h;
    double u[2], at[2], box[4];
    media_moves by = {.n = 0};
    if (!media_happens(s, d, LATER_CUT_AROUND)) return;
    media_uniforms(d, OP_LATER, LATER_CUT_AROUND, u);
    media_uniforms(d, OP_LATER, LATER_CUT_AROUND + 1, at);
    int32_t there = 0, left = (int32_t)(at[0] * (to->w - w)), top = (int32_t)(at[1] * (to->h - h));
    int told = media_moves_so_far(&by, c) == 0;
    for (int pass = 0; told && pass < 2;
         pass++) { /* how many boxes there are, and then the one that is drawn */
        int32_t which = (int32_t)(u[1] * there);
        there = 0;
        for (int32_t i = 0; i < c->n_boxes; i++) {
            media_box_so_far(c, &by, i, box);
            if (!(box[2] > box[0] && box[3] > box[1])) continue;
            if (pass == 1 && there == which) {
                float side[2] = {(float)to->w, (float)to->h}, edge[4];
                for (int k = 0; k < 4; k++) edge[k] = (float)box[k] / side[k & 1] * side[k & 1];
                left = (int32_t)reaching(edge[0], edge[2], of->erosion, w, to->w, at[0]);
                top = (int32_t)reaching(edge[1], edge[3], of->erosion, h, to->h, at[1]);
            }
            there++;
        }
    }
    take(to, left, top, left + w, top + h);
}

void media_draw_cut_resized(const media_step *s, const media_draw *d, media_retouches *to) {
    media_plan p;
    if (!media_happens(s, d, LATER_CUT_RESIZED)) return;
    media_crop_part(&s->of.cut_resized.crop, d, OP_LATER, LATER_CUT_RESIZED + 1, to->w, to->h, &p);
    take(to, p.box_x, p.box_y, p.box_x + p.box_w, p.box_y + p.box_h);
    resized(to, &s->of.cut_resized.to);
}

void media_draw_rescale(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_RESCALE)) return;
    media_uniforms(d, OP_LATER, LATER_RESCALE, u);
    double by = media_between(s->of.rescale.by, u[1]), w = floor(to->w * by), h = floor(to->h * by);
    take(to, 0, 0, to->w, to->h);
    resized(to, &(media_sized){(uint32_t)fmin(fmax(h, 1), MEDIA_MAX_SIDE + 1),
                               (uint32_t)fmin(fmax(w, 1), MEDIA_MAX_SIDE + 1), s->of.rescale.filter});
}
