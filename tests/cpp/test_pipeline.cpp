// test_pipeline.cpp - spdl::Pipeline over the real libspdl_engine: types, order, failures, ownership. Compiled with and
// without exceptions; what throws is left out in the latter. Every value that was made must be gone at a test's end.
#include <spdl/pipeline.hpp>

#include "check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <array>
#include <atomic>
#include <clocale>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

std::atomic<int> alive{0};

// A value that counts itself, and can be moved but not copied.
struct Counted {
    explicit Counted(int v = 0) : value(v) { alive++; }
    Counted(Counted &&other) noexcept : value(std::exchange(other.value, -1)) { alive++; }
    Counted &operator=(Counted &&other) noexcept {
        value = std::exchange(other.value, -1);
        return *this;
    }
    ~Counted() { alive--; }
    int value;
};

// 0 ... n - 1.
auto count(int n) {
    return [n, next = 0]() mutable { return next < n ? std::optional(next++) : std::nullopt; };
}
auto count_counted(int n) {
    return [n, next = 0]() mutable { return next < n ? std::optional<Counted>(next++) : std::nullopt; };
}

template <class T> std::vector<T> all(spdl::Pipeline<T> &pipeline, spdl_status end = SPDL_END_DATA) {
    std::vector<T> out;
    T value;
    spdl::Status status;
    while ((status = pipeline.try_next(value)).ok()) out.push_back(std::move(value));
    CHECK(status.code() == end);
    return out;
}

template <class T> spdl::Pipeline<T> started(spdl::Result<spdl::Pipeline<T>> result) {
    CHECK(result.ok());
    if (!result.ok()) std::printf("%s\n", result.text().c_str());
    return *std::move(result);
}

void results_keep_the_order_of_the_input_over_four_threads() {
    auto p = started(
        spdl::source("in", count(500))
            .map(
                "square", [](int v) { return std::to_string(v * v); }, spdl::StageOptions(4).in_order())
            .try_start("test"));
    const std::vector<std::string> got = all(p);
    CHECK(got.size() == 500);
    for (int i = 0; i < static_cast<int>(got.size()); i++)
        CHECK(got[static_cast<std::size_t>(i)] == std::to_string(i * i));
    CHECK(p.try_wait().ok());
}

void a_wait_in_vain_says_what_it_waits_for() {
    auto p = started(spdl::source("in", count(500)).try_start("test"));
    spdl::Status status;
    do {
        status = p.try_wait(std::chrono::milliseconds(1));
        CHECK(status.code() == SPDL_TIMEOUT &&
              status.text().find("\"test\": not ended: ") != std::string::npos);
    } while (status.text().find("stage \"in\": a work waits to be given") == std::string::npos);
}

