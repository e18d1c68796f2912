// spdl/pipeline_detail.hpp - what spdl/pipeline.hpp is made of: boxes for items, works in a thread's hands, a running pipeline.
// Nothing here is for users; include spdl/pipeline.hpp.
#ifndef SPDL_PIPELINE_DETAIL_HPP
#define SPDL_PIPELINE_DETAIL_HPP

#include <spdl/status.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define SPDL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SPDL_TSAN 1
#endif
#endif
#if defined(SPDL_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace spdl {

namespace detail {

// An item: what the engine carries is the address. Whoever holds it last deletes it, knowing its type or not.
struct Box {
    virtual ~Box() = default;
};
template <class T> struct BoxOf final : Box {
    explicit BoxOf(T v) : value(std::move(v)) {}
    T value;
};
template <class T> std::uint64_t to_item(T value) {
    return reinterpret_cast<std::uintptr_t>(static_cast<Box *>(new BoxOf<T>(std::move(value))));
}
inline Box *box_of(std::uint64_t item) { return reinterpret_cast<Box *>(item); }
template <class T> T &value_of(std::uint64_t item) { return static_cast<BoxOf<T> *>(box_of(item))->value; }

// What a thread did to items before it gave them is done for the thread that gets them. ThreadSanitizer does not see how the engine sees to that, so it is told.
inline void give_away([[maybe_unused]] const std::uint64_t *items, [[maybe_unused]] std::size_t n) noexcept {
#if defined(SPDL_TSAN)
    for (std::size_t i = 0; i < n; i++) __tsan_release(box_of(items[i]));
#endif
}
inline void take_over([[maybe_unused]] const std::uint64_t *items, [[maybe_unused]] std::size_t n) noexcept {
#if defined(SPDL_TSAN)
    for (std::size_t i = 0; i < n; i++) __tsan_acquire(box_of(items[i]));
#endif
}

template <class T> struct ListOf : std::false_type {};
template <class T> struct ListOf<std::vector<T>> : std::true_type { using Element = T; };

// The items of a work as a T, lent to a function: a list goes back into its boxes if the function failed.
template <class T> class Lent {
  public:
    explicit Lent(const spdl_work &work) : value_(value_of<T>(work.items[0])) {}
    T &value() noexcept { return value_; }
    void give_back() noexcept {}

  private:
    T &value_;
};
template <class E> class Lent<std::vector<E>> {
  public:
    explicit Lent(const spdl_work &work) : work_(work) {
        value_.reserve(work.n_items);
        for (std::uint32_t i = 0; i < work.n_items; i++)
            value_.push_back(std::move(value_of<E>(work.items[i])));
    }
    std::vector<E> &value() noexcept { return value_; }
    void give_back() {
        if (value_.size() != work_.n_items) return; // the function has taken it
        for (std::uint32_t i = 0; i < work_.n_items; i++) value_of<E>(work_.items[i]) = std::move(value_[i]);
    }

  private:
    const spdl_work &work_;
    std::vector<E> value_;
};

// One work in a thread's hands and the answers to it.
class Turn {
  public:
    Turn(spdl_pipeline *pipeline, std::int32_t stage, const spdl_work &work) noexcept
        : pipeline_(pipeline), stage_(stage), work_(work) {}

    const spdl_work &work() const noexcept { return work_; }

    // Give one value, a list if it is a vector, with more to follow. False: the pipeline is over, and the work with it.
    template <class U> bool value(U v) { return give(std::move(v), SPDL_GIVE_MORE); }
    // The last answer, but for an error: the function is done with the work's items.
    template <class U> void last(U v) { give(std::move(v), 0); }
    void nothing(std::uint32_t flags = SPDL_GIVE_SKIP) { give_items(nullptr, 0, flags); }

    // The items go on as they came, down a path for all of them or for each.
    void route(std::int32_t path, const std::int32_t *paths = nullptr) {
        spdl_give give = SPDL_GIVE_INIT;
        give.flags = work_.flags & SPDL_WORK_LIST ? SPDL_GIVE_LIST : 0;
        give.items = work_.items, give.n_items = work_.n_items;
        give.path = path, give.paths = paths;
        send(give);
    }

    // The engine keeps the items: it offers them again, or has them reclaimed.
    void failed(const std::string &text, std::uint32_t flags = 0) {
        spdl_give give = SPDL_GIVE_INIT;
        give.error = text.c_str(), give.error_flags = flags;
        if (over_) {
            drop_input(); // it was told so before, and has let go of them
            return;
        }
        give_away(work_.items, work_.n_items);
        send(give);
    }

