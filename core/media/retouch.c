/* retouch.c - what is done to a row's pixels between the geometry and the finish, as a list that is drawn first and applied once
 * all lines are in their place. Each kind has its file. */
#include "internal.h"

void media_draw_retouches(const media_op *op, const media_draw *d, media_retouches *to) {
    to->n = 0;
    media_draw_jitter(op, d, to);
    media_draw_gray(op, d, to);
}

void media_retouch_row(const media_retouches *retouches, const media_pixels *px) {
    for (int i = 0; i < retouches->n; i++) {
        const media_retouch *r = &retouches->all[i];
        switch (r->kind) {
        case MEDIA_BRIGHTNESS: media_brightness(px, (float)r->factor); break;
        case MEDIA_CONTRAST: media_contrast(px, (float)r->factor); break;
        case MEDIA_SATURATION: media_saturation(px, (float)r->factor); break;
        case MEDIA_HUE: media_hue(px, r->factor); break;
        default: media_to_gray(px); break;
        }
    }
}