void a_forked_child_may_end_a_pipeline_that_runs_in_its_parent() {
    std::optional<spdl::Pipeline<int>> p(
        started(spdl::source("in", count(9))
                    .map(
                        "same", [](int v) { return v; }, spdl::StageOptions(8))
                    .try_start("test")));
    int value = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const bool told = p->try_next(value).code() == SPDL_E_FORKED;
        p.reset();
        _exit(told ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(all(*p).size() == 9);
}

void values_that_cannot_be_copied_travel_and_none_is_lost() {
    auto p = started(spdl::source("in", count_counted(100))
                         .map(
                             "a", [](Counted v) { return Counted(v.value + 1); }, 2)
                         .map("b", [](Counted &v) { return std::make_unique<Counted>(v.value); })
                         .aggregate("seven", 7)
                         .try_start("test"));
    std::multiset<int> got;
    std::vector<std::unique_ptr<Counted>> list;
    while (p.try_next(list).ok())
        for (auto &v : list) got.insert(v->value);
    CHECK(got.size() == 100 && *got.begin() == 1 && *got.rbegin() == 100);
}

// A value that cannot be made of nothing.
struct Whole {
    explicit Whole(int v) : counted(v) {}
    Counted counted;
};

void values_without_a_default_constructor_travel() {
    const auto make = [](int v) -> spdl::Result<Whole> {
        if (v == 2) return spdl::Status(SPDL_E_SYSTEM, "not two");
        return Whole(v);
    };
    auto p = started(
        spdl::source("in", [n = 0]() mutable { return n < 4 ? std::optional(Whole(n++)) : std::nullopt; })
            .map("number", [](const Whole &w) { return w.counted.value; })
            .map("whole", make, spdl::StageOptions().forgive(1))
            .try_start("test"));
    std::vector<int> got;
    std::optional<Whole> out;
    spdl::Status status;
    while ((status = p.try_next(out)).ok()) got.push_back(out->counted.value);
    CHECK((got == std::vector<int>{0, 1, 3}));
    CHECK(status.code() == SPDL_END_DATA && !out);
    CHECK(!make(2).ok() && make(1)->counted.value == 1);
}

void lists_are_made_and_taken_apart() {
    auto p =
        started(spdl::source("in", count(7))
                    .aggregate("three", 3)
                    .map("reverse", [](std::vector<int> v) { return std::vector<int>(v.rbegin(), v.rend()); })
                    .disaggregate("one")
                    .aggregate("two", 2, true)
                    .try_start("test"));
    CHECK((all(p) == std::vector<std::vector<int>>{{2, 1}, {0, 5}, {4, 3}}));
}

void a_function_may_drop_an_item_or_make_many() {
    auto p = started(spdl::source("in", count(6))
                         .map("odd", [](int v) { return v % 2 ? std::optional(v) : std::nullopt; })
                         .generate<std::string>("many",
                                                [](int v, spdl::Emit<std::string> &emit) {
                                                    for (int i = 0; i < v; i++)
                                                        if (!emit(std::to_string(v))) return;
                                                })
                         .try_start("test"));
    CHECK((all(p) == std::vector<std::string>{"1", "3", "3", "3", "5", "5", "5", "5", "5"}));
}

void an_aggregator_sees_the_end() {
    auto p = started(spdl::source("in", count(10))
                         .aggregator<int>("sum",
                                          [sum = 0](int *v, spdl::Emit<int> &emit) mutable {
                                              if (v)
                                                  sum += *v;
                                              else
                                                  emit(sum);
                                          })
                         .try_start("test"));
    CHECK((all(p) == std::vector<int>{45}));
}

void epochs_follow_each_other_without_a_new_pipeline() {
    auto p = started(spdl::source("in", [n = 0]() mutable {
                         n++;
                         return n % 4 ? std::optional(n) : std::nullopt;
                     }).map("same", [](int v) {
                           return v;
                       }).try_start("test", 2, true));
    CHECK((all(p, SPDL_END_EPOCH) == std::vector<int>{1, 2, 3}));
    CHECK((all(p, SPDL_END_EPOCH) == std::vector<int>{5, 6, 7}));
}

void a_failed_result_ends_the_pipeline_with_its_whole_text() {
    const std::string text(5000, 'x');
    auto p = started(spdl::source("in", count_counted(100))
                         .map("decode",
                              [&text](Counted &v) -> spdl::Result<Counted> {
                                  if (v.value == 5) return spdl::Status(SPDL_E_ARGUMENT, text);
                                  return std::move(v);
                              })
                         .try_start("test"));
    Counted value;
    spdl::Status status;
    while ((status = p.try_next(value)).ok()) continue;
    CHECK(status.code() == SPDL_E_PIPELINE);
    CHECK(status.text() == "pipeline: \"test\": stage \"decode\": " + text);
    CHECK(p.try_wait().code() == SPDL_E_PIPELINE);
}

void a_failed_list_is_whole_at_its_next_try() {
    std::atomic<int> tries{0};
    auto p = started(spdl::source("in", count_counted(6))
                         .aggregate("three", 3)
                         .map(
                             "sum",
                             [&tries](std::vector<Counted> &list) -> spdl::Result<int> {
                                 if (tries++ % 3 != 2) return spdl::Status(SPDL_E_SYSTEM, "not yet");
                                 int sum = 0;
                                 for (const Counted &v : list) sum += v.value;
                                 return sum;
                             },
                             spdl::StageOptions().retry(2))
                         .try_start("test"));
    CHECK((all(p) == std::vector<int>{0 + 1 + 2, 3 + 4 + 5}));
}

void ending_a_running_pipeline_frees_every_value() {
    for (int i = 0; i < 100; i++) {
        auto p = started(spdl::source("in", count_counted(1 << 30))
                             .map(
                                 "a",
                                 [](Counted &v) -> spdl::Result<Counted> {
                                     if (v.value % 3 == 0) return spdl::Status(SPDL_E_SYSTEM, "a third");
                                     return std::move(v);
                                 },
                                 spdl::StageOptions(3).forgive(-1).retry(1))
                             .aggregate("five", 5)
                             .try_start("test"));
        std::vector<Counted> list;
        for (int n = 0; n < i % 5; n++) CHECK(p.try_next(list).ok());
    }
}

void a_name_is_escaped_and_a_wrong_one_refused() {
    auto p = started(spdl::source("in \"quoted\" \\ \n", count(3)).try_start("a \"name\""));
    CHECK(all(p).size() == 3);
    const auto bad = spdl::source("in", count(3)).map("in", [](int v) { return v; }).try_start("test");
    CHECK(bad.code() == SPDL_E_SPEC);
    CHECK(bad.text().find("the name \"in\" is taken") != std::string::npos);
}

void a_default_made_pipeline_says_so() {
    spdl::Pipeline<int> p;
    int value;
    CHECK(!p && p.get() == nullptr && p.stats().empty());
    CHECK(p.try_next(value).code() == SPDL_E_ARGUMENT);
    p.stop();
    p.drain();
}

void statistics_name_every_stage() {
    auto p =
        started(spdl::source("first", count(3)).map("second", [](int v) { return v; }).try_start("test"));
    all(p);
    CHECK(p.stats().find("\"name\":\"first\"") != std::string::npos);
    CHECK(p.stats().find("\"name\":\"second\"") != std::string::npos);
}

void each_item_goes_down_the_path_that_the_router_says() {
    auto p = started(spdl::source("in", count(8))
                         .variants(
                             "by three", [](const int &v) { return v % 3; }, spdl::StageOptions(2).in_order(),
                             [](spdl::Stages<int> head) {
                                 return std::move(head)
                                     .map("half", [](int v) { return v / 3; })
                                     .map(
                                         "text", [](int v) { return "third " + std::to_string(v); }, 2);
                             },
                             [](spdl::Stages<int> head) {
                                 return std::move(head).map(
                                     "one", [](int v) { return std::to_string(v); }, 3);
                             },
                             [](spdl::Stages<int> head) {
                                 return std::move(head).map("two", [](int v) { return std::to_string(-v); });
                             })
                         .map("mark", [](std::string v) { return v + "."; })
                         .try_start("test"));
    CHECK((all(p) ==
           std::vector<std::string>{"third 0.", "1.", "-2.", "third 1.", "4.", "-5.", "third 2.", "7."}));
}

// In order an item of a path has one result, or none: a second one ends the pipeline with a text, and every value is freed, once.
void a_generator_that_gives_two_results_in_an_ordered_path_ends_the_pipeline() {
    auto p = started(
        spdl::source("in", count_counted(9))
            .variants(
                "parity", [](const Counted &v) { return v.value % 2; }, spdl::StageOptions().in_order(),
                [](spdl::Stages<Counted> head) {
                    return std::move(head).generate<Counted>("twice",
                                                             [](Counted &v, spdl::Emit<Counted> &emit) {
                                                                 emit(Counted(v.value));
                                                                 CHECK(!emit(Counted(v.value)));
                                                             });
                },
                [](spdl::Stages<Counted> head) { return head; })
            .try_start("test"));
    Counted one;
    spdl::Status status;
    while ((status = p.try_next(one, std::chrono::minutes(1))).ok()) {
    }
    CHECK(status.code() == SPDL_E_PIPELINE);
    CHECK(status.text().find("\"twice\": more than one result of an item") != std::string::npos);
}

void a_path_may_pass_its_items_on_and_lists_stay_whole() {
    auto p = started(spdl::source("in", count_counted(9))
                         .aggregate("three", 3)
                         .variants(
                             "first is even", [](const std::vector<Counted> &v) { return v[0].value % 2; },
                             spdl::StageOptions().in_order(),
                             [](spdl::Stages<std::vector<Counted>> head) { return head; },
                             [](spdl::Stages<std::vector<Counted>> head) {
                                 return std::move(head).map("negate", [](std::vector<Counted> v) {
                                     for (Counted &c : v) c.value = -c.value;
                                     return v;
                                 });
                             })
                         .disaggregate("one")
                         .try_start("test"));
    std::vector<int> got;
    for (const Counted &v : all(p)) got.push_back(v.value);
    CHECK((got == std::vector<int>{0, 1, 2, -3, -4, -5, 6, 7, 8}));
}

void each_element_of_a_list_goes_its_way_and_the_list_comes_back() {
    const auto failing = [](std::vector<int> v) -> spdl::Result<std::vector<std::string>> {
        if (v[0] == 1) return spdl::Status(SPDL_E_SYSTEM, "not this part");
        std::vector<std::string> out;
        for (int e : v) out.push_back("odd " + std::to_string(e));
        return out;
    };
    auto p = started(spdl::source("in", count(8))
                         .aggregate("four", 4)
                         .variants_batched(
                             "parity", [](const int &v) { return v % 2; }, {},
                             [](spdl::Stages<std::vector<int>> head) {
                                 return std::move(head).map("even", [](const std::vector<int> &v) {
                                     std::vector<std::string> out;
                                     for (int e : v) out.push_back(std::to_string(e));
                                     return out;
                                 });
                             },
                             [&](spdl::Stages<std::vector<int>> head) {
                                 return std::move(head).map("odd", failing, spdl::StageOptions().forgive(1));
                             })
                         .try_start("test"));
    CHECK((all(p) == std::vector<std::vector<std::string>>{{"0", "2"}, {"4", "odd 5", "6", "odd 7"}}));
}

void a_router_that_names_no_path_or_fails_ends_the_pipeline() {
    const auto as_is = [](spdl::Stages<Counted> head) { return head; };
    auto p = started(spdl::source("in", count_counted(100))
                         .variants(
                             "way", [](const Counted &v) { return v.value; },
                             spdl::StageOptions().forgive(-1), as_is, as_is)
                         .try_start("test"));
    Counted value;
    spdl::Status status;
    while ((status = p.try_next(value)).ok()) continue;
    CHECK(status.text() == "pipeline: \"test\": stage \"way\": the router chose path 2, want 0 to 1");
    auto q = started(spdl::source("in", count_counted(100))
                         .variants(
                             "way",
                             [](const Counted &v) -> spdl::Result<int> {
                                 if (v.value == 3) return spdl::Status(SPDL_E_SYSTEM, "three has no way");
                                 return 0;
                             },
                             {}, as_is)
                         .try_start("test"));
    while ((status = q.try_next(value)).ok()) continue;
    CHECK(status.text() == "pipeline: \"test\": stage \"way\": three has no way");
}

void inputs_are_merged_by_turns_by_arrival_and_by_weight() {
    const auto ten = [](const std::string &name, int from) {
        return spdl::source(
            name, [i = from, from]() mutable { return i < from + 5 ? std::optional(i++) : std::nullopt; });
    };
    auto turns = started(spdl::merge("both", spdl::MergeOptions().round_robin(), ten("a", 0),
                                     ten("b", 100).map("more", [](int v) { return v + 1; }))
                             .map("same", [](int v) { return v; })
                             .try_start("test"));
    CHECK((all(turns) == std::vector<int>{0, 101, 1, 102, 2, 103, 3, 104, 4, 105}));
    auto arrival =
        started(spdl::merge("three", {}, ten("a", 0), ten("b", 100), ten("c", 200)).try_start("test"));
    const std::vector<int> got = all(arrival);
    CHECK(std::multiset<int>(got.begin(), got.end()).size() == 15 &&
          std::set<int>(got.begin(), got.end()).size() == 15);
    auto weighted = [&] {
        auto p = started(spdl::merge("w", spdl::MergeOptions().weighted({1, 9}, 7).until_first(), ten("a", 0),
                                     ten("b", 100))
                             .try_start("test"));
        return all(p);
    };
    const std::vector<int> once = weighted();
    CHECK(once == weighted() && once.size() < 10);
}

void a_merge_of_wrong_weights_is_refused() {
    const auto bad = spdl::merge("w", spdl::MergeOptions().weighted({1}), spdl::source("a", count(1)),
                                 spdl::source("b", count(1)))
                         .try_start("test");
    CHECK(bad.code() == SPDL_E_SPEC && bad.text().find("weights") != std::string::npos);
}

// A locale of $SPDL_TEST_LOCALES, where make puts one, or of the system. glibc leaks what it makes of LOCPATH.
bool set_locale(const char *name) {
#if defined(__SANITIZE_ADDRESS__)
    const __lsan::ScopedDisabler glibc;
#endif
    if (const char *path = std::getenv("SPDL_TEST_LOCALES")) setenv("LOCPATH", path, 1);
    const bool set = std::setlocale(LC_ALL, name) != nullptr;
    unsetenv("LOCPATH");
    return set;
}

void numbers_are_written_whole_in_any_locale() {
    CHECK(spdl::detail::number(0.1) == "0.1" && spdl::detail::number(4e-7) == "4e-07");
    CHECK(spdl::detail::number(1234567) == "1234567" && spdl::detail::number(-0.5) == "-0.5");
    for (double v : {1.0 / 3, 1e-6 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789})
        CHECK(std::strtod(spdl::detail::number(v).c_str(), nullptr) == v);

    const std::string old = std::setlocale(LC_ALL, nullptr);
    if (!set_locale("de_DE.UTF-8")) {
        std::printf("skip: no locale de_DE.UTF-8, and none of localedef in $SPDL_TEST_LOCALES\n");
        return;
    }
    CHECK(std::to_string(0.5) == "0,500000");
    CHECK(spdl::detail::number(1234.5) == "1234.5");
    spdl::StageOptions some = spdl::StageOptions().forgive(3);
    some.max_failure_rate = 0.5;
    auto p = started(spdl::merge("both", spdl::MergeOptions().weighted({0.5, 1.5}),
                                 spdl::source("a", count(5)), spdl::source("b", count(5)))
                         .map(
                             "same", [](int v) { return v; }, some)
                         .try_start("test"));
    CHECK(all(p).size() == 10);
    CHECK(set_locale(old.c_str()));
}

void small_weights_and_rates_are_what_they_are() {
    const auto endless = [](const char *name, int v) {
        return spdl::source(name, [v] { return std::optional(v); });
    };
    auto p = started(
        spdl::merge("w", spdl::MergeOptions().weighted({1e-7, 3e-7}, 7), endless("a", 0), endless("b", 1))
            .try_start("test"));
    int sum = 0, value = 0;
    for (int i = 0; i < 1000; i++) sum += p.try_next(value).ok() ? value : 0;
    CHECK(sum > 700 && sum < 800);

    spdl::StageOptions few(1);
    few.max_failures = -1, few.max_failure_rate = 4e-7, few.probation = 5;
    auto q = started(spdl::source("in", count(100))
                         .map(
                             "m",
                             [](int v) -> spdl::Result<int> {
                                 if (v >= 50) return spdl::Status(SPDL_E_SYSTEM, "too late");
                                 return v;
                             },
                             few)
                         .try_start("test"));
    spdl::Status status;
    while ((status = q.try_next(value)).ok()) continue;
    CHECK(status.code() == SPDL_E_PIPELINE && status.text().find("too late") != std::string::npos);
}

void numbers_that_are_none_are_refused_with_their_place() {
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
    const auto merged = spdl::merge("w", spdl::MergeOptions().weighted({1, nan}), spdl::source("a", count(1)),
                                    spdl::source("b", count(1)))
                            .try_start("test");
    CHECK(merged.code() == SPDL_E_SPEC);
    CHECK(merged.text().find("stages[0].weights[1]: got text \"nan\", want a number") != std::string::npos);
    for (double rate : {nan, inf, -0.5}) {
        spdl::StageOptions options;
        options.max_failure_rate = rate;
        const auto mapped = spdl::source("in", count(1))
                                .map(
                                    "m", [](int v) { return v; }, options)
                                .try_start("test");
        CHECK(mapped.code() == SPDL_E_SPEC);
        CHECK(mapped.text().find("stages[1].failures.max_rate: got ") != std::string::npos);
        spdl::RunOptions whole;
        whole.max_failure_rate = rate;
        const auto run = spdl::source("in", count(1)).try_start("test", whole);
        CHECK(run.code() == SPDL_E_SPEC);
        CHECK(run.text().find(": failures.max_rate: got ") != std::string::npos);
    }
}

void a_seed_may_have_all_of_its_bits() {
    auto p = started(spdl::merge("w", spdl::MergeOptions().weighted({1, 1}, ~std::uint64_t{0}),
                                 spdl::source("a", count(3)), spdl::source("b", count(3)))
                         .try_start("test"));
    CHECK(all(p).size() == 6);
}

void a_stage_that_there_is_not_is_an_error_and_no_endless_wait() {
    const auto latin = spdl::source("in", count(3)).map("a\xff", [](int v) { return v; }).try_start("test");
    CHECK(latin.code() == SPDL_E_SPEC);
    CHECK(latin.text().find("stages[1].name: got byte 0xff, which is not UTF-8") != std::string::npos);
    const auto other = spdl::detail::Running::start(R"({"stages": [{"name": "in", "kind": "source"}]})",
                                                    {{"out", 1, [](spdl::detail::Turn &) {}}});
    CHECK(other.code() == SPDL_E_NOT_FOUND && other.text().find("\"out\"") != std::string::npos);
}

void ending_a_running_graph_frees_every_value() {
    for (int i = 0; i < 50; i++) {
        auto p =
            started(spdl::merge("both", {}, spdl::source("a", count_counted(1 << 30)),
                                spdl::source("b", count_counted(1 << 30)))
                        .aggregate("three", 3)
                        .variants_batched(
                            "way", [](const Counted &v) { return v.value % 2; }, spdl::StageOptions(2),
                            [](spdl::Stages<std::vector<Counted>> head) { return head; },
                            [](spdl::Stages<std::vector<Counted>> head) {
                                return std::move(head).map("same", [](std::vector<Counted> v) { return v; });
                            })
                        .try_start("test"));
        std::vector<Counted> list;
        for (int n = 0; n < i % 5; n++) CHECK(p.try_next(list).ok());
    }
}

#if !defined(SPDL_NO_EXCEPTIONS)
void a_loop_gives_values_without_a_default_constructor() {
    auto p = spdl::source("in", count(4)).map("whole", [](int v) { return Whole(v); }).start("test");
    int sum = 0;
    for (const Whole &w : p) sum += w.counted.value;
    CHECK(sum == 6);
}

void a_router_that_throws_leaves_its_list_whole_for_the_next_try() {
    std::atomic<int> tries{0};
    auto p =
        spdl::source("in", count_counted(3))
            .aggregate("three", 3)
            .variants(
                "way",
                [&tries](const std::vector<Counted> &) {
                    if (tries++ == 0) throw std::runtime_error("not yet");
                    return 0;
                },
                spdl::StageOptions().retry(1), [](spdl::Stages<std::vector<Counted>> head) { return head; })
            .disaggregate("one")
            .start("test");
    int sum = 0;
    for (const Counted &v : p) sum += v.value;
    CHECK(sum == 3 && tries == 2);
}

void an_exception_travels_as_text() {
    auto p = spdl::source("in", count_counted(100))
                 .map("decode",
                      [](Counted v) {
                          if (v.value == 3) throw std::runtime_error("three is bad");
                          return v;
                      })
                 .start("test");
    std::string what;
    int n = 0;
    try {
        for (const Counted &v : p) n += v.value >= 0;
    } catch (const spdl::PipelineFailed &e) {
        what = e.what();
    }
    CHECK(n <= 3);
    CHECK(what == "pipeline: \"test\": stage \"decode\": three is bad");
}

void an_exception_within_the_budget_is_dropped() {
    auto p = spdl::source("in", count(10))
                 .map(
                     "some",
                     [](int v) {
                         if (v % 2) throw 7;
                         return v;
                     },
                     spdl::StageOptions(1).forgive(5))
                 .start("test");
    std::vector<int> got;
    for (int v : p) got.push_back(v);
    CHECK((got == std::vector<int>{0, 2, 4, 6, 8}));
    p.wait();
}

void a_budget_of_the_whole_pipeline_counts_all_stages() {
    const auto never = [](int n) {
        return [n](int v) {
            if (v % n == 0) throw std::runtime_error("every " + std::to_string(n));
            return v;
        };
    };
    for (std::int64_t allowed : {7, 6}) { // 0 2 4 6 8, and 3 9
        spdl::RunOptions options;
        options.max_failures = allowed;
        auto p = spdl::source("in", count(10))
                     .map("second", never(2), spdl::StageOptions(1).forgive(-1))
                     .map("third", never(3), spdl::StageOptions(1).forgive(-1))
                     .start("test", options);
        std::vector<int> got;
        std::string what;
        try {
            for (int v : p) got.push_back(v);
        } catch (const spdl::Error &e) {
            what = e.what();
        }
        CHECK(allowed == 7 ? (got == std::vector<int>{1, 5, 7}) && what.empty()
                           : what.find("at most 6") != std::string::npos);
    }
}

void an_exception_of_a_generator_leaves_what_it_had_made() {
    auto p = spdl::source("in", count_counted(1))
                 .generate<Counted>(
                     "many",
                     [](Counted &v, spdl::Emit<Counted> &emit) {
                         emit(Counted(v.value + 1));
                         throw std::runtime_error("then no more");
                     },
                     spdl::StageOptions().forgive(-1))
                 .start("test");
    int n = 0;
    for (const Counted &v : p) n += v.value;
    CHECK(n == 1);
}
#endif

void before() { alive = 0; }
void after() { CHECK(alive == 0); }

} // namespace

