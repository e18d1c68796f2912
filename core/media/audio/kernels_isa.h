/* kernels_isa.h - the kernels of kernels.h over vectors of eight floats; included once per instruction set, with
 * ISA (an attribute), BANK (the table's name) and ISA_NAME. */
#include <math.h>
#include <string.h>

#include "../normal_isa.h"
#include "kernels.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef float v4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef int16_t v8s __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint16_t v8u __attribute__((vector_size(16), aligned(1), may_alias));

#define L AUDIO_LANES
#define V(p) (*(v8 *)(p))
#define CV(p) (*(const v8 *)(p))
#define V4(p) (*(v4 *)(p))
#define CV4(p) (*(const v4 *)(p))
/* a where it is larger (smaller) than b, b elsewhere: also where a is no number. */
#define MOST(a, b) PICK((a) > (b), a, b)
#define LEAST(a, b) PICK((a) < (b), a, b)

/* --- sample formats --- */

ISA static uint32_t swapped32(const uint8_t *p) {
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return __builtin_bswap32(x);
}

/* G.711's 8 bits are all but one of them inverted (mu-law: all), and a sign, an exponent and a mantissa. */
ISA static int32_t of_mulaw(uint8_t p) {
    int32_t u = ~p & 0xff, magnitude = ((((u & 15) << 3) + 132) << (u >> 4 & 7)) - 132;
    return u & 0x80 ? -magnitude : magnitude;
}

ISA static int32_t of_alaw(uint8_t p) {
    int32_t a = p ^ 0x55, twice = (a & 15) * 2 + 1, exponent = a >> 4 & 7;
    int32_t magnitude = exponent ? (twice + 32) << (exponent + 2) : twice << 3;
    return a & 0x80 ? magnitude : -magnitude;
}

