/* normal.c - normal_isa.h's numbers, and the words they are made of, in plain C. */
#include "internal.h"

#define ISA
#include "normal_isa.h"

void media_normals_portable(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst) {
    normals(key, channel, block, n, dst);
}

void media_words_portable(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst) {
    words(key, channel, block, n, dst);
}
