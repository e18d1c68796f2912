/* cv2_tones.c - albumentations' AutoContrast and PlanckianJitter.
 *
 * AutoContrast counts values below 255, as its calcHist does, in floats of 32 bits, which have whole numbers up to 2^24, and rounds half to even: between the smallest and the largest value that is
 * left once a share is cut off at both ends, values go by how many pixels have smaller ones (cdf), or evenly (pil). Colours of a temperature are the table of
 * Zini et al., "Planckian Jitter: countering the color-crippling effects of color jitter on self-supervised training" (ICLR 2023), of a black body and of the CIE's daylight, between two
 * temperatures by shares; red and blue are multiplied as multiply.c does it.
 *
 * Draws, in the words of philox.c: the first block says whether. PLANCKIAN's second uniform is the side of white, and the next block how far: by its first, or, of
 * normal numbers, by both. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#include <math.h>

#include "cv2.h"

void media_draw_cv2_autocontrast(const media_step *s, const media_draw *d, media_retouches *to) {
    if (media_happens(s, d, LATER_CV2_AUTOCONTRAST))
        to->all[to->n++] = (media_retouch){.kind = MEDIA_CV2_AUTOCONTRAST,
                                           .size = (int32_t)s->of.cv2_autocontrast.even,
                                           .value = s->of.cv2_autocontrast.cutoff};
}

/* The first value, from one end on, at which so many pixels are reached; 256: none. */
static int reached(const uint32_t n[256], int from, int by, float pixels) {
    float sum = 0;
    for (int i = 0; i < 256; i++) {
        sum += (float)n[from + i * by];
        if (sum >= pixels) return i;
    }
    return 256;
}

/* The smallest and the largest value that is left. */
static void bounds(const uint32_t n[256], double cutoff, int *low, int *high) {
    uint64_t all = 0;
    int even = 1;
    for (int i = 0; i < 256; i++) {
        all += n[i];
        even &= n[i] == n[0];
    }
    *low = 0;
    *high = 0;
    if (all == 0) return;
    if (cutoff == 0) {
        while (n[*low] == 0) ++*low;
        *high = 255;
        while (n[*high] == 0) --*high;
        return;
    }
    if (even) {
        *low = (int)(256 * cutoff / 100);
        *high = 255 - *low;
        return;
    }
    float pixels = (float)((double)(float)all * cutoff / 100);
    int first = reached(n, 0, 1, pixels), last = reached(n, 255, -1, pixels);
    *low = first == 256 ? 0 : first + 1 < 255 ? first + 1 : 255;
    *high = last == 256 ? 255 : 255 - last;
    if (*low > *high) *low = *high = 127;
}

static void stretch(const uint32_t counted[256], const media_retouch *r, uint8_t table[256]) {
    int low, high;
    uint32_t n[256];
    memcpy(n, counted, sizeof n);
    n[255] = 0;
    bounds(n, r->value, &low, &high);
    float sums[256], all = 0;
    double scale = 255.0 / (high > low ? high - low : 1);
    for (int x = low; x <= high; x++) sums[x] = all += (float)n[x];
    for (int x = 0; x < 256; x++) {
        if (high <= low)
            table[x] = (uint8_t)x;
        else if (x < low || x > high)
            table[x] = x < low ? 0 : 255;
        else if (r->size)
            table[x] = (uint8_t)fmin(fmax(rint((x - low) * scale), 0), 255);
        else if (all == 0)
            table[x] = (uint8_t)x;
        else
            table[x] = sums[high] > sums[low]
                           ? media_nearest_byte((sums[x] - sums[low]) * 255 / (sums[high] - sums[low]))
                           : 0;
    }
    if (!r->size && high > low && all == 0)
        for (int x = 0; x < 256; x++) table[x] = (uint8_t)x;
}

void media_cv2_autocontrast(const media_pixels *px, const media_kernels *by, const media_retouch *r) {
    media_by_histogram(px, by, stretch, r);
}

enum { COLDEST = 15000, EVERY = 500 };

