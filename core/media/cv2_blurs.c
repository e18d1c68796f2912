/* cv2_blurs.c - a row's pixels beside their neighbours, as albumentations' Blur, MedianBlur, GaussianBlur and MotionBlur have them by OpenCV.
 *
 * The mean (cv2.blur) is rounded, and never half way between two numbers, as kernels are odd; the median (cv2.medianBlur) is what it is. The Gaussian
 * (cv2.sepFilter2D of a kernel of doubles) and the motion (cv2.filter2D) are sums of floats in OpenCV's order, each product added with one rounding
 * (fused), which a double does here; the last is rounded half to even. From 13 x 13 on filter2D goes by Fourier's way, whose bytes are within 1.
 * Borders are mirrored without the outermost pixel, but the median's, which goes on with that.
 *
 * Draws, in the words of philox.c: of each its first block has in the first uniform whether it happens, in the second which size; GAUSS's next has sigma,
 * MOTION's angle and direction, then how far to the right and down. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

/* One of the odd numbers between two. */
static int32_t odd(const uint32_t range[2], double u) {
    return (int32_t)(range[0] + 2 * (uint32_t)(u * ((range[1] - range[0]) / 2 + 1)));
}

static int drawn_size(uint32_t block, double p, const media_draw *d, double u[2]) {
    media_uniforms(d, OP_LATER, block, u);
    return media_chance(d, OP_LATER, block, p);
}

void media_draw_box_blur(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2];
    if (drawn_size(LATER_BOX_BLUR, op->box_blur_p, d, u))
        to->all[to->n++] = (media_retouch){.kind = MEDIA_BOX_BLUR, .size = odd(op->box_blur_size, u[1])};
}

void media_draw_median(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2];
    if (drawn_size(LATER_MEDIAN, op->median_p, d, u))
        to->all[to->n++] = (media_retouch){.kind = MEDIA_MEDIAN, .size = odd(op->median_size, u[1])};
}

void media_draw_cv2_blur(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2], sigma[2];
    if (!drawn_size(LATER_CV2_BLUR, op->cv2_blur_p, d, u)) return;
    media_uniforms(d, OP_LATER, LATER_CV2_BLUR + 1, sigma);
    const uint32_t *size = op->cv2_blur_size;
    double s = media_between(op->cv2_blur_sigma, sigma[0]);
    int32_t n = (int32_t)size[0] + (int32_t)(u[1] * (size[1] - size[0] + 1));
    if (n == 0) n = (int32_t)(s * 3.5) * 2;
    n |= 1;
    to->all[to->n++] = (media_retouch){
        .kind = MEDIA_CV2_BLUR, .size = n < MEDIA_MAX_KERNEL ? n : MEDIA_MAX_KERNEL, .value = s};
}

void media_draw_motion(const media_op *op, const media_draw *d, media_retouches *to) {
    double u[2], way[2], shift[2];
    if (!drawn_size(LATER_MOTION, op->motion_p, d, u)) return;
    media_uniforms(d, OP_LATER, LATER_MOTION + 1, way);
    media_uniforms(d, OP_LATER, LATER_MOTION + 2, shift);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_MOTION, .size = odd(op->motion_size, u[1])};
    r->matrix[0] = media_between(op->motion_angle, way[0]);
    r->matrix[1] = media_between(op->motion_direction, way[1]);
    r->matrix[2] = op->motion_shifts ? shift[0] * 2 - 1 : 0;
    r->matrix[3] = op->motion_shifts ? shift[1] * 2 - 1 : 0;
}

/* A copy of the pixels with n more on all sides, whose top left one is at `to`; returns room for more bytes, aligned. NULL when there is no memory. */
static uint8_t *bordered(const media_pixels *px, int32_t n, uint32_t mode, media_buf *room, size_t more,
                         media_pixels *to) {
    size_t step = (size_t)px->step;
    *to = (media_pixels){.w = px->w + 2 * n, .h = px->h + 2 * n, .step = px->step};
    to->stride = media_line_stride(to->w, to->step);
    to->p = media_buf_get(room, to->stride * (size_t)to->h + more);
    if (!to->p) return NULL;
    for (int32_t y = 0; y < to->h; y++) {
        const uint8_t *from = media_line(px, media_border_at(mode, y - n, px->h));
        uint8_t *line = media_line(to, y);
        memcpy(line + (size_t)n * step, from, (size_t)px->w * step);
        for (int32_t x = 0; x < n; x++) {
            memcpy(line + (size_t)x * step, from + (size_t)media_border_at(mode, x - n, px->w) * step, step);
            memcpy(line + (size_t)(n + px->w + x) * step,
                   from + (size_t)media_border_at(mode, px->w + x, px->w) * step, step);
        }
    }
    return to->p + to->stride * (size_t)to->h;
}

/* Of a copy with size / 2 more on all sides: sums of size lines, which one line after the other goes into and out of, then of as many of these. */
static void box_blur(const media_pixels *px, const media_pixels *from, int32_t size, uint32_t *sums) {
    enum { FRACTION = 40 }; /* bits: what is divided has less than 24, what by less than 17 */
    uint32_t area = (uint32_t)size * (uint32_t)size;
    uint64_t by = (((uint64_t)1 << FRACTION) + area - 1) / area;
    int32_t step = px->step, n = from->w * step;
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int32_t y = 0; y < size - 1; y++)
        for (int32_t i = 0; i < n; i++) sums[i] += media_line(from, y)[i];
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *in = media_line(from, y + size - 1), *out = media_line(from, y);
        uint8_t *to = media_line(px, y);
        for (int32_t i = 0; i < n; i++) sums[i] += in[i];
        for (int32_t ch = 0; ch < step; ch++) {
            uint32_t sum = area / 2;
            for (int32_t x = 0; x < size - 1; x++) sum += sums[x * step + ch];
            for (int32_t x = 0; x < px->w; x++) {
                sum += sums[(x + size - 1) * step + ch];
                to[x * step + ch] = (uint8_t)((sum * by) >> FRACTION);
                sum -= sums[x * step + ch];
            }
        }
        for (int32_t i = 0; i < n; i++) sums[i] -= out[i];
    }
}

