/* stream.c - streams, events, copies and launches. Each stream has a thread, which does one thing after the other, but for what is put into it
 * while it is captured into a graph: that is counted and never done. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICK_US 200
#define MAX_EVENTS 4096
#define MAX_STREAMS 256
#define MAX_PARAMS 16
#define LEGACY ((cu_stream)1)
#define PER_THREAD ((cu_stream)2)

/* How often an event was recorded, and how many of those the streams have come to. Shared where the event is interprocess. */
typedef struct marks {
    _Atomic uint64_t recorded, done;
    int32_t pid; /* who records */
} marks;

typedef struct event {
    marks *marks;
    context *owner;
    unsigned flags;
    int fd;   /* of a shared one of our own */
    int refs; /* the handle, and each operation that waits in a stream */
    bool shared, imported;
    bool captured; /* recorded last in a stream that was captured: there is nothing to ask */
} event;

enum { COPY, COPY_ROWS, FILL, RECORD, WAIT, HOST_FUNCTION, KERNEL };

typedef struct operation {
    int kind;
    struct operation *next;
    void *to;
    const void *from;
    void *staged; /* a copy's own copy of pageable memory */
    size_t bytes;
    size_t rows, to_pitch, from_pitch; /* of a copy of so many times `bytes` */
    event *event;
    uint64_t mark;
    cu_host_function function;
    void *data;
    const fake_kernel *kernel;
    unsigned grid[3], block[3];
    uint64_t values[MAX_PARAMS];
} operation;

struct stream {
    context *owner;
    operation *first, **last;
    bool closing, busy;
    bool blocking;             /* the default stream joins it */
    int capture, capture_mode; /* CU_CAPTURE_* */
    pthread_t capturer;
    pthread_cond_t news;
};

static event *events[MAX_EVENTS];
static stream *streams[MAX_STREAMS];
_Thread_local bool fake_in_host_function;
static _Thread_local int thread_mode = CU_CAPTURE_GLOBAL;

/* ---- captures ------------------------------------------------------------------------------------------ */

/* Whether this capture forbids this thread what is not safe meanwhile. */
static bool forbids(const stream *s) {
    bool mine = pthread_equal(s->capturer, pthread_self()) != 0;
    if (s->capture != CU_CAPTURE_ACTIVE || thread_mode == CU_CAPTURE_RELAXED) return false;
    if (mine) return s->capture_mode != CU_CAPTURE_RELAXED;
    return thread_mode == CU_CAPTURE_GLOBAL && s->capture_mode == CU_CAPTURE_GLOBAL;
}

cu_result fake_unsafe(void) {
    cu_result r = CU_OK;
    for (int i = 0; i < MAX_STREAMS; i++) {
        if (!streams[i] || !forbids(streams[i])) continue;
        streams[i]->capture = CU_CAPTURE_INVALIDATED;
        r = CU_E_CAPTURE_UNSUPPORTED;
    }
    return r;
}

/* The default stream would join those that are captured, and is none of their graph's. */
static bool joins_capture(const stream *s, bool spoil) {
    bool joins = false;
    for (int i = 0; i < MAX_STREAMS && s == s->owner->null_stream; i++) {
        stream *other = streams[i];
        if (!other || other->owner != s->owner || !other->blocking || other->capture != CU_CAPTURE_ACTIVE)
            continue;
        if (spoil) other->capture = CU_CAPTURE_INVALIDATED;
        joins = true;
    }
    return joins;
}

/* What waits for, or asks, a stream that is captured never may. */
static cu_result refuse_captured(stream *s) {
    if (s->capture == CU_CAPTURE_NONE) return CU_OK;
    s->capture = CU_CAPTURE_INVALIDATED;
    return CU_E_CAPTURE_UNSUPPORTED;
}

/* ---- events ----------------------------------------------------------------------------------------- */

static bool is_event(const event *e) {
    for (int i = 0; i < MAX_EVENTS; i++)
        if (e && events[i] == e) return true;
    return false;
}

