/* geometry.c - which part of the picture becomes the row, and at what size.
 *
 * The rules are torchvision's (Resize, RandomResize, RandomShortestSize, ScaleJitter, CenterCrop, RandomCrop, RandomResizedCrop,
 * RandomHorizontalFlip, RandomVerticalFlip on PIL images), Pillow's (ImageOps.pad and cover), YOLO's (letterbox), Qwen2-VL's (smart_resize), SigLIP 2's and, where
 * op says so, albumentations' (SmallestMaxSize, LongestMaxSize, CenterCrop, RandomSizedCrop); rounding is half to even, as Python's.
 *
 * Draws, in the words of philox.c: operation 1 is the random crop. Its try t
 * (0-9) takes area from the first and aspect ratio from the second uniform of
 * block 2t; an accepted try takes y, then x from block 2t + 1. Of a crop by its
 * height that is the first uniform of block 0, y and x block 1. Operation 2 is
 * the horizontal flip, 3 the vertical one: the first uniform of block 0, flipped
 * if below p. Operation 6 is where in the picture the row lies: y, then x from
 * block 0. Operation 13 is a random resize: the shorter side from the first uniform of block 0; operation
 * 14 the scale of a jitter, likewise. Of the filter's block the first uniform below a half is bilinear, else bicubic. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

enum { OP_CROP = 1, OP_FLIP = 2, OP_VFLIP = 3, OP_WINDOW = 6, OP_SHORT = 13, OP_SCALE = 14, CROP_TRIES = 10 };

void media_whole(media_plan *p, int32_t w, int32_t h) {
    p->box_x = p->box_y = 0;
    p->box_w = p->res_w = w;
    p->box_h = p->res_h = h;
}

static int draw_crop(const media_crop *of, const media_draw *d, uint32_t op, uint32_t block, int32_t w,
                     int32_t h, media_plan *p) {
    double area = (double)w * (double)h;
    double log_min = log(of->ratio[0]), log_max = log(of->ratio[1]);
    for (uint32_t t = 0; t < CROP_TRIES; t++) {
        double u[2];
        media_uniforms(d, op, block + 2 * t, u);
        double target = area * (of->scale[0] + u[0] * (of->scale[1] - of->scale[0]));
        double aspect = exp(log_min + u[1] * (log_max - log_min));
        double cw = rint(sqrt(target * aspect)), ch = rint(sqrt(target / aspect));
        if (!(cw > 0 && cw <= w && ch > 0 && ch <= h)) continue;
        media_uniforms(d, op, block + 2 * t + 1, u);
        p->box_w = (int32_t)cw;
        p->box_h = (int32_t)ch;
        p->box_y = (int32_t)(u[0] * (h - p->box_h + 1));
        p->box_x = (int32_t)(u[1] * (w - p->box_w + 1));
        return 1;
    }
    return 0;
}

/* albumentations' RandomSizedCrop: no larger than the picture, and a pixel wide at least. */
static void sized_crop(const media_crop *of, const media_draw *d, uint32_t op, uint32_t block, int32_t w,
                       int32_t h, media_plan *p) {
    double u[2], at[2];
    media_uniforms(d, op, block, u);
    media_uniforms(d, op, block + 1, at);
    int32_t high = (int32_t)media_whole_between(of->height, u[0]);
    double wide = fmax(floor(high * of->ratio[0]), 1);
    p->box_h = high < h ? high : h;
    p->box_w = wide < w ? (int32_t)wide : w;
    p->box_y = (int32_t)(at[0] * (h - p->box_h + 1));
    p->box_x = (int32_t)(at[1] * (w - p->box_w + 1));
}

/* The central crop that torchvision falls back to after ten tries. */
static void fallback_crop(const media_crop *of, int32_t w, int32_t h, media_plan *p) {
    double ratio = (double)w / (double)h;
    p->box_w = w;
    p->box_h = h;
    if (ratio < of->ratio[0])
        p->box_h = (int32_t)rint(w / of->ratio[0]);
    else if (ratio > of->ratio[1])
        p->box_w = (int32_t)rint(h * of->ratio[1]);
    p->box_h = p->box_h < 1 ? 1 : p->box_h > h ? h : p->box_h;
    p->box_w = p->box_w < 1 ? 1 : p->box_w > w ? w : p->box_w;
    p->box_y = (h - p->box_h) / 2;
    p->box_x = (w - p->box_w) / 2;
}

