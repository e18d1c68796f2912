/* test_process.c - what crosses a process: fork, the engine's death, spdl_open, consumers killed at each
 * fault point, dlclose. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *program(const char *name) {
    static char path[2][256];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", test_build, name);
    return path[turn];
}

/* ---- fork --------------------------------------------------------------------------------------- */

static int forked_child(spdl_reader *r, spdl_batch *b, const char *path) {
    spdl_batch x = SPDL_BATCH_INIT;
    spdl_tensor t = SPDL_TENSOR_INIT;
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    if (spdl_acquire(r, 0, &x) != SPDL_E_FORKED) return 1;
    if (!strstr(spdl_last_error(), "attach again")) return 2;
    if (spdl_batch_tensor(r, b, 0, &t) != SPDL_E_FORKED || spdl_get_ring_info(r, &info) != SPDL_E_FORKED)
        return 3;
    if (spdl_event_fd(r) != -1 || spdl_state_save(r, 0, NULL, 0, NULL) != SPDL_E_FORKED ||
        spdl_n_tensors(r) != 0)
        return 4;
    if (!standin_image_is(b->data, b->rows, b->ticket)) return 5;
    if (spdl_done(r, b) != SPDL_OK || spdl_release(r, b) != SPDL_OK || spdl_detach(r) != SPDL_OK) return 6;
    if (!standin_image_is(b->data, b->rows, b->ticket)) return 7;
    spdl_reader *own;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.max_leases = 1;
    if (spdl_attach(path, &o, &own) != SPDL_OK) return 8;
    if (spdl_acquire(own, SPDL_FOREVER, &x) != SPDL_OK || x.ticket != 1) return 9;
    spdl_release(own, &x);
    spdl_detach(own);
    return 0;
}

TEST(a_forked_child_is_told_and_leaves_its_parents_lease_alone) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 2, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK(standin_publish(s, 0, false) >= 0 && standin_publish(s, 0, false) >= 0);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    pid_t child = fork();
    if (child == 0) _exit(forked_child(r, &b, s->path));
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(SPDL_L_STATE(standin_word(s, b.slot)->word) == SPDL_L_HELD);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_TIMEOUT);
    spdl_detach(r);
    standin_free(s);
}

/* ---- a daemon ------------------------------------------------------------------------------------ */

/* How many of the descriptors 0, 1 and 2 are open. */
static int standard_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 3; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int daemon_without_descriptors(const char *path) {
    spdl_reader *r, *other;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    o.max_leases = 1;
    for (int fd = 0; fd < 3; fd++) close(fd);
    if (spdl_attach(path, &o, &r) != SPDL_OK) return 1;
    if (standard_descriptors() != 0) return 2;
    if (spdl_event_fd(r) < 3) return 3;
    if (spdl_attach_ring(r, NULL, &o, &other) != SPDL_OK) return 4;
    if (spdl_acquire(r, SPDL_FOREVER, &b) != SPDL_OK) return 5;
    if (standard_descriptors() != 0) return 6;
    spdl_detach(other), spdl_detach(r);
    return 0;
}

static int status_of(pid_t child) {
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(a_program_that_closed_its_first_three_descriptors_has_nothing_of_the_librarys_there) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    CHECK(standin_publish(s, 0, false) >= 0);
    pid_t child = fork();
    if (child == 0) _exit(daemon_without_descriptors(s->path));
    CHECK(status_of(child) == 0);
    standin_free(s);
}

/* ---- the engine's death ---------------------------------------------------------------------------- */

typedef struct process {
    pid_t pid;
    char directory[64], path[96];
} process;

static process start_engine(void) {
    process p = {0, "/tmp/spdl-engine-XXXXXX", ""};
    CHECK(mkdtemp(p.directory));
    snprintf(p.path, sizeof p.path, "%s/e.sock", p.directory);
    const char *argv[] = {program("capi-engine"), "socket", p.path, NULL};
    CHECK(posix_spawn(&p.pid, argv[0], NULL, NULL, (char **)(uintptr_t)argv, environ) == 0);
    return p;
}

static void end_engine(process *p) {
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    unlink(p->path);
    rmdir(p->directory);
}

static void *kill_later(void *arg) {
    usleep(30000);
    double *when = arg;
    *when = test_seconds();
    kill((pid_t)when[1], SIGKILL);
    return NULL;
}

