/* forecast.h - when the next batch is due, from when the last ones came; for wait.c.
 *
 * Who has slept for milliseconds finds its core asleep and its caches cold: after a wake-up of 15 us it took spdl_acquire 6 us
 * more to return, where it takes 1 us warm, and a loop in Python 50 us. So a wait wakes up once of its own accord shortly before the
 * batch is due. That is the price: one wake-up a batch that is waited for, and none where less than FORECAST_LEAST_NS lies between two.
 *
 * Of batches that come regularly enough, it then looks out for this one, awake, around the time it is due: for at most an eighth of
 * the time between two, and what is left of FORECAST_WAKE_NS, and only on a core that nobody else wants (wait.c). For others it looks once and sleeps again.
 */
#ifndef SPDL_FORECAST_H
#define SPDL_FORECAST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FORECAST_LEAST_NS 500000u
#define FORECAST_EARLY_NS 2000000u /* at most so long before the batch is due */
#define FORECAST_WAKE_NS 100000u   /* that a timer of the kernel's is late and a core takes to wake up */
#define FORECAST_WATCH_NS 1000000u /* at most so long before and behind the time it is due */
#define FORECAST_NOISE_NS 30000u   /* by which gaps differ in any case */

/* Of the batches that were waited for. Threads that wait at the same time may lose one another's notes: it is a guess. */
typedef struct forecast {
    _Atomic uint64_t last_ns; /* when the last was published; 0: none was */
    _Atomic uint64_t gap_ns;  /* between two, of late; 0: not known yet */
    _Atomic uint64_t off_ns;  /* how far gaps were from that, of late */
} forecast;

/* When to wake up for the next batch, UINT64_MAX if it is not worth it, and until when to stay awake. Both may have passed. */
typedef struct outlook {
    uint64_t look_ns, until_ns;
} outlook;

static inline uint64_t least64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* A quarter of the way from one figure to another. */
static inline uint64_t nearer(uint64_t from, uint64_t to) {
    return to > from ? from + (to - from) / 4 : from - (from - to) / 4;
}

static inline void forecast_note(forecast *f, uint64_t published_ns) {
    uint64_t last = atomic_exchange_explicit(&f->last_ns, published_ns, memory_order_relaxed);
    uint64_t gap = atomic_load_explicit(&f->gap_ns, memory_order_relaxed);
    if (last == 0 || published_ns <= last) return;
    uint64_t is = published_ns - last, off = is > gap ? is - gap : gap - is;
    if (gap == 0) {
        atomic_store_explicit(&f->off_ns, is, memory_order_relaxed);
        atomic_store_explicit(&f->gap_ns, is, memory_order_relaxed);
        return;
    }
    uint64_t usual = atomic_load_explicit(&f->off_ns, memory_order_relaxed);
    uint64_t most = least64(gap / 2, 4 * usual + FORECAST_NOISE_NS);
    off = least64(off, most); /* one that came late by accident is no rule */
    atomic_store_explicit(&f->off_ns, nearer(usual, off), memory_order_relaxed);
    atomic_store_explicit(&f->gap_ns, nearer(gap, is > gap ? gap + off : gap - off), memory_order_relaxed);
}

static inline outlook forecast_look(const forecast *f) {
    uint64_t gap = atomic_load_explicit(&f->gap_ns, memory_order_relaxed);
    if (gap < FORECAST_LEAST_NS) return (outlook){UINT64_MAX, 0};
    uint64_t due = atomic_load_explicit(&f->last_ns, memory_order_relaxed) + gap;
    uint64_t around = 2 * atomic_load_explicit(&f->off_ns, memory_order_relaxed);
    bool regular = around <= FORECAST_WATCH_NS && 2 * around <= gap / 8;
    if (!regular) return (outlook){due - least64(gap / 8, FORECAST_EARLY_NS), 0};
    return (outlook){due - around - FORECAST_WAKE_NS, due + around};
}

#endif
