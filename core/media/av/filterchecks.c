//go:build !noffmpeg

/* filterchecks.c - see filterchecks.h. */
#include "filterchecks.h"

#include <inttypes.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <string.h>

#include "av.h"

/* Filters that may go on for ever do so inside of one call, which nothing could interrupt. Each is endless while all of its
 * options here are below 0. */
static const struct {
    const char *filter, *options[4];
} endless[] = {{"loop", {"loop"}},
               {"aloop", {"loop"}},
               {"tpad", {"stop"}},
               {"apad", {"pad_len", "whole_len", "pad_dur", "whole_dur"}}};

static int is_endless(const AVFilterContext *c) {
    for (size_t e = 0; e < sizeof endless / sizeof endless[0]; e++) {
        if (strcmp(c->filter->name, endless[e].filter) != 0) continue;
        for (int o = 0; o < 4 && endless[e].options[o]; o++) {
            int64_t value = -1;
            if (av_opt_get_int(c->priv, endless[e].options[o], 0, &value) >= 0 && value >= 0) return 0;
        }
        return 1;
    }
    return 0;
}

int media_av_filter_ends(const AVFilterGraph *graph, char *detail, size_t detail_bytes) {
    for (unsigned i = 0; i < graph->nb_filters; i++) {
        const AVFilterContext *c = graph->filters[i];
        if (!is_endless(c)) continue;
        snprintf(detail, detail_bytes, "%s never ends; say how often or how long", c->filter->name);
        return MEDIA_AV_FILTER;
    }
    return MEDIA_AV_OK;
}

int media_av_filter_sizes(const AVFilterGraph *graph, uint64_t max_pixels, char *detail,
                          size_t detail_bytes) {
    for (unsigned i = 0; max_pixels && i < graph->nb_filters; i++) {
        const AVFilterContext *c = graph->filters[i];
        for (unsigned k = 0; k < c->nb_outputs; k++) {
            const AVFilterLink *l = c->outputs[k];
            if (l->type != AVMEDIA_TYPE_VIDEO || (uint64_t)l->w * (uint64_t)l->h <= max_pixels) continue;
            snprintf(detail, detail_bytes, "%s gives pictures of %dx%d, want at most %" PRIu64 " pixels",
                     c->filter->name, l->w, l->h, max_pixels);
            return MEDIA_AV_FILTER;
        }
    }
    return MEDIA_AV_OK;
}
