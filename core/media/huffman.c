/* huffman.c - the entropy decoder of baseline JPEG, in libjpeg-turbo's place.
 *
 * More than half of the time of a photograph goes into its Huffman codes. The
 * library looks up a code, then fetches the bits of the coefficient behind it;
 * here one look at MEDIA_HUFF_LOOK bits mostly gives both. Codes of parts that
 * nobody needs (rows above the region, columns beside it) are only counted.
 *
 * It decodes what is sound. Whatever is not (a code that no table has, data
 * that ends early, a restart marker that is not where it belongs) it leaves to
 * the library: media_jpeg_row begins the file again without this decoder, so
 * damage means what libjpeg says it means.
 *
 * The bit buffer holds its bits at the top. Bits below `bits` are zero or those
 * of the bytes at `p`, so that a refill may set them again. */
#include <string.h>

#include "jpeg.h"

#define ALWAYS_INLINE inline __attribute__((always_inline)) /* the bits stay in registers */

/* The head of libjpeg's own record of an entropy decoder (jpegint.h, which is not
 * installed): the same in version 6 of 1995 and in every libjpeg-turbo. */
struct jpeg_entropy_decoder_head {
    void (*start_pass)(j_decompress_ptr d);
    boolean (*decode_mcu)(j_decompress_ptr d, JBLOCKROW *blocks);
};

/* Two symbols are looked up at once where both fit. An entry has, from its
 * lowest byte up: the bits of both, the zeros before the first coefficient,
 * those before the second, the bits of the first with PAIR if there is a
 * second; then the two coefficients, 16 bits each, 0 where there is none.
 *
 * Where not even the first fits, the bits of both are 0; those of the first are
 * of its code alone and in place of the coefficient stands its size; or all is 0,
 * for a code that is longer than a look. */
enum {
    BYTE = 0xff,
    RUN1 = 8,
    RUN2 = 16,
    BITS1 = 24,
    VALUE1 = 32,
    VALUE2 = 48,
    PAIR = 0x80,
    END_OF_BLOCK = 64
};

enum { DC_LIMIT = 1 << 24 }; /* no sum of a sound file's differences comes near it */

/* Where the k-th coefficient of a zigzag lies. A damaged block may run up to
 * END_OF_BLOCK past its end: those fall on the last one, as in libjpeg. */
#define LAST8 63, 63, 63, 63, 63, 63, 63, 63
static const uint8_t zigzag[64 + END_OF_BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32,    25,    18,    11,    4,     5,     12,    19,
    26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,     14,    21,    28,    35,    42,    49,    56,
    57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44,    51,    58,    59,    52,    45,    38,    31,
    39, 46, 53, 60, 61, 54, 47, 55, 62, 63, LAST8, LAST8, LAST8, LAST8, LAST8, LAST8, LAST8, LAST8};

static int32_t extended(uint32_t bits, int size) {
    return bits < 1u << (size - 1) ? (int32_t)bits - (int32_t)(1u << size) + 1 : (int32_t)bits;
}

/* What a symbol is: of a DC table a size, of an AC table a run of zeros and a size. */
static void parts(uint8_t symbol, int ac, int *run, int *size) {
    *size = ac ? symbol & 15 : symbol;
    *run = ac ? symbol >> 4 : 0;
    if (ac && *size == 0 && *run != 15) *run = END_OF_BLOCK;
}

static ALWAYS_INLINE int field(uint64_t e, int shift) { return (int)(e >> shift & BYTE); }

static ALWAYS_INLINE int32_t value(uint64_t e, int shift) { return (int16_t)(e >> shift); }

static uint64_t entry(int bits, int run, int bits1, uint32_t value1) {
    return (uint64_t)bits | (uint64_t)run << RUN1 | (uint64_t)bits1 << BITS1 |
           (uint64_t)(value1 & 0xffff) << VALUE1;
}

/* The entries, of one symbol yet, of all indices that begin with a code. */
static void fill(uint64_t *look, uint32_t code, int length, uint8_t symbol, int ac) {
    int run, size, rest = MEDIA_HUFF_LOOK - length;
    parts(symbol, ac, &run, &size);
    for (uint32_t suffix = 0; suffix < 1u << rest; suffix++) {
        uint64_t *e = &look[(code << rest) + suffix];
        int all = length + size;
        if (size == 0)
            *e = entry(length, run, length, 0);
        else if (size <= rest)
            *e = entry(all, run, all, (uint32_t)extended(suffix >> (rest - size), size));
        else
            *e = entry(0, run, length, (uint32_t)size);
    }
}

/* The second symbols. */
static void pair(uint64_t *look, const uint64_t *single) {
    for (uint32_t i = 0; i < 1u << MEDIA_HUFF_LOOK; i++) {
        uint64_t first = single[i];
        int bits1 = field(first, 0);
        if (bits1 == 0 || field(first, RUN1) == END_OF_BLOCK) continue;
        uint64_t second = single[i << bits1 & ((1u << MEDIA_HUFF_LOOK) - 1)];
        int bits2 = field(second, 0);
        if (bits2 == 0 || bits1 + bits2 > MEDIA_HUFF_LOOK) continue;
        look[i] = (first & ~(uint64_t)BYTE) + (uint64_t)(bits1 + bits2) + ((uint64_t)PAIR << BITS1) +
                  ((uint64_t)field(second, RUN1) << RUN2) + ((second >> VALUE1) << VALUE2);
    }
}

