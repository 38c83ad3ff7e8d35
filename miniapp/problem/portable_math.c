/* The reduction: 8 p / q gives the octant in integers; what is left, folded to [0, pi/4], is a quotient of
 * integers below 2^53, hence a sum of two doubles with a relative error near 2^-105. The series are Taylor's:
 * one or two terms longer than a minimax fit, but their coefficients are reciprocals of factorials, easy to
 * check. */
#include "problem/portable_math.h"

#include <assert.h>
#include <stdbool.h>

typedef struct folded {
    uint64_t rest; /* the angle in [0, pi/4] is rest / q of pi/4 */
    bool swap;     /* sine and cosine change places */
    bool negate_s, negate_c;
} folded;

static folded fold(uint64_t p, uint64_t q)
{
    assert(q > 0 && p < q && q <= (uint64_t)1 << 50);
    const uint64_t octant = 8 * p / q, r = 8 * p - octant * q;
    /* odd octants are measured back from their upper end, so that the angle stays within [0, pi/4] */
    return (folded){ .rest = octant & 1 ? q - r : r,
                     .swap = octant == 1 || octant == 2 || octant == 5 || octant == 6,
                     .negate_s = octant >= 4,
                     .negate_c = octant >= 2 && octant <= 5 };
}

/* pi/4, the sum of the three within 2^-161 */
static const double quarter_pi[] = { 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55, -0x1.f1976b7ed8fbcp-111 };

typedef struct pair { /* their sum; |lo| <= ulp(hi) / 2 */
    double hi, lo;
} pair;

/* Exact a + b (Knuth's two-sum). */
static pair sum_of(double a, double b)
{
    const double s = a + b, bb = s - a;
    return (pair){ s, (a - (s - bb)) + (b - bb) };
}

/* rest / q of pi/4 (Dekker's division and product). */
static pair angle_of(double rest, double q)
{
    const double over = rest / q;
    const pair part = sum_of(over, fma(-over, q, rest) / q);
    const double product = part.hi * quarter_pi[0], error = fma(part.hi, quarter_pi[0], -product);
    return sum_of(product, fma(part.lo, quarter_pi[0], fma(part.hi, quarter_pi[1], error)));
}

/* t + t (z (-1/3! + z (1/5! - ...))), z = t^2; the last term left out is below 2^-62 of t. */
static double sine_series(pair t)
{
    static const double s[] = { 1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0,
                                -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0 };
    const double z = t.hi * t.hi;
    double r = s[0];
    for (int i = 1; i < 8; i++) r = fma(r, z, s[i]);
    const double tail = t.lo * fma(-0.5, z, 1.0); /* cos(t) t.lo */
    return t.hi + fma(t.hi * z, r, tail);
}

/* 1 - z/2 + z^2 (1/4! - z (1/6! - ...)), with the rounding of 1 - z/2 and of z put back. */
static double cosine_series(pair t)
{
    static const double c[] = {
        -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
        -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0
    };
    const double z = t.hi * t.hi, z_rest = fma(t.hi, t.hi, -z), half = 0.5 * z, w = 1.0 - half;
    double r = c[0];
    for (int i = 1; i < 8; i++) r = fma(r, z, c[i]);
    const double rest = ((1.0 - w) - half) - fma(t.hi, t.lo, 0.5 * z_rest);
    return w + fma(z * z, r, rest);
}

void portable_math_sincos(uint64_t p, uint64_t q, double *sine, double *cosine)
{
    const folded f = fold(p, q);
    const pair t = angle_of((double)f.rest, (double)q);
    const double s = f.swap ? cosine_series(t) : sine_series(t);
    const double c = f.swap ? sine_series(t) : cosine_series(t);
    *sine = f.negate_s && s != 0.0 ? -s : s; /* no negative zeros */
    *cosine = f.negate_c && c != 0.0 ? -c : c;
}

/* 1 - z / ((a+1)(a+2)) (1 - z / ((a+3)(a+4)) (...)): a = 0 is cos t, a = 1 is sin t / t. */
static quad alternating_series(quad z, int a)
{
    quad r = 1;
    for (int n = a + 30; n > a; n -= 2) r = 1 - z * r / (n * (n - 1));
    return r;
}

void portable_math_sincos_quad(uint64_t p, uint64_t q, quad *sine, quad *cosine)
{
    const folded f = fold(p, q);
    const quad t = ((quad)quarter_pi[0] + quarter_pi[1] + quarter_pi[2]) * f.rest / q, z = t * t;
    const quad s = t * alternating_series(z, 1), c = alternating_series(z, 0);
    *sine = (f.negate_s ? -1 : 1) * (f.swap ? c : s);
    *cosine = (f.negate_c ? -1 : 1) * (f.swap ? s : c);
}

double portable_math_hypot(double re, double im)
{
    const double larger = fmax(fabs(re), fabs(im)), share = fmin(fabs(re), fabs(im)) / larger;
    return larger > 0.0 && larger < INFINITY ? larger * sqrt(1.0 + share * share) : larger;
}

double portable_math_exp(double x)
{
    assert(x >= -700.0 && x <= 700.0);
    static const double log2_e = 0x1.71547652b82fep0;
    /* ln 2 in two parts; the first has 32 bits, so that k times it is exact */
    static const double ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33;
    static const double c[] = { 1.0 / 87178291200.0, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0,
                                1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5 };
    const double k = floor(fma(x, log2_e, 0.5));
    const double a = fma(-k, ln2_hi, x), b = k * ln2_lo; /* a is exact; the remainder is a - b */
    const pair r = sum_of(a, -b);
    double s = c[0];
    for (int i = 1; i < 13; i++) s = fma(s, r.hi, c[i]);
    return ldexp(1.0 + (r.hi + fma(r.hi * r.hi, s, r.lo)), (int)k);
}
