/* train.c - one epoch in C: batches/s, the mean of the images, how many labels there are.
 *
 *     train SPEC_OR_NAME [GROUP] [--hash]
 *
 * An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
 * alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
 * examples/README.md.
 *
 *     cc train.c $(pkg-config --cflags --libs spdl) -o train
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <spdl.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_spec(const char *text) {
    struct stat st;
    return text[0] == '{' || (stat(text, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)));
}

static spdl_status open_or_attach(const char *what, const char *group, spdl_reader **reader) {
    spdl_open_opts opts = SPDL_OPEN_OPTS_INIT;
    opts.attach.group = group;
    opts.attach.max_leases = 1; /* each batch is released before the next is asked for */
    return is_spec(what) ? spdl_open(what, &opts, reader) : spdl_attach(what, &opts.attach, reader);
}

/* The CRC-32 of zlib, going on from crc. */
static uint32_t crc32(uint32_t crc, const void *data, size_t bytes) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ UINT32_C(0xedb88320) : c >> 1;
            table[i] = c;
        }
    const unsigned char *p = data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) crc = table[(crc ^ p[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static spdl_status print_hash(spdl_reader *reader, const spdl_batch *batch) {
    uint32_t hash = crc32(0, &batch->rows, sizeof batch->rows);
    for (uint32_t i = 0; i < spdl_n_tensors(reader); i++) {
        spdl_tensor t = SPDL_TENSOR_INIT;
        spdl_status s = spdl_batch_tensor(reader, batch, i, &t);
        if (s != SPDL_OK) return s;
        hash = crc32(hash, t.data, t.bytes);
        if (t.offsets) hash = crc32(hash, t.offsets, (batch->rows + (size_t)1) * sizeof *t.offsets);
    }
    printf("%" PRIu64 " %08" PRIx32 "\n", batch->ticket, hash);
    return SPDL_OK;
}

typedef struct totals {
    uint64_t batches, rows, elements;
    double sum;      /* of image elements */
    int64_t *labels; /* ascending, each once */
    size_t n_labels, room;
} totals;

static void add_image(totals *all, const spdl_tensor *t) {
    size_t n = t->bytes / (t->dtype_bits / 8u), elements = 1;
    double sum = 0;
    if (t->dtype_code == SPDL_UINT && t->dtype_bits == 8)
        for (size_t i = 0; i < n; i++) sum += ((const uint8_t *)t->data)[i];
    else if (t->dtype_code == SPDL_FLOAT && t->dtype_bits == 32)
        for (size_t i = 0; i < n; i++) sum += (double)((const float *)t->data)[i];
    else
        return; /* half and bfloat16 need a conversion that C has no type for */
    all->sum += sum;
    /* Where rows are padded there is more memory than elements: what lies around them is zero. */
    for (uint32_t i = 0; i < t->ndim; i++) elements *= (size_t)t->shape[i];
    all->elements += elements;
}

static void add_label(totals *all, int64_t label) {
    size_t at = 0, end = all->n_labels; /* labels before at are lower, from end on they are not */
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (all->labels[middle] < label)
            at = middle + 1;
        else
            end = middle;
    }
    if (at < all->n_labels && all->labels[at] == label) return;
    if (all->n_labels == all->room) {
        all->room = 2 * all->room + 64;
        all->labels = realloc(all->labels, all->room * sizeof *all->labels);
        if (!all->labels) abort();
    }
    memmove(all->labels + at + 1, all->labels + at, (all->n_labels++ - at) * sizeof *all->labels);
    all->labels[at] = label;
}

static void add_labels(totals *all, const spdl_tensor *t, uint32_t rows) {
    if (t->dtype_code != SPDL_INT || t->dtype_bits != 64 || t->ndim != 1) return;
    const int64_t *labels = t->data;
    for (uint32_t i = 0; i < rows; i++)
        if (labels[i] != -1) add_label(all, labels[i]); /* -1: the sample has none */
}

static const char *plural(uint64_t n, const char *one, const char *more) { return n == 1 ? one : more; }

static spdl_status train(spdl_reader *reader, const spdl_batch *batch, totals *all) {
    int32_t image = spdl_tensor_index(reader, "image"), label = spdl_tensor_index(reader, "label");
    spdl_tensor t = SPDL_TENSOR_INIT;
    spdl_status s;
    if (image >= 0) {
        if ((s = spdl_batch_tensor(reader, batch, (uint32_t)image, &t)) != SPDL_OK) return s;
        add_image(all, &t);
    }
    if (label >= 0) {
        if ((s = spdl_batch_tensor(reader, batch, (uint32_t)label, &t)) != SPDL_OK) return s;
        add_labels(all, &t, batch->rows);
    }
    all->batches++;
    all->rows += batch->rows;
    return SPDL_OK;
}

int main(int argc, char **argv) {
    const char *what = NULL, *group = NULL;
    int hash = 0, extra = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--hash") == 0)
            hash = 1;
        else if (argv[i][0] == '-')
            extra = 1;
        else if (!what)
            what = argv[i];
        else if (!group)
            group = argv[i];
        else
            extra = 1;
    }
    if (!what || extra) {
        fprintf(stderr, "usage: train SPEC_OR_NAME [GROUP] [--hash]\n");
        return 2;
    }

    spdl_reader *reader;
    spdl_status s = open_or_attach(what, group, &reader);
    if (s != SPDL_OK) {
        fprintf(stderr, "train: %s\n", spdl_last_error());
        return 1;
    }
    static totals all;
    spdl_batch batch = SPDL_BATCH_INIT;
    double start = now();
    while ((s = spdl_acquire(reader, SPDL_FOREVER, &batch)) == SPDL_OK) {
        if (hash) s = print_hash(reader, &batch);
        if (s == SPDL_OK) s = train(reader, &batch, &all);
        spdl_release(reader, &batch);
        if (s != SPDL_OK) break;
    }
    double seconds = now() - start;
    if (s < 0) fprintf(stderr, "train: %s\n", spdl_last_error());
    spdl_detach(reader);
    if (s < 0) return 1; /* part of an epoch is none */

    printf("%" PRIu64 " %s, %" PRIu64 " %s, %.1f batches/s; mean of image %.4f; %zu %s\n", all.batches,
           plural(all.batches, "batch", "batches"), all.rows, plural(all.rows, "row", "rows"),
           (double)all.batches / seconds, all.elements ? all.sum / (double)all.elements : 0.0, all.n_labels,
           plural(all.n_labels, "label", "labels"));
    free(all.labels);
    return 0;
}
