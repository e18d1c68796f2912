// own_source.cpp - samples of one's own in C++: the program brings the bytes, the engine does the rest.
//
//     own_source PICTURE...
//
// As examples/c/own_source.c: the samples are the files of the command line, one line is printed per row, and a file that cannot be
// read is a bad sample, which is counted and left out.
//
//     c++ -std=c++17 own_source.cpp $(pkg-config --cflags --libs spdl) -pthread -o own_source
#include <spdl/source.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

spdl::Sample read_file(const std::string &path, std::int64_t label) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return spdl::Sample::failed(std::strerror(errno)).key(path);
    return spdl::Sample::bytes(std::string(std::istreambuf_iterator<char>(in), {})).label(label).key(path);
}

void print_rows(const spdl::Batch &batch) {
    const spdl::Tensor image = batch["image"], key = batch["key"];
    for (std::uint32_t row = 0; row < batch.rows(); row++) {
        const spdl::Span<const std::uint8_t> pixels = image.row<std::uint8_t>(row);
        double sum = 0;
        for (std::uint8_t p : pixels) sum += p;
        const std::string_view name = key.text(row);
        std::printf("%.*s %.2f\n", static_cast<int>(name.size()), name.data(),
                    sum / static_cast<double>(pixels.size()));
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: own_source PICTURE...\n");
        return 2;
    }
    const std::vector<std::string> files(argv + 1, argv + argc);
    try {
        spdl::OpenOptions options;
        options.in_process = true;
        spdl::Loader loader =
            spdl::open(R"({"source": {"host": {"samples": )" + std::to_string(files.size()) +
                           R"(}}, "order": {"epochs": 1}, "batch": 8,)"
                           R"( "image": {"transform": [{"resize": [64, 64]}]}})",
                       options);
        const spdl::OwnSource source(
            loader,
            [&](spdl::Want want) {
                return read_file(files[want.index], static_cast<std::int64_t>(want.index));
            },
            4);
        unsigned bad = 0;
        for (spdl::Batch batch : loader) {
            bad += batch.raw().n_bad;
            print_rows(batch);
        }
        std::fprintf(stderr, "%u bad\n", bad);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "own_source: %s\n", e.what());
        return 1;
    }
    return 0;
}
