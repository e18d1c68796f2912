/* spawn.c - spdl_open: start an engine for this reader alone and attach to it.
 *
 *   host ---clone---> intermediate ---clone---> engine (exec spdl serve ... --child)
 *          exit signal 0, shares            own descriptors; orphaned at once, so
 *          memory and descriptors,          the host's SIGCHLD and waitpid(-1)
 *          exits, reaped by __WCLONE        never see it
 *
 * The engine cannot be our own child: exec sets a process's exit signal back to SIGCHLD. Both clones
 * borrow our memory and suspend us until they exec or exit, as vfork does, so nothing is copied however
 * large the host is. (A host that is a subreaper, or process 1 of its container, does inherit the engine
 * when the intermediate exits, as it inherits every orphan.)
 */
#include "../engine/table.h"
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536u
#define CONTROL_FD 3
#define PARENT_FD 4
#define TEXT_FD 5              /* the first of the texts that are no words */
#define WORD_BYTES (32 * 4096) /* of the longest word that execve takes, its NUL included: MAX_ARG_STRLEN */

/* What the clones run is not watched by a sanitizer: AddressSanitizer marks what lies around a function's variables, and of one
 * that ends in execve the marks would stay in our memory; ThreadSanitizer keeps the calls of a thread. */
#define UNWATCHED __attribute__((no_sanitize("address"), no_sanitize("thread")))

extern char **environ;

/* What the two clones need; they run in our memory, one after the other, while we are suspended. */
typedef struct launch {
    const char *path;
    char **argv;
    int control, parent; /* the engine's end of the socket pair; a pidfd of this process */
    int texts[2];        /* files of a description and a state that are too long for a word */
    int n_texts;
    uint8_t *engine_stack;
    int pidfd; /* of the engine; -1 */
    int error; /* errno of the step that failed; 0 */
} launch;

/* ---- which engine --------------------------------------------------------------------------------- */

static bool is_command(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool beside_library(char *path, size_t bytes) {
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)&spdl_open, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int n = slash ? (int)(slash - info.dli_fname) : 1;
    const char *directory = slash ? info.dli_fname : ".";
    snprintf(path, bytes, "%.*s/spdl", n, directory);
    if (is_command(path)) return true;
    snprintf(path, bytes, "%.*s/../bin/spdl", n, directory);
    return is_command(path);
}

