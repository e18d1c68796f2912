/* spdl.h - consume batches that an spdl engine decodes into shared memory, and run pipelines of your own.
 *
 *     1  status                        what calls return, and what went wrong
 *     2  open, attach, detach          an engine of one's own, or one that is served
 *     3  batches                       acquire, done, release
 *     4  what a batch holds            tensors
 *     5  information                   ring, reader, engine, a descriptor for poll
 *     6  order and state               checkpoints
 *     7  GPUs                          pinned slots, copies, device memory
 *     8  samples of your own           the program brings them, the engine decodes
 *     9  one sample at once            without a ring
 *    10  packets                       encoded media as it is
 *    11  writing media
 *    12  pipelines of your own stages  without media
 *
 * 1 to 4 are a whole consumer; the rest is there when it is wanted.
 *
 * The engine (as a rule a separate process) reads samples, decodes them and writes batches into the slots
 * of a ring in shared memory. This library maps the ring and hands out ready batches without copying and
 * without locks. It contains no Go, starts no thread, installs no signal handler and never prints. Only
 * what asks for the engine in this process loads libspdl_engine, which does the first three.
 *
 * A whole consumer:
 *
 *     spdl_reader *reader;
 *     if (spdl_open("imagenet.yaml", NULL, &reader) != SPDL_OK) die(spdl_last_error());
 *     spdl_batch batch = SPDL_BATCH_INIT;
 *     spdl_status s;
 *     while ((s = spdl_acquire(reader, SPDL_FOREVER, &batch)) == SPDL_OK) {
 *         spdl_tensor image = SPDL_TENSOR_INIT;
 *         spdl_batch_tensor(reader, &batch, spdl_tensor_index(reader, "image"), &image);
 *         train(image.data, image.shape);
 *         spdl_release(reader, &batch);
 *     }                                  // s is SPDL_END_EPOCH, or an error below zero
 *     spdl_detach(reader);
 *
 * cc consumer.c $(pkg-config --cflags --libs spdl). examples/c of the sources has programs to start from.
 *
 * Words. A *batch* is N samples; its *ticket* is its place in the delivery order. A *slot* is the memory
 * that holds it. *Acquire* leases the next batch; *done* says that it was used (it will never be
 * delivered again) while its memory stays leased; *release* gives the slot back and implies done. A
 * *group* sees every batch once: its consumers share them, or, with *lanes*, each receives its own slice
 * of every step. If a consumer dies, what it held and had not done is delivered to its group again with
 * `attempts` above 1.
 *
 * A *stage* is a group that has every batch alone before any consumer sees it, and writes it in place. Its members are
 * readers like others, with three differences: spdl_tensor.data may be written, done gives the slot away (to the next
 * stage, or to the consumers), and spdl_fail says that a batch cannot be transformed. If a member dies, or detaches, with a
 * batch, the engine decodes the batch again.
 *
 * Threads. Threads may share a reader: each acquire yields a different batch, and one of them is told of the end of
 * an epoch; loops that all are to end there call spdl_next_in_epoch. One batch is for one thread at a time.
 * spdl_detach must not race with other calls on the same reader.
 *
 * Cancellation. A thread that pthread_cancel ends (deferred, as threads are born) ends in spdl_acquire and spdl_next where they wait: what it waits
 * for it does not hold. In the other calls that a reader needs, it goes on until they have returned. A batch that it has in hand stays leased:
 * another thread may release it, or it comes again when the process ends. Asynchronously, and inside the calls of the sections on GPUs,
 * media and pipelines, no thread is to be cancelled.
 *
 * Fork. A reader does not work in a forked child: acquire and the queries return SPDL_E_FORKED, release,
 * done and detach do nothing. The batches' memory stays readable there. Attach again in the child.
 *
 * Structs. A struct that the caller makes begins with its size and is born through its _INIT macro, so
 * that old callers meet new libraries safely. Structs grow at the end only.
 *
 * Errors. spdl_last_error() has the text of a thread's last failed call. Beside the statuses that a call names there
 * may be SPDL_E_ARGUMENT for a NULL or a struct without its size, SPDL_E_NOMEM, SPDL_E_SYSTEM, SPDL_E_FORKED, and SPDL_E_DETACHED.
 *
 * Environment.  SPDL_RUNTIME_DIR     where engines' sockets are (spdl_attach)
 *               SPDL_ENGINE          the spdl command that spdl_open starts
 *               SPDL_ENGINE_LIBRARY  libspdl_engine, for what runs in this process
 *               SPDL_CUDA_LIBRARY    the CUDA driver's library
 *               SPDL_DEVICE, SPDL_NVJPEG_LIBRARY, SPDL_CACHE_DIR   the uploader's program, nvJPEG's library, where indexes
 *                                    and caches are: read by the engine, in this process or its own
 *               SPDL_LOG, SPDL_LOG_FORMAT   level and form of the engine's log: off, error, warn, info, debug; text, json
 *
 * Linux 5.14 or newer, x86-64 and aarch64, little-endian.
 */
#ifndef SPDL_H
#define SPDL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPDL_VERSION_MAJOR 0
#define SPDL_VERSION_MINOR 1
#define SPDL_VERSION_PATCH 0

#if defined(__GNUC__)
#define SPDL_API __attribute__((visibility("default")))
#else
#define SPDL_API
#endif

/* ---- 1  status ----------------------------------------------------------------------------------- */

/* Zero: done. Above zero: news, not an error. Below zero: failure, with text in spdl_last_error(). Values
 * are never renumbered. */
typedef enum spdl_status {
    SPDL_OK = 0,
    SPDL_TIMEOUT = 1,   /* nothing was ready within the time given */
    SPDL_END_EPOCH = 2, /* every batch of this reader's epoch is completed; said once per epoch */
    SPDL_END_DATA = 3,  /* the last epoch asked for is over */

    SPDL_E_ARGUMENT = -1,    /* an argument is NULL, out of range, or a struct without its size */
    SPDL_E_NOMEM = -2,
    SPDL_E_SYSTEM = -3,      /* a system call failed; the text names it and its errno */
    SPDL_E_UNSUPPORTED = -4, /* not in this build or on this kernel; the text says what to do */
    SPDL_E_FORKED = -5,      /* this handle was inherited through fork; attach again here */
    SPDL_E_INTERRUPTED = -6, /* the wait was ended early, by the flag of spdl_interrupt_on */

    SPDL_E_NOT_FOUND = -20,  /* no engine under this name, or no such ring, group, lane or tensor */
    SPDL_E_DENIED = -21,     /* the engine does not admit this user */
    SPDL_E_BUSY = -22,       /* no consumer, lane or slot left to reserve, or no answer in time; the text has the numbers */
    SPDL_E_VERSION = -23,    /* layout or protocol of another major version */
    SPDL_E_FORMAT = -24,     /* the segment is truncated, half-built, hostile, or not ours */

    SPDL_E_ENGINE_LOST = -40,    /* the engine died; leased batches stay readable */
    SPDL_E_ENGINE_FAILED = -41,  /* the engine gave up; the text is its reason */
    SPDL_E_ENGINE_STOPPED = -42, /* the engine was stopped in good order */
    SPDL_E_ENGINE_START = -43,   /* the engine could not be started; the text is its reason */
    SPDL_E_GROUP_CLOSED = -44,   /* this consumer's group was ended: too slow, evicted, or damaged by a member */

    SPDL_E_STALE = -60,    /* this lease has ended already: released twice, or taken back by the engine */
    SPDL_E_LEASES = -61,   /* every batch the reader may hold is held by threads that wait for another; release one. A thread that
                            * has ended waits for nothing: for what it left leased, acquire waits until another thread releases it */
    SPDL_E_UNDONE = -62,   /* the epoch cannot end while this thread holds batches of it undone; call spdl_done */
    SPDL_E_DETACHED = -63, /* the reader was detached */

    SPDL_E_STATE = -80, /* the saved state belongs to another data set, order or version */
    SPDL_E_SPEC = -81,  /* the description is wrong; the text names file, line and key */

    SPDL_E_PIPELINE = -100, /* the pipeline failed; the text names stage and cause */
    SPDL_E_STAGE = -101,    /* a work or want that is not out, given twice, or given in a way its stage cannot take */

    SPDL_E_SAMPLE = -120, /* the sample cannot be read, decoded or encoded; the text says why */

    SPDL_E_DEVICE = -140,   /* a call of the GPU's driver failed; the text names it and what the driver says */
    SPDL_E_POOL_LOST = -141 /* the batch's device memory is gone with its uploader or engine, or there never was any; its host tensors are good */
} spdl_status;

/* The status's name, such as "SPDL_E_STALE"; "SPDL_UNKNOWN" for a value this library does not know.
 * Static memory. */
SPDL_API const char *spdl_status_name(int status);

/* What went wrong in this thread's last failed call: where, which object, what was wrong, got and want,
 * and the remedy. Never NULL; valid until this thread's next call into the library. */
SPDL_API const char *spdl_last_error(void);

/* This library's version, "0.1.0", and the shared-memory layout it speaks, major * 1000 + minor. */
SPDL_API const char *spdl_version(void);
SPDL_API uint32_t spdl_layout_version(void);

/* ---- 2  open, attach, detach --------------------------------------------------------------------- */

/* As a timeout_ns: wait without limit. Any other below zero is a time that is over already, such as `deadline - now` comes to: as 0, which
 * polls; for a call that starts or attaches to an engine, no time at all. */
#define SPDL_FOREVER (-INT64_C(1))
#define SPDL_ANY_LANE (-1)
#define SPDL_ANY_EPOCH UINT64_MAX

