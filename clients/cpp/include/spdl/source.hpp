// spdl/source.hpp - samples of one's own in C++: threads that take what an engine in this process wants, and give what a function says.
//
//     spdl::OpenOptions options;
//     options.in_process = true;
//     spdl::Loader loader = spdl::open(R"({"source": {"host": {"samples": 1000}}, ...})", options);
//     spdl::OwnSource source(loader, [](spdl::Want want) { return spdl::Sample::bytes(look_up(want.index)); });
//     for (spdl::Batch batch : loader) train(batch);
//
// The function is called in several threads at once. What it throws makes a bad sample with the exception's text. With `order: {asked: true}` it says which sample of any
// other source comes at a place of the epoch, spdl::Sample::number(n). An answer of the wrong kind is a bad sample, too. See "samples of
// your own" in spdl.h for what a want is and what becomes of a late or missing answer.
#ifndef SPDL_SOURCE_HPP
#define SPDL_SOURCE_HPP

#include <spdl/spdl.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace spdl {

struct Want {
    std::uint64_t index = 0; // place in the data set, from 0
    std::uint32_t epoch = 0; // in which it is wanted, modulo 2^32
};

// The answer to a want: made by one of the five functions, and then given a label and a key where it has any.
class Sample {
  public:
    static Sample bytes(std::string encoded) { return Sample(Kind::bytes, std::move(encoded)); }
    static Sample bytes(const std::vector<std::uint8_t> &encoded) {
        return Sample(Kind::bytes, std::string(encoded.begin(), encoded.end()));
    }
    static Sample file(std::string path) { return Sample(Kind::file, std::move(path)); } // read by the engine
    static Sample failed(std::string why) {
        return Sample(Kind::failed, std::move(why));
    }                                                     // a bad sample, cause "source"
    static Sample end() { return Sample(Kind::end, {}); } // the data end before it: SPDL_SAMPLE_END
    static Sample number(std::int64_t sample) {
        return Sample(Kind::number, {}).label(sample);
    } // which comes there: order.asked

    Sample &&label(std::int64_t label) && {
        label_ = label;
        return std::move(*this);
    }
    Sample &&key(std::string key) && {
        key_ = std::move(key);
        return std::move(*this);
    }

    // As C has it; its pointers are good while this is.
    spdl_sample get() const noexcept {
        spdl_sample s = SPDL_SAMPLE_INIT;
        s.label = label_;
        s.key = key_.empty() ? nullptr : key_.c_str();
        switch (kind_) {
        case Kind::bytes: s.bytes = text_.data(), s.n_bytes = text_.size(); break;
        case Kind::file: s.path = text_.c_str(); break;
        case Kind::failed: s.error = text_.c_str(); break;
        case Kind::end: s.flags = SPDL_SAMPLE_END; break;
        case Kind::number: break;
        }
        return s;
    }

  private:
    enum class Kind { bytes, file, failed, end, number };
    Sample(Kind kind, std::string text) noexcept : kind_(kind), text_(std::move(text)) {}

    Kind kind_;
    std::string text_, key_;
    std::int64_t label_ = -1;
};

// The threads that bring a loader's samples. They end with this, when what they have in hand is given, or when the loader does.
// A forked child has none of them: there this ends without waiting.
class OwnSource {
  public:
    using Function = std::function<Sample(Want)>;

    OwnSource() noexcept = default; // of nothing
    OwnSource(OwnSource &&) noexcept = default;
    OwnSource &operator=(OwnSource &&other) noexcept {
        if (this != &other) {
            stop();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~OwnSource() { stop(); }

    // SPDL_E_NOT_FOUND if the loader's engine is another process, or its description has neither source.host nor order.asked; SPDL_E_ARGUMENT without a
    // thread or a function: nothing would ever come.
    static Result<OwnSource> try_start(const Loader &loader, Function bring, unsigned threads = 8) {
        if (threads == 0 || !bring)
            return Status(SPDL_E_ARGUMENT, threads == 0 ? "spdl: own source: threads is 0, want 1 or more"
                                                        : "spdl: own source: the function is empty");
        if (!loader) return detail::Handle::closed();
        const std::int64_t source = spdl_source_id(loader.get());
        if (source < 0) return Status(static_cast<spdl_status>(source));
        OwnSource own;
        own.state_ = std::make_unique<State>();
        own.state_->source = source;
        own.state_->bring = std::move(bring);
        for (unsigned i = 0; i < threads; i++) own.state_->threads.emplace_back(run, own.state_.get());
        return own;
    }

#if !defined(SPDL_NO_EXCEPTIONS)
    OwnSource(const Loader &loader, Function bring, unsigned threads = 8)
        : OwnSource(detail::take(try_start(loader, std::move(bring), threads))) {}
#endif

    // Wait for the threads' end. The loader goes on without: what it wants meanwhile comes to its deadline.
    void stop() noexcept {
        if (!state_) return;
        if (state_->process != getpid()) {
            (void)state_.release(); // to join or to let go of a thread that there is not would crash
            return;
        }
        state_->over.store(true, std::memory_order_release);
        for (std::thread &thread : state_->threads) thread.join();
        state_.reset();
    }

  private:
    struct State {
        const pid_t process = getpid();
        std::int64_t source = 0;
        Function bring;
        std::atomic<bool> over{false};
        std::vector<std::thread> threads;
    };

    static constexpr std::int64_t slice_ns = 50'000'000; // of a wait, between two looks at over

    static void run(State *state) {
        spdl_want want = SPDL_WANT_INIT;
        while (!state->over.load(std::memory_order_acquire)) {
            const spdl_status status = spdl_source_take(state->source, slice_ns, &want);
            if (status == SPDL_TIMEOUT) continue;
            if (status != SPDL_OK) return;
            const Sample answer = ask(state->bring, Want{want.index, want.epoch});
            const spdl_sample sample = answer.get();
            if (spdl_source_give(state->source, &want, &sample) ==
                SPDL_E_ARGUMENT) // else late, which is the engine's to count
                refuse(state->source, want);
        }
    }

    // An answer that is none, such as bytes where a number is asked for: the want is still out, and its sample is bad for the reason that was given.
    static void refuse(std::int64_t source, const spdl_want &want) {
        const Sample why = Sample::failed(spdl_last_error());
        const spdl_sample sample = why.get();
        (void)spdl_source_give(source, &want, &sample);
    }

    static Sample ask(const Function &bring, Want want) {
#if defined(SPDL_NO_EXCEPTIONS)
        return bring(want);
#else
        try {
            return bring(want);
        } catch (const std::exception &error) {
            return Sample::failed(error.what());
        } catch (...) {
            return Sample::failed("an exception of an unknown type");
        }
#endif
    }

    std::unique_ptr<State> state_;
};

} // namespace spdl

#endif
