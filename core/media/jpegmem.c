/* jpegmem.c - libjpeg's per-image memory from an arena that is kept.
 *
 * libjpeg's own manager calls malloc and free for every image. This one serves
 * the image pool from blocks that are reset, not freed, and merges them into
 * one after an image that needed several: the steady state allocates nothing.
 * Virtual arrays (the coefficients of a progressive file) live in memory; what
 * bounds them is the op's max_pixels. The permanent pool stays libjpeg's. */
#include <stdlib.h>
#include <string.h>

#include "jpeg.h"
#include "row.h"

#include <jerror.h> /* after jpeglib.h, whose configuration numbers its messages */

enum { ALIGN = 64, FIRST_BLOCK = 256 * 1024 };

struct jvirt_sarray_control {
    struct jvirt_sarray_control *next;
    JSAMPARRAY rows;
    JDIMENSION width, height;
    boolean zero;
};

struct jvirt_barray_control {
    struct jvirt_barray_control *next;
    JBLOCKARRAY rows;
    JDIMENSION width, height;
    boolean zero;
};

static size_t header_size(void) { return (sizeof(media_arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1); }

static media_arena_block *new_block(media_arena *a, size_t want) {
    size_t cap = want < FIRST_BLOCK ? FIRST_BLOCK : (want + 4095) & ~(size_t)4095;
    media_arena_block *b = aligned_alloc(ALIGN, header_size() + cap);
    if (!b) return NULL;
    b->next = a->head;
    b->cap = cap;
    b->used = 0;
    a->head = b;
    a->total += cap;
    return b;
}

static void *take(media_arena *a, size_t size) {
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    media_arena_block *b = a->head;
    if (!b || b->cap - b->used < size) b = new_block(a, size);
    if (!b) return NULL;
    void *p = (uint8_t *)b + header_size() + b->used;
    b->used += size;
    return p;
}

void media_arena_free(media_arena *a) {
    while (a->head) {
        media_arena_block *b = a->head;
        a->head = b->next;
        free(b);
    }
    a->total = 0;
    a->sarrays = NULL;
    a->barrays = NULL;
}

void media_arena_reset(media_arena *a) {
    size_t total = a->total;
    a->sarrays = NULL;
    a->barrays = NULL;
    if (!a->head) return;
    a->head->used = 0;
    if (!a->head->next && total <= MEDIA_KEEP_BYTES) return;
    media_arena_free(a);
    if (total <= MEDIA_KEEP_BYTES) new_block(a, total);
}

static media_arena *arena_of(j_common_ptr d) { return d->client_data; }

static void *image_alloc(j_common_ptr d, size_t size) {
    void *p = take(arena_of(d), size);
    if (!p) ERREXIT1(d, JERR_OUT_OF_MEMORY, 0);
    return p;
}

static void *alloc_small(j_common_ptr d, int pool, size_t size) {
    return pool == JPOOL_IMAGE ? image_alloc(d, size) : arena_of(d)->small_permanent(d, pool, size);
}

static void *alloc_large(j_common_ptr d, int pool, size_t size) {
    return pool == JPOOL_IMAGE ? image_alloc(d, size) : arena_of(d)->large_permanent(d, pool, size);
}

/* Rows of equal stride in one piece. libjpeg's vector code reads and writes
 * whole vectors, so the stride is a multiple of 64 with 64 to spare. */
static void **alloc_rows(j_common_ptr d, int pool, size_t row_bytes, size_t n) {
    size_t stride = ((row_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1)) + ALIGN;
    void **rows = alloc_small(d, pool, n * sizeof(void *));
    uint8_t *p = alloc_large(d, pool, n * stride + ALIGN);
    for (size_t i = 0; i < n; i++) rows[i] = p + i * stride;
    return rows;
}

static JSAMPARRAY alloc_sarray(j_common_ptr d, int pool, JDIMENSION width, JDIMENSION n) {
    return (JSAMPARRAY)alloc_rows(d, pool, width, n);
}

static JBLOCKARRAY alloc_barray(j_common_ptr d, int pool, JDIMENSION width, JDIMENSION n) {
    return (JBLOCKARRAY)alloc_rows(d, pool, (size_t)width * sizeof(JBLOCK), n);
}

static jvirt_sarray_ptr request_sarray(j_common_ptr d, int pool, boolean zero, JDIMENSION width, JDIMENSION n,
                                       JDIMENSION max_access) {
    (void)max_access;
    jvirt_sarray_ptr v = alloc_small(d, pool, sizeof *v);
    *v = (struct jvirt_sarray_control){arena_of(d)->sarrays, NULL, width, n, zero};
    arena_of(d)->sarrays = v;
    return v;
}

static jvirt_barray_ptr request_barray(j_common_ptr d, int pool, boolean zero, JDIMENSION width, JDIMENSION n,
                                       JDIMENSION max_access) {
    (void)max_access;
    jvirt_barray_ptr v = alloc_small(d, pool, sizeof *v);
    *v = (struct jvirt_barray_control){arena_of(d)->barrays, NULL, width, n, zero};
    arena_of(d)->barrays = v;
    return v;
}

static void realize(j_common_ptr d) {
    media_arena *a = arena_of(d);
    for (jvirt_sarray_ptr v = a->sarrays; v; v = v->next) {
        if (v->rows) continue;
        v->rows = alloc_sarray(d, JPOOL_IMAGE, v->width, v->height);
        for (JDIMENSION i = 0; v->zero && i < v->height; i++) memset(v->rows[i], 0, v->width);
    }
    for (jvirt_barray_ptr v = a->barrays; v; v = v->next) {
        if (v->rows) continue;
        v->rows = alloc_barray(d, JPOOL_IMAGE, v->width, v->height);
        for (JDIMENSION i = 0; v->zero && i < v->height; i++)
            memset(v->rows[i], 0, (size_t)v->width * sizeof(JBLOCK));
    }
}

static void check(j_common_ptr d, const void *rows, JDIMENSION height, JDIMENSION start, JDIMENSION n) {
    if (!rows || start > height || n > height - start) ERREXIT(d, JERR_BAD_VIRTUAL_ACCESS);
}

static JSAMPARRAY access_sarray(j_common_ptr d, jvirt_sarray_ptr v, JDIMENSION start, JDIMENSION n,
                                boolean writable) {
    (void)writable;
    check(d, v->rows, v->height, start, n);
    return v->rows + start;
}

static JBLOCKARRAY access_barray(j_common_ptr d, jvirt_barray_ptr v, JDIMENSION start, JDIMENSION n,
                                 boolean writable) {
    (void)writable;
    check(d, v->rows, v->height, start, n);
    return v->rows + start;
}

static void free_pool(j_common_ptr d, int pool) {
    media_arena *a = arena_of(d);
    if (pool == JPOOL_IMAGE)
        media_arena_reset(a);
    else
        a->free_permanent(d, pool);
}

void media_arena_install(struct jpeg_decompress_struct *d, media_arena *a) {
    struct jpeg_memory_mgr *m = d->mem;
    d->client_data = a;
    a->small_permanent = m->alloc_small;
    a->large_permanent = m->alloc_large;
    a->free_permanent = m->free_pool;
    m->alloc_small = alloc_small;
    m->alloc_large = alloc_large;
    m->alloc_sarray = alloc_sarray;
    m->alloc_barray = alloc_barray;
    m->request_virt_sarray = request_sarray;
    m->request_virt_barray = request_barray;
    m->realize_virt_arrays = realize;
    m->access_virt_sarray = access_sarray;
    m->access_virt_barray = access_barray;
    m->free_pool = free_pool;
}
