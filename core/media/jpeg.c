/* jpeg.c - JPEG files to rows, through libjpeg-turbo's libjpeg interface.
 *
 * Accurate integer DCT and fancy upsampling: the pixels that Pillow and
 * torchvision get from the same library. Only the rows and columns that the
 * operation reads are decoded; everything below the last one is not touched.
 * The Huffman codes of a sound baseline file are huffman.c's to decode.
 *
 * libjpeg reports damage as warnings and goes on with grey. Here damage ends
 * the sample: data that stops early is MEDIA_TRUNCATED, data that does not
 * decode MEDIA_CORRUPT. A file without its end marker is truncated whatever
 * part of it was asked for; damage inside rows that were not needed stays
 * unseen. Warnings that cost no pixel (stray bytes before a marker, an unknown
 * Adobe transform) pass, as they do in Pillow. */
#include <string.h>

#include "internal.h"

#include <jerror.h> /* after jpeglib.h, whose configuration numbers its messages */

static media_jpeg *jpeg_of(j_common_ptr d) { return (media_jpeg *)(void *)d; /* the first member */ }

static int status_of(int code) {
    switch (code) {
    case JERR_INPUT_EOF:
    case JERR_INPUT_EMPTY:
    case JWRN_JPEG_EOF: return MEDIA_TRUNCATED;
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED: return MEDIA_UNSUPPORTED;
    case JERR_IMAGE_TOO_BIG: return MEDIA_TOO_MANY_PIXELS;
    case JERR_OUT_OF_MEMORY: return MEDIA_NO_MEMORY;
    default: return MEDIA_CORRUPT;
    }
}

static void leave(media_jpeg *j, int status) {
    j->status = status;
    longjmp(j->exit, 1);
}

static void error_exit(j_common_ptr d) { leave(jpeg_of(d), status_of(d->err->msg_code)); }

static void emit_message(j_common_ptr d, int level) {
    if (level >= 0) return;
    switch (d->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_JPEG_EOF: leave(jpeg_of(d), status_of(d->err->msg_code)); break;
    default: break;
    }
}

static void output_message(j_common_ptr d) { (void)d; /* a library does not print */ }

static void on_progress(j_common_ptr d) {
    if (jpeg_of(d)->d.input_scan_number > MEDIA_MAX_SCANS) leave(jpeg_of(d), MEDIA_TOO_MANY_SCANS);
}

static void no_source(j_decompress_ptr d) { (void)d; }

static boolean source_ended(j_decompress_ptr d) {
    ERREXIT(d, JERR_INPUT_EOF);
    return FALSE;
}

static void skip_source(j_decompress_ptr d, long n) {
    if (n <= 0) return;
    if ((size_t)n > d->src->bytes_in_buffer) ERREXIT(d, JERR_INPUT_EOF);
    d->src->next_input_byte += n;
    d->src->bytes_in_buffer -= (size_t)n;
}

int media_jpeg_create(media_jpeg *j) {
    j->d.err = jpeg_std_error(&j->err);
    j->err.error_exit = error_exit;
    j->err.emit_message = emit_message;
    j->err.output_message = output_message;
    if (setjmp(j->exit)) return j->status;
    jpeg_create_decompress(&j->d);
    j->created = 1;
    media_arena_install(&j->d, &j->arena);
    j->src = (struct jpeg_source_mgr){
        NULL, 0, no_source, source_ended, skip_source, jpeg_resync_to_restart, no_source};
    j->d.src = &j->src;
    j->progress.progress_monitor = on_progress;
    j->d.progress = &j->progress;
    return MEDIA_OK;
}

void media_jpeg_destroy(media_jpeg *j) {
    if (j->created) jpeg_destroy_decompress(&j->d);
    media_arena_free(&j->arena);
}

/* The end marker, searched from the end down to where the scan starts. Inside
 * a scan 0xff is followed by 0 or a restart marker, so it cannot lie there. */
