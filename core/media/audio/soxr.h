/* soxr.h - libsoxr's resampler, found when it is first asked for. It is a library of its own, which FFmpeg's swresample, sox and PulseAudio bring along;
 * what is called of it is declared here, as version 0.1 of its ABI has it. */
#ifndef SPDL_AUDIO_SOXR_H
#define SPDL_AUDIO_SOXR_H

#include <stddef.h>
#include <stdint.h>

/* NULL, or why there is none, which stays valid. Any number of threads may ask. */
const char *audio_soxr_load(void);

/* n frames of each channel at rate from, at the quality that soxr calls HQ, become the first n_out frames at rate to; what soxr does not fill is zero. Channels
 * lie stride floats apart. Returns NULL, or what soxr says. The library has to be loaded. */
const char *audio_soxr_resample(const float *in, size_t in_stride, int64_t n, int from, float *out,
                                size_t out_stride, int64_t n_out, int to, int channels);

#endif
