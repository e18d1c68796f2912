/* ffmpeg.c - the hot loop over FFmpeg's decoders: padded input, one packet in,
 * one frame out, pixels to RGBX. Go opens and owns the decoder (ffmpeg.go).
 *
 * Compiled where ffmpeg.go is, which defines MEDIA_FFMPEG. */
#ifdef MEDIA_FFMPEG

#include "ffmpeg.h"

#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "av/av.h"
#include "gif.h"
#include "internal.h"

struct media_ff {
    media_buf input;
    struct SwsContext *scaler, *tile_scaler;
    media_buf chroma; /* a tile with full chroma */
    media_buf rows;   /* of which planes' rows may not be written, a byte each */
    char detail[sizeof(((media_info *)0)->detail)];
    uint64_t max_pixels;
    int32_t refused_width, refused_height; /* 0: nothing refused */
    const char *why;                       /* of our own refusal; NULL: FFmpeg says why */
    const uint8_t *mark;                   /* what frames are marked with; NULL: nothing */
};

media_ff *media_ff_new(void) { return calloc(1, sizeof(media_ff)); }

void media_ff_free(media_ff *f) {
    if (!f) return;
    sws_freeContext(f->scaler);
    sws_freeContext(f->tile_scaler);
    media_buf_free(&f->chroma);
    media_buf_free(&f->rows);
    media_buf_free(&f->input);
    free(f);
}

const char *media_ff_detail(const media_ff *f) { return f->detail; }

/* Most decoders return, without a word, a frame that their data filled halfway. So each row ends with a mark before it is decoded. What is a
 * mark then is so by chance, or was not written: a second time, with another mark, tells, as no row can be both by chance. */
enum { MARK_BYTES = 8 };
static const uint8_t marks[2][MARK_BYTES] = {{0x9d, 0x2b, 0x71, 0xc6, 0x58, 0xe3, 0x0f, 0xa4},
                                             {0x62, 0xd4, 0x8e, 0x39, 0xa7, 0x1c, 0xf0, 0x5b}};

/* Where the mark of a plane's row is, n bytes. */
static uint8_t *mark_of(const AVFrame *frame, int plane, int y, int *n) {
    int bytes = av_image_get_linesize(frame->format, frame->width, plane);
    *n = bytes < MARK_BYTES ? bytes : MARK_BYTES;
    return frame->data[plane] + (ptrdiff_t)y * frame->linesize[plane] + bytes - *n;
}

static int rows_of(const AVFrame *frame, int plane) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    return plane == 1 || plane == 2 ? AV_CEIL_RSHIFT(frame->height, d->log2_chroma_h) : frame->height;
}

static void put_marks(const AVFrame *frame, const uint8_t *mark) {
    int n;
    for (int plane = 0; plane < av_pix_fmt_count_planes(frame->format); plane++)
        for (int y = 0; y < rows_of(frame, plane); y++) {
            uint8_t *at = mark_of(frame, plane, y, &n);
            memcpy(at, mark, (size_t)n);
        }
}

/* Whether any row of a plane has the mark, of those that are in the set, which it leaves in there; every byte of `rows` is a row of a plane. */
static int keep_marked(const AVFrame *frame, const uint8_t *mark, uint8_t *rows) {
    int n, any = 0;
    for (int plane = 0; plane < av_pix_fmt_count_planes(frame->format); plane++)
        for (int y = 0; y < rows_of(frame, plane); y++, rows++) {
            const uint8_t *at = mark_of(frame, plane, y, &n);
            *rows = *rows && n > 0 && memcmp(at, mark, (size_t)n) == 0;
            any |= *rows;
        }
    return any;
}

/* Refuse a frame before memory is taken for it. */
static int get_buffer(AVCodecContext *a, AVFrame *frame, int flags) {
    media_ff *f = a->opaque;
    if ((uint64_t)frame->width * (uint64_t)frame->height > f->max_pixels) {
        f->refused_width = frame->width;
        f->refused_height = frame->height;
        return AVERROR(EINVAL);
    }
    int rc = avcodec_default_get_buffer2(a, frame, flags);
    if (rc >= 0 && f->mark) put_marks(frame, f->mark);
    return rc;
}

