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

static void draw_blur(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_chance(d, OP_BLUR, 0, s->p)) return;
    media_uniforms(d, OP_BLUR, 0, u);
    to->all[to->n++] = (media_retouch){
        .kind = MEDIA_BLUR, .size = (int32_t)s->of.blur.size, .value = media_between(s->of.blur.sigma, u[1])};
}

static void draw_tone(const media_step *s, const media_draw *d, media_retouches *to) {
    static const struct {
        int32_t kind;
        int number; /* 1: it has one */
    } tones[] = {
        {MEDIA_SOLARIZE, 1},  /* block 0 */
        {MEDIA_POSTERIZE, 1}, /* 1, and so on */
        {MEDIA_INVERT, 0},    {MEDIA_SHARPNESS, 1}, {MEDIA_AUTOCONTRAST, 0}, {MEDIA_EQUALIZE, 0},
    };
    uint32_t i = s->kind - MEDIA_DO_SOLARIZE;
    if (media_chance(d, OP_TONES, i, s->p))
        to->all[to->n++] =
            (media_retouch){.kind = tones[i].kind, .value = tones[i].number ? s->of.number : 0};
}

static void draw_remap(const media_step *s, const media_draw *d, media_retouches *to) {
    (void)d;
    to->all[to->n++] = (media_retouch){.kind = MEDIA_REMAP, .table = s->of.remap.table};
}

