/* software.h - FFmpeg's own decoders in a device's place: a picture at a time, in, and as a device has it, out. */
#ifndef FAKE_SOFTWARE_H
#define FAKE_SOFTWARE_H

#include <libavcodec/avcodec.h>

typedef struct software software;

software *software_open(enum AVCodecID codec); /* NULL: there is no such decoder, or no memory */
void software_close(software *s);
void software_flush(software *s);

/* Decode what a device is given for one picture, behind `head`. The picture belongs to s until the next one; NULL: it does not decode.
 * second: it is the other field of the picture before. */
const AVFrame *software_decode(software *s, const uint8_t *head, size_t n_head, const uint8_t *bytes,
                               size_t n_bytes, int second);

/* The picture as NV12 or, where it has more than 8 bits, with these at the top (P010, P016), of width x height at most. */
void software_put(const AVFrame *f, int width, int height, uint8_t *luma, uint8_t *chroma, size_t pitch);

#endif
