/* reader.c - a reader's life: attach, detach, and the count that keeps its memory while leases live. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_NS ((int64_t)10000000000)

spdl_status sp_usable(const spdl_reader *r) {
    if (is_forked(r))
        return sp_fail(SPDL_E_FORKED,
                       "spdl: this reader was inherited through fork; attach again in this process");
    if (atomic_load_explicit(&r->detached, memory_order_acquire))
        return sp_fail(SPDL_E_DETACHED,
                       "spdl: this reader was detached; only its leased batches may still be released");
    return SPDL_OK;
}

/* ---- making and unmaking --------------------------------------------------------------------------- */

/* A page that reads as zero in a forked child. */
static const uint32_t *make_alive_word(void) {
    uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (word == MAP_FAILED) return NULL;
    if (madvise(word, 4096, MADV_WIPEONFORK) != 0) {
        munmap(word, 4096);
        return NULL;
    }
    *word = 1;
    return word;
}

static spdl_reader *make_reader(int control) {
    spdl_reader *r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    for (int i = 0; i < N_FDS; i++) r->fds[i] = -1;
    r->control = control;
    r->timer = -1;
    atomic_init(&r->fence_timer, -1);
    atomic_init(&r->epoll, -1);
    atomic_init(&r->refs, 1);
    pthread_mutex_init(&r->control_lock, NULL);
    pthread_mutex_init(&r->passed_lock, NULL);
    pthread_mutex_init(&r->gpu_lock, NULL);
    return r;
}

/* Unmap first: DETACH tells the engine that this process reads no slot any more. It is said on every way
 * out, also when no welcome was seen: the engine may have sent one. */
static void free_reader(spdl_reader *r) {
    sp_gpu_free(r);
    sp_unmap(r);
    (void)sp_fault("detach.unmap");
    if (r->control >= 0) {
        sp_post(r->control, SPDL_L_MSG_DETACH);
        (void)sp_fault("detach.sent");
    }
    int epoll = atomic_load(&r->epoll);
    if (epoll >= 0) close(epoll);
    if (r->timer >= 0) close(r->timer);
    int fence_timer = atomic_load(&r->fence_timer);
    if (fence_timer >= 0) close(fence_timer);
    sp_close_fds(r->fds, N_FDS);
    if (r->control >= 0) close(r->control);
    sp_own_unref(r->own, false);
    if (r->alive) munmap((void *)(uintptr_t)r->alive, 4096);
    pthread_mutex_destroy(&r->control_lock);
    pthread_mutex_destroy(&r->passed_lock);
    pthread_mutex_destroy(&r->gpu_lock);
    free(r->passed);
    free(r->leases);
    free(r->tensors);
    free(r->text);
    free(r);
}

void sp_reader_unref(spdl_reader *r) {
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    int shield = sp_shield();
    free_reader(r);
    sp_unshield(shield);
}

spdl_status spdl_detach(spdl_reader *r) {
    if (!r || is_forked(r)) return SPDL_OK;
    int shield = sp_shield();
    if (!atomic_load_explicit(&r->detached, memory_order_acquire)) sp_fences_drain(r);
    spdl_status s = SPDL_OK;
    if (atomic_exchange_explicit(&r->detached, true, memory_order_acq_rel)) {
        s = sp_usable(r);
    } else {
        own_engine *engine = sp_own_ref(r->own);
        sp_source_end(r);
        sp_reader_unref(r);
        sp_own_unref(engine, true);
    }
    sp_unshield(shield);
    return s;
}

/* ---- hello and welcome ------------------------------------------------------------------------------ */

