/* kernels.c - what our kernels do, in C, by the name of their entry. */
#include "fake.h"

#include <string.h>

/* fill(u64 to, u32 n, u32 value): n bytes. For tests of the fake itself. */
static void fill(void **params, const unsigned grid[3], const unsigned block[3]) {
    uint64_t to;
    uint32_t n, value;
    (void)grid, (void)block;
    memcpy(&to, params[0], 8);
    memcpy(&n, params[1], 4);
    memcpy(&value, params[2], 4);
    memset((void *)(uintptr_t)to, (int)value, n);
}

static const fake_kernel kernels[] = {
    {"fill", "844", fill},
};

const fake_kernel *fake_find_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
