/* spdl shared-memory layout, version 1.6, as C. docs/layout.md is normative; shm/layout.go is the Go
 * twin; tests/golden holds all three together.
 *
 * Three kinds of segment:
 *
 *   header segment   written by the engine only; consumers map it read-only
 *   +--------------------+ 0
 *   | spdl_l_header      |   geometry: constant once `magic` is stored (it is stored last)
 *   +--------------------+ state_off     spdl_l_state     engine state, parked word, error text
 *   +--------------------+ group_off     spdl_l_group     [max_groups]
 *   +--------------------+ queue_off     spdl_l_queue     [max_queues]   tails and epochs
 *   +--------------------+ pool_off      spdl_l_pool      [n_pools]
 *   +--------------------+ tensor_off    spdl_l_tensor    [n_tensors]    the schema
 *   +--------------------+ desc_off      spdl_l_desc + n_tensors * spdl_l_desc_tensor   [n_slots]
 *   +--------------------+ owner_off     spdl_l_owner     [max_owners]   who is a member, for the next engine
 *   +--------------------+ note_off      two notes of note_bytes         the producer's own, for the next engine
 *   +--------------------+ late_off      two lists of late_bytes         which tickets are published, for the next engine
 *   +--------------------+ text_off      text: JSON with class names and free-form facts
 *
 *   group segment    one per group; mapped read-write by its members and the engine
 *   +--------------------+ 0
 *   | spdl_l_ghead       |   geometry of this segment, constant once sealed
 *   +--------------------+ lane_off      spdl_l_lane + 2 * n_entries u64   [n_lanes]
 *   +--------------------+ word_off      spdl_l_word     [n_slots]
 *   +--------------------+ member_off    spdl_l_member   [max_members]
 *
 *   data segment     slot i at i * slot_stride; no header; written by the engine, by members of stages, and on a private ring by its
 *                    one consumer
 *
 * All integers little-endian. Words with different writers sit 128 bytes apart, but for those that are handed over with their
 * slot and a lane's `sleepers` and `armed`. Reserved bytes are zero. Readers take offsets and strides from the header and never recompute them.
 */
#ifndef SPDL_LAYOUT_H
#define SPDL_LAYOUT_H

#include <stdint.h>

#define SPDL_L_MAGIC_RING 0x31474e524c445053ull  /* "SPDLRNG1" */
#define SPDL_L_MAGIC_GROUP 0x315052474c445053ull /* "SPDLGRP1" */
#define SPDL_L_MAJOR 1u
#define SPDL_L_MINOR 6u
#define SPDL_L_ENDIAN 0x01020304u
#define SPDL_L_LINE 128u
#define SPDL_L_NAME 64u   /* bytes of a name, NUL-terminated, NUL-padded */
#define SPDL_L_MAX_NDIM 8u
#define SPDL_L_MAX_SLOTS 65536u
#define SPDL_L_MAX_TENSORS 256u
#define SPDL_L_MAX_LANES 64u

/* Feature bits. A reader refuses a required bit it does not know and ignores optional ones. */
/* Bits of features_required. STAGED: a memfd ring of shared access has stage groups or an uploader, so its data segment is not sealed
 * against writing. DEVICE: tensors lie in pools of device memory, not in their slot. */
#define SPDL_L_FEATURE_STAGED 1ull
#define SPDL_L_FEATURE_DEVICE 2ull
#define SPDL_L_KNOWN_REQUIRED 3ull

/* A batch's way through the stages, spdl_l_desc.way: its state in bits 0 to 7, then VOID, the stage in bits 16 to 31, how
 * often it was made again in bits 32 to 63. */
enum {
    SPDL_L_WAY_OFF = 0,     /* no batch is between its publish and its consumers */
    SPDL_L_WAY_MOVING = 1,  /* it is being put into its stage, or to the consumers where the stage is past the last */
    SPDL_L_WAY_SET = 2,     /* it was put */
    SPDL_L_WAY_SPOILED = 3, /* its content is nothing to look at: it has to be made again */
    SPDL_L_WAY_VOID = 256,  /* a flag: nobody gets it any more */
};

