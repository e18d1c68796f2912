/* resample.c - Pillow's resampling, antialiased or to the nearest, and torch's of bytes: coefficients and plain C passes.
 *
 * A pass is a sum of products of 8-bit samples and 22-bit fixed-point
 * coefficients, rounded and clipped to 8 bits; the horizontal pass comes first.
 * torch's coefficients are Pillow's, rounded to fewer bits (torch_bits): with
 * zeros behind those they go through the same passes.
 * The doubles below follow Pillow's order of operations, since the last bit of
 * a coefficient can change a pixel: products and sums must not be contracted,
 * which GCC's -std=c11 and the pragma below see to. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <string.h>

#include "cv2.h"
#include "torch.h"

static const double PI = 3.14159265358979323846;

static double bilinear(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double bicubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x) { return x == 0.0 ? 1.0 : sin(x * PI) / (x * PI); }

static double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

/* The window's numbers are floats of 32 bits. */
static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    return x < 1.0 ? sinc(x) * (0.54f + 0.46f * cos(x * PI)) : 0.0;
}

static double weight(int32_t filter, double x) {
    switch (filter) {
    case MEDIA_TORCH_BICUBIC:
    case MEDIA_BICUBIC: return bicubic(x);
    case MEDIA_TORCH_LANCZOS:
    case MEDIA_LANCZOS: return lanczos(x);
    case MEDIA_BOX: return box(x);
    case MEDIA_HAMMING: return hamming(x);
    default: return bilinear(x);
    }
}

/* How far the filter reaches to either side. */
static double reach(int32_t filter) {
    switch (filter) {
    case MEDIA_TORCH_BICUBIC:
    case MEDIA_BICUBIC: return 2.0;
    case MEDIA_TORCH_LANCZOS:
    case MEDIA_LANCZOS: return 3.0;
    case MEDIA_BOX: return 0.5;
    default: return 1.0;
    }
}

/* Source elements [*lo, *lo + return) that output p needs. */
static int32_t bounds(double centre, double support, int32_t in, int32_t *lo) {
    int32_t min = (int32_t)(centre - support + 0.5);
    int32_t max = (int32_t)(centre + support + 0.5);
    if (min < 0) min = 0;
    if (max > in) max = in;
    *lo = min;
    return max - min;
}

int media_axis_places(media_axis *a) {
    size_t bytes = (size_t)a->n * 2 * sizeof *a->start;
    a->start = (int32_t *)(void *)media_buf_get(&a->places, bytes);
    if (!a->start) return MEDIA_NO_MEMORY;
    memset(a->start, 0, bytes);
    a->count = a->start + a->n;
    return MEDIA_OK;
}

void media_axis_reach(media_axis *a) {
    int32_t first = a->key.in, end = 0;
    for (int32_t i = 0; i < a->n; i++) {
        if (a->count[i] == 0) continue;
        if (a->start[i] < first) first = a->start[i];
        if (a->start[i] + a->count[i] > end) end = a->start[i] + a->count[i];
    }
    a->first = first < end ? first : 0;
    a->end = first < end ? end : 1;
    for (int32_t i = 0; i < a->n; i++)
        if (a->count[i] > 0) a->start[i] -= a->first;
}

/* Bounds of every output, and the widest. */
static int32_t place(media_axis *a, double support) {
    const media_axis_key *key = &a->key;
    double scale = (double)key->in / key->out;
    int32_t widest = 1;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t p = media_axis_output(key, i);
        if (p < 0) continue;
        if (a->identity) {
            a->start[i] = p;
            a->count[i] = 1;
        } else {
            a->count[i] = bounds((p + 0.5) * scale, support, key->in, &a->start[i]);
        }
        if (a->count[i] > widest) widest = a->count[i];
    }
    return widest;
}

/* One source element for each output. Pillow's places are sums: a product may round to the other side of an edge. OpenCV's are products, and
 * torch's are products of floats, and of its two to the nearest the second fuses them, but for small pictures. */
