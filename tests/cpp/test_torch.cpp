// What spdl/torch.hpp promises, against the mock: the same memory, who holds it for how long, and what is refused.

#include "check.hpp"
#include "mock.h"

#include <spdl/torch.hpp>

#include <string>
#include <thread>
#include <vector>

namespace {

int leases() { return mock_get_counts().leases; }

bool refused(const spdl::Result<at::Tensor> &r, spdl_status code, const char *text) {
    if (!r.ok() && r.code() == code && std::string(r.text()).find(text) != std::string::npos) return true;
    std::printf("  got %d, %s\n", r.code(), r.ok() ? "a tensor" : r.text().c_str());
    return false;
}

spdl::TorchBatch next(spdl::Loader &loader) {
    spdl::Batch batch;
    CHECK(loader.next(batch));
    return spdl::TorchBatch(std::move(batch));
}

void tensors_are_the_batchs_own_memory() {
    spdl::Loader loader = spdl::open("x");
    spdl::Batch batch;
    CHECK(loader.next(batch));
    const float *const image = batch["image"].data<float>();
    const spdl::TorchBatch torch(std::move(batch));
    const at::Tensor images = torch["image"], labels = torch["label"];
    CHECK(images.sizes() == at::IntArrayRef({MOCK_ROWS, 2, 2, 3}) && images.scalar_type() == at::kFloat);
    CHECK(images.data_ptr() == image && images.is_contiguous());
    CHECK(labels.scalar_type() == at::kLong && labels.sum().item<std::int64_t>() == 0 + 1 + 2);
    CHECK(images[2].flatten()[0].item<float>() == 2);
    CHECK(torch["half"].scalar_type() == at::kHalf && torch["status"].scalar_type() == at::kByte);
    CHECK(torch.batch().rows() == MOCK_ROWS);
}

// Strides are the rows' capacity, of elements.
void rows_of_more_room_than_they_take_keep_their_strides() {
    spdl::Loader loader = spdl::open("x");
    const at::Tensor padded = next(loader)["padded"];
    CHECK(padded.strides() == at::IntArrayRef({16, 4, 1}) && !padded.is_contiguous());
    CHECK(padded.sizes() == at::IntArrayRef({MOCK_ROWS, 2, 2}));
}

// As spdl::Tensor::picture has it: the batch's own memory, and the slot goes with the last of them.
void pictures_of_their_own_size_are_tensors() {
    spdl::Loader loader = spdl::open("x");
    at::Tensor kept;
    {
        const spdl::TorchBatch torch = next(loader);
        const at::Tensor images = torch["image"], wide = torch.picture("image", 0);
        kept = torch.picture("image", 1);
        CHECK(wide.sizes() == at::IntArrayRef({2, 2, 3}) && wide.data_ptr() == images.data_ptr());
        CHECK(kept.sizes() == at::IntArrayRef({2, 1, 3}) && kept.strides() == at::IntArrayRef({6, 3, 1}));
        CHECK(kept.data_ptr() == images[1].data_ptr());
        CHECK(refused(torch.try_picture("image", MOCK_ROWS), SPDL_E_ARGUMENT, "asked for row 3"));
        CHECK(refused(torch.try_picture("nope", 0), SPDL_E_NOT_FOUND, "nope"));
        CHECK(refused(torch.try_picture("image", 0, "left.extent"), SPDL_E_NOT_FOUND, "left.extent"));
        CHECK(refused(torch.try_picture("image", 0, "label"), SPDL_E_ARGUMENT, "tensor \"label\": "));
    }
    CHECK(leases() == 1 && at::equal(kept.flatten(), at::tensor({1, 2, 3, 7, 8, 9}, at::kFloat)));
    kept.reset();
    CHECK(leases() == 0);
}

void ragged_tensors_are_values_and_offsets() {
    spdl::Loader loader = spdl::open("x");
    const spdl::TorchBatch torch = next(loader);
    const at::Tensor keys = torch["key"], offsets = torch.offsets("key");
    CHECK(offsets.numel() == MOCK_ROWS + 1 && offsets[MOCK_ROWS].item<std::int64_t>() == keys.numel());
    const std::int64_t first = offsets[1].item<std::int64_t>();
    CHECK(keys[first].item<std::uint8_t>() == '1');
}

void the_last_tensor_gives_the_slot_back() {
    spdl::Loader loader = spdl::open("x");
    at::Tensor kept;
    {
        const spdl::TorchBatch torch = next(loader);
        kept = torch["image"].select(0, 1).transpose(0, 1); // a view of a view
        CHECK(leases() == 1);
    }
    CHECK(leases() == 1 && kept.flatten()[0].item<float>() == 1);
    kept = kept.clone();
    CHECK(leases() == 0);
}

void a_tensor_may_end_on_another_thread_and_after_its_loader() {
    spdl::Loader loader = spdl::open("x");
    at::Tensor kept = next(loader)["image"];
    loader.close();
    CHECK(leases() == 1 && kept[0].flatten()[3].item<float>() == 3);
    std::thread([taken = std::move(kept)]() mutable { taken.reset(); }).join();
    CHECK(leases() == 0 && mock_get_counts().readers == 0);
}

void a_loop_keeps_one_batch_at_a_time() {
    int batches = 0;
    std::int64_t sum = 0;
    spdl::Loader loader = spdl::open("x");
    for (spdl::Batch batch : loader) {
        const spdl::TorchBatch torch(std::move(batch));
        sum += torch["label"].sum().item<std::int64_t>();
        batches++;
        CHECK(leases() == 1);
    }
    CHECK(batches == MOCK_BATCHES && sum == 14 * 15 / 2 && leases() == 0);
}

void what_cannot_be_a_tensor_is_refused_by_name() {
    spdl::Loader loader = spdl::open("x");
    const spdl::TorchBatch torch = next(loader);
    CHECK(refused(torch.try_tensor("nope"), SPDL_E_NOT_FOUND, "nope"));
    CHECK(refused(torch.try_offsets("image"), SPDL_E_ARGUMENT, "tensor \"image\": is not ragged"));
    CHECK(!spdl::try_scalar_type({SPDL_UINT, 32}).ok() &&
          spdl::try_scalar_type({SPDL_UINT, 32}).code() == SPDL_E_UNSUPPORTED);
    CHECK(*spdl::try_scalar_type({SPDL_BFLOAT, 16}) == at::kBFloat16);
    bool thrown = false;
    try {
        (void)torch["nope"];
    } catch (const spdl::Error &e) {
        thrown = e.status() == SPDL_E_NOT_FOUND;
    }
    CHECK(thrown);
    const spdl::TorchBatch empty{spdl::Batch()};
    CHECK(refused(empty.try_tensor("image"), SPDL_E_STALE, "empty"));
}

void begin() { mock_reset(); }
void end() {
    CHECK(leases() == 0 && mock_get_counts().readers == 0 && mock_get_counts().detached_with_leases <= 1);
}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(tensors_are_the_batchs_own_memory),
        TEST(rows_of_more_room_than_they_take_keep_their_strides),
        TEST(pictures_of_their_own_size_are_tensors),
        TEST(ragged_tensors_are_values_and_offsets),
        TEST(the_last_tensor_gives_the_slot_back),
        TEST(a_tensor_may_end_on_another_thread_and_after_its_loader),
        TEST(a_loop_keeps_one_batch_at_a_time),
        TEST(what_cannot_be_a_tensor_is_refused_by_name),
    };
    return check::run(tests, begin, end);
}
