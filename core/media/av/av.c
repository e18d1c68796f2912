//go:build !noffmpeg

/* av.c - open, read, send, receive. */
#include "claims.h"
#include "cut.h"
#include "packets.h"
#include "unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IO_BUFFER_BYTES = 64 * 1024, MAX_TAGS = 1024 };

/* Containers that hold their own bytes. Playlists and the like are not among them: they make FFmpeg open other files and
 * addresses, which are named by whoever wrote the sample. */
static const char containers[] =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpegtsraw,mpeg,mpegvideo,flv,asf,ogg,nut,mxf,gxf,dv,rm,ivf,"
    "h261,h263,h264,hevc,m4v,obu,av1,vc1,yuv4mpegpipe,gif,apng,mjpeg,smjpeg,swf,nsv,wtv,"
    "wav,w64,aiff,au,caf,mp3,aac,flac,ac3,eac3,dts,dtshd,truehd,amr,amrnb,amrwb,ape,tak,tta,wv,mpc,mpc8,oma,shn,voc,"
    "gsm,ircam,sox,opus,spdif";

int64_t media_av_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int media_av_fail(media_av *a, int status, const char *detail) {
    snprintf(a->detail, sizeof a->detail, "%s", detail);
    a->detail[strcspn(a->detail, "\r\n")] = 0;
    return status;
}

int media_av_check(media_av *a) {
    if (a->deadline_ns && media_av_now_ns() > a->deadline_ns)
        return media_av_fail(a, MEDIA_AV_TOO_SLOW,
                             "the budget of time for one sample is used up; raise timeout");
    return MEDIA_AV_OK;
}

void media_av_allow(media_av *a, int64_t budget_ns) {
    a->deadline_ns = budget_ns > 0 ? media_av_now_ns() + budget_ns : 0;
}

static int interrupted(void *opaque) { return media_av_check(opaque) != MEDIA_AV_OK; }

static int averror_status(int rc) {
    switch (rc) {
    case AVERROR(ENOMEM): return MEDIA_AV_NO_MEMORY;
    case AVERROR_PATCHWELCOME:
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR(ENOSYS): return MEDIA_AV_UNSUPPORTED;
    case AVERROR_EXIT: return MEDIA_AV_TOO_SLOW;
    default: return MEDIA_AV_CORRUPT;
    }
}

/* FFmpeg says in words only that a file was cut. */
static int says_truncated(const char *message) {
    return strstr(message, "moov atom not found") || strstr(message, "ended prematurely") ||
           strstr(message, "partial file") || strstr(message, "Truncat") || strstr(message, "truncated");
}

/* Or that a header of Ogg was. */
static int says_damaged(const char *message) { return strstr(message, "CRC mismatch") != NULL; }

/* Nor is it known otherwise that a picture is larger than max_pixels, and how large. */
static int says_too_large(media_av *a) {
    const char *size = strstr(media_av_message(), "icture size ");
    if (!size || !strstr(size, "exceeds specified max pixel count")) return 0;
    return sscanf(size, "icture size %dx%d", &a->refused_width, &a->refused_height) == 2;
}

int media_av_status(media_av *a, int rc, const char *what) {
    char reason[AV_ERROR_MAX_STRING_SIZE], text[sizeof a->detail];
    if (a->refused != MEDIA_AV_OK) return a->refused;
    int status = averror_status(rc);
    if (says_too_large(a)) status = MEDIA_AV_TOO_MANY_PIXELS;
    if (status == MEDIA_AV_CORRUPT && says_truncated(media_av_message())) status = MEDIA_AV_TRUNCATED;
    snprintf(text, sizeof text, "%s: %s", what, media_av_reason(rc, reason));
    return media_av_fail(a, status, text);
}

/* --- bytes --- */

