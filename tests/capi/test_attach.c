/* test_attach.c - finding the engine, the hand-shake, detach, and what a wrong peer gets. */
#include "test.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t soon = 30 * 1000 * 1000; /* ns */

static spdl_status try_attach(const char *name, int64_t timeout_ns) {
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *r = (void *)1;
    o.timeout_ns = timeout_ns;
    spdl_status s = spdl_attach(name, &o, &r);
    CHECK((s == SPDL_OK) == (r != NULL));
    if (r) spdl_detach(r);
    return s;
}

TEST(an_absent_engine_is_not_found) {
    setenv("SPDL_RUNTIME_DIR", "/tmp/spdl-no-such-directory", 1);
    CHECK_STATUS(try_attach("nobody", soon), SPDL_E_NOT_FOUND);
    CHECK(strstr(spdl_last_error(), "nobody.sock"));
    unsetenv("SPDL_RUNTIME_DIR");
    CHECK_STATUS(try_attach("/tmp/spdl-no-such.sock", 1), SPDL_E_NOT_FOUND);
}

TEST(an_absent_engine_is_answered_with_those_that_run) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    char dead[160], other[160];
    snprintf(other, sizeof other, "%s/data.txt", s->directory);
    snprintf(dead, sizeof dead, "%s/killed.sock", s->directory);
    int left = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
        file = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, dead, strlen(dead) + 1);
    CHECK(file >= 0 && bind(left, (struct sockaddr *)&a, sizeof a) == 0 && close(left) == 0 &&
          close(file) == 0);
    setenv("SPDL_RUNTIME_DIR", s->directory, 1);
    CHECK_STATUS(try_attach("rign", soon), SPDL_E_NOT_FOUND);
    CHECK(strstr(spdl_last_error(), "start one with spdl serve, or attach to one that runs: ring"));
    CHECK(!strstr(spdl_last_error(), "killed") && !strstr(spdl_last_error(), "data"));
    CHECK_STATUS(try_attach("ring", SPDL_FOREVER), SPDL_OK);
    unsetenv("SPDL_RUNTIME_DIR");
    unlink(dead), unlink(other);
    standin_free(s);
}

static void *serve_late(void *s) {
    usleep(50000);
    standin_serve(s, -1);
    return NULL;
}

TEST(attach_waits_for_an_engine_to_appear) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    strcpy(s->directory, "/tmp/spdl-standin-XXXXXX");
    CHECK(mkdtemp(s->directory));
    snprintf(s->path, sizeof s->path, "%s/late.sock", s->directory);
    CHECK_STATUS(try_attach(s->path, soon), SPDL_E_NOT_FOUND);
    pthread_t late;
    CHECK(pthread_create(&late, NULL, serve_late, s) == 0);
    spdl_status got = try_attach(s->path, SPDL_FOREVER);
    pthread_join(late, NULL);
    CHECK_STATUS(got, SPDL_OK);
    standin_free(s);
}

TEST(names_and_options_are_checked) {
    char long_name[80], long_path[130];
    memset(long_name, 'n', 79), long_name[79] = 0;
    memset(long_path, 'p', 129), long_path[0] = '/', long_path[129] = 0;
    const char *bad[] = {"", "a/", "a/b/c", ".hidden", long_name, long_path};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STATUS(try_attach(bad[i], 1), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "107 bytes"));
    spdl_reader *r;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    CHECK_STATUS(spdl_attach(NULL, &o, &r), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_attach("x", &o, NULL), SPDL_E_ARGUMENT);
    o.struct_size = 8;
    CHECK_STATUS(spdl_attach("x", &o, &r), SPDL_E_ARGUMENT);
    o = (spdl_attach_opts)SPDL_ATTACH_OPTS_INIT, o.lane = -7;
    CHECK_STATUS(spdl_attach("x", &o, &r), SPDL_E_ARGUMENT);
    o = (spdl_attach_opts)SPDL_ATTACH_OPTS_INIT, o.flags = 256;
    CHECK_STATUS(spdl_attach("x", &o, &r), SPDL_E_ARGUMENT);
}