/* The table of a file, unless it is what the last file had. libjpeg has found
 * it sound: at most 256 codes that fit their lengths, DC sizes up to 15. */
static void build(media_huff_table *t, const JHUFF_TBL *from, int ac) {
    if (t->ready && !memcmp(t->counts, from->bits, sizeof t->counts) &&
        !memcmp(t->symbols, from->huffval, sizeof t->symbols))
        return;
    memcpy(t->counts, from->bits, sizeof t->counts);
    memcpy(t->symbols, from->huffval, sizeof t->symbols);
    memset(t->look, 0, sizeof t->look);
    uint32_t code = 0;
    int n = 0;
    for (int length = 1; length <= 16; length++, code <<= 1) {
        t->first[length] = n - (int32_t)code;
        for (int i = 0; i < t->counts[length]; i++, n++, code++) {
            if (length <= MEDIA_HUFF_LOOK) fill(t->look, code, length, t->symbols[n], ac);
        }
        t->end[length] = t->counts[length] ? (int32_t)code : 0;
    }
    if (ac) {
        uint64_t single[1 << MEDIA_HUFF_LOOK];
        memcpy(single, t->look, sizeof single);
        pair(t->look, single);
    }
    t->ready = 1;
}

/* Start the file again, without this decoder. */
static _Noreturn void give_up(j_decompress_ptr d) {
    media_jpeg *j = (media_jpeg *)(void *)d;
    j->status = MEDIA_JPEG_AGAIN;
    longjmp(j->exit, 1);
}

static const uint8_t *next_ff(const uint8_t *p, const uint8_t *end) {
    const uint8_t *ff = p < end ? memchr(p, 0xff, (size_t)(end - p)) : NULL;
    return ff ? ff : end;
}

/* Near an 0xff: byte by byte, without the zero behind it. Zeros follow the data,
 * and are counted. */
static __attribute__((noinline)) media_bits refill_slowly(media_bits b) {
    while (b.bits < 56) {
        uint64_t byte = 0xff;
        if (b.p < b.plain_end) {
            byte = *b.p++;
        } else if (b.end - b.p >= 2 && b.p[1] == 0) {
            b.p += 2;
            b.plain_end = next_ff(b.p, b.end);
        } else {
            byte = 0;
            b.past_end += 8;
        }
        b.buffer |= byte << (56 - b.bits);
        b.bits += 8;
    }
    return b;
}

