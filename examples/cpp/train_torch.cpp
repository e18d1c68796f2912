// train_torch.cpp - libtorch trains a linear classifier on a folder of pictures, out of the batches' own memory.
//
//     train_torch FOLDER [EPOCHS]
//
//     c++ -std=c++17 train_torch.cpp $(pkg-config --cflags --libs spdl) -ltorch -ltorch_cpu -lc10 -o train_torch
//
// With a libtorch of your own also its include, include/torch/csrc/api/include and lib, and what C++ it wants.
#include <spdl/torch.hpp>

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

constexpr std::int64_t side = 64;

// Text in JSON's quotes.
std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string description(const std::string &folder) {
    const std::string crop = std::to_string(side);
    return R"({"source": {"folder": )" + quoted(folder) +
           R"(}, "batch": 32, "order": {"seed": 1, "last": "drop"}, "image": {"layout": "NCHW", "transform": [{"random_resized_crop": )" +
           crop + R"(}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}]}})";
}

// One directory a class, whose place among them is the label.
std::int64_t classes(const std::string &folder) {
    const std::filesystem::directory_iterator all(folder);
    return std::count_if(begin(all), end(all), [](const auto &entry) { return entry.is_directory(); });
}

void train(const std::string &folder, int epochs) {
    spdl::Loader loader = spdl::open(description(folder));
    torch::nn::Linear model(3 * side * side, classes(folder));
    torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(1e-3));
    for (int epoch = 0; epoch < epochs; epoch++) {
        std::int64_t seen = 0, right = 0;
        for (spdl::Batch batch : loader) {
            const spdl::TorchBatch tensors(std::move(batch));
            const torch::Tensor images = tensors["image"],
                                labels = tensors["label"]; // to the device, where there is one
            const torch::Tensor scores = model(images.flatten(1));
            const torch::Tensor loss = torch::nn::functional::cross_entropy(scores, labels);
            optimizer.zero_grad();
            loss.backward();
            optimizer.step();
            right += (scores.argmax(1) == labels).sum().item<std::int64_t>();
            seen += labels.numel();
        }
        std::printf("epoch %d: %lld of %lld right\n", epoch, static_cast<long long>(right),
                    static_cast<long long>(seen));
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        std::fprintf(stderr, "usage: train_torch FOLDER [EPOCHS]\n");
        return 2;
    }
    try {
        train(argv[1], argc > 2 ? std::atoi(argv[2]) : 2);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "train_torch: %s\n", e.what());
        return 1;
    }
    return 0;
}
