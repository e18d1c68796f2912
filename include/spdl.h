/* spdl.h - consume batches that an spdl engine decodes into shared memory.
 *
 * The engine (a separate process) reads samples, decodes them and writes batches into the slots of a
 * ring in shared memory. This library maps the ring and hands out ready batches without copying and
 * without locks. It contains no Go, starts no thread, installs no signal handler and never prints.
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
 * Threads. Threads may share a reader: each acquire yields a different batch. One batch is for one
 * thread at a time. spdl_detach must not race with other calls on the same reader.
 *
 * Fork. A reader does not work in a forked child: acquire and the queries return SPDL_E_FORKED, release,
 * done and detach do nothing. The batches' memory stays readable there. Attach again in the child.
 *
 * Structs. A struct that the caller makes begins with its size and is born through its _INIT macro, so
 * that old callers meet new libraries safely. Structs grow at the end only.
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

/* ---- status ------------------------------------------------------------------------------- */

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

    SPDL_E_NOT_FOUND = -20,  /* no engine under this name, or no such ring, group, lane or tensor */
    SPDL_E_DENIED = -21,     /* the engine does not admit this user */
    SPDL_E_BUSY = -22,       /* no consumer, lane or slot left to reserve; the text has the numbers */
    SPDL_E_VERSION = -23,    /* layout or protocol of another major version */
    SPDL_E_FORMAT = -24,     /* the segment is truncated, half-built, hostile, or not ours */

    SPDL_E_ENGINE_LOST = -40,    /* the engine died; leased batches stay readable */
    SPDL_E_ENGINE_FAILED = -41,  /* the engine gave up; the text is its reason */
    SPDL_E_ENGINE_STOPPED = -42, /* the engine was stopped in good order */
    SPDL_E_ENGINE_START = -43,   /* the engine could not be started; the text is its reason */
    SPDL_E_GROUP_CLOSED = -44,   /* this consumer's group was ended: too slow, evicted, or damaged by a member */

    SPDL_E_STALE = -60,    /* this lease has ended already: released twice, or taken back by the engine */
    SPDL_E_LEASES = -61,   /* every batch the reader may hold is held by threads that wait for another; release one */
    SPDL_E_UNDONE = -62,   /* the epoch cannot end while this thread holds batches of it undone; call spdl_done */
    SPDL_E_DETACHED = -63, /* the reader was detached */

    SPDL_E_STATE = -80, /* the saved state belongs to another data set, order or version */
    SPDL_E_SPEC = -81   /* the description is wrong; the text names file, line and key */
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

/* ---- open, attach, detach ------------------------------------------------------------------ */

#define SPDL_FOREVER ((int64_t)-1)
#define SPDL_ANY_LANE (-1)

/* Leases may be completed by other threads than the one that acquired them: acquire waits instead of
 * answering SPDL_E_LEASES or SPDL_E_UNDONE. For a thread that acquires and hands batches on. */
#define SPDL_ATTACH_HANDOFF 1u

typedef struct spdl_reader spdl_reader;

typedef struct spdl_attach_opts {
    uint32_t struct_size;
    uint32_t flags;      /* SPDL_ATTACH_* */
    const char *group;   /* NULL: the only declared group of consumers; without one, a group of this reader's own */
    int32_t lane;        /* SPDL_ANY_LANE, or the lane to take in a lanes group */
    uint32_t max_leases; /* batches this reader may hold at once; 0: 4. Reserved at attach */
    int64_t timeout_ns;  /* for the engine to appear and answer; SPDL_FOREVER; 0: 10 s */
    const char *client;  /* shown in `spdl inspect`; NULL: "c" */
} spdl_attach_opts;
#define SPDL_ATTACH_OPTS_INIT {sizeof(spdl_attach_opts), 0, NULL, SPDL_ANY_LANE, 0, 0, NULL}

/* Attach to a running engine's ring, NAME or NAME/RING.
 *
 * Sockets are looked for in $SPDL_RUNTIME_DIR, else /run/spdl, $XDG_RUNTIME_DIR/spdl, /tmp/spdl-UID; a NAME
 * that begins with '/' is the socket's path. Blocks up to opts->timeout_ns.
 *
 * out  owned by the caller, ended by spdl_detach.
 * Returns SPDL_OK; SPDL_E_NOT_FOUND; SPDL_E_DENIED; SPDL_E_BUSY; SPDL_E_VERSION; SPDL_E_FORMAT; SPDL_E_ENGINE_LOST. */
SPDL_API spdl_status spdl_attach(const char *name, const spdl_attach_opts *opts, spdl_reader **out);

typedef struct spdl_open_opts {
    uint32_t struct_size;
    uint32_t form;              /* SPDL_FORM_CHILD */
    spdl_attach_opts attach;
    const char *engine;         /* path of the spdl command; NULL: $SPDL_ENGINE, beside libspdl, then PATH */
    const char *const *args;    /* further arguments of `spdl serve`, NULL-terminated; NULL: none */
    const char *state;          /* JSON of spdl_state_save to resume from; NULL: from the start */
} spdl_open_opts;
enum { SPDL_FORM_CHILD = 0, SPDL_FORM_IN_PROCESS = 1 }; /* in process: SPDL_E_UNSUPPORTED in this version */
#define SPDL_OPEN_OPTS_INIT {sizeof(spdl_open_opts), SPDL_FORM_CHILD, SPDL_ATTACH_OPTS_INIT, NULL, NULL, NULL}

/* Start an engine for this reader alone and attach to it.
 *
 * spec  path of a description (YAML or JSON), or of a folder of pictures; or the description itself when
 *       it begins with '{'.
 *
 * The engine is a child that the host's SIGCHLD and waitpid(-1) never see; it ends with the reader and
 * with this process. Its log goes to this process's stderr (SPDL_LOG sets the level). Blocks until the
 * engine is ready or has said why not.
 *
 * Returns as spdl_attach; SPDL_E_SPEC; SPDL_E_ENGINE_START; SPDL_E_UNSUPPORTED. */
