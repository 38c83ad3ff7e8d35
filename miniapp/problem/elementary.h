/* weft's own sine, cosine and exponential, from +, *, / and fma alone, so that an initial field has the same bits with
 * every C library, compiler and machine (libm's last bit changes with its version and with the processor).
 * Angles are fractions of a turn of integers, so that the reduction is exact at any size of grid. */
#ifndef ELEMENTARY_H
#define ELEMENTARY_H

#include <stdint.h>

#include "problem/pair.h"

/* Sine and cosine of 2 pi p / q, 0 <= p < q <= 2^50, each within 1 ulp; exact at multiples of a quarter turn. */
void elementary_sincos(uint64_t p, uint64_t q, double *sine, double *cosine);
/* The same to about 2^-104 of 1, some forty times slower: for eigenvalues. */
void elementary_sincos_pair(uint64_t p, uint64_t q, pair *sine, pair *cosine);
/* exp(x) within 1 ulp, -700 <= x <= 700. */
double elementary_exp(double x);

#endif
