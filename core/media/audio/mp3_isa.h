/* mp3_isa.h - what is in a frame of MPEG layer III: codes, stereo, and the filter bank; part of kernels_isa.h.
 *
 * A granule's spectrum lies in 18 rows of 32 bands, so that eight bands are worked on at once. */
#include "mp3.h"

enum {
    MP3_ROW = AUDIO_MP3_ROW,
    MP3_SLOTS = AUDIO_MP3_SLOTS,
    MP3_BANDS = AUDIO_MP3_BANDS,
    MP3_CODES = 5,  /* short codes that a look at the bits holds */
    MP3_SIDES = 64, /* floats that the filter bank keeps of a slot */
};

#define REVERSED(v) __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0)
#define REVERSED4(v) __builtin_shufflevector(v, v, 3, 2, 1, 0)

/* --- bits --- */

/* The next bits, the first one highest; at least 57 are right. */
ISA static inline uint64_t mp3_look(const audio_mp3_frame *f, uint32_t at) {
    return flac_eight(f->bits + (at >> 3)) << (at & 7);
}

/* --- scale factors --- */

/* n of them, of k <= 5 bits each, as many as one look at the bits holds at once. A frame's bits have to hold them. */
ISA static uint8_t *mp3_scales_of(audio_mp3_frame *f, uint8_t *to, int n, uint32_t k) {
    enum { AT_ONCE = 11 };
    while (n > 0) {
        int now = n < AT_ONCE ? n : AT_ONCE;
        uint64_t bits = mp3_look(f, f->at);
        for (int i = 0; i < now; i++, bits <<= k) *to++ = k ? (uint8_t)(bits >> (64 - k)) : 0;
        f->at += k * (uint32_t)now;
        n -= now;
    }
    return to;
}

ISA static void mp3_scales(audio_mp3_frame *f, const audio_mp3_granule *g, uint8_t *scales) {
    static const uint8_t width[16][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {3, 0}, {1, 1}, {1, 2}, {1, 3},
                                         {2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {4, 2}, {4, 3}};
    static const uint8_t group[5] = {0, 6, 11, 16, 21};
    const uint8_t *w = width[g->compress];
    if (g->type == 2) {
        uint8_t *to = mp3_scales_of(f, scales, 18, w[0]);
        to = mp3_scales_of(f, to, 18, w[1]);
        memset(to, 0, (size_t)(scales + AUDIO_MP3_SCALES - to));
        return;
    }
    for (int i = 0; i < 4; i++)
        if (!(g->reuse >> (3 - i) & 1))
            mp3_scales_of(f, scales + group[i], group[i + 1] - group[i], w[i >= 2]);
    memset(scales + 21, 0, AUDIO_MP3_SCALES - 21);
}

/* Those of MPEG-2: in four parts, by a number that says how long each one's are. */
ISA static void mp3_scales_lsf(audio_mp3_frame *f, audio_mp3_granule *g, int intensity, uint8_t *scales) {
    static const uint8_t parts[6][2][4] = {
        {{6, 5, 5, 5}, {9, 9, 9, 9}},    {{6, 5, 7, 3}, {9, 9, 12, 6}}, {{11, 10, 0, 0}, {18, 18, 0, 0}},
        {{7, 7, 7, 0}, {12, 12, 12, 0}}, {{6, 6, 6, 3}, {12, 9, 9, 6}}, {{8, 8, 5, 0}, {15, 12, 9, 0}},
    };
    int c = g->compress, form;
    uint32_t k[4] = {0};
    g->emphasis = 0;
    if (intensity && (c >>= 1) < 180) {
        form = 3, k[0] = c / 36, k[1] = c % 36 / 6, k[2] = c % 6;
    } else if (intensity && c < 244) {
        form = 4, c -= 180, k[0] = c >> 4, k[1] = c >> 2 & 3, k[2] = c & 3;
    } else if (intensity) {
        form = 5, c -= 244, k[0] = c / 3, k[1] = c % 3;
    } else if (c < 400) {
        form = 0, k[0] = (c >> 4) / 5, k[1] = (c >> 4) % 5, k[2] = c >> 2 & 3, k[3] = c & 3;
    } else if (c < 500) {
        form = 1, c -= 400, k[0] = (c >> 2) / 5, k[1] = (c >> 2) % 5, k[2] = c & 3;
    } else {
        form = 2, c -= 500, k[0] = c / 3, k[1] = c % 3;
        g->emphasis = 1;
    }
    uint8_t *to = scales;
    for (int i = 0; i < 4; i++) to = mp3_scales_of(f, to, parts[form][g->type == 2][i], k[i]);
    memset(to, 0, (size_t)(scales + AUDIO_MP3_SCALES - to));
}

/* What each scale factor makes of its lines. */
ISA static void mp3_gains(const audio_mp3_frame *f, const audio_mp3_granule *g, const uint8_t *scales,
                          float *gain) {
    static const uint8_t emphasis[22] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 2, 0};
    /* The root of two that middle and side are divided by is two steps, but where intensity needs them as they are. */
    const float *step =
        audio_mp3_table.step + AUDIO_MP3_STEPS_BELOW + g->gain - 210 - (f->middle && !f->intensity ? 2 : 0);
    int shift = g->coarse ? 2 : 1;
    for (int i = 0; i < AUDIO_MP3_LONG && g->type != 2; i++)
        gain[i] = step[-((scales[i] + (g->emphasis ? emphasis[i] : 0)) << shift)];
    for (int i = 0; i < AUDIO_MP3_SHORT && g->type == 2; i++)
        gain[i] = step[-8 * g->down[i % 3] - (scales[i] << shift)];
}

