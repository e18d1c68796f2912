/* resize.cu - decoded pictures on the device to the rows of a batch: crop, antialiased resize, flip.
 *
 * The sums are Pillow's, to the bit: coefficients of 22 bits after the point made of doubles, a horizontal pass rounded to 8 bits, then a
 * vertical one (core/media/resample.c is the same on the processor). So what a batch has from here differs from the processor's only where the
 * JPEG was decoded differently.
 *
 *   spdl_weights  a thread for each column and line of each row: where its source begins, how many elements, their coefficients
 *   spdl_resize   a thread for each pixel of each row
 *
 * `make kernels` compiles this file to resize.ptx with clang; tests/cuda compiles it for the host, where INDEX and ROW are variables.
 * No operation here may be contracted: -ffp-contract=off. */
#include "place.h"

#ifdef __CUDA__
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device))
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define ROW __nvvm_read_ptx_sreg_ctaid_y()
#endif

enum { POINT = 22 }; /* bits of a coefficient after the point */

DEVICE double magnitude(double x) { return x < 0 ? -x : x; }

DEVICE double triangle(double x) {
    x = magnitude(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

DEVICE double cubic(double x) {
    const double a = -0.5;
    x = magnitude(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

DEVICE int fixed_point(double w) {
    const double one = (double)(1 << POINT);
    return w < 0 ? (int)(-0.5 + w * one) : (int)(0.5 + w * one);
}

/* The coefficients of output p of an axis of `in` elements that becomes `out`, into at: first element, count, count coefficients. */
DEVICE void weigh(int *at, int in, int out, int p, int taps, int bicubic) {
    at[0] = at[1] = 0;
    if (p < 0 || p >= out) return;
    if (in == out) {
        at[0] = p;
        at[1] = 1;
        at[2] = 1 << POINT;
        return;
    }
    const double scale = (double)in / out, filterscale = scale < 1.0 ? 1.0 : scale;
    const double support = (bicubic ? 2.0 : 1.0) * filterscale, inverse = 1.0 / filterscale;
    const double centre = (p + 0.5) * scale;
    int first = (int)(centre - support + 0.5), end = (int)(centre + support + 0.5);
    if (first < 0) first = 0;
    if (end > in) end = in;
    if (end - first > taps) end = first + taps; /* never: the host has counted */
    double sum = 0.0;
    for (int t = first; t < end; t++) {
        const double x = (t - centre + 0.5) * inverse;
        sum += bicubic ? cubic(x) : triangle(x);
    }
    for (int t = first; t < end; t++) {
        const double x = (t - centre + 0.5) * inverse;
        double w = bicubic ? cubic(x) : triangle(x);
        if (sum != 0.0) w /= sum;
        at[2 + t - first] = fixed_point(w);
    }
    at[0] = first;
    at[1] = end - first;
}

/* table: [places, w + h, 2 + taps]; the grid's y are the places. */
KERNEL spdl_weights(const gpu_place *places, int *table, int w, int h, int taps, int bicubic) {
    const int i = (int)INDEX;
    if (i >= w + h) return;
    const gpu_place *p = &places[ROW];
    int *at = table + ((long long)ROW * (w + h) + i) * (2 + taps);
    if (i < w)
        weigh(at, p->box_w, p->res_w, p->win_x + (p->flip ? w - 1 - i : i), taps, bicubic);
    else
        weigh(at, p->box_h, p->res_h, p->win_y + i - w, taps, bicubic);
}

DEVICE int to_byte(int sum) {
    sum >>= POINT;
    return sum < 0 ? 0 : sum > 255 ? 255 : sum;
}

/* to: [rows, h, w, 3]; the grid's y are the places. */
KERNEL spdl_resize(const gpu_place *places, const int *table, unsigned char *to, int w, int h, int taps) {
    const int i = (int)INDEX;
    if (i >= w * h) return;
    const gpu_place *p = &places[ROW];
    const int *of = table + (long long)ROW * (w + h) * (2 + taps);
    const int *x = of + (long long)(i % w) * (2 + taps), *y = of + (long long)(w + i / w) * (2 + taps);
    int r = 1 << (POINT - 1), g = r, b = r;
    const unsigned char *line =
        (const unsigned char *)p->from + (long long)(p->box_y + y[0]) * p->pitch + (long long)(p->box_x + x[0]) * 3;
    for (int v = 0; v < y[1]; v++, line += p->pitch) {
        int lr = 1 << (POINT - 1), lg = lr, lb = lr;
        for (int u = 0; u < x[1]; u++) {
            lr += line[3 * u] * x[2 + u];
            lg += line[3 * u + 1] * x[2 + u];
            lb += line[3 * u + 2] * x[2 + u];
        }
        r += to_byte(lr) * y[2 + v];
        g += to_byte(lg) * y[2 + v];
        b += to_byte(lb) * y[2 + v];
    }
    if (x[1] == 0 || y[1] == 0) r = g = b = 0; /* outside the picture */
    unsigned char *at = to + ((long long)p->row * w * h + i) * 3;
    at[0] = (unsigned char)to_byte(r);
    at[1] = (unsigned char)to_byte(g);
    at[2] = (unsigned char)to_byte(b);
}
