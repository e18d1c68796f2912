/* video.h - chosen frames of one video, each group of pictures entered once.
 *
 * A packet's number in decode order is its name here: it rides through the decoder in place of the timestamp, so that a
 * frame is known whatever the file says about time. The caller (Go) looks at the packets of a scan, marks those whose
 * frames it wants, groups them into runs that start at a key frame, and takes the frames one by one. */
#ifndef SPDL_MEDIA_VIDEO_H
#define SPDL_MEDIA_VIDEO_H

#include "../av/packets.h"

/* Flags of a packet. SECOND: the second field of the frame whose first is the packet before. BETWEEN: a B-frame of MPEG-1, 2 or 4,
 * shown when it is decoded. SUSPECT: the container missed something before or in it. PALETTE: it brings the colours of its picture and of
 * those after it. */
enum {
    VIDEO_KEY = 1,
    VIDEO_DISCARD = 2,
    VIDEO_HOLE = 4,
    VIDEO_SECOND = 8,
    VIDEO_BETWEEN = 16,
    VIDEO_SUSPECT = 32,
    VIDEO_PALETTE = 64
};

/* What the index keeps of a packet; an array of them in decode order is also what the cache on disk holds. */
typedef struct video_packet {
    int64_t pts, dts, pos; /* INT64_MIN: none */
    int64_t duration;      /* 0: none */
    int32_t size;
    uint32_t flags;
} video_packet;

/* Decode [key, last] for the wanted frames among them. */
typedef struct video_run {
    int32_t key, last;
} video_run;

/* What is known of the stream before a frame is decoded. */
typedef struct video_stream {
    int32_t number; /* of the stream in the file */
    int32_t width, height;
    int32_t time_base_num, time_base_den;
    int32_t rate_num, rate_den; /* average frame rate, 0/0: unknown */
    int32_t orientation;        /* of the display matrix, as EXIF numbers it; 1: as stored */
    int64_t start, duration;    /* in the time base; INT64_MIN: unknown */
    int64_t n_frames;           /* as the header says; 0: it does not */
    char codec[32], container[64];
} video_stream;

typedef struct video_ctx video_ctx;

video_ctx *video_new(void); /* NULL when there is no memory */
void video_free(video_ctx *v);
const char *video_detail(const video_ctx *v);
void video_refused(const video_ctx *v, int32_t *width, int32_t *height);

/* Open the container; status of av.h. */
int video_open(video_ctx *v, const media_av_source *source, const media_av_options *options,
               video_stream *out);
void video_close(video_ctx *v);

/* MEDIA_AV_TOO_SLOW once the sample's budget of time is used up. */
int video_check(video_ctx *v);

/* The budget from now on; 0: none. */
void video_allow(video_ctx *v, int64_t budget_ns);

/* Read every packet of the stream. The packets themselves are kept for decoding as long as they are at most keep_bytes
 * together. The array belongs to v until close. Where packets have no presentation time it is worked out, at worst by
 * decoding everything once; what gives no frame then stays without.
 *
 * tables 1: where an MP4's tables say all of the packets, these are not read, and none is kept. Key frames are then those at which the
 * container says that decoding can start; without, also pictures of H.264 that refer to no other. */
int video_scan(video_ctx *v, int64_t keep_bytes, int tables);
/* How many of the key frames are but recovery points of H.264, of a scan without tables. */
int32_t video_points(const video_ctx *v);

const video_packet *video_packets(const video_ctx *v, int32_t *n);

/* Take packets scanned before in place of a scan; copied. */
int video_set_packets(video_ctx *v, const video_packet *packets, int32_t n);

/* Room for what is wanted: one byte per packet (1: its frame), n_runs runs in rising order. Both are cleared and belong to
 * v. reorder: the decoder holds back at most so many frames. */
int video_plan(video_ctx *v, int32_t n_runs, int32_t reorder, uint8_t **want, video_run **runs);

/* The next wanted frame and its packet's number; MEDIA_AV_END when all are out; MEDIA_AV_AGAIN when it has decoded for
 * VIDEO_TURN_NS, and is to be called again, so that Go's scheduler can have a look in between. Frames come in presentation order, but for
 * files whose times tell another order than their decoder gives. */
enum { VIDEO_TURN_NS = 2000000 };
int video_next(video_ctx *v, AVFrame **frame, int32_t *number);

/* After video_next() failed because a packet gives no frame though nothing is damaged (encoders drop pictures so): decode
 * everything once and mark all such packets. MEDIA_AV_END: that was not why. */
int video_find_holes(video_ctx *v);

/* The layout of a frame, by FFmpeg's name, such as yuv420p. */
const char *video_pixels(const AVFrame *frame);

/* The matrix of its colours, by FFmpeg's name, such as bt709, and whether their range is full. */
const char *video_matrix(const AVFrame *frame);
int video_is_full(const AVFrame *frame);

/* Whether no frame is made of fields, as far as a frame, or of H.264 what its container has ahead of all, says that. */
int video_progressive(const video_ctx *v, const AVFrame *frame);

/* How many frames the decoder has given since open, wanted or not. */
int64_t video_decoded(const video_ctx *v);

/* Whether the frame that came last was decoded by the device of the options. */
int video_on_device(const video_ctx *v);

/* Without a scan: the frame on show at time `at` (in the time base), which must not fall from call to call; the first
 * frame if at lies before it, the last if after. pts and duration are the frame's own. */
int video_at(video_ctx *v, int64_t at, AVFrame **frame, int64_t *pts, int64_t *duration);

/* The next frame of packets as they come (packets.h), of a v that was opened fed, with its time in the time base (INT64_MIN:
 * none) and for how long its packet shows it (0: that is not said). */
int video_fed(video_ctx *v, const media_packets *p, int64_t *next, AVFrame **frame, int64_t *pts,
              int64_t *duration);

/* --- pixels --- */

enum { VIDEO_RGB24 = 0, VIDEO_RGBX = 1 };
enum {
    VIDEO_TORCHCODEC = 0,
    VIDEO_ACCURATE = 1,
    VIDEO_PORTABLE = 2
}; /* see doc.go; PORTABLE: ACCURATE in plain C */
enum { VIDEO_SCALE_NONE = 0, VIDEO_BILINEAR = 1, VIDEO_BICUBIC = 2, VIDEO_AREA = 3 };

typedef struct video_scaler video_scaler;

void video_scaler_free(video_scaler **s);

/* The frame as RGB in width x height at dst, rows stride_bytes apart; the frame's matrix and range are honoured. A scaler
 * is made and remade as frames need it. */
int video_convert(video_scaler **s, const AVFrame *frame, int arithmetic, int filter, int format,
                  int32_t width, int32_t height, uint8_t *dst, size_t stride_bytes);

#endif
