/* dlpack.c - the one thing of DLPack that must be machine code: the end of a tensor, and who hears of it. */
#include "internal.h"

#include <sched.h>

#define TELLING_NS ((uint64_t)100000000) /* a thread that was lost to a fork tells nobody any more */

typedef int (*callback)(void *);
typedef int (*scheduler)(callback, void *);

/* Who hears of it. What to call lies there before whom to ask. */
static _Atomic(scheduler) listener;
static _Atomic(callback) call;
static _Atomic(void *) argument;
static _Atomic bool told;        /* the call is on its way: one is enough for many tensors */
static _Atomic uint32_t telling; /* threads that are about to look for a listener, or to tell it */

/* D: the mark is stored before the look for a listener. Pairs with L: a listener is there before its sweep looks for marks, so one of the
 * two sees the other. */
void spdl_dlpack_deleter(void *managed) {
    if (!managed) return;
    store_release64((uint64_t *)managed, UINT64_MAX);
    atomic_fetch_add(&telling, 1);
    atomic_thread_fence(memory_order_seq_cst);
    scheduler ask = atomic_load(&listener);
    if (ask && !atomic_exchange(&told, true) && ask(atomic_load(&call), atomic_load(&argument)) != 0)
        atomic_store(&told, false); /* no room for it: the next tensor's end tries again */
    atomic_fetch_sub(&telling, 1);
}

void spdl_dlpack_listen(int (*schedule)(int (*call)(void *), void *argument), int (*what)(void *),
                        void *with) {
    atomic_store(&listener, NULL);
    for (uint64_t end = sp_now_ns() + TELLING_NS; atomic_load(&telling) != 0 && sp_now_ns() < end;)
        sched_yield();
    atomic_store(&call, what);
    atomic_store(&argument, with);
    atomic_store(&told, false);
    atomic_store(&listener, schedule);
    atomic_thread_fence(memory_order_seq_cst); /* L */
}
