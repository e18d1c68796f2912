/* retouch.c - what is done to a row's pixels between the geometry and the finish, as a list that is drawn first and applied once
 * all lines are in their place. Each kind has its file.
 *
 * Draws, in the words of philox.c: operation 9 is the Gaussian blur; the first uniform of block 0 says whether, the second
 * which sigma. Operation 10 is what happens or does not, each if the first uniform of its block is below its p: block 0
 * solarize, 1 posterize, 2 invert, 3 sharpness, 4 autocontrast, 5 equalize. */
#include <string.h>

#include "cv2.h"
#include "torch.h"

enum { OP_BLUR = 9, OP_TONES = 10 };

static void draw_blur(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_chance(d, OP_BLUR, 0, op->blur_p)) return;
    media_uniforms(d, OP_BLUR, 0, u);
    double sigma = op->sigma_min + u[1] * (op->sigma_max - op->sigma_min);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_BLUR, .size = (int32_t)op->blur_size, .value = sigma};
}

static void draw_tone(const media_op *op, const media_draw *d, int step, media_retouches *to) {
    const struct {
        double p;
        int32_t kind;
        double value;
    } tones[MEDIA_TONES] = {
        {op->solarize_p, MEDIA_SOLARIZE, op->solarize_threshold}, /* block 0 */
        {op->posterize_p, MEDIA_POSTERIZE, op->posterize_bits},   /* 1, and so on */
        {op->invert_p, MEDIA_INVERT, 0},
        {op->sharpness_p, MEDIA_SHARPNESS, op->sharpness_factor},
        {op->autocontrast_p, MEDIA_AUTOCONTRAST, 0},
        {op->equalize_p, MEDIA_EQUALIZE, 0},
    };
    int i = step - MEDIA_DO_SOLARIZE;
    if (media_chance(d, OP_TONES, (uint32_t)i, tones[i].p))
        to->all[to->n++] = (media_retouch){.kind = tones[i].kind, .value = tones[i].value};
}

