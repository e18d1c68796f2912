/* test_fence.c - batches that are released when the GPU is through with them. */
#include "gpu.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static spdl_reader *pinned_reader(standin *s, uint32_t max_leases) {
    spdl_reader *r = attach_with(s, max_leases, 0);
    CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_OK);
    return r;
}

/* A ring, a reader that has pinned it, and a stream of the device with a page of its memory. */
typedef struct rig {
    standin *s;
    spdl_reader *r;
    cu_stream stream;
    cu_address memory;
} rig;

static rig rig_with(const char *settings, standin_opts o, uint32_t max_leases) {
    rig g;
    gpu_start(settings);
    g.s = make_served(o);
    g.r = pinned_reader(g.s, max_leases);
    g.stream = gpu_begin(4096, &g.memory);
    return g;
}

static rig rig_of(uint32_t max_leases) { return rig_with("", (standin_opts)STANDIN_OPTS, max_leases); }

static void rig_detach(rig *g) {
    spdl_detach(g->r);
    g->r = NULL;
}

static void rig_end(rig *g) {
    rig_detach(g);
    gpu_end(g->stream, g->memory);
    standin_free(g->s);
}

static uint32_t pending(spdl_reader *r) {
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_get_pin_info(r, &info), SPDL_OK);
    return info.pending;
}

static void copy(spdl_reader *r, const spdl_batch *b, cu_address to, cu_stream stream) {
    spdl_tensor image = tensor_of(r, b, STANDIN_IMAGE);
    CHECK(cu.MemcpyHtoDAsync(to, image.data, image.bytes, stream) == CU_OK);
}

/* Lease the next batch, copy it to the device, and release it behind the copy. */
static spdl_batch send_next(const rig *g) {
    spdl_batch b = next_batch(g->r);
    copy(g->r, &b, g->memory, g->stream);
    CHECK_STATUS(spdl_release_after(g->r, &b, SPDL_AFTER_STREAM, g->stream), SPDL_OK);
    return b;
}

/* Have one published first. */
static spdl_batch send_new(const rig *g) {
    CHECK(standin_publish(g->s, 0, false) >= 0);
    return send_next(g);
}

/* The same with the stream held up, and behind an event that is the caller's own. */
static spdl_batch send_held_up(const rig *g, cu_event *event) {
    CHECK(cu.EventCreate(event, CU_EVENT_DISABLE_TIMING) == CU_OK);
    spdl_batch b = new_batch(g->s, g->r);
    gpu_shut();
    copy(g->r, &b, g->memory, g->stream);
    CHECK(cu.EventRecord(*event, g->stream) == CU_OK);
    CHECK_STATUS(spdl_release_after(g->r, &b, SPDL_AFTER_EVENT, *event), SPDL_OK);
    return b;
}

static void *open_later(void *unused) {
    (void)unused;
    usleep(20000); /* long enough to be waiting, most likely; nothing hangs on it */
    gpu_open();
    return NULL;
}

static pthread_t opener(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, open_later, NULL) == 0);
    return thread;
}

TEST(slot_is_not_filled_again_while_a_copy_reads_it) {
    standin_opts o = STANDIN_OPTS;
    o.slots = 4;
    rig g = rig_with("", o, 2);
    uint8_t back[4096];
    gpu_shut();
    spdl_batch b = send_new(&g);
    CHECK(b.slot == 0);
    for (int i = 1; i <= 9; i++) { /* the ring goes round in its other slots */
        CHECK(standin_publish(g.s, 0, false) != 0);
        spdl_batch other = next_batch(g.r);
        CHECK_STATUS(spdl_release(g.r, &other), SPDL_OK);
    }
    CHECK(state_of(g.s, 0) == SPDL_L_DONE && pending(g.r) == 1 && gpu_stats()->in_flight == 2);
    gpu_open();
    CHECK(cu.StreamSynchronize(g.stream) == CU_OK);
    spdl_batch none = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT); /* it looks, and gives the slot back */
    CHECK(state_of(g.s, 0) == SPDL_L_FREE && pending(g.r) == 0);
    CHECK(cu.MemcpyDtoHAsync(back, g.memory, sizeof back, g.stream) == CU_OK &&
          cu.StreamSynchronize(g.stream) == CU_OK);
    CHECK(standin_image_is(back, b.rows, b.ticket));
    rig_end(&g);
}