/* --- lines --- */

/* Two values that a code gives without their signs. */
ISA static uint32_t mp3_with_signs(const audio_mp3_frame *f, uint32_t at, int x, int y, uint32_t linear,
                                   float *a, float *b) {
    const audio_mp3_tables *t = &audio_mp3_table;
    int value[2] = {x, y};
    float *to[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        int v = value[i];
        *to[i] = 0;
        if (v == 0) continue;
        if (v == 15 && linear) {
            v += (int)(mp3_look(f, at) >> (64 - linear));
            at += linear;
        }
        *to[i] = mp3_look(f, at) >> 63 ? -t->power[v] : t->power[v];
        at++;
    }
    return at;
}

/* Two lines whose code is not told by AUDIO_MP3_LOOK bits. */
ISA static __attribute__((noinline)) uint32_t mp3_long_code(const audio_mp3_frame *f, uint32_t at, int table,
                                                            float *x, float *y) {
    const audio_mp3_tables *t = &audio_mp3_table;
    const audio_mp3_code *code = t->code + t->first[table];
    uint64_t bits = mp3_look(f, at);
    audio_mp3_code c = code[bits >> (64 - AUDIO_MP3_LOOK)];
    at += c & 63;
    if (audio_mp3_code_more(c) > 1) {
        c = code[(c >> 16) + (bits << AUDIO_MP3_LOOK >> (65 - audio_mp3_code_more(c)))];
        at += c & 63;
    }
    return mp3_with_signs(f, at, c >> 16 & 255, c >> 24, t->linear[table], x, y);
}

/* Pairs of lines of one table. */
ISA static void mp3_pairs(audio_mp3_frame *f, int table, const audio_mp3_pair *pair,
                          const audio_mp3_pair *end, const float *gain, float *lines) {
    const audio_mp3_tables *t = &audio_mp3_table;
    const audio_mp3_code *code = t->code + t->first[table];
    uint32_t at = f->at;
    while (pair < end) {
        uint64_t bits = mp3_look(f, at);
        const audio_mp3_pair *enough = end - pair > MP3_CODES ? pair + MP3_CODES : end;
        for (; pair < enough; pair++) {
            audio_mp3_code c = code[bits >> (64 - AUDIO_MP3_LOOK)];
            float by = gain[pair->band];
            if (__builtin_expect(c & AUDIO_MP3_CODE_MORE, 0)) {
                float x, y;
                at = mp3_long_code(f, at, table, &x, &y);
                lines[pair->place[0]] = x * by;
                lines[pair->place[1]] = y * by;
                pair++;
                break;
            }
            bits <<= c & 63;
            at += c & 63;
            lines[pair->place[0]] = t->small[c >> 16 & 255] * by;
            lines[pair->place[1]] = t->small[c >> 24] * by;
        }
    }
    f->at = at;
}

