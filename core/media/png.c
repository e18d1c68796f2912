/* png.c - PNG files to rows, and what of a PNG another decoder is to see.
 *
 * libdeflate unpacks, and sums what chunks hold. A row is unfiltered when it is asked for, up to the last column that is wanted; those
 * below the last one are not touched. Pixels are what FFmpeg, Go and Pillow make of them: alpha is dropped with the colour under it
 * left as it is, of 16 bits the high ones count, a palette's missing entries are black.
 *
 * Interlaced pictures, and whatever is not sound, are begun again by the decoder that the build has besides (FFmpeg's or Go's), so
 * damage means what that one says it means. Names of chunks, colour types and filters are those of the PNG specification, third
 * edition (W3C, 2025). */
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { MAGIC_BYTES = 8, FRAME_BYTES = 12, HEADER_BYTES = 13 }; /* of a chunk: length, kind, checksum */
enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGB_ALPHA = 6 };
enum { SUB = 1, UP = 2, AVERAGE = 3, PAETH = 4 };

/* More than this a byte of a zlib stream cannot say: 258 bytes take two bits. */
enum { MOST_UNPACKED = 1032 };

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int media_is_png(const uint8_t *data, size_t size) {
    return size >= MAGIC_BYTES && memcmp(data, "\x89PNG\r\n\x1a\n", MAGIC_BYTES) == 0;
}

void media_png_destroy(media_png *p) { libdeflate_free_decompressor(p->unpacker); }

/* ---- chunks --------------------------------------------------------------------------------------- */

static int is(const media_chunk *c, const char *kind) { return memcmp(c->kind, kind, 4) == 0; }

int media_png_chunk(const uint8_t *file, size_t size, size_t *at, media_chunk *c) {
    if (*at == 0) *at = MAGIC_BYTES;
    if (size - *at < FRAME_BYTES) return 0;
    uint32_t n = big32(file + *at);
    if (n > size - *at - FRAME_BYTES) return 0;
    *c = (media_chunk){file + *at + 4, file + *at + 8, n};
    *at += n + FRAME_BYTES;
    return 1;
}

static int sum_is_right(const media_chunk *c) {
    return libdeflate_crc32(0, c->kind, 4 + (size_t)c->n) == big32(c->data + c->n);
}

static uint32_t rgbx(uint32_t r, uint32_t g, uint32_t b) {
    const uint8_t bytes[4] = {(uint8_t)r, (uint8_t)g, (uint8_t)b, 255};
    uint32_t v;
    memcpy(&v, bytes, 4);
    return v;
}

static int read_palette(media_png *p, const media_chunk *c) {
    if (c->n == 0 || c->n % 3 != 0 || c->n / 3 > 256) return 0;
    const uint8_t *s = c->data;
    for (uint32_t i = 0; i < c->n / 3 && !p->numbers; i++, s += 3) p->table[i] = rgbx(s[0], s[1], s[2]);
    return 1;
}

/* What samples of up to 8 bits mean before a palette is read: greys from black to white, and of a palette black; or themselves. */
static void set_table(media_png *p) {
    uint32_t white = p->depth < 8 ? (1u << p->depth) - 1 : 255;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = p->numbers ? i : p->colour == PALETTE || i > white ? 0 : i * 255 / white;
        p->table[i] = rgbx(v, v, v);
    }
}

/* IHDR, if it is one of ours. */
static int read_header(media_png *p, const media_chunk *c) {
    static const uint8_t channels[] = {
        [GREY] = 1, [RGB] = 3, [PALETTE] = 1, [GREY_ALPHA] = 2, [RGB_ALPHA] = 4};
    static const uint8_t depths[] = {[GREY] = 1 | 2 | 4 | 8 | 16, /* sets of powers of two */
                                     [RGB] = 8 | 16,
                                     [PALETTE] = 1 | 2 | 4 | 8,
                                     [GREY_ALPHA] = 8 | 16,
                                     [RGB_ALPHA] = 8 | 16};
    if (!is(c, "IHDR") || c->n != HEADER_BYTES) return 0;
    p->width = big32(c->data);
    p->height = big32(c->data + 4);
    p->depth = c->data[8];
    p->colour = c->data[9];
    int plain = c->data[10] == 0 && c->data[11] == 0 &&
                c->data[12] == 0; /* the one packing, the one set of filters, not interlaced */
    if (!plain || p->width == 0 || p->height == 0 || p->width > INT32_MAX || p->height > INT32_MAX) return 0;
    if (p->colour >= sizeof channels || (p->depth & (p->depth - 1)) != 0 || !(p->depth & depths[p->colour]))
        return 0;
    p->channels = channels[p->colour];
    set_table(p);
    return 1;
}

