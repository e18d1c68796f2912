//go:build !noffmpeg

/* packets.c - see packets.h. */
#include "packets.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES_LOG2 = 32 }; /* of a piece */

/* A decoder that begins in the middle of a sound needs some of what was before: what MP3's frames borrow from earlier ones,
 * the overlap of a transform, a filter's memory. All that FFmpeg decodes needs less than this, and behind it no more than the
 * overlap. */
enum { PREROLL_MS = 500, POSTROLL_MS = 100 };

/* Frames that any codec decodes before one that is shown earlier, at most. */
enum { MOST_REORDER = 16 };

/* --- pieces --- */

/* A container without bytes: one stream, as `from` has it. Of its demuxer only the name is looked at. */
static AVFormatContext *shell(const AVFormatContext *f, const AVStream *from) {
    AVFormatContext *to = avformat_alloc_context();
    AVStream *s = to ? avformat_new_stream(to, NULL) : NULL;
    int ok = s && avcodec_parameters_copy(s->codecpar, from->codecpar) >= 0;
    for (int i = 0; ok && i < from->nb_side_data; i++) {
        const AVPacketSideData *d = &from->side_data[i];
        uint8_t *data = av_stream_new_side_data(s, d->type, d->size);
        if (data) memcpy(data, d->data, d->size);
        ok = data != NULL;
    }
    if (!ok) {
        avformat_free_context(to);
        return NULL;
    }
    s->time_base = from->time_base;
    s->avg_frame_rate = from->avg_frame_rate;
    s->r_frame_rate = from->r_frame_rate;
    s->sample_aspect_ratio = from->sample_aspect_ratio;
    s->start_time = from->start_time;
    s->duration = from->duration;
    s->nb_frames = from->nb_frames;
    s->disposition = from->disposition;
    to->duration = f->duration;
    to->duration_estimation_method = f->duration_estimation_method;
    to->iformat = f->iformat;
    return to;
}

static media_packets *empty(const AVFormatContext *f, const AVStream *s) {
    media_packets *p = calloc(1, sizeof *p);
    if (p && (p->format = shell(f, s))) {
        p->origin = AV_NOPTS_VALUE;
        return p;
    }
    free(p);
    return NULL;
}

media_packets *media_packets_new(const media_av *a) { return empty(a->format, a->stream); }

media_packets *media_packets_blank(void) {
    media_packets *p = calloc(1, sizeof *p);
    if (p && (p->format = avformat_alloc_context()) && avformat_new_stream(p->format, NULL)) return p;
    media_packets_free(p);
    return NULL;
}

void media_packets_free(media_packets *p) {
    if (!p) return;
    for (int64_t i = 0; i < p->n; i++) av_packet_free(&p->packet[i]);
    free(p->packet);
    avformat_free_context(p->format);
    free(p);
}

int media_packets_append(media_packets *p, AVPacket *packet) {
    if (p->n == p->room) {
        int64_t room = p->room * 2 + 16;
        AVPacket **more = realloc(p->packet, (size_t)room * sizeof(AVPacket *));
        if (!more) return MEDIA_AV_NO_MEMORY;
        p->packet = more;
        p->room = room;
    }
    AVPacket *own = av_packet_alloc();
    if (!own) return MEDIA_AV_NO_MEMORY;
    av_packet_move_ref(own, packet);
    p->packet[p->n++] = own;
    p->bytes += own->size;
    return MEDIA_AV_OK;
}

media_packets *media_packets_slice(const media_packets *p, int64_t first, int64_t end) {
    media_packets *to = empty(p->format, p->format->streams[0]);
    AVPacket *share = to ? av_packet_alloc() : NULL;
    int rc = share ? MEDIA_AV_OK : MEDIA_AV_NO_MEMORY;
    for (int64_t i = first; rc == MEDIA_AV_OK && i < end; i++)
        rc = av_packet_ref(share, p->packet[i]) < 0 ? MEDIA_AV_NO_MEMORY : media_packets_append(to, share);
    av_packet_free(&share);
    if (rc != MEDIA_AV_OK) {
        media_packets_free(to);
        return NULL;
    }
    if (first == 0 && end == p->n) {
        to->origin = p->origin;
        to->whole = p->whole;
    }
    to->from_start = p->from_start && first == 0;
    return to;
}

/* --- reading a container --- */