/* FFmpeg asks nothing else whether there is time left while it opens a container. */
static int read_bytes(void *opaque, uint8_t *to, int n) {
    media_av *a = opaque;
    int64_t left = a->source.size - a->position;
    if (left <= 0) return AVERROR_EOF;
    const int late = media_av_check(a);
    if (late != MEDIA_AV_OK) {
        a->refused = late;
        return AVERROR_EXIT;
    }
    if (n > left) n = (int)left;
    if (a->source.data) {
        memcpy(to, a->source.data + a->position, (size_t)n);
        a->position += n;
        return n;
    }
    const media_far *far = &a->source.far;
    const int64_t at = a->source.offset + a->position;
    int64_t got;
    do got = far->read ? far->read(far->of, to, n, at) : pread(a->source.fd, to, (size_t)n, at);
    while (got < 0 && !far->read && errno == EINTR);
    if (got < 0) {
        a->refused =
            media_av_fail(a, MEDIA_AV_READ, far->read ? "the bytes are out of reach" : strerror(errno));
        return AVERROR(EIO);
    }
    if (got == 0) return AVERROR_EOF; /* the file became shorter */
    a->position += got;
    return (int)got;
}

int media_av_some(media_av *a, int64_t at, uint8_t *to, int least, int most) {
    int64_t was = a->position;
    int got = 0, rc = 1;
    a->position = at;
    while (got < least && (rc = read_bytes(a, to + got, most - got)) > 0) got += rc;
    a->position = was;
    return got;
}

int media_av_bytes(media_av *a, int64_t at, uint8_t *to, int n) { return media_av_some(a, at, to, n, n); }

/* Zeros of what is skimmed, up to n of those from the position on; 0: it is not. */
static int skimmed(media_av *a, uint8_t *to, int *n) {
    int i = 0; /* the first that ends behind the position */
    for (int end = a->n_skims; i < end;) {
        const int middle = i + (end - i) / 2;
        if (a->skims[middle].to > a->position)
            end = middle;
        else
            i = middle + 1;
    }
    if (i == a->n_skims) return 0;
    const media_span *s = &a->skims[i];
    if (a->position < s->from) {
        if (a->position + *n > s->from) *n = (int)(s->from - a->position);
        return 0;
    }
    if (a->position + *n > s->to) *n = (int)(s->to - a->position);
    memset(to, 0, (size_t)*n);
    a->position += *n;
    return 1;
}

/* What the demuxer reads. */
static int read_ahead(void *opaque, uint8_t *to, int n) {
    media_av *a = opaque;
    const int64_t left = a->source.size - a->position;
    if (n > left) n = (int)(left < 0 ? 0 : left);
    return n > 0 && a->skim && skimmed(a, to, &n) ? n : read_bytes(a, to, n);
}

static int64_t seek_bytes(void *opaque, int64_t to, int whence) {
    media_av *a = opaque;
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE: return a->source.size;
    case SEEK_CUR: to += a->position; break;
    case SEEK_END: to += a->source.size; break;
    default: break;
    }
    if (to < 0) return AVERROR(EINVAL);
    return a->position = to;
}

/* A container may name other files; nothing is opened for it. */
static int refuse_open(AVFormatContext *f, AVIOContext **io, const char *url, int flags,
                       AVDictionary **options) {
    (void)f, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EPERM);
}

/* --- life --- */

media_av *media_av_new(void) {
    media_av *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->packet = av_packet_alloc();
    a->frame = av_frame_alloc();
    a->copied = av_frame_alloc();
    if (a->packet && a->frame && a->copied) return a;
    media_av_free(a);
    return NULL;
}

void media_av_free(media_av *a) {
    if (!a) return;
    media_av_close(a);
    av_packet_free(&a->packet);
    av_frame_free(&a->frame);
    av_frame_free(&a->copied);
    free(a);
}

const char *media_av_detail(const media_av *a) { return a->detail; }

static void forget_skims(media_av *a) {
    free(a->skims);
    a->skims = NULL;
    a->n_skims = a->skim = 0;
}

void media_av_close(media_av *a) {
    forget_skims(a);
    av_packet_unref(a->packet);
    av_frame_unref(a->frame);
    av_frame_unref(a->copied);
    avcodec_free_context(&a->codec);
    av_bsf_free(&a->unpack);
    if (a->io) {
        avformat_close_input(&a->format);
    } else { /* of packets: nothing was opened */
        avformat_free_context(a->format);
        a->format = NULL;
    }
    if (a->io) av_freep(&a->io->buffer); /* FFmpeg may have replaced the one that it was given */
    avio_context_free(&a->io);
    a->stream = NULL;
}

