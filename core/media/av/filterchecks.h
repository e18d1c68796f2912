/* filterchecks.h - whether a graph of filters keeps within time and memory. */
#ifndef SPDL_MEDIA_AV_FILTERCHECKS_H
#define SPDL_MEDIA_AV_FILTERCHECKS_H

#include <libavfilter/avfilter.h>
#include <stddef.h>
#include <stdint.h>

/* MEDIA_AV_OK if every filter comes to an end when its input does; else the status, and why in detail. */
int media_av_filter_ends(const AVFilterGraph *graph, char *detail, size_t detail_bytes);

/* MEDIA_AV_OK if no picture between two filters of a graph that is configured has more pixels (0: any); else as above. */
int media_av_filter_sizes(const AVFilterGraph *graph, uint64_t max_pixels, char *detail, size_t detail_bytes);

#endif
