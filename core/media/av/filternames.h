/* filternames.h - which of FFmpeg's filters may stand in a description. */
#ifndef SPDL_MEDIA_AV_FILTERNAMES_H
#define SPDL_MEDIA_AV_FILTERNAMES_H

#include <stddef.h>

/* MEDIA_AV_OK if all filters that the text names are taken, with_ends also the inputs and outputs of a graph (graph.h); else the status, and why in detail. FFmpeg's parser opens what
 * filters open while it reads, so this comes first, and reads as that parser does. */
int media_av_filter_names(const char *text, int with_ends, char *detail, size_t detail_bytes);

#endif
