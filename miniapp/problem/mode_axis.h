/* One axis of a mode: which wave fits between its two sides, and the tables of its factor E(i) for
 * kernels/core/value.h.
 *   periodic both            E(i) = exp(i theta i)          theta = 2 pi m / n              m in 0..n-1
 *   dirichlet 0 / dirichlet 0       sin theta (i+1)                 pi m / (n+1)              1..n
 *   neumann / neumann               cos theta (i+1/2)               pi m / n                  0..n-1
 *   dirichlet 0 / neumann           sin theta (i+1)                 pi (2m-1) / (2n+1)        1..n
 *   neumann / dirichlet 0           cos theta (i+1/2)               pi (2m-1) / (2n+1)        1..n
 * theta is kept as a fraction of a turn of integers, so that every angle is reduced exactly. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/boundary.h"
#include "core/value.h"
#include "problem/portable_math.h"

typedef struct mode_axis {
    int64_t n;               /* cells of the whole axis */
    uint64_t turn_p, turn_q; /* theta = 2 pi turn_p / turn_q */
    int half_offset;         /* E's angle at i is theta (i + half_offset / 2) */
    value_part part;         /* what of exp(i angle) is E */
    bool gaussian; /* instead E(i) = exp(-((i + 1/2 - n/2) / (n/10))^2 / 2), in one level at any n: it does
                    * not separate into two */
} mode_axis;

/* The modes that fit. */
int64_t mode_axis_first(boundary_kind low, boundary_kind high);
int64_t mode_axis_last(int64_t n, boundary_kind low, boundary_kind high);

mode_axis mode_axis_make(int64_t n, boundary_kind low, boundary_kind high, int64_t mode);
/* The one cell of the axis that a 1D problem lacks: E = 1, theta = 0. */
mode_axis mode_axis_absent(void);
mode_axis mode_axis_gaussian(int64_t n);
/* e^(i k theta) for a periodic axis, cos k theta with imaginary part 0 for the others: the factor by which an
 * offset of k cells multiplies the mode (where the sides are not periodic: the sum of both directions,
 * halved). */
quad_complex mode_axis_shift_factor(const mode_axis *a, int k);

/* The table of E for own cells [first, end) of an axis of n cells. The number of levels follows from n alone,
 * so that a cell gets the same bits whatever the decomposition: to MODE_AXIS_ONE_LEVEL_CELLS one entry per
 * own cell, beyond that the product of a coarse and a fine table of 2^MODE_AXIS_FINE_BITS entries, all (re,
 * im). It is written to *at, which is moved on by mode_axis_doubles. */
enum { MODE_AXIS_FINE_BITS = 12 };
#define MODE_AXIS_ONE_LEVEL_CELLS ((int64_t)1 << 20)

size_t mode_axis_doubles(const mode_axis *a, int64_t first, int64_t end);
value_axis mode_axis_table(const mode_axis *a, int64_t first, int64_t end, double **at);
