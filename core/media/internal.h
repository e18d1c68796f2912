/* internal.h - how a picture becomes a row: what is drawn, the geometry, what is done to the row's pixels, and the context that a
 * worker keeps for it. The files that pictures are in, resampling and pixels alone have headers of their own. */
#ifndef SPDL_MEDIA_INTERNAL_H
#define SPDL_MEDIA_INTERNAL_H

#include <math.h>

#include "files.h"
#include "resample.h"

/* --- philox.c --- */

/* Philox4x32-10 of a counter, which its four words come in the place of. */
void media_philox(const uint32_t key[2], uint32_t c[4]);

/* Four words from Philox4x32-10, keyed by seed, at counter (index, epoch, op, block). */
void media_words(const media_draw *d, uint32_t op, uint32_t block, uint32_t c[4]);

/* Two uniforms in [0, 1) of 53 bits from four words, or from those at a block. */
void media_uniforms_of(const uint32_t words[4], double u[2]);
void media_uniforms(const media_draw *d, uint32_t op, uint32_t block, double u[2]);

/* A normal number from two uniforms, by Box and Muller. */
static inline double media_normal(const double u[2]) {
    return sqrt(-2 * log(1 - u[0])) * cos(2 * 3.141592653589793 * u[1]);
}

/* Whether what has probability p happens: by the block's first uniform. */
int media_chance(const media_draw *d, uint32_t op, uint32_t block, double p);

/* --- normal.c, normal_avx2.c --- */

/* A channel's words under a key: n of them from number 4 * block on, of which number i is word i % 4 of the counter (i / 4, channel, 0, 0). */
void media_words_portable(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst);
void media_words_avx2(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst);

/* A channel's standard normal numbers under a key (normal_isa.h): n of them from number 4 * block on. */
void media_normals_portable(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst);
void media_normals_avx2(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst);

/* --- geometry.c --- */

/* A plan has two halves: the part of the picture and what it is resized to, all of it as large as it is or as the op has it; and where
 * the row, whose size is known by then, begins in that, and whether it is flipped. */
void media_whole(media_plan *plan, int32_t w, int32_t h);
int media_fit(const media_op *op, const media_draw *draw, int32_t w, int32_t h, media_plan *plan);
void media_place(const media_op *op, const media_draw *draw, media_plan *plan);

/* The part of a picture of w x h that a crop takes, drawn from the blocks of an operation from this one on, of which it may take 20. */
void media_crop_part(const media_crop *of, const media_draw *d, uint32_t op, uint32_t block, int32_t w,
                     int32_t h, media_plan *p);

/* The filter of the resize. */
int32_t media_filter(const media_op *op, const media_draw *draw);

/* Whether left and right (MEDIA_DO_FLIP) or top and bottom (MEDIA_DO_VFLIP) change places, then or later; and whether one flip has them do so. */
int media_flipped(const media_op *op, const media_draw *draw, uint32_t kind);
int media_mirrors(const media_step *flip, const media_draw *draw);

/* --- tiles.c --- */

/* A picture as tiles. */
typedef struct media_tiling {
    int32_t rows, columns; /* of the grid */
    int32_t n, first;      /* tiles of the row, and which of them is the grid's first */
    media_plan plan;       /* of a row as large as the grid */
} media_tiling;

/* How a picture of w x h becomes tiles (c->tiling), and what is made of it ahead of them; MEDIA_TOO_MANY_PIXELS as media_plan_row. */
int media_plan_tiles(media_ctx *c, const media_op *op, int32_t w, int32_t h);
void media_plan_tile(const media_op *op, const media_tiling *t, int32_t k, media_plan *plan);

/* 1: the whole picture goes with so many tiles of a grid. */
int32_t media_with_whole(const media_op *op, int32_t tiles);

/* What each instruction set does in its own way. */
typedef struct media_kernels {
    const char *isa;
    const media_resampler *by[MEDIA_WAYS];
    /* One finished line into the row at dst, as picture row y. */
    void (*finish)(const media_op *op, const uint8_t *line, int32_t y, void *dst);
    void (*normals)(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst);
    void (*words)(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst);
    const struct media_cv2 *cv2;
    const struct media_torch *torch;
    /* A WARP or a PERSPECTIVE that is BILINEAR or BICUBIC. */
    void (*mixed)(const media_pixels *px, const media_pixels *from, const double *m, int perspective,
                  int filter, const uint8_t fill[4]);
    void (*to_gray)(const media_pixels *px); /* Pillow's */
    /* Every byte by a table, into slack; or, of three channels, each one's by its own. */
    void (*by_table)(const media_pixels *px, const uint8_t table[256]);
    void (*by_tables)(const media_pixels *px, const uint8_t of[3][256]);
} media_kernels;

