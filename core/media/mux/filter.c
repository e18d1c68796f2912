//go:build !noffmpeg

/* filter.c - packets through bitstream filters, without a container. */
#include "mux.h"

#include "../av/packets.h"

/* The filter's packets behind those that to has. */
static int drain(AVBSFContext *filter, AVPacket *packet, media_packets *to) {
    int rc;
    while ((rc = av_bsf_receive_packet(filter, packet)) >= 0)
        if (media_packets_append(to, packet) != MEDIA_AV_OK) return AVERROR(ENOMEM);
    return rc == AVERROR(EAGAIN) || rc == AVERROR_EOF ? 0 : rc;
}

static int pass(AVBSFContext *filter, AVPacket *packet, const media_packets *from, media_packets *to) {
    int rc = 0;
    for (int64_t i = 0; rc >= 0 && i <= from->n; i++) {
        if (i < from->n) rc = av_packet_ref(packet, from->packet[i]);
        if (rc >= 0) rc = av_bsf_send_packet(filter, i < from->n ? packet : NULL);
        if (rc >= 0) rc = drain(filter, packet, to);
    }
    return rc;
}

int media_mux_filter_packets(media_mux *m, const char *filters, const media_packets *from,
                             media_packets **out) {
    AVBSFContext *filter = NULL;
    AVStream *s = from->format->streams[0];
    int rc = media_mux_filters(m, &filter, s, filters);
    if (rc != MEDIA_MUX_OK) {
        av_bsf_free(&filter);
        return rc;
    }
    media_packets *to = media_packets_slice(from, 0, 0);
    int failure =
        to ? avcodec_parameters_copy(to->format->streams[0]->codecpar, filter->par_out) : AVERROR(ENOMEM);
    if (failure >= 0) {
        to->format->streams[0]->time_base = filter->time_base_out;
        to->whole = from->whole;
        failure = pass(filter, m->packet, from, to);
    }
    av_bsf_free(&filter);
    if (failure < 0) {
        media_packets_free(to);
        return media_mux_failed(m, failure, MEDIA_MUX_INVALID, filters);
    }
    *out = to;
    return MEDIA_MUX_OK;
}
