/* mux.h - encoders, and a container that takes what they make or packets as they are, over FFmpeg.
 *
 * media_enc turns pictures or samples into packets; media_mux has tracks, each of them fed by an encoder of its own or
 * with another file's packets. Bytes go to a descriptor or into memory, and no other file is opened. Both belong to one
 * thread at a time; every call that fails leaves a line for people in detail. */
#ifndef SPDL_MEDIA_MUX_H
#define SPDL_MEDIA_MUX_H

#include <stdint.h>

#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavcodec/vorbis_parser.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

struct media_packets; /* ../av/packets.h */

enum {
    MEDIA_MUX_OK = 0,
    MEDIA_MUX_END = 1,          /* an encoder that was ended has no more packets */
    MEDIA_MUX_AGAIN = 2,        /* an encoder wants more first */
    MEDIA_MUX_INVALID = -1,     /* what was asked for makes no sense */
    MEDIA_MUX_UNSUPPORTED = -2, /* not with this FFmpeg, or not in this container */
    MEDIA_MUX_ENCODE = -3,      /* the encoder failed */
    MEDIA_MUX_WRITE = -4,       /* the bytes could not be written; see error_number */
    MEDIA_MUX_NO_MEMORY = -5,
    MEDIA_MUX_TRACKS = 32,
};

typedef struct media_enc_config {
    const char *codec;  /* an encoder or a codec by FFmpeg's name */
    const char *stored; /* pixel or sample format (of samples several, with commas); NULL: a near one */
    const char *from;   /* pixel or sample format of what is given */
    int width, height;  /* video */
    int rate, channels; /* audio */
    AVRational time_base, frame_rate; /* video; frame_rate 0/1: varying */
    int64_t bit_rate;                 /* 0: the encoder's default */
    int quality;                      /* FFmpeg's qscale, 1 the best; 0: the encoder's default */
    int threads;                      /* 0: 1 */
    int global_header;                /* set by media_mux, as is the next one */
    const enum AVPixelFormat
        *held; /* what the container holds of the codec; NULL: all that the encoder has */
} media_enc_config;

typedef struct media_enc {
    AVCodecContext *codec;
    enum AVPixelFormat from;
    struct SwsContext *sws; /* NULL: pixels are stored as given */
    AVFrame *given;         /* the picture for sws */
    SwrContext *swr;
    AVAudioFifo *fifo; /* in the encoder's sample format */
    AVFrame *frame;
    AVPacket *packet;
    int64_t next;  /* time of the next samples; frames later than it or at it are taken */
    int64_t ticks; /* one frame in time_base; 0: varying */
    int64_t step;  /* between the last two pictures */
    int ending;    /* 1: the rest of fifo may be short; 2: the encoder was told */
    AVVorbisParseContext
        *vorbis;   /* of its packets' samples, which the encoder does not say; NULL: another codec */
    int64_t heard; /* samples that these give so far; -1: no packet yet, and the first gives none */
    char detail[240];
} media_enc;

/* The codec that FFmpeg takes for a picture's file name; NULL: it knows none. */
const char *media_enc_of_name(const char *name);

media_enc *media_enc_new(void); /* NULL when there is no memory */
void media_enc_free(media_enc *e);

/* Open the encoder; options are its own and all must be known to it. */
int media_enc_video(media_enc *e, const media_enc_config *c, AVDictionary **options);
int media_enc_audio(media_enc *e, const media_enc_config *c, AVDictionary **options);

/* Bytes of one picture as it is given: rows without padding, planes one after the other. */
int64_t media_enc_picture_bytes(const media_enc *e);

/* Give one picture, shown at pts of time_base, or n interleaved samples. All packets must be taken before the next. */
int media_enc_picture(media_enc *e, const uint8_t *pixels, int64_t pts);
int media_enc_samples(media_enc *e, const uint8_t *samples, int n);
void media_enc_end(media_enc *e);

