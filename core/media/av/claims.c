//go:build !noffmpeg

/* claims.c - a walk over the boxes that FFmpeg reads, for their counts alone. */
#include "claims.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 4096, DEEP = 32, LEAST_ENTRIES = 1 << 20, MOST_INDEXES = 16 };

/* Places of an index times those of them that lie before others: what FFmpeg sorts in some hundredths of a second. */
enum { MOST_SORTED = 1 << 28 };

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

    /* Of Matroska's indexes. */
    int64_t index[MOST_INDEXES]; /* where they lie */
    int indexes;
    uint64_t places, backwards, latest; /* its places, those that lie before others, the latest time */
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

/* Whether a box more may be looked at; the clock is asked now and then. */
static int count_step(claims *c) { return ++c->boxes % 4096 ? MEDIA_AV_OK : media_av_check(c->a); }

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
        if (rc == MEDIA_AV_OK) rc = count_step(c);
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
        int rc = count_step(c);
        if (rc != MEDIA_AV_OK) return rc;
    }
    return MEDIA_AV_OK;
}

/* --- Matroska and WebM, of whose index FFmpeg puts each place where its time belongs, and moves all that are later --- */

enum {
    EBML = 0x1a45dfa3,
    SEGMENT = 0x18538067,
    CLUSTER = 0x1f43b675,
    CUES = 0x1c53bb6b,
    CUE_POINT = 0xbb,
    CUE_TIME = 0xb3,
    SEEK_HEAD = 0x114d9b74,
    SEEK = 0x4dbb,
    SEEK_ID = 0x53ab,
    SEEK_POSITION = 0x53ac
};

typedef struct element {
    uint64_t id;
    int64_t data, end;
} element;

/* A number of as many bytes, up to `most`, as there are zeros in front of its mark, and one (RFC 8794, 4); with the mark, or without. How many; 0: there is none. */
static int marked(claims *c, int64_t at, int most, bool with, uint64_t *v) {
    const uint8_t *p = look(c, at, 1);
    int n = p && *p ? __builtin_clz(*p) - 23 : 0;
    if (n == 0 || n > most || !(p = look(c, at, n))) return 0;
    *v = with ? *p : *p & 0xffu >> n;
    for (int i = 1; i < n; i++) *v = *v << 8 | p[i];
    return n;
}

/* Up to `end`, as is one whose size nobody says. */
static bool see_element(claims *c, int64_t at, int64_t end, element *e) {
    uint64_t size;
    int n = at < end ? marked(c, at, 4, true, &e->id) : 0, m = n ? marked(c, at + n, 8, false, &size) : 0;
    e->data = at + n + m;
    if (!m || e->data > end) return false;
    bool open = size == (1ull << 7 * m) - 1;
    e->end = open || size > (uint64_t)(end - e->data) ? end : e->data + (int64_t)size;
    return true;
}

static uint64_t value_of(claims *c, const element *e) {
    int64_t n = e->end - e->data;
    const uint8_t *p = n > 0 && n <= 8 ? look(c, e->data, (int)n) : NULL;
    uint64_t v = 0;
    for (int64_t i = 0; p && i < n; i++) v = v << 8 | p[i];
    return v;
}

static int see_cues(claims *c, const element *cues) {
    element point, part;
    for (int i = 0; i < c->indexes; i++)
        if (c->index[i] == cues->data) return MEDIA_AV_OK;
    if (c->indexes == MOST_INDEXES)
        return media_av_fail(c->a, MEDIA_AV_TOO_MUCH, "its header names more than 16 indexes");
    c->index[c->indexes++] = cues->data;
    for (int64_t at = cues->data; see_element(c, at, cues->end, &point); at = point.end) {
        uint64_t time = 0;
        int rc = count_step(c);
        if (rc != MEDIA_AV_OK) return rc;
        if (point.id != CUE_POINT) continue;
        for (int64_t in = point.data; see_element(c, in, point.end, &part); in = part.end)
            if (part.id == CUE_TIME) time = value_of(c, &part);
        c->places++;
        if (time < c->latest) c->backwards++;
        if (time > c->latest) c->latest = time;
    }
    if (c->backwards == 0 || c->places <= MOST_SORTED / c->backwards) return MEDIA_AV_OK;
    char text[128];
    snprintf(text, sizeof text, "its index has %llu places, %llu of them before others",
             (unsigned long long)c->places, (unsigned long long)c->backwards);
    return media_av_fail(c->a, MEDIA_AV_TOO_MUCH, text);
}

/* Whatever of a segment, which begins at `from`, lies here: an index, or a list of where others lie. */
static int see_of_segment(claims *c, int64_t from, int64_t end, const element *e, int depth) {
    element seek, part, there;
    if (e->id == CUES) return see_cues(c, e);
    if (e->id != SEEK_HEAD || depth == DEEP) return MEDIA_AV_OK;
    int rc = MEDIA_AV_OK;
    for (int64_t at = e->data; rc == MEDIA_AV_OK && see_element(c, at, e->end, &seek); at = seek.end) {
        uint64_t id = 0, position = UINT64_MAX;
        for (int64_t in = seek.data; seek.id == SEEK && see_element(c, in, seek.end, &part); in = part.end) {
            if (part.id == SEEK_ID) id = value_of(c, &part);
            if (part.id == SEEK_POSITION) position = value_of(c, &part);
        }
        rc = count_step(c);
        if (rc == MEDIA_AV_OK && (id == CUES || id == SEEK_HEAD) && position < (uint64_t)(end - from) &&
            see_element(c, from + (int64_t)position, end, &there) && there.id == id)
            rc = see_of_segment(c, from, end, &there, depth + 1);
    }
    return rc;
}

/* What FFmpeg reads before the first cluster. */
static int walk_matroska(claims *c, int64_t size) {
    element e;
    int64_t at = 0;
    for (; see_element(c, at, size, &e) && e.id != SEGMENT; at = e.end) {
        int rc = count_step(c);
        if (rc != MEDIA_AV_OK) return rc;
    }
    if (e.id != SEGMENT) return MEDIA_AV_OK;
    int rc = MEDIA_AV_OK;
    int64_t from = e.data, end = e.end;
    for (at = from; rc == MEDIA_AV_OK && see_element(c, at, end, &e) && e.id != CLUSTER; at = e.end) {
        rc = see_of_segment(c, from, end, &e, 0);
        if (rc == MEDIA_AV_OK) rc = count_step(c);
    }
    return rc;
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
    if (word(&c, 0) == EBML) return walk_matroska(&c, a->source.size);
    int rc = walk(&c, 0, a->source.size, 0);
    return rc == MEDIA_AV_OK ? close_track(&c) : rc;
}
