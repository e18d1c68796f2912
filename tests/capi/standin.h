/* standin.h - an engine small enough to check by eye, for testing libspdl without the real one.
 *
 * It owns one ring with one group, follows the protocol of shm/layout.h, and publishes on demand. A
 * thread of its own answers the control socket. Its mappings are writable, so a test may forge anything.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include "../../include/spdl.h"
#include "../../shm/layout.h"

#include <pthread.h>
#include <stdbool.h>

#define STANDIN_GROUP_ID 7u
#define STANDIN_MEMBERS 16u
#define STANDIN_ROW_BYTES 96u
#define STANDIN_TENSORS 4u /* image, index, key, status; with device slots a fifth, image@cuda */
#define STANDIN_IMAGE 0u
#define STANDIN_DEVICE 4u
#define STANDIN_KEY 2u

enum { STANDIN_HEADER, STANDIN_GROUP, STANDIN_DATA, STANDIN_SEGMENTS };

typedef struct standin_opts {
    uint32_t slots, lanes, mode, access, backing, rows;
    uint64_t n_epochs;
    bool redeliver, unsealed, stage;
    uint32_t device_slots; /* of a pool 1, whose records are the test's to fill */
} standin_opts;
#define STANDIN_OPTS \
    { 8, 1, SPDL_L_MODE_SHARED, SPDL_L_ACCESS_SHARED, SPDL_L_BACKING_MEMFD, 4, 0, true, false, false, 0 }

typedef struct standin standin;

/* What the engine does with a hello. A test may set any of them before attaching. */
typedef struct standin_hooks {
    /* Change the welcome about to be sent; fds may be replaced (the old one is the hook's to close). */
    void (*welcome)(standin *s, spdl_l_welcome *w, int *fds, int *n_fds);
    const void *raw; /* answer every hello with these bytes instead */
    size_t raw_bytes;
    bool silent;  /* answer nothing */
    bool hang_up; /* close after hello */
} standin_hooks;

struct standin {
    standin_opts o;
    standin_hooks hooks;
    int fds[STANDIN_SEGMENTS];
    uint8_t *base[STANDIN_SEGMENTS];
    uint64_t bytes[STANDIN_SEGMENTS];
    spdl_l_header *header;
    spdl_l_state *state;
    spdl_l_group *group;
    spdl_l_ghead *ghead;
    spdl_l_header h; /* what was true before a test forged the segments: the stand-in goes by these */
    spdl_l_ghead g;
    int pidfd, space, stop;
    int events[STANDIN_MEMBERS];
    uint32_t detaches, last_max_leases;
    uint64_t kicks;
    char why[64];       /* of the last FAIL */
    char last_ring[64]; /* that a HELLO asked for */
    char directory[64], path[96];

    pthread_mutex_t lock; /* guards publishing, membership and the hooks against the socket's thread */
    uint64_t ticket, first_epoch;
    uint64_t generation; /* that batches are published with */
    uint32_t next_owner;
    pthread_t thread;
    bool serving;
    int listener;
    struct {
        int fd;
        int member; /* -1: none yet */
    } peers[STANDIN_MEMBERS];
};

/* Make the segments. Nothing is sealed and nobody can attach yet: forge at will. */
standin *standin_make(standin_opts o);
/* Seal, then answer on s->path (in a new directory), or on the connected socket fd if it is not -1. */
void standin_serve(standin *s, int fd);
/* Publish the next ticket. The slot, or -1 if none is free. last ends the epoch of the ticket's queue. */
int standin_publish(standin *s, uint64_t epoch, bool last);
/* What follows the death of owner. */
void standin_reap(standin *s, uint32_t owner);
void standin_set_state(standin *s, uint32_t state, const char *error);
void standin_close_group(standin *s, uint32_t state);
spdl_l_word *standin_word(standin *s, uint32_t slot);
spdl_l_lane *standin_lane(standin *s, uint32_t lane);
spdl_l_queue *standin_queue(standin *s, uint32_t lane);
spdl_l_desc *standin_desc(standin *s, uint32_t slot);
spdl_l_desc_tensor *standin_desc_tensor(standin *s, uint32_t slot, uint32_t i);
spdl_l_tensor *standin_tensor(standin *s, uint32_t i);
spdl_l_pool *standin_pool(standin *s, uint32_t i);
spdl_l_member *standin_member(standin *s, uint32_t i);
uint8_t *standin_slot(standin *s, uint32_t slot);
/* True if every byte of the batch's image is what its ticket says. */
bool standin_image_is(const void *image, uint32_t rows, uint64_t ticket);
void standin_free(standin *s);

#endif