  private:
    template <class U> bool give(U v, std::uint32_t flags) {
        if constexpr (ListOf<U>::value) {
            std::vector<std::uint64_t> items;
            items.reserve(v.size());
            for (auto &&element : v)
                items.push_back(to_item<typename ListOf<U>::Element>(std::move(element)));
            return give_items(items.data(), items.size(), flags | SPDL_GIVE_LIST);
        } else {
            const std::uint64_t item = to_item<U>(std::move(v));
            return give_items(&item, 1, flags);
        }
    }
    bool give_items(const std::uint64_t *items, std::size_t n, std::uint32_t flags) {
        if (!(flags & SPDL_GIVE_MORE)) drop_input();
        if (over_) {
            for (std::size_t i = 0; i < n; i++) delete box_of(items[i]);
            return false;
        }
        spdl_give give = SPDL_GIVE_INIT;
        give.flags = flags, give.items = items, give.n_items = static_cast<std::uint32_t>(n);
        return send(give);
    }
    bool send(const spdl_give &give) {
        give_away(give.items, give.n_items);
        over_ = spdl_stage_give(pipeline_, stage_, &work_, &give) != SPDL_OK;
        return !over_;
    }
    void drop_input() {
        for (std::uint32_t i = 0; i < work_.n_items; i++) delete box_of(work_.items[i]);
    }

