/* jpeg.c - see jpeg.h. */
#include "jpeg.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *jpeg_result_name(nvjpeg_result r) {
    static const char *const names[] = {
        "SUCCESS",
        "NOT_INITIALIZED",
        "INVALID_PARAMETER",
        "BAD_JPEG",
        "NOT_SUPPORTED",
        "ALLOCATOR_FAILURE",
        "EXECUTION_FAILED",
        "ARCH_MISMATCH",
        "INTERNAL_ERROR",
        "IMPLEMENTATION_NOT_SUPPORTED",
        "INCOMPLETE_BITSTREAM",
    };
    return r >= 0 && r < (int)(sizeof names / sizeof *names) ? names[r] : "an error without a name";
}

int jpeg_is_lasting(nvjpeg_result r) {
    return r == NVJPEG_E_INVALID_PARAMETER || r == NVJPEG_E_BAD_JPEG || r == NVJPEG_E_NOT_SUPPORTED ||
           r == NVJPEG_E_IMPLEMENTATION || r == NVJPEG_E_INCOMPLETE;
}

static int said(const char *call, nvjpeg_result r, char *words) {
    if (r != NVJPEG_OK) snprintf(words, GPU_WORDS, "nvjpeg%s: %s", call, jpeg_result_name(r));
    return r;
}

static int find_calls(nvjpeg_calls *n, const char *library, char *words) {
    memset(n, 0, sizeof *n);
    n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        snprintf(words, GPU_WORDS, "no nvJPEG: %.120s; install CUDA's libnvjpeg, or leave out decode",
                 dlerror());
        return GPU_NO_LIBRARY;
    }
    const char *missing = NULL;
#define X(name, symbol, parameters)                  \
    *(void **)&n->name = dlsym(n->library, #symbol); \
    if (!n->name) missing = #symbol;
    NVJPEG_CALLS(X)
#undef X
    *(void **)&n->GetHardwareDecoderInfo = dlsym(n->library, "nvjpegGetHardwareDecoderInfo");
    if (!missing) return NVJPEG_OK;
    snprintf(words, GPU_WORDS, "nvJPEG is too old: it has no %s; install that of CUDA 11 or newer", missing);
    return GPU_TOO_OLD;
}

/* A handle with interpolated chroma, as libjpeg has it; libraries before CUDA 12 do not know the flag. */
static nvjpeg_result create(nvjpeg_calls *n, int backend, nvjpeg_handle *out) {
    *out = NULL;
    nvjpeg_result r = n->CreateEx(backend, NULL, NULL, NVJPEG_INTERPOLATE_CHROMA, out);
    return r == NVJPEG_E_INVALID_PARAMETER ? n->CreateEx(backend, NULL, NULL, 0, out) : r;
}

/* The device's own decoder: a handle may be had where there is none, as of a part of a device. */
static int create_hardware(jpegs *j) {
    unsigned decoders = 1, cores = 0;
    if (create(&j->n, NVJPEG_HARDWARE, &j->batched) != NVJPEG_OK) return 0;
    if (!j->n.GetHardwareDecoderInfo ||
        (j->n.GetHardwareDecoderInfo(j->batched, &decoders, &cores) == NVJPEG_OK && decoders > 0))
        return 1;
    j->n.Destroy(j->batched);
    return 0;
}

static int open_library(jpegs *j, const char *library, char *words) {
    int r = find_calls(&j->n, library, words);
    if (r != NVJPEG_OK) return r;
    if (!create_hardware(j)) r = create(&j->n, NVJPEG_GPU_HYBRID, &j->batched);
    if (r == NVJPEG_OK) r = create(&j->n, NVJPEG_DEFAULT, &j->single);
    if (r == NVJPEG_OK) return r;
    if (j->batched) j->n.Destroy(j->batched);
    j->batched = NULL;
    return said("CreateEx", r, words);
}

/* The newest library may be one that the driver is too old for. */
int jpegs_open(gpu *g, jpegs *j, char *words) {
    static const char *const known[] = NVJPEG_LIBRARIES;
    const char *named = getenv("SPDL_NVJPEG_LIBRARY");
    memset(j, 0, sizeof *j);
    int r = gpu_current(g, words), none = 1;
    if (r != CU_OK) return r;
    if (named && *named) return open_library(j, named, words);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char why[GPU_WORDS];
        int one = open_library(j, known[i], why);
        if (one == NVJPEG_OK) return one;
        if (one == GPU_NO_LIBRARY) continue;
        none = 0;
        r = one;
        memcpy(words, why, sizeof why);
    }
    if (!none) return r;
    snprintf(words, GPU_WORDS,
             "no nvJPEG: none of " NVJPEG_NAMES
             " is there; install CUDA's libnvjpeg, or name it in SPDL_NVJPEG_LIBRARY, or leave out decode");
    return GPU_NO_LIBRARY;
}

