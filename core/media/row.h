/* row.h - encoded image bytes into one row of a batch, in one call.
 *
 * media_row() decodes a JPEG, a PNG or a WebP, crops, resizes, flips, changes colours,
 * normalises and stores it in the layout and type of the batch. Pictures of other formats are
 * decoded elsewhere and enter through media_row_picture(). Pixels equal Pillow's bit
 * for bit: libjpeg-turbo's accurate DCT and fancy upsampling, Pillow's 22-bit
 * fixed-point resampling with its 8-bit intermediate.
 *
 * A context belongs to one thread at a time. Its buffers only grow, up to
 * MEDIA_KEEP_BYTES each, so that the steady state allocates nothing. */
#ifndef SPDL_MEDIA_ROW_H
#define SPDL_MEDIA_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "step.h"

/* What media_row() returns. The bytes are wrong: -1 to -9. We do not support
 * them: -10. A limit of ours: -20 on. */
enum {
    MEDIA_OK = 0,
    MEDIA_OTHER_FORMAT = 1, /* not for us; media_row_picture() takes it once it is decoded */
    MEDIA_TRUNCATED = -1,
    MEDIA_CORRUPT = -2,
    MEDIA_EMPTY = -3,
    MEDIA_UNSUPPORTED = -10,
    MEDIA_TOO_MANY_PIXELS = -20,
    MEDIA_TOO_MANY_SCANS = -21,
    MEDIA_NO_MEMORY = -22,
    MEDIA_BAD_BOX = -23,
    MEDIA_ROW_TOO_LARGE = -24, /* an open row has no room for what the picture becomes */
    MEDIA_ROW_TOO_SMALL = -25, /* or it becomes less than least_side */
    MEDIA_TOO_OBLONG = -26,    /* RESIZE_AREA: a side is more than MEDIA_MAX_OBLONG times the other */
};

enum {
    MEDIA_AS_IS = 0,
    MEDIA_RESIZE_SHORT = 1,
    MEDIA_RESIZE_EXACT = 2,
    MEDIA_RANDOM_CROP = 3,
    MEDIA_CONTAIN = 4,
    MEDIA_RANDOM_RESIZE = 5,
    MEDIA_SCALE_JITTER = 6,
    MEDIA_RESIZE_AREA = 7,
    MEDIA_RANDOM_SHORTEST = 8,
    MEDIA_RESIZE_COVER = 9,
};
enum {
    MEDIA_BILINEAR = 0,
    MEDIA_BICUBIC = 1,
    MEDIA_NEAREST = 2,
    MEDIA_LANCZOS = 3,
    MEDIA_BOX = 4,
    MEDIA_HAMMING = 5,
    MEDIA_CV2_LINEAR = 6,
    MEDIA_CV2_NEAREST = 7,
    MEDIA_CV2_AREA = 8,
    MEDIA_CV2_CUBIC = 9,
    MEDIA_CV2_LANCZOS4 = 10,
    MEDIA_TORCH_NEAREST = 11,
    MEDIA_TORCH_BILINEAR = 12,
    MEDIA_TORCH_BICUBIC = 13,
    MEDIA_TORCH_LANCZOS = 14,
    MEDIA_TORCH_NEAREST_EXACT = 15,
};
enum { MEDIA_CLOSED = 0, MEDIA_OPEN_PADDED = 1, MEDIA_OPEN_DENSE = 2 };
enum { MEDIA_RGB = 0, MEDIA_GRAY = 1, MEDIA_LUMA = 2, MEDIA_INDEX = 3 };
enum { MEDIA_U8 = 0, MEDIA_F16 = 1, MEDIA_BF16 = 2, MEDIA_F32 = 3 };
enum { MEDIA_NHWC = 0, MEDIA_NCHW = 1 };
enum {
    MEDIA_RAND_AUGMENT = 1,
    MEDIA_TRIVIAL_AUGMENT_WIDE = 2,
    MEDIA_AUTO_AUGMENT = 3,
    MEDIA_TIMM_RAND_AUGMENT = 4,
    MEDIA_AUG_MIX = 5
};
enum { MEDIA_PAD_CONSTANT = 0, MEDIA_PAD_EDGE = 1, MEDIA_PAD_REFLECT = 2, MEDIA_PAD_SYMMETRIC = 3 };
enum { MEDIA_MIDDLE = 0, MEDIA_FIRST = 1, MEDIA_LAST = 2 };
enum {
    MEDIA_NO_TILES = 0,
    MEDIA_TILES_INTERNVL = 1,
    MEDIA_TILES_LLAVA_NEXT = 2,
    MEDIA_TILES_MLLAMA = 3,
    MEDIA_TILES_IDEFICS3 = 4
};
enum { MEDIA_NO_WHOLE = 0, MEDIA_WHOLE_FIRST = 1, MEDIA_WHOLE_LAST = 2 };
enum { MEDIA_IMAGENET = 0, MEDIA_CIFAR10 = 1, MEDIA_SVHN = 2 };

