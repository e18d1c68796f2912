/* info.c - what a batch holds and what the ring is: views for the caller, checked before they are given. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

uint32_t spdl_n_tensors(const spdl_reader *r) {
    if (!r) {
        sp_fail(SPDL_E_ARGUMENT, "spdl: n_tensors: reader is NULL");
        return 0;
    }
    return sp_usable(r) == SPDL_OK ? r->n_tensors : 0;
}

int32_t spdl_tensor_index(const spdl_reader *r, const char *name) {
    if (!r || !name) return sp_fail(SPDL_E_ARGUMENT, "spdl: tensor_index: %s is NULL", r ? "name" : "reader");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    for (uint32_t i = 0; i < r->n_tensors; i++)
        if (strcmp(r->tensors[i].t.name, name) == 0) return (int32_t)i;
    char names[400] = ""; /* as many as there is room for */
    for (uint32_t i = 0, used = 0; i < r->n_tensors && used < sizeof names - 1; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", r->tensors[i].t.name);
        used += n < 0 ? 0 : (uint32_t)n;
    }
    return sp_fail(SPDL_E_NOT_FOUND, "spdl: ring \"%s\": it has no tensor \"%.80s\"; there are %s",
                   r->ring_name, name, names);
}

static void describe(const schema_tensor *t, spdl_tensor *out) {
    uint32_t size = out->struct_size;
    memset(out, 0, sizeof *out);
    out->struct_size = size;
    out->kind = t->t.kind;
    out->name = t->t.name;
    out->bytes = t->t.bytes;
    out->role = t->t.role;
    out->dtype_code = t->t.dtype_code;
    out->dtype_bits = t->t.dtype_bits;
    out->dtype_lanes = t->t.dtype_lanes;
    out->ndim = t->t.ndim;
    out->axes = t->t.axes;
    memcpy(out->shape, t->t.shape, sizeof out->shape);
    memcpy(out->strides, t->t.strides, sizeof out->strides);
    out->device_type = t->t.pool == 0 ? 1 : 2;
}