/* What draws a step of each kind. */
static void (*const draws[MEDIA_STEPS])(const media_step *, const media_draw *, media_retouches *) = {
    [MEDIA_DO_FLIP] = media_draw_mirror,
    [MEDIA_DO_VFLIP] = media_draw_mirror,
    [MEDIA_DO_QUARTERS] = media_draw_quarters,
    [MEDIA_DO_ROTATION] = media_draw_rotation,
    [MEDIA_DO_AFFINE] = media_draw_affine,
    [MEDIA_DO_PERSPECTIVE] = media_draw_perspective,
    [MEDIA_DO_ELASTIC] = media_draw_elastic,
    [MEDIA_DO_AUGMENT] = media_draw_augment,
    [MEDIA_DO_JITTER] = media_draw_jitter,
    [MEDIA_DO_DISTORT] = media_draw_distort,
    [MEDIA_DO_PERMUTE] = media_draw_permute,
    [MEDIA_DO_GRAY] = media_draw_gray,
    [MEDIA_DO_BLUR] = draw_blur,
    [MEDIA_DO_SOLARIZE] = draw_tone,
    [MEDIA_DO_POSTERIZE] = draw_tone,
    [MEDIA_DO_INVERT] = draw_tone,
    [MEDIA_DO_SHARPNESS] = draw_tone,
    [MEDIA_DO_AUTOCONTRAST] = draw_tone,
    [MEDIA_DO_EQUALIZE] = draw_tone,
    [MEDIA_DO_NOISE] = media_draw_noise,
    [MEDIA_DO_JPEG] = media_draw_jpeg,
    [MEDIA_DO_ZOOM_OUT] = media_draw_zoom_out,
    [MEDIA_DO_IOU_CROP] = media_draw_iou_crop,
    [MEDIA_DO_LIGHT] = media_draw_light,
    [MEDIA_DO_GAMMA] = media_draw_gamma,
    [MEDIA_DO_CV2_GRAY] = media_draw_cv2_gray,
    [MEDIA_DO_CV2_AFFINE] = media_draw_cv2_affine,
    [MEDIA_DO_HSV] = media_draw_hsv,
    [MEDIA_DO_RGB_SHIFT] = media_draw_rgb_shift,
    [MEDIA_DO_CV2_JITTER] = media_draw_cv2_jitter,
    [MEDIA_DO_BOX_BLUR] = media_draw_box_blur,
    [MEDIA_DO_MEDIAN] = media_draw_median,
    [MEDIA_DO_CV2_BLUR] = media_draw_cv2_blur,
    [MEDIA_DO_MOTION] = media_draw_motion,
    [MEDIA_DO_HOLES] = media_draw_holes,
    [MEDIA_DO_CLAHE] = media_draw_clahe,
    [MEDIA_DO_TRANSPOSE] = media_draw_transpose,
    [MEDIA_DO_SHARPEN] = media_draw_sharpen,
    [MEDIA_DO_EMBOSS] = media_draw_emboss,
    [MEDIA_DO_SEPIA] = media_draw_sepia,
    [MEDIA_DO_TONE_CURVE] = media_draw_tone_curve,
    [MEDIA_DO_DROP_CHANNELS] = media_draw_drop_channels,
    [MEDIA_DO_CV2_EQUALIZE] = media_draw_cv2_equalize,
    [MEDIA_DO_OPTICAL] = media_draw_optical,
    [MEDIA_DO_GRID] = media_draw_grid,
    [MEDIA_DO_PIECEWISE] = media_draw_piecewise,
    [MEDIA_DO_CV2_PERSPECTIVE] = media_draw_cv2_perspective,
    [MEDIA_DO_GRID_HOLES] = media_draw_grid_holes,
    [MEDIA_DO_SPECKS] = media_draw_specks,
    [MEDIA_DO_DOWNSCALE] = media_draw_downscale,
    [MEDIA_DO_REMAP] = draw_remap,
    [MEDIA_DO_MULTIPLY] = media_draw_multiply,
    [MEDIA_DO_UNSHARP] = media_draw_unsharp,
    [MEDIA_DO_SHUFFLE] = media_draw_shuffle,
    [MEDIA_DO_MORPH] = media_draw_morph,
    [MEDIA_DO_ISO] = media_draw_iso,
    [MEDIA_DO_CV2_ELASTIC] = media_draw_cv2_elastic,
    [MEDIA_DO_CV2_AUTOCONTRAST] = media_draw_cv2_autocontrast,
    [MEDIA_DO_SALT] = media_draw_salt,
    [MEDIA_DO_PLANCKIAN] = media_draw_planckian,
    [MEDIA_DO_ERASING] = media_draw_erasing,
    [MEDIA_DO_SHADOW] = media_draw_shadows,
    [MEDIA_DO_ADVANCED] = media_draw_advanced,
    [MEDIA_DO_DEFOCUS] = media_draw_defocus,
    [MEDIA_DO_RINGING] = media_draw_ringing,
    [MEDIA_DO_GLASS] = media_draw_glass,
    [MEDIA_DO_ZOOM] = media_draw_zoom,
    [MEDIA_DO_FOG] = media_draw_fog,
    [MEDIA_DO_RAIN] = media_draw_rain,
    [MEDIA_DO_SNOW] = media_draw_snow,
    [MEDIA_DO_FLARE] = media_draw_flare,
    [MEDIA_DO_SHOT] = media_draw_shot,
    [MEDIA_DO_PCA] = media_draw_pca,
    [MEDIA_DO_CUT] = media_draw_cut,
    [MEDIA_DO_CUT_BORDERS] = media_draw_cut_borders,
    [MEDIA_DO_CUT_SIDES] = media_draw_cut_sides,
    [MEDIA_DO_CUT_SAFELY] = media_draw_cut_safely,
    [MEDIA_DO_CUT_AROUND] = media_draw_cut_around,
    [MEDIA_DO_CUT_RESIZED] = media_draw_cut_resized,
    [MEDIA_DO_RESCALE] = media_draw_rescale,
};

media_retouch *media_add_taken(media_retouches *to, int kind, const media_taken *by) {
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = kind, .size = (int32_t)by->filter, .first = by->border};
    memcpy(r->fill, by->fill, sizeof r->fill);
    return r;
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

int media_left_out(const media_step *s, const media_draw *d) {
    const media_member *m = &s->member;
    double u[2];
    if (!m->group || (d->replay && s->kind <= MEDIA_DO_VFLIP)) return 0;
    if (m->pick > 0) return !picked(m, d);
    media_uniforms(d, OP_LATER, LATER_GROUP + m->group, u);
    return u[0] < m->low || u[0] >= m->high;
}

