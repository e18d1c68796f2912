/* alloc.c - count every call of malloc, calloc, realloc and their aligned kin in a process, Go's C code and libraries included.
 *
 *     LD_PRELOAD=alloc.so ALLOC_COUNT=/path/of/8/bytes program
 *
 * The count is a uint64 at the start of that file, which must exist; others may read it at any time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own names of what is replaced here; no header declares them. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t before; /* calls before the file was mapped */
static _Atomic uint64_t *_Atomic count = &before;

__attribute__((constructor)) static void map_count(void) {
    const char *path = getenv("ALLOC_COUNT");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *p = mmap(NULL, sizeof before, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return;
    atomic_store(&count, (_Atomic uint64_t *)p);
    atomic_fetch_add((_Atomic uint64_t *)p, atomic_load(&before));
}

static void note(void) { atomic_fetch_add_explicit(atomic_load(&count), 1, memory_order_relaxed); }

void *malloc(size_t n) {
    note();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    note();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    note();
    return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n) {
    note();
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }

int posix_memalign(void **out, size_t align, size_t n) {
    if (align % sizeof(void *) != 0 || (align & (align - 1)) != 0) return EINVAL;
    void *p = memalign(align, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
