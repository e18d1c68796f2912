// spdl/spdl.hpp - the C++17 face of spdl.h: the same calls, owned by objects.
//
//     for (spdl::Batch batch : spdl::open("imagenet.yaml"))                             // one epoch
//         train(batch["image"].data<float>(), batch["label"].data<std::int64_t>());
//
// Loader  owns a reader: its destructor detaches (and stops the engine that open started).
// Batch   owns a lease: its destructor gives the slot back, which also says that the batch was used.
// Tensor  owns nothing: a view of one tensor of a batch, good while that batch is.
//
// Loader and Batch move and do not copy; moves never throw. Everything is header-only over libspdl: link
// spdl::cpp (CMake) or `pkg-config --libs spdl`. Words, threads, fork and the memory's life are as spdl.h
// says; this file states only what C++ adds.
//
// Two faces. A call that can fail comes as try_x(), which returns a Status or a Result, and, where
// exceptions are on, as x(), which throws spdl::Error instead. News (SPDL_TIMEOUT, SPDL_END_EPOCH,
// SPDL_END_DATA) is never thrown. With SPDL_NO_EXCEPTIONS defined, or -fno-exceptions, only the try_ face
// exists: range-for has no way to report a failure, so it is left out rather than ending early in silence.
// Nothing here needs RTTI. Out of memory is std::bad_alloc, or the end of the process without exceptions.
//
//     spdl::Batch batch;
//     spdl::Status status;
//     while ((status = loader.try_acquire(batch)).ok()) use(batch);
//     if (status.failed()) complain(status.text());
//
// A batch may outlive its loader: memory reached through a Tensor stays readable until the batch ends, but
// no new Tensor can be had, and no name read. A batch that an exception unwinds is released, so it counts
// as used; to have it delivered to the group again, end the loader first.
#ifndef SPDL_HPP
#define SPDL_HPP

#include <spdl/batch.hpp>
#include <spdl/gpu.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spdl {

// Wait without limit, as a timeout.
inline constexpr std::chrono::nanoseconds forever{-1};

// As spdl_attach_opts; empty text is NULL there.
struct AttachOptions {
    std::string group;                   // empty: the only declared group, else a group of its own
    std::int32_t lane = SPDL_ANY_LANE;   // of a lanes group
    std::uint32_t max_leases = 0;        // batches held at once; 0: 4, or what the ring has left
    std::chrono::nanoseconds timeout{0}; // for the engine to appear and answer; 0: 10 s; spdl::forever
    bool handoff = false;                // batches are completed by other threads than the acquiring one
    std::string client = "c++";          // shown in `spdl inspect`
};

// As spdl_open_opts.
struct OpenOptions {
    AttachOptions attach;
    std::string engine;               // path of the spdl command; empty: looked for
    std::vector<std::string> args;    // further arguments of `spdl serve`
    std::optional<std::string> state; // JSON of state_save() to resume from; only without one: from the start
    bool in_process = false; // no child: libspdl_engine, with the Go runtime, in this process for good
};

namespace detail {

// What loaders, epochs and their iterators share: the reader, until its loader takes it away from all of them, and how
// its batches behave.
class Handle {
  public:
    Handle() noexcept = default;
    Handle(spdl_reader *reader, bool handoff) : shared_(std::make_shared<Shared>()) {
        shared_->reader = reader, shared_->handoff = handoff;
        spdl_reader_info info = SPDL_READER_INFO_INIT;
        if (reader && spdl_get_reader_info(reader, &info) == SPDL_OK) shared_->flags = info.flags;
    }

    spdl_reader *reader() const noexcept { return shared_ ? shared_->reader : nullptr; }
    spdl_reader *take() noexcept { return shared_ ? std::exchange(shared_->reader, nullptr) : nullptr; }
    std::uint32_t flags() const noexcept { return shared_ ? shared_->flags : 0; } // SPDL_READER_*
    bool handoff() const noexcept { return shared_ && shared_->handoff; }

    Status acquire(std::chrono::nanoseconds timeout, Batch &out, std::uint64_t epoch = SPDL_ANY_EPOCH) const {
        out.release();
        spdl_reader *const from = reader();
        if (!from) return closed();
        spdl_batch batch = SPDL_BATCH_INIT;
        const spdl_status s = spdl_next_in_epoch(from, epoch, timeout.count(), nullptr, &batch);
        if (s == SPDL_OK) out = Batch(from, batch, flags());
        return Status(s);
    }

    static Status closed() { return {SPDL_E_DETACHED, "spdl: loader: closed; open or attach again"}; }

