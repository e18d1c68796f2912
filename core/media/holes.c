/* holes.c - parts of a row that become one colour: albumentations' CoarseDropout.
 *
 * Draws, in the words of philox.c: the first block says whether, and how many; each hole has two blocks behind it, height and width, then how far down and to
 * the right. Holes lie within the row, and may lie on each other. */
#include "cv2.h"

/* Of a row's side of n: a share that is cut to whole pixels, or one of these from the first to the last. */
static int32_t side_of(const double range[2], int pixels, int32_t n, double u) {
    if (!pixels) return (int32_t)(n * media_between(range, u));
    double most = range[1] < n ? range[1] : n;
    int32_t side = (int32_t)(range[0] + (int32_t)(u * (most - range[0] + 1)));
    return side < n ? side : n;
}

void media_draw_holes(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2], size[2], at[2];
    if (!media_chance(d, OP_LATER, LATER_HOLES, op->holes_p)) return;
    media_uniforms(d, OP_LATER, LATER_HOLES, u);
    uint32_t n = op->holes_min + (uint32_t)(u[1] * (op->holes_max - op->holes_min + 1));
    for (uint32_t i = 0; i < n; i++) {
        media_uniforms(d, OP_LATER, LATER_HOLES + 1 + 2 * i, size);
        media_uniforms(d, OP_LATER, LATER_HOLES + 2 + 2 * i, at);
        int32_t h = side_of(op->holes_height, (int)op->holes_pixels, to->h, size[0]),
                w = side_of(op->holes_width, (int)op->holes_pixels, to->w, size[1]);
        media_retouch *r = &to->all[to->n++];
        *r = (media_retouch){.kind = MEDIA_HOLE};
        r->key[0] = (uint32_t)(at[1] * (to->w - w + 1));
        r->key[1] = (uint32_t)(at[0] * (to->h - h + 1));
        r->key[2] = (uint32_t)w;
        r->key[3] = (uint32_t)h;
        memcpy(r->fill, op->holes_fill, sizeof r->fill);
    }
}

void media_hole(const media_pixels *px, const media_retouch *r) {
    for (uint32_t y = 0; y < r->key[3]; y++)
        media_fill(media_line(px, (int32_t)(r->key[1] + y)) + (size_t)r->key[0] * (size_t)px->step,
                   (int32_t)r->key[2], px->step, r->fill);
}
