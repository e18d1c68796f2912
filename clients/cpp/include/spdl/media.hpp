// spdl/media.hpp - encoded media as it is, and media files written: Demuxing, Packets, BitstreamFilter, Decoder, Graph, Muxer, save.
//
//     spdl::Demuxing film = spdl::demux(R"({"video": {"window": {"start": "10s", "duration": "1s"}}})", "a.mp4");
//     spdl::Packets packets = film.next();
//     spdl::Loaded clip = packets.decode(R"({"video": {}})");
//
//     spdl::Muxer muxer = spdl::create("b.mp4");
//     int track = muxer.add(R"({"video": {"width": 320, "height": 240, "rate": 30}})");
//     muxer.write(track, frames.data(), frames.size());
//     muxer.close();                                  // without it nothing stays
//
// The descriptions are spdl.h's. As elsewhere try_* answers with a Result or a Status, and the others throw.
#ifndef SPDL_MEDIA_HPP
#define SPDL_MEDIA_HPP

#include <spdl/load.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace spdl {

// A piece of a stream, undecoded and read-only. Move-only; false while empty.
class [[nodiscard]] Packets {
  public:
    Packets() noexcept = default;
    explicit Packets(spdl_packets *packets) noexcept : packets_(packets) {}
    Packets(Packets &&other) noexcept : packets_(std::exchange(other.packets_, nullptr)) {}
    Packets &operator=(Packets &&other) noexcept {
        if (this != &other)
            spdl_packets_free(std::exchange(packets_, std::exchange(other.packets_, nullptr)));
        return *this;
    }
    ~Packets() { spdl_packets_free(packets_); }

    explicit operator bool() const noexcept { return packets_ != nullptr; }
    const spdl_packets *get() const noexcept { return packets_; }
    std::uint64_t size() const noexcept { return spdl_packets_count(packets_); }
    std::string_view info() const noexcept { return spdl_packets_info(packets_); } // JSON

