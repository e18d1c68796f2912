/* ring.c - claim, done, release and the end of an epoch.
 *
 * One word per slot and group says who owns the slot:
 *
 *      FREE --R1--> READY --A1--> HELD(me) --D1--> DONE(me)
 *        ^                            |               |
 *        +------------- F1 -----------+------ F1 -----+
 *
 *   R1  the engine's publish, a store-release: descriptor and payload are complete (shm/queue.go)
 *   A1  our claim: load-acquire of the word, then one compare-and-swap that names us. Pairs with R1, so
 *       everything the engine wrote is visible. There is no moment at which a batch is taken by nobody.
 *   D1  done, a release: the engine that sees DONE knows that the batch was used
 *   F1  release: pairs with the engine's load-acquire before it fills the slot again, so our last read
 *       of the payload happens before its first write
 *
 * In a stage there is no DONE: done and release both store FREE, and the engine hands the batch on. What is left of
 * the lease after done is this process's record that its memory must stay mapped (stage.c).
 *
 * Heads are hints that anybody may help forward. Whatever we read from the group segment may have been
 * written by a hostile member: positions come from tails, which only the engine writes, and every slot
 * number is checked before use. The worst that can be done to us is a batch of our own group missed.
 */
#include "internal.h"

/* One of the two rings of entries of our queue. */
typedef struct entry_ring {
    uint64_t *head;
    const uint64_t *tail;
    const uint64_t *entries;
    uint64_t flag; /* SPDL_L_SEQ_REDO in sequences of redo[] */
} entry_ring;

/* A batch that was READY when we looked. */
typedef struct candidate {
    uint32_t slot;
    uint64_t seq;
} candidate;

/* The sequence that only position p of this ring of this lane can have. */
static uint64_t seq_at(const spdl_reader *r, const entry_ring *ring, uint64_t p) {
    return ((p * r->g.n_lanes + r->lane_number) & (SPDL_L_SEQ_REDO - 1)) | ring->flag;
}

/* Have what fill_batch reads on its way while the word is looked at and claimed: the engine wrote it on another core. */
static void fetch_ahead(const spdl_l_desc *d) {
    __builtin_prefetch(&d->ticket);
    __builtin_prefetch(&d->published_ns);
}

/* Read position p. True if its batch is READY; *later is set if it belongs to a later epoch. */
static bool look_at(const spdl_reader *r, const entry_ring *ring, uint64_t epoch, uint64_t p, candidate *c,
                    bool *later) {
    uint64_t e = load_relaxed64(&ring->entries[p & (r->g.n_entries - 1)]);
    c->seq = SPDL_L_ENTRY_SEQ(e);
    c->slot = SPDL_L_ENTRY_SLOT(e);
    if (c->seq != seq_at(r, ring, p) || c->slot >= r->h.n_slots) return false;
    fetch_ahead(slot_desc(r, c->slot));
    uint64_t w = load_acquire64(&slot_word(r, c->slot)->word); /* A1 */
    (void)sp_fault("word.read");
    if (w != SPDL_L_WORD(SPDL_L_READY, 0, c->seq)) return false;
    /* If the batch is gone by now this may be another's epoch: the claim's compare-and-swap fails then,
     * and a later epoch counts only if the word says that the batch is still this one. */
    *later = load_acquire64(&slot_desc(r, c->slot)->epoch) > epoch;
    return !*later || load_acquire64(&slot_word(r, c->slot)->word) == w;
}

/* Every position below p is claimed: let nobody look there again. */
static void help_head(const entry_ring *ring, uint64_t p) {
    uint64_t seen = load_relaxed64(ring->head);
    while (seen < p && !cas64(ring->head, &seen, p)) {
    }
}

/* Take one of the reader's leases. Leases are counted before the claim, so that this reader never owns
 * more words than it reserved at attach. */