static void drop(event *e) {
    if (--e->refs > 0) return;
    if (e->shared)
        munmap(e->marks, sizeof *e->marks);
    else
        free(e->marks);
    if (e->fd >= 0) close(e->fd);
    free(e);
}

static cu_result new_event(context *c, unsigned flags, marks *m, int fd, cu_event *out) {
    int i = 0;
    while (i < MAX_EVENTS && events[i]) i++;
    event *e = i < MAX_EVENTS ? calloc(1, sizeof *e) : NULL;
    if (!e) return CU_E_OUT_OF_MEMORY;
    *e = (event){.marks = m, .owner = c, .flags = flags, .fd = fd, .refs = 1};
    events[i] = e;
    fake_counts->events++;
    *out = e;
    return CU_OK;
}

static marks *map_marks(int fd) {
    void *p = mmap(NULL, sizeof(marks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

FAKE_API cu_result cuEventCreate(cu_event *out, unsigned flags) {
    ENTER(EventCreate);
    cu_result why;
    context *c = fake_current(&why);
    if (why != CU_OK) LEAVE(why);
    bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
    if (shared && !(flags & CU_EVENT_DISABLE_TIMING)) LEAVE(CU_E_INVALID_VALUE);
    int fd = shared ? memfd_create("fake-cuda-event", MFD_CLOEXEC) : -1;
    marks *m = NULL;
    if (!shared)
        m = calloc(1, sizeof *m);
    else if (fd >= 0 && ftruncate(fd, sizeof *m) == 0)
        m = map_marks(fd);
    if (!m) LEAVE(CU_E_OUT_OF_MEMORY);
    m->pid = getpid();
    cu_result r = new_event(c, flags, m, fd, out);
    if (r == CU_OK) ((event *)*out)->shared = shared;
    LEAVE(r);
}

FAKE_API cu_result cuEventDestroy_v2(cu_event out) {
    ENTER(EventDestroy);
    for (int i = 0; i < MAX_EVENTS; i++) {
        if (!out || events[i] != out) continue;
        drop(events[i]);
        events[i] = NULL;
        fake_counts->events--;
        LEAVE(CU_OK);
    }
    LEAVE(CU_E_INVALID_HANDLE);
}

static bool is_reached(const marks *m, uint64_t mark) {
    if (atomic_load(&m->done) >= mark) return true;
    return kill(m->pid, 0) != 0 && errno == ESRCH; /* nobody will record it any more */
}

FAKE_API cu_result cuEventQuery(cu_event out) {
    ENTER(EventQuery);
    event *e = out;
    if (!is_event(e)) LEAVE(CU_E_INVALID_HANDLE);
    if (e->captured) LEAVE(CU_E_CAPTURED_EVENT);
    cu_result unsafe = fake_unsafe();
    if (unsafe != CU_OK) LEAVE(unsafe);
    if (e->owner->lost) LEAVE(e->owner->lost);
    LEAVE(is_reached(e->marks, atomic_load(&e->marks->recorded)) ? CU_OK : CU_E_NOT_READY);
}

FAKE_API cu_result cuEventSynchronize(cu_event out) {
    ENTER(EventSynchronize);
    event *e = out;
    if (!is_event(e)) LEAVE(CU_E_INVALID_HANDLE);
    if (e->captured) LEAVE(CU_E_CAPTURED_EVENT);
    cu_result unsafe = fake_unsafe();
    if (unsafe != CU_OK) LEAVE(unsafe);
    fake_counts->spins += !(e->flags & CU_EVENT_BLOCKING_SYNC);
    uint64_t mark = atomic_load(&e->marks->recorded);
    e->refs++;
    while (!e->owner->lost && !is_reached(e->marks, mark)) {
        fake_pass();
    }
    cu_result lost = e->owner->lost;
    drop(e);
    LEAVE(lost);
}

typedef struct exported_event {
    uint32_t magic;
    int32_t pid, fd;
    uint64_t inode;
} exported_event;
#define MAGIC 0x746e7665u

FAKE_API cu_result cuIpcGetEventHandle(cu_handle *handle, cu_event out) {
    ENTER(IpcGetEventHandle);
    event *e = out;
    struct stat st;
    if (!is_event(e) || e->fd < 0 || fstat(e->fd, &st) != 0) LEAVE(CU_E_INVALID_HANDLE);
    exported_event x = {MAGIC, getpid(), e->fd, st.st_ino};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &x, sizeof x);
    LEAVE(CU_OK);
}

FAKE_API cu_result cuIpcOpenEventHandle(cu_event *out, cu_handle handle) {
    ENTER(IpcOpenEventHandle);
    cu_result why;
    context *c = fake_current(&why);
    exported_event x;
    char path[64];
    struct stat st;
    memcpy(&x, &handle, sizeof x);
    if (why != CU_OK) LEAVE(why);
    if (x.magic != MAGIC) LEAVE(CU_E_INVALID_HANDLE);
    if (x.pid == getpid()) LEAVE(CU_E_INVALID_CONTEXT);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", x.pid, x.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    marks *m = fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == x.inode ? map_marks(fd) : NULL;
    if (fd >= 0) close(fd);
    if (!m) LEAVE(CU_E_INVALID_HANDLE);
    cu_result r = new_event(c, CU_EVENT_INTERPROCESS, m, -1, out);
    if (r == CU_OK) ((event *)*out)->shared = ((event *)*out)->imported = true;
    LEAVE(r);
}

/* ---- what a stream does ------------------------------------------------------------------------------ */

void fake_pass(void) {
    pthread_mutex_unlock(&fake_lock);
    usleep(TICK_US);
    pthread_mutex_lock(&fake_lock);
}

static void run_kernel(operation *o) {
    void *params[MAX_PARAMS];
    for (int i = 0; i < MAX_PARAMS; i++) params[i] = &o->values[i];
    o->kernel->run(params, o->grid, o->block);
}

/* Everything but waiting. Copies and functions run without the lock. */
static void perform(operation *o) {
    if (o->kind == RECORD) {
        uint64_t done = atomic_load(&o->event->marks->done);
        if (done < o->mark) atomic_store(&o->event->marks->done, o->mark);
        return;
    }
    pthread_mutex_unlock(&fake_lock);
    if (fake_settings.latency_us > 0 && o->kind != HOST_FUNCTION)
        usleep((useconds_t)fake_settings.latency_us);
    if (o->kind == COPY) memcpy(o->to, o->staged ? o->staged : o->from, o->bytes);
    for (size_t y = 0; o->kind == COPY_ROWS && y < o->rows; y++)
        memcpy((uint8_t *)o->to + y * o->to_pitch, (const uint8_t *)o->from + y * o->from_pitch, o->bytes);
    if (o->kind == FILL) memset(o->to, (int)o->rows, o->bytes);
    if (o->kind == KERNEL) run_kernel(o);
    if (o->kind == HOST_FUNCTION) {
        fake_in_host_function = true;
        o->function(o->data);
        fake_in_host_function = false;
    }
    pthread_mutex_lock(&fake_lock);
}

static void finish(operation *o) {
    fake_counts->in_flight--;
    if (o->event) drop(o->event);
    free(o->staged);
    free(o);
}

/* Until the gate is open and, for a wait, the event was reached. False if the device was lost meanwhile. */
static bool may_begin(const stream *s, const operation *o) {
    for (;;) {
        if (s->owner->lost) return false;
        bool held = fake_settings.gate[0] && access(fake_settings.gate, F_OK) == 0;
        if (!held && (o->kind != WAIT || is_reached(o->event->marks, o->mark))) return true;
        fake_pass();
    }
}

static void *work(void *arg) {
    stream *s = arg;
    pthread_mutex_lock(&fake_lock);
    for (;;) {
        while (!s->first && !s->closing) pthread_cond_wait(&s->news, &fake_lock);
        operation *o = s->first;
        if (!o) break;
        s->first = o->next;
        if (!s->first) s->last = &s->first;
        s->busy = true;
        if (may_begin(s, o) && o->kind != WAIT) perform(o);
        s->busy = false;
        finish(o);
    }
    pthread_cond_destroy(&s->news);
    free(s);
    fake_counts->streams--;
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

static stream *start_stream(context *c) {
    stream *s = calloc(1, sizeof *s);
    pthread_attr_t attributes;
    pthread_t thread;
    if (!s) return NULL;
    s->owner = c;
    s->last = &s->first;
    pthread_cond_init(&s->news, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attributes, work, s);
    pthread_attr_destroy(&attributes);
    if (failed) {
        free(s);
        return NULL;
    }
    fake_counts->streams++;
    return s;
}

/* What is in the stream is still done. */
static void close_stream(stream *s) {
    s->closing = true;
    pthread_cond_signal(&s->news);
}

void fake_end_streams(context *c) {
    if (c->null_stream) close_stream(c->null_stream);
    c->null_stream = NULL;
    for (int i = 0; i < MAX_STREAMS; i++)
        if (streams[i] && streams[i]->owner == c) {
            close_stream(streams[i]);
            streams[i] = NULL;
        }
}

/* The stream of a handle; the default one of the current context for 0, 1 and 2. */
static stream *resolve(cu_stream handle, cu_result *why) {
    if (handle && handle != LEGACY && handle != PER_THREAD) {
        *why = CU_E_INVALID_HANDLE;
        for (int i = 0; i < MAX_STREAMS; i++)
            if (streams[i] == handle) {
                *why = streams[i]->owner->lost;
                return streams[i];
            }
        return NULL;
    }
    context *c = fake_current(why);
    if (!c) return NULL;
    if (!c->null_stream) c->null_stream = start_stream(c);
    if (!c->null_stream) *why = CU_E_OUT_OF_MEMORY;
    return c->null_stream;
}

static cu_result put(cu_stream handle, const operation *what) {
    cu_result why;
    stream *s = resolve(handle, &why);
    if (s && why == CU_OK && joins_capture(s, true)) return CU_E_CAPTURE_IMPLICIT;
    if (s && why == CU_OK && s->capture != CU_CAPTURE_NONE) {
        if (s->capture != CU_CAPTURE_ACTIVE) return CU_E_CAPTURE_INVALIDATED;
        free(what->staged);
        return CU_OK;
    }
    operation *o = s && why == CU_OK ? malloc(sizeof *o) : NULL;
    if (!o) return why != CU_OK ? why : CU_E_OUT_OF_MEMORY;
    *o = *what;
    o->next = NULL;
    if (o->event) o->event->refs++;
    *s->last = o;
    s->last = &o->next;
    fake_counts->in_flight++;
    pthread_cond_signal(&s->news);
    return CU_OK;
}

/* ---- streams ------------------------------------------------------------------------------------------ */

FAKE_API cu_result cuStreamCreate(cu_stream *out, unsigned flags) {
    ENTER(StreamCreate);
    cu_result why;
    context *c = fake_current(&why);
    if (why != CU_OK) LEAVE(why);
    int i = 0;
    while (i < MAX_STREAMS && streams[i]) i++;
    stream *s = i < MAX_STREAMS ? start_stream(c) : NULL;
    if (!s) LEAVE(CU_E_OUT_OF_MEMORY);
    s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    streams[i] = s;
    *out = (cu_stream)s;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuStreamDestroy_v2(cu_stream handle) {
    ENTER(StreamDestroy);
    for (int i = 0; i < MAX_STREAMS; i++)
        if (handle && streams[i] == handle) {
            close_stream(streams[i]);
            streams[i] = NULL;
            LEAVE(CU_OK);
        }
    LEAVE(CU_E_INVALID_HANDLE);
}

static bool is_idle(const stream *s) { return !s->first && !s->busy; }

FAKE_API cu_result cuStreamQuery(cu_stream handle) {
    ENTER(StreamQuery);
    cu_result why;
    stream *s = resolve(handle, &why);
    if (why == CU_OK) why = refuse_captured(s);
    if (why != CU_OK) LEAVE(why);
    LEAVE(is_idle(s) ? CU_OK : CU_E_NOT_READY);
}

FAKE_API cu_result cuStreamSynchronize(cu_stream handle) {
    ENTER(StreamSynchronize);
    cu_result why;
    fake_counts->spins += !(fake_current(&why)->flags & CU_CTX_BLOCKING_SYNC);
    for (;;) {
        stream *s = resolve(handle, &why);
        if (why == CU_OK) why = refuse_captured(s);
        if (why != CU_OK || is_idle(s)) LEAVE(why);
        fake_pass();
    }
}

FAKE_API cu_result cuCtxSynchronize(void) {
    ENTER(CtxSynchronize);
    cu_result why;
    for (;;) {
        context *c = fake_current(&why);
        bool idle = !c || !c->null_stream || is_idle(c->null_stream);
        for (int i = 0; i < MAX_STREAMS && why == CU_OK; i++) {
            if (!streams[i] || streams[i]->owner != c) continue;
            why = refuse_captured(streams[i]);
            idle = idle && is_idle(streams[i]);
        }
        if (why != CU_OK) LEAVE(why);
        if (idle) LEAVE(CU_OK);
        fake_pass();
    }
}

FAKE_API cu_result cuStreamBeginCapture_v2(cu_stream handle, int mode) {
    ENTER(StreamBeginCapture);
    cu_result why;
    stream *s = resolve(handle, &why);
    if (why != CU_OK) LEAVE(why);
    if (s == s->owner->null_stream) LEAVE(CU_E_CAPTURE_UNSUPPORTED);
    if (s->capture != CU_CAPTURE_NONE || mode < CU_CAPTURE_GLOBAL || mode > CU_CAPTURE_RELAXED)
        LEAVE(CU_E_INVALID_VALUE);
    s->capture = CU_CAPTURE_ACTIVE;
    s->capture_mode = mode;
    s->capturer = pthread_self();
    LEAVE(CU_OK);
}

/* There is no graph to be had: who asks wants to know whether it came to one. */
FAKE_API cu_result cuStreamEndCapture(cu_stream handle, void **graph) {
    ENTER(StreamEndCapture);
    cu_result why;
    stream *s = resolve(handle, &why);
    *graph = NULL;
    if (why != CU_OK) LEAVE(why);
    int capture = s->capture;
    if (capture != CU_CAPTURE_NONE && s->capture_mode != CU_CAPTURE_RELAXED &&
        !pthread_equal(s->capturer, pthread_self()))
        LEAVE(CU_E_CAPTURE_WRONG_THREAD);
    s->capture = CU_CAPTURE_NONE;
    if (capture == CU_CAPTURE_NONE) LEAVE(CU_E_INVALID_VALUE);
    LEAVE(capture == CU_CAPTURE_ACTIVE ? CU_OK : CU_E_CAPTURE_INVALIDATED);
}

FAKE_API cu_result cuStreamIsCapturing(cu_stream handle, int *status) {
    ENTER(StreamIsCapturing);
    cu_result why;
    stream *s = resolve(handle, &why);
    if (s) *status = s->capture;
    if (why == CU_OK && joins_capture(s, false)) why = CU_E_CAPTURE_IMPLICIT;
    LEAVE(why);
}

FAKE_API cu_result cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER(ThreadExchangeStreamCaptureMode);
    int before = thread_mode;
    if (*mode < CU_CAPTURE_GLOBAL || *mode > CU_CAPTURE_RELAXED) LEAVE(CU_E_INVALID_VALUE);
    thread_mode = *mode;
    *mode = before;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuStreamGetCtx(cu_stream handle, cu_context *out) {
    ENTER(StreamGetCtx);
    cu_result why;
    stream *s = resolve(handle, &why);
    if (!s) LEAVE(why);
    *out = s->owner;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuEventRecord(cu_event out, cu_stream handle) {
    ENTER(EventRecord);
    event *e = out;
    cu_result why;
    stream *s = resolve(handle, &why);
    if (why != CU_OK) LEAVE(why);
    if (!is_event(e) || e->imported) LEAVE(CU_E_INVALID_HANDLE);
    if (e->owner != s->owner) LEAVE(CU_E_INVALID_HANDLE);
    e->captured = s->capture == CU_CAPTURE_ACTIVE;
    if (e->captured) LEAVE(CU_OK);
    uint64_t mark = atomic_fetch_add(&e->marks->recorded, 1) + 1;
    LEAVE(put(handle, &(operation){.kind = RECORD, .event = e, .mark = mark}));
}

FAKE_API cu_result cuStreamWaitEvent(cu_stream handle, cu_event out, unsigned flags) {
    ENTER(StreamWaitEvent);
    event *e = out;
    if (flags != 0) LEAVE(CU_E_INVALID_VALUE);
    if (!is_event(e)) LEAVE(CU_E_INVALID_HANDLE);
    cu_result why;
    stream *s = resolve(handle, &why);
    if (why == CU_OK && s->capture == CU_CAPTURE_ACTIVE && !e->captured) { /* of no part of the graph */
        s->capture = CU_CAPTURE_INVALIDATED;
        LEAVE(CU_E_CAPTURE_ISOLATION);
    }
    fake_counts->waits++;
    LEAVE(put(handle, &(operation){.kind = WAIT, .event = e, .mark = atomic_load(&e->marks->recorded)}));
}

FAKE_API cu_result cuLaunchHostFunc(cu_stream handle, cu_host_function function, void *data) {
    ENTER(LaunchHostFunc);
    if (!function) LEAVE(CU_E_INVALID_VALUE);
    fake_counts->host_functions++;
    LEAVE(put(handle, &(operation){.kind = HOST_FUNCTION, .function = function, .data = data}));
}

/* ---- copies --------------------------------------------------------------------------------------------- */

FAKE_API cu_result cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream handle) {
    ENTER(MemcpyHtoDAsync);
    if (!fake_is_device(to, bytes)) LEAVE(CU_E_INVALID_VALUE);
    operation o = {.kind = COPY, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes};
    if (!fake_is_pinned(from, bytes)) { /* the driver stages it before it returns */
        o.staged = malloc(bytes ? bytes : 1);
        if (!o.staged) LEAVE(CU_E_OUT_OF_MEMORY);
        memcpy(o.staged, from, bytes);
        fake_counts->pageable++;
    }
    fake_counts->copies++;
    cu_result r = put(handle, &o);
    if (r != CU_OK) free(o.staged);
    LEAVE(r);
}

FAKE_API cu_result cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream handle) {
    ENTER(MemcpyDtoHAsync);
    if (!fake_is_device(from, bytes)) LEAVE(CU_E_INVALID_VALUE);
    fake_counts->pageable += !fake_is_pinned(to, bytes);
    fake_counts->copies++;
    LEAVE(put(handle, &(operation){.kind = COPY, .to = to, .from = (void *)(uintptr_t)from, .bytes = bytes}));
}

FAKE_API cu_result cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes, cu_stream handle) {
    ENTER(MemcpyDtoDAsync);
    if (!fake_is_device(to, bytes) || !fake_is_device(from, bytes)) LEAVE(CU_E_INVALID_VALUE);
    fake_counts->copies++;
    operation o = {
        .kind = COPY, .to = (void *)(uintptr_t)to, .from = (void *)(uintptr_t)from, .bytes = bytes};
    LEAVE(put(handle, &o));
}

FAKE_API cu_result cuMemsetD8Async(cu_address to, unsigned char value, size_t bytes, cu_stream handle) {
    ENTER(MemsetD8Async);
    if (!fake_is_device(to, bytes)) LEAVE(CU_E_INVALID_VALUE);
    LEAVE(
        put(handle, &(operation){.kind = FILL, .to = (void *)(uintptr_t)to, .rows = value, .bytes = bytes}));
}

/* From the device to memory that is not pinned, as FFmpeg fetches a frame: the only one that is asked for. It returns when that is done, as a
 * driver's does: FFmpeg lets go of the memory without waiting where the copy of another plane fails. */
FAKE_API cu_result cuMemcpy2DAsync_v2(const fake_copy_2d *c, cu_stream handle) {
    ENTER(Memcpy2DAsync);
    cu_address from = c->from_address + c->from_y * c->from_pitch + c->from_x;
    uint8_t *to = (uint8_t *)c->to_host + c->to_y * c->to_pitch + c->to_x;
    if (c->from_kind != FAKE_ON_DEVICE || c->to_kind != FAKE_ON_HOST || c->height == 0 ||
        c->width > c->from_pitch || c->width > c->to_pitch ||
        !fake_is_device(from, (c->height - 1) * c->from_pitch + c->width))
        LEAVE(CU_E_INVALID_VALUE);
    fake_counts->copies++;
    operation o = {.kind = COPY_ROWS,
                   .to = to,
                   .from = (const void *)(uintptr_t)from,
                   .bytes = c->width,
                   .rows = c->height,
                   .to_pitch = c->to_pitch,
                   .from_pitch = c->from_pitch};
    cu_result r = put(handle, &o);
    for (stream *s; r == CU_OK && (s = resolve(handle, &r)) && !is_idle(s);) fake_pass();
    LEAVE(r);
}

/* ---- kernels --------------------------------------------------------------------------------------------- */

/* A module is its text, a function the kernel in C. */
FAKE_API cu_result cuModuleLoadData(cu_module *module, const void *image) {
    ENTER(ModuleLoadData);
    cu_result why;
    if (!fake_current(&why)) LEAVE(why);
    if (!strstr(image, ".version") || !strstr(image, ".entry")) LEAVE(CU_E_INVALID_IMAGE);
    *module = strdup(image);
    LEAVE(*module ? CU_OK : CU_E_OUT_OF_MEMORY);
}

FAKE_API cu_result cuModuleUnload(cu_module module) {
    ENTER(ModuleUnload);
    free(module);
    LEAVE(CU_OK);
}

FAKE_API cu_result cuModuleGetFunction(cu_function *function, cu_module module, const char *name) {
    ENTER(ModuleGetFunction);
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %.100s(", name);
    const fake_kernel *k = strstr(module, entry) ? fake_find_kernel(name) : NULL;
    *function = (cu_function)(uintptr_t)k;
    LEAVE(k ? CU_OK : CU_E_NOT_FOUND);
}

FAKE_API cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                  cu_stream handle, void **params, void **extra) {
    ENTER(LaunchKernel);
    (void)shared_bytes;
    const fake_kernel *k = function;
    if (!k || extra || block_x * block_y * block_z > 1024 || grid_x * grid_y * grid_z == 0 ||
        grid_y > 65535 || grid_z > 65535)
        LEAVE(CU_E_INVALID_VALUE);
    operation o = {
        .kind = KERNEL, .kernel = k, .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}};
    for (int i = 0; i < MAX_PARAMS && k->sizes[i]; i++)
        memcpy(&o.values[i], params[i], (size_t)(k->sizes[i] - '0'));
    cu_result why;
    const stream *s = resolve(handle, &why);
    if (why == CU_OK && s->owner != fake_current(&why))
        why = CU_E_INVALID_HANDLE; /* copies may go to any stream */
    if (why != CU_OK) LEAVE(why);
    fake_counts->launches++;
    LEAVE(put(handle, &o));
}