void media_ff_prepare(void *codec_context) {
    AVCodecContext *a = codec_context;
    a->thread_count = 1;
    a->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
    if (a->codec_id == AV_CODEC_ID_PNG) /* elsewhere this refuses what is merely unknown */
        a->err_recognition |= AV_EF_EXPLODE;
    a->get_buffer2 = get_buffer;
}

static void keep_input(void *opaque, uint8_t *data) {
    (void)opaque;
    (void)data; /* belongs to media_ff.input */
}

static int load(media_ff *f, AVPacket *packet, const uint8_t *data, size_t size) {
    uint8_t *p = media_buf_get(&f->input, size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!p || size > INT32_MAX / 2) return MEDIA_NO_MEMORY;
    size = media_png_copy(p, data, size);
    memset(p + size, 0, AV_INPUT_BUFFER_PADDING_SIZE);
    media_gif_keep_colours(p, size);
    packet->buf = av_buffer_create(p, size + AV_INPUT_BUFFER_PADDING_SIZE, keep_input, NULL, 0);
    if (!packet->buf) return MEDIA_NO_MEMORY;
    packet->data = p;
    packet->size = (int)size;
    packet->flags |= AV_PKT_FLAG_KEY;
    return MEDIA_OK;
}

/* PNG's decoder, of rows that are not there. */
static int says_truncated(void) { return strstr(media_av_message(), "IEND without all image") != NULL; }

static int status_of(const media_ff *f, int rc) {
    if (f->refused_width) return MEDIA_TOO_MANY_PIXELS;
    if (rc == AVERROR(ENOMEM)) return MEDIA_NO_MEMORY;
    if (says_truncated()) return MEDIA_TRUNCATED;
    const char *message = media_av_message(); /* some decoders call invalid what they do not know */
    unsigned w, h;                            /* FFmpeg's own limit, whatever the description's is */
    if (sscanf(message, "Picture size %ux%u is invalid", &w, &h) == 2 && w && h) return MEDIA_UNSUPPORTED;
    if (rc == AVERROR_PATCHWELCOME || strstr(message, "nsupported") || strstr(message, "not supported") ||
        strstr(message, "Unknown pixel format"))
        return MEDIA_UNSUPPORTED;
    return MEDIA_CORRUPT;
}

/* Of decoders that tell in words only of a bad strip, block or line. A BMP with runs may have more behind its last line than that needs. */
static int says_damaged(enum AVCodecID id) {
    const char *message = media_av_message();
    if (id == AV_CODEC_ID_BMP &&
        (strstr(message, "ended frame decode with") || strstr(message, "(0 bytes left)")))
        return 0;
    return message[0] && (id == AV_CODEC_ID_TIFF || id == AV_CODEC_ID_EXR || id == AV_CODEC_ID_GIF ||
                          id == AV_CODEC_ID_BMP);
}

static int first_frame(media_ff *f, AVCodecContext *a, AVPacket *packet, AVFrame *frame) {
    int rc = avcodec_send_packet(a, packet);
    if (rc >= 0) rc = avcodec_receive_frame(a, frame);
    if (rc == AVERROR(EAGAIN)) {
        avcodec_send_packet(a, NULL);
        rc = avcodec_receive_frame(a, frame);
    }
    if (rc < 0) return status_of(f, rc);
    if (frame->decode_error_flags || (frame->flags & AV_FRAME_FLAG_CORRUPT)) return MEDIA_CORRUPT;
    if (says_truncated()) return MEDIA_TRUNCATED;
    return says_damaged(a->codec_id) ? MEDIA_CORRUPT : MEDIA_OK;
}

/* The same, of which every row was written. */
static int whole_frame(media_ff *f, AVCodecContext *a, AVPacket *packet, AVFrame *frame) {
    f->mark = marks[0];
    int rc = first_frame(f, a, packet, frame);
    if (rc != MEDIA_OK) return rc;
    size_t n = (size_t)av_pix_fmt_count_planes(frame->format) * (size_t)frame->height;
    uint8_t *rows = media_buf_get(&f->rows, n);
    if (!rows) return MEDIA_NO_MEMORY;
    memset(rows, 1, n);
    if (!keep_marked(frame, f->mark, rows)) return MEDIA_OK;
    const int height = frame->height, format = frame->format;
    av_frame_unref(frame);
    avcodec_flush_buffers(a);
    f->mark = marks[1];
    rc = first_frame(f, a, packet, frame);
    if (rc != MEDIA_OK) return rc;
    if (frame->height != height || frame->format != format) return MEDIA_CORRUPT;
    return keep_marked(frame, f->mark, rows) ? MEDIA_TRUNCATED : MEDIA_OK;
}