/* Append an IDAT chunk to the stream. What is one chunk stays where it is. */
static int add_data(media_png *p, const media_chunk *c, size_t file_bytes) {
    if (!p->coded) {
        p->coded = c->data;
        p->coded_bytes = c->n;
        return 1;
    }
    uint8_t *all = media_buf_get(&p->data, file_bytes);
    if (!all) return 0;
    if (p->coded != all) memcpy(all, p->coded, p->coded_bytes);
    memcpy(all + p->coded_bytes, c->data, c->n);
    p->coded = all;
    p->coded_bytes += c->n;
    return 1;
}

/* Everything up to IEND; 0 if it is not all there and sound, or not for us. */
static int read_chunks(media_png *p, const uint8_t *file, size_t size) {
    size_t at = 0;
    media_chunk c;
    int palette = 0, in_data = 0;
    p->coded = NULL;
    if (!media_png_chunk(file, size, &at, &c) || !sum_is_right(&c) || !read_header(p, &c)) return 0;
    while (media_png_chunk(file, size, &at, &c)) {
        if (!sum_is_right(&c)) return 0;
        int data = is(&c, "IDAT");
        if (data && ((p->coded && !in_data) || !add_data(p, &c, size)))
            return 0; /* they lie one behind the other */
        in_data = data;
        if (is(&c, "IEND")) return p->coded && (palette || p->colour != PALETTE);
        if (is(&c, "PLTE")) {
            if (palette || p->coded || (p->colour == PALETTE && !read_palette(p, &c))) return 0;
            palette = 1;
        } else if (!data && !(c.kind[0] & 0x20)) {
            return 0; /* it must be understood, and is not */
        }
    }
    return 0;
}

/* ---- the stream ------------------------------------------------------------------------------------ */

static size_t row_bytes(const media_png *p, uint32_t columns) {
    return (size_t)(((uint64_t)columns * p->channels * p->depth + 7) / 8);
}

/* All rows, still filtered, behind a row of zeros. */
static int unpack(media_png *p) {
    p->stride = 1 + row_bytes(p, p->width);
    size_t lead = (p->stride + 63) & ~(size_t)63, total = p->stride * p->height, unpacked;
    if (total / MOST_UNPACKED > p->coded_bytes) return 0;
    if (!p->unpacker && !(p->unpacker = libdeflate_alloc_decompressor())) return 0;
    uint8_t *rows = media_buf_get(&p->unpacked, lead + total + MEDIA_SLACK_BYTES);
    if (!rows) return 0;
    memset(rows, 0, lead);
    p->next = rows + lead;
    if (libdeflate_zlib_decompress(p->unpacker, p->coded, p->coded_bytes, p->next, total, &unpacked) !=
            LIBDEFLATE_SUCCESS ||
        unpacked != total)
        return 0;
    for (uint32_t y = 0; y < p->height; y++)
        if (p->next[y * p->stride] > PAETH) return 0;
    return 1;
}

int media_zlib_fills(const uint8_t *data, size_t n, size_t need) {
    if (need / MOST_UNPACKED > n) return 0;
    struct libdeflate_decompressor *unpacker = libdeflate_alloc_decompressor();
    uint8_t *to = malloc(need + 1);
    size_t got = 0;
    enum libdeflate_result rc =
        unpacker && to ? libdeflate_zlib_decompress(unpacker, data, n, to, need, &got) : LIBDEFLATE_BAD_DATA;
    free(to);
    libdeflate_free_decompressor(unpacker);
    return rc == LIBDEFLATE_INSUFFICIENT_SPACE || (rc == LIBDEFLATE_SUCCESS && got == need);
}

/* ---- filters --------------------------------------------------------------------------------------- */

/* A pixel in the first lanes; what is in the others does not matter. */
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t lanes8 __attribute__((vector_size(16)));

static inline lanes8 load(const uint8_t *p) {
    bytes8 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, lanes8);
}

