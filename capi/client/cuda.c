/* cuda.c - the CUDA driver, loaded when somebody asks for a GPU, and the ring's memory pinned for it.
 *
 * The mapping of a shared ring is read-only, which a device must be able to pin (an attribute of devices with drivers of CUDA 11.1 or newer). Where it
 * is not, tensors can be staged: each lease then has a place in pinned memory of its own, and a tensor is copied there when it is first asked
 * for.
 *
 * Memory is registered in the device's primary context, as portable: pinned for every context, and the context is ours for as long as we need it,
 * which one that the caller made might not be.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the driver ------------------------------------------------------------------------------------ */

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static cuda_driver driver; /* never unloaded: it has threads of its own */
static _Atomic bool started;
static pid_t starter; /* before started */

static spdl_status fail_forked(const char *call) {
    return sp_fail(
        SPDL_E_UNSUPPORTED,
        "spdl: %s: CUDA was in use before this process was forked, and works in no child of a fork; start it anew (multiprocessing: "
        "\"spawn\"), or go on in host memory",
        call);
}

static spdl_status start_driver(const char *call) {
    char why[512] = "";
    int loaded = driver.library ? CUDA_LOADED : sp_cuda_load(&driver, why, sizeof why);
    if (loaded == CUDA_NO_LIBRARY)
        return sp_fail(
            SPDL_E_UNSUPPORTED,
            "spdl: %s: no CUDA driver: %s; install NVIDIA's driver, or go on without: host batches do not need it",
            call, why);
    if (loaded == CUDA_TOO_OLD)
        return sp_fail(SPDL_E_UNSUPPORTED,
                       "spdl: %s: the CUDA driver is too old: %s; want one of CUDA 11.1 or newer", call, why);
    int version = 0;
    const char *asked = "cuDriverGetVersion";
    cu_result r = driver.DriverGetVersion(&version);
    if (r == CU_OK && version < CUDA_OLDEST)
        return sp_fail(SPDL_E_UNSUPPORTED,
                       "spdl: %s: the CUDA driver is too old: got CUDA %d.%d, want 11.1 or newer", call,
                       version / 1000, version % 1000 / 10);
    if (r == CU_OK) {
        asked = "cuInit";
        r = driver.Init(0);
    }
    if (r == CU_E_NO_DEVICE)
        return sp_fail(SPDL_E_NOT_FOUND,
                       "spdl: %s: the CUDA driver sees no device (CUDA_VISIBLE_DEVICES is \"%s\")", call,
                       getenv("CUDA_VISIBLE_DEVICES") ? getenv("CUDA_VISIBLE_DEVICES") : "not set");
    if (r == CU_E_NOT_INITIALIZED) return fail_forked(call);
    return r == CU_OK ? SPDL_OK : sp_fail_cuda(&driver, call, asked, r);
}

spdl_status sp_cuda(const char *call, const cuda_driver **out) {
    spdl_status s = SPDL_OK;
    *out = &driver;
    if (atomic_load_explicit(&started, memory_order_acquire))
        return starter == getpid() ? SPDL_OK : fail_forked(call);
    pthread_mutex_lock(&loading);
    if (!atomic_load(&started)) s = start_driver(call);
    if (s == SPDL_OK) starter = getpid();
    if (s == SPDL_OK) atomic_store_explicit(&started, true, memory_order_release);
    pthread_mutex_unlock(&loading);
    return s;
}

spdl_status sp_fail_cuda(const cuda_driver *d, const char *call, const char *what, cu_result error) {
    char text[256];
    spdl_status s = error == CU_E_OUT_OF_MEMORY ? SPDL_E_NOMEM : SPDL_E_DEVICE;
    return sp_fail(s, "spdl: %s: %s: %s", call, what, sp_cuda_error(d, error, text, sizeof text));
}

/* What the thread's mode was; negative: nothing to put back. */
static int relax(const cuda_driver *d) {
    int mode = CU_CAPTURE_RELAXED;
    return d->ThreadExchangeStreamCaptureMode(&mode) == CU_OK ? mode : -1;
}

static void put_back_mode(const cuda_driver *d, int mode) {
    if (mode >= 0) d->ThreadExchangeStreamCaptureMode(&mode);
}

gpu *sp_gpu_lock(spdl_reader *r, int *mode) {
    pthread_mutex_lock(&r->gpu_lock);
    gpu *g = atomic_load(&r->gpu);
    *mode = g ? relax(g->driver) : -1;
    return g;
}

void sp_gpu_unlock(spdl_reader *r, int mode) {
    put_back_mode(&driver, mode);
    pthread_mutex_unlock(&r->gpu_lock);
}

