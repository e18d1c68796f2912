/* ffmpeg.h - one encoded picture through an open FFmpeg decoder. */
#ifndef SPDL_MEDIA_FFMPEG_H
#define SPDL_MEDIA_FFMPEG_H

#include "row.h"

/* Scratch of one worker: padded input, scaler, what was wrong. */
typedef struct media_ff media_ff;

media_ff *media_ff_new(void);
void media_ff_free(media_ff *f);
const char *media_ff_detail(const media_ff *f);

/* Set up an AVCodecContext before it is opened: damage is an error, one thread. */
void media_ff_prepare(void *codec_context);

/* What the fourth sample of a pixel does to the other three. */
enum { MEDIA_NOTHING = 0, MEDIA_BLACK = 1 /* they are cyan, magenta and yellow */, MEDIA_PREMULTIPLIED = 2 };

/* How the decoder's picture becomes the file's. With columns it is a tall one: tiles of tile_height rows, one under the
 * other, of which the picture of width x height has so many side by side. Without columns, but with a width, it lies at x, y
 * of a picture of width x height, and the rest has one colour. */
typedef struct media_layout {
    int32_t columns; /* 0: not of tiles */
    int32_t tile_height, width, height;
    int32_t x, y;
    uint8_t rest[3];
    int32_t fourth;  /* MEDIA_NOTHING ... */
    int32_t largest; /* what the samples' white is; 0: all bits */
} media_layout;

/* Decode the first picture of data with the open codec into c's picture buffer,
 * as op wants its channels and as layout says; a layout of zeros leaves it as it is. codec_context, packet and frame are FFmpeg's.
 * Returns a status; on success `out` is filled but for its orientation, on
 * MEDIA_TOO_MANY_PIXELS its size. */
int media_ff_decode(media_ff *f, media_ctx *c, void *codec_context, void *packet, void *frame,
                    const uint8_t *data, size_t size, const media_op *op, const media_layout *layout,
                    media_picture *out);

/* Where a tile of a picture goes, and how its planes become RGB. */
typedef struct media_tile {
    uint8_t *pixels; /* RGBX, MEDIA_SLACK_BYTES after the last row */
    size_t stride_bytes;
    int32_t width, height; /* what the tile must be */
    int32_t matrix;        /* of ITU-T H.273; -1: as the coded bytes say */
    int32_t full_range;    /* with a matrix */
    int32_t primaries;     /* with a matrix; of ITU-T H.273 */
} media_tile;

/* Decode one tile of a still picture with the open codec. Returns a status. */
int media_ff_decode_tile(media_ff *f, void *codec_context, void *packet, void *frame, const uint8_t *data,
                         size_t size, uint64_t max_pixels, const media_tile *tile);

#endif
