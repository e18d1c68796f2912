/* test.h - a test is a function whose name is its promise; CHECK ends it with file and line. */
#ifndef TEST_H
#define TEST_H

#include "standin.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
} test;

void test_register(test *t);
void test_fail(const char *file, int line, const char *what);
int test_open_fds(void);
int test_maps(void);
double test_seconds(void);
/* Where a program has it: run once, before the first test, for what the process keeps. */
void test_before_all(void) __attribute__((weak));
/* Directory of the built library and programs, with the suffix of this build. */
extern const char *test_build;

#define TEST(promise)                                                   \
    static void promise(void);                                          \
    __attribute__((constructor)) static void promise##_register(void) { \
        static test t = {#promise, promise, NULL};                      \
        test_register(&t);                                              \
    }                                                                   \
    static void promise(void)

#define CHECK(what)                                        \
    do {                                                   \
        if (!(what)) test_fail(__FILE__, __LINE__, #what); \
    } while (0)

#define CHECK_STATUS(call, want)                                                                   \
    do {                                                                                           \
        int got_ = (call);                                                                         \
        if (got_ != (want)) {                                                                      \
            char text_[512];                                                                       \
            snprintf(text_, sizeof text_, "%s is %s, want %s (%s)", #call, spdl_status_name(got_), \
                     spdl_status_name(want), spdl_last_error());                                   \
            test_fail(__FILE__, __LINE__, text_);                                                  \
        }                                                                                          \
    } while (0)

/* The last error's text has these words. */
#define CHECK_SAYS(words)                                                                               \
    do {                                                                                                \
        if (!strstr(spdl_last_error(), words)) {                                                        \
            char text_[1024];                                                                           \
            snprintf(text_, sizeof text_, "error \"%s\", want \"%s\" in it", spdl_last_error(), words); \
            test_fail(__FILE__, __LINE__, text_);                                                       \
        }                                                                                               \
    } while (0)

/* Wait for a condition under a generous watchdog. What held once is held: a condition may be over before a second look. */
#define WAIT_UNTIL(condition)                                                   \
    do {                                                                        \
        double until_ = test_seconds() + 60;                                    \
        bool held_;                                                             \
        while (!(held_ = (condition)) && test_seconds() < until_) usleep(1000); \
        if (!held_) test_fail(__FILE__, __LINE__, #condition);                  \
    } while (0)

static inline standin *make_served(standin_opts o) {
    standin *s = standin_make(o);
    standin_serve(s, -1);
    return s;
}

static inline spdl_reader *attach_with(standin *s, uint32_t max_leases, uint32_t flags) {
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *r = NULL;
    o.max_leases = max_leases;
    o.flags = flags;
    CHECK_STATUS(spdl_attach(s->path, &o, &r), SPDL_OK);
    return r;
}

/* Most tests need one stand-in and one reader of it, and nothing else. */
static inline spdl_reader *join(standin **s, uint32_t max_leases, uint32_t flags) {
    *s = make_served((standin_opts)STANDIN_OPTS);
    return attach_with(*s, max_leases, flags);
}

static inline void leave(standin *s, spdl_reader *r) {
    spdl_detach(r);
    standin_free(s);
}

/* wrap.c: make the n-th allocation or mapping from now fail; 0: none. test_allocations counts them. */
extern long test_fail_at, test_allocations;
/* Questions of this thread whether a descriptor is readable now. */
extern _Thread_local long test_polls;
/* How often this thread has offered its core to others, and how long one of them takes it each time; 0: as it happens. */
extern _Thread_local long test_yields;
extern _Thread_local unsigned test_yield_us;

#endif
