//go:build !noffmpeg

/* av1.c - see av1.h. Sections are those of the AV1 bitstream specification, version 1.0.0 with errata 1. */
#include "av1.h"

#include <string.h>

enum { SEQUENCE_HEADER = 1, FRAME = 6 };                        /* 6.2.2 */
enum { KEY_FRAME = 0, INTRA_ONLY_FRAME = 2, SWITCH_FRAME = 3 }; /* 6.8.2 */
enum { SELECT = 2 }; /* of screen_content and integer_mv: each frame says */

typedef struct bits {
    const uint8_t *p;
    int64_t at, end; /* bits; behind the end there are zeros */
} bits;

static uint32_t take(bits *b, int n) {
    uint32_t v = 0;
    for (; n > 0; n--, b->at++) v = v << 1 | (b->at < b->end ? b->p[b->at >> 3] >> (7 - (b->at & 7)) & 1 : 0);
    return v;
}

/* An open bitstream unit: section 5.3. */
typedef struct unit {
    int type, layered;
    const uint8_t *data;
    int size;
} unit;

/* The unit at `at`; what follows it, or -1 for none that can be read. */
static int next_unit(const uint8_t *data, int size, int at, unit *u) {
    uint64_t bytes = 0;
    int head = data[at++], shift = 0, more = 1;
    u->type = head >> 3 & 15;
    u->layered = head >> 2 & 1;
    at += u->layered;
    if (!(head & 2)) return -1; /* without a size; no container has such */
    for (; more && shift < 56 && at < size; shift += 7, at++) {
        bytes |= (uint64_t)(data[at] & 127) << shift;
        more = data[at] >> 7;
    }
    if (more || at > size || bytes > (uint64_t)(size - at)) return -1;
    u->data = data + at;
    u->size = (int)bytes;
    return at + u->size;
}

/* 5.5.1, up to what frame headers need. Streams of one layer without a decoder model and frame numbers are understood. */
static void read_sequence(video_av1 *a, const unit *u) {
    bits b = {u->data, 0, (int64_t)u->size * 8};
    a->known = 0;
    take(&b, 4);             /* seq_profile, still_picture */
    if (take(&b, 1)) return; /* reduced_still_picture_header */
    if (take(&b, 1)) {       /* timing_info_present_flag */
        take(&b, 32), take(&b, 32);
        if (take(&b, 1)) { /* equal_picture_interval: a number of leading zeros, as many bits */
            int zeros = 0;
            while (b.at < b.end && !take(&b, 1)) zeros++;
            b.at += zeros;
        }
        if (take(&b, 1)) return; /* decoder_model_info_present_flag */
    }
    int delays = (int)take(&b, 1);
    if (take(&b, 5)) return; /* operating_points_cnt_minus_1 */
    take(&b, 12);
    if (take(&b, 5) > 7) take(&b, 1); /* seq_level_idx, seq_tier */
    if (delays && take(&b, 1)) take(&b, 4);
    int width_bits = (int)take(&b, 4) + 1, height_bits = (int)take(&b, 4) + 1;
    take(&b, width_bits), take(&b, height_bits);
    if (take(&b, 1)) return; /* frame_id_numbers_present_flag */
    take(&b, 7);             /* superblocks, intra tools, compound tools, warping, dual filters */
    int order = (int)take(&b, 1);
    if (order) take(&b, 2);
    a->screen_content = take(&b, 1) ? SELECT : (int)take(&b, 1);
    a->integer_mv = SELECT;
    if (a->screen_content > 0 && !take(&b, 1)) a->integer_mv = (int)take(&b, 1);
    a->order_hint_bits = order ? (int)take(&b, 3) + 1 : 0;
    a->known = b.at <= b.end;
}

/* Whether no later frame can refer to a frame, which refreshes nothing: 5.9.2, up to refresh_frame_flags. */
static int is_referred_to(const video_av1 *a, const unit *u) {
    bits b = {u->data, 0, (int64_t)u->size * 8};
    if (take(&b, 1)) return 1; /* show_existing_frame */
    int type = (int)take(&b, 2), shown = (int)take(&b, 1);
    if (!shown) take(&b, 1); /* showable_frame */
    if (type == SWITCH_FRAME || (type == KEY_FRAME && shown)) return 1;
    int resilient = (int)take(&b, 1);
    take(&b, 1); /* disable_cdf_update */
    int screen = a->screen_content == SELECT ? (int)take(&b, 1) : a->screen_content;
    if (screen && a->integer_mv == SELECT) take(&b, 1);
    take(&b, 1); /* frame_size_override_flag */
    take(&b, a->order_hint_bits);
    if (type != KEY_FRAME && type != INTRA_ONLY_FRAME && !resilient) take(&b, 3); /* primary_ref_frame */
    return take(&b, 8) != 0 || b.at > b.end;
}

void video_av1_open(video_av1 *a, const uint8_t *extradata, int size) {
    unit u;
    memset(a, 0, sizeof *a);
    if (size > 4 && next_unit(extradata, size, 4, &u) > 0 && u.type == SEQUENCE_HEADER) read_sequence(a, &u);
}

int video_av1_needed(video_av1 *a, const uint8_t *data, int size) {
    unit u;
    for (int at = 0, next; at < size; at = next) {
        next = next_unit(data, size, at, &u);
        if (next < 0 || u.layered) return size;
        if (u.type == SEQUENCE_HEADER) read_sequence(a, &u);
        if (u.type == FRAME && next == size && a->known && !is_referred_to(a, &u)) return at;
    }
    return size;
}
