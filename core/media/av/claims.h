/* claims.h - what an MP4, a QuickTime file, a WAV or an AVI counts, before FFmpeg makes room for it, and what a Matroska would have it sort.
 *
 * FFmpeg makes an entry of 24 bytes and more for every sample that a table counts, and again for every edit that shows it. Samples of
 * one size need no table, so 20 bytes may count 2^32 of them: a file of 656 bytes took 1.9 GB, one of 130 KB with 10,000 edits
 * took 2.1 GB, and nobody was asked. So the counts are looked at first.
 *
 * Of texts about a WAV or an AVI (LIST INFO) it makes room for each as it says, up to the size of their list, and fills that with zeros: a file of
 * some 140 bytes took 1.4 GB.
 *
 * A Matroska's index it sorts as it is read, each place by moving all later ones, and looks at no clock meanwhile: of one that runs backwards 80,000
 * places (1.4 MB) took a second, and twice as many four. */
#ifndef SPDL_MEDIA_CLAIMS_H
#define SPDL_MEDIA_CLAIMS_H

#include "av.h"

/* MEDIA_AV_OK, also of what is no such file; MEDIA_AV_TOO_MUCH where entries, or bytes of texts, would be more than the source has bytes,
 * and more than a million, or an index runs backwards at length; MEDIA_AV_UNSUPPORTED where the header is packed, so that it cannot be looked at. */
int media_av_claims(media_av *a);

/* Up to n of the source's bytes; how many there are. */
int media_av_bytes(media_av *a, int64_t at, uint8_t *to, int n);

/* At least so many, and up to `most` where these are at hand. */
int media_av_some(media_av *a, int64_t at, uint8_t *to, int least, int most);

#endif
