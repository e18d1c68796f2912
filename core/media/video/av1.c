//go:build !noffmpeg

/* av1.c - see av1.h. Sections are those of the AV1 bitstream specification, version 1.0.0 with errata 1. */
#include "av1.h"

#include <string.h>

enum {
    SEQUENCE_HEADER = 1,
    FRAME_HEADER = 3,
    TILE_GROUP = 4,
    FRAME = 6,
    REPEATED_HEADER = 7,
    TILE_LIST = 8
};                                                              /* 6.2.2 */
enum { KEY_FRAME = 0, INTRA_ONLY_FRAME = 2, SWITCH_FRAME = 3 }; /* 6.8.2 */
enum { SELECT = 2 }; /* of screen_content and integer_mv: each frame says */
enum { ALL = 255 };  /* of the eight slots that frames are kept in */

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

/* A frame header: section 5.9.2, up to ref_frame_idx. 0: it has something that is not understood here. */
static int read_frame(video_av1 *a, const unit *u, video_av1_frame *f) {
    bits b = {u->data, 0, (int64_t)u->size * 8};
    if (take(&b, 1)) { /* show_existing_frame */
        int slot = 1 << take(&b, 3);
        f->uses = (uint8_t)slot;
        f->shown = 1;
        if (a->hidden_keys & slot)
            f->refreshes = a->hidden_keys = ALL; /* a key frame that is shown late begins anew: 7.21 */
        return b.at <= b.end;
    }
    int type = (int)take(&b, 2);
    f->shown = (uint8_t)take(&b, 1);
    if (!f->shown) take(&b, 1); /* showable_frame */
    int resilient = type == SWITCH_FRAME || (type == KEY_FRAME && f->shown) || take(&b, 1);
    take(&b, 1); /* disable_cdf_update */
    int screen = a->screen_content == SELECT ? (int)take(&b, 1) : a->screen_content;
    if (screen && a->integer_mv == SELECT) take(&b, 1);
    if (type != SWITCH_FRAME) take(&b, 1); /* frame_size_override_flag */
    take(&b, a->order_hint_bits);
    int intra = type == KEY_FRAME || type == INTRA_ONLY_FRAME;
    if (!intra && !resilient) take(&b, 3); /* primary_ref_frame: one of those below */
    f->refreshes = type == SWITCH_FRAME || (type == KEY_FRAME && f->shown) ? ALL : (uint8_t)take(&b, 8);
    a->hidden_keys &= (uint8_t)~f->refreshes;
    if (type == KEY_FRAME) a->hidden_keys |= f->shown ? 0 : f->refreshes;
    if (intra) return b.at <= b.end;
    if (resilient || (a->order_hint_bits &&
                      take(&b, 1))) /* frame_refs_short_signaling: what it refers to follows from all */
        f->uses = ALL;
    else
        for (int i = 0; i < 7; i++) f->uses |= (uint8_t)(1 << take(&b, 3));
    return b.at <= b.end;
}

void video_av1_open(video_av1 *a, const uint8_t *extradata, int size) {
    unit u;
    memset(a, 0, sizeof *a);
    if (size > 4 && next_unit(extradata, size, 4, &u) > 0 && u.type == SEQUENCE_HEADER) read_sequence(a, &u);
}

int video_av1_frames(video_av1 *a, const uint8_t *data, int size, video_av1_frame *frames, int room) {
    unit u;
    int n = 0, heads = 0;
    for (int at = 0, next; at < size; at = next) {
        next = next_unit(data, size, at, &u);
        if (next < 0 || u.layered) return -1;
        heads |= u.type == SEQUENCE_HEADER;
        if (u.type == SEQUENCE_HEADER) read_sequence(a, &u);
        if (u.type == FRAME || u.type == FRAME_HEADER) {
            if (!a->known || n == room) return -1;
            memset(&frames[n], 0, sizeof frames[n]);
            frames[n].at = at;
            frames[n].heads = (uint8_t)heads;
            if (!read_frame(a, &u, &frames[n++])) return -1;
        }
        if (u.type == TILE_LIST || (u.type == TILE_GROUP && n == 0)) return -1;
        if (u.type == FRAME || u.type == FRAME_HEADER || u.type == TILE_GROUP || u.type == REPEATED_HEADER)
            if (n > 0) frames[n - 1].end = next;
    }
    return n;
}

int video_av1_mark(video_av1_frame *frames, int n, const uint8_t *want) {
    unsigned live = 0; /* slots that a needed frame behind this one is predicted from */
    for (int i = n - 1; i >= 0; i--) {
        video_av1_frame *f = &frames[i];
        f->needed = (f->shown && want[f->packet] == 1) || f->refreshes & live;
        if (f->needed) live = (live & ~(unsigned)f->refreshes) | f->uses;
    }
    return n > 0 && frames[0].shown && frames[0].refreshes == ALL && !live;
}