  private:
    struct Shared {
        spdl_reader *reader = nullptr;
        std::uint32_t flags = 0;
        bool handoff = false;
    };
    std::shared_ptr<Shared> shared_;
};

inline spdl_attach_opts c_options(const AttachOptions &options) noexcept {
    spdl_attach_opts c = SPDL_ATTACH_OPTS_INIT;
    c.flags = options.handoff ? SPDL_ATTACH_HANDOFF : 0;
    c.group = options.group.empty() ? nullptr : options.group.c_str();
    c.lane = options.lane;
    c.max_leases = options.max_leases;
    c.timeout_ns = options.timeout.count();
    c.client = options.client.empty() ? nullptr : options.client.c_str();
    return c;
}

} // namespace detail

#if !defined(SPDL_NO_EXCEPTIONS)

struct EndOfRange {};

// Walks the batches that are left of an epoch. Dereferencing hands the batch over, once. Going on marks
// the batch before as done if it is still held somewhere, except where `handoff` leaves that to its holder.
// Threads that share a loader have one each: every batch goes to one of them, and all end with the epoch.
class BatchIterator {
  public:
    BatchIterator(detail::Handle handle, std::uint64_t epoch) : handle_(std::move(handle)), epoch_(epoch) {
        next();
    }
    Batch operator*() noexcept { return std::move(batch_); }
    BatchIterator &operator++() {
        // As a rule it was released by now: then this is refused as stale, and nothing has changed.
        if (spdl_reader *const reader = handle_.reader(); reader && !handle_.handoff())
            spdl_done(reader, &given_);
        next();
        return *this;
    }
    friend bool operator!=(const BatchIterator &i, EndOfRange) noexcept { return i.more_; }

  private:
    void next() {
        const Status s = handle_.acquire(forever, batch_, epoch_);
        detail::check(s);
        more_ = s.ok();
        given_ = batch_.raw();
    }

    detail::Handle handle_;
    std::uint64_t epoch_;
    Batch batch_;
    spdl_batch given_ = SPDL_BATCH_INIT;
    bool more_ = false;
};

// What is left of one epoch, for range-for.
class Epoch {
  public:
    Epoch(detail::Handle handle, std::uint64_t number) noexcept
        : handle_(std::move(handle)), number_(number) {}
    std::uint64_t number() const noexcept { return number_; } // from 0
    BatchIterator begin() const { return {handle_, number_}; }
    EndOfRange end() const noexcept { return {}; }

  private:
    detail::Handle handle_;
    std::uint64_t number_;
};

// Every epoch still to come. One that was left early comes again, with the rest of its batches.
class Epochs {
  public:
    class Iterator {
      public:
        explicit Iterator(detail::Handle handle) : handle_(std::move(handle)) { look(); }
        Epoch operator*() const noexcept { return {handle_, number_}; }
        Iterator &operator++() {
            look();
            return *this;
        }
        friend bool operator!=(const Iterator &i, EndOfRange) noexcept { return i.more_; }

      private:
        void look() {
            spdl_reader *const from = handle_.reader();
            if (!from) raise(detail::Handle::closed());
            spdl_ring_info ring = SPDL_RING_INFO_INIT;
            spdl_reader_info reader = SPDL_READER_INFO_INIT;
            detail::check(Status(spdl_get_ring_info(from, &ring)));
            detail::check(Status(spdl_get_reader_info(from, &reader)));
            number_ = reader.epoch;
            more_ = ring.n_epochs == 0 || number_ < ring.n_epochs;
        }

        detail::Handle handle_;
        std::uint64_t number_ = 0;
        bool more_ = false;
    };

    explicit Epochs(detail::Handle handle) noexcept : handle_(std::move(handle)) {}
    Iterator begin() const { return Iterator(handle_); }
    EndOfRange end() const noexcept { return {}; }

  private:
    detail::Handle handle_;
};

#endif

// A member of a ring's group. Threads may share one (each acquire yields a different batch), but closing or
// moving it must not race with other calls. Iterators and epochs go on where it is moved to, and end as closed with it.
class Loader {
  public:
    Loader() noexcept = default;
    // Take over a reader that spdl_open or spdl_attach gave; `handoff` as it was attached.
    explicit Loader(spdl_reader *reader, bool handoff = false) {
        std::unique_ptr<spdl_reader, spdl_status (*)(spdl_reader *)> taken(reader, spdl_detach);
        handle_ = detail::Handle(reader, handoff);
        (void)taken.release();
    }
    Loader(Loader &&other) noexcept = default;
    Loader &operator=(Loader &&other) noexcept {
        if (this == &other) return *this;
        spdl_detach(handle_.take());
        handle_ = std::move(other.handle_);
        return *this;
    }
    ~Loader() { spdl_detach(handle_.take()); }

    explicit operator bool() const noexcept { return get() != nullptr; }
    spdl_reader *get() const noexcept { return handle_.reader(); } // still owned here
    spdl_reader *disown() noexcept { return handle_.take(); }      // the caller's to detach

