/* standin.c - see standin.h. */
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define CHECKED(x)                                                     \
    do {                                                               \
        if (!(x)) {                                                    \
            fprintf(stderr, "standin: %s: %s\n", #x, strerror(errno)); \
            abort();                                                   \
        }                                                              \
    } while (0)

static uint64_t align(uint64_t v, uint64_t a) { return (v + a - 1) / a * a; }

/* ---- where things are -------------------------------------------------------------------------- */

static void *at(standin *s, int segment, uint64_t offset) { return s->base[segment] + offset; }
spdl_l_word *standin_word(standin *s, uint32_t slot) {
    return at(s, STANDIN_GROUP, s->g.word_off + slot * s->g.word_stride);
}
spdl_l_lane *standin_lane(standin *s, uint32_t lane) {
    return at(s, STANDIN_GROUP, s->g.lane_off + lane * s->g.lane_stride);
}
spdl_l_member *standin_member(standin *s, uint32_t i) {
    return at(s, STANDIN_GROUP, s->g.member_off + i * s->g.member_stride);
}
spdl_l_queue *standin_queue(standin *s, uint32_t lane) {
    return at(s, STANDIN_HEADER, s->h.queue_off + lane * s->h.queue_stride);
}
spdl_l_tensor *standin_tensor(standin *s, uint32_t i) {
    return at(s, STANDIN_HEADER, s->h.tensor_off + i * s->h.tensor_stride);
}
spdl_l_pool *standin_pool(standin *s, uint32_t i) {
    return at(s, STANDIN_HEADER, s->h.pool_off + i * s->h.pool_stride);
}
spdl_l_desc *standin_desc(standin *s, uint32_t slot) {
    return at(s, STANDIN_HEADER, s->h.desc_off + slot * s->h.desc_stride);
}
spdl_l_desc_tensor *standin_desc_tensor(standin *s, uint32_t slot, uint32_t i) {
    return at(s, STANDIN_HEADER,
              s->h.desc_off + slot * s->h.desc_stride + s->h.desc_tensor_off + i * s->h.desc_tensor_stride);
}
uint8_t *standin_slot(standin *s, uint32_t slot) { return s->base[STANDIN_DATA] + slot * s->h.slot_stride; }

static uint32_t group_lanes(const standin *s) { return s->o.mode == SPDL_L_MODE_LANES ? s->o.lanes : 1; }

/* ---- making -------------------------------------------------------------------------------------- */

static uint64_t lay_out_header(spdl_l_header *h, const standin_opts *o) {
    uint64_t at_ = sizeof *h;
#define PLACE(field, bytes) (h->field = at_, at_ = align(at_ + (bytes), 128))
    h->group_stride = sizeof(spdl_l_group), h->queue_stride = sizeof(spdl_l_queue),
    h->pool_stride = sizeof(spdl_l_pool);
    h->tensor_stride = sizeof(spdl_l_tensor), h->desc_tensor_off = sizeof(spdl_l_desc);
    h->desc_tensor_stride = sizeof(spdl_l_desc_tensor);
    h->desc_stride = sizeof(spdl_l_desc) + h->n_tensors * sizeof(spdl_l_desc_tensor);
    h->text_bytes = 14;
    PLACE(state_off, sizeof(spdl_l_state));
    PLACE(group_off, h->group_stride * h->max_groups);
    PLACE(queue_off, h->queue_stride * h->max_queues);
    PLACE(pool_off, h->pool_stride * h->n_pools);
    PLACE(tensor_off, h->tensor_stride * h->n_tensors);
    PLACE(desc_off, h->desc_stride * o->slots);
    PLACE(text_off, h->text_bytes);
#undef PLACE
    return align(at_, 4096);
}

static void fill_header(spdl_l_header *h, const standin_opts *o) {
    memset(h, 0, sizeof *h);
    h->layout_major = SPDL_L_MAJOR, h->layout_minor = SPDL_L_MINOR, h->endian = SPDL_L_ENDIAN,
    h->page_bytes = 4096;
    memset(h->ring_uid, 0x5a, sizeof h->ring_uid);
    h->engine_pid = (uint32_t)getpid(), h->access = o->access, h->backing = o->backing, h->n_slots = o->slots;
    h->n_tensors = STANDIN_TENSORS + (o->device_slots > 0), h->max_groups = 2,
    h->max_queues = SPDL_L_MAX_LANES;
    h->n_pools = o->device_slots ? 2 + o->device_slots : 1;
    h->batch_rows = o->rows, h->world_size = o->lanes, h->n_lanes = o->lanes, h->first_rank = 0;
    h->n_samples = 1000, h->global_batch = (uint64_t)o->rows * o->lanes, h->steps_per_epoch = 10,
    h->n_epochs = o->n_epochs;
    h->seed = 42, h->slot_stride = 8192, h->data_bytes = 8192ull * o->slots;
    strcpy(h->name, "standin");
    if (o->stage && o->access == SPDL_L_ACCESS_SHARED && o->backing == SPDL_L_BACKING_MEMFD)
        h->features_required = SPDL_L_FEATURE_STAGED;
    if (o->device_slots) h->features_required |= SPDL_L_FEATURE_DEVICE;
    h->header_bytes = lay_out_header(h, o);
}

static void fill_tensor(spdl_l_tensor *t, const char *name, uint32_t role, uint32_t code, uint32_t bits,
                        uint64_t offset, int64_t rows, int64_t columns) {
    strcpy(t->name, name);
    t->kind = SPDL_L_TENSOR_DENSE, t->role = role, t->dtype_code = (uint8_t)code,
    t->dtype_bits = (uint8_t)bits, t->dtype_lanes = 1;
    t->ndim = columns ? 2 : 1, t->offset = offset, t->shape[0] = rows, t->shape[1] = columns;
    t->bytes = (uint64_t)(rows * (columns ? columns : 1)) * bits / 8;
    t->strides[0] = (columns ? columns : 1) * (int64_t)bits / 8, t->strides[1] = columns ? bits / 8 : 0;
}

static void fill_schema(standin *s) {
    int64_t rows = s->o.rows;
    fill_tensor(standin_tensor(s, 0), "image", SPDL_L_ROLE_FIELD, 1, 8, 0, rows, STANDIN_ROW_BYTES);
    fill_tensor(standin_tensor(s, 1), "index", SPDL_L_ROLE_INDEX, 0, 64, 4096, rows, 0);
    fill_tensor(standin_tensor(s, 2), "key", SPDL_L_ROLE_KEY, 1, 8, 4608, rows * 8, 0);
    fill_tensor(standin_tensor(s, 3), "status", SPDL_L_ROLE_STATUS, 1, 8, 5120, rows, 0);
    standin_tensor(s, 2)->kind = SPDL_L_TENSOR_RAGGED;
    standin_tensor(s, 2)->offsets_offset = 5632;
    standin_tensor(s, 2)->offsets_bytes = (uint64_t)(rows + 1) * 8;
    if (s->o.device_slots) {
        fill_tensor(standin_tensor(s, STANDIN_DEVICE), "image@cuda", SPDL_L_ROLE_FIELD, 1, 8, 0, rows,
                    STANDIN_ROW_BYTES);
        standin_tensor(s, STANDIN_DEVICE)->pool = 1;
    }
    memcpy(at(s, STANDIN_HEADER, s->header->text_off), "{\"classes\":[]}", 14);
}

static void fill_group(standin *s) {
    uint32_t entries = 1, lanes = group_lanes(s);
    while (entries < s->o.slots) entries *= 2;
    spdl_l_ghead *g = s->ghead;
    g->layout_major = SPDL_L_MAJOR, g->bytes = s->bytes[STANDIN_GROUP], g->group_id = STANDIN_GROUP_ID,
    g->n_lanes = lanes;
    memcpy(g->ring_uid, s->header->ring_uid, sizeof g->ring_uid);
    g->n_slots = s->o.slots, g->n_entries = entries, g->max_members = STANDIN_MEMBERS;
    g->ready_off = sizeof(spdl_l_lane), g->redo_off = g->ready_off + 8ull * entries;
    g->lane_off = sizeof *g, g->lane_stride = align(g->redo_off + 8ull * entries, 128);
    g->word_off = g->lane_off + g->lane_stride * lanes, g->word_stride = sizeof(spdl_l_word);
    g->member_off = g->word_off + g->word_stride * s->o.slots, g->member_stride = sizeof(spdl_l_member);
    CHECKED(g->member_off + g->member_stride * g->max_members <= g->bytes);
    g->magic = SPDL_L_MAGIC_GROUP;
    s->g = *g;
    spdl_l_group *r = s->group;
    r->state = SPDL_L_GROUP_ACTIVE, r->id = STANDIN_GROUP_ID,
    r->kind = s->o.stage ? SPDL_L_KIND_STAGE : SPDL_L_KIND_CONSUMER, r->mode = s->o.mode;
    r->n_lanes = lanes, r->declared = 1, r->publish_mask = ~0ull;
    strcpy(r->name, "g");
}

static void make_segment(standin *s, int i, const char *name, uint64_t bytes) {
    s->bytes[i] = align(bytes, 4096);
    s->fds[i] = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECKED(s->fds[i] >= 0 && ftruncate(s->fds[i], (off_t)s->bytes[i]) == 0);
    s->base[i] = mmap(NULL, s->bytes[i], PROT_READ | PROT_WRITE, MAP_SHARED, s->fds[i], 0);
    CHECKED(s->base[i] != MAP_FAILED);
}

standin *standin_make(standin_opts o) {
    standin *s = calloc(1, sizeof *s);
    CHECKED(s);
    s->o = o;
    s->next_owner = 1;
    spdl_l_header h;
    fill_header(&h, &o);
    make_segment(s, STANDIN_HEADER, "standin.h", h.header_bytes);
    make_segment(s, STANDIN_GROUP, "standin.g", 4096 + 4096 * 2 + 65536 + 1280ull * o.slots * o.lanes);
    make_segment(s, STANDIN_DATA, "standin.d", h.data_bytes);
    s->header = at(s, STANDIN_HEADER, 0);
    *s->header = s->h = h;
    s->state = at(s, STANDIN_HEADER, h.state_off);
    s->group = at(s, STANDIN_HEADER, h.group_off);
    s->ghead = at(s, STANDIN_GROUP, 0);
    s->state->state = SPDL_L_RUNNING;
    fill_schema(s);
    fill_group(s);
    s->header->magic = SPDL_L_MAGIC_RING;
    s->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    s->space = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECKED(s->pidfd >= 0 && s->space >= 0 && s->stop >= 0);
    for (uint32_t i = 0; i < STANDIN_MEMBERS; i++) {
        s->events[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        CHECKED(s->events[i] >= 0);
        s->peers[i].fd = s->peers[i].member = -1;
    }
    s->listener = -1;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

/* ---- publishing ------------------------------------------------------------------------------------- */

static void signal_armed(standin *s, uint32_t lane) {
    __atomic_exchange_n(&standin_lane(s, lane)->armed, 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < STANDIN_MEMBERS; i++) {
        spdl_l_member *m = standin_member(s, i);
        if (m->owner == 0 || m->lane != lane || __atomic_exchange_n(&m->armed, 0, __ATOMIC_SEQ_CST) == 0)
            continue;
        uint64_t one = 1;
        CHECKED(write(s->events[i], &one, sizeof one) == sizeof one);
    }
}

static void wake_queue(standin *s, uint32_t lane) {
    spdl_l_lane *l = standin_lane(s, lane);
    uint32_t sleepers = __atomic_exchange_n(&l->sleepers, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&l->wake, 1, __ATOMIC_SEQ_CST);
    if (sleepers) syscall(SYS_futex, &l->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    signal_armed(s, lane);
}

static int free_slot(standin *s) {
    for (uint32_t i = 0; i < s->o.slots; i++)
        if (SPDL_L_STATE(__atomic_load_n(&standin_word(s, i)->word, __ATOMIC_ACQUIRE)) == SPDL_L_FREE)
            return (int)i;
    return -1;
}

static uint8_t pattern(uint64_t ticket, uint32_t i) { return (uint8_t)(ticket * 31 + i * 7 + 1); }

bool standin_image_is(const void *image, uint32_t rows, uint64_t ticket) {
    const uint8_t *p = image;
    for (uint32_t i = 0; i < rows * STANDIN_ROW_BYTES; i++)
        if (p[i] != pattern(ticket, i)) return false;
    return true;
}

static void fill_slot(standin *s, uint32_t slot, uint64_t ticket) {
    uint8_t *p = standin_slot(s, slot);
    int64_t *index = (int64_t *)(void *)(p + 4096), *offsets = (int64_t *)(void *)(p + 5632);
    for (uint32_t i = 0; i < s->o.rows * STANDIN_ROW_BYTES; i++) p[i] = pattern(ticket, i);
    for (uint32_t i = 0; i < s->o.rows; i++) {
        index[i] = (int64_t)(ticket * s->o.rows + i);
        offsets[i] = i * 3;
        memcpy(p + 4608 + i * 3, "key", 3);
        p[5120 + i] = 0;
    }
    offsets[s->o.rows] = s->o.rows * 3;
}

static void fill_desc(standin *s, uint32_t slot, uint64_t epoch, bool last) {
    spdl_l_desc *d = standin_desc(s, slot);
    uint64_t t = s->ticket;
    d->ticket = t, d->step = t / s->o.lanes, d->rows = s->o.rows, d->flags = last ? SPDL_L_FLAG_LAST : 0,
    d->n_bad = 0;
    d->publish_mask = ~0ull, d->published_ns = 1 + t;
    __atomic_store_n(&d->lane, (uint32_t)(t % s->o.lanes), __ATOMIC_RELAXED);
    __atomic_store_n(&d->epoch, epoch, __ATOMIC_RELAXED);
    if (s->o.device_slots && s->generation) {
        d->pool = 1, d->fence_kind = SPDL_L_FENCE_CUDA_EVENT;
        d->fence[0] = slot % s->o.device_slots, d->fence[1] = s->generation;
    }
    for (uint32_t i = 0; i < s->h.n_tensors; i++) {
        spdl_l_tensor *t_ = standin_tensor(s, i);
        spdl_l_desc_tensor *dt = standin_desc_tensor(s, slot, i);
        memcpy(dt->shape, t_->shape, sizeof dt->shape);
        memcpy(dt->strides, t_->strides, sizeof dt->strides);
        dt->bytes = i == STANDIN_KEY ? s->o.rows * 3 : t_->bytes;
        if (i == STANDIN_KEY) dt->shape[0] = s->o.rows * 3;
        dt->device_type = i == STANDIN_DEVICE ? 2 : 1;
    }
}

static void put_entry(standin *s, uint32_t lane, bool redo, uint32_t slot, uint64_t seq) {
    uint8_t *l = (uint8_t *)standin_lane(s, lane);
    uint64_t *entries = (uint64_t *)(void *)(l + (redo ? s->g.redo_off : s->g.ready_off));
    uint64_t *tail = redo ? &standin_queue(s, lane)->redo_tail : &standin_queue(s, lane)->tail;
    uint64_t p = *tail;
    __atomic_store_n(&entries[p & (s->g.n_entries - 1)], SPDL_L_ENTRY(seq, slot), __ATOMIC_RELAXED);
    __atomic_store_n(tail, p + 1, __ATOMIC_RELEASE); /* R2 */
}

int standin_publish(standin *s, uint64_t epoch, bool last) {
    pthread_mutex_lock(&s->lock);
    int slot = free_slot(s);
    if (slot >= 0) {
        uint32_t lanes = group_lanes(s), lane = (uint32_t)(s->ticket % lanes);
        uint64_t seq = standin_queue(s, lane)->tail * lanes + lane;
        fill_slot(s, (uint32_t)slot, s->ticket);
        fill_desc(s, (uint32_t)slot, epoch, last);
        __atomic_store_n(&standin_word(s, (uint32_t)slot)->attempts, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&standin_word(s, (uint32_t)slot)->word, SPDL_L_WORD(SPDL_L_READY, 0, seq),
                         __ATOMIC_RELEASE); /* R1 */
        put_entry(s, lane, false, (uint32_t)slot, seq);
        if (last) __atomic_store_n(&standin_queue(s, lane)->next_epoch, epoch + 1, __ATOMIC_RELEASE); /* R3 */
        s->ticket++;
        wake_queue(s, lane);
    }
    pthread_mutex_unlock(&s->lock);
    return slot;
}

static void reap_locked(standin *s, uint32_t owner) {
    for (uint32_t i = 0; i < s->o.slots; i++) {
        spdl_l_word *w = standin_word(s, i);
        uint64_t v = __atomic_load_n(&w->word, __ATOMIC_ACQUIRE);
        if (SPDL_L_OWNER(v) != owner || (SPDL_L_STATE(v) != SPDL_L_HELD && SPDL_L_STATE(v) != SPDL_L_DONE))
            continue;
        uint32_t lanes = group_lanes(s), lane = standin_desc(s, i)->lane % lanes;
        if (SPDL_L_STATE(v) == SPDL_L_DONE || !s->o.redeliver) {
            __atomic_store_n(&w->word, SPDL_L_WORD(SPDL_L_FREE, 0, SPDL_L_SEQ(v)), __ATOMIC_RELEASE);
            continue;
        }
        uint64_t seq = SPDL_L_SEQ_REDO | (standin_queue(s, lane)->redo_tail * lanes + lane);
        __atomic_fetch_add(&w->attempts, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&w->word, SPDL_L_WORD(SPDL_L_READY, 0, seq), __ATOMIC_RELEASE);
        put_entry(s, lane, true, i, seq);
    }
    for (uint32_t lane = 0; lane < group_lanes(s); lane++) wake_queue(s, lane);
}

void standin_reap(standin *s, uint32_t owner) {
    pthread_mutex_lock(&s->lock);
    reap_locked(s, owner);
    pthread_mutex_unlock(&s->lock);
}

void standin_set_state(standin *s, uint32_t state, const char *error) {
    if (error) {
        s->state->error_bytes = (uint32_t)strlen(error);
        memcpy(s->state->error, error, strlen(error));
    }
    __atomic_store_n(&s->state->state, state, __ATOMIC_RELEASE);
    for (uint32_t lane = 0; lane < group_lanes(s); lane++) wake_queue(s, lane);
}

void standin_close_group(standin *s, uint32_t state) {
    __atomic_store_n(&s->group->state, state, __ATOMIC_RELEASE);
    for (uint32_t lane = 0; lane < group_lanes(s); lane++) wake_queue(s, lane);
}

/* ---- the control socket -------------------------------------------------------------------------------- */

static void answer(int fd, uint16_t type, uint32_t id, int32_t status, const void *payload, uint32_t bytes,
                   const int *fds, int n) {
    spdl_l_msg head = {
        .magic = SPDL_L_MSG_MAGIC, .version = 1, .type = type, .id = id, .status = status, .bytes = bytes};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)payload, bytes}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 64)];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    if (n > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS,
        c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n);
    }
    sendmsg(fd, &m, MSG_NOSIGNAL);
}