/* Leases may be completed by other threads than the one that acquired them: acquire waits instead of
 * answering SPDL_E_LEASES or SPDL_E_UNDONE. For a thread that acquires and hands batches on. */
#define SPDL_ATTACH_HANDOFF 1u

typedef struct spdl_reader spdl_reader;

typedef struct spdl_attach_opts {
    uint32_t struct_size;
    uint32_t flags;      /* SPDL_ATTACH_* */
    const char *group;   /* NULL or "": the only declared group of consumers; without one, a group of this reader's own */
    int32_t lane;        /* SPDL_ANY_LANE, or the lane to take in a lanes group */
    uint32_t max_leases; /* batches this reader may hold at once, reserved at attach; 0: 4, or as many as the ring has left */
    int64_t timeout_ns;  /* for the engine to appear and answer; SPDL_FOREVER; 0: 10 s, for spdl_open as long as it takes to start */
    const char *client;  /* shown in `spdl inspect`; NULL: "c" */
} spdl_attach_opts;
#define SPDL_ATTACH_OPTS_INIT {sizeof(spdl_attach_opts), 0, NULL, SPDL_ANY_LANE, 0, 0, NULL}

/* Attach to a running engine's ring, NAME or NAME/RING.
 *
 * Sockets are looked for in $SPDL_RUNTIME_DIR, else /run/spdl, $XDG_RUNTIME_DIR/spdl, /tmp/spdl-UID; a NAME
 * that begins with '/' is the socket's path. Blocks up to opts->timeout_ns.
 *
 * opts  NULL: SPDL_ATTACH_OPTS_INIT.
 * out   owned by the caller, ended by spdl_detach; NULL after a failure.
 * Returns SPDL_OK; SPDL_E_NOT_FOUND; SPDL_E_DENIED; SPDL_E_BUSY, also where an engine is there and does not answer;
 * SPDL_E_VERSION; SPDL_E_FORMAT; SPDL_E_ENGINE_LOST; SPDL_E_ENGINE_STOPPED of one that is ending in good order. */
SPDL_API spdl_status spdl_attach(const char *name, const spdl_attach_opts *opts, spdl_reader **out);

typedef struct spdl_open_opts {
    uint32_t struct_size;
    uint32_t form;              /* SPDL_FORM_* */
    spdl_attach_opts attach;
    const char *engine;         /* child: path of the spdl command; NULL: $SPDL_ENGINE, beside libspdl, then PATH */
    const char *const *args;    /* further arguments of `spdl serve`, NULL-terminated; NULL: none */
    const char *state;          /* JSON of spdl_state_save to resume from, of several rings the first; NULL, and nothing else: from the start */
} spdl_open_opts;
enum { SPDL_FORM_CHILD = 0, SPDL_FORM_IN_PROCESS = 1 };
#define SPDL_OPEN_OPTS_INIT {sizeof(spdl_open_opts), SPDL_FORM_CHILD, SPDL_ATTACH_OPTS_INIT, NULL, NULL, NULL}

/* Start an engine for this reader and attach to it, of several rings to the first (see spdl_attach_ring).
 *
 * spec  path of a description (YAML or JSON), or of a folder of pictures; or the description itself when
 *       it begins with '{', white space aside, of any length.
 *
 * As a child, the engine is a process that the host's SIGCHLD and waitpid(-1) never see. In process, it is
 * libspdl_engine ($SPDL_ENGINE_LIBRARY, beside libspdl, then the system's), with the Go runtime in it: threads,
 * chained signal handlers, and no use in a forked child, where this call returns SPDL_E_FORKED. Once loaded it
 * stays, and where the program has closed descriptor 0, 1 or 2 /dev/null is there from then on. Go raises the soft
 * limit of open descriptors (RLIMIT_NOFILE) to the hard one, for what this process starts later, too; a program may set
 * it again, to what has room for the engine's files. Everything else is the same in both forms. The engine ends with
 * its last reader and with this process. Its log goes to this process's stderr (SPDL_LOG sets the level). Blocks until
 * it is ready or has said why not.
 *
 * Returns as spdl_attach; SPDL_E_SPEC; SPDL_E_STATE; SPDL_E_ENGINE_START; in process SPDL_E_UNSUPPORTED without the library,
 * SPDL_E_VERSION with that of another release. */
SPDL_API spdl_status spdl_open(const char *spec, const spdl_open_opts *opts, spdl_reader **out);

/* Attach to another ring of a reader's engine, or to the same one in another group: where several rings share an
 * engine (`rings:` in the description), spdl_open attaches to the first of them, and this call to the others; no
 * socket in a file system is needed. An engine that spdl_open started ends with the last of its readers then,
 * whichever that is.
 *
 * of    any reader that is attached; it is not changed, and may be detached before the new one.
 * ring  its name within the engine; "": the first; NULL: that of `of`.
 * out   owned by the caller, ended by spdl_detach. Asks the engine (section 6), then blocks up to opts->timeout_ns.
 *
 * Returns as spdl_attach; SPDL_E_DETACHED; SPDL_E_UNSUPPORTED with an engine of an older release. */
SPDL_API spdl_status spdl_attach_ring(spdl_reader *of, const char *ring, const spdl_attach_opts *opts,
                                      spdl_reader **out);

/* End the membership. Batches still leased stay readable, each until its spdl_release, the last of which
 * unmaps the memory; batches not done are delivered to the group again. The reader may then be used for
 * nothing but releasing those. With no leases left the reader is freed at once. The last reader of an engine
 * that spdl_open started stops it. NULL is fine. Does not block, but for the copies that spdl_release_after waits for, and for the end of
 * an engine that it stops, 5 s at most: its names are free then for the next one. With leases left the engine ends with the last of them.
 * Returns SPDL_OK; SPDL_E_DETACHED the second time, with leases left. */
SPDL_API spdl_status spdl_detach(spdl_reader *reader);

/* End the engines in this process (SPDL_FORM_IN_PROCESS), whoever still reads from them, and wait for that, 5 s at most: their
 * names are removed, leased batches stay readable, and readers get SPDL_E_ENGINE_STOPPED. exit() does it by itself; call it before a process
 * ends in another way, by _exit() or a signal. One that is opened after it, as by an exit handler, stays as after a kill. Does nothing in a
 * forked child, and where there is none. Any thread. */
SPDL_API void spdl_shutdown(void);

/* Have this thread's waits for an engine and for batches end early: while *flag is not 0, spdl_open, spdl_attach, spdl_attach_ring, spdl_acquire
 * and its kin, and what asks the engine (section 6) return SPDL_E_INTERRUPTED where they would wait, within 100 ms. Nothing is left of it: a child that
 * was being started is killed, no lease and no membership is kept. spdl_detach does not wait for the engine's end then. What was asked of an
 * engine it may still do. A wait for a GPU (section 7) goes on; the calls of sections 8 and 12 have timeouts of their own.
 *
 * flag  a sig_atomic_t that a signal handler sets, say, or another thread (atomically); must live until another takes its place. NULL, as at first: none. */
SPDL_API void spdl_interrupt_on(const volatile int *flag);

/* ---- 3  batches ---------------------------------------------------------------------------------- */

#define SPDL_BATCH_LAST 1u    /* the last of its epoch in its lane */
#define SPDL_BATCH_SHORT 2u   /* fewer rows than the capacity */
#define SPDL_BATCH_BAD 4u     /* a sample was skipped, masked or substituted (see the status column), or lacks documents */
#define SPDL_BATCH_PADDED 8u  /* rows at the end repeat samples to fill the batch */
#define SPDL_BATCH_KEY_CUT 16u /* a key was cut at 128 bytes */

typedef struct spdl_batch {
    uint32_t struct_size;
    uint32_t rows;         /* samples in this batch; 0 if every one was bad and skipped */
    uint64_t ticket;       /* place in the delivery order, never reused */
    uint64_t epoch;        /* from 0 */
    uint64_t step;         /* global step since the start of training, from 0 */
    uint32_t lane;
    uint32_t attempts;     /* 1: first delivery; more: its earlier holders died */
    uint32_t flags;        /* SPDL_BATCH_* */
    uint32_t n_bad;        /* samples skipped, masked or substituted, or without some of their documents */
    uint64_t hash;         /* 0: not computed */
    uint64_t fetched_ns;   /* CLOCK_MONOTONIC: last byte read */
    uint64_t decoded_ns;   /* last row written */
    uint64_t published_ns; /* made visible */
    const void *data;      /* start of the slot */
    uint64_t data_bytes;   /* size of the slot */
    uint64_t token;        /* the lease; the library's */
    uint32_t slot;
    uint32_t reserved;
} spdl_batch;
#define SPDL_BATCH_INIT {sizeof(spdl_batch), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0}

/* Wait for the next batch and lease it. Where batches come regularly the wait is awake when the next is due, for an
 * eighth of its time and 0.1 ms at most, and only on a core that nobody else wants; else it sleeps.
 *
 * timeout_ns  0 polls; SPDL_FOREVER waits without limit.
 * out         made with SPDL_BATCH_INIT; written on SPDL_OK only. Its memory is valid until spdl_release:
 *             writable on a ring of `private` access and in a stage, else read-only.
 *
 * Returns SPDL_OK; SPDL_TIMEOUT; SPDL_END_EPOCH once per epoch, then the next epoch's batches;
 * SPDL_END_DATA; SPDL_E_LEASES or SPDL_E_UNDONE where waiting would be waiting for oneself, in a stage already where this
 * thread would wait with a batch undone, behind which all others wait;
 * SPDL_E_ENGINE_LOST within 100 ms of the engine's death, or, where the ring has a reconnect time, when no
 * engine has gone on with it in that time; SPDL_E_ENGINE_FAILED, SPDL_E_ENGINE_STOPPED,
 * each once nothing published is left to take (of a ring with a device nothing is, once the engine has
 * ended, nor of an engine with a journal, whose successor gives it);
 * SPDL_E_GROUP_CLOSED; SPDL_E_FORKED; SPDL_E_DETACHED. */