static int has_end(const uint8_t *scan, const uint8_t *end) {
    for (const uint8_t *p = end - 2; p >= scan; p--) {
        if (p[1] == 0xd9 && p[0] == 0xff) return 1;
    }
    return 0;
}

static void choose_colour(media_jpeg *j, const media_op *op) {
    struct jpeg_decompress_struct *d = &j->d;
    J_COLOR_SPACE space = d->jpeg_color_space;
    j->cmyk = space == JCS_CMYK || space == JCS_YCCK;
    j->to_gray = 0;
    if (j->cmyk)
        d->out_color_space = JCS_CMYK;
    else if (op->mode == MEDIA_RGB)
        d->out_color_space = JCS_EXT_RGBX;
    else if (space == JCS_GRAYSCALE || (space == JCS_YCbCr && op->mode == MEDIA_LUMA))
        d->out_color_space = JCS_GRAYSCALE;
    else
        d->out_color_space = JCS_EXT_RGBX;
    j->to_gray = op->mode != MEDIA_RGB && d->out_color_space != JCS_GRAYSCALE;
    d->dct_method = JDCT_ISLOW;
    d->do_fancy_upsampling = TRUE;
    d->do_block_smoothing = TRUE;
}

/* 1 if libjpeg smooths blocks: a progressive file leaves some of their first coefficients unsent or unrefined. It looks two
 * blocks to each side for them. */
static int is_smoothed(const struct jpeg_decompress_struct *d) {
    for (int i = 0; d->progressive_mode && d->coef_bits && i < d->num_components; i++)
        for (int k = 1; k < 10; k++)
            if (d->coef_bits[i][k] != 0) return 1;
    return 0;
}

static void read_rows(struct jpeg_decompress_struct *d, JSAMPARRAY rows, int n) {
    for (int done = 0; done < n;) done += (int)jpeg_read_scanlines(d, rows + done, (JDIMENSION)(n - done));
}

/* Start decoding the region: raw coordinates, as stored in the file. The
 * decoded columns reach two pixels past it, because fancy upsampling looks at
 * its neighbours and libjpeg treats the part's edge as the picture's. Smoothing
 * looks further: such a picture is decoded whole, up to the region's end. */
static void start(media_ctx *c, const media_region *r, int own_codes) {
    struct jpeg_decompress_struct *d = &c->jpeg.d;
    jpeg_start_decompress(d);
    c->own = own_codes && media_huff_take(&c->jpeg.huff, d);
    c->jpeg.skip_x = r->x;
    if (is_smoothed(d)) {
        JSAMPROW row = c->rows.p;
        for (int32_t y = 0; y < r->y; y++) read_rows(d, &row, 1);
        return;
    }
    JDIMENSION left = r->x > 2 ? (JDIMENSION)r->x - 2 : 0;
    JDIMENSION right = (JDIMENSION)(r->x + r->w) + 2;
    if (right > d->output_width) right = d->output_width;
    JDIMENSION width = right - left;
    if (width + 16 < d->output_width) {
        jpeg_crop_scanline(d, &left, &width);
        if (c->own) media_huff_columns(&c->jpeg.huff, d, left, width);
        c->jpeg.skip_x = r->x - (int32_t)left;
    }
    if (r->y > 0) jpeg_skip_scanlines(d, (JDIMENSION)r->y);
}

static void fetch(media_ctx *c, int n, const uint8_t *rows[4]) {
    media_jpeg *j = &c->jpeg;
    int bytes = j->d.output_components, pixel = j->cmyk ? 4 : bytes;
    size_t stride = media_row_stride((int32_t)j->d.image_width);
    JSAMPROW out[4];
    for (int i = 0; i < 4; i++) out[i] = c->rows.p + (size_t)i * stride;
    read_rows(&j->d, out, n);
    for (int i = 0; i < n; i++) {
        if (j->cmyk) media_cmyk_to_rgbx(out[i], j->d.output_width);
        if (j->to_gray) {
            media_rgbx_to_gray(out[i], j->d.output_width);
            pixel = 1;
        }
        rows[i] = out[i] + (size_t)j->skip_x * (size_t)pixel;
    }
}

