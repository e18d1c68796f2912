/* opus_isa.h - what is in a frame of Opus that is coded by transform: levels, shares of bits, shapes of bands, and the synthesis; part of
 * kernels_isa.h. Bits are counted in eighths where that is said. */
#include "opus.h"
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

/* --- bits: numbers by a range coder from the front, plain ones from the back (4.1) --- */

typedef struct opus_bits {
    const uint8_t *p;
    uint32_t n, front, back; /* bytes, and those that were read from either side */
    uint32_t range, value, half;
    int32_t used; /* bits, with those that the range holds */
    uint64_t window;
    int32_t windowed; /* bits of it */
} opus_bits;

ISA static inline int opus_log2(uint32_t x) { return 32 - __builtin_clz(x); } /* of x > 0, and one more */

ISA static inline void opus_refill(opus_bits *b) {
    while (b->range <= 1U << 23) {
        uint32_t next = b->front < b->n ? b->p[b->front] : 0, byte = (b->half << 8 | next) >> 1 & 255;
        b->front++;
        b->half = next;
        b->value = (b->value << 8 | (byte ^ 255)) & 0x7fffffff;
        b->range <<= 8;
        b->used += 8;
    }
}

ISA static void opus_begin(opus_bits *b, const uint8_t *p, size_t n) {
    *b = (opus_bits){.p = p, .n = (uint32_t)n, .front = 1, .range = 128, .half = p[0], .used = 9};
    b->value = 127 - (b->half >> 1);
    opus_refill(b);
}

ISA static inline int32_t opus_tell(const opus_bits *b) { return b->used - opus_log2(b->range); }

/* The same in eighths. */
ISA static inline int32_t opus_tell8(const opus_bits *b) {
    static const uint16_t step[8] = {35733, 38967, 42495, 46340, 50535, 55109, 60097, 65535};
    int log = opus_log2(b->range);
    uint32_t r = b->range >> (log - 16), eighth = (r >> 12) - 8;
    eighth += r > step[eighth];
    return b->used * 8 - (log * 8 + (int32_t)eighth);
}

/* Of what [from, to) of `all` is taken. */
ISA static inline void opus_took(opus_bits *b, uint32_t unit, uint32_t from, uint32_t to, uint32_t all) {
    uint32_t above = unit * (all - to);
    b->value -= above;
    b->range = from > 0 ? unit * (to - from) : b->range - above;
    opus_refill(b);
}

/* Which of `all` it is. */
ISA static inline uint32_t opus_which(const opus_bits *b, uint32_t unit, uint32_t all) {
    uint32_t s = b->value / unit + 1;
    return s < all ? all - s : 0;
}

/* One that has a chance of 2^-log. */
ISA static inline int opus_flag(opus_bits *b, int log) {
    uint32_t part = b->range >> log;
    int set = b->value < part;
    if (!set) b->value -= part;
    b->range = set ? part : b->range - part;
    opus_refill(b);
    return set;
}

ISA static inline int opus_of(opus_bits *b, const uint8_t *above, int log) {
    uint32_t unit = b->range >> log, low, high = b->range;
    int i = 0;
    for (low = unit * above[0]; b->value < low; low = unit * above[i]) high = low, i++;
    b->value -= low;
    b->range = high - low;
    opus_refill(b);
    return i;
}

/* k plain bits, at most 25. */
ISA static inline uint32_t opus_plain(opus_bits *b, int k) {
    while (b->windowed < k) {
        uint64_t next = b->back < b->n ? b->p[b->n - 1 - b->back] : 0;
        b->back++;
        b->window |= next << b->windowed;
        b->windowed += 8;
    }
    uint32_t x = (uint32_t)b->window & ((1U << k) - 1);
    b->window >>= k;
    b->windowed -= k;
    b->used += k;
    return x;
}

/* One of n > 1, all alike. */
ISA static inline uint32_t opus_one_of(opus_bits *b, uint32_t n) {
    int plain = opus_log2(n - 1) - 8;
    if (plain <= 0) {
        uint32_t unit = b->range / n, x = opus_which(b, unit, n);
        opus_took(b, unit, x, x + 1, n);
        return x;
    }
    uint32_t high = ((n - 1) >> plain) + 1, unit = b->range / high, x = opus_which(b, unit, high);
    opus_took(b, unit, x, x + 1, high);
    x = x << plain | opus_plain(b, plain);
    return x < n ? x : n - 1; /* as the reference decoder takes what no encoder writes */
}