SPDL_API spdl_status spdl_acquire(spdl_reader *reader, int64_t timeout_ns, spdl_batch *out);

/* Say that a batch was used: it will not be delivered again. Its memory stays leased; in a stage it stays mapped, but
 * it is the next group's from here on, and must not be written. Does not block.
 * Calling it twice is fine. Returns SPDL_OK; SPDL_E_STALE if the lease has ended. */
SPDL_API spdl_status spdl_done(spdl_reader *reader, const spdl_batch *batch);

/* Give the slot back; the batch's memory must not be touched afterwards. Implies done. Does not block.
 * Returns SPDL_OK; SPDL_E_STALE if it was released before or taken back: nothing has changed then. */
SPDL_API spdl_status spdl_release(spdl_reader *reader, const spdl_batch *batch);

/* Release and acquire in one call, for loops that hold one batch and for callers to whom calls are dear.
 *
 * used  the batch in hand, or NULL: released first, whatever comes of acquiring, and its token cleared. That its
 *       lease had ended before is not reported. May be the same struct as out, and one that holds no batch.
 *
 * Otherwise as spdl_acquire. */
SPDL_API spdl_status spdl_next(spdl_reader *reader, int64_t timeout_ns, spdl_batch *used, spdl_batch *out);

/* The same, of one epoch: for threads that share a reader, and all of whose loops are to end with it.
 *
 * epoch  from 0; spdl_reader_info.epoch says which one the reader is in. SPDL_ANY_EPOCH: as spdl_next.
 *
 * Returns what spdl_next does, but for SPDL_END_EPOCH: every caller is told, each time, once the reader is not, or no longer, in
 * that epoch, be it by its end, spdl_restart or spdl_state_load. */
SPDL_API spdl_status spdl_next_in_epoch(spdl_reader *reader, uint64_t epoch, int64_t timeout_ns, spdl_batch *used, spdl_batch *out);

/* In a stage, say that a batch cannot be transformed, and why (at most 4,096 bytes go to the engine's log). The lease ends as
 * with spdl_release. The engine goes on by the description's bad_sample, as if every sample of the batch were bad, with cause
 * "stage": under skip the batch has no rows, under mask and substitute its rows are zero and masked, under fail the
 * engine ends with this text. Asks the engine (section 6).
 * Returns SPDL_OK; SPDL_E_ARGUMENT outside a stage; SPDL_E_STALE; SPDL_E_BUSY, and the lease goes on; SPDL_E_ENGINE_LOST. */
SPDL_API spdl_status spdl_fail(spdl_reader *reader, const spdl_batch *batch, const char *why);

/* ---- 4  what a batch holds ----------------------------------------------------------------------- */

#define SPDL_MAX_NDIM 8

enum { SPDL_INT = 0, SPDL_UINT = 1, SPDL_FLOAT = 2, SPDL_BFLOAT = 4 }; /* DLPack's type codes */
enum { SPDL_DENSE = 1, SPDL_RAGGED = 2 };
enum { SPDL_ROLE_FIELD = 1, SPDL_ROLE_INDEX = 2, SPDL_ROLE_KEY = 3, SPDL_ROLE_STATUS = 4, SPDL_ROLE_LABEL = 5 };
enum { SPDL_AXES_NONE = 0, SPDL_AXES_NHWC = 1, SPDL_AXES_NCHW = 2 };

/* Values of the status column, one per row. */
enum { SPDL_ROW_OK = 0, SPDL_ROW_MASKED = 1, SPDL_ROW_SUBSTITUTED = 2, SPDL_ROW_PADDED = 3 };

/* One named tensor: of a batch (spdl_batch_tensor), or of the schema with capacities for shapes and no
 * data (spdl_schema_tensor). Rows are dense; data is 64-byte aligned. */
typedef struct spdl_tensor {
    uint32_t struct_size;
    uint32_t kind;                   /* SPDL_DENSE or SPDL_RAGGED */
    const char *name;                /* valid until spdl_detach */
    void *data;                      /* ragged: the values of all rows, one after the other */
    uint64_t bytes;                  /* used */
    uint32_t role;                   /* SPDL_ROLE_* */
    uint8_t dtype_code;              /* DLPack's DLDataType */
    uint8_t dtype_bits;
    uint16_t dtype_lanes;
    uint32_t ndim;                   /* the batch dimension included */
    uint32_t axes;                   /* SPDL_AXES_* */
    int64_t shape[SPDL_MAX_NDIM];    /* ragged: [values] */
    int64_t strides[SPDL_MAX_NDIM];  /* bytes */
    const int64_t *offsets;          /* ragged: [rows + 1], row i is values [offsets[i], offsets[i+1]); else NULL */
    int32_t device_type;             /* DLPack's DLDeviceType: 1 CPU; 2 CUDA, then data is an address there */
    int32_t device_id;               /* as this process counts; in the schema of no meaning */
} spdl_tensor;
#define SPDL_TENSOR_INIT \
    {sizeof(spdl_tensor), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, NULL, 0, 0}

/* How many tensors a batch has (0 with an error, as after a fork), and the place of the one called name (SPDL_E_NOT_FOUND, below
 * zero, if there is none). Constant for the reader's life. Every ring has the columns "index" (int64 [N], place
 * in the data set), "key" (ragged bytes) and "status" (uint8 [N], SPDL_ROW_*). */
SPDL_API uint32_t spdl_n_tensors(const spdl_reader *reader);
SPDL_API int32_t spdl_tensor_index(const spdl_reader *reader, const char *name);

/* Describe tensor i of a leased batch: a view, valid until spdl_release. Does not block.
 * Returns SPDL_OK; SPDL_E_ARGUMENT; SPDL_E_STALE; SPDL_E_FORMAT if the descriptor points outside its slot; for a tensor in
 * device memory also as spdl_stream_wait. */
SPDL_API spdl_status spdl_batch_tensor(spdl_reader *reader, const spdl_batch *batch, uint32_t i, spdl_tensor *out);

/* Describe tensor i of the schema: shape and bytes are capacities, data is NULL. */
SPDL_API spdl_status spdl_schema_tensor(const spdl_reader *reader, uint32_t i, spdl_tensor *out);

/* A deleter for a DLManagedTensor or a DLManagedTensorVersioned made by a client that has no compiled code of its own: it
 * stores all ones over the struct's first 8 bytes, which nobody reads any more. The client finds such structs and frees
 * them. Any thread, at any time. NULL is fine. */
SPDL_API void spdl_dlpack_deleter(void *managed);

/* From now on the end of such a struct asks schedule(call, argument) once, and no more until the next call of this: for a client that
 * would not look soon by itself. Structs that ended before are not told of: look after this call. schedule is what the client's runtime has
 * to run something later, which any thread may ask, whatever it holds, such as CPython's Py_AddPendingCall; it returns 0 if it will. NULL: nobody is to be asked any
 * more, and nobody is being asked when this returns. Calls of it must not race. */
SPDL_API void spdl_dlpack_listen(int (*schedule)(int (*call)(void *), void *argument), int (*call)(void *), void *argument);

/* ---- 5  information ------------------------------------------------------------------------------ */

enum { SPDL_ACCESS_PRIVATE = 1, SPDL_ACCESS_SHARED = 2 };
enum { SPDL_STARTING = 0, SPDL_RUNNING = 1, SPDL_ENDED = 2, SPDL_FAILED = 3, SPDL_STOPPED = 4, SPDL_LOST = 5 };

typedef struct spdl_ring_info {
    uint32_t struct_size;
    uint32_t access;           /* SPDL_ACCESS_* */
    const char *name;          /* valid until spdl_detach */
    const char *text;          /* JSON: {"classes": [...], ...}; valid until spdl_detach */
    uint32_t n_slots;
    uint32_t batch_rows;       /* capacity of the batch dimension */
    uint32_t n_lanes;
    uint32_t world_size;
    uint64_t n_samples;
    uint64_t global_batch;     /* rows of a global step over all ranks, at most */
    uint64_t steps_per_epoch;  /* batches per lane and epoch */
    uint64_t n_epochs;         /* 0: endless */
    uint64_t seed;
    uint64_t data_bytes;       /* of the data segment */
    int32_t engine_pid;        /* as the engine sees itself; information only */
    uint32_t reserved;
} spdl_ring_info;
#define SPDL_RING_INFO_INIT {sizeof(spdl_ring_info), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
SPDL_API spdl_status spdl_get_ring_info(const spdl_reader *reader, spdl_ring_info *out);

typedef struct spdl_reader_info {
    uint32_t struct_size;
    uint32_t owner;       /* this consumer's incarnation number, never reused within its ring */
    const char *group;    /* valid until spdl_detach */
    uint32_t lane;        /* lane of the group, 0 in a shared one */
    uint32_t rank;        /* first rank + lane in a lanes group; first rank in a shared one */
    uint32_t max_leases;
    uint32_t leases;      /* held now, done ones included */
    uint64_t epoch;       /* the epoch this reader is in */
    uint64_t acquired;
    uint64_t completed;
    uint64_t wait_ns;     /* spent waiting in acquire, or for the event descriptor */
    uint32_t mode_lanes;  /* 1 in a lanes group */
    uint32_t flags;       /* SPDL_READER_* */
} spdl_reader_info;
#define SPDL_READER_WRITES 1u /* may write the batches it holds */
#define SPDL_READER_STAGE 2u  /* belongs to a stage */
#define SPDL_READER_INFO_INIT {sizeof(spdl_reader_info), 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
SPDL_API spdl_status spdl_get_reader_info(const spdl_reader *reader, spdl_reader_info *out);