void media_crop_part(const media_crop *of, const media_draw *d, uint32_t op, uint32_t block, int32_t w,
                     int32_t h, media_plan *p) {
    if (of->height[1] > 0)
        sized_crop(of, d, op, block, w, h, p);
    else if (!draw_crop(of, d, op, block, w, h, p))
        fallback_crop(of, w, h, p);
}

static int replay_crop(const media_draw *d, int32_t w, int32_t h, media_plan *p) {
    if (d->box_y < 0 || d->box_x < 0 || d->box_h < 1 || d->box_w < 1 || d->box_h > h - d->box_y ||
        d->box_w > w - d->box_x)
        return MEDIA_BAD_BOX;
    p->box_y = d->box_y;
    p->box_x = d->box_x;
    p->box_h = d->box_h;
    p->box_w = d->box_w;
    return MEDIA_OK;
}

/* Where a window of n starts in a picture of size: centred, half to even, or down;
 * negative where the picture is smaller and fill goes around it. */
static int32_t centre(int32_t size, int32_t n, int down) {
    if (size < n) return -((n - size) / 2);
    return down ? (size - n) / 2 : (int32_t)rint((size - n) / 2.0);
}

/* The same in a picture with padding before and behind it. */
static int32_t centre_padded(int32_t size, int32_t n, uint32_t before, uint32_t behind, int down) {
    return centre(size + (int32_t)(before + behind), n, down) - (int32_t)before;
}

/* The same of one that lies in the middle or at an end. */
static int32_t placed(uint32_t where, int32_t size, int32_t n, uint32_t before, uint32_t behind, int down) {
    if (where == MEDIA_FIRST) return -(int32_t)before;
    if (where == MEDIA_LAST) return size + (int32_t)behind - n;
    return centre_padded(size, n, before, behind, down);
}

/* Where a window of n starts that lies anywhere in a padded picture; in the middle if it does not fit. */
static int32_t anywhere(int32_t size, int32_t n, uint32_t before, uint32_t behind, double u) {
    int32_t room = size + (int32_t)(before + behind) - n;
    return room < 0 ? centre_padded(size, n, before, behind, 0) : (int32_t)(u * (room + 1)) - (int32_t)before;
}

/* Both sides times one scale, by which one of them becomes what is wanted. */
static void nearest_sides(int32_t want, int32_t side, int32_t w, int32_t h, media_plan *p) {
    double by = (double)want / side;
    p->res_w = (int32_t)fmin(fmax(rint(w * by), 1), INT32_MAX / 2.0);
    p->res_h = (int32_t)fmin(fmax(rint(h * by), 1), INT32_MAX / 2.0);
}

/* DETR's: as short_side, but where the bound makes the shorter side less, that is rounded to the nearest, and the longer one is cut off of what it is
 * without that; a picture whose shorter side stays is left as it is. Where no shorter side is wanted both are times one scale, and cut off. */
static void detr_sides(int32_t want, int32_t longest, int32_t w, int32_t h, media_plan *p) {
    if (want == 0) {
        double by = (double)longest / (w < h ? h : w);
        p->res_w = (int32_t)fmax(w * by, 1);
        p->res_h = (int32_t)fmax(h * by, 1);
        return;
    }
    double s = w < h ? w : h, l = w < h ? h : w, exact = want;
    if (l / s * want > longest) exact = longest * s / l;
    double shorter = fmax(rint(exact), 1), longer = floor(exact * l / s);
    if (shorter == s) return;
    p->res_w = (int32_t)(w <= h ? shorter : longer);
    p->res_h = (int32_t)(w <= h ? longer : shorter);
}

