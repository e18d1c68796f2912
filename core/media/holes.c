/* holes.c - parts of a row that become one colour: albumentations' CoarseDropout, GridDropout, PixelDropout, SaltAndPepper and Erasing.
 *
 * Draws, in the words of philox.c: the first block says whether, and how many; each hole has two blocks behind it, height and width, then how far down and to
 * the right. Holes lie within the row, and may lie on each other. A grid's block says whether, and how large its cells are; pixels' whether. The block behind it is
 * the key of what is then drawn one by one: of a grid the counter (i, 0, 0, 0) says with the first uniform whether line i of cells has one of the pixels that are left
 * over, (i, 1, 0, 0) of column i, and (i, 2, k, 0) where the hole of line i and column k lies, down and to the right; of pixels a word of (i / 4, channel, 0, 0).
 * Salt's second uniform is how many pixels, the next block has how many of these are white, and the one behind it is the key: a word of channel 0 for each pixel as long as
 * some are to be found, and one of channel 1 for each that is. ERASING's next blocks have the area and the shape, then how far down and to the right. */
#include <math.h>

#include "cv2.h"

/* Of a row's side of n: a share that is cut to whole pixels, or one of these from the first to the last. */
static int32_t side_of(const double range[2], int pixels, int32_t n, double u) {
    if (!pixels) return (int32_t)(n * media_between(range, u));
    double most = range[1] < n ? range[1] : n;
    int32_t side = (int32_t)(range[0] + (int32_t)(u * (most - range[0] + 1)));
    return side < n ? side : n;
}

media_region media_draw_hole(const media_holes_step *of, const media_draw *d, uint32_t op, uint32_t block,
                             int32_t h, int32_t w) {
    double size[2], at[2];
    media_uniforms(d, op, block, size);
    media_uniforms(d, op, block + 1, at);
    media_region r = {.h = side_of(of->height, (int)of->pixels, h, size[0]),
                      .w = side_of(of->width, (int)of->pixels, w, size[1])};
    r.y = (int32_t)(at[0] * (h - r.h + 1));
    r.x = (int32_t)(at[1] * (w - r.w + 1));
    return r;
}

void media_draw_holes(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_holes_step *of = &s->of.holes;
    double u[2];
    if (!media_happens(s, d, LATER_HOLES)) return;
    media_uniforms(d, OP_LATER, LATER_HOLES, u);
    uint32_t n = media_whole_between(of->n, u[1]);
    for (uint32_t i = 0; i < n; i++) {
        media_region at = media_draw_hole(of, d, OP_LATER, LATER_HOLES + 1 + 2 * i, to->h, to->w);
        media_retouch *r = &to->all[to->n++];
        *r = (media_retouch){.kind = MEDIA_HOLE,
                             .key = {(uint32_t)at.x, (uint32_t)at.y, (uint32_t)at.w, (uint32_t)at.h}};
        memcpy(r->fill, of->fill, sizeof r->fill);
    }
}

void media_hole(const media_pixels *px, const media_retouch *r) {
    for (uint32_t y = 0; y < r->key[3]; y++)
        media_fill(media_line(px, (int32_t)(r->key[1] + y)) + (size_t)r->key[0] * (size_t)px->step,
                   (int32_t)r->key[2], px->step, r->fill);
}

void media_draw_grid_holes(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_grid_holes_step *of = &s->of.grid_holes;
    double u[2];
    if (!media_happens(s, d, LATER_GRID_HOLES)) return;
    media_uniforms(d, OP_LATER, LATER_GRID_HOLES, u);
    int32_t side = (int32_t)media_whole_between(of->unit, u[1]);
    const int32_t sides[2] = {to->h, to->w};
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_GRID_HOLES, .value = of->ratio};
    for (int i = 0; i < 2; i++) {
        int32_t cell = side > 0 ? side : sides[i] / 10 > 2 ? sides[i] / 10 : 2;
        r->matrix[i] = of->cells[0] > 0 ? (double)of->cells[i] : sides[i] / cell;
        r->matrix[2 + i] = of->anywhere ? -1 : (double)of->shift[1 - i];
    }
    memcpy(r->fill, of->fill, sizeof r->fill);
    media_words(d, OP_LATER, LATER_GRID_HOLES + 1, r->key);
}

media_parts media_parts_of(const media_retouch *r, uint32_t axis, int32_t side) {
    uint32_t n = (uint32_t)r->matrix[axis];
    return (media_parts){.key = r->key,
                         .axis = axis,
                         .n = n,
                         .over = n ? (uint32_t)side % n : 0,
                         .size = n ? side / (int32_t)n : 0};
}

int media_next_part(media_parts *p) {
    uint32_t words[4] = {p->i, p->axis};
    double u[2];
    if (p->i == p->n) return 0;
    media_philox(p->key, words);
    media_uniforms_of(words, u);
    uint32_t one = u[0] * (p->n - p->i) < p->over;
    p->over -= one;
    p->i++;
    p->at = p->end;
    p->end += p->size + (int32_t)one;
    return 1;
}

/* Where in a part of a side a hole begins and ends. */
static void hole_in(const media_parts *p, const media_retouch *r, int32_t side, double u, int32_t *at,
                    int32_t *end) {
    int32_t n = p->end - p->at, hole = (int32_t)fmin(fmax(n * r->value, 1), n - 1);
    double shift = r->matrix[2 + p->axis];
    *at = p->at + (shift < 0 ? (int32_t)(u * (n - hole + 1)) : (int32_t)shift);
    if (*at > side - hole) *at = side - hole;
    *end = *at + hole;
}