extern const media_kernels media_portable;
const media_kernels *media_best_kernels(int without); /* for this processor; MEDIA_PORTABLE, MEDIA_WIDE */

/* Words one by one under a key, of a channel: number n is word n % 4 of the counter (n / 4, channel, 0, 0). {.by, .key, .channel} is ready for it. */
typedef struct media_each {
    const media_kernels *by;
    const uint32_t *key;
    uint32_t channel, given, some[256];
} media_each;

static inline uint32_t media_next_word(media_each *e) {
    const uint32_t all = sizeof e->some / sizeof e->some[0], at = e->given % all;
    if (at == 0) e->by->words(e->key, e->channel, e->given / 4, all, e->some);
    e->given++;
    return e->some[at];
}

/* A channel's normal numbers, from the first on; {.by, .key, .channel} is ready for it. */
typedef struct media_noise {
    const media_kernels *by;
    const uint32_t *key;
    uint32_t channel, given;
    float some[256];
} media_noise;

/* The next ones, at least one and at most `most`; how many is *n. They stay until the next call. */
static inline const float *media_next_normals(media_noise *of, int32_t most, int32_t *n) {
    const uint32_t all = sizeof of->some / sizeof of->some[0], at = of->given % all;
    if (at == 0) of->by->normals(of->key, of->channel, of->given / 4, all, of->some);
    *n = (uint32_t)most < all - at ? most : (int32_t)(all - at);
    of->given += (uint32_t)*n;
    return of->some + at;
}

static inline float media_next_normal(media_noise *of) {
    int32_t n;
    return *media_next_normals(of, 1, &n);
}

/* --- finish.c --- */
uint16_t media_f16(float x);
uint16_t media_bf16(float x);
void media_finish_portable(const media_op *op, const uint8_t *line, int32_t y, void *dst);
int media_planar(const media_op *op); /* 1: lines are RGBX, to be split into planes */
size_t media_pixel_bytes(const media_op *op);
size_t media_picture_bytes(const media_op *op); /* of a row's picture, or of one of its tiles */

/* Pixels from one plane of a row to the next. */
static inline size_t media_plane_pixels(const media_op *op) { return (size_t)op->line * op->lines; }

/* An open row becomes zero where its picture is not. */
void media_clear_beyond(const media_op *op, void *dst);

/* --- patches.c --- */

/* Line y of the row's picture into the row, which may be one of patches: then by way of c->strip, which media_patches_begin has made. */
int media_patches_begin(media_ctx *c, const media_op *op);
void media_finish_line(const media_ctx *c, const media_op *op, const uint8_t *line, int32_t y, void *dst);

/* --- retouch.c --- */