    // The i-th; its bytes live as long as this does. SPDL_E_ARGUMENT.
    Result<spdl_packet> try_packet(std::uint64_t i) const {
        spdl_packet p = SPDL_PACKET_INIT;
        if (const spdl_status s = spdl_packets_get(packets_, i, &p); s != SPDL_OK) return Status(s);
        return p;
    }
    Result<Packets> try_slice(std::uint64_t first, std::uint64_t end) const {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_packets_slice(packets_, first, end, &out); s != SPDL_OK)
            return Status(s);
        return Packets(out);
    }
    Result<Packets> try_filter(const std::string &filters) const {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_packets_filter(packets_, filters.c_str(), &out); s != SPDL_OK)
            return Status(s);
        return Packets(out);
    }
    Result<Loaded> try_decode(const std::string &description) const {
        spdl_loaded *out = nullptr;
        if (const spdl_status s = spdl_packets_decode(packets_, description.c_str(), &out); s != SPDL_OK)
            return Status(s);
        return Loaded(out);
    }
    Result<Loading> try_decode_chunks(const std::string &description) const {
        spdl_loading *out = nullptr;
        if (const spdl_status s = spdl_packets_decode_chunks(packets_, description.c_str(), &out);
            s != SPDL_OK)
            return Status(s);
        return Loading(out);
    }
    // As bytes, tensor 0, for packets_of in this process or another.
    Result<Loaded> try_bytes() const {
        spdl_loaded *out = nullptr;
        if (const spdl_status s = spdl_packets_bytes(packets_, &out); s != SPDL_OK) return Status(s);
        return Loaded(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    spdl_packet packet(std::uint64_t i) const & { return detail::take(try_packet(i)); }
    spdl_packet packet(std::uint64_t) const && = delete; // would dangle
    Packets slice(std::uint64_t first, std::uint64_t end) const {
        return detail::take(try_slice(first, end));
    }
    Packets filter(const std::string &filters) const { return detail::take(try_filter(filters)); }
    Loaded decode(const std::string &description) const { return detail::take(try_decode(description)); }
    Loaded bytes() const { return detail::take(try_bytes()); }
    Loading decode_chunks(const std::string &description) const {
        return detail::take(try_decode_chunks(description));
    }
#endif

  private:
    spdl_packets *packets_ = nullptr;
};

// Bitstream filters, kept open from one piece of a stream to the next. Move-only; one thread at a time.
class [[nodiscard]] BitstreamFilter {
  public:
    BitstreamFilter() noexcept = default;
    explicit BitstreamFilter(spdl_bsf *filter) noexcept : filter_(filter) {}
    BitstreamFilter(BitstreamFilter &&other) noexcept : filter_(std::exchange(other.filter_, nullptr)) {}
    BitstreamFilter &operator=(BitstreamFilter &&other) noexcept {
        if (this != &other) spdl_bsf_close(std::exchange(filter_, std::exchange(other.filter_, nullptr)));
        return *this;
    }
    ~BitstreamFilter() { spdl_bsf_close(filter_); }

    // What comes out, which may be none; with the last ones, or in flush, also what is still held.
    Result<Packets> try_filter(const Packets &packets, bool last = false) {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_bsf_filter(filter_, packets.get(), last, &out); s != SPDL_OK)
            return Status(s);
        return Packets(out);
    }
    Result<Packets> try_flush() {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_bsf_flush(filter_, &out); s != SPDL_OK) return Status(s);
        return Packets(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    Packets filter(const Packets &packets, bool last = false) {
        return detail::take(try_filter(packets, last));
    }
    Packets flush() { return detail::take(try_flush()); }
#endif

  private:
    spdl_bsf *filter_ = nullptr;
};

// A decoder that is fed piece by piece. Move-only; one thread at a time.
//
//     while (spdl::Packets packets = film.next())
//         for (decoder.give(packets); spdl::Loaded chunk = decoder.next();) use(chunk);
//     for (decoder.flush(); spdl::Loaded chunk = decoder.next();) use(chunk);
class [[nodiscard]] Decoder {
  public:
    Decoder() noexcept = default;
    explicit Decoder(spdl_decoder *decoder) noexcept : decoder_(decoder) {}
    Decoder(Decoder &&other) noexcept : decoder_(std::exchange(other.decoder_, nullptr)) {}
    Decoder &operator=(Decoder &&other) noexcept {
        if (this != &other)
            spdl_decoder_close(std::exchange(decoder_, std::exchange(other.decoder_, nullptr)));
        return *this;
    }
    ~Decoder() { spdl_decoder_close(decoder_); }

    Status try_give(const Packets &packets) { return Status(spdl_decoder_give(decoder_, packets.get())); }
    Status try_flush() { return Status(spdl_decoder_flush(decoder_)); }
    // The next chunk; SPDL_END_DATA, which is neither ok nor failed, where it wants more packets.
    Result<Loaded> try_next() {
        spdl_loaded *out = nullptr;
        if (const spdl_status s = spdl_decoder_next(decoder_, &out); s != SPDL_OK) return Status(s);
        return Loaded(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    void give(const Packets &packets) { detail::check(try_give(packets)); }
    void flush() { detail::check(try_flush()); }
    Loaded next() { return detail::take(try_next()); } // empty where it wants more
#endif

  private:
    spdl_decoder *decoder_ = nullptr;
};

// Packets of what Packets::try_bytes made, from anywhere.
inline Result<Packets> try_packets_of(const void *bytes, std::size_t n_bytes) {
    spdl_packets *out = nullptr;
    if (const spdl_status s = spdl_packets_of(detail::place(bytes, n_bytes), n_bytes, &out); s != SPDL_OK)
        return Status(s);
    return Packets(out);
}
// FFmpeg's filters with several inputs and outputs, of pictures and of sound. Move-only; one thread at a time.
//
//     spdl::Graph graph = spdl::graph(R"({"graph": "buffer=video_size=320x240:pix_fmt=rgb24:time_base=1/30,hue=s=0,buffersink"})");
//     for (graph.add(frames.data(), frames.size()), graph.flush(); spdl::Loaded grey = graph.next();) use(grey["video"]);
class [[nodiscard]] Graph {
  public:
    Graph() noexcept = default;
    explicit Graph(spdl_graph *graph) noexcept : graph_(graph) {}
    Graph(Graph &&other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
    Graph &operator=(Graph &&other) noexcept {
        if (this != &other) spdl_graph_close(std::exchange(graph_, std::exchange(other.graph_, nullptr)));
        return *this;
    }
    ~Graph() { spdl_graph_close(graph_); }

    explicit operator bool() const noexcept { return graph_ != nullptr; }
    std::string_view info() const noexcept { return spdl_graph_info(graph_); } // JSON

    // Pictures or samples, and when they are shown; an input or an output without a name is the only one.
    Status try_add(const void *data, std::size_t n_bytes, const std::string &input = {},
                   const double *seconds = nullptr, std::size_t n_seconds = 0) {
        return Status(spdl_graph_add(graph_, named(input), data, n_bytes, seconds, n_seconds));
    }
    Status try_flush() { return Status(spdl_graph_flush(graph_)); }
    // What has come out; SPDL_END_DATA, which is neither ok nor failed, where nothing has.
    Result<Loaded> try_next(const std::string &output = {}) {
        spdl_loaded *out = nullptr;
        if (const spdl_status s = spdl_graph_next(graph_, named(output), &out); s != SPDL_OK)
            return Status(s);
        return Loaded(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    void add(const void *data, std::size_t n_bytes, const std::string &input = {},
             const double *seconds = nullptr, std::size_t n_seconds = 0) {
        detail::check(try_add(data, n_bytes, input, seconds, n_seconds));
    }
    void flush() { detail::check(try_flush()); }
    Loaded next(const std::string &output = {}) { return detail::take(try_next(output)); } // empty: nothing
#endif

  private:
    static const char *named(const std::string &end) noexcept { return end.empty() ? nullptr : end.c_str(); }
    spdl_graph *graph_ = nullptr;
};

// The description is spdl_graph_open's.
inline Result<Graph> try_graph(const std::string &description) {
    spdl_graph *out = nullptr;
    if (const spdl_status s = spdl_graph_open(description.c_str(), &out); s != SPDL_OK) return Status(s);
    return Graph(out);
}

// For packets of a stream, which is not kept.
inline Result<BitstreamFilter> try_bitstream_filter(const Packets &stream, const std::string &filters) {
    spdl_bsf *out = nullptr;
    if (const spdl_status s = spdl_bsf_open(stream.get(), filters.c_str(), &out); s != SPDL_OK)
        return Status(s);
    return BitstreamFilter(out);
}
inline Result<Decoder> try_decoder(const Packets &stream, const std::string &description) {
    spdl_decoder *out = nullptr;
    if (const spdl_status s = spdl_decoder_open(stream.get(), description.c_str(), &out); s != SPDL_OK)
        return Status(s);
    return Decoder(out);
}

// One stream of a container. Move-only; one thread at a time.
class [[nodiscard]] Demuxing {
  public:
    Demuxing() noexcept = default;
    explicit Demuxing(spdl_demuxing *demuxing) noexcept : demuxing_(demuxing) {}
    Demuxing(Demuxing &&other) noexcept : demuxing_(std::exchange(other.demuxing_, nullptr)) {}
    Demuxing &operator=(Demuxing &&other) noexcept {
        if (this != &other)
            spdl_demuxing_close(std::exchange(demuxing_, std::exchange(other.demuxing_, nullptr)));
        return *this;
    }
    ~Demuxing() { spdl_demuxing_close(demuxing_); }

    // The next piece; SPDL_END_DATA, which is neither ok nor failed, after the last.
    Result<Packets> try_next() {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_demuxing_next(demuxing_, &out); s != SPDL_OK) return Status(s);
        return Packets(out);
    }
    // The stream without packets.
    Result<Packets> try_stream() {
        spdl_packets *out = nullptr;
        if (const spdl_status s = spdl_demuxing_stream(demuxing_, &out); s != SPDL_OK) return Status(s);
        return Packets(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    Packets next() { return detail::take(try_next()); } // empty after the last
    Packets stream() { return detail::take(try_stream()); }
#endif

  private:
    spdl_demuxing *demuxing_ = nullptr;
};

// Open a file, or bytes, which must outlive the demuxing.
inline Result<Demuxing> try_demux(const std::string &description, const std::string &path) {
    spdl_demuxing *out = nullptr;
    if (const spdl_status s = spdl_demuxing_open(description.c_str(), nullptr, 0, path.c_str(), &out);
        s != SPDL_OK)
        return Status(s);
    return Demuxing(out);
}
inline Result<Demuxing> try_demux(const std::string &description, const void *bytes, std::size_t n_bytes) {
    spdl_demuxing *out = nullptr;
    if (const spdl_status s =
            spdl_demuxing_open(description.c_str(), detail::place(bytes, n_bytes), n_bytes, nullptr, &out);
        s != SPDL_OK)
        return Status(s);
    return Demuxing(out);
}

// A container that is written; given up unless it is closed. Move-only; one thread at a time.
class [[nodiscard]] Muxer {
  public:
    Muxer() noexcept = default;
    explicit Muxer(spdl_muxer *muxer) noexcept : muxer_(muxer) {}
    Muxer(Muxer &&other) noexcept : muxer_(std::exchange(other.muxer_, nullptr)) {}
    Muxer &operator=(Muxer &&other) noexcept {
        if (this != &other) spdl_muxer_abort(std::exchange(muxer_, std::exchange(other.muxer_, nullptr)));
        return *this;
    }
    ~Muxer() { spdl_muxer_abort(muxer_); }

    // A track's number.
    Result<int> try_add(const std::string &description) {
        return number(spdl_muxer_add(muxer_, description.c_str()));
    }
    Result<int> try_add(const Packets &packets, const std::string &filters = {}) {
        return number(
            spdl_muxer_add_packets(muxer_, packets.get(), filters.empty() ? nullptr : filters.c_str()));
    }
    // Bytes of frames, one after the other or at n_seconds times, or of samples; or packets.
    Status try_write(int track, const void *data, std::size_t n_bytes, const double *seconds = nullptr,
                     std::size_t n_seconds = 0) {
        return Status(spdl_muxer_write(muxer_, track, data, n_bytes, seconds, n_seconds));
    }
    Status try_write(int track, const Packets &packets) {
        return Status(spdl_muxer_write_packets(muxer_, track, packets.get()));
    }
    // Put the file in its place; of a container in memory its bytes, tensor 0, else empty.
    Result<Loaded> try_close(bool in_memory = false) {
        spdl_loaded *out = nullptr;
        const spdl_status s = spdl_muxer_close(std::exchange(muxer_, nullptr), in_memory ? &out : nullptr);
        if (s != SPDL_OK) return Status(s);
        return Loaded(out);
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    int add(const std::string &description) { return detail::take(try_add(description)); }
    int add(const Packets &packets, const std::string &filters = {}) {
        return detail::take(try_add(packets, filters));
    }
    void write(int track, const void *data, std::size_t n_bytes, const double *seconds = nullptr,
               std::size_t n_seconds = 0) {
        detail::check(try_write(track, data, n_bytes, seconds, n_seconds));
    }
    void write(int track, const Packets &packets) { detail::check(try_write(track, packets)); }
    void close() { (void)detail::take(try_close()); }
    Loaded close_memory() { return detail::take(try_close(true)); }
#endif

  private:
    static Result<int> number(std::int32_t track) {
        if (track < 0) return Status(static_cast<spdl_status>(track));
        return track;
    }
    spdl_muxer *muxer_ = nullptr;
};

// Begin a file, or where there is no path a container in memory.
inline Result<Muxer> try_create(const std::string &path, const std::string &description = "{}") {
    spdl_muxer *out = nullptr;
    if (const spdl_status s =
            spdl_muxer_open(description.c_str(), path.empty() ? nullptr : path.c_str(), &out);
        s != SPDL_OK)
        return Status(s);
    return Muxer(out);
}

// Write a picture, pictures or a WAV file; without a path the bytes are tensor 0 of what comes back.
inline Result<Loaded> try_save(const std::string &description, const void *data, std::size_t n_bytes,
                               const std::string &path = {}) {
    spdl_loaded *out = nullptr;
    const spdl_status s = spdl_save(description.c_str(), data, n_bytes, path.empty() ? nullptr : path.c_str(),
                                    path.empty() ? &out : nullptr);
    if (s != SPDL_OK) return Status(s);
    return Loaded(out);
}

#if !defined(SPDL_NO_EXCEPTIONS)
inline Demuxing demux(const std::string &description, const std::string &path) {
    return detail::take(try_demux(description, path));
}
inline Demuxing demux(const std::string &description, const void *bytes, std::size_t n_bytes) {
    return detail::take(try_demux(description, bytes, n_bytes));
}
inline Packets packets_of(const void *bytes, std::size_t n_bytes) {
    return detail::take(try_packets_of(bytes, n_bytes));
}
inline BitstreamFilter bitstream_filter(const Packets &stream, const std::string &filters) {
    return detail::take(try_bitstream_filter(stream, filters));
}
inline Decoder decoder(const Packets &stream, const std::string &description) {
    return detail::take(try_decoder(stream, description));
}
inline Graph graph(const std::string &description) { return detail::take(try_graph(description)); }
inline Muxer create(const std::string &path, const std::string &description = "{}") {
    return detail::take(try_create(path, description));
}
inline Loaded save(const std::string &description, const void *data, std::size_t n_bytes,
                   const std::string &path = {}) {
    return detail::take(try_save(description, data, n_bytes, path));
}
#endif

} // namespace spdl

#endif
