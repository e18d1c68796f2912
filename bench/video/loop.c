/* loop.c - the limit: a plain loop over libavformat, libavcodec and libswscale.
 *
 *     loop FILE PASSES THREADS [COUNT]
 *
 * decodes the file PASSES times from memory, all frames or up to the last of COUNT even ones, and turns each wanted frame
 * into RGB. Prints the frames delivered and the CPU seconds, as JSON. */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { N_FRAMES = 300 };

typedef struct reader {
    uint8_t *data;
    int64_t size, at;
} reader;

static int get(void *opaque, uint8_t *to, int n) {
    reader *r = opaque;
    if (r->at >= r->size) return AVERROR_EOF;
    if (n > r->size - r->at) n = (int)(r->size - r->at);
    memcpy(to, r->data + r->at, (size_t)n);
    r->at += n;
    return n;
}

static int64_t seek(void *opaque, int64_t to, int whence) {
    reader *r = opaque;
    if (whence == AVSEEK_SIZE) return r->size;
    if (whence == SEEK_CUR) to += r->at;
    if (whence == SEEK_END) to += r->size;
    return r->at = to;
}

static int wanted(int i, int count) {
    if (!count) return 1;
    for (int k = 0; k < count; k++)
        if ((long)k * (N_FRAMES - 1) / (count - 1) == i) return 1;
    return 0;
}

static int pass(reader *r, int threads, int count, uint8_t *out) {
    AVFormatContext *f = avformat_alloc_context();
    r->at = 0;
    f->pb = avio_alloc_context(av_malloc(65536), 65536, 0, r, get, NULL, seek);
    avformat_open_input(&f, NULL, NULL, NULL);
    avformat_find_stream_info(f, NULL);
    int s = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0), n = 0, i = 0, rc;
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(f->streams[s]->codecpar->codec_id));
    avcodec_parameters_to_context(c, f->streams[s]->codecpar);
    c->thread_count = threads;
    avcodec_open2(c, NULL, NULL);
    struct SwsContext *sws = sws_getContext(c->width, c->height, c->pix_fmt, c->width, c->height,
                                            AV_PIX_FMT_RGB24, SWS_BICUBIC, NULL, NULL, NULL);
    AVPacket *p = av_packet_alloc();
    AVFrame *fr = av_frame_alloc();
    for (int end = 0; i < N_FRAMES;) {
        while ((rc = avcodec_receive_frame(c, fr)) >= 0) {
            if (wanted(i++, count)) {
                uint8_t *d[4] = {out + (size_t)n++ * c->width * c->height * 3};
                int st[4] = {c->width * 3};
                sws_scale(sws, (const uint8_t *const *)fr->data, fr->linesize, 0, c->height, d, st);
            }
        }
        if (end || rc == AVERROR_EOF) break;
        end = av_read_frame(f, p) < 0;
        if (end || p->stream_index == s) avcodec_send_packet(c, end ? NULL : p);
        av_packet_unref(p);
    }
    sws_freeContext(sws);
    av_packet_free(&p);
    av_frame_free(&fr);
    avcodec_free_context(&c);
    AVIOContext *io = f->pb;
    avformat_close_input(&f);
    av_freep(&io->buffer);
    avio_context_free(&io);
    return n;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    reader r = {0};
    FILE *f = fopen(argv[1], "rb");
    if (!f) return perror(argv[1]), 1;
    fseek(f, 0, SEEK_END);
    r.size = ftell(f);
    rewind(f);
    r.data = malloc((size_t)r.size);
    if (fread(r.data, 1, (size_t)r.size, f) != (size_t)r.size) return perror(argv[1]), 1;
    fclose(f);
    int passes = atoi(argv[2]), threads = atoi(argv[3]), count = argc > 4 ? atoi(argv[4]) : 0, n = 0;
    uint8_t *out = malloc((size_t)N_FRAMES * 640 * 480 * 3);
    pass(&r, threads, count, out);
    double t = cpu();
    for (int i = 0; i < passes; i++) n += pass(&r, threads, count, out);
    printf("{\"frames\": %d, \"cpu_seconds\": %.4f}\n", n, cpu() - t);
    return 0;
}