TEST(sockets_are_found_in_the_runtime_directory) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    setenv("SPDL_RUNTIME_DIR", s->directory, 1);
    CHECK_STATUS(try_attach("ring", SPDL_FOREVER), SPDL_OK);
    CHECK_STATUS(try_attach("ring/train", SPDL_FOREVER), SPDL_OK);
    unsetenv("SPDL_RUNTIME_DIR");
    setenv("XDG_RUNTIME_DIR", s->directory, 1);
    char below[128], moved[160];
    snprintf(below, sizeof below, "%s/spdl", s->directory);
    snprintf(moved, sizeof moved, "%s/ring.sock", below);
    CHECK(mkdir(below, 0700) == 0 && rename(s->path, moved) == 0);
    CHECK_STATUS(try_attach("ring", SPDL_FOREVER), SPDL_OK);
    unsetenv("XDG_RUNTIME_DIR");
    CHECK(unlink(moved) == 0 && rmdir(below) == 0);
    standin_free(s);
}

TEST(a_socket_that_does_not_admit_us_is_denied) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(99);
        if (getuid() != 65534) chmod(s->directory, 0);
        spdl_reader *r;
        spdl_status got = spdl_attach(s->path, NULL, &r);
        if (getuid() != 65534) chmod(s->directory, 0700);
        _exit(got == SPDL_E_DENIED ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    standin_free(s);
}

TEST(a_directory_where_others_may_put_a_socket_is_denied_by_what_is_wrong_with_it) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    char link[96], what[200];
    snprintf(link, sizeof link, "%s/link", s->directory);
    snprintf(what, sizeof what, "directory \"%s\": it is a symbolic link; use the directory itself", link);
    CHECK(symlink(s->directory, link) == 0);
    setenv("SPDL_RUNTIME_DIR", link, 1);
    CHECK_STATUS(try_attach("ring", soon), SPDL_E_DENIED);
    CHECK_SAYS(what);
    unlink(link);
    setenv("SPDL_RUNTIME_DIR", s->path, 1);
    CHECK_STATUS(try_attach("ring", soon), SPDL_E_DENIED);
    CHECK_SAYS("it is no directory");
    setenv("SPDL_RUNTIME_DIR", s->directory, 1);
    CHECK(chmod(s->directory, 0777) == 0);
    CHECK_STATUS(try_attach("ring", soon), SPDL_E_DENIED);
    CHECK_SAYS("every user may write it; chmod o-w");
    if (getuid() == 0) {
        CHECK(chmod(s->directory, 0700) == 0 && chown(s->directory, 65534, (gid_t)-1) == 0);
        CHECK_STATUS(try_attach("ring", soon), SPDL_E_DENIED);
        CHECK_SAYS("it is neither yours nor root's, nor in a directory in which root alone may write");
    }
    unsetenv("SPDL_RUNTIME_DIR");
    standin_free(s);
}

TEST(a_directory_that_root_gave_away_is_looked_in) {
    if (getuid() != 0) return; /* root alone gives directories away */
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    char given[96], socket[120];
    snprintf(given, sizeof given, "%s/given", s->directory);
    snprintf(socket, sizeof socket, "%s/ring.sock", given);
    CHECK(mkdir(given, 0700) == 0 && chown(given, 65534, (gid_t)-1) == 0 && rename(s->path, socket) == 0);
    setenv("SPDL_RUNTIME_DIR", given, 1);
    CHECK(chmod(s->directory, 01777) == 0); /* anybody could have put it there */
    CHECK_STATUS(try_attach("ring", soon), SPDL_E_DENIED);
    CHECK(chmod(s->directory, 0755) == 0);
    CHECK_STATUS(try_attach("ring", SPDL_FOREVER), SPDL_OK);
    unsetenv("SPDL_RUNTIME_DIR");
    CHECK(rename(socket, s->path) == 0 && rmdir(given) == 0);
    standin_free(s);
}

TEST(more_reservations_than_slots_are_busy) {
    standin *s = make_served((standin_opts)STANDIN_OPTS); /* 8 slots: 6 may be reserved */
    spdl_reader *r = attach_with(s, 4, 0), *no;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.max_leases = 3;
    CHECK_STATUS(spdl_attach(s->path, &o, &no), SPDL_E_BUSY);
    CHECK(strstr(spdl_last_error(), "no slot left"));
    o.max_leases = 2;
    CHECK_STATUS(spdl_attach(s->path, &o, &no), SPDL_OK);
    spdl_detach(no), spdl_detach(r);
    standin_free(s);
}