enum { SPDL_L_ACCESS_PRIVATE = 1, SPDL_L_ACCESS_SHARED = 2 };
enum { SPDL_L_BACKING_POSIX = 1, SPDL_L_BACKING_MEMFD = 2 };

/* Engine state, spdl_l_state.state. */
enum {
    SPDL_L_STARTING = 0,
    SPDL_L_RUNNING = 1,
    SPDL_L_ENDED = 2,   /* every epoch asked for has been published; leases stay valid */
    SPDL_L_FAILED = 3,  /* error text says why; what was published may still be taken */
    SPDL_L_STOPPED = 4  /* orderly stop */
};

/* Group state, kind and mode. */
enum { SPDL_L_GROUP_ABSENT = 0, SPDL_L_GROUP_ACTIVE = 1, SPDL_L_GROUP_CLOSED = 2, SPDL_L_GROUP_BROKEN = 3 };
enum { SPDL_L_KIND_CONSUMER = 1, SPDL_L_KIND_STAGE = 2, SPDL_L_KIND_UPLOADER = 3, SPDL_L_KIND_TAGGED = 4 };
enum { SPDL_L_MODE_SHARED = 1, SPDL_L_MODE_LANES = 2 };
enum { SPDL_L_SLOW_BLOCK = 1, SPDL_L_SLOW_DROP = 2, SPDL_L_SLOW_DETACH = 3 };

/* Pool and tensor kinds. A reader skips a tensor of unknown kind. */
enum { SPDL_L_POOL_HOST_SHM = 1, SPDL_L_POOL_CUDA_IPC = 2, SPDL_L_POOL_VMM_FD = 3, SPDL_L_POOL_CUDA_EVENT = 4 };
enum { SPDL_L_FENCE_NONE = 0, SPDL_L_FENCE_CUDA_EVENT = 1 };
enum { SPDL_L_TENSOR_DENSE = 1, SPDL_L_TENSOR_RAGGED = 2 };
enum { SPDL_L_ROLE_FIELD = 1, SPDL_L_ROLE_INDEX = 2, SPDL_L_ROLE_KEY = 3, SPDL_L_ROLE_STATUS = 4, SPDL_L_ROLE_LABEL = 5 };
enum { SPDL_L_AXES_NONE = 0, SPDL_L_AXES_NHWC = 1, SPDL_L_AXES_NCHW = 2 };

/* Batch flags, spdl_l_desc.flags. */
#define SPDL_L_FLAG_LAST 1u         /* last batch of its epoch in its lane */
#define SPDL_L_FLAG_SHORT 2u        /* rows < capacity: the end of the data set, or skipped samples */
#define SPDL_L_FLAG_BAD 4u          /* at least one sample was skipped, masked or substituted, or lacks documents */
#define SPDL_L_FLAG_PADDED 8u       /* rows at the end repeat samples to fill the batch */
#define SPDL_L_FLAG_KEY_CUT 16u     /* at least one key was longer than 128 bytes */

/* The word of a slot in a group:  state 4 | owner 20 | sequence 40  (state in the top bits).
 * A ready entry:                  sequence 40 | slot 24. */
enum { SPDL_L_FREE = 0, SPDL_L_READY = 1, SPDL_L_HELD = 2, SPDL_L_DONE = 3 };
#define SPDL_L_SEQ_BITS 40
#define SPDL_L_OWNER_BITS 20
#define SPDL_L_SEQ_MASK ((1ull << 40) - 1)
#define SPDL_L_OWNER_MASK ((1u << 20) - 1)
#define SPDL_L_SEQ_REDO (1ull << 39) /* set in sequences handed out by a redelivery queue */
/* READY and in no queue: to be uploaded to a device again before it is handed out, or left to the next engine. */
#define SPDL_L_SEQ_AWAY 0xffffffffffull
#define SPDL_L_SEQ_AWAY_REDO 0xfffffffffeull
#define SPDL_L_WORD(state, owner, seq) (((uint64_t)(state) << 60) | ((uint64_t)(owner) << 40) | (uint64_t)(seq))
#define SPDL_L_STATE(w) ((uint32_t)((w) >> 60))
#define SPDL_L_OWNER(w) ((uint32_t)((w) >> 40) & SPDL_L_OWNER_MASK)
#define SPDL_L_SEQ(w) ((w) & SPDL_L_SEQ_MASK)
#define SPDL_L_ENTRY(seq, slot) (((uint64_t)(seq) << 24) | (uint64_t)(slot))
#define SPDL_L_ENTRY_SEQ(e) ((e) >> 24)
#define SPDL_L_ENTRY_SLOT(e) ((uint32_t)(e) & 0xffffffu)