/* Formats of RGB and grey: where the (high) byte of each sample is, and the next pixel's. Planes are in FFmpeg's order:
 * green, blue, red, the fourth. */
typedef struct sample_format {
    enum AVPixelFormat format;
    int step, planar, r, g, b, fourth; /* of planes r is the byte in each */
} sample_format;

/* clang-format off */
static const sample_format samples[] = {
    {AV_PIX_FMT_RGB24, 3, 0, 0, 1, 2, 0},     {AV_PIX_FMT_BGR24, 3, 0, 2, 1, 0, 0},
    {AV_PIX_FMT_RGBA, 4, 0, 0, 1, 2, 3},      {AV_PIX_FMT_BGRA, 4, 0, 2, 1, 0, 3},
    {AV_PIX_FMT_ARGB, 4, 0, 1, 2, 3, 0},      {AV_PIX_FMT_ABGR, 4, 0, 3, 2, 1, 0},
    {AV_PIX_FMT_RGB0, 4, 0, 0, 1, 2, 3},      {AV_PIX_FMT_BGR0, 4, 0, 2, 1, 0, 3},
    {AV_PIX_FMT_0RGB, 4, 0, 1, 2, 3, 0},      {AV_PIX_FMT_0BGR, 4, 0, 3, 2, 1, 0},
    {AV_PIX_FMT_GRAY8, 1, 0, 0, 0, 0, 0},     {AV_PIX_FMT_YA8, 2, 0, 0, 0, 0, 1},
    {AV_PIX_FMT_GRAY16BE, 2, 0, 0, 0, 0, 0},  {AV_PIX_FMT_GRAY16LE, 2, 0, 1, 1, 1, 0},
    {AV_PIX_FMT_YA16BE, 4, 0, 0, 0, 0, 2},    {AV_PIX_FMT_YA16LE, 4, 0, 1, 1, 1, 3},
    {AV_PIX_FMT_RGB48BE, 6, 0, 0, 2, 4, 0},   {AV_PIX_FMT_RGB48LE, 6, 0, 1, 3, 5, 0},
    {AV_PIX_FMT_RGBA64BE, 8, 0, 0, 2, 4, 6},  {AV_PIX_FMT_RGBA64LE, 8, 0, 1, 3, 5, 7},
    {AV_PIX_FMT_GBRP, 1, 1, 0, 0, 0, 0},      {AV_PIX_FMT_GBRAP, 1, 1, 0, 0, 0, 0},
    {AV_PIX_FMT_GBRP16BE, 2, 1, 0, 0, 0, 0},  {AV_PIX_FMT_GBRP16LE, 2, 1, 1, 1, 1, 1},
    {AV_PIX_FMT_GBRAP16BE, 2, 1, 0, 0, 0, 0}, {AV_PIX_FMT_GBRAP16LE, 2, 1, 1, 1, 1, 1},
};
/* clang-format on */

static const sample_format *sample_format_of(int format) {
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
        if (samples[i].format == (enum AVPixelFormat)format) return &samples[i];
    return NULL;
}

static void rgbx(uint8_t *dst, uint8_t r, uint8_t g, uint8_t b) {
    dst[0] = r;
    dst[1] = g;
    dst[2] = b;
    dst[3] = 255;
}

static void packed_row(const sample_format *f, const uint8_t *s, uint8_t *dst, int n) {
    for (int x = 0; x < n; x++, s += f->step, dst += 4) rgbx(dst, s[f->r], s[f->g], s[f->b]);
}

static const uint8_t *row_of(const AVFrame *frame, int plane, int y) {
    return frame->data[plane] + (ptrdiff_t)y * frame->linesize[plane];
}

static void planar_row(const sample_format *f, const AVFrame *frame, int y, uint8_t *dst) {
    const uint8_t *g = row_of(frame, 0, y) + f->r, *b = row_of(frame, 1, y) + f->r,
                  *r = row_of(frame, 2, y) + f->r;
    for (int x = 0; x < frame->width; x++, dst += 4)
        rgbx(dst, r[x * f->step], g[x * f->step], b[x * f->step]);
}