static int64_t time_of(const AVPacket *p) { return p->dts != AV_NOPTS_VALUE ? p->dts : p->pts; }

/* The next packet: what is held, or else a's. */
static int next_of(media_av *a, AVPacket *held, AVPacket **packet) {
    if (held && held->buf) {
        *packet = held;
        return MEDIA_AV_OK;
    }
    return media_av_read(a, packet);
}

static int add(media_packets *p, media_av *a, AVPacket *packet) {
    if (p->bytes + packet->size > (int64_t)1 << MOST_BYTES_LOG2)
        return media_av_fail(a, MEDIA_AV_TOO_MUCH, "packets of more than 4 GiB; read them in pieces");
    return media_packets_append(p, packet) == MEDIA_AV_OK
               ? MEDIA_AV_OK
               : media_av_fail(a, MEDIA_AV_NO_MEMORY, "the packets");
}

int media_packets_read(media_packets *p, media_av *a, AVPacket *held, int64_t most, int64_t ticks) {
    int64_t first = AV_NOPTS_VALUE;
    int rc = MEDIA_AV_OK, from_start = a->packets == 0;
    while (rc == MEDIA_AV_OK && (!most || p->n < most)) {
        AVPacket *packet = NULL;
        rc = next_of(a, held, &packet);
        if (rc != MEDIA_AV_OK) break;
        int64_t at = time_of(packet);
        if (first == AV_NOPTS_VALUE) first = at;
        if (ticks > 0 && at != AV_NOPTS_VALUE && at - first >= ticks) {
            if (packet != held) av_packet_move_ref(held, packet);
            break;
        }
        rc = add(p, a, packet);
    }
    p->from_start = from_start;
    p->whole = rc == MEDIA_AV_END && from_start;
    return rc == MEDIA_AV_END && p->n > 0 ? MEDIA_AV_OK : rc;
}

int media_packets_lacks_colours(const media_av *a, const AVPacket *packet) {
    return a->stream->codecpar->format == AV_PIX_FMT_PAL8 &&
           !av_packet_get_side_data(packet, AV_PKT_DATA_PALETTE, NULL);
}

/* Whether the container has an index in which not all packets are key frames. AVI without one calls all of them so, and so does an MP4 without a
 * list of key frames, as FFmpeg's muxer leaves it of encoders that name none. */
static int has_index(const media_av *a) {
    const int n = avformat_index_get_entries_count(a->stream);
    for (int i = 0; i < n; i++)
        if (!(avformat_index_get_entry(a->stream, i)->flags & AVINDEX_KEYFRAME)) return 1;
    return 0;
}

/* Whether a codec's packets are all key frames, or its parser looks which of them are. */
static int has_sure_keys(enum AVCodecID id) {
    static const enum AVCodecID sure[] = {
        AV_CODEC_ID_CFHD, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC,       AV_CODEC_ID_VP8,
        AV_CODEC_ID_VP9,  AV_CODEC_ID_AV1,  AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO,
    };
    const AVCodecDescriptor *codec = avcodec_descriptor_get(id);
    if (codec && codec->props & AV_CODEC_PROP_INTRA_ONLY) return 1;
    for (size_t i = 0; i < sizeof sure / sizeof *sure; i++)
        if (sure[i] == id) return 1;
    return 0;
}

int media_packets_lists_keys(const media_av *a) {
    if (has_sure_keys(a->stream->codecpar->codec_id)) return 1;
    return a->format && has_index(a);
}

/* Whether a packet that is said to be a key frame is one, by what its decoder says of its picture: parsers that do not look (H.261, H.263, GIF) and
 * AVI without its index call all of them so. Of the codecs whose parsers do look only the container's word is taken. */
static int is_key(media_av *a, const AVPacket *packet) {
    AVFrame *frame = NULL;
    if (media_packets_lacks_colours(a, packet)) return 0;
    if (has_sure_keys(a->stream->codecpar->codec_id)) return 1;
    int rc = media_av_decoder(a);
    if (rc == MEDIA_AV_OK) rc = media_av_send(a, packet);
    if (rc == MEDIA_AV_OK) rc = media_av_send(a, NULL);
    if (rc == MEDIA_AV_OK) rc = media_av_receive(a, &frame);
    const int says = rc == MEDIA_AV_OK ? media_av_is_key(a, frame) : 0;
    media_av_flush(a);
    return says > 0 || (says < 0 && media_packets_lists_keys(a));
}