/* A number around 0 of which this chance (of 2^15) is 0's, and that of others falls off by `decay` (of 2^15 again) (4.3.2.1). */
ISA static int opus_laplace(opus_bits *b, uint32_t chance, uint32_t decay) {
    uint32_t unit = b->range >> 15, at = opus_which(b, unit, 1 << 15), from = 0;
    int x = 0;
    if (at >= chance) {
        x = 1;
        from = chance;
        chance = ((32768 - 32 - chance) * (16384 - decay) >> 15) + 1;
        for (; chance > 1 && at >= from + 2 * chance; x++) {
            from += 2 * chance;
            chance = ((2 * chance - 2) * decay >> 15) + 1;
        }
        if (chance <= 1) {
            uint32_t more = (at - from) >> 1;
            x += (int)more;
            from += 2 * more;
        }
        if (at < from + chance)
            x = -x;
        else
            from += chance;
    }
    uint32_t to = from + chance;
    opus_took(b, unit, from, to < 32768 ? to : 32768, 32768);
    return x;
}

/* --- what a frame says before its shapes --- */

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
    int32_t shape[OPUS_BANDS], fine[OPUS_BANDS],
        late[OPUS_BANDS]; /* eighths; bits of levels; whether it comes late to what is left */
    int32_t balance;      /* eighths that are left */
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

/* --- shapes of bands (4.3.4) --- */

/* Pulses, as a list of costs counts them. */
ISA static inline int opus_pulses(int i) { return i < 8 ? i : (8 + (i & 7)) << ((i >> 3) - 1); }

/* Which one of all ways to place k pulses on n > 1 lines it is, to x; the sum of their squares is returned. */
ISA static int32_t opus_place(opus_bits *b, int n, int k, int32_t *x) {
    const uint32_t(*ways)[AUDIO_OPUS_PULSES + 2] = audio_opus_table.ways;
    uint32_t i = opus_one_of(b, ways[n][k] + ways[n][k + 1]);
    int32_t square = 0;
    memset(x, 0, (size_t)n * sizeof *x);
    for (const uint32_t *u = ways[n]; n > 2 && k > 1; n--, x++, u -= AUDIO_OPUS_PULSES + 2) {
        uint32_t none = u[k], negative = u[k + 1];
        if (i - none < negative - none) { /* no pulse here */
            i -= none;
            continue;
        }
        int32_t sign = -(int32_t)(i >= negative), left = k - 1;
        i -= negative & (uint32_t)sign;
        while (u[left] > i) left--;
        i -= u[left];
        int32_t value = k - left;
        square += value * value;
        *x = (value ^ sign) - sign;
        k = left;
    }
    if (k <= 1) { /* positive ones, the first place first, and negative ones, the last first */
        uint32_t places = (uint32_t)n;
        if (k == 1) x[i < places ? i : 2 * places - 1 - i] = i < places ? 1 : -1;
        return square + k;
    }
    uint32_t all = 2 * (uint32_t)k + 1;
    int negative = i >= all;
    if (negative) i -= all;
    int32_t left = (int32_t)((i + 1) >> 1), value = k - left;
    if (left) i -= 2 * (uint32_t)left - 1;
    x[0] = negative ? -value : value;
    x[1] = i ? -left : left;
    return square + value * value + left * left;
}

/* One after the other, pairs of lines that lie `apart` are turned; from the last one before, back again. */
ISA static inline void opus_turn_pairs(float *x, int n, int apart, float c, float s) {
    for (int i = 0; i < n - apart; i++) {
        float a = x[i], z = x[i + apart];
        x[i + apart] = c * z + s * a;
        x[i] = c * a - s * z;
    }
    for (int i = n - 2 * apart - 1; i >= 0; i--) {
        float a = x[i], z = x[i + apart];
        x[i + apart] = c * z + s * a;
        x[i] = c * a - s * z;
    }
}

