// spdl/status.hpp - how calls answer: Status, Result, and the exceptions. Included by spdl/spdl.hpp.
#ifndef SPDL_STATUS_HPP
#define SPDL_STATUS_HPP

#include <spdl.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#if !defined(SPDL_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define SPDL_NO_EXCEPTIONS 1
#endif
#if !defined(SPDL_NO_EXCEPTIONS)
#include <stdexcept>
#endif

namespace spdl {

// What a call answered: a spdl_status and, for a failure, the text that spdl_last_error() gave.
class [[nodiscard]] Status {
  public:
    Status() noexcept = default;
    // The answer of a C call made just now by this thread: a failure's text is taken from the library.
    explicit Status(spdl_status code) : code_(code), text_(code < 0 ? spdl_last_error() : "") {}
    Status(spdl_status code, std::string text) noexcept : code_(code), text_(std::move(text)) {}

    bool ok() const noexcept { return code_ == SPDL_OK; }
    bool failed() const noexcept { return code_ < 0; } // neither ok nor failed: news
    spdl_status code() const noexcept { return code_; }
    const std::string &text() const noexcept { return text_; }

  private:
    spdl_status code_ = SPDL_OK;
    std::string text_;
};

// A Status and, when it is ok, a value. Asking for the value of one that is not ok gives an empty T; of a T without a
// default constructor it ends the program.
template <class T> class [[nodiscard]] Result : public Status {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Status status) : Status(std::move(status)) {}

    T &operator*() & { return in(value_); }
    const T &operator*() const & { return in(value_); }
    T operator*() && { return std::move(in(value_)); } // by value, so that it may head a range-for
    T *operator->() noexcept { return &in(value_); }
    const T *operator->() const noexcept { return &in(value_); }

  private:
    static constexpr bool has_empty = std::is_default_constructible_v<T>;
    template <class Kept> static auto &in(Kept &kept) noexcept {
        if constexpr (has_empty)
            return kept;
        else
            return kept.value();
    }

    std::conditional_t<has_empty, T, std::optional<T>> value_{};
};

#if !defined(SPDL_NO_EXCEPTIONS)

// Base of everything this file throws. what() is the library's text.
class SPDL_API Error : public std::runtime_error {
  public:
    explicit Error(const Status &status) : std::runtime_error(status.text()), status_(status.code()) {}
    spdl_status status() const noexcept { return status_; }

  private:
    spdl_status status_;
};

// The failures worth a catch of their own; every other status arrives as a plain Error.
template <spdl_status S> class SPDL_API ErrorOf : public Error {
  public:
    using Error::Error;
};
using NotFound = ErrorOf<SPDL_E_NOT_FOUND>; // also: no tensor of this name
using Denied = ErrorOf<SPDL_E_DENIED>;
using Busy = ErrorOf<SPDL_E_BUSY>;
using VersionMismatch = ErrorOf<SPDL_E_VERSION>;
using FormatError = ErrorOf<SPDL_E_FORMAT>;
using EngineLost = ErrorOf<SPDL_E_ENGINE_LOST>;
using EngineFailed = ErrorOf<SPDL_E_ENGINE_FAILED>;
using EngineStopped = ErrorOf<SPDL_E_ENGINE_STOPPED>;
using EngineStartError = ErrorOf<SPDL_E_ENGINE_START>;
using GroupClosed = ErrorOf<SPDL_E_GROUP_CLOSED>;
using Stale = ErrorOf<SPDL_E_STALE>;
using LeasesExhausted = ErrorOf<SPDL_E_LEASES>;
using Undone = ErrorOf<SPDL_E_UNDONE>;
using StateError = ErrorOf<SPDL_E_STATE>;
using SpecError = ErrorOf<SPDL_E_SPEC>;
using PipelineFailed = ErrorOf<SPDL_E_PIPELINE>;
using SampleError = ErrorOf<SPDL_E_SAMPLE>;
using DeviceError = ErrorOf<SPDL_E_DEVICE>;
using PoolLost = ErrorOf<SPDL_E_POOL_LOST>;

// Throw the exception that belongs to a failed status.
[[noreturn]] inline void raise(const Status &status) {
    switch (status.code()) {
    case SPDL_E_NOT_FOUND: throw NotFound(status);
    case SPDL_E_DENIED: throw Denied(status);
    case SPDL_E_BUSY: throw Busy(status);
    case SPDL_E_VERSION: throw VersionMismatch(status);
    case SPDL_E_FORMAT: throw FormatError(status);
    case SPDL_E_ENGINE_LOST: throw EngineLost(status);
    case SPDL_E_ENGINE_FAILED: throw EngineFailed(status);
    case SPDL_E_ENGINE_STOPPED: throw EngineStopped(status);
    case SPDL_E_ENGINE_START: throw EngineStartError(status);
    case SPDL_E_GROUP_CLOSED: throw GroupClosed(status);
    case SPDL_E_STALE: throw Stale(status);
    case SPDL_E_LEASES: throw LeasesExhausted(status);
    case SPDL_E_UNDONE: throw Undone(status);
    case SPDL_E_STATE: throw StateError(status);
    case SPDL_E_SPEC: throw SpecError(status);
    case SPDL_E_PIPELINE: throw PipelineFailed(status);
    case SPDL_E_SAMPLE: throw SampleError(status);
    case SPDL_E_DEVICE: throw DeviceError(status);
    case SPDL_E_POOL_LOST: throw PoolLost(status);
    default: throw Error(status);
    }
}

namespace detail {
inline void check(const Status &status) {
    if (status.failed()) raise(status);
}
template <class T> T take(Result<T> result) {
    check(result);
    return *std::move(result);
}
} // namespace detail

#endif

} // namespace spdl

#endif
