/* nvcuvid.c - the library of the device's video decoders, without a device: FFmpeg's own decoder of each codec decodes what the device
 * would be given, on the thread that gives it, and the picture is put where the device would put it.
 *
 * It is meant for FFmpeg's use of it (libavcodec/nvdec.c): pictures are decoded one by one into numbered surfaces, and a surface is mapped
 * as NV12 or P016 in device memory. Structures are those of NVIDIA's binary interface as far as they are used. */
#include "nvcuvid.h"

#include "software.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libcuda, which this library is linked with. */
extern cu_result cuMemAlloc_v2(cu_address *memory, size_t bytes);
extern cu_result cuMemFree_v2(cu_address memory);

enum { MAX_SURFACES = 64, PITCH = 512 };
enum { AS_NV12 = 0, AS_P016 = 1 };

typedef struct decoder {
    software *software;
    AVFrame *surfaces[MAX_SURFACES]; /* by number; empty until decoded into */
    parameters sets;                 /* of H.264 */
    int codec_type, format, n_surfaces, n_outputs;
    int width, height;
    _Atomic int mapped;
} decoder;

static enum AVCodecID codec_of(int type) {
    switch (type) {
    case CUVID_H264: return AV_CODEC_ID_H264;
    case CUVID_JPEG: return AV_CODEC_ID_MJPEG;
    case CUVID_VP8: return AV_CODEC_ID_VP8;
    case CUVID_VP9: return AV_CODEC_ID_VP9;
    default: return AV_CODEC_ID_NONE;
    }
}

/* ---- what is decoded --------------------------------------------------------------------------- */

static int decodes(int type, int chroma, int depth) {
    const char *codecs = getenv("FAKE_CUDA_DECODES");
    enum AVCodecID id = codec_of(type);
    char name[40];
    snprintf(name, sizeof name, " %s ", avcodec_get_name(id));
    return id != AV_CODEC_ID_NONE && chroma == CUVID_420 &&
           (depth == 8 || (depth == 10 && type == CUVID_VP9)) && (!codecs || strstr(codecs, name));
}

FAKE_API cu_result cuvidGetDecoderCaps(cuvid_caps *caps) {
    cu_result fault = fake_cuda_fault("GetDecoderCaps");
    if (fault != CU_OK) return fault;
    caps->supported = (uint8_t)decodes(caps->codec, caps->chroma, (int)caps->depth_minus_8 + 8);
    caps->n_decoders = 1;
    caps->formats = 1 << AS_NV12 | 1 << AS_P016;
    caps->max_width = caps->max_height = 8192;
    caps->max_blocks = 8192 * 8192 / 256;
    caps->min_width = caps->min_height = 16;
    return CU_OK;
}

/* ---- decoders ------------------------------------------------------------------------------------ */

static void destroy(decoder *d) {
    if (d->software) software_close(d->software);
    for (int i = 0; i < MAX_SURFACES; i++) av_frame_free(&d->surfaces[i]);
    free(d);
}

static int open_decoder(decoder *d) {
    for (int i = 0; i < d->n_surfaces; i++)
        if (!(d->surfaces[i] = av_frame_alloc())) return 0;
    d->software = software_open(codec_of(d->codec_type));
    return d->software != NULL;
}

FAKE_API cu_result cuvidCreateDecoder(void **out, const cuvid_create *info) {
    cu_result fault = fake_cuda_fault("CreateDecoder");
    if (fault != CU_OK) return fault;
    if (!decodes(info->codec, info->chroma, (int)info->depth_minus_8 + 8) || info->n_surfaces > MAX_SURFACES)
        return CU_E_NOT_SUPPORTED;
    decoder *d = calloc(1, sizeof *d);
    if (!d) return CU_E_OUT_OF_MEMORY;
    d->codec_type = info->codec;
    d->format = info->format;
    d->n_surfaces = (int)info->n_surfaces;
    d->n_outputs = (int)info->n_outputs;
    d->width = (int)info->target_width;
    d->height = (int)info->target_height;
    if (!open_decoder(d)) {
        destroy(d);
        return CU_E_OUT_OF_MEMORY;
    }
    fake_cuda_stats()->decoders++;
    *out = d;
    return CU_OK;
}

