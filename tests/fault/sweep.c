/* sweep.c - the n-th system call of libspdl fails, for n = 1, 2, ... until a whole life of a reader needs no more: every call must
 * return a status, and afterwards nothing may be left: no descriptor, no mapping, no batch that nobody can have.
 *
 *     sweep NAME GROUP   a reader attached to the engine NAME
 *     sweep - SPEC       a reader with a child engine
 *     sweep NAME nofile  no descriptor is free, then one, then two ...
 *
 * This program's functions of the same names stand before libc's for libspdl's calls. A thread-local flag keeps our own calls out. */
#define _GNU_SOURCE
#include <spdl.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static __thread bool counting;
static long fail_at, calls;
static int fail_with;

static bool fails(void) {
    if (!counting || ++calls != fail_at) return false;
    errno = fail_with;
    return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define STAND_IN(type, name, parameters, arguments) \
    type name parameters {                          \
        static __typeof__(&name) real;              \
        if (!real) real = REAL(name);               \
        return fails() ? (type)-1 : real arguments; \
    }

STAND_IN(int, socket, (int a, int b, int c), (a, b, c))
STAND_IN(int, socketpair, (int a, int b, int c, int d[2]), (a, b, c, d))
STAND_IN(int, connect, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))
STAND_IN(ssize_t, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))
STAND_IN(ssize_t, recvmsg, (int a, struct msghdr *b, int c), (a, b, c))
STAND_IN(int, poll, (struct pollfd * a, nfds_t b, int c), (a, b, c))
STAND_IN(ssize_t, read, (int a, void *b, size_t c), (a, b, c))
STAND_IN(ssize_t, write, (int a, const void *b, size_t c), (a, b, c))
STAND_IN(ssize_t, pread, (int a, void *b, size_t c, off_t d), (a, b, c, d))
STAND_IN(int, fstat, (int a, struct stat *b), (a, b))
STAND_IN(int, lstat, (const char *a, struct stat *b), (a, b))
STAND_IN(int, stat, (const char *a, struct stat *b), (a, b))
STAND_IN(int, access, (const char *a, int b), (a, b))
STAND_IN(int, madvise, (void *a, size_t b, int c), (a, b, c))
STAND_IN(int, epoll_create1, (int a), (a))
STAND_IN(int, epoll_ctl, (int a, int b, int c, struct epoll_event *d), (a, b, c, d))
STAND_IN(int, dup2, (int a, int b), (a, b))
STAND_IN(int, execve, (const char *a, char *const b[], char *const c[]), (a, b, c))
STAND_IN(void *, mmap, (void *a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f))

int fcntl(int fd, int command, ...) {
    static int (*real)(int, int, ...);
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    if (!real) real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
    return fails() ? -1 : real(fd, command, argument);
}

int open(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    va_list more;
    va_start(more, flags);
    unsigned mode = va_arg(more, unsigned);
    va_end(more);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    return fails() ? -1 : real(path, flags, mode);
}

/* pidfd_open, pidfd_send_signal, close_range, futex */
long syscall(long number, ...) {
    static long (*real)(long, ...);
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
    long d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return fails() ? -1 : real(number, a, b, c, d, e, f);
}

/* ---- what must be as before --------------------------------------------------------------------------- */

