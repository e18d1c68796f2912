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
/* What may be done to a row once it is cropped and resized, most of it also to a picture ahead of that (kinds in steps.go), ZOOM_OUT, IOU_CROP and from CUT on to
 * such a one alone. */
enum {
    MEDIA_DO_FLIP = 0,
    MEDIA_DO_VFLIP = 1,
    MEDIA_DO_QUARTERS = 2,
    MEDIA_DO_ROTATION = 3,
    MEDIA_DO_AFFINE = 4,
    MEDIA_DO_PERSPECTIVE = 5,
    MEDIA_DO_ELASTIC = 6,
    MEDIA_DO_AUGMENT = 7,
    MEDIA_DO_JITTER = 8,
    MEDIA_DO_DISTORT = 9,
    MEDIA_DO_PERMUTE = 10,
    MEDIA_DO_GRAY = 11,
    MEDIA_DO_BLUR = 12,
    MEDIA_DO_SOLARIZE = 13,
    MEDIA_DO_POSTERIZE = 14,
    MEDIA_DO_INVERT = 15,
    MEDIA_DO_SHARPNESS = 16,
    MEDIA_DO_AUTOCONTRAST = 17,
    MEDIA_DO_EQUALIZE = 18,
    MEDIA_DO_NOISE = 19,
    MEDIA_DO_JPEG = 20,
    MEDIA_DO_ZOOM_OUT = 21,
    MEDIA_DO_IOU_CROP = 22,
    MEDIA_DO_LIGHT = 23,
    MEDIA_DO_GAMMA = 24,
    MEDIA_DO_CV2_GRAY = 25,
    MEDIA_DO_CV2_AFFINE = 26,
    MEDIA_DO_HSV = 27,
    MEDIA_DO_RGB_SHIFT = 28,
    MEDIA_DO_CV2_JITTER = 29,
    MEDIA_DO_BOX_BLUR = 30,
    MEDIA_DO_MEDIAN = 31,
    MEDIA_DO_CV2_BLUR = 32,
    MEDIA_DO_MOTION = 33,
    MEDIA_DO_HOLES = 34,
    MEDIA_DO_CLAHE = 35,
    MEDIA_DO_TRANSPOSE = 36,
    MEDIA_DO_SHARPEN = 37,
    MEDIA_DO_EMBOSS = 38,
    MEDIA_DO_SEPIA = 39,
    MEDIA_DO_TONE_CURVE = 40,
    MEDIA_DO_DROP_CHANNELS = 41,
    MEDIA_DO_CV2_EQUALIZE = 42,
    MEDIA_DO_OPTICAL = 43,
    MEDIA_DO_GRID = 44,
    MEDIA_DO_CV2_PERSPECTIVE = 45,
    MEDIA_DO_GRID_HOLES = 46,
    MEDIA_DO_SPECKS = 47,
    MEDIA_DO_DOWNSCALE = 48,
    MEDIA_DO_REMAP = 49,
    MEDIA_DO_MULTIPLY = 50,
    MEDIA_DO_UNSHARP = 51,
    MEDIA_DO_SHUFFLE = 52,
    MEDIA_DO_MORPH = 53,
    MEDIA_DO_ISO = 54,
    MEDIA_DO_CV2_ELASTIC = 55,
    MEDIA_DO_CV2_AUTOCONTRAST = 56,
    MEDIA_DO_SALT = 57,
    MEDIA_DO_PLANCKIAN = 58,
    MEDIA_DO_ERASING = 59,
    MEDIA_DO_SHADOW = 60,
    MEDIA_DO_ADVANCED = 61,
    MEDIA_DO_DEFOCUS = 62,
    MEDIA_DO_RINGING = 63,
    MEDIA_DO_GLASS = 64,
    MEDIA_DO_ZOOM = 65,
    MEDIA_DO_FOG = 66,
    MEDIA_DO_RAIN = 67,
    MEDIA_DO_SNOW = 68,
    MEDIA_DO_FLARE = 69,
    MEDIA_DO_SHOT = 70,
    MEDIA_DO_PCA = 71,
    MEDIA_DO_CUT = 72,
    MEDIA_DO_CUT_BORDERS = 73,
    MEDIA_DO_CUT_SIDES = 74,
    MEDIA_DO_CUT_SAFELY = 75,
    MEDIA_DO_CUT_AROUND = 76,
    MEDIA_DO_CUT_RESIZED = 77,
    MEDIA_DO_RESCALE = 78,
    MEDIA_STEPS = 79,
};
enum { MEDIA_BRIGHTNESS = 0, MEDIA_CONTRAST = 1, MEDIA_SATURATION = 2, MEDIA_HUE = 3, MEDIA_JITTERS = 4 };