/* The fourth sample of pixel 0, for f's steps; NULL: there is none. */
static const uint8_t *fourth_of(const sample_format *f, const AVFrame *frame, int y) {
    if (f->planar) return frame->data[3] ? row_of(frame, 3, y) + f->fourth : NULL;
    return f->fourth ? row_of(frame, 0, y) + f->fourth : NULL;
}

/* Undo what the fourth sample did, as Pillow does of the high bytes. */
static int undo_fourth(const AVFrame *frame, int y, int what, uint8_t *dst) {
    const sample_format *f = sample_format_of(frame->format);
    const uint8_t *s = f ? fourth_of(f, frame, y) : NULL;
    if (!s) return MEDIA_UNSUPPORTED;
    for (int x = 0; x < frame->width; x++, s += f->step, dst += 4)
        dst[3] = what == MEDIA_BLACK ? (uint8_t)(255 - *s) : *s;
    dst -= (size_t)frame->width * 4;
    if (what == MEDIA_BLACK) {
        for (int i = 0; i < frame->width * 4; i++)
            if (i % 4 != 3) dst[i] = (uint8_t)(255 - dst[i]);
        media_cmyk_to_rgbx(dst, (uint32_t)frame->width);
    } else {
        media_unmultiply(dst, (uint32_t)frame->width);
    }
    return MEDIA_OK;
}

/* Samples as Pillow scales them: in doubles, halves to even. Of more than 8 bits is what has a largest value of more. */
static int scaled_row(const AVFrame *frame, int y, int largest, uint8_t *dst) {
    const sample_format *f = sample_format_of(frame->format);
    const uint8_t *s = row_of(frame, 0, y);
    if (!f || f->planar) return MEDIA_UNSUPPORTED;
    const int at[3] = {f->r, f->g, f->b};
    for (int x = 0; x < frame->width; x++, s += f->step, dst += 4) {
        for (int i = 0; i < 3; i++) {
            int v = largest > 255 ? s[at[i]] << 8 | s[at[i] ^ 1] : s[at[i]];
            double scaled = nearbyint((double)v / largest * 255);
            dst[i] = scaled > 255 ? 255 : (uint8_t)scaled;
        }
    }
    return MEDIA_OK;
}

static void palette_row(const uint8_t *palette, const uint8_t *s, uint8_t *dst, int n) {
    for (int x = 0; x < n; x++, dst += 4) {
        uint32_t c;
        memcpy(&c, palette + 4 * s[x], 4);
        rgbx(dst, (uint8_t)(c >> 16), (uint8_t)(c >> 8), (uint8_t)c);
    }
}

static void bit_row(int white, const uint8_t *s, uint8_t *dst, int n) {
    for (int x = 0; x < n; x++, dst += 4) {
        uint8_t v = ((s[x >> 3] >> (7 - (x & 7))) & 1) == white ? 255 : 0;
        rgbx(dst, v, v, v);
    }
}

/* Five bits or, of green, six to eight as Pillow makes them: cut, not rounded. */
static void sixteen_row(int green_bits, const uint8_t *s, uint8_t *dst, int n) {
    int most = (1 << green_bits) - 1;
    for (int x = 0; x < n; x++, s += 2, dst += 4) {
        int v = s[1] << 8 | s[0], r = v >> (5 + green_bits) & 31, g = v >> 5 & most, b = v & 31;
        rgbx(dst, (uint8_t)(r * 255 / 31), (uint8_t)(g * 255 / most), (uint8_t)(b * 255 / 31));
    }
}

static void gray12_row(const uint8_t *s, uint8_t *dst, int n) {
    for (int x = 0; x < n; x++, s += 2, dst += 4) {
        uint8_t v = (uint8_t)(s[1] << 4 | s[0] >> 4);
        rgbx(dst, v, v, v);
    }
}

