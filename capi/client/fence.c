/* fence.c - batches that are released when a GPU is through with them.
 *
 * An event behind the work says so. It is asked by whoever acquires, waits, or releases the next batch this way; there is no thread of ours, and no
 * host function of the driver's, for three reasons: the driver does not call one once the device is lost, so somebody would have to ask all the
 * same; it holds up its stream until it has returned; and it may still be called when this library has been unloaded.
 *
 * With its fence a batch leaves its lease's record: a second release finds none, and nobody is told to release what only the GPU holds. The
 * slot's word says HELD or DONE until it is given back, so that the engine treats it as any lease: it comes back with the death of
 * this process at the latest, and the driver stops the process's copies before the kernel lets it be dead.
 */
#include "gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_AGAIN_NS 1000000u

/* ---- events ------------------------------------------------------------------------------------------- */

static bool is_default(const void *stream) { return (uintptr_t)stream <= 2; } /* NULL, legacy, per thread */

/* The context that the handle's work is in. */
static cu_result context_of(const gpu *g, uint32_t kind, void *handle, cu_context *out) {
    const cuda_driver *d = g->driver;
    cu_context before;
    cu_result e = d->CtxGetCurrent(out);
    if (e == CU_OK && !*out) *out = g->context;
    if (e == CU_OK && !*out) return CU_E_INVALID_CONTEXT;
    if (e != CU_OK || kind != SPDL_AFTER_STREAM || is_default(handle)) return e;
    e = d->CtxPushCurrent(*out); /* some context has to be current, whichever */
    if (e != CU_OK) return e;
    e = d->StreamGetCtx(handle, out);
    d->CtxPopCurrent(&before);
    return e;
}

/* One that was used before in this context, or a new one; NULL without memory. */
static fence *take_fence(gpu *g, cu_context context) {
    for (fence **p = &g->idle; *p; p = &(*p)->next) {
        fence *f = *p;
        if (f->own && f->context != context) continue;
        *p = f->next;
        return f;
    }
    return calloc(1, sizeof(fence));
}

static void destroy_event(gpu *g, fence *f) {
    cu_context before;
    if (f->own && g->driver->CtxPushCurrent(f->context) == CU_OK) {
        g->driver->EventDestroy(f->event);
        g->driver->CtxPopCurrent(&before);
    }
    f->own = false;
    f->event = NULL;
}

/* Events are kept in the context that we hold only: another may be gone when they are to be destroyed. */
static void put_back(gpu *g, fence *f) {
    if (!f->own || f->context != g->context) destroy_event(g, f);
    f->next = g->idle;
    g->idle = f;
}

/* Put an event of ours behind what is in the stream. In its context. */
static cu_result record(const cuda_driver *d, fence *f, cu_stream stream) {
    cu_result e =
        f->own ? CU_OK : d->EventCreate(&f->event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC);
    f->own = e == CU_OK;
    return e == CU_OK ? d->EventRecord(f->event, stream) : e;
}

static spdl_status make_fence(gpu *g, uint32_t kind, void *handle, fence **out) {
    const cuda_driver *d = g->driver;
    cu_context context = NULL, before;
    cu_result e = context_of(g, kind, handle, &context);
    if (e == CU_E_INVALID_CONTEXT)
        return sp_fail(
            SPDL_E_DEVICE,
            "spdl: release_after: no context is current in this thread; make the stream's device current, or call spdl_pin");
    if (e == CU_OK) e = d->CtxPushCurrent(context);
    if (e != CU_OK) return sp_fail_cuda(d, "release_after", "the stream's context", e);
    if (kind == SPDL_AFTER_STREAM) {
        spdl_status s =
            sp_check_capture(d, "release_after", handle, "release the batch behind the graph's launch");
        if (s != SPDL_OK) {
            d->CtxPopCurrent(&before);
            return s;
        }
    }
    fence *f = take_fence(g, context);
    if (f) f->context = context;
    if (f && kind == SPDL_AFTER_STREAM) {
        e = record(d, f, handle);
    } else if (f) {
        destroy_event(g, f);
        f->event = handle;
        e = d->EventQuery(handle);
        if (e == CU_E_NOT_READY) e = CU_OK;
    }
    d->CtxPopCurrent(&before);
    if (!f) return sp_fail(SPDL_E_NOMEM, "spdl: release_after: no memory for a record");
    *out = f;
    if (e == CU_OK) return SPDL_OK;
    put_back(g, f);
    return sp_fail_cuda(d, "release_after", kind == SPDL_AFTER_STREAM ? "recording an event" : "the event",
                        e);
}

/* ---- release_after ------------------------------------------------------------------------------------------ */

static spdl_status check_call(const spdl_reader *r, const spdl_batch *b, uint32_t kind, const void *handle) {
    spdl_status s = sp_check_batch(r, b, "release_after");
    if (s != SPDL_OK) return s;
    if (kind != SPDL_AFTER_STREAM && kind != SPDL_AFTER_EVENT)
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: release_after: kind is %u, want SPDL_AFTER_STREAM or SPDL_AFTER_EVENT", kind);
    if (kind == SPDL_AFTER_EVENT && !handle)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: release_after: the event is NULL");
    return SPDL_OK;
}

