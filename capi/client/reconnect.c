/* reconnect.c - when the engine died and its ring is one that a restarted engine may adopt: look for that engine, say who we
 * are, and go on.
 *
 * Mappings, leases and our place in the group are not touched: they lie in memory that the next engine goes on with. What dies
 * with an engine are four descriptors: its pidfd, the two event descriptors, and the socket. New ones are put in the
 * place of the old with dup3, so that their numbers stay and no other thread has to know.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TRY_NS 20000000u               /* between two looks for the engine */
#define ANSWER_NS ((int64_t)500000000) /* for its welcome: one that is stopped must not stop us */

static spdl_status lost(const spdl_reader *r) {
    if (r->reconnect_ns == 0)
        return sp_fail(
            SPDL_E_ENGINE_LOST,
            "spdl: ring \"%s\": the engine (pid %u) died; leased batches stay readable, start it again and attach",
            r->ring_name, sp_engine_pid(r));
    return sp_fail(
        SPDL_E_ENGINE_LOST,
        "spdl: ring \"%s\": the engine (pid %u) died and none went on with its ring within %llu ms; leased batches stay "
        "readable, start it again and attach",
        r->ring_name, sp_engine_pid(r), (unsigned long long)(r->reconnect_ns / 1000000));
}

/* ---- who polls our event descriptor ----------------------------------------------------------------- */

/* A dead engine's pidfd is readable for ever: whoever polls would spin. A timer takes its place while we look. */
static void watch_timer(spdl_reader *r) {
    int epoll = atomic_load_explicit(&r->epoll, memory_order_acquire);
    if (epoll < 0 || r->timer >= 0) return;
    r->timer = sp_above_2(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (r->timer < 0) return;
    struct itimerspec every = {{0, TRY_NS}, {0, TRY_NS}};
    struct epoll_event e = {.events = EPOLLIN};
    timerfd_settime(r->timer, 0, &every, NULL);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, r->timer, &e) == 0)
        epoll_ctl(epoll, EPOLL_CTL_DEL, r->fds[FD_ENGINE], NULL);
}

static void drop_timer(spdl_reader *r, int epoll) {
    if (r->timer < 0) return;
    if (epoll >= 0) epoll_ctl(epoll, EPOLL_CTL_DEL, r->timer, NULL); /* a forked child may hold it open */
    close(r->timer);
    r->timer = -1;
}

/* ---- one try ---------------------------------------------------------------------------------------- */