    spdl_pipeline *pipeline_;
    std::int32_t stage_;
    const spdl_work &work_;
    bool over_ = false;
};

// What threads of a stage do with each work.
using Step = std::function<void(Turn &)>;

inline void serve(spdl_pipeline *pipeline, std::int32_t stage, const Step &step) {
    spdl_work work = SPDL_WORK_INIT;
    while (spdl_stage_take(pipeline, stage, -1, &work) == SPDL_OK) {
        take_over(work.items, work.n_items);
        Turn turn(pipeline, stage, work);
        step(turn);
    }
}

// Run `body`, which answers the work, and answer with its exception if it throws.
template <class Body> void guarded([[maybe_unused]] Turn &turn, Body body) {
#if defined(SPDL_NO_EXCEPTIONS)
    body();
#else
    try {
        body();
    } catch (const std::exception &e) {
        turn.failed(e.what());
    } catch (...) {
        turn.failed("an exception that is no std::exception");
    }
#endif
}

// std::vector says that it can be copied, whatever it holds.
template <class T> struct CanCopy : std::is_copy_constructible<T> {};
template <class T> struct CanCopy<std::vector<T>> : CanCopy<T> {};

template <class F, class T> decltype(auto) call(F &function, T &value) {
    if constexpr (std::is_invocable_v<F &, T &> && (CanCopy<T>::value || !std::is_invocable_v<F &, T &&>))
        return function(value);
    else
        return function(std::move(value));
}

// The value that a function's answer stands for, whether it is a failure, and how it is given if it is none.
template <class R> struct Answer {
    using Value = R;
    static const Status *failure(const R &) noexcept { return nullptr; }
    static void give(Turn &turn, R r) { turn.last(std::move(r)); }
};
template <class U> struct Answer<std::optional<U>> {
    using Value = U;
    static const Status *failure(const std::optional<U> &) noexcept { return nullptr; }
    static void give(Turn &turn, std::optional<U> r) {
        if (r)
            turn.last(std::move(*r));
        else
            turn.nothing();
    }
};
template <class U> struct Answer<Result<U>> {
    using Value = U;
    static const Status *failure(const Result<U> &r) noexcept { return r.ok() ? nullptr : &r; }
    static void give(Turn &turn, Result<U> r) { turn.last(*std::move(r)); }
};

// A router's choice, and whether it is a failure.
inline const Status *no_choice(std::int64_t) noexcept { return nullptr; }
template <class I> const Status *no_choice(const Result<I> &r) noexcept { return r.ok() ? nullptr : &r; }
inline std::int64_t choice(std::int64_t path) noexcept { return path; }
template <class I> std::int64_t choice(const Result<I> &r) { return *r; }

// Keeps a router's choice as one of n paths, or answers the work with the failure that it is.
template <class R> bool chosen(Turn &turn, const R &r, std::size_t n, std::int32_t &path) {
    if (const Status *failure = no_choice(r)) {
        turn.failed(failure->text());
        return false;
    }
    const std::int64_t got = choice(r);
    if (got < 0 || got >= static_cast<std::int64_t>(n)) {
        turn.failed("the router chose path " + std::to_string(got) + ", want 0 to " + std::to_string(n - 1),
                    SPDL_ERROR_FATAL);
        return false;
    }
    path = static_cast<std::int32_t>(got);
    return true;
}

struct Worker {
    std::string stage;
    unsigned threads;
    Step step;
};

inline std::string quoted(const std::string &text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
            out += "\\u00";
            out += "0123456789abcdef"[byte >> 4];
            out += "0123456789abcdef"[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

// The fewest digits that are read back as the same number, in any locale: not every library of C++17 has to_chars for it.
// JSON has no nan and no inf: they go as text, which the engine refuses with their place.
inline std::string number(double value) {
    using Limits = std::numeric_limits<double>;
    std::string text;
    double read = 0;
    for (int digits = Limits::digits10; digits <= Limits::max_digits10; digits++) {
        std::ostringstream out;
        out.imbue(std::locale::classic());
        out.precision(digits);
        out << value;
        text = out.str();
        std::istringstream in(text);
        in.imbue(std::locale::classic());
        if (in >> read && read == value) break; // past the largest it is the largest, and has failed
    }
    return std::isfinite(value) ? text : quoted(text);
}

inline std::string described(const std::string &name, const char *kind, const std::string &more) {
    return "{\"name\": " + quoted(name) + ", \"kind\": \"" + kind + "\"" + more + "}";
}

// A stage's function, shared by its threads.
template <class F> std::shared_ptr<std::decay_t<F>> shared(F &&function) {
    return std::make_shared<std::decay_t<F>>(std::forward<F>(function));
}

// A running pipeline and the threads that it lends.
class Running {
  public:
    static Result<std::unique_ptr<Running>> start(const std::string &text,
                                                  const std::vector<Worker> &workers) {
        auto running = std::make_unique<Running>();
        if (const spdl_status s = spdl_pipeline_create(text.c_str(), &running->pipeline_); s != SPDL_OK)
            return Status(s);
        if (const spdl_status s = spdl_pipeline_start(running->pipeline_); s != SPDL_OK) return Status(s);
        for (const Worker &worker : workers) {
            const std::int32_t stage = spdl_pipeline_stage(running->pipeline_, worker.stage.c_str());
            if (stage < 0) return Status(static_cast<spdl_status>(stage));
            for (unsigned i = 0; i < worker.threads; i++)
                running->threads_.emplace_back(serve, running->pipeline_, stage, worker.step);
        }
        return running;
    }
    Running() = default;
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;
    ~Running() {
        if (!pipeline_) return;
        if (spdl_pipeline_stop(pipeline_) == SPDL_E_FORKED) {
            // The threads stayed in the parent: to join them here, or to let go of them, would crash.
            (void)new std::vector<std::thread>(std::move(threads_));
            return;
        }
        for (std::thread &thread : threads_) thread.join();
        spdl_pipeline_wait(pipeline_, -1);
        reclaim();
        spdl_pipeline_free(pipeline_);
    }

    spdl_pipeline *get() const noexcept { return pipeline_; }

    void reclaim() noexcept {
        std::uint64_t items[64];
        std::uint32_t got = 0;
        do {
            if (spdl_pipeline_reclaim(pipeline_, items, 64, &got) != SPDL_OK) return;
            take_over(items, got);
            for (std::uint32_t i = 0; i < got; i++) delete box_of(items[i]);
        } while (got > 0);
    }

    // A failure with its whole text, which spdl_last_error cuts.
    Status told(spdl_status s) const {
        return s == SPDL_E_PIPELINE ? Status(s, text(spdl_pipeline_error)) : Status(s);
    }

    std::string text(spdl_status (*ask)(spdl_pipeline *, char *, std::size_t, std::size_t *)) const {
        std::string buffer;
        std::size_t need = 0;
        while (ask(pipeline_, buffer.empty() ? nullptr : buffer.data(), buffer.size(), &need) != SPDL_OK) {
            if (need <= buffer.size()) return {};
            buffer.resize(need);
        }
        buffer.resize(need - 1);
        return buffer;
    }

  private:
    spdl_pipeline *pipeline_ = nullptr;
    std::vector<std::thread> threads_;
};

} // namespace detail

} // namespace spdl

#endif
