/* jitter.c - a row's colours: brightness, contrast, saturation, hue, grey.
 *
 * The arithmetic is Pillow's, to the bit: Image.blend in float, cut and not rounded; convert("L"); and the way through
 * convert("HSV") in float and double, as its C has it; products and sums must not be contracted, which GCC's -std=c11 and
 * the pragma below see to. The operations and their order are torchvision's (ColorJitter, RandomGrayscale on PIL images).
 *
 * Draws, in the words of philox.c: operation 4 is the jitter. The first uniform of block 0 says whether it happens, the
 * second in which order; block 1 has the factors of brightness and contrast, block 2 those of saturation and hue.
 * Operation 5 is grey: the first uniform of block 0, grey if below p. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <string.h>

#include "internal.h"

enum { OP_JITTER = 4, OP_GRAY = 5, ORDERS = 24 };

void media_draw_jitter(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], share[MEDIA_JITTERS];
    media_uniforms(d, OP_JITTER, 0, u);
    if (u[0] >= s->p) return;
    media_uniforms(d, OP_JITTER, 1, &share[MEDIA_BRIGHTNESS]);
    media_uniforms(d, OP_JITTER, 2, &share[MEDIA_SATURATION]);
    int order = (int)(u[1] * ORDERS);
    int left[MEDIA_JITTERS] = {MEDIA_BRIGHTNESS, MEDIA_CONTRAST, MEDIA_SATURATION, MEDIA_HUE};
    for (int n = MEDIA_JITTERS; n > 0; n--) {
        int at = order % n, kind = left[at];
        order /= n;
        memmove(&left[at], &left[at + 1], (size_t)(n - 1 - at) * sizeof left[0]);
        const media_factor *f = &s->of.jitter.by[kind];
        if (f->on)
            to->all[to->n++] =
                (media_retouch){.kind = kind, .value = f->low + share[kind] * (f->high - f->low)};
    }
}

void media_draw_gray(const media_step *s, const media_draw *d, media_retouches *to) {
    if (media_chance(d, OP_GRAY, 0, s->p)) to->all[to->n++] = (media_retouch){.kind = MEDIA_TO_GRAY};
}

static uint8_t luma(const uint8_t *c) {
    return (uint8_t)((c[0] * 19595u + c[1] * 38470u + c[2] * 7471u + 0x8000u) >> 16);
}

/* Every value blended with one and the same. */
static void blend_with(const media_pixels *px, const media_kernels *by, int from, float factor) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) table[x] = media_blend(from, x, factor);
    by->by_table(px, table);
}

/* The mean of the picture's grey, as ImageEnhance.Contrast rounds it. */
static int mean_luma(const media_pixels *px) {
    uint64_t sum = 0;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) sum += px->step == 1 ? *c : luma(c);
    }
    return (int)((double)sum / ((double)px->w * (double)px->h) + 0.5);
}

void media_brightness(const media_pixels *px, const media_kernels *by, float factor) {
    blend_with(px, by, 0, factor);
}

void media_contrast(const media_pixels *px, const media_kernels *by, float factor) {
    blend_with(px, by, mean_luma(px), factor);
}

void media_saturation(const media_pixels *px, float factor) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            int gray = luma(c);
            for (int i = 0; i < 3; i++) c[i] = media_blend(gray, c[i], factor);
        }
    }
}

void media_to_gray(const media_pixels *px) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) c[0] = c[1] = c[2] = luma(c);
    }
}

/* What depends on one byte of a colour, so that no pixel costs a division. */
typedef struct hsv_tables {
    double inverse[256]; /* 1 / x */
    int sector[256];     /* of six, of a hue after it has been turned */
    float within[256];   /* and where in it */
    float share[256];    /* x / 255 */
} hsv_tables;

static void hsv_init(hsv_tables *t, uint8_t turn) {
    for (int x = 0; x < 256; x++) {
        float hue = (float)((x + turn) & 255);
        t->sector[x] = (int)floor(hue * 6.0 / 255.0);
        t->within[x] = (float)(hue * 6.0 / 255.0 - (double)(float)t->sector[x]);
        t->sector[x] %= 6;
        t->share[x] = (float)(x / 255.0);
        t->inverse[x] = x ? 1.0 / x : 0;
    }
}

/* n / x as a float: of whole numbers below 256 the product comes to the same float as the quotient. */
static float quotient(int n, double inverse) { return (float)(n * inverse); }

/* x rounded, half up. */
static uint8_t nearest(double x) { return (uint8_t)(int)(x + 0.5); }

static void turn_hue(const hsv_tables *t, uint8_t *c) {
    int r = c[0], g = c[1], b = c[2];
    int max = r > g ? (r > b ? r : b) : (g > b ? g : b);
    int min = r < g ? (r < b ? r : b) : (g < b ? g : b);
    if (max == min) return; /* grey */
    double inverse = t->inverse[max - min];
    float rc = quotient(max - r, inverse), gc = quotient(max - g, inverse), bc = quotient(max - b, inverse);
    float h;
    if (r == max)
        h = bc - gc;
    else if (g == max)
        h = (float)(2.0 + rc - bc);
    else
        h = (float)(4.0 + gc - rc);
    double turned = h * (1.0 / 6.0) + 1.0;
    h = (float)(turned >= 1.0 ? turned - 1.0 : turned);
    int hue = (int)(h * 255.0), saturation = (int)(quotient(max - min, t->inverse[max]) * 255.0);
    float f = t->within[hue], s = t->share[saturation], v = (float)max;
    if (saturation == 0) {
        c[0] = c[1] = c[2] = (uint8_t)max;
        return;
    }
    uint8_t whole = (uint8_t)max, p = nearest(v * (1.0 - s)), q = nearest(v * (1.0 - s * f)),
            u = nearest(v * (1.0 - s * (1.0 - f)));
    const uint8_t sectors[6][3] = {{whole, u, p}, {q, whole, p}, {p, whole, u},
                                   {p, q, whole}, {u, p, whole}, {whole, p, q}};
    memcpy(c, sectors[t->sector[hue]], 3);
}

void media_hue(const media_pixels *px, double factor) {
    hsv_tables t;
    hsv_init(&t, (uint8_t)(int)(factor * 255));
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) turn_hue(&t, c);
    }
}
