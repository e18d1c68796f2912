/* philox.c - the counter-based random numbers behind augmentation.
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). The key is the seed; the counter's words are
 *
 *   0  sample index, low 32 bits     2  epoch, low 32 bits
 *   1  sample index, high 32 bits    3  operation << 24 | again << 20 | block
 *
 * of which `again` is how many of a step's kind come before it, so every draw has an address, and a sample's picture does not depend on which
 * thread made it or what was made before. A block of four words gives two
 * uniforms of 53 bits: (a >> 5, b >> 6) as (a * 2^26 + b) / 2^53. */
#include "internal.h"

static void philox_round(uint32_t c[4], const uint32_t k[2]) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k[0];
    uint32_t n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k[1];
    c[1] = (uint32_t)p1;
    c[3] = (uint32_t)p0;
    c[0] = n0;
    c[2] = n2;
}

static double uniform53(uint32_t a, uint32_t b) {
    return ((double)(a >> 5) * 67108864.0 + (double)(b >> 6)) * (1.0 / 9007199254740992.0);
}

void media_philox(const uint32_t key[2], uint32_t c[4]) {
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 10; i++) {
        philox_round(c, k);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
}

void media_words(const media_draw *d, uint32_t op, uint32_t block, uint32_t c[4]) {
    const uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
    c[0] = (uint32_t)d->index;
    c[1] = (uint32_t)(d->index >> 32);
    c[2] = (uint32_t)d->epoch;
    c[3] = op << 24 | d->again << 20 | block;
    media_philox(key, c);
}

void media_uniforms_of(const uint32_t words[4], double u[2]) {
    u[0] = uniform53(words[0], words[1]);
    u[1] = uniform53(words[2], words[3]);
}

void media_uniforms(const media_draw *d, uint32_t op, uint32_t block, double u[2]) {
    uint32_t c[4];
    media_words(d, op, block, c);
    media_uniforms_of(c, u);
}

int media_chance(const media_draw *d, uint32_t op, uint32_t block, double p) {
    double u[2];
    if (p <= 0) return 0;
    media_uniforms(d, op, block, u);
    return u[0] < p;
}
