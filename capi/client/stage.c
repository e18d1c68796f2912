/* stage.c - what a member of a stage needs beyond a consumer: batches handed on whose memory is still in use, and
 * batches that failed.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- handed on, not released --------------------------------------------------------------------- */

static size_t find_passed(const spdl_reader *r, uint64_t token) {
    size_t i = 0;
    while (i < r->passed_n && r->passed[i] != token) i++;
    return i;
}

bool sp_remember_passed(spdl_reader *r, uint64_t token) {
    pthread_mutex_lock(&r->passed_lock);
    if (r->passed_n == r->passed_room) {
        size_t room = r->passed_room ? 2 * r->passed_room : 8;
        uint64_t *more = realloc(r->passed, room * sizeof *more);
        if (more) {
            r->passed = more;
            r->passed_room = room;
        }
    }
    bool fits = r->passed_n < r->passed_room;
    if (fits) r->passed[r->passed_n++] = token;
    pthread_mutex_unlock(&r->passed_lock);
    return fits;
}

bool sp_knows_passed(spdl_reader *r, uint64_t token) {
    pthread_mutex_lock(&r->passed_lock);
    bool known = find_passed(r, token) < r->passed_n;
    pthread_mutex_unlock(&r->passed_lock);
    return known;
}

bool sp_forget_passed(spdl_reader *r, uint64_t token) {
    pthread_mutex_lock(&r->passed_lock);
    size_t i = find_passed(r, token);
    bool known = i < r->passed_n;
    if (known) r->passed[i] = r->passed[--r->passed_n];
    pthread_mutex_unlock(&r->passed_lock);
    return known;
}

/* ---- failed ---------------------------------------------------------------------------------------- */

/* Tell the engine, which takes the word back before it answers. */
static spdl_status say_failed(spdl_reader *r, const spdl_batch *b, const char *why) {
    size_t n = strnlen(why, SPDL_L_WHY_MAX);
    spdl_l_fail f = {.word = b->token, .slot = b->slot};
    uint8_t payload[sizeof f + SPDL_L_WHY_MAX];
    memcpy(payload, &f, sizeof f);
    memcpy(payload + sizeof f, why, n);
    message m;
    spdl_status s = sp_message_room(&m);
    uint32_t joins = atomic_load_explicit(&r->joins, memory_order_acquire);
    if (s == SPDL_OK) s = sp_request(r, SPDL_L_MSG_FAIL, payload, (uint32_t)(sizeof f + n), &m);
    free(m.payload);
    /* Asked of the next engine again: the one before had taken the batch back, and died before it said so. */
    if (s == SPDL_E_STALE && atomic_load_explicit(&r->joins, memory_order_acquire) != joins) return SPDL_OK;
    return s;
}

spdl_status spdl_fail(spdl_reader *r, const spdl_batch *b, const char *why) {
    spdl_status s = sp_check_batch(r, b, "fail");
    if (s == SPDL_OK) s = sp_usable(r);
    if (s != SPDL_OK) return s;
    if (!why) return sp_fail(SPDL_E_ARGUMENT, "spdl: fail: why is NULL");
    if (!r->stage)
        return sp_fail(SPDL_E_ARGUMENT,
                       "spdl: fail: ring \"%s\": group \"%s\" is no stage; release the batch", r->ring_name,
                       r->group_name);
    if (sp_fault("before.fail")) return sp_fail(SPDL_E_SYSTEM, "spdl: fail: injected fault");
    uint64_t token = b->token;
    /* The record is cleared first: once the engine has the word, the slot may be claimed again. */
    if (token == 0 || b->slot >= r->h.n_slots ||
        !atomic_compare_exchange_strong_explicit(&r->leases[b->slot].token, &token, 0, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return sp_stale(b);
    s = say_failed(r, b, why);
    if (s != SPDL_OK && s != SPDL_E_STALE) { /* the word is still ours */
        atomic_store_explicit(&r->leases[b->slot].token, b->token, memory_order_release);
        return s;
    }
    (void)sp_fault("after.fail");
    sp_reader_unref(r);
    if (s != SPDL_OK) return s;
    sp_wake_after_done(r); /* a thread may wait for the lease */
    return SPDL_OK;
}