/* Take all that is published until the engine's end is told; the seconds between its death and that. */
static double seconds_to_notice(void) {
    process p = start_engine();
    spdl_reader *r;
    CHECK_STATUS(spdl_attach(p.path, NULL, &r), SPDL_OK);
    spdl_batch held = SPDL_BATCH_INIT, b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &held), SPDL_OK);
    double when[2] = {0, (double)p.pid};
    pthread_t killer;
    CHECK(pthread_create(&killer, NULL, kill_later, when) == 0);
    spdl_status s;
    while ((s = spdl_acquire(r, SPDL_FOREVER, &b)) == SPDL_OK) spdl_release(r, &b);
    double noticed = test_seconds();
    pthread_join(killer, NULL);
    CHECK_STATUS(s, SPDL_E_ENGINE_LOST);
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_E_ENGINE_LOST);
    CHECK(spdl_engine_state(r) == SPDL_LOST);
    struct pollfd e = {spdl_event_fd(r), POLLIN, 0};
    CHECK(poll(&e, 1, 0) == 1);
    CHECK(standin_image_is(held.data, held.rows, held.ticket));
    CHECK_STATUS(spdl_stats(r, NULL, 0, NULL), SPDL_E_ENGINE_LOST);
    CHECK_STATUS(spdl_release(r, &held), SPDL_OK);
    spdl_detach(r);
    end_engine(&p);
    return noticed - when[0];
}

TEST(the_engines_death_ends_a_wait_and_leased_batches_stay_readable) {
    double worst = 0, total = 0;
    for (int i = 0; i < 20; i++) {
        double t = seconds_to_notice();
        total += t;
        if (t > worst) worst = t;
    }
    printf("# engine death noticed within %.1f ms at worst, %.1f ms on average, of 20\n", worst * 1e3,
           total * 1e3 / 20);
}

