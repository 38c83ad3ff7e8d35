/* Numbers as the unevaluated sum of two doubles, about 106 bits: for the few quantities (eigenvalues, growth per step)
 * whose error grows with the number of steps and whose bits must not depend on what `long double` is on a machine.
 * Invariant: |lo| <= ulp(hi) / 2. Every rounding is explicit: products by fma, sums by Knuth's two-sum.
 * Source: Dekker 1971; Hida, Li, Bailey 2001 (the "sloppy" forms are not used). */
#ifndef PAIR_H
#define PAIR_H

#include <math.h>

typedef struct pair {
    double hi, lo;
} pair;

static inline pair pair_of(double a) { return (pair){ a, 0.0 }; }

/* Exact a + b. */
static inline pair pair_two_sum(double a, double b)
{
    const double s = a + b, bb = s - a;
    return (pair){ s, (a - (s - bb)) + (b - bb) };
}

/* The same where |a| >= |b|. */
static inline pair pair_renormalize(double a, double b)
{
    const double s = a + b;
    return (pair){ s, b - (s - a) };
}

static inline pair pair_add(pair a, pair b)
{
    pair s = pair_two_sum(a.hi, b.hi);
    const pair t = pair_two_sum(a.lo, b.lo);
    s = pair_renormalize(s.hi, s.lo + t.hi);
    return pair_renormalize(s.hi, s.lo + t.lo);
}

static inline pair pair_negate(pair a) { return (pair){ -a.hi, -a.lo }; }
static inline pair pair_sub(pair a, pair b) { return pair_add(a, pair_negate(b)); }

static inline pair pair_mul(pair a, pair b)
{
    const double p = a.hi * b.hi;
    const double e = fma(a.hi, b.hi, -p);
    return pair_renormalize(p, fma(a.lo, b.hi, fma(a.hi, b.lo, e)));
}

static inline pair pair_div(pair a, double b)
{
    const double q = a.hi / b;
    const double r = fma(-q, b, a.hi); /* exact */
    return pair_renormalize(q, (r + a.lo) / b);
}

/* Of a >= 0: Newton's step on the rounded root. */
static inline pair pair_sqrt(pair a)
{
    if (!(a.hi > 0.0)) return pair_of(0.0);
    const double r = sqrt(a.hi);
    const double e = fma(-r, r, a.hi) + a.lo;
    return pair_renormalize(r, e / (2.0 * r));
}

static inline long double pair_to_long(pair a) { return (long double)a.hi + (long double)a.lo; }

#endif
