/* test_cancel.c - pthread_cancel: a thread that ends in the library leaves no lock, no lease and no batch behind; and spdl_interrupt_on. */
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct doomed {
    spdl_reader *reader;
    spdl_batch batch;       /* of hold */
    _Atomic uint32_t *seen; /* of take, by ticket */
    _Atomic uint32_t wrong, asked;
} doomed;

static uint32_t leases_of(spdl_reader *r) {
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(r, &info), SPDL_OK);
    return info.leases;
}

static void cancel(pthread_t t) {
    void *end = NULL;
    CHECK(pthread_cancel(t) == 0);
    CHECK(pthread_join(t, &end) == 0);
    CHECK(end == PTHREAD_CANCELED);
}

static void *wait_for_one(void *arg) {
    doomed *d = arg;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_acquire(d->reader, SPDL_FOREVER, &b);
    atomic_fetch_add(&d->wrong, 1); /* nothing is ever published */
    return NULL;
}

TEST(a_thread_cancelled_where_it_waits_holds_nothing_and_others_go_on) {
    standin *s;
    spdl_reader *r = join(&s, 1, 0);
    doomed d = {.reader = r};
    for (int round = 0; round < 20; round++) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, wait_for_one, &d) == 0);
        if (round % 2)
            WAIT_UNTIL(__atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) != 0);
        cancel(t);
        CHECK(leases_of(r) == 0);
        CHECK(__atomic_load_n(&standin_member(s, 0)->waiting_since, __ATOMIC_RELAXED) == 0);
        CHECK(standin_publish(s, 0, false) >= 0);
        spdl_batch b = SPDL_BATCH_INIT; /* the one lease there is */
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
        CHECK(b.ticket == (uint64_t)round && b.attempts == 1);
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    CHECK(atomic_load(&d.wrong) == 0);
    leave(s, r);
}

static void *hold(void *arg) {
    doomed *d = arg;
    if (spdl_acquire(d->reader, SPDL_FOREVER, &d->batch) != SPDL_OK) atomic_fetch_add(&d->wrong, 1);
    atomic_store(&d->asked, 1);
    return wait_for_one(d);
}

TEST(what_a_cancelled_thread_has_in_hand_stays_leased_until_another_releases_it) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    doomed d = {.reader = r, .batch = SPDL_BATCH_INIT};
    pthread_t t;
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK(pthread_create(&t, NULL, hold, &d) == 0);
    WAIT_UNTIL(atomic_load(&d.asked) == 1);
    cancel(t);
    CHECK(leases_of(r) == 1);
    CHECK(standin_image_is(d.batch.data, d.batch.rows, d.batch.ticket));
    CHECK_STATUS(spdl_release(r, &d.batch), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &d.batch), SPDL_E_STALE);
    CHECK(leases_of(r) == 0 && atomic_load(&d.wrong) == 0);
    leave(s, r);
}

#define TICKETS 4000

/* Acquire to release has no place to be cancelled at: whoever has a batch gives it back. */
static void *take(void *arg) {
    doomed *d = arg;
    spdl_batch b = SPDL_BATCH_INIT;
    while (atomic_load(&d->wrong) == 0) {
        if (spdl_acquire(d->reader, SPDL_FOREVER, &b) != SPDL_OK || b.attempts != 1)
            atomic_fetch_add(&d->wrong, 1);
        atomic_fetch_add(&d->seen[b.ticket], 1);
        if (spdl_release(d->reader, &b) != SPDL_OK) atomic_fetch_add(&d->wrong, 1);
    }
    return NULL;
}

TEST(threads_cancelled_at_any_moment_lose_no_batch_and_no_lease) {
    static _Atomic uint32_t seen[TICKETS];
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    doomed d = {.reader = r, .seen = seen};
    pthread_t t[2];
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&t[i], NULL, take, &d) == 0);
    for (uint32_t n = 0, turn = 0; n < TICKETS; n++) {
        for (double until = test_seconds() + 60; standin_publish(s, 0, false) < 0 && test_seconds() < until;)
            usleep(50);
        if (n % 8 != 7) continue;
        cancel(t[turn]);
        CHECK(pthread_create(&t[turn], NULL, take, &d) == 0);
        turn = !turn;
    }
    for (uint32_t n = 0; n < TICKETS; n++) WAIT_UNTIL(atomic_load(&seen[n]) == 1);
    for (int i = 0; i < 2; i++) cancel(t[i]);
    CHECK(leases_of(r) == 0 && atomic_load(&d.wrong) == 0);
    leave(s, r);
}

static void *ask(void *arg) {
    doomed *d = arg;
    while (atomic_load(&d->wrong) == 0) {
        char text[64];
        size_t need;
        if (spdl_stats(d->reader, text, sizeof text, &need) != SPDL_OK) atomic_fetch_add(&d->wrong, 1);
        atomic_fetch_add(&d->asked, 1);
        pthread_testcancel();
    }
    return NULL;
}

