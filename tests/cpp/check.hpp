// check.hpp - the few lines of test harness that this folder needs: CHECK, a list of named tests, a count.
#ifndef SPDL_TESTS_CHECK_HPP
#define SPDL_TESTS_CHECK_HPP

#include <cstdio>

namespace check {

struct Test {
    const char *name;
    void (*body)();
};

inline int failures = 0; // of the running test

inline void expect(bool ok, const char *text, const char *file, int line) {
    if (ok) return;
    failures++;
    std::printf("%s:%d: not so: %s\n", file, line, text);
}

// Run every test, between `before` and `after`; exit status 1 if one failed.
template <unsigned long N> int run(const Test (&tests)[N], void (*before)(), void (*after)()) {
    int passed = 0, failed = 0;
    for (const Test &test : tests) {
        failures = 0;
        before();
        test.body();
        after();
        if (failures != 0) std::printf("FAILED %s\n", test.name);
        (failures == 0 ? passed : failed)++;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

} // namespace check

#define CHECK(condition) check::expect((condition), #condition, __FILE__, __LINE__)
// clang-format off
#define TEST(name) {#name, name}
// clang-format on

#endif
