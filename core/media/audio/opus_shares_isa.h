/* opus_shares_isa.h - what a frame of Opus says before the shapes of its bands: levels, resolutions, and how its bits are shared; part of
 * kernels_isa.h. Bits are counted in eighths where that is said. */
#include "opus.h"
#include "opus_bits_isa.h"
#include "opus_tables.h"

enum {
    OPUS_LINES = AUDIO_OPUS_LINES,
    OPUS_SHORT = AUDIO_OPUS_SHORT,
    OPUS_BANDS = AUDIO_OPUS_BANDS,
    OPUS_BLOCKS = 8,     /* short ones of a frame; and lines of a long one to each of theirs */
    OPUS_HALVINGS = 3,   /* from a long block to a short one */
    OPUS_BIT = 8,        /* eighths */
    OPUS_FINEST = 8,     /* bits of a fine level */
    OPUS_WIDEST = 176,   /* lines of a band */
    OPUS_QUARTER = 16384 /* of a turn, as angles are counted */
};

enum { OPUS_SPREAD_NONE, OPUS_SPREAD_NORMAL = 2, OPUS_SPREAD_ALL };

typedef struct opus_frame {
    opus_bits bits;
    int32_t size; /* bits */
    int32_t channels, bands;
    int32_t silent, transient;
    audio_opus_pitch pitch;
    int32_t spread, dual; /* dual: channels are coded each on its own */
    int32_t joint;        /* the first band that has one shape for both channels */
    int32_t coded;        /* bands that have bits */
    int32_t resolution[OPUS_BANDS];
    int32_t shape[OPUS_BANDS]; /* eighths */
    int32_t fine[OPUS_BANDS];  /* bits of its level */
    int32_t late[OPUS_BANDS];  /* whether it comes late to what is left */
    int32_t balance;           /* eighths that are left */
    uint32_t noise;
    uint8_t filled[OPUS_BANDS][2]; /* the short blocks that have anything in them, a bit each */
} opus_frame;

ISA static inline int opus_width(int band) { return opus_at[band + 1] - opus_at[band]; }

/* The filter of pitches (4.3.7.1). */
ISA static void opus_pitch(opus_frame *f) {
    static const float taps[3][3] = {{0.306640625f, 0.2170410156f, 0.1296386719f},
                                     {0.4638671875f, 0.2680664062f, 0},
                                     {0.7998046875f, 0.1000976562f, 0}};
    opus_bits *b = &f->bits;
    if (!opus_flag(b, 1)) return;
    int octave = (int)opus_one_of(b, 6);
    f->pitch.period = (16 << octave) + (int32_t)opus_plain(b, 4 + octave) - 1;
    float gain = 0.09375f * (float)(opus_plain(b, 3) + 1);
    int which = opus_tell(b) + 2 <= f->size ? opus_of(b, opus_taps, 2) : 0;
    for (int i = 0; i < 3; i++) f->pitch.gain[i] = gain * taps[which][i];
}

/* Levels, as what they differ from the frame before and from the band below (4.3.2.1). */
ISA static void opus_coarse(audio_opus_state *s, opus_frame *f, int alone) {
    opus_bits *b = &f->bits;
    const uint8_t *model = opus_levels[alone];
    float before = alone ? 0 : 0.5f, leak = 1 - (alone ? 4915 / 32768.0f : 6554 / 32768.0f),
          below[2] = {0, 0};
    for (int i = 0; i < f->bands; i++, model += 2)
        for (int c = 0; c < f->channels; c++) {
            int left = f->size - opus_tell(b), x = -1;
            if (left >= 15) {
                x = opus_laplace(b, (uint32_t)model[0] << 7, (uint32_t)model[1] << 6);
            } else if (left >= 2) {
                x = opus_of(b, opus_small, 2);
                x = (x >> 1) ^ -(x & 1);
            } else if (left >= 1) {
                x = -opus_flag(b, 1);
            }
            float *level = &s->level[c][i];
            *level = before * (*level > -9 ? *level : -9) + below[c] + (float)x;
            below[c] += leak * (float)x;
        }
}

/* How fine each band is in time and in frequency (4.3.1). */
ISA static void opus_resolutions(opus_frame *f) {
    opus_bits *b = &f->bits;
    int log = f->transient ? 2 : 4, select = opus_tell(b) + log + 1 <= f->size, size = f->size - select;
    int changed = 0, any = 0;
    for (int i = 0; i < f->bands; i++) {
        if (opus_tell(b) + log <= size) any |= changed ^= opus_flag(b, log);
        f->resolution[i] = changed;
        log = f->transient ? 4 : 5;
    }
    const int8_t(*of)[2] = opus_resolution[f->transient];
    select = select && of[0][any] != of[1][any] && opus_flag(b, 1);
    for (int i = 0; i < f->bands; i++) f->resolution[i] = of[select][f->resolution[i]];
}

/* --- how bits are shared (4.3.3), in eighths --- */

