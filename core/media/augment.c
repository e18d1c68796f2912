/* augment.c - the augmentations whose operations are drawn: torchvision's RandAugment, TrivialAugmentWide, AutoAugment and AugMix on PIL
 * images, or on tensors of bytes, with their operations, magnitudes, signs and policies.
 *
 * Magnitudes are torch.linspace's, in floats of 32 bits, each step rounded: the first half counted from the first, the other from
 * the last. The last bit of torch's own depends on its build and the processor; of tensors it is that of a processor with FMA.
 *
 * Draws, in the words of philox.c: operation 8. RandAugment takes its n-th operation from the first uniform of block n, in the
 * order below, and its sign from the second, negative below a half. TrivialAugmentWide takes operation and sign likewise from
 * block 0 and the magnitude from the first uniform of block 1. AutoAugment takes the policy from the first uniform of block 0;
 * its n-th operation happens if the first uniform of block n + 1 is below its p, with the sign of the second. AugMix takes the
 * number of operations of chain i, if it is drawn, from the first uniform of block 256 + i, and operation and magnitude of its n-th from block
 * 512 + 2 (8 i + n), the sign from the one behind it; its shares are drawn in mix.c. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

/* In torchvision's order; INVERT is AutoAugment's alone, which has no IDENTITY. */
enum {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTO_CONTRAST,
    EQUALIZE,
    OPERATIONS,
    INVERT = OPERATIONS,
};

/* The largest magnitudes. */
typedef struct space {
    int bins;
    double shear, degrees, factor, bits;
    double translate_x, translate_y; /* pixels */
    int of_tensors;
} space;

static space space_of(const media_step *s, const media_retouches *to) {
    const media_augment_step *of = &s->of.augment;
    if (of->kind == MEDIA_TRIVIAL_AUGMENT_WIDE)
        return (space){(int)of->bins, 0.99, 135, 0.99, 6, 32, 32, (int)s->by_torch};
    int bins = of->kind == MEDIA_AUTO_AUGMENT ? 10 : (int)of->bins;
    return (space){bins, 0.3, 30, 0.9, 4, 150.0 / 331.0 * to->w, 150.0 / 331.0 * to->h, (int)s->by_torch};
}

double media_linspace(double first, double last, int n, int i) {
    if (n < 2) return first;
    float from = (float)first, to = (float)last, step = (to - from) / (float)(n - 1);
    float way = step * (float)(i < n / 2 ? i : n - 1 - i);
    return i < n / 2 ? from + way : to - way;
}

static double linspace(const space *s, double first, double last, int i) {
    if (!s->of_tensors) return media_linspace(first, last, s->bins, i);
    float from = (float)first, to = (float)last, step = (to - from) / (float)(s->bins - 1);
    return i < s->bins / 2 ? media_fused(from, step, (float)i)
                           : media_fused(to, -step, (float)(s->bins - 1 - i));
}

/* How many bits posterize leaves. */
static double bits_left(const space *s, int bin) {
    float share = (float)((s->bins - 1) / s->bits);
    return 8 - rint((double)((float)bin / share));
}

static double magnitude(int operation, const space *s, int bin) {
    switch (operation) {
    case SHEAR_X:
    case SHEAR_Y: return linspace(s, 0, s->shear, bin);
    case TRANSLATE_X: return linspace(s, 0, s->translate_x, bin);
    case TRANSLATE_Y: return linspace(s, 0, s->translate_y, bin);
    case ROTATE: return linspace(s, 0, s->degrees, bin);
    case POSTERIZE: return bits_left(s, bin);
    case SOLARIZE: return s->of_tensors ? (float)(255 * linspace(s, 1, 0, bin)) : linspace(s, 255, 0, bin);
    default: return linspace(s, 0, s->factor, bin);
    }
}

/* The angle whose tangent a shear is, by way of degrees as torchvision goes. */
static double shear_degrees(double shear) { return atan(shear) * (180.0 / 3.141592653589793); }

