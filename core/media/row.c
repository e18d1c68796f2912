/* row.c - a context, and the way from source rows to the finished row. */
#include "row.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"

media_ctx *media_ctx_new(int without) {
    media_ctx *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->kernels = media_best_kernels(without);
    c->libraries = (without & MEDIA_LIBRARIES) != 0;
    if (media_jpeg_create(&c->jpeg) != MEDIA_OK) {
        media_ctx_free(c);
        return NULL;
    }
    return c;
}

static media_buf *buffers(media_ctx *c, int i) {
    media_buf *all[] = {&c->rows,   &c->mid,         &c->line,         &c->strip,     &c->region,
                        &c->turned, &c->picture,     &c->sum,          &c->shades,    &c->room,
                        &c->mix,    &c->png.data,    &c->png.unpacked, &c->sheets[0], &c->sheets[1],
                        &c->boxes,  &c->masks.drawn, &c->masks.edges,  &c->masks.odd, &c->retouches.room};
    const int n = (int)(sizeof all / sizeof all[0]);
    if (i < n) return all[i];
    return i < n + MEDIA_MAX_STAGES ? &c->stages[i - n].steps.room : NULL;
}

void media_ctx_free(media_ctx *c) {
    if (!c) return;
    media_jpeg_destroy(&c->jpeg);
    media_png_destroy(&c->png);
    for (int i = 0; buffers(c, i); i++) media_buf_free(buffers(c, i));
    media_axis_free(&c->ax);
    media_axis_free(&c->ay);
    free(c);
}

size_t media_ctx_held(media_ctx *c) {
    size_t n = c->jpeg.arena.total + c->ax.places.cap + c->ax.coefficients.cap + c->ay.places.cap +
               c->ay.coefficients.cap;
    for (int i = 0; buffers(c, i); i++) n += buffers(c, i)->cap;
    return n;
}

static void trim(media_ctx *c) {
    for (int i = 0; buffers(c, i); i++) media_buf_trim(buffers(c, i));
    media_axis_trim(&c->ax);
    media_axis_trim(&c->ay);
}

const media_info *media_ctx_info(const media_ctx *c) { return &c->info; }

const char *media_ctx_isa(const media_ctx *c) { return c->kernels->isa; }

int media_ctx_own(const media_ctx *c) { return c->own; }

uint8_t *media_ctx_picture_buffer(media_ctx *c, size_t size_bytes) {
    return media_buf_get(&c->picture, size_bytes);
}

int media_fail(media_ctx *c, int status, const char *detail) {
    snprintf(c->info.detail, sizeof c->info.detail, "%s", detail);
    return status;
}

