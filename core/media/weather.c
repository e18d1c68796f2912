/* weather.c - fog, rain and snow: albumentations' RandomFog, RandomRain and RandomSnow (method bleach).
 *
 * Fog is discs in ever smaller parts around the row's middle, each of which makes what lies in it whiter by cv2.addWeighted, one after the other; as all do the same, it only counts how many of
 * them a pixel lies in. Then all of it is blurred by cv2.GaussianBlur. Rain is thin lines of one colour, blurred by cv2.blur, which are added; values are then multiplied by a double and rounded half to
 * even. Of snow the lightness of cv2.cvtColor's HLS of bytes is multiplied where it is below a point.
 *
 * Draws, in the words of philox.c: the first block says whether, and has the intensity, the slant or the point. FOG's and RAIN's next is a key: disc or line number i is drawn from the words of the
 * counter (i, 0, 0, 0): how far to the right and down, and the disc's radius. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_fog(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_FOG)) return;
    media_uniforms(d, OP_LATER, LATER_FOG, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){
        .kind = MEDIA_FOG, .value = media_between(s->of.fog.intensity, u[1]), .mean = s->of.fog.alpha};
    media_words(d, OP_LATER, LATER_FOG + 1, r->key);
}

void media_draw_rain(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_rain_step *of = &s->of.rain;
    double u[2];
    if (!media_happens(s, d, LATER_RAIN)) return;
    media_uniforms(d, OP_LATER, LATER_RAIN, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_RAIN,
                         .size = (int32_t)of->size,
                         .value = media_between(of->slant, u[1]),
                         .mean = of->brightness,
                         .matrix = {(double)of->times, (double)of->over, (double)of->length}};
    memcpy(r->fill, of->fill, sizeof r->fill);
    media_words(d, OP_LATER, LATER_RAIN + 1, r->key);
}

void media_draw_snow(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_SNOW)) return;
    media_uniforms(d, OP_LATER, LATER_SNOW, u);
    double point = media_between(s->of.snow.point, u[1]);
    to->all[to->n++] =
        (media_retouch){.kind = MEDIA_SNOW, .value = point * 255 / 2 + 255.0 / 3, .mean = s->of.snow.much};
}

/* One of n. */
static int32_t one_of(uint32_t word, int32_t n) { return (int32_t)(((uint64_t)word * (uint64_t)n) >> 32); }

static int32_t most_of(int32_t a, int32_t b) { return a > b ? a : b; }

/* How many discs each pixel lies in: as much more, along a line, than the one before. */
typedef struct fog {
    int32_t w, h, *more, *reach; /* lines of w + 1; and of a disc */
} fog;

static void add_disc(const fog *f, int32_t x, int32_t y, int32_t radius) {
    media_circle_reach(radius, f->reach);
    for (int32_t off = -radius; off <= radius; off++) {
        int32_t line = y + off, far = f->reach[off < 0 ? -off : off];
        int32_t first = most_of(x - far, 0), end = x + far < f->w ? x + far + 1 : f->w;
        if (line < 0 || line >= f->h || first >= end) continue;
        int32_t *to = f->more + (size_t)line * ((size_t)f->w + 1);
        to[first]++;
        to[end]--;
    }
}

static int32_t shorter(const media_pixels *px) { return px->w < px->h ? px->w : px->h; }

static void add_discs(const fog *f, const media_retouch *r, int32_t most) {
    enum { ROUNDS = 10 };
    const int32_t least = most_of(1, most / 2), region = most_of(1, (int32_t)(f->w / 3 * r->value));
    const int32_t x = (int32_t)((f->w - 1) / 2.0), y = (int32_t)((f->h - 1) / 2.0);
    int32_t w = f->w, h = f->h;
    uint32_t i = 0;
    for (int k = 0; k < ROUNDS && w > region && h > region; k++) {
        double area = (double)w * h, each = (double)region * region;
        int32_t n = (int32_t)(area / each * r->value * 10);
        for (; n > 0; n--, i++) {
            uint32_t words[4] = {i};
            media_philox(r->key, words);
            add_disc(f, x - w / 2 + one_of(words[0], w / 2 * 2 + 1),
                     y - h / 2 + one_of(words[1], h / 2 * 2 + 1), least + one_of(words[2], most - least));
        }
        w = (int32_t)(w * (1 - 0.1));
        h = (int32_t)(h * (1 - 0.1));
    }
}

int media_fog(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    enum { MOST = 255 }; /* so many discs, and what is no white yet, would be */
    const int channels = px->step == 1 ? 1 : 3;
    const int32_t most = most_of(2, (int32_t)(shorter(px) * 0.1 * r->value));
    const size_t lines = (size_t)px->h * ((size_t)px->w + 1), reach = (size_t)most + 1;
    fog f = {.w = px->w, .h = px->h};
    f.more = (int32_t *)(void *)media_buf_get(room, (lines + reach) * sizeof *f.more + (MOST + 1) * 256);
    if (!f.more) return MEDIA_NO_MEMORY;
    f.reach = f.more + lines;
    uint8_t(*whiter)[256] = (uint8_t(*)[256])(void *)(f.reach + reach); /* by so many */
    memset(f.more, 0, lines * sizeof *f.more);
    add_discs(&f, r, most);
    for (int v = 0; v < 256; v++) whiter[0][v] = (uint8_t)v;
    for (int n = 1; n <= MOST; n++)
        for (int v = 0; v < 256; v++)
            whiter[n][v] = media_weighted(255, r->mean * r->value, whiter[n - 1][v]);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        const int32_t *more = f.more + (size_t)y * ((size_t)px->w + 1);
        for (int32_t x = 0, n = 0; x < px->w; x++, c += px->step) {
            n += more[x];
            const uint8_t *table = whiter[n < MOST ? n : MOST];
            for (int ch = 0; ch < channels; ch++) c[ch] = table[c[ch]];
        }
    }
    return media_smooth(px, by, most_of(3, shorter(px) / 30) | 1, 0, room);
}