spdl_status sp_gpu(spdl_reader *r, const char *call, gpu **out, int *mode) {
    const cuda_driver *d;
    spdl_status s = sp_cuda(call, &d);
    if (s != SPDL_OK) return s;
    *out = sp_gpu_lock(r, mode);
    if (*out) return SPDL_OK;
    gpu *g = calloc(1, sizeof *g);
    if (!g) {
        sp_gpu_unlock(r, *mode);
        return sp_fail(SPDL_E_NOMEM, "spdl: %s: no memory", call);
    }
    g->driver = d;
    *out = g;
    *mode = relax(d);
    atomic_store(&r->gpu, g);
    return SPDL_OK;
}

spdl_status sp_check_capture(const cuda_driver *d, const char *call, cu_stream stream, const char *remedy) {
    int status = CU_CAPTURE_NONE;
    cu_result e = d->StreamIsCapturing(stream, &status);
    if (e == CU_OK && status == CU_CAPTURE_NONE) return SPDL_OK;
    if (e == CU_OK || e == CU_E_CAPTURE_IMPLICIT) /* the default stream, which joins the others */
        return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: the stream is being captured into a graph; %s", call,
                       remedy);
    return sp_fail_cuda(d, call, "the stream", e);
}

/* ---- pinning ----------------------------------------------------------------------------------------- */

/* The ordinal that the caller means. */
static spdl_status choose_device(const gpu *g, const spdl_pin_opts *o, cu_device *out) {
    const cuda_driver *d = g->driver;
    cu_context current = NULL;
    int count = 0;
    cu_result r = d->DeviceGetCount(&count);
    if (r != CU_OK) return sp_fail_cuda(d, "pin", "cuDeviceGetCount", r);
    if (o->device == SPDL_CURRENT_DEVICE) {
        *out = 0;
        if (d->CtxGetCurrent(&current) == CU_OK && current) r = d->CtxGetDevice(out);
        return r == CU_OK ? SPDL_OK : sp_fail_cuda(d, "pin", "cuCtxGetDevice", r);
    }
    if (o->device >= count)
        return sp_fail(SPDL_E_NOT_FOUND, "spdl: pin: device %d: the CUDA driver sees %d, counted from 0",
                       o->device, count);
    r = d->DeviceGet(out, o->device);
    return r == CU_OK ? SPDL_OK : sp_fail_cuda(d, "pin", "cuDeviceGet", r);
}

static spdl_status set_up_staging(spdl_reader *r, gpu *g) {
    g->staging = calloc(r->max_leases, sizeof *g->staging);
    if (!g->staging) return sp_fail(SPDL_E_NOMEM, "spdl: pin: no memory for %u places", r->max_leases);
    g->mode = SPDL_PIN_STAGED;
    atomic_store_explicit(&r->staged, true, memory_order_release);
    return SPDL_OK;
}

/* Register the mapping, in the current context. */
static spdl_status register_memory(spdl_reader *r, gpu *g, uint32_t flags) {
    const cuda_driver *d = g->driver;
    bool writable = r->stage || r->h.access == SPDL_L_ACCESS_PRIVATE;
    int able = 1;
    if (!writable && d->DeviceGetAttribute(&able, CU_ATTR_READ_ONLY_REGISTER, g->device) != CU_OK) able = 0;
    if (!able && (flags & SPDL_PIN_STAGE)) return set_up_staging(r, g);
    if (!able)
        return sp_fail(
            SPDL_E_UNSUPPORTED,
            "spdl: pin: ring \"%s\": its memory is mapped read-only, and device %d cannot pin that; open the ring "
            "with `access: private`, or allow SPDL_PIN_STAGE",
            r->ring_name, g->device);
    cu_result e = d->MemHostRegister(r->data.base, r->data.bytes,
                                     CU_REGISTER_PORTABLE | (writable ? 0 : CU_REGISTER_READ_ONLY));
    if (e == CU_OK) {
        g->mode = writable ? SPDL_PIN_WRITABLE : SPDL_PIN_READ_ONLY;
        g->bytes = r->data.bytes;
        return SPDL_OK;
    }
    if (e == CU_E_ALREADY_REGISTERED)
        return sp_fail(SPDL_E_BUSY,
                       "spdl: pin: ring \"%s\": somebody else in this process has pinned its memory",
                       r->ring_name);
    if (flags & SPDL_PIN_STAGE) return set_up_staging(r, g);
    char what[160];
    snprintf(what, sizeof what, "cuMemHostRegister of the %llu bytes of ring \"%s\"",
             (unsigned long long)r->data.bytes, r->ring_name);
    spdl_status s = sp_fail_cuda(d, "pin", what, e);
    if (s != SPDL_E_NOMEM) return s;
    return sp_fail(
        s,
        "%s; the machine lets no more memory be locked: raise the limit (ulimit -l), use fewer or smaller slots, "
        "allow SPDL_PIN_STAGE, or go on without: copies are slower, and right",
        spdl_last_error());
}

