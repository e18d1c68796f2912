/* av.h - one container and the decoder of one of its streams, over FFmpeg.
 *
 * The low level that video and audio share: bytes from memory or from a range of a file, a demuxer that opens nothing
 * else, one decoder, FFmpeg's messages caught, and bounds that hold whatever the bytes say. What a stream's frames become
 * is the caller's business: packets and frames are FFmpeg's own.
 *
 *     media_av *a = media_av_new();
 *     if (media_av_open(a, &source, &options) == MEDIA_AV_OK)
 *         while ((rc = media_av_next(a, &frame)) == MEDIA_AV_OK) use(frame);
 *     media_av_close(a);
 *
 * A media_av belongs to one thread at a time. Every call that fails leaves a line for people in media_av_detail(). */
#ifndef SPDL_MEDIA_AV_H
#define SPDL_MEDIA_AV_H

#include <stddef.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavformat/avformat.h>

#include "../far/far.h"

/* What the calls return. The numbers that core/media/row.h has, too, mean the same there. */
enum {
    MEDIA_AV_OK = 0,
    MEDIA_AV_END = 1,        /* no more packets or frames */
    MEDIA_AV_AGAIN = 2,      /* the decoder wants another packet first */
    MEDIA_AV_TRUNCATED = -1, /* the data stop early */
    MEDIA_AV_CORRUPT = -2,   /* the data do not decode */
    MEDIA_AV_EMPTY = -3,     /* no bytes */
    MEDIA_AV_NOT_MEDIA = -4, /* no container that we read */
    MEDIA_AV_NO_STREAM = -5, /* a container without the stream that was asked for */
    MEDIA_AV_READ = -6,      /* the file could not be read; detail says why */
    MEDIA_AV_UNSUPPORTED = -10,
    MEDIA_AV_TOO_MANY_PIXELS = -20, /* see refused_width, refused_height */
    MEDIA_AV_NO_MEMORY = -22,
    MEDIA_AV_TOO_MUCH = -24, /* more streams or packets than the limits, or samples than bytes */
    MEDIA_AV_TOO_SLOW = -25, /* the budget of time is used up */
    MEDIA_AV_FILTER = -26,   /* the filters do not take these frames (filter.h) */
    MEDIA_AV_DEVICE = -27,   /* the device that decodes failed; the sample may be sound */
};

/* Where the bytes are: memory, or size bytes from offset on (a member of an archive) of a file or of what only Go can read, or packets
 * without a container (packets.h). Kept until close; the descriptor is read with pread, so its position does not matter and other
 * threads may share it. */
typedef struct media_av_source {
    const uint8_t *data; /* NULL: the file */
    media_far far;       /* none: the descriptor */
    int fd;
    int64_t offset; /* in the file */
    int64_t size;
    const struct media_packets *packets; /* NULL: bytes */
} media_av_source;

/* Zero means the default given here, unless it says otherwise. */
typedef struct media_av_options {
    int type;    /* AVMEDIA_TYPE_VIDEO (0) or AVMEDIA_TYPE_AUDIO */
    int stream;  /* its number in the file plus one; 0: the best of that type */
    int threads; /* of the decoder; 0: 1 */
    int lean; /* 1: no probing by decoding where the header says all that a decoder needs; then pixel or sample
                               format and delay are not known before the first frame */
    int reorder; /* lean only: frames that the decoder must hold back, plus one; 0: it finds out as it goes */
    uint32_t max_streams; /* 64 */
    uint64_t max_packets; /* read since open; 1 << 27 */
    uint64_t max_pixels;  /* of a frame; 1 << 28 */
    int64_t probe_bytes;  /* 5,000,000 */
    int64_t budget_ns;    /* wall clock since open; 0: none */
    int unpack; /* 1: a packet of MPEG-4 that holds two pictures (DivX's packed B-frames) comes as two packets */
    AVBufferRef *device; /* of media_av_hardware(), which decodes; NULL: the processor does */
    int fed; /* 1: of packets, which come later (media_packets_decode); those of the source are not looked at */
    int device_alone; /* 1: what the device does not decode is MEDIA_AV_UNSUPPORTED; 0: the processor does */
} media_av_options;

