/* main.c - run the registered tests; an argument keeps those whose name contains it. */
#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static test *first;
static const char *running;
static bool failed;
static jmp_buf back; /* a failed check jumps here, out of the test */
static pthread_t main_thread;
const char *test_build = "build";

void test_register(test *t) {
    test **p = &first;
    while (*p && strcmp((*p)->name, t->name) < 0) p = &(*p)->next;
    t->next = *p;
    *p = t;
}

/* In another thread there is nothing to jump back to: the process ends. */
void test_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "FAIL %s: %s:%d: %s\n", running, file, line, what);
    failed = true;
    if (!pthread_equal(pthread_self(), main_thread)) exit(1);
    longjmp(back, 1);
}

static int count_entries(const char *path) {
    DIR *d = opendir(path);
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 3; /* ".", ".." and, in /proc/self/fd, the directory itself */
}

int test_open_fds(void) { return count_entries("/proc/self/fd"); }

int test_maps(void) {
    FILE *f = fopen("/proc/self/maps", "re");
    int n = 0, c;
    while ((c = fgetc(f)) != EOF) n += c == '\n';
    fclose(f);
    return n;
}

double test_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(test *t) {
    int fds = test_open_fds();
    running = t->name;
    failed = false;
    alarm(240); /* a test that hangs ends the run */
    if (setjmp(back) != 0) return;
    t->run();
    if (test_open_fds() != fds) test_fail(t->name, test_open_fds() - fds, "the test left descriptors open");
}

int main(int argc, char **argv) {
    const char *only = argc > 1 ? argv[1] : "";
    int passed = 0, bad = 0;
    if (getenv("SPDL_TEST_BUILD")) test_build = getenv("SPDL_TEST_BUILD");
    main_thread = pthread_self();
    if (test_before_all) test_before_all();
    for (test *t = first; t; t = t->next) {
        if (!strstr(t->name, only)) continue;
        run(t);
        if (failed)
            bad++;
        else
            passed++;
        printf("%s %s\n", failed ? "not ok" : "ok", t->name);
        fflush(stdout);
    }
    printf("%d passed, %d failed\n", passed, bad);
    return bad != 0;
}
