/* test_pin.c - pinning the ring's memory, and what stands in the way. */
#include "gpu.h"

#include <fcntl.h>
#include <sys/wait.h>

static standin *make_ring(uint32_t access) {
    standin_opts o = STANDIN_OPTS;
    o.access = access;
    return make_served(o);
}

/* A driver with these settings, a ring, and a reader of it that has pinned nothing yet. */
static spdl_reader *reader_with(const char *settings, uint32_t access, uint32_t max_leases, standin **s) {
    gpu_start(settings);
    *s = make_ring(access);
    return attach_with(*s, max_leases, 0);
}

static spdl_pin_info pinned(spdl_reader *r, uint32_t flags) {
    spdl_pin_opts o = SPDL_PIN_OPTS_INIT;
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    o.flags = flags;
    CHECK_STATUS(spdl_pin(r, &o, &info), SPDL_OK);
    return info;
}

TEST(pin_registers_the_memory_of_a_private_ring_and_detach_gives_it_up) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_PRIVATE, 2, &s);
    spdl_pin_info info = pinned(r, 0);
    CHECK(info.mode == SPDL_PIN_WRITABLE && info.device == 0 && info.driver_version == 12040);
    CHECK(info.bytes == s->bytes[STANDIN_DATA] && strcmp(info.device_name, "Fake GPU 0") == 0);
    CHECK(gpu_stats()->registered == 1 && gpu_stats()->registered_bytes == info.bytes);
    CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_E_BUSY);
    CHECK(strstr(spdl_last_error(), "pinned for device 0 already"));
    spdl_detach(r);
    CHECK(gpu_stats()->registered == 0 && gpu_stats()->contexts == 0);
    standin_free(s);
}

TEST(pin_of_a_shared_ring_is_read_only) {
    gpu_start("");
    uint64_t before = gpu_stats()->read_only;
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    spdl_reader *r = attach_with(s, 2, 0);
    CHECK(pinned(r, SPDL_PIN_STAGE).mode == SPDL_PIN_READ_ONLY); /* staging is for want of anything better */
    CHECK(gpu_stats()->read_only == before + 1);
    leave(s, r);
}

TEST(pin_lasts_until_the_last_lease_when_the_reader_is_detached_before) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_SHARED, 2, &s);
    pinned(r, 0);
    spdl_batch b = new_batch(s, r);
    spdl_detach(r);
    CHECK(gpu_stats()->registered == 1);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK(gpu_stats()->registered == 0 && gpu_stats()->contexts == 0);
    standin_free(s);
}

TEST(copies_from_a_pinned_ring_are_not_pageable) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_SHARED, 2, &s);
    cu_address memory;
    cu_stream stream = gpu_begin(4096, &memory);
    uint8_t back[4096];
    spdl_batch b = new_batch(s, r);
    spdl_tensor image = tensor_of(r, &b, STANDIN_IMAGE);
    uint64_t before = gpu_stats()->pageable;
    CHECK(cu.MemcpyHtoDAsync(memory, image.data, image.bytes, stream) == CU_OK);
    CHECK(gpu_stats()->pageable == before + 1);
    pinned(r, 0);
    CHECK(cu.MemcpyHtoDAsync(memory, image.data, image.bytes, stream) == CU_OK);
    CHECK(gpu_stats()->pageable == before + 1);
    CHECK(cu.MemcpyDtoHAsync(back, memory, image.bytes, stream) == CU_OK &&
          cu.StreamSynchronize(stream) == CU_OK);
    CHECK(standin_image_is(back, b.rows, b.ticket));
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    CHECK_STATUS(spdl_unpin(r), SPDL_OK);
    CHECK_STATUS(spdl_unpin(r), SPDL_OK); /* nothing to undo */
    CHECK(pinned(r, 0).mode == SPDL_PIN_READ_ONLY);
    spdl_detach(r);
    gpu_end(stream, memory);
    standin_free(s);
}

/* ---- memory that cannot be pinned ---------------------------------------------------------------------- */

TEST(device_that_cannot_pin_read_only_memory_says_what_to_do) {
    standin *s;
    spdl_reader *r = reader_with("FAKE_CUDA_READ_ONLY=0", SPDL_L_ACCESS_SHARED, 2, &s);
    CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_E_UNSUPPORTED);
    CHECK(strstr(spdl_last_error(), "`access: private`, or allow SPDL_PIN_STAGE"));
    CHECK(gpu_stats()->contexts == 0);
    leave(s, r);
    s = make_ring(SPDL_L_ACCESS_PRIVATE);
    r = attach_with(s, 2, 0);
    CHECK(pinned(r, 0).mode == SPDL_PIN_WRITABLE);
    leave(s, r);
}