enum {
    MEDIA_SLACK_BYTES = 64,              /* readable past the last pixel of a source row */
    MEDIA_KEEP_BYTES = 32 * 1024 * 1024, /* a larger buffer is given back after its sample */
    MEDIA_MAX_SCANS = 500,               /* of a progressive JPEG */
    MEDIA_MAX_OPS = 16,                  /* of RAND_AUGMENT, one after the other */
    MEDIA_MAX_MIX = 8,                   /* chains of AUG_MIX, and operations of each */
    MEDIA_MAX_KERNEL = 255,              /* of a blur */
    MEDIA_MAX_TAPS = 1025,               /* of the blur of an elastic map */
    MEDIA_MAX_HOLES = 32,                /* of a row */
    MEDIA_MAX_STEPS = 64,                /* of a grid that bends a row, or whose tiles change places */
    MEDIA_MAX_SIZES = 32,                /* of RANDOM_SHORTEST */
    MEDIA_MAX_OPTIONS = 16,              /* of IOU_CROP */
    MEDIA_MAX_TILES = 64,                /* of a grid */
    MEDIA_MAX_GRIDS = 512,
    MEDIA_MAX_OBLONG = 200, /* see MEDIA_TOO_OBLONG */
    MEDIA_MAX_ORDER = 64,   /* steps of a row */
    MEDIA_MAX_AGAIN = 15,
    MEDIA_MAX_SHADOWS = 16, /* of a row */
    MEDIA_MAX_FLARES = 32,  /* circles of one, of which each ten of its radius are one more */
    MEDIA_MAX_RADIUS = 2000,
    MEDIA_MAX_WIDE = 31,    /* of a kernel that is no line */
    MEDIA_MAX_DISK = 15,    /* its radius */
    MEDIA_MAX_CORNERS = 64, /* of one of them */
    MEDIA_MAX_PARTS = 8,    /* steps from CUT on */
    MEDIA_MAX_SIDE = 16384, /* of a row, a resize, and a picture turned ahead of its crop */
};

/* From where to where a factor is drawn. */
typedef struct media_factor {
    uint32_t on; /* 0: this operation is left out */
    double low, high;
} media_factor;

/* A step that is left out unless its group's number lies in [low, high), or it is one of those that are picked. */
typedef struct media_member {
    uint32_t group; /* 0: it is in none */
    double low, high;
    uint32_t pick, of,
        which; /* so many of the group's steps are picked, of which it is number `which`; 0: it goes by the group's number */
} media_member;

/* What steps have beside their probability. Of two numbers in brackets, and of pairs of them along x and along y, one between them is drawn, whole ones with the last. */

/* A part of a picture. */
typedef struct media_crop {
    double scale[2]; /* share of the picture's area */
    double ratio[2]; /* width / height */
    uint32_t height
        [2]; /* it is so many pixels high, from one number to another, and the first ratio times as wide; zeros: by scale and ratio */
} media_crop;

/* How pixels are taken from elsewhere, and what is there where none are. */
typedef struct media_taken {
    uint32_t filter;
    uint32_t border; /* of OpenCV's: MEDIA_PAD_CONSTANT ... MEDIA_PAD_SYMMETRIC */
    uint8_t fill[4]; /* a pixel as u8 rows have it; the fourth is 1 where there is none (affine.go) */
} media_taken;

typedef struct media_center {
    uint32_t given; /* 0: the middle */
    double x, y;    /* pixels */
} media_center;

