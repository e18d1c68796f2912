/* bytes.c - see bytes.h. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int audio_bytes_fail(audio_bytes *b, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(b->detail, sizeof b->detail, format, args);
    va_end(args);
    return status;
}

int audio_bytes_in_time(audio_bytes *b) {
    if (!b->deadline_ns || now_ns() <= b->deadline_ns) return AUDIO_OK;
    return audio_bytes_fail(b, AUDIO_TOO_SLOW, "the budget of time for one sample is used up; raise timeout");
}

void audio_bytes_begin(audio_bytes *b, const audio_source *from, int64_t budget_ns) {
    b->from = *from;
    b->deadline_ns = budget_ns > 0 ? now_ns() + budget_ns : 0;
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
    const media_far *far = &b->from.far;
    b->piece_at = at;
    b->piece_n = kept;
    while (b->piece_n < room) {
        uint8_t *to = b->piece + b->piece_n;
        const int64_t n = (int64_t)(room - b->piece_n), from = b->from.offset + at + (int64_t)b->piece_n;
        int64_t got = far->read ? far->read(far->of, to, n, from) : pread(b->from.fd, to, (size_t)n, from);
        if (got < 0 && !far->read && errno == EINTR) continue;
        if (got < 0)
            return audio_bytes_fail(b, AUDIO_READ, "%s",
                                    far->read ? "the bytes are out of reach" : strerror(errno));
        if (got == 0)
            return audio_bytes_fail(b, AUDIO_TRUNCATED, "the file ended at %lld while it was read",
                                    (long long)(at + (int64_t)b->piece_n));
        b->piece_n += (size_t)got;
    }
    return AUDIO_OK;
}

int audio_bytes_view(audio_bytes *b, int64_t at, size_t want, size_t ahead, const uint8_t **p, size_t *n) {
    size_t there = (size_t)(b->from.size - at);
    if (want > there) want = there;
    if (b->from.data) {
        *p = b->from.data + at;
        *n = there;
        return AUDIO_OK;
    }
    size_t before = (size_t)(at - b->piece_at), kept = 0;
    if (at >= b->piece_at && before <= b->piece_n) kept = b->piece_n - before;
    if (kept < want) {
        size_t room = want > ahead ? want : ahead < there ? ahead : there;
        if (room > b->piece_cap) {
            uint8_t *grown = realloc(b->piece, room);
            if (!grown) return audio_bytes_fail(b, AUDIO_NO_MEMORY, "%zu bytes of the file", room);
            b->piece = grown;
            b->piece_cap = room;
        }
        if (kept) memmove(b->piece, b->piece + before, kept);
        before = 0;
        int rc = read_piece(b, at, kept, room);
        if (rc != AUDIO_OK) return rc;
    }
    *p = b->piece + before;
    *n = b->piece_n - before;
    return AUDIO_OK;
}
