/* Invariant: an angle is p / q of a turn with integers p < q <= 2^44 (n <= 2^40), and products of an index
 * and a mode are reduced in 128 bits before anything is rounded. */
#include "problem/mode_axis.h"

#include <assert.h>

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

int mode_axis_bits(int64_t n) { return n <= MODE_AXIS_ONE_LEVEL_CELLS ? 0 : MODE_AXIS_FINE_BITS; }

/* One where there are no cells. */
static size_t coarse_entries(int64_t first, int64_t end, int bits)
{
    return end > first ? (size_t)(((end - 1) >> bits) - (first >> bits) + 1) : 1;
}

size_t mode_axis_doubles(int64_t first, int64_t end, int bits)
{
    return 2 * (coarse_entries(first, end, bits) + ((size_t)1 << bits));
}

/* The entries are set, but the fine table's first. */
static value_axis lay_out(double **at, int64_t first, int64_t end, int bits, value_part part)
{
    double *const hi = *at, *const lo = hi + 2 * coarse_entries(first, end, bits);
    lo[0] = 1.0;
    lo[1] = 0.0;
    *at += mode_axis_doubles(first, end, bits);
    return (value_axis){ hi, lo, first >> bits, bits, part };
}

value_axis mode_axis_table(const mode_axis *a, int64_t first, int64_t end, double **at)
{
    const int bits = mode_axis_bits(a->n);
    const size_t coarse = coarse_entries(first, end, bits);
    double *const hi = *at, *const lo = hi + 2 * coarse;
    for (size_t h = 0; h < coarse; h++) {
        const uint64_t i = ((uint64_t)(first >> bits) + h) << bits;
        entry(a, 2 * i + (uint64_t)a->half_offset, hi + 2 * h);
    }
    for (size_t l = 1; l < (size_t)1 << bits; l++) entry(a, 2 * (uint64_t)l, lo + 2 * l);
    return lay_out(at, first, end, bits, a->part);
}

value_axis mode_axis_table_gaussian(int64_t n, int64_t first, int64_t end, double **at)
{
    double *const hi = *at;
    for (size_t h = 0; h < coarse_entries(first, end, 0); h++) {
        const int64_t twice_distance = 2 * (first + (int64_t)h) + 1 - n;
        const double d = 5.0 * (double)twice_distance / (double)n;
        hi[2 * h] = portable_math_exp(-0.5 * (d * d));
        hi[2 * h + 1] = 0.0;
    }
    return lay_out(at, first, end, 0, VALUE_REAL_PART);
}
