/* cv2_blurs.c - a row's pixels beside their neighbours, as albumentations' Blur, MedianBlur, GaussianBlur, MotionBlur, Sharpen and Emboss have them by OpenCV.
 *
 * The mean (cv2.blur) is rounded, and never half way between two numbers, as kernels are odd; the median (cv2.medianBlur) is what it is. The Gaussian
 * (cv2.sepFilter2D of a kernel of doubles) and the motion (cv2.filter2D) are sums of floats in OpenCV's order, each product added with one rounding
 * (fused), which a double does here; the last is rounded half to even. From 13 x 13 on filter2D goes by Fourier's way, whose bytes are within 1.
 * Borders are mirrored without the outermost pixel, but the median's, which goes on with that.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens, in the second which size; GAUSS's next has sigma,
 * MOTION's angle and direction, then how far to the right and down. SHARPEN's and EMBOSS's second uniform is alpha, the next block's first lightness and strength. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

static int drawn_size(const media_step *s, const media_draw *d, uint32_t block, double u[2]) {
    media_uniforms(d, OP_LATER, block, u);
    return media_happens(s, d, block);
}

void media_draw_box_blur(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (drawn_size(s, d, LATER_BOX_BLUR, u))
        to->all[to->n++] =
            (media_retouch){.kind = MEDIA_BOX_BLUR, .size = media_odd(s->of.kernel.size, u[1])};
}

void media_draw_median(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (drawn_size(s, d, LATER_MEDIAN, u))
        to->all[to->n++] = (media_retouch){.kind = MEDIA_MEDIAN, .size = media_odd(s->of.kernel.size, u[1])};
}

void media_draw_cv2_blur(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2], more[2];
    if (!drawn_size(s, d, LATER_CV2_BLUR, u)) return;
    media_uniforms(d, OP_LATER, LATER_CV2_BLUR + 1, more);
    const uint32_t *size = s->of.cv2_blur.size;
    double sigma = media_between(s->of.cv2_blur.sigma, more[0]);
    int32_t n = (int32_t)size[0] + (int32_t)(u[1] * (size[1] - size[0] + 1));
    if (n == 0) n = (int32_t)(sigma * 3.5) * 2;
    n |= 1;
    to->all[to->n++] = (media_retouch){
        .kind = MEDIA_CV2_BLUR, .size = n < MEDIA_MAX_KERNEL ? n : MEDIA_MAX_KERNEL, .value = sigma};
}

void media_draw_motion(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_motion_step *of = &s->of.motion;
    double u[2], way[2], shift[2];
    if (!drawn_size(s, d, LATER_MOTION, u)) return;
    media_uniforms(d, OP_LATER, LATER_MOTION + 1, way);
    media_uniforms(d, OP_LATER, LATER_MOTION + 2, shift);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_MOTION, .size = media_odd(of->size, u[1])};
    r->matrix[0] = media_between(of->angle, way[0]);
    r->matrix[1] = media_between(of->direction, way[1]);
    r->matrix[2] = of->shifts ? shift[0] * 2 - 1 : 0;
    r->matrix[3] = of->shifts ? shift[1] * 2 - 1 : 0;
}

static void draw_kernel(int kind, uint32_t block, const media_step *s, const media_draw *d,
                        media_retouches *to) {
    double u[2], more[2];
    if (!media_happens(s, d, block)) return;
    media_uniforms(d, OP_LATER, block, u);
    media_uniforms(d, OP_LATER, block + 1, more);
    to->all[to->n++] = (media_retouch){.kind = kind,
                                       .size = 3,
                                       .value = media_between(s->of.effect.alpha, u[1]),
                                       .mean = media_between(s->of.effect.by, more[0])};
}

void media_draw_sharpen(const media_step *s, const media_draw *d, media_retouches *to) {
    draw_kernel(MEDIA_SHARPEN, LATER_SHARPEN, s, d, to);
}

void media_draw_emboss(const media_step *s, const media_draw *d, media_retouches *to) {
    draw_kernel(MEDIA_EMBOSS, LATER_EMBOSS, s, d, to);
}

/* A line of w pixels at to, with n more on either side. */
static inline __attribute__((always_inline)) void border_line(uint8_t *to, const uint8_t *from, int32_t w,
                                                              int32_t n, uint32_t mode, size_t step) {
    uint8_t *behind = to + (size_t)(n + w) * step;
    memcpy(to + (size_t)n * step, from, (size_t)w * step);
    for (int32_t x = 0; x < n; x++) {
        memcpy(to + (size_t)x * step, from + (size_t)media_border_at(mode, x - n, w) * step, step);
        memcpy(behind + (size_t)x * step, from + (size_t)media_border_at(mode, w + x, w) * step, step);
    }
}