/* Formats with a row of their own; 0 if the frame has none. */
static int own_row(const AVFrame *frame, int y, uint8_t *dst) {
    const uint8_t *s = row_of(frame, 0, y);
    const sample_format *f = sample_format_of(frame->format);
    int n = frame->width;
    if (f && f->planar)
        planar_row(f, frame, y, dst);
    else if (f)
        packed_row(f, s, dst, n);
    else if (frame->format == AV_PIX_FMT_PAL8)
        palette_row(frame->data[1], s, dst, n);
    else if (frame->format == AV_PIX_FMT_RGB555LE || frame->format == AV_PIX_FMT_RGB565LE)
        sixteen_row(frame->format == AV_PIX_FMT_RGB555LE ? 5 : 6, s, dst, n);
    else if (frame->format == AV_PIX_FMT_GRAY12LE)
        gray12_row(s, dst, n);
    else if (frame->format == AV_PIX_FMT_MONOBLACK || frame->format == AV_PIX_FMT_MONOWHITE)
        bit_row(frame->format == AV_PIX_FMT_MONOBLACK, s, dst, n);
    else
        return 0;
    return 1;
}

/* Everything else through swscale, accurately. Of full_range are JPEG 2000's Y, Cb and Cr, and grey of floats, which swscale
 * takes for limited. */
static int scale(media_ff *f, const AVFrame *frame, int full_range, uint8_t *dst, size_t stride) {
    f->scaler = sws_getCachedContext(f->scaler, frame->width, frame->height, frame->format, frame->width,
                                     frame->height, AV_PIX_FMT_RGB0,
                                     SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    if (!f->scaler) return MEDIA_UNSUPPORTED;
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    if (!(d->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL))) {
        const int *k = sws_getCoefficients(SWS_CS_ITU601);
        sws_setColorspaceDetails(f->scaler, k, full_range || d->nb_components < 3, k, 1, 0, 1 << 16, 1 << 16);
    }
    uint8_t *planes[4] = {dst};
    int strides[4] = {(int)stride};
    int rows = sws_scale(f->scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height,
                         planes, strides);
    return rows == frame->height ? MEDIA_OK : MEDIA_UNSUPPORTED;
}

/* Where row y of the decoder's picture goes. */
static uint8_t *place(const media_layout *l, const AVFrame *frame, int y, uint8_t *p, size_t stride) {
    if (l->columns == 0) return p + (size_t)(l->y + y) * stride + (size_t)l->x * 4;
    int tile = y / l->tile_height, down = tile / l->columns * l->tile_height + y % l->tile_height;
    return p + (size_t)down * stride + (size_t)(tile % l->columns) * 4 * (size_t)frame->width;
}

/* Row by row; MEDIA_OTHER_FORMAT for pixels that have no row of their own. */
static int convert_rows(const AVFrame *frame, const media_layout *l, uint8_t *p, size_t stride) {
    for (int y = 0; y < frame->height; y++) {
        uint8_t *dst = place(l, frame, y, p, stride);
        if (!own_row(frame, y, dst)) return MEDIA_OTHER_FORMAT;
        if (l->fourth != MEDIA_NOTHING && undo_fourth(frame, y, l->fourth, dst) != MEDIA_OK)
            return MEDIA_UNSUPPORTED;
        if (l->largest && scaled_row(frame, y, l->largest, dst) != MEDIA_OK) return MEDIA_UNSUPPORTED;
    }
    return MEDIA_OK;
}

/* The size that the pixels need: all of the tiles, the canvas, or the decoder's picture. 0 if that does not go in there. */
static int room(const AVFrame *frame, const media_layout *l, size_t *across, size_t *down) {
    *across = (size_t)frame->width;
    *down = (size_t)frame->height;
    if (l->columns) {
        *across *= (size_t)l->columns;
        *down /= (size_t)l->columns;
        return frame->height % (l->columns * l->tile_height) == 0 && (size_t)l->width <= *across &&
               (size_t)l->height <= *down;
    }
    if (l->width == 0) return 1;
    *across = (size_t)l->width;
    *down = (size_t)l->height;
    return l->x + frame->width <= l->width && l->y + frame->height <= l->height;
}

static void fill(const media_layout *l, uint8_t *p, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) rgbx(p + 4 * i, l->rest[0], l->rest[1], l->rest[2]);
}

