/* opus_tables.h - what RFC 6716 defines for frames of 20 ms that are coded by transform; included by opus_shares_isa.h alone. The sections are that RFC's. */
#ifndef SPDL_AUDIO_OPUS_TABLES_H
#define SPDL_AUDIO_OPUS_TABLES_H

#include <stdint.h>

/* Where a band begins, in lines of a short block (4.3). */
static const uint8_t opus_at[22] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 12,
                                    14, 16, 20, 24, 28, 34, 40, 48, 60, 78, 100};

/* Eight times the logarithm of its width to the base of 2. */
static const uint8_t opus_log_width[21] = {0, 0,  0,  0,  0,  0,  0,  0,  8,  8, 8,
                                           8, 16, 16, 16, 21, 21, 24, 29, 34, 36};

/* Mean levels (4.3.2.1). */
static const float opus_mean[21] = {6.4375f, 6.25f,  5.75f,   5.3125f, 5.0625f, 4.8125f, 4.5f,
                                    4.375f,  4.875f, 4.6875f, 4.5625f, 4.4375f, 4.875f,  4.625f,
                                    4.3125f, 4.5f,   4.375f,  4.625f,  4.75f,   4.4375f, 3.75f};

/* How differences of levels are distributed: 2^-8 of none, and how fast that falls off; after another frame, and on their own (4.3.2.1). */
static const uint8_t opus_levels[2][42] = {
    {42, 121, 96, 66,  108, 43,  111, 40,  117, 44,  123, 32,  120, 36,  119, 33,  127, 33,  134, 34,  139,
     21, 147, 23, 152, 20,  158, 25,  154, 26,  166, 21,  173, 16,  184, 13,  184, 10,  150, 13,  139, 15},
    {22, 178, 63, 114, 74, 82,  84, 83,  92, 82,  103, 62,  96, 72,  96, 67,  101, 73, 107, 72, 113,
     55, 118, 52, 125, 52, 118, 52, 117, 55, 135, 49,  137, 39, 157, 32, 145, 29,  97, 33,  77, 40},
};

/* Distributions, as what lies above each value (4.3.3, 4.3.4.3, 4.3.7.1). */
static const uint8_t opus_small[] = {2, 1, 0}, opus_taps[] = {2, 1, 0}, opus_spreads[] = {25, 23, 2, 0},
                     opus_trims[] = {126, 124, 119, 109, 87, 41, 19, 9, 4, 2, 0};

/* How much finer in frequency, or where negative in time, a band is coded: of long blocks and of short ones, by what is selected, where it is not changed and
 * where it is (4.3.1). */
static const int8_t opus_resolution[2][2][2] = {{{0, -2}, {0, -3}}, {{3, 0}, {1, -1}}};

/* Bits, in 32nds of a line, that qualities give bands (4.3.3, table 57). */
static const uint8_t opus_quality[11][21] = {
    {0},
    {90, 80, 75, 69, 63, 56, 49, 40, 34, 29, 20, 18, 10},
    {110, 100, 90, 84, 78, 71, 65, 58, 51, 45, 39, 32, 26, 20, 12},
    {118, 110, 103, 93, 86, 80, 75, 70, 65, 59, 53, 47, 40, 31, 23, 15, 4},
    {126, 119, 112, 104, 95, 89, 83, 78, 72, 66, 60, 54, 47, 39, 32, 25, 17, 12, 1},
    {134, 127, 120, 114, 103, 97, 91, 85, 78, 72, 66, 60, 54, 47, 41, 35, 29, 23, 16, 10, 1},
    {144, 137, 130, 124, 113, 107, 101, 95, 88, 82, 76, 70, 64, 57, 51, 45, 39, 33, 26, 15, 1},
    {152, 145, 138, 132, 123, 117, 111, 105, 98, 92, 86, 80, 74, 67, 61, 55, 49, 43, 36, 20, 1},
    {162, 155, 148, 142, 133, 127, 121, 115, 108, 102, 96, 90, 84, 77, 71, 65, 59, 53, 46, 30, 1},
    {172, 165, 158, 152, 143, 137, 131, 125, 118, 112, 106, 100, 94, 87, 81, 75, 69, 63, 56, 45, 20},
    {200, 200, 200, 200, 200, 200, 200, 200, 198, 193, 188, 183, 178, 173, 168, 163, 158, 153, 148, 129, 104},
};

/* The most that a band can use, of one channel and of two. */
static const uint8_t opus_most[2][21] = {
    {193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 193, 194, 194, 194, 184, 184, 173, 139, 65, 39},
    {204, 204, 204, 204, 204, 204, 204, 204, 201, 201, 201, 201, 198, 198, 198, 187, 187, 175, 140, 66, 40},
};

/* Eighths of bits that it takes to say one of n. */
static const uint8_t opus_log[] = {0,  8,  13, 16, 19, 21, 23, 24, 26, 27, 28,
                                   29, 30, 31, 32, 32, 33, 34, 34, 35, 36, 36};

#endif
