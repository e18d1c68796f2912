/* event.c - a descriptor that becomes readable when a poll is worth making.
 *
 * It is an epoll of two: our event descriptor, which the engine writes when we armed it, and the
 * engine's pidfd, readable for ever after its death.
 */
#include "internal.h"

#include <sys/epoll.h>
#include <unistd.h>

static int make_epoll(const spdl_reader *r) {
    int fd = sp_above_2(epoll_create1(EPOLL_CLOEXEC));
    if (fd < 0) return -1;
    struct epoll_event e = {.events = EPOLLIN};
    if (epoll_ctl(fd, EPOLL_CTL_ADD, r->fds[FD_EVENT], &e) != 0 ||
        epoll_ctl(fd, EPOLL_CTL_ADD, r->fds[FD_ENGINE], &e) != 0) {
        close(fd);
        return -1;
    }
    /* Something may be ready already and no poll has armed us yet: begin readable. */
    uint64_t one = 1;
    ssize_t n = write(r->fds[FD_EVENT], &one, sizeof one);
    (void)n;
    return fd;
}

int spdl_event_fd(spdl_reader *r) {
    if (!r) {
        sp_fail(SPDL_E_ARGUMENT, "spdl: event_fd: reader is NULL");
        return -1;
    }
    if (sp_usable(r) != SPDL_OK) return -1;
    int shield = sp_shield();
    pthread_mutex_lock(&r->control_lock);
    int fd = atomic_load_explicit(&r->epoll, memory_order_relaxed);
    if (fd < 0) {
        fd = make_epoll(r);
        if (fd < 0) sp_fail_errno("event_fd: epoll");
        atomic_store_explicit(&r->epoll, fd, memory_order_release);
    }
    pthread_mutex_unlock(&r->control_lock);
    sp_unshield(shield);
    return fd;
}