typedef struct media_rotation_step {
    double degrees[2]; /* to the left */
    uint32_t expand;   /* 1, ahead of the geometry alone: it grows until all of it is there */
    media_center center;
    media_taken by; /* NEAREST, BILINEAR or BICUBIC; here and below, but for OpenCV's */
} media_rotation_step;

typedef struct media_affine_step {
    double degrees[2]; /* to the right */
    double x, y;       /* the most to either side, as shares of width and height */
    double scale[2];
    double shear_x[2], shear_y[2]; /* degrees */
    media_center center;
    media_taken by;
} media_affine_step;

typedef struct media_perspective_step {
    double scale; /* corners move by up to this share of half the sides */
    media_taken by;
} media_perspective_step;

typedef struct media_zoom_out_step {
    double sides[2]; /* of the larger picture: its own times this */
    uint8_t fill[4];
} media_zoom_out_step;

/* A part of the picture is taken that the boxes in it decide. */
typedef struct media_iou_crop_step {
    double scale[2]; /* of each of its sides, as a share of the picture's */
    double ratio[2]; /* width / height */
    uint32_t trials, n_options;
    double options
        [MEDIA_MAX_OPTIONS]; /* least overlaps, one of which is drawn; from 1 on the picture stays as it is */
} media_iou_crop_step;

typedef struct media_elastic_step {
    double alpha[2]; /* torchvision's, along x and y */
    double sigma;    /* of the blur of how far they move; 0: none */
    media_taken by;  /* NEAREST or BILINEAR */
} media_elastic_step;

typedef struct media_augment_step {
    uint32_t kind;      /* MEDIA_RAND_AUGMENT ... MEDIA_AUG_MIX */
    uint32_t policy;    /* of AUTO_AUGMENT */
    uint32_t ops;       /* of RAND_AUGMENT and timm's: how many */
    uint32_t magnitude; /* and which of the bins */
    uint32_t bins;      /* of RAND_AUGMENT and TRIVIAL_AUGMENT_WIDE: magnitudes there are, 2 or more */
    media_taken by;
    /* Of TIMM_RAND_AUGMENT, whose magnitude is one of 10: that an operation happens, the magnitude's standard deviation, or 1: anything up to the
     * magnitude; the largest; 1: larger ones do more of all; and 1: bilinear or bicubic is drawn. */
    double happens, deviation, most;
    uint32_t uniform, increasing, any_filter;
    /* Of AUG_MIX, whose magnitude is one of the first `magnitude`: chains, operations of each, 0: one to three are drawn; of the shares; and 1:
     * brightness, colour, contrast and sharpness are left out. */
    uint32_t width, depth;
    double alpha;
    uint32_t fewer;
} media_augment_step;

/* Of those of brightness, contrast, saturation and hue that are on. */
typedef struct media_jitter_step {
    media_factor by[MEDIA_JITTERS];
} media_jitter_step;

typedef struct media_blur_step {
    double sigma[2];
    uint32_t size; /* of the kernel: odd */
} media_blur_step;

typedef struct media_noise_step {
    double mean, sigma[2]; /* of values to 255 */
} media_noise_step;

typedef struct media_jpeg_step {
    uint32_t quality[2];
    uint32_t bgr; /* 1: red and blue change places in between */
} media_jpeg_step;

typedef struct media_light_step {
    double brightness[2]; /* a share of 255, is added */
    double contrast[2];   /* values are multiplied by this */
} media_light_step;

typedef struct media_gamma_step {
    double power[2]; /* of values of 0 to 1 */
} media_gamma_step;

/* OpenCV turns, moves, scales and shears the row. */
typedef struct media_cv2_affine_step {
    double degrees[2]; /* to the left */
    double shift[2][2];
    uint32_t pixels; /* 1: the shifts are whole pixels, not shares of width and height */
    double scale[2][2];
    uint32_t fits;      /* 1: turned alone, and shrunk until all of it is there */
    uint32_t keeps;     /* 1: both sides by what x has */
    double shear[2][2]; /* degrees */
    media_taken by;     /* CV2_NEAREST or CV2_LINEAR; below, too */
} media_cv2_affine_step;

/* Hue, saturation and value, of 180, 255 and 255, or red, green and blue are shifted. */
typedef struct media_shifts_step {
    double by[3][2];
} media_shifts_step;

