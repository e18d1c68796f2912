// spdl/torch.hpp - libtorch's tensors over a batch, without a copy. Not part of spdl/spdl.hpp: it needs libtorch.
//
//     for (spdl::Batch batch : loader) {
//         const spdl::TorchBatch tensors(std::move(batch));
//         loss = torch::nn::functional::cross_entropy(model(tensors["image"]), tensors["label"]);
//     }
//
// Every tensor holds the batch, so the slot is given back when the last of them and the TorchBatch have ended, on whichever thread that
// is. The next batch marks this one as done, as it does in a plain loop; what is kept beyond that counts against max_leases, and wants a
// clone(). A loader must not be closed while another thread may end a tensor. On a ring of `shared` access the memory is read-only:
// writing to a tensor there ends the program, as libtorch has no tensors that refuse it.
#ifndef SPDL_TORCH_HPP
#define SPDL_TORCH_HPP

#include <spdl/spdl.hpp>

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace spdl {

// The scalar type of a dtype; at::kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat or kDouble. SPDL_E_UNSUPPORTED of others.
inline Result<at::ScalarType> try_scalar_type(DType dtype) {
    struct Pair {
        DType dtype;
        at::ScalarType scalar;
    };
    static constexpr Pair pairs[] = {
        {{SPDL_UINT, 8}, at::kByte},    {{SPDL_INT, 8}, at::kChar},      {{SPDL_INT, 16}, at::kShort},
        {{SPDL_INT, 32}, at::kInt},     {{SPDL_INT, 64}, at::kLong},     {{SPDL_FLOAT, 16}, at::kHalf},
        {{SPDL_FLOAT, 32}, at::kFloat}, {{SPDL_FLOAT, 64}, at::kDouble}, {{SPDL_BFLOAT, 16}, at::kBFloat16},
    };
    for (const Pair &pair : pairs)
        if (pair.dtype == dtype) return pair.scalar;
    return Status(
        SPDL_E_UNSUPPORTED,
        "holds " + dtype.name() +
            ", which libtorch computes nothing with; read it by data(), or give the column a signed dtype");
}

// A batch whose tensors are libtorch's. Copies share it.
class TorchBatch {
  public:
    explicit TorchBatch(Batch &&batch) : batch_(std::make_shared<Batch>(std::move(batch))) {}

    const Batch &batch() const noexcept { return *batch_; }

    // The tensor of that name, in the batch's own memory; of a ragged one the values of all rows, one after the other. SPDL_E_NOT_FOUND;
    // SPDL_E_UNSUPPORTED of a dtype that libtorch lacks; SPDL_E_ARGUMENT of one in device memory.
    Result<at::Tensor> try_tensor(const std::string &name) const {
        Result<Tensor> found = batch_->try_tensor(name);
        if (!found.ok()) return Status(std::move(found));
        return tensor_of(*found, name);
    }

    // One of pictures that have a size each, as a tensor [H, W, C] or [C, H, W], in the batch's own memory: picture("image", i). Of a field
    // NAME `extent` is "NAME.extent". Errors as try_tensor and Tensor::try_picture.
    Result<at::Tensor> try_picture(const std::string &name, std::uint32_t i,
                                   const std::string &extent = "extent") const {
        Result<Tensor> found = batch_->try_tensor(name), sizes = batch_->try_tensor(extent);
        if (!found.ok()) return Status(std::move(found));
        if (!sizes.ok()) return Status(std::move(sizes));
        Result<Tensor> one = found->try_picture(i, *sizes);
        if (!one.ok()) return Status(std::move(one));
        return tensor_of(*one, name);
    }

    // Where each row of a ragged tensor begins in its values: int64 [rows + 1]. SPDL_E_ARGUMENT of one that is not ragged.
    Result<at::Tensor> try_offsets(const std::string &name) const {
        Result<Tensor> found = batch_->try_tensor(name);
        if (!found.ok()) return Status(std::move(found));
        if (!found->ragged()) return complain(SPDL_E_ARGUMENT, name, "is not ragged: its rows are alike");
        return wrapped(const_cast<std::int64_t *>(found->raw().offsets), {found->rows() + std::int64_t{1}},
                       {1}, at::kLong);
    }

#if !defined(SPDL_NO_EXCEPTIONS)
    at::Tensor operator[](const std::string &name) const { return detail::take(try_tensor(name)); }
    at::Tensor picture(const std::string &name, std::uint32_t i, const std::string &extent = "extent") const {
        return detail::take(try_picture(name, i, extent));
    }
    at::Tensor offsets(const std::string &name) const { return detail::take(try_offsets(name)); }
#endif

  private:
    Result<at::Tensor> tensor_of(const Tensor &of, const std::string &name) const {
        if (of.on_device())
            return complain(SPDL_E_ARGUMENT, name,
                            "is in device memory; wrap device_data() after stream_wait()");
        Result<at::ScalarType> scalar = try_scalar_type(of.dtype());
        if (!scalar.ok()) return complain(scalar.code(), name, scalar.text());
        const std::int64_t item = of.dtype().bits / 8;
        const Dims shape = of.shape(), bytes = of.strides();
        std::vector<std::int64_t> strides;
        for (const std::int64_t stride : bytes) strides.push_back(stride / item);
        return wrapped(of.raw().data, {shape.begin(), shape.size()}, strides, *scalar);
    }

    at::Tensor wrapped(void *data, at::IntArrayRef shape, at::IntArrayRef strides,
                       at::ScalarType scalar) const {
        if (data == nullptr) return at::empty(shape, scalar); // of no rows
        return at::from_blob(
            data, shape, strides, [held = batch_](void *) {}, at::TensorOptions(scalar));
    }

    static Status complain(spdl_status code, const std::string &name, const std::string &what) {
        return {code, "spdl: tensor \"" + name + "\": " + what};
    }

    std::shared_ptr<Batch> batch_;
};

} // namespace spdl

#endif
