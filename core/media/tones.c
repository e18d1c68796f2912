/* tones.c - every value of a row by a table: solarize, posterize, invert, autocontrast, equalize.
 *
 * The tables are those of Pillow's ImageOps, which torchvision calls; of solarize_add timm's. Those of the last two come from how often each value of
 * a channel is there. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <string.h>

#include "internal.h"

/* The byte at bit i of eight. */
static inline uint64_t looked_up(const uint8_t table[256], uint64_t eight, int i) {
    return (uint64_t)table[eight >> i & 255] << i;
}

/* Eight bytes at a time, past the end into slack: memory is read and written less often than one by one. */
void media_by_table(const media_pixels *px, const uint8_t table[256]) {
    const size_t n = (size_t)px->w * (size_t)px->step;
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *line = media_line(px, y);
        for (size_t x = 0; x < n; x += sizeof(uint64_t)) {
            uint64_t v;
            memcpy(&v, line + x, sizeof v);
            v = looked_up(table, v, 0) | looked_up(table, v, 8) | looked_up(table, v, 16) |
                looked_up(table, v, 24) | looked_up(table, v, 32) | looked_up(table, v, 40) |
                looked_up(table, v, 48) | looked_up(table, v, 56);
            memcpy(line + x, &v, sizeof v);
        }
    }
}

void media_solarize(const media_pixels *px, const media_kernels *by, double threshold) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) table[x] = (uint8_t)(x < threshold ? x : 255 - x);
    by->by_table(px, table);
}

void media_solarize_add(const media_pixels *px, const media_kernels *by, int add) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) table[x] = (uint8_t)(x >= 128 ? x : x + add < 255 ? x + add : 255);
    by->by_table(px, table);
}

void media_posterize(const media_pixels *px, const media_kernels *by, int bits) {
    uint8_t table[256];
    for (int x = 0; x < 256; x++) table[x] = (uint8_t)(x & ~((1 << (8 - bits)) - 1));
    by->by_table(px, table);
}

void media_invert(const media_pixels *px, const media_kernels *by) { media_solarize(px, by, 0); }

/* A histogram, or a table, of each channel. */
typedef struct channels_u32 {
    uint32_t of[3][256];
} channels_u32;

typedef struct channels_u8 {
    uint8_t of[3][256];
} channels_u8;

static int channels(const media_pixels *px) { return px->step == 1 ? 1 : 3; }

static void count(const media_pixels *px, channels_u32 *n) {
    memset(n, 0, sizeof *n);
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y), *end = c + (size_t)px->w * (size_t)px->step;
        if (px->step == 1) {
            for (; c < end; c++) n->of[0][c[0]]++;
            continue;
        }
        for (; c < end; c += px->step) {
            n->of[0][c[0]]++;
            n->of[1][c[1]]++;
            n->of[2][c[2]]++;
        }
    }
}

void media_by_tables(const media_pixels *px, const uint8_t of[3][256]) {
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y), *end = c + (size_t)px->w * (size_t)px->step;
        for (; c < end; c += px->step) {
            c[0] = of[0][c[0]];
            c[1] = of[1][c[1]];
            c[2] = of[2][c[2]];
        }
    }
}

void media_by_channels(const media_pixels *px, const media_kernels *by, const uint8_t of[3][256]) {
    if (px->step == 1 || (memcmp(of[0], of[1], 256) == 0 && memcmp(of[0], of[2], 256) == 0))
        by->by_table(px, of[0]);
    else
        by->by_tables(px, of);
}

/* The smallest value that is there, and the largest. */
static void ends(const uint32_t n[256], int *low, int *high) {
    for (*low = 0; *low < 255 && n[*low] == 0;) ++*low;
    for (*high = 255; *high > 0 && n[*high] == 0;) --*high;
}

/* The smallest value becomes 0 and the largest 255. */
static void stretch(const uint32_t n[256], const media_retouch *r, uint8_t table[256]) {
    (void)r;
    int low, high;
    ends(n, &low, &high);
    double scale = high > low ? 255.0 / (high - low) : 1, offset = high > low ? -low * scale : 0;
    for (int x = 0; x < 256; x++) {
        double v = x * scale + offset;
        table[x] = v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)v;
    }
}

/* The same as torchvision's v2 does it on a tensor of bytes: in floats of 32 bits, and by a quotient. */
static void stretch_tensor(const uint32_t n[256], const media_retouch *r, uint8_t table[256]) {
    (void)r;
    int low, high;
    ends(n, &low, &high);
    float least = high > low ? (float)low : 0;
    float share = high > low ? (float)(high - low) * (float)(1.0 / 255) : 1;
    for (int x = 0; x < 256; x++) {
        float v = ((float)x - least) / share;
        table[x] = media_cut(v);
    }
}

/* About equally many pixels of each value. */
static void flatten(const uint32_t n[256], const media_retouch *r, uint8_t table[256]) {
    (void)r;
    uint64_t all = 0, last = 0;
    for (int x = 0; x < 256; x++) {
        all += n[x];
        if (n[x] > 0) last = n[x];
    }
    uint64_t share = (all - last) / 255, sum = share / 2;
    for (int x = 0; x < 256; x++) {
        uint64_t v = share > 0 ? sum / share : (uint64_t)x;
        table[x] = (uint8_t)(v < 255 ? v : 255);
        sum += n[x];
    }
}

void media_by_histogram(const media_pixels *px, const media_kernels *by,
                        void (*make)(const uint32_t n[256], const media_retouch *r, uint8_t table[256]),
                        const media_retouch *r) {
    channels_u32 n;
    channels_u8 t;
    count(px, &n);
    for (int ch = 0; ch < channels(px); ch++) make(n.of[ch], r, t.of[ch]);
    media_by_channels(px, by, t.of);
}

void media_autocontrast(const media_pixels *px, const media_kernels *by) {
    media_by_histogram(px, by, stretch, NULL);
}

void media_torch_autocontrast(const media_pixels *px, const media_kernels *by) {
    media_by_histogram(px, by, stretch_tensor, NULL);
}

void media_equalize(const media_pixels *px, const media_kernels *by) {
    media_by_histogram(px, by, flatten, NULL);
}
