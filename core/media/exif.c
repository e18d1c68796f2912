/* exif.c - the orientation a file asks for.
 *
 * The tag is 0x0112 of the first IFD of a TIFF structure, which sits in the
 * first "Exif" APP1 segment of a JPEG that is not empty, in the eXIf chunk of a
 * PNG, in the EXIF chunk of a WebP, or is the file. XMP is not read. */
#include <string.h>

#include "files.h"

typedef struct span {
    const uint8_t *p;
    size_t n;
} span;

static uint32_t number(const uint8_t *p, int bytes, int big) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
    return v;
}

static int tiff_orientation(span t) {
    if (t.n < 8 || (memcmp(t.p, "II*\0", 4) != 0 && memcmp(t.p, "MM\0*", 4) != 0)) return 1;
    int big = t.p[0] == 'M';
    size_t ifd = number(t.p + 4, 4, big);
    if (ifd > t.n - 2) return 1;
    uint32_t n = number(t.p + ifd, 2, big);
    for (size_t i = 0, at = ifd + 2; i < n && at + 12 <= t.n; i++, at += 12) {
        if (number(t.p + at, 2, big) != 0x0112) continue;
        uint32_t type = number(t.p + at + 2, 2, big), count = number(t.p + at + 4, 4, big);
        uint32_t v = number(t.p + at + 8, type == 4 ? 4 : 2, big);
        return (type == 3 || type == 4) && count == 1 && v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

/* Without the name that some writers put before the structure where it has its own place. */
static span unnamed(const uint8_t *p, size_t n) {
    int name = n >= 6 && memcmp(p, "Exif\0\0", 6) == 0 ? 6 : 0;
    return (span){p + name, n - (size_t)name};
}

static span jpeg_exif(const uint8_t *d, size_t n) {
    size_t at = 2;
    while (at + 4 <= n && d[at] == 0xff) {
        int marker = d[at + 1];
        if (marker == 0xff) { /* fill byte */
            at++;
            continue;
        }
        if (marker == 0xda || marker == 0xd9) break;
        size_t len = (size_t)d[at + 2] << 8 | d[at + 3];
        if (len < 2 || len > n - at - 2) break;
        if (marker == 0xe1 && len >= 8 + 8 && memcmp(d + at + 4, "Exif\0", 5) == 0)
            return (span){d + at + 10, len - 8};
        at += 2 + len;
    }
    return (span){NULL, 0};
}

static span png_exif(const uint8_t *d, size_t n) {
    media_chunk c;
    for (size_t at = 0; media_png_chunk(d, n, &at, &c) && memcmp(c.kind, "IEND", 4) != 0;)
        if (memcmp(c.kind, "eXIf", 4) == 0) return unnamed(c.data, c.n);
    return (span){NULL, 0};
}

static span webp_exif(const uint8_t *d, size_t n) {
    for (size_t at = 12; at + 8 <= n;) {
        size_t len = number(d + at + 4, 4, 0);
        if (len > n - at - 8) break;
        if (memcmp(d + at, "EXIF", 4) == 0) return unnamed(d + at + 8, len);
        at += 8 + len + (len & 1);
    }
    return (span){NULL, 0};
}

int media_exif_orientation(const uint8_t *d, size_t n) {
    if (n < 12) return 1;
    if (d[0] == 0xff && d[1] == 0xd8) return tiff_orientation(jpeg_exif(d, n));
    if (media_is_png(d, n)) return tiff_orientation(png_exif(d, n));
    if (media_is_webp(d, n)) return tiff_orientation(webp_exif(d, n));
    return tiff_orientation((span){d, n});
}