/* A granule's lines in lines, which are zeros; returns where they end, -1 if there are fewer bits. */
ISA static int mp3_lines(audio_mp3_frame *f, const audio_mp3_granule *g, uint32_t end, const float *gain,
                         float *lines) {
    static const float value[4] = {0, 1, -1, 0};
    const audio_mp3_tables *t = &audio_mp3_table;
    const audio_mp3_pair *pair = t->pair[f->rate][g->type == 2];
    int i = 0;
    for (int r = 0; r < 3 && i < g->pairs_end; r++) {
        int until = r < 2 && g->region[r] < g->pairs_end ? g->region[r] : g->pairs_end;
        if (until > i && g->table[r]) {
            if (t->first[g->table[r]] < 0) return -1;
            mp3_pairs(f, g->table[r], pair + i / 2, pair + until / 2, gain, lines);
            if (f->at > end) return -1;
        }
        if (until > i) i = until;
    }
    uint32_t at = f->at;
    for (; i + 4 <= AUDIO_MP3_LINES && at < end; i += 4) {
        unsigned q = t->quads[g->quads][mp3_look(f, at) >> (64 - AUDIO_MP3_LOOK)];
        const audio_mp3_pair *a = pair + i / 2, *b = a + 1;
        at += q >> 8;
        if (at > end && i < AUDIO_MP3_LINES - 4)
            break; /* bits were counted too few: as in FFmpeg, those four are nothing, but the last */
        lines[a->place[0]] = value[q >> 6 & 3] * gain[a->band];
        lines[a->place[1]] = value[q >> 4 & 3] * gain[a->band];
        lines[b->place[0]] = value[q >> 2 & 3] * gain[b->band];
        lines[b->place[1]] = value[q & 3] * gain[b->band];
    }
    f->at = end;
    return i;
}

/* --- two channels --- */

ISA static void mp3_sum_and_difference(float *a, float *b) {
    for (int i = 0; i < MP3_SLOTS * MP3_ROW; i += L) {
        v8 x = CV(a + i), y = CV(b + i);
        V(a + i) = x + y;
        V(b + i) = x - y;
    }
}

/* Two lines where the second channel has none: its scale factor says where between the two the sound is. */
ISA static void mp3_intensity_pair(const audio_mp3_frame *f, const audio_mp3_granule *g, int where, float *a,
                                   float *b) {
    const audio_mp3_tables *t = &audio_mp3_table;
    int form = f->lsf ? 1 + (g->compress & 1) : 0;
    float x = *a, y = *b;
    if (where >= 0 && where < (f->lsf ? 16 : 7)) {
        *a = x * t->intensity[form][0][where];
        *b = x * t->intensity[form][1][where];
    } else if (f->middle) {
        *a = (x + y) * 0.70710678118654752f;
        *b = (x - y) * 0.70710678118654752f;
    }
}

/* From the highest band on down, as long as the second channel has none; short blocks each for itself. */
ISA static void mp3_intensity(const audio_mp3_frame *f, const audio_mp3_granule *g, const uint8_t *scales,
                              float *a, float *b) {
    const audio_mp3_tables *t = &audio_mp3_table;
    int blocks = g->type == 2 ? 3 : 1, all = blocks == 3 ? AUDIO_MP3_SHORT : AUDIO_MP3_LONG,
        found[3] = {0, 0, 0};
    const audio_mp3_pair *pair = t->pair[f->rate][blocks == 3];
    const uint16_t *end = t->band_end[f->rate][blocks == 3];
    for (int band = all - 1; band >= 0; band--) {
        int w = band % blocks, from = band ? end[band - 1] / 2 : 0, to = end[band] / 2;
        int of = band >= all - blocks ? band - blocks
                                      : band; /* the last band has the place of the one before it */
        for (int i = from; i < to && !found[w]; i++)
            found[w] = b[pair[i].place[0]] != 0 || b[pair[i].place[1]] != 0;
        for (int i = from; i < to; i++)
            for (int k = 0; k < 2; k++)
                mp3_intensity_pair(f, g, found[w] ? -1 : scales[of], a + pair[i].place[k],
                                   b + pair[i].place[k]);
    }
}

