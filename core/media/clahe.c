/* clahe.c - contrast that goes by a row's parts: albumentations' CLAHE, which is OpenCV's on the L of its L*a*b* of 8 bits, or on grey.
 *
 * The way there and back is cvtColor's, in whole numbers: light of 11 bits, XYZ of it, cube roots of 15 bits and lightness of 14; the roots are floats that
 * are cut off, not rounded. Of each of the tiles a table equalizes its histogram, no value of which counts more than the limit; a pixel is between the
 * tables of the four tiles around it, in floats. A row that is no whole number of tiles goes on mirrored, without its outermost pixel.
 *
 * Draws, in the words of philox.c: of its block whether, and the limit. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <pthread.h>

#include "cv2.h"

enum {
    LIGHT = MEDIA_LAB_LIGHT,
    ROOTS = MEDIA_LAB_ROOTS,
    ROOT_BITS = MEDIA_LAB_ROOT_BITS,
    XYZ_BITS = MEDIA_LAB_XYZ_BITS,
    LEVELS = MEDIA_LAB_LEVELS,
    BASE_BITS = MEDIA_LAB_BASE_BITS,
    BASE = 1 << BASE_BITS
};

void media_draw_clahe(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_CLAHE)) return;
    media_uniforms(d, OP_LATER, LATER_CLAHE, u);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_CLAHE, .value = media_between(s->of.clahe.limit, u[1])};
    r->key[0] = s->of.clahe.tiles[0];
    r->key[1] = s->of.clahe.tiles[1];
}

static media_lab lab;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static double linear(double x) { return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4); }

static double gamma_of(double x) { return x <= 0.0031308 ? x * 12.92 : pow(x, 1 / 2.4) * 1.055 - 0.055; }

/* The float below x, or x. */
static float cut(double x) {
    float v = (float)x;
    return (double)v > x ? nextafterf(v, 0) : v;
}

static void init(void) {
    static const double xyz[9] = {0.412453, 0.357580, 0.180423, 0.212671, 0.715160,
                                  0.072169, 0.019334, 0.119193, 0.950227};
    static const double rgb[9] = {3.240479, -1.53715, -0.498535, -0.969256, 1.875991,
                                  0.041556, 0.055648, -0.204043, 1.057311};
    static const double white[3] = {0.950456, 1, 1.088754};
    const float slope = 841.0f / 108, offset = 16.0f / 116;
    for (int i = 0; i < 9; i++) {
        lab.there[i] = (int32_t)rint((1 << XYZ_BITS) * xyz[i] / white[i / 3]);
        lab.back[i] = (int32_t)rint((1 << XYZ_BITS) * rgb[i] * white[i % 3]);
    }
    for (int i = 0; i < ROOTS; i++) {
        float x = 1.0f / LIGHT * (float)i;
        float f = x < 216.0f / 24389 ? (float)((double)x * slope + offset) : cut(cbrt(x));
        lab.root[i] = (uint16_t)rintf((1 << ROOT_BITS) * f);
    }
    for (int i = 0; i < LEVELS; i++) lab.srgb[i] = (uint8_t)rintf(255 * (float)gamma_of((float)i / LEVELS));
    for (int i = 0; i < 256; i++) {
        lab.light[i] = (uint16_t)rintf(LIGHT * (float)linear((float)i / 255));
        float f = (float)(i * 100 * BASE) / (255 * 116) + (float)(16 * BASE) / 116;
        lab.f[i] = (int32_t)rintf(f);
        lab.y[i] = (int32_t)rintf(f * f * f / ((float)BASE * BASE));
        if (i > 20) continue; /* 8 of 100 */
        lab.f[i] = (int32_t)rintf(BASE * (offset + (float)(i * 5) / (3 * 17 * 29)));
        lab.y[i] = (int32_t)rintf((float)(i * BASE * 20 * 9) / (17 * 29 * 29 * 29));
    }
}

static int32_t rounded(int32_t v, int bits) { return (v + (1 << (bits - 1))) >> bits; }

