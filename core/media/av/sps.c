//go:build !noffmpeg

/* sps.c - what H.264 says of a whole sequence, in its header (ISO/IEC 14496-10, 7.3.2.1.1). */
#include "bits.h"
#include "packets.h"

enum { SPS_MOST = 1024 };

/* A unit's bytes, without those that only keep start codes out of it; how many. */
static int take_unit(uint8_t to[SPS_MOST], const uint8_t *p, int n) {
    int kept = 0, zeros = 0;
    for (int i = 0; i < n && kept < SPS_MOST; i++) {
        if (zeros >= 2 && p[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = p[i] ? 0 : zeros + 1;
        to[kept++] = p[i];
    }
    return kept;
}

/* A number behind as many zeros as it has bits, less one (9.1). */
static uint32_t take_number(media_bits *b) {
    int zeros = 0;
    while (zeros < 32 && b->at < b->n && !media_take(b, 1)) zeros++;
    return zeros < 32 ? (1u << zeros) - 1 + media_take(b, zeros) : UINT32_MAX;
}

static int32_t take_signed(media_bits *b) {
    const uint32_t v = take_number(b);
    return v & 1 ? (int32_t)(v / 2 + 1) : -(int32_t)(v / 2);
}

static void pass_scaling_list(media_bits *b, int n) {
    int32_t last = 8, next = 8;
    for (int i = 0; i < n && next && b->at < b->n; i++) {
        next = (last + take_signed(b) % 256 + 256) % 256;
        if (next) last = next;
    }
}

/* What the high profiles say of colours and weights: ChromaArrayType, which is 0 of grey and of planes that are coded apart. */
static uint32_t read_high(media_bits *b) {
    const uint32_t chroma = take_number(b);
    const uint32_t apart = chroma == 3 ? media_take(b, 1) : 0;
    take_number(b);
    take_number(b);
    media_take(b, 1);
    for (int i = 0, lists = media_take(b, 1) ? (chroma == 3 ? 12 : 8) : 0; i < lists; i++)
        if (media_take(b, 1)) pass_scaling_list(b, i < 6 ? 16 : 64);
    return apart ? 0 : chroma;
}

static int is_high(uint32_t profile) {
    static const uint8_t high[] = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135};
    for (size_t i = 0; i < sizeof high; i++)
        if (profile == high[i]) return 1;
    return 0;
}

static void pass_order(media_bits *b) {
    const uint32_t kind = take_number(b);
    if (kind == 0) take_number(b);
    if (kind != 1) return;
    media_take(b, 1);
    take_signed(b);
    take_signed(b);
    for (uint32_t n = take_number(b); n > 0 && b->at < b->n; n--) take_signed(b);
}

typedef struct sequence {
    int frames_alone;      /* frame_mbs_only_flag: it has no fields */
    int64_t width, height; /* of its pictures, cropped (7.4.2.1.1) */
} sequence;

/* 0: there is none that can be read. */
static int read_sequence(const uint8_t *p, int n, sequence *s) {
    uint8_t unit[SPS_MOST];
    media_bits b = {unit, take_unit(unit, p, n) * 8, 0};
    media_take(&b, 8);
    const uint32_t profile = media_take(&b, 8);
    media_take(&b, 16);
    take_number(&b);
    const uint32_t chroma = is_high(profile) ? read_high(&b) : 1;
    take_number(&b);
    pass_order(&b);
    take_number(&b);
    media_take(&b, 1);
    s->width = 16 * ((int64_t)take_number(&b) + 1);
    s->height = 16 * ((int64_t)take_number(&b) + 1);
    s->frames_alone = (int)media_take(&b, 1);
    if (b.at > b.n) return 0;
    if (!s->frames_alone) {
        media_take(&b, 1);
        s->height *= 2;
    }
    media_take(&b, 1);
    if (media_take(&b, 1)) {
        const int64_t x = chroma == 1 || chroma == 2 ? 2 : 1,
                      y = (chroma == 1 ? 2 : 1) * (s->frames_alone ? 1 : 2);
        s->width -= x * take_number(&b);
        s->width -= x * take_number(&b);
        s->height -= y * take_number(&b);
        s->height -= y * take_number(&b);
    }
    return b.at <= b.n;
}

int media_packets_frames_alone(const AVCodecParameters *codec) {
    const uint8_t *p = codec->extradata;
    const int size = codec->extradata_size;
    if (codec->codec_id != AV_CODEC_ID_H264 || size < 7 || p[0] != 1) return 0;
    int at = 6, all = 0;
    for (int left = p[5] & 31; left > 0; left--) {
        const int n = at + 2 <= size ? p[at] << 8 | p[at + 1] : -1;
        sequence s;
        if (n < 4 || at + 2 + n > size || !read_sequence(p + at + 2, n, &s) || !s.frames_alone) return 0;
        at += 2 + n;
        all++;
    }
    return all > 0;
}

int media_packets_sized_otherwise(const AVCodecParameters *codec) {
    const uint8_t *p = codec->extradata;
    if (codec->codec_id != AV_CODEC_ID_H264 || codec->extradata_size < 12 || p[0] != 1 || !(p[5] & 31))
        return 0;
    const int n = p[6] << 8 | p[7];
    sequence s;
    return n >= 4 && 8 + n <= codec->extradata_size && read_sequence(p + 8, n, &s) &&
           (s.width != codec->width || s.height != codec->height);
}
