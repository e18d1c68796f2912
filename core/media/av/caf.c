//go:build !noffmpeg

/* caf.c - where FLAC's frames lie in the time of a CAF. */
#include <string.h>

#include "av.h"
#include "bits.h"

enum { SYNC = 0x7ffc, SYNC_BITS = 15 };

/* How many bytes a number has whose first byte begins with so many ones (RFC 9639, 9.1.5). */
static int coded_bytes(const media_bits *b) {
    media_bits first = *b;
    int ones = 0;
    while (ones < 7 && media_take(&first, 1)) ones++;
    return ones < 2 ? 1 : ones;
}

/* The samples of a frame, for each channel, by its header (RFC 9639, 9.1); 0: it has none. */
static int64_t samples_of(const AVPacket *p) {
    media_bits b = {p->data, p->size > 16 ? 16 * 8 : p->size * 8, 0};
    if (media_take(&b, SYNC_BITS) != SYNC) return 0;
    media_take(&b, 1);
    const uint32_t size = media_take(&b, 4);
    media_take(&b, 12);
    for (int n = coded_bytes(&b); n > 0; n--) media_take(&b, 8);
    switch (size) {
    case 0: return 0;
    case 1: return 192;
    case 6: return (int64_t)media_take(&b, 8) + 1;
    case 7: return (int64_t)media_take(&b, 16) + 1;
    default: return size < 6 ? 144 << size : 1 << size;
    }
}

void media_av_count_samples(media_av *a) {
    AVPacket *p = a->packet;
    const AVCodecParameters *codec = a->stream->codecpar;
    if (a->heard < 0 || codec->codec_id != AV_CODEC_ID_FLAC || !a->format->iformat ||
        strcmp(a->format->iformat->name, "caf") != 0)
        return;
    const AVRational sample = {1, codec->sample_rate};
    const int64_t samples = samples_of(p);
    p->pts = p->dts = av_rescale_q(a->heard, sample, a->stream->time_base);
    p->duration = av_rescale_q(a->heard + samples, sample, a->stream->time_base) - p->pts;
    a->heard = samples > 0 ? a->heard + samples : -1;
}