static void to_lab(uint8_t *c) {
    int32_t f[3];
    for (int i = 0; i < 3; i++) {
        const int32_t *m = lab.there + 3 * i;
        int32_t v = lab.light[c[0]] * m[0] + lab.light[c[1]] * m[1] + lab.light[c[2]] * m[2];
        f[i] = lab.root[rounded(v, XYZ_BITS)];
    }
    const int32_t half = 128 << ROOT_BITS;
    c[0] = media_byte(
        rounded((116 * 255 + 50) / 100 * f[1] - (16 * 255 * (1 << ROOT_BITS) + 50) / 100, ROOT_BITS));
    c[1] = media_byte(rounded(500 * (f[0] - f[1]) + half, ROOT_BITS));
    c[2] = media_byte(rounded(200 * (f[1] - f[2]) + half, ROOT_BITS));
}

/* The light that has this function. */
static int32_t light_of(int32_t f) {
    if (f <= 3390) return f * 108 / 841 - BASE * 16 / 116 * 108 / 841; /* 6 / 29 */
    return f * f / BASE * f / BASE;
}

static void from_lab(uint8_t *c) {
    int32_t f = lab.f[c[0]];
    int32_t a = ((5 * c[1] * 53687 + (1 << 7)) >> 13) - 128 * BASE / 500;
    int32_t b = ((c[2] * 41943 + (1 << 4)) >> 9) - 128 * BASE / 200 + 1;
    const int32_t v[3] = {light_of(f + a), lab.y[c[0]], light_of(f - b)};
    for (int i = 0; i < 3; i++) {
        const int32_t *m = lab.back + 3 * i;
        int32_t level = rounded(m[0] * v[0] + m[1] * v[1] + m[2] * v[2], BASE_BITS);
        c[i] = lab.srgb[level < 0 ? 0 : level >= LEVELS ? LEVELS - 1 : level];
    }
}

static void each(const media_pixels *px, void change(uint8_t *c)) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) change(c);
    }
}

void media_to_lab(const media_pixels *px, const media_lab *l) {
    (void)l;
    each(px, to_lab);
}

void media_from_lab(const media_pixels *px, const media_lab *l) {
    (void)l;
    each(px, from_lab);
}

/* What is more than the limit is shared out to all values, and what is left of it to some that lie evenly. */
static void limit_to(int32_t *counts, int32_t limit) {
    int32_t more = 0;
    for (int i = 0; i < 256; i++)
        if (counts[i] > limit) {
            more += counts[i] - limit;
            counts[i] = limit;
        }
    for (int i = 0; i < 256; i++) counts[i] += more / 256;
    int32_t left = more % 256, apart = left > 0 ? 256 / left : 0;
    for (int i = 0; left > 0; i += apart, left--) counts[i]++;
}

/* Counts of values, by turns in one of several, as a processor waits for the last one where a value comes again. */
enum { TURNS = 4 };

/* Of w pixels from `left` on, also beyond the line. */
static void count_line(const media_pixels *px, int32_t y, int32_t left, int32_t w,
                       int32_t counts[TURNS][256]) {
    const uint8_t *line = media_line(px, media_border_at(MEDIA_PAD_REFLECT, y, px->h));
    int32_t end = left + w, x = left, step = px->step;
    for (; x + TURNS <= end && x + TURNS <= px->w; x += TURNS)
        for (int i = 0; i < TURNS; i++) counts[i][line[(x + i) * step]]++;
    for (; x < end; x++) counts[0][line[media_border_at(MEDIA_PAD_REFLECT, x, px->w) * step]]++;
}

/* A tile that begins at (left, top): its table. */
static void equalize(const media_pixels *px, int32_t left, int32_t top, int32_t w, int32_t h, int32_t limit,
                     uint8_t *table) {
    int32_t turns[TURNS][256] = {{0}}, *counts = turns[0], sum = 0;
    for (int32_t y = top; y < top + h; y++) count_line(px, y, left, w, turns);
    for (int i = 0; i < 256; i++) counts[i] += turns[1][i] + turns[2][i] + turns[3][i];
    limit_to(counts, limit);
    float by = 255.0f / (float)(w * h);
    for (int i = 0; i < 256; i++) {
        sum += counts[i];
        table[i] = media_nearest_byte((float)sum * by);
    }
}

/* Along one axis: number t of the gaps between tiles, of which 0 lies before the first and the last behind the last, that a pixel is in; and how near it is
 * to the tile on either side. */
static int32_t gap_of(int32_t at, int32_t size, float *near_before, float *near_behind) {
    float t = (float)at * (1.0f / (float)size) - 0.5f;
    int32_t i = (int32_t)floorf(t);
    *near_behind = t - (float)i;
    *near_before = 1.0f - *near_behind;
    return i + 1;
}

