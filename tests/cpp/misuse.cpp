// Mistakes that do not compile, one at a time (MISUSE): matrix.sh looks for what the compiler says of each.
#include <spdl/pipeline.hpp>
#include <spdl/spdl.hpp>

#include <cstddef>
#include <string>

#if MISUSE == 1
const void *mistaken(const spdl::Tensor &t) { return t.try_data<std::byte>().ok() ? &t : nullptr; }
#else
auto mistaken(spdl::Stages<int> stages) {
#if MISUSE == 2
    return std::move(stages).map("a", [](int) {});
#elif MISUSE == 3
    return std::move(stages).map("a", [](const std::string &text) { return text; });
#elif MISUSE == 4
    return std::move(stages).generate<int>("a", [](const std::string &, spdl::Emit<int> &) {});
#elif MISUSE == 5
    return std::move(stages).aggregator<int>("a", [](int, spdl::Emit<int> &) {});
#elif MISUSE == 6
    return std::move(stages).variants(
        "a", [](const std::string &) { return 0; }, {}, [](spdl::Stages<int> head) { return head; });
#endif
}
#endif