media_pixels media_wider(const media_pixels *px, int32_t n) {
    int32_t w = px->w + 2 * n;
    return (media_pixels){
        .w = w, .h = px->h + 2 * n, .step = px->step, .stride = media_line_stride(w, px->step)};
}

void media_copy_bordered(const media_pixels *px, int32_t n, uint32_t mode, const media_pixels *to) {
    for (int32_t y = 0; y < to->h; y++) {
        const uint8_t *from = media_line(px, media_border_at(mode, y - n, px->h));
        switch (px->step) {
        case 1: border_line(media_line(to, y), from, px->w, n, mode, 1); break;
        case 3: border_line(media_line(to, y), from, px->w, n, mode, 3); break;
        default: border_line(media_line(to, y), from, px->w, n, mode, 4); break;
        }
    }
}

uint8_t *media_bordered(const media_pixels *px, int32_t n, uint32_t mode, media_buf *room, size_t more,
                        media_pixels *to) {
    *to = media_wider(px, n);
    to->p = media_buf_get(room, media_pixels_bytes(to) + more);
    if (!to->p) return NULL;
    media_copy_bordered(px, n, mode, to);
    return to->p + media_pixels_bytes(to);
}

/* A line of means, of sums of columns: what comes into a sum and what leaves it. */
static inline __attribute__((always_inline)) void means_line(uint8_t *to, int32_t w, int32_t size,
                                                             const uint16_t *sums, int step) {
    enum { FRACTION = 40 }; /* bits: what is divided has less than 24, what by less than 17 */
    uint32_t area = (uint32_t)size * (uint32_t)size, sum[4];
    uint64_t by = (((uint64_t)1 << FRACTION) + area - 1) / area;
    for (int ch = 0; ch < step; ch++) {
        sum[ch] = area / 2;
        for (int32_t x = 0; x < size - 1; x++) sum[ch] += sums[x * step + ch];
    }
    const uint16_t *in = sums + (size_t)(size - 1) * (size_t)step;
    for (int32_t i = 0; i < w * step; i += step)
        for (int ch = 0; ch < step; ch++) {
            sum[ch] += in[i + ch];
            to[i + ch] = (uint8_t)((sum[ch] * by) >> FRACTION);
            sum[ch] -= sums[i + ch];
        }
}

void media_means_line(const media_pixels *px, int32_t y, int32_t size, const uint16_t *sums) {
    switch (px->step) {
    case 1: means_line(media_line(px, y), px->w, size, sums, 1); break;
    case 3: means_line(media_line(px, y), px->w, size, sums, 3); break;
    default: means_line(media_line(px, y), px->w, size, sums, 4); break;
    }
}

/* Sums of as many lines as a square has, which one line after the other goes into and out of. */
static void means(const media_pixels *px, const media_pixels *from, int32_t size, void *room) {
    int32_t n = from->w * from->step;
    uint16_t *sums = room;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int32_t y = 0; y < from->h; y++) {
        const uint8_t *in = media_line(from, y);
        for (int32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + in[i]);
        if (y < size - 1) continue;
        media_means_line(px, y - (size - 1), size, sums);
        const uint8_t *out = media_line(from, y - (size - 1));
        for (int32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] - out[i]);
    }
}