/* Bytes [from, to) of the source. */
typedef struct media_span {
    int64_t from, to;
} media_span;

/* What is known of packed B-frames; unpack.h. */
typedef struct media_packing {
    int said;           /* 1: the stream's headers say that it has them */
    int time_bits;      /* that a picture's time has; 0: not known */
    int behind_between; /* 1: the picture read last is a B-frame */
} media_packing;

typedef struct media_av {
    /* Read-only for callers. */
    AVFormatContext *format;
    AVStream *stream;      /* of format */
    AVCodecContext *codec; /* NULL until media_av_decoder() */
    media_av_options options;
    uint64_t packets; /* read since open */
    int32_t refused_width, refused_height;
    int refused;   /* status that a callback could not return; MEDIA_AV_OK: none */
    int on_device; /* 1: the frames received last came from the device */
    int unpacked; /* 1: a packet had two pictures (DivX's packed B-frames), which come one by one; see media_av_read */
    int64_t missed; /* media_av_missed() */

    /* Private. */
    media_av_source source;
    int64_t position;
    media_span *skims; /* what media_av_skim is about, in rising order */
    int n_skims, skim;
    int64_t next;         /* of the source's packets */
    int64_t origin;       /* of a sound, packets.h's; kept by packets.c */
    int64_t deadline_ns;  /* 0: none */
    int64_t from, behind; /* where the bytes of the packet read last begin and end; -1: not known */
    int64_t paged;        /* of an Ogg: up to where its pages were looked at; -1: from where it is read on */
    int partial;          /* it lacks bytes, or is damaged */
    int64_t heard;        /* samples of the packets read since open; -1: not known; kept by caf.c */
    AVIOContext *io;
    AVPacket *packet;
    AVBSFContext *unpack; /* of MPEG-4; NULL: packets come as they are */
    media_packing packing;
    AVFrame *frame;
    AVFrame *copied;                  /* of a frame of the device's */
    enum AVPixelFormat device_format; /* of the device's frames; AV_PIX_FMT_NONE: it has none to give */
    int off_device;                   /* it does not decode the stream, so the processor shall */
    int ended;                        /* the demuxer is at its end */
    int drained;                      /* the decoder was told so */
    char detail[200];
} media_av;

/* Load FFmpeg's libraries, where the program was linked without them (core/media/lazy), and catch its messages; before
 * anything else here, from any thread. The first loads what one encoded picture needs, the second also what media_av_open()
 * needs: tens of milliseconds more. Return NULL, or why they do not load, valid on this thread until its next call. */
const char *media_av_load(void);
const char *media_av_load_containers(void);

/* Up to which of FFmpeg's levels messages go to stderr, too: AV_LOG_QUIET unless that was set, for the process. From any thread. */
int media_av_log_level(void);
void media_av_set_log_level(int level);

/* The first line of what FFmpeg complained of on this thread since media_av_forget(); never NULL. Nothing else of what it
 * says reaches stderr once media_av_load() has returned. */
const char *media_av_message(void);
void media_av_forget(void);

/* Why a call of FFmpeg's failed: its message, else what it calls rc, which goes into text. */
const char *media_av_reason(int rc, char text[AV_ERROR_MAX_STRING_SIZE]);

int64_t media_av_now_ns(void); /* CLOCK_MONOTONIC, in which deadlines are */

media_av *media_av_new(void); /* NULL when there is no memory */
void media_av_free(media_av *a);
const char *media_av_detail(const media_av *a);

/* Open the container and choose the stream; other streams are skipped from here on. The source must stay until close.
 * Closes what was open before. On failure nothing is open. */