/* The last key frame that is shown at start or before, as a's next packet; at worst the first packet. Where a seek ends is
 * found by looking, never believed: containers seek by other times than those at which frames are shown. */
static int enter_at(media_av *a, int64_t start, AVPacket *held) {
    int64_t target = start, second = av_rescale_q(1, (AVRational){1, 1}, a->stream->time_base);
    for (int tries = 0;; tries++) {
        AVPacket *packet = NULL;
        int last = tries == 8 || (a->stream->start_time != AV_NOPTS_VALUE && target <= a->stream->start_time);
        int rc = last ? media_av_rewind(a) : media_av_seek(a, target);
        if (rc == MEDIA_AV_OK) rc = media_av_read(a, &packet);
        if (rc != MEDIA_AV_OK && (last || rc != MEDIA_AV_END)) return rc;
        if (rc == MEDIA_AV_OK && (last || (packet->flags & AV_PKT_FLAG_KEY && packet->pts != AV_NOPTS_VALUE &&
                                           packet->pts <= start))) {
            if (!last && !is_key(a, packet)) {
                tries = 7; /* the first packet is the only one that is known to be */
                continue;
            }
            av_packet_move_ref(held, packet);
            return MEDIA_AV_OK;
        }
        int64_t back = rc == MEDIA_AV_OK ? time_of(packet) : AV_NOPTS_VALUE;
        if (rc == MEDIA_AV_OK && packet->pts == AV_NOPTS_VALUE) tries = 7; /* no look will tell more */
        target = start - ((int64_t)1 << tries) * second;
        if (tries == 0 && back != AV_NOPTS_VALUE && back - 1 > target) target = back - 1;
    }
}

int64_t media_packets_unit(const AVPacket *p, const AVCodecParameters *codec, int64_t *at) {
    int lengths = codec->extradata_size > 4 && codec->extradata[0] == 1 ? (codec->extradata[4] & 3) + 1 : 0;
    while (*at + 4 < p->size) {
        int64_t size = 0, head = *at;
        if (lengths) {
            for (int i = 0; i < lengths; i++) size = size << 8 | p->data[head++];
        } else if (p->data[head] || p->data[head + 1] || p->data[head + 2] != 1) {
            ++*at;
            continue;
        } else {
            head += 3;
        }
        *at = head + size;
        if (head < p->size) return head;
    }
    return -1;
}

int media_packets_recovers(const AVPacket *p, const AVCodecParameters *codec) {
    if (codec->codec_id != AV_CODEC_ID_H264) return 0;
    for (int64_t at = 0, head; (head = media_packets_unit(p, codec, &at)) >= 0;)
        if ((p->data[head] & 31) == 5) return 0;
    return 1;
}

/* The bytes of a unit of H.264, without those that only keep start codes out of it. */
typedef struct unit {
    const uint8_t *data;
    int64_t size, at;
    int zeros; /* before at */
} unit;

/* The next byte; -1 at the end. */
static int next_byte(unit *u) {
    if (u->zeros >= 2 && u->at < u->size && u->data[u->at] == 3) {
        u->at++;
        u->zeros = 0;
    }
    if (u->at >= u->size) return -1;
    int byte = u->data[u->at++];
    u->zeros = byte ? 0 : u->zeros + 1;
    return byte;
}

/* A number of up to 16 bits behind as many zeros. */
static int64_t golomb(unit *u) {
    uint64_t bits = 0;
    for (int i = 0; i < 5; i++) {
        int byte = next_byte(u);
        bits = bits << 8 | (uint64_t)(byte < 0 ? 0 : byte);
    }
    int zeros = 0;
    while (zeros <= 16 && !(bits >> (39 - zeros) & 1)) zeros++;
    return zeros > 16 ? -1 : (int64_t)(bits >> (39 - 2 * zeros)) - 1;
}

/* What supplemental information says of a recovery point: after how many reference pictures all is whole; -1: nothing. Messages are of a type
 * and a size, each in bytes of 255 and one that is less. */
static int64_t recovery_in(unit *u) {
    for (int type; (type = next_byte(u)) >= 0 && type != 0x80;) {
        int64_t kind = type, size = 0;
        int byte = type;
        while (byte == 255 && (byte = next_byte(u)) >= 0) kind += byte;
        while ((byte = next_byte(u)) == 255) size += byte;
        if (byte < 0) return -1;
        if (kind == 6) return golomb(u);
        for (size += byte; size > 0; size--)
            if (next_byte(u) < 0) return -1;
    }
    return -1;
}