static void weigh(float *k, int32_t n, double sigma) {
    double sum = 0, w[MEDIA_MAX_KERNEL];
    for (int32_t i = 0; i < n; i++) {
        double x = (i - n / 2) / sigma;
        sum += w[i] = exp(-0.5 * (x * x));
    }
    for (int32_t i = 0; i < n; i++) k[i] = (float)(w[i] / sum);
}

static void widen(float *to, const uint8_t *from, int32_t n) {
    for (int32_t i = 0; i < n; i++) to[i] = from[i];
}

static void narrow(uint8_t *to, const float *from, int32_t n) {
    for (int32_t i = 0; i < n; i++) to[i] = media_nearest_byte(from[i]);
}

static void fuse(float *sums, const float *const *at, const float *k, int32_t taps, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float sum = 0;
        for (int32_t t = 0; t < taps; t++) sum = media_fused(sum, at[t][i], k[t]);
        sums[i] = sum;
    }
}

static void fuse_pairs(float *sums, const float *const *at, const float *k, int32_t half, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float sum = at[half][i] * k[half];
        for (int32_t t = 1; t <= half; t++)
            sum = media_fused(sum, at[half - t][i] + at[half + t][i], k[half + t]);
        sums[i] = sum;
    }
}

const media_cv2 media_cv2_portable = {.widen = widen,
                                      .narrow = narrow,
                                      .fuse = fuse,
                                      .fuse_pairs = fuse_pairs,
                                      .means = means,
                                      .medians = media_medians,
                                      .smooth_across = media_smooth_across,
                                      .smooth_down = media_smooth_down,
                                      .lighten = media_lighten_vectors,
                                      .add_mix = media_add_mix,
                                      .spread = media_spread_portable,
                                      .shares = media_shares,
                                      .sharper = media_sharper,
                                      .soften = media_soften,
                                      .turn = media_turn,
                                      .shift = media_shift,
                                      .saturate = media_saturate,
                                      .gray = media_to_cv2_gray,
                                      .sepia = media_sepia,
                                      .mix_row = media_mix_row,
                                      .sum_gray = media_sum_gray,
                                      .to_lab = media_to_lab,
                                      .from_lab = media_from_lab,
                                      .mix_tiles = media_mix_tiles};

/* Lines of floats, of which as many are kept as a kernel is high: line y in the place of line y - n. */
typedef struct float_lines {
    float *p;
    size_t stride;
    int32_t n;
} float_lines;

static size_t floats_of(const media_pixels *from) {
    return ((size_t)from->w * (size_t)from->step + 15) & ~(size_t)15;
}

static float *float_line(const float_lines *l, int32_t y) { return l->p + (size_t)(y % l->n) * l->stride; }

size_t media_gauss_bytes(const media_pixels *from, int32_t taps) {
    return (size_t)(taps + 3) * floats_of(from) * sizeof(float); /* those kept, wide, sums and one more */
}

void media_gauss_begin(media_gauss *g, const media_cv2 *by, const media_pixels *from, int32_t taps,
                       float *room) {
    g->by = by;
    g->taps = taps;
    g->step = from->step;
    g->n = (from->w - (taps - 1)) * from->step;
    g->stride = floats_of(from);
    g->kept = room;
    g->wide = room + (size_t)taps * g->stride;
    g->sums = g->wide + g->stride;
}

/* The two beside the middle, the middle, the two beside those; of an odd number of values, without a fourth of a pixel, the last one from the middle on. */
static void along_small(const media_gauss *g, float *to) {
    const int32_t half = g->taps / 2, last = g->step == 4 ? g->n - 2 : g->n - 1;
    const float *middle = g->wide + half * g->step, *k = g->k + half;
    float *pairs[2] = {g->sums, g->sums + g->stride}; /* sums are made later */
    const float *const at[3] = {pairs[0], middle, pairs[1]}, by[3] = {k[1], k[0], half > 1 ? k[2] : 0};
    for (int32_t t = 0; t < half; t++)
        for (int32_t i = 0; i < g->n; i++)
            pairs[t][i] = middle[i - (t + 1) * g->step] + middle[i + (t + 1) * g->step];
    g->by->fuse(to, at, by, half + 1, g->n);
    if (g->n / g->step % 2 == 0) return;
    to[last] = middle[last] * k[0];
    for (int32_t t = 0; t < half; t++) to[last] = media_fused(to[last], pairs[t][last], k[t + 1]);
}

