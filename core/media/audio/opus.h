/* opus.h - a decoder of Opus (RFC 6716, RFC 8251), of what it codes by transform (CELT) in frames of 20 ms, one channel or two: its packets, straight
 * to floats at 48 kHz.
 *
 * What is not so is reported as AUDIO_OPUS_ODD: whoever knows what others make of such a file is. */
#ifndef SPDL_AUDIO_OPUS_H
#define SPDL_AUDIO_OPUS_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "cosines.h"

enum {
    AUDIO_OPUS_ODD = AUDIO_CORRUPT,
    AUDIO_OPUS_LINES = 960, /* of a frame of one channel: values of its spectrum, and its samples */
    AUDIO_OPUS_SHORT = 120, /* of one of eight short blocks; and how much two frames overlap */
    AUDIO_OPUS_BANDS = 21,
    AUDIO_OPUS_FRAME = 1275,   /* bytes, at most */
    AUDIO_OPUS_HISTORY = 1024, /* samples that the filter of pitches reads back */
    AUDIO_OPUS_PULSES = 176,   /* in a band, and lines of one, at most */
};

/* A filter of pitches: what it adds of one period before, and of the samples around that. */
typedef struct audio_opus_pitch {
    int32_t period;
    float gain[3];
} audio_opus_pitch;

/* A frame's samples, and what it leaves to the next. */
typedef struct audio_opus_state {
    _Alignas(32) float lines[2][AUDIO_OPUS_LINES];
    _Alignas(32) float samples[2][AUDIO_OPUS_LINES];
    /* What was made before, then this frame before it is de-emphasised, then the beginning of what overlaps the next. */
    _Alignas(32) float signal[2][AUDIO_OPUS_HISTORY + AUDIO_OPUS_LINES + AUDIO_OPUS_SHORT];
    float last[2]; /* sample before this frame, before it is scaled */
    /* Logarithms to the base of 2 of each band's level over its mean: of this frame, of the last one or more, and of those before. */
    float level[2][AUDIO_OPUS_BANDS], before[2][AUDIO_OPUS_BANDS], earlier[2][AUDIO_OPUS_BANDS];
    audio_opus_pitch pitch;
    uint32_t noise; /* the state of the generator of noise */
} audio_opus_state;

enum {
    AUDIO_OPUS_LISTS = 23,
    AUDIO_OPUS_COSTS = 42,
    AUDIO_OPUS_SHARES = 272, /* eighths of bits; one more than any list has costs for */
};

typedef struct audio_opus_costs {
    uint8_t cost[AUDIO_OPUS_COSTS];    /* how many follow, and what they are */
    uint8_t pulses[AUDIO_OPUS_SHARES]; /* that a share pays; the last one all */
} audio_opus_costs;

typedef struct audio_opus_tables {
    audio_cosines cosines;
    _Alignas(32) float rise[AUDIO_OPUS_SHORT]; /* of the overlap */
    audio_opus_costs list[AUDIO_OPUS_LISTS];
    const audio_opus_costs *costs[5][AUDIO_OPUS_BANDS]; /* of a band that was halved 4 times, 3 times, ... */
    /* How many ways there are to place k pulses on n lines that do not begin with a negative one, of as many as 32 bits can count. */
    uint32_t ways[AUDIO_OPUS_PULSES + 1][AUDIO_OPUS_PULSES + 2];
} audio_opus_tables;

/* Frames of a stream, whose bytes lie in pieces of the source. They stay where they are until close. */
typedef struct audio_opus_frames {
    const int64_t *piece, *piece_at; /* where each piece begins: in the stream, and in the source */
    int64_t pieces;
    const int64_t *at; /* of each frame: its first byte, in the stream */
    const int16_t *bytes;
    const uint8_t *bands; /* that it has */
    int64_t n;
    int32_t channels;
    int64_t skip; /* samples before the sound */
} audio_opus_frames;

struct audio_kernels;
typedef struct audio_opus audio_opus;

void audio_opus_prepare(void); /* once, before all else */
extern audio_opus_tables audio_opus_table;

audio_opus *audio_opus_new(void); /* NULL when there is no memory */
void audio_opus_free(audio_opus *o);
const char *audio_opus_detail(const audio_opus *o); /* of what failed last */

/* The source's bytes stay until close. The first frame is decoded, so that what is odd shows. */
int audio_opus_open(audio_opus *o, const struct audio_kernels *k, const audio_source *source,
                    const audio_opus_frames *frames, int64_t budget_ns);
void audio_opus_close(audio_opus *o);

/* Samples [first, first + n) of what is wanted (AUDIO_LEFT, ...), the i-th of two to dst[i]. They are known to be there. A frame needs all before
 * it. */
int audio_opus_decode(audio_opus *o, int wanted, int64_t first, int64_t n, float *const dst[2]);

#endif
