/* control.c - the control socket: find it, connect, exchange messages and descriptors.
 *
 * One SOCK_SEQPACKET message is one spdl_l_msg and its payload. Batches never travel here.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_NS 20000000u

/* ---- where the socket is ------------------------------------------------------------------------- */

typedef struct place {
    char path[220];      /* longer than sun_path: too long is told from absent */
    char directory[140]; /* "" where we trust the path as given */
} place;

static spdl_status split_name(const char *name, char engine[SPDL_L_NAME], char ring[SPDL_L_NAME]) {
    const char *slash = strchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : strlen(name);
    size_t m = slash ? strlen(slash + 1) : 0;
    if (n == 0 || n >= SPDL_L_NAME || m >= SPDL_L_NAME || (slash && (m == 0 || strchr(slash + 1, '/'))) ||
        name[0] == '.')
        return sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: attach \"%.100s\": want NAME or NAME/RING, each of 1 to 63 bytes, or a socket's path",
            name);
    memcpy(engine, name, n);
    engine[n] = 0;
    memcpy(ring, slash ? slash + 1 : "", m + 1);
    return SPDL_OK;
}

static void set_place(place *p, const char *directory, const char *engine) {
    snprintf(p->directory, sizeof p->directory, "%.139s", directory);
    snprintf(p->path, sizeof p->path, "%.139s/%.63s.sock", directory, engine);
}

/* The places to look in, in order. Returns how many. */
static size_t list_places(const char *engine, place out[3]) {
    const char *own = getenv("SPDL_RUNTIME_DIR");
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char directory[sizeof out->directory];
    size_t n = 0;
    memset(out, 0, 3 * sizeof *out);
    if (own && *own) {
        set_place(&out[0], own, engine);
        return 1;
    }
    set_place(&out[n++], "/run/spdl", engine);
    if (xdg && *xdg) {
        snprintf(directory, sizeof directory, "%.130s/spdl", xdg);
        set_place(&out[n++], directory, engine);
    }
    snprintf(directory, sizeof directory, "/tmp/spdl-%u", (unsigned)geteuid());
    set_place(&out[n++], directory, engine);
    return n;
}

/* Whether root alone may write in the directory that this one stands in, and so has put it there: systemd for the User= of a unit. */
static bool put_by_root(const char *directory) {
    char above[160];
    struct stat st;
    snprintf(above, sizeof above, "%s/..", directory);
    return stat(above, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* Why not to look in a directory, or NULL. Whoever may write it may put a socket there: it must be a real one, ours, root's or of whom
 * root has given it to, not open to all. */
static const char *why_unsafe(const char *directory) {
    struct stat st;
    if (*directory == 0 || lstat(directory, &st) != 0) return NULL; /* absent: connect says so */
    if (S_ISLNK(st.st_mode)) return "it is a symbolic link; use the directory itself";
    if (!S_ISDIR(st.st_mode)) return "it is no directory; set SPDL_RUNTIME_DIR to one";
    if (st.st_uid != geteuid() && st.st_uid != 0 && !put_by_root(directory))
        return "it is neither yours nor root's, nor in a directory in which root alone may write; set SPDL_RUNTIME_DIR to one that is";
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) return "every user may write it; chmod o-w";
    return NULL;
}

/* One try. *out is the descriptor, or -1 with errno's value returned. */
static int try_connect(const char *path, int *out) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, strlen(path) + 1);
    *out = sp_above_2(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (*out < 0) return errno;
    if (connect(*out, (struct sockaddr *)&a, sizeof a) == 0) return 0;
    int code = errno;
    close(*out);
    *out = -1;
    return code;
}

static bool means_absent(int code) {
    return code == ENOENT || code == ECONNREFUSED || code == ENOTDIR || code == EAGAIN || code == EINTR;
}

static spdl_status connect_failed(const char *name, const char *path, int code) {
    if (code == EACCES || code == EPERM)
        return sp_fail(SPDL_E_DENIED, "spdl: attach \"%s\": socket \"%s\" does not admit this user", name,
                       path);
    errno = code;
    return sp_fail_errno("attach: connect");
}

/* How error texts name the other end, once connected: with the process that listens, if it is one of this pid namespace. */
static void name_peer(char peer[PEER_BYTES], const char *name, const char *path, int fd) {
    struct ucred c = {.pid = 0};
    socklen_t n = sizeof c;
    char pid[24] = "";
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0 && c.pid > 0)
        snprintf(pid, sizeof pid, " of pid %d", (int)c.pid);
    snprintf(peer, PEER_BYTES, "attach \"%.127s\": socket \"%.107s\"%s", name, path, pid);
}

