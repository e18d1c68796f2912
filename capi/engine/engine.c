/* engine.c - the table that libspdl gets, and the two guards in front of Go: a forked child, where Go would hang, is
 * refused; and a thread that ends with a work in hand is reported. */
#define _GNU_SOURCE
#include "table.h"

#include "_cgo_export.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* ---- fork ----------------------------------------------------------------------------------------------- */

static uint32_t *alive; /* one page that a fork wipes: zero in a child */

/* Before anything of ours can be called: the loader runs it. */
__attribute__((constructor)) static void make_alive(void) {
    uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) return;
    if (madvise(word, 4096, MADV_WIPEONFORK) != 0) {
        munmap(word, 4096);
        return;
    }
    *word = 1;
    alive = word;
}

static spdl_status usable(spdl_engine_error *e) {
    if (alive && *(volatile uint32_t *)alive != 0) return SPDL_OK;
    snprintf(
        e->text, sizeof e->text,
        "spdl: the engine in this process was loaded before a fork, and Go does not survive one; use it in the "
        "parent only, fork before its first use, or start a child engine (SPDL_FORM_CHILD)");
    return SPDL_E_FORKED;
}

#define IN_PARENT(e)                  \
    do {                              \
        spdl_status s_ = usable(e);   \
        if (s_ != SPDL_OK) return s_; \
    } while (0)

/* ---- threads -------------------------------------------------------------------------------------------- */

static pthread_key_t ending;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t n_threads;
static _Thread_local uint64_t thread; /* from 1, never used again; 0: has taken nothing yet */
static _Thread_local uint32_t tid;    /* the system's number of it */

static void thread_ends(void *number) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goThreadEnded((uint64_t)(uintptr_t)number);
}

static void make_key(void) { has_key = pthread_key_create(&ending, thread_ends) == 0; }

/* This thread's number; its end is heard of from now on. */
static uint64_t this_thread(void) {
    if (thread != 0) return thread;
    pthread_once(&once, make_key);
    thread = atomic_fetch_add(&n_threads, 1) + 1;
    tid = (uint32_t)gettid();
    if (has_key) pthread_setspecific(ending, (void *)(uintptr_t)thread);
    return thread;
}

/* ---- files that may not grow ------------------------------------------------------------------------------ */

/* A file that is written on a thread of the host's and may not grow (ulimit -f) is the call's error: SIGXFSZ waits, and is gone before the thread
 * has its own mask again. Go's threads do not have it (libspdl, sp_engine). */
typedef struct writing {
    sigset_t xfsz, before;
} writing;

static writing begin_writing(void) {
    writing w;
    sigemptyset(&w.xfsz);
    sigaddset(&w.xfsz, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &w.xfsz, &w.before);
    return w;
}

static void end_writing(writing *w) {
    static const struct timespec at_once = {0, 0};
    if (sigismember(&w->before, SIGXFSZ)) return;
    while (sigtimedwait(&w->xfsz, NULL, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &w->before, NULL);
}

/* Of a call that may write a file: until it returns. */
#define MAY_WRITE __attribute__((cleanup(end_writing), unused)) writing writing_ = begin_writing()

/* ---- the table ------------------------------------------------------------------------------------------ */

static void *end_all(void *unused) {
    goEndAll(SP_END_NS);
    return unused;
}

/* On a thread of its own: of the one that exits, the host may have taken away the signal stack that Go found there, as Python's faulthandler
 * and Rust's runtime do, and a signal that finds none while Go runs ends the process. The host's handlers do not run on that thread. */
static void end_at_exit(void) {
    spdl_engine_error e;
    if (usable(&e) != SPDL_OK) return;
    sigset_t all, before;
    pthread_t ender;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&ender, NULL, end_all, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        end_all(NULL);
    else
        pthread_join(ender, NULL);
}

static spdl_status do_open(const char *const *args, uint32_t n_args, int control, int parent, int64_t *source,
                           spdl_engine_error *e) {
    static atomic_bool ends; /* with exit(), which one that cannot remember it would leave to the next run */
    if (!atomic_exchange(&ends, true)) (void)atexit(end_at_exit);
    spdl_status s = usable(e);
    if (s == SPDL_OK) return goOpen((char **)(uintptr_t)args, n_args, control, parent, source, e);
    close(control);
    close(parent);
    return s;
}

static spdl_status do_await_end(int64_t source, int64_t timeout_ns) {
    spdl_engine_error e;
    IN_PARENT(&e);
    return goAwaitEnd(source, timeout_ns);
}

static void do_end_all(int64_t timeout_ns) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goEndAll(timeout_ns);
}

