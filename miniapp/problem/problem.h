/* From a config to mathematics: the stencil's coefficients, the initial value, the exact discrete answer at
 * any level, the error bound of the verdict. No MPI, no device: a rank asks for its own cells. Every formula
 * stands at the function that uses it: coefficients and exactness in problem.c, values in problem_value.c,
 * the bound in problem_bound.c, the modes in mode_axis.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "core/box.h"
#include "core/sentence.h"
#include "core/stencil.h"
#include "core/value.h"
#include "problem/portable_math.h"

/* ---- mode_axis.c ---- */

/* One axis of a mode: which wave fits between its two sides, and the tables of its factor E(i) for
 * kernels/core/value.h.
 *   periodic both            E(i) = exp(i theta i)          theta = 2 pi m / n              m in 0..n-1
 *   dirichlet 0 / dirichlet 0       sin theta (i+1)                 pi m / (n+1)              1..n
 *   neumann / neumann               cos theta (i+1/2)               pi m / n                  0..n-1
 *   dirichlet 0 / neumann           sin theta (i+1)                 pi (2m-1) / (2n+1)        1..n
 *   neumann / dirichlet 0           cos theta (i+1/2)               pi (2m-1) / (2n+1)        1..n
 * theta is kept as a fraction of a turn of integers, so that every angle is reduced exactly. */
typedef struct mode_axis {
    int64_t n;               /* cells of the whole axis */
    uint64_t turn_p, turn_q; /* theta = 2 pi turn_p / turn_q */
    int half_offset;         /* E's angle at i is theta (i + half_offset / 2) */
    value_part part;         /* what of exp(i angle) is E */
    bool gaussian; /* instead E(i) = exp(-((i + 1/2 - n/2) / (n/10))^2 / 2), in one level at any n: it does
                    * not separate into two */
} mode_axis;

/* mode: one that fits (config_first_mode). */
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

/* ---- problem.c, problem_value.c, problem_bound.c ---- */

typedef struct problem {
    stencil op;             /* unused for transpose; sweep: the 1D LINE operator of either axis */
    bool exact;             /* a mode run with a known answer, or a transpose with initial = mode */
    sentence why_unchecked; /* where not */
    /* From the coefficients as rounded to the type: g; advect: e^(-i p); wave: e^(i w), or C + i S where
     * rounding put C = cos w beyond +-1, with C^2 - S^2 = 1. */
    quad_complex growth;
    double prefix_sum; /* P */
    double shift;      /* of a mode: V where all dirichlet sides agree on it; else 0 */
    double slow;       /* in the bound's F: wave s; else rho: custom, or 1, or below 1 with V != 0 */
    char warning[256]; /* to be said once, "" if none: round-off in the mode grows */
} problem;

void problem_make(problem *p, const config *c);

/* The axes of the modes with these numbers; y of a 1D problem: the absent axis. */
void problem_axes(const config *c, int64_t mode_x, int64_t mode_y, mode_axis *x, mode_axis *y);

/* Tables for the cells `own` (global coordinates) of this rank, in one block of host memory. */
typedef struct problem_tables {
    double *block; /* owned; NULL: the value has none */
    size_t bytes;
    value base; /* kind, axes and counts with pointers into the block, shape, offsets, shift, seed; factor (1,
                 * 0) */
} problem_tables;

/* Kind of value by problem.initial (MODE, GAUSSIAN: tables; RANDOM; ZERO: COUNT); of FILE there is none.
 * For transpose `own` is A's box and initial mode is COUNT. */
void problem_tables_make(problem_tables *t, const problem *p, const config *c, box own);
void problem_tables_free(problem_tables *t);

/* A copy of base with the factor and shift of level `level`: the values of u there. Modes only. */
value problem_value_at(const problem *p, const config *c, const value *base, int64_t level);
/* The factor of the mode at level n >= 0: g^n; wave cos(n w); advect e^(-i n p). */
quad_complex problem_factor(const problem *p, const config *c, int64_t level);
/* The value of the level before the first, for wave and advect: exact for a mode with a closed form, else the
 * same as the initial value. */
value problem_value_before(const problem *p, const config *c, const value *base);

/* Transpose: the 1024 values after that many steps, each step replayed in the type (a microsecond a step).
 * a_table, b_table: VALUE_COUNT_TABLE entries each. */
void problem_count_tables(dtype t, int64_t steps, double *a_table, double *b_table);

typedef struct problem_verdict {
    double bound;           /* tol */
    bool meaningful;        /* tol <= 2^-12 of the mode's present amplitude, V left out */
    bool in_range;          /* sums of cells of that amplitude are finite in the type */
    sentence why_unchecked; /* where not */
} problem_verdict;
/* Sets p->warning where weights amplify the mode beyond the type's range before the run ends. */
void problem_warn_of_growth(problem *p, const config *c);
/* p: a stencil whose answer is known. */
problem_verdict problem_bound(const problem *p, const config *c, int64_t level);

/* ---- fourier_symbol.c: the factor by which a stencil multiplies a mode ---- */

/* g(theta_x, theta_y) = sum of weight e^(i (theta_x dx + theta_y dy)), from the weights as rounded to the
 * cell's type; on an axis whose sides are not periodic cos in place of e. For a LINE pass mode_axis_absent()
 * as y, and the axis along which it is applied as x. */
quad_complex fourier_symbol_of(const stencil *op, const mode_axis *x, const mode_axis *y);

/* The sum of the weights by which cells are multiplied, and the sum of their sizes. */
typedef struct weight_sums {
    quad sum, size;
} weight_sums;
weight_sums weight_sums_of(const stencil *op);

/* The largest |g| over all real theta, but for round-off: 1 where the sum of |weights| does not exceed 1,
 * else a scan with every local maximum refined. */
double fourier_symbol_largest(const stencil *op);
