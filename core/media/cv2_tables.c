/* cv2_tables.c - colours by albumentations' RandomToneCurve, ChannelDropout and ToSepia and OpenCV's equalizeHist.
 *
 * A tone curve is a table of doubles, rounded half to even: a curve of Bezier's from 0 to 1 whose two points in the middle are a quarter and three quarters,
 * more or less. Sepia is cv2.transform: whole numbers of 10 bits. A table of equalizeHist is of floats of 32 bits, rounded half to even.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens. DROP_CHANNELS' second says how many, the next block
 * which; TONE_CURVE has a block for each point of each channel, whose normal number is timm.c's. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_sepia(const media_step *s, const media_draw *d, media_retouches *to) {
    if (media_happens(s, d, LATER_SEPIA)) to->all[to->n++] = (media_retouch){.kind = MEDIA_SEPIA};
}

void media_draw_cv2_equalize(const media_step *s, const media_draw *d, media_retouches *to) {
    if (media_happens(s, d, LATER_CV2_EQUALIZE))
        to->all[to->n++] = (media_retouch){.kind = MEDIA_CV2_EQUALIZE};
}

void media_draw_drop_channels(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], of[2];
    if (!media_happens(s, d, LATER_DROP_CHANNELS)) return;
    media_uniforms(d, OP_LATER, LATER_DROP_CHANNELS, u);
    media_uniforms(d, OP_LATER, LATER_DROP_CHANNELS + 1, of);
    uint32_t n = media_whole_between(s->of.drop_channels.n, u[1]);
    int one = 1 << (int)(of[0] * 3); /* which is dropped, or, of two, is not */
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_DROP_CHANNELS, .size = n == 1 ? one : 7 - one};
    r->fill[0] = (uint8_t)s->of.drop_channels.fill;
}

/* A place between 0 and 1 that is a normal number off another. */
static double off(const media_draw *d, uint32_t block, double place, double scale) {
    double u[2];
    media_uniforms(d, OP_LATER, block, u);
    return fmin(fmax(place + scale * media_normal(u), 0), 1);
}

void media_draw_tone_curve(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_TONE_CURVE)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_TONE_CURVE};
    for (uint32_t ch = 0; ch < 3; ch++) {
        uint32_t block = LATER_TONE_CURVE + 1 + (s->of.tone_curve.each ? 2 * ch : 0);
        r->matrix[2 * ch] = off(d, block, 0.25, s->of.tone_curve.scale);
        r->matrix[2 * ch + 1] = off(d, block + 1, 0.75, s->of.tone_curve.scale);
    }
}

static void curve(double low, double high, uint8_t table[256]) {
    for (int x = 0; x < 256; x++) {
        double t = x == 255 ? 1 : x * (1.0 / 255), rest = 1 - t;
        double v = (3 * (rest * rest) * t * low + 3 * rest * (t * t) * high + pow(t, 3)) * 255;
        table[x] = (uint8_t)fmin(fmax(rint(v), 0), 255);
    }
}

void media_tone_curve(const media_pixels *px, const media_kernels *by, const double points[6]) {
    uint8_t of[3][256];
    for (int ch = 0; ch < 3; ch++) {
        const double *own = points + 2 * ch;
        if (ch > 0 && own[0] == points[0] && own[1] == points[1])
            memcpy(of[ch], of[0], sizeof of[0]);
        else
            curve(own[0], own[1], of[ch]);
    }
    media_by_channels(px, by, of);
}

/* Sixteen bytes at a time, past the end into slack; after as many as PERIOD has, which are whole pixels, all is as before. */
void media_drop_channels(const media_pixels *px, int which, uint8_t fill) {
    enum { VECTOR = sizeof(media_bytes), PERIOD = 3 * VECTOR };
    uint8_t kept[PERIOD], put[PERIOD];
    int32_t n = px->w * px->step;
    for (int i = 0; i < PERIOD; i++) {
        int off = which >> i % px->step & 1;
        kept[i] = off ? 0 : 255;
        put[i] = off ? fill : 0;
    }
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (int32_t i = 0, at = 0; i < n; i += VECTOR, at = at + VECTOR < PERIOD ? at + VECTOR : 0) {
            media_bytes *v = (media_bytes *)(line + i);
            *v = (*v & *(const media_bytes *)(kept + at)) | *(const media_bytes *)(put + at);
        }
    }
}

/* The smallest value that is there becomes 0, and each other the share of all but these that are not above it. */
static void equalize(const uint32_t n[256], const media_retouch *r, uint8_t table[256]) {
    (void)r;
    uint64_t all = 0, sum = 0;
    int x = 0;
    for (int i = 0; i < 256; i++) all += n[i];
    while (x < 255 && n[x] == 0) table[x++] = 0;
    table[x] = (uint8_t)(n[x] == all ? x : 0);
    float scale = n[x] == all ? 0 : 255.0f / (float)(all - n[x]);
    for (x++; x < 256; x++) {
        sum += n[x];
        table[x] = media_nearest_byte((float)sum * scale);
    }
}

void media_cv2_equalize(const media_pixels *px, const media_kernels *by) {
    media_by_histogram(px, by, equalize, NULL);
}

/* A weighted sum of 10 bits as a byte. */
static inline uint8_t weighed(uint32_t sum) {
    sum = (sum + 512) >> 10;
    return (uint8_t)(sum < 255 ? sum : 255);
}

static inline __attribute__((always_inline)) void brown(uint8_t *c, int32_t n, int step) {
    for (int32_t x = 0; x < n; x++, c += step) {
        uint32_t r = c[0], g = c[1], b = c[2];
        c[0] = weighed(402 * r + 787 * g + 194 * b); /* 0.393, 0.769, 0.189 */
        c[1] = weighed(357 * r + 702 * g + 172 * b); /* 0.349, 0.686, 0.168 */
        c[2] = weighed(279 * r + 547 * g + 134 * b); /* 0.272, 0.534, 0.131 */
    }
}

void media_sepia(const media_pixels *px) {
    for (int32_t y = 0; y < px->h; y++) {
        if (px->step == 3)
            brown(media_line(px, y), px->w, 3);
        else
            brown(media_line(px, y), px->w, 4);
    }
}