TEST(staged_tensors_are_copies_in_pinned_memory_one_place_for_each_lease) {
    standin *s;
    spdl_reader *r = reader_with("FAKE_CUDA_READ_ONLY=0", SPDL_L_ACCESS_SHARED, 2, &s);
    CHECK(pinned(r, SPDL_PIN_STAGE).mode == SPDL_PIN_STAGED);
    cu_address memory;
    cu_stream stream = gpu_begin(4096, &memory);
    uint64_t before = gpu_stats()->pageable;
    for (int i = 0; i < 20; i += 2) {
        standin_publish(s, 0, false), standin_publish(s, 0, false);
        spdl_batch a = next_batch(r), b = next_batch(r);
        spdl_tensor x = tensor_of(r, &a, STANDIN_IMAGE), y = tensor_of(r, &b, STANDIN_IMAGE);
        CHECK(x.data != y.data && standin_image_is(x.data, a.rows, a.ticket) &&
              standin_image_is(y.data, b.rows, b.ticket));
        CHECK(tensor_of(r, &a, STANDIN_IMAGE).data == x.data);
        spdl_tensor key = tensor_of(r, &a, STANDIN_KEY);
        CHECK(key.offsets[1] == 3 && memcmp(key.data, "keykey", 6) == 0);
        CHECK(cu.MemcpyHtoDAsync(memory, x.data, x.bytes, stream) == CU_OK);
        CHECK(cu.MemcpyHtoDAsync(memory, key.offsets, 8, stream) == CU_OK &&
              cu.StreamSynchronize(stream) == CU_OK);
        CHECK_STATUS(spdl_release(r, &a), SPDL_OK);
        CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, stream), SPDL_OK);
    }
    CHECK(gpu_stats()->pageable == before && gpu_stats()->host_allocated == 2);
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_get_pin_info(r, &info), SPDL_OK);
    CHECK(info.bytes == 2 * s->h.slot_stride);
    spdl_detach(r);
    gpu_end(stream, memory);
    standin_free(s);
}

TEST(staging_without_pinned_memory_is_an_error_and_the_batch_is_kept) {
    standin *s;
    spdl_reader *r =
        reader_with("FAKE_CUDA_READ_ONLY=0 FAKE_CUDA_FAULT=MemHostAlloc:1:2", SPDL_L_ACCESS_SHARED, 1, &s);
    pinned(r, SPDL_PIN_STAGE);
    spdl_batch b = new_batch(s, r);
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_batch_tensor(r, &b, STANDIN_IMAGE, &t), SPDL_E_NOMEM);
    CHECK(strstr(spdl_last_error(), "no pinned memory"));
    CHECK_STATUS(spdl_unpin(r), SPDL_OK);
    t = tensor_of(r, &b, STANDIN_IMAGE);
    CHECK(standin_image_is(t.data, b.rows, b.ticket));
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(stage_pins_the_memory_it_writes_and_does_not_stage) {
    gpu_start("FAKE_CUDA_READ_ONLY=0");
    standin_opts o = STANDIN_OPTS;
    o.stage = true;
    standin *s = make_served(o);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_pin_opts opts = SPDL_PIN_OPTS_INIT;
    opts.flags = SPDL_PIN_STAGE;
    CHECK_STATUS(spdl_pin(r, &opts, NULL), SPDL_E_ARGUMENT);
    CHECK(pinned(r, 0).mode == SPDL_PIN_WRITABLE);
    leave(s, r);
}

/* ---- refusals ------------------------------------------------------------------------------------------------ */

/* Pinning fails with this status and text, and everything is as it was. */
static void check_refused(standin *s, const spdl_pin_opts *o, int want, const char *text) {
    spdl_reader *r = attach_with(s, 2, 0);
    CHECK_STATUS(spdl_pin(r, o, NULL), want);
    if (!strstr(spdl_last_error(), text)) test_fail(__FILE__, __LINE__, spdl_last_error());
    spdl_batch b = new_batch(s, r);
    CHECK(standin_image_is(tensor_of(r, &b, STANDIN_IMAGE).data, b.rows, b.ticket));
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
}

/* The same of a shared ring of its own. */
static void check_no_pin(int want, const char *text) {
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    check_refused(s, NULL, want, text);
    standin_free(s);
}

