// spdl/load.hpp - one sample decoded at once, without a ring: Loaded, Loading.
//
//     spdl::Loaded sound = spdl::load(R"({"audio": {"rate": 16000}})", "speech.flac");
//     train(sound["audio"].data<float>(), sound["audio"].shape());
//
//     spdl::Loading film = spdl::load_chunks(R"({"video": {"frames": 64}})", "two_hours.mp4");
//     while (spdl::Loaded chunk = film.next()) work(chunk["video"]);
//
// The descriptions are spdl_load's. As elsewhere try_* answers with a Result, and the others throw.
#ifndef SPDL_LOAD_HPP
#define SPDL_LOAD_HPP

#include <spdl/tensor.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace spdl {

// What was decoded; it owns the memory of its tensors, which are writable. Move-only; false while empty.
class [[nodiscard]] Loaded {
  public:
    Loaded() noexcept = default;
    explicit Loaded(spdl_loaded *loaded) noexcept : loaded_(loaded) {}
    Loaded(Loaded &&other) noexcept : loaded_(std::exchange(other.loaded_, nullptr)) {}
    Loaded &operator=(Loaded &&other) noexcept {
        if (this != &other) spdl_loaded_free(std::exchange(loaded_, std::exchange(other.loaded_, nullptr)));
        return *this;
    }
    ~Loaded() { spdl_loaded_free(loaded_); }

    explicit operator bool() const noexcept { return loaded_ != nullptr; }
    std::uint32_t n_tensors() const noexcept { return spdl_loaded_n_tensors(loaded_); }
    std::string_view info() const noexcept { return spdl_loaded_info(loaded_); } // JSON

    // A tensor by number or by name; SPDL_E_ARGUMENT, SPDL_E_NOT_FOUND. Views live as long as this does.
    Result<Tensor> try_tensor(std::uint32_t i) const {
        spdl_tensor t = SPDL_TENSOR_INIT;
        if (const spdl_status s = spdl_loaded_tensor(loaded_, i, &t); s != SPDL_OK) return Status(s);
        return Tensor(t, t.ndim > 0 ? static_cast<std::uint32_t>(t.shape[0]) : 1, true);
    }
    Result<Tensor> try_tensor(std::string_view name) const {
        for (std::uint32_t i = 0; i < n_tensors(); i++)
            if (Result<Tensor> t = try_tensor(i); t.ok() && t->name() == name) return t;
        return Status(SPDL_E_NOT_FOUND, "spdl: loaded: it has no tensor \"" + std::string(name) + "\"");
    }

#if !defined(SPDL_NO_EXCEPTIONS)
    Tensor tensor(std::uint32_t i) const & { return detail::take(try_tensor(i)); }
    Tensor operator[](std::string_view name) const & { return detail::take(try_tensor(name)); }
    Tensor tensor(std::uint32_t) const && = delete; // would dangle
    Tensor operator[](std::string_view) const && = delete;
#endif

  private:
    spdl_loaded *loaded_ = nullptr;
};

namespace detail {
// Where bytes lie. No bytes are an empty sample, but an empty vector's lie nowhere, which C takes for "none are given".
inline const void *place(const void *bytes, std::size_t n_bytes) noexcept {
    return bytes == nullptr && n_bytes == 0 ? "" : bytes;
}
} // namespace detail

// Decode a file, or bytes, which must outlive what is loaded: arrays may be views of them. A std::string is a path: of one that holds an upload give
// data() and size(), or whoever sent it chooses a file.
inline Result<Loaded> try_load(const std::string &description, const std::string &path) {
    spdl_loaded *out = nullptr;
    if (const spdl_status s = spdl_load(description.c_str(), nullptr, 0, path.c_str(), &out); s != SPDL_OK)
        return Status(s);
    return Loaded(out);
}
inline Result<Loaded> try_load(const std::string &description, const void *bytes, std::size_t n_bytes) {
    spdl_loaded *out = nullptr;
    if (const spdl_status s =
            spdl_load(description.c_str(), detail::place(bytes, n_bytes), n_bytes, nullptr, &out);
        s != SPDL_OK)
        return Status(s);
    return Loaded(out);
}

// Pictures of one size in one tensor; samples are made with SPDL_SAMPLE_INIT, each with its bytes or its path.
inline Result<Loaded> try_load_batch(const std::string &description, const spdl_sample *samples,
                                     std::size_t n_samples) {
    spdl_loaded *out = nullptr;
    if (const spdl_status s = spdl_load_batch(description.c_str(), samples, n_samples, &out); s != SPDL_OK)
        return Status(s);
    return Loaded(out);
}

// A long video in chunks. Move-only; one thread at a time.
class [[nodiscard]] Loading {
  public:
    Loading() noexcept = default;
    explicit Loading(spdl_loading *loading) noexcept : loading_(loading) {}
    Loading(Loading &&other) noexcept : loading_(std::exchange(other.loading_, nullptr)) {}
    Loading &operator=(Loading &&other) noexcept {
        if (this != &other)
            spdl_loading_close(std::exchange(loading_, std::exchange(other.loading_, nullptr)));
        return *this;
    }
    ~Loading() { spdl_loading_close(loading_); }

    // The next chunk; SPDL_END_DATA, which is neither ok nor failed, after the last.
    Result<Loaded> try_next() {
        spdl_loaded *out = nullptr;
        if (const spdl_status s = spdl_loading_next(loading_, &out); s != SPDL_OK) return Status(s);
        return Loaded(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    // Empty after the last.
    Loaded next() { return detail::take(try_next()); }
#endif

  private:
    spdl_loading *loading_ = nullptr;
};

inline Result<Loading> try_load_chunks(const std::string &description, const std::string &path) {
    spdl_loading *out = nullptr;
    if (const spdl_status s = spdl_loading_open(description.c_str(), nullptr, 0, path.c_str(), &out);
        s != SPDL_OK)
        return Status(s);
    return Loading(out);
}

#if !defined(SPDL_NO_EXCEPTIONS)
inline Loaded load(const std::string &description, const std::string &path) {
    return detail::take(try_load(description, path));
}
inline Loaded load(const std::string &description, const void *bytes, std::size_t n_bytes) {
    return detail::take(try_load(description, bytes, n_bytes));
}
inline Loaded load_batch(const std::string &description, const spdl_sample *samples, std::size_t n_samples) {
    return detail::take(try_load_batch(description, samples, n_samples));
}
inline Loading load_chunks(const std::string &description, const std::string &path) {
    return detail::take(try_load_chunks(description, path));
}
#endif

} // namespace spdl

#endif