/* The step whose place in the order is i: of those that are shuffled, number k is drawn from block k out of those that are left. */
static const media_step *step_at(const media_op *op, const media_draw *d, uint32_t i) {
    uint32_t first = op->shuffled[0], n = op->shuffled[1], left[MEDIA_MAX_ORDER];
    if (i < first || i >= first + n) return &op->steps[i];
    for (uint32_t k = 0; k < n; k++) left[k] = first + k;
    for (uint32_t k = 0;; k++) {
        double u[2];
        media_uniforms(d, OP_LATER, LATER_ORDER + k, u);
        uint32_t at = (uint32_t)(u[0] * (n - k));
        if (first + k == i) return &op->steps[left[at]];
        memmove(left + at, left + at + 1, (n - k - 1 - at) * sizeof *left);
    }
}

int media_begin_steps(const media_op *op, uint32_t first, uint32_t end, int32_t w, int32_t h,
                      media_retouches *to) {
    size_t most = 0;
    for (uint32_t i = first; i < end; i++) most += op->steps[i].most;
    to->w = w;
    to->h = h;
    to->n = 0;
    to->part.box_w = 0;
    to->all = (media_retouch *)(void *)media_buf_get(&to->room, most * sizeof *to->all);
    return most == 0 || to->all ? MEDIA_OK : MEDIA_NO_MEMORY;
}

void media_draw_steps(const media_op *op, const media_draw *d, uint32_t first, uint32_t end,
                      media_retouches *to) {
    for (uint32_t i = first; i < end; i++) {
        const media_step *s = step_at(op, d, i);
        if (media_left_out(s, d)) continue;
        int32_t at = to->n;
        media_draw own = *d;
        own.again = s->again;
        draws[s->kind](s, &own, to);
        for (; at < to->n; at++) {
            if (s->by_torch) media_of_tensor(&to->all[at], s->kind);
            to->all[at].w = to->w;
            to->all[at].h = to->h;
        }
    }
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
    case MEDIA_SATURATION:
        if (px->step > 1) media_saturation(px, (float)r->value);
        break;
    case MEDIA_HUE: media_hue(px, r->value); break;
    case MEDIA_TO_GRAY: by->to_gray(px); break;
    case MEDIA_SOLARIZE: media_solarize(px, by, r->value); break;
    case MEDIA_SOLARIZE_ADD: media_solarize_add(px, by, (int)r->value); break;
    case MEDIA_POSTERIZE: media_posterize(px, by, (int)r->value); break;
    case MEDIA_INVERT: media_invert(px, by); break;
    case MEDIA_AUTOCONTRAST: media_autocontrast(px, by); break;
    case MEDIA_TORCH_CONTRAST: media_torch_contrast(px, by, r->value); break;
    case MEDIA_TORCH_SATURATION:
        if (px->step > 1) by->torch->saturate(px, (float)r->value, media_torch_rest(r->value));
        break;
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
    case MEDIA_SHADOW: return media_shadow(px, r, room);
    case MEDIA_SALT: media_salt(px, by, r); break;
    case MEDIA_ADVANCED:
    case MEDIA_DEFOCUS:
    case MEDIA_RINGING: return media_by_kernel(px, by, r, room);
    case MEDIA_GLASS: return media_glass(px, by, r, room);
    case MEDIA_ZOOM: return media_zoom(px, by, r, room);
    case MEDIA_FOG: return media_fog(px, by, r, room);
    case MEDIA_RAIN: return media_rain(px, by, r, room);
    case MEDIA_FLARE: return media_flare(px, r, room);
    case MEDIA_SNOW: media_snow(px, by, r); break;
    case MEDIA_SHOT: return media_shot(px, by, r, room);
    case MEDIA_PCA: media_pca(px, by, r); break;
    case MEDIA_CV2_AUTOCONTRAST: media_cv2_autocontrast(px, by, r); break;
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
    case MEDIA_PIECEWISE:
        if (!media_copy_pixels(px, room, 0, &from)) return MEDIA_NO_MEMORY;
        media_pull(px, by, &from, r);
        break;
    case MEDIA_CV2_ELASTIC:
        if (!(more = media_copy_pixels(px, room, media_cv2_elastic_bytes(px, r), &from)))
            return MEDIA_NO_MEMORY;
        media_bend_elastic(px, by, &from, r, (float *)(void *)more);
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
