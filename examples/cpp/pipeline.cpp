// pipeline.cpp - a pipeline of functions in C++: how many words do these files have?
//
//     pipeline FILE...
//
// Four threads count, results come in the order of the command line, and every tenth is a line of its own. A file
// that cannot be read is an exception in a stage: the budget forgives it, and the program tells it.
//
//     c++ -std=c++17 pipeline.cpp $(pkg-config --cflags --libs spdl) -pthread -o pipeline
#include <spdl/pipeline.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Counted {
    std::string path;
    long words = 0;
};

Counted count(const std::string &path) {
    std::ifstream file(path);
    std::string first;
    if (!(file >> first) && !file.eof()) {
        std::fprintf(stderr, "pipeline: %s: cannot be read\n", path.c_str());
        throw std::runtime_error(path + ": cannot be read");
    }
    return {path, std::distance(std::istream_iterator<std::string>(file), {}) + (first.empty() ? 0 : 1)};
}

void run(std::vector<std::string> paths) {
    const auto next = [paths = std::move(paths), i = std::size_t{0}]() mutable -> std::optional<std::string> {
        if (i == paths.size()) return std::nullopt;
        return paths[i++];
    };
    spdl::Pipeline<std::vector<Counted>> pipeline =
        spdl::source("files", next)
            .map("count", count, spdl::StageOptions(4).in_order().forgive(-1))
            .aggregate("ten", 10)
            .start("words");
    long words = 0;
    for (const std::vector<Counted> &ten : pipeline)
        for (const Counted &file : ten) {
            std::printf("%8ld %s\n", file.words, file.path.c_str());
            words += file.words;
        }
    std::printf("%8ld in all\n", words);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: pipeline FILE...\n");
        return 2;
    }
    try {
        run({argv + 1, argv + argc});
    } catch (const spdl::Error &e) {
        std::fprintf(stderr, "pipeline: %s\n", e.what());
        return 1;
    }
    return 0;
}
