/* place.h - where a decoded picture is and which part of it becomes a row: what the kernels of resize.cu are told, and what the host
 * fills in. The numbers are those of core/media's plan of a row.
 */
#ifndef SPDL_DEVICE_PLACE_H
#define SPDL_DEVICE_PLACE_H

typedef struct gpu_place {
    unsigned long long from; /* address of [height, width, 3] bytes on the device */
    int pitch;               /* bytes from one line of it to the next */
    int row;                 /* of the batch, that it becomes */
    int box_x, box_y, box_w, box_h;
    int res_w, res_h; /* the box is resized to this; 0: the row is zeros */
    int win_x, win_y; /* where the row's window starts in it; negative: zeros around */
    int flip;
    int reserved;
} gpu_place;

#endif