static void draw_step(const media_op *op, const media_draw *d, int step, media_retouches *to) {
    switch (step) {
    case MEDIA_DO_FLIP:
    case MEDIA_DO_VFLIP: media_draw_mirror(op, d, step, to); break;
    case MEDIA_DO_QUARTERS: media_draw_quarters(op, d, to); break;
    case MEDIA_DO_ROTATION: media_draw_rotation(op, d, to); break;
    case MEDIA_DO_AFFINE: media_draw_affine(op, d, to); break;
    case MEDIA_DO_PERSPECTIVE: media_draw_perspective(op, d, to); break;
    case MEDIA_DO_ZOOM_OUT: media_draw_zoom_out(op, d, to); break;
    case MEDIA_DO_IOU_CROP: media_draw_iou_crop(op, d, to); break;
    case MEDIA_DO_ELASTIC: media_draw_elastic(op, d, to); break;
    case MEDIA_DO_AUGMENT: media_draw_augment(op, d, to); break;
    case MEDIA_DO_JITTER: media_draw_jitter(op, d, to); break;
    case MEDIA_DO_DISTORT: media_draw_distort(op, d, to); break;
    case MEDIA_DO_PERMUTE: media_draw_permute(op, d, to); break;
    case MEDIA_DO_GRAY: media_draw_gray(op, d, to); break;
    case MEDIA_DO_BLUR: draw_blur(op, d, to); break;
    case MEDIA_DO_NOISE: media_draw_noise(op, d, to); break;
    case MEDIA_DO_JPEG: media_draw_jpeg(op, d, to); break;
    case MEDIA_DO_LIGHT: media_draw_light(op, d, to); break;
    case MEDIA_DO_GAMMA: media_draw_gamma(op, d, to); break;
    case MEDIA_DO_CV2_GRAY: media_draw_cv2_gray(op, d, to); break;
    case MEDIA_DO_CV2_AFFINE: media_draw_cv2_affine(op, d, to); break;
    case MEDIA_DO_HSV: media_draw_hsv(op, d, to); break;
    case MEDIA_DO_RGB_SHIFT: media_draw_rgb_shift(op, d, to); break;
    case MEDIA_DO_CV2_JITTER: media_draw_cv2_jitter(op, d, to); break;
    case MEDIA_DO_BOX_BLUR: media_draw_box_blur(op, d, to); break;
    case MEDIA_DO_MEDIAN: media_draw_median(op, d, to); break;
    case MEDIA_DO_CV2_BLUR: media_draw_cv2_blur(op, d, to); break;
    case MEDIA_DO_MOTION: media_draw_motion(op, d, to); break;
    case MEDIA_DO_HOLES: media_draw_holes(op, d, to); break;
    case MEDIA_DO_CLAHE: media_draw_clahe(op, d, to); break;
    case MEDIA_DO_TRANSPOSE: media_draw_transpose(op, d, to); break;
    case MEDIA_DO_SHARPEN: media_draw_sharpen(op, d, to); break;
    case MEDIA_DO_EMBOSS: media_draw_emboss(op, d, to); break;
    case MEDIA_DO_SEPIA: media_draw_sepia(op, d, to); break;
    case MEDIA_DO_TONE_CURVE: media_draw_tone_curve(op, d, to); break;
    case MEDIA_DO_DROP_CHANNELS: media_draw_drop_channels(op, d, to); break;
    case MEDIA_DO_CV2_EQUALIZE: media_draw_cv2_equalize(op, d, to); break;
    case MEDIA_DO_OPTICAL: media_draw_optical(op, d, to); break;
    case MEDIA_DO_GRID: media_draw_grid(op, d, to); break;
    case MEDIA_DO_CV2_PERSPECTIVE: media_draw_cv2_perspective(op, d, to); break;
    case MEDIA_DO_GRID_HOLES: media_draw_grid_holes(op, d, to); break;
    case MEDIA_DO_SPECKS: media_draw_specks(op, d, to); break;
    case MEDIA_DO_DOWNSCALE: media_draw_downscale(op, d, to); break;
    case MEDIA_DO_MULTIPLY: media_draw_multiply(op, d, to); break;
    case MEDIA_DO_UNSHARP: media_draw_unsharp(op, d, to); break;
    case MEDIA_DO_SHUFFLE: media_draw_shuffle(op, d, to); break;
    case MEDIA_DO_MORPH: media_draw_morph(op, d, to); break;
    case MEDIA_DO_ISO: media_draw_iso(op, d, to); break;
    case MEDIA_DO_REMAP:
        if (op->remap) to->all[to->n++] = (media_retouch){.kind = MEDIA_REMAP, .table = op->remapped};
        break;
    default: draw_tone(op, d, step, to); break;
    }
}

/* Whether a member is one of those that are picked: each is with the chance that so many of those from it on still have to be. */
static int picked(const media_member *m, const media_draw *d) {
    uint32_t pick = m->pick;
    for (uint32_t i = 0;; i++) {
        double u[2];
        media_uniforms(d, OP_LATER, LATER_PICK + 64 * m->group + i, u);
        int is = u[0] * (m->of - i) < pick;
        if (i == m->which) return is;
        pick -= (uint32_t)is;
    }
}

int media_left_out(const media_op *op, const media_draw *d, int step) {
    const media_member *m = &op->members[step];
    double u[2];
    if (!m->group || (d->replay && step <= MEDIA_DO_VFLIP)) return 0;
    if (m->pick > 0) return !picked(m, d);
    media_uniforms(d, OP_LATER, LATER_GROUP + m->group, u);
    return u[0] < m->low || u[0] >= m->high;
}

/* The step whose place in the order is i: of those that are shuffled, number k is drawn from block k out of those that are left. */
static int step_at(const media_op *op, const media_draw *d, uint32_t i) {
    uint32_t first = op->shuffled[0], n = op->shuffled[1];
    if (i < first || i >= first + n) return op->order[i];
    uint8_t left[MEDIA_STEPS];
    memcpy(left, op->order + first, n);
    for (uint32_t k = 0;; k++) {
        double u[2];
        media_uniforms(d, OP_LATER, LATER_ORDER + k, u);
        uint32_t at = (uint32_t)(u[0] * (n - k));
        if (first + k == i) return left[at];
        memmove(left + at, left + at + 1, n - k - 1 - at);
    }
}

void media_draw_steps(const media_op *op, const media_draw *d, uint32_t first, uint32_t end,
                      media_retouches *to) {
    for (uint32_t i = first; i < end; i++) {
        int32_t at = to->n;
        int step = step_at(op, d, i);
        if (media_left_out(op, d, step)) continue;
        draw_step(op, d, step, to);
        for (; at < to->n; at++) {
            if (media_by_torch(op, step)) media_of_tensor(&to->all[at], step);
            to->all[at].w = to->w;
            to->all[at].h = to->h;
        }
    }
}

