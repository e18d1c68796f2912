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

/* What the high profiles say of colours and weights. */
static void pass_high(media_bits *b) {
    const uint32_t chroma = take_number(b);
    if (chroma == 3) media_take(b, 1);
    take_number(b);
    take_number(b);
    media_take(b, 1);
    if (!media_take(b, 1)) return;
    for (int i = 0; i < (chroma == 3 ? 12 : 8); i++)
        if (media_take(b, 1)) pass_scaling_list(b, i < 6 ? 16 : 64);
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

/* frame_mbs_only_flag: whether the sequence has no fields. */
static int says_frames(const uint8_t *p, int n) {
    uint8_t unit[SPS_MOST];
    media_bits b = {unit, take_unit(unit, p, n) * 8, 0};
    media_take(&b, 8);
    const uint32_t profile = media_take(&b, 8);
    media_take(&b, 16);
    take_number(&b);
    if (is_high(profile)) pass_high(&b);
    take_number(&b);
    pass_order(&b);
    take_number(&b);
    media_take(&b, 1);
    take_number(&b);
    take_number(&b);
    return media_take(&b, 1) && b.at <= b.n;
}

int media_packets_frames_alone(const AVCodecParameters *codec) {
    const uint8_t *p = codec->extradata;
    const int size = codec->extradata_size;
    if (codec->codec_id != AV_CODEC_ID_H264 || size < 7 || p[0] != 1) return 0;
    int at = 6, all = 0;
    for (int left = p[5] & 31; left > 0; left--) {
        const int n = at + 2 <= size ? p[at] << 8 | p[at + 1] : -1;
        if (n < 4 || at + 2 + n > size || !says_frames(p + at + 2, n)) return 0;
        at += 2 + n;
        all++;
    }
    return all > 0;
}
