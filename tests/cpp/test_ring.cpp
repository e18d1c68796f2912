// The C++ client over the real libspdl and a real ring: the stand-in engine of tests/capi publishes, spdl.hpp
// consumes. What the mock can only claim about leases is read from the slot words here.

#include "check.hpp"

#include <spdl/source.hpp>

extern "C" {
#include "../capi/standin.h"
}

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {

// ---- an engine per test -------------------------------------------------------------------------------

struct Engine {
    standin *s;

    explicit Engine(std::uint32_t access = SPDL_L_ACCESS_SHARED, std::uint64_t n_epochs = 0) {
        standin_opts o = STANDIN_OPTS;
        o.access = access;
        o.n_epochs = n_epochs;
        s = standin_make(o);
        standin_serve(s, -1);
    }
    ~Engine() { standin_free(s); }

    spdl::Loader attach(spdl::AttachOptions options = {}) const { return spdl::attach(s->path, options); }

    // Publish n batches, waiting for slots; the last one ends the epoch.
    void publish(std::uint64_t epoch, int n) const {
        for (int i = 0; i < n;)
            if (standin_publish(s, epoch, i == n - 1) >= 0)
                i++;
            else
                std::this_thread::sleep_for(1ms);
    }

    int count(std::uint32_t state) const {
        int n = 0;
        for (std::uint32_t i = 0; i < s->o.slots; i++)
            n += SPDL_L_STATE(__atomic_load_n(&standin_word(s, i)->word, __ATOMIC_ACQUIRE)) == state;
        return n;
    }
};

bool intact(const spdl::Batch &batch) {
    const spdl::Tensor image = batch["image"];
    return standin_image_is(image.data<std::uint8_t>(), batch.rows(), batch.ticket());
}

// ---- tests -----------------------------------------------------------------------------------------------

void another_ring_is_attached_over_a_loaders_connection() {
    Engine engine;
    spdl::AttachOptions options;
    options.max_leases = 2;
    spdl::Loader train = engine.attach(options);
    spdl::Loader val = spdl::attach(train, "val", options);
    CHECK(std::string(engine.s->last_ring) == "val");
    train.close();
    engine.publish(0, 3);
    int batches = 0;
    for (spdl::Batch batch : val) batches += intact(batch);
    CHECK(batches == 3);
    CHECK(spdl::try_attach(train, "val").code() == SPDL_E_DETACHED);
    options.group = "nobody's";
    CHECK(spdl::try_attach(val, "val", options).code() == SPDL_E_NOT_FOUND);
}

void epochs_arrive_whole_and_in_order() {
    Engine engine(SPDL_L_ACCESS_SHARED, 3);
    spdl::Loader loader = engine.attach();
    std::thread producer([&] {
        for (std::uint64_t epoch = 0; epoch < 3; epoch++) engine.publish(epoch, 20);
    });
    std::uint64_t next = 0;
    for (spdl::Epoch epoch : loader.epochs())
        for (spdl::Batch batch : epoch) {
            CHECK(batch.ticket() == next++ && batch.epoch() == epoch.number() && batch.attempts() == 1);
            CHECK(intact(batch) && batch.key(0) == "key");
            CHECK(batch.last() == (next % 20 == 0));
        }
    producer.join();
    CHECK(next == 60 && engine.count(SPDL_L_FREE) == 8);
    spdl::Batch none;
    CHECK(loader.acquire(none) == SPDL_END_DATA);
}

void break_releases_and_the_next_loop_goes_on() {
    Engine engine;
    spdl::Loader loader = engine.attach();
    engine.publish(0, 5);
    for (spdl::Batch batch : loader)
        if (batch.ticket() == 1) break;
    CHECK(engine.count(SPDL_L_HELD) == 0 && engine.count(SPDL_L_READY) == 3);
    std::uint64_t next = 2;
    for (spdl::Batch batch : loader) CHECK(batch.ticket() == next++);
    CHECK(next == 5);
}

void kept_batches_are_done_and_readable_after_the_loop() {
    Engine engine;
    spdl::AttachOptions options;
    options.max_leases = 5;
    spdl::Loader loader = engine.attach(options);
    engine.publish(0, 4);
    std::vector<spdl::Batch> kept;
    for (spdl::Batch batch : loader) kept.push_back(std::move(batch));
    CHECK(kept.size() == 4 && engine.count(SPDL_L_DONE) == 4);
    for (const spdl::Batch &batch : kept) CHECK(intact(batch));
    kept.clear();
    CHECK(engine.count(SPDL_L_FREE) == 8);
}

void keeping_every_lease_is_a_named_error() {
    Engine engine;
    spdl::AttachOptions options;
    options.max_leases = 2;
    spdl::Loader loader = engine.attach(options);
    engine.publish(0, 4);
    std::vector<spdl::Batch> kept;
    try {
        for (spdl::Batch batch : loader) kept.push_back(std::move(batch));
        CHECK(kept.size() > 4);
    } catch (const spdl::LeasesExhausted &e) {
        CHECK(kept.size() == 2 && e.what()[0] != '\0');
    }
}

void batch_stays_readable_after_its_loader_and_engine() {
    spdl::Batch batch;
    const std::uint8_t *image = nullptr;
    {
        Engine engine;
        spdl::Loader loader = engine.attach();
        engine.publish(0, 1);
        CHECK(loader.next(batch));
        image = batch["image"].data<std::uint8_t>();
    }
    CHECK(standin_image_is(image, batch.rows(), batch.ticket()));
    try {
        batch["image"];
        CHECK(image == nullptr);
    } catch (const spdl::Error &e) {
        CHECK(e.status() == SPDL_E_DETACHED);
    }
    CHECK(batch.release() == SPDL_OK);
}

void handoff_workers_complete_every_batch_once() {
    constexpr int batches = 200;
    Engine engine;
    spdl::AttachOptions options;
    options.handoff = true;
    spdl::Loader loader = engine.attach(options);
    std::thread producer([&] { engine.publish(0, batches); });

    std::mutex lock;
    std::condition_variable ready;
    std::deque<spdl::Batch> queue;
    bool over = false;
    std::set<std::uint64_t> seen;
    std::atomic<int> torn{0};
    auto work = [&] {
        for (;;) {
            std::unique_lock hold(lock);
            ready.wait(hold, [&] { return over || !queue.empty(); });
            if (queue.empty()) return;
            spdl::Batch batch = std::move(queue.front());
            queue.pop_front();
            seen.insert(batch.ticket());
            hold.unlock();
            torn += !intact(batch);
        }
    };
    std::thread a(work), b(work);
    for (spdl::Batch batch : loader) {
        const std::lock_guard hold(lock);
        queue.push_back(std::move(batch));
        ready.notify_one();
    }
    {
        const std::lock_guard hold(lock);
        over = true;
        ready.notify_all();
    }
    a.join(), b.join(), producer.join();
    CHECK(seen.size() == batches && torn == 0);
    CHECK(engine.count(SPDL_L_FREE) == 8 && loader.reader_info().completed == batches);
}

void threads_with_loops_of_their_own_share_a_loader() {
    constexpr int batches = 200;
    Engine engine;
    spdl::Loader loader = engine.attach();
    std::thread producer([&] { engine.publish(0, batches), engine.publish(1, 1); });
    std::atomic<int> n{0}, wrong{0};
    auto work = [&](auto &&epoch) {
        for (spdl::Batch batch : epoch) n++, wrong += !intact(batch) || batch.epoch() != 0;
    };
    spdl::Epoch first = *loader.epochs().begin();
    std::thread a([&] { work(loader); }), b([&] { work(first); });
    a.join(), b.join(), producer.join();
    CHECK(n == batches && wrong == 0 && engine.count(SPDL_L_READY) == 1);
    CHECK(loader.reader_info().epoch == 1);
}

void private_memory_may_be_written_and_shared_may_not() {
    {
        Engine engine(SPDL_L_ACCESS_PRIVATE);
        spdl::Loader loader = engine.attach();
        engine.publish(0, 1);
        for (spdl::Batch batch : loader) {
            batch["image"].mutable_data<std::uint8_t>()[0] = 77;
            CHECK(batch["image"].data<std::uint8_t>()[0] == 77);
        }
    }
    Engine engine;
    spdl::Loader loader = engine.attach();
    engine.publish(0, 1);
    for (spdl::Batch batch : loader) {
        const auto refused = batch["image"].try_mutable_data<std::uint8_t>();
        CHECK(refused.code() == SPDL_E_UNSUPPORTED);
    }
}

void failed_engine_ends_the_loop_with_its_reason() {
    Engine engine;
    spdl::Loader loader = engine.attach();
    standin_publish(engine.s, 0, false);
    standin_set_state(engine.s, SPDL_L_FAILED, "source: folder \"/data\": no pictures");
    int n = 0;
    try {
        for (spdl::Batch batch : loader) n++;
        CHECK(n > 1);
    } catch (const spdl::EngineFailed &e) {
        CHECK(std::string(e.what()).find("no pictures") != std::string::npos);
    }
    CHECK(n == 1); // what was published before is still delivered
}

void nobody_there_is_not_found() {
    spdl::AttachOptions options;
    options.timeout = 1ms;
    const auto attached = spdl::try_attach("no-engine-has-this-name", options);
    CHECK(attached.code() == SPDL_E_NOT_FOUND && !attached.text().empty());
}

void schema_and_information_are_the_rings() {
    Engine engine;
    spdl::Loader loader = engine.attach();
    const std::vector<spdl::Tensor> schema = loader.schema();
    CHECK(schema.size() == STANDIN_TENSORS && schema[0].name() == "image" && schema[0].bytes() > 0);
    CHECK(loader.tensor_index("key") == STANDIN_KEY && schema[STANDIN_KEY].ragged());
    CHECK(loader.engine_state() == SPDL_RUNNING && loader.event_fd() >= 0);
    spdl::Batch batch;
    CHECK(loader.acquire(batch, 0s) == SPDL_TIMEOUT && !batch);
    const auto misspelt = loader.try_tensor_index("imgae");
    CHECK(misspelt.code() == SPDL_E_NOT_FOUND && misspelt.text().find("imgae") != std::string::npos);
}

void a_forked_childs_descriptor_and_schema_say_that_it_is_forked() {
    Engine engine;
    spdl::Loader loader = engine.attach();
    const pid_t child = fork();
    if (child == 0)
        _exit(loader.try_event_fd().code() == SPDL_E_FORKED && loader.try_schema().code() == SPDL_E_FORKED
                  ? 0
                  : 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

void a_source_of_no_thread_or_no_function_is_refused() {
    Engine engine;
    const spdl::Loader loader = engine.attach();
    const auto bring = [](spdl::Want) { return spdl::Sample::failed("none"); };
    CHECK(spdl::OwnSource::try_start(loader, bring, 0).text() ==
          "spdl: own source: threads is 0, want 1 or more");
    CHECK(spdl::OwnSource::try_start(loader, nullptr).code() == SPDL_E_ARGUMENT);
    CHECK(spdl::OwnSource::try_start(loader, bring).code() == SPDL_E_NOT_FOUND);
    CHECK(spdl::OwnSource::try_start(spdl::Loader(), bring).text() ==
          "spdl: loader: closed; open or attach again");
}

void nothing() {}

} // namespace

int main() {
    const check::Test tests[] = {
        TEST(another_ring_is_attached_over_a_loaders_connection),
        TEST(a_forked_childs_descriptor_and_schema_say_that_it_is_forked),
        TEST(a_source_of_no_thread_or_no_function_is_refused),
        TEST(epochs_arrive_whole_and_in_order),
        TEST(break_releases_and_the_next_loop_goes_on),
        TEST(kept_batches_are_done_and_readable_after_the_loop),
        TEST(keeping_every_lease_is_a_named_error),
        TEST(batch_stays_readable_after_its_loader_and_engine),
        TEST(handoff_workers_complete_every_batch_once),
        TEST(threads_with_loops_of_their_own_share_a_loader),
        TEST(private_memory_may_be_written_and_shared_may_not),
        TEST(failed_engine_ends_the_loop_with_its_reason),
        TEST(nobody_there_is_not_found),
        TEST(schema_and_information_are_the_rings),
    };
    return check::run(tests, nothing, nothing);
}
