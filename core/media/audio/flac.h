/* flac.h - native FLAC (RFC 9639) into channels of floats: no library, no threads.
 *
 *     audio_flac_open()   what the first frame says; metadata were read before (flac.go)
 *     audio_flac_count()  how many samples there are
 *     audio_flac_decode() any of them; what lies before is not decoded where it need not be
 *
 * A frame is believed when both of its checksums are right and it begins where the one before it ended. */
#ifndef SPDL_AUDIO_FLAC_H
#define SPDL_AUDIO_FLAC_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

enum {
    AUDIO_FLAC_MORE = 1,      /* in place of a status, of a frame: its bytes end before it does */
    AUDIO_FLAC_BLOCK = 65535, /* samples of a frame */
};

/* What two channels hold, by a frame header's number; all below 8 are channels by themselves. */
enum { AUDIO_FLAC_LEFT_SIDE = 8, AUDIO_FLAC_SIDE_RIGHT = 9, AUDIO_FLAC_MID_SIDE = 10 };

/* One frame. */
typedef struct audio_flac_frame {
    /* Its header's. */
    int64_t start; /* its first sample's number in the sound */
    int32_t n;     /* samples of a channel */
    int32_t channels, bits, mode;
    size_t head; /* bytes */

    /* What is in it. */
    int32_t *samples; /* channel c from c * n on, as coded */
    int64_t *side;    /* that of 32-bit channels, which has 33 bits */
    size_t bytes;
} audio_flac_frame;

/* What metadata say of a sound, and where its frames are. */
typedef struct audio_flac_source {
    audio_source from;
    int64_t first; /* the byte of the first frame */
    int64_t total; /* samples of a channel; 0: not known */
    int32_t channels, bits, rate;
    int64_t budget_ns; /* for all until close; 0: none */
} audio_flac_source;

struct audio_kernels;
typedef struct audio_flac audio_flac;

audio_flac *audio_flac_new(void); /* NULL when there is no memory */
void audio_flac_free(audio_flac *f);
const char *audio_flac_detail(const audio_flac *f); /* of what failed last */

/* The source's bytes stay until close. */
int audio_flac_open(audio_flac *f, const struct audio_kernels *k, const audio_flac_source *source);
void audio_flac_close(audio_flac *f);

/* How many samples there are, up to end (-1: all): those that metadata count, which the last frame has to bear out, or
 * those that are there. */
int audio_flac_count(audio_flac *f, int64_t end, int64_t *total);

/* Samples [first, first + n) of the channels taken, of which the i-th goes to dst + i * stride. */
int audio_flac_decode(audio_flac *f, const int32_t *take, int n_take, int64_t first, int64_t n, float *dst,
                      size_t stride);

#endif