static void refuse(int fd, uint32_t id, int32_t status, const char *text) {
    answer(fd, SPDL_L_MSG_ERROR, id, status, text, (uint32_t)strlen(text), NULL, 0);
}

static int lane_for(standin *s, const spdl_l_hello *h) {
    if (s->o.mode != SPDL_L_MODE_LANES) return 0;
    for (uint32_t lane = 0; lane < s->o.lanes; lane++) {
        bool taken = h->lane >= 0 && (uint32_t)h->lane != lane;
        for (uint32_t i = 0; i < STANDIN_MEMBERS; i++)
            if (standin_member(s, i)->owner && standin_member(s, i)->lane == lane) taken = true;
        if (!taken) return (int)lane;
    }
    return -1;
}

/* How many the client asks for; 4 where it asks for no number. */
static uint32_t leases_for(const spdl_l_hello *h) { return h->max_leases ? h->max_leases : 4; }

static int member_for(standin *s, const spdl_l_hello *h) {
    uint32_t reserved = leases_for(h);
    int place = -1;
    for (int i = STANDIN_MEMBERS - 1; i >= 0; i--) {
        spdl_l_member *m = standin_member(s, (uint32_t)i);
        if (m->owner)
            reserved += m->max_leases;
        else
            place = i;
    }
    return reserved + 2 > s->o.slots ? -1 : place;
}

