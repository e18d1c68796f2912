/* device.c - start, devices, contexts, errors, and calls that fail on request. */
#include "counters.h"
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 16
#define MAX_CALLS 96

enum { TEXTURE_ALIGNMENT = 14 }; /* an attribute that FFmpeg asks for */

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
settings fake_settings;
static fake_stats own_counts;
fake_stats *fake_counts = &own_counts;

static bool started, ended;
static pid_t starter; /* a process that was forked since has no driver */
static context contexts[FAKE_CONTEXTS];
static _Thread_local context *stack[DEPTH];
static _Thread_local int depth;

static struct {
    char call[32];
    int n;
} seen[MAX_CALLS]; /* calls since the last reset */

/* ---- settings ---------------------------------------------------------------------------------- */

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void copy_text(char *to, size_t bytes, const char *name) {
    const char *text = getenv(name);
    snprintf(to, bytes, "%s", text ? text : "");
}

static void map_counts(void) {
    if (fake_counts != &own_counts) return;
    void *p = counters_of("FAKE_CUDA_STATS", sizeof own_counts);
    if (p) fake_counts = p;
}

static void read_settings(void) {
    settings s = {.devices = (int)number("FAKE_CUDA_DEVICES", 1),
                  .version = (int)number("FAKE_CUDA_VERSION", 12040),
                  .part = (int)number("FAKE_CUDA_PART", 0),
                  .latency_us = (int)number("FAKE_CUDA_LATENCY_US", 0),
                  .read_only = number("FAKE_CUDA_READ_ONLY", 1) != 0,
                  .memory = number("FAKE_CUDA_MEMORY", 1ull << 30)};
    copy_text(s.gate, sizeof s.gate, "FAKE_CUDA_GATE");
    copy_text(s.fault, sizeof s.fault, "FAKE_CUDA_FAULT");
    if (s.devices > FAKE_DEVICES) s.devices = FAKE_DEVICES;
    fake_settings = s;
    memset(seen, 0, sizeof seen);
}

void fake_cuda_reset(void) {
    pthread_mutex_lock(&fake_lock);
    bool lost = false;
    for (int i = 0; i < FAKE_CONTEXTS; i++) lost = lost || contexts[i].lost;
    while (lost && fake_counts->in_flight > 0) fake_pass(); /* its streams drop what was in them */
    read_settings();
    started = false;
    for (int i = 0; i < FAKE_CONTEXTS; i++) contexts[i].lost = CU_OK;
    pthread_mutex_unlock(&fake_lock);
}

fake_stats *fake_cuda_stats(void) { return fake_counts; }

void fake_cuda_end(void) {
    pthread_mutex_lock(&fake_lock);
    ended = true;
    for (int i = 0; i < FAKE_CONTEXTS; i++) contexts[i].lost = CU_E_DEINITIALIZED;
    pthread_mutex_unlock(&fake_lock);
}

/* ---- calls that fail ---------------------------------------------------------------------------- */

static int count_call(const char *call) {
    int i = 0;
    while (i < MAX_CALLS - 1 && seen[i].call[0] && strcmp(seen[i].call, call) != 0) i++;
    snprintf(seen[i].call, sizeof seen[i].call, "%s", call);
    return ++seen[i].n;
}

/* What FAKE_CUDA_FAULT has for the nth call of this name. */
static cu_result injected(const char *call, int nth) {
    char name[64], sticky[16];
    for (const char *p = fake_settings.fault; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        int at = 0, result = 0;
        sticky[0] = 0;
        if (sscanf(p, "%63[^:,]:%d:%d:%15[a-z]", name, &at, &result, sticky) < 3) continue;
        if (strcmp(name, call) != 0 || at != nth) continue;
        if (strcmp(sticky, "sticky") == 0)
            for (int i = 0; i < FAKE_CONTEXTS; i++) contexts[i].lost = result;
        return result;
    }
    return CU_OK;
}

/* What is done to memory, streams, events and modules is done in a context. */
static bool needs_context(const char *call) {
    static const char *const kinds[] = {"Mem", "Stream", "Event", "Ipc", "Module", "Launch"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(call, kinds[i], strlen(kinds[i])) == 0) return true;
    return false;
}