static spdl_status look_once(const char *name, const place *places, size_t n, char peer[PEER_BYTES],
                             int *out) {
    for (size_t i = 0; i < n; i++) {
        if (strlen(places[i].path) > 107)
            return sp_fail(
                SPDL_E_ARGUMENT,
                "spdl: attach \"%.100s\": socket path \"%.120s...\" is longer than 107 bytes; set SPDL_RUNTIME_DIR to a "
                "shorter directory",
                name, places[i].path);
        const char *unsafe = why_unsafe(places[i].directory);
        if (unsafe)
            return sp_fail(SPDL_E_DENIED, "spdl: attach \"%s\": socket directory \"%s\": %s", name,
                           places[i].directory, unsafe);
        int code = try_connect(places[i].path, out);
        if (code == 0) {
            name_peer(peer, name, places[i].path, *out);
            return SPDL_OK;
        }
        if (!means_absent(code)) return connect_failed(name, places[i].path, code);
    }
    return sp_fail(SPDL_E_NOT_FOUND,
                   "spdl: attach \"%s\": no engine answers at \"%s\"%s; start one with spdl serve", name,
                   places[n - 1].path, n > 1 ? " nor in the other runtime directories" : "");
}

spdl_status sp_connect(const char *name, uint64_t deadline, char ring[SPDL_L_NAME], char peer[PEER_BYTES],
                       int *out) {
    place places[3];
    size_t n = 1;
    *out = -1;
    ring[0] = 0;
    if (name[0] == '/') {
        memset(places, 0, sizeof places);
        snprintf(places[0].path, sizeof places->path, "%s", name);
    } else {
        char engine[SPDL_L_NAME];
        spdl_status s = split_name(name, engine, ring);
        if (s != SPDL_OK) return s;
        n = list_places(engine, places);
    }
    for (;;) {
        spdl_status s = look_once(name, places, n, peer, out);
        uint64_t now = sp_now_ns();
        if (s != SPDL_E_NOT_FOUND || now >= deadline) return s;
        s = sp_await(-1, least64(deadline, now + RETRY_NS));
        if (s != SPDL_TIMEOUT) return s;
    }
}

/* ---- who answers, for who has mistaken a name ---------------------------------------------------- */

#define MOST_ASKED 64 /* sockets of a directory */
#define MOST_NAMED 8

static bool answers(const char *directory, const char *file) {
    char path[sizeof((place *)0)->path];
    int fd;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, file) >= sizeof path || strlen(path) > 107)
        return false;
    int code = try_connect(path, &fd);
    if (code == 0) close(fd);
    return code == 0 || code == EAGAIN; /* which is a queue of those who connect */
}

/* Adds the names of the engines that answer in a directory. Returns how many there are then. */
static size_t name_answering(const char *directory, char names[MOST_NAMED][SPDL_L_NAME], size_t n) {
    static const char ending[] = ".sock";
    DIR *d = why_unsafe(directory) ? NULL : opendir(directory);
    const struct dirent *e;
    for (int asked = 0; d && n < MOST_NAMED && asked < MOST_ASKED && (e = readdir(d));) {
        size_t stem = strlen(e->d_name) - (strlen(e->d_name) > strlen(ending) ? strlen(ending) : 0);
        if (stem >= SPDL_L_NAME || strcmp(e->d_name + stem, ending) != 0) continue;
        asked++;
        if (!answers(directory, e->d_name)) continue;
        memcpy(names[n], e->d_name, stem);
        names[n++][stem] = 0;
    }
    if (d) closedir(d);
    return n;
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

spdl_status sp_name_running(const char *name) {
    place places[3];
    char names[MOST_NAMED][SPDL_L_NAME], text[MOST_NAMED * (SPDL_L_NAME + 2)] = "";
    size_t found = 0, n = name[0] == '/' ? 0 : list_places("", places);
    for (size_t i = 0; i < n; i++) found = name_answering(places[i].directory, names, found);
    if (found == 0) return SPDL_E_NOT_FOUND;
    qsort(names, found, sizeof *names, by_name);
    for (size_t i = 0, at = 0; i < found; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "", names[i]);
    return sp_fail(SPDL_E_NOT_FOUND, "%s, or attach to one that runs: %s%s", spdl_last_error(), text,
                   found == MOST_NAMED ? ", ..." : "");
}

/* ---- messages ------------------------------------------------------------------------------------ */

int sp_above_2(int fd) {
    if (fd < 0 || fd > 2) return fd;
    int above = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int code = errno;
    close(fd);
    errno = code;
    return above;
}

void sp_close_fds(int *fds, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (fds[i] >= 0) close(fds[i]);
        fds[i] = -1;
    }
}