static bool same_file(int a, int b) {
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool replace(int old, int new) {
    int n;
    do n = dup3(new, old, O_CLOEXEC);
    while (n < 0 && (errno == EINTR || errno == EBUSY));
    return n >= 0;
}

/* Is this the welcome of an engine that has our very segments, and a place for us as we were? */
static bool is_ours(const spdl_reader *r, const message *m) {
    spdl_l_welcome w;
    if (m->head.type != SPDL_L_MSG_WELCOME || m->bytes < sizeof w || m->n_fds != N_FDS) return false;
    memcpy(&w, m->payload, sizeof w);
    if (w.owner != r->owner || w.group_id != r->group_id || w.lane != r->lane_number) return false;
    for (int i = FD_HEADER; i <= FD_DATA; i++)
        if (!same_file(r->fds[i], m->fds[i])) return false;
    return syscall(SYS_pidfd_send_signal, m->fds[FD_ENGINE], 0, NULL, 0) == 0;
}

/* Have those who poll our event descriptor woken by this one, too, if there are any. */
static bool watched(int epoll, int fd) {
    struct epoll_event e = {.events = EPOLLIN};
    if (sp_fault("reconnect.watch")) return false;
    return epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* The pidfd says that there is an engine, and from then on nobody looks for one: it comes last, and if it cannot be watched
 * the dead one's comes back. */
static bool take_pidfd(spdl_reader *r, int epoll, int engine) {
    int fd = r->fds[FD_ENGINE], dead = sp_above_2(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (dead < 0) return false;
    if (epoll >= 0) epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
    bool ok = replace(fd, engine) && watched(epoll, fd);
    if (!ok && replace(fd, dead) && r->timer < 0) (void)watched(epoll, fd); /* whoever polls must come back */
    close(dead);
    return ok;
}

/* Put the engine's descriptors in the place of the dead one's. Where that fails the timer still wakes who polls, the engine still counts as
 * lost, and the next try does all of it again. */
static bool change_over(spdl_reader *r, int control, const message *m) {
    int epoll = atomic_load_explicit(&r->epoll, memory_order_acquire);
    for (int i = FD_SPACE; i <= FD_EVENT; i++) {
        int flags = fcntl(m->fds[i], F_GETFL);
        if (flags < 0 || fcntl(m->fds[i], F_SETFL, flags | O_NONBLOCK) != 0) return false;
    }
    if (epoll >= 0) epoll_ctl(epoll, EPOLL_CTL_DEL, r->fds[FD_EVENT], NULL);
    if (!replace(r->fds[FD_SPACE], m->fds[FD_SPACE]) || !replace(r->fds[FD_EVENT], m->fds[FD_EVENT]) ||
        !watched(epoll, r->fds[FD_EVENT]) || !replace(r->control, control) ||
        !take_pidfd(r, epoll, m->fds[FD_ENGINE]))
        return false;
    drop_timer(r, epoll);
    uint64_t one = 1; /* whatever was armed before is forgotten: look again */
    ssize_t n = write(r->fds[FD_EVENT], &one, sizeof one);
    (void)n;
    return true;
}

static spdl_status say_who_we_are(const spdl_reader *r, int control, const char *peer, message *m) {
    spdl_l_hello h = {
        .layout_major = SPDL_L_MAJOR, .layout_minor = SPDL_L_MINOR, .flags = SPDL_L_HELLO_REJOIN};
    h.pid = (uint32_t)getpid();
    h.owner = r->owner;
    h.group_id = r->group_id;
    memcpy(h.ring_uid, r->h.ring_uid, sizeof h.ring_uid);
    const char *ring = sp_ring_of(r);
    memcpy(h.ring, ring, strlen(ring));
    spdl_status s = sp_send_hello(control, peer, &h);
    return s == SPDL_OK ? sp_receive(control, peer, sp_deadline(ANSWER_NS), m) : s;
}

/* SPDL_OK: the engine is back. SPDL_TIMEOUT: not yet. SPDL_E_ENGINE_LOST: there is one, and its ring is another. */
static spdl_status try_once(spdl_reader *r) {
    char named[SPDL_L_NAME]; /* in the address, which may be another ring's: see spdl_attach_ring */
    char peer[PEER_BYTES];
    int control;
    if (sp_connect(r->address, 0, named, peer, &control) != SPDL_OK) return SPDL_TIMEOUT;
    message m;
    spdl_status s = sp_message_room(&m);
    if (s == SPDL_OK) s = say_who_we_are(r, control, peer, &m);
    if (s != SPDL_OK) {
        s = SPDL_TIMEOUT; /* it is starting, stopping or overwhelmed */
    } else if (m.head.type == SPDL_L_MSG_ERROR && m.head.status == SPDL_E_ENGINE_LOST) {
        s = sp_fail(SPDL_E_ENGINE_LOST, "%s", (char *)m.payload);
    } else if (!is_ours(r, &m) || !change_over(r, control, &m)) {
        s = SPDL_TIMEOUT;
    }
    sp_close_fds(m.fds, m.n_fds);
    free(m.payload);
    close(control);
    return s;
}

/* ---- the search ------------------------------------------------------------------------------------- */

static spdl_status search_locked(spdl_reader *r) {
    if (sp_engine_alive(r)) return SPDL_OK; /* another thread found it */
    uint64_t now = sp_now_ns();
    if (r->lost_since == 0) r->lost_since = now;
    /* Given up after a try that began when the time was over: who stood still until then looks once more. */
    bool over = r->last_asked > r->lost_since && r->last_asked - r->lost_since >= r->reconnect_ns;
    if (r->given_up || over) return lost(r);
    watch_timer(r);
    uint64_t ticks;
    if (r->timer >= 0 && read(r->timer, &ticks, sizeof ticks) < 0) ticks = 0; /* not due yet */
    if (now - r->last_try < TRY_NS) return SPDL_TIMEOUT;
    r->last_asked = now;
    spdl_status s = try_once(r);
    r->last_try = sp_now_ns();
    if (s == SPDL_OK) {
        r->lost_since = 0;
        atomic_fetch_add_explicit(&r->joins, 1, memory_order_acq_rel);
    }
    r->given_up = s == SPDL_E_ENGINE_LOST;
    return s;
}

spdl_status sp_reconnect(spdl_reader *r) {
    if (r->reconnect_ns == 0) return lost(r);
    if (pthread_mutex_trylock(&r->control_lock) != 0)
        return SPDL_TIMEOUT; /* somebody looks already, or asks */
    int shield = sp_shield();
    spdl_status s = search_locked(r);
    pthread_mutex_unlock(&r->control_lock);
    sp_unshield(shield);
    return s;
}

spdl_status sp_await_engine(spdl_reader *r) {
    for (;;) {
        spdl_status s = sp_reconnect(r);
        if (s != SPDL_TIMEOUT) return s;
        s = sp_await(-1, sp_now_ns() + TRY_NS);
        if (s != SPDL_TIMEOUT) return s;
    }
}
