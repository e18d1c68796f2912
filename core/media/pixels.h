/* pixels.h - memory that is kept from row to row, and pixels in it. */
#ifndef SPDL_MEDIA_PIXELS_H
#define SPDL_MEDIA_PIXELS_H

#include <string.h>

#include "row.h"

/* A buffer that grows and is reused. */
typedef struct media_buf {
    uint8_t *p;
    size_t cap;
} media_buf;

/* At least size bytes, 64-byte aligned; old contents are lost. NULL when there
 * is no memory. */
uint8_t *media_buf_get(media_buf *b, size_t size);
void media_buf_trim(media_buf *b); /* give back what is larger than MEDIA_KEEP_BYTES */
void media_buf_free(media_buf *b);

/* A row's pixels while it is one of bytes: stride bytes from line to line, step from pixel to pixel, 1 of grey, else 3 or 4. */
typedef struct media_pixels {
    uint8_t *p;
    size_t stride;
    int32_t w, h;
    int step;
} media_pixels;

typedef struct media_region {
    int32_t x, y, w, h;
} media_region;

/* Bytes from one line of w pixels to the next where nothing else decides: whole multiples of 64, with slack. */
static inline size_t media_line_stride(int32_t w, int step) {
    return (((size_t)w * (size_t)step + 63) & ~(size_t)63) + MEDIA_SLACK_BYTES;
}

static inline size_t media_pixels_bytes(const media_pixels *px) { return px->stride * (size_t)px->h; }

static inline uint8_t *media_line(const media_pixels *px, int32_t y) {
    return px->p + (size_t)y * px->stride;
}

/* n pixels of one colour. */
static inline void media_fill(uint8_t *to, int32_t n, int step, const uint8_t colour[4]) {
    if (step == 1 || (colour[0] == colour[1] && colour[0] == colour[2])) {
        memset(to, colour[0], (size_t)n * (size_t)step);
        return;
    }
    for (; n > 0; n--, to += step) memcpy(to, colour, 3);
}

/* Bytes, which lie anywhere. */
typedef uint8_t media_bytes __attribute__((vector_size(16), aligned(1), may_alias));

/* A number cut to a whole one of 0 to 255. */
static inline uint8_t media_cut(float v) { return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)v; }

/* sum + a * b, rounded once, as processors with FMA do it. */
static inline float media_fused(float sum, float a, float b) { return (float)((double)a * b + sum); }

#endif