static int header(media_ctx *c, const uint8_t *data, size_t size, const media_op *op) {
    struct jpeg_decompress_struct *d = &c->jpeg.d;
    d->src->next_input_byte = data;
    d->src->bytes_in_buffer = size;
    jpeg_read_header(d, TRUE);
    c->info.width = (int32_t)d->image_width;
    c->info.height = (int32_t)d->image_height;
    if ((uint64_t)d->image_width * d->image_height > op->max_pixels)
        return media_fail(c, MEDIA_TOO_MANY_PIXELS, "");
    if (!has_end(d->src->next_input_byte, data + size))
        return media_fail(c, MEDIA_TRUNCATED, "no end marker");
    if (op->orient) c->info.orientation = media_exif_orientation(data, size);
    choose_colour(&c->jpeg, op);
    return MEDIA_OK;
}

static int decode(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                  const media_draw *draw, int own_codes) {
    int rc = header(c, data, size, op);
    if (rc != MEDIA_OK) return rc;
    media_region r, raw;
    int32_t w = c->info.width, h = c->info.height;
    rc = media_prepare(c, op, draw, &r);
    if (rc != MEDIA_OK) return rc;
    if (!media_buf_get(&c->rows, 4 * media_row_stride(w) + MEDIA_SLACK_BYTES))
        return media_fail(c, MEDIA_NO_MEMORY, "");
    media_unturn(c->info.orientation, w, h, &r, &raw);
    start(c, &raw, own_codes);
    return media_render(c, &r, fetch, dst);
}

/* What any decoder of JPEGs takes: see media_jpeg_plan. */
static int is_plain(const media_ctx *c) {
    const struct jpeg_decompress_struct *d = &c->jpeg.d;
    const jpeg_component_info *k = d->comp_info;
    return c->info.orientation == 1 && !d->progressive_mode && !d->arith_code && d->data_precision == 8 &&
           d->jpeg_color_space == JCS_YCbCr && d->comps_in_scan == 3 && k[0].h_samp_factor <= 2 &&
           k[0].v_samp_factor <= 2 && k[1].h_samp_factor == 1 && k[1].v_samp_factor == 1 &&
           k[2].h_samp_factor == 1 && k[2].v_samp_factor == 1;
}

/* What libjpeg's leave() was told. */
static int left(media_ctx *c) {
    media_jpeg *j = &c->jpeg;
    char text[JMSG_LENGTH_MAX] = "";
    if (j->status != MEDIA_TOO_MANY_SCANS) j->err.format_message((j_common_ptr)&j->d, text);
    return media_fail(c, j->status, text);
}

int media_jpeg_header(media_ctx *c, const uint8_t *data, size_t size, const media_op *op, int plain) {
    media_jpeg *j = &c->jpeg;
    int rc;
    if (setjmp(j->exit))
        rc = left(c);
    else
        rc = header(c, data, size, op);
    if (rc == MEDIA_OK && plain && !is_plain(c)) rc = MEDIA_OTHER_FORMAT;
    jpeg_abort_decompress(&j->d);
    return rc;
}

static int attempt(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                   const media_draw *draw, int own_codes) {
    media_jpeg *j = &c->jpeg;
    int rc;
    if (setjmp(j->exit)) {
        rc = j->status == MEDIA_JPEG_AGAIN ? j->status : left(c);
    } else {
        rc = decode(c, dst, data, size, op, draw, own_codes);
    }
    jpeg_abort_decompress(&j->d);
    return rc;
}

int media_jpeg_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                   const media_draw *draw) {
    int rc = attempt(c, dst, data, size, op, draw, !c->libraries);
    return rc == MEDIA_JPEG_AGAIN ? attempt(c, dst, data, size, op, draw, 0) : rc;
}
