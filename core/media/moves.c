/* moves.c - how a picture came to be the row, as one move of its points after the other: boxes are to be cut at the edges of what they are in
 * before they are turned, and no map of all moves in one says where these edges were. */
#include "internal.h"

static void homogeneous(const double affine[6], double m[9]) {
    memcpy(m, affine, 6 * sizeof *m);
    m[6] = m[7] = 0;
    m[8] = 1;
}

/* Of a matrix, which leads back, the one that leads there, but for a factor. */
static void inverse(const double m[9], double to[9]) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            int a = (k + 1) % 3, b = (k + 2) % 3, x = (i + 1) % 3, y = (i + 2) % 3;
            to[3 * i + k] = m[3 * a + x] * m[3 * b + y] - m[3 * a + y] * m[3 * b + x];
        }
}

static int add(media_moves *to, const double map[9], int32_t w, int32_t h, int centres) {
    if (to->n == MEDIA_MAX_MOVES) return -1;
    media_move *m = &to->all[to->n++];
    memcpy(m->map, map, sizeof m->map);
    for (int i = 0; i < 9; i++) m->map[i] /= map[8];
    m->w = w;
    m->h = h;
    m->centres = centres;
    return 0;
}

/* -1: a retouch moves points in no way that can be told. */
static int add_retouches(media_moves *to, const media_retouches *from) {
    for (int i = 0; i < from->n; i++) {
        const media_retouch *r = &from->all[i];
        double back[9], there[9];
        if (r->kind == MEDIA_ELASTIC) return -1;
        if (r->kind != MEDIA_WARP && r->kind != MEDIA_PERSPECTIVE) continue;
        homogeneous(r->matrix, back);
        if (r->kind == MEDIA_PERSPECTIVE) memcpy(back, r->matrix, 8 * sizeof *back);
        inverse(back, there);
        if (add(to, there, r->w, r->h, r->kind == MEDIA_WARP && r->value == MEDIA_BY_CENTRES) < 0) return -1;
    }
    return 0;
}

const media_moves *media_ctx_moves(media_ctx *c) {
    media_moves *to = &c->moves;
    int rc = 0;
    to->n = 0;
    for (int i = 0; rc == 0 && i < c->n_stages; i++) {
        const media_stage *s = &c->stages[i];
        const double resized[9] = {[0] = (double)s->pass.x.out / s->pass.x.in,
                                   [4] = (double)s->pass.y.out / s->pass.y.in,
                                   [8] = 1};
        rc = add(to, resized, s->pass.x.out, s->pass.y.out, 0);
        if (rc == 0) rc = add_retouches(to, &s->warps);
    }
    double row[9];
    homogeneous(c->row_map, row);
    if (rc == 0) rc = add(to, row, c->pass.x.n, c->pass.y.n, 0);
    if (rc == 0) rc = add_retouches(to, &c->retouches);
    return rc == 0 ? to : NULL;
}