TEST(batch_that_waits_for_the_gpu_is_the_callers_no_more) {
    rig g = rig_of(2);
    spdl_tensor t = SPDL_TENSOR_INIT;
    gpu_shut();
    spdl_batch b = send_new(&g);
    CHECK_STATUS(spdl_release(g.r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_done(g.r, &b), SPDL_E_STALE);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, g.stream), SPDL_E_STALE);
    CHECK_STATUS(spdl_batch_tensor(g.r, &b, STANDIN_IMAGE, &t), SPDL_E_STALE);
    CHECK(state_of(g.s, b.slot) == SPDL_L_DONE && pending(g.r) == 1);
    gpu_open();
    rig_detach(&g);
    CHECK(state_of(g.s, b.slot) == SPDL_L_FREE);
    rig_end(&g);
}

TEST(acquire_waits_for_the_gpu_when_it_has_every_lease) {
    rig g = rig_of(2);
    gpu_shut();
    for (int i = 0; i < 2; i++) send_new(&g);
    standin_publish(g.s, 0, false);
    spdl_batch third = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(g.r, 0, &third),
                 SPDL_TIMEOUT); /* not SPDL_E_LEASES: nobody has to release them */
    pthread_t thread = opener();
    third = next_batch(g.r);
    CHECK(third.ticket == 2 && pthread_join(thread, NULL) == 0);
    CHECK_STATUS(spdl_release(g.r, &third), SPDL_OK);
    rig_end(&g);
}

TEST(event_descriptor_becomes_readable_when_the_gpu_is_through) {
    rig g = rig_of(1);
    struct pollfd p = {spdl_event_fd(g.r), POLLIN, 0};
    CHECK(p.fd >= 0);
    gpu_shut();
    spdl_batch b = send_new(&g);
    standin_publish(g.s, 0, false); /* no more news will come of the engine */
    pthread_t thread = opener();
    while (spdl_acquire(g.r, 0, &b) == SPDL_TIMEOUT) CHECK(poll(&p, 1, 30000) == 1);
    CHECK(b.ticket == 1 && pthread_join(thread, NULL) == 0);
    CHECK_STATUS(spdl_release(g.r, &b), SPDL_OK);
    WAIT_UNTIL(spdl_acquire(g.r, 0, &b) == SPDL_TIMEOUT &&
               poll(&p, 1, 0) == 0); /* nobody is woken for ever */
    rig_end(&g);
}

/* Nobody would wake who polls: the poll says so, and the next one tries again. */
TEST(poll_without_a_descriptor_left_for_its_timer_is_refused) {
    rig g = rig_of(1);
    struct pollfd p = {spdl_event_fd(g.r), POLLIN, 0};
    gpu_shut();
    spdl_batch b = send_new(&g);
    struct rlimit limit, before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    limit = before;
    limit.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK_STATUS(spdl_acquire(g.r, 0, &b), SPDL_E_SYSTEM);
    CHECK(
        strstr(spdl_last_error(), "a timer that tells the event descriptor of the GPU: Too many open files"));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    standin_publish(g.s, 0, false);
    pthread_t thread = opener();
    while (spdl_acquire(g.r, 0, &b) == SPDL_TIMEOUT) CHECK(poll(&p, 1, 30000) == 1);
    CHECK(b.ticket == 1 && pthread_join(thread, NULL) == 0);
    CHECK_STATUS(spdl_release(g.r, &b), SPDL_OK);
    rig_end(&g);
}

TEST(detach_and_unpin_wait_for_the_copies) {
    for (int unpin = 0; unpin < 2; unpin++) {
        rig g = rig_of(2);
        gpu_shut();
        spdl_batch b = send_new(&g);
        pthread_t thread = opener();
        if (unpin) {
            CHECK_STATUS(spdl_unpin(g.r), SPDL_OK);
            CHECK(pending(g.r) == 0 && gpu_stats()->registered == 0);
        }
        rig_detach(&g);
        CHECK(gpu_stats()->in_flight == 0 && state_of(g.s, b.slot) == SPDL_L_FREE);
        CHECK(pthread_join(thread, NULL) == 0);
        rig_end(&g);
    }
}

