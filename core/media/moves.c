/* moves.c - how a picture came to be the row, as one move of its points after the other: boxes are to be cut at the edges of what they are in
 * before they are turned, and no map of all moves in one says where these edges were. And the crop that boxes decide. */
#include <math.h>

#include "cv2.h"
#include "torch.h"

enum {
    MEDIA_IOU_ROUNDS = 64
}; /* after so many least overlaps that no crop has, the picture stays as it is */

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
    for (int i = 0; i < 9; i++) m->map[i] /= fabs(map[8]);
    m->w = w;
    m->h = h;
    m->centres = centres;
    return 0;
}

/* Whether the place that the row's middle comes from is divided by a number below 0, which is what lies beyond the horizon. */
static int seen_from_behind(const media_retouch *r, const double back[9], const double there[9]) {
    double z = back[6] * r->w / 2 + back[7] * r->h / 2 + back[8],
           det = back[6] * there[2] + back[7] * there[5] + back[8] * there[8];
    return det * z < 0;
}

/* -1: a retouch moves points in no way that can be told. */
static int add_retouches(media_moves *to, const media_retouches *from) {
    for (int i = 0; i < from->n; i++) {
        const media_retouch *r = &from->all[i];
        double back[9], there[9];
        if (media_untold(r->kind)) return -1;
        double m[6];
        if (!media_warps(r->kind)) continue;
        memcpy(m, r->matrix, sizeof m);
        if (r->kind == MEDIA_CV2_AFFINE) media_cv2_back(r, m);
        if (r->kind == MEDIA_TORCH_WARP) media_torch_back(r, m);
        homogeneous(m, back);
        if (r->kind == MEDIA_PERSPECTIVE || r->kind == MEDIA_TORCH_PERSPECTIVE)
            memcpy(back, r->matrix, 8 * sizeof *back);
        if (r->kind == MEDIA_CV2_PERSPECTIVE) media_cv2_perspective_back(r, back);
        inverse(back, there);
        if (seen_from_behind(r, back, there))
            for (int k = 0; k < 9; k++) there[k] = -there[k];
        if (add(to, there, r->w, r->h, r->kind == MEDIA_WARP && r->value == MEDIA_BY_CENTRES) < 0) return -1;
    }
    return 0;
}

int media_moves_so_far(media_moves *to, const media_ctx *c) {
    int rc = 0;
    for (int i = 0; rc == 0 && i < c->n_stages; i++) {
        const media_stage *s = &c->stages[i];
        double x = (double)s->pass.x.out / s->pass.x.in, y = (double)s->pass.y.out / s->pass.y.in;
        const double resized[9] = {
            [0] = x, [2] = -s->pass.left * x, [4] = y, [5] = -s->pass.top * y, [8] = 1};
        rc = add(to, resized, s->pass.x.out, s->pass.y.out, 0);
        if (rc == 0) rc = add_retouches(to, &s->steps);
    }
    return rc;
}

const media_moves *media_ctx_moves(media_ctx *c) {
    media_moves *to = &c->moves;
    double row[9];
    to->n = 0;
    int rc = media_moves_so_far(to, c);
    homogeneous(c->row_map, row);
    if (rc == 0) rc = add(to, row, c->pass.x.n, c->pass.y.n, 0);
    if (rc == 0) rc = add_retouches(to, &c->retouches);
    return rc == 0 ? to : NULL;
}

int media_ctx_boxes(media_ctx *c, const double *boxes, int32_t n, int shares) {
    size_t size = (size_t)n * 4 * sizeof *boxes;
    c->n_boxes = 0;
    c->shares = shares;
    if (n == 0) return MEDIA_OK;
    if (!media_buf_get(&c->boxes, size)) return MEDIA_NO_MEMORY;
    memcpy(c->boxes.p, boxes, size);
    c->n_boxes = n;
    return MEDIA_OK;
}

