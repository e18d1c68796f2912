/* software.c - a decoder of FFmpeg's that is asked for every picture, shown or not. */
#include "software.h"

#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

struct software {
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *picture; /* that is being decoded */
    AVFrame *shown;   /* what the decoder has to show, which nobody looks at */
};

/* Every picture is got here, also one that is not to be shown. */
static int get_buffer(AVCodecContext *c, AVFrame *frame, int flags) {
    software *s = c->opaque;
    int rc = avcodec_default_get_buffer2(c, frame, flags);
    av_frame_unref(s->picture);
    return rc < 0 ? rc : av_frame_ref(s->picture, frame);
}

software *software_open(enum AVCodecID id) {
    const AVCodec *codec = avcodec_find_decoder(id);
    software *s = codec ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    s->codec = avcodec_alloc_context3(codec);
    s->packet = av_packet_alloc();
    s->picture = av_frame_alloc();
    s->shown = av_frame_alloc();
    if (s->codec && s->packet && s->picture && s->shown) {
        s->codec->opaque = s;
        s->codec->get_buffer2 = get_buffer;
        s->codec->thread_count = 1;       /* a picture is there when its packet was taken */
        s->codec->log_level_offset = 100; /* below every level that is shown or kept */
        if (avcodec_open2(s->codec, codec, NULL) >= 0) return s;
    }
    software_close(s);
    return NULL;
}

void software_close(software *s) {
    avcodec_free_context(&s->codec);
    av_packet_free(&s->packet);
    av_frame_free(&s->picture);
    av_frame_free(&s->shown);
    free(s);
}

void software_flush(software *s) { avcodec_flush_buffers(s->codec); }

const AVFrame *software_decode(software *s, const uint8_t *head, size_t n_head, const uint8_t *bytes,
                               size_t n_bytes, int second) {
    if (!second) av_frame_unref(s->picture);
    av_packet_unref(s->packet);
    if (av_new_packet(s->packet, (int)(n_head + n_bytes)) < 0) return NULL;
    if (n_head > 0) memcpy(s->packet->data, head, n_head);
    memcpy(s->packet->data + n_head, bytes, n_bytes);
    int rc = avcodec_send_packet(s->codec, s->packet);
    while (rc >= 0) rc = avcodec_receive_frame(s->codec, s->shown);
    return rc == AVERROR(EAGAIN) && s->picture->buf[0] ? s->picture : NULL;
}

static void put_row(uint8_t *to, const uint8_t *from, int n, int step, int shift) {
    if (shift == 0)
        for (int x = 0; x < n; x++) to[x * step] = from[x];
    else
        for (int x = 0; x < n; x++)
            ((uint16_t *)(void *)to)[x * step] =
                (uint16_t)(((const uint16_t *)(const void *)from)[x] << shift);
}

void software_put(const AVFrame *f, int width, int height, uint8_t *luma, uint8_t *chroma, size_t pitch) {
    int depth = av_pix_fmt_desc_get(f->format)->comp[0].depth, wide = depth > 8,
        shift = wide ? 16 - depth : 0;
    if (f->width < width) width = f->width;
    if (f->height < height) height = f->height;
    for (int y = 0; y < height; y++)
        put_row(luma + (size_t)y * pitch, f->data[0] + y * f->linesize[0], width, 1, shift);
    for (int y = 0; y < (height + 1) / 2; y++)
        for (int i = 0; i < 2; i++)
            put_row(chroma + (size_t)y * pitch + (i << wide), f->data[1 + i] + y * f->linesize[1 + i],
                    (width + 1) / 2, 2, shift);
}
