/* The matrix product's problem: A, B and C = A B (or A A^T) are n x n, dense and row-major. The cells of A
 * and B are odd whole numbers from -7 to 7, so that every sum is a whole number below 2^24 and exact in both
 * types in whatever order it is taken: the answer has one bit pattern, also from a library that adds in its
 * own order. */
#pragma once

#include "core/cell.h"
#include "ladder/ladder.h"

LINKAGE_C_BEGIN

enum { LADDER_PRODUCT_N, LADDER_PRODUCT_FMAS, LADDER_PRODUCT_PARAMETERS };
enum { LADDER_PRODUCT_SEED_A = 11, LADDER_PRODUCT_SEED_B = 12 };

/* A is c->in, C is c->out. */
typedef struct ladder_product {
    void *b; /* NULL where C = A A^T */
    int64_t n;
} ladder_product;

/* -7, -5 .. 7; `linear` is the row-major index. */
CELL_INLINE int ladder_product_cell(uint64_t seed, uint64_t linear)
{
    return 2 * (int)(cell_fmix64((linear + 1) * 0x9E3779B97F4A7C15ull + seed) >> 61) - 7;
}

/* Every cell of C at the price of a few matrix-vector products (R. Freivalds, 1977): with a vector x of odd
 * numbers, C x must be A (B x), mod 2^64. One wrong cell in a row always shows, since an odd factor can be
 * divided by; several wrong ones cancel with a chance of about 2^-60. */
int ladder_product_verify(ladder_case *c, ladder_verdict *v);

LINKAGE_C_END
