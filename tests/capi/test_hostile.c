/* test_hostile.c - forged, truncated, half-built and unsealed segments; garbage in the writable words.
 *
 * Whatever is in them, attaching and reading is an error or a batch of the own group: never a crash and
 * never a byte outside the mappings (the sanitizer builds watch that). */
#include "test.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static spdl_status use(standin *s) {
    spdl_attach_opts o = SPDL_ATTACH_OPTS_INIT;
    spdl_reader *r;
    spdl_status got = spdl_attach(s->path, &o, &r);
    if (got != SPDL_OK) return got;
    spdl_batch b = SPDL_BATCH_INIT;
    if (spdl_acquire(r, 0, &b) == SPDL_OK) {
        for (uint32_t i = 0; i < spdl_n_tensors(r); i++) {
            spdl_tensor t = SPDL_TENSOR_INIT;
            if (spdl_batch_tensor(r, &b, i, &t) == SPDL_OK && t.bytes > 0)
                (void)(((volatile uint8_t *)t.data)[0] + ((volatile uint8_t *)t.data)[t.bytes - 1]);
        }
        spdl_release(r, &b);
    }
    spdl_acquire(r, 0, &b);
    spdl_detach(r);
    return SPDL_OK;
}

typedef struct forged {
    const char *name;
    size_t offset, bytes;
} forged;
#define H(f) \
    { #f, offsetof(spdl_l_header, f), sizeof(((spdl_l_header *)0)->f) }
#define G(f) \
    { #f, offsetof(spdl_l_ghead, f), sizeof(((spdl_l_ghead *)0)->f) }
#define R(f) \
    { #f, offsetof(spdl_l_group, f), sizeof(((spdl_l_group *)0)->f) }
#define T(f) \
    { #f, offsetof(spdl_l_tensor, f), sizeof(((spdl_l_tensor *)0)->f) }

static void forge(void *base, const forged *f, uint64_t value) {
    memcpy((uint8_t *)base + f->offset, &value, f->bytes);
}

/* Every value in the field of the record must be refused with E_FORMAT or E_VERSION. */
static void all_refused(int which, const forged *f, const uint64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        standin *s = standin_make((standin_opts)STANDIN_OPTS);
        void *bases[] = {s->header, s->ghead, s->group, standin_tensor(s, 0)};
        forge(bases[which], f, values[i]);
        standin_serve(s, -1);
        spdl_status got = use(s);
        if (got != SPDL_E_FORMAT && got != SPDL_E_VERSION) {
            char text[200];
            snprintf(text, sizeof text, "%s = 0x%llx is answered %s, want a refusal", f->name,
                     (unsigned long long)values[i], spdl_status_name(got));
            standin_free(s);
            test_fail(__FILE__, __LINE__, text);
        }
        standin_free(s);
    }
}
#define N(a) (sizeof(a) / sizeof *(a))

TEST(every_forged_field_of_the_header_is_refused) {
    const uint64_t wild[] = {1ull << 63, ~0ull, 0x7fffffffffffffffull, 1ull << 40, 0x80000001u};
    const forged places[] = {H(header_bytes),       H(state_off),    H(group_off),   H(group_stride),
                             H(queue_off),          H(queue_stride), H(pool_off),    H(tensor_off),
                             H(tensor_stride),      H(desc_off),     H(desc_stride), H(desc_tensor_off),
                             H(desc_tensor_stride), H(text_off),     H(text_bytes),  H(data_bytes),
                             H(slot_stride)};
    for (size_t i = 0; i < N(places); i++) all_refused(0, &places[i], wild, N(wild));
    const uint64_t zero_or_odd[] = {0, 4, 7, 12};
    const forged sizes[] = {H(header_bytes), H(group_stride),       H(queue_stride), H(tensor_stride),
                            H(desc_stride),  H(desc_tensor_stride), H(slot_stride),  H(state_off),
                            H(group_off),    H(queue_off),          H(desc_off)};
    for (size_t i = 0; i < N(sizes); i++) all_refused(0, &sizes[i], zero_or_odd, N(zero_or_odd));
    const uint64_t counts[] = {0, 1ull << 31, 0xffffffffu};
    const forged numbers[] = {H(n_slots), H(n_lanes),    H(max_groups),   H(max_queues), H(access),
                              H(backing), H(page_bytes), H(layout_major), H(endian)};
    for (size_t i = 0; i < N(numbers); i++) all_refused(0, &numbers[i], counts, N(counts));
    standin *whole = standin_make((standin_opts)STANDIN_OPTS);
    const uint64_t less = whole->header->header_bytes - 8; /* all of it is inside that, too */
    standin_free(whole);
    all_refused(0, &sizes[0], &less, 1);
    const forged no_tensors = H(n_tensors);
    all_refused(0, &no_tensors, counts + 1, 2);
    const forged rows = H(batch_rows), required = H(features_required), magic = H(magic),
                 uid = H(ring_uid[3]);
    const uint64_t zero = 0, one = 1, unknown = SPDL_L_KNOWN_REQUIRED + 1;
    all_refused(0, &rows, counts, 1);
    all_refused(0, &required, &unknown, 1);
    all_refused(0, &magic, &zero, 1);
    all_refused(0, &uid, &one, 1);
}

TEST(every_forged_field_of_the_group_is_refused) {
    const uint64_t wild[] = {1ull << 63, ~0ull, 1ull << 40, 4, 7};
    const forged places[] = {G(bytes),    G(lane_off),    G(ready_off),  G(redo_off),
                             G(word_off), G(word_stride), G(member_off), G(member_stride)};
    for (size_t i = 0; i < N(places); i++) all_refused(1, &places[i], wild, N(wild));
    const uint64_t counts[] = {0, 5, 1u << 31, 0xffffffffu};
    const forged numbers[] = {G(n_slots),  G(n_entries),   G(n_lanes),
                              G(group_id), G(group_index), G(layout_major)};
    for (size_t i = 0; i < N(numbers); i++)
        all_refused(1, &numbers[i], i == 4 ? counts + 1 : counts, i == 4 ? 3 : 4);
    const forged magic = G(magic), members = G(max_members);
    all_refused(1, &magic, counts, 2);
    all_refused(1, &members, counts, 1);
    const forged record[] = {R(id), R(mode), R(n_lanes), R(first_queue)};
    for (size_t i = 0; i < N(record); i++) all_refused(2, &record[i], counts + 2, 2);
}

TEST(every_forged_field_of_a_tensor_is_refused) {
    const uint64_t wild[] = {1ull << 63, ~0ull, 1ull << 40, 1u << 20};
    const forged places[] = {T(offset), T(bytes), T(shape[0]), T(shape[1]), T(strides[0]), T(pool), T(ndim)};
    for (size_t i = 0; i < N(places); i++)
        all_refused(3, &places[i], places[i].bytes == 8 ? wild : wild + 3, places[i].bytes == 8 ? 4 : 1);
    const uint64_t zero = 0, odd = 3;
    const forged bits = T(dtype_bits), lanes = T(dtype_lanes), ndim = T(ndim);
    all_refused(3, &bits, &zero, 1), all_refused(3, &bits, &odd, 1), all_refused(3, &lanes, &zero, 1),
        all_refused(3, &ndim, &zero, 1);
    for (int forge_offsets = 0; forge_offsets < 3; forge_offsets++) {
        standin *s = standin_make((standin_opts)STANDIN_OPTS);
        spdl_l_tensor *key = standin_tensor(s, STANDIN_KEY);
        if (forge_offsets == 0) key->offsets_offset = ~7ull;
        if (forge_offsets == 1) key->offsets_bytes = 8;
        if (forge_offsets == 2) key->ndim = 2, key->shape[1] = 1, key->strides[1] = 1;
        standin_serve(s, -1);
        CHECK_STATUS(use(s), SPDL_E_FORMAT);
        standin_free(s);
    }
}

static void flip_all(int segment, uint32_t bytes, uint8_t mask) {
    for (uint32_t i = 0; i < bytes; i++) {
        standin *s = standin_make((standin_opts)STANDIN_OPTS);
        CHECK(standin_publish(s, 0, false) >= 0);
        s->base[segment][i] ^= mask;
        standin_serve(s, -1);
        spdl_status got = use(s);
        CHECK(got == SPDL_OK || got == SPDL_E_FORMAT || got == SPDL_E_VERSION);
        s->base[segment][i] ^= mask;
        standin_free(s);
    }
}

TEST(every_flipped_byte_of_the_header_is_survived) {
    flip_all(STANDIN_HEADER, 1024, 0xff);
    flip_all(STANDIN_HEADER, 408, 0x01);
}

TEST(every_flipped_byte_of_the_group_head_is_survived) {
    flip_all(STANDIN_GROUP, 256, 0xff);
    flip_all(STANDIN_GROUP, 256, 0x08);
}

TEST(a_half_built_segment_is_refused) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    s->header->magic = 0;
    standin_serve(s, -1);
    CHECK_STATUS(use(s), SPDL_E_FORMAT);
    CHECK(strstr(spdl_last_error(), "not finished"));
    s->header->magic = SPDL_L_MAGIC_RING;
    s->ghead->magic = 0;
    CHECK_STATUS(use(s), SPDL_E_FORMAT);
    standin_free(s);
}

TEST(another_layout_is_a_version_error_that_names_both) {
    standin *s = standin_make((standin_opts)STANDIN_OPTS);
    s->header->layout_major = 3;
    standin_serve(s, -1);
    CHECK_STATUS(use(s), SPDL_E_VERSION);
    CHECK(strstr(spdl_last_error(), "layout 3.6, this library reads 1"));
    s->header->layout_major = SPDL_L_MAJOR, s->header->layout_minor = 9, s->header->features_optional = ~0ull;
    CHECK_STATUS(use(s), SPDL_OK);
    standin_free(s);
}

TEST(an_unsealed_or_wrongly_sealed_memfd_is_refused) {
    standin_opts o = STANDIN_OPTS;
    o.unsealed = true;
    standin *s = make_served(o);
    CHECK_STATUS(use(s), SPDL_E_FORMAT);
    CHECK(strstr(spdl_last_error(), "seals"));
    standin_free(s);
    /* Sealed as a private ring's data, declared as a shared one's. */
    o = (standin_opts)STANDIN_OPTS, o.access = SPDL_L_ACCESS_PRIVATE;
    s = make_served(o);
    CHECK_STATUS(use(s), SPDL_OK);
    s->header->access = SPDL_L_ACCESS_SHARED;
    CHECK_STATUS(use(s), SPDL_E_FORMAT);
    standin_free(s);
}

static int short_segment;
static void shorten(standin *s, spdl_l_welcome *w, int *fds, int *n_fds) {
    (void)s, (void)n_fds, (void)w;
    fds[short_segment] = memfd_create("short", MFD_CLOEXEC);
    if (ftruncate(fds[short_segment], 512) != 0) abort();
}

TEST(a_truncated_segment_is_refused_before_it_is_mapped) {
    for (short_segment = 0; short_segment < 3; short_segment++) {
        standin_opts o = STANDIN_OPTS;
        o.backing = SPDL_L_BACKING_POSIX;
        standin *s = make_served(o);
        s->hooks.welcome = shorten;
        int before = test_open_fds();
        CHECK_STATUS(use(s), SPDL_E_FORMAT);
        CHECK(strstr(spdl_last_error(), "has 512 bytes"));
        for (int fd = 3; fd < 200 && test_open_fds() > before;
             fd++) { /* the stand-in's copy of the short file */
            char link[64], target[64] = "";
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, "memfd:short")) close(fd);
        }
        standin_free(s);
    }
}

