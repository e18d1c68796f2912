/* opus_isa.h - the frames of Opus that are coded by transform: what they say, and their samples; part of kernels_isa.h. */
#include "opus_shapes_isa.h"

/* --- from shapes to samples --- */

/* What the next frame knows of the levels of this one. */
ISA static void opus_remember(audio_opus_state *s, const opus_frame *f) {
    for (int c = 0; c < f->channels; c++)
        for (int i = 0; i < OPUS_BANDS; i++) {
            float level = s->level[c][i], *before = &s->before[c][i];
            if (!f->transient) s->earlier[c][i] = *before;
            if (!f->transient || level < *before) *before = level;
            if (i >= f->bands) {
                s->level[c][i] = 0;
                *before = -28; /* and so the earlier one is of no account */
            }
        }
}

ISA static void opus_scale_lines(const audio_opus_state *s, const opus_frame *f, int c, float by,
                                 float *lines) {
    int end = opus_at[f->bands] * OPUS_BLOCKS;
    for (int i = 0; i < f->bands; i++) {
        float level = s->level[c][i] + opus_mean[i];
        v8 scale_by = ALL(
            level < -40 ? 0
                        : by * exp2f(level < 32 ? level : 32)); /* nothing that is hard to calculate with */
        for (int k = opus_at[i] * OPUS_BLOCKS; k < opus_at[i + 1] * OPUS_BLOCKS; k += L)
            V(lines + k) *= scale_by;
    }
    memset(lines + end, 0, (size_t)(OPUS_LINES - end) * sizeof *lines);
}

/* A block of n samples, whose transform is d, and what overlaps the next block; in `to` is what overlaps this one. */
ISA static void opus_overlap(const float *d, int n, float *to) {
    enum { HALF = OPUS_SHORT / 2 };
    const float *rise = audio_opus_table.rise;
    float *end = to + n;
    for (int i = 0; i < HALF; i += 4) {
        V4(to + i) += CV4(d + n - HALF + i) * CV4(rise + i);
        V4(to + HALF + i) -= REVERSED4(CV4(d + n - 4 - i)) * CV4(rise + HALF + i);
    }
    for (int i = OPUS_SHORT; i < n; i += L) V(to + i) = -REVERSED(CV(d + n + HALF - L - i));
    for (int i = 0; i < HALF; i += 4) {
        V4(end + i) = -REVERSED4(CV4(d + HALF - 4 - i) * CV4(rise + OPUS_SHORT - 4 - i));
        V4(end + HALF + i) = -CV4(d + i) * REVERSED4(CV4(rise + HALF - 4 - i));
    }
}

ISA static void opus_transform(const opus_frame *f, const float *lines, float *to) {
    const audio_cosines *t = &audio_opus_table.cosines;
    _Alignas(32) float d[OPUS_LINES];
    v8 x[OPUS_SHORT];
    if (!f->transient) {
        cosines(t, lines, d);
        opus_overlap(d, OPUS_LINES, to);
        return;
    }
    for (int k = 0; k < OPUS_SHORT; k++) x[k] = CV(lines + k * L);
    short_cosines(t, x);
    rows_of_lanes(x, OPUS_SHORT, d);
    for (int w = 0; w < OPUS_BLOCKS; w++) opus_overlap(d + w * OPUS_SHORT, OPUS_SHORT, to + w * OPUS_SHORT);
}

/* What lies one period before eight samples, and around that. */
ISA static inline v8 opus_period(const float *x, const audio_opus_pitch *p) {
    const float *back = x - p->period;
    if (p->gain[0] == 0) return ALL(0.0f);
    return ALL(p->gain[0]) * CV(back) + ALL(p->gain[1]) * (CV(back - 1) + CV(back + 1)) +
           ALL(p->gain[2]) * (CV(back - 2) + CV(back + 2));
}

/* It is added to n samples. */
ISA static void opus_repeat(float *x, int n, const audio_opus_pitch *p) {
    for (int i = 0; i < n && p->gain[0] != 0; i += L) V(x + i) += opus_period(x + i, p);
}

/* The same while one filter becomes another. */
ISA static void opus_repeat_between(float *x, const audio_opus_pitch *from, const audio_opus_pitch *to) {
    for (int i = 0; i < OPUS_SHORT; i += L) {
        v8 rise = CV(audio_opus_table.rise + i), share = rise * rise;
        V(x + i) += (1 - share) * opus_period(x + i, from) + share * opus_period(x + i, to);
    }
}

