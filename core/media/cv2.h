/* cv2.h - what is done to a row's pixels as OpenCV does it, and albumentations by it. */
#ifndef SPDL_MEDIA_CV2_H
#define SPDL_MEDIA_CV2_H

#include "internal.h"

/* Draws of these, in operation 15, behind what LATER_ORDER takes. */
enum {
    LATER_HSV = 128,        /* and one more */
    LATER_RGB_SHIFT = 130,  /* and one more */
    LATER_CV2_JITTER = 132, /* and two more */
    LATER_CV2_AFFINE = 136, /* and three more */
    LATER_BOX_BLUR = 140,
    LATER_MEDIAN = 141,
    LATER_CV2_BLUR = 142, /* and one more */
    LATER_MOTION = 144,   /* and two more */
    LATER_HOLES = 148,    /* and two for each */
    LATER_CLAHE = 216,
    LATER_SHARPEN = 218, /* and one more */
    LATER_EMBOSS = 220,  /* and one more */
    LATER_SEPIA = 222,
    LATER_CV2_EQUALIZE = 223,
    LATER_DROP_CHANNELS = 224, /* and one more */
    LATER_TONE_CURVE = 226,    /* and six more */
    LATER_TRANSPOSE = 233,
    LATER_OPTICAL = 234,
    LATER_GRID = 236,            /* and one more */
    LATER_CV2_PERSPECTIVE = 240, /* and eight more */
    LATER_GRID_HOLES = 250,      /* and one more */
    LATER_SPECKS = 252,          /* and one more */
    LATER_DOWNSCALE = 254,
    LATER_MULTIPLY = 256, /* and one more */
    LATER_UNSHARP = 258,  /* and one more */
    LATER_SHUFFLE = 260,  /* and one more */
    LATER_MORPH = 262,
    LATER_ISO = 264,         /* and two more */
    LATER_CV2_ELASTIC = 268, /* and one more */
    LATER_CUT = 270,
    LATER_CUT_BORDERS = 271, /* and two more */
    LATER_CUT_SIDES = 274,   /* and two more */
    LATER_CUT_SAFELY = 277,  /* and two more */
    LATER_CUT_AROUND = 280,  /* and one more */
    LATER_CUT_RESIZED = 282, /* and twenty more */
    LATER_RESCALE = 303,
    LATER_CV2_AUTOCONTRAST = 304,
    LATER_SALT = 305,      /* and two more */
    LATER_PLANCKIAN = 308, /* and one more */
    LATER_ERASING = 310,   /* and two more */
    LATER_SHADOW = 313,    /* and two for each */
    LATER_ADVANCED = 346,  /* and four more */
    LATER_DEFOCUS = 351,   /* and one more */
    LATER_RINGING = 353,   /* and one more */
    LATER_GLASS = 355,     /* and one more */
    LATER_ZOOM = 357,      /* and one more */
    LATER_FOG = 359,       /* and one more */
    LATER_RAIN = 361,      /* and one more */
    LATER_SNOW = 363,
    LATER_FLARE = 364,     /* and three more */
    LATER_SHOT = 368,      /* and one more */
    LATER_PCA = 370,       /* and three more */
    LATER_PIECEWISE = 374, /* and two more */
};

/* The whole number nearest to v, of two the even one; and as a byte. */
static inline float media_rint(float v) { return v + 12582912.0f - 12582912.0f; }

