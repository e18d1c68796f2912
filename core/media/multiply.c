/* multiply.c - a row's values multiplied: albumentations' MultiplicativeNoise.
 *
 * Multipliers are floats of 32 bits, and so are products, which are held to 0 to 255 and cut, as numpy's astype does: of one multiplier by its table, of one for
 * each pixel or each value one by one.
 *
 * Draws, in the words of philox.c: the first block says whether, and the first channel's multiplier; the next those of two more, or it is the key of those of
 * elements, which are a word each of the counter (i / 4, channel, 0, 0), line by line. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "cv2.h"

enum { BY_CHANNEL, BY_PIXEL, BY_VALUE };

void media_draw_multiply(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_multiply_step *of = &s->of.multiply;
    double first[2], more[2];
    if (!media_happens(s, d, LATER_MULTIPLY)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_MULTIPLY};
    if (of->elements) {
        r->size = of->each ? BY_VALUE : BY_PIXEL;
        memcpy(r->matrix, of->by, sizeof of->by);
        media_words(d, OP_LATER, LATER_MULTIPLY + 1, r->key);
        return;
    }
    media_uniforms(d, OP_LATER, LATER_MULTIPLY, first);
    media_uniforms(d, OP_LATER, LATER_MULTIPLY + 1, more);
    r->matrix[0] = media_between(of->by, first[1]);
    for (int ch = 1; ch < 3; ch++)
        r->matrix[ch] = of->each ? media_between(of->by, more[ch - 1]) : r->matrix[0];
}

static void by_tables(const media_pixels *px, const media_kernels *kernels, const double by[3]) {
    uint8_t of[3][256];
    for (int ch = 0; ch < 3; ch++)
        for (int x = 0; x < 256; x++) of[ch][x] = media_cut((float)x * (float)by[ch]);
    media_by_channels(px, kernels, of);
}

/* The values of some channels, each pixel's by one number. */
static void by_elements(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                        uint32_t channel, int first, int end) {
    media_each each = {.by = by, .key = r->key, .channel = channel};
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            float much = (float)media_between(r->matrix, media_next_word(&each) * 0x1p-32);
            for (int ch = first; ch < end; ch++) c[ch] = media_cut((float)c[ch] * much);
        }
    }
}

void media_multiply(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    int channels = px->step == 1 ? 1 : 3;
    switch (r->size) {
    case BY_CHANNEL: by_tables(px, by, r->matrix); break;
    case BY_PIXEL: by_elements(px, by, r, 0, 0, channels); break;
    default:
        for (int ch = 0; ch < channels; ch++) by_elements(px, by, r, (uint32_t)ch, ch, ch + 1);
    }
}
