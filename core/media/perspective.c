/* perspective.c - a row seen from another side: torchvision's RandomPerspective on PIL images.
 *
 * Draws, in the words of philox.c: the first uniform of its block of operation 15 says whether; the four blocks behind it have how far
 * the corners go in, along x and along y: top left, top right, bottom right, bottom left.
 *
 * torchvision finds the map by least squares, in doubles that it rounds to floats. Here the four corners' equations are solved in
 * whole numbers, and the floats are the nearest to what they come to. */
#include "internal.h"

__extension__ typedef __int128 whole; /* corners are below 2^14, and what follows below 2^126 */

typedef struct corner {
    int32_t x, y;
} corner;

/* How far inwards, of 0 to most. */
static int32_t inwards(int32_t most, double u) { return (int32_t)(u * (most + 1)); }

static void draw_corners(double scale, const media_draw *d, int32_t w, int32_t h, corner at[4]) {
    int32_t most_x = (int32_t)(scale * (w / 2)), most_y = (int32_t)(scale * (h / 2));
    for (int i = 0; i < 4; i++) {
        double u[2];
        media_uniforms(d, OP_LATER, LATER_PERSPECTIVE + 1 + (uint32_t)i, u);
        int right = i == 1 || i == 2, low = i >= 2;
        at[i].x = inwards(most_x, u[0]) + (right ? w - most_x - 1 : 0);
        at[i].y = inwards(most_y, u[1]) + (low ? h - most_y - 1 : 0);
    }
}

/* The map of the unit square, from its top left corner on to the right, to these corners: (m0 u + m1 v + m2) / (m6 u + m7 v + m8), and so on. */
static void from_square(const corner at[4], whole m[9]) {
    whole x1 = at[1].x - at[2].x, x2 = at[3].x - at[2].x, x = at[0].x - at[1].x + at[2].x - at[3].x;
    whole y1 = at[1].y - at[2].y, y2 = at[3].y - at[2].y, y = at[0].y - at[1].y + at[2].y - at[3].y;
    m[6] = x * y2 - x2 * y;
    m[7] = x1 * y - x * y1;
    m[8] = x1 * y2 - x2 * y1;
    m[0] = (at[1].x - at[0].x) * m[8] + m[6] * at[1].x;
    m[1] = (at[3].x - at[0].x) * m[8] + m[7] * at[3].x;
    m[2] = at[0].x * m[8];
    m[3] = (at[1].y - at[0].y) * m[8] + m[6] * at[1].y;
    m[4] = (at[3].y - at[0].y) * m[8] + m[7] * at[3].y;
    m[5] = at[0].y * m[8];
}

/* The way back, times any number. */
static void inverse(const whole m[9], whole to[9]) {
    for (int row = 0; row < 3; row++)
        for (int col = 0; col < 3; col++) {
            const whole *a = m + 3 * ((col + 1) % 3), *b = m + 3 * ((col + 2) % 3);
            int i = (row + 1) % 3, j = (row + 2) % 3;
            to[3 * row + col] = a[i] * b[j] - a[j] * b[i];
        }
}

/* The map from a row whose corners' pixels went to `at`, back to the row of w x h. 0 where they are no four corners: three in a line. */
static int map_back(const corner at[4], int32_t w, int32_t h, double m[8]) {
    whole to[9], back[9];
    from_square(at, to);
    inverse(to, back);
    if (to[0] * back[0] + to[1] * back[3] + to[2] * back[6] == 0 || back[8] == 0) return 0;
    const int32_t sides[3] = {w - 1, h - 1, 1};
    for (int i = 0; i < 8; i++) m[i] = (double)(float)((double)(back[i] * sides[i / 3]) / (double)back[8]);
    return 1;
}

void media_draw_perspective(const media_step *s, const media_draw *d, media_retouches *to) {
    corner at[4];
    if (!media_happens(s, d, LATER_PERSPECTIVE)) return;
    draw_corners(s->of.perspective.scale, d, to->w, to->h, at);
    media_retouch *r = media_add_taken(to, MEDIA_PERSPECTIVE, &s->of.perspective.by);
    if (!map_back(at, to->w, to->h, r->matrix)) to->n--;
}
