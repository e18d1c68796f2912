//go:build !noffmpeg

/* cut.c - sizes that containers state, held against the file's. */
#include "cut.h"
#include "claims.h"

#include <libavutil/bswap.h>
#include <libavutil/crc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_HEAD = 27, PAGE_MOST = PAGE_HEAD + 255 + 255 * 255 };

/* Boxes, chunks and pieces that are looked at: a file may be nothing but their heads. */
enum { STEPS_MOST = 1 << 20 };

static uint32_t big(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }
static uint32_t little(const uint8_t *p) { return (uint32_t)p[3] << 24 | p[2] << 16 | p[1] << 8 | p[0]; }

static int cut(media_av *a, const char *what, int64_t at) {
    snprintf(a->detail, sizeof a->detail, "the file ends in the %s at byte %lld", what, (long long)at);
    return 1;
}

static int there(media_av *a, int64_t at, uint8_t *to, int n) { return media_av_bytes(a, at, to, n) == n; }

/* --- MP4 --- */

/* A box of a file's top level: its kind, its head and what it says of its size, with it. */
typedef struct box {
    uint8_t head[16];
    int64_t at, behind, size;
    int to_end; /* it says that it goes to the file's end */
} box;

/* The box at x->at; 0: there is none, or nobody knows what begins there. */
static int read_box(media_av *a, box *x) {
    const int64_t left = a->source.size - x->at;
    if (left < 8 || !there(a, x->at, x->head, 8)) return 0;
    uint64_t n = big(x->head);
    x->behind = x->at + 8;
    x->to_end = n == 0;
    if (x->to_end) n = (uint64_t)left;
    if (n == 1) {
        if (!there(a, x->at, x->head, 16)) return 0;
        n = (uint64_t)big(x->head + 8) << 32 | big(x->head + 12);
        x->behind += 8;
    }
    if (n < (uint64_t)(x->behind - x->at)) return 0;
    x->size = n < INT64_MAX / 2 ? (int64_t)n : INT64_MAX / 2;
    return 1;
}

static int is_box(const box *x, const char *kind) { return memcmp(x->head + 4, kind, 4) == 0; }

/* Whether the boxes in [at, end) have one of fragments. */
static int is_fragmented(media_av *a, int64_t at, int64_t end) {
    uint8_t b[8];
    for (int i = 0; i < STEPS_MOST && end - at >= 8 && there(a, at, b, 8) && big(b) >= 8; i++) {
        if (memcmp(b + 4, "mvex", 4) == 0) return 1;
        at += big(b);
    }
    return 0;
}

/* Of others that go on behind the end nothing is missed, and what somebody has put behind the file looks like one. */
static int is_media_box(const box *x) { return is_box(x, "moov") || is_box(x, "moof") || is_box(x, "mdat"); }

/* Whether a box is of a file in fragments, or says that it is one. */
static int says_fragments(media_av *a, const box *x) {
    const int64_t left = a->source.size - x->at;
    return is_box(x, "moof") ||
           (is_box(x, "moov") && is_fragmented(a, x->behind, x->at + (x->size < left ? x->size : left)));
}

/* Of fragments: where all samples are in one table, FFmpeg misses those that are not there. */
static int cut_in_box(media_av *a) {
    box x = {.at = 0};
    int fragments = 0;
    for (int i = 0; i < STEPS_MOST && x.at < a->source.size; i++) {
        if (!read_box(a, &x) || x.to_end) return 0; /* filled up, or to the end */
        fragments |= says_fragments(a, &x);
        if (x.size > a->source.size - x.at) return fragments && is_media_box(&x) && cut(a, "box", x.at);
        x.at += x.size;
    }
    return 0;
}

/* The spans with one more; 0: there is no memory. */
static int add_span(media_span **spans, int n, media_span span) {
    if ((n & (n - 1)) == 0) { /* as many as there is room for */
        media_span *more = realloc(*spans, (n ? 2 * (size_t)n : 1) * sizeof *more);
        if (!more) return 0;
        *spans = more;
    }
    (*spans)[n] = span;
    return 1;
}

int media_av_samples(media_av *a, media_span **spans) {
    box x = {.at = 0};
    int n = 0, table = 0;
    *spans = NULL;
    if (!a->format || !strstr(a->format->iformat->name, "mp4")) return 0;
    for (int i = 0; i < STEPS_MOST && x.at < a->source.size && read_box(a, &x); i++) {
        table |= is_box(&x, "moov");
        if (is_box(&x, "mdat") && !add_span(spans, n++, (media_span){x.behind, x.at + x.size})) break;
        x.at += x.size;
    }
    if (table && x.at >= a->source.size) return n;
    free(*spans);
    *spans = NULL;
    return 0;
}

/* --- Ogg --- */

/* What a page that begins at b, with n bytes of the file left, has in it; 0: it has no whole head. */
static int page_size(const uint8_t *b, int n) {
    if (n < PAGE_HEAD || n < PAGE_HEAD + b[26]) return 0;
    int size = PAGE_HEAD + b[26];
    for (int i = 0; i < b[26]; i++) size += b[PAGE_HEAD + i];
    return size;
}

