/* test_pool.c - tensors in device memory that another process exports. */
#include "exporter.h"
#include "gpu.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define SLOTS 3
#define SLOT_BYTES 512

/* cuda-exporter, running. */
typedef struct exporter {
    pid_t pid;
    int in, out;
    exported_pool pool;
    char gate[64]; /* its streams' */
} exporter;

static exporter start_exporter(void) {
    exporter e = {0};
    int in[2], out[2];
    char program[256];
    snprintf(program, sizeof program, "%s/cuda/exporter", test_build);
    snprintf(e.gate, sizeof e.gate, "/tmp/spdl-exporter-gate-%d", (int)getpid());
    unlink(e.gate);
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    e.pid = fork();
    if (e.pid == 0) {
        dup2(in[0], 0), dup2(out[1], 1);
        close(in[1]), close(out[0]);
        setenv("FAKE_CUDA_GATE", e.gate, 1), unsetenv("FAKE_CUDA_FAULT");
        execl(program, "cuda-exporter", "3", "512", (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]);
    e.in = in[1], e.out = out[0];
    CHECK(e.pid > 0 && read(e.out, &e.pool, sizeof e.pool) == sizeof e.pool);
    return e;
}

static void fill(const exporter *e, uint8_t k) {
    const uint8_t command[2] = {'f', k};
    char answer;
    CHECK(write(e->in, command, 2) == 2 && read(e->out, &answer, 1) == 1);
}

static void stop_exporter(exporter *e, int with) {
    int status;
    unlink(e->gate);
    if (with)
        kill(e->pid, with);
    else
        CHECK(write(e->in, "q", 2) == 2);
    CHECK(waitpid(e->pid, &status, 0) == e->pid && (with || status == 0));
    close(e->in), close(e->out);
}

/* What an engine writes when an uploader has said what it exports. */
static void announce(standin *s, const exporter *e, uint64_t generation) {
    for (uint32_t i = 1; i <= 1 + SLOTS; i++) {
        spdl_l_pool *p = standin_pool(s, i);
        p->kind = i == 1 ? SPDL_L_POOL_CUDA_IPC : SPDL_L_POOL_CUDA_EVENT;
        p->device_type = 2, p->bytes = SLOTS * SLOT_BYTES, p->slot_bytes = SLOT_BYTES;
        memcpy(p->uuid, &e->pool.uuid, sizeof p->uuid);
        memcpy(p->handle, i == 1 ? &e->pool.memory : &e->pool.events[i - 2], sizeof p->handle);
        __atomic_store_n(&p->generation, generation, __ATOMIC_RELEASE);
    }
    s->generation = generation;
}

static void make_void(standin *s) {
    for (uint32_t i = 1; i <= 1 + SLOTS; i++)
        __atomic_store_n(&standin_pool(s, i)->generation, 0, __ATOMIC_RELEASE);
}

static standin *make_ring(void) {
    standin_opts o = STANDIN_OPTS;
    o.device_slots = SLOTS;
    return make_served(o);
}

/* A driver with these settings, a ring, and the exporter that has its device memory. */
static exporter export_ring(const char *settings, standin **s) {
    gpu_start(settings);
    exporter e = start_exporter();
    *s = make_ring();
    announce(*s, &e, 1);
    return e;
}

static void end_ring(exporter *e, standin *s) {
    stop_exporter(e, 0);
    standin_free(s);
}

static uint32_t imports(spdl_reader *r) {
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_get_pin_info(r, &info), SPDL_OK);
    return info.imports;
}

/* Asking for the device tensor fails so, and the host tensor is good. */
static void check_host_only(spdl_reader *r, const spdl_batch *b, int want, const char *text) {
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, b, STANDIN_DEVICE, &t), want);
    if (!strstr(spdl_last_error(), text)) test_fail(__FILE__, __LINE__, spdl_last_error());
    CHECK_STATUS(spdl_stream_wait(r, b, NULL), want);
    CHECK(standin_image_is(tensor_of(r, b, STANDIN_IMAGE).data, b->rows, b->ticket));
}

