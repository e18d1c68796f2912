/* shot.c - light that comes in pieces: albumentations' ShotNoise.
 *
 * A value's light is its share of 255 to the power of 2.2. In its place there is a whole number of Poisson's whose mean is the light over the scale, times the scale, back by
 * the power of 1 / 2.2.
 *
 * Draws, in the words of philox.c: the first block says whether, and the scale; the next is the key of the words by which Poisson's numbers are found, line by line, of
 * channel 0 to 2: the first number up to which there is more than that share of them. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

static const double GAMMA = 2.2;

void media_draw_shot(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_SHOT)) return;
    media_uniforms(d, OP_LATER, LATER_SHOT, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_SHOT, .value = media_between(s->of.shot.scale, u[1])};
    media_words(d, OP_LATER, LATER_SHOT + 1, r->key);
}

/* The last words by which a number is one of those from 0 on, below `most`, of which the last is white. */
static void upto(uint32_t *last, int32_t most, double mean) {
    double p = exp(-mean), sum = p;
    for (int32_t k = 0; k < most; k++) {
        double words = ceil(sum * 0x1p32);
        last[k] = words >= 0x1p32 ? UINT32_MAX : words < 1 ? 0 : (uint32_t)words - 1;
        p *= mean / (k + 1);
        sum += p;
    }
}

int media_shot(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    const int channels = px->step == 1 ? 1 : 3;
    const float scale = (float)r->value;
    const int32_t most = (int32_t)ceil(1 / r->value); /* so many and more are white */
    uint32_t *all = (uint32_t *)(void *)media_buf_get(room, (256 * sizeof *all + 1) * ((size_t)most + 1));
    if (!all) return MEDIA_NO_MEMORY;
    uint8_t *made = (uint8_t *)(all + 256 * (size_t)most);
    for (int32_t k = 0; k <= most; k++)
        made[k] = media_nearest_byte((float)(pow(fmin((float)k * scale, 1), 1 / GAMMA) * 255));
    for (int32_t v = 0; v < 256; v++)
        upto(all + (size_t)v * (size_t)most, most, pow(v / 255.0, GAMMA) / r->value + 1e-6);
    for (int ch = 0; ch < channels; ch++) {
        media_each each = {.by = by, .key = r->key, .channel = (uint32_t)ch};
        for (int32_t y = 0; y < px->h; y++) {
            uint8_t *c = media_line(px, y) + ch;
            for (int32_t x = 0; x < px->w; x++, c += px->step) {
                const uint32_t word = media_next_word(&each), *last = all + (size_t)*c * (size_t)most;
                int32_t k = 0;
                while (k < most && word > last[k]) k++;
                *c = made[k];
            }
        }
    }
    return MEDIA_OK;
}
