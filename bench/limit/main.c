/* limit - what this machine can do: JPEG files to rows in a loop of plain C.
 *
 * Reads the listed files into memory, then N threads decode them into rows of
 * their own batches (32 rows each, reused) with the kernel the engine uses:
 * no ring, no Go. The engine's images per second are held against this.
 *
 *   limit [-t threads] [-n images] [-o eval|train] [-d u8|f32] [-p] FILE...
 *   limit ... -l LIST        paths from a file, one a line
 *
 * eval: resize 256, centre crop 224, normalise, NCHW, f32 unless -d says
 * otherwise. train: random resized crop 224, flip 0.5, NCHW, u8 unless -d says
 * otherwise (f32 is normalised). -p keeps to portable C. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "row.h"

enum { BATCH = 32, SIDE = 224 };

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

typedef struct job {
    file *files;
    size_t n_files, n_images;
    media_op op;
    int portable;
    atomic_size_t next, bad;
} job;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const char *name) {
    fprintf(stderr, "limit: %s \"%s\"\n", what, name);
    exit(1);
}

static void read_file(file *f, const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) die("cannot open", path);
    f->size = (size_t)ftell(in);
    rewind(in);
    f->data = calloc(1, f->size + MEDIA_SLACK_BYTES);
    if (!f->data || fread(f->data, 1, f->size, in) != f->size) die("cannot read", path);
    fclose(in);
}

static void read_list(job *j, const char *path) {
    FILE *in = fopen(path, "r");
    char line[4096];
    if (!in) die("cannot open", path);
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\t\n")] = 0;
        j->files = realloc(j->files, (j->n_files + 1) * sizeof *j->files);
        read_file(&j->files[j->n_files++], line);
    }
    fclose(in);
}

static void *work(void *arg) {
    job *j = arg;
    size_t row = media_op_row_bytes(&j->op), i;
    media_ctx *c = media_ctx_new(j->portable);
    uint8_t *batch = aligned_alloc(64, row * BATCH);
    if (!c || !batch) die("out of memory in", "a worker");
    memset(batch, 0, row * BATCH);
    for (size_t n = 0; (i = atomic_fetch_add(&j->next, 1)) < j->n_images; n++) {
        const file *f = &j->files[i % j->n_files];
        media_draw draw = {.seed = 1, .epoch = i / j->n_files, .index = i % j->n_files};
        if (media_row(c, batch + n % BATCH * row, f->data, f->size, &j->op, &draw) != MEDIA_OK)
            atomic_fetch_add(&j->bad, 1);
    }
    free(batch);
    media_ctx_free(c);
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
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&t[i], NULL, work, j) != 0) die("cannot start", "a worker");
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%zu images, %d threads: %.1f images/s, %.3f CPU s per 1000, %zu bad\n", j->n_images, threads,
           (double)j->n_images / wall, cpu * 1000 / (double)j->n_images, atomic_load(&j->bad));
}

int main(int argc, char **argv) {
    job j = {.n_images = 0};
    int opt, threads = 1, train = 0;
    const char *dtype = NULL;
    while ((opt = getopt(argc, argv, "t:n:o:d:l:p")) != -1) {
        switch (opt) {
        case 't': threads = atoi(optarg); break;
        case 'n': j.n_images = (size_t)atol(optarg); break;
        case 'o': train = strcmp(optarg, "train") == 0; break;
        case 'd': dtype = optarg; break;
        case 'l': read_list(&j, optarg); break;
        case 'p': j.portable = 1; break;
        default: return 2;
        }
    }
    for (; optind < argc; optind++) {
        j.files = realloc(j.files, (j.n_files + 1) * sizeof *j.files);
        read_file(&j.files[j.n_files++], argv[optind]);
    }
    if (j.n_files == 0 || threads < 1 || threads > 256) {
        fprintf(stderr, "usage: limit [-t threads] [-n images] [-o eval|train] [-d u8|f32] [-p] "
                        "[-l list] [file...]\n");
        return 2;
    }
    if (j.n_images == 0) j.n_images = j.n_files;
    describe(&j.op, train, dtype);
    measure(&j, threads);
    for (size_t i = 0; i < j.n_files; i++) free(j.files[i].data);
    free(j.files);
    return 0;
}
