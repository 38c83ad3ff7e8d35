/* What a stencil multiplies a mode with: g(theta_x, theta_y) = sum of weight e^(i (theta_x dx + theta_y dy)), from the
 * weights as rounded to the cell's type; on an axis whose sides are not periodic cos in place of e. */
#ifndef SYMBOL_H
#define SYMBOL_H

#include "config/config.h"
#include "core/stencil.h"
#include "problem/axis.h"

typedef struct symbol {
    pair re, im;
} symbol;

/* For a LINE pass axis_absent() as y, and the axis along which it is applied as x. */
symbol symbol_of(const stencil *op, const axis *x, const axis *y);

/* The largest |g| over the modes of the grid, as an upper bound that is at most round-off above the maximum over all
 * real theta: exact enumeration on a small grid, 1 where the sum of |weights| does not exceed 1, else a scan of
 * SYMBOL_SCAN angles an axis with every local maximum refined. */
enum { SYMBOL_SCAN = 256 };
long double symbol_largest(const stencil *op, const config *c);

#endif
