/* mp3.h - MPEG-1, 2 and 2.5 layer III (ISO/IEC 11172-3, 13818-3) into channels of floats: no library, no threads.
 *
 *     audio_mp3_open()   what the first frame says
 *     audio_mp3_count()  how many samples there are, by the frames' headers
 *     audio_mp3_decode() any of them; of what lies before, a frame or two are decoded
 *
 * Frames have to follow one another without a gap and be of one kind. What is not as encoders write it is refused as
 * AUDIO_MP3_ODD: where FFmpeg is there, it decides what such a file is. */
#ifndef SPDL_AUDIO_MP3_H
#define SPDL_AUDIO_MP3_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

enum {
    AUDIO_MP3_ODD = AUDIO_CORRUPT,

    AUDIO_MP3_LINES = 576, /* of a granule of one channel: values of its spectrum, and its samples */
    AUDIO_MP3_BANDS = 32,  /* of the filter bank, each of 18 lines */
    AUDIO_MP3_SLOTS = 18,  /* of a granule: what the filter bank makes at once are 32 samples */
    AUDIO_MP3_ROW = 40,    /* floats of a row of a spectrum: the bands, and room */
    AUDIO_MP3_RATES = 9,
    AUDIO_MP3_SCALES = 40, /* scale factors of a granule, at most */
    AUDIO_MP3_LONG = 22,   /* of long blocks */
    AUDIO_MP3_SHORT = 39,  /* of short ones: three of each band */
    AUDIO_MP3_BACK = 511,  /* bytes before a frame that its bits may begin at */
    AUDIO_MP3_ROOM = 2048, /* bytes that damaged bits may be read beyond their end, before that is seen */
};

/* One channel's side information. */
typedef struct audio_mp3_granule {
    int32_t bits;      /* of scale factors and lines */
    int32_t pairs_end; /* the line where pairs end and quads begin */
    int32_t gain;
    int32_t compress; /* how scale factors are packed */
    int32_t type;     /* of the window: 0 to 3; 2 is of short blocks */
    int32_t table[3];
    int32_t region[2]; /* the lines where the second and the third table begin */
    int32_t down[3];   /* of the short blocks, in steps of 8 */
    int32_t emphasis, coarse, quads;
    int32_t reuse; /* groups of the scale factors of the granule before: 4 bits */
} audio_mp3_granule;

/* One frame. */
typedef struct audio_mp3_frame {
    int32_t rate; /* 0 to 8: 44.1, 48, 32 kHz, half and quarter of those */
    int32_t lsf;  /* low sampling frequencies, MPEG-2 and 2.5: one granule a frame */
    int32_t channels, granules;
    int32_t middle, intensity;       /* how two channels are coded */
    int32_t silent;                  /* granules whose bits lie before what is known */
    audio_mp3_granule granule[2][2]; /* [granule][channel] */

    const uint8_t *bits; /* with AUDIO_MP3_ROOM bytes behind them */
    uint32_t at, end;    /* bits */
} audio_mp3_frame;

/* What one granule leaves to the next, of up to two signals. */
typedef struct audio_mp3_state {
    _Alignas(32) float overlap[2][2][AUDIO_MP3_SLOTS * AUDIO_MP3_BANDS];
    int32_t turn[2]; /* which of the two overlaps is the last one's */
    _Alignas(32) float bank[2][(15 + AUDIO_MP3_SLOTS) * 64];
    uint8_t scales[2][AUDIO_MP3_SCALES]; /* of the granule before */
    _Alignas(32) float lines[2][AUDIO_MP3_SLOTS * AUDIO_MP3_ROW];
} audio_mp3_state;

/* A step of a code, in one word, whose lowest 6 bits say how many bits are used up and whose next 4 what the upper half is:
 *     0: two values with their signs, 15 more than they are: the second in the highest byte
 *     1: two values without signs, which follow
 *     else: the number of the entry that the next bits, one less than this says, are counted from */
typedef uint32_t audio_mp3_code;

enum { AUDIO_MP3_CODE_MORE = 15 << 6 };