TEST(slot_is_given_back_after_an_event_of_the_callers_own) {
    rig g = rig_of(2);
    cu_event event;
    spdl_batch b = send_held_up(&g, &event), none = SPDL_BATCH_INIT;
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(pending(g.r) == 1 && state_of(g.s, b.slot) == SPDL_L_DONE);
    gpu_open();
    CHECK(cu.EventSynchronize(event) == CU_OK);
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(pending(g.r) == 0 && state_of(g.s, b.slot) == SPDL_L_FREE);
    rig_detach(&g);
    CHECK(cu.EventDestroy(event) == CU_OK); /* it was the caller's all the time */
    rig_end(&g);
}

TEST(slots_come_back_when_the_device_is_lost_and_batches_go_on) {
    rig g = rig_with("FAKE_CUDA_FAULT=EventQuery:3:719:sticky", (standin_opts)STANDIN_OPTS, 2);
    gpu_shut();
    for (int i = 0; i < 2; i++) send_new(&g);
    spdl_batch b = new_batch(g.s, g.r);
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    CHECK_STATUS(spdl_get_pin_info(g.r, &info), SPDL_OK);
    CHECK(info.pending == 0 && info.device_error == CU_E_LAUNCH_FAILED);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, g.stream), SPDL_E_DEVICE);
    CHECK_STATUS(spdl_release(g.r, &b), SPDL_OK); /* that lease was the caller's still */
    rig_detach(&g);
    gpu_start("");
    rig_end(&g);
}

/* A loader that the program's last destructors close finds the driver gone. */
TEST(reader_that_outlives_the_driver_gives_everything_back_and_hangs_nowhere) {
    if (!gpu_alone("reader_that_outlives_the_driver", "")) return;
    rig g = rig_of(3);
    spdl_batch none = SPDL_BATCH_INIT;
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    gpu_shut();
    spdl_batch a = send_new(&g), held = new_batch(g.s, g.r);
    CHECK(cu.MemFree(g.memory) == CU_OK); /* a descriptor of the stand-in's; no copy is done any more */
    gpu_deinit();
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(state_of(g.s, a.slot) == SPDL_L_FREE);
    CHECK_STATUS(spdl_get_pin_info(g.r, &info), SPDL_OK);
    CHECK(info.pending == 0 && info.device_error == 0); /* no device was lost */
    CHECK_STATUS(spdl_release_after(g.r, &held, SPDL_AFTER_STREAM, g.stream), SPDL_E_DEVICE);
    CHECK(strstr(spdl_last_error(), "CUDA_ERROR_DEINITIALIZED"));
    CHECK_STATUS(spdl_release(g.r, &held), SPDL_OK);
    rig_detach(&g);
    gpu_open();
    standin_free(g.s);
}

TEST(refused_handle_leaves_the_lease_with_the_caller) {
    gpu_start(""); /* no context is current here */
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = pinned_reader(s, 1);
    int nothing;
    spdl_batch b = new_batch(s, r);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, &nothing), SPDL_E_DEVICE);
    CHECK(strstr(spdl_last_error(), "CUDA_ERROR_INVALID_HANDLE"));
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_EVENT, &nothing), SPDL_E_DEVICE);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_EVENT, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release_after(r, &b, 3, &nothing), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_release_after(r, NULL, SPDL_AFTER_STREAM, NULL), SPDL_E_ARGUMENT);
    CHECK(state_of(s, b.slot) == SPDL_L_HELD && pending(r) == 0);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    leave(s, r);
}

