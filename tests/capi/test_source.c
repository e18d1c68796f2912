/* test_source.c - samples that the host brings, through the real libspdl_engine. Every sample is the same grey
 * picture, told apart by label and key. */
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* PNG, 8 x 8, grey level 200. */
static const uint8_t picture[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
    0x52, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x08, 0x08, 0x00, 0x00, 0x00, 0x00, 0xe1,
    0x64, 0xe1, 0x57, 0x00, 0x00, 0x00, 0x10, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x3c,
    0xc1, 0x00, 0x01, 0x4c, 0x0c, 0x14, 0x31, 0x00, 0x3a, 0x00, 0x00, 0xd8, 0x84, 0xc8, 0x0a,
    0xe9, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

#define SAMPLES 40
#define EPOCHS_1                                                     \
    "\"order\": {\"shuffle\": false, \"epochs\": 1}, \"batch\": 8, " \
    "\"bad_sample\": {\"policy\": \"mask\", \"max_rate\": 1}"

static spdl_status open_with(const char *host, const char *more, uint32_t form, spdl_reader **out) {
    char text[1024];
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    o.form = form;
    snprintf(text, sizeof text,
             "{\"source\": {\"host\": {%s}}, \"image\": {\"transform\": [{\"center_crop\": 8}]}, %s}", host,
             more);
    return spdl_open(text, &o, out);
}

static spdl_reader *open_host(const char *host, int64_t *source) {
    spdl_reader *r;
    CHECK_STATUS(open_with(host, EPOCHS_1, SPDL_FORM_IN_PROCESS, &r), SPDL_OK);
    *source = spdl_source_id(r);
    CHECK(*source > 0);
    return r;
}

/* Detach; the engine ends by itself and gives back what it had open. */
static void close_reader(spdl_reader *r, int fds) {
    CHECK_STATUS(spdl_detach(r), SPDL_OK);
    WAIT_UNTIL(test_open_fds() <= fds);
}

/* Descriptors that are no event's: Go's poller keeps an epoll and an eventfd for good. */
static int fds_but_events(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char to[64];
        ssize_t length = readlinkat(dirfd(d), e->d_name, to, sizeof to);
        n += length > 0 && strncmp(to, "anon_inode:[event", 17) != 0;
    }
    closedir(d);
    return n;
}

static int closed_said = -1; /* what became of the process below */

/* Go keeps descriptors of its own: none of them may be where the program prints. */
static int load_without_descriptors(void) {
    spdl_reader *r;
    for (int fd = 0; fd < 3; fd++) close(fd);
    if (open_with("\"samples\": 1", EPOCHS_1, SPDL_FORM_IN_PROCESS, &r) != SPDL_OK) return 1;
    for (int fd = 0; fd < 3; fd++) {
        char name[32], to[64] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (readlink(name, to, sizeof to - 1) < 0 || strcmp(to, "/dev/null") != 0) return 2;
    }
    return spdl_detach(r) == SPDL_OK ? 0 : 3;
}

static int full_said = -1; /* likewise */

/* Go cannot start where no descriptor is left, and would end the process: whatever there is, that is the call's error. */
static int load_with_a_full_table(void) {
    struct rlimit limit;
    spdl_reader *r;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    for (limit.rlim_cur = 3; limit.rlim_cur < 14; limit.rlim_cur++) {
        spdl_loaded *loaded;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
        if (spdl_load("{\"image\": {}}", picture, sizeof picture, NULL, &loaded) != SPDL_E_SYSTEM) return 3;
        if (open_with("\"samples\": 1", EPOCHS_1, SPDL_FORM_IN_PROCESS, &r) != SPDL_E_SYSTEM) return 4;
        if (!strstr(spdl_last_error(), "raise the limit of open files (ulimit -n)")) return 5;
    }
    limit.rlim_cur = 256;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 6;
    if (open_with("\"samples\": 1", EPOCHS_1, SPDL_FORM_IN_PROCESS, &r) != SPDL_OK) return 7;
    return spdl_detach(r) == SPDL_OK ? 0 : 8;
}

static int small_files_said = -1; /* likewise */

