/* loop.c - the limit: a plain loop over libavformat, libavcodec and libswresample.
 *
 *     loop SECONDS THREADS FILE...
 *
 * decodes the files in turn, each opened by its path, into 16 kHz mono float samples of one buffer a thread, until SECONDS have passed;
 * swresample resamples as it does unless told otherwise, which is shorter a filter than torchaudio's. Prints one JSON object in the
 * words of bench/audio/spdl/main.go. */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libswresample/swresample.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { RATE = 16000, ROOM = 60 * RATE };

static void must(int rc, const char *what, const char *path) {
    if (rc >= 0) return;
    fprintf(stderr, "loop: %s: %s: %s\n", path, what, av_err2str(rc));
    exit(1);
}

static int resample(SwrContext *swr, float *out, int n, const AVFrame *fr) {
    uint8_t *to[1] = {(uint8_t *)(out + n)};
    int got = swr_convert(swr, to, ROOM - n, fr ? (const uint8_t **)fr->extended_data : NULL,
                          fr ? fr->nb_samples : 0);
    must(got, "resample", "samples");
    return got;
}

/* How many samples the file has at 16 kHz. */
static int decode(const char *path, float *out) {
    AVFormatContext *f = NULL;
    must(avformat_open_input(&f, path, NULL, NULL), "open", path);
    must(avformat_find_stream_info(f, NULL), "find streams", path);
    int s = av_find_best_stream(f, AVMEDIA_TYPE_AUDIO, -1, -1, NULL, 0), n = 0, rc;
    must(s, "find sound", path);
    AVCodecContext *c = avcodec_alloc_context3(avcodec_find_decoder(f->streams[s]->codecpar->codec_id));
    must(avcodec_parameters_to_context(c, f->streams[s]->codecpar), "copy parameters", path);
    c->thread_count = 1;
    must(avcodec_open2(c, NULL, NULL), "open decoder", path);
    SwrContext *swr = NULL;
    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
    if (c->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
        av_channel_layout_default(&c->ch_layout, c->ch_layout.nb_channels);
    must(swr_alloc_set_opts2(&swr, &mono, AV_SAMPLE_FMT_FLT, RATE, &c->ch_layout, c->sample_fmt,
                             c->sample_rate, 0, NULL),
         "set up resampling", path);
    must(swr_init(swr), "begin resampling", path);
    AVPacket *p = av_packet_alloc();
    AVFrame *fr = av_frame_alloc();
    for (int end = 0;;) {
        while ((rc = avcodec_receive_frame(c, fr)) >= 0) n += resample(swr, out, n, fr);
        if (end || rc == AVERROR_EOF) break;
        end = av_read_frame(f, p) < 0;
        if (end || p->stream_index == s) avcodec_send_packet(c, end ? NULL : p);
        av_packet_unref(p);
    }
    n += resample(swr, out, n, NULL);
    swr_free(&swr);
    av_packet_free(&p);
    av_frame_free(&fr);
    avcodec_free_context(&c);
    avformat_close_input(&f);
    return n;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

typedef struct worker {
    pthread_t thread;
    char **files; /* to NULL */
    double end;
    int done, samples;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    float *out = malloc(sizeof *out * ROOM);
    for (char **f = w->files; *f; f++) w->samples = decode(*f, out);
    while (now() < w->end)
        for (char **f = w->files; *f; f++, w->done++) decode(*f, out);
    free(out);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: loop SECONDS THREADS FILE...\n"), 2;
    av_log_set_level(AV_LOG_ERROR);
    double seconds = atof(argv[1]), used = cpu(), began = now();
    int threads = atoi(argv[2]), n = 0;
    worker *workers = calloc((size_t)threads, sizeof *workers);
    for (worker *w = workers; w < workers + threads; w++) {
        w->files = argv + 3;
        w->end = began + seconds;
        pthread_create(&w->thread, NULL, work, w);
    }
    for (worker *w = workers; w < workers + threads; w++) {
        pthread_join(w->thread, NULL);
        for (char **f = w->files; *f; f++) n++; /* the first round */
        n += w->done;
    }
    double took = now() - began;
    used = cpu() - used;
    printf("{\"files_per_second\": %.4f, \"cpu_ms_per_file\": %.6f, \"samples\": %d}\n", n / took,
           1000 * used / n, workers[0].samples);
    free(workers);
    return 0;
}
