// test_pictures.cpp - pictures of their own size, ragged and padded, and several a sample, of the real libspdl_engine: read by the calls of spdl.h
// alone, and by Tensor::picture. Compiled with and without exceptions.
#include <spdl/source.hpp>

#include "check.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Size {
    std::int64_t height, width;
};

// Those of the samples' pictures. The fourth sample is no picture.
constexpr Size sizes[] = {{3, 5}, {1, 1}, {7, 2}, {0, 0}, {4, 8}};
constexpr std::uint32_t n_samples = sizeof sizes / sizeof *sizes;

std::uint8_t value(std::uint64_t sample, std::int64_t y, std::int64_t x, std::int64_t channel) {
    return static_cast<std::uint8_t>(50 * sample + 13 * static_cast<std::uint64_t>(y) +
                                     7 * static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(channel));
}

// A PPM.
std::string file_of(std::uint64_t sample, Size size) {
    std::string file = "P6\n" + std::to_string(size.width) + " " + std::to_string(size.height) + "\n255\n";
    for (std::int64_t y = 0; y < size.height; y++)
        for (std::int64_t x = 0; x < size.width; x++)
            for (int c = 0; c < 3; c++) file += static_cast<char>(value(sample, y, x, c));
    return file;
}

spdl::Sample bring(spdl::Want want) {
    const Size size = sizes[want.index];
    return spdl::Sample::bytes(size.height > 0 ? file_of(want.index, size) : "no picture");
}

spdl::Result<spdl::Loader> opened(const std::string &source, const std::string &image) {
    spdl::OpenOptions options;
    options.in_process = true;
    return spdl::try_open(R"({"source": )" + source +
                              R"(, "order": {"epochs": 1, "shuffle": false}, "batch": 5,)"
                              R"( "bad_sample": {"policy": "mask", "max_rate": 1}, "image": )" +
                              image + "}",
                          options);
}

// A batch of all samples, and what keeps it.
struct OneBatch {
    spdl::Result<spdl::Loader> loader;
    spdl::Result<spdl::OwnSource> source;
    spdl::Batch batch;

    explicit OneBatch(const std::string &image)
        : loader(opened(R"({"host": {"samples": 5}})", image)),
          source(loader.ok() ? spdl::OwnSource::try_start(*loader, bring, 2)
                             : spdl::Result<spdl::OwnSource>(spdl::Status(loader.code(), loader.text()))) {
        if (!source.ok()) std::printf("%s\n", source.text().c_str());
        CHECK(source.ok() && loader->try_acquire(batch).ok() && batch.rows() == n_samples);
    }
    spdl::Tensor operator[](const char *name) const { return *batch.try_tensor(name); }
};

template <class T> constexpr float per_level = 1;
template <> constexpr float per_level<float> = 1 / 255.0f;

// What of a picture lies where its tensor says.
template <class T> bool is_sample(const spdl::Tensor &picture, std::uint32_t sample, bool planar) {
    const Size size = sizes[sample];
    const spdl::Dims shape = picture.shape(), strides = picture.strides();
    const std::size_t y_axis = planar ? 1 : 0, c_axis = planar ? 0 : 2;
    const spdl::Result<const T *> data = picture.try_data<T>();
    if (!data.ok() || shape.size() != 3 || shape[y_axis] != size.height || shape[y_axis + 1] != size.width ||
        (size.height > 0 && shape[c_axis] != 3) ||
        picture.bytes() != static_cast<std::uint64_t>(size.height * size.width) * 3 * sizeof(T))
        return false;
    const char *first = static_cast<const char *>(static_cast<const void *>(*data));
    for (std::int64_t y = 0; y < size.height; y++)
        for (std::int64_t x = 0; x < size.width; x++)
            for (std::int64_t c = 0; c < 3; c++) {
                T got;
                std::memcpy(&got, first + y * strides[y_axis] + x * strides[y_axis + 1] + c * strides[c_axis],
                            sizeof got);
                const float off = static_cast<float>(got) - value(sample, y, x, c) * per_level<T>;
                if (off > 1e-6f || off < -1e-6f) return false;
            }
    return true;
}