/* --- from lines to slots --- */

/* What one band's edge leaks into the next is taken out; `bands` of them have lines. */
ISA static void mp3_alias(float *lines, int bands) {
    const audio_mp3_tables *t = &audio_mp3_table;
    for (int i = 0; i < 8; i++) {
        float *up = lines + (17 - i) * MP3_ROW, *down = lines + i * MP3_ROW + 1;
        for (int b = 0; b < bands; b += L) {
            v8 x = CV(up + b), y = CV(down + b), keep = ALL(t->alias[i][0]), leak = ALL(t->alias[i][1]);
            if (b == MP3_BANDS - L) keep[L - 1] = 1, leak[L - 1] = 0; /* there is no band behind the last */
            V(up + b) = x * keep - y * leak;
            V(down + b) = y * keep + x * leak;
        }
    }
}

/* y[n] = the sum of x[j] cos(pi j (2n + 1) / 18) over j < 9. */
ISA static inline void mp3_cosines9(const v8 *x, v8 *y) {
    const audio_mp3_tables *t = &audio_mp3_table;
    for (int n = 0; n < 5; n++) {
        v8 even = x[0], odd = ALL(0.0f);
        for (int j = 0; j < 4; j++) even += ALL(t->long_even[n][j]) * x[2 * j + 2];
        if (n < 4) {
            odd = ALL(t->long_odd[n][0]) * x[1];
            for (int j = 1; j < 4; j++) odd += ALL(t->long_odd[n][j]) * x[2 * j + 1];
        }
        y[n] = even + odd;
        y[8 - n] = even - odd;
    }
}

/* Eight bands of a long block, added to this granule's slots and to the next one's. The transform of 18 lines,
 * y[n] = sum of x[k] cos(pi (2k + 1) (2n + 1) / 72), is two of nine points when neighbours are added first; the last division by
 * 2 cos(pi (2n + 1) / 72) is in the window. */
ISA static void mp3_long(const float *x, const float *window, float *now, float *next) {
    const audio_mp3_tables *t = &audio_mp3_table;
    v8 even[9], odd[9], e[9], o[9], y[18];
    v8 before = CV(x), last;
    even[0] = before;
    for (int k = 1; k < 18; k++) {
        v8 line = CV(x + k * MP3_ROW), sum = line + before;
        before = line;
        if (k % 2 == 0) {
            even[k / 2] = sum;
        } else {
            if (k > 1)
                odd[k / 2] = sum + last;
            else
                odd[0] = sum;
            last = sum;
        }
    }
    mp3_cosines9(even, e);
    mp3_cosines9(odd, o);
    for (int n = 0; n < 9; n++) {
        v8 half = o[n] * ALL(t->long_half[n]);
        y[n] = e[n] + half;
        y[17 - n] = e[n] - half;
    }
    for (int i = 0; i < 9; i++) {
        V(now + i * MP3_BANDS) += y[9 + i] * ALL(window[i]);
        V(now + (9 + i) * MP3_BANDS) += y[17 - i] * ALL(window[9 + i]);
        V(next + i * MP3_BANDS) += y[8 - i] * ALL(window[18 + i]);
        V(next + (9 + i) * MP3_BANDS) += y[i] * ALL(window[27 + i]);
    }
}

