/* Portable math: weft's own sine, cosine and exponential, from +, *, / and fma alone, so that an initial
 * field has the same bits with every C library, compiler and machine (libm's last bit changes with its
 * version and with the processor). Angles are fractions of a turn of integers, so that the reduction is exact
 * at any size of grid. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>

#if FLT_EVAL_METHOD != 0 || defined __FAST_MATH__
#error "every operation has to be rounded to its type, once: no fast math, no x87"
#endif

/* Numbers of 113 bits, IEEE 754's binary128, for coefficients, which are rounded once, and for the few
 * quantities (eigenvalues, growth per step) whose error grows with the number of steps. Processors have none:
 * the compiler's library computes them in integers, so that they have the same bits everywhere, and one
 * operation takes about a tenth of a microsecond. A type by its name (long double) is another one on other
 * machines. */
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

/* Sine and cosine of 2 pi p / q, 0 <= p < q <= 2^50, each within 1 ulp; exact at quarters of a turn. */
void portable_math_sincos(uint64_t p, uint64_t q, double *sine, double *cosine);
/* The same within 2^-110 of 1, some hundred times slower: for eigenvalues. */
void portable_math_sincos_quad(uint64_t p, uint64_t q, quad *sine, quad *cosine);
/* The size of re + i im within 2 ulp. */
double portable_math_hypot(double re, double im);
/* exp(x) within 1 ulp, -700 <= x <= 700. */
double portable_math_exp(double x);
