/* The reduction: 8 p / q gives the octant in integers; what is left, folded to [0, pi/4], is a quotient of
 * integers below 2^53, hence a double-double with a relative error near 2^-105. The series are Taylor's: one
 * or two terms longer than a minimax fit, but their coefficients are reciprocals of factorials, easy to
 * check. */
#include "problem/portable_math.h"

#include <assert.h>

typedef struct folded {
    double_double t; /* the angle in [0, pi/4] */
    int swap;        /* sine and cosine change places */
    int negate_s, negate_c;
} folded;

static const double_double quarter_pi = { 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55 };

static folded fold(uint64_t p, uint64_t q)
{
    assert(q > 0 && p < q && q <= (uint64_t)1 << 50);
    const uint64_t octant = 8 * p / q, r = 8 * p - octant * q;
    /* odd octants are measured back from their upper end, so that t stays within [0, pi/4] */
    const uint64_t rest = octant & 1 ? q - r : r;
    const double_double fraction = double_double_div(double_double_of((double)rest), (double)q);
    folded f;
    f.t = double_double_mul(fraction, quarter_pi);
    const unsigned o = (unsigned)octant;
    f.swap = o == 1 || o == 2 || o == 5 || o == 6;
    f.negate_s = o >= 4;
    f.negate_c = o >= 2 && o <= 5;
    return f;
}

/* t + t (z (-1/3! + z (1/5! - ...))), z = t^2; the last term left out is below 2^-62 of t. */
static double sine_series(double_double t)
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
static double cosine_series(double_double t)
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
    double s = sine_series(f.t), c = cosine_series(f.t);
    if (f.swap) {
        const double keep = s;
        s = c;
        c = keep;
    }
    *sine = f.negate_s && s != 0.0 ? -s : s; /* no negative zeros */
    *cosine = f.negate_c && c != 0.0 ? -c : c;
}

/* 1 - z / ((a+1)(a+2)) (1 - z / ((a+3)(a+4)) (...)): a = 0 is cos t, a = 1 is sin t / t. */
static double_double alternating_series(double_double z, int a)
{
    double_double r = double_double_of(1.0);
    for (int k = 15; k >= 1; k--) {
        const double n = a + 2 * k;
        r = double_double_sub(double_double_of(1.0),
                              double_double_div(double_double_mul(z, r), n * (n - 1.0)));
    }
    return r;
}

void portable_math_sincos_double_double(uint64_t p, uint64_t q, double_double *sine, double_double *cosine)
{
    const folded f = fold(p, q);
    const double_double z = double_double_mul(f.t, f.t);
    double_double s = double_double_mul(f.t, alternating_series(z, 1)), c = alternating_series(z, 0);
    if (f.swap) {
        const double_double keep = s;
        s = c;
        c = keep;
    }
    *sine = f.negate_s ? double_double_negate(s) : s;
    *cosine = f.negate_c ? double_double_negate(c) : c;
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
    const double_double r = double_double_two_sum(a, -b);
    double s = c[0];
    for (int i = 1; i < 13; i++) s = fma(s, r.hi, c[i]);
    return ldexp(1.0 + (r.hi + fma(r.hi * r.hi, s, r.lo)), (int)k);
}
