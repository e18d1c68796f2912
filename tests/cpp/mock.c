#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batch t has MOCK_ROWS rows; row r of it is sample s = t * MOCK_ROWS + r, and every element of that row
 * counts up from s. Its key is "s" as decimal text. Slots are found by lease, one buffer each. */

enum { MAX_LEASES = 16, N_TENSORS = 8, KEY_BYTES = 64 };
enum { IMAGE = 2 * 2 * 3, PADDED_STRIDE = 64 };

typedef struct slot {
    float image[MOCK_ROWS][IMAGE];
    int64_t label[MOCK_ROWS];
    uint16_t half[MOCK_ROWS][2];
    char padded[MOCK_ROWS * PADDED_STRIDE];
    int64_t index[MOCK_ROWS];
    uint8_t key[KEY_BYTES];
    int64_t key_offsets[MOCK_ROWS + 1];
    uint8_t status[MOCK_ROWS];
    int64_t extent[MOCK_ROWS][2]; /* of image: row r is a picture of 2 x 2 - r % 2 */
} slot;

typedef struct lease {
    uint64_t token; /* 0: free */
    uint64_t epoch;
    int done;
    slot slot;
} lease;

struct spdl_reader {
    lease leases[MAX_LEASES];
    uint32_t max_leases;
    uint32_t flags;
    int detached;
    uint64_t next_ticket;
    uint64_t epoch;
};

static struct {
    mock_counts counts;
    mock_request request;
    char fail_function[64];
    int fail_skip;
    spdl_status fail_status;
    char fail_text[256];
    uint32_t access;
    int stage;
    uint64_t n_epochs;
    uint64_t next_token;
    int grow;  /* times left that a text grows after its size was asked for */
    int grown; /* blanks at its end by now */
    int break_offsets;
} mock = {.access = SPDL_ACCESS_PRIVATE};

static char last_error[256] = "";

void mock_reset(void) {
    if (mock.counts.readers != 0 || mock.counts.leases != 0) {
        fprintf(stderr, "mock: reset with %d readers and %d leases alive\n", mock.counts.readers,
                mock.counts.leases);
        abort();
    }
    memset(&mock, 0, sizeof mock);
    mock.access = SPDL_ACCESS_PRIVATE;
}

void mock_fail(const char *function, int skip, spdl_status status, const char *text) {
    snprintf(mock.fail_function, sizeof mock.fail_function, "%s", function);
    snprintf(mock.fail_text, sizeof mock.fail_text, "%s", text);
    mock.fail_skip = skip;
    mock.fail_status = status;
}

void mock_set_access(uint32_t access) { mock.access = access; }
void mock_set_stage(int stage) { mock.stage = stage; }
void mock_set_epochs(uint64_t n_epochs) { mock.n_epochs = n_epochs; }
void mock_grow_text(int times) { mock.grow = times; }
void mock_break_offsets(void) { mock.break_offsets = 1; }
mock_counts mock_get_counts(void) { return mock.counts; }
const mock_request *mock_last_request(void) { return &mock.request; }

