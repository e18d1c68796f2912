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

int video_fields_second(video_fields *f, const AVPacket *p) {
    uint8_t *out;
    int size;
    if (!f->parser) return 0;
    av_parser_parse2(f->parser, f->codec, &out, &size, p->data, p->size, p->pts, p->dts, p->pos);
    int is = (int)f->parser->picture_structure;
    if (is != AV_PICTURE_STRUCTURE_TOP_FIELD && is != AV_PICTURE_STRUCTURE_BOTTOM_FIELD) is = 0;
    if (is && pictures_in(p, f->stream) > 1) is = 0; /* the other one is here, too */
    int second = is && f->open && is != f->open;
    f->open = second ? 0 : is;
    return second;
}