/* After how many reference pictures behind this key packet of H.264 pictures are whole; 0: it does not say. */
static int64_t recovery_count(const AVPacket *p, const AVCodecParameters *codec) {
    for (int64_t at = 0, head; (head = media_packets_unit(p, codec, &at)) >= 0;) {
        unit u = {p->data, p->size, head + 1, 0};
        int64_t count = (p->data[head] & 31) == 6 ? recovery_in(&u) : -1;
        if (count >= 0) return count;
    }
    return 0;
}

int media_packets_recovers_from(media_av *a, const AVPacket *p) {
    const AVCodecParameters *codec = a->stream->codecpar;
    if (!media_packets_recovers(p, codec) || recovery_count(p, codec) == 0) return 1;
    const AVCodec *decoder = avcodec_find_decoder(codec->codec_id);
    AVCodecContext *c = decoder ? avcodec_alloc_context3(decoder) : NULL;
    if (!c) return 1;
    int rc = avcodec_parameters_to_context(c, codec);
    c->thread_count = 1; /* messages are heard of their thread alone */
    c->max_pixels = (int64_t)a->options.max_pixels;
    if (rc >= 0) rc = avcodec_open2(c, decoder, NULL);
    media_av_forget();
    if (rc >= 0) avcodec_send_packet(c, p);
    int lacks = strstr(media_av_message(), "Missing reference picture") != NULL;
    media_av_forget();
    avcodec_free_context(&c);
    return !lacks;
}

static int is_reference(const AVPacket *p, const AVCodecParameters *codec) {
    for (int64_t at = 0, head; (head = media_packets_unit(p, codec, &at)) >= 0;) {
        int type = p->data[head] & 31;
        if (type >= 1 && type <= 5) return (p->data[head] & 0x60) != 0;
    }
    return 0;
}

/* Whether a decoder that enters at this recovery point, which a is behind, gives all that is shown from start on. It gives nothing until the
 * picture at which all is whole (of an intra refresh many are not before), and at the end of the packets nothing of what it then holds back:
 * that picture must be out. */
static int recovers_by(media_av *a, const AVPacket *key, int64_t start) {
    const AVCodecParameters *codec = a->stream->codecpar;
    int64_t left = recovery_count(key, codec) * (codec->field_order > AV_FIELD_PROGRESSIVE ? 2 : 1);
    if (!left) return 1;
    if (!media_packets_recovers_from(a, key)) return 0;
    int behind = 2 * (codec->video_delay + 1);
    AVPacket *p;
    while (media_av_read(a, &p) == MEDIA_AV_OK && time_of(p) <= start) {
        if (left > 0 && is_reference(p, codec) && --left == 0 && p->pts > start) return 0;
        if (left == 0 && is_reference(p, codec) && behind-- == 0) return 1;
    }
    return 0;
}

/* Where decoding starts: a key frame of H.264 that is none (a recovery point, an open group, a field) may show damaged pictures for a while, and
 * decoders go back to the one before it then. So does this, and half a second where they are nearer, and as far as pictures are whole by start
 * (an intra refresh). */
static int enter(media_av *a, int64_t start, AVPacket *held) {
    const AVCodecParameters *codec = a->stream->codecpar;
    const int64_t half = av_rescale_q(1, (AVRational){1, 2}, a->stream->time_base);
    int rc = enter_at(a, start, held);
    int64_t nearest = held->pts, before = AV_NOPTS_VALUE;
    while (rc == MEDIA_AV_OK && held->pts != AV_NOPTS_VALUE && media_packets_recovers(held, codec) &&
           held->pts != before) {
        const int64_t at = held->pts;
        const int far = before != AV_NOPTS_VALUE && at <= nearest - half;
        const int whole = far && recovers_by(a, held, start);
        before = at;
        av_packet_unref(held);
        rc = enter_at(a, whole ? at : at - 1, held); /* a has read on */
    }
    return rc;
}

/* Whether no frame of this packet, nor of a later one, is shown before end. late counts those that are not. Where the container does not
 * say when a packet is decoded, only as many late ones as a decoder may hold back tell. */
