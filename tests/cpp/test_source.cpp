// test_source.cpp - spdl::OwnSource over the real libspdl_engine in this process. Compiled with and without exceptions.
#include <spdl/source.hpp>

#include "check.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

namespace {

// An array of its own for each sample: npy, uint8 [1].
std::string array_of(std::uint64_t index) {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
    header.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n' + static_cast<char>(index);
}

spdl::Result<spdl::Loader> opened(int samples) {
    spdl::OpenOptions options;
    options.in_process = true;
    return spdl::try_open(R"(
        {"source": {"host": {"samples": )" +
                              std::to_string(samples) +
                              R"(}, "columns": [{"name": "x", "type": "npy", "dtype": "u8", "shape": [1]}]},
         "order": {"epochs": 1, "shuffle": false}, "batch": 2})",
                          options);
}

spdl::Sample bring(spdl::Want want) { return spdl::Sample::bytes(array_of(want.index)); }

void samples_of_a_function_come_in_batches() {
    spdl::Result<spdl::Loader> loader = opened(4);
    CHECK(loader.ok());
    spdl::Result<spdl::OwnSource> source = spdl::OwnSource::try_start(*loader, bring, 2);
    CHECK(source.ok());
    spdl::Batch batch;
    int next = 0;
    while (loader->try_acquire(batch).ok()) {
        const spdl::Result<spdl::Tensor> x = batch.try_tensor("x");
        CHECK(x.ok() && x->rows() == 2);
        for (std::uint32_t i = 0; i < x->rows(); i++) CHECK((*x->try_row<std::uint8_t>(i))[0] == next++);
    }
    CHECK(next == 4);
}

// A number where a sample is wanted is a bad sample, which says so; nobody waits for another answer.
void an_answer_of_the_wrong_kind_is_a_bad_sample() {
    spdl::Result<spdl::Loader> loader = opened(4);
    CHECK(loader.ok());
    const auto wrong = [](spdl::Want want) {
        return want.index % 2 == 0 ? bring(want)
                                   : spdl::Sample::number(static_cast<std::int64_t>(want.index));
    };
    const spdl::Result<spdl::OwnSource> source = spdl::OwnSource::try_start(*loader, wrong, 1);
    CHECK(source.ok());
    spdl::Batch batch;
    for (int i = 0; i < 2; i++) {
        CHECK(loader->try_acquire(batch, std::chrono::seconds(60)).ok());
        CHECK(batch.rows() == 1 && batch.raw().n_bad == 1);
    }
}

// A table of three numbers, whose order is asked for.
spdl::Result<spdl::Loader> asked(std::string &table) {
    char list[] = "/tmp/spdl-asked-XXXXXX";
    const int file = mkstemp(list);
    const std::string lines = "{\"n\": 10}\n{\"n\": 11}\n{\"n\": 12}\n";
    CHECK(file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) &&
          close(file) == 0);
    table = std::string(list) + ".jsonl";
    CHECK(rename(list, table.c_str()) == 0);
    spdl::OpenOptions options;
    options.in_process = true;
    return spdl::try_open(
        R"({"source": {"list": ")" + table +
            R"(", "columns": [{"name": "n", "type": "i64"}]}, "order": {"epochs": 1, "asked": true}, "batch": 2})",
        options);
}

// Which of a source's samples come is the function's word: here those of a table of arrays, from the last to the first.
void an_order_of_a_function_is_asked_for() {
    std::string table;
    spdl::Result<spdl::Loader> loader = asked(table);
    CHECK(loader.ok());
    const auto number = [](spdl::Want want) {
        return want.index < 3 ? spdl::Sample::number(2 - static_cast<std::int64_t>(want.index))
                              : spdl::Sample::end();
    };
    const spdl::Result<spdl::OwnSource> source = spdl::OwnSource::try_start(*loader, number, 1);
    CHECK(source.ok());
    spdl::Batch batch;
    std::int64_t next = 12;
    while (loader->try_acquire(batch).ok()) {
        const spdl::Result<spdl::Tensor> n = batch.try_tensor("n");
        CHECK(n.ok());
        for (std::uint32_t i = 0; i < n->rows(); i++) CHECK((*n->try_row<std::int64_t>(i))[0] == next--);
    }
    CHECK(next == 9 && unlink(table.c_str()) == 0);
}

// Bytes where a number is asked for end the ring, with a text that says so.
void an_order_of_a_function_has_numbers_alone() {
    std::string table;
    spdl::Result<spdl::Loader> loader = asked(table);
    CHECK(loader.ok());
    const spdl::Result<spdl::OwnSource> source = spdl::OwnSource::try_start(*loader, bring, 1);
    CHECK(source.ok());
    spdl::Batch batch;
    const spdl::Status status = loader->try_acquire(batch, std::chrono::seconds(60));
    CHECK(status.code() == SPDL_E_ENGINE_FAILED &&
          status.text().find("want the number of a sample as its label") != std::string::npos);
    CHECK(unlink(table.c_str()) == 0);
}

void a_forked_child_may_end_a_source_that_runs_in_its_parent() {
    auto loader = std::make_unique<spdl::Loader>(*opened(4));
    auto source = std::make_unique<spdl::OwnSource>(*spdl::OwnSource::try_start(*loader, bring, 8));
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        source.reset();
        loader.reset();
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    spdl::Batch batch;
    CHECK(loader->try_acquire(batch).ok() && batch.rows() == 2);
}

void nothing() {}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(samples_of_a_function_come_in_batches),
        TEST(an_answer_of_the_wrong_kind_is_a_bad_sample),
        TEST(an_order_of_a_function_is_asked_for),
        TEST(an_order_of_a_function_has_numbers_alone),
        TEST(a_forked_child_may_end_a_source_that_runs_in_its_parent),
    };
    return check::run(tests, nothing, nothing);
}
