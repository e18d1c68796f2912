/* ctx.h - what scan.c and decode.c know of one video; private to them. */
#ifndef SPDL_MEDIA_VIDEO_CTX_H
#define SPDL_MEDIA_VIDEO_CTX_H

#include "av1.h"
#include "video.h"

struct video_ctx {
    media_av *a;
    video_packet *packets; /* decode order */
    int32_t n, cap;
    AVPacket **kept; /* of the same numbers; NULL: read them again */
    int32_t n_kept;
    uint8_t *want; /* 1: wanted, 2: delivered */
    int32_t want_cap;
    video_run *runs;
    int32_t n_runs, runs_cap;
    int32_t run;  /* being decoded */
    int32_t next; /* packet to send next; -1: the run is not entered yet */
    int32_t read; /* number of the packet that the demuxer gives next; -1: unknown */
    int32_t reorder;
    int32_t low;     /* wanted frames of packets before this one are all out */
    int holes;       /* a packet gave no frame, and nothing is damaged */
    int lenient;     /* packets that give no frame are no damage */
    int recovering;  /* the run was entered at a recovery point */
    int retries;     /* of this run, from earlier key frames */
    int damage;      /* of this run: a status, raised if a wanted frame came after it */
    AVFrame *show;   /* video_at: the frame on show */
    AVFrame *coming; /* video_at: the one after it */
    int64_t head;    /* when the first key frame is shown; what comes before may lack what it refers to */
    int recovers;    /* the first key frame is but a recovery point */
    int all_keys;    /* every packet is said to be a key frame, of a codec that has others */
    int mistrusts; /* of this sample's plan: a key frame was none, so the runs are decoded from the first packet on */
    int sought;     /* the demuxer got where it is by a seek */
    int no_seeking; /* it reads other packets after a seek than the scan did */
    int at_end;
    int64_t decoded;
    video_av1 av1;
};

/* Free the packets kept from a scan. */
void video_drop_kept(video_ctx *v);

/* p with room for n items, or NULL, and then p as it was. */
void *video_grown(void *p, int32_t *cap, int32_t n, size_t item);

#endif