static int is_past(const AVPacket *p, const AVCodecParameters *codec, int64_t end, int *late) {
    int64_t shown = p->pts != AV_NOPTS_VALUE ? p->pts : p->dts;
    int64_t field =
        codec->field_order > AV_FIELD_PROGRESSIVE ? p->duration : 0; /* it may be a frame's second one */
    if (p->flags & AV_PKT_FLAG_DISCARD)
        return 0; /* between two edits: times go on from where the first ended */
    if (p->pts != AV_NOPTS_VALUE && p->dts != AV_NOPTS_VALUE && p->dts >= end + field) return 1;
    *late += shown != AV_NOPTS_VALUE && shown >= end;
    return *late > MOST_REORDER;
}

int64_t media_av_delay_left(const media_av *a, int64_t pts, int rate) {
    const AVStream *s = a->stream;
    if (!strstr(a->format->iformat->name, "matroska") || s->codecpar->initial_padding <= 0 ||
        pts == AV_NOPTS_VALUE || pts >= 0)
        return 0;
    int64_t frames = av_rescale_q(-pts, s->time_base, (AVRational){1, rate});
    int64_t padding = s->codecpar->initial_padding;
    int64_t slack =
        av_rescale_q(1, s->time_base, (AVRational){1, rate}) + 1; /* its clock may be milliseconds */
    return frames < padding - slack ? frames : padding;
}

/* Decode until the first frame says when it is heard: containers count a codec's delay each in its own way. */
static void learn_origin(media_av *a, const AVPacket *packet) {
    AVFrame *frame = NULL;
    if (a->origin != AV_NOPTS_VALUE || media_av_decoder(a) != MEDIA_AV_OK ||
        media_av_send(a, packet) != MEDIA_AV_OK || media_av_receive(a, &frame) != MEDIA_AV_OK ||
        frame->pts == AV_NOPTS_VALUE || frame->sample_rate < 1)
        return;
    int64_t delay = media_av_delay_left(a, frame->pts, frame->sample_rate);
    a->origin = frame->pts + av_rescale_q(delay, (AVRational){1, frame->sample_rate}, a->stream->time_base);
}

/* Some containers (FLV) do not say for how long a packet's frame is shown: the next packet does, which need not be of the window. */
static void learn_duration(const media_packets *p, const AVPacket *next) {
    AVPacket *last = p->n > 0 ? p->packet[p->n - 1] : NULL;
    if (last && last->duration == 0 && last->dts != AV_NOPTS_VALUE && next->dts > last->dts)
        last->duration = next->dts - last->dts;
}

/* Whether a sound's clock begins anew: sounds were joined in a file (a chain of Ogg). */
static int begins_anew(const media_av *a, int64_t at, int64_t before) {
    const int64_t second = av_rescale_q(1, (AVRational){1, 1}, a->stream->time_base);
    return at != AV_NOPTS_VALUE && before != AV_NOPTS_VALUE && at <= before - second;
}

/* Whether what a codec gives hangs on all that came before, for longer than a window holds: ADPCM whose blocks do not say where they begin, and
 * codecs of speech. */
static int remembers_all(enum AVCodecID id) {
    static const enum AVCodecID all[] = {
        AV_CODEC_ID_ADPCM_YAMAHA, AV_CODEC_ID_ADPCM_G722, AV_CODEC_ID_ADPCM_G726, AV_CODEC_ID_ADPCM_G726LE,
        AV_CODEC_ID_ADPCM_IMA_QT, AV_CODEC_ID_ADPCM_ADX,  AV_CODEC_ID_G723_1,     AV_CODEC_ID_SPEEX,
        AV_CODEC_ID_GSM,          AV_CODEC_ID_GSM_MS,     AV_CODEC_ID_ILBC,       AV_CODEC_ID_AMR_NB,
        AV_CODEC_ID_AMR_WB,       AV_CODEC_ID_RA_144,     AV_CODEC_ID_RA_288,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == id) return 1;
    return 0;
}

/* From the stream's first packet on, of which none is passed over. */
static int again_from_start(media_packets *p, media_av *a) {
    while (p->n > 0) av_packet_free(&p->packet[--p->n]);
    p->bytes = 0;
    p->from_start = 1;
    return media_av_rewind(a);
}