TEST(without_a_driver_pinning_is_unsupported_and_batches_come) {
    if (!gpu_alone("without_a_driver", "SPDL_CUDA_LIBRARY=/nowhere/libcuda.so.1")) return;
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    check_refused(s, NULL, SPDL_E_UNSUPPORTED, "no CUDA driver: /nowhere/libcuda.so.1");
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, NULL), SPDL_E_UNSUPPORTED);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK); /* it is the caller's still */
    leave(s, r);
}

TEST(driver_without_a_call_that_we_need_is_too_old) {
    if (gpu_alone("driver_without_a_call", "SPDL_CUDA_LIBRARY=libc.so.6"))
        check_no_pin(SPDL_E_UNSUPPORTED, "too old: it has no cuInit; want one of CUDA 11.1");
}

TEST(driver_of_an_old_version_is_too_old) {
    if (gpu_alone("driver_of_an_old_version", "FAKE_CUDA_VERSION=11000"))
        check_no_pin(SPDL_E_UNSUPPORTED, "too old: got CUDA 11.0, want 11.1");
}

TEST(driver_without_a_device_says_what_it_may_see) {
    if (gpu_alone("driver_without_a_device", "FAKE_CUDA_DEVICES=0 CUDA_VISIBLE_DEVICES=7"))
        check_no_pin(SPDL_E_NOT_FOUND, "sees no device (CUDA_VISIBLE_DEVICES is \"7\")");
}

TEST(driver_that_does_not_tell_its_version_is_named_so) {
    if (gpu_alone("driver_that_does_not_tell_its_version", "FAKE_CUDA_FAULT=DriverGetVersion:1:999"))
        check_no_pin(SPDL_E_DEVICE, "cuDriverGetVersion: CUDA error (999");
}

TEST(driver_that_does_not_start_is_tried_again) {
    if (!gpu_alone("driver_that_does_not_start", "FAKE_CUDA_FAULT=Init:1:999")) return;
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    check_refused(s, NULL, SPDL_E_DEVICE, "cuInit: CUDA error (999");
    spdl_reader *r = attach_with(s, 1, 0);
    unsetenv("FAKE_CUDA_FAULT");
    CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_OK);
    leave(s, r);
}

TEST(pin_names_the_device_that_is_not_there) {
    gpu_start("FAKE_CUDA_DEVICES=2");
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    spdl_pin_opts o = SPDL_PIN_OPTS_INIT;
    o.device = 2;
    check_refused(s, &o, SPDL_E_NOT_FOUND, "device 2: the CUDA driver sees 2");
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    o.device = 1;
    CHECK_STATUS(spdl_pin(r, &o, &info), SPDL_OK);
    CHECK(info.device == 1 && strcmp(info.device_name, "Fake GPU 1") == 0);
    leave(s, r);
}

TEST(pin_takes_the_device_of_the_current_context) {
    gpu_start("FAKE_CUDA_DEVICES=2");
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    cu_context c;
    CHECK(cu.DevicePrimaryCtxRetain(&c, 1) == CU_OK && cu.CtxSetCurrent(c) == CU_OK);
    spdl_reader *r = attach_with(s, 1, 0);
    CHECK(pinned(r, 0).device == 1);
    spdl_detach(r);
    CHECK(cu.CtxSetCurrent(NULL) == CU_OK && cu.DevicePrimaryCtxRelease(1) == CU_OK);
    CHECK(gpu_stats()->contexts == 0);
    standin_free(s);
}

TEST(pin_without_lockable_memory_is_out_of_memory_and_leaves_nothing) {
    gpu_start("FAKE_CUDA_FAULT=MemHostRegister:1:2");
    check_no_pin(
        SPDL_E_NOMEM,
        "CUDA_ERROR_OUT_OF_MEMORY (2: out of memory); the machine lets no more memory be locked: raise the limit (ulimit -l)");
    CHECK(gpu_stats()->contexts == 0);
}

TEST(pin_of_memory_that_others_have_pinned_is_busy) {
    gpu_start("FAKE_CUDA_FAULT=MemHostRegister:1:712");
    check_no_pin(SPDL_E_BUSY, "somebody else in this process");
}

TEST(pin_on_a_lost_device_is_a_device_error) {
    gpu_start("FAKE_CUDA_FAULT=DevicePrimaryCtxRetain:1:719:sticky");
    check_no_pin(SPDL_E_DEVICE, "CUDA_ERROR_LAUNCH_FAILED");
}