static void warp(const media_step *s, int operation, double m, media_retouches *to) {
    int32_t width = to->w, height = to->h;
    double w = width, h = height;
    media_retouch *r = media_add_taken(to, 0, &s->of.augment.by);
    media_affine a = {.scale = 1};
    const media_rotation turn = {.degrees = m, .x = w / 2, .y = h / 2, .by_torch = (int)s->by_torch};
    switch (operation) {
    case ROTATE: media_rotation_retouch(r, &turn, &width, &height); return;
    case SHEAR_X: a.shear_x = shear_degrees(m); break; /* around the first pixel's corner */
    case SHEAR_Y: a.shear_y = shear_degrees(m); break;
    case TRANSLATE_X:
        a = (media_affine){.scale = 1, .translate_x = trunc(m), .center_x = w * 0.5, .center_y = h * 0.5};
        break;
    default:
        a = (media_affine){.scale = 1, .translate_y = trunc(m), .center_x = w * 0.5, .center_y = h * 0.5};
        break;
    }
    media_affine_retouch(r, (int)s->by_torch, &a, width, height);
}

/* COLOR does nothing to grey, which has none. */
static void add(const media_step *s, int operation, double m, media_retouches *to) {
    media_retouch *r = &to->all[to->n];
    switch (operation) {
    case IDENTITY: return;
    case COLOR: *r = (media_retouch){.kind = MEDIA_SATURATION, .value = 1 + m}; break;
    case BRIGHTNESS: *r = (media_retouch){.kind = MEDIA_BRIGHTNESS, .value = 1 + m}; break;
    case CONTRAST: *r = (media_retouch){.kind = MEDIA_CONTRAST, .value = 1 + m}; break;
    case SHARPNESS: *r = (media_retouch){.kind = MEDIA_SHARPNESS, .value = 1 + m}; break;
    case POSTERIZE: *r = (media_retouch){.kind = MEDIA_POSTERIZE, .value = m}; break;
    case SOLARIZE: *r = (media_retouch){.kind = MEDIA_SOLARIZE, .value = m}; break;
    case AUTO_CONTRAST: *r = (media_retouch){.kind = MEDIA_AUTOCONTRAST}; break;
    case EQUALIZE: *r = (media_retouch){.kind = MEDIA_EQUALIZE}; break;
    case INVERT: *r = (media_retouch){.kind = MEDIA_INVERT}; break;
    default: warp(s, operation, m, to); return;
    }
    to->n++;
}

/* An operation with its magnitude, whose sign u decides where it has one: of what is sheared, moved, turned or enhanced. */
static void add_signed(const media_step *s, int operation, int bin, double u, media_retouches *to) {
    const space of = space_of(s, to);
    double m = magnitude(operation, &of, bin);
    add(s, operation, operation <= SHARPNESS && u < 0.5 ? -m : m, to);
}

static void rand_augment(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    for (uint32_t n = 0; n < s->of.augment.ops; n++) {
        media_uniforms(d, OP_AUGMENT, n, u);
        add_signed(s, (int)(u[0] * OPERATIONS), (int)s->of.augment.magnitude, u[1], to);
    }
}

static void trivial_augment_wide(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], bin[2];
    media_uniforms(d, OP_AUGMENT, 0, u);
    media_uniforms(d, OP_AUGMENT, 1, bin);
    add_signed(s, (int)(u[0] * OPERATIONS), (int)(bin[0] * s->of.augment.bins), u[1], to);
}

/* An operation of a policy: how likely, in tenths, and the magnitude's bin of 10. */
typedef struct likely {
    uint8_t operation, tenths, bin;
} likely;

enum { POLICIES = 25 };

