/* cosines.c - see cosines.h: the tables. The transforms are cosines_isa.h's. */
#include <math.h>

#include "cosines.h"

static void turn(float *cosine, float *sine, double turns) {
    double angle = -2 * 3.14159265358979323846 * turns;
    *cosine = (float)cos(angle);
    *sine = (float)sin(angle);
}

void audio_cosines_make(audio_cosines *t, int32_t points) {
    static const int32_t radix[] = {4, 3, 5};
    t->points = points;
    t->n_factors = 0;
    for (int32_t i = 0, rest = points; i < 3; i++)
        for (; rest % radix[i] == 0; rest /= radix[i]) t->factor[t->n_factors++] = radix[i];
    for (int32_t n = 0; n < 8 * points; n++)
        turn(&t->long_turn[0][n], &t->long_turn[1][n], (n + 0.125) / (32 * points));
    for (int32_t n = 0; n < points; n++) {
        turn(&t->short_turn[0][n], &t->short_turn[1][n], (n + 0.125) / (4 * points));
        turn(&t->circle[0][n], &t->circle[1][n], (double)n / points);
        for (int32_t lane = 0; lane < 8; lane++)
            turn(&t->lane_turn[0][n][lane], &t->lane_turn[1][n][lane], (double)n * lane / (8 * points));
    }
}