static int32_t place_of(int32_t filter, int32_t p, double scale, double sum) {
    switch (filter) {
    case MEDIA_CV2_NEAREST: return (int32_t)(p * scale);
    case MEDIA_TORCH_NEAREST: return (int32_t)((float)p * (float)scale);
    case MEDIA_TORCH_NEAREST_EXACT:
        return (int32_t)(fmaxf(fmaf((float)scale, (float)p + 0.5f, -0.5f), 0) + 0.5f);
    case MEDIA_TORCH_SMALL: return (int32_t)(float)((p + 0.5) * scale);
    default: return (int32_t)sum;
    }
}

static double scale_of(const media_axis_key *key) {
    switch (key->filter) {
    case MEDIA_CV2_NEAREST: return 1.0 / ((double)key->out / key->in);
    case MEDIA_TORCH_NEAREST:
    case MEDIA_TORCH_NEAREST_EXACT:
    case MEDIA_TORCH_SMALL: return (float)key->in / (float)key->out;
    default: return (double)key->in / key->out;
    }
}

static void place_nearest(media_axis *a) {
    const media_axis_key *key = &a->key;
    const double scale = scale_of(key);
    double at = scale * 0.5;
    for (int32_t p = 0; p < key->out && p < key->win + a->n; p++, at += scale) {
        int32_t i = p - key->win, from = place_of(key->filter, p, scale, at);
        if (i < 0) continue;
        if (from >= key->in) from = key->in - 1;
        if (key->mirror) i = a->n - 1 - i;
        a->start[i] = from;
        a->count[i] = 1;
    }
}

/* w with so many bits behind the point, rounded half away from zero. */
static int32_t fixed_point(double w, int bits) {
    double one = (double)(1 << bits);
    return w < 0 ? (int32_t)(-0.5 + w * one) : (int32_t)(0.5 + w * one);
}

/* The weights of count source elements from start on, in an output whose centre is given. */
static void weigh(double *w, int32_t start, int32_t count, double centre, double filterscale,
                  int32_t filter) {
    double sum = 0.0, inverse = 1.0 / filterscale;
    for (int32_t t = 0; t < count; t++) {
        double x = (t + start - centre + 0.5) * inverse;
        w[t] = weight(filter, x);
        sum += w[t];
    }
    for (int32_t t = 0; t < count && sum != 0.0; t++) w[t] /= sum;
}

/* The bits behind the point that torch's coefficients have: as many as leave the greatest of the whole axis, of all its outputs, in an int16. */
static int torch_bits(const media_axis *a, double scale, double filterscale) {
    const media_axis_key *key = &a->key;
    double greatest = 0.0;
    for (int32_t p = 0; p < key->out; p++) {
        double centre = (p + 0.5) * scale;
        int32_t start, count = bounds(centre, reach(key->filter) * filterscale, key->in, &start);
        weigh(a->weights, start, count, centre, filterscale, key->filter);
        for (int32_t t = 0; t < count; t++)
            if (a->weights[t] > greatest) greatest = a->weights[t];
    }
    int bits = 0;
    while (bits < MEDIA_PRECISION_BITS && fixed_point(greatest, bits + 1) <= INT16_MAX) bits++;
    return bits;
}

/* The coefficients of all outputs, with so many bits behind the point, of a filter that mixes. */
static void mix(media_axis *a, double scale, double filterscale, int bits) {
    const media_axis_key *key = &a->key;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t *k = a->k + (size_t)i * (size_t)a->groups * 4, count = a->count[i];
        if (count == 0) continue;
        double centre = (media_axis_output(key, i) + 0.5) * scale;
        weigh(a->weights, a->start[i], count, centre, filterscale, key->filter);
        for (int32_t t = 0; t < count; t++)
            k[t] = fixed_point(a->weights[t], bits) * (1 << (MEDIA_PRECISION_BITS - bits));
    }
}

