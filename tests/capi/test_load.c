/* test_load.c - spdl_load through the real libspdl_engine: what it gives, what it refuses, and that it leaves nothing. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A WAV of one channel at 8 kHz: 1, 2, 3, 4 in s16. */
static const uint8_t wav[] = {
    'R', 'I', 'F', 'F', 44, 0, 0,    0,    'W', 'A', 'V',  'E',  'f', 'm', 't', ' ', 16, 0,
    0,   0,   1,   0,   1,  0, 0x40, 0x1f, 0,   0,   0x80, 0x3e, 0,   0,   2,   0,   16, 0,
    'd', 'a', 't', 'a', 8,  0, 0,    0,    1,   0,   2,    0,    3,   0,   4,   0,
};

static spdl_tensor only_tensor(const spdl_loaded *l) {
    spdl_tensor t = SPDL_TENSOR_INIT;
    CHECK(spdl_loaded_n_tensors(l) == 1);
    CHECK_STATUS(spdl_loaded_tensor(l, 0, &t), SPDL_OK);
    CHECK_STATUS(spdl_loaded_tensor(l, 1, &t), SPDL_E_ARGUMENT);
    return t;
}

TEST(load_decodes_into_memory_of_its_own) {
    spdl_loaded *l;
    CHECK_STATUS(spdl_load("{\"audio\": {}}", wav, sizeof wav, NULL, &l), SPDL_OK);
    spdl_tensor t = only_tensor(l);
    CHECK(strcmp(t.name, "audio") == 0 && t.ndim == 2 && t.shape[0] == 1 && t.shape[1] == 4);
    CHECK(t.dtype_code == SPDL_FLOAT && t.dtype_bits == 32 && t.bytes == 16 && t.strides[1] == 4);
    CHECK(((const float *)t.data)[3] == 4 / 32768.0f);
    CHECK(strstr(spdl_loaded_info(l), "\"sample_rate\":8000") != NULL);
    spdl_loaded_free(l);
}

TEST(load_gives_views_of_the_callers_bytes_where_it_can) {
    spdl_loaded *l;
    _Alignas(8) uint8_t copy[sizeof wav];
    memcpy(copy, wav, sizeof wav);
    CHECK_STATUS(spdl_load("{\"wav\": {}}", copy, sizeof copy, NULL, &l), SPDL_OK);
    spdl_tensor t = only_tensor(l);
    CHECK(t.data == copy + 44 && t.dtype_code == SPDL_INT && t.dtype_bits == 16 && t.shape[0] == 4);
    spdl_loaded_free(l);
    CHECK(copy[44] == 1); /* still the caller's */
}

TEST(load_reads_files) {
    char path[] = "/tmp/spdl-load-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, wav, sizeof wav) == (ssize_t)sizeof wav);
    close(fd);
    spdl_loaded *l;
    CHECK_STATUS(spdl_load("{\"audio\": {\"rate\": 16000}}", NULL, 0, path, &l), SPDL_OK);
    CHECK(only_tensor(l).shape[1] == 8);
    spdl_loaded_free(l);
    unlink(path);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", NULL, 0, path, &l), SPDL_E_SAMPLE);
}

TEST(what_ffmpeg_has_is_told_without_a_sample) {
    spdl_loaded *l = NULL;
    spdl_status s = spdl_load("{\"ffmpeg\": {}}", NULL, 0, NULL, &l);
    if (s == SPDL_E_SAMPLE && strstr(spdl_last_error(), "FFmpeg")) return; /* there is none */
    CHECK_STATUS(s, SPDL_OK);
    CHECK(spdl_loaded_n_tensors(l) == 0 && spdl_loaded_info(l)[0] == '{');
    spdl_loaded_free(l);
    CHECK_STATUS(spdl_load("{\"ffmpeg\": {\"loglevel\": 3}}", NULL, 0, NULL, &l), SPDL_E_SPEC);
}