/* How many of the n bytes of b begin a page, of which no more is there than the half of its mark. */
static int begun_mark(const uint8_t *b, int n) {
    for (int begun = 1; begun <= 4 && begun <= n; begun++)
        if (memcmp(b + n - begun, "OggS", (size_t)begun) == 0) return begun;
    return 0;
}

/* How many of the n bytes at the end of a file are of a page that goes on behind it. */
static int begun_page(const uint8_t *b, int n) {
    int begun = 0, mark = begun_mark(b, n);
    for (int left = 5; left <= n; left++) {
        if (memcmp(b + n - left, "OggS", 5) != 0) continue;
        int size = page_size(b + n - left, left);
        if (size == left) return 0; /* what looked like a page behind it was none */
        if (mark && size == left - mark) return mark;
        if (!begun && (size == 0 || size > left)) begun = left;
    }
    return begun;
}

/* The last page need not be marked as the stream's last: live recordings are not. */
static int cut_in_page(media_av *a) {
    int n = a->source.size < PAGE_MOST ? (int)a->source.size : PAGE_MOST;
    uint8_t *b = malloc(PAGE_MOST);
    int begun = b && there(a, a->source.size - n, b, n) ? begun_page(b, n) : 0;
    free(b);
    return begun && cut(a, "page", a->source.size - begun);
}

/* --- the pages of Ogg that FFmpeg passes over --- */

enum page { NO_PAGE, PAGE_GOOD, PAGE_DAMAGED, PAGE_CUT };

/* What is at a byte of the file, and of a page how large it is. */
static enum page look_at_page(media_av *a, int64_t at, int *size) {
    uint8_t b[4096];
    const AVCRC *table = av_crc_get_table(AV_CRC_32_IEEE);
    const int n = media_av_bytes(a, at, b, PAGE_HEAD + 255);
    if (n < 5 || memcmp(b, "OggS", 5) != 0) return NO_PAGE;
    *size = page_size(b, n);
    if (*size == 0 || *size > a->source.size - at) return PAGE_CUT;
    const uint32_t want = little(b + 22);
    memset(b + 22, 0, 4);
    uint32_t sum = av_crc(table, 0, b, *size < n ? (size_t)*size : (size_t)n);
    for (int done = n, got; done < *size; done += got) {
        got = *size - done < (int)sizeof b ? *size - done : (int)sizeof b;
        if (!there(a, at + done, b, got)) return PAGE_CUT; /* the file became shorter */
        sum = av_crc(table, sum, b, (size_t)got);
    }
    return av_bswap32(sum) == want ? PAGE_GOOD : PAGE_DAMAGED;
}

/* Whether a good page begins behind a byte, and before another. What looks so often like a page is no tag behind a sound. */
enum { MARKS_MOST = 64 };

static int page_behind(media_av *a, int64_t at, int64_t end) {
    uint8_t b[4096];
    int n, size, marks = 0;
    for (at++; at < end && (n = media_av_bytes(a, at, b, sizeof b)) >= 5; at += n - 4)
        for (int i = 0; i + 5 <= n; i++)
            if (memcmp(b + i, "OggS", 5) == 0 &&
                (++marks == MARKS_MOST || look_at_page(a, at + i, &size) == PAGE_GOOD))
                return 1;
    return 0;
}

int media_av_lost(media_av *a, int at_end) {
    if (a->source.packets || !a->format || strcmp(a->format->iformat->name, "ogg") != 0) return MEDIA_AV_OK;
    const int64_t end = at_end ? a->source.size : avio_tell(a->format->pb);
    char text[80];
    if (a->paged < 0) a->paged = end;
    while (a->paged < end) {
        int size = 0;
        const enum page page = look_at_page(a, a->paged, &size);
        if (page == PAGE_CUT || (page == NO_PAGE && !page_behind(a, a->paged, end))) {
            a->paged = a->source.size; /* what lies behind the last page is no sound */
            break;
        }
        if (page != PAGE_GOOD) {
            snprintf(text, sizeof text,
                     page == NO_PAGE ? "no page at byte %lld" : "the page at byte %lld has another checksum",
                     (long long)a->paged);
            return media_av_fail(a, MEDIA_AV_CORRUPT, text);
        }
        a->paged += size;
    }
    return MEDIA_AV_OK;
}

/* --- RIFF --- */

/* What is written into pipes has other sizes. */
static int is_known(uint32_t size) {
    return size > 0 && (size < 0x7fffef00 || (size > 0x80000000 && size < 0xffffff00));
}

