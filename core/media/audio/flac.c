/* flac.c - see flac.h: where frames are, and whether they are to be believed. What is in them is flac_isa.h's. */
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum {
    HEAD_MOST = 16,       /* bytes of a frame's header */
    FRAME_MOST = 4 << 20, /* bytes of a frame: one of the most samples, stored as they are, has 2.2 million */
    AHEAD = 512 << 10,    /* bytes read of a file at once, where frame follows frame */
    PROBE = 16 << 10,     /* and where one is looked for */
    NEAR = 1 << 14,       /* samples that are decoded rather than passed over */
    TRIES = 64,           /* marks that turn out to be none, before looking for a frame is given up */
    BLOCK_BYTES_LEAST = 10, /* of a frame of the most samples */
};

struct audio_flac {
    audio_flac_source source;
    const audio_kernels *k;

    /* Of the first frame: what all numbers are counted by. */
    int variable;   /* frames are numbered by their first sample; else by themselves */
    int64_t stride; /* samples from one number to the next */
    int64_t origin; /* the first frame's first sample: streams that were cut out begin anywhere */

    int tail; /* 1: the file ends with the frame that ends the sound, so that frames may be looked for; -1: it does not; 0: unknown */

    /* The frame behind the last one that was decoded. */
    int64_t at, next; /* its byte, and its first sample */

    audio_flac_frame frame;
    size_t samples_cap, side_cap; /* values */

    audio_bytes bytes;

    uint8_t crc8[256];
    uint16_t crc16[8][256]; /* [i]: of a byte with i zeros behind it */
};

audio_flac *audio_flac_new(void) {
    audio_flac *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    for (unsigned i = 0; i < 256; i++) {
        unsigned eight = i, sixteen = i << 8;
        for (int bit = 0; bit < 8; bit++) {
            eight = eight << 1 ^ (eight & 0x80 ? 0x107 : 0);
            sixteen = sixteen << 1 ^ (sixteen & 0x8000 ? 0x18005 : 0);
        }
        f->crc8[i] = (uint8_t)eight;
        f->crc16[0][i] = (uint16_t)sixteen;
    }
    for (int z = 1; z < 8; z++)
        for (int i = 0; i < 256; i++) {
            unsigned x = f->crc16[z - 1][i];
            f->crc16[z][i] = (uint16_t)(x << 8 ^ f->crc16[0][x >> 8]);
        }
    return f;
}

void audio_flac_free(audio_flac *f) {
    if (!f) return;
    free(f->frame.samples);
    free(f->frame.side);
    audio_bytes_free(&f->bytes);
    free(f);
}

const char *audio_flac_detail(const audio_flac *f) { return f->bytes.detail; }

#define fail(f, ...) audio_bytes_fail(&(f)->bytes, __VA_ARGS__)

/* The checksum of n bytes; 0 of bytes that end with their own. */
static unsigned crc16(const audio_flac *f, const uint8_t *p, size_t n) {
    return f->k->flac_checksum(f->crc16, p, n);
}

/* --- bytes --- */

static int view(audio_flac *f, int64_t at, size_t want, size_t ahead, const uint8_t **p, size_t *n) {
    int rc = audio_bytes_view(&f->bytes, at, want, ahead, p, n);
    if (rc == AUDIO_OK && *n > FRAME_MOST) *n = FRAME_MOST;
    return rc;
}

/* --- frames' headers --- */

/* The number of a header, in UTF-8's way for up to 36 bits; -1: it is none. */
static int64_t coded_number(const uint8_t *p, const uint8_t *end, int *bytes) {
    int more = 0;
    while (more < 7 && p[0] << more & 0x80) more++; /* ones in front: as many bytes as there are */
    *bytes = more == 0 ? 1 : more;
    if (more == 1 || more > 7 || p[0] == 0xff || end - p < *bytes) return -1;
    int64_t number = more == 0 ? p[0] : p[0] & (0x7f >> more);
    for (int i = 1; i < more; i++) {
        if ((p[i] & 0xc0) != 0x80) return -1;
        number = number << 6 | (p[i] & 0x3f);
    }
    return number;
}

static int32_t block_of(unsigned code, const uint8_t *behind, int *bytes) {
    *bytes = code == 6 ? 1 : code == 7 ? 2 : 0;
    switch (code) {
    case 0: return 0;
    case 1: return 192;
    case 6: return behind[0] + 1;
    case 7: return (behind[0] << 8 | behind[1]) + 1;
    default: return code < 6 ? 576 << (code - 2) : 256 << (code - 8);
    }
}

