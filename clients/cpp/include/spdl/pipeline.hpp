// spdl/pipeline.hpp - pipelines of functions: typed stages on threads of their own, over spdl_pipeline_* of spdl.h.
//
//     spdl::Pipeline<std::vector<int>> pipeline =
//         spdl::source("numbers", [n = 0]() mutable { return n < 100 ? std::optional(n++) : std::nullopt; })
//             .map("square", [](int v) { return v * v; }, spdl::StageOptions(4).in_order())
//             .aggregate("ten", 10)
//             .start("demo");
//     for (std::vector<int> ten : pipeline) print(ten);
//
// The engine keeps queues, order, retries, budgets and statistics; each stage has as many threads as its
// concurrency, which live as long as the pipeline. A function with a concurrency above 1 is called by several
// threads at once.
//
// What a function of a stage may take: T by value, T & or const T &. With retries take a reference and leave the
// value whole, for the next try gets the same. What it may return: a U; a std::optional<U>, empty to drop the item;
// a spdl::Result<U>, not ok for a failure. An exception is a failure too, and its what() travels as the text.
// std::vector<U> is a list, which disaggregate() takes apart and aggregate() makes.
#ifndef SPDL_PIPELINE_HPP
#define SPDL_PIPELINE_HPP

#include <spdl/status.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace spdl {

// How a stage runs. Each setter returns the options, for one line.
struct StageOptions {
    StageOptions(unsigned threads = 1) : concurrency(threads) {}

    unsigned concurrency;                  // threads, and works in their hands
    bool input_order = false;              // results follow in the order of the input, else as they are ready
    unsigned buffer = 2;                   // results that may wait for the next stage
    std::int64_t max_failures = 0;         // items that may fail; -1: any number
    double max_failure_rate = 0;           // share of items that may fail; 0: the number alone counts
    unsigned max_retries = 0;              // further tries of an item that failed
    std::chrono::milliseconds backoff{10}; // before the second try, doubling from there
    std::chrono::milliseconds time_limit{0}; // of one item; later it counts as failed; 0: none