static void defaults(media_av_options *o) {
    if (o->threads <= 0) o->threads = 1;
    if (!o->max_streams) o->max_streams = 64;
    if (!o->max_packets) o->max_packets = 1 << 27;
    if (!o->max_pixels) o->max_pixels = 1 << 28;
    if (!o->probe_bytes) o->probe_bytes = 5000000;
}

static int prepare(media_av *a) {
    uint8_t *buffer = av_malloc(IO_BUFFER_BYTES);
    a->io = buffer ? avio_alloc_context(buffer, IO_BUFFER_BYTES, 0, a, read_ahead, NULL, seek_bytes) : NULL;
    if (!a->io) {
        av_free(buffer);
        return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the input's buffer");
    }
    AVFormatContext *f = a->format = avformat_alloc_context();
    if (!f) return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the demuxer");
    f->pb = a->io;
    f->flags |= AVFMT_FLAG_CUSTOM_IO;
    f->io_open = refuse_open;
    f->interrupt_callback = (AVIOInterruptCB){interrupted, a};
    f->max_streams = (int)a->options.max_streams;
    f->probesize = a->options.probe_bytes;
    f->format_whitelist = av_strdup(containers);
    f->protocol_whitelist = av_strdup("none");
    if (!f->format_whitelist || !f->protocol_whitelist)
        return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the demuxer");
    return MEDIA_AV_OK;
}

/* Whether a decoder can be opened from the header alone. Formats that are merely raw streams have no header, and in MPEG
 * the parameters come with the data. */
static int header_is_enough(const AVFormatContext *f, const AVCodecParameters *p) {
    if (!strstr(f->iformat->name, "mp4") && !strstr(f->iformat->name, "matroska")) return 0;
    if (p->codec_type == AVMEDIA_TYPE_VIDEO)
        return p->width > 0 && p->height > 0 && !media_packets_sized_otherwise(p) &&
               ((p->extradata_size > 0 &&
                 (p->codec_id == AV_CODEC_ID_H264 || p->codec_id == AV_CODEC_ID_HEVC ||
                  p->codec_id == AV_CODEC_ID_AV1)) ||
                p->codec_id == AV_CODEC_ID_VP8 || p->codec_id == AV_CODEC_ID_VP9);
    return p->sample_rate > 0 && p->ch_layout.nb_channels > 0 && p->extradata_size > 0;
}

/* The refusal of a stream's number, with those that there are. */
static int lacks_stream(media_av *a, int asked) {
    char text[sizeof a->detail];
    const char *kind = av_get_media_type_string((enum AVMediaType)a->options.type);
    int n = snprintf(text, sizeof text, "got stream %d, want a stream of %s; there are", asked, kind);
    for (unsigned i = 0; i < a->format->nb_streams && n < (int)sizeof text; i++) {
        const char *is = av_get_media_type_string(a->format->streams[i]->codecpar->codec_type);
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %u (%s)", i ? "," : "", i, is ? is : "unknown");
    }
    return media_av_fail(a, MEDIA_AV_NO_STREAM, text);
}

static int choose_stream(media_av *a) {
    static const char *const missing[] = {"it has no video", "it has no audio"};
    AVFormatContext *f = a->format;
    enum AVMediaType type = (enum AVMediaType)a->options.type;
    int asked = a->options.stream - 1;
    if (f->nb_streams > a->options.max_streams)
        return media_av_fail(a, MEDIA_AV_TOO_MUCH, "too many streams");
    if (asked >= (int)f->nb_streams || (asked >= 0 && f->streams[asked]->codecpar->codec_type != type))
        return lacks_stream(a, asked);
    if (asked < 0) asked = av_find_best_stream(f, type, -1, -1, NULL, 0);
    if (asked < 0) return media_av_fail(a, MEDIA_AV_NO_STREAM, missing[type == AVMEDIA_TYPE_AUDIO]);
    a->stream = f->streams[asked];
    for (unsigned i = 0; i < f->nb_streams; i++)
        f->streams[i]->discard = (int)i == asked ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    return MEDIA_AV_OK;
}

