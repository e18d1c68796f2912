/* stream.c - from source rows to resampled lines: along x into a window of rows or a sum of them, and these along y. */
#include <string.h>

#include "internal.h"

/* A window for what `made` says, but for its memory, which is of `keep`, if that is not NULL. */
int media_window_init(media_ctx *c, media_window *w, media_buf *keep) {
    media_pixels *made = &w->made;
    made->stride = media_line_stride(made->w, made->step);
    w->stride = media_line_stride(made->w, made->step * c->by->bytes);
    w->first = 0;
    w->cap = c->by->down ? 2 * (c->ay.groups * 4 + 4) + 48 : 0;
    w->p = media_buf_get(&c->mid, w->stride * (size_t)(w->cap + 4));
    if (!w->p || !media_buf_get(&c->line, made->stride)) return media_fail(c, MEDIA_NO_MEMORY, "");
    if (!c->by->down && !media_buf_get(&c->sum, w->stride)) return media_fail(c, MEDIA_NO_MEMORY, "");
    made->p = keep ? media_buf_get(keep, made->stride * (size_t)made->h) : NULL;
    return keep && !made->p ? media_fail(c, MEDIA_NO_MEMORY, "") : MEDIA_OK;
}

/* Make room for four rows from `row` on, keeping those from `keep` on. */
static void window_slide(media_window *w, int32_t keep, int32_t row) {
    if (row + 4 - w->first <= w->cap || keep <= w->first) return;
    memmove(w->p, w->p + (size_t)(keep - w->first) * w->stride, (size_t)(row - keep) * w->stride);
    w->first = keep;
}

/* Rows of the region through the horizontal axis. */
static void resample_rows(media_ctx *c, const media_window *w, const uint8_t *src[4], uint8_t *dst[4],
                          int n) {
    if (w->made.step == 1) {
        for (int i = 0; i < n; i++) c->by->across1(&c->ax, src[i], dst[i]);
        return;
    }
    for (int i = n; n > 0 && i < 4; i++) {
        src[i] = src[n - 1];
        dst[i] = dst[n - 1];
    }
    if (n > 0) c->by->across4(&c->ax, src, dst, w->made.step);
}

/* Fill in what the picture does not reach of line y, which is the window's own or a copy. */
static void frame(const media_ctx *c, const media_op *op, const media_window *w, int32_t y, uint8_t *line) {
    int step = w->made.step;
    int32_t n = w->made.w, first = c->ay.count[y] == 0 ? n : w->first_column;
    media_fill(line, first, step, op->fill);
    if (first < n) media_fill(line + (size_t)w->end_column * step, n - w->end_column, step, op->fill);
}

/* Where line y of what the geometry gives is made: where it is kept, or where it is finished from. */
static uint8_t *place_of(const media_ctx *c, const media_window *w, int32_t y) {
    return w->made.p ? media_line(&w->made, w->from_below ? w->made.h - 1 - y : y) : c->line.p;
}

/* Line y, from there or from the window: finished, or kept where all lines are needed before they change. */
static void put(const media_ctx *c, const media_op *op, const media_window *w, int32_t y, uint8_t *line,
                void *dst) {
    uint8_t *to = place_of(c, w, y);
    frame(c, op, w, y, line);
    if (!w->made.p)
        media_finish_line(c, op, line, w->from_below ? w->made.h - 1 - y : y, dst);
    else if (line != to)
        memcpy(to, line, (size_t)(w->made.w * w->made.step));
}

/* Line y from the window's. */
static void emit(media_ctx *c, const media_op *op, const media_window *w, int32_t y, void *dst) {
    int32_t len = w->made.w * w->made.step;
    uint8_t *src = w->p + (size_t)(c->ay.start[y] - w->first) * w->stride, *line = place_of(c, w, y);
    if (c->ay.count[y] > 0 && c->ay.identity)
        line = src;
    else if (c->ay.count[y] > 0)
        c->by->down(&c->ay, y, src, w->stride, line, len);
    if (c->ay.count[y] > 0 && c->by->mend) c->by->mend(&c->ax, &c->ay, y, src, w->stride, line, len);
    put(c, op, w, y, line, dst);
}

/* Whether an output from *y on reads the region's row; of those before *y none reads it or a later one. */
static int is_read(const media_axis *a, int32_t *y, int32_t row) {
    while (*y < a->n && a->start[*y] + a->count[*y] <= row) ++*y;
    return *y < a->n && a->start[*y] <= row;
}

/* Stream the region's rows through both passes, into dst where they are finished at once. */
static void stream(media_ctx *c, const media_op *op, media_window *w, int32_t rows, media_fetch fetch,
                   void *dst) {
    int32_t y = 0, h = w->made.h;
    for (int32_t done = 0, reader = 0; done < rows;) {
        const uint8_t *src[4];
        uint8_t *to[4];
        int n = rows - done < 4 ? rows - done : 4, read = 0;
        fetch(c, n, src);
        int32_t keep = y < h && c->ay.count[y] > 0 ? c->ay.start[y] : done;
        window_slide(w, keep < done ? keep : done, done); /* some filters leave rows out */
        for (int i = 0; i < n; i++, done++) {
            if (!is_read(&c->ay, &reader, done)) continue;
            src[read] = src[i];
            to[read++] = w->p + (size_t)(done - w->first) * w->stride;
        }
        resample_rows(c, w, src, to, read);
        while (y < h && c->ay.start[y] + c->ay.count[y] <= done) emit(c, op, w, y++, dst);
    }
}

/* Row of the region, resampled at line, becomes a part of output *y, which is finished with its last, and perhaps of the next. */
static void gather(media_ctx *c, const media_op *op, const media_window *w, int32_t *y, int32_t row,
                   const uint8_t *line, void *dst) {
    const int32_t len = w->made.w * w->made.step;
    for (; *y < w->made.h && c->ay.start[*y] <= row; ++*y) {
        if (c->ay.count[*y] > 0) c->by->add(&c->ay, *y, row - c->ay.start[*y], line, c->sum.p, len);
        if (row + 1 < c->ay.start[*y] + c->ay.count[*y]) return;
        uint8_t *made = place_of(c, w, *y);
        if (c->ay.count[*y] > 0) c->by->round(&c->ax, &c->ay, c->sum.p, made, len);
        put(c, op, w, *y, made, dst);
    }
}

/* The same for filters that read so many rows of each output that a window of them would be large. */
static void accumulate(media_ctx *c, const media_op *op, media_window *w, int32_t rows, media_fetch fetch,
                       void *dst) {
    for (int32_t done = 0, y = 0; done < rows;) {
        const uint8_t *src[4];
        uint8_t *to[4];
        int n = rows - done < 4 ? rows - done : 4;
        fetch(c, n, src);
        for (int i = 0; i < n; i++) to[i] = w->p + (size_t)i * w->stride;
        resample_rows(c, w, src, to, n);
        for (int i = 0; i < n; i++) gather(c, op, w, &y, done++, w->p + (size_t)i * w->stride, dst);
    }
}

void media_resample(media_ctx *c, const media_op *op, media_window *w, int32_t rows, media_fetch fetch,
                    void *dst) {
    if (c->by->down)
        stream(c, op, w, rows, fetch, dst);
    else
        accumulate(c, op, w, rows, fetch, dst);
}