/* Eight bands of three short blocks, which begin 6 slots apart and last 12. */
ISA static void mp3_short(const float *x, float *now, float *next) {
    const audio_mp3_tables *t = &audio_mp3_table;
    for (int w = 0; w < 3; w++) {
        v8 y[6];
        for (int n = 0; n < 6; n++) {
            y[n] = CV(x + w * MP3_ROW) * ALL(t->short_cosine[n][0]);
            for (int k = 1; k < 6; k++) y[n] += CV(x + (w + 3 * k) * MP3_ROW) * ALL(t->short_cosine[n][k]);
        }
        for (int i = 0; i < 12; i++) {
            v8 v = i < 3 ? y[i + 3] : i < 9 ? y[8 - i] : y[i - 9];
            int slot = 6 + 6 * w + i;
            float *to = slot < MP3_SLOTS ? now + slot * MP3_BANDS : next + (slot - MP3_SLOTS) * MP3_BANDS;
            V(to) += v * ALL(t->short_window[i]);
        }
    }
}

/* --- the filter bank --- */

/* The matrices' inputs of a slot: see mp3_slots(). */
typedef struct mp3_inputs {
    _Alignas(32) float fourth[8], half[8], odd[16];
} mp3_inputs;

ISA static inline void mp3_fold(const float *bands, int odd_slot, mp3_inputs *in) {
    const v8 turned = {1, -1, 1, -1, 1, -1, 1, -1};
    v8 a = CV(bands), b = CV(bands + 8), c = CV(bands + 16), d = CV(bands + 24);
    if (odd_slot) a *= turned, b *= turned, c *= turned, d *= turned;
    v8 d_back = REVERSED(d), c_back = REVERSED(c), low = a + d_back, high = b + c_back,
       high_back = REVERSED(high);
    V(in->odd) = a - d_back;
    V(in->odd + 8) = b - c_back;
    V(in->fourth) = low + high_back;
    V(in->half) = low - high_back;
}

/* Sixteen even or odd numbers of X into their places. */
ISA static inline void mp3_keep(const v8 *low, const v8 *high, int gap, float *to) {
    v8 low_back = -REVERSED(*low), high_back = -REVERSED(*high);
    V(to) = *high;
    if (gap) to[8] = 0;
    V(to + 8 + gap) = high_back;
    V(to + 16 + gap) = low_back;
    V(to + 24) = -*low;
}

/* What the bank keeps of two slots, the second one odd: the cosine transform of each one's 32 bands, X, in the order in which windows are
 * laid over it. Even numbers first: X[16], 18 ... 30, 0, -X[30], -28 ... -2, -X[0], -2 ... -14, then the odd ones in the same way. */
ISA static void mp3_slots(const float *bands, float *side) {
    const audio_mp3_tables *t = &audio_mp3_table;
    mp3_inputs in[2];
    v8 fourth[2], half[2], low[2], high[2];
    for (int i = 0; i < 2; i++) mp3_fold(bands + i * MP3_BANDS, i, &in[i]);
    for (int i = 0; i < 2; i++) fourth[i] = half[i] = low[i] = high[i] = ALL(0.0f);
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 2; i++) {
            fourth[i] += ALL(in[i].fourth[k]) * CV(t->bank_fourth[k]); /* X[0], 4, ... 28 */
            half[i] += ALL(in[i].half[k]) * CV(t->bank_half[k]);       /* X[2], 6, ... 30 */
        }
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 2; i++) {
            low[i] += ALL(in[i].odd[k]) * CV(t->bank_odd[k]); /* X[1], 3, ... 15 */
            high[i] += ALL(in[i].odd[k]) * CV(t->bank_odd[k] + 8);
        }
    for (int i = 0; i < 2; i++, side += MP3_SIDES) {
        v8 even_low = __builtin_shufflevector(fourth[i], half[i], 0, 8, 1, 9, 2, 10, 3, 11);
        v8 even_high = __builtin_shufflevector(fourth[i], half[i], 4, 12, 5, 13, 6, 14, 7, 15);
        mp3_keep(&even_low, &even_high, 1, side);
        mp3_keep(&low[i], &high[i], 0, side + 32);
    }
}

