/* aac.h - a decoder of AAC, low complexity, of one channel or two (ISO/IEC 14496-3, subpart 4): its packets, which ADTS or an MP4 hold, straight
 * to floats.
 *
 * What encoders do not write is reported as AUDIO_AAC_ODD: whoever knows what others make of such a file is. */
#ifndef SPDL_AUDIO_AAC_H
#define SPDL_AUDIO_AAC_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "cosines.h"

enum {
    AUDIO_AAC_ODD = AUDIO_CORRUPT,
    AUDIO_AAC_NOISE = 1, /* a frame needs what all frames before it have drawn */
    AUDIO_AAC_DRAWS = 8, /* in place of channels that are wanted: what a frame draws of noise */

    AUDIO_AAC_LINES = 1024, /* of a frame of one channel: values of its spectrum, and its samples */
    AUDIO_AAC_SHORT = 128,  /* of one of eight short blocks */
    AUDIO_AAC_RATES = 12,
    AUDIO_AAC_BOOKS = 11,
    AUDIO_AAC_BANDS =
        120, /* of a frame, at most: those of short blocks are counted in each group of blocks */
    AUDIO_AAC_PACKET = 8191, /* bytes, at most */
    AUDIO_AAC_ROOM = 4096,   /* bytes that damaged bits may be read beyond their end, before that is seen */
};

/* Sequences of windows. */
enum { AUDIO_AAC_LONG, AUDIO_AAC_START, AUDIO_AAC_EIGHT, AUDIO_AAC_STOP };

/* A packet, with AUDIO_AAC_ROOM bytes behind it. */
typedef struct audio_aac_frame {
    const uint8_t *bits;
    uint32_t at, end; /* bits */
    int32_t rate;     /* 0 to 11: 96 to 8 kHz */
    int32_t channels;
    int32_t faac; /* out: it says that libfaac made it */
} audio_aac_frame;

/* A frame's samples, and what it leaves to the next, of up to two signals. */
typedef struct audio_aac_state {
    _Alignas(32) float lines[2][AUDIO_AAC_LINES];
    _Alignas(32) float samples[2][AUDIO_AAC_LINES];
    _Alignas(32) float end[2][AUDIO_AAC_LINES];
    int32_t sequence[2], shape[2]; /* of the windows of each channel's last frame */
    int32_t joined;                /* the first end is that of both channels */
    int32_t begun;                 /* there was a frame */
    uint32_t noise;                /* the state of the generator of noise */
    int32_t knows_noise;
} audio_aac_state;

enum {
    AUDIO_AAC_LOOK = 11,    /* bits looked at at once */
    AUDIO_AAC_LONGEST = 19, /* bits of a code */
    AUDIO_AAC_STEPS_BELOW = 256,
    AUDIO_AAC_STEPS = 512, /* quarter powers of two */
};

/* Codes of one book, shorter ones first: those of n bits are followed by those of n + 1. */
typedef struct audio_aac_book {
    const uint16_t *symbols;
    uint32_t
        limit[AUDIO_AAC_LONGEST +
              1]; /* of n bits: where longer codes begin, all of them seen as of AUDIO_AAC_LONGEST bits */
    int32_t first[AUDIO_AAC_LONGEST + 1]; /* of n bits: the number of its first symbol, less its code */
} audio_aac_book;

/* What AUDIO_AAC_LOOK bits tell: how many are used up, signs among them, and from bit 4 on the values: the number of four of them, or two of 6 bits
 * each, 16 more than they are. 0: not enough bits. */
typedef uint16_t audio_aac_code;

typedef struct audio_aac_tables {
    audio_aac_book book[AUDIO_AAC_BOOKS], scales;
    audio_aac_code code[AUDIO_AAC_BOOKS][1 << AUDIO_AAC_LOOK];
    uint16_t scale
        [1
         << AUDIO_AAC_LOOK]; /* bits used up, and from bit 8 on the difference, 60 more than it is; 0: not enough bits */

    _Alignas(16) float four[625][4]; /* powers of four values of -2 to 2 */
    float small[33];                 /* those of -16 to 16 */
    float step[AUDIO_AAC_STEPS];     /* 2^((i - AUDIO_AAC_STEPS_BELOW) / 4) */
    _Alignas(16) uint32_t noise_factor[4],
        noise_sum[4]; /* of one to four steps of the generator of noise: x becomes x * factor + sum */
    float tns[2][16]; /* of 3 bits and 4: sines */

    uint16_t long_at[AUDIO_AAC_RATES][53], short_at[AUDIO_AAC_RATES][17]; /* the line where a band begins */
    uint8_t n_long[AUDIO_AAC_RATES], n_short[AUDIO_AAC_RATES];

    audio_cosines cosines;
    /* Windows, of sines and of Kaiser and Bessel: a long one's rise, that which is flat but for a short one's, and a short one's. */
    _Alignas(32) float rise[2][AUDIO_AAC_LINES], late[2][AUDIO_AAC_LINES], short_rise[2][AUDIO_AAC_SHORT];
} audio_aac_tables;

/* Packets of a stream. They stay where they are until close. */
typedef struct audio_aac_packets {
    const int64_t *at; /* bytes of the source */
    const int32_t *bytes;
    int64_t n;
    int32_t rate, channels; /* as of audio_aac_frame */
    int64_t skip;           /* samples before the sound */
} audio_aac_packets;

struct audio_kernels;
typedef struct audio_aac audio_aac;

void audio_aac_prepare(void); /* once, before all else */
extern audio_aac_tables audio_aac_table;

audio_aac *audio_aac_new(void); /* NULL when there is no memory */
void audio_aac_free(audio_aac *a);
const char *audio_aac_detail(const audio_aac *a); /* of what failed last */

/* The source's bytes stay until close. The first packet is decoded, so that what is odd shows; what it says of the samples before the sound is true,
 * and in *skip. */
int audio_aac_open(audio_aac *a, const struct audio_kernels *k, const audio_source *source,
                   const audio_aac_packets *packets, int64_t budget_ns, int64_t *skip);
void audio_aac_close(audio_aac *a);

/* Samples [first, first + n) of what is wanted (AUDIO_LEFT, ...), the i-th of two to dst[i]. They are known to be there. */
int audio_aac_decode(audio_aac *a, int wanted, int64_t first, int64_t n, float *const dst[2]);

#endif