/* At least 56 bits: enough for two symbols of the tables and a far one. */
static ALWAYS_INLINE void refill(media_bits *b) {
    if (b->plain_end - b->p < 8) {
        *b = refill_slowly(*b);
        return;
    }
    uint64_t eight;
    memcpy(&eight, b->p, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    b->buffer |= eight >> b->bits;
    b->p += (63 - b->bits) >> 3;
    b->bits |= 56;
}

static ALWAYS_INLINE uint32_t take(media_bits *b, int n) {
    uint32_t bits = (uint32_t)(b->buffer >> (64 - n));
    b->buffer <<= n;
    b->bits -= n;
    return bits;
}

/* A symbol whose code or coefficient is longer than a look, at most 31 bits: the
 * entry without its bits, which are taken. Fills the buffer again. */
static ALWAYS_INLINE uint64_t far_symbol(j_decompress_ptr d, media_bits *b, const media_huff_table *t,
                                         uint64_t e, int ac) {
    int length = field(e, BITS1), run = field(e, RUN1), size = value(e, VALUE1);
    if (length == 0) {
        int32_t code;
        for (length = MEDIA_HUFF_LOOK + 1;; length++) {
            if (length > 16) give_up(d);
            code = (int32_t)(b->buffer >> (64 - length));
            if (code < t->end[length]) break;
        }
        parts(t->symbols[code + t->first[length]], ac, &run, &size);
    }
    take(b, length);
    uint32_t coefficient = size ? (uint32_t)extended(take(b, size), size) : 0;
    refill(b);
    return entry(0, run, 0, coefficient);
}

static ALWAYS_INLINE uint64_t look(j_decompress_ptr d, media_bits *b, const media_huff_table *t, int ac) {
    uint64_t e = t->look[b->buffer >> (64 - MEDIA_HUFF_LOOK)];
    return __builtin_expect(field(e, 0) == 0, 0) ? far_symbol(d, b, t, e, ac) : e;
}

static ALWAYS_INLINE void skip(media_bits *b, int n) {
    b->buffer <<= n & 63;
    b->bits -= n;
}

/* One block; into coefficients, which are zero, if store says so. */
static ALWAYS_INLINE void block(j_decompress_ptr d, media_bits *b, media_huff_component *p, int store,
                                JCOEF *coefficients) {
    const media_huff_table *ac = p->ac;
    refill(b);
    uint64_t e = look(d, b, p->dc, 0);
    skip(b, field(e, 0));
    p->last_dc += value(e, VALUE1);
    if (p->last_dc > DC_LIMIT || p->last_dc < -DC_LIMIT) give_up(d);
    if (store) coefficients[0] = (JCOEF)p->last_dc;
    for (int k = 1;;) {
        refill(b);
        for (int i = 0; i < 3; i++) {
            e = look(d, b, ac, 1);
            k += field(e, RUN1);
            if (store) coefficients[zigzag[k]] = (JCOEF)value(e, VALUE1);
            if (++k >= 64) {
                skip(b, field(e, BITS1) & ~PAIR);
                return;
            }
            skip(b, field(e, 0));
            int run = field(e, RUN2);
            if (store) coefficients[zigzag[k + run]] = (JCOEF)value(e, VALUE2);
            k += run + (field(e, BITS1) >> 7);
            if (k >= 64) return;
        }
    }
}

/* The marker between two intervals, where it belongs. */
static void restart(j_decompress_ptr d, media_huff *h) {
    media_bits *b = &h->bits;
    if (b->bits - b->past_end >= 8 || b->end - b->p < 2 || b->p[0] != 0xff ||
        b->p[1] != 0xd0 + h->next_restart)
        give_up(d);
    b->p += 2;
    b->plain_end = next_ff(b->p, b->end);
    b->buffer = 0;
    b->bits = b->past_end = 0;
    h->next_restart = (h->next_restart + 1) & 7;
    h->until_restart = d->restart_interval - 1;
    for (int i = 0; i < d->comps_in_scan; i++) h->components[i].last_dc = 0;
}

static ALWAYS_INLINE boolean decode(j_decompress_ptr d, JBLOCKROW *blocks) {
    media_huff *h = &((media_jpeg *)(void *)d)->huff;
    if (d->restart_interval && h->until_restart-- == 0) restart(d, h);
    int wanted = blocks && h->column >= h->first_column && h->column <= h->last_column;
    media_bits b = h->bits;
    if (wanted)
        for (int i = 0; i < d->blocks_in_MCU; i++)
            block(d, &b, &h->components[d->MCU_membership[i]], 1, blocks[i][0]);
    else
        for (int i = 0; i < d->blocks_in_MCU; i++)
            block(d, &b, &h->components[d->MCU_membership[i]], 0, NULL);
    if (b.bits < b.past_end) give_up(d);
    h->bits = b;
    if (++h->column == d->MCUs_per_row) h->column = 0;
    return TRUE;
}

static boolean decode_mcu(j_decompress_ptr d, JBLOCKROW *blocks) { return decode(d, blocks); }

#ifdef __x86_64__
/* The same with shifts that need no fixed register. */
__attribute__((target("bmi2"))) static boolean decode_mcu_bmi2(j_decompress_ptr d, JBLOCKROW *blocks) {
    return decode(d, blocks);
}
#endif

static int baseline(const struct jpeg_decompress_struct *d) {
#ifndef LIBJPEG_TURBO_VERSION_NUMBER
    return 0; /* of another library's records nothing is known */
#endif
    return d->entropy && !d->progressive_mode && !d->arith_code && d->comps_in_scan == d->num_components &&
           d->Ss == 0 && d->Se == 63 && d->Ah == 0 && d->Al == 0 && d->data_precision == 8;
}

int media_huff_take(media_huff *h, struct jpeg_decompress_struct *d) {
    if (!baseline(d)) return 0;
    for (int i = 0; i < d->comps_in_scan; i++) {
        int dc = d->cur_comp_info[i]->dc_tbl_no, ac = d->cur_comp_info[i]->ac_tbl_no;
        build(&h->dc[dc], d->dc_huff_tbl_ptrs[dc], 0);
        build(&h->ac[ac], d->ac_huff_tbl_ptrs[ac], 1);
        h->components[i] = (media_huff_component){&h->dc[dc], &h->ac[ac], 0};
    }
    const uint8_t *data = d->src->next_input_byte, *end = data + d->src->bytes_in_buffer;
    h->bits = (media_bits){.p = data, .plain_end = next_ff(data, end), .end = end};
    h->until_restart = d->restart_interval;
    h->next_restart = 0;
    h->column = h->first_column = 0;
    h->last_column = d->MCUs_per_row - 1;
    struct jpeg_entropy_decoder_head *entropy = (void *)d->entropy;
    entropy->decode_mcu = decode_mcu;
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2")) entropy->decode_mcu = decode_mcu_bmi2;
#endif
    return 1;
}

void media_huff_columns(media_huff *h, const struct jpeg_decompress_struct *d, JDIMENSION left,
                        JDIMENSION width) {
    JDIMENSION mcu = d->comps_in_scan == 1 ? DCTSIZE : (JDIMENSION)d->max_h_samp_factor * DCTSIZE;
    h->first_column = left / mcu;
    h->last_column = (left + width - 1) / mcu;
}
