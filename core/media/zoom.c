/* zoom.c - a row that comes nearer while it is seen: albumentations' ZoomBlur.
 *
 * Floats of 32 bits from 0 to 1: the middle of the row, larger by one factor after the other as cv2.resize makes it by INTER_LINEAR, is added up, and the row itself; that over as many. Each product and
 * each sum is rounded.
 *
 * Draws, in the words of philox.c: the first block says whether, and the step; the next how far the factors go. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

enum { PARTS = 4, FEW = 1 << 19 }; /* of a pixel; and pixels of which all may be kept */

typedef float pixel __attribute__((vector_size(16), may_alias));

void media_draw_zoom(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], more[2];
    if (!media_happens(s, d, LATER_ZOOM)) return;
    media_uniforms(d, OP_LATER, LATER_ZOOM, u);
    media_uniforms(d, OP_LATER, LATER_ZOOM + 1, more);
    double step = media_between(s->of.zoom.step, u[1]);
    to->all[to->n++] = (media_retouch){
        .kind = MEDIA_ZOOM, .value = step, .mean = fmax(1 + step, media_between(s->of.zoom.most, more[0]))};
}

/* The middle of a side of n, larger by a factor, of which as much as it was is seen: from `first` on so many pixels become `made`, of which the first `skipped` are not seen. */
typedef struct side {
    int32_t n, first, part, made, skipped;
} side;

static side side_of(int32_t n, double factor) {
    side s = {.n = n, .part = (int32_t)ceil(n / factor)};
    s.first = (n - s.part) / 2;
    s.made = (int32_t)(s.part * factor);
    s.made = s.made > n ? s.made : n; /* a pixel short by rounding, where theirs stops */
    s.skipped = (s.made - n) / 2;
    return s;
}

/* Between which of its pixels number i lies, the first of which may be -1, and how near to the second. */
static int32_t place_of(const side *s, int32_t i, float *share) {
    double by = 1 / ((double)s->made / s->part);
    float at = (float)((i + s->skipped + 0.5) * by - 0.5);
    int32_t whole = (int32_t)floorf(at);
    *share = at - (float)whole;
    return whole;
}

/* One of the factors: its sides, where along x each pixel lies, and the two lines in hand, made of the row's lines of these numbers. */
typedef struct zoomed {
    side across, down;
    int32_t *at;
    float *share;
    int32_t has[2];
    pixel *lines[2];
} zoomed;

static inline pixel pixel_of(const uint8_t *c, int step, const float *shares) {
    if (step == 1) return (pixel){shares[c[0]]};
    return (pixel){shares[c[0]], shares[c[1]], shares[c[2]]};
}

static void place(const zoomed *z) {
    const side *s = &z->across;
    for (int32_t i = 0; i < s->n; i++) {
        z->at[i] = place_of(s, i, &z->share[i]);
        if (z->at[i] >= 0 && z->at[i] < s->part - 1) continue;
        z->at[i] = z->at[i] < 0 ? 0 : s->part - 1;
        z->share[i] = 0;
    }
}

/* Lines are made of a row's: of all of it as floats, or of one line at a time that becomes them, and a pixel more. */
typedef struct source {
    const media_pixels *from;
    const float *shares;
    pixel *floats;
    int all; /* 1: of it */
} source;

static void to_floats(pixel *to, const source *of, int32_t y, int32_t first, int32_t n) {
    const int step = of->from->step;
    const uint8_t *c = media_line(of->from, y) + (size_t)first * (size_t)step;
    for (int32_t i = 0; i < n; i++, c += step) to[i] = pixel_of(c, step, of->shares);
    if (!of->all) to[n] = to[n - 1];
}

/* A line of the row along x. */
static void along(const zoomed *z, pixel *to, int32_t y, const source *of) {
    const side *s = &z->across;
    const pixel *line = of->floats + (of->all ? (size_t)y * (size_t)s->n + (size_t)s->first : 0);
    if (!of->all) to_floats(of->floats, of, y, s->first, s->part);
    for (int32_t i = 0; i < s->n; i++) {
        const pixel *at = line + z->at[i];
        to[i] = at[0] * (1 - z->share[i]) + at[1] * z->share[i];
    }
}

