// stage.cpp - a stage in C++: it inverts every picture of a batch in its slot, before any consumer sees it.
//
//     stage NAME GROUP
//
// As examples/c/stage.c, where the engine's side is explained. An exception in the loop's body ends the batch as failed.
//
//     c++ -std=c++17 stage.cpp $(pkg-config --cflags --libs spdl) -o stage
#include <spdl/spdl.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: stage NAME GROUP\n");
        return 2;
    }
    try {
        spdl::AttachOptions options;
        options.group = argv[2];
        options.max_leases = 1;
        spdl::Loader loader = spdl::attach(argv[1], options);
        unsigned long long batches = 0;
        for (spdl::Epoch epoch : loader.epochs())
            for (spdl::Batch batch : epoch) { // its end hands it on
                spdl::Tensor image = batch["image"];
                std::uint8_t *pixels = image.mutable_data<std::uint8_t>();
                for (std::size_t i = 0; i < image.bytes(); i++)
                    pixels[i] = static_cast<std::uint8_t>(255 - pixels[i]);
                batches++;
            }
        std::printf("%llu %s\n", batches, batches == 1 ? "batch" : "batches");
    } catch (const std::exception &e) {
        std::fprintf(stderr, "stage: %s\n", e.what());
        return 1;
    }
    return 0;
}