TEST(a_taken_lane_is_busy_and_an_unknown_group_not_found) {
    standin_opts so = STANDIN_OPTS;
    so.mode = SPDL_L_MODE_LANES, so.lanes = 2, so.slots = 16;
    standin *s = make_served(so);
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *r, *no;
    o.lane = 1, o.group = "g";
    CHECK_STATUS(spdl_attach(s->path, &o, &r), SPDL_OK);
    CHECK_STATUS(spdl_attach(s->path, &o, &no), SPDL_E_BUSY);
    o.lane = SPDL_ANY_LANE, o.group = "h";
    CHECK_STATUS(spdl_attach(s->path, &o, &no), SPDL_E_NOT_FOUND);
    char name[90];
    memset(name, 'g', 89), name[89] = 0;
    o.group = name;
    CHECK_STATUS(spdl_attach(s->path, &o, &no), SPDL_E_ARGUMENT);
    spdl_detach(r);
    standin_free(s);
}

TEST(a_peer_that_hangs_up_is_lost_and_one_that_stays_silent_busy_each_with_its_path_and_process) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    char path[140];
    snprintf(path, sizeof path, "socket \"%s\" of pid %d: ", s->path, (int)getpid());
    s->hooks.silent = true;
    CHECK_STATUS(try_attach(s->path, soon), SPDL_E_BUSY);
    CHECK_SAYS(path);
    CHECK_SAYS("no answer in 30 ms");
    CHECK_SAYS("or raise the timeout");
    pthread_mutex_lock(&s->lock);
    s->hooks.hang_up = true;
    pthread_mutex_unlock(&s->lock);
    CHECK_STATUS(try_attach(s->path, SPDL_FOREVER), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(path);
    CHECK_SAYS("it hung up");
    standin_free(s);
}

TEST(an_attach_given_up_is_detached) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    s->hooks.silent = true;
    CHECK_STATUS(try_attach(s->path, soon), SPDL_E_BUSY);
    WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 1);
    standin_free(s);
}

TEST(malformed_answers_are_refused) {
    const spdl_l_msg good = {.magic = SPDL_L_MSG_MAGIC, .version = 1, .type = SPDL_L_MSG_WELCOME, .id = 1};
    spdl_l_msg m[6] = {good, good, good, good, good, good};
    m[0].magic = 0x12345678;
    m[1].bytes = 400;
    m[2].type = SPDL_L_MSG_STATE;
    m[4].version = 2;
    m[5].type = SPDL_L_MSG_ERROR, m[5].status = 3; /* an error whose status is none */
    const size_t bytes[6] = {32, 32, 32, 7, 32, 32};
    const spdl_status want[6] = {SPDL_E_FORMAT, SPDL_E_FORMAT,  SPDL_E_FORMAT,
                                 SPDL_E_FORMAT, SPDL_E_VERSION, SPDL_E_FORMAT};
    for (int i = 0; i < 6; i++) {
        standin *s = make_served((standin_opts)STANDIN_OPTS);
        s->hooks.raw = &m[i], s->hooks.raw_bytes = bytes[i];
        CHECK_STATUS(try_attach(s->path, SPDL_FOREVER), want[i]);
        if (i < 5) CHECK_SAYS(s->path);
        standin_free(s);
    }
}

static int wanted_fds;
static void give_fds(standin *s, spdl_l_welcome *w, int *fds, int *n_fds) {
    (void)w;
    for (int i = 6; i < wanted_fds; i++) fds[i] = s->space;
    *n_fds = wanted_fds;
}

TEST(a_welcome_with_other_descriptors_than_six_is_refused_and_leaks_none) {
    const int counts[] = {0, 1, 5, 7, 33, 64};
    for (int i = 0; i < 6; i++) {
        standin *s = make_served((standin_opts)STANDIN_OPTS);
        wanted_fds = counts[i], s->hooks.welcome = give_fds;
        int before = test_open_fds();
        CHECK_STATUS(try_attach(s->path, SPDL_FOREVER), SPDL_E_FORMAT);
        /* The stand-in closes its end of the connection when it reads DETACH. */
        WAIT_UNTIL(test_open_fds() == before);
        standin_free(s);
    }
}

static void no_pidfd(standin *s, spdl_l_welcome *w, int *fds, int *n_fds) {
    (void)w, (void)n_fds;
    fds[3] = s->space;
}

TEST(a_welcome_without_a_pidfd_is_refused) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    s->hooks.welcome = no_pidfd;
    CHECK_STATUS(try_attach(s->path, SPDL_FOREVER), SPDL_E_FORMAT);
    standin_free(s);
}

