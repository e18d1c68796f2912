/* warp.h - where the pixels of a warped picture come from, for every instruction set's mixes of them (warp.c, warp_avx2.c). */
#ifndef MEDIA_WARP_H
#define MEDIA_WARP_H

#include "internal.h"

/* The whole number below x, which is -1 or more. */
static inline int32_t below(double x) { return x < 0 ? -1 : (int32_t)x; }

static inline int32_t inside(int32_t i, int32_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/* The place in the picture that m leads to from the middle of pixel (x, y). Inlined, so that whether m is a perspective's is a constant. */
static inline __attribute__((always_inline)) void led_back(const double *m, int perspective, int32_t x,
                                                           int32_t y, double *sx, double *sy) {
    *sx = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
    *sy = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
    if (!perspective) return;
    double far = m[6] * (x + 0.5) + m[7] * (y + 0.5) + 1;
    *sx /= far;
    *sy /= far;
}

#endif