/* What is done, after MEDIA_BRIGHTNESS ... MEDIA_HUE. */
enum {
    MEDIA_TO_GRAY = MEDIA_JITTERS,
    MEDIA_SHARPNESS,
    MEDIA_BLUR,
    MEDIA_SOLARIZE,
    MEDIA_POSTERIZE,
    MEDIA_INVERT,
    MEDIA_AUTOCONTRAST,
    MEDIA_EQUALIZE,
    MEDIA_WARP,
    MEDIA_PERMUTE,
    MEDIA_NOISE,
    MEDIA_RECODE,
    MEDIA_PERSPECTIVE,
    MEDIA_ELASTIC,
    MEDIA_SOLARIZE_ADD,
    MEDIA_LIGHT,
    MEDIA_GAMMA,
    MEDIA_TO_CV2_GRAY,
    MEDIA_CV2_AFFINE, /* from here on cv2.h */
    MEDIA_HSV_SHIFT,
    MEDIA_RGB_SHIFT,
    MEDIA_CV2_BRIGHTNESS,
    MEDIA_CV2_CONTRAST,
    MEDIA_CV2_SATURATION,
    MEDIA_CV2_HUE,
    MEDIA_BOX_BLUR,
    MEDIA_MEDIAN,
    MEDIA_CV2_BLUR,
    MEDIA_MOTION,
    MEDIA_HOLE,
    MEDIA_CLAHE,
    MEDIA_SHARPEN,
    MEDIA_EMBOSS,
    MEDIA_SEPIA,
    MEDIA_TONE_CURVE,
    MEDIA_DROP_CHANNELS,
    MEDIA_CV2_EQUALIZE,
    MEDIA_OPTICAL,
    MEDIA_GRID,
    MEDIA_CV2_PERSPECTIVE, /* its matrix leads there */
    MEDIA_GRID_HOLES,
    MEDIA_SPECKS,
    MEDIA_DOWNSCALE,
    MEDIA_REMAP,
    MEDIA_MULTIPLY,
    MEDIA_UNSHARP,
    MEDIA_SHUFFLE,
    MEDIA_DILATE, /* by an ellipse that is `size` wide and `first` high */
    MEDIA_ERODE,
    MEDIA_ISO,              /* its value is the intensity, its mean the shift of colours */
    MEDIA_CV2_AUTOCONTRAST, /* its value is the cutoff; size: as Pillow's, not by the sums */
    MEDIA_SALT,             /* its value is the amount, its mean how much of that is salt */
    MEDIA_SHADOW, /* its value is what is multiplied by, its size the corners, its matrix where these lie */
    MEDIA_ADVANCED, /* its matrix is the sigmas, the angle in radians, beta and from where to where the noise is */
    MEDIA_DEFOCUS, /* its size is the radius, its value sigma */
    MEDIA_RINGING, /* its value is the cutoff */
    MEDIA_GLASS,   /* its value is sigma; size: how far; its matrix how often, and 1: one after the other */
    MEDIA_ZOOM,    /* its value is the step, its mean where the steps end */
    MEDIA_FOG,     /* its value is the intensity, its mean alpha */
    MEDIA_RAIN, /* its value is the slant, its mean the brightness, its size the blur's, its matrix how many and how long */
    MEDIA_SNOW,      /* its value is the point, its mean how many times as light */
    MEDIA_FLARE,     /* its size the circles, its matrix the angle, where the sun is, and its radius */
    MEDIA_SHOT,      /* its value is the scale */
    MEDIA_PCA,       /* its matrix is what each direction is multiplied by */
    MEDIA_PIECEWISE, /* its value is the scale, in pixels or in shares of the shorter side, as its matrix says behind its rows and columns */
    MEDIA_CV2_ELASTIC, /* its value is sigma, its mean alpha; taps, whether numbers are even, and whether both axes have the same */
    MEDIA_TORCH_CONTRAST, /* from here on torch.h */
    MEDIA_TORCH_SATURATION,
    MEDIA_TORCH_HUE,
    MEDIA_TORCH_GRAY,
    MEDIA_TORCH_SHARPNESS,
    MEDIA_TORCH_AUTOCONTRAST,
    MEDIA_TORCH_WARP, /* its matrix, about the middles, and the size of what it leads to */
    MEDIA_TORCH_PERSPECTIVE,
    MEDIA_MIX, /* what follows, up to MIXED, is done to copies, which are added up; the picture's own share is the value */
    MEDIA_MIX_AGAIN, /* a copy is done, and has this share; another begins */
    MEDIA_MIXED,     /* the last one is */
};

enum { MEDIA_BY_CENTRES = 1 }; /* see media_move.centres */

typedef struct media_retouch {
    int32_t kind;
    int32_t
        size; /* of blurs: the kernel's; of WARP, PERSPECTIVE and ELASTIC: the filter; of PERMUTE: which; of RECODE: the quality */
    double value; /* a factor, sigma, a threshold or a number of bits; of WARP maybe MEDIA_BY_CENTRES */
    double mean;  /* of NOISE; of LIGHT what is added */
    double matrix
        [8]; /* of WARP, six, and of PERSPECTIVE; of CV2_AFFINE, which leads there; of ELASTIC alpha, along x and y; of shifts and MULTIPLY, three; of MOTION its angle, direction and shifts */
    uint8_t fill[4]; /* of these: where there is no pixel */
    int32_t w, h;    /* of these: the size of what is made; of a row its own */
    uint32_t key
        [4]; /* of NOISE and ELASTIC; of HOLE where it lies: left, top, width, height; of CLAHE its tiles, across and down */
    uint32_t
        first; /* of NOISE: the channel's number where the frame's begin; of CV2_AFFINE: MEDIA_PAD_CONSTANT ...; of RECODE 1: BGR */
    const uint8_t *table; /* of REMAP: the op's, of 256 */
} media_retouch;

