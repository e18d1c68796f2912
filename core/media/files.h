/* files.h - the files that pictures are in: what each says of itself, and its pixels. */
#ifndef SPDL_MEDIA_FILES_H
#define SPDL_MEDIA_FILES_H

#include "jpeg.h"
#include "pixels.h"

/* --- exif.c --- */

/* Orientation 1-8 of a JPEG, PNG, WebP or TIFF file; 1 if it names none. */
int media_exif_orientation(const uint8_t *data, size_t size);

/* --- png.c --- */

/* A PNG while it is decoded. */
typedef struct media_png {
    struct libdeflate_decompressor *unpacker; /* NULL: not yet needed */
    uint32_t width, height;
    uint32_t depth, colour,
        channels;         /* as the file says: bits of a sample, PNG's colour type, samples of a pixel */
    int numbers;          /* samples of up to 8 bits are what they are, not colours */
    uint32_t table[256];  /* of samples of up to 8 bits: RGBX in memory */
    const uint8_t *coded; /* the zlib stream, in the file or in data */
    size_t coded_bytes;
    media_buf data;       /* coded, where the file has it in several chunks */
    media_buf unpacked;   /* a row of zeros, then all rows, each behind its filter */
    size_t stride, need;  /* bytes from row to row; bytes of a row that are looked at */
    uint8_t *next;        /* row, not yet unfiltered */
    uint32_t left, shown; /* columns wanted: the first, and how many */
    int to_gray;
} media_png;

/* A chunk: its kind, four letters, and n bytes of data. */
typedef struct media_chunk {
    const uint8_t *kind, *data;
    uint32_t n;
} media_chunk;

int media_is_png(const uint8_t *data, size_t size);

/* The sides that a PNG's head says; 0 where it has none. */
int media_png_sides(const uint8_t *data, size_t size, uint32_t *w, uint32_t *h);

/* The chunk of a PNG at *at, which moves behind it; from 0 on all of them. 0 where there is none, or not all of it. */
int media_png_chunk(const uint8_t *file, size_t size, size_t *at, media_chunk *c);
void media_png_destroy(media_png *p);

/* As media_row(); MEDIA_OTHER_FORMAT where the file is interlaced, too large or not sound: another decoder says what is wrong. */
int media_png_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                  const media_draw *draw);

/* Whether a sound zlib stream unpacks to `need` bytes, or to more; 0 also where there is no memory to look. */
int media_zlib_fills(const uint8_t *data, size_t n, size_t need);

/* Copy a file; of a PNG without its profiles and packed texts, which change no pixel, and which FFmpeg unpacks to
 * whatever size they have. Returns the size of the copy. */
size_t media_png_copy(uint8_t *dst, const uint8_t *src, size_t size);

/* --- jpeg.c --- */
int media_jpeg_create(media_jpeg *j);
void media_jpeg_destroy(media_jpeg *j);

/* What the file says of itself; MEDIA_OTHER_FORMAT, where plain is 1: nothing for a decoder elsewhere. */
int media_jpeg_header(media_ctx *c, const uint8_t *data, size_t size, const media_op *op, int plain);
int media_jpeg_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                   const media_draw *draw);

/* --- colour.c --- */
void media_cmyk_to_rgbx(uint8_t *row, uint32_t n);
void media_unmultiply(uint8_t *row, uint32_t n);
void media_rgbx_to_gray(uint8_t *row, uint32_t n);

/* --- chroma.c --- */

/* A plane of samples of 1 or 2 bytes. */
typedef struct media_plane {
    const uint8_t *data;
    ptrdiff_t stride_bytes;
    int height;
} media_plane;

/* The plane, halved along either axis, as w x h samples at dst. */
void media_upsample(const media_plane *src, int half_w, int half_h, int bytes, uint8_t *dst,
                    size_t stride_bytes, int w, int h);

/* --- webp.c --- */
int media_is_webp(const uint8_t *data, size_t size);

/* The sides that a whole WebP's head says; 0 where it is cut or says none. */
int media_webp_sides(const uint8_t *data, size_t size, uint32_t *w, uint32_t *h);

/* As media_row(). */
int media_webp_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
                   const media_draw *draw);

#endif