TEST(event_that_its_owner_destroyed_costs_a_wait_and_not_a_slot_too_early) {
    rig g = rig_of(2);
    cu_event event;
    spdl_batch b = send_held_up(&g, &event), none = SPDL_BATCH_INIT;
    CHECK(cu.EventDestroy(event) == CU_OK);
    pthread_t thread = opener();
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(state_of(g.s, b.slot) == SPDL_L_FREE && gpu_stats()->in_flight == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    rig_end(&g);
}

/* ---- graphs ------------------------------------------------------------------------------------------------- */

TEST(capture_of_a_graph_is_not_disturbed_by_who_acquires_and_releases_meanwhile) {
    for (int captured_by = CU_CAPTURE_GLOBAL; captured_by <= CU_CAPTURE_RELAXED; captured_by++) {
        rig g = rig_of(2);
        cu_stream graph;
        spdl_pin_info info = SPDL_PIN_INFO_INIT;
        spdl_batch none = SPDL_BATCH_INIT;
        CHECK(cu.StreamCreate(&graph, CU_STREAM_NON_BLOCKING) == CU_OK);
        gpu_shut();
        spdl_batch b = send_new(&g);
        gpu_capture(graph, captured_by);
        CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT); /* it looks */
        CHECK(pending(g.r) == 1 && state_of(g.s, b.slot) == SPDL_L_DONE);
        gpu_open();
        WAIT_UNTIL(spdl_acquire(g.r, 0, &none) == SPDL_TIMEOUT && pending(g.r) == 0);
        CHECK(state_of(g.s, b.slot) == SPDL_L_FREE);
        send_new(&g); /* behind another stream's copy */
        CHECK_STATUS(spdl_unpin(g.r), SPDL_OK);
        CHECK_STATUS(spdl_pin(g.r, NULL, NULL), SPDL_OK);
        CHECK(gpu_end_capture(graph) == CU_OK);
        CHECK_STATUS(spdl_get_pin_info(g.r, &info), SPDL_OK);
        int mode = CU_CAPTURE_GLOBAL;
        CHECK(cu.ThreadExchangeStreamCaptureMode(&mode) == CU_OK &&
              mode == CU_CAPTURE_GLOBAL); /* as it was */
        CHECK(info.device_error == 0 && cu.StreamDestroy(graph) == CU_OK);
        rig_end(&g);
    }
}

TEST(release_behind_a_stream_that_is_captured_is_refused_and_spoils_nothing) {
    rig g = rig_of(1);
    spdl_batch b = new_batch(g.s, g.r);
    gpu_capture(g.stream, CU_CAPTURE_GLOBAL);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, g.stream), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(),
                 "being captured into a graph; release the batch behind the graph's launch"));
    CHECK(pending(g.r) == 0 && state_of(g.s, b.slot) == SPDL_L_HELD);
    CHECK(gpu_end_capture(g.stream) == CU_OK);
    cu_stream joined; /* by the default stream, which is refused then, too */
    CHECK(cu.StreamCreate(&joined, 0) == CU_OK);
    gpu_capture(joined, CU_CAPTURE_RELAXED);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, NULL), SPDL_E_ARGUMENT);
    CHECK(gpu_end_capture(joined) == CU_OK && cu.StreamDestroy(joined) == CU_OK);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, g.stream), SPDL_OK);
    rig_end(&g);
}

/* The batch was copied outside of the graph; that its event is another's now is the caller's mistake, and costs no slot. */
TEST(event_that_was_recorded_again_in_a_capture_keeps_its_slot_until_it_tells) {
    rig g = rig_of(2);
    cu_event event;
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    spdl_batch b = send_held_up(&g, &event), none = SPDL_BATCH_INIT;
    cu_stream graph;
    CHECK(cu.StreamCreate(&graph, CU_STREAM_NON_BLOCKING) == CU_OK);
    gpu_capture(graph, CU_CAPTURE_GLOBAL);
    CHECK(cu.EventRecord(event, graph) == CU_OK);
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(state_of(g.s, b.slot) == SPDL_L_DONE && gpu_end_capture(graph) == CU_OK);
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK_STATUS(spdl_get_pin_info(g.r, &info), SPDL_OK);
    CHECK(info.pending == 1 && info.device_error == 0);
    gpu_open();
    CHECK(cu.EventRecord(event, g.stream) == CU_OK && cu.StreamSynchronize(g.stream) == CU_OK);
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(pending(g.r) == 0 && state_of(g.s, b.slot) == SPDL_L_FREE);
    CHECK(cu.EventDestroy(event) == CU_OK && cu.StreamDestroy(graph) == CU_OK);
    rig_end(&g);
}

TEST(epoch_ends_while_the_gpu_has_its_last_batch) {
    rig g = rig_of(2);
    spdl_batch none = SPDL_BATCH_INIT;
    standin_publish(g.s, 0, true);
    gpu_shut();
    send_next(&g);
    CHECK_STATUS(spdl_acquire(g.r, SPDL_FOREVER, &none), SPDL_END_EPOCH);
    CHECK(pending(g.r) == 1);
    gpu_open();
    rig_end(&g);
}

