/* test_threads.c - many threads on one reader, sleepers, and calls that would wait for one another. */
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICKETS 3000
#define EPOCHS 3
#define THREADS 4

typedef struct ledger {
    spdl_reader *reader;
    _Atomic uint32_t *seen; /* [TICKETS] */
    _Atomic uint32_t ends, wrong;
} ledger;

static void *consume(void *arg) {
    ledger *l = arg;
    spdl_batch b = SPDL_BATCH_INIT;
    for (;;) {
        spdl_status s = spdl_acquire(l->reader, SPDL_FOREVER, &b);
        if (s == SPDL_END_EPOCH) {
            atomic_fetch_add(&l->ends, 1);
            continue;
        }
        if (s == SPDL_END_DATA) return NULL;
        if (s != SPDL_OK || b.ticket >= TICKETS || b.attempts != 1 ||
            !standin_image_is(b.data, b.rows, b.ticket)) {
            atomic_fetch_add(&l->wrong, 1);
            return NULL;
        }
        atomic_fetch_add(&l->seen[b.ticket], 1);
        if (b.ticket % 3 == 0) spdl_done(l->reader, &b);
        if (spdl_release(l->reader, &b) != SPDL_OK) atomic_fetch_add(&l->wrong, 1);
    }
}

/* All tickets, an epoch after the other, as slots become free. */
static void publish_epochs(standin *s) {
    for (uint32_t t = 0; t < TICKETS;) {
        bool last = (t + 1) % (TICKETS / EPOCHS) == 0;
        if (standin_publish(s, t / (TICKETS / EPOCHS), last) < 0)
            usleep(50);
        else
            t++;
    }
}

TEST(threads_of_two_readers_share_every_batch_and_each_reader_ends_once_per_epoch) {
    standin_opts o = STANDIN_OPTS;
    o.n_epochs = EPOCHS, o.slots = 16;
    standin *s = make_served(o);
    static _Atomic uint32_t seen[TICKETS];
    memset(seen, 0, sizeof seen);
    ledger l[2] = {{attach_with(s, THREADS, 0), seen, 0, 0}, {attach_with(s, THREADS, 0), seen, 0, 0}};
    pthread_t threads[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++) CHECK(pthread_create(&threads[i], NULL, consume, &l[i % 2]) == 0);
    publish_epochs(s);
    for (int i = 0; i < 2 * THREADS; i++) pthread_join(threads[i], NULL);
    for (uint32_t t = 0; t < TICKETS; t++) CHECK(atomic_load(&seen[t]) == 1);
    for (int i = 0; i < 2; i++) {
        CHECK(atomic_load(&l[i].wrong) == 0);
        CHECK(atomic_load(&l[i].ends) == EPOCHS);
        spdl_detach(l[i].reader);
    }
    standin_free(s);
}

/* One loop for each epoch. */
static void *consume_epochs(void *arg) {
    ledger *l = arg;
    spdl_batch b = SPDL_BATCH_INIT;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        spdl_status s;
        while ((s = spdl_next_in_epoch(l->reader, epoch, SPDL_FOREVER, &b, &b)) == SPDL_OK) {
            if (b.epoch != epoch || b.ticket >= TICKETS || b.ticket / (TICKETS / EPOCHS) != epoch)
                atomic_fetch_add(&l->wrong, 1);
            else
                atomic_fetch_add(&l->seen[b.ticket], 1);
        }
        if (s == SPDL_END_EPOCH) atomic_fetch_add(&l->ends, 1);
    }
    return NULL;
}

TEST(loops_of_threads_over_an_epoch_share_its_batches_and_all_end_with_it) {
    standin_opts o = STANDIN_OPTS;
    o.n_epochs = EPOCHS, o.slots = 16;
    standin *s = make_served(o);
    static _Atomic uint32_t seen[TICKETS];
    ledger l = {attach_with(s, THREADS, 0), seen, 0, 0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, consume_epochs, &l) == 0);
    publish_epochs(s);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (uint32_t t = 0; t < TICKETS; t++) CHECK(atomic_load(&seen[t]) == 1);
    CHECK(atomic_load(&l.wrong) == 0);
    CHECK(atomic_load(&l.ends) == THREADS * EPOCHS);
    spdl_detach(l.reader);
    standin_free(s);
}

static void *take_one(void *arg) {
    ledger *l = arg;
    spdl_batch b = SPDL_BATCH_INIT;
    if (spdl_acquire(l->reader, SPDL_FOREVER, &b) != SPDL_OK || spdl_release(l->reader, &b) != SPDL_OK)
        atomic_fetch_add(&l->wrong, 1);
    return NULL;
}

