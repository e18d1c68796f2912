// test_load.cpp - spdl::load over the real libspdl_engine: values, ownership, failures. Compiled with and without exceptions.
#include <spdl/load.hpp>

#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <unistd.h>

namespace {

// A WAV of one channel at 8 kHz: 1, 2, 3, 4 in s16.
const unsigned char wav[] = {
    'R', 'I', 'F', 'F', 44, 0, 0,    0,    'W', 'A', 'V',  'E',  'f', 'm', 't', ' ', 16, 0,
    0,   0,   1,   0,   1,  0, 0x40, 0x1f, 0,   0,   0x80, 0x3e, 0,   0,   2,   0,   16, 0,
    'd', 'a', 't', 'a', 8,  0, 0,    0,    1,   0,   2,    0,    3,   0,   4,   0,
};

void a_sound_is_decoded_into_memory_of_its_own() {
    spdl::Result<spdl::Loaded> r = spdl::try_load(R"({"audio": {}})", wav, sizeof wav);
    CHECK(r.ok());
    spdl::Loaded moved = *std::move(r);
    CHECK(moved && moved.n_tensors() == 1);
    spdl::Result<spdl::Tensor> t = moved.try_tensor("audio");
    CHECK(t.ok() && t->shape().size() == 2 && t->shape()[1] == 4);
    spdl::Result<const float *> data = t->try_data<float>();
    CHECK(data.ok() && (*data)[3] == 4 / 32768.0f);
    CHECK(moved.info().find("\"sample_rate\":8000") != std::string_view::npos);
    CHECK(moved.try_tensor("video").code() == SPDL_E_NOT_FOUND);
    CHECK(moved.try_tensor(1).code() == SPDL_E_ARGUMENT);
    spdl::Loaded other;
    CHECK(!other && other.n_tensors() == 0);
    other = std::move(moved);
    CHECK(other && !moved); // NOLINT: what moving leaves is said
}

void what_cannot_be_loaded_says_why() {
    CHECK(spdl::try_load(R"({"audio": {}})", "/nowhere/a.wav").code() == SPDL_E_SAMPLE);
    spdl::Result<spdl::Loaded> wrong = spdl::try_load(R"({"audio": {"rates": 1}})", wav, sizeof wav);
    CHECK(wrong.code() == SPDL_E_SPEC && wrong.text().find("rate") != std::string::npos);
    CHECK(spdl::try_load_chunks(R"({"audio": {}})", "x").code() == SPDL_E_SPEC);
    const std::vector<unsigned char> none; // whose data() is a null pointer
    spdl::Result<spdl::Loaded> empty = spdl::try_load(R"({"audio": {}})", none.data(), none.size());
    CHECK(empty.code() == SPDL_E_SAMPLE && empty.text().find("no bytes") != std::string::npos);
    CHECK(spdl::try_load(R"({"audio": {}})", nullptr, 1).code() == SPDL_E_ARGUMENT);
#if !defined(SPDL_NO_EXCEPTIONS)
    try {
        (void)spdl::load(R"({"audio": {}})", "/nowhere/a.wav");
        CHECK(false);
    } catch (const spdl::SampleError &e) {
        CHECK(std::strstr(e.what(), "/nowhere/a.wav") != nullptr);
    }
#endif
}

void a_video_comes_in_chunks() {
    std::string film = "YUV4MPEG2 W2 H2 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n";
    for (const char level : {'\x14', '\x1e', '\x28'})
        film += "FRAME\n" + std::string(4, level) + std::string(2, static_cast<char>(128));
    char path[] = "/tmp/spdl-load-XXXXXX";
    const int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, film.data(), film.size()) == static_cast<ssize_t>(film.size()));
    close(fd);
    spdl::Result<spdl::Loading> r = spdl::try_load_chunks(R"({"video": {"frames": 2}})", path);
    unlink(path);
    if (r.code() == SPDL_E_SAMPLE && r.text().find("no FFmpeg") != std::string::npos) return;
    CHECK(r.ok());
    spdl::Loading loading = *std::move(r);
    for (const std::int64_t want : {2, 1}) {
        spdl::Result<spdl::Loaded> chunk = loading.try_next();
        CHECK(chunk.ok() && chunk->try_tensor("video")->shape()[0] == want);
    }
    CHECK(loading.try_next().code() == SPDL_END_DATA);
#if !defined(SPDL_NO_EXCEPTIONS)
    CHECK(!loading.next());
#endif
}

void nothing() {}

} // namespace

int main() {
    const check::Test tests[] = {
        {"a_sound_is_decoded_into_memory_of_its_own", a_sound_is_decoded_into_memory_of_its_own},
        {"what_cannot_be_loaded_says_why", what_cannot_be_loaded_says_why},
        {"a_video_comes_in_chunks", a_video_comes_in_chunks},
    };
    return check::run(tests, nothing, nothing);
}