/* A file of this thread's, and the ring's of Go's threads, end at the limit: that is the call's error. */
static int write_with_small_files(void) {
    static const rlim_t most[] = {1000, 30000}; /* bytes: of the first segment, and of a later one */
    static const float sound[100000] = {0};
    static const char *const wav = "{\"wav\": {\"rate\": 8000, \"channels\": 1}}";
    char dir[] = "/tmp/spdl-small-XXXXXX", path[64];
    struct rlimit limit;
    sigset_t mask;
    if (!mkdtemp(dir) || getrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    snprintf(path, sizeof path, "%s/a.wav", dir);
    for (int i = 0; i < 2; i++) {
        spdl_reader *r;
        limit.rlim_cur = most[i];
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
        if (open_with("\"samples\": 1", EPOCHS_1, SPDL_FORM_IN_PROCESS, &r) == SPDL_OK) return 3;
        if (!strstr(spdl_last_error(), "raise the limit (ulimit -f)")) return 4;
        if (spdl_save(wav, sound, sizeof sound, path, NULL) != SPDL_E_SYSTEM) return 5;
        if (!strstr(spdl_last_error(), "file too large")) return 6;
    }
    if (pthread_sigmask(SIG_SETMASK, NULL, &mask) != 0 || sigismember(&mask, SIGXFSZ)) return 7;
    return rmdir(dir) == 0 ? 0 : 8;
}

/* While Go is not here: before the constructor of test_pipeline.c. */
__attribute__((constructor(101))) static void fork_before_go(void) {
    pid_t child = fork();
    if (child == 0) _exit(load_without_descriptors());
    waitpid(child, &closed_said, 0);
    child = fork();
    if (child == 0) _exit(load_with_a_full_table());
    waitpid(child, &full_said, 0);
    child = fork();
    if (child == 0) _exit(write_with_small_files());
    waitpid(child, &small_files_said, 0);
}

/* Go opens descriptors of its own with the first engine and keeps them: the tests count after that engine's end. */
void test_before_all(void) {
    int64_t source;
    int before = fds_but_events();
    spdl_reader *r = open_host("\"samples\": 1", &source);
    spdl_detach(r);
    for (double until = test_seconds() + 60; fds_but_events() > before && test_seconds() < until;)
        usleep(1000);
}

/* ---- threads that bring samples --------------------------------------------------------------------------- */

typedef struct crew {
    int64_t source;
    pthread_t threads[4];
    int n;
    _Atomic int status; /* of the last call that was not SPDL_OK */
} crew;

static void answer(const spdl_want *want, spdl_sample *sample, char key[32]) {
    snprintf(key, 32, "k%u", (unsigned)want->index);
    sample->bytes = picture, sample->n_bytes = sizeof picture;
    sample->key = key, sample->label = (int64_t)want->index * 3;
    if (want->index == 5) sample->bytes = NULL, sample->error = "no luck";
}

static void *bring(void *arg) {
    crew *c = arg;
    spdl_want want = SPDL_WANT_INIT;
    spdl_status s;
    while ((s = spdl_source_take(c->source, SPDL_FOREVER, &want)) == SPDL_OK) {
        spdl_sample sample = SPDL_SAMPLE_INIT;
        char key[32];
        answer(&want, &sample, key);
        if ((s = spdl_source_give(c->source, &want, &sample)) != SPDL_OK) break;
    }
    atomic_store(&c->status, s);
    return NULL;
}

static void hire(crew *c, int64_t source, int n) {
    memset(c, 0, sizeof *c);
    c->source = source;
    for (; c->n < n; c->n++) CHECK(pthread_create(&c->threads[c->n], NULL, bring, c) == 0);
}

static void dismiss(crew *c) {
    for (int i = 0; i < c->n; i++) pthread_join(c->threads[i], NULL);
}

/* ---- what a consumer sees --------------------------------------------------------------------------------- */

static spdl_tensor tensor(spdl_reader *r, const spdl_batch *b, const char *name) {
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, b, (uint32_t)spdl_tensor_index(r, name), &t), SPDL_OK);
    return t;
}

