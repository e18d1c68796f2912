//go:build !noffmpeg

/* scan.c - the packets of a stream, their times, and which of them give no frame. */
#include "ctx.h"
#include "fields.h"

#include <stdlib.h>
#include <string.h>

void video_drop_kept(video_ctx *v) {
    for (int32_t i = 0; i < v->n_kept; i++) av_packet_free(&v->kept[i]);
    free(v->kept);
    v->kept = NULL;
    v->kept_from = v->n_kept = 0;
}

void *video_grown(void *p, int32_t *cap, int32_t n, size_t item) {
    if (n <= *cap) return p;
    int32_t to = n + n / 2 + 256;
    void *q = realloc(p, (size_t)to * item);
    if (q) *cap = to;
    return q;
}

/* --- packets --- */

/* Whether the codec is one that holds back one picture: what others refer to is shown when the next such picture is decoded, and what
 * nothing refers to at once. */
static int holds_back_one(enum AVCodecID id) {
    return id == AV_CODEC_ID_MPEG4 || id == AV_CODEC_ID_MPEG2VIDEO || id == AV_CODEC_ID_MPEG1VIDEO;
}

/* Whether the picture of a packet of such a codec is a B-frame. */
static int is_between(const AVPacket *p, enum AVCodecID id) {
    const int mpeg4 = id == AV_CODEC_ID_MPEG4, start = mpeg4 ? 0xb6 : 0;
    for (int i = 0; i + (mpeg4 ? 4 : 5) < p->size; i++)
        if (p->data[i] == 0 && p->data[i + 1] == 0 && p->data[i + 2] == 1 && p->data[i + 3] == start)
            return mpeg4 ? p->data[i + 4] >> 6 == 2 : (p->data[i + 5] >> 3 & 7) == 3;
    return 0;
}

/* Whether a packet of Dirac or VC-2 has units and none of them is a picture, as the last one in MPEG-TS, which is the sequence's end (SMPTE ST 2042-1,
 * 10.5: a unit begins with BBCD, its kind and how far it is to the next one; 0 where it is the last). */
static int is_pictureless(const AVPacket *p, enum AVCodecID id) {
    enum { HEAD = 13, PICTURE = 8 };
    if (id != AV_CODEC_ID_DIRAC) return 0;
    int64_t at = 0, next = HEAD;
    for (; at + HEAD <= p->size && next >= HEAD; at += next) {
        const uint8_t *unit = p->data + at;
        if (memcmp(unit, "BBCD", 4) != 0 || unit[4] & PICTURE) return 0;
        next = (int64_t)unit[5] << 24 | unit[6] << 16 | unit[7] << 8 | unit[8];
    }
    return at > 0;
}

static video_packet packet_of(const video_ctx *v, const AVPacket *p) {
    video_packet out = {p->pts, p->dts, p->pos, p->duration, p->size, 0};
    const enum AVCodecID id = v->a->stream->codecpar->codec_id;
    if (holds_back_one(id) && is_between(p, id)) out.flags |= VIDEO_BETWEEN;
    if (is_pictureless(p, id))
        out.flags |= VIDEO_DISCARD;
    else if (p->flags & AV_PKT_FLAG_KEY && !(out.flags & VIDEO_BETWEEN))
        out.flags |= VIDEO_KEY;
    if (p->flags & AV_PKT_FLAG_DISCARD) out.flags |= VIDEO_DISCARD;
    if (p->flags & AV_PKT_FLAG_CORRUPT) out.flags |= VIDEO_SUSPECT;
    if (av_packet_get_side_data(p, AV_PKT_DATA_PALETTE, NULL)) out.flags |= VIDEO_PALETTE;
    return out;
}

int video_keep(video_ctx *v, AVPacket *p, int32_t *cap) {
    AVPacket **kept = video_grown(v->kept, cap, v->n_kept + 1, sizeof *kept);
    if (!kept) return MEDIA_AV_NO_MEMORY;
    v->kept = kept;
    kept[v->n_kept] = av_packet_alloc();
    if (!kept[v->n_kept]) return MEDIA_AV_NO_MEMORY;
    av_packet_move_ref(kept[v->n_kept++], p);
    return MEDIA_AV_OK;
}

/* --- times --- */

/* Whether the times are those of packets: no picture is said to be shown later than it is decoded, not even one that B-frames wait for. So
 * it is of MPEG-4 without a container. */