void media_grid_holes(const media_pixels *px, const media_retouch *r) {
    for (media_parts down = media_parts_of(r, 0, px->h); media_next_part(&down);)
        for (media_parts across = media_parts_of(r, 1, px->w); media_next_part(&across);) {
            uint32_t words[4] = {down.i - 1, 2, across.i - 1};
            double u[2];
            int32_t top, bottom, left, right;
            media_philox(r->key, words);
            media_uniforms_of(words, u);
            hole_in(&down, r, px->h, u[0], &top, &bottom);
            hole_in(&across, r, px->w, u[1], &left, &right);
            for (int32_t y = top; y < bottom && left < right; y++)
                media_fill(media_line(px, y) + (size_t)left * (size_t)px->step, right - left, px->step,
                           r->fill);
        }
}

void media_draw_specks(const media_step *s, const media_draw *d, media_retouches *to) {
    if (!media_happens(s, d, LATER_SPECKS)) return;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){
        .kind = MEDIA_SPECKS, .size = (int32_t)s->of.specks.each, .value = s->of.specks.share};
    memcpy(r->fill, s->of.specks.fill, sizeof r->fill);
    media_words(d, OP_LATER, LATER_SPECKS + 1, r->key);
}

/* A channel's values, or, of all channels, its pixels. */
static void speckle(const media_pixels *px, const media_kernels *by, const media_retouch *r, uint32_t channel,
                    int first, int end) {
    const double share = r->value * 0x1p32;
    media_each each = {.by = by, .key = r->key, .channel = channel};
    for (int32_t y = 0; y < px->h; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w; x++, c += px->step)
            if (media_next_word(&each) < share)
                for (int ch = first; ch < end; ch++) c[ch] = r->fill[ch];
    }
}

void media_specks(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    int channels = px->step == 1 ? 1 : 3;
    if (!r->size) {
        speckle(px, by, r, 0, 0, channels);
        return;
    }
    for (int ch = 0; ch < channels; ch++) speckle(px, by, r, (uint32_t)ch, ch, ch + 1);
}

void media_draw_salt(const media_step *s, const media_draw *d, media_retouches *to) {
    double amount[2], white[2];
    if (!media_happens(s, d, LATER_SALT)) return;
    media_uniforms(d, OP_LATER, LATER_SALT, amount);
    media_uniforms(d, OP_LATER, LATER_SALT + 1, white);
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_SALT,
                         .value = media_between(s->of.salt.amount, amount[1]),
                         .mean = media_between(s->of.salt.white, white[0])};
    media_words(d, OP_LATER, LATER_SALT + 2, r->key);
}

/* So many pixels, any of all alike: each with the chance that so many of those from it on still have to be. */
void media_salt(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    const int channels = px->step == 1 ? 1 : 3;
    media_each each = {.by = by, .key = r->key}, which = {.by = by, .key = r->key, .channel = 1};
    uint64_t left = (uint64_t)px->w * (uint64_t)px->h, want = (uint64_t)((double)left * r->value);
    uint64_t white = (uint64_t)((double)want * r->mean);
    for (int32_t y = 0; y < px->h && want > 0; y++) {
        uint8_t *c = media_line(px, y);
        for (int32_t x = 0; x < px->w && want > 0; x++, c += px->step, left--) {
            if ((double)media_next_word(&each) * (double)left >= (double)want * 0x1p32) continue;
            int is_white = (double)media_next_word(&which) * (double)want < (double)white * 0x1p32;
            memset(c, is_white ? 255 : 0, (size_t)channels);
            white -= (uint64_t)is_white;
            want--;
        }
    }
}

/* albumentations' Erasing: no part where none of so much area has such a shape. */
void media_draw_erasing(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_erasing_step *of = &s->of.erasing;
    double size[2], at[2], h = to->h, w = to->w, least = of->ratio[0], most = of->ratio[1];
    if (!media_happens(s, d, LATER_ERASING)) return;
    media_uniforms(d, OP_LATER, LATER_ERASING + 1, size);
    media_uniforms(d, OP_LATER, LATER_ERASING + 2, at);
    double first = h * w * of->scale[0];
    double last = fmin(h * w * of->scale[1],
                       fmin(fmin(least * h * h, most * h * h), fmin(w * w / least, w * w / most)));
    if (last < first) return;
    double area = first + (last - first) * size[0];
    most = fmin(most, w * w / area);
    least = fmax(least, area / (h * h));
    if (!(area > 0) || least > most) return;
    double ratio = least + (most - least) * size[1];
    int32_t high = (int32_t)rint(sqrt(area / ratio)), wide = (int32_t)rint(sqrt(area * ratio));
    high = high < to->h ? high : to->h;
    wide = wide < to->w ? wide : to->w;
    media_retouch *r = &to->all[to->n++];
    *r = (media_retouch){.kind = MEDIA_HOLE,
                         .key = {(uint32_t)(at[1] * (to->w - wide + 1)),
                                 (uint32_t)(at[0] * (to->h - high + 1)), (uint32_t)wide, (uint32_t)high}};
    memcpy(r->fill, of->fill, sizeof r->fill);
}