static bool on_path(char *path, size_t bytes) {
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, bytes, "%.*s/spdl", n ? (int)n : 1, n ? list : ".");
        if (is_command(path)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static spdl_status find_engine(const char *wanted, char *path, size_t bytes) {
    const char *from = wanted ? "opts.engine" : "$SPDL_ENGINE";
    if (!wanted) wanted = getenv("SPDL_ENGINE");
    if (wanted && *wanted) {
        if ((size_t)snprintf(path, bytes, "%s", wanted) < bytes && is_command(path)) return SPDL_OK;
        return sp_fail(SPDL_E_ENGINE_START, "spdl: open: %s \"%s\" is not an executable file", from, wanted);
    }
    if (beside_library(path, bytes) || on_path(path, bytes)) return SPDL_OK;
    return sp_fail(
        SPDL_E_ENGINE_START,
        "spdl: open: no spdl command beside libspdl nor on PATH; install it or name it in SPDL_ENGINE");
}

/* ---- the two clones ------------------------------------------------------------------------------- */

/* glibc's clone by its other name: a program under ThreadSanitizer has a clone of its own, which takes part in what memory it
 * believes to be a copy, and ends the process where one clone makes another. */
#ifdef __GLIBC__
int __clone(int (*run)(void *), void *stack, int flags, void *arg, ...);
#define plain_clone __clone
#else
#define plain_clone clone
#endif

/* Handlers of the host must not run in its memory once signals are let through. Ignored signals stay
 * ignored, but for the two that change how a program runs its own children and pipes. */
UNWATCHED static void reset_signals(void) {
    for (int sig = 1; sig < 65; sig++) {
        struct sigaction a;
        if (sigaction(sig, NULL, &a) != 0 || a.sa_handler == SIG_DFL) continue;
        if (a.sa_handler == SIG_IGN && sig != SIGCHLD && sig != SIGPIPE) continue;
        memset(&a, 0, sizeof a);
        a.sa_handler = SIG_DFL;
        sigaction(sig, &a, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the engine's own descriptor table: 0 and 1 to /dev/null, 2 as it is, the two, the texts, nothing else. */
UNWATCHED static bool arrange_descriptors(const launch *l) {
    int control = fcntl(l->control, F_DUPFD, 10);
    int parent = fcntl(l->parent, F_DUPFD, 10);
    int texts[2] = {0, 0};
    for (int i = 0; i < l->n_texts; i++) texts[i] = fcntl(l->texts[i], F_DUPFD, 10);
    int null = open("/dev/null", O_RDWR);
    if (errno == EINVAL) errno = EMFILE; /* as F_DUPFD says where the limit is 10 or lower */
    if (control < 0 || parent < 0 || texts[0] < 0 || texts[1] < 0 || null < 0) return false;
    for (int i = 0; i < l->n_texts; i++)
        if (dup2(texts[i], TEXT_FD + i) != TEXT_FD + i) return false;
    return dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(control, CONTROL_FD) == CONTROL_FD &&
           dup2(parent, PARENT_FD) == PARENT_FD &&
           syscall(SYS_close_range, TEXT_FD + l->n_texts, ~0u, 0) == 0;
}

UNWATCHED static int run_engine(void *arg) {
    launch *l = arg;
    setsid(); /* a Ctrl-C at the host's terminal is the host's to handle */
    if (arrange_descriptors(l)) {
        reset_signals();
        execve(l->path, l->argv, environ);
    }
    l->error = errno;
    return 127; /* of the process: a clone ends with its function */
}

UNWATCHED static int run_intermediate(void *arg) {
    launch *l = arg;
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
    if (plain_clone(run_engine, l->engine_stack + STACK_BYTES, flags, l, &l->pidfd) < 0) l->error = errno;
    return 0;
}

static spdl_status clone_engine(launch *l) {
    uint8_t *stacks =
        mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return sp_fail_errno("open: mmap of a stack");
    l->engine_stack = stacks + STACK_BYTES;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid = plain_clone(run_intermediate, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_FILES, l);
    int code = pid < 0 ? errno : l->error;
    if (code == 0 && (l->pidfd = sp_above_2(l->pidfd)) < 0) code = errno;
    while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK_BYTES);
    if (code == 0) return SPDL_OK;
    if (l->pidfd >= 0) close(l->pidfd);
    l->pidfd = -1;
    char text[128];
    return sp_fail(SPDL_E_ENGINE_START, "spdl: open: cannot start \"%s\": %s (errno %d)%s", l->path,
                   strerror_r(code, text, sizeof text), code,
                   code == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
}

/* ---- the command and its socket ----------------------------------------------------------------------- */

spdl_status sp_make_pair(int pair[2]) {
    pair[0] = pair[1] = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        pair[0] = sp_above_2(pair[0]);
        pair[1] = sp_above_2(pair[1]);
    }
    if (pair[0] >= 0 && pair[1] >= 0) return SPDL_OK;
    spdl_status s = sp_fail_errno("socketpair, for the engine");
    sp_close_fds(pair, 2);
    return s;
}

spdl_status sp_make_ends(int *self, int pair[2]) {
    *self = sp_above_2((int)syscall(SYS_pidfd_open, getpid(), 0));
    if (*self < 0)
        return sp_fail_errno(errno == ENOSYS ? "open: pidfd_open (Linux 5.14 or newer is needed)"
                                             : "open: pidfd_open");
    spdl_status s = sp_make_pair(pair);
    if (s != SPDL_OK) close(*self);
    return s;
}

static uint32_t count_words(const char *const *words) {
    uint32_t n = 0;
    while (words && words[n]) n++;
    return n;
}

static uint32_t add_words(const char **v, uint32_t n, const char *const *words) {
    for (uint32_t i = 0; words && words[i]; i++) v[n++] = words[i];
    return n;
}

const char **sp_serve_words(const char *const *before, const char *spec, const char *const *after,
                            const spdl_open_opts *o, uint32_t *n_out) {
    bool is_text = spec[strspn(spec, " \t\r\n")] == '{';
    bool is_like_a_flag = spec[0] == '-'; /* a path all the same; behind "--" all words are */
    const char *first[] = {is_text ? "--spec-json" : spec, is_text ? spec : NULL, NULL};
    const char *state[] = {o->state ? "--state" : NULL, o->state, NULL};
    const char *last[] = {"--", spec, NULL};
    const char **v = calloc(count_words(before) + count_words(after) + count_words(o->args) + 5, sizeof *v);
    if (!v) return NULL;
    uint32_t n = add_words(v, 0, before);
    if (!is_like_a_flag) n = add_words(v, n, first);
    n = add_words(v, n, after);
    n = add_words(v, n, o->args);
    n = add_words(v, n, state);
    *n_out = is_like_a_flag ? add_words(v, n, last) : n;
    return v;
}

/* A file without a name that holds the text, read from its start. */
static int file_of(const char *text) {
    int fd = sp_above_2(memfd_create("spdl-text", MFD_CLOEXEC));
    size_t left = strlen(text);
    while (fd >= 0 && left > 0) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int error = errno;
            close(fd);
            errno = error;
            return -1;
        }
        text += n, left -= (size_t)n;
    }
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

/* A description or a state that execve would refuse for its length goes as a file: --spec-json TEXT as --spec-json-fd 5. */
static spdl_status lend_long_words(launch *l) {
    static char numbers[2][2] = {"5", "6"};
    static char flags[2][16] = {"--spec-json-fd", "--state-fd"};
    for (char **v = l->argv; v[0] && v[1]; v++) {
        bool is_spec = strcmp(v[0], "--spec-json") == 0;
        if ((!is_spec && strcmp(v[0], "--state") != 0) || strlen(v[1]) < WORD_BYTES || l->n_texts == 2)
            continue;
        int fd = file_of(v[1]);
        if (fd < 0) return sp_fail_errno("open: a file for the description or the state");
        v[0] = flags[is_spec ? 0 : 1], v[1] = numbers[l->n_texts];
        l->texts[l->n_texts++] = fd;
    }
    return SPDL_OK;
}

static spdl_status launch_engine(const char *spec, const spdl_open_opts *o, launch *l, int *control) {
    int pair[2];
    spdl_status s = sp_make_ends(&l->parent, pair);
    if (s != SPDL_OK) return s;
    l->control = pair[1];
    const char *before[] = {l->path, "serve", NULL};
    const char *after[] = {"--child", "--control-fd", "3", "--parent-fd", "4", NULL};
    uint32_t n;
    l->argv = (char **)(uintptr_t)sp_serve_words(before, spec, after, o, &n);
    s = l->argv ? lend_long_words(l)
                : sp_fail(SPDL_E_NOMEM, "spdl: open: no memory for the engine's arguments");
    if (s == SPDL_OK) s = clone_engine(l);
    free(l->argv);
    sp_close_fds(l->texts, (uint32_t)l->n_texts);
    close(l->parent);
    close(pair[1]);
    if (s != SPDL_OK) close(pair[0]);
    *control = s == SPDL_OK ? pair[0] : -1;
    return s;
}

const char *sp_not_ready(spdl_status s) {
    return s == SPDL_TIMEOUT
               ? "was not ready when its time was over; raise timeout (in C opts.attach.timeout_ns), or leave it out, which waits"
               : "ended before it was ready";
}

/* An engine that neither welcomed us nor said why not has ended, or will not do, or is not waited for any more: end it. */
static spdl_status never_ready(const launch *l, const char *spec, spdl_status s) {
    if (s != SPDL_E_ENGINE_LOST && s != SPDL_TIMEOUT && s != SPDL_E_INTERRUPTED) return s;
    syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
    if (s == SPDL_E_INTERRUPTED) return s;
    return sp_fail(SPDL_E_ENGINE_START, "spdl: open \"%.200s\": engine \"%s\" %s; its log is on stderr", spec,
                   l->path, sp_not_ready(s));
}

static spdl_status check_open_opts(const spdl_open_opts *o) {
    if (o->struct_size < sizeof *o)
        return sp_small("open", "opts", o->struct_size, sizeof *o, "SPDL_OPEN_OPTS_INIT");
    if (o->form != SPDL_FORM_CHILD && o->form != SPDL_FORM_IN_PROCESS)
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: open: opts.form is %u, want SPDL_FORM_CHILD or SPDL_FORM_IN_PROCESS", o->form);
    if (o->form == SPDL_FORM_IN_PROCESS && o->engine)
        return sp_fail(
            SPDL_E_ARGUMENT,
            "spdl: open: opts.engine names a command, and none is started in process; leave it NULL");
    if (o->state && !*o->state)
        return sp_fail(
            SPDL_E_STATE,
            "spdl: open: opts.state is empty, want the JSON of spdl_state_save; NULL begins at the start");
    if (o->state && o->state[strspn(o->state, " \t\r\n")] != '{')
        return sp_fail(
            SPDL_E_STATE,
            "spdl: open: opts.state is \"%.80s\", want the JSON of spdl_state_save, which begins with '{'; of a file its text",
            o->state);
    return sp_check_attach_opts("open", "opts.attach", &o->attach);
}

static spdl_status open_child(const char *spec, const spdl_open_opts *opts, uint64_t deadline,
                              spdl_reader **out) {
    char path[4096];
    spdl_status s = find_engine(opts->engine, path, sizeof path);
    if (s != SPDL_OK) return s;
    launch l = {.path = path, .pidfd = -1};
    int control = -1;
    s = launch_engine(spec, opts, &l, &control);
    if (s != SPDL_OK) return s;
    s = sp_join(control, "open", "", &opts->attach, deadline, out);
    if (s == SPDL_OK) return sp_note_own(l.pidfd, 0, out);
    s = never_ready(&l, spec, s);
    close(l.pidfd);
    return s;
}

/* ---- the end of an engine that was opened ------------------------------------------------------------ */

struct own_engine {
    _Atomic uint32_t refs; /* one per reader, and one of each detach that may wait */
    int pidfd;             /* of a child; -1 */
    int64_t source;        /* of an engine in this process; 0 */
};

spdl_status sp_note_own(int pidfd, int64_t source, spdl_reader **out) {
    own_engine *e = malloc(sizeof *e);
    if (!e) {
        if (pidfd >= 0) close(pidfd);
        spdl_detach(*out);
        *out = NULL;
        return sp_fail(SPDL_E_NOMEM, "spdl: open: no memory to note the engine");
    }
    atomic_init(&e->refs, 1);
    e->pidfd = pidfd;
    e->source = source;
    (*out)->own = e;
    return SPDL_OK;
}

own_engine *sp_own_ref(own_engine *e) {
    if (e) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

/* A process is dead to its pidfd when it has let go of everything; who reaps it, and when, is another matter. */
static void await_death(int pidfd) { (void)sp_await(pidfd, sp_deadline(SP_END_NS)); }

void sp_own_unref(own_engine *e, bool await) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
    if (await && e->pidfd >= 0) await_death(e->pidfd);
    if (await && e->source != 0) sp_await_end(e->source, sp_deadline(SP_END_NS));
    if (e->pidfd >= 0) close(e->pidfd);
    free(e);
}

/* ---- spdl_open -------------------------------------------------------------------------------------- */

spdl_status spdl_open(const char *spec, const spdl_open_opts *opts, spdl_reader **out) {
    const spdl_open_opts defaults = SPDL_OPEN_OPTS_INIT;
    if (out) *out = NULL;
    if (!spec || !*spec || !out)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: open: %s", out ? "spec is NULL or empty" : "out is NULL");
    if (!opts) opts = &defaults;
    spdl_status s = check_open_opts(opts);
    if (s != SPDL_OK) return s;
    /* Without a time given there is none: the engine answers, or its end closes the socket. */
    uint64_t deadline = opts->attach.timeout_ns ? sp_deadline(opts->attach.timeout_ns) : UINT64_MAX;
    int shield = sp_shield();
    s = opts->form == SPDL_FORM_IN_PROCESS ? sp_open_in_process(spec, opts, deadline, out)
                                           : open_child(spec, opts, deadline, out);
    sp_unshield(shield);
    return s;
}
