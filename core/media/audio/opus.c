/* opus.c - see opus.h: tables, and the frames of a file. What is in them is opus_isa.h's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* --- tables --- */

audio_opus_tables audio_opus_table;

#define PI 3.14159265358979323846

/* What a band's shape costs, where it was halved 4 times, 3 times, ..., is the list of this number; none is needed where no line is left. */
static const uint8_t list_of[5][AUDIO_OPUS_BANDS] = {
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6},
    {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 3, 3, 3, 4, 4, 7, 8, 9, 10},
    {1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 7, 7, 7, 8, 8, 11, 12, 13, 14},
    {3, 3, 3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 12, 12, 15, 16, 17, 18},
    {7, 7, 7, 7, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 16, 16, 19, 20, 21, 22},
};

/* Lists of eighths of bits, less one, that so many pulses take, as opus_pulses() counts them; how many there are comes first (RFC 6716, 4.3.4.1). */
static const uint8_t costs[AUDIO_OPUS_LISTS][AUDIO_OPUS_COSTS] = {
    {40, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
     7,  7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7},
    {40, 15, 23, 28, 31, 34, 36, 38, 39, 41, 42, 43, 44, 45, 46, 47, 47, 49, 50, 51, 52,
     53, 54, 55, 55, 57, 58, 59, 60, 61, 62, 63, 63, 65, 66, 67, 68, 69, 70, 71, 71},
    {40, 20, 33, 41, 48, 53,  57,  61,  64,  66,  69,  71,  73,  75,  76,  78,  80,  82,  85,  87, 89,
     91, 92, 94, 96, 98, 101, 103, 105, 107, 108, 110, 112, 114, 117, 119, 121, 123, 124, 126, 128},
    {40,  23,  39,  51,  60,  67,  73,  79,  83,  87,  91,  94,  97,  100, 102, 105, 107, 111, 115, 118, 121,
     124, 126, 129, 131, 135, 139, 142, 145, 148, 150, 153, 155, 159, 163, 166, 169, 172, 174, 177, 179},
    {35,  28,  49,  65,  78,  89,  99,  107, 114, 120, 126, 132, 136, 141, 145, 149, 153, 159,
     165, 171, 176, 180, 185, 189, 192, 199, 205, 211, 216, 220, 225, 229, 232, 239, 245, 251},
    {21, 33, 58, 79, 97, 112, 125, 137, 148, 157, 166, 174, 182, 189, 195, 201, 207, 217, 227, 235, 243, 251},
    {17, 35, 63, 86, 106, 123, 139, 152, 165, 177, 187, 197, 206, 214, 222, 230, 237, 250},
    {25,  31,  55,  75,  91,  105, 117, 128, 138, 146, 154, 161, 168,
     174, 180, 185, 190, 200, 208, 215, 222, 229, 235, 240, 245, 255},
    {16, 36, 65, 89, 110, 128, 144, 159, 173, 185, 196, 207, 217, 226, 234, 242, 250},
    {11, 41, 74, 103, 128, 151, 172, 191, 209, 225, 241, 255},
    {9, 43, 79, 110, 138, 163, 186, 207, 227, 246},
    {12, 39, 71, 99, 123, 144, 164, 182, 198, 214, 228, 241, 253},
    {9, 44, 81, 113, 142, 168, 192, 214, 235, 255},
    {7, 49, 90, 127, 160, 191, 220, 247},
    {6, 51, 95, 134, 170, 203, 234},
    {7, 47, 87, 123, 155, 184, 212, 237},
    {6, 52, 97, 137, 174, 208, 240},
    {5, 57, 106, 151, 192, 231},
    {5, 59, 111, 158, 202, 243},
    {5, 55, 103, 147, 187, 224},
    {5, 60, 113, 161, 206, 248},
    {4, 65, 122, 175, 224},
    {4, 67, 127, 182, 234},
};

/* How many of a list's costs a share pays, to the nearest one, as opus_pulses() counts them. */
static uint8_t pulses_for(const uint8_t *cost, int share) {
    int low = 0, high = cost[0];
    for (int i = 0; i < 6; i++) {
        int middle = (low + high + 1) >> 1;
        if (cost[middle] >= share - 1)
            high = middle;
        else
            low = middle;
    }
    int less = share - 1 - (low ? cost[low] : -1), more = cost[high] - (share - 1);
    return (uint8_t)(less <= more ? low : high);
}

static void make_costs(void) {
    audio_opus_tables *t = &audio_opus_table;
    for (int i = 0; i < 5; i++)
        for (int band = 0; band < AUDIO_OPUS_BANDS; band++) t->costs[i][band] = &t->list[list_of[i][band]];
    for (int l = 0; l < AUDIO_OPUS_LISTS; l++) {
        memcpy(t->list[l].cost, costs[l], sizeof costs[l]);
        for (int share = 0; share < AUDIO_OPUS_SHARES; share++)
            t->list[l].pulses[share] = pulses_for(costs[l], share);
    }
}

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
    make_costs();
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
