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

#include <spdl/pipeline_detail.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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
    unsigned probation = 0;                // items before their share is judged; 0: the engine's 100
    unsigned max_retries = 0;              // further tries of an item that failed
    std::chrono::milliseconds backoff{10}; // before the second try, doubling from there
    std::chrono::milliseconds time_limit{0}; // of one item; later it counts as failed; 0: none

    StageOptions &in_order() { return input_order = true, *this; }
    StageOptions &forgive(std::int64_t failures) { return max_failures = failures, *this; }
    StageOptions &retry(unsigned tries) { return max_retries = tries, *this; }
    StageOptions &deadline(std::chrono::milliseconds limit) { return time_limit = limit, *this; }
};

// How a pipeline runs.
struct RunOptions {
    unsigned buffer = 2;            // results that may wait to be taken
    bool continuous = false;        // the source is asked again after its end, for the next epoch
    std::int64_t max_failures = -1; // of all stages together, beside each one's own; -1: any number
    double max_failure_rate = 0;    // and as a share of the source's items; 0: the number alone counts
    unsigned probation = 0;         // items before their share is judged; 0: the engine's 100
};

// How the inputs of merge() follow each other, and when it ends.
struct MergeOptions {
    bool turns = false;          // one item of each input in turn, else as they arrive
    std::vector<double> weights; // one for each input: drawn by these, again the same with the same seed
    std::uint64_t seed = 0;
    bool stop_first = false; // ends with the first input, else with all
    unsigned buffer = 2;     // items that may wait for the next stage

    MergeOptions &round_robin() { return turns = true, *this; }
    MergeOptions &weighted(std::vector<double> share, std::uint64_t draw = 0) {
        return weights = std::move(share), seed = draw, *this;
    }
    MergeOptions &until_first() { return stop_first = true, *this; }
};

namespace detail {

// What `failures` says in a description.
inline std::string budget(std::int64_t count, double rate, unsigned probation) {
    std::string text =
        ", \"failures\": {\"max_count\": " + std::to_string(count) + ", \"max_rate\": " + number(rate);
    if (probation > 0) text += ", \"probation\": " + std::to_string(probation);
    return text + "}";
}

inline std::string described(const StageOptions &o) {
    std::string text =
        ", \"concurrency\": " + std::to_string(o.concurrency) + ", \"buffer\": " + std::to_string(o.buffer);
    if (o.input_order) text += ", \"output\": \"input\"";
    if (o.max_failures != 0 || o.max_failure_rate != 0)
        text += budget(o.max_failures, o.max_failure_rate, o.probation);
    if (o.max_retries > 0)
        text += ", \"retries\": {\"max\": " + std::to_string(o.max_retries) +
                ", \"backoff_ms\": " + std::to_string(o.backoff.count()) + "}";
    if (o.time_limit.count() > 0) text += ", \"deadline_ms\": " + std::to_string(o.time_limit.count());
    return text;
}

inline std::string described(const MergeOptions &o) {
    std::string text = ", \"buffer\": " + std::to_string(o.buffer);
    if (o.stop_first) text += ", \"stop\": \"first\"";
    if (!o.weights.empty()) {
        text += ", \"policy\": \"weighted\", \"seed\": " + std::to_string(o.seed) + ", \"weights\": [";
        for (std::size_t i = 0; i < o.weights.size(); i++) text += (i ? ", " : "") + number(o.weights[i]);
        text += "]";
    } else if (o.turns) {
        text += ", \"policy\": \"round_robin\"";
    }
    return text;
}

} // namespace detail