static spdl_status fail(spdl_status status, const char *text) {
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

/* MOCK_FAIL=FUNCTION[:SKIP] in the environment is mock_fail for programs that do not know the mock. */
static void fail_from_environment(void) {
    static int looked;
    const char *what = looked++ ? NULL : getenv("MOCK_FAIL");
    if (!what) return;
    const size_t length = strcspn(what, ":");
    char function[64];
    snprintf(function, sizeof function, "%.*s", (int)length, what);
    mock_fail(function, what[length] ? atoi(what + length + 1) : 0, SPDL_E_ENGINE_LOST, "mock: MOCK_FAIL");
}

/* The status that mock_fail asked for, once; SPDL_OK otherwise. */
static spdl_status forced(const char *function) {
    fail_from_environment();
    if (strcmp(function, mock.fail_function) != 0 || mock.fail_skip-- > 0) return SPDL_OK;
    mock.fail_function[0] = '\0';
    return fail(mock.fail_status, mock.fail_text);
}

/* ---- life -------------------------------------------------------------------------------------- */

const char *spdl_status_name(int status) { return status == SPDL_OK ? "SPDL_OK" : "SPDL_UNKNOWN"; }
const char *spdl_last_error(void) { return last_error; }
const char *spdl_version(void) { return "0.1.0"; }
uint32_t spdl_layout_version(void) { return 1000; }

static void keep(char *to, size_t bytes, const char *text) {
    snprintf(to, bytes, "%s", text ? text : "(null)");
}

spdl_status spdl_attach(const char *name, const spdl_attach_opts *opts, spdl_reader **out) {
    spdl_status s = forced("spdl_attach");
    if (s != SPDL_OK) return s;
    mock_request *q = &mock.request;
    keep(q->name, sizeof q->name, name);
    keep(q->group, sizeof q->group, opts->group);
    keep(q->client, sizeof q->client, opts->client);
    q->flags = opts->flags;
    q->max_leases = opts->max_leases;
    q->lane = opts->lane;
    q->timeout_ns = opts->timeout_ns;

    spdl_reader *r = calloc(1, sizeof *r);
    if (!r) return fail(SPDL_E_NOMEM, "mock: no memory");
    r->flags = opts->flags;
    r->max_leases = opts->max_leases ? opts->max_leases : MOCK_LEASES;
    mock.counts.readers++;
    *out = r;
    return SPDL_OK;
}

spdl_status spdl_attach_ring(spdl_reader *of, const char *ring, const spdl_attach_opts *opts,
                             spdl_reader **out) {
    spdl_status s = forced("spdl_attach_ring");
    return s == SPDL_OK && of ? spdl_attach(ring, opts, out) : s;
}

spdl_status spdl_open(const char *spec, const spdl_open_opts *opts, spdl_reader **out) {
    spdl_status s = forced("spdl_open");
    if (s != SPDL_OK) return s;
    mock_request *q = &mock.request;
    keep(q->engine, sizeof q->engine, opts->engine);
    q->form = opts->form;
    keep(q->state, sizeof q->state, opts->state);
    q->args[0] = '\0';
    for (size_t i = 0, n = 0; opts->args && opts->args[i] && n < sizeof q->args; i++)
        n += (size_t)snprintf(q->args + n, sizeof q->args - n, "%s ", opts->args[i]);
    return spdl_attach(spec, &opts->attach, out);
}

static int held(const spdl_reader *r) {
    int n = 0;
    for (int i = 0; i < MAX_LEASES; i++) n += r->leases[i].token != 0;
    return n;
}

static void free_if_over(spdl_reader *r) {
    if (!r->detached || held(r) > 0) return;
    mock.counts.readers--;
    free(r);
}

spdl_status spdl_detach(spdl_reader *r) {
    if (!r) return SPDL_OK;
    spdl_status s = forced("spdl_detach");
    if (s != SPDL_OK) return s;
    if (held(r) > 0) mock.counts.detached_with_leases++;
    r->detached = 1;
    free_if_over(r);
    return SPDL_OK;
}

void spdl_shutdown(void) {}                                      /* no engine is in this process */
void spdl_interrupt_on(const volatile int *flag) { (void)flag; } /* nothing waits */

/* ---- batches -------------------------------------------------------------------------------------- */

static void fill(slot *s, uint64_t ticket) {
    int64_t end = 0;
    for (int r = 0; r < MOCK_ROWS; r++) {
        const int64_t sample = (int64_t)ticket * MOCK_ROWS + r;
        for (int i = 0; i < IMAGE; i++) s->image[r][i] = (float)(sample + i);
        for (int i = 0; i < 4; i++)
            ((float *)(void *)(s->padded + r * PADDED_STRIDE))[i / 2 * 4 + i % 2] = (float)(sample + i);
        s->label[r] = sample;
        s->half[r][0] = s->half[r][1] = 0x3c00;
        s->index[r] = sample;
        s->status[r] = SPDL_ROW_OK;
        s->extent[r][0] = 2;
        s->extent[r][1] = 2 - r % 2;
        s->key_offsets[r] = end;
        end += snprintf((char *)s->key + end, sizeof s->key - (size_t)end, "%lld", (long long)sample);
    }
    s->key_offsets[MOCK_ROWS] = mock.break_offsets ? 1000000 : end;
}

spdl_status spdl_acquire(spdl_reader *r, int64_t timeout_ns, spdl_batch *out) {
    (void)timeout_ns;
    spdl_status s = forced("spdl_acquire");
    if (s != SPDL_OK) return s;
    if (mock.n_epochs && r->epoch >= mock.n_epochs) return SPDL_END_DATA;
    if (r->next_ticket / MOCK_BATCHES > r->epoch) {
        for (int i = 0; i < MAX_LEASES; i++)
            if (r->leases[i].token && !r->leases[i].done && !(r->flags & SPDL_ATTACH_HANDOFF))
                return fail(SPDL_E_UNDONE, "mock: the epoch waits for this thread's own batches");
        r->epoch++;
        return SPDL_END_EPOCH;
    }
    if (held(r) >= (int)r->max_leases) return fail(SPDL_E_LEASES, "mock: every lease is held");
    lease *l = r->leases;
    while (l->token) l++;
    l->token = ++mock.next_token;
    l->epoch = r->epoch;
    l->done = 0;
    const uint64_t ticket = r->next_ticket++;
    fill(&l->slot, ticket);
    const spdl_batch batch = {.struct_size = sizeof batch,
                              .rows = MOCK_ROWS,
                              .ticket = ticket,
                              .epoch = r->epoch,
                              .step = ticket,
                              .attempts = 1,
                              .flags = ticket % MOCK_BATCHES == MOCK_BATCHES - 1 ? SPDL_BATCH_LAST : 0,
                              .data = &l->slot,
                              .data_bytes = sizeof l->slot,
                              .token = l->token,
                              .slot = (uint32_t)(l - r->leases)};
    *out = batch;
    mock.counts.acquired++;
    mock.counts.leases++;
    return SPDL_OK;
}

static lease *find(spdl_reader *r, const spdl_batch *b) {
    for (int i = 0; i < MAX_LEASES; i++)
        if (b->token && r->leases[i].token == b->token) return &r->leases[i];
    mock.counts.stale++;
    fail(SPDL_E_STALE, "mock: this lease has ended");
    return NULL;
}

spdl_status spdl_done(spdl_reader *r, const spdl_batch *b) {
    spdl_status s = forced("spdl_done");
    if (s != SPDL_OK) return s;
    lease *l = find(r, b);
    if (!l) return SPDL_E_STALE;
    l->done = 1;
    mock.counts.done++;
    return SPDL_OK;
}

spdl_status spdl_release(spdl_reader *r, const spdl_batch *b) {
    spdl_status s = forced("spdl_release");
    lease *l = find(r, b);
    if (!l) return SPDL_E_STALE;
    l->token = 0;
    mock.counts.leases--;
    mock.counts.released++;
    free_if_over(r);
    return s;
}

spdl_status spdl_next(spdl_reader *r, int64_t timeout_ns, spdl_batch *used, spdl_batch *out) {
    return spdl_next_in_epoch(r, SPDL_ANY_EPOCH, timeout_ns, used, out);
}

spdl_status spdl_next_in_epoch(spdl_reader *r, uint64_t epoch, int64_t timeout_ns, spdl_batch *used,
                               spdl_batch *out) {
    if (used && used->token) {
        (void)spdl_release(r, used);
        used->token = 0;
    }
    if (epoch != SPDL_ANY_EPOCH && epoch != r->epoch) return SPDL_END_EPOCH;
    return spdl_acquire(r, timeout_ns, out);
}

spdl_status spdl_fail(spdl_reader *r, const spdl_batch *b, const char *why) {
    spdl_status s = forced("spdl_fail");
    if (s != SPDL_OK) return s;
    if (!mock.stage) return fail(SPDL_E_ARGUMENT, "mock: this group is no stage");
    lease *l = find(r, b);
    if (!l) return SPDL_E_STALE;
    snprintf(mock.request.why, sizeof mock.request.why, "%s", why);
    l->token = 0;
    mock.counts.leases--;
    mock.counts.failed++;
    free_if_over(r);
    return SPDL_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------------- */

/* clang-format off: a table */
#define DENSE(NAME, ROLE, CODE, BITS, AREA, NDIM, SHAPE, STRIDES)                                      \
    {                                                                                                  \
        sizeof(spdl_tensor), SPDL_DENSE, NAME, AREA, sizeof AREA, ROLE, CODE, BITS, 1, NDIM, 0, SHAPE, \
            STRIDES, NULL, 1, 0                                                                        \
    }
#define LIST(...) \
    { __VA_ARGS__ }

static void describe(slot *s, uint32_t i, spdl_tensor *out) {
    enum { N = MOCK_ROWS };
    const int64_t n_key = mock.break_offsets ? 4 : s->key_offsets[N];
    const spdl_tensor tensors[N_TENSORS] = {
        DENSE("image", SPDL_ROLE_FIELD, SPDL_FLOAT, 32, s->image, 4, LIST(N, 2, 2, 3), LIST(48, 24, 12, 4)),
        DENSE("label", SPDL_ROLE_LABEL, SPDL_INT, 64, s->label, 1, LIST(N), LIST(8)),
        DENSE("half", SPDL_ROLE_FIELD, SPDL_FLOAT, 16, s->half, 2, LIST(N, 2), LIST(4, 2)),
        DENSE("padded", SPDL_ROLE_FIELD, SPDL_FLOAT, 32, s->padded, 3, LIST(N, 2, 2),
              LIST(PADDED_STRIDE, 16, 4)),
        DENSE("index", SPDL_ROLE_INDEX, SPDL_INT, 64, s->index, 1, LIST(N), LIST(8)),
        {sizeof(spdl_tensor),
         SPDL_RAGGED,
         "key",
         s->key,
         (uint64_t)n_key,
         SPDL_ROLE_KEY,
         SPDL_UINT,
         8,
         1,
         1,
         0,
         {n_key},
         {1},
         s->key_offsets,
         1,
         0},
        DENSE("status", SPDL_ROLE_STATUS, SPDL_UINT, 8, s->status, 1, LIST(N), LIST(1)),
        DENSE("extent", SPDL_ROLE_FIELD, SPDL_INT, 64, s->extent, 2, LIST(N, 2), LIST(16, 8)),
    };
    *out = tensors[i];
}
/* clang-format on */

uint32_t spdl_n_tensors(const spdl_reader *r) {
    (void)r;
    return N_TENSORS;
}

int32_t spdl_tensor_index(const spdl_reader *r, const char *name) {
    (void)r;
    static slot unused;
    for (uint32_t i = 0; i < N_TENSORS; i++) {
        spdl_tensor t;
        describe(&unused, i, &t);
        if (strcmp(t.name, name) == 0) return (int32_t)i;
    }
    char text[128];
    snprintf(text, sizeof text, "mock: no tensor \"%s\"", name);
    return fail(SPDL_E_NOT_FOUND, text);
}

spdl_status spdl_batch_tensor(spdl_reader *r, const spdl_batch *b, uint32_t i, spdl_tensor *out) {
    spdl_status s = forced("spdl_batch_tensor");
    if (s != SPDL_OK) return s;
    if (i >= N_TENSORS) return fail(SPDL_E_ARGUMENT, "mock: no such tensor");
    lease *l = find(r, b);
    if (!l) return SPDL_E_STALE;
    describe(&l->slot, i, out);
    return SPDL_OK;
}

void spdl_dlpack_deleter(void *managed) { memset(managed, 0xff, 8); }

void spdl_dlpack_listen(int (*schedule)(int (*call)(void *), void *argument), int (*call)(void *),
                        void *argument) {
    (void)schedule, (void)call, (void)argument;
}

spdl_status spdl_schema_tensor(const spdl_reader *r, uint32_t i, spdl_tensor *out) {
    (void)r;
    spdl_status s = forced("spdl_schema_tensor");
    if (s != SPDL_OK) return s;
    static slot unused;
    describe(&unused, i, out);
    out->data = NULL;
    return SPDL_OK;
}

/* ---- information and state ------------------------------------------------------------------------------ */

spdl_status spdl_get_ring_info(const spdl_reader *r, spdl_ring_info *out) {
    (void)r;
    spdl_status s = forced("spdl_get_ring_info");
    if (s != SPDL_OK) return s;
    const spdl_ring_info info = {.struct_size = sizeof info,
                                 .access = mock.access,
                                 .name = "mock",
                                 .text = "{}",
                                 .n_slots = MAX_LEASES,
                                 .batch_rows = MOCK_ROWS,
                                 .n_lanes = 1,
                                 .world_size = 1,
                                 .n_samples = MOCK_BATCHES * MOCK_ROWS,
                                 .global_batch = MOCK_ROWS,
                                 .steps_per_epoch = MOCK_BATCHES,
                                 .n_epochs = mock.n_epochs,
                                 .data_bytes = sizeof(slot) * MAX_LEASES};
    *out = info;
    return SPDL_OK;
}

spdl_status spdl_get_reader_info(const spdl_reader *r, spdl_reader_info *out) {
    spdl_status s = forced("spdl_get_reader_info");
    if (s != SPDL_OK) return s;
    const spdl_reader_info info = {
        .struct_size = sizeof info,
        .owner = 1,
        .group = "mock",
        .max_leases = r->max_leases,
        .leases = (uint32_t)held(r),
        .epoch = r->epoch,
        .acquired = r->next_ticket,
        .flags = (mock.stage || mock.access == SPDL_ACCESS_PRIVATE ? SPDL_READER_WRITES : 0) |
                 (mock.stage ? SPDL_READER_STAGE : 0)};
    *out = info;
    return SPDL_OK;
}

int32_t spdl_engine_state(spdl_reader *r) {
    (void)r;
    return SPDL_RUNNING;
}

int spdl_event_fd(spdl_reader *r) {
    (void)r;
    return forced("spdl_event_fd") == SPDL_OK ? 42 : -1;
}

static spdl_status give_text(const char *text, char *buffer, size_t bytes, size_t *need) {
    char grown[256];
    snprintf(grown, sizeof grown, "%s%*s", text, mock.grown, "");
    *need = strlen(grown) + 1;
    if (buffer && bytes >= *need) {
        memcpy(buffer, grown, *need);
        return SPDL_OK;
    }
    if (mock.grow > 0) {
        mock.grow--;
        mock.grown++;
    }
    return fail(SPDL_E_ARGUMENT, "mock: the buffer is too small");
}

spdl_status spdl_state_save(spdl_reader *r, uint32_t flags, char *buffer, size_t bytes, size_t *need) {
    spdl_status s = forced("spdl_state_save");
    if (s != SPDL_OK) return s;
    char text[128];
    const uint64_t held_count = flags & SPDL_STATE_COUNT_HELD ? 0 : (uint64_t)held(r);
    snprintf(text, sizeof text, "{\"completed\":%llu}", (unsigned long long)(r->next_ticket - held_count));
    return give_text(text, buffer, bytes, need);
}

spdl_status spdl_state_load(spdl_reader *r, const char *json) {
    spdl_status s = forced("spdl_state_load");
    if (s != SPDL_OK) return s;
    unsigned long long ticket = 0;
    if (sscanf(json, "{\"completed\":%llu}", &ticket) != 1) return fail(SPDL_E_STATE, "mock: not a state");
    r->next_ticket = ticket;
    r->epoch = ticket / MOCK_BATCHES;
    return SPDL_OK;
}

spdl_status spdl_restart(spdl_reader *r) {
    spdl_status s = forced("spdl_restart");
    if (s != SPDL_OK) return s;
    r->epoch++;
    r->next_ticket = r->epoch * MOCK_BATCHES;
    return SPDL_OK;
}

spdl_status spdl_stats(spdl_reader *r, char *buffer, size_t bytes, size_t *need) {
    (void)r;
    spdl_status s = forced("spdl_stats");
    return s != SPDL_OK ? s : give_text("{\"images\":1}", buffer, bytes, need);
}