ISA static float one_sample(const uint8_t *p, int encoding) {
    int16_t s16;
    int32_t s32;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
    switch (encoding) {
    case AUDIO_U8: return (float)((int)*p - 128) * 0x1p-7f;
    case AUDIO_S8: return (float)(int8_t)*p * 0x1p-7f;
    case AUDIO_S16: memcpy(&s16, p, sizeof s16); return (float)s16 * 0x1p-15f;
    case AUDIO_S16BE: return (float)(int16_t)(uint16_t)(p[0] << 8 | p[1]) * 0x1p-15f;
    case AUDIO_S24:
        s32 = (int32_t)((uint32_t)p[0] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 24);
        return (float)s32 * 0x1p-31f; /* 24 bits are exact in a float */
    case AUDIO_S24BE:
        s32 = (int32_t)((uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24);
        return (float)s32 * 0x1p-31f;
    case AUDIO_S32: memcpy(&s32, p, sizeof s32); return (float)s32 * 0x1p-31f;
    case AUDIO_S32BE: return (float)(int32_t)swapped32(p) * 0x1p-31f;
    case AUDIO_F32: memcpy(&f32, p, sizeof f32); return f32;
    case AUDIO_F32BE:
        u32 = swapped32(p);
        memcpy(&f32, &u32, sizeof f32);
        return f32;
    case AUDIO_F64BE:
        u64 = (uint64_t)swapped32(p) << 32 | swapped32(p + 4);
        memcpy(&f64, &u64, sizeof f64);
        return (float)f64;
    case AUDIO_MULAW: return (float)of_mulaw(*p) * 0x1p-15f;
    case AUDIO_ALAW: return (float)of_alaw(*p) * 0x1p-15f;
    default: memcpy(&f64, p, sizeof f64); return (float)f64;
    }
}

ISA static void s16_mono(const uint8_t *src, size_t n, float *dst) {
    size_t i = 0;
    for (; i + L <= n; i += L)
        V(dst + i) = __builtin_convertvector(*(const v8s *)(src + 2 * i), v8) * ALL(0x1p-15f);
    for (; i < n; i++) dst[i] = one_sample(src + 2 * i, AUDIO_S16);
}

ISA static void s16be_mono(const uint8_t *src, size_t n, float *dst) {
    size_t i = 0;
    for (; i + L <= n; i += L) {
        v8u x = *(const v8u *)(src + 2 * i);
        V(dst + i) = __builtin_convertvector((v8s)(x << 8 | x >> 8), v8) * ALL(0x1p-15f);
    }
    for (; i < n; i++) dst[i] = one_sample(src + 2 * i, AUDIO_S16BE);
}

/* One channel of two: a pair of samples is one 32-bit word, of which the other half is shifted out. */
ISA static void s16_of_pairs(const uint8_t *src, size_t n, float *dst) {
    size_t i = 0;
    for (; i + L < n; i += L) {
        v8i pair = *(const v8i *)(src + 4 * i);
        V(dst + i) = __builtin_convertvector((v8i)(pair << 16) >> 16, v8) * ALL(0x1p-15f);
    }
    for (; i < n; i++) dst[i] = one_sample(src + 4 * i, AUDIO_S16);
}

ISA static void s16be_of_pairs(const uint8_t *src, size_t n, float *dst) {
    size_t i = 0;
    for (; i + L < n; i += L) {
        v8i pair = *(const v8i *)(src + 4 * i);
        v8i high = pair << 24 | (pair & 0xff00) << 8;
        V(dst + i) = __builtin_convertvector(high >> 16, v8) * ALL(0x1p-15f);
    }
    for (; i < n; i++) dst[i] = one_sample(src + 4 * i, AUDIO_S16BE);
}

/* A constant encoding makes each of these a loop without a switch. */
#define STRIDED(name, encoding)                                                         \
    ISA static void name(const uint8_t *src, size_t stride, size_t n, float *dst) {     \
        for (size_t i = 0; i < n; i++) dst[i] = one_sample(src + i * stride, encoding); \
    }
STRIDED(strided_u8, AUDIO_U8)
STRIDED(strided_s16, AUDIO_S16)
STRIDED(strided_s24, AUDIO_S24)
STRIDED(strided_s32, AUDIO_S32)
STRIDED(strided_f32, AUDIO_F32)
STRIDED(strided_f64, AUDIO_F64)
STRIDED(strided_s8, AUDIO_S8)
STRIDED(strided_s16be, AUDIO_S16BE)
STRIDED(strided_s24be, AUDIO_S24BE)
STRIDED(strided_s32be, AUDIO_S32BE)
STRIDED(strided_f32be, AUDIO_F32BE)
STRIDED(strided_f64be, AUDIO_F64BE)
STRIDED(strided_mulaw, AUDIO_MULAW)
STRIDED(strided_alaw, AUDIO_ALAW)

ISA static void from_pcm(const uint8_t *src, int encoding, size_t stride, size_t n, float *dst) {
    static void (*const strided[])(const uint8_t *, size_t, size_t, float *) = {
        strided_u8,    strided_s16,   strided_s24,   strided_s32,   strided_f32,
        strided_f64,   strided_s8,    strided_s16be, strided_s24be, strided_s32be,
        strided_f32be, strided_f64be, strided_mulaw, strided_alaw,
    };
    if (encoding == AUDIO_S16 && stride == 2)
        s16_mono(src, n, dst);
    else if (encoding == AUDIO_S16 && stride == 4)
        s16_of_pairs(src, n, dst);
    else if (encoding == AUDIO_S16BE && stride == 2)
        s16be_mono(src, n, dst);
    else if (encoding == AUDIO_S16BE && stride == 4)
        s16be_of_pairs(src, n, dst);
    else if (encoding == AUDIO_F32 && stride == 4)
        memcpy(dst, src, n * sizeof *dst);
    else
        strided[encoding](src, stride, n, dst);
}

/* Adding 1.5 * 2^23 leaves a number below 2^22, rounded half to even, in the low bits of the float. */
#define ROUNDER 0x1.8p23f

ISA static void to_s16(const float *src, size_t n, int16_t *dst, size_t step) {
    size_t i = 0;
    for (; i + L <= n; i += L) {
        v8 x = CV(src + i) * ALL(0x1p15f);
        x = (v8)((v8i)x & (x == x));
        x = MOST(x, ALL(-0x1p15f));
        x = LEAST(x, ALL(32767.0f));
        v8i rounded = (v8i)(x + ALL(ROUNDER)) - (v8i)ALL(ROUNDER);
        v8s narrow = __builtin_convertvector(rounded, v8s);
        if (step == 1)
            *(v8s *)(dst + i) = narrow;
        else
            for (int l = 0; l < L; l++) dst[(i + l) * step] = narrow[l];
    }
    for (; i < n; i++) {
        float x = src[i] * 0x1p15f;
        x = x == x ? x : 0.0f;
        x = x > -0x1p15f ? x : -0x1p15f;
        x = x < 32767.0f ? x : 32767.0f;
        volatile float shifted = x + ROUNDER; /* volatile: rounded to float here */
        dst[i * step] = (int16_t)(shifted - ROUNDER);
    }
}

/* --- whole signals --- */

ISA static void mean(const float *src, size_t stride, int channels, size_t n, float *dst) {
    float by = (float)channels;
    size_t i = 0;
    for (; i + L <= n; i += L) {
        v8 sum = CV(src + i);
        for (int c = 1; c < channels; c++) sum += CV(src + c * stride + i);
        V(dst + i) = sum / ALL(by);
    }
    for (; i < n; i++) {
        float sum = src[i];
        for (int c = 1; c < channels; c++) sum += src[c * stride + i];
        dst[i] = sum / by;
    }
}

ISA static void scale(float *x, size_t n, float by) {
    for (size_t i = 0; i < n; i++) x[i] *= by;
}

ISA static void at_least(float *x, size_t n, float floor) {
    for (size_t i = 0; i < n; i++) x[i] = x[i] > floor ? x[i] : floor;
}

ISA static float largest_lane(const v8 *v) {
    float most = (*v)[0];
    for (int l = 1; l < L; l++) most = (*v)[l] > most ? (*v)[l] : most;
    return most;
}

ISA static float peak(const float *x, size_t n) {
    v8 most = ALL(0.0f);
    size_t i = 0;
    for (; i + L <= n; i += L) {
        v8 v = (v8)((v8i)CV(x + i) & (v8i){0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff,
                                           0x7fffffff, 0x7fffffff, 0x7fffffff});
        most = MOST(v, most);
    }
    float m = largest_lane(&most);
    for (; i < n; i++) m = fabsf(x[i]) > m ? fabsf(x[i]) : m;
    return m;
}

ISA static float log_all(float *x, size_t n, float floor, float offset, float by) {
    v8 most = ALL(-INFINITY);
    for (size_t i = 0; i < n; i += L) {
        size_t count = n - i < L ? n - i : L;
        v8 v = ALL(1.0f);
        memcpy(&v, x + i, count * sizeof *x);
        v = MOST(v, ALL(floor)) + ALL(offset);
        ln8(&v);
        v *= ALL(by);
        memcpy(x + i, &v, count * sizeof *x);
        for (size_t l = count; l < L; l++) v[l] = -INFINITY;
        most = MOST(v, most);
    }
    return largest_lane(&most);
}

ISA static void matrix(const float *m, int32_t rows, int32_t cols, const float *x, size_t x_row, size_t n,
                       float *y, size_t y_row) {
    for (int32_t r = 0; r < rows; r++) {
        float *to = y + r * y_row;
        for (size_t i = 0; i < n; i += L) {
            size_t count = n - i < L ? n - i : L;
            v8 sum = ALL(0.0f);
            for (int32_t c = 0; c < cols; c++) {
                v8 v = ALL(0.0f);
                if (count == L)
                    v = CV(x + c * x_row + i);
                else
                    memcpy(&v, x + c * x_row + i, count * sizeof *x);
                sum += ALL(m[(size_t)r * cols + c]) * v;
            }
            memcpy(to + i, &sum, count * sizeof *to);
        }
    }
}

/* --- resampling --- */

/* The products of n taps, a multiple of eight. */
ISA static inline v8 dot(const float *x, const float *taps, const int32_t n) {
    v8 sum = CV(x) * CV(taps);
#pragma GCC unroll 8
    for (int32_t t = L; t < n; t += L) sum += CV(x + t) * CV(taps + t);
    return sum;
}

/* The sum of eight lanes: i and i + 4 first, then i and i + 2, then the two that are left. */
ISA static inline float sum_lanes(const v8 *v) {
    v4 half = __builtin_shufflevector(*v, *v, 0, 1, 2, 3) + __builtin_shufflevector(*v, *v, 4, 5, 6, 7);
    return (half[0] + half[2]) + (half[1] + half[3]);
}

/* sum_lanes() of eight. */
ISA static inline v8 sum_lanes8(const v8 *v) {
    v8 half[4], two[2];
    for (int i = 0; i < 4; i++)
        half[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 1, 2, 3, 8, 9, 10, 11) +
                  __builtin_shufflevector(v[2 * i], v[2 * i + 1], 4, 5, 6, 7, 12, 13, 14, 15);
    for (int i = 0; i < 2; i++)
        two[i] = __builtin_shufflevector(half[2 * i], half[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                 __builtin_shufflevector(half[2 * i], half[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    v8 all = __builtin_shufflevector(two[0], two[1], 0, 2, 8, 10, 4, 6, 12, 14) +
             __builtin_shufflevector(two[0], two[1], 1, 3, 9, 11, 5, 7, 13, 15);
    return __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
}

ISA static inline __attribute__((always_inline)) void polyphase_of(const float *x, const float *taps,
                                                                   const int32_t *start, const int32_t n_taps,
                                                                   int32_t phases, int32_t step,
                                                                   int64_t first, int64_t n, float *y) {
    int32_t phase = (int32_t)(first % phases);
    const float *block = x + first / phases * step;
    v8 sums[L];
    for (int64_t j = 0; j < n; j++) {
        sums[j % L] = dot(block + start[phase], taps + (size_t)phase * n_taps, n_taps);
        if (j % L == L - 1) V(y + j + 1 - L) = sum_lanes8(sums);
        if (++phase == phases) phase = 0, block += step;
    }
    for (int64_t j = n - n % L; j < n; j++) y[j] = sum_lanes(&sums[j % L]);
}

/* A number of taps that is known here leaves no loop over them. */
ISA static void polyphase(const float *x, const float *taps, const int32_t *start, int32_t n_taps,
                          int32_t phases, int32_t step, int64_t first, int64_t n, float *y) {
#define OF(known) \
    case known: polyphase_of(x, taps, start, known, phases, step, first, n, y); break
    switch (n_taps) {
        OF(16);
        OF(24);
        OF(32);
        OF(40);
        OF(48);
    default: polyphase_of(x, taps, start, n_taps, phases, step, first, n, y);
    }
#undef OF
}

/* --- spectra --- */

typedef struct lanes {
    v8 *re, *im;
} lanes;

/* One radix-r pass of Stockham's FFT, which sorts as it goes: of n points that lie s apart, groups of r are joined. */
ISA static inline void store_turned(const audio_spectrum *f, lanes to, int32_t at, int32_t turn, const v8 *re,
                                    const v8 *im) {
    if (turn == 0) {
        to.re[at] = *re;
        to.im[at] = *im;
        return;
    }
    v8 c = ALL(f->cosine[turn]), s = ALL(f->sine[turn]);
    to.re[at] = *re * c - *im * s;
    to.im[at] = *re * s + *im * c;
}

ISA static void pass2(const audio_spectrum *f, lanes x, lanes y, int32_t n, int32_t s) {
    int32_t m = n / 2;
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++) {
            int32_t a = q + s * p, b = a + s * m, at = q + s * 2 * p;
            v8 re = x.re[a] - x.re[b], im = x.im[a] - x.im[b];
            y.re[at] = x.re[a] + x.re[b];
            y.im[at] = x.im[a] + x.im[b];
            store_turned(f, y, at + s, p * s, &re, &im);
        }
}

ISA static void pass4(const audio_spectrum *f, lanes x, lanes y, int32_t n, int32_t s) {
    int32_t m = n / 4;
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++) {
            int32_t a = q + s * p, b = a + s * m, c = b + s * m, d = c + s * m, at = q + s * 4 * p;
            v8 ac_re = x.re[a] + x.re[c], ac_im = x.im[a] + x.im[c];
            v8 a_c_re = x.re[a] - x.re[c], a_c_im = x.im[a] - x.im[c];
            v8 bd_re = x.re[b] + x.re[d], bd_im = x.im[b] + x.im[d];
            v8 b_d_re = x.re[b] - x.re[d], b_d_im = x.im[b] - x.im[d];
            v8 re1 = a_c_re + b_d_im, im1 = a_c_im - b_d_re;
            v8 re2 = ac_re - bd_re, im2 = ac_im - bd_im;
            v8 re3 = a_c_re - b_d_im, im3 = a_c_im + b_d_re;
            y.re[at] = ac_re + bd_re;
            y.im[at] = ac_im + bd_im;
            store_turned(f, y, at + s, p * s, &re1, &im1);
            store_turned(f, y, at + 2 * s, 2 * p * s, &re2, &im2);
            store_turned(f, y, at + 3 * s, 3 * p * s, &re3, &im3);
        }
}

ISA static void pass3(const audio_spectrum *f, lanes x, lanes y, int32_t n, int32_t s) {
    const v8 half = ALL(0.5f), root = ALL(0.86602540378443865f);
    int32_t m = n / 3;
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++) {
            int32_t a = q + s * p, b = a + s * m, c = b + s * m, at = q + s * 3 * p;
            v8 sum_re = x.re[b] + x.re[c], sum_im = x.im[b] + x.im[c];
            v8 turned_re = (x.im[b] - x.im[c]) * root, turned_im = (x.re[c] - x.re[b]) * root;
            v8 rest_re = x.re[a] - sum_re * half, rest_im = x.im[a] - sum_im * half;
            v8 re1 = rest_re + turned_re, im1 = rest_im + turned_im;
            v8 re2 = rest_re - turned_re, im2 = rest_im - turned_im;
            y.re[at] = x.re[a] + sum_re;
            y.im[at] = x.im[a] + sum_im;
            store_turned(f, y, at + s, p * s, &re1, &im1);
            store_turned(f, y, at + 2 * s, 2 * p * s, &re2, &im2);
        }
}

ISA static void pass5(const audio_spectrum *f, lanes x, lanes y, int32_t n, int32_t s) {
    const v8 c1 = ALL(0.30901699437494742f), c2 = ALL(-0.80901699437494742f);
    const v8 s1 = ALL(0.95105651629515357f), s2 = ALL(0.58778525229247313f);
    int32_t m = n / 5;
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++) {
            int32_t a = q + s * p, b = a + s * m, c = b + s * m, d = c + s * m, e = d + s * m,
                    at = q + s * 5 * p;
            v8 be_re = x.re[b] + x.re[e], be_im = x.im[b] + x.im[e];
            v8 cd_re = x.re[c] + x.re[d], cd_im = x.im[c] + x.im[d];
            v8 b_e_re = x.re[b] - x.re[e], b_e_im = x.im[b] - x.im[e];
            v8 c_d_re = x.re[c] - x.re[d], c_d_im = x.im[c] - x.im[d];
            v8 near_re = x.re[a] + be_re * c1 + cd_re * c2, near_im = x.im[a] + be_im * c1 + cd_im * c2;
            v8 far_re = x.re[a] + be_re * c2 + cd_re * c1, far_im = x.im[a] + be_im * c2 + cd_im * c1;
            v8 nt_re = b_e_im * s1 + c_d_im * s2, nt_im = -(b_e_re * s1 + c_d_re * s2);
            v8 ft_re = b_e_im * s2 - c_d_im * s1, ft_im = -(b_e_re * s2 - c_d_re * s1);
            v8 re1 = near_re + nt_re, im1 = near_im + nt_im, re4 = near_re - nt_re, im4 = near_im - nt_im;
            v8 re2 = far_re + ft_re, im2 = far_im + ft_im, re3 = far_re - ft_re, im3 = far_im - ft_im;
            y.re[at] = x.re[a] + be_re + cd_re;
            y.im[at] = x.im[a] + be_im + cd_im;
            store_turned(f, y, at + s, p * s, &re1, &im1);
            store_turned(f, y, at + 2 * s, 2 * p * s, &re2, &im2);
            store_turned(f, y, at + 3 * s, 3 * p * s, &re3, &im3);
            store_turned(f, y, at + 4 * s, 4 * p * s, &re4, &im4);
        }
}

/* Any radix: the sum as it is defined. The r-th roots of one are every (m / r)-th twiddle. */
ISA static void pass(const audio_spectrum *f, lanes x, lanes y, int32_t r, int32_t n, int32_t s) {
    int32_t m = n / r, root = f->m / r;
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++)
            for (int32_t j = 0; j < r; j++) {
                v8 re = x.re[q + s * p], im = x.im[q + s * p];
                for (int32_t k = 1; k < r; k++) {
                    int32_t from = q + s * (p + m * k), turn = j * k % r * root;
                    v8 c = ALL(f->cosine[turn]), sn = ALL(f->sine[turn]);
                    re += x.re[from] * c - x.im[from] * sn;
                    im += x.re[from] * sn + x.im[from] * c;
                }
                store_turned(f, y, q + s * (r * p + j), p * j * s, &re, &im);
            }
}

