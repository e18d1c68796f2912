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

/* Packets of from, and then that there are no more, unless more is still to come. */
static int pass(AVBSFContext *filter, AVPacket *packet, const media_packets *from, int ends,
                media_packets *to) {
    int rc = 0;
    for (int64_t i = 0; rc >= 0 && i < from->n; i++) {
        rc = av_packet_ref(packet, from->packet[i]);
        if (rc >= 0) rc = av_bsf_send_packet(filter, packet);
        if (rc < 0)
            av_packet_unref(packet);
        else
            rc = drain(filter, packet, to);
    }
    if (rc >= 0 && ends) rc = av_bsf_send_packet(filter, NULL);
    return rc >= 0 && ends ? drain(filter, packet, to) : rc;
}

int media_mux_filter_open(media_mux *m, const char *filters, const media_packets *stream,
                          AVBSFContext **filter) {
    int rc = media_mux_filters(m, filter, stream->format->streams[0], filters);
    if (rc != MEDIA_MUX_OK) av_bsf_free(filter);
    return rc;
}

int media_mux_filter_packets(media_mux *m, AVBSFContext *filter, const char *filters,
                             const media_packets *from, int ends, media_packets **out) {
    media_packets *to = media_packets_slice(from, 0, 0);
    int failure =
        to ? avcodec_parameters_copy(to->format->streams[0]->codecpar, filter->par_out) : AVERROR(ENOMEM);
    if (failure >= 0) {
        to->format->streams[0]->time_base = filter->time_base_out;
        to->whole = from->whole && ends;
        failure = pass(filter, m->packet, from, ends, to);
    }
    if (failure < 0) {
        media_packets_free(to);
        return media_mux_failed(m, failure, MEDIA_MUX_INVALID, filters);
    }
    *out = to;
    return MEDIA_MUX_OK;
}