cu_result fake_enter(const char *call) {
    cu_result why = CU_OK;
    if (fake_in_host_function) return CU_E_NOT_PERMITTED;
    pthread_mutex_lock(&fake_lock);
    if (ended) return fake_leave(CU_E_DEINITIALIZED);
    if (started && starter != getpid()) return fake_leave(CU_E_NOT_INITIALIZED);
    if (started && needs_context(call) && !fake_current(&why)) return fake_leave(why);
    if (!started && strcmp(call, "Init") != 0) return fake_leave(CU_E_NOT_INITIALIZED);
    cu_result r = injected(call, count_call(call));
    return r == CU_OK ? CU_OK : fake_leave(r);
}

cu_result fake_leave(cu_result result) {
    pthread_mutex_unlock(&fake_lock);
    return result;
}

cu_result fake_cuda_fault(const char *call) {
    cu_result r = fake_enter(call);
    return r == CU_OK ? fake_leave(r) : r;
}

/* ---- start, version, errors ------------------------------------------------------------------------ */

FAKE_API cu_result cuInit(unsigned flags) {
    pthread_mutex_lock(&fake_lock);
    if (started && starter != getpid()) return fake_leave(CU_E_NOT_INITIALIZED);
    if (!started) {
        read_settings();
        map_counts();
        started = true;
        starter = getpid();
    }
    cu_result r = injected("Init", count_call("Init"));
    if (r == CU_OK && fake_settings.devices == 0) r = CU_E_NO_DEVICE;
    if (r != CU_OK) started = false;
    return fake_leave(flags != 0 ? CU_E_INVALID_VALUE : r);
}

FAKE_API cu_result cuDriverGetVersion(int *version) {
    pthread_mutex_lock(&fake_lock); /* may come before cuInit */
    if (!started) read_settings();
    *version = fake_settings.version;
    return fake_leave(injected("DriverGetVersion", 1));
}

