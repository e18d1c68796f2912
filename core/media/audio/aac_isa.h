/* aac_isa.h - what is in a packet of AAC: codes, stereo, noise, and the transform; part of kernels_isa.h. */
#include "aac.h"

typedef int32_t v4i __attribute__((vector_size(16)));
typedef uint32_t v4n __attribute__((vector_size(16)));

enum { AAC_LINES = AUDIO_AAC_LINES, AAC_SHORT = AUDIO_AAC_SHORT, AAC_ODD = AUDIO_AAC_ODD };

/* Books that are no codes. */
enum { AAC_ZERO = 0, AAC_RESERVED = 12, AAC_NOISE = 13, AAC_INTENSITY_OUT = 14, AAC_INTENSITY_IN = 15 };

enum { AAC_FILTERS = 3, AAC_ORDER = 12 };

/* What shapes noise in time: filters over the spectrum. */
typedef struct aac_filter {
    int32_t bands, order, down;
    float coef[16];
} aac_filter;

typedef struct aac_channel {
    int32_t sequence, shape, bands; /* bands: of a group, those that are coded */
    int32_t groups, blocks[8];      /* blocks: of each group */
    const uint16_t *at;             /* of lines */
    int32_t all_bands;
    uint8_t book[AUDIO_AAC_BANDS];
    float gain[AUDIO_AAC_BANDS];
    int32_t filters[8]; /* of each block */
    int32_t has_filters;
    aac_filter filter[8][AAC_FILTERS];
} aac_channel;

/* Whether a sequence begins, or ends, with a half as long as can be. */
ISA static inline int aac_long_begin(int sequence) {
    return sequence == AUDIO_AAC_LONG || sequence == AUDIO_AAC_START;
}
ISA static inline int aac_long_end(int sequence) {
    return sequence == AUDIO_AAC_LONG || sequence == AUDIO_AAC_STOP;
}

/* --- bits --- */

/* The next bits, the first one highest; at least 57 are right. */
ISA static inline uint64_t aac_look(const audio_aac_frame *f, uint32_t at) {
    return flac_eight(f->bits + (at >> 3)) << (at & 7);
}

/* The next k bits, 1 to 32. Beyond the end they are zeros. */
ISA static inline uint32_t aac_take(audio_aac_frame *f, int k) {
    if (f->at > f->end) return 0;
    uint32_t x = (uint32_t)(aac_look(f, f->at) >> (64 - k));
    f->at += (uint32_t)k;
    return x;
}

/* The symbol of a code that begins with these bits, and how many bits it has. */
ISA static inline int aac_symbol(const audio_aac_book *b, uint64_t bits, int *symbol) {
    uint32_t code = (uint32_t)(bits >> (64 - AUDIO_AAC_LONGEST));
    int n = 1;
    while (code >= b->limit[n]) n++;
    *symbol = b->symbols[b->first[n] + (int32_t)(code >> (AUDIO_AAC_LONGEST - n))];
    return n;
}

ISA static inline int aac_difference(audio_aac_frame *f) {
    uint64_t bits = aac_look(f, f->at);
    uint16_t known = audio_aac_table.scale[bits >> (64 - AUDIO_AAC_LOOK)];
    int symbol = known >> 8, n = known & 255;
    if (!known) n = aac_symbol(&audio_aac_table.scales, bits, &symbol);
    f->at += (uint32_t)n;
    return symbol - 60;
}

/* --- side information --- */