/* What the engine is doing: SPDL_STARTING ... SPDL_LOST (also while another one is looked for), or an error below zero.
 * Does not block. */
SPDL_API int32_t spdl_engine_state(spdl_reader *reader);

/* A descriptor for poll, epoll or asyncio, readable when spdl_acquire(reader, 0, ...) is worth calling:
 * after each SPDL_TIMEOUT it is armed afresh. It also becomes readable when the engine dies. The
 * library's; do not read from it, do not close it. -1 with an error otherwise. Once asked for, it costs
 * each poll that finds nothing one system call. */
SPDL_API int spdl_event_fd(spdl_reader *reader);

/* ---- 6  order and state -----------------------------------------------------------------------------
 *
 * Calls that ask the engine block up to 10 s, or until a restarted engine is found. Beside what each says they return SPDL_E_BUSY where it
 * lives and has not answered, as while it is stopped or has no CPU: it may still do what was asked once it goes on, and its late answer is
 * passed over. Ask again before the next batch: the same request twice has the effect of one. Once the engine has ended they return as
 * spdl_acquire does. */

/* Count batches this reader holds as completed, as a training loop does with the batch in hand. */
#define SPDL_STATE_COUNT_HELD 1u

/* Write this group's position as a small JSON text: which batches are completed. With NULL or too small
 * a buffer nothing is written but *need, the bytes needed, its final NUL included; then SPDL_E_ARGUMENT.
 * Asks the engine. */
SPDL_API spdl_status spdl_state_save(spdl_reader *reader, uint32_t flags, char *buffer, size_t bytes, size_t *need);

/* Go on from a saved position. Only for the single consumer of a ring with no other group, and with no
 * batch held undone. Asks the engine. Returns SPDL_OK; SPDL_E_STATE with what differs; SPDL_E_BUSY. */
SPDL_API spdl_status spdl_state_load(spdl_reader *reader, const char *json);

/* Leave the rest of this epoch and begin the next. Only for a group with one consumer. After SPDL_END_EPOCH this epoch is the one
 * that comes next: a restart there skips the whole of it. Asks the engine. Returns SPDL_OK; SPDL_E_BUSY where the group has others;
 * SPDL_E_ARGUMENT in a stage, and once the last epoch is over. */
SPDL_API spdl_status spdl_restart(spdl_reader *reader);

/* The engine's counters as JSON; buffer rules as in spdl_state_save. Asks the engine. */
SPDL_API spdl_status spdl_stats(spdl_reader *reader, char *buffer, size_t bytes, size_t *need);

/* ---- 7  GPUs ----------------------------------------------------------------------------------------
 *
 * For consumers with an NVIDIA GPU. Nothing of CUDA is linked: the driver (libcuda.so.1, or $SPDL_CUDA_LIBRARY) is loaded by the first of
 * these calls, and stays. Streams and events are those of the driver, CUstream and CUevent, which are the runtime's cudaStream_t and
 * cudaEvent_t, and PyTorch's torch.cuda.Stream.cuda_stream.
 *
 *     spdl_pin(reader, NULL, NULL);                              // once: the slots are pinned memory from here on
 *     while ((s = spdl_acquire(reader, SPDL_FOREVER, &batch)) == SPDL_OK) {
 *         spdl_batch_tensor(reader, &batch, image_index, &image);
 *         cudaMemcpyAsync(on_gpu, image.data, image.bytes, cudaMemcpyHostToDevice, stream);
 *         spdl_release_after(reader, &batch, SPDL_AFTER_STREAM, stream);   // not before the copy has ended
 *     }
 *
 * Without a driver, a device or the means to pin, these calls say so, and batches come as before. */

#define SPDL_CURRENT_DEVICE (-1)

/* Where the ring's memory cannot be pinned, copy each tensor that is asked for into pinned memory of its own, and describe that. */
#define SPDL_PIN_STAGE 1u

typedef struct spdl_pin_opts {
    uint32_t struct_size;
    uint32_t flags;  /* SPDL_PIN_STAGE */
    int32_t device;  /* ordinal, or SPDL_CURRENT_DEVICE: that of this thread's current context, without one device 0 */
    uint32_t reserved;
} spdl_pin_opts;
#define SPDL_PIN_OPTS_INIT {sizeof(spdl_pin_opts), 0, SPDL_CURRENT_DEVICE, 0}

enum {
    SPDL_PIN_NONE = 0,
    SPDL_PIN_WRITABLE = 1,  /* the ring's own memory is pinned */
    SPDL_PIN_READ_ONLY = 2, /* the same, for reading: the mapping of a shared ring cannot be written */
    SPDL_PIN_STAGED = 3     /* tensors are copied to pinned memory first */
};

typedef struct spdl_pin_info {
    uint32_t struct_size;
    uint32_t mode;          /* SPDL_PIN_NONE ... */
    int32_t device;         /* ordinal in this process; -1: not pinned */
    int32_t driver_version; /* 1000 * major + 10 * minor of the CUDA that the driver speaks */
    uint64_t bytes;         /* pinned; of SPDL_PIN_STAGED what was needed so far */
    uint32_t pending;       /* batches of spdl_release_after that wait */
    uint32_t imports;       /* pools of device memory that are open */
    int32_t device_error;   /* what the driver said when the device was lost; 0 */
    uint32_t reserved;
    char device_name[64];
} spdl_pin_info;
#define SPDL_PIN_INFO_INIT {sizeof(spdl_pin_info), 0, -1, 0, 0, 0, 0, 0, 0, {0}}

/* Pin the ring's memory, so that copies to a GPU run at the bus's speed and beside the caller. For every context of the process: it
 * is registered with the device's primary context, which is kept until the end.
 *
 * opts  NULL: SPDL_PIN_OPTS_INIT.
 * info  NULL, or made with SPDL_PIN_INFO_INIT: what came of it; written on SPDL_OK only.
 *
 * It ends with spdl_unpin, or with the memory itself (see spdl_detach). Blocks while the driver starts and the pages are locked.
 *
 * Returns SPDL_OK; SPDL_E_UNSUPPORTED without a driver, with one older than CUDA 11.1, in a child of a process that used CUDA before it forked, or where the memory is mapped read-only and
 * the device cannot pin that: open the ring with `access: private`, or allow SPDL_PIN_STAGE; SPDL_E_NOT_FOUND: no
 * such device; SPDL_E_BUSY: it is pinned already; SPDL_E_NOMEM: the machine does not let so much be locked;
 * SPDL_E_DEVICE; SPDL_E_ARGUMENT; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_pin(spdl_reader *reader, const spdl_pin_opts *opts, spdl_pin_info *info);

/* Undo spdl_pin, when batches of spdl_release_after have been given back: blocks until then. Pointers to staged tensors end here. A
 * reader that is not pinned stays as it is. */
SPDL_API spdl_status spdl_unpin(spdl_reader *reader);

/* What is pinned, pending and open. Does not block. */
SPDL_API spdl_status spdl_get_pin_info(spdl_reader *reader, spdl_pin_info *out);

enum { SPDL_AFTER_STREAM = 1, SPDL_AFTER_EVENT = 2 };

/* Release a batch when the work before it on the GPU has ended: what was put into the stream so far, or what the event was recorded after. Until then
 * no slot is filled again under a running copy. For the caller the lease ends here, as with spdl_release; its memory stays
 * leased. Outside a stage the batch is done at once, in a stage when it is given back. Does not block.
 *
 * kind    SPDL_AFTER_STREAM or SPDL_AFTER_EVENT.
 * handle  the stream (NULL: the default one of the current context) or the event, which must not be recorded again or destroyed before.
 *
 * This library has no thread: the slot is given back by the next call of acquire, next, release_after, unpin or detach that finds the
 * work ended, and by an acquire while it waits. spdl_event_fd becomes readable for it. spdl_detach and
 * spdl_unpin wait for the copies. If the device is lost nothing runs on it any more, and the slots are given back (spdl_pin_info.device_error).
 * If this process dies in the middle of a copy, the engine takes the slot back when the process is gone, and its copies with it.
 *
 * Returns SPDL_OK; SPDL_E_STALE; SPDL_E_UNSUPPORTED without a driver; SPDL_E_DEVICE if the driver refuses the handle: the lease is
 * the caller's still; SPDL_E_NOMEM; SPDL_E_ARGUMENT, above all for a stream that is being captured into a graph. Like spdl_release nothing in a forked child. */
SPDL_API spdl_status spdl_release_after(spdl_reader *reader, const spdl_batch *batch, uint32_t kind, void *handle);

/* Let a stream wait until the batch's device tensors are complete. Tensors in device memory come from an engine that uploads
 * (`device` in the description); their names end in "@cuda", and spdl_batch_tensor gives their addresses on the device, of this process's
 * making: the engine's memory is imported once. A batch without them needs no waiting. Does not block.
 *
 * stream  NULL: the default one of the device's primary context.
 *
 * Returns SPDL_OK; SPDL_E_POOL_LOST; SPDL_E_STALE; SPDL_E_UNSUPPORTED; SPDL_E_NOT_FOUND: this process does not see the device;
 * SPDL_E_ARGUMENT: the stream is being captured into a graph;
 * SPDL_E_DEVICE, above all where the driver lets no memory be shared between these processes (containers). Host tensors are good in every case. */
SPDL_API spdl_status spdl_stream_wait(spdl_reader *reader, const spdl_batch *batch, void *stream);

