//go:build !noffmpeg

/* mux.c - tracks into a container. */
#include "mux.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libavutil/avstring.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/pixdesc.h>

#include "../av/av.h"

enum { IO_BUFFER_BYTES = 64 * 1024 };

static int fail(media_mux *m, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(media_mux *m, int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(m->detail, sizeof m->detail, format, args);
    va_end(args);
    m->detail[strcspn(m->detail, "\r\n")] = 0;
    return status;
}

int media_mux_failed(media_mux *m, int rc, int status, const char *what) {
    char reason[AV_ERROR_MAX_STRING_SIZE];
    if (m->error_number) return fail(m, MEDIA_MUX_WRITE, "%s", strerror(m->error_number));
    if (rc == AVERROR(ENOMEM)) return fail(m, MEDIA_MUX_NO_MEMORY, "%s", what);
    return fail(m, status, "%s: %s", what, media_av_reason(rc, reason));
}

/* --- bytes --- */

static int to_memory(media_mux *m, const uint8_t *from, int n) {
    int64_t end = m->position + n;
    if (end > m->capacity) {
        int64_t capacity = end * 2;
        uint8_t *p = realloc(m->memory, (size_t)capacity);
        if (!p) return AVERROR(m->error_number = ENOMEM);
        memset(p + m->size, 0, (size_t)(capacity - m->size));
        m->memory = p;
        m->capacity = capacity;
    }
    memcpy(m->memory + m->position, from, (size_t)n);
    return n;
}

static int to_file(media_mux *m, const uint8_t *from, int n) {
    for (int done = 0; done < n;) {
        ssize_t put = pwrite(m->fd, from + done, (size_t)(n - done), m->position + done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return AVERROR(m->error_number = put < 0 ? errno : EIO);
        done += (int)put;
    }
    return n;
}

static int write_bytes(void *opaque, uint8_t *from, int n) {
    media_mux *m = opaque;
    int rc = m->fd < 0 ? to_memory(m, from, n) : to_file(m, from, n);
    if (rc < 0) return rc;
    m->position += n;
    if (m->position > m->size) m->size = m->position;
    return n;
}

static int64_t seek_to(const media_mux *m, int64_t *position, int64_t to, int whence) {
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE: return m->size;
    case SEEK_CUR: to += *position; break;
    case SEEK_END: to += m->size; break;
    default: break;
    }
    if (to < 0) return AVERROR(EINVAL);
    return *position = to;
}

static int64_t seek_bytes(void *opaque, int64_t to, int whence) {
    media_mux *m = opaque;
    return seek_to(m, &m->position, to, whence);
}

/* Muxers that move what they wrote (mov's faststart) read it with a position of its own. */
static int64_t seek_read(void *opaque, int64_t to, int whence) {
    media_mux *m = opaque;
    return seek_to(m, &m->read_position, to, whence);
}

static int read_bytes(void *opaque, uint8_t *to, int n) {
    media_mux *m = opaque;
    int64_t left = m->size - m->read_position;
    if (left <= 0) return AVERROR_EOF;
    if (n > left) n = (int)left;
    ssize_t got = n;
    if (m->fd < 0)
        memcpy(to, m->memory + m->read_position, (size_t)n);
    else
        got = pread(m->fd, to, (size_t)n, m->read_position);
    if (got <= 0) return AVERROR(got < 0 ? errno : EIO);
    m->read_position += got;
    return (int)got;
}

void media_mux_taken(media_mux *m) { m->position = m->size = 0; }

/* --- life --- */

media_mux *media_mux_new(void) {
    media_mux *m = calloc(1, sizeof *m);
    if (m && (m->packet = av_packet_alloc())) return m;
    free(m);
    return NULL;
}

static void free_io(AVIOContext **io) {
    if (*io) av_freep(&(*io)->buffer); /* FFmpeg may have replaced the one that it was given */
    avio_context_free(io);
}

void media_mux_free(media_mux *m) {
    if (!m) return;
    for (int i = 0; i < m->n_tracks; i++) {
        media_enc_free(m->track[i].encoder);
        av_bsf_free(&m->track[i].filter);
    }
    avformat_free_context(m->format);
    free_io(&m->io);
    av_dict_free(&m->options);
    av_packet_free(&m->packet);
    free(m->memory);
    free(m);
}

static AVIOContext *new_io(media_mux *m, int writes, int64_t (*seek)(void *, int64_t, int)) {
    uint8_t *buffer = av_malloc(IO_BUFFER_BYTES);
    AVIOContext *io = buffer
                          ? avio_alloc_context(buffer, IO_BUFFER_BYTES, writes, m, writes ? NULL : read_bytes,
                                               writes ? write_bytes : NULL, seek)
                          : NULL;
    if (!io) av_free(buffer);
    return io;
}

/* No muxer writes other files than the one it was given; that one may be read again. */
static int open_again(AVFormatContext *f, AVIOContext **io, const char *url, int flags,
                      AVDictionary **options) {
    media_mux *m = f->opaque;
    (void)options;
    if (flags & AVIO_FLAG_WRITE || strcmp(url, f->url) != 0 || !(m->io->seekable & AVIO_SEEKABLE_NORMAL))
        return AVERROR(EPERM);
    m->read_position = 0;
    *io = new_io(m, 0, seek_read);
    return *io ? 0 : AVERROR(ENOMEM);
}

static int close_again(AVFormatContext *f, AVIOContext *io) {
    (void)f;
    free_io(&io);
    return 0;
}

int media_mux_open(media_mux *m, const char *format, const char *name, int fd, int seekable) {
    const AVOutputFormat *o = av_guess_format(format, format ? NULL : name, NULL);
    m->fd = fd;
    if (!o && format) return fail(m, MEDIA_MUX_UNSUPPORTED, "this FFmpeg writes no container \"%s\"", format);
    if (!o)
        return fail(m, MEDIA_MUX_UNSUPPORTED, "no container of this FFmpeg's has such a name; give a format");
    if (o->flags & AVFMT_NOFILE)
        return fail(m, MEDIA_MUX_UNSUPPORTED, "%s writes no file, or files of its own", o->name);
    if (avformat_alloc_output_context2(&m->format, o, NULL, NULL) < 0 ||
        !(m->io = new_io(m, 1, seekable ? seek_bytes : NULL)))
        return fail(m, MEDIA_MUX_NO_MEMORY, "the container");
    m->format->pb = m->io;
    m->format->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT; /* the same input is the same file */
    m->format->opaque = m;
    m->format->io_open = open_again;
    m->format->io_close2 = close_again;
    return MEDIA_MUX_OK;
}

int media_mux_option(media_mux *m, const char *key, const char *value) {
    return av_dict_set(&m->options, key, value, 0) < 0 ? fail(m, MEDIA_MUX_NO_MEMORY, "the options")
                                                       : MEDIA_MUX_OK;
}

/* --- tracks --- */

static int room(media_mux *m) {
    if (m->started) return fail(m, MEDIA_MUX_INVALID, "it has begun; add all tracks before the first write");
    if (m->n_tracks == MEDIA_MUX_TRACKS)
        return fail(m, MEDIA_MUX_INVALID, "%d tracks already, which is the most", m->n_tracks);
    return MEDIA_MUX_OK;
}

/* What FFmpeg writes into some containers does not read back, as one kind of what is there or at all. */
static const struct {
    const char *muxers; /* with commas */
    int only;           /* these codecs alone; 0: any but these */
    enum AVCodecID codec[20];
} codecs_held[] = {
    {"mpegts",
     1,
     {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
      AV_CODEC_ID_CAVS, AV_CODEC_ID_VC1, AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AAC,
      AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD,
      AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M}},
    {"mpeg,vcd,svcd,dvd,vob",
     1,
     {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,
      AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3, AV_CODEC_ID_DTS,
      AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_DVD}},
    {"wav", 0, {AV_CODEC_ID_AAC, AV_CODEC_ID_VORBIS}},
    {"w64", 0, {AV_CODEC_ID_AAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_MP3, AV_CODEC_ID_GSM_MS}},
    {"caf", 0, {AV_CODEC_ID_FLAC, AV_CODEC_ID_OPUS}},
    {"nut",
     0,
     {AV_CODEC_ID_FLAC, AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2, AV_CODEC_ID_ADPCM_MS,
      AV_CODEC_ID_ADPCM_IMA_WAV}},
    {"swf", 0, {AV_CODEC_ID_PNG}},
    {"amr,ico,latm,spdif", 0, {AV_CODEC_ID_NONE}}, /* bare, and they look at the codec themselves */
};

/* A stream without a container: what it is, readers find by its first bytes. Muxers of pictures and of all that there is have no endings,
 * those of several codecs have tags for them. */
static int is_bare(const AVOutputFormat *o) {
    return o->flags & AVFMT_NOTIMESTAMPS && o->extensions && !o->codec_tag &&
           (o->video_codec == AV_CODEC_ID_NONE) != (o->audio_codec == AV_CODEC_ID_NONE);
}

static int reads_back(const AVOutputFormat *o, enum AVCodecID codec) {
    for (size_t i = 0; i < sizeof codecs_held / sizeof codecs_held[0]; i++) {
        if (!av_match_name(o->name, codecs_held[i].muxers)) continue;
        const enum AVCodecID *c = codecs_held[i].codec;
        while (*c != AV_CODEC_ID_NONE && *c != codec) c++;
        return codecs_held[i].only == (*c == codec);
    }
    return !is_bare(o) || codec == o->video_codec || codec == o->audio_codec;
}

/* Pixels as they are, in containers that have no name for all of them: FFmpeg writes the others, and they are read as these. */
static const enum AVPixelFormat avi_pixels[] = {
    AV_PIX_FMT_BGR24,   AV_PIX_FMT_BGRA,     AV_PIX_FMT_RGBA,    AV_PIX_FMT_GRAY8,
    AV_PIX_FMT_PAL8,    AV_PIX_FMT_RGB555LE, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P,
    AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV411P,  AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422,
    AV_PIX_FMT_YVYU422, AV_PIX_FMT_NV12,     AV_PIX_FMT_NV21,    AV_PIX_FMT_NONE,
};
static const enum AVPixelFormat mov_pixels[] = {
    AV_PIX_FMT_RGB24, /* of even widths: of others rows are padded, and read as if not */
    AV_PIX_FMT_BGR24,    AV_PIX_FMT_RGBA,     AV_PIX_FMT_ARGB,     AV_PIX_FMT_ABGR,
    AV_PIX_FMT_BGRA,     AV_PIX_FMT_GRAY8,    AV_PIX_FMT_PAL8,     AV_PIX_FMT_GRAY16BE,
    AV_PIX_FMT_RGB48BE,  AV_PIX_FMT_RGB565BE, AV_PIX_FMT_RGB565LE, AV_PIX_FMT_RGB555BE,
    AV_PIX_FMT_RGB555LE, AV_PIX_FMT_YUYV422,  AV_PIX_FMT_UYVY422,  AV_PIX_FMT_NONE,
};

/* NULL: all that the codec has. */
static const enum AVPixelFormat *pixels_held(const AVOutputFormat *o, enum AVCodecID codec, int width) {
    if (codec != AV_CODEC_ID_RAWVIDEO) return NULL;
    if (av_match_name(o->name, "avi")) return avi_pixels;
    return av_match_name(o->name, "mov") ? mov_pixels + (width & 1) : NULL;
}

static int holds(media_mux *m, enum AVCodecID codec) {
    const AVOutputFormat *o = m->format->oformat;
    if (codec != AV_CODEC_ID_NONE && avformat_query_codec(o, codec, FF_COMPLIANCE_NORMAL) != 0 &&
        reads_back(o, codec))
        return MEDIA_MUX_OK;
    return fail(m, MEDIA_MUX_UNSUPPORTED, "%s does not hold %s; choose another container or codec", o->name,
                codec == AV_CODEC_ID_NONE ? "tracks of this kind" : avcodec_get_name(codec));
}

/* The same of another file's stream, whose pixels are what they are. */
static int holds_stream(media_mux *m, const AVCodecParameters *codec) {
    int rc = holds(m, codec->codec_id);
    const enum AVPixelFormat *p = pixels_held(m->format->oformat, codec->codec_id, codec->width);
    if (rc != MEDIA_MUX_OK || !p) return rc;
    while (*p != AV_PIX_FMT_NONE && (int)*p != codec->format) p++;
    if ((int)*p == codec->format) return MEDIA_MUX_OK;
    const char *name = av_get_pix_fmt_name((enum AVPixelFormat)codec->format);
    return fail(m, MEDIA_MUX_UNSUPPORTED, "%s does not hold rawvideo of %s; choose another container",
                m->format->oformat->name, name ? name : "unknown pixels");
}

static int add(media_mux *m, AVStream **stream) {
    *stream = avformat_new_stream(m->format, NULL);
    return *stream ? MEDIA_MUX_OK : fail(m, MEDIA_MUX_NO_MEMORY, "the track");
}

static int add_encoded(media_mux *m, media_enc *e) {
    AVStream *s;
    AVCodecContext *x = e->codec;
    int rc = holds(m, x->codec_id);
    if (rc == MEDIA_MUX_OK) rc = add(m, &s);
    if (rc != MEDIA_MUX_OK) return rc;
    if (avcodec_parameters_from_context(s->codecpar, x) < 0) return fail(m, MEDIA_MUX_NO_MEMORY, "the track");
    s->time_base = x->time_base;
    if (x->framerate.num > 0) s->avg_frame_rate = x->framerate;
    m->track[m->n_tracks] = (media_mux_track){.stream = s, .encoder = e, .time_base = x->time_base};
    return m->n_tracks++;
}

int media_mux_encode(media_mux *m, int type, const media_enc_config *c) {
    int rc = room(m);
    if (rc != MEDIA_MUX_OK) return rc;
    media_enc_config config = *c;
    const AVOutputFormat *o = m->format->oformat;
    enum AVCodecID usual = type == AVMEDIA_TYPE_AUDIO ? o->audio_codec : o->video_codec;
    if (!config.codec && usual == AV_CODEC_ID_NONE) return holds(m, usual);
    if (!config.codec) config.codec = avcodec_get_name(usual);
    config.global_header = (o->flags & AVFMT_GLOBALHEADER) != 0;
    if (strcmp(config.codec, "rawvideo") == 0) config.held = pixels_held(o, AV_CODEC_ID_RAWVIDEO, c->width);
    media_enc *e = media_enc_new();
    if (!e) return fail(m, MEDIA_MUX_NO_MEMORY, "the encoder");
    rc = type == AVMEDIA_TYPE_AUDIO ? media_enc_audio(e, &config, &m->options)
                                    : media_enc_video(e, &config, &m->options);
    av_dict_free(&m->options);
    rc = rc == MEDIA_MUX_OK ? add_encoded(m, e) : fail(m, rc, "%s", e->detail);
    if (rc < 0) media_enc_free(e);
    return rc;
}

int media_mux_filters(media_mux *m, AVBSFContext **filter, const AVStream *from, const char *filters) {
    media_av_forget();
    int rc = av_bsf_list_parse_str(filters, filter);
    if (rc == AVERROR_BSF_NOT_FOUND)
        return fail(m, MEDIA_MUX_UNSUPPORTED, "this FFmpeg knows not all bitstream filters of \"%s\"",
                    filters);
    if (rc >= 0) rc = avcodec_parameters_copy((*filter)->par_in, from->codecpar);
    if (rc < 0) return media_mux_failed(m, rc, MEDIA_MUX_INVALID, filters);
    (*filter)->time_base_in = from->time_base;
    rc = av_bsf_init(*filter);
    return rc < 0 ? media_mux_failed(m, rc, MEDIA_MUX_UNSUPPORTED, filters) : MEDIA_MUX_OK;
}

/* How pictures are turned, their colours' range of light and what else the container says of the whole stream. */
static int copy_side_data(media_mux *m, AVStream *s, const AVStream *from) {
    for (int i = 0; i < from->nb_side_data; i++) {
        const AVPacketSideData *d = &from->side_data[i];
        uint8_t *data = av_stream_new_side_data(s, d->type, d->size);
        if (!data) return fail(m, MEDIA_MUX_NO_MEMORY, "the track");
        memcpy(data, d->data, d->size);
    }
    return MEDIA_MUX_OK;
}

/* TTA's header counts samples, and is made from how long its packets are, or the file: of a source whose clock is coarser, as Matroska's is,
 * it counts others, and nothing decodes. */
static int check_clock(media_mux *m, const AVStream *from) {
    const AVCodecParameters *codec = from->codecpar;
    if (codec->codec_id != AV_CODEC_ID_TTA ||
        av_cmp_q(from->time_base, (AVRational){1, FFMAX(codec->sample_rate, 1)}) <= 0)
        return MEDIA_MUX_OK;
    return fail(m, MEDIA_MUX_UNSUPPORTED,
                "the source's clock of %d/%d s does not say how many samples its TTA has; decode and encode",
                from->time_base.num, from->time_base.den);
}

int media_mux_copy(media_mux *m, const AVStream *from, const char *filters) {
    AVBSFContext *filter = NULL;
    AVStream *s;
    const AVOutputFormat *o = m->format->oformat;
    char both[1024];
    int rc = room(m);
    if (rc == MEDIA_MUX_OK) rc = holds_stream(m, from->codecpar);
    if (rc == MEDIA_MUX_OK) rc = check_clock(m, from);
    filters = media_mux_needs(o, from->codecpar, filters, both, sizeof both);
    if (rc == MEDIA_MUX_OK && filters) rc = media_mux_filters(m, &filter, from, filters);
    if (rc == MEDIA_MUX_OK) rc = add(m, &s);
    if (rc == MEDIA_MUX_OK &&
        avcodec_parameters_copy(s->codecpar, filter ? filter->par_out : from->codecpar) < 0)
        rc = fail(m, MEDIA_MUX_NO_MEMORY, "the track");
    if (rc == MEDIA_MUX_OK) rc = copy_side_data(m, s, from);
    if (rc != MEDIA_MUX_OK) {
        av_bsf_free(&filter);
        return rc;
    }
    s->codecpar->codec_tag = 0; /* the other container's */
    s->time_base = filter ? filter->time_base_out : from->time_base;
    s->avg_frame_rate = from->avg_frame_rate;
    s->sample_aspect_ratio = from->sample_aspect_ratio;
    m->track[m->n_tracks] = (media_mux_track){
        .stream = s, .filter = filter, .time_base = s->time_base, .leads = media_mux_leads(o, s->codecpar)};
    return m->n_tracks++;
}

int media_mux_start(media_mux *m) {
    if (!m->n_tracks) return fail(m, MEDIA_MUX_INVALID, "it has no tracks; add one before the first write");
    media_av_forget();
    int rc = avformat_write_header(m->format, &m->options);
    if (rc < 0) return media_mux_failed(m, rc, MEDIA_MUX_UNSUPPORTED, m->format->oformat->name);
    m->started = 1;
    const AVDictionaryEntry *unknown = av_dict_get(m->options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (!unknown) return MEDIA_MUX_OK;
    return fail(m, MEDIA_MUX_INVALID, "%s has no option \"%s\"", m->format->oformat->name, unknown->key);
}

/* --- writing --- */

/* Where the source says only when pictures are decoded (AVI), muxers show them then, in that order, or guess. */
static int check_shown(media_mux *m, const media_mux_track *t, const AVPacket *p) {
    const AVOutputFormat *o = m->format->oformat;
    if (p->pts != AV_NOPTS_VALUE || t->stream->codecpar->video_delay <= 0 || o->flags & AVFMT_NOTIMESTAMPS ||
        av_match_name(o->name, "avi"))
        return MEDIA_MUX_OK;
    return fail(
        m, MEDIA_MUX_INVALID,
        "the source does not say when a picture is shown, and %s needs it; copy to avi, or decode and "
        "encode",
        o->name);
}

/* FFmpeg reads where Vorbis ends in an Ogg only if a page of sound lies before the last one: the first packets that give samples have one. */
static int end_first_page(media_mux *m, media_mux_track *t) {
    const media_enc *e = t->encoder;
    if (t->paged || m->n_tracks > 1 || !e || !e->vorbis || e->heard <= 0 || e->heard >= e->next ||
        !av_match_name(m->format->oformat->name, "ogg,oga"))
        return 0;
    t->paged = 1;
    return av_write_frame(m->format, NULL);
}

/* A packet may say how many samples ahead of it are no sound. Of fewer than the 529 that a decoder makes FFmpeg 5.1's MP3 says 4096 and less. */
static void count_ahead(const media_mux *m, const media_mux_track *t, AVPacket *p) {
    enum { DECODERS_DELAY = 529, WHOLE = 10 };
    size_t size = 0;
    if (t->stream->codecpar->codec_id != AV_CODEC_ID_MP3 || strcmp(m->format->oformat->name, "mp3") != 0)
        return;
    uint8_t *skip = av_packet_get_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, &size);
    if (skip && size >= WHOLE && AV_RL32(skip) < DECODERS_DELAY) AV_WL32(skip, DECODERS_DELAY);
}

static int put(media_mux *m, media_mux_track *t, AVPacket *p) {
    int rc = check_shown(m, t, p);
    if (rc != MEDIA_MUX_OK) return rc;
    if (t->leads && media_mux_lead(t->stream->codecpar, p) < 0)
        return fail(m, MEDIA_MUX_NO_MEMORY, "a packet");
    count_ahead(m, t, p);
    p->stream_index = t->stream->index;
    p->pos = -1;
    av_packet_rescale_ts(p, t->time_base, t->stream->time_base);
    rc = av_interleaved_write_frame(m->format, p);
    if (rc >= 0) rc = end_first_page(m, t);
    if (rc >= 0 && m->io->error < 0) rc = m->io->error;
    return rc < 0 ? media_mux_failed(m, rc, MEDIA_MUX_INVALID, "a packet") : MEDIA_MUX_OK;
}

/* All packets that the encoder has. */
static int drain(media_mux *m, media_mux_track *t) {
    AVPacket *p;
    for (;;) {
        int rc = media_enc_packet(t->encoder, &p);
        if (rc == MEDIA_MUX_AGAIN || rc == MEDIA_MUX_END) return MEDIA_MUX_OK;
        if (rc != MEDIA_MUX_OK) return fail(m, rc, "%s", t->encoder->detail);
        rc = put(m, t, p);
        if (rc != MEDIA_MUX_OK) return rc;
    }
}

static int given(media_mux *m, media_mux_track *t, int rc) {
    return rc == MEDIA_MUX_OK ? drain(m, t) : fail(m, rc, "%s", t->encoder->detail);
}

int media_mux_pictures(media_mux *m, int track, const uint8_t *pixels, int n, const int64_t *pts) {
    media_mux_track *t = &m->track[track];
    media_enc *e = t->encoder;
    int64_t bytes = media_enc_picture_bytes(e);
    int rc = MEDIA_MUX_OK;
    for (int i = 0; rc == MEDIA_MUX_OK && i < n; i++) {
        int64_t at = pts ? pts[i] : e->next == INT64_MIN ? 0 : e->next - 1 + e->ticks;
        rc = given(m, t, media_enc_picture(e, pixels + i * bytes, at));
    }
    return rc;
}

int media_mux_samples(media_mux *m, int track, const uint8_t *samples, int n) {
    media_mux_track *t = &m->track[track];
    return given(m, t, media_enc_samples(t->encoder, samples, n));
}

/* Send p, or the end when it is NULL, through the filter, and write what comes out. */
static int filter(media_mux *m, media_mux_track *t, AVPacket *p) {
    int rc = av_bsf_send_packet(t->filter, p);
    while (rc >= 0) {
        rc = av_bsf_receive_packet(t->filter, m->packet);
        if (rc < 0) break;
        int status = put(m, t, m->packet);
        if (status != MEDIA_MUX_OK) return status;
    }
    if (rc == AVERROR(EAGAIN) || rc == AVERROR_EOF) return MEDIA_MUX_OK;
    return media_mux_failed(m, rc, MEDIA_MUX_INVALID, "filtering a packet");
}

int media_mux_packet(media_mux *m, int track, const AVPacket *packet) {
    media_mux_track *t = &m->track[track];
    media_av_forget();
    av_packet_unref(m->packet);
    if (av_packet_ref(m->packet, packet) < 0) return fail(m, MEDIA_MUX_NO_MEMORY, "a packet");
    return t->filter ? filter(m, t, m->packet) : put(m, t, m->packet);
}

static int end(media_mux *m, media_mux_track *t) {
    if (t->filter) return filter(m, t, NULL);
    if (!t->encoder) return MEDIA_MUX_OK;
    if (t->encoder->codec->codec_type == AVMEDIA_TYPE_VIDEO && t->encoder->next == INT64_MIN)
        return fail(m, MEDIA_MUX_INVALID, "track %d was given no frames; write one at least",
                    t->stream->index);
    media_enc_end(t->encoder);
    return drain(m, t);
}

int media_mux_finish(media_mux *m) {
    int rc = MEDIA_MUX_OK;
    for (int i = 0; rc == MEDIA_MUX_OK && i < m->n_tracks; i++) rc = end(m, &m->track[i]);
    if (rc != MEDIA_MUX_OK) return rc;
    media_av_forget();
    int failure = av_write_trailer(m->format);
    avio_flush(m->io);
    if (failure >= 0 && m->io->error < 0) failure = m->io->error;
    return failure < 0 ? media_mux_failed(m, failure, MEDIA_MUX_UNSUPPORTED, "the trailer") : MEDIA_MUX_OK;
}