TEST(load_refuses_what_makes_no_sense) {
    spdl_loaded *l = NULL;
    CHECK_STATUS(spdl_load(NULL, wav, sizeof wav, NULL, &l), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", NULL, 0, NULL, &l), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "neither bytes nor a path is given") != NULL);
    CHECK_STATUS(spdl_packets_decode(NULL, "{\"video\": {}}", &l), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "packets is NULL") != NULL);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", wav, sizeof wav, NULL, NULL), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_load("{\"audio\": {\"rates\": 1}}", wav, sizeof wav, NULL, &l), SPDL_E_SPEC);
    CHECK(strstr(spdl_last_error(), "did you mean \"rate\"") != NULL);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", wav, 30, NULL, &l), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_load("{\"image\": {}}", wav, sizeof wav, NULL, &l), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_load("{\"audio\": {}}", wav, (size_t)-1, NULL, &l), SPDL_E_ARGUMENT);
    CHECK_SAYS("load: n_bytes is 18446744073709551615, want at most 9223372036854775807");
    CHECK_STATUS(spdl_loading_open("{\"video\": {}}", wav, (size_t)-1, NULL, &(spdl_loading *){NULL}),
                 SPDL_E_ARGUMENT);
    CHECK_SAYS("loading_open: n_bytes is 18446744073709551615");
    CHECK(l == NULL);
    spdl_loaded_free(NULL);
    CHECK(spdl_loaded_n_tensors(NULL) == 0 && *spdl_loaded_info(NULL) == 0);
}

/* A GIF of one pixel, 9 8 7. */
static const uint8_t gif[] = {'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0x80, 0, 0, 9,    8, 7, 0,  0,
                              0,   ',', 0,   0,   0,   0,   1, 0, 1, 0, 0,    2, 2, 0x44, 1, 0, ';'};

TEST(a_batch_has_a_row_for_each_picture_and_says_which) {
    spdl_sample samples[3] = {SPDL_SAMPLE_INIT, SPDL_SAMPLE_INIT, SPDL_SAMPLE_INIT};
    spdl_loaded *l = NULL;
    samples[0].bytes = samples[2].bytes = gif;
    samples[0].n_bytes = samples[2].n_bytes = sizeof gif;
    samples[1].path = "/nowhere/a.gif";
    CHECK_STATUS(
        spdl_load_batch("{\"image\": {}, \"batch\": {\"height\": 2, \"width\": 2, \"strict\": false}}",
                        samples, 3, &l),
        SPDL_OK);
    spdl_tensor t = only_tensor(l);
    CHECK(strcmp(t.name, "image") == 0 && t.shape[0] == 2 && t.shape[1] == 2 && t.shape[3] == 3 &&
          t.bytes == 24);
    CHECK(memcmp((const uint8_t *)t.data + 21, (uint8_t[]){9, 8, 7}, 3) == 0);
    CHECK(strstr(spdl_loaded_info(l), "\"rows\":[0,2]") && strstr(spdl_loaded_info(l), "sample 1 of 3"));
    spdl_loaded_free(l);
    l = NULL;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 0, &l), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", NULL, 3, &l), SPDL_E_ARGUMENT);
    CHECK_STATUS(spdl_load_batch("{\"audio\": {}}", samples, 3, &l), SPDL_E_SPEC);
    samples[1].bytes = gif;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "samples[1]: want either bytes or a path") != NULL);
    samples[1].path = NULL;
    samples[1].n_bytes = (size_t)-1;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    CHECK_SAYS("load_batch: samples[1].n_bytes is 18446744073709551615");
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, (size_t)-1, &l), SPDL_E_ARGUMENT);
    CHECK_SAYS("load_batch: n_samples is 18446744073709551615");
    samples[1].n_bytes = sizeof gif;
    samples[1].error = "not there";
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    CHECK_SAYS("samples[1]: an error is given");
    samples[1].error = NULL;
    samples[1].flags = SPDL_SAMPLE_END;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    CHECK_SAYS("samples[1]: flags 0x1, want 0");
    samples[1].flags = 0;
    samples[2].struct_size = 8;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    samples[0].struct_size = 8;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", samples, 3, &l), SPDL_E_ARGUMENT);
    CHECK(strstr(spdl_last_error(), "make it with SPDL_SAMPLE_INIT") && !l);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their shadows have no bound */
