/* png.c - what of a PNG its decoder is to see. */
#include <string.h>

#include "internal.h"

enum { MAGIC_BYTES = 8, FRAME_BYTES = 12 }; /* of a chunk: length, kind, checksum */

static int unpacks(const uint8_t *kind) {
    return memcmp(kind, "iCCP", 4) == 0 || memcmp(kind, "zTXt", 4) == 0 || memcmp(kind, "iTXt", 4) == 0;
}

size_t media_png_copy(uint8_t *dst, const uint8_t *src, size_t size) {
    size_t at = MAGIC_BYTES, out = MAGIC_BYTES;
    if (size < MAGIC_BYTES || memcmp(src, "\x89PNG\r\n\x1a\n", MAGIC_BYTES) != 0) {
        memcpy(dst, src, size);
        return size;
    }
    memcpy(dst, src, MAGIC_BYTES);
    while (size - at >= FRAME_BYTES) {
        const uint8_t *c = src + at;
        size_t n = (size_t)c[0] << 24 | (size_t)c[1] << 16 | (size_t)c[2] << 8 | c[3];
        if (n > size - at - FRAME_BYTES) break;
        if (!unpacks(c + 4)) {
            memcpy(dst + out, c, n + FRAME_BYTES);
            out += n + FRAME_BYTES;
        }
        at += n + FRAME_BYTES;
    }
    memcpy(dst + out, src + at, size - at);
    return out + size - at;
}
