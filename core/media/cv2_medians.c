/* cv2_medians.c - each pixel as the median of the square around it, by how often each value is there.
 *
 * A small square's values are counted as it moves to the right, one column into it and one out of it. From a size on that is more than adding up what
 * all columns have counted (cv2_columns_isa.h). */
#include "cv2.h"

enum { VALUES = 256, BY_VALUES = 17 /* up to here */ };

/* How often each value is there, and which one has `below` less than it, and half of all or more not greater. */
typedef struct histogram {
    uint16_t of[VALUES];
    int32_t median, below;
} histogram;

static void count(histogram *h, uint8_t value, int by) {
    h->of[value] = (uint16_t)(h->of[value] + by);
    if (value < h->median) h->below += by;
}

static uint8_t middle(histogram *h, int32_t half) {
    while (h->below > half) h->below -= h->of[--h->median];
    while (h->below + h->of[h->median] <= half) h->below += h->of[h->median++];
    return (uint8_t)h->median;
}

/* One channel of a line. */
static void by_values(uint8_t *to, const uint8_t *line, const media_pixels *from, int32_t size) {
    int32_t step = from->step, half = size * size / 2;
    histogram h = {.median = 0};
    for (int32_t x = 0; x < from->w; x++) {
        for (int32_t k = 0; k < size; k++) count(&h, line[(size_t)k * from->stride + (size_t)(x * step)], 1);
        if (x < size - 1) continue;
        int32_t first = x - (size - 1);
        to[first * step] = middle(&h, half);
        for (int32_t k = 0; k < size; k++)
            count(&h, line[(size_t)k * from->stride + (size_t)(first * step)], -1);
    }
}

#define ISA
#include "cv2_columns_isa.h"

/* The first of the numbers that more than half of all are not above; below: how many are below it. */
static int32_t passed(const counts *c, int32_t half, int32_t *below) {
    const uint16_t *n = (const uint16_t *)c;
    int32_t i = 0;
    for (; *below + n[i] <= half; i++) *below += n[i];
    return i;
}

size_t media_medians_bytes(const media_pixels *from, int32_t size) {
    if (size <= MEDIA_SMALL_MEDIAN) return MEDIA_MEDIAN_LINES * media_line_stride(from->w, from->step);
    return columns_bytes(from->w);
}

void media_medians(const media_pixels *px, const media_pixels *from, int32_t size, void *room) {
    if (size > BY_VALUES) {
        medians_by_columns(px, from, size, room);
        return;
    }
    for (int32_t ch = 0; ch < (px->step == 1 ? 1 : 3); ch++) {
        for (int32_t y = 0; y < px->h; y++)
            by_values(media_line(px, y) + ch, media_line(from, y) + ch, from, size);
    }
}
