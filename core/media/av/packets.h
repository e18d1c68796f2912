/* packets.h - a piece of one stream, undecoded: packets, and what the container said of their stream.
 *
 * Whatever opens a media_av_source reads such a piece as it reads a container, so that all that decodes files decodes
 * pieces. A piece is written by one thread; once whole it is read-only, and any number of threads may read it. */
#ifndef SPDL_MEDIA_PACKETS_H
#define SPDL_MEDIA_PACKETS_H

#include "av.h"

typedef struct media_packets {
    AVFormatContext *format; /* without bytes: one stream, streams[0] */
    AVPacket **packet;       /* in the order of the container */
    int64_t n, room;
    int64_t bytes;  /* of all packets */
    int64_t origin; /* of a sound's window: when the stream's first sample is heard, in its time base */
    int from_start; /* it begins with the stream's first packet */
    int whole;      /* every packet of the stream */
} media_packets;

/* None yet, of the stream that a has open. NULL when there is no memory. */
media_packets *media_packets_new(const media_av *a);
void media_packets_free(media_packets *p);

/* None yet, of a stream of which nothing is known yet. NULL when there is no memory. */
media_packets *media_packets_blank(void);

/* Of the same stream: packets [first, end), which are shared, not copied. NULL when there is no memory. */
media_packets *media_packets_slice(const media_packets *p, int64_t first, int64_t end);

/* Move a packet to the end. */
int media_packets_append(media_packets *p, AVPacket *packet);

/* Read on from where a is: at most `most` packets (0: any number), of at most `ticks` from the first one's time on (0: all).
 * held takes what was read too far, and is read first the next time. MEDIA_AV_END: nothing was left. */
int media_packets_read(media_packets *p, media_av *a, AVPacket *held, int64_t most, int64_t ticks);

/* From where decoding must start for what is on show, or heard, at start, to the last that begins before end. Both in the
 * stream's time base. a was opened and nothing read. */
int media_packets_window(media_packets *p, media_av *a, int64_t start, int64_t end);

/* The next frame of the decoder of a, which was opened fed: of packets from *next on, which is moved, or with p NULL, once all
 * pieces are through, of what the decoder still holds. MEDIA_AV_AGAIN: p is used up. A packet that does not decode is a
 * failure; the next call goes on behind it. */
int media_packets_decode(media_av *a, const media_packets *p, int64_t *next, AVFrame **frame);

/* Whether what the container calls key frames are, where their decoder does not say: of a codec that has no others, or whose parser looks, and in
 * containers that have a list of them. */
int media_packets_lists_keys(const media_av *a);

/* Whether a key packet of H.264 is but a recovery point (no IDR picture): what is shown before it, or for a while after it, may refer to
 * what was before. */
int media_packets_recovers(const AVPacket *p, const AVCodecParameters *codec);

/* Whether a decoder that enters at a key packet, be it such a one of an intra refresh, will give whole pictures when it says. FFmpeg's makes up the pictures that it
 * lacks, but not where frame numbers begin at 0 again: nothing of the packet is decoded then, and what comes is damaged without a word. */
int media_packets_recovers_from(media_av *a, const AVPacket *p);

/* Whether the colours of a packet's palette may have come with an earlier one. */
int media_packets_lacks_colours(const media_av *a, const AVPacket *packet);

/* The unit of H.264 that begins at *at in a packet or is the next behind it, in either form: behind its length, or a start code. Where its
 * first byte lies, and *at is moved behind it (of a start code's: to its first byte); -1: there is none. */
int64_t media_packets_unit(const AVPacket *p, const AVCodecParameters *codec, int64_t *at);

/* Whether H.264's header, where it lies in the container's, says that all pictures are frames, and none fields. */
int media_packets_frames_alone(const AVCodecParameters *codec);

/* Whether that header, or HEVC's or AV1's, has pictures of another size than the container says. */
int media_packets_sized_otherwise(const AVCodecParameters *codec);

/* Samples of the encoder's delay that Matroska leaves in before time 0, at its first frame's pts; FFmpeg 5 does not drop them where
 * newer ones do. */
int64_t media_av_delay_left(const media_av *a, int64_t pts, int rate);

/* For av.c: a container over the packets of a->source, and its packets. */
int media_packets_open(media_av *a);
int media_packets_next(media_av *a);
int media_packets_seek(media_av *a, int64_t ts);

#endif