static void add_peer(standin *s, int fd) {
    for (uint32_t i = 0; fd >= 0 && i < STANDIN_MEMBERS; i++) {
        if (s->peers[i].fd >= 0) continue;
        s->peers[i].fd = fd;
        return;
    }
    if (fd >= 0) close(fd);
}

static void greet(standin *s, int peer, uint32_t id, const spdl_l_hello *h) {
    int fd = s->peers[peer].fd;
    memcpy(s->last_ring, h->ring, sizeof s->last_ring);
    __atomic_store_n(&s->last_max_leases, h->max_leases, __ATOMIC_RELEASE);
    if (s->hooks.silent) return;
    if (s->hooks.raw) {
        CHECKED(send(fd, s->hooks.raw, s->hooks.raw_bytes, MSG_NOSIGNAL) >= 0);
        return;
    }
    if (h->group[0] && strcmp(h->group, s->group->name) != 0)
        return refuse(fd, id, SPDL_E_NOT_FOUND, "no such group");
    int lane = lane_for(s, h), place = member_for(s, h);
    if (lane < 0 || place < 0)
        return refuse(fd, id, SPDL_E_BUSY, "standin: no lane or no slot left to reserve");
    s->peers[peer].member = place;
    spdl_l_member *m = standin_member(s, (uint32_t)place);
    memset(m, 0, sizeof *m);
    m->owner = s->next_owner++, m->pid = h->pid, m->lane = (uint32_t)lane, m->max_leases = leases_for(h);
    uint64_t drain;
    ssize_t n = read(s->events[place], &drain, sizeof drain);
    (void)n;
    spdl_l_welcome w = {.owner = m->owner,
                        .group_id = STANDIN_GROUP_ID,
                        .lane = (uint32_t)lane,
                        .member = (uint32_t)place,
                        .max_leases = m->max_leases,
                        .epoch = s->first_epoch,
                        .header_bytes = s->bytes[0],
                        .group_bytes = s->bytes[1],
                        .data_bytes = s->bytes[2]};
    int fds[64] = {s->fds[0], s->fds[1], s->fds[2], s->pidfd, s->space, s->events[place]};
    int n_fds = 6;
    if (s->hooks.welcome) s->hooks.welcome(s, &w, fds, &n_fds);
    answer(fd, SPDL_L_MSG_WELCOME, id, 0, &w, sizeof w, fds, n_fds);
}