/* ---- header segment ---------------------------------------------------------------------- */

typedef struct spdl_l_header { /* 1024 bytes */
    uint64_t magic;              /*   0  stored last, store-release; zero: not ready yet */
    uint32_t layout_major;       /*   8  a reader refuses another major */
    uint32_t layout_minor;       /*  12 */
    uint64_t header_bytes;       /*  16  size of this segment */
    uint32_t endian;             /*  24  SPDL_L_ENDIAN */
    uint32_t page_bytes;         /*  28  of the engine's machine */
    uint64_t features_required;  /*  32 */
    uint64_t features_optional;  /*  40 */
    uint8_t ring_uid[16];        /*  48  random, one per ring; an engine that adopts it keeps it */
    uint8_t boot_id[16];         /*  64 */
    uint8_t spec_hash[32];       /*  80  sha-256 of the description */
    uint64_t generation;         /* 112  counts engine starts on this ring; changes when it is adopted */
    uint32_t engine_pid;         /* 120  information only: identity is the pidfd; changes when it is adopted */
    uint32_t access;             /* 124 */
    uint32_t backing;            /* 128 */
    uint32_t n_slots;            /* 132 */
    uint32_t n_tensors;          /* 136 */
    uint32_t max_groups;         /* 140 */
    uint32_t max_queues;         /* 144 */
    uint32_t n_pools;            /* 148 */
    uint32_t batch_rows;         /* 152  capacity of the batch dimension */
    uint32_t world_size;         /* 156 */
    uint32_t first_rank;         /* 160  rank of lane 0 */
    uint32_t n_lanes;            /* 164  lanes of this ring: ticket % n_lanes is a ticket's lane */
    uint64_t data_bytes;         /* 168  size of the data segment */
    uint64_t slot_stride;        /* 176  bytes between slots, page-aligned */
    uint64_t state_off;          /* 184 */
    uint64_t group_off;          /* 192 */
    uint64_t group_stride;       /* 200 */
    uint64_t queue_off;          /* 208 */
    uint64_t queue_stride;       /* 216 */
    uint64_t pool_off;           /* 224 */
    uint64_t pool_stride;        /* 232 */
    uint64_t tensor_off;         /* 240 */
    uint64_t tensor_stride;      /* 248 */
    uint64_t desc_off;           /* 256 */
    uint64_t desc_stride;        /* 264 */
    uint64_t desc_tensor_off;    /* 272  of the first spdl_l_desc_tensor inside a descriptor */
    uint64_t desc_tensor_stride; /* 280 */
    uint64_t text_off;           /* 288 */
    uint64_t text_bytes;         /* 296 */
    uint64_t n_samples;          /* 304  samples in the data set */
    uint64_t global_batch;       /* 312  rows of a global step, all ranks */
    uint64_t steps_per_epoch;    /* 320  batches per lane and epoch */
    uint64_t n_epochs;           /* 328  0: endless */
    uint64_t seed;               /* 336 */
    char name[SPDL_L_NAME];      /* 344 */
    uint64_t owner_off;          /* 408 */
    uint64_t owner_stride;       /* 416 */
    uint32_t max_owners;         /* 424 */
    uint32_t reserved0;          /* 428 */
    uint64_t note_off;           /* 432  of the first of two notes */
    uint64_t note_bytes;         /* 440  of each; 0: none */
    uint64_t late_off;           /* 448  of the first of two lists of tickets */
    uint64_t late_bytes;         /* 456  of each; 0: none */
    uint8_t reserved[560];       /* 464 */
} spdl_l_header;

