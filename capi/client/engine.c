/* engine.c - the engine in this process: libspdl_engine, loaded by the first call that needs it. */
#include "internal.h"

#include "../engine/table.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LIBRARY "libspdl_engine.so"
#define LOOK_NS 25000000

typedef const spdl_engine_table *(*table_of)(uint32_t);

/* The table once it was found. It is never unloaded: Go cannot be. */
static _Atomic(const spdl_engine_table *) loaded;

/* A copy of dlerror's text, which lasts only until the next call. */
static void note_dlerror(char *text, size_t bytes) {
    const char *why = dlerror();
    snprintf(text, bytes, "%s", why ? why : "unknown");
}

/* What libspdl calls itself decides what "beside" means: an unpacked tree works without an installation. */
static void *open_beside(char *why, size_t bytes) {
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)&spdl_open, &info) || !info.dli_fname) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    char path[4096];
    int n = slash ? (int)(slash - info.dli_fname) : 1;
    snprintf(path, sizeof path, "%.*s/" LIBRARY, n, slash ? info.dli_fname : ".");
    if (access(path, F_OK) != 0) return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) note_dlerror(why, bytes);
    return library;
}

static spdl_status open_library(void **out) {
    const char *wanted = getenv("SPDL_ENGINE_LIBRARY");
    char why[512] = "";
    if (wanted && *wanted) {
        *out = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
        if (*out) return SPDL_OK;
        note_dlerror(why, sizeof why);
        return sp_fail(SPDL_E_UNSUPPORTED, "spdl: engine library: $SPDL_ENGINE_LIBRARY \"%.200s\": %s",
                       wanted, why);
    }
    *out = open_beside(why, sizeof why);
    if (!*out && !*why) {
        *out = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!*out) note_dlerror(why, sizeof why);
    }
    if (*out) return SPDL_OK;
    return sp_fail(SPDL_E_UNSUPPORTED,
                   "spdl: engine library: %s; install " LIBRARY
                   " beside libspdl or name it in SPDL_ENGINE_LIBRARY",
                   why);
}

/* Where the program has closed 0, 1 or 2, /dev/null: the first that Go opens would be there else, and what the program prints go into it.
 * Go does so itself in a command, not in a library. */
static spdl_status fill_standard_descriptors(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            return sp_fail_errno("engine library: open of /dev/null in place of a closed descriptor");
    return SPDL_OK;
}

/* Go ends the process where it finds no descriptor for its poller as it starts, which it goes on with after its library is opened. */
static spdl_status check_room_for_go(void) {
    int room[16];
    uint32_t n = 0;
    while (n < 16 && (room[n] = eventfd(0, EFD_CLOEXEC)) >= 0) n++;
    spdl_status s = n < 16 ? sp_fail_errno("engine library: 16 descriptors for it and its threads") : SPDL_OK;
    sp_close_fds(room, n);
    return s;
}

/* Threads have the mask of the one that made them, and Go's are made while its library is opened: a file that may not grow (ulimit -f) is an
 * error in them then, as it is in an engine of its own. Go handles SIGXFSZ there; here the signal would end the program. */
static spdl_status open_without_xfsz(void **out) {
    sigset_t xfsz, before;
    sigemptyset(&xfsz);
    sigaddset(&xfsz, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &xfsz, &before);
    spdl_status s = open_library(out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return s;
}

spdl_status sp_engine(const spdl_engine_table **out) {
    *out = atomic_load_explicit(&loaded, memory_order_acquire);
    if (*out) return SPDL_OK;
    void *library;
    spdl_status s = fill_standard_descriptors();
    if (s == SPDL_OK) s = check_room_for_go();
    if (s == SPDL_OK) s = open_without_xfsz(&library);
    if (s != SPDL_OK) return s;
    table_of get = NULL;
    void *symbol = dlsym(library, SPDL_ENGINE_SYMBOL);
    memcpy(&get, &symbol, sizeof get); /* ISO C has no conversion from an object's pointer to a function's */
    const spdl_engine_table *table = get ? get(SPDL_ENGINE_TABLE_VERSION) : NULL;
    if (!table || strcmp(table->version, spdl_version()) != 0) {
        s = sp_fail(SPDL_E_VERSION,
                    "spdl: engine library: got version %s, this libspdl is %s; install both from one release",
                    table ? table->version : "of another kind", spdl_version());
        dlclose(library);
        return s;
    }
    atomic_store_explicit(&loaded, table, memory_order_release);
    *out = table;
    return SPDL_OK;
}

/* ---- spdl_open in process -------------------------------------------------------------------------------- */

static spdl_status start(const spdl_engine_table *engine, const char *spec, const spdl_open_opts *o,
                         int pair[2], int64_t *source) {
    uint32_t n = 0;
    int self;
    const char **args = sp_serve_words(NULL, spec, NULL, o, &n);
    if (!args) return sp_fail(SPDL_E_NOMEM, "spdl: open: no memory for the engine's arguments");
    spdl_status s = sp_make_ends(&self, pair);
    if (s != SPDL_OK) {
        free(args);
        return s;
    }
    spdl_engine_error error;
    s = engine->open(args, n, pair[1], self, source, &error);
    free(args);
    if (s == SPDL_OK) return SPDL_OK;
    close(pair[0]);
    return sp_fail(s, "%s", error.text);
}

spdl_status sp_open_in_process(const char *spec, const spdl_open_opts *o, uint64_t deadline,
                               spdl_reader **out) {
    const spdl_engine_table *engine;
    int pair[2];
    int64_t source = 0;
    spdl_status s = sp_engine(&engine);
    if (s == SPDL_OK) s = start(engine, spec, o, pair, &source);
    if (s == SPDL_OK) s = sp_join(pair[0], "open", "", &o->attach, deadline, out);
    if (s == SPDL_OK) {
        (*out)->source = source;
        s = sp_note_own(-1, source, out);
    }
    if (s == SPDL_E_ENGINE_LOST || s == SPDL_TIMEOUT)
        s = sp_fail(SPDL_E_ENGINE_START, "spdl: open \"%.200s\": the engine in this process %s", spec,
                    sp_not_ready(s));
    return s;
}

/* ---- the end --------------------------------------------------------------------------------------------- */

void sp_await_end(int64_t source, uint64_t deadline) {
    const spdl_engine_table *engine;
    if (sp_engine(&engine) != SPDL_OK) return;
    while (sp_interrupted() == SPDL_OK && engine->await_end(source, LOOK_NS) == SPDL_TIMEOUT)
        if (sp_now_ns() >= deadline) return;
}

void spdl_shutdown(void) {
    const spdl_engine_table *engine = atomic_load_explicit(&loaded, memory_order_acquire);
    if (engine) engine->end_all(SP_END_NS);
}
