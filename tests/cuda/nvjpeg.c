/* nvjpeg.c - nvJPEG without a device: libjpeg decodes what the device would, into the memory that stands in for the device's. It has the
 * calls of core/device/cuda/nvjpeg_calls.h, and refuses what the real one may not be asked for.
 *
 * Environment, with widths of files in it, " 43 77 ":
 *
 *   FAKE_NVJPEG_HARDWARE  1; 0: the device has no decoder of its own; none: there is a handle of none
 *   FAKE_NVJPEG_REFUSES   files that are not decoded
 *   FAKE_NVJPEG_HALTS     files that end a batch, and are decoded alone
 *   FAKE_NVJPEG_MISTAKES  files whose head it reads in another way
 *   FAKE_NVJPEG_CRASHES   files that it crashes on
 *   FAKE_CUDA_FAULT       CALL is the symbol without nvjpeg: CreateEx, JpegStateCreate, GetImageInfo, Decode, DecodeBatchedInitialize,
 *                         DecodeBatched
 */
#include "../../core/device/cuda/nvjpeg_calls.h"
#include "fake.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

/* Of libcuda, which this library is linked with. */
extern cu_result cuLaunchHostFunc(cu_stream stream, cu_host_function function, void *data);

typedef struct handle {
    int backend;
} handle;
typedef struct state {
    handle *of;
    int pictures;
    _Atomic int busy; /* pictures under way */
} state;

static int names(const char *variable, int width) {
    const char *value = getenv(variable);
    char word[24];
    snprintf(word, sizeof word, " %d ", width);
    return value && strstr(value, word);
}

static int hardware_is(const char *what) {
    const char *value = getenv("FAKE_NVJPEG_HARDWARE");
    return value && strcmp(value, what) == 0;
}

/* ---- libjpeg, which ends the process by itself otherwise --------------------------------------------- */

typedef struct reader {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    jmp_buf out;
} reader;

typedef struct head {
    int width, height, components, progressive;
} head;

static void leave(j_common_ptr d) { longjmp(((reader *)(void *)d)->out, 1); }
static void be_silent(j_common_ptr d, int level) { (void)d, (void)level; }

/* Reads the head, or all of it into pixels. */
static nvjpeg_result read_file(const unsigned char *data, size_t bytes, const nvjpeg_image *into, head *h) {
    reader r;
    r.d.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = leave;
    r.errors.emit_message = be_silent;
    jpeg_create_decompress(&r.d);
    if (setjmp(r.out)) {
        jpeg_destroy_decompress(&r.d);
        return NVJPEG_E_BAD_JPEG;
    }
    jpeg_mem_src(&r.d, data, bytes);
    jpeg_read_header(&r.d, TRUE);
    *h = (head){(int)r.d.image_width, (int)r.d.image_height, r.d.num_components, (int)r.d.progressive_mode};
    if (into) {
        r.d.out_color_space = JCS_RGB;
        jpeg_start_decompress(&r.d);
        while (r.d.output_scanline < r.d.output_height) {
            JSAMPROW line = into->channel[0] + r.d.output_scanline * into->pitch[0];
            jpeg_read_scanlines(&r.d, &line, 1);
        }
    }
    jpeg_destroy_decompress(&r.d);
    return NVJPEG_OK;
}

/* ---- decoding -------------------------------------------------------------------------------------------- */

typedef struct picture {
    state *of;
    const unsigned char *data;
    size_t bytes;
    nvjpeg_image out;
} picture;

static void decode_now(void *p) {
    picture *job = p;
    head h;
    read_file(job->data, job->bytes, &job->out, &h);
    job->of->busy--;
    free(job);
}

/* When the stream comes to it; but a device's own decoder has been seen to write at once, whatever the stream has to do before. */
static nvjpeg_result begin(state *of, const unsigned char *data, size_t bytes, const nvjpeg_image *out,
                           nvjpeg_stream s) {
    picture *job = malloc(sizeof *job);
    if (!job) return NVJPEG_E_ALLOCATOR;
    *job = (picture){of, data, bytes, *out};
    of->busy++;
    if (of->of->backend == NVJPEG_HARDWARE) {
        decode_now(job);
        return NVJPEG_OK;
    }
    if (cuLaunchHostFunc(s, decode_now, job) == CU_OK) return NVJPEG_OK;
    of->busy--;
    free(job);
    return NVJPEG_E_EXECUTION;
}

