/* convolve.h - a sound through a long filter, by a Fourier transform in doubles. */
#ifndef SPDL_AUDIO_CONVOLVE_H
#define SPDL_AUDIO_CONVOLVE_H

#include <stddef.h>

/* points: a power of two, 4 or more. turns has points doubles, room four times as many. */
void audio_convolve_turns(size_t points, double *turns);

/* y[i] is the sum over k of by * h[k] * x[i + from - k], for i < n, x being zero outside of its n. taps: 1 to points. y is not x. */
void audio_convolve(const float *x, size_t n, const float *h, size_t taps, double by, size_t from,
                    size_t points, const double *turns, double *room, float *y);

#endif
