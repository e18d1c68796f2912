/* ahead.c - what is done to a whole picture ahead of the geometry that is left: turned, moved, sheared, mirrored and its colours changed
 * as it is decoded (the first stage), or once it is resized and before it is cropped (the second). A stage is drawn and measured before anything is
 * decoded; its picture is then made in one sheet of memory and warped from there to the other, and back; colours change where they
 * are. What comes out is the picture that the next stage, or the row, is made of. What takes a part of a picture, and resizes it, begins a stage of its own. */
#include "internal.h"

/* Whether a picture of this size may lie in a sheet. */
static int fits(media_ctx *c, const media_op *op, int32_t w, int32_t h) {
    if (w <= MEDIA_MAX_SIDE && h <= MEDIA_MAX_SIDE && (uint64_t)w * (uint64_t)h <= op->max_pixels)
        return MEDIA_OK;
    snprintf(c->info.detail, sizeof c->info.detail, "ahead of its crop it is %d x %d: sides of at most %d, ",
             w, h, MEDIA_MAX_SIDE);
    return MEDIA_TOO_MANY_PIXELS;
}

/* A stage begins with what p makes of a picture, whose filter that is; some of the steps from first to end are drawn for it, of which an order may be drawn as well. */
static int open_stage(media_ctx *c, const media_op *op, const media_plan *p, int32_t filter, uint32_t first,
                      uint32_t end) {
    media_stage *s = &c->stages[c->n_stages++];
    s->pass = (media_pass){.x = {p->box_w, p->res_w, 0, p->res_w, filter, 0},
                           .y = {p->box_h, p->res_h, 0, p->res_h, filter, 0},
                           .left = p->box_x,
                           .top = p->box_y};
    s->steps.of = c;
    if (media_begin_steps(op, first, end, p->res_w, p->res_h, &s->steps) != MEDIA_OK)
        return media_fail(c, MEDIA_NO_MEMORY, "");
    return fits(c, op, s->steps.w, s->steps.h);
}

/* A map of points goes on to where p puts them. */
static void follow_plan(media_ctx *c, const media_plan *p) {
    double x = (double)p->res_w / p->box_w, y = (double)p->res_h / p->box_h;
    const double there[6] = {x, 0, -p->box_x * x, 0, y, -p->box_y * y};
    media_follow_points(there, c->info.affine);
}

/* The last stage ends, and what goes on is a part of what it makes. Of a stage that has made nothing yet but a part itself, the new one is in its place:
 * then nothing else is decoded. */
static int go_on(media_ctx *c, const media_op *op, uint32_t first, uint32_t end) {
    media_stage *s = &c->stages[c->n_stages - 1];
    media_plan part = s->steps.part;
    const int32_t filter = s->steps.part_filter;
    media_retouch_points(&s->steps, c->info.affine);
    follow_plan(c, &part);
    if (s->steps.n == 0 && s->pass.x.in == s->pass.x.out && s->pass.y.in == s->pass.y.out) {
        part.box_x += s->pass.left;
        part.box_y += s->pass.top;
        c->n_stages--;
    }
    return open_stage(c, op, &part, filter, first, end);
}

/* Stages: the picture as p resizes it, and the steps from first to end. What comes out is the whole picture of p then. */
static int plan_stage(media_ctx *c, const media_op *op, const media_draw *draw, media_plan *p, uint32_t first,
                      uint32_t end) {
    int rc = open_stage(c, op, p, (int32_t)op->filter, first, end);
    follow_plan(c, p);
    for (uint32_t i = first; rc == MEDIA_OK && i < end; i++) {
        media_retouches *steps = &c->stages[c->n_stages - 1].steps;
        media_draw_steps(op, draw, i, i + 1, steps);
        rc = fits(c, op, steps->w, steps->h);
        if (rc == MEDIA_OK && steps->part.box_w > 0) rc = go_on(c, op, first, end);
    }
    const media_retouches *last = &c->stages[c->n_stages - 1].steps;
    media_retouch_points(last, c->info.affine);
    media_whole(p, last->w, last->h);
    return rc;
}

int media_plan_row(media_ctx *c, const media_op *op, const media_draw *draw, int32_t w, int32_t h,
                   media_plan *p) {
    const uint32_t first = op->ahead[0], end = first + op->ahead[1];
    int rc = MEDIA_OK;
    c->n_stages = 0;
    c->seen_w = w;
    c->seen_h = h;
    media_whole(p, w, h);
    if (first > 0) rc = plan_stage(c, op, draw, p, 0, first);
    if (rc == MEDIA_OK) rc = media_fit(op, draw, p->res_w, p->res_h, p);
    if (rc == MEDIA_OK && end > first) rc = plan_stage(c, op, draw, p, first, end);
    return rc;
}

int media_resize_ahead(media_ctx *c, const media_op *op, media_plan *p) {
    return plan_stage(c, op, NULL, p, 0, 0);
}

media_buf *media_next_sheet(media_ctx *c) {
    c->sheet = !c->sheet;
    return &c->sheets[c->sheet];
}

int media_retouch_sheets(media_ctx *c, const media_retouches *steps, media_pixels *px) {
    for (int i = 0; i < steps->n; i++) {
        const media_retouch *r = &steps->all[i];
        if (!media_warps(r->kind)) {
            if (media_retouch_pixels(r, c->kernels, px, &c->room, &c->mix) != MEDIA_OK)
                return media_fail(c, MEDIA_NO_MEMORY, "");
            continue;
        }
        media_pixels to = {
            .w = r->w, .h = r->h, .step = px->step, .stride = media_line_stride(r->w, px->step)};
        to.p = media_buf_get(media_next_sheet(c), to.stride * (size_t)to.h);
        if (!to.p) return media_fail(c, MEDIA_NO_MEMORY, "");
        media_warp_by(r, c->kernels, &to, px);
        *px = to;
    }
    return MEDIA_OK;
}