/* Windows and bands. */
ISA static int aac_windows(audio_aac_frame *f, aac_channel *c) {
    const audio_aac_tables *t = &audio_aac_table;
    if (aac_take(f, 1)) return AAC_ODD;
    c->sequence = (int)aac_take(f, 2);
    c->shape = (int)aac_take(f, 1);
    c->groups = 1;
    c->blocks[0] = 1;
    if (c->sequence == AUDIO_AAC_EIGHT) {
        c->bands = (int)aac_take(f, 4);
        for (int i = 6, joined = (int)aac_take(f, 7); i >= 0; i--) {
            if (!(joined >> i & 1)) c->blocks[c->groups++] = 0;
            c->blocks[c->groups - 1]++;
        }
        c->at = t->short_at[f->rate];
        c->all_bands = t->n_short[f->rate];
    } else {
        c->bands = (int)aac_take(f, 6);
        if (aac_take(f, 1)) return AAC_ODD; /* prediction */
        c->at = t->long_at[f->rate];
        c->all_bands = t->n_long[f->rate];
    }
    return c->bands <= c->all_bands ? AUDIO_OK : AAC_ODD;
}

/* The book of each band: sections of bands have one. */
ISA static int aac_sections(audio_aac_frame *f, aac_channel *c) {
    int k = c->sequence == AUDIO_AAC_EIGHT ? 3 : 5;
    uint8_t *book = c->book;
    for (int g = 0; g < c->groups; g++)
        for (int band = 0; band < c->bands;) {
            int which = (int)aac_take(f, 4), n, more;
            for (n = 0; (more = (int)aac_take(f, k)) == (1 << k) - 1 && n <= c->bands; n += more) {
            }
            n += more;
            if (which == AAC_RESERVED || n > c->bands - band || f->at > f->end) return AAC_ODD;
            for (band += n; n > 0; n--) *book++ = (uint8_t)which;
        }
    return AUDIO_OK;
}

/* What is lines' unit in each band: it differs a little from the one before, of lines, of noise, and of intensity. Units of lines and noise have the
 * factor of the transform in them, and that of 16 bits. */
ISA static int aac_gains(audio_aac_frame *f, aac_channel *c, int gain) {
    enum {
        NOISE_FIRST = 9,
        NOISE_BELOW = 90 + 256,
        FACTOR = 100,
        EIGHT_FACTOR = 12
    }; /* quarters of powers of two */
    const float *step = audio_aac_table.step + AUDIO_AAC_STEPS_BELOW;
    const float *unit = step - FACTOR + (c->sequence == AUDIO_AAC_EIGHT ? EIGHT_FACTOR : 0);
    int noise = gain - NOISE_BELOW, place = 0, first = 1;
    for (int i = 0; i < c->groups * c->bands; i++) {
        if (f->at > f->end) return AAC_ODD;
        switch (c->book[i]) {
        case AAC_ZERO: c->gain[i] = 0; continue;
        case AAC_NOISE:
            noise += first ? (int)aac_take(f, NOISE_FIRST) : aac_difference(f);
            first = 0;
            if (noise < -100 || noise > 155) return AAC_ODD;
            c->gain[i] = unit[noise];
            continue;
        case AAC_INTENSITY_OUT:
        case AAC_INTENSITY_IN:
            place += aac_difference(f);
            if (place < -155 || place > 100) return AAC_ODD;
            c->gain[i] = step[-place];
            continue;
        }
        gain += aac_difference(f);
        if (gain < 0 || gain > 255) return AAC_ODD;
        c->gain[i] = unit[gain - 100];
    }
    return AUDIO_OK;
}

/* Coefficients of a filter, from reflections. */
ISA static void aac_coefs(audio_aac_frame *f, aac_filter *filter, int wide) {
    int k = 3 + wide - (int)aac_take(f, 1);
    float before[AAC_ORDER];
    memset(filter->coef, 0, sizeof filter->coef);
    for (int i = 0; i < filter->order; i++) {
        int c = (int)aac_take(f, k), minus = c >> (k - 1) & 1;
        float r = audio_aac_table.tns[wide][minus ? c - (1 << k) + (8 << wide) : c];
        memcpy(before, filter->coef, sizeof before);
        for (int j = 0; j < i; j++) filter->coef[j] = before[j] + r * before[i - 1 - j];
        filter->coef[i] = r;
    }
}

