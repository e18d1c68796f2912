/* soxr.c - see soxr.h. */
#include "soxr.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    QUALITY_HQ = 4,   /* 20 bits: soxr's high quality, which python-soxr calls HQ */
    FLOATS_APART = 4, /* floats of 32 bits, one channel behind the other */
    MOST_CHANNELS = 64,
    AT_ONCE = 1 << 16, /* frames */
};

typedef struct quality {
    double precision, phase, passband_end, stopband_begin;
    void *reserved;
    unsigned long flags;
} quality;

typedef struct layout {
    int in, out;
    double scale;
    void *reserved;
    unsigned long flags;
} layout;

static struct {
    quality (*quality_spec)(unsigned long recipe, unsigned long flags);
    layout (*io_spec)(int in, int out);
    void *(*create)(double from, double to, unsigned channels, const char **error, const layout *io,
                    const quality *q, const void *runtime);
    const char *(*process)(void *s, const void *in, size_t n_in, size_t *read, void *out, size_t n_out,
                           size_t *made);
    void (*delete)(void *s);
} soxr;

static char why[256]; /* written under once alone */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int find(void *library, const char *symbol, void *call) {
    void *found = dlsym(library, symbol);
    if (!found) snprintf(why, sizeof why, "it has no %s", symbol);
    memcpy(call, &found, sizeof found); /* ISO C has no conversion from an object's pointer to a function's */
    return found != NULL;
}

static void load(void) {
    void *library = dlopen("libsoxr.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, sizeof why, "%s", dlerror());
        return;
    }
    if (!(find(library, "soxr_quality_spec", &soxr.quality_spec) &&
          find(library, "soxr_io_spec", &soxr.io_spec) && find(library, "soxr_create", &soxr.create) &&
          find(library, "soxr_process", &soxr.process) && find(library, "soxr_delete", &soxr.delete)))
        dlclose(library);
}

const char *audio_soxr_load(void) {
    pthread_once(&once, load);
    return *why ? why : NULL;
}

const char *audio_soxr_resample(const float *in, size_t in_stride, int64_t n, int from, float *out,
                                size_t out_stride, int64_t n_out, int to, int channels) {
    const float *src[MOST_CHANNELS];
    float *dst[MOST_CHANNELS];
    const char *error = NULL;
    quality q = soxr.quality_spec(QUALITY_HQ, 0);
    layout io = soxr.io_spec(FLOATS_APART, FLOATS_APART);
    void *s = soxr.create(from, to, (unsigned)channels, &error, &io, &q, NULL);
    int64_t done = 0, read = 0;
    while (!error && done < n_out) {
        size_t chunk = (size_t)(n - read < AT_ONCE ? n - read : AT_ONCE), taken = 0, made = 0;
        for (int c = 0; c < channels; c++) {
            src[c] = in + (size_t)c * in_stride + read;
            dst[c] = out + (size_t)c * out_stride + done;
        }
        error = soxr.process(s, chunk ? src : NULL, chunk, &taken, dst, (size_t)(n_out - done), &made);
        if (taken == 0 && made == 0) break;
        read += (int64_t)taken;
        done += (int64_t)made;
    }
    if (s) soxr.delete(s);
    for (int c = 0; !error && c < channels; c++)
        memset(out + (size_t)c * out_stride + done, 0, (size_t)(n_out - done) * sizeof *out);
    return error;
}
