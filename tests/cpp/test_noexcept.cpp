// What spdl.hpp promises without exceptions and RTTI, against the mock: the try_ face alone carries every
// call, its failures and its news. Built with -fno-exceptions -fno-rtti, and with SPDL_NO_EXCEPTIONS.

#include "check.hpp"
#include "mock.h"

#include <spdl/spdl.hpp>

#include <cstring>

#ifndef SPDL_NO_EXCEPTIONS
#error "this program is about the mode without exceptions"
#endif

using namespace std::chrono_literals;

namespace {

// ---- at compile time: what could only fail by throwing is not there ---------------------------------------

template <class T, class = void> constexpr bool iterable = false;
template <class T> constexpr bool iterable<T, std::void_t<decltype(std::declval<T>().begin())>> = true;
static_assert(!iterable<spdl::Loader &>, "an epoch cut short by a failure would look like a whole one");

template <class T, class = void> constexpr bool indexable = false;
template <class T> constexpr bool indexable<T, std::void_t<decltype(std::declval<T>()["image"])>> = true;
static_assert(!indexable<spdl::Batch &>);

bool says(const spdl::Status &s, spdl_status code, const char *text) {
    return s.code() == code && s.text().find(text) != std::string::npos;
}

// ---- tests ------------------------------------------------------------------------------------------------------

void loop_ends_with_news_and_frees_everything() {
    spdl::Result<spdl::Loader> loader = spdl::try_open("spec.yaml");
    CHECK(loader.ok());
    spdl::Batch batch;
    spdl::Status status;
    std::int64_t sum = 0;
    while ((status = loader->try_acquire(batch)).ok()) {
        auto labels = batch.try_tensor("label");
        CHECK(labels.ok());
        for (std::int64_t v : *labels->try_values<std::int64_t>()) sum += v;
    }
    CHECK(status.code() == SPDL_END_EPOCH && !status.failed() && status.text().empty());
    CHECK(sum == 14 * 15 / 2 && !batch);
}

void failure_in_a_loop_is_told_from_its_end() {
    spdl::Loader loader = *spdl::try_attach("mock");
    mock_fail("spdl_acquire", 1, SPDL_E_ENGINE_LOST, "engine 4121 died");
    spdl::Batch batch;
    spdl::Status status;
    int n = 0;
    while ((status = loader.try_acquire(batch)).ok()) n++;
    CHECK(n == 1 && status.failed() && says(status, SPDL_E_ENGINE_LOST, "4121"));
}

void failed_open_and_attach_hold_an_empty_loader() {
    mock_fail("spdl_open", 0, SPDL_E_SPEC, "line 3");
    spdl::Result<spdl::Loader> opened = spdl::try_open("spec.yaml");
    CHECK(says(opened, SPDL_E_SPEC, "line 3") && !*opened);
    mock_fail("spdl_attach", 0, SPDL_E_NOT_FOUND, "no engine");
    spdl::Result<spdl::Loader> attached = spdl::try_attach("mock");
    CHECK(says(attached, SPDL_E_NOT_FOUND, "no engine") && !*attached);
}

void timeout_is_news() {
    spdl::Loader loader = *spdl::try_attach("mock");
    mock_fail("spdl_acquire", 0, SPDL_TIMEOUT, "");
    spdl::Batch batch;
    const spdl::Status s = loader.try_acquire(batch, 1ms);
    CHECK(s.code() == SPDL_TIMEOUT && !s.ok() && !s.failed());
}

void closed_loader_and_empty_batch_refuse() {
    spdl::Loader loader = *spdl::try_attach("mock");
    CHECK(loader.try_close().ok());
    const char *text = "closed; open or attach again";
    spdl::Batch batch;
    CHECK(says(loader.try_acquire(batch), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_ring_info(), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_schema(), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_tensor_index("x"), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_event_fd(), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_state_save(), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_state_load("{}"), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_restart(), SPDL_E_DETACHED, text));
    CHECK(says(loader.try_stats(), SPDL_E_DETACHED, text));
    CHECK(says(batch.try_tensor("image"), SPDL_E_STALE, "empty"));
    CHECK(says(batch.try_tensor(0u), SPDL_E_STALE, "empty"));
    CHECK(says(batch.try_key(0), SPDL_E_STALE, "empty"));
    CHECK(says(batch.try_done(), SPDL_E_STALE, "empty"));
}

void tensor_refusals_come_as_results() {
    spdl::Loader loader = *spdl::try_attach("mock");
    spdl::Batch batch;
    CHECK(loader.try_acquire(batch).ok());
    const spdl::Tensor image = *batch.try_tensor("image");
    CHECK((*image.try_data<float>())[1] == 1);
    CHECK(*image.try_mutable_data<float>() == *image.try_data<float>());
    CHECK(says(image.try_data<double>(), SPDL_E_ARGUMENT, "holds float32, asked for float64"));
    CHECK(says(image.try_row<float>(3), SPDL_E_ARGUMENT, "row 3"));
    CHECK(says(batch.try_tensor("x"), SPDL_E_NOT_FOUND, "\"x\""));
    CHECK(says(batch.try_tensor(99u), SPDL_E_ARGUMENT, "no such tensor"));
    CHECK(says(batch.try_tensor("padded")->try_values<float>(), SPDL_E_UNSUPPORTED, "not contiguous"));
    CHECK(*batch.try_key(2) == "2");
}

void shared_memory_is_not_given_for_writing() {
    mock_set_access(SPDL_ACCESS_SHARED);
    spdl::Loader loader = *spdl::try_attach("mock");
    spdl::Batch batch;
    CHECK(loader.try_acquire(batch).ok());
    CHECK(says(batch.try_tensor("image")->try_mutable_data<float>(), SPDL_E_UNSUPPORTED, "read-only"));
}

void state_round_trip() {
    spdl::Loader loader = *spdl::try_attach("mock");
    spdl::Batch batch;
    CHECK(loader.try_acquire(batch).ok());
    const std::string state = *loader.try_state_save();
    CHECK(state == "{\"completed\":1}");
    batch.release();
    CHECK(loader.try_restart().ok() && loader.try_state_load(state).ok());
    CHECK(loader.try_acquire(batch).ok() && batch.ticket() == 1);
    CHECK(says(loader.try_state_load("x"), SPDL_E_STATE, "not a state"));
}

void close_that_fails_says_so() {
    spdl::Loader loader = *spdl::try_attach("mock");
    spdl_reader *reader = loader.get();
    mock_fail("spdl_detach", 0, SPDL_E_SYSTEM, "munmap");
    CHECK(says(loader.try_close(), SPDL_E_SYSTEM, "munmap"));
    spdl_detach(reader); // the mock kept it
}

void nothing_is_left() {
    CHECK(mock_get_counts().leases == 0);
    CHECK(mock_get_counts().readers == 0);
}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(loop_ends_with_news_and_frees_everything),
        TEST(failure_in_a_loop_is_told_from_its_end),
        TEST(failed_open_and_attach_hold_an_empty_loader),
        TEST(timeout_is_news),
        TEST(closed_loader_and_empty_batch_refuse),
        TEST(tensor_refusals_come_as_results),
        TEST(shared_memory_is_not_given_for_writing),
        TEST(state_round_trip),
        TEST(close_that_fails_says_so),
    };
    return check::run(tests, mock_reset, nothing_is_left);
}
