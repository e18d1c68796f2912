//go:build !noffmpeg

/* fields.c - see fields.h. */
#include "fields.h"

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

/* Pictures whose first slice lies in a packet of H.264, in either form: behind start codes, or behind lengths. */
static int pictures_in(const AVPacket *p, const AVCodecParameters *codec) {
    int lengths = codec->extradata_size > 4 && codec->extradata[0] == 1 ? (codec->extradata[4] & 3) + 1 : 0;
    int n = 0;
    for (int64_t at = 0; at + 4 < p->size;) {
        int64_t size = 0, head = at;
        if (lengths) {
            for (int i = 0; i < lengths; i++) size = size << 8 | p->data[head++];
        } else if (p->data[at] || p->data[at + 1] || p->data[at + 2] != 1) {
            at++;
            continue;
        } else {
            head += 3;
        }
        int type = head + 1 < p->size ? p->data[head] & 31 : 0;
        n += (type == 1 || type == 5) && p->data[head + 1] & 0x80; /* first_mb_in_slice is 0 */
        at = head + size;
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
