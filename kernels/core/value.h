/* A field given by a formula of the global index: initial values and exact answers. Host and CUDA evaluate it
 * in double by the same function (cell_value in cell.h) and round it once to the field's type.
 *   VALUE_MODE    shift + Re(factor * X(gx) * Y(gy)), X and Y from per-axis tables computed once by the host
 *   VALUE_RANDOM  a counter-based hash of seed and global index, uniform in [-1, 1)
 *   VALUE_COUNT   table[f], f = fmix64(linear + 1) mod 1024, the transpose's known answer; linear is the
 *                 row-major index gy*nx_global + gx, or gx*ny_global + gy of the matrix if `transposed`
 * Axis tables: E(i) = hi[(i >> bits) - hi_first] * lo[i & (2^bits - 1)], complex, interleaved (re, im). With
 * bits = 0, lo = {1, 0} and hi is the table itself: the product is exact. `part` selects the contribution of
 * the axis. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum value_kind { VALUE_MODE, VALUE_RANDOM, VALUE_COUNT } value_kind;
typedef enum value_part { VALUE_COMPLEX, VALUE_REAL_PART, VALUE_IMAGINARY_PART } value_part;

enum { VALUE_COUNT_TABLE = 1024 };

typedef struct value_axis {
    const double *hi, *lo; /* memory the device can read; not owned */
    int64_t hi_first;
    int bits;
    value_part part;
} value_axis;

typedef struct value {
    value_kind kind;
    int64_t nx_global, ny_global; /* shape of the field this value describes */
    int64_t x_first, y_first;     /* global index of own cell (0,0) */
    value_axis x, y;              /* MODE */
    double factor_re, factor_im;  /* MODE: g^n; (1, 0) at level 0 */
    double shift;                 /* MODE */
    uint64_t seed;                /* RANDOM */
    const double *table;          /* COUNT: VALUE_COUNT_TABLE entries the device can read; not owned */
    bool transposed;              /* COUNT */
} value;
