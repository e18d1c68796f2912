/* segment.c - believe nothing about the three segments until it is checked, then map them.
 *
 * The order is what makes a hostile or half-built segment harmless: sizes by fstat and seals first, the
 * header by pread (a read past the end is short, not a SIGBUS), then the mapping, then a private copy of
 * the header, validated with 128-bit arithmetic. Only that copy is used afterwards.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define MAX_BYTES ((uint64_t)1 << 46) /* more than any machine maps */

/* A part of a segment: count records of `size` bytes, `stride` apart, from `offset`. */
typedef struct region {
    const char *name;
    uint64_t offset, stride, count, size;
} region;

static spdl_status bad(const char *segment, const char *field, uint64_t got, const char *want) {
    return sp_fail(SPDL_E_FORMAT, "spdl: %s segment: %s is %llu, want %s; it is damaged or not ours", segment,
                   field, (unsigned long long)got, want);
}

static unsigned __int128 region_end(const region *g) {
    if (g->count == 0) return g->offset;
    return (unsigned __int128)g->offset + (unsigned __int128)g->stride * (g->count - 1) + g->size;
}

/* Every region lies inside `bytes`, is aligned for its words, and none overlaps another. */
static spdl_status check_regions(const char *segment, const region *list, size_t n, uint64_t bytes) {
    for (size_t i = 0; i < n; i++) {
        const region *g = &list[i];
        if (g->offset % 8 != 0) return bad(segment, g->name, g->offset, "an offset that is a multiple of 8");
        if (g->count > 1 && (g->stride < g->size || g->stride % 8 != 0))
            return bad(segment, g->name, g->stride, "a stride that holds its record and is a multiple of 8");
        if (region_end(g) > bytes)
            return bad(segment, g->name, g->offset, "an offset and stride inside the segment");
        for (size_t j = 0; j < i; j++) {
            const region *o = &list[j];
            if (g->count && o->count && g->offset < region_end(o) && o->offset < region_end(g))
                return sp_fail(SPDL_E_FORMAT, "spdl: %s segment: %s overlaps %s; it is damaged or not ours",
                               segment, g->name, o->name);
        }
    }
    return SPDL_OK;
}

/* ---- header --------------------------------------------------------------------------------------- */

static spdl_status check_identity(const spdl_l_header *h) {
    if (h->magic == 0)
        return sp_fail(SPDL_E_FORMAT,
                       "spdl: header segment: magic is 0: the engine has not finished building it");
    if (h->magic != SPDL_L_MAGIC_RING) return bad("header", "magic", h->magic, "that of an spdl ring");
    if (h->endian != SPDL_L_ENDIAN) return bad("header", "endian", h->endian, "little-endian");
    if (h->layout_major != SPDL_L_MAJOR)
        return sp_fail(
            SPDL_E_VERSION,
            "spdl: header segment: layout %u.%u, this library reads %u; rebuild the client or restart the engine",
            h->layout_major, h->layout_minor, SPDL_L_MAJOR);
    if (h->features_required & ~SPDL_L_KNOWN_REQUIRED)
        return sp_fail(
            SPDL_E_VERSION,
            "spdl: header segment: it requires features 0x%llx that this library does not know; upgrade libspdl",
            (unsigned long long)(h->features_required & ~SPDL_L_KNOWN_REQUIRED));
    return SPDL_OK;
}

static spdl_status check_counts(const spdl_l_header *h, uint64_t mapped) {
    if (h->header_bytes < sizeof *h || h->header_bytes != mapped)
        return bad("header", "header_bytes", h->header_bytes, "the segment's size");
    if (h->page_bytes < 4096 || h->page_bytes > 1u << 20 || (h->page_bytes & (h->page_bytes - 1)) != 0)
        return bad("header", "page_bytes", h->page_bytes, "a power of two from 4096 to 1048576");
    if (h->access != SPDL_L_ACCESS_PRIVATE && h->access != SPDL_L_ACCESS_SHARED)
        return bad("header", "access", h->access, "1 (private) or 2 (shared)");
    if (h->backing != SPDL_L_BACKING_POSIX && h->backing != SPDL_L_BACKING_MEMFD)
        return bad("header", "backing", h->backing, "1 (posix) or 2 (memfd)");
    if (h->n_slots == 0 || h->n_slots > SPDL_L_MAX_SLOTS)
        return bad("header", "n_slots", h->n_slots, "1 to 65536");
    if (h->n_tensors > SPDL_L_MAX_TENSORS) return bad("header", "n_tensors", h->n_tensors, "at most 256");
    if (h->n_lanes == 0 || h->n_lanes > SPDL_L_MAX_LANES)
        return bad("header", "n_lanes", h->n_lanes, "1 to 64");
    if (h->max_groups == 0) return bad("header", "max_groups", h->max_groups, "at least 1");
    if (h->max_queues == 0) return bad("header", "max_queues", h->max_queues, "at least 1");
    if (h->batch_rows == 0) return bad("header", "batch_rows", h->batch_rows, "at least 1");
    if (memchr(h->name, 0, sizeof h->name) == NULL)
        return bad("header", "name", sizeof h->name, "a NUL within 64 bytes");
    return SPDL_OK;
}

