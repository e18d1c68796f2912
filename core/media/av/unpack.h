/* unpack.h - B-frames of MPEG-4 as DivX packed them for AVI: the first is in the packet of the picture that follows it on the screen, so all are
 * one packet early, and behind the last comes a picture without anything (vop_coded 0), which makes up the number of packets.
 *
 * FFmpeg's filter mpeg4_unpack_bframes takes such packets apart and leaves the empty ones out. Containers whose packets are parsed (ASF,
 * transport streams, none at all) have them apart already, and the filter, which knows the empty ones by the packets, leaves those in. */
#ifndef SPDL_MEDIA_AV_UNPACK_H
#define SPDL_MEDIA_AV_UNPACK_H

#include "av.h"

/* For av.c, with the option unpack: after the container is open, whether or not the stream is MPEG-4; MEDIA_AV_OK or a failure. */
int media_unpack_open(media_av *a);

/* Make a->packet the packet with its first picture alone, or with the second of the one before. MEDIA_AV_AGAIN: there is none, read on. */
int media_unpack(media_av *a);

/* Forget the packets read so far, as a seek is to. */
void media_unpack_flush(media_av *a);

#endif
