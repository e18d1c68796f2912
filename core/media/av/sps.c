//go:build !noffmpeg

/* sps.c - what H.264 (ISO/IEC 14496-10, 7.3.2.1.1), HEVC (ISO/IEC 23008-2, 7.3.2.2) and AV1 (its specification, 5.5) say of a whole sequence, in its
 * header where that lies in the container's. */
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

/* H.264's, behind six bytes of avcC (ISO/IEC 14496-15, 5.3.3.1). 0: there is none that can be read. */
static int sequence_of_avc(const uint8_t *p, int size, sequence *s) {
    if (size < 12 || p[0] != 1 || !(p[5] & 31)) return 0;
    const int n = p[6] << 8 | p[7];
    return n >= 4 && 8 + n <= size && read_sequence(p + 8, n, s);
}

/* Profile, tier and level, of the whole and of its layers in time (7.3.3). */
static void pass_profile(media_bits *b, int more_layers) {
    enum { PROFILE_BITS = 88, LEVEL_BITS = 8, MOST_LAYERS = 8 };
    uint32_t profiles = 0, levels = 0;
    b->at += PROFILE_BITS + LEVEL_BITS;
    for (int i = 0; i < more_layers; i++) {
        profiles += media_take(b, 1);
        levels += media_take(b, 1);
    }
    if (more_layers > 0) b->at += 2 * (MOST_LAYERS - more_layers);
    b->at += (int)(PROFILE_BITS * profiles + LEVEL_BITS * levels);
}

static int read_hevc(const uint8_t *p, int n, sequence *s) {
    uint8_t unit[SPS_MOST];
    media_bits b = {unit, take_unit(unit, p, n) * 8, 0};
    media_take(&b, 16 + 4);
    const int more_layers = (int)media_take(&b, 3);
    media_take(&b, 1);
    pass_profile(&b, more_layers);
    take_number(&b);
    const uint32_t chroma = take_number(&b);
    if (chroma == 3) media_take(&b, 1);
    s->width = take_number(&b);
    s->height = take_number(&b);
    if (media_take(&b, 1)) {
        const int64_t x = chroma == 1 || chroma == 2 ? 2 : 1, y = chroma == 1 ? 2 : 1;
        s->width -= x * take_number(&b);
        s->width -= x * take_number(&b);
        s->height -= y * take_number(&b);
        s->height -= y * take_number(&b);
    }
    return b.at <= b.n;
}

/* HEVC's first of the base layer, in the arrays of units of hvcC (ISO/IEC 14496-15, 8.3.3.1). */
static int sequence_of_hevc(const uint8_t *p, int size, sequence *s) {
    enum { HEAD = 23, SEQUENCE = 33 };
    if (size < HEAD || p[0] != 1) return 0;
    int at = HEAD;
    for (int arrays = p[HEAD - 1]; arrays > 0 && at + 3 <= size; arrays--) {
        const int kind = p[at] & 63;
        int units = p[at + 1] << 8 | p[at + 2];
        for (at += 3; units > 0 && at + 2 <= size; units--) {
            const int n = p[at] << 8 | p[at + 1];
            at += 2;
            if (at + n > size) return 0;
            if (kind == SEQUENCE && n > 2 && !(p[at] & 1) && !(p[at + 1] >> 3))
                return read_hevc(p + at, n, s);
            at += n;
        }
    }
    return 0;
}

/* Clock and decoder's model (5.5.3, 5.5.4): how many bits a delay of that has; 0: there is none. */
static int pass_timing(media_bits *b) {
    if (!media_take(b, 1)) return 0;
    media_take(b, 32);
    media_take(b, 32);
    if (media_take(b, 1)) take_number(b);
    if (!media_take(b, 1)) return 0;
    const int delay = (int)media_take(b, 5) + 1;
    media_take(b, 32);
    media_take(b, 5 + 5);
    return delay;
}

/* The largest frame (5.5.1). */
static int read_av1(const uint8_t *p, int n, sequence *s) {
    media_bits b = {p, n * 8, 0};
    media_take(&b, 3 + 1);
    if (media_take(&b, 1)) {
        media_take(&b, 5);
    } else {
        const int delay = pass_timing(&b);
        const uint32_t delayed = media_take(&b, 1);
        for (uint32_t points = media_take(&b, 5) + 1; points > 0; points--) {
            media_take(&b, 12);
            if (media_take(&b, 5) > 7) media_take(&b, 1);
            if (delay && media_take(&b, 1)) b.at += 2 * delay + 1;
            if (delayed && media_take(&b, 1)) media_take(&b, 4);
        }
    }
    const int width_bits = (int)media_take(&b, 4) + 1, height_bits = (int)media_take(&b, 4) + 1;
    s->width = (int64_t)media_take(&b, width_bits) + 1;
    s->height = (int64_t)media_take(&b, height_bits) + 1;
    return b.at <= b.n;
}

/* AV1's, in the units behind four bytes of av1C (AV1 in ISOBMFF, 2.3.3). */
static int sequence_of_av1(const uint8_t *p, int size, sequence *s) {
    enum { SEQUENCE = 1 };
    if (size < 4 || p[0] != 0x81) return 0;
    for (int at = 4; at < size;) {
        const int kind = p[at] >> 3 & 15, extended = p[at] >> 2 & 1, sized = p[at] >> 1 & 1;
        int64_t n = 0;
        at += 1 + extended;
        for (int i = 0; sized && i < 8 && at < size; i++) {
            n |= (int64_t)(p[at] & 127) << 7 * i;
            if (!(p[at++] & 128)) break;
        }
        if (!sized) n = size - at;
        if (n < 0 || n > size - at) return 0;
        if (kind == SEQUENCE) return read_av1(p + at, (int)n, s);
        at += (int)n;
    }
    return 0;
}

int media_packets_sized_otherwise(const AVCodecParameters *codec) {
    int (*read)(const uint8_t *, int, sequence *) = codec->codec_id == AV_CODEC_ID_H264   ? sequence_of_avc
                                                    : codec->codec_id == AV_CODEC_ID_HEVC ? sequence_of_hevc
                                                    : codec->codec_id == AV_CODEC_ID_AV1  ? sequence_of_av1
                                                                                          : NULL;
    sequence s;
    return read && read(codec->extradata, codec->extradata_size, &s) &&
           (s.width != codec->width || s.height != codec->height);
}
