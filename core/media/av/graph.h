/* graph.h - FFmpeg's filters with several inputs and outputs, of pictures and of sound.
 *
 * The text names its own ends: "buffer=...", "abuffer=..." where frames go in, "buffersink", "abuffersink" where they come
 * out, each known by the name of its node ("buffer@left", or FFmpeg's own, "Parsed_buffer_0"):
 *
 *     media_av_graph *g = media_av_graph_new();
 *     if (media_av_graph_open(g, &options) != MEDIA_AV_OK) die(media_av_graph_detail(g));
 *     media_av_graph_picture(g, 0, pixels, time);
 *     while ((n = media_av_graph_ready(g, 0, most)) > 0) media_av_graph_take(g, 0, n, to, times);
 *
 * Filters are those of filter.h. Frames are copied in and out: pictures as av_image_copy_to_buffer lays them out without gaps,
 * samples as [channels][n] of planar formats and [n][channels] of the others. What comes out waits in the graph until
 * it is taken; what waits anywhere is bounded by max_bytes. A graph belongs to one thread at a time. */
#ifndef SPDL_MEDIA_AV_GRAPH_H
#define SPDL_MEDIA_AV_GRAPH_H

#include "av.h"

enum { MEDIA_AV_ENDS = 32 }; /* inputs, and outputs, at most */

typedef struct media_av_graph_options {
    const char *text;
    int threads;         /* of the filters; 0: 1 */
    uint64_t max_pixels; /* of a picture anywhere in the graph; 0: any */
    uint64_t max_bytes;  /* that may wait, see media_av_graph_picture; 0: any */
    int64_t budget_ns;   /* of each call; 0: none. One filter with one frame is not interrupted */
} media_av_graph_options;

/* An input or an output, read-only for callers. */
typedef struct media_av_end {
    const char *name; /* of its node */
    int type;         /* AVMEDIA_TYPE_VIDEO or AVMEDIA_TYPE_AUDIO */
    int format;
    const char *format_name;
    int32_t width, height;  /* of pictures */
    int32_t rate, channels; /* of sound */
    AVRational time_base;
    AVRational frame_rate; /* 0/0, 1/0: unknown */
    int32_t shape
        [3]; /* of a picture as an array: [H, W, C], [planes, H, W] or, with smaller planes, [1, rows, W] */
    int32_t item; /* bytes of an element */
    int is_float, is_signed, is_planar;
} media_av_end;

typedef struct media_av_graph media_av_graph;

media_av_graph *media_av_graph_new(void); /* NULL when there is no memory */
void media_av_graph_free(media_av_graph *g);
const char *media_av_graph_detail(const media_av_graph *g);

/* Once. On failure the graph is of no use but for its detail. */
int media_av_graph_open(media_av_graph *g, const media_av_graph_options *options);

int media_av_graph_n_inputs(const media_av_graph *g);
int media_av_graph_n_outputs(const media_av_graph *g);
const media_av_end *media_av_graph_input(const media_av_graph *g, int i);
const media_av_end *media_av_graph_output(const media_av_graph *g, int i);

/* The graph as FFmpeg draws it, to be given to av_free. NULL when there is no memory. */
char *media_av_graph_dump(const media_av_graph *g);

/* Let one picture, or n samples, in at a time in the input's time base; *went says how many samples went in, on failure, too.
 * MEDIA_AV_TOO_MUCH, and the picture did not go in: more than max_bytes would wait, because this input is ahead of one that it meets, because what goes in never comes out, or because
 * what came out is not taken. MEDIA_AV_FILTER: the filters refuse the frame. */
int media_av_graph_picture(media_av_graph *g, int input, const uint8_t *pixels, int64_t time);
int media_av_graph_samples(media_av_graph *g, int input, const uint8_t *samples, int64_t n, int64_t time,
                           int64_t *went);

/* No more frames come, to any input. */
int media_av_graph_flush(media_av_graph *g);

/* How many frames of an output, at most `most` and all of one size, wait; 0: none. Of sound *samples is how many these have. A
 * graph whose budget ran out is worked on first: negative statuses are failures. */
int media_av_graph_ready(media_av_graph *g, int output, int most, int64_t *samples);

/* The size of the picture that waits first. */
void media_av_graph_size(const media_av_graph *g, int output, int32_t *width, int32_t *height);

/* Move the first n frames, which ready has counted, to `to`; times are theirs in the output's time base, AV_NOPTS_VALUE: none. */
int media_av_graph_take(media_av_graph *g, int output, int n, uint8_t *to, int64_t *times);

/* The shape of a picture of the format and size, as media_av_end has it; MEDIA_AV_UNSUPPORTED and why in detail. */
int media_av_graph_shape(media_av_end *end, char *detail, size_t detail_bytes);

#endif
