/* timm.c - timm's RandAugment (timm.data.auto_augment, rand-m9-mstd0.5-inc1 and the like) on PIL images, whose bytes it has: 15 operations, each
 * of which happens or not, by a magnitude of its own of 0 to 10.
 *
 * Draws, in the words of philox.c: operation 8. Operation n is the first uniform of block 3 n, in the order below; it happens if the second is
 * not above p. Block 3 n + 1 is the normal number of its magnitude, by Box and Muller: sqrt(-2 ln (1 - u)) cos (2 pi v); or the share of
 * the magnitude is u. Of block 3 n + 2 the first uniform above a half is a minus, and the second below a half is bilinear, where filters are drawn. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

enum { BLOCKS = 3 }; /* of each operation */

/* In timm's order. */
enum {
    AUTO_CONTRAST,
    EQUALIZE,
    INVERT,
    ROTATE,
    POSTERIZE,
    SOLARIZE,
    SOLARIZE_ADD,
    COLOR,
    CONTRAST,
    BRIGHTNESS,
    SHARPNESS,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    OPERATIONS,
};

static const double MOST = 10; /* the magnitude by which all the others are divided */

static double magnitude(const media_augment_step *by, const double u[2]) {
    double m = by->magnitude;
    if (by->uniform)
        m *= u[0];
    else if (by->deviation > 0)
        m += by->deviation * media_normal(u);
    return m < 0 ? 0 : m > by->most ? by->most : m;
}

/* How many bits posterize leaves. */
static int bits_left(int share, int increasing) {
    int bits = increasing ? 4 - share : share;
    return bits < 0 ? 0 : bits;
}

static double at_most(double most, double x) { return x < most ? x : most; }

/* Of what is enhanced, around 1. */
static double factor(const media_augment_step *by, double share, double sign) {
    if (!by->increasing) return share * 1.8 + 0.1;
    double f = 1 + sign * (share * .9);
    return f > 0.1 ? f : 0.1;
}

static void warp(const media_taken *taken, int operation, double by, media_retouches *to) {
    double *m = media_add_taken(to, MEDIA_WARP, taken)->matrix;
    m[0] = m[4] = 1;
    switch (operation) {
    case ROTATE: media_rotation_matrix(by * 30., to->w / 2.0, to->h / 2.0, m); break;
    case SHEAR_X: m[1] = by * 0.3; break;
    case SHEAR_Y: m[3] = by * 0.3; break;
    case TRANSLATE_X: m[2] = by * 0.45 * to->w; break;
    default: m[5] = by * 0.45 * to->h; break;
    }
}

static void add(const media_augment_step *by, int operation, double level, double sign, uint32_t filter,
                media_retouches *to) {
    double share = level / MOST, value = 0;
    int kind;
    switch (operation) {
    case AUTO_CONTRAST: kind = MEDIA_AUTOCONTRAST; break;
    case EQUALIZE: kind = MEDIA_EQUALIZE; break;
    case INVERT: kind = MEDIA_INVERT; break;
    case POSTERIZE:
        kind = MEDIA_POSTERIZE;
        value = bits_left((int)(share * 4), (int)by->increasing);
        if (value >= 8) return;
        break;
    case SOLARIZE:
        kind = MEDIA_SOLARIZE;
        value = at_most(256, trunc(share * 256));
        if (by->increasing) value = 256 - value;
        break;
    case SOLARIZE_ADD:
        kind = MEDIA_SOLARIZE_ADD;
        value = at_most(128, trunc(share * 110));
        break;
    case COLOR:
        kind = MEDIA_SATURATION;
        value = factor(by, share, sign);
        break;
    case CONTRAST:
    case BRIGHTNESS:
    case SHARPNESS:
        kind = operation == CONTRAST     ? MEDIA_CONTRAST
               : operation == BRIGHTNESS ? MEDIA_BRIGHTNESS
                                         : MEDIA_SHARPNESS;
        value = factor(by, share, sign);
        break;
    default: {
        media_taken taken = by->by;
        taken.filter = filter;
        warp(&taken, operation, sign * share, to);
        return;
    }
    }
    to->all[to->n++] = (media_retouch){.kind = kind, .value = value};
}

void media_draw_timm(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_augment_step *by = &s->of.augment;
    for (uint32_t n = 0; n < by->ops; n++) {
        double which[2], of[2], how[2];
        media_uniforms(d, OP_AUGMENT, BLOCKS * n, which);
        if (which[1] > by->happens) continue;
        media_uniforms(d, OP_AUGMENT, BLOCKS * n + 1, of);
        media_uniforms(d, OP_AUGMENT, BLOCKS * n + 2, how);
        uint32_t filter = by->by.filter;
        if (by->any_filter) filter = how[1] < 0.5 ? MEDIA_BILINEAR : MEDIA_BICUBIC;
        add(by, (int)(which[0] * OPERATIONS), magnitude(by, of), how[0] > 0.5 ? -1 : 1, filter, to);
    }
}
