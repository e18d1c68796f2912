// train.cpp - one epoch in C++: batches/s, the mean of the images, how many labels there are.
//
//     train SPEC_OR_NAME [GROUP] [--hash]
//
// An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
// alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
// examples/README.md.
//
//     c++ -std=c++17 train.cpp $(pkg-config --cflags --libs spdl) -o train
#include <spdl/spdl.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace {

spdl::Loader open_or_attach(const std::string &what, const std::string &group) {
    std::error_code ignored; // what cannot be looked at is taken for a name
    const auto type = std::filesystem::status(what, ignored).type();
    spdl::OpenOptions options;
    options.attach.group = group;
    options.attach.max_leases = 1; // each batch is released before the next is asked for
    if (what.front() == '{' || type == std::filesystem::file_type::regular ||
        type == std::filesystem::file_type::directory)
        return spdl::open(what, options);
    return spdl::attach(what, options.attach);
}

// The CRC-32 of zlib, going on from crc.
std::uint32_t crc32(std::uint32_t crc, const void *data, std::size_t bytes) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> t{};
        for (std::uint32_t i = 0; i < 256; i++) {
            t[i] = i;
            for (int k = 0; k < 8; k++) t[i] = t[i] & 1 ? t[i] >> 1 ^ 0xedb88320u : t[i] >> 1;
        }
        return t;
    }();
    const auto *p = static_cast<const unsigned char *>(data);
    crc = ~crc;
    for (std::size_t i = 0; i < bytes; i++) crc = table[(crc ^ p[i]) & 255] ^ crc >> 8;
    return ~crc;
}

std::uint32_t hash_batch(const spdl::Batch &batch) {
    const std::uint32_t rows = batch.rows();
    std::uint32_t hash = crc32(0, &rows, sizeof rows);
    for (std::uint32_t i = 0; i < batch.n_tensors(); i++) {
        const spdl::Tensor t = batch.tensor(i);
        hash = crc32(hash, t.raw().data, t.bytes());
        if (t.ragged()) hash = crc32(hash, t.raw().offsets, (rows + std::size_t{1}) * sizeof(std::int64_t));
    }
    return hash;
}

struct Totals {
    std::uint64_t batches = 0, rows = 0, elements = 0;
    double sum = 0; // of image elements
    std::set<std::int64_t> labels;

    template <class T> void add_image(const spdl::Tensor &t) {
        // Where rows are padded there is more memory than elements: what lies around them is zero.
        const T *first = t.data<T>();
        sum = std::accumulate(first, first + t.bytes() / sizeof(T), sum);
        elements += t.size();
    }

    void train(const spdl::Batch &batch) {
        batches++;
        rows += batch.rows();
        for (std::uint32_t i = 0; i < batch.n_tensors(); i++) {
            const spdl::Tensor t = batch.tensor(i);
            if (t.name() == "image" && t.dtype() == spdl::DTypeOf<float>::value) add_image<float>(t);
            if (t.name() == "image" && t.dtype() == spdl::DTypeOf<std::uint8_t>::value)
                add_image<std::uint8_t>(t);
            if (t.name() == "label" && t.dtype() == spdl::DTypeOf<std::int64_t>::value)
                for (std::int64_t label : t.values<std::int64_t>())
                    if (label != -1) labels.insert(label); // -1: the sample has none
        }
    }
};

std::string counted(std::uint64_t n, const char *one, const char *more) {
    return std::to_string(n) + (n == 1 ? one : more);
}

int run(const std::string &what, const std::string &group, bool hash) {
    spdl::Loader loader = open_or_attach(what, group);
    Totals all;
    const auto start = std::chrono::steady_clock::now();
    for (spdl::Batch batch : loader) {
        if (hash) std::printf("%" PRIu64 " %08" PRIx32 "\n", batch.ticket(), hash_batch(batch));
        all.train(batch);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%s, %s, %.1f batches/s; mean of image %.4f; %s\n",
                counted(all.batches, " batch", " batches").c_str(),
                counted(all.rows, " row", " rows").c_str(),
                static_cast<double>(all.batches) / seconds.count(),
                all.elements ? all.sum / static_cast<double>(all.elements) : 0.0,
                counted(all.labels.size(), " label", " labels").c_str());
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    std::vector<std::string> words;
    bool hash = false;
    for (const std::string &arg : std::vector<std::string>(argv + 1, argv + argc)) {
        if (arg == "--hash")
            hash = true;
        else
            words.push_back(arg);
    }
    const bool mistyped =
        std::any_of(words.begin(), words.end(), [](const auto &word) { return word[0] == '-'; });
    if (words.empty() || words.size() > 2 || words[0].empty() || mistyped) {
        std::fprintf(stderr, "usage: train SPEC_OR_NAME [GROUP] [--hash]\n");
        return 2;
    }
    try {
        return run(words[0], words.size() > 1 ? words[1] : "", hash);
    } catch (const spdl::Error &e) {
        std::fprintf(stderr, "train: %s\n", e.what());
        return 1;
    }
}
