/* interrupt.c - waits for a descriptor, which end early where the thread has a flag for that. */
#include "internal.h"

#include <errno.h>
#include <poll.h>

#define LOOK_MS 25u /* between two looks at the flag: what it ends has 100 ms */
#define LONG_MS 60000u

static _Thread_local const volatile int *flag;

void spdl_interrupt_on(const volatile int *f) { flag = f; }

spdl_status sp_interrupted(void) {
    if (!flag || !__atomic_load_n(flag, __ATOMIC_RELAXED)) return SPDL_OK; /* another thread may set it */
    return sp_fail(SPDL_E_INTERRUPTED,
                   "spdl: the wait was interrupted: the flag of spdl_interrupt_on is set");
}

spdl_status sp_await(int fd, uint64_t deadline) {
    for (;;) {
        uint64_t now = sp_now_ns();
        uint64_t left = now >= deadline ? 0 : (deadline - now + 999999) / 1000000;
        struct pollfd p = {fd, POLLIN, 0};
        int n = poll(&p, 1, (int)least64(left, flag ? LOOK_MS : LONG_MS));
        if (n > 0) return SPDL_OK;
        if (n < 0 && errno != EINTR) return sp_fail_errno("control socket: poll");
        if (n == 0 && left == 0) return SPDL_TIMEOUT;
        spdl_status s =
            sp_interrupted(); /* behind the look: what is answered at once is heard with the flag set, too */
        if (s != SPDL_OK) return s;
    }
}