/* The rest of the epoch; how many samples were bad. */
static uint32_t read_epoch(spdl_reader *r) {
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_status s;
    uint32_t rows = 0, bad = 0;
    while ((s = spdl_acquire(r, 30000000000, &b)) == SPDL_OK) {
        spdl_tensor index = tensor(r, &b, "index"), label = tensor(r, &b, "label"),
                    key = tensor(r, &b, "key");
        spdl_tensor image = tensor(r, &b, "image"), status = tensor(r, &b, "status");
        for (uint32_t i = 0; i < b.rows; i++) {
            char want[32];
            int64_t n = ((int64_t *)index.data)[i];
            CHECK(n == rows++);
            bool masked = ((uint8_t *)status.data)[i] == SPDL_ROW_MASKED;
            snprintf(want, sizeof want, "%s%d", masked ? "" : "k", (int)n);
            CHECK(((int64_t *)label.data)[i] == (masked ? -1 : n * 3));
            CHECK((size_t)(key.offsets[i + 1] - key.offsets[i]) == strlen(want));
            CHECK(memcmp((char *)key.data + key.offsets[i], want, strlen(want)) == 0);
            CHECK(((uint8_t *)image.data)[i * 192] == (masked ? 0 : 200));
        }
        bad += b.n_bad;
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    CHECK_STATUS(s, SPDL_END_EPOCH);
    CHECK(rows == SAMPLES);
    return bad;
}

static const char *stats(spdl_reader *r) {
    static char text[65536];
    size_t need;
    CHECK_STATUS(spdl_stats(r, text, sizeof text, &need), SPDL_OK);
    return text;
}

TEST(samples_of_the_host_arrive_in_order_with_their_labels_and_keys) {
    int fds = test_open_fds();
    int64_t source;
    crew c;
    spdl_reader *r = open_host("\"samples\": 40", &source);
    hire(&c, source, 4);
    CHECK(read_epoch(r) == 1);
    CHECK(strstr(stats(r), "source: no luck"));
    CHECK(strstr(stats(r), "\"causes\":{\"source\":1}"));
    close_reader(r, fds);
    dismiss(&c);
    CHECK_STATUS(atomic_load(&c.status), SPDL_END_DATA);
}

TEST(a_file_that_the_host_names_is_read_by_the_engine) {
    int fds = test_open_fds();
    int64_t source;
    char path[] = "/tmp/spdl-source-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, picture, sizeof picture) == sizeof picture && close(file) == 0);
    spdl_reader *r = open_host("\"samples\": 1", &source);
    spdl_want want = SPDL_WANT_INIT;
    spdl_sample sample = SPDL_SAMPLE_INIT;
    CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_OK);
    CHECK(want.index == 0);
    sample.path = path;
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_OK);
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(r, 30000000000, &b), SPDL_OK);
    spdl_tensor key = tensor(r, &b, "key"), label = tensor(r, &b, "label");
    CHECK(b.n_bad == 0 && key.bytes == strlen(path) && memcmp(key.data, path, key.bytes) == 0);
    CHECK(*(int64_t *)label.data == -1);
    spdl_release(r, &b);
    unlink(path);
    close_reader(r, fds);
}

TEST(a_want_is_given_once_and_by_its_own_token) {
    int fds = test_open_fds();
    int64_t source;
    spdl_reader *r = open_host("\"samples\": 40", &source);
    spdl_want want = SPDL_WANT_INIT, foreign;
    spdl_sample sample = SPDL_SAMPLE_INIT;
    CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_OK);
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT); /* says nothing: still out */
    CHECK(strstr(spdl_last_error(), "source: give: got 0, want one of bytes, path, failure and end"));
    sample.bytes = picture, sample.n_bytes = sizeof picture, sample.path = "x";
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT);
    sample.bytes = NULL, sample.path = "";
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT);
    sample.path = NULL, sample.bytes = picture, sample.n_bytes = (size_t)-1;
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT);
    CHECK_SAYS("source_give: sample.n_bytes is 18446744073709551615");
    sample.n_bytes = sizeof picture;
    foreign = want;
    foreign.token += 1000;
    CHECK_STATUS(spdl_source_give(source, &foreign, &sample), SPDL_E_STAGE);
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_OK);
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_STAGE);
    CHECK(strstr(spdl_last_error(), "was given before"));
    close_reader(r, fds);
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_END_DATA);
    CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_END_DATA);
}