/* Copy the device tensor back, in a stream that first waits for it, and see the exporter's pattern. */
static void check_content(spdl_reader *r, const spdl_batch *b, cu_stream stream, uint8_t k) {
    uint8_t back[4 * STANDIN_ROW_BYTES];
    spdl_tensor t = tensor_of(r, b, STANDIN_DEVICE);
    CHECK(t.device_type == 2 && t.device_id == 0 && t.bytes == sizeof back &&
          t.shape[1] == STANDIN_ROW_BYTES);
    CHECK_STATUS(spdl_stream_wait(r, b, stream), SPDL_OK);
    CHECK(cu.MemcpyDtoHAsync(back, (cu_address)(uintptr_t)t.data, t.bytes, stream) == CU_OK);
    CHECK(cu.StreamSynchronize(stream) == CU_OK);
    for (size_t i = 0; i < sizeof back; i++) CHECK(back[i] == k + 1);
}

TEST(device_tensors_are_the_uploaders_memory_imported_once) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 2, 0);
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    spdl_tensor schema = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_schema_tensor(r, STANDIN_DEVICE, &schema), SPDL_OK);
    CHECK(strcmp(schema.name, "image@cuda") == 0 && schema.device_type == 2 && !schema.data);
    for (int i = 0; i < 8; i++) {
        int slot = standin_publish(s, 0, false);
        fill(&e, (uint8_t)(slot % SLOTS));
        spdl_batch b = next_batch(r);
        check_content(r, &b, stream, (uint8_t)(slot % SLOTS));
        CHECK(standin_image_is(tensor_of(r, &b, STANDIN_IMAGE).data, b.rows, b.ticket));
        CHECK_STATUS(i % 2 ? spdl_release(r, &b) : spdl_release_after(r, &b, SPDL_AFTER_STREAM, stream),
                     SPDL_OK);
    }
    CHECK(imports(r) == 1 && gpu_stats()->imports == 1);
    spdl_detach(r);
    CHECK(gpu_stats()->imports == 0 && gpu_stats()->contexts == 1); /* the test's own */
    gpu_end(stream, memory);
    end_ring(&e, s);
}

TEST(stream_waits_for_the_copy_of_the_uploader) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 1, 0);
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    FILE *gate = fopen(e.gate, "we");
    CHECK(gate && fclose(gate) == 0);
    standin_publish(s, 0, false);
    fill(&e, 0);
    spdl_batch b = next_batch(r);
    CHECK_STATUS(spdl_stream_wait(r, &b, stream), SPDL_OK);
    CHECK(cu.StreamQuery(stream) == CU_E_NOT_READY && gpu_stats()->waits > 0);
    unlink(e.gate);
    check_content(r, &b, stream, 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_stream_wait(r, &b, stream), SPDL_E_STALE);
    spdl_detach(r);
    gpu_end(stream, memory);
    end_ring(&e, s);
}

TEST(device_tensors_are_found_while_a_graph_is_captured_and_its_stream_waits_for_none) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 1, 0);
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    spdl_batch b = new_batch(s, r);
    gpu_capture(stream, CU_CAPTURE_GLOBAL);
    CHECK(tensor_of(r, &b, STANDIN_DEVICE).data); /* imported meanwhile */
    CHECK_STATUS(spdl_stream_wait(r, &b, stream), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "being captured into a graph; wait for the batch before the capture"));
    CHECK(gpu_end_capture(stream) == CU_OK);
    CHECK_STATUS(spdl_stream_wait(r, &b, stream), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    gpu_end(stream, memory);
    end_ring(&e, s);
}

TEST(death_of_the_uploader_is_a_named_error_and_host_tensors_stay) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 2, 0);
    standin_publish(s, 0, false), standin_publish(s, 0, false);
    spdl_batch a = next_batch(r), b = next_batch(r);
    CHECK(tensor_of(r, &a, STANDIN_DEVICE).data);
    stop_exporter(&e, SIGKILL);
    CHECK(tensor_of(r, &b, STANDIN_DEVICE).data); /* the engine has not noticed: the mapping is still ours */
    make_void(s);
    check_host_only(r, &a, SPDL_E_POOL_LOST, "the uploader that had its device memory died");
    check_host_only(r, &b, SPDL_E_POOL_LOST, "use the batch's host tensors");
    CHECK_STATUS(spdl_release(r, &a), SPDL_OK);
    CHECK(imports(r) == 1);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK(imports(r) == 0); /* the last lease that used it closed it */
    leave(s, r);
}

