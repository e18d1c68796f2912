/* nvcuvid.c - the library of the device's video decoders, without a device: FFmpeg's own decoder of each codec decodes what the device
 * would be given, on the thread that gives it, and the picture is put where the device would put it.
 *
 * It is meant for FFmpeg's use of it (libavcodec/nvdec.c): pictures are decoded one by one into numbered surfaces, and a surface is mapped
 * as NV12 or P016 in device memory. Structures are those of NVIDIA's binary interface as far as they are used. */
#include "nvcuvid.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of libcuda, which this library is linked with. */
extern cu_result cuMemAlloc_v2(cu_address *memory, size_t bytes);
extern cu_result cuMemFree_v2(cu_address memory);

enum { MAX_SURFACES = 64, PITCH = 512 };
enum { AS_NV12 = 0, AS_P016 = 1 };

typedef struct decoder {
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *coming;                 /* the picture that is being decoded */
    AVFrame *out;                    /* what FFmpeg's decoder has to show, which nobody looks at */
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

/* Every picture is got here, also one that is not to be shown. */
static int get_buffer(AVCodecContext *c, AVFrame *frame, int flags) {
    decoder *d = c->opaque;
    int rc = avcodec_default_get_buffer2(c, frame, flags);
    av_frame_unref(d->coming);
    return rc < 0 ? rc : av_frame_ref(d->coming, frame);
}

static void destroy(decoder *d) {
    avcodec_free_context(&d->codec);
    av_packet_free(&d->packet);
    av_frame_free(&d->coming);
    av_frame_free(&d->out);
    for (int i = 0; i < MAX_SURFACES; i++) av_frame_free(&d->surfaces[i]);
    free(d);
}

/* FFmpeg's decoder, with one thread: a picture is there when its packet was taken. */
static int open_decoder(decoder *d) {
    const AVCodec *codec = avcodec_find_decoder(codec_of(d->codec_type));
    d->codec = codec ? avcodec_alloc_context3(codec) : NULL;
    d->packet = av_packet_alloc();
    d->coming = av_frame_alloc();
    d->out = av_frame_alloc();
    for (int i = 0; i < d->n_surfaces; i++)
        if (!(d->surfaces[i] = av_frame_alloc())) return 0;
    if (!d->codec || !d->packet || !d->coming || !d->out) return 0;
    d->codec->opaque = d;
    d->codec->get_buffer2 = get_buffer;
    d->codec->thread_count = 1;
    d->codec->log_level_offset = 100; /* below every level that is shown or kept */
    return avcodec_open2(d->codec, codec, NULL) >= 0;
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

/* The packet that FFmpeg's decoder wants: what the device is given and, for H.264, the parameter sets, which the device is told instead. */
static int fill_packet(decoder *d, const cuvid_picture *p) {
    av_packet_unref(d->packet);
    if (d->codec_type == CUVID_H264 && parameters_of(&d->sets, p)) avcodec_flush_buffers(d->codec);
    if (av_new_packet(d->packet, (int)(d->sets.n + p->n_bytes)) < 0) return 0;
    memcpy(d->packet->data, d->sets.bytes, d->sets.n);
    memcpy(d->packet->data + d->sets.n, p->bytes, p->n_bytes);
    return 1;
}

FAKE_API cu_result cuvidDecodePicture(void *decoder_, const cuvid_picture *p) {
    decoder *d = decoder_;
    cu_result fault = fake_cuda_fault("DecodePicture");
    if (fault != CU_OK) return fault;
    if (p->surface < 0 || p->surface >= d->n_surfaces) return CU_E_INVALID_VALUE;
    if (!p->second_field) av_frame_unref(d->coming);
    if (!fill_packet(d, p)) return CU_E_OUT_OF_MEMORY;
    int rc = avcodec_send_packet(d->codec, d->packet);
    while (rc >= 0) rc = avcodec_receive_frame(d->codec, d->out);
    if (rc != AVERROR(EAGAIN) || !d->coming->buf[0]) return CU_E_LAUNCH_FAILED;
    av_frame_unref(d->surfaces[p->surface]);
    fake_cuda_stats()->pictures++;
    return av_frame_ref(d->surfaces[p->surface], d->coming) < 0 ? CU_E_OUT_OF_MEMORY : CU_OK;
}

/* One row of the planes as the device has them: P016 has its bits at the top. */
static void put_row(uint8_t *to, const uint8_t *from, int n, int step, int wide, int shift) {
    if (!wide) {
        for (int x = 0; x < n; x++) to[x * step] = from[x];
        return;
    }
    for (int x = 0; x < n; x++)
        ((uint16_t *)(void *)to)[x * step] = (uint16_t)(((const uint16_t *)(const void *)from)[x] << shift);
}

static void put_picture(const decoder *d, const AVFrame *f, uint8_t *to, size_t pitch) {
    int wide = d->format == AS_P016, shift = 16 - av_pix_fmt_desc_get(f->format)->comp[0].depth;
    int width = f->width < d->width ? f->width : d->width,
        height = f->height < d->height ? f->height : d->height;
    for (int y = 0; y < height; y++)
        put_row(to + (size_t)y * pitch, f->data[0] + y * f->linesize[0], width, 1, wide, shift);
    to += (size_t)d->height * pitch;
    for (int y = 0; y < (height + 1) / 2; y++)
        for (int i = 0; i < 2; i++)
            put_row(to + (size_t)y * pitch + (i << wide), f->data[1 + i] + y * f->linesize[1 + i],
                    (width + 1) / 2, 2, wide, shift);
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
    put_picture(d, d->surfaces[surface], (uint8_t *)(uintptr_t)*out, *pitch);
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