static nvjpeg_result look(const unsigned char *data, size_t bytes, const nvjpeg_image *out, int in_batch) {
    head h;
    nvjpeg_result r = read_file(data, bytes, NULL, &h);
    if (r != NVJPEG_OK) return r;
    if (out->pitch[0] < (size_t)(3 * h.width)) return NVJPEG_E_INVALID_PARAMETER;
    if (names("FAKE_NVJPEG_REFUSES", h.width)) return NVJPEG_E_NOT_SUPPORTED;
    return in_batch && (h.progressive || names("FAKE_NVJPEG_HALTS", h.width)) ? NVJPEG_E_NOT_SUPPORTED : r;
}

/* ---- the calls ------------------------------------------------------------------------------------------- */

#define ENTER_JPEG(call)                                             \
    do {                                                             \
        nvjpeg_result fault_ = (nvjpeg_result)fake_cuda_fault(call); \
        if (fault_ != NVJPEG_OK) return fault_;                      \
    } while (0)

FAKE_API nvjpeg_result nvjpegCreateEx(int backend, void *device_allocator, void *pinned_allocator,
                                      unsigned flags, nvjpeg_handle *out) {
    ENTER_JPEG("CreateEx");
    if (device_allocator || pinned_allocator || flags & ~(unsigned)NVJPEG_INTERPOLATE_CHROMA)
        return NVJPEG_E_INVALID_PARAMETER;
    if (backend == NVJPEG_HARDWARE && hardware_is("0")) return NVJPEG_E_ARCH_MISMATCH;
    handle *h = calloc(1, sizeof *h);
    if (!h) return NVJPEG_E_ALLOCATOR;
    h->backend = backend;
    *out = h;
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegDestroy(nvjpeg_handle h) {
    free(h);
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegGetHardwareDecoderInfo(nvjpeg_handle h, unsigned *decoders, unsigned *cores) {
    if (((handle *)h)->backend != NVJPEG_HARDWARE) return NVJPEG_E_INVALID_PARAMETER;
    *decoders = hardware_is("none") ? 0 : 1;
    *cores = 1;
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegJpegStateCreate(nvjpeg_handle h, nvjpeg_state *out) {
    ENTER_JPEG("JpegStateCreate");
    state *s = calloc(1, sizeof *s);
    if (!s) return NVJPEG_E_ALLOCATOR;
    s->of = h;
    *out = s;
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegJpegStateDestroy(nvjpeg_state s) {
    free(s);
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegGetImageInfo(nvjpeg_handle h, const unsigned char *data, size_t bytes,
                                          int *components, int *subsampling, int *widths, int *heights) {
    ENTER_JPEG("GetImageInfo");
    head of;
    nvjpeg_result r = h ? read_file(data, bytes, NULL, &of) : NVJPEG_E_INVALID_PARAMETER;
    if (r != NVJPEG_OK) return r;
    if (names("FAKE_NVJPEG_CRASHES", of.width)) _Exit(1);
    *components = of.components;
    *subsampling = 0;
    widths[0] = of.width + names("FAKE_NVJPEG_MISTAKES", of.width);
    heights[0] = of.height;
    return r;
}

FAKE_API nvjpeg_result nvjpegDecode(nvjpeg_handle h, nvjpeg_state s, const unsigned char *data, size_t bytes,
                                    int format, nvjpeg_image *out, nvjpeg_stream on) {
    ENTER_JPEG("Decode");
    state *of = s;
    if (of->of != h || format != NVJPEG_RGBI || of->busy) return NVJPEG_E_INVALID_PARAMETER;
    nvjpeg_result r = look(data, bytes, out, 0);
    return r == NVJPEG_OK ? begin(of, data, bytes, out, on) : r;
}

FAKE_API nvjpeg_result nvjpegDecodeBatchedInitialize(nvjpeg_handle h, nvjpeg_state s, int pictures,
                                                     int threads, int format) {
    ENTER_JPEG("DecodeBatchedInitialize");
    state *of = s;
    if (of->of != h || format != NVJPEG_RGBI || pictures < 1 || threads < 1 || of->busy)
        return NVJPEG_E_INVALID_PARAMETER;
    of->pictures = pictures;
    return NVJPEG_OK;
}

FAKE_API nvjpeg_result nvjpegDecodeBatched(nvjpeg_handle h, nvjpeg_state s, const unsigned char *const *data,
                                           const size_t *bytes, nvjpeg_image *out, nvjpeg_stream on) {
    ENTER_JPEG("DecodeBatched");
    state *of = s;
    if (of->of != h || of->pictures == 0) return NVJPEG_E_NOT_INITIALIZED;
    if (of->busy) return NVJPEG_E_INVALID_PARAMETER;
    nvjpeg_result r = NVJPEG_OK;
    for (int i = 0; i < of->pictures && r == NVJPEG_OK; i++) r = look(data[i], bytes[i], &out[i], 1);
    for (int i = 0; i < of->pictures && r == NVJPEG_OK; i++) r = begin(of, data[i], bytes[i], &out[i], on);
    return r;
}
