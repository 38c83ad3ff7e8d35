/* Numbers of 113 bits, IEEE 754's binary128, for coefficients, which are rounded once, and for the few
 * quantities (eigenvalues, growth per step) whose error grows with the number of steps. Processors have none:
 * the compiler's library computes them in integers, so that they have the same bits everywhere, and one
 * operation takes about a tenth of a microsecond. A type by its name (long double) is another one on other
 * machines. */
#pragma once

#include <float.h>
#include <math.h>

#if FLT_EVAL_METHOD != 0 || defined __FAST_MATH__
#error "every operation has to be rounded to its type, once: no fast math, no x87"
#endif

typedef float quad __attribute__((mode(TF)));

typedef struct quad_complex {
    quad re, im;
} quad_complex;

static inline quad_complex quad_complex_mul(quad_complex a, quad_complex b)
{
    return (quad_complex){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

/* The root of a >= 0 within 2^-104 of it: Newton's step on the root of the double that is nearest to a. */
static inline quad quad_sqrt(quad a)
{
    const quad r = sqrt((double)a);
    return r > 0 ? r + (a - r * r) / (2 * r) : 0;
}
