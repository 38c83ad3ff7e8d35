/* Temporal blocking of f64 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling tilings[] = {
    /* radius, steps, columns, unroll, warps, border_columns, border_unroll, use, again */
    { 1,      12,    2,       3,      12,    2,              3 },
    { 1,      8,     4,       3,      8,     2,              3 },
    { 1,      4,     4,       3,      8,     2,              3 },
    { 1,      2,     4,       3,      8,     2,              3 },
    { 1,      1,     4,       3,      8,     2,              3 },
    { 2,      6,     4,       5,      8,     2,              5,            TEMPORAL_PLAIN,  3 },
    { 2,      4,     4,       5,      8,     2,              5 },
    { 2,      2,     4,       5,      8,     2,              5 },
    { 2,      1,     4,       5,      8,     2,              5 },
    { 3,      4,     4,       7,      8,     2,              7 },
    { 3,      3,     4,       7,      8,     2,              7 },
    { 3,      2,     4,       7,      8,     2,              7 },
    { 3,      1,     4,       7,      8,     2,              7 },
    { 4,      3,     4,       9,      8,     2,              9,            TEMPORAL_PLAIN,  0 },
    { 4,      2,     4,       9,      8,     2,              9 },
    { 4,      1,     4,       9,      8,     2,              9 },
};
template <int I> using instance = temporal_strips_instance<STENCIL_STAR, true, double, tilings, I>;

const temporal_unit temporal_cuda_star_prev_f64 = temporal_unit_of<instance>(temporal_all<tilings>);
