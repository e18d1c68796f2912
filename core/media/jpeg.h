/* jpeg.h - libjpeg with our arena and our Huffman decoder, as a worker keeps it. */
#ifndef SPDL_MEDIA_JPEG_H
#define SPDL_MEDIA_JPEG_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* --- jpegmem.c --- */

/* Image-lifetime memory for libjpeg from an arena that is kept. */
typedef struct media_arena_block {
    struct media_arena_block *next;
    size_t cap, used;
} media_arena_block;

typedef struct media_arena {
    media_arena_block *head;
    struct jvirt_sarray_control *sarrays;
    struct jvirt_barray_control *barrays;
    size_t total;
    void (*free_permanent)(j_common_ptr, int);
    void *(*small_permanent)(j_common_ptr, int, size_t);
    void *(*large_permanent)(j_common_ptr, int, size_t);
} media_arena;

void media_arena_install(struct jpeg_decompress_struct *d, media_arena *a);
void media_arena_reset(media_arena *a);
void media_arena_free(media_arena *a);

/* --- huffman.c --- */

enum { MEDIA_HUFF_LOOK = 11 }; /* bits */

typedef struct media_huff_table {
    uint64_t look[1 << MEDIA_HUFF_LOOK];
    int32_t first[17], end[17]; /* per length: symbol of a code = code + first; codes lie below end */
    uint8_t counts[17], symbols[256];
    int ready;
} media_huff_table;

/* Where the next bits are. */
typedef struct media_bits {
    uint64_t buffer;
    int bits, past_end;                 /* in the buffer; of these, after the data's end */
    const uint8_t *p, *plain_end, *end; /* no 0xff lies before plain_end */
} media_bits;

typedef struct media_huff_component {
    const media_huff_table *dc, *ac;
    int32_t last_dc;
} media_huff_component;

/* Our entropy decoder, while it decodes a file. */
typedef struct media_huff {
    media_bits bits;
    media_huff_component components[MAX_COMPS_IN_SCAN];
    unsigned until_restart;
    int next_restart;
    JDIMENSION column, first_column, last_column; /* in MCUs; those outside are not stored */
    media_huff_table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
} media_huff;

/* Take the entropy decoder's place in d, which is a media_jpeg's and has just
 * been started; 0 if the file is not one that this decoder is for. It leaves
 * with MEDIA_JPEG_AGAIN from a file that is not sound. */
int media_huff_take(media_huff *h, struct jpeg_decompress_struct *d);

/* Only the pixel columns [left, left + width) will be looked at. */
void media_huff_columns(media_huff *h, const struct jpeg_decompress_struct *d, JDIMENSION left,
                        JDIMENSION width);

/* --- jpeg.c --- */

enum { MEDIA_JPEG_AGAIN = -1 }; /* a status that does not leave jpeg.c */

typedef struct media_jpeg {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr err;
    struct jpeg_source_mgr src;
    struct jpeg_progress_mgr progress;
    jmp_buf exit;
    int status; /* why exit was taken */
    int created;
    media_arena arena;
    int cmyk;       /* rows come as CMYK and are converted */
    int to_gray;    /* rows are converted to L last */
    int32_t skip_x; /* pixels of a decoded row left of the region */
    media_huff huff;
} media_jpeg;

#endif