TEST(pin_checks_its_arguments) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_SHARED, 1, &s);
    spdl_pin_opts o = SPDL_PIN_OPTS_INIT;
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_pin(NULL, NULL, NULL), SPDL_E_ARGUMENT);
    o.struct_size = 4;
    CHECK_STATUS(spdl_pin(r, &o, NULL), SPDL_E_ARGUMENT);
    o = (spdl_pin_opts)SPDL_PIN_OPTS_INIT;
    o.flags = 2;
    CHECK_STATUS(spdl_pin(r, &o, NULL), SPDL_E_ARGUMENT);
    o.flags = 0, o.device = -2;
    CHECK_STATUS(spdl_pin(r, &o, NULL), SPDL_E_ARGUMENT);
    info.struct_size = 4;
    CHECK_STATUS(spdl_pin(r, NULL, &info), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_get_pin_info(r, &info), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_get_pin_info(r, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_unpin(NULL), SPDL_E_ARGUMENT);
    info = (spdl_pin_info)SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_get_pin_info(r, &info), SPDL_OK);
    CHECK(info.mode == SPDL_PIN_NONE && info.device == -1 && gpu_stats()->registered == 0);
    leave(s, r);
}

TEST(pin_in_a_forked_child_is_refused) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_SHARED, 1, &s);
    pinned(r, 0);
    spdl_batch b = new_batch(s, r);
    pid_t child = fork();
    if (child == 0) {
        bool ok = spdl_pin(r, NULL, NULL) == SPDL_E_FORKED && spdl_unpin(r) == SPDL_E_FORKED &&
                  spdl_release_after(r, &b, SPDL_AFTER_STREAM, NULL) == SPDL_OK && spdl_detach(r) == SPDL_OK;
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK); /* the child's release_after did nothing */
    leave(s, r);
}

/* Attach in a child of a fork, and see pinning refused and batches come. */
static bool refused_in_child(const standin *s) {
    spdl_reader *r = NULL;
    pid_t child = fork();
    if (child == 0) {
        spdl_batch b = SPDL_BATCH_INIT;
        bool ok = spdl_attach(s->path, NULL, &r) == SPDL_OK &&
                  spdl_pin(r, NULL, NULL) == SPDL_E_UNSUPPORTED &&
                  strstr(spdl_last_error(), "CUDA was in use before this process was forked") &&
                  spdl_acquire(r, SPDL_FOREVER, &b) == SPDL_OK && spdl_release(r, &b) == SPDL_OK &&
                  spdl_detach(r) == SPDL_OK;
        _exit(ok ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    return status == 0;
}

TEST(driver_that_was_started_before_a_fork_is_not_used_in_the_child) {
    standin *s;
    spdl_reader *r = reader_with("", SPDL_L_ACCESS_SHARED, 1, &s);
    pinned(r, 0);
    CHECK_STATUS(spdl_unpin(r), SPDL_OK);
    spdl_detach(r);
    standin_publish(s, 0, false);
    CHECK(refused_in_child(s));
    standin_free(s);
}

/* As when the program's own CUDA is older than the fork and libspdl's first call is not. */
TEST(driver_that_others_started_before_a_fork_is_not_used_in_the_child) {
    if (!gpu_alone("driver_that_others_started_before_a_fork", "")) return;
    gpu_start("");
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    standin_publish(s, 0, false);
    CHECK(refused_in_child(s));
    standin_free(s);
}

TEST(thousand_readers_that_pin_leave_nothing) {
    gpu_start("");
    standin *s = make_ring(SPDL_L_ACCESS_SHARED);
    int maps = 0, fds = 0;
    for (int i = 0; i < 1000; i++) {
        if (i == 10) maps = test_maps(), fds = test_open_fds();
        spdl_reader *r = attach_with(s, 1, 0);
        CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_OK);
        if (i % 2) CHECK_STATUS(spdl_unpin(r), SPDL_OK);
        spdl_detach(r);
        uint32_t gone = (uint32_t)i + 1;
        WAIT_UNTIL(__atomic_load_n(&s->detaches, __ATOMIC_ACQUIRE) == gone);
    }
    CHECK(gpu_stats()->registered == 0 && gpu_stats()->contexts == 0);
    WAIT_UNTIL(test_open_fds() <= fds);
    CHECK(test_maps() <= maps + 4); /* the allocator's own */
    standin_free(s);
}