int main() {
    static const check::Test tests[] = {
        TEST(results_keep_the_order_of_the_input_over_four_threads),
        TEST(a_wait_in_vain_says_what_it_waits_for),
        TEST(a_forked_child_may_end_a_pipeline_that_runs_in_its_parent),
        TEST(values_that_cannot_be_copied_travel_and_none_is_lost),
        TEST(values_without_a_default_constructor_travel),
        TEST(lists_are_made_and_taken_apart),
        TEST(a_function_may_drop_an_item_or_make_many),
        TEST(an_aggregator_sees_the_end),
        TEST(epochs_follow_each_other_without_a_new_pipeline),
        TEST(a_failed_result_ends_the_pipeline_with_its_whole_text),
        TEST(a_failed_list_is_whole_at_its_next_try),
        TEST(ending_a_running_pipeline_frees_every_value),
        TEST(a_name_is_escaped_and_a_wrong_one_refused),
        TEST(a_default_made_pipeline_says_so),
        TEST(statistics_name_every_stage),
        TEST(each_item_goes_down_the_path_that_the_router_says),
        TEST(a_generator_that_gives_two_results_in_an_ordered_path_ends_the_pipeline),
        TEST(a_path_may_pass_its_items_on_and_lists_stay_whole),
        TEST(each_element_of_a_list_goes_its_way_and_the_list_comes_back),
        TEST(a_router_that_names_no_path_or_fails_ends_the_pipeline),
        TEST(inputs_are_merged_by_turns_by_arrival_and_by_weight),
        TEST(a_merge_of_wrong_weights_is_refused),
        TEST(numbers_are_written_whole_in_any_locale),
        TEST(small_weights_and_rates_are_what_they_are),
        TEST(numbers_that_are_none_are_refused_with_their_place),
        TEST(a_seed_may_have_all_of_its_bits),
        TEST(a_stage_that_there_is_not_is_an_error_and_no_endless_wait),
        TEST(ending_a_running_graph_frees_every_value),
#if !defined(SPDL_NO_EXCEPTIONS)
        TEST(a_loop_gives_values_without_a_default_constructor),
        TEST(a_router_that_throws_leaves_its_list_whole_for_the_next_try),
        TEST(an_exception_travels_as_text),
        TEST(an_exception_within_the_budget_is_dropped),
        TEST(a_budget_of_the_whole_pipeline_counts_all_stages),
        TEST(an_exception_of_a_generator_leaves_what_it_had_made),
#endif
    };
    return check::run(tests, before, after);
}