static spdl_status do_source_check(int64_t source, spdl_engine_error *e) {
    IN_PARENT(e);
    return goSourceCheck(source, e);
}

static spdl_status do_source_take(int64_t source, int64_t timeout_ns, spdl_want *out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goSourceTake(source, timeout_ns, this_thread(), out, e);
}

static spdl_status do_source_give(int64_t source, const spdl_want *want, const spdl_sample *sample,
                                  spdl_engine_error *e) {
    IN_PARENT(e);
    return goSourceGive(source, (spdl_want *)(uintptr_t)want, (spdl_sample *)(uintptr_t)sample, e);
}

static void do_source_end(int64_t source) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goSourceEnd(source);
}

static spdl_status do_load(const char *description, const void *bytes, size_t n_bytes, const char *path,
                           spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goLoad((char *)(uintptr_t)description, (void *)(uintptr_t)bytes, n_bytes, (char *)(uintptr_t)path,
                  out, e);
}

static spdl_status do_load_batch(const char *description, const spdl_sample *samples, size_t n_samples,
                                 spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goLoadBatch((char *)(uintptr_t)description, (spdl_sample *)(uintptr_t)samples, n_samples, out, e);
}

static spdl_status do_loading_open(const char *description, const void *bytes, size_t n_bytes,
                                   const char *path, int64_t *handle, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goLoadingOpen((char *)(uintptr_t)description, (void *)(uintptr_t)bytes, n_bytes,
                         (char *)(uintptr_t)path, handle, e);
}

static spdl_status do_loading_next(int64_t handle, spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goLoadingNext(handle, out, e);
}

static void do_loading_close(int64_t handle) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goLoadingClose(handle);
}

static spdl_status do_demuxing_open(const char *description, const void *bytes, size_t n_bytes,
                                    const char *path, int64_t *handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goDemuxingOpen((char *)(uintptr_t)description, (void *)(uintptr_t)bytes, n_bytes,
                          (char *)(uintptr_t)path, handle, e);
}

static spdl_status do_demuxing_next(int64_t handle, int stream_alone, spdl_packets **out,
                                    spdl_engine_error *e) {
    IN_PARENT(e);
    return goDemuxingNext(handle, stream_alone, out, e);
}

static void do_demuxing_close(int64_t handle) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goDemuxingClose(handle);
}

static spdl_status do_packets_slice(int64_t packets, uint64_t first, uint64_t end, spdl_packets **out,
                                    spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsSlice(packets, first, end, out, e);
}

static spdl_status do_packets_filter(int64_t packets, const char *filters, spdl_packets **out,
                                     spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsFilter(packets, (char *)(uintptr_t)filters, out, e);
}

static spdl_status do_packets_decode(int64_t packets, const char *description, spdl_loaded **out,
                                     spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsDecode(packets, (char *)(uintptr_t)description, out, e);
}

static spdl_status do_packets_decode_chunks(int64_t packets, const char *description, int64_t *loading,
                                            spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsDecodeChunks(packets, (char *)(uintptr_t)description, loading, e);
}

static spdl_status do_packets_bytes(int64_t packets, spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsBytes(packets, out, e);
}

static spdl_status do_packets_of(const void *bytes, size_t n_bytes, spdl_packets **out,
                                 spdl_engine_error *e) {
    IN_PARENT(e);
    return goPacketsOf((void *)(uintptr_t)bytes, n_bytes, out, e);
}

static spdl_status do_bsf_open(int64_t packets, const char *filters, int64_t *handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goBSFOpen(packets, (char *)(uintptr_t)filters, handle, e);
}

static spdl_status do_bsf_filter(int64_t bsf, int64_t packets, int last, spdl_packets **out,
                                 spdl_engine_error *e) {
    IN_PARENT(e);
    return goBSFFilter(bsf, packets, last, out, e);
}