/* Decode the start of every stream for what the header does not say, within the limit of pixels. */
static int probe(media_av *a) {
    unsigned n = a->format->nb_streams;
    AVDictionary **options = av_calloc(n + 1, sizeof *options);
    if (!options) return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the streams");
    for (unsigned i = 0; i < n; i++) {
        a->format->streams[i]->discard = AVDISCARD_DEFAULT;
        av_dict_set_int(&options[i], "max_pixels", (int64_t)a->options.max_pixels, 0);
    }
    int rc = avformat_find_stream_info(a->format, options);
    for (unsigned i = 0; i < n; i++) av_dict_free(&options[i]);
    av_free(options);
    return rc < 0 ? media_av_status(a, rc, "reading the streams") : MEDIA_AV_OK;
}

/* Whether probing may bring a stream that the header did not: MP3's says neither rate nor channels, without which FFmpeg
 * chooses no stream. */
static int more_to_find(const media_av *a) {
    const AVFormatContext *f = a->format;
    int there = f->ctx_flags & AVFMTCTX_NOHEADER;
    for (unsigned i = 0; !a->options.stream && i < f->nb_streams; i++)
        there |= f->streams[i]->codecpar->codec_type == (enum AVMediaType)a->options.type;
    return there != 0;
}

/* ID3v2 tags before a sound say nothing about its frames, and FFmpeg unpacks what is packed in them: 250 KB to 250 MB. */
static int pass_tags(media_av *a) {
    uint8_t h[10];
    for (int tags = 0; media_av_bytes(a, 0, h, sizeof h) == sizeof h && memcmp(h, "ID3", 3) == 0 &&
                       h[3] < 0xff && ((h[6] | h[7] | h[8] | h[9]) & 0x80) == 0;
         tags++) {
        if (tags == MAX_TAGS) return media_av_fail(a, MEDIA_AV_TOO_MUCH, "too many tags before the sound");
        int64_t size = 10 + ((int64_t)h[6] << 21 | h[7] << 14 | h[8] << 7 | h[9]) + (h[5] & 0x10 ? 10 : 0);
        if (size >= a->source.size) break;
        a->source.size -= size;
        if (a->source.data)
            a->source.data += size;
        else
            a->source.offset += size;
    }
    return MEDIA_AV_OK;
}

/* JPEGs one behind the other, which FFmpeg takes for a folder's pictures unless it is told; NULL: it finds the format. */
static const AVInputFormat *known_format(media_av *a) {
    uint8_t h[3];
    int jpegs = a->options.type == AVMEDIA_TYPE_VIDEO && media_av_bytes(a, 0, h, sizeof h) == sizeof h &&
                memcmp(h, "\xff\xd8\xff", sizeof h) == 0;
    return jpegs ? av_find_input_format("mjpeg") : NULL;
}

/* What FFmpeg says of bytes that it does not know, and what they begin with: a server's page is told from a sound by that. */
static int not_media(media_av *a) {
    uint8_t head[12];
    char text[sizeof a->detail];
    const char *says = media_av_message();
    const int words = (int)strcspn(says, "\n"), got = media_av_bytes(a, 0, head, sizeof head);
    size_t n = (size_t)snprintf(text, sizeof text, "%.*s%sit begins with \"", words, says, words ? "; " : "");
    for (int i = 0; i < got && n + 6 < sizeof text; i++) {
        const int plain = head[i] >= ' ' && head[i] <= '~' && head[i] != '"' && head[i] != '\\';
        n += (size_t)snprintf(text + n, sizeof text - n, plain ? "%c" : "\\x%02x", head[i]);
    }
    if (n + 1 < sizeof text) memcpy(text + n, "\"", 2);
    if (!words && got >= 4 && memcmp(head, "caff", 4) == 0)
        return media_av_fail(
            a, MEDIA_AV_CORRUPT,
            "a CAF whose desc chunk has a number below zero, as FFmpeg 5.1 may write it of FLAC and Opus; write it again, as .flac or .opus for instance");
    return media_av_fail(a, MEDIA_AV_NOT_MEDIA, text);
}