ISA static int aac_filters(audio_aac_frame *f, aac_channel *c) {
    int eight = c->sequence == AUDIO_AAC_EIGHT;
    for (int w = 0; w < (eight ? 8 : 1); w++) {
        c->filters[w] = (int)aac_take(f, eight ? 1 : 2);
        int wide = c->filters[w] ? (int)aac_take(f, 1) : 0;
        for (int i = 0; i < c->filters[w]; i++) {
            aac_filter *filter = &c->filter[w][i];
            filter->bands = (int)aac_take(f, eight ? 4 : 6);
            filter->order = (int)aac_take(f, eight ? 3 : 5);
            if (filter->order > AAC_ORDER) return AAC_ODD;
            if (filter->order == 0) continue;
            filter->down = (int)aac_take(f, 1);
            aac_coefs(f, filter, wide);
        }
    }
    return f->at <= f->end ? AUDIO_OK : AAC_ODD;
}

/* --- lines --- */

/* The values of a code that AUDIO_AAC_LOOK bits do not tell. A book of four values has those of up to 2, book 11 numbers that follow. */
ISA static __attribute__((noinline)) int aac_long_code(const audio_aac_frame *f, uint32_t *at, int book,
                                                       float *to) {
    static const uint8_t bases[AUDIO_AAC_BOOKS] = {3, 3, 3, 3, 9, 9, 8, 8, 13, 13, 17},
                         zeros[AUDIO_AAC_BOOKS] = {1, 1, 0, 0, 4, 4}; /* books without one have signs */
    int n = book <= 4 ? 4 : 2, base = bases[book - 1], zero = zeros[book - 1], symbol, value[4],
        minus[4] = {0};
    uint64_t bits = aac_look(f, *at);
    int used = aac_symbol(&audio_aac_table.book[book - 1], bits, &symbol);
    for (int i = n - 1; i >= 0; i--, symbol /= base) value[i] = symbol % base - zero;
    for (int i = 0; i < n && zero == 0; i++)
        if (value[i]) minus[i] = (int)(bits << used++ >> 63);
    *at += (uint32_t)used;
    for (int i = 0; i < n; i++) {
        float power = audio_aac_table.small[value[i] + 16];
        if (value[i] == 16) {
            bits = aac_look(f, *at);
            int ones = __builtin_clzll(~bits | 1);
            if (ones > 8) return AAC_ODD;
            int v = (1 << (ones + 4)) + (int)(bits << (ones + 1) >> (60 - ones));
            power = (float)(v * cbrt(v));
            *at += (uint32_t)(2 * ones + 5);
        }
        to[i] = minus[i] ? -power : power;
    }
    return AUDIO_OK;
}

/* Powers of n lines that one book codes, `each` at once. */
ISA static inline __attribute__((always_inline)) int aac_codes(audio_aac_frame *f, int book, int each,
                                                               float *to, int n) {
    enum { AT_ONCE = 5 }; /* codes that a look at the bits holds */
    const audio_aac_tables *t = &audio_aac_table;
    const audio_aac_code *code = t->code[book - 1];
    const float *end = to + n;
    uint32_t at = f->at;
    while (to < end) {
        uint64_t bits = aac_look(f, at);
        const float *enough = end - to > AT_ONCE * each ? to + AT_ONCE * each : end;
        for (; to < enough; to += each) {
            uint32_t c = code[bits >> (64 - AUDIO_AAC_LOOK)];
            if (__builtin_expect(c == 0, 0)) {
                if (aac_long_code(f, &at, book, to) != AUDIO_OK) return AAC_ODD;
                to += each;
                break;
            }
            bits <<= c & 15;
            at += c & 15;
            if (each == 4) {
                *(v4 *)to = *(const v4 *)t->four[c >> 4];
            } else {
                to[0] = t->small[c >> 4 & 63];
                to[1] = t->small[c >> 10];
            }
        }
    }
    f->at = at;
    return at <= f->end ? AUDIO_OK : AAC_ODD;
}