// A running pipeline whose results are Ts. Ending it stops the run and joins its threads, so a function that never
// returns keeps it; results not taken are deleted. Threads may share one; moving or ending it must not race. A forked child has
// none of the threads: its calls say SPDL_E_FORKED, and ending it there does nothing.
template <class T> class Pipeline {
  public:
    Pipeline() noexcept = default;
    explicit Pipeline(std::unique_ptr<detail::Running> running) noexcept : running_(std::move(running)) {}

    explicit operator bool() const noexcept { return running_ != nullptr; }
    spdl_pipeline *get() const noexcept { return running_ ? running_->get() : nullptr; } // still owned here

    // Wait for the next result: SPDL_OK, SPDL_TIMEOUT (nothing is lost), SPDL_END_EPOCH, SPDL_END_DATA, or the
    // failure with its whole text. An optional, for a T without a default constructor, is empty without SPDL_OK.
    Status try_next(T &out, std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) {
        return get_into(out, timeout);
    }
    Status try_next(std::optional<T> &out, std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) {
        out.reset();
        return get_into(out, timeout);
    }

    // End the sources' intake and finish what is in flight; or end everything now. Neither blocks.
    void drain() noexcept { running_ ? spdl_pipeline_drain(running_->get()) : SPDL_OK; }
    void stop() noexcept { running_ ? spdl_pipeline_stop(running_->get()) : SPDL_OK; }

    // Until everything has ended: results must have been taken, or stop() called. The text of SPDL_TIMEOUT says what it waits for.
    Status try_wait(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) {
        if (!running_) return ended();
        const spdl_status s = spdl_pipeline_wait(running_->get(), timeout.count());
        return s == SPDL_TIMEOUT ? Status(s, spdl_last_error()) : running_->told(s);
    }

    // Counters of every stage and queue, and what is slow, JSON: see spdl_pipeline_stats.
    std::string stats() const { return running_ ? running_->text(spdl_pipeline_stats) : std::string(); }

#if !defined(SPDL_NO_EXCEPTIONS)
    // The next result; empty at the end of an epoch or of the data. Throws what failed.
    std::optional<T> next() {
        std::optional<T> value;
        detail::check(try_next(value));
        return value;
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
    template <class Out> Status get_into(Out &out, std::chrono::nanoseconds timeout) {
        if (!running_) return ended();
        running_->reclaim();
        spdl_work work = SPDL_WORK_INIT;
        const spdl_status s = spdl_pipeline_get(running_->get(), timeout.count(), &work);
        if (s != SPDL_OK) return running_->told(s);
        detail::take_over(work.items, work.n_items);
        detail::Lent<T> lent(work);
        out = std::move(lent.value());
        for (std::uint32_t i = 0; i < work.n_items; i++) delete detail::box_of(work.items[i]);
        return {};
    }
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
    using Item = T;

    // One result for each item, or none.
    template <class F> auto map(const std::string &name, F &&function, StageOptions options = {}) && {
        using Function = std::decay_t<F>;
        static_assert(
            std::disjunction_v<std::is_invocable<Function &, T &>, std::is_invocable<Function &, T &&>>,
            "the function of a map takes what the stage before gives: T, T & or const T &");
        using Returned = decltype(detail::call(std::declval<Function &>(), std::declval<T &>()));
        static_assert(!std::is_void_v<Returned>,
                      "the function of a map returns its result; an empty std::optional drops the item");
        using Answer = detail::Answer<std::decay_t<Returned>>;
        using U = typename Answer::Value;
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
        static_assert(
            std::is_invocable_v<std::decay_t<F> &, T &, Emit<U> &>,
            "a generator's function takes what the stage before gives, and emit: (T &, spdl::Emit<U> &)");
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
        static_assert(
            std::is_invocable_v<std::decay_t<F> &, T *, Emit<U> &>,
            "an aggregator's function takes a pointer to what the stage before gives, and emit: (T *, spdl::Emit<U> &)");
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

    // Each item goes down the path that router(const T &) says, from 0; a path is a function from the stages before
    // it to those with its own behind, such as [](spdl::Stages<T> head) { return std::move(head).map(...); }, and may
    // hand the head back as it is. All paths end in the same type. With in_order() results follow as their items
    // did, and then every stage of a path gives one result for one item.
    template <class F, class... Paths>
    auto variants(const std::string &name, F &&router, StageOptions options, Paths &&...paths) && {
        static_assert(std::is_invocable_v<std::decay_t<F> &, const T &>,
                      "a router takes what the stage before gives: const T &");
        auto f = detail::shared(std::forward<F>(router));
        auto step = [f](detail::Turn &turn) {
            detail::Lent<T> lent(turn.work());
            detail::guarded(turn, [&] {
                std::int32_t path = 0;
                const bool goes_on = [&] {
                    const GiveBack back{lent};
                    return detail::chosen(turn, (*f)(std::as_const(lent.value())), sizeof...(Paths), path);
                }();
                if (goes_on) turn.route(path);
            });
        };
        return std::move(*this).template branch<T>(name, detail::described(options), options.concurrency,
                                                   step, std::forward<Paths>(paths)...);
    }

    // The same for each element of a list: router(const Element &). Each path has the elements that chose it, as a
    // list, and gives a list of as many; the list goes on whole, in its order, without the parts that failed.
    template <class F, class... Paths>
    auto variants_batched(const std::string &name, F &&router, StageOptions options, Paths &&...paths) && {
        static_assert(detail::ListOf<T>::value, "batched variants need a list; put an aggregate before");
        auto f = detail::shared(std::forward<F>(router));
        auto step = [f](detail::Turn &turn) {
            using Element = typename detail::ListOf<T>::Element;
            const spdl_work &work = turn.work();
            detail::guarded(turn, [&] {
                std::vector<std::int32_t> path(work.n_items);
                for (std::uint32_t i = 0; i < work.n_items; i++)
                    if (!detail::chosen(turn, (*f)(std::as_const(detail::value_of<Element>(work.items[i]))),
                                        sizeof...(Paths), path[i]))
                        return;
                turn.route(0, path.data());
            });
        };
        return std::move(*this).template branch<T>(name, detail::described(options) + ", \"batched\": true",
                                                   options.concurrency, step, std::forward<Paths>(paths)...);
    }

    Result<Pipeline<T>> try_start(const std::string &name, const RunOptions &options) && {
        std::string text = "{\"name\": " + detail::quoted(name) +
                           ", \"continuous\": " + (options.continuous ? "true" : "false");
        if (options.max_failures >= 0 || options.max_failure_rate != 0)
            text += detail::budget(options.max_failures, options.max_failure_rate, options.probation);
        text += ", \"stages\": [" + text_ + ", {\"name\": \"results of " + std::to_string(n_stages_) +
                " stages\", \"kind\": \"sink\", \"buffer\": " + std::to_string(options.buffer) + "}]}";
        Result<std::unique_ptr<detail::Running>> running = detail::Running::start(text, workers_);
        if (!running.ok()) return Status(std::move(running));
        return Pipeline<T>(*std::move(running));
    }
    Result<Pipeline<T>> try_start(const std::string &name, unsigned buffer = 2, bool continuous = false) && {
        return std::move(*this).try_start(name, RunOptions{buffer, continuous});
    }
#if !defined(SPDL_NO_EXCEPTIONS)
    Pipeline<T> start(const std::string &name, const RunOptions &options) && {
        return detail::take(std::move(*this).try_start(name, options));
    }
    Pipeline<T> start(const std::string &name, unsigned buffer = 2, bool continuous = false) && {
        return detail::take(std::move(*this).try_start(name, buffer, continuous));
    }
#endif

    // For source() and the stages above.
    Stages(std::string text, std::vector<detail::Worker> workers, unsigned n_stages)
        : text_(std::move(text)), workers_(std::move(workers)), n_stages_(n_stages) {}

    // The stages as text, and what they add to others'; for merge() and the paths of variants.
    const std::string &text() const noexcept { return text_; }
    unsigned n_stages() const noexcept { return n_stages_; }
    std::vector<detail::Worker> &workers() noexcept { return workers_; }

  private:
    // A list is in its boxes again when a router has looked at it, also if that has thrown.
    struct GiveBack {
        detail::Lent<T> &lent;
        ~GiveBack() { lent.give_back(); }
    };

    template <class In, class First, class... Others>
    auto branch(const std::string &name, const std::string &more, unsigned threads, detail::Step step,
                First &&first, Others &&...others) && {
        using U = typename decltype(first(Stages<In>("", {}, 0)))::Item;
        static_assert((std::is_same_v<typename decltype(others(Stages<In>("", {}, 0)))::Item, U> && ...),
                      "all paths end in the same type");
        std::string paths;
        unsigned n = n_stages_ + 1;
        const auto add = [&](Stages<U> path) {
            paths += (paths.empty() ? "[" : ", [") + path.text() + "]";
            n += path.n_stages();
            for (detail::Worker &worker : path.workers()) workers_.push_back(std::move(worker));
        };
        add(first(Stages<In>("", {}, 0)));
        (add(others(Stages<In>("", {}, 0))), ...);
        workers_.push_back({name, threads, std::move(step)});
        const std::string self = detail::described(name, "variants", more + ", \"paths\": [" + paths + "]");
        return Stages<U>(text_.empty() ? self : text_ + ", " + self, std::move(workers_), n);
    }

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
        const std::string self = detail::described(name, kind, more);
        return {text_.empty() ? self : text_ + ", " + self, std::move(workers_), n_stages_ + 1};
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

// Several pipelines in the making as one source.
template <class T, class... Others>
Stages<T> merge(const std::string &name, const MergeOptions &options, Stages<T> first, Others... others) {
    static_assert((std::is_same_v<Others, Stages<T>> && ...), "all inputs of a merge give the same type");
    std::string inputs = "[" + first.text() + "]";
    unsigned n = 1 + first.n_stages();
    std::vector<detail::Worker> workers = std::move(first.workers());
    const auto add = [&](Stages<T> &input) {
        inputs += ", [" + input.text() + "]";
        n += input.n_stages();
        for (detail::Worker &worker : input.workers()) workers.push_back(std::move(worker));
    };
    (add(others), ...);
    return {detail::described(name, "merge", detail::described(options) + ", \"inputs\": [" + inputs + "]"),
            std::move(workers), n};
}

} // namespace spdl

#endif