/* Spread k pulses over n lines of so many blocks (4.3.4.3). */
ISA static void opus_spread(float *x, int n, int blocks, int k, int spread) {
    static const int factor[4] = {0, 15, 10, 5};
    if (2 * k >= n || spread == OPUS_SPREAD_NONE) return;
    float gain = (float)n / (float)(n + factor[spread] * k), angle = 0.5f * gain * gain;
    float c = cosf(1.57079632679f * angle), s = cosf(1.57079632679f * (1 - angle));
    int apart = 0, each = n / blocks;
    if (n >= 8 * blocks)
        for (apart = 1; (apart * apart + apart) * blocks + (blocks >> 2) < n;) apart++;
    for (int i = 0; i < blocks; i++) {
        if (apart) opus_turn_pairs(x + i * each, each, apart, s, c);
        opus_turn_pairs(x + i * each, each, 1, c, s);
    }
}

ISA static void opus_scale_to(float *x, int n, float gain) {
    float sum = 1e-15f;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    float by = gain / sqrtf(sum);
    for (int i = 0; i < n; i++) x[i] *= by;
}

/* A shape of k pulses; the blocks that have any are returned. */
ISA static uint32_t opus_shape(opus_frame *f, float *x, int n, int k, int blocks, float gain) {
    int32_t pulses[OPUS_WIDEST], each = n / blocks;
    float by = gain / sqrtf((float)opus_place(&f->bits, n, k, pulses));
    uint32_t filled = 0;
    int i = 0;
    for (; i + L <= n; i += L) V(x + i) = __builtin_convertvector(*(const v8i *)(pulses + i), v8) * ALL(by);
    for (; i < n; i++) x[i] = (float)pulses[i] * by;
    if (blocks == 1)
        filled = 1;
    else
        for (i = 0; i < blocks; i++)
            for (int j = 0; j < each; j++) filled |= (uint32_t)(pulses[i * each + j] != 0) << i;
    opus_spread(x, n, blocks, k, f->spread);
    return filled;
}

ISA static inline uint32_t opus_noise(opus_frame *f) { return f->noise = 1664525 * f->noise + 1013904223; }

/* A shape without pulses: what is below, a little shaken, or noise, in the blocks that have anything there. */
ISA static uint32_t opus_fold(opus_frame *f, float *x, int n, int blocks, const float *below, float gain,
                              uint32_t fill) {
    uint32_t all = (1U << blocks) - 1;
    fill &= all;
    if (!fill) {
        memset(x, 0, (size_t)n * sizeof *x);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        uint32_t r = opus_noise(f);
        x[i] = below ? below[i] + (r & 0x8000 ? 0x1p-8f : -0x1p-8f) : (float)((int32_t)r >> 20);
    }
    opus_scale_to(x, n, gain);
    return below ? fill : all;
}

/* How a share is split in two: an angle, from all to the first to all to the second. */
typedef struct opus_split {
    int32_t angle, delta, cost; /* delta: eighths that the second has less; cost: of the angle */
    int32_t inverted;
    float first, second; /* gains */
} opus_split;

ISA static inline int32_t opus_product(int32_t a, int32_t b) { return (16384 + a * b) >> 15; }

/* The cosine of an angle, of 2^15: all decoders have to share bits alike. */
ISA static int32_t opus_cosine(int32_t angle) {
    int32_t x = (4096 + angle * angle) >> 13;
    return 1 + 32767 - x + opus_product(x, -7651 + opus_product(x, 8277 + opus_product(-626, x)));
}

/* 2048 times the logarithm of the tangent to the base of 2. */
ISA static int32_t opus_log_tangent(int32_t sine, int32_t cosine) {
    int of_sine = opus_log2((uint32_t)sine), of_cosine = opus_log2((uint32_t)cosine);
    sine <<= 15 - of_sine;
    cosine <<= 15 - of_cosine;
    return (of_sine - of_cosine) * 2048 + opus_product(sine, opus_product(sine, -2597) + 7932) -
           opus_product(cosine, opus_product(cosine, -2597) + 7932);
}

/* How many steps an angle has. */
ISA static int opus_steps(int n, int32_t bits, int32_t log) {
    static const uint16_t power[8] = {16384, 17866, 19483, 21247, 23170, 25267, 27554, 30048};
    int32_t free = 2 * n - 1, q = (bits + free * ((log >> 1) - 4)) / free;
    if (q > bits - log - 4 * OPUS_BIT) q = bits - log - 4 * OPUS_BIT;
    if (q > 8 * OPUS_BIT) q = 8 * OPUS_BIT;
    return q < OPUS_BIT / 2 ? 1 : ((power[q & 7] >> (14 - (q >> 3))) + 1) >> 1 << 1;
}

