/* cv2_colours.c - colours by OpenCV's HSV of 8 bits and albumentations' tables: HueSaturationValue, RGBShift and its own ColorJitter.
 *
 * The way to HSV is cvtColor's RGB2HSV: fractions of 12 bits. The way back, HSV2RGB, is one of floats, which its loop over whole vectors of AVX2 cuts off
 * and its loop over the rest of a line rounds: 32 pixels at a time, as far as they go, and up to 31 at the end. There, products and the difference from 1
 * are rounded once (fused), which a double does here. Tables of albumentations' are cut off, as numpy's astype does; addWeighted, fused, too, rounds.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens. HSV's next have hue, then saturation and value;
 * RGB_SHIFT's red, then green and blue; CV2_JITTER's the order, then brightness and contrast, then saturation and hue. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

enum { HUES = MEDIA_HUES, VECTOR = MEDIA_HSV_VECTOR, BITS = 12, HALF = 1 << (BITS - 1), ORDERS = 24 };

/* Three shifts: the first from the block that says whether they happen, two from the next. */
static void draw_shifts(int kind, uint32_t block, const media_step *s, const media_draw *d,
                        media_retouches *to) {
    const double(*range)[2] = s->of.shifts.by;
    double first[2], more[2];
    if (!media_happens(s, d, block)) return;
    media_uniforms(d, OP_LATER, block, first);
    media_uniforms(d, OP_LATER, block + 1, more);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = kind};
    r->matrix[0] = media_between(range[0], first[1]);
    r->matrix[1] = media_between(range[1], more[0]);
    r->matrix[2] = media_between(range[2], more[1]);
}

void media_draw_hsv(const media_step *s, const media_draw *d, media_retouches *to) {
    draw_shifts(MEDIA_HSV_SHIFT, LATER_HSV, s, d, to);
}

void media_draw_rgb_shift(const media_step *s, const media_draw *d, media_retouches *to) {
    draw_shifts(MEDIA_RGB_SHIFT, LATER_RGB_SHIFT, s, d, to);
}

void media_draw_cv2_jitter(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], share[MEDIA_JITTERS];
    if (!media_happens(s, d, LATER_CV2_JITTER)) return;
    media_uniforms(d, OP_LATER, LATER_CV2_JITTER, u);
    media_uniforms(d, OP_LATER, LATER_CV2_JITTER + 1, &share[MEDIA_BRIGHTNESS]);
    media_uniforms(d, OP_LATER, LATER_CV2_JITTER + 2, &share[MEDIA_SATURATION]);
    int order = (int)(u[1] * ORDERS), left[MEDIA_JITTERS];
    for (int i = 0; i < MEDIA_JITTERS; i++) left[i] = i;
    for (int n = MEDIA_JITTERS; n > 0; n--) {
        int at = order % n, which = left[at];
        order /= n;
        memmove(&left[at], &left[at + 1], (size_t)(n - 1 - at) * sizeof left[0]);
        const media_factor *f = &s->of.jitter.by[which];
        if (!f->on) continue;
        to->all[to->n++] = (media_retouch){.kind = MEDIA_CV2_BRIGHTNESS + which,
                                           .value = f->low + share[which] * (f->high - f->low)};
    }
}

static uint8_t cut(float v) { return (uint8_t)fminf(fmaxf(v, 0), 255); }

/* HSV of 8 bits: what is divided by, where a hue lies, and what becomes of each of the three. */
typedef struct hsv_tables {
    int32_t by_value[256], by_range[256]; /* 255 / x and HUES / 6x, of 12 bits */
    int32_t sector[256];                  /* of six, in which a hue lies */
    float place[256];                     /* and where in it */
    float share[256];                     /* x / 255 */
    uint8_t hue[256], saturation[256], value[256];
} hsv_tables;

static void hsv_init(hsv_tables *t, const media_turned *turned) {
    for (int x = 0; x < 256; x++) {
        float at = (float)x * (6.0f / HUES);
        int whole = (int)at;
        t->by_value[x] = x ? (int32_t)rint((255 << BITS) / (double)x) : 0;
        t->by_range[x] = x ? (int32_t)rint((HUES << BITS) / (6.0 * x)) : 0;
        t->sector[x] = whole % 6;
        t->place[x] = at - (float)whole;
        t->share[x] = (float)x * (1.0f / 255);
        t->hue[x] = turned->hue[x];
        t->saturation[x] = x ? media_byte(x + turned->saturation) : 0; /* grey stays that */
        t->value[x] = media_byte(x + turned->value);
    }
}

