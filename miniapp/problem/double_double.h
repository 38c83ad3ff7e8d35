/* Double-double numbers, each the unevaluated sum of two doubles, about 106 bits: for the few quantities
 * (eigenvalues, growth per step) whose error grows with the number of steps. A wider type of C is another one
 * on other machines. Invariant: |lo| <= ulp(hi) / 2. Every rounding is explicit: products by fma, sums by
 * Knuth's two-sum. Source: Dekker 1971; Hida, Li, Bailey 2001 (the "sloppy" forms are not used). */
#pragma once

#include <float.h>
#include <math.h>

#if FLT_EVAL_METHOD != 0 || defined __FAST_MATH__
#error "every operation has to be rounded to its type, once: no fast math, no x87"
#endif

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

/* The root of a >= 0: Newton's step on the rounded one. */
static inline double_double double_double_sqrt(double_double a)
{
    if (!(a.hi > 0.0)) return double_double_of(0.0);
    const double r = sqrt(a.hi);
    const double e = fma(-r, r, a.hi) + a.lo;
    return double_double_renormalize(r, e / (2.0 * r));
}

static inline double_double double_double_half(double_double a)
{
    return (double_double){ 0.5 * a.hi, 0.5 * a.lo };
}

/* 1 - a^2 = (1 - a)(1 + a), without cancellation at either end. */
static inline double_double double_double_one_minus_square(double_double a)
{
    const double_double one = double_double_of(1.0);
    return double_double_mul(double_double_sub(one, a), double_double_add(one, a));
}

typedef struct double_double_complex {
    double_double re, im;
} double_double_complex;

static inline double_double_complex double_double_complex_of(double_double re)
{
    return (double_double_complex){ re, double_double_of(0.0) };
}

static inline double_double_complex double_double_complex_mul(double_double_complex a,
                                                              double_double_complex b)
{
    return (double_double_complex){
        double_double_sub(double_double_mul(a.re, b.re), double_double_mul(a.im, b.im)),
        double_double_add(double_double_mul(a.re, b.im), double_double_mul(a.im, b.re)),
    };
}
