/* wait.c - acquire: take what is ready, else spin briefly, then sleep in slices.
 *
 * A sleeper and whoever makes news (the engine, or a member that completes a batch) meet on two words of
 * the lane:
 *
 *   sleeper                                  news
 *   v = wake                                 change the word, the tail or the epoch
 *   sleepers = 1                  (W1)       full fence                          (N1)
 *   full fence, look again                   if sleepers: wake += 1, FUTEX_WAKE everybody
 *   FUTEX_WAIT(wake, v)
 *
 * W1 and N1 pair: either the sleeper sees the news when it looks again, or the news sees the sleeper.
 * Only the engine clears `sleepers` (before it adds to wake): a member stopped between clearing it and
 * waking would swallow everybody else's wake-ups.
 * A slice bounds what a peer killed between its change and its wake-up can cost, and how long the death
 * of the engine goes unnoticed.
 *
 * What a sleep costs whoever wakes from it, and what is done about it, is told in forecast.h.
 */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 25000000u
#define SPIN_NS 20000u
#define ALONE_NS 100000u /* a look out for a batch that takes longer has shared its core */
#define FENCE_NS 500000u /* while a GPU still reads batches: nobody wakes us when it is through */

static void futex_wait(const uint32_t *word, uint32_t seen, uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    /* Not FUTEX_PRIVATE: the other side is another process. */
    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0) == 0) return;
    if (errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT) return;
    struct timespec pause = {0, 1000000}; /* a kernel that refuses the call must not make us burn */
    nanosleep(&pause, NULL);
}

static void wake_lane(spdl_reader *r) {
    spdl_l_lane *lane = r->lane;
    if (load_relaxed32(&lane->sleepers) == 0) return;
    __atomic_fetch_add(&lane->wake, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &lane->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void kick_engine(const spdl_reader *r) {
    uint64_t one = 1;
    int shield = sp_shield();
    ssize_t n = write(r->fds[FD_SPACE], &one, sizeof one);
    sp_unshield(shield);
    (void)n; /* full means that a kick is pending already; a dead engine needs none */
}

/* A stage is through with a batch: the engine hands it on. */
static void kick_if(const spdl_reader *r, bool news) {
    if (news || r->stage || load_relaxed32(&r->lane->armed) != 0) kick_engine(r);
}

/* An end of epoch may be due, and the engine signals event descriptors for us. */
void sp_wake_after_done(spdl_reader *r) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* N1 */
    wake_lane(r);
    kick_if(r, false);
}

/* The same, and the engine may be parked for a free slot. */
void sp_wake_after_release(spdl_reader *r) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* N1 */
    wake_lane(r);
    kick_if(r, load_relaxed32(&r->state->parked) != 0);
}

bool sp_engine_alive(const spdl_reader *r) {
    struct pollfd p = {r->fds[FD_ENGINE], POLLIN, 0};
    int shield = sp_shield(); /* no place to be cancelled: the caller may hold a lock */
    bool alive = poll(&p, 1, 0) <= 0;
    sp_unshield(shield);
    return alive;
}

/* ---- one look ---------------------------------------------------------------------------------- */

/* What a caller waits for: a batch of one epoch, or of whichever the reader is in. */
typedef struct wish {
    uint64_t epoch; /* or SPDL_ANY_EPOCH */
    spdl_batch *out;
} wish;

spdl_status sp_engine_over(const spdl_reader *r, uint32_t state) {
    if (state == SPDL_L_FAILED) {
        uint32_t n = load_relaxed32(&r->state->error_bytes);
        if (n > sizeof r->state->error) n = sizeof r->state->error;
        return sp_fail(SPDL_E_ENGINE_FAILED, "spdl: ring \"%s\": the engine failed: %.*s", r->ring_name,
                       (int)n, r->state->error);
    }
    if (state == SPDL_L_STOPPED)
        return sp_fail(SPDL_E_ENGINE_STOPPED, "spdl: ring \"%s\": the engine was stopped", r->ring_name);
    return SPDL_OK;
}