typedef struct spdl_l_state { /* 2048 bytes; engine-written */
    uint32_t state;            /*   0 */
    int32_t status;            /*   4  spdl_status that ended the engine, 0 while it runs */
    uint64_t published;        /*   8  batches published since start */
    uint64_t next_ticket;      /*  16  ticket of the next batch to be published */
    uint64_t heartbeat_ns;     /*  24  CLOCK_MONOTONIC of the last housekeeping; a gauge, never a verdict */
    uint64_t violations;       /*  32  impossible transitions seen */
    uint32_t last_owner;       /*  40  highest incarnation number given out */
    uint32_t last_group;       /*  44  highest group id given out */
    uint64_t note;             /*  48  bytes << 1 | which of the two notes counts; 0: none written */
    uint64_t late;             /*  56  of the two lists of tickets that which counts is this modulo 2; 0: none yet */
    uint64_t reserved0[8];     /*  64 */
    uint32_t parked;           /* 128  1: the engine waits for a free slot; whoever frees one kicks it */
    uint32_t reserved1[31];    /* 132 */
    uint32_t error_bytes;      /* 256 */
    char error[1020];          /* 260  why the engine failed; complete before state is stored */
    uint64_t lane_epoch[SPDL_L_MAX_LANES]; /* 1280  epoch of the next batch of each lane of the ring */
    uint8_t reserved2[256];    /* 1792 */
} spdl_l_state;

typedef struct spdl_l_group { /* 256 bytes; engine-written */
    uint32_t state;        /*   0 */
    uint32_t id;           /*   4  never reused within a ring */
    uint32_t kind;         /*   8 */
    uint32_t mode;         /*  12 */
    uint32_t n_lanes;      /*  16  1 for shared */
    uint32_t first_queue;  /*  20  index of lane 0's spdl_l_queue */
    uint32_t declared;     /*  24  1: named in the description; exists while empty */
    uint32_t slow;         /*  28 */
    uint32_t redeliver;    /*  32  0: what a dead member held is dropped and counted */
    uint32_t members;      /*  36  attached now */
    uint64_t publish_mask; /*  40  bit r: lane r of the ring is published to this group */
    uint64_t first_ticket; /*  48 */
    uint64_t segment_bytes;/*  56 */
    uint64_t published;    /*  64 */
    uint64_t completed;    /*  72  seen completed by the engine; may lag */
    uint64_t redelivered;  /*  80 */
    uint64_t dropped;      /*  88 */
    uint64_t violations;   /*  96 */
    char name[SPDL_L_NAME];/* 104 */
    uint64_t discarded;    /* 168  left out unclaimed: restart, load, end of the group */
    uint64_t min_epoch;    /* 176  batches of earlier epochs are not published to it */
    uint8_t reserved[72];  /* 184 */
} spdl_l_group;

typedef struct spdl_l_queue { /* 128 bytes; engine-written */
    uint64_t tail;         /*   0  entries ever put into ready[]; store-release after the entry */
    uint64_t redo_tail;    /*   8  entries ever put into redo[] */
    uint64_t next_epoch;   /*  16  epoch of the next batch this queue will get */
    uint32_t group;        /*  24  index of its group */
    uint32_t lane;         /*  28 */
    uint8_t reserved0[32]; /*  32 */
    uint64_t put_at;       /*  64  position of the last batch put into ready[], or being put */
    uint64_t put_count;    /*  72  the group's `published` once it is put */
    uint64_t put_ticket;   /*  80  its ticket + 1, stored after its place and slot; 0: none yet */
    uint32_t put_slot;     /*  88 */
    uint32_t reserved1;    /*  92 */
    uint8_t reserved[32];  /*  96 */
} spdl_l_queue;