ISA static void mp3_store(const v8 *even, const v8 *odd, float *to) {
    V(to) = __builtin_shufflevector(even[0], odd[0], 0, 8, 1, 9, 2, 10, 3, 11);
    V(to + 8) = __builtin_shufflevector(even[0], odd[0], 4, 12, 5, 13, 6, 14, 7, 15);
    V(to + 16) = __builtin_shufflevector(even[1], odd[1], 0, 8, 1, 9, 2, 10, 3, 11);
    V(to + 24) = __builtin_shufflevector(even[1], odd[1], 4, 12, 5, 13, 6, 14, 7, 15);
}

/* 32 samples of the 16 slots that end with side, and the next 32, which share the window. */
ISA static void mp3_window(const float *side, float *to) {
    const audio_mp3_tables *t = &audio_mp3_table;
    v8 e0 = ALL(0.0f), e1 = e0, o0 = e0, o1 = e0, f0 = e0, f1 = e0, p0 = e0, p1 = e0;
    for (int r = 0; r < 16; r++) {
        const float *x = side - r * MP3_SIDES + (r & 1 ? 16 : 0), *z = x + MP3_SIDES, *w = t->bank_window[r];
        e0 += CV(x) * CV(w), f0 += CV(z) * CV(w);
        e1 += CV(x + 8) * CV(w + 8), f1 += CV(z + 8) * CV(w + 8);
        o0 += CV(x + 32) * CV(w + 16), p0 += CV(z + 32) * CV(w + 16);
        o1 += CV(x + 40) * CV(w + 24), p1 += CV(z + 40) * CV(w + 24);
    }
    mp3_store((v8[]){e0, e1}, (v8[]){o0, o1}, to);
    mp3_store((v8[]){f0, f1}, (v8[]){p0, p1}, to + MP3_BANDS);
}

ISA static void mp3_samples(const float *slots, float *bank, float *to) {
    for (int i = 0; i < MP3_SLOTS; i += 2) mp3_slots(slots + i * MP3_BANDS, bank + (15 + i) * MP3_SIDES);
    for (int i = 0; i < MP3_SLOTS; i += 2) mp3_window(bank + (15 + i) * MP3_SIDES, to + i * MP3_BANDS);
    memmove(bank, bank + MP3_SLOTS * MP3_SIDES, 15 * MP3_SIDES * sizeof *bank);
}

/* --- granules --- */

/* How many bands have lines where the last line is coded before `end`: those of short blocks lie one between the other. */
ISA static int mp3_bands(const audio_mp3_frame *f, const audio_mp3_granule *g, int end) {
    if (end > 0 && g->type == 2) {
        const uint16_t *band_end = audio_mp3_table.band_end[f->rate][1] + 2;
        while (*band_end < end) band_end += 3;
        end = *band_end;
    }
    return (end + MP3_SLOTS - 1) / MP3_SLOTS;
}

/* Read channel c of granule gr; where nobody wants its lines (skip), its scale factors alone. Returns where its lines end, or -1. */
ISA static int mp3_channel(audio_mp3_state *s, audio_mp3_frame *f, int gr, int c, int skip) {
    audio_mp3_granule *g = &f->granule[gr][c];
    float gain[AUDIO_MP3_SCALES];
    uint32_t end = f->at + (uint32_t)g->bits;
    if (end > f->end) return -1;
    if (f->lsf)
        mp3_scales_lsf(f, g, c == 1 && f->intensity, s->scales[c]);
    else
        mp3_scales(f, g, s->scales[c]);
    if (f->at > end) return -1;
    if (skip) {
        f->at = end;
        return 0;
    }
    mp3_gains(f, g, s->scales[c], gain);
    memset(s->lines[c], 0, sizeof s->lines[c]);
    return mp3_lines(f, g, end, gain, s->lines[c]);
}