/* Each coefficient as high * 2^low bits + low: both halves fit int16, so that
 * multiply-add instructions give exact 32-bit sums. */
static void split(media_axis *a, int low) {
    a->low = low;
    for (size_t g = 0; g < (size_t)a->n * a->groups; g++) {
        for (int t = 0; t < 4; t++) {
            int32_t k = a->k[g * 4 + t];
            a->split[g * 8 + t] = (int16_t)(k >> low);
            a->split[g * 8 + 4 + t] = (int16_t)(k & ((1 << low) - 1));
        }
    }
}

/* Room for the coefficients, zeros at first, and for the weights of one output, of the whole axis the widest. */
static int reserve(media_axis *a, int32_t widest) {
    size_t ints = (size_t)a->n * sizeof(int32_t);
    size_t taps = (size_t)a->groups * 4;
    uint8_t *p =
        media_buf_get(&a->coefficients, (size_t)a->n * taps * (4 + 4) + 64 + (size_t)widest * sizeof(double));
    if (!p) return MEDIA_NO_MEMORY;
    a->weights = (double *)p;
    p += ((size_t)widest * sizeof(double) + 63) & ~(size_t)63;
    a->split = (int16_t *)p;
    a->k = (int32_t *)(p + ints * taps);
    memset(a->k, 0, ints * taps);
    return MEDIA_OK;
}

/* The same axis as last time keeps its coefficients. */
static int unchanged(media_axis *a, const media_axis_key *key) {
    if (a->ready && memcmp(&a->key, key, sizeof *key) == 0) return 1;
    a->ready = 0;
    a->key = *key;
    return 0;
}

/* The axis of a filter of Pillow's or torch's, of one that picks the nearest, or where an element becomes an element. */
static int pillow_axis(media_axis *a) {
    const media_axis_key *key = &a->key;
    const int way = media_way(key->filter), nearest = way == MEDIA_BY_NEAREST;
    double scale = (double)key->in / key->out;
    double filterscale = scale < 1.0 ? 1.0 : scale;
    double support = reach(key->filter) * filterscale;
    int32_t widest = 1;
    a->identity = key->in == key->out;
    if (nearest && !a->identity)
        place_nearest(a);
    else
        widest = place(a, support);
    a->groups = (widest + 3) / 4;
    if (reserve(a, 2 * (int32_t)ceil(support) + 1) != MEDIA_OK) return MEDIA_NO_MEMORY;
    int bits = MEDIA_PRECISION_BITS, low = MEDIA_SPLIT_BITS;
    if (a->identity || nearest)
        for (int32_t i = 0; i < a->n; i++)
            a->k[(size_t)i * (size_t)a->groups * 4] = a->count[i] << MEDIA_PRECISION_BITS;
    else
        mix(a, scale, filterscale, bits = way == MEDIA_BY_TORCH ? torch_bits(a, scale, filterscale) : bits);
    if (way == MEDIA_BY_TORCH) low = a->identity ? MEDIA_PRECISION_BITS - 14 : MEDIA_PRECISION_BITS - bits;
    split(a, low);
    if (nearest) a->identity = 1;
    return MEDIA_OK;
}

int media_axis_init(media_axis *a, const media_axis_key *key) {
    if (unchanged(a, key)) return MEDIA_OK;
    a->n = key->n;
    if (media_axis_places(a) != MEDIA_OK) return MEDIA_NO_MEMORY;
    int rc = media_way(key->filter) <= MEDIA_BY_NEAREST ? pillow_axis(a) : media_cv2_axis(a);
    if (rc != MEDIA_OK) return rc;
    media_axis_reach(a);
    a->run = a->identity;
    for (int32_t i = 0; a->run && i < a->n; i++) a->run = a->count[i] == 1 && a->start[i] == i;
    a->ready = 1;
    return MEDIA_OK;
}

void media_axis_free(media_axis *a) {
    media_buf_free(&a->places);
    media_buf_free(&a->coefficients);
    a->ready = 0;
}