static void do_bsf_close(int64_t bsf) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goBSFClose(bsf);
}

static spdl_status do_decoder_open(int64_t packets, const char *description, int64_t *handle,
                                   spdl_engine_error *e) {
    IN_PARENT(e);
    return goDecoderOpen(packets, (char *)(uintptr_t)description, handle, e);
}

static spdl_status do_decoder_give(int64_t decoder, int64_t packets, spdl_engine_error *e) {
    IN_PARENT(e);
    return goDecoderGive(decoder, packets, e);
}

static spdl_status do_decoder_next(int64_t decoder, spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goDecoderNext(decoder, out, e);
}

static void do_decoder_close(int64_t decoder) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goDecoderClose(decoder);
}

static void do_packets_free(int64_t packets) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goPacketsFree(packets);
}

static spdl_status do_graph_open(const char *description, int64_t *handle, char **info,
                                 spdl_engine_error *e) {
    IN_PARENT(e);
    return goGraphOpen((char *)(uintptr_t)description, handle, info, e);
}

static spdl_status do_graph_add(int64_t graph, const char *input, const void *data, size_t n_bytes,
                                const double *seconds, size_t n_seconds, spdl_engine_error *e) {
    IN_PARENT(e);
    return goGraphAdd(graph, (char *)(uintptr_t)input, (void *)(uintptr_t)data, n_bytes,
                      (double *)(uintptr_t)seconds, n_seconds, e);
}

static spdl_status do_graph_flush(int64_t graph, spdl_engine_error *e) {
    IN_PARENT(e);
    return goGraphFlush(graph, e);
}

static spdl_status do_graph_next(int64_t graph, const char *output, spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goGraphNext(graph, (char *)(uintptr_t)output, out, e);
}

static void do_graph_close(int64_t graph) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goGraphClose(graph);
}

static spdl_status do_save(const char *description, const void *data, size_t n_bytes, const char *path,
                           spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goSave((char *)(uintptr_t)description, (void *)(uintptr_t)data, n_bytes, (char *)(uintptr_t)path,
                  out, e);
}

static spdl_status do_muxer_open(const char *description, const char *path, int64_t *handle,
                                 spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goMuxerOpen((char *)(uintptr_t)description, (char *)(uintptr_t)path, handle, e);
}

static spdl_status do_muxer_add(int64_t muxer, const char *description, int64_t packets, const char *filters,
                                int32_t *track, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goMuxerAdd(muxer, (char *)(uintptr_t)description, packets, (char *)(uintptr_t)filters, track, e);
}

static spdl_status do_muxer_write(int64_t muxer, int32_t track, const void *data, size_t n_bytes,
                                  const double *seconds, size_t n_seconds, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goMuxerWrite(muxer, track, (void *)(uintptr_t)data, n_bytes, (double *)(uintptr_t)seconds,
                        n_seconds, e);
}

static spdl_status do_muxer_write_packets(int64_t muxer, int32_t track, int64_t packets,
                                          spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goMuxerWritePackets(muxer, track, packets, e);
}

static spdl_status do_muxer_close(int64_t muxer, spdl_loaded **out, spdl_engine_error *e) {
    IN_PARENT(e);
    MAY_WRITE;
    return goMuxerClose(muxer, out, e);
}

static void do_muxer_abort(int64_t muxer) {
    spdl_engine_error e;
    if (usable(&e) == SPDL_OK) goMuxerAbort(muxer);
}

static spdl_status do_create(const char *description, int64_t *handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goCreate((char *)(uintptr_t)description, handle, e);
}

static spdl_status do_start(int64_t handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goStart(handle, e);
}

static int32_t do_stage(int64_t handle, const char *name, spdl_engine_error *e) {
    IN_PARENT(e);
    int32_t stage = 0;
    spdl_status s = goStage(handle, (char *)(uintptr_t)name, &stage, e);
    return s == SPDL_OK ? stage : s;
}