/* How often each value is there, and which one has `below` less than it, and half of all or more not greater. */
typedef struct histogram {
    uint16_t of[256];
    int32_t median, below;
} histogram;

static void count(histogram *h, uint8_t value, int by) {
    h->of[value] = (uint16_t)(h->of[value] + by);
    if (value < h->median) h->below += by;
}

static uint8_t middle(histogram *h, int32_t half) {
    while (h->below > half) h->below -= h->of[--h->median];
    while (h->below + h->of[h->median] <= half) h->below += h->of[h->median++];
    return (uint8_t)h->median;
}

static void median(const media_pixels *px, const media_pixels *from, int32_t size) {
    int32_t step = px->step, half = size * size / 2;
    for (int32_t ch = 0; ch < (step == 1 ? 1 : 3); ch++)
        for (int32_t y = 0; y < px->h; y++) {
            histogram h = {.median = 0};
            const uint8_t *line = media_line(from, y) + ch;
            uint8_t *to = media_line(px, y) + ch;
            for (int32_t x = 0; x < from->w; x++) {
                for (int32_t k = 0; k < size; k++)
                    count(&h, line[(size_t)k * from->stride + (size_t)(x * step)], 1);
                if (x < size - 1) continue;
                int32_t first = x - (size - 1);
                to[first * step] = middle(&h, half);
                for (int32_t k = 0; k < size; k++)
                    count(&h, line[(size_t)k * from->stride + (size_t)(first * step)], -1);
            }
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

void media_fuse(float *sums, const uint8_t *v, float k, int32_t n) {
    for (int32_t i = 0; i < n; i++) sums[i] = media_fused(sums[i], v[i], k);
}

void media_fuse_pairs(float *sums, const float *a, const float *b, float k, int32_t n) {
    for (int32_t i = 0; i < n; i++) sums[i] = media_fused(sums[i], a[i] + b[i], k);
}

/* Lines from the first tap to the last, then of all lines the middle one, and those beside it two by two. */
static void gauss(const media_pixels *px, const media_pixels *from, const media_kernels *by, int32_t taps,
                  double sigma, float *room) {
    float k[MEDIA_MAX_KERNEL];
    int32_t step = px->step, n = px->w * step, half = taps / 2;
    float *sums = room, *lines = room + n;
    weigh(k, taps, sigma);
    memset(lines, 0, (size_t)n * (size_t)from->h * sizeof *lines);
    for (int32_t y = 0; y < from->h; y++)
        for (int32_t t = 0; t < taps; t++)
            by->fuse(lines + (size_t)y * (size_t)n, media_line(from, y) + (size_t)(t * step), k[t], n);
    for (int32_t y = 0; y < px->h; y++) {
        const float *at = lines + (size_t)(y + half) * (size_t)n;
        uint8_t *to = media_line(px, y);
        for (int32_t i = 0; i < n; i++) sums[i] = at[i] * k[half];
        for (int32_t t = 1; t <= half; t++)
            by->fuse_pairs(sums, at - (size_t)t * (size_t)n, at + (size_t)t * (size_t)n, k[half + t], n);
        for (int32_t i = 0; i < n; i++) to[i] = media_nearest_byte(sums[i]);
    }
}

/* The pixels of a kernel of size x size that lie on a way through its middle, into `at`, line by line; returns how many. */
static int32_t way_through(const media_retouch *r, uint8_t *at) {
    int32_t size = r->size, half = size / 2, n = 0;
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
    for (int32_t i = 0; i < size * size; i++) n += at[i];
    return n;
}

static void motion(const media_pixels *px, const media_pixels *from, const media_kernels *by,
                   const media_retouch *r, float *line) {
    uint8_t at[MEDIA_MAX_KERNEL * MEDIA_MAX_KERNEL];
    int32_t size = r->size, step = px->step, n = px->w * step;
    float share = 1.0f / (float)way_through(r, at);
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *to = media_line(px, y);
        memset(line, 0, (size_t)n * sizeof *line);
        for (int32_t k = 0; k < size * size; k++) {
            if (at[k]) by->fuse(line, media_line(from, y + k / size) + (size_t)(k % size * step), share, n);
        }
        for (int32_t i = 0; i < n; i++) to[i] = media_nearest_byte(line[i]);
    }
}

int media_cv2_blurs(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                    media_buf *room) {
    media_pixels from;
    int32_t half = r->size / 2;
    size_t line = (size_t)(px->w + 2 * half) * (size_t)px->step * sizeof(float),
           more = r->kind == MEDIA_CV2_BLUR ? line * (size_t)(px->h + 2 * half + 1) : line;
    uint32_t border = r->kind == MEDIA_MEDIAN ? MEDIA_PAD_EDGE : MEDIA_PAD_REFLECT;
    uint8_t *scratch = bordered(px, half, border, room, more, &from);
    if (!scratch) return MEDIA_NO_MEMORY;
    switch (r->kind) {
    case MEDIA_BOX_BLUR: box_blur(px, &from, r->size, (uint32_t *)(void *)scratch); break;
    case MEDIA_MEDIAN: median(px, &from, r->size); break;
    case MEDIA_CV2_BLUR: gauss(px, &from, by, r->size, r->value, (float *)(void *)scratch); break;
    default: motion(px, &from, by, r, (float *)(void *)scratch); break;
    }
    return MEDIA_OK;
}