/* A member as the engine knows it: what the next engine believes about it. */
typedef struct spdl_l_owner { /* 128 bytes; engine-written */
    uint32_t owner;        /*   0  incarnation number, stored last; 0: unused */
    int32_t pid;           /*   4  as the engine sees it; 0: in a pid namespace it cannot see into */
    uint64_t started;      /*   8  start time of that process, field 22 of /proc/PID/stat; 0: unknown */
    uint32_t group_index;  /*  16 */
    uint32_t group_id;     /*  20 */
    uint32_t member;       /*  24  index of its spdl_l_member */
    uint32_t lane;         /*  28  lane of the group */
    uint32_t max_leases;   /*  32 */
    uint32_t reserved0;    /*  36 */
    char client[32];       /*  40  for people */
    uint8_t reserved[56];  /*  72 */
} spdl_l_owner;

typedef struct spdl_l_pool { /* 128 bytes */
    uint32_t kind;         /*   0 */
    int32_t device_type;   /*   4  DLPack's DLDeviceType: 1 CPU, 2 CUDA */
    int32_t device_id;     /*   8  as its exporter counts; uuid says which device it is */
    uint32_t flags;        /*  12 */
    uint64_t bytes;        /*  16 */
    uint8_t handle[64];    /*  24  of the driver, for another process; of memory, or of an event */
    uint64_t generation;   /*  88  counts exporters, stored last; 0: void, as that of pool 0 always is */
    uint64_t slot_bytes;   /*  96  between device slots */
    uint8_t uuid[16];      /* 104  of the device */
    uint8_t reserved[8];   /* 120 */
} spdl_l_pool;

typedef struct spdl_l_tensor { /* 384 bytes */
    char name[SPDL_L_NAME];               /*   0 */
    uint32_t kind;                        /*  64 */
    uint32_t role;                        /*  68 */
    uint8_t dtype_code;                   /*  72  DLPack's codes: 0 int, 1 uint, 2 float, 4 bfloat */
    uint8_t dtype_bits;                   /*  73 */
    uint16_t dtype_lanes;                 /*  74 */
    uint32_t axes;                        /*  76 */
    uint32_t ndim;                        /*  80  the batch dimension included */
    uint32_t pool;                        /*  84  0: in the slot; else offset is that in a device slot of this pool */
    uint64_t offset;                      /*  88  in the slot, 64-byte aligned; ragged: of the values */
    uint64_t bytes;                       /*  96  capacity of the (values) area */
    uint64_t offsets_offset;              /* 104  ragged: int64 [rows + 1], in the slot */
    uint64_t offsets_bytes;               /* 112 */
    int64_t shape[SPDL_L_MAX_NDIM];       /* 120  capacity */
    int64_t strides[SPDL_L_MAX_NDIM];     /* 184  bytes */
    uint8_t reserved[136];                /* 248 */
} spdl_l_tensor;

typedef struct spdl_l_desc { /* 256 bytes, then n_tensors spdl_l_desc_tensor; written before publish,
                              * constant until the slot is FREE in every group */
    uint64_t ticket;       /*   0  place in the delivery order; never reused */
    uint64_t epoch;        /*   8 */
    uint64_t step;         /*  16  global step since the start of training */
    uint32_t rows;         /*  24 */
    uint32_t lane;         /*  28  lane of the ring */
    uint32_t flags;        /*  32 */
    uint32_t n_bad;        /*  36  samples skipped, masked or substituted in this batch, or without some of their documents */
    uint64_t publish_mask; /*  40 */
    uint64_t hash;         /*  48  0: not computed */
    uint64_t fetched_ns;   /*  56  CLOCK_MONOTONIC: last byte read */
    uint64_t decoded_ns;   /*  64  last row written */
    uint64_t published_ns; /*  72 */
    uint32_t pool;         /*  80  where its device tensors are; 0: there are none */
    uint32_t fence_kind;   /*  84  0: none, they are complete */
    uint64_t fence[4];     /*  88  with a pool: device slot, generation of the pool */
    uint64_t epoch_step;   /* 120  step within the epoch */
    uint64_t way;          /* 128  of the batch through the stages; changes until it has come to the consumers */
    uint8_t reserved[120]; /* 136 */
} spdl_l_desc;

