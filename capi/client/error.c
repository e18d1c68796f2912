/* error.c - status names and each thread's last error. */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Plain storage: no destructor, so that dlclose with other threads alive is safe. */
static _Thread_local char last_error[1536];

const char *spdl_last_error(void) { return last_error; }

const char *spdl_status_name(int status) {
    switch (status) {
#define NAME(s) \
    case s: return #s
        NAME(SPDL_OK);
        NAME(SPDL_TIMEOUT);
        NAME(SPDL_END_EPOCH);
        NAME(SPDL_END_DATA);
        NAME(SPDL_E_ARGUMENT);
        NAME(SPDL_E_NOMEM);
        NAME(SPDL_E_SYSTEM);
        NAME(SPDL_E_UNSUPPORTED);
        NAME(SPDL_E_FORKED);
        NAME(SPDL_E_INTERRUPTED);
        NAME(SPDL_E_NOT_FOUND);
        NAME(SPDL_E_DENIED);
        NAME(SPDL_E_BUSY);
        NAME(SPDL_E_VERSION);
        NAME(SPDL_E_FORMAT);
        NAME(SPDL_E_ENGINE_LOST);
        NAME(SPDL_E_ENGINE_FAILED);
        NAME(SPDL_E_ENGINE_STOPPED);
        NAME(SPDL_E_ENGINE_START);
        NAME(SPDL_E_GROUP_CLOSED);
        NAME(SPDL_E_STALE);
        NAME(SPDL_E_LEASES);
        NAME(SPDL_E_UNDONE);
        NAME(SPDL_E_DETACHED);
        NAME(SPDL_E_STATE);
        NAME(SPDL_E_SPEC);
        NAME(SPDL_E_PIPELINE);
        NAME(SPDL_E_STAGE);
        NAME(SPDL_E_SAMPLE);
        NAME(SPDL_E_DEVICE);
        NAME(SPDL_E_POOL_LOST);
#undef NAME
    default: return "SPDL_UNKNOWN";
    }
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *spdl_version(void) {
    return TEXT(SPDL_VERSION_MAJOR) "." TEXT(SPDL_VERSION_MINOR) "." TEXT(SPDL_VERSION_PATCH);
}

uint32_t spdl_layout_version(void) { return SPDL_L_MAJOR * 1000 + SPDL_L_MINOR; }

spdl_status sp_fail(spdl_status status, const char *format, ...) {
    char text[sizeof last_error]; /* the arguments may be the last error itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_error, text, sizeof text);
    return status;
}

spdl_status sp_fail_errno(const char *what) {
    int code = errno;
    char buffer[128];
    return sp_fail(code == ENOMEM ? SPDL_E_NOMEM : SPDL_E_SYSTEM, "spdl: %s: %s (errno %d)%s", what,
                   strerror_r(code, buffer, sizeof buffer), code,
                   code == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
}

spdl_status sp_small(const char *call, const char *what, uint32_t got, size_t want, const char *init) {
    return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s.struct_size is %u, want %zu; make it with %s", call, what,
                   got, want, init);
}

uint64_t sp_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int64_t sp_timeout(int64_t timeout_ns) {
    return timeout_ns < 0 && timeout_ns != SPDL_FOREVER ? 0 : timeout_ns;
}

uint64_t sp_deadline(int64_t timeout_ns) {
    if (timeout_ns == SPDL_FOREVER) return UINT64_MAX;
    return sp_now_ns() + (uint64_t)sp_timeout(timeout_ns);
}