static int convert(media_ff *f, media_ctx *c, int codec, const AVFrame *frame, const media_op *op,
                   const media_layout *l, media_picture *out) {
    int full_range = codec == AV_CODEC_ID_JPEG2000 || frame->color_range == AVCOL_RANGE_JPEG;
    int placed = l->width > 0;
    size_t across, down;
    if (!room(frame, l, &across, &down)) return MEDIA_CORRUPT;
    size_t stride = (across * 4 + 63) & ~(size_t)63;
    uint8_t *p = media_ctx_picture_buffer(c, stride * down + MEDIA_SLACK_BYTES);
    if (!p) return MEDIA_NO_MEMORY;
    *out = (media_picture){p, stride, placed ? l->width : frame->width, placed ? l->height : frame->height,
                           0, 0};
    if (placed && !l->columns) fill(l, p, stride / 4 * down);
    int rc = convert_rows(frame, l, p, stride);
    if (rc == MEDIA_OTHER_FORMAT)
        rc =
            placed || l->fourth != MEDIA_NOTHING ? MEDIA_UNSUPPORTED : scale(f, frame, full_range, p, stride);
    for (int y = 0; y < out->height && op->channels == 1; y++)
        media_rgbx_to_gray(p + (size_t)y * stride, (uint32_t)out->width);
    return rc;
}

/* Begin a call: what is refused and complained of from here on is its own. */
static void begin(media_ff *f, AVCodecContext *a, uint64_t max_pixels) {
    a->opaque = f;
    f->max_pixels = max_pixels;
    f->refused_width = f->refused_height = 0;
    f->why = NULL;
    f->mark = NULL;
    media_av_forget();
}

static void end(media_ff *f, AVPacket *packet, AVFrame *frame) {
    snprintf(f->detail, sizeof f->detail, "%s", f->why ? f->why : media_av_message());
    f->detail[strcspn(f->detail, "\n")] = 0;
    av_frame_unref(frame);
    av_packet_unref(packet);
    media_buf_trim(&f->input);
    media_buf_trim(&f->chroma);
}

int media_ff_decode(media_ff *f, media_ctx *c, void *codec_context, void *packet, void *frame,
                    const uint8_t *data, size_t size, const media_op *op, const media_layout *layout,
                    media_picture *out) {
    AVCodecContext *a = codec_context;
    begin(f, a, op->max_pixels);
    int rc = load(f, packet, data, size);
    if (rc == MEDIA_OK) rc = whole_frame(f, a, packet, frame);
    if (rc == MEDIA_OK) rc = convert(f, c, a->codec_id, frame, op, layout, out);
    if (rc == MEDIA_TOO_MANY_PIXELS)
        *out = (media_picture){.width = f->refused_width, .height = f->refused_height, .orientation = 1};
    end(f, packet, frame);
    return rc;
}

/* Planes that hold green, blue and red under the name of Y, Cb and Cr. */
static int as_gbr(int format) {
    switch (format) {
    case AV_PIX_FMT_YUV444P:
    case AV_PIX_FMT_YUVJ444P: return AV_PIX_FMT_GBRP;
    case AV_PIX_FMT_YUV444P10: return AV_PIX_FMT_GBRP10;
    case AV_PIX_FMT_YUV444P12: return AV_PIX_FMT_GBRP12;
    default: return format;
    }
}

/* The same picture with as many chroma samples as luma samples; frame itself where that is so. NULL: no memory. */
static const AVFrame *with_full_chroma(media_ff *f, const AVFrame *frame, AVFrame *full) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    if (d->nb_components < 3 || (d->log2_chroma_w == 0 && d->log2_chroma_h == 0)) return frame;
    int depth = d->comp[0].depth, w = frame->width, h = frame->height, bytes = depth > 8 ? 2 : 1;
    size_t stride = ((size_t)w * bytes + 63) & ~(size_t)63;
    uint8_t *p = media_buf_get(&f->chroma, 2 * stride * (size_t)h + MEDIA_SLACK_BYTES);
    if (!p) return NULL;
    full->format = depth == 8    ? AV_PIX_FMT_YUV444P
                   : depth == 10 ? AV_PIX_FMT_YUV444P10
                                 : AV_PIX_FMT_YUV444P12;
    full->data[0] = frame->data[0];
    full->linesize[0] = frame->linesize[0];
    for (int i = 1; i < 3; i++) {
        media_plane plane = {frame->data[i], frame->linesize[i], AV_CEIL_RSHIFT(h, d->log2_chroma_h)};
        full->data[i] = p + (size_t)(i - 1) * stride * (size_t)h;
        full->linesize[i] = (int)stride;
        media_upsample(&plane, d->log2_chroma_w, d->log2_chroma_h, bytes, full->data[i], stride, w, h);
    }
    return full;
}