ISA static uint32_t opus_root(uint32_t x) {
    uint32_t r = (uint32_t)sqrtf((float)x);
    while (r * r > x) r--;
    while ((r + 1) * (r + 1) <= x) r++;
    return r;
}

/* The step of an angle: of two channels the lower half is thrice as likely, of blocks all are alike, and of lines the middle is most likely. */
ISA static int32_t opus_step(opus_bits *b, int steps, int pair, int blocks) {
    uint32_t half = (uint32_t)steps / 2, from, to, all, x;
    if (pair) {
        all = 3 * (half + 1) + half;
        uint32_t unit = b->range / all, at = opus_which(b, unit, all);
        x = at < 3 * (half + 1) ? at / 3 : at - 2 * (half + 1);
        from = x <= half ? 3 * x : x - 1 - half + 3 * (half + 1);
        opus_took(b, unit, from, from + (x <= half ? 3 : 1), all);
        return (int32_t)x;
    }
    if (blocks > 1) return (int32_t)opus_one_of(b, (uint32_t)steps + 1);
    all = (half + 1) * (half + 1);
    uint32_t unit = b->range / all, at = opus_which(b, unit, all), last = (uint32_t)steps + 1;
    if (at < half * (half + 1) >> 1) {
        x = (opus_root(8 * at + 1) - 1) >> 1;
        from = x * (x + 1) >> 1;
        to = from + x + 1;
    } else {
        x = (2 * last - opus_root(8 * (all - at - 1) + 1)) >> 1;
        from = all - ((last - x) * (last + 1 - x) >> 1);
        to = from + last - x;
    }
    opus_took(b, unit, from, to, all);
    return (int32_t)x;
}

/* Read how a share of n lines in each half is split; it is less what that cost. `before` is how many blocks there were before it was halved. */
ISA static void opus_read_split(opus_frame *f, opus_split *s, int band, int n, int32_t *share, int32_t left,
                                int blocks, int before, int halvings, int pair, uint32_t *fill) {
    opus_bits *b = &f->bits;
    int32_t log = opus_log_width[band] + halvings * OPUS_BIT, began = opus_tell8(b);
    int steps = pair && band >= f->joint ? 1 : opus_steps(n, *share, log);
    s->angle = s->inverted = 0;
    if (steps > 1)
        s->angle = opus_step(b, steps, pair, before) * OPUS_QUARTER / steps;
    else if (pair && *share > 2 * OPUS_BIT && left > 2 * OPUS_BIT)
        s->inverted = opus_flag(b, 2);
    s->cost = opus_tell8(b) - began;
    *share -= s->cost;
    int32_t cosine = 32767, sine = 0;
    s->delta = -OPUS_QUARTER;
    if (s->angle == 0) {
        *fill &= (1U << blocks) - 1;
    } else if (s->angle == OPUS_QUARTER) {
        cosine = 0, sine = 32767;
        s->delta = OPUS_QUARTER;
        *fill &= ((1U << blocks) - 1) << blocks;
    } else {
        cosine = opus_cosine(s->angle), sine = opus_cosine(OPUS_QUARTER - s->angle);
        s->delta = opus_product((n - 1) << 7, opus_log_tangent(sine, cosine));
    }
    s->first = (float)cosine * 0x1p-15f;
    s->second = (float)sine * 0x1p-15f;
}

/* What the first half gets of a share. */
ISA static inline int32_t opus_first_half(int32_t share, int32_t delta) {
    int32_t half = (share - delta) / 2;
    if (half > share) half = share;
    return half > 0 ? half : 0;
}

/* What the other half gets on top, as the one that came first left this of its share. */
ISA static inline int32_t opus_rest(int32_t share, int32_t used, int none) {
    int32_t rest = share - used;
    return rest > 3 * OPUS_BIT && !none ? rest - 3 * OPUS_BIT : 0;
}

/* A share of a band, of which *left is what the frame has: pulses, or two halves where there are too many. The blocks that have anything in them are
 * returned. */