/* A pixel becomes the mean of those around it, or their median. */
typedef struct media_kernel_step {
    uint32_t size[2]; /* odd */
} media_kernel_step;

typedef struct media_cv2_blur_step {
    double sigma[2];
    uint32_t size[2]; /* of 0: by sigma; of an even number: one more */
} media_cv2_blur_step;

/* Pixels are the mean of those on a short way. */
typedef struct media_motion_step {
    uint32_t size[2], shifts; /* 1: it is moved in its kernel by chance */
    double angle[2];          /* degrees */
    double direction[2];      /* -1: all behind, 1: all ahead */
} media_motion_step;

/* Parts of the row become fill. */
typedef struct media_holes_step {
    uint32_t n[2];
    uint32_t pixels; /* 1: sides are whole pixels, not shares of the row's */
    double height[2], width[2];
    uint8_t fill[4];
} media_holes_step;

/* The histograms of tiles are equalized. */
typedef struct media_clahe_step {
    double limit[2];   /* times the mean: what a value counts at most */
    uint32_t tiles[2]; /* across and down */
} media_clahe_step;

/* albumentations' kernels of 3 x 3. */
typedef struct media_effect_step {
    double alpha[2];
    double by[2]; /* SHARPEN's lightness, EMBOSS's strength */
} media_effect_step;

/* Values go by a curve whose two points move by a normal number times scale. */
typedef struct media_tone_curve_step {
    double scale;
    uint32_t each; /* 1: of each channel another */
} media_tone_curve_step;

typedef struct media_drop_channels_step {
    uint32_t n[2]; /* of three */
    uint32_t fill;
} media_drop_channels_step;

/* The row is seen from aside, by normal numbers times scale. */
typedef struct media_cv2_perspective_step {
    double scale[2];
    media_taken by;
} media_cv2_perspective_step;

/* A part of each cell becomes fill. */
typedef struct media_grid_holes_step {
    double ratio;      /* of its sides */
    uint32_t cells[2]; /* down and across; 0: by unit */
    uint32_t unit[2];  /* the sides of a cell; 0: a tenth of the row's */
    uint32_t anywhere; /* 1: anywhere in its cell; else moved by shift, across and down */
    uint32_t shift[2];
    uint8_t fill[4];
} media_grid_holes_step;

/* Each pixel becomes fill with so much of a chance. */
typedef struct media_specks_step {
    double share;
    uint32_t each; /* 1: each value of a pixel by itself */
    uint8_t fill[4];
} media_specks_step;

/* The row is made so much smaller, and as large as it was, by the nearest pixel. */
typedef struct media_downscale_step {
    double scale[2];
} media_downscale_step;

/* The row is seen through a lens. */
typedef struct media_optical_step {
    double limit[2]; /* how much it bends */
    media_taken by;
} media_optical_step;

/* Cells are stretched and squeezed by 1 + limit. */
typedef struct media_grid_step {
    double limit[2];
    uint32_t steps, normalized; /* cells, 1 to MEDIA_MAX_STEPS; 1: all of the row stays there */
    media_taken by;
} media_grid_step;

/* The row is of rubber: each pixel comes from beside its place. */
typedef struct media_cv2_elastic_step {
    double alpha, sigma;
    uint32_t approximate, same,
        uniform; /* 1: 17 taps; along y as along x; numbers of -1 to 1, not normal ones */
    media_taken by;
} media_cv2_elastic_step;

typedef struct media_multiply_step {
    double by[2];
    uint32_t each, elements; /* 1: of each channel another; of each pixel another */
} media_multiply_step;

/* The row is made as much sharper as alpha says where it differs from its blur. */
typedef struct media_unsharp_step {
    uint32_t size[2], threshold; /* of the kernel; by more than this, of values to 255 */
    double sigma[2], alpha[2];   /* sigma of 0: by the size */
} media_unsharp_step;

/* Tiles change places. */
typedef struct media_shuffle_step {
    uint32_t grid[2]; /* of so many down and across, 1 to MEDIA_MAX_STEPS */
} media_shuffle_step;

