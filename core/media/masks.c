/* masks.c - masks of the objects in a row's picture: each is drawn at the picture's size, from polygons or runs as COCO has them, and then goes
 * where the picture's pixels went, by the same passes and warps, the nearest pixel in the place of every filter.
 *
 * A mask is counted down its columns, one behind the other: pixel (x, y) is number x * h + y. Where it changes between 0 and 1 there is an
 * edge; runs are the distances between these. A polygon's edges are pycocotools': its corners lie on a grid five times as fine, a side between
 * two of them takes one point of it for each step along its longer axis, and where the side goes on from column 5 n + 2 of the grid to the
 * next, column n of the mask changes at the first pixel whose middle is not above that. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>
#include <stdlib.h>

#include "internal.h"

enum { FINE = 5, MIDDLE = 2 }; /* points of the grid a pixel, and the one in its middle */

static uint8_t *edges_at(const media_masks *m, int32_t y) { return m->edges.p + (size_t)y * m->stride; }

/* From pixel (x, y) on, down and along, the mask changes; y may be h, which is the top of the next column. */
static void add_edge(media_masks *m, int32_t x, int32_t y) {
    if (y >= m->h) {
        x++;
        y = 0;
    }
    if (x >= m->w) return;
    edges_at(m, y)[x] ^= 1;
    m->odd.p[x] ^= 1;
    if (x < m->left) m->left = x;
    if (x >= m->right) m->right = x + 1;
    if (y < m->top) m->top = y;
    if (y >= m->bottom) m->bottom = y + 1;
}

static void no_edges(media_masks *m) {
    m->left = m->w;
    m->top = m->h;
    m->right = m->bottom = 0;
}

/* A column begins as the one before it ends: what is left open there goes on at its top, and down to its own end. */
static void go_on(media_masks *m) {
    uint8_t open = 0;
    for (int32_t x = m->left; x < m->w; x++) {
        if (open) {
            edges_at(m, 0)[x] ^= 1;
            m->top = 0;
            m->right = x + 1 > m->right ? x + 1 : m->right;
        }
        open ^= m->odd.p[x];
        m->odd.p[x] = 0;
        if (open) m->bottom = m->h;
    }
}

/* What is between the edges becomes 1, eight columns at a time, and there are no edges any more. */
static void fill_between(media_masks *m) {
    if (m->left == m->w) return;
    go_on(m);
    for (int32_t x = m->left & ~7; x < m->right; x += 8) {
        uint64_t on = 0, edges, drawn;
        uint8_t *e = edges_at(m, m->top) + x, *to = m->drawn.p + (size_t)m->top * m->stride + x;
        for (int32_t y = m->top; y < m->bottom; y++, e += m->stride, to += m->stride) {
            memcpy(&edges, e, 8);
            memcpy(&drawn, to, 8);
            on ^= edges;
            drawn |= on;
            memset(e, 0, 8);
            memcpy(to, &drawn, 8);
        }
    }
    no_edges(m);
}

/* The point that a side has t steps from one end on, across the axis that it is longer along. */
static int32_t beside(int32_t from, double slope, int32_t t) { return (int32_t)(from + slope * t + 0.5); }

/* The first pixel of a column whose middle is not above point y of the grid, from 0 to h. */
static int32_t pixel_below(const media_masks *m, int32_t y) {
    double at = (y + 0.5) / FINE - 0.5;
    return (int32_t)ceil(at < 0 ? 0 : at > m->h ? m->h : at);
}

/* Of a side that is higher than wide, from xs at the top on: how many steps down it first lies beyond column u of the grid. */
static int32_t steps_beyond(int32_t xs, double slope, int32_t steps, int32_t u) {
    double near = (u + 0.5 - xs) / slope;
    int32_t t = near < 1 ? 1 : near > steps ? steps : (int32_t)near;
    while (t > 1 && (beside(xs, slope, t - 1) > u) == (slope > 0)) t--;
    while (t < steps && (beside(xs, slope, t) > u) != (slope > 0)) t++;
    return t;
}

/* A side of a polygon, by its ends on the grid. */
static void add_side(media_masks *m, const int32_t from[2], const int32_t to[2]) {
    int32_t dx = abs(to[0] - from[0]), dy = abs(to[1] - from[1]);
    const int flat = dx >= dy, turned = flat ? from[0] > to[0] : from[1] > to[1];
    const int32_t *a = turned ? to : from, *b = turned ? from : to;
    const int32_t low = a[0] < b[0] ? a[0] : b[0], high = a[0] < b[0] ? b[0] : a[0];
    if (dx == 0 || high < MIDDLE + 1) return;
    const double slope = flat ? (double)(b[1] - a[1]) / dx : (double)(b[0] - a[0]) / dy;
    int32_t n = low <= MIDDLE ? 0 : (low - MIDDLE + FINE - 1) / FINE, last = (high - MIDDLE - 1) / FINE;
    if (last >= m->w) last = m->w - 1;
    for (; n <= last; n++) {
        const int32_t u = FINE * n + MIDDLE;
        int32_t y;
        if (flat) {
            const int32_t here = beside(a[1], slope, u - a[0]), next = beside(a[1], slope, u + 1 - a[0]);
            y = here < next ? here : next;
        } else {
            y = a[1] + steps_beyond(a[0], slope, dy, u) - 1;
        }
        add_edge(m, n, pixel_below(m, y));
    }
}

