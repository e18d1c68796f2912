/* nvcuvid.h - the structures of NVIDIA's decoders that nvcuvid.c is given, as far as it looks at them. */
#ifndef FAKE_NVCUVID_H
#define FAKE_NVCUVID_H

#include "fake.h"

enum { CUVID_H264 = 4, CUVID_JPEG = 5, CUVID_VP8 = 9, CUVID_VP9 = 10 };
enum { CUVID_420 = 1 };

typedef struct cuvid_caps {
    int codec, chroma;
    unsigned depth_minus_8, zeros[3];
    uint8_t supported, n_decoders;
    uint16_t formats; /* a bit for each */
    unsigned max_width, max_height, max_blocks;
    uint16_t min_width, min_height;
    /* more, which stays as it is */
} cuvid_caps;

typedef struct cuvid_create {
    unsigned long width, height, n_surfaces;
    int codec, chroma;
    unsigned long flags, depth_minus_8, intra_only, max_width, max_height, zero;
    short area[4];
    int format, deinterlace;
    unsigned long target_width, target_height, n_outputs;
    /* more */
} cuvid_create;

typedef struct cuvid_h264 { /* fields of the parameter sets, by their names in the standard */
    int log2_max_frame_num_minus4, pic_order_cnt_type, log2_max_pic_order_cnt_lsb_minus4,
        delta_pic_order_always_zero, frame_mbs_only, direct_8x8_inference, num_ref_frames;
    uint8_t residual_colour_transform, bit_depth_luma_minus8, bit_depth_chroma_minus8, transform_bypass;
    int entropy_coding_mode, pic_order_present, num_ref_idx_l0_active_minus1, num_ref_idx_l1_active_minus1,
        weighted_pred, weighted_bipred_idc, pic_init_qp_minus26, deblocking_filter_control_present,
        redundant_pic_cnt_present, transform_8x8_mode, mbaff, constrained_intra_pred, chroma_qp_index_offset,
        second_chroma_qp_index_offset, is_reference, frame_num, order[2];
    int first_reference; /* its surface; -1: there is none */
    /* more */
} cuvid_h264;

typedef struct cuvid_picture {
    int width_blocks, height_blocks, surface, is_field, is_bottom, second_field;
    unsigned n_bytes;
    const uint8_t *bytes;
    unsigned n_slices;
    const unsigned *slices;
    int is_reference, is_intra;
    unsigned zeros[30];
    cuvid_h264 h264;
    /* more */
} cuvid_picture;

/* parameters.c: H.264's parameter sets as a packet begins with them. */
typedef struct parameters {
    uint8_t bytes[128];
    size_t n;
} parameters;

/* Write the sets of a picture; true if it refers to no other: decoding begins here. */
bool parameters_of(parameters *to, const cuvid_picture *p);

#endif
