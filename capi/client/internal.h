/* internal.h - what libspdl's files share: the reader, the shapes of its parts, and who may touch them.
 *
 *   reader.c    life of a reader: attach, detach, the reference count, fork
 *   segment.c   receive, validate and map the three segments
 *   control.c   the control socket: connect, messages, descriptors
 *   spawn.c     start an engine of one's own
 *   engine.c    load libspdl_engine, and open in process
 *   pipeline.c  pipelines of the host's own stages
 *   source.c    samples that the host brings
 *   load.c      one sample decoded at once
 *   packets.c   encoded media as it is
 *   decoder.c   decoders and bitstream filters that are kept open from piece to piece
 *   muxer.c     media files written
 *   ring.c      claim, done, release, end of epoch: the protocol
 *   wait.c      acquire: spin, sleep, notice the engine's death
 *   event.c     the event descriptor
 *   forecast.h  when the next batch is due: what a sleeper gets ready for
 *   reconnect.c find the engine that goes on with a dead one's ring
 *   info.c      schema, batch views, ring and reader information
 *   stage.c     what a stage needs beyond a consumer: batches handed on, batches that failed
 *   state.c     requests to the engine: state, restart, statistics
 *   error.c     status names and this thread's error text
 *   dlpack.c    the one thing of DLPack that must be machine code
 *   cuda.c      load the CUDA driver, pin the memory, stage what cannot be pinned
 *   fence.c     batches that are released when a GPU is through with them
 *   pool.c      tensors in device memory: import, and let streams wait for them; gpu.h is what these three share
 *   fault.c     named fault points, in test builds only
 *
 * The library keeps no global state but each thread's error text, the tables of a loaded libspdl_engine and CUDA driver, and who hears of the
 * ends of tensors.
 */
#ifndef SPDL_INTERNAL_H
#define SPDL_INTERNAL_H

#include "../../include/spdl.h"
#include "../../shm/layout.h"

#include "forecast.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- shared words ----------------------------------------------------------------------------
 *
 * Words in shared memory are plain integers in layout.h; they are touched through these only. On
 * Linux x86-64 and aarch64 every C11 compiler gives _Atomic integers the size and place of plain ones. */

