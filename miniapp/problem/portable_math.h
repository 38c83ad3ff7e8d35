/* Portable math: weft's own sine, cosine and exponential, from +, *, / and fma alone, so that an initial
 * field has the same bits with every C library, compiler and machine (libm's last bit changes with its
 * version and with the processor). Angles are fractions of a turn of integers, so that the reduction is exact
 * at any size of grid. */
#pragma once

#include <stdint.h>

#include "problem/quad.h"

/* Sine and cosine of 2 pi p / q, 0 <= p < q <= 2^50, each within 1 ulp; exact at quarters of a turn. */
void portable_math_sincos(uint64_t p, uint64_t q, double *sine, double *cosine);
/* The same within 2^-110 of 1, some hundred times slower: for eigenvalues. */
void portable_math_sincos_quad(uint64_t p, uint64_t q, quad *sine, quad *cosine);
/* The size of re + i im within 2 ulp. */
double portable_math_hypot(double re, double im);
/* exp(x) within 1 ulp, -700 <= x <= 700. */
double portable_math_exp(double x);