TEST(a_sleeping_consumer_is_woken_by_a_publish) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    ledger l = {attach_with(s, 4, 0), NULL, 0, 0};
    for (int round = 0; round < 20; round++) {
        pthread_t t;
        CHECK(pthread_create(&t, NULL, take_one, &l) == 0);
        WAIT_UNTIL(__atomic_load_n(&standin_lane(s, 0)->sleepers, __ATOMIC_RELAXED) == 1);
        CHECK(standin_publish(s, 0, false) >= 0);
        pthread_join(t, NULL);
    }
    CHECK(atomic_load(&l.wrong) == 0);
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    CHECK_STATUS(spdl_get_reader_info(l.reader, &info), SPDL_OK);
    CHECK(info.acquired == 20 && info.wait_ns > 0);
    spdl_detach(l.reader);
    standin_free(s);
}

typedef struct hoard {
    spdl_reader *reader;
    pthread_barrier_t *barrier;
    _Atomic int *told;
} hoard;

/* Hold one batch and ask for another. */
static void *hoard_one(void *arg) {
    hoard *h = arg;
    spdl_batch b = SPDL_BATCH_INIT, more = SPDL_BATCH_INIT;
    if (spdl_acquire(h->reader, SPDL_FOREVER, &b) != SPDL_OK) abort();
    pthread_barrier_wait(h->barrier);
    spdl_status s = spdl_acquire(h->reader, SPDL_FOREVER, &more);
    if (s == SPDL_E_LEASES)
        atomic_fetch_add(h->told, 1);
    else if (s == SPDL_OK)
        spdl_release(h->reader, &more);
    else
        abort();
    spdl_release(h->reader, &b);
    return NULL;
}

TEST(threads_that_hold_every_lease_and_wait_do_not_wait_for_ever) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 3, 0);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 3);
    _Atomic int told = 0;
    for (int i = 0; i < 5; i++) CHECK(standin_publish(s, 0, false) >= 0);
    hoard h = {r, &barrier, &told};
    pthread_t t[3];
    for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], NULL, hoard_one, &h) == 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    CHECK(atomic_load(&told) >= 1);
    pthread_barrier_destroy(&barrier);
    spdl_detach(r);
    standin_free(s);
}

typedef struct handed {
    spdl_reader *reader;
    spdl_batch batch;
    spdl_status status;
} handed;

static void *release_later(void *arg) {
    handed *h = arg;
    usleep(20000);
    h->status = spdl_release(h->reader, &h->batch);
    return NULL;
}

TEST(a_lease_released_by_another_thread_wakes_the_one_that_waits_for_it) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    handed h = {attach_with(s, 1, SPDL_ATTACH_HANDOFF), SPDL_BATCH_INIT, SPDL_OK};
    CHECK(standin_publish(s, 0, false) >= 0 && standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(h.reader, 0, &h.batch), SPDL_OK);
    pthread_t t;
    CHECK(pthread_create(&t, NULL, release_later, &h) == 0);
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_status got = spdl_acquire(h.reader, SPDL_FOREVER, &b);
    pthread_join(t, NULL);
    CHECK_STATUS(got, SPDL_OK);
    CHECK(h.status == SPDL_OK && b.ticket == 1);
    spdl_release(h.reader, &b);
    spdl_detach(h.reader);
    standin_free(s);
}

typedef struct race {
    spdl_reader *reader;
    spdl_batch batch;
    pthread_barrier_t *barrier;
    _Atomic int *winners;
} race;

static void *release_race(void *arg) {
    race *x = arg;
    pthread_barrier_wait(x->barrier);
    if (spdl_release(x->reader, &x->batch) == SPDL_OK) atomic_fetch_add(x->winners, 1);
    return NULL;
}

TEST(of_two_racing_releases_one_wins) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    race x = {attach_with(s, 1, 0), SPDL_BATCH_INIT, &barrier, NULL};
    for (int round = 0; round < 200; round++) {
        _Atomic int winners = 0;
        x.winners = &winners;
        CHECK(standin_publish(s, 0, false) >= 0);
        CHECK_STATUS(spdl_acquire(x.reader, 0, &x.batch), SPDL_OK);
        pthread_t t[2];
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&t[i], NULL, release_race, &x) == 0);
        for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
        CHECK(atomic_load(&winners) == 1);
    }
    pthread_barrier_destroy(&barrier);
    spdl_detach(x.reader);
    standin_free(s);
}