static spdl_status check_descriptor_shape(const spdl_l_header *h) {
    if (h->n_tensors == 0) return SPDL_OK;
    if (h->desc_tensor_off < sizeof(spdl_l_desc) || h->desc_tensor_off % 8 != 0)
        return bad("header", "desc_tensor_off", h->desc_tensor_off, "a multiple of 8 behind the descriptor");
    if (h->desc_tensor_stride < sizeof(spdl_l_desc_tensor) || h->desc_tensor_stride % 8 != 0)
        return bad("header", "desc_tensor_stride", h->desc_tensor_stride,
                   "a multiple of 8 that holds its record");
    return SPDL_OK;
}

static spdl_status check_header(const spdl_l_header *h, uint64_t mapped, uint64_t data_mapped) {
    spdl_status s = check_identity(h);
    if (s == SPDL_OK) s = check_counts(h, mapped);
    if (s == SPDL_OK) s = check_descriptor_shape(h);
    if (s != SPDL_OK) return s;

    unsigned __int128 desc = sizeof(spdl_l_desc);
    if (h->n_tensors > 0)
        desc = (unsigned __int128)h->desc_tensor_off +
               (unsigned __int128)h->desc_tensor_stride * (h->n_tensors - 1) + sizeof(spdl_l_desc_tensor);
    if (desc > mapped)
        return bad("header", "desc_tensor_stride", h->desc_tensor_stride, "a descriptor inside the segment");
    const region list[] = {
        {"header", 0, 0, 1, sizeof *h},
        {"state_off", h->state_off, 0, 1, sizeof(spdl_l_state)},
        {"group_off", h->group_off, h->group_stride, h->max_groups, sizeof(spdl_l_group)},
        {"queue_off", h->queue_off, h->queue_stride, h->max_queues, sizeof(spdl_l_queue)},
        {"pool_off", h->pool_off, h->pool_stride, h->n_pools, sizeof(spdl_l_pool)},
        {"tensor_off", h->tensor_off, h->tensor_stride, h->n_tensors, sizeof(spdl_l_tensor)},
        {"desc_off", h->desc_off, h->desc_stride, h->n_slots, (uint64_t)desc},
        {"text_off", h->text_off, 0, h->text_bytes ? 1 : 0, h->text_bytes},
    };
    s = check_regions("header", list, sizeof list / sizeof *list, h->header_bytes);
    if (s != SPDL_OK) return s;

    if (h->slot_stride == 0 || h->slot_stride % 4096 != 0)
        return bad("header", "slot_stride", h->slot_stride, "a multiple of 4096");
    if (h->data_bytes > data_mapped)
        return bad("header", "data_bytes", h->data_bytes, "the data segment's size");
    if ((unsigned __int128)h->slot_stride * h->n_slots > h->data_bytes)
        return bad("header", "slot_stride", h->slot_stride, "n_slots slots inside the data segment");
    return SPDL_OK;
}

/* ---- schema --------------------------------------------------------------------------------------- */

static spdl_status bad_tensor(uint32_t i, const spdl_l_tensor *t, const char *what) {
    return sp_fail(SPDL_E_FORMAT, "spdl: header segment: tensor %u \"%.63s\": %s; it is damaged or not ours",
                   i, t->name, what);
}

bool sp_extent(const int64_t *shape, const int64_t *strides, uint32_t ndim, uint32_t item, uint64_t *bytes) {
    unsigned __int128 end = item;
    bool empty = false;
    for (uint32_t d = 0; d < ndim; d++) {
        if (shape[d] < 0 || strides[d] < 0) return false;
        if (shape[d] == 0)
            empty = true;
        else
            end += (unsigned __int128)(uint64_t)(shape[d] - 1) * (uint64_t)strides[d];
        if (end > MAX_BYTES) return false;
    }
    *bytes = empty ? 0 : (uint64_t)end;
    return true;
}

static bool inside(uint64_t offset, uint64_t bytes, uint64_t limit) {
    return offset <= limit && bytes <= limit - offset;
}