static spdl_status fill_hello(const char *peer, const char *ring, const spdl_attach_opts *o,
                              spdl_l_hello *h) {
    memset(h, 0, sizeof *h);
    h->layout_major = SPDL_L_MAJOR;
    h->layout_minor = SPDL_L_MINOR;
    h->pid = (uint32_t)getpid();
    h->lane = o->lane;
    h->max_leases = o->max_leases;
    if (o->group && strlen(o->group) >= sizeof h->group)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: group \"%.80s\" is longer than 63 bytes", peer, o->group);
    if (o->group) memcpy(h->group, o->group, strlen(o->group));
    memcpy(h->ring, ring, strlen(ring));
    snprintf(h->client, sizeof h->client, "%s", o->client ? o->client : "c");
    return SPDL_OK;
}

spdl_status sp_send_hello(int control, const char *peer, spdl_l_hello *hello) {
    int self = sp_above_2((int)syscall(SYS_pidfd_open, getpid(), 0));
    if (self >= 0) hello->flags |= SPDL_L_HELLO_PIDFD; /* without one the engine makes its own */
    spdl_status s = sp_send(control, peer, SPDL_L_MSG_HELLO, 1, hello, sizeof *hello, self);
    if (self >= 0) close(self);
    return s;
}

/* Set close-on-exec and non-blocking once more ourselves: a peer may have sent anything. */
static spdl_status adopt_fds(spdl_reader *r, const char *peer, message *m) {
    if (m->n_fds != N_FDS) {
        uint32_t n = m->n_fds;
        sp_close_fds(m->fds, n);
        return sp_fail(SPDL_E_FORMAT, "spdl: %s: the welcome carries %u descriptors, want %d", peer, n,
                       N_FDS);
    }
    memcpy(r->fds, m->fds, sizeof r->fds);
    for (int i = FD_SPACE; i <= FD_EVENT; i++) {
        int flags = fcntl(r->fds[i], F_GETFL);
        if (flags < 0 || fcntl(r->fds[i], F_SETFL, flags | O_NONBLOCK) != 0)
            return sp_fail_errno("attach: fcntl of an event descriptor");
    }
    if (syscall(SYS_pidfd_send_signal, r->fds[FD_ENGINE], 0, NULL, 0) != 0 && errno == EBADF)
        return sp_fail(SPDL_E_FORMAT, "spdl: %s: the fourth descriptor of the welcome is no pidfd", peer);
    return SPDL_OK;
}

static spdl_status check_welcome(const spdl_reader *r, const char *peer, const spdl_l_welcome *w) {
    if (w->owner == 0 || w->owner > SPDL_L_OWNER_MASK)
        return sp_fail(SPDL_E_FORMAT, "spdl: %s: the welcome's owner is %u, want 1 to %u", peer, w->owner,
                       SPDL_L_OWNER_MASK);
    if (w->max_leases == 0 || w->max_leases > r->h.n_slots)
        return sp_fail(SPDL_E_FORMAT, "spdl: %s: the welcome's max_leases is %u, want 1 to %u", peer,
                       w->max_leases, r->h.n_slots);
    return SPDL_OK;
}

