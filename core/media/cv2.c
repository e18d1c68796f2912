/* cv2.c - OpenCV's filters of a resize (cv2.resize of bytes): which source elements an output is made of, and their coefficients.
 *
 * A place in the source is a float of 32 bits, made of doubles; coefficients of fixed point have 11 bits, each rounded by itself to
 * the nearest, half to even, so that they need not add up. Beyond its edge a picture goes on as its outermost element. None of the
 * filters but AREA is antialiased. Products and sums must not be contracted: see resample.c. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <float.h>
#include <math.h>
#include <string.h>

#include "resample.h"

enum { ONE = 1 << 11, MOST_TAPS = 8 };

/* Source elements an output, as OpenCV has it: by way of the inverse, whose rounding may make it no whole number. */
static double scale_of(const media_axis_key *key) { return 1.0 / ((double)key->out / key->in); }

static int is_whole(double scale) { return fabs(scale - rint(scale)) < DBL_EPSILON; }

static int32_t settle_area(double x, double y) {
    if (x < 1 || y < 1) return MEDIA_CV2_ENLARGE;
    if (!is_whole(x) || !is_whole(y)) return MEDIA_CV2_AREA;
    if (x == 2 && y == 2) return MEDIA_CV2_HALVES;
    /* Where OpenCV's sum of bytes runs over, ours are not: they are floats. */
    return x * y * 255 <= INT32_MAX ? MEDIA_CV2_MEAN : MEDIA_CV2_AREA;
}

int32_t media_settle(int32_t filter, const media_axis_key *x, const media_axis_key *y) {
    double sx = scale_of(x), sy = scale_of(y);
    if (x->in == x->out && y->in == y->out) return MEDIA_NEAREST; /* a copy, whatever the filter */
    if (filter == MEDIA_CV2_AREA) return settle_area(sx, sy);
    if (filter == MEDIA_CV2_LINEAR && sx == 2 && sy == 2) return MEDIA_CV2_HALVES;
    if (filter == MEDIA_TORCH_NEAREST_EXACT && x->out + y->out <= 128) return MEDIA_TORCH_SMALL;
    return filter;
}

int media_way(int32_t filter) {
    switch (filter) {
    case MEDIA_NEAREST:
    case MEDIA_CV2_NEAREST:
    case MEDIA_TORCH_NEAREST:
    case MEDIA_TORCH_NEAREST_EXACT:
    case MEDIA_TORCH_SMALL: return MEDIA_BY_NEAREST;
    case MEDIA_TORCH_BILINEAR:
    case MEDIA_TORCH_BICUBIC:
    case MEDIA_TORCH_LANCZOS: return MEDIA_BY_TORCH;
    case MEDIA_CV2_LINEAR:
    case MEDIA_CV2_ENLARGE: return MEDIA_BY_LINEAR;
    case MEDIA_CV2_HALVES: return MEDIA_BY_HALVES;
    case MEDIA_CV2_CUBIC: return MEDIA_BY_CUBIC;
    case MEDIA_CV2_LANCZOS4: return MEDIA_BY_LANCZOS4;
    case MEDIA_CV2_AREA: return MEDIA_BY_AREA;
    case MEDIA_CV2_MEAN: return MEDIA_BY_MEAN;
    default: return MEDIA_BY_PILLOW;
    }
}

static void linear(float x, float w[2]) {
    w[0] = 1.0f - x;
    w[1] = x;
}

static void cubic(float x, float w[4]) {
    const float a = -0.75f;
    float y = 1 - x;
    w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
    w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
    w[2] = ((a + 2) * y - (a + 3)) * y * y + 1;
    w[3] = 1.0f - w[0] - w[1] - w[2];
}

/* sinc(x) sinc(x / 4) of eight places a whole element apart: the sine of each quarter turn on is one of the first's sine and cosine, or
 * a sum of both. */
static void lanczos4(float x, float w[8]) {
    const double r = 0.70710678118654752440084436210485, quarter = 3.1415926535897932384626433832795 * 0.25;
    const double turns[8][2] = {{1, 0}, {-r, -r}, {0, 1}, {r, -r}, {-1, 0}, {r, r}, {0, -1}, {-r, r}};
    double first = -(double)(x + 3) * quarter, s = sin(first), c = cos(first);
    float sum = 0;
    for (int i = 0; i < 8; i++) {
        float from = x + 3 - (float)i;
        double y = -(double)from * quarter;
        w[i] = fabsf(from) < 1e-6f ? 1e30f : (float)((turns[i][0] * s + turns[i][1] * c) / (y * y));
        sum += w[i];
    }
    sum = 1.0f / sum;
    for (int i = 0; i < 8; i++) w[i] *= sum;
}