static inline uint8_t media_byte(int32_t v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

static inline uint8_t media_nearest_byte(float v) { return media_byte((int32_t)media_rint(v)); }

/* --- light.c --- */
void media_draw_light(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_gamma(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cv2_gray(const media_step *s, const media_draw *d, media_retouches *to);
void media_light(const media_pixels *px, const media_kernels *by, float contrast, float brightness);
void media_gamma(const media_pixels *px, const media_kernels *by, double gamma);
void media_to_cv2_gray(const media_pixels *px); /* of three channels */

/* cvtColor's weights for RGB2GRAY, of 15 bits. */
static inline uint8_t media_cv2_gray(const uint8_t *c) {
    return (uint8_t)((9798 * c[0] + 19235 * c[1] + 3735 * c[2] + (1 << 14)) >> 15);
}

/* --- cv2_colours.c, cv2_colours_avx2.c --- */
void media_draw_hsv(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_rgb_shift(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cv2_jitter(const media_step *s, const media_draw *d, media_retouches *to);

/* Hues there are, and pixels that OpenCV's way back from them takes at once. */
enum { MEDIA_HUES = 180, MEDIA_HSV_VECTOR = 32 };

/* What becomes of a hue, and what is added to saturation, where there is any, and to value. */
typedef struct media_turned {
    uint8_t hue[256];
    int32_t saturation, value;
} media_turned;

/* Of three channels: hue, which is one of 0 to 179, saturation and value, each plus a number. */
void media_hsv_shift(const media_pixels *px, const media_kernels *by, const double shift[3]);

/* Of three channels: each plus a number, without what that has behind the point. */
void media_rgb_shift(const media_pixels *px, const media_kernels *by, const double shift[3]);

/* CV2_BRIGHTNESS ... CV2_HUE. */
void media_cv2_colour(const media_pixels *px, const media_kernels *by, int kind, double factor);

/* --- cv2_tones.c --- */
void media_draw_cv2_autocontrast(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_planckian(const media_step *s, const media_draw *d, media_retouches *to);
void media_cv2_autocontrast(const media_pixels *px, const media_kernels *by, const media_retouch *r);

/* --- shadow.c --- */
void media_draw_shadows(const media_step *s, const media_draw *d, media_retouches *to);
int media_shadow(const media_pixels *px, const media_retouch *r, media_buf *room);

/* --- cv2_hls.c --- */

/* Hue, lightness and saturation. */
typedef struct media_hls {
    float h, l, s;
} media_hls;

/* cvtColor's loop over whole vectors of so many pixels rounds otherwise than the one over the rest of a line. */
enum { MEDIA_HLS_VECTOR = 8 };

/* Of floats from 0 to 1, the hue in degrees, there and back; of a hue `sixth` is a sixth of the circle's one over. */
media_hls media_to_hls(const float c[3], int vector);
void media_from_hls(media_hls from, float sixth, int vector, float to[3]);

/* --- cv2_shapes.c --- */

/* cv2.circle's way round a filled circle, from {.dx = radius, .minus = 2 * radius - 1, .plus = 1} on: lines dy from the middle reach dx to either side, and lines
 * dx from it dy. */
typedef struct media_circle {
    int64_t dx, dy, err, plus, minus;
} media_circle;

static inline media_circle media_circle_of(int64_t radius) {
    return (media_circle){.dx = radius, .plus = 1, .minus = 2 * radius - 1};
}
int media_circle_next(media_circle *c); /* 0: it is closed */

/* How far lines of a circle reach, from that of its middle to the last: reach has radius + 1 numbers. */
void media_circle_reach(int32_t radius, int32_t *reach);

/* Bytes of a mask of w x h become `is` in a filled circle, whose middle may lie outside. */
void media_draw_disk(uint8_t *mask, int32_t w, int32_t h, int32_t x, int32_t y, int32_t radius, uint8_t is);

/* The same on a line from (x1, y1) to (x2, y2), of pixels side by side (cv2.LINE_4), as far as it lies in the mask. */
void media_draw_thin_line(uint8_t *mask, int32_t w, int32_t h, int32_t x1, int32_t y1, int32_t x2, int32_t y2,
                          uint8_t is);

/* --- weather.c, flare.c --- */
void media_draw_fog(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_rain(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_snow(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_flare(const media_step *s, const media_draw *d, media_retouches *to);

/* Here and below MEDIA_NO_MEMORY where there is no room. */
int media_fog(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);
int media_rain(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);
int media_flare(const media_pixels *px, const media_retouch *r, media_buf *room);
void media_snow(const media_pixels *px, const media_kernels *by, const media_retouch *r);

/* n pixels get the lightness of a table, as media_to_hls and back have it; and n of whole vectors. */
void media_lighten(uint8_t *c, int32_t n, int step, int vector, const int32_t lighter[256]);
void media_lighten_vectors(uint8_t *c, int32_t n, int step, const int32_t lighter[256]);
void media_lighten_avx2(uint8_t *c, int32_t n, int step, const int32_t lighter[256]);

/* A number of 0 to 255 by a share, and v by what is left: cv2.addWeighted's bytes. */
static inline uint8_t media_weighted(int number, double share, int v) {
    return media_nearest_byte(media_fused((float)v * (float)(1 - share), (float)number, (float)share));
}

/* --- shot.c, pca.c, zoom.c --- */
void media_draw_shot(const media_step *s, const media_draw *d, media_retouches *to);
int media_shot(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);
void media_draw_pca(const media_step *s, const media_draw *d, media_retouches *to);
void media_pca(const media_pixels *px, const media_kernels *by, const media_retouch *r);
void media_draw_zoom(const media_step *s, const media_draw *d, media_retouches *to);
int media_zoom(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);
void media_add_mix(float *sums, const float *a, const float *b, float share, int32_t n);
void media_add_mix_avx2(float *sums, const float *a, const float *b, float share, int32_t n);

/* --- cv2_smooth.c, cv2_smooth_avx2.c --- */

/* cv2.GaussianBlur of bytes, by n taps, odd and up to MEDIA_MAX_KERNEL; a sigma of 0 is that of their number. MEDIA_NO_MEMORY. */
int media_smooth(const media_pixels *px, const media_kernels *by, int32_t n, double sigma, media_buf *room);
void media_draw_glass(const media_step *s, const media_draw *d, media_retouches *to);
int media_glass(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);
void media_smooth_across(uint16_t *to, const uint8_t *from, const uint16_t *k, int32_t taps, int32_t step,
                         int32_t n);
void media_smooth_down(uint8_t *to, const uint16_t *const *lines, const uint16_t *k, int32_t taps, int32_t n);
void media_smooth_across_avx2(uint16_t *to, const uint8_t *from, const uint16_t *k, int32_t taps,
                              int32_t step, int32_t n);
void media_smooth_down_avx2(uint8_t *to, const uint16_t *const *lines, const uint16_t *k, int32_t taps,
                            int32_t n);

/* --- cv2_warp.c, cv2_warp_avx2.c --- */
void media_draw_cv2_affine(const media_step *s, const media_draw *d, media_retouches *to);

/* The map of a CV2_AFFINE as a WARP's is: it leads back, and pixel i reaches from i to i + 1. */
void media_cv2_back(const media_retouch *r, double m[6]);

/* From a copy of the pixels, or from a picture of another size. */
void media_warp_cv2(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                    const media_retouch *r);

/* Bits behind the point of a place, and of those that shares are made of; and columns whose places are found once for all lines. */
enum { MEDIA_CV2_PLACES = 10, MEDIA_CV2_SUBPLACES = 5, MEDIA_CV2_COLUMNS = 128 };

/* Where a line's pixels come from: (x + across[i], y + down[i]), sums of 32 bits that may run over. */
typedef struct media_places {
    const media_pixels *from;
    const media_retouch *r; /* its border */
    int32_t x, y;
    int32_t across[MEDIA_CV2_COLUMNS], down[MEDIA_CV2_COLUMNS];
} media_places;

/* --- cv2_perspective.c --- */
void media_draw_cv2_perspective(const media_step *s, const media_draw *d, media_retouches *to);

/* The map of a CV2_PERSPECTIVE as a PERSPECTIVE's is: it leads back, and pixel i reaches from i to i + 1. */
void media_cv2_perspective_back(const media_retouch *r, double back[9]);

/* From a copy of the pixels, or from a picture of another size. */
void media_warp_cv2_perspective(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                                const media_retouch *r);

/* sum_of: numpy's sum of up to 128 numbers of a type, which from eight on is of eight sums. */
#define MEDIA_NUMPY_SUM(type)                                       \
    static type sum_of(const type *v, int32_t n) {                  \
        type sum = 0, eight[8];                                     \
        int32_t i = 0;                                              \
        if (n >= 8) {                                               \
            memcpy(eight, v, sizeof eight);                         \
            for (i = 8; i + 8 <= n; i += 8)                         \
                for (int k = 0; k < 8; k++) eight[k] += v[i + k];   \
            sum = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + \
                  ((eight[4] + eight[5]) + (eight[6] + eight[7]));  \
        }                                                           \
        for (; i < n; i++) sum += v[i];                             \
        return sum;                                                 \
    }

/* A place as media_places has it, of up to 2^20 pixels. */
static inline int32_t media_cv2_place(float v, int linear) {
    int bits = linear ? MEDIA_CV2_SUBPLACES : 0;
    return (int32_t)((double)v * (1 << bits) + 0x1.8p52 - 0x1.8p52) * (1 << (MEDIA_CV2_PLACES - bits));
}

/* --- cv2_elastic.c --- */
enum { MEDIA_APPROXIMATE = 17 }; /* taps of a blur that is approximate */

void media_draw_cv2_elastic(const media_step *s, const media_draw *d, media_retouches *to);

/* A CV2_ELASTIC, from a copy of the pixels; room: media_cv2_elastic_bytes(), aligned as floats are. */
void media_bend_elastic(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                        const media_retouch *r, float *room);
size_t media_cv2_elastic_bytes(const media_pixels *px, const media_retouch *r);

/* --- cv2_maps.c --- */

/* n pixels of line y from number first on are those at these places. */
void media_take_row(const media_pixels *px, const media_kernels *by, const media_places *at, int32_t first,
                    int32_t n, int32_t y);
void media_draw_optical(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_grid(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_piecewise(const media_step *s, const media_draw *d, media_retouches *to);

/* An OPTICAL or a GRID, from a copy of the pixels. */
void media_bend(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                const media_retouch *r);
void media_pull(const media_pixels *px, const media_kernels *by, const media_pixels *from,
                const media_retouch *r);

/* --- cv2_blurs.c, cv2_blurs_avx2.c --- */
void media_draw_box_blur(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_median(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cv2_blur(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_motion(const media_step *s, const media_draw *d, media_retouches *to);

/* A float held to the range from 0 to 1. */
static inline float media_clip(float v) { return v <= 0 ? 0 : v >= 1 ? 1 : v; }

/* One of the odd numbers between two. */
static inline int32_t media_odd(const uint32_t range[2], double u) {
    return (int32_t)(range[0] + 2 * (uint32_t)(u * ((range[1] - range[0]) / 2 + 1)));
}

void media_draw_sharpen(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_emboss(const media_step *s, const media_draw *d, media_retouches *to);

/* Pixels, without memory, of which there are n more on all sides than of px; a copy of px in such, by what lies beyond it; and that in memory of room, behind
 * which there is room for more bytes, aligned, which it returns. NULL when there is no memory. */
media_pixels media_wider(const media_pixels *px, int32_t n);
void media_copy_bordered(const media_pixels *px, int32_t n, uint32_t mode, const media_pixels *to);
uint8_t *media_bordered(const media_pixels *px, int32_t n, uint32_t mode, media_buf *room, size_t more,
                        media_pixels *to);

/* Those of a kernel's pixels that are not 0, line by line; mirrored: up to the middle line, those below it being the same. */
typedef struct media_filter2d {
    int32_t size, n, mirrored;
    uint8_t x[MEDIA_MAX_TAPS], y[MEDIA_MAX_TAPS];
    float k[MEDIA_MAX_TAPS];
} media_filter2d;

/* cv2.filter2D. */
int media_filtered(const media_pixels *px, const media_kernels *by, const media_filter2d *f, media_buf *room);

/* --- cv2_kernels.c --- */
void media_draw_advanced(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_defocus(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_ringing(const media_step *s, const media_draw *d, media_retouches *to);

/* ADVANCED, DEFOCUS and RINGING. */
int media_by_kernel(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);

/* --- cv2_blurs.c --- */

/* BOX_BLUR ... MOTION, SHARPEN and EMBOSS; MEDIA_NO_MEMORY where room cannot be had. */
int media_cv2_blurs(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);

/* --- clahe.c, clahe_avx2.c --- */
void media_draw_clahe(const media_step *s, const media_draw *d, media_retouches *to);
int media_clahe(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);

enum {
    MEDIA_LAB_LIGHT = 255 << 3,
    MEDIA_LAB_ROOTS = 3 * MEDIA_LAB_LIGHT / 2 + 12,
    MEDIA_LAB_ROOT_BITS = 15,
    MEDIA_LAB_XYZ_BITS = 12,
    MEDIA_LAB_LEVELS = 1 << 12,
    MEDIA_LAB_BASE_BITS = 14,
};

/* What of L*a*b* is the same for all pictures. */
typedef struct media_lab {
    uint16_t light[256];            /* of sRGB, LIGHT at most */
    uint16_t root[MEDIA_LAB_ROOTS]; /* the function of L*a*b*, of such light */
    uint8_t srgb[MEDIA_LAB_LEVELS]; /* and back */
    int32_t y[256], f[256];         /* of L: light, and the function of it, of 14 bits */
    int32_t there[9], back[9];      /* from light to XYZ of D65, which is white, and back */
} media_lab;

/* How near each pixel of a line is to the tile before it and to the one behind. */
typedef struct media_near {
    const float *before, *behind;
} media_near;

/* --- cv2_tables.c --- */
void media_draw_sepia(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_tone_curve(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_drop_channels(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_cv2_equalize(const media_step *s, const media_draw *d, media_retouches *to);
void media_sepia(const media_pixels *px); /* of three channels */
void media_tone_curve(const media_pixels *px, const media_kernels *by, const double points[6]);
void media_drop_channels(const media_pixels *px, int which, uint8_t fill);
void media_cv2_equalize(const media_pixels *px, const media_kernels *by);

/* --- holes.c --- */

/* A side in so many parts that are alike, but for what is left over, of which some of them, by chance, have a pixel each: number i if the first uniform of the
 * counter (i, axis, 0, 0) says so. */
typedef struct media_parts {
    const uint32_t *key;
    uint32_t axis, i, n, over; /* the next one, all, and those that are still to have a pixel more */
    int32_t size, at, end;     /* of the part in hand, from where to where it is */
} media_parts;

/* Of a retouch with a key, whose matrix says how many parts there are down and across. */
media_parts media_parts_of(const media_retouch *r, uint32_t axis, int32_t side);
int media_next_part(media_parts *p); /* the next one; 0: there is none */

void media_draw_holes(const media_step *s, const media_draw *d, media_retouches *to);
void media_hole(const media_pixels *px, const media_retouch *r);
void media_draw_grid_holes(const media_step *s, const media_draw *d, media_retouches *to);
void media_grid_holes(const media_pixels *px, const media_retouch *r);
void media_draw_specks(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_salt(const media_step *s, const media_draw *d, media_retouches *to);
void media_draw_erasing(const media_step *s, const media_draw *d, media_retouches *to);
void media_salt(const media_pixels *px, const media_kernels *by, const media_retouch *r);
void media_specks(const media_pixels *px, const media_kernels *by, const media_retouch *r);

/* --- iso.c --- */
void media_draw_iso(const media_step *s, const media_draw *d, media_retouches *to);
void media_iso(const media_pixels *px, const media_kernels *by,
               const media_retouch *r); /* of three channels */

/* --- morph.c, morph_avx2.c --- */

/* Lines into which what is around the bytes of one is put, as far as each reaches to the left and, but no further than `right`, to the right; those that reach least
 * come first. */
typedef struct media_spread {
    int smallest; /* 1: that, 0: the largest */
    int32_t step, right, n;
    int32_t reach[MEDIA_MAX_KERNEL]; /* pixels */
    uint8_t *to[MEDIA_MAX_KERNEL];
} media_spread;

void media_draw_morph(const media_step *s, const media_draw *d, media_retouches *to);
int media_morph(const media_pixels *px, const media_kernels *by, const media_retouch *r,
                media_buf *room); /* MEDIA_NO_MEMORY */

/* --- shuffle.c --- */
void media_draw_shuffle(const media_step *s, const media_draw *d, media_retouches *to);
void media_shuffle(const media_pixels *px, const media_pixels *from, const media_retouch *r);

/* --- multiply.c --- */
void media_draw_multiply(const media_step *s, const media_draw *d, media_retouches *to);
void media_multiply(const media_pixels *px, const media_kernels *by, const media_retouch *r);

/* --- downscale.c --- */
void media_draw_downscale(const media_step *s, const media_draw *d, media_retouches *to);

/* From a copy of the pixels; columns: room for as many numbers. */
void media_downscale(const media_pixels *px, const media_pixels *from, double scale, int32_t *columns);

/* --- what has vectors --- */

/* The same, to the bit, on every instruction set. px is what changes, with MEDIA_SLACK_BYTES behind each line that may be written; of squares of
 * size x size, from is a copy of it with size / 2 pixels more on all sides and such slack, which may change. */
typedef struct media_cv2 {
    /* n bytes as floats; and floats as bytes, rounded half to even, what is none cut. */
    void (*widen)(float *to, const uint8_t *from, int32_t n);
    void (*narrow)(uint8_t *to, const float *from, int32_t n);
    /* n sums of k[t] * at[t][i], from the first t to the last, each rounded once. */
    void (*fuse)(float *sums, const float *const *at, const float *k, int32_t taps, int32_t n);
    /* The same of the middle one, which is number half, and then of both that are 1, 2 ... half beside it, whose weights are the same. */
    void (*fuse_pairs)(float *sums, const float *const *at, const float *k, int32_t half, int32_t n);
    /* Of squares; room: MEDIA_MEAN_LINES of from, and media_medians_bytes(). */
    void (*means)(const media_pixels *px, const media_pixels *from, int32_t size, void *room);
    void (*medians)(const media_pixels *px, const media_pixels *from, int32_t size, void *room);
    /* n sums of k[t] * from[t * step + i], which are less than 2^16, and may be 15 more; and bytes of n sums of k[t] * lines[t][i], over 2^16, rounded. */
    void (*smooth_across)(uint16_t *to, const uint8_t *from, const uint16_t *k, int32_t taps, int32_t step,
                          int32_t n);
    void (*smooth_down)(uint8_t *to, const uint16_t *const *lines, const uint16_t *k, int32_t taps,
                        int32_t n);
    /* n of a by what is left of a share and of b by it are added, products and sums rounded; up to seven more may be. */
    void (*add_mix)(float *sums, const float *a, const float *b, float share, int32_t n);
    /* n pixels, whole vectors of MEDIA_HLS_VECTOR, get the lightness of a table. */
    void (*lighten)(uint8_t *c, int32_t n, int step, const int32_t lighter[256]);
    /* n bytes of a line into these. */
    void (*spread)(const media_spread *s, const uint8_t *line, int32_t n);
    /* Of UNSHARP, n values each, of which up to MEDIA_MORE_FLOATS more may be written: bytes as numbers of 0 to 1; what is sharper than they by how they differ
     * from their blur, and 1 in the mask where that is more than the threshold; and the sharper ones and those of their own by how much there is of the former. */
    void (*shares)(float *to, const uint8_t *from, int32_t n);
    void (*sharper)(float *to, uint8_t *mask, const uint8_t *own, const float *blur, int32_t n, float alpha,
                    float threshold);
    void (*soften)(uint8_t *to, const uint8_t *own, const float *sharp, const float *soft, int32_t n);
    /* To HSV, turned, and back. */
    void (*turn)(const media_pixels *px, const media_turned *t);
    void (*shift)(const media_pixels *px, const int32_t by[3]);
    /* own times a value and of_gray times the grey of its pixel. */
    void (*saturate)(const media_pixels *px, float own, float of_gray);
    void (*gray)(const media_pixels *px);
    void (*sepia)(const media_pixels *px);
    /* n pixels of those at these places from number first on, each made of four; up to seven more may be written. */
    void (*mix_row)(uint8_t *to, int32_t first, int32_t n, const media_places *at);
    uint64_t (*sum_gray)(const media_pixels *px);
    void (*to_lab)(const media_pixels *px, const media_lab *l);
    void (*from_lab)(const media_pixels *px, const media_lab *l);
    /* Of n pixels the first channel: a mix of four tiles' bytes, along x, and then of those above and below. */
    void (*mix_tiles)(uint8_t *c, int32_t n, int step, const uint32_t *fours, const media_near *near,
                      float above, float below);
} media_cv2;

extern const media_cv2 media_cv2_portable, media_cv2_avx2;

/* --- cv2_blurs.c --- */

/* Lines of floats that a kernel blurs along them, from its first tap to its last or, if it is small, as OpenCV does it of floats, and across, the middle tap
 * first and then those beside it two by two. Of a picture with half a kernel's pixels more on all sides each line is put into `wide`, one after the other. */
typedef struct media_gauss {
    float k[MEDIA_MAX_TAPS];
    int small;           /* 1: of 3 or 5 taps, and so */
    const media_cv2 *by; /* here and below what media_gauss_begin says */
    int32_t taps, step, n;
    size_t stride;
    float *kept, *wide, *sums;
} media_gauss;

/* from: with those pixels; room: media_gauss_bytes(), aligned as floats are. */
size_t media_gauss_bytes(const media_pixels *from, int32_t taps);
void media_gauss_begin(media_gauss *g, const media_cv2 *by, const media_pixels *from, int32_t taps,
                       float *room);

/* With line y in `wide`, the blurred line y - (taps - 1), of n floats, or NULL, where there is none yet. */
const float *media_gauss_line(const media_gauss *g, int32_t y);

/* --- unsharp.c, unsharp_avx2.c --- */
enum { MEDIA_MORE_FLOATS = 7 };

/* cv2.getGaussianKernel of n taps, up to MEDIA_MAX_TAPS; a sigma of 0 is that of their number. */
void media_gaussian_taps(float *k, int32_t n, double sigma);

void media_shares(float *to, const uint8_t *from, int32_t n);
void media_sharper(float *to, uint8_t *mask, const uint8_t *own, const float *blur, int32_t n, float alpha,
                   float threshold);
void media_soften(uint8_t *to, const uint8_t *own, const float *sharp, const float *soft, int32_t n);
void media_shares_avx2(float *to, const uint8_t *from, int32_t n);
void media_sharper_avx2(float *to, uint8_t *mask, const uint8_t *own, const float *blur, int32_t n,
                        float alpha, float threshold);
void media_soften_avx2(uint8_t *to, const uint8_t *own, const float *sharp, const float *soft, int32_t n);
void media_draw_unsharp(const media_step *s, const media_draw *d, media_retouches *to);
int media_unsharp(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);

/* --- cv2_medians.c, cv2_medians_avx2.c --- */

/* Squares that some instruction set counts by columns are larger; of smaller ones some need so many lines of from. */
enum { MEDIA_SMALL_MEDIAN = 9, MEDIA_MEDIAN_LINES = 5 };

void media_medians(const media_pixels *px, const media_pixels *from, int32_t size, void *room);
void media_large_medians_avx2(const media_pixels *px, const media_pixels *from, int32_t size, void *room);
size_t media_medians_bytes(const media_pixels *from, int32_t size);

/* Lines of from that means need. */
enum { MEDIA_MEAN_LINES = 6 };

/* A line of means, of the sums of its columns. */
void media_means_line(const media_pixels *px, int32_t y, int32_t size, const uint16_t *sums);

void media_spread_portable(const media_spread *s, const uint8_t *line, int32_t n);
void media_spread_avx2(const media_spread *s, const uint8_t *line, int32_t n);
void media_turn(const media_pixels *px, const media_turned *t);
void media_shift(const media_pixels *px, const int32_t by[3]);
void media_saturate(const media_pixels *px, float own, float of_gray);
uint64_t media_sum_gray(const media_pixels *px);
void media_pick_row(uint8_t *to, int32_t first, int32_t n, const media_places *at); /* the nearest */
void media_mix_row(uint8_t *to, int32_t first, int32_t n, const media_places *at);
void media_mix_row_avx2(uint8_t *to, int32_t first, int32_t n, const media_places *at);
void media_turn_avx2(const media_pixels *px, const media_turned *t);
void media_shift_avx2(const media_pixels *px, const int32_t by[3]);
void media_saturate_avx2(const media_pixels *px, float own, float of_gray);
void media_cv2_gray_avx2(const media_pixels *px);
void media_sepia_avx2(const media_pixels *px);
void media_to_lab(const media_pixels *px, const media_lab *l);
void media_from_lab(const media_pixels *px, const media_lab *l);
void media_mix_tiles(uint8_t *c, int32_t n, int step, const uint32_t *fours, const media_near *near,
                     float above, float below);
void media_mix_tiles_avx2(uint8_t *c, int32_t n, int step, const uint32_t *fours, const media_near *near,
                          float above, float below);
void media_to_lab_avx2(const media_pixels *px, const media_lab *l);
void media_from_lab_avx2(const media_pixels *px, const media_lab *l);
uint64_t media_sum_gray_avx2(const media_pixels *px);

#endif
