/* av1.h - what each frame of AV1 is predicted from, by its header: FFmpeg's skip_frame does not reach the decoder of AV1. */
#ifndef SPDL_MEDIA_VIDEO_AV1_H
#define SPDL_MEDIA_VIDEO_AV1_H

#include <stdint.h>

/* What headers say that those of later frames depend on. */
typedef struct video_av1 {
    int known; /* there was a sequence header, of the kind that is understood here */
    int screen_content, integer_mv;
    int order_hint_bits;
    uint8_t hidden_keys; /* slots with a key frame that was not shown */
} video_av1;

/* A frame, or the showing of one that was decoded before. A decoder keeps frames in eight slots, here a bit each. */
typedef struct video_av1_frame {
    int32_t packet;
    int32_t at, end;         /* its bytes of that packet */
    uint8_t uses, refreshes; /* slots that it is predicted from, and those that it is then in */
    uint8_t shown, needed;
    uint8_t heads; /* whether a sequence header is in front of it in the packet */
} video_av1_frame;

/* Look for a sequence header in a stream's `extradata` (av1C); where there is none the first key frame has it. */
void video_av1_open(video_av1 *a, const uint8_t *extradata, int size);

/* The frames of a packet (a temporal unit), as many as `room`; -1: more, or something that is not understood here. Packets come in their
 * order. `packet` and `needed` are left 0. */
int video_av1_frames(video_av1 *a, const uint8_t *data, int size, video_av1_frame *frames, int room);

/* Mark the frames that those shown by packets with want 1 are made of. 0: they need more than begins with the first frame, a key frame. */
int video_av1_mark(video_av1_frame *frames, int n, const uint8_t *want);

#endif
