/* normal_avx2.c - normal_isa.h's numbers for processors with AVX2. */
#include "internal.h"

#if defined(__x86_64__)
#define ISA __attribute__((target("avx2")))
#define NORMAL_AVX2
#include "normal_isa.h"

void media_normals_avx2(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, float *dst) {
    normals(key, channel, block, n, dst);
}

void media_words_avx2(const uint32_t key[2], uint32_t channel, uint32_t block, size_t n, uint32_t *dst) {
    words(key, channel, block, n, dst);
}
#endif