TEST(a_thousand_attaches_leave_nothing) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    int fds = 0, maps = 0;
    size_t used = 0;
    for (int i = 0; i < 1000; i++) {
        spdl_reader *r = attach_with(s, 4, 0);
        if (i % 2) CHECK(spdl_event_fd(r) >= 0);
        CHECK(standin_publish(s, 0, false) >= 0);
        spdl_batch b = SPDL_BATCH_INIT;
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
        spdl_detach(r);
        WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == (uint32_t)i + 1);
        if (i == 10) fds = test_open_fds(), maps = test_maps(), used = mallinfo2().uordblks;
    }
    WAIT_UNTIL(test_open_fds() == fds);
    CHECK(test_maps() <= maps + 4);
    CHECK(mallinfo2().uordblks <= used + 990); /* less than a byte an attach */
    standin_free(s);
}

TEST(by_default_the_engine_says_how_many_leases_there_are) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.max_leases = 2;
    spdl_reader *r;
    CHECK_STATUS(spdl_attach(s->path, &o, &r), SPDL_OK);
    CHECK(__atomic_load_n(&s->last_max_leases, __ATOMIC_ACQUIRE) == 2);
    spdl_detach(r);
    CHECK_STATUS(spdl_attach(s->path, NULL, &r), SPDL_OK);
    CHECK(__atomic_load_n(&s->last_max_leases, __ATOMIC_ACQUIRE) == 0);
    spdl_detach(r);
    standin_free(s);
}

TEST(after_detach_leased_batches_stay_readable_until_released) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 2, 0), *other = attach_with(s, 2, 0);
    spdl_batch done = SPDL_BATCH_INIT, undone = SPDL_BATCH_INIT, again = SPDL_BATCH_INIT;
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK(standin_publish(s, 0, false) >= 0 && standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &done), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &undone), SPDL_OK);
    CHECK_STATUS(spdl_done(r, &done), SPDL_OK);
    CHECK_STATUS(spdl_detach(r), SPDL_OK);
    CHECK_STATUS(spdl_detach(r), SPDL_E_DETACHED);
    CHECK_STATUS(spdl_acquire(r, 0, &again), SPDL_E_DETACHED);
    CHECK_STATUS(spdl_done(r, &undone), SPDL_E_DETACHED);
    CHECK_STATUS(spdl_batch_tensor(r, &undone, 0, &t), SPDL_E_DETACHED);
    CHECK(spdl_event_fd(r) == -1);
    CHECK(standin_image_is(done.data, 4, 0) && standin_image_is(undone.data, 4, 1));
    CHECK_STATUS(spdl_release(r, &done), SPDL_OK);
    CHECK_STATUS(spdl_acquire(other, 0, &again), SPDL_TIMEOUT); /* its memory is still being read */
    CHECK(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == 0);
    CHECK_STATUS(spdl_release(r, &undone), SPDL_OK);
    CHECK_STATUS(spdl_acquire(other, SPDL_FOREVER, &again), SPDL_OK);
    CHECK(again.ticket == 1 && again.attempts == 2);
    CHECK_STATUS(spdl_release(other, &again), SPDL_OK);
    spdl_detach(other);
    standin_free(s);
}

static bool nobody_is_attached(standin *s) {
    bool nobody = true;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < (int)STANDIN_MEMBERS; i++) nobody = nobody && s->peers[i].fd < 0;
    pthread_mutex_unlock(&s->lock);
    return nobody;
}

/* Attach, to a ring of the reader's if there is one, with each allocation failing in turn. Returns how many there are. */
static uint32_t fail_each_allocation(standin *s, spdl_reader *of) {
    int fds = test_open_fds();
    uint32_t failures = 0;
    for (long n = 1;; n++) {
        spdl_reader *r;
        spdl_status got;
        bool reached;
        do { /* busy: a stand-in that was held up has the ones before in its queue still */
            test_allocations = 0, test_fail_at = n;
            got = of ? spdl_attach_ring(of, NULL, NULL, &r) : spdl_attach(s->path, NULL, &r);
            reached = test_allocations >= n;
            test_fail_at = 0;
        } while (got == SPDL_E_BUSY);
        if (got == SPDL_OK) {
            spdl_detach(r);
            if (!reached) break;
        } else {
            CHECK_STATUS(got, SPDL_E_NOMEM);
            failures++;
        }
        WAIT_UNTIL((of || nobody_is_attached(s)) && test_open_fds() <= fds);
    }
    WAIT_UNTIL(test_open_fds() <= fds);
    return failures;
}