/* What it is that FFmpeg knows and is not let read: pictures have a decoder of their own. */
static int not_read(media_av *a) {
    static const struct {
        int at;
        const char *magic, *name;
    } pictures[] = {
        {0, "\xff\xd8\xff", "JPEG"}, {0, "\x89PNG", "PNG"},
        {8, "WEBP", "WebP"},         {0, "BM", "BMP"},
        {0, "II*", "TIFF"},          {0, "MM", "TIFF"},
        {4, "jP  ", "JPEG 2000"},    {0, "\xff\x4f\xff", "JPEG 2000"},
        {0, "qoif", "QOI"},          {0, "8BPS", "PSD"},
        {0, "DDS ", "DDS"},          {0, "\x76\x2f\x31\x01", "OpenEXR"},
    };
    char head[12] = "", text[sizeof a->detail];
    media_av_bytes(a, 0, (uint8_t *)head, sizeof head);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        if (memcmp(head + pictures[i].at, pictures[i].magic, strlen(pictures[i].magic)) != 0) continue;
        snprintf(text, sizeof text,
                 "it is a picture (%s), which the section image reads, in Python spdl.io.load_image",
                 pictures[i].name);
        return media_av_fail(a, MEDIA_AV_UNSUPPORTED, text);
    }
    return media_av_fail(a, MEDIA_AV_UNSUPPORTED, "a container of a kind that is not read");
}

static int open_input(media_av *a) {
    if (a->source.packets) return media_packets_open(a);
    int rc = a->options.type == AVMEDIA_TYPE_AUDIO ? pass_tags(a) : MEDIA_AV_OK;
    if (rc == MEDIA_AV_OK) rc = media_av_claims(a);
    if (rc == MEDIA_AV_OK) rc = prepare(a);
    if (rc != MEDIA_AV_OK) return rc;
    rc = avformat_open_input(&a->format, NULL, known_format(a), NULL);
    if (rc == AVERROR(EINVAL) && a->refused == MEDIA_AV_OK && strstr(media_av_message(), "whitelist"))
        return not_read(a);
    if (rc == AVERROR_INVALIDDATA && !says_truncated(media_av_message()) &&
        !says_damaged(media_av_message()) && a->refused == MEDIA_AV_OK)
        return not_media(a);
    if (rc < 0) return media_av_status(a, rc, "opening the container");
    rc = choose_stream(a);
    if (rc == MEDIA_AV_OK && a->options.lean && header_is_enough(a->format, a->stream->codecpar)) return rc;
    if (rc != MEDIA_AV_OK && !more_to_find(a)) return rc;
    rc = probe(a);
    if (rc == MEDIA_AV_OK) rc = choose_stream(a);
    const int sized = rc == MEDIA_AV_OK && (a->stream->codecpar->codec_type != AVMEDIA_TYPE_VIDEO ||
                                            a->stream->codecpar->width > 0);
    return rc == MEDIA_AV_OK && !sized && says_too_large(a) ? media_av_fail(a, MEDIA_AV_TOO_MANY_PIXELS, "")
                                                            : rc;
}

int media_av_open(media_av *a, const media_av_source *source, const media_av_options *options) {
    media_av_close(a);
    media_av_forget();
    a->source = *source;
    a->options = *options;
    defaults(&a->options);
    a->position = 0;
    a->origin = AV_NOPTS_VALUE;
    a->packets = 0;
    a->from = a->behind = -1;
    a->paged = 0;
    a->heard = 0;
    a->partial = 0;
    a->refused = MEDIA_AV_OK;
    a->refused_width = a->refused_height = 0;
    a->ended = a->drained = a->on_device = a->off_device = a->unpacked = 0;
    a->missed = INT64_MIN;
    a->device_format = AV_PIX_FMT_NONE;
    a->detail[0] = 0;
    media_av_allow(a, options->budget_ns);
    if (source->packets ? source->packets->n == 0 && !options->fed : source->size <= 0)
        return media_av_fail(a, MEDIA_AV_EMPTY, "");
    int rc = open_input(a);
    if ((rc == MEDIA_AV_NOT_MEDIA || rc == MEDIA_AV_CORRUPT) && media_av_cut(a)) rc = MEDIA_AV_TRUNCATED;
    if (rc == MEDIA_AV_OK) rc = media_unpack_open(a);
    if (rc != MEDIA_AV_OK) media_av_close(a);
    return rc;
}