/* The complex FFT of a; b is room. The result lies in the one that is returned. */
ISA static lanes fft(const audio_spectrum *f, lanes a, lanes b) {
    int32_t n = f->m, s = 1;
    for (int32_t i = 0; i < f->n_factors; i++) {
        int32_t r = f->factor[i];
        if (r == 4)
            pass4(f, a, b, n, s);
        else if (r == 2)
            pass2(f, a, b, n, s);
        else if (r == 3)
            pass3(f, a, b, n, s);
        else if (r == 5)
            pass5(f, a, b, n, s);
        else
            pass(f, a, b, r, n, s);
        lanes swap = a;
        a = b;
        b = swap;
        n /= r;
        s *= r;
    }
    return a;
}

/* Eight windowed frames, a lane each; frames past count are zero. Even and odd points of an even n_fft are the real
 * and the imaginary part of half as many complex ones. */
ISA static void load_frames(const audio_spectrum *f, const float *x, int count, lanes z) {
    int split = f->m != f->n_fft;
    for (int32_t i = 0; i < f->n_fft; i++) {
        v8 v = ALL(0.0f);
        if (count == L) {
            const float *p = x + i;
            size_t h = (size_t)f->hop;
            v = (v8){p[0], p[h], p[2 * h], p[3 * h], p[4 * h], p[5 * h], p[6 * h], p[7 * h]};
        } else
            for (int l = 0; l < count; l++) v[l] = x[(size_t)l * f->hop + i];
        v *= ALL(f->window[i]);
        if (!split)
            z.re[i] = v, z.im[i] = ALL(0.0f);
        else if (i & 1)
            z.im[i >> 1] = v;
        else
            z.re[i >> 1] = v;
    }
}

