/* state.c - requests to the engine: save and load a position, restart, statistics. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Ask, with a message buffer of the call's own: requests are rare and may come from several threads. */
static spdl_status ask(spdl_reader *r, uint16_t type, const void *payload, uint32_t bytes, message *m) {
    spdl_status s = sp_message_room(m);
    return s == SPDL_OK ? sp_request(r, type, payload, bytes, m) : s;
}

/* Ask for a text and copy it out. */
static spdl_status ask_text(spdl_reader *r, const char *call, uint16_t type, const void *payload,
                            uint32_t bytes, char *buffer, size_t size, size_t *need) {
    message m = {.payload = NULL};
    spdl_status s = ask(r, type, payload, bytes, &m);
    if (s == SPDL_OK) {
        size_t want = (size_t)m.bytes + 1;
        if (need) *need = want;
        if (!buffer || size < want)
            s = sp_fail(SPDL_E_ARGUMENT, "spdl: %s: the buffer has %zu bytes, the text needs %zu", call,
                        buffer ? size : 0, want);
        else
            memcpy(buffer, m.payload, want);
    }
    free(m.payload);
    return s;
}

/* Ask for a move to another epoch and go there. */
static spdl_status ask_epoch(spdl_reader *r, const char *call, uint16_t type, const void *payload,
                             uint32_t bytes) {
    message m = {.payload = NULL};
    uint64_t epoch;
    spdl_status s = ask(r, type, payload, bytes, &m);
    if (s == SPDL_OK && m.bytes != sizeof epoch)
        s = sp_fail(SPDL_E_FORMAT, "spdl: %s: ring \"%s\": the answer has %u bytes, want an epoch", call,
                    r->ring_name, m.bytes);
    if (s == SPDL_OK) {
        memcpy(&epoch, m.payload, sizeof epoch);
        atomic_store_explicit(&r->epoch, epoch, memory_order_release);
        store_release64(&r->member->epoch, epoch);
    }
    free(m.payload);
    return s;
}

spdl_status spdl_state_save(spdl_reader *r, uint32_t flags, char *buffer, size_t bytes, size_t *need) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: state_save: reader is NULL");
    if (flags & ~SPDL_STATE_COUNT_HELD)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: state_save: flags is 0x%x, this library knows 0x%x", flags,
                       SPDL_STATE_COUNT_HELD);
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    spdl_l_state_req q = {.flags = flags & SPDL_STATE_COUNT_HELD ? SPDL_L_STATE_COUNT_HELD : 0};
    return ask_text(r, "state_save", SPDL_L_MSG_STATE, &q, sizeof q, buffer, bytes, need);
}

spdl_status spdl_state_load(spdl_reader *r, const char *json) {
    if (!r || !json) return sp_fail(SPDL_E_ARGUMENT, "spdl: state_load: %s is NULL", r ? "json" : "reader");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    uint32_t undone;
    sp_count_leases(r, &undone);
    if (undone > 0)
        return sp_fail(SPDL_E_BUSY,
                       "spdl: state_load: this reader holds %u batches that are not done; release them first",
                       undone);
    size_t n = strlen(json);
    if (n > SPDL_L_MSG_MAX - sizeof(spdl_l_msg))
        return sp_fail(SPDL_E_STATE, "spdl: state_load: the state has %zu bytes, want at most %zu", n,
                       SPDL_L_MSG_MAX - sizeof(spdl_l_msg));
    return ask_epoch(r, "state_load", SPDL_L_MSG_LOAD, json, (uint32_t)n);
}

spdl_status spdl_restart(spdl_reader *r) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: restart: reader is NULL");
    spdl_status s = sp_usable(r);
    return s == SPDL_OK ? ask_epoch(r, "restart", SPDL_L_MSG_RESTART, NULL, 0) : s;
}

spdl_status spdl_stats(spdl_reader *r, char *buffer, size_t bytes, size_t *need) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: stats: reader is NULL");
    spdl_status s = sp_usable(r);
    return s == SPDL_OK ? ask_text(r, "stats", SPDL_L_MSG_STATS, NULL, 0, buffer, bytes, need) : s;
}