ISA static void aac_scale(float *to, int n, float by) {
    const v4 all = {by, by, by, by};
    for (int i = 0; i < n; i += 4) *(v4 *)(to + i) *= all;
}

/* Noise of the energy that the gain says, in n lines, a multiple of four: the numbers are those of FFmpeg. */
ISA static void aac_noise(audio_aac_state *s, float gain, float *to, int n) {
    const audio_aac_tables *t = &audio_aac_table;
    v4n x = {s->noise, s->noise, s->noise, s->noise}, factor = *(const v4n *)t->noise_factor,
        sum = *(const v4n *)t->noise_sum;
    v4 energy = {0};
    x = x * factor + sum;
    for (int i = 0; i < n; i += 4) {
        v4 y = __builtin_convertvector((v4i)x, v4);
        *(v4 *)(to + i) = y;
        energy += y * y;
        s->noise = x[3];
        x = x * factor[3] + sum[3];
    }
    aac_scale(to, n, gain / sqrtf(energy[0] + energy[1] + (energy[2] + energy[3])));
}

/* Lines of neighbouring bands from the i-th on that have one book, in each of a group's blocks, the first of which begins at `to`. */
ISA static int aac_section(audio_aac_state *s, audio_aac_frame *f, const aac_channel *c, int i, int band,
                           int bands, int blocks, float *to) {
    int book = c->book[i], first = c->at[band], n = c->at[band + bands] - first, rc = AUDIO_OK;
    for (int w = 0; w < blocks && rc == AUDIO_OK; w++, to += AAC_SHORT) {
        if (book == AAC_NOISE) {
            aac_noise(s, c->gain[i], to + first, n);
            continue;
        }
        rc = book <= 4 ? aac_codes(f, book, 4, to + first, n) : aac_codes(f, book, 2, to + first, n);
        for (int k = 0; k < bands; k++)
            aac_scale(to + c->at[band + k], c->at[band + k + 1] - c->at[band + k], c->gain[i + k]);
    }
    return rc;
}

/* The lines of a channel, or those coded in its bands before number `until`, and noise, which needs no bits. */
ISA static int aac_lines(audio_aac_state *s, audio_aac_frame *f, const aac_channel *c, int until,
                         float *lines) {
    memset(lines, 0, AAC_LINES * sizeof *lines);
    for (int g = 0, i = 0; g < c->groups; lines += AAC_SHORT * c->blocks[g++])
        for (int band = 0, bands; band < c->bands; band += bands, i += bands) {
            int book = c->book[i];
            bands = 1;
            if (book == AAC_ZERO || book >= AAC_INTENSITY_OUT || (i >= until && book != AAC_NOISE)) continue;
            if (book == AAC_NOISE && !s->knows_noise) return AUDIO_AAC_NOISE;
            while (book != AAC_NOISE && c->blocks[g] == 1 && band + bands < c->bands &&
                   c->book[i + bands] == book)
                bands++;
            int rc = aac_section(s, f, c, i, band, bands, c->blocks[g], lines);
            if (rc != AUDIO_OK) return rc;
        }
    return AUDIO_OK;
}

/* What one channel's stream says before its lines; its windows are known where channels share them. */
ISA static int aac_side(audio_aac_frame *f, aac_channel *c, int knows_windows) {
    int gain = (int)aac_take(f, 8), rc = AUDIO_OK;
    if (!knows_windows) rc = aac_windows(f, c);
    if (rc == AUDIO_OK) rc = aac_sections(f, c);
    if (rc == AUDIO_OK) rc = aac_gains(f, c, gain);
    if (rc != AUDIO_OK || aac_take(f, 1)) return AAC_ODD; /* pulses */
    c->has_filters = (int)aac_take(f, 1);
    if (c->has_filters) rc = aac_filters(f, c);
    return rc != AUDIO_OK || aac_take(f, 1) ? AAC_ODD : AUDIO_OK; /* gain control */
}

/* --- two channels --- */

/* How a pair is coded: bands that are middle and side. */
typedef struct aac_joint {
    int shared; /* windows */
    uint8_t ms[AUDIO_AAC_BANDS];
} aac_joint;