SPDL_API spdl_status spdl_open(const char *spec, const spdl_open_opts *opts, spdl_reader **out);

/* End the membership. Batches still leased stay readable, each until its spdl_release, the last of which
 * unmaps the memory; batches not done are delivered to the group again. The reader may then be used for
 * nothing but releasing those. With no leases left the reader is freed at once. Stops the child that
 * spdl_open started. NULL is fine. Does not block. */
SPDL_API spdl_status spdl_detach(spdl_reader *reader);

/* ---- batches ------------------------------------------------------------------------------- */

#define SPDL_BATCH_LAST 1u    /* the last of its epoch in its lane */
#define SPDL_BATCH_SHORT 2u   /* fewer rows than the capacity */
#define SPDL_BATCH_BAD 4u     /* a sample was skipped, masked or substituted: see the status column */
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
    uint32_t n_bad;        /* samples skipped, masked or substituted */
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

/* Wait for the next batch and lease it.
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
 * each once nothing published is left to take; SPDL_E_GROUP_CLOSED; SPDL_E_FORKED; SPDL_E_DETACHED. */
SPDL_API spdl_status spdl_acquire(spdl_reader *reader, int64_t timeout_ns, spdl_batch *out);

/* Say that a batch was used: it will not be delivered again. Its memory stays leased; in a stage it stays mapped, but
 * it is the next group's from here on, and must not be written. Does not block.
 * Calling it twice is fine. Returns SPDL_OK; SPDL_E_STALE if the lease has ended. */
SPDL_API spdl_status spdl_done(spdl_reader *reader, const spdl_batch *batch);

/* Give the slot back; the batch's memory must not be touched afterwards. Implies done. Does not block.
 * Returns SPDL_OK; SPDL_E_STALE if it was released before or taken back: nothing has changed then. */
SPDL_API spdl_status spdl_release(spdl_reader *reader, const spdl_batch *batch);

/* In a stage, say that a batch cannot be transformed, and why (at most 4,096 bytes go to the engine's log). The lease ends as
 * with spdl_release. The engine goes on by the description's bad_sample, as if every sample of the batch were bad, with cause
 * "stage": under skip the batch has no rows, under mask and substitute its rows are zero and masked, under fail the
 * engine ends with this text. Asks the engine; blocks up to 10 s.
 * Returns SPDL_OK; SPDL_E_ARGUMENT outside a stage; SPDL_E_STALE; SPDL_E_ENGINE_LOST. */
SPDL_API spdl_status spdl_fail(spdl_reader *reader, const spdl_batch *batch, const char *why);

/* ---- what a batch holds ----------------------------------------------------------------------- */

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
    int32_t device_type;             /* DLPack's DLDeviceType: 1 CPU */
    int32_t device_id;
} spdl_tensor;
#define SPDL_TENSOR_INIT \
    {sizeof(spdl_tensor), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, NULL, 0, 0}

/* How many tensors a batch has, and the place of the one called name (SPDL_E_NOT_FOUND, below zero, if
 * there is none). Constant for the reader's life. Every ring has the columns "index" (int64 [N], place
 * in the data set), "key" (ragged bytes) and "status" (uint8 [N], SPDL_ROW_*). */
SPDL_API uint32_t spdl_n_tensors(const spdl_reader *reader);
SPDL_API int32_t spdl_tensor_index(const spdl_reader *reader, const char *name);

/* Describe tensor i of a leased batch: a view, valid until spdl_release. Does not block.
 * Returns SPDL_OK; SPDL_E_ARGUMENT; SPDL_E_STALE; SPDL_E_FORMAT if the descriptor points outside its slot. */
SPDL_API spdl_status spdl_batch_tensor(spdl_reader *reader, const spdl_batch *batch, uint32_t i, spdl_tensor *out);

/* Describe tensor i of the schema: shape and bytes are capacities, data is NULL. */
SPDL_API spdl_status spdl_schema_tensor(const spdl_reader *reader, uint32_t i, spdl_tensor *out);

/* ---- information ------------------------------------------------------------------------------- */

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
    uint64_t global_batch;     /* rows of a global step over all ranks */
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
    uint64_t wait_ns;     /* spent waiting in acquire */
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

/* ---- order and state ------------------------------------------------------------------------------ */

/* Count batches this reader holds as completed, as a training loop does with the batch in hand. */
#define SPDL_STATE_COUNT_HELD 1u

/* Write this group's position as a small JSON text: which batches are completed. With NULL or too small
 * a buffer nothing is written but *need, the bytes needed, its final NUL included; then SPDL_E_ARGUMENT.
 * Asks the engine; blocks up to 10 s. */
SPDL_API spdl_status spdl_state_save(spdl_reader *reader, uint32_t flags, char *buffer, size_t bytes, size_t *need);

/* Go on from a saved position. Only for the single consumer of a ring with no other group, and with no
 * batch held undone. Returns SPDL_OK; SPDL_E_STATE with what differs; SPDL_E_BUSY. */
SPDL_API spdl_status spdl_state_load(spdl_reader *reader, const char *json);

/* Leave the rest of this epoch and begin the next. Only for a group with one consumer. */
SPDL_API spdl_status spdl_restart(spdl_reader *reader);

/* The engine's counters as JSON; buffer rules as in spdl_state_save. */
SPDL_API spdl_status spdl_stats(spdl_reader *reader, char *buffer, size_t bytes, size_t *need);

#ifdef __cplusplus
}
#endif

#endif