static spdl_status check_tensor(const spdl_l_header *h, uint32_t i, const spdl_l_tensor *t, uint32_t *item) {
    if (memchr(t->name, 0, sizeof t->name) == NULL) return bad_tensor(i, t, "its name has no end");
    if (t->dtype_bits == 0 || t->dtype_bits % 8 != 0 || t->dtype_lanes == 0)
        return bad_tensor(i, t, "its dtype has no whole bytes");
    *item = t->dtype_bits / 8u * t->dtype_lanes;
    if (t->ndim == 0 || t->ndim > SPDL_L_MAX_NDIM) return bad_tensor(i, t, "ndim is not 1 to 8");
    if (h->n_pools > 0 && t->pool >= h->n_pools) return bad_tensor(i, t, "its pool does not exist");
    /* One of a device pool lies in no slot: its place is checked when the pool is imported. */
    if (t->offset % 64 != 0 || !inside(t->offset, t->bytes, t->pool == 0 ? h->slot_stride : MAX_BYTES))
        return bad_tensor(i, t, "it lies outside its slot, or is not aligned to 64 bytes");
    uint64_t extent;
    if (!sp_extent(t->shape, t->strides, t->ndim, *item, &extent) || extent > t->bytes)
        return bad_tensor(i, t, "its shape and strides do not fit its bytes");
    if (t->kind != SPDL_L_TENSOR_RAGGED) return SPDL_OK;
    if (t->pool != 0) return bad_tensor(i, t, "it is ragged and in device memory");
    if (t->ndim != 1) return bad_tensor(i, t, "it is ragged with ndim other than 1");
    if (t->offsets_offset % 8 != 0 || !inside(t->offsets_offset, t->offsets_bytes, h->slot_stride) ||
        t->offsets_bytes / 8 < (uint64_t)h->batch_rows + 1)
        return bad_tensor(i, t, "its offsets lie outside its slot or are too few");
    return SPDL_OK;
}

static spdl_status copy_schema(spdl_reader *r) {
    r->tensors = calloc(r->h.n_tensors ? r->h.n_tensors : 1, sizeof *r->tensors);
    if (!r->tensors)
        return sp_fail(SPDL_E_NOMEM, "spdl: no memory for the schema of %u tensors", r->h.n_tensors);
    for (uint32_t i = 0; i < r->h.n_tensors; i++) {
        schema_tensor *t = &r->tensors[r->n_tensors];
        memcpy(&t->t, r->header.base + r->h.tensor_off + i * r->h.tensor_stride, sizeof t->t);
        if (t->t.kind != SPDL_L_TENSOR_DENSE && t->t.kind != SPDL_L_TENSOR_RAGGED) continue;
        spdl_status s = check_tensor(&r->h, i, &t->t, &t->item_bytes);
        if (s != SPDL_OK) return s;
        t->place = i;
        r->n_tensors++;
    }
    r->text = malloc(r->h.text_bytes + 1);
    if (!r->text)
        return sp_fail(SPDL_E_NOMEM, "spdl: no memory for the ring's text of %llu bytes",
                       (unsigned long long)r->h.text_bytes);
    memcpy(r->text, r->header.base + r->h.text_off, r->h.text_bytes);
    r->text[r->h.text_bytes] = 0;
    return SPDL_OK;
}

/* ---- group ----------------------------------------------------------------------------------------- */

