/* colour.c - rows of one colour space into another, in place. */
#include "files.h"

/* x * y / 255, rounded, as Pillow's MULDIV255. */
static uint32_t multiply255(uint32_t x, uint32_t y) {
    uint32_t v = x * y + 128;
    return ((v >> 8) + v) >> 8;
}

/* CMYK as JPEG files hold it, inverted by Adobe's convention, marker or not:
 * Pillow and torchvision both read it so. */
void media_cmyk_to_rgbx(uint8_t *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++, row += 4) {
        uint32_t k = row[3];
        for (int ch = 0; ch < 3; ch++) row[ch] = (uint8_t)(k - multiply255(k, 255u - row[ch]));
    }
}

/* Pillow's RGBa to RGBA: alpha is in the fourth byte. */
void media_unmultiply(uint8_t *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++, row += 4) {
        uint32_t a = row[3];
        for (int ch = 0; ch < 3 && a != 255; ch++) {
            uint32_t v = a ? row[ch] * 255u / a : 0;
            row[ch] = (uint8_t)(v > 255 ? 255 : v);
        }
    }
}

/* Pillow's convert("L"). Writes never pass the pixel being read. */
void media_rgbx_to_gray(uint8_t *row, uint32_t n) {
    const uint8_t *s = row;
    for (uint32_t i = 0; i < n; i++, s += 4)
        row[i] = (uint8_t)((s[0] * 19595u + s[1] * 38470u + s[2] * 7471u + 0x8000u) >> 16);
}
