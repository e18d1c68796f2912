#include <spdl/spdl.hpp>

// A failing attach brings the library's exception through the package's headers.
int main() {
    spdl::AttachOptions options;
    options.timeout = std::chrono::milliseconds(1);
    try {
        spdl::attach("no-engine-has-this-name", options);
    } catch (const spdl::Error &e) {
        return e.what()[0] != '\0' ? 0 : 1;
    }
    return 1;
}
