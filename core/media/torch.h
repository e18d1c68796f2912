/* torch.h - what is done to a row's pixels as torchvision's v2 does it to a tensor of bytes, where that differs from a PIL image. */
#ifndef SPDL_MEDIA_TORCH_H
#define SPDL_MEDIA_TORCH_H

#include "internal.h"

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));

/* Where pixels come from: (x0 x + x1 y + x2, y0 x + y1 y + y2) on a grid on which the picture is from -1 to 1; of a perspective, by (f0 x + f1 y + 1), and 1 less. */
typedef struct media_grid {
    float x[3], y[3], far[2];
    float first_x, first_y; /* of the row's first pixel */
    int perspective, filter, bare;
    uint8_t fill[4];
} media_grid;

/* The same, to the bit, on every instruction set; of three channels. */
typedef struct media_torch {
    void (*to_gray)(const media_pixels *px);
    uint64_t (*sum_gray)(const media_pixels *px); /* of all pixels, each cut to a whole number */
    /* own times a value and of_gray times the grey of its pixel. */
    void (*saturate)(const media_pixels *px, float own, float of_gray);
    void (*turn)(const media_pixels *px, float by);
    void (*warp)(const media_pixels *px, const media_pixels *from,
                 const media_grid *g); /* of any number of channels */
} media_torch;

extern const media_torch media_torch_portable, media_torch_avx2;

/* A retouch of a PIL image becomes that of a tensor, which it is already where both have the same numbers. step is what drew it. */
void media_of_tensor(media_retouch *r, uint32_t step);

/* What is left of 1 beside a factor. */
static inline float media_torch_rest(double factor) { return (float)(1.0 - factor); }

/* --- torch_warp.c --- */

/* Of a TORCH_WARP the map of points that leads back, and one by TORCH_WARP or TORCH_PERSPECTIVE. */
void media_torch_back(const media_retouch *r, double m[6]);
void media_torch_warp(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                      const media_retouch *r);

/* --- torch.c --- */
void media_torch_contrast(const media_pixels *px, const media_kernels *by, double factor);

#endif
