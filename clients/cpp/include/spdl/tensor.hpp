// spdl/tensor.hpp - views of what a batch holds: Tensor, DType, Dims, Span. Included by spdl/spdl.hpp.
#ifndef SPDL_TENSOR_HPP
#define SPDL_TENSOR_HPP

#include <spdl/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace spdl {

// A pointer and a count; std::span and whatever takes data() and size() accept it.
template <class T> class Span {
  public:
    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A shape or strides, by value, so that batch["image"].shape() may be kept.
class Dims {
  public:
    Dims() noexcept = default;
    Dims(const std::int64_t *dims, std::uint32_t n) noexcept : n_(n < SPDL_MAX_NDIM ? n : SPDL_MAX_NDIM) {
        for (std::size_t i = 0; i < n_; i++) dims_[i] = dims[i];
    }
    const std::int64_t *data() const noexcept { return dims_; }
    std::size_t size() const noexcept { return n_; }
    const std::int64_t *begin() const noexcept { return dims_; }
    const std::int64_t *end() const noexcept { return dims_ + n_; }
    std::int64_t operator[](std::size_t i) const noexcept { return dims_[i]; }

  private:
    std::int64_t dims_[SPDL_MAX_NDIM] = {};
    std::uint32_t n_ = 0;
};

// DLPack's DLDataType.
struct DType {
    std::uint8_t code = SPDL_UINT; // SPDL_INT, SPDL_UINT, SPDL_FLOAT, SPDL_BFLOAT
    std::uint8_t bits = 8;
    std::uint16_t lanes = 1;

    friend bool operator==(DType a, DType b) noexcept {
        return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
    }
    friend bool operator!=(DType a, DType b) noexcept { return !(a == b); }

    // "float32", "uint8", "bfloat16"; "float32x4" for vectors.
    std::string name() const {
        std::string text = code == SPDL_INT      ? "int"
                           : code == SPDL_UINT   ? "uint"
                           : code == SPDL_FLOAT  ? "float"
                           : code == SPDL_BFLOAT ? "bfloat"
                                                 : "code" + std::to_string(code) + "_";
        text += std::to_string(bits);
        if (lanes != 1) text += "x" + std::to_string(lanes);
        return text;
    }
};

// The bits of a half and of a bfloat16, for those who have no type of their own for them.
struct Float16 {
    std::uint16_t bits;
};
struct BFloat16 {
    std::uint16_t bits;
};

// The dtype that memory must have to be read as T. Specialise it to read a tensor as a type of your own:
//     template <> struct spdl::DTypeOf<__half> : spdl::DTypeConstant<SPDL_FLOAT, 16> {};
template <std::uint8_t Code, std::uint8_t Bits> struct DTypeConstant {
    static constexpr DType value{Code, Bits, 1};
};
template <class T, class = void> struct DTypeOf; // no dtype reads as this T
template <class T>
struct DTypeOf<
    T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>>>
    : DTypeConstant<std::is_signed_v<T> ? SPDL_INT : SPDL_UINT, sizeof(T) * 8> {};
template <> struct DTypeOf<float> : DTypeConstant<SPDL_FLOAT, 32> {};
template <> struct DTypeOf<double> : DTypeConstant<SPDL_FLOAT, 64> {};
template <> struct DTypeOf<Float16> : DTypeConstant<SPDL_FLOAT, 16> {};
template <> struct DTypeOf<BFloat16> : DTypeConstant<SPDL_BFLOAT, 16> {};

namespace detail {

template <class T, class = void> struct HasDType : std::false_type {};
template <class T> struct HasDType<T, std::void_t<decltype(DTypeOf<T>::value)>> : std::true_type {};

template <class T> constexpr DType dtype_of() noexcept {
    static_assert(HasDType<T>::value,
                  "no tensor holds this type: read bytes and flags (char, bool, std::byte) as "
                  "std::uint8_t, or specialise spdl::DTypeOf for a type of your own");
    if constexpr (HasDType<T>::value)
        return DTypeOf<T>::value;
    else
        return {};
}

} // namespace detail

// ---- tensor ----------------------------------------------------------------------------------------

// A view of one tensor of a batch; of the schema, with capacities for shapes and no data. A plain value:
// copying it copies no elements. Pointers it gives are valid until the batch is released.
class Tensor {
  public:
    Tensor() noexcept = default;
    Tensor(const spdl_tensor &tensor, std::uint32_t rows, bool writable) noexcept
        : tensor_(tensor), rows_(rows), writable_(writable) {}

    std::string_view name() const noexcept { return tensor_.name ? tensor_.name : ""; } // until detach
    DType dtype() const noexcept { return {tensor_.dtype_code, tensor_.dtype_bits, tensor_.dtype_lanes}; }
    bool ragged() const noexcept { return tensor_.kind == SPDL_RAGGED; }
    Dims shape() const noexcept { return {tensor_.shape, tensor_.ndim}; }     // ragged: [values]
    Dims strides() const noexcept { return {tensor_.strides, tensor_.ndim}; } // bytes
    std::uint32_t rows() const noexcept { return rows_; }
    std::uint64_t bytes() const noexcept { return tensor_.bytes; } // used
    bool on_device() const noexcept { return tensor_.device_type > 1; }
    std::int32_t device() const noexcept {
        return tensor_.device_id;
    } // as CUDA counts in this process; 0 on the host
    const spdl_tensor &raw() const & { return tensor_; }
    const spdl_tensor &raw() const && = delete; // would dangle

    // Elements: the product of the shape.
    std::size_t size() const noexcept { return count(0); }

    // Do the elements, from dimension `from` on, lie one after the other in C order?
    bool contiguous(std::uint32_t from = 0) const noexcept {
        std::int64_t want = tensor_.dtype_bits * tensor_.dtype_lanes / 8;
        for (std::uint32_t i = tensor_.ndim; i-- > from;) {
            if (tensor_.shape[i] != 1 && tensor_.strides[i] != want) return false;
            want *= tensor_.shape[i];
        }
        return true;
    }

    // The first element. SPDL_E_ARGUMENT if the tensor's dtype is not T's. Strides are the caller's affair.
    template <class T> Result<const T *> try_data() const {
        if (Status s = expect(detail::dtype_of<T>()); !s.ok()) return s;
        return static_cast<const T *>(tensor_.data);
    }

    // The first element, in device memory: for kernels, not to be read here. SPDL_E_ARGUMENT if the dtype is not T's, or the tensor
    // is in host memory. Batch::stream_wait says when it is complete.
    template <class T> Result<const T *> try_device_data() const {
        if (!on_device()) return complain(SPDL_E_ARGUMENT, "is in host memory; use data()");
        if (Status s = expect_dtype(detail::dtype_of<T>()); !s.ok()) return s;
        return static_cast<const T *>(tensor_.data);
    }

    // As try_data, to write. SPDL_E_UNSUPPORTED on a ring of `shared` access, whose memory is read-only but for stages.
    template <class T> Result<T *> try_mutable_data() const {
        if (Status s = expect(detail::dtype_of<T>()); !s.ok()) return s;
        if (!writable_)
            return complain(SPDL_E_UNSUPPORTED,
                            "is read-only on a shared ring; copy it, or give the ring private access");
        return static_cast<T *>(tensor_.data);
    }

    // Every element; of a ragged tensor the values of all rows. SPDL_E_UNSUPPORTED if not contiguous.
    template <class T> Result<Span<const T>> try_values() const {
        if (Status s = expect(detail::dtype_of<T>()); !s.ok()) return s;
        if (!contiguous()) return complain(SPDL_E_UNSUPPORTED, "is not contiguous; walk data() by strides()");
        return Span<const T>(static_cast<const T *>(tensor_.data), tensor_.data ? size() : 0);
    }

    // The elements of one row; of a ragged tensor that row's values. SPDL_E_ARGUMENT beyond the last row;
    // SPDL_E_FORMAT if a ragged row's offsets leave the values.
    template <class T> Result<Span<const T>> try_row(std::uint32_t i) const {
        if (Status s = expect(detail::dtype_of<T>()); !s.ok()) return s;
        if (i >= rows_ || tensor_.data == nullptr)
            return complain(SPDL_E_ARGUMENT, "has " + std::to_string(tensor_.data ? rows_ : 0) +
                                                 " rows, asked for row " + std::to_string(i));
        const char *base = static_cast<const char *>(tensor_.data);
        if (ragged()) return ragged_row<T>(base, i);
        if (tensor_.ndim == 0 || !contiguous(1))
            return complain(SPDL_E_UNSUPPORTED, "has rows that are not contiguous; walk data() by strides()");
        const void *row = base + static_cast<std::int64_t>(i) * tensor_.strides[0];
        return Span<const T>(static_cast<const T *>(row), count(1));
    }

    // One of pictures that have a size each, as a tensor [H, W, C] or [C, H, W]: batch["image"].picture(i, batch["extent"]); or their masks, [n, H, W]. It is a view
    // as this is; of a padded batch without what is around the picture, so that its strides are the row's, and its lines row<T>(y). A masked one has no
    // elements. SPDL_E_ARGUMENT beyond the last row, and where `extent` is not int64 [rows, 2]; SPDL_E_FORMAT if what it says leaves the row.
    Result<Tensor> try_picture(std::uint32_t i, const Tensor &extent) const {
        Result<Span<const std::int64_t>> said = extent.try_row<std::int64_t>(i);
        if (!said.ok()) return Status(std::move(said));
        if (said->size() != 2)
            return extent.complain(SPDL_E_ARGUMENT,
                                   "does not say how large pictures are, which takes [rows, 2]");
        if (i >= rows_ || tensor_.data == nullptr || (!ragged() && tensor_.ndim != 4))
            return complain(SPDL_E_ARGUMENT, "has no picture " + std::to_string(i));
        return ragged() ? ragged_picture(i, (*said)[0], (*said)[1])
                        : dense_picture(i, (*said)[0], (*said)[1]);
    }

    // One row of a uint8 tensor as text, such as a key. Errors as try_row.
    Result<std::string_view> try_text(std::uint32_t i) const {
        Result<Span<const std::uint8_t>> row = try_row<std::uint8_t>(i);
        if (!row.ok()) return Status(std::move(row));
        const void *bytes = row->data();
        return std::string_view(static_cast<const char *>(bytes), row->size());
    }

#if !defined(SPDL_NO_EXCEPTIONS)
    template <class T> const T *data() const { return detail::take(try_data<T>()); }
    template <class T> const T *device_data() const { return detail::take(try_device_data<T>()); }
    template <class T> T *mutable_data() const { return detail::take(try_mutable_data<T>()); }
    template <class T> Span<const T> values() const { return detail::take(try_values<T>()); }
    template <class T> Span<const T> row(std::uint32_t i) const { return detail::take(try_row<T>(i)); }
    Tensor picture(std::uint32_t i, const Tensor &extent) const {
        return detail::take(try_picture(i, extent));
    }
    std::string_view text(std::uint32_t i) const { return detail::take(try_text(i)); }
#endif

  private:
    std::size_t count(std::uint32_t from) const noexcept {
        std::size_t n = 1;
        for (std::uint32_t i = from; i < tensor_.ndim; i++) n *= static_cast<std::size_t>(tensor_.shape[i]);
        return n;
    }

    // That a ragged row lies within the values.
    Status within(std::uint32_t i) const {
        const std::int64_t first = tensor_.offsets[i], end = tensor_.offsets[i + 1];
        if (first >= 0 && end >= first && end <= tensor_.shape[0]) return {};
        return complain(SPDL_E_FORMAT, "row " + std::to_string(i) + " is values [" + std::to_string(first) +
                                           ", " + std::to_string(end) + ") of " +
                                           std::to_string(tensor_.shape[0]));
    }

    bool planar() const noexcept { return tensor_.axes == SPDL_AXES_NCHW; }

    Status too_large(std::uint32_t i, std::int64_t height, std::int64_t width) const {
        return complain(SPDL_E_FORMAT, "row " + std::to_string(i) + " is said to be a picture of " +
                                           std::to_string(height) + " x " + std::to_string(width) +
                                           ", which it is not: the batch is damaged");
    }

    // A picture of a shape and strides [H, W, C] or [C, H, W], whose elements begin at `first`.
    Tensor view(char *first, const std::int64_t (&shape)[3], const std::int64_t (&strides)[3]) const {
        spdl_tensor one = tensor_;
        one.kind = SPDL_DENSE, one.offsets = nullptr, one.data = first, one.ndim = 3;
        one.bytes = static_cast<std::uint64_t>(tensor_.dtype_bits / 8);
        for (std::size_t k = 0; k < 3; k++) {
            one.shape[k] = shape[k], one.strides[k] = strides[k];
            one.bytes *= static_cast<std::uint64_t>(shape[k]);
        }
        return Tensor(one, static_cast<std::uint32_t>(shape[0]), writable_);
    }

    // Its channels follow from how many values it has; of planes there may be none, as of the masks of no object.
    Result<Tensor> ragged_picture(std::uint32_t i, std::int64_t height, std::int64_t width) const {
        if (Status s = within(i); !s.ok()) return s;
        const std::int64_t item = tensor_.dtype_bits / 8, first = tensor_.offsets[i],
                           size = tensor_.offsets[i + 1] - first;
        const std::int64_t most = size == 0 && planar() ? INT64_MAX / item : size;
        if (height < 0 || width < 0 || (height > 0 && width > most / height))
            return too_large(i, height, width);
        const std::int64_t pixels = height * width, channels = pixels > 0 ? size / pixels : 0;
        if (pixels * channels != size) return too_large(i, height, width);
        char *const data = static_cast<char *>(tensor_.data) + first * item;
        if (planar()) return view(data, {channels, height, width}, {pixels * item, width * item, item});
        return view(data, {height, width, channels}, {width * channels * item, channels * item, item});
    }

    Result<Tensor> dense_picture(std::uint32_t i, std::int64_t height, std::int64_t width) const {
        const std::size_t h = planar() ? 2 : 1;
        std::int64_t shape[3], strides[3];
        for (std::size_t k = 0; k < 3; k++)
            shape[k] = tensor_.shape[k + 1], strides[k] = tensor_.strides[k + 1];
        if (height < 0 || width < 0 || height > shape[h - 1] || width > shape[h])
            return too_large(i, height, width);
        shape[h - 1] = height, shape[h] = width;
        return view(static_cast<char *>(tensor_.data) + static_cast<std::int64_t>(i) * tensor_.strides[0],
                    shape, strides);
    }

    template <class T> Result<Span<const T>> ragged_row(const char *base, std::uint32_t i) const {
        if (Status s = within(i); !s.ok()) return s;
        const std::int64_t first = tensor_.offsets[i], end = tensor_.offsets[i + 1];
        const void *row = base + first * static_cast<std::int64_t>(sizeof(T));
        return Span<const T>(static_cast<const T *>(row), static_cast<std::size_t>(end - first));
    }

    Status expect(DType want) const {
        if (on_device())
            return complain(SPDL_E_ARGUMENT, "is in device memory; use device_data(), or the host's field");
        return expect_dtype(want);
    }

    Status expect_dtype(DType want) const {
        if (dtype() == want) return {};
        return complain(SPDL_E_ARGUMENT, "holds " + dtype().name() + ", asked for " + want.name() +
                                             "; read it as what it holds, or change the field's dtype");
    }

    Status complain(spdl_status code, const std::string &what) const {
        return {code, "spdl: tensor \"" + std::string(name()) + "\": " + what};
    }

    spdl_tensor tensor_ = SPDL_TENSOR_INIT;
    std::uint32_t rows_ = 0;
    bool writable_ = false;
};

} // namespace spdl

#endif