TEST(stage_hands_a_batch_on_when_the_gpu_has_written_it) {
    standin_opts o = STANDIN_OPTS;
    o.stage = true;
    rig g = rig_with("", o, 1);
    spdl_batch b = new_batch(g.s, g.r), none = SPDL_BATCH_INIT;
    spdl_tensor image = tensor_of(g.r, &b, STANDIN_IMAGE);
    gpu_shut();
    CHECK(cu.MemcpyDtoHAsync(image.data, g.memory, image.bytes, g.stream) == CU_OK);
    CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, g.stream), SPDL_OK);
    CHECK_STATUS(spdl_acquire(g.r, 1000000, &none),
                 SPDL_TIMEOUT); /* no E_UNDONE: it is not this thread that holds it */
    CHECK(state_of(g.s, b.slot) == SPDL_L_HELD &&
          standin_image_is(standin_slot(g.s, b.slot), b.rows, b.ticket));
    gpu_open();
    CHECK(cu.StreamSynchronize(g.stream) == CU_OK);
    CHECK_STATUS(spdl_acquire(g.r, 0, &none), SPDL_TIMEOUT);
    CHECK(state_of(g.s, b.slot) == SPDL_L_FREE && standin_slot(g.s, b.slot)[0] == 0); /* what the GPU wrote */
    rig_end(&g);
}

TEST(release_after_needs_no_pinned_memory) {
    gpu_start("");
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 1, 0);
    spdl_batch b = new_batch(s, r);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, NULL), SPDL_E_DEVICE);
    CHECK(strstr(spdl_last_error(), "no context is current"));
    cu_address memory;
    cu_stream stream = gpu_begin(4096, &memory);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, NULL),
                 SPDL_OK); /* the default stream of the current context */
    CHECK(cu.CtxSynchronize() == CU_OK);
    b = new_batch(s, r);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    gpu_end(stream, memory);
    standin_free(s);
}

/* Which context a stream is of is asked in some context, and the caller's thread may have none. */
TEST(stream_is_enough_in_a_thread_without_a_current_context) {
    rig g = rig_with("FAKE_CUDA_DEVICES=2", (standin_opts)STANDIN_OPTS, 1);
    cu_context first, second;
    cu_stream other;
    CHECK(cu.CtxGetCurrent(&first) == CU_OK && cu.DevicePrimaryCtxRetain(&second, 1) == CU_OK);
    CHECK(cu.CtxSetCurrent(second) == CU_OK && cu.StreamCreate(&other, CU_STREAM_NON_BLOCKING) == CU_OK);
    CHECK(cu.CtxSetCurrent(NULL) == CU_OK);
    for (int i = 0; i < 2; i++) { /* of the pinned device, and of another one */
        cu_context current;
        spdl_batch b = new_batch(g.s, g.r);
        CHECK_STATUS(spdl_release_after(g.r, &b, SPDL_AFTER_STREAM, i ? other : g.stream), SPDL_OK);
        CHECK(cu.CtxGetCurrent(&current) == CU_OK && !current);
    }
    CHECK_STATUS(spdl_unpin(g.r), SPDL_OK);
    CHECK(cu.CtxSetCurrent(second) == CU_OK && cu.StreamDestroy(other) == CU_OK);
    CHECK(cu.CtxSetCurrent(first) == CU_OK && cu.DevicePrimaryCtxRelease(1) == CU_OK);
    rig_end(&g);
}

TEST(thousand_batches_reuse_a_few_events) {
    rig g = rig_of(4);
    for (uint64_t i = 0; i < 1000; i++) CHECK(send_new(&g).ticket == i); /* eight slots for four leases */
    CHECK(gpu_stats()->events <= 4);
    rig_end(&g);
}

/* ---- threads ------------------------------------------------------------------------------------------------- */

#define EACH 150

typedef struct worker {
    spdl_reader *reader;
    cu_context context;
    pthread_t thread;
    uint64_t tickets[EACH];
} worker;