static spdl_l_welcome lie;
static void tell_lie(standin *s, spdl_l_welcome *w, int *fds, int *n_fds) {
    (void)s, (void)fds, (void)n_fds;
    uint8_t *to = (uint8_t *)w, *from = (uint8_t *)&lie;
    for (size_t i = 0; i < sizeof lie; i++) to[i] ^= from[i];
}

TEST(a_lying_welcome_is_refused) {
    const struct {
        size_t offset;
        uint64_t flip;
    } lies[] = {{offsetof(spdl_l_welcome, owner), 1u << 20},
                {offsetof(spdl_l_welcome, group_index), 1u << 30},
                {offsetof(spdl_l_welcome, group_index), 1},
                {offsetof(spdl_l_welcome, group_id), 1},
                {offsetof(spdl_l_welcome, lane), 1u << 31},
                {offsetof(spdl_l_welcome, member), 1u << 31},
                {offsetof(spdl_l_welcome, max_leases), 1u << 31},
                {offsetof(spdl_l_welcome, max_leases), 4},
                {offsetof(spdl_l_welcome, header_bytes), 1ull << 40},
                {offsetof(spdl_l_welcome, group_bytes), 1ull << 63},
                {offsetof(spdl_l_welcome, data_bytes), 1ull << 46}};
    for (size_t i = 0; i < N(lies); i++) {
        standin *s = make_served((standin_opts)STANDIN_OPTS);
        memset(&lie, 0, sizeof lie);
        memcpy((uint8_t *)&lie + lies[i].offset, &lies[i].flip, lies[i].offset < 24 ? 4 : 8);
        s->hooks.welcome = tell_lie;
        CHECK_STATUS(use(s), SPDL_E_FORMAT);
        standin_free(s);
    }
}

