/* Invariant: an angle is p / q of a turn with integers p < q <= 2^44 (n <= 2^40), and products of an index
 * and a mode are reduced in 128 bits before anything is rounded. */
#include "problem/mode_axis.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "problem/portable_math.h"

int64_t mode_axis_first(boundary_kind low, boundary_kind high)
{
    return low == BOUNDARY_DIRICHLET || high == BOUNDARY_DIRICHLET ? 1 : 0;
}

int64_t mode_axis_last(int64_t n, boundary_kind low, boundary_kind high)
{
    return mode_axis_first(low, high) == 1 ? n : n - 1;
}

mode_axis mode_axis_make(int64_t n, boundary_kind low, boundary_kind high, int64_t mode)
{
    assert(n >= 1 && mode >= mode_axis_first(low, high) && mode <= mode_axis_last(n, low, high));
    const uint64_t cells = (uint64_t)n, m = (uint64_t)mode;
    mode_axis a = { n, m, cells, 0, VALUE_COMPLEX };
    if (low == BOUNDARY_PERIODIC) return a;
    a.part = low == BOUNDARY_DIRICHLET ? VALUE_IMAGINARY_PART : VALUE_REAL_PART;
    a.half_offset = low == BOUNDARY_DIRICHLET ? 2 : 1;
    if (low != high) {
        a.turn_p = 2 * m - 1;
        a.turn_q = 2 * (2 * cells + 1);
    } else {
        a.turn_q = 2 * (low == BOUNDARY_DIRICHLET ? cells + 1 : cells);
    }
    return a;
}

mode_axis mode_axis_absent(void) { return (mode_axis){ 1, 0, 1, 0, VALUE_REAL_PART }; }

quad_complex mode_axis_shift_factor(const mode_axis *a, int k)
{
    const uint64_t steps = (uint64_t)(k < 0 ? -k : k);
    const unsigned __int128 p = (unsigned __int128)a->turn_p * steps;
    quad s, c;
    portable_math_sincos_quad((uint64_t)(p % a->turn_q), a->turn_q, &s, &c);
    return (quad_complex){ c, a->part != VALUE_COMPLEX ? 0 : k < 0 ? -s : s };
}

/* exp(i theta (cells + half_offset / 2)) */
static void entry(const mode_axis *a, uint64_t half_cells, double *to)
{
    const uint64_t q = 2 * a->turn_q;
    const unsigned __int128 p = (unsigned __int128)a->turn_p * half_cells;
    portable_math_sincos((uint64_t)(p % q), q, &to[1], &to[0]);
}

/* Two of an entry: (re, im). */
static double *entries(size_t count)
{
    double *const all = malloc(2 * count * sizeof *all);
    if (all) return all;
    fputs("weft: out of memory for the tables of the initial value\n", stderr);
    abort();
}

/* Returns how many entries of the coarse table [first, end) needs, which are to be set, as are those of the
 * fine one but the first; one where there are no cells. */
static size_t allocate(mode_axis_tables *t, int64_t first, int64_t end, int bits, value_part part)
{
    const size_t hi_entries = end > first ? (size_t)(((end - 1) >> bits) - (first >> bits) + 1) : 1,
                 lo_entries = (size_t)1 << bits;
    *t = (mode_axis_tables){ .hi = entries(hi_entries),
                             .lo = entries(lo_entries),
                             .hi_bytes = 2 * sizeof(double) * hi_entries,
                             .lo_bytes = 2 * sizeof(double) * lo_entries };
    t->view = (value_axis){ t->hi, t->lo, first >> bits, bits, part };
    t->lo[0] = 1.0;
    t->lo[1] = 0.0;
    return hi_entries;
}

void mode_axis_tables_mode(mode_axis_tables *t, const mode_axis *a, int64_t first, int64_t end)
{
    const int bits = a->n <= MODE_AXIS_ONE_LEVEL_CELLS ? 0 : MODE_AXIS_FINE_BITS;
    const size_t hi_entries = allocate(t, first, end, bits, a->part);
    for (size_t h = 0; h < hi_entries; h++) {
        const uint64_t i = ((uint64_t)(first >> bits) + h) << bits;
        entry(a, 2 * i + (uint64_t)a->half_offset, t->hi + 2 * h);
    }
    for (size_t l = 1; l < (size_t)1 << bits; l++) entry(a, 2 * (uint64_t)l, t->lo + 2 * l);
}

void mode_axis_tables_gaussian(mode_axis_tables *t, int64_t n, int64_t first, int64_t end)
{
    const size_t count = allocate(t, first, end, 0, VALUE_REAL_PART);
    for (size_t h = 0; h < count; h++) {
        const int64_t twice_distance = 2 * (first + (int64_t)h) + 1 - n;
        const double d = 5.0 * (double)twice_distance / (double)n;
        t->hi[2 * h] = portable_math_exp(-0.5 * (d * d));
        t->hi[2 * h + 1] = 0.0;
    }
}
