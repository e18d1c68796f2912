// spdl/gpu.hpp - pinned rings: ownership over spdl_pin. Included by spdl/spdl.hpp.
//
//     const spdl::Pin pin = spdl::pin(loader);
//     for (spdl::Batch batch : loader) {
//         cudaMemcpyAsync(on_gpu, batch["image"].data<std::uint8_t>(), bytes, cudaMemcpyHostToDevice, stream);
//         batch.release_after(stream); // the slot goes back behind the copy
//     }
//
// Nothing of CUDA is needed to compile or link: libspdl loads the driver. A stream is a void * here: CUstream, cudaStream_t.
#ifndef SPDL_GPU_HPP
#define SPDL_GPU_HPP

#include <spdl/status.hpp>

#include <cstdint>
#include <utility>

namespace spdl {

// As spdl_pin_opts.
struct PinOptions {
    std::int32_t device = SPDL_CURRENT_DEVICE;
    bool stage =
        false; // where the memory cannot be pinned, copy tensors that are asked for into memory that is
};

// A ring whose memory is pinned until the end of this object. It borrows the reader, as an Epoch does: declare it after its loader, and
// close the loader after it. Its end waits for the copies of release_after.
class Pin {
  public:
    Pin() noexcept = default;
    Pin(spdl_reader *reader, const spdl_pin_info &info) noexcept : reader_(reader), info_(info) {}
    Pin(Pin &&other) noexcept : reader_(std::exchange(other.reader_, nullptr)), info_(other.info_) {}
    Pin &operator=(Pin &&other) noexcept {
        if (this == &other) return *this;
        reset();
        reader_ = std::exchange(other.reader_, nullptr);
        info_ = other.info_;
        return *this;
    }
    ~Pin() { reset(); }

    explicit operator bool() const noexcept { return reader_ != nullptr; }
    const spdl_pin_info &info() const noexcept { return info_; } // as it was when pinned: mode, device, bytes
    void reset() noexcept {
        if (reader_) spdl_unpin(std::exchange(reader_, nullptr));
    }
    void disown() noexcept { reader_ = nullptr; } // the loader's end unpins

  private:
    spdl_reader *reader_ = nullptr;
    spdl_pin_info info_ = SPDL_PIN_INFO_INIT;
};

// Pin the memory of a reader's ring. As spdl_pin.
inline Result<Pin> try_pin(spdl_reader *reader, const PinOptions &options = {}) {
    spdl_pin_opts c = SPDL_PIN_OPTS_INIT;
    spdl_pin_info info = SPDL_PIN_INFO_INIT;
    c.flags = options.stage ? SPDL_PIN_STAGE : 0;
    c.device = options.device;
    if (const spdl_status s = spdl_pin(reader, &c, &info); s != SPDL_OK) return Status(s);
    return Pin(reader, info);
}

#if !defined(SPDL_NO_EXCEPTIONS)
inline Pin pin(spdl_reader *reader, const PinOptions &options = {}) {
    return detail::take(try_pin(reader, options));
}
#endif

} // namespace spdl

#endif
