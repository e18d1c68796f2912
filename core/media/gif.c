/* gif.c - what must be known of a GIF before it is decoded.
 *
 * After the header and the colour table come extensions (0x21, a label, then
 * sub-blocks) and pictures (0x2c, ten bytes, a colour table, a code size, then
 * sub-blocks); a sub-block of length zero ends a run of them. */
#include <string.h>

#include "gif.h"

/* The byte after the run of sub-blocks at `at`; n if it is cut. */
static size_t skip_blocks(const uint8_t *d, size_t n, size_t at) {
    while (at < n && d[at]) at += (size_t)d[at] + 1;
    return at < n ? at + 1 : n;
}

static size_t table_bytes(uint8_t flags) { return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0; }

static size_t first_block(const uint8_t *d, size_t n) {
    if (n < 13 || memcmp(d, "GIF8", 4) != 0) return n;
    return 13 + table_bytes(d[10]);
}

void media_gif_keep_colours(uint8_t *d, size_t n) {
    size_t at = first_block(d, n);
    while (at + 4 < n && d[at] == 0x21) {
        if (d[at + 1] == 0xf9) d[at + 3] &= 0xfe;
        at = skip_blocks(d, n, at + 2);
    }
}

static int32_t word(const uint8_t *p) { return p[0] | p[1] << 8; }

/* What an index without a colour is: Pillow starts palettes with a ramp of greys. */
static void colour_of(const uint8_t *table, size_t bytes, uint8_t index, uint8_t rgb[3]) {
    memset(rgb, index, 3);
    if ((size_t)index * 3 + 3 <= bytes) memcpy(rgb, table + (size_t)index * 3, 3);
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

int media_gif_first(const uint8_t *d, size_t n, media_gif *g) {
    size_t at = first_block(d, n);
    uint8_t rest = 0;
    for (; at + 2 < n && d[at] == 0x21; at = skip_blocks(d, n, at + 2))
        if (d[at + 1] == 0xf9 && at + 6 < n && d[at + 2] >= 4 && (d[at + 3] & 1)) rest = d[at + 6];
    if (at + 10 >= n || d[at] != 0x2c) return 0;
    const uint8_t *table = d + 13, *f = d + at;
    size_t bytes = table_bytes(d[10]);
    if (f[9] & 0x80) {
        table = f + 10;
        bytes = table_bytes(f[9]);
    }
    if (bytes > n - (size_t)(table - d)) return 0;
    *g =
        (media_gif){.descriptor = at, .x = word(f + 1), .y = word(f + 3), .w = word(f + 5), .h = word(f + 7)};
    colour_of(table, bytes, rest, g->rest);
    g->width = larger(word(d + 6), g->x + g->w);
    g->height = larger(word(d + 8), g->y + g->h);
    g->whole = word(d + 6) == g->w && word(d + 8) == g->h && g->x == 0 && g->y == 0;
    return 1;
}

void media_gif_crop(uint8_t *d, const media_gif *g) {
    memcpy(d + 6, d + g->descriptor + 5, 4);
    memset(d + g->descriptor + 1, 0, 4);
}

int media_gif_first_is_whole(const uint8_t *d, size_t n) {
    size_t at = first_block(d, n);
    while (at + 2 < n && d[at] == 0x21) at = skip_blocks(d, n, at + 2);
    if (at + 10 >= n || d[at] != 0x2c) return 0;
    at += 10 + table_bytes(d[at + 9]) + 1;
    while (at < n && d[at]) at += (size_t)d[at] + 1;
    return at < n;
}
