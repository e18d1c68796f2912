//go:build !noffmpeg

/* claims.c - a walk over the boxes that FFmpeg reads, for their counts alone. */
#include "claims.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 4096, DEEP = 32, LEAST_ENTRIES = 1 << 20 };

/* The smallest number of samples that FFmpeg makes one entry of where it makes entries of chunks. */
enum { SAMPLES_A_PIECE = 160 };

typedef struct claims {
    media_av *a;
    int64_t at; /* of the window */
    int n, boxes;
    uint8_t window[WINDOW];
    uint64_t limit, entries; /* of the tracks before this one, and of fragments */

    /* The track's. */
    uint64_t samples, chunks, most; /* most: samples of a chunk */
    uint64_t edits;
    int sound, other, each,
        longer; /* its kinds; tables of times that say 1 of every sample, or anything else */
} claims;

#define TAG(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

/* n <= 16 bytes; NULL: they are not there. */
static const uint8_t *look(claims *c, int64_t at, int n) {
    if (at < c->at || at + n > c->at + c->n) {
        c->at = at;
        c->n = media_av_some(c->a, at, c->window, n, WINDOW);
        if (c->n < n) return NULL;
    }
    return c->window + (at - c->at);
}

static uint32_t word(claims *c, int64_t at) {
    const uint8_t *p = look(c, at, 4);
    return p ? TAG(p[0], p[1], p[2], p[3]) : 0;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What a box counts, but no more than its bytes can hold of that size from `from` on; of size 0 anything. */
static uint64_t counted(claims *c, int64_t at, int64_t from, int64_t end, unsigned bits) {
    uint64_t n = word(c, at);
    if (!bits) return n;
    return end > from ? least(n, (uint64_t)(end - from) * 8 / bits) : 0;
}

/* The track, or what stands outside of one, is complete. Sounds of which every sample lasts one tick have an entry for a piece
 * of a chunk, everything else for a sample. */
static int close_track(claims *c) {
    uint64_t n = c->samples, edits = c->edits ? c->edits : 1;
    if (c->sound && !c->other && c->each && !c->longer) n = c->chunks * (c->most / SAMPLES_A_PIECE + 1);
    c->samples = c->chunks = c->most = c->edits = 0;
    c->sound = c->other = c->each = c->longer = 0;
    if (n > c->limit / edits || c->entries > c->limit - n * edits) {
        char text[sizeof c->a->detail];
        snprintf(text, sizeof text,
                 "its header counts %llu samples, shown %llu times, in a file of %lld bytes",
                 (unsigned long long)n, (unsigned long long)edits, (long long)c->a->source.size);
        return media_av_fail(c->a, MEDIA_AV_TOO_MUCH, text);
    }
    c->entries += n * edits;
    return MEDIA_AV_OK;
}

static void see_samples_of_chunks(claims *c, int64_t body, int64_t end) {
    uint64_t n = counted(c, body + 4, body + 8, end, 12 * 8);
    for (uint64_t i = 0; i < n && c->a->refused == MEDIA_AV_OK; i++) {
        uint32_t samples = word(c, body + 8 + (int64_t)i * 12 + 4);
        if (samples > c->most) c->most = samples;
    }
}

/* Of a fragment: what its samples do not say one by one needs no bytes. */
static int see_run(claims *c, int64_t body, int64_t end) {
    uint32_t fields = word(c, body) >> 8 & 15;
    unsigned bits = (unsigned)__builtin_popcount(fields) * 32;
    uint64_t n = counted(c, body + 4, body + 8, end, bits);
    c->samples += n;
    return c->samples > c->limit ? close_track(c) : MEDIA_AV_OK;
}

/* A box that counts. */
static int see_table(claims *c, uint32_t type, int64_t body, int64_t end) {
    switch (type) {
    case TAG('s', 't', 's', 'z'):
        c->samples += counted(c, body + 8, body + 12, end, word(c, body + 4) ? 0 : 32);
        break;
    case TAG('s', 't', 'z', '2'): c->samples += counted(c, body + 8, body + 12, end, 4); break;
    case TAG('s', 't', 't', 's'):
        if (word(c, body + 4) == 1 && word(c, body + 12) == 1)
            c->each = 1;
        else
            c->longer = 1;
        break;
    case TAG('s', 't', 's', 'c'): see_samples_of_chunks(c, body, end); break;
    case TAG('s', 't', 'c', 'o'): c->chunks += counted(c, body + 4, body + 8, end, 32); break;
    case TAG('c', 'o', '6', '4'): c->chunks += counted(c, body + 4, body + 8, end, 64); break;
    case TAG('e', 'l', 's', 't'): c->edits += counted(c, body + 4, body + 8, end, 12 * 8); break;
    case TAG('h', 'd', 'l', 'r'):
        c->sound |= word(c, body + 8) == TAG('s', 'o', 'u', 'n');
        c->other |= word(c, body + 8) == TAG('v', 'i', 'd', 'e');
        break;
    case TAG('t', 'r', 'u', 'n'): return see_run(c, body, end);
    case TAG('c', 'm', 'o', 'v'):
        return media_av_fail(c->a, MEDIA_AV_UNSUPPORTED, "its header is packed (cmov); write the file anew");
    default: break;
    }
    return MEDIA_AV_OK;
}

/* Descriptions of codecs hold boxes at places of their own: whatever looks like one that counts is taken for it. Tables of chunks have no business
 * there, and one could begin at every fourth byte: they say anything. */
static int see_descriptions(claims *c, int64_t at, int64_t end) {
    int rc = MEDIA_AV_OK;
    for (; rc == MEDIA_AV_OK && c->a->refused == MEDIA_AV_OK && at + 8 <= end; at++) {
        const uint32_t type = word(c, at);
        if (type == TAG('s', 't', 's', 'c'))
            c->most = UINT32_MAX;
        else
            rc = see_table(c, type, at + 4, end);
    }
    return rc;
}

static int walk(claims *c, int64_t at, int64_t end, int depth);

/* What FFmpeg looks for the boxes of in a meta box: from its hdlr on. */
static int see_meta(claims *c, int64_t at, int64_t end, int depth) {
    for (at += 4; c->a->refused == MEDIA_AV_OK && at + 8 <= end; at += 4)
        if (word(c, at) == TAG('h', 'd', 'l', 'r')) return walk(c, at - 4, end, depth);
    return MEDIA_AV_OK;
}

static int see(claims *c, uint32_t type, int64_t body, int64_t end, int depth) {
    int rc;
    uint32_t first;
    switch (type) {
    case TAG('t', 'r', 'a', 'k'):
        rc = close_track(c);
        if (rc == MEDIA_AV_OK) rc = walk(c, body, end, depth);
        return rc == MEDIA_AV_OK ? close_track(c) : rc;
    case TAG('f', 'r', 'e', 'e'): /* a header may hide in it */
    case TAG('h', 'o', 'o', 'v'):
        first = word(c, body + 4);
        if (first != TAG('m', 'v', 'h', 'd') && first != TAG('c', 'm', 'o', 'v')) return MEDIA_AV_OK;
        return walk(c, body, end, depth);
    case TAG('m', 'o', 'o', 'v'):
    case TAG('m', 'd', 'i', 'a'):
    case TAG('m', 'i', 'n', 'f'):
    case TAG('s', 't', 'b', 'l'):
    case TAG('e', 'd', 't', 's'):
    case TAG('m', 'v', 'e', 'x'):
    case TAG('m', 'o', 'o', 'f'):
    case TAG('t', 'r', 'a', 'f'):
    case TAG('u', 'd', 't', 'a'):
    case TAG('t', 'r', 'e', 'f'):
    case TAG('d', 'i', 'n', 'f'):
    case TAG('i', 'l', 's', 't'):
    case TAG('i', 'p', 'r', 'p'):
    case TAG('w', 'a', 'v', 'e'): return walk(c, body, end, depth);
    case TAG('m', 'e', 't', 'a'): return see_meta(c, body, end, depth);
    case TAG('s', 't', 's', 'd'): return see_descriptions(c, body, end);
    default: return see_table(c, type, body, end);
    }
}

/* The boxes in [at, end). A size beyond the end is cut to it, as FFmpeg does. */
static int walk(claims *c, int64_t at, int64_t end, int depth) {
    int rc = MEDIA_AV_OK;
    while (rc == MEDIA_AV_OK && depth < DEEP && end - at >= 8) {
        const uint8_t *p = look(c, at, 8);
        if (!p) break;
        uint64_t size = TAG(p[0], p[1], p[2], p[3]);
        uint32_t type = TAG(p[4], p[5], p[6], p[7]);
        int64_t body = at + 8;
        if (size == 1) {
            size = (uint64_t)word(c, at + 8) << 32 | word(c, at + 12);
            body += 8;
        } else if (size == 0) {
            size = (uint64_t)(end - at);
        }
        if (size < (uint64_t)(body - at) || body > end) break;
        int64_t next = size < (uint64_t)(end - at) ? at + (int64_t)size : end;
        rc = see(c, type, body, next, depth + 1);
        if (rc == MEDIA_AV_OK && ++c->boxes % 4096 == 0) rc = media_av_check(c->a);
        at = next;
    }
    return rc;
}

static uint64_t little(const uint8_t *p, int n) { return n ? *p | little(p + 1, n - 1) << 8 : 0; }

/* The chunks of a WAV or an AVI, whose lists FFmpeg looks into up to the one of its packets, for lists of texts about it. */
static int walk_riff(claims *c, int64_t end) {
    const uint8_t *p = look(c, 0, 12);
    bool big = word(c, 0) == TAG('R', 'I', 'F', 'X'), avi = memcmp(p + 8, "WAVE", 4) != 0;
    uint64_t data = 0; /* of RF64, whose chunk of it says 2^32 - 1 */
    for (int64_t at = 12; end - at >= 12 && (p = look(c, at, 12)) != NULL;) {
        uint64_t size = big ? TAG(p[4], p[5], p[6], p[7]) : little(p + 4, 4);
        bool list = memcmp(p, "LIST", 4) == 0;
        if (list && memcmp(p + 8, "INFO", 4) == 0 && size > c->limit) {
            char text[128];
            snprintf(text, sizeof text, "it has texts of %llu bytes about it in a source of %llu",
                     (unsigned long long)size, (unsigned long long)end);
            return media_av_fail(c->a, MEDIA_AV_TOO_MUCH, text);
        }
        if (avi && list && memcmp(p + 8, "movi", 4) == 0) break;
        if (memcmp(p, "ds64", 4) == 0 && (p = look(c, at + 16, 8)) != NULL) data = little(p, 8);
        if (word(c, at) == TAG('d', 'a', 't', 'a') && size == UINT32_MAX) size = data;
        if (size > (uint64_t)end) size = (uint64_t)end;
        uint64_t step = avi && list ? 12 : 8 + size + (size & 1);
        if (step > (uint64_t)(end - at)) break;
        at += (int64_t)step;
        if (++c->boxes % 4096 == 0) {
            int rc = media_av_check(c->a);
            if (rc != MEDIA_AV_OK) return rc;
        }
    }
    return MEDIA_AV_OK;
}

static bool is_riff(claims *c) {
    uint32_t first = word(c, 0);
    return (first == TAG('R', 'I', 'F', 'F') || first == TAG('R', 'I', 'F', 'X') ||
            first == TAG('R', 'F', '6', '4') || first == TAG('B', 'W', '6', '4')) &&
           look(c, 0, 12) != NULL;
}

int media_av_claims(media_av *a) {
    claims c = {.a = a, .limit = LEAST_ENTRIES};
    if ((uint64_t)a->source.size > c.limit) c.limit = (uint64_t)a->source.size;
    if (is_riff(&c)) return walk_riff(&c, a->source.size);
    int rc = walk(&c, 0, a->source.size, 0);
    return rc == MEDIA_AV_OK ? close_track(&c) : rc;
}
