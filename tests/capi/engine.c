/* engine.c - the stand-in as a program, for tests that need another process.
 *
 *   engine serve SPEC --child --control-fd 3 --parent-fd 4 [...]   as spdl_open starts it
 *   engine socket PATH                                             on a socket of that path
 *
 * SPEC: "hang" answers nothing, "die" ends at once, "bad" is refused; "{...}" and all else publish for
 * ever. The arguments it was started with are the ring's text, of each up to 99 bytes. */
#include "standin.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void refuse_spec(int fd) {
    const char text[] = "spec: file \"bad\" line 3: unknown key \"sise\", did you mean \"size\"?";
    spdl_l_msg head = {.magic = SPDL_L_MSG_MAGIC,
                       .version = 1,
                       .type = SPDL_L_MSG_ERROR,
                       .id = 1,
                       .status = SPDL_E_SPEC,
                       .bytes = sizeof text - 1};
    char message[sizeof head + sizeof text];
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, text, sizeof text - 1);
    if (send(fd, message, sizeof head + sizeof text - 1, MSG_NOSIGNAL) < 0) exit(4);
    exit(2);
}

/* What a child that spdl_open started must find: two descriptors beyond the standard ones and one for each text that is too
 * long for a word, no blocked or ignored signal, a session of its own. Its complaints go out as the exit code. */
static void check_surroundings(int texts) {
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int sig = 1; sig < 32; sig++)
        if (sigismember(&blocked, sig)) exit(10);
    for (int fd = 5 + texts; fd < 200; fd++)
        if (lseek(fd, 0, SEEK_CUR) == 0) exit(11);
    if (getsid(0) != getpid()) exit(12);
}

static void put_arguments_into_text(standin *s, int argc, char **argv, int texts) {
    char text[2048] = "";
    for (int i = 1; i < argc; i++) {
        strncat(text, argv[i], 99);
        strcat(text, "|");
    }
    for (int fd = 5; fd < 5 + texts; fd++) { /* and how long each text is, with its first and its last byte */
        char *all = malloc(1 << 20), line[64];
        ssize_t n = read(fd, all, 1 << 20);
        if (n <= 0 || read(fd, line, 1) != 0) exit(13);
        snprintf(line, sizeof line, "%zd%c%c|", n, all[0], all[n - 1]);
        strcat(text, line);
        free(all);
    }
    s->header->header_bytes = s->bytes[STANDIN_HEADER];
    s->header->text_bytes = strlen(text);
    if (s->header->text_off + s->header->text_bytes > s->header->header_bytes) exit(5);
    memcpy(s->base[STANDIN_HEADER] + s->header->text_off, text, strlen(text));
}

static bool ended(int parent, standin *s, bool child) {
    struct pollfd p = {parent, POLLIN, 0};
    if (child && poll(&p, 1, 0) > 0) return true;
    pthread_mutex_lock(&s->lock);
    bool is_alone = s->peers[0].fd < 0;
    pthread_mutex_unlock(&s->lock);
    return child && is_alone;
}

int main(int argc, char **argv) {
    bool child = argc > 2 && strcmp(argv[1], "serve") == 0;
    int texts = 0;
    for (int i = 1; i < argc; i++)
        texts += strcmp(argv[i], "--spec-json-fd") == 0 || strcmp(argv[i], "--state-fd") == 0;
    if (child) check_surroundings(texts);
    if (child && strcmp(argv[2], "die") == 0) return 3;
    if (child && strcmp(argv[2], "bad") == 0) refuse_spec(3);
    standin_opts o = STANDIN_OPTS;
    standin *s = standin_make(o);
    if (child) {
        const char *spec = argv[2];
        s->hooks.silent = strcmp(spec, "hang") == 0;
        put_arguments_into_text(s, argc, argv, texts);
        standin_serve(s, 3);
    } else if (argc > 2) {
        snprintf(s->path, sizeof s->path, "%s", argv[2]);
        standin_serve(s, -1);
    } else {
        return 2;
    }
    while (!ended(4, s, child))
        if (standin_publish(s, 0, false) < 0) usleep(500);
    standin_free(s);
    return 0;
}