/* YOLOS': as DETR's, but for a picture that is higher than wide, which is never left as it is; both sides are cut to whole multiples of 16, one at least. */
static void yolos_sides(int32_t want, int32_t longest, int32_t w, int32_t h, media_plan *p) {
    double s = w < h ? w : h, l = w < h ? h : w, exact = want;
    if (l / s * want > longest) exact = longest * s / l;
    double shorter = rint(exact), longer = h <= w && shorter == s ? l : floor(exact * l / s);
    shorter = fmax(floor(shorter / 16), 1) * 16;
    longer = fmax(floor(longer / 16), 1) * 16;
    p->res_w = (int32_t)(w < h ? shorter : longer);
    p->res_h = (int32_t)(w < h ? longer : shorter);
}

/* The shorter side becomes `want`, the longer no more than `longest`, unless that is 0; or the longer becomes that, where `want` is. */
static void short_side(int32_t want, int32_t longest, int32_t w, int32_t h, media_plan *p) {
    int64_t s = w <= h ? w : h, l = w <= h ? h : w;
    int64_t shorter = want, longer = (int64_t)want * l / s;
    if (want == 0) {
        shorter = longest * s / l;
        longer = longest;
    } else if (longest > 0 && longer > longest) {
        shorter = (int64_t)longest * want / longer;
        longer = longest;
    }
    if (shorter < 1) shorter = 1;
    if (longer > INT32_MAX / 2) longer = INT32_MAX / 2;
    p->res_w = (int32_t)(w <= h ? shorter : longer);
    p->res_h = (int32_t)(w <= h ? longer : shorter);
}

static int32_t draw_short(const media_op *op, const media_draw *d) {
    double u[2];
    media_uniforms(d, OP_SHORT, 0, u);
    return (int32_t)op->resize_h + (int32_t)(u[0] * (op->resize_w - op->resize_h));
}

/* torchvision's RandomShortestSize: both sides times one ratio, and cut off. Operation 13, too, says which of its sizes. */
static void shortest(const media_op *op, const media_draw *d, int32_t w, int32_t h, media_plan *p) {
    double u[2], short_side = w < h ? w : h, long_side = w < h ? h : w;
    media_uniforms(d, OP_SHORT, 0, u);
    double by = op->shortest[(uint32_t)(u[0] * op->n_shortest)] / short_side;
    if (op->longest > 0) by = fmin(by, op->longest / long_side);
    p->res_w = (int32_t)fmin(w * by, INT32_MAX / 2);
    p->res_h = (int32_t)fmin(h * by, INT32_MAX / 2);
    if (p->res_h < 1) p->res_h = 1;
    if (p->res_w < 1) p->res_w = 1;
}

/* The picture as large as it fits into resize_h x resize_w, times a scale: in floats of 32 bits, as torch's are. */
static void scale_jitter(const media_op *op, const media_draw *d, int32_t w, int32_t h, media_plan *p) {
    double u[2], fit_h = (double)op->resize_h / h, fit_w = (double)op->resize_w / w;
    media_uniforms(d, OP_SCALE, 0, u);
    float scale = (float)op->crop.scale[0] + (float)u[0] * (float)(op->crop.scale[1] - op->crop.scale[0]);
    float by = (float)(fit_h < fit_w ? fit_h : fit_w) * scale;
    p->res_h = (int32_t)((float)h * by);
    p->res_w = (int32_t)((float)w * by);
    if (p->res_h < 1) p->res_h = 1;
    if (p->res_w < 1) p->res_w = 1;
}

/* What a side of n becomes, divided by a number: a whole multiple of op->multiple. */
static double multiple(const media_op *op, int32_t n, double by, double to(double)) {
    return to(n / by / op->multiple) * op->multiple;
}

/* A side times a scale, rounded up to whole multiples, of which it has one at least. */
static double multiple_up(const media_op *op, int32_t n, double by) {
    return fmax(op->multiple, ceil(n * by / op->multiple) * op->multiple);
}

/* SigLIP 2's rule: of the scales up to 100 the largest by which both sides, rounded up to whole multiples, have no more pixels, which is looked for in halves
 * down to one of 100000. */
static int by_multiples(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    const double near = 1e-5;
    double low = near / 10, high = 100;
    while (high - low >= near) {
        double by = (low + high) / 2;
        if (multiple_up(op, w, by) * multiple_up(op, h, by) <= (double)op->area_max)
            low = by;
        else
            high = by;
    }
    p->res_w = (int32_t)multiple_up(op, w, low);
    p->res_h = (int32_t)multiple_up(op, h, low);
    return MEDIA_OK;
}