/* --- packets --- */

int media_av_may_skim(media_av *a) {
    forget_skims(a);
    if (a->io && !a->source.data) a->n_skims = media_av_samples(a, &a->skims);
    return a->n_skims > 0;
}

void media_av_skim(media_av *a, int skim) {
    if (a->skim && !skim) a->io->buf_ptr = a->io->buf_end = a->io->buffer; /* which has zeros */
    a->skim = skim;
}

/* What av_read_frame's end is. */
static int container_ended(media_av *a) {
    if (media_av_cut(a)) return MEDIA_AV_TRUNCATED;
    if (a->refused != MEDIA_AV_OK) return a->refused;
    const int rc = media_av_lost(a, 1);
    if (rc != MEDIA_AV_OK) return rc;
    a->ended = 1;
    return MEDIA_AV_END;
}

/* Opus is always decoded at 48 kHz. Matroska says from which rate it was encoded, and its demuxer counts by that what is left out at the end.
 * FFmpeg sets the rate back as it reads. */
static void correct_rate(AVCodecParameters *p) {
    if (p->codec_id == AV_CODEC_ID_OPUS) p->sample_rate = 48000;
}

/* The container's next packet, of any stream. */
static int read_container(media_av *a) {
    correct_rate(a->stream->codecpar);
    int rc = av_read_frame(a->format, a->packet);
    if (a->refused != MEDIA_AV_OK) return a->refused;
    if (rc == AVERROR_EOF && says_truncated(media_av_message()))
        return media_av_fail(a, MEDIA_AV_TRUNCATED, media_av_message());
    if (rc == AVERROR_EOF) return container_ended(a);
    if (rc < 0) return media_av_status(a, rc, "reading a packet");
    a->from = a->packet->pos;
    a->behind = a->from < 0 ? -1 : a->from + a->packet->size;
    a->partial = a->packet->flags & AV_PKT_FLAG_CORRUPT;
    if (++a->packets > a->options.max_packets) return media_av_fail(a, MEDIA_AV_TOO_MUCH, "too many packets");
    return media_av_lost(a, 0);
}

/* Wave64 fills its chunks up to eight bytes, and FFmpeg counts that as sound when it writes them: what is less than a frame at the end no decoder of
 * samples takes. 1: the packet has nothing else. */
static int leave_filling(media_av *a) {
    const AVCodecParameters *p = a->stream->codecpar;
    if (!a->format->iformat || strcmp(a->format->iformat->name, "w64") != 0) return 0;
    if (p->block_align <= 0 || av_get_exact_bits_per_sample(p->codec_id) < 8) return 0;
    av_shrink_packet(a->packet, a->packet->size - a->packet->size % p->block_align);
    return a->packet->size == 0;
}

int media_av_read(media_av *a, AVPacket **packet) {
    media_av_forget();
    for (;;) {
        av_packet_unref(a->packet);
        int rc = media_av_check(a);
        if (rc == MEDIA_AV_OK) rc = a->source.packets ? media_packets_next(a) : read_container(a);
        if (rc != MEDIA_AV_OK) return rc;
        if (a->packet->stream_index != a->stream->index || leave_filling(a)) continue;
        if (!a->source.packets) media_av_count_samples(a);
        rc = media_unpack(a);
        if (rc < 0) return rc;
        if (rc == MEDIA_AV_OK) break;
    }
    *packet = a->packet;
    return MEDIA_AV_OK;
}

static int seek(media_av *a, int64_t ts, int flags) {
    media_av_forget();
    media_av_flush(a);
    a->ended = 0;
    a->behind = a->paged = a->heard = -1;
    a->partial = 0;
    media_unpack_flush(a);
    if (a->source.packets) return media_packets_seek(a, ts);
    int rc = av_seek_frame(a->format, a->stream->index, ts, flags);
    if (rc >= 0) return MEDIA_AV_OK;
    return media_av_status(a, rc, "seeking");
}

int media_av_seek(media_av *a, int64_t ts) {
    if (seek(a, ts, AVSEEK_FLAG_BACKWARD) == MEDIA_AV_OK) return MEDIA_AV_OK;
    return media_av_rewind(a);
}