/* Tell whoever has the ring after this engine that we know of our membership. */
static spdl_status say_here(spdl_reader *r) {
    uint32_t seen = SPDL_L_PRESENCE_WELCOMED;
    if (r->h.layout_minor == 0 ||
        __atomic_compare_exchange_n(&r->member->presence, &seen, SPDL_L_PRESENCE_HERE, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return SPDL_OK;
    return sp_fail(
        SPDL_E_ENGINE_LOST,
        "spdl: ring \"%s\": the engine died before it heard of this consumer, and the next one does not know it; attach again",
        r->ring_name);
}

static spdl_status accept_welcome(spdl_reader *r, const char *peer, message *m) {
    spdl_l_welcome w;
    if (m->head.type == SPDL_L_MSG_ERROR) {
        sp_close_fds(m->fds, m->n_fds);
        return sp_fail(m->head.status < 0 ? (spdl_status)m->head.status : SPDL_E_FORMAT, "%s",
                       (char *)m->payload);
    }
    if (m->head.type != SPDL_L_MSG_WELCOME || m->bytes < sizeof w) {
        sp_close_fds(m->fds, m->n_fds);
        return sp_fail(SPDL_E_FORMAT,
                       "spdl: %s: hello was answered with message %u of %u bytes, want a welcome", peer,
                       m->head.type, m->bytes);
    }
    memcpy(&w, m->payload, sizeof w);
    spdl_status s = adopt_fds(r, peer, m);
    if (s == SPDL_OK) s = sp_map(r, &w);
    if (s == SPDL_OK) s = check_welcome(r, peer, &w);
    if (s != SPDL_OK) return s;
    r->owner = w.owner;
    r->lane_number = w.lane;
    r->max_leases = w.max_leases;
    r->group_id = w.group_id;
    atomic_init(&r->epoch, w.epoch);
    r->leases = calloc(r->h.n_slots, sizeof *r->leases);
    if (!r->leases) return sp_fail(SPDL_E_NOMEM, "spdl: no memory for %u leases", r->h.n_slots);
    r->reconnect_ns = w.reconnect_ns;
    store_release64(&r->member->epoch, w.epoch);
    return say_here(r);
}

static spdl_status exchange_hello(spdl_reader *r, const char *peer, const char *ring,
                                  const spdl_attach_opts *opts, uint64_t deadline) {
    spdl_l_hello hello;
    spdl_status s = fill_hello(peer, ring, opts, &hello);
    if (s != SPDL_OK) return s;
    s = sp_send_hello(r->control, peer, &hello);
    if (s != SPDL_OK && s != SPDL_E_ENGINE_LOST) return s; /* one that hung up may have said why */
    if (sp_fault("attach.sent")) return sp_fail(SPDL_E_SYSTEM, "spdl: attach: injected fault");
    message m;
    s = sp_message_room(&m);
    if (s == SPDL_OK) s = sp_receive(r->control, peer, deadline, &m);
    if (s == SPDL_OK) s = accept_welcome(r, peer, &m);
    free(m.payload);
    if (s == SPDL_OK && sp_fault("attach.mapped")) s = sp_fail(SPDL_E_SYSTEM, "spdl: attach: injected fault");
    return s;
}

spdl_status sp_join(int control, const char *peer, const char *ring, const spdl_attach_opts *opts,
                    uint64_t deadline, spdl_reader **out) {
    spdl_reader *r = make_reader(control);
    if (!r) {
        close(control);
        return sp_fail(SPDL_E_NOMEM, "spdl: %s: no memory for a reader", peer);
    }
    r->flags = opts->flags;
    r->spin = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    r->alive = make_alive_word();
    spdl_status s = r->alive ? exchange_hello(r, peer, ring, opts, deadline)
                             : sp_fail_errno("attach: a wipe-on-fork page");
    if (s != SPDL_OK) {
        free_reader(r);
        return s;
    }
    *out = r;
    return SPDL_OK;
}

/* ---- attach ------------------------------------------------------------------------------------------ */

spdl_status sp_check_attach_opts(const char *call, const char *what, const spdl_attach_opts *o) {
    if (o->struct_size < sizeof *o)
        return sp_small(call, what, o->struct_size, sizeof *o, "SPDL_ATTACH_OPTS_INIT");
    if (o->flags & ~SPDL_ATTACH_HANDOFF)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s.flags is 0x%x, this library knows 0x%x", call, what,
                       o->flags, SPDL_ATTACH_HANDOFF);
    if (o->lane < SPDL_ANY_LANE)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s.lane is %d, want SPDL_ANY_LANE or a lane from 0", call,
                       what, o->lane);
    return SPDL_OK;
}

static uint64_t attach_deadline(const spdl_attach_opts *o) {
    return sp_deadline(o->timeout_ns ? o->timeout_ns : DEFAULT_TIMEOUT_NS);
}