/* Returns 0 or errno's value. */
static int send_message(int fd, uint16_t type, uint32_t id, const void *payload, uint32_t bytes,
                        int pass_fd) {
    spdl_l_msg head = {.magic = SPDL_L_MSG_MAGIC, .version = 1, .type = type, .id = id, .bytes = bytes};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)payload, bytes}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
    if (pass_fd >= 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &pass_fd, sizeof pass_fd);
    }
    ssize_t n;
    do n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)(sizeof head + bytes) ? 0 : n < 0 ? errno : EMSGSIZE;
}

static spdl_status hung_up(const char *peer) {
    return sp_fail(SPDL_E_ENGINE_LOST,
                   "spdl: %s: it hung up: it has ended, or is no spdl engine; start it again and attach",
                   peer);
}

spdl_status sp_send(int fd, const char *peer, uint16_t type, uint32_t id, const void *payload, uint32_t bytes,
                    int pass_fd) {
    int code = send_message(fd, type, id, payload, bytes, pass_fd);
    if (code == 0) return SPDL_OK;
    if (code == EPIPE || code == ECONNRESET) return hung_up(peer);
    if (code == EAGAIN) return SPDL_TIMEOUT; /* what was sent before fills the socket */
    errno = code;
    return sp_fail_errno("control socket: sendmsg");
}

void sp_post(int fd, uint16_t type) { (void)send_message(fd, type, 0, NULL, 0, -1); }

/* Take the descriptors out of a received message; those beyond the six that any message has are closed.
 * False if there were too many, or no room for one. */
static bool take_fds(struct msghdr *h, message *m) {
    bool fits = (h->msg_flags & MSG_CTRUNC) == 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (m->n_fds == N_FDS)
                close(fd), fd = -1;
            else
                fd = sp_above_2(fd);
            if (fd >= 0)
                m->fds[m->n_fds++] = fd;
            else
                fits = false;
        }
    }
    return fits;
}

static spdl_status malformed(message *m, const char *peer, const char *what) {
    sp_close_fds(m->fds, m->n_fds);
    m->n_fds = 0;
    return sp_fail(SPDL_E_FORMAT, "spdl: %s: %s; it is not an spdl engine of this version", peer, what);
}

static spdl_status check_message(message *m, const char *peer, ssize_t n, bool fits) {
    if (n < (ssize_t)sizeof m->head) return malformed(m, peer, "the answer is shorter than its head");
    if (m->head.magic != SPDL_L_MSG_MAGIC) return malformed(m, peer, "the answer has a wrong magic");
    if (m->head.version != 1) {
        malformed(m, peer, "");
        return sp_fail(
            SPDL_E_VERSION,
            "spdl: %s: protocol %u, this library speaks 1; restart the engine or rebuild the client", peer,
            m->head.version);
    }
    if (m->head.bytes != (uint64_t)n - sizeof m->head)
        return malformed(m, peer, "the answer's length is not what it says");
    if (!fits)
        return malformed(
            m, peer, "the answer carries more descriptors than expected, or this process may open no more");
    m->bytes = m->head.bytes;
    m->payload[m->bytes] = 0;
    return SPDL_OK;
}

spdl_status sp_message_room(message *m) {
    memset(m, 0, sizeof *m);
    m->payload = malloc(SPDL_L_MSG_MAX + 1);
    return m->payload ? SPDL_OK : sp_fail(SPDL_E_NOMEM, "spdl: no memory for a message");
}

spdl_status sp_receive(int fd, const char *peer, uint64_t deadline, message *m) {
    m->n_fds = 0;
    m->bytes = 0;
    for (bool reset = false;;) {
        struct iovec parts[2] = {{&m->head, sizeof m->head}, {m->payload, SPDL_L_MSG_MAX}};
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(int) * 32)];
        } control;
        struct msghdr h = {.msg_iov = parts,
                           .msg_iovlen = 2,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
        ssize_t n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0 && errno == ECONNRESET && !reset) {
            reset = true; /* the peer closed with our message unread; what it said before is still there */
            continue;
        }
        if (n == 0 || (n < 0 && errno == ECONNRESET)) return hung_up(peer);
        if (n > 0) {
            bool fits = take_fds(&h, m) && (h.msg_flags & MSG_TRUNC) == 0;
            return check_message(m, peer, n, fits);
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return sp_fail_errno("control socket: recvmsg");
        spdl_status s = sp_await(fd, deadline);
        if (s != SPDL_OK) return s;
    }
}