/* Take batches, copy each to the device and back, and see that it was that batch all the time. */
static void *take_and_copy(void *arg) {
    worker *w = arg;
    cu_stream stream;
    cu_address memory;
    uint8_t *back;
    CHECK(cu.CtxSetCurrent(w->context) == CU_OK && cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CU_OK);
    CHECK(cu.MemAlloc(&memory, 4096) == CU_OK && cu.MemHostAlloc((void **)&back, 4096, 0) == CU_OK);
    for (int i = 0; i < EACH; i++) {
        spdl_batch b = next_batch(w->reader);
        copy(w->reader, &b, memory, stream);
        CHECK_STATUS(spdl_release_after(w->reader, &b, SPDL_AFTER_STREAM, stream), SPDL_OK);
        CHECK(cu.MemcpyDtoHAsync(back, memory, 4 * STANDIN_ROW_BYTES, stream) == CU_OK);
        CHECK(cu.StreamSynchronize(stream) == CU_OK && standin_image_is(back, 4, b.ticket));
        w->tickets[i] = b.ticket;
    }
    CHECK(cu.MemFreeHost(back) == CU_OK && cu.MemFree(memory) == CU_OK && cu.StreamDestroy(stream) == CU_OK);
    return NULL;
}

TEST(threads_share_a_reader_and_each_copy_is_of_one_batch) {
    rig g = rig_with("FAKE_CUDA_LATENCY_US=100", (standin_opts)STANDIN_OPTS, 6);
    worker w[3];
    bool seen[3 * EACH] = {false};
    for (int i = 0; i < 3; i++) {
        w[i].reader = g.r;
        CHECK(cu.CtxGetCurrent(&w[i].context) == CU_OK);
        CHECK(pthread_create(&w[i].thread, NULL, take_and_copy, &w[i]) == 0);
    }
    for (int i = 0; i < 3 * EACH;)
        if (standin_publish(g.s, 0, false) >= 0)
            i++;
        else
            usleep(200);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(w[i].thread, NULL) == 0);
        for (int j = 0; j < EACH; j++) {
            CHECK(w[i].tickets[j] < 3 * EACH && !seen[w[i].tickets[j]]);
            seen[w[i].tickets[j]] = true;
        }
    }
    rig_end(&g);
}

TEST(killed_in_mid_copy_a_consumer_keeps_its_slot_until_it_is_dead) {
    gpu_start("");
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    int said[2];
    CHECK(pipe(said) == 0);
    standin_publish(s, 0, false);
    gpu_shut();
    pid_t child = fork();
    if (child == 0) { /* a process that has not touched the driver: its own start */
        char say[16];
        snprintf(say, sizeof say, "%d", said[1]);
        setenv("GPU_RING", s->path, 1), setenv("GPU_SAY", say, 1), setenv("GPU_ALONE", "1", 1);
        execl("/proc/self/exe", "cuda-test", "holder_of_a_running_copy", (char *)NULL);
        _exit(127);
    }
    uint32_t slot = 99;
    CHECK(child > 0 && read(said[0], &slot, sizeof slot) == sizeof slot && slot == 0);
    uint64_t word = __atomic_load_n(&standin_word(s, slot)->word, __ATOMIC_ACQUIRE);
    CHECK(SPDL_L_STATE(word) == SPDL_L_DONE);
    for (int i = 0; i < 20; i++) CHECK(standin_publish(s, 0, false) != 0); /* -1 when the others are full */
    CHECK(__atomic_load_n(&standin_word(s, slot)->word, __ATOMIC_ACQUIRE) == word);
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    WAIT_UNTIL(state_of(s, slot) == SPDL_L_FREE);
    CHECK(standin_publish(s, 0, false) == (int)slot);
    gpu_open();
    close(said[0]), close(said[1]);
    standin_free(s);
}

/* The process that the test above kills; by itself it does nothing. */
TEST(holder_of_a_running_copy_waits_to_be_killed) {
    if (!getenv("GPU_RING")) return;
    spdl_reader *r = NULL;
    CHECK(sp_cuda_load(&cu, (char[64]){0}, 64) == CUDA_LOADED);
    CHECK_STATUS(spdl_attach(getenv("GPU_RING"), NULL, &r), SPDL_OK);
    CHECK_STATUS(spdl_pin(r, NULL, NULL), SPDL_OK);
    cu_address memory;
    cu_stream stream = gpu_begin(4096, &memory);
    spdl_batch b = next_batch(r);
    copy(r, &b, memory, stream);
    CHECK_STATUS(spdl_release_after(r, &b, SPDL_AFTER_STREAM, stream), SPDL_OK);
    CHECK(write(atoi(getenv("GPU_SAY")), &b.slot, sizeof b.slot) == sizeof b.slot);
    for (;;) pause();
}