/* A member may write anything into the group segment. */
TEST(garbage_in_every_writable_word_never_crashes_a_member) {
    uint64_t seed = 88172645463325252ull;
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 4, 0);
    uint64_t *words = (uint64_t *)(void *)(s->base[STANDIN_GROUP] + 256);
    uint64_t n = (s->g.member_off - 256) / 8;
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 8; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint64_t at = seed % n, value = seed >> (seed % 64);
            if (round % 3 == 0) value = SPDL_L_ENTRY(seed % 16, seed % 16);
            if (round % 3 == 1) value = SPDL_L_WORD(seed % 4, seed % 3, seed % 16);
            __atomic_store_n(&words[at], value, __ATOMIC_RELAXED);
        }
        if (round % 16 == 0) standin_publish(s, 0, round % 64 == 0);
        spdl_batch b = SPDL_BATCH_INIT;
        spdl_status got = spdl_acquire(r, 0, &b);
        CHECK(got == SPDL_OK || got == SPDL_TIMEOUT || got == SPDL_END_EPOCH || got == SPDL_E_LEASES ||
              got == SPDL_E_UNDONE);
        if (got != SPDL_OK) continue;
        CHECK(b.slot < 8 && b.data != NULL);
        spdl_tensor t = SPDL_TENSOR_INIT;
        spdl_batch_tensor(r, &b, 0, &t);
        got = spdl_release(r, &b);
        CHECK(got == SPDL_OK || got == SPDL_E_STALE);
    }
    spdl_detach(r);
    standin_free(s);
}

TEST(a_forged_head_does_not_hide_the_batches) {
    standin *s = make_served((standin_opts)STANDIN_OPTS);
    spdl_reader *r = attach_with(s, 4, 0);
    spdl_batch b = SPDL_BATCH_INIT;
    CHECK(standin_publish(s, 0, false) >= 0);
    standin_lane(s, 0)->head = ~0ull;
    CHECK_STATUS(spdl_acquire(r, 0, &b), SPDL_OK);
    CHECK_STATUS(spdl_release(r, &b), SPDL_OK);
    spdl_detach(r);
    standin_free(s);
}
