/* kernels.h - the arithmetic behind core/media/audio: sample formats, polyphase
 * resampling, spectra, loudness. No state, no allocation except audio_spectrum_new().
 *
 * Every kernel is written once, over vectors of eight floats (kernels_isa.h), and
 * compiled twice: for AVX2 and for any processor. No compiler may fuse a
 * multiplication with an addition (gcc's default in -std=c11, a pragma for
 * clang), and sums are formed in the same order, so both give the same bytes. */
#ifndef SPDL_AUDIO_KERNELS_H
#define SPDL_AUDIO_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "flac.h"
#include "aac.h"
#include "mp3.h"
#include "opus.h"

/* How one sample is stored; multi-byte ones little-endian, as the machines we run on, but for those that say BE. */
enum {
    AUDIO_U8 = 0,
    AUDIO_S16 = 1,
    AUDIO_S24 = 2,
    AUDIO_S32 = 3,
    AUDIO_F32 = 4,
    AUDIO_F64 = 5,
    AUDIO_S8 = 6,
    AUDIO_S16BE = 7,
    AUDIO_S24BE = 8,
    AUDIO_S32BE = 9,
    AUDIO_F32BE = 10,
    AUDIO_F64BE = 11,
    AUDIO_MULAW = 12,
    AUDIO_ALAW = 13,
};

enum {
    AUDIO_LANES = 8,      /* floats that kernels work on at once */
    AUDIO_MAX_RADIX = 61, /* the largest prime factor of an FFT */
    AUDIO_MAX_FACTORS = 32,
};

/* A real FFT of n_fft points over AUDIO_LANES frames at once, its window, and
 * what is made of the power. Read-only once made; any number of threads may share it. */
typedef struct audio_spectrum {
    int32_t n_fft, hop, bins; /* bins: n_fft / 2 + 1 */
    int32_t m;                /* points of the complex FFT: n_fft / 2, or n_fft where that is odd */
    int32_t n_factors, factor[AUDIO_MAX_FACTORS];
    int32_t magnitude;              /* 1: |X|, 0: |X|^2 */
    int32_t n_mels;                 /* 0: the bins themselves */
    float *window;                  /* n_fft, scaled */
    float *cosine, *sine;           /* of -2 pi i / m, i < m: the twiddles */
    float *turn_cosine, *turn_sine; /* of -2 pi i / n_fft, i < bins: the last step of a real FFT */
    int32_t *mel_first, *mel_count; /* bins that band i reads */
    float **mel_weight;
} audio_spectrum;

/* Copies everything. mel_* are NULL where n_mels is 0; mel_weight holds the bands' weights one after the
 * other. NULL when there is no memory. n_fft has no prime factor above AUDIO_MAX_RADIX. */
audio_spectrum *audio_spectrum_new(int32_t n_fft, int32_t hop, int32_t magnitude, const float *window,
                                   int32_t n_mels, const int32_t *mel_first, const int32_t *mel_count,
                                   const float *mel_weight);
void audio_spectrum_free(audio_spectrum *s);
size_t audio_spectrum_scratch(const audio_spectrum *s); /* floats */

/* The bank of one instruction set. */
typedef struct audio_kernels {
    const char *isa;

    /* n samples, stride_bytes apart, to floats: u8 (x - 128) / 2^7, s8 x / 2^7, s16 x / 2^15, s24 x / 2^23, s32
     * x / 2^31, f32 and f64 as they are, mu-law and A-law as the s16 of G.711. src needs no alignment. */
    void (*from_pcm)(const uint8_t *src, int encoding, size_t stride_bytes, size_t n, float *dst);

    /* n floats to int16: round(x * 2^15), half to even, held to the type's range; NaN becomes 0. Every
     * dst_step-th element of dst is written. */
    void (*to_s16)(const float *src, size_t n, int16_t *dst, size_t dst_step);

    /* The mean over channels: the sum, first channel first, divided by their number. */
    void (*mean)(const float *src, size_t channel_stride, int channels, size_t n, float *dst);

    /* Output j of [first, first + n) is the dot product of the n_taps taps of phase j mod phases with x from
     * (j / phases) * step + start[phase]. n_taps is a multiple of AUDIO_LANES. */
    void (*polyphase)(const float *x, const float *taps, const int32_t *start, int32_t n_taps, int32_t phases,
                      int32_t step, int64_t first, int64_t n, float *y);

    /* frames spectra (or mel bands) of x, frame t from x[t * hop]: value r of frame t goes to
     * out[r * row_step + t * time_step]. */
    void (*spectra)(const audio_spectrum *s, const float *x, int64_t frames, float *scratch, float *out,
                    size_t row_step, size_t time_step);

    /* x[i] = scale * ln(max(x[i], floor) + offset), in place; returns the largest. */
    float (*log)(float *x, size_t n, float floor, float offset, float scale);

    void (*scale)(float *x, size_t n, float by);
    void (*at_least)(float *x, size_t n, float floor);
    float (*peak)(const float *x, size_t n); /* largest |x|; NaN counts as nothing */

    /* y row r = sum over c of matrix[r * cols + c] * x row c; rows of n floats. */
    void (*matrix)(const float *matrix, int32_t rows, int32_t cols, const float *x, size_t x_row, size_t n,
                   float *y, size_t y_row);

    /* n standard normal numbers of a channel under a key, from number 4 * block on (../normal_isa.h). */
    void (*normals)(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst);

    /* What a FLAC frame of at most size bytes holds, of which the header is known, and how many bytes it has: a status of
     * flac.h. There is room for its samples. */
    int (*flac_frame)(const uint8_t *p, size_t size, audio_flac_frame *frame);

    /* n samples of a frame's channel c, from skip on, over 2^(bits - 1). */
    void (*flac_floats)(const audio_flac_frame *frame, int c, size_t skip, size_t n, float *dst);

    /* The checksum of so many bytes of FLAC; table[i]: that of a byte with i zeros behind it. */
    unsigned (*flac_checksum)(const uint16_t table[8][256], const uint8_t *p, size_t n);

    /* The samples of a frame of MPEG layer III whose side information is known: to to[0] and to[1], or a mean to to[0]. Returns a status. */
    int (*mp3_frame)(audio_mp3_state *state, audio_mp3_frame *frame, int wanted, float *const to[2]);

    /* The samples of a packet of AAC, to state->samples[i] of each signal i that is wanted; of none, it is read alone. Returns a status. */
    int (*aac_frame)(audio_aac_state *state, audio_aac_frame *frame, int wanted);

    /* The samples of a frame of Opus, of n bytes, so many channels and so many bands, to state->samples[i] of each signal i that is wanted; of none, it
     * is read alone. Returns a status. */
    int (*opus_frame)(audio_opus_state *state, const uint8_t *p, size_t n, int channels, int bands,
                      int wanted);
} audio_kernels;

extern const audio_kernels audio_portable;
extern const audio_kernels audio_avx2; /* x86-64 alone */
const audio_kernels *audio_best(void); /* for this processor */

/* Two biquads (b0 b1 b2 a1 a2 each, a0 being 1) over one channel, and the squares of what comes out summed:
 * block i is [i * step, i * step + size), and energy[i] grows by weight times its mean. */
void audio_gated_energy(const float *x, size_t n, const double biquad[10], size_t size, size_t step,
                        double weight, double *energy);

#endif
