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
};

/* A number of a range. */
static inline double media_between(const double range[2], double u) {
    return range[0] + u * (range[1] - range[0]);
}

/* sum + a * b, rounded once, as processors with FMA do it. */
static inline float media_fused(float sum, float a, float b) { return (float)((double)a * b + sum); }

/* The whole number nearest to v, of two the even one; and as a byte. */
static inline float media_rint(float v) { return v + 12582912.0f - 12582912.0f; }

static inline uint8_t media_byte(int32_t v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v); }

static inline uint8_t media_nearest_byte(float v) { return media_byte((int32_t)media_rint(v)); }

/* --- light.c --- */
void media_draw_light(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_gamma(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_cv2_gray(const media_op *op, const media_draw *d, media_retouches *to);
void media_light(const media_pixels *px, float contrast, float brightness);
void media_gamma(const media_pixels *px, double gamma);
void media_to_cv2_gray(const media_pixels *px);

/* cvtColor's weights for RGB2GRAY, of 15 bits. */
static inline uint8_t media_cv2_gray(const uint8_t *c) {
    return (uint8_t)((9798 * c[0] + 19235 * c[1] + 3735 * c[2] + (1 << 14)) >> 15);
}

/* --- cv2_colours.c --- */
void media_draw_hsv(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_rgb_shift(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_cv2_jitter(const media_op *op, const media_draw *d, media_retouches *to);

/* Of three channels: hue, which is one of 0 to 179, saturation and value, each plus a number. */
void media_hsv_shift(const media_pixels *px, const double shift[3]);

/* Of three channels: each plus a number, without what that has behind the point. */
void media_rgb_shift(const media_pixels *px, const double shift[3]);

/* CV2_BRIGHTNESS ... CV2_HUE. */
void media_cv2_colour(const media_pixels *px, int kind, double factor);

/* --- cv2_warp.c --- */
void media_draw_cv2_affine(const media_op *op, const media_draw *d, media_retouches *to);

/* The map of a CV2_AFFINE as a WARP's is: it leads back, and pixel i reaches from i to i + 1. */
void media_cv2_back(const media_retouch *r, double m[6]);

/* From a copy of the pixels, or from a picture of another size. */
void media_warp_cv2(const media_pixels *px, const media_pixels *from, const media_retouch *r);

/* --- cv2_blurs.c, cv2_blurs_avx2.c --- */
void media_fuse(float *sums, const uint8_t *v, float k, int32_t n);
void media_fuse_pairs(float *sums, const float *a, const float *b, float k, int32_t n);
void media_fuse_avx2(float *sums, const uint8_t *v, float k, int32_t n);
void media_fuse_pairs_avx2(float *sums, const float *a, const float *b, float k, int32_t n);
void media_draw_box_blur(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_median(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_cv2_blur(const media_op *op, const media_draw *d, media_retouches *to);
void media_draw_motion(const media_op *op, const media_draw *d, media_retouches *to);

/* BOX_BLUR ... MOTION; MEDIA_NO_MEMORY where room cannot be had. */
int media_cv2_blurs(const media_pixels *px, const media_kernels *by, const media_retouch *r, media_buf *room);

/* --- clahe.c --- */
void media_draw_clahe(const media_op *op, const media_draw *d, media_retouches *to);
int media_clahe(const media_pixels *px, const media_retouch *r, media_buf *room);

/* --- holes.c --- */
void media_draw_holes(const media_op *op, const media_draw *d, media_retouches *to);
void media_hole(const media_pixels *px, const media_retouch *r);

#endif
