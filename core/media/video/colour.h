/* colour.h - planar YUV to RGB with interpolated chroma. */
#ifndef SPDL_MEDIA_VIDEO_COLOUR_H
#define SPDL_MEDIA_VIDEO_COLOUR_H

#include "../av/av.h"

/* The frame as RGB, or as RGBX where rgbx, rows stride_bytes apart (for RGBX a multiple of 4, dst as well).
 * full_range: luma and chroma use all values. plain: no vector instructions, for comparing; the bytes are the same.
 * MEDIA_AV_UNSUPPORTED, and nothing done, for what is not planar YUV of 8 or 10 bits. */
int video_colour(const AVFrame *f, int full_range, int rgbx, int plain, uint8_t *dst, size_t stride_bytes);

#endif
