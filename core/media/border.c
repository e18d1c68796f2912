/* border.c - rows that reach beyond their picture and have its own pixels there: np.pad's edge, reflect and symmetric, as
 * torchvision pads PIL images by them.
 *
 * Every place beyond has one within, and those of a row's width are never more than the row is wide. So the row is first made of
 * the part of the picture that holds all of them, and its pixels are then spread from a copy. */
#include <string.h>

#include "internal.h"

int32_t media_border_at(uint32_t mode, int32_t p, int32_t n) {
    if (p >= 0 && p < n) return p;
    if (mode == MEDIA_PAD_EDGE || n == 1) return p < 0 ? 0 : n - 1;
    if (p > -n && p < 2 * n - 1) { /* as far as one turn: no division */
        int32_t at = p < 0 ? -p : 2 * n - 2 - p, again = mode != MEDIA_PAD_REFLECT;
        return p < 0 ? at - again : at + again;
    }
    int32_t period = mode == MEDIA_PAD_REFLECT ? 2 * n - 2 : 2 * n;
    p %= period;
    if (p < 0) p += period;
    return p < n ? p : mode == MEDIA_PAD_REFLECT ? period - p : period - 1 - p;
}

/* The first element that the n from win on need, of size. */
static int32_t first_of(uint32_t mode, int32_t win, int32_t n, int32_t size) {
    int32_t first = size - 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t at = media_border_at(mode, win + i, size);
        if (at < first) first = at;
    }
    return first;
}

void media_border_of(const media_op *op, const media_plan *p, media_border *b) {
    int32_t w = (int32_t)op->out_w, h = (int32_t)op->out_h;
    *b = (media_border){.x = p->win_x, .y = p->win_y, .first_x = p->win_x, .first_y = p->win_y};
    if (op->padding_mode == MEDIA_PAD_CONSTANT ||
        (p->win_x >= 0 && p->win_y >= 0 && p->win_x + w <= p->res_w && p->win_y + h <= p->res_h))
        return;
    b->mode = op->padding_mode;
    b->w = p->res_w;
    b->h = p->res_h;
    b->flip = p->flip;
    b->vflip = p->vflip;
    b->first_x = first_of(b->mode, p->win_x, w, p->res_w);
    b->first_y = first_of(b->mode, p->win_y, h, p->res_h);
}

/* Which of n pixels, rendered from `first` on, is the one at i of those from win on; of a flipped row both count from its end. */
static int32_t source_of(uint32_t mode, int32_t i, int32_t n, int32_t win, int32_t first, int32_t size,
                         int flip) {
    int32_t at = media_border_at(mode, win + (flip ? n - 1 - i : i), size) - first;
    return flip ? n - 1 - at : at;
}

static inline void gather(uint8_t *to, const uint8_t *from, const int32_t *columns, int32_t n, size_t step) {
    for (int32_t i = 0; i < n; i++, to += step) memcpy(to, from + (size_t)columns[i] * step, step);
}

void media_border_row(const media_border *b, const media_pixels *px, const media_pixels *from,
                      int32_t *columns) {
    for (int32_t i = 0; i < px->w; i++)
        columns[i] = source_of(b->mode, i, px->w, b->x, b->first_x, b->w, b->flip);
    for (int32_t y = 0; y < px->h; y++) {
        const uint8_t *line =
            media_line(from, source_of(b->mode, y, px->h, b->y, b->first_y, b->h, b->vflip));
        switch (px->step) {
        case 1: gather(media_line(px, y), line, columns, px->w, 1); break;
        case 3: gather(media_line(px, y), line, columns, px->w, 3); break;
        default: gather(media_line(px, y), line, columns, px->w, 4); break;
        }
    }
}