/* ---- 8  samples of your own -------------------------------------------------------------------------
 *
 * With `source: {host: {samples: N}}` in the description, the samples are yours: you bring the bytes of each, or
 * name its file, and the engine decodes and batches them in its order, for its ranks, with its policy for bad
 * samples. Where it has source.columns and no media, these are made of the bytes: an .npy file, say. In process only
 * (SPDL_FORM_IN_PROCESS). The engine never calls you: threads of yours *take* what is wanted and *give* the sample,
 * limits.fetch at a time.
 *
 *     void *bring(void *arg) {                        // one of some threads
 *         int64_t source = *(int64_t *)arg;           // spdl_source_id(reader)
 *         spdl_want want = SPDL_WANT_INIT;
 *         while (spdl_source_take(source, SPDL_FOREVER, &want) == SPDL_OK) {
 *             spdl_sample sample = SPDL_SAMPLE_INIT;
 *             sample.bytes = look_up(want.index, &sample.n_bytes, &sample.label);
 *             spdl_source_give(source, &want, &sample);
 *         }
 *         return NULL;
 *     }
 *
 * A sample that is not given within source.host.timeout (1 minute) of being wanted is a bad sample, cause
 * "deadline"; one whose thread ends with it in hand, cause "source". Labels and keys come with the samples, so
 * orders by label or key are refused.
 *
 * With `order: {asked: true}` the samples are any source's, and it is their order that is yours: want.index is then a
 * place in the epoch, and what is given is the number of the sample that comes there, as label, with neither bytes nor
 * path; or, as bytes, int64_t numbers from there on, up to 65536, so that the next ones need not be asked for; or
 * SPDL_SAMPLE_END where the epoch has no more. An error, and a number that no sample has, end the ring. */

/* The source that the engine of this reader, opened in this process, takes samples from: above 0. Any thread
 * may use it, also after spdl_detach, which ends it: take and give then answer SPDL_END_DATA. Or an error below
 * zero: SPDL_E_NOT_FOUND if the engine is another process, or its description has neither source.host nor order.asked. */
SPDL_API int64_t spdl_source_id(spdl_reader *reader);

typedef struct spdl_want {
    uint32_t struct_size;
    uint32_t epoch;       /* in which it is wanted, modulo 2^32 */
    uint64_t index;       /* place in the data set, or in an asked order, from 0; may come again, in a later epoch or after a restart */
    uint64_t token;       /* the want; the engine's */
} spdl_want;
#define SPDL_WANT_INIT {sizeof(spdl_want), 0, 0, 0}

/* Wait for a sample that is wanted. Each want taken must be given.
 *
 * timeout_ns  0 polls; SPDL_FOREVER waits without limit.
 * out         made with SPDL_WANT_INIT; written on SPDL_OK only.
 *
 * Returns SPDL_OK; SPDL_TIMEOUT; SPDL_END_DATA: the reader was detached or the ring has failed, so the thread may
 * end; SPDL_E_ARGUMENT; SPDL_E_FORKED. After the last epoch it waits: the reader may go back to an earlier place. */
SPDL_API spdl_status spdl_source_take(int64_t source, int64_t timeout_ns, spdl_want *out);

/* The data end before this sample: there is none of this index, nor of a later one. It ends the epoch where the order is
 * that of the indices (order.shuffle: false, one rank, no order of another kind), so that `samples` is only the
 * most that there may be; in any other order it is a bad sample. source.host.stream: true in the description refuses
 * other orders, and no sample is late then: one that waits for those before it loses nothing. */
#define SPDL_SAMPLE_END 1u

/* Beside error: the program cannot go on, as what its data set gives is no sample at all. The ring ends with the error,
 * SPDL_E_ENGINE_FAILED to its consumers, in place of a bad sample. */
#define SPDL_SAMPLE_FATAL 2u

/* Exactly one of bytes, path, error and the flag SPDL_SAMPLE_END; of an asked order a label alone is one, too. Where the
 * description has columns beside media (source.columns with image, video or audio) path and bytes in the place of either: the
 * medium's file, and what the columns are made of, such as JSON. */
typedef struct spdl_sample {
    uint32_t struct_size;
    uint32_t flags;
    const void *bytes;    /* the encoded sample, copied before the call returns */
    size_t n_bytes;       /* 0: a bad sample, cause "empty" */
    const char *path;     /* a file that the engine reads, relative to the working directory, or an address (http, https, s3, file) */
    const char *error;    /* why there is no sample: a bad one, cause "source". UTF-8, kept up to 1 KiB */
    const char *key;      /* its name in the batch's key column and the log; NULL: path, or the index */
    int64_t label;        /* -1: none */
} spdl_sample;
#define SPDL_SAMPLE_INIT {sizeof(spdl_sample), 0, NULL, 0, NULL, NULL, NULL, -1}

/* Give a sample that was taken, by whichever thread. Does not block.
 *
 * Returns SPDL_OK; SPDL_TIMEOUT: given too late, or the reader went to another place, so it is dropped;
 * SPDL_END_DATA: likewise, and no more are wanted; SPDL_E_STAGE: a want that is not out, or was given before;
 * SPDL_E_ARGUMENT: the want is still out. */
SPDL_API spdl_status spdl_source_give(int64_t source, const spdl_want *want, const spdl_sample *sample);

/* ---- 9  one sample at once --------------------------------------------------------------------------
 *
 * Decode a picture, a video, a sound or an array in this process, without a ring:
 *
 *     spdl_loaded *sound = NULL;
 *     spdl_status s = spdl_load("{\"audio\": {\"rate\": 16000}}", NULL, 0, "a.flac", &sound);
 *     spdl_tensor wave = SPDL_TENSOR_INIT;
 *     if (s == SPDL_OK) s = spdl_loaded_tensor(sound, 0, &wave);   // [channels, length] float32
 *     ...
 *     spdl_loaded_free(sound);
 *
 * The first call loads libspdl_engine. Threads may load at the same time. */
typedef struct spdl_loaded spdl_loaded;

/* Decode one sample.
 *
 * description  JSON: one of the sections image, video and audio (docs/spec.md), in which everything may be left
 *              out that the sample says itself, beside a video with "cache": {"video_index_dir": DIR} (or "beside") its
 *              index, which is kept there; or {"npy": {}}, {"npz": {}} or {"wav": {}}, whose elements
 *              are as they are stored (booleans are u8, and spdl_loaded_info names their arrays under "booleans"); or {"tar": {}} or {"zip": {}}, the bytes of each file; or {"probe": "video"}, {"probe": "frames"} (which reads a video's packets: "frames" are counted, and "closed" says
 *              whether decoding can start at every key frame), {"probe": "audio"}, {"probe": "wav"} (a WAV's header, whatever its codec) or {"ffmpeg": {}}
 *              (versions, filters, devices; with a log_level FFmpeg's messages up to it go to stderr from then on: -8 none, 0 panic,
 *              8 fatal, 16 error, 24 warning, 32 info, 40 verbose, 48 debug, 56 trace), which decode nothing and give
 *              spdl_loaded_info alone. Of a video all frames come, unless select says which.
 * bytes        the encoded sample, n_bytes long. Arrays may be views of it: it must live until
 *              spdl_loaded_free. NULL: path.
 * path         a file, relative to the working directory, or an address (http, https, s3, gs, hf); only looked at where bytes is NULL;
 *              NULL for {"ffmpeg": ...}, too.
 * out          to be given to spdl_loaded_free; written on SPDL_OK only.
 *
 * It blocks for as long as decoding takes: audio.timeout and video.timeout bound it.
 *
 * Returns SPDL_OK; SPDL_E_SPEC; SPDL_E_SAMPLE; SPDL_E_NOMEM; SPDL_E_ARGUMENT; SPDL_E_UNSUPPORTED without
 * libspdl_engine; SPDL_E_VERSION; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_load(const char *description, const void *bytes, size_t n_bytes, const char *path,
                               spdl_loaded **out);

/* Its tensors, dense and row-major; of an .npz one for each array, under its name. Valid until spdl_loaded_free. */
SPDL_API uint32_t spdl_loaded_n_tensors(const spdl_loaded *loaded);
SPDL_API spdl_status spdl_loaded_tensor(const spdl_loaded *loaded, uint32_t i, spdl_tensor *out);

/* What the file says of itself and what was done, as JSON. Valid until spdl_loaded_free; "" for NULL. */
SPDL_API const char *spdl_loaded_info(const spdl_loaded *loaded);

/* Give the memory back. NULL is fine. Any thread; works in a forked child, too. */
SPDL_API void spdl_loaded_free(spdl_loaded *loaded);

/* Decode pictures of one size into one tensor, by threads of this call's own.
 *
 * description  JSON: {"image": {...}} as spdl_load has it, and beside it "batch": {"height": 224, "width": 224, "fit": "pad",
 *              "threads": 4, "strict": true}. fit says what becomes of another aspect: "pad" puts black beside or above and
 *              below, "crop" cuts off what is over, "fill" (the default) does not keep it. Without a size every picture keeps its
 *              own, or has what the section's transform gives it; then they must all come out alike. threads: as many as the
 *              machine has processors, if absent.
 * samples      n_samples of them, one behind the other, each with its bytes, which are read until the call returns, or its path;
 *              error and flags are refused, key and label are not looked at
 * out          the tensor "image" [rows, H, W, C], or as the section's layout says, and in spdl_loaded_info "rows", the numbers of
 *              the samples that they are of, and "failures", {"sample", "error"} of the others. With strict (true, if absent),
 *              one failure fails the call; with "strict": false the batch has a row less. One without any row is SPDL_E_SAMPLE.
 *
 * Returns what spdl_load returns. */
SPDL_API spdl_status spdl_load_batch(const char *description, const spdl_sample *samples, size_t n_samples,
                                     spdl_loaded **out);