/* What is done to a row's pixels once they are in their place, in this order. */
typedef struct media_retouches {
    const struct media_ctx *of; /* of IOU_CROP */
    int32_t w, h;               /* of what they are done to, and in the end of what they make of it */
    media_plan
        part; /* of what they make of it: the part that the last step drawn goes on with, and what it is resized to, by part_filter; box_w of 0: all of it, as it is */
    int32_t part_filter;
    int32_t n;
    media_retouch *all; /* in room, which has as many as the steps may come to */
    media_buf room;
} media_retouches;

/* Begin to draw the steps from first to end of the op's order, for what is w x h; MEDIA_NO_MEMORY. */
int media_begin_steps(const media_op *op, uint32_t first, uint32_t end, int32_t w, int32_t h,
                      media_retouches *to);

/* Draw more of these. */
void media_draw_steps(const media_op *op, const media_draw *d, uint32_t first, uint32_t end,
                      media_retouches *to);

/* One that takes pixels from elsewhere: its filter, border and fill. */
media_retouch *media_add_taken(media_retouches *to, int kind, const media_taken *by);

/* Whether a step of a group is not done. */
int media_left_out(const media_step *s, const media_draw *d);

/* A number of a range; and a whole one. */
static inline double media_between(const double range[2], double u) {
    return range[0] + u * (range[1] - range[0]);
}

static inline uint32_t media_whole_between(const uint32_t range[2], double u) {
    return range[0] + (uint32_t)(u * (range[1] - range[0] + 1));
}

/* A map of points to the row (media_info.affine), which goes on to where the retouches move its pixels; zeros behind a perspective,
 * an elastic map and a mix, which are no such map. */
void media_retouch_points(const media_retouches *retouches, double affine[6]);

/* Whether it moves points in no way that can be told. */
static inline int media_untold(int kind) {
    return kind == MEDIA_ELASTIC || kind == MEDIA_MIX || kind == MEDIA_OPTICAL || kind == MEDIA_GRID ||
           kind == MEDIA_SHUFFLE || kind == MEDIA_CV2_ELASTIC || kind == MEDIA_PIECEWISE;
}

/* Whether it takes each pixel from elsewhere in the picture, by one map for all of it. */
static inline int media_warps(int kind) {
    return kind == MEDIA_WARP || kind == MEDIA_PERSPECTIVE || kind == MEDIA_CV2_AFFINE ||
           kind == MEDIA_CV2_PERSPECTIVE || kind == MEDIA_TORCH_WARP || kind == MEDIA_TORCH_PERSPECTIVE;
}

/* One that warps: `to`, of a size of its own, of the pixels of another picture. */
void media_warp_by(const media_retouch *r, const media_kernels *by, const media_pixels *to,
                   const media_pixels *from);

/* The pixels are changed where they lie, by one of them or by all. mix: room for MIX, beside room. */
int media_retouch_pixels(const media_retouch *r, const media_kernels *by, const media_pixels *px,
                         media_buf *room, media_buf *mix);
int media_retouch_row(const media_retouches *retouches, const media_kernels *by, const media_pixels *px,
                      media_buf *room, media_buf *mix);

/* A copy of the pixels and room for more bytes behind it, aligned; NULL when there is no memory. */
uint8_t *media_copy_pixels(const media_pixels *px, media_buf *room, size_t more, media_pixels *to);

/* --- border.c --- */

/* The element of n that lies at p, which may be beyond them: the picture goes on by turns mirrored and as it is. */
int32_t media_border_at(uint32_t mode, int32_t p, int32_t n);

/* A row that reaches beyond its picture, which goes on there. */
typedef struct media_border {
    uint32_t mode;            /* PAD_CONSTANT: nothing to do */
    int32_t x, y, w, h;       /* where in the picture the row begins; the picture's size */
    int32_t first_x, first_y; /* where what is rendered begins */
    int flip, vflip;
} media_border;