/* Is it one of the formats that HEVC and AV1 pictures come in? */
static int planar(int format) {
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    if (!d || (d->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BE))) return 0;
    int depth = d->comp[0].depth;
    return (d->nb_components < 3 || (d->flags & AV_PIX_FMT_FLAG_PLANAR)) && d->log2_chroma_w <= 1 &&
           d->log2_chroma_h <= 1 && (depth == 8 || depth == 10 || depth == 12);
}

/* What swscale multiplies chroma with, in 1 / 65536 of limited range, by H.273's matrix; NULL: a matrix that is none, or that
 * we do not know. Unspecified is BT.601, as libheif and libavif have it. */
static const int *coefficients(int matrix, int primaries) {
    static const int display_p3[4] = {115046, 137381, 15747, 38082}; /* Kr 0.2289746, Kb 0.0792869 */
    switch (matrix) {
    case AVCOL_SPC_UNSPECIFIED: return sws_getCoefficients(SWS_CS_ITU601);
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_SMPTE240M:
    case AVCOL_SPC_BT2020_NCL: return sws_getCoefficients(matrix);
    case AVCOL_SPC_CHROMA_DERIVED_NCL: break;
    default: return NULL;
    }
    switch (primaries) {
    case AVCOL_PRI_BT709: return sws_getCoefficients(SWS_CS_ITU709);
    case AVCOL_PRI_BT2020: return sws_getCoefficients(SWS_CS_BT2020);
    case AVCOL_PRI_SMPTE432: return display_p3;
    default: return NULL;
    }
}

static int convert_tile(media_ff *f, const AVFrame *frame, const media_tile *t) {
    int matrix = t->matrix >= 0 ? t->matrix : (int)frame->colorspace;
    int primaries = t->matrix >= 0 ? t->primaries : (int)frame->color_primaries;
    int full_range = t->matrix >= 0 ? t->full_range : frame->color_range == AVCOL_RANGE_JPEG;
    AVFrame full = {0};
    if (frame->width != t->width || frame->height != t->height) return MEDIA_CORRUPT;
    if (!planar(frame->format)) return MEDIA_UNSUPPORTED;
    const AVFrame *from = with_full_chroma(f, frame, &full);
    if (!from) return MEDIA_NO_MEMORY;
    int format = matrix == AVCOL_SPC_RGB ? as_gbr(from->format) : from->format;
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const int *k = coefficients(d->nb_components < 3 ? AVCOL_SPC_UNSPECIFIED : matrix, primaries);
    int rgb = (d->flags & AV_PIX_FMT_FLAG_RGB) != 0;
    if (!rgb && !k) {
        f->why = matrix == AVCOL_SPC_YCGCO
                     ? "colours in YCgCo; write it in YCbCr of BT.601 or BT.709, or in RGB"
                     : "the matrix of its colours; write it in BT.601, BT.709 or RGB";
        return MEDIA_UNSUPPORTED;
    }
    struct SwsContext *s = f->tile_scaler = sws_getCachedContext(
        f->tile_scaler, t->width, t->height, format, t->width, t->height, AV_PIX_FMT_RGB0,
        SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    if (!s) return MEDIA_UNSUPPORTED;
    if (!rgb) sws_setColorspaceDetails(s, k, full_range, k, 1, 0, 1 << 16, 1 << 16);
    uint8_t *planes[4] = {t->pixels};
    int strides[4] = {(int)t->stride_bytes};
    int rows =
        sws_scale(s, (const uint8_t *const *)from->data, from->linesize, 0, t->height, planes, strides);
    return rows == t->height ? MEDIA_OK : MEDIA_UNSUPPORTED;
}

int media_ff_decode_tile(media_ff *f, void *codec_context, void *packet, void *frame, const uint8_t *data,
                         size_t size, uint64_t max_pixels, const media_tile *tile) {
    AVCodecContext *a = codec_context;
    begin(f, a, max_pixels);
    avcodec_flush_buffers(a);
    int rc = load(f, packet, data, size);
    if (rc == MEDIA_OK) rc = first_frame(f, a, packet, frame);
    if (rc == MEDIA_OK) rc = convert_tile(f, frame, tile);
    end(f, packet, frame);
    return rc;
}

#endif