/* Why nothing more will come, or SPDL_OK. */
static spdl_status engine_over(spdl_reader *r, uint32_t state, bool alive) {
    spdl_status s = sp_engine_over(r, state);
    if (s != SPDL_OK || alive) return s;
    s = sp_reconnect(r);
    return s == SPDL_TIMEOUT ? SPDL_OK : s; /* a search goes on: nothing is over */
}

static bool group_is_open(const spdl_reader *r) {
    return load_acquire32(&r->group_record->state) == SPDL_L_GROUP_ACTIVE &&
           load_relaxed32(&r->group_record->id) == r->group_id;
}

static spdl_status group_closed(spdl_reader *r, uint32_t state, bool alive) {
    spdl_status s = engine_over(r, state, alive);
    if (s != SPDL_OK) return s;
    return sp_fail(
        SPDL_E_GROUP_CLOSED,
        "spdl: ring \"%s\": group \"%s\" was ended by the engine: too slow, evicted, or damaged by a member",
        r->ring_name, r->group_name);
}

/* Waiting would be waiting for ourselves, or for threads that wait as we do. SPDL_TIMEOUT if it would
 * not. Whether every lease is stuck is asked once, when a call begins to wait: only that can make it so. */
static spdl_status self_wait(const spdl_reader *r, end_result end, uint64_t epoch, bool begins) {
    if (r->flags & SPDL_ATTACH_HANDOFF) return SPDL_TIMEOUT;
    if (end == END_WAITS_FOR_THIS_THREAD)
        return sp_fail(
            SPDL_E_UNDONE,
            "spdl: ring \"%s\": epoch %llu waits for batches that this thread holds; call spdl_done or "
            "spdl_release on them",
            r->ring_name, (unsigned long long)epoch);
    if (begins && sp_leases_stuck(r))
        return sp_fail(
            SPDL_E_LEASES,
            "spdl: ring \"%s\": all %u batches that this reader may hold are held by this thread%s; release one first, "
            "or raise max_leases",
            r->ring_name, r->max_leases, r->max_leases > 1 ? " and threads that wait as it does" : "");
    return SPDL_TIMEOUT;
}

/* The epoch is over: one caller of this reader is told. */
static bool step_epoch(spdl_reader *r, uint64_t epoch) {
    if (!atomic_compare_exchange_strong(&r->epoch, &epoch, epoch + 1)) return false;
    store_release64(&r->member->epoch, epoch + 1);
    return true;
}

/* Look once at everything. SPDL_TIMEOUT if there is nothing to say yet. The engine's state and life are
 * those of before the look: what it published before its end is taken first. */
static spdl_status look(spdl_reader *r, bool alive, bool begins, wish w) {
    for (;;) {
        if (sp_fences_wait(r)) sp_fences_settle(r);
        uint32_t state = load_acquire32(&r->state->state);
        uint64_t epoch = atomic_load_explicit(&r->epoch, memory_order_acquire);
        if (!group_is_open(r)) return group_closed(r, state, alive);
        if (w.epoch != SPDL_ANY_EPOCH && w.epoch != epoch) return SPDL_END_EPOCH;
        if (r->h.n_epochs != 0 && epoch >= r->h.n_epochs) return SPDL_END_DATA;
        claim_result c = sp_claim(r, epoch, w.out);
        if (c == CLAIM_OK) return SPDL_OK;
        end_result end = sp_end_of_epoch(r, epoch);
        if (end == END_NOW) {
            if (step_epoch(r, epoch)) return SPDL_END_EPOCH;
            continue; /* another thread was told; look again in the next epoch */
        }
        if (c == CLAIM_NOTHING) {
            spdl_status s = engine_over(r, state, alive);
            if (s != SPDL_OK) return s;
        }
        return self_wait(r, end, epoch, begins);
    }
}

/* ---- waiting ------------------------------------------------------------------------------------ */

