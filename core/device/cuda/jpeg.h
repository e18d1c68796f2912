/* jpeg.h - batches of JPEG files to pixels in device memory, by nvJPEG.
 *
 * A file that it refuses costs its own row alone: the batch is decoded once more, file by file, and every row says how it went.
 */
#ifndef SPDL_DEVICE_JPEG_H
#define SPDL_DEVICE_JPEG_H

#include "gpu.h"
#include "nvjpeg_calls.h"

typedef struct jpegs {
    nvjpeg_calls n;
    nvjpeg_handle batched, single;
} jpegs;

/* What the pictures of one stream need; one batch at a time, in groups, each with a part of the arrays of its own. */
typedef struct jpeg_lane {
    nvjpeg_state batched, single;
    int pictures; /* that `batched` is initialised for */
    int room;     /* of the arrays */
    const unsigned char **data;
    size_t *bytes;
    nvjpeg_image *out;
} jpeg_lane;

typedef struct jpeg_file {
    const void *data;
    size_t bytes;
    cu_address to; /* [height, width, 3] */
    size_t pitch;  /* 3 * width */
    int height;
    nvjpeg_result result;
} jpeg_file;

/* Open the library: $SPDL_NVJPEG_LIBRARY, else the newest that works with this driver. 0, GPU_NO_LIBRARY, GPU_TOO_OLD or an nvjpeg_result. */
int jpegs_open(gpu *g, jpegs *j, char *words);
void jpegs_close(gpu *g, jpegs *j);
/* Room for batches of that many files. */
int jpeg_lane_open(gpu *g, jpegs *j, jpeg_lane *l, int room, char *words);
void jpeg_lane_close(gpu *g, jpegs *j, jpeg_lane *l);

/* Begin to decode n files, a batch's from `first` on, which ends within the lane's room, once all that was put on the stream is done.
 * Their pixels lie in a row. The files must stay as they are until the stream has passed here. 0; how many were refused, each with
 * its result: then the others need not have been decoded; or, negative, what the driver said, made negative: the device is of no more
 * use. */
int jpeg_decode(gpu *g, jpegs *j, jpeg_lane *l, int first, jpeg_file *files, int n, cu_stream s, char *words);

/* nvJPEG's name for a result, such as "BAD_JPEG". */
const char *jpeg_result_name(nvjpeg_result r);

/* Whether the result speaks of the file, and not of the device or its memory. */
int jpeg_is_lasting(nvjpeg_result r);

#endif