static void drop_peer(standin *s, int peer) {
    int member = s->peers[peer].member;
    if (member >= 0) {
        spdl_l_member *m = standin_member(s, (uint32_t)member);
        uint32_t owner = m->owner;
        m->owner = 0;
        reap_locked(s, owner);
    }
    if (s->peers[peer].fd >= 0) close(s->peers[peer].fd);
    s->peers[peer].fd = s->peers[peer].member = -1;
}

/* FAIL: the word is taken back before the answer. */
static void take_failed(standin *s, int fd, const spdl_l_msg *m, const uint8_t *payload) {
    spdl_l_fail f;
    memcpy(&f, payload, sizeof f);
    snprintf(s->why, sizeof s->why, "%.*s", (int)(m->bytes - sizeof f), (const char *)payload + sizeof f);
    uint64_t held = f.word, free_ = SPDL_L_WORD(SPDL_L_FREE, 0, SPDL_L_SEQ(f.word));
    if (!__atomic_compare_exchange_n(&standin_word(s, f.slot)->word, &held, free_, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return refuse(fd, m->id, SPDL_E_STALE, "standin: the lease has ended");
    answer(fd, SPDL_L_MSG_OK, m->id, 0, NULL, 0, NULL, 0);
}

/* passed: a descriptor that came with the message, or -1; it is the caller's to close. */
static void serve_request(standin *s, int peer, const spdl_l_msg *m, const uint8_t *payload, int passed) {
    int fd = s->peers[peer].fd;
    uint64_t epoch = 3;
    switch (m->type) {
    case SPDL_L_MSG_HELLO: {
        spdl_l_hello h;
        memcpy(&h, payload, sizeof h);
        greet(s, peer, m->id, &h);
        if (s->hooks.hang_up) drop_peer(s, peer);
        break;
    }
    case SPDL_L_MSG_DETACH:
        drop_peer(s, peer);
        __atomic_fetch_add(&s->detaches, 1, __ATOMIC_RELEASE); /* last: who sees it sees what it left */
        break;
    case SPDL_L_MSG_STATE:
        answer(fd, SPDL_L_MSG_OK, m->id, 0, payload[0] ? "{\"held\":1}" : "{\"held\":0}", 10, NULL, 0);
        break;
    case SPDL_L_MSG_FAIL: take_failed(s, fd, m, payload); break;
    case SPDL_L_MSG_CONNECT:
        add_peer(s, dup(passed));
        answer(fd, SPDL_L_MSG_OK, m->id, 0, NULL, 0, NULL, 0);
        break;
    case SPDL_L_MSG_STATS: answer(fd, SPDL_L_MSG_OK, m->id, 0, "{\"stats\":1}", 11, NULL, 0); break;
    case SPDL_L_MSG_RESTART: answer(fd, SPDL_L_MSG_OK, m->id, 0, &epoch, sizeof epoch, NULL, 0); break;
    case SPDL_L_MSG_LOAD: {
        if (memcmp(payload, "{\"epoch\":", 9) != 0)
            return refuse(fd, m->id, SPDL_E_STATE, "standin: not a state of this ring");
        epoch = (uint64_t)(payload[9] - '0');
        answer(fd, SPDL_L_MSG_OK, m->id, 0, &epoch, sizeof epoch, NULL, 0);
        break;
    }
    default: refuse(fd, m->id, SPDL_E_UNSUPPORTED, "standin: unknown request");
    }
}

static void read_peer(standin *s, int peer) {
    static _Thread_local uint8_t buffer[SPDL_L_MSG_MAX];
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {buffer, sizeof buffer};
    struct msghdr h = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(s->peers[peer].fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&h) : NULL;
    int passed = -1; /* a pidfd of the peer: in one process our own is as good */
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&passed, CMSG_DATA(c), sizeof passed);
    spdl_l_msg m;
    if (n < (ssize_t)sizeof m) {
        drop_peer(s, peer);
    } else {
        memcpy(&m, buffer, sizeof m);
        serve_request(s, peer, &m, buffer + sizeof m, passed);
    }
    if (passed >= 0) close(passed);
}

static void *serve(void *arg) {
    standin *s = arg;
    for (;;) {
        struct pollfd p[STANDIN_MEMBERS + 3] = {
            {s->stop, POLLIN, 0}, {s->space, POLLIN, 0}, {s->listener, POLLIN, 0}};
        for (uint32_t i = 0; i < STANDIN_MEMBERS; i++) p[3 + i] = (struct pollfd){s->peers[i].fd, POLLIN, 0};
        poll(p, STANDIN_MEMBERS + 3, -1);
        if (p[0].revents) return NULL;
        pthread_mutex_lock(&s->lock);
        uint64_t n;
        if (p[1].revents && read(s->space, &n, sizeof n) == sizeof n) {
            __atomic_fetch_add(&s->kicks, n, __ATOMIC_RELEASE);
            for (uint32_t lane = 0; lane < group_lanes(s); lane++) signal_armed(s, lane);
        }
        if (p[2].revents) add_peer(s, accept4(s->listener, NULL, NULL, SOCK_CLOEXEC));
        for (uint32_t i = 0; i < STANDIN_MEMBERS; i++)
            if (p[3 + i].revents && s->peers[i].fd >= 0) read_peer(s, (int)i);
        pthread_mutex_unlock(&s->lock);
    }
}

static void seal(standin *s) {
    if (s->o.unsealed || s->o.backing != SPDL_L_BACKING_MEMFD) return;
    int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    CHECKED(fcntl(s->fds[STANDIN_HEADER], F_ADD_SEALS, all | F_SEAL_FUTURE_WRITE) == 0);
    CHECKED(fcntl(s->fds[STANDIN_GROUP], F_ADD_SEALS, all) == 0);
    CHECKED(fcntl(s->fds[STANDIN_DATA], F_ADD_SEALS,
                  all | (s->o.access == SPDL_L_ACCESS_SHARED && !s->o.stage ? F_SEAL_FUTURE_WRITE : 0)) == 0);
}

static void listen_on_path(standin *s) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (!s->path[0]) {
        strcpy(s->directory, "/tmp/spdl-standin-XXXXXX");
        CHECKED(mkdtemp(s->directory));
        snprintf(s->path, sizeof s->path, "%s/ring.sock", s->directory);
    }
    strcpy(a.sun_path, s->path);
    s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECKED(s->listener >= 0 && bind(s->listener, (struct sockaddr *)&a, sizeof a) == 0 &&
            listen(s->listener, 16) == 0);
}

void standin_serve(standin *s, int fd) {
    seal(s);
    if (fd >= 0)
        add_peer(s, fd);
    else
        listen_on_path(s);
    s->serving = true;
    CHECKED(pthread_create(&s->thread, NULL, serve, s) == 0);
}

void standin_free(standin *s) {
    if (s->serving) {
        uint64_t one = 1;
        CHECKED(write(s->stop, &one, sizeof one) == sizeof one);
        pthread_join(s->thread, NULL);
    }
    for (uint32_t i = 0; i < STANDIN_MEMBERS; i++) {
        if (s->peers[i].fd >= 0) close(s->peers[i].fd);
        close(s->events[i]);
    }
    if (s->listener >= 0) close(s->listener);
    if (s->path[0]) unlink(s->path);
    if (s->directory[0]) rmdir(s->directory);
    for (int i = 0; i < STANDIN_SEGMENTS; i++) {
        munmap(s->base[i], s->bytes[i]);
        close(s->fds[i]);
    }
    close(s->pidfd), close(s->space), close(s->stop);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