static void relax(void) {
    for (int i = 0; i < 8; i++) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

static spdl_status spin(spdl_reader *r, uint64_t until, wish w) {
    spdl_status s;
    do {
        relax();
        s = look(r, true, false, w);
    } while (s == SPDL_TIMEOUT && sp_now_ns() < until);
    return s;
}

/* Look out for a batch that is due. The core belongs to whoever else wants it: it is offered after each look, and given up for
 * good once somebody took it. */
static spdl_status watch(spdl_reader *r, uint64_t until, wish w) {
    for (uint64_t before = sp_now_ns(), now = before; now < until && now - before < ALONE_NS;
         now = sp_now_ns()) {
        before = now;
        spdl_status s = look(r, true, false, w);
        if (s != SPDL_TIMEOUT) return s;
        sched_yield();
    }
    return SPDL_TIMEOUT;
}

static void stop_waiting(void *reader) {
    spdl_reader *r = reader;
    store_relaxed64(&r->member->waiting_since, 0);
}

/* Where a thread that waits may be cancelled: between two looks it holds nothing but the batches that it had before. */
static void end_if_cancelled(spdl_reader *r, int shield) {
    pthread_cleanup_push(stop_waiting, r);
    sp_unshield(shield);
    pthread_testcancel();
    (void)sp_shield();
    pthread_cleanup_pop(0);
}

/* The engine is asked after once a slice and before giving up: nothing but its death needs it, and it is a system call. */
static spdl_status sleep_until(spdl_reader *r, uint64_t start, uint64_t deadline, int shield, wish w) {
    uint64_t asked = start;
    outlook due = forecast_look(&r->forecast);
    for (bool begins = true;; begins = false) {
        uint32_t seen = load_acquire32(&r->lane->wake);
        __atomic_store_n(&r->lane->sleepers, 1, __ATOMIC_SEQ_CST); /* W1 */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        uint64_t now = sp_now_ns();
        bool ask = now >= deadline || now - asked >= SLICE_NS;
        spdl_status s = look(r, !ask || sp_engine_alive(r), begins, w);
        if (s != SPDL_TIMEOUT) return s;
        if (now >= deadline) return SPDL_TIMEOUT;
        if (ask && (s = sp_interrupted()) != SPDL_OK) return s;
        if (ask) asked = now;
        if (r->spin && now >= due.look_ns && now < due.until_ns) {
            s = watch(r, least64(due.until_ns, deadline), w);
            if (s != SPDL_TIMEOUT) return s;
            due.until_ns = 0;
            continue;
        }
        uint64_t until = least64(asked + SLICE_NS, deadline);
        if (now < due.look_ns) until = least64(until, due.look_ns);
        if (sp_fences_wait(r)) until = least64(until, now + FENCE_NS);
        end_if_cancelled(r, shield);
        (void)sp_fault("wait");
        futex_wait(&r->lane->wake, seen, until - now);
        (void)sp_fault("woken");
        s = look(r, true, false, w); /* what woke us is most likely a batch */
        if (s != SPDL_TIMEOUT) return s;
    }
}

static spdl_status wait_for(spdl_reader *r, int64_t timeout_ns, wish w) {
    uint64_t start = sp_now_ns();
    uint64_t deadline = timeout_ns == SPDL_FOREVER ? UINT64_MAX : start + (uint64_t)timeout_ns;
    store_relaxed64(&r->member->waiting_since, start);
    spdl_status s = SPDL_TIMEOUT;
    int shield = sp_shield();
    if (r->spin) s = spin(r, least64(start + SPIN_NS, deadline), w);
    if (s == SPDL_TIMEOUT) {
        sp_mark_waiting(r, true);
        s = sleep_until(r, start, deadline, shield, w);
        sp_mark_waiting(r, false);
    }
    sp_unshield(shield);
    if (s == SPDL_OK) forecast_note(&r->forecast, w.out->published_ns);
    store_relaxed64(&r->member->waiting_since, 0);
    add_relaxed64(&r->member->wait_ns, sp_now_ns() - start);
    return s;
}

/* Who polls and then waits for the event descriptor waits from the poll that found nothing to the one that ends it. */
static void poll_begins(spdl_reader *r) {
    uint64_t none = 0, now = sp_now_ns();
    if (atomic_compare_exchange_strong(&r->polled_since, &none, now))
        store_relaxed64(&r->member->waiting_since, now);
}

static void poll_ends(spdl_reader *r) {
    if (atomic_load_explicit(&r->polled_since, memory_order_relaxed) == 0) return;
    uint64_t since = atomic_exchange(&r->polled_since, 0);
    if (since == 0) return;
    store_relaxed64(&r->member->waiting_since, 0);
    add_relaxed64(&r->member->wait_ns, sp_now_ns() - since);
}

/* A poll found nothing. Arm the event descriptor, if there is one, and look again: news that came before
 * it was armed is found now, later news makes it readable. */
static spdl_status poll_again(spdl_reader *r, wish w) {
    bool listens = atomic_load_explicit(&r->epoll, memory_order_acquire) >= 0;
    if (listens) {
        uint64_t count;
        ssize_t n = read(r->fds[FD_EVENT], &count, sizeof count);
        (void)n;
        __atomic_store_n(&r->member->armed, 1, __ATOMIC_SEQ_CST);
        __atomic_store_n(&r->lane->armed, 1, __ATOMIC_SEQ_CST);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
    spdl_status s = look(r, sp_engine_alive(r), true, w);
    if (s == SPDL_TIMEOUT && (sp_fences_wait(r) || atomic_load(&r->fence_timer) >= 0)) {
        spdl_status armed = sp_fences_arm(r);
        if (armed != SPDL_OK) return armed;
    }
    if (s == SPDL_TIMEOUT && listens) poll_begins(r);
    return s;
}

/* Nothing passes a batch that a stage holds: the ring fills up behind it, and whoever waits with one in its hands may
 * wait for ever. */
static spdl_status stage_wait(const spdl_reader *r) {
    if (!r->stage || (r->flags & SPDL_ATTACH_HANDOFF) || !sp_holds_undone(r)) return SPDL_OK;
    return sp_fail(
        SPDL_E_UNDONE,
        "spdl: ring \"%s\": stage \"%s\": this thread holds a batch behind which others wait; call spdl_done or "
        "spdl_release on it before waiting for another",
        r->ring_name, r->group_name);
}

static spdl_status acquire(spdl_reader *r, int64_t timeout_ns, wish w) {
    if (!r || !w.out) return sp_fail(SPDL_E_ARGUMENT, "spdl: acquire: %s is NULL", r ? "out" : "reader");
    if (w.out->struct_size < sizeof *w.out)
        return sp_small("acquire", "out", w.out->struct_size, sizeof *w.out, "SPDL_BATCH_INIT");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    timeout_ns = sp_timeout(timeout_ns);
    s = look(r, true, true, w);
    if (s == SPDL_TIMEOUT && timeout_ns == 0) s = poll_again(r, w);
    if (s != SPDL_TIMEOUT || timeout_ns != 0) poll_ends(r);
    if (s != SPDL_TIMEOUT || timeout_ns == 0) return s;
    s = stage_wait(r);
    return s == SPDL_OK ? wait_for(r, timeout_ns, w) : s;
}

spdl_status spdl_acquire(spdl_reader *r, int64_t timeout_ns, spdl_batch *out) {
    return acquire(r, timeout_ns, (wish){SPDL_ANY_EPOCH, out});
}

spdl_status spdl_next(spdl_reader *r, int64_t timeout_ns, spdl_batch *used, spdl_batch *out) {
    return spdl_next_in_epoch(r, SPDL_ANY_EPOCH, timeout_ns, used, out);
}

spdl_status spdl_next_in_epoch(spdl_reader *r, uint64_t epoch, int64_t timeout_ns, spdl_batch *used,
                               spdl_batch *out) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: next: reader is NULL");
    if (used && used->token != 0) {
        /* After detach the last release frees the reader. */
        bool detached = atomic_load_explicit(&r->detached, memory_order_acquire);
        spdl_status released = spdl_release(r, used);
        if (released != SPDL_OK && released != SPDL_E_STALE) return released;
        used->token = 0;
        if (detached) return sp_fail(SPDL_E_DETACHED, "spdl: next: this reader was detached; attach again");
    }
    return acquire(r, timeout_ns, (wish){epoch, out});
}
