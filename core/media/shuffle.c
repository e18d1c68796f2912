/* shuffle.c - a row's tiles in other places: albumentations' RandomGridShuffle.
 *
 * Tiles change places with those of their own size. What is left over of a side, some lines or columns of tiles have a pixel each, so that there are up to four sizes.
 *
 * Draws, in the words of philox.c: the first block says whether; the next is the key of what is drawn one by one: the sizes, as media_parts has them, and the tiles,
 * which are numbered line by line. Of those of a size, from the last one down to the second, each changes places with one of those that are not beyond it, by the
 * first uniform of the counter (its number, 2, 0, 0). */
#include "cv2.h"

enum { MOST = MEDIA_MAX_STEPS, SIZES = 4 };

void media_draw_shuffle(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_SHUFFLE)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_SHUFFLE, .matrix = {s->of.shuffle.grid[0], s->of.shuffle.grid[1]}};
    media_words(d, OP_LATER, LATER_SHUFFLE + 1, r->key);
}

/* A grid: where its lines and its columns of tiles begin and end, and where each tile goes. */
typedef struct grid {
    int32_t lines, columns, down[MOST + 1], across[MOST + 1];
    uint16_t to[MOST * MOST];
} grid;

static int32_t edges_of(const media_retouch *r, uint32_t axis, int32_t side, int32_t *edges) {
    int32_t n = 0;
    edges[0] = 0;
    for (media_parts p = media_parts_of(r, axis, side); media_next_part(&p);) edges[++n] = p.end;
    return n;
}

/* Which of the sizes a tile has. */
static int size_of(const grid *g, int32_t tile, int32_t h, int32_t w) {
    int32_t y = tile / g->columns, x = tile % g->columns;
    return (g->down[y + 1] - g->down[y] > h) + 2 * (g->across[x + 1] - g->across[x] > w);
}

static void shuffle(grid *g, const media_retouch *r, const uint16_t *tiles, int32_t n) {
    uint16_t left[MOST * MOST];
    memcpy(left, tiles, (size_t)n * sizeof *left);
    for (int32_t i = n - 1; i > 0; i--) {
        uint32_t words[4] = {tiles[i], 2};
        double u[2];
        media_philox(r->key, words);
        media_uniforms_of(words, u);
        int32_t with = (int32_t)(u[0] * (i + 1));
        uint16_t was = left[i];
        left[i] = left[with];
        left[with] = was;
    }
    for (int32_t i = 0; i < n; i++) g->to[tiles[i]] = left[i];
}

static void draw_grid(grid *g, const media_retouch *r, int32_t h, int32_t w) {
    uint16_t tiles[MOST * MOST];
    g->lines = edges_of(r, 0, h, g->down);
    g->columns = edges_of(r, 1, w, g->across);
    for (int size = 0; size < SIZES; size++) {
        int32_t n = 0;
        for (int32_t i = 0; i < g->lines * g->columns; i++)
            if (size_of(g, i, h / g->lines, w / g->columns) == size) tiles[n++] = (uint16_t)i;
        shuffle(g, r, tiles, n);
    }
}

void media_shuffle(const media_pixels *px, const media_pixels *from, const media_retouch *r) {
    grid g;
    size_t step = (size_t)px->step;
    draw_grid(&g, r, px->h, px->w);
    for (int32_t i = 0; i < g.lines * g.columns; i++) {
        int32_t y = i / g.columns, x = i % g.columns, to_y = g.to[i] / g.columns, to_x = g.to[i] % g.columns;
        size_t bytes = (size_t)(g.across[x + 1] - g.across[x]) * step;
        for (int32_t k = 0; k < g.down[y + 1] - g.down[y]; k++)
            memcpy(media_line(px, g.down[to_y] + k) + (size_t)g.across[to_x] * step,
                   media_line(from, g.down[y] + k) + (size_t)g.across[x] * step, bytes);
    }
}
