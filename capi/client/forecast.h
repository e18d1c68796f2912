/* forecast.h - when the next batch is due, from when the last ones came; for wait.c.
 *
 * Who has slept for milliseconds finds its core asleep and its caches cold: after a wake-up of 15 us it took spdl_acquire 6 us
 * more to return, where it takes 1 us warm, and a loop in Python 50 us. So a wait wakes up once of its own accord shortly before the
 * batch is due, looks, and sleeps again. That is the price: one wake-up a batch that is waited for, and none where less than
 * FORECAST_LEAST_NS lies between two. It does not spin for what is due: batches come too irregularly for that, by tenths of a
 * millisecond even from a ticker.
 */
#ifndef SPDL_FORECAST_H
#define SPDL_FORECAST_H

#include <stdatomic.h>
#include <stdint.h>

#define FORECAST_LEAST_NS 500000u
#define FORECAST_EARLY_NS 2000000u /* at most so long before the batch is due */

/* Of the batches that were waited for. Threads that wait at the same time may lose one another's notes: it is a guess. */
typedef struct forecast {
    _Atomic uint64_t last_ns; /* when the last was published; 0: none was */
    _Atomic uint64_t gap_ns;  /* between two, of late; 0: not known yet */
} forecast;

static inline uint64_t least64(uint64_t a, uint64_t b) { return a < b ? a : b; }

static inline void forecast_note(forecast *f, uint64_t published_ns) {
    uint64_t last = atomic_exchange_explicit(&f->last_ns, published_ns, memory_order_relaxed);
    uint64_t gap = atomic_load_explicit(&f->gap_ns, memory_order_relaxed);
    if (last == 0 || published_ns <= last) return;
    uint64_t is = published_ns - last, off = is > gap ? is - gap : gap - is;
    uint64_t step = least64(off, gap / 2) / 4; /* one that came late by accident is no rule */
    gap = gap == 0 ? is : is > gap ? gap + step : gap - step;
    atomic_store_explicit(&f->gap_ns, gap, memory_order_relaxed);
}

/* When to look for the next batch; UINT64_MAX: it is not worth it. May have passed. */
static inline uint64_t forecast_look(const forecast *f) {
    uint64_t gap = atomic_load_explicit(&f->gap_ns, memory_order_relaxed);
    if (gap < FORECAST_LEAST_NS) return UINT64_MAX;
    uint64_t due = atomic_load_explicit(&f->last_ns, memory_order_relaxed) + gap;
    return due - least64(gap / 8, FORECAST_EARLY_NS);
}

#endif