static int count(const char *path) {
    DIR *d = opendir(path);
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static int segments_mapped(void) {
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    int n = 0;
    while (fgets(line, sizeof line, f)) n += strstr(line, "spdl.") != NULL;
    fclose(f);
    return n;
}

static void wrong(const char *what, long n, int code) {
    fprintf(stderr, "sweep: call %ld failing with %s: %s (last error: %s)\n", n, strerror(code), what,
            spdl_last_error());
    exit(1);
}

/* ---- one life ------------------------------------------------------------------------------------------ */

static const char *engine, *group;

/* Every step that the one before allows. Returns the first status below zero. */
static spdl_status live(void) {
    spdl_reader *r = NULL;
    spdl_attach_opts attach = SPDL_ATTACH_OPTS_INIT;
    spdl_open_opts own = SPDL_OPEN_OPTS_INIT;
    attach.group = group;
    attach.max_leases = 2;
    attach.timeout_ns = 5000000000;
    spdl_status s = *engine == '-' ? spdl_open(group, &own, &r) : spdl_attach(engine, &attach, &r);
    if (s != SPDL_OK) return s;
    spdl_status first = spdl_event_fd(r) < 0 ? SPDL_E_SYSTEM : SPDL_OK;
    for (int i = 0; i < 2; i++) {
        spdl_batch b = SPDL_BATCH_INIT;
        spdl_tensor t = SPDL_TENSOR_INIT;
        do s = spdl_acquire(r, SPDL_FOREVER, &b);
        while (s == SPDL_END_EPOCH);
        if (s == SPDL_OK) {
            if (spdl_batch_tensor(r, &b, 0, &t) != SPDL_OK || memcmp(t.data, &b.ticket, 8) != 0) abort();
            if (i == 0) s = spdl_done(r, &b);
            spdl_status released = spdl_release(r, &b);
            if (s == SPDL_OK) s = released;
        }
        if (first == SPDL_OK && s < 0) first = s;
    }
    char buffer[4096];
    s = spdl_state_save(r, 0, buffer, sizeof buffer, NULL);
    if (first == SPDL_OK) first = s;
    s = spdl_detach(r);
    return first == SPDL_OK ? s : first;
}

static void sweep(int code) {
    int fds = count("/proc/self/fd"), maps = segments_mapped();
    long errors = 0, n;
    for (n = 1;; n++) {
        fail_at = n, fail_with = code, calls = 0;
        alarm(60); /* a hang is a failure */
        counting = true;
        spdl_status s = live();
        counting = false;
        bool reached = calls >= n;
        if (s > 0) wrong("news where a status was due", n, code);
        if (s < 0 && !reached) wrong("an error without a failing call", n, code);
        if (s < 0 && strcmp(spdl_status_name(s), "SPDL_UNKNOWN") == 0) wrong("no such status", n, code);
        if (count("/proc/self/fd") != fds) wrong("a descriptor was left", n, code);
        if (segments_mapped() != maps) wrong("a mapping was left", n, code);
        errors += s < 0;
        if (!reached) break;
    }
    printf("%s: %ld calls, %ld of them an error when they fail\n", strerrorname_np(code), n - 1, errors);
    fflush(stdout);
    if (n < 20 || (code != EINTR && errors < 5)) wrong("too few calls were seen", n, code);
}

/* ---- no descriptors left ---------------------------------------------------------------------------------- */

static void exhaust(void) {
    struct rlimit was, now;
    getrlimit(RLIMIT_NOFILE, &was);
    int fds = count("/proc/self/fd"), free_fds, errors = 0;
    spdl_status s = SPDL_E_SYSTEM;
    for (free_fds = 0; s < 0 && free_fds < 64; free_fds++) {
        now = was;
        now.rlim_cur = (rlim_t)(3 + free_fds);
        setrlimit(RLIMIT_NOFILE, &now);
        alarm(60);
        s = live();
        setrlimit(RLIMIT_NOFILE, &was);
        if (count("/proc/self/fd") != fds) wrong("a descriptor was left", free_fds, EMFILE);
        errors += s < 0;
    }
    if (s != SPDL_OK) wrong("never enough descriptors", free_fds, EMFILE);
    printf("no descriptors: %d errors, then %d were enough\n", errors, free_fds - 1);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    engine = argv[1], group = argv[2];
    signal(SIGPIPE, SIG_DFL); /* libspdl must not raise it */
    if (live() != SPDL_OK) wrong("without a failing call", 0, 0);
    if (strcmp(group, "nofile") == 0) {
        exhaust();
        return 0;
    }
    const int codes[] = {EMFILE, ENOMEM, EIO, EINTR};
    for (size_t i = 0; i < (*engine == '-' ? 2 : 4); i++) sweep(codes[i]);
    return 0;
}