/* Orientation as a swap of the axes, then mirrors of the stored picture's. */
static void turns(int orientation, int *swap, int *mirror_x, int *mirror_y) {
    *swap = orientation >= 5;
    *mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    *mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

void media_unturn(int orientation, int32_t w, int32_t h, const media_region *r, media_region *raw) {
    int swap, mirror_x, mirror_y;
    turns(orientation, &swap, &mirror_x, &mirror_y);
    *raw = *r;
    if (swap) *raw = (media_region){r->y, r->x, r->h, r->w};
    if (mirror_x) raw->x = w - raw->x - raw->w;
    if (mirror_y) raw->y = h - raw->y - raw->h;
}

/* A map of points goes on by the plan. */
static void map_points(const media_op *op, const media_plan *p, double affine[6]) {
    double x = (double)p->res_w / p->box_w, y = (double)p->res_h / p->box_h;
    double left = -p->box_x * x - p->win_x, top = -p->box_y * y - p->win_y;
    const double map[6] = {p->flip ? -x : x,
                           0,
                           p->flip ? op->out_w - left : left,
                           0,
                           p->vflip ? -y : y,
                           p->vflip ? op->out_h - top : top};
    media_follow_points(map, affine);
}

/* The row's columns that the picture reaches, first to end, where they begin at win. */
static void reach(media_ctx *c, const media_plan *p, int32_t win, int32_t n) {
    int32_t first = win < 0 ? -win : 0, end = p->res_w - win < n ? p->res_w - win : n;
    if (first > n) first = n;
    if (end < first) end = first;
    c->first_column = p->flip ? n - end : first;
    c->end_column = p->flip ? n - first : end;
}

/* The axes of a pass, and the region of its picture that they read. */
static int begin(media_ctx *c, const media_pass *p, media_region *r) {
    media_axis_key x = p->x, y = p->y;
    x.filter = y.filter = media_settle(p->x.filter, &p->x, &p->y);
    c->by = c->kernels->by[media_way(x.filter)];
    if (media_axis_init(&c->ax, &x) != MEDIA_OK || media_axis_init(&c->ay, &y) != MEDIA_OK)
        return media_fail(c, MEDIA_NO_MEMORY, "");
    *r = (media_region){p->left + c->ax.first, p->top + c->ay.first, c->ax.end - c->ax.first,
                        c->ay.end - c->ay.first};
    return MEDIA_OK;
}

/* An open op becomes one of the size that the picture, which p resizes, has in its row. */
static int settle(media_ctx *c, const media_op *op, const media_plan *p) {
    const size_t area = (size_t)p->res_h * (size_t)p->res_w, room = (size_t)op->room_h * op->room_w;
    uint32_t h = (uint32_t)p->res_h, w = (uint32_t)p->res_w;
    c->info.row_h = p->res_h;
    c->info.row_w = p->res_w;
    if (h > MEDIA_MAX_SIDE || w > MEDIA_MAX_SIDE) return MEDIA_ROW_TOO_LARGE;
    if (op->open == MEDIA_OPEN_DENSE ? area > room : h > op->room_h || w > op->room_w)
        return MEDIA_ROW_TOO_LARGE;
    if (h < op->least_side || w < op->least_side) return MEDIA_ROW_TOO_SMALL;
    c->settled = *op;
    c->settled.out_h = h;
    c->settled.out_w = w;
    if (op->open == MEDIA_OPEN_DENSE) {
        c->settled.line = w;
        c->settled.lines = op->patch ? 1 : h; /* patches are made of one line at a time */
    }
    if (op->patch) {
        c->info.grid_rows = p->res_h / (int32_t)op->patch;
        c->info.grid_columns = p->res_w / (int32_t)op->patch;
        c->info.tiles = c->info.grid_rows * c->info.grid_columns;
    }
    c->op = &c->settled;
    return MEDIA_OK;
}

/* What is rendered is what p makes of the picture, or of what the stages made of it. */
static void make_by(media_ctx *c, const media_op *op, const media_plan *p, int32_t filter) {
    c->from_below = p->vflip;
    media_border_of(op, p, &c->border);
    reach(c, p, c->border.first_x, (int32_t)op->out_w);
    c->pass = (media_pass){
        .x = {p->box_w, p->res_w, c->border.first_x, (int32_t)op->out_w, filter, p->flip},
        .y = {p->box_h, p->res_h, c->border.first_y, (int32_t)op->out_h, filter, 0},
        .left = p->box_x,
        .top = p->box_y,
    };
}

/* The axes of stage i, or of the row behind the stages; tiles, each of which has its own, are of all of the picture there. */
static int begin_stage(media_ctx *c, int i, media_region *r) {
    const media_plan *p = &c->tiling.plan;
    if (i < c->n_stages) return begin(c, &c->stages[i].pass, r);
    if (!c->op->tiling) return begin(c, &c->pass, r);
    *r = (media_region){0, 0, p->box_w, p->box_h};
    return MEDIA_OK;
}

int media_begin(media_ctx *c, media_region *r) { return begin_stage(c, 0, r); }

/* Nothing is drawn for tiles. */
static int prepare_tiles(media_ctx *c, const media_op *op, int32_t w, int32_t h, media_region *r) {
    const media_tiling *t = &c->tiling;
    c->op = op;
    c->keeps = 0;
    c->erased.n = 0;
    int rc = media_plan_tiles(c, op, w, h);
    if (rc != MEDIA_OK) return rc;
    c->info.tiles = t->n;
    c->info.grid_rows = t->rows;
    c->info.grid_columns = t->columns;
    c->info.row_h = (int32_t)op->out_h;
    c->info.row_w = (int32_t)op->out_w;
    c->info.box_h = t->plan.box_h;
    c->info.box_w = t->plan.box_w;
    return begin_stage(c, 0, r);
}

int media_prepare(media_ctx *c, const media_op *op, const media_draw *draw, media_region *r) {
    static const double as_it_is[6] = {1, 0, 0, 0, 1, 0};
    media_plan p;
    int swap = c->info.orientation >= 5;
    int32_t w = swap ? c->info.height : c->info.width, h = swap ? c->info.width : c->info.height;
    memcpy(c->info.affine, as_it_is, sizeof as_it_is);
    if (op->tiling) return prepare_tiles(c, op, w, h, r);
    int rc = media_plan_row(c, op, draw, w, h, &p);
    c->op = op;
    if (rc == MEDIA_OK && op->open) rc = settle(c, op, &p);
    if (rc != MEDIA_OK) return rc;
    op = c->op;
    media_place(op, draw, &p);
    c->info.row_h = (int32_t)op->out_h;
    c->info.row_w = (int32_t)op->out_w;
    c->info.box_y = p.box_y;
    c->info.box_x = p.box_x;
    c->info.box_h = p.box_h;
    c->info.box_w = p.box_w;
    c->info.flip = media_flipped(op, draw, MEDIA_DO_FLIP);
    c->info.vflip = media_flipped(op, draw, MEDIA_DO_VFLIP);
    memcpy(c->row_map, as_it_is, sizeof as_it_is);
    map_points(op, &p, c->row_map);
    media_follow_points(c->row_map, c->info.affine);
    make_by(c, op, &p, media_filter(op, draw));
    rc = media_begin_steps(op, op->ahead[0] + op->ahead[1], op->n_steps, c->info.row_w, c->info.row_h,
                           &c->retouches);
    if (rc != MEDIA_OK) return media_fail(c, rc, "");
    media_draw_steps(op, draw, op->ahead[0] + op->ahead[1], op->n_steps, &c->retouches);
    c->keeps = c->border.mode != MEDIA_PAD_CONSTANT || c->retouches.n > 0;
    media_retouch_points(&c->retouches, c->info.affine);
    media_draw_erased(op, draw, &c->erased);
    const media_region first = c->erased.n > 0 ? c->erased.parts[0] : (media_region){0};
    c->info.erased_y = first.y;
    c->info.erased_x = first.x;
    c->info.erased_h = first.h;
    c->info.erased_w = first.w;
    return begin_stage(c, 0, r);
}

static int retouch(media_ctx *c, const media_op *op, const media_pixels *px, void *dst) {
    media_pixels from;
    if (c->border.mode != MEDIA_PAD_CONSTANT) {
        uint8_t *columns = media_copy_pixels(px, &c->room, (size_t)px->w * sizeof(int32_t), &from);
        if (!columns) return MEDIA_NO_MEMORY;
        media_border_row(&c->border, px, &from, (int32_t *)(void *)columns);
    }
    if (media_retouch_row(&c->retouches, c->kernels, px, &c->room, &c->mix) != MEDIA_OK)
        return MEDIA_NO_MEMORY;
    for (int32_t y = 0; y < px->h; y++) media_finish_line(c, op, media_line(px, y), y, dst);
    return MEDIA_OK;
}

/* The row, from the region's rows. */
static int finish(media_ctx *c, const media_op *op, int32_t rows, media_fetch fetch, void *dst) {
    media_window w = {.made = {.w = (int32_t)op->out_w, .h = (int32_t)op->out_h},
                      .from_below = c->from_below,
                      .first_column = c->first_column,
                      .end_column = c->end_column};
    w.made.step = op->channels == 1 ? 1 : media_planar(op) ? 4 : 3;
    int rc = media_window_init(c, &w, c->keeps ? &c->shades : NULL);
    if (rc == MEDIA_OK && op->patch) rc = media_patches_begin(c, op);
    if (rc != MEDIA_OK) return rc;
    media_resample(c, op, &w, rows, fetch, dst);
    if (c->keeps && retouch(c, op, &w.made, dst) != MEDIA_OK) return media_fail(c, MEDIA_NO_MEMORY, "");
    media_erase(op, c->kernels, &c->erased, dst);
    if (op->open == MEDIA_OPEN_PADDED) media_clear_beyond(op, dst);
    return MEDIA_OK;
}

/* A stage's picture, from the region's rows. */
static int make_picture(media_ctx *c, const media_op *op, const media_stage *s, int32_t rows,
                        media_fetch fetch, media_pixels *made) {
    media_window w = {.made = {.w = s->pass.x.n, .h = s->pass.y.n, .step = op->channels == 1 ? 1 : 4},
                      .end_column = s->pass.x.n};
    int rc = media_window_init(c, &w, media_next_sheet(c));
    if (rc != MEDIA_OK) return rc;
    media_resample(c, op, &w, rows, fetch, NULL);
    *made = w.made;
    return media_retouch_sheets(c, &s->steps, made);
}

void media_fetch_picture(media_ctx *c, int n, const uint8_t *rows[4]) {
    for (int i = 0; i < n; i++, c->picture_next += c->picture_stride) rows[i] = c->picture_next;
}

/* Copy the raw region, w x h pixels of `bytes` at src, turned upright. */
static void turn(int orientation, const uint8_t *src, size_t src_stride, const media_region *raw,
                 uint8_t *dst, size_t dst_stride, const media_region *r, int bytes) {
    int swap, mirror_x, mirror_y;
    turns(orientation, &swap, &mirror_x, &mirror_y);
    for (int32_t y = 0; y < r->h; y++) {
        for (int32_t x = 0; x < r->w; x++) {
            int32_t u = swap ? y : x, v = swap ? x : y;
            u = mirror_x ? raw->w - 1 - u : u;
            v = mirror_y ? raw->h - 1 - v : v;
            memcpy(dst + (size_t)y * dst_stride + (size_t)x * bytes,
                   src + (size_t)v * src_stride + (size_t)u * bytes, (size_t)bytes);
        }
    }
}

/* The w x h pixels that fetch gives, as rows of media_fetch_picture, which stay. */
static int hold(media_ctx *c, const media_op *op, int32_t w, int32_t h, media_fetch fetch) {
    const size_t stride = (size_t)w * (op->channels == 1 ? 1 : 4);
    if (!media_buf_get(&c->region, stride * (size_t)h + MEDIA_SLACK_BYTES))
        return media_fail(c, MEDIA_NO_MEMORY, "");
    for (int32_t y = 0; y < h;) {
        const uint8_t *rows[4];
        int n = h - y < 4 ? h - y : 4;
        fetch(c, n, rows);
        for (int i = 0; i < n; i++, y++) memcpy(c->region.p + (size_t)y * stride, rows[i], stride);
    }
    c->picture_next = c->region.p;
    c->picture_stride = stride;
    return MEDIA_OK;
}

/* The region, which fetch gives as it is stored, as rows of media_fetch_picture that are upright. */
static int turn_upright(media_ctx *c, const media_op *op, const media_region *r, media_fetch fetch) {
    int bytes = op->channels == 1 ? 1 : 4;
    media_region raw;
    media_unturn(c->info.orientation, c->info.width, c->info.height, r, &raw);
    size_t stride = (size_t)r->w * bytes;
    if (!media_buf_get(&c->turned, stride * (size_t)r->h + MEDIA_SLACK_BYTES))
        return media_fail(c, MEDIA_NO_MEMORY, "");
    int rc = hold(c, op, raw.w, raw.h, fetch);
    if (rc != MEDIA_OK) return rc;
    turn(c->info.orientation, c->region.p, c->picture_stride, &raw, c->turned.p, stride, r, bytes);
    c->picture_next = c->turned.p;
    c->picture_stride = stride;
    return MEDIA_OK;
}

/* The row's tiles, from the whole picture; zeros behind them. */
static int cut_tiles(media_ctx *c, const media_op *op, const media_region *r, media_fetch fetch,
                     uint8_t *dst) {
    const size_t tile = media_picture_bytes(op);
    int rc = fetch == media_fetch_picture ? MEDIA_OK : hold(c, op, r->w, r->h, fetch);
    const uint8_t *pixels = c->picture_next;
    const size_t stride = c->picture_stride;
    for (int32_t k = 0; rc == MEDIA_OK && k < c->tiling.n; k++) {
        media_plan p;
        media_region part;
        media_plan_tile(op, &c->tiling, k, &p);
        make_by(c, op, &p, (int32_t)op->filter);
        rc = begin(c, &c->pass, &part);
        if (rc != MEDIA_OK) return rc;
        media_picture_rows(c, pixels, stride, part.x, part.y, op);
        rc = finish(c, op, part.h, media_fetch_picture, dst + (size_t)k * tile);
    }
    memset(dst + (size_t)c->tiling.n * tile, 0, (op->most - (size_t)c->tiling.n) * tile);
    return rc;
}

int media_render(media_ctx *c, const media_region *r, media_fetch fetch, void *dst) {
    const media_op *op = c->op;
    if (c->info.orientation != 1) {
        int rc = turn_upright(c, op, r, fetch);
        if (rc != MEDIA_OK) return rc;
        fetch = media_fetch_picture;
    }
    media_region part = *r;
    for (int i = 0; i < c->n_stages; i++) {
        media_pixels made;
        int rc = make_picture(c, op, &c->stages[i], part.h, fetch, &made);
        if (rc == MEDIA_OK) rc = begin_stage(c, i + 1, &part);
        if (rc != MEDIA_OK) return rc;
        media_picture_rows(c, made.p, made.stride, part.x, part.y, op);
        fetch = media_fetch_picture;
    }
    if (op->tiling) return cut_tiles(c, op, &part, fetch, dst);
    return finish(c, op, part.h, fetch, dst);
}

static void reset_info(media_ctx *c) {
    memset(&c->info, 0, offsetof(media_info, detail) + 1);
    c->info.orientation = 1;
    c->own = 0;
}

int media_row(media_ctx *c, void *dst, const uint8_t *data, size_t size, const media_op *op,
              const media_draw *draw) {
    reset_info(c);
    if (size == 0) return MEDIA_EMPTY;
    int rc = MEDIA_OTHER_FORMAT;
    if (size >= 2 && data[0] == 0xff && data[1] == 0xd8)
        rc = media_jpeg_row(c, dst, data, size, op, draw);
    else if (!c->libraries && media_is_png(data, size))
        rc = media_png_row(c, dst, data, size, op, draw);
    else if (media_is_webp(data, size))
        rc = media_webp_row(c, dst, data, size, op, draw);
    trim(c);
    return rc;
}

int media_jpeg_plan(media_ctx *c, media_plan *plan, const uint8_t *data, size_t size, const media_op *op,
                    const media_draw *draw) {
    reset_info(c);
    if (size < 2 || data[0] != 0xff || data[1] != 0xd8) return MEDIA_OTHER_FORMAT;
    int rc = media_jpeg_header(c, data, size, op, 1);
    if (rc != MEDIA_OK) return rc;
    rc = media_fit(op, draw, c->info.width, c->info.height, plan);
    if (rc != MEDIA_OK) return media_fail(c, rc, "");
    media_place(op, draw, plan);
    return MEDIA_OK;
}

int media_head(media_ctx *c, const uint8_t *data, size_t size, const media_op *op) {
    uint32_t w = 0, h = 0;
    reset_info(c);
    if (size >= 2 && data[0] == 0xff && data[1] == 0xd8) return media_jpeg_header(c, data, size, op, 0);
    if (!(media_is_png(data, size) && media_png_sides(data, size, &w, &h)) &&
        !(media_is_webp(data, size) && media_webp_sides(data, size, &w, &h)))
        return MEDIA_OTHER_FORMAT;
    if ((uint64_t)w * h == 0 || w > INT32_MAX || h > INT32_MAX || (uint64_t)w * h > op->max_pixels)
        return MEDIA_OTHER_FORMAT; /* decoding says why */
    c->info.width = (int32_t)w;
    c->info.height = (int32_t)h;
    if (op->orient) c->info.orientation = media_exif_orientation(data, size);
    return MEDIA_OK;
}

void media_picture_rows(media_ctx *c, const uint8_t *pixels, size_t stride, int32_t x, int32_t y,
                        const media_op *op) {
    c->picture_next = pixels + (size_t)y * stride + (size_t)x * (op->channels == 1 ? 1 : 4);
    c->picture_stride = stride;
}

int media_row_picture(media_ctx *c, void *dst, const media_picture *p, const media_op *op,
                      const media_draw *draw) {
    media_region r, raw;
    reset_info(c);
    c->info.width = p->width;
    c->info.height = p->height;
    if (op->orient || p->always_turn) c->info.orientation = p->orientation;
    int rc = media_prepare(c, op, draw, &r);
    if (rc == MEDIA_OK) {
        media_unturn(c->info.orientation, p->width, p->height, &r, &raw);
        media_picture_rows(c, p->pixels, p->stride_bytes, raw.x, raw.y, op);
        rc = media_render(c, &r, media_fetch_picture, dst);
    }
    trim(c);
    return rc;
}
