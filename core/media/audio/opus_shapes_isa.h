/* opus_shapes_isa.h - the shapes of a frame of Opus' bands (RFC 6716, 4.3.4): where pulses lie, how shares are split, and what is folded; part of
 * kernels_isa.h. */
#include "opus_shares_isa.h"

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