/* 0: the metadata's, -1: none. */
static int32_t rate_of(unsigned code, const uint8_t *behind, int *bytes) {
    static const int32_t named[12] = {0,     88200, 176400, 192000, 8000,  16000,
                                      22050, 24000, 32000,  44100,  48000, 96000};
    *bytes = code == 12 ? 1 : code > 12 && code < 15 ? 2 : 0;
    switch (code) {
    case 12: return behind[0] * 1000;
    case 13: return behind[0] << 8 | behind[1];
    case 14: return (behind[0] << 8 | behind[1]) * 10;
    case 15: return -1;
    default: return named[code];
    }
}

/* Read the header at p. first: of the first frame, which says how frames are numbered. AUDIO_CORRUPT: there is none, or
 * one of another stream; UNSUPPORTED: of other samples than the metadata say. The detail is the caller's. */
static int read_head(audio_flac *f, const uint8_t *p, size_t n, int first, audio_flac_frame *h) {
    static const int8_t bits_named[8] = {0, 8, 12, -1, 16, 20, 24, 32};
    uint8_t b[HEAD_MOST] = {0};
    int number_bytes, block_bytes, rate_bytes;
    memcpy(b, p, n < sizeof b ? n : sizeof b);
    if (b[0] != 0xff || (b[1] & 0xfe) != 0xf8) return AUDIO_CORRUPT;
    int64_t number = coded_number(b + 4, b + sizeof b, &number_bytes);
    const uint8_t *behind = b + 4 + number_bytes;
    int32_t block = block_of(b[2] >> 4, behind, &block_bytes);
    int32_t rate = rate_of(b[2] & 15, behind + block_bytes, &rate_bytes), bits = bits_named[b[3] >> 1 & 7];
    int mode = b[3] >> 4;
    h->head = (size_t)(behind - b + block_bytes + rate_bytes + 1);
    if (number < 0 || block < 1 || block > AUDIO_FLAC_BLOCK || rate < 0 || bits < 0 ||
        mode > AUDIO_FLAC_MID_SIDE || b[3] & 1 || h->head > n)
        return AUDIO_CORRUPT;
    uint8_t sum = 0;
    for (size_t i = 0; i + 1 < h->head; i++) sum = f->crc8[sum ^ b[i]];
    if (sum != b[h->head - 1]) return AUDIO_CORRUPT;
    h->n = block;
    h->mode = mode;
    h->channels = mode < AUDIO_FLAC_LEFT_SIDE ? mode + 1 : 2;
    h->bits = bits ? bits : f->source.bits;
    if (h->channels != f->source.channels || h->bits != f->source.bits || (rate && rate != f->source.rate))
        return AUDIO_UNSUPPORTED;
    if (first) {
        f->variable = b[1] & 1;
        f->stride = f->variable ? 1 : block;
        f->origin = number * f->stride;
    }
    h->start = number * f->stride - f->origin;
    return (b[1] & 1) == f->variable && h->start >= 0 ? AUDIO_OK : AUDIO_CORRUPT;
}

static int said(audio_flac *f, int status, int64_t at) {
    if (status == AUDIO_UNSUPPORTED)
        return fail(f, status, "its rate, its channels or its bits change at byte %lld", (long long)at);
    return fail(f, status, "no frame begins at byte %lld", (long long)at);
}

/* --- frames --- */

static int room_for(audio_flac *f, const audio_flac_frame *h) {
    size_t all = (size_t)h->n * (size_t)h->channels;
    if (all > f->samples_cap) {
        free(f->frame.samples);
        f->samples_cap = 0;
        if (!(f->frame.samples = malloc(all * sizeof *f->frame.samples)))
            return fail(f, AUDIO_NO_MEMORY, "a frame of %zu values", all);
        f->samples_cap = all;
    }
    if (h->bits == 32 && h->mode >= AUDIO_FLAC_LEFT_SIDE && (size_t)h->n > f->side_cap) {
        free(f->frame.side);
        f->side_cap = 0;
        if (!(f->frame.side = malloc((size_t)h->n * sizeof *f->frame.side)))
            return fail(f, AUDIO_NO_MEMORY, "a frame of %d samples", h->n);
        f->side_cap = (size_t)h->n;
    }
    return AUDIO_OK;
}

