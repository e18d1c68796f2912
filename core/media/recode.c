/* recode.c - a row written as a JPEG and read again: torchvision's JPEG on PIL images, which is Pillow's save(quality=) with its defaults,
 * baseline and with chroma halved in both directions, and its decoder.
 *
 * Draws, in the words of philox.c: block 10 of operation 15, whether and at which quality. */
#include <stdlib.h>

#include "internal.h"

void media_draw_jpeg(const media_step *s, const media_draw *d, media_retouches *to) {
    double u[2];
    if (!media_happens(s, d, LATER_JPEG)) return;
    media_uniforms(d, OP_LATER, LATER_JPEG, u);
    to->all[to->n++] = (media_retouch){.kind = MEDIA_RECODE,
                                       .size = (int32_t)media_whole_between(s->of.jpeg.quality, u[1]),
                                       .first = s->of.jpeg.bgr};
}

/* What libjpeg writes to and reads from. */
typedef struct recoder {
    struct jpeg_compress_struct c;
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr err;
    jmp_buf exit;
    unsigned char *file; /* libjpeg's, or room's */
    unsigned long size;
} recoder;

static void leave(j_common_ptr info) { longjmp(((recoder *)info->client_data)->exit, 1); }

static void quiet(j_common_ptr info) { (void)info; }

static J_COLOR_SPACE colours(const media_pixels *px, int bgr) {
    if (px->step == 1) return JCS_GRAYSCALE;
    if (px->step == 3) return bgr ? JCS_EXT_BGR : JCS_RGB;
    return bgr ? JCS_EXT_BGRX : JCS_EXT_RGBX;
}

static void write_file(recoder *r, const media_pixels *px, int quality, int bgr) {
    jpeg_create_compress(&r->c);
    jpeg_mem_dest(&r->c, &r->file, &r->size);
    r->c.image_width = (JDIMENSION)px->w;
    r->c.image_height = (JDIMENSION)px->h;
    r->c.input_components = px->step;
    r->c.in_color_space = colours(px, bgr);
    jpeg_set_defaults(&r->c);
    jpeg_set_quality(&r->c, quality, TRUE);
    jpeg_start_compress(&r->c, TRUE);
    while (r->c.next_scanline < r->c.image_height) {
        JSAMPROW line = media_line(px, (int32_t)r->c.next_scanline);
        jpeg_write_scanlines(&r->c, &line, 1);
    }
    jpeg_finish_compress(&r->c);
}

static void read_file(recoder *r, const media_pixels *px, int bgr) {
    jpeg_create_decompress(&r->d);
    jpeg_mem_src(&r->d, r->file, r->size);
    jpeg_read_header(&r->d, TRUE);
    r->d.out_color_space = colours(px, bgr);
    jpeg_start_decompress(&r->d);
    while (r->d.output_scanline < r->d.output_height) {
        JSAMPROW line = media_line(px, (int32_t)r->d.output_scanline);
        jpeg_read_scanlines(&r->d, &line, 1);
    }
    jpeg_finish_decompress(&r->d);
}

/* All that can go wrong with a file that libjpeg itself wrote is that there is no memory. */
static int write_and_read(recoder *r, const media_pixels *px, int quality, int bgr) {
    if (setjmp(r->exit)) return MEDIA_NO_MEMORY;
    write_file(r, px, quality, bgr);
    read_file(r, px, bgr);
    return MEDIA_OK;
}

static size_t blocks(int32_t pixels) { return ((size_t)pixels + 15) / 16; }

int media_recode(const media_pixels *px, media_buf *room, int quality, int bgr) {
    size_t most = blocks(px->w) * blocks(px->h) * 16 * 16 * 3 + 4096; /* more than any file takes */
    if (!media_buf_get(room, most)) return MEDIA_NO_MEMORY;
    recoder r = {.file = room->p, .size = most};
    r.c.err = r.d.err = jpeg_std_error(&r.err);
    r.c.client_data = r.d.client_data = &r;
    r.err.error_exit = leave;
    r.err.output_message = quiet;
    int status = write_and_read(&r, px, quality, bgr);
    jpeg_destroy_compress(&r.c);
    jpeg_destroy_decompress(&r.d);
    if (r.file != room->p) free(r.file);
    return status;
}