TEST(an_order_that_is_asked_for_is_the_programs) {
    int fds = test_open_fds();
    char dir[] = "/tmp/spdl-asked-XXXXXX", path[64], text[512];
    CHECK(mkdtemp(dir));
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%d.png", dir, i);
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(picture, sizeof picture, 1, f) == 1 && fclose(f) == 0);
    }
    snprintf(
        text, sizeof text,
        "{\"source\": {\"folder\": \"%s\"}, \"image\": {\"transform\": [{\"center_crop\": 8}]}, \"batch\": 4, "
        "\"order\": {\"asked\": true, \"epochs\": 1}, \"limits\": {\"fetch\": 1}}",
        dir);
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    o.form = SPDL_FORM_IN_PROCESS;
    spdl_reader *r;
    CHECK_STATUS(spdl_open(text, &o, &r), SPDL_OK);
    int64_t source = spdl_source_id(r);
    const int64_t order[] = {3, 3, 0, 4, 1, 2};
    for (;;) {
        spdl_want want = SPDL_WANT_INIT;
        spdl_sample sample = SPDL_SAMPLE_INIT;
        CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_OK);
        if (want.index == 0) {
            sample.bytes = picture, sample.n_bytes = sizeof picture;
            CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT); /* still out */
            CHECK_SAYS("want the number of a sample as its label, or numbers from there on as bytes");
            sample.bytes = NULL;
        }
        CHECK(want.index != 3 && want.index != 4); /* were told before they were asked for */
        if (want.index == 2)
            sample.bytes = order + 2, sample.n_bytes = 3 * sizeof *order;
        else if (want.index < 6)
            sample.label = order[want.index];
        else
            sample.flags = SPDL_SAMPLE_END;
        CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_OK);
        if (want.index == 6) break; /* what lies behind the end is not asked for */
    }
    int rows = 0;
    spdl_batch b = SPDL_BATCH_INIT;
    while (spdl_acquire(r, 30000000000, &b) == SPDL_OK) {
        const int64_t *index = tensor(r, &b, "index").data;
        for (uint32_t i = 0; i < b.rows; i++) CHECK(index[i] == order[rows + i]);
        rows += (int)b.rows;
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    CHECK(rows == 6);
    close_reader(r, fds);
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, "%s/%d.png", dir, i);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir(dir) == 0);
}

TEST(a_program_that_cannot_go_on_ends_the_ring_with_its_words) {
    int fds = test_open_fds();
    int64_t source;
    spdl_reader *r = open_host("\"samples\": 40", &source);
    spdl_want want = SPDL_WANT_INIT;
    spdl_sample sample = SPDL_SAMPLE_INIT;
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_OK);
    sample.flags = SPDL_SAMPLE_FATAL;
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "SPDL_SAMPLE_FATAL without error, which says why"));
    sample.error = "no sample at all";
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 30000000000, &b), SPDL_E_ENGINE_FAILED);
    CHECK(strstr(spdl_last_error(), "the program's data set cannot go on: no sample at all"));
    CHECK_STATUS(spdl_source_take(source, SPDL_FOREVER, &want), SPDL_END_DATA);
    close_reader(r, fds);
}

TEST(a_program_that_closed_its_first_three_descriptors_has_dev_null_there) { CHECK(closed_said == 0); }

TEST(a_process_without_a_free_descriptor_is_told_so_and_goes_on) { CHECK(full_said == 0); }

TEST(a_file_that_may_not_grow_is_an_error_and_not_the_end_of_the_program) { CHECK(small_files_said == 0); }

TEST(a_late_give_is_told_and_the_sample_is_bad_by_its_deadline) {
    int fds = test_open_fds();
    int64_t source;
    spdl_reader *r = NULL;
    spdl_want want = SPDL_WANT_INIT;
    spdl_sample sample = SPDL_SAMPLE_INIT;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_status s = SPDL_TIMEOUT;
    /* The deadline runs from the asking: where the machine stands still until it is over, nothing is left to take. */
    for (int ms = 20; s == SPDL_TIMEOUT && ms <= 20000; ms *= 10) {
        char host[64];
        snprintf(host, sizeof host, "\"samples\": 1, \"timeout\": \"%dms\"", ms);
        if (r) close_reader(r, fds);
        r = open_host(host, &source);
        s = spdl_source_take(source, ms * 10000000LL, &want);
    }
    CHECK_STATUS(s, SPDL_OK);
    CHECK_STATUS(spdl_acquire(r, 30000000000, &b), SPDL_OK); /* made without the sample */
    CHECK(b.n_bad == 1 && strstr(stats(r), "\"causes\":{\"deadline\":1}"));
    sample.bytes = picture, sample.n_bytes = sizeof picture;
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_source_give(source, &want, &sample), SPDL_E_STAGE);
    spdl_release(r, &b);
    close_reader(r, fds);
}

static void *take_one(void *arg) {
    spdl_want want = SPDL_WANT_INIT;
    CHECK_STATUS(spdl_source_take(*(int64_t *)arg, SPDL_FOREVER, &want), SPDL_OK);
    return NULL;
}

TEST(a_thread_that_ends_with_a_sample_in_hand_makes_it_bad_at_once) {
    int fds = test_open_fds();
    int64_t source;
    pthread_t thread;
    spdl_want want = SPDL_WANT_INIT;
    spdl_batch b = SPDL_BATCH_INIT;
    spdl_reader *r = open_host("\"samples\": 1", &source);
    CHECK(pthread_create(&thread, NULL, take_one, &source) == 0);
    pthread_join(thread, NULL);
    CHECK_STATUS(spdl_source_take(source, -2, &want), SPDL_TIMEOUT); /* a time that is over */
    CHECK_STATUS(spdl_acquire(r, 30000000000, &b), SPDL_OK);         /* half of the deadline at most */
    CHECK(b.n_bad == 1 && strstr(stats(r), "the thread that had taken it ended without giving it"));
    spdl_release(r, &b);
    close_reader(r, fds);
}