void every_picture_is_a_tensor_of_its_own_size() {
    for (const char *shape : {"ragged", "padded"})
        for (const bool planar : {false, true})
            for (const bool floats : {false, true}) {
                const OneBatch one(std::string(R"({"room": [8, 9], "transform": [], "shape": ")") + shape +
                                   R"(", "layout": ")" + (planar ? "NCHW" : "NHWC") + R"(", "dtype": ")" +
                                   (floats ? "f32" : "u8") + "\"}");
                const spdl::Tensor images = one["image"], extent = one["extent"];
                CHECK(images.ragged() == (std::strcmp(shape, "ragged") == 0));
                for (std::uint32_t i = 0; i < n_samples; i++) {
                    const spdl::Result<spdl::Tensor> picture = images.try_picture(i, extent);
                    CHECK(picture.ok() && (floats ? is_sample<float>(*picture, i, planar)
                                                  : is_sample<std::uint8_t>(*picture, i, planar)));
                }
            }
}

void lines_of_a_padded_picture_are_rows_of_its_tensor() {
    const OneBatch one(R"({"room": [8, 9], "transform": [], "shape": "padded"})");
    const spdl::Tensor picture = *one["image"].try_picture(2, one["extent"]);
    CHECK(picture.rows() == 7 && !picture.contiguous());
    for (std::uint32_t y = 0; y < picture.rows(); y++) {
        const spdl::Result<spdl::Span<const std::uint8_t>> line = picture.try_row<std::uint8_t>(y);
        CHECK(line.ok() && line->size() == 2 * 3 && (*line)[0] == value(2, y, 0, 0) &&
              (*line)[5] == value(2, y, 1, 2));
    }
    CHECK(picture.try_row<std::uint8_t>(7).code() == SPDL_E_ARGUMENT);
}

// As a program in C has it: row i begins at offsets[i], and extent says its shape.
void ragged_pictures_are_read_by_the_calls_of_c() {
    const OneBatch one(R"({"room": [8, 9], "transform": [], "shape": "ragged"})");
    spdl_reader *const reader = one.loader->get();
    const spdl_batch *const batch = &one.batch.raw();
    spdl_tensor image = SPDL_TENSOR_INIT, extent = SPDL_TENSOR_INIT;
    CHECK(spdl_batch_tensor(reader, batch, static_cast<std::uint32_t>(spdl_tensor_index(reader, "image")),
                            &image) == SPDL_OK);
    CHECK(spdl_batch_tensor(reader, batch, static_cast<std::uint32_t>(spdl_tensor_index(reader, "extent")),
                            &extent) == SPDL_OK);
    CHECK(image.kind == SPDL_RAGGED && image.axes == SPDL_AXES_NHWC && image.ndim == 1 &&
          image.offsets[0] == 0);
    CHECK(extent.kind == SPDL_DENSE && extent.ndim == 2 && extent.shape[0] == n_samples &&
          extent.shape[1] == 2);
    CHECK(static_cast<std::int64_t>(image.bytes) == image.shape[0] &&
          image.shape[0] == image.offsets[batch->rows]);
    for (std::uint32_t i = 0; i < batch->rows; i++) {
        const std::int64_t *size = static_cast<const std::int64_t *>(extent.data) + 2 * i;
        const std::uint8_t *pixel = static_cast<const std::uint8_t *>(image.data) + image.offsets[i];
        CHECK(size[0] == sizes[i].height && size[1] == sizes[i].width);
        CHECK(image.offsets[i + 1] - image.offsets[i] == size[0] * size[1] * 3);
        bool same = true;
        for (std::int64_t y = 0; y < size[0]; y++)
            for (std::int64_t x = 0; x < size[1]; x++)
                for (int c = 0; c < 3; c++) same = same && *pixel++ == value(i, y, x, c);
        CHECK(same);
    }
    spdl_ring_info info = SPDL_RING_INFO_INIT;
    CHECK(spdl_get_ring_info(reader, &info) == SPDL_OK);
    CHECK(std::strstr(info.text, R"("extents":{"image":"extent"})") != nullptr);
    CHECK(std::strstr(info.text, R"("ragged":{"image":[3]})") != nullptr);
}

