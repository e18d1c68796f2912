// test_media.cpp - spdl::Packets, Demuxing, Muxer and save over the real libspdl_engine: values, ownership, failures. Compiled with
// and without exceptions.
#include <spdl/media.hpp>

#include "check.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t width = 32, height = 16, n_frames = 6, frame = width * height * 3;

std::vector<unsigned char> frames() {
    std::vector<unsigned char> out(n_frames * frame);
    for (std::size_t i = 0; i < out.size(); i++) out[i] = static_cast<unsigned char>(i / 5 + i / frame * 11);
    return out;
}

bool no_ffmpeg(const spdl::Status &s) {
    return s.code() == SPDL_E_UNSUPPORTED && s.text().find("no FFmpeg") != std::string::npos;
}

// A video without loss in memory; empty where this build has no FFmpeg.
spdl::Loaded film() {
    spdl::Result<spdl::Muxer> r = spdl::try_create("", R"({"format": "matroska"})");
    if (no_ffmpeg(r)) return {};
    CHECK(r.ok());
    spdl::Muxer muxer = *std::move(r);
    const spdl::Result<int> track = muxer.try_add(
        R"({"video": {"width": 32, "height": 16, "rate": 10, "codec": "ffv1", "options": {"g": "1"}}})");
    CHECK(track.ok() && *track == 0);
    const std::vector<unsigned char> pixels = frames();
    CHECK(muxer.try_write(0, pixels.data(), pixels.size()).ok());
    spdl::Result<spdl::Loaded> made = muxer.try_close(true);
    CHECK(made.ok());
    return *std::move(made);
}

spdl::Demuxing open(const spdl::Loaded &file, const std::string &description) {
    const spdl::Result<spdl::Tensor> bytes = file.try_tensor(0);
    CHECK(bytes.ok());
    spdl::Result<spdl::Demuxing> r = spdl::try_demux(description, *bytes->try_data<unsigned char>(),
                                                     static_cast<std::size_t>(bytes->shape()[0]));
    CHECK(r.ok());
    return *std::move(r);
}

bool same(const spdl::Loaded &clip, std::size_t first, std::size_t n) {
    const spdl::Result<spdl::Tensor> t = clip.try_tensor("video");
    return t.ok() && t->shape()[0] == static_cast<std::int64_t>(n) &&
           std::memcmp(*t->try_data<unsigned char>(), frames().data() + first * frame, n * frame) == 0;
}

void packets_move_and_decode_to_what_was_written() {
    spdl::Loaded file = film();
    if (!file) return;
    spdl::Demuxing demuxing = open(file, R"({"video": {}})");
    spdl::Result<spdl::Packets> r = demuxing.try_next();
    CHECK(r.ok() && demuxing.try_next().code() == SPDL_END_DATA);
    spdl::Packets moved = *std::move(r);
    CHECK(moved && moved.size() == n_frames && moved.info().find("ffv1") != std::string_view::npos);
    const spdl::Result<spdl_packet> one = moved.try_packet(2);
    CHECK(one.ok() && one->flags == SPDL_PACKET_KEY && one->bytes > 0);
    CHECK(moved.try_packet(n_frames).code() == SPDL_E_ARGUMENT);
    spdl::Result<spdl::Packets> part = moved.try_slice(1, 5);
    CHECK(part.ok() && part->size() == 4);
    CHECK(moved.try_slice(5, 1).code() == SPDL_E_ARGUMENT);
    CHECK(moved.try_filter("nonsense").code() == SPDL_E_UNSUPPORTED);
    CHECK(moved.try_filter("null").ok());
    const spdl::Result<spdl::Loaded> clip = moved.try_decode(R"({"video": {}})");
    CHECK(clip.ok() && same(*clip, 0, n_frames));
    moved = spdl::Packets();
    CHECK(!moved); // NOLINT: what moving leaves is said
    spdl::Result<spdl::Loading> loading = part->try_decode_chunks(R"({"video": {"frames": 3}})");
    CHECK(loading.ok());
    const spdl::Result<spdl::Loaded> chunk = loading->try_next();
    CHECK(chunk.ok() && same(*chunk, 1, 3));
}

