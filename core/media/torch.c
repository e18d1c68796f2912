/* torch.c - torchvision's v2 on a tensor of bytes: contrast, and what torch_isa.h has in plain C. */
#include <math.h>

#include "torch.h"

#define ISA

static inline v8 fused(v8 sum, v8 a, v8 b) {
    v8 to;
    for (int i = 0; i < 8; i++) to[i] = media_fused(sum[i], a[i], b[i]);
    return to;
}

static inline v4 fused4(v4 sum, v4 a, v4 b) {
    v4 to;
    for (int i = 0; i < 4; i++) to[i] = media_fused(sum[i], a[i], b[i]);
    return to;
}

static inline v4 four(const uint8_t *c) { return (v4){c[0], c[1], c[2], c[3]}; }

static inline void whole4(uint8_t *to, int step, v4 v) {
    for (int i = 0; i < (step == 1 ? 1 : 3); i++) to[i] = (uint8_t)lrintf(v[i]);
}

static inline void apart(const uint8_t *c, int step, v8i of[3]) {
    for (int i = 0; i < 8; i++, c += step)
        for (int ch = 0; ch < 3; ch++) of[ch][i] = c[ch];
}

static inline void put(uint8_t *c, int step, const v8i of[3]) {
    for (int i = 0; i < 8; i++, c += step)
        for (int ch = 0; ch < 3; ch++) c[ch] = (uint8_t)of[ch][i];
}

#include "torch_isa.h"
#include "torch_warp_isa.h"

const media_torch media_torch_portable = {to_gray, sum_gray, saturate, turn, warp};

static int32_t kind_of_tensor(int32_t kind) {
    switch (kind) {
    case MEDIA_CONTRAST: return MEDIA_TORCH_CONTRAST;
    case MEDIA_SATURATION: return MEDIA_TORCH_SATURATION;
    case MEDIA_HUE: return MEDIA_TORCH_HUE;
    case MEDIA_TO_GRAY: return MEDIA_TORCH_GRAY;
    case MEDIA_SHARPNESS: return MEDIA_TORCH_SHARPNESS;
    case MEDIA_AUTOCONTRAST: return MEDIA_TORCH_AUTOCONTRAST;
    case MEDIA_PERSPECTIVE: return MEDIA_TORCH_PERSPECTIVE;
    default: return kind;
    }
}

void media_of_tensor(media_retouch *r, uint32_t step) {
    r->kind = kind_of_tensor(r->kind);
    if (step == MEDIA_DO_JITTER || step == MEDIA_DO_DISTORT)
        r->value = (float)r->value; /* as torchvision draws it */
}

static uint64_t sum_values(const media_pixels *px) {
    uint64_t sum = 0;
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++) sum += c[x];
    }
    return sum;
}

/* The mean is a quotient of floats. torch adds up floats, which are whole numbers and exact up to 2^24; of larger pictures its last bit depends on the
 * order, which differs between processors, and here the sum is rounded once. */
void media_torch_contrast(const media_pixels *px, const media_kernels *by, double factor) {
    const uint64_t sum = px->step == 1 ? sum_values(px) : by->torch->sum_gray(px);
    const float mean = (float)sum / ((float)px->w * (float)px->h);
    const float own = (float)factor, of_mean = media_torch_rest(factor);
    uint8_t table[256];
    for (int x = 0; x < 256; x++) {
        float v = fmaf(mean, of_mean, (float)x * own);
        table[x] = media_cut(v);
    }
    by->by_table(px, table);
}
