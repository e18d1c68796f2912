/* kernels.c - the kernels for any processor, and what needs no vectors. */
#include <stdlib.h>

#define ISA
#define BANK audio_portable
#define ISA_NAME "portable"
#include "kernels_isa.h"

#if defined(__x86_64__)
const audio_kernels *audio_best(void) {
    int all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") &&
              __builtin_cpu_supports("pclmul");
    return all ? &audio_avx2 : &audio_portable;
}
#else
const audio_kernels *audio_best(void) { return &audio_portable; }
#endif

void audio_gated_energy(const float *x, size_t n, const double biquad[10], size_t size, size_t step,
                        double weight, double *energy) {
    const double *p = biquad, *q = biquad + 5;
    double p1 = 0, p2 = 0, q1 = 0, q2 = 0, sum = 0; /* both in direct form II transposed */
    size_t opened = 0, closed = 0, blocks = n < size ? 0 : (n - size) / step + 1;
    for (size_t i = 0; closed < blocks; i++) {
        /* A block opens with the sum so far and closes with the difference. */
        if (opened < blocks && i == opened * step) energy[opened++] -= weight * sum / (double)size;
        if (i == closed * step + size) energy[closed++] += weight * sum / (double)size;
        if (i == n) break;
        double in = x[i], mid = p[0] * in + p1, out = q[0] * mid + q1;
        p1 = p[1] * in - p[3] * mid + p2;
        p2 = p[2] * in - p[4] * mid;
        q1 = q[1] * mid - q[3] * out + q2;
        q2 = q[2] * mid - q[4] * out;
        sum += out * out;
    }
}

/* --- the tables of a spectrum --- */

static float *copy_floats(const float *from, size_t n) {
    float *to = malloc((n ? n : 1) * sizeof *to);
    if (to) memcpy(to, from, n * sizeof *to);
    return to;
}

/* cos and sin of -2 pi i / n. */
static int circle(int32_t n, int32_t count, float **cosine, float **sine) {
    *cosine = malloc((size_t)count * sizeof **cosine);
    *sine = malloc((size_t)count * sizeof **sine);
    if (!*cosine || !*sine) return 0;
    for (int32_t i = 0; i < count; i++) {
        double angle = -2 * 3.14159265358979323846 * i / n;
        (*cosine)[i] = (float)cos(angle);
        (*sine)[i] = (float)sin(angle);
    }
    return 1;
}

static void factorise(audio_spectrum *s) {
    static const int32_t small[] = {4, 2};
    int32_t n = s->m;
    for (int i = 0; i < 2; i++)
        for (; n % small[i] == 0; n /= small[i]) s->factor[s->n_factors++] = small[i];
    for (int32_t r = 3; n > 1; r += 2)
        for (; n % r == 0; n /= r) s->factor[s->n_factors++] = r;
}

static int mel_tables(audio_spectrum *s, const int32_t *first, const int32_t *count, const float *weight) {
    if (!s->n_mels) return 1;
    size_t n = (size_t)s->n_mels;
    s->mel_first = malloc(n * sizeof *s->mel_first);
    s->mel_count = malloc(n * sizeof *s->mel_count);
    s->mel_weight = calloc(n, sizeof *s->mel_weight);
    if (!s->mel_first || !s->mel_count || !s->mel_weight) return 0;
    memcpy(s->mel_first, first, n * sizeof *first);
    memcpy(s->mel_count, count, n * sizeof *count);
    for (size_t i = 0; i < n; weight += count[i], i++)
        if (!(s->mel_weight[i] = copy_floats(weight, (size_t)count[i]))) return 0;
    return 1;
}

audio_spectrum *audio_spectrum_new(int32_t n_fft, int32_t hop, int32_t magnitude, const float *window,
                                   int32_t n_mels, const int32_t *mel_first, const int32_t *mel_count,
                                   const float *mel_weight) {
    audio_spectrum *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->n_fft = n_fft;
    s->hop = hop;
    s->bins = n_fft / 2 + 1;
    s->m = n_fft % 2 ? n_fft : n_fft / 2;
    s->magnitude = magnitude;
    s->n_mels = n_mels;
    factorise(s);
    s->window = copy_floats(window, (size_t)n_fft);
    if (s->window && circle(s->m, s->m, &s->cosine, &s->sine) &&
        circle(n_fft, s->bins, &s->turn_cosine, &s->turn_sine) &&
        mel_tables(s, mel_first, mel_count, mel_weight))
        return s;
    audio_spectrum_free(s);
    return NULL;
}

void audio_spectrum_free(audio_spectrum *s) {
    if (!s) return;
    for (int32_t i = 0; s->mel_weight && i < s->n_mels; i++) free(s->mel_weight[i]);
    free(s->mel_weight);
    free(s->mel_first);
    free(s->mel_count);
    free(s->turn_cosine);
    free(s->turn_sine);
    free(s->cosine);
    free(s->sine);
    free(s->window);
    free(s);
}

size_t audio_spectrum_scratch(const audio_spectrum *s) {
    return ((size_t)s->m * 4 + (size_t)s->bins) * AUDIO_LANES;
}