/* Whether band i is middle and side. */
ISA static inline int aac_is_middle(const aac_channel *c, const aac_joint *joint, int i) {
    return joint->ms[i] && c[0].book[i] < AAC_NOISE && c[1].book[i] < AAC_NOISE;
}

/* What the first channel's lines are multiplied by to be the second's, where these are not coded; 0: they are. */
ISA static inline float aac_intensity(const aac_channel *c, const aac_joint *joint, int i) {
    if (c[1].book[i] < AAC_INTENSITY_OUT) return 0;
    return (c[1].book[i] == AAC_INTENSITY_IN) != joint->ms[i] ? c[1].gain[i] : -c[1].gain[i];
}

/* One band of a block to left and right, or to their mean, in a. */
ISA static inline void aac_join(int mean, int middle, float by, float *a, float *b, int n) {
    for (int k = 0; k < n; k += 4) {
        v4 x = *(v4 *)(a + k), y = *(v4 *)(b + k);
        if (by != 0) y = x * by;
        if (middle && !mean) {
            *(v4 *)(a + k) = x + y;
            *(v4 *)(b + k) = x - y;
        } else if (mean) {
            if (!middle) *(v4 *)(a + k) = (x + y) * 0.5f;
        } else {
            *(v4 *)(b + k) = y;
        }
    }
}

/* Lines of a pair become those of left and right, or of their mean, in a. */
ISA static void aac_stereo(const aac_channel *c, const aac_joint *joint, int mean, float *a, float *b) {
    for (int g = 0, i = 0; g < c[1].groups;
         a += AAC_SHORT * c[1].blocks[g], b += AAC_SHORT * c[1].blocks[g], g++)
        for (int band = 0; band < c[1].bands; band++, i++) {
            int middle = aac_is_middle(c, joint, i), first = c[1].at[band], n = c[1].at[band + 1] - first;
            float by = aac_intensity(c, joint, i);
            if (mean ? middle : !middle && by == 0) continue;
            for (int w = 0; w < c[1].blocks[g]; w++)
                aac_join(mean, middle, by, a + first + w * AAC_SHORT, b + first + w * AAC_SHORT, n);
        }
}

/* The number behind the last band that is coded of the second channel and that their mean needs: the middle is the mean of both. */
ISA static int aac_needed(const aac_channel *c, const aac_joint *joint) {
    int n = c[1].groups * c[1].bands;
    while (n > 0 &&
           (aac_is_middle(c, joint, n - 1) || c[1].book[n - 1] == AAC_ZERO || c[1].book[n - 1] >= AAC_NOISE))
        n--;
    return n;
}

/* --- filters over the spectrum --- */

/* x[i] -= the sum of coef[j] x[i - 1 - j], in place, `step` being 1 or -1. */
ISA static void aac_recurse(const aac_filter *filter, float *x, int n, int step) {
    v8 low = ALL(0.0f), high = low, a = CV(filter->coef), b = CV(filter->coef + 8);
    for (int i = 0; i < n; i++, x += step) {
        float y = *x - low[0];
        *x = y;
        low = __builtin_shufflevector(low, high, 1, 2, 3, 4, 5, 6, 7, 8) + a * ALL(y);
        high = __builtin_shufflevector(high, ALL(0.0f), 1, 2, 3, 4, 5, 6, 7, 8) + b * ALL(y);
    }
}