void media_border_of(const media_op *op, const media_plan *p, media_border *b);

/* From a copy of the pixels; columns: room for as many numbers. */
void media_border_row(const media_border *b, const media_pixels *px, const media_pixels *from,
                      int32_t *columns);

/* --- affine.c --- */
void media_draw_rotation(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_affine(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_quarters(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_transpose(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_zoom_out(const media_step *s, const media_draw *d, media_retouches *to);

/* Left and right change places (MEDIA_DO_FLIP) or top and bottom, if the geometry has not seen to it. */
void media_draw_mirror(const media_step *s, const media_draw *d, media_retouches *to);

/* --- part.c --- */
void media_draw_cut(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cut_borders(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cut_sides(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cut_safely(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cut_around(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cut_resized(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_rescale(const media_step *s, const media_draw *d, media_retouches *to);

/* --- moves.c --- */

/* The moves from the picture as it is seen on to what the last stage has made so far; -1: nobody can tell. */
int media_moves_so_far(media_moves *to, const media_ctx *c);

/* Box i of the picture where they take it, in pixels, within what is there: left, top, right and bottom. */
void media_box_so_far(const media_ctx *c, const media_moves *by, int32_t i, double box[4]);

void media_draw_iou_crop(const media_step *s, const media_draw *d, media_retouches *to);

/* --- perspective.c --- */
void media_draw_perspective(const media_step *s, const media_draw *d, media_retouches *to);

/* --- elastic.c --- */
void media_draw_elastic(const media_step *s, const media_draw *d, media_retouches *to);

/* n numbers from -1 to 1 of an axis. */
void media_draw_even(const uint32_t key[2], uint32_t axis, float *to, size_t n);

/* From a copy of the pixels; room: media_elastic_bytes(), aligned as floats are. */
void media_warp_elastic(const media_pixels *px, const media_pixels *from, const media_retouch *r,
                        float *room);
size_t media_elastic_bytes(const media_pixels *px, const media_retouch *r);

/* --- augment.c --- */

enum { OP_AUGMENT = 8 }; /* of all of them, as a row has one */

/* Number i of n from first to last, in floats, as torch.linspace gives it. */
double media_linspace(double first, double last, int n, int i);
void media_draw_augment(const media_step *s, const media_draw *d, media_retouches *to);

/* --- timm.c --- */
void media_draw_timm(const media_step *s, const media_draw *d, media_retouches *to);

/* --- mix.c --- */

/* What AugMix draws besides its operations: shares that add up to 1, of the picture itself and of each chain. */
void media_draw_shares(const media_augment_step *of, const media_draw *d, float *own, float *chains);

/* A MIX, MIX_AGAIN or MIXED; MEDIA_NO_MEMORY where there is none. mix is kept from the first to the last. */
int media_mix(const media_retouch *r, const media_pixels *px, media_buf *mix);

/* --- jitter.c, jitter_avx2.c --- */
void media_draw_jitter(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_gray(const media_step *s, const media_draw *d, media_retouches *to);
void media_brightness(const media_pixels *px, const media_kernels *by, float factor);
void media_contrast(const media_pixels *px, const media_kernels *by, float factor);
void media_saturation(const media_pixels *px, float factor);
void media_hue(const media_pixels *px, double factor);
void media_to_gray(const media_pixels *px); /* of three channels */
void media_to_gray_avx2(const media_pixels *px);

/* Image.blend: from at 0, to at 1, and beyond. */
static inline uint8_t media_blend(int from, int to, float factor) {
    float v = (float)from + factor * (float)(to - from);
    return media_cut(v);
}

/* --- distort.c --- */

/* Draws of what came after operation 14: operation 15, by block. */
enum {
    OP_LATER = 15,
    LATER_DISTORT = 0, /* and as many as there are jitters */
    LATER_WHEN = 4,
    LATER_DISTORT_CHANNELS = 5,
    LATER_PERMUTE = 6,
    LATER_NOISE = 7,
    LATER_NOISE_KEY = 8,
    LATER_QUARTERS = 9,
    LATER_JPEG = 10,
    LATER_PERSPECTIVE = 11, /* and one for each corner */
    LATER_ELASTIC = 16,
    LATER_ELASTIC_KEY = 17,
    LATER_ZOOM_OUT = 18,
    LATER_ZOOM_OUT_PLACE = 19,
    LATER_GROUP = 20, /* and on, by the group's number */
    LATER_FILTER = 40,
    LATER_LIGHT = 41,
    LATER_LIGHT_BY = 42,
    LATER_GAMMA = 43,
    LATER_CV2_GRAY = 44,
    LATER_ORDER = 48,         /* and one for each step */
    LATER_PICK = 1 << 12,     /* and on, 64 of each group */
    LATER_IOU_CROP = 1 << 16, /* and on, 4096 of each of its MEDIA_IOU_ROUNDS; all are below 2^20 */
};

/* Whether a step is done, by the first uniform of its block. */
static inline int media_happens(const media_step *s, const media_draw *d, uint32_t block) {
    return media_chance(d, OP_LATER, block, s->p);
}

void media_draw_distort(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_permute(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_noise(const media_step *s, const media_draw *d, media_retouches *to);
void media_permute(const media_pixels *px, int which);
void media_add_noise(const media_pixels *px, const media_kernels *by, const media_retouch *r);

/* --- recode.c --- */
void media_draw_jpeg(const media_step *s, const media_draw *d, media_retouches *to);

/* The pixels as libjpeg-turbo reads them from what it wrote, which room holds; bgr: as those of BGR. */
int media_recode(const media_pixels *px, media_buf *room, int quality, int bgr);

/* --- tones.c, tones_avx2.c, tones_vbmi.c --- */
void media_by_table(const media_pixels *px, const uint8_t table[256]);
void media_by_tables(const media_pixels *px, const uint8_t of[3][256]);
void media_by_table_avx2(const media_pixels *px, const uint8_t table[256]);
void media_by_table_vbmi(const media_pixels *px, const uint8_t table[256]);
void media_by_tables_vbmi(const media_pixels *px, const uint8_t of[3][256]);

/* Each channel by its own, and grey by the first. */
void media_by_channels(const media_pixels *px, const media_kernels *by, const uint8_t of[3][256]);

/* By what is made, as r says, of how often each value of a channel is there. */
void media_by_histogram(const media_pixels *px, const media_kernels *by,
                        void (*make)(const uint32_t n[256], const media_retouch *r, uint8_t table[256]),
                        const media_retouch *r);
void media_solarize(const media_pixels *px, const media_kernels *by, double threshold);
void media_solarize_add(const media_pixels *px, const media_kernels *by, int add); /* to what is below 128 */
void media_posterize(const media_pixels *px, const media_kernels *by, int bits);
void media_invert(const media_pixels *px, const media_kernels *by);
void media_autocontrast(const media_pixels *px, const media_kernels *by);
void media_torch_autocontrast(const media_pixels *px, const media_kernels *by);
void media_equalize(const media_pixels *px, const media_kernels *by);

/* --- blur.c --- */

/* From a copy of the pixels; and as torch does it on a tensor of bytes. */
void media_sharpness(const media_pixels *px, const media_pixels *from, float factor);
void media_torch_sharpness(const media_pixels *px, const media_pixels *from, double factor);

/* room: media_blur_bytes(), of no more than taps lines. taps: odd, to MEDIA_MAX_KERNEL, and less than twice either side. */
void media_gaussian_blur(const media_pixels *px, float *room, int32_t taps, double sigma);
void media_blur_plane(float *plane, int32_t w, int32_t h, float *room, int32_t taps,
                      double sigma); /* of w x h floats */
size_t media_blur_bytes(const media_pixels *px, int32_t taps);

/* --- warp.c --- */

/* torchvision's parameters: degrees, pixels, and where the picture is turned and sheared around. */
typedef struct media_affine {
    double angle, translate_x, translate_y, scale, shear_x, shear_y, center_x, center_y;
} media_affine;

/* m takes a pixel's place in the new picture to that in the old one: x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5. */
void media_affine_matrix(const media_affine *a, double m[6]);
void media_rotation_matrix(double degrees, double x, double y, double m[6]); /* around a place */

double media_once_around(double degrees); /* within a circle, as Python's % gives it */

/* From a copy of the pixels, or from a picture of another size. */
void media_warp(const media_pixels *px, const media_kernels *by, const media_pixels *from, const double m[6],
                int filter, const uint8_t fill[4]);

/* The same by a perspective: x' = (m0 x + m1 y + m2) / (m6 x + m7 y + 1), y' = (m3 x + m4 y + m5) / the same. */
void media_warp_perspective(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                            const double m[8], int filter, const uint8_t fill[4]);

/* --- warp.c, warp_avx2.c --- */
void media_mixed(const media_pixels *px, const media_pixels *from, const double *m, int perspective,
                 int filter, const uint8_t fill[4]);
void media_mixed_avx2(const media_pixels *px, const media_pixels *from, const double *m, int perspective,
                      int filter, const uint8_t fill[4]);

/* Image.rotate's expand: the picture of w x h becomes as large as all of it needs, and m leads to its pixels from there. */
void media_expand(double degrees, int centered, double m[6], int32_t *w, int32_t *h);

/* --- torch_warp.c --- */

/* A turn to the left about a place, which is the middle where it is not centered. */
typedef struct media_rotation {
    double degrees, x, y;
    int by_torch, centered, expand;
} media_rotation;

/* What does that to a picture of w x h, which may grow by a rotation; by_torch: to a tensor of bytes. */
void media_affine_retouch(media_retouch *r, int by_torch, const media_affine *a, int32_t w, int32_t h);
void media_rotation_retouch(media_retouch *r, const media_rotation *t, int32_t *w, int32_t *h);

/* --- warp.c --- */

/* A map of points to the row goes on to where the warp by m moves them; one of zeros stays that, here and below. */
void media_warp_points(const double m[6], double affine[6]);

/* A map of points goes on by another. */
void media_follow_points(const double by[6], double affine[6]);

/* --- erase.c --- */

typedef struct media_erased {
    media_region parts[MEDIA_MAX_HOLES]; /* of the row */
    int32_t n;
    uint32_t key[4]; /* of noise */
} media_erased;

void media_draw_erased(const media_op *op, const media_draw *d, media_erased *to);

/* Of a row of h x w a hole with its two blocks of an operation. */
media_region media_draw_hole(const media_holes_step *of, const media_draw *d, uint32_t op, uint32_t block,
                             int32_t h, int32_t w);

/* The parts of a finished row are erased. */
void media_erase(const media_op *op, const media_kernels *by, const media_erased *e, void *dst);

/* --- ahead.c --- */

/* How one picture is made of a part of another, which begins at left, top: along x and along y. */
typedef struct media_pass {
    media_axis_key x, y;
    int32_t left, top;
} media_pass;

/* What is done to a whole picture ahead of the geometry that is left; what takes a part of it ends one stage and begins another. */
enum { MEDIA_MAX_STAGES = MEDIA_MAX_PARTS + 2 };

typedef struct media_stage {
    media_pass pass;
    media_retouches steps; /* what warps, and may change the size, and what changes values */
} media_stage;

/* Draw the stages of a picture of w x h, and the first half of the plan of what is left for the row; MEDIA_TOO_MANY_PIXELS where a
 * stage's picture is too large. */
int media_plan_row(media_ctx *c, const media_op *op, const media_draw *draw, int32_t w, int32_t h,
                   media_plan *plan);

/* A stage that resizes the picture as p has it, and p the whole of that then. */
int media_resize_ahead(media_ctx *c, const media_op *op, media_plan *p);

/* The sheet that the last picture is not in. */
media_buf *media_next_sheet(media_ctx *c);

/* Warp the picture px, in the last sheet, and change its colours: what comes out, which may be of another size, is in the last sheet again. */
int media_retouch_sheets(media_ctx *c, const media_retouches *steps, media_pixels *px);

/* --- masks.c --- */

/* One mask after the other of what is in a picture of w x h. */
typedef struct media_masks {
    media_op op; /* of a row of one mask */
    int32_t w, h;
    size_t stride;
    media_buf drawn, edges;           /* the mask; and, while it is drawn, 1 where it changes down a column */
    media_buf odd;                    /* 1 of a column that has an odd number of edges */
    int32_t left, top, right, bottom; /* the part that has edges */
} media_masks;

/* --- context --- */

struct media_ctx {
    media_jpeg jpeg;
    media_png png;
    int libraries; /* 1: our decoders are left out */
    int own;       /* 1: one of them had the last file */
    const media_kernels *kernels;
    const media_op *op; /* of the row in hand, which has a size: the caller's, or settled */
    media_op settled;
    media_axis ax, ay;
    const media_resampler *by; /* along these */
    media_buf rows;            /* four decoded rows */
    media_buf mid;             /* horizontally resampled rows */
    media_buf sum;             /* of some of them */
    media_buf line;            /* one vertically resampled row */
    media_buf strip;           /* the same finished, on its way into patches */
    media_buf region;          /* a decoded region that must be turned, or is looked at more than once */
    media_buf turned;
    media_buf picture;   /* what another decoder made */
    media_buf shades;    /* the row as bytes, while it is retouched */
    media_buf room, mix; /* and what that needs besides */
    media_buf sheets[2]; /* whole pictures, ahead of the geometry */
    int sheet;           /* which of them has the last */
    media_stage stages[MEDIA_MAX_STAGES];
    int n_stages;
    media_pass pass;     /* how the row is made, behind the stages */
    media_tiling tiling; /* or, in place of it, its tiles */
    media_border border;
    media_retouches retouches;
    int keeps; /* 1: all lines of the row are needed before any is finished */
    media_erased erased;
    double row_map[6]; /* from the picture, or the last stage's, to the row as it is before its retouches */
    media_moves moves;
    media_buf boxes;                  /* of the picture, for IOU_CROP */
    int32_t n_boxes, seen_w, seen_h;  /* and the size of that */
    int shares;                       /* 1: they are of it */
    int from_below;                   /* 1: the row's last line comes first */
    int32_t first_column, end_column; /* of the row: those that the picture reaches; fill around them */
    media_masks masks;
    media_info info;
    const uint8_t *picture_next; /* of media_fetch_picture */
    size_t picture_stride;
};

/* --- row.c --- */

/* Where source rows come from: fill rows[0..n-1], n <= 4, with the next n rows
 * of the region, first pixel at rows[i][0], MEDIA_SLACK_BYTES readable past the
 * last. */
typedef void (*media_fetch)(media_ctx *c, int n, const uint8_t *rows[4]);

/* Rows of a picture in memory, from its pixel (x, y) on: media_picture_rows() says which one. */
void media_fetch_picture(media_ctx *c, int n, const uint8_t *rows[4]);
void media_picture_rows(media_ctx *c, const uint8_t *pixels, size_t stride, int32_t x, int32_t y,
                        const media_op *op);

/* Geometry and axes for the picture of c->info, and c->op; the region of the oriented
 * picture that they read. */
int media_prepare(media_ctx *c, const media_op *op, const media_draw *draw, media_region *r);

/* That region once more, with the axes of the first pass, for another picture of the same size. */
int media_begin(media_ctx *c, media_region *r);

/* Where that region lies in the picture as stored, w x h. */
void media_unturn(int orientation, int32_t w, int32_t h, const media_region *r, media_region *raw);

/* The region's rows, fetched as stored, into dst. fetch may long-jump out. */
int media_render(media_ctx *c, const media_region *r, media_fetch fetch, void *dst);

/* Bytes from one of four RGBX rows of that width to the next in c->rows, which holds them and slack. */
static inline size_t media_row_stride(int32_t width) { return media_line_stride(width, 4); }

/* Note the detail and return the status. */
int media_fail(media_ctx *c, int status, const char *detail);

/* --- stream.c --- */

/* Horizontally resampled rows, a window that slides over the source. */
typedef struct media_window {
    uint8_t *p;
    size_t stride;
    int32_t first, cap; /* source row at p; rows that fit, one more is readable */
    media_pixels made;  /* what the lines are of; without memory, where they are finished at once */
    int from_below;     /* 1: its last line comes first */
    int32_t first_column, end_column; /* those that the picture reaches; fill around them */
} media_window;

/* A window for what `made` says, but for its memory, which is of `keep`, if that is not NULL. */
int media_window_init(media_ctx *c, media_window *w, media_buf *keep);

/* Stream the region's rows through both passes, into dst where lines are finished at once. */
void media_resample(media_ctx *c, const media_op *op, media_window *w, int32_t rows, media_fetch fetch,
                    void *dst);

#endif