static int times_are_of_packets(const video_ctx *v) {
    int early = 0;
    for (int32_t i = 0; i < v->n; i++) {
        const video_packet *p = &v->packets[i];
        if (p->pts == AV_NOPTS_VALUE) continue;
        if (p->pts != p->dts) return 0;
        early |= i + 1 < v->n && !(p->flags & VIDEO_BETWEEN) && p[1].flags & VIDEO_BETWEEN;
    }
    return early;
}

/* Forget them: known is when B-frames are shown, if anything is. */
static void forget_times(video_ctx *v) {
    for (int32_t i = 0; i < v->n; i++) {
        video_packet *p = &v->packets[i];
        p->pts = p->flags & VIDEO_BETWEEN ? p->dts : AV_NOPTS_VALUE;
    }
}

/* Whether the order of packets says when pictures are shown. */
static int decoded_in_time(const video_ctx *v) {
    if (!holds_back_one(v->a->stream->codecpar->codec_id)) return 0;
    for (int32_t i = 0; i < v->n; i++)
        if (v->packets[i].dts == AV_NOPTS_VALUE) return 0;
    return 1;
}

static void times_of_references(video_ctx *v) {
    const video_packet *last = &v->packets[v->n - 1];
    int64_t shown = last->dts + (last->duration > 0 ? last->duration : 1);
    for (int32_t i = v->n - 1; i >= 0; i--) {
        video_packet *p = &v->packets[i];
        if (p->pts == AV_NOPTS_VALUE && p->flags & VIDEO_BETWEEN) p->pts = p->dts;
        if (p->pts == p->dts) continue;
        if (p->pts == AV_NOPTS_VALUE) p->pts = shown;
        shown = p->dts;
    }
}

/* Decode what there is and note what comes out, whatever else does not, until a frame that is shown at `until` or later. Times
 * that are not known are counted on from those that are. intra becomes the number of the first packet whose frame refers to no other. */
static int decode_leniently(video_ctx *v, int64_t until, int32_t *intra) {
    uint8_t *want;
    video_run *run;
    AVFrame *frame;
    int32_t number;
    int rc = video_plan(v, 1, 0, &want, &run);
    if (rc != MEDIA_AV_OK) return rc;
    v->a->options.reorder = 0;
    for (int32_t i = 0; i < v->n; i++) want[i] = !(v->packets[i].flags & VIDEO_SECOND);
    *run = (video_run){0, v->n - 1};
    v->lenient = 1;
    *intra = v->n;
    int64_t next = v->packets[0].dts == AV_NOPTS_VALUE ? 0 : v->packets[0].dts;
    while ((rc = video_next(v, &frame, &number)) == MEDIA_AV_OK || rc == MEDIA_AV_AGAIN) {
        if (rc == MEDIA_AV_AGAIN) continue;
        if (frame->pict_type == AV_PICTURE_TYPE_I && number < *intra) *intra = number;
        video_packet *p = &v->packets[number];
        if (p->pts == AV_NOPTS_VALUE) p->pts = next;
        if (p->pts >= until) break;
        next = p->pts + (p->duration > 0 ? p->duration : 1);
    }
    v->lenient = 0;
    v->decoded = 0;
    media_av_flush(v->a);
    return rc == MEDIA_AV_END ? MEDIA_AV_OK : rc;
}

static int gave_nothing(const video_ctx *v, int32_t i) {
    return v->want[i] == 1 && !(v->packets[i].flags & VIDEO_DISCARD);
}

/* Decode everything and mark what gives no frame. */
static int times_by_decoding(video_ctx *v) {
    int32_t intra;
    int rc = decode_leniently(v, INT64_MAX, &intra);
    if (rc != MEDIA_AV_OK) return rc;
    for (int32_t i = 0; i < v->n; i++)
        if (gave_nothing(v, i)) v->packets[i].flags |= VIDEO_HOLE;
    return MEDIA_AV_OK;
}

int video_find_holes(video_ctx *v) {
    if (!v->holes) return MEDIA_AV_END;
    v->holes = 0;
    return times_by_decoding(v);
}

/* Of a container that says when packets are decoded and no more (AVI) a picture lasts as long as it takes to the next one's: its rate may
 * be that of fields. */