static spdl_status pin_locked(spdl_reader *r, gpu *g, const spdl_pin_opts *o) {
    cu_context before;
    if (g->mode != SPDL_PIN_NONE)
        return sp_fail(SPDL_E_BUSY, "spdl: pin: ring \"%s\": this reader is pinned for device %d already",
                       r->ring_name, g->device);
    spdl_status s = choose_device(g, o, &g->device);
    if (s != SPDL_OK) return s;
    cu_result e = g->driver->DevicePrimaryCtxRetain(&g->context, g->device);
    if (e != CU_OK) {
        g->context = NULL;
        return sp_fail_cuda(g->driver, "pin", "cuDevicePrimaryCtxRetain", e);
    }
    e = g->driver->CtxPushCurrent(g->context);
    s = e == CU_OK ? register_memory(r, g, o->flags) : sp_fail_cuda(g->driver, "pin", "cuCtxPushCurrent", e);
    if (e == CU_OK) g->driver->CtxPopCurrent(&before);
    if (s != SPDL_OK) {
        g->driver->DevicePrimaryCtxRelease(g->device);
        g->context = NULL;
    }
    return s;
}

static spdl_status check_pin(const spdl_reader *r, const spdl_pin_opts *o, const spdl_pin_info *info) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: pin: reader is NULL");
    if (o->struct_size < sizeof *o)
        return sp_small("pin", "opts", o->struct_size, sizeof *o, "SPDL_PIN_OPTS_INIT");
    if (o->flags & ~SPDL_PIN_STAGE)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: pin: opts.flags is 0x%x, this library knows 0x%x", o->flags,
                       SPDL_PIN_STAGE);
    if (o->device < SPDL_CURRENT_DEVICE)
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: pin: opts.device is %d, want SPDL_CURRENT_DEVICE or a device from 0",
                       o->device);
    if (info && info->struct_size < sizeof *info)
        return sp_small("pin", "info", info->struct_size, sizeof *info, "SPDL_PIN_INFO_INIT");
    spdl_status s = sp_usable(r);
    if (s == SPDL_OK && r->stage && (o->flags & SPDL_PIN_STAGE))
        s = sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: pin: stage \"%s\": its members write the ring's memory itself; leave out SPDL_PIN_STAGE",
            r->group_name);
    return s;
}

spdl_status spdl_pin(spdl_reader *r, const spdl_pin_opts *opts, spdl_pin_info *info) {
    const spdl_pin_opts defaults = SPDL_PIN_OPTS_INIT;
    if (!opts) opts = &defaults;
    spdl_status s = check_pin(r, opts, info);
    if (s != SPDL_OK) return s;
    gpu *g;
    int mode;
    s = sp_gpu(r, "pin", &g, &mode);
    if (s != SPDL_OK) return s;
    s = pin_locked(r, g, opts);
    sp_gpu_unlock(r, mode);
    return s == SPDL_OK && info ? spdl_get_pin_info(r, info) : s;
}

/* ---- unpinning ------------------------------------------------------------------------------------------ */

/* Whatever the driver says: the device may be lost, the process about to end. */
static void unpin_locked(spdl_reader *r, gpu *g) {
    const cuda_driver *d = g->driver;
    cu_context before;
    if (g->mode == SPDL_PIN_NONE) return;
    sp_fences_free(g);
    bool pushed = d->CtxPushCurrent(g->context) == CU_OK;
    if (g->mode != SPDL_PIN_STAGED) d->MemHostUnregister(r->data.base);
    for (uint32_t i = 0; g->staging && i < r->max_leases; i++)
        if (g->staging[i].memory) d->MemFreeHost(g->staging[i].memory);
    if (pushed) d->CtxPopCurrent(&before);
    d->DevicePrimaryCtxRelease(g->device);
    free(g->staging);
    atomic_store(&r->staged, false);
    g->staging = NULL;
    g->context = NULL;
    g->mode = SPDL_PIN_NONE;
    g->bytes = 0;
}

spdl_status spdl_unpin(spdl_reader *r) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: unpin: reader is NULL");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    int mode;
    gpu *g = sp_gpu_lock(r, &mode);
    while (g && g->waiting) { /* another thread may have released a batch since */
        sp_gpu_unlock(r, mode);
        sp_fences_drain(r);
        g = sp_gpu_lock(r, &mode);
    }
    if (g) unpin_locked(r, g);
    sp_gpu_unlock(r, mode);
    return SPDL_OK;
}