static inline uint64_t load_relaxed64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint64_t load_acquire64(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline uint32_t load_relaxed32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint32_t load_acquire32(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void store_relaxed64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static inline void store_release64(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline void add_relaxed64(uint64_t *p, uint64_t v) { __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
static inline bool cas64(uint64_t *p, uint64_t *seen, uint64_t want) {
    return __atomic_compare_exchange_n(p, seen, want, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ---- the reader ------------------------------------------------------------------------------- */

/* The descriptors of a WELCOME, in the order they come. */
enum { FD_HEADER, FD_GROUP, FD_DATA, FD_ENGINE, FD_SPACE, FD_EVENT, N_FDS };

/* One mapping. base is NULL while there is none. */
typedef struct mapping {
    uint8_t *base;
    size_t bytes;
} mapping;

/* A tensor of the schema, copied and validated at attach. */
typedef struct schema_tensor {
    spdl_l_tensor t;
    uint32_t place; /* its index in the descriptors: unknown kinds are skipped in the schema only */
    uint32_t item_bytes;
} schema_tensor;

/* This process's record of a lease, one per slot. Only the thread whose exchange takes `token` to zero
 * may give the slot back, so a second release is told apart without touching shared memory. */
typedef struct lease {
    _Atomic uint64_t token;  /* the slot's word as HELD by us; 0: not leased */
    _Atomic uint64_t thread; /* who acquired it: for SPDL_E_LEASES and SPDL_E_UNDONE */
    _Atomic uint64_t claimed_ns;
    _Atomic bool waiting; /* that thread waits in acquire: it will not release this one now */
    /* Where the batch's device tensors were when it was claimed; the engine may copy them to another place meanwhile. Written before
     * `token`. */
    uint32_t pool, fence_kind;
    uint64_t device_slot, generation;
    struct import *import; /* of the pool, while this lease uses it; under gpu_lock */
} lease;

/* An engine that spdl_open started: it ends with the last of the readers that share this. */
typedef struct own_engine own_engine;

struct spdl_reader {
    /* Constant from attach to the last release. Everything an index is checked against is a private
     * copy, never the mapping: members may write the group segment. */
    const uint32_t *alive; /* one page that a fork wipes: zero in a child */
    mapping header, group, data;
    spdl_l_header h;
    spdl_l_ghead g;
    const spdl_l_state *state;
    const spdl_l_group *group_record;
    const spdl_l_queue *queue;
    spdl_l_lane *lane;
    uint64_t *ready, *redo;
    uint8_t *words;
    spdl_l_member *member;
    uint32_t owner, lane_number, max_leases, group_id;
    uint32_t flags;  /* SPDL_ATTACH_* */
    int64_t source;  /* of spdl_source_id; 0: the engine is not in this process */
    own_engine *own; /* NULL: somebody else did */
    bool mode_lanes, spin;
    bool stage; /* of a group that transforms batches: may write what it holds, is done by letting go */
    schema_tensor *tensors;
    uint32_t n_tensors;
    char *text; /* the ring's JSON, NUL-terminated */
    char ring_name[SPDL_L_NAME + 1], group_name[SPDL_L_NAME + 1];
    lease *leases;  /* [n_slots] */
    int control;    /* the socket; -1 until connected */
    int fds[N_FDS]; /* -1: closed */

    uint64_t reconnect_ns; /* how long to look for a restarted engine; 0: not at all */
    char address[256];     /* where to look: as given to spdl_attach */

    _Atomic uint64_t polled_since; /* a poll found nothing; the event descriptor is waited for */

    /* The socket's requests, the making of `epoll`, and the search for a restarted engine, one at a time. */
    pthread_mutex_t control_lock;
    uint32_t next_id;
    uint64_t lost_since, last_try; /* of the search; 0: the engine lives as far as we know */
    uint64_t last_asked;           /* when the last try began */
    bool given_up;                 /* there is an engine, and its ring is another */
    int timer;                     /* in `epoll` in the dead engine's place; -1 */
    _Atomic uint32_t joins;        /* engines found */
    _Atomic int epoll;             /* -1 until spdl_event_fd is asked for it */

    /* Tokens of the batches that a stage was done with and has not released: only their memory is kept. The slot
     * may come back to this very reader meanwhile, so its lease record cannot say it. */
    pthread_mutex_t passed_lock;
    uint64_t *passed;
    size_t passed_n, passed_room;

    /* Pinned memory, fences and imports (cuda.c, fence.c, pool.c). Never held while a slot is given back. */
    pthread_mutex_t gpu_lock;
    _Atomic(struct gpu *) gpu; /* NULL until one of them is asked for; then constant */
    _Atomic bool staged;       /* tensors are copied to pinned memory: asked by every batch_tensor */
    _Atomic uint32_t pending;  /* fences that hold a slot: asked by every acquire */
    _Atomic int fence_timer;   /* in `epoll`: when to look again; -1 until it is needed; set under gpu_lock */

    /* Changed by any thread. */
    _Alignas(64) _Atomic int64_t refs; /* 1 for the handle while attached, 1 per lease */
    _Atomic int64_t passed_refs;       /* those of refs that are no leases any more */
    _Atomic uint64_t epoch;
    forecast forecast;
    _Atomic bool detached;
};

/* A thread that is cancelled ends at its next system call of a certain kind. It is to find none here, so that no lock, descriptor or lease
 * is left behind; only where acquire waits it may end, with nothing in its hands (wait.c). */
static inline int sp_shield(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}
static inline void sp_unshield(int before) { pthread_setcancelstate(before, NULL); }

static inline bool is_forked(const spdl_reader *r) { return *(const volatile uint32_t *)r->alive == 0; }
static inline uint64_t this_thread(void) { return (uint64_t)(uintptr_t)pthread_self(); }
static inline spdl_l_word *slot_word(const spdl_reader *r, uint32_t slot) {
    return (spdl_l_word *)(void *)(r->words + (uint64_t)slot * r->g.word_stride);
}
static inline const spdl_l_desc *slot_desc(const spdl_reader *r, uint32_t slot) {
    return (const spdl_l_desc *)(const void *)(r->header.base + r->h.desc_off +
                                               (uint64_t)slot * r->h.desc_stride);
}

/* Of the engine that has the ring now; information for people. */
static inline uint32_t sp_engine_pid(const spdl_reader *r) {
    return load_relaxed32(&((const spdl_l_header *)(const void *)r->header.base)->engine_pid);
}

uint64_t sp_now_ns(void);

/* A caller's timeout: what is below zero and not SPDL_FOREVER is a time that is over, as `deadline - now` makes it: 0. */
int64_t sp_timeout(int64_t timeout_ns);

/* Nanoseconds-since-boot at which timeout_ns from now is over; UINT64_MAX for SPDL_FOREVER. */
uint64_t sp_deadline(int64_t timeout_ns);

/* ---- error.c */
spdl_status sp_fail(spdl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
spdl_status sp_fail_errno(const char *what); /* SPDL_E_SYSTEM, with errno's text */
/* A struct of the caller's that does not say its size: `call` was given `what`, which `init` makes. */
spdl_status sp_small(const char *call, const char *what, uint32_t got, size_t want, const char *init);

/* ---- interrupt.c */
/* SPDL_E_INTERRUPTED where the thread's flag is set, else SPDL_OK. */
spdl_status sp_interrupted(void);
/* Wait until a descriptor can be read; of -1, for the time alone. SPDL_OK; SPDL_TIMEOUT, without a text; SPDL_E_INTERRUPTED; SPDL_E_SYSTEM. */
spdl_status sp_await(int fd, uint64_t deadline);

/* ---- control.c */
typedef struct message {
    spdl_l_msg head;
    int fds[N_FDS];
    uint32_t n_fds;
    uint32_t bytes;
    uint8_t *payload; /* [SPDL_L_MSG_MAX + 1], lent by the caller; NUL-terminated */
} message;

/* How error texts name who is at the other end of a control socket: `ring "x": engine (pid 7)`. */
#define PEER_BYTES 288

/* Find the engine's socket and connect; *out is the descriptor. ring is set to the part of name after
 * the slash, or to "", and peer to the attach and its socket's path. */
spdl_status sp_connect(const char *name, uint64_t deadline, char ring[SPDL_L_NAME], char peer[PEER_BYTES],
                       int *out);
/* Adds to the last error, that no engine answers by this name, which ones do. Returns SPDL_E_NOT_FOUND. */
spdl_status sp_name_running(const char *name);
/* The name of the reader's ring within its engine. */
const char *sp_ring_of(const spdl_reader *r);
/* Both: SPDL_E_ENGINE_LOST if the peer hung up; SPDL_TIMEOUT, without a text, if it does not read or answer. */
spdl_status sp_send(int fd, const char *peer, uint16_t type, uint32_t id, const void *payload, uint32_t bytes,
                    int pass_fd);
/* An empty message, with room for its payload, which is to be freed, also on failure. SPDL_E_NOMEM. */
spdl_status sp_message_room(message *m);
/* Receive one message; descriptors in it are the caller's. */
spdl_status sp_receive(int fd, const char *peer, uint64_t deadline, message *m);
/* Send a message whose loss is no failure: no error text. */
void sp_post(int fd, uint16_t type);
void sp_close_fds(int *fds, uint32_t n);
/* A new descriptor, moved above 2 where it is 0, 1 or 2: a program that has closed those must not write what it prints into a socket or
 * a segment. -1, with errno, for -1 and where there is no room. Every descriptor that this library keeps came through here. */
int sp_above_2(int fd);
/* Ask and wait for the answer, 10 s at most; on SPDL_OK m holds it. One that comes later is passed over by the next request.
 * SPDL_E_BUSY: there was none. */
spdl_status sp_request(spdl_reader *r, uint16_t type, const void *payload, uint32_t bytes, message *m);
/* Have the engine serve one more connection: end is one of a socket pair, and stays the caller's. */
spdl_status sp_request_connect(spdl_reader *r, int end);

/* ---- segment.c: with r->fds and the welcome in place, validate and map. */
spdl_status sp_map(spdl_reader *r, const spdl_l_welcome *w);
void sp_unmap(spdl_reader *r);
/* The bytes that shape and strides reach, from the first item's start to the last one's end. False if a
 * dimension or stride is negative, or if the sum is beyond any machine. */
bool sp_extent(const int64_t *shape, const int64_t *strides, uint32_t ndim, uint32_t item, uint64_t *bytes);

/* ---- spawn.c */
/* A pidfd of this process and the two ends of a socket for the engine. */
spdl_status sp_make_ends(int *self, int pair[2]);
spdl_status sp_make_pair(int pair[2]); /* the socket alone */
/* What `spdl serve` is to be told, with words before and after the description (NULL-terminated; NULL: none). To be freed; NULL without
 * memory. */
const char **sp_serve_words(const char *const *before, const char *spec, const char *const *after,
                            const spdl_open_opts *o, uint32_t *n_out);
/* Why an engine that was started said neither yes nor no, in words that follow its name. */
const char *sp_not_ready(spdl_status s);
/* Note that this process has started the reader's engine: a child, whose pidfd this takes, or one in process. Where there is no memory for
 * it, *out is detached. */
spdl_status sp_note_own(int pidfd, int64_t source, spdl_reader **out);
own_engine *sp_own_ref(own_engine *e);
/* Of any reader's. With await, the last waits until the engine has let go of everything, its names above all. */
void sp_own_unref(own_engine *e, bool await);

/* ---- reader.c */
/* Say hello over a connected socket, which is the reader's from here on, also on failure. SPDL_TIMEOUT, without a text, if nobody answers. */
spdl_status sp_join(int control, const char *peer, const char *ring, const spdl_attach_opts *opts,
                    uint64_t deadline, spdl_reader **out);
/* Send hello with our own pidfd, for engines on kernels without SO_PEERPIDFD. */
spdl_status sp_send_hello(int control, const char *peer, spdl_l_hello *hello);
spdl_status sp_check_attach_opts(const char *call, const char *what, const spdl_attach_opts *opts);
void sp_reader_unref(spdl_reader *r);
/* SPDL_OK, or why this reader may not be used. */
spdl_status sp_usable(const spdl_reader *r);

/* ---- engine.c */
struct spdl_engine_table;
/* The engine in this process, loaded if it is not yet. */
spdl_status sp_engine(const struct spdl_engine_table **out);

/* What the engine in this process knows by a number: a video in chunks, a demuxer, a muxer. */
typedef struct engine_object {
    const struct spdl_engine_table *engine;
    int64_t number;
} engine_object;

struct spdl_engine_error;
/* A status of the engine's, whose text becomes this thread's. */
spdl_status sp_told(spdl_status s, const struct spdl_engine_error *e);
/* Room for an object, and its engine. */
spdl_status sp_object_new(const char *call, engine_object **out);
/* What the call that fills in the number has said; the object is freed where it failed. */
spdl_status sp_object_opened(engine_object *o, spdl_status s, const struct spdl_engine_error *e);
/* "spdl: CALL: WHAT is NULL". */
spdl_status sp_null(const char *call, const char *what);
/* `call` was given n elements of size bytes each, and says so in its argument `what`: refused where no memory holds as many, as with -1. */
spdl_status sp_check_count(const char *call, const char *what, size_t n, size_t size);
/* What spdl_load's kind of call is given. */
spdl_status sp_check_load(const char *call, const char *description, const void *bytes, size_t n_bytes,
                          const char *path, const void *out);
spdl_status sp_open_in_process(const char *spec, const spdl_open_opts *o, uint64_t deadline,
                               spdl_reader **out);
/* Wait until an engine in this process that nobody reads from has ended. */
void sp_await_end(int64_t source, uint64_t deadline);

/* ---- source.c: the host brings no more samples. Of any reader. */
void sp_source_end(const spdl_reader *r);

/* ---- ring.c */
typedef enum claim_result { CLAIM_OK, CLAIM_NOTHING, CLAIM_FULL } claim_result;
/* The next batch that is ready, of the epoch or of one before it. */
claim_result sp_claim(spdl_reader *r, uint64_t epoch, spdl_batch *out);
typedef enum end_result { END_NOT_YET, END_NOW, END_WAITS_FOR_THIS_THREAD } end_result;
end_result sp_end_of_epoch(const spdl_reader *r, uint64_t epoch);
/* True if every lease the reader may hold is held by this thread or by threads that wait in acquire. */
bool sp_leases_stuck(const spdl_reader *r);
/* Say of this thread's leases whether it waits in acquire. */
void sp_mark_waiting(spdl_reader *r, bool waiting);
/* True if this thread holds a batch that is not done. */
bool sp_holds_undone(const spdl_reader *r);
uint32_t sp_count_leases(const spdl_reader *r, uint32_t *undone);

spdl_status sp_check_batch(const spdl_reader *r, const spdl_batch *b, const char *call);
spdl_status sp_stale(const spdl_batch *b);

/* ---- stage.c: what a stage has handed on and not released. */
bool sp_remember_passed(spdl_reader *r, uint64_t token); /* false: no memory */
bool sp_knows_passed(spdl_reader *r, uint64_t token);
bool sp_forget_passed(spdl_reader *r, uint64_t token); /* false: it is not known */

/* Store FREE and drop the lease's reference. False if the word was not ours any more. */
bool sp_give_back(spdl_reader *r, uint32_t slot, uint64_t token);

/* ---- cuda.c */
/* Where tensor data at `at` in the batch's slot is to be read: there, or in the staged copy of it that this makes. */
spdl_status sp_stage(spdl_reader *r, const spdl_batch *b, const schema_tensor *t, uint64_t bytes,
                     spdl_tensor *out);
/* The memory is about to be unmapped, and no lease is left. */
void sp_gpu_free(spdl_reader *r);
/* The lease of token has ended: what was kept for it may be used again. */
void sp_gpu_forget(spdl_reader *r, uint32_t slot, uint64_t token);

/* ---- fence.c: give back what the GPU is through with; wait until that is everything; have the event descriptor
 * become readable when it is worth looking again. */
void sp_fences_settle(spdl_reader *r);
void sp_fences_drain(spdl_reader *r);
spdl_status sp_fences_arm(spdl_reader *r);
static inline bool sp_fences_wait(const spdl_reader *r) {
    return atomic_load_explicit(&r->pending, memory_order_relaxed) != 0;
}

/* ---- pool.c */
/* Note in the lease where the descriptor has the device tensors. */
void sp_note_device(spdl_reader *r, uint32_t slot);
/* Describe a tensor in device memory. */
spdl_status sp_device_tensor(spdl_reader *r, const spdl_batch *b, const schema_tensor *t, spdl_tensor *out);

/* ---- wait.c */
bool sp_engine_alive(const spdl_reader *r);
/* What an engine of this state has said before its end, or SPDL_OK. */
spdl_status sp_engine_over(const spdl_reader *r, uint32_t state);
/* Wake what may wait for this completion or for the slot: A pairs with W1 in wait.c. */
void sp_wake_after_done(spdl_reader *r);
void sp_wake_after_release(spdl_reader *r);

/* ---- reconnect.c: for a reader whose engine is dead. */
/* Look for the engine that goes on with the ring, at most once in 20 ms. SPDL_OK: it is there and we are its member again;
 * SPDL_TIMEOUT: not yet; SPDL_E_ENGINE_LOST: there will be none. */
spdl_status sp_reconnect(spdl_reader *r);
/* The same until there is news. */
spdl_status sp_await_engine(spdl_reader *r);

#include "fault.h"

#endif
