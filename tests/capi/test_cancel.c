/* test_cancel.c - pthread_cancel: a thread that ends in the library leaves no lock, no lease and no batch behind. */
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