void what_is_no_picture_is_refused() {
    for (const char *shape : {"ragged", "padded"}) {
        const OneBatch one(std::string(R"({"room": [8, 9], "transform": [], "shape": ")") + shape + "\"}");
        const spdl::Tensor images = one["image"], extent = one["extent"];
        CHECK(images.try_picture(n_samples, extent).code() == SPDL_E_ARGUMENT);
        CHECK(images.try_picture(0, one["status"]).code() == SPDL_E_ARGUMENT);
        const spdl::Result<spdl::Tensor> label = images.try_picture(0, one["label"]);
        CHECK(label.code() == SPDL_E_ARGUMENT &&
              label.text().find("tensor \"label\": does not say how large pictures are") !=
                  std::string::npos);
        CHECK(one["label"].try_picture(0, extent).code() == SPDL_E_ARGUMENT);
        std::int64_t *const said = *extent.try_mutable_data<std::int64_t>();
        for (const Size wrong :
             {Size{-1, 5}, Size{5, -3}, Size{std::int64_t{1} << 62, 4}, Size{46, 1}, Size{1, 46}}) {
            said[0] = wrong.height, said[1] = wrong.width;
            CHECK(images.try_picture(0, extent).code() == SPDL_E_FORMAT);
        }
        CHECK(images.try_picture(1, extent).ok());
#if !defined(SPDL_NO_EXCEPTIONS)
        CHECK(images.picture(1, extent).row<std::uint8_t>(0)[2] == value(1, 0, 0, 2));
        try {
            (void)images.picture(0, extent);
            CHECK(false);
        } catch (const spdl::FormatError &e) {
            CHECK(std::strstr(e.what(), "row 0 is said to be a picture of 1 x 46, which it is not") !=
                  nullptr);
        }
#endif
    }
}

void write_file(const std::string &path, const std::string &bytes) {
    std::FILE *const file = std::fopen(path.c_str(), "wb");
    CHECK(file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fclose(file) == 0);
}

// Rows of three, no and one picture, each 2 x 3: a ragged row is that many, one behind the other.
void several_pictures_of_a_sample_are_a_ragged_row() {
    char made[] = "/tmp/spdl-pictures-XXXXXX";
    const std::string dir = mkdtemp(made);
    const std::string names[] = {dir + "/0.ppm", dir + "/1.ppm", dir + "/2.ppm", dir + "/3.ppm"};
    for (std::uint64_t k = 0; k < 4; k++) write_file(names[k], file_of(k, {2, 3}));
    write_file(dir + "/t.jsonl",
               "{\"path\": [\"0.ppm\", \"1.ppm\", \"2.ppm\"]}\n{\"path\": []}\n{\"path\": \"3.ppm\"}\n");
    {
        spdl::Result<spdl::Loader> loader =
            opened(R"({"list": ")" + dir + R"(/t.jsonl"})",
                   R"({"many": {"most": 3, "shape": "ragged"}, "transform": [{"center_crop": [2, 3]}]})");
        spdl::Batch batch;
        CHECK(loader.ok() && loader->try_acquire(batch).ok() && batch.rows() == 3);
        const spdl::Tensor images = *batch.try_tensor("image");
        const spdl::Span<const std::int64_t> counts = *batch.try_tensor("count")->try_values<std::int64_t>();
        CHECK(images.ragged() && counts.size() == 3 && counts[0] == 3 && counts[1] == 0 && counts[2] == 1);
        for (std::uint32_t i = 0, sample = 0; i < 3; i++) {
            const spdl::Span<const std::uint8_t> row = *images.try_row<std::uint8_t>(i);
            CHECK(row.size() == static_cast<std::size_t>(counts[i]) * 18);
            for (std::size_t k = 0; k < row.size(); k += 18, sample++)
                CHECK(row[k] == value(sample, 0, 0, 0) && row[k + 17] == value(sample, 1, 2, 2));
        }
    }
    for (const std::string &name : names) unlink(name.c_str());
    unlink((dir + "/t.jsonl").c_str());
    CHECK(rmdir(dir.c_str()) == 0);
}

void nothing() {}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(every_picture_is_a_tensor_of_its_own_size),
        TEST(lines_of_a_padded_picture_are_rows_of_its_tensor),
        TEST(ragged_pictures_are_read_by_the_calls_of_c),
        TEST(what_is_no_picture_is_refused),
        TEST(several_pictures_of_a_sample_are_a_ragged_row),
    };
    return check::run(tests, nothing, nothing);
}
