/* table.h - what libspdl_engine gives libspdl: one exported function, which returns a table of functions.
 *
 * Both are built from one tree: libspdl takes the table of its own version only, so nothing here need ever stay
 * compatible. Every function may be called from any thread. A failure's text goes to `error`, cut to fit.
 */
#ifndef SPDL_ENGINE_TABLE_H
#define SPDL_ENGINE_TABLE_H

#include "../../include/spdl.h"

#define SPDL_ENGINE_TABLE_VERSION 3u
#define SPDL_ENGINE_SYMBOL "spdl_engine_table_of"

typedef struct spdl_engine_error {
    char text[1536];
} spdl_engine_error;

/* What was loaded, all of it to be given to free(): each owned, NULL for a view of the caller's bytes. */
struct spdl_loaded {
    uint32_t n;
    uint32_t reserved;
    char *info;
    spdl_tensor *tensors; /* and their names */
    void **owned;
};

typedef struct spdl_engine_table {
    uint32_t table_version;
    const char *version; /* of the release, as spdl_version() */

    /* Serve the other end of `control` as `spdl serve args...` would, until that hangs up. Takes control and
     * parent, a pidfd of this process. What goes wrong is told over control. *source, above 0 and never used
     * again, is for the four calls below. */
    spdl_status (*open)(const char *const *args, uint32_t n_args, int control, int parent, int64_t *source,
                        spdl_engine_error *error);

    /* Samples that the host brings: is there a source.host (SPDL_E_NOT_FOUND if not); take and give as in
     * spdl.h; no more will be brought. */
    spdl_status (*source_check)(int64_t source, spdl_engine_error *error);
    spdl_status (*source_take)(int64_t source, int64_t timeout_ns, spdl_want *out, spdl_engine_error *error);
    spdl_status (*source_give)(int64_t source, const spdl_want *want, const spdl_sample *sample,
                               spdl_engine_error *error);
    void (*source_end)(int64_t source);

    /* spdl_load. */
    spdl_status (*load)(const char *description, const void *bytes, size_t n_bytes, const char *path,
                        spdl_loaded **out, spdl_engine_error *error);

    /* The pipelines of spdl.h; a handle is above 0 and never used again. */
    spdl_status (*create)(const char *description, int64_t *handle, spdl_engine_error *error);
    spdl_status (*start)(int64_t handle, spdl_engine_error *error);
    int32_t (*stage)(int64_t handle, const char *name, spdl_engine_error *error);
    spdl_status (*take)(int64_t handle, int32_t stage, int64_t timeout_ns, spdl_work *out,
                        spdl_engine_error *error);
    spdl_status (*give)(int64_t handle, int32_t stage, const spdl_work *work, const spdl_give *give,
                        spdl_engine_error *error);
    spdl_status (*get)(int64_t handle, int64_t timeout_ns, spdl_work *out, spdl_engine_error *error);
    spdl_status (*drain)(int64_t handle, spdl_engine_error *error);
    spdl_status (*stop)(int64_t handle, spdl_engine_error *error);
    spdl_status (*wait)(int64_t handle, int64_t timeout_ns, spdl_engine_error *error);
    /* Texts are the caller's, to be given to free(). */
    spdl_status (*failure)(int64_t handle, char **text, spdl_engine_error *error);
    spdl_status (*stats)(int64_t handle, char **text, spdl_engine_error *error);
    spdl_status (*reclaim)(int64_t handle, uint64_t *items, uint32_t room, uint32_t *got,
                           spdl_engine_error *error);
    spdl_status (*free)(int64_t handle, spdl_engine_error *error);
} spdl_engine_table;

/* The table of that version, or NULL. The one symbol the library exports. */
SPDL_API const spdl_engine_table *spdl_engine_table_of(uint32_t table_version);

#endif