void jpegs_close(gpu *g, jpegs *j) {
    char words[GPU_WORDS];
    if (gpu_current(g, words) != CU_OK) return;
    if (j->single) j->n.Destroy(j->single);
    if (j->batched) j->n.Destroy(j->batched);
    j->single = j->batched = NULL;
}

int jpeg_lane_open(gpu *g, jpegs *j, jpeg_lane *l, int room, char *words) {
    memset(l, 0, sizeof *l);
    int r = gpu_current(g, words);
    if (r != CU_OK) return r;
    l->room = room;
    l->data = calloc((size_t)room, sizeof *l->data);
    l->bytes = calloc((size_t)room, sizeof *l->bytes);
    l->out = calloc((size_t)room, sizeof *l->out);
    if (!l->data || !l->bytes || !l->out) return said("JpegStateCreate", NVJPEG_E_ALLOCATOR, words);
    r = j->n.StateCreate(j->batched, &l->batched);
    if (r == NVJPEG_OK) r = j->n.StateCreate(j->single, &l->single);
    return said("JpegStateCreate", r, words);
}

void jpeg_lane_close(gpu *g, jpegs *j, jpeg_lane *l) {
    char words[GPU_WORDS];
    if (gpu_current(g, words) == CU_OK) {
        if (l->batched) j->n.StateDestroy(l->batched);
        if (l->single) j->n.StateDestroy(l->single);
    }
    free(l->data);
    free(l->bytes);
    free(l->out);
    memset(l, 0, sizeof *l);
}

static nvjpeg_result decode_batch(jpegs *j, jpeg_lane *l, int first, const jpeg_file *files, int n,
                                  cu_stream s) {
    for (int i = 0; i < n; i++) {
        l->data[first + i] = files[i].data;
        l->bytes[first + i] = files[i].bytes;
        l->out[first + i] = (nvjpeg_image){{(unsigned char *)(uintptr_t)files[i].to}, {files[i].pitch}};
    }
    if (l->pictures != n) {
        nvjpeg_result r = j->n.BatchInitialize(j->batched, l->batched, n, 1, NVJPEG_RGBI);
        if (r != NVJPEG_OK) return r;
        l->pictures = n;
    }
    return j->n.DecodeBatch(j->batched, l->batched, l->data + first, l->bytes + first, l->out + first, s);
}

/* nvJPEG writes what the file says, wherever that ends. */
static nvjpeg_result look(const jpegs *j, const jpeg_file *f) {
    int components = 0, subsampling = 0, widths[4] = {0}, heights[4] = {0};
    nvjpeg_result r =
        j->n.GetImageInfo(j->single, f->data, f->bytes, &components, &subsampling, widths, heights);
    if (r != NVJPEG_OK) return r;
    int same =
        components == 3 && widths[0] > 0 && (size_t)widths[0] * 3 == f->pitch && heights[0] == f->height;
    return same ? NVJPEG_OK : NVJPEG_E_BAD_JPEG;
}

/* The device's own decoder does not wait for the stream before it writes (seen by others on an H100, not on an A100), and a state may not be
 * asked for more while it is busy: the host waits for what came before. A picture that a decoder leaves out without a word is black then, and
 * not another one. */
static int clear(gpu *g, const jpeg_file *files, int n, cu_stream s, char *words) {
    const jpeg_file *last = &files[n - 1];
    uint64_t bytes = last->to + last->pitch * (uint64_t)last->height - files[0].to;
    int r = gpu_clear(g, files[0].to, bytes, s, words);
    return r == CU_OK ? gpu_drain(g, s, words) : r;
}

/* One after the other: which of them are refused? */
static int decode_each(gpu *g, jpegs *j, jpeg_lane *l, jpeg_file *files, int n, cu_stream s, char *words) {
    int refused = 0;
    for (int i = 0; i < n; i++) {
        nvjpeg_image out = {{(unsigned char *)(uintptr_t)files[i].to}, {files[i].pitch}};
        files[i].result =
            j->n.Decode(j->single, l->single, files[i].data, files[i].bytes, NVJPEG_RGBI, &out, s);
        refused += files[i].result != NVJPEG_OK;
        int r = gpu_drain(g, s, words); /* the state's buffers are the next file's */
        if (r != CU_OK) return -r;
    }
    return refused;
}

int jpeg_decode(gpu *g, jpegs *j, jpeg_lane *l, int first, jpeg_file *files, int n, cu_stream s,
                char *words) {
    int r = gpu_current(g, words), refused = 0;
    if (r != CU_OK) return -r;
    if (n == 0) return 0;
    for (int i = 0; i < n; i++) refused += (files[i].result = look(j, &files[i])) != NVJPEG_OK;
    if (refused > 0) return refused;
    r = clear(g, files, n, s, words);
    if (r != CU_OK) return -r;
    if (decode_batch(j, l, first, files, n, s) == NVJPEG_OK) return 0;
    l->pictures = 0; /* whatever it was left in */
    r = gpu_drain(g, s, words);
    return r == CU_OK ? decode_each(g, j, l, files, n, s, words) : -r;
}
