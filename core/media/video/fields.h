/* fields.h - H.264 may send the fields of a frame in packets of their own; its parser tells. */
#ifndef SPDL_MEDIA_VIDEO_FIELDS_H
#define SPDL_MEDIA_VIDEO_FIELDS_H

#include "../av/av.h"

typedef struct video_fields {
    AVCodecParserContext *parser; /* NULL: of this codec a packet is a frame */
    AVCodecContext *codec;
    const AVCodecParameters *stream;
    int open; /* the field that waits for its other; 0: none does */
} video_fields;

/* Begin with zeros; a status of av.h. It is closed whatever it says, and the stream stays until then. */
int video_fields_open(video_fields *f, const AVStream *s);
void video_fields_close(video_fields *f);

/* Whether the packet, the stream's next, is the second field of the frame that the one before began. */
int video_fields_second(video_fields *f, const AVPacket *p);

/* Whether decoding can start at a packet: at a key packet, and of H.264 not at a second field, which parsers call one, too. Less than 0: a
 * status of av.h. */
int video_fields_enters(const AVPacket *p, const AVStream *s);

#endif
