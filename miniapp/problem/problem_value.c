/* Initial values and exact answers as formulas of the global index.
 * All arithmetic is that of mode_axis.c and portable_math.c, the same on every machine. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/problem.h"
#include "ranks/check.h"

static double *allocate(problem_tables *t, size_t doubles)
{
    t->bytes = doubles * sizeof *t->block;
    return t->block = CHECK_ALLOC(malloc(t->bytes));
}

static void make_counts(problem_tables *t, int step)
{
    double *const count = allocate(t, VALUE_COUNT_TABLE);
    for (int i = 0; i < VALUE_COUNT_TABLE; i++) count[i] = i * step;
    t->base.kind = VALUE_COUNT;
    t->base.table = count;
}

static void make_axes(problem_tables *t, const config *c, box own)
{
    mode_axis x = mode_axis_gaussian(c->grid.nx),
              y = config_two_d(c) ? mode_axis_gaussian(c->grid.ny) : mode_axis_absent();
    if (c->problem.initial == CONFIG_INITIAL_MODE)
        problem_axes(c, c->problem.mode_x, c->problem.mode_y, &x, &y);
    double *at = allocate(t, mode_axis_doubles(&x, own.x0, own.x1) + mode_axis_doubles(&y, own.y0, own.y1));
    t->base.x = mode_axis_table(&x, own.x0, own.x1, &at);
    t->base.y = mode_axis_table(&y, own.y0, own.y1, &at);
}

void problem_tables_make(problem_tables *t, const problem *p, const config *c, box own)
{
    *t = (problem_tables){ .base = { .kind = VALUE_MODE,
                                     .nx_global = c->grid.nx,
                                     .ny_global = c->grid.ny,
                                     .x_first = own.x0,
                                     .y_first = own.y0,
                                     .factor_re = 1.0,
                                     .shift = p->shift,
                                     .seed = (uint64_t)c->problem.seed } };
    if (c->problem.initial == CONFIG_INITIAL_FILE) return;
    if (c->problem.initial == CONFIG_INITIAL_RANDOM) t->base.kind = VALUE_RANDOM;
    else if (c->problem.initial == CONFIG_INITIAL_ZERO) make_counts(t, 0);
    else if (!config_kind_of(c)->stencil) make_counts(t, 1);
    else make_axes(t, c, own);
}

void problem_tables_free(problem_tables *t)
{
    free(t->block);
    memset(t, 0, sizeof *t);
}

/* g^n by squaring: its relative error grows as n 2^-112. */
static quad_complex power(quad_complex g, int64_t n)
{
    quad_complex p = { 1, 0 };
    for (; n > 0; n /= 2) {
        if (n % 2) p = quad_complex_mul(p, g);
        g = quad_complex_mul(g, g);
    }
    return p;
}

/* cos(n w) = Re e^(i n w). Rounded weights may let a mode grow: ((C + S)^n + (C - S)^n) / 2 with C = cosh w
 * and S = sinh w. */
static quad wave_factor(quad_complex g, int64_t n)
{
    if ((1 - g.re) * (1 + g.re) >= 0) return power(g, n).re;
    const quad_complex rising = { g.re + g.im, 0 }, falling = { g.re - g.im, 0 };
    return (power(rising, n).re + power(falling, n).re) / 2;
}

quad_complex problem_factor(const problem *p, const config *c, int64_t level)
{
    quad_complex f = { 1, 0 };
    switch (config_kind_of(c)->modes) {
    case KIND_MODES_POWER:
    case KIND_MODES_ROTATION: f = power(p->growth, level); break;
    case KIND_MODES_COSINE: f.re = wave_factor(p->growth, level); break;
    case KIND_MODES_NONE: break;
    }
    const bool fits = isfinite((double)f.re) && isfinite((double)f.im);
    return fits ? f : (quad_complex){ INFINITY, 0 }; /* beyond a double */
}

value problem_value_at(const problem *p, const config *c, const value *base, int64_t level)
{
    assert(p->exact && base->kind == VALUE_MODE && level >= 0);
    value v = *base;
    const quad_complex f = problem_factor(p, c, level);
    v.factor_re = (double)f.re;
    v.factor_im = (double)f.im;
    return v;
}

value problem_value_before(const problem *p, const config *c, const value *base)
{
    value v = *base;
    if (p->exact) {
        v.factor_re = (double)p->growth.re;
        v.factor_im = config_kind_of(c)->modes == KIND_MODES_ROTATION ? -(double)p->growth.im : 0.0;
    }
    return v;
}

/* ---- transpose: each step B += A^T, then A += 1 ---- */

/* The double sum of two f32 values, rounded to f32, is their f32 sum: 53 bits are more than 2 * 24 + 1. */
static double rounded(dtype t, double v) { return t == DTYPE_F32 ? (double)(float)v : v; }

void problem_count_tables(dtype t, int64_t steps, double *a_table, double *b_table)
{
    for (int f = 0; f < VALUE_COUNT_TABLE; f++) a_table[f] = f, b_table[f] = 0;
    for (int64_t i = 0; i < steps; i++)
        for (int f = 0; f < VALUE_COUNT_TABLE; f++) {
            b_table[f] = rounded(t, b_table[f] + a_table[f]);
            a_table[f] = rounded(t, a_table[f] + 1.0);
        }
}