ISA static uint32_t opus_part(opus_frame *f, int band, float *x, int n, int32_t share, int32_t *left,
                              int blocks, const float *below, int halvings, float gain, uint32_t fill) {
    const audio_opus_costs *list = audio_opus_table.costs[halvings + 1][band];
    const uint8_t *costs = list->cost;
    if (halvings >= 0 && n > 2 && share > costs[costs[0]] + 12) {
        opus_split s;
        int before = blocks;
        n >>= 1;
        halvings--;
        if (blocks == 1) fill = (fill & 1) | fill << 1;
        blocks = (blocks + 1) >> 1;
        opus_read_split(f, &s, band, n, &share, *left, blocks, before, halvings, 0, &fill);
        if (before > 1 && (s.angle & (OPUS_QUARTER - 1))) { /* pre-echoes are heard, post-echoes less */
            int32_t more = s.delta + (n * OPUS_BIT >> (5 - halvings));
            s.delta = s.angle > OPUS_QUARTER / 2 ? s.delta - (s.delta >> (4 - halvings))
                      : more < 0                 ? more
                                                 : 0;
        }
        int32_t first = opus_first_half(share, s.delta), second = share - first;
        const float *below2 = below ? below + n : NULL;
        uint32_t filled;
        *left -= s.cost;
        int32_t began = *left;
        if (first >= second) {
            filled = opus_part(f, band, x, n, first, left, blocks, below, halvings, gain * s.first, fill);
            second += opus_rest(first, began - *left, s.angle == 0);
            filled |= opus_part(f, band, x + n, n, second, left, blocks, below2, halvings, gain * s.second,
                                fill >> blocks)
                      << (before >> 1);
        } else {
            filled = opus_part(f, band, x + n, n, second, left, blocks, below2, halvings, gain * s.second,
                               fill >> blocks)
                     << (before >> 1);
            first += opus_rest(second, began - *left, s.angle == OPUS_QUARTER);
            filled |= opus_part(f, band, x, n, first, left, blocks, below, halvings, gain * s.first, fill);
        }
        return filled;
    }
    int k = list->pulses[share < AUDIO_OPUS_SHARES ? share : AUDIO_OPUS_SHARES - 1];
    while (k > 0 && costs[k] + 1 > *left) k--;
    if (k == 0) return opus_fold(f, x, n, blocks, below, gain, fill);
    *left -= costs[k] + 1;
    return opus_shape(f, x, n, opus_pulses(k), blocks, gain);
}

/* Sums and differences of neighbours, which lie `apart`. */
ISA static void opus_haar(float *x, int n, int apart) {
    for (int j = 0; j < n / 2; j++)
        for (int i = 0; i < apart; i++) {
            float *p = x + 2 * apart * j + i, a = 0.70710678f * p[0], b = 0.70710678f * p[apart];
            p[0] = a + b;
            p[apart] = a - b;
        }
}

/* Lines of which those of each block lie `blocks` apart, to blocks one behind the other, and back; blocks that came of a long one are sorted by how often they
 * change sign. */
ISA static void opus_by_block(float *x, int n, int blocks, int sorted, int back) {
    static const uint8_t order[] = {1, 0, 3, 0,  2, 1,  7, 0,  4, 3, 6, 1,  5, 2,  15,
                                    0, 8, 7, 12, 3, 11, 4, 14, 1, 9, 6, 13, 2, 10, 5};
    const uint8_t *to = order + blocks - 2;
    float copy[OPUS_WIDEST];
    memcpy(copy, x, (size_t)n * sizeof *x);
    for (int i = 0; i < blocks; i++) {
        int at = (sorted ? to[i] : i) * (n / blocks);
        for (int j = 0; j < n / blocks; j++)
            if (back)
                x[j * blocks + i] = copy[at + j];
            else
                x[at + j] = copy[j * blocks + i];
    }
}

/* One band of one channel, or of the mean of two, to x; what it is folded from is below, and what others fold from it goes to `keep`, where these are not NULL. The
 * blocks that have anything in them are returned. */
