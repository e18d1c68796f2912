// The C++ client's GPU half over the real libspdl and a real ring, with the CUDA driver of tests/cuda, which needs no GPU.

#include "check.hpp"

#include <spdl/spdl.hpp>

extern "C" {
#include "../capi/standin.h"
#include "../../capi/cuda/driver.h"
}

#include <dlfcn.h>

#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

cuda_driver cu;

struct Stats { // the beginning of fake_stats in tests/cuda/fake.h, which is C
    std::uint64_t contexts, streams, events, registered;
};

const volatile Stats &stats() {
    void *symbol = dlsym(cu.library, "fake_cuda_stats");
    return *reinterpret_cast<const volatile Stats *(*)()>(symbol)();
}

struct Ring {
    standin *s;
    spdl::Loader loader;

    explicit Ring(std::uint32_t device_slots = 0) {
        standin_opts o = STANDIN_OPTS;
        o.device_slots = device_slots;
        s = standin_make(o);
        standin_serve(s, -1);
        loader = spdl::attach(s->path);
    }
    ~Ring() {
        loader.close();
        standin_free(s);
    }
    spdl::Batch next() {
        standin_publish(s, 0, false);
        spdl::Batch batch;
        CHECK(loader.next(batch));
        return batch;
    }
};

void pin_lasts_as_long_as_its_object() {
    Ring ring;
    {
        spdl::Pin pin = spdl::pin(ring.loader);
        CHECK(pin.info().mode == SPDL_PIN_READ_ONLY && pin.info().device == 0 && stats().registered == 1);
        spdl::Pin moved = std::move(pin);
        CHECK(moved && stats().registered == 1);
        CHECK(spdl::try_pin(ring.loader).code() == SPDL_E_BUSY);
        moved = spdl::Pin();
        CHECK(stats().registered == 0);
    }
    spdl::Pin pin = spdl::pin(ring.loader);
    pin.disown();
    CHECK(stats().registered == 1); // until the loader's end
}

void pin_of_nothing_is_refused() {
    CHECK(spdl::try_pin(spdl::Loader()).code() == SPDL_E_DETACHED);
    Ring ring;
    spdl::PinOptions options;
    options.device = 5;
    const auto refused = spdl::try_pin(ring.loader, options);
    CHECK(refused.code() == SPDL_E_NOT_FOUND && refused.text().find("device 5") != std::string::npos);
}

void batch_released_behind_a_stream_is_empty() {
    Ring ring;
    const spdl::Pin pin = spdl::pin(ring.loader);
    cu_context context;
    cu_stream stream;
    CHECK(cu.DevicePrimaryCtxRetain(&context, 0) == CU_OK && cu.CtxSetCurrent(context) == CU_OK);
    CHECK(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CU_OK);
    spdl::Batch batch = ring.next();
    try {
        batch.release_after(&ring);
        CHECK(!"thrown");
    } catch (const spdl::DeviceError &e) {
        CHECK(std::string(e.what()).find("CUDA_ERROR_INVALID_HANDLE") != std::string::npos);
    }
    CHECK(batch && batch.rows() > 0); // as it was
    batch.release_after(stream);
    CHECK(!batch && batch.try_release_after(stream).code() == SPDL_E_STALE);
    CHECK(cu.StreamSynchronize(stream) == CU_OK);
    CHECK(!ring.loader.try_acquire(batch, 0s).ok());
    CHECK(SPDL_L_STATE(__atomic_load_n(&standin_word(ring.s, 0)->word, __ATOMIC_ACQUIRE)) == SPDL_L_FREE);
    CHECK(cu.StreamDestroy(stream) == CU_OK && cu.CtxSetCurrent(nullptr) == CU_OK &&
          cu.DevicePrimaryCtxRelease(0) == CU_OK);
}

void device_tensors_are_typed_and_not_for_the_host() {
    spdl_tensor raw = SPDL_TENSOR_INIT;
    raw.name = "image@cuda";
    raw.dtype_code = SPDL_FLOAT, raw.dtype_bits = 16, raw.dtype_lanes = 1;
    raw.device_type = 2, raw.device_id = 3, raw.data = &raw;
    const spdl::Tensor tensor(raw, 1, false);
    CHECK(tensor.on_device() && tensor.device() == 3);
    const void *at = tensor.device_data<spdl::Float16>();
    CHECK(at == &raw);
    CHECK(tensor.try_device_data<float>().code() == SPDL_E_ARGUMENT);
    CHECK(tensor.try_data<spdl::Float16>().code() == SPDL_E_ARGUMENT);
    CHECK(tensor.try_values<spdl::Float16>().text().find("in device memory") != std::string::npos);
    CHECK(tensor.try_row<spdl::Float16>(0).code() == SPDL_E_ARGUMENT);
}

void device_tensor_of_a_lost_pool_throws_and_the_hosts_is_good() {
    Ring ring(2);
    spdl::Batch batch = ring.next();
    try {
        batch["image@cuda"];
        CHECK(!"thrown");
    } catch (const spdl::PoolLost &) {
    }
    CHECK(batch.try_stream_wait(nullptr).code() == SPDL_E_POOL_LOST);
    const spdl::Tensor image = batch["image"];
    CHECK(!image.on_device() && standin_image_is(image.data<std::uint8_t>(), batch.rows(), batch.ticket()));
    CHECK(image.try_device_data<std::uint8_t>().code() == SPDL_E_ARGUMENT);
}

void begin() {
    static char why[256];
    if (!cu.library && sp_cuda_load(&cu, why, sizeof why) != CUDA_LOADED) std::puts(why);
    CHECK(cu.library && cu.Init(0) == CU_OK);
}

void nothing_is_left() { CHECK(stats().registered == 0 && stats().contexts == 0 && stats().events == 0); }

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(pin_lasts_as_long_as_its_object),
        TEST(pin_of_nothing_is_refused),
        TEST(batch_released_behind_a_stream_is_empty),
        TEST(device_tensors_are_typed_and_not_for_the_host),
        TEST(device_tensor_of_a_lost_pool_throws_and_the_hosts_is_good),
    };
    return check::run(tests, begin, nothing_is_left);
}