static bool reserve_lease(spdl_reader *r) {
    int64_t seen = atomic_load_explicit(&r->refs, memory_order_relaxed);
    do {
        int64_t others =
            1 + atomic_load_explicit(&r->passed_refs, memory_order_acquire); /* one is the handle's */
        if (seen - others >= (int64_t)r->max_leases) return false;
    } while (!atomic_compare_exchange_weak_explicit(&r->refs, &seen, seen + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

static void record_lease(spdl_reader *r, const candidate *c, uint64_t token) {
    uint64_t now = sp_now_ns();
    lease *l = &r->leases[c->slot];
    if (r->h.features_required & SPDL_L_FEATURE_DEVICE) sp_note_device(r, c->slot);
    atomic_store_explicit(&l->thread, this_thread(), memory_order_relaxed);
    atomic_store_explicit(&l->claimed_ns, now, memory_order_relaxed);
    atomic_store_explicit(&l->waiting, false, memory_order_relaxed);
    atomic_store_explicit(&l->token, token, memory_order_release);
    store_relaxed64(&slot_word(r, c->slot)->claimed_ns, now);
    add_relaxed64(&r->member->acquired, 1);
}

static void fill_batch(const spdl_reader *r, const candidate *c, uint64_t token, spdl_batch *out) {
    const spdl_l_desc *d = slot_desc(r, c->slot);
    out->rows = d->rows;
    out->ticket = d->ticket;
    out->epoch = load_relaxed64(&d->epoch);
    out->step = d->step;
    out->lane = load_relaxed32(&d->lane);
    out->attempts = load_relaxed32(&slot_word(r, c->slot)->attempts);
    out->flags = d->flags;
    out->n_bad = d->n_bad;
    out->hash = d->hash;
    out->fetched_ns = d->fetched_ns;
    out->decoded_ns = d->decoded_ns;
    out->published_ns = d->published_ns;
    out->data = r->data.base + (uint64_t)c->slot * r->h.slot_stride;
    out->data_bytes = r->h.slot_stride;
    out->token = token;
    out->slot = c->slot;
    out->reserved = 0;
}

/* Device memory goes with its engine: what is ready waits for the next one, which has it uploaded again. */
static bool lost_device(const spdl_reader *r) {
    return (r->h.features_required & SPDL_L_FEATURE_DEVICE) && !r->stage && !sp_engine_alive(r);
}

/* Look through one ring from its head and claim the first batch that is READY. */
static claim_result claim_from(spdl_reader *r, const entry_ring *ring, uint64_t epoch, bool *reserved,
                               spdl_batch *out) {
    /* Head before tail: an honest head never passes the tail. The load-acquire of tail (A2) pairs with
     * the engine's store-release of it (R2, shm/queue.go): entries and words below it are complete. */
    uint64_t p = load_acquire64(ring->head);
    uint64_t tail = load_acquire64(ring->tail);
    uint64_t oldest = tail > r->g.n_entries ? tail - r->g.n_entries : 0;
    if (p < oldest || p > tail) p = oldest;
    for (; p < tail; p++) {
        candidate c;
        bool later = false;
        if (!look_at(r, ring, epoch, p, &c, &later)) continue;
        if (later) return CLAIM_NOTHING;
        if (lost_device(r)) return CLAIM_NOTHING;
        if (!*reserved && !(*reserved = reserve_lease(r))) return CLAIM_FULL;
        if (sp_fault("claim.cas")) return CLAIM_NOTHING;
        uint64_t seen = SPDL_L_WORD(SPDL_L_READY, 0, c.seq);
        uint64_t held = SPDL_L_WORD(SPDL_L_HELD, r->owner, c.seq);
        if (!cas64(&slot_word(r, c.slot)->word, &seen, held)) continue;
        (void)sp_fault("after.claim");
        help_head(ring, p + 1);
        record_lease(r, &c, held);
        fill_batch(r, &c, held, out);
        return CLAIM_OK;
    }
    return CLAIM_NOTHING;
}

claim_result sp_claim(spdl_reader *r, uint64_t epoch, spdl_batch *out) {
    const entry_ring redo = {&r->lane->redo_head, &r->queue->redo_tail, r->redo, SPDL_L_SEQ_REDO};
    const entry_ring ready = {&r->lane->head, &r->queue->tail, r->ready, 0};
    bool reserved = false;
    claim_result c = claim_from(r, &redo, epoch, &reserved, out);
    if (c == CLAIM_NOTHING) c = claim_from(r, &ready, epoch, &reserved, out);
    if (c != CLAIM_OK && reserved) {
        /* A thread may have gone to sleep for want of the lease that we reserved in vain. */
        atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel);
        sp_wake_after_done(r);
    }
    return c;
}

/* ---- leases ---------------------------------------------------------------------------------- */

static bool is_mine(const spdl_reader *r, uint32_t slot, uint64_t token) {
    const lease *l = &r->leases[slot];
    return atomic_load_explicit(&l->token, memory_order_acquire) == token &&
           atomic_load_explicit(&l->thread, memory_order_relaxed) == this_thread();
}

bool sp_leases_stuck(const spdl_reader *r) {
    if (atomic_load_explicit(&r->refs, memory_order_relaxed) <=
        (int64_t)r->max_leases + atomic_load(&r->passed_refs))
        return false;
    uint32_t stuck = 0;
    for (uint32_t slot = 0; slot < r->h.n_slots; slot++) {
        const lease *l = &r->leases[slot];
        uint64_t token = atomic_load_explicit(&l->token, memory_order_relaxed);
        if (token != 0 && (is_mine(r, slot, token) || atomic_load(&l->waiting))) stuck++;
    }
    return stuck >= r->max_leases;
}

void sp_mark_waiting(spdl_reader *r, bool waiting) {
    if (atomic_load_explicit(&r->refs, memory_order_relaxed) == 1) return; /* no lease at all */
    for (uint32_t slot = 0; slot < r->h.n_slots; slot++) {
        uint64_t token = atomic_load_explicit(&r->leases[slot].token, memory_order_relaxed);
        if (token != 0 && is_mine(r, slot, token)) atomic_store(&r->leases[slot].waiting, waiting);
    }
}

bool sp_holds_undone(const spdl_reader *r) {
    if (atomic_load_explicit(&r->refs, memory_order_relaxed) == 1) return false; /* no lease at all */
    for (uint32_t slot = 0; slot < r->h.n_slots; slot++) {
        uint64_t token = atomic_load_explicit(&r->leases[slot].token, memory_order_relaxed);
        if (token != 0 && is_mine(r, slot, token) && load_acquire64(&slot_word(r, slot)->word) == token)
            return true;
    }
    return false;
}

uint32_t sp_count_leases(const spdl_reader *r, uint32_t *undone) {
    uint32_t n = 0;
    *undone = 0;
    for (uint32_t slot = 0; slot < r->h.n_slots; slot++) {
        uint64_t token = atomic_load_explicit(&r->leases[slot].token, memory_order_acquire);
        if (token == 0) continue;
        n++;
        if (load_acquire64(&slot_word(r, slot)->word) == token) (*undone)++;
    }
    return n;
}

/* ---- end of epoch ----------------------------------------------------------------------------- */

/* Whether the slot holds a batch of our queue, of this epoch or an earlier one, that is not done; *word
 * is the word that says so. The descriptor belongs to the word if the word is the same after reading it. */
static bool is_undone(const spdl_reader *r, uint32_t slot, uint64_t epoch, uint64_t *word) {
    const spdl_l_desc *d = slot_desc(r, slot);
    uint64_t before = load_acquire64(&slot_word(r, slot)->word);
    for (int tries = 0; tries < 16; tries++) {
        uint32_t state = SPDL_L_STATE(before);
        *word = before;
        if (state != SPDL_L_READY && state != SPDL_L_HELD) return false;
        uint32_t lane = load_acquire32(&d->lane);
        uint64_t its_epoch = load_acquire64(&d->epoch);
        uint64_t after = load_acquire64(&slot_word(r, slot)->word);
        if (after == before) return its_epoch <= epoch && (!r->mode_lanes || lane == r->lane_number);
        before = after;
    }
    return true; /* somebody keeps changing it: look again later */
}

end_result sp_end_of_epoch(const spdl_reader *r, uint64_t epoch) {
    /* A3 pairs with R3, the store-release of next_epoch after the tail (shm/queue.go): if we see it moved on, we see
     * every word of the epoch. No word of the epoch can become undone afterwards. */
    if (load_acquire64(&r->queue->next_epoch) <= epoch) return END_NOT_YET;
    bool mine = false, undone = false;
    for (uint32_t slot = 0; slot < r->h.n_slots; slot++) {
        uint64_t word;
        if (!is_undone(r, slot, epoch, &word)) continue;
        if (SPDL_L_STATE(word) != SPDL_L_HELD) return END_NOT_YET;
        undone = true;
        mine = mine || is_mine(r, slot, word);
    }
    /* Not only if all are ours: two consumers that each hold one and wait would wait for each other. */
    return mine ? END_WAITS_FOR_THIS_THREAD : undone ? END_NOT_YET : END_NOW;
}

/* ---- done and release --------------------------------------------------------------------------- */

spdl_status sp_stale(const spdl_batch *b) {
    return sp_fail(
        SPDL_E_STALE,
        "spdl: batch %llu in slot %u: its lease has ended: it was released before, or taken back by the engine",
        (unsigned long long)b->ticket, b->slot);
}

spdl_status sp_check_batch(const spdl_reader *r, const spdl_batch *b, const char *call) {
    if (!r || !b) return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s is NULL", call, r ? "batch" : "reader");
    if (b->struct_size < sizeof *b)
        return sp_small(call, "batch", b->struct_size, sizeof *b, "SPDL_BATCH_INIT");
    return SPDL_OK;
}

/* The first of done and release counts and times the use. Called before the word changes, while the
 * slot's record is surely ours to write. */
static void note_done(spdl_reader *r, uint32_t slot) {
    uint64_t now = sp_now_ns();
    uint64_t claimed = atomic_load_explicit(&r->leases[slot].claimed_ns, memory_order_relaxed);
    store_relaxed64(&slot_word(r, slot)->done_ns, now);
    add_relaxed64(&r->member->hold_ns, now - claimed);
}

/* Pinned and device memory of a lease: before its slot can be claimed again, and before another may take its place. */
static void forget_gpu(spdl_reader *r, uint32_t slot, uint64_t token) {
    if (atomic_load_explicit(&r->gpu, memory_order_acquire)) sp_gpu_forget(r, slot, token);
}

/* Done in a stage: the slot goes to the next group, the record moves to where releases look for it. It moves before the
 * word changes: from then on the slot may be claimed again. */
static spdl_status pass_on(spdl_reader *r, const spdl_batch *b) {
    if (sp_knows_passed(r, b->token)) return SPDL_OK;
    if (!sp_remember_passed(r, b->token)) return sp_fail(SPDL_E_NOMEM, "spdl: done: no memory for a record");
    uint64_t token = b->token;
    if (!atomic_compare_exchange_strong_explicit(&r->leases[b->slot].token, &token, 0, memory_order_acq_rel,
                                                 memory_order_relaxed)) {
        sp_forget_passed(r, b->token);
        return sp_stale(b);
    }
    forget_gpu(r, b->slot, b->token);
    note_done(r, b->slot);
    uint64_t seen = b->token, free_ = SPDL_L_WORD(SPDL_L_FREE, 0, SPDL_L_SEQ(b->token));
    if (!cas64(&slot_word(r, b->slot)->word, &seen, free_)) { /* F1 */
        sp_forget_passed(r, b->token);
        sp_reader_unref(r);
        return sp_stale(b);
    }
    /* Only now: the engine counts what the words say against our leases. */
    atomic_fetch_add_explicit(&r->passed_refs, 1, memory_order_release);
    add_relaxed64(&r->member->completed, 1);
    (void)sp_fault("after.done");
    sp_wake_after_release(r);
    return SPDL_OK;
}

spdl_status spdl_done(spdl_reader *r, const spdl_batch *b) {
    spdl_status s = sp_check_batch(r, b, "done");
    if (s != SPDL_OK || is_forked(r)) return s;
    if (atomic_load_explicit(&r->detached, memory_order_acquire)) return sp_usable(r);
    if (b->token == 0 || b->slot >= r->h.n_slots) return sp_stale(b);
    if (sp_fault("before.done")) return sp_fail(SPDL_E_SYSTEM, "spdl: done: injected fault");
    if (r->stage) return pass_on(r, b);
    if (atomic_load_explicit(&r->leases[b->slot].token, memory_order_acquire) != b->token) return sp_stale(b);

    uint64_t done = SPDL_L_WORD(SPDL_L_DONE, r->owner, SPDL_L_SEQ(b->token));
    uint64_t seen = load_acquire64(&slot_word(r, b->slot)->word);
    if (seen == done) return SPDL_OK;
    if (seen != b->token) return sp_stale(b);
    note_done(r, b->slot);
    if (!cas64(&slot_word(r, b->slot)->word, &seen, done))
        return seen == done ? SPDL_OK : sp_stale(b); /* D1 */
    add_relaxed64(&r->member->completed, 1);
    (void)sp_fault("after.done");
    sp_wake_after_done(r);
    return SPDL_OK;
}

/* Give the word back. False if it is not ours any more. After detach a batch that was not done stays
 * HELD: the engine redelivers it once DETACH tells that nothing reads it any longer. */
static bool free_word(spdl_reader *r, uint32_t slot, uint64_t held, bool detached) {
    uint64_t *word = &slot_word(r, slot)->word;
    uint64_t done = SPDL_L_WORD(SPDL_L_DONE, r->owner, SPDL_L_SEQ(held));
    uint64_t free_ = SPDL_L_WORD(SPDL_L_FREE, 0, SPDL_L_SEQ(held));
    uint64_t seen = load_acquire64(word);
    if (seen == held) {
        if (detached) return true;
        note_done(r, slot);
        if (cas64(word, &seen, free_)) { /* F1 */
            add_relaxed64(&r->member->completed, 1);
            return true;
        }
    }
    return seen == done && cas64(word, &seen, free_); /* F1 */
}

/* Release after done, in a stage: the slot is long another's, only the memory need not stay mapped any more. */
static spdl_status release_passed(spdl_reader *r, const spdl_batch *b) {
    if (!sp_forget_passed(r, b->token)) return sp_stale(b);
    atomic_fetch_sub_explicit(&r->passed_refs, 1,
                              memory_order_acq_rel); /* first: too few leases for a moment, never too many */
    sp_reader_unref(r);
    return SPDL_OK;
}

bool sp_give_back(spdl_reader *r, uint32_t slot, uint64_t token) {
    forget_gpu(r, slot, token);
    bool detached = atomic_load_explicit(&r->detached, memory_order_acquire);
    bool freed = free_word(r, slot, token, detached);
    (void)sp_fault("after.release");
    /* While attached, the lease must be free before its waiters are woken; the handle keeps the reader
     * alive. After detach nobody waits for a lease, and the mapping must outlive the wake-up. */
    if (!detached) sp_reader_unref(r);
    if (freed) sp_wake_after_release(r);
    if (detached) sp_reader_unref(r);
    return freed;
}

spdl_status spdl_release(spdl_reader *r, const spdl_batch *b) {
    spdl_status s = sp_check_batch(r, b, "release");
    if (s != SPDL_OK || is_forked(r)) return s;
    if (b->token == 0 || b->slot >= r->h.n_slots) return sp_stale(b);
    if (sp_fault("before.release")) return sp_fail(SPDL_E_SYSTEM, "spdl: release: injected fault");

    uint64_t token = b->token;
    if (!atomic_compare_exchange_strong_explicit(&r->leases[b->slot].token, &token, 0, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return r->stage ? release_passed(r, b) : sp_stale(b);
    (void)sp_fault("release.cas");
    return sp_give_back(r, b->slot, b->token) ? SPDL_OK : sp_stale(b);
}