/* Red, green and blue of each 500 kelvin, from the first temperature on. */
static const double black_body[][3] = {
    {0.6743, 0.4029, 0.0013}, {0.6281, 0.4241, 0.1665}, {0.5919, 0.4372, 0.2513}, {0.5623, 0.4457, 0.3154},
    {0.5376, 0.4515, 0.3672}, {0.5163, 0.4555, 0.4103}, {0.4979, 0.4584, 0.4468}, {0.4816, 0.4604, 0.4782},
    {0.4672, 0.4619, 0.5053}, {0.4542, 0.463, 0.5289},  {0.4426, 0.4638, 0.5497}, {0.432, 0.4644, 0.5681},
    {0.4223, 0.4648, 0.5844}, {0.4135, 0.4651, 0.599},  {0.4054, 0.4653, 0.6121}, {0.398, 0.4654, 0.6239},
    {0.3911, 0.4655, 0.6346}, {0.3847, 0.4656, 0.6444}, {0.3787, 0.4656, 0.6532}, {0.3732, 0.4656, 0.6613},
    {0.368, 0.4655, 0.6688},  {0.3632, 0.4655, 0.6756}, {0.3586, 0.4655, 0.682},  {0.3544, 0.4654, 0.6878},
    {0.3503, 0.4653, 0.6933},
};
static const double daylight[][3] = {
    {0.5829, 0.4421, 0.2288}, {0.551, 0.4514, 0.2948},  {0.5246, 0.4576, 0.3488}, {0.5021, 0.4618, 0.3941},
    {0.4826, 0.4646, 0.4325}, {0.4654, 0.4667, 0.4654}, {0.4502, 0.4681, 0.4938}, {0.4364, 0.4692, 0.5186},
    {0.424, 0.47, 0.5403},    {0.4127, 0.4705, 0.5594}, {0.4023, 0.4709, 0.5763}, {0.3928, 0.4713, 0.5914},
    {0.3839, 0.4715, 0.6049}, {0.3757, 0.4716, 0.6171}, {0.3681, 0.4717, 0.6281}, {0.3609, 0.4718, 0.638},
    {0.3543, 0.4719, 0.6472}, {0.348, 0.4719, 0.6555},  {0.3421, 0.4719, 0.6631}, {0.3365, 0.4719, 0.6702},
    {0.3313, 0.4719, 0.6766}, {0.3263, 0.4719, 0.6826}, {0.3217, 0.4719, 0.6882},
};

static const double WHITE = 6000,
                    WARM = 0.4; /* where both sides meet, and how often the warmer one is drawn */

void media_draw_planckian(const media_step *s, const media_draw *d, media_retouches *to) {
    const media_planckian_step *of = &s->of.planckian;
    double u[2], far[2], t;
    if (!media_happens(s, d, LATER_PLANCKIAN)) return;
    media_uniforms(d, OP_LATER, LATER_PLANCKIAN, u);
    media_uniforms(d, OP_LATER, LATER_PLANCKIAN + 1, far);
    const int warm = u[1] < WARM;
    const double side[2] = {warm ? of->kelvin[0] : WHITE, warm ? WHITE : of->kelvin[1]};
    if (of->normal)
        t = WHITE + (warm ? -1 : 1) * fabs(media_normal(far) * fabs(side[1] - side[0]) / 3);
    else
        t = media_between(side, far[0]);
    t = floor(fmin(fmax(t, of->kelvin[0]), of->kelvin[1]));
    const double(*table)[3] = of->daylight ? daylight : black_body;
    const int first = of->daylight ? 4000 : 3000, kelvin = (int)fmin(fmax(t, first), COLDEST);
    int left = kelvin / EVERY * EVERY, right = left + EVERY < COLDEST ? left + EVERY : COLDEST;
    double more = left == right ? 0 : (double)(kelvin - left) / (right - left), rgb[3];
    const double *a = table[(left - first) / EVERY], *b = table[(right - first) / EVERY];
    for (int ch = 0; ch < 3; ch++) rgb[ch] = left == right ? a[ch] : (1 - more) * a[ch] + more * b[ch];
    to->all[to->n++] =
        (media_retouch){.kind = MEDIA_MULTIPLY, .matrix = {rgb[0] / rgb[1], 1, rgb[2] / rgb[1]}};
}