int media_av_open(media_av *a, const media_av_source *source, const media_av_options *options);
void media_av_close(media_av *a);

/* Give a packet of FLAC in a CAF the time at which it is heard, by the frames before it: FFmpeg 5.1's muxer writes a mean of
 * the samples of a packet, or a number that is none, and its demuxer counts by that. For media_av_read(). */
void media_av_count_samples(media_av *a);

/* The stream's next packet, lent until the next call. MEDIA_AV_END after the last one. With unpack a packet's second picture
 * is given in place of the empty packet that follows, at whose time it stands; where the container's parser has taken them apart, the empty one is
 * left out. */
int media_av_read(media_av *a, AVPacket **packet);

/* Read on without the samples themselves: packets have their times, places, sizes and flags, and zeros for data, of which nothing is read. It
 * may be where the container's tables say all that, and is over with media_av_skim(a, 0), behind which a seek is due. */
int media_av_may_skim(media_av *a);
void media_av_skim(media_av *a, int skim);

/* Go to the last key frame whose timestamp (of the kind that the container seeks by) is at most ts, in the stream's
 * time base, or to the first one; media_av_rewind() goes to the first packet. Empties the decoder. */
int media_av_seek(media_av *a, int64_t ts);
int media_av_rewind(media_av *a);

/* A device that decodes, of FFmpeg's name of its kind (av_hwdevice_get_type_name), opened on the first call of the process
 * and kept for its life; NULL, and why in detail, where there is none. From any thread. */
AVBufferRef *media_av_hardware(const char *kind, char *detail, size_t detail_bytes);

/* Open the stream's decoder, if that has not happened. */
int media_av_decoder(media_av *a);

/* Give the decoder a packet; NULL says there are no more until media_av_flush(). MEDIA_AV_AGAIN: receive first. */
int media_av_send(media_av *a, const AVPacket *packet);

/* A decoded frame, lent until the next call. MEDIA_AV_AGAIN: send first; MEDIA_AV_END: all of a drained decoder are out. */
int media_av_receive(media_av *a, AVFrame **frame);

/* Whether the picture that a decoder was entered at refers to no other, as it says itself: 1 or 0; -1: it does not say. Of H.264, whose groups may
 * begin with pictures that do (intra refresh), always 1. */
int media_av_is_key(const media_av *a, const AVFrame *frame);

/* Forget what the decoder holds. */
void media_av_flush(media_av *a);

/* The pts of the packet given last before which a decoder of H.264 found pictures missing that others refer to, by their numbers; INT64_MIN:
 * of none since the last flush. Where it was entered at no IDR picture that is one, too. */
int64_t media_av_missed(const media_av *a);

/* For log.c: the decoder, in whichever of its threads, says so. */
void media_av_misses(const AVCodecContext *c);

/* The next frame of the stream, read and sent as needed. */
int media_av_next(media_av *a, AVFrame **frame);

/* A failing FFmpeg call's status, with the detail noted. */
int media_av_status(media_av *a, int averror, const char *what);
int media_av_device_status(media_av *a, int rc,
                           const char *what); /* of a device, whose failure is MEDIA_AV_DEVICE */

/* hardware.c: the decoder of a codec that the device of the options has, with its format in a->device_format; NULL: none. */
const AVCodec *media_av_device_decoder(media_av *a, enum AVCodecID codec);

/* hardware.c: let the decoder that is about to be opened use the device; how a frame of the device's becomes one of the
 * processor's, lent as a received frame is. */
int media_av_use_device(media_av *a, AVCodecContext *c);
int media_av_from_device(media_av *a, AVFrame **frame);

/* Note a detail and return the status. */
int media_av_fail(media_av *a, int status, const char *detail);

/* MEDIA_AV_TOO_SLOW once the budget is used up; loops of callers ask it. */
int media_av_check(media_av *a);

/* The budget from now on, for what comes in pieces; 0: none. */
void media_av_allow(media_av *a, int64_t budget_ns);

#endif
