/* test_gpu.c - see gpu.h; and what the fake itself must do for the tests to mean anything. */
#include "gpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

cuda_driver cu;
static char gate[64];
static const char *const names[] = {"FAKE_CUDA_DEVICES",   "FAKE_CUDA_MEMORY",     "FAKE_CUDA_VERSION",
                                    "FAKE_CUDA_READ_ONLY", "FAKE_CUDA_LATENCY_US", "FAKE_CUDA_FAULT",
                                    "FAKE_CUDA_STATS",     "FAKE_CUDA_PART"};

static void *symbol(const char *name) {
    void *found = dlsym(cu.library, name);
    if (!found) test_fail(__FILE__, __LINE__, name);
    return found;
}

static void apply(const char *settings) {
    char text[512], *rest = text;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    snprintf(text, sizeof text, "%s", settings);
    for (char *word; (word = strsep(&rest, " "));) {
        char *equals = strchr(word, '=');
        if (!equals) continue;
        *equals = 0;
        setenv(word, equals + 1, 1);
    }
}

void gpu_start(const char *settings) {
    char why[256];
    if (!cu.library && sp_cuda_load(&cu, why, sizeof why) != CUDA_LOADED) test_fail(__FILE__, __LINE__, why);
    snprintf(gate, sizeof gate, "/tmp/spdl-gate-%d", (int)getpid());
    gpu_open();
    apply(settings);
    setenv("FAKE_CUDA_GATE", gate, 1);
    ((void (*)(void))symbol("fake_cuda_reset"))();
    CHECK(cu.Init(0) == CU_OK);
}

void gpu_shut(void) {
    int fd = open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
}

void gpu_open(void) { unlink(gate); }

cu_stream gpu_begin(size_t bytes, cu_address *memory) {
    cu_context c;
    cu_stream stream;
    CHECK(cu.DevicePrimaryCtxRetain(&c, 0) == CU_OK && cu.CtxSetCurrent(c) == CU_OK);
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CU_OK);
    CHECK(cu.MemAlloc(memory, bytes) == CU_OK);
    return stream;
}

void gpu_end(cu_stream stream, cu_address memory) {
    gpu_open();
    cu.StreamSynchronize(stream);
    CHECK(cu.MemFree(memory) == CU_OK && cu.StreamDestroy(stream) == CU_OK);
    CHECK(cu.CtxSetCurrent(NULL) == CU_OK && cu.DevicePrimaryCtxRelease(0) == CU_OK);
    const fake_stats *n = gpu_stats();
    WAIT_UNTIL(n->streams == 0); /* their threads end by themselves */
    CHECK(n->contexts == 0 && n->registered == 0 && n->host_allocated == 0 && n->imports == 0 &&
          n->events == 0);
}

void gpu_capture(cu_stream stream, int mode) {
    CHECK(((cu_result(*)(cu_stream, int))symbol("cuStreamBeginCapture_v2"))(stream, mode) == CU_OK);
}

cu_result gpu_end_capture(cu_stream stream) {
    void *graph;
    return ((cu_result(*)(cu_stream, void **))symbol("cuStreamEndCapture"))(stream, &graph);
}

void gpu_deinit(void) { ((void (*)(void))symbol("fake_cuda_end"))(); }

const fake_stats *gpu_stats(void) { return ((fake_stats * (*)(void)) symbol("fake_cuda_stats"))(); }

