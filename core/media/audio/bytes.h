/* bytes.h - a sample's bytes, in memory or in a file that is read piece by piece. */
#ifndef SPDL_AUDIO_BYTES_H
#define SPDL_AUDIO_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct audio_source {
    const uint8_t *data; /* NULL: the file */
    int fd;
    int64_t size;
} audio_source;

/* A piece of a file. */
typedef struct audio_bytes {
    audio_source from;
    uint8_t *piece;
    int64_t piece_at;
    size_t piece_n, piece_cap;
} audio_bytes;

enum { AUDIO_BYTES_OK = 0, AUDIO_BYTES_ENDED, AUDIO_BYTES_READ, AUDIO_BYTES_NO_MEMORY };

/* Let p be the bytes from at on, until the next call: `want` of them, or those that are there, and of a file `ahead` if more come
 * at once. ENDED: the file is shorter than it was; READ: errno says why. */
int audio_bytes_view(audio_bytes *b, int64_t at, size_t want, size_t ahead, const uint8_t **p, size_t *n);

void audio_bytes_begin(audio_bytes *b, const audio_source *from);
void audio_bytes_end(audio_bytes *b, size_t keep); /* a piece of more than keep bytes is given back */
void audio_bytes_free(audio_bytes *b);

#endif