const float *media_gauss_line(const media_gauss *g, int32_t y) {
    const float *at[MEDIA_MAX_TAPS];
    const float_lines lines = {g->kept, g->stride, g->taps};
    for (int32_t t = 0; t < g->taps; t++) at[t] = g->wide + t * g->step;
    if (g->small)
        along_small(g, float_line(&lines, y));
    else
        g->by->fuse(float_line(&lines, y), at, g->k, g->taps, g->n);
    if (y < g->taps - 1) return NULL;
    for (int32_t t = 0; t < g->taps; t++) at[t] = float_line(&lines, y - (g->taps - 1) + t);
    g->by->fuse_pairs(g->sums, at, g->k, g->taps / 2, g->n);
    return g->sums;
}

static void gauss(const media_pixels *px, const media_pixels *from, const media_cv2 *by, int32_t taps,
                  double sigma, float *room) {
    media_gauss g = {.small = 0};
    media_gauss_begin(&g, by, from, taps, room);
    weigh(g.k, taps, sigma);
    for (int32_t y = 0; y < from->h; y++) {
        by->widen(g.wide, media_line(from, y), from->w * from->step);
        const float *sums = media_gauss_line(&g, y);
        if (sums) by->narrow(media_line(px, y - (taps - 1)), sums, g.n);
    }
}

static void add_tap(media_filter2d *f, int32_t at, float k) {
    f->x[f->n] = (uint8_t)(at % f->size);
    f->y[f->n] = (uint8_t)(at / f->size);
    f->k[f->n++] = k;
}

/* Those that lie on a way through the kernel's middle, size at most. */
static void way_through(const media_retouch *r, media_filter2d *f) {
    uint8_t at[MEDIA_MAX_KERNEL * MEDIA_MAX_KERNEL];
    int32_t size = r->size, half = size / 2;
    double angle = r->matrix[0] * (3.141592653589793 / 180), direction = r->matrix[1];
    double start = direction > 0 ? -half * (1 - direction) : -half,
           stop = direction < 0 ? half * (1 - fabs(direction)) : half;
    memset(at, 0, (size_t)size * (size_t)size);
    for (int32_t i = 0; i < size; i++) {
        double t = i == size - 1 ? stop : i * ((stop - start) / (size - 1)) + start;
        double x = half + cos(angle) * t + r->matrix[2] * half / 2,
               y = half + sin(angle) * t + r->matrix[3] * half / 2;
        x = fmin(fmax(rint(x), 0), size - 1);
        y = fmin(fmax(rint(y), 0), size - 1);
        at[(int32_t)y * size + (int32_t)x] = 1;
    }
    for (int32_t i = 0; i < size * size; i++)
        if (at[i]) add_tap(f, i, 1);
}

/* A kernel of 3 x 3: the picture's own, and so much of an effect, as floats of 32 bits. */
static void effect(const media_retouch *r, media_filter2d *f) {
    const double by = r->mean, sharper[9] = {-1, -1, -1, -1, 8 + by, -1, -1, -1, -1},
                 raised[9] = {-1 - by, -by, 0, -by, 1, by, 0, by, 1 + by};
    const float own = (float)(1 - r->value), alpha = (float)r->value;
    for (int32_t i = 0; i < 9; i++) {
        float much = alpha * (float)(r->kind == MEDIA_SHARPEN ? sharper : raised)[i];
        float k = (i == 4 ? own : 0) + much;
        if (k != 0) add_tap(f, i, k);
    }
}

static void mean_of_way(const media_retouch *r, media_filter2d *f) {
    way_through(r, f);
    for (int32_t t = 0; t < f->n; t++) f->k[t] = 1.0f / (float)f->n;
}