static void last_until_next(video_ctx *v) {
    video_packet *before = NULL;
    int64_t step = 0;
    for (int32_t i = 0; i < v->n; i++) {
        video_packet *p = &v->packets[i];
        if (p->flags & VIDEO_SECOND) continue;
        if (before && before->dts != AV_NOPTS_VALUE && p->dts != AV_NOPTS_VALUE && p->dts > before->dts)
            before->duration = step = p->dts - before->dts;
        before = p;
    }
    if (before && step) before->duration = step;
}

static int is_shown(const video_packet *p) {
    return p->size > 0 && p->pts != AV_NOPTS_VALUE && !(p->flags & (VIDEO_SECOND | VIDEO_DISCARD));
}

/* FLV and ASF have no place for durations. */
static int names_durations(const video_ctx *v) {
    const AVInputFormat *from = v->a->format->iformat;
    return !from || (strcmp(from->name, "flv") != 0 && strcmp(from->name, "asf") != 0);
}

/* The last frame of such a container is on show as long as the one before it. */
static void settle_end(video_ctx *v) {
    video_packet *last = NULL;
    int64_t before = AV_NOPTS_VALUE;
    for (int32_t i = 0; i < v->n; i++) {
        video_packet *p = &v->packets[i];
        if (!is_shown(p)) continue;
        if (!last || p->pts >= last->pts) {
            if (last) before = last->pts;
            last = p;
        } else if (p->pts > before)
            before = p->pts;
    }
    if (last && last->duration <= 0 && before != AV_NOPTS_VALUE) last->duration = last->pts - before;
}

/* Of an MP4's fragments, whose samples its head does not count, FFmpeg names no durations: a frame is on show until the next is decoded, the
 * last until the stream ends. */
static void settle_fragments(video_ctx *v) {
    const AVInputFormat *from = v->a->format->iformat;
    int64_t end = v->a->stream->duration;
    if (!from || !strstr(from->name, "mp4") || v->a->stream->nb_frames >= v->n || end == AV_NOPTS_VALUE)
        return;
    for (int32_t i = v->n - 1; i >= 0; i--) {
        video_packet *p = &v->packets[i];
        if (p->dts == AV_NOPTS_VALUE) return;
        if (p->duration <= 0 && end > p->dts) p->duration = end - p->dts;
        end = p->dts;
    }
}

static int settle_times(video_ctx *v) {
    int32_t pictures = 0, missing = 0;
    for (int32_t i = 0; i < v->n; i++) {
        const video_packet *p = &v->packets[i];
        if (p->size == 0 || p->flags & VIDEO_SECOND) continue;
        pictures++;
        missing += p->pts == AV_NOPTS_VALUE;
    }
    if (!missing) return MEDIA_AV_OK;
    if (!decoded_in_time(v)) {
        if (missing == pictures) last_until_next(v);
        return times_by_decoding(v);
    }
    times_of_references(v);
    return MEDIA_AV_OK;
}

/* When the first key frame is shown; INT64_MIN: nothing is said to be one. */
static int64_t first_key(const video_ctx *v) {
    for (int32_t i = 0; i < v->n; i++)
        if ((v->packets[i].flags & (VIDEO_KEY | VIDEO_SECOND)) == VIDEO_KEY) return v->packets[i].pts;
    return AV_NOPTS_VALUE;
}

/* A recording that was begun, or cut, in the middle of a group of pictures: what is shown before its first key frame, or after one of
 * H.264 that is but a recovery point, lacks what it refers to, and what the decoder then does not give is not there. */
static int settle_head(video_ctx *v) {
    int cut = v->recovers;
    v->head = first_key(v);
    for (int32_t i = 0; i < v->n; i++) {
        const video_packet *p = &v->packets[i];
        cut |= p->pts != AV_NOPTS_VALUE && p->pts < v->head && !(p->flags & (VIDEO_DISCARD | VIDEO_SECOND));
    }
    if (!cut) return MEDIA_AV_OK;
    int32_t intra;
    const int64_t head = v->head;
    v->head = INT64_MAX; /* no damage counts, here */
    int rc = decode_leniently(v, head, &intra);
    v->head = head;
    if (rc != MEDIA_AV_OK) return rc;
    int64_t first = INT64_MAX;
    for (int32_t i = 0; i < v->n; i++)
        if (v->want[i] == 2 && v->packets[i].pts >= head && v->packets[i].pts < first)
            first = v->packets[i].pts;
    if (first == INT64_MAX) return MEDIA_AV_OK; /* what is asked for will say why */
    const int32_t tried = v->next < 0 ? v->n : v->next;
    for (int32_t i = 0; i < tried; i++) {
        int64_t pts = v->packets[i].pts;
        if (i < intra ? pts < first : gave_nothing(v, i) && pts < (v->recovers ? first : head))
            v->packets[i].flags |= VIDEO_DISCARD;
    }
    return MEDIA_AV_OK;
}

