// What spdl.hpp promises with exceptions on, against the mock: who owns what, when it is given back, and
// which failure arrives as which exception.

#include "check.hpp"
#include "mock.h"

#include <spdl/spdl.hpp>

#include <cstring>
#include <numeric>
#include <thread>

#if __cplusplus >= 202002L
#include <span>
#endif

using namespace std::chrono_literals;

namespace {

// ---- at compile time ---------------------------------------------------------------------------------

template <class T> constexpr bool moves_only() {
    return std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
           std::is_nothrow_destructible_v<T> && !std::is_copy_constructible_v<T> &&
           !std::is_copy_assignable_v<T>;
}
static_assert(moves_only<spdl::Batch>() && moves_only<spdl::Loader>());
static_assert(std::is_copy_constructible_v<spdl::Tensor>);
static_assert(SPDL_FOREVER == -1 && std::is_same_v<decltype(SPDL_FOREVER), std::int64_t>);

template <class B, class = void> constexpr bool indexable = false;
template <class B> constexpr bool indexable<B, std::void_t<decltype(std::declval<B>()["image"])>> = true;
static_assert(indexable<spdl::Batch &> && indexable<const spdl::Batch &>);
static_assert(!indexable<spdl::Batch>, "a view of a temporary batch would dangle");

template <class T, class = void> constexpr bool readable = false;
template <class T> constexpr bool readable<T, std::void_t<decltype(spdl::DTypeOf<T>::value)>> = true;
static_assert(readable<float> && readable<std::int64_t> && readable<long long> && readable<spdl::BFloat16>);
static_assert(!readable<bool> && !readable<char> && !readable<long double> && !readable<void *>);

// ---- helpers -------------------------------------------------------------------------------------------

int leases() { return mock_get_counts().leases; }

float image_sum;
std::int64_t label_sum;
void train(const float *image, const std::int64_t *label) {
    image_sum += image[0];
    label_sum += label[0] + label[1] + label[2];
}

// The status of the exception of type E, saying `text`, that `call` throws; fails the test without one.
template <class E, class Call> spdl_status caught(Call call, const char *text) {
    bool thrown = false;
    try {
        call();
    } catch (const E &e) {
        thrown = std::strstr(e.what(), text) != nullptr;
        CHECK(thrown);
        if (!thrown) std::printf("  asked for: %s\n  text was:  %s\n", text, e.what());
        return e.status();
    }
    CHECK(thrown);
    return SPDL_OK;
}

// ---- loops ----------------------------------------------------------------------------------------------

void loop_over_a_temporary_loader_sees_one_epoch_and_frees_everything() {
    image_sum = 0, label_sum = 0;
    for (spdl::Batch batch : spdl::open("imagenet.yaml"))
        train(batch["image"].data<float>(), batch["label"].data<std::int64_t>());
    CHECK(label_sum == 14 * 15 / 2);
    CHECK(image_sum == 0 + 3 + 6 + 9 + 12);
    CHECK(mock_get_counts().acquired == MOCK_BATCHES);
    CHECK(mock_get_counts().readers == 0);
}

void batch_is_released_before_the_next_is_asked_for() {
    spdl::AttachOptions options;
    options.max_leases = 1; // a second lease would be refused
    int n = 0;
    for (const spdl::Batch &batch : spdl::attach("mock", options)) n += batch.rows() == MOCK_ROWS;
    CHECK(n == MOCK_BATCHES);
}

void next_loop_after_break_goes_on_in_the_same_epoch() {
    spdl::Loader loader = spdl::attach("mock");
    for (spdl::Batch batch : loader)
        if (batch.ticket() == 1) break;
    CHECK(leases() == 0);
    std::vector<std::uint64_t> tickets;
    for (spdl::Batch batch : loader) tickets.push_back(batch.ticket());
    CHECK((tickets == std::vector<std::uint64_t>{2, 3, 4}));
    for (spdl::Batch batch : loader) {
        CHECK(batch.ticket() == 5 && batch.epoch() == 1);
        break;
    }
}

void exception_in_the_body_releases_batch_and_loader() {
    try {
        for (spdl::Batch batch : spdl::attach("mock")) throw batch.ticket();
    } catch (std::uint64_t ticket) {
        CHECK(ticket == 0);
    }
    CHECK(leases() == 0 && mock_get_counts().readers == 0);
}

void kept_batch_is_done_when_the_next_is_asked_for() {
    spdl::AttachOptions options;
    options.max_leases = MOCK_BATCHES + 1;
    spdl::Loader loader = spdl::attach("mock", options);
    std::vector<spdl::Batch> kept;
    for (spdl::Batch batch : loader) { // the end of the epoch would be refused if one were undone
        CHECK(mock_get_counts().done == static_cast<int>(kept.size()));
        kept.push_back(std::move(batch));
    }
    CHECK(leases() == MOCK_BATCHES && mock_get_counts().done == MOCK_BATCHES);
    CHECK(kept[4]["label"].data<std::int64_t>()[2] == 14);
}

void handoff_leaves_done_to_the_holder() {
    spdl::AttachOptions options;
    options.max_leases = MOCK_BATCHES;
    options.handoff = true;
    spdl::Loader loader = spdl::attach("mock", options);
    CHECK(mock_last_request()->flags == SPDL_ATTACH_HANDOFF);
    std::vector<spdl::Batch> kept;
    for (spdl::Batch batch : loader) kept.push_back(std::move(batch));
    CHECK(mock_get_counts().done == 0 && mock_get_counts().stale == 0);
    std::int64_t sum = 0;
    std::thread worker([batch = std::move(kept[3]), &sum] {
        for (std::int64_t v : batch["label"].values<std::int64_t>()) sum += v;
    });
    worker.join();
    CHECK(sum == 9 + 10 + 11);
}

void keeping_every_lease_is_a_named_error() {
    spdl::Loader loader = spdl::attach("mock");
    std::vector<spdl::Batch> kept;
    const spdl_status s = caught<spdl::LeasesExhausted>(
        [&] {
            for (spdl::Batch batch : loader) kept.push_back(std::move(batch));
        },
        "every lease is held");
    CHECK(s == SPDL_E_LEASES && kept.size() == MOCK_LEASES);
}

void engine_death_in_a_loop_is_thrown_not_taken_for_the_end() {
    int n = 0;
    spdl::Loader loader = spdl::attach("mock");
    mock_fail("spdl_acquire", 2, SPDL_E_ENGINE_LOST, "engine 4121 died");
    caught<spdl::EngineLost>(
        [&] {
            for (spdl::Batch batch : loader) n++;
        },
        "engine 4121 died");
    CHECK(n == 2 && leases() == 0);
}

void epochs_end_after_the_last_one_asked_for() {
    mock_set_epochs(3);
    spdl::Loader loader = spdl::attach("mock");
    std::vector<std::uint64_t> seen;
    for (spdl::Epoch epoch : loader.epochs())
        for (spdl::Batch batch : epoch)
            if (batch.last()) seen.push_back(epoch.number() * 100 + batch.epoch());
    CHECK((seen == std::vector<std::uint64_t>{0, 101, 202}));
    CHECK(!(loader.begin() != loader.end()));
    CHECK(!(loader.epochs().begin() != loader.epochs().end()));
    spdl::Batch batch;
    CHECK(loader.acquire(batch) == SPDL_END_DATA);
}

void epoch_left_early_is_offered_again() {
    mock_set_epochs(1);
    spdl::Loader loader = spdl::attach("mock");
    std::vector<std::size_t> batches;
    for (spdl::Epoch epoch : loader.epochs()) {
        batches.push_back(0);
        for (spdl::Batch batch : epoch)
            if (++batches.back() == 2) break;
    }
    CHECK((batches == std::vector<std::size_t>{2, 2, 1}));
}

// ---- next, acquire ------------------------------------------------------------------------------------------

void next_releases_what_the_batch_held() {
    spdl::AttachOptions options;
    options.max_leases = 1;
    spdl::Loader loader = spdl::attach("mock", options);
    spdl::Batch batch;
    int n = 0;
    while (loader.next(batch)) n++;
    CHECK(n == MOCK_BATCHES && !batch && leases() == 0);
}

void acquire_gives_news_as_values() {
    spdl::Loader loader = spdl::attach("mock");
    spdl::Batch batch;
    mock_fail("spdl_acquire", 0, SPDL_TIMEOUT, "");
    CHECK(loader.acquire(batch, 5ms) == SPDL_TIMEOUT && !batch);
    CHECK(loader.acquire(batch, 0s) == SPDL_OK && batch);
}

void failure_without_the_loop_leaves_the_batch_empty() {
    spdl::Loader loader = spdl::attach("mock");
    spdl::Batch batch;
    CHECK(loader.next(batch));
    mock_fail("spdl_acquire", 0, SPDL_E_ENGINE_STOPPED, "stopped");
    caught<spdl::EngineStopped>([&] { loader.next(batch); }, "stopped");
    CHECK(!batch && leases() == 0);
}

// ---- ownership -----------------------------------------------------------------------------------------------

void moved_batch_is_released_once() {
    spdl::Loader loader = spdl::attach("mock");
    spdl::Batch a;
    loader.next(a);
    spdl::Batch b(std::move(a));
    CHECK(!a && b && leases() == 1);
    a = std::move(b);
    spdl::Batch &self = a;
    a = std::move(self);
    CHECK(a && !b && a.rows() == MOCK_ROWS);
    CHECK(a.release() == SPDL_OK && !a);
    CHECK(a.release() == SPDL_OK); // empty: nothing to do
    CHECK(mock_get_counts().released == 1 && mock_get_counts().stale == 0);
}

void assigning_over_a_batch_releases_the_old_one() {
    spdl::Loader loader = spdl::attach("mock");
    spdl::Batch a, b;
    loader.next(a);
    loader.next(b);
    CHECK(leases() == 2);
    a = std::move(b);
    CHECK(leases() == 1 && a.ticket() == 1);
}

void batch_outlives_its_loader() {
    spdl::Batch batch;
    const std::int64_t *labels = nullptr;
    {
        spdl::Loader loader = spdl::attach("mock");
        loader.next(batch);
        labels = batch["label"].data<std::int64_t>();
    }
    CHECK(mock_get_counts().detached_with_leases == 1 && mock_get_counts().readers == 1);
    CHECK(labels[1] == 1);
    batch.release();
    CHECK(mock_get_counts().readers == 0);
}

void moved_loader_detaches_once_and_its_loops_go_on() {
    spdl::Loader a = spdl::attach("mock");
    spdl::Loader b;
    int n = 0;
    for (spdl::Batch batch : a) {
        if (n++ == 0) b = std::move(a);
    }
    CHECK(n == MOCK_BATCHES && !a && b);
    a = std::move(b);
    spdl::Loader &self = a;
    a = std::move(self);
    CHECK(a && mock_get_counts().readers == 1);
}

void loops_end_as_closed_when_their_loader_does() {
    const char *text = "closed; open or attach again";
    const auto close = [](spdl::Loader &loader) { loader.close(); };
    const auto assign = [](spdl::Loader &loader) { loader = spdl::attach("other"); };
    const auto disown = [](spdl::Loader &loader) { spdl_detach(loader.disown()); };
    for (void (*end)(spdl::Loader &) : {+close, +assign, +disown}) {
        for (bool held : {false, true}) {
            spdl::Loader loader = spdl::attach("mock");
            int n = 0;
            const auto body = [&](spdl::Batch &batch) {
                if (!held) batch.release();
                if (n++ == 0) end(loader);
            };
            CHECK(caught<spdl::Error>(
                      [&] {
                          for (spdl::Batch b : loader) body(b);
                      },
                      text) == SPDL_E_DETACHED);
            CHECK(n == 1);
        }
    }
    spdl::Loader loader = spdl::attach("mock");
    const spdl::Epochs epochs = loader.epochs();
    spdl::Epochs::Iterator at = epochs.begin();
    const spdl::Epoch epoch = *at;
    { const spdl::Loader ended = std::move(loader); }
    caught<spdl::Error>([&] { ++at; }, text);
    caught<spdl::Error>([&] { epoch.begin(); }, text);
    caught<spdl::Error>([&] { epochs.begin(); }, text);
    CHECK(mock_get_counts().readers == 0);
}

void assigning_over_a_loader_detaches_the_old_one() {
    spdl::Loader loader = spdl::attach("one");
    loader = spdl::attach("two");
    CHECK(mock_get_counts().readers == 1);
}

void closed_loader_refuses_with_a_remedy() {
    spdl::Loader loader = spdl::attach("mock");
    loader.close();
    loader.close(); // nothing left to do
    CHECK(mock_get_counts().readers == 0);
    const char *text = "closed; open or attach again";
    spdl::Batch batch;
    CHECK(caught<spdl::Error>([&] { loader.next(batch); }, text) == SPDL_E_DETACHED);
    caught<spdl::Error>([&] { loader.begin(); }, text);
    caught<spdl::Error>([&] { loader.epochs().begin(); }, text);
    caught<spdl::Error>([&] { loader.ring_info(); }, text);
    caught<spdl::Error>([&] { loader.reader_info(); }, text);
    caught<spdl::Error>([&] { loader.schema(); }, text);
    caught<spdl::Error>([&] { loader.tensor_index("image"); }, text);
    caught<spdl::Error>([&] { loader.event_fd(); }, text);
    caught<spdl::Error>([&] { loader.state_save(); }, text);
    caught<spdl::Error>([&] { loader.state_load("{}"); }, text);
    caught<spdl::Error>([&] { loader.restart(); }, text);
    caught<spdl::Error>([&] { loader.stats(); }, text);
    CHECK(loader.engine_state() == SPDL_E_DETACHED);
}

void empty_batch_refuses_instead_of_reaching_into_nothing() {
    spdl::Batch batch;
    CHECK(caught<spdl::Stale>([&] { batch["image"]; }, "empty") == SPDL_E_STALE);
    caught<spdl::Stale>([&] { batch.tensor(0); }, "empty");
    caught<spdl::Stale>([&] { batch.key(0); }, "empty");
    caught<spdl::Stale>([&] { batch.done(); }, "empty");
    CHECK(batch.n_tensors() == 0 && batch.rows() == 0);
}

void c_handles_go_in_and_out() {
    spdl_reader *reader = nullptr;
    spdl_attach_opts options = SPDL_ATTACH_OPTS_INIT;
    CHECK(spdl_attach("mock", &options, &reader) == SPDL_OK);
    spdl::Loader loader(reader);
    CHECK(loader.get() == reader);
    spdl_batch lease = SPDL_BATCH_INIT;
    CHECK(spdl_acquire(reader, -1, &lease) == SPDL_OK);
    { spdl::Batch batch(reader, lease, true); }
    CHECK(leases() == 0);
    CHECK(loader.disown() == reader && !loader);
    CHECK(mock_get_counts().readers == 1);
    spdl_detach(reader);
}

struct OneBatch {
    spdl::Loader loader = spdl::attach("mock");
    spdl::Batch batch;
    OneBatch() { loader.next(batch); }
};

// ---- stages ---

void stage_may_write_on_a_shared_ring() {
    mock_set_access(SPDL_ACCESS_SHARED);
    mock_set_stage(1);
    OneBatch one;
    one.batch["image"].mutable_data<float>()[0] = 7;
    CHECK(one.batch["image"].data<float>()[0] == 7);
}

void failed_batch_is_empty_and_its_reason_arrives() {
    mock_set_stage(1);
    OneBatch one;
    one.batch.fail("no such crop");
    CHECK(!one.batch && mock_get_counts().failed == 1 && mock_get_counts().released == 0);
    CHECK(std::string(mock_last_request()->why) == "no such crop");
    CHECK(caught<spdl::Error>([&] { one.batch.fail("again"); }, "empty") == SPDL_E_STALE);
}

void batch_that_an_exception_leaves_behind_in_a_stage_has_failed() {
    mock_set_stage(1);
    spdl::Loader loader = spdl::attach("mock");
    try {
        for (spdl::Batch batch : loader) {
            if (batch.ticket() == 1) throw std::runtime_error("half done");
        }
    } catch (const std::runtime_error &) {
    }
    CHECK(mock_get_counts().failed == 1 && mock_get_counts().released == 1);
}

void batch_used_inside_a_catch_of_a_stage_is_handed_on() {
    mock_set_stage(1);
    spdl::Loader loader = spdl::attach("mock");
    try {
        throw 1;
    } catch (int) {
        spdl::Batch batch;
        loader.next(batch);
    }
    CHECK(mock_get_counts().failed == 0 && mock_get_counts().released == 1);
}

void failure_outside_a_stage_is_refused() {
    OneBatch one;
    CHECK(caught<spdl::Error>([&] { one.batch.fail("x"); }, "no stage") == SPDL_E_ARGUMENT);
    CHECK(bool(one.batch));
}

// ---- tensors ---------------------------------------------------------------------------------------------------

void tensor_describes_itself() {
    OneBatch one;
    const spdl::Tensor image = one.batch["image"];
    CHECK(image.name() == "image" && image.dtype().name() == "float32" && !image.ragged());
    CHECK(image.rows() == MOCK_ROWS && image.size() == 36 && image.bytes() == 144 && image.contiguous());
    const spdl::Dims shape = one.batch["image"].shape();
    CHECK((std::vector<std::int64_t>(shape.begin(), shape.end()) == std::vector<std::int64_t>{3, 2, 2, 3}));
    CHECK(image.strides()[0] == 48 && image.strides().size() == 4);
    CHECK(one.batch["half"].dtype().name() == "float16");
    CHECK(one.batch["half"].data<spdl::Float16>()[1].bits == 0x3c00);
    CHECK(one.batch.n_tensors() == 8 && one.batch.tensor(1).name() == "label");
    CHECK(one.batch[std::string("index")].values<std::int64_t>().size() == MOCK_ROWS);
    CHECK(
        (spdl::DType{SPDL_BFLOAT, 16, 4}.name() == "bfloat16x4" && spdl::DType{6, 8, 1}.name() == "code6_8"));
}

void wrong_dtype_names_what_it_holds_and_what_was_asked() {
    OneBatch one;
    const char *text = "tensor \"image\": holds float32, asked for float64";
    CHECK(caught<spdl::Error>([&] { one.batch["image"].data<double>(); }, text) == SPDL_E_ARGUMENT);
    caught<spdl::Error>([&] { one.batch["image"].mutable_data<double>(); }, text);
    caught<spdl::Error>([&] { one.batch["image"].values<double>(); }, text);
    caught<spdl::Error>([&] { one.batch["image"].row<double>(0); }, text);
    caught<spdl::Error>([&] { one.batch["label"].data<std::uint64_t>(); }, "holds int64, asked for uint64");
    caught<spdl::Error>([&] { one.batch["half"].data<spdl::BFloat16>(); },
                        "holds float16, asked for bfloat16");
    caught<spdl::Error>([&] { one.batch["label"].text(0); }, "holds int64, asked for uint8");
}

void unknown_name_and_number_are_refused() {
    OneBatch one;
    CHECK(caught<spdl::NotFound>([&] { one.batch["imgae"]; }, "imgae") == SPDL_E_NOT_FOUND);
    caught<spdl::NotFound>([&] { one.loader.tensor_index("imgae"); }, "imgae");
    CHECK(caught<spdl::Error>([&] { one.batch.tensor(99); }, "no such tensor") == SPDL_E_ARGUMENT);
    CHECK(one.loader.tensor_index("label") == 1);
}

void rows_are_spans_of_dense_and_ragged_tensors() {
    OneBatch one;
    one.loader.next(one.batch); // samples 3, 4, 5
    const spdl::Span<const float> row = one.batch["image"].row<float>(2);
    CHECK(row.size() == 12 && row[0] == 5 && row[11] == 16);
    CHECK(std::accumulate(row.begin(), row.end(), 0.0f) == 12 * 5 + 66);
    CHECK(one.batch["label"].row<std::int64_t>(1).size() == 1);
    CHECK(one.batch["key"].ragged() && one.batch["key"].rows() == MOCK_ROWS);
    CHECK(one.batch.key(0) == "3" && one.batch["key"].text(2) == "5");
    CHECK(one.batch["key"].values<std::uint8_t>().size() == 3);
    CHECK(caught<spdl::Error>([&] { one.batch.key(3); }, "has 3 rows, asked for row 3") == SPDL_E_ARGUMENT);
    caught<spdl::Error>([&] { one.batch["image"].row<float>(3); }, "asked for row 3");
#if __cplusplus >= 202002L
    std::span<const float> standard = row;
    CHECK(standard.size() == 12);
#endif
}

void ragged_offsets_that_leave_the_values_are_refused() {
    mock_break_offsets();
    OneBatch one;
    CHECK(one.batch.key(0) == "0");
    CHECK(caught<spdl::FormatError>([&] { one.batch.key(2); }, "row 2 is values [2, 1000000) of 4") ==
          SPDL_E_FORMAT);
}

void padded_tensor_is_walked_by_strides_only() {
    OneBatch one;
    const spdl::Tensor padded = one.batch["padded"];
    CHECK(!padded.contiguous() && !padded.contiguous(1) && padded.contiguous(2));
    CHECK(caught<spdl::Error>([&] { padded.values<float>(); }, "not contiguous") == SPDL_E_UNSUPPORTED);
    caught<spdl::Error>([&] { padded.row<float>(0); }, "not contiguous");
    CHECK(padded.data<float>()[padded.strides()[0] / 4 + padded.strides()[1] / 4] == 1 + 2);
}

void shared_memory_is_not_given_for_writing() {
    {
        OneBatch one;
        one.batch["image"].mutable_data<float>()[0] = 7;
        CHECK(one.batch["image"].data<float>()[0] == 7);
    }
    mock_set_access(SPDL_ACCESS_SHARED);
    OneBatch one;
    CHECK(caught<spdl::Error>([&] { one.batch["image"].mutable_data<float>(); }, "read-only") ==
          SPDL_E_UNSUPPORTED);
    CHECK(one.batch["image"].data<float>()[0] == 0);
}

void schema_has_capacities_and_no_data() {
    spdl::Loader loader = spdl::attach("mock");
    const std::vector<spdl::Tensor> schema = loader.schema();
    CHECK(schema.size() == 8 && schema[0].name() == "image" && schema[0].shape()[1] == 2);
    CHECK(schema[0].data<float>() == nullptr && schema[0].values<float>().empty());
    caught<spdl::Error>([&] { schema[0].row<float>(0); }, "has 0 rows");
    mock_fail("spdl_schema_tensor", 1, SPDL_E_FORMAT, "bad schema");
    caught<spdl::FormatError>([&] { loader.schema(); }, "bad schema");
}

// ---- the rest of the loader ---------------------------------------------------------------------------------------

void options_arrive_as_the_caller_gave_them() {
    spdl::OpenOptions options;
    options.attach.group = "eval";
    options.attach.lane = 2;
    options.attach.max_leases = 3;
    options.attach.timeout = 2s;
    options.engine = "/usr/bin/spdl";
    options.args = {"--cpus", "2"};
    options.state = "{}";
    { spdl::Loader loader = spdl::open("spec.yaml", options); }
    const mock_request *q = mock_last_request();
    CHECK(!std::strcmp(q->name, "spec.yaml") && !std::strcmp(q->group, "eval") &&
          !std::strcmp(q->client, "c++"));
    CHECK(q->lane == 2 && q->max_leases == 3 && q->timeout_ns == 2000000000 && q->flags == 0);
    CHECK(!std::strcmp(q->engine, "/usr/bin/spdl") && !std::strcmp(q->args, "--cpus 2 "));
    CHECK(!std::strcmp(q->state, "{}"));
    options.state = "";
    { spdl::Loader loader = spdl::open("spec.yaml", options); }
    CHECK(!std::strcmp(q->state, "")); // which spdl_open refuses
    { spdl::Loader loader = spdl::open("spec.yaml"); }
    CHECK(!std::strcmp(q->group, "(null)") && !std::strcmp(q->engine, "(null)") &&
          !std::strcmp(q->state, "(null)"));
    CHECK(q->args[0] == '\0' && q->lane == SPDL_ANY_LANE && q->timeout_ns == 0);
    CHECK(q->form == SPDL_FORM_CHILD);
    options.in_process = true;
    { spdl::Loader loader = spdl::open("spec.yaml", options); }
    CHECK(q->form == SPDL_FORM_IN_PROCESS);
}

void failed_open_says_why_and_leaks_nothing() {
    mock_fail("spdl_open", 0, SPDL_E_SPEC, "spec.yaml line 3: unknown key \"btach\"");
    CHECK(caught<spdl::SpecError>([] { spdl::open("spec.yaml"); }, "unknown key \"btach\"") == SPDL_E_SPEC);
    mock_fail("spdl_attach", 0, SPDL_E_BUSY, "4 of 4 consumers");
    CHECK(caught<spdl::Busy>([] { spdl::attach("mock"); }, "4 of 4") == SPDL_E_BUSY);
}

template <spdl_status S> void expect_type() {
    mock_fail("spdl_attach", 0, S, "forced");
    CHECK(caught<spdl::ErrorOf<S>>([] { spdl::attach("mock"); }, "forced") == S);
}

void every_named_status_has_its_exception() {
    expect_type<SPDL_E_NOT_FOUND>(), expect_type<SPDL_E_DENIED>(), expect_type<SPDL_E_BUSY>();
    expect_type<SPDL_E_VERSION>(), expect_type<SPDL_E_FORMAT>(), expect_type<SPDL_E_ENGINE_LOST>();
    expect_type<SPDL_E_ENGINE_FAILED>(), expect_type<SPDL_E_ENGINE_STOPPED>(),
        expect_type<SPDL_E_ENGINE_START>();
    expect_type<SPDL_E_GROUP_CLOSED>(), expect_type<SPDL_E_STALE>(), expect_type<SPDL_E_LEASES>();
    expect_type<SPDL_E_UNDONE>(), expect_type<SPDL_E_STATE>(), expect_type<SPDL_E_SPEC>();
    mock_fail("spdl_attach", 0, SPDL_E_FORKED, "forced");
    CHECK(caught<spdl::Error>([] { spdl::attach("mock"); }, "forced") == SPDL_E_FORKED);
}

void state_counts_the_batch_in_hand_unless_told_not_to() {
    OneBatch one;
    one.loader.next(one.batch);
    CHECK(one.loader.state_save() == "{\"completed\":2}");
    CHECK(one.loader.state_save(0) == "{\"completed\":1}");
}

void state_and_stats_that_grow_while_asked_for_are_whole() {
    spdl::Loader loader = spdl::attach("mock");
    mock_grow_text(3);
    CHECK(loader.state_save() == "{\"completed\":0}   ");
    CHECK(loader.stats() == "{\"images\":1}   ");
    mock_fail("spdl_stats", 0, SPDL_E_ENGINE_LOST, "gone");
    caught<spdl::EngineLost>([&] { loader.stats(); }, "gone");
    mock_fail("spdl_state_save", 1, SPDL_E_ENGINE_LOST, "gone");
    caught<spdl::EngineLost>([&] { loader.state_save(); }, "gone");
    mock_grow_text(1000);
    CHECK(caught<spdl::Error>([&] { loader.stats(); }, "too small") == SPDL_E_ARGUMENT);
}

void loaded_state_goes_on_where_it_was_saved() {
    spdl::Loader loader = spdl::attach("mock");
    loader.state_load("{\"completed\":3}");
    int n = 0;
    for (spdl::Batch batch : loader) n++;
    CHECK(n == 2);
    caught<spdl::StateError>([&] { loader.state_load("x"); }, "not a state");
}

void restart_leaves_the_epoch() {
    OneBatch one;
    one.batch.release();
    one.loader.restart();
    CHECK(one.loader.reader_info().epoch == 1);
    mock_fail("spdl_restart", 0, SPDL_E_BUSY, "two consumers");
    caught<spdl::Busy>([&] { one.loader.restart(); }, "two consumers");
}

void information_is_the_c_librarys() {
    spdl::Loader loader = spdl::attach("mock");
    CHECK(loader.size() == MOCK_BATCHES && loader.ring_info().batch_rows == MOCK_ROWS);
    CHECK(loader.engine_state() == SPDL_RUNNING && loader.event_fd() == 42);
    mock_fail("spdl_event_fd", 0, SPDL_E_SYSTEM, "epoll_create1: too many files");
    caught<spdl::Error>([&] { loader.event_fd(); }, "too many files");
    mock_fail("spdl_get_ring_info", 0, SPDL_E_FORKED, "forked");
    caught<spdl::Error>([&] { loader.size(); }, "forked");
}

void done_tells_of_a_lease_that_has_ended() {
    OneBatch one;
    one.batch.done();
    one.batch.done();
    CHECK(mock_get_counts().done == 2 && leases() == 1);
    const spdl_batch lease = one.batch.raw();
    spdl_release(one.loader.get(), &lease);
    caught<spdl::Stale>([&] { one.batch.done(); }, "lease has ended");
    CHECK(one.batch.release() == SPDL_E_STALE);
}

void nothing_is_left() {
    CHECK(leases() == 0);
    CHECK(mock_get_counts().readers == 0);
}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(loop_over_a_temporary_loader_sees_one_epoch_and_frees_everything),
        TEST(batch_is_released_before_the_next_is_asked_for),
        TEST(next_loop_after_break_goes_on_in_the_same_epoch),
        TEST(exception_in_the_body_releases_batch_and_loader),
        TEST(kept_batch_is_done_when_the_next_is_asked_for),
        TEST(handoff_leaves_done_to_the_holder),
        TEST(keeping_every_lease_is_a_named_error),
        TEST(engine_death_in_a_loop_is_thrown_not_taken_for_the_end),
        TEST(epochs_end_after_the_last_one_asked_for),
        TEST(epoch_left_early_is_offered_again),
        TEST(next_releases_what_the_batch_held),
        TEST(acquire_gives_news_as_values),
        TEST(failure_without_the_loop_leaves_the_batch_empty),
        TEST(moved_batch_is_released_once),
        TEST(assigning_over_a_batch_releases_the_old_one),
        TEST(batch_outlives_its_loader),
        TEST(moved_loader_detaches_once_and_its_loops_go_on),
        TEST(loops_end_as_closed_when_their_loader_does),
        TEST(assigning_over_a_loader_detaches_the_old_one),
        TEST(closed_loader_refuses_with_a_remedy),
        TEST(empty_batch_refuses_instead_of_reaching_into_nothing),
        TEST(c_handles_go_in_and_out),
        TEST(stage_may_write_on_a_shared_ring),
        TEST(failed_batch_is_empty_and_its_reason_arrives),
        TEST(batch_that_an_exception_leaves_behind_in_a_stage_has_failed),
        TEST(batch_used_inside_a_catch_of_a_stage_is_handed_on),
        TEST(failure_outside_a_stage_is_refused),
        TEST(tensor_describes_itself),
        TEST(wrong_dtype_names_what_it_holds_and_what_was_asked),
        TEST(unknown_name_and_number_are_refused),
        TEST(rows_are_spans_of_dense_and_ragged_tensors),
        TEST(ragged_offsets_that_leave_the_values_are_refused),
        TEST(padded_tensor_is_walked_by_strides_only),
        TEST(shared_memory_is_not_given_for_writing),
        TEST(schema_has_capacities_and_no_data),
        TEST(options_arrive_as_the_caller_gave_them),
        TEST(failed_open_says_why_and_leaks_nothing),
        TEST(every_named_status_has_its_exception),
        TEST(state_counts_the_batch_in_hand_unless_told_not_to),
        TEST(state_and_stats_that_grow_while_asked_for_are_whole),
        TEST(loaded_state_goes_on_where_it_was_saved),
        TEST(restart_leaves_the_epoch),
        TEST(information_is_the_c_librarys),
        TEST(done_tells_of_a_lease_that_has_ended),
    };
    return check::run(tests, mock_reset, nothing_is_left);
}
