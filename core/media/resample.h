/* resample.h - how a picture becomes larger or smaller: what each axis does, and the ways to do it. */
#ifndef SPDL_MEDIA_RESAMPLE_H
#define SPDL_MEDIA_RESAMPLE_H

#include "pixels.h"

/* --- resample.c --- */

/* in elements become out, of which the n from win on are wanted, in reverse
 * order if mirror. No padding in it: keys are compared as bytes. */
typedef struct media_axis_key {
    int32_t in, out, win, n, filter, mirror;
} media_axis_key;

/* Of an axis, what OpenCV's filters have. */
typedef struct media_taps {
    int32_t n;       /* of an output: 2, 4 or 8 of fixed point, 0 of MEAN, of AREA the most */
    int16_t *across; /* n per output, 11-bit; those beyond the edge are added to the outermost element's */
    int16_t *down;   /* the same as they are */
    uint8_t *at;     /* and the elements that these are of, from start on */
    float *share;    /* of AREA: n per output */
} media_taps;

/* One axis of the resampling: output i is the sum over t < count[i] of
 * coefficient t times source element start[i] + t, relative to `first`. */
typedef struct media_axis {
    int32_t n;          /* outputs */
    int32_t groups;     /* of 4 taps, the same for every output; unused taps are zero */
    int32_t first, end; /* source elements that are read: [first, end) of the box */
    int32_t identity;   /* 1: an element becomes an element: nothing is mixed along this axis */
    int32_t
        run; /* 1: and these are all there, in their order: a part of a picture that is neither resized nor mirrored */
    int32_t *start;     /* relative to first */
    int32_t *count;     /* 0: outside the picture */
    int16_t *split;     /* groups * 8 per output: 4 high halves, then 4 low halves, which are 0 of torch's */
    int32_t low;        /* bits of a low half */
    int32_t *k;         /* groups * 4 per output: the 22-bit coefficients */
    double *weights;    /* of the output being computed */
    media_taps taps;    /* in place of these: of OpenCV's filters */
    media_axis_key key; /* what the fields above were made for, if ready */
    int32_t ready;
    media_buf places, coefficients;
} media_axis;

/* Which output of the whole axis is number i of those that are wanted; -1: none, it is outside. */
static inline int32_t media_axis_output(const media_axis_key *key, int32_t i) {
    int32_t p = key->win + (key->mirror ? key->n - 1 - i : i);
    return p < key->out ? p < 0 ? -1 : p : -1;
}

int media_axis_init(media_axis *a, const media_axis_key *key);
void media_axis_free(media_axis *a);
void media_axis_trim(media_axis *a);

/* Room for the axis's outputs, of which none reads anything yet; and the part of the source that they read, once all are placed. */
int media_axis_places(media_axis *a);
void media_axis_reach(media_axis *a);

enum { MEDIA_PRECISION_BITS = 22, MEDIA_SPLIT_BITS = 11 };

/* A way to resample: along x into lines of elements that are kept, and these along y into bytes. */
typedef struct media_resampler {
    int bytes; /* of an element */
    /* Four source rows (RGBX) through the axis into four destination rows of
     * step (3 or 4) elements per pixel; each destination has slack of one pixel. */
    void (*across4)(const media_axis *a, const uint8_t *const src[4], uint8_t *const dst[4], int step);
    void (*across1)(const media_axis *a, const uint8_t *src, uint8_t *dst); /* a row of one channel */
    /* Lines of len elements, stride bytes apart, combined by output i of the axis. src is
     * the first of them; reads and writes may run past len by 31 elements, and
     * count[i] rounded up to even many lines are read. NULL: by the two below. */
    void (*down)(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                 int32_t len);
    /* Line t of output i is added to the sum, which line 0 begins; the sum becomes bytes. Of both, as above. */
    void (*add)(const media_axis *a, int32_t i, int32_t t, const uint8_t *line, void *sum, int32_t len);
    void (*round)(const media_axis *x, const media_axis *y, const void *sum, uint8_t *dst, int32_t len);
    /* Behind down: elements that it has made and that are made otherwise. NULL: none. */
    void (*mend)(const media_axis *x, const media_axis *y, int32_t i, const uint8_t *src, size_t stride,
                 uint8_t *dst, int32_t len);
} media_resampler;

/* The ways, by what a pass does. */
enum {
    MEDIA_BY_PILLOW = 0,
    MEDIA_BY_TORCH,   /* the same, of coefficients that an int16 holds */
    MEDIA_BY_NEAREST, /* and where nothing is resampled at all */
    MEDIA_BY_LINEAR,
    MEDIA_BY_HALVES,
    MEDIA_BY_CUBIC,
    MEDIA_BY_LANCZOS4,
    MEDIA_BY_AREA,
    MEDIA_BY_MEAN,
    MEDIA_WAYS,
};

extern const media_resampler media_nearest; /* in plain C */
void media_horizontal1(const media_axis *a, const uint8_t *src, uint8_t *dst);
void media_pick1(const media_axis *a, const uint8_t *src, uint8_t *dst);
void media_vertical(const media_axis *a, int32_t i, const uint8_t *src, size_t stride, uint8_t *dst,
                    int32_t len);

/* --- cv2.c --- */

/* What two of OpenCV's filters become at some sizes. */
enum {
    MEDIA_CV2_ENLARGE = 16, /* AREA where a side grows */
    MEDIA_CV2_HALVES = 17,  /* AREA and LINEAR where both sides are halved */
    MEDIA_CV2_MEAN = 18,    /* AREA where both sides are divided by whole numbers */
    MEDIA_TORCH_SMALL =
        19, /* TORCH_NEAREST_EXACT of both sides of up to 128 together, of which torch has another kernel */
};

/* The filter of both axes of a pass, from that of the op. */
int32_t media_settle(int32_t filter, const media_axis_key *x, const media_axis_key *y);

/* How a pass with that filter is done, MEDIA_BY_..., and its axis. */
int media_way(int32_t filter);
int media_cv2_axis(media_axis *a);

/* --- cv2_rows.c --- */
extern const media_resampler media_cv2_linear, media_cv2_halves, media_cv2_cubic, media_cv2_lanczos4,
    media_cv2_area, media_cv2_mean;

/* CUBIC's last elements of line i, counted as OpenCV does, which its loop over whole vectors leaves to another in whole numbers. */
void media_cv2_cubic_mend(const media_axis *x, const media_axis *y, int32_t i, const uint8_t *src,
                          size_t stride, uint8_t *dst, int32_t len);

/* --- cv2_avx2.c --- */
extern const media_resampler media_cv2_linear_avx2, media_cv2_halves_avx2, media_cv2_cubic_avx2,
    media_cv2_lanczos4_avx2, media_cv2_area_avx2, media_cv2_mean_avx2;

#endif