static spdl_status check_group(const spdl_reader *r, const spdl_l_welcome *w) {
    const spdl_l_ghead *g = &r->g;
    if (g->magic != SPDL_L_MAGIC_GROUP)
        return bad("group", "magic", g->magic, "that of a finished spdl group");
    if (g->layout_major != SPDL_L_MAJOR)
        return sp_fail(SPDL_E_VERSION,
                       "spdl: group segment: layout %u, this library reads %u; restart the engine",
                       g->layout_major, SPDL_L_MAJOR);
    if (memcmp(g->ring_uid, r->h.ring_uid, sizeof g->ring_uid) != 0)
        return sp_fail(SPDL_E_FORMAT, "spdl: group segment: it belongs to another ring");
    if (g->bytes < sizeof *g || g->bytes > r->group.bytes)
        return bad("group", "bytes", g->bytes, "the segment's size");
    if (g->group_id != w->group_id)
        return bad("group", "group_id", g->group_id, "the one we were welcomed to");
    if (g->group_index != w->group_index)
        return bad("group", "group_index", g->group_index, "the one we were welcomed to");
    if (g->n_slots != r->h.n_slots) return bad("group", "n_slots", g->n_slots, "that of the ring");
    if (g->n_lanes == 0 || g->n_lanes > SPDL_L_MAX_LANES)
        return bad("group", "n_lanes", g->n_lanes, "1 to 64");
    if (g->n_entries < g->n_slots || g->n_entries > 2 * SPDL_L_MAX_SLOTS ||
        (g->n_entries & (g->n_entries - 1)) != 0)
        return bad("group", "n_entries", g->n_entries, "a power of two that holds the slots");
    if (w->lane >= g->n_lanes) return bad("group", "n_lanes", g->n_lanes, "more than our lane");
    if (w->member >= g->max_members)
        return bad("group", "max_members", g->max_members, "more than our place");

    uint64_t entries = 8ull * g->n_entries;
    const region in_lane[] = {
        {"lane record", 0, 0, 1, sizeof(spdl_l_lane)},
        {"ready_off", g->ready_off, 0, 1, entries},
        {"redo_off", g->redo_off, 0, 1, entries},
    };
    spdl_status s = check_regions("group", in_lane, 3, g->bytes);
    if (s != SPDL_OK) return s;
    uint64_t lane_bytes =
        (uint64_t)(region_end(&in_lane[1]) > region_end(&in_lane[2]) ? region_end(&in_lane[1])
                                                                     : region_end(&in_lane[2]));
    const region list[] = {
        {"group head", 0, 0, 1, sizeof *g},
        {"lane_off", g->lane_off, g->lane_stride, g->n_lanes, lane_bytes},
        {"word_off", g->word_off, g->word_stride, g->n_slots, sizeof(spdl_l_word)},
        {"member_off", g->member_off, g->member_stride, g->max_members, sizeof(spdl_l_member)},
    };
    return check_regions("group", list, 4, g->bytes);
}

static spdl_status bind_group(spdl_reader *r, const spdl_l_welcome *w) {
    spdl_l_group record;
    if (w->group_index >= r->h.max_groups)
        return bad("header", "max_groups", r->h.max_groups, "more than our group's index");
    r->group_record = (const spdl_l_group *)(const void *)(r->header.base + r->h.group_off +
                                                           w->group_index * r->h.group_stride);
    memcpy(&record, r->group_record, sizeof record);
    if (record.id != w->group_id)
        return bad("header", "the group's id", record.id, "the one we were welcomed to");
    if (record.mode != SPDL_L_MODE_SHARED && record.mode != SPDL_L_MODE_LANES)
        return bad("header", "the group's mode", record.mode, "1 (shared) or 2 (lanes)");
    if (record.n_lanes != r->g.n_lanes)
        return bad("header", "the group's n_lanes", record.n_lanes, "that of its segment");
    if ((uint64_t)record.first_queue + w->lane >= r->h.max_queues)
        return bad("header", "the group's first_queue", record.first_queue, "a queue inside the table");
    if (memchr(record.name, 0, sizeof record.name) == NULL)
        return bad("header", "the group's name", sizeof record.name, "a NUL within 64 bytes");
    memcpy(r->group_name, record.name, sizeof record.name);
    r->mode_lanes = record.mode == SPDL_L_MODE_LANES;
    r->stage = record.kind == SPDL_L_KIND_STAGE;
    r->queue = (const spdl_l_queue *)(const void *)(r->header.base + r->h.queue_off +
                                                    (record.first_queue + w->lane) * r->h.queue_stride);
    uint8_t *lane = r->group.base + r->g.lane_off + w->lane * r->g.lane_stride;
    r->lane = (spdl_l_lane *)(void *)lane;
    r->ready = (uint64_t *)(void *)(lane + r->g.ready_off);
    r->redo = (uint64_t *)(void *)(lane + r->g.redo_off);
    r->words = r->group.base + r->g.word_off;
    r->member = (spdl_l_member *)(void *)(r->group.base + r->g.member_off + w->member * r->g.member_stride);
    return SPDL_OK;
}

/* ---- mapping ---------------------------------------------------------------------------------------- */

static spdl_status check_size(int fd, const char *name, uint64_t want) {
    struct stat st;
    if (fstat(fd, &st) != 0) return sp_fail_errno("attach: fstat of a segment");
    if (want == 0 || want > MAX_BYTES || st.st_size < 0 || (uint64_t)st.st_size < want)
        return sp_fail(
            SPDL_E_FORMAT,
            "spdl: %s segment: it has %lld bytes, the engine said %llu; it is truncated or not ours", name,
            (long long)st.st_size, (unsigned long long)want);
    return SPDL_OK;
}

/* What a memfd must promise, so that no peer can truncate it (a SIGBUS for us) or write what it should
 * not. */