/* Whether every packet is said to be a key frame: parsers that do not look say so (H.261, H.263, GIF), and AVI without its index. */
static int all_keys(const video_ctx *v) {
    if (v->n < 2 || media_packets_lists_keys(v->a)) return 0;
    for (int32_t i = 0; i < v->n; i++)
        if (!(v->packets[i].flags & (VIDEO_KEY | VIDEO_SECOND)) && v->packets[i].size > 0) return 0;
    return 1;
}

/* Where the container missed something. That is no damage where recordings were joined, each of which begins at a key frame: the
 * mark is then at that, or, as parsers hold back a packet, at one of the two before. */
static int check_joins(video_ctx *v) {
    for (int32_t i = 0; i < v->n; i++) {
        if (!(v->packets[i].flags & VIDEO_SUSPECT)) continue;
        int joined = 0;
        for (int32_t j = i; j < v->n && j <= i + 2; j++) joined |= v->packets[j].flags & VIDEO_KEY;
        if (!joined) return media_av_fail(v->a, MEDIA_AV_CORRUPT, "the container marks a packet as damaged");
    }
    return MEDIA_AV_OK;
}

/* Broadcast containers begin their clock anew where recordings were joined: the times of the second go on from the first's. */
static void join_times(const video_ctx *v, int64_t *shift, video_packet *packet) {
    if (!v->a->format || !(v->a->format->iformat->flags & AVFMT_TS_DISCONT)) return;
    if (v->n > 1 && packet->flags & VIDEO_KEY && packet->dts != AV_NOPTS_VALUE) {
        const video_packet *before = packet - 1;
        if (before->dts != AV_NOPTS_VALUE && packet->dts < before->dts)
            *shift += before->dts + (before->duration > 0 ? before->duration : 1) - packet->dts;
    }
    if (packet->pts != AV_NOPTS_VALUE) packet->pts += *shift;
}

/* Note a packet as the next one. */
static int add(video_ctx *v, const AVPacket *p) {
    video_packet *packets =
        v->n < INT32_MAX / 2 ? video_grown(v->packets, &v->cap, v->n + 1, sizeof *packets) : NULL;
    if (!packets) return media_av_fail(v->a, MEDIA_AV_NO_MEMORY, "the index");
    v->packets = packets;
    packets[v->n++] = packet_of(v, p);
    return MEDIA_AV_OK;
}

/* --- tables --- */

/* Whether a packet's own bytes say nothing of it that an index needs but whether it is a key frame. */
static int is_in_tables(const AVCodecParameters *codec) {
    switch (codec->codec_id) {
    case AV_CODEC_ID_H264: return media_packets_frames_alone(codec);
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1: return 1;
    default: return 0;
    }
}

/* The next packet as the container's tables have it. Parsers see zeros and say anything of key frames. MEDIA_AV_AGAIN: it is another. */
static int add_from_table(video_ctx *v, const AVPacket *p, int *keys) {
    const AVIndexEntry *e = avformat_index_get_entry(v->a->stream, v->n);
    if (!e || e->pos != p->pos || e->size != p->size) return MEDIA_AV_AGAIN;
    const int key = (e->flags & AVINDEX_KEYFRAME) != 0, first = v->n == 0;
    if (first && (!key || !(p->flags & AV_PKT_FLAG_KEY) || media_packets_recovers(p, v->a->stream->codecpar)))
        return MEDIA_AV_AGAIN;
    int rc = add(v, p);
    if (rc != MEDIA_AV_OK) return rc;
    uint32_t *flags = &v->packets[v->n - 1].flags;
    *flags = key ? *flags | VIDEO_KEY : *flags & ~(uint32_t)VIDEO_KEY;
    *keys += key;
    if (first) media_av_skim(v->a, 1);
    return MEDIA_AV_OK;
}