ISA static void aac_filter_lines(const audio_aac_frame *f, const aac_channel *c, float *lines) {
    static const uint8_t most_long[AUDIO_AAC_RATES] = {31, 31, 34, 40, 42, 51, 46, 46, 42, 42, 42, 39},
                         most_short[AUDIO_AAC_RATES] = {9, 9, 10, 14, 14, 14, 14, 14, 14, 14, 14, 14};
    int eight = c->sequence == AUDIO_AAC_EIGHT, most = (eight ? most_short : most_long)[f->rate];
    if (most > c->bands) most = c->bands;
    for (int w = 0; w < (eight ? 8 : 1) && c->has_filters; w++, lines += AAC_SHORT)
        for (int i = 0, bottom = c->all_bands; i < c->filters[w]; i++) {
            const aac_filter *filter = &c->filter[w][i];
            int top = bottom;
            bottom = filter->bands < top ? top - filter->bands : 0;
            if (filter->order == 0) continue;
            int from = c->at[bottom < most ? bottom : most], to = c->at[top < most ? top : most];
            if (from == to) continue;
            aac_recurse(filter, filter->down ? lines + to - 1 : lines + from, to - from,
                        filter->down ? -1 : 1);
        }
}

/* --- from lines to samples --- */

/* The first half of a block of n lines, whose transform is d, under a window that rises, and its second half under one that falls; each is as long as
 * the transform. */
ISA static inline void aac_rise(const float *d, int n, const float *window, float *to) {
    for (int i = 0; i < n / 2; i += L) {
        V(to + i) += CV(d + n / 2 + i) * CV(window + i);
        V(to + n / 2 + i) -= REVERSED(CV(d + n - L - i)) * CV(window + n / 2 + i);
    }
}

ISA static inline void aac_fall(const float *d, int n, const float *window, float *to) {
    for (int i = 0; i < n / 2; i += L) {
        V(to + i) -= REVERSED(CV(d + n / 2 - L - i)) * REVERSED(CV(window + n - L - i));
        V(to + n / 2 + i) -= CV(d + i) * REVERSED(CV(window + n / 2 - L - i));
    }
}

/* A frame's beginning, added to its samples, and what it leaves to the next: see aac_end(). Two frames overlap as long as both can; before is the
 * sequence of the one before, and its shape. */
ISA static void aac_begin(const aac_channel *c, int before, int shape, const float *lines, float *end,
                          float *samples) {
    const audio_aac_tables *t = &audio_aac_table;
    if (c->sequence != AUDIO_AAC_EIGHT) {
        int both = aac_long_begin(c->sequence) && aac_long_end(before);
        cosines(&t->cosines, lines, end);
        aac_rise(end, AAC_LINES, (both ? t->rise : t->late)[shape], samples);
        return;
    }
    _Alignas(32) float d[AAC_LINES], all[2 * AAC_LINES];
    v8 x[AAC_SHORT];
    memset(all, 0, sizeof all);
    lanes_of_rows(lines, AAC_SHORT, x);
    short_cosines(&t->cosines, x);
    rows_of_lanes(x, AAC_SHORT, d);
    for (int w = 0; w < 8; w++) {
        float *to = all + 448 + w * AAC_SHORT;
        aac_rise(d + w * AAC_SHORT, AAC_SHORT, t->short_rise[w ? c->shape : shape], to);
        aac_fall(d + w * AAC_SHORT, AAC_SHORT, t->short_rise[c->shape], to + AAC_SHORT);
    }
    for (int i = 0; i < AAC_LINES; i += L) V(samples + i) += CV(all + i);
    memcpy(end, all + AAC_LINES, AAC_LINES * sizeof *end);
}

/* The end of the frame before, added to a frame's samples: of short blocks it is there, of others what it is made of. */
ISA static void aac_end(int sequence, int shape, int long_begin, const float *end, float *samples) {
    const audio_aac_tables *t = &audio_aac_table;
    if (sequence != AUDIO_AAC_EIGHT) {
        int both = long_begin && aac_long_end(sequence);
        aac_fall(end, AAC_LINES, (both ? t->rise : t->late)[shape], samples);
        return;
    }
    for (int i = 0; i < AAC_LINES; i += L) V(samples + i) += CV(end + i);
}

/* --- packets --- */

/* Whether a filling of n bytes, of no kind, says that it is libfaac that encoded this, with a number of two parts; -1: perhaps. FFmpeg knows its
 * delay by that. */