typedef struct spdl_l_desc_tensor { /* 192 bytes */
    int64_t shape[SPDL_L_MAX_NDIM];   /*   0  of this batch, distinct from capacity */
    int64_t strides[SPDL_L_MAX_NDIM]; /*  64  bytes */
    uint64_t bytes;                   /* 128  used (values) bytes */
    int32_t device_type;              /* 136 */
    int32_t device_id;                /* 140 */
    uint64_t fence;                   /* 144 */
    uint8_t reserved[40];             /* 152 */
} spdl_l_desc_tensor;

/* ---- group segment ----------------------------------------------------------------------- */

typedef struct spdl_l_ghead { /* 256 bytes; engine-written, constant */
    uint64_t magic;         /*   0  stored last */
    uint32_t layout_major;  /*   8 */
    uint32_t layout_minor;  /*  12 */
    uint64_t bytes;         /*  16 */
    uint8_t ring_uid[16];   /*  24 */
    uint32_t group_id;      /*  40 */
    uint32_t group_index;   /*  44 */
    uint32_t n_lanes;       /*  48 */
    uint32_t n_slots;       /*  52 */
    uint32_t n_entries;     /*  56  power of two, >= n_slots */
    uint32_t max_members;   /*  60 */
    uint64_t lane_off;      /*  64 */
    uint64_t lane_stride;   /*  72 */
    uint64_t ready_off;     /*  80  of ready[], inside a lane */
    uint64_t redo_off;      /*  88  of redo[], inside a lane */
    uint64_t word_off;      /*  96 */
    uint64_t word_stride;   /* 104 */
    uint64_t member_off;    /* 112 */
    uint64_t member_stride; /* 120 */
    uint8_t reserved[128];  /* 128 */
} spdl_l_ghead;

typedef struct spdl_l_lane { /* 512 bytes, then ready[n_entries], redo[n_entries] */
    uint64_t head;         /*   0  hint: every position below is claimed; anybody moves it forward */
    uint8_t pad0[120];     /*   8 */
    uint64_t redo_head;    /* 128  the same for redo[] */
    uint8_t pad1[120];     /* 136 */
    uint32_t wake;         /* 256  futex word; whoever makes news adds one */
    uint8_t pad2[124];     /* 260 */
    uint32_t sleepers;     /* 384  1: somebody may sleep on wake; members set it, the engine alone clears it */
    uint32_t armed;        /* 388  1: some member asked for its event descriptor; who completes a batch kicks the engine */
    uint8_t pad3[120];     /* 392 */
} spdl_l_lane;

typedef struct spdl_l_word { /* 128 bytes */
    uint64_t word;         /*   0  state 4 | owner 20 | sequence 40; every change is a compare-and-swap */
    uint32_t attempts;     /*   8  engine-written: deliveries of this batch so far in this group, 1 = first */
    uint32_t reserved0;    /*  12 */
    uint64_t claimed_ns;   /*  16  holder-written, CLOCK_MONOTONIC */
    uint64_t done_ns;      /*  24  holder-written */
    uint8_t reserved1[96]; /*  32 */
} spdl_l_word;

typedef struct spdl_l_member { /* 256 bytes */
    uint32_t owner;         /*   0  engine-written; incarnation number, never reused; 0: record unused */
    uint32_t pid;           /*   4  engine-written, information only */
    uint32_t lane;          /*   8  engine-written, lane of the group */
    uint32_t max_leases;    /*  12  engine-written */
    uint64_t attached_ns;   /*  16  engine-written */
    uint8_t reserved0[104]; /*  24 */
    uint32_t armed;         /* 128  member sets 1, engine exchanges 0 and signals the event descriptor */
    uint32_t reserved1;     /* 132 */
    uint64_t epoch;         /* 136  member-written: the epoch it is in */
    uint64_t acquired;      /* 144  member-written counters and clocks, for people */
    uint64_t completed;     /* 152 */
    uint64_t wait_ns;       /* 160  total time spent waiting */
    uint64_t hold_ns;       /* 168  total time between claim and done */
    uint64_t waiting_since; /* 176  CLOCK_MONOTONIC, 0: not waiting */
    uint32_t presence;      /* 184  SPDL_L_PRESENCE_*: member 0 -> 1 and 1 -> 2, engine 0 -> 2 */
    uint32_t reserved2;     /* 188 */
    uint8_t reserved3[64];  /* 192 */
} spdl_l_member;