/* 1 where a line of rain is. */
static void draw_rain(uint8_t *mask, const media_pixels *px, const media_retouch *r) {
    const int32_t h = px->h, length = r->matrix[2] > 0 ? (int32_t)r->matrix[2] : most_of(1, h / 8);
    const int32_t n = (int32_t)((double)h * r->matrix[0] / r->matrix[1]), down = most_of(1, h - length);
    memset(mask, 0, (size_t)px->w * (size_t)h);
    for (int32_t i = 0; i < n; i++) {
        uint32_t words[4] = {(uint32_t)i};
        media_philox(r->key, words);
        int32_t x = one_of(words[0], px->w), y = one_of(words[1], down);
        media_draw_thin_line(mask, px->w, h, x, y, (int32_t)(x + r->value), y + length, 1);
    }
}

/* What is added to a colour for as many lines' pixels as are around, of so many. */
static void blurred(uint8_t *to, int colour, int32_t area) {
    for (int32_t n = 0; n <= area; n++) to[n] = (uint8_t)((colour * n + area / 2) / area);
}

/* Sums of columns, as many lines of the mask as a square is high, with half of it more on either side. */
typedef struct columns {
    int32_t w, h, half;
    const uint8_t *mask;
    uint16_t *sums;
} columns;

static void add_line(const columns *c, int32_t y, int sign) {
    const uint8_t *line = c->mask + (size_t)media_border_at(MEDIA_PAD_REFLECT, y, c->h) * (size_t)c->w;
    uint16_t *to = c->sums + c->half;
    for (int32_t x = 0; x < c->w; x++) to[x] = (uint16_t)(to[x] + sign * line[x]);
}

static void mirror(const columns *c) {
    uint16_t *to = c->sums + c->half;
    for (int32_t i = 1; i <= c->half; i++) {
        to[-i] = to[media_border_at(MEDIA_PAD_REFLECT, -i, c->w)];
        to[c->w - 1 + i] = to[media_border_at(MEDIA_PAD_REFLECT, c->w - 1 + i, c->w)];
    }
}

int media_rain(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    const int32_t half = r->size / 2, area = r->size * r->size, w = px->w;
    const size_t mask = (size_t)w * (size_t)px->h, tables = 3 * ((size_t)area + 1);
    const size_t wide = (size_t)w + 2 * (size_t)half;
    uint16_t *sums = (uint16_t *)(void *)media_buf_get(room, wide * sizeof *sums + mask + tables);
    uint8_t darker[256];
    if (!sums) return MEDIA_NO_MEMORY;
    uint8_t *rain = (uint8_t *)(sums + wide), *more[3];
    for (int ch = 0; ch < 3; ch++) {
        more[ch] = rain + mask + (size_t)ch * ((size_t)area + 1);
        blurred(more[ch], r->fill[ch], area);
    }
    for (int v = 0; v < 256; v++) darker[v] = (uint8_t)fmin(rint(v * r->mean), 255);
    draw_rain(rain, px, r);
    const columns of = {w, px->h, half, rain, sums};
    memset(sums, 0, wide * sizeof *sums);
    for (int32_t i = -half; i < half; i++) add_line(&of, i, 1);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        int32_t n = 0;
        add_line(&of, y + half, 1);
        mirror(&of);
        for (int32_t i = 0; i < 2 * half; i++) n += sums[i];
        for (int32_t x = 0; x < w; x++, c += px->step) {
            n += sums[x + 2 * half];
            if (n > 0)
                for (int ch = 0; ch < 3; ch++) c[ch] = media_byte(c[ch] + more[ch][n]);
            n -= sums[x];
        }
        add_line(&of, y - half, -1);
    }
    by->by_table(px, darker);
    return MEDIA_OK;
}

void media_lighten(uint8_t *c, int32_t n, int step, int vector, const int32_t lighter[256]) {
    const float share = 1.0f / 255;
    for (int32_t x = 0; x < n; x++, c += step) {
        const float was[3] = {c[0] * share, c[1] * share, c[2] * share};
        float is[3];
        media_hls at = media_to_hls(was, vector);
        at.h = media_nearest_byte(at.h * 0.5f);
        at.l = (float)lighter[media_nearest_byte(at.l * 255)] * share;
        at.s = media_nearest_byte(at.s * 255) * share;
        media_from_hls(at, 6.0f / 180, vector, is);
        for (int i = 0; i < 3; i++) c[i] = media_nearest_byte(is[i] * 255);
    }
}

void media_lighten_vectors(uint8_t *c, int32_t n, int step, const int32_t lighter[256]) {
    media_lighten(c, n, step, 1, lighter);
}

void media_snow(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    const float below = (float)r->value, much = (float)r->mean;
    const int32_t whole = px->w / MEDIA_HLS_VECTOR * MEDIA_HLS_VECTOR;
    int32_t lighter[256];
    for (int l = 0; l < 256; l++) lighter[l] = (float)l < below ? media_cut((float)l * much) : l;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        by->cv2->lighten(c, whole, px->step, lighter);
        media_lighten(c + (size_t)whole * (size_t)px->step, px->w - whole, px->step, 0, lighter);
    }
}
