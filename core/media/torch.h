/* torch.h - what is done to a row's pixels as torchvision's v2 does it to a tensor of bytes, where that differs from a PIL image. */
#ifndef SPDL_MEDIA_TORCH_H
#define SPDL_MEDIA_TORCH_H

#include "internal.h"

typedef float v8 __attribute__((vector_size(32)));
typedef int32_t v8i __attribute__((vector_size(32)));

/* The same, to the bit, on every instruction set; of three channels. */
typedef struct media_torch {
    void (*to_gray)(const media_pixels *px);
    uint64_t (*sum_gray)(const media_pixels *px); /* of all pixels, each cut to a whole number */
    /* own times a value and of_gray times the grey of its pixel. */
    void (*saturate)(const media_pixels *px, float own, float of_gray);
    void (*turn)(const media_pixels *px, float by);
} media_torch;

extern const media_torch media_torch_portable, media_torch_avx2;

/* The kind of retouch that does on a tensor what this one does on a PIL image: itself, where both have the same numbers. */
int32_t media_torch_kind(int32_t kind);

/* What is left of 1 beside a factor, which torchvision draws as a float of 32 bits. */
static inline float media_torch_rest(double factor) { return (float)(1.0 - (double)(float)factor); }

void media_torch_contrast(const media_pixels *px, const media_kernels *by, double factor);

#endif