TEST(a_thread_cancelled_in_a_request_lets_it_end_and_leaves_the_socket_to_others) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    doomed d = {.reader = r};
    for (int round = 0; round < 100; round++) {
        pthread_t t;
        uint32_t before = atomic_load(&d.asked);
        char text[64];
        size_t need;
        CHECK(pthread_create(&t, NULL, ask, &d) == 0);
        if (round % 2) WAIT_UNTIL(atomic_load(&d.asked) > before);
        cancel(t);
        CHECK_STATUS(spdl_stats(r, text, sizeof text, &need), SPDL_OK);
    }
    CHECK(atomic_load(&d.wrong) == 0);
    leave(s, r);
}

static void *come_and_go(void *arg) {
    doomed *d = arg;
    while (atomic_load(&d->wrong) == 0) {
        spdl_reader *r = NULL;
        if (spdl_attach((const char *)d->seen, NULL, &r) != SPDL_OK || spdl_event_fd(r) < 0 ||
            spdl_detach(r) != SPDL_OK)
            atomic_fetch_add(&d->wrong, 1);
        atomic_fetch_add(&d->asked, 1);
        pthread_testcancel();
    }
    return NULL;
}

/* Mappings that are not ours: a stack that is kept for the next thread, and what the thread sanitizer takes for itself as it goes; a mapping
 * that each round left would be 50. */
#ifdef SHARE_MAPPINGS
enum { OTHER_MAPS = 20 };
#else
enum { OTHER_MAPS = 2 };
#endif

TEST(a_thread_cancelled_in_attach_or_detach_leaves_no_descriptor_and_no_mapping) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    doomed d = {.seen = (void *)s->path};
    int fds = 0, maps = 0;
    for (int round = 0; round < 50; round++) {
        pthread_t t;
        uint32_t before = atomic_load(&d.asked);
        CHECK(pthread_create(&t, NULL, come_and_go, &d) == 0);
        if (round % 2) WAIT_UNTIL(atomic_load(&d.asked) > before);
        cancel(t);
        if (round == 0) fds = test_open_fds(), maps = test_maps();
        WAIT_UNTIL(test_open_fds() <= fds); /* the stand-in's own end closes when it reads of ours */
        CHECK(test_maps() <= maps + OTHER_MAPS);
    }
    CHECK(atomic_load(&d.wrong) == 0);
    standin_free(s);
}

/* ---- spdl_interrupt_on */

static _Atomic int waits;

static void *set_soon(void *arg) {
    WAIT_UNTIL(atomic_load(&waits) == 1);
    __atomic_store_n((volatile int *)arg, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Until another thread has set the flag; each call would wait for ever. */
static spdl_status interrupted_call(spdl_status (*call)(void *), void *arg) {
    static volatile int flag;
    pthread_t t;
    flag = 0;
    atomic_store(&waits, 0);
    spdl_interrupt_on(&flag);
    CHECK(pthread_create(&t, NULL, set_soon, (void *)(uintptr_t)&flag) == 0);
    atomic_store(&waits, 1);
    spdl_status s = call(arg);
    CHECK(pthread_join(t, NULL) == 0);
    CHECK_STATUS(call(arg), s); /* one that begins with the flag set */
    spdl_interrupt_on(NULL);
    return s;
}

static spdl_status attach_for_ever(void *path) {
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.timeout_ns = SPDL_FOREVER;
    spdl_reader *r = NULL;
    spdl_status s = spdl_attach(path, &o, &r);
    CHECK(r == NULL);
    return s;
}

static spdl_status acquire_for_ever(void *reader) {
    spdl_batch b = SPDL_BATCH_INIT;
    return spdl_acquire(reader, SPDL_FOREVER, &b);
}

TEST(a_flag_ends_the_wait_for_an_engine_that_is_not_there) {
    CHECK_STATUS(interrupted_call(attach_for_ever, "/nonexistent/engine.sock"), SPDL_E_INTERRUPTED);
    CHECK_SAYS("the flag of spdl_interrupt_on is set");
}

TEST(a_flag_ends_the_wait_for_an_answer_and_what_was_begun_is_detached) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    s->hooks.silent = true;
    CHECK_STATUS(interrupted_call(attach_for_ever, s->path), SPDL_E_INTERRUPTED);
    WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 2);
    s->hooks.silent = false;
    leave(s, r);
}

TEST(a_flag_ends_the_wait_for_a_batch_and_one_that_is_ready_comes_all_the_same) {
    standin *s;
    spdl_reader *r = join(&s, 2, 0);
    CHECK_STATUS(interrupted_call(acquire_for_ever, r), SPDL_E_INTERRUPTED);
    CHECK(leases_of(r) == 0);
    CHECK(standin_publish(s, 0, false) >= 0);
    volatile int set = 1;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_interrupt_on(&set);
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
    spdl_interrupt_on(NULL);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}