void media_draw_retouches(const media_op *op, const media_draw *d, media_retouches *to) {
    to->w = (int32_t)op->out_w;
    to->h = (int32_t)op->out_h;
    to->n = 0;
    media_draw_steps(op, d, op->ahead[0] + op->ahead[1], MEDIA_STEPS, to);
}

void media_retouch_points(const media_retouches *retouches, double affine[6]) {
    for (int i = 0; i < retouches->n; i++) {
        int kind = retouches->all[i].kind;
        if (kind == MEDIA_PERSPECTIVE || kind == MEDIA_CV2_PERSPECTIVE || kind == MEDIA_TORCH_PERSPECTIVE ||
            media_untold(kind)) {
            memset(affine, 0, 6 * sizeof *affine);
            return;
        }
        double back[6];
        if (kind == MEDIA_WARP) media_warp_points(retouches->all[i].matrix, affine);
        if (kind == MEDIA_CV2_AFFINE) media_cv2_back(&retouches->all[i], back);
        if (kind == MEDIA_TORCH_WARP) media_torch_back(&retouches->all[i], back);
        if (kind == MEDIA_CV2_AFFINE || kind == MEDIA_TORCH_WARP) media_warp_points(back, affine);
    }
}

uint8_t *media_copy_pixels(const media_pixels *px, media_buf *room, size_t more, media_pixels *to) {
    size_t size = px->stride * (size_t)px->h; /* of whole multiples of 64 */
    *to = *px;
    to->p = media_buf_get(room, size + more);
    if (!to->p) return NULL;
    memcpy(to->p, px->p, size);
    return to->p + size;
}

void media_warp_by(const media_retouch *r, const media_kernels *by, const media_pixels *to,
                   const media_pixels *from) {
    switch (r->kind) {
    case MEDIA_PERSPECTIVE: media_warp_perspective(to, by, from, r->matrix, r->size, r->fill); break;
    case MEDIA_CV2_AFFINE: media_warp_cv2(to, by, from, r); break;
    case MEDIA_CV2_PERSPECTIVE: media_warp_cv2_perspective(to, by, from, r); break;
    case MEDIA_TORCH_WARP:
    case MEDIA_TORCH_PERSPECTIVE: media_torch_warp(to, by, from, r); break;
    default: media_warp(to, by, from, r->matrix, r->size, r->fill); break;
    }
}