ISA static uint32_t opus_band(opus_frame *f, int band, float *x, int n, int32_t share, int32_t *left,
                              const float *below, float *keep, float gain, uint32_t fill) {
    static const uint8_t joined[16] = {0, 1, 1, 1, 2, 3, 3, 3, 2, 3, 3, 3, 2, 3, 3, 3};
    int blocks = f->transient ? OPUS_BLOCKS : 1, change = f->resolution[band], each = n / blocks;
    int sorted = blocks == 1, join = change > 0 ? change : 0, divide = 0;
    float copy[OPUS_WIDEST];
    if (below && (change || blocks > 1)) below = memcpy(copy, below, (size_t)n * sizeof *x);
    for (int k = 0; k < join; k++) {
        if (below) opus_haar(copy, n >> k, 1 << k);
        fill = joined[fill & 15] | (uint32_t)joined[fill >> 4] << 2;
    }
    blocks >>= join;
    each <<= join;
    for (; each % 2 == 0 && divide < -change; divide++) {
        if (below) opus_haar(copy, each, blocks);
        fill |= fill << blocks;
        blocks <<= 1;
        each >>= 1;
    }
    if (blocks > 1 && below) opus_by_block(copy, n, blocks << join, sorted, 0);
    uint32_t filled = opus_part(f, band, x, n, share, left, blocks, below, OPUS_HALVINGS, gain, fill);
    if (blocks > 1) opus_by_block(x, n, blocks << join, sorted, 1);
    for (; divide > 0; divide--) {
        blocks >>= 1;
        each <<= 1;
        filled |= filled >> blocks;
        opus_haar(x, each, blocks);
    }
    for (int k = 0; k < join; k++) {
        uint32_t wide = 0;
        for (int i = 0; i < 4; i++) wide |= (filled >> i & 1) * 3U << 2 * i;
        filled = wide;
        opus_haar(x, n >> k, 1 << k);
    }
    blocks <<= join;
    if (keep) {
        const v8 by = ALL(sqrtf((float)n));
        for (int i = 0; i < n; i += L) V(keep + i) = by * CV(x + i);
    }
    return filled & ((1U << blocks) - 1);
}

/* Middle, of this gain, and side become left and right. */
ISA static void opus_left_right(float *x, float *y, int n, float middle) {
    v8 products = ALL(0.0f), squares = ALL(0.0f);
    for (int i = 0; i < n; i += L) products += CV(x + i) * CV(y + i), squares += CV(y + i) * CV(y + i);
    float product = middle * sum_lanes(&products), side = sum_lanes(&squares);
    float left = middle * middle + side - 2 * product, right = middle * middle + side + 2 * product;
    if (left < 6e-4f || right < 6e-4f) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    const v8 gain = ALL(middle), to_left = ALL(1 / sqrtf(left)), to_right = ALL(1 / sqrtf(right));
    for (int i = 0; i < n; i += L) {
        v8 m = gain * CV(x + i), d = CV(y + i);
        V(x + i) = to_left * (m - d);
        V(y + i) = to_right * (m + d);
    }
}

/* One band of both channels that share its bits. */
ISA static uint32_t opus_pair(opus_frame *f, int band, float *x, float *y, int n, int32_t share,
                              int32_t *left, const float *below, float *keep, uint32_t fill) {
    opus_split s;
    uint32_t filled;
    int blocks = f->transient ? OPUS_BLOCKS : 1;
    opus_read_split(f, &s, band, n, &share, *left, blocks, blocks, OPUS_HALVINGS, 1, &fill);
    *left -= s.cost;
    int32_t first = opus_first_half(share, s.delta), second = share - first, began = *left;
    if (first >= second) {
        filled = opus_band(f, band, x, n, first, left, below, keep, 1, fill);
        second += opus_rest(first, began - *left, s.angle == 0);
        filled |= opus_band(f, band, y, n, second, left, NULL, NULL, s.second, fill >> blocks);
    } else {
        filled = opus_band(f, band, y, n, second, left, NULL, NULL, s.second, fill >> blocks);
        first += opus_rest(second, began - *left, s.angle == OPUS_QUARTER);
        filled |= opus_band(f, band, x, n, first, left, below, keep, 1, fill);
    }
    opus_left_right(x, y, n, s.first);
    for (int i = 0; i < n && s.inverted; i += L) V(y + i) = -CV(y + i);
    return filled;
}