TEST(every_failing_allocation_is_an_error_and_leaks_nothing) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_detach(attach_with(s, 2, 0)); /* the engine's threads have what they keep open */
    WAIT_UNTIL(nobody_is_attached(s));
    /* reader, fork page, message, three mappings, schema, text, leases */
    CHECK(fail_each_allocation(s, NULL) >= 9);
    standin_free(s);
}

TEST(another_ring_of_the_engine_is_attached_over_a_readers_connection) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *first = attach_with(s, 2, 0), *second = NULL, *third = NULL;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_attach_opts two = SPDL_ATTACH_OPTS_INIT;
    two.max_leases = 2;
    CHECK_STATUS(spdl_attach_ring(first, "val", &two, &second), SPDL_OK);
    CHECK(strcmp(s->last_ring, "val") == 0);
    spdl_detach(first);
    CHECK_STATUS(spdl_attach_ring(second, NULL, &two, &third), SPDL_OK); /* of the ring's own name */
    CHECK(s->last_ring[0] == 0);
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(second, SPDL_FOREVER, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(second, &b), SPDL_OK);
    spdl_detach(second);
    CHECK(standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(third, SPDL_FOREVER, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(third, &b), SPDL_OK);
    spdl_detach(third);
    standin_free(s);
}

TEST(a_ring_that_cannot_be_attached_leaves_the_reader_as_it_was) {
    char long_name[80];
    memset(long_name, 'n', 79), long_name[79] = 0;
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 2, 0), *other = (void *)1;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    int fds = test_open_fds();
    CHECK_STATUS(spdl_attach_ring(NULL, "val", NULL, &other), SPDL_E_ARGUMENT);
    CHECK(other == NULL);
    CHECK_SAYS("spdl: attach_ring: of is NULL");
    CHECK_STATUS(spdl_attach_ring(r, "val", NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: attach_ring: out is NULL");
    CHECK_STATUS(spdl_attach_ring(r, long_name, NULL, &other), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: attach_ring: ring \"nnn");
    CHECK_SAYS("63 bytes");
    o.group = "nobody's";
    CHECK_STATUS(spdl_attach_ring(r, "val", &o, &other), SPDL_E_NOT_FOUND);
    o.group = long_name;
    CHECK_STATUS(spdl_attach_ring(r, "val", &o, &other), SPDL_E_ARGUMENT);
    CHECK_SAYS(": attach_ring \"val\": group \"nnn");
    o.lane = -2;
    CHECK_STATUS(spdl_attach_ring(r, "val", &o, &other), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: attach_ring: opts.lane is -2, want");
    o.flags = 4;
    CHECK_STATUS(spdl_attach_ring(r, "val", &o, &other), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: attach_ring: opts.flags is 0x4, this library knows 0x1");
    o.struct_size = 8;
    CHECK_STATUS(spdl_attach_ring(r, "val", &o, &other), SPDL_E_ARGUMENT);
    CHECK_SAYS("spdl: attach_ring: opts.struct_size is 8, want");
    WAIT_UNTIL(test_open_fds() <= fds);
    char text[64];
    CHECK_STATUS(spdl_state_save(r, 0, text, sizeof text, NULL), SPDL_OK);
    spdl_detach(r);
    standin_free(s);
}

TEST(an_engine_of_an_older_release_gives_no_other_ring) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    s->header->layout_minor = 5;
    standin_serve(s, -1);
    spdl_reader *r = attach_with(s, 2, 0), *other = NULL;
    CHECK_STATUS(spdl_attach_ring(r, "val", NULL, &other), SPDL_E_UNSUPPORTED);
    CHECK_SAYS("spdl: attach_ring: the engine of ring");
    CHECK_SAYS("layout 1.5, want 1.6; attach by name");
    spdl_detach(r);
    standin_free(s);
}

TEST(every_failing_allocation_of_another_ring_is_an_error_and_leaks_nothing) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 2, 0), *other = NULL;
    CHECK_STATUS(spdl_attach_ring(r, NULL, NULL, &other), SPDL_OK);
    spdl_detach(other);
    CHECK(fail_each_allocation(s, r) >= 10); /* the message that asks for the connection, too */
    spdl_detach(r);
    standin_free(s);
}