TEST(detach_ends_the_wait_of_every_thread_leased_batches_or_not) {
    for (int i = 0; i < 20; i++) {
        int fds = test_open_fds();
        int64_t source;
        crew c;
        spdl_batch b = SPDL_BATCH_INIT;
        spdl_reader *r = open_host("\"samples\": 40", &source);
        hire(&c, source, 4);
        bool held = i % 2;
        if (held) CHECK_STATUS(spdl_acquire(r, 30000000000, &b), SPDL_OK);
        usleep((useconds_t)(i * 200));
        CHECK_STATUS(spdl_detach(r), SPDL_OK);
        dismiss(&c);
        CHECK_STATUS(atomic_load(&c.status), SPDL_END_DATA);
        if (held) CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
        WAIT_UNTIL(test_open_fds() <= fds);
    }
}

TEST(what_is_no_source_of_the_host_is_refused_by_name) {
    int fds = test_open_fds();
    spdl_reader *r;
    spdl_want want = SPDL_WANT_INIT;
    CHECK_STATUS(spdl_source_id(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_source_take(1, 0, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_source_give(1, &want, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_source_take(-1, 0, &want), SPDL_E_ARGUMENT);
    CHECK(strcmp(spdl_last_error(), "spdl: source -1: want a number that spdl_source_id gave") == 0);
    CHECK_STATUS(spdl_source_take(1 << 20, 0, &want), SPDL_E_ARGUMENT);
    want.struct_size = 8;
    CHECK_STATUS(spdl_source_take(1, 0, &want), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "SPDL_WANT_INIT"));
    spdl_sample sample = SPDL_SAMPLE_INIT;
    sample.error = "none";
    CHECK_STATUS(spdl_source_give(1, &want, &sample), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "source_give: want.struct_size is 8"));
    /* an engine in this process with files of its own */
    char dir[] = "/tmp/spdl-source-XXXXXX", file[64], text[256];
    CHECK(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/a.png", dir);
    FILE *f = fopen(file, "wb");
    CHECK(f && fwrite(picture, sizeof picture, 1, f) == 1 && fclose(f) == 0);
    snprintf(text, sizeof text,
             "{\"source\": {\"folder\": \"%s\"}, \"image\": {\"transform\": [{\"center_crop\": 8}]}}", dir);
    spdl_open_opts o = SPDL_OPEN_OPTS_INIT;
    o.form = SPDL_FORM_IN_PROCESS;
    CHECK_STATUS(spdl_open(text, &o, &r), SPDL_OK);
    CHECK_STATUS((int)spdl_source_id(r), SPDL_E_NOT_FOUND);
    CHECK(
        strcmp(
            spdl_last_error(),
            "spdl: source: the engine's description has neither source.host nor order.asked; it reads its samples itself, in its own order") ==
        0);
    close_reader(r, fds);
    unlink(file);
    rmdir(dir);
}

TEST(a_child_engine_refuses_a_source_of_the_host_with_the_remedy) {
    spdl_reader *r;
    CHECK(open_with("\"samples\": 1", EPOCHS_1, SPDL_FORM_CHILD, &r) < 0);
    CHECK(strstr(spdl_last_error(), "source.host: no program around this engine brings samples"));
    CHECK(strstr(spdl_last_error(), "SPDL_FORM_IN_PROCESS"));
}

TEST(a_forked_child_can_neither_take_nor_give) {
    int fds = test_open_fds();
    int64_t source;
    spdl_reader *r = open_host("\"samples\": 1", &source);
    pid_t child = fork();
    if (child == 0) {
        spdl_want want = SPDL_WANT_INIT;
        spdl_sample sample = SPDL_SAMPLE_INIT;
        sample.bytes = picture, sample.n_bytes = sizeof picture;
        bool ok = spdl_source_id(r) == SPDL_E_FORKED &&
                  spdl_source_take(source, SPDL_FOREVER, &want) == SPDL_E_FORKED &&
                  spdl_source_give(source, &want, &sample) == SPDL_E_FORKED && spdl_detach(r) == SPDL_OK;
        _exit(ok ? 0 : 1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close_reader(r, fds);
}