// What a decoder has ready, behind n frames that came before.
std::size_t take(spdl::Decoder &decoder, std::size_t n) {
    for (;;) {
        const spdl::Result<spdl::Loaded> chunk = decoder.try_next();
        if (chunk.code() == SPDL_END_DATA) return n;
        CHECK(chunk.ok() && same(*chunk, n, 2));
        n += 2;
    }
}

void a_decoder_is_fed_what_a_filter_lets_through_and_bytes_were() {
    spdl::Loaded file = film();
    if (!file) return;
    spdl::Demuxing demuxing = open(file, R"({"video": {"packets": 4}})");
    spdl::Result<spdl::Packets> stream = demuxing.try_stream();
    spdl::Result<spdl::BitstreamFilter> filter = spdl::try_bitstream_filter(*stream, "null");
    spdl::Result<spdl::Decoder> opened = spdl::try_decoder(*stream, R"({"video": {"frames": 2}})");
    CHECK(filter.ok() && opened.ok());
    CHECK(spdl::try_bitstream_filter(*stream, "nonsense").code() == SPDL_E_UNSUPPORTED);
    CHECK(spdl::try_decoder(*stream, R"({"audio": {}})").code() == SPDL_E_SAMPLE);
    spdl::Decoder decoder = *std::move(opened);
    std::size_t n = 0;
    for (;;) {
        const spdl::Result<spdl::Packets> piece = demuxing.try_next();
        if (piece.code() == SPDL_END_DATA) break;
        const spdl::Result<spdl::Packets> filtered = filter->try_filter(*piece);
        const spdl::Result<spdl::Loaded> bytes = filtered->try_bytes();
        const spdl::Result<spdl::Tensor> t = bytes->try_tensor("bytes");
        const spdl::Result<spdl::Packets> back =
            spdl::try_packets_of(*t->try_data<unsigned char>(), static_cast<std::size_t>(t->shape()[0]));
        CHECK(back.ok() && back->size() == piece->size());
        CHECK(decoder.try_give(*back).ok());
        n = take(decoder, n);
    }
    CHECK(filter->try_flush()->size() == 0);
    CHECK(decoder.try_flush().ok() && take(decoder, n) == n_frames);
    CHECK(decoder.try_give(*stream).code() == SPDL_E_ARGUMENT);
    CHECK(decoder.try_give(spdl::Packets()).code() == SPDL_E_ARGUMENT);
    CHECK(spdl::try_packets_of("RIFF", 4).code() == SPDL_E_SAMPLE);
    CHECK(spdl::try_packets_of(nullptr, 0).code() == SPDL_E_SAMPLE);
    CHECK(spdl::try_demux(R"({"audio": {}})", nullptr, 0).code() == SPDL_E_SAMPLE);
}

void packets_are_copied_into_a_file() {
    spdl::Loaded file = film();
    if (!file) return;
    spdl::Demuxing demuxing = open(file, R"({"video": {"packets": 4}})");
    spdl::Result<spdl::Packets> stream = demuxing.try_stream();
    CHECK(stream.ok() && stream->size() == 0);
    char dir[] = "/tmp/spdl-media-XXXXXX";
    CHECK(mkdtemp(dir) != nullptr);
    const std::string path = std::string(dir) + "/a.nut";
    spdl::Result<spdl::Muxer> r = spdl::try_create(path);
    CHECK(r.ok());
    spdl::Muxer muxer = *std::move(r);
    CHECK(muxer.try_add(*stream).ok());
    for (;;) {
        const spdl::Result<spdl::Packets> piece = demuxing.try_next();
        if (piece.code() == SPDL_END_DATA) break;
        CHECK(piece.ok() && muxer.try_write(0, *piece).ok());
    }
    CHECK(access(path.c_str(), F_OK) != 0); // not before it is whole
    CHECK(muxer.try_close().ok());
    const spdl::Result<spdl::Loaded> clip = spdl::try_load(R"({"video": {}})", path);
    CHECK(clip.ok() && same(*clip, 0, n_frames));
    unlink(path.c_str());
    {
        spdl::Result<spdl::Muxer> given_up = spdl::try_create(path);
        CHECK(given_up.ok() && given_up->try_add(*stream).ok());
    }
    CHECK(rmdir(dir) == 0); // of what was not closed nothing stays
}