/* The element that the middle one of an output's taps is at, and how far behind it the output lies. */
static int32_t source(const media_axis_key *key, int32_t p, float *behind) {
    double scale = scale_of(key);
    if (key->filter == MEDIA_CV2_ENLARGE) {
        double at = floor(p * scale);
        float f = (float)((p + 1) - (at + 1) * ((double)key->out / key->in));
        *behind = f <= 0 ? 0.0f : f - floorf(f);
        return (int32_t)at;
    }
    float at = (float)((p + 0.5) * scale - 0.5);
    *behind = at - floorf(at);
    return (int32_t)floorf(at);
}

static int32_t within(int32_t v, int32_t n) { return v < 0 ? 0 : v < n ? v : n - 1; }

/* The taps of output i, which is p of the whole axis. */
static void fixed_taps(media_axis *a, int32_t i, int32_t p) {
    const int32_t n = a->taps.n, in = a->key.in;
    float behind, w[MOST_TAPS];
    int32_t at = source(&a->key, p, &behind), first = at - n / 2 + 1;
    int16_t *across = a->taps.across + (size_t)i * (size_t)n, *down = a->taps.down + (size_t)i * (size_t)n;
    if (a->key.filter == MEDIA_CV2_CUBIC)
        cubic(behind, w);
    else if (a->key.filter == MEDIA_CV2_LANCZOS4)
        lanczos4(behind, w);
    else
        linear(behind, w);
    a->start[i] = within(first, in);
    a->count[i] = within(first + n - 1, in) + 1 - a->start[i];
    for (int32_t t = 0; t < n; t++) {
        int32_t from = within(first + t, in) - a->start[i];
        down[t] = (int16_t)lrintf(w[t] * ONE);
        a->taps.at[(size_t)i * (size_t)n + (size_t)t] = (uint8_t)from;
        across[from] = (int16_t)(across[from] + down[t]);
    }
}

/* Both elements of a half: shifted as linear's are, they are a sum. */
static void half_taps(media_axis *a, int32_t i, int32_t p) {
    a->start[i] = 2 * p;
    a->count[i] = 2;
    for (int t = 0; t < 2; t++) a->taps.across[2 * i + t] = 1 << 4;
}

/* The share that each source element has in output i. A sliver of a thousandth is nothing. */
static void shares(media_axis *a, int32_t i, int32_t p) {
    const double scale = scale_of(&a->key), least = 1e-3;
    const int32_t in = a->key.in;
    double from = p * scale, end = from + scale, cell = scale < in - from ? scale : in - from;
    int32_t last = (int32_t)floor(end), first = (int32_t)ceil(from);
    float *w = a->taps.share + (size_t)i * (size_t)a->taps.n;
    if (last > in - 1) last = in - 1;
    if (first > last) first = last;
    a->start[i] = first;
    if (first - from > least) {
        a->start[i]--;
        *w++ = (float)((first - from) / cell);
    }
    for (int32_t s = first; s < last; s++) *w++ = (float)(1.0 / cell);
    if (end - last > least) {
        double part = end - last < 1.0 ? end - last : 1.0;
        *w++ = (float)((part < cell ? part : cell) / cell);
    }
    a->count[i] = (int32_t)(w - a->taps.share - (size_t)i * (size_t)a->taps.n);
}

/* Room for the coefficients, of nothing yet. */
static int reserve(media_axis *a) {
    const size_t all = (size_t)a->n * (size_t)a->taps.n;
    const size_t bytes =
        a->key.filter == MEDIA_CV2_AREA ? all * sizeof(float) : all * (2 * sizeof(int16_t) + 1);
    uint8_t *p = media_buf_get(&a->coefficients, bytes + MEDIA_SLACK_BYTES);
    if (!p) return MEDIA_NO_MEMORY;
    memset(p, 0, bytes);
    a->taps.share = (float *)(void *)p;
    a->taps.across = (int16_t *)(void *)p;
    a->taps.down = a->taps.across + all;
    a->taps.at = (uint8_t *)(a->taps.down + all);
    return MEDIA_OK;
}

static int32_t most_taps(const media_axis_key *key) {
    switch (media_way(key->filter)) {
    case MEDIA_BY_CUBIC: return 4;
    case MEDIA_BY_LANCZOS4: return 8;
    case MEDIA_BY_AREA: return (int32_t)scale_of(key) + 3;
    case MEDIA_BY_MEAN: return 0;
    default: return 2;
    }
}

int media_cv2_axis(media_axis *a) {
    const media_axis_key *key = &a->key;
    a->identity = 0;
    a->taps.n = most_taps(key);
    a->groups = (a->taps.n + 3) / 4;
    if (reserve(a) != MEDIA_OK) return MEDIA_NO_MEMORY;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t p = media_axis_output(key, i);
        if (p < 0) continue;
        switch (media_way(key->filter)) {
        case MEDIA_BY_AREA: shares(a, i, p); break;
        case MEDIA_BY_HALVES: half_taps(a, i, p); break;
        case MEDIA_BY_MEAN:
            a->count[i] = key->in / key->out;
            a->start[i] = p * a->count[i];
            break;
        default: fixed_taps(a, i, p);
        }
    }
    return MEDIA_OK;
}
