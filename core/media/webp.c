/* webp.c - WebP files to rows, through libwebp, which Pillow and torchvision read them with.
 *
 * The part of the picture that is wanted is decoded, and two pixels around it, which the upsampling of chroma looks at. Alpha is dropped
 * with the colour under it left as it is. Of an animation the first frame is the picture, on the canvas's black where it covers less. */
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "internal.h"

enum { HEADER_BYTES = 12, AROUND = 2 };

int media_is_webp(const uint8_t *data, size_t size) {
    return size >= HEADER_BYTES && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0;
}

static int status_of(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_OK: return MEDIA_OK;
    case VP8_STATUS_OUT_OF_MEMORY: return MEDIA_NO_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE: return MEDIA_UNSUPPORTED;
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return MEDIA_TRUNCATED;
    default: return MEDIA_CORRUPT;
    }
}

/* The RIFF header's size is the file's, but for these 8 bytes. */
static int is_cut(const uint8_t *data, size_t size) {
    uint64_t claimed =
        (uint64_t)data[4] | (uint64_t)data[5] << 8 | (uint64_t)data[6] << 16 | (uint64_t)data[7] << 24;
    return claimed + 8 > size;
}

/* Pixels of a picture, or of a part of it: x and y are even. */
typedef struct part {
    int32_t x, y, w, h;
    uint8_t *pixels;
    size_t stride;
} part;

static int decode_part(const uint8_t *data, size_t size, const part *p) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return MEDIA_UNSUPPORTED; /* a library of another version */
    config.options.use_cropping = 1;
    config.options.crop_left = p->x;
    config.options.crop_top = p->y;
    config.options.crop_width = p->w;
    config.options.crop_height = p->h;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){p->pixels, (int)p->stride, p->stride * (size_t)p->h};
    int rc = status_of(WebPDecode(data, size, &config));
    WebPFreeDecBuffer(&config.output);
    return rc;
}

/* The first frame on its canvas, all of it: p is the canvas. */
static int decode_first(const uint8_t *data, size_t size, const part *canvas) {
    WebPDemuxer *d = WebPDemux(&(WebPData){data, size});
    WebPIterator frame;
    if (!d) return MEDIA_CORRUPT;
    int rc = MEDIA_CORRUPT;
    if (WebPDemuxGetFrame(d, 1, &frame)) {
        part p = {0,
                  0,
                  frame.width,
                  frame.height,
                  canvas->pixels + (size_t)frame.y_offset * canvas->stride + 4 * (size_t)frame.x_offset,
                  canvas->stride};
        memset(canvas->pixels, 0, canvas->stride * (size_t)canvas->h);
        if (frame.complete && frame.x_offset + frame.width <= canvas->w &&
            frame.y_offset + frame.height <= canvas->h)
            rc = decode_part(frame.fragment.bytes, frame.fragment.size, &p);
        WebPDemuxReleaseIterator(&frame);
    }
    WebPDemuxDelete(d);
    return rc;
}

/* What is decoded for the region `raw` of a picture w x h. */
static part part_around(const media_region *raw, int32_t w, int32_t h) {
    part p = {.x = raw->x > AROUND ? (raw->x - AROUND) & ~1 : 0,
              .y = raw->y > AROUND ? (raw->y - AROUND) & ~1 : 0};
    int32_t right = raw->x + raw->w + AROUND, bottom = raw->y + raw->h + AROUND;
    p.w = (right < w ? right : w) - p.x;
    p.h = (bottom < h ? bottom : h) - p.y;
    return p;
}

static int decode(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                  const media_draw *draw, int animation) {
    media_region r, raw;
    int32_t w = c->info.width, h = c->info.height;
    int rc = media_prepare(c, op, draw, &r);
    if (rc != MEDIA_OK) return rc;
    media_unturn(c->info.orientation, w, h, &r, &raw);
    part p = animation ? (part){.w = w, .h = h} : part_around(&raw, w, h);
    p.stride = media_row_stride(p.w);
    p.pixels = media_buf_get(&c->picture, p.stride * (size_t)p.h + MEDIA_SLACK_BYTES);
    if (!p.pixels) return media_fail(c, MEDIA_NO_MEMORY, "");
    rc = animation ? decode_first(data, size, &p) : decode_part(data, size, &p);
    if (rc != MEDIA_OK) return media_fail(c, rc, "");
    for (int32_t y = 0; y < p.h && op->channels == 1; y++)
        media_rgbx_to_gray(p.pixels + (size_t)y * p.stride, (uint32_t)p.w);
    media_picture_rows(c, p.pixels, p.stride, raw.x - p.x, raw.y - p.y, op);
    return media_render(c, &r, media_fetch_picture, dst);
}

int media_webp_sides(const uint8_t *data, size_t size, uint32_t *w, uint32_t *h) {
    WebPBitstreamFeatures is;
    if (is_cut(data, size) || WebPGetFeatures(data, size, &is) != VP8_STATUS_OK) return 0;
    *w = (uint32_t)is.width;
    *h = (uint32_t)is.height;
    return 1;
}

int media_webp_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                   const media_draw *draw) {
    WebPBitstreamFeatures is;
    int rc = status_of(WebPGetFeatures(data, size, &is));
    if (rc == MEDIA_OK) {
        c->info.width = is.width;
        c->info.height = is.height;
    }
    if (is_cut(data, size)) return media_fail(c, MEDIA_TRUNCATED, "");
    if (rc != MEDIA_OK) return media_fail(c, rc, "");
    if ((uint64_t)is.width * (uint64_t)is.height > op->max_pixels)
        return media_fail(c, MEDIA_TOO_MANY_PIXELS, "");
    if (op->orient) c->info.orientation = media_exif_orientation(data, size);
    return decode(c, dst, data, size, op, draw, is.has_animation);
}
