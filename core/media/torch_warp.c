/* torch_warp.c - where the pixels of a tensor of bytes come from when torchvision's v2 turns, moves or shears it, or shows it from another side.
 *
 * A map leads from the middle of what is made to the middle of what was there, which matters for its last bits: torch takes it, in doubles, to a grid
 * in floats, on which a side is from -1 to 1, and takes pixels from there (torch_warp_isa.h). */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "torch.h"

static double radians(double degrees) { return degrees * (3.141592653589793 / 180.0); }

/* The map, and the size of what it leads to, which its points want (media_torch_back). */
static void warp(media_retouch *r, const media_affine *a, int32_t w, int32_t h) {
    double rot = radians(a->angle), sx = radians(a->shear_x), sy = radians(a->shear_y), *m = r->matrix;
    double x = a->center_x - w * 0.5, y = a->center_y - h * 0.5;
    double to_x = x + a->translate_x, to_y = y + a->translate_y;
    double right = cos(rot - sy) / cos(sy), low = sin(rot - sy) / cos(sy);
    m[0] = (cos(rot) - low * tan(sx)) / a->scale;
    m[1] = (right * tan(sx) + sin(rot)) / a->scale;
    m[2] = x - m[0] * to_x - m[1] * to_y;
    m[3] = -low / a->scale;
    m[4] = right / a->scale;
    m[5] = y - m[3] * to_x - m[4] * to_y;
    m[6] = w;
    m[7] = h;
    r->kind = MEDIA_TORCH_WARP;
}

void media_affine_retouch(media_retouch *r, int by_torch, const media_affine *a, int32_t w, int32_t h) {
    r->kind = MEDIA_WARP;
    if (by_torch)
        warp(r, a, w, h);
    else
        media_affine_matrix(a, r->matrix);
}

/* How far four corners reach along an axis, by its line of a map: whole pixels, but for 1/10000. */
static int32_t extent(const double m[3], int32_t w, int32_t h, int32_t side) {
    const float x = 0.5f * (float)w, y = 0.5f * (float)h, middle = 0.5f * (float)side;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        float at = (i & 1 ? x : -x) * (float)m[0] + (i & 2 ? y : -y) * (float)m[1] + (float)m[2];
        low = fminf(low, at);
        high = fmaxf(high, at);
    }
    low = truncf((low + middle) * 1e4f) * 1e-4f;
    high = truncf((high + middle) * 1e4f) * 1e-4f;
    return (int32_t)(ceilf(high) - floorf(low));
}

/* The size that a turned picture needs. By whole quarters about the middle it is moved, and not computed. */
static void expand(const media_retouch *r, double turn, int centered, int32_t *w, int32_t *h) {
    int32_t wide = extent(r->matrix, *w, *h, *w), high = extent(r->matrix + 3, *w, *h, *h);
    if (!centered && fmod(turn, 90) == 0) {
        wide = fmod(turn, 180) == 0 ? *w : *h;
        high = fmod(turn, 180) == 0 ? *h : *w;
    }
    *w = wide;
    *h = high;
}

void media_rotation_retouch(media_retouch *r, const media_rotation *t, int32_t *w, int32_t *h) {
    r->kind = MEDIA_WARP;
    if (t->by_torch) {
        double turn = media_once_around(t->degrees);
        const media_affine a = {.angle = -turn, .scale = 1, .center_x = t->x, .center_y = t->y};
        warp(r, &a, *w, *h);
        if (t->expand) expand(r, turn, t->centered, w, h);
        return;
    }
    media_rotation_matrix(t->degrees, t->x, t->y, r->matrix);
    if (t->expand) media_expand(t->degrees, t->centered, r->matrix, w, h);
}

void media_torch_back(const media_retouch *r, double m[6]) {
    memcpy(m, r->matrix, 6 * sizeof *m);
    for (int axis = 0; axis < 2; axis++) {
        double *line = m + 3 * axis;
        line[2] += 0.5 * (r->matrix[6 + axis] - line[0] * r->w - line[1] * r->h);
    }
}

/* What leads to an axis of the grid. */
static void to_axis(float to[3], const double m[3], int32_t side) {
    for (int i = 0; i < 3; i++) to[i] = (float)m[i] / (0.5f * (float)side);
}

void media_torch_warp(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                      const media_retouch *r) {
    media_grid g = {.filter = r->size, .bare = r->fill[3]};
    memcpy(g.fill, r->fill, 3);
    to_axis(g.x, r->matrix, from->w);
    to_axis(g.y, r->matrix + 3, from->h);
    g.first_x = g.first_y = 0.5f;
    if (r->kind == MEDIA_TORCH_PERSPECTIVE) {
        g.perspective = 1;
        g.far[0] = (float)r->matrix[6];
        g.far[1] = (float)r->matrix[7];
    } else {
        g.first_x = 0.5f * (float)(1 - px->w);
        g.first_y = 0.5f * (float)(1 - px->h);
    }
    by->torch->warp(px, from, &g);
}