/* The line of a number, which is made unless it is in hand; the one that is not `kept` goes. */
static const pixel *line_of(zoomed *z, int32_t y, int32_t kept, const source *of) {
    for (int i = 0; i < 2; i++)
        if (z->has[i] == y) return z->lines[i];
    int i = z->has[0] == kept;
    along(z, z->lines[i], y, of);
    z->has[i] = y;
    return z->lines[i];
}

static int32_t within(int32_t at, int32_t n) { return at < 0 ? 0 : at < n ? at : n - 1; }

/* What a factor makes of line y is added. */
static void add_line(pixel *sums, zoomed *z, int32_t y, const source *of, const media_kernels *by) {
    const side *s = &z->down;
    const int32_t w = of->from->w;
    float share;
    int32_t at = place_of(s, y, &share);
    int32_t upper = s->first + within(at, s->part), lower = s->first + within(at + 1, s->part);
    const pixel *a = line_of(z, upper, lower, of);
    const pixel *b = share == 0 ? a : line_of(z, lower, upper, of);
    by->cv2->add_mix((float *)(void *)sums, (const float *)(const void *)a, (const float *)(const void *)b,
                     share, w * PARTS);
}

void media_add_mix(float *sums, const float *a, const float *b, float share, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float mixed = a[i] * (1 - share) + b[i] * share;
        sums[i] += mixed;
    }
}

int media_zoom(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    const int channels = px->step == 1 ? 1 : 3;
    const int32_t n = (int32_t)ceil((r->mean - 1) / r->value), w = px->w;
    const size_t wide = (size_t)w + 1; /* as two are added at once */
    const int all_of_it = (size_t)w * (size_t)px->h <= FEW;
    const size_t kept = (all_of_it ? (size_t)w * (size_t)px->h : (size_t)w) + 1;
    const size_t lines = (2 * (size_t)n + 1) * wide + kept, each = (size_t)n * sizeof(zoomed);
    const size_t places = (size_t)n * (size_t)w;
    const double step = (1 + r->value) - 1;
    float shares[256];
    media_pixels from;
    pixel *sums =
        (pixel *)(void *)media_copy_pixels(px, room, lines * sizeof *sums + each + 8 * places, &from);
    if (!sums) return MEDIA_NO_MEMORY;
    const source of = {&from, shares, sums + (2 * (size_t)n + 1) * wide, all_of_it};
    zoomed *all = (zoomed *)(void *)(sums + lines);
    float *share = (float *)(void *)(all + n);
    int32_t *at = (int32_t *)(void *)(share + places);
    for (size_t i = 0; i < 2 * (size_t)n + 1; i++) sums[i * wide + wide - 1] = (pixel){0};
    of.floats[kept - 1] = (pixel){0};
    for (int v = 0; v < 256; v++) shares[v] = (float)v / 255;
    for (int32_t i = 0; i < n; i++) {
        double factor = 1 + i * step;
        pixel *own = sums + (2 * (size_t)i + 1) * wide;
        const size_t first = (size_t)i * (size_t)w;
        all[i] = (zoomed){side_of(w, factor), side_of(px->h, factor), at + first, share + first,
                          {-1, -1},           {own, own + wide}};
        place(&all[i]);
    }
    for (int32_t y = 0; all_of_it && y < px->h; y++)
        to_floats(of.floats + (size_t)y * (size_t)w, &of, y, 0, w);
    for (int32_t y = 0; y < px->h; y++) {
        memset(sums, 0, (size_t)w * sizeof *sums);
        for (int32_t i = 0; i < n; i++) add_line(sums, &all[i], y, &of, by);
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < w; x++, c += px->step)
            for (int ch = 0; ch < channels; ch++) {
                float v = (shares[c[ch]] + sums[x][ch]) / (float)(n + 1);
                c[ch] = media_nearest_byte(media_clip(v) * 255);
            }
    }
    return MEDIA_OK;
}
