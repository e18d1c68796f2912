/* test_media.c - packets and writers through the real libspdl_engine: what they give, what they refuse, and that they leave nothing. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { W = 32, H = 16, FRAMES = 10 };

static uint8_t pixels[FRAMES * W * H * 3];

/* A video in memory, without loss; NULL where this build has no FFmpeg. */
static spdl_loaded *film(void) {
    spdl_muxer *m;
    spdl_loaded *made = NULL;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i / 7 + i / (W * H * 3) * 9);
    spdl_status s = spdl_muxer_open("{\"format\": \"matroska\"}", NULL, &m);
    if (s == SPDL_E_UNSUPPORTED && strstr(spdl_last_error(), "no FFmpeg")) return NULL;
    CHECK_STATUS(s, SPDL_OK);
    int32_t t = spdl_muxer_add(
        m,
        "{\"video\": {\"width\": 32, \"height\": 16, \"rate\": 10, \"codec\": \"ffv1\", \"options\": {\"g\": \"1\"}}}");
    CHECK(t == 0);
    CHECK_STATUS(spdl_muxer_write(m, t, pixels, sizeof pixels, NULL, 2), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "muxer_write: seconds is NULL"));
    CHECK_STATUS(spdl_muxer_write(m, t, NULL, 1, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_muxer_write(m, t, pixels, sizeof pixels, NULL, 0), SPDL_OK);
    CHECK_STATUS(spdl_muxer_close(m, &made), SPDL_OK);
    return made;
}

static spdl_tensor first_tensor(const spdl_loaded *l) {
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_loaded_tensor(l, 0, &t), SPDL_OK);
    return t;
}

static spdl_packets *all_packets(const spdl_loaded *file, const char *description) {
    spdl_tensor t = first_tensor(file);
    spdl_demuxing *d;
    spdl_packets *p;
    CHECK_STATUS(spdl_demuxing_open(description, t.data, t.bytes, NULL, &d), SPDL_OK);
    CHECK_STATUS(spdl_demuxing_next(d, &p), SPDL_OK);
    spdl_demuxing_close(d);
    return p;
}

TEST(packets_decode_to_what_was_written) {
    spdl_loaded *file = film(), *clip;
    if (!file) return;
    spdl_packets *p = all_packets(file, "{\"video\": {}}");
    spdl_loaded_free(file); /* they need it no more */
    CHECK(spdl_packets_count(p) == FRAMES);
    CHECK(strstr(spdl_packets_info(p), "\"name\":\"ffv1\"") && strstr(spdl_packets_info(p), "\"width\":32"));
    spdl_packet one = SPDL_PACKET_INIT;
    CHECK_STATUS(spdl_packets_get(p, 3, &one), SPDL_OK);
    CHECK(one.flags & SPDL_PACKET_KEY && fabs(one.pts - 0.3) < 1e-3 && one.bytes > 0 && one.data);
    CHECK_STATUS(spdl_packets_decode(p, "{\"video\": {}}", &clip), SPDL_OK);
    CHECK(first_tensor(clip).bytes == sizeof pixels &&
          memcmp(first_tensor(clip).data, pixels, sizeof pixels) == 0);
    spdl_loaded_free(clip);
    spdl_packets_free(p);
}

TEST(packets_are_cut_and_decoded_in_chunks) {
    spdl_loaded *file = film(), *clip;
    if (!file) return;
    spdl_packets *p = all_packets(file, "{\"video\": {}}"), *part, *filtered;
    CHECK_STATUS(spdl_packets_slice(p, 4, 9, &part), SPDL_OK);
    spdl_packets_free(p); /* the part has its own */
    CHECK(spdl_packets_count(part) == 5);
    CHECK_STATUS(spdl_packets_filter(part, "null", &filtered), SPDL_OK);
    CHECK(spdl_packets_count(filtered) == 5);
    spdl_loading *l;
    CHECK_STATUS(spdl_packets_decode_chunks(part, "{\"video\": {\"frames\": 3}}", &l), SPDL_OK);
    spdl_packets_free(part); /* the loading holds them */
    const uint8_t *want = pixels + 4 * W * H * 3;
    for (int64_t n = 3; n >= 2; n--) {
        CHECK_STATUS(spdl_loading_next(l, &clip), SPDL_OK);
        spdl_tensor t = first_tensor(clip);
        CHECK(t.shape[0] == n && memcmp(t.data, want, t.bytes) == 0);
        want += t.bytes;
        spdl_loaded_free(clip);
    }
    CHECK_STATUS(spdl_loading_next(l, &clip), SPDL_END_DATA);
    spdl_loading_close(l);
    spdl_packets_free(filtered);
    spdl_loaded_free(file);
}

