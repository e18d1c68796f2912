/* gif.c - what must be known of a GIF before it is decoded.
 *
 * After the header and the colour table come extensions (0x21, a label, then
 * sub-blocks) and pictures (0x2c, ten bytes, a colour table, a code size, then
 * sub-blocks); a sub-block of length zero ends a run of them. */
#include <string.h>

#include "internal.h"

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

int media_gif_first_is_whole(const uint8_t *d, size_t n) {
    size_t at = first_block(d, n);
    while (at + 2 < n && d[at] == 0x21) at = skip_blocks(d, n, at + 2);
    if (at + 10 >= n || d[at] != 0x2c) return 0;
    at += 10 + table_bytes(d[at + 9]) + 1;
    while (at < n && d[at]) at += (size_t)d[at] + 1;
    return at < n;
}
