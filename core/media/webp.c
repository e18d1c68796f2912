/* webp.c - a lossy WebP's planes to RGB, as libwebp does it.
 *
 * Chroma is upsampled with weights 9, 3, 3, 1 in libwebp's two roundings, then
 * converted in its 14-bit fixed point. FFmpeg's decoder gives the planes that
 * VP8 defines, so the pixels are those of Pillow, which reads through libwebp. */
#include "internal.h"

static uint8_t clip6(int v) {
    v >>= 6;
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static void put(uint8_t *dst, int y, int u, int v) {
    int luma = (y * 19077) >> 8;
    dst[0] = clip6(luma + ((v * 26149) >> 8) - 14234);
    dst[1] = clip6(luma - ((u * 6419) >> 8) - ((v * 13320) >> 8) + 8708);
    dst[2] = clip6(luma + ((u * 33050) >> 8) - 17685);
    dst[3] = 255;
}

/* One chroma sample for a pixel: `near` is its own, `across` and `along` the
 * neighbours in the other row and column, `far` the diagonal one. */
static int upsample(int near, int along, int across, int far) {
    return ((near + 3 * along + 3 * across + far + 8) >> 3) + near;
}

static int chroma(const uint8_t *row, const uint8_t *other, int x, int last) {
    int i = x >> 1, j = x & 1 ? i + 1 : i - 1;
    if (j < 0 || j > last) /* at the picture's edge */
        return (3 * row[i] + other[i] + 2) >> 2;
    return upsample(row[i], row[j], other[i], other[j]) >> 1;
}

void media_webp_to_rgbx(const uint8_t *const planes[3], const int strides[3], int w, int h, uint8_t *dst,
                        size_t stride) {
    int last_x = (w - 1) / 2, last_y = (h - 1) / 2;
    for (int y = 0; y < h; y++, dst += stride) {
        int i = y >> 1, j = y & 1 ? i + 1 : i - 1;
        j = j < 0 ? 0 : j > last_y ? last_y : j;
        const uint8_t *luma = planes[0] + (ptrdiff_t)y * strides[0];
        const uint8_t *u = planes[1] + (ptrdiff_t)i * strides[1];
        const uint8_t *v = planes[2] + (ptrdiff_t)i * strides[2];
        const uint8_t *other_u = planes[1] + (ptrdiff_t)j * strides[1];
        const uint8_t *other_v = planes[2] + (ptrdiff_t)j * strides[2];
        for (int x = 0; x < w; x++)
            put(dst + 4 * (size_t)x, luma[x], chroma(u, other_u, x, last_x), chroma(v, other_v, x, last_x));
    }
}
