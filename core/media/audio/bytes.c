/* bytes.c - see bytes.h. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"

void audio_bytes_begin(audio_bytes *b, const audio_source *from) {
    b->from = *from;
    b->piece_n = 0;
}

void audio_bytes_free(audio_bytes *b) {
    free(b->piece);
    b->piece = NULL;
    b->piece_n = b->piece_cap = 0;
}

void audio_bytes_end(audio_bytes *b, size_t keep) {
    b->from.data = NULL;
    b->piece_n = 0;
    if (b->piece_cap > keep) audio_bytes_free(b);
}

static int read_piece(audio_bytes *b, int64_t at, size_t kept, size_t room) {
    b->piece_at = at;
    b->piece_n = kept;
    while (b->piece_n < room) {
        ssize_t got = pread(b->from.fd, b->piece + b->piece_n, room - b->piece_n, at + (int64_t)b->piece_n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return AUDIO_BYTES_READ;
        if (got == 0) return AUDIO_BYTES_ENDED;
        b->piece_n += (size_t)got;
    }
    return AUDIO_BYTES_OK;
}

int audio_bytes_view(audio_bytes *b, int64_t at, size_t want, size_t ahead, const uint8_t **p, size_t *n) {
    size_t there = (size_t)(b->from.size - at);
    if (want > there) want = there;
    if (b->from.data) {
        *p = b->from.data + at;
        *n = there;
        return AUDIO_BYTES_OK;
    }
    size_t before = (size_t)(at - b->piece_at), kept = 0;
    if (at >= b->piece_at && before <= b->piece_n) kept = b->piece_n - before;
    if (kept < want) {
        size_t room = want > ahead ? want : ahead < there ? ahead : there;
        if (room > b->piece_cap) {
            uint8_t *grown = realloc(b->piece, room);
            if (!grown) return AUDIO_BYTES_NO_MEMORY;
            b->piece = grown;
            b->piece_cap = room;
        }
        if (kept) memmove(b->piece, b->piece + before, kept);
        before = 0;
        int rc = read_piece(b, at, kept, room);
        if (rc != AUDIO_BYTES_OK) return rc;
    }
    *p = b->piece + before;
    *n = b->piece_n - before;
    return AUDIO_BYTES_OK;
}