/* The engine knows a member from its registration on, the member knows of itself when it has the welcome: an engine killed
 * in between leaves a record that nobody will use. Both ends of that race are an exchange of one word. */
enum { SPDL_L_PRESENCE_WELCOMED = 0, SPDL_L_PRESENCE_HERE = 1, SPDL_L_PRESENCE_GONE = 2 };

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(spdl_l_header) == 1024, "header");
_Static_assert(sizeof(spdl_l_state) == 2048, "state");
_Static_assert(sizeof(spdl_l_group) == 256, "group");
_Static_assert(sizeof(spdl_l_queue) == 128, "queue");
_Static_assert(sizeof(spdl_l_owner) == 128, "owner");
_Static_assert(sizeof(spdl_l_pool) == 128, "pool");
_Static_assert(sizeof(spdl_l_tensor) == 384, "tensor");
_Static_assert(sizeof(spdl_l_desc) == 256, "desc");
_Static_assert(sizeof(spdl_l_desc_tensor) == 192, "desc tensor");
_Static_assert(sizeof(spdl_l_ghead) == 256, "group head");
_Static_assert(sizeof(spdl_l_lane) == 512, "lane");
_Static_assert(sizeof(spdl_l_word) == 128, "word");
_Static_assert(sizeof(spdl_l_member) == 256, "member");
#endif

/* ---- control socket ---------------------------------------------------------------------- */

/* A SOCK_SEQPACKET Unix socket; one message = spdl_l_msg, then `bytes` bytes of payload: a struct below
 * or text. Requests carry an id that the answer repeats. At most 64 KiB a message. */
#define SPDL_L_MSG_MAGIC 0x4d4c4450u /* "PDLM" */
#define SPDL_L_MSG_MAX 65536u
#define SPDL_L_WHY_MAX 4096u /* of FAIL's text; what is longer is cut */

enum {
    SPDL_L_MSG_HELLO = 1,    /* client: spdl_l_hello */
    SPDL_L_MSG_WELCOME = 2,  /* engine: spdl_l_welcome + descriptors header, group, data, engine pidfd, space, event */
    SPDL_L_MSG_ERROR = 3,    /* engine: status in spdl_l_msg.status, text as payload */
    SPDL_L_MSG_OK = 4,       /* engine: u64 or text as the request says */
    SPDL_L_MSG_DETACH = 5,   /* client: every lease was given back and every mapping removed; no answer */
    SPDL_L_MSG_STATE = 6,    /* client: spdl_l_state_req -> OK with JSON */
    SPDL_L_MSG_LOAD = 7,     /* client: JSON -> OK with u64 epoch */
    SPDL_L_MSG_RESTART = 8,  /* client: -> OK with u64 epoch it is in now */
    SPDL_L_MSG_STATS = 9,    /* client: -> OK with JSON */
    SPDL_L_MSG_OBSERVE = 10, /* inspector: -> OK + descriptors header, then one per active group (text: group indexes, JSON) */
    SPDL_L_MSG_EVICT = 11,   /* operator: spdl_l_evict -> OK */
    SPDL_L_MSG_STOP = 12,    /* operator or owner: orderly stop -> OK */
    SPDL_L_MSG_FAIL = 13,    /* member of a stage group: spdl_l_fail, text -> OK once the batch is not its own any more */
    SPDL_L_MSG_DEVICE = 14,  /* uploader: spdl_l_device, n_slots handles of events -> OK */
    SPDL_L_MSG_CONNECT = 15  /* member: one end of a socket pair of its own, as a descriptor -> OK; served as a connection */
};

