/* pool.c - tensors in device memory: the uploader's pool, imported once, and its events.
 *
 * A lease notes at its claim where the batch's device tensors are: the engine may copy them to another place for another group. A
 * generation that is not the pool's any more belongs to an uploader that died, and what it exported must not be touched, imported or not. An import of an
 * old generation is closed with the last lease that used it.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEATH_NS ((uint64_t)1000000000) /* for the engine to say that its uploader is dead */

void sp_note_device(spdl_reader *r, uint32_t slot) {
    const spdl_l_desc *d = slot_desc(r, slot);
    lease *l = &r->leases[slot];
    l->pool = d->pool;
    l->fence_kind = d->fence_kind;
    l->device_slot = d->fence[0];
    l->generation = d->fence[1];
}

static const spdl_l_pool *pool_record(const spdl_reader *r, uint32_t i) {
    return (const spdl_l_pool *)(const void *)(r->header.base + r->h.pool_off +
                                               (uint64_t)i * r->h.pool_stride);
}

/* A copy of a record of this generation. False if the generation is another. */
static bool read_pool(const spdl_reader *r, uint32_t i, uint64_t generation, spdl_l_pool *out) {
    const spdl_l_pool *p = pool_record(r, i);
    if (generation == 0 || load_acquire64(&p->generation) != generation) return false;
    memcpy(out, p, sizeof *out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return load_acquire64(&p->generation) == generation;
}

static spdl_status lost(const spdl_batch *b) {
    return sp_fail(
        SPDL_E_POOL_LOST,
        "spdl: batch %llu: the uploader that had its device memory died, or its engine; use the batch's host tensors, or "
        "the next batch",
        (unsigned long long)b->ticket);
}

static spdl_status damaged(const spdl_batch *b, const char *what) {
    return sp_fail(SPDL_E_FORMAT, "spdl: batch %llu: its %s does not fit its pool; the descriptor is damaged",
                   (unsigned long long)b->ticket, what);
}

/* An uploader ends with its engine. */
static bool is_void(const spdl_reader *r, const lease *l) {
    return l->generation == 0 || load_acquire64(&pool_record(r, l->pool)->generation) != l->generation ||
           !sp_engine_alive(r);
}

/* Whether what the driver refuses to open is what a dead uploader exported: the engine says so within milliseconds. Waited for once a
 * generation: who is refused for another reason is refused at once from then on. */
static bool turns_void(const spdl_reader *r, gpu *g, const lease *l) {
    if (g->refused == l->generation) return false;
    uint64_t until = sp_now_ns() + DEATH_NS;
    int shield = sp_shield();
    bool gone;
    while (!(gone = is_void(r, l)) && sp_now_ns() < until) {
        struct timespec t = {0, 1000000};
        nanosleep(&t, NULL);
    }
    sp_unshield(shield);
    if (!gone) g->refused = l->generation;
    return gone;
}

/* ---- imports -------------------------------------------------------------------------------------------- */

/* The device whose uuid the pool has, as this process counts. */
static spdl_status find_device(const gpu *g, const spdl_l_pool *p, cu_device *out) {
    static const uint8_t none[16];
    const cuda_driver *d = g->driver;
    int count = 0;
    cu_result e = d->DeviceGetCount(&count);
    for (int i = 0; e == CU_OK && i < count; i++) {
        cu_uuid uuid;
        e = d->DeviceGet(out, i);
        if (e == CU_OK) e = d->DeviceGetUuid(&uuid, *out);
        bool same = memcmp(p->uuid, none, sizeof none) ? memcmp(p->uuid, uuid.bytes, sizeof none) == 0
                                                       : i == p->device_id;
        if (e == CU_OK && same) return SPDL_OK;
    }
    if (e != CU_OK) return sp_fail_cuda(d, "batch_tensor", "looking for the pool's device", e);
    return sp_fail(SPDL_E_NOT_FOUND,
                   "spdl: batch_tensor: the engine's device %d is none of the %d that this process sees; set "
                   "CUDA_VISIBLE_DEVICES so that it does, or use host tensors",
                   p->device_id, count);
}

static spdl_status open_memory(gpu *g, const spdl_l_pool *p, import *i) {
    const cuda_driver *d = g->driver;
    cu_context before;
    cu_handle handle;
    memcpy(handle.bytes, p->handle, sizeof handle.bytes);
    cu_result e = d->DevicePrimaryCtxRetain(&i->context, i->device);
    if (e != CU_OK) return sp_fail_cuda(d, "batch_tensor", "cuDevicePrimaryCtxRetain", e);
    e = d->CtxPushCurrent(i->context);
    if (e == CU_OK) {
        e = d->IpcOpenMemHandle(&i->base, handle, CU_IPC_LAZY_PEER_ACCESS);
        d->CtxPopCurrent(&before);
    }
    if (e == CU_OK) return SPDL_OK;
    d->DevicePrimaryCtxRelease(i->device);
    return sp_fail_cuda(
        d, "batch_tensor",
        "opening the engine's device memory (is this process in another container, without its IPC?)", e);
}

static void close_import(gpu *g, import *i) {
    const cuda_driver *d = g->driver;
    cu_context before;
    if (d->CtxPushCurrent(i->context) == CU_OK) {
        for (uint32_t k = 0; k < i->n_events; k++)
            if (i->events[k]) d->EventDestroy(i->events[k]);
        d->IpcCloseMemHandle(i->base);
        d->CtxPopCurrent(&before);
    }
    d->DevicePrimaryCtxRelease(i->device);
    free(i->events);
    free(i);
}

void sp_pools_close(gpu *g) {
    while (g->imports) {
        import *i = g->imports;
        g->imports = i->next;
        close_import(g, i);
    }
}

/* Old generations that no lease uses. */
static void close_stale(spdl_reader *r, gpu *g) {
    for (import **p = &g->imports; *p;) {
        import *i = *p;
        if (i->users > 0 || load_acquire64(&pool_record(r, i->pool)->generation) == i->generation) {
            p = &i->next;
            continue;
        }
        *p = i->next;
        close_import(g, i);
    }
}

void sp_pool_leave(spdl_reader *r, uint32_t slot) {
    lease *l = &r->leases[slot];
    if (!l->import) return;
    l->import->users--;
    l->import = NULL;
    close_stale(r, atomic_load(&r->gpu));
}

static spdl_status new_import(spdl_reader *r, gpu *g, const spdl_batch *b, const lease *l, import **out) {
    spdl_l_pool p;
    if (!read_pool(r, l->pool, l->generation, &p)) return lost(b);
    if (p.kind != SPDL_L_POOL_CUDA_IPC || p.slot_bytes == 0)
        return sp_fail(SPDL_E_UNSUPPORTED,
                       "spdl: batch_tensor: pool %u is of kind %u, this library imports %u; upgrade libspdl",
                       l->pool, p.kind, SPDL_L_POOL_CUDA_IPC);
    uint64_t n = p.bytes / p.slot_bytes;
    if (n == 0 || n > r->h.n_pools - l->pool - 1) return damaged(b, "number of device slots");
    import *i = calloc(1, sizeof *i);
    cu_event *events = calloc((size_t)n, sizeof *events);
    spdl_status s =
        i && events ? find_device(g, &p, &i->device) : sp_fail(SPDL_E_NOMEM, "spdl: batch_tensor: no memory");
    if (s == SPDL_OK) s = open_memory(g, &p, i);
    if (s != SPDL_OK) {
        free(i);
        free(events);
        return s == SPDL_E_DEVICE && turns_void(r, g, l) ? lost(b) : s;
    }
    i->pool = l->pool, i->generation = l->generation, i->slot_bytes = p.slot_bytes;
    i->events = events, i->n_events = (uint32_t)n;
    i->next = g->imports;
    *out = g->imports = i;
    return SPDL_OK;
}

/* The import that the lease's tensors are in, which is counted as used until the lease ends. */
static spdl_status enter_pool(spdl_reader *r, gpu *g, const spdl_batch *b, import **out) {
    lease *l = &r->leases[b->slot];
    if (l->pool == 0)
        return sp_fail(
            SPDL_E_POOL_LOST,
            "spdl: batch %llu: it is in host memory only: no uploader had it; use its host tensors",
            (unsigned long long)b->ticket);
    if (l->pool >= r->h.n_pools) return damaged(b, "pool");
    if (is_void(r, l)) return lost(b);
    *out = l->import;
    for (import *i = g->imports; i && !*out; i = i->next)
        if (i->pool == l->pool && i->generation == l->generation) *out = i;
    spdl_status s = *out ? SPDL_OK : new_import(r, g, b, l, out);
    if (s != SPDL_OK) return s;
    if (l->device_slot >= (*out)->n_events) return damaged(b, "device slot");
    if (!l->import) {
        l->import = *out;
        (*out)->users++;
    }
    return SPDL_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------------------- */

static spdl_status describe_device(spdl_reader *r, const spdl_batch *b, const import *i,
                                   const schema_tensor *t, spdl_tensor *out) {
    spdl_l_desc_tensor d;
    uint64_t extent, slot = r->leases[b->slot].device_slot;
    const uint8_t *desc = (const uint8_t *)slot_desc(r, b->slot);
    memcpy(&d, desc + r->h.desc_tensor_off + t->place * r->h.desc_tensor_stride, sizeof d);
    if (t->t.offset > i->slot_bytes || t->t.bytes > i->slot_bytes - t->t.offset) return damaged(b, "tensor");
    if (d.bytes > t->t.bytes || !sp_extent(d.shape, d.strides, t->t.ndim, t->item_bytes, &extent) ||
        extent > t->t.bytes)
        return damaged(b, "shape");
    out->data = (void *)(uintptr_t)(i->base + slot * i->slot_bytes + t->t.offset);
    out->bytes = d.bytes;
    out->device_type = 2;
    out->device_id = i->device;
    memcpy(out->shape, d.shape, sizeof out->shape);
    memcpy(out->strides, d.strides, sizeof out->strides);
    return SPDL_OK;
}

spdl_status sp_device_tensor(spdl_reader *r, const spdl_batch *b, const schema_tensor *t, spdl_tensor *out) {
    import *i = NULL;
    gpu *g;
    int mode;
    if (r->leases[b->slot].pool != 0 && t->t.pool != r->leases[b->slot].pool) return damaged(b, "pool");
    spdl_status s = sp_gpu(r, "batch_tensor", &g, &mode);
    if (s != SPDL_OK) return s;
    s = enter_pool(r, g, b, &i);
    if (s == SPDL_OK) s = describe_device(r, b, i, t, out);
    sp_gpu_unlock(r, mode);
    return s;
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

static spdl_status open_event(spdl_reader *r, gpu *g, const spdl_batch *b, import *i, uint64_t k) {
    spdl_l_pool p;
    cu_handle handle;
    if (i->events[k]) return SPDL_OK;
    if (!read_pool(r, i->pool + 1 + (uint32_t)k, i->generation, &p)) return lost(b);
    if (p.kind != SPDL_L_POOL_CUDA_EVENT) return damaged(b, "event");
    memcpy(handle.bytes, p.handle, sizeof handle.bytes);
    cu_result e = g->driver->IpcOpenEventHandle(&i->events[k], handle);
    if (e == CU_OK) return SPDL_OK;
    i->events[k] = NULL;
    if (turns_void(r, g, &r->leases[b->slot])) return lost(b);
    return sp_fail_cuda(g->driver, "stream_wait", "opening the engine's event", e);
}

static spdl_status wait_locked(spdl_reader *r, gpu *g, const spdl_batch *b, cu_stream stream) {
    const lease *l = &r->leases[b->slot];
    import *i = NULL;
    cu_context before;
    spdl_status s = enter_pool(r, g, b, &i);
    if (s != SPDL_OK || l->fence_kind != SPDL_L_FENCE_CUDA_EVENT) return s;
    cu_result e = g->driver->CtxPushCurrent(i->context);
    if (e != CU_OK) return sp_fail_cuda(g->driver, "stream_wait", "cuCtxPushCurrent", e);
    s = sp_check_capture(g->driver, "stream_wait", stream, "wait for the batch before the capture");
    if (s == SPDL_OK) s = open_event(r, g, b, i, l->device_slot);
    if (s == SPDL_OK) e = g->driver->StreamWaitEvent(stream, i->events[l->device_slot], 0);
    if (s == SPDL_OK && e != CU_OK) s = sp_fail_cuda(g->driver, "stream_wait", "cuStreamWaitEvent", e);
    g->driver->CtxPopCurrent(&before);
    return s;
}

spdl_status spdl_stream_wait(spdl_reader *r, const spdl_batch *b, void *stream) {
    gpu *g;
    int mode;
    spdl_status s = sp_check_batch(r, b, "stream_wait");
    if (s == SPDL_OK) s = sp_usable(r);
    if (s != SPDL_OK) return s;
    if (b->token == 0 || b->slot >= r->h.n_slots ||
        atomic_load_explicit(&r->leases[b->slot].token, memory_order_acquire) != b->token)
        return sp_stale(b);
    if (!(r->h.features_required & SPDL_L_FEATURE_DEVICE)) return SPDL_OK;
    s = sp_gpu(r, "stream_wait", &g, &mode);
    if (s != SPDL_OK) return s;
    s = wait_locked(r, g, b, stream);
    sp_gpu_unlock(r, mode);
    return s;
}
