/* alpha is a whole number a times 2^e, so that a coefficient is (base under + a over 2^e) / under: one
 * division of integers, scaled by a power of two. Beside a base it is counted in units of 2^-90; a smaller
 * alpha leaves a rest below the unit. Numbers of the type, and midpoints of two, are whole numbers of units
 * there, also times under: whether there is a rest is enough to know. */
#include "problem/fraction.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { UNIT = -90 };

/* size 2^exponent to the nearest number of the type, ties to even. size has 56 bits or more, the last of
 * which is set for everything below it. */
static double nearest(dtype t, unsigned __int128 size, int exponent)
{
    const int digits = t == DTYPE_F32 ? 24 : 53, least = t == DTYPE_F32 ? -149 : -1074;
    int bits = 0;
    while (bits < 128 && size >> bits != 0) bits++;
    const int drop = bits - digits > least - exponent ? bits - digits : least - exponent;
    if (drop >= 128) return 0.0;
    if (drop <= 0) return ldexp((double)(uint64_t)size, exponent);
    const unsigned __int128 half = (unsigned __int128)1 << (drop - 1), rest = size & (2 * half - 1);
    uint64_t whole = (uint64_t)(size >> drop);
    if (rest > half || (rest == half && whole % 2)) whole++;
    return ldexp((double)whole, exponent + drop);
}

double fraction_rounded(dtype t, int base, double alpha, fraction f)
{
    int exponent;
    __int128 over = (__int128)f.over * (int64_t)ldexp(frexp(alpha, &exponent), 53);
    bool rest = false;
    exponent -= 53;
    assert(base == 0 || fabs(alpha) <= 1.0);
    if (base > 0) {
        const int below = UNIT - exponent < 100 ? UNIT - exponent : 100; /* over has fewer than 100 bits */
        const __int128 units = (__int128)1 << (below < 0 ? -below : below);
        rest = below > 0 && (over & (units - 1)) != 0;
        over = (below < 0 ? over * units : over >> below) + ((__int128)(base * f.under) << -UNIT);
        exponent = UNIT;
    }
    const bool negative = base > 0 ? over < 0 : (f.over < 0) != (signbit(alpha) != 0);
    unsigned __int128 size = (unsigned __int128)(over < 0 ? -over : over);
    for (; size != 0 && size >> 126 == 0; size *= 2) exponent--;
    const unsigned __int128 under = (unsigned __int128)f.under, quotient = size / under;
    const double found = nearest(t, quotient | (size % under != 0 || rest), exponent);
    return negative ? -found : found;
}