/* One compiled description; read-only once media_op_init() has returned, so
 * that any number of threads may share it. */
typedef struct media_op {
    uint32_t geometry; /* MEDIA_AS_IS ... MEDIA_RESIZE_COVER */
    /* RESIZE_EXACT; RESIZE_COVER: at least; RESIZE_SHORT uses resize_h alone; RANDOM_RESIZE: from h to w - 1; SCALE_JITTER: what scale 1 fits into */
    uint32_t resize_h, resize_w;
    /* RESIZE_SHORT: the longer side's most; 0: no bound; without a shorter side what the longer becomes */
    uint32_t longest;
    uint32_t
        nearest_side; /* 1, RESIZE_SHORT: sides are rounded to the nearest, as albumentations', not down; 2: DETR's; 3: YOLOS' */
    uint32_t corner;    /* CONTAIN, in out_h x out_w: at the top left, not in the middle */
    uint32_t shrink;    /* CONTAIN: a smaller picture keeps its size */
    uint32_t letterbox; /* CONTAIN: rounded as in YOLO's letterbox, not as in ImageOps.pad */
    uint32_t shortest[MEDIA_MAX_SIZES],
        n_shortest;              /* RANDOM_SHORTEST: one of these; longest is its bound, too */
    uint64_t area_min, area_max; /* RESIZE_AREA: pixels; of sides that are whole multiples of */
    uint32_t multiple;
    uint32_t multiple_up;  /* 1: both by one scale, rounded up, and as many of area_max as there may be */
    uint32_t out_h, out_w; /* the row's picture; a centre crop of what the geometry gives */
    /* Not MEDIA_CLOSED: the row's picture is all that the geometry gives, of at most room_h x room_w, for which a row has memory. OPEN_PADDED:
     * at its top left, lines as far apart as those of room_w, and zeros elsewhere; OPEN_DENSE: from its beginning on, of as many pixels, with
     * nothing between, and what is behind it stays. Neither side may be less than least_side. */
    uint32_t open;
    uint32_t room_h, room_w;
    uint32_t least_side;
    /* Not MEDIA_NO_TILES: the row is several pictures of out_h x out_w, one behind the other: the tiles that the picture is cut into once it is
     * brought to a grid of them, row by row, and, as `whole` has it, ahead of these or behind more than one of them, what RESIZE_EXACT makes of
     * all of it. Nothing else is done to it. Which grid of these, and how the picture comes to be of its size, is the rule's of that name;
     * IDEFICS3 makes the longer side `longest` and a grid by itself, no larger than the one that is given. */
    uint32_t tiling;
    uint32_t n_grids;
    uint8_t grids[MEDIA_MAX_GRIDS][2]; /* rows and columns, in the order in which the rule tries them */
    uint32_t whole;
    /* Not 0, of OPEN_DENSE: a row is patches of patch x patch pixels, each of all channels, one behind the other: line by line of squares of merge x merge
     * patches, and in a square line by line. A patch has its pixels `temporal` times: NCHW [C, temporal, patch, patch], NHWC [temporal, patch, patch, C]. */
    uint32_t patch, merge, temporal;
    uint32_t filter;
    uint32_t any_filter; /* RANDOM_CROP, 1: BILINEAR or BICUBIC is drawn in its place */
    uint32_t mode;
    uint32_t orient; /* 1: honour EXIF orientation */
    uint32_t dtype;
    uint32_t layout;
    uint64_t max_pixels; /* refuse a larger picture before allocating for it */
    media_crop crop;     /* RANDOM_CROP; of SCALE_JITTER its scale, of what fits */
    uint32_t corner_x,
        corner_y; /* MEDIA_MIDDLE, MEDIA_FIRST or MEDIA_LAST: where out_h x out_w lie in what the geometry gives, CONTAIN but for */
    uint32_t
        middle_down; /* 1: half of an odd number of pixels around MEDIA_MIDDLE is rounded down, not to even */
    uint32_t anywhere; /* 1: out_h x out_w lie anywhere in what the geometry gives, not in its middle */
    /* Pixels around what the geometry gives, on which the row may lie; and what these are, and all that is beyond the picture:
     * MEDIA_PAD_CONSTANT ... MEDIA_PAD_SYMMETRIC. */
    uint32_t pad_left, pad_top, pad_right, pad_bottom;
    uint32_t padding_mode;
    uint8_t fill[4]; /* of PAD_CONSTANT: a pixel as u8 rows have it */
    uint32_t n_steps;
    media_step steps[MEDIA_MAX_ORDER]; /* in this order */
    uint32_t shuffled[2]; /* from which on how many of these are done in an order that is drawn */
    /* How many of these, from the first on, are done to the picture as it is decoded, ahead of the geometry; and how many then to what
     * RESIZE_SHORT, RESIZE_EXACT, RESIZE_COVER, RANDOM_RESIZE or SCALE_JITTER made of it, ahead of the crop. */
    uint32_t ahead[2];
    double erase_p; /* that a part of the finished row becomes something else */
    media_holes_step
        erase_holes; /* n of 0: one part, by the next ones; else so many, up to MEDIA_MAX_HOLES, by these */
    double erase_scale_min, erase_scale_max; /* its share of the row's area */
    double erase_ratio_min, erase_ratio_max; /* its height / width */
    float erase_value[3];                    /* what its elements become */
    uint32_t erase_noise;                    /* 1: standard normal numbers instead, of rows of floats */
    float mean[3], std[3];                   /* of x / 255 */

    /* Written by media_op_init(). */
    uint32_t channels; /* 3, or 1 for gray, luma and index */
    uint32_t line,
        lines; /* of a row's memory: pixels from one line to the next, and lines from one plane to the next */
    uint32_t most; /* pictures that a row has memory for: 1, or of tiles as many as the largest grid makes */
    uint32_t fma_exact; /* 1: the vector path equals lut for every value */
    float inv_std[3];
    float lut[3][256];      /* (x / 255 - mean) / std, each step rounded to float */
    uint16_t lut16[3][256]; /* the same as f16 or bf16, nearest even */
} media_op;