static inline void store(uint8_t *p, lanes8 v, size_t n) {
    bytes8 b = __builtin_convertvector(v, bytes8);
    memcpy(p, &b, n);
}

static inline lanes8 magnitude(lanes8 v) {
    lanes8 sign = v >> 15;
    return (v ^ sign) - sign;
}

static inline lanes8 choose(lanes8 mask, lanes8 a, lanes8 b) { return (a & mask) | (b & ~mask); }

/* Of left, up and corner the nearest to left + up - corner; of equals the one named first. */
static inline lanes8 paeth(lanes8 left, lanes8 up, lanes8 corner) {
    lanes8 to_left = up - corner, to_up = left - corner, to_corner = magnitude(to_left + to_up);
    to_left = magnitude(to_left);
    to_up = magnitude(to_up);
    lanes8 other = choose(to_corner < to_up, corner, up);
    return choose((to_up < to_left) | (to_corner < to_left), other, left);
}

/* n bytes of a row whose pixels have `step` bytes each; up to 7 bytes behind them are read. */
static inline __attribute__((always_inline)) void
unfilter_pixels(uint8_t filter, uint8_t *row, const uint8_t *above, size_t n, size_t step) {
    lanes8 left = {0}, corner = {0};
    if (filter == SUB) {
        for (size_t i = 0; i < n; i += step) {
            left = (left + load(row + i)) & 255;
            store(row + i, left, step);
        }
    } else if (filter == AVERAGE) {
        for (size_t i = 0; i < n; i += step) {
            left = (((left + load(above + i)) >> 1) + load(row + i)) & 255;
            store(row + i, left, step);
        }
    } else if (filter == PAETH) {
        for (size_t i = 0; i < n; i += step) {
            lanes8 up = load(above + i);
            left = (paeth(left, up, corner) + load(row + i)) & 255;
            corner = up;
            store(row + i, left, step);
        }
    }
}

static void add_rows(uint8_t *row, const uint8_t *above, size_t n) {
    typedef uint8_t bytes16 __attribute__((vector_size(16)));
    size_t i = 0;
    for (; i + sizeof(bytes16) <= n; i += sizeof(bytes16)) {
        bytes16 a, b;
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, above + i, sizeof b);
        a += b;
        memcpy(row + i, &a, sizeof a);
    }
    for (; i < n; i++) row[i] = (uint8_t)(row[i] + above[i]);
}

static void unfilter(uint8_t filter, uint8_t *row, const uint8_t *above, size_t n, size_t step) {
    if (filter == UP) {
        add_rows(row, above, n);
        return;
    }
    switch (step) {
    case 1: unfilter_pixels(filter, row, above, n, 1); break;
    case 2: unfilter_pixels(filter, row, above, n, 2); break;
    case 3: unfilter_pixels(filter, row, above, n, 3); break;
    case 4: unfilter_pixels(filter, row, above, n, 4); break;
    case 6: unfilter_pixels(filter, row, above, n, 6); break;
    default: unfilter_pixels(filter, row, above, n, 8); break;
    }
}

/* The next row's samples. */
static const uint8_t *next_row(media_png *p) {
    uint8_t *row = p->next + 1;
    size_t step = p->channels * p->depth / 8;
    unfilter(p->next[0], row, row - p->stride, p->need, step ? step : 1);
    p->next += p->stride;
    return row;
}

/* ---- pixels ---------------------------------------------------------------------------------------- */

/* Samples of less than 8 bits, the first in the highest. */
static uint32_t small_sample(const uint8_t *row, uint32_t x, uint32_t depth) {
    size_t at = (size_t)x * depth;
    return row[at >> 3] >> (8 - depth - (at & 7)) & ((1u << depth) - 1);
}

static inline void put(uint8_t *dst, uint32_t x, uint32_t pixel) { memcpy(dst + 4 * (size_t)x, &pixel, 4); }

static inline __attribute__((always_inline)) void expand_colours(const uint8_t *s, uint8_t *dst, uint32_t n,
                                                                 size_t step, size_t r, size_t g, size_t b) {
    for (uint32_t x = 0; x < n; x++, s += step) put(dst, x, rgbx(s[r], s[g], s[b]));
}

