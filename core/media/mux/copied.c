//go:build !noffmpeg

/* copied.c - codecs' headers where a stream is copied into a container that has no place for them but the packets.
 *
 * Muxers of FFmpeg's ask for a filter where they need one (check_bitstream): those of MPEG-TS and of bare H.264 and HEVC have lengths made start
 * codes. Those below do not, and what they write has no header then, which no reader reads. */
#define _GNU_SOURCE /* memmem */
#include "mux.h"

#include <stdio.h>
#include <string.h>

#include <libavutil/avstring.h>

#define PROGRAM_STREAMS "mpeg,vcd,svcd,dvd,vob"

static const struct {
    const char *muxers; /* with commas */
    enum AVCodecID codec;
    const char *filter; /* makes lengths start codes, and has the header in the packets; NULL: FFmpeg does */
    int leads;          /* headers that are in start codes are led in here */
} headless[] = {
    {"mpegts," PROGRAM_STREAMS ",m4v", AV_CODEC_ID_MPEG4, NULL, 1},
    {PROGRAM_STREAMS, AV_CODEC_ID_H264, "h264_mp4toannexb", 1},
    {PROGRAM_STREAMS, AV_CODEC_ID_HEVC, "hevc_mp4toannexb", 1},
    {"h264", AV_CODEC_ID_H264, NULL, 1},
    {"hevc", AV_CODEC_ID_HEVC, NULL, 1},
    {"avi", AV_CODEC_ID_H264, "h264_mp4toannexb", 0},
};

/* The row of them; -1: there is none. */
static int row(const AVOutputFormat *to, enum AVCodecID codec) {
    for (int i = 0; i < (int)(sizeof headless / sizeof *headless); i++)
        if (headless[i].codec == codec && av_match_name(to->name, headless[i].muxers)) return i;
    return -1;
}

/* avcC and hvcC begin with their version, start codes with zeros. */
static int has_lengths(const AVCodecParameters *codec) {
    return codec->codec_id != AV_CODEC_ID_MPEG4 && codec->extradata_size > 0 && codec->extradata[0] == 1;
}

const char *media_mux_needs(const AVOutputFormat *to, const AVCodecParameters *codec, const char *filters,
                            char *text, size_t size) {
    const int i = row(to, codec->codec_id);
    const char *needed = i >= 0 && has_lengths(codec) ? headless[i].filter : NULL;
    if (!needed) return filters;
    const int n = snprintf(text, size, "%s%s%s", filters ? filters : "", filters ? "," : "", needed);
    return n >= 0 && (size_t)n < size ? text : filters;
}

int media_mux_leads(const AVOutputFormat *to, const AVCodecParameters *codec) {
    const int i = row(to, codec->codec_id);
    return i >= 0 && headless[i].leads && codec->extradata_size > 0 && !has_lengths(codec);
}

int media_mux_lead(const AVCodecParameters *codec, AVPacket *packet) {
    const size_t header = (size_t)codec->extradata_size;
    if (!(packet->flags & AV_PKT_FLAG_KEY) ||
        memmem(packet->data, (size_t)packet->size, codec->extradata, header) != NULL)
        return 0;
    const int size = packet->size;
    int rc = av_grow_packet(packet, (int)header); /* a copy, where others share its bytes */
    if (rc < 0) return rc;
    memmove(packet->data + header, packet->data, (size_t)size);
    memcpy(packet->data, codec->extradata, header);
    return 0;
}