/* What is random about one sample. */
typedef struct media_draw {
    uint64_t seed, epoch, index;
    uint32_t frame; /* of a video's: for noise alone */
    uint32_t again; /* of a step: its own */
    int32_t replay; /* 1: take the box and the flips below instead of drawing */
    int32_t flip, vflip;
    int32_t box_y, box_x, box_h, box_w;
} media_draw;

/* What was done; valid after any return value as far as it was known. */
typedef struct media_info {
    int32_t width, height; /* as stored in the file */
    int32_t orientation;   /* 1-8; 1 unless the op honours it */
    /* The part that was resized of the oriented picture, or of what was made of it ahead of the geometry. */
    int32_t box_y, box_x, box_h, box_w;
    int32_t flip, vflip;
    int32_t row_h, row_w; /* the row's picture */
    double affine
        [6]; /* a point (x, y) of the oriented picture lies in the row at (a0 x + a1 y + a2, a3 x + a4 y + a5), pixel i
                       * from i to i + 1; zeros where a perspective or an elastic map was drawn, which is no such map */
    int32_t erased_y, erased_x, erased_h,
        erased_w;  /* the first part of the row that was erased; of no size: none */
    int32_t tiles; /* of the row, of tiles or patches; those of its grid, in */
    int32_t grid_rows, grid_columns;
    char detail[200]; /* what was wrong, for a message */
} media_info;

/* Which part of a picture becomes the row, and at what size. */
typedef struct media_plan {
    int32_t box_x, box_y, box_w, box_h; /* of the oriented picture */
    int32_t res_w, res_h;               /* the box is resized to this */
    int32_t win_x, win_y;               /* where the output window starts in it; negative: fill comes first */
    int32_t flip, vflip;                /* left and right change places; top and bottom */
} media_plan;

/* A decoded picture: rows of 4 (RGBX) or 1 byte per pixel, stride_bytes apart,
 * MEDIA_SLACK_BYTES readable after the last row. */
typedef struct media_picture {
    const uint8_t *pixels;
    size_t stride_bytes;
    int32_t width, height;
    int32_t orientation; /* 1-8, applied if the op asks for it; 0 from a decoder that does not know it */
    int32_t always_turn; /* 1: applied whatever the op asks for */
} media_picture;

/* A move of a picture's points on their way to the row: (x, y), pixel i reaching from i to i + 1, comes to (m0 x + m1 y + m2, m3 x + m4 y + m5) /
 * (m6 x + m7 y + m8), in a picture of w x h. */