/* What a decoder has ready, behind `at` pixels that came before. */
static size_t take(spdl_decoder *d, size_t at) {
    spdl_loaded *chunk;
    spdl_status s;
    while ((s = spdl_decoder_next(d, &chunk)) == SPDL_OK) {
        spdl_tensor t = first_tensor(chunk);
        CHECK(at + t.bytes <= sizeof pixels && memcmp(t.data, pixels + at, t.bytes) == 0);
        at += t.bytes;
        spdl_loaded_free(chunk);
    }
    CHECK_STATUS(s, SPDL_END_DATA);
    return at;
}

TEST(a_decoder_is_fed_and_a_filter_kept_open) {
    spdl_loaded *file = film();
    if (!file) return;
    spdl_tensor t = first_tensor(file);
    spdl_demuxing *d;
    spdl_packets *stream, *p, *filtered;
    spdl_bsf *filter;
    spdl_decoder *decoder;
    CHECK_STATUS(spdl_demuxing_open("{\"video\": {\"packets\": 4}}", t.data, t.bytes, NULL, &d), SPDL_OK);
    CHECK_STATUS(spdl_demuxing_stream(d, &stream), SPDL_OK);
    CHECK_STATUS(spdl_bsf_open(stream, "nonsense", &filter), SPDL_E_UNSUPPORTED);
    CHECK_STATUS(spdl_bsf_open(stream, "null", &filter), SPDL_OK);
    CHECK_STATUS(spdl_decoder_open(stream, "{\"video\": {\"window\": {\"start\": \"1s\"}}}", &decoder),
                 SPDL_E_SPEC);
    CHECK(strstr(spdl_last_error(), "video.window: is of a whole video") != NULL);
    CHECK_STATUS(spdl_decoder_open(stream, "{\"video\": {\"frames\": 3}}", &decoder), SPDL_OK);
    spdl_packets_free(stream);
    size_t at = 0;
    while (spdl_demuxing_next(d, &p) == SPDL_OK) {
        CHECK_STATUS(spdl_bsf_filter(filter, p, 0, &filtered), SPDL_OK);
        CHECK(spdl_packets_count(filtered) == spdl_packets_count(p));
        CHECK_STATUS(spdl_decoder_give(decoder, filtered), SPDL_OK);
        spdl_packets_free(filtered); /* the decoder holds them */
        spdl_packets_free(p);
        at = take(decoder, at);
    }
    spdl_demuxing_close(d);
    CHECK(at == sizeof pixels / FRAMES * 9); /* chunks of 3 */
    CHECK_STATUS(spdl_bsf_flush(filter, &filtered), SPDL_OK);
    CHECK(spdl_packets_count(filtered) == 0);
    CHECK_STATUS(spdl_bsf_filter(filter, NULL, 0, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_decoder_give(decoder, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_bsf_filter(filter, filtered, 1, &p), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "was flushed; open another") != NULL);
    CHECK_STATUS(spdl_decoder_flush(decoder), SPDL_OK);
    CHECK(take(decoder, at) == sizeof pixels);
    CHECK_STATUS(spdl_decoder_give(decoder, filtered), SPDL_E_ARGUMENT);
    spdl_packets_free(filtered);
    spdl_decoder_close(decoder);
    spdl_bsf_close(filter);
    spdl_loaded_free(file);
}

TEST(packets_are_the_same_after_being_bytes) {
    spdl_loaded *file = film(), *bytes, *clip;
    if (!file) return;
    spdl_packets *p = all_packets(file, "{\"video\": {}}"), *back = NULL;
    CHECK_STATUS(spdl_packets_bytes(p, &bytes), SPDL_OK);
    spdl_tensor t = first_tensor(bytes);
    CHECK_STATUS(spdl_packets_of(t.data, t.bytes - 1, &back), SPDL_E_SAMPLE);
    CHECK(strstr(spdl_last_error(), "packets: the data stop early") != NULL && !back);
    CHECK_STATUS(spdl_packets_of("RIFF", 4, &back), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_packets_of(t.data, t.bytes, &back), SPDL_OK);
    CHECK(strcmp(spdl_packets_info(back), spdl_packets_info(p)) == 0 && spdl_packets_count(back) == FRAMES);
    spdl_loaded_free(bytes);
    spdl_packets_free(p);
    CHECK_STATUS(spdl_packets_decode(back, "{\"video\": {}}", &clip), SPDL_OK);
    CHECK(memcmp(first_tensor(clip).data, pixels, sizeof pixels) == 0);
    spdl_loaded_free(clip);
    spdl_packets_free(back);
    spdl_loaded_free(file);
}

TEST(packets_are_written_as_they_are) {
    spdl_loaded *file = film(), *copy, *clip;
    if (!file) return;
    spdl_packets *p = all_packets(file, "{\"video\": {}}");
    spdl_muxer *m;
    CHECK_STATUS(spdl_muxer_open("{\"format\": \"nut\"}", NULL, &m), SPDL_OK);
    CHECK(spdl_muxer_add_packets(m, p, NULL) == 0);
    CHECK_STATUS(spdl_muxer_write_packets(m, 0, p), SPDL_OK);
    CHECK_STATUS(spdl_muxer_write(m, 0, pixels, W * H * 3, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_muxer_write(m, 1, pixels, W * H * 3, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_muxer_close(m, &copy), SPDL_OK);
    spdl_tensor t = first_tensor(copy);
    CHECK_STATUS(spdl_load("{\"video\": {}}", t.data, t.bytes, NULL, &clip), SPDL_OK);
    CHECK(memcmp(first_tensor(clip).data, pixels, sizeof pixels) == 0);
    spdl_loaded_free(clip);
    spdl_loaded_free(copy);
    spdl_packets_free(p);
    spdl_loaded_free(file);
}

TEST(a_demuxing_gives_pieces_and_its_stream) {
    spdl_loaded *file = film();
    if (!file) return;
    spdl_tensor t = first_tensor(file);
    spdl_demuxing *d;
    spdl_packets *p;
    CHECK_STATUS(spdl_demuxing_open("{\"video\": {\"packets\": 4}}", t.data, t.bytes, NULL, &d), SPDL_OK);
    CHECK_STATUS(spdl_demuxing_stream(d, &p), SPDL_OK);
    CHECK(spdl_packets_count(p) == 0);
    spdl_packets_free(p);
    for (uint64_t n = 4; n > 0; n = n == 4 ? 4 : 0) {
        CHECK_STATUS(spdl_demuxing_next(d, &p), SPDL_OK);
        uint64_t got = spdl_packets_count(p);
        CHECK(got == 4 || got == 2);
        spdl_packets_free(p);
        if (got == 2) break;
    }
    CHECK_STATUS(spdl_demuxing_next(d, &p), SPDL_END_DATA);
    spdl_demuxing_close(d);
    spdl_loaded_free(file);
}

TEST(a_wav_and_a_picture_are_saved) {
    float samples[] = {0, 0.5f, -0.5f, 0.25f};
    spdl_loaded *made, *back;
    CHECK_STATUS(
        spdl_save("{\"wav\": {\"rate\": 8000, \"channels\": 2}}", samples, sizeof samples, NULL, &made),
        SPDL_OK);
    spdl_tensor t = first_tensor(made);
    CHECK(t.bytes == 44 + 8 && memcmp(t.data, "RIFF", 4) == 0);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", t.data, t.bytes, NULL, &back), SPDL_OK);
    CHECK(memcmp(first_tensor(back).data, samples, sizeof samples) == 0);
    spdl_loaded_free(back);
    spdl_loaded_free(made);
    char path[] = "/tmp/spdl-media-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    CHECK_STATUS(
        spdl_save("{\"wav\": {\"rate\": 8000, \"channels\": 1}}", samples, sizeof samples, path, NULL),
        SPDL_OK);
    CHECK_STATUS(spdl_load("{\"wav\": {}}", NULL, 0, path, &back), SPDL_OK);
    CHECK(first_tensor(back).shape[0] == 4);
    spdl_loaded_free(back);
    unlink(path);
    spdl_status s = spdl_save("{\"image\": {\"width\": 32, \"height\": 16, \"codec\": \"png\"}}", pixels,
                              W * H * 3, NULL, &made);
    if (s == SPDL_E_UNSUPPORTED && strstr(spdl_last_error(), "no FFmpeg")) return;
    CHECK_STATUS(s, SPDL_OK);
    t = first_tensor(made);
    CHECK_STATUS(spdl_load("{\"image\": {}}", t.data, t.bytes, NULL, &back), SPDL_OK);
    CHECK(memcmp(first_tensor(back).data, pixels, W * H * 3) == 0);
    spdl_loaded_free(back);
    spdl_loaded_free(made);
}

TEST(media_refuses_what_makes_no_sense) {
    spdl_loaded *out = NULL;
    spdl_demuxing *d = NULL;
    spdl_packets *p = NULL;
    spdl_muxer *m = NULL;
    spdl_packet packet = SPDL_PACKET_INIT;
    CHECK_STATUS(spdl_save(NULL, pixels, 4, NULL, &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_save("{\"wav\": {}}", NULL, 4, NULL, &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_save("{\"wav\": {}}", pixels, 4, NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_save("{\"wav\": {}}", pixels, 4, "/tmp/a.wav", &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_save("{\"wav\": {\"rates\": 8000}}", pixels, 4, NULL, &out), SPDL_E_SPEC);
    CHECK(strstr(spdl_last_error(), "did you mean \"rate\"") != NULL);
    CHECK_STATUS(spdl_save("{\"wav\": {\"rate\": 8000, \"channels\": 1}}", pixels, 5, NULL, &out),
                 SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_save("{\"wav\": {\"rate\": 8000, \"channels\": 1}}", pixels, 4, "/nowhere/a.wav", NULL),
                 SPDL_E_SYSTEM);
    CHECK_STATUS(spdl_demuxing_open("{\"video\": {}}", "no media", 8, NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_demuxing_open("{\"video\": {}}", NULL, 0, NULL, &d), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_demuxing_open("{}", "no media", 8, NULL, &d), SPDL_E_SPEC);
    CHECK_STATUS(spdl_demuxing_next(NULL, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_demuxing_stream(NULL, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_get(NULL, 0, &packet), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_slice(NULL, 0, 0, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_filter(NULL, "null", &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_decode(NULL, "{\"video\": {}}", &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_bytes(NULL, &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_of(NULL, 3, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_of("no media", (size_t)-1, &p), SPDL_E_ARGUMENT);
    CHECK_SAYS("packets_of: n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_demuxing_open("{\"video\": {}}", "no media", (size_t)-1, NULL, &d), SPDL_E_ARGUMENT);
    CHECK_SAYS("demuxing_open: n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_save("{\"wav\": {\"rate\": 8000, \"channels\": 1}}", pixels, (size_t)-1, NULL, &out),
                 SPDL_E_ARGUMENT);
    CHECK_SAYS("save: n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_bsf_open(NULL, "null", &(spdl_bsf *){NULL}), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_bsf_filter(NULL, NULL, 0, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_bsf_flush(NULL, &p), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_decoder_flush(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_decoder_open(NULL, "{\"video\": {}}", &(spdl_decoder *){NULL}), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_decoder_give(NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_decoder_next(NULL, &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_muxer_open(NULL, "/tmp/a.mp4", &m), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_muxer_open("{}", NULL, &m), SPDL_E_SPEC);
    CHECK_STATUS(spdl_muxer_close(NULL, NULL), SPDL_E_ARGUMENT);
    CHECK(spdl_muxer_add(NULL, "{}") == SPDL_E_ARGUMENT &&
          spdl_muxer_add_packets(NULL, NULL, NULL) == SPDL_E_ARGUMENT);
    CHECK(!out && !d && !p && !m && spdl_packets_count(NULL) == 0 && *spdl_packets_info(NULL) == 0);
    spdl_packets_free(NULL);
    spdl_bsf_close(NULL);
    spdl_decoder_close(NULL);
    spdl_demuxing_close(NULL);
    spdl_muxer_abort(NULL);
}

/* The first graph of the text; NULL where this build has no FFmpeg. */
static spdl_graph *graph_of(const char *text) {
    spdl_graph *g = NULL;
    spdl_status s = spdl_graph_open(text, &g);
    if (s == SPDL_E_SAMPLE && strstr(spdl_last_error(), "no FFmpeg")) return NULL;
    CHECK_STATUS(s, SPDL_OK);
    return g;
}

TEST(a_graph_takes_frames_at_its_inputs_and_gives_them_at_its_outputs) {
    static const char text[] =
        "{\"graph\": \"buffer@a=video_size=2x1:pix_fmt=gray:time_base=1/10[a];"
        "buffer@b=video_size=2x1:pix_fmt=gray:time_base=1/10[b];[a][b]hstack,split[x][y];"
        "[x]buffersink@x;[y]hflip,buffersink@y\"}";
    const uint8_t left[4] = {1, 2, 5, 6}, right[4] = {3, 4, 7, 8};
    const double seconds[2] = {0.5, 0.7};
    spdl_graph *g = graph_of(text);
    spdl_loaded *out = NULL;
    if (!g) return;
    CHECK(strstr(spdl_graph_info(g), "\"name\":\"buffer@b\"") && strstr(spdl_graph_info(g), "hstack"));
    CHECK_STATUS(spdl_graph_add(g, "buffer@a", left, sizeof left, seconds, 2), SPDL_OK);
    CHECK_STATUS(spdl_graph_next(g, "buffersink@x", &out), SPDL_END_DATA);
    CHECK_STATUS(spdl_graph_add(g, NULL, right, sizeof right, NULL, 0), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "got the input \"\", want one of buffer@a, buffer@b") != NULL);
    CHECK_STATUS(spdl_graph_add(g, "buffer@b", right, 3, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_add(g, "buffer@b", right, sizeof right, seconds, 2), SPDL_OK);
    CHECK_STATUS(spdl_graph_flush(g), SPDL_OK);
    CHECK_STATUS(spdl_graph_next(g, "buffersink", &out), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_next(g, "buffersink@x", &out), SPDL_OK);
    spdl_tensor video = first_tensor(out), pts = SPDL_TENSOR_INIT;
    CHECK_STATUS(spdl_loaded_tensor(out, 1, &pts), SPDL_OK);
    CHECK(video.bytes == 8 && memcmp(video.data, (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8}, 8) == 0);
    CHECK(fabs(((double *)pts.data)[1] - 0.7) < 1e-9);
    spdl_loaded_free(out);
    CHECK_STATUS(spdl_graph_next(g, "buffersink@y", &out), SPDL_OK);
    CHECK(memcmp(first_tensor(out).data, (uint8_t[]){4, 3, 2, 1, 8, 7, 6, 5}, 8) == 0);
    spdl_graph_close(g); /* what it gave stays */
    CHECK(((uint8_t *)first_tensor(out).data)[0] == 4);
    spdl_loaded_free(out);
}

TEST(a_graph_is_refused_by_name) {
    spdl_graph *g = graph_of("{\"graph\": \"buffer=video_size=2x1:pix_fmt=gray:time_base=1/10,buffersink\"}"),
               *none = NULL;
    spdl_loaded *out = NULL;
    CHECK_STATUS(spdl_graph_open(NULL, &none), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_add(NULL, NULL, NULL, 0, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_flush(NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_next(NULL, NULL, &out), SPDL_E_ARGUMENT);
    CHECK(*spdl_graph_info(NULL) == 0);
    spdl_graph_close(NULL);
    if (!g) return;
    CHECK_STATUS(spdl_graph_open("{\"graph\": \"movie=a.mp4,buffersink\"}", &none), SPDL_E_SPEC);
    CHECK(strstr(spdl_last_error(), "got filter \"movie\"") && !none && !out);
    CHECK_STATUS(spdl_graph_add(g, NULL, NULL, 2, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_add(g, NULL, "ab", 2, NULL, 1), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_graph_add(g, NULL, "ab", (size_t)-1, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_SAYS("graph_add: n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_graph_add(g, NULL, "ab", 2, &(double){0}, (size_t)-1), SPDL_E_ARGUMENT);
    CHECK_SAYS("graph_add: n_seconds is 18446744073709551615, want at most 1152921504606846975");
    CHECK_STATUS(spdl_graph_flush(g), SPDL_OK);
    CHECK_STATUS(spdl_graph_add(g, NULL, "ab", 2, NULL, 0), SPDL_E_SAMPLE);
    CHECK(strstr(spdl_last_error(), "it was flushed; open another graph") != NULL);
    spdl_graph_close(g);
}

TEST(media_with_packets_in_hand_refuses_by_name) {
    spdl_loaded *file = film(), *out = NULL;
    if (!file) {
        spdl_demuxing *d;
        CHECK_STATUS(spdl_demuxing_open("{\"video\": {}}", "no media", 8, NULL, &d), SPDL_E_UNSUPPORTED);
        return;
    }
    spdl_packets *p = all_packets(
                     file, "{\"video\": {\"window\": {\"start\": \"200ms\", \"duration\": \"100ms\"}}}"),
                 *q = NULL;
    spdl_packet packet = {.struct_size = 4};
    CHECK(strstr(spdl_packets_info(p), "\"window\":[0.2,0.3") != NULL);
    CHECK_STATUS(spdl_packets_get(p, 0, &packet), SPDL_E_ARGUMENT);
    packet.struct_size = sizeof packet;
    CHECK_STATUS(spdl_packets_get(p, spdl_packets_count(p), &packet), SPDL_E_ARGUMENT);
    CHECK_SAYS("packets_get: packet ");
    CHECK_SAYS(", there are ");
    CHECK_STATUS(spdl_packets_slice(p, 1, 0, &q), SPDL_E_ARGUMENT);
    CHECK_SAYS("packets_slice: packets [1, 0), there are ");
    CHECK_STATUS(spdl_packets_slice(p, 0, 99, &q), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_packets_filter(p, "nonsense", &q), SPDL_E_UNSUPPORTED);
    CHECK_STATUS(spdl_packets_decode(p, "{\"audio\": {}}", &out), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_packets_decode(p, "{\"image\": {}}", &out), SPDL_E_SPEC);
    spdl_muxer *m;
    CHECK_STATUS(spdl_muxer_open("{\"format\": \"mp4\"}", NULL, &m), SPDL_OK);
    CHECK(spdl_muxer_add(m, "{\"video\": {\"width\": 32}, \"audio\": {}}") == SPDL_E_SPEC);
    CHECK(spdl_muxer_add(m, "{\"audio\": {\"rate\": 8000, \"channels\": 1, \"layout\": \"LNC\"}}") ==
          SPDL_E_SPEC);
    CHECK(spdl_muxer_add(
              m, "{\"video\": {\"width\": 32, \"height\": 16, \"rate\": 10, \"codec\": \"nonsense\"}}") ==
          SPDL_E_UNSUPPORTED);
    CHECK_STATUS(spdl_muxer_write(m, 0, pixels, (size_t)-1, NULL, 0), SPDL_E_ARGUMENT);
    CHECK_SAYS("muxer_write: n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_muxer_write(m, 0, pixels, 4, &(double){0}, (size_t)-1), SPDL_E_ARGUMENT);
    CHECK_SAYS("muxer_write: n_seconds is 18446744073709551615");
    CHECK_STATUS(spdl_muxer_close(m, &out), SPDL_E_ARGUMENT); /* without tracks */
    CHECK(!out && !q);
    CHECK_STATUS(spdl_packets_decode(p, "{\"video\": {}}", &out), SPDL_OK);
    CHECK(first_tensor(out).shape[0] == 1);
    spdl_loaded_free(out);
    spdl_packets_free(p);
    spdl_loaded_free(file);
}

TEST(packets_may_be_freed_in_a_forked_child_and_all_else_refuses_there) {
    spdl_loaded *file = film(), *out;
    if (!file) return;
    spdl_packets *p = all_packets(file, "{\"video\": {}}"), *q;
    pid_t child = fork();
    if (child == 0) {
        int ok = spdl_packets_decode(p, "{\"video\": {}}", &out) == SPDL_E_FORKED;
        ok = ok && spdl_packets_slice(p, 0, 1, &q) == SPDL_E_FORKED;
        spdl_packets_free(p);
        _exit(ok ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    spdl_packets_free(p);
    spdl_loaded_free(file);
}