/* Of Cubuk et al., "AutoAugment: Learning Augmentation Policies from Data" (CVPR 2019). */
static const likely policies[][POLICIES][2] = {
    {
        /* imagenet */
        {{POSTERIZE, 4, 8}, {ROTATE, 6, 9}},  {{SOLARIZE, 6, 5}, {AUTO_CONTRAST, 6, 0}},
        {{EQUALIZE, 8, 0}, {EQUALIZE, 6, 0}}, {{POSTERIZE, 6, 7}, {POSTERIZE, 6, 6}},
        {{EQUALIZE, 4, 0}, {SOLARIZE, 2, 4}}, {{EQUALIZE, 4, 0}, {ROTATE, 8, 8}},
        {{SOLARIZE, 6, 3}, {EQUALIZE, 6, 0}}, {{POSTERIZE, 8, 5}, {EQUALIZE, 10, 0}},
        {{ROTATE, 2, 3}, {SOLARIZE, 6, 8}},   {{EQUALIZE, 6, 0}, {POSTERIZE, 4, 6}},
        {{ROTATE, 8, 8}, {COLOR, 4, 0}},      {{ROTATE, 4, 9}, {EQUALIZE, 6, 0}},
        {{EQUALIZE, 0, 0}, {EQUALIZE, 8, 0}}, {{INVERT, 6, 0}, {EQUALIZE, 10, 0}},
        {{COLOR, 6, 4}, {CONTRAST, 10, 8}},   {{ROTATE, 8, 8}, {COLOR, 10, 2}},
        {{COLOR, 8, 8}, {SOLARIZE, 8, 7}},    {{SHARPNESS, 4, 7}, {INVERT, 6, 0}},
        {{SHEAR_X, 6, 5}, {EQUALIZE, 10, 0}}, {{COLOR, 4, 0}, {EQUALIZE, 6, 0}},
        {{EQUALIZE, 4, 0}, {SOLARIZE, 2, 4}}, {{SOLARIZE, 6, 5}, {AUTO_CONTRAST, 6, 0}},
        {{INVERT, 6, 0}, {EQUALIZE, 10, 0}},  {{COLOR, 6, 4}, {CONTRAST, 10, 8}},
        {{EQUALIZE, 8, 0}, {EQUALIZE, 6, 0}},
    },
    {
        /* cifar10 */
        {{INVERT, 1, 0}, {CONTRAST, 2, 6}},           {{ROTATE, 7, 2}, {TRANSLATE_X, 3, 9}},
        {{SHARPNESS, 8, 1}, {SHARPNESS, 9, 3}},       {{SHEAR_Y, 5, 8}, {TRANSLATE_Y, 7, 9}},
        {{AUTO_CONTRAST, 5, 0}, {EQUALIZE, 9, 0}},    {{SHEAR_Y, 2, 7}, {POSTERIZE, 3, 7}},
        {{COLOR, 4, 3}, {BRIGHTNESS, 6, 7}},          {{SHARPNESS, 3, 9}, {BRIGHTNESS, 7, 9}},
        {{EQUALIZE, 6, 0}, {EQUALIZE, 5, 0}},         {{CONTRAST, 6, 7}, {SHARPNESS, 6, 5}},
        {{COLOR, 7, 7}, {TRANSLATE_X, 5, 8}},         {{EQUALIZE, 3, 0}, {AUTO_CONTRAST, 4, 0}},
        {{TRANSLATE_Y, 4, 3}, {SHARPNESS, 2, 6}},     {{BRIGHTNESS, 9, 6}, {COLOR, 2, 8}},
        {{SOLARIZE, 5, 2}, {INVERT, 0, 0}},           {{EQUALIZE, 2, 0}, {AUTO_CONTRAST, 6, 0}},
        {{EQUALIZE, 2, 0}, {EQUALIZE, 6, 0}},         {{COLOR, 9, 9}, {EQUALIZE, 6, 0}},
        {{AUTO_CONTRAST, 8, 0}, {SOLARIZE, 2, 8}},    {{BRIGHTNESS, 1, 3}, {COLOR, 7, 0}},
        {{SOLARIZE, 4, 5}, {AUTO_CONTRAST, 9, 0}},    {{TRANSLATE_Y, 9, 9}, {TRANSLATE_Y, 7, 9}},
        {{AUTO_CONTRAST, 9, 0}, {SOLARIZE, 8, 3}},    {{EQUALIZE, 8, 0}, {INVERT, 1, 0}},
        {{TRANSLATE_Y, 7, 9}, {AUTO_CONTRAST, 9, 0}},
    },
    {
        /* svhn */
        {{SHEAR_X, 9, 4}, {INVERT, 2, 0}},       {{SHEAR_Y, 9, 8}, {INVERT, 7, 0}},
        {{EQUALIZE, 6, 0}, {SOLARIZE, 6, 6}},    {{INVERT, 9, 0}, {EQUALIZE, 6, 0}},
        {{EQUALIZE, 6, 0}, {ROTATE, 9, 3}},      {{SHEAR_X, 9, 4}, {AUTO_CONTRAST, 8, 0}},
        {{SHEAR_Y, 9, 8}, {INVERT, 4, 0}},       {{SHEAR_Y, 9, 5}, {SOLARIZE, 2, 6}},
        {{INVERT, 9, 0}, {AUTO_CONTRAST, 8, 0}}, {{EQUALIZE, 6, 0}, {ROTATE, 9, 3}},
        {{SHEAR_X, 9, 4}, {SOLARIZE, 3, 3}},     {{SHEAR_Y, 8, 8}, {INVERT, 7, 0}},
        {{EQUALIZE, 9, 0}, {TRANSLATE_Y, 6, 6}}, {{INVERT, 9, 0}, {EQUALIZE, 6, 0}},
        {{CONTRAST, 3, 3}, {ROTATE, 8, 4}},      {{INVERT, 8, 0}, {TRANSLATE_Y, 0, 2}},
        {{SHEAR_Y, 7, 6}, {SOLARIZE, 4, 8}},     {{INVERT, 6, 0}, {ROTATE, 8, 4}},
        {{SHEAR_Y, 3, 7}, {TRANSLATE_X, 9, 3}},  {{SHEAR_X, 1, 6}, {INVERT, 6, 0}},
        {{SOLARIZE, 7, 2}, {TRANSLATE_Y, 6, 7}}, {{SHEAR_Y, 8, 4}, {INVERT, 8, 0}},
        {{SHEAR_X, 7, 9}, {TRANSLATE_Y, 8, 3}},  {{SHEAR_Y, 8, 5}, {AUTO_CONTRAST, 7, 0}},
        {{SHEAR_X, 7, 2}, {INVERT, 1, 0}},
    },
};

