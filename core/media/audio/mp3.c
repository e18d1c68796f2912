/* mp3.c - see mp3.h: tables, where frames are, and what their headers say. What is in them is mp3_isa.h's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "mp3_tables.h"

/* --- tables --- */

audio_mp3_tables audio_mp3_table;

#define PI 3.14159265358979323846

static const struct {
    const uint16_t *codes;
    int n;
} code_lists[] = {
#define LIST(i) \
    { codes_##i, sizeof codes_##i / sizeof codes_##i[0] }
    LIST(1),  LIST(2),  LIST(3),  LIST(5),  LIST(6),  LIST(7),  LIST(8),  LIST(9),
    LIST(10), LIST(11), LIST(12), LIST(13), LIST(15), LIST(16), LIST(24),
};

enum { LOOK = AUDIO_MP3_LOOK, LONGEST = 19 /* bits of a code */ };

/* The entries that begin with a code of LOOK bits or fewer: with its signs, where these are seen, too, and nothing is added to a value. */
static void make_short(audio_mp3_code *code, int bits, int x, int y, int linear) {
    int signs = (x > 0) + (y > 0), spare = LOOK - bits;
    int whole = signs <= spare && !(linear && (x == 15 || y == 15));
    for (int j = 0; j < 1 << spare; j++) {
        if (!whole) {
            code[j] = audio_mp3_code_of((unsigned)bits, 1, (unsigned)x, (unsigned)y);
            continue;
        }
        int minus = j >> (spare - signs); /* that of y is the last bit, if it has one */
        int signed_y = y > 0 && minus & 1 ? -y : y, signed_x = x > 0 && minus >> (y > 0) & 1 ? -x : x;
        code[j] = audio_mp3_code_of((unsigned)(bits + signs), 0, (unsigned)(15 + signed_x),
                                    (unsigned)(15 + signed_y));
    }
}

/* How many bits the longest of those codes has that begin as the i-th does, which is `own` of LONGEST bits. */
static int longest_like(const uint16_t *list, int n, int i, uint32_t own) {
    int most = 0;
    for (uint32_t first = own >> (LONGEST - LOOK); i < n && own >> (LONGEST - LOOK) == first; i++) {
        if (list[i] >> 8 > most) most = list[i] >> 8;
        own += 1U << (LONGEST - (list[i] >> 8));
    }
    return most;
}

/* The codes of one table from code[0] on: first what LOOK bits tell, then the ends of longer ones. Returns how many entries there are. */
static int make_codes(audio_mp3_code *code, const uint16_t *list, int n, int linear) {
    int used = 1 << LOOK;
    uint32_t own = 0; /* the code, with zeros behind it up to LONGEST bits */
    for (int i = 0; i < n; own += 1U << (LONGEST - (list[i] >> 8)), i++) {
        int bits = list[i] >> 8, x = list[i] >> 4 & 15, y = list[i] & 15;
        audio_mp3_code *head = &code[own >> (LONGEST - LOOK)];
        if (bits <= LOOK) {
            make_short(head, bits, x, y, linear);
            continue;
        }
        if (*head == 0) {
            int ends = longest_like(list, n, i, own) - LOOK;
            *head = audio_mp3_code_of(LOOK, (unsigned)ends + 1, (unsigned)used & 255, (unsigned)used >> 8);
            used += 1 << ends;
        }
        int ends = (int)audio_mp3_code_more(*head) - 1;
        uint32_t end = own & ((1U << (LONGEST - LOOK)) - 1);
        audio_mp3_code *to = code + (*head >> 16) + (end >> (LONGEST - LOOK - ends));
        for (int j = 0; j < 1 << (ends + LOOK - bits); j++)
            to[j] = audio_mp3_code_of((unsigned)(bits - LOOK), 1, (unsigned)x, (unsigned)y);
    }
    return used;
}

static void make_pairs(void) {
    static const int8_t list_of[32] = {-1, 0,  1,  2,  -1, 3,  4,  5,  6,  7,  8,  9,  10, 11, -1, 12,
                                       13, 13, 13, 13, 13, 13, 13, 13, 14, 14, 14, 14, 14, 14, 14, 14};
    static const uint8_t linear[16] = {1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13};
    int first[15], used = 0;
    for (int i = 0; i < 15; i++) {
        first[i] = used;
        used += make_codes(audio_mp3_table.code + used, code_lists[i].codes, code_lists[i].n, i >= 13);
    }
    for (int i = 0; i < 32; i++) {
        audio_mp3_table.first[i] = list_of[i] < 0 ? -1 : first[list_of[i]];
        audio_mp3_table.linear[i] = i < 16 ? 0 : linear[i - 16];
    }
}

/* Four values of one bit and their signs. */
static void make_quads(void) {
    static const uint16_t *const lists[2] = {quads_a, quads_b};
    for (int q = 0; q < 2; q++)
        for (int i = 0, at = 0; i < 16; i++) {
            int bits = lists[q][i] >> 8, spare = AUDIO_MP3_LOOK - bits;
            for (int j = 0; j < 1 << spare; j++, at++) {
                unsigned n = (unsigned)bits, packed = 0;
                for (int k = 0; k < 4; k++) {
                    unsigned one = lists[q][i] >> (3 - k) & 1, minus = 0;
                    if (one) minus = j >> (AUDIO_MP3_LOOK - 1 - (int)n++) & 1;
                    packed = packed << 2 | one << minus;
                }
                audio_mp3_table.quads[q][at] = (uint16_t)(n << 8 | packed);
            }
        }
}

/* Table B.8 and those of MPEG-2 and 2.5: how wide bands are, in lines. */
static const uint8_t long_width[AUDIO_MP3_RATES][22] = {
    {4, 4, 4, 4, 4, 4, 6, 6, 8, 8, 10, 12, 16, 20, 24, 28, 34, 42, 50, 54, 76, 158},
    {4, 4, 4, 4, 4, 4, 6, 6, 6, 8, 10, 12, 16, 18, 22, 28, 34, 40, 46, 54, 54, 192},
    {4, 4, 4, 4, 4, 4, 6, 6, 8, 10, 12, 16, 20, 24, 30, 38, 46, 56, 68, 84, 102, 26},
    {6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 38, 46, 52, 60, 68, 58, 54},
    {6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 18, 22, 26, 32, 38, 46, 54, 62, 70, 76, 36},
    {6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 38, 46, 52, 60, 68, 58, 54},
    {6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 38, 46, 52, 60, 68, 58, 54},
    {6, 6, 6, 6, 6, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 38, 46, 52, 60, 68, 58, 54},
    {12, 12, 12, 12, 12, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 76, 90, 2, 2, 2, 2, 2},
};
static const uint8_t short_width[AUDIO_MP3_RATES][13] = {
    {4, 4, 4, 4, 6, 8, 10, 12, 14, 18, 22, 30, 56},  {4, 4, 4, 4, 6, 6, 10, 12, 14, 16, 20, 26, 66},
    {4, 4, 4, 4, 6, 8, 12, 16, 20, 26, 34, 42, 12},  {4, 4, 4, 6, 6, 8, 10, 14, 18, 26, 32, 42, 18},
    {4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 32, 44, 12}, {4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 30, 40, 18},
    {4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 30, 40, 18}, {4, 4, 4, 6, 8, 10, 12, 14, 18, 24, 30, 40, 18},
    {8, 8, 8, 12, 16, 20, 24, 28, 36, 2, 2, 2, 26},
};

/* A line is coded as number `line` and belongs to number `in` of the spectrum. */
static void place_line(audio_mp3_pair *pair, int line, int in, int band) {
    pair[line / 2].place[line & 1] = (uint16_t)(in % AUDIO_MP3_SLOTS * AUDIO_MP3_ROW + in / AUDIO_MP3_SLOTS);
    pair[line / 2].band = (uint32_t)band;
}

/* Short blocks are coded one after the other in each band; in the rows they lie one between the other. */
static void make_bands(void) {
    for (int rate = 0; rate < AUDIO_MP3_RATES; rate++) {
        int line = 0, scale = 0;
        for (int band = 0; band < AUDIO_MP3_LONG; band++) {
            for (int i = 0; i < long_width[rate][band]; i++, line++)
                place_line(audio_mp3_table.pair[rate][0], line, line, band);
            audio_mp3_table.band_end[rate][0][band] = (uint16_t)line;
        }
        line = 0;
        for (int band = 0; band < AUDIO_MP3_SHORT / 3; band++)
            for (int w = 0, from = line; w < 3; w++) {
                for (int i = 0; i < short_width[rate][band]; i++, line++)
                    place_line(audio_mp3_table.pair[rate][1], line, from + 3 * i + w, scale);
                audio_mp3_table.band_end[rate][1][scale++] = (uint16_t)line;
            }
    }
}

static void make_transforms(void) {
    static const double leak[8] = {-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037};
    for (int i = 0; i < 8; i++) {
        double root = sqrt(1 + leak[i] * leak[i]);
        audio_mp3_table.alias[i][0] = (float)(1 / root);
        audio_mp3_table.alias[i][1] = (float)(leak[i] / root);
    }
    for (int i = 0; i < 36; i++) {
        int from = i < 9    ? i + 9
                   : i < 27 ? 26 - i
                            : i - 27; /* of the transform, which has the other sign from 9 on */
        double last = (i < 9 ? 1 : -1) / (2 * cos(PI * (2 * from + 1) / 72));
        double sine = sin(PI * (i + 0.5) / 36);
        double start = i < 18 ? sine : i < 24 ? 1 : i < 30 ? sin(PI * (i - 18 + 0.5) / 12) : 0;
        double stop = i < 6 ? 0 : i < 12 ? sin(PI * (i - 6 + 0.5) / 12) : i < 18 ? 1 : sine;
        audio_mp3_table.window[0][i] = (float)(sine * last);
        audio_mp3_table.window[1][i] = (float)(start * last);
        audio_mp3_table.window[3][i] = (float)(stop * last);
    }
    for (int i = 0; i < 12; i++)
        audio_mp3_table.short_window[i] = (float)((i < 3 ? 1 : -1) * sin(PI * (i + 0.5) / 12));
    for (int n = 0; n < 6; n++)
        for (int k = 0; k < 6; k++)
            audio_mp3_table.short_cosine[n][k] = (float)cos(PI * (2 * n + 1) * (2 * k + 1) / 24);
    for (int n = 0; n < 9; n++) audio_mp3_table.long_half[n] = (float)(1 / (2 * cos(PI * (2 * n + 1) / 36)));
    for (int n = 0; n < 5; n++)
        for (int j = 0; j < 4; j++) {
            audio_mp3_table.long_even[n][j] = (float)cos(PI * (2 * j + 2) * (2 * n + 1) / 18);
            if (n < 4) audio_mp3_table.long_odd[n][j] = (float)cos(PI * (2 * j + 1) * (2 * n + 1) / 18);
        }
}

static void make_bank(void) {
    for (int k = 0; k < 16; k++)
        for (int p = 0; p < 16; p++) {
            audio_mp3_table.bank_odd[k][p] = (float)cos(PI * (2 * k + 1) * (2 * p + 1) / 64);
            if (k < 8 && p < 8) audio_mp3_table.bank_fourth[k][p] = (float)cos(PI * (2 * k + 1) * p / 16);
            if (k < 8 && p < 8)
                audio_mp3_table.bank_half[k][p] = (float)cos(PI * (2 * k + 1) * (2 * p + 1) / 32);
        }
    for (int r = 0; r < 16; r++)
        for (int j = 0; j < 32; j++) {
            int i = 32 * r + j, w = i <= 256 ? half_window[i]
                                    : i % 64 ? -half_window[512 - i]
                                             : half_window[512 - i];
            audio_mp3_table.bank_window[r][j / 2 + (j & 1) * 16] = (float)(w / 65536.0);
        }
}

static void make_intensity(void) {
    for (int i = 0; i < 7; i++) {
        double ratio = tan(i * PI / 12), left = i == 6 ? 1 : ratio / (1 + ratio);
        audio_mp3_table.intensity[0][0][i] = (float)left;
        audio_mp3_table.intensity[0][1][6 - i] = (float)left;
    }
    for (int form = 1; form < 3; form++)
        for (int i = 0; i < 16; i++) {
            double less = exp2(-form * ((i + 1) / 2) / 4.0);
            audio_mp3_table.intensity[form][0][i] = i & 1 ? (float)less : 1;
            audio_mp3_table.intensity[form][1][i] = i & 1 ? 1 : (float)less;
        }
}

void audio_mp3_prepare(void) {
    make_pairs();
    make_quads();
    make_bands();
    make_transforms();
    make_bank();
    make_intensity();
    for (int i = 0; i <= AUDIO_MP3_LARGEST; i++) audio_mp3_table.power[i] = (float)(i * cbrt(i));
    for (int i = 0; i < 31; i++)
        audio_mp3_table.small[i] = i < 15 ? -audio_mp3_table.power[15 - i] : audio_mp3_table.power[i - 15];
    for (int i = 0; i < AUDIO_MP3_STEPS; i++)
        audio_mp3_table.step[i] = (float)exp2((i - AUDIO_MP3_STEPS_BELOW) / 4.0);
}

/* --- one file --- */

enum {
    HEAD_BYTES = 4,
    FRAME_MOST = 1441, /* bytes: 320 kbit/s at 32 kHz, and 160 at 8 kHz, padded */
    SIDE_MOST = 32,
    FIRST_MOST = 256,         /* of the first frame, which may hold counts in place of sound */
    AHEAD = 512 << 10,        /* bytes read of a file at once */
    SCAN = 4096,              /* bytes looked through at once */
    DELAY = 528 + 1,          /* samples by which decoding is late */
    FEW = 20,                 /* of so many frames, a header without delays may count itself, too */
    HISTORY = 8 * FRAME_MOST, /* bytes of earlier frames that are kept while frames are decoded */
};

/* What a frame's header says. */
typedef struct head {
    int32_t version; /* 0: MPEG-1, 1: 2, 2: 2.5 */
    int32_t rate_index, rate, channels, bytes;
    int32_t checked; /* two bytes of checksum follow */
    int32_t mode;    /* of two channels: bit 5 middle and side, bit 4 intensity, where they are joined */
} head;

struct audio_mp3 {
    audio_bytes bytes;
    const audio_kernels *k;
    head kind; /* of the first frame: all are alike */

    int64_t sound;   /* the byte of the first frame that is no count */
    int64_t skip;    /* samples before the sound */
    int64_t counted; /* frames, by a header; 0: not known */
    int64_t padding; /* samples after the sound in them */
    int delays;      /* a header has those, and so counts exactly */

    /* Frames that are known: where each begins. */
    int64_t *frame_at;
    size_t frames, frames_cap;
    int64_t walked; /* the byte where the next one would be */
    int ended;      /* there is none */

    /* Frames in work. */
    audio_mp3_state state;
    uint8_t bits[AUDIO_MP3_BACK + HISTORY + FRAME_MOST + AUDIO_MP3_ROOM];
    size_t n_bits; /* bytes */
    size_t used;   /* of them, by the frame before */
    float samples[2][2 * AUDIO_MP3_LINES];
    int64_t next; /* the frame behind the last one decoded; -1: none was */
    int wanted;
};

audio_mp3 *audio_mp3_new(void) {
    audio_mp3 *m = aligned_alloc(_Alignof(audio_mp3), sizeof *m);
    if (m) memset(m, 0, sizeof *m);
    return m;
}

void audio_mp3_free(audio_mp3 *m) {
    if (!m) return;
    audio_bytes_free(&m->bytes);
    free(m->frame_at);
    free(m);
}

const char *audio_mp3_detail(const audio_mp3 *m) { return m->bytes.detail; }

#define fail(m, ...) audio_bytes_fail(&(m)->bytes, __VA_ARGS__)

static int view(audio_mp3 *m, int64_t at, size_t want, const uint8_t **p, size_t *n) {
    return audio_bytes_view(&m->bytes, at, want, AHEAD, p, n);
}

static int ends_in(audio_mp3 *m, int64_t frame) {
    return fail(m, AUDIO_TRUNCATED, "the file ends in the frame at byte %lld", (long long)frame);
}

/* Whether a frame of layer III begins with these four bytes, and what it says. */
static int read_head(const uint8_t *p, head *h) {
    static const uint16_t kbit[2][16] = {
        {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
        {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},
    };
    static const uint16_t hertz[3] = {44100, 48000, 32000};
    int version = p[1] >> 3 & 3, rate = p[2] >> 2 & 3, bits = p[2] >> 4;
    if (p[0] != 0xff || (p[1] & 0xe6) != 0xe2 || version == 1 || rate == 3) return 0;
    h->version = version == 3 ? 0 : version == 2 ? 1 : 2;
    h->rate = hertz[rate] >> h->version;
    h->rate_index = 3 * h->version + rate;
    h->bytes = (h->version ? 72 : 144) * 1000 * kbit[h->version > 0][bits] / h->rate + (p[2] >> 1 & 1);
    h->channels = p[3] >> 6 == 3 ? 1 : 2;
    h->mode = p[3] >> 6 == 1 ? p[3] & 0x30 : 0;
    h->checked = !(p[1] & 1);
    return kbit[h->version > 0][bits] != 0;
}

static int side_bytes(const head *h) {
    if (h->version) return h->channels == 1 ? 9 : 17;
    return h->channels == 1 ? 17 : 32;
}

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t frame_samples(const audio_mp3 *m) {
    return m->kind.version ? AUDIO_MP3_LINES : 2 * AUDIO_MP3_LINES;
}

/* The counts that encoders put into a first frame (Xing's, with LAME's delays, or VBRI's): such a frame is no sound. p has FIRST_MOST bytes. */
static void read_counts(audio_mp3 *m, int64_t first, const uint8_t *p) {
    const uint8_t *q = p + HEAD_BYTES + side_bytes(&m->kind);
    uint32_t frames = 0, bytes = 0;
    if (memcmp(q, "Xing", 4) == 0 || memcmp(q, "Info", 4) == 0) {
        uint32_t has = big32(q + 4);
        q += 8;
        if (has & 1) frames = big32(q), q += 4;
        if (has & 2) bytes = big32(q), q += 4;
        if (has & 4) q += 100;
        if (has & 8) q += 4;
        if (memcmp(q, "LAME", 4) == 0 || memcmp(q, "Lavf", 4) == 0 || memcmp(q, "Lavc", 4) == 0) {
            m->skip = (q[21] << 4 | q[22] >> 4) + DELAY;
            m->padding = (q[22] & 15) << 8 | q[23];
            m->delays = 1;
        }
    }
    q = p + HEAD_BYTES + 32;
    if (memcmp(q, "VBRI", 4) == 0 && q[4] == 0 && q[5] == 1) bytes = big32(q + 10), frames = big32(q + 14);
    if (frames || bytes) m->sound = first + m->kind.bytes;
    m->counted = frames;
}

int audio_mp3_open(audio_mp3 *m, const audio_kernels *k, const audio_source *source, int64_t first,
                   int64_t budget_ns, int32_t *rate, int32_t *channels) {
    uint8_t p[FIRST_MOST] = {0};
    const uint8_t *there;
    size_t n;
    head second;
    audio_mp3_close(m);
    audio_bytes_begin(&m->bytes, source, budget_ns);
    m->k = k;
    m->skip = m->padding = m->counted = m->delays = 0;
    int rc = view(m, first, FRAME_MOST + HEAD_BYTES, &there, &n);
    if (rc != AUDIO_OK) return rc;
    if (n < HEAD_BYTES || !read_head(there, &m->kind))
        return fail(m, AUDIO_MP3_ODD, "no frame at byte %lld", (long long)first);
    size_t size = (size_t)m->kind.bytes;
    if (n >= size + HEAD_BYTES &&
        (!read_head(there + size, &second) || second.rate_index != m->kind.rate_index ||
         second.channels != m->kind.channels))
        return fail(m, AUDIO_MP3_ODD, "no second frame at byte %lld", (long long)(first + m->kind.bytes));
    memcpy(p, there, n < sizeof p ? n : sizeof p);
    m->sound = first;
    read_counts(m, first, p);
    if (m->sound > source->size) return ends_in(m, first);
    m->frames = 0;
    m->walked = m->sound;
    m->ended = 0;
    m->next = -1;
    *rate = m->kind.rate;
    *channels = m->kind.channels;
    return AUDIO_OK;
}

void audio_mp3_close(audio_mp3 *m) {
    audio_bytes_end(&m->bytes, AHEAD);
    if (m->frames_cap > 1 << 16) {
        free(m->frame_at);
        m->frame_at = NULL;
        m->frames_cap = 0;
    }
}

/* --- frames --- */

/* Whether the bytes are tags, which may be the last of a file: ID3v1's 128, and APEv2's before it. */
static int is_tag(const uint8_t *p, size_t n) {
    return (n == 128 && memcmp(p, "TAG", 3) == 0) || (n >= 32 && memcmp(p, "APETAGEX", 8) == 0);
}

static int add_frame(audio_mp3 *m) {
    if (m->frames == m->frames_cap) {
        size_t cap = m->frames_cap ? 2 * m->frames_cap : 1024;
        int64_t *grown = realloc(m->frame_at, cap * sizeof *grown);
        if (!grown) return fail(m, AUDIO_NO_MEMORY, "the places of %zu frames", cap);
        m->frame_at = grown;
        m->frames_cap = cap;
    }
    m->frame_at[m->frames++] = m->walked;
    return AUDIO_OK;
}

/* What the encoder put after the sound, as far as it comes out of the decoder. */
static int64_t behind_sound(const audio_mp3 *m) { return m->padding > DELAY ? m->padding - DELAY : 0; }

/* The least samples that a header's count stands for, those before the sound among them. LAME's and FFmpeg's delays say where the sound ends;
 * without them a header may be one of those that count their own frame. */
static int64_t counted_samples(const audio_mp3 *m) {
    int64_t itself = !m->delays && m->counted >= FEW;
    return (m->counted - itself) * frame_samples(m) - behind_sound(m);
}

static int all_counted(const audio_mp3 *m) {
    return (int64_t)m->frames * frame_samples(m) >= counted_samples(m);
}

/* Whether three frames of one kind follow one another at a byte. */
static int begins_another(audio_mp3 *m, int64_t at, const uint8_t *p) {
    head first, h;
    if (!read_head(p, &first)) return 0;
    h = first;
    for (int i = 1; i < 3; i++) {
        size_t n;
        at += h.bytes;
        if (view(m, at, HEAD_BYTES, &p, &n) != AUDIO_OK || n < HEAD_BYTES || !read_head(p, &h)) return 0;
        if (h.rate_index != first.rate_index || h.channels != first.channels) return 0;
    }
    return 1;
}

/* Nothing behind the last counted frame is sound: tags, zeros, text. Another MP3 there is no such thing. */
static int nothing_behind(audio_mp3 *m) {
    int64_t at = m->walked;
    for (;;) {
        const uint8_t *p;
        size_t n, i = 0;
        int rc = view(m, at, SCAN, &p, &n);
        if (rc == AUDIO_OK) rc = audio_bytes_in_time(&m->bytes);
        if (rc != AUDIO_OK) return rc;
        if (n < HEAD_BYTES) return AUDIO_OK;
        while (i + HEAD_BYTES <= n && (p[i] != 0xff || (p[i + 1] & 0xe6) != 0xe2)) i++;
        at += (int64_t)i;
        if (i + HEAD_BYTES > n) continue;
        uint8_t four[HEAD_BYTES];
        memcpy(four, p + i, sizeof four);
        if (begins_another(m, at, four))
            return fail(
                m, AUDIO_UNSUPPORTED,
                "another MP3 begins at byte %lld, behind the %lld frames that the first one's header counts; split the file",
                (long long)at, (long long)m->counted);
        at++;
    }
}

/* What is to be said of bytes that are no frame. */
static int no_frame(audio_mp3 *m, const uint8_t *p, size_t n) {
    if (n != 0 && !is_tag(p, n)) {
        if (!m->counted || !all_counted(m))
            return fail(m, AUDIO_MP3_ODD, "no frame at byte %lld", (long long)m->walked);
        int rc = nothing_behind(m);
        if (rc != AUDIO_OK) return rc;
    }
    m->ended = 1;
    return AUDIO_OK;
}

/* Step over the next frame. */
static int walk(audio_mp3 *m) {
    const uint8_t *p;
    size_t n;
    head h;
    int rc = view(m, m->walked, HEAD_BYTES + 1, &p, &n);
    if (rc != AUDIO_OK) return rc;
    if (n < HEAD_BYTES || !read_head(p, &h) || h.rate_index != m->kind.rate_index ||
        h.channels != m->kind.channels)
        return no_frame(m, p, n);
    if (h.bytes > m->bytes.from.size - m->walked) {
        if (!m->delays || !m->counted || !all_counted(m)) return ends_in(m, m->walked);
        m->ended = 1; /* it is behind the sound */
        return AUDIO_OK;
    }
    if ((rc = add_frame(m)) != AUDIO_OK) return rc;
    m->walked += h.bytes;
    return m->frames % 4096 ? AUDIO_OK : audio_bytes_in_time(&m->bytes);
}

int64_t audio_mp3_counted(const audio_mp3 *m) {
    int64_t sound = m->counted * frame_samples(m) - behind_sound(m) - m->skip;
    return m->counted && sound > 0 ? sound : -1;
}

int64_t audio_mp3_least(const audio_mp3 *m) {
    int64_t least = counted_samples(m) - m->skip;
    return !m->counted ? -1 : least > 0 ? least : 0;
}

int audio_mp3_count(audio_mp3 *m, int64_t end, int64_t *total) {
    int64_t each = frame_samples(m);
    while (!m->ended && (end < 0 || (int64_t)m->frames * each - m->skip - m->padding - each < end)) {
        int rc = walk(m);
        if (rc != AUDIO_OK) return rc;
    }
    int64_t all = (int64_t)m->frames * each;
    *total = all - m->skip;
    if (!m->ended) return AUDIO_OK;
    if (m->counted && !all_counted(m))
        return fail(m, AUDIO_TRUNCATED, "%zu frames, its header counts %lld", m->frames,
                    (long long)m->counted);
    if (!m->counted || behind_sound(m) == 0) return AUDIO_OK;
    if ((int64_t)m->frames > m->counted)
        return fail(m, AUDIO_MP3_ODD, "%zu frames, its header counts %lld", m->frames, (long long)m->counted);
    int64_t sound = m->counted * each - behind_sound(m);
    if (sound < all) *total = sound - m->skip;
    return AUDIO_OK;
}

/* --- side information --- */

typedef struct side_bits {
    const uint8_t *p;
    int at;
} side_bits;

/* The next k bits, at most 25; four bytes are read. */
static int32_t take(side_bits *b, int k) {
    uint32_t x = big32(b->p + (b->at >> 3)) << (b->at & 7);
    b->at += k;
    return (int32_t)(x >> (32 - k));
}

static int read_granule(side_bits *b, const head *h, int32_t reuse, audio_mp3_granule *g) {
    const uint16_t *ends = audio_mp3_table.band_end[h->rate_index][0];
    memset(g, 0, sizeof *g);
    g->reuse = reuse;
    g->bits = take(b, 12);
    g->pairs_end = 2 * take(b, 9);
    g->gain = take(b, 8);
    g->compress = take(b, h->version ? 9 : 4);
    if (take(b, 1)) {
        g->type = take(b, 2);
        int mixed = take(b, 1); /* long blocks below, short ones above: nobody writes that */
        if (g->type == 0 || mixed) return 0;
        for (int i = 0; i < 2; i++) g->table[i] = take(b, 5);
        for (int i = 0; i < 3; i++) g->down[i] = take(b, 3);
        g->region[0] = g->type == 2 ? audio_mp3_table.band_end[h->rate_index][1][8] : ends[7];
        g->region[1] = AUDIO_MP3_LINES;
    } else {
        for (int i = 0; i < 3; i++) g->table[i] = take(b, 5);
        int first = take(b, 4), second = take(b, 3) + first + 1;
        g->region[0] = ends[first];
        g->region[1] = ends[second > 21 ? 21 : second];
    }
    if (!h->version) g->emphasis = take(b, 1);
    g->coarse = take(b, 1);
    g->quads = take(b, 1);
    return g->pairs_end <= AUDIO_MP3_LINES;
}

/* What the frame's side information, from p on, says; back is how many bytes before the frame's own its bits begin. */
static int read_side(const uint8_t *p, const head *h, audio_mp3_frame *f, int *back) {
    uint8_t side[SIDE_MOST + 4] = {0}; /* with room to read beyond its end */
    side_bits b = {side, 0};
    memcpy(side, p, (size_t)side_bytes(h));
    int32_t reuse[2] = {0, 0};
    f->rate = h->rate_index;
    f->lsf = h->version > 0;
    f->channels = h->channels;
    f->granules = h->version ? 1 : 2;
    f->middle = h->mode >> 5 & 1;
    f->intensity = h->mode >> 4 & 1;
    *back = take(&b, h->version ? 8 : 9);
    take(&b, h->version ? h->channels : h->channels == 1 ? 5 : 3);
    for (int c = 0; c < h->channels && !h->version; c++) reuse[c] = take(&b, 4);
    for (int gr = 0; gr < f->granules; gr++)
        for (int c = 0; c < h->channels; c++)
            if (!read_granule(&b, h, gr ? reuse[c] : 0, &f->granule[gr][c])) return 0;
    return 1;
}

/* --- decoding --- */

static int odd(audio_mp3 *m, int64_t at) {
    return fail(m, AUDIO_MP3_ODD, "the frame at byte %lld", (long long)at);
}

/* A frame's header and side information at p, and its own bytes behind those that are kept. */
static int take_frame(audio_mp3 *m, int64_t frame, audio_mp3_frame *f, int *back) {
    const uint8_t *p;
    size_t n;
    head h;
    int64_t at = m->frame_at[frame];
    int rc = view(m, at, FRAME_MOST, &p, &n);
    if (rc != AUDIO_OK) return rc;
    if (n < HEAD_BYTES || !read_head(p, &h) || (size_t)h.bytes > n) return odd(m, at); /* it changed */
    int before = HEAD_BYTES + 2 * h.checked + side_bytes(&h);
    if (h.bytes < before || !read_side(p + HEAD_BYTES + 2 * h.checked, &h, f, back)) return odd(m, at);
    size_t own = (size_t)(h.bytes - before);
    if (m->n_bits + own > sizeof m->bits - AUDIO_MP3_ROOM) { /* the oldest go, which nothing can refer to */
        size_t gone = m->n_bits - AUDIO_MP3_BACK;
        memmove(m->bits, m->bits + gone, AUDIO_MP3_BACK);
        m->n_bits -= gone;
        m->used = m->used > gone ? m->used - gone : 0;
    }
    memcpy(m->bits + m->n_bits, p + before, own);
    m->n_bits += own;
    memset(m->bits + m->n_bits, 0, 8);
    f->bits = m->bits;
    f->end = (uint32_t)(8 * m->n_bits);
    f->at = 0;
    *back += (int)own; /* from the end of what is kept */
    return AUDIO_OK;
}

/* Where the bits of a frame begin that lie `back` bytes before the end of those kept. Of a stream that was cut out of another one, the first
 * granules' bits may be missing: these are silent. */
static int place_bits(audio_mp3 *m, audio_mp3_frame *f, int back, int64_t at) {
    int64_t begin = 8 * ((int64_t)m->n_bits - back);
    f->silent = 0;
    while (begin < 0 && f->silent < f->granules) {
        for (int c = 0; c < f->channels; c++) begin += f->granule[f->silent][c].bits;
        f->silent++;
    }
    if (begin < 0) begin = 0;
    if (begin < 8 * (int64_t)m->used && m->used > 0)
        return odd(m, at); /* bits that the frame before has used */
    f->at = (uint32_t)begin;
    return AUDIO_OK;
}

static int decode_frame(audio_mp3 *m, int64_t frame) {
    audio_mp3_frame f = {0};
    int back;
    float *const to[2] = {m->samples[0], m->samples[1]};
    int rc = take_frame(m, frame, &f, &back);
    if (rc == AUDIO_OK) rc = place_bits(m, &f, back, m->frame_at[frame]);
    if (rc == AUDIO_OK && m->k->mp3_frame(&m->state, &f, m->wanted, to) != AUDIO_OK)
        rc = odd(m, m->frame_at[frame]);
    m->used = (f.at + 7) / 8;
    m->next = frame + 1;
    return rc;
}

/* Make frame the next one: nothing is left of others, and what it needs of those before it is there. */
static int begin_at(audio_mp3 *m, int64_t frame) {
    audio_mp3_frame f = {0};
    int back, rc;
    int64_t warm = frame - (m->kind.version ? 2 : 1), from; /* two granules */
    memset(&m->state, 0, sizeof m->state);
    m->n_bits = m->used = 0;
    if (warm < 0) warm = 0;
    for (from = warm; from > 0; from--) { /* bytes that may be referred to */
        int64_t bytes = m->frame_at[warm] - m->frame_at[from];
        if (bytes >= AUDIO_MP3_BACK + 40 * (warm - from)) break;
    }
    for (; from < warm; from++)
        if ((rc = take_frame(m, from, &f, &back)) != AUDIO_OK) return rc;
    for (; warm < frame; warm++)
        if ((rc = decode_frame(m, warm)) != AUDIO_OK) return rc;
    m->next = frame;
    return AUDIO_OK;
}

int audio_mp3_decode(audio_mp3 *m, int wanted, int64_t first, int64_t n, float *const dst[2]) {
    int64_t each = frame_samples(m), at = first + m->skip, end = at + n;
    int rc = AUDIO_OK;
    while (at < end && rc == AUDIO_OK) {
        int64_t frame = at / each, skip = at % each, count = each - skip < end - at ? each - skip : end - at;
        if (m->next != frame || m->wanted != wanted) {
            m->wanted = wanted;
            rc = begin_at(m, frame);
        }
        if (rc == AUDIO_OK) rc = decode_frame(m, frame);
        if (rc == AUDIO_OK && frame % 64 == 63) rc = audio_bytes_in_time(&m->bytes);
        for (int i = 0; i < 2 && rc == AUDIO_OK; i++)
            if (dst[i])
                memcpy(dst[i] + (at - first - m->skip), m->samples[i] + skip, (size_t)count * sizeof(float));
        at += count;
    }
    return rc;
}
