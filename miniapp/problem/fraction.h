/* Coefficients, fractions of integers, rounded once: in integers, so that they have the same bits on every
 * machine. */
#pragma once

#include <stdint.h>

#include "core/dtype.h"

typedef struct fraction {
    int64_t over, under; /* |over| < 2^36, 0 < under < 2^52 */
} fraction;

/* The number of type t that is nearest to base + alpha f, ties to even; without a base 0 has the sign of
 * alpha f. base is 0, 1 or 2; where it is not 0, |alpha| <= 1, |over| < 2^34 and under < 2^32. */
double fraction_rounded(dtype t, int base, double alpha, fraction f);
