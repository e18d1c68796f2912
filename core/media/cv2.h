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
};

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

#endif