/* Decode the frame at byte `at`, whose bytes are read with so many ahead. */
static int frame_at(audio_flac *f, int64_t at, size_t ahead) {
    int rc = audio_bytes_in_time(&f->bytes);
    if (rc != AUDIO_OK) return rc;
    for (size_t want = PROBE;; want *= 2) {
        const uint8_t *p;
        size_t n;
        audio_flac_frame h = {0};
        rc = view(f, at, want, ahead, &p, &n);
        if (rc != AUDIO_OK) return rc;
        rc = read_head(f, p, n, 0, &h);
        if (rc == AUDIO_CORRUPT && n < HEAD_MOST)
            return fail(f, AUDIO_TRUNCATED, "%zu bytes are left for the frame at byte %lld", n,
                        (long long)at);
        if (rc != AUDIO_OK) return said(f, rc, at);
        if ((rc = room_for(f, &h)) != AUDIO_OK) return rc;
        h.samples = f->frame.samples;
        h.side = f->frame.side;
        f->frame = h;
        rc = f->k->flac_frame(p, n, &f->frame);
        if (rc == AUDIO_FLAC_MORE && n < FRAME_MOST && at + (int64_t)n < f->source.from.size) continue;
        if (rc == AUDIO_FLAC_MORE && n < FRAME_MOST)
            return fail(f, AUDIO_TRUNCATED, "the file ends in the frame at byte %lld", (long long)at);
        if (rc != AUDIO_OK) return fail(f, AUDIO_CORRUPT, "the frame at byte %lld", (long long)at);
        if (crc16(f, p, f->frame.bytes) != 0)
            return fail(f, AUDIO_CORRUPT, "the checksum of the frame at byte %lld", (long long)at);
        return AUDIO_OK;
    }
}

/* Decode the frame that comes next. */
static int next_frame(audio_flac *f) {
    if (f->at >= f->source.from.size)
        return fail(f, AUDIO_TRUNCATED, "%lld samples, its header counts %lld", (long long)f->next,
                    (long long)f->source.total);
    int rc = frame_at(f, f->at, AHEAD);
    if (rc != AUDIO_OK) return rc;
    if (f->frame.start != f->next)
        return fail(f, AUDIO_CORRUPT, "the frame at byte %lld begins with sample %lld, want %lld",
                    (long long)f->at, (long long)f->frame.start, (long long)f->next);
    f->at += (int64_t)f->frame.bytes;
    f->next += f->frame.n;
    return AUDIO_OK;
}

int audio_flac_open(audio_flac *f, const audio_kernels *k, const audio_flac_source *source) {
    const uint8_t *p;
    size_t n;
    audio_flac_frame h;
    audio_flac_close(f);
    f->source = *source;
    audio_bytes_begin(&f->bytes, &source->from, source->budget_ns);
    f->k = k;
    f->at = source->first;
    f->next = 0;
    if (source->total / AUDIO_FLAC_BLOCK > (source->from.size - source->first) / BLOCK_BYTES_LEAST)
        return fail(f, AUDIO_TRUNCATED, "%lld bytes of frames, its header counts %lld samples",
                    (long long)(source->from.size - source->first), (long long)source->total);
    int rc = view(f, source->first, HEAD_MOST, PROBE, &p, &n);
    if (rc != AUDIO_OK) return rc;
    rc = read_head(f, p, n, 1, &h);
    if (rc == AUDIO_CORRUPT && n < HEAD_MOST) return fail(f, AUDIO_TRUNCATED, "%zu bytes of frames", n);
    return rc == AUDIO_OK ? rc : said(f, rc, source->first);
}

void audio_flac_close(audio_flac *f) {
    audio_bytes_end(&f->bytes, AHEAD); /* a frame of megabytes may have been read */
    f->tail = 0;
}

/* --- frames in the middle --- */

/* The header of the last frame, if the file ends with one: from where it begins to the file's end the checksum is right. */
static int last_frame(audio_flac *f, audio_flac_frame *last, int *found) {
    int64_t all = f->source.from.size - f->source.first;
    int tries = 0;
    *found = 0;
    for (int64_t span = PROBE; !*found; span *= 8) {
        const uint8_t *p, *mark;
        size_t n;
        audio_flac_frame h;
        if (span > all) span = all;
        int rc = view(f, f->source.from.size - span, (size_t)span, (size_t)span, &p, &n);
        if (rc != AUDIO_OK) return rc;
        for (const uint8_t *end = p + n; tries < TRIES && (mark = memchr(p, 0xff, (size_t)(end - p)));
             p = mark + 1) {
            if (read_head(f, mark, (size_t)(end - mark), 0, &h) != AUDIO_OK) continue;
            tries++;
            if (crc16(f, mark, (size_t)(end - mark)) != 0) continue;
            *last = h;
            *found = 1;
        }
        if (span == all || span >= FRAME_MOST / 8) break;
    }
    return AUDIO_OK;
}

