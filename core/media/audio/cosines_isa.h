/* cosines_isa.h - the transforms of cosines.h; part of kernels_isa.h. */
#include "cosines.h"

/* Columns become rows. */
ISA static inline void turn8(v8 *r) {
    v8 a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            b[i + 2 * k] = __builtin_shufflevector(a[i + k], a[i + 2 + k], 0, 1, 8, 9, 4, 5, 12, 13);
            b[i + 2 * k + 1] = __builtin_shufflevector(a[i + k], a[i + 2 + k], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        r[i] = __builtin_shufflevector(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = __builtin_shufflevector(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* The Fourier transform of eight points, each of eight lanes. */
ISA static inline void dft8(v8 *re, v8 *im) {
    const v8 root = ALL(0.70710678118654752f);
    v8 a_re[8], a_im[8], b_re[8], b_im[8];
    for (int i = 0; i < 4; i++) {
        a_re[i] = re[i] + re[i + 4], a_im[i] = im[i] + im[i + 4];
        a_re[i + 4] = re[i] - re[i + 4], a_im[i + 4] = im[i] - im[i + 4];
    }
    v8 x = a_re[5], y = a_im[5]; /* by (1 - i) / sqrt 2 */
    a_re[5] = (x + y) * root, a_im[5] = (y - x) * root;
    x = a_re[6], a_re[6] = a_im[6], a_im[6] = -x; /* by -i */
    x = a_re[7], y = a_im[7];                     /* by (-1 - i) / sqrt 2 */
    a_re[7] = (y - x) * root, a_im[7] = -(x + y) * root;
    for (int h = 0; h < 8; h += 4) {
        for (int i = h; i < h + 2; i++) {
            b_re[i] = a_re[i] + a_re[i + 2], b_im[i] = a_im[i] + a_im[i + 2];
            b_re[i + 2] = a_re[i] - a_re[i + 2], b_im[i + 2] = a_im[i] - a_im[i + 2];
        }
        x = b_re[h + 3], b_re[h + 3] = b_im[h + 3], b_im[h + 3] = -x;
    }
    static const uint8_t at[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    for (int i = 0; i < 8; i += 2) {
        re[at[i]] = b_re[i] + b_re[i + 1], im[at[i]] = b_im[i] + b_im[i + 1];
        re[at[i + 1]] = b_re[i] - b_re[i + 1], im[at[i + 1]] = b_im[i] - b_im[i + 1];
    }
}

/* The transform of eight times `points` values, a lane each: see fft(). */
ISA static lanes lane_fft(const audio_cosines *t, lanes a, lanes b) {
    audio_spectrum f = {.m = t->points, .n_factors = t->n_factors};
    memcpy(f.factor, t->factor, sizeof t->factor);
    f.cosine = (float *)t->circle[0];
    f.sine = (float *)t->circle[1];
    return fft(&f, a, b);
}

/* The long one. */
ISA static void cosines(const audio_cosines *t, const float *x, float *d) {
    int points = t->points, half = 8 * points;
    v8 room[4][AUDIO_COSINES_POINTS];
    lanes a = {room[0], room[1]}, b = {room[2], room[3]};
    for (int n = 0; n < half; n += L) {
        const float *back = x + 2 * (half - n);
        v8 low = CV(x + 2 * n), next = CV(x + 2 * n + 8), last = CV(back - 8), before = CV(back - 16);
        v8 re = __builtin_shufflevector(low, next, 0, 2, 4, 6, 8, 10, 12, 14);
        v8 im = __builtin_shufflevector(before, last, 15, 13, 11, 9, 7, 5, 3, 1);
        v8 c = CV(t->long_turn[0] + n), s = CV(t->long_turn[1] + n);
        a.re[n / L] = re * c - im * s;
        a.im[n / L] = re * s + im * c;
    }
    lanes z = lane_fft(t, a, b);
    float *const re_to = (float *)(z.re == a.re ? b.re : a.re), *const im_to =
                                                                    (float *)(z.re == a.re ? b.im : a.im);
    for (int next = 0; next < points; next += L) {
        int k = next + L <= points ? next : points - L; /* the last ones twice */
        v8 re[8], im[8];
        for (int i = 0; i < 8; i++) {
            v8 c = CV(t->lane_turn[0][k + i]), s = CV(t->lane_turn[1][k + i]);
            re[i] = z.re[k + i] * c - z.im[k + i] * s;
            im[i] = z.re[k + i] * s + z.im[k + i] * c;
        }
        turn8(re);
        turn8(im);
        dft8(re, im);
        for (int i = 0; i < 8; i++) {
            int at = points * i + k;
            v8 c = CV(t->long_turn[0] + at), s = CV(t->long_turn[1] + at);
            V(re_to + at) = re[i] * c - im[i] * s;
            V(im_to + at) = re[i] * s + im[i] * c;
        }
    }
    for (int k = 0; k < half; k += L) {
        v8 even = CV(re_to + k), odd = -CV(im_to + half - L - k);
        V(d + 2 * k) = __builtin_shufflevector(even, odd, 0, 15, 1, 14, 2, 13, 3, 12);
        V(d + 2 * k + 8) = __builtin_shufflevector(even, odd, 4, 11, 5, 10, 6, 9, 7, 8);
    }
}

/* Eight short ones: of x, whose vectors hold a value of each, and in place. */
ISA static void short_cosines(const audio_cosines *t, v8 *x) {
    int points = t->points, last = 2 * points - 1;
    v8 room[4][AUDIO_COSINES_POINTS];
    lanes a = {room[0], room[1]}, b = {room[2], room[3]};
    for (int n = 0; n < points; n++) {
        v8 re = x[2 * n], im = x[last - 2 * n], c = ALL(t->short_turn[0][n]), s = ALL(t->short_turn[1][n]);
        a.re[n] = re * c - im * s;
        a.im[n] = re * s + im * c;
    }
    lanes z = lane_fft(t, a, b);
    for (int k = 0; k < points; k++) {
        v8 c = ALL(t->short_turn[0][k]), s = ALL(t->short_turn[1][k]);
        x[2 * k] = z.re[k] * c - z.im[k] * s;
        x[last - 2 * k] = -(z.re[k] * s + z.im[k] * c);
    }
}

/* Eight rows of n values, one behind the other, of vectors that hold a value of each; and back. */
ISA static void rows_of_lanes(v8 *x, int n, float *rows) {
    for (int k = 0; k < n; k += L) {
        turn8(x + k);
        for (int w = 0; w < 8; w++) V(rows + w * n + k) = x[k + w];
    }
}

ISA static void lanes_of_rows(const float *rows, int n, v8 *x) {
    for (int k = 0; k < n; k += L) {
        for (int w = 0; w < 8; w++) x[k + w] = CV(rows + w * n + k);
        turn8(x + k);
    }
}
