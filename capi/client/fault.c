/* fault.c - the fault points of test builds; empty in a release. */
#ifdef SPDL_FAULTS

#include "internal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void delay(const char *milliseconds) {
    long ms = milliseconds ? strtol(milliseconds, NULL, 10) : 10;
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

int sp_fault(const char *point) {
    static _Atomic long passed;
    const char *wanted = getenv("SPDL_FAULT");
    size_t n = strlen(point);
    if (!wanted || strncmp(wanted, point, n) != 0 || wanted[n] != ':') return 0;

    char *rest;
    long count = strtol(wanted + n + 1, &rest, 10);
    if (atomic_fetch_add(&passed, 1) + 1 != count || *rest != ':') return 0;
    const char *action = rest + 1;
    if (strcmp(action, "kill") == 0) raise(SIGKILL);
    if (strcmp(action, "stop") == 0) raise(SIGSTOP);
    if (strncmp(action, "delay", 5) == 0) delay(action[5] == ':' ? action + 6 : NULL);
    return strcmp(action, "err") == 0;
}

#else
typedef int spdl_no_fault_points;
#endif