static const struct {
    cu_result result;
    const char *name, *text;
} errors[] = {
    {CU_OK, "CUDA_SUCCESS", "no error"},
    {CU_E_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CU_E_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CU_E_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CU_E_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {CU_E_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CU_E_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CU_E_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CU_E_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CU_E_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CU_E_NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CU_E_NO_JIT_COMPILER, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {CU_E_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CU_E_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CU_E_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CU_E_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CU_E_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "host memory is already registered"},
    {CU_E_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "host memory is not registered"},
    {CU_E_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CU_E_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CU_E_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {CU_E_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CU_E_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CU_E_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
};

static int place(cu_result error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].result == error) return (int)i;
    return -1;
}

FAKE_API cu_result cuGetErrorName(cu_result error, const char **name) {
    int i = place(error);
    *name = i < 0 ? NULL : errors[i].name;
    return i < 0 ? CU_E_INVALID_VALUE : CU_OK;
}

FAKE_API cu_result cuGetErrorString(cu_result error, const char **text) {
    int i = place(error);
    *text = i < 0 ? NULL : errors[i].text;
    return i < 0 ? CU_E_INVALID_VALUE : CU_OK;
}

/* ---- devices -------------------------------------------------------------------------------------- */

static bool is_device(cu_device d) { return d >= 0 && d < fake_settings.devices; }

FAKE_API cu_result cuDeviceGetCount(int *count) {
    ENTER(DeviceGetCount);
    *count = fake_settings.devices;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDeviceGet(cu_device *device, int ordinal) {
    ENTER(DeviceGet);
    if (!is_device(ordinal)) LEAVE(CU_E_INVALID_DEVICE);
    *device = ordinal;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDeviceGetName(char *name, int bytes, cu_device device) {
    ENTER(DeviceGetName);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDeviceGetUuid(cu_uuid *uuid, cu_device device) {
    ENTER(DeviceGetUuid);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    memset(uuid->bytes, 0xf0 + device, sizeof uuid->bytes);
    LEAVE(CU_OK);
}

/* A part of a device has the uuid of the whole by the call above. */
FAKE_API cu_result cuDeviceGetUuid_v2(cu_uuid *uuid, cu_device device) {
    ENTER(DeviceGetUuid);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    memset(uuid->bytes, 0xf0 + device, sizeof uuid->bytes);
    uuid->bytes[0] = (uint8_t)(uuid->bytes[0] ^ fake_settings.part);
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device) {
    ENTER(DeviceGetAttribute);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    switch (attribute) {
    case CU_ATTR_MAJOR: *value = 7; break;
    case CU_ATTR_MINOR: *value = 0; break;
    case CU_ATTR_COMPUTE_MODE: *value = (int)number("FAKE_CUDA_COMPUTE_MODE", CU_COMPUTE_DEFAULT); break;
    case CU_ATTR_MPS: *value = (int)number("FAKE_CUDA_MPS", 0); break;
    case CU_ATTR_UNIFIED_ADDRESSING:
    case CU_ATTR_HOST_REGISTER: *value = 1; break;
    case CU_ATTR_READ_ONLY_REGISTER: *value = fake_settings.read_only; break;
    case TEXTURE_ALIGNMENT: *value = 512; break;
    default: LEAVE(CU_E_INVALID_VALUE);
    }
    LEAVE(CU_OK);
}

/* ---- contexts ------------------------------------------------------------------------------------- */

context *fake_current(cu_result *why) {
    context *c = depth > 0 ? stack[depth - 1] : NULL;
    *why = !c || c->refs == 0 ? CU_E_INVALID_CONTEXT : c->lost;
    return c && c->refs > 0 ? c : NULL;
}

FAKE_API cu_result cuDevicePrimaryCtxRetain(cu_context *out, cu_device device) {
    ENTER(DevicePrimaryCtxRetain);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    context *c = &contexts[device];
    if (c->lost) LEAVE(c->lost);
    if (c->refs++ == 0) fake_counts->contexts++;
    c->device = device;
    *out = c;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDevicePrimaryCtxSetFlags_v2(cu_device device, unsigned flags) {
    ENTER(DevicePrimaryCtxSetFlags);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    if (flags & ~(unsigned)CU_CTX_BLOCKING_SYNC) LEAVE(CU_E_INVALID_VALUE);
    contexts[device].flags = flags;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuDevicePrimaryCtxRelease_v2(cu_device device) {
    ENTER(DevicePrimaryCtxRelease);
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    context *c = &contexts[device];
    if (c->refs == 0) LEAVE(CU_E_INVALID_CONTEXT);
    if (--c->refs > 0) LEAVE(CU_OK);
    fake_counts->contexts--;
    fake_end_streams(c);
    LEAVE(CU_OK);
}

static bool is_context(const context *c) {
    return c >= contexts && c < contexts + FAKE_CONTEXTS && c->refs > 0;
}

/* Current from here on, as a driver's is. */
FAKE_API cu_result cuCtxCreate_v2(cu_context *out, unsigned flags, cu_device device) {
    ENTER(CtxCreate);
    (void)flags;
    if (!is_device(device)) LEAVE(CU_E_INVALID_DEVICE);
    context *c = contexts + FAKE_DEVICES;
    while (c < contexts + FAKE_CONTEXTS && c->refs > 0) c++;
    if (c == contexts + FAKE_CONTEXTS || depth == DEPTH) LEAVE(CU_E_OUT_OF_MEMORY);
    *c = (context){.device = device, .refs = 1};
    fake_counts->contexts++;
    fake_counts->opened++;
    *out = stack[depth++] = c;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxDestroy_v2(cu_context c) {
    ENTER(CtxDestroy);
    if (!is_context(c) || (context *)c < contexts + FAKE_DEVICES) LEAVE(CU_E_INVALID_CONTEXT);
    ((context *)c)->refs = 0;
    fake_counts->contexts--;
    fake_end_streams(c);
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxGetCurrent(cu_context *out) {
    ENTER(CtxGetCurrent);
    *out = depth > 0 ? stack[depth - 1] : NULL;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxSetCurrent(cu_context c) {
    ENTER(CtxSetCurrent);
    if (c && !is_context(c)) LEAVE(CU_E_INVALID_CONTEXT);
    if (depth == 0 && c) depth = 1;
    if (depth > 0) stack[depth - 1] = c;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxPushCurrent_v2(cu_context c) {
    ENTER(CtxPushCurrent);
    if (!is_context(c)) LEAVE(CU_E_INVALID_CONTEXT);
    if (depth == DEPTH) LEAVE(CU_E_INVALID_VALUE);
    stack[depth++] = c;
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxPopCurrent_v2(cu_context *out) {
    ENTER(CtxPopCurrent);
    if (depth == 0) LEAVE(CU_E_INVALID_CONTEXT);
    depth--;
    if (out) *out = stack[depth];
    LEAVE(CU_OK);
}

FAKE_API cu_result cuCtxGetDevice(cu_device *device) {
    ENTER(CtxGetDevice);
    cu_result why;
    context *c = fake_current(&why);
    if (!c) LEAVE(why);
    *device = c->device;
    LEAVE(CU_OK);
}
