/* opus.c - see opus.h: tables, and the frames of a file. What is in them is opus_isa.h's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* --- tables --- */

audio_opus_tables audio_opus_table;

#define PI 3.14159265358979323846

/* What begins with k pulses on n lines begins with fewer of them on one line less, and so on: two ways differ by one of three. */
static void make_ways(void) {
    uint32_t(*u)[AUDIO_OPUS_PULSES + 2] = audio_opus_table.ways;
    u[0][0] = 1;
    for (int n = 1; n <= AUDIO_OPUS_PULSES; n++)
        for (int k = 1; k <= AUDIO_OPUS_PULSES + 1; k++)
            u[n][k] = u[n - 1][k] + u[n][k - 1] + u[n - 1][k - 1];
}

void audio_opus_prepare(void) {
    audio_cosines_make(&audio_opus_table.cosines, AUDIO_OPUS_LINES / 16);
    for (int i = 0; i < AUDIO_OPUS_SHORT; i++) {
        double s = sin(PI * (i + 0.5) / (2 * AUDIO_OPUS_SHORT));
        audio_opus_table.rise[i] = (float)sin(PI / 2 * s * s);
    }
    make_ways();
}

/* --- one file --- */

enum { AHEAD = 512 << 10 /* bytes read of a file at once */ };

struct audio_opus {
    audio_opus_state state;
    audio_bytes bytes;
    const audio_kernels *k;
    audio_opus_frames frames;
    uint8_t joined[AUDIO_OPUS_FRAME]; /* a frame that lies in two pieces, or more */
    int64_t piece;                    /* where the last frame began */
    int64_t next;                     /* the frame behind the last one decoded */
    int wanted;
};

audio_opus *audio_opus_new(void) {
    audio_opus *o = aligned_alloc(_Alignof(audio_opus), sizeof *o);
    if (o) memset(o, 0, sizeof *o);
    return o;
}

void audio_opus_free(audio_opus *o) {
    if (!o) return;
    audio_bytes_free(&o->bytes);
    free(o);
}

const char *audio_opus_detail(const audio_opus *o) { return o->bytes.detail; }

void audio_opus_close(audio_opus *o) {
    audio_bytes_end(&o->bytes, AHEAD);
    memset(&o->frames, 0, sizeof o->frames);
}

/* Let *p be `size` bytes of the stream, from `at` on. */
static int view(audio_opus *o, int64_t at, size_t size, const uint8_t **p) {
    const audio_opus_frames *f = &o->frames;
    int64_t i = o->piece;
    while (i + 1 < f->pieces && f->piece[i + 1] <= at) i++;
    o->piece = i;
    for (size_t done = 0, n;; i++) {
        int64_t inside = at + (int64_t)done - f->piece[i];
        size_t here = size - done;
        if (i + 1 < f->pieces && f->piece[i + 1] < at + (int64_t)size)
            here = (size_t)(f->piece[i + 1] - f->piece[i] - inside);
        int rc = audio_bytes_view(&o->bytes, f->piece_at[i] + inside, here, AHEAD, p, &n);
        if (rc != AUDIO_OK || here == size) return rc;
        memcpy(o->joined + done, *p, here);
        *p = o->joined;
        done += here;
        if (done == size) return AUDIO_OK;
    }
}

static int decode_frame(audio_opus *o) {
    int64_t frame = o->next++;
    const uint8_t *p;
    size_t size = (size_t)o->frames.bytes[frame];
    int rc = view(o, o->frames.at[frame], size, &p);
    if (rc == AUDIO_OK && frame % 64 == 63) rc = audio_bytes_in_time(&o->bytes);
    if (rc != AUDIO_OK) return rc;
    rc = o->k->opus_frame(&o->state, p, size, o->frames.channels, o->frames.bands[frame], o->wanted);
    if (rc == AUDIO_OK) return rc;
    return audio_bytes_fail(&o->bytes, rc, "frame %lld of the stream", (long long)frame);
}

/* Begin with the first frame. */
static void begin(audio_opus *o, int wanted) {
    audio_opus_state *s = &o->state;
    memset(s, 0, sizeof *s);
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < AUDIO_OPUS_BANDS; i++) s->before[c][i] = s->earlier[c][i] = -28;
    o->wanted = wanted;
    o->next = 0;
    o->piece = 0;
}

int audio_opus_open(audio_opus *o, const audio_kernels *k, const audio_source *source,
                    const audio_opus_frames *frames, int64_t budget_ns) {
    audio_opus_close(o);
    audio_bytes_begin(&o->bytes, source, budget_ns);
    o->k = k;
    o->frames = *frames;
    begin(o, 0);
    return decode_frame(o);
}

int audio_opus_decode(audio_opus *o, int wanted, int64_t first, int64_t n, float *const dst[2]) {
    int64_t each = AUDIO_OPUS_LINES, at = first + o->frames.skip, end = at + n;
    int rc = AUDIO_OK;
    while (at < end && rc == AUDIO_OK) {
        int64_t frame = at / each, skip = at % each, count = each - skip < end - at ? each - skip : end - at;
        if (o->next > frame + 1 || o->wanted != wanted) begin(o, wanted);
        while (o->next <= frame && rc == AUDIO_OK) rc = decode_frame(o);
        for (int i = 0; i < 2 && rc == AUDIO_OK; i++)
            if (dst[i])
                memcpy(dst[i] + (at - first - o->frames.skip), o->state.samples[i] + skip,
                       (size_t)count * sizeof(float));
        at += count;
    }
    return rc;
}