/* Values become the largest of those around them, as far as an ellipse reaches. */
typedef struct media_morph_step {
    uint32_t erodes, size[2]; /* 1: the smallest; width and height */
} media_morph_step;

/* Hue and lightness get a camera's noise. */
typedef struct media_iso_step {
    double shift[2], intensity[2];
} media_iso_step;

/* Values are stretched, once a share of a hundred is cut off at both ends. */
typedef struct media_cv2_autocontrast_step {
    double cutoff;
    uint32_t even; /* 1: evenly, not by how many there are */
} media_cv2_autocontrast_step;

/* A share of the pixels becomes white, of these a share, or black. */
typedef struct media_salt_step {
    double amount[2], white[2];
} media_salt_step;

/* Colours as by a light of so many kelvin. */
typedef struct media_planckian_step {
    double kelvin[2];
    uint32_t daylight, normal; /* 1: the CIE's, not a black body's; 1: normal numbers around 6000 */
} media_planckian_step;

/* A part of so much of the row's area, and of a shape, becomes fill. */
typedef struct media_erasing_step {
    double scale[2], ratio[2]; /* width / height */
    uint8_t fill[4];
} media_erasing_step;

/* Polygons in a part of the row become darker. */
typedef struct media_shadow_step {
    double roi[4]; /* left, top, right and bottom, as shares of its sides */
    uint32_t n[2], corners;
    double intensity[2]; /* 1: black */
} media_shadow_step;

/* A bell that is longer one way than the other, turned, and pointed or flat, each number of which is multiplied by another. */
typedef struct media_advanced_step {
    uint32_t size[2]; /* odd, 3 to MEDIA_MAX_WIDE */
    double sigma_x[2], sigma_y[2];
    double angle[2]; /* degrees */
    double beta[2];  /* up to 1, or from 1 on, as often */
    double noise[2];
} media_advanced_step;

/* A disk, blurred. */
typedef struct media_defocus_step {
    uint32_t radius[2]; /* 1 to MEDIA_MAX_DISK */
    double alias[2];    /* sigma */
} media_defocus_step;

/* What is left of a pixel where light goes in waves no shorter than so much. */
typedef struct media_ringing_step {
    uint32_t size[2]; /* odd, 3 to MEDIA_MAX_WIDE */
    double cutoff[2];
} media_ringing_step;

/* Pixels change places with some near them, between two blurs. */
typedef struct media_glass_step {
    double sigma;
    uint32_t delta, times;
    uint32_t exact; /* 1: one after the other, not all at once */
} media_glass_step;

/* The mean of the row and of larger ones, step by step. */
typedef struct media_zoom_step {
    double most[2], step[2];
} media_zoom_step;

typedef struct media_fog_step {
    double intensity[2], alpha;
} media_fog_step;

/* Thin lines, blurred, and less light. */
typedef struct media_rain_step {
    double slant[2];      /* pixels to the right */
    uint32_t times, over; /* there are so many times the row's height, over a number, of them */
    uint32_t length;      /* pixels; 0: an eighth of the row's height */
    uint32_t size;        /* of the blur: odd */
    double brightness;    /* values are multiplied by it */
    uint8_t fill[4];
} media_rain_step;

/* What is darker than a point becomes so many times as light. */
typedef struct media_snow_step {
    double point[2], much;
} media_snow_step;

/* The sun, and circles on a line through it. */
typedef struct media_flare_step {
    double roi[4];   /* where the sun is: left, top, right and bottom, as shares of the row's sides */
    double angle[2]; /* of 2 pi */
    uint32_t n[2], radius;
    uint8_t fill[4];
} media_flare_step;

/* A whole number of Poisson's of what light there is, over a scale. */
typedef struct media_shot_step {
    double scale[2];
} media_shot_step;

/* What a part of a picture is resized to. */
typedef struct media_sized {
    uint32_t h, w;   /* 0: it keeps its size */
    uint32_t filter; /* of OpenCV's */
} media_sized;

/* The part from left, top to right, bottom, in pixels, as far as the picture goes. */
typedef struct media_cut_step {
    uint32_t left, top, right, bottom;
} media_cut_step;

