/* convolve.c - see convolve.h.
 *
 * The sound is cut into pieces that overlap by taps - 1, of which the transform of a circle gives all but these (overlap-save). As
 * the filter is real, two pieces go through one complex transform, as its real and its imaginary part. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include "convolve.h"

#include <math.h>
#include <string.h>

static const double PI = 3.141592653589793;

void audio_convolve_turns(size_t points, double *turns) {
    for (size_t i = 0; i < points / 2; i++) {
        double angle = -2 * PI * (double)i / (double)points;
        turns[2 * i] = cos(angle);
        turns[2 * i + 1] = sin(angle);
    }
}

static void swap(double *a, double *b) {
    double re = a[0], im = a[1];
    a[0] = b[0];
    a[1] = b[1];
    b[0] = re;
    b[1] = im;
}

/* Element i goes to the place whose bits are i's in the other order. */
static void reorder(double *z, size_t points) {
    for (size_t i = 1, j = 0; i < points; i++) {
        size_t bit = points >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) swap(z + 2 * i, z + 2 * j);
    }
}

/* In place; pairs of doubles. */
static void transform(double *z, size_t points, const double *turns) {
    reorder(z, points);
    for (size_t half = 1; half < points; half *= 2) {
        size_t step = points / (2 * half);
        for (size_t first = 0; first < points; first += 2 * half) {
            double *a = z + 2 * first, *b = a + 2 * half;
            for (size_t i = 0; i < half; i++, a += 2, b += 2) {
                const double *w = turns + 2 * i * step;
                double re = b[0] * w[0] - b[1] * w[1], im = b[0] * w[1] + b[1] * w[0];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

/* z = conj(z h): transformed once more and conjugated again, it is the way back, times points. */
static void filter(double *z, const double *h, size_t points) {
    for (size_t i = 0; i < 2 * points; i += 2) {
        double re = z[i] * h[i] - z[i + 1] * h[i + 1], im = z[i] * h[i + 1] + z[i + 1] * h[i];
        z[i] = re;
        z[i + 1] = -im;
    }
}

/* The real (part 0) or the imaginary parts of z become x from `at` on, which may lie outside of it. */
static void load(double *z, int part, size_t points, const float *x, size_t n, ptrdiff_t at) {
    for (size_t i = 0; i < points; i++, at++)
        z[2 * i + (size_t)part] = at >= 0 && (size_t)at < n ? (double)x[at] : 0;
}

void audio_convolve(const float *x, size_t n, const float *h, size_t taps, double by, size_t from,
                    size_t points, const double *turns, double *room, float *y) {
    double *spectrum = room, *z = room + 2 * points;
    size_t piece = points - taps + 1;
    memset(spectrum, 0, 2 * points * sizeof *spectrum);
    for (size_t i = 0; i < taps; i++) spectrum[2 * i] = by * h[i] / (double)points;
    transform(spectrum, points, turns);
    for (size_t done = 0; done < n; done += 2 * piece) {
        for (int part = 0; part < 2; part++)
            load(z, part, points, x, n,
                 (ptrdiff_t)(done + from + (size_t)part * piece) - (ptrdiff_t)(taps - 1));
        transform(z, points, turns);
        filter(z, spectrum, points);
        transform(z, points, turns);
        for (size_t i = 0; i < 2 * piece && done + i < n; i++) {
            const double *of = z + 2 * (taps - 1 + i % piece);
            y[done + i] = (float)(i < piece ? of[0] : -of[1]);
        }
    }
}
