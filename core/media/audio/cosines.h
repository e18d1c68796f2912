/* cosines.h - the cosine transforms of the fourth kind that decoders make samples with: d[n] = the sum of x[k] cos(pi / N (n + 1/2) (k + 1/2)), of
 * N = 16 * points values, or of eight times N = 2 * points. They are Fourier transforms of half as many complex values, which are eight of so many points,
 * one in each lane; eight long ones are then joined. */
#ifndef SPDL_AUDIO_COSINES_H
#define SPDL_AUDIO_COSINES_H

#include <stdint.h>

enum { AUDIO_COSINES_POINTS = 64 }; /* at most */

typedef struct audio_cosines {
    int32_t points; /* a multiple of 4 with no prime factor above 5 */
    int32_t n_factors, factor[4];
    /* exp(-i pi (n + 1/8) / N), of the long one's N and of the short one's; exp(-2 pi i k / points); exp(-2 pi i k lane / (8 * points)). */
    _Alignas(32) float long_turn[2][8 * AUDIO_COSINES_POINTS];
    float short_turn[2][AUDIO_COSINES_POINTS];
    float circle[2][AUDIO_COSINES_POINTS];
    _Alignas(32) float lane_turn[2][AUDIO_COSINES_POINTS][8];
} audio_cosines;

void audio_cosines_make(audio_cosines *t, int32_t points);

#endif