typedef struct {
    spdl_reader *r;
    spdl_batch b;
    bool through;
} cancelled;

static void *claim_while_cancelled(void *arg) {
    cancelled *c = arg;
    spdl_tensor t = SPDL_TENSOR_INIT;
    pthread_cancel(pthread_self()); /* takes place where there is a place for it */
    spdl_status claimed = spdl_acquire(c->r, 0, &c->b);
    spdl_status found = claimed == SPDL_OK ? spdl_batch_tensor(c->r, &c->b, STANDIN_DEVICE, &t) : claimed;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    c->through = claimed == SPDL_OK && found == SPDL_OK && t.data;
    return NULL;
}

TEST(claiming_and_finding_a_device_tensor_is_no_place_to_be_cancelled) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch first = new_batch(s, r);
    CHECK(tensor_of(r, &first, STANDIN_DEVICE).data); /* imported: that is the driver's affair */
    CHECK_STATUS(spdl_release(r, &first), SPDL_OK);
    standin_publish(s, 0, false);
    cancelled c = {r, SPDL_BATCH_INIT, false};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, claim_while_cancelled, &c) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(c.through);
    CHECK_STATUS(spdl_release(r, &c.b), SPDL_OK);
    leave(s, r);
    stop_exporter(&e, 0);
}

TEST(next_uploader_is_imported_beside_the_leases_of_the_first) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 2, 0);
    cu_address memory;
    cu_stream stream = gpu_begin(64, &memory);
    spdl_batch a = new_batch(s, r);
    CHECK(tensor_of(r, &a, STANDIN_DEVICE).data);
    make_void(s);
    stop_exporter(&e, SIGKILL);
    e = start_exporter();
    announce(s, &e, 2);
    int slot = standin_publish(s, 0, false);
    fill(&e, (uint8_t)slot);
    spdl_batch b = next_batch(r);
    check_content(r, &b, stream, (uint8_t)slot);
    check_host_only(r, &a, SPDL_E_POOL_LOST, "died");
    CHECK(imports(r) == 2);
    CHECK_STATUS(spdl_release(r, &a), SPDL_OK);
    CHECK(imports(r) == 1);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    gpu_end(stream, memory);
    end_ring(&e, s);
}

