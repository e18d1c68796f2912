/* kernels.c - what our kernels do, in C, by the name of their entry. */
#include "fake.h"

#include <math.h>
#include <string.h>

/* fill(u64 to, u32 n, u32 value): n bytes. For tests of the fake itself. */
static void fill(void **params, const unsigned grid[3], const unsigned block[3]) {
    uint64_t to;
    uint32_t n, value;
    (void)grid, (void)block;
    memcpy(&to, params[0], 8);
    memcpy(&n, params[1], 4);
    memcpy(&value, params[2], 4);
    memset((void *)(uintptr_t)to, (int)value, n);
}

/* ---- finish.ptx ---------------------------------------------------------------------------------- */

static uint32_t bits_of(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static uint16_t to_bf16(float f) { return (uint16_t)((bits_of(f) + 0x7fff + (bits_of(f) >> 16 & 1)) >> 16); }

/* To nearest, ties to even. Infinity for what is too large; no NaN comes here. */
static uint16_t to_f16(float f) {
    uint32_t b = bits_of(f), sign = b >> 16 & 0x8000, magnitude = b & 0x7fffffff;
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) { /* subnormal: the float adder rounds */
        float shifted;
        memcpy(&shifted, &magnitude, sizeof shifted);
        shifted += 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - 0x3f000000));
    }
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
}

enum number { F32, F16, BF16 };

/* (u64 to, u64 from, u32 plane, u32 channels, f32 scale[4], f32 bias[4]); the grid's y are the rows. */
static void finish(void **params, const unsigned grid[3], enum number type) {
    uint64_t to, from;
    uint32_t plane, channels;
    float scale[4], bias[4];
    memcpy(&to, params[0], 8);
    memcpy(&from, params[1], 8);
    memcpy(&plane, params[2], 4);
    memcpy(&channels, params[3], 4);
    for (int c = 0; c < 4; c++) {
        memcpy(&scale[c], params[4 + c], 4);
        memcpy(&bias[c], params[8 + c], 4);
    }
    const uint8_t *in = (const uint8_t *)(uintptr_t)from;
    for (uint64_t n = 0; n < grid[1]; n++)
        for (uint64_t c = 0; c < channels; c++)
            for (uint64_t p = 0; p < plane; p++) {
                float x = fmaf(in[(n * plane + p) * channels + c], scale[c], bias[c]);
                uint64_t at = (n * channels + c) * plane + p;
                if (type == F32)
                    ((float *)(uintptr_t)to)[at] = x;
                else
                    ((uint16_t *)(uintptr_t)to)[at] = type == F16 ? to_f16(x) : to_bf16(x);
            }
}

static void finish_f32(void **params, const unsigned grid[3], const unsigned block[3]) {
    (void)block;
    finish(params, grid, F32);
}
static void finish_f16(void **params, const unsigned grid[3], const unsigned block[3]) {
    (void)block;
    finish(params, grid, F16);
}
static void finish_bf16(void **params, const unsigned grid[3], const unsigned block[3]) {
    (void)block;
    finish(params, grid, BF16);
}

/* ---- resize.cu, the same source ------------------------------------------------------------------------- */

static _Thread_local unsigned kernel_index, kernel_row;
#define KERNEL static void
#define DEVICE static
#define INDEX kernel_index
#define ROW kernel_row
#include "../../core/device/cuda/resize.cu"

#define PARAM(type, i) (*(const type *)params[i])
#define POINTER(type, i) ((type)(uintptr_t)PARAM(uint64_t, i))

static void weights(void **params, const unsigned grid[3], const unsigned block[3]) {
    for (kernel_row = 0; kernel_row < grid[1]; kernel_row++)
        for (kernel_index = 0; kernel_index < grid[0] * block[0]; kernel_index++)
            spdl_weights(POINTER(const gpu_place *, 0), POINTER(int *, 1), PARAM(int, 2), PARAM(int, 3),
                         PARAM(int, 4), PARAM(int, 5));
}

static void resize(void **params, const unsigned grid[3], const unsigned block[3]) {
    for (kernel_row = 0; kernel_row < grid[1]; kernel_row++)
        for (kernel_index = 0; kernel_index < grid[0] * block[0]; kernel_index++)
            spdl_resize(POINTER(const gpu_place *, 0), POINTER(const int *, 1), POINTER(unsigned char *, 2),
                        PARAM(int, 3), PARAM(int, 4), PARAM(int, 5));
}

static const fake_kernel kernels[] = {
    {"fill", "844", fill},
    {"spdl_finish_f32", "884444444444", finish_f32},
    {"spdl_finish_f16", "884444444444", finish_f16},
    {"spdl_finish_bf16", "884444444444", finish_bf16},
    {"spdl_weights", "884444", weights},
    {"spdl_resize", "888444", resize},
};

const fake_kernel *fake_find_kernel(const char *name) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0) return &kernels[i];
    return NULL;
}