/* |X|^2 of bin k, from the FFT z of half as many points: X[k] = E + turn * O with E and O the FFTs of the even and
 * of the odd points, which are the sum and the difference of z[k] and the conjugate of z[m - k]. */
ISA static void bin_power(const audio_spectrum *f, lanes z, int32_t k, v8 *power) {
    if (f->m == f->n_fft) {
        *power = z.re[k] * z.re[k] + z.im[k] * z.im[k];
        return;
    }
    int32_t a = k == f->m ? 0 : k, b = k == 0 ? 0 : f->m - k;
    v8 half = ALL(0.5f);
    v8 e_re = (z.re[a] + z.re[b]) * half, e_im = (z.im[a] - z.im[b]) * half;
    v8 o_re = (z.im[a] + z.im[b]) * half, o_im = (z.re[b] - z.re[a]) * half;
    v8 c = ALL(f->turn_cosine[k]), s = ALL(f->turn_sine[k]);
    v8 re = e_re + (o_re * c - o_im * s), im = e_im + (o_re * s + o_im * c);
    *power = re * re + im * im;
}

ISA static void store_lanes(const v8 *v, int count, float *to, size_t step) {
    if (step == 1 && count == L)
        V(to) = *v;
    else
        for (int l = 0; l < count; l++) to[l * step] = (*v)[l];
}