/* A long video in chunks, each as spdl_load gives a video: memory for one chunk, and the index. */
typedef struct spdl_loading spdl_loading;

/* Begin. description is a section video whose frames is how many a chunk has; the rest, and what is returned, is
 * spdl_load's. bytes must live until spdl_loading_close. */
SPDL_API spdl_status spdl_loading_open(const char *description, const void *bytes, size_t n_bytes,
                                       const char *path, spdl_loading **out);

/* The next chunk; the last may be shorter. One thread at a time. Returns SPDL_OK; SPDL_END_DATA after the last;
 * SPDL_E_SAMPLE; SPDL_E_NOMEM; SPDL_E_ARGUMENT; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_loading_next(spdl_loading *loading, spdl_loaded **out);

/* End it. NULL is fine. What it has given stays. */
SPDL_API void spdl_loading_close(spdl_loading *loading);

/* ---- 10  packets: encoded media as it is ------------------------------------------------------------
 *
 * A container's packets without decoding them: to be decoded later or elsewhere in the program, in part, more than once,
 * or to be written into another container as they are. What a file's bytes decode to, its packets decode to as well.
 *
 *     spdl_demuxing *demuxing;
 *     spdl_packets *packets;
 *     spdl_loaded *clip;
 *     const char *second = "{\"video\": {\"window\": {\"start\": \"10s\", \"duration\": \"1s\"}}}";
 *     if (spdl_demuxing_open(second, NULL, 0, "a.mp4", &demuxing) == SPDL_OK &&
 *         spdl_demuxing_next(demuxing, &packets) == SPDL_OK &&
 *         spdl_packets_decode(packets, "{\"video\": {}}", &clip) == SPDL_OK) ...
 */
typedef struct spdl_demuxing spdl_demuxing;
typedef struct spdl_packets spdl_packets;

#define SPDL_PACKET_KEY 1u /* decoding can begin here */

typedef struct spdl_packet {
    uint32_t struct_size;
    uint32_t flags;    /* SPDL_PACKET_* */
    double pts;        /* seconds; NaN: the container says none */
    double dts;        /* likewise */
    double duration;   /* seconds; 0: the container says none */
    const void *data;  /* valid until spdl_packets_free */
    uint64_t bytes;
} spdl_packet;
#define SPDL_PACKET_INIT {sizeof(spdl_packet), 0, 0, 0, 0, NULL, 0}

/* Open a container.
 *
 * description  JSON: {"video": {...}} or {"audio": {...}}, with
 *                stream   its number in the file; absent: the best of that kind
 *                window   {"start": "2s", "duration": "1s"}: what is on show, or heard, then, and what decoding that
 *                         needs; without duration to the end
 *                packets, length ("2s")   how many, how long each piece is; without both there is one piece
 *                filters  FFmpeg's bitstream filters, such as "h264_mp4toannexb"; several with commas
 * bytes        the container, n_bytes long, until spdl_demuxing_close; NULL: path
 * out          to be given to spdl_demuxing_close; written on SPDL_OK only
 *
 * Returns what spdl_load returns. A demuxing is for one thread at a time. */
SPDL_API spdl_status spdl_demuxing_open(const char *description, const void *bytes, size_t n_bytes,
                                        const char *path, spdl_demuxing **out);

/* The next piece. Returns SPDL_OK; SPDL_END_DATA after the last; otherwise as spdl_demuxing_open. */
SPDL_API spdl_status spdl_demuxing_next(spdl_demuxing *demuxing, spdl_packets **out);

/* The stream without packets: what is known of it, and for spdl_muxer_add_packets. */
SPDL_API spdl_status spdl_demuxing_stream(spdl_demuxing *demuxing, spdl_packets **out);

/* End it. NULL is fine. What it has given stays. */
SPDL_API void spdl_demuxing_close(spdl_demuxing *demuxing);

/* How many packets there are; the i-th, in the order of the container; and the stream they are of, as JSON: kind, name (of
 * the codec), container, stream, time_base, bit_rate, width, height, pix_fmt, frame_rate, sample_aspect_ratio, sample_rate,
 * num_channels, sample_fmt, channel_layout, as far as they are known, and window (its start and end in seconds).
 * Packets are read-only: any number of threads may use them. Valid until spdl_packets_free. */
SPDL_API uint64_t spdl_packets_count(const spdl_packets *packets);
SPDL_API spdl_status spdl_packets_get(const spdl_packets *packets, uint64_t i, spdl_packet *out);
SPDL_API const char *spdl_packets_info(const spdl_packets *packets);

/* Packets [first, end) of them, and all of them through bitstream filters. The bytes are shared, and each is freed on its own.
 * Return SPDL_OK; SPDL_E_ARGUMENT; SPDL_E_UNSUPPORTED for a filter that there is not; SPDL_E_NOMEM; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_packets_slice(const spdl_packets *packets, uint64_t first, uint64_t end,
                                        spdl_packets **out);
SPDL_API spdl_status spdl_packets_filter(const spdl_packets *packets, const char *filters,
                                         spdl_packets **out);

/* spdl_load and spdl_loading_open of packets: description is a section video or audio. What a window was taken for is what is
 * decoded, unless the section has a window of its own; either counts from the start of the stream. Other pieces of a sound
 * count from their own first sample. */
SPDL_API spdl_status spdl_packets_decode(const spdl_packets *packets, const char *description,
                                         spdl_loaded **out);
SPDL_API spdl_status spdl_packets_decode_chunks(const spdl_packets *packets, const char *description,
                                                spdl_loading **out);

/* The packets, and all that decoding and writing them needs, as one tensor of bytes; and packets of such bytes, in this process
 * or another with the same FFmpeg. Bytes may come from anywhere: they are checked, and not kept. What they are is said in
 * core/media/av/bytes.go. Return SPDL_OK; SPDL_E_SAMPLE for bytes that are no packets, or of another FFmpeg; SPDL_E_ARGUMENT;
 * SPDL_E_NOMEM; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_packets_bytes(const spdl_packets *packets, spdl_loaded **out);
SPDL_API spdl_status spdl_packets_of(const void *bytes, size_t n_bytes, spdl_packets **out);

/* Give them back. NULL is fine. */
SPDL_API void spdl_packets_free(spdl_packets *packets);

/* Bitstream filters that are kept open from one piece of a stream to the next. One thread at a time. */
typedef struct spdl_bsf spdl_bsf;

/* filters such as "h264_mp4toannexb", several with commas, for packets of the stream that `stream` is of (spdl_demuxing_stream
 * has it without packets), which is not kept. Returns what spdl_packets_filter returns. */
SPDL_API spdl_status spdl_bsf_open(const spdl_packets *stream, const char *filters, spdl_bsf **out);

/* What comes out for packets, which may be none yet. Where these are the last, and in flush, also what the filters still hold:
 * after that they take no packets. */
SPDL_API spdl_status spdl_bsf_filter(spdl_bsf *bsf, const spdl_packets *packets, int last, spdl_packets **out);
SPDL_API spdl_status spdl_bsf_flush(spdl_bsf *bsf, spdl_packets **out);

/* End it. NULL is fine. What it has given stays. */
SPDL_API void spdl_bsf_close(spdl_bsf *bsf);

/* A decoder that is fed: for a stream that comes piece by piece, of which nobody has, or waits for, the whole.
 *
 *     while (spdl_demuxing_next(demuxing, &packets) == SPDL_OK) {
 *         spdl_decoder_give(decoder, packets);
 *         spdl_packets_free(packets);
 *         while (spdl_decoder_next(decoder, &chunk) == SPDL_OK) ...
 *     }
 *     spdl_decoder_flush(decoder);
 *     while (spdl_decoder_next(decoder, &chunk) == SPDL_OK) ...
 *
 * All that it is given comes out, a window of packets uncut. One thread at a time. */
typedef struct spdl_decoder spdl_decoder;

/* description is a section video or audio as spdl_load has it, without what needs the whole stream: of a video what chooses
 * frames (frames is how many a chunk has; without it: as many as are ready), of a sound rate (filter: aresample=16000 is for
 * that), length, features and what is measured. stream is as for spdl_bsf_open. Returns what spdl_load returns. */
SPDL_API spdl_status spdl_decoder_open(const spdl_packets *stream, const char *description,
                                       spdl_decoder **out);

/* Let it have packets, which may be freed; and say that there are no more, so that what the codec holds back comes out. Return
 * SPDL_OK; SPDL_E_ARGUMENT for packets of another stream, or after flush; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_decoder_give(spdl_decoder *decoder, const spdl_packets *packets);
SPDL_API spdl_status spdl_decoder_flush(spdl_decoder *decoder);

/* What comes next, as spdl_load gives it. Returns SPDL_OK; SPDL_END_DATA where more packets are wanted, or after flush
 * nothing more will come; SPDL_E_SAMPLE for a packet that does not decode, and the next call goes on behind it; SPDL_E_NOMEM;
 * SPDL_E_ARGUMENT; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_decoder_next(spdl_decoder *decoder, spdl_loaded **out);

/* End it. NULL is fine. What it has given stays. */
SPDL_API void spdl_decoder_close(spdl_decoder *decoder);

/* Filters with several inputs and outputs, of pictures and of sound.
 *
 *     const char *text = "{\"graph\": \"buffer=video_size=320x240:pix_fmt=rgb24:time_base=1/30,hue=s=0,buffersink\"}";
 *     spdl_graph *graph;
 *     if (spdl_graph_open(text, &graph) != SPDL_OK) die(spdl_last_error());
 *     spdl_graph_add(graph, NULL, frames, n_frames * 240 * 320 * 3, NULL, 0);
 *     spdl_graph_flush(graph);
 *     while (spdl_graph_next(graph, NULL, &chunk) == SPDL_OK) ...
 *
 * One thread at a time. */