/* Opened anew: not every demuxer finds its way back to the very first packet. */
int media_av_rewind(media_av *a) {
    uint64_t packets = a->packets;
    int64_t deadline_ns = a->deadline_ns;
    int index = a->stream->index;
    AVCodecContext *codec = a->codec;
    enum AVPixelFormat device_format = a->device_format;
    media_av_options options = a->options;
    media_av_source source = a->source;
    options.stream = index + 1;
    a->codec = NULL;
    int rc = media_av_open(a, &source, &options);
    a->codec = codec;
    a->device_format = device_format;
    a->packets = packets;
    a->deadline_ns = deadline_ns;
    if (rc != MEDIA_AV_OK) avcodec_free_context(&a->codec);
    media_av_flush(a);
    return rc;
}

/* --- frames --- */

/* Refuse a frame before memory is taken for it. Decoder threads may be here. */
static int get_buffer(AVCodecContext *c, AVFrame *frame, int flags) {
    media_av *a = c->opaque;
    if (frame->width > 0 && (uint64_t)frame->width * (uint64_t)frame->height > a->options.max_pixels) {
        a->refused_width = frame->width;
        a->refused_height = frame->height;
        a->refused = MEDIA_AV_TOO_MANY_PIXELS;
        return AVERROR(EINVAL);
    }
    return avcodec_default_get_buffer2(c, frame, flags);
}

/* Of Opus the reference decoder, where FFmpeg was built with it: FFmpeg's own is up to 0.1 off it in stereo, and two samples late in speech. */
static const AVCodec *find_decoder(enum AVCodecID id) {
    const AVCodec *reference = id == AV_CODEC_ID_OPUS ? avcodec_find_decoder_by_name("libopus") : NULL;
    return reference ? reference : avcodec_find_decoder(id);
}

int media_av_decoder(media_av *a) {
    if (a->codec) return MEDIA_AV_OK;
    const AVCodecParameters *p = a->unpack ? a->unpack->par_out : a->stream->codecpar;
    const AVCodec *decoder = media_av_device_decoder(a, p->codec_id);
    if (!decoder && a->options.device && a->options.device_alone) {
        char text[100];
        snprintf(text, sizeof text, "the device does not decode %s", avcodec_get_name(p->codec_id));
        return media_av_fail(a, MEDIA_AV_UNSUPPORTED, text);
    }
    if (!decoder) decoder = find_decoder(p->codec_id);
    if (!decoder) {
        char text[100];
        snprintf(text, sizeof text, "this FFmpeg has no decoder for %s", avcodec_get_name(p->codec_id));
        return media_av_fail(a, MEDIA_AV_UNSUPPORTED, text);
    }
    media_av_forget();
    AVCodecContext *c = a->codec = avcodec_alloc_context3(decoder);
    if (!c) return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the decoder");
    int rc = avcodec_parameters_to_context(c, p);
    if (rc >= 0) {
        c->opaque = a;
        c->get_buffer2 = get_buffer;
        c->max_pixels = (int64_t)a->options.max_pixels;
        c->thread_count = a->options.threads;
        c->pkt_timebase = a->stream->time_base;
        if (p->codec_id == AV_CODEC_ID_OPUS)
            c->request_sample_fmt = AV_SAMPLE_FMT_FLT; /* libopus would round it to 16 bits */
        /* What MP3's decoder sees by these it does not report: it plays silence, also where an encoder filled up with bits that are nothing. */
        if (p->codec_id != AV_CODEC_ID_MP3)
            c->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
        if (a->options.lean && a->options.reorder) c->has_b_frames = a->options.reorder - 1;
        rc = media_av_use_device(a, c);
    }
    if (rc >= 0) {
        rc = avcodec_open2(c, decoder, NULL);
    }
    if (rc >= 0) return MEDIA_AV_OK;
    rc = media_av_status(a, rc, "opening the decoder");
    avcodec_free_context(&a->codec);
    return rc == MEDIA_AV_CORRUPT ? MEDIA_AV_UNSUPPORTED : rc;
}

