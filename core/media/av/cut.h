/* cut.h - what a file's outermost pieces say: whether it ends before its container does, whether any were passed over, and where there is nothing
 * but samples.
 *
 * FFmpeg says that of some containers (says_truncated in av.c); of these it gives what is there, in silence, and a shorter sound or
 * video looks whole. Only what the bytes say counts: a file that ends where a recording of unknown length may end is whole. */
#ifndef SPDL_MEDIA_CUT_H
#define SPDL_MEDIA_CUT_H

#include "av.h"

/* 1: the source ends early, and detail says where; 0: nothing shows it, or the container is none of these. At the end of what FFmpeg
 * reads, or where it could open nothing. */
int media_av_cut(media_av *a);

/* Whether all that FFmpeg has read of an Ogg so far, or at the end all of it, are pages with their checksums: what is none it passes over in silence.
 * MEDIA_AV_OK, or MEDIA_AV_CORRUPT with the place. */
int media_av_lost(media_av *a, int at_end);

/* Where the samples of an open MP4 lie, in fragments or not, in rising order: how many spans, which are the caller's to free. 0: it is another
 * container, or there is something between its boxes, or there is no memory for them. */
int media_av_samples(media_av *a, media_span **spans);

#endif