static int32_t on_grid(double v) { return (int32_t)(FINE * v + 0.5); }

void media_mask_polygon(media_ctx *c, const double *xy, int32_t n) {
    const int32_t first[2] = {on_grid(xy[0]), on_grid(xy[1])};
    int32_t from[2] = {first[0], first[1]};
    for (int32_t i = 1; i < n; i++) {
        const int32_t to[2] = {on_grid(xy[2 * i]), on_grid(xy[2 * i + 1])};
        add_side(&c->masks, from, to);
        memcpy(from, to, sizeof from);
    }
    add_side(&c->masks, from, first);
    fill_between(&c->masks);
}

void media_mask_runs(media_ctx *c, const uint32_t *runs, int32_t n) {
    media_masks *m = &c->masks;
    int64_t at = 0;
    for (int32_t i = 0; i < n - 1; i++) {
        at += runs[i];
        add_edge(m, (int32_t)(at / m->h), (int32_t)(at % m->h));
    }
    fill_between(m);
}

static int32_t nearest(int32_t filter) {
    return filter >= MEDIA_CV2_LINEAR && filter <= MEDIA_CV2_LANCZOS4 ? MEDIA_CV2_NEAREST
                                                                      : MEDIA_TORCH_NEAREST;
}

static void by_nearest(media_pass *p) { p->x.filter = p->y.filter = nearest(p->x.filter); }

/* Of what was done to a picture what puts pixels elsewhere, without mixing them, and nothing where none came from. */
static void keep_moves(media_retouches *all) {
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        media_retouch r = all->all[i];
        if (!media_warps(r.kind)) continue;
        r.size =
            r.kind == MEDIA_CV2_AFFINE || r.kind == MEDIA_CV2_PERSPECTIVE ? MEDIA_CV2_NEAREST : MEDIA_NEAREST;
        memset(r.fill, 0, sizeof r.fill);
        all->all[n++] = r;
    }
    all->n = n;
}

/* The op of one mask, of the size that the picture had in its row. */
static void make_op(media_op *to, const media_op *of) {
    *to = *of;
    to->mode = MEDIA_INDEX;
    to->channels = 1;
    to->dtype = MEDIA_U8;
    to->layout = MEDIA_NHWC;
    to->open = MEDIA_CLOSED;
    to->line = to->out_w;
    to->lines = to->out_h;
    memset(to->fill, 0, sizeof to->fill);
}

int media_masks_begin(media_ctx *c, const media_op *op) {
    media_masks *m = &c->masks;
    m->w = c->seen_w;
    m->h = c->seen_h;
    m->stride = media_line_stride(m->w, 1);
    const size_t size = m->stride * (size_t)m->h + MEDIA_SLACK_BYTES;
    if (!media_buf_get(&m->drawn, size) || !media_buf_get(&m->edges, size) ||
        !media_buf_get(&m->odd, m->stride))
        return MEDIA_NO_MEMORY;
    memset(m->drawn.p, 0, size);
    memset(m->edges.p, 0, size);
    memset(m->odd.p, 0, m->stride);
    no_edges(m);
    make_op(&m->op, op->open ? &c->settled : op);
    c->op = &m->op;
    c->info.orientation = 1; /* the picture as it is seen has the outlines */
    c->erased.n = 0;
    by_nearest(&c->pass);
    keep_moves(&c->retouches);
    c->keeps = c->border.mode != MEDIA_PAD_CONSTANT || c->retouches.n > 0;
    for (int i = 0; i < c->n_stages; i++) {
        by_nearest(&c->stages[i].pass);
        keep_moves(&c->stages[i].steps);
    }
    return MEDIA_OK;
}

int media_mask_row(media_ctx *c, uint8_t *dst) {
    media_masks *m = &c->masks;
    media_region r;
    int rc = media_begin(c, &r);
    if (rc != MEDIA_OK) return rc;
    media_picture_rows(c, m->drawn.p, m->stride, r.x, r.y, c->op);
    rc = media_render(c, &r, media_fetch_picture, dst);
    memset(m->drawn.p, 0, m->stride * (size_t)m->h);
    return rc;
}