/* Up to such a share of a side is cut off at each. */
typedef struct media_cut_borders_step {
    double left, right, top, bottom;
} media_cut_borders_step;

/* Each side moves outwards, or inwards by what is below 0. */
typedef struct media_cut_sides_step {
    double by[4][2]; /* top, right, bottom, left */
    uint32_t pixels; /* 1: whole pixels, from the first to the last, not shares of height and width */
    uint32_t same;   /* 1: one number is drawn for all, of the first range */
    uint32_t keeps;  /* 1: what comes out is resized to the size that the picture had, by taken.filter */
    media_taken taken;
} media_cut_sides_step;

/* A part that has all boxes, made smaller by a share. */
typedef struct media_cut_safely_step {
    double erosion;
    media_sized to;
} media_cut_safely_step;

/* A part of h x w that has one of the boxes, or, of a share, a part of that. */
typedef struct media_cut_around_step {
    uint32_t h, w;
    double erosion;
} media_cut_around_step;

typedef struct media_cut_resized_step {
    media_crop crop;
    media_sized to;
} media_cut_resized_step;

/* Both sides times a number, cut to whole pixels. */
typedef struct media_rescale_step {
    double by[2];
    uint32_t filter;
} media_rescale_step;

typedef struct media_remap_step {
    uint8_t table[256]; /* what each value becomes */
} media_remap_step;

/* One thing that is done to a row, or to a picture ahead of it. */
typedef struct media_step {
    uint32_t kind;     /* MEDIA_DO_ */
    uint32_t again;    /* how many of its kind come before it, up to MEDIA_MAX_AGAIN: it draws for itself */
    uint32_t by_torch; /* 1: as torchvision's v2 does it on a tensor of bytes, not on a PIL image */
    uint32_t most;     /* retouches that it may come to */
    uint32_t late;     /* written by media_op_init(), of flips: 1: it is no part of the geometry */
    double p;          /* that it is done; of those that draw no such number 1 */
    media_member member;
    union {
        media_rotation_step rotation;
        media_affine_step affine;
        media_perspective_step perspective;
        media_zoom_out_step zoom_out;
        media_iou_crop_step iou_crop;
        media_elastic_step elastic;
        media_augment_step augment;
        media_jitter_step jitter; /* and DISTORT and CV2_JITTER */
        media_blur_step blur;
        double
            number; /* SOLARIZE's threshold, POSTERIZE's bits that are left of 8, SHARPNESS's factor, PCA's alpha */
        media_noise_step noise;
        media_jpeg_step jpeg;
        media_light_step light;
        media_gamma_step gamma;
        media_cv2_affine_step cv2_affine;
        media_shifts_step shifts;
        media_kernel_step kernel;
        media_cv2_blur_step cv2_blur;
        media_motion_step motion;
        media_holes_step holes;
        media_clahe_step clahe;
        media_effect_step effect;
        media_tone_curve_step tone_curve;
        media_drop_channels_step drop_channels;
        media_cv2_perspective_step cv2_perspective;
        media_grid_holes_step grid_holes;
        media_specks_step specks;
        media_downscale_step downscale;
        media_optical_step optical;
        media_grid_step grid;
        media_cv2_elastic_step cv2_elastic;
        media_multiply_step multiply;
        media_unsharp_step unsharp;
        media_shuffle_step shuffle;
        media_morph_step morph;
        media_iso_step iso;
        media_remap_step remap;
        media_cv2_autocontrast_step cv2_autocontrast;
        media_salt_step salt;
        media_planckian_step planckian;
        media_erasing_step erasing;
        media_shadow_step shadow;
        media_advanced_step advanced;
        media_defocus_step defocus;
        media_ringing_step ringing;
        media_glass_step glass;
        media_zoom_step zoom;
        media_fog_step fog;
        media_rain_step rain;
        media_snow_step snow;
        media_flare_step flare;
        media_shot_step shot;
        media_cut_step cut;
        media_cut_borders_step cut_borders;
        media_cut_sides_step cut_sides;
        media_cut_safely_step cut_safely;
        media_cut_around_step cut_around;
        media_cut_resized_step cut_resized;
        media_rescale_step rescale;
    } of;
} media_step;

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
