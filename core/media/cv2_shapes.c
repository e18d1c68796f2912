/* cv2_shapes.c - filled circles and thin lines, pixel by pixel as OpenCV draws them: cv2.circle of thickness -1, and cv2.line of LINE_4. */
#include <stdlib.h>

#include "cv2.h"

int media_circle_next(media_circle *c) {
    c->dy++;
    c->err += c->plus;
    c->plus += 2;
    if (c->err > 0) {
        c->err -= c->minus;
        c->dx--;
        c->minus -= 2;
    }
    return c->dx >= c->dy;
}

static void reach_to(int32_t *reach, int64_t line, int64_t far) {
    if (reach[line] < far) reach[line] = (int32_t)far;
}

void media_circle_reach(int32_t radius, int32_t *reach) {
    media_circle c = media_circle_of(radius);
    memset(reach, 0, ((size_t)radius + 1) * sizeof *reach);
    do {
        reach_to(reach, c.dy, c.dx);
        reach_to(reach, c.dx, c.dy);
    } while (media_circle_next(&c));
}

/* Both lines so far from the middle. */
static void draw_lines(uint8_t *mask, int32_t w, int32_t h, int64_t x, int64_t y, int64_t off, int64_t reach,
                       uint8_t is) {
    int64_t first = x - reach, last = x + reach;
    first = first > 0 ? first : 0;
    last = last < w - 1 ? last : w - 1;
    if (first > last) return;
    for (int64_t line = y - off, n = off > 0 ? 2 : 1; n > 0; n--, line += 2 * off)
        if (line >= 0 && line < h) memset(mask + line * w + first, is, (size_t)(last - first + 1));
}

void media_draw_disk(uint8_t *mask, int32_t w, int32_t h, int32_t x, int32_t y, int32_t radius, uint8_t is) {
    media_circle c = media_circle_of(radius);
    do {
        draw_lines(mask, w, h, x, y, c.dy, c.dx, is);
        draw_lines(mask, w, h, x, y, c.dx, c.dy, is);
    } while (media_circle_next(&c));
}

typedef struct point {
    int64_t x, y;
} point;

enum { LEFT = 1, RIGHT = 2, ABOVE = 4, BELOW = 8 };

static int beyond(point p, int64_t right, int64_t bottom) {
    return (p.x < 0 ? LEFT : 0) | (p.x > right ? RIGHT : 0) | (p.y < 0 ? ABOVE : 0) |
           (p.y > bottom ? BELOW : 0);
}

/* An end that lies beyond an edge comes to lie on it, cut to whole pixels. */
static void to_line(point *p, const point *q, int where, int64_t bottom) {
    int64_t y = where & ABOVE ? 0 : bottom;
    p->x += (y - p->y) * (q->x - p->x) / (q->y - p->y);
    p->y = y;
}

static void to_column(point *p, const point *q, int where, int64_t right) {
    int64_t x = where & LEFT ? 0 : right;
    p->y += (x - p->x) * (q->y - p->y) / (q->x - p->x);
    p->x = x;
}

/* The part of a line that lies in w x h, as cv2.clipLine has it; 0: there is none. */
static int clip(int32_t w, int32_t h, point *p, point *q) {
    const int64_t right = w - 1, bottom = h - 1;
    int a = beyond(*p, right, bottom), b = beyond(*q, right, bottom);
    if ((a | b) == 0) return 1;
    if (a & b) return 0;
    if (a & (ABOVE | BELOW)) to_line(p, q, a, bottom);
    a = beyond(*p, right, bottom);
    if (b & (ABOVE | BELOW)) to_line(q, p, b, bottom);
    b = beyond(*q, right, bottom);
    if (a & b) return 0;
    if (a) to_column(p, q, a, right);
    if (b) to_column(q, p, b, right);
    return 1;
}

void media_draw_thin_line(uint8_t *mask, int32_t w, int32_t h, int32_t x1, int32_t y1, int32_t x2, int32_t y2,
                          uint8_t is) {
    point p = {x1, y1}, q = {x2, y2};
    if (!clip(w, h, &p, &q)) return;
    if (p.x > q.x) {
        point swapped = p;
        p = q;
        q = swapped;
    }
    const int64_t dx = q.x - p.x, dy = q.y < p.y ? p.y - q.y : q.y - p.y, down = q.y < p.y ? -1 : 1;
    const int steep = dy > dx;
    const int64_t most = steep ? dy : dx, least = steep ? dx : dy;
    for (int64_t i = 0, err = 0; i <= most + least; i++) {
        mask[p.y * w + p.x] = is;
        int aside = err < 0; /* a step along the shorter way */
        err += aside ? 2 * most : -2 * least;
        p.x += aside == steep;
        p.y += aside == steep ? 0 : down;
    }
}