void a_wav_is_saved() {
    const float samples[] = {0, 0.5F, -0.5F, 0.25F};
    const spdl::Result<spdl::Loaded> made =
        spdl::try_save(R"({"wav": {"rate": 8000, "channels": 1}})", samples, sizeof samples);
    CHECK(made.ok() && made->try_tensor("bytes")->shape()[0] == 44 + 8);
    CHECK(spdl::try_save(R"({"wav": {"rate": 0, "channels": 1}})", samples, sizeof samples).code() ==
          SPDL_E_SPEC);
    CHECK(spdl::try_save(R"({"wav": {"rate": 8000, "channels": 1}})", samples, 3).code() == SPDL_E_ARGUMENT);
    CHECK(spdl::try_save(R"({"wav": {"rate": 8000, "channels": 1}})", samples, 4, "/nowhere/a.wav").code() ==
          SPDL_E_SYSTEM);
#if !defined(SPDL_NO_EXCEPTIONS)
    try {
        (void)spdl::save(R"({"wav": {"rates": 1}})", samples, 4);
        CHECK(false);
    } catch (const spdl::SpecError &e) {
        CHECK(std::strstr(e.what(), "rate") != nullptr);
    }
    try {
        (void)spdl::demux(R"({"video": {}})", "/nowhere/a.mp4");
        CHECK(false);
    } catch (const spdl::Error &e) {
        CHECK(e.status() == SPDL_E_SAMPLE || e.status() == SPDL_E_UNSUPPORTED);
    }
#endif
}

void a_graph_moves_and_gives_what_its_filters_make() {
    spdl::Result<spdl::Graph> r = spdl::try_graph(
        R"({"graph": "buffer=video_size=2x1:pix_fmt=gray:time_base=1/10,hflip,buffersink@out"})");
    if (!r.ok() && r.text().find("no FFmpeg") != std::string::npos) return;
    CHECK(r.ok());
    spdl::Graph graph = *std::move(r), moved = std::move(graph);
    CHECK(!graph && moved && moved.info().find("buffersink@out") != std::string_view::npos);
    const unsigned char pixels[] = {1, 2, 3, 4};
    const double seconds[] = {0.5, 1.0};
    CHECK(moved.try_next().code() == SPDL_END_DATA);
    CHECK(moved.try_add(pixels, 3).code() == SPDL_E_ARGUMENT);
    CHECK(moved.try_add(pixels, sizeof pixels, {}, seconds, 2).ok() && moved.try_flush().ok());
    const spdl::Result<spdl::Loaded> flipped = moved.try_next("buffersink@out");
    CHECK(flipped.ok());
    const unsigned char want[] = {2, 1, 4, 3};
    CHECK(std::memcmp(*flipped->try_tensor("video")->try_data<unsigned char>(), want, sizeof want) == 0);
    CHECK((*flipped->try_tensor("pts")->try_data<double>())[1] == 1.0);
    CHECK(spdl::try_graph(R"({"graph": "hflip"})").code() == SPDL_E_SPEC);
#if !defined(SPDL_NO_EXCEPTIONS)
    try {
        (void)spdl::graph(R"({"graph": "movie=a.mp4,buffersink"})");
        CHECK(false);
    } catch (const spdl::SpecError &e) {
        CHECK(std::strstr(e.what(), "movie") != nullptr);
    }
#endif
}

void nothing() {}

} // namespace

int main() {
    const check::Test tests[] = {
        {"packets_move_and_decode_to_what_was_written", packets_move_and_decode_to_what_was_written},
        {"a_decoder_is_fed_what_a_filter_lets_through_and_bytes_were",
         a_decoder_is_fed_what_a_filter_lets_through_and_bytes_were},
        {"packets_are_copied_into_a_file", packets_are_copied_into_a_file},
        {"a_wav_is_saved", a_wav_is_saved},
        {"a_graph_moves_and_gives_what_its_filters_make", a_graph_moves_and_gives_what_its_filters_make},
    };
    return check::run(tests, nothing, nothing);
}
