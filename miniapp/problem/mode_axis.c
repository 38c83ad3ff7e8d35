/* Invariant: an angle is p / q of a turn with integers p < q <= 2^44 (n <= 2^40), and products of an index
 * and a mode are reduced in 128 bits before anything is rounded. */
#include "problem/problem.h"

#include <assert.h>

mode_axis mode_axis_make(int64_t n, boundary_kind low, boundary_kind high, int64_t mode)
{
    assert(mode >= config_first_mode(low, high) && mode < config_first_mode(low, high) + n);
    const uint64_t cells = (uint64_t)n, m = (uint64_t)mode;
    mode_axis a = { n, m, cells, 0, VALUE_COMPLEX, false };
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

mode_axis mode_axis_absent(void) { return (mode_axis){ 1, 0, 1, 0, VALUE_REAL_PART, false }; }

mode_axis mode_axis_gaussian(int64_t n) { return (mode_axis){ n, 0, 1, 1, VALUE_REAL_PART, true }; }

quad_complex mode_axis_shift_factor(const mode_axis *a, int k)
{
    const uint64_t steps = (uint64_t)(k < 0 ? -k : k);
    const unsigned __int128 p = (unsigned __int128)a->turn_p * steps;
    quad s, c;
    portable_math_sincos_quad((uint64_t)(p % a->turn_q), a->turn_q, &s, &c);
    return (quad_complex){ c, a->part != VALUE_COMPLEX ? 0 : k < 0 ? -s : s };
}

/* exp(i theta half_cells / 2); or the Gaussian there. */
static void entry(const mode_axis *a, uint64_t half_cells, double *to)
{
    if (a->gaussian) {
        const double d = 5.0 * (double)((int64_t)half_cells - a->n) / (double)a->n;
        to[0] = portable_math_exp(-0.5 * (d * d));
        to[1] = 0.0;
        return;
    }
    const uint64_t q = 2 * a->turn_q;
    const unsigned __int128 p = (unsigned __int128)a->turn_p * half_cells;
    portable_math_sincos((uint64_t)(p % q), q, &to[1], &to[0]);
}

static int bits_of(const mode_axis *a)
{
    return a->gaussian || a->n <= MODE_AXIS_ONE_LEVEL_CELLS ? 0 : MODE_AXIS_FINE_BITS;
}

/* One where there are no cells. */
static size_t coarse_entries(int64_t first, int64_t end, int bits)
{
    return end > first ? (size_t)(((end - 1) >> bits) - (first >> bits) + 1) : 1;
}

size_t mode_axis_doubles(const mode_axis *a, int64_t first, int64_t end)
{
    const int bits = bits_of(a);
    return 2 * (coarse_entries(first, end, bits) + ((size_t)1 << bits));
}

value_axis mode_axis_table(const mode_axis *a, int64_t first, int64_t end, double **at)
{
    const int bits = bits_of(a);
    const size_t coarse = coarse_entries(first, end, bits);
    double *const hi = *at, *const lo = hi + 2 * coarse;
    for (size_t h = 0; h < coarse; h++) {
        const uint64_t i = ((uint64_t)(first >> bits) + h) << bits;
        entry(a, 2 * i + (uint64_t)a->half_offset, hi + 2 * h);
    }
    lo[0] = 1.0;
    lo[1] = 0.0;
    for (size_t l = 1; l < (size_t)1 << bits; l++) entry(a, 2 * (uint64_t)l, lo + 2 * l);
    *at += mode_axis_doubles(a, first, end);
    return (value_axis){ hi, lo, first >> bits, bits, a->part };
}