FAKE_API cu_result cuvidDestroyDecoder(void *decoder_) {
    decoder *d = decoder_;
    if (d->mapped > 0) return CU_E_INVALID_VALUE;
    destroy(d);
    fake_cuda_stats()->decoders--;
    return CU_OK;
}

/* ---- pictures ------------------------------------------------------------------------------------- */

FAKE_API cu_result cuvidDecodePicture(void *decoder_, const cuvid_picture *p) {
    decoder *d = decoder_;
    cu_result fault = fake_cuda_fault("DecodePicture");
    if (fault != CU_OK) return fault;
    if (p->surface < 0 || p->surface >= d->n_surfaces) return CU_E_INVALID_VALUE;
    /* A device is told the parameter sets, which FFmpeg's decoder wants to read. */
    if (d->codec_type == CUVID_H264 && parameters_of(&d->sets, p)) software_flush(d->software);
    const AVFrame *f =
        software_decode(d->software, d->sets.bytes, d->sets.n, p->bytes, p->n_bytes, p->second_field);
    if (!f) return CU_E_LAUNCH_FAILED;
    av_frame_unref(d->surfaces[p->surface]);
    fake_cuda_stats()->pictures++;
    return av_frame_ref(d->surfaces[p->surface], f) < 0 ? CU_E_OUT_OF_MEMORY : CU_OK;
}

FAKE_API cu_result cuvidMapVideoFrame64(void *decoder_, int surface, cu_address *out, unsigned *pitch,
                                        const void *how) {
    (void)how;
    decoder *d = decoder_;
    cu_result fault = fake_cuda_fault("MapVideoFrame");
    if (fault != CU_OK) return fault;
    if (surface < 0 || surface >= d->n_surfaces || !d->surfaces[surface]->buf[0] || d->mapped >= d->n_outputs)
        return CU_E_INVALID_VALUE;
    *pitch = (unsigned)(((d->width << (d->format == AS_P016)) + PITCH - 1) / PITCH * PITCH);
    fault = cuMemAlloc_v2(out, (size_t)*pitch * (size_t)(d->height + (d->height + 1) / 2));
    if (fault != CU_OK) return fault;
    uint8_t *luma = (uint8_t *)(uintptr_t)*out;
    software_put(d->surfaces[surface], d->width, d->height, luma, luma + (size_t)d->height * *pitch, *pitch);
    d->mapped++;
    fake_cuda_stats()->mapped++;
    return CU_OK;
}

FAKE_API cu_result cuvidUnmapVideoFrame64(void *decoder_, cu_address mapped) {
    cu_result r = cuMemFree_v2(mapped);
    if (r != CU_OK) return r;
    ((decoder *)decoder_)->mapped--;
    fake_cuda_stats()->mapped--;
    return CU_OK;
}

/* ---- calls that FFmpeg looks for, and never makes to decode ------------------------------------------ */

#define UNUSED(X)                \
    X(cuvidGetDecodeStatus)      \
    X(cuvidReconfigureDecoder)   \
    X(cuvidCtxLockCreate)        \
    X(cuvidCtxLockDestroy)       \
    X(cuvidCtxLock)              \
    X(cuvidCtxUnlock)            \
    X(cuvidCreateVideoSource)    \
    X(cuvidCreateVideoSourceW)   \
    X(cuvidDestroyVideoSource)   \
    X(cuvidSetVideoSourceState)  \
    X(cuvidGetVideoSourceState)  \
    X(cuvidGetSourceVideoFormat) \
    X(cuvidGetSourceAudioFormat) \
    X(cuvidCreateVideoParser)    \
    X(cuvidParseVideoData)       \
    X(cuvidDestroyVideoParser)

#define X(name) \
    FAKE_API cu_result name(void) { return CU_E_NOT_SUPPORTED; }
UNUSED(X)
#undef X