ISA static void spectra(const audio_spectrum *f, const float *x, int64_t frames, float *scratch, float *out,
                        size_t row_step, size_t time_step) {
    size_t m = (size_t)f->m;
    v8 *room = (v8 *)scratch, *power = room + 4 * m;
    for (int64_t t = 0; t < frames; t += L) {
        int count = frames - t < L ? (int)(frames - t) : L;
        lanes a = {room, room + m}, b = {room + 2 * m, room + 3 * m};
        load_frames(f, x + t * f->hop, count, a);
        lanes z = fft(f, a, b);
        float *to = out + t * time_step;
        for (int32_t k = 0; k < f->bins; k++) {
            bin_power(f, z, k, power + k);
            if (f->magnitude)
                for (int l = 0; l < L; l++) power[k][l] = sqrtf(power[k][l]);
            if (f->n_mels == 0) store_lanes(power + k, count, to + k * row_step, time_step);
        }
        for (int32_t b = 0; b < f->n_mels; b++) {
            v8 sum = ALL(0.0f);
            const v8 *p = power + f->mel_first[b];
            for (int32_t k = 0; k < f->mel_count[b]; k++) sum += p[k] * ALL(f->mel_weight[b][k]);
            store_lanes(&sum, count, to + b * row_step, time_step);
        }
    }
}

#include "flac_isa.h"
#include "mp3_isa.h"
#include "cosines_isa.h"
#include "aac_isa.h"
#include "opus_isa.h"

const audio_kernels BANK = {
    ISA_NAME,   from_pcm,    to_s16,        mean,      polyphase, spectra,
    log_all,    scale,       at_least,      peak,      matrix,    normals,
    flac_frame, flac_floats, flac_checksum, mp3_frame, aac_frame, opus_frame_decode,
};