void media_axis_trim(media_axis *a) {
    if (a->coefficients.cap > MEDIA_KEEP_BYTES) media_axis_free(a);
}

static uint8_t clip(int32_t sum) {
    sum >>= MEDIA_PRECISION_BITS;
    return sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
}

static void horizontal_rgbx(const media_axis *a, const uint8_t *src, uint8_t *dst, int step) {
    for (int32_t i = 0; i < a->n; i++, dst += step) {
        const int32_t *k = a->k + (size_t)i * a->groups * 4;
        const uint8_t *s = src + (size_t)a->start[i] * 4;
        int32_t sum[3] = {1 << (MEDIA_PRECISION_BITS - 1), 1 << (MEDIA_PRECISION_BITS - 1),
                          1 << (MEDIA_PRECISION_BITS - 1)};
        for (int32_t t = 0; t < a->count[i]; t++, s += 4)
            for (int ch = 0; ch < 3; ch++) sum[ch] += s[ch] * k[t];
        for (int ch = 0; ch < 3; ch++) dst[ch] = clip(sum[ch]);
    }
}

static void horizontal4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    for (int r = 0; r < 4; r++) horizontal_rgbx(a, src[r], dst[r], step);
}

/* One-channel rows, on every instruction set. */
void media_horizontal1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    for (int32_t i = 0; i < a->n; i++) {
        const int32_t *k = a->k + (size_t)i * a->groups * 4;
        const uint8_t *s = src + a->start[i];
        int32_t sum = 1 << (MEDIA_PRECISION_BITS - 1);
        for (int32_t t = 0; t < a->count[i]; t++) sum += s[t] * k[t];
        dst[i] = clip(sum);
    }
}

void media_vertical(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                    int32_t len) {
    const int32_t *k = a->k + (size_t)i * a->groups * 4;
    for (int32_t x = 0; x < len; x++) {
        const uint8_t *s = src + x;
        int32_t sum = 1 << (MEDIA_PRECISION_BITS - 1);
        for (int32_t t = 0; t < a->count[i]; t++, s += stride) sum += *s * k[t];
        dst[x] = clip(sum);
    }
}

/* The fourth byte, where a pixel has three, is the next pixel's to overwrite. */
static void pick4(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step) {
    const int32_t n = a->n, *start = a->start;
    for (int r = 0; r < 4; r++) {
        const uint8_t *s = src[r];
        uint8_t *d = dst[r];
        if (a->run && step == 4) {
            memcpy(d, s, 4 * (size_t)n);
            continue;
        }
        for (int32_t i = 0; i < n; i++, d += step) memcpy(d, s + 4 * (size_t)start[i], 4);
    }
}

void media_pick1(const media_axis *a, const uint8_t *src, uint8_t *dst) {
    const int32_t n = a->n, *start = a->start;
    if (a->run) {
        memcpy(dst, src, (size_t)n);
        return;
    }
    for (int32_t i = 0; i < n; i++) dst[i] = src[start[i]];
}

static const media_resampler pillow = {
    .bytes = 1, .across4 = horizontal4, .across1 = media_horizontal1, .down = media_vertical};

/* Lines are finished as they are. */
const media_resampler media_nearest = {
    .bytes = 1, .across4 = pick4, .across1 = media_pick1, .down = media_vertical};

const media_kernels media_portable = {"portable",
                                      {&pillow, &pillow, &media_nearest, &media_cv2_linear, &media_cv2_halves,
                                       &media_cv2_cubic, &media_cv2_lanczos4, &media_cv2_area,
                                       &media_cv2_mean},
                                      media_finish_portable,
                                      media_normals_portable,
                                      media_words_portable,
                                      &media_cv2_portable,
                                      &media_torch_portable,
                                      media_mixed,
                                      media_to_gray,
                                      media_by_table,
                                      media_by_tables};

#if !defined(__x86_64__)
const media_kernels *media_best_kernels(int without) {
    (void)without;
    return &media_portable;
}
#endif