/* A box where the moves take it: the least around its corners after each, cut at the edges, as moves.go has it. */
static void follow(const media_moves *by, double r[4]) {
    for (int i = 0; i < by->n; i++) {
        const media_move *m = &by->all[i];
        double to[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
        for (int k = 0; k < 4; k++) {
            double x = r[(k & 1) * 2], y = r[(k & 2) + 1];
            double z = fmax(m->map[6] * x + m->map[7] * y + m->map[8], 1e-9);
            double at[2] = {(m->map[0] * x + m->map[1] * y + m->map[2]) / z,
                            (m->map[3] * x + m->map[4] * y + m->map[5]) / z};
            for (int axis = 0; axis < 2; axis++) {
                to[axis] = fmin(to[axis], at[axis]);
                to[axis + 2] = fmax(to[axis + 2], at[axis]);
            }
        }
        for (int k = 0; k < 4; k++) r[k] = fmin(fmax(to[k], 0), k & 1 ? m->h : m->w);
    }
}

void media_box_so_far(const media_ctx *c, const media_moves *by, int32_t i, double box[4]) {
    const double *boxes = (const double *)(const void *)c->boxes.p;
    for (int k = 0; k < 4; k++) box[k] = boxes[4 * i + k] * (c->shares ? k & 1 ? c->seen_h : c->seen_w : 1);
    follow(by, box);
}

/* How much of a box and of a crop together both have, by area. */
static double overlap(const double a[4], const double b[4]) {
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    double both = w > 0 && h > 0 ? w * h : 0;
    double all = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both;
    return all > 0 ? both / all : 0;
}

/* Whether a crop has the centre of a box, and of such a one at least so much. */
static int suits(const media_ctx *c, const media_moves *by, const double crop[4], double least) {
    int centre = 0;
    double best = 0;
    for (int32_t i = 0; i < c->n_boxes; i++) {
        double box[4];
        media_box_so_far(c, by, i, box);
        double x = 0.5 * (box[0] + box[2]), y = 0.5 * (box[1] + box[3]);
        if (!(crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3])) continue;
        centre = 1;
        best = fmax(best, overlap(box, crop));
    }
    return centre && best >= least;
}

static float drawn(const double range[2], double u) {
    return (float)range[0] + (float)(range[1] - range[0]) * (float)u;
}

/* torchvision's RandomIoUCrop. Draws, in the words of philox.c: of each round the first uniform of its first block is the least overlap; of each of its
 * trials one block has the shares of width and height, the next how far to the right and down. */
void media_draw_iou_crop(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_iou_crop_step *of = &s->of.iou_crop;
    media_moves by = {.n = 0};
    if (media_moves_so_far(&by, to->of) != 0) return;
    for (uint32_t round = 0; round < MEDIA_IOU_ROUNDS; round++) {
        uint32_t block = LATER_IOU_CROP + 4096 * round;
        double option[2], size[2], at[2];
        media_uniforms(d, OP_LATER, block, option);
        double least = of->options[(uint32_t)(option[0] * of->n_options)];
        if (least >= 1) return;
        for (uint32_t i = 0; i < of->trials; i++) {
            media_uniforms(d, OP_LATER, block + 1 + 2 * i, size);
            int32_t w = (int32_t)((float)to->w * drawn(of->scale, size[0]));
            int32_t h = (int32_t)((float)to->h * drawn(of->scale, size[1]));
            if (w == 0 || h == 0) continue;
            double ratio = (double)w / h;
            if (ratio < of->ratio[0] || ratio > of->ratio[1]) continue;
            media_uniforms(d, OP_LATER, block + 2 + 2 * i, at);
            int32_t x = (int32_t)((float)(to->w - w) * (float)at[0]),
                    y = (int32_t)((float)(to->h - h) * (float)at[1]);
            const double crop[4] = {x, y, x + w, y + h};
            if (!suits(to->of, &by, crop, least)) continue;
            to->all[to->n++] = (media_retouch){.kind = MEDIA_WARP,
                                               .size = MEDIA_NEAREST,
                                               .value = MEDIA_BY_CENTRES,
                                               .matrix = {1, 0, x, 0, 1, y}};
            to->w = w;
            to->h = h;
            return;
        }
    }
}