static void auto_augment(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    media_uniforms(d, OP_AUGMENT, 0, u);
    const likely *pair = policies[s->of.augment.policy][(int)(u[0] * POLICIES)];
    for (uint32_t n = 0; n < 2; n++) {
        media_uniforms(d, OP_AUGMENT, n + 1, u);
        if (u[0] < pair[n].tenths / 10.0) add_signed(s, pair[n].operation, pair[n].bin, u[1], to);
    }
}

/* In AugMix's order; the last four are of all_ops. */
static const uint8_t mixed[] = {SHEAR_X,   SHEAR_Y,  TRANSLATE_X,   TRANSLATE_Y, ROTATE,
                                POSTERIZE, SOLARIZE, AUTO_CONTRAST, EQUALIZE,    BRIGHTNESS,
                                COLOR,     CONTRAST, SHARPNESS};

enum { MIX_DEPTH = 256, MIX_OPERATION = 512, MIX_FEWER = 9, MIX_BINS = 10 };

/* The n-th operation of chain i. */
static void mix_operation(const media_step *s, const media_draw *d, uint32_t i, uint32_t n,
                          media_retouches *to) {
    const media_augment_step *of = &s->of.augment;
    const space all = {MIX_BINS, 0.3, 30, 0.9, 4, to->w / 3.0, to->h / 3.0, (int)s->by_torch};
    uint32_t block = MIX_OPERATION + 2 * (MEDIA_MAX_MIX * i + n);
    double u[2], sign[2];
    media_uniforms(d, OP_AUGMENT, block, u);
    media_uniforms(d, OP_AUGMENT, block + 1, sign);
    int operation = mixed[(int)(u[0] * (of->fewer ? MIX_FEWER : (int)sizeof mixed))];
    double m = magnitude(operation, &all, (int)(u[1] * of->magnitude));
    if (operation == POSTERIZE) m -= 4; /* from four bits to none */
    add(s, operation, operation <= SHARPNESS && sign[0] < 0.5 ? -m : m, to);
}

static void aug_mix(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_augment_step *of = &s->of.augment;
    float own, shares[MEDIA_MAX_MIX];
    double u[2];
    media_draw_shares(of, d, &own, shares);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_MIX, .value = own};
    for (uint32_t i = 0; i < of->width; i++) {
        media_uniforms(d, OP_AUGMENT, MIX_DEPTH + i, u);
        uint32_t depth = of->depth ? of->depth : 1 + (uint32_t)(u[0] * 3);
        for (uint32_t n = 0; n < depth; n++) mix_operation(s, d, i, n, to);
        to->all[to->n++] =
            (media_retouch){.kind = i + 1 < of->width ? MEDIA_MIX_AGAIN : MEDIA_MIXED, .value = shares[i]};
    }
}

void media_draw_augment(const media_step *s, const media_draw *d, media_retouches *to) {
    switch (s->of.augment.kind) {
    case MEDIA_RAND_AUGMENT: rand_augment(s, d, to); break;
    case MEDIA_TRIVIAL_AUGMENT_WIDE: trivial_augment_wide(s, d, to); break;
    case MEDIA_AUTO_AUGMENT: auto_augment(s, d, to); break;
    case MEDIA_TIMM_RAND_AUGMENT: media_draw_timm(s, d, to); break;
    case MEDIA_AUG_MIX: aug_mix(s, d, to); break;
    default: break;
    }
}
