/* patches.c - a row as patches, each a line of its own, as vision transformers of pictures of any size take them. */
#include <string.h>

#include "internal.h"

int media_patches_begin(media_ctx *c, const media_op *op) {
    size_t size = (size_t)op->out_w * media_pixel_bytes(op) + MEDIA_SLACK_BYTES;
    return media_buf_get(&c->strip, size) ? MEDIA_OK : media_fail(c, MEDIA_NO_MEMORY, "");
}

/* The number of the patch in line `down` and column `across` of the grid. */
static size_t number(const media_op *op, size_t down, size_t across, size_t columns) {
    const size_t m = op->merge;
    return (down / m * (columns / m) + across / m) * m * m + down % m * m + across % m;
}

/* A finished line's elements of one channel, or of all where they lie together, into the patches; a patch has `part` bytes of it. */
static void scatter(const media_op *op, const uint8_t *line, int32_t y, size_t part, size_t channel,
                    uint8_t *dst) {
    const size_t n = op->patch, columns = op->out_w / n, square = n * part, down = (size_t)y / n;
    const size_t patch = n * n * op->temporal * media_pixel_bytes(op);
    dst += channel * op->temporal * square + (size_t)y % n * part;
    for (size_t x = 0; x < columns; x++, line += part) {
        uint8_t *to = dst + number(op, down, x, columns) * patch;
        for (uint32_t t = 0; t < op->temporal; t++, to += square) memcpy(to, line, part);
    }
}

void media_finish_line(const media_ctx *c, const media_op *op, const uint8_t *line, int32_t y, void *dst) {
    if (!op->patch) {
        c->kernels->finish(op, line, y, dst);
        return;
    }
    const size_t planes = media_planar(op) ? op->channels : 1, item = media_pixel_bytes(op) / planes;
    c->kernels->finish(op, line, 0, c->strip.p);
    for (size_t i = 0; i < planes; i++)
        scatter(op, c->strip.p + i * op->out_w * item, y, op->patch * item, i, dst);
}