typedef struct media_move {
    double map[9];
    int32_t w, h;
    int32_t centres; /* 1: a crop of which a box counts as there only with its centre */
} media_move;

enum { MEDIA_MAX_MOVES = MEDIA_MAX_ORDER + MEDIA_MAX_PARTS + 8 };

typedef struct media_moves {
    int32_t n;
    media_move all[MEDIA_MAX_MOVES];
} media_moves;

typedef struct media_ctx media_ctx;

/* Fill the derived fields and the tables. Takes any op whose numbers are in
 * range; core/media's Compile is where they are checked. */
void media_op_init(media_op *op);

/* Bytes of one row: out_h * out_w, or room_h * room_w of an open one, * channels * size of the type; of tiles as often as it has memory for. */
size_t media_op_row_bytes(const media_op *op);

/* What a context does without; the bytes are the same. */
enum {
    MEDIA_PORTABLE = 1, /* vector instructions */
    MEDIA_LIBRARIES =
        2, /* our decoders of JPEG's Huffman codes and of PNG: libjpeg's is used, and MEDIA_OTHER_FORMAT */
    MEDIA_WIDE = 4, /* vectors of 64 bytes */
};

/* Returns NULL when there is no memory. */
media_ctx *media_ctx_new(int without);
void media_ctx_free(media_ctx *c);

/* Bytes of the buffers that it keeps for its next file. */
size_t media_ctx_held(media_ctx *c);
const media_info *media_ctx_info(const media_ctx *c);

/* The moves of the last row, from the picture as it is seen on; valid until the next row. NULL: an elastic map was drawn, by which
 * nobody can tell. */
const media_moves *media_ctx_moves(media_ctx *c);

/* The boxes of the next row's picture as it is seen, which IOU_CROP goes by: left, top, right and bottom of each, in pixels or as shares of its
 * sides. MEDIA_NO_MEMORY. */
int media_ctx_boxes(media_ctx *c, const double *boxes, int32_t n, int shares);

/* Masks of objects in the last row's picture as it is seen, by the op of that row: once media_masks_begin, then for each mask its polygons, of n
 * points x, y each, of at most MEDIA_MAX_OUTLINE either way, or its runs down the columns, of 0 and of 1 by turns, which come to all pixels; and then media_mask_row, which
 * has it as the row has the picture: bytes 0 and 1, of the row's height and width, 0 where no pixel is. MEDIA_NO_MEMORY. The row's info and moves are gone then. */
enum { MEDIA_MAX_OUTLINE = 1000000 };
int media_masks_begin(media_ctx *c, const media_op *op);
void media_mask_polygon(media_ctx *c, const double *xy, int32_t n);
void media_mask_runs(media_ctx *c, const uint32_t *runs, int32_t n);
int media_mask_row(media_ctx *c, uint8_t *dst);

/* JPEG bytes into dst, media_op_row_bytes(op) bytes of any alignment. On
 * failure dst holds anything. Returns a status; MEDIA_OTHER_FORMAT leaves dst
 * alone. */
int media_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
              const media_draw *draw);

/* The same from a decoded picture; channels as op->channels wants. */
int media_row_picture(media_ctx *c, void *dst, const media_picture *p, const media_op *op,
                      const media_draw *draw);

/* The plan of a row for a decoder elsewhere, nothing of the file being decoded: MEDIA_OK for a JPEG that any decoder of JPEGs takes, which is
 * upright, sequential and Huffman-coded, of 8 bits, and whose one scan has Y, Cb and Cr, chroma not or twice as coarse in either direction.
 * MEDIA_OTHER_FORMAT for all others. */
int media_jpeg_plan(media_ctx *c, media_plan *plan, const uint8_t *data, size_t size, const media_op *op,
                    const media_draw *draw);

/* What the head of a JPEG, PNG or WebP says: MEDIA_OK with width, height and orientation in the info, whatever the rest of the file is.
 * Any other status: only decoding tells. */
int media_head(media_ctx *c, const uint8_t *data, size_t size, const media_op *op);

/* A buffer of the context for a picture's pixels, MEDIA_SLACK_BYTES included;
 * valid until the next call with a larger size. NULL when there is no memory. */
uint8_t *media_ctx_picture_buffer(media_ctx *c, size_t size_bytes);

/* Instruction set in use: "avx2" or "portable". */
const char *media_ctx_isa(const media_ctx *c);

/* 1 if the last file's Huffman codes, or a PNG, were decoded by a decoder of ours to the end. */
int media_ctx_own(const media_ctx *c);

#endif