typedef struct opus_shares {
    int32_t total;
    int32_t joint, dual; /* what is reserved to say these */
    int32_t most[OPUS_BANDS], least[OPUS_BANDS], boost[OPUS_BANDS], tilt[OPUS_BANDS];
    int32_t low[OPUS_BANDS], more[OPUS_BANDS];
    int32_t keep; /* no band up to this one is left out */
} opus_shares;

/* What single bands get in advance; how many eighths are left is returned. */
ISA static int32_t opus_boosts(opus_frame *f, opus_shares *s) {
    opus_bits *b = &f->bits;
    int32_t total = f->size * OPUS_BIT, first = 6;
    for (int i = 0; i < f->bands; i++) {
        int32_t lines = f->channels * opus_width(i) * OPUS_BLOCKS;
        int32_t step = lines < 6 * OPUS_BIT ? 6 * OPUS_BIT : lines, log = first;
        if (step > lines * OPUS_BIT) step = lines * OPUS_BIT;
        s->most[i] = (opus_most[f->channels - 1][i] + 64) * lines >> 2;
        s->boost[i] = 0;
        while (opus_tell8(b) + log * OPUS_BIT < total && s->boost[i] < s->most[i]) {
            if (!opus_flag(b, log)) break;
            s->boost[i] += step;
            total -= step;
            log = 1;
        }
        if (s->boost[i] > 0 && first > 2) first--;
    }
    return total;
}

/* What a quality, one above the best being all that is of use, gives a band. */
ISA static int32_t opus_share(const opus_frame *f, const opus_shares *s, int quality, int band) {
    int32_t bits = s->most[band];
    if (quality <= 10) bits = f->channels * opus_width(band) * opus_quality[quality][band] * OPUS_BLOCKS >> 2;
    if (bits > 0) bits += s->tilt[band];
    return bits < 0 ? 0 : bits;
}

/* What a band really takes of its share: less than its least is one bit for a level or nothing, unless a band above has more. */
ISA static inline int32_t opus_taken(const opus_frame *f, const opus_shares *s, int band, int32_t bits,
                                     int *above) {
    int32_t one = f->channels * OPUS_BIT;
    if (bits >= s->least[band] || *above) {
        *above = 1;
        return bits < s->most[band] ? bits : s->most[band];
    }
    return bits >= one ? one : 0;
}

/* The best quality that there are enough bits for, and how far it is to the next, in 64ths. */
ISA static int32_t opus_between(const opus_frame *f, opus_shares *s) {
    int low = 1, high = 10;
    while (low <= high) {
        int middle = (low + high) >> 1, above = 0;
        int32_t sum = 0;
        for (int i = f->bands - 1; i >= 0; i--)
            sum += opus_taken(f, s, i, opus_share(f, s, middle, i) + s->boost[i], &above);
        if (sum > s->total)
            high = middle - 1;
        else
            low = middle + 1;
    }
    for (int i = 0; i < f->bands; i++) {
        int32_t next = opus_share(f, s, low, i) + s->boost[i];
        s->low[i] = opus_share(f, s, low - 1, i) + (low > 1 ? s->boost[i] : 0);
        s->more[i] = next > s->low[i] ? next - s->low[i] : 0;
        if (s->boost[i] > 0) s->keep = i;
    }
    int32_t least = 0, most = 64;
    for (int step = 0; step < 6; step++) {
        int32_t middle = (least + most) >> 1, sum = 0;
        int above = 0;
        for (int i = f->bands - 1; i >= 0; i--)
            sum += opus_taken(f, s, i, s->low[i] + (middle * s->more[i] >> 6), &above);
        if (sum > s->total)
            most = middle;
        else
            least = middle;
    }
    return least;
}

/* Leave out bands from the top, as the frame says; sum is what they all have. */
ISA static int32_t opus_leave_out(opus_frame *f, opus_shares *s, int32_t sum, int32_t reserved) {
    int32_t one = f->channels * OPUS_BIT;
    for (f->coded = f->bands;; f->coded--) {
        int i = f->coded - 1;
        if (i <= s->keep) {
            s->total += reserved;
            return sum;
        }
        int32_t left = s->total - sum, each = left / opus_at[i + 1],
                over = left % opus_at[i + 1] - opus_at[i];
        int32_t bits = f->shape[i] + each * opus_width(i) + (over > 0 ? over : 0);
        if (bits >= (s->least[i] > one + OPUS_BIT ? s->least[i] : one + OPUS_BIT)) {
            if (opus_flag(&f->bits, 1)) return sum;
            sum += OPUS_BIT;
            bits -= OPUS_BIT;
        }
        sum -= f->shape[i] + s->joint;
        if (s->joint > 0) s->joint = opus_log[i];
        sum += s->joint;
        f->shape[i] = bits >= one ? one : 0;
        sum += f->shape[i];
    }
}

