/* far.h - bytes that only Go can read: C has a function and what it is called with. */
#ifndef SPDL_MEDIA_FAR_H
#define SPDL_MEDIA_FAR_H

#include <stdint.h>

/* Copies up to n bytes from byte `at` on; returns how many, 0 at the end, -1 where they cannot be read. It may block for as long as a network
 * does, and may be called by any thread. */
typedef int64_t (*media_far_read)(uintptr_t of, uint8_t *to, int64_t n, int64_t at);

/* Zeros: there are none. */
typedef struct media_far {
    media_far_read read;
    uintptr_t of;
} media_far;

#endif