static inline audio_mp3_code audio_mp3_code_of(unsigned n, unsigned more, unsigned x, unsigned y) {
    return n | more << 6 | x << 16 | y << 24;
}
static inline unsigned audio_mp3_code_more(audio_mp3_code c) { return c >> 6 & 15; }

/* Two neighbouring lines: where they lie in the rows, and the number of their scale factor. */
typedef struct audio_mp3_pair {
    uint16_t place[2];
    uint32_t band;
} audio_mp3_pair;

enum {
    AUDIO_MP3_LOOK = 11,        /* bits looked at at once */
    AUDIO_MP3_CODES = 31 << 10, /* entries of all tables */
    AUDIO_MP3_LARGEST = 8206,   /* value of a line */
    AUDIO_MP3_STEPS_BELOW = 400,
    AUDIO_MP3_STEPS = 480, /* quarter powers of two */
};

typedef struct audio_mp3_tables {
    audio_mp3_code code[AUDIO_MP3_CODES];
    int32_t first[32];  /* of code: of each table that side information may name; -1: there is none */
    uint8_t linear[32]; /* bits that are added to a value of 15 */
    uint16_t quads[2][1 << AUDIO_MP3_LOOK]; /* bits used up, above four times two bits: 0, 1 or -1 */
    float power[AUDIO_MP3_LARGEST + 1];     /* i to the 4/3 */
    float small[31];                        /* the same with signs, of -15 to 15 */
    float step[AUDIO_MP3_STEPS];            /* 2^((i - AUDIO_MP3_STEPS_BELOW) / 4) */

    /* Of each rate, of long blocks and of short ones: where two lines lie in the rows, and whose scale factor is theirs; where scale factors end. */
    audio_mp3_pair pair[AUDIO_MP3_RATES][2][AUDIO_MP3_LINES / 2];
    uint16_t band_end[AUDIO_MP3_RATES][2][AUDIO_MP3_SCALES];

    float alias[8][2];   /* what is kept of a line, and what comes of its mirror image */
    float window[4][36]; /* of each type of long blocks, with the last factor of the transform */
    float short_window[12];
    float long_even[5][4], long_odd[4][4], long_half[9]; /* of a cosine transform of nine points */
    float short_cosine[6][6];
    _Alignas(32) float bank_fourth[8][8], bank_half[8][8],
        bank_odd[16][16];                   /* [input][output] of one of 32 points */
    _Alignas(32) float bank_window[16][32]; /* of even outputs, then of odd ones */
    float intensity[3][2][16];              /* of MPEG-1, and of the two of MPEG-2: [left or right] */
} audio_mp3_tables;

struct audio_kernels;
typedef struct audio_mp3 audio_mp3;

void audio_mp3_prepare(void); /* once, before all else */
extern audio_mp3_tables audio_mp3_table;

audio_mp3 *audio_mp3_new(void); /* NULL when there is no memory */
void audio_mp3_free(audio_mp3 *m);
const char *audio_mp3_detail(const audio_mp3 *m); /* of what failed last */

/* The source's bytes, of which the first frame begins at `first`, stay until close. What lies behind the last frame that a header counts is
 * passed over; where that is another MP3 the file is AUDIO_UNSUPPORTED. */
int audio_mp3_open(audio_mp3 *m, const struct audio_kernels *k, const audio_source *source, int64_t first,
                   int64_t budget_ns, int32_t *rate, int32_t *channels);
void audio_mp3_close(audio_mp3 *m);

/* How many samples a header counts, without a look at the frames; -1: none does. */
int64_t audio_mp3_counted(const audio_mp3 *m);

/* How many there have to be for that; -1: no header counts. */
int64_t audio_mp3_least(const audio_mp3 *m);

/* How many samples there are; those beyond end (-1: none) need not be counted. */
int audio_mp3_count(audio_mp3 *m, int64_t end, int64_t *total);

/* Samples [first, first + n) of what is wanted (AUDIO_LEFT, ...), the i-th of two to dst[i]. They are known to be there. */
int audio_mp3_decode(audio_mp3 *m, int wanted, int64_t first, int64_t n, float *const dst[2]);

#endif