/* The time to attach is over, and nobody has answered. */
static spdl_status no_welcome(const char *peer, const spdl_attach_opts *o) {
    int64_t ns = o->timeout_ns ? sp_timeout(o->timeout_ns) : DEFAULT_TIMEOUT_NS;
    return sp_fail(
        SPDL_E_BUSY,
        "spdl: %s: no answer in %lld ms: the engine is stopped (kill -CONT lets it go on) or has no CPU, or this is "
        "none; try again, or raise the timeout",
        peer, (long long)(ns / 1000000));
}

const char *sp_ring_of(const spdl_reader *r) {
    const char *slash = strchr(r->ring_name, '/');
    return slash ? slash + 1 : "";
}

/* A connection to the reader's engine, for a reader of its own. */
static spdl_status connect_again(spdl_reader *of, int *control) {
    int pair[2];
    *control = -1;
    if (of->h.layout_minor < 6)
        return sp_fail(
            SPDL_E_UNSUPPORTED,
            "spdl: attach_ring: the engine of ring \"%s\" is of layout %u.%u, want 1.6; attach by name",
            of->ring_name, of->h.layout_major, of->h.layout_minor);
    spdl_status s = sp_make_pair(pair);
    if (s != SPDL_OK) return s;
    s = sp_request_connect(of, pair[1]);
    close(pair[1]);
    if (s != SPDL_OK) close(pair[0]);
    if (s == SPDL_OK) *control = pair[0];
    return s;
}

spdl_status spdl_attach_ring(spdl_reader *of, const char *ring, const spdl_attach_opts *opts,
                             spdl_reader **out) {
    const spdl_attach_opts defaults = SPDL_ATTACH_OPTS_INIT;
    if (out) *out = NULL;
    if (!of || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: attach_ring: %s is NULL", of ? "out" : "of");
    if (!opts) opts = &defaults;
    spdl_status s = sp_usable(of);
    if (s == SPDL_OK) s = sp_check_attach_opts("attach_ring", "opts", opts);
    if (s != SPDL_OK) return s;
    if (!ring) ring = sp_ring_of(of);
    if (strlen(ring) >= SPDL_L_NAME)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: attach_ring: ring \"%.80s\" is longer than 63 bytes", ring);
    uint64_t deadline = attach_deadline(opts);
    char peer[PEER_BYTES];
    snprintf(peer, sizeof peer, "ring \"%s\": attach_ring \"%s\"", of->ring_name, ring);
    int control, shield = sp_shield();
    s = connect_again(of, &control);
    if (s == SPDL_OK) s = sp_join(control, peer, ring, opts, deadline, out);
    if (s == SPDL_TIMEOUT) s = no_welcome(peer, opts);
    if (s == SPDL_OK) {
        memcpy((*out)->address, of->address, sizeof of->address);
        (*out)->own = sp_own_ref(of->own);
    }
    sp_unshield(shield);
    return s;
}

spdl_status spdl_attach(const char *name, const spdl_attach_opts *opts, spdl_reader **out) {
    const spdl_attach_opts defaults = SPDL_ATTACH_OPTS_INIT;
    if (out) *out = NULL;
    if (!name || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: attach: %s is NULL", name ? "out" : "name");
    if (!opts) opts = &defaults;
    spdl_status s = sp_check_attach_opts("attach", "opts", opts);
    if (s != SPDL_OK) return s;

    uint64_t deadline = attach_deadline(opts);
    char ring[SPDL_L_NAME], peer[PEER_BYTES];
    int control, shield = sp_shield();
    s = sp_connect(name, deadline, ring, peer, &control);
    if (s == SPDL_E_NOT_FOUND) s = sp_name_running(name);
    if (s == SPDL_OK) s = sp_join(control, peer, ring, opts, deadline, out);
    if (s == SPDL_TIMEOUT) s = no_welcome(peer, opts);
    if (s == SPDL_OK) snprintf((*out)->address, sizeof(*out)->address, "%s", name);
    sp_unshield(shield);
    return s;
}
