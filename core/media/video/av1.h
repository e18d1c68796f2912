/* av1.h - which frames of AV1 nothing refers to: FFmpeg's skip_frame does not reach the decoder of AV1. */
#ifndef SPDL_MEDIA_VIDEO_AV1_H
#define SPDL_MEDIA_VIDEO_AV1_H

#include <stdint.h>

/* What a sequence header says that frame headers depend on. */
typedef struct video_av1 {
    int known; /* there was a header, of the kind that is understood here */
    int screen_content, integer_mv;
    int order_hint_bits;
} video_av1;

/* Look for a sequence header in a stream's `extradata` (av1C); where there is none the first key frame has it. */
void video_av1_open(video_av1 *a, const uint8_t *extradata, int size);

/* How many bytes of a packet (a temporal unit) are to be decoded where the frame that it shows is not wanted: all, or those before a
 * frame that no other refers to; 0: none. */
int video_av1_needed(video_av1 *a, const uint8_t *data, int size);

#endif
