/* own_source.c - samples of one's own in C: the program brings the bytes, the engine does the rest.
 *
 *     own_source PICTURE...
 *
 * The samples are the files of the command line, which four threads read; a real program would unpack an archive or ask a
 * database. The engine shuffles, decodes, resizes and batches; one line is printed per row. A file that cannot be read is
 * a bad sample, which is counted and left out.
 *
 *     cc own_source.c $(pkg-config --cflags --libs spdl) -pthread -o own_source
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <spdl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

static char **files;
static int64_t source;

/* The whole file, to be freed; NULL with errno. */
static void *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rbe");
    if (!f) return NULL;
    char *data = NULL;
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size > 0 && fseek(f, 0, SEEK_SET) == 0 && (data = malloc((size_t)size)) != NULL)
        *n = fread(data, 1, (size_t)size, f);
    fclose(f);
    return data;
}

static void *bring(void *unused) {
    spdl_want want = SPDL_WANT_INIT;
    while (spdl_source_take(source, SPDL_FOREVER, &want) == SPDL_OK) {
        spdl_sample sample = SPDL_SAMPLE_INIT;
        errno = 0;
        void *data = read_file(files[want.index], &sample.n_bytes);
        sample.key = files[want.index];
        sample.label = (int64_t)want.index;
        sample.bytes = data;
        if (!data) sample.error = errno ? strerror(errno) : "the file is empty";
        spdl_source_give(source, &want, &sample); /* copied */
        free(data);
    }
    return unused;
}

static int print_rows(spdl_reader *reader, const spdl_batch *batch) {
    spdl_tensor key = SPDL_TENSOR_INIT, image = SPDL_TENSOR_INIT;
    if (spdl_batch_tensor(reader, batch, (uint32_t)spdl_tensor_index(reader, "key"), &key) != SPDL_OK ||
        spdl_batch_tensor(reader, batch, (uint32_t)spdl_tensor_index(reader, "image"), &image) != SPDL_OK)
        return 1;
    for (uint32_t i = 0; i < batch->rows; i++) {
        const uint8_t *row = (const uint8_t *)image.data + (int64_t)i * image.strides[0];
        uint64_t sum = 0, n = image.bytes / batch->rows;
        for (uint64_t k = 0; k < n; k++) sum += row[k];
        printf("%.*s %.2f\n", (int)(key.offsets[i + 1] - key.offsets[i]),
               (const char *)key.data + key.offsets[i], (double)sum / (double)n);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: own_source PICTURE...\n");
        return 2;
    }
    char spec[256];
    snprintf(spec, sizeof spec,
             "{\"source\": {\"host\": {\"samples\": %d}}, \"order\": {\"epochs\": 1}, \"batch\": 8,"
             " \"image\": {\"transform\": [{\"resize\": [64, 64]}]}}",
             argc - 1);
    files = argv + 1;

    spdl_reader *reader;
    spdl_open_opts opts = SPDL_OPEN_OPTS_INIT;
    opts.form = SPDL_FORM_IN_PROCESS;
    if (spdl_open(spec, &opts, &reader) != SPDL_OK || (source = spdl_source_id(reader)) < 0) {
        fprintf(stderr, "own_source: %s\n", spdl_last_error());
        return 1;
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, bring, NULL) != 0) return 1;

    spdl_batch batch = SPDL_BATCH_INIT;
    spdl_status s;
    uint32_t bad = 0;
    while ((s = spdl_acquire(reader, SPDL_FOREVER, &batch)) == SPDL_OK) {
        bad += batch.n_bad;
        int failed = print_rows(reader, &batch);
        spdl_release(reader, &batch);
        if (failed) break;
    }
    if (s != SPDL_END_EPOCH) fprintf(stderr, "own_source: %s\n", spdl_last_error());
    spdl_detach(reader); /* the threads hear that the data is over */
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    fprintf(stderr, "%u bad\n", bad);
    return s == SPDL_END_EPOCH ? 0 : 1;
}
