//go:build !noffmpeg

/* unpack.c - see unpack.h. */
#include "unpack.h"

#include <string.h>

#include "bits.h"

/* Start codes (ISO/IEC 14496-2, 6.2.1). */
enum { LAYER_FIRST = 0x20, LAYER_LAST = 0x2f, USER_DATA = 0xb2, PICTURE = 0xb6 };
enum { BETWEEN = 2 }; /* a B-frame's kind of picture (6.3.5) */

/* Where the first start code's last byte is, from at on; n: there is none. */
static int next_code(const uint8_t *p, int n, int at) {
    for (at += 3; at < n; at++)
        if (p[at - 3] == 0 && p[at - 2] == 0 && p[at - 1] == 1) return at;
    return n;
}

/* How many bits the time of a picture has, by the layer's header (6.2.3); 0: it ends before it says so. */
static int bits_of_times(const uint8_t *p, int n) {
    media_bits b = {p, n * 8, 0};
    uint32_t version = 1;
    media_take(&b, 1 + 8); /* random access, the kind of object */
    if (media_take(&b, 1)) {
        version = media_take(&b, 4);
        media_take(&b, 3); /* priority */
    }
    if (media_take(&b, 4) == 15) media_take(&b, 8 + 8); /* pixels' aspect */
    if (media_take(&b, 1)) {
        media_take(&b, 2 + 1);             /* chroma, low delay */
        if (media_take(&b, 1)) b.at += 79; /* buffers */
    }
    if (media_take(&b, 2) == 3 && version != 1) media_take(&b, 4); /* shape */
    media_take(&b, 1);
    const uint32_t resolution = media_take(&b, 16);
    if (b.at > b.n) return 0;
    int bits = 1;
    while (bits < 16 && resolution > 1u << bits) bits++;
    return bits;
}

static int digits(const uint8_t *p, int n, int at) {
    const int from = at;
    while (at < n && p[at] >= '0' && p[at] <= '9') at++;
    return at > from ? at : n;
}

/* Whether user data is the name by which DivX, and who packs as it does, says so: DivX503b1393p, DivX503Build1393p. */
static int says_packed(const uint8_t *p, int n) {
    static const char *const build[] = {"Build", "b"};
    if (n < 4 || memcmp(p, "DivX", 4) != 0) return 0;
    const int version = digits(p, n, 4);
    for (size_t i = 0; i < sizeof build / sizeof build[0]; i++) {
        const int size = (int)strlen(build[i]);
        if (n - version <= size || memcmp(p + version, build[i], (size_t)size) != 0) continue;
        const int end = digits(p, n, version + size);
        return end < n && p[end] == 'p';
    }
    return 0;
}

/* Whether the picture whose start code is before p has nothing (6.2.5). */
static int is_empty(const uint8_t *p, int n, int time_bits) {
    media_bits b = {p, n * 8, 0};
    media_take(&b, 2);
    while (b.at < b.n && media_take(&b, 1)) continue; /* whole seconds */
    b.at += 1 + time_bits + 1;
    return b.at < b.n && !media_take(&b, 1);
}

/* Note what headers say, up to the first picture. Where its bytes begin; n: there is none. */
static int read_headers(media_packing *k, const uint8_t *p, int n) {
    for (int at = next_code(p, n, 0); at < n; at = next_code(p, n, at + 1)) {
        const uint8_t *behind = p + at + 1;
        const int left = n - at - 1;
        if (p[at] == PICTURE) return at + 1;
        if (p[at] >= LAYER_FIRST && p[at] <= LAYER_LAST) k->time_bits = bits_of_times(behind, left);
        if (p[at] == USER_DATA) k->said |= says_packed(behind, left);
    }
    return n;
}

/* Whether the packet, of pictures that the container's parser has taken apart, is the empty one behind packed B-frames. */
static int is_left_over(media_av *a) {
    media_packing *k = &a->packing;
    const uint8_t *p = a->packet->data;
    const int n = a->packet->size, at = read_headers(k, p, n), behind_between = k->behind_between;
    if (at >= n) return 0;
    k->behind_between = p[at] >> 6 == BETWEEN;
    return behind_between && k->said && k->time_bits && is_empty(p + at, n - at, k->time_bits);
}

int media_unpack_open(media_av *a) {
    const AVCodecParameters *codec = a->stream->codecpar;
    a->packing = (media_packing){0};
    if (!a->options.unpack || codec->codec_id != AV_CODEC_ID_MPEG4) return MEDIA_AV_OK;
    const AVBitStreamFilter *f = av_bsf_get_by_name("mpeg4_unpack_bframes");
    if (!f) return MEDIA_AV_OK;
    int rc = av_bsf_alloc(f, &a->unpack);
    if (rc >= 0) rc = avcodec_parameters_copy(a->unpack->par_in, codec);
    if (rc >= 0) rc = av_bsf_init(a->unpack);
    if (rc >= 0 && codec->extradata) read_headers(&a->packing, codec->extradata, codec->extradata_size);
    return rc >= 0 ? MEDIA_AV_OK : media_av_status(a, rc, "the stream's header");
}

int media_unpack(media_av *a) {
    const int size = a->packet->size;
    if (!a->unpack) return MEDIA_AV_OK;
    if (!a->unpacked && is_left_over(a)) return MEDIA_AV_AGAIN;
    int rc = av_bsf_send_packet(a->unpack, a->packet);
    if (rc >= 0) rc = av_bsf_receive_packet(a->unpack, a->packet);
    if (rc == AVERROR(EAGAIN)) return MEDIA_AV_AGAIN;
    a->unpacked |= rc >= 0 && a->packet->size != size;
    return rc >= 0 ? MEDIA_AV_OK : media_av_status(a, rc, "reading a packet");
}

void media_unpack_flush(media_av *a) {
    if (a->unpack) av_bsf_flush(a->unpack);
    a->packing.behind_between = 0;
}
