/* memory.c - device memory, pinned host memory, and handles for other processes. */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PIECES 1024

enum { NOTHING = 0, DEVICE, IMPORTED, REGISTERED, HOST };

/* Any memory that we know of. */
static struct piece {
    int kind;
    uint8_t *base;
    size_t bytes;
    context *owner;
    int fd;   /* of device memory */
    int refs; /* of an import: how often it was opened */
    cu_handle handle;
} pieces[MAX_PIECES];

/* What a handle says. */
typedef struct exported {
    uint32_t magic;
    int32_t pid, fd, device;
    uint64_t bytes, inode;
} exported;
#define MAGIC 0x6d656d66u

static struct piece *find(int kind, const void *base) {
    for (int i = 0; i < MAX_PIECES; i++)
        if (pieces[i].kind == kind && pieces[i].base == base) return &pieces[i];
    return NULL;
}

static struct piece *add(int kind, void *base, size_t bytes, context *owner) {
    for (int i = 0; i < MAX_PIECES; i++)
        if (pieces[i].kind == NOTHING) {
            pieces[i] = (struct piece){.kind = kind, .base = base, .bytes = bytes, .owner = owner, .fd = -1};
            return &pieces[i];
        }
    return NULL;
}

static bool holds(int kind, const void *at, size_t bytes) {
    const uint8_t *p = at;
    for (int i = 0; i < MAX_PIECES; i++)
        if (pieces[i].kind == kind && p >= pieces[i].base && bytes <= pieces[i].bytes &&
            (size_t)(p - pieces[i].base) <= pieces[i].bytes - bytes)
            return true;
    return false;
}

bool fake_is_device(cu_address at, size_t bytes) {
    const void *p = (const void *)(uintptr_t)at;
    return holds(DEVICE, p, bytes) || holds(IMPORTED, p, bytes);
}

bool fake_is_pinned(const void *at, size_t bytes) {
    return holds(REGISTERED, at, bytes) || holds(HOST, at, bytes);
}

/* ---- device memory --------------------------------------------------------------------------------- */