spdl_status spdl_get_pin_info(spdl_reader *r, spdl_pin_info *out) {
    if (!r || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: get_pin_info: %s is NULL", r ? "out" : "reader");
    if (out->struct_size < sizeof *out)
        return sp_small("get_pin_info", "out", out->struct_size, sizeof *out, "SPDL_PIN_INFO_INIT");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    const spdl_pin_info empty = SPDL_PIN_INFO_INIT;
    uint32_t size = out->struct_size;
    memcpy(out, &empty, sizeof empty);
    out->struct_size = size;
    out->pending = atomic_load_explicit(&r->pending, memory_order_relaxed);
    int mode;
    const gpu *g = sp_gpu_lock(r, &mode);
    if (g) {
        g->driver->DriverGetVersion(&out->driver_version);
        out->mode = g->mode;
        out->bytes = g->bytes;
        out->device_error = g->lost;
        for (const import *i = g->imports; i; i = i->next) out->imports++;
    }
    if (g && g->mode != SPDL_PIN_NONE) {
        out->device = g->device;
        g->driver->DeviceGetName(out->device_name, sizeof out->device_name, g->device);
    }
    sp_gpu_unlock(r, mode);
    return SPDL_OK;
}

/* ---- staging ---------------------------------------------------------------------------------------------- */

/* The place of this lease; NULL without memory. There are as many as leases. */
static staging *place_of(spdl_reader *r, gpu *g, uint64_t token) {
    staging *free_ = NULL;
    for (uint32_t i = 0; i < r->max_leases; i++) {
        staging *p = &g->staging[i];
        if (p->token == token) return p;
        if (p->token == 0 && (!free_ || (!free_->memory && p->memory))) free_ = p;
    }
    if (!free_) return NULL;
    if (!free_->memory) {
        cu_context before;
        void *memory = NULL;
        if (g->driver->CtxPushCurrent(g->context) != CU_OK) return NULL;
        cu_result e = g->driver->MemHostAlloc(&memory, r->h.slot_stride, CU_HOST_PORTABLE);
        g->driver->CtxPopCurrent(&before);
        if (e != CU_OK) return NULL;
        free_->memory = memory;
        g->bytes += r->h.slot_stride;
    }
    free_->token = token;
    memset(free_->copied, 0, sizeof free_->copied);
    return free_;
}

static spdl_status stage_locked(spdl_reader *r, gpu *g, const spdl_batch *b, const schema_tensor *t,
                                uint64_t bytes, spdl_tensor *out) {
    staging *p = place_of(r, g, b->token);
    if (!p)
        return sp_fail(
            SPDL_E_NOMEM,
            "spdl: batch_tensor: batch %llu: no pinned memory to stage its %llu bytes in; call spdl_unpin, or "
            "have fewer leases",
            (unsigned long long)b->ticket, (unsigned long long)r->h.slot_stride);
    const uint8_t *slot = r->data.base + (uint64_t)b->slot * r->h.slot_stride;
    uint32_t rows = slot_desc(r, b->slot)->rows;
    if (rows > r->h.batch_rows) rows = r->h.batch_rows;
    uint64_t bit = 1ull << t->place % 64, n = out->offsets ? 8ull * (rows + 1) : 0;
    if (!(p->copied[t->place / 64] & bit)) {
        memcpy(p->memory + t->t.offset, slot + t->t.offset, bytes);
        if (n) memcpy(p->memory + t->t.offsets_offset, slot + t->t.offsets_offset, n);
        p->copied[t->place / 64] |= bit;
    }
    out->data = p->memory + t->t.offset;
    if (n) out->offsets = (const int64_t *)(const void *)(p->memory + t->t.offsets_offset);
    return SPDL_OK;
}

spdl_status sp_stage(spdl_reader *r, const spdl_batch *b, const schema_tensor *t, uint64_t bytes,
                     spdl_tensor *out) {
    spdl_status s = SPDL_OK;
    int mode;
    gpu *g = sp_gpu_lock(r, &mode);
    if (g->mode == SPDL_PIN_STAGED) s = stage_locked(r, g, b, t, bytes, out);
    sp_gpu_unlock(r, mode);
    return s;
}

/* ---- ends ----------------------------------------------------------------------------------------------------- */

void sp_gpu_forget(spdl_reader *r, uint32_t slot, uint64_t token) {
    int mode;
    gpu *g = sp_gpu_lock(r, &mode);
    for (uint32_t i = 0; g->staging && i < r->max_leases; i++)
        if (g->staging[i].token == token) g->staging[i].token = 0;
    sp_pool_leave(r, slot);
    sp_gpu_unlock(r, mode);
}

void sp_gpu_free(spdl_reader *r) {
    gpu *g = atomic_load(&r->gpu);
    if (!g) return;
    int mode = relax(g->driver);
    sp_pools_close(g);
    sp_fences_free(g);
    unpin_locked(r, g);
    put_back_mode(g->driver, mode);
    free(g);
}
