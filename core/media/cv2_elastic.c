/* cv2_elastic.c - a row as if of rubber, as albumentations' ElasticTransform does it: by cv2.remap of a map of floats, to the bit.
 *
 * Each pixel is taken from a place beside its own: by numbers along x and along y, as many as the row has pixels, of a normal distribution and divided by the
 * largest, or of -1 to 1, blurred by cv2.GaussianBlur of floats, times alpha. Those along y lie below those along x in one plane, whose outermost lines go on
 * beyond it, so at the border between the two each is blurred into the other; or both are the same.
 *
 * Draws, in the words of philox.c: the first block says whether, the next is the key of the numbers: normal ones are those of channel 0, in order, the others
 * as elastic.c has them, of axis 0. A video's frames have one map. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_cv2_elastic(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_cv2_elastic_step *of = &s->of.cv2_elastic;
    if (!media_happens(s, d, LATER_CV2_ELASTIC)) return;
    media_retouch *r = media_add_taken(to, MEDIA_CV2_ELASTIC, &of->by);
    r->value = of->sigma;
    r->mean = of->alpha;
    r->matrix[0] = of->approximate ? MEDIA_APPROXIMATE : (int32_t)rint(of->sigma * 8 + 1) | 1;
    r->matrix[1] = of->uniform;
    r->matrix[2] = of->same;
    media_words(d, OP_LATER, LATER_CV2_ELASTIC + 1, r->key);
}

/* The plane of numbers: of w floats a line. */
static media_pixels plane_of(const media_pixels *px, const media_retouch *r) {
    return (media_pixels){.w = px->w, .h = px->h * (r->matrix[2] != 0 ? 1 : 2), .step = 1};
}

/* The same with half a kernel more to either side. */
static media_pixels reach_of(const media_pixels *plane, int32_t taps) {
    return (media_pixels){.w = plane->w + taps - 1, .h = plane->h, .step = 1};
}

size_t media_cv2_elastic_bytes(const media_pixels *px, const media_retouch *r) {
    media_pixels plane = plane_of(px, r), reach = reach_of(&plane, (int32_t)r->matrix[0]);
    return (size_t)plane.w * (size_t)plane.h * sizeof(float) +
           media_gauss_bytes(&reach, (int32_t)r->matrix[0]);
}

static void draw_numbers(const media_kernels *by, const media_retouch *r, float *to, size_t n) {
    float most = 0;
    if (r->matrix[1] != 0) {
        media_draw_even(r->key, 0, to, n);
        return;
    }
    by->normals(r->key, 0, 0, n, to);
    for (size_t i = 0; i < n; i++) most = fabsf(to[i]) > most ? fabsf(to[i]) : most;
    for (size_t i = 0; i < n && most > 1e-6f; i++) to[i] /= most;
}

/* A line with its first and last number again to either side. */
static void widen(float *to, const float *from, int32_t w, int32_t half) {
    for (int32_t i = 0; i < half; i++) {
        to[i] = from[0];
        to[half + w + i] = from[w - 1];
    }
    memcpy(to + half, from, (size_t)w * sizeof *to);
}

/* A blurred line is put where nothing is read any more. */
static void blur(const media_kernels *by, const media_retouch *r, const media_pixels *plane, float *p,
                 float *room) {
    int32_t taps = (int32_t)r->matrix[0], half = taps / 2;
    media_pixels reach = reach_of(plane, taps);
    float alpha = (float)r->mean;
    media_gauss g = {.small = 0};
    media_gauss_begin(&g, by->cv2, &reach, taps, room);
    media_gaussian_taps(g.k, taps, r->value);
    for (int32_t y = 0; y < plane->h + taps - 1; y++) {
        int32_t from = y < half ? 0 : y - half < plane->h ? y - half : plane->h - 1;
        widen(g.wide, p + (size_t)from * (size_t)plane->w, plane->w, half);
        const float *line = media_gauss_line(&g, y);
        float *to = line ? p + (size_t)(y - (taps - 1)) * (size_t)plane->w : NULL;
        for (int32_t i = 0; line && i < plane->w; i++) to[i] = line[i] * alpha;
    }
}

void media_bend_elastic(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                        const media_retouch *r, float *room) {
    media_places at = {.from = from, .r = r};
    int linear = r->size == MEDIA_CV2_LINEAR;
    media_pixels plane = plane_of(px, r);
    size_t all = (size_t)plane.w * (size_t)plane.h, below = r->matrix[2] != 0 ? 0 : all / 2;
    draw_numbers(by, r, room, all);
    blur(by, r, &plane, room, room + all);
    for (int32_t y = 0; y < px->h; y++) {
        const float *along_x = room + (size_t)y * (size_t)px->w, *along_y = along_x + below;
        for (int32_t first = 0; first < px->w; first += MEDIA_CV2_COLUMNS) {
            int32_t n = px->w - first < MEDIA_CV2_COLUMNS ? px->w - first : MEDIA_CV2_COLUMNS;
            for (int32_t i = 0; i < n; i++) {
                at.across[i] = media_cv2_place((float)((double)(first + i) + along_x[first + i]), linear);
                at.down[i] = media_cv2_place((float)((double)y + along_y[first + i]), linear);
            }
            media_take_row(px, by, &at, first, n, y);
        }
    }
}
