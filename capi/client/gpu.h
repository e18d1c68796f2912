/* gpu.h - what cuda.c, fence.c and pool.c share. */
#ifndef SPDL_GPU_H
#define SPDL_GPU_H

#include "internal.h"

#include "../cuda/driver.h"

/* Pinned memory that stands in for a slot's, while a lease has it. */
typedef struct staging {
    uint8_t *memory;                          /* NULL until it is first needed; kept until unpin */
    uint64_t token;                           /* of the lease; 0: free */
    uint64_t copied[SPDL_L_MAX_TENSORS / 64]; /* a bit for each tensor */
} staging;

/* A slot that is given back when an event was reached. */
typedef struct fence {
    struct fence *next;
    cu_event event;
    cu_context context; /* to ask in */
    bool own;           /* the event is ours, and used again */
    uint32_t slot;
    uint64_t token;
} fence;

/* One pool of device memory, of one generation, in our address space. */
typedef struct import {
    struct import *next;
    uint32_t pool, n_events;
    uint64_t generation, slot_bytes;
    cu_address base;
    cu_event *events; /* [n_events]: of the device slots; opened when one is first waited for */
    cu_device device;
    cu_context context;
    uint32_t users; /* leases */
} import;

/* Guarded by reader.gpu_lock. */
typedef struct gpu {
    const cuda_driver *driver;
    uint32_t mode; /* SPDL_PIN_* */
    cu_device device;
    cu_context context; /* retained; NULL: not pinned */
    uint64_t bytes;
    staging *staging; /* [max_leases], or NULL */
    fence *waiting, *idle;
    import *imports;
    uint64_t refused; /* generation of a pool that the driver does not open; 0: none */
    cu_result lost;   /* what the driver said when it lost the device; CU_OK */
} gpu;

/* The driver, loaded and started. call is the name for the error text. */
spdl_status sp_cuda(const char *call, const cuda_driver **out);
/* Take gpu_lock, and return the reader's record, NULL if nobody has asked for a GPU. Until sp_gpu_unlock, which wants what is left in `mode`,
 * this thread may ask the driver whatever it wants: another may be capturing a graph, which the driver makes void when anybody asks an event or
 * pins memory meanwhile, unless who asks says that it has no part in graphs. */
gpu *sp_gpu_lock(spdl_reader *r, int *mode);
void sp_gpu_unlock(spdl_reader *r, int mode);
/* The same, with the driver started and the record made on the first call. Nothing is locked on failure. */
spdl_status sp_gpu(spdl_reader *r, const char *call, gpu **out, int *mode);
/* Refuse a stream that is captured: what is put there happens when its graph is launched, with whatever lies there then. In its context. */
spdl_status sp_check_capture(const cuda_driver *d, const char *call, cu_stream stream, const char *remedy);
/* SPDL_E_DEVICE, or the status that says more. */
spdl_status sp_fail_cuda(const cuda_driver *d, const char *call, const char *what, cu_result error);

/* fence.c, pool.c: under gpu_lock, or when nobody else has the reader. */
void sp_fences_free(gpu *g);
void sp_pool_leave(spdl_reader *r, uint32_t slot); /* this slot's lease uses its pool no longer */
void sp_pools_close(gpu *g);

#endif
