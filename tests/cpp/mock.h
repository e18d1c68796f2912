/* mock.h - the knobs of mock.c, a libspdl that serves a fixed pattern from private memory and fails on
 * request. It keeps spdl.h's rules about leases, so that a client's ownership can be counted. */
#ifndef SPDL_TESTS_MOCK_H
#define SPDL_TESTS_MOCK_H

#include <spdl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows per batch, batches per epoch, leases unless more are asked for. */
enum { MOCK_ROWS = 3, MOCK_BATCHES = 5, MOCK_LEASES = 4 };

typedef struct mock_counts {
    int readers; /* alive now */
    int leases;  /* held now, all readers */
    int detached_with_leases;
    int acquired, released, done, stale, failed; /* calls that did so */
} mock_counts;

/* What the last spdl_open or spdl_attach was asked for. */
typedef struct mock_request {
    char name[256], group[64], client[64], engine[256], args[256], state[256]; /* "(null)" for NULL */
    uint32_t flags, max_leases;
    int32_t lane;
    int64_t timeout_ns;
    uint32_t form;
    char why[256]; /* of the last spdl_fail */
} mock_request;

/* Forget everything; the counts must be zero for readers and leases. */
void mock_reset(void);

/* The call of `function` ("spdl_acquire") that comes after `skip` others returns `status` with this text. */
void mock_fail(const char *function, int skip, spdl_status status, const char *text);

void mock_set_access(uint32_t access);   /* SPDL_ACCESS_PRIVATE at reset */
void mock_set_stage(int stage);          /* 1: readers belong to a stage; 0 at reset */
void mock_set_epochs(uint64_t n_epochs); /* 0, endless, at reset */
void mock_grow_text(int times);          /* state and stats grow that often between size and text */
void mock_break_offsets(void);           /* the key column's offsets leave its values */
mock_counts mock_get_counts(void);
const mock_request *mock_last_request(void);

#ifdef __cplusplus
}
#endif

#endif
