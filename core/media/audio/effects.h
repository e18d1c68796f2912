/* effects.h - what changes a waveform or measures it, in the precision of doubles and in one order of sums, so that every instruction
 * set gives the same bytes. */
#ifndef SPDL_AUDIO_EFFECTS_H
#define SPDL_AUDIO_EFFECTS_H

#include <stddef.h>

double audio_sum(const float *x, size_t n);

/* The sum of (x[i] - from)^2. */
double audio_deviation(const float *x, size_t n, double from);

/* x[i] = (x[i] - minus) * by. */
void audio_standardize(float *x, size_t n, double minus, double by);

/* x[i] += by * y[i]. */
void audio_add(float *x, const float *y, size_t n, float by);

/* x[i] -= coefficient * x[i - 1], of x as it was; the first stays. */
void audio_pre_emphasize(float *x, size_t n, float coefficient);

enum { AUDIO_COLOUR_ORDER = 3 };

/* The filter b over a, a[0] being 1, which begins at rest. */
void audio_colour(float *x, size_t n, const double b[AUDIO_COLOUR_ORDER + 1],
                  const double a[AUDIO_COLOUR_ORDER + 1]);

#endif
