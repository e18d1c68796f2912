/* loop.c - the limit: a plain loop over libavformat, libavcodec and libswscale.
 *
 *     loop FILE PASSES THREADS FRAMES COUNT [skip]
 *
 * decodes the file, which has FRAMES, PASSES times from memory, all of them where COUNT is 0 or else up to the last of COUNT
 * even ones, and turns each wanted frame into RGB. With `skip` it seeks where the next wanted frame lies behind a later key
 * frame. Prints the frames delivered and the CPU seconds, as JSON. */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* What to do, from the command line. */
static int threads, frames, count, skips;

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

/* The frame that is wanted as number k. */
static int wanted(int k) { return count ? (int)((long)k * (frames - 1) / (count - 1)) : k; }

/* Whether a key frame lies between what was decoded last and the frame of time ts: then the reader stands at the last one. */
static int leap(AVFormatContext *f, AVCodecContext *c, int stream, int64_t last, int64_t ts) {
    AVStream *s = f->streams[stream];
    const AVIndexEntry *e =
        avformat_index_get_entry(s, av_index_search_timestamp(s, ts, AVSEEK_FLAG_BACKWARD));
    if (!skips || !e || e->timestamp <= last || av_seek_frame(f, stream, ts, AVSEEK_FLAG_BACKWARD) < 0)
        return 0;
    avcodec_flush_buffers(c);
    return 1;
}

static int pass(reader *r, uint8_t *out) {
    AVFormatContext *f = avformat_alloc_context();
    r->at = 0;
    f->pb = avio_alloc_context(av_malloc(65536), 65536, 0, r, get, NULL, seek);
    avformat_open_input(&f, NULL, NULL, NULL);
    avformat_find_stream_info(f, NULL);
    int s = av_find_best_stream(f, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0), n = 0, rc;
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(f->streams[s]->codecpar->codec_id));
    avcodec_parameters_to_context(c, f->streams[s]->codecpar);
    c->thread_count = threads;
    avcodec_open2(c, NULL, NULL);
    struct SwsContext *sws = sws_getContext(c->width, c->height, c->pix_fmt, c->width, c->height,
                                            AV_PIX_FMT_RGB24, SWS_BICUBIC, NULL, NULL, NULL);
    AVPacket *p = av_packet_alloc();
    AVFrame *fr = av_frame_alloc();
    const int n_wanted = count ? count : frames;
    const int64_t tick = av_rescale_q(1, av_inv_q(f->streams[s]->avg_frame_rate), f->streams[s]->time_base);
    const int64_t first = f->streams[s]->start_time == AV_NOPTS_VALUE ? 0 : f->streams[s]->start_time;
    for (int end = 0; n < n_wanted;) {
        while (n < n_wanted && (rc = avcodec_receive_frame(c, fr)) >= 0) {
            /* half a tick, as some containers round times */
            if (fr->best_effort_timestamp < first + wanted(n) * tick - tick / 2) continue;
            uint8_t *d[4] = {out + (size_t)n++ * c->width * c->height * 3};
            int st[4] = {c->width * 3};
            sws_scale(sws, (const uint8_t *const *)fr->data, fr->linesize, 0, c->height, d, st);
            if (n < n_wanted && leap(f, c, s, fr->best_effort_timestamp, first + wanted(n) * tick)) end = 0;
        }
        if (n == n_wanted || rc == AVERROR_EOF) break;
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
    if (argc < 6) return 2;
    reader r = {0};
    FILE *f = fopen(argv[1], "rb");
    if (!f) return perror(argv[1]), 1;
    fseek(f, 0, SEEK_END);
    r.size = ftell(f);
    rewind(f);
    r.data = malloc((size_t)r.size);
    if (fread(r.data, 1, (size_t)r.size, f) != (size_t)r.size) return perror(argv[1]), 1;
    fclose(f);
    int passes = atoi(argv[2]), n = 0;
    threads = atoi(argv[3]);
    frames = atoi(argv[4]);
    count = atoi(argv[5]);
    skips = argc > 6;
    uint8_t *out = malloc((size_t)(count ? count : frames) * 1280 * 720 * 3);
    pass(&r, out);
    double t = cpu();
    for (int i = 0; i < passes; i++) n += pass(&r, out);
    printf("{\"frames\": %d, \"cpu_seconds\": %.4f}\n", n, cpu() - t);
    return 0;
}
