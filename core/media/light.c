/* light.c - brightness, contrast and gamma by albumentations' tables, and OpenCV's grey.
 *
 * A table of brightness and contrast is of floats of 32 bits, one of gamma of doubles; both are cut to whole numbers, as numpy's astype does.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens, gamma's in the second which it is; of LIGHT
 * the second block has contrast and brightness. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_light(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_LIGHT)) return;
    media_uniforms(d, OP_LATER, LATER_LIGHT_BY, u);
    double contrast = media_between(s->of.light.contrast, u[0]),
           brightness = media_between(s->of.light.brightness, u[1]);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_LIGHT, .value = contrast, .mean = brightness * 255};
}

void media_draw_gamma(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_GAMMA)) return;
    media_uniforms(d, OP_LATER, LATER_GAMMA, u);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_GAMMA, .value = media_between(s->of.gamma.power, u[1])};
}

void media_draw_cv2_gray(const media_step *s, const media_draw *d, media_retouches *to) {
    if (media_happens(s, d, LATER_CV2_GRAY)) to->all[to->n++] = (media_retouch){.kind = MEDIA_TO_CV2_GRAY};
}

void media_light(const media_pixels *px, const media_kernels *by, float contrast, float brightness) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) {
        float stretched = (float)x * contrast;
        table[x] = media_cut(stretched + brightness);
    }
    by->by_table(px, table);
}

void media_gamma(const media_pixels *px, const media_kernels *by, double gamma) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) table[x] = (uint8_t)fmin(pow(x * (1.0 / 255), gamma) * 255, 255);
    by->by_table(px, table);
}

void media_to_cv2_gray(const media_pixels *px) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) c[0] = c[1] = c[2] = media_cv2_gray(c);
    }
}