TEST(batch_that_was_never_uploaded_is_in_host_memory_only) {
    gpu_start("");
    standin *s = make_ring();
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    check_host_only(r, &b, SPDL_E_POOL_LOST, "in host memory only");
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

/* Publish a batch on the pool as it was forged, and have its device tensor refused. */
static void check_forged(standin *s, int want, const char *text) {
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    check_host_only(r, &b, want, text);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    CHECK(gpu_stats()->imports == 0 && gpu_stats()->contexts == 0);
}

TEST(memory_that_the_driver_does_not_share_is_a_device_error_with_the_likely_cause) {
    standin *s;
    exporter e = export_ring("FAKE_CUDA_FAULT=IpcOpenMemHandle:1:801,IpcOpenMemHandle:2:801", &s);
    check_forged(s, SPDL_E_DEVICE, "is this process in another container");
    end_ring(&e, s);
}

static void *make_void_soon(void *s) {
    usleep(50000);
    make_void(s);
    return NULL;
}

TEST(memory_of_an_uploader_that_died_this_moment_is_lost_and_no_device_error) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    pthread_t engine;
    stop_exporter(&e, SIGKILL);
    CHECK(pthread_create(&engine, NULL, make_void_soon, s) == 0);
    check_host_only(r, &b, SPDL_E_POOL_LOST, "the uploader that had its device memory died");
    CHECK(pthread_join(engine, NULL) == 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(device_that_this_process_does_not_see_is_named) {
    gpu_start("");
    exporter e = start_exporter();
    standin *s = make_ring();
    e.pool.uuid.bytes[3] ^= 1;
    announce(s, &e, 1);
    check_forged(s, SPDL_E_NOT_FOUND, "is none of the 1 that this process sees");
    memset(&e.pool.uuid, 0, sizeof e.pool.uuid);
    announce(s, &e, 1);
    for (uint32_t i = 1; i <= SLOTS; i++) standin_pool(s, i)->device_id = 5;
    check_forged(s, SPDL_E_NOT_FOUND, "device 5 is none of the 1");
    end_ring(&e, s);
}

TEST(another_part_of_the_device_is_another_device) {
    gpu_start("FAKE_CUDA_PART=1");
    exporter e = start_exporter();
    standin *s = make_ring();
    announce(s, &e, 1);
    gpu_start("FAKE_CUDA_PART=2");
    check_forged(s, SPDL_E_NOT_FOUND, "is none of the 1 that this process sees");
    end_ring(&e, s);
}

TEST(damaged_pool_records_and_descriptors_are_refused) {
    standin *s;
    exporter e = export_ring("", &s);
    standin_pool(s, 1)->kind = SPDL_L_POOL_VMM_FD;
    check_forged(s, SPDL_E_UNSUPPORTED, "of kind 3");
    announce(s, &e, 1);
    standin_pool(s, 1)->bytes = 100 * SLOT_BYTES;
    check_forged(s, SPDL_E_FORMAT, "number of device slots");
    announce(s, &e, 1);
    standin_pool(s, 1)->slot_bytes = 0;
    check_forged(s, SPDL_E_UNSUPPORTED, "pool 1");
    end_ring(&e, s);
}

TEST(descriptor_outside_the_pool_is_refused) {
    standin *s;
    exporter e = export_ring("", &s);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_tensor t = SPDL_TENSOR_INIT;
    for (int i = 0; i < 4; i++) {
        int slot = standin_publish(s, 0, false);
        spdl_l_desc *d = standin_desc(s, (uint32_t)slot);
        spdl_l_desc_tensor *dt = standin_desc_tensor(s, (uint32_t)slot, STANDIN_DEVICE);
        if (i == 0) d->pool = 9;
        if (i == 1) d->fence[0] = SLOTS;
        if (i == 2) dt->bytes = SLOT_BYTES;
        if (i == 3) dt->shape[0] = 1000;
        spdl_batch b = next_batch(r);
        CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_DEVICE, &t), SPDL_E_FORMAT);
        CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    }
    spdl_detach(r);
    end_ring(&e, s);
}

TEST(schema_whose_tensor_is_larger_than_a_device_slot_is_refused) {
    gpu_start("");
    exporter e = start_exporter();
    standin_opts o = STANDIN_OPTS;
    o.device_slots = SLOTS;
    standin *s = standin_make(o);
    standin_tensor(s, STANDIN_DEVICE)->offset = 192;
    standin_serve(s, -1);
    announce(s, &e, 1);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_DEVICE, &t), SPDL_E_FORMAT);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    end_ring(&e, s);
}

TEST(without_a_driver_host_tensors_of_a_device_ring_are_good) {
    if (!gpu_alone("without_a_driver_host_tensors", "SPDL_CUDA_LIBRARY=/nowhere/libcuda.so.1")) return;
    standin *s = make_ring();
    spdl_l_pool *p = standin_pool(s, 1);
    p->kind = SPDL_L_POOL_CUDA_IPC, p->bytes = SLOTS * SLOT_BYTES, p->slot_bytes = SLOT_BYTES,
    p->generation = 1;
    s->generation = 1;
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    check_host_only(r, &b, SPDL_E_UNSUPPORTED, "no CUDA driver");
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(stream_wait_on_a_ring_without_device_tensors_does_nothing) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    CHECK_STATUS(spdl_stream_wait(r, &b, NULL), SPDL_OK);
    CHECK_STATUS(spdl_stream_wait(r, NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_stream_wait(NULL, &b, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}
