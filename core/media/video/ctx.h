/* ctx.h - what scan.c and decode.c know of one video; private to them. */
#ifndef SPDL_MEDIA_VIDEO_CTX_H
#define SPDL_MEDIA_VIDEO_CTX_H

#include "av1.h"
#include "video.h"

struct video_ctx {
    media_av *a;
    video_packet *packets; /* decode order */
    int32_t n, cap;
    AVPacket **kept; /* of n_kept numbers from kept_from on; NULL: read them again */
    int32_t kept_from, n_kept;
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
    int thinned;     /* of the run a picture was left out to which no other refers */
    int gaps;        /* of this plan: pictures are missing, so no more is left out */
    int retries;     /* of this run, from earlier key frames */
    int damage;      /* of this run: a status, raised if a wanted frame came after it */
    AVFrame *show;   /* video_at: the frame on show */
    AVFrame *coming; /* video_at: the one after it */
    int64_t head;    /* when the first key frame is shown; what comes before may lack what it refers to */
    int recovers;    /* the first key frame is but a recovery point */
    int32_t points;  /* key frames that are but recovery points, of a scan that has read them */
    int all_keys;    /* every packet is said to be a key frame, of a codec that has others */
    int mistrusts; /* of this sample's plan: a key frame was none, so the runs are decoded from the first packet on */
    int sought;     /* the demuxer got where it is by a seek */
    int no_seeking; /* it reads other packets after a seek than the scan did */
    int at_end;
    int64_t decoded;
    video_av1 av1;
    video_av1_frame *frames; /* of the run's packets; none: all of it is decoded */
    int32_t n_frames, frames_cap;
    int32_t frame;  /* the first that was not sent */
    AVPacket *thin; /* a packet without frames that are not needed */
};

/* Packets of a run that are held so that its headers can be read before it is decoded. */
enum { VIDEO_HELD_BYTES = 256 << 20 };

void video_drop_kept(video_ctx *v);

/* Keep a packet behind those that are kept; p is empty then. */
int video_keep(video_ctx *v, AVPacket *p, int32_t *cap);

/* The demuxer's packet `number`, sought if that is a key frame away. MEDIA_AV_AGAIN: what it gives after a seek is not what the scan saw,
 * and the run is to begin anew, without one. */
int video_read_again(video_ctx *v, int32_t number, int entering, AVPacket **out);

/* Find out which frames of the run that is entered are needed, where that can be known. */
void video_choose_needed(video_ctx *v);

/* Make of packet `number` what is needed of it; NULL: nothing. */
int video_only_needed(video_ctx *v, int32_t number, AVPacket **p);

/* p with room for n items, or NULL, and then p as it was. */
void *video_grown(void *p, int32_t *cap, int32_t n, size_t item);

#endif
