/* stage.c - a stage in C: it inverts every picture of a batch in its slot, before any consumer sees it.
 *
 *     stage NAME GROUP
 *
 * NAME is a running engine whose description declares the stage:
 *
 *     ring: {groups: [{name: augment, kind: stage}, {name: train}]}
 *
 * Any number of these may run; each batch goes to one of them. If one is killed with a batch in its hands the engine
 * decodes that batch again. Ends with the data.
 *
 *     cc stage.c $(pkg-config --cflags --libs spdl) -o stage
 */
#include <spdl.h>

#include <inttypes.h>
#include <stdio.h>

/* Returns NULL, or why the batch cannot be transformed. */
static const char *invert(spdl_reader *reader, const spdl_batch *batch) {
    spdl_tensor image = SPDL_TENSOR_INIT;
    if (spdl_batch_tensor(reader, batch, (uint32_t)spdl_tensor_index(reader, "image"), &image) != SPDL_OK)
        return spdl_last_error();
    if (image.dtype_code != SPDL_UINT || image.dtype_bits != 8) return "the images are not uint8";
    uint8_t *pixels = image.data; /* dense */
    for (uint64_t i = 0; i < image.bytes; i++) pixels[i] = (uint8_t)(255 - pixels[i]);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: stage NAME GROUP\n");
        return 2;
    }
    spdl_attach_opts opts = SPDL_ATTACH_OPTS_INIT;
    opts.group = argv[2];
    opts.max_leases = 1;
    spdl_reader *reader;
    spdl_status s = spdl_attach(argv[1], &opts, &reader);
    if (s != SPDL_OK) {
        fprintf(stderr, "stage: %s\n", spdl_last_error());
        return 1;
    }
    uint64_t batches = 0;
    spdl_batch batch = SPDL_BATCH_INIT;
    while ((s = spdl_acquire(reader, SPDL_FOREVER, &batch)) >= SPDL_OK && s != SPDL_END_DATA) {
        if (s == SPDL_END_EPOCH) continue;
        const char *why = invert(reader, &batch);
        s = why ? spdl_fail(reader, &batch, why) : spdl_release(reader, &batch); /* release hands it on */
        if (s != SPDL_OK) break;
        batches++;
    }
    if (s < SPDL_OK)
        fprintf(stderr, "stage: %s\n", spdl_last_error());
    else
        printf("%" PRIu64 " %s\n", batches, batches == 1 ? "batch" : "batches");
    spdl_detach(reader);
    return s < SPDL_OK;
}