typedef struct spdl_l_msg { /* 32 bytes */
    uint32_t magic;    /*  0 */
    uint16_t version;  /*  4  1 */
    uint16_t type;     /*  6 */
    uint32_t id;       /*  8 */
    int32_t status;    /* 12  spdl_status, answers only */
    uint32_t bytes;    /* 16  of payload */
    uint32_t reserved[3];
} spdl_l_msg;

typedef struct spdl_l_hello { /* 256 bytes */
    uint32_t layout_major;      /*  0 */
    uint32_t layout_minor;      /*  4 */
    uint32_t pid;               /*  8  information only */
    uint32_t mode;              /* 12  0: whatever the group has; else SPDL_L_MODE_* */
    int32_t lane;               /* 16  -1: any free one */
    uint32_t max_leases;        /* 20  0: 4, or as many as the ring has left */
    uint32_t flags;             /* 24  SPDL_L_HELLO_* */
    uint32_t n_lanes;           /* 28  a joining lanes group: how many; 0: the ring's */
    char group[SPDL_L_NAME];    /* 32  "": the only declared group, else a group of one's own */
    char ring[SPDL_L_NAME];     /* 96  which ring of the engine; "": its first */
    char client[32];            /* 160 "c", "python 3.11", for people */
    uint8_t ring_uid[16];       /* 192 with REJOIN: of the ring it is a member of */
    uint32_t owner;             /* 208 with REJOIN: its incarnation number */
    uint32_t group_id;          /* 212 with REJOIN */
    uint8_t reserved[40];       /* 216 */
} spdl_l_hello;
#define SPDL_L_HELLO_PIDFD 1u  /* the client's own pidfd is attached to the message */
#define SPDL_L_HELLO_REJOIN 2u /* it is a member already, welcomed by an engine that died */

typedef struct spdl_l_welcome { /* 128 bytes */
    uint32_t owner;        /*  0  incarnation number */
    uint32_t group_index;  /*  4 */
    uint32_t group_id;     /*  8 */
    uint32_t lane;         /* 12  lane of the group */
    uint32_t member;       /* 16  index of its spdl_l_member */
    uint32_t max_leases;   /* 20 */
    uint64_t epoch;        /* 24  the epoch it starts in */
    uint64_t header_bytes; /* 32 */
    uint64_t group_bytes;  /* 40 */
    uint64_t data_bytes;   /* 48 */
    uint64_t reconnect_ns; /* 56  how long to look for a restarted engine; 0: not at all */
    uint8_t reserved[64];  /* 64 */
} spdl_l_welcome;

typedef struct spdl_l_state_req { /* 16 + 8 * n bytes */
    uint32_t flags;      /* 0  1: count batches this consumer holds as completed */
    uint32_t n;          /* 4  tickets that follow: counted as completed too */
    uint64_t reserved;   /* 8 */
} spdl_l_state_req;
#define SPDL_L_STATE_COUNT_HELD 1u

typedef struct spdl_l_fail { /* 16 bytes, then why, as text */
    uint64_t word;       /* 0  HELD by the sender */
    uint32_t slot;       /* 8 */
    uint32_t reserved;   /* 12 */
} spdl_l_fail;

typedef struct spdl_l_device { /* 128 bytes, then a handle of 64 bytes for the event of each device slot */
    uint32_t device_id;   /*   0 */
    uint32_t n_slots;     /*   4  of device memory */
    uint64_t slot_bytes;  /*   8 */
    uint64_t bytes;       /*  16 */
    uint8_t uuid[16];     /*  24 */
    uint8_t handle[64];   /*  40  of the device memory */
    uint8_t reserved[24]; /* 104 */
} spdl_l_device;

typedef struct spdl_l_evict { /* 16 bytes */
    uint32_t owner;      /* 0  incarnation; 0: by pid */
    uint32_t pid;        /* 4 */
    uint64_t reserved;   /* 8 */
} spdl_l_evict;

#endif