static spdl_status do_take(int64_t handle, int32_t stage, int64_t timeout_ns, spdl_work *out,
                           spdl_engine_error *e) {
    IN_PARENT(e);
    uint64_t me = this_thread(); /* sets tid */
    return goTake(handle, stage, timeout_ns, me, tid, out, e);
}

static spdl_status do_give(int64_t handle, int32_t stage, const spdl_work *work, const spdl_give *give,
                           spdl_engine_error *e) {
    IN_PARENT(e);
    return goGive(handle, stage, work->worker, work->token, (spdl_give *)(uintptr_t)give, e);
}

static spdl_status do_get(int64_t handle, int64_t timeout_ns, spdl_work *out, spdl_engine_error *e) {
    IN_PARENT(e);
    return goGet(handle, timeout_ns, this_thread(), out, e);
}

static spdl_status do_drain(int64_t handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goDrain(handle, e);
}

static spdl_status do_stop(int64_t handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goStop(handle, e);
}

static spdl_status do_wait(int64_t handle, int64_t timeout_ns, spdl_engine_error *e) {
    IN_PARENT(e);
    return goWait(handle, timeout_ns, e);
}

static spdl_status do_failure(int64_t handle, char **text, spdl_engine_error *e) {
    IN_PARENT(e);
    return goFailure(handle, text, e);
}

static spdl_status do_stats(int64_t handle, char **text, spdl_engine_error *e) {
    IN_PARENT(e);
    return goStats(handle, text, e);
}

static spdl_status do_reclaim(int64_t handle, uint64_t *items, uint32_t room, uint32_t *got,
                              spdl_engine_error *e) {
    IN_PARENT(e);
    return goReclaim(handle, items, room, got, e);
}

static spdl_status do_free(int64_t handle, spdl_engine_error *e) {
    IN_PARENT(e);
    return goFree(handle, e);
}

static const spdl_engine_table table = {
    .table_version = SPDL_ENGINE_TABLE_VERSION,
    .version = TEXT(SPDL_VERSION_MAJOR) "." TEXT(SPDL_VERSION_MINOR) "." TEXT(SPDL_VERSION_PATCH),
    .open = do_open,
    .await_end = do_await_end,
    .end_all = do_end_all,
    .source_check = do_source_check,
    .source_take = do_source_take,
    .source_give = do_source_give,
    .source_end = do_source_end,
    .load = do_load,
    .load_batch = do_load_batch,
    .loading_open = do_loading_open,
    .loading_next = do_loading_next,
    .loading_close = do_loading_close,
    .demuxing_open = do_demuxing_open,
    .demuxing_next = do_demuxing_next,
    .demuxing_close = do_demuxing_close,
    .packets_slice = do_packets_slice,
    .packets_filter = do_packets_filter,
    .packets_decode = do_packets_decode,
    .packets_decode_chunks = do_packets_decode_chunks,
    .packets_bytes = do_packets_bytes,
    .packets_of = do_packets_of,
    .packets_free = do_packets_free,
    .bsf_open = do_bsf_open,
    .bsf_filter = do_bsf_filter,
    .bsf_close = do_bsf_close,
    .decoder_open = do_decoder_open,
    .decoder_give = do_decoder_give,
    .decoder_next = do_decoder_next,
    .decoder_close = do_decoder_close,
    .graph_open = do_graph_open,
    .graph_add = do_graph_add,
    .graph_flush = do_graph_flush,
    .graph_next = do_graph_next,
    .graph_close = do_graph_close,
    .save = do_save,
    .muxer_open = do_muxer_open,
    .muxer_add = do_muxer_add,
    .muxer_write = do_muxer_write,
    .muxer_write_packets = do_muxer_write_packets,
    .muxer_close = do_muxer_close,
    .muxer_abort = do_muxer_abort,
    .create = do_create,
    .start = do_start,
    .stage = do_stage,
    .take = do_take,
    .give = do_give,
    .get = do_get,
    .drain = do_drain,
    .stop = do_stop,
    .wait = do_wait,
    .failure = do_failure,
    .stats = do_stats,
    .reclaim = do_reclaim,
    .free = do_free,
};

const spdl_engine_table *spdl_engine_table_of(uint32_t table_version) {
    return table_version == SPDL_ENGINE_TABLE_VERSION ? &table : NULL;
}
