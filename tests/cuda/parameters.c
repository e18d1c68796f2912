/* parameters.c - H.264's parameter sets, written again from what a device is told of them.
 *
 * What the device is not told is taken as encoders commonly have it: one set of each kind, numbered 0, no scaling lists, no cropping, and
 * the order of pictures not of kind 1. */
#include "nvcuvid.h"

typedef struct bits {
    parameters *to;
    unsigned n, zeros; /* bits of the unit so far; zero bytes at its end */
    uint8_t byte;
} bits;

static void put_byte(bits *b, uint8_t byte) {
    if (b->zeros >= 2 && byte <= 3) { /* three such would look like the beginning of a unit */
        b->to->bytes[b->to->n++] = 3;
        b->zeros = 0;
    }
    b->zeros = byte == 0 ? b->zeros + 1 : 0;
    b->to->bytes[b->to->n++] = byte;
}

static void put(bits *b, unsigned value, unsigned n) {
    while (n-- > 0) {
        b->byte = (uint8_t)(b->byte << 1 | (value >> n & 1));
        if (++b->n % 8 == 0) put_byte(b, b->byte);
    }
}

static void put_ue(bits *b, int value) {
    unsigned v = (unsigned)value + 1, n = 31 - (unsigned)__builtin_clz(v);
    put(b, 0, n);
    put(b, v, n + 1);
}

static void put_se(bits *b, int value) { put_ue(b, value > 0 ? 2 * value - 1 : -2 * value); }

static bits begin(parameters *to, uint8_t header) {
    static const uint8_t start[] = {0, 0, 0, 1};
    for (int i = 0; i < 4; i++) to->bytes[to->n++] = start[i];
    to->bytes[to->n++] = header;
    return (bits){.to = to};
}

static void end(bits *b) {
    put(b, 1, 1);
    while (b->n % 8) put(b, 0, 1);
}

static void put_sequence(parameters *to, const cuvid_picture *p) {
    const cuvid_h264 *h = &p->h264;
    bits b = begin(to, 0x67);
    put(&b, 100, 8); /* High */
    put(&b, 0, 8);
    put(&b, 62, 8); /* the highest level */
    put_ue(&b, 0);
    put_ue(&b, CUVID_420);
    put_ue(&b, h->bit_depth_luma_minus8);
    put_ue(&b, h->bit_depth_chroma_minus8);
    put(&b, h->transform_bypass, 1);
    put(&b, 0, 1); /* no scaling lists */
    put_ue(&b, h->log2_max_frame_num_minus4);
    put_ue(&b, h->pic_order_cnt_type);
    if (h->pic_order_cnt_type == 0) put_ue(&b, h->log2_max_pic_order_cnt_lsb_minus4);
    put_ue(&b, h->num_ref_frames);
    put(&b, 0, 1); /* no gaps in the numbers of frames */
    put_ue(&b, p->width_blocks - 1);
    put_ue(&b, p->height_blocks / (h->frame_mbs_only ? 1 : 2) - 1);
    put(&b, (unsigned)h->frame_mbs_only, 1);
    if (!h->frame_mbs_only) put(&b, (unsigned)h->mbaff, 1);
    put(&b, (unsigned)h->direct_8x8_inference, 1);
    put(&b, 0, 2); /* no cropping, nothing on how to show it */
    end(&b);
}

static void put_picture(parameters *to, const cuvid_h264 *h) {
    bits b = begin(to, 0x68);
    put_ue(&b, 0);
    put_ue(&b, 0);
    put(&b, (unsigned)h->entropy_coding_mode, 1);
    put(&b, (unsigned)h->pic_order_present, 1);
    put_ue(&b, 0);
    put_ue(&b, h->num_ref_idx_l0_active_minus1);
    put_ue(&b, h->num_ref_idx_l1_active_minus1);
    put(&b, (unsigned)h->weighted_pred, 1);
    put(&b, (unsigned)h->weighted_bipred_idc, 2);
    put_se(&b, h->pic_init_qp_minus26);
    put_se(&b, 0);
    put_se(&b, h->chroma_qp_index_offset);
    put(&b, (unsigned)h->deblocking_filter_control_present, 1);
    put(&b, (unsigned)h->constrained_intra_pred, 1);
    put(&b, (unsigned)h->redundant_pic_cnt_present, 1);
    put(&b, (unsigned)h->transform_8x8_mode, 1);
    put(&b, 0, 1); /* no scaling lists */
    put_se(&b, h->second_chroma_qp_index_offset);
    end(&b);
}

bool parameters_of(parameters *to, const cuvid_picture *p) {
    to->n = 0;
    put_sequence(to, p);
    put_picture(to, &p->h264);
    return p->h264.first_reference < 0 && p->is_intra && !p->second_field;
}
