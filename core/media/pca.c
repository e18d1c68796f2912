/* pca.c - colours move along the directions in which a picture's own differ most: albumentations' FancyPCA.
 *
 * The covariance of red, green and blue has three directions, each with as much as colours differ along it. Theirs adds to a pixel a product of these directions, in columns, times that and a
 * normal number, and what the pixel differs by from the mean. Which way a direction points is the library's of linear algebra to say, so that bytes are theirs but for the signs of the three
 * numbers, which are as often one as the other, and within 1. Grey moves by a number times its standard deviation.
 *
 * Draws, in the words of philox.c: the first block says whether; each of the next three has a normal number. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_pca(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_PCA)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_PCA};
    for (uint32_t i = 0; i < 3; i++) {
        double u[2];
        media_uniforms(d, OP_LATER, LATER_PCA + 1 + i, u);
        r->matrix[i] = (float)(s->of.number * media_normal(u));
    }
}

/* What two columns of a symmetric matrix have in common is turned away, and the directions with it: a step of Jacobi's. */
static void turn(double m[3][3], double to[3][3], int p, int q) {
    if (m[p][q] == 0) return;
    double theta = (m[q][q] - m[p][p]) / (2 * m[p][q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < 3; i++) {
        double a = m[i][p], b = m[i][q];
        m[i][p] = c * a - s * b;
        m[i][q] = s * a + c * b;
    }
    for (int i = 0; i < 3; i++) {
        double a = m[p][i], b = m[q][i], x = to[i][p], y = to[i][q];
        m[p][i] = c * a - s * b;
        m[q][i] = s * a + c * b;
        to[i][p] = c * x - s * y;
        to[i][q] = s * x + c * y;
    }
}

/* Directions, in columns, and how much there is of each, most first. */
static void directions(double m[3][3], double to[3][3], double much[3]) {
    enum { ROUNDS = 30 };
    double found[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    int order[3] = {0, 1, 2};
    for (int i = 0; i < ROUNDS; i++) {
        turn(m, found, 0, 1);
        turn(m, found, 0, 2);
        turn(m, found, 1, 2);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (m[order[k]][order[k]] < m[order[k + 1]][order[k + 1]]) {
                int first = order[k];
                order[k] = order[k + 1];
                order[k + 1] = first;
            }
    for (int k = 0; k < 3; k++) {
        much[k] = m[order[k]][order[k]];
        for (int i = 0; i < 3; i++) to[i][k] = found[i][order[k]];
    }
}

/* Sums of values, and of products of two of them. */
typedef struct sums {
    uint64_t n, of[3], both[3][3];
} sums;

static sums sums_of(const media_pixels *px, int channels) {
    sums all = {.n = (uint64_t)px->w * (uint64_t)px->h};
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step)
            for (int i = 0; i < channels; i++) {
                all.of[i] += c[i];
                for (int k = i; k < channels; k++) all.both[i][k] += (uint64_t)c[i] * c[k];
            }
    }
    return all;
}

/* How two differ together, of values from 0 to 1, over so many. */
static double covariance(const sums *all, int i, int k, double over) {
    double n = (double)all->n, mean = (double)all->of[i] / n;
    return ((double)all->both[i][k] - mean * (double)all->of[k]) / over / (255.0 * 255.0);
}

static void grey(const media_pixels *px, const media_kernels *by, double alpha) {
    const sums all = sums_of(px, 1);
    double n = (double)all.n, mean = (double)all.of[0] / n;
    double much = alpha * sqrt(fmax(covariance(&all, 0, 0, n), 0));
    uint8_t table[256];
    for (int v = 0; v < 256; v++)
        table[v] = media_nearest_byte((float)fmin(fmax(v + much * (v - mean), 0), 255));
    by->by_table(px, table);
}

void media_pca(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    if (px->step == 1) {
        grey(px, by, r->matrix[0]);
        return;
    }
    const sums all = sums_of(px, 3);
    const double n = (double)all.n, over = n > 1 ? n - 1 : 1;
    double m[3][3], to[3][3], much[3];
    float more[3][3][256]; /* of a value what it adds, by its channel */
    for (int i = 0; i < 3; i++)
        for (int k = i; k < 3; k++) m[i][k] = m[k][i] = covariance(&all, i, k, over);
    directions(m, to, much);
    for (int k = 0; k < 3; k++)
        for (int v = 0; v < 256; v++)
            for (int i = 0; i < 3; i++)
                more[i][k][v] = (float)(to[i][k] * r->matrix[k] * much[k] * (v - (double)all.of[k] / n) +
                                        (i == k ? v : 0));
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step) {
            const uint8_t a = c[0], b = c[1], d = c[2];
            for (int i = 0; i < 3; i++) {
                float v = more[i][0][a] + more[i][1][b] + more[i][2][d];
                c[i] = media_nearest_byte(v < 0 ? 0 : v > 255 ? 255 : v);
            }
        }
    }
}