/* The lines of a kernel from one on: as they are, or, mirrored, the sums of two, behind those in hand. */
static void lines_of(const media_filter2d *f, const float_lines *lines, int32_t first, const media_cv2 *by,
                     const float **to) {
    static const float both[2] = {1, 1};
    const int32_t last = f->size - 1;
    for (int32_t y = 0; y <= (f->mirrored ? last / 2 : last); y++) {
        const float *pair[2] = {float_line(lines, first + y), float_line(lines, first + last - y)};
        to[y] = pair[0];
        if (!f->mirrored || pair[0] == pair[1]) continue;
        float *sums = lines->p + (size_t)(f->size + 1 + y) * lines->stride;
        by->fuse(sums, pair, both, 2, (int32_t)lines->stride);
        to[y] = sums;
    }
}

/* from: px with half a kernel more on all sides. */
static void filtered(const media_pixels *px, const media_pixels *from, const media_cv2 *by,
                     const media_filter2d *f, float *room) {
    const float *at[MEDIA_MAX_TAPS], *of[MEDIA_MAX_KERNEL];
    const float_lines lines = {room, floats_of(from), f->size};
    float *sums = room + (size_t)f->size * lines.stride;
    int32_t step = px->step, n = px->w * step;
    for (int32_t y = 0; y < from->h; y++) {
        int32_t first = y - (f->size - 1);
        by->widen(float_line(&lines, y), media_line(from, y), from->w * step);
        if (first < 0) continue;
        lines_of(f, &lines, first, by, of);
        for (int32_t t = 0; t < f->n; t++) at[t] = of[f->y[t]] + f->x[t] * step;
        by->fuse(sums, at, f->k, f->n, n);
        by->narrow(media_line(px, first), sums, n);
    }
}

int media_filtered(const media_pixels *px, const media_kernels *by, const media_filter2d *f,
                   media_buf *room) {
    media_pixels from;
    const media_pixels reach = media_wider(px, f->size / 2);
    size_t more = media_gauss_bytes(&reach, f->size + (f->mirrored ? f->size / 2 : 0));
    uint8_t *lines = media_bordered(px, f->size / 2, MEDIA_PAD_REFLECT, room, more, &from);
    if (!lines) return MEDIA_NO_MEMORY;
    if (f->mirrored) memset(lines, 0, more); /* what is behind a line is added, too */
    filtered(px, &from, by->cv2, f, (float *)(void *)lines);
    return MEDIA_OK;
}

int media_cv2_blurs(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                    media_buf *room) {
    media_pixels from;
    media_filter2d f = {.size = r->size};
    int32_t half = r->size / 2;
    if (r->kind == MEDIA_MOTION) mean_of_way(r, &f);
    if (r->kind == MEDIA_SHARPEN || r->kind == MEDIA_EMBOSS) effect(r, &f);
    if (f.n > 0) return media_filtered(px, by, &f, room);
    const media_pixels reach = {.w = px->w + 2 * half, .step = px->step};
    size_t more = media_gauss_bytes(&reach, r->size);
    if (r->kind == MEDIA_BOX_BLUR) more = MEDIA_MEAN_LINES * media_line_stride(reach.w, reach.step);
    if (r->kind == MEDIA_MEDIAN) more = media_medians_bytes(&reach, r->size);
    uint8_t *scratch = media_bordered(px, half, r->kind == MEDIA_MEDIAN ? MEDIA_PAD_EDGE : MEDIA_PAD_REFLECT,
                                      room, more, &from);
    if (!scratch) return MEDIA_NO_MEMORY;
    switch (r->kind) {
    case MEDIA_BOX_BLUR: by->cv2->means(px, &from, r->size, scratch); break;
    case MEDIA_MEDIAN: by->cv2->medians(px, &from, r->size, scratch); break;
    default: gauss(px, &from, by->cv2, r->size, r->value, (float *)(void *)scratch); break;
    }
    return MEDIA_OK;
}
