/* aac.c - see aac.h: tables, and the packets of a file. What is in them is aac_isa.h's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aac_tables.h"
#include "kernels.h"

/* --- tables --- */

audio_aac_tables audio_aac_table;

#define PI 3.14159265358979323846

/* A book, and the numbers that its symbols are made of: of how many, each below `base`, and 0 being `zero`; without signs, these follow. */
static const struct {
    const uint8_t *counts;
    const uint16_t *symbols;
    int longest, n, base, zero;
} books[AUDIO_AAC_BOOKS] = {
#define BOOK(i, n, base, zero) \
    { counts_##i, symbols_##i, sizeof counts_##i, n, base, zero }
    BOOK(1, 4, 3, 1),  BOOK(2, 4, 3, 1),   BOOK(3, 4, 3, 0),   BOOK(4, 4, 3, 0),
    BOOK(5, 2, 9, 4),  BOOK(6, 2, 9, 4),   BOOK(7, 2, 8, 0),   BOOK(8, 2, 8, 0),
    BOOK(9, 2, 13, 0), BOOK(10, 2, 13, 0), BOOK(11, 2, 17, 0),
};

static void make_book(audio_aac_book *b, const uint8_t *counts, int longest, const uint16_t *symbols) {
    int32_t code = 0, symbol = 0;
    b->symbols = symbols;
    for (int n = 1; n <= AUDIO_AAC_LONGEST; n++) {
        int here = n <= longest ? counts[n - 1] : 0;
        b->first[n] = symbol - code;
        symbol += here;
        code += here;
        b->limit[n] = (uint32_t)code << (AUDIO_AAC_LONGEST - n);
        code *= 2;
    }
}

/* How many bits the code has that LOOK bits begin with, and its symbol; 0: it has more. */
static int short_code(const audio_aac_book *b, uint32_t look, int *symbol) {
    for (int n = 1; n <= AUDIO_AAC_LOOK; n++)
        if (look << (AUDIO_AAC_LONGEST - AUDIO_AAC_LOOK) < b->limit[n]) {
            *symbol = b->symbols[b->first[n] + (int32_t)(look >> (AUDIO_AAC_LOOK - n))];
            return n;
        }
    return 0;
}

/* The values of a symbol, and how many signs follow it. */
static int values_of(int book, int symbol, int value[4]) {
    int signs = 0;
    for (int i = books[book].n - 1; i >= 0; i--, symbol /= books[book].base) {
        value[i] = symbol % books[book].base - books[book].zero;
        signs += books[book].zero == 0 && value[i] != 0;
    }
    return signs;
}

static audio_aac_code make_code(int book, uint32_t look) {
    int value[4], symbol, n = short_code(&audio_aac_table.book[book], look, &symbol);
    if (n == 0) return 0;
    int signs = values_of(book, symbol, value);
    if (n + signs > AUDIO_AAC_LOOK) return 0;
    uint32_t code = 0;
    for (int i = 0; i < books[book].n; i++) {
        if (value[i] == 16) return 0; /* more follows */
        if (books[book].zero == 0 && value[i] != 0 && look >> (AUDIO_AAC_LOOK - ++n) & 1)
            value[i] = -value[i];
        if (books[book].n == 4)
            code = code * 5 + (uint32_t)(value[i] + 2);
        else
            code |= (uint32_t)(value[i] + 16) << 6 * i;
    }
    return (audio_aac_code)(code << 4 | (uint32_t)n);
}

static void make_books(void) {
    audio_aac_tables *t = &audio_aac_table;
    for (int book = 0; book < AUDIO_AAC_BOOKS; book++) {
        make_book(&t->book[book], books[book].counts, books[book].longest, books[book].symbols);
        for (uint32_t look = 0; look < 1 << AUDIO_AAC_LOOK; look++)
            t->code[book][look] = make_code(book, look);
    }
    make_book(&t->scales, counts_scale, sizeof counts_scale, symbols_scale);
    for (uint32_t look = 0; look < 1 << AUDIO_AAC_LOOK; look++) {
        int symbol, n = short_code(&t->scales, look, &symbol);
        t->scale[look] = n ? (uint16_t)(symbol << 8 | n) : 0;
    }
}

static void make_powers(void) {
    audio_aac_tables *t = &audio_aac_table;
    for (int i = -16; i <= 16; i++) t->small[i + 16] = (float)(i * cbrt(abs(i)));
    for (int i = 0; i < 625; i++)
        for (int k = 3, rest = i; k >= 0; k--, rest /= 5) t->four[i][k] = t->small[rest % 5 - 2 + 16];
    for (int i = 0; i < AUDIO_AAC_STEPS; i++) t->step[i] = (float)exp2((i - AUDIO_AAC_STEPS_BELOW) / 4.0);
    for (int i = 0; i < 4; i++) {
        t->noise_factor[i] = 1664525U * (i ? t->noise_factor[i - 1] : 1);
        t->noise_sum[i] = 1664525U * (i ? t->noise_sum[i - 1] : 0) + 1013904223U;
    }
    for (int wide = 0; wide < 2; wide++)
        for (int i = 0; i < 8 << wide; i++) {
            int half = 4 << wide, c = i < half ? i : i - 2 * half;
            t->tns[wide][i] = (float)sin(c * PI / (2 * half + (c < 0 ? 1 : -1)));
        }
}

static void make_bands(void) {
    static const uint8_t kind_long[AUDIO_AAC_RATES] = {0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 5, 6};
    static const uint8_t kind_short[AUDIO_AAC_RATES] = {0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4};
    audio_aac_tables *t = &audio_aac_table;
    for (int rate = 0; rate < AUDIO_AAC_RATES; rate++) {
        for (int i = 0; t->long_at[rate][i] < AUDIO_AAC_LINES; i++)
            t->long_at[rate][i + 1] = (uint16_t)(t->long_at[rate][i] + long_width[kind_long[rate]][i]),
                                 t->n_long[rate]++;
        for (int i = 0; t->short_at[rate][i] < AUDIO_AAC_SHORT; i++)
            t->short_at[rate][i + 1] = (uint16_t)(t->short_at[rate][i] + short_width[kind_short[rate]][i]),
                                  t->n_short[rate]++;
    }
}

/* Kaiser and Bessel's window, of n samples: the root of a share of the sum of a Bessel function. */
static void make_kaiser(float *to, int n, double alpha) {
    double sum[AUDIO_AAC_LINES], all = 0;
    for (int i = 0; i < n; i++) {
        double x = alpha * alpha * PI * PI * i * (n - i) / n / n, bessel = 1;
        for (int j = 50; j > 0; j--) bessel = bessel * x / (j * j) + 1;
        sum[i] = all += bessel;
    }
    for (int i = 0; i < n; i++) to[i] = (float)sqrt(sum[i] / (all + 1));
}

static void make_windows(void) {
    audio_aac_tables *t = &audio_aac_table;
    for (int i = 0; i < AUDIO_AAC_LINES; i++) t->rise[0][i] = (float)sin(PI * (i + 0.5) / 2048);
    for (int i = 0; i < AUDIO_AAC_SHORT; i++) t->short_rise[0][i] = (float)sin(PI * (i + 0.5) / 256);
    make_kaiser(t->rise[1], AUDIO_AAC_LINES, 4);
    make_kaiser(t->short_rise[1], AUDIO_AAC_SHORT, 6);
    for (int shape = 0; shape < 2; shape++)
        for (int i = 448; i < AUDIO_AAC_LINES; i++)
            t->late[shape][i] = i < 448 + AUDIO_AAC_SHORT ? t->short_rise[shape][i - 448] : 1;
}

void audio_aac_prepare(void) {
    make_books();
    make_powers();
    make_bands();
    audio_cosines_make(&audio_aac_table.cosines, AUDIO_AAC_LINES / 16);
    make_windows();
}

/* --- one file --- */

enum {
    AHEAD = 512 << 10, /* bytes read of a file at once */
    FIRST_NOISE = 0x1f2e3d4c,
    FAAC_DELAY = 1024, /* samples */
};

struct audio_aac {
    audio_bytes bytes;
    const audio_kernels *k;
    audio_aac_packets packets;
    audio_aac_state state;
    uint8_t bits[AUDIO_AAC_PACKET + AUDIO_AAC_ROOM];
    int64_t next; /* the frame behind the last one decoded; -1: none was */
    int wanted;
};

audio_aac *audio_aac_new(void) {
    audio_aac *a = aligned_alloc(_Alignof(audio_aac), sizeof *a);
    if (a) memset(a, 0, sizeof *a);
    return a;
}

void audio_aac_free(audio_aac *a) {
    if (!a) return;
    audio_bytes_free(&a->bytes);
    free(a);
}

const char *audio_aac_detail(const audio_aac *a) { return a->bytes.detail; }

void audio_aac_close(audio_aac *a) {
    audio_bytes_end(&a->bytes, AHEAD);
    memset(&a->packets, 0, sizeof a->packets);
}

static int read_frame(audio_aac *a, int64_t frame, int wanted) {
    const uint8_t *p;
    size_t n, size = (size_t)a->packets.bytes[frame];
    int rc = audio_bytes_view(&a->bytes, a->packets.at[frame], size, AHEAD, &p, &n);
    if (rc != AUDIO_OK) return rc;
    memcpy(a->bits, p, size);
    memset(a->bits + size, 0, 8);
    audio_aac_frame f = {.bits = a->bits,
                         .end = (uint32_t)(8 * size),
                         .rate = a->packets.rate,
                         .channels = a->packets.channels};
    rc = a->k->aac_frame(&a->state, &f, wanted);
    if (f.faac && frame == 0) a->packets.skip = FAAC_DELAY;
    if (rc == AUDIO_AAC_ODD || (f.faac && frame > 0))
        return audio_bytes_fail(&a->bytes, AUDIO_AAC_ODD, "the frame at byte %lld",
                                (long long)a->packets.at[frame]);
    return rc;
}

/* Let the generator of noise be where all frames before this one have brought it. */
static int find_noise(audio_aac *a, int64_t frame) {
    a->state.noise = FIRST_NOISE;
    a->state.knows_noise = 1;
    for (int64_t i = 0; i < frame; i++) {
        int rc = read_frame(a, i, AUDIO_AAC_DRAWS);
        if (rc == AUDIO_OK && i % 64 == 63) rc = audio_bytes_in_time(&a->bytes);
        if (rc != AUDIO_OK) return rc;
    }
    return AUDIO_OK;
}

static int decode_frame(audio_aac *a, int64_t frame) {
    int rc = read_frame(a, frame, a->wanted);
    if (rc == AUDIO_AAC_NOISE) {
        rc = find_noise(a, frame);
        if (rc == AUDIO_OK) rc = read_frame(a, frame, a->wanted);
    }
    a->next = frame + 1;
    return rc;
}

/* Make frame the next one: nothing is left of others but the one before it; whether that one's channels are joined depends on the windows of the
 * one before, and so on once more. */
static int begin_at(audio_aac *a, int64_t frame) {
    int64_t warm = frame > 3 ? frame - 3 : 0;
    int rc = AUDIO_OK;
    memset(&a->state, 0, sizeof a->state);
    a->state.noise = FIRST_NOISE;
    a->state.knows_noise = warm == 0;
    for (; warm < frame && rc == AUDIO_OK; warm++) rc = decode_frame(a, warm);
    a->next = frame;
    return rc;
}

int audio_aac_open(audio_aac *a, const audio_kernels *k, const audio_source *source,
                   const audio_aac_packets *packets, int64_t budget_ns, int64_t *skip) {
    audio_aac_close(a);
    audio_bytes_begin(&a->bytes, source, budget_ns);
    a->k = k;
    a->packets = *packets;
    a->wanted = 0;
    begin_at(a, 0);
    int rc = read_frame(a, 0, 0);
    if (rc == AUDIO_OK && a->packets.skip != packets->skip && packets->skip != 0)
        rc = audio_bytes_fail(&a->bytes, AUDIO_AAC_ODD, "two delays");
    *skip = a->packets.skip;
    a->next = -1;
    return rc;
}

int audio_aac_decode(audio_aac *a, int wanted, int64_t first, int64_t n, float *const dst[2]) {
    int64_t each = AUDIO_AAC_LINES, at = first + a->packets.skip, end = at + n;
    int rc = AUDIO_OK;
    while (at < end && rc == AUDIO_OK) {
        int64_t frame = at / each, skip = at % each, count = each - skip < end - at ? each - skip : end - at;
        if (a->next != frame || a->wanted != wanted) {
            a->wanted = wanted;
            rc = begin_at(a, frame);
        }
        if (rc == AUDIO_OK) rc = decode_frame(a, frame);
        if (rc == AUDIO_OK && frame % 64 == 63) rc = audio_bytes_in_time(&a->bytes);
        for (int i = 0; i < 2 && rc == AUDIO_OK; i++)
            if (dst[i])
                memcpy(dst[i] + (at - first - a->packets.skip), a->state.samples[i] + skip,
                       (size_t)count * sizeof(float));
        at += count;
    }
    return rc;
}
