/* Double-double numbers, each the unevaluated sum of two doubles, about 106 bits: for the few quantities (eigenvalues, growth per
 * step) whose error grows with the number of steps and whose bits must not depend on what `long double` is on a machine.
 * Invariant: |lo| <= ulp(hi) / 2. Every rounding is explicit: products by fma, sums by Knuth's two-sum.
 * Source: Dekker 1971; Hida, Li, Bailey 2001 (the "sloppy" forms are not used). */
#pragma once

#include <math.h>

typedef struct double_double {
    double hi, lo;
} double_double;

static inline double_double double_double_of(double a) { return (double_double){ a, 0.0 }; }

/* Exact a + b. */
static inline double_double double_double_two_sum(double a, double b)
{
    const double s = a + b, bb = s - a;
    return (double_double){ s, (a - (s - bb)) + (b - bb) };
}

/* The same where |a| >= |b|. */
static inline double_double double_double_renormalize(double a, double b)
{
    const double s = a + b;
    return (double_double){ s, b - (s - a) };
}

static inline double_double double_double_add(double_double a, double_double b)
{
    double_double s = double_double_two_sum(a.hi, b.hi);
    const double_double t = double_double_two_sum(a.lo, b.lo);
    s = double_double_renormalize(s.hi, s.lo + t.hi);
    return double_double_renormalize(s.hi, s.lo + t.lo);
}

static inline double_double double_double_negate(double_double a) { return (double_double){ -a.hi, -a.lo }; }
static inline double_double double_double_sub(double_double a, double_double b)
{
    return double_double_add(a, double_double_negate(b));
}

static inline double_double double_double_mul(double_double a, double_double b)
{
    const double p = a.hi * b.hi;
    const double e = fma(a.hi, b.hi, -p);
    return double_double_renormalize(p, fma(a.lo, b.hi, fma(a.hi, b.lo, e)));
}

static inline double_double double_double_div(double_double a, double b)
{
    const double q = a.hi / b;
    const double r = fma(-q, b, a.hi); /* exact */
    return double_double_renormalize(q, (r + a.lo) / b);
}

/* Of a >= 0: Newton's step on the rounded root. */
static inline double_double double_double_sqrt(double_double a)
{
    if (!(a.hi > 0.0)) return double_double_of(0.0);
    const double r = sqrt(a.hi);
    const double e = fma(-r, r, a.hi) + a.lo;
    return double_double_renormalize(r, e / (2.0 * r));
}

static inline long double double_double_to_long(double_double a) { return (long double)a.hi + (long double)a.lo; }
