/* table.h - what libspdl_engine gives libspdl: one exported function, which returns a table of functions.
 *
 * Both are built from one tree: libspdl takes the table of its own version only, so nothing here need ever stay
 * compatible. Every function may be called from any thread. A failure's text goes to `error`, cut to fit.
 */
#ifndef SPDL_ENGINE_TABLE_H
#define SPDL_ENGINE_TABLE_H

#include "../../include/spdl.h"

#define SPDL_ENGINE_TABLE_VERSION 8u
#define SPDL_ENGINE_SYMBOL "spdl_engine_table_of"

#define SP_END_NS ((int64_t)5000000000) /* at most, for an engine's orderly end */

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

/* Packets, to be given to packets_free. */
struct spdl_packets {
    int64_t handle; /* above 0 and never used again */
    uint64_t n;
    char *info;
    spdl_packet *list;
};

typedef struct spdl_engine_table {
    uint32_t table_version;
    const char *version; /* of the release, as spdl_version() */

    /* Serve the other end of `control` as `spdl serve args...` would, until that hangs up. Takes control and
     * parent, a pidfd of this process. What goes wrong is told over control. *source, above 0 and never used
     * again, is for await_end and the four calls about samples. */
    spdl_status (*open)(const char *const *args, uint32_t n_args, int control, int parent, int64_t *source,
                        spdl_engine_error *error);

    /* Wait until the engine of that source, which nobody reads from any more, has let go of everything; and end all
     * that there are and wait for them. Both at most timeout_ns; the first returns SPDL_TIMEOUT where that was too short. */
    spdl_status (*await_end)(int64_t source, int64_t timeout_ns);
    void (*end_all)(int64_t timeout_ns);

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

    /* spdl_load_batch; samples lie one behind the other, each as long as the first says. */
    spdl_status (*load_batch)(const char *description, const spdl_sample *samples, size_t n_samples,
                              spdl_loaded **out, spdl_engine_error *error);

    /* spdl_loading_*; a handle is above 0 and never used again. */
    spdl_status (*loading_open)(const char *description, const void *bytes, size_t n_bytes, const char *path,
                                int64_t *handle, spdl_engine_error *error);
    spdl_status (*loading_next)(int64_t handle, spdl_loaded **out, spdl_engine_error *error);
    void (*loading_close)(int64_t handle);

    /* spdl_demuxing_*, spdl_packets_*, spdl_save and spdl_muxer_*; handles are above 0 and never used again. */
    spdl_status (*demuxing_open)(const char *description, const void *bytes, size_t n_bytes, const char *path,
                                 int64_t *handle, spdl_engine_error *error);
    spdl_status (*demuxing_next)(int64_t handle, int stream_alone, spdl_packets **out,
                                 spdl_engine_error *error);
    void (*demuxing_close)(int64_t handle);
    spdl_status (*packets_slice)(int64_t packets, uint64_t first, uint64_t end, spdl_packets **out,
                                 spdl_engine_error *error);
    spdl_status (*packets_filter)(int64_t packets, const char *filters, spdl_packets **out,
                                  spdl_engine_error *error);
    spdl_status (*packets_decode)(int64_t packets, const char *description, spdl_loaded **out,
                                  spdl_engine_error *error);
    spdl_status (*packets_decode_chunks)(int64_t packets, const char *description, int64_t *loading,
                                         spdl_engine_error *error);
    spdl_status (*packets_bytes)(int64_t packets, spdl_loaded **out, spdl_engine_error *error);
    spdl_status (*packets_of)(const void *bytes, size_t n_bytes, spdl_packets **out,
                              spdl_engine_error *error);
    void (*packets_free)(int64_t packets);

    /* spdl_bsf_* and spdl_decoder_*; packets 0: there are no more. Handles are above 0 and never used again. */
    spdl_status (*bsf_open)(int64_t packets, const char *filters, int64_t *handle, spdl_engine_error *error);
    spdl_status (*bsf_filter)(int64_t bsf, int64_t packets, int last, spdl_packets **out,
                              spdl_engine_error *error);
    void (*bsf_close)(int64_t bsf);
    spdl_status (*decoder_open)(int64_t packets, const char *description, int64_t *handle,
                                spdl_engine_error *error);
    spdl_status (*decoder_give)(int64_t decoder, int64_t packets, spdl_engine_error *error);
    spdl_status (*decoder_next)(int64_t decoder, spdl_loaded **out, spdl_engine_error *error);
    void (*decoder_close)(int64_t decoder);

    /* spdl_graph_*; *info is spdl_graph_info, to be given to free(). A handle is above 0 and never used again. */
    spdl_status (*graph_open)(const char *description, int64_t *handle, char **info,
                              spdl_engine_error *error);
    spdl_status (*graph_add)(int64_t graph, const char *input, const void *data, size_t n_bytes,
                             const double *seconds, size_t n_seconds, spdl_engine_error *error);
    spdl_status (*graph_flush)(int64_t graph, spdl_engine_error *error);
    spdl_status (*graph_next)(int64_t graph, const char *output, spdl_loaded **out, spdl_engine_error *error);
    void (*graph_close)(int64_t graph);

    spdl_status (*save)(const char *description, const void *data, size_t n_bytes, const char *path,
                        spdl_loaded **out, spdl_engine_error *error);
    spdl_status (*muxer_open)(const char *description, const char *path, int64_t *handle,
                              spdl_engine_error *error);
    /* A track that encodes, or where there is no description one for packets; *track is its number. */
    spdl_status (*muxer_add)(int64_t muxer, const char *description, int64_t packets, const char *filters,
                             int32_t *track, spdl_engine_error *error);
    spdl_status (*muxer_write)(int64_t muxer, int32_t track, const void *data, size_t n_bytes,
                               const double *seconds, size_t n_seconds, spdl_engine_error *error);
    spdl_status (*muxer_write_packets)(int64_t muxer, int32_t track, int64_t packets,
                                       spdl_engine_error *error);
    spdl_status (*muxer_close)(int64_t muxer, spdl_loaded **out, spdl_engine_error *error);
    void (*muxer_abort)(int64_t muxer);

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