/* ---- requests ------------------------------------------------------------------------------------- */

#define REQUEST_SECONDS 10

/* The connection has ended. Why, if the engine has said it, or the group is over. */
static spdl_status why_over(const spdl_reader *r) {
    spdl_status s = sp_engine_over(r, load_acquire32(&r->state->state));
    if (s != SPDL_OK || !sp_engine_alive(r) || load_acquire32(&r->group_record->state) == SPDL_L_GROUP_ACTIVE)
        return s;
    return sp_fail(SPDL_E_GROUP_CLOSED, "spdl: ring \"%s\": group \"%s\" was ended by the engine",
                   r->ring_name, r->group_name);
}

static spdl_status request_locked(spdl_reader *r, uint16_t type, const void *payload, uint32_t bytes,
                                  int pass_fd, message *m) {
    uint32_t id = ++r->next_id;
    uint64_t deadline = sp_deadline((int64_t)REQUEST_SECONDS * 1000000000);
    char peer[PEER_BYTES];
    snprintf(peer, sizeof peer, "ring \"%s\": engine (pid %u)", r->ring_name, sp_engine_pid(r));
    spdl_status s = sp_send(r->control, peer, type, id, payload, bytes, pass_fd);
    while (s == SPDL_OK) {
        s = sp_receive(r->control, peer, deadline, m);
        if (s != SPDL_OK) break;
        sp_close_fds(m->fds, m->n_fds); /* no request is answered with descriptors */
        if (m->head.id != id) continue; /* the late answer to a request that was given up */
        if (m->head.type == SPDL_L_MSG_OK) return SPDL_OK;
        if (m->head.type == SPDL_L_MSG_ERROR)
            return sp_fail(m->head.status < 0 ? (spdl_status)m->head.status : SPDL_E_FORMAT, "%s",
                           (char *)m->payload);
        return malformed(m, peer, "the answer has an unknown type");
    }
    if (s == SPDL_TIMEOUT)
        return sp_fail(
            SPDL_E_BUSY,
            "spdl: %s: no answer in %d s: it is stopped (kill -CONT lets it go on) or has no CPU, and may still do what was "
            "asked; ask again",
            peer, REQUEST_SECONDS);
    if (s != SPDL_E_ENGINE_LOST) return s;
    spdl_status why = why_over(r);
    return why == SPDL_OK ? s : why;
}

#define DYING_NS \
    INT64_C(1000000000) /* at most, between the end of a process's sockets and that of its pidfd */

/* Did the socket end because the engine ends? Its descriptors go a moment before the kernel says that it is dead. */
static spdl_status engine_ends(const spdl_reader *r) {
    return sp_await(r->fds[FD_ENGINE], sp_deadline(DYING_NS));
}

/* A request that a dying engine may or may not have heard is asked of the next one again: each has the same effect twice. */
static spdl_status request(spdl_reader *r, uint16_t type, const void *payload, uint32_t bytes, int pass_fd,
                           message *m) {
    for (;;) {
        uint32_t joins = atomic_load_explicit(&r->joins, memory_order_acquire);
        pthread_mutex_lock(&r->control_lock);
        spdl_status s = request_locked(r, type, payload, bytes, pass_fd, m);
        pthread_mutex_unlock(&r->control_lock);
        if (s != SPDL_E_ENGINE_LOST) return s;
        if (atomic_load_explicit(&r->joins, memory_order_acquire) != joins)
            continue; /* it was asked of a dead engine */
        s = engine_ends(r);
        if (s == SPDL_TIMEOUT)
            return sp_fail(
                SPDL_E_ENGINE_LOST,
                "spdl: ring \"%s\": the engine (pid %u) lives and hung up on this reader; attach again",
                r->ring_name, sp_engine_pid(r));
        if (s == SPDL_OK) s = sp_await_engine(r);
        if (s != SPDL_OK) return s;
    }
}

spdl_status sp_request(spdl_reader *r, uint16_t type, const void *payload, uint32_t bytes, message *m) {
    int shield = sp_shield();
    spdl_status s = request(r, type, payload, bytes, -1, m);
    sp_unshield(shield);
    return s;
}

spdl_status sp_request_connect(spdl_reader *r, int end) {
    message m;
    spdl_status s = sp_message_room(&m);
    if (s == SPDL_OK) s = request(r, SPDL_L_MSG_CONNECT, NULL, 0, end, &m);
    free(m.payload);
    return s;
}