static spdl_status check_seals(int fd, const char *name, bool writable) {
    int got = fcntl(fd, F_GET_SEALS);
    if (got < 0) return sp_fail(SPDL_E_FORMAT, "spdl: %s segment: it says memfd but has no seals", name);
    int want = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    bool read_only = (got & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
    if ((got & want) != want || (!writable && !read_only))
        return sp_fail(SPDL_E_FORMAT,
                       "spdl: %s segment: seals 0x%x, want 0x%x%s; a peer could change it under us", name,
                       got, want, writable ? "" : " and one against writing");
    return SPDL_OK;
}

static spdl_status map_one(int fd, bool writable, uint64_t bytes, mapping *m) {
    void *p = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return sp_fail_errno("attach: mmap of a segment");
    m->base = p;
    m->bytes = bytes;
    return SPDL_OK;
}

static spdl_status check_all_seals(const spdl_reader *r, const spdl_l_header *h) {
    if (h->backing != SPDL_L_BACKING_MEMFD) return SPDL_OK;
    spdl_status s = check_seals(r->fds[FD_HEADER], "header", false);
    if (s == SPDL_OK) s = check_seals(r->fds[FD_GROUP], "group", true);
    bool writable = h->access == SPDL_L_ACCESS_PRIVATE || (h->features_required & SPDL_L_FEATURE_STAGED);
    if (s == SPDL_OK) s = check_seals(r->fds[FD_DATA], "data", writable);
    return s;
}

/* Map and copy the header, then validate the copy. */
static spdl_status map_header(spdl_reader *r, const spdl_l_welcome *w) {
    spdl_status s = check_size(r->fds[FD_HEADER], "header", w->header_bytes);
    if (s != SPDL_OK) return s;
    ssize_t n = pread(r->fds[FD_HEADER], &r->h, sizeof r->h, 0);
    if (n != (ssize_t)sizeof r->h) return bad("header", "its size", n < 0 ? 0 : (uint64_t)n, "at least 1024");
    s = check_identity(&r->h);
    if (s == SPDL_OK) s = check_all_seals(r, &r->h);
    if (s == SPDL_OK) s = map_one(r->fds[FD_HEADER], false, w->header_bytes, &r->header);
    if (s != SPDL_OK) return s;
    uint64_t magic =
        load_acquire64((const uint64_t *)(const void *)r->header.base); /* the engine stores it last */
    uint32_t backing = r->h.backing;
    memcpy(&r->h, r->header.base, sizeof r->h);
    r->h.magic = magic;
    if (r->h.backing != backing) return bad("header", "backing", r->h.backing, "the one read before");
    return check_header(&r->h, r->header.bytes, w->data_bytes);
}

static spdl_status map_group(spdl_reader *r, const spdl_l_welcome *w) {
    spdl_status s = check_size(r->fds[FD_GROUP], "group", w->group_bytes);
    if (s != SPDL_OK) return s;
    if (w->group_bytes < sizeof r->g) return bad("group", "its size", w->group_bytes, "at least 256");
    s = map_one(r->fds[FD_GROUP], true, w->group_bytes, &r->group);
    if (s != SPDL_OK) return s;
    uint64_t magic = load_acquire64((const uint64_t *)(const void *)r->group.base);
    memcpy(&r->g, r->group.base, sizeof r->g);
    r->g.magic = magic;
    return check_group(r, w);
}

spdl_status sp_map(spdl_reader *r, const spdl_l_welcome *w) {
    spdl_status s = map_header(r, w);
    if (s == SPDL_OK) s = map_group(r, w);
    if (s == SPDL_OK) s = bind_group(r, w);
    if (s == SPDL_OK) s = check_size(r->fds[FD_DATA], "data", w->data_bytes);
    if (s == SPDL_OK)
        s = map_one(r->fds[FD_DATA], r->stage || r->h.access == SPDL_L_ACCESS_PRIVATE, w->data_bytes,
                    &r->data);
    if (s != SPDL_OK) return s;
    r->state = (const spdl_l_state *)(const void *)(r->header.base + r->h.state_off);
    memcpy(r->ring_name, r->h.name, sizeof r->h.name);
    return copy_schema(r);
}

void sp_unmap(spdl_reader *r) {
    mapping *all[] = {&r->data, &r->group, &r->header};
    for (size_t i = 0; i < 3; i++) {
        /* No slot can be read any more. If the engine is dead its successor looks here. */
        uint32_t here = SPDL_L_PRESENCE_HERE;
        if (i == 1 && r->member)
            __atomic_compare_exchange_n(&r->member->presence, &here, SPDL_L_PRESENCE_GONE, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        if (all[i]->base) munmap(all[i]->base, all[i]->bytes);
        all[i]->base = NULL;
    }
}