/* smart_resize: sides of whole multiples near the picture's own, unless they have too many pixels, or too few. */
static int by_area(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    double least = op->multiple, pixels = (double)w * h;
    double res_w = multiple(op, w, 1, rint), res_h = multiple(op, h, 1, rint);
    if ((double)(w > h ? w : h) / (w > h ? h : w) > MEDIA_MAX_OBLONG) return MEDIA_TOO_OBLONG;
    if (res_w * res_h > (double)op->area_max) {
        double by = sqrt(pixels / (double)op->area_max);
        res_w = fmax(least, multiple(op, w, by, floor));
        res_h = fmax(least, multiple(op, h, by, floor));
    } else if (res_w * res_h < (double)op->area_min) {
        double by = sqrt((double)op->area_min / pixels);
        res_w = ceil(w * by / least) * least;
        res_h = ceil(h * by / least) * least;
    }
    p->res_w = (int32_t)res_w;
    p->res_h = (int32_t)res_h;
    return MEDIA_OK;
}

/* ImageOps.contain: one side is the row's, the other of the picture's shape. */
static void contain_by_side(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    int32_t out_w = (int32_t)op->out_w, out_h = (int32_t)op->out_h;
    double ratio = (double)w / h, out_ratio = (double)out_w / out_h;
    p->res_w = out_w;
    p->res_h = out_h;
    if (ratio > out_ratio)
        p->res_h = (int32_t)rint((double)h / w * out_w);
    else if (ratio < out_ratio)
        p->res_w = (int32_t)rint(ratio * out_h);
}

/* ImageOps.cover: one side is resize_h's or resize_w's, the other of the picture's shape, and no less than the other one. */
static void cover(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    double ratio = (double)w / h, least = (double)op->resize_w / op->resize_h, side;
    p->res_w = (int32_t)op->resize_w;
    p->res_h = (int32_t)op->resize_h;
    if (ratio < least) {
        side = rint((double)h / w * p->res_w);
        p->res_h = side < INT32_MAX / 2 ? (int32_t)side : INT32_MAX / 2;
    } else if (ratio > least) {
        side = rint(ratio * p->res_h);
        p->res_w = side < INT32_MAX / 2 ? (int32_t)side : INT32_MAX / 2;
    }
}

/* YOLO's letterbox: both sides times one scale. */
static void contain_by_scale(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    double fit_h = (double)op->out_h / h, fit_w = (double)op->out_w / w, by = fit_h < fit_w ? fit_h : fit_w;
    p->res_w = (int32_t)rint(w * by);
    p->res_h = (int32_t)rint(h * by);
}

/* As large as it fits into the row, and a pixel at least. */
static void contain(const media_op *op, int32_t w, int32_t h, media_plan *p) {
    if (op->shrink && w <= (int32_t)op->out_w && h <= (int32_t)op->out_h) return;
    if (op->letterbox)
        contain_by_scale(op, w, h, p);
    else
        contain_by_side(op, w, h, p);
    if (p->res_h < 1) p->res_h = 1;
    if (p->res_w < 1) p->res_w = 1;
}

/* Where the row begins in a picture that it contains: the fill is halved, half to even as in ImageOps.pad, or down as in a letterbox. */
static int32_t around(const media_op *op, int32_t size, uint32_t n) {
    double half = ((int32_t)n - size) / 2.0;
    if (op->corner) return 0;
    return -(int32_t)(op->letterbox ? floor(half) : rint(half));
}

static int replayed(const media_draw *draw, uint32_t kind) {
    return (kind == MEDIA_DO_FLIP ? draw->flip : draw->vflip) != 0;
}

int media_mirrors(const media_step *flip, const media_draw *draw) {
    media_draw own = *draw;
    own.again = flip->again;
    if (draw->replay) return flip->again == 0 && replayed(draw, flip->kind);
    if (media_left_out(flip, draw)) return 0;
    return media_chance(&own, flip->kind == MEDIA_DO_FLIP ? OP_FLIP : OP_VFLIP, 0, flip->p);
}

