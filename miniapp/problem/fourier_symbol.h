/* A stencil's Fourier symbol, the factor by which it multiplies a mode:
 * g(theta_x, theta_y) = sum of weight e^(i (theta_x dx + theta_y dy)), from the weights as rounded to the
 * cell's type; on an axis whose sides are not periodic cos in place of e. */
#pragma once

#include "core/stencil.h"
#include "problem/mode_axis.h"

/* For a LINE pass mode_axis_absent() as y, and the axis along which it is applied as x. */
quad_complex fourier_symbol_of(const stencil *op, const mode_axis *x, const mode_axis *y);

/* The sum of the weights by which cells are multiplied, and the sum of their sizes. */
typedef struct weight_sums {
    quad sum, size;
} weight_sums;
weight_sums weight_sums_of(const stencil *op);

/* The largest |g| over all real theta, but for round-off: 1 where the sum of |weights| does not exceed 1,
 * else a scan with every local maximum refined. */
double fourier_symbol_largest(const stencil *op);