/* The wanted columns of a row as RGBX. */
static void expand(const media_png *p, const uint8_t *row, uint8_t *dst) {
    uint32_t n = p->shown, wide = p->depth == 16;
    const uint8_t *s = row + row_bytes(p, p->left);
    if (p->depth < 8) {
        for (uint32_t x = 0; x < n; x++) put(dst, x, p->table[small_sample(row, p->left + x, p->depth)]);
        return;
    }
    switch (p->channels * 2 + wide) {
    case 2:
        for (uint32_t x = 0; x < n; x++) put(dst, x, p->table[s[x]]);
        break;
    case 3: expand_colours(s, dst, n, 2, 0, 0, 0); break;
    case 4: expand_colours(s, dst, n, 2, 0, 0, 0); break;
    case 5: expand_colours(s, dst, n, 4, 0, 0, 0); break;
    case 6: expand_colours(s, dst, n, 3, 0, 1, 2); break;
    case 7: expand_colours(s, dst, n, 6, 0, 2, 4); break;
    case 8: expand_colours(s, dst, n, 4, 0, 1, 2); break;
    default: expand_colours(s, dst, n, 8, 0, 2, 4); break;
    }
}

static void fetch(media_ctx *c, int n, const uint8_t *rows[4]) {
    size_t stride = media_row_stride((int32_t)c->png.shown);
    for (int i = 0; i < n; i++) {
        uint8_t *dst = c->rows.p + (size_t)i * stride;
        expand(&c->png, next_row(&c->png), dst);
        if (c->png.to_gray) media_rgbx_to_gray(dst, c->png.shown);
        rows[i] = dst;
    }
}

int media_png_sides(const uint8_t *data, size_t size, uint32_t *w, uint32_t *h) {
    media_chunk head;
    size_t at = 0;
    if (!media_png_chunk(data, size, &at, &head) || !is(&head, "IHDR") || head.n < 8) return 0;
    *w = big32(head.data);
    *h = big32(head.data + 4);
    return 1;
}

/* ---- the row --------------------------------------------------------------------------------------- */

int media_png_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                  const media_draw *draw) {
    media_png *p = &c->png;
    media_region r, raw;
    p->numbers = op->mode == MEDIA_INDEX;
    if (!read_chunks(p, data, size)) return MEDIA_OTHER_FORMAT;
    if (p->numbers && (p->channels > 1 || p->depth > 8)) return MEDIA_OTHER_FORMAT; /* refused there */
    if ((uint64_t)p->width * p->height > (op->max_pixels < INT32_MAX ? op->max_pixels : INT32_MAX))
        return MEDIA_OTHER_FORMAT;
    if (!unpack(p)) return MEDIA_OTHER_FORMAT;
    c->own = 1;
    c->info.width = (int32_t)p->width;
    c->info.height = (int32_t)p->height;
    if (op->orient) c->info.orientation = media_exif_orientation(data, size);
    int rc = media_prepare(c, op, draw, &r);
    if (rc != MEDIA_OK) return rc;
    media_unturn(c->info.orientation, c->info.width, c->info.height, &r, &raw);
    p->left = (uint32_t)raw.x;
    p->shown = (uint32_t)raw.w;
    p->need = row_bytes(p, p->left + p->shown);
    p->to_gray = op->channels == 1;
    if (!media_buf_get(&c->rows, 4 * media_row_stride(raw.w) + MEDIA_SLACK_BYTES))
        return media_fail(c, MEDIA_NO_MEMORY, "");
    for (int32_t y = 0; y < raw.y; y++) next_row(p);
    return media_render(c, &r, fetch, dst);
}

/* ---- for another decoder ----------------------------------------------------------------------------- */

static int unpacks(const uint8_t *kind) {
    return memcmp(kind, "iCCP", 4) == 0 || memcmp(kind, "zTXt", 4) == 0 || memcmp(kind, "iTXt", 4) == 0;
}

size_t media_png_copy(uint8_t *dst, const uint8_t *src, size_t size) {
    size_t at = MAGIC_BYTES, out = MAGIC_BYTES, begun = MAGIC_BYTES;
    media_chunk c;
    if (!media_is_png(src, size)) {
        memcpy(dst, src, size);
        return size;
    }
    memcpy(dst, src, MAGIC_BYTES);
    for (; media_png_chunk(src, size, &at, &c); begun = at) {
        if (unpacks(c.kind)) continue;
        memcpy(dst + out, src + begun, at - begun);
        out += at - begun;
    }
    memcpy(dst + out, src + at, size - at);
    return out + size - at;
}