/* The first of n samples of float that the encoder is not to be given: no number, infinite, or beyond most. -1: there is none, as
 * in all that a codec stores which keeps floats as they are. */
int64_t media_enc_unstorable(const media_enc *e, const uint8_t *samples, int64_t n, float most);

/* The next packet, lent until the next call. */
int media_enc_packet(media_enc *e, AVPacket **packet);

typedef struct media_mux_track {
    AVStream *stream;
    media_enc *encoder; /* NULL: packets come as they are */
    AVBSFContext *filter;
    AVRational time_base; /* of the packets that the track is given */
    int paged;            /* 1: the first page of an Ogg was ended */
    int leads; /* 1: key packets begin with the codec's header, for which the container has no other place */
} media_mux_track;

typedef struct media_mux {
    AVFormatContext *format;
    AVIOContext *io;
    AVDictionary *options; /* for the call that takes options */
    media_mux_track track[MEDIA_MUX_TRACKS];
    int n_tracks;
    int started;
    int error_number; /* errno of a write that failed */
    AVPacket *packet;

    /* Where bytes go. */
    int fd; /* -1: memory */
    uint8_t *memory;
    int64_t position, read_position, size, capacity;
    char detail[240];
} media_mux;

media_mux *media_mux_new(void);
void media_mux_free(media_mux *m);

/* The container by FFmpeg's name, or NULL and by the ending of name. Not seekable: bytes come in order. */
int media_mux_open(media_mux *m, const char *format, const char *name, int fd, int seekable);

/* Add to the options of the next call. */
int media_mux_option(media_mux *m, const char *key, const char *value);

/* Add a track; its number, or a status. codec NULL: the container's usual one. */
int media_mux_encode(media_mux *m, int type, const media_enc_config *c);
int media_mux_copy(media_mux *m, const AVStream *from, const char *filters);

/* Write the header, once, before anything else is written; the tracks are fixed from here on. */
int media_mux_start(media_mux *m);

/* Give n pictures shown one frame after the other or, where pts is there, at its times of the track's time base. */
int media_mux_pictures(media_mux *m, int track, const uint8_t *pixels, int n, const int64_t *pts);
int media_mux_samples(media_mux *m, int track, const uint8_t *samples, int n);

/* Write a packet of the stream that the track copies. Its bytes are shared, not copied. */
int media_mux_packet(media_mux *m, int track, const AVPacket *packet);

/* What streams of other files need before containers that keep no codec's header beside the packets (copied.c). A bitstream filter,
 * behind those of filters, which may be NULL; into text, which is returned, NULL where there is none. */
const char *media_mux_needs(const AVOutputFormat *to, const AVCodecParameters *codec, const char *filters,
                            char *text, size_t size);
/* Whether key packets are to begin with the header; and one that does, in place of packet. 0, or an AVERROR. */
int media_mux_leads(const AVOutputFormat *to, const AVCodecParameters *codec);
int media_mux_lead(const AVCodecParameters *codec, AVPacket *packet);

/* Open bitstream filters for a stream's packets; to be freed whatever is returned. */
int media_mux_filters(media_mux *m, AVBSFContext **filter, const AVStream *from, const char *filters);

/* The same for the stream of packets, kept open: what comes out of the filters for these, and with ends also what they still
 * hold. After that they take no more. m is looked at for its detail alone. */
int media_mux_filter_open(media_mux *m, const char *filters, const struct media_packets *stream,
                          AVBSFContext **filter);
int media_mux_filter_packets(media_mux *m, AVBSFContext *filter, const char *filters,
                             const struct media_packets *from, int ends, struct media_packets **out);

/* A failing FFmpeg call as a status, with its words noted. */
int media_mux_failed(media_mux *m, int averror, int status, const char *what);

/* End the encoders and write the trailer. */
int media_mux_finish(media_mux *m);

/* Memory that is not seekable: forget the bytes that were taken out. */
void media_mux_taken(media_mux *m);

#endif