/* Whether the file ends as it should: where its header counts. Only then are frames looked for in the middle, where another file
 * behind this one would look the same. */
static int know_tail(audio_flac *f) {
    audio_flac_frame last;
    int found = 0;
    if (f->tail) return AUDIO_OK;
    int rc = f->source.total ? last_frame(f, &last, &found) : AUDIO_OK;
    if (rc == AUDIO_OK) f->tail = found && last.start + last.n == f->source.total ? 1 : -1;
    return rc;
}

/* The first whole frame in [from, to) whose first sample is between, both excluded; *at is -1 if none is. */
static int find_frame(audio_flac *f, int64_t from, int64_t to, int64_t above, int64_t below, int *tries,
                      int64_t *at) {
    const uint8_t *p, *mark;
    size_t n;
    audio_flac_frame h;
    for (*at = -1; from < to;) {
        int rc = view(f, from, HEAD_MOST, PROBE, &p, &n);
        if (rc != AUDIO_OK) return rc;
        if ((int64_t)n > to - from) n = (size_t)(to - from);
        mark = memchr(p, 0xff, n);
        from += mark ? mark - p : (int64_t)n;
        if (!mark) continue;
        rc = view(f, from, HEAD_MOST, PROBE, &p, &n);
        if (rc != AUDIO_OK) return rc;
        if (read_head(f, p, n, 0, &h) == AUDIO_OK && h.start > above && h.start < below) {
            if (++*tries > TRIES) return AUDIO_OK;
            rc = frame_at(f, from, PROBE);
            if (rc == AUDIO_OK) *at = from;
            if (rc == AUDIO_OK || rc == AUDIO_TOO_SLOW || rc == AUDIO_READ || rc == AUDIO_NO_MEMORY)
                return rc;
        }
        from++;
    }
    return AUDIO_OK;
}

/* Let what comes next be the frame with sample `first`, or one not far before it. */
static int seek(audio_flac *f, int64_t first) {
    int tries = 0;
    if (f->next > first) {
        f->at = f->source.first;
        f->next = 0;
    }
    if (first - f->next <= NEAR) return AUDIO_OK;
    int rc = know_tail(f);
    if (rc != AUDIO_OK || f->tail < 0) return rc;
    for (int64_t end = f->source.from.size, at; end - f->at > 2 * PROBE && tries <= TRIES;) {
        int64_t middle = f->at + (end - f->at) / 2;
        rc = find_frame(f, middle, end, f->next, f->source.total, &tries, &at);
        if (rc != AUDIO_OK) return rc;
        if (at < 0 || f->frame.start > first) {
            end = middle;
            continue;
        }
        f->at = at;
        f->next = f->frame.start;
    }
    return AUDIO_OK;
}

int audio_flac_count(audio_flac *f, int64_t end, int64_t *total) {
    int64_t counted = f->source.total, enough = counted ? counted : end < 0 ? INT64_MAX : end + 1;
    int rc = AUDIO_OK;
    *total = counted;
    if (counted && end >= 0 && end < counted) return rc;
    if (counted && ((rc = know_tail(f)) != AUDIO_OK || f->tail > 0)) return rc;
    while (rc == AUDIO_OK && f->next < enough && (counted || f->at < f->source.from.size)) rc = next_frame(f);
    if (!counted) *total = f->next;
    return rc;
}

int audio_flac_decode(audio_flac *f, const int32_t *take, int n_take, int64_t first, int64_t n, float *dst,
                      size_t stride) {
    int rc = seek(f, first);
    for (int64_t done = 0; rc == AUDIO_OK && done < n;) {
        rc = next_frame(f);
        int64_t skip = first + done - f->frame.start, here = f->frame.n - skip;
        if (rc != AUDIO_OK || here <= 0) continue;
        if (here > n - done) here = n - done;
        for (int i = 0; i < n_take; i++)
            f->k->flac_floats(&f->frame, take[i], (size_t)skip, (size_t)here,
                              dst + (size_t)i * stride + done);
        done += here;
    }
    return rc;
}