/* Add lines, of which so many bands are not zero, to the slots of signal i. */
ISA static void mp3_add(audio_mp3_state *s, const audio_mp3_granule *g, float *lines, int bands, int i) {
    float *now = s->overlap[i][s->turn[i]], *next = s->overlap[i][!s->turn[i]];
    if (g->type == 2) {
        for (int b = 0; b < bands; b += L) mp3_short(lines + b, now + b, next + b);
        return;
    }
    mp3_alias(lines, bands);
    if (bands > 0 && bands < MP3_BANDS) bands++; /* what leaked into the next */
    for (int b = 0; b < bands; b += L)
        mp3_long(lines + b, audio_mp3_table.window[g->type], now + b, next + b);
}

/* Whether signal i comes out. */
ISA static int mp3_is_wanted(int wanted, int i) { return wanted == AUDIO_MEAN ? i == 0 : wanted >> i & 1; }

/* The lines of two channels, of so many bands, become those of left and right, or of their mean in the first. */
ISA static void mp3_join(audio_mp3_state *s, const audio_mp3_frame *f, int gr, int mean, int bands[2]) {
    float *a = s->lines[0], *b = s->lines[1];
    if (f->intensity)
        mp3_intensity(f, &f->granule[gr][1], s->scales[1], a, b);
    else if (f->middle)
        mp3_sum_and_difference(a, b);
    for (int i = 0; i < MP3_SLOTS * MP3_ROW && mean; i += L) V(a + i) = (CV(a + i) + CV(b + i)) * ALL(0.5f);
    if (mean || f->intensity || f->middle) bands[0] = bands[1] = bands[0] > bands[1] ? bands[0] : bands[1];
}

/* The lines of one granule into the slots of what is wanted. */
ISA static int mp3_granule(audio_mp3_state *s, audio_mp3_frame *f, int gr, int wanted) {
    audio_mp3_granule *g = f->granule[gr];
    int joint = f->middle || f->intensity, mean = wanted == AUDIO_MEAN, bands[2] = {0, 0};
    int alike = g[0].type == g[1].type;                       /* windows */
    int middle = mean && alike && f->middle && !f->intensity; /* it is the mean */
    if (joint && (g[0].type == 2) != (g[1].type == 2))
        return AUDIO_MP3_ODD; /* lines of two kinds are not to be joined */
    for (int c = 0; c < f->channels; c++) {
        int skip = middle ? c == 1 : !joint && !mean && !(wanted >> c & 1);
        int end = mp3_channel(s, f, gr, c, skip);
        if (end < 0) return AUDIO_MP3_ODD;
        bands[c] = mp3_bands(f, &g[c], end);
    }
    if (f->channels == 2 && !middle && (joint || (mean && alike))) mp3_join(s, f, gr, mean && alike, bands);
    if (!mean || alike) {
        for (int c = 0; c < f->channels; c++)
            if (mp3_is_wanted(wanted, c)) mp3_add(s, &g[c], s->lines[c], bands[c], c);
        return AUDIO_OK;
    }
    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < MP3_SLOTS * MP3_ROW; i += L) V(s->lines[c] + i) *= ALL(0.5f);
        mp3_add(s, &g[c], s->lines[c], bands[c], 0);
    }
    return AUDIO_OK;
}

ISA static int mp3_frame(audio_mp3_state *s, audio_mp3_frame *f, int wanted, float *const to[2]) {
    for (int gr = 0; gr < f->granules; gr++) {
        for (int i = 0; i < 2; i++)
            if (mp3_is_wanted(wanted, i)) memset(s->overlap[i][!s->turn[i]], 0, sizeof s->overlap[i][0]);
        int rc = gr < f->silent ? AUDIO_OK : mp3_granule(s, f, gr, wanted);
        if (rc != AUDIO_OK) return rc;
        for (int i = 0; i < 2; i++) {
            if (!mp3_is_wanted(wanted, i)) continue;
            mp3_samples(s->overlap[i][s->turn[i]], s->bank[i], to[i] + gr * AUDIO_MP3_LINES);
            s->turn[i] = !s->turn[i];
        }
    }
    return AUDIO_OK;
}