/* Take the batch out of its lease's record, into the fence. */
static spdl_status hand_over(spdl_reader *r, const spdl_batch *b, fence *f) {
    uint64_t token = b->token;
    spdl_status s = r->stage ? SPDL_OK : spdl_done(r, b);
    if (s != SPDL_OK) return s;
    if (!atomic_compare_exchange_strong_explicit(&r->leases[b->slot].token, &token, 0, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return sp_stale(b);
    f->slot = b->slot;
    f->token = b->token;
    return SPDL_OK;
}

spdl_status spdl_release_after(spdl_reader *r, const spdl_batch *b, uint32_t kind, void *handle) {
    fence *f = NULL;
    gpu *g;
    int mode;
    spdl_status s = check_call(r, b, kind, handle);
    if (s != SPDL_OK || is_forked(r)) return s;
    if (atomic_load_explicit(&r->detached, memory_order_acquire)) return sp_usable(r);
    if (b->token == 0 || b->slot >= r->h.n_slots) return sp_stale(b);
    if (sp_fences_wait(r)) sp_fences_settle(r);
    s = sp_gpu(r, "release_after", &g, &mode);
    if (s != SPDL_OK) return s;
    s = make_fence(g, kind, handle, &f);
    if (s == SPDL_OK) {
        s = hand_over(r, b, f);
        if (s == SPDL_OK) {
            f->next = g->waiting;
            g->waiting = f;
            atomic_fetch_add_explicit(&r->pending, 1, memory_order_release);
        } else {
            put_back(g, f);
        }
    }
    sp_gpu_unlock(r, mode);
    if (s == SPDL_OK) (void)sp_fault("after.fence");
    return s;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* The driver does not tell as long as somebody captures a graph in the context, or what it was asked about is part of one. */
static bool is_capture(cu_result e) {
    return e >= CU_E_CAPTURE_UNSUPPORTED && e <= CU_E_CAPTURE_WRONG_THREAD;
}

/* What an event answers that is neither yes nor no. The handle may be one that its owner destroyed: then the work behind it is waited
 * for, with all else in its context. If that fails, too, the device is lost and nothing runs on it. False: the next one may ask again. */
static bool doubt(gpu *g, cu_result said) {
    cu_result e = is_capture(said) ? said : g->driver->CtxSynchronize();
    if (is_capture(e)) return false;
    if (e != CU_OK && e != CU_E_DEINITIALIZED) g->lost = said;
    return true;
}

/* Whether the GPU is through. With wait, it is, and so is one whom nobody can ask: its reader is about to go. */
static bool is_through(gpu *g, const fence *f, bool wait) {
    const cuda_driver *d = g->driver;
    cu_context before;
    cu_result e = d->CtxPushCurrent(f->context);
    if (e != CU_OK) return true; /* the context is gone, and its work */
    e = wait ? d->EventSynchronize(f->event) : d->EventQuery(f->event);
    bool through = e == CU_OK || (e != CU_E_NOT_READY && doubt(g, e));
    d->CtxPopCurrent(&before);
    return through || wait;
}

/* Take out of `waiting` what the GPU is through with. */
static fence *collect(gpu *g, bool wait) {
    fence *through = NULL, **p = &g->waiting;
    while (*p) {
        fence *f = *p;
        if (!is_through(g, f, wait)) {
            p = &f->next;
            continue;
        }
        *p = f->next;
        f->next = through;
        through = f;
    }
    return through;
}

static void settle(spdl_reader *r, bool wait) {
    int shield = sp_shield();
    int mode;
    gpu *g = sp_gpu_lock(r, &mode);
    fence *through = g ? collect(g, wait) : NULL;
    sp_gpu_unlock(r, mode);
    while (through) {
        fence *f = through;
        through = f->next;
        sp_give_back(r, f->slot, f->token);
        atomic_fetch_sub_explicit(&r->pending, 1, memory_order_release);
        g = sp_gpu_lock(r, &mode);
        put_back(g, f);
        sp_gpu_unlock(r, mode);
    }
    sp_unshield(shield);
}

void sp_fences_settle(spdl_reader *r) { settle(r, false); }

void sp_fences_drain(spdl_reader *r) {
    if (sp_fences_wait(r)) settle(r, true);
}

void sp_fences_free(gpu *g) {
    while (g->idle) {
        fence *f = g->idle;
        g->idle = f->next;
        destroy_event(g, f);
        free(f);
    }
}

/* ---- the event descriptor ------------------------------------------------------------------------------------------ */

/* Under gpu_lock. -1 with errno set otherwise. */
static int make_timer(int epoll) {
    struct epoll_event e = {.events = EPOLLIN};
    int timer = sp_above_2(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &e) == 0) return timer;
    int error = errno;
    close(timer);
    errno = error;
    return -1;
}

/* Nobody else tells a poller that a copy has ended: a timer has it look again. */
spdl_status sp_fences_arm(spdl_reader *r) {
    int epoll = atomic_load_explicit(&r->epoll, memory_order_acquire);
    if (epoll < 0) return SPDL_OK;
    bool wait = sp_fences_wait(r);
    spdl_status s = SPDL_OK;
    pthread_mutex_lock(&r->gpu_lock);
    int timer = atomic_load(&r->fence_timer);
    if (timer < 0 && wait) {
        timer = make_timer(epoll);
        if (timer < 0) s = sp_fail_errno("acquire: a timer that tells the event descriptor of the GPU");
        atomic_store(&r->fence_timer, timer);
    }
    struct itimerspec once = {{0, 0}, {0, wait ? LOOK_AGAIN_NS : 0}};
    if (timer >= 0) timerfd_settime(timer, 0, &once, NULL);
    pthread_mutex_unlock(&r->gpu_lock);
    return s;
}
