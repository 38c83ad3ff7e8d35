/* Temporal blocking of f64 stars, and the constant memory that holds their weights. */
#include "temporal/temporal_unit_cuda.cuh"

static constexpr temporal_tiling tilings[] = {
    /* radius, steps, columns, unroll, warps, border_columns, border_unroll, use, again */
    { 1,      12,    4,       4,      8,     2,              2 },
    { 1,      8,     4,       4,      8,     2,              2 },
    { 1,      4,     4,       4,      8,     2,              2 },
    { 1,      2,     4,       4,      8,     2,              2 },
    { 1,      1,     4,       4,      8,     2,              2 },
    { 1,      12,    4,       4,      8,     2,              2,            TEMPORAL_NORM,   2 },
    { 1,      8,     4,       4,      8,     2,              2,            TEMPORAL_NORM },
    { 1,      4,     4,       4,      8,     2,              2,            TEMPORAL_NORM },
    { 2,      6,     4,       4,      8,     2,              4 },
    { 2,      4,     4,       4,      8,     2,              4 },
    { 2,      2,     4,       4,      8,     2,              4 },
    { 2,      1,     4,       4,      8,     2,              4 },
    { 3,      4,     4,       6,      8,     2,              6,            TEMPORAL_PLAIN,  2 },
    { 3,      3,     4,       6,      8,     2,              6 },
    { 3,      1,     4,       6,      8,     2,              6 },
    { 4,      3,     4,       8,      8,     2,              8 },
    { 4,      2,     4,       8,      8,     2,              8 },
    { 4,      1,     4,       8,      8,     2,              8 },
};
template <int I> using instance = temporal_strips_instance<STENCIL_STAR, false, double, tilings, I>;

const temporal_unit temporal_cuda_star_f64 = temporal_unit_of<instance>(temporal_all<tilings>);
