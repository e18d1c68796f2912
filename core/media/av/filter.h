/* filter.h - FFmpeg's filters, between decoded frames and whoever uses them.
 *
 * A description is FFmpeg's own text with one input and one output, such as "crop=224:224,hue=s=0". Frames go in with
 * their times, and what the filters make of them comes out with times of its own: fewer, more, or of another kind.
 *
 *     media_av_filter *f = media_av_filter_new();
 *     media_av_filter_begin(f, &options);
 *     for (;;) {
 *         while ((rc = media_av_filter_receive(f, &out)) == MEDIA_AV_OK) use(out);
 *         if (rc != MEDIA_AV_AGAIN) break;
 *         rc = media_av_filter_send(f, next frame, or NULL after the last one, its time);
 *     }
 *
 * Filters see nothing but these frames: those that read or write files, open devices or networks, load code or go by the
 * clock are refused by name before FFmpeg sees the text, so that equal frames give equal frames. */
#ifndef SPDL_MEDIA_AV_FILTER_H
#define SPDL_MEDIA_AV_FILTER_H

#include "av.h"

typedef struct media_av_filter_options {
    const char *text;     /* kept by the caller until close */
    int type;             /* AVMEDIA_TYPE_VIDEO (0) or AVMEDIA_TYPE_AUDIO */
    AVRational time_base; /* of the times that frames are sent with */
    AVRational rate;      /* frames a second; 0/0: unknown */
    int orientation;      /* pictures are turned first, as EXIF numbers it; 0 and 1: they are not */
    int threads;          /* of the filters; 0: 1 */
    uint64_t max_pixels;  /* of a picture anywhere between two filters; 0: any */
} media_av_filter_options;

typedef struct media_av_filter media_av_filter;

/* Load libavfilter, and all of media_av_load_containers(); NULL, or why that failed. */
const char *media_av_load_filters(void);

media_av_filter *media_av_filter_new(void); /* NULL when there is no memory */
void media_av_filter_free(media_av_filter *f);
const char *media_av_filter_detail(const media_av_filter *f);

/* Forget every frame; the next one that is sent is the first. Close forgets them alone. */
void media_av_filter_begin(media_av_filter *f, const media_av_filter_options *options);
void media_av_filter_close(media_av_filter *f);

/* Let a frame in, at a time; it stays the caller's. NULL says that there are no more, and when the last one is over. Only
 * after receive said MEDIA_AV_AGAIN. Frames of another size or format than those before get filters of their own, when those before have
 * been drained. */
int media_av_filter_send(media_av_filter *f, const AVFrame *frame, int64_t time);

/* The next frame that comes out, lent until the next call. MEDIA_AV_AGAIN: send first. MEDIA_AV_END: none will come, which
 * filters may say before the last frame was sent. */
int media_av_filter_receive(media_av_filter *f, AVFrame **frame);

/* Of the frame received last: the base of its time, and how many a second there are, 0/0 or 1/0 where that is unknown. */
void media_av_filter_times(const media_av_filter *f, AVRational *time_base, AVRational *rate);

/* Whether the text can be used at all: with frames made up, none of which is filtered. */
int media_av_filter_try(media_av_filter *f, const char *text, int type);

#endif
