/* wrap.c - linked with --wrap: fail the n-th allocation of libspdl, count its polls and yields; and, for the thread sanitizer, which
 * knows addresses and not pages, give libspdl the stand-in's own mapping of a segment, and tell it that a message comes behind what was
 * done before it was sent: that it knows of sockets, but not of those that were passed through another one. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

long test_fail_at, test_allocations;
_Thread_local long test_polls, test_yields;
_Thread_local unsigned test_yield_us;

static bool fails(void) {
    long n = __atomic_add_fetch(&test_allocations, 1, __ATOMIC_RELAXED);
    if (test_fail_at == 0 || n != test_fail_at) return false;
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *old, size_t n);
void *__real_aligned_alloc(size_t a, size_t n);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_aligned_alloc(size_t a, size_t n);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t n);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __real_sched_yield(void);
int __wrap_sched_yield(void);
ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);

#ifdef SHARE_MAPPINGS
void __tsan_acquire(void *at);
void __tsan_release(void *at);
static char messages;
static void message_leaves(void) { __tsan_release(&messages); }
static void message_arrives(void) { __tsan_acquire(&messages); }
#else
static void message_leaves(void) {}
static void message_arrives(void) {}
#endif

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags) {
    message_leaves();
    return __real_sendmsg(fd, m, flags);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags) {
    ssize_t n = __real_recvmsg(fd, m, flags);
    if (n >= 0) message_arrives();
    return n;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout) {
    if (timeout == 0) test_polls++;
    return __real_poll(fds, n, timeout);
}

int __wrap_sched_yield(void) {
    test_yields++;
    return test_yield_us ? usleep(test_yield_us) : __real_sched_yield();
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return fails() ? NULL : __real_calloc(n, m); }
void *__wrap_realloc(void *old, size_t n) { return fails() ? NULL : __real_realloc(old, n); }
void *__wrap_aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __real_aligned_alloc(a, n); }

#ifdef SHARE_MAPPINGS
#define MAX_SHARED 1024
static struct {
    ino_t inode;
    void *base;
    int users;
} shared[MAX_SHARED];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* The first mapping of a file is the stand-in's, writable; later ones are the same memory. */
static void *map_shared(size_t n, int prot, int fd) {
    struct stat st;
    void *p = NULL;
    if (fstat(fd, &st) != 0) return MAP_FAILED;
    pthread_mutex_lock(&shared_lock);
    for (int i = 0; i < MAX_SHARED && !p; i++) {
        if (shared[i].users == 0 || shared[i].inode != st.st_ino) continue;
        shared[i].users++;
        p = shared[i].base;
    }
    for (int i = 0; i < MAX_SHARED && !p; i++) {
        if (shared[i].users != 0) continue;
        p = __real_mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) break; /* of a sealed file of another process */
        shared[i].inode = st.st_ino, shared[i].base = p, shared[i].users = 1;
    }
    pthread_mutex_unlock(&shared_lock);
    return p && p != MAP_FAILED ? p : __real_mmap(NULL, n, prot, MAP_SHARED, fd, 0);
}

static bool unmap_shared(void *at) {
    bool keep = false;
    pthread_mutex_lock(&shared_lock);
    for (int i = 0; i < MAX_SHARED; i++)
        if (shared[i].users > 0 && shared[i].base == at) keep = --shared[i].users > 0;
    pthread_mutex_unlock(&shared_lock);
    return keep;
}
#endif

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
    if (fails()) return MAP_FAILED;
#ifdef SHARE_MAPPINGS
    if (fd >= 0) return map_shared(n, prot, fd);
#endif
    return __real_mmap(at, n, prot, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t n) {
#ifdef SHARE_MAPPINGS
    if (unmap_shared(at)) return 0;
#endif
    return __real_munmap(at, n);
}