FAKE_API cu_result cuMemGetInfo_v2(size_t *free_, size_t *total) {
    ENTER(MemGetInfo);
    cu_result why;
    context *c = fake_current(&why);
    if (why != CU_OK) LEAVE(why);
    *total = fake_settings.memory;
    *free_ = fake_settings.memory - c->used;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemAlloc_v2(cu_address *memory, size_t bytes) {
    ENTER(MemAlloc);
    cu_result why;
    context *c = fake_current(&why);
    if (why == CU_OK) why = fake_unsafe();
    if (why != CU_OK) LEAVE(why);
    if (bytes == 0) LEAVE(CU_E_INVALID_VALUE);
    if (bytes > fake_settings.memory - c->used) LEAVE(CU_E_OUT_OF_MEMORY);
    int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
    void *p = fd >= 0 && ftruncate(fd, (off_t)bytes) == 0
                  ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : MAP_FAILED;
    struct piece *piece = p == MAP_FAILED ? NULL : add(DEVICE, p, bytes, c);
    if (!piece) {
        if (p != MAP_FAILED) munmap(p, bytes);
        if (fd >= 0) close(fd);
        LEAVE(CU_E_OUT_OF_MEMORY);
    }
    piece->fd = fd;
    c->used += bytes;
    fake_counts->allocated++;
    *memory = (cu_address)(uintptr_t)p;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemFree_v2(cu_address memory) {
    ENTER(MemFree);
    struct piece *p = find(DEVICE, (void *)(uintptr_t)memory);
    if (!p) LEAVE(CU_E_INVALID_VALUE);
    munmap(p->base, p->bytes);
    close(p->fd);
    p->owner->used -= p->bytes;
    p->kind = NOTHING;
    fake_counts->allocated--;
    LEAVE(CU_OK);
}

/* ---- host memory ------------------------------------------------------------------------------------- */

static bool overlaps(const void *at, size_t bytes) {
    const uint8_t *p = at;
    for (int i = 0; i < MAX_PIECES; i++)
        if ((pieces[i].kind == REGISTERED || pieces[i].kind == HOST) &&
            p < pieces[i].base + pieces[i].bytes && pieces[i].base < p + bytes)
            return true;
    return false;
}

/* Whether every page of the range is mapped, and may be written if that is asked. */
static bool is_mapped(const void *at, size_t bytes, bool writable) {
    uintptr_t want = (uintptr_t)at, end = want + bytes;
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512], mode[8];
    unsigned long from, to;
    while (f && want < end && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && from <= want && want < to) {
            if (writable && mode[1] != 'w') break;
            want = to;
        }
    if (f) fclose(f);
    return want >= end;
}

FAKE_API cu_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    ENTER(MemHostRegister);
    cu_result why;
    context *c = fake_current(&why);
    if (why == CU_OK) why = fake_unsafe();
    if (why != CU_OK) LEAVE(why);
    bool read_only = (flags & CU_REGISTER_READ_ONLY) != 0;
    if (!memory || bytes == 0) LEAVE(CU_E_INVALID_VALUE);
    if (read_only && !fake_settings.read_only) LEAVE(CU_E_NOT_SUPPORTED);
    if (overlaps(memory, bytes)) LEAVE(CU_E_ALREADY_REGISTERED);
    if (!is_mapped(memory, bytes, !read_only)) LEAVE(CU_E_INVALID_VALUE);
    if (!add(REGISTERED, memory, bytes, c)) LEAVE(CU_E_OUT_OF_MEMORY);
    fake_counts->registered++;
    fake_counts->registrations++;
    fake_counts->read_only += read_only;
    fake_counts->registered_bytes += bytes;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemHostUnregister(void *memory) {
    ENTER(MemHostUnregister);
    cu_result why;
    if (!fake_current(&why)) LEAVE(why);
    struct piece *p = find(REGISTERED, memory);
    if (!p) LEAVE(CU_E_NOT_REGISTERED);
    if (!is_mapped(p->base, p->bytes, false)) LEAVE(CU_E_INVALID_VALUE); /* it stays counted */
    fake_counts->registered--;
    fake_counts->registered_bytes -= p->bytes;
    p->kind = NOTHING;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    ENTER(MemHostAlloc);
    (void)flags;
    cu_result why;
    context *c = fake_current(&why);
    if (why == CU_OK) why = fake_unsafe();
    if (why != CU_OK) LEAVE(why);
    void *p = bytes == 0 ? MAP_FAILED
                         : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) LEAVE(bytes == 0 ? CU_E_INVALID_VALUE : CU_E_OUT_OF_MEMORY);
    if (!add(HOST, p, bytes, c)) {
        munmap(p, bytes);
        LEAVE(CU_E_OUT_OF_MEMORY);
    }
    fake_counts->host_allocated++;
    *memory = p;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemFreeHost(void *memory) {
    ENTER(MemFreeHost);
    struct piece *p = find(HOST, memory);
    if (!p) LEAVE(CU_E_INVALID_VALUE);
    munmap(p->base, p->bytes);
    p->kind = NOTHING;
    fake_counts->host_allocated--;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuMemHostGetDevicePointer_v2(cu_address *out, void *memory, unsigned flags) {
    ENTER(MemHostGetDevicePointer);
    (void)flags;
    if (!fake_is_pinned(memory, 1)) LEAVE(CU_E_INVALID_VALUE);
    *out = (cu_address)(uintptr_t)memory;
    LEAVE(CU_OK);
}

/* ---- memory for other processes ---------------------------------------------------------------------- */

FAKE_API cu_result cuIpcGetMemHandle(cu_handle *handle, cu_address memory) {
    ENTER(IpcGetMemHandle);
    struct piece *p = find(DEVICE, (void *)(uintptr_t)memory);
    struct stat st;
    if (!p || fstat(p->fd, &st) != 0) LEAVE(CU_E_INVALID_VALUE);
    if (p->bytes % CUDA_SHAREABLE != 0) LEAVE(CU_E_INVALID_VALUE); /* it would show other memory, too */
    exported e = {MAGIC, getpid(), p->fd, p->owner->device | fake_settings.part << 8, p->bytes, st.st_ino};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &e, sizeof e);
    LEAVE(CU_OK);
}

static int open_exported(const exported *e) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", e->pid, e->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_ino != e->inode)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

FAKE_API cu_result cuIpcOpenMemHandle_v2(cu_address *memory, cu_handle handle, unsigned flags) {
    ENTER(IpcOpenMemHandle);
    cu_result why;
    context *c = fake_current(&why);
    exported e;
    memcpy(&e, &handle, sizeof e);
    if (why == CU_OK) why = fake_unsafe();
    if (why != CU_OK) LEAVE(why);
    if (flags != CU_IPC_LAZY_PEER_ACCESS) LEAVE(CU_E_INVALID_VALUE); /* it must be given */
    if (e.magic != MAGIC) LEAVE(CU_E_INVALID_HANDLE);
    if (e.pid == getpid() || e.device != (c->device | fake_settings.part << 8)) LEAVE(CU_E_INVALID_CONTEXT);
    for (int i = 0; i < MAX_PIECES; i++) {
        if (pieces[i].kind != IMPORTED || memcmp(&pieces[i].handle, &handle, sizeof handle) != 0) continue;
        if (pieces[i].owner != c) LEAVE(CU_E_INVALID_CONTEXT); /* one context of a process */
        pieces[i].refs++;
        *memory = (cu_address)(uintptr_t)pieces[i].base;
        LEAVE(CU_OK);
    }
    int fd = open_exported(&e);
    if (fd < 0) LEAVE(CU_E_INVALID_HANDLE);
    void *p = mmap(NULL, e.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    struct piece *piece = p == MAP_FAILED ? NULL : add(IMPORTED, p, e.bytes, c);
    if (!piece) LEAVE(CU_E_MAP_FAILED);
    piece->handle = handle;
    piece->refs = 1;
    fake_counts->imports++;
    *memory = (cu_address)(uintptr_t)p;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuIpcCloseMemHandle(cu_address memory) {
    ENTER(IpcCloseMemHandle);
    struct piece *p = find(IMPORTED, (void *)(uintptr_t)memory);
    if (!p) LEAVE(CU_E_INVALID_VALUE);
    if (--p->refs > 0) LEAVE(CU_OK);
    munmap(p->base, p->bytes);
    p->kind = NOTHING;
    fake_counts->imports--;
    LEAVE(CU_OK);
}