/* The lines that a band is folded from: from `from` on, of what was kept; -1: none are. */
ISA static int opus_below(const opus_frame *f, int band, int lowest, int n, uint32_t fill[2]) {
    int twice = f->channels - 1;
    fill[0] = fill[1] = (1U << (f->transient ? OPUS_BLOCKS : 1)) - 1;
    if (lowest == 0 || (f->spread == OPUS_SPREAD_ALL && !f->transient && f->resolution[band] >= 0)) return -1;
    int from = opus_at[lowest] * OPUS_BLOCKS - n, first = lowest, last = lowest;
    if (from < 0) from = 0;
    do first--;
    while (opus_at[first] * OPUS_BLOCKS > from);
    while (last < band && opus_at[last] * OPUS_BLOCKS < from + n) last++;
    fill[0] = fill[1] = 0;
    for (int i = first; i < last || i == first; i++) {
        fill[0] |= f->filled[i][0];
        fill[1] |= f->filled[i][twice];
    }
    return from;
}

/* The shapes of all bands; `reserved` eighths are not theirs. */
ISA static void opus_shapes(audio_opus_state *s, opus_frame *f, int32_t reserved) {
    float kept[2][OPUS_LINES];
    int32_t balance = f->balance, size = f->size * OPUS_BIT - reserved;
    int lowest = 0, rich = 1, dual = f->dual;
    for (int i = 0; i < f->bands; i++) {
        int at = opus_at[i] * OPUS_BLOCKS, n = opus_width(i) * OPUS_BLOCKS;
        int32_t used = opus_tell8(&f->bits), left = size - used - 1, share = 0;
        if (i > 0) balance -= used;
        if (i < f->coded) {
            int32_t parts = f->coded - i < 3 ? f->coded - i : 3;
            share = f->shape[i] + balance / parts;
            if (share > left + 1) share = left + 1;
            if (share > 16383) share = 16383;
            if (share < 0) share = 0;
        }
        if (at >= n && (rich || lowest == 0)) lowest = i;
        uint32_t fill[2];
        int from = opus_below(f, i, lowest, n, fill);
        if (dual && i == f->joint) {
            dual = 0;
            for (int j = 0; j < at; j++) kept[0][j] = 0.5f * (kept[0][j] + kept[1][j]);
        }
        float *x = s->lines[0] + at, *y = s->lines[1] + at;
        const float *below = from < 0 ? NULL : kept[0] + from, *below2 = from < 0 ? NULL : kept[1] + from;
        if (dual) {
            fill[0] = opus_band(f, i, x, n, share / 2, &left, below, kept[0] + at, 1, fill[0]);
            fill[1] = opus_band(f, i, y, n, share / 2, &left, below2, kept[1] + at, 1, fill[1]);
        } else {
            uint32_t both = fill[0] | fill[1];
            if (f->channels == 2)
                both = opus_pair(f, i, x, y, n, share, &left, below, kept[0] + at, both);
            else
                both = opus_band(f, i, x, n, share, &left, below, kept[0] + at, 1, both);
            fill[0] = fill[1] = both;
        }
        for (int c = 0; c < 2; c++) f->filled[i][c] = (uint8_t)fill[c];
        balance += f->shape[i] + used;
        rich = share > n * OPUS_BIT;
    }
}

/* Short blocks that have nothing in them get noise, as loud as what is around them may have been (4.3.5). */
ISA static void opus_fill_up(audio_opus_state *s, opus_frame *f) {
    for (int i = 0; i < f->bands; i++) {
        int width = opus_width(i), n = width * OPUS_BLOCKS;
        float most = 0.5f * exp2f(-0.125f * (float)((1 + f->shape[i]) / width >> OPUS_HALVINGS));
        for (int c = 0; c < f->channels; c++) {
            if (f->filled[i][c] == 255) continue;
            float *x = s->lines[c] + opus_at[i] * OPUS_BLOCKS;
            float before = s->before[c][i] < s->earlier[c][i] ? s->before[c][i] : s->earlier[c][i];
            float more = s->level[c][i] - before, level = 2.82842712f * exp2f(more > 0 ? -more : 0);
            level = (level < most ? level : most) / sqrtf((float)n);
            for (int k = 0; k < OPUS_BLOCKS; k++)
                for (int j = 0; j < width && !(f->filled[i][c] >> k & 1); j++)
                    x[j * OPUS_BLOCKS + k] = opus_noise(f) & 0x8000 ? level : -level;
            opus_scale_to(x, n, 1);
        }
    }
}

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
        v8 scale_by = ALL(by * exp2f(level < 32 ? level : 32));
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