/* A decoder that only a device can serve, and which it does not, gives way to FFmpeg's first one of the codec. */
static int leave_device(media_av *a) {
    enum AVDiscard skip = a->codec->skip_frame;
    avcodec_free_context(&a->codec);
    int rc = media_av_decoder(a);
    if (rc == MEDIA_AV_OK) a->codec->skip_frame = skip;
    return rc;
}

/* What a decoder said: of a device's words, these are not about the sample. */
static int decoder_status(media_av *a, int rc) {
    int devices = rc == AVERROR_EXTERNAL || rc == AVERROR_UNKNOWN || rc == AVERROR(EIO) ||
                  rc == AVERROR(EBADF) || rc == AVERROR(EFAULT) || rc == AVERROR(ENOBUFS) ||
                  rc == AVERROR(EXDEV);
    if (a->device_format != AV_PIX_FMT_NONE && devices) return media_av_device_status(a, rc, "decoding");
    return media_av_status(a, rc, "decoding");
}

/* Known by what only a decoder of ours has. Its threads have each a copy of the context, with the number of their packet. */
void media_av_misses(const AVCodecContext *c) {
    if (c->get_buffer2 != get_buffer) return;
    media_av *a = c->opaque;
    __atomic_store_n(&a->missed, c->reordered_opaque,
                     __ATOMIC_RELAXED); /* its frames come later, by FFmpeg's locks */
}

int64_t media_av_missed(const media_av *a) { return __atomic_load_n(&a->missed, __ATOMIC_RELAXED); }

int media_av_send(media_av *a, const AVPacket *packet) {
    if (!packet) a->drained = 1;
    if (packet) a->codec->reordered_opaque = packet->pts;
    int rc = avcodec_send_packet(a->codec, packet);
    if (rc < 0 && a->off_device && a->device_format != AV_PIX_FMT_NONE) {
        int opened = leave_device(a);
        if (opened != MEDIA_AV_OK) return opened;
        rc = avcodec_send_packet(a->codec, packet);
    }
    if (rc == AVERROR(EAGAIN)) return MEDIA_AV_AGAIN;
    if (rc >= 0 || rc == AVERROR_EOF) return MEDIA_AV_OK;
    return decoder_status(a, rc);
}

int media_av_receive(media_av *a, AVFrame **frame) {
    int rc = avcodec_receive_frame(a->codec, a->frame);
    *frame = a->frame;
    if (rc == AVERROR(EAGAIN)) return MEDIA_AV_AGAIN;
    if (rc == AVERROR_EOF) return MEDIA_AV_END;
    return rc < 0 ? decoder_status(a, rc) : media_av_from_device(a, frame);
}

int media_av_is_key(const media_av *a, const AVFrame *frame) {
    if (a->stream->codecpar->codec_id == AV_CODEC_ID_H264 || a->on_device) return 1;
    if (a->stream->codecpar->codec_id == AV_CODEC_ID_DIRAC)
        return 0;                    /* its decoder keeps what packets before it said */
    if (!frame->key_frame) return 0; /* which is 1 of those that do not say */
    if (frame->pict_type == AV_PICTURE_TYPE_NONE) return -1;
    return frame->pict_type == AV_PICTURE_TYPE_I || frame->pict_type == AV_PICTURE_TYPE_SI;
}

void media_av_flush(media_av *a) {
    if (a->codec) avcodec_flush_buffers(a->codec);
    a->drained = 0;
    a->missed = INT64_MIN;
}

static int next_frame(media_av *a, AVFrame **frame) {
    int rc = media_av_decoder(a);
    while (rc == MEDIA_AV_OK) {
        rc = media_av_receive(a, frame);
        if (rc != MEDIA_AV_AGAIN) return rc;
        AVPacket *packet = NULL;
        if (!a->ended) rc = media_av_read(a, &packet);
        if (rc < 0) return rc;
        rc = media_av_send(a, rc == MEDIA_AV_END || a->ended ? NULL : packet);
    }
    return rc;
}

/* What does not decode may be the packet in which the file ends. */
int media_av_next(media_av *a, AVFrame **frame) {
    int rc = next_frame(a, frame);
    return rc == MEDIA_AV_CORRUPT && media_av_cut(a) ? MEDIA_AV_TRUNCATED : rc;
}
