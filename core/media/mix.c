/* mix.c - torchvision's AugMix: the picture and what chains of operations made of it, added up by shares that are drawn.
 *
 * The sum is torch's, in floats of 32 bits: share times value, each rounded, one after the other, and the whole number below.
 *
 * Shares are of a symmetric Dirichlet distribution: numbers of a gamma distribution, divided by their sum. Draws, in the words of philox.c: of
 * operation 8. Number j is drawn from block 4096 + 256 j on by Marsaglia and Tsang's method ("A simple method for generating gamma
 * variables", 2000): try t has a normal number (timm.c) from block 2 t of these and a uniform from the one behind it. Where alpha is
 * below 1 a number of alpha + 1 is multiplied by 1 - v to the power of 1 / alpha, v being the second uniform of block 1. Numbers 0 and 1 are
 * how much is the picture's own and how much the chains'; those from 2 on divide that among these. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "internal.h"

enum { GAMMA = 4096, TRIES = 128, BLOCKS = 2 * TRIES /* of each number */ };

static double gamma_number(const media_draw *d, double alpha, uint32_t j) {
    uint32_t first = GAMMA + BLOCKS * j;
    double shape = alpha < 1 ? alpha + 1 : alpha, most = shape - 1.0 / 3, by = 1 / sqrt(9 * most), v = 1;
    for (uint32_t t = 0; t < TRIES; t++) { /* of which one in twenty fails at most */
        double n[2], u[2];
        media_uniforms(d, OP_AUGMENT, first + 2 * t, n);
        media_uniforms(d, OP_AUGMENT, first + 2 * t + 1, u);
        double x = sqrt(-2 * log(1 - n[0])) * cos(2 * 3.141592653589793 * n[1]), root = 1 + by * x;
        v = root * root * root;
        if (root > 0 && log(1 - u[0]) < 0.5 * x * x + most * (1 - v + log(v))) break;
        v = 1;
    }
    if (alpha >= 1) return most * v;
    double u[2];
    media_uniforms(d, OP_AUGMENT, first + 1, u);
    return most * v * pow(1 - u[1], 1 / alpha);
}

void media_draw_shares(const media_augment_step *of, const media_draw *d, float *own, float *chains) {
    double all[MEDIA_MAX_MIX], sum = 0;
    double picture = gamma_number(d, of->alpha, 0), others = gamma_number(d, of->alpha, 1);
    for (uint32_t i = 0; i < of->width; i++) sum += all[i] = gamma_number(d, of->alpha, 2 + i);
    *own = (float)(picture / (picture + others));
    float rest = (float)(others / (picture + others));
    for (uint32_t i = 0; i < of->width; i++) chains[i] = (float)(all[i] / sum) * rest;
}

/* What is in the room: the sum, and a copy of the pixels. */
int media_mix(const media_retouch *r, const media_pixels *px, media_buf *mix) {
    size_t many =
        px->stride *
        (size_t)px->h; /* whole multiples of 64; with what is between lines, which does not matter */
    float share = (float)r->value, *sum;
    if (r->kind == MEDIA_MIX && !media_buf_get(mix, many * (sizeof *sum + 1))) return MEDIA_NO_MEMORY;
    sum = (float *)(void *)mix->p;
    uint8_t *copy = mix->p + many * sizeof *sum;
    if (r->kind == MEDIA_MIX) {
        memcpy(copy, px->p, many);
        for (size_t i = 0; i < many; i++) sum[i] = share * (float)copy[i];
        return MEDIA_OK;
    }
    for (size_t i = 0; i < many; i++) sum[i] += share * (float)px->p[i];
    if (r->kind == MEDIA_MIX_AGAIN) {
        memcpy(px->p, copy, many);
        return MEDIA_OK;
    }
    for (size_t i = 0; i < many; i++) px->p[i] = sum[i] >= 255 ? 255 : (uint8_t)sum[i];
    return MEDIA_OK;
}