TEST(whoever_asks_a_dead_engine_is_told_ring_process_and_remedy) {
    process p = start_engine();
    spdl_reader *r, *other;
    char state[64], dead[120];
    CHECK_STATUS(spdl_attach(p.path, NULL, &r), SPDL_OK);
    snprintf(dead, sizeof dead,
             "ring \"standin\": the engine (pid %d) died; leased batches stay readable, start it",
             (int)p.pid);
    kill(p.pid, SIGKILL);
    CHECK_STATUS(spdl_stats(r, NULL, 0, NULL), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(dead);
    CHECK_STATUS(spdl_state_save(r, 0, state, sizeof state, NULL), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(dead);
    CHECK_STATUS(spdl_state_load(r, "{\"epoch\":1}"), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(dead);
    CHECK_STATUS(spdl_restart(r), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(dead);
    CHECK_STATUS(spdl_attach_ring(r, NULL, NULL, &other), SPDL_E_ENGINE_LOST);
    CHECK_SAYS(dead);
    spdl_detach(r);
    end_engine(&p);
}

TEST(an_engine_that_does_not_answer_is_no_dead_one_and_its_late_answer_is_nobodys) {
    process p = start_engine();
    spdl_reader *r;
    spdl_reader_info info = SPDL_READER_INFO_INIT;
    char text[64], stopped[120];
    CHECK_STATUS(spdl_attach(p.path, NULL, &r), SPDL_OK);
    snprintf(stopped, sizeof stopped, "ring \"standin\": engine (pid %d): no answer in 10 s: it is stopped",
             (int)p.pid);
    kill(p.pid, SIGSTOP);
    CHECK(waitpid(p.pid, NULL, WUNTRACED) == p.pid); /* its threads stop one after the other */
    CHECK_STATUS(spdl_restart(r), SPDL_E_BUSY);
    kill(p.pid, SIGCONT);
    CHECK_SAYS(stopped);
    CHECK_SAYS("may still do what was asked; ask again");
    CHECK(spdl_engine_state(r) == SPDL_RUNNING);
    CHECK_STATUS(spdl_stats(r, text, sizeof text, NULL), SPDL_OK);
    CHECK(strcmp(text, "{\"stats\":1}") == 0);
    CHECK(spdl_get_reader_info(r, &info) == SPDL_OK && info.epoch == 0);
    CHECK_STATUS(spdl_restart(r), SPDL_OK);
    CHECK(spdl_get_reader_info(r, &info) == SPDL_OK && info.epoch == 3);
    spdl_detach(r);
    end_engine(&p);
}

/* ---- spdl_open ---------------------------------------------------------------------------------------- */

static volatile sig_atomic_t children;
static void on_child(int sig) {
    (void)sig;
    children++;
}

static spdl_status open_engine(const char *spec, int64_t timeout_ns, spdl_reader **r) {
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    const char *args[] = {"--cpus", "1", NULL};
    o.engine = program("capi-engine");
    o.args = args;
    o.attach.timeout_ns = timeout_ns;
    return spdl_open(spec, &o, r);
}

TEST(an_opened_engine_serves_and_its_host_never_sees_it) {
    struct sigaction a = {.sa_handler = on_child}, old;
    sigaction(SIGCHLD, &a, &old);
    children = 0;
    spdl_reader *r;
    CHECK_STATUS(open_engine("{\"size\":4}", 0, &r), SPDL_OK);
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    CHECK_STATUS(spdl_get_ring_info(r, &info), SPDL_OK);
    CHECK(strcmp(info.text,
                 "serve|--spec-json|{\"size\":4}|--child|--control-fd|3|--parent-fd|4|--cpus|1|") == 0);
    for (uint64_t t = 0; t < 50; t++) {
        spdl_batch b = SPDL_BATCH_INIT;
        CHECK_STATUS(spdl_acquire(r, SPDL_FOREVER, &b), SPDL_OK);
        CHECK(b.ticket == t && standin_image_is(b.data, b.rows, t));
        spdl_release(r, &b);
    }
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    int pidfd = -1;
    for (int fd = 3; fd < 64 && pidfd < 0; fd++) { /* the engine's pidfd of the welcome, kept to see it end */
        char link[64], target[64] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, "[pidfd]"))
            pidfd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    spdl_detach(r);
    struct pollfd p = {pidfd, POLLIN, 0};
    CHECK(poll(&p, 1, 20000) == 1); /* detach ended it */
    close(pidfd);
    CHECK(children == 0);
    sigaction(SIGCHLD, &old, NULL);
}

#ifdef __SANITIZE_ADDRESS__
void *__asan_region_is_poisoned(void *start, size_t bytes);

/* Both clones run in our memory and one of them never returns: had they marked their stacks as the sanitizer does, whatever is
 * mapped there next would be no memory to it. */
TEST(nothing_of_an_opened_engines_clones_stays_marked_in_memory) {
    enum { REGIONS = 16, BYTES = 2 << 16 };
    void *region[REGIONS];
    spdl_reader *r;
    CHECK_STATUS(open_engine("{}", 0, &r), SPDL_OK);
    spdl_detach(r);
    for (int i = 0; i < REGIONS; i++) {
        region[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(region[i] != MAP_FAILED && !__asan_region_is_poisoned(region[i], BYTES));
    }
    for (int i = 0; i < REGIONS; i++) munmap(region[i], BYTES);
}
#endif

static int open_without_descriptors(void) {
    spdl_reader *r;
    spdl_batch b = SPDL_BATCH_INIT;
    for (int fd = 0; fd < 3; fd++) close(fd);
    if (open_engine("{}", 0, &r) != SPDL_OK) return 1;
    if (spdl_acquire(r, SPDL_FOREVER, &b) != SPDL_OK) return 2;
    if (standard_descriptors() != 0) return 3;
    spdl_release(r, &b);
    spdl_detach(r);
    return 0;
}

TEST(an_engine_is_opened_without_the_first_three_descriptors) {
    pid_t child = fork();
    if (child == 0) _exit(open_without_descriptors());
    CHECK(status_of(child) == 0);
}

TEST(a_description_may_have_white_space_before_it) {
    spdl_reader *r;
    CHECK_STATUS(open_engine("\n\t {\"size\":4}", 0, &r), SPDL_OK);
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    CHECK_STATUS(spdl_get_ring_info(r, &info), SPDL_OK);
    CHECK(strstr(info.text, "serve|--spec-json|") == info.text);
    spdl_detach(r);
}

static char *long_text(size_t n) {
    char *text = malloc(n + 1);
    memset(text, ' ', n);
    text[0] = '{', text[n - 1] = '}', text[n] = 0;
    return text;
}

/* The bytes of a word that execve takes, and one more. */
TEST(a_description_and_a_state_of_any_length_reach_the_engine) {
    const size_t most = 32 * 4096 - 1;
    char *fits = long_text(most), *longer = long_text(most + 1), *longest = long_text(700000);
    const struct {
        const char *spec, *state, *want;
    } cases[] = {
        {"{}", longer, "serve|--spec-json|{}|--child|--control-fd|3|--parent-fd|4|--state-fd|5|131072{}|"},
        {longest, NULL, "serve|--spec-json-fd|5|--child|--control-fd|3|--parent-fd|4|700000{}|"},
        {longest, longer,
         "serve|--spec-json-fd|5|--child|--control-fd|3|--parent-fd|4|--state-fd|6|700000{}|131072{}|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
        spdl_ring_info info = SPDL_RING_INFO_INIT;
        spdl_reader *r;
        o.engine = program("capi-engine"), o.state = cases[i].state;
        int before = test_open_fds();
        CHECK_STATUS(spdl_open(cases[i].spec, &o, &r), SPDL_OK);
        CHECK_STATUS(spdl_get_ring_info(r, &info), SPDL_OK);
        if (strcmp(info.text, cases[i].want) != 0) test_fail(__FILE__, __LINE__, info.text);
        spdl_detach(r);
        CHECK(test_open_fds() == before);
    }
    spdl_reader *r;
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    CHECK_STATUS(open_engine(fits, 0, &r), SPDL_OK); /* a word still */
    CHECK_STATUS(spdl_get_ring_info(r, &info), SPDL_OK);
    CHECK(strstr(info.text, "serve|--spec-json|{ ") == info.text);
    spdl_detach(r);
    free(fits), free(longer), free(longest);
}

TEST(an_engine_that_cannot_start_says_why) {
    spdl_reader *r;
    for (int i = 0; i < 20; i++) { /* it may have said so and gone before we have sent our hello, or after */
        CHECK_STATUS(open_engine("bad", 0, &r), SPDL_E_SPEC);
        CHECK(strstr(spdl_last_error(), "unknown key \"sise\""));
    }
    CHECK_STATUS(open_engine("die", 0, &r), SPDL_E_ENGINE_START);
    CHECK(strstr(spdl_last_error(), "ended before it was ready; its log is on stderr"));
    CHECK_STATUS(open_engine("hang", 50000000, &r), SPDL_E_ENGINE_START);
    CHECK(strstr(spdl_last_error(),
                 "was not ready when its time was over; raise timeout (in C opts.attach.timeout_ns)"));
    CHECK_STATUS(open_engine("", 0, &r), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_open(NULL, NULL, &r), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_open("x", NULL, NULL), SPDL_E_ARGUMENT);
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    o.form = 9;
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ARGUMENT);
    o.form = SPDL_FORM_CHILD, o.engine = "/nonexistent/spdl";
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ENGINE_START);
    o.engine = program("not-a-program");
    int fd = open(o.engine, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    CHECK(fd >= 0 && write(fd,
                           "\x7f"
                           "ELF?",
                           5) == 5);
    close(fd);
    CHECK_STATUS(spdl_open("x", &o, &r), SPDL_E_ENGINE_START);
    CHECK(strstr(spdl_last_error(), "Exec format"));
    unlink(o.engine);
    setenv("SPDL_ENGINE", "/nonexistent/engine", 1);
    CHECK_STATUS(spdl_open("x", NULL, &r), SPDL_E_ENGINE_START);
    CHECK(strstr(spdl_last_error(), "$SPDL_ENGINE"));
    unsetenv("SPDL_ENGINE");
}

/* ---- consumers killed at every point -------------------------------------------------------------------- */

typedef struct kills {
    standin *s;
    uint32_t tickets, published, redelivered, seen[64];
} kills;

/* Start a consumer that dies at the count-th passage of point (NULL: never); read what it completed. */
static int run_consumer(kills *k, const char *point, int count, const char *action) {
    char fault[80] = "SPDL_FAULT=";
    if (point) snprintf(fault, sizeof fault, "SPDL_FAULT=%s:%d:%s", point, count, action);
    const char *argv[] = {program("capi-consumer"), k->s->path, NULL};
    char *envp[] = {fault, NULL};
    int out[2];
    CHECK(pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t a;
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_adddup2(&a, out[1], 1);
    pid_t pid;
    CHECK(posix_spawn(&pid, argv[0], &a, NULL, (char **)(uintptr_t)argv, envp) == 0);
    posix_spawn_file_actions_destroy(&a);
    close(out[1]);
    struct pollfd p = {out[0], POLLIN, 0};
    FILE *f = fdopen(out[0], "r");
    setvbuf(f, NULL, _IONBF, 0);
    for (bool open_ = true; open_;) { /* feed it when it sleeps, so that it passes the points of waiting */
        if (poll(&p, 1, 1) == 0) {
            bool sleeps = __atomic_load_n(&standin_lane(k->s, 0)->sleepers, __ATOMIC_RELAXED) == 1;
            if (sleeps && k->published < k->tickets &&
                standin_publish(k->s, 0, k->published + 1 == k->tickets) >= 0)
                k->published++;
            continue;
        }
        unsigned long long ticket;
        unsigned attempts;
        open_ = fscanf(f, "%llu %u", &ticket, &attempts) == 2;
        if (open_ && ticket < 64) k->seen[ticket]++, k->redelivered += attempts > 1;
    }
    fclose(f);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void kill_at(const char *point, int count) {
    kills k = {.s = make_served((standin_opts)STANDIN_OPTS), .tickets = 20};
    int status = run_consumer(&k, point, count, "kill");
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        test_fail(point, count, "the consumer ended without passing this point so often");
    standin_reap(k.s, 1); /* death is proved: waitpid said so */
    uint32_t before = 0;
    for (uint32_t t = 0; t < k.tickets; t++) before += k.seen[t];
    status = run_consumer(&k, NULL, 0, NULL);
    /* A ticket completed just before the kill may lack its line, but none may have two or come back. */
    uint32_t missing = 0;
    for (uint32_t t = 0; t < k.tickets; t++) {
        CHECK(k.seen[t] <= 1);
        missing += k.seen[t] == 0;
    }
    CHECK(missing <= 1 && k.redelivered <= 1);
    CHECK(before == k.tickets || status == 0);
    standin_free(k.s);
}

TEST(a_consumer_killed_at_any_point_loses_no_batch) {
    const char *points[] = {"attach.sent", "attach.mapped",  "wait",         "word.read",
                            "claim.cas",   "after.claim",    "payload.read", "before.done",
                            "after.done",  "before.release", "release.cas",  "after.release"};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        bool once = i < 2;
        for (int count = 1; count <= (once ? 1 : 5); count += 2) kill_at(points[i], count);
    }
    kill_at("woken", 1);
    kill_at("detach.unmap", 1);
    kill_at("detach.sent", 1);
}

TEST(a_delayed_or_failing_point_changes_nothing_but_time) {
    const char *actions[] = {"delay:5", "err"};
    for (int i = 0; i < 2; i++) {
        kills k = {.s = make_served((standin_opts)STANDIN_OPTS), .tickets = 20};
        CHECK(run_consumer(&k, "claim.cas", 3, actions[i]) == 0);
        for (uint32_t t = 0; t < k.tickets; t++) CHECK(k.seen[t] == 1);
        standin_free(k.s);
    }
}

/* ---- dlclose ------------------------------------------------------------------------------------------- */

static void load_and_use(standin *s) {
    void *lib = dlopen(program("libspdl.so"), RTLD_NOW | RTLD_LOCAL);
    CHECK(lib);
    spdl_status (*attach)(const char *, const spdl_attach_opts *, spdl_reader **);
    spdl_status (*detach)(spdl_reader *);
    *(void **)&attach = dlsym(lib, "spdl_attach");
    *(void **)&detach = dlsym(lib, "spdl_detach");
    spdl_reader *r;
    CHECK(attach(s->path, NULL, &r) == SPDL_OK);
    CHECK(detach(r) == SPDL_OK);
    CHECK(dlclose(lib) == 0);
    CHECK(dlopen(program("libspdl.so"), RTLD_NOW | RTLD_NOLOAD) == NULL); /* it is really gone */
}

TEST(the_library_unloads_a_hundred_times_without_a_trace) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    int fds = 0, maps = 0;
    for (uint32_t i = 0; i < 100; i++) {
        load_and_use(s);
        WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == i + 1);
        if (i == 5) fds = test_open_fds(), maps = test_maps();
    }
    WAIT_UNTIL(test_open_fds() == fds);
    CHECK(test_maps() <= maps + 2);
    standin_free(s);
}
