// spdl/batch.hpp - one lease, owned. Included by spdl/spdl.hpp.
#ifndef SPDL_BATCH_HPP
#define SPDL_BATCH_HPP

#include <spdl/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace spdl {

// A leased batch, for one thread at a time; empty when default-made, moved from or released.
class Batch {
  public:
    Batch() noexcept = default;
    // Take over a lease that spdl_acquire gave.
    // `flags` are those of spdl_reader_info.
    Batch(spdl_reader *reader, const spdl_batch &batch, std::uint32_t flags) noexcept
        : reader_(reader), batch_(batch), flags_(flags) {}
    Batch(Batch &&other) noexcept
        : reader_(std::exchange(other.reader_, nullptr)), batch_(other.batch_), flags_(other.flags_) {}
    Batch &operator=(Batch &&other) noexcept {
        if (this == &other) return *this;
        release();
        reader_ = std::exchange(other.reader_, nullptr);
        batch_ = other.batch_;
        flags_ = other.flags_;
        return *this;
    }
    // In a stage a batch that an exception leaves behind has failed: half transformed it is not handed on.
    ~Batch() {
#if !defined(SPDL_NO_EXCEPTIONS)
        if (reader_ && (flags_ & SPDL_READER_STAGE) && std::uncaught_exceptions() > exceptions_ &&
            spdl_fail(reader_, &batch_, "an exception left it behind") == SPDL_OK)
            reader_ = nullptr;
#endif
        release();
    }

    explicit operator bool() const noexcept { return reader_ != nullptr; }
    std::uint32_t rows() const noexcept { return batch_.rows; } // 0 if every sample was bad and skipped
    std::uint64_t ticket() const noexcept { return batch_.ticket; }
    std::uint64_t epoch() const noexcept { return batch_.epoch; }
    std::uint64_t step() const noexcept { return batch_.step; }
    std::uint32_t attempts() const noexcept { return batch_.attempts; } // above 1: delivered before
    std::uint32_t flags() const noexcept { return batch_.flags; }       // SPDL_BATCH_*
    bool last() const noexcept { return (batch_.flags & SPDL_BATCH_LAST) != 0; }
    const spdl_batch &raw() const noexcept { return batch_; }

    // Give the slot back now; the batch is empty afterwards. SPDL_OK also for an empty one; SPDL_E_STALE if
    // the engine had taken the lease back, which matters to nobody but the curious.
    spdl_status release() noexcept {
        spdl_reader *reader = std::exchange(reader_, nullptr);
        return reader ? spdl_release(reader, &batch_) : SPDL_OK;
    }

    // Say that the batch was used: it will not be delivered again. Its memory stays; in a stage it is the next
    // group's from here on.
    Status try_done() {
        if (!reader_) return empty();
        return Status(spdl_done(reader_, &batch_));
    }

    // In a stage, say that the batch cannot be transformed, and why: see spdl_fail. The batch is empty afterwards.
    Status try_fail(const std::string &why) {
        if (!reader_) return empty();
        const spdl_status s = spdl_fail(reader_, &batch_, why.c_str());
        if (s == SPDL_OK) reader_ = nullptr;
        return Status(s);
    }

    // Release when what is in the CUDA stream so far (or before the event) has ended: see spdl_release_after. The batch is empty
    // then; after a failure it is as it was.
    Status try_release_after(void *handle, std::uint32_t kind = SPDL_AFTER_STREAM) {
        if (!reader_) return empty();
        const spdl_status s = spdl_release_after(reader_, &batch_, kind, handle);
        if (s == SPDL_OK) reader_ = nullptr;
        return Status(s);
    }

    // Let a CUDA stream wait until the tensors in device memory are complete.
    Status try_stream_wait(void *stream) const {
        if (!reader_) return empty();
        return Status(spdl_stream_wait(reader_, &batch_, stream));
    }

    // Tensors, by number (as in the schema) or by name; SPDL_E_NOT_FOUND.
    std::uint32_t n_tensors() const noexcept { return reader_ ? spdl_n_tensors(reader_) : 0; }
    Result<Tensor> try_tensor(std::uint32_t i) const {
        if (!reader_) return empty();
        spdl_tensor tensor = SPDL_TENSOR_INIT;
        if (const spdl_status s = spdl_batch_tensor(reader_, &batch_, i, &tensor); s != SPDL_OK)
            return Status(s);
        return Tensor(tensor, batch_.rows, (flags_ & SPDL_READER_WRITES) != 0);
    }
    Result<Tensor> try_tensor(const char *name) const {
        if (!reader_) return empty();
        const std::int32_t i = spdl_tensor_index(reader_, name);
        if (i < 0) return Status(static_cast<spdl_status>(i));
        return try_tensor(static_cast<std::uint32_t>(i));
    }
    Result<Tensor> try_tensor(const std::string &name) const { return try_tensor(name.c_str()); }
    Result<Tensor> try_tensor(std::nullptr_t) const = delete;

    // The key of one row. Valid until release.
    Result<std::string_view> try_key(std::uint32_t row) const {
        Result<Tensor> keys = try_tensor("key");
        if (!keys.ok()) return Status(std::move(keys));
        return keys->try_text(row);
    }

#if !defined(SPDL_NO_EXCEPTIONS)
    void done() { detail::check(try_done()); }
    void fail(const std::string &why) { detail::check(try_fail(why)); }
    void release_after(void *handle, std::uint32_t kind = SPDL_AFTER_STREAM) {
        detail::check(try_release_after(handle, kind));
    }
    void stream_wait(void *stream) const { detail::check(try_stream_wait(stream)); }
    Tensor tensor(std::uint32_t i) const & { return detail::take(try_tensor(i)); }
    Tensor operator[](const char *name) const & { return detail::take(try_tensor(name)); }
    Tensor operator[](const std::string &name) const & { return detail::take(try_tensor(name)); }
    Tensor operator[](std::nullptr_t) const = delete;
    std::string_view key(std::uint32_t row) const & { return detail::take(try_key(row)); }

    // A view of a batch that is about to end would dangle.
    Tensor tensor(std::uint32_t) const && = delete;
    Tensor operator[](const char *) const && = delete;
    Tensor operator[](const std::string &) const && = delete;
    std::string_view key(std::uint32_t) const && = delete;
#endif

  private:
    static Status empty() { return {SPDL_E_STALE, "spdl: batch: empty; it was released or moved from"}; }

    spdl_reader *reader_ = nullptr;
    spdl_batch batch_ = SPDL_BATCH_INIT;
    std::uint32_t flags_ = 0; // SPDL_READER_*
#if !defined(SPDL_NO_EXCEPTIONS)
    int exceptions_ = std::uncaught_exceptions(); // under way when it was made
#endif
};

} // namespace spdl

#endif