ISA static int aac_is_faac(const audio_aac_frame *f, uint32_t n) {
    static const char name[] = "libfaac ";
    uint8_t text[12];
    if (n < 10) return 0;
    for (uint32_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(aac_look(f, f->at + 17 + 8 * i) >> 56);
    if (memcmp(text, name, 7) != 0) return 0;
    int digits = text[8] >= '0' && text[8] <= '9' && text[10] >= '0' && text[10] <= '9';
    return n >= 15 && text[7] == name[7] && digits && text[9] == '.' ? 1 : -1;
}

/* What a filling holds is nothing to hear, but where it doubles the rate; what it says of dynamics may hide that. */
ISA static int aac_filling(audio_aac_frame *f) {
    uint32_t n = aac_take(f, 4);
    if (n == 15) n += aac_take(f, 8) - 1;
    if (f->at > f->end || 8 * n > f->end - f->at) return AAC_ODD;
    if (n > 0) {
        int kind = (int)(aac_look(f, f->at) >> 60), faac = kind == 0 ? aac_is_faac(f, n) : 0;
        if (kind == 11 || kind == 13 || kind == 14 || faac < 0) return AAC_ODD;
        f->faac |= faac;
    }
    f->at += 8 * n;
    return AUDIO_OK;
}

ISA static int aac_data(audio_aac_frame *f) {
    aac_take(f, 4);
    int aligned = (int)aac_take(f, 1);
    uint32_t n = aac_take(f, 8);
    if (n == 255) n += aac_take(f, 8);
    if (aligned) f->at = (f->at + 7) & ~7U;
    f->at += 8 * n;
    return f->at <= f->end ? AUDIO_OK : AAC_ODD;
}

/* Which bands are middle and side, by how that is coded. */
ISA static int aac_middle_side(audio_aac_frame *f, const aac_channel *c, uint8_t *ms) {
    int how = (int)aac_take(f, 2), n = c->groups * c->bands;
    if (how == 3) return AAC_ODD;
    for (int i = 0; i < n; i++) ms[i] = how == 2 || (how == 1 && aac_take(f, 1));
    return AUDIO_OK;
}

/* Two channels, to their lines, or to those of their mean if that is wanted and both have the same windows: they are one then. Then, and where draws of
 * noise alone are wanted, what lies behind is not looked at: that is enough. */
ISA static int aac_pair(audio_aac_state *s, audio_aac_frame *f, int wanted, aac_channel *c, int *enough) {
    int mean = wanted == AUDIO_MEAN;
    aac_joint joint = {.shared = (int)aac_take(f, 1)};
    int rc = AUDIO_OK;
    if (joint.shared) {
        int alike = aac_long_end(s->sequence[0]) == aac_long_end(s->sequence[1]);
        if (!alike && wanted != AUDIO_AAC_DRAWS) return AAC_ODD; /* FFmpeg takes the first one's for both */
        rc = aac_windows(f, &c[0]);
        if (rc == AUDIO_OK) rc = aac_middle_side(f, &c[0], joint.ms);
        c[1].sequence = c[0].sequence, c[1].shape = c[0].shape, c[1].bands = c[0].bands;
        c[1].groups = c[0].groups, c[1].at = c[0].at, c[1].all_bands = c[0].all_bands;
        memcpy(c[1].blocks, c[0].blocks, sizeof c[0].blocks);
    }
    for (int i = 0; i < 2; i++) {
        int all = AUDIO_AAC_BANDS;
        if (rc == AUDIO_OK) rc = aac_side(f, &c[i], joint.shared);
        if (rc != AUDIO_OK) return rc;
        if (i == 1 && wanted == AUDIO_AAC_DRAWS) {
            *enough = 1;
            return aac_lines(s, f, &c[1], 0, s->lines[1]);
        }
        if (i == 1 && mean && joint.shared && s->shape[0] == s->shape[1] && !c[0].has_filters &&
            !c[1].has_filters) {
            all = aac_needed(c, &joint);
            *enough = 1;
        }
        rc = aac_lines(s, f, &c[i], all, s->lines[i]);
    }
    for (int i = 0; i < c[1].groups * c[1].bands && !joint.shared; i++)
        if (c[1].book[i] >= AAC_INTENSITY_OUT) return AAC_ODD;
    if (rc == AUDIO_OK && joint.shared) aac_stereo(c, &joint, *enough, s->lines[0], s->lines[1]);
    return rc;
}

/* What a packet holds: the lines of its channels, or of one that is their mean. */
ISA static int aac_elements(audio_aac_state *s, audio_aac_frame *f, int wanted, aac_channel *c, int *enough) {
    enum { ONE, PAIR, DATA = 4, FILLING = 6, END };
    int seen = 0;
    for (*enough = 0; !*enough;) {
        if (f->end < f->at + 3) return AAC_ODD;
        int what = (int)aac_take(f, 3), rc = AAC_ODD;
        if (what == END) break;
        if (what == FILLING) rc = aac_filling(f);
        if (what == DATA) rc = aac_data(f);
        if ((what == ONE || what == PAIR) && what == f->channels - 1 && !seen++) {
            aac_take(f, 4);
            *enough = what == ONE && wanted == AUDIO_AAC_DRAWS;
            if (what == PAIR)
                rc = aac_pair(s, f, wanted, c, enough);
            else if ((rc = aac_side(f, c, 0)) == AUDIO_OK)
                rc = aac_lines(s, f, c, *enough ? 0 : AUDIO_AAC_BANDS, s->lines[0]);
        }
        if (rc != AUDIO_OK) return rc;
    }
    for (uint32_t i = (f->at + 7) / 8; i < f->end / 8 && !*enough; i++) /* which would be another frame */
        if (f->bits[i]) return AAC_ODD;
    return seen ? AUDIO_OK : AAC_ODD;
}

/* The ends of the frame before, to the samples of what is wanted. */
ISA static int aac_ends(audio_aac_state *s, const aac_channel *c, int channels, int wanted) {
    int mean = wanted == AUDIO_MEAN;
    for (int i = 0; i < 2; i++)
        if (mean ? i == 0 : wanted >> i & 1) memset(s->samples[i], 0, sizeof s->samples[i]);
    if (!s->begun) return AUDIO_OK;
    if (s->joined && channels == 2 && aac_long_begin(c[0].sequence) != aac_long_begin(c[1].sequence))
        return AAC_ODD; /* one end for two beginnings */
    for (int i = 0; i < (s->joined ? 1 : channels); i++)
        if (mean || wanted >> i & 1)
            aac_end(s->sequence[i], s->shape[i], aac_long_begin(c[i].sequence), s->end[i],
                    s->samples[mean ? 0 : i]);
    return AUDIO_OK;
}

ISA static int aac_frame(audio_aac_state *s, audio_aac_frame *f, int wanted) {
    aac_channel c[2];
    int mean = wanted == AUDIO_MEAN, one, rc = aac_elements(s, f, wanted, c, &one);
    if (rc != AUDIO_OK || !(wanted & (AUDIO_LEFT | AUDIO_RIGHT | AUDIO_MEAN))) return rc;
    if ((rc = aac_ends(s, c, f->channels, wanted)) != AUDIO_OK) return rc;
    for (int i = 0; i < (one ? 1 : f->channels); i++) {
        if (!mean && !(wanted >> i & 1)) continue;
        aac_filter_lines(f, &c[i], s->lines[i]);
        if (mean && !one) aac_scale(s->lines[i], AAC_LINES, 0.5f);
        aac_begin(&c[i], s->sequence[i], s->shape[i], s->lines[i], s->end[i], s->samples[mean ? 0 : i]);
    }
    for (int i = 0; i < f->channels; i++) s->shape[i] = c[i].shape, s->sequence[i] = c[i].sequence;
    s->joined = one;
    s->begun = 1;
    return AUDIO_OK;
}
