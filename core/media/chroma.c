/* chroma.c - as many chroma samples as luma samples: each of a subsampled plane lies in the middle of its two or four
 * pixels, and what lies between is weighed by distance, 9:3:3:1. That is what libavif does, and libjpeg-turbo under the
 * name of fancy upsampling. swscale neither keeps to the middle in odd sizes nor weighs lines of chroma in equal heights. */
#include "files.h"

/* One sample: the sum, with weights of 3 and 1 along each halved axis, of the near one and its neighbours. */
#define UPSAMPLE(name, sample)                                                                           \
    static void name(const media_plane *src, int half_w, int half_h, sample *dst, int w, int y) {        \
        int sy = half_h ? y >> 1 : y, sw = (w + half_w) >> half_w, last = src->height - 1;               \
        int ny = half_h ? sy + (y & 1 ? 1 : -1) : sy;                                                    \
        ny = ny < 0 ? 0 : ny > last ? last : ny;                                                         \
        const sample *a = (const sample *)(const void *)(src->data + (ptrdiff_t)sy * src->stride_bytes); \
        const sample *b = (const sample *)(const void *)(src->data + (ptrdiff_t)ny * src->stride_bytes); \
        for (int x = 0; x < w; x++) {                                                                    \
            int sx = half_w ? x >> 1 : x, nx = half_w ? sx + (x & 1 ? 1 : -1) : sx;                      \
            nx = nx < 0 ? 0 : nx >= sw ? sw - 1 : nx;                                                    \
            uint32_t near = 3u * a[sx] + b[sx], far = 3u * a[nx] + b[nx];                                \
            dst[x] = (sample)((3 * near + far + 8) >> 4);                                                \
        }                                                                                                \
    }

UPSAMPLE(upsample8, uint8_t)
UPSAMPLE(upsample16, uint16_t)

void media_upsample(const media_plane *src, int half_w, int half_h, int bytes, uint8_t *dst,
                    size_t stride_bytes, int w, int h) {
    for (int y = 0; y < h; y++) {
        uint8_t *line = dst + (size_t)y * stride_bytes;
        if (bytes == 1)
            upsample8(src, half_w, half_h, line, w, y);
        else
            upsample16(src, half_w, half_h, (uint16_t *)(void *)line, w, y);
    }
}