/* The packets by the tables of an MP4: only the first is read. MEDIA_AV_AGAIN: they do not say it all. */
static int scan_tables(video_ctx *v) {
    int rc, keys = 0;
    AVPacket *p;
    if (!is_in_tables(v->a->stream->codecpar) || !media_av_may_skim(v->a)) return MEDIA_AV_AGAIN;
    do rc = media_av_read(v->a, &p);
    while (rc == MEDIA_AV_OK && (rc = add_from_table(v, p, &keys)) == MEDIA_AV_OK);
    media_av_skim(v->a, 0);
    if (rc == MEDIA_AV_END && keys == v->n && v->n > 1)
        rc = MEDIA_AV_AGAIN; /* so says who has no table of them */
    if (rc != MEDIA_AV_AGAIN) return rc;
    v->n = 0; /* the packet that says so was read, too */
    rc = media_av_rewind(v->a);
    return rc == MEDIA_AV_OK ? MEDIA_AV_AGAIN : rc;
}

/* --- scan --- */

static int scan(video_ctx *v, int64_t keep_bytes, video_fields *fields) {
    int64_t bytes = 0, shift = 0;
    int32_t kept_cap = 0;
    int keeping = keep_bytes > 0, keys = 0;
    const AVCodecParameters *codec = v->a->stream->codecpar;
    AVPacket *p;
    int rc;
    while ((rc = media_av_read(v->a, &p)) == MEDIA_AV_OK) {
        if ((rc = add(v, p)) != MEDIA_AV_OK) return rc;
        video_packet *packet = &v->packets[v->n - 1];
        join_times(v, &shift, packet);
        if (packet->flags & VIDEO_KEY) {
            const int recovers = media_packets_recovers(p, codec);
            if (!keys++) v->recovers = recovers;
            v->points += recovers;
        }
        if (video_fields_second(fields, p)) {
            packet->flags |= VIDEO_SECOND;
            packet[-1].duration += p->duration;
        }
        bytes += p->size;
        if (keeping && bytes > keep_bytes) {
            video_drop_kept(v);
            keeping = 0;
        }
        if (keeping && (rc = video_keep(v, p, &kept_cap)) != MEDIA_AV_OK)
            return media_av_fail(v->a, rc, "the packets");
    }
    return rc;
}

static int scan_all(video_ctx *v, int64_t keep_bytes) {
    video_fields fields = {0};
    int rc = video_fields_open(&fields, v->a->stream);
    rc = rc == MEDIA_AV_OK ? scan(v, keep_bytes, &fields) : media_av_fail(v->a, rc, "the parser");
    video_fields_close(&fields);
    return rc;
}

int video_scan(video_ctx *v, int64_t keep_bytes, int tables) {
    video_drop_kept(v);
    v->n = 0;
    v->head = AV_NOPTS_VALUE;
    v->recovers = v->points = 0;
    int rc = tables ? scan_tables(v) : MEDIA_AV_AGAIN;
    if (rc == MEDIA_AV_AGAIN) rc = scan_all(v, keep_bytes);
    v->read = -1;
    if (rc == MEDIA_AV_END) rc = check_joins(v);
    if (rc != MEDIA_AV_OK) return rc;
    v->all_keys = all_keys(v);
    if (v->a->unpacked || times_are_of_packets(v)) forget_times(v);
    rc = settle_times(v);
    if (rc == MEDIA_AV_OK) rc = settle_head(v);
    if (rc == MEDIA_AV_OK) settle_fragments(v);
    if (rc == MEDIA_AV_OK && !names_durations(v)) settle_end(v);
    return rc;
}

int32_t video_points(const video_ctx *v) { return v->points; }

const video_packet *video_packets(const video_ctx *v, int32_t *n) {
    *n = v->n;
    return v->packets;
}

int video_set_packets(video_ctx *v, const video_packet *packets, int32_t n) {
    video_packet *own = video_grown(v->packets, &v->cap, n, sizeof *own);
    if (!own) return media_av_fail(v->a, MEDIA_AV_NO_MEMORY, "the index");
    v->packets = own;
    memcpy(own, packets, (size_t)n * sizeof *own);
    v->n = n;
    v->read = 0;
    v->head = first_key(v);
    v->all_keys = all_keys(v);
    return MEDIA_AV_OK;
}