int media_packets_window(media_packets *p, media_av *a, int64_t start, int64_t end) {
    int audio = a->stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    AVPacket *packet = NULL, *held = av_packet_alloc();
    if (!held) return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the packets");
    const AVRational ms = {1, 1000};
    int64_t preroll = audio ? av_rescale_q(PREROLL_MS, ms, a->stream->time_base) : 0;
    int64_t postroll = audio ? av_rescale_q(POSTROLL_MS, ms, a->stream->time_base) : 0;
    /* Where the container's clock is coarser than samples only those from the start on can be counted. */
    int skips =
        audio && !remembers_all(a->stream->codecpar->codec_id) &&
        (int64_t)a->stream->time_base.num * a->stream->codecpar->sample_rate <= a->stream->time_base.den;
    p->from_start = audio;
    /* Sound is read from its start: few containers know exactly where in it they have landed. */
    int rc = audio ? MEDIA_AV_OK : enter(a, start, held), late = 0;
    /* Of a sound: the time of the packet before, and what the clock lags behind. */
    int64_t before = AV_NOPTS_VALUE, shift = 0;
    while (rc == MEDIA_AV_OK && (rc = next_of(a, held, &packet)) == MEDIA_AV_OK) {
        int64_t at = time_of(packet);
        if (audio && begins_anew(a, at, before)) {
            shift += before - at;
            skips = 0;
            if (!p->from_start) { /* only all packets can be counted now */
                before = AV_NOPTS_VALUE;
                shift = 0;
                rc = again_from_start(p, a);
                continue;
            }
        }
        before = at;
        if (audio && at != AV_NOPTS_VALUE) at += shift;
        if (audio)
            learn_origin(a, packet);
        else
            learn_duration(p, packet);
        if (audio && at != AV_NOPTS_VALUE && a->origin != AV_NOPTS_VALUE) at -= a->origin;
        if (audio ? at != AV_NOPTS_VALUE && at >= end + postroll
                  : is_past(packet, a->stream->codecpar, end, &late))
            break;
        if (skips && at != AV_NOPTS_VALUE && at + packet->duration < start - preroll) {
            av_packet_unref(packet);
            p->from_start = 0;
        } else {
            rc = add(p, a, packet);
        }
    }
    av_packet_free(&held);
    p->origin = a->origin;
    return rc == MEDIA_AV_END ? MEDIA_AV_OK : rc;
}

/* --- being a container --- */

int media_packets_open(media_av *a) {
    const media_packets *p = a->source.packets;
    a->next = 0;
    a->format = shell(p->format, p->format->streams[0]);
    if (!a->format) return media_av_fail(a, MEDIA_AV_NO_MEMORY, "the packets");
    a->stream = a->format->streams[0];
    if (!p->whole) { /* what the container said of the whole is not said of a piece */
        a->stream->duration = a->format->duration = AV_NOPTS_VALUE;
        a->stream->nb_frames = 0;
    }
    if ((int)a->stream->codecpar->codec_type != a->options.type)
        return media_av_fail(a, MEDIA_AV_NO_STREAM, "the packets are of another kind");
    return MEDIA_AV_OK;
}

int media_packets_next(media_av *a) {
    const media_packets *p = a->source.packets;
    if (a->next == p->n) {
        a->ended = 1;
        return MEDIA_AV_END;
    }
    if (av_packet_ref(a->packet, p->packet[a->next]) < 0)
        return media_av_fail(a, MEDIA_AV_NO_MEMORY, "a packet");
    a->next++;
    a->packet->stream_index = 0;
    return MEDIA_AV_OK;
}

int media_packets_seek(media_av *a, int64_t ts) {
    const media_packets *p = a->source.packets;
    a->next = 0;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t at = time_of(p->packet[i]);
        if (p->packet[i]->flags & AV_PKT_FLAG_KEY && at != AV_NOPTS_VALUE && at <= ts) a->next = i;
    }
    return MEDIA_AV_OK;
}

/* --- packets as they come --- */

int media_packets_decode(media_av *a, const media_packets *p, int64_t *next, AVFrame **frame) {
    media_av_forget();
    int rc = media_av_decoder(a);
    while (rc == MEDIA_AV_OK) {
        rc = media_av_receive(a, frame);
        if (rc != MEDIA_AV_AGAIN) return rc;
        if (p && *next == p->n) return MEDIA_AV_AGAIN;
        rc = media_av_send(a, p ? p->packet[(*next)++] : NULL);
    }
    return rc;
}
