/* finish_avx2.h - the vector form of media_finish_portable. */
#ifndef SPDL_MEDIA_FINISH_AVX2_H
#define SPDL_MEDIA_FINISH_AVX2_H

#include "row.h"

void media_finish_avx2(const media_op *op, const uint8_t *line, int32_t y, void *dst);

/* 1 if the vector arithmetic gives op->lut for all 256 values of each channel. */
int media_finish_avx2_exact(const media_op *op);

#endif
