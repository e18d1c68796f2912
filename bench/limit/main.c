/* limit - what this machine can do: JPEG files to rows in a loop of plain C.
 *
 * N threads read the listed files, one after the other (open, fstat, pread, close into a buffer that is kept), and decode them
 * into rows of their own batches (32 rows each, reused) with the kernel the engine uses, but libjpeg-turbo's own decoder of Huffman codes: no ring, no Go, no queues. The
 * engine's images per second are held against this. Both read each file when its turn comes; the page cache is warm after
 * the first round. Both are measured in their steady state: here each thread makes one batch before the clock starts. Boxes and flips
 * are those of the engine's default seed, so both decode the same parts of the same pictures. What is not the same: the limit writes 2
 * batches again and again, which may stay in the processor's cache, the engine those of a ring.
 *
 *   limit [-t threads] [-n images] [-o eval|train] [-d u8|f32] [-p] [-c] FILE...
 *   limit ... -l LIST        paths from a file, one a line
 *
 * eval: resize 256, centre crop 224, normalise, NCHW, f32 unless -d says
 * otherwise. train: random resized crop 224, flip 0.5, NCHW, u8 unless -d says
 * otherwise (f32 is normalised). -p keeps to portable C; -c decodes Huffman codes
 * as the engine does, not with libjpeg-turbo's own decoder. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "row.h"

enum { BATCH = 32, SIDE = 224 };

typedef struct job {
    char **paths;
    size_t n_paths, n_images;
    media_op op;
    int without;             /* of media_ctx_new */
    pthread_barrier_t ready; /* the threads and the clock */
    atomic_size_t next, bad;
} job;

/* One thread's copy of a file; grows and is reused. */
typedef struct buffer {
    uint8_t *data;
    size_t size, cap;
} buffer;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const char *name) {
    fprintf(stderr, "limit: %s \"%s\"\n", what, name);
    exit(1);
}

static void add_path(job *j, const char *path) {
    j->paths = realloc(j->paths, (j->n_paths + 1) * sizeof *j->paths);
    if (!j->paths || !(j->paths[j->n_paths++] = strdup(path))) die("out of memory at", path);
}

static void read_list(job *j, const char *path) {
    FILE *in = fopen(path, "r");
    char line[4096];
    if (!in) die("cannot open", path);
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\t\n")] = 0;
        add_path(j, line);
    }
    fclose(in);
}

static void read_file(buffer *b, const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) die("cannot open", path);
    b->size = (size_t)st.st_size;
    if (b->cap < b->size + MEDIA_SLACK_BYTES) {
        free(b->data);
        b->cap = 2 * (b->size + MEDIA_SLACK_BYTES);
        if (!(b->data = malloc(b->cap))) die("out of memory at", path);
    }
    for (size_t at = 0; at < b->size;) {
        ssize_t n = pread(fd, b->data + at, b->size - at, (off_t)at);
        if (n <= 0) die("cannot read", path);
        at += (size_t)n;
    }
    close(fd);
    memset(b->data + b->size, 0, MEDIA_SLACK_BYTES);
}

/* One thread's state. */
typedef struct worker {
    job *j;
    media_ctx *c;
    uint8_t *batch;
    size_t row;
    buffer b;
} worker;

static void make_row(worker *w, size_t i, size_t n) {
    job *j = w->j;
    read_file(&w->b, j->paths[i % j->n_paths]);
    media_draw draw = {.seed = 0, .epoch = i / j->n_paths, .index = i % j->n_paths};
    if (media_row(w->c, w->batch + n % BATCH * w->row, w->b.data, w->b.size, &j->op, &draw) != MEDIA_OK)
        atomic_fetch_add(&j->bad, 1);
}

static void *work(void *arg) {
    job *j = arg;
    worker w = {.j = j, .c = media_ctx_new(j->without), .row = media_op_row_bytes(&j->op)};
    w.batch = aligned_alloc(64, w.row * BATCH);
    if (!w.c || !w.batch) die("out of memory in", "a worker");
    for (size_t n = 0; n < BATCH; n++) make_row(&w, n, n);
    pthread_barrier_wait(&j->ready);
    size_t i;
    for (size_t n = 0; (i = atomic_fetch_add(&j->next, 1)) < j->n_images; n++) make_row(&w, i, n);
    free(w.b.data);
    free(w.batch);
    media_ctx_free(w.c);
    return NULL;
}

static void describe(media_op *op, int train, const char *dtype) {
    static const float mean[3] = {0.485f, 0.456f, 0.406f}, std[3] = {0.229f, 0.224f, 0.225f};
    int floats = dtype ? strcmp(dtype, "f32") == 0 : !train;
    *op = (media_op){.geometry = train ? MEDIA_RANDOM_CROP : MEDIA_RESIZE_SHORT,
                     .resize_h = 256,
                     .resize_w = 256,
                     .out_h = SIDE,
                     .out_w = SIDE,
                     .filter = MEDIA_BILINEAR,
                     .mode = MEDIA_RGB,
                     .dtype = floats ? MEDIA_F32 : MEDIA_U8,
                     .layout = MEDIA_NCHW,
                     .max_pixels = 178956970,
                     .scale_min = 0.08,
                     .scale_max = 1,
                     .ratio_min = 3.0 / 4,
                     .ratio_max = 4.0 / 3,
                     .flip_p = train ? 0.5 : 0};
    for (int ch = 0; ch < 3; ch++) {
        op->mean[ch] = floats ? mean[ch] : 0;
        op->std[ch] = floats ? std[ch] : 1;
    }
    media_op_init(op);
}

static void measure(job *j, int threads) {
    pthread_t t[256];
    if (pthread_barrier_init(&j->ready, NULL, (unsigned)threads + 1) != 0) die("cannot make", "a barrier");
    for (int i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, work, j) != 0) die("cannot start", "a worker");
    pthread_barrier_wait(&j->ready);
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%zu images, %d threads: %.1f images/s, %.3f CPU s per 1000, %zu bad\n", j->n_images, threads,
           (double)j->n_images / wall, cpu * 1000 / (double)j->n_images, atomic_load(&j->bad));
}

int main(int argc, char **argv) {
    job j = {.without = MEDIA_LIBRARIES};
    int opt, threads = 1, train = 0;
    const char *dtype = NULL;
    while ((opt = getopt(argc, argv, "t:n:o:d:l:pc")) != -1) {
        switch (opt) {
        case 't': threads = atoi(optarg); break;
        case 'n': j.n_images = (size_t)atol(optarg); break;
        case 'o': train = strcmp(optarg, "train") == 0; break;
        case 'd': dtype = optarg; break;
        case 'l': read_list(&j, optarg); break;
        case 'p': j.without |= MEDIA_PORTABLE; break;
        case 'c': j.without &= ~MEDIA_LIBRARIES; break;
        default: return 2;
        }
    }
    for (; optind < argc; optind++) add_path(&j, argv[optind]);
    if (j.n_paths == 0 || threads < 1 || threads > 256) {
        fprintf(stderr, "usage: limit [-t threads] [-n images] [-o eval|train] [-d u8|f32] [-p] [-c] "
                        "[-l list] [file...]\n");
        return 2;
    }
    if (j.n_images == 0) j.n_images = j.n_paths;
    describe(&j.op, train, dtype);
    measure(&j, threads);
    for (size_t i = 0; i < j.n_paths; i++) free(j.paths[i]);
    free(j.paths);
    return 0;
}