    // End the membership now. Of batches still held the views that were taken before stay readable, until the batch is
    // released; new ones are refused, with SPDL_E_DETACHED. Those not done are delivered again. Loops over it end with
    // SPDL_E_DETACHED when they ask for the next batch. Waits, 5 s at most, for the end of an engine that this stops.
    Status try_close() { return Status(spdl_detach(handle_.take())); }

    // Release what `batch` holds, then wait for the next one: SPDL_OK, SPDL_TIMEOUT, SPDL_END_EPOCH,
    // SPDL_END_DATA, or a failure of spdl_acquire. Without SPDL_OK `batch` is empty. A zero timeout polls.
    Status try_acquire(Batch &batch, std::chrono::nanoseconds timeout = forever) {
        return handle_.acquire(timeout, batch);
    }

    // What the ring and this reader are; text and names in it are valid until close.
    Result<spdl_ring_info> try_ring_info() const {
        return ask<spdl_ring_info>(SPDL_RING_INFO_INIT, spdl_get_ring_info);
    }
    Result<spdl_reader_info> try_reader_info() const {
        return ask<spdl_reader_info>(SPDL_READER_INFO_INIT, spdl_get_reader_info);
    }

    // The tensors that every batch has: shapes are capacities, data is null.
    Result<std::vector<Tensor>> try_schema() const {
        if (!get()) return detail::Handle::closed();
        std::vector<Tensor> schema;
        const std::uint32_t n = spdl_n_tensors(get());
        for (std::uint32_t i = 0; i == 0 || i < n; i++) { // every ring has some: of none the first says why
            spdl_tensor t = SPDL_TENSOR_INIT;
            if (const spdl_status s = spdl_schema_tensor(get(), i, &t); s != SPDL_OK) return Status(s);
            schema.emplace_back(t, 0, (handle_.flags() & SPDL_READER_WRITES) != 0);
        }
        return schema;
    }

    // The place of a tensor, for Batch::tensor. Constant for the loader's life.
    Result<std::uint32_t> try_tensor_index(const std::string &name) const {
        if (!get()) return detail::Handle::closed();
        const std::int32_t i = spdl_tensor_index(get(), name.c_str());
        if (i < 0) return Status(static_cast<spdl_status>(i));
        return static_cast<std::uint32_t>(i);
    }

    // SPDL_STARTING ... SPDL_LOST; an error below zero. Does not block.
    std::int32_t engine_state() const noexcept { return get() ? spdl_engine_state(get()) : SPDL_E_DETACHED; }

    // A descriptor to poll between try_acquire(batch, 0s) calls; the library's, never to be read or closed.
    Result<int> try_event_fd() {
        if (!get()) return detail::Handle::closed();
        const int fd = spdl_event_fd(get());
        if (fd >= 0) return fd;
        std::string why = spdl_last_error();
        const std::int32_t state = spdl_engine_state(get()); // SPDL_E_FORKED, where that is why
        return Status(state < 0 ? static_cast<spdl_status>(state) : SPDL_E_SYSTEM, std::move(why));
    }

    // This group's position as JSON. The batches this reader holds count as completed, as in a training loop
    // that saves after its step; with flags 0 they do not. Blocks up to 10 s.
    Result<std::string> try_state_save(std::uint32_t flags = SPDL_STATE_COUNT_HELD) {
        return text([flags](spdl_reader *reader, char *buffer, std::size_t bytes, std::size_t *need) {
            return spdl_state_save(reader, flags, buffer, bytes, need);
        });
    }
    Status try_state_load(const std::string &json) {
        return get() ? Status(spdl_state_load(get(), json.c_str())) : detail::Handle::closed();
    }

    // Leave the rest of this epoch and begin the next.
    // Where an epoch has just ended, this skips the whole of the next.
    Status try_restart() { return get() ? Status(spdl_restart(get())) : detail::Handle::closed(); }

    // The engine's counters as JSON.
    Result<std::string> try_stats() { return text(spdl_stats); }

#if !defined(SPDL_NO_EXCEPTIONS)
    // One epoch, or what is left of it after a break. Without batches once the data has ended.
    BatchIterator begin() { return {handle_, reader_info().epoch}; }
    EndOfRange end() const noexcept { return {}; }

    // for (spdl::Epoch epoch : loader.epochs()) for (spdl::Batch batch : epoch) ...
    // Ends after the last epoch asked for; never if the ring is endless.
    Epochs epochs() const noexcept { return Epochs(handle_); }

    // The next batch into `batch`, whose old one is released first; false at the end of an epoch or the data.
    bool next(Batch &batch) { return acquire(batch) == SPDL_OK; }
    spdl_status acquire(Batch &batch, std::chrono::nanoseconds timeout = forever) {
        const Status s = try_acquire(batch, timeout);
        detail::check(s);
        return s.code();
    }

