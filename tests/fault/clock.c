/* clock OFFSET[,OFFSET...] COMMAND [ARGUMENT...]: run a command whose wall clock jumps at every look at it.
 *
 * The n-th reading of CLOCK_REALTIME by the command, its threads and its children is moved by the n-th OFFSET in seconds, round and
 * round. CLOCK_MONOTONIC is as it is. The clock of the machine is not touched: a seccomp filter hands the calls that read it to this
 * program, a tracer, which answers them. So that they are calls, the vDSO is taken out of what the kernel tells a new program.
 *
 * Ends as the command does; SIGTERM goes on to it; when this program is killed, so is all of it. 77: not on this machine.
 * On stderr at the end, if SPDL_CLOCK_COUNT is set: how many readings were moved. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__

#include <elf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_OFFSETS = 64, SKIPPED = 77 };

static long offsets[MOST_OFFSETS];
static size_t n_offsets;
static unsigned long readings;
static pid_t command_pid;

static void die(const char *what) {
    fprintf(stderr, "clock: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void parse(char *list) {
    for (char *word = strtok(list, ","); word && n_offsets < MOST_OFFSETS; word = strtok(NULL, ","))
        offsets[n_offsets++] = strtol(word, NULL, 10);
    if (n_offsets == 0) {
        errno = EINVAL;
        die("offsets");
    }
}

static void forward(int signal) { kill(command_pid, signal); }

/* Hand clock_gettime of the wall clocks, gettimeofday and time to the tracer. */
static int filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettimeofday, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME_COARSE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void become(int go, char **command) {
    char byte;
    if (read(go, &byte, 1) != 1) _exit(1); /* the tracer is there */
    if (filter() != 0) die("seccomp");
    execvp(command[0], command);
    die(command[0]);
}

static int peek(pid_t pid, unsigned long at, void *to, size_t size) {
    struct iovec local = {to, size}, remote = {(void *)at, size};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static int poke(pid_t pid, unsigned long at, void *from, size_t size) {
    struct iovec local = {from, size}, remote = {(void *)at, size};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The stack of a new program: argc, argv, NULL, environment, NULL, then pairs of which one is the vDSO's place. */
static void hide_vdso(pid_t pid) {
    struct user_regs_struct regs;
    unsigned long at, word = 1;
    if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) return; /* it was killed */
    if (!peek(pid, at = regs.rsp, &word, sizeof word)) die("stack");
    at += (2 + word) * sizeof word;
    for (word = 1; word; at += sizeof word)
        if (!peek(pid, at, &word, sizeof word)) die("environment");
    for (Elf64_auxv_t pair = {.a_type = 1}; pair.a_type != AT_NULL; at += sizeof pair) {
        if (!peek(pid, at, &pair, sizeof pair)) die("auxiliary vector");
        if (pair.a_type != AT_SYSINFO_EHDR) continue;
        pair.a_type = AT_IGNORE;
        if (!poke(pid, at, &pair, sizeof pair)) die("auxiliary vector");
    }
}

/* Answer the call in the kernel's place. */
static void answer(pid_t pid) {
    struct user_regs_struct regs;
    struct timespec now;
    int written = 1;
    if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) return;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec += offsets[readings++ % n_offsets];
    unsigned long call = regs.orig_rax, to = call == SYS_clock_gettime ? regs.rsi : regs.rdi;
    struct timeval micro = {now.tv_sec, now.tv_nsec / 1000};
    if (call == SYS_clock_gettime) written = poke(pid, to, &now, sizeof now);
    if (call == SYS_gettimeofday && to) written = poke(pid, to, &micro, sizeof micro);
    if (call == SYS_time && to) written = poke(pid, to, &now.tv_sec, sizeof now.tv_sec);
    regs.orig_rax = (unsigned long)-1; /* no call */
    regs.rax = !written ? (unsigned long)-EFAULT : call == SYS_time ? (unsigned long)now.tv_sec : 0;
    ptrace(PTRACE_SETREGS, pid, 0, &regs);
}

static int stopping(int signal) {
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void go_on(pid_t pid, int status) {
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_SECCOMP) answer(pid);
    if (event == PTRACE_EVENT_EXEC) hide_vdso(pid);
    if (event == PTRACE_EVENT_STOP && stopping(signal))
        ptrace(PTRACE_LISTEN, pid, 0, 0); /* it stays stopped until SIGCONT */
    else
        ptrace(PTRACE_CONT, pid, 0, event ? 0 : signal);
}

static void attend(void) {
    for (int status;;) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR) continue;
        if (pid < 0) die("wait");
        if (WIFSTOPPED(status)) {
            go_on(pid, status);
        } else if (pid == command_pid) {
            if (getenv("SPDL_CLOCK_COUNT")) fprintf(stderr, "clock: %lu readings moved\n", readings);
            exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        }
    }
}

int main(int argc, char **argv) {
    int go[2];
    if (argc < 3) {
        fprintf(stderr, "usage: clock OFFSET[,OFFSET...] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    parse(argv[1]);
    if (pipe(go) != 0) die("pipe");
    if ((command_pid = fork()) < 0) die("fork");
    if (command_pid == 0) {
        close(go[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        become(go[0], argv + 2);
    }
    close(go[0]);
    signal(SIGTERM, forward);
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                   PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, command_pid, 0, options) != 0) {
        fprintf(stderr, "clock: this machine lets nobody trace: %s\n", strerror(errno));
        kill(command_pid, SIGKILL);
        return SKIPPED;
    }
    if (write(go[1], "", 1) != 1) die("pipe");
    close(go[1]);
    attend();
}

#else

int main(void) {
    fprintf(stderr, "clock: knows the calls of x86-64 alone\n");
    return 77;
}

#endif
