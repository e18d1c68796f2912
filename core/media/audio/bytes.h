/* bytes.h - what decoders of our own read: a sample's bytes, in memory or in a file that is read piece by piece; how long that may take; and
 * what went wrong. */
#ifndef SPDL_AUDIO_BYTES_H
#define SPDL_AUDIO_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "../far/far.h"

/* Statuses, those of core/media/av among them. */
enum {
    AUDIO_OK = 0,
    AUDIO_TRUNCATED = -1,
    AUDIO_CORRUPT = -2,
    AUDIO_READ = -6,
    AUDIO_UNSUPPORTED = -10,
    AUDIO_NO_MEMORY = -22,
    AUDIO_TOO_SLOW = -25,
};

/* What is decoded: one channel, both, or their mean, which takes less than two of them. */
enum { AUDIO_LEFT = 1, AUDIO_RIGHT = 2, AUDIO_MEAN = 4 };

typedef struct audio_source {
    const uint8_t *data; /* NULL: the file */
    media_far far;       /* none: the descriptor */
    int fd;
    int64_t offset; /* in the file */
    int64_t size;
} audio_source;

typedef struct audio_bytes {
    audio_source from;
    int64_t deadline_ns; /* 0: none */

    /* A piece of a file. */
    uint8_t *piece;
    int64_t piece_at;
    size_t piece_n, piece_cap;

    char detail[160]; /* of what failed last */
} audio_bytes;

/* budget_ns: for all until the end; 0: none. */
void audio_bytes_begin(audio_bytes *b, const audio_source *from, int64_t budget_ns);
void audio_bytes_end(audio_bytes *b, size_t keep); /* a piece of more than keep bytes is given back */
void audio_bytes_free(audio_bytes *b);

/* Let p be the bytes from at on, until the next call: `want` of them, or those that are there, and of a file `ahead` if more come
 * at once. */
int audio_bytes_view(audio_bytes *b, int64_t at, size_t want, size_t ahead, const uint8_t **p, size_t *n);

int audio_bytes_in_time(audio_bytes *b); /* or AUDIO_TOO_SLOW */

/* Note what failed, and return status. */
__attribute__((format(printf, 3, 4))) int audio_bytes_fail(audio_bytes *b, int status, const char *format,
                                                           ...);

#endif