/* y[n] = x[n] + 0.85 y[n - 1], scaled: sums over two, four and eight samples, and what came before. */
ISA static void opus_deemphasise(const float *x, float *last, float *y) {
    const float c = 0.8500061035f, c2 = c * c, c4 = c2 * c2;
    const v8 powers = {c, c2, c * c2, c4, c4 * c, c4 * c2, c4 * c2 * c, c4 * c4}, none = ALL(0.0f);
    float before = *last;
    for (int i = 0; i < OPUS_LINES; i += L) {
        v8 v = CV(x + i);
        v += ALL(c) * __builtin_shufflevector(none, v, 0, 8, 9, 10, 11, 12, 13, 14);
        v += ALL(c2) * __builtin_shufflevector(none, v, 0, 1, 8, 9, 10, 11, 12, 13);
        v += ALL(c4) * __builtin_shufflevector(none, v, 0, 1, 2, 3, 8, 9, 10, 11);
        v += powers * ALL(before);
        before = v[7];
        V(y + i) = v * ALL(0x1p-15f);
    }
    *last = before;
}

ISA static void opus_synthesis(audio_opus_state *s, const opus_frame *f, int c) {
    float *signal = s->signal[c], *x = signal + AUDIO_OPUS_HISTORY;
    memmove(signal, signal + OPUS_LINES, (AUDIO_OPUS_HISTORY + OPUS_SHORT) * sizeof *signal);
    opus_transform(f, s->lines[c], x);
    opus_repeat(x, OPUS_SHORT, &s->pitch);
    if (memcmp(&s->pitch, &f->pitch, sizeof s->pitch) == 0)
        opus_repeat(x + OPUS_SHORT, OPUS_SHORT, &f->pitch);
    else
        opus_repeat_between(x + OPUS_SHORT, &s->pitch, &f->pitch);
    opus_repeat(x + 2 * OPUS_SHORT, OPUS_LINES - 2 * OPUS_SHORT, &f->pitch);
    opus_deemphasise(x, &s->last[c], s->samples[c]);
}

/* --- frames --- */

/* All that it says, to the lines and levels of its channels. */
ISA static int opus_read(audio_opus_state *s, opus_frame *f) {
    opus_bits *b = &f->bits;
    opus_shares shares;
    f->silent = opus_tell(b) == 1 && opus_flag(b, 15);
    if (f->silent) b->used += f->size - opus_tell(b); /* nothing more is read */
    if (opus_tell(b) + 16 <= f->size) opus_pitch(f);
    f->transient = opus_tell(b) + 3 <= f->size && opus_flag(b, 3);
    int alone = opus_tell(b) + 3 <= f->size && opus_flag(b, 3);
    opus_coarse(s, f, alone);
    opus_resolutions(f);
    f->spread = opus_tell(b) + 4 <= f->size ? opus_of(b, opus_spreads, 5) : OPUS_SPREAD_NORMAL;
    int32_t total = opus_boosts(f, &shares);
    int trim = opus_tell8(b) + 6 * OPUS_BIT <= total ? opus_of(b, opus_trims, 7) : 5;
    shares.total = f->size * OPUS_BIT - opus_tell8(b) - 1;
    int32_t filling = f->transient && shares.total >= (OPUS_HALVINGS + 2) * OPUS_BIT ? OPUS_BIT : 0;
    shares.total -= filling;
    if (shares.total < 0) shares.total = 0;
    opus_share_out(f, &shares, trim);
    opus_fine(s, f);
    opus_shapes(s, f, filling);
    int fill = filling && opus_plain(b, 1);
    opus_finest(s, f);
    if (fill) opus_fill_up(s, f);
    if (f->silent)
        for (int c = 0; c < f->channels; c++)
            for (int i = 0; i < f->bands; i++) s->level[c][i] = -28;
    return opus_tell(b) > f->size ? AUDIO_OPUS_ODD : AUDIO_OK;
}

ISA static int opus_frame_decode(audio_opus_state *s, const uint8_t *p, size_t n, int channels, int bands,
                                 int wanted) {
    opus_frame f = {.size = (int32_t)(8 * n), .channels = channels, .bands = bands, .noise = s->noise};
    int mean = wanted == AUDIO_MEAN && channels == 2;
    opus_begin(&f.bits, p, n);
    int rc = opus_read(s, &f);
    if (rc != AUDIO_OK) return rc;
    for (int c = 0; c < channels; c++) {
        if (f.silent)
            memset(s->lines[c], 0, sizeof s->lines[c]);
        else
            opus_scale_lines(s, &f, c, mean ? 0.5f : 1, s->lines[c]);
    }
    for (int i = 0; i < OPUS_LINES && mean; i += L) V(s->lines[0] + i) += CV(s->lines[1] + i);
    for (int c = 0; c < (mean ? 1 : channels) && wanted; c++)
        if (channels == 1 || mean || wanted >> c & 1) opus_synthesis(s, &f, c);
    opus_remember(s, &f);
    s->pitch = f.pitch;
    s->noise = f.bits.range;
    return AUDIO_OK;
}