typedef struct spdl_graph spdl_graph;

/* description is JSON: {"graph": FFmpeg's text}, whose inputs are its nodes buffer and abuffer and whose outputs are buffersink and
 * abuffersink, each known by its node's name ("buffer@left"; FFmpeg calls others Parsed_buffer_0); also threads (of the filters; 1),
 * max_bytes (that may wait inside; 1 GiB), max_pixels (of a picture; 64 Mi) and timeout (of each call; "60s"). Filters are
 * those of a section's filter. Returns what spdl_load returns. */
SPDL_API spdl_status spdl_graph_open(const char *description, spdl_graph **out);

/* The inputs and outputs as JSON, {"inputs": [...], "outputs": [...], "dump": FFmpeg's drawing}, each with name, kind, format, dtype,
 * time_base and shape (of a picture), or planar ([channels, n], else [n, channels]). Valid until spdl_graph_close; "" for NULL. */
SPDL_API const char *spdl_graph_info(const spdl_graph *graph);

/* Let pictures, or samples, in at an input; NULL is the only one. They are copied. seconds are when each picture, or the first sample, is
 * shown; none: behind those before. Returns SPDL_OK; SPDL_E_ARGUMENT for data of another size, times that fall or an input that is not there;
 * SPDL_E_SAMPLE where the filters refuse them, after flush, and where more than max_bytes would wait: the text says how many went in, and
 * with which input, or output, to go on; SPDL_E_NOMEM; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_graph_add(spdl_graph *graph, const char *input, const void *data, size_t n_bytes,
                                    const double *seconds, size_t n_seconds);

/* No more frames come, to any input: what filters held back comes out. */
SPDL_API spdl_status spdl_graph_flush(spdl_graph *graph);

/* All that has come out at an output, NULL being the only one: "video" and "pts", or "audio" and "pts" of its first sample. Returns SPDL_OK;
 * SPDL_END_DATA where nothing has and, after flush, nothing more will; SPDL_E_SAMPLE; SPDL_E_ARGUMENT; SPDL_E_NOMEM; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_graph_next(spdl_graph *graph, const char *output, spdl_loaded **out);

/* End it. NULL is fine. What it has given stays. */
SPDL_API void spdl_graph_close(spdl_graph *graph);

/* ---- 11  writing media --------------------------------------------------------------------------- */

/* Write a picture, pictures or a WAV file.
 *
 * description  JSON, one of
 *                {"image": {"width": 640, "height": 480, ...}}   data is [H, W, C] u8; also codec (else by the path's ending;
 *                    needed without a path), input (FFmpeg's pixel format of data; rgb24), pixel_format (of what is stored),
 *                    quality (1 the best), options; first (a number): data is [N, H, W, C], and path a pattern with the
 *                    number in it, such as frames/%06d.png
 *                {"wav": {"rate": 16000, "channels": 1, ...}}    data is float32 [C, L]; also layout (NCL, or NLC for
 *                    [L, C]), encoding (u8, s16, s24, s32, f32, f64; s16). Needs no FFmpeg. NaN, infinities and what is beyond
 *                    1024 are SPDL_E_ARGUMENT but of f32 and f64
 * path         a file, which appears there whole or not at all. NULL: out
 * out          one tensor of bytes; NULL where there is a path
 *
 * Returns SPDL_OK; SPDL_E_SPEC; SPDL_E_ARGUMENT for data of another size; SPDL_E_UNSUPPORTED where this build or this FFmpeg
 * cannot; SPDL_E_SYSTEM when the file cannot be written; SPDL_E_SAMPLE when the encoder fails; SPDL_E_NOMEM; SPDL_E_FORKED. */
SPDL_API spdl_status spdl_save(const char *description, const void *data, size_t n_bytes, const char *path,
                               spdl_loaded **out);

/* A container that is written: tracks are added, all of them before the first write, then written, then it is closed.
 *
 *     spdl_muxer *muxer;
 *     int32_t track = -1;
 *     if (spdl_muxer_open("{}", "a.mp4", &muxer) != SPDL_OK) die(spdl_last_error());
 *     track = spdl_muxer_add(muxer, "{\"video\": {\"width\": 320, \"height\": 240, \"rate\": 30}}");
 *     if (track < 0 || spdl_muxer_write(muxer, track, frames, n_frames * 320 * 240 * 3, NULL, 0) != SPDL_OK ||
 *         spdl_muxer_close(muxer, NULL) != SPDL_OK) die(spdl_last_error());
 *
 * For one thread at a time. What its calls return is what spdl_save returns. */
typedef struct spdl_muxer spdl_muxer;

/* description  {}, or with format (FFmpeg's name, such as "mp4"; else by the path's ending; needed without a path) and
 *              options (the format's own, texts by name)
 * path         the file appears there, whole, when spdl_muxer_close succeeds. NULL: memory
 * out          ended by spdl_muxer_close or spdl_muxer_abort */
SPDL_API spdl_status spdl_muxer_open(const char *description, const char *path, spdl_muxer **out);

/* Add a track that encodes; its number, or a status below zero.
 *
 * {"video": {"width", "height", "rate", ...}}   frames [T, H, W, C] u8; rate is a number or [30000, 1001], left out where
 *     every frame has a time, which time_base ([1, 90000]) rounds; also codec, input, pixel_format, bit_rate, quality,
 *     threads, options
 * {"audio": {"rate", "channels", ...}}          samples, float32 [C, L], -1 to 1; also layout (NCL, or NLC for [L, C]), codec,
 *     sample_format (what is stored, such as s16; of several with commas the first that the codec stores; left out: the one that
 *     keeps most of a float), bit_rate, options. NaN, infinities and what is beyond 1024 are SPDL_E_ARGUMENT of spdl_muxer_write,
 *     but of codecs that keep floats as they are */
SPDL_API int32_t spdl_muxer_add(spdl_muxer *muxer, const char *description);

/* Add a track for packets of this stream, through bitstream filters unless they are NULL. The packets are not kept. */
SPDL_API int32_t spdl_muxer_add_packets(spdl_muxer *muxer, const spdl_packets *packets, const char *filters);

/* Write frames, one after the other or at n_seconds times in seconds (NULL: none), or samples; or packets. Data are read during
 * the call only. */
SPDL_API spdl_status spdl_muxer_write(spdl_muxer *muxer, int32_t track, const void *data, size_t n_bytes,
                                      const double *seconds, size_t n_seconds);
SPDL_API spdl_status spdl_muxer_write_packets(spdl_muxer *muxer, int32_t track, const spdl_packets *packets);

/* End the encoders and the container, and put the file in its place; out, of one in memory, gets one tensor of its bytes and is
 * NULL for a file. The muxer is gone whatever is returned. After a write that failed as it encoded or stored, so is the file, and this call
 * says so; what was refused for its arguments (SPDL_E_ARGUMENT) has changed nothing. */
SPDL_API spdl_status spdl_muxer_close(spdl_muxer *muxer, spdl_loaded **out);

/* Give it up; of a file nothing stays. NULL is fine. */
SPDL_API void spdl_muxer_abort(spdl_muxer *muxer);

/* ---- 12  pipelines of your own stages ---------------------------------------------------------------
 *
 * The task engine without media: you say which stages there are, lend them your threads, and the engine
 * keeps the queues, the order, back-pressure, retries, failure budgets, deadlines and statistics. It never
 * calls you. A thread of yours *takes* a work from a stage and *gives* what came of it, so thread-locals
 * live and no callback arrives on an unknown thread. These calls load libspdl_engine, which brings the Go
 * runtime into this process; nothing else in this header does, but spdl_open in process.
 *
 *     static const char *text =
 *         "{\"name\": \"demo\", \"stages\": ["
 *         " {\"name\": \"numbers\", \"kind\": \"source\"},"
 *         " {\"name\": \"square\", \"kind\": \"map\", \"concurrency\": 4, \"output\": \"input\"},"
 *         " {\"name\": \"four\", \"kind\": \"aggregate\", \"n\": 4}]}";
 *
 *     void *square(void *arg) {                       // one of four threads
 *         spdl_pipeline *p = arg;
 *         int32_t stage = spdl_pipeline_stage(p, "square");
 *         spdl_work work = SPDL_WORK_INIT;
 *         while (spdl_stage_take(p, stage, SPDL_FOREVER, &work) == SPDL_OK) {
 *             uint64_t result = work.items[0] * work.items[0];
 *             spdl_give give = SPDL_GIVE_INIT;
 *             give.items = &result, give.n_items = 1;
 *             spdl_stage_give(p, stage, &work, &give);
 *         }
 *         return NULL;
 *     }
 *
 * Items are 64-bit values of yours: numbers, pointers, keys of a table. What travels is one item or a list.
 * Whoever has an item in hand owns it:
 *   - an item given belongs to the engine until somebody takes or gets it;
 *   - the items of a taken work are yours with the work's last give, unless that gave an error: then they
 *     stay the engine's, which offers them again (retry) or drops them;
 *   - items the engine drops (failed, cancelled, undelivered at the end) come out of
 *     spdl_pipeline_reclaim, each once, for you to free.
 *
 * The description is JSON, strict: an unknown key is refused with the nearest known one.
 *   {"name", "stages": [...], "continuous": false, "failures": {...}}        failures: of the whole pipeline
 *   every stage      "name" (unique in the pipeline), "kind", "buffer": items in the queue behind (2)
 *   "source"         first; host. Give items; SPDL_GIVE_END when there are no more
 *   "map"            host. Zero, one or many results for one item: filter, function, generator
 *   "aggregator"     host, one thread. Sees all items in order, may give at any time; SPDL_WORK_FLUSH at the end
 *   "aggregate"      engine. Lists of "n"; the last may be shorter, or is dropped with "drop_last": true
 *   "disaggregate"   engine. The items of a list, one by one
 *   "variants"       "paths": [[stages], ...]. Its router is a host stage: it says a path for each item. With
 *                    "batched": true for each item of a list, whose results come back as one list, in order.
 *                    There, and in "input" order, every stage of a path gives one result for one item
 *   "merge"          first, in place of a source. "inputs": [[stages], ...], "policy": "arrival" (default),
 *                    "round_robin" or "weighted" with "weights" and "seed"; "stop": "all" (default) or "first"
 *   "sink"           last, may be left out; "buffer": results ahead of spdl_pipeline_get (2)
 * A host stage has further "concurrency": works that may be out at once, for as many threads (1); "output":
 * "completion" (default) or "input" order; "failures": {"max_count", "max_rate", "probation"}, without it the
 * first failure ends the pipeline; "retries": {"max" (0), "backoff_ms" (0) before the first, twice that before
 * each further one up to "max_backoff_ms" (the larger of that and 30,000), each wait drawn between half and all of it};
 * "deadline_ms" for one work: later it counts as failed.
 *
 * With "continuous": true the source's SPDL_GIVE_END ends an epoch and the next begins. The end of an epoch
 * travels in its place: it holds nothing back, lists are flushed at it, spdl_pipeline_get says SPDL_END_EPOCH.
 *
 * Threads. Every call is safe from any thread, but spdl_pipeline_free, which must be the last. A work may be
 * given by another thread than took it, which must live until then: a thread that ends with a work out ends
 * the pipeline, and the failure names stage and thread.
 * Fork. In a forked child every call returns SPDL_E_FORKED. */

