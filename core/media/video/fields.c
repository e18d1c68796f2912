//go:build !noffmpeg

/* fields.c - see fields.h. */
#include "fields.h"

#include "../av/packets.h"

int video_fields_open(video_fields *f, const AVStream *s) {
    if (s->codecpar->codec_id != AV_CODEC_ID_H264) return MEDIA_AV_OK;
    f->stream = s->codecpar;
    f->codec = avcodec_alloc_context3(NULL);
    f->parser = av_parser_init(s->codecpar->codec_id);
    if (!f->codec || !f->parser || avcodec_parameters_to_context(f->codec, s->codecpar) < 0)
        return MEDIA_AV_NO_MEMORY;
    f->parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
    return MEDIA_AV_OK;
}

void video_fields_close(video_fields *f) {
    if (f->parser) av_parser_close(f->parser);
    avcodec_free_context(&f->codec);
}

/* Pictures whose first slice lies in a packet of H.264. */
static int pictures_in(const AVPacket *p, const AVCodecParameters *codec) {
    int n = 0;
    for (int64_t at = 0, head; (head = media_packets_unit(p, codec, &at)) >= 0;) {
        int type = head + 1 < p->size ? p->data[head] & 31 : 0;
        n += (type == 1 || type == 5) && p->data[head + 1] & 0x80; /* first_mb_in_slice is 0 */
    }
    return n;
}

/* The field that a packet is alone; 0: none. */
static int field_of(video_fields *f, const AVPacket *p) {
    uint8_t *out;
    int size;
    if (!f->parser) return 0;
    av_parser_parse2(f->parser, f->codec, &out, &size, p->data, p->size, p->pts, p->dts, p->pos);
    int is = (int)f->parser->picture_structure;
    if (is != AV_PICTURE_STRUCTURE_TOP_FIELD && is != AV_PICTURE_STRUCTURE_BOTTOM_FIELD) return 0;
    return pictures_in(p, f->stream) > 1 ? 0 : is; /* the other one is here, too */
}

int video_fields_second(video_fields *f, const AVPacket *p) {
    int is = field_of(f, p);
    int second = is && f->open && is != f->open;
    f->open = second ? 0 : is;
    return second;
}

/* Whether a unit of H.264's supplemental information names a recovery point: messages of a type and a size, each in bytes of 255 and one
 * that is less. */
static int names_recovery(const uint8_t *p, int64_t n) {
    for (int64_t i = 1; i + 1 < n && p[i] != 0x80;) {
        int64_t value[2] = {0, 0};
        for (int k = 0; k < 2; k++) {
            while (i < n && p[i] == 255) value[k] += p[i++];
            value[k] += i < n ? p[i++] : 0;
        }
        if (value[0] == 6) return 1;
        i += value[1];
    }
    return 0;
}

/* Whether a packet of H.264 says that it begins a group of pictures. */
static int begins_group(const AVPacket *p, const AVCodecParameters *codec) {
    for (int64_t at = 0, head; (head = media_packets_unit(p, codec, &at)) >= 0;) {
        int type = p->data[head] & 31;
        if (type == 5 || (type == 6 && names_recovery(p->data + head, p->size - head))) return 1;
    }
    return 0;
}

int video_fields_enters(const AVPacket *p, const AVStream *s) {
    video_fields f = {0};
    int rc = video_fields_open(&f, s);
    int enters =
        p->flags & AV_PKT_FLAG_KEY && (!f.parser || !field_of(&f, p) || begins_group(p, s->codecpar));
    video_fields_close(&f);
    return rc == MEDIA_AV_OK ? enters : rc;
}
