/* buf.c - buffers that grow and are kept. */
#include <stdlib.h>

#include "pixels.h"

uint8_t *media_buf_get(media_buf *b, size_t size) {
    if (size <= b->cap) return b->p;
    size_t cap = (size + size / 4 + 4095) & ~(size_t)4095;
    uint8_t *p = aligned_alloc(64, cap);
    if (!p) return NULL;
    free(b->p);
    b->p = p;
    b->cap = cap;
    return p;
}

void media_buf_free(media_buf *b) {
    free(b->p);
    b->p = NULL;
    b->cap = 0;
}

void media_buf_trim(media_buf *b) {
    if (b->cap > MEDIA_KEEP_BYTES) media_buf_free(b);
}