int media_retouch_pixels(const media_retouch *r, const media_kernels *by, const media_pixels *px,
                         media_buf *room, media_buf *mix) {
    media_pixels from;
    uint8_t *more;
    switch (r->kind) {
    case MEDIA_BRIGHTNESS: media_brightness(px, by, (float)r->value); break;
    case MEDIA_CONTRAST: media_contrast(px, by, (float)r->value); break;
    case MEDIA_SATURATION: media_saturation(px, (float)r->value); break;
    case MEDIA_HUE: media_hue(px, r->value); break;
    case MEDIA_TO_GRAY: by->to_gray(px); break;
    case MEDIA_SOLARIZE: media_solarize(px, by, r->value); break;
    case MEDIA_SOLARIZE_ADD: media_solarize_add(px, by, (int)r->value); break;
    case MEDIA_POSTERIZE: media_posterize(px, by, (int)r->value); break;
    case MEDIA_INVERT: media_invert(px, by); break;
    case MEDIA_AUTOCONTRAST: media_autocontrast(px, by); break;
    case MEDIA_TORCH_CONTRAST: media_torch_contrast(px, by, r->value); break;
    case MEDIA_TORCH_SATURATION: by->torch->saturate(px, (float)r->value, media_torch_rest(r->value)); break;
    case MEDIA_TORCH_HUE: by->torch->turn(px, (float)r->value); break;
    case MEDIA_TORCH_GRAY: by->torch->to_gray(px); break;
    case MEDIA_TORCH_AUTOCONTRAST: media_torch_autocontrast(px, by); break;
    case MEDIA_EQUALIZE: media_equalize(px, by); break;
    case MEDIA_LIGHT: media_light(px, by, (float)r->value, (float)r->mean); break;
    case MEDIA_GAMMA: media_gamma(px, by, r->value); break;
    case MEDIA_TO_CV2_GRAY: by->cv2->gray(px); break;
    case MEDIA_HSV_SHIFT: media_hsv_shift(px, by, r->matrix); break;
    case MEDIA_RGB_SHIFT: media_rgb_shift(px, by, r->matrix); break;
    case MEDIA_CV2_BRIGHTNESS:
    case MEDIA_CV2_CONTRAST:
    case MEDIA_CV2_SATURATION:
    case MEDIA_CV2_HUE: media_cv2_colour(px, by, r->kind, r->value); break;
    case MEDIA_BOX_BLUR:
    case MEDIA_MEDIAN:
    case MEDIA_CV2_BLUR:
    case MEDIA_MOTION:
    case MEDIA_SHARPEN:
    case MEDIA_EMBOSS: return media_cv2_blurs(px, by, r, room);
    case MEDIA_SEPIA: by->cv2->sepia(px); break;
    case MEDIA_TONE_CURVE: media_tone_curve(px, by, r->matrix); break;
    case MEDIA_DROP_CHANNELS: media_drop_channels(px, r->size, r->fill[0]); break;
    case MEDIA_CV2_EQUALIZE: media_cv2_equalize(px, by); break;
    case MEDIA_HOLE: media_hole(px, r); break;
    case MEDIA_GRID_HOLES: media_grid_holes(px, r); break;
    case MEDIA_SPECKS: media_specks(px, by, r); break;
    case MEDIA_MULTIPLY: media_multiply(px, by, r); break;
    case MEDIA_UNSHARP: return media_unsharp(px, by, r, room);
    case MEDIA_DILATE:
    case MEDIA_ERODE: return media_morph(px, by, r, room);
    case MEDIA_ISO: media_iso(px, by, r); break;
    case MEDIA_CLAHE: return media_clahe(px, by, r, room);
    case MEDIA_REMAP: by->by_table(px, r->table); break;
    case MEDIA_PERMUTE: media_permute(px, r->size); break;
    case MEDIA_NOISE: media_add_noise(px, by, r); break;
    case MEDIA_MIX:
    case MEDIA_MIX_AGAIN:
    case MEDIA_MIXED: return media_mix(r, px, mix);
    case MEDIA_RECODE: return media_recode(px, room, r->size, (int)r->first);
    case MEDIA_BLUR:
        if (!media_buf_get(room, media_blur_bytes(px, r->size))) return MEDIA_NO_MEMORY;
        media_gaussian_blur(px, (float *)(void *)room->p, r->size, r->value);
        break;
    case MEDIA_SHARPNESS:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_sharpness(px, &from, (float)r->value);
        break;
    case MEDIA_TORCH_SHARPNESS:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_torch_sharpness(px, &from, r->value);
        break;
    case MEDIA_WARP:
    case MEDIA_PERSPECTIVE:
    case MEDIA_CV2_AFFINE:
    case MEDIA_CV2_PERSPECTIVE:
    case MEDIA_TORCH_WARP:
    case MEDIA_TORCH_PERSPECTIVE:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_warp_by(r, by, px, &from);
        break;
    case MEDIA_OPTICAL:
    case MEDIA_GRID:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_bend(px, by, &from, r);
        break;
    case MEDIA_SHUFFLE:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_shuffle(px, &from, r);
        break;
    case MEDIA_DOWNSCALE:
        if (!(more = media_copy_pixels(px, room, (size_t)px->w * sizeof(int32_t), &from)))
            return MEDIA_NO_MEMORY;
        media_downscale(px, &from, r->value, (int32_t *)(void *)more);
        break;
    case MEDIA_ELASTIC:
        if (!(more = media_copy_pixels(px, room, media_elastic_bytes(px, r), &from))) return MEDIA_NO_MEMORY;
        media_warp_elastic(px, &from, r, (float *)(void *)more);
        break;
    default: break;
    }
    return MEDIA_OK;
}

int media_retouch_row(const media_retouches *retouches, const media_kernels *by, const media_pixels *px,
                      media_buf *room, media_buf *mix) {
    for (int i = 0; i < retouches->n; i++) {
        int rc = media_retouch_pixels(&retouches->all[i], by, px, room, mix);
        if (rc != MEDIA_OK) return rc;
    }
    return MEDIA_OK;
}
