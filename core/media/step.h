/* step.h - what may be done to a row, or to a picture ahead of it: the kinds of steps and the numbers of each.
 *
 * A step is compiled once and is read-only then, as the op that it is in (row.h). What is drawn for a row is not in it. */
#ifndef SPDL_MEDIA_STEP_H
#define SPDL_MEDIA_STEP_H

#include <stdint.h>

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
    MEDIA_DO_PIECEWISE = 79,
    MEDIA_STEPS = 80,
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
    MEDIA_MAX_POINTS = 128,              /* of a grid by whose points a row is pulled */
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

/* Each pixel goes with the points of a grid that are near. */
typedef struct media_piecewise_step {
    double scale[2];              /* how far points move, normal numbers times it over 3 */
    uint32_t rows[2], columns[2]; /* 2 to MEDIA_MAX_STEPS, together MEDIA_MAX_POINTS points at most */
    uint32_t pixels;              /* 1: scale is in pixels; 0: in shares of the shorter side */
    media_taken by;
} media_piecewise_step;

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
        media_piecewise_step piecewise;
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

#endif