/* Behind the chunk of sound, or the list of pictures, nothing is missed: not the index, and other things may be there. */
static int cut_in_chunk(media_av *a, const uint8_t *head) {
    int64_t size = a->source.size, at = 12;
    uint8_t b[12];
    const int wave = memcmp(head + 8, "WAVE", 4) == 0;
    for (int i = 0; i < STEPS_MOST && size - at >= 8 && there(a, at, b, 8); i++) {
        const uint32_t n = little(b + 4);
        int media = memcmp(b, wave ? "data" : "LIST", 4) == 0;
        if (media && !wave && there(a, at + 8, b + 8, 4)) media = memcmp(b + 8, "movi", 4) == 0;
        if (media && !is_known(n)) return 0;
        if (n > size - at - 8) return media && cut(a, "chunk", at);
        if (wave && media) return 0; /* what lies behind is no sound */
        at += 8 + (int64_t)n + (n & 1);
    }
    return 0;
}

/* --- GIF --- */

/* Behind the pieces from at on, of which each has its size before it and the last none; -1: the file ends in them. */
static int64_t behind_pieces(media_av *a, int64_t at, int *steps) {
    uint8_t n;
    do {
        if (!there(a, at, &n, 1)) return -1;
        at += 1 + n;
    } while (n && --*steps > 0);
    return at;
}

static int64_t palette(uint8_t flags) { return flags & 0x80 ? 3 << ((flags & 7) + 1) : 0; }

static int cut_in_block(media_av *a) {
    uint8_t b[13];
    int steps = STEPS_MOST;
    if (!there(a, 0, b, 13)) return cut(a, "head", 0);
    for (int64_t at = 13 + palette(b[10]), next; --steps > 0; at = next) {
        if (!there(a, at, b, 1)) return 0; /* programs leave out the trailer */
        if (b[0] == 0x21)
            next = behind_pieces(a, at + 2, &steps);
        else if (b[0] != 0x2c)
            return 0; /* the trailer, or nothing that is known here */
        else
            next = there(a, at, b, 10) ? behind_pieces(a, at + 11 + palette(b[9]), &steps) : -1;
        if (next < 0) return cut(a, "block", at);
    }
    return 0;
}

/* --- frames of one size --- */

/* FFmpeg leaves out the half frame of YUV4MPEG2, and fills up that of DV. */
static int cut_in_frame(media_av *a) {
    int64_t behind = a->behind;
    return a->stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && behind >= 0 && behind != a->source.size &&
           cut(a, "frame", behind < a->source.size ? behind : a->from);
}

/* --- packets --- */

/* Whether the container says how large its packets are: of others they are as large as is read at once, and the last one is what is left. */
static int is_sized(const char *name) {
    static const char *const sized[] = {"flv", "ivf", "tta"};
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
        if (strcmp(name, sized[i]) == 0) return 1;
    return 0;
}

static int cut_in_packet(media_av *a) { return a->partial && a->from >= 0 && cut(a, "packet", a->from); }

/* --- ASF: a header and the data, whose size a broadcast does not say --- */

static int cut_in_data(media_av *a) {
    uint8_t b[24];
    int64_t size = a->source.size, at;
    if (!there(a, 0, b, 24) || little(b + 20) || (at = little(b + 16)) < 24 || !there(a, at, b, 24)) return 0;
    if (memcmp(b, "\x36\x26\xb2\x75", 4) != 0) return 0;
    uint64_t n = (uint64_t)little(b + 20) << 32 | little(b + 16);
    return n < (uint64_t)1 << 62 && n > (uint64_t)(size - at) && cut(a, "data", at);
}

/* --- the samples of a SoX file, of four bytes --- */

static int cut_in_samples(media_av *a) {
    uint8_t b[16];
    if (!there(a, 0, b, 16)) return 0;
    int swapped = b[0] == 'X';
    uint64_t head = swapped ? big(b + 4) : little(b + 4), n = swapped ? big(b + 12) : little(b + 8);
    return 4 + head + 4 * n > (uint64_t)a->source.size && cut(a, "sound", (int64_t)(4 + head));
}

static int cut_by_bytes(media_av *a) {
    uint8_t b[12];
    if (!there(a, 0, b, 12)) return 0;
    if (memcmp(b, "OggS", 4) == 0) return cut_in_page(a);
    if (memcmp(b, "GIF8", 4) == 0) return cut_in_block(a);
    if (memcmp(b, ".SoX", 4) == 0 || memcmp(b, "XoS.", 4) == 0) return cut_in_samples(a);
    if (memcmp(b, "RIFF", 4) == 0 && (memcmp(b + 8, "WAVE", 4) == 0 || memcmp(b + 8, "AVI ", 4) == 0))
        return cut_in_chunk(a, b);
    if (memcmp(b, "\x30\x26\xb2\x75", 4) == 0) return cut_in_data(a);
    static const char boxes[][5] = {"ftyp", "styp", "moov", "moof", "sidx"};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (memcmp(b + 4, boxes[i], 4) == 0) return cut_in_box(a);
    return 0;
}

int media_av_cut(media_av *a) {
    if (a->source.packets) return 0;
    const char *name = a->format && a->stream ? a->format->iformat->name : "";
    if (strcmp(name, "yuv4mpegpipe") == 0 || strcmp(name, "dv") == 0) return cut_in_frame(a);
    return is_sized(name) ? cut_in_packet(a) : cut_by_bytes(a);
}
