/* effects.c - see effects.h. */
#include "effects.h"

enum { SUMS = 4 }; /* that are formed side by side, so that none waits for the one before */

double audio_sum(const float *x, size_t n) {
    double sum[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int k = 0; k < SUMS; k++) sum[k] += x[i + k];
    for (; i < n; i++) sum[0] += x[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double audio_deviation(const float *x, size_t n, double from) {
    double sum[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int k = 0; k < SUMS; k++) sum[k] += (x[i + k] - from) * (x[i + k] - from);
    for (; i < n; i++) sum[0] += (x[i] - from) * (x[i] - from);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void audio_standardize(float *x, size_t n, double minus, double by) {
    for (size_t i = 0; i < n; i++) x[i] = (float)((x[i] - minus) * by);
}

void audio_add(float *x, const float *y, size_t n, float by) {
    for (size_t i = 0; i < n; i++) x[i] += by * y[i];
}

void audio_pre_emphasize(float *x, size_t n, float coefficient) {
    for (size_t i = n; i-- > 1;) x[i] -= coefficient * x[i - 1];
}

void audio_colour(float *x, size_t n, const double b[AUDIO_COLOUR_ORDER + 1],
                  const double a[AUDIO_COLOUR_ORDER + 1]) {
    double kept[AUDIO_COLOUR_ORDER + 1] = {0}; /* direct form II transposed */
    for (size_t i = 0; i < n; i++) {
        double in = x[i], out = b[0] * in + kept[0];
        for (int k = 0; k < AUDIO_COLOUR_ORDER; k++) kept[k] = b[k + 1] * in - a[k + 1] * out + kept[k + 1];
        x[i] = (float)out;
    }
}