/* Bytes that this process has mapped; 0: the kernel did not say. */
static size_t mapped(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lu", &pages) != 1) pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(a_result_without_memory_is_told_with_its_bytes_and_a_smaller_one_comes) {
    static const char *const wide = "{\"image\": {}, \"batch\": {\"height\": 16384, \"width\": 16384}}";
    spdl_sample sample = SPDL_SAMPLE_INIT;
    spdl_loaded *l = NULL;
    struct rlimit was, limit;
    sample.bytes = gif;
    sample.n_bytes = sizeof gif;
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", &sample, 1, &l), SPDL_OK);
    spdl_loaded_free(l);
    l = NULL;
    CHECK(getrlimit(RLIMIT_AS, &was) == 0 && mapped());
    limit = was;
    limit.rlim_cur = mapped() + 400000000;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    spdl_status got = spdl_load_batch(wide, &sample, 1, &l);
    CHECK(setrlimit(RLIMIT_AS, &was) == 0);
    CHECK_STATUS(got, SPDL_E_NOMEM);
    CHECK_SAYS("load: no memory for 805306368 bytes");
    CHECK(!l);
    CHECK_STATUS(spdl_load_batch("{\"image\": {}}", &sample, 1, &l), SPDL_OK);
    spdl_loaded_free(l);
}
#endif

TEST(loaded_memory_survives_a_fork_and_load_refuses_there) {
    spdl_loaded *l, *more;
    CHECK_STATUS(spdl_load("{\"audio\": {}}", wav, sizeof wav, NULL, &l), SPDL_OK);
    pid_t child = fork();
    if (child == 0) {
        int ok = spdl_load("{\"audio\": {}}", wav, sizeof wav, NULL, &more) == SPDL_E_FORKED;
        ok = ok && ((const float *)only_tensor(l).data)[0] > 0;
        spdl_loaded_free(l);
        _exit(ok ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    spdl_loaded_free(l);
}

/* Three frames of 2 x 2, grey levels 20, 30 and 40, 10 a second. */
static size_t film(char *out) {
    size_t n = (size_t)sprintf(out, "YUV4MPEG2 W2 H2 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n");
    for (int level = 20; level <= 40; level += 10) {
        n += (size_t)sprintf(out + n, "FRAME\n");
        for (int i = 0; i < 4; i++) out[n++] = (char)level;
        out[n++] = (char)128, out[n++] = (char)128;
    }
    return n;
}

TEST(a_sample_beyond_its_timeout_is_told_so) {
    char bytes[256];
    size_t n = film(bytes);
    spdl_loaded *l = NULL;
    CHECK_STATUS(spdl_load("{\"video\": {\"timeout\": \"1ns\"}}", bytes, n, NULL, &l), SPDL_E_SAMPLE);
    CHECK_SAYS("too slow");
    CHECK(!l);
    CHECK_STATUS(spdl_load("{\"video\": {}}", bytes, n, NULL, &l), SPDL_OK);
    spdl_loaded_free(l);
}

TEST(a_long_video_comes_in_chunks) {
    char bytes[256];
    size_t n = film(bytes);
    spdl_loading *l;
    spdl_loaded *chunk;
    spdl_status s = spdl_loading_open("{\"video\": {\"frames\": 2}}", bytes, n, NULL, &l);
    if (s == SPDL_E_SAMPLE && strstr(spdl_last_error(), "no FFmpeg")) return;
    CHECK_STATUS(s, SPDL_OK);
    for (int64_t want = 2; want >= 1; want--) {
        spdl_tensor t = SPDL_TENSOR_INIT;
        CHECK_STATUS(spdl_loading_next(l, &chunk), SPDL_OK);
        CHECK_STATUS(spdl_loaded_tensor(chunk, 0, &t), SPDL_OK);
        CHECK(t.ndim == 4 && t.shape[0] == want && t.shape[1] == 2 && t.bytes == (uint64_t)want * 12);
        spdl_loaded_free(chunk);
    }
    CHECK_STATUS(spdl_loading_next(l, &chunk), SPDL_END_DATA);
    spdl_loading_close(l);
    spdl_loading_close(NULL);
    CHECK_STATUS(spdl_loading_open("{\"video\": {}}", bytes, n, NULL, &l), SPDL_E_SPEC);
    CHECK_STATUS(spdl_loading_open("{\"audio\": {}}", bytes, n, NULL, &l), SPDL_E_SPEC);
    CHECK_STATUS(spdl_loading_open("{\"video\": {\"frames\": 2}}", "no", 2, NULL, &l), SPDL_E_SAMPLE);
    CHECK_STATUS(spdl_loading_next(NULL, &chunk), SPDL_E_ARGUMENT);
}