bool gpu_alone(const char *test, const char *settings) {
    if (getenv("GPU_ALONE")) return true;
    pid_t child = fork();
    if (child == 0) {
        setenv("GPU_ALONE", "1", 1);
        apply(settings);
        execl("/proc/self/exe", "cuda-test", test, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

/* ---- the fake ---------------------------------------------------------------------------------------------- */

TEST(fake_copies_in_the_order_of_a_stream_and_not_before_its_gate_opens) {
    gpu_start("");
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    uint8_t *host;
    CHECK(cu.MemHostAlloc((void **)&host, 128, 0) == CU_OK);
    memset(host, 7, 64);
    gpu_shut();
    CHECK(cu.MemcpyHtoDAsync(memory, host, 64, stream) == CU_OK);
    CHECK(cu.MemcpyDtoHAsync(host + 64, memory, 64, stream) == CU_OK);
    CHECK(cu.StreamQuery(stream) == CU_E_NOT_READY && host[64] == 0 && gpu_stats()->in_flight == 2);
    memset(host, 9, 64); /* a copy from pinned memory reads when it runs */
    gpu_open();
    CHECK(cu.StreamSynchronize(stream) == CU_OK);
    CHECK(host[64] == 9 && host[127] == 9 && gpu_stats()->in_flight == 0);
    CHECK(cu.MemFreeHost(host) == CU_OK);
    gpu_end(stream, memory);
}

TEST(fake_stages_what_is_not_pinned_and_counts_it) {
    gpu_start("");
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    uint64_t before = gpu_stats()->pageable;
    uint8_t from[64], to[64] = {0};
    memset(from, 5, sizeof from);
    gpu_shut();
    CHECK(cu.MemcpyHtoDAsync(memory, from, 64, stream) == CU_OK);
    memset(from, 6, sizeof from);
    CHECK(cu.MemcpyDtoHAsync(to, memory, 64, stream) == CU_OK);
    gpu_open();
    CHECK(cu.StreamSynchronize(stream) == CU_OK);
    CHECK(to[0] == 5 && gpu_stats()->pageable == before + 2);
    gpu_end(stream, memory);
}

TEST(fake_refuses_what_is_a_mistake) {
    gpu_start("FAKE_CUDA_MEMORY=1000");
    cu_address memory, more;
    cu_stream stream = gpu_begin(600, &memory);
    static uint8_t page[4096];
    cu_handle handle;
    CHECK(cu.MemAlloc(&more, 401) == CU_E_OUT_OF_MEMORY);
    CHECK(cu.MemHostRegister(page, sizeof page, 0) == CU_OK);
    CHECK(cu.MemHostRegister(page + 1000, 10, 0) == CU_E_ALREADY_REGISTERED);
    CHECK(cu.MemHostUnregister(page) == CU_OK && cu.MemHostUnregister(page) == CU_E_NOT_REGISTERED);
    CHECK(cu.MemcpyHtoDAsync(memory + 1, page, 600, stream) == CU_E_INVALID_VALUE);
    CHECK(cu.IpcGetMemHandle(&handle, memory) == CU_E_INVALID_VALUE); /* its piece has other memory */
    CHECK(cu.StreamQuery((cu_stream)page) == CU_E_INVALID_HANDLE &&
          cu.EventQuery(page) == CU_E_INVALID_HANDLE);
    cu_context context;
    CHECK(cu.CtxGetCurrent(&context) == CU_OK && cu.CtxSetCurrent(NULL) == CU_OK);
    CHECK(cu.StreamQuery(stream) == CU_E_INVALID_CONTEXT && cu.MemFree(memory) == CU_E_INVALID_CONTEXT);
    CHECK(cu.CtxSetCurrent(context) == CU_OK);
    gpu_end(stream, memory);
}

TEST(fake_makes_a_capture_void_when_anybody_asks_an_event_and_does_not_say_that_it_may) {
    gpu_start("");
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    cu_event event;
    int mode = CU_CAPTURE_RELAXED, status;
    CHECK(cu.EventCreate(&event, CU_EVENT_DISABLE_TIMING) == CU_OK);
    gpu_capture(stream, CU_CAPTURE_GLOBAL);
    CHECK(cu.StreamIsCapturing(stream, &status) == CU_OK && status == CU_CAPTURE_ACTIVE);
    CHECK(cu.ThreadExchangeStreamCaptureMode(&mode) == CU_OK && mode == CU_CAPTURE_GLOBAL);
    CHECK(cu.EventQuery(event) == CU_OK);
    CHECK(cu.ThreadExchangeStreamCaptureMode(&mode) == CU_OK && mode == CU_CAPTURE_RELAXED);
    CHECK(gpu_end_capture(stream) == CU_OK);
    gpu_capture(stream, CU_CAPTURE_GLOBAL);
    CHECK(cu.EventQuery(event) == CU_E_CAPTURE_UNSUPPORTED);
    CHECK(gpu_end_capture(stream) == CU_E_CAPTURE_INVALIDATED);
    gpu_capture(stream, CU_CAPTURE_THREAD_LOCAL);
    CHECK(cu.EventRecord(event, stream) == CU_OK && cu.EventQuery(event) == CU_E_CAPTURED_EVENT);
    CHECK(cu.CtxSynchronize() == CU_E_CAPTURE_UNSUPPORTED);
    CHECK(gpu_end_capture(stream) == CU_E_CAPTURE_INVALIDATED);
    CHECK(cu.EventDestroy(event) == CU_OK);
    gpu_end(stream, memory);
}

TEST(fake_opens_a_handle_in_another_process_only_with_its_flag) {
    gpu_start("");
    cu_address memory, more;
    cu_stream stream = gpu_begin(CUDA_SHAREABLE, &memory);
    cu_handle handle;
    CHECK(cu.IpcGetMemHandle(&handle, memory) == CU_OK);
    CHECK(cu.IpcOpenMemHandle(&more, handle, CU_IPC_LAZY_PEER_ACCESS) == CU_E_INVALID_CONTEXT);
    CHECK(cu.IpcOpenMemHandle(&more, handle, 0) == CU_E_INVALID_VALUE);
    gpu_end(stream, memory);
}

static cu_result from_host_function;
static void call_the_driver(void *data) { from_host_function = cu.StreamQuery(data); }

TEST(fake_runs_host_functions_in_order_and_forbids_them_the_driver) {
    gpu_start("");
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    CHECK(cu.LaunchHostFunc(stream, call_the_driver, stream) == CU_OK);
    CHECK(cu.StreamSynchronize(stream) == CU_OK && from_host_function == CU_E_NOT_PERMITTED);
    gpu_end(stream, memory);
}

TEST(fake_runs_a_kernel_by_the_name_in_its_text) {
    gpu_start("FAKE_CUDA_DEVICES=2");
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    cu_module module;
    cu_function f;
    uint32_t n = 10, value = 3;
    void *params[] = {&memory, &n, &value};
    uint8_t to[11];
    CHECK(cu.ModuleLoadData(&module, "no such text") == CU_E_INVALID_IMAGE);
    CHECK(cu.ModuleLoadData(&module, ".version 6.0\n.visible .entry fill(.param .u64 to)") == CU_OK);
    CHECK(cu.ModuleGetFunction(&f, module, "empty") == CU_E_NOT_FOUND &&
          cu.ModuleGetFunction(&f, module, "fill") == CU_OK);
    CHECK(cu.LaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL) == CU_OK);
    CHECK(cu.MemcpyDtoHAsync(to, memory, 11, stream) == CU_OK && cu.StreamSynchronize(stream) == CU_OK);
    CHECK(to[0] == 3 && to[9] == 3 && to[10] == 0);
    cu_context first, second;
    CHECK(cu.CtxGetCurrent(&first) == CU_OK && cu.DevicePrimaryCtxRetain(&second, 1) == CU_OK);
    CHECK(cu.CtxSetCurrent(second) ==
          CU_OK); /* a kernel is launched in the context of its stream, a copy anywhere */
    CHECK(cu.LaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL) == CU_E_INVALID_HANDLE);
    CHECK(cu.MemcpyDtoHAsync(to, memory, 11, stream) == CU_OK && cu.StreamSynchronize(stream) == CU_OK);
    CHECK(cu.CtxSetCurrent(first) == CU_OK && cu.DevicePrimaryCtxRelease(1) == CU_OK);
    CHECK(cu.ModuleUnload(module) == CU_OK);
    gpu_end(stream, memory);
}