typedef struct spdl_pipeline spdl_pipeline;

enum {
    SPDL_WORK_SOURCE = 1, /* give the next items; no items */
    SPDL_WORK_ITEM = 2,
    SPDL_WORK_FLUSH = 3   /* aggregator: the data or the epoch ends; give what is left; no items */
};

#define SPDL_WORK_LIST 1u /* the items are one list, from an aggregate or SPDL_GIVE_LIST */

typedef struct spdl_work {
    uint32_t struct_size;
    uint32_t kind;         /* SPDL_WORK_SOURCE ... */
    uint32_t flags;        /* SPDL_WORK_LIST */
    uint32_t n_items;      /* 1 without SPDL_WORK_LIST; a list may be empty */
    const uint64_t *items; /* valid until the work's last give, which may give them */
    uint64_t epoch;        /* from 0 */
    uint32_t attempt;      /* 1; more after a retry */
    uint32_t worker;       /* no two works of a stage that are out share it: below its concurrency, or above it
                            * while works past their deadline are still out */
    uint64_t token;        /* the work; the engine's */
} spdl_work;
#define SPDL_WORK_INIT {sizeof(spdl_work), 0, 0, 0, NULL, 0, 0, 0, 0}

#define SPDL_GIVE_MORE 1u /* further gives for this work follow */
#define SPDL_GIVE_END 2u  /* source: here ends the data, or the epoch of a continuous pipeline */
#define SPDL_GIVE_LIST 4u /* the items are one list; without it, each is a result of its own */
#define SPDL_GIVE_SKIP 8u /* nothing comes of this work, and that is no failure */

#define SPDL_ERROR_FATAL 1u /* end the pipeline, whatever the budget */
#define SPDL_ERROR_FINAL 2u /* do not retry */

typedef struct spdl_give {
    uint32_t struct_size;
    uint32_t flags;        /* SPDL_GIVE_* */
    const uint64_t *items; /* copied */
    uint32_t n_items;      /* 0 only with SPDL_GIVE_LIST (an empty list), _END, _SKIP, _MORE or an error */
    int32_t path;          /* a router's choice, from 0; every other stage: 0 */
    const int32_t *paths;  /* the choices of a batched router, one per item; else NULL */
    const char *error;     /* not NULL: the work failed. UTF-8, copied and kept whole, such as a traceback */
    uint32_t error_flags;  /* SPDL_ERROR_* */
    uint32_t reserved;
} spdl_give;
#define SPDL_GIVE_INIT {sizeof(spdl_give), 0, NULL, 0, 0, NULL, NULL, 0, 0}

/* Make a pipeline from its description. Nothing runs before spdl_pipeline_start.
 *
 * out  owned by the caller, ended by spdl_pipeline_free.
 * Returns SPDL_OK; SPDL_E_SPEC with place, got, want and remedy; SPDL_E_UNSUPPORTED where libspdl_engine is
 * missing ($SPDL_ENGINE_LIBRARY, beside libspdl, then the system's); SPDL_E_VERSION where it is another one. */
SPDL_API spdl_status spdl_pipeline_create(const char *description, spdl_pipeline **out);

/* Start it, once. Does not block. Returns SPDL_OK; SPDL_E_SPEC for stages that are right alone, but not together;
 * SPDL_E_BUSY if it was started or stopped before. */
SPDL_API spdl_status spdl_pipeline_start(spdl_pipeline *pipeline);

/* The number of the host stage called name, for take and give: 0 or more, or an error below zero
 * (SPDL_E_NOT_FOUND: no such stage, or one that is the engine's own). Constant for the pipeline's life. */
SPDL_API int32_t spdl_pipeline_stage(spdl_pipeline *pipeline, const char *name);

/* Wait for work of a stage and take it. Each work taken must be given back.
 *
 * timeout_ns  0 polls; SPDL_FOREVER waits without limit. In a continuous pipeline any take may, beyond its time,
 *             wait for room behind: the thread that comes to the end of an epoch passes it on.
 * out         made with SPDL_WORK_INIT; written on SPDL_OK only.
 *
 * Returns SPDL_OK; SPDL_TIMEOUT, also before spdl_pipeline_start; SPDL_END_DATA: nothing more will come, also
 * after a stop or a failure, so the thread may end. */
SPDL_API spdl_status spdl_stage_take(spdl_pipeline *pipeline, int32_t stage, int64_t timeout_ns, spdl_work *out);

/* Give what came of a work: results, a failure, or nothing (SPDL_GIVE_SKIP). Blocks while the queue behind is
 * full: that is the back-pressure; a stop ends the wait.
 *
 * Returns SPDL_OK; SPDL_END_DATA: the pipeline was stopped or has failed, and what was given is dropped (see
 * spdl_pipeline_reclaim): stop giving; SPDL_TIMEOUT: the work's deadline had passed, likewise dropped;
 * SPDL_E_STAGE: this work is not out, or the give does not fit its stage: nothing has changed then. */
SPDL_API spdl_status spdl_stage_give(spdl_pipeline *pipeline, int32_t stage, const spdl_work *work,
                                     const spdl_give *give);

/* Wait for the next result. Its items are the caller's; the array is valid until this thread's next
 * spdl_pipeline_get. A call that times out has taken nothing.
 *
 * Returns SPDL_OK; SPDL_TIMEOUT; SPDL_END_EPOCH once per epoch of a continuous pipeline; SPDL_END_DATA after
 * the last result, or after a stop; SPDL_E_PIPELINE as soon as it has failed: what was ready then is dropped. */
SPDL_API spdl_status spdl_pipeline_get(spdl_pipeline *pipeline, int64_t timeout_ns, spdl_work *out);

/* Drain: no source is asked any more, what is in flight is finished. Stop: nothing is passed on any more, every
 * wait ends now. Both return at once; doing it twice is fine. */
SPDL_API spdl_status spdl_pipeline_drain(spdl_pipeline *pipeline);
SPDL_API spdl_status spdl_pipeline_stop(spdl_pipeline *pipeline);

/* Wait until the pipeline has ended: nothing of it runs, and every work taken was given back. Somebody must
 * get its results meanwhile, or stop it.
 *
 * Returns SPDL_OK after the end of data, drain or stop; SPDL_E_PIPELINE if it failed; SPDL_TIMEOUT, where
 * spdl_last_error() names the stages whose works are out. */
SPDL_API spdl_status spdl_pipeline_wait(spdl_pipeline *pipeline, int64_t timeout_ns);

/* Why the pipeline failed, whole, tracebacks included (spdl_last_error cuts at 1.5 kB); "" if it has not. With
 * NULL or too small a buffer nothing is written but *need, as in spdl_state_save. */
SPDL_API spdl_status spdl_pipeline_error(spdl_pipeline *pipeline, char *buffer, size_t bytes, size_t *need);

/* Collect up to room items that nobody will get any more; *got says how many. Call until it says 0: now and
 * then while running, and once after spdl_pipeline_wait. Without room (0, and items may be NULL) nothing is taken. Does not block. */
SPDL_API spdl_status spdl_pipeline_reclaim(spdl_pipeline *pipeline, uint64_t *items, uint32_t room, uint32_t *got);

/* Counters of every stage and queue as JSON, and the works that are out: stage, thread and for how long, so that
 * one that never comes back has a name. `verdict` says in a sentence what is slow, and what a change would bring at
 * most: since the last call of a second ago or more; at first, and when the run has ended, since the start. Buffer
 * rules as in spdl_state_save. */
SPDL_API spdl_status spdl_pipeline_stats(spdl_pipeline *pipeline, char *buffer, size_t bytes, size_t *need);

/* End the handle. NULL is fine. Returns SPDL_E_BUSY, and frees nothing, while the pipeline runs or works of it
 * are out: stop it and wait first. */
SPDL_API spdl_status spdl_pipeline_free(spdl_pipeline *pipeline);

#ifdef __cplusplus
}
#endif

#endif