/* The tiles at a gap, of n: at either end twice the same. */
static int32_t before(int32_t gap) { return gap > 0 ? gap - 1 : 0; }
static int32_t behind(int32_t gap, int32_t n) { return gap < n ? gap : n - 1; }

/* What becomes of each value at all gaps of a line by the four tiles around: upper left in the lowest byte, upper right, lower left, lower right. */
static void join(uint32_t *fours, int32_t across, const uint8_t *upper, const uint8_t *lower) {
    for (int32_t gap = 0; gap <= across; gap++) {
        int32_t left = before(gap) * 256, right = behind(gap, across) * 256;
        for (int32_t v = 0; v < 256; v++)
            *fours++ = upper[left + v] | (uint32_t)upper[right + v] << 8 | (uint32_t)lower[left + v] << 16 |
                       (uint32_t)lower[right + v] << 24;
    }
}

void media_mix_tiles(uint8_t *c, int32_t n, int step, const uint32_t *fours, const media_near *near,
                     float above, float below) {
    for (int32_t x = 0; x < n; x++, c += step) {
        uint32_t v = fours[x];
        float before = near->before[x], behind = near->behind[x];
        float upper = (float)(v & 255) * before + (float)(v >> 8 & 255) * behind,
              lower = (float)(v >> 16 & 255) * before + (float)(v >> 24) * behind;
        *c = media_nearest_byte(upper * above + lower * below);
    }
}

/* What interpolation needs besides the tables of tiles. */
typedef struct between {
    uint32_t *joined; /* of the tiles above and below a line */
    int32_t *gap;     /* of each column */
    float *before, *behind;
    uint32_t *fours; /* of each pixel of a line */
} between;

static void interpolate(const media_pixels *px, const media_kernels *by, const between *b,
                        const uint8_t *tables, int32_t across, int32_t down, int32_t w, int32_t h) {
    const media_near near = {b->before, b->behind};
    int32_t last = -1;
    for (int32_t x = 0; x < px->w; x++) b->gap[x] = 256 * gap_of(x, w, &b->before[x], &b->behind[x]);
    for (int32_t y = 0; y < px->h; y++) {
        float above, below;
        int32_t gap = gap_of(y, h, &above, &below);
        const uint8_t *c = media_line(px, y), *upper = tables + (size_t)before(gap) * (size_t)across * 256,
                      *lower = tables + (size_t)behind(gap, down) * (size_t)across * 256;
        if (gap != last) join(b->joined, across, upper, lower);
        last = gap;
        for (int32_t x = 0; x < px->w; x++, c += px->step) b->fours[x] = b->joined[b->gap[x] + *c];
        by->cv2->mix_tiles(media_line(px, y), px->w, px->step, b->fours, &near, above, below);
    }
}

int media_clahe(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room) {
    int32_t across = (int32_t)r->key[0], down = (int32_t)r->key[1];
    size_t all = (size_t)across * (size_t)down * 256, line = ((size_t)px->w + 15) & ~(size_t)15,
           joined = ((size_t)across + 1) * 256;
    uint8_t *tables = media_buf_get(room, all + (joined + 4 * line) * sizeof(uint32_t));
    if (!tables) return MEDIA_NO_MEMORY;
    between b = {.joined = (uint32_t *)(void *)(tables + all)};
    b.fours = b.joined + joined;
    b.gap = (int32_t *)(void *)(b.fours + line);
    b.before = (float *)(void *)(b.gap + line);
    b.behind = b.before + line;
    int whole = px->w % across == 0 && px->h % down == 0;
    int32_t w = px->w / across + !whole, h = px->h / down + !whole;
    int32_t limit = (int32_t)(r->value * (w * h) / 256);
    if (limit < 1) limit = 1;
    pthread_once(&once, init);
    if (px->step > 1) by->cv2->to_lab(px, &lab);
    for (int32_t i = 0; i < across * down; i++)
        equalize(px, i % across * w, i / across * h, w, h, limit, tables + (size_t)i * 256);
    interpolate(px, by, &b, tables, across, down, w, h);
    if (px->step > 1) by->cv2->from_lab(px, &lab);
    return MEDIA_OK;
}
