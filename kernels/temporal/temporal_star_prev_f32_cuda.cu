/* Temporal blocking of f32 stars of two levels, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling tilings[] = {
    /* radius, steps, columns, unroll, warps, border_columns, border_unroll, use, again */
    { 1,      16,    4,       3,      8,     4,              3 },
    { 1,      12,    4,       3,      8,     4,              3 },
    { 1,      8,     8,       3,      8,     4,              3 },
    { 1,      4,     8,       3,      8,     4,              3 },
    { 1,      2,     8,       3,      8,     4,              3 },
    { 1,      1,     4,       3,      8,     4,              3 },
    { 2,      8,     4,       5,      8,     4,              5 },
    { 2,      6,     4,       5,      8,     4,              5 },
    { 2,      4,     8,       5,      8,     4,              5 },
    { 2,      2,     8,       5,      8,     4,              5 },
    { 2,      1,     4,       5,      8,     4,              5 },
    { 3,      6,     4,       7,      8,     4,              7 },
    { 3,      4,     4,       7,      12,    4,              7 },
    { 3,      2,     4,       7,      12,    4,              7 },
    { 3,      1,     4,       7,      12,    4,              7 },
    { 4,      4,     4,       9,      8,     4,              9 },
    { 4,      3,     4,       9,      12,    4,              9 },
    { 4,      2,     4,       9,      12,    4,              9 },
    { 4,      1,     4,       9,      12,    4,              9 },
};
template <int I> using instance = temporal_strips_instance<STENCIL_STAR, true, float, tilings, I>;

const temporal_unit temporal_cuda_star_prev_f32 = temporal_unit_of<instance>(temporal_all<tilings>);