    StageOptions &in_order() { return input_order = true, *this; }
    StageOptions &forgive(std::int64_t failures) { return max_failures = failures, *this; }
    StageOptions &retry(unsigned tries) { return max_retries = tries, *this; }
    StageOptions &deadline(std::chrono::milliseconds limit) { return time_limit = limit, *this; }
};

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
inline Box *box_of(std::uint64_t item) { return reinterpret_cast<Box *>(static_cast<std::uintptr_t>(item)); }
template <class T> T &value_of(std::uint64_t item) { return static_cast<BoxOf<T> *>(box_of(item))->value; }

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

    // The engine keeps the items: it offers them again, or has them reclaimed.
    void failed(const std::string &text) {
        spdl_give give = SPDL_GIVE_INIT;
        give.error = text.c_str();
        if (over_)
            drop_input(); // it was told so before, and has let go of them
        else
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

template <class F, class T> decltype(auto) call(F &function, T &value) {
    if constexpr (std::is_invocable_v<F &, T &>)
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

inline std::string described(const std::string &name, const char *kind, const std::string &more) {
    return "{\"name\": " + quoted(name) + ", \"kind\": \"" + kind + "\"" + more + "}";
}

inline std::string described(const StageOptions &o) {
    std::string text =
        ", \"concurrency\": " + std::to_string(o.concurrency) + ", \"buffer\": " + std::to_string(o.buffer);
    if (o.input_order) text += ", \"output\": \"input\"";
    if (o.max_failures != 0 || o.max_failure_rate > 0)
        text += ", \"failures\": {\"max_count\": " + std::to_string(o.max_failures) +
                ", \"max_rate\": " + std::to_string(o.max_failure_rate) + "}";
    if (o.max_retries > 0)
        text += ", \"retries\": {\"max\": " + std::to_string(o.max_retries) +
                ", \"backoff_ms\": " + std::to_string(o.backoff.count()) + "}";
    if (o.time_limit.count() > 0) text += ", \"deadline_ms\": " + std::to_string(o.time_limit.count());
    return text;
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
        spdl_pipeline_stop(pipeline_);
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

// A running pipeline whose results are Ts. Ending it stops the run and joins its threads, so a function that never
// returns keeps it; results not taken are deleted. Threads may share one; moving or ending it must not race.
template <class T> class Pipeline {
  public:
    Pipeline() noexcept = default;
    explicit Pipeline(std::unique_ptr<detail::Running> running) noexcept : running_(std::move(running)) {}

    explicit operator bool() const noexcept { return running_ != nullptr; }
    spdl_pipeline *get() const noexcept { return running_ ? running_->get() : nullptr; } // still owned here

    // Wait for the next result: SPDL_OK, SPDL_TIMEOUT (nothing is lost), SPDL_END_EPOCH, SPDL_END_DATA, or the
    // failure with its whole text.
    Status try_next(T &out, std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) {
        if (!running_) return ended();
        running_->reclaim();
        spdl_work work = SPDL_WORK_INIT;
        const spdl_status s = spdl_pipeline_get(running_->get(), timeout.count(), &work);
        if (s != SPDL_OK) return running_->told(s);
        detail::Lent<T> lent(work);
        out = std::move(lent.value());
        for (std::uint32_t i = 0; i < work.n_items; i++) delete detail::box_of(work.items[i]);
        return {};
    }

    // End the sources' intake and finish what is in flight; or end everything now. Neither blocks.
    void drain() noexcept { running_ ? spdl_pipeline_drain(running_->get()) : SPDL_OK; }
    void stop() noexcept { running_ ? spdl_pipeline_stop(running_->get()) : SPDL_OK; }

    // Until everything has ended: results must have been taken, or stop() called.
    Status try_wait(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) {
        return running_ ? running_->told(spdl_pipeline_wait(running_->get(), timeout.count())) : ended();
    }

    // Counters of every stage and queue, JSON.
    std::string stats() const { return running_ ? running_->text(spdl_pipeline_stats) : std::string(); }

#if !defined(SPDL_NO_EXCEPTIONS)
    // The next result; empty at the end of an epoch or of the data. Throws what failed.
    std::optional<T> next() {
        T value;
        const Status s = try_next(value);
        detail::check(s);
        return s.ok() ? std::optional<T>(std::move(value)) : std::nullopt;
    }
    void wait() { detail::check(try_wait()); }

    struct End {};
    class Iterator {
      public:
        explicit Iterator(Pipeline &pipeline) : pipeline_(&pipeline), value_(pipeline.next()) {}
        T operator*() { return std::move(*value_); } // hands it over, once
        Iterator &operator++() {
            value_ = pipeline_->next();
            return *this;
        }
        friend bool operator!=(const Iterator &i, End) noexcept { return i.value_.has_value(); }

      private:
        Pipeline *pipeline_;
        std::optional<T> value_;
    };
    Iterator begin() { return Iterator(*this); } // one epoch, or all of the data
    End end() const noexcept { return {}; }
#endif

  private:
    static Status ended() { return {SPDL_E_ARGUMENT, "spdl: pipeline: empty; start one"}; }

    std::unique_ptr<detail::Running> running_;
};

// Where a generator or an aggregator puts its results.
template <class U> class Emit {
  public:
    explicit Emit(detail::Turn &turn) noexcept : turn_(turn) {}
    // Waits while the queue behind is full. False: the pipeline is over, so return.
    bool operator()(U value) { return turn_.value(std::move(value)); }

  private:
    detail::Turn &turn_;
};

// Stages in the making; T is what the last of them gives. Each call adds one and hands the rest on.
template <class T> class Stages {
  public:
    // One result for each item, or none.
    template <class F> auto map(const std::string &name, F &&function, StageOptions options = {}) && {
        using Answer = detail::Answer<
            std::decay_t<decltype(detail::call(std::declval<std::decay_t<F> &>(), std::declval<T &>()))>>;
        using U = typename Answer::Value;
        static_assert(!std::is_void_v<U>, "a stage's function returns its result");
        auto f = detail::shared(std::forward<F>(function));
        auto step = [f](detail::Turn &turn) {
            detail::Lent<T> lent(turn.work());
            detail::guarded(turn, [&] { give_or_fail<Answer>(turn, lent, *f); });
        };
        return std::move(*this).template with<U>(name, "map", detail::described(options), options.concurrency,
                                                 step);
    }

    // Any number of results for each item: function(item, emit) calls emit(U) with each.
    template <class U, class F>
    Stages<U> generate(const std::string &name, F &&function, StageOptions options = {}) && {
        auto f = detail::shared(std::forward<F>(function));
        auto step = [f](detail::Turn &turn) {
            detail::Lent<T> lent(turn.work());
            detail::guarded(turn, [&] {
                Emit<U> emit(turn);
                (*f)(lent.value(), emit);
                turn.nothing();
            });
        };
        return std::move(*this).template with<U>(name, "map", detail::described(options), options.concurrency,
                                                 step);
    }

    // One thread that sees every item in order: function(item, emit), where item is a T *, null at the end of the
    // data or the epoch.
    template <class U, class F>
    Stages<U> aggregator(const std::string &name, F &&function, unsigned buffer = 2) && {
        auto f = detail::shared(std::forward<F>(function));
        auto step = [f](detail::Turn &turn) {
            detail::guarded(turn, [&] {
                Emit<U> emit(turn);
                if (turn.work().kind == SPDL_WORK_FLUSH)
                    (*f)(static_cast<T *>(nullptr), emit);
                else
                    (*f)(&detail::Lent<T>(turn.work()).value(), emit);
                turn.nothing();
            });
        };
        return std::move(*this).template with<U>(name, "aggregator",
                                                 ", \"buffer\": " + std::to_string(buffer), 1, step);
    }

    // Lists of n; the last may be shorter, or is dropped.
    Stages<std::vector<T>> aggregate(const std::string &name, unsigned n, bool drop_last = false) && {
        static_assert(!detail::ListOf<T>::value, "a list of lists cannot travel; put a disaggregate before");
        const std::string more = ", \"n\": " + std::to_string(n) + (drop_last ? ", \"drop_last\": true" : "");
        return std::move(*this).template with<std::vector<T>>(name, "aggregate", more, 0, nullptr);
    }

    // The elements of each list, one by one.
    template <class L = T>
    Stages<typename detail::ListOf<L>::Element> disaggregate(const std::string &name) && {
        return std::move(*this).template with<typename detail::ListOf<L>::Element>(name, "disaggregate", "",
                                                                                   0, nullptr);
    }

    // Start it: `buffer` results may wait to be taken. With `continuous` the source is asked again after its end,
    // for the next epoch.
    Result<Pipeline<T>> try_start(const std::string &name, unsigned buffer = 2, bool continuous = false) && {
        std::string text =
            "{\"name\": " + detail::quoted(name) + ", \"continuous\": " + (continuous ? "true" : "false");
        text += ", \"stages\": [" + text_ + ", {\"name\": \"results of " + std::to_string(n_stages_) +
                " stages\", \"kind\": \"sink\", \"buffer\": " + std::to_string(buffer) + "}]}";
        Result<std::unique_ptr<detail::Running>> running = detail::Running::start(text, workers_);
        if (!running.ok()) return Status(std::move(running));
        return Pipeline<T>(*std::move(running));
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    Pipeline<T> start(const std::string &name, unsigned buffer = 2, bool continuous = false) && {
        return detail::take(std::move(*this).try_start(name, buffer, continuous));
    }
#endif

    // For source() and the stages above.
    Stages(std::string text, std::vector<detail::Worker> workers, unsigned n_stages)
        : text_(std::move(text)), workers_(std::move(workers)), n_stages_(n_stages) {}

  private:
    template <class Answer, class F>
    static void give_or_fail(detail::Turn &turn, detail::Lent<T> &lent, F &f) {
#if defined(SPDL_NO_EXCEPTIONS)
        auto answer = detail::call(f, lent.value());
#else
        auto answer = [&] {
            try {
                return detail::call(f, lent.value());
            } catch (...) {
                lent.give_back();
                throw;
            }
        }();
#endif
        if (const Status *failure = Answer::failure(answer)) {
            lent.give_back();
            turn.failed(failure->text());
        } else {
            Answer::give(turn, std::move(answer));
        }
    }

    template <class U>
    Stages<U> with(const std::string &name, const char *kind, const std::string &more, unsigned threads,
                   detail::Step step) && {
        if (step) workers_.push_back({name, threads, std::move(step)});
        return {text_ + ", " + detail::described(name, kind, more), std::move(workers_), n_stages_ + 1};
    }

    std::string text_;
    std::vector<detail::Worker> workers_;
    unsigned n_stages_;
};

// The first stage: function() returns a std::optional<T>, empty at the end.
template <class F> auto source(const std::string &name, F &&function, StageOptions options = {}) {
    using Answer = detail::Answer<std::decay_t<decltype(std::declval<std::decay_t<F> &>()())>>;
    using T = typename Answer::Value;
    static_assert(!std::is_same_v<std::decay_t<decltype(std::declval<std::decay_t<F> &>()())>, T>,
                  "a source returns std::optional, empty at its end");
    auto f = detail::shared(std::forward<F>(function));
    detail::Step step = [f](detail::Turn &turn) {
        detail::guarded(turn, [&] {
            if (auto item = (*f)())
                turn.last(std::move(*item));
            else
                turn.nothing(SPDL_GIVE_END);
        });
    };
    return Stages<T>(detail::described(name, "source", detail::described(options)),
                     {{name, options.concurrency, std::move(step)}}, 1);
}

} // namespace spdl

#endif