static void turn_hues(media_turned *t, double by) {
    for (int x = 0; x < 256; x++) {
        double hue = fmod(x + by, HUES);
        t->hue[x] = (uint8_t)(hue < 0 ? hue + HUES : hue);
    }
}

/* A pixel there, through the tables, and back; rounded: whether it is one of a line's last. */
static inline void through_hsv(const hsv_tables *t, uint8_t *c, int rounded) {
    static const uint8_t parts[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    int r = c[0], g = c[1], b = c[2];
    int max = r > g ? (r > b ? r : b) : (g > b ? g : b);
    int min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    int range = max - min;
    int hue = max == r ? g - b : max == g ? b - r + 2 * range : r - g + 4 * range;
    hue = (hue * t->by_range[range] + HALF) >> BITS;
    hue = t->hue[hue < 0 ? hue + HUES : hue];
    float s = t->share[t->saturation[(range * t->by_value[max] + HALF) >> BITS]], v = t->share[t->value[max]],
          x = t->place[hue];
    const float part[4] = {v * 255, v * (1 - s) * 255, v * media_fused(1, -s, x) * 255,
                           v * media_fused(1, -s, 1 - x) * 255};
    const uint8_t *of = parts[t->sector[hue]];
    for (int i = 0; i < 3; i++) c[i] = (uint8_t)(rounded ? media_rint(part[of[i]]) : part[of[i]]);
}

void media_turn(const media_pixels *px, const media_turned *turned) {
    int32_t whole = px->w / VECTOR * VECTOR;
    hsv_tables t;
    hsv_init(&t, turned);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < whole; x++, c += px->step) through_hsv(&t, c, 0);
        for (int32_t x = whole; x < px->w; x++, c += px->step) through_hsv(&t, c, 1);
    }
}

void media_hsv_shift(const media_pixels *px, const media_kernels *by, const double shift[3]) {
    media_turned t = {.saturation = (int32_t)shift[1], .value = (int32_t)shift[2]};
    if (shift[0] == 0 && shift[1] == 0 && shift[2] == 0) return;
    turn_hues(&t, shift[0]);
    by->cv2->turn(px, &t);
}

void media_shift(const media_pixels *px, const int32_t by[3]) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step)
            for (int i = 0; i < 3; i++) c[i] = media_byte(c[i] + by[i]);
    }
}

void media_rgb_shift(const media_pixels *px, const media_kernels *by, const double shift[3]) {
    const int32_t whole[3] = {(int32_t)shift[0], (int32_t)shift[1], (int32_t)shift[2]};
    by->cv2->shift(px, whole);
}

uint64_t media_sum_gray(const media_pixels *px) {
    uint64_t sum = 0;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) sum += media_cv2_gray(c);
    }
    return sum;
}

static uint64_t sum_bytes(const media_pixels *px) {
    uint64_t sum = 0;
    for (int32_t y = 0; y < px->h; y++)
        for (int32_t x = 0; x < px->w; x++) sum += media_line(px, y)[x];
    return sum;
}

/* By the mean of RGB2GRAY, or of grey itself. */
static void contrast(const media_pixels *px, const media_kernels *kernels, double factor) {
    uint8_t table[256];
    uint64_t sum = px->step == 1 ? sum_bytes(px) : kernels->cv2->sum_gray(px);
    double mean = (double)sum / ((double)px->w * (double)px->h);
    float by = (float)factor, plus = (float)(mean * (1 - factor));
    for (int x = 0; x < 256; x++) {
        float product = (float)x * by;
        table[x] = factor == 0 ? (uint8_t)(mean + 0.5) : cut(product + plus);
    }
    kernels->by_table(px, table);
}

void media_saturate(const media_pixels *px, float own, float of_gray) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            float gray = (float)media_cv2_gray(c) * of_gray;
            for (int i = 0; i < 3; i++) c[i] = media_nearest_byte(media_fused(gray, c[i], own));
        }
    }
}

void media_cv2_colour(const media_pixels *px, const media_kernels *by, int kind, double factor) {
    media_turned t = {.saturation = 0};
    if (factor == (kind == MEDIA_CV2_HUE ? 0 : 1)) return; /* as it is */
    switch (kind) {
    case MEDIA_CV2_BRIGHTNESS: media_light(px, by, (float)factor, 0); break;
    case MEDIA_CV2_CONTRAST: contrast(px, by, factor); break;
    case MEDIA_CV2_SATURATION: by->cv2->saturate(px, (float)factor, (float)(1 - factor)); break;
    default: turn_hues(&t, HUES * factor); by->cv2->turn(px, &t);
    }
}
