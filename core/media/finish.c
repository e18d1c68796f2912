/* finish.c - 8-bit lines into the batch's type and layout, from tables.
 *
 * A float value is (x / 255 - mean) / std in float arithmetic, each step
 * rounded, as torchvision's ToTensor and Normalize give it; f16 and bf16 are
 * that value rounded to nearest even. There are 256 of them a channel. */
#include <string.h>

#include "internal.h"

#if defined(__x86_64__)
#include "finish_avx2.h"
#endif

/* Bits of x shifted right by n, rounded to nearest even. */
static uint32_t shift_even(uint32_t x, int n) {
    uint32_t half = 1u << (n - 1), rest = x & ((1u << n) - 1);
    uint32_t y = x >> n;
    return y + (rest > half || (rest == half && (y & 1)));
}

uint16_t media_f16(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    uint32_t sign = x >> 16 & 0x8000, exp = x >> 23 & 0xff, frac = x & 0x7fffff;
    if (exp == 0xff) return (uint16_t)(sign | 0x7c00 | (frac ? 0x200 | frac >> 13 : 0));
    int e = (int)exp - 127 + 15;
    if (e >= 31) return (uint16_t)(sign | 0x7c00);
    if (e <= -11) return (uint16_t)sign;
    if (e <= 0) return (uint16_t)(sign | shift_even(frac | 0x800000, 14 - e));
    return (uint16_t)(sign | shift_even((uint32_t)e << 23 | frac, 13));
}

uint16_t media_bf16(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    if ((x & 0x7fffffff) > 0x7f800000) return (uint16_t)(x >> 16 | 0x40);
    return (uint16_t)shift_even(x, 16);
}

int media_planar(const media_op *op) { return op->layout == MEDIA_NCHW && op->channels == 3; }

static size_t size_of(uint32_t dtype) { return dtype == MEDIA_U8 ? 1 : dtype == MEDIA_F32 ? 4 : 2; }

size_t media_pixel_bytes(const media_op *op) { return op->channels * size_of(op->dtype); }

size_t media_picture_bytes(const media_op *op) {
    size_t pixels = op->open ? (size_t)op->room_h * op->room_w : (size_t)op->out_h * op->out_w;
    return pixels * media_pixel_bytes(op) * (op->patch ? op->temporal : 1);
}

size_t media_op_row_bytes(const media_op *op) { return op->most * media_picture_bytes(op); }

/* A flip is part of the geometry unless something else is done before, or may be, or it comes ahead itself. */
static void init_flips(media_op *op) {
    const uint32_t ahead = op->ahead[0] + op->ahead[1], shuffled = op->shuffled[0];
    int others = 0;
    for (uint32_t i = 0; i < op->n_steps; i++) {
        media_step *s = &op->steps[i];
        int first = s->kind <= MEDIA_DO_VFLIP && s->again == 0;
        s->late = !first || i < ahead || others > 0 || (i >= shuffled && i < shuffled + op->shuffled[1]);
        if (!first && i >= ahead) others++;
    }
}

void media_op_init(media_op *op) {
    op->channels = op->mode == MEDIA_RGB ? 3 : 1;
    op->line = op->open ? op->room_w : op->out_w;
    op->lines = op->open ? op->room_h : op->out_h;
    op->most = 1;
    for (uint32_t i = 0; op->tiling && i < op->n_grids; i++) {
        const int32_t tiles = op->grids[i][0] * op->grids[i][1];
        const uint32_t n = (uint32_t)(tiles + media_with_whole(op, tiles));
        if (n > op->most) op->most = n;
    }
    init_flips(op);
    if (op->dtype == MEDIA_U8) return; /* bytes are what they are */
    for (int ch = 0; ch < 3; ch++) {
        op->inv_std[ch] = 1.0f / op->std[ch];
        for (int x = 0; x < 256; x++) {
            volatile float unit = (float)x / 255.0f;
            volatile float moved = unit - op->mean[ch];
            float v = moved / op->std[ch];
            op->lut[ch][x] = v;
            op->lut16[ch][x] = op->dtype == MEDIA_BF16 ? media_bf16(v) : media_f16(v);
        }
    }
    op->fma_exact = 0;
#if defined(__x86_64__)
    if (media_best_kernels(0) != &media_portable) op->fma_exact = (uint32_t)media_finish_avx2_exact(op);
#endif
}

/* n values of one channel, from line at `step`, to consecutive elements of dst. */
static void finish_plane(const media_op *op, const uint8_t *line, int step, int ch, size_t at, uint32_t n,
                         void *dst) {
    if (op->dtype == MEDIA_U8) {
        uint8_t *d = (uint8_t *)dst + at;
        for (uint32_t x = 0; x < n; x++) d[x] = line[x * step];
    } else if (op->dtype == MEDIA_F32) {
        uint8_t *d = (uint8_t *)dst + at * 4;
        for (uint32_t x = 0; x < n; x++) memcpy(d + 4 * x, &op->lut[ch][line[x * step]], 4);
    } else {
        uint8_t *d = (uint8_t *)dst + at * 2;
        for (uint32_t x = 0; x < n; x++) memcpy(d + 2 * x, &op->lut16[ch][line[x * step]], 2);
    }
}

static void finish_flat(const media_op *op, const uint8_t *line, size_t at, uint32_t n, void *dst) {
    uint32_t ch = 0, channels = op->channels;
    if (op->dtype == MEDIA_U8) {
        memcpy((uint8_t *)dst + at, line, n);
        return;
    }
    for (uint32_t x = 0; x < n; x++) {
        if (op->dtype == MEDIA_F32)
            memcpy((uint8_t *)dst + (at + x) * 4, &op->lut[ch][line[x]], 4);
        else
            memcpy((uint8_t *)dst + (at + x) * 2, &op->lut16[ch][line[x]], 2);
        ch = ch + 1 == channels ? 0 : ch + 1;
    }
}

void media_finish_portable(const media_op *op, const uint8_t *line, int32_t y, void *dst) {
    size_t at = (size_t)y * op->line, plane = media_plane_pixels(op);
    if (!media_planar(op)) {
        finish_flat(op, line, at * op->channels, op->out_w * op->channels, dst);
        return;
    }
    for (int ch = 0; ch < 3; ch++) finish_plane(op, line + ch, 4, ch, ch * plane + at, op->out_w, dst);
}

void media_clear_beyond(const media_op *op, void *dst) {
    size_t planes = media_planar(op) ? op->channels : 1, pixel = media_pixel_bytes(op) / planes;
    size_t line = op->line * pixel, used = op->out_w * pixel, lines = (op->lines - op->out_h) * line;
    for (size_t i = 0; i < planes; i++) {
        uint8_t *to = (uint8_t *)dst + i * media_plane_pixels(op) * pixel;
        for (uint32_t y = 0; used < line && y < op->out_h; y++) memset(to + y * line + used, 0, line - used);
        memset(to + op->out_h * line, 0, lines);
    }
}