/* A band's bits, with what is left of others: those of its levels, and those of its shape. */
ISA static void opus_fine_share(opus_frame *f, const opus_shares *s, int i) {
    int32_t n = opus_width(i) * OPUS_BLOCKS, bits = f->shape[i] + f->balance;
    int32_t over = bits > s->most[i] ? bits - s->most[i] : 0;
    int log = (f->channels - 1) + 3;
    f->shape[i] = bits -= over;
    int32_t free = f->channels * n + (f->channels == 2 && !f->dual && i < f->joint);
    int32_t logs = free * (opus_log_width[i] + OPUS_HALVINGS * OPUS_BIT), offset = (logs >> 1) - free * 21;
    if (bits + offset < free * 2 * OPUS_BIT)
        offset += logs >> 2;
    else if (bits + offset < free * 3 * OPUS_BIT)
        offset += logs >> 3;
    int32_t fine = bits + offset + free * OPUS_BIT / 2;
    fine = fine < 0 ? 0 : fine / free / OPUS_BIT;
    if (f->channels * fine > bits / OPUS_BIT) fine = bits >> log;
    if (fine > OPUS_FINEST) fine = OPUS_FINEST;
    f->late[i] = fine * free * OPUS_BIT >= bits + offset;
    f->shape[i] -= f->channels * fine * OPUS_BIT;
    if (over > 0) {
        int32_t extra = over >> log;
        if (extra > OPUS_FINEST - fine) extra = OPUS_FINEST - fine;
        fine += extra;
        extra *= f->channels * OPUS_BIT;
        f->late[i] = extra >= over - f->balance;
        over -= extra;
    }
    f->fine[i] = fine;
    f->balance = over;
}

ISA static void opus_share_out(opus_frame *f, opus_shares *s, int trim) {
    opus_bits *b = &f->bits;
    int32_t reserved = s->total >= OPUS_BIT ? OPUS_BIT : 0, sum = 0;
    s->total -= reserved;
    s->joint = s->dual = 0;
    if (f->channels == 2 && opus_log[f->bands] <= s->total) {
        s->joint = opus_log[f->bands];
        s->total -= s->joint;
        s->dual = s->total >= OPUS_BIT ? OPUS_BIT : 0;
        s->total -= s->dual;
    }
    for (int i = 0; i < f->bands; i++) {
        int32_t lines = opus_width(i) * OPUS_BLOCKS, least = 3 * lines * OPUS_BIT >> 4;
        s->least[i] = least > f->channels * OPUS_BIT ? least : f->channels * OPUS_BIT;
        s->tilt[i] = f->channels * opus_width(i) * (trim - 5 - OPUS_HALVINGS) * (f->bands - 1 - i) * 64 >> 6;
    }
    s->keep = 0;
    int32_t part = opus_between(f, s);
    for (int i = f->bands - 1, above = 0; i >= 0; i--)
        sum += f->shape[i] = opus_taken(f, s, i, s->low[i] + (part * s->more[i] >> 6), &above);
    sum = opus_leave_out(f, s, sum, reserved);
    f->joint = s->joint > 0 ? (int32_t)opus_one_of(b, (uint32_t)f->coded + 1) : 0;
    if (f->joint == 0) {
        s->total += s->dual;
        s->dual = 0;
    }
    f->dual = s->dual > 0 && opus_flag(b, 1);
    int32_t left = s->total - sum, each = left / opus_at[f->coded];
    left -= each * opus_at[f->coded];
    f->balance = 0;
    for (int i = 0; i < f->coded; i++) {
        int32_t rest = left < opus_width(i) ? left : opus_width(i);
        f->shape[i] += each * opus_width(i) + rest;
        left -= rest;
    }
    for (int i = 0; i < f->coded; i++) opus_fine_share(f, s, i);
    for (int i = f->coded; i < f->bands; i++) {
        f->fine[i] = f->shape[i] / (f->channels * OPUS_BIT);
        f->shape[i] = 0;
        f->late[i] = f->fine[i] < 1;
    }
}

/* --- finer levels (4.3.2.2) --- */

ISA static void opus_fine(audio_opus_state *s, opus_frame *f) {
    for (int i = 0; i < f->bands; i++)
        for (int c = 0; c < f->channels && f->fine[i] > 0; c++) {
            float x = (float)opus_plain(&f->bits, f->fine[i]) + 0.5f;
            s->level[c][i] += x / (float)(1 << f->fine[i]) - 0.5f;
        }
}

/* What is left of the frame's bits, one by one. */
ISA static void opus_finest(audio_opus_state *s, opus_frame *f) {
    int32_t left = f->size - opus_tell(&f->bits);
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < f->bands && left >= f->channels; i++) {
            if (f->fine[i] >= OPUS_FINEST || f->late[i] != late) continue;
            for (int c = 0; c < f->channels; c++, left--)
                s->level[c][i] += ((float)opus_plain(&f->bits, 1) - 0.5f) / (float)(1 << (f->fine[i] + 1));
        }
}
