/* ffmpeg.h - one sample through FFmpeg into channels of floats.
 *
 *     audio_ff_open()    what the stream is, known from its first decoded frame
 *     audio_ff_decode()  the wanted frames, kept in memory of the audio_ff
 *     audio_ff_filter()  in its place: what FFmpeg's filters make of them
 *     audio_ff_channel() where a channel's frames lie
 *
 * Statuses are core/media/av/av.h's. */
#ifndef SPDL_AUDIO_FFMPEG_H
#define SPDL_AUDIO_FFMPEG_H

#include "../av/filter.h"
#include "../av/packets.h"
#include "kernels.h"

enum {
    AUDIO_FF_TOO_LARGE = -40, /* more frames than max_frames */
    AUDIO_FF_CHANNELS = 64,
};

typedef struct audio_ff {
    /* Read-only for callers, from open on; from filter on, of what came out. */
    int32_t rate, channels;
    const char *format, *codec; /* FFmpeg's names */
    double seconds;             /* that the container claims; negative: it does not say */
    int64_t frames;             /* decoded so far; negative within an encoder's delay */
    int ended;                  /* 1: frames is the stream's length */
    double origin;              /* the second of the container's clock at which frame 0 is heard */

    int timed; /* set between open and decode: frames lie where the clock says, with silence in gaps */

    /* Private. */
    media_av *av;
    media_av_filter *filter; /* NULL: none was asked for yet */
    AVFrame *pending;        /* the first frame, until decode */
    AVFrame *part;           /* of a frame that the window begins in */
    int placed;              /* a piece, see audio_ff_open */
    int64_t least;           /* the same */
    double clock;            /* origin, of the clock as it goes on where it begins anew */
    float *plane[AUDIO_FF_CHANNELS];
    size_t cap[AUDIO_FF_CHANNELS];
    int64_t begin; /* the frame that planes begin with */
    int n_planes;
    const char *text;                 /* fed: of the filters; NULL: none */
    int begun;                        /* fed: a frame has come, and the filters know its rate */
    int32_t made_rate, made_channels; /* fed: of what comes out; 0: nothing has yet */
} audio_ff;

audio_ff *audio_ff_new(void); /* NULL when there is no memory */
void audio_ff_free(audio_ff *f);

/* The source stays until close. placed: of a piece of a stream, frames have the numbers that they have in the whole, and
 * what does not decode before the first wanted one is no damage; without it they count from the piece's first. least: frames
 * that there have to be; -1: only FFmpeg may know. */
int audio_ff_open(audio_ff *f, const media_av_source *source, int placed, int64_t least, int64_t budget_ns);
void audio_ff_close(audio_ff *f);
const char *audio_ff_detail(const audio_ff *f);

/* Keep frames [begin, end) of the channels taken, end -1 for all, and stop decoding there. More than max_frames of
 * them are AUDIO_FF_TOO_LARGE. Once after open. */
int audio_ff_decode(audio_ff *f, const audio_kernels *k, const int32_t *take, int n_take, int64_t begin,
                    int64_t end, int64_t max_frames);

/* Let frames [begin, end), end -1 for all, through the filters of text, and keep every channel of what comes out. Once
 * after open, in place of decode. More than max_frames of one channel or two, half as many of four and so on, are
 * AUDIO_FF_TOO_LARGE. read: how many frames were read up to end. */
int audio_ff_filter(audio_ff *f, const audio_kernels *k, const char *text, int64_t begin, int64_t end,
                    int64_t max_frames, int64_t *read);

/* In place of open: a stream whose packets come later (packets.h), through the filters of text, kept until close, unless that
 * is NULL. */
int audio_ff_open_fed(audio_ff *f, const media_packets *stream, const char *text);

/* Keep every channel of what comes out for packets of p from *next on, as media_packets_decode() has it, until that is used up
 * (MEDIA_AV_AGAIN), nothing will come any more (MEDIA_AV_END) or frames are `most` or more. made: how many were kept. */
int audio_ff_feed(audio_ff *f, const audio_kernels *k, const media_packets *p, int64_t *next, int64_t most,
                  int64_t *made);

/* Frames from first on of the i-th channel taken. */
const float *audio_ff_channel(const audio_ff *f, int i, int64_t first);

/* libswresample's defaults: n frames of each channel at rate from become n_out at rate to; what it does not fill is zero.
 * Channels lie stride floats apart. Returns 0 or FFmpeg's error. */
int audio_ff_swresample(const float *in, size_t in_stride, int64_t n, int from, float *out, size_t out_stride,
                        int64_t n_out, int to, int channels);

#endif