    void close() { detail::check(try_close()); }
    spdl_ring_info ring_info() const { return detail::take(try_ring_info()); }
    spdl_reader_info reader_info() const { return detail::take(try_reader_info()); }
    std::vector<Tensor> schema() const { return detail::take(try_schema()); }
    std::uint32_t tensor_index(const std::string &name) const { return detail::take(try_tensor_index(name)); }
    std::uint64_t size() const { return ring_info().steps_per_epoch; } // batches per lane and epoch
    int event_fd() { return detail::take(try_event_fd()); }
    std::string state_save(std::uint32_t flags = SPDL_STATE_COUNT_HELD) {
        return detail::take(try_state_save(flags));
    }
    void state_load(const std::string &json) { detail::check(try_state_load(json)); }
    void restart() { detail::check(try_restart()); }
    std::string stats() { return detail::take(try_stats()); }
#endif

  private:
    template <class Info>
    Result<Info> ask(Info info, spdl_status (*call)(const spdl_reader *, Info *)) const {
        if (!get()) return detail::Handle::closed();
        if (const spdl_status s = call(get(), &info); s != SPDL_OK) return Status(s);
        return info;
    }

    // Text through a caller's buffer: ask for the size, then for the text, again if it grew in between.
    template <class Write> Result<std::string> text(Write write) {
        if (!get()) return detail::Handle::closed();
        std::string buffer;
        for (int tries = 0;; tries++) {
            std::size_t need = 0;
            const spdl_status s =
                write(get(), buffer.empty() ? nullptr : buffer.data(), buffer.size(), &need);
            if (s == SPDL_OK) {
                buffer.resize(need > 0 ? need - 1 : 0); // without the NUL
                return buffer;
            }
            if (s != SPDL_E_ARGUMENT || need <= buffer.size() || tries == 8) return Status(s);
            buffer.resize(need);
        }
    }

    detail::Handle handle_;
};

// Pin the memory of a loader's ring, for the life of what is returned. As spdl_pin.
inline Result<Pin> try_pin(const Loader &loader, const PinOptions &options = {}) {
    if (!loader) return detail::Handle::closed();
    return try_pin(loader.get(), options);
}

// Attach to another ring of a loader's engine, "" for the first: `spdl::Loader val = spdl::attach(train, "val")`. As spdl_attach_ring.
inline Result<Loader> try_attach(const Loader &of, const std::string &ring,
                                 const AttachOptions &options = {}) {
    if (!of) return detail::Handle::closed();
    const spdl_attach_opts c = detail::c_options(options);
    spdl_reader *reader = nullptr;
    if (const spdl_status s = spdl_attach_ring(of.get(), ring.c_str(), &c, &reader); s != SPDL_OK)
        return Status(s);
    return Loader(reader, options.handoff);
}

// Attach to a running engine's ring, NAME or NAME/RING. As spdl_attach.
inline Result<Loader> try_attach(const std::string &name, const AttachOptions &options = {}) {
    const spdl_attach_opts c = detail::c_options(options);
    spdl_reader *reader = nullptr;
    if (const spdl_status s = spdl_attach(name.c_str(), &c, &reader); s != SPDL_OK) return Status(s);
    return Loader(reader, options.handoff);
}

// Start an engine for this loader alone: a description, a folder of pictures, or JSON. As spdl_open.
inline Result<Loader> try_open(const std::string &spec, const OpenOptions &options = {}) {
    std::vector<const char *> args;
    for (const std::string &arg : options.args) args.push_back(arg.c_str());
    args.push_back(nullptr);

    spdl_open_opts c = SPDL_OPEN_OPTS_INIT;
    c.form = options.in_process ? SPDL_FORM_IN_PROCESS : SPDL_FORM_CHILD;
    c.attach = detail::c_options(options.attach);
    c.engine = options.engine.empty() ? nullptr : options.engine.c_str();
    c.args = options.args.empty() ? nullptr : args.data();
    c.state = options.state ? options.state->c_str() : nullptr;
    spdl_reader *reader = nullptr;
    if (const spdl_status s = spdl_open(spec.c_str(), &c, &reader); s != SPDL_OK) return Status(s);
    return Loader(reader, options.attach.handoff);
}

#if !defined(SPDL_NO_EXCEPTIONS)
inline Pin pin(const Loader &loader, const PinOptions &options = {}) {
    return detail::take(try_pin(loader, options));
}
inline Loader attach(const std::string &name, const AttachOptions &options = {}) {
    return detail::take(try_attach(name, options));
}
inline Loader attach(const Loader &of, const std::string &ring, const AttachOptions &options = {}) {
    return detail::take(try_attach(of, ring, options));
}
inline Loader open(const std::string &spec, const OpenOptions &options = {}) {
    return detail::take(try_open(spec, options));
}
#endif

} // namespace spdl

#endif