int media_flipped(const media_op *op, const media_draw *draw, uint32_t kind) {
    int is = 0;
    if (draw->replay) return replayed(draw, kind);
    for (uint32_t i = 0; i < op->n_steps; i++)
        if (op->steps[i].kind == kind) is ^= media_mirrors(&op->steps[i], draw);
    return is;
}

/* Whether the geometry has left and right, or top and bottom, change places. */
static int flipped_early(const media_op *op, const media_draw *draw, uint32_t kind) {
    int late = 0;
    for (uint32_t i = 0; i < op->n_steps; i++) {
        const media_step *s = &op->steps[i];
        if (s->kind != kind) continue;
        if (!s->late) return media_mirrors(s, draw);
        late = 1;
    }
    return !late && draw->replay && replayed(draw, kind);
}

int32_t media_filter(const media_op *op, const media_draw *draw) {
    if (!op->any_filter) return (int32_t)op->filter;
    return media_chance(draw, OP_LATER, LATER_FILTER, 0.5) ? MEDIA_BILINEAR : MEDIA_BICUBIC;
}

int media_fit(const media_op *op, const media_draw *draw, int32_t w, int32_t h, media_plan *p) {
    media_whole(p, w, h);
    switch (op->geometry) {
    case MEDIA_RESIZE_SHORT:
        if (op->nearest_side == 2)
            detr_sides((int32_t)op->resize_h, (int32_t)op->longest, w, h, p);
        else if (op->nearest_side == 3)
            yolos_sides((int32_t)op->resize_h, (int32_t)op->longest, w, h, p);
        else if (!op->nearest_side)
            short_side((int32_t)op->resize_h, (int32_t)op->longest, w, h, p);
        else if (op->resize_h > 0)
            nearest_sides((int32_t)op->resize_h, w < h ? w : h, w, h, p);
        else
            nearest_sides((int32_t)op->longest, w < h ? h : w, w, h, p);
        break;
    case MEDIA_RANDOM_RESIZE: short_side(draw_short(op, draw), 0, w, h, p); break;
    case MEDIA_RANDOM_SHORTEST: shortest(op, draw, w, h, p); break;
    case MEDIA_SCALE_JITTER: scale_jitter(op, draw, w, h, p); break;
    case MEDIA_CONTAIN: contain(op, w, h, p); break;
    case MEDIA_RESIZE_AREA: return op->multiple_up ? by_multiples(op, w, h, p) : by_area(op, w, h, p);
    case MEDIA_RESIZE_COVER: cover(op, w, h, p); break;
    case MEDIA_RESIZE_EXACT:
        p->res_w = (int32_t)op->resize_w;
        p->res_h = (int32_t)op->resize_h;
        break;
    case MEDIA_RANDOM_CROP:
        if (draw->replay) {
            int rc = replay_crop(draw, w, h, p);
            if (rc != MEDIA_OK) return rc;
        } else {
            media_crop_part(&op->crop, draw, OP_CROP, 0, w, h, p);
        }
        p->res_w = (int32_t)op->out_w;
        p->res_h = (int32_t)op->out_h;
        break;
    default: break;
    }
    return MEDIA_OK;
}

void media_place(const media_op *op, const media_draw *draw, media_plan *p) {
    p->win_x =
        placed(op->corner_x, p->res_w, (int32_t)op->out_w, op->pad_left, op->pad_right, op->middle_down);
    p->win_y =
        placed(op->corner_y, p->res_h, (int32_t)op->out_h, op->pad_top, op->pad_bottom, op->middle_down);
    if (op->geometry == MEDIA_CONTAIN) {
        p->win_x = around(op, p->res_w, op->out_w);
        p->win_y = around(op, p->res_h, op->out_h);
    }
    if (op->anywhere) {
        double u[2];
        media_uniforms(draw, OP_WINDOW, 0, u);
        p->win_y = anywhere(p->res_h, (int32_t)op->out_h, op->pad_top, op->pad_bottom, u[0]);
        p->win_x = anywhere(p->res_w, (int32_t)op->out_w, op->pad_left, op->pad_right, u[1]);
    }
    p->flip = flipped_early(op, draw, MEDIA_DO_FLIP);
    p->vflip = flipped_early(op, draw, MEDIA_DO_VFLIP);
}