static spdl_status check_tensor_call(const spdl_reader *r, uint32_t i, const spdl_tensor *out,
                                     const char *call) {
    if (!r || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: %s: %s is NULL", call, r ? "out" : "reader");
    if (out->struct_size < sizeof *out)
        return sp_small(call, "out", out->struct_size, sizeof *out, "SPDL_TENSOR_INIT");
    spdl_status s = sp_usable(r);
    if (s == SPDL_OK && i >= r->n_tensors)
        s = sp_fail(SPDL_E_ARGUMENT, "spdl: %s: tensor %u, ring \"%s\" has %u", call, i, r->ring_name,
                    r->n_tensors);
    return s;
}

spdl_status spdl_schema_tensor(const spdl_reader *r, uint32_t i, spdl_tensor *out) {
    spdl_status s = check_tensor_call(r, i, out, "schema_tensor");
    if (s == SPDL_OK) describe(&r->tensors[i], out);
    return s;
}

/* Ragged rows must follow one another inside the values. The offsets are payload: on a private ring the
 * consumer may have changed them. */
static bool offsets_fit(const int64_t *offsets, uint32_t rows, uint64_t values) {
    int64_t last = 0;
    for (uint32_t i = 0; i <= rows; i++) {
        if (offsets[i] < last || (uint64_t)offsets[i] > values) return false;
        last = offsets[i];
    }
    return true;
}

static spdl_status outside(const spdl_batch *b, const schema_tensor *t, const char *what) {
    return sp_fail(
        SPDL_E_FORMAT,
        "spdl: batch %llu: tensor \"%s\": its %s not fit its %llu bytes; the descriptor is damaged",
        (unsigned long long)b->ticket, t->t.name, what, (unsigned long long)t->t.bytes);
}

/* Lay batch's own shape over the schema's tensor, if it stays inside the tensor's place in the slot. */
static spdl_status apply_descriptor(spdl_reader *r, const spdl_batch *b, const schema_tensor *t,
                                    spdl_tensor *out) {
    const uint8_t *desc = (const uint8_t *)slot_desc(r, b->slot);
    spdl_l_desc_tensor d;
    memcpy(&d, desc + r->h.desc_tensor_off + t->place * r->h.desc_tensor_stride, sizeof d);
    uint8_t *slot = r->data.base + (uint64_t)b->slot * r->h.slot_stride;
    uint64_t extent;
    if (d.bytes > t->t.bytes) return outside(b, t, "used bytes do");
    if (!sp_extent(d.shape, d.strides, t->t.ndim, t->item_bytes, &extent) || extent > t->t.bytes)
        return outside(b, t, "shape and strides do");
    if (t->t.kind == SPDL_L_TENSOR_RAGGED) {
        uint32_t rows = slot_desc(r, b->slot)->rows;
        const int64_t *offsets = (const int64_t *)(const void *)(slot + t->t.offsets_offset);
        if (rows > r->h.batch_rows || !offsets_fit(offsets, rows, t->t.bytes / t->item_bytes))
            return outside(b, t, "offsets do");
        out->offsets = offsets;
    }
    out->data = slot + t->t.offset;
    out->bytes = d.bytes;
    memcpy(out->shape, d.shape, sizeof out->shape);
    memcpy(out->strides, d.strides, sizeof out->strides);
    if (!atomic_load_explicit(&r->staged, memory_order_acquire)) return SPDL_OK;
    return sp_stage(r, b, t, extent > d.bytes ? extent : d.bytes, out);
}

spdl_status spdl_batch_tensor(spdl_reader *r, const spdl_batch *b, uint32_t i, spdl_tensor *out) {
    spdl_status s = sp_check_batch(r, b, "batch_tensor");
    if (s == SPDL_OK) s = check_tensor_call(r, i, out, "batch_tensor");
    if (s != SPDL_OK) return s;
    if (b->token == 0 || b->slot >= r->h.n_slots ||
        atomic_load_explicit(&r->leases[b->slot].token, memory_order_acquire) != b->token)
        return sp_fail(SPDL_E_STALE, "spdl: batch_tensor: batch %llu in slot %u: its lease has ended",
                       (unsigned long long)b->ticket, b->slot);
    if (sp_fault("payload.read")) return sp_fail(SPDL_E_SYSTEM, "spdl: batch_tensor: injected fault");
    spdl_tensor view = SPDL_TENSOR_INIT;
    view.struct_size = out->struct_size;
    describe(&r->tensors[i], &view);
    const schema_tensor *t = &r->tensors[i];
    s = t->t.pool == 0 ? apply_descriptor(r, b, t, &view) : sp_device_tensor(r, b, t, &view);
    if (s == SPDL_OK) memcpy(out, &view, sizeof view);
    return s;
}

/* ---- the ring and the reader ------------------------------------------------------------------------- */

spdl_status spdl_get_ring_info(const spdl_reader *r, spdl_ring_info *out) {
    if (!r || !out) return sp_fail(SPDL_E_ARGUMENT, "spdl: get_ring_info: %s is NULL", r ? "out" : "reader");
    if (out->struct_size < sizeof *out)
        return sp_small("get_ring_info", "out", out->struct_size, sizeof *out, "SPDL_RING_INFO_INIT");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    out->access = r->h.access;
    out->name = r->ring_name;
    out->text = r->text;
    out->n_slots = r->h.n_slots;
    out->batch_rows = r->h.batch_rows;
    out->n_lanes = r->h.n_lanes;
    out->world_size = r->h.world_size;
    out->n_samples = r->h.n_samples;
    out->global_batch = r->h.global_batch;
    out->steps_per_epoch = r->h.steps_per_epoch;
    out->n_epochs = r->h.n_epochs;
    out->seed = r->h.seed;
    out->data_bytes = r->h.data_bytes;
    out->engine_pid = (int32_t)sp_engine_pid(r);
    out->reserved = 0;
    return SPDL_OK;
}

spdl_status spdl_get_reader_info(const spdl_reader *r, spdl_reader_info *out) {
    if (!r || !out)
        return sp_fail(SPDL_E_ARGUMENT, "spdl: get_reader_info: %s is NULL", r ? "out" : "reader");
    if (out->struct_size < sizeof *out)
        return sp_small("get_reader_info", "out", out->struct_size, sizeof *out, "SPDL_READER_INFO_INIT");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    uint32_t undone;
    out->owner = r->owner;
    out->group = r->group_name;
    out->lane = r->mode_lanes ? r->lane_number : 0;
    out->rank = r->h.first_rank + out->lane;
    out->max_leases = r->max_leases;
    out->leases = sp_count_leases(r, &undone);
    out->epoch = atomic_load_explicit(&r->epoch, memory_order_acquire);
    out->acquired = load_relaxed64(&r->member->acquired);
    out->completed = load_relaxed64(&r->member->completed);
    out->wait_ns = load_relaxed64(&r->member->wait_ns);
    out->mode_lanes = r->mode_lanes;
    out->flags = (r->stage || r->h.access == SPDL_L_ACCESS_PRIVATE ? SPDL_READER_WRITES : 0) |
                 (r->stage ? SPDL_READER_STAGE : 0);
    return SPDL_OK;
}

int32_t spdl_engine_state(spdl_reader *r) {
    if (!r) return sp_fail(SPDL_E_ARGUMENT, "spdl: engine_state: reader is NULL");
    spdl_status s = sp_usable(r);
    if (s != SPDL_OK) return s;
    bool alive = sp_engine_alive(r);
    uint32_t state = load_acquire32(&r->state->state);
    if (state == SPDL_L_FAILED || state == SPDL_L_STOPPED) return (int32_t)state;
    if (!alive) return SPDL_LOST;
    return state <= SPDL_L_STOPPED ? (int32_t)state : SPDL_RUNNING;
}
